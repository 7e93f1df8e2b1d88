"""Tensors of a kernel in C++: where each is, its GlobalTensor, and the parts that ops access.

A tensor variable is a name for memory: a pointer, sizes and strides. Sizes known only at run time
are C++ texts; the types then have -1 and the constructors get the numbers. Knows no
statements: the generator says where lines go.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from pypto._src.emit.cpp.types import Size, five, product, shape_text, stride_text
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType, TileType, as_matrix, static_shape
from pypto._src.ir.exprs import Call, ConstInt, Expr, Var
from pypto._src.ir.opdef import aliased, op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    statements,
    yielded,
)
from pypto._src.ops import tensor
from pypto._src.ops.layout import BLOCK_BYTES
from pypto._src.records import NamedTuple


class TensorRef(NamedTuple):
    """The memory of a tensor variable; sizes and strides in elements, outermost first."""

    pointer: str  # the C++ text of its address
    base: str  # the pointer variable in that text
    element: str  # C++ element type
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    whole: str  # GlobalTensor object of exactly this tensor, "" if there is none
    is_part: bool = False  # of a larger tensor: a region can leave the part but not the tensor


def constant_sizes(dims: Sequence[Expr], what: str) -> tuple[int, ...]:
    """Return sizes as integers.

    Raises:
        EmitError: one of them is known at run time only.
    """
    values = [dim.value for dim in dims if isinstance(dim, ConstInt)]
    if len(values) != len(dims):
        from pypto._src.ir.text.printer import python_print

        sizes = ", ".join(python_print(d) for d in dims)
        raise EmitError(
            f"{what} has the size [{sizes}]; tiles of C++ kernels have constant sizes",
            hint="write the sizes as numbers and pass what varies as offsets",
            slug="emit-shape",
        )
    return tuple(values)


def declare_global(
    name: str, ref: TensorRef, shape: Sequence[Size], order: str, pointer: str
) -> str:
    """Return the lines that declare the GlobalTensor ``<name>Global``; no pointer if it is ""."""
    layout = "" if order == "ND" else f", Layout::{order}"
    # The document writes 1 for the strides of padding dimensions, which are never stepped over.
    types = (
        f"using {name}ShapeDim5 = {shape_text(shape)};\n"
        f"using {name}StrideDim5 = {stride_text(ref.strides)};\n"
        f"using {name}GlobalType = GlobalTensor<{ref.element}, {name}ShapeDim5, "
        f"{name}StrideDim5{layout}>;"
    )
    arguments = pointer or "nullptr"
    sizes, strides = _given(shape), _given(ref.strides)
    if sizes or strides:
        arguments += f", {name}ShapeDim5({sizes})"
    if strides:
        arguments += f", {name}StrideDim5({strides})"
    given = "" if arguments == "nullptr" else f"({arguments})"
    return f"{types}\n{name}GlobalType {name}Global{given};"


def _given(sizes: Sequence[Size]) -> str:
    """Return the values known only at run time, in order, as constructor arguments."""
    if str not in map(type, sizes):
        return ""
    return ", ".join([size for size in five(sizes) if isinstance(size, str)])


class Regions:
    """The GlobalTensor objects of parts of tensors; each kind of part is declared once."""

    def __init__(self, fresh: Callable[[str], str]) -> None:
        self._fresh = fresh
        self._objects: dict[tuple[object, ...], str] = {}
        self.declarations: list[str] = []
        self.declared: set[str] = set()  # pointers in scope at the declarations

    def object_for(self, ref: TensorRef, shape: Sequence[Size], order: str) -> str:
        """Return the GlobalTensor for parts of ``shape``; its user points it at an address.

        Sizes known at run time are 1 until they are set.
        """
        static = tuple([size if isinstance(size, int) else -1 for size in shape])
        key = (ref.base, static, ref.strides, order)
        known = self._objects.get(key)
        if known is None:
            extent = "x".join(str(d) if isinstance(d, int) else "n" for d in shape)
            suffix = "" if order == "ND" else f"_{order.lower()}"
            name = self._fresh(f"{ref.base}_{extent}{suffix}")
            pointer = ref.base if ref.base in self.declared else ""
            plain: list[Size] = [d if isinstance(d, int) else "1" for d in shape]
            self.declarations.append(declare_global(name, ref, plain, order, pointer))
            known = self._objects[key] = f"{name}Global"
        return known


def set_sizes(name: str, shape: Sequence[Size]) -> str | None:
    """Return the line that gives a GlobalTensor its run-time sizes, None if it has none."""
    if str not in map(type, shape):
        return None
    found = [(i, size) for i, size in enumerate(five(shape)) if isinstance(size, str)]
    axes, sizes = ", ".join(str(i) for i, _ in found), ", ".join(size for _, size in found)
    return f"{name}.SetShape<{axes}>({sizes});"


# --------------------------------------------------------------------------------------------
# Columns of tensors with more than two dimensions
# --------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """A column of a tensor [..., N, 1] as a part that one transfer moves."""

    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    order: str  # DN for one column; ND for the rows of the tile viewed as [..., N]


def column_part(shape: Sequence[Size], strides: Sequence[Size], element_bytes: int) -> Column:
    """Return how a column tile's part of a tensor is described.

    A DN part has one dimension of rows. Where the outer rows are not contiguous in memory, the
    tile is viewed as a matrix with one row for each of them: the bytes are the same.

    Raises:
        EmitError: its elements are not contiguous in memory, or that matrix would have rows that
            are not a multiple of 32 bytes.
    """
    from pypto._src.emit.tensor_parts import check_column

    check_column(shape, strides)
    rows = [(d, s) for d, s in zip(shape[:-1], strides[:-1], strict=True) if d != 1]
    if not rows or (len(rows) == 1 and shape[-2] != 1):
        return Column(tuple(shape), tuple(strides), "DN")
    last = strides[-1]
    if all(
        isinstance(d, int) and isinstance(s, int) and isinstance(outer, int) and outer == d * s
        for (_, outer), (d, s) in itertools.pairwise(rows)
    ):
        count: Size = 1
        for size, _ in rows:
            count = product(count, size)
        return Column((count, 1), (rows[-1][1], last), "DN")
    inner = rows[-1][0]
    if not isinstance(inner, int) or inner * element_bytes % BLOCK_BYTES:
        raise EmitError(
            f"a column [{', '.join(map(str, shape))}] of a wider tensor is moved as rows of "
            f"{inner} elements, which are not a multiple of {BLOCK_BYTES} bytes",
            hint="move the rows of each outer index by themselves",
            slug="emit-shape",
        )
    return Column(tuple(shape[:-1]), tuple(strides[:-1]), "ND")


# --------------------------------------------------------------------------------------------
# Tensors that a branch or a loop selects
# --------------------------------------------------------------------------------------------


class Choices(NamedTuple):
    """The tensor variables whose memory is known only at run time."""

    moved: frozenset[Var]  # carried by a loop that changes which tensor they are
    roots: Mapping[Var, tuple[Var | None, Var | None]]
    """For each result of a branch, the first names of the tensors from its two arms."""

    def is_merged(self, var: Var) -> bool:
        """True for the result of a branch whose arms give different tensors."""
        one, other = self.roots[var]
        return one is None or one is not other


NO_CHOICES: Final = Choices(frozenset(), {})
"""The choices of a function whose loops and branches pass no tensors on."""


def find_choices(function: Function) -> Choices:
    """Return which tensors need their own pointer at run time.

    Each carried tensor is assumed to stay the same until the loop is seen to change it.
    """
    moved: dict[Var, None] = {}
    while True:
        found = _Roots(moved)
        for param in function.params:
            if isinstance(param.type, TensorType):
                found.of[param] = param
        found.visit(function.body)
        if not found.changed:
            return Choices(frozenset(moved), found.roots)
        moved |= found.changed


class _Roots:
    """The alias base of each tensor variable: the variable that first named its memory."""

    def __init__(self, moved: dict[Var, None]) -> None:
        self.moved = moved
        self.of: dict[Var, Var] = {}
        self.changed: dict[Var, None] = {}
        self.roots: dict[Var, tuple[Var | None, Var | None]] = {}

    def root(self, value: Expr) -> Var | None:
        if isinstance(value, Var):
            return self.of.get(value)
        if isinstance(value, Call) and value.op not in (tensor.view, tensor.reshape_view):
            source = aliased(value)
            return self.root(source) if isinstance(source, Var) else None
        return None

    def visit(self, body: Stmt | None) -> None:
        for stmt in statements(body):
            match stmt:
                case AssignStmt() if isinstance(stmt.var.type, TensorType):
                    self.of[stmt.var] = self.root(stmt.value) or stmt.var
                case ForStmt() | WhileStmt():
                    self.loop(stmt)
                case IfStmt():
                    self.visit(stmt.then_body)
                    self.visit(stmt.else_body)
                    self.branches(stmt)
                case ScopeStmt():
                    self.visit(stmt.body)
                case _:
                    pass

    def loop(self, stmt: ForStmt | WhileStmt) -> None:
        tensors = [arg for arg in stmt.iter_args if isinstance(arg.type, TensorType)]
        for arg in tensors:
            self.of[arg] = arg if arg in self.moved else self.root(arg.initValue) or arg
        self.visit(stmt.body)
        for arg, value in zip(stmt.iter_args, yielded(stmt.body), strict=False):
            is_new = isinstance(arg.type, TensorType) and arg not in self.moved
            if is_new and self.root(value) is not self.of[arg]:
                self.changed[arg] = None
        for arg, var in zip(stmt.iter_args, stmt.return_vars, strict=False):
            if isinstance(arg.type, TensorType):
                self.of[var] = self.of[arg]

    def branches(self, stmt: IfStmt) -> None:
        ways = [yielded(body) for body in (stmt.then_body, stmt.else_body)]
        for var, first, second in zip(stmt.return_vars, *ways, strict=False):
            if isinstance(var.type, TensorType):
                one, other = self.roots[var] = self.root(first), self.root(second)
                self.of[var] = one if one is not None and one is other else var


def written(call: Call) -> Expr:
    """Return the tensor that a call's result denotes: the one it views or writes to.

    Raises:
        EmitError: the call makes a new tensor, which a kernel cannot do.
    """
    source = aliased(call)
    if source is None:
        op, name = op_of(call), call.op.name
        reason = op.unsupported if op is not None and op.unsupported else "it makes a tensor"
        raise EmitError(
            f"{name} has no C++ form in a kernel: {reason}",
            hint=op.instead if op is not None else None,
            slug="emit-op",
        )
    return source


# --------------------------------------------------------------------------------------------
# Tiles
# --------------------------------------------------------------------------------------------


def tile_rows_cols(kind: TileType) -> tuple[int, int]:
    """Return the static rows and columns of a tile: all dimensions but the last are rows.

    Raises:
        EmitError: the shape is not constant.
    """
    shape = static_shape(kind)
    if shape is None:
        constant_sizes(kind.shape, "a tile")
        shape = ()
    rows = 1
    for dim in shape[:-1]:
        rows *= dim
    return (rows, shape[-1]) if shape else (1, 1)


def valid_sizes(kind: TileType) -> tuple[Expr, ...]:
    """Return the valid rows and columns that a tile's view gives, () if all of it is valid."""
    view = kind.tile_view
    if view is None or len(view.valid_shape) != len(kind.shape) or len(kind.shape) > 2:
        return ()
    return tuple(as_matrix(view.valid_shape))


def parameter_sizes(param: Var, text: Callable[[Expr], str]) -> Iterator[Size]:
    """Yield the sizes of a tensor parameter.

    Raises:
        EmitError: a dimension is -1, so its size cannot be looked up.
    """
    kind = param.type
    assert isinstance(kind, TensorType)
    from pypto._src.ir.text.printer import python_print

    for dim in kind.shape:
        if isinstance(dim, ConstInt):
            if dim.value < 0:
                raise EmitError(
                    f"tensor {param.name!r} {python_print(kind)} has a dimension without a name",
                    param.span,
                    hint='declare it: n = pl.dynamic("n"), and write n for -1',
                    slug="emit-shape",
                )
            yield dim.value
        else:
            yield text(dim)
