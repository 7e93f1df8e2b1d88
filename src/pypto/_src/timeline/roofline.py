"""Where kernels are under the roofline: operations per byte, and operations per second."""

from __future__ import annotations

from pypto._src.ir.enums import PipeType
from pypto._src.records import NamedTuple
from pypto._src.timeline.core import Site
from pypto._src.timeline.profile import Profile
from pypto._src.timeline.schedule import CUBE


class Position(NamedTuple):
    """A kernel under the roofline, all its calls together.

    Operations are multiplications and additions of products, and elements of vector instructions.
    """

    name: str
    operations: float
    bytes: float
    """From and to memory; hits in the cache do not count."""
    cycles: float
    """The time during which at least one of its calls runs."""
    busy: float
    """How long the pipe that computes is busy, if the work is spread over all cores of the chip."""


def positions(profile: Profile) -> tuple[Position, ...]:
    """Return the kernels that compute and use memory, in the order of their calls."""
    moved: dict[str, int] = {}
    spans: dict[str, list[tuple[float, float]]] = {}
    for run in profile.runs:
        if run.timeline is not None:
            size = run.timeline.missed_bytes + run.timeline.written_bytes
            moved[run.node.name] = moved.get(run.node.name, 0) + size
            spans.setdefault(run.node.name, []).append((run.start, run.end))
    found: list[Position] = []
    for kernel in profile.kernels:
        count = profile.cores[kernel.core_kind]
        computing = PipeType.M if kernel.core_kind == CUBE else PipeType.V
        operations = sum(
            ran * _operations(profile.sites[site])
            for site, (ran, _) in kernel.sites.items()
            if profile.sites[site].pipe is computing
        )
        if operations and moved[kernel.name]:
            busy = kernel.busy[computing] / count
            size, cycles = moved[kernel.name], _covered(spans[kernel.name])
            found.append(Position(kernel.name, operations, size, cycles, busy))
    return tuple(found)


def _covered(spans: list[tuple[float, float]]) -> float:
    """Return how long at least one of some spans lasts."""
    found, until = 0.0, 0.0
    for start, end in sorted(spans):
        found += max(end - max(start, until), 0.0)
        until = max(until, end)
    return found


def _operations(site: Site) -> float:
    product = 1.0
    for size in site.shape:
        product *= size
    return 2 * product if site.pipe is PipeType.M else product
