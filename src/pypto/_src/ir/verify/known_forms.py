"""What a statement proves of itself, whatever program it stands in.

That is so for assignments and evaluations of scalar expressions and of calls of ops, where the
operands are variables, constants, lists of these and, before FlattenCallExpr, such calls: their
types agree, and no function of the program is called. A program has few forms of calls beside its
statements, so a form is looked at once: whether a call has the type that its op's rule gives
follows from the op, the types of operands and result, the constants and the keywords. Of the memory
of an operand no more than the space matters. All that is part of a form has a number, so that
comparing forms is comparing tuples of small numbers.

Of what no program owns the number is good for the whole process, and so is what is found of a form
that is made of such alone: types without symbols, numbers, plain keywords. See `Shared`.

Knows nothing of what follows from the program: what functions take and return, what the bodies of
loops and branches hand on. Where variables are known it is told, and asks of each operand along
with its number; `verify_ssa` goes through the program and tells it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from operator import is_
from typing import Any, ClassVar, Final, TypeAlias

from pypto._src.diagnostics import UNKNOWN_SPAN
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
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import (
    CONSTANTS,
    BinaryExpr,
    Call,
    ConstBool,
    ConstInt,
    Expr,
    GlobalVar,
    IterArg,
    MakeTuple,
    UnaryExpr,
    Var,
    Xor,
)
from pypto._src.ir.interning import TYPES, structure
from pypto._src.ir.node_base import Keywords
from pypto._src.ir.opdef import OFFSETS, OpDef, op_of
from pypto._src.ir.result_type_cache import PLAIN_KEYWORDS
from pypto._src.ir.stmts import SEQUENCES, AssignStmt, EvalStmt, Function, Stmt, statements
from pypto._src.ir.traversal.queries import uses
from pypto._src.ir.types import ScalarType, Type, UnknownType, same_type, scalar_type
from pypto._src.records import NamedTuple

INDEX_TYPE: Final = scalar_type(DataType.INDEX)

_MOST_NODES: Final = 64
"""How large a scalar expression may be; in a larger one a part may stand very many times."""

_DEEPEST: Final = 4
"""How many calls inside each other are proved."""

_VARIABLES: Final = frozenset({Var, IterArg})
_NOTHING: Final = 0
"""In place of a number: where there is no variable, or no keyword."""

Known: TypeAlias = dict[Any, int]
"""The operands that are known at a place: variables and constants, each with its number."""


class Look(NamedTuple):
    """What going through a function once has shown; see `verify_ssa`."""

    left: Sequence[Stmt]
    """Those of `doubtful`, and those in which a call stands in another, in the order of the text.
    """

    doubtful: Sequence[Stmt]
    """The statements that prove nothing of themselves, in the order of the text."""

    wrong: Sequence[Any]
    """What makes each finding of the rule SSAVerify."""

    forms: Collection[Stmt]
    """Of the statements that are not in `left` one for each form of calls with operands."""

    in_place: bool
    """True if no yield, return or jump needs a longer look, as the rule Structure takes one."""


MOST_SHARED: Final = 8192
"""How many forms, and numbers of their parts, are remembered for the process."""


class Shared:
    """What is found of forms that belong to no program, and the numbers of their parts.

    Holds ops, numbers, element types, enumerations and texts of keywords; and plain types
    (`ir.unique`), keywords, and at no place in a text lists of constants and calls without
    operands, to know them again by identity. When it is full the next run begins another one.
    Whether a form is in it is never more than a matter of time, and a thread that adds what another
    one is adding adds the same.
    """

    current: ClassVar[Shared]

    def __init__(self) -> None:
        self.forms: set[tuple[Any, ...]] = set()  # those that are right
        self.alone: set[Expr] = set()  # right calls without operands
        self._met_alone: set[tuple[Any, ...]] = set()  # the forms of these
        self.numbers: dict[Any, int] = {}
        self.ids: dict[int, int] = {}  # as in `Proofs`
        self.types: dict[tuple[Any, ...], int] = {}  # those of plain types, by `_known_as`
        self.nowhere: dict[int, int] = {}  # as in `Proofs`
        self.kept: list[object] = []  # what `ids` names, and whose parts `types` names
        self._next = count(1)

    @staticmethod
    def with_room() -> Shared:
        """Return what this process knows, or a new one if that is full."""
        found = Shared.current
        sizes = len(found.forms) + len(found.numbers), len(found.types), len(found.ids)
        if max(sizes) >= MOST_SHARED:
            found = Shared.current = Shared()
        return found

    def number(self, key: Any) -> int | None:
        """Return the number of what ``key`` is, a positive one; None for a new one without room."""
        number = self.numbers.get(key)
        if number is None and len(self.numbers) < MOST_SHARED:
            number = self.numbers.setdefault(key, next(self._next))
        return number

    def add(self, form: tuple[Any, ...]) -> None:
        """Remember a form that is right, if there is room."""
        if len(self.forms) < MOST_SHARED:
            self.forms.add(form)

    def add_type(self, key: tuple[Any, ...], kind: Type, number: int) -> None:
        """Remember the number of a type whose parts are those of ``kind``, a plain one."""
        if len(self.types) < MOST_SHARED:
            self.kept.append(kind)
            self.types[key] = number

    def add_part(self, part: object, number: int) -> None:
        """Remember the number of something plain by its identity."""
        if len(self.ids) < MOST_SHARED:
            self.kept.append(part)
            self.ids[id(part)] = number

    def add_alone(self, form: tuple[Any, ...], call: Call) -> None:
        """Remember a right call without operands, if it is the first one of its form."""
        if call.span is UNKNOWN_SPAN and form in self.forms and form not in self._met_alone:
            self.alone.add(call)
            self._met_alone.add(form)


Shared.current = Shared()


class _Known(dict[Any, Any]):
    """What is known at a place. Of a list of constants that was met it has the number, too."""

    __slots__ = ("_ids",)

    def __init__(self, constants: Known, *ids: dict[int, int]) -> None:
        super().__init__(constants)
        self._ids = ids

    def __missing__(self, value: Any) -> int | None:
        if value.__class__ is not MakeTuple:
            return None
        own, common = self._ids
        key = id(value.elements)
        return own.get(key) or common.get(key)


class Proofs:
    """The forms that are right, and the numbers of what forms are made of.

    A number of a variable is that of its type. Types that agree but in the place in memory share
    one, and so do equal constants and equal lists of constants. Numbers that are good in this run
    alone are negative.
    """

    def __init__(self) -> None:
        self._shared = Shared.with_room()
        self._looks: dict[Function, Look] = {}
        self._right: dict[tuple[int, int], tuple[Function, Look]] = {}  # by `_ends`
        self._forms: set[tuple[Any, ...]] = set()
        self._alone: set[Expr] = set()  # right calls without operands
        self._numbers: dict[Any, int] = {}
        # By the identity of a type, of a list's elements, of keywords; `_kept` keeps them.
        self._ids: dict[int, int] = {}
        self._kept: list[object] = []
        # By the number of a type.
        self._symbols: dict[int, Collection[Var]] = {}  # the variables in it, if there are some
        self._nowhere: dict[int, int] = {}  # that of the same one in no memory, if in the usual
        self._constants: Known = {}
        self._reads: dict[Expr, Collection[Var]] = {}  # of scalar expressions that are right

    # ----- functions ------------------------------------------------------------------------

    def found_of(self, function: Function) -> Look | None:
        """Return what was found of a function, or of one with the same content, None if nothing.

        Content are the parameters and the statements, however these are grouped.
        """
        found = self._looks.get(function)
        if found is None:
            same = self._right.get(_ends(function))
            if same is not None and _have_same_content(function, same[0]):
                found = self._looks[function] = same[1]
        return found

    def look_at(self, function: Function, look: Callable[[Function, Proofs], Look]) -> Look:
        """Return what was found of a function; if nothing was, what ``look`` finds."""
        found = self.found_of(function)
        if found is None:
            found = self._looks[function] = look(function, self)
            if not found.wrong:
                self._right[_ends(function)] = function, found
        return found

    # ----- statements -----------------------------------------------------------------------

    def everywhere(self) -> Known:
        """Return what is known where a function begins: the constants met so far."""
        return _Known(self._constants, self._ids, self._shared.ids)

    def pass_over(
        self,
        stmts: Sequence[Any],
        begin: int,
        known: Known,
        gone: set[Var],
        nested: list[Stmt],
        seen: dict[Any, Stmt],
    ) -> int:
        """Return the number of the first statement from ``begin`` on that needs a longer look.

        Those before it are right and read what is known. What they define is taken into ``known``;
        it was not known before, nor is it among the variables that are ``gone``. Those in which a
        call stands in another are added to ``nested``; of the others ``seen`` has the first one of
        each form of calls.
        """
        forms, ids, symbols = self._forms, self._ids, self._symbols
        common, alone, met = self._shared.forms, self._shared.alone, self._alone
        number_of = known.__getitem__
        for at in range(begin, len(stmts)):
            stmt = stmts[at]
            if stmt.__class__ is AssignStmt:
                var, value = stmt.var, stmt.value
                declared = var.type
                kind = ids.get(id(declared)) or self.number(declared)
                if var in known or (gone and var in gone):
                    return at
                if symbols and not all(map(known.__contains__, symbols.get(kind, ()))):
                    return at
            elif stmt.__class__ is EvalStmt:
                value = stmt.expr
                if value in alone or value in met:  # half of a kernel with flags
                    continue
                if value.__class__ is Call and not value.args:
                    if self._is_right_alone(value):
                        continue
                    return at
                var, declared, kind = None, None, _NOTHING
            else:
                return at
            if value.__class__ is Call:
                op, named = value.op, value.kwargs
                if op.__class__ is GlobalVar:
                    return at
                args, given = value.args, value.type
                result = kind if given is declared else ids.get(id(given))
                words = ids.get(id(named)) if named else _NOTHING
                if len(args) == 2:  # as most have: half the time of the other way
                    one, other = args
                    form = op, kind, result, words, number_of(one), number_of(other)
                else:
                    form = op, kind, result, words, *map(number_of, args)
                if form not in seen:
                    if form not in common and form not in forms:
                        if None in form:
                            form = self._completed(form, value, known, _DEEPEST)
                        if form is None or not self._is_right(value, var, form):
                            return at
                        if Call in map(type, args):
                            nested.append(stmt)
                    seen[form] = stmt
            elif not self._is_right_scalar(value, var, known):
                return at
            if var is not None:
                known[var] = kind
        return len(stmts)

    def proves(self, stmt: Any) -> bool:
        """True if a statement is right, whatever is known where it stands."""
        if stmt.__class__ is AssignStmt:
            var, value = stmt.var, stmt.value
        elif stmt.__class__ is EvalStmt:
            var, value = None, stmt.expr
        else:
            return False
        if value.__class__ is Call:
            if var is None and not value.args:
                return self._is_right_alone(value)
            if value.op.__class__ is GlobalVar:
                return False
            kind = _NOTHING if var is None else self.number(var.type)
            outline = value.op, kind, None, None, *map(self._constants.get, value.args)
            form = self._completed(outline, value, None, 0)
            return form is not None and self._is_right(value, var, form)
        return self._is_right_scalar(value, var, None)

    def _is_right_alone(self, call: Call) -> bool:
        """True for a right call without operands; next time it is known by identity."""
        named = self._number_of_keywords(call.kwargs)
        if named is None:
            return False
        form = call.op, _NOTHING, self.number(call.type), named
        if not self._is_right(call, None, form):
            return False
        self._alone.add(call)
        self._shared.add_alone(form, call)
        return True

    def _completed(
        self, outline: tuple[Any, ...], call: Call, known: Known | None, deepest: int
    ) -> tuple[Any, ...] | None:
        """Return a call's form, of which ``outline`` has None for what has no number yet.

        None if an operand is not known, or proves nothing. Without ``known`` all variables are. At
        most ``deepest`` calls may be inside each other.
        """
        parts = [*outline]
        if parts[2] is None:
            parts[2] = self.number(call.type)
        if parts[3] is None:
            parts[3] = self._number_of_keywords(call.kwargs)
        for at, arg in enumerate(call.args):
            if parts[at + 4] is None:
                number = self._number_of_operand(arg, call, at, known, deepest)
                if number is None:
                    return None
                parts[at + 4] = number
        return None if parts[3] is None else tuple(parts)

    def _is_right(self, call: Call, var: Var | None, form: tuple[Any, ...]) -> bool:
        """True if the type of a call fits, and that of the variable which takes its value."""
        if form in self._shared.forms or form in self._forms:
            return True
        op = op_of(call)
        if op is None:
            return False
        if not self._is_right_nowhere(op, form) and not self._has_right_type(op, call, var):
            return False
        self._forms.add(form)
        if min(form[1:]) >= _NOTHING:
            self._shared.add(form)
        return True

    def _is_right_nowhere(self, op: OpDef[..., Any], form: tuple[Any, ...]) -> bool:
        """True if that is right without places in memory, which do not matter to the op."""
        if op.placed:
            return False
        own, common = self._nowhere, self._shared.nowhere
        nowhere = tuple([own.get(part) or common.get(part, part) for part in form])
        return nowhere in self._shared.forms or nowhere in self._forms

    def _has_right_type(self, op: OpDef[..., Any], call: Call, var: Var | None) -> bool:
        if not PLAIN_KEYWORDS.issuperset(map(type, call.kwargs.values())):
            return False
        if not all(map(_has_right_constants, call.args)):
            return False
        try:
            wanted = op.result_type(call.args, call.kwargs)
        except Exception:  # the rule TypeCheck comes to it again, and reports it
            return False
        if not same_type(wanted, call.type):
            return False
        return var is None or _agree(var.type, call.type)

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

    # ----- numbers --------------------------------------------------------------------------

    def number(self, kind: Type) -> int:
        """Return the number of a type; those that agree but in the place in memory share it."""
        me = id(kind)
        number = self._ids.get(me)
        if number is None:
            number = self._shared.ids.get(me)
            if number is None:
                key = _known_as(kind)
                number = self._shared.types.get(key) or self._numbers.get(key)
                if number is None:
                    number = self._number_of_type(kind, key)
                self._kept.append(kind)
            self._ids[me] = number
        return number

    def _number_of_type(self, kind: Type, key: tuple[Any, ...]) -> int:
        plain = _plain_key(kind)
        number = self._number_of(key, plain)
        if number < 0:
            self._describe(kind, key, number)
        elif plain is not None:
            if _is_in_usual_memory(kind):
                nowhere = self._shared.number((*plain[:-1], None))
                if nowhere is not None:
                    self._shared.nowhere[number] = nowhere
            keeper = _keeper_of_parts(kind, plain)
            if keeper is not None:
                self._shared.add_type(key, keeper, number)
                if _known_as(keeper) == key:  # else the number is that of one in some memory
                    self._shared.add_part(keeper, number)
        return number

    def symbols_of(self, number: int) -> Collection[Var]:
        """Return the variables in the types that have a number."""
        return self._symbols.get(number, ())

    def _describe(self, kind: Type, key: tuple[Any, ...], number: int) -> None:
        symbols = symbols_of_type(kind)
        if symbols:
            self._symbols[number] = tuple(uses(symbols))
        if _is_in_usual_memory(kind):
            nowhere = self._numbers.get((*key[:-1], None))
            if nowhere is not None:
                self._nowhere[number] = nowhere

    def _number_of(self, key: Any, plain: Any) -> int:
        """Return the number of what ``key`` is in this run.

        ``plain`` is what it is in any program, None if it belongs to this one.
        """
        number = self._numbers.get(key)
        if number is None:
            number = None if plain is None else self._shared.number(plain)
            number = self._numbers[key] = -1 - len(self._numbers) if number is None else number
        return number

    def _number_of_keywords(self, named: Mapping[str, Any]) -> int | None:
        if not named:
            return _NOTHING
        number = self._ids.get(id(named)) or self._shared.ids.get(id(named))
        if number is None:
            values = named.values()
            classes = [*map(type, values)]
            key = dict, *named, *values, *classes  # True equals 1
            try:
                number = self._number_of(key, key if PLAIN_KEYWORDS.issuperset(classes) else None)
            except TypeError:  # a keyword without hash
                return None
            self._kept.append(named)
            if number > 0 and named.__class__ is Keywords:
                self._shared.add_part(named, number)
        self._ids[id(named)] = number
        return number

    def _number_of_operand(
        self, value: Any, call: Call, at: int, known: Known | None, deepest: int
    ) -> int | None:
        """Return the number of operand ``at`` of a call, None if it proves nothing, or is unknown.

        That of a variable that is known, or of a constant met before, needs no search.
        """
        if value.__class__ in CONSTANTS:
            kind = self._ids.get(id(value.type)) or self.number(value.type)
            key = value.__class__, value.value, kind
            number = self._numbers.get(key) or self._number_of(key, key if kind > 0 else None)
        elif value.__class__ is MakeTuple:
            key = id(value.elements)
            number = self._ids.get(key) or self._shared.ids.get(key)
            if number is None:
                return self._number_of_list(value, call, at, known)
        elif value.__class__ in _VARIABLES:
            return self.number(value.type) if known is None else None
        elif value.__class__ is Call and deepest:
            return self._number_of_call(value, known, deepest - 1)
        else:
            return None
        self._constants[value] = number
        return number

    def _number_of_call(self, call: Call, known: Known | None, deepest: int) -> int | None:
        """Return the number of a call that is an operand: that of its form."""
        operands = self._constants if known is None else known
        outline = call.op, _NOTHING, None, None, *map(operands.get, call.args)
        form = self._completed(outline, call, known, deepest)
        if form is None or not self._is_right(call, None, form):
            return None
        key = Call, *form
        return self._number_of(key, key if min(form[1:]) >= _NOTHING else None)

    def _number_of_list(
        self, value: MakeTuple, call: Call, at: int, known: Known | None
    ) -> int | None:
        parts: list[Any] = [MakeTuple]
        is_constant = is_plain = True
        items: tuple[Any, ...] = value.elements
        for item in items:
            if item.__class__ is ConstInt and item.type is INDEX_TYPE:
                parts.append(item.value)
                continue
            kind = self._ids.get(id(item.type)) or self.number(item.type)
            is_plain = is_plain and kind > 0
            if item.__class__ in CONSTANTS:
                parts.append((item.__class__, item.value, kind))
                continue
            if item.__class__ in _VARIABLES:
                if known is not None and item not in known:
                    return None
            elif not self._is_right_scalar(item, None, known):
                return None
            is_constant = False
            if _are_offsets(call, at):
                parts.append((None, kind))
            else:  # a result may have this very size
                is_plain = False
                parts.append((id(item),))
                self._kept.append(item)
        key = tuple(parts)
        number = self._number_of(key, key if is_plain else None)
        if is_constant:
            self._ids[id(items)] = self._constants[value] = number
            self._kept.append(value)
            if number > 0 and all(item.span is UNKNOWN_SPAN for item in items):
                self._shared.add_part(items, number)
        return number


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
    """True for functions of the same parameters and statements, however these are grouped."""
    a, b = statements(one.body), statements(other.body)
    if len(a) != len(b) or len(one.params) != len(other.params):
        return False
    return all(map(is_, a, b)) and all(map(is_, one.params, other.params))


def _agree(a: Type, b: Type) -> bool:
    """True where a short look shows that two types agree, whatever their memory."""
    if a is b:
        return True
    if a.__class__ is not b.__class__:
        return False
    if not isinstance(a, ShapedType) or not isinstance(b, ShapedType):
        return False
    if a.__class__ is TileType and not same_valid_part(a, b):
        return False
    return a.dtype is b.dtype and (a.shape is b.shape or same_dims(a.shape, b.shape))


def _known_as(kind: Type) -> tuple[Any, ...]:
    """Return what identifies a type, but for which bytes of its memory space it has."""
    cls = kind.__class__
    array: Any = kind
    if cls is TileType:
        view = array.tile_view
    elif cls is TensorType:
        view = array.tensor_view
    else:
        return id(kind), None
    memref = array.memref
    space = None if memref is None else memref.memory_space_
    return cls, id(array.shape), id(array.dtype), id(view), space


def _plain_key(kind: Type) -> tuple[Any, ...] | None:
    """Return what identifies a type in every program, None for one that belongs to its own."""
    if isinstance(kind, TileType | TensorType):
        known = structure(kind)
        space = None if kind.memref is None else kind.memref.memory_space_
        return None if known is None else (known, space)
    if kind.__class__ is ScalarType:
        scalar: Any = kind
        return ScalarType, scalar.dtype
    return (UnknownType,) if kind.__class__ is UnknownType else None


def _keeper_of_parts(kind: Type, plain: tuple[Any, ...]) -> Type | None:
    """Return the plain type that no program owns and whose parts `_known_as` names for ``kind``."""
    if kind.__class__ is ScalarType:
        scalar: Any = kind
        return kind if scalar_type(scalar.dtype) is kind else None
    known: Any = TYPES.get(plain[0])
    return known if known is not None and _known_as(known)[:-1] == _known_as(kind)[:-1] else None


def _is_in_usual_memory(kind: Type) -> bool:
    """True for a tensor in global memory and a plain tile in Vec.

    All ops take these but some with `OpDef.placed`; where the memory is not known they are taken
    for such.
    """
    if not isinstance(kind, ShapedType) or kind.memref is None:
        return False
    if isinstance(kind, TileType):
        return kind.memref.memory_space_ is MemorySpace.Vec and kind.tile_view is None
    return kind.memref.memory_space_ is MemorySpace.DDR


def _are_offsets(call: Call, at: int) -> bool:
    """True if no type depends on what is computed in the list that is operand ``at``."""
    op = op_of(call)
    return op is not None and at < len(op.operands) and op.operands[at].attr_type == OFFSETS


def is_right_constant(value: Expr) -> bool:
    """True unless ``value`` is a constant whose element type is of the other kind of number."""
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
    """Return what an expression reads, if it is small, has no calls, and operands of right types.

    None if it is not.
    """
    found: list[Var] = []
    stack: list[Any] = [root]
    for _ in range(_MOST_NODES):
        node = stack.pop()
        if node.__class__ is Var:  # as most are
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
