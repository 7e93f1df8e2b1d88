"""Calls and slices close to a refused one: regions within bounds, sizes that fit, real axes.

Each function takes a refused call, changes what its slug says is wrong, tries the result, and
returns it as the user would type it; None where there is no single such call. Runs on errors only.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from pypto._src.dtypes import bounds
from pypto._src.errors import ParserError, PyptoError
from pypto._src.frontend import region_markers
from pypto._src.frontend.diagnose.trial import tried_text
from pypto._src.frontend.source.python_names import items_of
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.known_sizes import difference
from pypto._src.ir.array_types import ShapedType, TensorType, TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, ConstInt, Expr, MakeTuple, Var, const_value
from pypto._src.ir.op_params import INTS, OFFSETS, TENSOR, TILE, Param
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.stmts import AssignStmt
from pypto._src.ir.types import ScalarType
from pypto._src.ops import bitwise, matmul, memory, new_tiles, reshaping
from pypto._src.ops.rules.type_rules import known_size, known_space
from pypto._src.ops.unified import Unified, unified
from pypto._src.python_parser import parse_python
from pypto._src.records import NamedTuple

Node: TypeAlias = ast.expr | ast.AugAssign
"""Syntax that has operands."""


class Site(NamedTuple):
    """A refused call: what was called, with which arguments, and its node."""

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
        words = [self.ctx.source.text(w) for w in self.node.keywords] if keywords else []
        return f"{self.written}({', '.join([*args, *words])})"

    def works(self, args: Sequence[Any]) -> bool:
        """True if the op takes these positional arguments along with the keywords."""
        try:
            self.callee.build(args, self.kwargs)
        except (PyptoError, TypeError, ValueError):
            return False
        return True

    def value(self, param: Param) -> Any:
        """Return the argument for ``param``, None if there is none."""
        index = self.op.params.index(param)
        return self.args[index] if index < len(self.args) else self.kwargs.get(param.name)

    def node_of(self, param: Param) -> ast.expr | None:
        """Return the node of the argument for ``param``, None if it is not written."""
        index = self.op.params.index(param)
        if index < len(self.node.args):
            return self.node.args[index]
        return next((w.value for w in self.node.keywords if w.arg == param.name), None)

    def changed(self, changes: Mapping[str, tuple[Any, str]]) -> str | None:
        """Return the call with other arguments, by name to value and text; None if refused."""
        args, texts = [*self.args], self.texts()
        kwargs = dict(self.kwargs)
        words = {w.arg: self.ctx.source.text(w.value) for w in self.node.keywords}
        names = [param.name for param in self.op.params]
        for name, (value, text) in changes.items():
            index = names.index(name)
            if index < len(args):
                args[index], texts[index] = value, text
            else:
                kwargs[name], words[name] = value, text
        if len(texts) != len(args) or not self._replace(kwargs=kwargs).works(args):
            return None
        texts += [f"{name}={text}" for name, text in words.items()]
        return f"write {self.spelled(texts, keywords=False)}"


# --------------------------------------------------------------------------------------------
# Regions of tensors
# --------------------------------------------------------------------------------------------


def _within(begin: Any, size: Any, limit: int | None) -> tuple[Any, Any]:
    """Return offset and size of a region within ``limit``; unknown ones stay."""
    begin, size = _number(begin), _number(size)
    if limit is not None and isinstance(size, int):
        if size == 0 and isinstance(begin, int) and 0 <= begin < limit:
            size = limit - begin
        size = min(abs(size) or limit, limit)
        if isinstance(begin, int):
            begin = min(max(begin, 0), limit - size)
    elif isinstance(begin, int):
        begin = max(begin, 0)
    return begin, size


def _number(value: Any) -> Any:
    """Return a constant as an int, anything else as it is."""
    return value.value if isinstance(value, ConstInt) else value


def _box(op: OpDef[..., Any]) -> tuple[Param, Param, Param] | None:
    """Return the parameters for the tensor, offsets and sizes of an op's region."""
    lists = [p for p in op.params if p.kind == INTS]
    offsets = next((p for p in lists if p.attr_type == OFFSETS), None)
    sizes = next((p for p in lists if p.attr_type != OFFSETS), None)
    for kind in (TENSOR, TILE):
        base = next((p for p in op.params if p.kind == kind), None)
        if base is not None and offsets is not None and sizes is not None:
            return base, offsets, sizes
    return None


def _limits(base: Any) -> list[int | None]:
    if not isinstance(base, Expr) or not isinstance(base.type, ShapedType):
        return []
    return [known_size(dim) for dim in base.type.shape]


def region_hint(site: Site, error: ParserError, _param: Param | None) -> str | None:
    """Suggest the region moved, or cut, so that it lies inside and has the tensor's rank."""
    box = _box(site.op)
    if box is None:
        return _indices_hint(site)
    of_slice = site.ctx.peek(site.node.func) is region_markers.slice
    if of_slice:  # a load, whose size and offset change places
        if len(site.node.args) != len(site.args):
            return None
        tensor, size, offset = site.node.args
        if site.works([site.args[0], *site.args[:0:-1]]):  # they are swapped
            return f"write {site.spelled(_in_order(site.texts()))}"
        turned = ast.Call(site.node.func, [tensor, offset, size], site.node.keywords)
        site = site._replace(node=ast.copy_location(turned, site.node))
    base, *lists = box
    limits = _limits(site.value(base))
    found = [items_of(site.value(param)) for param in lists]
    if not limits or any(items is None for items in found):
        return None
    if not of_slice and error.slug == "tile-shape":
        values = [(site.value(param), site.node_of(param)) for param in lists]
        texts = [(value, "" if at is None else site.ctx.source.text(at)) for value, at in values]
        names = [param.name for param in lists]
        swapped = site.changed(dict(zip(names, reversed(texts), strict=True)))
        if swapped is not None:
            return swapped
    offsets, sizes = [(items or [])[: len(limits)] for items in found]
    offsets = [*offsets, *[0] * (len(limits) - len(offsets))]
    lacking = len(limits) - len(sizes)
    if lacking and sizes and _equal_numbers(sizes[-1], limits[-1]):
        sizes = [*[1] * lacking, *sizes]  # whole rows of one matrix, as where shapes broadcast
    sizes = [*sizes, *limits[len(sizes) :]]
    pairs = [_within(b, s, limit) for b, s, limit in zip(offsets, sizes, limits, strict=True)]
    if any(size is None for _, size in pairs):
        return None
    changes: dict[str, tuple[Any, str]] = {}
    for param, new in zip(lists, zip(*pairs, strict=True), strict=True):
        changes[param.name] = [*new], _list_text(site, param, new)
    if of_slice:
        values, texts = zip(*changes.values(), strict=True)
        called = site.spelled(_in_order([site.texts()[0], *texts]))
        return f"write {called}" if site.works([site.args[0], *values]) else None
    return site.changed(changes)


def _in_order(texts: Sequence[str]) -> list[str]:
    """Return a tensor and two lists, the lists in the other order."""
    return [texts[0], *texts[:0:-1]]


def _indices_hint(site: Site) -> str | None:
    """Suggest as many indices as the tensor has dimensions, with zeros for missing ones."""
    lists = [p for p in site.op.params if p.kind == INTS]
    base = next((p for p in site.op.params if p.kind in (TENSOR, TILE)), None)
    limits = [] if base is None else _limits(site.value(base))
    items = items_of(site.value(lists[0])) if len(lists) == 1 else None
    if not limits or items is None:
        return None
    new = [*items[: len(limits)], *[0] * (len(limits) - len(items))]
    return site.changed({lists[0].name: (new, _list_text(site, lists[0], new))})


def _list_text(site: Site, param: Param, items: Sequence[Any]) -> str:
    """Return a list as text, with each unchanged item as the user wrote it."""
    argument, old = site.node_of(param), items_of(site.value(param)) or []
    nodes = argument.elts if isinstance(argument, ast.List | ast.Tuple) else []
    texts: list[str] = []
    for at, item in enumerate(items):
        same = at < min(len(old), len(nodes)) and (_number(old[at]) is item or old[at] is item)
        same = same or (at < min(len(old), len(nodes)) and _equal_numbers(old[at], item))
        texts.append(site.ctx.source.text(nodes[at]) if same else str(item))
    return f"[{', '.join(texts)}]"


def _equal_numbers(a: Any, b: Any) -> bool:
    a, b = _number(a), _number(b)
    return isinstance(a, int) and isinstance(b, int) and a == b


def slice_hint(
    ctx: Context, op: OpDef[..., Any], args: Sequence[Any], node: ast.Subscript
) -> str | None:
    """Suggest the slice moved, or cut, so that it lies inside the tensor or tile."""
    box = _box(op)
    if box is None:
        return None
    base, offsets, sizes = (args[op.params.index(param)] for param in box)
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    limits = _limits(base)
    if len(nodes) > len(limits) or any(not isinstance(argument, ast.Slice) for argument in nodes):
        return None
    texts = [ctx.source.text(argument) for argument in nodes]
    for axis in range(len(nodes)):
        begin, size = _number(offsets[axis]), _number(sizes[axis])
        fit = _within(begin, size, limits[axis])
        argument = nodes[axis]
        if fit == (begin, size) or not isinstance(fit[1], int):
            continue
        if not isinstance(fit[0], int):
            lower = ctx.source.text(argument.lower) if isinstance(argument, ast.Slice) else ""
            texts[axis] = f"{lower}:{lower} + {fit[1]}"
            continue
        texts[axis] = f"{fit[0]}:{sum(fit)}" if fit[0] else f":{fit[1]}"
        texts[axis] = ":" if fit == (0, limits[axis]) else texts[axis]
    return f"write {ctx.source.text(node.value)}[{', '.join(texts)}]"


def loaded_in_part(
    ctx: Context, node: ast.Subscript, begins: Sequence[Any], sizes: Sequence[Any], axis: int
) -> str | None:
    """Return the load of a part of a tile for a slice that ends at the smaller of two places.

    ``x[r : pl.min(r + 16, rows)]`` is as many rows as there are of 16. A tile with a valid part
    has at most two dimensions.
    """
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    others = [size for at, size in enumerate(sizes) if at != axis]
    found = indices[axis] if axis < len(indices) else None
    end = found.upper if isinstance(found, ast.Slice) else None
    if not isinstance(end, ast.Call) or len(end.args) != 2 or len(sizes) > 2:
        return None
    if ctx.peek(end.func) not in (min, unified("min")):
        return None
    if not isinstance(ctx.value(node.value).type, TensorType):
        return None
    if not all(isinstance(size, int) for size in others):
        return None
    begin = begins[axis]
    for one, limit in (end.args, end.args[::-1]):
        size = difference(ctx.value(one), begin, ctx.constants)
        if not isinstance(size, int) or size <= 0:
            continue
        assert isinstance(found, ast.Slice)
        left = ctx.source.text(limit)
        if found.lower is not None and not isinstance(begin, int):
            is_product = isinstance(found.lower, ast.BinOp) and isinstance(found.lower.op, ast.Mult)
            text = ctx.source.text if is_product else ctx.source.operand
            left = f"{left} - {text(found.lower)}"
        elif begin != 0:
            left = f"{left} - {begin}"
        places = [str(each) for each in begins]
        places[axis] = "0" if found.lower is None else ctx.source.text(found.lower)
        whole = [str(each) for each in sizes]
        whole[axis] = str(size)
        part = [*whole]
        part[axis] = f"{ctx.source.text(end.func)}({size}, {left})"
        base, place = ctx.source.text(node.value), f"[{', '.join(places)}]"
        shape, valid = f"[{', '.join(whole)}]", f"[{', '.join(part)}]"
        if ctx.region is not None:
            return f"write pl.slice({base}, {shape}, {place}, valid_shape={valid})"
        return f"write pl.load({base}, {place}, {shape}, valid_shapes={valid})"
    return None


# --------------------------------------------------------------------------------------------
# Shapes and axes
# --------------------------------------------------------------------------------------------


def axis_hint(site: Site, _error: ParserError, _param: Param | None) -> str | None:
    """Suggest the last dimension in place of one that does not exist."""
    kind = getattr(site.args[0], "type", None) if site.args else None
    if not isinstance(kind, ShapedType):
        return None
    last = len(kind.shape) - 1
    name = next((p.name for p in site.op.params if p.name in ("axis", "dim")), None)
    return None if name is None else site.changed({name: (last, str(last))})


def axes_hint(site: Site, _error: ParserError, _param: Param | None) -> str | None:
    """Suggest swapping rows and columns."""
    if [p.name for p in site.op.params[-2:]] != ["axis1", "axis2"]:
        return None
    return site.changed({"axis1": (0, "0"), "axis2": (1, "1")})


def shape_hint(site: Site, _error: ParserError, _param: Param | None) -> str | None:
    """Suggest the shape with a last dimension that keeps the number of elements."""
    if site.op is reshaping.reshape:
        return _reshaped(site)
    return _inner_hint(site) if site.op in _PRODUCTS else None


_PRODUCTS: Final = frozenset({matmul.matmul, matmul.matmul_acc, matmul.matmul_bias})


def _reshaped(site: Site) -> str | None:
    tile, param = site.args[0], site.op.params[1]
    sizes = items_of(site.value(param)) or []
    old = [const_value(dim) for dim in tile.type.shape]
    new = [_number(size) for size in sizes]
    if None in old or not new or not all(isinstance(size, int) and size > 0 for size in new):
        return None
    count, first = math.prod(cast("list[int]", old)), math.prod(new[:-1])
    if count % first:
        return None
    new[-1] = count // first
    return site.changed({param.name: (new, _list_text(site, param, new))})


def _inner_hint(site: Site) -> str | None:
    """Suggest the shape that the right operand of a product needs for its left one."""
    tiles = [a for a in site.args if isinstance(a, Expr) and isinstance(a.type, TileType)]
    nodes = [p for p in site.node.args if isinstance(p, ast.Name)]
    if len(tiles) < 2 or len(nodes) != len(site.args):
        return None
    left, right = tiles[-2:] if site.op is matmul.matmul_acc else tiles[:2]
    at = next(i for i, value in enumerate(site.args) if value is right)
    shape = [const_value(left.type.shape[-1]), const_value(right.type.shape[-1])]  # pyright: ignore
    if None in shape:
        return None
    return f"give {nodes[at].id} the shape {shape}, as in pl.load(tensor, [0, 0], {shape})"


_SIDES: Final = {"a_trans": (0, "Left"), "b_trans": (1, "Right")}
"""The operands of a product that keywords turn in regions, and the memory of each."""


def turned_hint(site: Site, keyword: ast.keyword) -> str | None:
    """Return how an operand of a product is transposed, if a keyword asks for that."""
    is_wanted = "trans" in (keyword.arg or "") and site.kwargs.get(keyword.arg or "") is not False
    if site.op not in _PRODUCTS or not is_wanted:
        return None
    return _moved_turned(site, keyword) or (
        "transpose the operand where it is moved: pl.move(..., transpose=True)"
    )


def _moved_turned(site: Site, keyword: ast.keyword) -> str | None:
    """Suggest the move that turns an operand, for a product in a kernel."""
    if site.op is not matmul.matmul or keyword.arg not in _SIDES or len(site.node.args) != 2:
        return None
    if site.kwargs.get(keyword.arg) is not True or len(site.node.keywords) != 1:
        return None
    texts = site.texts()
    for at, memory_name in _SIDES.values():
        stmts = [each for each in site.ctx.block if isinstance(each, AssignStmt)]
        made = next((each.value for each in stmts if each.var is site.args[at]), None)
        is_moved = isinstance(made, Call) and op_of(made) is memory.move
        source = made.args[0] if is_moved and isinstance(made, Call) else site.args[at]
        is_turned = _SIDES[keyword.arg][0] == at
        if known_space(source) is not MemorySpace.Mat or (
            is_turned and not isinstance(source, Var)
        ):
            return None
        if is_turned or not is_moved:
            text = source.name if isinstance(source, Var) else texts[at]
            turn = ", transpose=True" if is_turned else ""
            space = f"target_memory=pl.MemorySpace.{memory_name}"
            texts[at] = f"pl.move({text}, {space}{turn})"
    return f"write {site.spelled(texts, keywords=False)}"


# --------------------------------------------------------------------------------------------
# Arguments of another kind
# --------------------------------------------------------------------------------------------


def integers_hint(site: Site, param: Param) -> str | None:
    """Suggest a list of integers for one with fractions, or the inner list of a nested one."""
    argument, items = site.node_of(param), items_of(site.value(param))
    if isinstance(site.value(param), int) and argument is not None:
        text = f"[{site.ctx.source.text(argument)}]"
        works = site.changed({param.name: ([site.value(param)], text)})
        return None if works is None else f"write {text}"
    if not isinstance(argument, ast.List | ast.Tuple) or items is None:
        return None
    if len(items) == 1 and items_of(items[0]) is not None:
        return f"write {site.ctx.source.text(argument.elts[0])}"
    texts = [_as_integer(site.ctx, e, v) for e, v in zip(argument.elts, items, strict=True)]
    if texts == [site.ctx.source.text(element) for element in argument.elts]:
        return None
    return f"write [{', '.join(texts)}]"


def _as_integer(ctx: Context, argument: ast.expr, value: Any) -> str:
    """Return the text of an integer for a value: divided with ``//``, truncated or cast."""
    text = ctx.source.text(argument)
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return str(int(value))
    if isinstance(value, str) and isinstance(ctx.names.values.get(value), Var):
        return value
    is_float = isinstance(value, float)
    if isinstance(value, Expr) and isinstance(value.type, ScalarType):
        is_float = not value.type.dtype.is_int()
    if not is_float:
        return text
    return integer_text(ctx, argument, value)


def integer_text(ctx: Context, argument: ast.expr, value: Any) -> str:
    """Return the integer that the text of a float is meant to be."""
    if isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.Div):
        return f"{ctx.source.text(argument.left)} // {ctx.source.text(argument.right)}"
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value))
    return f"pl.cast({ctx.source.text(argument)}, pl.INT64)"


def part_hint(site: Site, param: Param) -> str | None:
    """Suggest the part of a tile in place of a load from it."""
    value, box = site.value(param), _box(site.op)
    if site.op is not memory.load or box is None or not isinstance(value, Expr):
        return None
    offsets, sizes = site.node_of(box[1]), site.node_of(box[2])
    if not isinstance(value.type, TileType) or offsets is None or sizes is None:
        return None
    tensor = loaded_from(site.ctx, value)
    try:
        part = new_tiles.view.build([value, site.value(box[2]), site.value(box[1])], {})
        is_copied = new_tiles.is_strided(part)
    except (PyptoError, TypeError, ValueError):
        if tensor is None:
            return None
        is_copied = True
    if is_copied and tensor is not None:
        return site.changed({param.name: (tensor, tensor.name)})
    tile = site.node_of(param)
    texts = [site.ctx.source.text(argument) for argument in (tile, sizes, offsets)]
    return f"write pl.view({', '.join(texts)})"


def loaded_from(ctx: Context, tile: Expr) -> Var | None:
    """Return the tensor from whose origin a tile of the same block was loaded."""
    made = next((s.value for s in ctx.block if isinstance(s, AssignStmt) and s.var is tile), None)
    if not isinstance(made, Call) or op_of(made) is not memory.load:
        return None
    tensor, offsets = made.args[:2]
    starts = isinstance(offsets, MakeTuple) and all(const_value(o) == 0 for o in offsets.elements)
    return tensor if starts and isinstance(tensor, Var) else None


_LOGIC: Final = frozenset({bitwise.ands, bitwise.ors, bitwise.xors})
"""Ops that use a number as its bits."""


def number_hint(
    ctx: Context, error: ParserError, callee: Any, args: Sequence[Any], kwargs: Any, node: Node
) -> str | None:
    """Suggest, for a number too large, the nearest possible number, or the one with the same bits.

    The hint of ``error`` has the nearest one.
    """
    found = re.fullmatch(r"write (\S+)", error.hint or "")
    if found is None:
        return None
    near = float(found[1]) if "." in found[1] else int(found[1])
    ops = callee.candidates if isinstance(callee, Unified) else [callee]
    words = {w.arg: w.value for w in node.keywords} if isinstance(node, ast.Call) else {}
    nodes: list[Any] = node.args if isinstance(node, ast.Call) else sides(node)
    if not isinstance(node, ast.Call):  # the number may be on either side
        nodes = [argument for argument in nodes if not _has_value_of_kernel(ctx, argument)] * 2
    given = [*zip(range(len(args)), args, nodes, strict=False)]
    for key, value, argument in (*given, *((w, kwargs[w], words[w]) for w in kwargs if w in words)):
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        new = near
        if isinstance(value, int) and isinstance(near, int) and not _LOGIC.isdisjoint(ops):
            new = _same_bits(value, args) or near
        changed = [new if at == key else arg for at, arg in enumerate(args)]
        if _builds(callee, changed, {**kwargs, key: new} if key in kwargs else kwargs):
            return f"write {_with_parts(ctx, node, [argument], str(new))}"
    return None


def _same_bits(value: int, args: Sequence[Any]) -> int | None:
    """Return the number of a tile's element type with the bits of a mask, None if there is none."""
    kinds = [a.type.dtype for a in args if isinstance(a, Expr) and isinstance(a.type, TileType)]
    smallest, largest = (int(bound) for bound in bounds(kinds[0])) if kinds else (0, 0)
    size = largest - smallest + 1
    return (value - smallest) % size + smallest if -size // 2 <= value < size else None


def _has_value_of_kernel(ctx: Context, argument: ast.expr) -> bool:
    local = ctx.names.values
    return any(isinstance(part, ast.Name) and part.id in local for part in ast.walk(argument))


def largest_hint(site: Site, _error: ParserError, _param: Param | None) -> str | None:
    """Suggest the largest number of the element type for a constant beyond 64 bits."""
    args, texts = [*site.args], site.texts()
    kinds = [a.type.dtype for a in args if isinstance(a, Expr) and isinstance(a.type, ShapedType)]
    bits = kinds[0].get_bit() if kinds and kinds[0].is_int() else 64
    for at, value in enumerate(args):
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            args[at] = (1 << (bits - 1)) - 1 if value > 0 else -(1 << (bits - 1))
            texts[at] = str(args[at])
            works = site.works(args)
            return f"write {site.spelled(texts)}" if works else axis_hint(site, _error, _param)
    return None


# --------------------------------------------------------------------------------------------
# Operands in another form
# --------------------------------------------------------------------------------------------


def whole_hint(
    ctx: Context, hint: str, callee: Any, args: Sequence[Any], kwargs: Any, node: Node
) -> str | None:
    """Return what to write at ``node`` if ``hint`` is an expression for it or one of its operands.

    None if the hint is no expression, or does not work anywhere.
    """
    try:
        tree = parse_python(hint, mode="eval").body
    except SyntaxError:
        return None
    nodes = node.args if isinstance(node, ast.Call) else sides(node)
    texts = [ctx.source.text(argument) for argument in nodes]
    written = ctx.source.text(node.func) if isinstance(node, ast.Call) else ""
    if not isinstance(tree, ast.Call | ast.Name) or len(texts) != len(args):
        return None
    value = tried_text(ctx, hint)
    if not isinstance(value, Expr):
        return None
    named = {t for t, a in zip(texts, args, strict=True) if isinstance(a, Expr) and _has(hint, t)}
    again = isinstance(tree, ast.Call) and ast.unparse(tree.func) == written
    if len(named) > 1 or (again and all(_has(hint, text) for text in texts)):
        return f"write {hint}"
    parts = [t for t in dict.fromkeys(texts) if t in named or _has(t, hint)] or texts[1:]
    for part in parts:
        at = [index for index, text in enumerate(texts) if text == part]
        if _builds(callee, [value if i in at else arg for i, arg in enumerate(args)], kwargs):
            return f"write {_with_parts(ctx, node, [nodes[index] for index in at], hint)}"
    is_whole = written and isinstance(tree, ast.Call) and _has(hint, written)
    return f"write {hint}" if is_whole else None


def _has(text: str, part: str) -> bool:
    """True if an expression occurs in the text of another one."""
    return re.search(rf"(?<![\w.]){re.escape(part)}(?!\w)", text) is not None


def sides(node: Node) -> list[ast.expr]:
    """Return the operands of an operator; empty for any other expression."""
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Compare):
        return [node.left, node.comparators[0]]
    return [node.left, node.right] if isinstance(node, ast.BinOp) else []


def _builds(callee: Any, args: Sequence[Any], kwargs: Any) -> bool:
    try:
        callee.build(args, kwargs)
    except (PyptoError, TypeError, ValueError):
        return False
    return True


def _with_parts(ctx: Context, node: Node, nodes: Sequence[ast.expr], text: str) -> str:
    """Return the text of a node with other text in place of parts of it."""
    if isinstance(node, ast.Call) and node.lineno != node.end_lineno:
        texts = [text if arg in nodes else ctx.source.text(arg) for arg in node.args]
        texts += [
            f"{word.arg}={text}" if word.value in nodes else ctx.source.text(word)
            for word in node.keywords
        ]
        return f"{ctx.source.text(node.func)}({', '.join(texts)})"
    whole, found = ctx.source.span(node).begin_column, ctx.source.text(node)
    for argument in reversed(nodes):
        span = ctx.source.span(argument)
        begin, end = span.begin_column - whole, span.end_column - whole
        found = f"{found[:begin]}{text}{found[end:]}"
    return found


Hint = Callable[[Site, ParserError, Param | None], str | None]

REPAIRS: Final[dict[str, Hint]] = {
    "out-of-bounds": region_hint,
    "tile-shape": region_hint,
    "region-rank": region_hint,
    "axis": axis_hint,
    "transpose-axes": axes_hint,
    "shape-mismatch": shape_hint,
    "op-operands": largest_hint,
}
"""What to try for the mistakes of each slug."""
