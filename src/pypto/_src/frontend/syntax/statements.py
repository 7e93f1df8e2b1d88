"""Which statements kernels have: the handler of each, and what to write in place of others."""

from __future__ import annotations

import ast
from typing import Final

from pypto._src.errors import ParserSyntaxError, UnsupportedFeatureError
from pypto._src.frontend import markers
from pypto._src.frontend.source.source import refuse_keyword_twice
from pypto._src.frontend.state.context import Context, Form, Forms
from pypto._src.frontend.syntax.assignments import ann_assign, assign, aug_assign, expression
from pypto._src.ir.enums import ScopeKind
from pypto._src.ir.stmts import ScopeStmt, seq


def _with(ctx: Context, node: ast.With) -> None:
    item = node.items[0]
    call = item.context_expr
    scope = isinstance(call, ast.Call) and ctx.peek(call.func) is markers.incore
    if not scope or len(node.items) > 1 or item.optional_vars is not None:
        from pypto._src.frontend.regions.scopes import with_

        with_(ctx, node)
        return
    assert isinstance(call, ast.Call)
    refuse_keyword_twice(ctx.span, call)
    words = {word.arg: word.value for word in call.keywords}
    if call.args or words.keys() - {"name_hint"}:
        raise ParserSyntaxError(
            f"{ctx.source.text(call.func)} takes no argument but name_hint",
            ctx.span(call),
            hint=f"write with {ctx.source.text(call.func)}():",
            slug="argument-count",
        )
    name = ""
    if words:
        from pypto._src.frontend.regions.scopes import name_hint

        name = name_hint(ctx, words["name_hint"])
    stmts = ctx.body(node.body)
    span = ctx.span(node)
    ctx.block.append(ScopeStmt(ScopeKind.InCore, seq(stmts, span), span, name))


def _pass(ctx: Context, node: ast.Pass) -> None:
    pass


# Control flow is parsed by modules that a straight kernel does not load.


def _if() -> Form:
    from pypto._src.frontend.syntax.branches import if_

    return if_


def _for() -> Form:
    from pypto._src.frontend.syntax.loops import for_

    def parse(ctx: Context, node: ast.For) -> None:
        helper = ctx.peek(node.iter.func) if isinstance(node.iter, ast.Call) else None
        if getattr(helper, "__module__", None) != _REGION_MARKERS:
            for_(ctx, node)
            return
        from pypto._src.frontend.regions.loops import parse

        parse(ctx, node, helper)

    return parse


_REGION_MARKERS: Final = "pypto._src.frontend.region_markers"


def _while() -> Form:
    from pypto._src.frontend.syntax.loops import while_

    return while_


def _break() -> Form:
    from pypto._src.frontend.syntax.loops import break_

    return break_


def _continue() -> Form:
    from pypto._src.frontend.syntax.loops import continue_

    return continue_


def _return() -> Form:
    from pypto._src.frontend.syntax.returns import return_

    return return_


_WAYS_OUT: Final[dict[type[ast.stmt], tuple[str, str | None]]] = {
    ast.FunctionDef: (
        "functions inside functions",
        "define it outside the kernel, with @pl.inline above",
    ),
    ast.AsyncFunctionDef: ("async functions", "write a def outside the kernel"),
    ast.ClassDef: ("classes inside functions", "write the class outside the kernel"),
    ast.Try: ("try", "write its statements without it: nothing raises in a kernel"),
    ast.TryStar: ("try", "write its statements without it: nothing raises in a kernel"),
    ast.Raise: ("raise", "check it outside the kernel"),
    ast.Assert: ("assert", "check it outside the kernel"),
    ast.Import: ("import", "import it outside the kernel"),
    ast.ImportFrom: ("import", "import it outside the kernel"),
    ast.Delete: ("del", "leave it out: memory is planned by the compiler"),
    ast.Global: ("global", "pass the value as a parameter, and return it"),
    ast.Nonlocal: ("nonlocal", "pass the value as a parameter, and return it"),
    ast.Match: ("match", "write if, elif, else"),
    ast.AsyncFor: ("async for", "write for"),
    ast.AsyncWith: ("async with", "write with"),
}


def _unsupported(ctx: Context, node: ast.stmt) -> None:
    what, hint = _WAYS_OUT.get(type(node), (type(node).__name__.lower(), None))
    raise UnsupportedFeatureError(f"kernels do not have {what}", ctx.span(node), hint=hint)


STATEMENT_FORMS: Final = Forms(
    {
        ast.Assign: assign,
        ast.AnnAssign: ann_assign,
        ast.AugAssign: aug_assign,
        ast.Expr: expression,
        ast.With: _with,
        ast.Pass: _pass,
    },
    _unsupported,
    later={
        ast.If: _if,
        ast.For: _for,
        ast.While: _while,
        ast.Return: _return,
        ast.Break: _break,
        ast.Continue: _continue,
    },
)
