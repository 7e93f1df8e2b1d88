"""The rules that a program has to keep, and the verifier that runs them.

A rule is a function from a program to `Diagnostic`s; `RULES` names them:

* ``Structure``: yields, breaks and calls of functions stand where they mean something. Holds of
  every program.
* ``TypeCheck``: values have the types of what they are bound to; calls of ops have the type that
  the op's rule gives. Holds of every program.
* ``SSAVerify``: every variable is assigned once and read where it is known. Holds from
  ConvertToSSA on.
* ``NoNestedCall``: a call stands alone on the right of an assignment, or as a statement. Holds from
  FlattenCallExpr on.

Each rule is one walk, linear in the size of the program, and none of them looks at a statement
that is proved already; see `proofs`. Knows no op by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple, TypeAlias, cast

from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, Label, Span
from pypto._src.dtypes import DataType
from pypto._src.errors import PyptoError, VerificationError
from pypto._src.ir.nodes import (
    LOGICAL,
    BinaryExpr,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    GlobalVar,
    IRNode,
    MakeTuple,
    MemRef,
    ScalarType,
    ShapedType,
    TensorType,
    TileType,
    TupleType,
    Type,
    UnaryExpr,
    UnknownType,
    Var,
    Xor,
    dtype_of,
    exprs_of_type,
    same_type,
    symbols_of_type,
)
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.proofs import INDEX_TYPE, Proofs, is_right_constant
from pypto._src.ir.stmts import (
    OPERATIONS,
    SIMPLE,
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.walk import (
    calls_of,
    child_fields,
    child_list,
    held_by,
)


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


Rule: TypeAlias = Callable[..., Iterator[Diagnostic]]
"""Takes a program, and where it is one of this module's what is proved of parts of it."""


def _finding(
    code: IntEnum,
    message: str,
    span: Span,
    *,
    related: Sequence[Label] = (),
    hint: str | None = None,
) -> Diagnostic:
    rule = _RULE_OF_CODES[type(code)]
    return Diagnostic(
        DiagnosticSeverity.Error,
        rule,
        int(code),
        message,
        span,
        related=tuple(related),
        hint=hint,
    )


# --------------------------------------------------------------------------------------------
# Structure
# --------------------------------------------------------------------------------------------


def structure(program: Program, proofs: Proofs | None = None) -> Iterator[Diagnostic]:
    """Yields and returns end bodies, jumps are in loops, called functions exist."""
    proofs = proofs or Proofs()
    if program.entry is not None and program.get_function(program.entry) is None:
        yield _finding(
            StructureErrorType.UNKNOWN_ENTRY,
            f"the entry {program.entry!r} is no function of the program",
            program.span,
        )
    functions = {function.name: function for function in program.functions_}
    for function in program.functions_:
        yield from _placement(function.body)
        for stmt in proofs.left(function):
            for call in calls_of(stmt):
                if isinstance(call.op, GlobalVar):
                    yield from _check_callee(call, call.op, functions)


class _Site(NamedTuple):
    """A statement, and what the bodies around it allow."""

    stmt: Stmt
    is_last: bool
    in_loop: bool
    in_region: bool


def _sites(body: Stmt | None, *, in_loop: bool, in_region: bool) -> list[_Site]:
    """Return the statements of a body that may not stand in every one, the first one last."""
    stmts = statements(body)
    if OPERATIONS.issuperset(map(type, stmts)):
        return []
    last = len(stmts) - 1
    sites = [
        _Site(stmt, n == last, in_loop, in_region)
        for n, stmt in enumerate(stmts)
        if stmt.__class__ not in OPERATIONS
    ]
    sites.reverse()
    return sites


def _placement(body: Stmt) -> Iterator[Diagnostic]:
    codes = StructureErrorType
    stack = _sites(body, in_loop=False, in_region=False)
    while stack:
        stmt, is_last, in_loop, in_region = stack.pop()
        match stmt:
            case YieldStmt() if not in_region:
                message = "a yield stands outside of loop bodies and branches"
                yield _finding(codes.YIELD_OUTSIDE_REGION, message, stmt.span)
            case YieldStmt() if not is_last:
                message = "statements follow a yield, which ends its body"
                yield _finding(codes.YIELD_NOT_LAST, message, stmt.span)
            case ReturnStmt() if not is_last:
                message = "statements follow a return, which ends its body"
                yield _finding(codes.RETURN_NOT_LAST, message, stmt.span)
            case BreakStmt() | ContinueStmt() if not in_loop:
                word = "break" if isinstance(stmt, BreakStmt) else "continue"
                yield _finding(codes.JUMP_OUTSIDE_LOOP, f"{word} outside of a loop", stmt.span)
            case IfStmt():
                stack += _sites(stmt.else_body, in_loop=in_loop, in_region=True)
                stack += _sites(stmt.then_body, in_loop=in_loop, in_region=True)
            case ForStmt() | WhileStmt():
                stack += _sites(stmt.body, in_loop=True, in_region=True)
            case ScopeStmt():
                stack += _sites(stmt.body, in_loop=in_loop, in_region=False)
            case _:
                pass


def _check_callee(
    call: Call, callee: GlobalVar, functions: dict[str, Function]
) -> Iterator[Diagnostic]:
    function = functions.get(callee.name)
    if function is None:
        yield _finding(
            StructureErrorType.UNKNOWN_FUNCTION,
            f"{callee.name!r} is called and is no function of the program",
            call.span,
        )
    elif len(call.args) != len(function.params):
        yield _finding(
            StructureErrorType.ARGUMENT_COUNT,
            f"{callee.name} takes {len(function.params)} arguments, got {len(call.args)}",
            call.span,
            related=[Label(function.span, f"{callee.name} is defined here")],
        )


# --------------------------------------------------------------------------------------------
# SSA
# --------------------------------------------------------------------------------------------


def ssa(program: Program, proofs: Proofs | None = None) -> Iterator[Diagnostic]:
    """Every variable has one definition, which is known wherever it is read."""
    proofs = proofs or Proofs()
    for function in program.functions_:
        if not proofs.is_ssa(function):
            found = _Definitions(function).check()
            if not found:
                proofs.add_ssa(function)
            yield from found


_Steps: TypeAlias = "Iterator[_Steps]"
_REGIONS: Final = (IfStmt, ForStmt, WhileStmt, ScopeStmt)


class _Definitions:
    """The definitions of one function, met in order, and which of them are known at a place."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.known: dict[Any, Span] = {}  # where those known here are defined, the last one last
        self.gone: dict[Var, Span] = {}  # where those were defined that are no longer known
        self.static: dict[int, object] = {}  # shapes and views of constants, by identity
        self.returns: list[ReturnStmt] = []
        self.found: list[Diagnostic] = []

    def check(self) -> list[Diagnostic]:
        function = self.function
        for var in function.params:
            self.define(var, var.span)
        for var in function.params:  # a signature defines the dimensions that it names
            for expr in exprs_of_type(var.type):
                for dim in _variables(expr):
                    if dim not in self.known:
                        self.define(dim, var.span)
        self.run(self.body(function.body))
        for stmt in self.returns:
            if stmt is not statements(function.body)[-1]:
                message = "a return before the end of its function"
                self.found.append(_finding(SSAErrorType.EARLY_RETURN, message, stmt.span))
        return self.found

    def run(self, steps: _Steps) -> None:
        """Take the steps, and those that they yield before going on: no recursion over bodies."""
        stack = [steps]
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            else:
                stack.append(inner)

    def define(self, var: Var, span: Span) -> None:
        first = self.place_of(var)
        if first is not None:
            self.found.append(
                _finding(
                    SSAErrorType.MULTIPLE_ASSIGNMENT,
                    f"variable {var.name!r} is assigned a second time",
                    span,
                    related=[Label(first, "first assigned here")],
                )
            )
        self.known[var] = span

    def place_of(self, var: Var) -> Span | None:
        return self.known.get(var) or self.gone.get(var)

    def leave(self, mark: int) -> None:
        """Forget what was defined after ``mark`` variables were known."""
        known = self.known
        while len(known) > mark:
            var, span = known.popitem()
            self.gone[var] = span

    def use(self, exprs: Iterable[Expr], span: Span) -> None:
        known = self.known
        for expr in exprs:
            if self.is_known(expr):
                continue
            for var in _variables(expr):
                if var not in known and not isinstance(var, MemRef):
                    self.unknown(var, expr, span)

    def is_known(self, expr: Any) -> bool:
        """True where a short look shows that all variables in an expression are known."""
        known = self.known
        if expr.__class__ is not Call:
            return expr in known
        for value in expr.args:
            if value in known or value.__class__ is ConstInt or value.__class__ is ConstFloat:
                continue
            if value.__class__ is not MakeTuple:
                return False
            for item in value.elements:
                if item.__class__ is not ConstInt and item not in known:
                    return False
        return True

    def unknown(self, var: Var, expr: Expr, span: Span) -> None:
        first = self.place_of(var)
        where = "where it is not known" if first is not None else "without a definition"
        related = [] if first is None else [Label(first, "its scope ends with this block")]
        self.found.append(
            _finding(
                SSAErrorType.UNDEFINED_VARIABLE,
                f"variable {var.name!r} is read {where}",
                span if expr.span.begin_line <= 0 else expr.span,
                related=related,
            )
        )

    def result(self, var: Var, span: Span) -> None:
        """Define a variable after whatever its type names has been defined."""
        kind = var.type
        if kind.__class__ is not ScalarType and not self.is_static(kind):
            self.use(symbols_of_type(kind), span)
        if var in self.known or var in self.gone:
            self.define(var, span)
        else:
            self.known[var] = span

    def is_static(self, kind: Type) -> bool:
        """True where a short look shows that no variable stands in a type."""
        if isinstance(kind, TileType):
            parts = kind.shape, kind.tile_view
        elif isinstance(kind, TensorType):
            parts = kind.shape, kind.tensor_view
        else:
            return False
        shape, view = map(id, parts)
        static = self.static
        if shape in static and view in static:
            return True
        if symbols_of_type(kind):
            return False
        static.update(zip((shape, view), parts, strict=True))
        return True

    def body(self, body: Stmt | None, inside: Sequence[Var] = (), results: int = -1) -> _Steps:
        """Check a body that alone knows ``inside`` and yields ``results`` values (-1: any)."""
        mark = len(self.known)
        for var in inside:
            self.define(var, var.span)
        stmts = statements(body)
        for stmt in stmts:
            if stmt.__class__ not in SIMPLE and isinstance(stmt, _REGIONS):
                yield self.region(stmt)
            else:
                self.stmt(stmt)
        if results >= 0:
            self.yields(stmts, results)
        self.leave(mark)

    def yields(self, stmts: Sequence[Stmt], results: int) -> None:
        last = stmts[-1] if stmts else None
        if isinstance(last, YieldStmt):
            if len(last.value) != results:
                message = f"{results} values are carried on, {len(last.value)} are yielded"
                code = SSAErrorType.YIELD_COUNT_MISMATCH
                self.found.append(_finding(code, message, last.span))
        elif results:
            span = last.span if last is not None else self.function.span
            message = f"a body that hands on {results} values does not end with a yield"
            self.found.append(_finding(SSAErrorType.MISSING_YIELD, message, span))

    def stmt(self, stmt: Stmt) -> None:
        if isinstance(stmt, AssignStmt):
            if not self.is_known(stmt.value):
                self.use((stmt.value,), stmt.span)
            self.result(stmt.var, stmt.span)
        elif isinstance(stmt, EvalStmt):
            if not self.is_known(stmt.expr):
                self.use((stmt.expr,), stmt.span)
        else:
            self.use(held_by(stmt), stmt.span)
            if isinstance(stmt, ReturnStmt):
                self.returns.append(stmt)

    def region(self, stmt: IfStmt | ForStmt | WhileStmt | ScopeStmt) -> _Steps:
        match stmt:
            case IfStmt():
                self.use((stmt.condition,), stmt.span)
                yield self.body(stmt.then_body, (), len(stmt.return_vars))
                yield self.body(stmt.else_body, (), len(stmt.return_vars))
                self.results(stmt)
            case ForStmt():
                self.use((stmt.start, stmt.stop, stmt.step), stmt.span)
                self.use([arg.initValue for arg in stmt.iter_args], stmt.span)
                yield self.body(stmt.body, (stmt.loop_var, *stmt.iter_args), _carried(stmt))
                self.results(stmt)
            case WhileStmt():
                yield self.while_(stmt)
            case ScopeStmt():  # not a scope of names: what it defines is known after it
                yield self.scope(stmt)

    def scope(self, stmt: ScopeStmt) -> _Steps:
        for inner in statements(stmt.body):
            if inner.__class__ not in SIMPLE and isinstance(inner, _REGIONS):
                yield self.region(inner)
            else:
                self.stmt(inner)

    def while_(self, stmt: WhileStmt) -> _Steps:
        self.use([arg.initValue for arg in stmt.iter_args], stmt.span)
        mark = len(self.known)
        for arg in stmt.iter_args:
            self.define(arg, arg.span)
        self.use((stmt.condition,), stmt.span)
        yield self.body(stmt.body, (), _carried(stmt))
        self.leave(mark)
        self.results(stmt)

    def results(self, stmt: IfStmt | ForStmt | WhileStmt) -> None:
        for var in stmt.return_vars:
            self.result(var, stmt.span)


def _carried(stmt: ForStmt | WhileStmt) -> int:
    return max(len(stmt.iter_args), len(stmt.return_vars))


def _variables(expr: Expr) -> Sequence[Var]:
    """Return the variables read by an expression; a part that stands in it twice counts once."""
    if isinstance(expr, Var):
        return (expr,)
    found: list[Var] = []
    seen: set[int] = set()
    stack: list[IRNode] = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Var):
            found.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack += [child for child in child_list(node) if child.__class__ is not ConstInt]
    return found


# --------------------------------------------------------------------------------------------
# Types
# --------------------------------------------------------------------------------------------


def type_check(program: Program, proofs: Proofs | None = None) -> Iterator[Diagnostic]:
    """Values have the types of what takes them; scalars and calls are as their operands demand."""
    proofs = proofs or Proofs()
    functions = {function.name: function for function in program.functions_}
    for function in program.functions_:
        for stmt in proofs.left(function):
            yield from _stmt_types(stmt, function)
            for node in _expressions(stmt):
                yield from _expr_types(node, functions, stmt.span)


def _stmt_types(stmt: Stmt, function: Function) -> Iterator[Diagnostic]:
    codes = TypeCheckErrorType
    match stmt:
        case AssignStmt():
            what = f"variable {stmt.var.name!r}"
            yield from _mismatch(what, stmt.var.type, "its value", stmt.value.type, stmt.span)
        case IfStmt():
            yield from _condition(stmt.condition, "an if", stmt.span)
            for body in (stmt.then_body, stmt.else_body):
                yield from _yielded(body, stmt.return_vars, stmt.span)
        case ForStmt():
            for name in ("start", "stop", "step"):
                yield from _bound(getattr(stmt, name), f"the {name} of a loop", stmt.span)
            yield from _bound(stmt.loop_var, "a loop variable", stmt.span)
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
                yield _finding(codes.SIZE_MISMATCH, message, stmt.span)
                return
            for kind, value in zip(function.return_types, stmt.value, strict=True):
                what = f"the result of {function.name}"
                yield from _mismatch(what, kind, "what it returns", value.type, stmt.span)
        case _:
            pass


def _condition(value: Expr, what: str, span: Span) -> Iterator[Diagnostic]:
    if not isinstance(value.type, ScalarType | UnknownType):
        message = f"the condition of {what} is a scalar, got {_spell(value.type)}"
        yield _finding(TypeCheckErrorType.CONDITION_NOT_SCALAR, message, span)


def _bound(value: Expr, what: str, span: Span) -> Iterator[Diagnostic]:
    kind = value.type
    if isinstance(kind, UnknownType) or (isinstance(kind, ScalarType) and kind.dtype.is_int()):
        return
    message = f"{what} is an integer, got {_spell(kind)}"
    yield _finding(TypeCheckErrorType.BOUND_NOT_INTEGER, message, span)


def _loop_types(stmt: ForStmt | WhileStmt) -> Iterator[Diagnostic]:
    counts = len(stmt.iter_args), len(stmt.return_vars)
    if counts[0] != counts[1]:
        message = f"a loop carries {counts[0]} values and has {counts[1]} results"
        yield _finding(TypeCheckErrorType.SIZE_MISMATCH, message, stmt.span)
    for arg in stmt.iter_args:
        what = f"iter_arg {arg.name!r}"
        yield from _mismatch(what, arg.type, "its init value", arg.initValue.type, stmt.span)
    for arg, result in zip(stmt.iter_args, stmt.return_vars, strict=False):
        what = f"result {result.name!r}"
        yield from _mismatch(what, result.type, f"iter_arg {arg.name!r}", arg.type, stmt.span)
    yield from _yielded(stmt.body, stmt.iter_args, stmt.span)


def _yielded(body: Stmt | None, targets: Sequence[Var], span: Span) -> Iterator[Diagnostic]:
    """Compare what a body yields with the variables that take it; `ssa` compares the counts."""
    stmts = statements(body)
    last = stmts[-1] if stmts else None
    if not isinstance(last, YieldStmt):
        return
    if len(last.value) != len(targets):
        message = f"{len(targets)} values are carried on, {len(last.value)} are yielded"
        yield _finding(TypeCheckErrorType.SIZE_MISMATCH, message, last.span)
    for var, value in zip(targets, last.value, strict=False):
        what = "the yielded value"
        yield from _mismatch(f"{var.name!r}", var.type, what, value.type, last.span)


def _mismatch(what: str, wanted: Type, other: str, found: Type, span: Span) -> Iterator[Diagnostic]:
    """Yield a diagnostic if ``found`` differs in kind, element type, rank or a constant dimension.

    Views and memory references may differ, and a symbolic dimension agrees with any other.
    """
    if wanted is found:
        return
    code = _difference(wanted, found)
    if code is not None:
        message = f"{what} is a {_spell(wanted)}, {other} is a {_spell(found)}"
        yield _finding(code, message, span)


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
        if isinstance(x, ConstInt) and isinstance(y, ConstInt) and x.value != y.value:
            return TypeCheckErrorType.SHAPE_VALUE_MISMATCH
    return None


def _expr_types(node: Expr, functions: dict[str, Function], span: Span) -> Iterator[Diagnostic]:
    match node:
        case Call():
            op = op_of(node)
            if op is not None:
                yield from _op_call(op, node, span)
            elif isinstance(node.op, GlobalVar):
                yield from _function_call(node, functions.get(node.op.name), span)
        case BinaryExpr():
            yield from _binary_types(node, span)
        case ConstInt() | ConstFloat() if not is_right_constant(node):
            word = "integer" if isinstance(node, ConstInt) else "float"
            message = f"the {word} constant {node.value} has element type {dtype_of(node)}"
            yield _finding(TypeCheckErrorType.CONSTANT_KIND, message, _place(node, span))
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
        yield _finding(TypeCheckErrorType.OPERAND_MISMATCH, message, _place(node, span))


def _op_call(op: OpDef[..., Any], call: Call, span: Span) -> Iterator[Diagnostic]:
    code = TypeCheckErrorType.CALL_TYPE_MISMATCH
    try:
        wanted = op.result_type(call.args, call.kwargs)
    except PyptoError as error:
        yield _finding(code, error.message, _place(call, span), hint=error.hint)
        return
    if not same_type(wanted, call.type):
        message = f"{op.name} gives a {wanted}, the call says {call.type}"
        yield _finding(code, message, _place(call, span))


def _function_call(call: Call, callee: Function | None, span: Span) -> Iterator[Diagnostic]:
    if callee is None or len(callee.params) != len(call.args):
        return  # `structure` says so
    place = _place(call, span)
    for param, arg in zip(callee.params, call.args, strict=True):
        what = f"parameter {param.name!r} of {callee.name}"
        yield from _mismatch(what, param.type, "the argument", arg.type, place)
    results = callee.return_types
    if not results or isinstance(call.type, UnknownType):
        return
    result = results[0] if len(results) == 1 else TupleType(results)
    what = f"the result of {callee.name}"
    yield from _mismatch(what, result, "the call's type", call.type, place)


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


def _place(node: IRNode, span: Span) -> Span:
    return node.span if node.span.begin_line > 0 else span


# --------------------------------------------------------------------------------------------
# Nested calls
# --------------------------------------------------------------------------------------------

_LEAVES: Final = (Var, ConstInt, ConstFloat, ConstBool)


def no_nested_call(program: Program, proofs: Proofs | None = None) -> Iterator[Diagnostic]:
    """A call is the whole right side of an assignment, or a statement."""
    proofs = proofs or Proofs()
    codes = NestedCallErrorType
    for function in program.functions_:
        for stmt in proofs.left(function):
            match stmt:
                case AssignStmt(value=value) | EvalStmt(expr=value):
                    below = () if isinstance(value, Var) else child_list(value)
                    yield from _nested(below, _code_inside(value), stmt.span)
                case IfStmt():
                    yield from _nested((stmt.condition,), codes.CALL_IN_IF_CONDITION, stmt.span)
                case WhileStmt():
                    code = codes.CALL_IN_WHILE_CONDITION
                    yield from _nested((stmt.condition,), code, stmt.span)
                    yield from _nested_init(stmt)
                case ForStmt():
                    bounds = (stmt.start, stmt.stop, stmt.step)
                    yield from _nested(bounds, codes.CALL_IN_FOR_RANGE, stmt.span)
                    yield from _nested_init(stmt)
                case YieldStmt() | ReturnStmt():
                    yield from _nested(stmt.value, codes.CALL_IN_YIELD_OR_RETURN, stmt.span)
                case _:
                    pass


def _nested_init(stmt: ForStmt | WhileStmt) -> Iterator[Diagnostic]:
    values = [arg.initValue for arg in stmt.iter_args]
    yield from _nested(values, NestedCallErrorType.CALL_IN_INIT_VALUE, stmt.span)


def _nested(roots: Iterable[IRNode], code: IntEnum, span: Span) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each call in ``roots``, coded for what directly holds it."""
    stack = [(root, code) for root in roots if not isinstance(root, _LEAVES)]
    stack.reverse()
    seen: set[tuple[int, IntEnum]] = set()  # an expression may stand in several places
    while stack:
        node, holder = stack.pop()
        if (id(node), holder) in seen:
            continue
        seen.add((id(node), holder))
        if isinstance(node, Call):
            message = f"the call of {node.op.name} is {_PLACES[holder]}"
            yield _finding(holder, message, _place(node, span))
        below = [child for child in child_list(node) if not isinstance(child, _LEAVES)]
        if below:
            inside = _code_inside(node)
            stack += [(child, inside) for child in reversed(below)]


def _code_inside(node: IRNode) -> IntEnum:
    if isinstance(node, Call):
        return NestedCallErrorType.CALL_IN_CALL_ARGS
    if isinstance(node, BinaryExpr):
        return NestedCallErrorType.CALL_IN_BINARY_EXPR
    if isinstance(node, UnaryExpr):
        return NestedCallErrorType.CALL_IN_UNARY_EXPR
    return NestedCallErrorType.CALL_IN_TUPLE


_PLACES: Final[dict[IntEnum, str]] = {
    NestedCallErrorType.CALL_IN_CALL_ARGS: "an argument of another call",
    NestedCallErrorType.CALL_IN_IF_CONDITION: "the condition of an if",
    NestedCallErrorType.CALL_IN_FOR_RANGE: "a bound of a loop",
    NestedCallErrorType.CALL_IN_BINARY_EXPR: "an operand of an operator",
    NestedCallErrorType.CALL_IN_UNARY_EXPR: "an operand of an operator",
    NestedCallErrorType.CALL_IN_WHILE_CONDITION: "the condition of a while",
    NestedCallErrorType.CALL_IN_TUPLE: "an item of a tuple",
    NestedCallErrorType.CALL_IN_INIT_VALUE: "an init value of a loop",
    NestedCallErrorType.CALL_IN_YIELD_OR_RETURN: "a value of a yield or return",
}


# --------------------------------------------------------------------------------------------
# Shared walks
# --------------------------------------------------------------------------------------------


def _expressions(stmt: Stmt) -> list[Expr]:
    """Return every expression of one statement once, but variables and whole numbers."""
    found: list[Expr] = []
    seen: set[int] = set()
    for root in held_by(stmt):
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


# --------------------------------------------------------------------------------------------
# The verifier
# --------------------------------------------------------------------------------------------

RULES: Final[dict[str, Rule]] = {
    "Structure": structure,
    "SSAVerify": ssa,
    "TypeCheck": type_check,
    "NoNestedCall": no_nested_call,
}
"""Every rule by its name."""

_USES_PROOFS: Final = frozenset(RULES.values())

_RULE_OF_CODES: Final[dict[type[IntEnum], str]] = {
    StructureErrorType: "Structure",
    SSAErrorType: "SSAVerify",
    TypeCheckErrorType: "TypeCheck",
    NestedCallErrorType: "NoNestedCall",
}
_CODES: Final = {
    (rule, int(code)): code.name for kind, rule in _RULE_OF_CODES.items() for code in kind
}


class IRVerifier:
    """Some of the `RULES`, run together: none at first, all with `create_default`."""

    def __init__(self) -> None:
        self._rules: dict[str, None] = {}
        self._disabled: set[str] = set()

    @staticmethod
    def create_default() -> IRVerifier:
        """Return a verifier with all rules."""
        verifier = IRVerifier()
        for name in RULES:
            verifier.enable_rule(name)
        return verifier

    def enable_rule(self, name: str) -> None:
        """Run the rule ``name``; unknown names are ignored."""
        self._disabled.discard(name)
        if name in RULES:
            self._rules[name] = None

    def disable_rule(self, name: str) -> None:
        """Do not run the rule ``name``."""
        self._disabled.add(name)

    def is_rule_enabled(self, name: str) -> bool:
        """True unless ``name`` was disabled and not enabled since."""
        return name not in self._disabled

    def verify(self, program: Program, proofs: Proofs | None = None) -> list[Diagnostic]:
        """Return what the rules find, rule by rule, in the order of the program's text.

        ``proofs`` may hold what was found of statements in other programs, and takes in what is
        found of those in this one.
        """
        names = [name for name in self._rules if name not in self._disabled]
        known = Proofs() if proofs is None else proofs
        found: list[Diagnostic] = []
        for rule in map(RULES.__getitem__, names):
            found += rule(program, known) if rule in _USES_PROOFS else rule(program)
        return found

    def verify_or_throw(self, program: Program) -> None:
        """Do nothing if the rules find no error.

        Raises:
            VerificationError: its message is the report.
        """
        found = self.verify(program)
        errors = [d for d in found if d.severity is DiagnosticSeverity.Error]
        if errors:
            raise VerificationError(self.generate_report(found), errors[0].span)

    @staticmethod
    def generate_report(diagnostics: Sequence[Diagnostic]) -> str:
        """Return the diagnostics as text, with their counts and whether there is an error."""
        errors = sum(d.severity is DiagnosticSeverity.Error for d in diagnostics)
        title = "IR verification report"
        lines = [title, "=" * len(title)]
        warnings = len(diagnostics) - errors
        lines.append(f"{_counted(errors, 'error')}, {_counted(warnings, 'warning')}")
        for number, found in enumerate(diagnostics, 1):
            code = _CODES.get((found.rule_name, found.error_code))
            named = f" ({code})" if code else ""
            place = f" at {found.span}" if found.span.begin_line > 0 else ""
            severity = found.severity.name.lower()
            lines.append(
                f"[{number}] {severity} {found.rule_name} {found.error_code}{named}{place}"
            )
            lines.append(f"    {found.message}")
            lines += [f"    {_label(label)}" for label in found.related]
            if found.hint:
                lines.append(f"    hint: {found.hint}")
        lines.append("Status: FAILED" if errors else "Status: PASSED")
        return "\n".join(lines)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def _label(label: Label) -> str:
    return f"{label.span}: {label.text}" if label.span.begin_line > 0 else label.text
