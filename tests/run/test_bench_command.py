"""``pypto bench``: what it counts and how it reports it; no test checks how fast anything is."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from pypto._src import cli
from pypto._src.commands.bench import measured, spread
from pypto._src.golden import machine_peaks

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def known_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the machine fixed peaks instead of measured ones."""
    peaks = {"copy_bandwidth": 2e9, "multiply_add_peak": 4e9}
    for name, rate in peaks.items():
        monkeypatch.setattr(machine_peaks, name, partial(_peak, rate))


def _peak(rate: float, _threads: int) -> float:
    return rate


def test_the_same_numbers_as_data_and_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Products and bytes are those of the example: 512 x 1024 by 1024 x 768 in BF16."""
    path = str(EXAMPLES / "basics" / "gemm.py")
    assert cli.main(["bench", path, "--json", "--seconds", "0.01"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["rounds"] >= 5
    assert row["flops"] == 2 * 512 * 1024 * 768
    assert row["bytes"] == 2 * (512 * 1024 + 768 * 1024) + 4 * 512 * 768
    assert row["bandwidth"] == row["bytes"] / row["median"]
    assert row["bandwidth_share"] == row["bandwidth"] / 2e9
    assert row["flop_share"] == row["flops"] / row["median"] / 4e9
    assert row["min"] <= row["lower_quartile"] <= row["median"] <= row["max"]
    assert cli.main(["bench", path, "--seconds", "0.01"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("gemm on cpu, ")
    assert "  4.194 MB of arguments: " in lines[2]
    assert "  0.8053 GFLOP in products: " in lines[3]


def test_calls_before_the_first_measured_one() -> None:
    """Three are not counted, and at least five are measured."""
    calls: list[int] = []
    assert len(measured(lambda: calls.append(1), 1e-9)) == 5
    assert len(calls) == 8


def test_spread() -> None:
    """Half of the times are between the quartiles."""
    found = spread([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (found["lower_quartile"], found["median"], found["upper_quartile"]) == (1.5, 3.0, 4.5)
