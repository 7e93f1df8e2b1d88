"""`pypto show --graph`: the tasks of a run, what each waits for, and how they are drawn."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto._src import cli
from pypto._src.run.calls import depends_on_values
from pypto._src.run.task_graph.drawing import draw
from pypto._src.run.task_graph.tasks import RAW, WAR, WAW, tasks_of

STEPS = """\
import numpy as np
import pypto.language as pl
from pypto.runtime import Case


@pl.program
class Steps:
    @pl.function(type=pl.FunctionType.InCore)
    def copy(
        self, x: pl.Tensor[[16, 16], pl.FP32], to: pl.Out[pl.Tensor[[16, 16], pl.FP32]]
    ):
        to[:] = x[:]

    @pl.function(type=pl.FunctionType.InCore)
    def add(
        self,
        factor: pl.FP32,
        x: pl.Tensor[[16, 16], pl.FP32],
        to: pl.InOut[pl.Tensor[[16, 16], pl.FP32]],
    ):
        to[:] = to[:] + x[:] * factor

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[32, 16], pl.FP32], out: pl.Out[pl.Tensor[[32, 16], pl.FP32]]
    ):
        t = pl.create_tensor([16, 16], pl.FP32)
        for i in pl.range(0, 32, 16):
            rows = pl.view(out, [16, 16], [i, 0])
            self.copy(x[i : i + 16], t)
            self.add(2.0, t, rows)
"""

TEXT = """\
main: 4 tasks in 4 levels, 4 dependences
  2 add, 2 copy

level 0: 1 task
  t0 copy  steps.py:30
    reads x[0:16, 0:16]
    writes t

level 1: 1 task
  t1 add(factor=2.0)  steps.py:31
    reads t, out[0:16, 0:16]
    writes out[0:16, 0:16]
    after t0 copy: RAW t

level 2: 1 task
  t2 copy  steps.py:30
    reads x[16:32, 0:16]
    writes t
    after t0 copy: WAW t
    after t1 add: WAR t

level 3: 1 task
  t3 add(factor=2.0)  steps.py:31
    reads t, out[16:32, 0:16]
    writes out[16:32, 0:16]
    after t2 copy: RAW t
"""

CALLS = """\
main: 2 calls
  for i in pl.range(0, 32, 16):  steps.py:28
    copy  steps.py:30
      reads x[i:i + 16, 0:16]
      writes t
    add  steps.py:31
      with factor=2.0
      reads t, out[i:i + 16, 0:16]
      writes out[i:i + 16, 0:16]
"""


@pytest.fixture
def steps(tmp_path: Path) -> str:
    path = tmp_path / "steps.py"
    path.write_text(STEPS)
    return str(path)


def output(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["show", *words]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


@pytest.mark.parametrize("before", [True, False])
def test_text(steps: str, before: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Levels, tasks, regions and the three kinds of dependence; the option before FILE or after."""
    words = ["--graph", steps] if before else [steps, "--graph"]
    assert output(capsys, *words) == TEXT


def test_calls_in_the_text(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With --static nothing runs: calls are shown in their loops, with names for numbers."""
    assert output(capsys, "--static", "--graph", steps) == CALLS


def test_data(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON, a task has its regions as pairs of numbers."""
    found: dict[str, Any] = json.loads(output(capsys, steps, "--json", "--graph"))
    assert found["entry"] == "main"
    assert found["tasks"][1] == {
        "number": 1,
        "name": "add",
        "location": "steps.py:31",
        "host": False,
        "level": 1,
        "scalars": {"factor": 2.0},
        "reads": [
            {"tensor": "t", "region": [[0, 16], [0, 16]]},
            {"tensor": "out", "region": [[0, 16], [0, 16]]},
        ],
        "writes": [{"tensor": "out", "region": [[0, 16], [0, 16]]}],
        "waits": [{"task": 0, "kind": "RAW", "tensor": "t", "region": [[0, 16], [0, 16]]}],
    }
    calls = json.loads(output(capsys, steps, "--json", "--graph", "--static"))
    assert [row["text"] for row in calls["calls"]] == [
        "for i in pl.range(0, 32, 16):",
        "copy",
        "add",
    ]


@pytest.mark.parametrize("static", [True, False])
def test_drawings(
    steps: str,
    static: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    golden: Callable[[str, str], None],
) -> None:
    """The SVG is the recorded one and is XML; the page contains it, with the text below."""
    words = ["--static"] if static else []
    svg, page = tmp_path / "out.svg", tmp_path / "out.html"
    for path in (svg, page):
        assert output(capsys, steps, *words, "--graph", str(path)) == f"{path}\n"
    drawn = svg.read_text()
    golden(f"graph/{'calls' if static else 'tasks'}.svg", drawn)
    assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"
    text = CALLS if static else TEXT
    assert page.read_text().endswith(f"{drawn}<pre>\n{text}</pre>\n</body>\n</html>\n")


def test_arguments_of_the_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If tasks depend on values, the example case's arguments are used, else calls are shown."""
    body = """\
import numpy as np
import pypto.language as pl
from pypto.runtime import Case

@pl.program
class Chosen:
    @pl.function(type=pl.FunctionType.InCore)
    def copy(self, x: pl.Tensor[[1, 16], pl.FP32], to: pl.Out[pl.Tensor[[1, 16], pl.FP32]]):
        to[:] = x[:]

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        rows: pl.Tensor[[2], pl.INT32],
        x: pl.Tensor[[4, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[1, 16], pl.FP32]],
    ):
        for i in pl.range(2):
            row = pl.cast(pl.tensor.read(rows, [i]), pl.INDEX)
            self.copy(x[row : row + 1], out)
"""
    case = """
def inputs(rng):
    return {"rows": np.array([3, 1], np.int32), "x": np.zeros((4, 16), np.float32),
            "out": np.zeros((1, 16), np.float32)}

CASES = [Case("chosen", Chosen, inputs, lambda **_: {}, 0.0)]
"""
    path = tmp_path / "chosen.py"
    path.write_text(body)
    assert output(capsys, "--graph", str(path)) == (
        "main: 1 call\n"
        "  for i in pl.range(2):  chosen.py:18\n"
        "    copy  chosen.py:20\n"
        "      reads x[row:row + 1, 0:16]\n"
        "      writes out\n"
    )
    path.write_text(body + case)
    assert output(capsys, "--graph", str(path)) == (
        "main: 2 tasks in 2 levels, 1 dependence\n"
        "  2 copy\n\n"
        "level 0: 1 task\n"
        "  t0 copy  chosen.py:20\n"
        "    reads x[3:4, 0:16]\n"
        "    writes out\n\n"
        "level 1: 1 task\n"
        "  t1 copy  chosen.py:20\n"
        "    reads x[1:2, 0:16]\n"
        "    writes out\n"
        "    after t0 copy: WAW out\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--graph"], "the following arguments are required: FILE[:NAME]"),
        ([], "the following arguments are required: FILE[:NAME]"),
        (["k.py", "--graph", "k.png"], "--graph writes .svg, .html, .txt, not k.png"),
        (["k.py", "--static"], "--static goes with --graph"),
        (["k.py", "cpp", "--graph"], "--graph goes without a form and without --after"),
    ],
)
def test_usage_errors(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A usage error is reported in one line, with status 2."""
    assert cli.main(["show", *words]) == 2
    assert capsys.readouterr().err == f"pypto show: error: {message}\n"


def test_the_documented_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The program in docs/running.md has the tasks that the page shows."""
    page = (Path(__file__).parents[2] / "docs" / "running.md").read_text(encoding="utf-8")
    program, shown = (page.split(f"```{kind}\n")[1].split("```")[0] for kind in ("python", "text"))
    path = tmp_path / "steps.py"
    path.write_text(program)
    assert output(capsys, "--graph", str(path)) == shown


# --------------------------------------------------------------------------------------------
# Tasks
# --------------------------------------------------------------------------------------------

HEAD = """\
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def set(self, to: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
        to[:] = pl.full([16, 16], pl.FP32, 1.0)

    @pl.function(type=pl.FunctionType.InCore)
    def get(self, x: pl.Tensor[[16, 16], pl.FP32], to: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
        to[:] = x[:]

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[64, 16], pl.FP32], out: pl.Out[pl.Tensor[[64, 16], pl.FP32]]):
"""


def waits(body: str) -> list[list[str]]:
    """Return, for each task of an orchestration with this body, what it waits for."""
    program = pl.parse_program(HEAD + "".join(f"        {line}\n" for line in body.splitlines()))
    x, out = np.ones((64, 16), np.float32), np.zeros((64, 16), np.float32)
    found = tasks_of(program, "main", [x, out])
    assert not out.any()  # the arguments are copied
    return [[f"{w.before} {w.kind} {w.part}" for w in node.waits] for node in found.nodes]


def test_regions_that_do_not_meet() -> None:
    """Tasks on different rows of one tensor are independent; common rows make a dependence."""
    assert waits("self.set(out[0:16])\nself.set(out[16:32])") == [[], []]
    assert waits("self.set(out[0:16])\nself.set(out[8:24])") == [[], [f"0 {WAW} out[8:16, 0:16]"]]


def test_views_of_views() -> None:
    """A view of a view is identified by its offset in the whole tensor."""
    body = "rows = out[16:64]\npart = rows[16:32]\nself.set(part)\nself.get(out[32:48], out[0:16])"
    assert waits(body) == [[], [f"0 {RAW} out[32:48, 0:16]"]]


def test_a_task_is_waited_for_once_overwritten() -> None:
    """A task after a write that covers earlier ones waits for that write only."""
    body = "self.set(out[0:16])\nself.get(out[0:16], out[16:32])\nself.set(out[0:16])\n"
    first = [[], [f"0 {RAW} out[0:16, 0:16]"]]
    second = [f"0 {WAW} out[0:16, 0:16]", f"1 {WAR} out[0:16, 0:16]"]
    third = [f"1 {WAW} out[16:32, 0:16]", f"2 {RAW} out[0:16, 0:16]"]
    assert waits(body + "self.get(out[0:16], out[16:32])") == [*first, second, third]


def test_new_tensors_have_names_of_their_own() -> None:
    """Each iteration of a loop makes another tensor; one without a variable is labelled so."""
    body = (
        "for i in pl.range(2):\n"
        "    t = pl.create_tensor([16, 16], pl.FP32)\n"
        "    self.set(t)\n"
        "    self.get(t, out[0:16])\n"
        "self.set(pl.create_tensor([16, 16], pl.FP32))"
    )
    assert waits(body) == [
        [],
        [f"0 {RAW} t"],
        [],
        [f"1 {WAW} out[0:16, 0:16]", f"2 {RAW} t.2"],
        [],
    ]


def test_ops_of_the_host() -> None:
    """A host op is a task if it writes, or reads what a task has written."""
    body = (
        "self.set(out[0:16])\n"
        "y = pl.add(out, 1.0)\n"
        "out[16:64] = y[0:48]\n"
        "self.get(out[16:32], out[0:16])"
    )
    assert waits(body) == [
        [],
        [f"0 {RAW} out[0:16, 0:16]"],
        [f"0 {WAW} out[0:16, 0:16]", f"1 {WAR} out", f"1 {RAW} y[0:48, 0:16]"],
        [f"2 {RAW} out[16:32, 0:16]", f"2 {WAW} out[0:16, 0:16]"],
    ]


@pytest.mark.parametrize("seed", range(30))
def test_random_tasks_are_ordered_by_their_regions(seed: int) -> None:
    """Tasks with common rows, one of which writes, are ordered; each wait is such a pair."""
    rng = np.random.default_rng(seed)
    rows = int(rng.choice([64, 4096]))  # the whole tensor is a few sections, or many
    offsets = rng.integers(0, rows - 16, (40, 2))
    offsets[rng.random(40) < 0.3] = offsets[0]
    calls = [f"self.get(out[{a}:{a + 16}], out[{b}:{b + 16}])" for a, b in offsets]
    text = HEAD.replace("64, 16", f"{rows}, 16") + "".join(f"        {call}\n" for call in calls)
    arrays = [np.ones((rows, 16), np.float32), np.zeros((rows, 16), np.float32)]
    nodes = tasks_of(pl.parse_program(text), "main", arrays).nodes
    earlier: list[set[int]] = []
    for node, (read, written) in zip(nodes, offsets, strict=True):
        earlier.append(set())
        for wait in node.waits:
            earlier[-1] |= {wait.before} | earlier[wait.before]
            first = int(offsets[wait.before][int(wait.kind != WAR)])
            second = int(read if wait.kind == RAW else written)
            common = (max(first, second), min(first, second) + 16)
            assert common[0] < common[1]
            assert wait.part.box == (common, (0, 16))
        for before, (other_read, other_written) in enumerate(offsets[: node.number]):
            pairs = [(other_written, read), (other_written, written), (other_read, written)]
            if any(abs(int(one) - int(other)) < 16 for one, other in pairs):
                assert before in earlier[-1]


def test_what_tasks_depend_on() -> None:
    """Tasks depend on sizes and scalars of the call, and on elements that the host reads."""

    def depends(params: str, body: str) -> bool:
        lines = HEAD[: HEAD.index("    def main")] + f"    def main(self, {params}):\n"
        program = pl.parse_program(f"{lines}        {body}\n")
        return depends_on_values(program, "main")

    fixed = "out: pl.Out[pl.Tensor[[64, 16], pl.FP32]]"
    assert not depends(fixed, "self.set(out[0:16])")
    assert depends(f"n: pl.INT64, {fixed}", "self.set(out[n : n + 16])")
    assert depends("out: pl.Out[pl.Tensor[[-1, 16], pl.FP32]]", "self.set(out[0:16])")
    body = "row = pl.cast(pl.tensor.read(k, [0]), pl.INDEX); self.set(out[row : row + 16])"
    assert depends(f"k: pl.Tensor[[1], pl.INT32], {fixed}", body)


def test_many_tasks_are_drawn_in_columns() -> None:
    """Every task has its own position, in its level's column, and drawings are deterministic."""
    program = pl.parse_program(
        HEAD + "        for i in pl.range(40):\n"
        "            row = i % 4 * 16\n"
        "            self.get(x[row : row + 16], out[row : row + 16])\n"
    )
    arrays = [np.ones((64, 16), np.float32), np.zeros((64, 16), np.float32)]
    drawn = draw(tasks_of(program, "main", arrays), ".svg")
    boxes = [
        (rect.attrib["x"], rect.attrib["y"])
        for rect in ElementTree.fromstring(drawn).iterfind(".//{*}g/{*}rect")
    ]
    assert len(set(boxes)) == 40
    assert sorted({int(x) for x, _ in boxes}) == [20 + 220 * level for level in range(10)]
    assert draw(tasks_of(program, "main", arrays), ".svg") == drawn


REGIONS = """\
import pypto.language as pl


@pl.jit
def f(x: pl.Tensor[[64, 16], pl.FP32], y: pl.Out[pl.Tensor[[64, 16], pl.FP32]]):
    t = pl.create_tensor([64, 16], dtype=pl.FP32)
    for b in pl.spmd(2, name_hint="first"):
        for i in pl.range(0, 32, 8):
            t[b * 32 + i : b * 32 + i + 8, :] = pl.exp(x[b * 32 + i : b * 32 + i + 8, :])
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="second"):
        y[:, :] = pl.mul(t, 2.0)
    return y
"""


@pytest.mark.parametrize("static", [False, True])
def test_regions_are_tasks(
    static: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A region is one task, not one per operation, and blocks of a launch are one level."""
    path = tmp_path / "regions.py"
    path.write_text(REGIONS)
    assert cli.main(["show", str(path), "--graph", *(["--static"] if static else [])]) == 0
    text = capsys.readouterr().out
    assert "block." not in text
    assert "second  regions.py:10" in text
    if not static:
        assert text.startswith("f: 3 tasks in 2 levels, 2 dependences\n  2 first, 1 second\n")
