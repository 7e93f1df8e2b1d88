"""What is compiled depends on the program alone: not on what was compiled before, in what order.

Facts about types and ops are kept for the process. They must not tell one program of another, and
must not keep one alive.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.diagnostics import Span
from pypto._src.emit.cpp import prologue as cpp_declarations
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.emit.host.device.generate import generate_orchestration
from pypto._src.ir import call_forms, interning
from pypto._src.ir.enums import FunctionType
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Function, Program, Stmt
from pypto._src.passes.pass_manager import PassManager

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
KERNEL = """\
import pypto.language as pl

@pl.program
class Kernels:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        n: pl.INT64,
        y: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ):
        t = pl.load(x, [0, 0], [16, 64])
        t = pl.load(x, [n, 0], [16, 64])
        m = pl.row_max(t)
        u = pl.row_expand_sub(t, m)
        for i in pl.range(4):
            u = pl.exp(pl.mul(u, 0.5))
        y = pl.store(u, [n + 1, 0], [16, 64], y)
"""
NAMED = """\
import pypto.language as pl

N = pl.dynamic("N")

@pl.program
class Kernels:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[N, 64], pl.FP32],
        n: pl.INT64,
        y: pl.Out[pl.Tensor[[N, 64], pl.FP32]],
    ):
        t = pl.load(x, [0, 0], [16, 64], valid_shapes=[n, 64])
        u = pl.add(t, t)
        y = pl.store(pl.fillpad(u), [n, 0], [16, 64], y)
"""


def compiled(program: Program) -> str:
    """Return the program as it was read, after the passes, and as C++."""
    lowered = PassManager.get_strategy().run_passes(program)
    texts = [ir.python_print(program), ir.python_print(lowered)]
    texts += [ir.serialize(program).hex(), ir.serialize(lowered).hex()]  # shows shared objects
    texts += [kernel_file(f) for f in lowered.functions_ if role(f) is Role.KERNEL]
    for function in lowered.functions_:
        if function.func_type is FunctionType.Orchestration:
            texts.append(generate_orchestration(lowered, function).code)
    return "\n".join(texts)


def digests(paths: list[str]) -> dict[str, str]:
    """Return a digest of what each example compiles to; they are compiled one after another."""
    found: dict[str, str] = {}
    for path in paths:
        programs: dict[Any, None] = dict.fromkeys(
            case.program for case in runpy.run_path(path)["CASES"]
        )
        text = "\n".join(compiled(program) for program in programs)
        found[Path(path).stem] = hashlib.sha256(text.encode()).hexdigest()
    return found


def in_own_process(paths: list[Path]) -> dict[str, str]:
    """Return `digests` of a fresh interpreter."""
    code = "import json, sys; from tests.properties.test_order import digests"
    code += "; print(json.dumps(digests(sys.argv[1:])))"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, paths)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout)


TABLES: list[tuple[Any, str, Any]] = [
    (interning, "MOST_TYPES", interning.TYPES),
    (call_forms, "MOST_FORMS", call_forms.FORMS),
    (cpp_declarations, "MOST_CLASSES", cpp_declarations.CLASSES),
]
"""Tables that hold for the process: where their limit stands, its name, and one of them."""


@pytest.mark.parametrize("most", [1, 2, 7, 40])
@pytest.mark.parametrize(
    "tables",
    [[table] for table in TABLES] + [TABLES],
    ids=["types", "calls", "C++ types", "all"],
)
def test_a_full_table_does_not_count(
    monkeypatch: pytest.MonkeyPatch, tables: list[tuple[Any, str, Any]], most: int
) -> None:
    """Programs give the same texts if tables begin anew in the middle of them, alone or at once."""
    programs = [parsed(text, "full.py") for text in (KERNEL, NAMED)]
    found = [compiled(program) for program in programs]
    for module, limit, _ in tables:
        monkeypatch.setattr(module, limit, most)
    texts = (KERNEL, NAMED)
    assert [compiled(parsed(text, "full.py")) for text in texts] == found
    for _, _, table in tables:
        table.clear()
    assert [compiled(parsed(text, "full.py")) for text in texts] == found
    for _, limit, table in tables:
        assert len(table) <= most, limit


def test_full_tables_do_not_count_for_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples give the same texts if all tables begin anew again and again, in turn."""
    paths = [str(path) for path in EXAMPLES]
    found = digests(paths)
    for most, (module, limit, _) in enumerate(TABLES, 3):
        monkeypatch.setattr(module, limit, most)
    assert digests(paths) == found


def test_order_does_not_count() -> None:
    """The examples give the same texts forwards, backwards, and in this process after all that."""
    forwards = in_own_process(EXAMPLES)
    assert len(forwards) == len(EXAMPLES) > 5
    assert len(set(forwards.values())) == len(EXAMPLES)
    assert in_own_process(EXAMPLES[::-1]) == forwards
    assert digests([str(path) for path in EXAMPLES]) == forwards


def parsed(text: str, filename: str) -> Program:
    program = pl.parse(text, filename)
    assert isinstance(program, Program)
    return program


def test_the_same_after_another() -> None:
    """A, B, A: the second A is the first, whatever B has in common with it."""
    variants = [
        KERNEL,
        KERNEL.replace("16, 64", "32, 64"),
        KERNEL.replace("FP32", "FP16"),
        KERNEL.replace("[n, 0]", "[0, n]").replace("0.5", "-0.0"),
        NAMED,
        NAMED.replace('"N"', '"M"'),
    ]
    first = [compiled(parsed(text, "a.py")) for text in variants]
    assert len(set(first)) == len(variants)
    for turn in (variants[::-1], variants[2:] + variants[:2]):
        for text in turn:
            assert compiled(parsed(text, "a.py")) == first[variants.index(text)]


def alive(filename: str, kind: type | tuple[type, ...]) -> list[Any]:
    """Return what there is of a kind, in the whole process, that comes from a file."""
    gc.collect()
    found = [item for item in gc.get_objects() if isinstance(item, kind)]
    return [item for item in found if getattr(item, "span", item).filename == filename]


@pytest.mark.parametrize("text", [KERNEL, NAMED], ids=["plain", "named sizes"])
def test_no_program_is_kept(text: str) -> None:
    """After a compile nothing of a program is left but, for named sizes, a few variables."""
    gc.collect()
    gc.freeze()  # what there was before is not of this program, and need not be looked through
    name = f"{'plain' if text is KERNEL else 'named'}-kept-by-nobody.py"
    program = parsed(text, name)
    assert alive(name, Stmt)
    assert compiled(program)
    del program
    assert alive(name, (Stmt, Function, Program)) == []
    if text is KERNEL:
        assert alive(name, Span) == []
