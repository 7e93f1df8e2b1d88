"""The real assembler's recorded behaviour, from `tests/data/pto`."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

DATA = Path(__file__).parents[1] / "data" / "pto"


class Verdict(NamedTuple):
    """One text and the assembler's verdict on it."""

    id: str
    text: str
    level: str
    insert_sync: bool
    accepted: dict[str, bool]  # by target
    error: dict[str, str]

    @property
    def category(self) -> str:
        return self.id.partition("-")[0]


class Run(NamedTuple):
    """One call: the text, the arguments, and the outputs' contents after it."""

    id: str
    text: str
    entry: str
    op: str
    arguments: list[Any]
    results: dict[int, Any]  # by position of the argument
    tolerance: float | None


def _lines(name: str) -> list[Any]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@cache
def verdicts() -> list[Verdict]:
    """Return all recorded verdicts, in file order."""
    return [_verdict(row) for row in _lines("verdicts.jsonl.gz")]


def _verdict(row: Any) -> Verdict:
    options: list[str] = row.get("opts") or []
    levels = [word.partition("=")[2] for word in options if word.startswith("--pto-level=")]
    sync = [word for word in options if word.startswith("--enable-insert-sync")]
    return Verdict(
        row["id"],
        row["text"],
        levels[0] if levels else "level2",
        bool(sync) and not sync[0].endswith("=false"),
        {arch: row[arch]["accepted"] for arch in ("a3", "a5")},
        {arch: row[arch]["error"] for arch in ("a3", "a5")},
    )


@cache
def runs() -> list[Run]:
    """Return all recorded runs, with outputs filled as they were before the call."""
    with gzip.open(DATA / "runs.json.gz", "rt", encoding="utf-8") as file:
        table = json.load(file)
    texts = {verdict.id: verdict.text for verdict in verdicts()}
    with np.load(DATA / "runs.npz") as arrays:
        data = {key: arrays[key] for key in arrays.files}
    return [_run(row, texts[row["case"]], data, table["fill"]) for row in table["runs"]]


def _run(row: Any, text: str, data: dict[str, Any], fill: int) -> Run:
    arguments: list[Any] = []
    results: dict[int, Any] = {}
    for place, (_, dtype, shape) in enumerate(row["args"]):
        result = data.get(f"{row['id']}/out{place}")
        value = data.get(f"{row['id']}/in{place}")
        if value is None and result is None:
            value = np.zeros(shape, {"f32": np.float32, "f16": np.float16}[dtype])  # scratch
        elif value is None and result is not None:
            value = np.full(shape, fill, result.dtype)
        arguments.append(value)
        if result is not None:
            results[place] = result
    entry = row.get("entry", "k")
    return Run(row["id"], text, entry, row["tags"][0], arguments, results, row.get("tol"))
