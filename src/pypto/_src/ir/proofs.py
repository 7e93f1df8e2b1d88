"""What a statement proves of itself, whatever program it stands in.

Nodes do not change, so a statement that was found to be right needs no second look: not by the next
rule, and not in the program that the next pass returns. That is so for assignments and evaluations
of scalar expressions and of calls of ops, where the operands are variables, constants and lists of
these. Their types agree, no call stands in another, and no function of the program is called.

Knows nothing of what follows from the program: where variables are defined, what functions take and
return, what the bodies of loops and branches hand on. The rules of `verify` look at that, and at
every statement that is not proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.ir.nodes import (
    BinaryExpr,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    IRNode,
    IterArg,
    MakeTuple,
    ShapedType,
    TensorType,
    TileType,
    Type,
    UnaryExpr,
    Var,
    Xor,
    dtype_of,
    same_type,
    scalar_type,
)
from pypto._src.ir.opdef import OFFSETS, PLAIN_KEYWORDS, op_of
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, Stmt, statements
from pypto._src.ir.walk import stmts_in

INDEX_TYPE: Final = scalar_type(DataType.INDEX)

_MOST_NODES: Final = 64
"""How large a scalar expression may be; in a larger one a part may stand very many times."""

_CONSTANTS: Final = frozenset({ConstInt, ConstFloat, ConstBool})


class Proofs:
    """The statements that are proved so far, and the combinations of operands that calls may have.

    A program has few of these beside its statements: whether a call has the type that its op's rule
    gives follows from the op, the types of the operands, the constants and the keywords. Of the
    memory of an operand no more than the space matters.
    """

    def __init__(self) -> None:
        self._proved: set[Stmt] = set()
        self._ssa: dict[tuple[int, ...], tuple[IRNode, ...]] = {}  # by the identities of the nodes
        self._left: dict[Function, Sequence[Stmt]] = {}
        self._calls: dict[tuple[Any, ...], Call] = {}  # a right one, which keeps what is in the key
        self._kinds: dict[Any, int] = {}
        self._numbers: dict[Var, int] = {}
        self._kept: list[Type] = []

    def left(self, function: Function) -> Sequence[Stmt]:
        """Return the statements of a function that are not proved, in the order of its text."""
        left = self._left.get(function)
        if left is None:
            proved = self._proved
            stmts = stmts_in(function.body)
            left = [stmt for stmt in stmts if stmt not in proved and not self._prove(stmt)]
            self._left[function] = left
        return left

    def is_ssa(self, function: Function) -> bool:
        """True if a function of the same parameters and statements was given to `add_ssa`."""
        return tuple(map(id, _content(function))) in self._ssa

    def add_ssa(self, function: Function) -> None:
        """Take in that a function is in SSA form, which no other function has a part in."""
        content = _content(function)
        self._ssa[tuple(map(id, content))] = content

    def _prove(self, stmt: Any) -> bool:
        if stmt.__class__ is AssignStmt:
            value = stmt.value
            if not _has_type_of_value(stmt.var.type, value.type):
                return False
        elif stmt.__class__ is EvalStmt:
            value = stmt.expr
        else:
            return False
        if self._is_right(value) if value.__class__ is Call else is_right_scalar(value):
            self._proved.add(stmt)
            return True
        return False

    def _is_right(self, call: Call) -> bool:
        """True if the operands of a call are no calls, and its type is what its op's rule gives."""
        numbers = self._numbers
        kind = self._kinds.get(id(call.type))
        parts: list[Any] = [call.op, self._number(call.type) if kind is None else kind]
        args: tuple[Any, ...] = call.args
        for value in args:
            cls = value.__class__
            if cls is Var or cls is IterArg:
                number = numbers.get(value)
                if number is None:
                    number = numbers[value] = self._number(value.type)
                parts.append(number)
            elif cls is MakeTuple:
                items = self._items(value.elements, call, len(parts) - 2)
                if items is None:
                    return False
                parts.append(items)
            elif cls in _CONSTANTS:
                parts.append((cls, value.value, id(value.type)))
            else:
                return False
        kwargs = call.kwargs
        if kwargs:
            values = kwargs.values()
            parts.append(tuple(kwargs))
            parts += values
            parts += map(type, values)  # True equals 1
        key = tuple(parts)
        try:
            return key in self._calls or self._check(call, key)
        except TypeError:  # a keyword without hash
            return False

    def _items(self, items: Sequence[Any], call: Call, at: int) -> tuple[Any, ...] | None:
        """Return what a type may depend on in the list that is operand ``at``, None if unknown."""
        parts: list[Any] = []
        for item in items:
            cls = item.__class__
            if cls is ConstInt and item.type is INDEX_TYPE:
                parts.append(item.value)
            elif cls in _CONSTANTS:
                parts.append((cls, item.value, id(item.type)))
            elif not is_right_scalar(item):
                return None
            else:  # a result may have this very size
                are_offsets = _are_offsets(call, at)
                parts.append((None, self._number(item.type)) if are_offsets else (id(item),))
        return tuple(parts)

    def _number(self, kind: Type) -> int:
        """Return the number of a type; those that agree but in the place in memory share it."""
        number = self._kinds.get(id(kind))
        if number is None:
            self._kept.append(kind)  # for the identities in what follows
            known_as = _known_as(kind)
            number = self._kinds.setdefault(known_as, len(self._kinds))
            self._kinds[id(kind)] = number
        return number

    def _check(self, call: Call, key: tuple[Any, ...]) -> bool:
        op = op_of(call)
        if op is None or not PLAIN_KEYWORDS.issuperset(map(type, call.kwargs.values())):
            return False
        if not all(map(_has_right_constants, call.args)):
            return False
        try:
            wanted = op.result_type(call.args, call.kwargs)
        except Exception:  # the rule TypeCheck comes to it again, and reports it
            return False
        if not same_type(wanted, call.type):
            return False
        self._calls[key] = call
        return True


def _content(function: Function) -> tuple[IRNode, ...]:
    """Return what a function holds, however its statements are grouped."""
    return *function.params, *statements(function.body)


def _has_type_of_value(a: Type, b: Type) -> bool:
    """True where a short look shows that two types agree, whatever their memory."""
    if a is b:
        return True
    if a.__class__ is not b.__class__:
        return False
    if not isinstance(a, ShapedType) or not isinstance(b, ShapedType):
        return False
    return a.shape is b.shape and a.dtype is b.dtype


def _known_as(kind: Type) -> tuple[Any, ...]:
    """Return what identifies a type, but for which bytes of its memory space it has."""
    if isinstance(kind, TileType):
        view: object = kind.tile_view
    elif isinstance(kind, TensorType):
        view = kind.tensor_view
    else:
        return (id(kind),)
    space = None if kind.memref is None else kind.memref.memory_space_
    return kind.__class__, id(kind.shape), id(kind.dtype), id(view), space


def _are_offsets(call: Call, at: int) -> bool:
    """True if no type depends on what is computed in the list that is operand ``at``."""
    op = op_of(call)
    return op is not None and at < len(op.operands) and op.operands[at].attr_type == OFFSETS


def is_right_constant(value: Expr) -> bool:
    """True unless ``value`` is a constant whose element type is of the other kind of number."""
    if value.type is INDEX_TYPE or value.__class__ not in _CONSTANTS:
        return True
    if value.__class__ is ConstInt:
        return not dtype_of(value).is_float()
    return value.__class__ is ConstBool or dtype_of(value).is_float()


def _has_right_constants(operand: Expr) -> bool:
    if operand.__class__ is Var:
        return True
    items = operand.elements if isinstance(operand, MakeTuple) else (operand,)
    return all(map(is_right_constant, items))


def is_right_scalar(root: Expr) -> bool:
    """True if an expression is small, has no calls, and operands of the types that they need."""
    stack = [root]
    for _ in range(_MOST_NODES):
        node = stack.pop()
        if node.__class__ is Var or node.__class__ is IterArg:
            pass
        elif isinstance(node, BinaryExpr):
            if node.left.type is not node.right.type or isinstance(node, Xor):
                return False
            stack += (node.left, node.right)
        elif isinstance(node, UnaryExpr):
            stack.append(node.operand)
        elif node.__class__ not in _CONSTANTS or not is_right_constant(node):
            return False
        if not stack:
            return True
    return False
