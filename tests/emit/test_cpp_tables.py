"""Process-wide tables of the C++ generator: bounded, and without effect on any text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pypto._src.emit.cpp import prologue as cpp_declarations
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.ir.roles import kernels
from pypto._src.ir.stmts import Function
from pypto._src.passes.pass_manager import PassManager
from pypto.codegen import CppOptions
from tests.emit.kernels import BlockOfRows, Branches, Loops, Regions, SimpleAdd

PROGRAMS: tuple[Any, ...] = (SimpleAdd, Branches, Loops, Regions, BlockOfRows)
OPTIONS = (CppOptions(), CppOptions(scheduling_hints=True), CppOptions(fold_constants=True))
TABLES: tuple[dict[Any, Any], ...] = (cpp_declarations.CLASSES,)
LIMITS = ((cpp_declarations, "MOST_CLASSES"),)


@pytest.fixture
def empty_tables() -> Iterator[None]:
    """Begin and end with empty tables."""
    for table in TABLES:
        table.clear()
    yield
    for table in TABLES:
        table.clear()


def all_kernels() -> list[Function]:
    """Return the kernels of some programs after the passes."""
    manager = PassManager.get_strategy()
    return [f for program in PROGRAMS for f in kernels(manager.run_passes(program))]


def texts(functions: list[Function]) -> list[str]:
    """Return each kernel's text with each of the options."""
    return [kernel_file(f, options=options) for options in OPTIONS for f in functions]


def test_texts_do_not_depend_on_the_tables(empty_tables: None) -> None:
    """First and second texts are the same, and so are those of kernels in another order."""
    functions = all_kernels()
    first = texts(functions)
    assert all(TABLES)  # each of them is used
    assert texts(functions) == first
    for table in TABLES:
        table.clear()
    count = len(functions)
    reverse = texts(functions[::-1])
    assert [reverse[i : i + count][::-1] for i in range(0, len(first), count)] == [
        first[i : i + count] for i in range(0, len(first), count)
    ]


def test_tables_begin_anew_when_they_are_full(
    empty_tables: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With room for two entries per table the texts are the same, and no table is larger."""
    functions = all_kernels()
    first = texts(functions)
    for module, name in LIMITS:
        monkeypatch.setattr(module, name, 2)
    for table in TABLES:
        table.clear()
    assert texts(functions) == first
    assert [len(table) <= 2 for table in TABLES] == [True] * len(TABLES)
