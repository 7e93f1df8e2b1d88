"""Tuning constants: which values are legal, which are fastest, and that results are cached."""

# Lambdas with unannotated parameters.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, runtime
from pypto._src import cli
from pypto._src.commands.programs import load, load_tunable
from pypto._src.errors import CallError
from pypto._src.ir.serialization.serialize import serialize
from pypto._src.tune import search as search_module
from pypto._src.tune.autotune import Autotuned
from pypto._src.tune.examine import answer
from pypto._src.tune.search import Options, Space, search

KERNEL = """\
import pypto.language as pl


@pl.autotune(ROWS=[2, 8, 32, 128], STAGES=[1, 2])
@pl.jit(target="interpreter")
def double(
    x: pl.Tensor[[256, 512], pl.FP32],
    y: pl.Out[pl.Tensor[[256, 512], pl.FP32]],
    ROWS: int = 8,
    STAGES: int = 1,
):
    for block in pl.spmd(2):
        for r in pl.pipeline(0, 128, ROWS, stage=STAGES):
            tile = pl.slice(x, [ROWS, 512], [block * 128 + r, 0])
            y = pl.assemble(y, pl.add(tile, tile), [block * 128 + r, 0])
    return y
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test its own cache of results."""
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a file with the kernel."""
    found = tmp_path / "double.py"
    found.write_text(KERNEL)
    return found


def kernel_in(path: Path) -> Autotuned:
    return load_tunable(str(path), {})


def tuned(kernel: Autotuned, **named: Any) -> dict[str, Any]:
    """Return the result for the declared arguments, except the time that it took."""
    found = kernel.tune(**{"processes": 1, **named}, **kernel.declared_arguments({})).as_data()
    del found["seconds"]
    return found


def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the test fail if a candidate is compiled or simulated."""

    def answer(request: Any) -> Any:
        raise AssertionError(request["ask"])

    monkeypatch.setattr("pypto._src.tune.workers.answer", answer)


def test_the_best_is_that_of_an_exhaustive_search(path: Path) -> None:
    """Tiles that do not fit are rejected with the compiler's reason; the others are ranked."""
    kernel = kernel_in(path)
    found = tuned(kernel)
    rows = {tuple(row["choice"].values()): row for row in found["candidates"]}
    assert len(rows) == 8
    assert "Vec" in rows[128, 1]["refused"]
    legal = [(c, False) for c in (row["choice"] for row in found["candidates"])]
    given = kernel.declared_arguments({})
    space = Space(lambda choice: kernel.program(choice, given), legal, None, {}, None)
    whole = search(space, Options(), exhaustive=True)
    assert whole.best is not None
    assert found["best"] == whole.best.choice
    assert len(whole.ranked) == sum("refused" not in row for row in rows.values())
    assert rows[tuple(found["best"].values())]["cycles"] == whole.best.cycles


def test_what_is_not_simulated_cannot_be_better(path: Path) -> None:
    """Bounds of pruned candidates are above the best run, and the table says how many there are."""
    kernel = kernel_in(path)
    found = kernel.tune(processes=1, **kernel.declared_arguments({}))
    best = found.outcome.best
    assert best is not None
    assert best.cycles is not None
    left = [each for each in found.outcome.candidates if not each.refused and not each.run]
    assert left
    assert all(each.estimate > best.cycles - best.run["launch"] for each in left)
    assert f"{len(left)} were not simulated, as no run of them" in found.text()


PRODUCT = """\
import pypto.language as pl


@pl.autotune(BM=[128])
@pl.jit(target="interpreter")
def gemm(
    a: pl.Tensor[[3001, 2047], pl.FP16],
    b: pl.Tensor[[2047, 2049], pl.FP16],
    c: pl.Out[pl.Tensor[[3001, 2049], pl.FP32]],
    BM: int = 128,
):
    tiles = (3001 + BM - 1) // BM
    for block in pl.spmd(tiles * 9):
        m = block % tiles * BM
        n = block // tiles * 256
        rows = pl.min(3001 - m, BM)
        cols = pl.min(2049 - n, 256)
        acc = pl.matmul(
            pl.slice(a, [BM, 128], [m, 0], valid_shape=[rows, 128]),
            pl.slice(b, [128, 256], [0, n], valid_shape=[128, cols]),
            out_dtype=pl.FP32,
        )
        for k in pl.pipeline(128, 2047, 128, stage=2):
            left = pl.min(2047 - k, 128)
            acc = pl.matmul_acc(
                acc,
                pl.slice(a, [BM, 128], [m, k], valid_shape=[rows, left]),
                pl.slice(b, [128, 256], [k, n], valid_shape=[left, cols]),
            )
        c = pl.assemble(c, acc, [m, n])
    return c
"""


def test_a_run_within_the_limit_is_simulated_to_its_end(tmp_path: Path) -> None:
    """Tasks that contend for memory at first look far slower than they are in the end."""
    path = tmp_path / "gemm.py"
    path.write_text(PRODUCT)
    kernel = kernel_in(path)
    program = kernel.program({"BM": 128}, kernel.declared_arguments({}))
    request: dict[str, Any] = {
        "ask": "simulate",
        "program": serialize(program),
        "overlap": False,
        "entry": None,
        "sizes": {},
        "costs": "",
    }
    whole = answer({**request, "limit": None})
    limit = (whole["cycles"] - whole["launch"]) * 1.02
    assert answer({**request, "limit": limit}) == whole


def test_a_call_uses_the_choice(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call searches, the next does not, and the result is right."""
    kernel = kernel_in(path)
    x = np.ones((256, 512), np.float32)
    y = np.empty_like(x)
    kernel(x, y)
    assert (y == 2).all()
    no_work(monkeypatch)
    kernel(x, y)
    assert kernel.tune(x, y, processes=1).choice["STAGES"] == 2
    best = kernel.tune(x, y, processes=1).choice
    assert str(kernel.parse(x, y)) == str(kernel.function.parse(x, y, **best))  # pyright: ignore


def test_a_constant_that_a_call_gives_is_not_chosen(path: Path) -> None:
    """The others are tuned for it."""
    kernel = kernel_in(path)
    found = kernel.tune(**kernel.declared_arguments({}), ROWS=2, processes=1)
    assert [dict(each.choice) for each in found.outcome.candidates] == [
        {"STAGES": 1},
        {"STAGES": 2},
    ]


def test_the_outcome_is_the_same_for_each_number_of_processes(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing depends on which process is faster."""
    here = tuned(kernel_in(path))
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path / "other"))
    monkeypatch.setattr(search_module, "ROUND", 4)
    assert tuned(kernel_in(path), processes=2)["best"] == here["best"]


def test_results_are_kept_on_disk(
    path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process finds them; a damaged one is recomputed, and none is executable code."""
    before = tuned(kernel_in(path))
    files = sorted(own_cache.rglob("*.json"))
    assert all(isinstance(json.loads(file.read_text()), dict) for file in files)
    with monkeypatch.context() as patch:
        no_work(patch)
        assert tuned(kernel_in(path)) == before
    for number, file in enumerate(files):
        damaged = ["", "[1]", '{"cycles": "fast"}', '{"other": 1}', "\x00" * 99]
        file.write_text(damaged[number % len(damaged)])
    assert tuned(kernel_in(path)) == before


def test_ctrl_c_keeps_what_is_done(path: Path) -> None:
    """The table says that it was stopped, and the next search continues from there."""

    def interrupt(what: str, ready: int, count: int) -> None:
        del ready, count
        if what == "simulated":
            raise KeyboardInterrupt

    kernel = kernel_in(path)
    given = kernel.declared_arguments({})
    found = kernel.tune(told=interrupt, processes=1, **given)
    assert "stopped by Ctrl-C: others may be better" in str(found)
    assert found.choice == kernel.tune(processes=1, **given).choice


def test_a_time_limit(path: Path) -> None:
    """Nothing was simulated when the time ran out."""
    kernel = kernel_in(path)
    found = kernel.tune(limit=1e-9, processes=1, **kernel.declared_arguments({}))
    assert found.outcome.stopped == "the time limit"
    with pytest.raises(CallError, match="all were stopped by the time limit"):
        _ = found.choice


def test_functions_that_make_programs() -> None:
    """Their parameters are tuned; values for which they fail are rejected."""

    @pl.autotune(rows=[3, 8, 16])
    def build(rows: int, width: int = 64) -> ir.Program:
        if 64 % rows:
            raise ValueError(f"{rows} rows do not divide 64")
        text = f"""
        import pypto.language as pl

        @pl.program
        class P:
            @pl.function(type=pl.FunctionType.InCore)
            def kernel(
                self,
                x: pl.Tensor[[64, {width}], pl.FP32],
                y: pl.Out[pl.Tensor[[64, {width}], pl.FP32]],
            ):
                for r in pl.range(0, 64, {rows}):
                    tile = pl.exp(pl.load(x, [r, 0], [{rows}, {width}]))
                    y = pl.store(tile, [r, 0], [{rows}, {width}], y)
                return y
        """
        return pl.parse_program(textwrap.dedent(text))

    found = build.tune(processes=1)
    assert found.choice == {"rows": 16}
    assert found.outcome.candidates[0].refused == "ValueError: 3 rows do not divide 64"
    x = np.zeros((64, 64), np.float32)
    y = np.empty_like(x)
    runtime.compile(build(), target="interpreter")(x, y)
    assert (y == 1).all()


def test_overlap_is_a_choice(path: Path) -> None:
    """A call compiles with it."""
    path.write_text(KERNEL.replace("STAGES=[1, 2]", "overlap=[False, True]").replace("128]", "32]"))
    kernel = kernel_in(path)
    choice = tuned(kernel)["best"]
    assert choice["overlap"] is True
    given = kernel.declared_arguments({})
    assert str(kernel.lower(**given)) == str(
        kernel.function.lower(**given, ROWS=choice["ROWS"], config=runtime.RunConfig(overlap=True))  # pyright: ignore
    )


def test_the_jit_option_overlap() -> None:
    """It does what `runtime.compile(program, overlap=True)` does, and a call may override it."""

    def copy(x: pl.Tensor[[64, 1024], pl.FP32], y: pl.Out[pl.Tensor[[64, 1024], pl.FP32]]):
        for r in pl.range(0, 64, 8):
            tile = pl.load(x, [r, 0], [8, 1024])
            y = pl.store(pl.exp(tile), [r, 0], [8, 1024], y)
        return y

    plain, overlapped = pl.jit(copy), pl.jit(overlap=True)(copy)
    yes, no = runtime.RunConfig(overlap=True), runtime.RunConfig(overlap=False)
    assert str(plain.lower(config=yes)) == str(overlapped.lower())
    assert str(overlapped.lower(config=no)) == str(plain.lower())
    assert str(plain.lower()) != str(overlapped.lower())
    x = np.zeros((64, 1024), np.float32)
    y = np.empty_like(x)
    overlapped(x, y)
    assert (y == 1).all()
    with pytest.raises(TypeError, match="overlap is True, False or None, got 1"):
        runtime.RunConfig(overlap=1)  # pyright: ignore


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: pl.autotune(TIEL=[1])(f), "double has no parameter 'TIEL'; it has x, TILE"),
        (lambda f: pl.autotune(TILE=[])(f), "the values of TILE are []; a list of some was wanted"),
        (lambda f: pl.autotune()(f), "pl.autotune has nothing to choose"),
        (
            lambda _: pl.autotune(TILE=[1])(cast("Any", 3)),
            "pl.autotune is for a kernel or a function",
        ),
    ],
)
def test_mistakes(make: Callable[[Any], Any], message: str) -> None:
    """Each error says what was found and what was expected, at the line of the decorator."""

    @pl.jit
    def double(x: pl.Tensor[[64, 64], pl.FP32], TILE: int):
        return pl.add(x, TILE)

    with pytest.raises(CallError, match=message.replace("[", r"\[").replace("(", r"\(")) as found:
        make(double)
    assert found.value.location is not None
    assert found.value.location.filename == __file__


def test_too_many_combinations() -> None:
    """They are counted before anything is compiled; `where` excludes some."""

    @pl.jit
    def double(x: pl.Tensor[[64, 64], pl.FP32], A: int, B: int):
        return pl.add(x, A)

    many = range(400)
    with pytest.raises(CallError, match="more than 100000 combinations"):
        pl.autotune(A=many, B=many)(double).tune()
    few = pl.autotune(A=many, B=many, where=lambda A, B: A + B == 2000)(double)
    with pytest.raises(CallError, match="no choice of the constants of double is left"):
        _ = few.tune(processes=1).choice


def test_the_command(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table has the best first, and why; a progress bar is for terminals only."""
    monkeypatch.delenv("PYPTO_CACHE_DIR")  # which has the kernel that was compiled before
    assert cli.main(["tune", str(path), "--processes", "1", "--time", "1"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[0].startswith("double: 8 candidates, ")
    assert " ".join(lines[1].split()) == "us here choice tasks bounded by busy on-chip memory"
    assert " us  ROWS=" in lines[2]
    assert lines[-1].startswith("best: ROWS=")
    assert cli.main(["tune", str(path), "--json", "--choice", "ROWS=2,8"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["choice"] for row in found["candidates"]] == [{"ROWS": 2}, {"ROWS": 8}]
    assert found["best"]["ROWS"] == 8


def test_other_commands_take_the_best(path: Path) -> None:
    """The program that a file defines has the best constants."""
    kernel = kernel_in(path)
    choice = tuned(kernel)["best"]
    expected = kernel.program(choice, kernel.declared_arguments({}))
    ir.assert_structural_equal(load(str(path)), expected)


def test_a_file_without_choices(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error says how to declare some."""
    path.write_text(KERNEL.replace("@pl.autotune(ROWS=[2, 8, 32, 128], STAGES=[1, 2])\n", ""))
    assert cli.main(["tune", str(path)]) == 1
    assert "declares no choices" in capsys.readouterr().err
