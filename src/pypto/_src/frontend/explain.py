"""What an op's refusal means where it is called: the user's words, the argument, a call to type.

Leaf code says what is wrong with the operands. The text of the call tells the rest: under which
name the op was called, which argument it is about, and how the call could be written instead.
A hint that spells a call is tried before it is given. All of this runs on errors only.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from pypto._src.diagnostics import Label, Span
from pypto._src.errors import ParserError, ParserOpError, PyptoError
from pypto._src.frontend.context import Context
from pypto._src.frontend.messages import did_you_mean, dtype_like, nearest, spell
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.nodes import Expr, ShapedType, TensorType, TileType, Var, const_value
from pypto._src.ir.opdef import ATTR, INTS, OFFSETS, REQUIRED, TENSOR, TILE, OpDef, Param, op_of
from pypto._src.ir.stmts import AssignStmt, Stmt
from pypto._src.ir.walk import stmts_in
from pypto._src.ops import memory
from pypto._src.ops.rules import FROM_MAT, check_space
from pypto._src.ops.unified import Unified

_MOST_SWAPPED = 5


class _Site(NamedTuple):
    """A refused call: what was called, with what, and where it stands."""

    ctx: Context
    callee: OpDef[..., Any] | Unified
    op: OpDef[..., Any]  # the one of the callee's ops that the message is about
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    node: ast.Call

    @property
    def written(self) -> str:
        """The callee as the user wrote it."""
        return self.ctx.source.text(self.node.func)

    def texts(self) -> list[str]:
        """Return the positional arguments as the user wrote them."""
        return [self.ctx.source.text(arg) for arg in self.node.args]

    def spelled(self, args: Sequence[str], *, keywords: bool = True) -> str:
        """Return the call with other positional arguments."""
        words = [self.ctx.source.text(word) for word in self.node.keywords] if keywords else []
        return f"{self.written}({', '.join([*args, *words])})"

    def works(self, args: Sequence[Any]) -> bool:
        """True if the op takes these positional arguments, beside the keywords."""
        try:
            self.callee.build(args, self.kwargs)
        except (PyptoError, TypeError, ValueError):
            return False
        return True


def explained(
    ctx: Context,
    error: ParserError,
    callee: OpDef[..., Any] | Unified,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    node: ast.AST,
) -> ParserError:
    """Return an op's error with what the source tells about it."""
    op = _refusing(error, callee)
    if not isinstance(node, ast.Call):
        _rename(error, op, f"pl.{op.overload}")
        return error
    site = _Site(ctx, callee, op, args, kwargs, node)
    param = _param_of(error, op)
    one_line = node.end_lineno == node.lineno
    hint = _HINTS.get(error.slug) if one_line else None
    found = hint(site, error, param) if hint is not None else None
    error.hint = found or error.hint
    _rename(error, op, site.written)
    _say_which(site, error)
    _relate(site, error)
    _point(site, error, param)
    return error


def _refusing(error: PyptoError, callee: OpDef[..., Any] | Unified) -> OpDef[..., Any]:
    candidates = callee.candidates if isinstance(callee, Unified) else [callee]
    named = [op for op in candidates if re.search(_as_word(op.name), error.message)]
    return (named or candidates)[0]


def _as_word(name: str) -> str:
    return rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)"


def _rename(error: ParserError, op: OpDef[..., Any], written: str) -> None:
    """Call the op as the user does: ``pl.exp`` where the IR says ``block.exp``."""
    error.message = re.sub(_as_word(op.name), lambda _match: written, error.message)
    error.args = (error.message,)


def _say_which(site: _Site, error: ParserError) -> None:
    """Say ``the second argument`` for ``argument 'rhs'``, which nobody writes."""
    message = error.message.replace(" (lhs, rhs)", "")
    for param, ordinal in zip(site.op.params, _ORDINALS, strict=False):
        if param.name in ("lhs", "rhs") and param.name not in site.kwargs:
            message = message.replace(f"its argument '{param.name}'", f"its {ordinal} argument")
            message = message.replace(f"argument '{param.name}'", f"the {ordinal} argument")
    error.message = message
    error.args = (message,)


_ORDINALS = ("first", "second", "third")


def _param_of(error: ParserError, op: OpDef[..., Any]) -> Param | None:
    """Return the parameter that the message is about."""
    if error.slug not in ("argument-kind", "argument-count"):
        return None
    found = re.search(r"argument '(\w+)'|got '(\w+)' twice", error.message)
    names = found.groups() if found else ()
    return next((p for p in op.params if p.name in names), None)


def _point(site: _Site, error: ParserError, param: Param | None) -> None:
    """Place the error at the argument that it is about."""
    for word in site.node.keywords:
        if error.slug == "unknown-keyword" and f"argument {word.arg!r}" in error.message:
            error.at(site.ctx.span(word))
        elif param is not None and word.arg == param.name:
            error.at(site.ctx.span(word.value if error.slug == "argument-kind" else word))
    if param is None or error.slug != "argument-kind":
        return
    index = site.op.params.index(param)
    if index < len(site.node.args):
        error.at(site.ctx.span(site.node.args[index]))


def _relate(site: _Site, error: ParserError) -> None:
    """Add where the operands come from, if the op has not."""
    shaped = [a for a in site.args if isinstance(a, Var) and isinstance(a.type, ShapedType)]
    if error.related or len(shaped) < 2 or error.slug in ("argument-count", "unknown-keyword"):
        return
    line = site.ctx.span(site.node).begin_line
    error.related = tuple(
        Label(var.span, f"{var.name} is {spell(var.type)}")
        for var in dict.fromkeys(shaped)
        if 0 < var.span.begin_line != line
    )


# --------------------------------------------------------------------------------- hints


def _keyword_hint(site: _Site, error: ParserError, _param: Param | None) -> str | None:
    """Suggest the nearest keyword, or the call without the one that there is not."""
    known = [p.name for p in site.op.params]
    for word in site.node.keywords:
        if word.arg is not None and f"argument {word.arg!r}" in error.message:
            return did_you_mean(word.arg, known) or _without(site, word) or _arguments(site)
    return None


def _without(site: _Site, keyword: ast.keyword) -> str | None:
    others = {key: value for key, value in site.kwargs.items() if key != keyword.arg}
    if not site._replace(kwargs=others).works(site.args):
        return None
    words = [site.ctx.source.text(word) for word in site.node.keywords if word is not keyword]
    return f"write {site.spelled([*site.texts(), *words], keywords=False)}"


def _arguments(site: _Site) -> str:
    """Return the names of the arguments, but for scratch tiles, which are made where they lack."""
    names = [p.name for p in site.op.params if p.kind != TILE or p.default is REQUIRED]
    return f"its arguments are {', '.join(names)}"


def _count_hint(site: _Site, _error: ParserError, param: Param | None) -> str | None:
    """Suggest the call with the names of what is missing, or without what is too much."""
    names, texts = [p.name for p in site.op.params], site.texts()
    grouped = _grouped(site)
    if grouped is not None:
        return grouped
    if len(texts) > len(names):
        left = texts[: len(names)]
        return f"write {site.spelled(left)}" if site.works(site.args[: len(names)]) else None
    given = {*names[: len(texts)], *site.kwargs}
    missing = [
        _stand_in(site, p) for p in site.op.params if p.default is REQUIRED and p.name not in given
    ]
    if missing and not site.kwargs:
        return f"write {site.spelled([*texts, *missing])}"
    if param is not None and param.name in names[: len(texts)]:
        return f"leave {param.name}= out"
    return None


def _stand_in(site: _Site, param: Param) -> str:
    """Return what could be an argument: a variable of its kind, else its name."""
    if param.attr_type == "DataType":
        return "pl.FP32"
    kind = {TILE: TileType, TENSOR: TensorType}.get(param.kind)
    known = [v for v in site.ctx.names.values.values() if isinstance(v, Var)]
    fitting = [v.name for v in known if kind is not None and isinstance(v.type, kind)]
    return fitting[-1] if fitting else param.name


def _grouped(site: _Site) -> str | None:
    """Suggest brackets around numbers: ``pl.load(x, 0, 0, 64, 64)``."""
    if not any(p.kind == INTS for p in site.op.params):
        return None
    ranks = [len(a.type.shape) for a in site.args if _is_shaped(a)][:1] or [1, 2]
    for rank in ranks:
        for gather in (_runs, _spread):
            values, texts = gather(site.args, site.texts(), rank)
            if len(values) <= len(site.op.params) and site.works(values):
                return f"write {site.spelled(texts)}"
    return None


def _runs(args: Sequence[Any], texts: Sequence[str], rank: int) -> tuple[list[Any], list[str]]:
    """Return the arguments with each ``rank`` numbers that follow each other in one list."""
    values: list[Any] = []
    spelled: list[str] = []
    numbers: list[int] = []
    for index, value in enumerate(args):
        if not isinstance(value, int) or isinstance(value, bool):
            values.append(value)
            spelled.append(texts[index])
            continue
        numbers.append(index)
        if len(numbers) == rank:
            values.append([args[i] for i in numbers])
            spelled.append(f"[{', '.join(texts[i] for i in numbers)}]")
            numbers = []
    return values, spelled


def _spread(args: Sequence[Any], texts: Sequence[str], rank: int) -> tuple[list[Any], list[str]]:
    """Return the arguments with a list of ``rank`` equal numbers in place of each number."""
    values: list[Any] = []
    spelled: list[str] = []
    for value, text in zip(args, texts, strict=True):
        number = isinstance(value, int) and not isinstance(value, bool)
        values.append([value] * rank if number else value)
        spelled.append(f"[{', '.join([text] * rank)}]" if number else text)
    return values, spelled


def _is_shaped(value: Any) -> bool:
    return isinstance(value, Expr) and isinstance(value.type, ShapedType)


def _kind_hint(site: _Site, error: ParserError, param: Param | None) -> str | None:
    """Suggest the arguments in another order, or what the wrong one was meant to be."""
    swapped = _swapped(site, error, param)
    if swapped is not None or param is None:
        return swapped
    index = site.op.params.index(param)
    value = site.args[index] if index < len(site.args) else site.kwargs.get(param.name)
    if param.kind == ATTR:
        return _attribute_hint(param, value)
    if param.kind == INTS:
        return _grouped(site)
    if param.kind == TILE and index < len(site.args):
        return _load_hint(site, value) or _full_hint(site, index, value)
    return None


def _attribute_hint(param: Param, value: Any) -> str | None:
    kind = param.attr_type.removesuffix(" | None")
    if kind == "DataType":
        dtype = dtype_like(value)
        return None if dtype is None else f"write pl.{dtype.member}"
    if kind == MemorySpace.__name__ and isinstance(value, str):
        name = nearest(value, MemorySpace.__members__)
        return None if name is None else f"write pl.MemorySpace.{name}"
    return None


def _load_hint(site: _Site, value: Any) -> str | None:
    """Suggest the load of a parameter that stands where a tile is wanted."""
    if not isinstance(value, Var) or not isinstance(value.type, TensorType):
        return None
    shape = [const_value(dim) for dim in value.type.shape]
    is_param = any(arg.arg == value.name for arg in site.ctx.node.args.args)
    if not is_param or None in shape or any((dim or 0) <= 0 for dim in shape):
        return None
    return f"load it: pl.load({value.name}, {[0] * len(shape)}, {shape})"


def _full_hint(site: _Site, index: int, value: Any) -> str | None:
    """Suggest the tile full of a number that is written to a region of a tensor."""
    kinds = [a.type for a in site.args if isinstance(a, Expr) and isinstance(a.type, TensorType)]
    sizes = [at for at, p in enumerate(site.op.params) if p.kind == INTS and p.attr_type != OFFSETS]
    if not isinstance(value, int | float) or len(kinds) != 1 or len(sizes) != 1:
        return None
    args, texts = [*site.args], site.texts()
    try:
        args[index] = memory.full.build([args[sizes[0]], kinds[0].dtype, value], {})
    except (PyptoError, TypeError, ValueError, IndexError):
        return None
    texts[index] = f"pl.full({texts[sizes[0]]}, pl.{kinds[0].dtype.member}, {texts[index]})"
    return f"write {site.spelled(texts)}" if site.works(args) else None


def _swapped(site: _Site, _error: ParserError, _param: Param | None) -> str | None:
    """Suggest the call with two of its arguments the other way round."""
    texts = site.texts()
    if not 2 <= len(texts) <= _MOST_SWAPPED or len(texts) != len(site.args):
        return None
    for i, j in combinations(range(len(texts)), 2):
        values = [*site.args]
        values[i], values[j] = values[j], values[i]
        if values[i] is not values[j] and site.works(values):
            texts[i], texts[j] = texts[j], texts[i]
            return f"write {site.spelled(texts)}"
    return None


_HINTS: dict[str, Callable[[_Site, ParserError, Param | None], str | None]] = {
    "unknown-keyword": _keyword_hint,
    "argument-count": _count_hint,
    "argument-kind": _kind_hint,
    "memory-space": _swapped,
    "no-overload": _swapped,
}


# --------------------------------------------------------------------- memories of operands


def misplaced_operands(ctx: Context, body: Stmt) -> list[ParserError]:
    """Return an error for each call in ``ctx.unplaced`` whose operand lives in a wrong memory.

    Operands of the matrix unit carry the layout of their memory in their types. One that does not
    comes from a definition that says where it is; this looks those up, all at once.
    """
    made = {s.var: s for s in stmts_in(body) if isinstance(s, AssignStmt)}
    found: list[ParserError] = []
    for call in ctx.unplaced:
        op = op_of(call)
        assert op is not None
        for index in op.operand_spaces(call.kwargs):
            error = _misplaced(ctx, op, call.kwargs, index, call.args[index], made)
            if error is not None:
                found.append(error.at(call.span))
                break
    return found


def _load_into(ctx: Context, maker: OpDef[..., Any], line: Span, target: MemorySpace) -> str | None:
    """Return the assignment at ``line``, of a load, so that the tile gets to ``target``."""
    loads = maker.params[0].kind == TENSOR and maker.params[-1].attr_type == MemorySpace.__name__
    in_line = line.filename == ctx.source.filename and line.end_line == line.begin_line
    if not loads or not in_line or target not in (MemorySpace.Mat, *FROM_MAT):
        return None
    text = ctx.source.lines[line.begin_line - 1][line.begin_column : line.end_column]
    name, _, value = text.partition(" = ")
    if not value.endswith(")") or "=" in value:
        return None
    value = f"{value[:-1]}, target_memory=pl.MemorySpace.Mat)"
    if target is not MemorySpace.Mat:
        value = f"pl.move({value}, target_memory=pl.MemorySpace.{target.name})"
    return f"write {name} = {value}"


def _misplaced(
    ctx: Context,
    op: OpDef[..., Any],
    kwargs: Mapping[str, Any],
    index: int,
    value: Expr,
    made: Mapping[Any, AssignStmt],
) -> ParserError | None:
    source, seen = value, 0
    while isinstance(source, Var) and source in made and seen < len(made):
        source, seen = made[source].value, seen + 1
    maker = op_of(source)
    if maker is None or not isinstance(value, Var) or not isinstance(source.type, TileType):
        return None
    space = maker.space_of(source)  # pyright: ignore[reportArgumentType]
    try:
        check_space(op, kwargs, index, value.name, space)
    except PyptoError as error:
        line = made[value].span if value in made else value.span
        target = next(iter(op.operand_spaces(kwargs)[index]))
        return ParserOpError(
            error.message,
            hint=_load_into(ctx, maker, line, target) or error.hint,
            slug=error.slug,
            related=(Label(line, f"{value.name} is in {space.name} memory"),),
        )
    return None
