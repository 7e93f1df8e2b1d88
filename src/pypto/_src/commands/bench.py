"""``pypto bench``: how long a program takes on this machine, and its share of the peaks."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pypto._src.commands.cli_options import (
    Commands,
    duration,
    entry_words,
    file_words,
    json_words,
    overlap_words,
    print_json,
    seconds,
    size_words,
)
from pypto._src.commands.programs import call_arguments, load_case
from pypto._src.driver import compile_program
from pypto._src.errors import PyptoError
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.driver import CompiledProgram
else:
    np = lazy_module("numpy")

_WARM_UP: Final = 3
_ROUNDS: Final = 5
"""The least number of calls that are measured."""


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    bench = commands.add_parser(
        "bench",
        parents=[file_words(), json_words(), size_words(), overlap_words(), entry_words()],
        help="measure a program on this machine: median, spread, share of the machine's peaks",
    )
    bench.add_argument(
        "--seconds",
        type=seconds,
        default=2.0,
        metavar="SECONDS",
        help="for how long calls are measured, five at least; default: %(default)s",
    )
    bench.set_defaults(command=_bench)


def _bench(args: argparse.Namespace) -> int:
    program, case = load_case(args.file)
    compiled = compile_program(program, entry=args.entry, overlap=args.overlap)
    given = call_arguments(compiled, program, case, args.sizes)
    times = measured(compiled.prepared(list(given.values())), args.seconds)
    row = _row(compiled, given, times)
    if args.json:
        print_json(row)
    else:
        sys.stdout.write(text(row))
    return 0


def measured(run: Callable[[], object], seconds: float) -> list[float]:
    """Return the durations of calls in seconds, after some that are not counted."""
    for _ in range(_WARM_UP):
        run()
    found: list[float] = []
    end = time.perf_counter() + seconds
    while len(found) < _ROUNDS or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        found.append(time.perf_counter() - begin)
    return found


def _row(
    compiled: CompiledProgram, given: Mapping[str, Any], times: Sequence[float]
) -> dict[str, Any]:
    """Return what is printed, as data: times in seconds, rates per second."""
    from pypto._src.golden.machine_peaks import copy_bandwidth, multiply_add_peak
    from pypto._src.run.scheduler import thread_count

    threads = thread_count()
    row: dict[str, Any] = {
        "entry": compiled.entry,
        "target": compiled.target,
        "threads": threads,
        "rounds": len(times),
        **spread(times),
    }
    size = sum(value.nbytes for value in given.values() if isinstance(value, np.ndarray))
    row["bytes"] = size
    row["bandwidth"] = size / row["median"]
    row["copy_bandwidth"] = copy_bandwidth(threads)
    row["bandwidth_share"] = row["bandwidth"] / row["copy_bandwidth"]
    products = products_of(compiled, given)
    if products and compiled.target == "cpu":
        row["flops"] = products
        row["flop_rate"] = products / row["median"]
        row["peak_flop_rate"] = multiply_add_peak(threads)
        row["flop_share"] = row["flop_rate"] / row["peak_flop_rate"]
    return row


def spread(times: Sequence[float]) -> dict[str, float]:
    """Return median, minimum, maximum and quartiles."""
    quarters = statistics.quantiles(times, n=4)
    return {
        "median": statistics.median(times),
        "min": min(times),
        "lower_quartile": quarters[0],
        "upper_quartile": quarters[2],
        "max": max(times),
    }


def products_of(compiled: CompiledProgram, given: Mapping[str, Any]) -> int:
    """Return the number of multiplications and additions in a call's matrix products.

    They are counted in a simulated run, like that of `pypto profile`, with partly valid tiles taken
    as whole; 0 where that cannot be done.
    """
    from pypto._src.cost.model import CostModel
    from pypto._src.cost.tables import load_table
    from pypto._src.timeline.profile import ProgramSimulator

    if compiled.target != "cpu":
        return 0
    simulator = ProgramSimulator(compiled.program, CostModel(load_table("a2a3")))
    try:
        simulator.call(compiled.entry, list(given.values()))
    except PyptoError:
        return 0
    profile = simulator.profile
    assert profile is not None
    found = 0
    for kernel in profile.kernels:
        for number, (count, _) in kernel.sites.items():
            site = profile.sites[number]
            if len(site.shape) == 3:
                m, k, n = site.shape
                found += 2 * m * k * n * count
    return found


def text(row: Mapping[str, Any]) -> str:
    """Return the row as text."""
    lines = [
        f"{row['entry']} on {row['target']}, {row['threads']} threads: {duration(row['median'])} "
        f"(median of {row['rounds']} calls)",
        f"  half of them {duration(row['lower_quartile'])} to {duration(row['upper_quartile'])}, "
        f"all {duration(row['min'])} to {duration(row['max'])}",
        f"  {row['bytes'] / 1e6:.4g} MB of arguments: {row['bandwidth'] / 1e9:.3g} GB/s, "
        f"{row['bandwidth_share']:.0%} of copies on this machine "
        f"({row['copy_bandwidth'] / 1e9:.3g} GB/s)",
    ]
    if "flops" in row:
        lines.append(
            f"  {row['flops'] / 1e9:.4g} GFLOP in products: {row['flop_rate'] / 1e9:.4g} GFLOP/s, "
            f"{row['flop_share']:.0%} of FP32 multiply-adds on this machine "
            f"({row['peak_flop_rate'] / 1e9:.4g} GFLOP/s)"
        )
    return "\n".join([*lines, ""])
