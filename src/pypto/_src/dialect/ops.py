"""The dialect: its ops as xDSL classes, with the assembler's concrete syntax.

Here are the ops that are neither tile ops generated from a table (`tile_ops`) nor synchronisation
(`sync_ops`): pointers, views, allocation and views of tiles, blocks and sections. `verify` checks
which values an op takes; here only its syntax is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Self

from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Block, Dialect, SSAValue
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
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, Pure

from pypto._src.dialect.sync_ops import (
    CROSS_CORE_OPS,
    KEYWORD_OPS,
    ImportReservedBufferOp,
    ReserveBufferOp,
    SetFftsOp,
)
from pypto._src.dialect.syntax import indices, named_indices, print_values
from pypto._src.dialect.tile_ops import TILE_OPS
from pypto._src.dialect.types import (
    I64,
    TYPES,
    WORDS,
    PartitionType,
    PtrType,
    TensorViewType,
    Tile,
    TileType,
)

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
        shape = named_indices(parser, "shape")
        parser.parse_punctuation(",")
        strides = named_indices(parser, "strides")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        result = parser.parse_type()
        if not isinstance(result, TensorViewType):
            parser.raise_error("the result of make_tensor_view is a !pto.tensor_view", start)
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
        """Print the second part, starting at ``strides``."""
        printer.print_string("strides = [")
        print_values(printer, self.strides)
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


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
        offsets = named_indices(parser, "offsets")
        parser.parse_punctuation(",")
        sizes = named_indices(parser, "sizes")
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
        """Print the second part, starting at the colon."""
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
        offsets = indices(parser)
        parser.parse_keyword("sizes")
        start = parser.pos
        sizes = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        if not isinstance(kind, TileType) or len(sizes) != 2:
            parser.raise_error("a subset has two sizes and is of a tile", start)
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
    """``%w = pto.treshape %t : T -> U``, the bytes of a tile in another shape."""

    name = "pto.treshape"
    source = operand_def(TileType)
    result = result_def(TileType)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"


@irdl_op_definition
class BitcastOp(IRDLOperation):
    """``%i = pto.bitcast %t : T -> U``, the bytes of a tile as elements of another type."""

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
    """``%b = pto.get_block_idx``, the index of this block."""

    name = "pto.get_block_idx"


@irdl_op_definition
class GetBlockNumOp(_BlockOp):
    """``%n = pto.get_block_num``, the number of blocks."""

    name = "pto.get_block_num"


@irdl_op_definition
class GetSubblockIdxOp(_BlockOp):
    """``%b = pto.get_subblock_idx``, the index of this vector core in its block."""

    name = "pto.get_subblock_idx"


@irdl_op_definition
class GetSubblockNumOp(_BlockOp):
    """``%n = pto.get_subblock_num``, the number of vector cores of a block."""

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
    """A region that only one kind of core executes."""

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
    """``pto.section.cube { .. }``, for the cube core."""

    name = "pto.section.cube"


@irdl_op_definition
class VectorSectionOp(SectionOp):
    """``pto.section.vector { .. }``, for the vector cores."""

    name = "pto.section.vector"


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
        *KEYWORD_OPS,
        SetFftsOp,
        ReserveBufferOp,
        ImportReservedBufferOp,
        *CROSS_CORE_OPS,
    ],
    [*TYPES, *WORDS],
)
