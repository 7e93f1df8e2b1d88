"""Section 12 of the API: ops called outside of kernels, on wrapped operands."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypto.language as pl
from pypto import ir
from tests.api.facts import Refused, Table, check, rows

D = ir.DataType
SPAN = ir.Span("kernel.py", 3, 7)


def _var(name: str, kind: ir.Type) -> ir.Var:
    return ir.Var(name, kind)


def call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call what the editor's stubs declare for kernels only."""
    return function(*args, **kwargs)


# For type checkers a scalar is a number.
Scalar: Any = pl.Scalar

x = pl.Tensor(expr=_var("x", ir.TensorType([64, 64], D.FP32)))
t = pl.Tile(expr=_var("t", ir.TileType([64, 64], D.FP32)))
n = Scalar(expr=_var("n", ir.ScalarType(D.INT64)))


def made(function: Any, *args: Any, **kwargs: Any) -> tuple[type, str]:
    """Return the class of the wrapper that a call returns, and the expression in it."""
    found = call(function, *args, **kwargs)
    return found.__class__, str(found.unwrap())


LOADED = "pl.block.load(x, [n, 0], [32, 64], target_memory=pl.MemorySpace.Vec)"

WRAPPED: Table = {
    "tile and tile": (lambda: made(pl.add, t, t), (pl.Tile, "pl.block.add(t, t)")),
    "tile and number": (lambda: made(pl.add, t, 1.0), (pl.Tile, "pl.block.adds(t, 1.0)")),
    "tensors": (lambda: made(pl.add, x, x), (pl.Tensor, "pl.tensor.add(x, x)")),
    "a scalar in a list": (lambda: made(pl.load, x, [n, 0], [32, 64]), (pl.Tile, LOADED)),
    "a bare expression beside": (
        lambda: made(pl.row_max, t, tmp_tile=t.unwrap()),
        (pl.Tile, "pl.block.row_max(t, t)"),
    ),
    "by name": (lambda: made(pl.exp, input=t), (pl.Tile, "pl.block.exp(t)")),
    "under a level": (lambda: made(pl.block.exp, tile=t), (pl.Tile, "pl.block.exp(t)")),
    "store": (
        lambda: made(pl.store, t, [0, 0], [64, 64], x),
        (pl.Tensor, "pl.block.store(t, [0, 0], [64, 64], x)"),
    ),
    "dim": (lambda: made(pl.dim, x, 0), (pl.Scalar, "pl.tensor.dim(x, 0)")),
    "scalars": (lambda: made(pl.max, n, 3), (pl.Scalar, "max(n, 3)")),
    "a number beside a scalar": (
        lambda: made(pl.max, Scalar(expr=_var("m", ir.ScalarType(D.INT32))), 3),
        (pl.Scalar, "max(m, pl.const(3, pl.INT32))"),
    ),
    "a number before a scalar": (
        lambda: made(pl.min, 2.0, Scalar(expr=_var("h", ir.ScalarType(D.FP16)))),
        (pl.Scalar, "min(pl.const(2.0, pl.FP16), h)"),
    ),
    "a number of another kind": (
        lambda: call(pl.min, n, 2.0),
        Refused(TypeError, "'min' takes two ints or two floats, got int64 and fp32"),
    ),
    "shape and type": (
        lambda: (call(pl.exp, t).dtype, len(call(pl.exp, t).shape)),
        (D.FP32, 2),
    ),
    "place": (lambda: call(pl.exp, t, span=SPAN).unwrap().span is SPAN, True),
    "place of the caller": (lambda: call(pl.exp, t).unwrap().span.filename, __file__),
    "an annotation": (
        lambda: call(pl.exp, pl.Tile([64, 64], D.FP32)),
        Refused(ValueError, "this Tile is an annotation: it holds no expression"),
    ),
    "a scalar's annotation": (
        lambda: call(pl.max, Scalar(D.FP32), 3),
        Refused(RuntimeError, "this Scalar is an annotation"),
    ),
    "tile and tensor": (
        lambda: call(pl.add, t, x),
        Refused(TypeError, "argument 'rhs' of block.add is a Tensor, a Tile was wanted"),
    ),
    "tile as tensor": (
        lambda: call(pl.load, t, [0, 0], [32, 64]),
        Refused(TypeError, "argument 'tensor' of block.load is a Tile, a Tensor was wanted"),
    ),
    "a scalar": (
        lambda: call(pl.exp, n),
        Refused(TypeError, "pl.exp is for a Tile or Tensor first, got a Scalar"),
    ),
    "different shapes": (
        lambda: call(pl.add, t, pl.Tile(expr=_var("u", ir.TileType([8, 64], D.FP32)))),
        Refused(ValueError, "operands of pl.add have different shapes"),
    ),
}


@rows(WRAPPED)
def test_wrapped_operands(make: Callable[[], Any], wanted: Any) -> None:
    """12.4, 12.9: an op on wrapped operands is wrapped; one of the wrong kind is a TypeError."""
    check(make, wanted)


CALL_FORM = """
import pypto.language as pl
from pypto import ir

addr = pl.ConstInt(0x1000, pl.INT64, ir.Span.unknown())


@pl.function
def f(
    tile: pl.Tile(
        (16, 16),
        pl.FP16,
        memref=pl.MemRef(pl.MemorySpace.Left, addr, 512),
        tile_view=pl.TileView(valid_shape=[16, 16], stride=[1, 16], start_offset=0),
    ),
    tensor: pl.Tensor((64, 8), pl.FP16, memref=pl.MemRef(pl.MemorySpace.DDR, addr, 1024)),
):
    return tile
"""


def test_call_form_in_a_file(tmp_path: Path) -> None:
    """12.4: Python itself evaluates an annotation in the call form of document 003, too."""
    (tmp_path / "kernels.py").write_text(CALL_FORM, encoding="utf-8")
    function = runpy.run_path(str(tmp_path / "kernels.py"))["f"]
    assert [str(param.type) for param in function.params] == [
        "pl.Tile[[16, 16], pl.FP16, pl.MemRef(pl.MemorySpace.Left, 4096, 512, 0), "
        "pl.TileView(valid_shape=[16, 16], stride=[1, 16], start_offset=0)]",
        "pl.Tensor[[64, 8], pl.FP16, pl.MemRef(pl.MemorySpace.DDR, 4096, 1024, 0)]",
    ]


def test_condition_at_run_time() -> None:
    """12.6: ``pl.cond`` returns nothing; its parameter is called c."""
    assert call(pl.cond, c=False) is None
