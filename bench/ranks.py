"""How two models scale over ranks: a perceptron whose weights are split, attention in a ring.

The same model is computed on 1, 2 and 4 ranks, which are threads here (or processes, with ``--on
ray``); its result must be that of NumPy each time. ``ms`` is the least time of a call, with
kernels and ranks ready: more ranks are faster only where there is a core for each.

``chip us`` is an estimate, not a measurement, also for 8 chips: the simulator's time for the
kernels of one rank, plus the transfers of the rank to or from others at ``--link`` GB/s, an
assumption about the machine. Waiting for slower ranks is not included.
"""

from __future__ import annotations

import argparse
import runpy
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from pypto._src.cost.model import CostModel
from pypto._src.cost.tables import load_table
from pypto._src.driver import compile_for_evaluator
from pypto._src.jit.host import HostFunction
from pypto._src.timeline.profile import ProgramSimulator
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import RunConfig

EXAMPLES: Final = Path(__file__).parents[1] / "examples" / "distributed"
SIZES: Final[dict[str, dict[str, int]]] = {
    "tensor_parallel_mlp": {"inner": 1024},
    "ring_attention": {"rows": 128},
}
RUNS: Final = 10


def config(ranks: int, on: str | None) -> RunConfig:
    """Return the configuration of a run on a number of ranks."""
    return RunConfig(distributed_config=DistributedConfig(device_ids=[*range(ranks)], on=on))


def measured(names: dict[str, Any], arguments: dict[str, Any], ranks: int, on: str | None) -> float:
    """Return the least time of a call in seconds; its result is in the arguments."""
    found: list[float] = []
    with names["PROGRAM"].compile(**arguments, config=config(ranks, on)).prepare() as worker:
        for _ in range(RUNS):
            begin = time.perf_counter()
            worker(*arguments.values())
            found.append(time.perf_counter() - begin)
    return min(found)


def simulated(program: HostFunction, arguments: dict[str, Any], ranks: int) -> float:
    """Return the simulated microseconds of one rank's kernels on a chip."""
    made = program.compile(**arguments, config=config(ranks, None)).programs
    model = CostModel(load_table("a2a3"))
    total = 0.0
    for compiled in made:
        found: list[ProgramSimulator] = []

        def make(lowered: Any, found: list[ProgramSimulator] = found) -> ProgramSimulator:
            found.append(ProgramSimulator(lowered, model))
            return found[0]

        evaluated = compile_for_evaluator(compiled.source, compiled.entry, make)
        given = evaluated.random_arguments()
        evaluated(*[0 if isinstance(value, int) else value for value in given.values()])  # rank 0
        profile = found[0].profile
        assert profile is not None
        total += profile.us
    return total


def carried(name: str, arguments: dict[str, Any], ranks: int) -> int:
    """Return the bytes that one rank reads from others, or sends to them."""
    if name == "ring_attention":  # keys and values, to the next rank in all steps but the last
        return (ranks - 1) * 2 * arguments["k"][0].nbytes
    return 2 * (ranks - 1) * arguments["y"][0].nbytes // ranks  # a part from all, then all parts


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--link", type=float, default=25.0, help="GB/s between two chips")
    parser.add_argument("--on", help="a cluster of Ray in place of threads")
    args = parser.parse_args()
    print(f"{'model':<22}{'ranks':>6}{'error':>10}{'ms':>9}{'times':>7}{'chip us':>12}{'times':>7}")
    for name, size in SIZES.items():
        names: dict[str, Any] = runpy.run_path(str(EXAMPLES / f"{name}.py"))
        whole = names["inputs"](np.random.default_rng(1), ranks=1, **size)
        expected = names["reference"](**whole)["y"]
        first: tuple[float, float] | None = None
        for ranks in (1, 2, 4, 8):
            arguments = names["split"](whole, ranks)
            chip = simulated(names["PROGRAM"], arguments, ranks)
            chip += carried(name, arguments, ranks) / args.link / 1000
            row = f"{name:<22}{ranks:>6}"
            if ranks == 8:
                assert first is not None
                row += f"{'-':>10}{'-':>9}{'-':>7}{chip:>12.1f}{first[1] / chip:>7.2f}  (estimate)"
                print(row, flush=True)
                continue
            seconds = measured(names, arguments, ranks, args.on)
            found = names["joined"](arguments["y"])
            error = float(np.abs(found - expected).max() / np.abs(expected).max())
            assert error <= 1e-5, f"{name} of {ranks} ranks is {error} off"
            first = first or (seconds, chip)
            row += f"{error:>10.1e}{1e3 * seconds:>9.2f}{first[0] / seconds:>7.2f}"
            print(row + f"{chip:>12.1f}{first[1] / chip:>7.2f}", flush=True)


if __name__ == "__main__":
    main()
