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
from pypto._src.ir.enums import FunctionType, MemorySpace, ParamDirection, PipeType
from pypto._src.ir.nodes import Cast, ConstInt, Expr, ScalarType, TensorType, TileType, Var
from pypto._src.ir.opdef import INTS, SCALAR, TENSOR, TILE, OpDef, literal
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, ReturnStmt, SeqStmts, Stmt
from pypto._src.ops import elementwise, layout, matmul, memory, reduce, system, tensor
from pypto._src.ops.define import REGISTRY
from pypto._src.ops.rules import CASTS

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Values = Callable[[np.random.Generator, Shape, DataType], Array]
AnyOp = OpDef[..., Any]
Formula = Callable[[Any], Any] | Callable[[Any, Any], Any]
D = DataType
VEC, MAT = MemorySpace.Vec, MemorySpace.Mat
LEFT, RIGHT, ACC = MemorySpace.Left, MemorySpace.Right, MemorySpace.Acc


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
    return _plus(kernel, case.op.build([x], case.attrs), D.INT32)


def _windowed(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    x, (size, offset) = kernel.input(shapes[0], dtype), case.ints
    window = kernel.let("window", case.op.build([x, list(size), list(offset)], {}))
    return kernel.let("result", call(memory.load, window, [0, 0], list(size)))


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
    return rows


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
    Case(elementwise.maxs, _ONE, scalars=(0.5,), reference=max),
    Case(elementwise.mins, _ONE, scalars=(0.5,), reference=min),
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
    Case(layout.reshape, (((16, 32),),), ints=((8, 64),)),
    Case(layout.reshape, (((32, 1),),), ints=((1, 32),)),
    Case(layout.reshape, (((1, 32),),), ints=((32, 1),)),
    Case(layout.transpose, (((32, 64),), ((64, 32),))),
    Case(memory.load, (((20, 96),),), ints=((2, 32), (16, 32)), attrs={"target_memory": VEC}),
    Case(memory.load, (((48, 1),),), ints=((16, 0), (32, 1)), attrs={"target_memory": VEC}),
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
    Case(memory.full, ((),), scalars=(3,), ints=((16, 16),), build=_filled),
    Case(memory.full, ((),), scalars=(-2,), ints=((16, 1),), build=_filled),
    Case(memory.get_block_idx, ((),), (D.INT32,), build=_indexed),
    Case(tensor.create, ((),), ints=((3, 5),), no_kernel="tensors are made on the host"),
    Case(tensor.view, (((20, 96),),), (D.FP32,), ints=((16, 32), (2, 32)), build=_windowed),
    Case(tensor.read, (((4, 8),),), (D.FP32, D.INT32), ints=((2, 3),), build=_element),
    Case(tensor.dim, (((4, 8),),), (D.FP32,), attrs={"axis": -1}, build=_measured),
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
]


def missing_rows() -> list[str]:
    """Return the ops of the registry that have no row."""
    known = {case.op.name for case in CASES}
    return [name for name in REGISTRY if name not in known]
