"""What the kernels of `tests.passes.build` compute, by value or by memory.

By value, every variable has its own array: the semantics of the program in SSA form. By memory,
variables with the same memory reference, or overlapping addresses, are the same bytes: what the
hardware does. Wrongly shared buffers make the two differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pypto._src.ir.array_types import ShapedType, TileType, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import BinaryExpr, Call, ConstInt, Expr, MakeTuple, Var, const_value
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    ReturnStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)

Array = np.ndarray[Any, Any]


def relu(a: Array) -> Array:
    return np.maximum(a, 0)


MEANING: dict[str, Callable[..., Any]] = {
    "block.neg": np.negative,
    "block.abs": np.abs,
    "block.relu": relu,
    "block.add": np.add,
    "block.sub": np.subtract,
    "block.maximum": np.maximum,
    "block.minimum": np.minimum,
    "block.recip": np.reciprocal,
    "block.move": np.copy,
    "block.exp": np.exp,
}
SPACE_BYTES = 1 << 20


class _State:
    """Values of variables. Tiles are arrays by value; by memory they are views into `memory`."""

    def __init__(self, *, by_memory: bool) -> None:
        self.by_memory = by_memory
        self.values: dict[Expr, Any] = {}
        self.memory: dict[Any, Array] = {}

    def window(self, var: Var) -> Array:
        """Return the bytes of a tile variable as an array of its shape."""
        kind = var.type
        assert isinstance(kind, TileType)
        assert kind.memref is not None
        shape = static_shape(kind) or ()
        size = 4 * int(np.prod(shape))
        address = const_value(kind.memref.addr_)
        if address is None or address < 0:
            whole = self.memory.setdefault(kind.memref, _poison(kind.memref.size_))
            return whole[:size].view(np.float32).reshape(shape)
        space: MemorySpace = kind.memref.memory_space_
        whole = self.memory.setdefault(space, _poison(SPACE_BYTES))
        return whole[address : address + size].view(np.float32).reshape(shape)

    def get(self, expr: Expr) -> Any:
        if isinstance(expr, Var):
            if self.by_memory and isinstance(expr.type, TileType):
                return self.window(expr)
            return self.values[expr]
        if isinstance(expr, ConstInt):
            return expr.value
        if isinstance(expr, MakeTuple):
            return tuple(self.get(e) for e in expr.elements)
        if isinstance(expr, BinaryExpr):
            return type(expr).fold(self.get(expr.left), self.get(expr.right))
        raise TypeError(f"no meaning for {type(expr).__name__}")

    def put(self, var: Var, value: Any) -> None:
        if self.by_memory and isinstance(var.type, TileType):
            self.window(var)[...] = value
        else:
            self.values[var] = value


def _poison(size: int) -> Array:
    return np.full(size, 0xFF, np.uint8)


def run(function: Function, args: list[Any], *, by_memory: bool) -> list[Any]:
    """Return what ``function`` returns; tensors among ``args`` that it stores to are modified."""
    state = _State(by_memory=by_memory)
    state.values.update(zip(function.params, args, strict=True))
    result = _execute(function.body, state)
    return [state.get(value) for value in result]


def _execute(body: Stmt, state: _State) -> tuple[Expr, ...]:
    """Execute a body; return the expressions that it yields or returns."""
    for stmt in statements(body):
        match stmt:
            case AssignStmt():
                _assign(stmt, state)
            case ForStmt():
                _loop(stmt, state)
            case WhileStmt():
                _hand_on(stmt.iter_args, tuple(a.initValue for a in stmt.iter_args), state)
                while state.get(stmt.condition):
                    _hand_on(stmt.iter_args, _execute(stmt.body, state), state)
                _hand_on(stmt.return_vars, stmt.iter_args, state)
            case IfStmt():
                arm = stmt.then_body if state.get(stmt.condition) else stmt.else_body
                assert arm is not None
                _hand_on(stmt.return_vars, _execute(arm, state), state)
            case YieldStmt() | ReturnStmt():
                return stmt.value
            case _:
                pass  # flags and barriers
    return ()


def _hand_on(targets: tuple[Var, ...], sources: tuple[Expr, ...], state: _State) -> None:
    """Assign the values of sources to targets; by memory a tile stays where it is."""
    values = [state.get(source) for source in sources]
    for target, source, value in zip(targets, sources, values, strict=True):
        if state.by_memory and isinstance(target.type, TileType):
            assert isinstance(source.type, ShapedType)
            assert target.type.shares_memref_with(source.type)
        else:
            state.put(target, value)


def _loop(stmt: ForStmt, state: _State) -> None:
    bounds = [int(state.get(e)) for e in (stmt.start, stmt.stop, stmt.step)]
    _hand_on(stmt.iter_args, tuple(a.initValue for a in stmt.iter_args), state)
    for value in range(*bounds):
        state.values[stmt.loop_var] = value
        _hand_on(stmt.iter_args, _execute(stmt.body, state), state)
    _hand_on(stmt.return_vars, stmt.iter_args, state)


def _assign(stmt: AssignStmt, state: _State) -> None:
    value = stmt.value
    if not isinstance(value, Call):
        state.put(stmt.var, state.get(value))
        return
    name = value.op.name
    args = [state.get(arg) for arg in value.args]
    if name == "block.load":
        state.put(stmt.var, _box(args[0], args[1], args[2]).copy())
    elif name == "block.store":
        _box(args[3], args[1], args[2])[...] = args[0]
        state.values[stmt.var] = args[3]
    elif name == "block.reshape":
        if state.by_memory:
            assert isinstance(value.args[0].type, ShapedType)
            assert isinstance(stmt.var.type, ShapedType)
            assert stmt.var.type.shares_memref_with(value.args[0].type)
        else:
            state.put(stmt.var, args[0].reshape(args[1]))
    elif name == "block.create_tile":
        if not state.by_memory:
            state.put(stmt.var, np.full(args[0], np.nan, np.float32))
    elif name == "block.full":
        state.put(stmt.var, np.full(args[0], args[1], np.float32))
    else:
        _compute(stmt.var, MEANING[name], args, value, state)


def _compute(
    var: Var, meaning: Callable[..., Any], args: list[Any], value: Call, state: _State
) -> None:
    if not state.by_memory:
        state.put(var, np.asarray(meaning(*args), np.float32))
        return
    # An op that is unsafe in place writes its result before it has read all of an operand.
    op = op_of(value)
    assert op is not None
    window = state.window(var)
    for i, arg in enumerate(args):
        if i not in op.in_place and np.shares_memory(window, np.asarray(arg)):
            window[...] = np.nan
    window[...] = meaning(*args)


def _box(array: Array, offsets: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    slices = tuple(slice(o, o + n) for o, n in zip(offsets, shape, strict=True))
    assert all(s.start >= 0 and s.stop <= n for s, n in zip(slices, array.shape, strict=True))
    return array[slices]
