"""What the rules of the verifier find: the codes of each rule, and how a finding is made.

Knows no rule; `structure`, `types`, `ssa` and `nested_calls` have one each.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final

from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, Label, Span
from pypto._src.ir.exprs import IRNode


class StructureErrorType(IntEnum):
    """What rule ``Structure`` finds."""

    YIELD_NOT_LAST = 301
    YIELD_OUTSIDE_REGION = 302
    RETURN_NOT_LAST = 303
    JUMP_OUTSIDE_LOOP = 304
    UNKNOWN_FUNCTION = 305
    ARGUMENT_COUNT = 306
    UNKNOWN_ENTRY = 307


class SSAErrorType(IntEnum):
    """What rule ``SSAVerify`` finds.

    Nothing has code 2: distinct variables may share a name.
    """

    MULTIPLE_ASSIGNMENT = 1
    NAME_SHADOWING = 2
    MISSING_YIELD = 3
    YIELD_COUNT_MISMATCH = 4
    UNDEFINED_VARIABLE = 5
    EARLY_RETURN = 6


class TypeCheckErrorType(IntEnum):
    """What rule ``TypeCheck`` finds."""

    TYPE_KIND_MISMATCH = 101
    DTYPE_MISMATCH = 102
    SHAPE_DIMENSION_MISMATCH = 103
    SHAPE_VALUE_MISMATCH = 104
    SIZE_MISMATCH = 105
    CONDITION_NOT_SCALAR = 106
    BOUND_NOT_INTEGER = 107
    OPERAND_MISMATCH = 108
    CALL_TYPE_MISMATCH = 109
    CONSTANT_KIND = 110


class NestedCallErrorType(IntEnum):
    """What rule ``NoNestedCall`` finds."""

    CALL_IN_CALL_ARGS = 201
    CALL_IN_IF_CONDITION = 202
    CALL_IN_FOR_RANGE = 203
    CALL_IN_BINARY_EXPR = 204
    CALL_IN_UNARY_EXPR = 205
    CALL_IN_WHILE_CONDITION = 206
    CALL_IN_TUPLE = 207
    CALL_IN_INIT_VALUE = 208
    CALL_IN_YIELD_OR_RETURN = 209


_RULE_OF_CODES: Final[dict[type[IntEnum], str]] = {
    StructureErrorType: "Structure",
    SSAErrorType: "SSAVerify",
    TypeCheckErrorType: "TypeCheck",
    NestedCallErrorType: "NoNestedCall",
}
CODE_NAMES: Final = {
    (rule, int(code)): code.name for kind, rule in _RULE_OF_CODES.items() for code in kind
}
"""The name of a finding in reports, by rule and number."""


def finding(
    code: IntEnum,
    message: str,
    span: Span,
    *,
    related: Sequence[Label] = (),
    hint: str | None = None,
) -> Diagnostic:
    """Return an error of the rule to which ``code`` belongs."""
    rule = _RULE_OF_CODES[type(code)]
    severity = DiagnosticSeverity.Error
    labels = tuple(related)
    return Diagnostic(severity, rule, int(code), message, span, related=labels, hint=hint)


def span_or(node: IRNode, span: Span) -> Span:
    """Return the span for a finding about a part of a statement at ``span``."""
    return node.span if node.span.begin_line > 0 else span
