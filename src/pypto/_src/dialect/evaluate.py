"""Runs a parsed `.pto` module on NumPy arrays.

Owns control flow, scalars, views and allocation; what tile ops compute is in `semantics`. All
blocks, sections and cores run in the order of the text; flags and barriers have no effect.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith, cf, func, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir import Region as Body

from pypto._src.dialect import ops, sync_ops
from pypto._src.dialect.reader import Source
from pypto._src.dialect.semantics import MEANINGS, Step
from pypto._src.dialect.tile_ops import TileOp
from pypto._src.dialect.types import PtrType, Tile, TileType
from pypto._src.dialect.values import (
    Array,
    Pointer,
    Region,
    TileValue,
    bytes_of,
    number,
    numpy_dtype,
    valid_of,
    view_bytes,
)
from pypto._src.errors import CallError, EvaluationError, PyptoError, with_article

Two = Callable[[Any, Any], Any]

_ON_CHIP_BYTES: Final = 1 << 20
"""Size of each memory when tiles have addresses; more than any target has."""


def evaluate(
    source: Source,
    entry: str,
    args: Sequence[Any],
    *,
    block: int = 0,
    blocks: int = 1,
    simulator: bool = False,
) -> tuple[Any, ...]:
    """Call a function of a module; arrays are updated in place.

    Pointers take NumPy arrays, dense and row-major, other parameters numbers. With ``simulator``,
    floats out of range of an integer type, and the largest and smallest padding of 16-bit floats,
    give what the simulator of the C++ library gives.

    Raises:
        CallError: there is no such function, or it does not take these arguments.
        EvaluationError: the module does something invalid or something not supported here.
    """
    machine = Machine(source, block=block, blocks=blocks, simulator=simulator)
    return machine.call(entry, *args)


class Machine:
    """A module and its on-chip memories; tiles passed between cores persist between calls."""

    def __init__(
        self, source: Source, *, block: int = 0, blocks: int = 1, simulator: bool = False
    ) -> None:
        self.source = source
        self.simulator = simulator
        self.block = block
        self.blocks = blocks
        self.functions = {
            op.sym_name.data: op for op in source.module.ops if isinstance(op, func.FuncOp)
        }
        self.memories: dict[str, NDArray[np.uint8]] = {}
        self.queues: dict[str, deque[TileValue]] = {}

    def call(self, entry: str, *args: Any) -> tuple[Any, ...]:
        """Call the function ``entry``; see `evaluate`."""
        function = self.functions.get(entry)
        if function is None or function.is_declaration:
            names = ", ".join(name for name, op in self.functions.items() if not op.is_declaration)
            raise CallError(f"there is no function @{entry}; there are {names}", slug="call")
        kinds = list(function.function_type.inputs)
        if len(kinds) != len(args):
            raise CallError(
                f"@{entry} takes {len(kinds)} arguments, got {len(args)}", slug="argument-count"
            )
        values = [_argument(value, kind) for value, kind in zip(args, kinds, strict=True)]
        with np.errstate(all="ignore"):
            return tuple(self.run_function(function, values))

    def run_function(self, function: func.FuncOp, args: Sequence[Any]) -> list[Any]:
        """Run a function on values; return what it returns."""
        return self.run_region(function.body, args, {})

    def run_region(self, region: Body, args: Sequence[Any], env: dict[SSAValue, Any]) -> list[Any]:
        """Run the blocks of a region; return the operands of its terminator."""
        block = region.blocks.first
        values = list(args)
        while block is not None:
            env.update(zip(block.args, values, strict=True))
            last = self.run_block(block, env)
            if isinstance(last, cf.BranchOp):
                values = [env[operand] for operand in last.arguments]
                block = last.successor
            elif isinstance(last, cf.ConditionalBranchOp):
                taken = bool(env[last.cond])
                operands = last.then_arguments if taken else last.else_arguments
                values = [env[operand] for operand in operands]
                block = last.then_block if taken else last.else_block
            else:
                return [] if last is None else [env[operand] for operand in last.operands]
        return []

    def run_block(self, block: Block, env: dict[SSAValue, Any]) -> Operation | None:
        """Run the ops of a block except the terminator, which is returned."""
        last = block.last_op
        for op in block.ops:
            if op is last and isinstance(op, _ENDS):
                return op
            try:
                self.run_op(op, env)
            except PyptoError as error:
                raise error.at(self.source.span(op), self.source.text.split("\n")) from error
        return None

    def run_op(self, op: Operation, env: dict[SSAValue, Any]) -> None:
        """Run one op: put its results into ``env`` and update what it writes."""
        if isinstance(op, TileOp):
            _run_tile_op(op, env, self.simulator)
            return
        if op.name.startswith("arith."):
            env[op.results[0]] = _run_arith(op, [env[operand] for operand in op.operands])
            return
        handler = _HANDLERS.get(type(op))
        if handler is None:
            raise EvaluationError(f"{op.name} is not evaluated", slug="unsupported")
        env.update(zip(op.results, handler(self, op, env), strict=True))


_ENDS: Final = (
    func.ReturnOp,
    scf.YieldOp,
    scf.ConditionOp,
    cf.BranchOp,
    cf.ConditionalBranchOp,
)


def _argument(value: Any, kind: Attribute) -> Any:
    if not isinstance(kind, PtrType):
        return number(value, kind)
    dtype = numpy_dtype(kind.data)
    array = cast("Array", value) if isinstance(value, np.ndarray) else None
    if array is None or array.dtype != dtype or not array.flags.c_contiguous:
        raise CallError(
            f"{with_article(str(kind))} takes a dense array of {dtype}", slug="argument-type"
        )
    return Pointer(array.reshape(-1))


# --------------------------------------------------------------------------------------------
# Tiles
# --------------------------------------------------------------------------------------------


def _run_tile_op(op: TileOp, env: dict[SSAValue, Any], simulator: bool) -> None:
    meaning, named = MEANINGS.get(op.name), op.named()
    if meaning is None or named is None:
        raise EvaluationError(f"{op.name} is not evaluated", slug="unsupported")
    meaning(Step(op, {name: env[value] for name, value in named.items()}, simulator))


def _kind(value: SSAValue) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def _alloc(machine: Machine, op: ops.AllocTileOp, env: dict[SSAValue, Any]) -> list[Any]:
    kind = _kind(op.result).data
    size = kind.rows * kind.cols * numpy_dtype(kind.element).itemsize
    row, col = (None if v is None else int(env[v]) for v in (op.valid_row, op.valid_col))
    address = None if op.addr is None else int(env[op.addr])
    data = view_bytes(_bytes(machine, kind.space, address, size), kind)
    return [TileValue(kind, data, valid_of(kind, row, col))]


def _bytes(machine: Machine, space: str, address: int | None, size: int) -> NDArray[np.uint8]:
    if address is None:
        return np.zeros(size, np.uint8)
    memory = machine.memories.setdefault(space, np.zeros(_ON_CHIP_BYTES, np.uint8))
    if address < 0 or address + size > memory.size:
        raise EvaluationError(f"a tile at address {address} of {space}", slug="out-of-bounds")
    return memory[address : address + size]


def _set_valid(machine: Machine, op: ops.SetValidShapeOp, env: dict[SSAValue, Any]) -> list[Any]:
    tile = env[op.tile]
    tile.valid = valid_of(tile.kind, int(env[op.row]), int(env[op.col]))
    return []


def _subset(machine: Machine, op: ops.SubsetOp, env: dict[SSAValue, Any]) -> list[Any]:
    tile, kind = env[op.source], _kind(op.result).data
    starts = [int(env[offset]) for offset in op.offsets]
    row, col = (*starts, 0)[:2]
    data = tile.data[row : row + kind.rows, col : col + kind.cols]
    if data.shape != kind.shape:
        raise EvaluationError(
            f"a part of {kind.rows}x{kind.cols} at {row}, {col} is outside its tile",
            slug="out-of-bounds",
        )
    return [TileValue(kind, data, kind.shape)]


def _alias(machine: Machine, op: Operation, env: dict[SSAValue, Any]) -> list[Any]:
    tile, kind = env[op.operands[0]], _kind(op.results[0]).data
    if isinstance(op, ops.BitcastOp):
        return [TileValue(kind, _as_elements(tile, kind), tile.valid)]
    if kind.slayout != "none_box":
        return [TileValue(kind, _boxed(tile, kind), valid_of(kind, None, None))]
    return [TileValue(kind, view_bytes(bytes_of(tile), kind), valid_of(kind, None, None))]


def _as_elements(tile: TileValue, kind: Tile) -> Array:
    """Return as many elements of another type, at the start of the tile's bytes."""
    dtype = numpy_dtype(kind.element)
    if dtype.itemsize == tile.data.dtype.itemsize:
        return tile.data.view(dtype)
    whole, size = bytes_of(tile), tile.data.size * dtype.itemsize
    if size > whole.size:
        raise EvaluationError(
            f"a tile of {size} bytes lies where one of {whole.size} is", slug="out-of-bounds"
        )
    return view_bytes(whole[:size], kind)


def _boxed(tile: TileValue, kind: Tile) -> Array:
    """Return the elements of a boxed tile reshaped to ``kind``.

    If the orders of boxes and of elements in boxes are swapped as well, that is the transpose.
    """
    before, after = tile.kind, kind
    data = tile.data.view(numpy_dtype(kind.element))
    if (after.shape, after.blayout, after.slayout) == (
        before.shape,
        before.blayout,
        before.slayout,
    ):
        return data
    turned = before.shape[::-1], before.slayout, before.blayout
    if (after.shape, after.blayout, after.slayout) == turned:
        return data.T
    raise EvaluationError(
        f"a tile with boxes of {before.rows}x{before.cols} elements becomes one of "
        f"{after.rows}x{after.cols}",
        slug="unsupported",
    )


def _assign(machine: Machine, op: ops.AssignOp, env: dict[SSAValue, Any]) -> list[Any]:
    tile: TileValue = env[op.source]
    kind = tile.kind
    store = _bytes(machine, kind.space, int(env[op.addr]), tile.data.nbytes)
    return [TileValue(kind, view_bytes(store, kind), tile.valid)]


def _get_value(machine: Machine, op: ops.GetValueOp, env: dict[SSAValue, Any]) -> list[Any]:
    return [bytes_of(env[op.source]).view(env[op.source].data.dtype)[int(env[op.offset])]]


def _set_value(machine: Machine, op: ops.SetValueOp, env: dict[SSAValue, Any]) -> list[Any]:
    tile = env[op.target]
    flat = bytes_of(tile).view(tile.data.dtype)
    flat[int(env[op.offset])] = np.asarray(env[op.value]).astype(tile.data.dtype)
    return []


def _push(machine: Machine, op: Operation, env: dict[SSAValue, Any]) -> list[Any]:
    tile: TileValue = env[op.operands[0]]
    queue = machine.queues.setdefault(op.name.removeprefix("pto.tpush_to_"), deque())
    queue.append(TileValue(tile.kind, tile.data.copy(), tile.valid))
    return []


_RECEIVER: Final = {"pto.tpop_from_aic": "aiv", "pto.tpop_from_aiv": "aic"}


def _pop(machine: Machine, op: Operation, env: dict[SSAValue, Any]) -> list[Any]:
    queue = machine.queues.get(_RECEIVER[op.name])
    if not queue:
        raise EvaluationError(f"{op.name} finds no tile", slug="unsupported")
    return [TileValue(_kind(op.results[0]).data, *_pair(queue.popleft()))]


def _pair(tile: TileValue) -> tuple[Array, tuple[int, int]]:
    return tile.data, tile.valid


# --------------------------------------------------------------------------------------------
# Memory
# --------------------------------------------------------------------------------------------


def _add_ptr(machine: Machine, op: ops.AddPtrOp, env: dict[SSAValue, Any]) -> list[Any]:
    pointer: Pointer = env[op.ptr]
    return [Pointer(pointer.buffer, pointer.offset + int(env[op.offset]))]


def _element(pointer: Pointer, offset: Any) -> int:
    element = pointer.offset + int(offset)
    if not 0 <= element < pointer.buffer.size:
        raise EvaluationError(
            f"element {element} of {pointer.buffer.size} is accessed", slug="out-of-bounds"
        )
    return element


def _load_scalar(machine: Machine, op: ops.LoadScalarOp, env: dict[SSAValue, Any]) -> list[Any]:
    pointer: Pointer = env[op.ptr]
    return [pointer.buffer[_element(pointer, env[op.offset])]]


def _store_scalar(machine: Machine, op: ops.StoreScalarOp, env: dict[SSAValue, Any]) -> list[Any]:
    pointer: Pointer = env[op.ptr]
    pointer.buffer[_element(pointer, env[op.offset])] = env[op.value]
    return []


def _view(machine: Machine, op: ops.MakeTensorViewOp, env: dict[SSAValue, Any]) -> list[Any]:
    sizes, strides = (tuple(int(env[v]) for v in values) for values in (op.shape, op.strides))
    return [Region(env[op.ptr], sizes, strides)]


def _view_dim(machine: Machine, op: ops.GetTensorViewDimOp, env: dict[SSAValue, Any]) -> list[Any]:
    return [number(env[op.view].sizes[int(env[op.dim])], IndexType())]


def _partition(machine: Machine, op: ops.PartitionViewOp, env: dict[SSAValue, Any]) -> list[Any]:
    offsets, sizes = ([int(env[v]) for v in values] for values in (op.offsets, op.sizes))
    return [env[op.view].part(offsets, sizes)]


# --------------------------------------------------------------------------------------------
# Control flow
# --------------------------------------------------------------------------------------------


def _for(machine: Machine, op: scf.ForOp, env: dict[SSAValue, Any]) -> list[Any]:
    low, high, step = (int(env[value]) for value in (op.lb, op.ub, op.step))
    if step <= 0:
        raise EvaluationError(f"a loop has the step {step}", slug="unsupported")
    kind = op.body.block.args[0].type
    values = [env[value] for value in op.iter_args]
    for index in range(low, high, step):
        values = machine.run_region(op.body, [number(index, kind), *values], env)
    return values


def _while(machine: Machine, op: scf.WhileOp, env: dict[SSAValue, Any]) -> list[Any]:
    values = [env[value] for value in op.arguments]
    while True:
        goes_on, *values = machine.run_region(op.before_region, values, env)
        if not goes_on:
            return values
        values = machine.run_region(op.after_region, values, env)


def _if(machine: Machine, op: scf.IfOp, env: dict[SSAValue, Any]) -> list[Any]:
    region = op.true_region if env[op.cond] else op.false_region
    return machine.run_region(region, [], env) if region.blocks else []


def _switch(machine: Machine, op: scf.IndexSwitchOp, env: dict[SSAValue, Any]) -> list[Any]:
    wanted = int(env[op.arg])
    cases = [int(case) for case in op.cases.get_values()]
    chosen = op.case_regions[cases.index(wanted)] if wanted in cases else op.default_region
    return machine.run_region(chosen, [], env)


def _call(machine: Machine, op: func.CallOp, env: dict[SSAValue, Any]) -> list[Any]:
    function = machine.functions[op.callee.string_value()]
    return machine.run_function(function, [env[operand] for operand in op.operands])


def _section(machine: Machine, op: ops.SectionOp, env: dict[SSAValue, Any]) -> list[Any]:
    return machine.run_region(op.body, [], env)


def _nothing(machine: Machine, op: Operation, env: dict[SSAValue, Any]) -> list[Any]:
    return [number(0, result.type) for result in op.results]


def _block_index(machine: Machine, op: Operation, env: dict[SSAValue, Any]) -> list[Any]:
    return [np.int64(machine.block)]


def _block_count(machine: Machine, op: Operation, env: dict[SSAValue, Any]) -> list[Any]:
    return [np.int64(machine.blocks)]


def _one(machine: Machine, op: Operation, env: dict[SSAValue, Any]) -> list[Any]:
    return [np.int64(1)]


def _trap(machine: Machine, op: ops.TrapOp, env: dict[SSAValue, Any]) -> list[Any]:
    raise EvaluationError("the kernel traps", slug="trap")


Handler = Callable[..., list[Any]]
_HAND_OVER: Final[Mapping[type[Operation], Handler]] = {
    sync_ops.PushOp: _push,
    sync_ops.PopOp: _pop,
}
_HANDLERS: Final[Mapping[type[Operation], Handler]] = {
    ops.AllocTileOp: _alloc,
    ops.SetValidShapeOp: _set_valid,
    ops.SubsetOp: _subset,
    ops.ReshapeOp: _alias,
    ops.BitcastOp: _alias,
    ops.AssignOp: _assign,
    ops.GetValueOp: _get_value,
    ops.SetValueOp: _set_value,
    ops.AddPtrOp: _add_ptr,
    ops.LoadScalarOp: _load_scalar,
    ops.StoreScalarOp: _store_scalar,
    ops.MakeTensorViewOp: _view,
    ops.GetTensorViewDimOp: _view_dim,
    ops.PartitionViewOp: _partition,
    ops.PrintOp: _nothing,
    ops.TrapOp: _trap,
    ops.CubeSectionOp: _section,
    ops.VectorSectionOp: _section,
    ops.GetBlockIdxOp: _block_index,
    ops.GetBlockNumOp: _block_count,
    ops.GetSubblockIdxOp: _nothing,
    ops.GetSubblockNumOp: _one,
    sync_ops.SetFftsOp: _nothing,
    sync_ops.ReserveBufferOp: _nothing,
    sync_ops.ImportReservedBufferOp: _nothing,
    **dict.fromkeys(sync_ops.KEYWORD_OPS, _nothing),
    **{op: _HAND_OVER.get(op.__mro__[1], _nothing) for op in sync_ops.CROSS_CORE_OPS},
    scf.ForOp: _for,
    scf.WhileOp: _while,
    scf.IfOp: _if,
    scf.IndexSwitchOp: _switch,
    func.CallOp: _call,
}

# --------------------------------------------------------------------------------------------
# Scalars
# --------------------------------------------------------------------------------------------


def _run_arith(op: Operation, values: list[Any]) -> Any:
    kind = op.results[0].type
    if isinstance(op, arith.ConstantOp):
        return _constant(op.value, kind)
    if isinstance(op, arith.CmpiOp):
        signed, compare = _PREDICATES[op.predicate.value.data]
        return np.bool_(compare(*(values if signed else map(_unsigned, values))))
    if isinstance(op, arith.CmpfOp):
        return np.bool_(_compare_floats(op.predicate.value.data, *values))
    if isinstance(op, arith.SelectOp):
        return values[1] if values[0] else values[2]
    if isinstance(op, arith.NegfOp):
        return -values[0]
    compute = _SCALARS.get(op.name)
    if compute is not None:
        return np.asarray(compute(*values)).astype(numpy_dtype(kind))[()]
    cast_to = _CASTS.get(op.name)
    if cast_to is not None:
        return cast_to(values[0], numpy_dtype(kind))
    raise EvaluationError(f"{op.name} is not evaluated", slug="unsupported")


def _constant(value: Attribute, kind: Attribute) -> Any:
    if isinstance(value, IntegerAttr):
        return number(bool(value.value.data) if str(kind) == "i1" else value.value.data, kind)
    assert isinstance(value, FloatAttr)
    return number(value.value.data, kind)


def _unsigned(value: Any) -> Any:
    array = np.asarray(value)
    return array if array.dtype.kind == "b" else array.view(f"u{array.dtype.itemsize}")


def _bits(compute: Two) -> Two:
    """Return ``compute`` on operands read as unsigned numbers."""

    def run(a: Any, b: Any) -> Any:
        return np.asarray(compute(_unsigned(a), _unsigned(b)))

    return run


_LESS: Final = (np.less, np.less_equal, np.greater, np.greater_equal)
_PREDICATES: Final[Mapping[int, tuple[bool, Two]]] = {
    0: (True, np.equal),
    1: (True, np.not_equal),
    **{2 + i: (True, compare) for i, compare in enumerate(_LESS)},
    **{6 + i: (False, compare) for i, compare in enumerate(_LESS)},
}
_FLOAT_ORDER: Final[Sequence[Two | None]] = (
    None,
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    np.not_equal,
    None,
)


def _compare_floats(predicate: int, a: Any, b: Any) -> Any:
    """Predicates 1 to 7 are false for NaN, 8 to 14 true; 0 and 15 are constant."""
    if predicate in (0, 15):
        return predicate == 15
    unordered = bool(np.isnan(a)) or bool(np.isnan(b))
    if predicate in (7, 14):
        return unordered == (predicate == 14)
    compare = _FLOAT_ORDER[predicate if predicate < 8 else predicate - 7]
    assert compare is not None
    return unordered == (predicate >= 8) if unordered else compare(a, b)


def _divide(a: Any, b: Any, rounding: Callable[[int, int], int]) -> Any:
    """Divide exactly; a divisor of 0 gives 0, though on the device the result is undefined."""
    x, y = int(a), int(b)
    bits = np.asarray(a).dtype.itemsize * 8
    quotient = rounding(x, y) if y else 0
    return np.array(quotient & ((1 << bits) - 1), f"u{bits // 8}").view(np.asarray(a).dtype)


def _toward_zero(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _signed(rounding: Callable[[int, int], int]) -> Two:
    def divide(a: Any, b: Any) -> Any:
        return _divide(a, b, rounding)

    return divide


_SCALARS: Final[Mapping[str, Two]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.divsi": _signed(_toward_zero),
    "arith.floordivsi": _signed(lambda x, y: x // y),
    "arith.ceildivsi": _signed(lambda x, y: -(-x // y)),
    "arith.remsi": _signed(lambda x, y: x - _toward_zero(x, y) * y),
    "arith.divui": _bits(_signed(lambda x, y: x // y)),
    "arith.ceildivui": _bits(_signed(lambda x, y: -(-x // y))),
    "arith.remui": _bits(_signed(lambda x, y: x % y)),
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.maxui": _bits(np.maximum),
    "arith.minui": _bits(np.minimum),
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.shli": np.left_shift,
    "arith.shrsi": np.right_shift,
    "arith.shrui": _bits(np.right_shift),
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
}


def _to_signed(value: Any, dtype: np.dtype[Any]) -> Any:
    return np.asarray(value).astype(dtype)[()]


def _to_unsigned(value: Any, dtype: np.dtype[Any]) -> Any:
    return np.asarray(_unsigned(value)).astype(dtype)[()]


def _float_to_integer(value: Any, dtype: np.dtype[Any]) -> Any:
    whole = float(np.trunc(np.float64(value)))
    limits = np.iinfo(dtype)
    if np.isnan(whole):
        return dtype.type(0)
    return dtype.type(int(min(max(whole, limits.min), limits.max)))


def _float_to_unsigned(value: Any, dtype: np.dtype[Any]) -> Any:
    return _float_to_integer(value, np.dtype(np.int64)).astype(dtype)


_CASTS: Final[Mapping[str, Callable[[Any, np.dtype[Any]], Any]]] = {
    "arith.index_cast": _to_signed,
    "arith.index_castui": _to_unsigned,
    "arith.extsi": _to_signed,
    "arith.extui": _to_unsigned,
    "arith.trunci": lambda value, dtype: (
        np.bool_(int(value) & 1) if dtype.kind == "b" else _to_signed(value, dtype)
    ),
    "arith.sitofp": _to_signed,
    "arith.uitofp": _to_unsigned,
    "arith.fptosi": _float_to_integer,
    "arith.fptoui": _float_to_unsigned,
    "arith.extf": _to_signed,
    "arith.truncf": _to_signed,
    "arith.bitcast": lambda value, dtype: np.asarray(value).view(dtype)[()],
}
