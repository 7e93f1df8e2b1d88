"""Compiled kernels that access memory outside of their arrays report it and touch nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.driver import INCLUDE, CompiledProgram
from pypto._src.emit.cpp.launch_sizes import tensor_sizes
from pypto._src.errors import EvaluationError
from pypto._src.ir.stmts import Function
from pypto._src.run.native import KernelError, LaunchTensor, launcher_source, load_kernel
from pypto.runtime import compile as compile_program
from tests.natively import compiler, deferred

Region = tuple[str, tuple[int, ...], str, tuple[int, ...]]

TEXT = """
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def shift(
    x: pl.Tensor[[64, 64], pl.FP32],
    begin: pl.Scalar[pl.INT64],
    end: pl.Scalar[pl.INT64],
    out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
):
    tile = pl.load(x, [begin, 0], [32, 64])
    out = pl.store(tile, [end, 0], [32, 64], out)
"""


def _arrays() -> tuple[Any, Any]:
    x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    return x, np.zeros((192, 64), np.float32)


@pytest.mark.parametrize(
    ("begin", "end", "message", "hint"),
    [
        (
            33,
            0,
            "shift: a load reads [33:65, 0:64] of x, a tensor [64, 64]",
            "load only what is in bounds: valid_shapes=[pl.min(32, 64 - offset), 64]",
        ),
        (
            -1,
            0,
            "shift: a load reads [-1:31, 0:64] of x, a tensor [64, 64]",
            'run it with target="interpreter", which names the line',
        ),
        (
            0,
            33,
            "shift: a store writes [33:65, 0:64] of out, a tensor [64, 64]",
            "load only what is in bounds: valid_shapes=[pl.min(32, 64 - offset), 64]",
        ),
        (
            0,
            -1,
            "shift: a store writes [-1:31, 0:64] of out, a tensor [64, 64]",
            'run it with target="interpreter", which names the line',
        ),
    ],
)
def test_transfers_outside_are_errors(begin: int, end: int, message: str, hint: str) -> None:
    """Neither end of the output changes, and the interpreter rejects the same call."""
    compiler()
    x, memory = _arrays()
    program = pl.parse(TEXT)
    with pytest.raises(KernelError) as caught:
        compile_program(program, target="cpu")(x, begin, end, memory[64:128])
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert caught.value.slug == "out-of-bounds"
    assert not memory[:64].any()
    assert not memory[128:].any()
    with pytest.raises(EvaluationError) as refused:
        compile_program(program, target="interpreter")(x, begin, end, memory[64:128])
    assert refused.value.slug == "out-of-bounds"


def test_transfers_up_to_the_edge_are_not() -> None:
    """The last region of a tensor may be read and written; a failed call has no lasting effect."""
    compiler()
    x, memory = _arrays()
    compiled = compile_program(pl.parse(TEXT), target="cpu")
    with pytest.raises(KernelError):
        compiled(x, 60, 0, memory[64:128])
    compiled(x, 32, 32, memory[64:128])
    assert (memory[96:128] == x[32:]).all()


def test_launcher_names_the_tensors() -> None:
    """The launcher passes each tensor's bytes, name and sizes to the headers."""
    x = LaunchTensor("x", 4, (64, 64))
    some = LaunchTensor("some", 2, ("args[4]", 8))
    loose = LaunchTensor("loose", 4, None)
    text = launcher_source("kernel_entry", [x, None, some, loose], "shift")
    assert [line.strip() for line in text.splitlines() if "shape" in line or "name" in line] == [
        'pto::cpu::name_kernel("shift");',
        "static const int64_t shape_0[] = {64, 64};",
        'pto::cpu::allow(reinterpret_cast<const void*>(args[0]), 4 * 64 * 64, "x", shape_0, 2);',
        "const int64_t shape_2[] = {args[4], 8};",
        "pto::cpu::allow(reinterpret_cast<const void*>(args[2]), 2 * args[4] * 8, "
        '"some", shape_2, 2);',
    ]
    assert 'args[3]), int64_t{1} << 62, "loose");' in text
    assert "allow" not in launcher_source("kernel_entry")


@cache
def _together() -> dict[str, CompiledProgram]:
    """Return programs by their texts; their kernels are compiled together."""
    texts = [_part(declared, sizes, len(shape)) for declared, shape, sizes, *_ in OVER_THE_END]
    texts += [_part(declared, sizes, len(shape)) for declared, shape, sizes, *_ in LAST]
    texts += [_part(declared, sizes, len(shape)) for declared, shape, sizes, *_ in BEYOND]
    texts += [_WALK.format(begin=begin) for begin, _ in WALKS]
    texts += [_EXPRESSION.format(rows=rows) for rows in ROWS]
    with deferred():
        return {text: compile_program(pl.parse(text), target="cpu") for text in texts}


def _compiled(text: str) -> CompiledProgram:
    compiler()
    return _together().get(text) or compile_program(pl.parse(text), target="cpu")


def _outcome(text: str, args: Sequence[Any]) -> tuple[str, str]:
    """Return the outcome on the CPU and in the interpreter: an error's slug, or "ran"."""
    found: list[str] = []
    for run in (_compiled(text), compile_program(pl.parse(text), target="interpreter")):
        copies: list[Any] = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        try:
            run(*copies)
            found.append("ran")
        except EvaluationError as error:
            found.append(error.slug)
    return found[0], found[1]


_PART = """
import pypto.language as pl
{dims}
@pl.function(type=pl.FunctionType.InCore)
def part(
    x: pl.Tensor[{shape}, pl.FP32],
    {offsets},
    out: pl.Out[pl.Tensor[{shape}, pl.FP32]],
):
    tile = pl.load(x, [{names}], [{sizes}])
    out = pl.store(tile, [{names}], [{sizes}], out)
"""


def _part(declared: str, sizes: str, rank: int) -> str:
    names = "abcd"[:rank]
    return _PART.format(
        dims='N = pl.dynamic("N")' if "N" in declared else "",
        shape=declared,
        offsets=", ".join(f"{name}: pl.Scalar[pl.INT64]" for name in names),
        names=", ".join(names),
        sizes=sizes,
    )


OVER_THE_END: list[Region] = [
    ("[64, 100]", (64, 100), "16, 32", (0, 96)),  # the end of a row, the start of the next
    ("[64, N]", (64, 100), "16, 32", (3, 69)),  # a width that is set at the call
    ("[64, 100]", (64, 100), "16, 32", (1, -5)),  # the row before
    ("[4, 8, 32]", (4, 8, 32), "2, 4, 16", (0, 5, 16)),  # the next matrix
    ("[4, 8, 32]", (4, 8, 32), "2, 4, 16", (0, 4, 17)),
    ("[2, 4, 8, 32]", (2, 4, 8, 32), "1, 2, 8, 32", (0, 3, 0, 0)),
    ("[4, 64, 1]", (4, 64, 1), "1, 32, 1", (0, 40, 0)),  # a column into the next one
    ("[32, 64]", (32, 64), "1, 64", (30, 8)),
    ("[64, N]", (64, 1), "8, 8", (0, 0)),  # with equal strides nothing follows
    ("[4, N, 32]", (4, 1, 32), "1, 2, 32", (0, 0, 0)),
]


@pytest.mark.parametrize(("declared", "shape", "sizes", "offsets"), OVER_THE_END)
def test_regions_over_the_end_of_a_dimension_are_errors(
    declared: str, shape: tuple[int, ...], sizes: str, offsets: tuple[int, ...]
) -> None:
    """A region that runs over into the next row or matrix is rejected on both targets."""
    x = np.zeros(shape, np.float32)
    found = _outcome(_part(declared, sizes, len(shape)), [x, *offsets, x])
    assert found == ("out-of-bounds", "out-of-bounds")


LAST: list[Region] = [
    ("[64, 100]", (64, 100), "16, 32", (48, 68)),
    ("[64, N]", (64, 40), "16, 32", (48, 8)),
    ("[4, 8, 32]", (4, 8, 32), "2, 4, 16", (2, 4, 16)),
    ("[4, 1, 32]", (4, 1, 32), "4, 1, 32", (0, 0, 0)),
    ("[2, 4, 8, 32]", (2, 4, 8, 32), "1, 2, 8, 32", (1, 2, 0, 0)),
    ("[4, 64, 1]", (4, 64, 1), "1, 32, 1", (3, 32, 0)),
    ("[64, 1]", (64, 1), "32, 1", (32, 0)),
    ("[1, 64]", (1, 64), "1, 64", (0, 0)),
]


@pytest.mark.parametrize(("declared", "shape", "sizes", "offsets"), LAST)
def test_the_last_region_of_every_dimension_is_there(
    declared: str, shape: tuple[int, ...], sizes: str, offsets: tuple[int, ...]
) -> None:
    """A region that ends with its tensor's dimensions is accepted."""
    x = np.zeros(shape, np.float32)
    assert _outcome(_part(declared, sizes, len(shape)), [x, *offsets, x]) == ("ran", "ran")


_FIXED = """
import pypto.language as pl
N = pl.dynamic("N")
@pl.function(type=pl.FunctionType.InCore)
def fixed(
    x: pl.Tensor[{shape}, pl.FP32],
    w: pl.Scalar[pl.INT64],
    out: pl.Out[pl.Tensor[{sizes}, pl.FP32]],
):
    for i in pl.range(0, {stop}):
        tile = pl.load(x, {begin}, {sizes}{valid})
        out = pl.store(tile, {zeros}, {sizes}, out)
"""


@pytest.mark.parametrize(
    ("declared", "shape", "sizes", "stop", "begin", "valid"),
    [
        ("[64, N]", (64, 1), "[8, 8]", "1", "[0, 0]", ""),
        ("[64, N]", (64, 1), "[8, 8]", "N", "[0, i]", ""),
        ("[4, N, 32]", (4, 1, 32), "[1, 2, 32]", "N", "[0, i, 0]", ""),
        ("[64, 1]", (64, 1), "[8, 8]", "1", "[0, 0]", ", valid_shapes=[8, w]"),
    ],
)
def test_regions_beyond_a_single_element_are_errors(
    declared: str, shape: tuple[int, ...], sizes: str, stop: str, begin: str, valid: str
) -> None:
    """If a dimension has one element, a region that begins there need not end there."""
    zeros = "[0, 0, 0]" if len(shape) == 3 else "[0, 0]"
    text = _FIXED.format(
        shape=declared, sizes=sizes, stop=stop, begin=begin, valid=valid, zeros=zeros
    )
    out = np.zeros([int(size) for size in sizes.strip("[]").split(",")], np.float32)
    found = _outcome(text, [np.zeros(shape, np.float32), 5, out])
    assert found == ("out-of-bounds", "out-of-bounds")


_VIEWS = """
#include <cstdint>
#include <pto/pto-inst.hpp>
using namespace pto;
extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    float* x = reinterpret_cast<float*>(args[0]);
    using G = GlobalTensor<float, Shape<@shape@>, Stride<@strides@>, Layout::@layout@>;
    G part(x);
    TASSIGN(part, x + args[1]);
    Tile<TileType::Vec, float, @tile@, BLayout::@order@> tile;
    TASSIGN(tile, 0x0);
    TLOAD(tile, part);
}
"""


@pytest.mark.parametrize(
    ("shape", "strides", "layout", "tile", "order", "inside", "outside"),
    [
        # The matrix [8, 64] seen as a row of 512 elements: it crosses the matrix's rows.
        ("1, 1, 1, 1, 128", "1, 1, 1, 1, 1", "ND", "1, 128", "RowMajor", 96, 385),
        # As a matrix [16, 32], a part of which begins in the middle of a row of [8, 64].
        ("1, 1, 1, 2, 32", "1, 1, 1, 32, 1", "ND", "2, 32", "RowMajor", 32, 40),
        # Its transpose, whose columns are the matrix's rows.
        ("1, 1, 1, 32, 8", "1, 1, 1, 1, 64", "DN", "32, 8", "ColMajor", 32, 40),
        # The same row repeated.
        ("1, 1, 1, 4, 64", "1, 1, 1, 0, 1", "ND", "4, 64", "RowMajor", 448, 449),
        # Permuted dimensions: the innermost has the largest stride, and only bytes count.
        ("1, 1, 8, 1, 8", "1, 1, 1, 8, 64", "ND", "8, 8", "RowMajor", 56, 57),
    ],
)
def test_views_of_other_shapes(
    shape: str,
    strides: str,
    layout: str,
    tile: str,
    order: str,
    inside: int,
    outside: int,
) -> None:
    """The dimensions that count are those of the GlobalTensor's strides, not of the tensor's."""
    toolchain = compiler()
    fields = {"shape": shape, "strides": strides, "layout": layout, "tile": tile, "order": order}
    text = _VIEWS
    for name, value in fields.items():
        text = text.replace(f"@{name}@", value)
    x = np.zeros((8, 64), np.float32)
    tensors = [LaunchTensor("x", 4, (8, 64)), None]
    kernel = load_kernel(text, toolchain=toolchain, include_dirs=[INCLUDE], tensors=tensors)
    kernel([x.ctypes.data, inside])
    with pytest.raises(KernelError, match="a load reads "):
        kernel([x.ctypes.data, outside])


_CHOSEN = """
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def chosen(
    x: pl.Tensor[[8, 64], pl.FP32],
    y: pl.Tensor[[8, 64], pl.FP32],
    which: pl.Scalar[pl.INT64],
    column: pl.Scalar[pl.INT64],
    out: pl.Out[pl.Tensor[[8, 64], pl.FP32]],
):
    if which > 0:
        source = x
    else:
        source = y
    tile = pl.load(source, [0, column], [4, 32])
    out = pl.store(tile, [0, 0], [4, 32], out)
"""


def test_tensors_that_a_branch_chooses() -> None:
    """A tensor that is chosen only when the kernel runs is bounds-checked, too."""
    x = np.zeros((8, 64), np.float32)
    assert _outcome(_CHOSEN, [x, x, 1, 32, x]) == ("ran", "ran")
    assert _outcome(_CHOSEN, [x, x, 0, 40, x]) == ("out-of-bounds", "out-of-bounds")


_NEIGHBOURS = """
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def first(
    x: pl.Tensor[[8, 64], pl.FP32],
    y: pl.Tensor[[8, 64], pl.FP32],
    row: pl.Scalar[pl.INT64],
    out: pl.Out[pl.Tensor[[8, 64], pl.FP32]],
):
    tile = pl.add(pl.load(x, [row, 0], [4, 64]), pl.load(y, [0, 0], [4, 64]))
    out = pl.store(tile, [0, 0], [4, 64], out)
"""


def test_a_region_in_another_tensor_is_outside() -> None:
    """A load that leaves its tensor and falls inside the next one is still rejected."""
    compiler()
    memory = np.zeros((16, 64), np.float32)
    out = np.zeros((8, 64), np.float32)
    compiled = compile_program(pl.parse(_NEIGHBOURS), target="cpu")
    compiled(memory[:8], memory[8:], 4, out)
    with pytest.raises(KernelError) as caught:
        compiled(memory[:8], memory[8:], 9, out)
    message = "first: a load reads [9:13, 0:64] of x, a tensor [8, 64]"
    assert caught.value.message == message


_TASKS = """
import pypto.language as pl

@pl.program
class Tasks:
    @pl.function(type=pl.FunctionType.InCore)
    def part(
        self,
        x: pl.Tensor[[8, 48], pl.FP32],
        c: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[8, 48], pl.FP32]],
    ):
        tile = pl.load(x, [0, c], [8, 32])
        out = pl.store(tile, [0, 0], [8, 32], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[32, 64], pl.FP32],
        c: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
    ):
        for r in pl.range(0, 32, 8):
            self.part(x[r : r + 8, 8:56], c, out[r : r + 8, 8:56])
"""


def test_tasks_on_views() -> None:
    """A task's tensor is the view passed to it, and the error shows its shape."""
    compiler()
    x = np.zeros((32, 64), np.float32)
    compiled = compile_program(pl.parse(_TASKS), target="cpu")
    compiled(x, 16, np.zeros_like(x))
    with pytest.raises(KernelError) as caught:
        compiled(x, 17, np.zeros_like(x))
    assert caught.value.message == "part: a load reads [0:8, 17:49] of x, a tensor [8, 48]"
    with pytest.raises(KernelError) as beyond:
        compiled(x, 48, np.zeros_like(x))
    assert beyond.value.message == "part: a load reads [0:8, 48:80] of x, a tensor [8, 48]"
    assert caught.value.hint == (
        "load only what is in bounds: valid_shapes=[8, pl.min(32, 48 - offset)]"
    )
    assert caught.value.slug == "out-of-bounds"


_READS = """
import pypto.language as pl
N = pl.dynamic("N")

@pl.function(type=pl.FunctionType.InCore)
def reads(
    x: pl.Tensor[[32, 64], pl.FP32],
    t: pl.Tensor[[8, N], pl.INT32],
    v: pl.Scalar[pl.INT64],
    i: pl.Scalar[pl.INT64],
    j: pl.Scalar[pl.INT64],
    out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
):
    some = pl.view(t, [4, 2], [v, 2])
    row = pl.tensor.read(some, [i, j])
    tile = pl.load(x, [row, 0], [16, 64])
    out = pl.store(tile, [0, 0], [16, 64], out)
"""


@pytest.mark.parametrize(
    ("width", "v", "i", "j", "message"),
    [
        (4, 4, 3, 1, None),
        (4, 0, 4, 0, "reads: pl.read takes 4:5 of a dimension of 4 elements"),
        (4, 0, 0, -1, "reads: pl.read takes -1:0 of a dimension of 2 elements"),
        (4, 5, 0, 0, "reads: pl.view takes 5:9 of a dimension of 8 elements"),
        (4, -1, 0, 0, "reads: pl.view takes -1:3 of a dimension of 8 elements"),
        (3, 0, 0, 0, "reads: pl.view takes 2:4 of a dimension of 3 elements"),
    ],
)
def test_elements_and_views_outside_are_errors(
    width: int, v: int, i: int, j: int, message: str | None
) -> None:
    """A single element that is read, and a view, must be within their tensor in each dimension."""
    x, out = np.ones((32, 64), np.float32), np.zeros((32, 64), np.float32)
    args = [x, np.zeros((8, width), np.int32), v, i, j, out]
    said = "ran" if message is None else "out-of-bounds"
    assert _outcome(_READS, args) == (said, said)
    if message is not None:
        with pytest.raises(KernelError) as caught:
            compile_program(pl.parse(_READS), target="cpu")(*args)
        assert caught.value.message == message


_NARROW = """
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def rows(
    x: pl.Tensor[[512, 64], pl.FP32],
    t: pl.Tensor[[8], pl.INT32],
    out: pl.Out[pl.Tensor[[8, 64], pl.FP32]],
):
    row = pl.tensor.read(t, [3])
    tile = pl.load(x, [row, 0], [8, 64])
    out = pl.store(tile, [0, 0], [8, 64], out)
"""


@pytest.mark.parametrize("row", [1 << 26, (1 << 26) + 5, -(1 << 26)])
def test_addresses_have_64_bits(row: int) -> None:
    """A 32-bit row number is not truncated when it is multiplied by the length of a row."""
    t = np.full(8, row, np.int32)
    args = [np.zeros((512, 64), np.float32), t, np.zeros((8, 64), np.float32)]
    assert _outcome(_NARROW, args) == ("out-of-bounds", "out-of-bounds")


def test_large_constant_offsets() -> None:
    """A constant offset beyond 32 bits is a 64-bit literal in C++."""
    compiler()
    function = pl.parse(_NARROW.replace("512", "100000000").replace("[row, 0]", "[90000000, 0]"))
    text = compile_program(function, target="cpu").sources["rows"]
    assert "TASSIGN(x_8x64Global, x + 90000000LL * 64 + 0);" in text


BEYOND: list[tuple[str, tuple[int, ...], str, tuple[int, ...], str]] = [
    ("[64, 64]", (64, 64), "16, 64", (0, 64), "[0:16, 64:128] of x, a tensor [64, 64]"),
    ("[64, 64]", (64, 64), "16, 64", (47, 64), "[47:63, 64:128] of x, a tensor [64, 64]"),
    ("[64, 64]", (64, 64), "16, 64", (9, -64), "[9:25, -64:0] of x, a tensor [64, 64]"),
    ("[64, N]", (64, 96), "16, 32", (5, 192), "[5:21, 192:224] of x, a tensor [64, 96]"),
    ("[2, 8, 32]", (2, 8, 32), "1, 8, 32", (0, 8, 0), "[0:1, 8:16, 0:32] of x, a tensor "),
    ("[2, 8, 32]", (2, 8, 32), "1, 8, 16", (1, -8, 48), "[1:2, -8:0, 48:64] of x, a tensor "),
]


@pytest.mark.parametrize(("declared", "shape", "sizes", "offsets", "message"), BEYOND)
def test_regions_wholly_beyond_a_row_are_errors(
    declared: str, shape: tuple[int, ...], sizes: str, offsets: tuple[int, ...], message: str
) -> None:
    """A region whose addresses match a region in later rows is rejected, at its own offsets."""
    x = np.zeros(shape, np.float32)
    text = _part(declared, sizes, len(shape))
    assert _outcome(text, [x, *offsets, x]) == ("out-of-bounds", "out-of-bounds")
    with pytest.raises(KernelError) as caught:
        _compiled(text)(x, *offsets, x.copy())
    whole = f"part: a load reads {message}"
    assert caught.value.message == (whole + str([*shape]) if whole.endswith("tensor ") else whole)


_WITHIN = """
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def within(
    x: pl.Tensor[[64, 64], pl.FP32],
    r: pl.Scalar[pl.INT64],
    c: pl.Scalar[pl.INT64],
    to: pl.Scalar[pl.INT64],
    out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
):
    some = pl.view(x, [32, 32], [16, 8])
    tile = pl.load(some, [r, c], [16, 16])
    mine = pl.view(out, [16, 64], [32, 0])
    mine = pl.store(tile, [to, 0], [16, 16], mine)
"""


@pytest.mark.parametrize(
    ("r", "c", "to", "message"),
    [
        (16, 16, 0, None),
        (
            17,
            0,
            0,
            "a load reads [33:49, 8:24] of x, a tensor [64, 64], 17:33 of the 32 elements that "
            "its part has in dimension 0",
        ),
        (
            0,
            -8,
            0,
            "a load reads [16:32, 0:16] of x, a tensor [64, 64], -8:8 of the 32 elements that "
            "its part has in dimension 1",
        ),
        (
            2,
            56,
            0,
            "a load reads [18:34, 64:80] of x, a tensor [64, 64], 56:72 of the 32 elements that "
            "its part has in dimension 1",
        ),
        (
            0,
            0,
            16,
            "a store writes [48:64, 0:16] of out, a tensor [64, 64], 16:32 of the 16 elements "
            "that its part has in dimension 0",
        ),
    ],
)
def test_regions_that_leave_a_view_are_errors(r: int, c: int, to: int, message: str | None) -> None:
    """A region must stay within the view that the kernel took, not just within the whole tensor."""
    x, out = np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32)
    args = [x, r, c, to, out]
    said = "ran" if message is None else "out-of-bounds"
    assert _outcome(_WITHIN, args) == (said, said)
    if message is not None:
        with pytest.raises(KernelError) as caught:
            compile_program(pl.parse(_WITHIN), target="cpu")(*args)
        assert caught.value.message == f"within: {message}"
        assert caught.value.hint == 'run it with target="interpreter", which names the line'
        assert "store" not in message or not out.any()


def test_a_refused_transfer_stands_for_itself() -> None:
    """An empty region is not rejected, and neither is the transfer after it."""
    text = _WITHIN.replace("[r, c], [16, 16]", "[r, c], [16, 16], valid_shapes=[to, 16]")
    text = text.replace("mine = pl.store(tile", "mine = pl.store(pl.fillpad(tile)")
    compiler()
    x, out = np.ones((64, 64), np.float32), np.ones((64, 64), np.float32)
    compile_program(pl.parse(text), target="cpu")(x, 40, 40, 0, out)
    assert not out[32:48, :16].any()
    assert out[:32].all()


_WALK = """
import pypto.language as pl
N = pl.dynamic("N")

@pl.function(type=pl.FunctionType.InCore)
def walk(
    x: pl.Tensor[[64, 256], pl.FP32],
    y: pl.Tensor[[64, N], pl.FP32],
    out: pl.Out[pl.Tensor[[64, 256], pl.FP32]],
):
    for i in pl.range(4):
        at = i * 64
        out = pl.store(pl.load(x, [0, {begin}], [16, 64]), [0, at], [16, 64], out)
    for j in pl.range(0, N, 64):
        tile = pl.load(y, [0, j], [16, 64], valid_shapes=[16, pl.min(64, N - j)])
        out = pl.store(pl.fillpad(tile), [16, 0], [16, 64], out)
"""


WALKS: list[tuple[str, str | None]] = [
    ("at", None),
    ("at // 2 + 64", None),
    ("pl.min(at + 1, 192)", None),
    ("256 - 64 - at", None),
    ("(at + 64) % 256 // 2", None),
    ("at + 64", "region_begin(1, at + 64, 64, 256)"),
    ("at - 1", "region_begin(1, at - 1, 64, 256)"),
]


@pytest.mark.parametrize(("begin", "checked"), WALKS)
def test_what_is_sure_to_be_inside_is_not_checked(begin: str, checked: str | None) -> None:
    """Offsets that are provably in bounds are emitted as they are; others begin with a check."""
    text = _compiled(_WALK.format(begin=begin)).sources["walk"]
    lines = [line.strip() for line in text.splitlines() if "TASSIGN(" in line]
    places = [line.partition(", ")[2] for line in lines if "Global" in line]
    assert (places[0] == f"x + 0 * 256 + {checked});") is (checked is not None)
    assert places[1:] == ["out + 0 * 256 + at);", "y + 0 * N + j);", "out + 16 * 256 + 0);"]
    assert ("region_begin" in text) is (checked is not None)


_VALID = """
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def valid(
    x: pl.Tensor[[64, 64], pl.FP32],
    n: pl.Scalar[pl.INT64],
    out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
):
    {take}
    tile = pl.load(some, [0, {begin}], [16, 64], valid_shapes=[16, n])
    out = pl.store(pl.fillpad(tile), [0, 0], [16, 64], out)
"""


@pytest.mark.parametrize(
    ("take", "begin", "n", "message"),
    [
        ("some = x", 64, 0, None),
        ("some = x", 64, 8, "[0:16, 64:72] of x, a tensor [64, 64]"),
        ("some = x", 0, 64, None),
        ("some = pl.view(x, [16, 32], [0, 16])", 24, 8, None),
        (
            "some = pl.view(x, [16, 32], [0, 16])",
            24,
            16,
            "[0:16, 40:56] of x, a tensor [64, 64], 24:40 of the 32 elements that its part has in "
            "dimension 1",
        ),
    ],
)
def test_valid_parts_that_begin_at_a_constant(
    take: str, begin: int, n: int, message: str | None
) -> None:
    """The extent of a partly valid tile is known only when the kernel runs."""
    text = _VALID.format(take=take, begin=begin)
    args = [np.ones((64, 64), np.float32), n, np.zeros((64, 64), np.float32)]
    said = "ran" if message is None else "out-of-bounds"
    assert _outcome(text, args) == (said, said)
    if message is not None:
        with pytest.raises(KernelError) as caught:
            compile_program(pl.parse(text), target="cpu")(*args)
        assert caught.value.message == f"valid: a load reads {message}"


def test_columns_wholly_beyond_their_end_are_errors() -> None:
    """A column of a wider tensor is rejected where the next one begins."""
    x = np.zeros((4, 64, 1), np.float32)
    text = _part("[4, 64, 1]", "1, 32, 1", 3)
    assert _outcome(text, [x, 1, 64, 0, x]) == ("out-of-bounds", "out-of-bounds")
    with pytest.raises(KernelError) as caught:
        compile_program(pl.parse(text), target="cpu")(x, 1, 64, 0, x.copy())
    assert caught.value.message == (
        "part: a load reads [1:2, 64:96, 0:1] of x, a tensor [4, 64, 1]"
    )


_EXPRESSION = """
import pypto.language as pl
M = pl.dynamic("M")
@pl.function(type=pl.FunctionType.InCore)
def cut(
    x: pl.Tensor[[{rows}, 64], pl.FP32],
    y: pl.Tensor[[M, 64], pl.FP32],
    n: pl.Scalar[pl.INT64],
    begin: pl.Scalar[pl.INT64],
    out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
):
    tile = pl.load(x, [begin, 0], [32, 64])
    out = pl.store(tile, [0, 0], [32, 64], out)
"""


ROWS = ["M + n", "n + M - 0 * n", "M * n // 5 + (M + n) % 8", "pl.max(M, 69)", "M + n ** 2 - 20"]


@pytest.mark.parametrize("rows", ROWS)
def test_dimensions_that_are_expressions_have_ends_too(rows: str) -> None:
    """In a tensor of M + n rows, 64 + 5, no region may end past row 69."""
    text = _EXPRESSION.format(rows=rows)
    program = pl.parse(text)
    memory = np.zeros((128, 64), np.float32)
    x, y, out = memory[:69], np.zeros((64, 64), np.float32), np.zeros((32, 64), np.float32)
    compiled = _compiled(text)
    compiled(x, y, 5, 37, out)
    with pytest.raises(KernelError) as caught:
        compiled(x, y, 5, 38, out)
    assert caught.value.message == "cut: a load reads [38:70, 0:64] of x, a tensor [69, 64]"
    with pytest.raises(EvaluationError) as refused:
        compile_program(program, target="interpreter")(x, y, 5, 38, out)
    assert refused.value.slug == caught.value.slug == "out-of-bounds"


def test_sizes_that_are_expressions_are_functions_of_the_words() -> None:
    """They are in a namespace, where their helpers do not clash with the kernel's own names."""
    function = pl.parse(_EXPRESSION.format(rows="M // n"))
    assert isinstance(function, Function)
    sizes = tensor_sizes(function)
    x, y, out = (function.params[index] for index in (0, 1, 4))
    assert sizes.shapes == {
        x: ("kernel_sizes::size_0(args)", 64),
        y: ("args[5]", 64),
        out: (32, 64),
    }
    lines = sizes.functions.strip().splitlines()
    assert lines[0] == "namespace kernel_sizes {"
    assert "static inline __aicore__ int64_t floor_div(int64_t a, int64_t b)" in lines
    assert lines[-2:] == [
        "static int64_t size_0(const int64_t* args) { return floor_div(args[5], args[2]); }",
        "}",
    ]
