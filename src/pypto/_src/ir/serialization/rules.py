"""What constructors guarantee of nodes beyond the kinds of their fields: checked when reading.

Names are checked when writing, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from pypto._src.diagnostics import shortened
from pypto._src.dtypes import DataType
from pypto._src.errors import SerializeError, with_article
from pypto._src.ir.array_types import MEMREF_NAMES, MemRef, ShapedType, TensorView, TileView
from pypto._src.ir.exprs import (
    BinaryExpr,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    GlobalVar,
    MakeTuple,
    Op,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
)
from pypto._src.ir.name_rules import (
    is_file_name,
    is_function_name,
    is_op_name,
    is_program_name,
    is_variable_name,
)
from pypto._src.ir.node_base import Node
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    OpStmts,
    Program,
    ScopeStmt,
)
from pypto._src.ir.types import (
    MemRefType,
    ScalarType,
    TupleType,
    Type,
    same_type,
    scalar_type,
)


def _is_scalar(node: Any) -> bool:
    return isinstance(node.type, ScalarType)


def _are_integers(values: Sequence[Expr]) -> bool:
    for value in values:
        kind = value.type
        if kind is not _INDEX and not (isinstance(kind, ScalarType) and kind.dtype.is_int()):
            return False
    return True


def _has_types(node: MakeTuple) -> bool:
    kind = node.type
    if not isinstance(kind, TupleType) or len(kind.types) != len(node.elements):
        return False
    pairs = zip(kind.types, node.elements, strict=True)
    return all(part is item.type or same_type(part, item.type) for part, item in pairs)


def _has_item(node: TupleGetItemExpr) -> bool:
    kind = node.tuple.type
    if not isinstance(kind, TupleType) or not 0 <= node.index < len(kind.types):
        return False
    part = kind.types[node.index]
    return part is node.type or same_type(part, node.type)


def _is_memref(node: MemRef) -> bool:
    named = node.name == f"{MEMREF_NAMES[node.memory_space_]}{node.id_}"
    return named and node.size_ >= 0 and isinstance(node.type, MemRefType)


def _names_agree(program: Program) -> bool:
    names = [function.name for function in program.functions_]
    ordered = all(names) and names == sorted(set(names))
    return ordered and names == [op.name for op in program.globals_.values()] == list(
        program.globals_
    )


RULES: Final[tuple[tuple[type[Node], Callable[[Any], bool], str], ...]] = (
    (ConstInt, lambda n: -(1 << 63) <= n.value < 1 << 63, "holds a signed 64-bit value"),
    (ConstInt, _is_scalar, "has a scalar type"),
    (ConstFloat, _is_scalar, "has a scalar type"),
    (ConstBool, lambda n: _is_scalar(n) and n.type.dtype is DataType.BOOL, "has type BOOL"),
    (BinaryExpr, _is_scalar, "has a scalar type"),
    (UnaryExpr, _is_scalar, "has a scalar type"),
    (ForStmt, lambda n: n.stages > 0, "has at least one stage"),
    (ShapedType, lambda n: _are_integers(n.shape), "has integers as dimensions"),
    (TensorView, lambda n: _are_integers(n.stride), "has integers as strides"),
    (TileView, lambda n: _are_integers(n.valid_shape), "has integers as valid sizes"),
    (TileView, lambda n: _are_integers(n.stride), "has integers as strides"),
    (
        TileView,
        lambda n: n.start_offset is None or _are_integers((n.start_offset,)),
        "has an integer as offset",
    ),
    (MemRef, _is_memref, "has a MemRefType, a size, and a name that follows from space and number"),
    (MakeTuple, _has_types, "has the type of each element"),
    (TupleGetItemExpr, _has_item, "names an item of a tuple, with its type"),
    (
        OpStmts,
        lambda n: all(isinstance(s, AssignStmt | EvalStmt) for s in n.stmts),
        "holds assignments and evaluations",
    ),
    (
        Function,
        lambda n: len(n.params) == len(n.param_directions),
        "has a direction for each parameter",
    ),
    (ScopeStmt, lambda n: is_program_name(n.name_hint), "has an identifier as name, or none"),
    (Program, _names_agree, "has functions in name order, each name once"),
)

_INDEX: Final = scalar_type(DataType.INDEX)

_NAMES: Final[tuple[tuple[type[Node], Callable[[str], bool], str], ...]] = (
    (Var, is_variable_name, "letters, digits, _, $ and ."),
    (GlobalVar, is_function_name, "an identifier"),
    (Op, is_op_name, "identifiers with dots between them"),
    (Function, is_function_name, "an identifier"),
    (Program, is_program_name, "an identifier"),
)
"""The rule for names, by the first class that fits, for writing and for reading."""


_NAME_OF: Final[dict[type[Node], tuple[Callable[[str], bool], str] | None]] = {}
"""The row of `_NAMES` for each class seen so far, None for classes without names."""


def check_name(node: Any) -> None:
    """Raise SerializeError if a node has a name that programs from outside may not have."""
    cls = cast("type[Node]", type(node))
    if cls not in _NAME_OF:
        rows = ((holds, wanted) for base, holds, wanted in _NAMES if issubclass(cls, base))
        _NAME_OF[cls] = next(rows, None)
    row = _NAME_OF[cls]
    if row is None:
        return
    holds, wanted = row
    if not holds(node.name):
        raise _misnamed(with_article(cls.__name__), node.name, wanted)
    if cls is Program and node.entry is not None and not holds(node.entry):
        raise _misnamed("the entry of a program", node.entry, wanted)


def _misnamed(what: str, name: str, wanted: str) -> SerializeError:
    return SerializeError(
        f"{what} is called {shortened(name, _LONGEST_SHOWN)}, wanted {wanted}",
        hint="give it another name",
    )


def check_file(name: str) -> None:
    if not is_file_name(name):
        raise SerializeError(
            f"a file is called {shortened(name, _LONGEST_SHOWN)}, which has control characters"
        )


_LONGEST_SHOWN: Final = 60


VALUES: Final = (Type, TensorView, TileView, ConstInt, ConstFloat, ConstBool)
"""Classes whose objects are distinguished by their contents alone."""
