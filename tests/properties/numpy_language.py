"""Stand-ins for ``pl`` on NumPy: with them a kernel's text is a Python function that computes.

What a text means is then said a second time, by Python itself and a few lines here, without
parser, IR, interpreter or op definitions. Knows the ops that `tests.properties.kernels` writes.
"""

# Arrays of any shape and element type: nothing here that strict checking could add.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
DTYPES: dict[str, Any] = {
    "FP32": np.float32,
    "FP16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "INT8": np.int8,
    "INT32": np.int32,
    "INT64": np.int64,
}


class Anything:
    """Stands for annotations, which mean nothing here."""

    def __getitem__(self, item: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        return name


def function(*args: Any, **options: Any) -> Any:
    """Leave a function what it is."""
    return args[0] if args else lambda function: function


def range_(*bounds: Any) -> Iterator[Any]:
    """Count, in integers of 64 bits."""
    for value in range(*[int(bound) for bound in bounds]):
        yield np.int64(value)


def box(offsets: Sequence[Any], shapes: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(int(o), int(o) + n) for o, n in zip(offsets, shapes, strict=True))


def load(tensor: Array, offsets: Any, shapes: Any, target_memory: Any = None) -> Array:
    found = tensor[box(offsets, shapes)].copy()
    assert found.shape == tuple(shapes), "the generator loads inside its tensors"
    return found


def store(tile: Array, offsets: Any, shapes: Any, output: Array) -> Array:
    output[box(offsets, shapes)] = tile
    return output


def pair(compute: Callable[[Any, Any], Any]) -> Callable[[Array, Any], Array]:
    """Return an elementwise op; a number takes the element type of the tile.

    Of two tiles a float beats an integer, and the wider float the narrower one.
    """

    def run(left: Array, right: Any) -> Array:
        other = right if isinstance(right, np.ndarray) else left.dtype.type(right)
        by_rank = sorted((left.dtype, other.dtype), key=lambda dtype: (dtype.kind, dtype.itemsize))
        if by_rank[0] != by_rank[1]:
            dtype = by_rank[0] if by_rank[1].kind != "f" else by_rank[1]
            dtype = by_rank[0] if by_rank[0].kind == "f" and by_rank[1].kind != "f" else dtype
            left, other = left.astype(dtype), other.astype(dtype)
        return compute(left, other).astype(left.dtype)

    return run


def divide(left: Array, right: Any) -> Any:
    if left.dtype.kind != "i":
        return left / right
    return np.trunc(left.astype(np.float64) / right)  # 32 bits fit


def smaller(pick: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: np.where(pick(left, right), left, right)


def to_odd(value: Array) -> Array:
    """Round what is no whole number to the odd one next to it."""
    low = np.floor(value)
    return np.where(low == value, value, np.where(low % 2 == 1, low, low + 1))


ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "rint": np.rint,
    "round": lambda value: np.copysign(np.floor(np.abs(value) + 0.5), value),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "odd": to_odd,
}


def cast(value: Any, target: Any, mode: str = "round") -> Any:
    if not isinstance(value, np.ndarray):
        return target(value)
    if value.dtype.kind == "f" and np.issubdtype(target, np.integer):
        wide = ROUNDINGS[mode](value.astype(np.float64))
        limits = np.iinfo(target)
        return np.nan_to_num(np.clip(wide, limits.min, limits.max), nan=0).astype(target)
    return value.astype(target)


def move(tile: Array, target_memory: Any = None, transpose: bool = False) -> Array:
    return (tile.T if transpose else tile).copy()


def product(left: Array, right: Array) -> Array:
    if left.dtype.kind == "i":
        return left.astype(np.int32) @ right.astype(np.int32)
    return left.astype(np.float32) @ right.astype(np.float32)


def root(tile: Array) -> Array:
    return np.sqrt(tile)


def as_module() -> ModuleType:
    """Return a module that can be imported as ``pypto.language``."""
    pl: Any = ModuleType("pypto.language")
    pl.Tensor = pl.Tile = pl.Scalar = pl.Out = pl.InOut = Anything()
    pl.FunctionType = pl.MemorySpace = Anything()
    for name, dtype in DTYPES.items():
        setattr(pl, name, dtype)
    pl.function = pl.program = function
    pl.range = pl.parallel = range_
    pl.load, pl.store, pl.move, pl.cast = load, store, move, cast
    pl.create_tile = lambda shape, dtype: np.full(shape, 77, dtype)
    pl.full = lambda shape, dtype, value: np.full(shape, value, dtype)
    pl.add, pl.sub, pl.mul = pair(np.add), pair(np.subtract), pair(np.multiply)
    pl.div = pair(divide)
    pl.maximum, pl.minimum = pair(np.maximum), pair(np.minimum)
    pl.neg, pl.abs, pl.sqrt = np.negative, np.abs, root
    pl.relu = lambda tile: np.maximum(tile, tile.dtype.type(0))
    pl.row_max = lambda tile, scratch: tile.max(axis=1, keepdims=True)
    pl.row_min = lambda tile, scratch: tile.min(axis=1, keepdims=True)
    pl.row_expand_add, pl.row_expand_sub = pl.add, pl.sub
    pl.row_expand_mul = pl.mul
    pl.reshape = lambda tile, shape: tile.reshape(shape)
    pl.matmul = product
    pl.matmul_acc = lambda acc, left, right: acc + product(left, right)
    return pl


def run(source: str, args: Sequence[Any], entry: str = "kernel") -> Any:
    """Execute a program's text as Python and call one of its functions.

    Whole numbers are 64 bits wide and wrap, as in a kernel.
    """
    text = source.replace("import pypto.language as pl\n", "")
    names: dict[str, Any] = {"pl": as_module(), "__name__": "stand-ins"}
    exec(compile(text, "<stand-ins>", "exec"), names)
    wide = [np.int64(arg) if isinstance(arg, int) else arg for arg in args]
    with np.errstate(all="ignore"):
        return getattr(names["Random"](), entry)(*wide)
