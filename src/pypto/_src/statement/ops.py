"""Ops of the statement form: ``%c = tile.OP_ADD %a, %b : (T, T) -> T {key=value}``.

The types of the operands decide which op a mnemonic means; the table is in `mnemonics`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.errors import InvalidOperationError, ParserTypeError
from pypto._src.frontend.state.messages import did_you_mean
from pypto._src.ir import enums
from pypto._src.ir.array_types import ShapedType
from pypto._src.ir.exprs import Call, Expr, GlobalVar, MakeTuple, Op, TupleGetItemExpr, Var
from pypto._src.ir.name_rules import is_function_name, is_op_name
from pypto._src.ir.op_params import ROUND_MODES, literal
from pypto._src.ir.stmts import AssignStmt, EvalStmt, IfStmt, OpStmts, Stmt, YieldStmt
from pypto._src.ir.types import TupleType, Type
from pypto._src.ops.lookup import REGISTRY
from pypto._src.records import NamedTuple
from pypto._src.statement import form
from pypto._src.statement.atoms import alike, type_text
from pypto._src.statement.mnemonics import (
    ASSIGNS,
    CALL,
    CONSTANT,
    DTYPES,
    FREE,
    GET_ITEM,
    MAKE_MEMREF,
    MAKE_TUPLE,
    OTHER_OP,
    SCALARS,
    SELECT,
    Spelling,
    op_words,
    quoted,
    spellings,
)
from pypto._src.statement.scanner import PUNCTUATION, STRING, VALUE, WORD
from pypto._src.statement.types import MEMREF_FIELDS, UNKNOWN, Literal, TypeReader, Unknown

_ENUMS: Final = {
    cls.__name__: cls
    for cls in vars(enums).values()
    if isinstance(cls, type) and issubclass(cls, enums.Enum) and not cls.__name__.startswith("_")
}


class Results(NamedTuple):
    """The names on the left side of an op or statement, with the types written there."""

    names: list[str]
    positions: list[int]
    kinds: list[Type | None]


class OpReader(TypeReader):
    """Reads the contents of a statement.op."""

    # --------------------------------------------------------------------------- results

    def left_side(self) -> Results:
        """Read ``value [":" type] {"," value [":" type]} "="``."""
        s = self.s
        results = Results([], [], [])
        while True:
            results.positions.append(s.index)
            results.names.append(s.name(VALUE, "a result"))
            results.kinds.append(self.type() if s.take(":") else None)
            if not s.take(","):
                break
        s.want("=", "after the name of a result")
        return results

    def results(self, results: Results, values: Sequence[Expr]) -> list[Var]:
        """Define the results of a statement, which have the types of ``values``."""
        variables: list[Var] = []
        for index, (name, at, kind) in enumerate(zip(*results, strict=True)):
            if kind is None:
                kind = values[index].type if index < len(values) else UNKNOWN
            var = Var(name, kind, self.s.span(at))
            self.define(var, at)
            variables.append(var)
        return variables

    # ------------------------------------------------------------------------------- ops

    def op_block(self, out: list[Stmt]) -> None:
        """Read one ``statement.op { ... }``."""
        s = self.s
        first = s.index
        s.index += 1
        s.want("{", "after statement.op")
        ops: list[Stmt] = []
        while not (s.kind == PUNCTUATION and s.word == "}"):
            at = s.index
            results = self.left_side() if s.kind == VALUE else None
            if s.kind == WORD and s.word.startswith("statement."):
                raise s.error(
                    f"{s.word} is inside a statement.op, which holds only ops", slug=form.OPS
                )
            if s.kind == WORD and s.word == SELECT:
                self.close(ops, out, first)
                out.append(self.select(results, at))
            elif s.kind == WORD and s.word == FREE:
                self.free(results, at)
            else:
                self.op(results, at, ops)
        s.index += 1
        self.close(ops, out, first)

    def close(self, ops: list[Stmt], out: list[Stmt], first: int) -> None:
        if ops:
            out.append(OpStmts(tuple(ops), self.s.span(first)))
            ops.clear()

    def op(self, results: Results | None, at: int, ops: list[Stmt]) -> None:
        s = self.s
        number = self.number() if results is not None else None
        if number is not None:
            first = s.index - 1
            s.want(":", "after a constant", f"{s.texts[first]} : fp32")
            value = self.typed_literal(Literal(number, first), self.type())
            kinds: list[Type] = [value.type]
        else:
            value, kinds = self.right_side(at, ops, 1 if results is None else len(results.names))
        span = s.span(at, s.index - 1)
        if results is None:
            ops.append(EvalStmt(value, span))
        elif len(results.names) == 1:
            self.assign(results, value, span, ops)
        else:
            self.assign_items(results, value, kinds, span, ops)

    def assign(self, results: Results, value: Expr, span: Span, ops: list[Stmt]) -> None:
        name, at, kind = results.names[0], results.positions[0], results.kinds[0]
        if name[:1] == "." and self.s.texts[at][1] == ".":
            if name in self.positions:
                self.twice(name, at)
            self.bind(name, value, at)
            self.unused[name] = at
            return
        var = Var(name, value.type if kind is None else kind, self.s.span(at))
        self.define(var, at)
        ops.append(AssignStmt(var, value, span))

    def assign_items(
        self, results: Results, value: Expr, kinds: list[Type], span: Span, ops: list[Stmt]
    ) -> None:
        """Assign several results: a variable for all of them, then its items."""
        whole = Var("", value.type, span)
        ops.append(AssignStmt(whole, value, span))
        for index, (name, at, kind) in enumerate(zip(*results, strict=True)):
            var = Var(name, kinds[index] if kind is None else kind, self.s.span(at))
            self.define(var, at)
            ops.append(AssignStmt(var, TupleGetItemExpr(whole, index, span), span))

    def right_side(self, at: int, ops: list[Stmt], count: int) -> tuple[Expr, list[Type]]:
        """Read an op; return its value and the types of its results."""
        s = self.s
        word_at = s.index
        if s.kind != WORD:
            wanted = "an op such as tile.OP_ADD, or a constant,"
            raise s.error(f"{wanted} was wanted, found {s.found(word_at)}")
        word = s.word
        s.index += 1
        callee = ""
        if word in (CALL, OTHER_OP):
            callee = s.symbol("a name", is_function_name if word == CALL else is_op_name)
        operands = self.op_operands(word)
        args, listed = self.type_list(operands, word, ops, at)
        s.want("->", "before the type of the result", f"{word} ... : (...) -> fp32")
        kinds = [self.type()]
        while s.take(","):
            kinds.append(self.type())
        if len(kinds) != count:
            raise s.error(f"{count} results have {len(kinds)} types", word_at, cls=ParserTypeError)
        result = kinds[0] if len(kinds) == 1 else TupleType(tuple(kinds))
        span = s.span(word_at, s.index - 1)
        if callee or word in (CALL, OTHER_OP):
            return self.other_call(word, callee, args, result, span), kinds
        maker = _MAKERS.get(word)
        if maker is not None:
            return maker(self, args, result, span, word, word_at), kinds
        return self.op_call(word, word_at, args, listed, result, span), kinds

    def op_operands(self, word: str) -> list[Expr | Literal | Unknown]:
        s = self.s
        operands: list[Expr | Literal | Unknown] = []
        if not (s.kind == PUNCTUATION and s.word == ":"):
            operands.append(self.raw_operand())
            while s.take(","):
                operands.append(self.raw_operand())
        if not s.take(":"):
            self.check_word(word)
            found = s.found(s.index)
            raise s.error(f"',' or ':' was wanted after the operands of {word}, found {found}")
        return operands

    def check_word(self, word: str) -> None:
        if word not in (CALL, OTHER_OP) and word not in _MAKERS and not spellings(word):
            self.unknown_op(word, self.s.index - 1)

    def unknown_op(self, word: str, at: int) -> NoReturn:
        raise self.s.error(
            f"there is no op {word}",
            at,
            hint=did_you_mean(word, op_words()) or f'op @"{word}"',
            slug="unknown-op",
            cls=InvalidOperationError,
        )

    def type_list(
        self,
        operands: Sequence[Expr | Literal | Unknown],
        word: str,
        ops: list[Stmt],
        at: int,
    ) -> tuple[list[Expr], tuple[Type, ...]]:
        """Read the types of the operands; return the operands, with constants typed."""
        s = self.s
        s.want("(", "before the types of the operands", f"{word} %x : (fp32) -> fp32")
        positions: list[int] = []
        entries: list[Type | Literal] = []

        def entry() -> None:
            positions.append(s.index)
            entries.append(self.entry())

        self.list_of(entry, ")", "the types of the operands")
        if len(entries) != len(operands):
            count = len(operands)
            message = f"{word} has {count} operands and {len(entries)} types"
            raise s.error(message, positions[0] if positions else s.index - 1, cls=ParserTypeError)
        element = _element(operands)
        args: list[Expr] = []
        for operand, kind, position in zip(operands, entries, positions, strict=True):
            args.append(self.typed(operand, kind, position, element, ops))
        return args, tuple([arg.type for arg in args])

    def entry(self) -> Type | Literal:
        """Read an entry of a type list: a type, or a scalar value in place of its type."""
        s = self.s
        at = s.index
        if s.kind == VALUE:
            name = s.name(VALUE, "a value")
            found = self.known.get(name)
            if found is None:
                self.undefined(name, at)
            return found.type
        number = self.number()
        return self.type() if number is None else Literal(number, at)

    def typed(
        self,
        operand: Expr | Literal | Unknown,
        kind: Type | Literal,
        position: int,
        element: DataType | None,
        ops: list[Stmt],
    ) -> Expr:
        s = self.s
        if isinstance(operand, Expr):
            found = operand.type
            if not (isinstance(kind, Literal) or kind is found or alike(kind, found)):
                message = (
                    f"the operand is {type_text(found)}, its type is given as {type_text(kind)}"
                )
                raise s.error(message, position, cls=ParserTypeError)
            return operand
        if isinstance(operand, Literal):
            if isinstance(kind, Literal):
                return self.like_elements(operand, element)
            return self.typed_literal(operand, kind)
        if not isinstance(kind, Literal):
            self.undefined(operand.name, operand.at)
        value = self.like_elements(kind, element)
        var = Var(operand.name, value.type, s.span(operand.at))
        self.define(var, operand.at)
        ops.append(AssignStmt(var, value, s.span(position)))
        return var

    def like_elements(self, number: Literal, element: DataType | None) -> Expr:
        """Return a constant of the element type of the tensor or tile in the same op."""
        if isinstance(number.value, bool):
            return self.typed_literal(number, None)
        value, span = number.value, self.s.span(number.at)
        fraction = isinstance(value, float) and not value.is_integer()
        if fraction and element is not None and not element.is_float():
            message = f"the number {value} is used with elements of {element}"
            raise self.s.error(message, number.at, hint="fp32 in the type list")
        return self.checked(lambda: literal(value, element, span), number.at)

    def other_call(
        self, word: str, callee: str, args: list[Expr], result: Type, span: Span
    ) -> Expr:
        op = GlobalVar(callee) if word == CALL else REGISTRY.get(callee) or Op(callee)
        return Call(op, args, self.attributes({}), result, span)

    def op_call(
        self,
        word: str,
        at: int,
        args: list[Expr],
        kinds: tuple[Type, ...],
        result: Type,
        span: Span,
    ) -> Expr:
        s = self.s
        known = spellings(word)
        if not known:
            self.unknown_op(word, at)
        spelling = next((each for each in known if each.takes(kinds)), None)
        if spelling is None:
            found = ", ".join(type_text(kind) for kind in kinds)
            wanted = " or ".join(f"({each.signature})" for each in known)
            raise s.error(
                f"{word} takes {wanted}, got ({found})",
                at,
                slug="argument-kind",
                cls=InvalidOperationError,
            )
        lists: dict[str, Expr] = {}
        kwargs = self.attributes(lists, spelling)
        op = spelling.op
        values: list[Expr | None] = [None] * len(spelling.params)
        for position, arg in zip(spelling.values, args, strict=True):
            values[position] = arg
        for name, position in spelling.lists.items():
            if name not in lists:
                raise s.error(
                    f"{word} misses its attribute {name!r}",
                    at,
                    hint=f"{{{', '.join(f'{key}=[...]' for key in spelling.lists)}}}",
                    slug="argument-count",
                    cls=InvalidOperationError,
                )
            values[position] = lists[name]
        operands = [value for value in values if value is not None]
        return Call(op, operands, kwargs, result, span)

    def free(self, results: Results | None, at: int) -> None:
        """Read ``%x = value.free : () -> T``: a variable without a definition."""
        s = self.s
        s.index += 1
        hint = f"%x = {FREE} : () -> int64"
        for word in (":", "(", ")", "->"):
            s.want(word, f"after {FREE}", hint)
        kind = self.type()
        if results is None or len(results.names) != 1:
            raise s.error(f"{FREE} has one result", at, hint=hint)
        self.define(Var(results.names[0], kind, s.span(results.positions[0])), results.positions[0])

    def select(self, results: Results | None, at: int) -> Stmt:
        """Read ``ITE``: a branch that yields one of two operands."""
        s = self.s
        if results is None or len(results.names) != 1:
            raise s.error(f"{SELECT} has one result", at)
        constants: list[Stmt] = []
        word_at = s.index
        s.index += 1
        args, _ = self.type_list(self.op_operands(SELECT), SELECT, constants, at)
        s.want("->", "before the type of the result", f"{SELECT} ... : (...) -> fp32")
        kind = self.type()
        if len(args) != 3 or constants:
            raise s.error(f"{SELECT} takes a condition and two values, got {len(args)}", word_at)
        span = s.span(at, s.index - 1)
        then, other = YieldStmt([args[1]], span), YieldStmt([args[2]], span)
        name, position, own = results.names[0], results.positions[0], results.kinds[0]
        var = Var(name, own or kind, s.span(position))
        self.define(var, position)
        return IfStmt(args[0], then, other, [var], span)

    # ------------------------------------------------------------------------ attributes

    def key(self, what: str) -> str:
        s = self.s
        if s.kind == STRING:
            s.index += 1
            return s.string(s.texts[s.index - 1], s.index - 1)
        return s.want_kind(WORD, what)

    def attributes(
        self, lists: dict[str, Expr], spelling: Spelling | None = None
    ) -> dict[str, Any]:
        """Read ``{key=value, ...}``, if present.

        ``lists`` receives the operands of a registered op that are written as attributes.
        """
        s = self.s
        kwargs: dict[str, Any] = {}
        if not s.take("{"):
            return kwargs
        positions = {} if spelling is None else spelling.lists
        declared = {} if spelling is None else spelling.keywords

        def field() -> None:
            at = s.index
            key = self.key("the name of an attribute")
            if key in kwargs or key in lists:
                raise s.error(f"attribute {key!r} is given twice", at)
            s.want("=", "after the name of an attribute", f"{{{key}=1}}")
            if key in positions:
                lists[key] = self.list_operand()
            else:
                kwargs[key] = self.keyword(declared.get(key, ""))

        self.list_of(field, "}", "the attributes")
        return kwargs

    def list_operand(self) -> Expr:
        s = self.s
        at = s.index
        if s.take("["):
            return MakeTuple(self.list_of(self.operand, "]", "a list"), s.span(at))
        return self.operand()

    def keyword(self, kind: str) -> Any:
        """Read the value of a keyword; rounding modes are words."""
        s = self.s
        if kind == "RoundMode" and s.kind == WORD and s.word in ROUND_MODES:
            s.index += 1
            return ROUND_MODES[s.texts[s.index - 1]]
        return self.constant()

    def constant(self) -> Any:
        """Read the value of an attribute."""
        s = self.s
        at = s.index
        number = self.number()
        if number is not None:
            return number
        kind, text = s.kind, s.word
        s.index += 1
        if kind == STRING:
            return s.string(text, at)
        if kind == PUNCTUATION and text in "[({":
            self.deeper("attributes")
            value = self.collection(text)
            self.depth -= 1
            return value
        if kind == WORD:
            return self.constant_word(text, at)
        raise s.error(f"the value of an attribute was wanted, found {s.found(at)}", at)

    def collection(self, bracket: str) -> Any:
        if bracket == "[":
            return self.list_of(self.constant, "]", "a list")
        if bracket == "(":
            return tuple(self.list_of(self.constant, ")", "a list"))
        s = self.s
        entries: dict[str, Any] = {}

        def entry() -> None:
            at = s.index
            key = self.key("a key")
            if key in entries:
                raise s.error(f"key {key!r} is given twice", at)
            s.want("=", "after a key", f"{{ {key}=1 }}")
            entries[key] = self.constant()

        self.list_of(entry, "}", "a dictionary")
        return entries

    def constant_word(self, word: str, at: int) -> Any:
        s = self.s
        if word == "none":
            return None
        if word in DTYPES:
            return DTYPES[word]
        if word in ("type", "expr") and s.take("("):
            value = self.type() if word == "type" else self.inline()
            s.want(")", f"after {word}(")
            return value
        cls, _, member = word.partition(".")
        if cls in _ENUMS:
            found = _ENUMS[cls].__members__.get(member)
            if found is not None:
                return found
            hint = did_you_mean(member, _ENUMS[cls].__members__, f"{cls}.")
            raise s.error(f"{cls} has no member {member!r}", at, hint=hint)
        members = [name for name, kind in _ENUMS.items() if word in kind.__members__]
        hint = f"{members[0]}.{word}" if members else quoted(word)
        raise s.error(f"{word!r} is not a value of an attribute", at, hint=hint)

    # ------------------------------------------------------------------------ made values

    def make_assign(self, args: list[Expr], result: Type, span: Span, word: str, at: int) -> Expr:
        if len(args) != 1 or not alike(args[0].type, result):
            got = ", ".join(type_text(arg.type) for arg in args)
            raise self.s.error(
                f"{word} gives its one operand, got ({got}) -> {type_text(result)}",
                at,
                cls=ParserTypeError,
            )
        return args[0]

    def make_tuple(self, args: list[Expr], result: Type, span: Span, word: str, at: int) -> Expr:
        return MakeTuple(args, span)

    def make_item(self, args: list[Expr], result: Type, span: Span, word: str, at: int) -> Expr:
        index = self.attributes({}).get("index")
        if len(args) != 1 or type(index) is not int:
            raise self.s.error(f"{word} takes a tuple and the number of an item", at, "{index=0}")
        if not isinstance(args[0].type, TupleType):
            found = type_text(args[0].type)
            raise self.s.error(f"{word} takes a tuple, got {found}", at, cls=ParserTypeError)
        return self.checked(lambda: TupleGetItemExpr(args[0], index, span), at)

    def make_memref(self, args: list[Expr], result: Type, span: Span, word: str, at: int) -> Expr:
        if len(args) != 1:
            raise self.s.error(f"{word} takes an address, got {len(args)} operands", at)
        fields = self.fields(MEMREF_FIELDS, "a memref")
        fields["addr"] = args[0]
        return self.shared_memref(fields, at)


Maker = Callable[[OpReader, list[Expr], Type, Span, str, int], Expr]
_MAKERS: Final[dict[str, Maker]] = {
    **dict.fromkeys(SCALARS, OpReader.make_scalar),
    **dict.fromkeys(sorted(ASSIGNS), OpReader.make_assign),
    CONSTANT: OpReader.make_constant,
    MAKE_TUPLE: OpReader.make_tuple,
    GET_ITEM: OpReader.make_item,
    MAKE_MEMREF: OpReader.make_memref,
}


def _element(operands: Sequence[Any]) -> DataType | None:
    """Return the element type of the first tensor or tile among operands."""
    for operand in operands:
        if isinstance(operand, Expr) and isinstance(operand.type, ShapedType):
            return operand.type.dtype
    return None
