"""Rows of the op table, and kernels built from them.

A row says with which shapes, element types, numbers and keywords an op is tested, over which
range of values, and how exact the result has to be. `kernel_for` turns a row into a kernel that
loads the operands, applies the op, and stores the result; the same kernel runs in the interpreter
and, compiled, on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import FunctionType, MemorySpace, ParamDirection
from pypto._src.ir.exprs import Cast, ConstInt, Expr, Var
from pypto._src.ir.op_params import AXIS, INTS, SCALAR, TENSOR, TILE, literal
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, ReturnStmt, SeqStmts, Stmt
from pypto._src.ir.types import ScalarType
from pypto._src.ops import (
    elementwise,
    matmul,
    memory,
    new_tiles,
    reduce,
    reshaping,
)

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Values = Callable[[np.random.Generator, Shape, DataType], Array]
AnyOp = OpDef[..., Any]
Formula = Callable[[Any], Any] | Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any]
D = DataType
VEC, MAT = MemorySpace.Vec, MemorySpace.Mat
LEFT, RIGHT, ACC = MemorySpace.Left, MemorySpace.Right, MemorySpace.Acc
BIAS = MemorySpace.Bias


def call(op: AnyOp, *args: Any, **kwargs: Any) -> Any:
    """Return a call of ``op`` on expressions and Python values."""
    return op.build(args, kwargs)


# --------------------------------------------------------------------------------------------
# Values
# --------------------------------------------------------------------------------------------


def between(low: float, high: float) -> Values:
    """Return a generator of values in a range; integers are drawn from it too."""

    def draw(rng: np.random.Generator, shape: Shape, dtype: DataType) -> Array:
        if dtype.is_float():
            return rng.uniform(low, high, shape).astype(dtype.numpy)
        bottom = max(int(low), np.iinfo(dtype.numpy).min)
        top = min(int(high), np.iinfo(dtype.numpy).max)
        return rng.integers(bottom, top + 1, shape).astype(dtype.numpy)

    return draw


def whole_range(rng: np.random.Generator, shape: Shape, dtype: DataType) -> Array:
    """Return integers of the full range of their type, so that results wrap; floats as usual."""
    if dtype.is_float():
        return rng.uniform(-8, 8, shape).astype(dtype.numpy)
    limits = np.iinfo(dtype.numpy)
    return rng.integers(limits.min, limits.max, shape, dtype.numpy, endpoint=True)


def shifted(rng: np.random.Generator, shape: Shape, dtype: DataType) -> Array:
    """Return integers of the full range, many of which are valid shift counts."""
    counts = between(-2, 2 + dtype.get_bit())(rng, shape, dtype)
    return np.where(rng.random(shape) < 0.5, counts, whole_range(rng, shape, dtype))


def small(rng: np.random.Generator, shape: Shape, dtype: DataType) -> Array:
    """Return small integers around 0, so that pairs are often equal."""
    return rng.integers(0 if dtype.is_unsigned_int() else -4, 5, shape).astype(dtype.numpy)


def exact(rng: np.random.Generator, shape: Shape, dtype: DataType) -> Array:
    """Return integers of the full range, and floats whose sums are exact."""
    values = whole_range(rng, shape, dtype)
    return np.rint(values) if dtype.is_float() else values


positive = between(0.25, 8)
moderate = between(-8, 8)


# --------------------------------------------------------------------------------------------
# Kernels
# --------------------------------------------------------------------------------------------


class Kernel:
    """Builds one kernel, statement by statement."""

    def __init__(self) -> None:
        self.params: list[Any] = []
        self.inputs: list[tuple[Shape, DataType]] = []
        self.stmts: list[Stmt] = []

    def let(self, name: str, value: Expr) -> Var:
        """Assign ``value`` to a new variable."""
        var = Var(name, value.type)
        self.stmts.append(AssignStmt(var, value))
        return var

    def run(self, value: Expr) -> None:
        """Evaluate ``value`` for its effect."""
        self.stmts.append(EvalStmt(value))

    def input(self, shape: Shape, dtype: DataType) -> Var:
        """Return a new tensor parameter."""
        var = Var(f"x{len(self.inputs)}", TensorType(shape, dtype))
        self.params.append(var)
        self.inputs.append((shape, dtype))
        return var

    def tile(self, shape: Shape, dtype: DataType, space: MemorySpace = VEC) -> Var:
        """Return a tile with the elements of a new tensor parameter, in ``space``."""
        x = self.input(shape, dtype)
        name = f"t{len(self.inputs) - 1}"
        zeros = [0] * len(shape)
        if space is VEC:
            return self.let(name, call(memory.load, x, zeros, list(shape)))
        staged = self.let(
            f"{name}_mat", call(memory.load, x, zeros, list(shape), target_memory=MAT)
        )
        if space is MAT:
            return staged
        return self.let(name, call(memory.move, staged, target_memory=space))

    def product(self, shape: Shape, dtype: DataType, inner: int = 32) -> Var:
        """Return a tile in Acc: the product of two new tensor parameters."""
        rows, columns = shape
        lhs = self.tile((rows, inner), dtype, LEFT)
        rhs = self.tile((inner, columns), dtype, RIGHT)
        return self.let("acc", call(matmul.matmul, lhs, rhs))

    def finish(self, result: Expr | None) -> BuiltKernel:
        """Store ``result`` to an output; return the kernel."""
        output: tuple[Shape, DataType] | None = None
        value: list[Expr] = []
        if isinstance(result, Var) and isinstance(result.type, TileType):
            shape = static(result.type)
            out = Var("out", TensorType(shape, result.type.dtype))
            self.params.append((out, ParamDirection.Out))
            output = (shape, result.type.dtype)
            store = call(memory.store, result, [0] * len(shape), list(shape), out)
            value = [self.let("stored", store)]
        elif result is not None:
            value = [result]
        body = SeqStmts([*self.stmts, ReturnStmt(value)])
        types = [each.type for each in value]
        function = Function("kernel", self.params, types, body, type=FunctionType.InCore)
        return BuiltKernel(function, tuple(self.inputs), output)


class BuiltKernel(NamedTuple):
    """A kernel with shapes and element types of its input tensors and of its output tensor."""

    function: Function
    inputs: tuple[tuple[Shape, DataType], ...]
    output: tuple[Shape, DataType] | None

    def arguments(self, values: Values, seed: int = 0) -> list[Array]:
        """Return random inputs, and an output of zeros if there is one."""
        rng = np.random.default_rng(seed)
        arrays = [values(rng, shape, dtype) for shape, dtype in self.inputs]
        if self.output is not None:
            shape, dtype = self.output
            arrays.append(np.zeros(shape, dtype.numpy))
        return arrays


def static(kind: TileType | TensorType) -> Shape:
    """Return a constant shape as ints."""
    dims = [dim.value for dim in kind.shape if isinstance(dim, ConstInt)]
    assert len(dims) == len(kind.shape)
    return tuple(dims)


Build = Callable[[Kernel, "Case", DataType, tuple[Shape, ...]], "Expr | None"]


# --------------------------------------------------------------------------------------------
# Rows
# --------------------------------------------------------------------------------------------


def _every(op: AnyOp) -> tuple[DataType, ...]:
    return tuple(d for d in MEMBERS.values() if d in op.dtypes)


@dataclass(frozen=True, eq=False, repr=False)
class Case:
    """One row: an op and its test data."""

    op: AnyOp
    shapes: tuple[tuple[Shape, ...], ...] = ()
    """Alternatives; each has one shape per tile or tensor operand that is not scratch."""
    dtypes: tuple[DataType, ...] = ()
    """Element types of the operands; by default all that the op accepts."""
    scalars: tuple[float, ...] = ()
    ints: tuple[tuple[int, ...], ...] = ()
    axes: tuple[int, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    values: Values = moderate
    indices: tuple[int, ...] = ()
    """Inputs that get no edge values, since they are positions of elements."""
    reference: Formula | None = None
    """An independent formula, on float64 or Python integers."""
    rtol: Mapping[DataType, float] = field(default_factory=dict[DataType, float])
    atol: Mapping[DataType, float] = field(default_factory=dict[DataType, float])
    build: Build | None = None
    """Builds the kernel if the usual one does not suit."""
    no_kernel: str = ""
    """Why no kernel can test the op."""

    @property
    def name(self) -> str:
        """The op's name and what distinguishes its rows."""
        words = [getattr(v, "member", getattr(v, "name", v)) for v in self.attrs.values()]
        words += ["x".join(map(str, numbers)) for numbers in self.ints]
        words += [f"axis{axis}" for axis in self.axes]
        words += [dtype.member for dtype in self.dtypes if len(self.dtypes) == 1]
        return "-".join([self.op.name, *map(str, words)])

    def __repr__(self) -> str:
        return self.name

    def __post_init__(self) -> None:
        if not self.dtypes:
            object.__setattr__(self, "dtypes", _every(self.op))

    def tolerance(self, dtype: DataType) -> tuple[float, float]:
        """Return relative and absolute tolerance for operands of ``dtype``; exact by default."""
        return self.rtol.get(dtype, 0.0), self.atol.get(dtype, 0.0)


def is_scratch(op: AnyOp, index: int) -> bool:
    """True if operand ``index`` is a tile that the op only writes."""
    return op.operands[index].kind == TILE and index in op.writes


def operands_for(case: Case, dtype: DataType, tiles: Sequence[Expr], scratch: Any) -> list[Any]:
    """Return the operands of a call: ``tiles`` in order, the row's numbers, and scratch tiles."""
    given, numbers, ints = iter(tiles), iter(case.scalars), iter(case.ints)
    axes = iter(case.axes)
    element = case.attrs.get("dtype", dtype)
    out: list[Any] = []
    for index, param in enumerate(case.op.operands):
        if is_scratch(case.op, index):
            out.append(scratch())
        elif param.kind in (TILE, TENSOR):
            out.append(next(given))
        elif param.kind == SCALAR:
            out.append(literal(next(numbers), element))
        elif param.kind == INTS:
            out.append(list(next(ints)))
        elif param.kind == AXIS:
            out.append(next(axes))
    return out


def build_call(case: Case, dtype: DataType, shapes: Sequence[Shape]) -> Any:
    """Return a call of the row's op on variables."""
    tiles: list[Expr] = []
    kinds = [
        p.kind
        for i, p in enumerate(case.op.operands)
        if p.kind in (TILE, TENSOR) and not is_scratch(case.op, i)
    ]
    for index, (kind, shape) in enumerate(zip(kinds, shapes, strict=True)):
        type_ = TileType(shape, dtype) if kind == TILE else TensorType(shape, dtype)
        tiles.append(Var(f"x{index}", type_))
    scratch = Var("scratch", TileType(_scratch_shape(case, shapes), dtype))
    operands = operands_for(case, dtype, tiles, lambda: scratch)
    named = dict(zip([p.name for p in case.op.operands], operands, strict=True))
    return case.op.build([], {**named, **case.attrs})


def _scratch_shape(case: Case, shapes: Sequence[Shape]) -> Shape:
    if not shapes:
        return (1,)
    rows, columns = shapes[0][0], shapes[0][-1]
    return (columns, -(-rows // 32) * 32) if case.op is reshaping.transpose else tuple(shapes[0])


def kernel_for(case: Case, dtype: DataType, shapes: tuple[Shape, ...] | None = None) -> BuiltKernel:
    """Return a kernel that loads operands, applies the row's op, and stores the result.

    Operands of the cube core go through Mat memory; scratch tiles are created.
    """
    assert not case.no_kernel, case.no_kernel
    kernel = Kernel()
    chosen = shapes if shapes is not None else case.shapes[0]
    if case.build is not None:
        return kernel.finish(case.build(kernel, case, dtype, chosen))
    spaces = case.op.operand_spaces(case.attrs)
    wanted = [
        (i, p.kind)
        for i, p in enumerate(case.op.operands)
        if p.kind in (TILE, TENSOR) and not is_scratch(case.op, i)
    ]
    tiles: list[Expr] = []
    for (index, kind), shape in zip(wanted, chosen, strict=True):
        if kind == TENSOR:
            tiles.append(kernel.input(shape, dtype))
        else:
            space = VEC if VEC in spaces[index] else next(iter(spaces[index]))
            tiles.append(kernel.tile(shape, dtype, space))

    def scratch() -> Var:
        shape = list(_scratch_shape(case, chosen))
        return kernel.let("scratch", call(new_tiles.create_tile, shape, dtype))

    operands = operands_for(case, dtype, tiles, scratch)
    named = dict(zip([p.name for p in case.op.operands], operands, strict=True))
    result = case.op.build([], {**named, **case.attrs})
    return kernel.finish(kernel.let("result", result))


# --------------------------------------------------------------------------------------------
# Special kernels
# --------------------------------------------------------------------------------------------


def stored(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Store a loaded tile with the row's op, into the middle of a tensor."""
    (shape,) = shapes
    value = kernel.tile(shape, dtype)
    return store_into(kernel, case, value, dtype)


def store_into(kernel: Kernel, case: Case, value: Var, dtype: DataType) -> Expr:
    assert isinstance(value.type, TileType)
    shape = static(value.type)
    whole = (shape[0] + 2, shape[1] + 8)
    out = Var("out", TensorType(whole, dtype))
    kernel.params.append((out, ParamDirection.InOut))
    kernel.inputs.append((whole, dtype))
    return kernel.let("stored", case.op.build([value, [1, 8], list(shape), out], {}))


def stored_acc(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    element = D.INT8 if dtype is D.INT32 else D.FP16
    return store_into(kernel, case, kernel.product(shapes[0], element), dtype)


def accumulated(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    acc, left, right = shapes
    first = kernel.product(acc, dtype)
    lhs, rhs = kernel.tile(left, dtype, LEFT), kernel.tile(right, dtype, RIGHT)
    return kernel.let("result", case.op.build([first, lhs, rhs], {}))


def accumulated_rows(
    kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]
) -> Expr:
    """Multiply rows twice, accumulating the second product onto the first."""
    row, matrix = shapes
    lhs, rhs = kernel.tile(row, dtype, LEFT), kernel.tile(matrix, dtype, RIGHT)
    first = kernel.let("acc", call(matmul.gemv, lhs, rhs))
    lhs, rhs = kernel.tile(row, dtype, LEFT), kernel.tile(matrix, dtype, RIGHT)
    return kernel.let("result", case.op.build([first, lhs, rhs], {}))


def biased(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Add a row of the result's element type to a product."""
    left, right, row = shapes
    lhs, rhs = kernel.tile(left, dtype, LEFT), kernel.tile(right, dtype, RIGHT)
    bias = kernel.tile(row, D.INT32 if dtype is D.INT8 else D.FP32, BIAS)
    return kernel.let("result", case.op.build([lhs, rhs, bias], {}))


def biased_in_mat(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Add a row that is in Mat memory, where it was loaded."""
    left, right, row = shapes
    lhs, rhs = kernel.tile(left, dtype, LEFT), kernel.tile(right, dtype, RIGHT)
    return kernel.let("result", case.op.build([lhs, rhs, kernel.tile(row, D.FP32, MAT)], {}))


def moved(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Multiply by an operand that was moved to Left or Right."""
    (shape,) = shapes
    staged = kernel.tile(shape, dtype, MAT)
    return _multiplied(kernel, case, case.op.build([staged], case.attrs), dtype)


def extracted(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Multiply by a part that was extracted to Left or Right."""
    (shape,) = shapes
    staged = kernel.tile(shape, dtype, MAT)
    part = case.op.build([staged, *case.scalars, list(case.ints[0])], case.attrs)
    return _multiplied(kernel, case, part, dtype)


def _multiplied(kernel: Kernel, case: Case, factor: Expr, dtype: DataType) -> Expr:
    moved = kernel.let("moved", factor)
    assert isinstance(moved.type, TileType)
    rows, columns = static(moved.type)
    if case.attrs["target_memory"] is LEFT:
        other = kernel.tile((columns, 32), dtype, RIGHT)
        return kernel.let("result", call(matmul.matmul, moved, other))
    other = kernel.tile((32, rows), dtype, LEFT)
    return kernel.let("result", call(matmul.matmul, other, moved))


def filled(kernel: Kernel, case: Case, dtype: DataType, _shapes: tuple[Shape, ...]) -> Expr:
    call = case.op.build([list(case.ints[0])], {"dtype": dtype, "value": case.scalars[0]})
    return kernel.let("result", call)


def created(kernel: Kernel, case: Case, dtype: DataType, _shapes: tuple[Shape, ...]) -> Expr:
    """Use the created tile as scratch, which is its only possible use."""
    value = kernel.tile(case.ints[0], dtype)
    scratch = kernel.let("scratch", case.op.build([list(case.ints[0]), dtype], {}))
    return kernel.let("result", call(reduce.row_max, value, scratch))


def described(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Describe a buffer, which changes nothing."""
    kernel.let("mem_vec_7", case.op.build([VEC, -1, 2048, 7], {}))
    return kernel.let("result", call(new_tiles.vec_move, kernel.tile(shapes[0], dtype)))


def plus(kernel: Kernel, value: Expr, dtype: DataType) -> Expr:
    """Add a scalar to a tile, so that it can be stored."""
    number = kernel.let("number", value)
    same = isinstance(number.type, ScalarType) and number.type.dtype is dtype
    return kernel.let(
        "result",
        call(
            elementwise.adds, kernel.tile((8, 32), dtype), number if same else Cast(number, dtype)
        ),
    )


def indexed(kernel: Kernel, case: Case, _dtype: DataType, _shapes: tuple[Shape, ...]) -> Expr:
    return plus(kernel, case.op.build([], {}), D.INT32)


def element_read(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    x = kernel.input(shapes[0], dtype)
    return plus(kernel, case.op.build([x, list(case.ints[0])], {}), dtype)


def reduced(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Reduce a one-dimensional tile to a scalar."""
    return plus(kernel, case.op.build([kernel.tile(shapes[0], dtype)], case.attrs), dtype)


def measured(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    x = kernel.input(shapes[0], dtype)
    return plus(kernel, case.op.build([x, *case.axes], case.attrs), D.INT32)


def reshaped(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    x, (shape,) = kernel.input(shapes[0], dtype), case.ints
    other = kernel.let("other", case.op.build([x, list(shape)], {}))
    return kernel.let("result", call(memory.load, other, [0, 0], list(shape)))


def windowed(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    x, (size, offset) = kernel.input(shapes[0], dtype), case.ints
    window = kernel.let("window", case.op.build([x, list(size), list(offset)], {}))
    return kernel.let("result", call(memory.load, window, [0, 0], list(size)))
