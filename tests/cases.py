"""The op table: what each op is tested with, and kernels built from its rows.

A row says with which shapes, element types, numbers and keywords an op is exercised, over what
range of values, and how exact the result has to be. `kernel_for` turns a row into a kernel that
loads the operands, applies the op, and stores the result; the same kernel runs on the interpreter
and, compiled, on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import FunctionType, MemorySpace, ParamDirection, PipeType
from pypto._src.ir.exprs import Cast, ConstInt, Expr, Var
from pypto._src.ir.opdef import AXIS, INTS, SCALAR, TENSOR, TILE, OpDef, literal
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, ReturnStmt, SeqStmts, Stmt
from pypto._src.ir.types import ScalarType
from pypto._src.ops import (
    bitwise,
    compare_select,
    elementwise,
    layout,
    matmul,
    memory,
    reduce,
    system,
    tensor,
    tensor_math,
    ternary,
    testing,
)
from pypto._src.ops.define import REGISTRY
from pypto._src.ops.rules.type_rules import CASTS

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
    """Return random values of a range; integers are drawn from it too."""

    def draw(rng: np.random.Generator, shape: Shape, dtype: DataType) -> Array:
        if dtype.is_float():
            return rng.uniform(low, high, shape).astype(dtype.numpy)
        bottom = max(int(low), np.iinfo(dtype.numpy).min)
        top = min(int(high), np.iinfo(dtype.numpy).max)
        return rng.integers(bottom, top + 1, shape).astype(dtype.numpy)

    return draw


def whole_range(rng: np.random.Generator, shape: Shape, dtype: DataType) -> Array:
    """Return integers of the whole range of their type, so that results wrap; floats as ever."""
    if dtype.is_float():
        return rng.uniform(-8, 8, shape).astype(dtype.numpy)
    limits = np.iinfo(dtype.numpy)
    return rng.integers(limits.min, limits.max, shape, dtype.numpy, endpoint=True)


def shifted(rng: np.random.Generator, shape: Shape, dtype: DataType) -> Array:
    """Return integers of the whole range, and among them many that are sensible shift counts."""
    counts = between(-2, 2 + dtype.get_bit())(rng, shape, dtype)
    return np.where(rng.random(shape) < 0.5, counts, whole_range(rng, shape, dtype))


def small(rng: np.random.Generator, shape: Shape, dtype: DataType) -> Array:
    """Return a few whole numbers around 0, so that pairs are often equal."""
    return rng.integers(0 if dtype.is_unsigned_int() else -4, 5, shape).astype(dtype.numpy)


def exact(rng: np.random.Generator, shape: Shape, dtype: DataType) -> Array:
    """Return integers of the whole range, and floats whose sums are exact."""
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
    """One row: an op and what it is tested with."""

    op: AnyOp
    shapes: tuple[tuple[Shape, ...], ...] = ()
    """Alternatives; each has one shape a tile or tensor operand that is no scratch."""
    dtypes: tuple[DataType, ...] = ()
    """Element types of the operands; all that the op takes unless given."""
    scalars: tuple[float, ...] = ()
    ints: tuple[tuple[int, ...], ...] = ()
    axes: tuple[int, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    values: Values = moderate
    reference: Formula | None = None
    """An independent formula, on float64 or Python integers."""
    rtol: Mapping[DataType, float] = field(default_factory=dict[DataType, float])
    atol: Mapping[DataType, float] = field(default_factory=dict[DataType, float])
    build: Build | None = None
    """Makes the kernel where the usual one does not do."""
    no_kernel: str = ""
    """Why no kernel can show the op."""

    @property
    def name(self) -> str:
        """The op's name and what tells its rows apart."""
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
        """Return relative and absolute tolerance for operands of ``dtype``; exact if unsaid."""
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
    return (columns, -(-rows // 32) * 32) if case.op is layout.transpose else tuple(shapes[0])


def kernel_for(case: Case, dtype: DataType, shapes: tuple[Shape, ...] | None = None) -> BuiltKernel:
    """Return a kernel that loads operands, applies the row's op, and stores the result.

    Operands of the matrix unit go through Mat memory; scratch tiles are created.
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
        return kernel.let("scratch", call(memory.create_tile, shape, dtype))

    operands = operands_for(case, dtype, tiles, scratch)
    named = dict(zip([p.name for p in case.op.operands], operands, strict=True))
    result = case.op.build([], {**named, **case.attrs})
    return kernel.finish(kernel.let("result", result))


# --------------------------------------------------------------------------------------------
# Kernels of their own
# --------------------------------------------------------------------------------------------


def _stored(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Store a loaded tile with the row's op, into the middle of a tensor."""
    (shape,) = shapes
    value = kernel.tile(shape, dtype)
    return _store_into(kernel, case, value, dtype)


def _store_into(kernel: Kernel, case: Case, value: Var, dtype: DataType) -> Expr:
    assert isinstance(value.type, TileType)
    shape = static(value.type)
    whole = (shape[0] + 2, shape[1] + 8)
    out = Var("out", TensorType(whole, dtype))
    kernel.params.append((out, ParamDirection.InOut))
    kernel.inputs.append((whole, dtype))
    return kernel.let("stored", case.op.build([value, [1, 8], list(shape), out], {}))


def _stored_acc(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    element = D.INT8 if dtype is D.INT32 else D.FP16
    return _store_into(kernel, case, kernel.product(shapes[0], element), dtype)


def _accumulated(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    acc, left, right = shapes
    first = kernel.product(acc, dtype)
    lhs, rhs = kernel.tile(left, dtype, LEFT), kernel.tile(right, dtype, RIGHT)
    return kernel.let("result", case.op.build([first, lhs, rhs], {}))


def _accumulated_rows(
    kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]
) -> Expr:
    """Multiply rows twice, the second time onto the first product."""
    row, matrix = shapes
    lhs, rhs = kernel.tile(row, dtype, LEFT), kernel.tile(matrix, dtype, RIGHT)
    first = kernel.let("acc", call(matmul.gemv, lhs, rhs))
    lhs, rhs = kernel.tile(row, dtype, LEFT), kernel.tile(matrix, dtype, RIGHT)
    return kernel.let("result", case.op.build([first, lhs, rhs], {}))


def _biased(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Add a row of the result's element type to a product."""
    left, right, row = shapes
    lhs, rhs = kernel.tile(left, dtype, LEFT), kernel.tile(right, dtype, RIGHT)
    bias = kernel.tile(row, D.INT32 if dtype is D.INT8 else D.FP32, BIAS)
    return kernel.let("result", case.op.build([lhs, rhs, bias], {}))


def _biased_in_mat(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Add a row that is in Mat memory, where it was loaded to."""
    left, right, row = shapes
    lhs, rhs = kernel.tile(left, dtype, LEFT), kernel.tile(right, dtype, RIGHT)
    return kernel.let("result", case.op.build([lhs, rhs, kernel.tile(row, D.FP32, MAT)], {}))


def _moved(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Multiply by what was moved to Left or Right."""
    (shape,) = shapes
    staged = kernel.tile(shape, dtype, MAT)
    moved = kernel.let("moved", case.op.build([staged], case.attrs))
    assert isinstance(moved.type, TileType)
    rows, columns = static(moved.type)
    if case.attrs["target_memory"] is LEFT:
        other = kernel.tile((columns, 32), dtype, RIGHT)
        return kernel.let("result", call(matmul.matmul, moved, other))
    other = kernel.tile((32, rows), dtype, LEFT)
    return kernel.let("result", call(matmul.matmul, other, moved))


def _filled(kernel: Kernel, case: Case, dtype: DataType, _shapes: tuple[Shape, ...]) -> Expr:
    call = case.op.build([list(case.ints[0])], {"dtype": dtype, "value": case.scalars[0]})
    return kernel.let("result", call)


def _created(kernel: Kernel, case: Case, dtype: DataType, _shapes: tuple[Shape, ...]) -> Expr:
    """Use the created tile as scratch, which is all that can be done with it."""
    value = kernel.tile(case.ints[0], dtype)
    scratch = kernel.let("scratch", case.op.build([list(case.ints[0]), dtype], {}))
    return kernel.let("result", call(reduce.row_max, value, scratch))


def _described(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Describe a buffer, which changes nothing."""
    kernel.let("mem_vec_7", case.op.build([VEC, -1, 2048, 7], {}))
    return kernel.let("result", call(memory.vec_move, kernel.tile(shapes[0], dtype)))


def _plus(kernel: Kernel, value: Expr, dtype: DataType) -> Expr:
    """Add a scalar to a tile, so that it can be stored."""
    number = kernel.let("number", value)
    same = isinstance(number.type, ScalarType) and number.type.dtype is dtype
    return kernel.let(
        "result",
        call(
            elementwise.adds, kernel.tile((8, 32), dtype), number if same else Cast(number, dtype)
        ),
    )


def _indexed(kernel: Kernel, case: Case, _dtype: DataType, _shapes: tuple[Shape, ...]) -> Expr:
    return _plus(kernel, case.op.build([], {}), D.INT32)


def _element(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    x = kernel.input(shapes[0], dtype)
    return _plus(kernel, case.op.build([x, list(case.ints[0])], {}), dtype)


def _measured(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    x = kernel.input(shapes[0], dtype)
    return _plus(kernel, case.op.build([x, *case.axes], case.attrs), D.INT32)


def _windowed(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    x, (size, offset) = kernel.input(shapes[0], dtype), case.ints
    window = kernel.let("window", case.op.build([x, list(size), list(offset)], {}))
    return kernel.let("result", call(memory.load, window, [0, 0], list(size)))


# --------------------------------------------------------------------------------------------
# Ops on whole tensors
# --------------------------------------------------------------------------------------------


def _cut(a: Any, b: Any) -> Any:
    """Return a quotient as the ops define it: integers toward zero, 0 over 0."""
    if isinstance(a, float):
        return a / b
    quotient = abs(a) // abs(b) if b else 0
    return quotient if (a < 0) == (b < 0) else -quotient


_BROADCAST = (
    ((4, 6), (4, 6)),
    ((4, 6), (4, 1)),
    ((4, 6), (6,)),
    ((1, 6), (4, 1)),
    ((2, 3, 4), (3, 1)),
    ((1,), (5,)),
)
_NARROW = {D.BF16: 8e-3, D.FP16: 1e-3}


def _on_tensors() -> list[Case]:
    no_kernel = "they become block ops in kernels"
    one = (((4, 6),), ((3, 1, 5),))
    products = (
        ((4, 6), (6, 5)),
        ((6,), (6, 5)),
        ((4, 6), (6,)),
        ((6,), (6,)),
        ((2, 4, 6), (6, 5)),
        ((2, 1, 4, 6), (3, 6, 5)),
    )

    def row(op: AnyOp, shapes: Any, reference: Formula | None = None, **facts: Any) -> Case:
        return Case(op, shapes, reference=reference, no_kernel=no_kernel, **facts)

    return [
        row(tensor_math.add, _BROADCAST, lambda a, b: a + b, values=whole_range, rtol=_NARROW),
        row(tensor_math.sub, _BROADCAST, lambda a, b: a - b, values=whole_range, rtol=_NARROW),
        row(tensor_math.mul, _BROADCAST, lambda a, b: a * b, values=whole_range, rtol=_NARROW),
        row(tensor_math.div, _BROADCAST, _cut, values=whole_range, rtol=_NARROW),
        row(tensor_math.maximum, _BROADCAST, max, values=whole_range),
        row(
            tensor_math.add_scalar,
            one,
            lambda a, b: a + b,
            scalars=(3,),
            values=whole_range,
            rtol=_NARROW,
        ),
        row(
            tensor_math.sub_scalar,
            one,
            lambda a, b: a - b,
            scalars=(3,),
            values=whole_range,
            rtol=_NARROW,
        ),
        row(
            tensor_math.mul_scalar,
            one,
            lambda a, b: a * b,
            scalars=(3,),
            values=whole_range,
            rtol=_NARROW,
        ),
        row(tensor_math.div_scalar, one, _cut, scalars=(3,), values=whole_range, rtol=_NARROW),
        row(
            tensor_math.exp,
            one,
            np.exp,
            dtypes=(D.FP32, D.FP16, D.BF16),
            rtol={D.FP32: 1e-6, **_NARROW},
        ),
        row(tensor_math.cast, one, dtypes=(D.FP32,), attrs={"target_type": D.INT32}),
        row(tensor_math.cast, one, dtypes=(D.FP16,), attrs={"target_type": D.FP16}),
        row(tensor_math.cast, one, dtypes=(D.INT8,), attrs={"target_type": D.BF16}),
        row(tensor_math.row_max, one, max, values=whole_range),
        row(
            tensor_math.row_sum,
            one,
            sum,
            values=whole_range,
            rtol={D.FP32: 1e-6, **_NARROW},
            atol={D.FP32: 1e-5, D.FP16: 1e-2, D.BF16: 1e-1},
        ),
        row(tensor_math.row_sum, (((4, 6),),), attrs={"axis": 0, "keep_dim": False}),
        row(tensor_math.row_max, (((5,),),), attrs={"keep_dim": False}),
        row(tensor_math.reshape, (((4, 6),),), ints=((2, 3, 4),)),
        row(tensor_math.transpose, (((4, 6),),), axes=(0, 1)),
        row(tensor_math.transpose, (((2, 3, 4),),), axes=(-1, 0)),
        row(tensor_math.matmul, products),
        row(tensor_math.matmul, (((6, 4), (5, 6)),), attrs={"a_trans": True, "b_trans": True}),
        row(
            tensor_math.matmul,
            (((4, 6), (6, 5)),),
            attrs={"out_dtype": D.FP32},
            dtypes=(D.BF16, D.FP16, D.INT8),
        ),
        row(tensor_math.assemble, (((4, 6), (2, 3)),), ints=((1, 2),)),
    ]


# --------------------------------------------------------------------------------------------
# The table
# --------------------------------------------------------------------------------------------

# The third one is a column vector, which a pass turns into a row.
_ONE: tuple[tuple[Shape, ...], ...] = (((16, 16),), ((1, 256),), ((16, 1),), ((3, 64),))
_TWO: tuple[tuple[Shape, ...], ...] = tuple((s, s) for (s,) in _ONE)
_REDUCED: tuple[tuple[Shape, ...], ...] = (((16, 16),), ((32, 64),), ((16, 256),))
_COLUMN: tuple[tuple[Shape, ...], ...] = (((16, 16), (16, 1)), ((32, 128), (32, 1)))
_ROW: tuple[tuple[Shape, ...], ...] = (((16, 16), (1, 16)), ((3, 64), (1, 64)))
# One unit in the last place and a bit, for functions that libraries compute differently.
_CLOSE: Mapping[DataType, float] = {D.FP32: 3e-7, D.FP16: 1.1e-3}


def _casts() -> list[Case]:
    rows: list[Case] = []
    for source, targets in CASTS.items():
        for target in (d for d in MEMBERS.values() if d in targets):
            rounds = source.is_float() and target.is_int()
            modes = ["rint", "round", "floor", "ceil", "trunc", "odd", "none"]
            for mode in modes if rounds else ["rint"]:
                attrs = {"target_type": target, "mode": mode}
                shapes: tuple[tuple[Shape, ...], ...] = (((16, 32),), ((32, 1),))
                values = between(-100, 100)
                row = Case(elementwise.cast, shapes, (source,), attrs=attrs, values=values)
                rows.append(row)
    same = {"target_type": D.FP32, "mode": "rint"}
    rows.append(Case(elementwise.cast, (((16, 32),),), (D.FP32,), attrs=same, reference=_itself))
    return rows


def _itself(a: Any) -> Any:
    return a


def _left(a: int, count: int) -> int:
    return a << count if 0 <= count < 64 else 0


def _right(a: int, count: int) -> int:
    return a >> (count if 0 <= count < 64 else 64)


def _remainder(a: Any, b: Any) -> Any:
    return a % b if b else 0


def _bitwise() -> list[Case]:
    # Rows and columns of elements of one byte, too, have at least 32 bytes.
    one: tuple[tuple[Shape, ...], ...] = (((32, 32),), ((1, 256),), ((32, 1),), ((3, 64),))
    two: tuple[tuple[Shape, ...], ...] = tuple((s, s) for (s,) in one)

    def number(op: AnyOp, scalar: int, reference: Formula, *dtypes: DataType) -> Case:
        near = op is bitwise.rems
        values = between(-100, 100) if near else whole_range
        return Case(op, one, dtypes, (scalar,), reference=reference, values=values)

    return [
        Case(bitwise.and_, two, values=whole_range, reference=lambda a, b: a & b),
        Case(bitwise.or_, two, values=whole_range, reference=lambda a, b: a | b),
        Case(bitwise.xor, two, values=whole_range, reference=lambda a, b: a ^ b),
        number(bitwise.ands, 0x5A, lambda a, s: a & s),
        number(bitwise.ors, 0x5A, lambda a, s: a | s),
        number(bitwise.xors, 0x5A, lambda a, s: a ^ s),
        Case(bitwise.not_, one, values=whole_range, reference=lambda a: ~a),
        Case(bitwise.shl, two, values=shifted, reference=_left),
        Case(bitwise.shr, two, values=shifted, reference=_right),
        number(bitwise.shls, 3, _left),
        number(bitwise.shls, 0, _left, D.INT16),
        number(bitwise.shls, 40, _left, D.INT32),
        number(bitwise.shrs, 3, _right),
        number(bitwise.shrs, 16, _right, D.UINT16),
        number(bitwise.shrs, 40, _right, D.INT32),
        Case(bitwise.rem, two, values=between(-100, 100), reference=_remainder),
        Case(bitwise.rem, two, (D.INT32,), values=whole_range, reference=_remainder),
        number(bitwise.rems, 7, _remainder),
        number(bitwise.rems, -7, _remainder, D.FP32),
        number(bitwise.rems, 0, _remainder, D.INT32),
    ]


_COMPARISONS: tuple[Formula, ...] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
)


def _select() -> list[Case]:
    # A5 compares 32 elements and more.
    sizes: tuple[Shape, ...] = ((16, 16), (1, 256), (32, 1), (3, 64), (2, 8, 32), (64, 96))
    one: tuple[tuple[Shape, ...], ...] = tuple((s,) for s in sizes)
    two: tuple[tuple[Shape, ...], ...] = tuple((s, s) for s in sizes)
    three: tuple[tuple[Shape, ...], ...] = tuple((s, s, s) for s in sizes)
    moved: tuple[tuple[Shape, ...], ...] = (((16, 32),) * 2, ((32, 1),) * 2, ((3, 64),) * 2)
    rows = [
        Case(elementwise.expands, one, scalars=(3,), reference=lambda _a, s: s),
        Case(elementwise.lrelu, one, scalars=(0.3,), reference=lambda a, s: a if a > 0 else a * s),
        Case(compare_select.prelu, two, reference=lambda a, s: a if a > 0 else a * s),
        Case(ternary.addc, three, values=exact, reference=lambda a, b, c: a + b + c),
        Case(ternary.subc, three, values=exact, reference=lambda a, b, c: a - b - c),
        Case(
            ternary.addsc,
            two,
            scalars=(3,),
            values=exact,
            reference=lambda a, c, s: a + s + c,
        ),
        Case(
            ternary.subsc,
            two,
            scalars=(3,),
            values=exact,
            reference=lambda a, c, s: a - s - c,
        ),
        Case(compare_select.sel, three, values=small, reference=lambda m, a, b: a if m else b),
        Case(
            compare_select.sels,
            moved,
            scalars=(2,),
            values=whole_range,
            reference=lambda a, _b, _s: a,
        ),
        Case(
            compare_select.sels,
            moved,
            (D.FP16,),
            scalars=(0,),
            values=whole_range,
            reference=lambda _a, b, _s: b,
        ),
    ]
    for mode, holds in enumerate(_COMPARISONS):
        words = {"cmp_type": mode}
        rows.append(Case(compare_select.cmp, two, attrs=words, values=small, reference=holds))
        rows.append(
            Case(compare_select.cmps, one, scalars=(1,), attrs=words, values=small, reference=holds)
        )
    return rows


def _along(op: AnyOp, rtol: Mapping[DataType, float], atol: Mapping[DataType, float]) -> list[Case]:
    """Return rows of a reduction along the first and the last dimension."""
    columns: tuple[tuple[Shape, ...], ...] = (((16, 32),), ((3, 64),), ((1, 32),), ((4, 8, 16),))
    rows: tuple[tuple[Shape, ...], ...] = (((16, 32),), ((32, 256),), ((32, 1),))
    return [
        Case(
            op,
            columns if axis == 0 else rows if keepdim else (*rows, ((2, 16, 32),)),
            attrs={"axis": axis, "keepdim": keepdim},
            values=whole_range,
            rtol=rtol,
            atol=atol,
        )
        for axis, keepdim in ((0, True), (0, False), (-1, True), (-1, False))
    ]


CASES: list[Case] = [
    Case(elementwise.add, _TWO, values=whole_range, reference=lambda a, b: a + b),
    Case(elementwise.sub, _TWO, values=whole_range, reference=lambda a, b: a - b),
    Case(elementwise.mul, _TWO, values=whole_range, reference=lambda a, b: a * b),
    Case(elementwise.div, _TWO, values=positive, reference=lambda a, b: a / b),
    Case(elementwise.maximum, _TWO, values=whole_range, reference=max),
    Case(elementwise.minimum, _TWO, values=whole_range, reference=min),
    Case(elementwise.adds, _ONE, scalars=(3,), values=whole_range, reference=lambda a, s: a + s),
    Case(elementwise.subs, _ONE, scalars=(3,), values=whole_range, reference=lambda a, s: a - s),
    Case(elementwise.muls, _ONE, scalars=(3,), values=whole_range, reference=lambda a, s: a * s),
    Case(
        elementwise.divs,
        _ONE,
        scalars=(3,),
        values=whole_range,
        reference=lambda a, s: int(a / s) if isinstance(a, int) else a / s,
    ),
    Case(elementwise.maxs, _ONE, (D.FP16, D.FP32), (0.5,), reference=max),
    Case(elementwise.mins, _ONE, (D.FP16, D.FP32), (0.5,), reference=min),
    *[
        Case(op, _ONE, (dtype,), (-7,), values=whole_range, reference=formula)
        for op, formula in ((elementwise.maxs, max), (elementwise.mins, min))
        for dtype in (D.INT16, D.INT32)
    ],
    Case(elementwise.exp, _ONE, rtol=_CLOSE, reference=np.exp),
    Case(elementwise.log, _ONE, values=positive, rtol=_CLOSE, atol=_CLOSE, reference=np.log),
    Case(elementwise.sqrt, _ONE, values=positive, reference=np.sqrt),
    Case(
        elementwise.rsqrt,
        _ONE,
        values=positive,
        rtol=_CLOSE,
        reference=lambda a: 1 / np.sqrt(a),
    ),
    Case(elementwise.recip, _ONE, values=positive, rtol=_CLOSE, reference=lambda a: 1 / a),
    Case(elementwise.neg, _ONE, values=whole_range, reference=lambda a: -a),
    Case(elementwise.abs, _ONE, reference=abs),
    Case(elementwise.relu, _ONE, values=whole_range, reference=lambda a: max(a, 0)),
    *_casts(),
    *_bitwise(),
    *_select(),
    Case(reduce.row_max, _REDUCED, values=whole_range, reference=max),
    Case(reduce.row_min, _REDUCED, values=whole_range, reference=min),
    # The order of a sum is the machine's: 256 terms of up to 8.
    Case(
        reduce.row_sum,
        _REDUCED,
        values=whole_range,
        rtol={D.FP32: 1e-6, D.FP16: 1e-3},
        atol={D.FP32: 2e-4, D.FP16: 2e-4},
        reference=sum,
    ),
    *_along(reduce.max, {}, {}),
    *_along(reduce.min, {}, {}),
    *_along(reduce.sum, {D.FP32: 1e-6, D.FP16: 1e-3}, {D.FP32: 2e-4, D.FP16: 2e-4}),
    Case(reduce.row_expand, (((16, 32),), ((3, 64),), ((32, 1),)), values=whole_range),
    Case(reduce.col_expand, (((16, 32), (1, 32)), ((3, 64), (1, 64))), values=whole_range),
    Case(reduce.row_expand_add, _COLUMN, values=whole_range, reference=lambda a, v: a + v),
    Case(reduce.row_expand_sub, _COLUMN, values=whole_range, reference=lambda a, v: a - v),
    Case(reduce.row_expand_mul, _COLUMN, values=whole_range, reference=lambda a, v: a * v),
    Case(reduce.row_expand_div, _COLUMN, values=positive, reference=lambda a, v: a / v),
    Case(reduce.col_expand_mul, _ROW, values=whole_range, reference=lambda a, v: a * v),
    Case(reduce.col_expand_div, _ROW, values=positive, reference=lambda a, v: a / v),
    Case(reduce.col_expand_sub, _ROW, values=whole_range, reference=lambda a, v: a - v),
    Case(
        matmul.matmul,
        (((16, 32), (32, 32)), ((32, 64), (64, 96))),
        rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
        atol={D.FP32: 1e-3, D.FP16: 1e-3, D.BF16: 1e-3},
    ),
    Case(
        matmul.matmul_acc,
        (((16, 32), (16, 32), (32, 32)), ((32, 96), (32, 64), (64, 96))),
        rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
        atol={D.FP32: 1e-3, D.FP16: 1e-3, D.BF16: 1e-3},
        build=_accumulated,
    ),
    Case(
        matmul.matmul_bias,
        (((16, 32), (32, 32), (1, 32)), ((32, 64), (64, 96), (1, 96))),
        rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
        atol={D.FP32: 1e-3, D.FP16: 1e-3, D.BF16: 1e-3},
        build=_biased,
    ),
    Case(
        matmul.matmul_bias,
        (((16, 32), (32, 32), (1, 32)),),
        (D.FP16,),
        rtol={D.FP16: 1e-5},
        atol={D.FP16: 1e-3},
        build=_biased_in_mat,
    ),
    # A row goes to Left memory in units of 512 bytes.
    Case(
        matmul.gemv,
        (((1, 512), (512, 32)),),
        rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
        atol={D.FP32: 1e-2, D.FP16: 1e-2, D.BF16: 1e-2},
    ),
    Case(
        matmul.gemv_acc,
        (((1, 512), (512, 32)),),
        rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
        atol={D.FP32: 1e-2, D.FP16: 1e-2, D.BF16: 1e-2},
        build=_accumulated_rows,
    ),
    Case(
        matmul.gemv_bias,
        (((1, 512), (512, 32), (1, 32)),),
        rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
        atol={D.FP32: 1e-2, D.FP16: 1e-2, D.BF16: 1e-2},
        build=_biased,
    ),
    Case(
        matmul.batch_matmul,
        (((2, 16, 32), (2, 32, 16)), ((3, 1, 8, 32), (2, 32, 4)), ((16, 32), (32, 16))),
        no_kernel="no target executes it",
    ),
    Case(layout.reshape, (((16, 32),),), ints=((8, 64),)),
    Case(layout.reshape, (((32, 1),),), ints=((1, 32),)),
    Case(layout.reshape, (((1, 32),),), ints=((32, 1),)),
    Case(layout.transpose, (((32, 64),), ((64, 32),))),
    Case(memory.load, (((20, 96),),), ints=((2, 32), (16, 32)), attrs={"target_memory": VEC}),
    Case(memory.load, (((48, 1),),), ints=((16, 0), (32, 1)), attrs={"target_memory": VEC}),
    Case(memory.view, (((32, 64),),), ints=((8, 64), (16, 0))),
    Case(memory.view, (((16, 256),),), ints=((1, 64), (3, 128))),
    Case(memory.view, (((4, 8, 32),),), ints=((2, 8, 32), (1, 0, 0))),
    Case(memory.view, (((512,),),), ints=((64,), (32,))),
    Case(memory.view, (((4, 8, 32),),), ints=((1, 1, 32), (3, 5, 0))),
    Case(memory.store, (((16, 32),),), build=_stored),
    Case(
        memory.l0c_store,
        (((16, 32),),),
        (D.FP32, D.INT32),
        rtol={D.FP32: 1e-5},
        atol={D.FP32: 1e-3},
        build=_stored_acc,
    ),
    Case(memory.move, (((16, 32),), ((32, 1),)), attrs={"target_memory": VEC}),
    Case(memory.vec_move, (((16, 32),), ((32, 1),)), values=whole_range),
    Case(memory.fillpad, (((16, 32),), ((32, 1),), ((3, 64),)), values=whole_range),
    *(
        Case(
            memory.move,
            (((32, 64),),),
            (D.INT8, D.FP16, D.BF16, D.FP32),
            attrs={"target_memory": space, "transpose": transpose},
            rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
            atol={D.FP32: 1e-3, D.FP16: 1e-3, D.BF16: 1e-3},
            build=_moved,
        )
        for space in (LEFT, RIGHT)
        for transpose in (False, True)
    ),
    Case(
        memory.create_tile,
        ((),),
        (D.FP32, D.FP16, D.INT16, D.INT32),
        ints=((16, 16),),
        build=_created,
    ),
    Case(memory.alloc, (((16, 32),),), (D.FP32, D.INT8), build=_described),
    Case(memory.full, ((),), scalars=(3,), ints=((16, 16),), build=_filled),
    Case(memory.full, ((),), scalars=(-2,), ints=((16, 1),), build=_filled),
    Case(memory.get_block_idx, ((),), (D.INT32,), build=_indexed),
    Case(tensor.create, ((),), ints=((3, 5),), no_kernel="tensors are made on the host"),
    Case(tensor.view, (((20, 96),),), (D.FP32,), ints=((16, 32), (2, 32)), build=_windowed),
    Case(tensor.read, (((4, 8),),), (D.FP32, D.INT32), ints=((2, 3),), build=_element),
    Case(tensor.dim, (((4, 8),),), (D.FP32,), axes=(-1,), build=_measured),
    *_on_tensors(),
    *(
        Case(op, ((),), attrs=attrs, no_kernel="passes put it into kernels")
        for op, attrs in (
            (
                system.sync_src,
                {"set_pipe": PipeType.MTE2, "wait_pipe": PipeType.V, "event_id": 0},
            ),
            (
                system.sync_dst,
                {"set_pipe": PipeType.MTE2, "wait_pipe": PipeType.V, "event_id": 0},
            ),
            (system.bar_v, {}),
            (system.bar_m, {}),
            (system.bar_all, {}),
        )
    ),
    Case(
        testing.op,
        ((),),
        attrs={"int_attr": 1, "string_attr": "a", "bool_attr": True},
        no_kernel="it is there for tests of the registry",
    ),
]


def missing_rows() -> list[str]:
    """Return the ops of the registry that have no row."""
    known = {case.op.name for case in CASES}
    return [name for name in REGISTRY if name not in known]
