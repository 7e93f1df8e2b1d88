"""Synchronisation ops of the dialect: flags, barriers, and tiles passed between cores.

Their operands are keywords such as ``<PIPE_V>``, or the buffers between the two kinds of cores.
Owns their syntax; `verify` checks which keywords an op takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final, Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, OpTraits, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from pypto._src.dialect.syntax import paired, print_pair
from pypto._src.dialect.types import Endpoint, Event, Pipe, Word


class KeywordsOp(Operation):
    """An op whose operands are keywords, such as ``pto.set_flag[<PIPE_V>, <PIPE_MTE3>, ..]``."""

    words: ClassVar[tuple[type[Word], ...]]
    brackets: ClassVar[bool] = True
    full: ClassVar[bool] = False
    """True if the keywords are parsed only as ``#pto.event<..>``, not as ``<..>``."""
    extra: ClassVar[str] = ""
    """What follows the keywords: an ``index`` value, a ``number``, or nothing."""
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
        start = parser.pos
        if not cls.full and parser.parse_optional_punctuation("<") is not None:
            name = parser.parse_identifier()
            parser.parse_punctuation(">")
            if name not in word.words:
                parser.raise_error(
                    f"{word.name} is {name!r}, wanted one of {', '.join(word.words)}", start
                )
            return word(name)
        found = parser.parse_attribute()
        if not isinstance(found, word):
            parser.raise_error(f"expected an attribute #{word.name}<..>", start)
        return found

    def print(self, printer: Printer) -> None:
        """Print what follows the op's name, keywords in the short form if that is accepted."""
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
) -> type[KeywordsOp]:
    members = {"name": f"pto.{name}", "words": words, "brackets": brackets, "full": full}
    title = name.title().replace("_", "").replace(".", "")
    return type(f"{title}Op", (KeywordsOp,), members | {"extra": extra})


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
KEYWORD_OPS: Final = (
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
    """``pto.set_ffts %m : memref<64xi64>``, the memory of a3's cross-core flags."""

    name = "pto.set_ffts"
    buffer = operand_def(MemRefType)
    assembly_format = "$buffer attr-dict `:` type($buffer)"


# --------------------------------------------------------------------------------------------
# Tiles passed between cores
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
            print_pair(printer, value)
        printer.print_string(")")

    @property
    def names(self) -> list[str]:
        """The names of the operands."""
        return [name.data for name in cast("ArrayAttr[StringAttr]", self.attributes["names"])]


class PushOp(Operation):
    """``pto.tpush_to_aiv(%a : T) {split = 0}``, sends a tile to the other core."""

    traits = OpTraits(tuple)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the op's name."""
        parser.parse_punctuation("(")
        [value] = paired(parser)
        parser.parse_punctuation(")")
        return cls.create(operands=[value], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        """Print what follows the op's name."""
        printer.print_string("(")
        print_pair(printer, self.operands[0])
        printer.print_string(")")
        printer.print_op_attributes(self.attributes)


class PopOp(Operation):
    """``%t = pto.tpop_from_aic {split = 0} -> T``, receives a tile from the other core."""

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
    """``pto.tfree_from_aic {split = 0}``, releases the slot of a received tile."""

    traits = OpTraits(tuple)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what follows the op's name."""
        return cls.create(attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        """Print what follows the op's name."""
        printer.print_op_attributes(self.attributes)


def _variants(base: type[Operation], *names: str) -> tuple[type[Operation], ...]:
    return tuple(
        type(f"{name.title().replace('_', '')}Op", (base,), {"name": f"pto.{name}"})
        for name in names
    )


INITIALIZE_PIPE_OPS: Final = _variants(
    InitializePipeOp, "aic_initialize_pipe", "aiv_initialize_pipe"
)
CROSS_CORE_OPS: Final = (
    *INITIALIZE_PIPE_OPS,
    *_variants(PushOp, "tpush_to_aiv", "tpush_to_aic"),
    *_variants(PopOp, "tpop_from_aic", "tpop_from_aiv"),
    *_variants(FreeOp, "tfree_from_aic", "tfree_from_aiv"),
)
