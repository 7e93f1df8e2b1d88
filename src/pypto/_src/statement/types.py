"""Names, operands and types of the statement form: the base of its reader.

Owns the meaning and scope of names. Knows no ops except the scalar operators, which types may
contain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, TypeVar

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.errors import (
    ParserTypeError,
    PyptoError,
    ScopeIsolationError,
    SSAViolationError,
    UndefinedVariableError,
    with_article,
)
from pypto._src.frontend.state.messages import did_you_mean
from pypto._src.ir.array_types import MemRef, TensorType, TensorView, TileType, TileView, same_dims
from pypto._src.ir.enums import MemorySpace, TensorLayout, TileLayout, TilePad
from pypto._src.ir.exprs import (
    BinaryExpr,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    MakeTuple,
    TupleGetItemExpr,
    Var,
    const_value,
)
from pypto._src.ir.interning import unique, unique_array
from pypto._src.ir.types import ScalarType, TupleType, Type, UnknownType, scalar_type
from pypto._src.records import NamedTuple
from pypto._src.statement import form
from pypto._src.statement.atoms import alike, dims_text, type_text
from pypto._src.statement.mnemonics import CONSTANT, DTYPES, GET_ITEM, MAKE_TUPLE, SCALARS
from pypto._src.statement.scanner import MARK, NUMBER, PUNCTUATION, SHAPED, VALUE, WORD, Scanner

T = TypeVar("T")

DEEPEST: Final = 100
"""How deep regions, tuple types and attributes may be nested; Python's own limit for blocks."""

LITERAL_WORDS: Final[dict[str, bool | float]] = {
    "true": True,
    "false": False,
    "inf": float("inf"),
    "-inf": float("-inf"),
    "nan": float("nan"),
    "-nan": float("nan"),
}
UNKNOWN: Final = UnknownType.get()


class Literal(NamedTuple):
    """A number or truth value whose type is not known yet."""

    value: bool | int | float
    at: int


class Unknown(NamedTuple):
    """An operand without a definition: a constant, if its entry in the type list is a number."""

    name: str
    at: int


class TypeReader:
    """Reads operands and types; holds the scanner and the names of one function."""

    def __init__(self, scanner: Scanner) -> None:
        self.s = scanner
        self.shaped: dict[str, Type] = {}  # types without names, by their text
        self.depth: int = 0
        self.start_function()

    def start_function(self) -> None:
        self.known: dict[str, Expr] = {}  # the meaning of each name in scope
        self.order: list[str] = []  # names in order of definition; scopes are suffixes of it
        self.positions: dict[str, int] = {}  # where each name of the function is defined
        self.memrefs: dict[tuple[Any, ...], MemRef] = {}
        self.in_signature = False
        self.unused: dict[str, int] = {}  # values such as %.0 without a use so far

    # --------------------------------------------------------------------------- helpers

    def list_of(self, read: Callable[[], T], end: str, where: str) -> list[T]:
        """Read ``read {"," read}`` up to ``end``, which is consumed; the list may be empty."""
        s = self.s
        items: list[T] = []
        if s.take(end):
            return items
        while True:
            items.append(read())
            if s.take(end):
                return items
            if not s.take(","):
                raise s.error(f"',' or {end!r} was wanted in {where}, found {s.found(s.index)}")

    def deeper(self, what: str) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.s.error(f"{what} are nested more than {DEEPEST} deep")

    def one_of(self, table: dict[str, T], what: str, prefix: str = "") -> T:
        """Read a word of ``table``."""
        s = self.s
        found = table.get(s.word) if s.kind in (WORD, MARK) else None
        if found is None:
            names = list(table)
            hint = did_you_mean(s.word, names, prefix) or f"write one of {', '.join(names)}"
            raise s.error(f"{what} was wanted, found {s.found(s.index)}", hint=hint)
        s.index += 1
        return found

    # ----------------------------------------------------------------------------- names

    def define(self, var: Var, at: int) -> None:
        """Bind the name of ``var`` to it from here on."""
        if var.name in self.positions or var.name in self.known:
            self.twice(var.name, at)
        self.bind(var.name, var, at)

    def bind(self, name: str, value: Expr, at: int) -> None:
        self.known[name] = value
        self.positions[name] = at
        self.order.append(name)

    def twice(self, name: str, at: int) -> NoReturn:
        first = self.positions.get(name)
        raise self.s.error(
            f"%{name} is defined a second time",
            at,
            hint=f"%{name}_1",
            slug=form.NAMES,
            cls=SSAViolationError,
            related=None if first is None else (first, "first defined here"),
        )

    def undefined(self, name: str, at: int) -> NoReturn:
        position = self.positions.get(name)
        if position is not None:
            raise self.s.error(
                f"%{name} is not known here",
                at,
                hint="yield it from the region that defines it",
                slug=form.NAMES,
                cls=ScopeIsolationError,
                related=(position, "defined here, in a region that has ended"),
            )
        raise self.s.error(
            f"nothing defines %{name}",
            at,
            hint=did_you_mean(name, self.known, "%"),
            slug=form.NAMES,
            cls=UndefinedVariableError,
        )

    # -------------------------------------------------------------------------- operands

    def raw_operand(self) -> Expr | Literal | Unknown:
        """Read a value or constant, whose type may follow later."""
        s = self.s
        at = s.index
        kind, text = s.kinds[at], s.texts[at]
        if kind == VALUE:
            s.index += 1
            name = text[1:] if text[1:2] != '"' else s.plain_name(text, at)
            found = self.known.get(name)
            if name in self.unused:
                del self.unused[name]
            return Unknown(name, at) if found is None else found
        number = self.number()
        if number is None:
            raise s.error(f"a value such as %x or a number was wanted, found {s.found(at)}")
        return Literal(number, at)

    def number(self) -> bool | int | float | None:
        """Read a number or truth value; None, and nothing read, if there is none."""
        s = self.s
        at = s.index
        if s.kinds[at] not in (NUMBER, WORD):
            return None
        found = LITERAL_WORDS.get(s.texts[at])
        if found is None and s.kinds[at] == NUMBER:
            found = s.number(at)
        if found is not None:
            s.index += 1
        return found

    def defined(self, operand: Expr | Literal | Unknown) -> Expr:
        if isinstance(operand, Unknown):
            self.undefined(operand.name, operand.at)
        assert isinstance(operand, Expr)
        return operand

    def operand(self) -> Expr:
        """Read a value, or a constant with its type: ``2``, ``2: int32``."""
        found = self.raw_operand()
        if isinstance(found, Literal):
            kind = self.type() if self.s.take(":") else None
            return self.typed_literal(found, kind)
        return self.defined(found)

    def operands(self) -> list[Expr]:
        """Read the operands of a yield or return, if there are any."""
        s = self.s
        kind = s.kind
        if kind not in (VALUE, NUMBER) and not (kind == WORD and s.word in LITERAL_WORDS):
            return []
        found = [self.operand()]
        while s.take(","):
            found.append(self.operand())
        return found

    def typed_literal(self, number: Literal, kind: Type | None) -> Expr:
        """Return a constant of type ``kind``, or of its default type if that is None."""
        s = self.s
        value, span = number.value, s.span(number.at)
        if kind is None:
            if isinstance(value, bool):
                return ConstBool(value, span)
            if isinstance(value, int):
                return self.integer_constant(value, DataType.INDEX, number.at)
            return ConstFloat(value, DataType.FP32, span)
        if not isinstance(kind, ScalarType):
            raise s.error(
                f"the constant {s.texts[number.at]} is used where {with_article(type_text(kind))} "
                "was wanted",
                number.at,
                cls=ParserTypeError,
            )
        dtype = kind.dtype
        if isinstance(value, bool):
            if dtype is not DataType.BOOL:
                word = "1" if value else "0"
                message = f"{s.texts[number.at]} is a bool, {dtype} was wanted"
                raise s.error(message, number.at, hint=f"{word} : {dtype}", cls=ParserTypeError)
            return ConstBool(value, span)
        if isinstance(value, float) and not dtype.is_float():
            message = f"{s.texts[number.at]} is not a constant of {dtype}"
            raise s.error(message, number.at, cls=ParserTypeError)
        if dtype.is_float():
            return self.checked(lambda: ConstFloat(value, dtype, span), number.at)
        return self.integer_constant(int(value), dtype, number.at)

    def integer_constant(self, value: int, dtype: DataType, at: int) -> Expr:
        if not -(1 << 63) <= value < 1 << 63:
            raise self.s.error(f"{value} does not fit 64 bits", at, cls=ParserTypeError)
        return ConstInt(value, dtype, self.s.span(at))

    def checked(self, make: Callable[[], T], at: int) -> T:
        """Return the result of ``make``; its errors are reported at token ``at``."""
        try:
            return make()
        except PyptoError as error:
            found, hint, slug = error.message, error.hint, error.slug
        except (TypeError, ValueError, OverflowError) as error:
            found, hint, slug = str(error), None, None
        raise self.s.error(found, at, hint, slug=slug, cls=ParserTypeError)

    # ----------------------------------------------------------------------------- types

    def type(self) -> Type:
        s = self.s
        at = s.index
        kind, text = s.kinds[at], s.texts[at]
        s.index += 1
        if kind == SHAPED:
            found = self.shaped.get(text)
            if found is None:
                found = self.shaped[text] = self.static_type(text, at)
            return found
        if kind == WORD:
            dtype = DTYPES.get(text)
            if dtype is not None:
                return scalar_type(dtype)
            if text in ("tensor", "tile", "tuple") and s.take("<"):
                return self.general_type(text)
            if text == "memref":
                return _MEMREF_TYPE
        elif kind == PUNCTUATION and text == "(" and s.take(")"):
            return UNKNOWN
        known = (*DTYPES, "tensor", "tile", "tuple", "memref")
        hint = did_you_mean(text, known) if kind == WORD else None
        raise s.error(f"a type was wanted, found {s.found(at)}", at, hint=hint, cls=ParserTypeError)

    def static_type(self, text: str, at: int) -> Type:
        """Return a tensor or tile type without names in it."""
        lists = [_numbers(part.partition("]")[0]) for part in text.split("[")[1:]]
        word = text[:-1].rpartition(",")[2].strip()
        dtype = DTYPES.get(word)
        if dtype is None:
            hint = did_you_mean(word, DTYPES)
            raise self.s.error(
                f"there is no element type {word!r}", at, hint=hint, cls=ParserTypeError
            )
        if text.startswith("tensor"):
            return unique_array(TensorType, lists[0], dtype)
        view = None if lists[0] == lists[1] else TileView(lists[0])
        return unique(TileType(lists[1], dtype, None, view))

    def general_type(self, word: str) -> Type:
        """Read a type after ``tensor<``, ``tile<`` or ``tuple<``."""
        s = self.s
        first = s.index - 2
        if word == "tuple":
            self.deeper("types")
            items = self.list_of(self.type, ">", "a tuple type")
            self.depth -= 1
            return TupleType(tuple(items))
        shapes = [self.shape()]
        s.want(",", f"in the type {word}<")
        if word == "tile":
            shapes.append(self.shape())
            s.want(",", "before the element type of a tile", "tile<[16, 16], [16, 16], fp32>")
        dtype = self.one_of(DTYPES, "an element type")
        fields: dict[str, dict[str, Any] | MemRef] = {}
        while s.take(","):
            at = s.index
            key = s.want_kind(WORD, "view or memref")
            if key in fields or key not in ("view", "memref"):
                raise s.error(f"view or memref was wanted, once, found {key!r}", at)
            s.want("=", f"after {key}", f"{key}={{}}")
            fields[key] = self.memref() if key == "memref" else self.view(word)
        s.want(">", f"at the end of the type {word}<")
        memref, view = fields.get("memref"), fields.get("view")
        assert not isinstance(view, MemRef)
        assert not isinstance(memref, dict)

        def make() -> Type:
            if word == "tensor":
                lies = None if view is None else TensorView(**view)
                return unique(TensorType(shapes[0], dtype, memref, lies))
            tile_view = _tile_view(shapes[0], shapes[1], view)
            return unique(TileType(shapes[1], dtype, memref, tile_view))

        return self.checked(make, first)

    def shape(self) -> list[Expr]:
        self.s.want("[", "before a shape", "[16, 32]")
        return self.list_of(self.inline, "]", "a shape")

    def view(self, word: str) -> dict[str, Any]:
        readers = _TENSOR_VIEW if word == "tensor" else _TILE_VIEW
        return self.fields(readers, "a view")

    def fields(self, readers: dict[str, Callable[[TypeReader], Any]], what: str) -> dict[str, Any]:
        """Read ``{key=value, ...}`` with the keys of ``readers``."""
        s = self.s
        found: dict[str, Any] = {}

        def field() -> None:
            at = s.index
            key = s.want_kind(WORD, f"a field of {what}")
            if key not in readers:
                hint = f"its fields are {', '.join(readers)}"
                raise s.error(f"{what} has no field {key!r}", at, hint=hint)
            if key in found:
                raise s.error(f"field {key!r} is given twice", at)
            s.want("=", f"after {key!r}")
            found[key] = readers[key](self)

        s.want("{", f"before the fields of {what}")
        self.list_of(field, "}", f"the fields of {what}")
        return found

    def integer(self) -> int:
        s = self.s
        at = s.index
        value = self.number()
        if not isinstance(value, int) or isinstance(value, bool):
            raise s.error(f"an integer was wanted, found {s.found(at)}", at)
        return value

    def memref(self) -> MemRef:
        at = self.s.index
        fields = self.fields(MEMREF_FIELDS, "a memref")
        return self.shared_memref(fields, at)

    def shared_memref(self, fields: dict[str, Any], at: int) -> MemRef:
        """Return the memory reference with these fields: one object per function."""
        missing = [name for name in MEMREF_FIELDS if name not in fields]
        if missing:
            example = "memref={space=Vec, addr=0, size=512, id=0}"
            raise self.s.error(f"a memref has no field {missing[0]!r}", at, hint=example)
        space, address, size, number = (fields[name] for name in MEMREF_FIELDS)
        value = const_value(address)
        kind = address.type.dtype if isinstance(address.type, ScalarType) else None
        key = (space, id(address) if value is None else value, size, number, kind)
        found = self.memrefs.get(key)
        if found is None:
            span = self.s.span(at)
            found = self.checked(lambda: MemRef(space, address, size, number, span), at)
            self.memrefs[key] = found
        return found

    # --------------------------------------------------------------- expressions in types

    def inline(self) -> Expr:
        """Read an inline expression: ``%n``, ``4``, ``tensor.OP_SCALAR_MUL(%n, 2)``."""
        s = self.s
        frames: list[tuple[str, int, list[Expr]]] = []
        while True:
            at = s.index
            if s.kind == WORD and (s.word in SCALARS or s.word in (MAKE_TUPLE, GET_ITEM, CONSTANT)):
                s.index += 2
                if s.texts[at + 1] != "(":
                    raise s.error(f"'(' was wanted after {s.texts[at]} in a type", at)
                frames.append((s.texts[at], at, []))
                if not s.take(")"):
                    continue
                value = self.inline_op(frames.pop())
            else:
                value = self.inline_atom()
            while frames:
                frames[-1][2].append(value)
                if s.take(","):
                    break
                s.want(")", "after the operands of an expression")
                value = self.inline_op(frames.pop())
            else:
                return value

    def inline_atom(self) -> Expr:
        s = self.s
        at = s.index
        operand = self.raw_operand()
        kind = self.type() if s.take(":") else None
        if isinstance(operand, Literal):
            return self.typed_literal(operand, kind)
        if isinstance(operand, Expr):
            if kind is not None and not alike(kind, operand.type):
                raise s.error(f"%{operand!s} is {type_text(operand.type)}", at, cls=ParserTypeError)
            return operand
        if kind is None and not self.in_signature:
            self.undefined(operand.name, at)
        var = Var(operand.name, kind or scalar_type(DataType.INDEX), s.span(at))
        if operand.name in self.positions:
            self.undefined(operand.name, at)
        # A symbolic dimension is in scope from here on in the whole function.
        self.known[operand.name] = var
        return var

    def inline_op(self, frame: tuple[str, int, list[Expr]]) -> Expr:
        word, at, operands = frame
        s = self.s
        kind = self.type() if s.take(":") else scalar_type(DataType.INDEX)
        span = s.span(at)
        if word == GET_ITEM:
            index = const_value(operands[-1]) if len(operands) == 2 else None
            if index is None:
                raise s.error(f"{GET_ITEM} takes a tuple and the number of an item", at)
            return self.checked(lambda: TupleGetItemExpr(operands[0], index, span), at)
        if word == MAKE_TUPLE:
            return MakeTuple(operands, span)
        if word == CONSTANT:
            return self.make_constant(operands, kind, span, word, at)
        return self.make_scalar(operands, kind, span, word, at)

    def make_constant(self, args: list[Expr], result: Type, span: Span, word: str, at: int) -> Expr:
        """Return a constant of any type, of the same class as its only operand."""
        value = args[0] if len(args) == 1 else None
        if not isinstance(value, ConstInt | ConstFloat) or not isinstance(result, ScalarType):
            raise self.s.error(f"{word} takes a number and gives a scalar", at)
        if isinstance(value, ConstInt):
            return ConstInt(value.value, result.dtype, span)
        return ConstFloat(value.value, result.dtype, span)

    def make_scalar(self, args: list[Expr], result: Type, span: Span, word: str, at: int) -> Expr:
        cls = SCALARS[word]
        count, words = (2, "two operands") if issubclass(cls, BinaryExpr) else (1, "one operand")
        if len(args) != count:
            raise self.s.error(f"{word} takes {words}, got {len(args)}", at)
        if not isinstance(result, ScalarType):
            raise self.s.error(f"{word} gives a scalar, got {type_text(result)}", at)
        return cls(*args, result.dtype, span)  # pyright: ignore[reportCallIssue]


_MEMREF_TYPE: Final = MemRef(MemorySpace.DDR, 0, 0).type


def _member_of(cls: type[Any]) -> Callable[[TypeReader], Any]:
    members = dict(cls.__members__)
    return lambda reader: reader.one_of(members, with_article(cls.__name__))


_TENSOR_VIEW: Final[dict[str, Callable[[TypeReader], Any]]] = {
    "stride": TypeReader.shape,
    "layout": _member_of(TensorLayout),
}
_TILE_VIEW: Final[dict[str, Callable[[TypeReader], Any]]] = {
    "valid_shape": TypeReader.shape,
    "stride": TypeReader.shape,
    "start_offset": TypeReader.inline,
    "blayout": _member_of(TileLayout),
    "slayout": _member_of(TileLayout),
    "fractal": TypeReader.integer,
    "pad": _member_of(TilePad),
}
MEMREF_FIELDS: Final[dict[str, Callable[[TypeReader], Any]]] = {
    "space": _member_of(MemorySpace),
    "addr": TypeReader.inline,
    "size": TypeReader.integer,
    "id": TypeReader.integer,
}


def _tile_view(
    valid: Sequence[Expr], shape: Sequence[Expr], fields: dict[str, Any] | None
) -> TileView | None:
    """Return the view of a tile whose first list is ``valid``."""
    whole = same_dims(valid, shape) or dims_text(valid) == dims_text(shape)
    if fields is None:
        return None if whole else TileView(valid)
    if not whole:
        fields.setdefault("valid_shape", valid)
    return TileView(**fields)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")] if text else []
