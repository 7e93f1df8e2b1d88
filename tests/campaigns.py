"""Runs a campaign of numbered checks: locally, or on the machines of a Ray cluster.

``--on ray`` (or the address of a cluster) distributes the numbers over its CPUs. ``--keep FILE``
appends each outcome to a file as it arrives, and skips those already there: an interrupted
campaign continues where it stopped. Ctrl-C ends one with the results so far.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

AHEAD = 256
"""The most checks in flight on the cluster."""


def words(parser: argparse.ArgumentParser) -> None:
    """Add the options of all campaigns to a command line."""
    parser.add_argument("--on", metavar="CLUSTER", help="ray, or the address of a cluster of Ray")
    parser.add_argument("--keep", metavar="FILE", type=Path, help="outcomes, to go on from")


def outcomes(
    check: str, numbers: Sequence[int], on: str | None = None, keep: Path | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each number with the result of its check, in order; stop at Ctrl-C.

    ``check`` is ``module:function``; the function takes a number and returns plain data.
    """
    known = _kept(keep, check)
    ask = _asked(check, on, [number for number in numbers if number not in known])
    try:
        for ready, number in enumerate(numbers):
            if number not in known:
                found = ask(number)
                if keep is not None:
                    with keep.open("a", encoding="utf-8") as file:
                        print(json.dumps([check, number, found]), file=file)
            else:
                found = known[number]
            yield number, found
            if sys.stderr.isatty():
                print(f"\r{ready + 1} of {len(numbers)}", end="", file=sys.stderr)
    except KeyboardInterrupt:
        print("Ctrl-C: what follows is of the checks until then", file=sys.stderr)


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Run one check, on whatever machine this is."""
    module, name = request["check"].split(":")
    return getattr(import_module(module), name)(request["number"])


def _kept(keep: Path | None, check: str) -> dict[int, dict[str, Any]]:
    if keep is None or not keep.exists():
        return {}
    rows = [json.loads(line) for line in keep.read_text("utf-8").splitlines()]
    return {number: found for name, number, found in rows if name == check}


def _asked(check: str, on: str | None, numbers: Sequence[int]) -> Callable[[int], dict[str, Any]]:
    """Return a function from number to outcome; all are submitted in the order of ``numbers``."""
    if on is None:
        return lambda number: answer({"check": check, "number": number})
    from pypto._src.cluster.tasks import Tasks

    tasks = Tasks(on, answer)
    left = iter(numbers)
    asked: dict[int, Any] = {}

    def more(count: int) -> None:
        for number in [number for _, number in zip(range(count), left, strict=False)]:
            asked[number] = tasks.ask({"check": check, "number": number})

    more(AHEAD)

    def found(number: int) -> dict[str, Any]:
        future = asked.pop(number)
        more(1)
        while True:
            try:
                return future.result(timeout=0.5)  # so that Ctrl-C is noticed
            except TimeoutError:
                continue

    return found
