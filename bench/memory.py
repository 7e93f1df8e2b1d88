"""How close on-chip memory plans come to the least possible.

Not only a timing: for every memory of every example, and for 500 random kernels, the bytes of the
plan without sharing, of first fit, and of the search, beside the proven lower bound. The last
lines count the plans proven optimal and give the longest time for one of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pypto._src.analysis.stmt_tree import number  # noqa: E402
from pypto._src.commands.example_cases import cases  # noqa: E402
from pypto._src.ir.roles import Role, role  # noqa: E402
from pypto._src.ir.stmts import Function  # noqa: E402
from pypto._src.passes.memory.init_mem_ref import with_memrefs  # noqa: E402
from pypto._src.passes.memory.memory_reuse import Buffer, allocated, buffers, total_bytes  # noqa: E402
from pypto._src.passes.pass_manager import PassManager  # noqa: E402
from pypto._src.targets import A2A3, Memory  # noqa: E402
from tests.passes.build import random_kernel  # noqa: E402

DRAWN = 500
Found = tuple[str, list[Buffer], Memory]


def spaces(name: str, function: Function) -> Iterator[Found]:
    """Yield the memories of a kernel with their buffers."""
    for space, found in buffers(function, number(function)).items():
        yield f"{name}.{function.name} {space.name}", found, A2A3.memories[space]


def examples() -> Iterator[Found]:
    """Yield the memories of the examples' kernels, as InitMemRef leaves them."""
    for case in cases(ROOT / "examples"):
        manager = PassManager.get_strategy()
        program = case.program
        for step, name in zip(manager.passes, manager.pass_names, strict=True):
            program = step(program)
            if name == "InitMemRef":
                break
        for function in program.functions_:
            if role(function) is Role.KERNEL:
                yield from spaces(case.name, function)


def drawn() -> Iterator[Found]:
    """Yield the memories of random kernels of 5 to 100 statements with loops and branches."""
    for seed in range(DRAWN):
        kernel = with_memrefs(random_kernel(Random(seed).randrange, 5 + seed % 96))
        yield from spaces(f"random{seed}", kernel)


def main() -> None:
    """Print the table of the examples and the counts of both."""
    print(f"{'memory':44} {'buffers':>7} {'apart':>8} {'first':>8} {'search':>8} {'bound':>8}")
    for title, source in (("examples", examples()), (f"{DRAWN} random kernels", drawn())):
        plans = optimal = reached = small = proven = 0
        slowest = 0.0
        for name, found, memory in source:
            began = time.perf_counter()
            best = allocated(found, memory, exact=True)
            taken = time.perf_counter() - began
            first = allocated(found, memory, exact=False)
            if title == "examples":
                apart = total_bytes([b.memref.size_ for b in found], memory)
                figures = (len(found), apart, first.height, best.height, best.bound)
                print(f"{name:44} {figures[0]:7}", *(f"{figure:8}" for figure in figures[1:]))
            if best.height > first.height:
                raise SystemExit(f"{name}: the search is worse than first fit")
            plans += 1
            optimal += best.optimal
            reached += first.height == best.bound
            if len(found) <= 40:
                small += 1
                proven += best.optimal
                slowest = max(slowest, taken)
        print(
            f"{title}: {plans} memories, proven optimal {optimal}, first fit optimal {reached}; of "
            f"{small} with up to 40 buffers {proven} proven, the slowest in {slowest:.3f} s"
        )


if __name__ == "__main__":
    main()
