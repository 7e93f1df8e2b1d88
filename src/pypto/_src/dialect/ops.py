"""The ops of the dialect as xDSL classes, with the assembler's concrete syntax.

A tile op is a class made from its row of `table`; ops of other forms are written out. Which values
an op takes is checked by the rules of `table` and `views`, here only what its syntax says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final, Self, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Dialect, Operation, OpTraits, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from pypto._src.dialect.rules import (
    A3,
    A5,
    ARCHS,
    Broken,
    Site,
    attribute_of,
    first_broken,
)
from pypto._src.dialect.table import KINDS, TABLE, Operand, Row
from pypto._src.dialect.types import (
    I64,
    TYPES,
    WORDS,
    Endpoint,
    Event,
    PartitionType,
    Pipe,
    PtrType,
    TensorViewType,
    Tile,
    TileType,
    Word,
)

# --------------------------------------------------------------------------------------------
# Parsing and printing lists
# --------------------------------------------------------------------------------------------


def _operand_list(parser: Parser, *, may_end_in_comma: bool = False) -> list[UnresolvedOperand]:
    operands = [parser.parse_unresolved_operand()]
    while parser.parse_optional_punctuation(",") is not None:
        operand = parser.parse_optional_unresolved_operand()
        if operand is None and may_end_in_comma:
            break
        if operand is None:
            parser.raise_error("expected an operand after the comma")
        operands.append(operand)
    return operands


def _type_list(parser: Parser) -> list[Attribute]:
    types: list[Attribute] = [parser.parse_type()]
    while parser.parse_optional_punctuation(",") is not None:
        types.append(parser.parse_type())
    return types


def _resolve(
    parser: Parser, operands: Sequence[UnresolvedOperand], types: Sequence[Attribute]
) -> list[SSAValue]:
    return list(parser.resolve_operands(operands, types, parser.pos))


def print_values(printer: Printer, values: Sequence[SSAValue]) -> None:
    """Print values with commas between them."""
    printer.print_list(values, printer.print_ssa_value)


def print_types(printer: Printer, values: Sequence[SSAValue]) -> None:
    """Print the types of values with commas between them."""
    printer.print_list([value.type for value in values], printer.print_attribute)


# --------------------------------------------------------------------------------------------
# Tile ops, made from the table
# --------------------------------------------------------------------------------------------


class TileOp(Operation):
    """An op ``pto.NAME ins(..) outs(..)``; subclasses say which row of the table it is."""

    row: ClassVar[Row]
    traits = OpTraits(tuple)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the op's name."""
        parser.parse_keyword("ins")
        parser.parse_punctuation("(")
        if cls.row.paired:
            operands, attributes = _paired(parser), dict[str, Attribute]()
        else:
            operands, attributes = cls._grouped(parser)
        parser.parse_punctuation(")")
        if cls.row.outs:
            parser.parse_keyword("outs")
            parser.parse_punctuation("(")
            place = parser.pos
            outs = _operand_list(parser)
            if len(outs) != len(cls.row.outs):
                wanted = len(cls.row.outs)
                parser.raise_error(f"{cls.name} has {len(outs)} results, wanted {wanted}", place)
            parser.parse_punctuation(":")
            operands += _resolve(parser, outs, _type_list(parser))
            parser.parse_punctuation(")")
        if not cls.row.inner:
            attributes |= parser.parse_optional_attr_dict()
        return cls.create(operands=operands, attributes=attributes)

    @classmethod
    def _grouped(cls, parser: Parser) -> tuple[list[SSAValue], dict[str, Attribute]]:
        """Parse ``%a, %b {attributes} : TA, TB``."""
        # Only a pattern stands behind a comma: `ins(%a, {maskPattern = ..} : T)`.
        operands = _operand_list(parser, may_end_in_comma="maskPattern" in cls.row.inner)
        attributes = parser.parse_optional_attr_dict() if cls.row.inner else {}
        parser.parse_punctuation(":")
        return _resolve(parser, operands, _type_list(parser)), attributes

    def print(self, printer: Printer) -> None:
        """Print what follows the op's name, on one line."""
        self.print_ins(printer)
        if self.row.outs:
            printer.print_string(" ")
            self.print_outs(printer)

    def print_ins(self, printer: Printer) -> None:
        """Print ``ins(..)`` with a blank before it, and the attributes if there is no ``outs``."""
        printer.print_string(" ins(")
        if self.row.paired:
            printer.print_list(self.ins, lambda value: _print_pair(printer, value))
        else:
            print_values(printer, self.ins)
            if self.row.inner and self.attributes:
                comma = "," if "maskPattern" in self.attributes else ""
                printer.print_string(comma)
                printer.print_op_attributes(self.attributes)
            printer.print_string(" : ")
            print_types(printer, self.ins)
        printer.print_string(")")

    def print_outs(self, printer: Printer) -> None:
        """Print ``outs(..)`` and the attributes after it."""
        printer.print_string("outs(")
        print_values(printer, self.outs)
        printer.print_string(" : ")
        print_types(printer, self.outs)
        printer.print_string(")")
        if not self.row.inner:
            printer.print_op_attributes(self.attributes)

    @property
    def ins(self) -> list[SSAValue]:
        """The operands in ``ins``."""
        values = list(self.operands)
        return values[: len(values) - len(self.row.outs)]

    @property
    def outs(self) -> list[SSAValue]:
        """The operands in ``outs``."""
        return list(self.operands)[len(self.operands) - len(self.row.outs) :]

    def verify_(self) -> None:
        """Check the rules of the row for the target that the module names, else for any target.

        Raises:
            VerifyException: a rule is broken.
        """
        declared = declared_arch(self)
        archs = ARCHS if declared is None else (declared,)
        found = [self.broken(arch, declared or A3) for arch in archs]
        if found[0] is not None and all(found):
            raise VerifyException(f"'{self.name}' {found[0].message} [{found[0].rule}]")

    def broken(self, arch: str, declared: str) -> Broken | None:
        """Return the first rule of the row that the op breaks on a target.

        ``declared`` is the target that the module names, for rules that ask for it.
        """
        named = self.named()
        if named is None:
            kinds = ", ".join(str(value.type) for value in self.operands)
            return Broken("operands", f"{self.name} does not take {kinds}")
        for name, is_good in self.row.attributes.items():
            attribute = attribute_of(self, name)
            if attribute is not None and not is_good(attribute):
                return Broken("attribute", f"{name} of {self.name} is {attribute}")
        return first_broken(self.row.rules, Site(self, named, arch, declared))

    def named(self) -> dict[str, SSAValue] | None:
        """Return the operands by the names of the row, None if they fit none of its forms."""
        for form in self.row.forms:
            found = _match(form, self.ins)
            if found is not None:
                outs = _match(self.row.outs, self.outs)
                return None if outs is None else found | outs
        return None


def declared_arch(op: Operation) -> str | None:
    """Return the target that the module of an op names; any text but a5 means a3."""
    while (parent := op.parent_op()) is not None:
        op = parent
    named = op.attributes.get("pto.target_arch")
    if not isinstance(named, StringAttr):
        return None
    return A5 if named.data.lower() == A5 else A3


def _paired(parser: Parser) -> list[SSAValue]:
    """Parse ``%a : TA, %b : TB``."""
    values: list[SSAValue] = []
    while not values or parser.parse_optional_punctuation(",") is not None:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        values.append(parser.resolve_operand(operand, parser.parse_type()))
    return values


def _print_pair(printer: Printer, value: SSAValue) -> None:
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)


def _match(form: Sequence[Operand], values: Sequence[SSAValue]) -> dict[str, SSAValue] | None:
    """Return the values by operand name if they are of the kinds of ``form``."""
    required = sum(not operand.optional for operand in form)
    if not required <= len(values) <= len(form):
        return None
    if not all(
        KINDS[operand.kind](value.type) for operand, value in zip(form, values, strict=False)
    ):
        return None
    return {operand.name: value for operand, value in zip(form, values, strict=False)}


def _tile_op(row: Row) -> type[TileOp]:
    name = row.name.removeprefix("pto.").replace(".", "_")
    return type(f"{name.title()}Op", (TileOp,), {"name": row.name, "row": row})


TILE_OPS: Final[Mapping[str, type[TileOp]]] = {name: _tile_op(row) for name, row in TABLE.items()}

# --------------------------------------------------------------------------------------------
# Ops of other dialects that xDSL does not have
# --------------------------------------------------------------------------------------------


@irdl_op_definition
class RemfOp(arith.FloatingPointLikeBinaryOperation):
    """``%r = arith.remf %a, %b : f32``."""

    name = "arith.remf"
    traits = traits_def(Pure())


@irdl_op_definition
class IndexCastUIOp(IRDLOperation):
    """``%i = arith.index_castui %a : i32 to index``, for a number that is not negative."""

    name = "arith.index_castui"
    input = operand_def(IntegerType | IndexType)
    result = result_def(IntegerType | IndexType)
    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"


MORE_ARITH: Final = (RemfOp, IndexCastUIOp)

# --------------------------------------------------------------------------------------------
# Pointers and views
# --------------------------------------------------------------------------------------------


@irdl_op_definition
class AddPtrOp(IRDLOperation):
    """``%q = pto.addptr %p, %i : !pto.ptr<f32> -> !pto.ptr<f32>``."""

    name = "pto.addptr"
    ptr = operand_def(PtrType)
    offset = operand_def(IndexType)
    result = result_def(PtrType)
    assembly_format = "$ptr `,` $offset attr-dict `:` type($ptr) `->` type($result)"


@irdl_op_definition
class LoadScalarOp(IRDLOperation):
    """``%e = pto.load_scalar %p[%i] : !pto.ptr<f32> -> f32``."""

    name = "pto.load_scalar"
    ptr = operand_def(PtrType)
    offset = operand_def(IndexType)
    value = result_def()
    assembly_format = "$ptr `[` $offset `]` attr-dict `:` type($ptr) `->` type($value)"


@irdl_op_definition
class StoreScalarOp(IRDLOperation):
    """``pto.store_scalar %e, %p[%i] : !pto.ptr<f32>, f32``."""

    name = "pto.store_scalar"
    value = operand_def()
    ptr = operand_def(PtrType)
    offset = operand_def(IndexType)
    assembly_format = "$value `,` $ptr `[` $offset `]` attr-dict `:` type($ptr) `,` type($value)"


@irdl_op_definition
class MakeTensorViewOp(IRDLOperation):
    """``%v = pto.make_tensor_view %p, shape = [..], strides = [..] : !pto.tensor_view<?x?xf32>``.

    The type of the pointer follows from that of the view.
    """

    name = "pto.make_tensor_view"
    ptr = operand_def(PtrType)
    shape = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    result = result_def(TensorViewType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the op's name."""
        ptr = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        shape = _named_indices(parser, "shape")
        parser.parse_punctuation(",")
        strides = _named_indices(parser, "strides")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        place = parser.pos
        result = parser.parse_type()
        if not isinstance(result, TensorViewType):
            parser.raise_error("the result of make_tensor_view is a !pto.tensor_view", place)
        pointer = parser.resolve_operand(ptr, PtrType(result.data.element))
        return cls.build(
            operands=[pointer, shape, strides], result_types=[result], attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        """Print what follows the op's name, on one line."""
        self.print_shape(printer)
        printer.print_string(" ")
        self.print_strides(printer)

    def print_shape(self, printer: Printer) -> None:
        """Print the first part, up to ``shape = [..],``."""
        printer.print_string(" ")
        printer.print_ssa_value(self.ptr)
        printer.print_string(", shape = [")
        print_values(printer, self.shape)
        printer.print_string("],")

    def print_strides(self, printer: Printer) -> None:
        """Print the second part, from ``strides`` on."""
        printer.print_string("strides = [")
        print_values(printer, self.strides)
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


def _indices(parser: Parser) -> list[SSAValue]:
    """Parse ``[%a, %b]``, values of type ``index``."""
    operands = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_unresolved_operand
    )
    return _resolve(parser, operands, [IndexType()] * len(operands))


def _named_indices(parser: Parser, name: str) -> list[SSAValue]:
    parser.parse_keyword(name)
    parser.parse_punctuation("=")
    return _indices(parser)


@irdl_op_definition
class GetTensorViewDimOp(IRDLOperation):
    """``%d = pto.get_tensor_view_dim %v, %c0 : !pto.tensor_view<?x?xf32> -> index``."""

    name = "pto.get_tensor_view_dim"
    view = operand_def(TensorViewType)
    dim = operand_def(IndexType)
    result = result_def(IndexType)
    assembly_format = "$view `,` $dim attr-dict `:` type($view) `->` type($result)"


@irdl_op_definition
class PartitionViewOp(IRDLOperation):
    """``%q = pto.partition_view %v, offsets = [..], sizes = [..] : VIEW -> PARTITION``."""

    name = "pto.partition_view"
    view = operand_def(TensorViewType)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    result = result_def(PartitionType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the op's name."""
        view = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        offsets = _named_indices(parser, "offsets")
        parser.parse_punctuation(",")
        sizes = _named_indices(parser, "sizes")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source = parser.parse_type()
        parser.parse_punctuation("->")
        result = parser.parse_type()
        return cls.build(
            operands=[parser.resolve_operand(view, source), offsets, sizes],
            result_types=[result],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Print what follows the op's name, on one line."""
        self.print_region(printer)
        printer.print_string(" ")
        self.print_types(printer)

    def print_region(self, printer: Printer) -> None:
        """Print the first part, up to ``sizes = [..]``."""
        printer.print_string(" ")
        printer.print_ssa_value(self.view)
        printer.print_string(", offsets = [")
        print_values(printer, self.offsets)
        printer.print_string("], sizes = [")
        print_values(printer, self.sizes)
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)

    def print_types(self, printer: Printer) -> None:
        """Print the second part, from the colon on."""
        printer.print_string(": ")
        printer.print_attribute(self.view.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)


# --------------------------------------------------------------------------------------------
# Tiles
# --------------------------------------------------------------------------------------------


@irdl_op_definition
class AllocTileOp(IRDLOperation):
    """``%t = pto.alloc_tile addr = %a valid_row = %r valid_col = %c : !pto.tile_buf<..>``."""

    name = "pto.alloc_tile"
    addr = opt_operand_def(IntegerType(64))
    valid_row = opt_operand_def(IndexType)
    valid_col = opt_operand_def(IndexType)
    result = result_def(TileType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the op's name."""
        operands: list[list[SSAValue]] = []
        for name, kind in (("addr", I64), ("valid_row", IndexType()), ("valid_col", IndexType())):
            found: list[SSAValue] = []
            if parser.parse_optional_keyword(name) is not None:
                parser.parse_punctuation("=")
                found.append(parser.resolve_operand(parser.parse_unresolved_operand(), kind))
            operands.append(found)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        result = parser.parse_type()
        return cls.build(operands=operands, result_types=[result], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print what follows the op's name."""
        named = {"addr": self.addr, "valid_row": self.valid_row, "valid_col": self.valid_col}
        for name, value in named.items():
            if value is not None:
                printer.print_string(f" {name} = ")
                printer.print_ssa_value(value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class SetValidShapeOp(IRDLOperation):
    """``pto.set_validshape %t, %r, %c : !pto.tile_buf<..>``."""

    name = "pto.set_validshape"
    tile = operand_def(TileType)
    row = operand_def(IndexType)
    col = operand_def(IndexType)
    assembly_format = "$tile `,` $row `,` $col attr-dict `:` type($tile)"


@irdl_op_definition
class SubsetOp(IRDLOperation):
    """``%s = pto.subset %t[%r, %c] sizes [16, 32] : !pto.tile_buf<..>``, part of a tile."""

    name = "pto.subset"
    source = operand_def(TileType)
    offsets = var_operand_def(IndexType)
    sizes = attr_def(ArrayAttr)
    result = result_def(TileType)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the op's name; the type of the result follows from the sizes."""
        source = parser.parse_unresolved_operand()
        offsets = _indices(parser)
        parser.parse_keyword("sizes")
        place = parser.pos
        sizes = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        if not isinstance(kind, TileType) or len(sizes) != 2:
            parser.raise_error("a subset has two sizes and is of a tile", place)
        numbers = ArrayAttr([IntegerAttr(size, IntegerType(64)) for size in sizes])
        return cls.build(
            operands=[parser.resolve_operand(source, kind), offsets],
            result_types=[TileType(part_of(kind, sizes))],
            attributes=attributes | {"sizes": numbers},
        )

    def print(self, printer: Printer) -> None:
        """Print what follows the op's name."""
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string("[")
        print_values(printer, self.offsets)
        printer.print_string("] sizes [")
        printer.print_string(", ".join(str(size) for size in self.shape))
        printer.print_string("]")
        printer.print_op_attributes(self.attributes, reserved_attr_names=["sizes"])
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns of the part."""
        return tuple(size.value.data for size in self.sizes if isinstance(size, IntegerAttr))


def part_of(kind: TileType, sizes: Sequence[int]) -> Tile:
    """Return the type of a part of a tile, all of it valid."""
    rows, cols = sizes
    return replace(kind.data, rows=rows, cols=cols, valid_row=rows, valid_col=cols)


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """``%w = pto.treshape %t : T -> U``, the bytes of a tile as one of another shape."""

    name = "pto.treshape"
    source = operand_def(TileType)
    result = result_def(TileType)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"


@irdl_op_definition
class BitcastOp(IRDLOperation):
    """``%i = pto.bitcast %t : T -> U``, the bytes of a tile as other elements."""

    name = "pto.bitcast"
    source = operand_def(TileType)
    result = result_def(TileType)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"


@irdl_op_definition
class AssignOp(IRDLOperation):
    """``%u = pto.tassign %t, %addr : T -> T``, a tile at another address."""

    name = "pto.tassign"
    source = operand_def(TileType)
    addr = operand_def(IntegerType(64))
    result = result_def(TileType)
    assembly_format = "$source `,` $addr attr-dict `:` type($source) `->` type($result)"


@irdl_op_definition
class GetValueOp(IRDLOperation):
    """``%v = pto.tgetval ins(%t, %i : T, index) outs : f32``, one element of a tile."""

    name = "pto.tgetval"
    source = operand_def(TileType)
    offset = operand_def(IndexType)
    value = result_def()
    assembly_format = (
        "`ins` `(` $source `,` $offset `:` type($source) `,` type($offset) `)` "
        "`outs` `:` type($value) attr-dict"
    )


@irdl_op_definition
class SetValueOp(IRDLOperation):
    """``pto.tsetval ins(%i, %v : index, f32) outs(%t : T)``, writes one element of a tile."""

    name = "pto.tsetval"
    offset = operand_def(IndexType)
    value = operand_def()
    target = operand_def(TileType)
    assembly_format = (
        "`ins` `(` $offset `,` $value `:` type($offset) `,` type($value) `)` "
        "`outs` `(` $target `:` type($target) `)` attr-dict"
    )


# --------------------------------------------------------------------------------------------
# Blocks, debugging, sections
# --------------------------------------------------------------------------------------------


class _BlockOp(IRDLOperation):
    result = result_def(IntegerType(64))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        return cls.create(result_types=[I64], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class GetBlockIdxOp(_BlockOp):
    """``%b = pto.get_block_idx``, which block this is."""

    name = "pto.get_block_idx"


@irdl_op_definition
class GetBlockNumOp(_BlockOp):
    """``%n = pto.get_block_num``, how many blocks there are."""

    name = "pto.get_block_num"


@irdl_op_definition
class GetSubblockIdxOp(_BlockOp):
    """``%b = pto.get_subblock_idx``, which vector core of a block this is."""

    name = "pto.get_subblock_idx"


@irdl_op_definition
class GetSubblockNumOp(_BlockOp):
    """``%n = pto.get_subblock_num``, how many vector cores a block has."""

    name = "pto.get_subblock_num"


@irdl_op_definition
class PrintOp(IRDLOperation):
    """``pto.print ins("v=%d", %v : i32)``."""

    name = "pto.print"
    value = operand_def()
    format = attr_def(StringAttr)
    assembly_format = "`ins` `(` $format `,` $value `:` type($value) `)` attr-dict"


@irdl_op_definition
class TrapOp(IRDLOperation):
    """``pto.trap``, which ends the kernel."""

    name = "pto.trap"
    assembly_format = "attr-dict"


class SectionOp(IRDLOperation):
    """A region that only one of the cores executes."""

    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse the region."""
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        return cls.create(regions=[region])

    def print(self, printer: Printer) -> None:
        """Print the region."""
        printer.print_string(" ")
        printer.print_region(self.body)


@irdl_op_definition
class CubeSectionOp(SectionOp):
    """``pto.section.cube { .. }``, for the core that multiplies matrices."""

    name = "pto.section.cube"


@irdl_op_definition
class VectorSectionOp(SectionOp):
    """``pto.section.vector { .. }``, for the vector cores."""

    name = "pto.section.vector"


# --------------------------------------------------------------------------------------------
# Synchronization
# --------------------------------------------------------------------------------------------


class WordsOp(Operation):
    """An op whose operands are words, such as ``pto.set_flag[<PIPE_V>, <PIPE_MTE3>, ..]``."""

    words: ClassVar[tuple[type[Word], ...]]
    brackets: ClassVar[bool] = True
    full: ClassVar[bool] = False
    """True if the words are read only as ``#pto.event<..>``, not as ``<..>``."""
    extra: ClassVar[str] = ""
    """What follows the words: an ``index`` value, a ``number``, or nothing."""
    traits = OpTraits(tuple)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the op's name."""
        if cls.brackets:
            parser.parse_punctuation("[")
        attributes: dict[str, Attribute] = {}
        operands: list[SSAValue] = []
        for index, word in enumerate(cls.words):
            if index:
                parser.parse_punctuation(",")
            attributes[f"word{index}"] = cls._word(parser, word)
        if cls.extra:
            parser.parse_punctuation(",")
        if cls.extra == "index":
            operand = parser.parse_unresolved_operand()
            operands.append(parser.resolve_operand(operand, IndexType()))
        elif cls.extra == "number":
            number = parser.parse_integer(allow_boolean=False)
            attributes["number"] = IntegerAttr(number, IntegerType(32))
            if parser.parse_optional_punctuation(",") is not None:
                mode = parser.parse_integer(allow_boolean=False)
                attributes["mode"] = IntegerAttr(mode, IntegerType(32))
        if cls.brackets:
            parser.parse_punctuation("]")
        attributes |= parser.parse_optional_attr_dict()
        return cls.create(operands=operands, attributes=attributes)

    @classmethod
    def _word(cls, parser: Parser, word: type[Word]) -> Attribute:
        place = parser.pos
        if not cls.full and parser.parse_optional_punctuation("<") is not None:
            name = parser.parse_identifier()
            parser.parse_punctuation(">")
            if name not in word.words:
                parser.raise_error(
                    f"{word.name} is {name!r}, wanted one of {', '.join(word.words)}", place
                )
            return word(name)
        found = parser.parse_attribute()
        if not isinstance(found, word):
            parser.raise_error(f"expected an attribute #{word.name}<..>", place)
        return found

    def print(self, printer: Printer) -> None:
        """Print what follows the op's name, words in the short form where it is read."""
        printer.print_string("[" if self.brackets else " ")
        for index, part in enumerate(self._parts()):
            if index:
                printer.print_string(", ")
            if isinstance(part, SSAValue):
                printer.print_ssa_value(part)
            elif isinstance(part, IntegerAttr):
                printer.print_string(str(part.value.data))
            elif isinstance(part, Word) and not self.full:
                printer.print_string(f"<{part.data}>")
            else:
                printer.print_attribute(part)
        if self.brackets:
            printer.print_string("]")
        names = [*(f"word{i}" for i in range(len(self.words))), "number", "mode"]
        printer.print_op_attributes(self.attributes, reserved_attr_names=names)

    def _parts(self) -> Iterator[Attribute | SSAValue]:
        yield from (self.attributes[f"word{i}"] for i in range(len(self.words)))
        yield from self.operands
        yield from (self.attributes[name] for name in ("number", "mode") if name in self.attributes)


def _words_op(
    name: str,
    *words: type[Word],
    brackets: bool = True,
    full: bool = False,
    extra: str = "",
) -> type[WordsOp]:
    members = {"name": f"pto.{name}", "words": words, "brackets": brackets, "full": full}
    title = name.title().replace("_", "").replace(".", "")
    return type(f"{title}Op", (WordsOp,), members | {"extra": extra})


SetFlagOp: Final = _words_op("set_flag", Pipe, Pipe, Event)
WaitFlagOp: Final = _words_op("wait_flag", Pipe, Pipe, Event)
SetFlagDynOp: Final = _words_op("set_flag_dyn", Pipe, Pipe, extra="index")
WaitFlagDynOp: Final = _words_op("wait_flag_dyn", Pipe, Pipe, extra="index")
BarrierOp: Final = _words_op("barrier", Pipe, brackets=False)
BarrierSyncOp: Final = _words_op("barrier_sync", Endpoint)
RecordEventOp: Final = _words_op("record_event", Endpoint, Endpoint, Event, full=True)
WaitEventOp: Final = _words_op("wait_event", Endpoint, Endpoint, Event, full=True)
GetBufOp: Final = _words_op("get_buf", Endpoint, full=True, extra="number")
RlsBufOp: Final = _words_op("rls_buf", Endpoint, full=True, extra="number")
SyncSetOp: Final = _words_op("sync.set", Pipe, brackets=False, extra="number")
SyncWaitOp: Final = _words_op("sync.wait", Pipe, brackets=False, extra="number")
WORD_OPS: Final = (
    SetFlagOp,
    WaitFlagOp,
    SetFlagDynOp,
    WaitFlagDynOp,
    BarrierOp,
    BarrierSyncOp,
    RecordEventOp,
    WaitEventOp,
    GetBufOp,
    RlsBufOp,
    SyncSetOp,
    SyncWaitOp,
)


@irdl_op_definition
class SetFftsOp(IRDLOperation):
    """``pto.set_ffts %m : memref<64xi64>``, where a3 keeps flags between cores."""

    name = "pto.set_ffts"
    buffer = operand_def(MemRefType)
    assembly_format = "$buffer attr-dict `:` type($buffer)"


# --------------------------------------------------------------------------------------------
# Tiles handed from one core to the other
# --------------------------------------------------------------------------------------------


@irdl_op_definition
class ReserveBufferOp(IRDLOperation):
    """``%b = pto.reserve_buffer {name = "c2v", size = 32768, .., auto = true} -> i32``."""

    name = "pto.reserve_buffer"
    result = result_def(IntegerType(32))
    assembly_format = "attr-dict `->` type($result)"


@irdl_op_definition
class ImportReservedBufferOp(IRDLOperation):
    """``%b = pto.import_reserved_buffer {name = "c2v", peer_func = @vect} -> i32``."""

    name = "pto.import_reserved_buffer"
    result = result_def(IntegerType(32))
    assembly_format = "attr-dict `->` type($result)"


class InitializePipeOp(Operation):
    """``pto.aic_initialize_pipe {dir_mask = 1, ..} (gm_slot_buffer = %gm : !pto.ptr<f32>, ..)``."""

    traits = OpTraits(tuple)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the op's name."""
        attributes = parser.parse_optional_attr_dict()
        names: list[str] = []

        def operand() -> SSAValue:
            names.append(parser.parse_identifier())
            parser.parse_punctuation("=")
            value = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            return parser.resolve_operand(value, parser.parse_type())

        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, operand)
        attributes["names"] = ArrayAttr([StringAttr(name) for name in names])
        return cls.create(operands=operands, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print what follows the op's name."""
        printer.print_op_attributes(self.attributes, reserved_attr_names=["names"])
        printer.print_string(" (")
        for index, (name, value) in enumerate(zip(self.names, self.operands, strict=True)):
            printer.print_string(f"{', ' if index else ''}{name} = ")
            _print_pair(printer, value)
        printer.print_string(")")

    @property
    def names(self) -> list[str]:
        """The names of the operands."""
        return [name.data for name in cast("ArrayAttr[StringAttr]", self.attributes["names"])]


class PushOp(Operation):
    """``pto.tpush_to_aiv(%a : T) {split = 0}``, hands a tile over."""

    traits = OpTraits(tuple)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the op's name."""
        parser.parse_punctuation("(")
        [value] = _paired(parser)
        parser.parse_punctuation(")")
        return cls.create(operands=[value], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        """Print what follows the op's name."""
        printer.print_string("(")
        _print_pair(printer, self.operands[0])
        printer.print_string(")")
        printer.print_op_attributes(self.attributes)


class PopOp(Operation):
    """``%t = pto.tpop_from_aic {split = 0} -> T``, takes a tile over."""

    traits = OpTraits(tuple)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the op's name."""
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation("->")
        return cls.create(result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print what follows the op's name."""
        printer.print_op_attributes(self.attributes)
        printer.print_string(" -> ")
        printer.print_attribute(self.results[0].type)


class FreeOp(Operation):
    """``pto.tfree_from_aic {split = 0}``, gives a tile's place back."""

    traits = OpTraits(tuple)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the op's name."""
        return cls.create(attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        """Print what follows the op's name."""
        printer.print_op_attributes(self.attributes)


def _twins(base: type[Operation], *names: str) -> tuple[type[Operation], ...]:
    return tuple(
        type(f"{name.title().replace('_', '')}Op", (base,), {"name": f"pto.{name}"})
        for name in names
    )


INITIALIZE_PIPE_OPS: Final = _twins(InitializePipeOp, "aic_initialize_pipe", "aiv_initialize_pipe")
HAND_OVER_OPS: Final = (
    *INITIALIZE_PIPE_OPS,
    *_twins(PushOp, "tpush_to_aiv", "tpush_to_aic"),
    *_twins(PopOp, "tpop_from_aic", "tpop_from_aiv"),
    *_twins(FreeOp, "tfree_from_aic", "tfree_from_aiv"),
)

PTO: Final = Dialect(
    "pto",
    [
        *TILE_OPS.values(),
        AddPtrOp,
        LoadScalarOp,
        StoreScalarOp,
        MakeTensorViewOp,
        GetTensorViewDimOp,
        PartitionViewOp,
        AllocTileOp,
        SetValidShapeOp,
        SubsetOp,
        ReshapeOp,
        BitcastOp,
        AssignOp,
        GetValueOp,
        SetValueOp,
        GetBlockIdxOp,
        GetBlockNumOp,
        GetSubblockIdxOp,
        GetSubblockNumOp,
        PrintOp,
        TrapOp,
        CubeSectionOp,
        VectorSectionOp,
        *WORD_OPS,
        SetFftsOp,
        ReserveBufferOp,
        ImportReservedBufferOp,
        *HAND_OVER_OPS,
    ],
    [*TYPES, *WORDS],
)
