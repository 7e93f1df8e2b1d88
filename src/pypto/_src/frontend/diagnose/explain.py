"""What an op's refusal means where it is called: the user's words, the argument, a call to write.

Leaf code says what is wrong with the operands. The text of the call gives the rest: the name under
which the op was called, the argument at fault, and how the call could be written instead. A hint
that spells out a call is tried before it is given. All of this runs on errors only.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from pypto._src.diagnostics import Label, text_at
from pypto._src.dtypes import DataType
from pypto._src.errors import ParserError, PyptoError
from pypto._src.frontend import markers
from pypto._src.frontend.diagnose.absent_ops import ABSENT
from pypto._src.frontend.diagnose.fixits import (
    REPAIRS,
    Hint,
    Site,
    integers_hint,
    number_hint,
    part_hint,
    sides,
    slice_hint,
    turned_hint,
    whole_hint,
)
from pypto._src.frontend.diagnose.number_forms import of_number, of_two_numbers
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.errors import as_parser_error
from pypto._src.frontend.state.messages import as_full, dtype_like, nearest, number_in, spell
from pypto._src.ir.array_types import ShapedType, TensorType, TileType, static_shape
from pypto._src.ir.enums import FunctionType, MemorySpace, PipeType
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.op_params import (
    ATTR,
    INTS,
    OFFSETS,
    REQUIRED,
    SCALAR,
    TENSOR,
    TILE,
    Param,
    kind_of,
)
from pypto._src.ir.opdef import OpDef, op_of, spelling
from pypto._src.ir.stmts import AssignStmt
from pypto._src.ir.types import ScalarType
from pypto._src.ops import (
    compare_select,
    matmul,
    memory,
    new_tiles,
    reshaping,
    tensor_math,
)
from pypto._src.ops.unified import Unified, is_data, is_number, unified
from pypto._src.suggestions import keyword_hint

_MOST_SWAPPED = 5
_WITH_OPERANDS = (ast.Call, ast.BinOp, ast.Compare, ast.AugAssign)


def explained(
    ctx: Context,
    error: ParserError,
    callee: OpDef[..., Any] | Unified,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    node: ast.AST,
) -> ParserError:
    """Return an op's error, extended by what the source tells."""
    if isinstance(callee, Unified) and not callee.candidates:
        return error  # of a function of scalars, which is no op
    error = _respelled(ctx, error, callee, args, kwargs, node)
    op = _refusing(error, callee)
    if isinstance(node, ast.Subscript) and error.slug == "out-of-bounds":
        error.hint = slice_hint(ctx, op, args, node)
    if error.slug == "constant-range" and isinstance(node, _WITH_OPERANDS):
        error.hint = number_hint(ctx, error, callee, args, kwargs, node) or error.hint
    if error.hint is not None and isinstance(node, _WITH_OPERANDS):
        text = error.hint.removesuffix(" is a whole tile with zeros in the rest")
        error.hint = whole_hint(ctx, text, callee, args, kwargs, node) or error.hint
    if not isinstance(node, ast.Call):
        _rename(error, op, f"pl.{op.overload}")
        return error
    site = Site(ctx, callee, op, args, kwargs, node)
    param = _param_of(error, op)
    hint = _HINTS.get(error.slug)
    found = hint(site, error, param) if hint is not None else None
    error.hint = found or error.hint
    _rename(error, op, site.written)
    _say_which(site, error)
    _relate(site, error)
    _point(site, error, param)
    return error


def _respelled(
    ctx: Context,
    error: ParserError,
    callee: OpDef[..., Any] | Unified,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    node: ast.AST,
) -> ParserError:
    """Return an op's error with the user's text for operands that have no name."""
    nodes: Mapping[int, ast.expr] = {}
    if isinstance(node, ast.Call):
        nodes = dict(enumerate(node.args))
    elif isinstance(node, ast.BinOp | ast.Compare | ast.AugAssign):
        nodes = dict(enumerate(sides(node)))
    texts = {
        value: ctx.source.text(nodes[at])
        for at, value in enumerate(args)
        if at in nodes and isinstance(value, Expr) and not isinstance(nodes[at], ast.Name)
    }
    if not texts:
        return error
    try:
        with spelling(texts):
            callee.build(args, kwargs)
    except PyptoError as again:
        return as_parser_error(again)
    except (TypeError, ValueError):
        pass
    return error


def _refusing(error: PyptoError, callee: OpDef[..., Any] | Unified) -> OpDef[..., Any]:
    candidates = callee.candidates if isinstance(callee, Unified) else [callee]
    named = [op for op in candidates if re.search(_as_word(op.name), error.message)]
    return (named or candidates)[0]


def _as_word(name: str) -> str:
    return rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)"


def _rename(error: ParserError, op: OpDef[..., Any], written: str) -> None:
    """Name the op as the user does: ``pl.exp`` where the IR says ``block.exp``."""
    error.message = re.sub(_as_word(op.name), lambda _match: written, error.message)
    error.args = (error.message,)


def _say_which(site: Site, error: ParserError) -> None:
    """Write ``the second argument`` for ``argument 'rhs'``, a name that nobody writes."""
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


def _point(site: Site, error: ParserError, param: Param | None) -> None:
    """Move the error to the argument that it is about."""
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


def _relate(site: Site, error: ParserError) -> None:
    """Add where the operands come from, unless the op has."""
    shaped = [a for a in site.args if isinstance(a, Var) and isinstance(a.type, ShapedType)]
    line = site.ctx.span(site.node).begin_line
    if error.hint is not None and error.hint.startswith("give the loop another variable"):
        error.related = tuple(
            Label(var.span, f"{var.name} is the variable of this loop")
            for var in site.args
            if isinstance(var, Var) and var in site.ctx.names.fixed
        )
    if error.related or len(shaped) < 2 or error.slug in ("argument-count", "unknown-keyword"):
        return
    error.related = tuple(
        Label(var.span, f"{var.name} is {spell(var.type)}")
        for var in dict.fromkeys(shaped)
        if 0 < var.span.begin_line != line
    )


# --------------------------------------------------------------------------------- hints


def _keyword_hint(site: Site, error: ParserError, _param: Param | None) -> str | None:
    """Suggest the nearest keyword, or the call without the unknown one."""
    known = [p.name for p in site.op.params]
    for word in site.node.keywords:
        if word.arg is not None and f"argument {word.arg!r}" in error.message:
            if (
                word.arg == "kvalue" and site.op.overload == "gather"
            ):  # gather of the elements that compare
                return ABSENT["gather_compare"].hint
            meant = keyword_hint(word.arg, known) or turned_hint(site, word)
            return meant or _without(site, word) or _arguments(site)
    return None


def _without(site: Site, keyword: ast.keyword) -> str | None:
    others = {key: value for key, value in site.kwargs.items() if key != keyword.arg}
    if not site._replace(kwargs=others).works(site.args):
        return None
    others_left = [word for word in site.node.keywords if word is not keyword]
    words = [site.ctx.source.text(word) for word in others_left]
    return f"write {site.spelled([*site.texts(), *words], keywords=False)}"


def _arguments(site: Site) -> str:
    """Return the names of the arguments, without scratch tiles, which are made if missing."""
    names = [p.name for p in site.op.params if p.kind != TILE or p.default is REQUIRED]
    return f"its arguments are {', '.join(names)}"


def _count_hint(site: Site, _error: ParserError, param: Param | None) -> str | None:
    """Suggest the call with names for missing arguments, or without surplus ones."""
    names, texts = [p.name for p in site.op.params], site.texts()
    grouped = _grouped(site)
    if grouped is not None:
        return grouped
    if len(texts) > len(names):
        left = texts[: len(names)]
        return f"write {site.spelled(left)}" if site.works(site.args[: len(names)]) else None
    if site.op is reshaping.transpose and len(texts) == 1 and site.works([*site.args, 0, 1]):
        return f"write {site.spelled([*texts, '0', '1'])}"
    is_load = site.op is memory.load and len(site.args) == 1 and not site.kwargs
    if is_load and isinstance(getattr(site.args[0], "type", None), TileType):
        return f"write {texts[0]}"  # a part of a tensor, which is loaded by its brackets
    inserted = _inserted(site, site.args, texts) or _inserted_swapped(site) or _spread_over(site)
    if inserted is not None:
        return inserted
    completed = _completed(site)
    if completed is not None:
        return completed
    alone = _WITHOUT_SUM.get(site.op)
    if alone is not None and len(texts) == 2:
        return f"write pl.{alone.overload}({', '.join(texts)})"
    given = {*names[: len(texts)], *site.kwargs}
    missing = [
        _stand_in(site, p) for p in site.op.params if p.default is REQUIRED and p.name not in given
    ]
    if missing and not site.kwargs:
        return f"write {site.spelled([*texts, *missing])}"
    if param is not None and param.name in names[: len(texts)]:
        return f"leave {param.name}= out"
    return None


_WITHOUT_SUM: Final[Mapping[OpDef[..., Any], OpDef[..., Any]]] = {
    matmul.matmul_acc: matmul.matmul,
    matmul.gemv_acc: matmul.gemv,
}
"""Products that add to another product, with the product alone."""


def _inserted(site: Site, args: Sequence[Any], texts: Sequence[str]) -> str | None:
    """Suggest the call with one more argument that the op takes: a size, element type or variable.

    Otherwise with the two that make up a region: where it begins, and its size.
    """
    known = [v for v in site.ctx.names.values.values() if isinstance(v, Var)]
    kinds = [arg.type for arg in args if isinstance(arg, Expr)]
    shapes = [static_shape(kind) for kind in kinds if isinstance(kind, ShapedType)]
    values: list[tuple[Any, str]] = [(list(s), str(list(s))) for s in shapes if s is not None]
    values.append((DataType.FP32, "pl.FP32"))
    values += [(v, v.name) for v in reversed(known) if isinstance(v.type, ShapedType)]
    for at in range(len(texts), -1, -1):
        for value, text in values:
            if site.works([*args[:at], value, *args[at:]]):
                return f"write {site.spelled([*texts[:at], text, *texts[at:]])}"
    return _with_region(site, args, texts, [shape for shape in shapes if shape is not None], known)


def _inserted_swapped(site: Site) -> str | None:
    """Suggest the call with its two arguments the other way round, and one more."""
    texts = site.texts()
    is_pair = len(texts) == len(site.args) == 2
    return _inserted(site, site.args[::-1], texts[::-1]) if is_pair else None


def _with_region(
    site: Site,
    args: Sequence[Any],
    texts: Sequence[str],
    shapes: Sequence[Sequence[int]],
    known: Sequence[Var],
) -> str | None:
    """Suggest the call with a region, followed by a variable if the op needs one."""
    for at in range(len(texts), 0, -1):
        for shape in shapes:
            region = [0] * len(shape), list(shape)
            given = [*texts[:at], *map(str, region), *texts[at:]]
            longer = [*args[:at], *region, *args[at:]]
            if site.works(longer):
                return f"write {site.spelled(given)}"
            last = next((var for var in reversed(known) if site.works([*longer, var])), None)
            if last is not None:
                return f"write {site.spelled([*given, last.name])}"
    return None


def _completed(site: Site) -> str | None:
    """Suggest the call with its arguments in the right order, and what is missing of a region.

    Missing may be where it begins, the shape of the tile, and a tensor to store to.
    """
    tiles = [a.type for a in site.args if isinstance(a, Expr) and isinstance(a.type, TileType)]
    shape = static_shape(tiles[0]) if len(tiles) == 1 else None
    if site.kwargs or shape is None:
        return None
    left = [*zip(site.args, site.texts(), strict=True)]
    found: list[tuple[Any, str] | None] = []  # None for the tensor
    for param in (p for p in site.op.params if p.default is REQUIRED):
        at = next((i for i, (value, _) in enumerate(left) if kind_of(value) == param.kind), None)
        if at is not None:
            found.append(left.pop(at))
        elif param.kind == INTS:
            sizes = [0] * len(shape) if param.attr_type == OFFSETS else [*shape]
            found.append((sizes, str(sizes)))
        elif param.kind == TENSOR:
            found.append(None)
        else:
            return None
    known = [v for v in site.ctx.names.values.values() if isinstance(v, Var)]
    tensors = [(v, v.name) for v in reversed(known) if isinstance(v.type, TensorType)]
    for tensor in tensors if None in found else tensors[:1]:
        pairs = [tensor if pair is None else pair for pair in found]
        if not left and site.works([value for value, _ in pairs]):
            return f"write {site.spelled([text for _, text in pairs])}"
    return None


def _stand_in(site: Site, param: Param) -> str:
    """Return a possible argument: a variable of the right kind, else the parameter's name."""
    if param.attr_type == "DataType":
        return "pl.FP32"
    if param.name == "axis":
        return "-1"
    if site.op is new_tiles.full and param.name == "value":
        return "0.0" if any(isinstance(a, DataType) and a.is_float() for a in site.args) else "0"
    kind = {TILE: TileType, TENSOR: TensorType}.get(param.kind)
    known = [v for v in site.ctx.names.values.values() if isinstance(v, Var)]
    fitting = [v.name for v in known if kind is not None and isinstance(v.type, kind)]
    return fitting[-1] if fitting else param.name


def _grouped(site: Site) -> str | None:
    """Suggest brackets around numbers: ``pl.load(x, 0, 0, 64, 64)``."""
    if not any(p.kind == INTS for p in site.op.params) or len(site.args) != len(site.texts()):
        return None
    ranks = [len(a.type.shape) for a in site.args if is_data(a)][:1] or [1, 2]
    for rank in ranks:
        for gather in (_runs, _spread):
            values, texts = gather(site.args, site.texts(), rank)
            if len(values) <= len(site.op.params) and site.works(values):
                return f"write {site.spelled(texts)}"
    return None


def _spread_over(site: Site) -> str | None:
    """Suggest the load of a whole tensor where Triton has one address: ``pl.load(x, 0, 0)``."""
    kind = site.args[0].type if site.args and _is_tensor(site.args[0]) else None
    shape = None if kind is None else static_shape(kind)
    if site.op is not memory.load or shape is None or any(site.args[1:]) or site.kwargs:
        return None
    whole = [0] * len(shape), [*shape]
    if not site.works([site.args[0], *whole]):
        return None
    return f"write {site.spelled([site.texts()[0], *map(str, whole)])}"


def _runs(args: Sequence[Any], texts: Sequence[str], rank: int) -> tuple[list[Any], list[str]]:
    """Return the arguments with every ``rank`` numbers, in order, grouped into one list."""
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
    """Return the arguments with each number replaced by a list of ``rank`` copies of it."""
    values: list[Any] = []
    spelled: list[str] = []
    for value, text in zip(args, texts, strict=True):
        number = isinstance(value, int) and not isinstance(value, bool)
        values.append([value] * rank if number else value)
        spelled.append(f"[{', '.join([text] * rank)}]" if number else text)
    return values, spelled


def _kind_hint(site: Site, error: ParserError, param: Param | None) -> str | None:
    """Suggest the arguments in another order, or what the wrong one was meant to be."""
    swapped = _swapped(site, error, param)
    if swapped is not None or param is None:
        return swapped
    index = site.op.params.index(param)
    value = site.args[index] if index < len(site.args) else site.kwargs.get(param.name)
    if isinstance(value, str) and isinstance(site.ctx.names.values.get(value), Var):
        return f"write {value}"
    of_python = _of_numpy(site, param, value)
    if of_python is not None:
        return of_python
    if isinstance(value, str) and number_in(value) is not None:
        return f"write {number_in(value)}"
    renamed = _loop_hint(site, value)
    if renamed is not None:
        return renamed
    if param.name == "axis" and isinstance(value, float):  # pl.max(x, 0.0)
        other = f"{site.op.python_name}imum"
        return None if unified(other) is None else f"write pl.{other}({', '.join(site.texts())})"
    if param.kind == ATTR and isinstance(value, Expr):
        return _at_run_time(site, error, param, value)
    if param.kind == ATTR:
        return _attribute_hint(param, value)
    if param.kind == INTS:
        return integers_hint(site, param) or _grouped(site) or _spread_over(site)
    if param.kind == SCALAR and isinstance(value, Expr) and isinstance(value.type, TileType):
        return _without_scalar(site)
    if param.kind == TENSOR:
        beside = index > 0 and isinstance(value, Expr) and isinstance(value.type, TileType)
        loaded = _load_hint(site, 0, site.args[0]) if beside else None
        return part_hint(site, param) or _on_tiles(site) or loaded
    if site.op is compare_select.sel and index == 0 and len(site.args) == 3 and not site.kwargs:
        test, if_so, if_not = site.texts()
        return f"write {if_so} if {test} else {if_not}"
    if site.op is matmul.matmul_acc and index == 0 and len(site.node.args) == 3:
        acc, left, right = site.texts()
        acc = acc if acc.isidentifier() else "acc"
        return f"begin with {acc} = pl.matmul({left}, {right}), and add up from the second on"
    if param.kind == TILE and index < len(site.args):
        if _is_tensor(value) and site.ctx.func_type is not FunctionType.InCore:
            error.note = "dir(pl.tensor) lists the ops that take tensors"
        hint = _assembled(site, value) or _load_hint(site, index, value)
        hint = hint or _full_hint(site, index, value) or _filled(site, index, value)
        hint = hint or _as_tile(site, index, value)
        if hint is None and site.args:
            hint = of_two_numbers(site) or of_number(site)
            if hint is not None:
                error.at(site.ctx.span(site.node))  # it stands for the whole call
        return hint
    return None


def _of_numpy(site: Site, param: Param, value: Any) -> str | None:
    """Suggest Python's number for a NumPy number."""
    argument = site.node_of(param)
    if argument is None or not hasattr(value, "dtype") or getattr(value, "shape", None) != ():
        return None
    if isinstance(value, Expr):
        return None
    kind = type(value.item()).__name__
    return f"write {kind}({site.ctx.source.text(argument)})" if kind in ("float", "int") else None


def _loop_hint(site: Site, value: Any) -> str | None:
    """Suggest another name for a loop variable that hides a parameter."""
    if not isinstance(value, Var) or value not in site.ctx.names.fixed:
        return None
    if all(arg.arg != value.name for arg in site.ctx.node.args.args):
        return None
    return f"give the loop another variable: for {value.name}2 in"


def _without_scalar(site: Site) -> str | None:
    """Suggest ``pl.add`` for ``pl.adds``, whose second operand has to be a number."""
    name = site.op.overload if site.callee is not site.op else site.op.name.rpartition(".")[2]
    op = unified(name.removesuffix("s"))
    if op is None or not site.written.endswith("s"):
        return None
    try:
        op.build(site.args, site.kwargs)
    except (PyptoError, TypeError, ValueError):
        return None
    return f"write {site.written[:-1]}({', '.join(site.texts())})"


def _on_tiles(site: Site) -> str | None:
    """Suggest the op on tiles for one on tensors."""
    op = unified(site.op.overload)
    if op is None or op is site.callee:
        return None
    try:
        op.build(site.args, site.kwargs)
    except (PyptoError, TypeError, ValueError):
        return None
    words = [site.ctx.source.text(word) for word in site.node.keywords]
    return f"write pl.{site.op.overload}({', '.join([*site.texts(), *words])})"


def _attribute_hint(param: Param, value: Any) -> str | None:
    kind = param.attr_type.removesuffix(" | None")
    if kind == "DataType":
        dtype = dtype_like(value)
        return None if dtype is None else f"write pl.{dtype.member}"
    for enum in (MemorySpace, PipeType):
        if kind == enum.__name__ and isinstance(value, str):
            name = nearest(value, enum.__members__)
            return None if name is None else f"write pl.{kind}.{name}"
    if param.name == "cmp_type" and isinstance(value, str) and value in _COMPARISONS:
        return f"write {_COMPARISONS.index(value) % 6}"
    return None


_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "==", "!=", "<", "<=", ">", ">=")
"""Other names of the comparisons that have the numbers 0 to 5."""


def _at_run_time(site: Site, error: ParserError, param: Param, value: Expr) -> str | None:
    """Explain that a value of the kernel is no constant; suggest a call for each of its values."""
    argument = site.node_of(param)
    if not isinstance(value.type, ScalarType) or argument is None:
        return None
    text = site.ctx.source.text(argument)
    wanted = error.message.rpartition(", ")[2].removesuffix(" was wanted")
    error.message = (
        f"argument {param.name!r} of {site.op.name} is {wanted} known before the kernel runs, "
        f"{text} is {spell(value.type)}"
    )
    if param.attr_type != "int":
        return None
    return f"write {param.name}=0 inside if {text} == 0:, and so for each other value"


def _is_in_incore(site: Site) -> bool:
    """True for a call inside ``with pl.incore():``."""
    around = [node for node in ast.walk(site.ctx.home.node) if isinstance(node, ast.With)]
    return any(
        isinstance(item.context_expr, ast.Call)
        and site.ctx.peek(item.context_expr.func) is markers.incore
        and any(site.node is inner for inner in ast.walk(node))
        for node in around
        for item in node.items
    )


def _is_computed(site: Site, value: Any) -> bool:
    """True for a tensor that ops on tensors make, which no load can bring to a core."""
    home = site.ctx.home
    parameters = (*home.inputs, *home.outputs.values())
    return isinstance(value, Var) and not any(value is each for each in parameters)


def _load_hint(site: Site, index: int, value: Any) -> str | None:
    """Suggest loading a tensor that is given where a tile is wanted."""
    shape = static_shape(value.type) if _is_tensor(value) else None
    if shape is None or 0 in shape:
        return None
    if _is_in_incore(site) and _is_computed(site, value):
        return "write with pl.at(level=pl.Level.CORE_GROUP): in place of with pl.incore():"
    return f"load it: pl.load({site.texts()[index]}, {[0] * len(shape)}, {[*shape]})"


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Expr) and isinstance(value.type, TensorType)


def _filled(site: Site, index: int, value: Any) -> str | None:
    """Suggest a tile filled with the number, of the shape of another tile operand."""
    texts = site.texts()
    if not is_number(value) or len(texts) != len(site.args):
        return None
    for other in site.args:
        kind = other.type if isinstance(other, Expr) else None
        shape = static_shape(kind) if isinstance(kind, TileType) else None
        if shape is None or not isinstance(kind, TileType):
            continue
        try:
            full = new_tiles.full.build([[*shape], kind.dtype, value], {})
        except (PyptoError, TypeError, ValueError):
            continue
        if site.works([*site.args[:index], full, *site.args[index + 1 :]]):
            texts[index] = f"pl.full({[*shape]}, pl.{kind.dtype.member}, {texts[index]})"
            return f"write {site.spelled(texts)}"
    return None


def _as_tile(site: Site, index: int, value: Any) -> str | None:
    """Suggest, beside a tile, the tile that an array of equal elements stands for."""
    texts, kinds = site.texts(), [getattr(arg, "type", None) for arg in site.args]
    kind = next((kind for kind in kinds if isinstance(kind, TileType)), None)
    full = None if kind is None else as_full(value, kind.dtype)
    if full is None:
        return None
    texts[index] = full
    return f"write {site.spelled(texts)}"


def _assembled(site: Site, value: Any) -> str | None:
    """Suggest, for the store of a tensor, the op that writes it into another tensor."""
    if site.op is not memory.store or not isinstance(getattr(value, "type", None), TensorType):
        return None
    texts = site.texts()
    if len(texts) != 4:
        return None
    try:
        tensor_math.assemble.build([site.args[3], value, site.args[1]], {})
    except (PyptoError, TypeError, ValueError):
        return None
    return f"write pl.assemble({texts[3]}, {texts[0]}, {texts[1]})"


def _full_hint(site: Site, index: int, value: Any) -> str | None:
    """Suggest a tile filled with a number that is written to a region of a tensor."""
    kinds = [a.type for a in site.args if isinstance(a, Expr) and isinstance(a.type, TensorType)]
    sizes = [at for at, p in enumerate(site.op.params) if p.kind == INTS and p.attr_type != OFFSETS]
    if not is_number(value) or len(kinds) != 1 or len(sizes) != 1:
        return None
    args, texts = [*site.args], site.texts()
    try:
        args[index] = new_tiles.full.build([args[sizes[0]], kinds[0].dtype, value], {})
    except (PyptoError, TypeError, ValueError, IndexError):
        return None
    texts[index] = f"pl.full({texts[sizes[0]]}, pl.{kinds[0].dtype.member}, {texts[index]})"
    return f"write {site.spelled(texts)}" if site.works(args) else None


def _number_or_swapped(site: Site, error: ParserError, param: Param | None) -> str | None:
    items = site.node.args[0] if len(site.node.args) == 1 else None
    if isinstance(items, ast.List | ast.Tuple) and site.works(site.args[0]):  # pl.concat([a, b])
        return f"write {site.spelled([site.ctx.source.text(each) for each in items.elts])}"
    found = _swapped(site, error, param) or of_two_numbers(site) or _inserted_swapped(site)
    return found or (of_number(site) if site.args else None)


def _to_vector(site: Site, error: ParserError, param: Param | None) -> str | None:
    """Suggest loading a vector operand without the target memory that the load names."""
    swapped = _swapped(site, error, param)
    if swapped is not None:
        return swapped
    for value in site.args:
        if not isinstance(value, Var) or f"takes {value.name} from Vec" not in error.message:
            continue
        stmts = (stmt for stmt in site.ctx.block if isinstance(stmt, AssignStmt))
        made = next((stmt for stmt in stmts if stmt.var is value), None)
        if made is None or op_of(made.value) is not memory.load:
            return None
        found = _TARGET.subn("", text_at(made.span))
        return f"write {found[0]}" if found[1] == 1 else None
    return None


_TARGET = re.compile(r", (?:target_memory=)?[\w.]*MemorySpace\.Mat(?=[,)])")


def _swapped(site: Site, _error: ParserError, _param: Param | None) -> str | None:
    """Suggest the call with two of its arguments swapped, or with all rotated."""
    texts, count = site.texts(), len(site.args)
    if not 2 <= len(texts) <= _MOST_SWAPPED or len(texts) != count:
        return None
    orders: list[list[int]] = []
    for i, j in combinations(range(count), 2):
        order = [*range(count)]
        order[i], order[j] = j, i
        if site.args[i] is not site.args[j]:
            orders.append(order)
    orders += [[*range(by, count), *range(by)] for by in range(1, count if count > 2 else 1)]
    for order in orders:
        if site.works([site.args[i] for i in order]):
            return f"write {site.spelled([texts[i] for i in order])}"
    return None


_HINTS: dict[str, Hint] = {
    **REPAIRS,
    "unknown-keyword": _keyword_hint,
    "argument-count": _count_hint,
    "argument-kind": _kind_hint,
    "memory-space": _to_vector,
    "no-overload": _number_or_swapped,
}
