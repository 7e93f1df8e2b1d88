"""Every C++ text whose bytes `tests/golden` records: op rows, examples, forms, random kernels.

One kernel per file, for the tile library's headers, named as in `pto_texts.py`:
`<op>/<row>.<type>.<shapes>.cpp` for each shape and element type of each row of an op,
`examples/<case>.<kernel>.cpp` for each kernel of the examples, `programs/` for those of programs
with regions, `forms/` for what rows do not cover, `options/` for the optional additions to
the text, `random/` for random kernels. Each file is a complete translation unit with the entry
point ``kernel_entry``.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pypto.language as pl
from pypto import ir
from pypto._src.commands.example_cases import cases
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.ir.roles import kernels
from pypto._src.ir.stmts import Function
from pypto._src.passes.pass_manager import PassManager
from pypto.codegen import CppOptions
from tests.emit import kernels as written
from tests.emit import test_cpp_dynamic as dynamic
from tests.emit.pto_texts import DRAWN, OPS, ROOT, Text, forms, program_with_regions, rows
from tests.emit.test_cpp_document import has_tail_kernel, simple_add
from tests.emit.test_cpp_options import ALL, EACH, Index
from tests.examples.region_programs import SIZES
from tests.passes.build import random_kernel
from tests.properties.kernels import random_matrix_source, random_source

PROGRAMS = (
    written.BlockOfRows,
    written.Branches,
    written.Clashes,
    written.Fibonacci,
    written.Loops,
    written.Regions,
    written.Scalars,
    dynamic.Doubled,
    dynamic.Strided,
)
BUILT = (simple_add, has_tail_kernel, dynamic.partly_valid)


def lowered(program: ir.Program) -> Iterator[Function]:
    """Yield the kernels of a program after the default passes."""
    yield from kernels(PassManager.get_strategy().run_passes(program))


def text_of(function: Function, options: CppOptions | None = None) -> str:
    """Return the file of a kernel, without source locations, which change when tests are edited."""
    return kernel_file(function, comments=False, options=options or CppOptions())


def row_texts(op: str) -> Iterator[Text]:
    """Yield the texts of the rows of an op."""
    for row in rows(op):
        [function] = lowered(row.program)
        name = row.name.lstrip("-.") or "plain"
        yield Text(f"{op}/{name}.cpp", text_of(function))


def example_texts() -> Iterator[Text]:
    """Yield the texts of the kernels of all examples."""
    for case in cases(ROOT / "examples"):
        for function in lowered(case.program):
            yield Text(f"examples/{case.name}.{function.name}.cpp", text_of(function))


def program_texts() -> Iterator[Text]:
    """Yield the texts of the kernels of the programs with regions."""
    for name in SIZES:
        for function in lowered(program_with_regions(name)):
            path = f"programs/{name.replace('/', '.')}.{function.name}.cpp"
            yield Text(path, text_of(function))


def form_texts() -> Iterator[Text]:
    """Yield the texts of the forms of both emitters' tests."""
    for name, program in forms().items():
        for function in lowered(program):
            yield Text(f"forms/{name}.{function.name}.cpp", text_of(function))
    for program in PROGRAMS:
        for function in lowered(program):
            yield Text(f"forms/{program.name}.cpp", text_of(function))
    for make in BUILT:
        yield Text(f"forms/{make.__name__}.cpp", text_of(make()))


def option_texts() -> Iterator[Text]:
    """Yield one kernel for each option."""
    [function] = lowered(Index)
    for name, options in {**EACH, "all": ALL}.items():
        yield Text(f"options/{name}.cpp", text_of(function, options))


def random_texts() -> Iterator[Text]:
    """Yield the texts of random kernels."""
    for seed in range(DRAWN):
        function = random_kernel(Random(seed).randrange, 12)
        drawn = {
            "built": ir.Program([function], "built", entry=function.name),
            "written": pl.parse_program(random_source(Random(seed).randrange, 8)),
            "multiplied": pl.parse_program(random_matrix_source(Random(seed).randrange, 8)),
        }
        for way, program in drawn.items():
            [kernel] = lowered(program)
            yield Text(f"random/{way}-{seed:02}.cpp", text_of(kernel))


OTHERS = {
    "examples": example_texts,
    "forms": form_texts,
    "options": option_texts,
    "programs": program_texts,
    "random": random_texts,
}
FOLDERS = (*OPS, *OTHERS)


def texts(folder: str) -> Iterator[Text]:
    """Yield the texts of a folder: an op, or one of `OTHERS`."""
    return OTHERS[folder]() if folder in OTHERS else row_texts(folder)
