"""Slices of tiles, and loads and stores with the newer argument order, in kernels.

Each runs in the interpreter, compiled, and from its texts for the assembler.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pypto import runtime
from pypto._src.errors import PyptoError
from pypto._src.ir.equal import assert_structural_equal
from pypto._src.ir.stmts import Program
from tests.examples.emitted import Emitted
from tests.natively import Array, compiler

HEAD = """\
import pypto.language as pl


@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[64, 64], pl.FP32],
        y: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
    ):
"""

Wanted = Callable[[Array], Array]  # the start of the result, from ``x``


def parsed(text: str) -> Program:
    lines = [line and f"        {line}" for line in text.strip("\n").split("\n")]
    return executed(HEAD + "\n".join(lines) + "\n")


def executed(text: str) -> Program:
    linecache.cache["parts.py"] = (len(text), None, text.splitlines(keepends=True), "parts.py")
    names: dict[str, Any] = {"__name__": "kernel"}
    exec(compile(text, "parts.py", "exec"), names)
    return names["Kernel"]


def _with(array: Array, *parts: tuple[Any, Any]) -> Array:
    """Return a copy of an array with some parts replaced."""
    found = array.copy()
    for at, part in parts:
        found[at] = part
    return found


LOADS: dict[str, tuple[str, Wanted]] = {
    "valid sizes fourth": (
        "t = pl.load(x, [0, 0], [32, 64], [8, 64])\ny = pl.store(t, [0, 0], y)",
        lambda x: x[:8],
    ),
    "valid sizes fourth, memory fifth": (
        "t = pl.load(x, [0, 0], [32, 64], [8, 40], pl.MemorySpace.Vec)\ny = pl.store(t, [0, 0], y)",
        lambda x: x[:8, :40],
    ),
    "valid_shape by name, known at run time": (
        "t = pl.load(x, [0, 0], [32, 64], valid_shape=[n, 32])\ny = pl.store(t, [0, 0], y)",
        lambda x: x[:5, :32],
    ),
    "no valid sizes": (
        "t = pl.load(x, [0, 0], [32, 64], None)\ny = pl.store(t, [0, 0], y)",
        lambda x: x[:32],
    ),
    "store without a size": (
        "t = pl.load(x, [0, 0], [32, 64])\npl.store(t, [0, 0], y)",
        lambda x: x[:32],
    ),
    "store with the size last": (
        "t = pl.tile.load(x, [0, 0], shapes=[32, 64])\n"
        "y = pl.tile.store(t, [0, 0], y, [32, 64])\n"
        "y = pl.tile.store(t, [0, 0], y, shapes=[32, 64])",
        lambda x: x[:32],
    ),
    "all by name": (
        "t = pl.tile.load(tensor=x, offsets=[0, 0], shapes=[32, 64])\n"
        "y = pl.tile.store(tile=t, offsets=[0, 0], output_tensor=y)",
        lambda x: x[:32],
    ),
    "store that adds": (
        "t = pl.load(x, [0, 0], [32, 64])\n"
        "y = pl.store(t, [0, 0], y)\n"
        "y = pl.store(t, [0, 0], y, atomic=pl.AtomicType.Add)",
        lambda x: 2 * x[:32],
    ),
    "fill and element": (
        "t = pl.tile.full([32, 64], dtype=pl.FP32, value=3.0)\n"
        "v = pl.tile.read(t, [3, 5])\n"
        "pl.tile.write(t, [0, n], v + 1.0)\n"
        "y = pl.store(t, [0, 0], y)",
        lambda x: np.where(np.arange(2048).reshape(32, 64) == 5, 4.0, 3.0),
    ),
    "elements by index": (
        "t = pl.load(x, [0, 0], [32, 64])\n"
        "t[n, 3] = t[0, n] + x[n, n + 1]\n"
        "for i in pl.range(4):\n"
        "    t[i, 63] = 7\n"
        "y = pl.store(t, [0, 0], y)\n"
        "y[0, 0] = 0.5",
        lambda x: _with(x[:32], ((5, 3), 5 + 326), ((slice(0, 4), 63), 7), ((0, 0), 0.5)),
    ),
    "rows of a column, of which some are valid, in a wide tensor": (
        "t = pl.load(x, [0, 0], [3, 64], valid_shapes=[2, 64])\n"
        "u = pl.load(x, [8, 0], [24, 64], valid_shapes=[20, 64])\n"
        "y = pl.store(pl.row_max(t), [0, 0], [3, 1], y)\n"
        "y = pl.store(pl.row_max(u), [8, 0], [24, 1], y)",
        lambda x: _with(
            np.zeros((28, 1), np.float32), (slice(0, 2), x[:2, 63:]), (slice(8, 28), x[8:28, 63:])
        ),
    ),
    "valid rows and columns, and what fills the rest": (
        "t = pl.load(x, [0, 0], [32, 64])\n"
        "t = pl.set_validshape(t, n, 40)\n"
        "y = pl.store(pl.fillpad(t, pad_value=pl.PadValue.zero), [0, 0], y)",
        lambda x: np.pad(x[:5, :40], ((0, 27), (0, 24))),
    ),
    "valid columns, known at run time": (
        "t = pl.tile.set_validshape(pl.load(x, [0, 0], [32, 64]), 32, n)\n"
        "y = pl.store(pl.add(t, 1.0), [0, 0], y)",
        lambda x: x[:32, :5] + 1,
    ),
    "valid rows of a column, known at run time": (
        "t = pl.load(x, [0, 0], [32, 64])\n"
        "most = pl.set_validshape(pl.row_max(t), n, 1)\n"
        "t = pl.set_validshape(t, n, 64)\n"
        "y = pl.store(pl.row_expand_mul(t, pl.mul(most, 2.0)), [0, 0], y)",
        lambda x: 2 * x[:5] * x[:5].max(1, keepdims=True),
    ),
    "a column in all columns of a tile": (
        "t = pl.load(x, [0, 0], [32, 64])\n"
        "y = pl.store(pl.row_expand(t, pl.row_max(t)), [0, 0], y)",
        lambda x: np.repeat(x[:32].max(1, keepdims=True), 64, 1),
    ),
}

PARTS: dict[str, tuple[str, Wanted]] = {
    "rows": ("u = pl.slice(t, [16, 64], [16, 0])", lambda t: t[16:]),
    "columns of some rows": ("u = pl.slice(t, [16, 32], [8, 32])", lambda t: t[8:24, 32:]),
    "columns that are no whole blocks": ("u = t[3:10, 5:18]", lambda t: t[3:10, 5:18]),
    "one column": ("u = pl.row_expand(t, t[:, 5:6])", lambda t: np.repeat(t[:, 5:6], 64, 1)),
    "part of a column": (
        "u = pl.row_expand_mul(t[0:8, :], pl.row_max(t)[8:16, :])",
        lambda t: t[:8] * t[8:16].max(1, keepdims=True),
    ),
    "rows that begin anywhere": ("u = pl.slice(t, [16, 32], [n, 32])", lambda t: t[5:21, 32:]),
    "a part of which a part is valid": (
        "u = pl.slice(t, [16, 64], [16, 0], valid_shape=[8, 64])",
        lambda t: t[16:24],
    ),
    "a slice of a tensor": ("u = pl.slice(x, [16, 64], [n, 0], [8, 64])", lambda t: t[5:13]),
    "rows into rows": (
        "u = pl.assemble(t, pl.load(x, [32, 0], [16, 64]), [8, 0])",
        lambda t: np.concatenate([t[:8], t[:16] + 2048, t[24:]]),
    ),
    "columns into all rows": (
        "u = pl.assemble(t, t[:, 0:32], [0, 16])",
        lambda t: np.concatenate([t[:, :16], t[:, :32], t[:, 48:]], 1),
    ),
    "a box into a tile": (
        "u = t\nu[3:10, 5:18] = t[0:7, 0:13]",
        lambda t: np.block(
            [[t[:3]], [t[3:10, :5], t[:7, :13], t[3:10, 18:]], [t[10:]]],
        ),
    ),
    "all of it": ("u = pl.assemble(t, pl.add(t, 1.0), [0, 0])", lambda t: t + 1),
}

CASES = LOADS | {
    name: (f"t = pl.load(x, [0, 0], [32, 64])\n{text}\ny = pl.store(u, [0, 0], y)", wanted)
    for name, (text, wanted) in PARTS.items()
}
"""The `PARTS` whose expected value is a function of the tile ``t``, the first rows of ``x``."""


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", ["interpreter", "cpu", "pto"])
def test_kernel(name: str, target: Any) -> None:
    """The kernel does what NumPy does, on each target."""
    text, wanted = CASES[name]
    program = parsed(text)
    x, y = np.arange(4096, dtype=np.float32).reshape(64, 64), np.zeros((64, 64), np.float32)
    if target == "pto":
        Emitted(program).run("main", [5, x, y])
    else:
        if target == "cpu":
            compiler()
        runtime.compile(program, target=target, entry="main")(5, x, y)
    part = wanted(x[:32] if name in PARTS else x)
    whole = np.zeros_like(y)
    whole[: part.shape[0], : part.shape[1]] = part
    np.testing.assert_array_equal(y, whole)


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_rows_of_a_column_known_at_run_time_go_to_a_wide_tensor(target: Any) -> None:
    """Only the valid elements of a column are written, and none below them."""
    program = parsed(
        "t = pl.load(x, [0, 0], [32, 64], valid_shapes=[n, 64])\n"
        "y = pl.store(pl.row_max(t), [0, 3], [32, 1], y)"
    )
    if target == "cpu":
        compiler()
    x, y = np.arange(4096, dtype=np.float32).reshape(64, 64), np.zeros((64, 64), np.float32)
    runtime.compile(program, target=target, entry="main")(5, x, y)
    np.testing.assert_array_equal(y, _with(np.zeros_like(y), ((slice(0, 5), 3), x[:5, 63])))


REFUSED = {
    "pl.assemble(t, t[0:16, :], [n, 0])": (
        "a tile is put into another one at an offset that is known when it is compiled, got [n, 0]",
        "store both in a tensor: pl.store(tile, [row, 0], out)",
    ),
    "pl.assemble(t, t[0:16, :], [20, 0])": (
        "a tile [16, 64] at [20, 0] leaves the tile [32, 64] that it is put into",
        "write offset=[16, 0]",
    ),
    "pl.assemble(t, pl.set_validshape(t, 8, 64), [0, 0])": (
        "only fully valid tiles of two dimensions can be put together, "
        "Tile[[32, 64], FP32] is not one",
        "fill what is not valid: pl.fillpad(tile)",
    ),
    "t[20:36, 3:9]": ("pl.view of 20:36 in dimension 0 is outside t [32, 64]", None),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    """An invalid slice, or tile with a slice, is rejected with what to write."""
    message, hint = REFUSED[text]
    with pytest.raises(PyptoError) as caught:
        parsed(f"t = pl.load(x, [0, 0], [32, 64])\nu = {text}")
    assert caught.value.message == message
    assert hint is None or caught.value.hint == hint


@pytest.mark.parametrize("pad", ["zero", "max", "min"])
def test_what_fills_a_tile_is_printed_as_it_is_written(pad: str) -> None:
    """The text is also a Python program: it names the padding value, not its number."""
    program = parsed(
        "t = pl.load(x, [0, 0], [32, 64], valid_shapes=[n, 64])\n"
        f"y = pl.store(pl.fillpad(t, pad_value=pl.PadValue.{pad}), [0, 0], y)"
    )
    assert_structural_equal(executed(str(program)), program)
