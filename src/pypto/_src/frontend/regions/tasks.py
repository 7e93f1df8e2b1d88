"""Tasks: their names, lists of them, and what waits for what.

The order of a program's statements gives the right result, and the runtime derives the dependences
of tasks from what they read and write. So the name of a task has no value: its uses are checked,
and leave nothing in the IR.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from pypto._src.dtypes import DataType
from pypto._src.errors import ParserSyntaxError, ParserTypeError
from pypto._src.frontend import region_markers
from pypto._src.frontend.regions.asides import ASIDES, Nothing
from pypto._src.frontend.source.python_names import items_of
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.effects import parts_of
from pypto._src.frontend.state.messages import describe
from pypto._src.frontend.state.scope import OF_THE_FUNCTION
from pypto._src.frontend.syntax.inline import called_by_self
from pypto._src.ir.array_types import is_integer
from pypto._src.ir.exprs import Call, Expr
from pypto._src.ir.stmts import EvalStmt
from pypto._src.ir.types import TupleType, UnknownType

if TYPE_CHECKING:
    from pypto._src.frontend.regions.number_arrays import Numbers


class _NoValue(TypeError):
    """Raised where a task is used in a computation."""

    hint = "name it in deps=[...] of another task"


class Task:
    """The value of a task's name: to the parser all tasks are one."""

    def _refuse(self, *_: Any) -> Any:
        raise _NoValue("a task has no value")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __repr__(self) -> str:
        return "a task"


class Tasks:
    """A list of tasks, ``pl.array.create(4, pl.TASK_ID)``, whose items are read and assigned."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __repr__(self) -> str:
        return f"a list of {self.size} tasks"


class Prefetch:
    """The value of anything about prefetches: context, session, the prefetch itself."""

    def __repr__(self) -> str:
        return "a prefetch"


class Arrived(int):
    """The result of waiting for a prefetch: true. It may be a statement of its own."""


ARRIVED: Final = Arrived(True)
TASK: Final = Task()
PREFETCH: Final = Prefetch()
OF_THE_FUNCTION.update((Task, Tasks, Prefetch, Arrived, Nothing))


def is_task(value: Any) -> bool:
    """True for what ``deps=`` may contain: a task, a list of them, None."""
    return value is None or isinstance(value, Task | Tasks)


def check_deps(ctx: Context, node: ast.expr) -> None:
    """Check that ``deps=`` is a list of tasks.

    Raises:
        ParserTypeError: it is not a list, or contains something else.
    """
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        _comprehension(ctx, node)
        return
    if not isinstance(node, ast.List | ast.Tuple):
        raise ParserTypeError(
            f"deps is a list of tasks written at the call, got {ctx.source.text(node)}",
            ctx.span(node),
            hint=f"write deps=[{ctx.source.text(node)}]",
            slug="region-deps",
        )
    for item in node.elts:
        inner = item.value if isinstance(item, ast.Starred) else item
        if isinstance(inner, ast.ListComp | ast.GeneratorExp):
            _comprehension(ctx, inner)
            continue
        check_task(ctx, inner)


def check_task(ctx: Context, node: ast.expr) -> None:
    """Check that an expression is a task, or a list of them."""
    value = ctx.value(node)
    found: Sequence[Any] = items_of(value) or [value]
    if not all(map(is_task, found)):
        raise ParserTypeError(
            f"a task waits for other tasks, {ctx.source.text(node)} is {describe(value)}",
            ctx.span(node),
            hint="name a task: with pl.at(level=pl.Level.CORE_GROUP) as done:",
            slug="region-deps",
        )


def _comprehension(ctx: Context, node: ast.ListComp | ast.GeneratorExp) -> None:
    """Check ``[done[i] for i in range(4)]``; the indices are known numbers."""
    base = node.elt.value if isinstance(node.elt, ast.Subscript) else node.elt
    if not is_task(ctx.value(base)):
        check_task(ctx, base)


def item(ctx: Context, node: ast.Subscript, base: Tasks | Numbers) -> Any:
    """Return an item of a list of tasks or of numbers."""
    index = check_index(ctx, node, base)
    if isinstance(base, Tasks):
        return TASK
    from pypto._src.frontend.regions.number_arrays import item as number

    return number(ctx, base, index, node)


def check_index(ctx: Context, node: ast.Subscript, base: Tasks | Numbers) -> Any:
    """Check the index of an item, and return it.

    Raises:
        ParserTypeError: it is not an integer, or outside the list.
    """
    index = ctx.value(node.slice)
    is_number = (isinstance(index, int) and not isinstance(index, bool)) or (
        isinstance(index, Expr) and is_integer(index)
    )
    if not is_number or (isinstance(index, int) and not 0 <= index < base.size):
        raise ParserTypeError(
            f"an index of {base} is from 0 to {base.size - 1}, got {describe(index)}",
            ctx.span(node),
            hint=f"write {ctx.source.text(node.value)}[0]",
            slug="array",
        )
    return index


def write_item(ctx: Context, target: ast.Subscript, base: Tasks | Numbers, value: Any) -> None:
    """Check ``done[i] = task``, or append ``counts[i] = number``."""
    index = check_index(ctx, target, base)
    if not isinstance(base, Tasks):
        from pypto._src.frontend.regions.number_arrays import write_item as write_number

        write_number(ctx, base, index, value, target)
        return
    if not is_task(value):
        raise ParserTypeError(
            f"{base} holds tasks, got {describe(value)}",
            ctx.span(target),
            hint="name a task: with pl.at(level=pl.Level.CORE_GROUP) as done:",
            slug="array",
        )


def create(
    ctx: Context, args: Sequence[Any], kwargs: dict[str, Any], node: ast.Call
) -> Tasks | Numbers:
    """Return the list of ``pl.array.create(4, pl.TASK_ID)``, or one of integers."""
    given = {**dict(zip(("extent", "dtype"), args, strict=False)), **kwargs}
    extent, dtype = given.get("extent"), given.get("dtype")
    if not isinstance(extent, int) or extent < 1:
        raise ParserTypeError(
            f"the extent of an array is a number from 1 on, got {describe(extent)}",
            ctx.span(node),
            hint="write pl.array.create(4, pl.TASK_ID)",
            slug="array",
        )
    if dtype is region_markers.TASK_ID:
        return Tasks(extent)
    if not isinstance(dtype, DataType) or dtype.is_float():
        raise ParserTypeError(
            f"arrays hold tasks or integers, got {describe(dtype)}",
            ctx.span(node),
            hint=f"write pl.array.create({extent}, pl.TASK_ID)",
            slug="array",
        )
    from pypto._src.frontend.regions.number_arrays import create as numbers

    return numbers(ctx, extent, dtype, node)


def dummy(ctx: Context, node: ast.Call) -> Task:
    """Return the task of ``pl.system.task_dummy(deps=[...])``."""
    words = {word.arg: word.value for word in node.keywords}
    if node.args or set(words) != {"deps"}:
        raise ParserTypeError(
            "pl.system.task_dummy takes only deps=",
            ctx.span(node),
            hint="write pl.system.task_dummy(deps=[done])",
            slug="region-deps",
        )
    check_deps(ctx, words["deps"])
    return TASK


def submit(ctx: Context, node: ast.Call) -> tuple[Any, ...]:
    """Return the results and the task of ``pl.submit(self.kernel, x, y, deps=[done])``."""
    options = {word.arg: word.value for word in node.keywords}
    kernel = node.args[0] if node.args else None
    if kernel is None or options.keys() - {"deps", "dumps", "allow_early_resolve"}:
        raise ParserSyntaxError(
            "pl.submit takes a kernel, its arguments in order, and options of the task",
            ctx.span(node),
            hint="write y, done = pl.submit(self.kernel, x, y, deps=[before])",
            slug="region-option",
        )
    if "deps" in options:
        check_deps(ctx, options["deps"])
    made = ast.copy_location(ast.Call(called_by_self(ctx, kernel), node.args[1:], []), node)
    value = ctx.value(made)
    if isinstance(value, Call) and value.type.__class__ is UnknownType:
        ctx.block.append(EvalStmt(value, ctx.span(node)))
        return (TASK,)
    if isinstance(value, Expr) and isinstance(value.type, TupleType):
        return (*parts_of(ctx, value, ctx.span(node)), TASK)
    return (*cast("tuple[Any, ...]", value), TASK) if isinstance(value, tuple) else (value, TASK)


_PREFETCHES: Final = (
    region_markers.prefetch_context,
    region_markers.prefetch_session,
    region_markers.prefetch_read,
    region_markers.prefetch_wait,
)
"""The calls that change no value: they prefetch memory."""


def call(ctx: Context, callee: Any, node: ast.Call) -> Any:
    """Return the value of a call that deals with tasks.

    Raises:
        ParserSyntaxError: the callee gives no value: it is a region or loop.
    """
    if callee in (region_markers.aiv_shard, region_markers.aic_gather):
        from pypto._src.frontend.regions import lanes

        return (lanes.shard if callee is region_markers.aiv_shard else lanes.gather)(ctx, node)
    if callee is region_markers.submit:
        return submit(ctx, node)
    if callee in ASIDES:
        return ASIDES[callee](ctx, node)
    args = [ctx.value(arg) for arg in node.args]
    if callee is region_markers.task_dummy:
        return dummy(ctx, node)
    if callee is region_markers.task_invalid:
        return TASK
    words = {word.arg: ctx.value(word.value) for word in node.keywords if word.arg}
    if callee is region_markers.array_create:
        return create(ctx, args, words, node)
    if callee is region_markers.no_dep:
        if len(args) != 1 or words:
            raise ParserTypeError(
                "pl.no_dep takes one argument of a kernel",
                ctx.span(node),
                hint="write pl.no_dep(x)",
                slug="region-deps",
            )
        return args[0]
    if callee in _PREFETCHES:
        return ARRIVED if callee is region_markers.prefetch_wait else PREFETCH
    if callee in (region_markers.split, region_markers.cross_core_slot):
        return callee
    name = getattr(callee, "__name__", "")
    kind = "with" if isinstance(callee, type) else "for"
    raise ParserSyntaxError(
        f"pl.{name} belongs in a {kind} statement",
        ctx.span(node),
        hint=f"write {'with' if kind == 'with' else 'for i in'} {ctx.source.text(node)}:",
        slug="misplaced",
    )
