"""What the IR costs: building, printing, reading, comparing, hashing, walking, serialising.

The kernels have 100, 1,000 and 10,000 statements: loads, arithmetic on tiles and scalars, stores,
and every 50 statements a loop that carries a scalar or a branch. The peer of each size is CPython's
own ``ast.parse`` of the kernel's printed text, timed in the same run: a ratio below 1 is faster
than CPython parses that text. ``growth`` is the cost per statement relative to the first size.

A time is the fastest of several repetitions, in microseconds per statement, with the garbage
collector off while it runs, as in ``timeit``. Repetitions of the sizes and operations alternate,
so that a busy machine slows all equally.
"""

from __future__ import annotations

import argparse
import ast
import platform
from collections.abc import Callable, Sequence
from typing import Any

from support.timing import fastest

import pypto.language as pl
from pypto import ir

SHAPE = [16, 64]
SPAN = ir.Span("kernel.py", 1, 0)


class Kernel:
    """Builds one kernel, one statement after the other."""

    def __init__(self) -> None:
        """Make the parameters."""
        tensor = ir.TensorType([64, 64], ir.FP32)
        self.x, self.y = ir.Var("x", tensor), ir.Var("y", tensor)
        self.n = ir.Var("n", ir.ScalarType(ir.INDEX))
        self.zeros, self.shape = ir.MakeTuple([0, 0], SPAN), ir.MakeTuple(SHAPE, SPAN)
        self.tile = self.out = self.y
        self.scalar = self.n
        self.count = 0

    def let(self, name: str, value: ir.Expr) -> tuple[ir.Var, ir.Stmt]:
        """Return a new variable and the statement that assigns ``value`` to it."""
        self.count += 1
        var = ir.Var(f"{name}_{self.count}", value.type, SPAN)
        return var, ir.AssignStmt(var, value, SPAN)

    def op(self, name: str, *args: Any, **kwargs: Any) -> ir.Call:
        """Return a call of an op."""
        return ir.create_op_call(name, args, kwargs, SPAN)

    def statement(self, index: int) -> ir.Stmt:
        """Return one of five kinds of statement."""
        match index % 5:
            case 0:
                value = self.op(
                    "block.load", self.x, self.zeros, self.shape, target_memory=ir.MemorySpace.Vec
                )
                self.tile, stmt = self.let("t", value)
            case 1:
                self.tile, stmt = self.let("t", self.op("block.add", self.tile, self.tile))
            case 2:
                half = ir.ConstFloat(0.5, ir.FP32, SPAN)
                self.tile, stmt = self.let("t", self.op("block.muls", self.tile, half))
            case 3:
                self.scalar, stmt = self.let("i", (self.scalar + 3) * 2 - self.n)
            case _:
                value = self.op("block.store", self.tile, self.zeros, self.shape, self.y)
                _, stmt = self.let("out", value)
        return stmt

    def straight(self, length: int) -> list[ir.Stmt]:
        """Return statements without control flow."""
        return [self.statement(index) for index in range(length)]

    def loop(self, length: int) -> ir.Stmt:
        """Return a loop of ``length`` statements that carries a scalar."""
        outer_tile, index = self.tile, ir.ScalarType(ir.INDEX)
        carried = ir.IterArg(f"c_{self.count}", index, self.scalar, SPAN)
        counter = ir.Var(f"k_{self.count}", index, SPAN)
        self.scalar = carried
        body = [*self.straight(length - 2), ir.YieldStmt([self.scalar + counter], SPAN)]
        result = ir.Var(f"r_{self.count}", index, SPAN)
        self.scalar, self.tile = result, outer_tile
        return ir.ForStmt(counter, 0, 4, 1, [carried], ir.SeqStmts(body), [result], SPAN)

    def branch(self, length: int) -> ir.Stmt:
        """Return a branch of ``length`` statements that yields a scalar."""
        tile, scalar = self.tile, self.scalar
        condition = self.scalar < self.n
        half = (length - 2) // 2
        then_body = [*self.straight(half - 1), ir.YieldStmt([self.scalar], SPAN)]
        self.tile, self.scalar = tile, scalar
        rest = length - 2 - half
        else_body = [*self.straight(rest), ir.YieldStmt([self.scalar], SPAN)]
        result = ir.Var(f"b_{self.count}", ir.ScalarType(ir.INDEX), SPAN)
        self.tile, self.scalar = tile, result
        bodies = ir.SeqStmts(then_body), ir.SeqStmts(else_body)
        return ir.IfStmt(condition, *bodies, [result], SPAN)

    def program(self, size: int) -> ir.Program:
        """Return the kernel with about ``size`` statements, as a program."""
        stmts: list[ir.Stmt] = []
        for index in range(size // 50):
            stmts += self.straight(30)
            stmts.append(self.branch(20) if index % 2 else self.loop(20))
        stmts.append(ir.ReturnStmt([self.y], SPAN))
        params = [self.x, (self.y, ir.Out), self.n]
        types = [self.y.type]
        function = ir.Function(
            "kernel", params, types, ir.SeqStmts(stmts), SPAN, ir.FunctionType.InCore
        )
        return ir.Program([function], "Kernel", SPAN)


def visit(program: ir.Program) -> None:
    """Visit every statement and expression and do nothing else."""
    for _ in ir.walk(program):
        pass


def operations(size: int) -> dict[str, Callable[[], Any]]:
    """Return the operations that are measured on kernels of ``size`` statements."""
    program, twin = Kernel().program(size), Kernel().program(size)
    text, blob = str(program), ir.serialize(program)
    ir.assert_structural_equal(program, pl.parse(text))
    return {
        "ast.parse": lambda: ast.parse(text),
        "construct": lambda: Kernel().program(size),
        "print": lambda: str(program),
        "parse": lambda: pl.parse(text),
        "equal": lambda: ir.structural_equal(program, twin),
        "hash": lambda: ir.structural_hash(program),
        "walk": lambda: visit(program),
        "serialize": lambda: ir.serialize(program),
        "deserialize": lambda: ir.deserialize(blob),
    }


def fastest_times(sizes: Sequence[int], seconds: float) -> dict[int, dict[str, float]]:
    """Return the fastest time of each operation at each size, in seconds per statement."""
    work = {size: operations(size) for size in sizes}
    best = {size: dict.fromkeys(work[size], float("inf")) for size in sizes}
    for _ in range(7):
        for size in sizes:
            for name, run in work[size].items():
                best[size][name] = min(best[size][name], fastest(run, seconds) / size)
    return best


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", default="100,1000,10000", help="statements, comma separated")
    parser.add_argument("--seconds", type=float, default=0.1, help="per operation and repetition")
    options = parser.parse_args()
    sizes = [int(part) for part in options.sizes.split(",")]
    print(f"CPython {platform.python_version()}, {platform.machine()}; times in us per statement")
    best = fastest_times(sizes, options.seconds)
    first = best[sizes[0]]
    heads = "".join(f"{f'{size:,}':>10} {'x ast':>7} {'growth':>7}" for size in sizes)
    print(f"{'':12}{heads}")
    for name in first:
        cells = ""
        for size in sizes:
            each = best[size][name]
            ratio, growth = each / best[size]["ast.parse"], each / first[name]
            cells += f"{each * 1e6:10.2f} {ratio:7.2f} {growth:7.2f}"
        print(f"{name:12}{cells}")


if __name__ == "__main__":
    main()
