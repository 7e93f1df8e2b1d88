"""What was verified of a program: of its functions, and of the forms of their statements.

A pipeline passes it on with the program, so that after a pass that changes little, little is
verified again. Assignments and evaluations of scalar expressions, and of calls of ops on variables,
constants, lists of these and, before FlattenCallExpr, such calls, are right or wrong in any
program: their types agree, and no function of the program is called. A function has few forms of
calls compared with its statements, so each form is checked once: a call is right if its type is the
one that its form has (`ir.call_forms`). Of the memory of an operand only the space matters.

Knows nothing that follows from the program: what functions take and return, which values loop
bodies and branches pass on. It gets the variables in scope from the rule SSAVerify, which goes
through the program, and looks each operand up there along with its part of the form.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import is_
from typing import Any, Final, TypeAlias

from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import (
    ShapedType,
    TensorType,
    TileType,
    dtype_of,
    same_dims,
    same_valid_part,
    symbols_of_type,
)
from pypto._src.ir.call_forms import FORMS, constant_part, keywords_part, tuple_part
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import (
    CONSTANTS,
    BinaryExpr,
    Call,
    ConstBool,
    ConstInt,
    Expr,
    IterArg,
    MakeTuple,
    UnaryExpr,
    Var,
    Xor,
)
from pypto._src.ir.interning import unique
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import (
    SEQUENCES,
    AssignStmt,
    EvalStmt,
    Function,
    Stmt,
    statements,
)
from pypto._src.ir.traversal.queries import uses
from pypto._src.ir.types import ScalarType, Type, same_type, scalar_type
from pypto._src.ir.unchecked import with_memref
from pypto._src.records import NamedTuple

INDEX_TYPE: Final = scalar_type(DataType.INDEX)

_MOST_NODES: Final = 64
"""The most nodes of a scalar expression; a larger one may share a part very many times."""

_DEEPEST: Final = 4
"""The deepest nesting of calls that can be part of a form."""

_VARIABLES: Final = frozenset({Var, IterArg})
_NOTHING: Final = 0
"""The part in place of a type where there is no variable."""

Part: TypeAlias = Any
"""The part of a form for an operand, a type or keywords; see `ir.call_forms.key_of`."""

Form: TypeAlias = tuple[Part, ...]
"""The op of a call, the types of the variable and of the call, its keywords and its operands."""


class Known(dict[Any, Part]):
    """The variables in scope at a statement, each with its part of a form; constants are too."""

    __slots__ = ()

    def __missing__(self, value: Any) -> Part:
        return constant_part(value)


class Look(NamedTuple):
    """The result of going through a function once; see `ir.verify.ssa`."""

    left: Sequence[Stmt]
    """Those of `doubtful`, and those with a call nested in another, in the order of the text.
    """

    doubtful: Sequence[Stmt]
    """The statements that are not right on their own, in the order of the text."""

    wrong: Sequence[Any]
    """Functions that make the findings of the rule SSAVerify."""

    forms: Collection[Stmt]
    """One statement for each form of calls, of those that are not in `doubtful`."""

    in_place: bool
    """True if no yield, return or jump needs a longer look, as the rule Structure takes one."""


class VerificationCache:
    """What was found so far about functions and forms of statements.

    In a form a type is represented by its id, and equal plain types by the same id. Types that
    differ only in their memory reference share one part for each memory space.
    """

    def __init__(self) -> None:
        self._looks: dict[Function, Look] = {}
        self._right: dict[tuple[int, int], tuple[Function, Look]] = {}  # by `_ends`
        self._forms: set[Form] = set()  # those that are right
        self._reads: dict[Expr, Collection[Var]] = {}  # of scalar expressions that are right
        # By the ids of types, which `_kept` keeps alive.
        self._parts: dict[int, Part] = {}
        self._kept: list[object] = []
        self._bare: dict[tuple[Any, ...], int] = {}  # the parts of types without memory
        # By the part of a type.
        self._symbols: dict[Part, Collection[Var]] = {}  # the variables in it, if any
        self._nowhere: dict[Part, Part] = {}  # without memory, for types in their usual memory

    # ----- functions ------------------------------------------------------------------------

    def found_of(self, function: Function) -> Look | None:
        """Return what was found for a function, or for one with the same content, None if nothing.

        The content is the parameters and the statements, however these are grouped.
        """
        found = self._looks.get(function)
        if found is None:
            same = self._right.get(_ends(function))
            if same is not None and _have_same_content(function, same[0]):
                found = self._looks[function] = same[1]
        return found

    def look_at(
        self, function: Function, look: Callable[[Function, VerificationCache], Look]
    ) -> Look:
        """Return what was found for a function; if nothing was, what ``look`` finds."""
        found = self.found_of(function)
        if found is None:
            found = self._looks[function] = look(function, self)
            if not found.wrong:
                self._right[_ends(function)] = function, found
        return found

    # ----- statements -----------------------------------------------------------------------

    def pass_over(
        self,
        stmts: Sequence[Any],
        begin: int,
        known: Known,
        gone: set[Var],
        nested: list[Stmt],
        seen: dict[Any, Stmt],
    ) -> int:
        """Return the index of the first statement from ``begin`` on that needs a closer look.

        Those before it are right and read variables in scope. Their definitions are added to
        ``known``; these were not in scope before, nor are they among those out of scope, ``gone``.
        Statements with a call nested in another are added to ``nested``; ``seen`` gets the first
        statement of each form of calls.
        """
        forms, parts, symbols = self._forms, self._parts, self._symbols
        part_of = known.__getitem__
        for at in range(begin, len(stmts)):
            stmt = stmts[at]
            if stmt.__class__ is AssignStmt:
                var, value = stmt.var, stmt.value
                declared = var.type
                kind = parts.get(id(declared)) or self.part(declared)
                if var in known or (gone and var in gone):
                    return at
                if symbols and not all(map(known.__contains__, symbols.get(kind, ()))):
                    return at
            elif stmt.__class__ is EvalStmt:
                var, value, declared, kind = None, stmt.expr, None, _NOTHING
            else:
                return at
            if value.__class__ is Call:
                named, given = value.kwargs, value.type
                result = kind if given is declared else parts.get(id(given)) or self.part(given)
                words = keywords_part(named) if named else ()
                form = value.op, kind, result, words, *map(part_of, value.args)
                if form not in seen:
                    if form not in forms:
                        if None in form:
                            form = self._form(value, kind, known, _DEEPEST)
                        if form is None or not self._is_right(value, var, form):
                            return at
                        if Call in map(type, value.args):
                            nested.append(stmt)
                    seen[form] = stmt
            elif not self._is_right_scalar(value, var, known):
                return at
            if var is not None:
                known[var] = kind
        return len(stmts)

    def proves(self, stmt: Any) -> bool:
        """True if a statement is right, whatever is in scope."""
        if stmt.__class__ is AssignStmt:
            var, value = stmt.var, stmt.value
        elif stmt.__class__ is EvalStmt:
            var, value = None, stmt.expr
        else:
            return False
        if value.__class__ is not Call:
            return self._is_right_scalar(value, var, None)
        form = self._form(value, _NOTHING if var is None else self.part(var.type), None, 0)
        return form is not None and self._is_right(value, var, form)

    def _is_right(self, call: Call, var: Var | None, form: Form) -> bool:
        """True if the types of a call and of the variable that takes its value are right."""
        if form in self._forms:
            return True
        op, kind, result, words, *operands = form
        if self._nowhere and operands:
            nowhere = self._nowhere.get
            kind, result, *operands = [nowhere(part, part) for part in (kind, result, *operands)]
        known = FORMS.get((id(op), *operands, *words))
        if (
            known is None  # not met in this process, without memory
            or id(known.type) != result
            or (kind != result and kind != _NOTHING)
            or (operands and self._nowhere and op.names_spaces)
            or not all(map(_has_right_constants, call.args))
        ) and not has_right_type(call, var):
            return False
        self._forms.add(form)
        return True

    def _is_right_scalar(self, value: Expr, var: Var | None, known: Known | None) -> bool:
        if var is not None and not _agree(var.type, value.type):
            return False
        reads = self._reads.get(value)
        if reads is None:
            found = variables_of_scalar(value)
            if found is None:
                return False
            reads = self._reads[value] = found
        return known is None or all(map(known.__contains__, reads))

    # ----- forms ----------------------------------------------------------------------------

    def _form(self, call: Call, kind: Part, known: Known | None, deepest: int) -> Form | None:
        """Return the form of a call whose value goes to a variable of type ``kind``.

        None if an operand is not in scope, or cannot be part of a form. Without ``known`` all
        variables are in scope. At most ``deepest`` calls may be nested.
        """
        words = keywords_part(call.kwargs)
        if words is None or op_of(call) is None:
            return None
        parts: list[Part] = [call.op, kind, self.part(call.type), words]
        for at, arg in enumerate(call.args):
            part = self._operand(arg, call, at, known, deepest)
            if part is None:
                return None
            parts.append(part)
        return tuple(parts)

    def _operand(
        self, value: Any, call: Call, at: int, known: Known | None, deepest: int
    ) -> Part | None:
        """Return the part of operand ``at`` in a call's form, None if it has none."""
        if value.__class__ in _VARIABLES:
            return self.part(value.type) if known is None else known.get(value)
        if value.__class__ is MakeTuple:
            for item in value.elements:
                if item.__class__ not in CONSTANTS and not self._is_right_scalar(item, None, known):
                    return None
            self._kept.append(value)  # sizes are in the form by their ids
            return tuple_part(call.op, at, value)
        if value.__class__ is Call and deepest:
            form = self._form(value, _NOTHING, known, deepest - 1)
            return form if form is not None and self._is_right(value, None, form) else None
        return constant_part(value)

    def part(self, kind: Type) -> Part:
        """Return the part that represents a type in forms."""
        part = self._parts.get(id(kind))
        if part is None:
            part = self._parts[id(kind)] = self._part_of_new(kind)
            self._kept.append(kind)
        return part

    def _part_of_new(self, kind: Type) -> Part:
        if kind.__class__ is ScalarType:
            scalar: Any = kind
            return id(scalar_type(scalar.dtype))
        if not isinstance(kind, TileType | TensorType):
            return self._bare_part(kind, kind)
        view = kind.tile_view if isinstance(kind, TileType) else kind.tensor_view
        key = kind.__class__, id(kind.shape), id(kind.dtype), id(view)
        bare = self._bare.get(key)
        if bare is None:
            bare = self._bare[key] = self._bare_part(kind, unique(with_memref(kind, None)))
        if kind.memref is None:
            return bare
        part = bare, kind.memref.memory_space_.value
        if _is_in_usual_memory(kind):
            self._nowhere[part] = bare
        if bare in self._symbols:
            self._symbols[part] = self._symbols[bare]
        return part

    def _bare_part(self, kind: Type, bare: Type) -> int:
        symbols = symbols_of_type(kind)
        if symbols:
            self._symbols[id(bare)] = tuple(uses(symbols))
        self._kept.append(bare)
        return id(bare)

    def symbols_of(self, part: Part) -> Collection[Var]:
        """Return the variables in the types that a part represents."""
        return self._symbols.get(part, ())


def has_right_type(call: Call, var: Var | None) -> bool:
    """True if the type of a call is that of its form, and the variable's agrees with it."""
    op = op_of(call)
    if op is None or not all(map(_has_right_constants, call.args)):
        return False
    try:
        wanted = op.result_type(call.args, call.kwargs)
    except Exception:  # the rule TypeCheck meets it again, and reports it
        return False
    if not same_type(wanted, call.type):
        return False
    return var is None or _agree(var.type, call.type)


def _ends(function: Function) -> tuple[int, int]:
    """Return the identities of the first and the last statement of a function."""
    first: Any = function.body
    last: Any = first
    while first.__class__ in SEQUENCES and first.stmts:
        first = first.stmts[0]
    while last.__class__ in SEQUENCES and last.stmts:
        last = last.stmts[-1]
    return id(first), id(last)


def _have_same_content(one: Function, other: Function) -> bool:
    """True for functions with the same parameters and statements, however these are grouped."""
    a, b = statements(one.body), statements(other.body)
    if len(a) != len(b) or len(one.params) != len(other.params):
        return False
    return all(map(is_, a, b)) and all(map(is_, one.params, other.params))


def _agree(a: Type, b: Type) -> bool:
    """True if a quick check shows that two types agree, whatever their memory."""
    if a is b:
        return True
    if a.__class__ is not b.__class__:
        return False
    if not isinstance(a, ShapedType) or not isinstance(b, ShapedType):
        return False
    if a.__class__ is TileType and not same_valid_part(a, b):
        return False
    return a.dtype is b.dtype and (a.shape is b.shape or same_dims(a.shape, b.shape))


def _is_in_usual_memory(kind: Type) -> bool:
    """True for a tensor in global memory and a plain tile in Vec.

    All ops accept these, except some with `OpDef.names_spaces`; operands in unknown memory are
    assumed to be such.
    """
    if not isinstance(kind, ShapedType) or kind.memref is None:
        return False
    if isinstance(kind, TileType):
        return kind.memref.memory_space_ is MemorySpace.Vec and kind.tile_view is None
    return kind.memref.memory_space_ is MemorySpace.DDR


def is_right_constant(value: Expr) -> bool:
    """True unless ``value`` is an int constant of a float type, or the reverse."""
    if value.type is INDEX_TYPE or value.__class__ not in CONSTANTS:
        return True
    if value.__class__ is ConstInt:
        return not dtype_of(value).is_float()
    return value.__class__ is ConstBool or dtype_of(value).is_float()


def _has_right_constants(operand: Expr) -> bool:
    if operand.__class__ is Var:
        return True
    items = operand.elements if isinstance(operand, MakeTuple) else (operand,)
    return all(map(is_right_constant, items))


def variables_of_scalar(root: Expr) -> Sequence[Var] | None:
    """Return what an expression reads, None if it is large, has calls, or may have wrong types."""
    found: list[Var] = []
    stack: list[Any] = [root]
    for _ in range(_MOST_NODES):
        node = stack.pop()
        if node.__class__ is Var:  # the usual case
            found.append(node)
        elif isinstance(node, BinaryExpr):
            if node.left.type is not node.right.type or isinstance(node, Xor):
                return None
            stack += (node.left, node.right)
        elif node.__class__ in CONSTANTS:
            if node.type is not INDEX_TYPE and not is_right_constant(node):
                return None
        elif isinstance(node, UnaryExpr):
            stack.append(node.operand)
        elif node.__class__ is IterArg:
            found.append(node)
        else:
            return None
        if not stack:
            return found
    return None
