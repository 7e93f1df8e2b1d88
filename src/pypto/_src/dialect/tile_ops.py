"""Tile ops as xDSL classes: one generated from each row of `table`, with the assembler's syntax.

Owns how operands in ``ins(..)`` and ``outs(..)`` are matched to the names in the row, and that an
op is checked by the row's rules for the target that its module names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Self

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, OpTraits, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pypto._src.dialect.rules import A3, A5, ARCHS, Broken, Site, attribute_of, first_broken
from pypto._src.dialect.syntax import (
    operand_list,
    paired,
    print_pair,
    print_types,
    print_values,
    resolve,
    type_list,
)
from pypto._src.dialect.table import KINDS, TABLE, Operand, Row


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
            operands, attributes = paired(parser), dict[str, Attribute]()
        else:
            operands, attributes = cls._grouped(parser)
        parser.parse_punctuation(")")
        if cls.row.outs:
            parser.parse_keyword("outs")
            parser.parse_punctuation("(")
            start = parser.pos
            outs = operand_list(parser)
            if len(outs) != len(cls.row.outs):
                wanted = len(cls.row.outs)
                parser.raise_error(f"{cls.name} has {len(outs)} results, wanted {wanted}", start)
            parser.parse_punctuation(":")
            operands += resolve(parser, outs, type_list(parser))
            parser.parse_punctuation(")")
        if not cls.row.inner:
            attributes |= parser.parse_optional_attr_dict()
        return cls.create(operands=operands, attributes=attributes)

    @classmethod
    def _grouped(cls, parser: Parser) -> tuple[list[SSAValue], dict[str, Attribute]]:
        """Parse ``%a, %b {attributes} : TA, TB``."""
        # Only a mask pattern follows a comma: `ins(%a, {maskPattern = ..} : T)`.
        operands = operand_list(parser, may_end_in_comma="maskPattern" in cls.row.inner)
        attributes = parser.parse_optional_attr_dict() if cls.row.inner else {}
        parser.parse_punctuation(":")
        return resolve(parser, operands, type_list(parser)), attributes

    def print(self, printer: Printer) -> None:
        """Print what follows the op's name, on one line."""
        self.print_ins(printer)
        if self.row.outs:
            printer.print_string(" ")
            self.print_outs(printer)

    def print_ins(self, printer: Printer) -> None:
        """Print ``ins(..)`` with a space before it, and the attributes if there is no ``outs``."""
        printer.print_string(" ins(")
        if self.row.paired:
            printer.print_list(self.ins, lambda value: print_pair(printer, value))
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

        ``declared`` is the target that the module names, for rules that depend on it.
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
        """Return the operands by name, None if they match none of the row's forms."""
        for form in self.row.forms:
            found = _match(form, self.ins)
            if found is not None:
                outs = _match(self.row.outs, self.outs)
                return None if outs is None else found | outs
        return None


def declared_arch(op: Operation) -> str | None:
    """Return the target named by the module of an op; any text other than a5 means a3."""
    while (parent := op.parent_op()) is not None:
        op = parent
    named = op.attributes.get("pto.target_arch")
    if not isinstance(named, StringAttr):
        return None
    return A5 if named.data.lower() == A5 else A3


def _match(form: Sequence[Operand], values: Sequence[SSAValue]) -> dict[str, SSAValue] | None:
    """Return the values by operand name if their kinds match ``form``, else None."""
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
