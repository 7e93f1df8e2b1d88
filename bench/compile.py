"""What compiling a kernel costs: parsing, the passes of the Default strategy, C++ emission.

The kernels have 100, 1,000, 5,000 and 20,000 statements without control flow, as a user writes
them; and there is the program of ``examples/paged_attention.py``, without the arguments and the
reference that follow it. The peer is CPython's own ``ast.parse`` of the same text, in the same
process: every figure but the first two columns is a multiple of it, so 1.0 is the time that CPython
needs to parse the text.

``statements`` is the time to build the statements with memory references, which the passes from
InitMemRef on leave to the end. ``verify`` is the time of `PassManager.run_passes` beyond that and
its passes, most of it verification; the pass RunVerifier counts as a pass. ``all`` is parsing,
`run_passes` and emission.

Each text has its own process. A figure is the fastest of several repetitions, with the garbage
collector off while it runs; repetitions of the stages alternate, so that a busy machine slows all
equally. Facts about types and ops are cached for the process, so a repetition finds those of its
text. ``all, first time`` does not: it is the first compile of the text in a process that has
compiled another program before (`OTHER`), the fastest of three processes. ``at most`` is the limit
for a repeated compile: 6 at 100 statements, 5 at 1,000 and beyond, 10 for paged attention.
"""

from __future__ import annotations

import argparse
import ast
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from support.texts import EXAMPLES, program_only, straight_kernel
from support.timing import once, without_collector

import pypto.language as pl
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.emit.host.device.generate import generate_orchestration
from pypto._src.ir.enums import FunctionType
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Program
from pypto._src.passes.pass_base import materialized
from pypto._src.passes.pass_manager import PassManager
from pypto._src.passes.verification import NOTHING_KNOWN

SIZES = (100, 1_000, 5_000, 20_000)
PAGED_ATTENTION = "paged attention"
RUN_PASSES = "run_passes"
OTHER = "layer_norm.py"
FIRST = "first"
ALL = "all"
STATEMENTS = "statements"


def emit(program: Program) -> list[str]:
    """Return the C++ of the kernels, and that of the orchestration functions."""
    texts = [kernel_file(f) for f in program.functions_ if role(f) is Role.KERNEL]
    for function in program.functions_:
        if function.func_type is FunctionType.Orchestration:
            texts.append(generate_orchestration(program, function).code)
    return texts


def stages(text: str) -> dict[str, float]:
    """Compile ``text`` once; return the seconds of each stage."""
    seconds: dict[str, float] = {}

    def timed(stage: str, run: Callable[..., Any], *args: Any) -> Any:
        with without_collector():
            start = time.perf_counter()
            result = run(*args)
            seconds[stage] = time.perf_counter() - start
        return result

    timed("ast.parse", ast.parse, text)
    program = timed("parse", pl.parse, text)
    manager = PassManager.get_strategy()
    timed(RUN_PASSES, manager.run_passes, program)
    given: Any = pl.parse(text)  # a new object: nothing is known about its functions
    for name, each in zip(manager.pass_names, manager.passes, strict=True):
        given = timed(name, each.step, given, NOTHING_KNOWN)
    program = timed(STATEMENTS, materialized, given)
    timed("emit C++", emit, program)
    return seconds


def measured(text: str, budget: float) -> dict[str, float]:
    """Return the fastest time of each stage within ``budget`` seconds, of two runs at least."""
    end = time.perf_counter() + budget
    best = stages(text)
    while True:
        for stage, seconds in stages(text).items():
            best[stage] = min(best[stage], seconds)
        if time.perf_counter() > end:
            return best


def first_time(text: str) -> float:
    """Return the seconds of a whole compile of ``text``, after a compile of `OTHER`."""
    other = program_only((EXAMPLES / OTHER).read_text(encoding="utf-8"))

    def compiled(program: Any) -> list[str]:
        return emit(PassManager.get_strategy().run_passes(program))

    compiled(pl.parse(other))
    return once(lambda: compiled(pl.parse(text)))


def source(name: str) -> str:
    """Return the text that a row of the table measures."""
    if name == PAGED_ATTENTION:
        return program_only((EXAMPLES / "paged_attention.py").read_text(encoding="utf-8"))
    return straight_kernel(int(name))


def in_own_process(name: str, budget: float) -> dict[str, float]:
    """Return `measured` of a fresh interpreter, or `first_time` if there is no budget."""
    command = [sys.executable, __file__, "--one", name, "--seconds", str(budget)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def figures(name: str, budget: float) -> dict[str, float]:
    """Return the seconds of each stage, and those of a first compile."""
    first = min(in_own_process(name, 0)[FIRST] for _ in range(3))
    return {**in_own_process(name, budget), FIRST: first}


def columns(seconds: dict[str, float]) -> dict[str, float]:
    """Return the table's figures for one text, as multiples of ``ast.parse``."""
    peer = seconds["ast.parse"]
    names = [*PassManager.get_strategy().pass_names, STATEMENTS]
    passes = {name: seconds[name] for name in names}
    beyond = max(0.0, seconds[RUN_PASSES] - sum(passes.values()))
    ends = seconds["parse"], seconds["emit C++"]
    shown = {"parse": ends[0], **passes, "verify": beyond, "emit C++": ends[1]}
    shown[ALL] = sum(ends) + seconds[RUN_PASSES]
    shown["all, first time"] = seconds[FIRST]
    return {name: value / peer for name, value in shown.items()}


def most(name: str) -> float:
    """Return the limit for a repeated compile of a text, as a multiple of ``ast.parse``."""
    if name == PAGED_ATTENTION:
        return 10.0
    return 5.0 if int(name) >= 1_000 else 6.0


def table(found: dict[str, dict[str, float]]) -> None:
    """Print one column per text and one line per stage."""
    print(f"{'':24}" + "".join(f"{name:>16}" for name in found))
    peers = [f"{seconds['ast.parse'] * 1e3:.2f} ms" for seconds in found.values()]
    print(f"{'ast.parse':24}" + "".join(f"{peer:>16}" for peer in peers))
    rows = [columns(seconds) for seconds in found.values()]
    for stage in rows[0]:
        print(f"{stage:24}" + "".join(f"{row[stage]:16.2f}" for row in rows))
        if stage == ALL:
            print(f"{'at most':24}" + "".join(f"{most(name):16.2f}" for name in found))


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="statements")
    parser.add_argument("--seconds", type=float, default=6.0, help="for each text")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        text = source(options.one)
        found = measured(text, options.seconds) if options.seconds else {FIRST: first_time(text)}
        print(json.dumps(found))
        return
    names = [*options.sizes.split(","), PAGED_ATTENTION]
    print(f"CPython {platform.python_version()}, {platform.machine()}; multiples of ast.parse")
    table({name: figures(name, options.seconds) for name in names if name})


if __name__ == "__main__":
    main()
