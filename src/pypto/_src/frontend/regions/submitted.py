"""``pl.spmd_submit``: a launch whose blocks each call the same kernel, as an expression."""

from __future__ import annotations

import ast
from typing import Any, Final

from pypto._src.errors import ParserSyntaxError
from pypto._src.frontend import region_markers
from pypto._src.frontend.regions.tasks import TASK
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.signatures import Callee
from pypto._src.frontend.syntax.inline import InlineFunction, called_by_self
from pypto._src.ir.enums import ParamDirection

_OPTIONS: Final = frozenset(
    {"core_num", "sync_start", "deps", "dumps", "allow_early_resolve", "predicate"}
)
_SPMD: Final = "the launch"
_TASK: Final = "its task"
"""Names that no kernel can use."""


def spmd_submit(ctx: Context, node: ast.Call) -> tuple[Any, ...]:
    """Return the results and the task of ``pl.spmd_submit(self.kernel, x, y, core_num=8)``.

    Raises:
        ParserSyntaxError: there is no kernel, no number of blocks, or another keyword.
    """
    words = {word.arg or "": word.value for word in node.keywords}
    if not node.args or "core_num" not in words or words.keys() - _OPTIONS:
        is_short = bool(node.args) and not words.keys() - _OPTIONS
        whole = f"{ctx.source.text(node)[:-1]}, core_num=8)"
        raise ParserSyntaxError(
            "pl.spmd_submit takes a kernel, its arguments in order, the number of blocks and "
            "options of the task",
            ctx.span(node),
            hint=f"write {whole}"
            if is_short
            else "write y, done = pl.spmd_submit(self.kernel, x, y, core_num=8)",
            slug="region-option",
        )
    kernel = called_by_self(ctx, node.args[0])
    names, is_value = _outputs(ctx, kernel, node)
    made = ast.Call(kernel, node.args[1:], [])
    body: ast.stmt = ast.Expr(made)
    if names and is_value:
        stored = [ast.copy_location(ast.Name(name, ast.Store()), node) for name in names]
        target = stored[0] if len(stored) == 1 else ast.Tuple([*stored], ast.Store())
        body = ast.Assign([ast.copy_location(target, node)], made)
    ctx.outer[_SPMD] = region_markers.spmd
    spmd, task = ast.Name(_SPMD, ast.Load()), ast.Name(_TASK, ast.Store())
    launch = ast.Call(spmd, [], [word for word in node.keywords if word.arg != "dumps"])
    with_ = ast.With([ast.withitem(launch, task)], [body])
    ast.copy_location(spmd, node.func)
    for each in (made, body, task, launch, with_):
        ast.copy_location(each, node)
    ctx.run([with_])
    return (*(ctx.names.values[name] for name in names), TASK)


def _outputs(ctx: Context, kernel: ast.expr, node: ast.Call) -> tuple[list[str], bool]:
    """Return the names of the outputs that the kernel returns, and whether it has a return."""
    args = node.args[1:]
    callee = ctx.functions.method(kernel.attr) if isinstance(kernel, ast.Attribute) else None
    callee = callee or ctx.peek(kernel)
    is_value = True
    if isinstance(callee, Callee):
        found = callee.signature(ctx.span(node))
        returned = [
            index
            for index, direction in enumerate(found.directions)
            if direction is not ParamDirection.In
        ][: len(found.results)]
    elif isinstance(callee, InlineFunction):
        is_value = isinstance(callee.func_def.body[-1], ast.Return)
        last = callee.placed(in_region=False).func_def.body[-1]
        value = last.value if isinstance(last, ast.Return) else None
        items = value.elts if isinstance(value, ast.Tuple) else [value]
        texts = [item.id for item in items if isinstance(item, ast.Name)]
        returned = [callee.param_names.index(t) for t in texts if t in callee.param_names]
    else:
        returned = []
    names: list[str] = []
    for index in returned:
        arg = args[index] if index < len(args) else node
        if not isinstance(arg, ast.Name):
            raise ParserSyntaxError(
                "an output of pl.spmd_submit is a tensor with a name, got "
                + (ctx.source.text(arg) if arg is not node else "none"),
                ctx.span(arg),
                hint="name it before: y = pl.create_tensor([64, 64], dtype=pl.FP32)",
                slug="region-option",
            )
        names.append(arg.id)
    return names, is_value
