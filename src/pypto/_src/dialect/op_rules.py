"""The rules of each op of a module: views, tiles, control flow, functions and calls.

Applies the rows of the op table to tile ops. The rules follow the measured behaviour of the real
assembler; `verify` says which options they are checked for, and `memory` whether the tiles fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import (
    FunctionType,
    IndexType,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from pypto._src.dialect import ops, sync_ops
from pypto._src.dialect.rules import A3, A5, Broken, constant, fits
from pypto._src.dialect.tile_ops import TileOp
from pypto._src.dialect.types import (
    DYNAMIC,
    INDEX,
    Layout,
    PartitionType,
    Pipe,
    PtrType,
    TensorViewType,
    TileType,
    as_integer,
    bits,
    is_f8,
    is_scalar,
    is_signless,
)
from pypto._src.errors import with_article

Broke = Iterator[Broken]


@dataclass(frozen=True)
class Context:
    """What the rules of one op ask of its module and of the assembler's options."""

    archs: Sequence[str]  # the targets whose rules apply
    declared: str
    level: str
    insert_sync: bool
    order: Mapping[Operation, int]  # the position of each op in the text
    functions: Mapping[str, func.FuncOp]
    with_ffts: Set[Operation]  # the functions that set the memory of a3's cross-core flags


def broken_rules(op: Operation, context: Context) -> Broke:
    """Yield the rules that an op breaks, each with what is wrong."""
    if isinstance(op, TileOp):
        found = (op.broken(arch, context.declared) for arch in context.archs)
        yield from filter(None, [next(filter(None, found), None)])
    elif not isinstance(op, func.CallOp | scf.WhileOp):  # checked by `_call` and `_while`
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            yield Broken("structure", str(error))
            return
    yield from _order(op, context)
    yield from _blocks(op)
    if op.name.startswith("arith."):
        yield from _arith(op)
    if op.name in _NOT_LOWERED and (op.regions or any(result.uses for result in op.results)):
        yield Broken("not-lowered", f"the assembler has no lowering of {op.name}")
    check_op = _CHECKS.get(type(op))
    if check_op is not None:
        yield from check_op(op, context)


# --------------------------------------------------------------------------------------------
# Any op
# --------------------------------------------------------------------------------------------


def uses_own_region(op: Operation) -> bool:
    """True if an operand is defined in a region of the op.

    The parser reads that region before it creates the op, and so leaves a placeholder as operand,
    which has no owner that other rules could ask for.
    """
    return not all(isinstance(operand, BlockArgument | OpResult) for operand in op.operands)


def _order(op: Operation, context: Context) -> Broke:
    """The definition of an operand dominates the op: it precedes it, in its block or around it."""
    for operand in op.operands:
        owner = operand.owner
        block = owner.parent if isinstance(owner, Operation) else owner
        user: Operation | None = op  # the op or its ancestor in the owner's region
        if op.parent is not block:
            region = None if block is None else block.parent
            while user is not None and user.parent_region() is not region:
                user = user.parent_op()
        if user is None:
            yield Broken("dominance", "an operand is defined in a region that the op is not in")
        elif (
            isinstance(owner, Operation)
            and user.parent is block
            and context.order[owner] >= context.order[user]
        ):
            yield Broken("dominance", "an operand is used before the op that gives it")


def _blocks(op: Operation) -> Broke:
    if op.has_trait(NoTerminator):
        return
    for region in op.regions:
        for block in region.blocks:
            last = block.last_op
            if last is None or not last.has_trait(IsTerminator):
                yield Broken("structure", f"a block of {op.name} has no terminator")


_NOT_LOWERED: Final = frozenset({"arith.addf", "scf.parallel", "scf.forall"})
_FLOAT_CASTS: Final = {"arith.truncf": -1, "arith.extf": 1}
"""Casts between floats, and whether they widen (1) or narrow (-1)."""


def _arith(op: Operation) -> Broke:
    """Scalar ops take signless integers; casts between floats change the width."""
    for value in (*op.operands, *op.results):
        kind: Attribute = value.type
        if as_integer(kind) is not None and not is_signless(kind):
            yield Broken("scalar-type", f"{op.name} takes no {kind}")
            return
    if isinstance(op, ops.IndexCastUIOp) and (op.input.type == INDEX) == (op.result.type == INDEX):
        yield Broken("cast", f"{op.name} from {op.input.type} to {op.result.type}")
    wanted = _FLOAT_CASTS.get(op.name)
    if wanted is not None:
        before, after = (bits(value.type) or 0 for value in (op.operands[0], op.results[0]))
        if (after - before) * wanted <= 0:
            yield Broken("cast", f"{op.name} from {op.operands[0].type} to {op.results[0].type}")


def _is_lowered(element: Attribute) -> bool:
    """True for element types that have a C++ type in the assembler, or that it treats as such."""
    integer = as_integer(element)
    if integer is not None:
        return integer.width.data != 1
    return isinstance(element, IndexType) or is_f8(element) or str(element) in _FLOATS


_FLOATS: Final = frozenset({"f16", "bf16", "f32", "f64"})

# --------------------------------------------------------------------------------------------
# Casts that the assembler cannot handle
# --------------------------------------------------------------------------------------------


def _index_cast(op: arith.IndexCastOp, context: Context) -> Broke:
    """No cast is between i32 and index of a value carried by scf, or loaded and used as address."""
    source, result = op.input, op.result
    if "i32" not in (str(source.type), str(result.type)) or not result.uses:
        return
    if _is_carried(source):
        yield Broken("index-cast", "a value that scf.for or scf.if carries is cast to or from i32")
    loaded = isinstance(source, OpResult) and isinstance(source.op, ops.LoadScalarOp)
    if loaded and _is_address(result):
        yield Broken("index-cast", "a loaded i32, cast to index, is the index of a store_scalar")


_IDENTITIES: Final = {"arith.addi": 0, "arith.muli": 1, "arith.maxsi": 0}
"""Ops that the assembler folds to their first operand, and the constant for which it does."""


def _is_address(value: SSAValue) -> bool:
    """True if ``value`` is the offset of a store_scalar or addptr, also after ``+ 0`` and such."""
    values = [value]
    while values:
        value = values.pop()
        for use in value.uses:
            op = use.operation
            if isinstance(op, ops.StoreScalarOp | ops.AddPtrOp) and op.offset is value:
                return True
            wanted = _IDENTITIES.get(op.name) if use.index == 0 else None
            if wanted is not None and constant(op.operands[1]) == wanted:
                values.append(op.results[0])
    return False


def _is_carried(value: SSAValue) -> bool:
    if isinstance(value, OpResult):
        return isinstance(value.op, scf.ForOp | scf.IfOp)
    assert isinstance(value, BlockArgument)
    parent = value.block.parent_op()
    return isinstance(parent, scf.ForOp) and value.index > 0


# --------------------------------------------------------------------------------------------
# Pointers and views
# --------------------------------------------------------------------------------------------


def _add_ptr(op: ops.AddPtrOp, context: Context) -> Broke:
    if op.ptr.type != op.result.type:
        yield Broken("same-element", f"addptr of {op.ptr.type} gives {op.result.type}")


def _load_scalar(op: ops.LoadScalarOp, context: Context) -> Broke:
    assert isinstance(op.ptr.type, PtrType)
    if op.ptr.type.data != op.value.type:
        yield Broken("same-element", f"a load through {op.ptr.type} gives {op.value.type}")


def _store_scalar(op: ops.StoreScalarOp, context: Context) -> Broke:
    assert isinstance(op.ptr.type, PtrType)
    if op.ptr.type.data != op.value.type:
        yield Broken("same-element", f"{op.value.type} is stored through {op.ptr.type}")


def _make_view(op: ops.MakeTensorViewOp, context: Context) -> Broke:
    assert isinstance(op.result.type, TensorViewType)
    rank = len(op.result.type.data.dims)
    if not len(op.shape) == len(op.strides) == rank:
        yield Broken(
            "rank", f"{len(op.shape)} sizes and {len(op.strides)} strides for {rank} dimensions"
        )
        return
    if rank > 5:
        yield Broken("rank", f"a view of {rank} dimensions, wanted at most 5")
    layout = op.attributes.get("layout")
    if not isinstance(layout, Layout):  # others have no effect
        return
    if rank == 1 and layout.data == "nz":
        yield Broken("layout", "the layout is nz, a view of one dimension has no boxes")
    inferred = _inferred_layout(
        [constant(size) for size in op.shape], [constant(stride) for stride in op.strides]
    )
    if inferred is not None and layout.data not in inferred:
        yield Broken("layout", f"the layout is {layout.data}, the strides say {inferred[0]}")


def _inferred_layout(
    shape: Sequence[int | None], strides: Sequence[int | None]
) -> tuple[str, ...] | None:
    """Return the layouts that constant sizes and strides allow, None if one is not constant."""
    if None in shape or None in strides or len(shape) < 2:
        return None
    rows, cols = shape[-2:]
    row_step, col_step = strides[-2:]
    if row_step == 1 and 1 in (rows, cols):
        return "dn", "nd"
    if rows == 1:
        return "nd", "dn"
    if row_step == 1 and col_step == rows and cols != 1:
        return ("dn",)
    return ("nd", "nz") if len(shape) == 5 and rows == 16 else ("nd",)


def _view_dim(op: ops.GetTensorViewDimOp, context: Context) -> Broke:
    assert isinstance(op.view.type, TensorViewType)
    dim, rank = constant(op.dim), len(op.view.type.data.dims)
    if dim is None:
        yield Broken("bounds", "the dimension is not a constant")
    elif not 0 <= dim < rank:
        yield Broken("bounds", f"dimension {dim} of a view of {rank}")


def _partition(op: ops.PartitionViewOp, context: Context) -> Broke:
    view, result = op.view.type, op.result.type
    assert isinstance(view, TensorViewType)
    assert isinstance(result, PartitionType)
    dims, found = view.data.dims, result.data.dims
    if not len(op.offsets) == len(op.sizes) == len(dims):
        yield Broken(
            "rank", f"{len(op.offsets)} offsets and {len(op.sizes)} sizes of {len(dims)} dimensions"
        )
        return
    if view.data.element != result.data.element:
        yield Broken("same-element", f"a part of {view} is {result}")
    for index, (dim, start, size) in enumerate(zip(dims, op.offsets, op.sizes, strict=True)):
        wanted = found[index] if len(found) == len(dims) else DYNAMIC
        message = _extent(dim, constant(start), constant(size), wanted)
        if message is not None:
            yield Broken("bounds", f"dimension {index}: {message}")
            return


def _extent(dim: int, offset: int | None, size: int | None, wanted: int) -> str | None:
    if offset is not None and offset < 0:
        return f"the offset is {offset}"
    if size is None:
        return None
    if size <= 0:
        return f"the size is {size}"
    if not fits(size, wanted):
        return f"the size is {size}, the result has {wanted}"
    if dim != DYNAMIC and size + (offset or 0) > dim:
        return f"{size} from {offset or 0} on lie outside of {dim}"
    return None


# --------------------------------------------------------------------------------------------
# Tiles
# --------------------------------------------------------------------------------------------


def _alloc(op: ops.AllocTileOp, context: Context) -> Broke:
    tile = _tile(op.result)
    for name, value, size in (
        ("valid_row", op.valid_row, tile.valid_row),
        ("valid_col", op.valid_col, tile.valid_col),
    ):
        if (value is None) == (size == DYNAMIC):
            what = "missing" if value is None else "given"
            yield Broken("valid-operand", f"{name} is {what}, the type has {size}")
    if (op.addr is not None) != (context.level == "level3"):
        what = "has no address" if op.addr is None else "has an address"
        yield Broken("level", f"the tile {what} at {context.level}")
    if not _is_lowered(tile.element) and any(
        not isinstance(use.operation, _ALIASES) for use in op.result.uses
    ):
        yield Broken("element-type", f"the assembler has no C++ type for {tile.element}")


_ALIASES: Final = (ops.ReshapeOp, ops.BitcastOp, ops.SubsetOp)


def _tile(value: SSAValue) -> ops.Tile:
    assert isinstance(value.type, TileType)
    return value.type.data


def _set_valid_shape(op: ops.SetValidShapeOp, context: Context) -> Broke:
    if _tile(op.tile).valid != (DYNAMIC, DYNAMIC):
        yield Broken("valid-shape", "the tile's valid shape is fixed, wanted valid=?x?")
    elif not isinstance(op.tile, OpResult) or not isinstance(op.tile.op, ops.AllocTileOp):
        yield Broken("valid-shape", "the tile is not allocated in this function")


def _subset(op: ops.SubsetOp, context: Context) -> Broke:
    if not 1 <= len(op.offsets) <= 2:
        yield Broken("rank", f"{len(op.offsets)} offsets into a tile")
    if isinstance(op.source, OpResult) and isinstance(op.source.op, ops.ReshapeOp):
        yield Broken("part-of-reshape", "a subset of what a treshape gives: reshape the subset")


def _reshape(op: ops.ReshapeOp, context: Context) -> Broke:
    source, result = _tile(op.source), _tile(op.result)
    if source.space != result.space:
        yield Broken("address-space", f"from {source.space} to {result.space}")
    for tile in (source, result):
        width = bits(tile.element)
        if width is None or is_f8(tile.element):
            yield Broken("element-type", f"no reshape of elements of {tile.element}")
            return
    sizes = [tile.rows * tile.cols * (bits(tile.element) or 0) for tile in (source, result)]
    if sizes[0] != sizes[1]:
        yield Broken("shape", f"{sizes[0]} bits are reshaped to {sizes[1]}")
    elif (source.slayout == "none_box") != (result.slayout == "none_box"):
        yield Broken("layout", f"from slayout={source.slayout} to {result.slayout}")


def _bitcast(op: ops.BitcastOp, context: Context) -> Broke:
    source, result = _tile(op.source), _tile(op.result)
    if source.space != result.space:
        yield Broken("address-space", f"from {source.space} to {result.space}")
    elif is_f8(source.element) or is_f8(result.element):
        yield Broken("element-type", f"no bitcast of {source.element} to {result.element}")
    elif source.element == result.element and source != result:
        yield Broken("same-element", f"both have elements of {source.element}: use treshape")
    elif source.shape != result.shape:
        yield Broken("shape", f"from {source.shape} to {result.shape}: use treshape")


def _assign(op: ops.AssignOp, context: Context) -> Broke:
    if context.level != "level3":
        yield Broken("level", f"tassign at {context.level}, wanted level3")
    elif context.insert_sync:
        yield Broken("level", "tassign together with automatic sync insertion")


def _get_value(op: ops.GetValueOp, context: Context) -> Broke:
    tile = _tile(op.source)
    if tile.space != "vec":
        yield Broken("address-space", f"the tile is in {tile.space}, wanted vec")
    elif not is_scalar(op.value.type):
        yield Broken("scalar-type", f"an element is read as {op.value.type}")
    elif tile.element != op.value.type:
        yield Broken("same-element", f"an element of {tile.element} is read as {op.value.type}")


def _set_value(op: ops.SetValueOp, context: Context) -> Broke:
    if not is_scalar(op.value.type):
        yield Broken("scalar-type", f"an element is written as {op.value.type}")


def _print(op: ops.PrintOp, context: Context) -> Broke:
    if not is_scalar(op.value.type):
        yield Broken("scalar-type", f"a value of {op.value.type} is printed")


# --------------------------------------------------------------------------------------------
# Control flow
# --------------------------------------------------------------------------------------------


def _for(op: scf.ForOp, context: Context) -> Broke:
    if not all(is_signless(bound.type) or bound.type == IndexType() for bound in op.operands[:3]):
        yield Broken("scalar-type", f"a loop over {op.lb.type}")
    yield from _carried_tiles(op.iter_args, [*op.body.block.args[1:], *op.results])
    yield from _carried_16_bit_floats(op)


def _while(op: scf.WhileOp, context: Context) -> Broke:
    inside = [arg for region in op.regions for block in region.blocks for arg in block.args]
    before, after = ([arg.type for arg in region.block.args] for region in op.regions)
    ends = [region.block.last_op for region in op.regions]
    wanted = [value.type for value in op.arguments]
    if before != wanted or after != [value.type for value in op.results]:
        yield Broken("yields", "the blocks of scf.while take values of other types")
        return
    for end, types, skipped in zip(ends, (after, wanted), (1, 0), strict=True):
        if end is None or [value.type for value in end.operands[skipped:]] != types:
            yield Broken("yields", "scf.while hands on values of other types")
            return
    yield from _carried_tiles(op.arguments, [*inside, *op.results])
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ops.SectionOp):
            yield Broken("section", "scf.while in a section")
        parent = parent.parent_op()
    inside_body = list(op.after_region.walk())
    if any(isinstance(inner, scf.IfOp | scf.ForOp) for inner in inside_body):
        around = _scf_around(op)
        if around is not None:
            yield Broken("while-body", f"{_NESTED_IN_WHILE} lies inside an {around.name}")
        elif any(isinstance(inner, scf.WhileOp) for inner in inside_body):
            yield Broken("while-body", f"{_NESTED_IN_WHILE} contains another scf.while")


_NESTED_IN_WHILE: Final = "an scf.while whose body has an scf.if or scf.for"


def _scf_around(op: Operation) -> Operation | None:
    """Return the innermost scf op around an op."""
    parent = op.parent_op()
    while parent is not None and not parent.name.startswith("scf."):
        parent = parent.parent_op()
    return parent


def _carried_16_bit_floats(op: Operation) -> Broke:
    """Scf.for and scf.if carry no f16 or bf16 values."""
    for result in op.results:
        if str(result.type) in ("f16", "bf16"):
            yield Broken(
                "carried-half",
                f"{op.name} hands on {with_article(str(result.type))}: carry it as f32",
            )
            return


def _carried_tiles(initial: Sequence[SSAValue], carried: Sequence[SSAValue]) -> Broke:
    """A loop carries no tile that anything uses."""
    if not any(isinstance(value.type, TileType) for value in initial):
        return
    passing = (scf.YieldOp, scf.ConditionOp)
    for value in carried:
        if isinstance(value.type, TileType) and any(
            not isinstance(use.operation, passing) for use in value.uses
        ):
            yield Broken("carried-tile", "a loop carries a tile: write one tile in place")
            return


def _if(op: scf.IfOp, context: Context) -> Broke:
    wanted = [result.type for result in op.results]
    if wanted and not op.false_region.blocks:
        yield Broken("yields", "scf.if gives values and has no else")
        return
    for region in (op.true_region, op.false_region):
        last = region.blocks.last.last_op if region.blocks.last is not None else None
        if last is not None and [value.type for value in last.operands] != wanted:
            yield Broken("yields", "a branch of scf.if yields values of other types")
    yield from _carried_16_bit_floats(op)


# --------------------------------------------------------------------------------------------
# Synchronization
# --------------------------------------------------------------------------------------------

_CROSS_CORE: Final = {
    sync_ops.SyncSetOp: frozenset({"PIPE_FIX", "PIPE_MTE3"}),
    sync_ops.SyncWaitOp: frozenset({"PIPE_V", "PIPE_MTE1", "PIPE_MTE2", "PIPE_MTE3", "PIPE_FIX"}),
}
"""The pipes that signal and wait between cores on a5."""


def _cross_core(op: sync_ops.KeywordsOp, context: Context) -> Broke:
    pipe = op.attributes["word0"]
    assert isinstance(pipe, Pipe)
    if A5 in context.archs and pipe.data not in _CROSS_CORE[type(op)]:
        yield Broken("pipe", f"{op.name} with {pipe.data} on a5")
    if A3 in context.archs and function_of(op) not in context.with_ffts:
        yield Broken("ffts", "a3 needs pto.set_ffts in the function")


def function_of(op: Operation) -> Operation:
    while not isinstance(op, func.FuncOp):
        parent = op.parent_op()
        if parent is None:
            return op
        op = parent
    return op


# --------------------------------------------------------------------------------------------
# Tiles passed between cores
# --------------------------------------------------------------------------------------------


def _reserve(op: sync_ops.ReserveBufferOp, context: Context) -> Broke:
    """The assembler assigns the buffer's address exactly when it assigns those of tiles."""
    is_placed = str(op.attributes.get("auto")) == "false" and "base" in op.attributes
    if is_placed != (context.level == "level3"):
        what = "has a base" if is_placed else "has no base"
        yield Broken("level", f"the buffer {what} at {context.level}")


def _initialize_pipe(op: sync_ops.InitializePipeOp, context: Context) -> Broke:
    if A3 in context.archs and "gm_slot_buffer" not in op.names:
        yield Broken("operand-count", "a3 needs a gm_slot_buffer in global memory")


# --------------------------------------------------------------------------------------------
# Functions and modules
# --------------------------------------------------------------------------------------------


def _module(op: ModuleOp, context: Context) -> Broke:
    for name in op.attributes:
        if "." not in name:
            yield Broken("attribute", f"the module attribute {name!r} has no dialect before it")
    functions = [each for each in op.ops if isinstance(each, func.FuncOp)]
    bodies = [each for each in functions if not each.is_declaration]
    entries = bodies if len(bodies) == 1 else [each for each in bodies if _is_entry(each)]
    for each in entries:
        if each.function_type.outputs:
            yield Broken("entry", f"the entry @{each.sym_name.data} returns a value")
    yield from _recursion(bodies)


def _is_entry(op: func.FuncOp) -> bool:
    return any(name in op.attributes for name in ("pto.entry", "hacc.entry"))


def _recursion(functions: Sequence[func.FuncOp]) -> Broke:
    calls = {
        each.sym_name.data: sorted(
            {call.callee.string_value() for call in each.walk() if isinstance(call, func.CallOp)}
        )
        for each in functions
    }
    done: set[str] = set()
    for start in calls:
        path: list[tuple[str, Iterator[str]]] = [(start, iter(calls[start]))]
        active = {start}
        while path:
            name, rest = path[-1]
            callee = next((each for each in rest if each not in done), None)
            if callee is None:
                done.add(name)
                active.discard(name)
                path.pop()
            elif callee in active:
                yield Broken("recursion", f"@{callee} calls itself")
                return
            else:
                active.add(callee)
                path.append((callee, iter(calls.get(callee, ()))))


_TAIL_HINTS: Final = ("barrier-all", "mte3-to-s-event0")


def _function(op: func.FuncOp, context: Context) -> Broke:
    hint = op.attributes.get("pto.auto_sync_tail_hint")
    if isinstance(hint, StringAttr) and hint.data not in _TAIL_HINTS:
        yield Broken(
            "attribute", f"the tail hint is {hint.data!r}, wanted {' or '.join(_TAIL_HINTS)}"
        )
    if op.is_declaration and (op.sym_visibility is None or op.sym_visibility.data != "private"):
        yield Broken("declaration", f"the declaration @{op.sym_name.data} is not private")
    kind: FunctionType = op.function_type
    for each in (*kind.inputs, *kind.outputs):
        if not _is_parameter(each):
            yield Broken("parameter-type", f"a function takes or returns no {each}")
            return
    if len(kind.outputs) > 1:
        yield Broken("result-count", f"@{op.sym_name.data} returns {len(kind.outputs)} values")


def _is_parameter(kind: Attribute) -> bool:
    if isinstance(kind, PtrType):
        return _is_lowered(kind.data)
    if isinstance(kind, IntegerType | IndexType | TileType | MemRefType):
        return True
    return _is_lowered(kind)


def _call(op: func.CallOp, context: Context) -> Broke:
    name = op.callee.string_value()
    target = context.functions.get(name)
    if target is None:
        yield Broken("call", f"there is no function @{name}")
        return
    wanted = target.function_type
    if [value.type for value in op.operands] != list(wanted.inputs):
        yield Broken("call", f"@{name} takes {wanted.inputs}")
    elif [value.type for value in op.results] != list(wanted.outputs):
        yield Broken("call", f"@{name} returns {wanted.outputs}")


_CHECKS: Final[Mapping[type[Operation], Callable[..., Broke]]] = {
    ModuleOp: _module,
    func.FuncOp: _function,
    func.CallOp: _call,
    arith.IndexCastOp: _index_cast,
    scf.ForOp: _for,
    scf.WhileOp: _while,
    scf.IfOp: _if,
    ops.AddPtrOp: _add_ptr,
    ops.LoadScalarOp: _load_scalar,
    ops.StoreScalarOp: _store_scalar,
    ops.MakeTensorViewOp: _make_view,
    ops.GetTensorViewDimOp: _view_dim,
    ops.PartitionViewOp: _partition,
    ops.AllocTileOp: _alloc,
    ops.SetValidShapeOp: _set_valid_shape,
    ops.SubsetOp: _subset,
    ops.ReshapeOp: _reshape,
    ops.BitcastOp: _bitcast,
    ops.AssignOp: _assign,
    ops.GetValueOp: _get_value,
    ops.SetValueOp: _set_value,
    ops.PrintOp: _print,
    sync_ops.SyncSetOp: _cross_core,
    sync_ops.SyncWaitOp: _cross_core,
    sync_ops.ReserveBufferOp: _reserve,
    **dict.fromkeys(sync_ops.INITIALIZE_PIPE_OPS, _initialize_pipe),
}
