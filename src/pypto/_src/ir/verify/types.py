"""The rule TypeCheck: values have the types of their variables, and of what computes them.

Calls of ops have the type that the op's rule gives. Holds of every program. Knows no op by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from pypto._src.diagnostics import Diagnostic, Span
from pypto._src.dtypes import DataType
from pypto._src.errors import PyptoError, with_article
from pypto._src.ir.array_types import ShapedType, dtype_of, same_valid_part, valid_part
from pypto._src.ir.exprs import (
    LOGICAL,
    BinaryExpr,
    Call,
    ConstFloat,
    ConstInt,
    Expr,
    GlobalVar,
    IRNode,
    IterArg,
    Var,
    Xor,
    const_value,
)
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.traversal.queries import held_by
from pypto._src.ir.traversal.walk import child_fields, child_list
from pypto._src.ir.types import ScalarType, TupleType, Type, UnknownType, same_type
from pypto._src.ir.verify.codes import TypeCheckErrorType, finding, span_or
from pypto._src.ir.verify.ssa import look
from pypto._src.ir.verify.verification_cache import INDEX_TYPE, VerificationCache, is_right_constant


def type_check(program: Program, cache: VerificationCache | None = None) -> Iterator[Diagnostic]:
    """Values have the types of what takes them; scalars and calls fit their operands."""
    cache = cache or VerificationCache()
    functions = {function.name: function for function in program.functions_}
    for function in program.functions_:
        for stmt in look(function, cache).doubtful:
            yield from _stmt_types(stmt, function)
            for node in _expressions(stmt):
                yield from _expr_types(node, functions, stmt.span, cache)


def _stmt_types(stmt: Stmt, function: Function) -> Iterator[Diagnostic]:
    codes = TypeCheckErrorType
    match stmt:
        case AssignStmt():
            wanted, found = stmt.var.type, stmt.value.type
            narrowed = valid_part(found) is None  # a declaration may narrow a tile's valid part
            if _differ(wanted, found) or not (narrowed or _same_part(wanted, found)):
                what = f"variable {stmt.var.name!r}"
                yield _mismatch(what, wanted, "its value", found, stmt.span)
        case IfStmt():
            yield from _condition(stmt.condition, "an if", stmt.span)
            for body in (stmt.then_body, stmt.else_body):
                yield from _yielded(body, stmt.return_vars)
        case ForStmt():
            yield from _bounds(stmt)
            yield from _loop_types(stmt)
        case WhileStmt():
            yield from _condition(stmt.condition, "a while", stmt.span)
            yield from _loop_types(stmt)
        case ReturnStmt():
            if not function.return_types:
                return
            if len(stmt.value) != len(function.return_types):
                wanted, found = len(function.return_types), len(stmt.value)
                message = f"{function.name} returns {wanted} values, here it returns {found}"
                yield finding(codes.SIZE_MISMATCH, message, stmt.span)
                return
            for kind, value in zip(function.return_types, stmt.value, strict=True):
                if _differ(kind, value.type) or not _within(value.type, kind):
                    what = f"the result of {function.name}"
                    yield _mismatch(what, kind, "what it returns", value.type, stmt.span)
        case _:
            pass


def _condition(value: Expr, what: str, span: Span) -> Iterator[Diagnostic]:
    if not isinstance(value.type, ScalarType | UnknownType):
        message = f"the condition of {what} is a scalar, got {_spell(value.type)}"
        yield finding(TypeCheckErrorType.CONDITION_NOT_SCALAR, message, span)


def _bounds(stmt: ForStmt) -> Iterator[Diagnostic]:
    for value, what in (
        (stmt.start, "the start of a loop"),
        (stmt.stop, "the stop of a loop"),
        (stmt.step, "the step of a loop"),
        (stmt.loop_var, "a loop variable"),
    ):
        kind = value.type
        if isinstance(kind, UnknownType) or (isinstance(kind, ScalarType) and kind.dtype.is_int()):
            continue
        message = f"{what} is an integer, got {_spell(kind)}"
        yield finding(TypeCheckErrorType.BOUND_NOT_INTEGER, message, stmt.span)


def _loop_types(stmt: ForStmt | WhileStmt) -> Iterator[Diagnostic]:
    counts = len(stmt.iter_args), len(stmt.return_vars)
    if counts[0] != counts[1]:
        message = f"a loop carries {counts[0]} values and has {counts[1]} results"
        yield finding(TypeCheckErrorType.SIZE_MISMATCH, message, stmt.span)
    for arg in stmt.iter_args:
        first = arg.initValue.type
        if _differ(arg.type, first) or not _same_part(arg.type, first):
            yield _mismatch(_named(arg), arg.type, "its init value", first, stmt.span)
    for arg, result in zip(stmt.iter_args, stmt.return_vars, strict=False):
        if _differ(result.type, arg.type) or not _same_part(result.type, arg.type):
            what = f"result {result.name!r}"
            yield _mismatch(what, result.type, _named(arg), arg.type, stmt.span)
    yield from _yielded(stmt.body, stmt.iter_args)


def _named(arg: IterArg) -> str:
    return f"iter_arg {arg.name!r}"


def _yielded(body: Stmt | None, targets: Sequence[Var]) -> Iterator[Diagnostic]:
    """Compare what a body yields with the variables that take it; `ssa` compares the counts."""
    stmts = statements(body)
    last = stmts[-1] if stmts else None
    if not isinstance(last, YieldStmt):
        return
    if len(last.value) != len(targets):
        message = f"{len(targets)} values are carried on, {len(last.value)} are yielded"
        yield finding(TypeCheckErrorType.SIZE_MISMATCH, message, last.span)
    for var, value in zip(targets, last.value, strict=False):
        if _differ(var.type, value.type) or not _same_part(var.type, value.type):
            what = "the yielded value"
            yield _mismatch(f"{var.name!r}", var.type, what, value.type, last.span)


def _differ(wanted: Type, found: Type) -> bool:
    """True if two types differ in kind, element type, rank or a constant dimension.

    Views and memory references may differ, and a symbolic dimension agrees with any other.
    """
    return wanted is not found and _difference(wanted, found) is not None


def _same_part(wanted: Type, found: Type) -> bool:
    """True unless the valid parts of two tiles differ."""
    if wanted is found or isinstance(wanted, UnknownType) or isinstance(found, UnknownType):
        return True
    return same_valid_part(wanted, found)


def _within(found: Type, stated: Type) -> bool:
    """True unless the stated type of a result claims another valid part than its value has.

    A symbolic size agrees with any other: each function has its own names.
    """
    part, claimed = valid_part(found), valid_part(stated)
    if part is None or isinstance(stated, UnknownType):
        return True
    if claimed is None:
        return False
    sizes = ((const_value(a), const_value(b)) for a, b in zip(part, claimed, strict=True))
    return all(a == b or a is None or b is None for a, b in sizes)


def _mismatch(what: str, wanted: Type, other: str, found: Type, span: Span) -> Diagnostic:
    code = _difference(wanted, found)
    texts = [with_article(_spell(kind)) for kind in (wanted, found)]
    if code is None:  # they are valid in different parts
        code = TypeCheckErrorType.SHAPE_VALUE_MISMATCH
        texts = [text + _part(kind) for text, kind in zip(texts, (wanted, found), strict=True)]
    return finding(code, f"{what} is {texts[0]}, {other} is {texts[1]}", span)


def _part(kind: Type) -> str:
    part = valid_part(kind)
    return " valid throughout" if part is None else f" valid in [{', '.join(map(str, part))}]"


def _difference(a: Type, b: Type) -> TypeCheckErrorType | None:
    codes = TypeCheckErrorType
    if isinstance(a, UnknownType) or isinstance(b, UnknownType):
        return None
    if type(a) is not type(b):
        return codes.TYPE_KIND_MISMATCH
    if isinstance(a, ScalarType) and isinstance(b, ScalarType):
        return None if a.dtype is b.dtype else codes.DTYPE_MISMATCH
    if isinstance(a, ShapedType) and isinstance(b, ShapedType):
        return _shape_difference(a, b)
    if isinstance(a, TupleType) and isinstance(b, TupleType):
        if len(a.types) != len(b.types):
            return codes.SIZE_MISMATCH
        differences = (_difference(x, y) for x, y in zip(a.types, b.types, strict=True))
        return next((code for code in differences if code is not None), None)
    return None


def _shape_difference(a: ShapedType, b: ShapedType) -> TypeCheckErrorType | None:
    if a.dtype is not b.dtype:
        return TypeCheckErrorType.DTYPE_MISMATCH
    if len(a.shape) != len(b.shape):
        return TypeCheckErrorType.SHAPE_DIMENSION_MISMATCH
    for x, y in zip(a.shape, b.shape, strict=True):
        if (
            x is not y
            and isinstance(x, ConstInt)
            and isinstance(y, ConstInt)
            and x.value != y.value
        ):
            return TypeCheckErrorType.SHAPE_VALUE_MISMATCH
    return None


def _expr_types(
    node: Expr, functions: dict[str, Function], span: Span, cache: VerificationCache
) -> Iterator[Diagnostic]:
    match node:
        case Call():
            op = op_of(node)
            if op is not None:
                yield from _op_call(op, node, span)
            elif isinstance(node.op, GlobalVar):
                yield from _function_call(node, functions.get(node.op.name), span, cache)
        case BinaryExpr():
            yield from _binary_types(node, span)
        case ConstInt() | ConstFloat() if not is_right_constant(node):
            word = "integer" if isinstance(node, ConstInt) else "float"
            message = f"the {word} constant {node.value} has element type {dtype_of(node)}"
            yield finding(TypeCheckErrorType.CONSTANT_KIND, message, span_or(node, span))
        case _:
            pass


def _binary_types(node: BinaryExpr, span: Span) -> Iterator[Diagnostic]:
    a, b = node.left.type, node.right.type
    if a is b or isinstance(a, UnknownType) or isinstance(b, UnknownType):
        agree = True
    elif isinstance(a, ScalarType) and isinstance(b, ScalarType):
        agree = a.dtype is b.dtype or isinstance(node, LOGICAL)
    else:
        agree = False
    if isinstance(node, Xor) and agree:  # its text, ^, is a bitwise one between integers
        agree = (
            isinstance(a, ScalarType)
            and a.dtype is DataType.BOOL
            and a.dtype is dtype_of(node.right)
        )
    if not agree:
        found = f"{_spell(a)} and {_spell(b)}"
        wanted = "two BOOLs" if isinstance(node, Xor) else "two scalars of one element type"
        message = f"{type(node).__name__} takes {wanted}, got {found}"
        yield finding(TypeCheckErrorType.OPERAND_MISMATCH, message, span_or(node, span))


def _op_call(op: OpDef[..., Any], call: Call, span: Span) -> Iterator[Diagnostic]:
    code = TypeCheckErrorType.CALL_TYPE_MISMATCH
    try:
        wanted = op.result_type(call.args, call.kwargs)
    except PyptoError as error:
        yield finding(code, error.message, span_or(call, span), hint=error.hint)
        return
    if not same_type(wanted, call.type) and not isinstance(call.type, UnknownType):
        message = f"{op.name} gives {with_article(str(wanted))}, the call says {call.type}"
        yield finding(code, message, span_or(call, span))


def _function_call(
    call: Call, callee: Function | None, span: Span, cache: VerificationCache
) -> Iterator[Diagnostic]:
    if callee is None or len(callee.params) != len(call.args):
        return  # `structure` reports it
    at = span_or(call, span)
    for param, arg in zip(callee.params, call.args, strict=True):
        if param.type is arg.type or cache.part(param.type) == cache.part(arg.type):
            continue
        part = valid_part(param.type)  # sizes that its type names are the callee's own
        if _differ(param.type, arg.type) or (part is None and not _same_part(param.type, arg.type)):
            what = f"parameter {param.name!r} of {callee.name}"
            yield _mismatch(what, param.type, "the argument", arg.type, at)
    results = callee.return_types
    if not results or isinstance(call.type, UnknownType):
        return
    result = results[0] if len(results) == 1 else TupleType(results)
    if _differ(result, call.type):
        what = f"the result of {callee.name}"
        yield _mismatch(what, result, "the call's type", call.type, at)
        return
    taken = call.type.types if isinstance(call.type, TupleType) else (call.type,)
    for kind, found in zip(results, taken, strict=True):
        if not _within(kind, found):
            yield _mismatch("the call's type", found, f"a result of {callee.name}", kind, at)


def _spell(kind: Type) -> str:
    """Return a type as a message shows it: without views and memory references."""
    if isinstance(kind, ScalarType):
        return f"Scalar[{kind.dtype.member}]"
    if isinstance(kind, ShapedType):
        dims = ", ".join(str(dim) for dim in kind.shape)
        return f"{type(kind).__name__.removesuffix('Type')}[[{dims}], {kind.dtype.member}]"
    if isinstance(kind, TupleType):
        return f"Tuple[[{', '.join(_spell(item) for item in kind.types)}]]"
    return type(kind).__name__


_VARIABLES: Final = frozenset({Var, IterArg})


def _expressions(stmt: Stmt) -> list[Expr]:
    """Return every expression of one statement once, except variables and INDEX constants."""
    held = [expr for expr in held_by(stmt) if expr.__class__ not in _VARIABLES]
    held = [e for e in held if e.__class__ is not ConstInt or e.type is not INDEX_TYPE]
    if not held:
        return []
    first = held[0]  # if it is the only one, it is mostly a call of a function of the program
    if len(held) == 1 and isinstance(first, Call) and _VARIABLES.issuperset(map(type, first.args)):
        return [first]
    found: list[Expr] = []
    seen: set[int] = set()
    for root in held:
        stack: list[IRNode] = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, Var) or id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, Expr):
                found.append(node)
            if child_fields(node.__class__):
                stack += [
                    child
                    for child in child_list(node)
                    if child.__class__ is not ConstInt or cast("Expr", child).type is not INDEX_TYPE
                ]
    return found
