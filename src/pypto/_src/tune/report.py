"""The outcome of a search as text for terminals and as data for other tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pypto._src.tune.search import Candidate, Outcome

MOST: Final = 10
"""How many candidates the text shows."""
OVERLAP: Final = "overlap"
"""The name of the choice to overlap loops."""


def choice_of(candidate: Candidate, *, overlaps: bool) -> dict[str, Any]:
    """Return all choices, by name."""
    found = dict(candidate.choice)
    return {**found, OVERLAP: candidate.overlap} if overlaps else found


def shown(choice: Mapping[str, Any]) -> str:
    """Return a choice as it would be written in a call."""
    return ", ".join(f"{name}={value!r}" for name, value in choice.items())


def text(title: str, outcome: Outcome, times: Sequence[float] = ()) -> str:
    """Return the outcome as text: the best candidates, why they are best, and what was refused.

    ``times`` are those of the best few on this machine, in seconds, in the order of the ranking.
    """
    return "\n".join([*_lines(title, outcome, times), ""])


def _lines(title: str, outcome: Outcome, times: Sequence[float]) -> Iterator[str]:
    ranked, overlaps = outcome.ranked, _overlaps(outcome)
    refused = [each for each in outcome.candidates if each.refused]
    legal = len(outcome.candidates) - len(refused)
    yield (
        f"{title}: {len(outcome.candidates)} candidates, {legal} legal, {len(ranked)} simulated "
        f"to the end, {outcome.seconds:.1f} s"
    )
    if outcome.stopped:
        yield f"  stopped by {outcome.stopped}: others may be better"
    if ranked:
        rows = [_row(each, overlaps=overlaps) for each in ranked[:MOST]]
        heads = ["us", "choice", "tasks", "bounded by", "busy", "on-chip memory"]
        if times:
            heads.insert(1, "here")
            for number, row in enumerate(rows):
                here = f"{times[number] * 1e6:.1f} us" if number < len(times) else ""
                row.insert(1, here)
        yield from _columns([heads, *rows])
    cut = [each for each in outcome.candidates if "above" in each.run]
    if cut:
        yield f"  {len(cut)} were given up when they took longer than the best"
    left = legal - len(ranked) - len(cut)
    if left and not outcome.stopped:
        yield f"  {left} were not simulated, as no run of them could be as fast as the best"
    reasons: dict[str, list[Candidate]] = {}
    for each in refused:
        reasons.setdefault(each.refused, []).append(each)
    for reason, found in list(reasons.items())[:MOST]:
        first = shown(choice_of(found[0], overlaps=overlaps))
        others = f" and {len(found) - 1} more" if len(found) > 1 else ""
        yield f"  refused: {first}{others}: {reason}"
    if outcome.best is not None:
        yield f"best: {shown(choice_of(outcome.best, overlaps=overlaps))}"


def _overlaps(outcome: Outcome) -> bool:
    """True if overlapping loops was one of the choices."""
    return len({each.overlap for each in outcome.candidates}) > 1


def _row(candidate: Candidate, *, overlaps: bool) -> list[str]:
    run = candidate.run
    busy = sorted(run["busy"].items(), key=lambda each: -each[1])[:3]
    return [
        f"{run['us']:.1f}",
        shown(choice_of(candidate, overlaps=overlaps)),
        str(run["tasks"]),
        f"{run['bound']} {run['bound_share']:.0%}",
        " ".join(f"{pipe} {share:.0%}" for pipe, share in busy),
        " ".join(f"{space} {size / 1024:.4g}K" for space, size in candidate.memory.items()),
    ]


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield f"  {'  '.join(cells)}".rstrip()


def as_data(name: str, outcome: Outcome, times: Sequence[float] = ()) -> dict[str, Any]:
    """Return the outcome as JSON data."""
    overlaps, best = _overlaps(outcome), outcome.best
    ranked = [id(each) for each in outcome.ranked]
    candidates: list[dict[str, Any]] = []
    for each in outcome.candidates:
        row: dict[str, Any] = {"choice": choice_of(each, overlaps=overlaps)}
        if each.refused:
            row["refused"] = each.refused
        else:
            row |= {"memory": dict(each.memory), "estimate": each.estimate, **each.run}
        at = ranked.index(id(each)) if id(each) in ranked else len(times)
        if at < len(times):
            row["seconds_here"] = times[at]
        candidates.append(row)
    return {
        "name": name,
        "best": None if best is None else choice_of(best, overlaps=overlaps),
        "stopped": outcome.stopped,
        "seconds": outcome.seconds,
        "candidates": candidates,
    }
