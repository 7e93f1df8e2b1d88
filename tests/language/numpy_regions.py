"""Stand-ins for ``pl`` on NumPy for programs with regions: Python itself runs their text.

This is a second definition of what programs mean, without parser, IR, interpreter or op rules:
tensors are arrays that slices outside of regions alias, values of regions are arrays without
aliases. Knows what `tests.language.draw` generates. Two statements are rewritten before Python sees
them: ``x[...] = v`` assigns a name, since a value of a region is replaced by a new one; a launch
is a loop over its blocks.
"""

# Arrays of any shape and element type: strict checking would add nothing here.
# pyright: basic

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
DTYPES: dict[str, Any] = {
    "FP32": np.float32,
    "FP16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
}


class State:
    """The state of a run that the stand-ins need."""

    in_region = False
    block = 0
    blocks = 1


class Memory(np.ndarray):
    """A tensor in memory, or a view of one."""

    def __getitem__(self, index: Any) -> Any:
        found = np.ndarray.__getitem__(self, index)
        if not isinstance(found, np.ndarray):
            return found.item()
        return chip(found.copy()) if State.in_region else found

    def bind_dynamic(self, axis: int, symbol: Any) -> None:
        """Name a size, which changes no value."""


class Chip(np.ndarray):
    """A value of a region."""

    valid: tuple[int, int] | None = None

    def __getitem__(self, index: Any) -> Any:
        found = np.ndarray.__getitem__(self, index)
        return found.copy() if isinstance(found, np.ndarray) else found.item()

    # Values are immutable: `u += v` binds a new one to u, and another name keeps the old one.

    def __iadd__(self, other: Any) -> Chip:
        return chip(self + other, self.dtype, self.valid)

    def __isub__(self, other: Any) -> Chip:
        return chip(self - other, self.dtype, self.valid)


def chip(array: Any, dtype: Any = None, valid: Any = None) -> Chip:
    made = np.array(array, dtype or array.dtype).view(Chip)
    made.valid = valid
    return made


def wide(value: Any) -> Any:
    """Return an operand in a type in which everything is exact."""
    if not isinstance(value, np.ndarray):
        return value
    return np.asarray(value).astype(np.int64 if value.dtype.kind in "iu" else np.float64)


def each(compute: Callable[..., Any]) -> Callable[..., Chip]:
    """Return an elementwise op: element type and valid part are those of the first array."""

    def run(*args: Any, **ignored: Any) -> Chip:
        first = next(arg for arg in args if isinstance(arg, np.ndarray))
        found = np.asarray(compute(*map(wide, args)))
        return chip(found, first.dtype, getattr(first, "valid", None))

    return run


def along(axis: int, compute: Callable[..., Any]) -> Callable[..., Chip]:
    """Return a reduction of the valid part."""

    def run(value: Array, scratch: Any = None) -> Chip:
        rows, columns = getattr(value, "valid", None) or value.shape
        inner = wide(value)[:rows, :columns]
        found = compute(inner, axis=axis, keepdims=True)
        shape = (value.shape[0], 1) if axis else (1, value.shape[1])
        whole = np.zeros(shape)
        whole[: found.shape[0], : found.shape[1]] = found
        partly = getattr(value, "valid", None) is not None
        return chip(whole, value.dtype, found.shape if partly else None)

    return run


ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "rint": np.rint,
    "round": lambda value: np.copysign(np.floor(np.abs(value) + 0.5), value),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
}


def cast(value: Any, target: Any, mode: str = "round") -> Any:
    if not isinstance(value, np.ndarray):
        return (
            int(value) if target == "INDEX" or np.issubdtype(target, np.integer) else float(value)
        )
    found = wide(value)
    if value.dtype.kind not in "iu" and np.issubdtype(target, np.integer):
        found = ROUNDINGS[mode](found)
    return chip(found, target, getattr(value, "valid", None))


def box(offsets: Sequence[Any], shape: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(int(o), int(o) + n) for o, n in zip(offsets, shape, strict=True))


def slice_(x: Array, shape: Sequence[int], offset: Sequence[int], valid_shape: Any = None) -> Any:
    if valid_shape is None:
        found = x[box(offset, shape)]
        assert found.shape == tuple(shape), "the generator slices inside of its tensors"
        return found
    found = np.full(shape, 113, x.dtype)  # nobody may use this
    rows, columns = (int(size) for size in valid_shape)
    part = np.asarray(x)[box(offset, (rows, columns))]
    assert part.shape == (rows, columns), "what is valid lies in the tensor"
    found[:rows, :columns] = part
    return chip(found, valid=(rows, columns))


def fillpad(value: Any, pad_value: Any = None) -> Chip:
    rows, columns = value.valid
    lowest = (
        np.iinfo(value.dtype).min if value.dtype.kind in "iu" else ml_dtypes.finfo(value.dtype).min
    )
    whole = np.full(value.shape, {"min": lowest, "zero": 0}[pad_value], value.dtype)
    whole[:rows, :columns] = np.asarray(value)[:rows, :columns]
    return chip(whole)


def put(target: Any, index: Any, value: Any) -> Any:
    """Return the value of a name after ``target[index] = value``."""
    if isinstance(target, list):
        target[index] = value
        return target
    found = target if isinstance(target, Memory) else chip(target)
    valid = getattr(value, "valid", None)
    plain = np.asarray(found)
    if not isinstance(value, np.ndarray):
        plain[index] = value
    elif valid is None:
        plain[index] = np.asarray(value).astype(found.dtype).reshape(plain[index].shape)
    else:
        rows, columns = valid
        plain[index][:rows, :columns] = np.asarray(value)[:rows, :columns]
    return found


def assemble(target: Any, value: Any, offset: Sequence[Any], atomic: Any = None) -> Any:
    place = box(offset, value.shape)
    if atomic is None:
        return put(target, place, value)
    plain = np.asarray(target)
    plain[place] = (wide(plain[place]) + wide(value)).astype(plain.dtype)
    return target


def load(x: Array, offsets: Any, shapes: Any, **options: Any) -> Any:
    return slice_(x, shapes, offsets)


def store(value: Any, offsets: Any, out: Any, atomic: Any = None) -> Any:
    return assemble(out, value, offsets, atomic)


def matmul(
    left: Array, right: Array, out_dtype: Any = None, a_trans: bool = False, b_trans: bool = False
) -> Chip:
    a, b = wide(left), wide(right)
    found = (a.T if a_trans else a) @ (b.T if b_trans else b)
    return chip(found, out_dtype or (np.int32 if left.dtype.kind == "i" else np.float32))


def matmul_acc(acc: Array, left: Array, right: Array, init_cond: Any = False, **how: Any) -> Chip:
    more = matmul(left, right, **how)
    return chip(wide(more) if init_cond else wide(acc) + wide(more), more.dtype)


def create_tensor(
    shape: Sequence[int], dtype: Any, init_value: Any = None, manual_dep: bool = False
) -> Any:
    made = np.full(shape, 113 if init_value is None else init_value, dtype)
    return chip(made) if State.in_region else made.view(Memory)


def reshape(x: Any, shape: Sequence[int]) -> Any:
    if isinstance(x, Memory) and not State.in_region:
        return np.asarray(x).reshape(shape).view(Memory)
    return chip(np.asarray(x).reshape(shape))


@contextmanager
def region(*args: Any, **options: Any) -> Iterator[None]:
    before, State.in_region = State.in_region, True
    yield
    State.in_region = before


@contextmanager
def nothing(*args: Any, **options: Any) -> Iterator[None]:
    yield


def blocks(count: int, **options: Any) -> Iterator[int]:
    """Run the blocks of a launch one after another."""
    State.in_region, State.blocks = True, int(count)
    for block in range(int(count)):
        State.block = block
        yield block
    State.in_region = False


def counted(*bounds: Any, **options: Any) -> range:
    return range(*(int(bound) for bound in bounds))


class Anything:
    """Replaces annotations, which have no effect here."""

    def __getitem__(self, item: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        return self


class Decorator:
    """``pl.jit`` and its variants: they return the function unchanged."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return args[0] if args else lambda function: function

    @property
    def inline(self) -> Any:
        return self


def quotient(a: Any, b: Any) -> Any:
    return a / b


def compared(a: Any, b: Any, cmp_type: int = 0) -> Any:
    compare = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]
    return compare[cmp_type](a, b)


def comparison(left: Any, right: Any, cmp_type: int = 0) -> Chip:
    return each(lambda a, b: compared(a, b, cmp_type))(left, right)


def as_module() -> Any:
    """Return a stand-in for ``pypto.language``."""
    pl: Any = ModuleType("pypto.language")
    pl.Tensor = pl.Tile = pl.Scalar = pl.Out = pl.InOut = pl.Level = pl.SplitMode = Anything()
    pl.AtomicType = SimpleNamespace(Add="add")
    pl.PadValue = SimpleNamespace(min="min", zero="zero")
    pl.INDEX, pl.TASK_ID = "INDEX", "TASK_ID"
    for name, dtype in DTYPES.items():
        setattr(pl, name, dtype)
    pl.jit = Decorator()
    pl.dynamic = lambda name: name
    pl.at, pl.scope, pl.manual_scope, pl.split = region, nothing, nothing, nothing
    pl.cross_core_slot = nothing
    pl.spmd = pl.blocks_ = blocks
    pl.range = pl.parallel = pl.pipeline = pl.unroll = counted
    pl.split_aiv = counted
    pl.array = SimpleNamespace(create=lambda count, dtype: [None] * count)
    pl.system = SimpleNamespace(task_dummy=nothing)
    pl.get_block_idx = lambda: State.block
    pl.get_block_num = lambda: State.blocks
    pl.tile = SimpleNamespace(get_block_idx=pl.get_block_idx)
    pl.tensor = SimpleNamespace(dim=lambda x, axis: x.shape[axis])
    pl.add, pl.sub, pl.mul = each(np.add), each(np.subtract), each(np.multiply)
    pl.div, pl.maximum, pl.minimum = each(quotient), each(np.maximum), each(np.minimum)
    pl.and_, pl.or_, pl.xor = each(np.bitwise_and), each(np.bitwise_or), each(np.bitwise_xor)
    pl.shl, pl.shr = each(np.left_shift), each(np.right_shift)
    for name in ("add", "sub", "mul", "div"):
        setattr(pl, f"row_expand_{name}", getattr(pl, name))
        setattr(pl, f"col_expand_{name}", getattr(pl, name))
    for name in ("max", "min"):
        setattr(pl, f"row_expand_{name}", getattr(pl, f"{name}imum"))
        setattr(pl, f"col_expand_{name}", getattr(pl, f"{name}imum"))
    pl.neg, pl.abs = each(np.negative), each(np.abs)
    pl.relu = each(lambda a: np.maximum(a, 0))
    pl.exp, pl.sqrt, pl.log = each(np.exp), each(np.sqrt), each(np.log)
    pl.recip, pl.rsqrt = each(lambda a: 1 / a), each(lambda a: 1 / np.sqrt(a))
    pl.row_sum, pl.row_max, pl.row_min = along(1, np.sum), along(1, np.max), along(1, np.min)
    pl.col_sum, pl.col_max, pl.col_min = along(0, np.sum), along(0, np.max), along(0, np.min)
    pl.row_expand = each(lambda a, v: a * 0 + v)
    pl.col_expand = each(lambda a, v: a * 0 + v)
    pl.cmp, pl.cast, pl.reshape = comparison, cast, reshape
    pl.full = lambda shape, dtype, value: chip(np.full(shape, value, dtype))
    pl.arange = lambda start, shape, dtype: chip(start + np.arange(shape[1])[None], dtype)
    pl.concat = lambda a, b: chip(np.concatenate([np.asarray(a), np.asarray(b)], axis=1))
    pl.transpose = lambda x, a, b: chip(np.asarray(x).swapaxes(a, b))
    pl.slice, pl.load, pl.store, pl.assemble, pl.fillpad = slice_, load, store, assemble, fillpad
    pl.set_validshape = lambda x, rows, columns: chip(x, valid=(int(rows), int(columns)))
    pl.create_tensor, pl.matmul, pl.matmul_acc = create_tensor, matmul, matmul_acc
    pl.read = lambda x, index: np.asarray(x)[tuple(index)].item()
    pl.write = lambda x, index, value: np.asarray(x).__setitem__(tuple(index), value)
    pl.min, pl.max = min, max
    pl.const = lambda value, dtype: value
    return pl


class _Rewriter(ast.NodeTransformer):
    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        (target,) = node.targets
        if not isinstance(target, ast.Subscript):
            return node
        assert isinstance(target.value, ast.Name)
        name = target.value.id
        index = ast.Subscript(_expression("pl.index_"), target.slice, ast.Load())
        call = ast.Call(_expression("pl.put_"), [_expression(name), index, node.value], [])
        return ast.Assign([ast.Name(name, ast.Store())], call)

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        (item,) = node.items
        if not ast.unparse(item.context_expr).startswith("pl.spmd("):
            return node
        before: list[ast.stmt] = []
        if item.optional_vars is not None:
            before.append(ast.Assign([item.optional_vars], ast.Constant(None)))
        loop = ast.For(ast.Name("_", ast.Store()), item.context_expr, node.body, [])
        return [*before, loop]


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


class _Index:
    def __getitem__(self, index: Any) -> Any:
        return index


def run(source: str, args: Sequence[Any], entry: str) -> None:
    """Execute a program's text as Python and call its entry; arrays are updated in place."""
    tree = _Rewriter().visit(ast.parse(source.replace("import pypto.language as pl\n", "")))
    pl = as_module()
    pl.put_, pl.index_ = put, _Index()
    names: dict[str, Any] = {"pl": pl, "__name__": "stand-ins"}
    State.in_region = False
    exec(compile(ast.fix_missing_locations(tree), "<stand-ins>", "exec"), names)
    with np.errstate(all="ignore"):
        names[entry](*(a.view(Memory) if isinstance(a, np.ndarray) else a for a in args))
