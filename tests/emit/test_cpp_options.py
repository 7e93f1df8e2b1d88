"""Optional additions to a kernel's C++: each option's text and effect."""

# The operators and results of these functions are only meaningful to PyPTO's front end.
# pyright: reportInvalidTypeArguments=false, reportOperatorIssue=false, reportArgumentType=false
# pyright: reportAssignmentType=false, reportReturnType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnnecessaryComparison=false

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.driver import CompiledProgram, compile_program
from pypto._src.ir.stmts import Function
from pypto.codegen import CodeGenerator, CppOptions
from tests.emit.kernels import Branches, Loops, Regions
from tests.emit.native import lowered
from tests.natively import compiler, deferred

ROOT = Path(__file__).parents[2]
ROWS = pl.dynamic("ROWS")
ALL = CppOptions(
    fold_constants=True,
    remove_dead_code=True,
    share_expressions=True,
    scheduling_hints=True,
    debug_prints=True,
    profile=True,
    source_lines=True,
)
EACH = {
    "none": CppOptions(),
    "fold_constants": CppOptions(fold_constants=True),
    "remove_dead_code": CppOptions(remove_dead_code=True),
    "share_expressions": CppOptions(share_expressions=True),
    "scheduling_hints": CppOptions(scheduling_hints=True),
    "debug_prints": CppOptions(debug_prints=True),
    "profile": CppOptions(profile=True),
    "source_lines": CppOptions(source_lines=True),
    "all": ALL,
}


@pl.program
class Index:
    """Index arithmetic with constants, repetitions, unused values and constant branches."""

    @pl.function(type=pl.FunctionType.InCore)
    def index(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
        n: pl.Scalar[pl.INT64],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        size = pl.min(8, 9)
        unused = n * 3
        also_unused = unused + 1
        for i in pl.range(0, 4):
            tile = pl.load(x, [i * 8 + n, 0], [8, 64])
            if size > 4:  # noqa: SIM108  the text of a statement is shown
                tile = pl.add(tile, tile)
            else:
                tile = pl.mul(tile, 3.0)
            out = pl.store(tile, [i * 8 + n, 0], [8, 64], out)
        for _ in pl.range(5, 5):
            out = pl.store(pl.load(x, [also_unused, 0], [8, 64]), [0, 0], [8, 64], out)
        return out


def body(program: Any, options: CppOptions) -> list[str]:
    """Return the lines of the body without flags, so that the arithmetic is easy to see."""
    function: Function = lowered(program)
    text = CodeGenerator(options, comments=options.source_lines).generate(function)
    lines = text.split("    // Function body\n")[1].removesuffix("}\n").splitlines()
    skipped = ("set_flag", "wait_flag", "pipe_barrier")
    return [line[4:] for line in lines if not line.strip().startswith(skipped)]


def test_plain_text() -> None:
    """Without options every expression is as in the source; unread scalars are left out."""
    assert body(Index, CppOptions()) == [
        "int64_t size = 8 < 9 ? 8 : 9;",
        "int64_t unused = n * 3;",
        "int64_t also_unused = unused + 1;",
        "for (int64_t i = 0; i < 4; i += 1) {",
        "    TASSIGN(x_8x64Global, x + (i * 8 + n) * 64 + 0);",
        "    TLOAD(tile_0, x_8x64Global);",
        "    using tile_3Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;",
        "    tile_3Type tile_3(8, 64);",
        "    TASSIGN(tile_3, 0x800);",
        "    if (size > 4) {",
        "        TADD(tile_1, tile_0, tile_0);",
        "        tile_3 = tile_1;",
        "    } else {",
        "        TMULS(tile_2, tile_0, 3.0f);",
        "        tile_3 = tile_2;",
        "    }",
        "    TASSIGN(out_8x64Global, out + (i * 8 + n) * 64 + 0);",
        "    TSTORE(out_8x64Global, tile_3);",
        "}",
        "for (int64_t _ = 5; _ < 5; _ += 1) {",
        "    TASSIGN(x_8x64Global, x + also_unused * 64 + 0);",
        "    TLOAD(_t0, x_8x64Global);",
        "    TASSIGN(out_8x64Global, out + 0 * 64 + 0);",
        "    TSTORE(out_8x64Global, _t0);",
        "}",
    ]


def test_constants_are_folded() -> None:
    """Constant expressions are computed; additions of 0 and products with 1 are removed."""
    lines = body(Index, CppOptions(fold_constants=True))
    assert lines[0] == "int64_t unused = n * 3;"
    assert "    if (true) {" in lines
    assert "    TASSIGN(x_8x64Global, x + (i * 8 + n) * 64);" in lines
    assert "    TASSIGN(out_8x64Global, out);" in lines


def test_repeated_expressions_are_computed_once() -> None:
    """An expression that a block uses twice gets a variable at its first use."""
    lines = body(Index, CppOptions(share_expressions=True))
    begin = lines.index("for (int64_t i = 0; i < 4; i += 1) {")
    assert lines[begin + 1 : begin + 6] == [
        "    int64_t index = i * 8;",
        "    int64_t index_1 = index + n;",
        "    int64_t index_2 = index_1 * 64;",
        "    TASSIGN(x_8x64Global, x + index_2);",
        "    TLOAD(tile_0, x_8x64Global);",
    ]
    assert "    TASSIGN(out_8x64Global, out + index_2);" in lines


@pl.program
class Tail:
    """A computed size, used before the body and in it."""

    @pl.function(type=pl.FunctionType.InCore)
    def tail(
        self, x: pl.Tensor[[ROWS, 64], pl.FP32], out: pl.Out[pl.Tensor[[ROWS - 1, 64], pl.FP32]]
    ):
        for i in pl.range(ROWS - 1):
            out = pl.store(pl.load(x, [i + 1, 0], [1, 64]), [i, 0], [1, 64], out)
        out = pl.store(pl.load(x, [ROWS - 1, 0], [1, 64]), [ROWS - 2, 0], [1, 64], out)


def test_sizes_of_parameters_are_not_shared() -> None:
    """Parameters are declared before the body, where shared expressions are computed."""
    compiler()
    x = np.arange(9 * 64, dtype=np.float32).reshape(9, 64)
    out = np.zeros((8, 64), np.float32)
    compile_program(Tail, options=CppOptions(share_expressions=True))(x, out)
    assert (out == x[1:]).all()


def test_dead_code_is_left_out() -> None:
    """With folded constants, constant branches and loops that never run go, with their operands."""
    lines = body(Index, CppOptions(fold_constants=True, remove_dead_code=True))
    assert not [line for line in lines if "else" in line or "int64_t _" in line]
    assert not [line for line in lines if "unused" in line]


def test_unread_scalars_are_left_out() -> None:
    """Without any option: a scalar that nothing reads, and what only such scalars read."""
    assert [line for line in body(Unread, CppOptions()) if "int64_t" in line] == []


@pl.program
class Unread:
    """A value that only an unread value reads."""

    @pl.function(type=pl.FunctionType.InCore)
    def unread(
        self, out: pl.Out[pl.Tensor[[8, 64], pl.FP32]], n: pl.Scalar[pl.INT64]
    ) -> pl.Tensor[[8, 64], pl.FP32]:
        a = n * 3
        b = a + 1  # noqa: F841  # pyright: ignore[reportUnusedVariable]  nothing reads it
        return pl.store(pl.full([8, 64], pl.FP32, 1.0), [0, 0], [8, 64], out)


def test_hints_name_pipes_and_unroll() -> None:
    """Each instruction names its pipe; short constant loops get an unroll pragma."""
    lines = body(Index, CppOptions(scheduling_hints=True))
    begin = lines.index("for (int64_t i = 0; i < 4; i += 1) {")
    assert lines[begin - 1] == "PYPTO_UNROLL"
    assert lines[begin + 1 : begin + 3] == [
        "    TASSIGN(x_8x64Global, x + (i * 8 + n) * 64 + 0);",
        "    TLOAD(tile_0, x_8x64Global);  // MTE2",
    ]
    assert "        TADD(tile_1, tile_0, tile_0);  // V" in lines
    assert "    TSTORE(out_8x64Global, tile_3);  // MTE3" in lines
    assert sum(line == "PYPTO_UNROLL" for line in lines) == 1


def test_comments_have_the_source_line() -> None:
    """A comment names file and line and has the text of the line."""
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    wanted = "tile = pl.load(x, [i * 8 + n, 0], [8, 64])"
    [number] = [i for i, line in enumerate(source, 1) if line.strip() == wanted]
    lines = body(Index, CppOptions(source_lines=True))
    assert f"    // test_cpp_options.py:{number}: {wanted}" in lines


def test_lines_of_no_source_have_no_comment() -> None:
    """The profiling code follows the last source line, and has no line of its own."""
    text = CodeGenerator(CppOptions(profile=True)).generate(lowered(Unread))
    *_, barrier, calls, seconds, end = text.splitlines()
    assert barrier == "    pipe_barrier(PIPE_ALL);"
    assert calls == "    profile_add(profile, 1);"
    assert seconds == "    profile_add(profile + 1, profile_clock() - profile_begin);"
    assert end == "}"


PROGRAMS: list[Any] = [Index, Loops, Regions, Branches]


@cache
def compiled_with_options() -> dict[tuple[str, str], CompiledProgram]:
    """Return each program with each option; their kernels are compiled together."""
    compiler()
    with deferred():
        return {
            (name, program.name): compile_program(program, options=options)
            for name, options in EACH.items()
            for program in PROGRAMS
        }


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@pytest.mark.parametrize("name", EACH)
def test_options_change_no_value(name: str, program: Any, capfd: Any) -> None:
    """With each option, and with all of them, a kernel computes the interpreter's values."""
    compiled = compiled_with_options()[name, program.name]
    arguments, expected = ([*compiled.random_arguments(3).values()] for _ in range(2))
    if program is Regions:
        arguments[-1] = expected[-1] = 16
    for _ in range(2):
        compiled(*arguments)
    compile_program(program, "interpreter")(*expected)
    for found, wanted in zip(arguments, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pl.program
class Printed:
    """A scalar of each kind, and a tile."""

    @pl.function(type=pl.FunctionType.InCore)
    def printed(
        self,
        x: pl.Tensor[[1, 8], pl.FP32],
        out: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
        n: pl.Scalar[pl.INT64],
        f: pl.Scalar[pl.FP32],
    ) -> pl.Tensor[[1, 8], pl.FP32]:
        row = n - 3
        scale = f * 2.0
        tile = pl.load(x, [row, 0], [1, 8])
        return pl.store(pl.mul(tile, scale), [row, 0], [1, 8], out)


_PRINT = """
import numpy as np
from pypto._src.driver import compile_program
from pypto.codegen import CppOptions
from tests.emit.test_cpp_options import Printed
x = np.arange(8, dtype=np.float32).reshape(1, 8)
compile_program(Printed, options=CppOptions(debug_prints=True))(x, np.zeros_like(x), 3, 0.25)
"""


def test_debug_prints_print() -> None:
    """Each scalar and each tile is printed with its name once it has its value."""
    path = f"{ROOT}{os.pathsep}{ROOT / 'src'}"
    done = subprocess.run(
        [sys.executable, "-c", _PRINT],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "row = 0",
        "scale = 0.5",
        "tile: TPRINT 1x8",
        "".join(f"{value:8.4f} " for value in range(8)),
        "_t0: TPRINT 1x8",
        "".join(f"{value / 2:8.4f} " for value in range(8)),
    ]


@pl.program
class Profiled:
    """A host function that launches one kernel four times and another once."""

    @pl.function(type=pl.FunctionType.InCore)
    def often(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
        r: pl.Scalar[pl.INT64],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        return pl.store(pl.load(x, [r, 0], [16, 64]), [r, 0], [16, 64], out)

    @pl.function(type=pl.FunctionType.InCore)
    def once(
        self, x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        return pl.store(pl.load(x, [0, 0], [64, 64]), [0, 0], [64, 64], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        a: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
        b: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        b = self.once(x, b)
        for r in pl.range(0, 64, 16):
            a = self.often(x, a, r)
        return a


@pytest.mark.parametrize("threads", ["1", "4"])
def test_profile_counts_calls_and_time(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel counts its calls, from any thread, and the time they took."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", threads)
    compiled = compile_program(Profiled, options=CppOptions(profile=True))
    assert compiled.profile == {"often": (0, 0.0), "once": (0, 0.0)}
    x = np.random.default_rng(1).random((64, 64), np.float32)
    a, b = np.zeros_like(x), np.zeros_like(x)
    for _ in range(3):
        compiled(x, a, b)
    np.testing.assert_array_equal(a, x)
    np.testing.assert_array_equal(b, x)
    assert [timing.calls for timing in compiled.profile.values()] == [12, 3]
    assert all(0 < timing.seconds < 60 for timing in compiled.profile.values())


def test_without_the_option_there_is_no_profile() -> None:
    """A program compiled without it counts nothing."""
    assert compile_program(Profiled).profile == {}


def test_profile_is_the_last_argument() -> None:
    """The two counters follow all other arguments, sizes included."""
    text = CodeGenerator(CppOptions(profile=True), comments=False).generate(lowered(Printed))
    prologue = text.split("\n\n")[0].splitlines()
    assert prologue[-1] == (
        "    __gm__ int64_t* profile = reinterpret_cast<__gm__ int64_t*>(args[4]);"
    )
    body = text.split("    // Function body\n")[1].splitlines()
    assert body[0] == "    int64_t profile_begin = profile_clock();"
    assert body[-3:] == [
        "    profile_add(profile, 1);",
        "    profile_add(profile + 1, profile_clock() - profile_begin);",
        "}",
    ]
