"""Every PTO text whose bytes `tests/golden` records: op rows, examples, forms, random kernels.

One kernel per file, for the assembler: `<op>/<row>.<type>.<shapes>.pto` for each shape and type
of each row of an op, `examples/<case>.<kernel>.pto` for each kernel of the examples, `programs/`
for those of programs with regions, `kernels/` and `forms/` for what rows do not cover, `random/`
for random kernels. A text is for ``--pto-level=level2`` unless its name says ``level3``; the first
line of each repeats the options. The text of a kernel does not depend on the target (a3 or a5).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import pypto.language as pl
from pypto import ir
from pypto._src.commands.example_cases import cases
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.ir.roles import kernels
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from tests.cases import CASES, BuiltKernel, Case, Shape, kernel_for
from tests.emit.pto_forms import FORMS
from tests.emit.test_pto import KERNELS
from tests.examples.region_programs import SIZES, example
from tests.passes.build import random_kernel
from tests.properties.kernels import random_matrix_source, random_source

ROOT = Path(__file__).parents[2]
LEVELS = {OptimizationStrategy.PTOAS: "", OptimizationStrategy.Default: ".level3"}
DRAWN = 24  # for each generator of random kernels


class Text(NamedTuple):
    """One text."""

    path: str  # below tests/golden/pto or tests/golden/cpp
    text: str


class Row(NamedTuple):
    """One kernel of an op row."""

    name: str
    case: Case
    built: BuiltKernel
    program: ir.Program
    strategies: tuple[OptimizationStrategy, ...]


ROWS = [case for case in CASES if not case.no_kernel]
OPS = sorted({case.op.name for case in ROWS})


def emitted(program: ir.Program, strategy: OptimizationStrategy) -> str:
    """Return the text of all kernels of a program after the passes of a strategy."""
    return PTOCodegen().generate(PassManager.get_strategy(strategy).run_passes(program))


def _shapes_text(shapes: tuple[Shape, ...]) -> str:
    return "".join("." + "_".join("x".join(map(str, shape)) for shape in shapes) if shapes else "")


def rows(op: str) -> Iterator[Row]:
    """Yield a kernel for each row, element type and shapes of an op.

    At level 2 all of them; at level 3, which adds only addresses and flags, the first
    shapes of each row and element type.
    """
    counts: dict[str, int] = {}
    for case in ROWS:
        if case.op.name != op:
            continue
        number = counts[case.name] = counts.get(case.name, 0) + 1
        again = f"-{number}" if number > 1 else ""
        for dtype in case.dtypes:
            for index, shapes in enumerate(case.shapes or ((),)):
                built = kernel_for(case, dtype, shapes)
                name = f"{case.name}{again}.{dtype.member.lower()}{_shapes_text(shapes)}"
                program = ir.Program([built.function], name, entry=built.function.name)
                strategies = tuple(LEVELS) if index == 0 else (OptimizationStrategy.PTOAS,)
                yield Row(name.removeprefix(f"{op}"), case, built, program, strategies)


def row_texts(op: str) -> Iterator[Text]:
    """Yield the texts of the rows of an op."""
    for row in rows(op):
        for strategy in row.strategies:
            name = row.name.lstrip("-.") or "plain"
            yield Text(f"{op}/{name}{LEVELS[strategy]}.pto", emitted(row.program, strategy))


def _both(name: str, program: ir.Program) -> Iterator[Text]:
    for strategy, level in LEVELS.items():
        yield Text(f"{name}{level}.pto", emitted(program, strategy))


def example_texts() -> Iterator[Text]:
    """Yield the texts of the kernels of all examples, one per file, as `ir.compile` writes them."""
    for case in cases(ROOT / "examples"):
        for strategy, level in LEVELS.items():
            after = PassManager.get_strategy(strategy).run_passes(case.program)
            for kernel in kernels(after):
                text = PTOCodegen().generate(after.with_functions([kernel]))
                yield Text(f"examples/{case.name}.{kernel.name}{level}.pto", text)


def program_texts() -> Iterator[Text]:
    """Yield the texts of the kernels of the programs with regions."""
    for name in SIZES:
        after = PassManager.get_strategy(OptimizationStrategy.PTOAS).run_passes(
            program_with_regions(name)
        )
        for kernel in kernels(after):
            text = PTOCodegen().generate(after.with_functions([kernel]))
            yield Text(f"programs/{name.replace('/', '.')}.{kernel.name}.pto", text)


@cache
def program_with_regions(name: str) -> ir.Program:
    """Return a program with regions, as parsed."""
    return example(name).load().case.program


@cache
def forms() -> dict[str, ir.Program]:
    """Return the programs of the forms by name."""
    return {name: pl.parse_program(source, f"{name}.py") for name, source in FORMS.items()}


def kernel_texts() -> Iterator[Text]:
    """Yield the texts of the kernels that `tests/emit/test_pto.py` builds by hand."""
    for make in KERNELS:
        yield from _both(f"kernels/{make.__name__}", ir.Program([make()], "test"))


def form_texts() -> Iterator[Text]:
    """Yield the texts of the forms."""
    for name, program in forms().items():
        yield from _both(f"forms/{name}", program)


def random_texts() -> Iterator[Text]:
    """Yield the texts of random kernels, alternating level 2 and level 3."""
    strategies = list(LEVELS)
    for seed in range(DRAWN):
        function = random_kernel(Random(seed).randrange, 12)
        drawn = {
            "built": ir.Program([function], "built", entry=function.name),
            "written": pl.parse_program(random_source(Random(seed).randrange, 8)),
            "multiplied": pl.parse_program(random_matrix_source(Random(seed).randrange, 8)),
        }
        strategy = strategies[seed % len(strategies)]
        for way, program in drawn.items():
            path = f"random/{way}-{seed:02}{LEVELS[strategy]}.pto"
            yield Text(path, emitted(program, strategy))


def texts(folder: str) -> Iterator[Text]:
    """Yield the texts of a folder: an op, or one of `OTHERS`."""
    return OTHERS[folder]() if folder in OTHERS else row_texts(folder)


OTHERS = {
    "examples": example_texts,
    "forms": form_texts,
    "kernels": kernel_texts,
    "programs": program_texts,
    "random": random_texts,
}
FOLDERS = (*OPS, *OTHERS)
