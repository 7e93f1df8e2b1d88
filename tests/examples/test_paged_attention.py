"""Paged attention: lengths at block boundaries, the block table, data past the end."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pypto._src.commands.example_cases import relative_error
from pypto._src.driver import TargetName, compile_program
from tests.examples.emitted import Emitted
from tests.natively import compiler

ROOT = Path(__file__).parents[2]
PATH = ROOT / "examples" / "paged_attention.py"
EXAMPLE = runpy.run_path(str(PATH))
[CASE] = EXAMPLE["CASES"]
BLOCK, KV_HEADS, HEAD = EXAMPLE["BLOCK"], EXAMPLE["KV_HEADS"], EXAMPLE["HEAD"]
BATCH, TABLE = EXAMPLE["BATCH"], EXAMPLE["TABLE"]

EDGES = (1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3999, 4000)
TARGETS: list[TargetName] = ["interpreter", "cpu"]


def arguments(lengths: Sequence[int], seed: int = 5) -> dict[str, Any]:
    """Return random arguments with these context lengths."""
    found = CASE.inputs(np.random.default_rng(seed))
    found["context_lengths"][:] = lengths
    return found


def run(values: dict[str, Any], target: TargetName) -> np.ndarray[Any, Any]:
    """Return the result of a run on a copy of the arguments."""
    if target == "cpu":
        compiler()
    copies = [value.copy() for value in values.values()]
    return compile_program(CASE.program, target)(*copies)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lengths", [EDGES, (1,) * 8, (4000,) * 8, (128, 256) * 4])
def test_lengths_at_the_edges_of_blocks(lengths: Sequence[int], target: TargetName) -> None:
    """Lengths of one token, of whole blocks, of one more and one less, and the largest."""
    values = arguments(lengths)
    assert relative_error(run(values, target), CASE.reference(**values)["out"]) <= CASE.bound


@pytest.mark.parametrize("target", TARGETS)
def test_one_token_is_its_value(target: TargetName) -> None:
    """A context of one token has the weight 1: the result is exactly its value."""
    values = arguments((1,) * BATCH)
    cache = values["v_cache"].reshape(-1, KV_HEADS, BLOCK, HEAD)
    first = cache[values["block_table"][:, 0], :, 0]  # [request, head, 128]
    wanted = np.repeat(first, EXAMPLE["GROUP"], axis=1).reshape(-1, HEAD)
    np.testing.assert_array_equal(run(values, target), wanted)


@pytest.mark.parametrize("target", TARGETS)
def test_what_lies_behind_the_end_does_not_matter(target: TargetName) -> None:
    """Other cache contents past the last token, and other blocks there: the same bits."""
    values = arguments(EDGES)
    wanted = run(values, target)
    rng = np.random.default_rng(6)
    for request, length in enumerate(EDGES):
        last, rest = divmod(length - 1, BLOCK)
        block = values["block_table"][request, last]
        for name in ("k_cache", "v_cache"):
            cache = values[name].reshape(-1, KV_HEADS, BLOCK, HEAD)
            shape = cache[block, :, rest + 1 :].shape
            cache[block, :, rest + 1 :] = rng.uniform(-1e3, 1e3, shape)
        values["block_table"][request, last + 1 :] = -1
    np.testing.assert_array_equal(run(values, target), wanted)


@pytest.mark.parametrize("target", TARGETS)
def test_place_of_blocks_does_not_matter(target: TargetName) -> None:
    """Blocks moved to other cache positions, with the table updated: the same bits."""
    values = arguments(EDGES)
    wanted = run(values, target)
    places = np.random.default_rng(7).permutation(BATCH * TABLE)
    for name in ("k_cache", "v_cache"):
        moved = values[name].reshape(BATCH * TABLE, -1).copy()
        moved[places] = values[name].reshape(BATCH * TABLE, -1)
        values[name] = moved.reshape(values[name].shape)
    values["block_table"] = places[values["block_table"]].astype(np.int32)
    np.testing.assert_array_equal(run(values, target), wanted)


def test_tasks_follow_from_the_lengths() -> None:
    """Each block is a task of four kernels; each pair of request and head ends with a fifth one."""
    lengths = (1, 128, 129, 256, 257, 5, 130, 384)
    emitted = Emitted(CASE.program)
    emitted.call("attention", list(arguments(lengths).values()))
    blocks = KV_HEADS * (1 + 1 + 2 + 2 + 3 + 1 + 2 + 3)
    assert emitted.calls == {
        "finish": KV_HEADS * BATCH,
        "powers": blocks,
        "scores": blocks,
        "update": blocks,
        "values": blocks,
    }


def test_as_a_script(tmp_path: Path) -> None:
    """``python examples/paged_attention.py`` prints lengths, time and an error within the bound."""
    compiler()
    done = subprocess.run(
        [sys.executable, str(PATH)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lengths, time, error = done.stdout.splitlines()
    found = [int(number) for number in re.findall(r"\d+", lengths)]
    assert len(found) == BATCH
    assert all(1 <= length <= EXAMPLE["CONTEXT"] for length in found)
    assert re.fullmatch(r"\d+\.\d ms on cpu", time)
    assert re.fullmatch(r"largest error \d\.\de-03, bound 6\.0e-03", error)
