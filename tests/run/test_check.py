"""``pypto check`` and ``pypto run --strict``: what they print, and their exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pypto._src import checks, cli
from pypto._src.errors import InternalError

GOOD = """\
import pypto.language as pl


@pl.program
class Twice:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, x: pl.Tensor[[16, 32], pl.FP32], out: pl.Out[pl.Tensor[[16, 32], pl.FP32]]
    ) -> pl.Tensor[[16, 32], pl.FP32]:
        tile = pl.load(x, [0, 0], [16, 32])
        out = pl.store(pl.add(tile, tile), [0, 0], [16, 32], out)
        return out
"""
BY_HAND = """\
import pypto.language as pl


@pl.program
class ByHand:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, x: pl.Tensor[[16, 32], pl.FP32], out: pl.Out[pl.Tensor[[16, 32], pl.FP32]]
    ) -> pl.Tensor[[16, 32], pl.FP32]:
        tile = pl.load(x, [0, 0], [16, 32])
        double = pl.add(tile, tile)
        pl.system.sync_src(pl.PipeType.V, pl.PipeType.MTE3, 0)
        pl.system.sync_dst(pl.PipeType.V, pl.PipeType.MTE3, 0)
        out = pl.store(double, [0, 0], [16, 32], out)
        pl.system.bar_all()
        return out
"""
LARGE = GOOD.replace("16, 32", "256, 256").replace("Twice", "Large")


def write(folder: Path, *texts: str) -> str:
    path = folder / "kernels.py"
    path.write_text("\n".join(texts))
    return str(path)


def check(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Return status, standard output and standard error of ``pypto check``."""
    status = cli.main(["check", *words])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The help text explains the command, with both interpretations of flags."""
    status, out, err = check(capsys, "--help")
    assert (status, err) == (0, "")
    assert out.startswith("usage: pypto check ")
    assert "--flags {pair,source}" in out
    assert check(capsys)[0] == 2


def test_a_good_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each check, and status 0."""
    path = write(tmp_path, GOOD)
    assert check(capsys, path) == (
        0,
        f"{path}: Twice\n  rules   ok\n  memory  ok\n  sync    ok\n  cpp     ok\n  pto     ok\n",
        "",
    )


def test_flags_set_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing flag is reported like any mistake, at its line, with status 1."""
    path = write(tmp_path, BY_HAND)
    status, out, err = check(capsys, path)
    assert status == 1
    assert "  sync    1 error\n" in out
    assert err.startswith(
        "error: RAW race: pl.add on V reads what pl.load on MTE2 writes, and nothing makes "
        "V wait  [sync-race]\n"
    )
    assert f"{path}:11:" in err
    assert (
        "= hint: pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, "
        "event_id=0) after line 10, pl.system.sync_dst(" in err
    )


def test_unused_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unused result is a warning: it is shown, and the status stays 0."""
    line = "        floor = pl.full([16, 32], pl.FP32, 0.0)\n"
    path = write(tmp_path, GOOD.replace("        out = ", f"{line}        out = "))
    status, out, err = check(capsys, path)
    assert status == 0
    assert out.splitlines()[1] == "  rules   1 warning"
    assert err == (
        "warning: 'floor' is assigned the value of pl.full, and nothing reads it  "
        "[unused-variable]\n"
        f"  --> {path}:11:9\n"
        "   |\n"
        f"11 | {line}"
        "   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "   = hint: delete the line, or name it _floor\n"
    )


def test_all_programs_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a name every program is checked; with a name only that one."""
    path = write(tmp_path, GOOD, BY_HAND, LARGE)
    status, out, _ = check(capsys, path)
    assert status == 1
    heads = [line for line in out.splitlines() if not line.startswith(" ")]
    assert heads == [f"{path}: {name}" for name in ("Twice", "ByHand", "Large")]
    assert check(capsys, f"{path}:Twice")[0] == 0
    assert check(capsys, f"{path}:ByHand")[0] == 1


def test_tiles_that_do_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A memory plan that fails is a finding; checks that need the plan are reported as skipped."""
    status, out, err = check(capsys, write(tmp_path, LARGE))
    assert status == 1
    assert out.splitlines()[1:] == [
        "  rules   ok",
        "  memory  1 error",
        "  sync    skipped: the passes failed earlier",
        "  cpp     skipped: the passes failed earlier",
        "  pto     skipped: the passes failed earlier",
    ]
    assert err.startswith("error: Vec memory of kernel 'kernel' overflows: ")


PADDED = """\
import pypto.language as pl


@pl.program
class Padded:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, n: pl.INT64, x: pl.Tensor[[64, 1000], pl.FP32],
               out: pl.Out[pl.Tensor[[64, 1000], pl.FP32]]):
        for i in pl.range(0, 64, 8):
            t = pl.load(x, [i, 0], [8, 1000], valid_shapes=[n, 1000])
            e = pl.exp(t - pl.row_max(t))
            hot = pl.fillpad(t) == 0.0
            out[i : i + 8] = pl.fillpad(e / pl.row_sum(e)) * hot + pl.fillpad(t)
"""


def test_tiles_that_the_assembler_does_not_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A finding about all tiles of a PTO text is reported for the user's kernel."""
    path = write(tmp_path, PADDED)
    status, out, err = check(capsys, path)
    assert status == 1
    assert "  cpp     ok\n  pto     1 error\n" in out
    assert f"[memory]\n --> {path}:7:5\n" in err
    assert err.endswith(
        "  = note: only the PTO text does not fit, whose tiles the assembler places; the C++ does\n"
    )


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same as data: a row for each finding, with its location and fix."""
    path = write(tmp_path, BY_HAND)
    status, out, err = check(capsys, path, "--json")
    assert (status, err) == (1, "")
    found: dict[str, Any] = json.loads(out)
    assert list(found) == ["file", "programs"]
    [program] = found["programs"]
    assert program["name"] == "ByHand"
    assert program["checks"] == {
        "rules": "ok",
        "memory": "ok",
        "sync": "1 error",
        "cpp": "ok",
        "pto": "ok",
    }
    [finding] = program["findings"]
    assert finding["hint"].startswith("pl.system.sync_src(set_pipe=pl.PipeType.MTE2")
    del finding["hint"]
    assert finding == {
        "check": "sync",
        "severity": "error",
        "rule": "sync-race",
        "message": "RAW race: pl.add on V reads what pl.load on MTE2 writes, and nothing "
        "makes V wait",
        "file": path,
        "line": 11,
        "column": 9,
    }


def test_the_other_reading_of_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--flags source`` one event of a pipe is one flag, whichever pipe waits."""
    lines = BY_HAND.splitlines()
    lines[9:15] = [
        "        tile = pl.load(x, [0, 0], [16, 32])",
        "        pl.system.sync_src(pl.PipeType.MTE2, pl.PipeType.V, 0)",
        "        pl.system.sync_src(pl.PipeType.MTE2, pl.PipeType.MTE3, 0)",
        "        pl.system.sync_dst(pl.PipeType.MTE2, pl.PipeType.V, 0)",
        "        pl.system.sync_dst(pl.PipeType.MTE2, pl.PipeType.MTE3, 0)",
        "        out = pl.store(tile, [0, 0], [16, 32], out)",
        "        pl.system.bar_all()",
    ]
    path = write(tmp_path, "\n".join(lines))
    assert check(capsys, path)[0] == 0
    status, out, err = check(capsys, path, "--flags", "source")
    assert status == 1
    assert "sync    " in out
    assert "flag 0 of MTE2 -> MTE3 is raised again before anything waits for it" in err


def test_a_file_without_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that defines nothing to check is an error."""
    status, out, err = check(capsys, write(tmp_path, "x = 1\n"))
    assert (status, out) == (1, "")
    assert "defines no program  [program-name]" in err


def test_without_the_dialect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the optional package, the text is emitted but not parsed, and the report says so."""

    def find_nothing(_name: str) -> None:
        return None

    monkeypatch.setattr(checks, "find_spec", find_nothing)
    status, out, _ = check(capsys, write(tmp_path, GOOD))
    assert status == 0
    assert out.splitlines()[-1] == "  pto     skipped: it needs pip install 'pypto[mlir]'"


def test_run_strict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program runs strictly in each order; a race ends it with status 1 at its line."""
    path = write(tmp_path, GOOD)
    for order in ((), ("random",), ("exhaustive",)):
        assert cli.main(["run", path, "--strict", *order]) == 0
        assert "on interpreter" in capsys.readouterr().out
    assert cli.main(["run", write(tmp_path, BY_HAND), "--strict"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: RAW race: pl.add on V starts while pl.load on MTE2 is ")
    assert f"{tmp_path / 'kernels.py'}:11:" in error


THROUGH_A_CALL = """\
import pypto.language as pl


@pl.program
class Calls:
    @pl.function(type=pl.FunctionType.InCore)
    def copy(
        self, x: pl.Tensor[[16, 32], pl.FP32], out: pl.Out[pl.Tensor[[16, 32], pl.FP32]]
    ):
        out[:] = x[:]

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[16, 32], pl.FP32],
        y: pl.Tensor[[16, 32], pl.FP32],
        out: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
    ):
        self.copy(x, y)
        self.copy(y, out)
"""


def test_input_written_by_a_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a called kernel writes must be an output of the caller too."""
    path = write(tmp_path, THROUGH_A_CALL)
    status, out, err = check(capsys, path)
    assert status == 1
    assert "rules   1 error\n" in out
    assert err.replace(str(path), "kernels.py") == (
        "error: main writes 'y', although it is not declared as an output  [input-written]\n"
        "  --> kernels.py:16:9\n"
        "   |\n"
        "16 |         y: pl.Tensor[[16, 32], pl.FP32],\n"
        "   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "   = hint: write y: pl.InOut[...], or pass another tensor\n"
    )
    taken = THROUGH_A_CALL.replace("        y: pl.Tensor[[16, 32], pl.FP32]", TAKEN)
    assert check(capsys, write(tmp_path, taken))[0] == 0


TAKEN = "        y: pl.InOut[pl.Tensor[[16, 32], pl.FP32]]"

IN_TURNS = """\
import pypto.language as pl


@pl.program
class Turns:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, x: pl.Tensor[[64, 32], pl.FP32], out: pl.Out[pl.Tensor[[64, 32], pl.FP32]]
    ):
        for i in pl.range(0, 64, 16):
            rows = pl.load(x, [i, 0], [16, 32])
            sums = pl.row_sum(rows)
            out = pl.store(pl.row_expand_mul(rows, sums), [i, 0], [16, 32], out)
"""


@pytest.mark.parametrize("flags", ["pair", "source"])
def test_inserted_flags_are_right_in_each_reading(
    flags: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """InsertSync generates flags for the interpretation that is checked."""
    status, out, err = check(capsys, write(tmp_path, IN_TURNS), "--flags", flags)
    assert (status, err) == (0, "")
    assert "sync    ok\n" in out


def test_uninitialized_and_parallel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Uninitialized reads and dependent iterations are errors of `rules`; the checks go on."""
    lines = GOOD.splitlines()
    lines[9:] = [
        "        acc = pl.create_tile([16, 32], pl.FP32)",
        "        for i in pl.parallel(4):",
        "            acc = pl.add(acc, pl.load(x, [0, 0], [16, 32]))",
        "        out = pl.store(acc, [0, 0], [8, 32], out)",
        "        return out",
        "",
    ]
    lines[12] = "        out = pl.store(pl.view(acc, [8, 32], [0, 0]), [0, 0], [8, 32], out)"
    status, out, _ = check(capsys, write(tmp_path, "\n".join(lines)), "--json")
    assert status == 1
    [program] = json.loads(out)["programs"]
    assert program["checks"] == {
        "rules": "2 errors, 1 warning",
        "memory": "ok",
        "sync": "ok",
        "cpp": "ok",
        "pto": "ok",
    }
    assert [(f["severity"], f["rule"], f["line"]) for f in program["findings"]] == [
        ("warning", "out-partly-written", 8),
        ("error", "uninitialized-tile", 12),
        ("error", "parallel-iterations", 11),
    ]


HOST = """\
import pypto.language as pl


@pl.program
class Host:
    @pl.function(type=pl.FunctionType.InCore)
    def copy(self, x: pl.Tensor[[16, 32], pl.FP32], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
        y[:] = x[:]

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[16, 32], pl.FP32], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
        self.copy(pl.reshape(pl.reshape(x, [32, 16]), [16, 32]), y)
"""


def test_what_only_the_chip_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A host function that the chip's runtime cannot express runs on the CPU, which is reported."""
    path = write(tmp_path, HOST)
    status, out, err = check(capsys, path)
    assert status == 1
    assert "  cpp     1 error\n" in out
    assert err.endswith(
        "   = hint: move it into an InCore function and call that\n"
        "   = note: only the C++ for the chip's runtime cannot express this; on the CPU the "
        "program runs as it is\n"
    )
    assert cli.main(["run", path]) == 0


ALONE = """
@pl.function(type=pl.FunctionType.InCore)
def alone(x: pl.Tensor[[16, 32], pl.FP32], out: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    return pl.store(pl.load(x, [0, 0], [8, 32]), [0, 0], [8, 32], out)
"""


def test_functions_beside_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Functions outside the programs of a file are checked like programs of their own."""
    path = write(tmp_path, GOOD, ALONE, "same = alone\n")
    status, out, err = check(capsys, path)
    assert (status, out.count(f"{path}: ")) == (0, 2)
    assert f"{path}: alone\n  rules   1 warning\n" in out
    assert "output 'out' of alone is written in part only" in err


@pytest.mark.parametrize("target", ["cpp", "pto"])
def test_failure_of_an_emitter(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An emitter that fails is a fault of the compiler, and the error says where."""

    def fail(*_: object) -> None:
        raise TypeError("'&' takes integers")

    emitter = checks.CCECodegen if target == "cpp" else checks.PTOCodegen
    monkeypatch.setattr(emitter, "generate", fail)
    expected = f"the {target} text could not be written: TypeError: '&' takes integers"
    with pytest.raises(InternalError, match=f"^{expected}$"):
        check(capsys, write(tmp_path, GOOD))
