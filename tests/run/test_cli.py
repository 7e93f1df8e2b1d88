"""The command ``pypto`` as users see it: what it prints, where, and its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pypto._src import cli
from pypto._src.commands import demo as demo_command
from pypto._src.commands import example_cases
from pypto._src.commands import run as run_command
from pypto._src.commands.example_cases import relative_error
from pypto._src.run.toolchain import find_toolchain
from tests.natively import compiler

SRC = Path(__file__).parents[2] / "src"

DOUBLE = """\
import pypto.language as pl


@pl.program
class Double:
    @pl.function(type=pl.FunctionType.InCore)
    def twice(
        self, x: pl.Tensor[[8, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        tile = pl.load(x, [0, 0], [8, 16])
        out = pl.store(pl.add(tile, tile), [0, 0], [8, 16], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[8, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        out = self.twice(x, out)
        return out
"""


@pytest.fixture
def double(tmp_path: Path) -> str:
    path = tmp_path / "double.py"
    path.write_text(DOUBLE)
    return str(path)


def write(folder: Path, text: str) -> str:
    path = folder / "user.py"
    path.write_text(text)
    return str(path)


def pypto(*words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "pypto", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SRC), "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


# --------------------------------------------------------------------------------------------
# As a process
# --------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="names are not bytes there")
@pytest.mark.parametrize(
    "name", ["größe.py", os.fsdecode(b"gr\xf6\xdfe.py")], ids=["utf8", "latin1"]
)
@pytest.mark.parametrize(
    ("words", "utf8"),
    [
        (["show"], "0"),
        (["show"], "1"),
        (["check"], "0"),
        (["run", "--entry=twice"], "0"),  # no host function, so no runtime to compile
        (["compile", "-o", "made of it"], "1"),
    ],
)
def test_names_of_any_letters(name: str, words: list[str], utf8: str, tmp_path: Path) -> None:
    """Files, folders and variables may contain spaces, and letters outside the locale."""
    folder = tmp_path / "two wörds"
    folder.mkdir()
    text = DOUBLE.replace("tile", "größe")
    (folder / name).write_text(text, encoding="utf-8")
    places = {"TMPDIR": str(folder), "PYPTO_CACHE_DIR": str(folder / "kept köpt")}
    locale = {"LC_ALL": "C", "PYTHONUTF8": utf8, "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "pypto", words[0], name, *words[1:]]
    environment = {**os.environ, "PYTHONPATH": str(SRC), **places, **locale}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    if words == ["show"]:
        wanted = "größe" if utf8 == "1" else r"gr\xf6\xdfe"
        assert f"{wanted}: pl.Tile[[8, 16], pl.FP32] = ".encode() in done.stdout


@pytest.mark.parametrize("command", ["show", "compile", "run", "demo"])
def test_help(command: str, tmp_path: Path) -> None:
    """``--help`` of each command explains it and exits with status 0."""
    done = pypto(command, "--help", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: pypto {command} ")


def test_no_command(tmp_path: Path) -> None:
    """The command alone lists the commands, with the status of a usage error."""
    alone, asked = pypto(folder=tmp_path), pypto("--help", folder=tmp_path)
    assert (alone.returncode, alone.stdout, alone.stderr) == (2, "", asked.stdout)


def test_user_errors_have_no_traceback(tmp_path: Path) -> None:
    """A mistake in a kernel is rendered with its line, on standard error, with status 1."""
    wrong = DOUBLE.replace("pl.add(tile, tile)", "pl.ad(tile, tile)")
    done = pypto("show", write(tmp_path, wrong), folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert "user.py:11:" in done.stderr
    assert "Traceback" not in done.stderr


def test_version(tmp_path: Path) -> None:
    """The version goes to standard output."""
    done = pypto("--version", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "pypto 0.1.0\n")


def test_bad_environment_is_reported(double: str, tmp_path: Path) -> None:
    """An invalid value of a variable is reported like any user error."""
    done = pypto("run", double, folder=tmp_path, PYPTO_NUM_THREADS="many")
    compiler()
    assert done.returncode == 1
    assert done.stderr == (
        "error: PYPTO_NUM_THREADS is 'many'; it takes an integer of 1 or more  [environment]\n"
    )


def test_reader_that_stops_early(double: str, tmp_path: Path) -> None:
    """A closed pipe, as with ``head``, ends the command silently."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "pypto", "show", double],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(SRC)},
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")


# --------------------------------------------------------------------------------------------
# In this process
# --------------------------------------------------------------------------------------------


def output(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(words) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys: pytest.CaptureFixture[str], *words: str, status: int = 1) -> str:
    assert cli.main(words) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_show_ir_is_a_program(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The text of a program can be executed, and prints as the same text again."""
    text = output(capsys, "show", double)
    again = Path(double).with_name("again.py")
    again.write_text(text)
    assert output(capsys, "show", str(again)) == text


def test_show_after_a_pass(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Addresses are present after the last pass, and not before it."""
    before = output(capsys, "show", double, "--after", "MemoryReuse")
    after = output(capsys, "show", double, "--after", "AllocateMemoryAddr")
    assert before != after
    assert "sync" not in before
    assert "sync" in after


def test_show_generated_code(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The kernel is shown as C++ or as MLIR, by name in JSON."""
    assert "TADD(" in output(capsys, "show", double, "cpp")
    assert "pto.tadd" in output(capsys, "show", double, "mlir")
    shown: dict[str, str] = json.loads(output(capsys, "show", double, "cpp", "--json"))
    assert list(shown) == ["twice"]
    assert shown["twice"].startswith("#include")


JITTED = """\
import pypto.language as pl


@pl.jit
def double(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    out[:] = x[:] * 2.0
"""


DECLARED = """\
import pypto.language as pl

ROWS = pl.dynamic("ROWS")


@pl.jit
def scaled(
    x: pl.Tensor[[64, 64], pl.FP32],
    by: pl.Scalar[pl.INT32],
    out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
):
    x.bind_dynamic(0, ROWS)
    out.bind_dynamic(0, ROWS)
    for block in pl.spmd((pl.tensor.dim(x, 0) + 15) // 16, name_hint="scale"):
        rows = pl.min(16, pl.tensor.dim(x, 0) - block * 16)
        part = pl.slice(x, [16, 64], [block * 16, 0], valid_shape=[rows, 64])
        out[block * 16 : block * 16 + 16, :] = pl.mul(part, pl.cast(by, pl.FP32))
    return out
"""


def test_a_kernel_of_jit_is_the_program_of_its_annotations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tools accept a file with ``@pl.jit`` kernels as it is: sizes and scalars vary by call."""
    path = write(tmp_path, DECLARED)
    assert "by: pl.Scalar[pl.INT32]" in output(capsys, "show", path)
    assert "sync    ok" in output(capsys, "check", path)
    assert "out: [37, 64] float32" in output(capsys, "run", path, "--size", "ROWS=37")
    assert "scaled on a2a3" in output(capsys, "profile", f"{path}:scaled", "--size", "ROWS=37")
    assert refused(capsys, "profile", path).endswith("= hint: --size ROWS=64\n")
    whole = DECLARED[: DECLARED.index("    for block")] + "    with pl.at(pl.Level.CORE_GROUP):\n"
    write(tmp_path, whole + "        out[:] = pl.mul(x, pl.cast(by, pl.FP32))\n    return out\n")
    assert "its size is known only at run time  [slice-size]" in refused(capsys, "check", path)
    write(tmp_path, DECLARED + "\n\n@pl.jit\ndef other(x: pl.Tensor[[64, 64], pl.FP32]): ...\n")
    several = f"error: {path} defines several programs: scaled, other  [program-name]\n"
    assert refused(capsys, "show", path) == several + f"  = hint: name one: {path}:scaled\n"


def test_annotations_without_shapes_make_no_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For a kernel on tensors of any shape, the error says what to declare or how to compile it."""
    path = write(tmp_path, JITTED)
    text = refused(capsys, "show", path)
    assert text.startswith(
        "error: the annotation of 'x' has no shape, and double is compiled without arrays  "
        "[argument-kind]\n"
    )
    assert "\n  |            ^^^^^^^^^^^^\n" in text
    assert text.endswith("  = hint: declare x: pl.Tensor[[64, 64], pl.FP32]\n")
    kind = "pl.Tensor[[16, 64], pl.FP32]"
    write(tmp_path, f"{JITTED}\nprogram = double.parse({kind}, {kind})\n")
    assert "def double(self" in output(capsys, "show", path)
    assert "has no shape" in refused(capsys, "check", f"{path}:double")


CONSTANT = """\
import pypto.language as pl


@pl.jit
def scaled(
    x: pl.Tensor[[64, 64], pl.FP32], n: int, out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]
):
    out[:] = x[:] * n
"""


def test_constants_without_default_make_no_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A parameter that only a call tells is an error at its place, and its hint works."""
    path = write(tmp_path, CONSTANT)
    text = refused(capsys, "check", path)
    assert text.startswith(
        "error: parameter 'n' of scaled is a constant of the kernel without a default, and scaled "
        "is compiled without a call  [argument-count]\n"
    )
    assert ":6:38\n" in text
    assert "\n  |                                      ^^^^^^\n" in text
    assert text.endswith("  = hint: write program = scaled.parse(n=64) at the end\n")
    write(tmp_path, f"{CONSTANT}\n\nprogram = scaled.parse(n=64)\n")
    assert "sync    ok" in output(capsys, "check", path)


HOST = """\
import pypto.language as pl


@pl.program
class Host:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, n: pl.INT64) -> pl.INT64:
        return n * 2
"""


def test_show_orchestration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The host function is shown as C++ alone; one without kernels has nothing else to show."""
    text = JITTED.replace("@pl.jit", "@pl.jit(type=pl.FunctionType.Orchestration)").replace(
        "    out[:] =", "    with pl.incore():\n        out[:] ="
    )
    kind = "pl.Tensor[[16, 64], pl.FP32]"
    path = write(tmp_path, f"{text}\nprogram = double.parse({kind}, {kind})\n")
    shown = output(capsys, "show", path, "orchestration")
    assert shown.startswith("#include <stddef.h>\n")
    assert "make_output_param(ext_out)" in shown
    data: dict[str, str] = json.loads(output(capsys, "show", path, "orchestration", "--json"))
    assert data == {"double": shown}
    kernel = write(tmp_path, f"{JITTED}\nprogram = double.parse({kind}, {kind})\n")
    assert "is a kernel, not an orchestration" in refused(capsys, "show", kernel, "orchestration")


def test_show_without_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If there is nothing to show, the command says so."""
    assert cli.main(["show", write(tmp_path, HOST), "cpp"]) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "Host launches no kernels\n")


def test_show_with_options_of_cpp(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An option adds its text to the kernels; without it, or if it is false, the text is absent."""
    plain = output(capsys, "show", double, "cpp")
    hinted = output(capsys, "show", double, "cpp", "--option", "scheduling_hints")
    assert "    TADD(_t0, tile, tile);\n" in plain
    assert "    TADD(_t0, tile, tile);  // V\n" in hinted
    words = ("--option", "scheduling_hints=true", "--option", "fold_constants")
    both = output(capsys, "show", double, "cpp", *words)
    assert "    TADD(_t0, tile, tile);  // V\n" in both
    off = ("--option", "scheduling_hints", "--option", "scheduling_hints=false")
    assert output(capsys, "show", double, "cpp", *off) == plain


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "magic",
            "'magic' is not one of fold_constants, remove_dead_code, share_expressions, "
            "scheduling_hints, debug_prints, profile, source_lines",
        ),
        ("profile=2", "profile is true or false, not '2'"),
        ("profile=", "profile is true or false, not ''"),
    ],
)
def test_wrong_options_of_cpp(
    option: str, message: str, double: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown option, or a value that it does not accept, is a usage error."""
    text = refused(capsys, "show", double, "cpp", "--option", option, status=2)
    assert text.splitlines()[-1] == f"pypto show: error: argument --option: {message}"


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("show", "mlir"), "cpp"),
        (("compile", "--backend", "pto"), "--backend cce"),
        (("run", "--target", "interpreter"), "--target cpu"),
        (("run", "--strict=late"), "--target cpu"),
    ],
)
def test_options_where_no_cpp_is_written(
    words: tuple[str, ...], place: str, double: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options for C++ are rejected where they would have no effect."""
    command, *rest = words
    text = refused(capsys, command, double, *rest, "--option", "profile", status=2)
    assert text == f"pypto {command}: error: --option goes with {place}\n"


def test_compile_with_options_of_cpp(
    double: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The kernels in the folder contain what the options add."""
    folder = tmp_path / "out"
    output(capsys, "compile", double, "-o", str(folder), "--option", "scheduling_hints")
    text = (folder / "kernels" / "aiv" / "twice.cpp").read_text()
    assert "    TADD(_t0, tile, tile);  // V\n" in text


def test_run_with_a_profile(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A run whose kernels count their calls prints the counts."""
    compiler()
    words = ("run", double, "--entry", "twice", "--option", "profile")
    *_, last = output(capsys, *words).splitlines()
    assert last.startswith("  kernel twice: calls 1, ")
    run = json.loads(output(capsys, *words, "--json"))
    assert run["profile"]["twice"]["calls"] == 1


def test_show_with_optional_passes(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Optional passes run where they are named, and statistics have a line for each pass."""
    report = output(capsys, "show", double, "--with", "Simplify", "--with", "DeadCode", "--stats")
    names = [line.split()[0] for line in report.splitlines()]
    assert names[:1] + names[-1:] == ["pass", "all"]
    assert names.index("Simplify") + 1 == names.index("DeadCode")
    text = refused(capsys, "show", double, "--with", "Magic")
    assert text.splitlines()[0] == "error: there is no optional pass 'Magic'  [pass-name]"
    text = refused(capsys, "show", double, "cpp", "--stats", status=2)
    assert text == "pypto show: error: --stats goes with ir\n"


def test_show_the_memory_plan(
    double: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """As text, as JSON, and drawn as a page."""
    text = output(capsys, "show", double, "memory")
    assert text.startswith("twice, Vec: ")
    [plan] = json.loads(output(capsys, "show", double, "memory", "--json"))
    assert (plan["kernel"], plan["memory"], plan["usable"]) == ("twice", "Vec", 188_416)
    assert sum(buffer["bytes"] for buffer in plan["buffers"]) == plan["height"]
    page = tmp_path / "plan.html"
    assert output(capsys, "show", double, "memory", "-o", str(page)) == f"{page}\n"
    assert page.read_text().count("<rect ") == len(plan["buffers"])
    text = refused(capsys, "show", double, "-o", str(page), status=2)
    assert text == "pypto show: error: -o goes with memory\n"


def test_unknown_pass(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """For an unknown pass, the error lists the passes."""
    text = refused(capsys, "show", double, "--after", "Magic")
    first, hint = text.splitlines()
    assert first == "error: there is no pass 'Magic'  [pass-name]"
    assert hint.startswith("  = hint: one of ConvertToSSA, ")
    text = refused(capsys, "show", double, "--after", "Simplify")
    first, hint = text.splitlines()
    assert first.startswith("error: Simplify is an optional pass, which no strategy runs by itself")
    assert hint == "  = hint: --with Simplify --after Simplify"
    assert "def twice" in output(capsys, "show", double, *hint.split()[2:])


def test_strict_runs_are_interpreted(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The strict interpreter emits no C++."""
    text = refused(capsys, "run", double, "--strict", "--target", "cpu", status=2)
    assert text == "pypto run: error: --strict goes with --target interpreter\n"
    assert "on interpreter: " in output(
        capsys, "run", double, "--strict", "--target", "interpreter"
    )


def test_strategy_without_flags(
    double: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """C++ in which nothing orders the pipes is not emitted."""
    words = ["compile", double, "-o", str(tmp_path / "out"), "--strategy", "PTOAS"]
    lines = refused(capsys, *words).splitlines()
    assert lines[0] == (
        "error: OptimizationStrategy.PTOAS leaves flags to the assembler, which C++ does not pass"
        "  [strategy]"
    )
    assert lines[-1].lstrip() == "= hint: --strategy Default, or --backend pto"
    assert not list((tmp_path / "out").rglob("*.cpp"))


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--after", "insert_sync"), "--after InsertSync"),
        (("--with", "Simplfy"), "--with Simplify"),
    ],
)
def test_misspelt_pass(
    double: str, words: tuple[str, str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pass given by its function's name, or with a letter missing, is hinted at by its name."""
    assert refused(capsys, "show", double, *words).splitlines()[1] == f"  = hint: {hint}"


def test_misspelt_entry(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The hint is a command-line argument."""
    assert refused(capsys, "run", double, "--entry", "twyce", "--target", "interpreter") == (
        "error: the program has no function 'twyce'; it has main, twice  [entry]\n"
        "  = hint: --entry twice\n"
    )


def test_usage_errors(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A usage error exits with status 2."""
    refused(capsys, status=2)
    refused(capsys, "show", double, "asm", status=2)
    text = refused(capsys, "show", double, "cpp", "--after", "ConvertToSSA", status=2)
    assert text == "pypto show: error: --after goes with ir\n"


def test_run_on_the_arguments_of_a_case(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A program in the list CASES runs on the arguments that its inputs function returns."""
    path = Path(double)
    path.write_text(
        DOUBLE
        + """
import numpy as np
from pypto.runtime import Case

def inputs(rng):
    x = np.full((8, 16), rng.integers(100), np.float32)
    return {"x": x, "out": np.zeros_like(x)}

CASES = [Case("double", Double, inputs, lambda **_: {}, 0.0)]
"""
    )
    words = ("run", double, "--target", "interpreter", "--json", "--seed")
    for seed in ("1", "2"):
        [result] = json.loads(output(capsys, *words, seed))["results"]
        assert result["sum"] == 2 * 8 * 16 * np.random.default_rng(int(seed)).integers(100)


def test_lists_of_other_cases(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A program's own list may have the same name as the examples' lists."""
    path = Path(double)
    path.write_text(DOUBLE + "\nCASES = [(Double, [16, 64])]\n")
    assert "ok" in output(capsys, "check", double)
    assert "sum" in output(capsys, "run", double, "--target", "interpreter", "--json")


def test_run_on_both_targets(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same seed gives the same checksum on the CPU and in the interpreter."""
    found: list[dict[str, Any]] = []
    for target in ("cpu", "interpreter"):
        if target == "cpu":
            compiler()
        words = ("run", double, "--json", "--seed", "3", "--target", target)
        found.append(json.loads(output(capsys, *words)))
    assert [run["target"] for run in found] == ["cpu", "interpreter"]
    assert found[0]["results"] == found[1]["results"]
    [result] = found[0]["results"]
    drawn = (np.random.default_rng(3).random((8, 16)) * 2 - 1).astype(np.float32) * 2
    assert (result["name"], result["shape"], result["dtype"]) == ("out", [8, 16], "float32")
    assert result["sum"] == drawn.astype(np.float64).sum()
    other = json.loads(output(capsys, "run", double, "--json", "--target", "interpreter"))
    assert other["results"][0]["crc32"] != result["crc32"]


def test_run_prints_a_line_a_result(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Text output has the signature and each result."""
    first, second = output(capsys, "run", double, "--target", "interpreter").splitlines()
    assert first.startswith("main(x: Tensor[[8, 16], FP32], out: Out[Tensor[[8, 16], FP32]]) on ")
    assert second.startswith("  out: [8, 16] float32, sum ")


def dispatch(count: int) -> str:
    """Return a kernel with a chain of ``count`` elifs, each a branch inside the previous one."""
    arms = [
        f"        {'el' if i else ''}if n == {i}:\n            t = t + {i}.0" for i in range(count)
    ]
    return "\n".join(
        [
            "import pypto.language as pl",
            "",
            "@pl.program",
            "class Dispatch:",
            "    @pl.function(type=pl.FunctionType.InCore)",
            "    def kernel(",
            "        self, n: pl.INT64, x: pl.Tensor[[8, 8], pl.FP32],",
            "        out: pl.Out[pl.Tensor[[8, 8], pl.FP32]],",
            "    ):",
            "        t = pl.load(x, [0, 0], [8, 8])",
            *arms,
            "        out = pl.store(t, [0, 0], [8, 8], out)",
        ]
    )


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
def test_run_of_nested_branches(
    strict: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Branches nested deeper than Python's recursion limit are traversed, once."""
    path = write(tmp_path, dispatch(250))
    words = ["--strict"] if strict else []
    run = json.loads(
        output(capsys, "run", path, "--target", "interpreter", "--json", "--size", "n=7", *words)
    )
    x = (np.random.default_rng(0).random((8, 8)) * 2 - 1).astype(np.float32)
    assert run["results"][0]["sum"] == (x + 7).astype(np.float64).sum()


def test_conversion_of_nested_branches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The statement form of such a kernel has a region for each branch."""
    path = write(tmp_path, dispatch(250))
    assert output(capsys, "convert", path, "--to", "statement").count("statement.if ") == 250


def test_too_deep(
    double: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nesting that a command cannot handle is an error, without a traceback."""

    def fail(_text: str) -> None:
        raise RecursionError

    monkeypatch.setattr(run_command, "load_case", fail)
    assert refused(capsys, "run", double) == (
        "error: the program nests too deeply for this command  [too-deep]\n"
        "  = hint: put inner loops and branches into functions of their own\n"
    )


ANY_ROWS = """\
from __future__ import annotations

import pypto.language as pl

M, K = pl.dynamic("M"), pl.dynamic("K")


@pl.program
class AnyRows:
    @pl.function(type=pl.FunctionType.InCore)
    def rows(
        self,
        n: pl.INT32,
        x: pl.Tensor[[M, 64], pl.FP32],
        y: pl.Tensor[[K + n * 2, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[M, K], pl.FP32]],
    ):
        for i in pl.range(M):
            out[i : i + 1, :64] = x[i : i + 1] + y[K + n * 2 - 1 : K + n * 2]
"""


def test_run_with_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each --size is a dimension or an integer, and dimensions computed from these follow."""
    path = write(tmp_path, ANY_ROWS)
    words = ("run", path, "--json", "--target", "interpreter", "--seed", "5")
    run = json.loads(output(capsys, *words, "--size", "M=8", "--size", "n=3", "--size", "K=64"))
    assert run["sizes"] == {"M": 8, "n": 3, "K": 64}
    rng = np.random.default_rng(5)
    x, y = ((rng.random((rows, 64)) * 2 - 1).astype(np.float32) for rows in (8, 64 + 3 * 2))
    [result] = run["results"]
    assert result["shape"] == [8, 64]
    assert result["sum"] == (x + y[-1:]).astype(np.float64).sum()


def test_sizes_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run without sizes says what to add, at the first parameter that needs it."""
    path = write(tmp_path, ANY_ROWS)
    found = refused(capsys, "run", path, "--target", "interpreter")
    assert found == (
        "error: rows is given no size 'M', which dimension 0 of 'x' needs  [size-missing]\n"
        f"  --> {path}:14:9\n"
        "   |\n"
        "14 |         x: pl.Tensor[[M, 64], pl.FP32],\n"
        "   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "   = hint: --size M=64 --size K=64 --size n=64\n"
    )
    hint = found.partition("= hint: ")[2].split()
    assert output(capsys, "run", path, "--target", "interpreter", *hint)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--size", "N=8"], "rows has no size 'N'; it has n, M, K"),
        (["--size", "M=8", "--size", "k=4"], "rows has no size 'k'; it has n, M, K"),
    ],
    ids=["other", "case"],
)
def test_unknown_sizes_are_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For an unknown size name, the error lists the known ones."""
    path = write(tmp_path, ANY_ROWS)
    found = refused(capsys, "run", path, "--target", "interpreter", *words)
    assert found.splitlines()[0] == f"error: {message}  [size-name]"


def test_constant_sizes_take_none(double: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A program whose sizes are all constant accepts none."""
    found = refused(capsys, "run", double, "--target", "interpreter", "--size", "M=8")
    assert found == (
        "error: main has no size 'M': all its sizes are constant  [size-name]\n"
        "  = hint: leave it out\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--size", "M"], "argument --size: a size is given as NAME=64, not 'M'"),
        (["--size", "M=-1"], "argument --size: a size is given as NAME=64, not 'M=-1'"),
        (["--size", "M=1", "--size", "M=1"], "--size M is given twice"),
        (["--seed", "-1"], "argument --seed: an integer of 0 or more was wanted, not '-1'"),
    ],
    ids=["name", "negative", "twice", "seed"],
)
def test_wrong_sizes_are_refused(
    words: list[str], message: str, double: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A malformed size is a usage error."""
    found = refused(capsys, "run", double, *words, status=2)
    assert found.splitlines()[-1] == f"pypto run: error: {message}"


def test_run_of_one_of_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The function that --entry names runs, though the program has no entry of its own."""
    path = write(tmp_path, TWO_KERNELS)
    run = json.loads(
        output(capsys, "run", path, "--json", "--target", "interpreter", "--entry", "second")
    )
    assert run["entry"] == "second"


TWO_KERNELS = """\
import pypto.language as pl

@pl.program
class Two:
    @pl.function(type=pl.FunctionType.InCore)
    def first(self, x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        out[:] = x[:]

    @pl.function(type=pl.FunctionType.InCore)
    def second(self, x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        out[:] = x[:] * 2
"""


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"M": 10**17}, "there is no memory for 'x' of rows, [100000000000000000, 64] elements"),
        ({"M": 10**13}, "there is no memory for 'x' of rows, [10000000000000, 64] elements"),
        ({"n": 1 << 31}, "the size 'n' is 2147483648, which is out of range for INT32"),
    ],
    ids=["address", "memory", "number"],
)
def test_sizes_too_large_are_refused(
    sizes: dict[str, int], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A size or number that is out of range is a usage error, not a traceback."""
    given = [f"--size={name}={size}" for name, size in ({"M": 8, "K": 64, "n": 1} | sizes).items()]
    path = write(tmp_path, ANY_ROWS)
    found = refused(capsys, "run", path, "--target", "interpreter", *given)
    assert found.startswith(f"error: {message}")
    assert found.endswith("  [argument-range]\n")


def test_graph_with_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With sizes there is a run to draw; without them the calls in the source are shown."""
    path = write(tmp_path, ANY_TASKS)
    assert output(capsys, "show", path, "--graph").startswith("main: ")
    drawn = output(capsys, "show", path, "--graph", "--size", "M=32")
    assert drawn.startswith("main: 2 tasks in 1 level, 0 dependences\n")
    for words, message in (
        (["--size", "M=8"], "--size goes with --graph"),
        (["--graph", "--static", "--size", "M=8"],
         "--size goes without --static, which runs nothing"),
    ):  # fmt: skip
        found = refused(capsys, "show", path, *words, status=2)
        assert found == f"pypto show: error: {message}\n"


ANY_TASKS = """\
import pypto.language as pl

M = pl.dynamic("M")


@pl.program
class Blocks:
    @pl.function(type=pl.FunctionType.InCore)
    def block(self, x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        out[:] = x[:] * 2

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[M, 64], pl.FP32], out: pl.Out[pl.Tensor[[M, 64], pl.FP32]]):
        for i in pl.range(0, M, 16):
            self.block(x[i : i + 16], out[i : i + 16])
"""


@pytest.mark.parametrize("backend", ["cce", "pto"])
def test_compile_writes_files(
    double: str, tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that the command lists are those in the folder."""
    monkeypatch.setenv("PATH", "")  # no assembler
    folder = tmp_path / "out"
    done = pypto(
        "compile", double, "-o", str(folder), "--backend", backend, "--json", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    written = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    suffix = {"cce": ".cpp", "pto": ".pto"}[backend]
    assert json.loads(done.stdout) == {"folder": str(folder), "files": written}
    assert any(name.endswith(f"twice{suffix}") for name in written)


def test_several_programs_need_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For a file with two programs, the error lists their names; one of them can be named."""
    path = write(tmp_path, DOUBLE + DOUBLE.replace("class Double", "class Twice"))
    assert refused(capsys, "show", path) == (
        f"error: {path} defines several programs: Double, Twice  [program-name]\n"
        f"  = hint: name one: {path}:Double\n"
    )
    assert "class Twice:" in output(capsys, "show", f"{path}:Twice")
    assert refused(capsys, "show", f"{path}:Thrice") == (
        f"error: {path} defines no 'Thrice'; it defines Double, Twice  [program-name]\n"
        f"  = hint: name one that it defines: {path}:Twice\n"
    )
    assert refused(capsys, "show", f"{path}:Q") == (
        f"error: {path} defines no 'Q'; it defines Double, Twice  [program-name]\n"
    )


def test_a_second_name_is_no_second_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An alias of a program does not make its file ambiguous, and names it like the first one."""
    path = write(tmp_path, DOUBLE + "\nAlias = Double\n")
    assert "class Double:" in output(capsys, "show", path)
    assert output(capsys, "show", f"{path}:Alias") == output(capsys, "show", path)
    assert output(capsys, "check", f"{path}:Alias").startswith(f"{path}: Alias\n  rules   ok\n")


def test_a_function_beside_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A function that is named is shown, although its file also defines a program."""
    alone = "\n@pl.function\ndef alone(n: pl.INT64) -> pl.INT64:\n    return n\n"
    path = write(tmp_path, DOUBLE + alone)
    assert "class Double:" in output(capsys, "show", path)
    assert "def alone(self, n: pl.Scalar[pl.INT64])" in output(capsys, "show", f"{path}:alone")
    assert refused(capsys, "show", f"{path}:capsys").startswith(
        f"error: {path} defines no 'capsys'; it defines Double  [program-name]\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "error: {path} defines no program  [program-name]"),
        ("x = 1\ny = z\n", "error: NameError: name 'z' is not defined  [user-file]"),
        ("x = 1\ndef f(:\n", "error: SyntaxError: invalid syntax  [user-file]"),
        ("import sys\nsys.exit(3)\n", "error: SystemExit: 3  [user-file]"),
    ],
)
def test_files_that_are_no_kernels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    """A file that raises is reported at its line, without a traceback."""
    path = write(tmp_path, text)
    lines = refused(capsys, "show", path).splitlines()
    assert lines[0] == message.format(path=path)
    if "user-file" in message:
        assert lines[1].strip().startswith(f"--> {path}:2")


def test_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing file is a one-line error."""
    path = str(tmp_path / "none.py")
    assert refused(capsys, "run", path) == f"error: {path}: No such file or directory  [file]\n"


def test_neighbours_can_be_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file can import modules beside it, as a script can, and `sys.path` stays unchanged."""
    (tmp_path / "pypto_test_neighbour.py").write_text("ROWS = 8\n")
    text = "from pypto_test_neighbour import ROWS\n" + DOUBLE
    before = sys.path.copy()
    assert "class Double:" in output(capsys, "show", write(tmp_path, text))
    assert sys.path == before
    del sys.modules["pypto_test_neighbour"]


# --------------------------------------------------------------------------------------------
# Demo
# --------------------------------------------------------------------------------------------

EXAMPLE = (
    DOUBLE
    + """

import numpy as np
from pypto.runtime import Case


def inputs(rng):
    return {"x": rng.random((8, 16), np.float32), "out": np.zeros((8, 16), np.float32)}


def right(x, out, precision=np.float64):
    return {"out": x * 2}


def wrong(x, out, precision=np.float64):
    return {"out": x * 3}


CASES = [Case("right", Double, inputs, right, 0.0), Case("wrong", Double, inputs, wrong, 0.1)]
"""
)


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "examples"
    folder.mkdir()
    (folder / "double.py").write_text(EXAMPLE)
    monkeypatch.setattr(example_cases, "examples_directory", lambda: folder)
    return tmp_path / "code"


def test_demo_of_a_good_case(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A case within its bound passes on all targets, and its code is where the output says."""
    text = output(capsys, "demo", "right", "--json", "-o", str(example))
    [report] = json.loads(text)
    targets = ["interpreter"] if find_toolchain() is None else ["interpreter", "cpu"]
    assert (report["name"], report["good"], report["failure"]) == ("right", True, None)
    assert list(report["targets"]) == targets
    assert all(found["error"] == 0 for found in report["targets"].values())
    assert sorted(report["files"]) == sorted(p.as_posix() for p in (example / "right").iterdir())
    assert {Path(name).name for name in report["files"]} == {"twice.cpp", "twice.pto"}


def test_demo_of_a_bad_case(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An error beyond the bound is marked and makes the status 1."""
    assert cli.main(["demo", "-o", str(example)]) == 1
    lines = capsys.readouterr().out.splitlines()
    marks = [line.split()[-2] for line in lines if " error " in line]
    half = len(marks) // 2
    assert marks == ["<="] * half + ["EXCEEDS"] * half


def test_demo_without_a_compiler(
    example: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a compiler a notice says so, and only the interpreter runs."""
    monkeypatch.setattr(demo_command, "find_toolchain", lambda: None)
    monkeypatch.setattr(example_cases, "find_toolchain", lambda: None)
    lines = output(capsys, "demo", "right", "-o", str(example)).splitlines()
    assert lines[0].startswith("The examples run in the interpreter only: no C++ compiler")
    assert [line.split()[0] for line in lines if " error " in line] == ["interpreter"]


@pytest.mark.usefixtures("example")
def test_demo_of_an_unknown_case(capsys: pytest.CaptureFixture[str]) -> None:
    """For an unknown case name, the error lists the known ones."""
    assert refused(capsys, "demo", "left") == (
        "error: there is no example 'left'  [examples]\n  = hint: one of right, wrong\n"
    )


@pytest.mark.parametrize(
    ("found", "wanted", "error"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.5], [1.0], 0.5),
        ([110.0], [100.0], 0.1),
        ([0.25], [0.0], 0.25),
        ([np.nan], [1.0], np.inf),
        ([np.nan, np.inf], [np.nan, np.inf], 0.0),
        ([np.inf], [-np.inf], np.inf),
        ([1.0, 1.0], [1.0], np.inf),
        ([], [], 0.0),
    ],
)
def test_relative_error(found: list[float], wanted: list[float], error: float) -> None:
    """The error is relative to the larger of 1 and the expected value; NaN matches only NaN."""
    assert relative_error(found, wanted) == error


WHOLE = """
import pypto.language as pl

M = pl.dynamic("M")


@pl.jit
def scale(x: pl.Tensor[[M, 64], pl.FP32], y: pl.Out[pl.Tensor[[M, 64], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = pl.mul(x, 2.0)
    return y
"""


def test_check_of_sizes_that_a_call_gives(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A kernel with ops on whole tensors is checked at one size, as a call compiles it."""
    path = tmp_path / "whole.py"
    path.write_text(WHOLE, "utf-8")
    found = refused(capsys, "check", str(path))
    assert "its size is known only at run time" in found
    assert "= note: calls compile it for their sizes; to check some, add --size M=64\n" in found
    assert "pto     ok" in output(capsys, "check", str(path), "--size", "M=17")
