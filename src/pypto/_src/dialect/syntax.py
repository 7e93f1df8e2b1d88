"""The assembler's lists: values, types and pairs of them, read and printed.

Knows no op.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer


def operand_list(parser: Parser, *, may_end_in_comma: bool = False) -> list[UnresolvedOperand]:
    """Parse ``%a, %b``, with an optional trailing comma if ``may_end_in_comma``."""
    operands = [parser.parse_unresolved_operand()]
    while parser.parse_optional_punctuation(",") is not None:
        operand = parser.parse_optional_unresolved_operand()
        if operand is None and may_end_in_comma:
            break
        if operand is None:
            parser.raise_error("expected an operand after the comma")
        operands.append(operand)
    return operands


def type_list(parser: Parser) -> list[Attribute]:
    """Parse ``T, U``."""
    types: list[Attribute] = [parser.parse_type()]
    while parser.parse_optional_punctuation(",") is not None:
        types.append(parser.parse_type())
    return types


def resolve(
    parser: Parser, operands: Sequence[UnresolvedOperand], types: Sequence[Attribute]
) -> list[SSAValue]:
    """Resolve parsed operands of these types to values."""
    return list(parser.resolve_operands(operands, types, parser.pos))


def print_values(printer: Printer, values: Sequence[SSAValue]) -> None:
    """Print values separated by commas."""
    printer.print_list(values, printer.print_ssa_value)


def print_types(printer: Printer, values: Sequence[SSAValue]) -> None:
    """Print the types of values separated by commas."""
    printer.print_list([value.type for value in values], printer.print_attribute)


def paired(parser: Parser) -> list[SSAValue]:
    """Parse ``%a : TA, %b : TB``."""
    values: list[SSAValue] = []
    while not values or parser.parse_optional_punctuation(",") is not None:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        values.append(parser.resolve_operand(operand, parser.parse_type()))
    return values


def print_pair(printer: Printer, value: SSAValue) -> None:
    """Print ``%a : T``."""
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)


def indices(parser: Parser) -> list[SSAValue]:
    """Parse ``[%a, %b]``, values of type ``index``."""
    operands = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_unresolved_operand
    )
    return resolve(parser, operands, [IndexType()] * len(operands))


def named_indices(parser: Parser, name: str) -> list[SSAValue]:
    """Parse ``name = [%a, %b]``, values of type ``index``."""
    parser.parse_keyword(name)
    parser.parse_punctuation("=")
    return indices(parser)
