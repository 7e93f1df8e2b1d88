"""Builds kernels by hand for tests of the passes that plan memory and synchronisation.

`Block` collects statements; `random_kernel` draws whole kernels of tiles, loops and branches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pypto._src import ops
from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import MemRef, ShapedType, TensorType, TileType
from pypto._src.ir.enums import FunctionType, ParamDirection, PipeType
from pypto._src.ir.exprs import Call, Expr, IterArg, Var
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    ReturnStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.text.printer import python_print
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.types import Type, scalar_type
from pypto._src.ops.define import REGISTRY

FP32 = DataType.FP32
INDEX = DataType.INDEX
assert ops.__all__  # imported, so all ops are registered
Pick = Callable[[int], int]
"""Draws a number below its argument."""


def call(name: str, *args: Any, **kwargs: Any) -> Call:
    """Return a call of the op with the full name ``name``."""
    made = REGISTRY[name](*args, **kwargs)
    assert isinstance(made, Call)
    return made


def tensor(name: str, shape: Sequence[int], dtype: DataType = FP32) -> Var:
    return Var(name, TensorType(list(shape), dtype))


def index(name: str) -> Var:
    return Var(name, scalar_type(INDEX))


class Block:
    """Statements in order. Every statement gets its own line number, as in a source file."""

    def __init__(self, line: list[int] | None = None) -> None:
        self.stmts: list[Stmt] = []
        self.line = [0] if line is None else line

    def span(self) -> Span:
        self.line[0] += 1
        return Span("kernel.py", self.line[0], 4, self.line[0], 30)

    def let(self, name: str, op: str, *args: Any, **kwargs: Any) -> Var:
        """Append ``name = op(...)``; return the variable."""
        return self.assign(name, call(op, *args, **kwargs))

    def assign(self, name: str, value: Expr) -> Var:
        span = self.span()
        var = Var(name, value.type, span)
        self.stmts.append(AssignStmt(var=var, value=value, span=span))
        return var

    def do(self, op: str, **kwargs: Any) -> None:
        """Append a statement that calls an op for its effect."""
        self.stmts.append(EvalStmt(expr=call(op, **kwargs), span=self.span()))

    def load(self, name: str, source: Var, offsets: Sequence[Any], shape: Sequence[int]) -> Var:
        return self.let(name, "block.load", source, list(offsets), list(shape))

    def store(self, name: str, tile: Var, offsets: Sequence[Any], target: Var) -> Var:
        shape = tile.type.shape if isinstance(tile.type, TileType) else ()
        return self.let(name, "block.store", tile, list(offsets), list(shape), target)

    def loop(
        self,
        inits: dict[str, Var],
        body: Callable[[Block, Var, list[Any]], Sequence[Var]],
        *,
        stop: Any,
        start: Any = 0,
        step: Any = 1,
        name: str = "i",
    ) -> list[Any]:
        """Append a loop; ``body(block, loop_var, iter_args)`` returns what it yields."""
        span = self.span()
        counter = index(name)
        iter_args = [IterArg(f"{n}_it", init.type, init, span) for n, init in inits.items()]
        inner = Block(self.line)
        yielded = body(inner, counter, list(iter_args))
        inner.stmts.append(YieldStmt(list(yielded), inner.span()))
        results = [Var(f"{n}_out", init.type, span) for n, init in inits.items()]
        self.stmts.append(ForStmt(counter, start, stop, step, iter_args, seq(inner), results, span))
        return list(results)

    def repeat(
        self,
        inits: dict[str, Var],
        body: Callable[[Block, Var, list[Any]], Sequence[Var]],
        *,
        stop: Expr | int,
    ) -> list[Any]:
        """Append a while loop that counts to ``stop``, with a body as in `loop`."""
        span = self.span()
        counter = IterArg("count", scalar_type(INDEX), 0, span)
        iter_args = [IterArg(f"{n}_it", init.type, init, span) for n, init in inits.items()]
        inner = Block(self.line)
        yielded = body(inner, counter, list(iter_args))
        inner.stmts.append(YieldStmt([counter + 1, *yielded], inner.span()))
        results = [Var(f"{n}_out", init.type, span) for n, init in inits.items()]
        self.stmts.append(
            WhileStmt(
                counter < stop,
                [counter, *iter_args],
                seq(inner),
                [Var("counted", scalar_type(INDEX), span), *results],
                span,
            )
        )
        return list(results)

    def branch(
        self,
        condition: Expr,
        names: Sequence[str],
        then: Callable[[Block], Sequence[Var]],
        orelse: Callable[[Block], Sequence[Var]],
    ) -> list[Any]:
        """Append a branch; each arm returns what it yields."""
        span = self.span()
        arms: list[Stmt] = []
        types: list[Type] = []
        for arm in (then, orelse):
            inner = Block(self.line)
            yielded = arm(inner)
            inner.stmts.append(YieldStmt(list(yielded), inner.span()))
            types = [value.type for value in yielded]
            arms.append(seq(inner))
        results = [Var(n, kind, span) for n, kind in zip(names, types, strict=True)]
        self.stmts.append(
            IfStmt(
                condition=condition,
                then_body=arms[0],
                else_body=arms[1],
                return_vars=tuple(results),
                span=span,
            )
        )
        return list(results)

    def function(self, params: Sequence[Var], results: Sequence[Var], name: str = "k") -> Function:
        """Return the statements as a kernel; the last parameters, which are returned, are InOut."""
        self.stmts.append(ReturnStmt(list(results), self.span()))
        directed = [
            (p, ParamDirection.InOut if p.name.startswith("out") else ParamDirection.In)
            for p in params
        ]
        kinds = [result.type for result in results]
        return Function(name, directed, kinds, seq(self), type=FunctionType.InCore)


def seq(block: Block) -> Stmt:
    return SeqStmts(stmts=tuple(block.stmts))


# --------------------------------------------------------------------------------------------
# Short listings
# --------------------------------------------------------------------------------------------


def memref(value: Expr) -> MemRef:
    """Return the memory reference of a tensor or tile."""
    kind = value.type
    assert isinstance(kind, ShapedType)
    assert kind.memref is not None
    return kind.memref


def buffer_ids(function: Function) -> dict[str, int]:
    """Map each tensor and tile variable's name to the number of its memory reference."""
    found = {node.name: node for node in walk(function) if isinstance(node, Var)}
    return {n: memref(v).id_ for n, v in found.items() if isinstance(v.type, ShapedType)}


def listing(function: Function) -> str:
    """Return a function as lines such as ``d = add(a, c)``, ``set MTE2->V 0`` and ``bar V``."""
    lines: list[str] = []
    _list(function.body, "", lines)
    return "\n".join(lines)


def _list(body: Stmt | None, indent: str, lines: list[str]) -> None:
    for stmt in statements(body):
        match stmt:
            case AssignStmt():
                lines.append(f"{indent}{stmt.var.name} = {_short(stmt.value)}")
            case EvalStmt():
                lines.append(indent + _short(stmt.expr))
            case YieldStmt() | ReturnStmt():
                word = "yield" if isinstance(stmt, YieldStmt) else "return"
                lines.append(f"{indent}{word} {', '.join(map(_short, stmt.value))}".rstrip())
            case ForStmt():
                carried = ", ".join(f"{a.name}={_short(a.initValue)}" for a in stmt.iter_args)
                bounds = ", ".join(_short(e) for e in (stmt.start, stmt.stop, stmt.step))
                lines.append(f"{indent}for {stmt.loop_var.name} in {bounds} ({carried})")
                _list(stmt.body, indent + "  ", lines)
                lines.append(f"{indent}-> {', '.join(v.name for v in stmt.return_vars)}")
            case WhileStmt():
                carried = ", ".join(f"{a.name}={_short(a.initValue)}" for a in stmt.iter_args)
                lines.append(f"{indent}while {_short(stmt.condition)} ({carried})")
                _list(stmt.body, indent + "  ", lines)
                lines.append(f"{indent}-> {', '.join(v.name for v in stmt.return_vars)}")
            case IfStmt():
                lines.append(f"{indent}if {_short(stmt.condition)}")
                _list(stmt.then_body, indent + "  ", lines)
                lines.append(f"{indent}else")
                _list(stmt.else_body, indent + "  ", lines)
                lines.append(f"{indent}-> {', '.join(v.name for v in stmt.return_vars)}")
            case _:
                lines.append(indent + type(stmt).__name__)


_SYNC = {"sync_src": "set", "sync_dst": "wait"}


def _short(value: Expr) -> str:
    match value:
        case Var():
            return value.name
        case Call():
            name = value.op.name.split(".")[-1]
            if name in _SYNC:
                pipes = [PipeType(value.kwargs[k]).name for k in ("set_pipe", "wait_pipe")]
                return f"{_SYNC[name]} {'->'.join(pipes)} {value.kwargs['event_id']}"
            if name.startswith("bar_"):
                return f"bar {name[4:].upper()}"
            return f"{name}({', '.join(map(_short, value.args))})"
        case _:
            return python_print(value)


# --------------------------------------------------------------------------------------------
# Random kernels
# --------------------------------------------------------------------------------------------

ROWS, COLS = 8, 16
UNARY = ("block.neg", "block.abs", "block.relu")
BINARY = ("block.add", "block.sub", "block.maximum", "block.minimum")


class _Drawer:
    """Draws statements into blocks; ``pick`` decides everything."""

    def __init__(self, pick: Pick, size: int) -> None:
        self.pick = pick
        self.left = size
        self.number = 0
        self.x = tensor("x", (4 * ROWS, COLS))
        self.y = tensor("y", (4 * ROWS, COLS))
        self.out = tensor("out", (4 * ROWS, COLS))
        self.n = index("n")

    def name(self, stem: str) -> str:
        self.number += 1
        return f"{stem}{self.number}"

    def one(self, values: Sequence[Any]) -> Any:
        return values[self.pick(len(values))]

    def row(self, counters: Sequence[Var]) -> Any:
        """Return the first row of a box: a constant, or one that depends on a loop variable."""
        choice = self.pick(3)
        if counters and choice == 0:
            return self.one(counters) * ROWS
        if counters and choice == 1:
            return (self.one(counters) + 1) * ROWS
        return self.pick(4) * ROWS

    def fill(
        self, block: Block, tiles: list[Var], out: Var, counters: list[Var], depth: int, most: int
    ) -> Var:
        """Draw up to ``most`` statements; return the tensor that then holds the results."""
        for _ in range(1 + self.pick(most)):
            if self.left <= 0:
                break
            self.left -= 1
            kind = self.pick(10)
            if kind <= 1 or not tiles:
                source = self.one([self.x, self.y, out])
                tiles.append(
                    block.load(self.name("t"), source, [self.row(counters), 0], [ROWS, COLS])
                )
            elif kind == 2:
                tiles.append(block.let(self.name("t"), self.one(UNARY), self.one(tiles)))
            elif kind <= 5:
                pair = self.one(tiles), self.one(tiles)
                tiles.append(block.let(self.name("t"), self.one(BINARY), *pair))
            elif kind == 6:
                out = block.store(self.name("o"), self.one(tiles), [self.row(counters), 0], out)
            elif kind == 7:
                flat = block.let(
                    self.name("v"), "block.reshape", self.one(tiles), [2 * ROWS, COLS // 2]
                )
                tiles.append(block.let(self.name("v"), "block.reshape", flat, [ROWS, COLS]))
            elif depth < 3 and kind == 8:
                out = self.loop(block, tiles, out, counters, depth)
            elif depth < 3:
                out = self.branch(block, tiles, out, counters, depth)
        return out

    def loop(
        self, block: Block, tiles: list[Var], out: Var, counters: list[Var], depth: int
    ) -> Var:
        carried = {self.name("c"): self.one(tiles) for _ in range(self.pick(4))}

        def body(inner: Block, counter: Var, iter_args: list[Any]) -> Sequence[Var]:
            inside = [*tiles, *iter_args[1:]]
            result = self.fill(inner, inside, iter_args[0], [*counters, counter], depth + 1, 6)
            return [result, *(self.one(inside[-6:]) for _ in carried)]

        stop = self.one([0, 1, 2, 3, 3, self.n, self.n])
        inits = {self.name("o"): out, **carried}
        if self.pick(4):
            results = block.loop(inits, body, stop=stop, name=self.name("i"))
        else:
            results = block.repeat(inits, body, stop=stop)
        tiles += results[1:]
        return results[0]

    def branch(
        self, block: Block, tiles: list[Var], out: Var, counters: list[Var], depth: int
    ) -> Var:
        names = [self.name("o"), *(self.name("m") for _ in range(self.pick(3)))]

        def arm(inner: Block) -> Sequence[Var]:
            inside = list(tiles)
            result = self.fill(inner, inside, out, counters, depth + 1, 4)
            return [result, *(self.one(inside[-5:]) for _ in names[1:])]

        value = self.one([self.n, *counters])
        results = block.branch(value > self.pick(3), names, arm, arm)
        tiles += results[1:]
        return results[0]


def random_kernel(pick: Pick, size: int = 30) -> Function:
    """Return a kernel of up to ``size`` statements on tiles [8, 16]: parameters x, y, n, out.

    Rows of x, y and out are multiples of 8 below 32 if ``n`` is at most 3.
    """
    drawer = _Drawer(pick, size)
    block = Block()
    tiles = [block.load(drawer.name("t"), drawer.x, [0, 0], [ROWS, COLS])]
    out = drawer.fill(block, tiles, drawer.out, [], 0, size)
    while drawer.left > 0:
        out = drawer.fill(block, tiles, out, [], 0, size)
    out = block.store(drawer.name("o"), tiles[-1], [0, 0], out)
    return block.function([drawer.x, drawer.y, drawer.n, drawer.out], [out])
