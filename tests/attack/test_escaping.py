"""No string of a program becomes code in the texts that are generated from it."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pypto import ir
from pypto._src.build_output import cce_files
from pypto._src.commands.example_cases import Case, cases
from pypto._src.driver import compile_program, entry_function, kernels_of
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.emit.cpp.options import CppOptions
from pypto._src.emit.host.native.generate import host_text
from pypto._src.emit.pto.function_body import string_text
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.emit.writer import comment_text, string_literal
from pypto._src.errors import PyptoError
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.run.effects import effects
from pypto._src.run.native import LaunchTensor, launcher_source
from pypto._src.run.toolchain import find_toolchain
from tests import effort
from tests.attack.markers import (
    MARKERS,
    WORD,
    code_of,
    is_planted,
    packed,
    python_code_of,
    renamed,
    renamed_files,
    texts_in,
    tokens_of,
)

EXAMPLES = cases(Path(__file__).parents[2] / "examples")
MOST = effort.count(100, thorough_run=600)
"""Markers that are planted into one example, in turn, at least one into each text."""
SMALL = ["softmax", "rmsnorm", "gelu_mlp"]  # with kernels of both cores, and orchestrations


@cache
def example(name: str) -> ir.Program:
    return next(case.program for case in EXAMPLES if case.name == name)


def emitted(program: ir.Program) -> Iterator[tuple[str, str]]:
    """Yield the C++ and MLIR texts of a program, with their names."""
    lowered = PassManager.get_strategy(OptimizationStrategy.Default).run_passes(program)
    options = CppOptions(source_lines=True)
    for name, text in cce_files(lowered, options).items():
        if not name.endswith(".py"):
            yield name, text
    entry = entry_function(lowered)
    kernels = kernels_of(lowered, entry)
    for kernel in kernels:
        tensors = [
            LaunchTensor(param.name, 4, None if index else (16, "args[0]"))
            for index, param in enumerate(kernel.params)
        ]
        yield "launcher", launcher_source("kernel_entry", tensors, kernel.name)
        yield "kernel", kernel_file(kernel, options=CppOptions())
    if entry not in kernels:
        found = effects(lowered)
        results = {k.name: [first for first, *_ in found[k.name].results] for k in kernels}
        yield "host", host_text(lowered, entry, results).code
    unflagged = PassManager.get_strategy(OptimizationStrategy.PTOAS).run_passes(program)
    for locations in (False, True):
        yield "pto", PTOCodegen(locations=locations).generate(unflagged)
    yield "statement", ir.to_statement_text(program)


def check_texts(program: ir.Program) -> int:
    """Check every text of a program, up to the first that we reject; count them."""
    assert not is_planted(python_code_of(ir.python_print(program)))
    count = 1
    with suppress(PyptoError):
        for name, text in emitted(program):
            code = code_of(text, trigraphs=name != "statement")
            assert not is_planted(code), f"{name}:\n{code}"
            assert text.isprintable() or set(text) - {"\n"} <= set(filter(str.isprintable, text))
            count += 1
    return count


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.name)
def test_markers_in_bytes(case: Case) -> None:
    """A marker in any string of a program's bytes is rejected, or escaped in all emitted texts."""
    tokens = tokens_of(case.program)
    texts = list(texts_in(tokens))
    each = max(1, MOST // len(texts))
    refused = accepted = 0
    for number, at in enumerate(texts):
        for marker in (MARKERS[(number * each + n) % len(MARKERS)] for n in range(each)):
            planted = [*tokens[:at], f"{tokens[at]}{marker}", *tokens[at + 1 :]]
            try:
                node: Any = ir.deserialize(packed(planted))
            except PyptoError:
                refused += 1
                continue
            accepted += 1
            check_texts(node)
    assert refused > accepted > 0


@pytest.mark.parametrize("marker", MARKERS, ids=range(len(MARKERS)))
def test_markers_by_hand(marker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Markers in all names and files of a program from constructors are escaped in all texts."""
    name = SMALL[MARKERS.index(marker) % len(SMALL)]
    program = renamed(example(name), marker, monkeypatch)
    for file in {node.span.filename for node in ir.walk(program)}:
        lines = [f"x = y{marker}\n"] * 400
        linecache.cache[file] = (1, None, lines, file)
    with monkeypatch.context() as patched:
        # Invalid file names are rejected only at the end: here only the texts are checked.
        patched.setattr("pypto._src.build_output.is_function_name", bool)
        assert check_texts(program) > 3


@pytest.mark.parametrize("marker", MARKERS, ids=range(len(MARKERS)))
def test_one_function_a_text(marker: str) -> None:
    """The functions that all strings pass through let no part of a marker out."""
    for text in (marker, f"a{marker}", f"{marker}\\", f"{marker}??/"):
        lines: Mapping[str, str] = {
            "comment": f"// {comment_text(text)}\nint after;",
            "literal": f"f({string_literal(text)});\nint after;",
            "string": f"loc({string_text(text)})\nint after;",
        }
        for line in lines.values():
            code = code_of(line)
            assert not is_planted(code)
            assert "int after;" in code
            assert line.isascii() or line.replace("\n", "").isprintable()


def test_plain_texts_stay() -> None:
    """Strings that need no escaping are unchanged."""
    for text in ("softmax.py:14", "β.py:1: x = y", "a b, c?"):
        assert comment_text(text) == text
        assert string_literal(text) == string_text(text) == f'"{text}"'


@pytest.mark.skipif(find_toolchain() is None, reason="needs a C++ compiler")
def test_file_name_with_a_line_end_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program whose file name contains a compiler directive compiles and runs without it."""
    program = example("softmax")
    file = f"a.py:1\n#error {WORD}\n"  # no slash: texts only have the last part of a path
    case = next(case for case in EXAMPLES if case.name == "softmax")
    arguments = case.inputs(np.random.default_rng(0))
    placed = renamed_files(program, file, monkeypatch)
    compiled = compile_program(placed, target="cpu")
    expected = case.reference(**arguments)
    compiled(**arguments)
    for name, value in expected.items():
        assert np.allclose(arguments[name], value, atol=1e-3)
