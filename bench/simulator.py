"""How fast `pypto profile` simulates: seconds per run, and microseconds per instruction.

    python bench/simulator.py [--repeat 3]

The time is CPU time of the simulation alone, without passes and printing, the best of the
repeats. `instructions` are those of the run, some of which are simulated several times: tasks
that share the memory are timed in rounds, and calls that take the same path are walked once.
Goals: paged attention in under 2 seconds, a million instructions in under a minute, and a cost
per instruction that does not grow with their number.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pypto.language as pl
from pypto import ir
from pypto._src.commands.programs import call_arguments, load_case
from pypto._src.cost.model import CostModel
from pypto._src.cost.tables import load_table
from pypto._src.driver import CompiledProgram, compile_for_evaluator, random_arguments
from pypto._src.timeline.profile import ProgramSimulator

EXAMPLES = Path(__file__).parents[1] / "examples"

LOOP = """
import pypto.language as pl

@pl.program
class Loop:
    @pl.function(type=pl.FunctionType.InCore)
    def core(self, x: pl.Tensor[[64, 256], pl.FP32], y: pl.Out[pl.Tensor[[64, 256], pl.FP32]]):
        for n in pl.range({iterations}):
            power = pl.exp(pl.exp(pl.load(x, [n % 64, 0], [1, 256])))
            y = pl.store(power, [n % 64, 0], [1, 256], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[{rows}, 256], pl.FP32],
        y: pl.Out[pl.Tensor[[{rows}, 256], pl.FP32]],
    ):
        for i in pl.range(0, {rows}, 64):
            px = pl.tensor.view(x, [64, 256], [i, 0])
            py = pl.tensor.view(y, [64, 256], [i, 0])
            py = self.core(px, py)
        return y
"""
EACH = 4  # instructions per iteration


Case = tuple[ir.Program, Callable[[CompiledProgram], list[Any]]]
"""A program, and the function that makes its arguments."""


def loop(tasks: int, instructions: int) -> Case:
    """Return a program with a number of tasks and instructions, and random arguments."""
    text = LOOP.format(iterations=instructions // tasks // EACH, rows=64 * tasks)
    parsed = pl.parse(text)
    assert isinstance(parsed, ir.Program)
    return parsed, lambda compiled: list(random_arguments(compiled, 0, {}).values())


def example(name: str) -> Case:
    """Return an example with its own arguments, which decide how many tasks there are."""
    found, case = load_case(str(EXAMPLES / name))
    return found, lambda compiled: list(call_arguments(compiled, found, case, {}).values())


ROWS: dict[str, Callable[[], Case]] = {
    "paged attention": partial(example, "paged_attention.py"),
    "1 task, 10^4": partial(loop, 1, 10_000),
    "1 task, 10^5": partial(loop, 1, 100_000),
    "1 task, 10^6": partial(loop, 1, 1_000_000),
    "48 tasks, 10^4": partial(loop, 48, 10_000),
    "48 tasks, 10^5": partial(loop, 48, 100_000),
    "48 tasks, 10^6": partial(loop, 48, 1_000_000),
}


def simulated(case: Case) -> tuple[float, int, int]:
    """Return the seconds of a simulation, the tasks and the instructions of the run."""
    program, arguments_for = case
    found: list[ProgramSimulator] = []

    def make(lowered: ir.Program) -> ProgramSimulator:
        found.append(ProgramSimulator(lowered, CostModel(load_table("a2a3"))))
        return found[0]

    compiled = compile_for_evaluator(program, None, make)
    arguments = arguments_for(compiled)
    start = time.process_time()
    compiled(*arguments)
    seconds = time.process_time() - start
    profile = found[0].profile
    assert profile is not None
    lines = [run.timeline for run in profile.runs if run.timeline is not None]
    return seconds, len(lines), sum(len(line.events) for line in lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, or the rows whose names begin with one of the given words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="beginnings of the names of rows")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args(argv)
    print(f"{'':<18}{'tasks':>7}{'instructions':>14}{'seconds':>9}{'us each':>9}{'a minute':>12}")
    for name, make_case in ROWS.items():
        if not args.names or name.startswith(tuple(args.names)):
            case = make_case()
            seconds, tasks, count = min(simulated(case) for _ in range(max(args.repeat, 1)))
            each, rate = seconds / count * 1e6, 60 * count / seconds
            print(
                f"{name:<18}{tasks:>7}{count:>14}{seconds:>9.2f}{each:>9.2f}{rate:>12.2e}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
