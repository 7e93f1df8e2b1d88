"""The pictures in docs/make-it-fast.md: the beginning of a task, drawn from a simulation."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pypto._src import cli

PAGE = Path(__file__).parents[2] / "docs" / "make-it-fast.md"
COLOURS = {"MTE2": "#4477aa", "V": "#228833", "MTE3": "#ccbb44"}
LENGTH = 6.0  # microseconds
WIDTH, LEFT, LANE = 720, 52, 24


def picture(events: list[dict[str, Any]]) -> str:
    """Return the first instructions of a core as an SVG, with a lane for each pipe."""
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    slices = [e for e in events if e["ph"] == "X" and e.get("cat") == "instruction"]
    core = min(e["pid"] for e in slices)
    of_core = [(names[e["pid"], e["tid"]], e) for e in slices if e["pid"] == core]
    begin = min(e["ts"] for _, e in of_core)
    scale = (WIDTH - LEFT) / LENGTH
    height = LANE * len(COLOURS) + 26
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    for number, (pipe, colour) in enumerate(COLOURS.items()):
        top = 4 + LANE * number
        lines.append(f'<text x="4" y="{top + 14}">{pipe}</text>')
        for name, each in of_core:
            start, end = each["ts"] - begin, min(each["ts"] + each["dur"] - begin, LENGTH)
            if name == pipe and start < LENGTH:
                at, size = LEFT + start * scale, max((end - start) * scale, 0.5)
                lines.append(
                    f'<rect x="{at:.1f}" y="{top}" width="{size:.1f}" height="{LANE - 6}" '
                    f'fill="{colour}"/>'
                )
    for us in range(int(LENGTH) + 1):
        anchor = "end" if us == LENGTH else "middle"
        text = f"{us} us" if us == LENGTH else us
        x = min(LEFT + us * scale, WIDTH - 4)
        lines.append(f'<text x="{x:.1f}" y="{height - 6}" text-anchor="{anchor}">{text}</text>')
    return "\n".join([*lines, "</svg>", ""])


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The programs of the page, which its first block defines."""
    block = PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    path = tmp_path_factory.mktemp("steps") / "steps.py"
    path.write_text(block)
    return runpy.run_path(str(path))["STEPS"]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_picture(
    number: int, steps: list[str], tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    """Each picture on the page matches the simulator's result."""
    path, trace = tmp_path / "rms_norm.py", tmp_path / "trace.json"
    path.write_text(steps[number - 1])
    assert cli.main(["profile", str(path), "--hints", "0", "--perfetto", str(trace)]) == 0
    golden(f"make-it-fast/{number}.svg", picture(json.loads(trace.read_text())["traceEvents"]))


def test_page_shows_all_pictures() -> None:
    """The page has a picture of each step."""
    text = PAGE.read_text(encoding="utf-8")
    for number in (1, 2, 3):
        assert f"(../tests/golden/make-it-fast/{number}.svg)" in text
