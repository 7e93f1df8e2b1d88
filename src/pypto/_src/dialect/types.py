"""Types and attributes of the PTO dialect, with the assembler's concrete syntax.

Owns their syntax and what the parser itself rejects. Which of them an op takes is in `table`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    Float80Type,
    Float128Type,
    IndexType,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute, Data, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

DYNAMIC: Final = -1
"""A size that is known only at run time, written ``?``."""

SPACES: Final = ("vec", "mat", "left", "right", "acc", "bias", "scaling")
BLAYOUTS: Final = ("row_major", "col_major")
SLAYOUTS: Final = ("none_box", "row_major", "col_major")
PADS: Final = ("null", "zero", "max", "min")
COMPACTS: Final = ("null", "normal", "row_plus_one")
_UNSUPPORTED_FLOATS: Final = frozenset({"f8E8M0FNU", "f8E3M4", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN"})
"""Element types that xDSL supports and the assembler's MLIR does not."""


# --------------------------------------------------------------------------------------------
# Element types
# --------------------------------------------------------------------------------------------


def as_integer(element: Attribute) -> IntegerType | None:
    """Return ``element`` if it is an integer type, else None."""
    return cast("IntegerType", element) if isinstance(element, IntegerType) else None


def family(element: Attribute) -> str:
    """Return the name of an element type without signedness: ``ui8`` is ``i8``."""
    integer = as_integer(element)
    if integer is not None:
        return f"i{integer.width.data}"
    return "f8" if is_f8(element) else str(element)


def is_f8(element: Attribute) -> bool:
    """True for the 8-bit floats."""
    return str(element).startswith(("f8E", "f8e"))


def is_float(element: Attribute) -> bool:
    """True for every float type."""
    wide = BFloat16Type | Float16Type | Float32Type | Float64Type | Float80Type | Float128Type
    return isinstance(element, wide) or is_f8(element) or str(element) == "tf32"


def is_signless(element: Attribute) -> bool:
    """True for signless integers, such as ``i32``."""
    integer = as_integer(element)
    return integer is not None and integer.signedness.data is Signedness.SIGNLESS


def is_scalar(element: Attribute) -> bool:
    """True for the types of scalars that a tile op may take."""
    return is_signless(element) or is_float(element)


def bits(element: Attribute) -> int | None:
    """Return the width of an element in bits, None for types without one (``index``)."""
    integer = as_integer(element)
    if integer is not None:
        return integer.width.data
    name = str(element)
    if is_f8(element):
        return 8
    return {"f16": 16, "bf16": 16, "tf32": 19, "f32": 32, "f64": 64, "f80": 80, "f128": 128}.get(
        name
    )


def element_bytes(element: Attribute) -> int | None:
    """Return the size of an element in bytes, None if that is not a whole number."""
    width = bits(element)
    return None if width is None or width % 8 else width // 8


def _parse_optional_element(parser: AttrParser) -> Attribute | None:
    start = parser.pos
    element = parser.parse_optional_type()
    if element is not None and str(element) in _UNSUPPORTED_FLOATS:
        parser.raise_error("expected an element type that the assembler knows", start)
    return element


def parse_element(parser: AttrParser) -> Attribute:
    """Parse an element type."""
    return parser.expect(lambda: _parse_optional_element(parser), "expected an element type")


# --------------------------------------------------------------------------------------------
# Types
# --------------------------------------------------------------------------------------------


def _parse_shaped(parser: AttrParser) -> tuple[tuple[int, ...], Attribute]:
    """Parse ``32x?xf32``: dimensions and an element type."""
    dims: list[int] = []
    while (element := _parse_optional_element(parser)) is None:
        dim = parser.parse_shape_dimension()
        dims.append(DYNAMIC if dim < 0 else dim)
        parser.parse_shape_delimiter()
    return tuple(dims), element


def dims_text(dims: Sequence[int]) -> str:
    """Return ``32x?`` for the dimensions (32, DYNAMIC)."""
    return "x".join("?" if dim == DYNAMIC else str(dim) for dim in dims)


@irdl_attr_definition
class PtrType(Data[Attribute], TypeAttribute):
    """``!pto.ptr<f32>``: the address of a tensor in global memory."""

    name = "pto.ptr"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Attribute:
        """Parse ``<f32>``."""
        with parser.in_angle_brackets():
            return parse_element(parser)

    def print_parameter(self, printer: Printer) -> None:
        """Print ``<f32>``."""
        printer.print_string(f"<{self.data}>")


@dataclass(frozen=True)
class Dims:
    """The dimensions of a view and its element type."""

    dims: tuple[int, ...]
    element: Attribute

    @property
    def text(self) -> str:
        """The text between the brackets of a view's type, such as ``?x16xf32``."""
        return "x".join((*([dims_text(self.dims)] if self.dims else []), str(self.element)))


def _parse_view(parser: AttrParser) -> Dims:
    with parser.in_angle_brackets():
        return Dims(*_parse_shaped(parser))


@irdl_attr_definition
class TensorViewType(Data[Dims], TypeAttribute):
    """``!pto.tensor_view<?x16xf32>``: a tensor in global memory with its dimensions."""

    name = "pto.tensor_view"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Dims:
        """Parse ``<?x16xf32>``."""
        return _parse_view(parser)

    def print_parameter(self, printer: Printer) -> None:
        """Print ``<?x16xf32>``."""
        printer.print_string(f"<{self.data.text}>")


@irdl_attr_definition
class PartitionType(Data[Dims], TypeAttribute):
    """``!pto.partition_tensor_view<16x16xf32>``: a region of a tensor view."""

    name = "pto.partition_tensor_view"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Dims:
        """Parse ``<16x16xf32>``."""
        return _parse_view(parser)

    def print_parameter(self, printer: Printer) -> None:
        """Print ``<16x16xf32>``."""
        printer.print_string(f"<{self.data.text}>")


@dataclass(frozen=True)
class Tile:
    """The contents of a tile type: memory space, element type, shape and layout."""

    space: str
    element: Attribute
    rows: int
    cols: int
    valid_row: int
    valid_col: int
    written_blayout: str = field(default="row_major", compare=False)
    blayout: str = "row_major"
    slayout: str = "none_box"
    fractal: int = 512
    pad: int = 0
    compact: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the storage."""
        return self.rows, self.cols

    @property
    def valid(self) -> tuple[int, int]:
        """Rows and columns that hold data, DYNAMIC for those known only at run time."""
        return self.valid_row, self.valid_col

    @property
    def size_bytes(self) -> int | None:
        """Bytes of the storage, None if the element has no size."""
        size = element_bytes(self.element)
        return None if size is None else self.rows * self.cols * size

    def with_layout(self, blayout: str) -> Tile:
        """Return the tile with the major order ``blayout``.

        A left tile has the order that the target needs, whatever is written, so ``blayout`` has no
        effect on it.
        """
        known = "row_major" if self.space == "left" else blayout
        return replace(self, written_blayout=blayout, blayout=known)

    @property
    def text(self) -> str:
        """The long form between the brackets of the type."""
        valid = ["?" if dim == DYNAMIC else dim for dim in self.valid]
        compact = f", compact={self.compact}" if self.compact else ""
        return (
            f"loc={self.space}, dtype={self.element}, rows={self.rows}, cols={self.cols}, "
            f"v_row={valid[0]}, v_col={valid[1]}, blayout={self.written_blayout}, "
            f"slayout={self.slayout}, fractal={self.fractal}, pad={self.pad}{compact}"
        )


@irdl_attr_definition
class TileType(Data[Tile], TypeAttribute):
    """``!pto.tile_buf<vec, 32x32xf32>``, or with all fields: a tile in on-chip memory."""

    name = "pto.tile_buf"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Tile:
        """Parse the short or the long form."""
        with parser.in_angle_brackets():
            if parser.parse_optional_keyword("loc") is not None:
                return _parse_long(parser)
            return _parse_short(parser)

    def print_parameter(self, printer: Printer) -> None:
        """Print the long form."""
        printer.print_string(f"<{self.data.text}>")


def _parse_choice(parser: AttrParser, what: str, names: Sequence[str]) -> str:
    start = parser.pos
    name = parser.parse_identifier_or_str_literal()
    if name not in names:
        parser.raise_error(f"{what} is {name!r}, wanted one of {', '.join(names)}", start)
    return name


def _parse_number(parser: AttrParser, what: str, limit: int | None = None) -> int:
    start = parser.pos
    value = parser.parse_integer(allow_boolean=False)
    if value < 0 or (limit is not None and value >= limit):
        wanted = "not negative" if limit is None or value < 0 else f"below {limit}"
        parser.raise_error(f"{what} is {value}, wanted a number {wanted}", start)
    return value


def _parse_valid(parser: AttrParser, what: str) -> int:
    if parser.parse_optional_punctuation("?") is not None:
        return DYNAMIC
    start = parser.pos
    value = parser.parse_integer(allow_boolean=False)
    if value < DYNAMIC:
        parser.raise_error(f"{what} is {value}, wanted ?, -1 or a number not negative", start)
    return value


def _parse_field(parser: AttrParser, name: str) -> None:
    parser.parse_punctuation(",")
    parser.parse_keyword(name)
    parser.parse_punctuation("=")


def _parse_long(parser: AttrParser) -> Tile:
    """Parse the fields after ``loc``, all required and in this order, except ``compact``."""
    parser.parse_punctuation("=")
    space = _parse_choice(parser, "loc", SPACES)
    _parse_field(parser, "dtype")
    element = parse_element(parser)
    _parse_field(parser, "rows")
    rows = _parse_number(parser, "rows")
    _parse_field(parser, "cols")
    cols = _parse_number(parser, "cols")
    _parse_field(parser, "v_row")
    valid_row = _parse_valid(parser, "v_row")
    _parse_field(parser, "v_col")
    valid_col = _parse_valid(parser, "v_col")
    _parse_field(parser, "blayout")
    blayout = _parse_choice(parser, "blayout", BLAYOUTS)
    _parse_field(parser, "slayout")
    slayout = _parse_choice(parser, "slayout", SLAYOUTS)
    _parse_field(parser, "fractal")
    fractal = parser.parse_integer(allow_boolean=False)
    _parse_field(parser, "pad")
    pad = _parse_number(parser, "pad", len(PADS))
    compact = 0
    if parser.parse_optional_punctuation(",") is not None:
        parser.parse_keyword("compact")
        parser.parse_punctuation("=")
        compact = _parse_number(parser, "compact", len(COMPACTS))
    tile = Tile(space, element, rows, cols, valid_row, valid_col, slayout=slayout)
    tile = replace(tile, fractal=fractal, pad=pad, compact=compact)
    return tile.with_layout(blayout)


def _parse_short(parser: AttrParser) -> Tile:
    """Parse ``vec, 32x32xf32`` and the fields that are not at their defaults, in any order."""
    space = _parse_choice(parser, "loc", SPACES)
    parser.parse_punctuation(",")
    start = parser.pos
    dims, element = _parse_shaped(parser)
    if len(dims) != 2 or DYNAMIC in dims:
        parser.raise_error(f"a tile has rows and columns, found {dims_text(dims)}", start)
    tile = Tile(space, element, *dims, *dims)
    blayout = "row_major"
    seen: set[str] = set()
    while parser.parse_optional_punctuation(",") is not None:
        start = parser.pos
        key = parser.parse_identifier()
        if key in seen:
            parser.raise_error(f"{key} is given twice", start)
        seen.add(key)
        parser.parse_punctuation("=")
        match key:
            case "valid":
                valid = [max(dim, DYNAMIC) for dim in parser.parse_dimension_list()]
                if len(valid) != 2:
                    parser.raise_error("valid has rows and columns, as in valid=16x8", start)
                tile = replace(tile, valid_row=valid[0], valid_col=valid[1])
            case "blayout":
                blayout = _parse_choice(parser, key, BLAYOUTS)
            case "slayout":
                tile = replace(tile, slayout=_parse_choice(parser, key, SLAYOUTS))
            case "fractal":
                tile = replace(tile, fractal=parser.parse_integer(allow_boolean=False))
            case "pad":
                tile = replace(tile, pad=_parse_number(parser, key, len(PADS)))
            case "compact":
                tile = replace(tile, compact=_parse_number(parser, key, len(COMPACTS)))
            case _:
                parser.raise_error(f"a tile type has no field {key!r}", start)
    return tile.with_layout(blayout)


# --------------------------------------------------------------------------------------------
# Attributes: one keyword from a list
# --------------------------------------------------------------------------------------------


class Word(Data[str]):
    """A keyword from a list, ``#pto.layout<nd>``; subclasses define the list."""

    words: ClassVar[tuple[str, ...]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        """Parse the keyword in its angle brackets."""
        with parser.in_angle_brackets():
            return _parse_choice(parser, cls.name, cls.words)

    def print_parameter(self, printer: Printer) -> None:
        """Print the keyword in its angle brackets."""
        printer.print_string(f"<{self.data}>")


class BareKeyword(Word, SpacedOpaqueSyntaxAttribute):
    """A keyword that the assembler accepts only as ``#pto<cmp lt>``."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        """Parse the keyword."""
        return _parse_choice(parser, cls.name, cls.words)

    def print_parameter(self, printer: Printer) -> None:
        """Print the keyword."""
        printer.print_string(self.data)


def _word(name: str, words: str, *, bare: bool = False) -> type[Word]:
    """Return the attribute class ``pto.name``."""
    members = {"name": f"pto.{name}", "words": tuple(words.split())}
    title = name.title().replace("_", "")
    return cast("type[Word]", type(f"{title}Attr", (BareKeyword if bare else Word,), members))


_PIPES: Final = (
    "PIPE_S PIPE_V PIPE_M PIPE_MTE1 PIPE_MTE2 PIPE_MTE3 PIPE_ALL PIPE_MTE4 PIPE_MTE5 PIPE_V2 "
    "PIPE_FIX VIRTUAL_PIPE_MTE2_L1A VIRTUAL_PIPE_MTE2_L1B PIPE_NUM PIPE_UNASSIGNED"
)
_ENDPOINTS: Final = (
    "TLOAD TSTORE_ACC TSTORE_VEC TMOV_M2L TMOV_M2S TMOV_M2B TMOV_M2V TMOV_V2M TMATMUL TVEC "
    "TVECWAIT_EVENT"
)

Layout: Final = _word("layout", "nd dn nz")
AddressSpace: Final = _word("address_space", " ".join((*SPACES, "gm", "zero")))
KernelKind: Final = _word("kernel_kind", "cube vector")
Pipe: Final = _word("pipe", _PIPES)
Event: Final = _word("event", " ".join(f"EVENT_ID{i}" for i in range(8)))
Endpoint: Final = _word("pipe_event_type", _ENDPOINTS)
MaskPattern: Final = _word("mask_pattern", "P0101 P1010 P0001 P0010 P0100 P1000 P1111")
AccToVecMode: Final = _word(
    "acc_to_vec_mode",
    "single_mode_vec0 single_mode_vec1 dual_mode_split_m dual_mode_split_n",
)
Cmp: Final = _word("cmp", "eq ne lt le gt ge", bare=True)
RoundMode: Final = _word("round_mode", "NONE RINT ROUND FLOOR CEIL TRUNC ODD CAST_RINT", bare=True)
SaturationMode: Final = _word("saturation_mode", "OFF ON", bare=True)
QuantType: Final = _word("quant_type", "INT8_SYM INT8_ASYM", bare=True)
AtomicType: Final = _word("atomic_type", "atomic_none atomic_add atomic_max atomic_min", bare=True)
ReluPreMode: Final = _word("relu_pre_mode", "no_relu normal_relu", bare=True)
StPhase: Final = _word("st_phase", "unspecified unspec partial final", bare=True)
GatherOob: Final = _word("gather_oob", "undefined clamp wrap zero", bare=True)
ScatterAtomicOp: Final = _word("scatter_atomic_op", "none add max min", bare=True)
ScatterOob: Final = _word("scatter_oob", "undefined skip clamp wrap", bare=True)

WORDS: Final[tuple[type[Word], ...]] = (
    Layout,
    AddressSpace,
    KernelKind,
    Pipe,
    Event,
    Endpoint,
    MaskPattern,
    AccToVecMode,
    Cmp,
    RoundMode,
    SaturationMode,
    QuantType,
    AtomicType,
    ReluPreMode,
    StPhase,
    GatherOob,
    ScatterAtomicOp,
    ScatterOob,
)
TYPES: Final = (PtrType, TensorViewType, PartitionType, TileType)

INDEX: Final = IndexType()
I64: Final = IntegerType(64)
