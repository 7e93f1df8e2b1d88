"""Scalar functions as Python source: the same text is run by Python and translated to IR.

The translation covers what the passes before SSA see: variables assigned many times, ``if``,
``for i in range(...)``, ``while``, ``break``, ``continue``, early ``return``, calls of ``ext`` (an
unregistered op) and of other functions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.ir.enums import FunctionType
from pypto._src.ir.exprs import (
    Add,
    And,
    BinaryExpr,
    Call,
    ConstInt,
    Eq,
    Expr,
    Ge,
    GlobalVar,
    Lt,
    Max,
    Min,
    Mul,
    Ne,
    Op,
    Or,
    Sub,
    TupleGetItemExpr,
    Var,
)
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    Stmt,
    WhileStmt,
    seq,
)
from pypto._src.ir.text.printer import python_print
from pypto._src.ir.types import TupleType, Type, same_type, scalar_type

INT64 = DataType.INT64
T = scalar_type(INT64)
FILE = "scalars.py"

_OPERATORS: dict[type, type[BinaryExpr]] = {
    ast.Add: Add,
    ast.Sub: Sub,
    ast.Mult: Mul,
    ast.Lt: Lt,
    ast.GtE: Ge,
    ast.Eq: Eq,
    ast.NotEq: Ne,
    ast.And: And,
    ast.Or: Or,
}
_FUNCTIONS: dict[str, type[BinaryExpr]] = {"min": Min, "max": Max}


def span_of(node: Any) -> Span:
    return Span(FILE, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


class _Translator:
    """Translates one function; ``results`` has the number of results of each callable function."""

    def __init__(self, results: dict[str, int]) -> None:
        self.results = results
        self.vars: dict[str, Var] = {}

    def function(self, node: ast.FunctionDef, kind: FunctionType) -> Function:
        params = [self.var(arg) for arg in node.args.args]
        body = self.body(node.body)
        return Function(node.name, params, [T] * self.results[node.name], body, span_of(node), kind)

    def var(self, node: ast.Name | ast.arg) -> Var:
        name = node.id if isinstance(node, ast.Name) else node.arg
        if name not in self.vars:
            self.vars[name] = Var(name, T, span_of(node))
        return self.vars[name]

    def body(self, nodes: Sequence[ast.stmt]) -> Stmt:
        return seq([self.stmt(node) for node in nodes if not isinstance(node, ast.Pass)])

    def stmt(self, node: ast.stmt) -> Stmt:
        span = span_of(node)
        match node:
            case ast.Assign(targets=[ast.Name() as target], value=value):
                return self.assign(target, self.expr(value), span)
            case ast.Expr(value=value):
                return EvalStmt(expr=self.expr(value), span=span)
            case ast.If(test=test, body=body, orelse=orelse):
                other = self.body(orelse) if orelse else None
                return IfStmt(
                    condition=self.expr(test),
                    then_body=self.body(body),
                    else_body=other,
                    span=span,
                )
            case ast.For(target=ast.Name() as target, iter=ast.Call(args=args), body=body):
                bounds = [self.expr(arg) for arg in args]
                start = bounds[0] if len(bounds) > 1 else ConstInt(0, INT64)
                stop = bounds[1] if len(bounds) > 1 else bounds[0]
                step = bounds[2] if len(bounds) > 2 else ConstInt(1, INT64)
                return ForStmt(self.var(target), start, stop, step, (), self.body(body), (), span)
            case ast.While(test=test, body=body):
                return WhileStmt(self.expr(test), (), self.body(body), (), span)
            case ast.Return(value=ast.Tuple(elts=elts)):
                return ReturnStmt([self.expr(item) for item in elts], span)
            case ast.Return(value=ast.expr() as value):
                return ReturnStmt([self.expr(value)], span)
            case ast.Return():
                return ReturnStmt((), span)
            case ast.Break():
                return BreakStmt(span=span)
            case ast.Continue():
                return ContinueStmt(span=span)
            case _:
                raise TypeError(ast.dump(node))

    def assign(self, target: ast.Name, value: Expr, span: Span) -> Stmt:
        known = self.vars.get(target.id)
        if known is None or not same_type(known.type, value.type):
            self.vars[target.id] = Var(target.id, value.type, span_of(target))
        return AssignStmt(var=self.vars[target.id], value=value, span=span)

    def expr(self, node: ast.expr) -> Expr:
        match node:
            case ast.Name():
                return self.var(node)
            case ast.Constant(value=int() as value):
                return ConstInt(value, INT64)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
                return ConstInt(-value, INT64)
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATORS[type(op)](self.expr(left), self.expr(right), INT64)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return _OPERATORS[type(op)](self.expr(left), self.expr(right), DataType.BOOL)
            case ast.BoolOp(op=op, values=[left, right]):
                return _OPERATORS[type(op)](self.expr(left), self.expr(right), DataType.BOOL)
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=[left, right]):
                return _FUNCTIONS[name](self.expr(left), self.expr(right), INT64)
            case ast.Subscript(value=value, slice=ast.Constant(value=int() as index)):
                return TupleGetItemExpr(self.expr(value), index)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.call(name, [self.expr(arg) for arg in args], span_of(node))
            case _:
                raise TypeError(ast.dump(node))

    def call(self, name: str, args: list[Expr], span: Span) -> Call:
        if name not in self.results:
            return Call(Op(name=name), args, type=T, span=span)
        count = self.results[name]
        kind: Type = T if count == 1 else TupleType(types=(T,) * count)
        return Call(GlobalVar(name=name), args, type=kind, span=span)


def _result_count(node: ast.FunctionDef) -> int:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Return):
            return len(inner.value.elts) if isinstance(inner.value, ast.Tuple) else 1
    return 0


def program(source: str, kinds: dict[str, FunctionType] | None = None) -> Program:
    """Translate the functions of ``source``; those in ``kinds`` have that kind, not Opaque."""
    nodes = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    results = {node.name: _result_count(node) for node in nodes}
    kinds = kinds or {}
    return Program(
        [
            _Translator(results).function(node, kinds.get(node.name, FunctionType.Opaque))
            for node in nodes
        ],
        "p",
    )


def function(source: str) -> Function:
    """Translate the one function of ``source``."""
    [only] = program(source).functions_
    return only


def text(function: Function) -> str:
    """Return the printed function without the types of its INT64 variables and calls."""
    plain = python_print(function).replace(": pl.Scalar[pl.INT64]", "")
    return re.sub(r"pl\.typed\((.*?), pl\.Scalar\[pl\.INT64\]\)", r"\1", plain)


def body_text(function: Function) -> str:
    """Return the printed body of ``function``, not indented."""
    lines = text(function).splitlines()[2:]
    return "\n".join(line[4:] for line in lines)


def python(source: str, name: str = "f") -> Callable[..., Any]:
    """Run ``source`` in Python and return its function ``name``."""
    scope: dict[str, Any] = {}
    exec(compile(source, FILE, "exec"), scope)
    return scope[name]


# --------------------------------------------------------------------------------------------
# Random functions
# --------------------------------------------------------------------------------------------

NAMES = ("a", "b", "c", "n", "m")
_LIMIT = 1000  # for a variable's magnitude, so that nothing overflows


class Names(NamedTuple):
    """The leaves of expressions: variables, and calls of ``ext`` if ``calls``."""

    names: tuple[str, ...]
    calls: bool

    def plus(self, name: str) -> Names:
        return Names((*self.names, name), self.calls)


@st.composite
def _expressions(draw: st.DrawFn, names: Names, depth: int = 2) -> str:
    kind = draw(st.integers(0, 5 + names.calls if depth else 1))
    if kind <= 1:
        return draw(st.sampled_from(names.names)) if kind else str(draw(st.integers(-3, 5)))
    left = draw(_expressions(names, depth - 1))
    if kind == 6:
        return f"ext({left})"
    right = draw(_expressions(names, depth - 1))
    match kind:
        case 2 | 3:
            return f"({left} {'+' if kind == 2 else '-'} {right})"
        case _:
            return f"{'min' if kind == 4 else 'max'}({left}, {right})"


@st.composite
def _conditions(draw: st.DrawFn, names: Names) -> str:
    def compare() -> str:
        sign = draw(st.sampled_from(["<", ">=", "==", "!="]))
        return f"{draw(_expressions(names, 1))} {sign} {draw(_expressions(names, 1))}"

    word = draw(st.sampled_from(["", "", "and", "or"]))
    return f"{compare()} {word} {compare()}" if word else compare()


@st.composite
def _blocks(draw: st.DrawFn, names: Names, depth: int, in_loop: bool) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = ["assign", "assign"]
        if depth:
            kinds += ["if", "if-else", "for", "while"]
        if in_loop:
            kinds += ["jump"]
        kind = draw(st.sampled_from(kinds))
        match kind:
            case "assign":
                target = draw(st.sampled_from(NAMES))
                value = draw(_expressions(names))
                lines.append(f"{target} = max(min({value}, {_LIMIT}), -{_LIMIT})")
            case "jump":
                word = draw(st.sampled_from(["break", "continue"]))
                lines += [f"if {draw(_conditions(names))}:", f"    {word}"]
            case "for":
                var = f"i{depth}"
                body = draw(_blocks(names.plus(var), depth - 1, True))
                stop = f"min({draw(st.sampled_from(names.names))}, 3)"
                lines += [f"for {var} in range({stop}):", *_indented(body)]
            case "while":
                var = f"w{depth}"
                body = draw(_blocks(names.plus(var), depth - 1, True))
                test = f"{var} < 3 and ({draw(_conditions(names))})"
                lines += [f"{var} = 0", f"while {test}:", f"    {var} = {var} + 1"]
                lines += _indented(body)
            case _:
                lines += [f"if {draw(_conditions(names))}:"]
                lines += _indented(draw(_blocks(names, depth - 1, in_loop)))
                if kind == "if-else":
                    lines += ["else:", *_indented(draw(_blocks(names, depth - 1, in_loop)))]
    return lines


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@st.composite
def sources(draw: st.DrawFn, *, calls: bool = False) -> str:
    """Draw the source of a function ``f(n, m)`` that returns three values."""
    names = Names(NAMES, calls)
    lines = ["a = 0", "b = 1", "c = n"]
    lines += draw(_blocks(names, 3, False))
    if draw(st.booleans()):
        lines += [f"if {draw(_conditions(names))}:", "    return c, a, b"]
        lines += draw(_blocks(names, 2, False))
    return "\n".join(["def f(n, m):", *_indented([*lines, "return a, b, c"])])
