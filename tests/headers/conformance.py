"""Measure our headers against the recorded behaviour of the real header library.

Two comparisons: whether each recorded translation unit compiles, and whether the recorded runs
give equal results. Verdicts come from a CPU model that is laxer than the NPU (it loads into Left
tiles, moves Acc to Vec), so the comparison uses ``PTO_CPU_LAX=1``; ``strict`` counts what the
default mode rejects in addition, which by construction is only what a ``PTO_NPU_RULE`` rejects.

Many units are compiled at once: every unit's function gets a unique name and a ``#line``
marker, errors are attributed to the unit that required them, and the rest is compiled again until
it is free of errors.

    python -m tests.headers.conformance --data <folder> [--runs] [--strict] [--jobs 2]

``--carry <folder>`` writes what ``tests/data/isa`` carries: every verdict, and as many runs as fit.
"""

from __future__ import annotations

import argparse
import ctypes
import gzip
import json
import re
import subprocess
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pypto._src.run.toolchain import Toolchain, find_toolchain

Array = npt.NDArray[Any]

INCLUDE = Path(__file__).parents[2] / "src" / "pypto" / "include"
DATA = Path(__file__).parents[1] / "data" / "isa"
LAX = "-DPTO_CPU_LAX=1"
BATCH = 160
RUN_BATCH = 40

PRELUDE = "#include <cstdint>\n#include <pto/pto-inst.hpp>\n\nusing namespace pto;\n"
ENTRY = "kernel_entry"
CONTROL = """
extern "C" __aicore__ const char* control_error() { return pto::cpu::error(); }
extern "C" __aicore__ void control_start() { pto::cpu::reset_error(); pto::cpu::poison(0); }
"""
_BLAMED = re.compile(r"^case(\d+):\d+:\d+:", re.MULTILINE)
_ALL_ERRORS = ("-ferror-limit=0", "-ftemplate-backtrace-limit=0")
_ERROR = re.compile(r"\berror: (.*)")


@dataclass(frozen=True)
class Case:
    """One recorded translation unit."""

    name: str
    body: str
    instruction: str
    compiles: bool
    error: str
    suspect: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Argument:
    """One argument of a run; ``value`` is that of a scalar."""

    name: str
    kind: str
    shape: tuple[int, ...]
    value: int


@dataclass(frozen=True)
class Run:
    """One recorded execution of a case."""

    name: str
    case: str
    arguments: tuple[Argument, ...]
    bits: bool
    relative: float
    absolute: float
    file: str
    suspect: str


def read_cases(folder: Path) -> list[Case]:
    """Return the recorded units of ``verdicts.jsonl.gz``, in file order."""
    with gzip.open(folder / "verdicts.jsonl.gz", "rt") as lines:
        rows = [cast("dict[str, Any]", json.loads(line)) for line in lines]
    return [
        Case(
            name=row["id"],
            body=str(row["code"]).removeprefix(PRELUDE),
            instruction=row["tags"][0],
            compiles=row["compiles"],
            error=row.get("error") or "",
            suspect=row.get("suspect") or "",
            tags=tuple(map(str, row["tags"])),
        )
        for row in rows
    ]


def read_runs(folder: Path) -> list[Run]:
    """Return the index of recorded executions, in file order."""
    return [_run(row) for row in json.loads(_index_text(folder))["runs"]]


def _index_text(folder: Path) -> str:
    path = folder / "runs.json"
    if path.exists():
        return path.read_text()
    return gzip.decompress(path.with_suffix(".json.gz").read_bytes()).decode()


def _run(row: Mapping[str, Any]) -> Run:
    kind, *bounds = row["tol"]
    relative, absolute = bounds if kind == "rel" else (0.0, 0.0)
    return Run(
        name=row["id"],
        case=row["case"],
        arguments=tuple(
            Argument(a["name"], a["kind"], tuple(a["shape"]), int(a.get("value", 0)))
            for a in row["args"]
        ),
        bits=kind == "bits",
        relative=relative,
        absolute=absolute,
        file=row["file"],
        suspect=row.get("suspect") or "",
    )


# ------------------------------------------------------------------------------------- verdicts
def unit(cases: Sequence[Case]) -> str:
    """Return one translation unit with every case as function ``k<index>``."""
    parts = [PRELUDE]
    for index, case in enumerate(cases):
        body = case.body.replace(ENTRY, f"k{index}")
        parts.append(f'#line 1 "case{index}"\n{body}')
    parts.append('#line 1 "control"\n' + CONTROL)
    return "\n".join(parts)


def blame_before(messages: str) -> dict[int, str]:
    """Return the first error of each case in the output of g++.

    It gives the location that required an instantiation before the errors inside it.
    """
    found: dict[int, str] = {}
    current: int | None = None
    for line in messages.splitlines():
        marker, error = _BLAMED.match(line), _ERROR.search(line)
        if marker is not None:
            current = int(marker.group(1))
        if error is not None and current is not None:
            found.setdefault(current, error.group(1))
    return found


def blame_after(messages: str) -> dict[int, str]:
    """Return the first error of each case in the output of clang.

    It gives the location that required an instantiation in notes after the error.
    """
    found: dict[int, str] = {}
    pending: str | None = None
    for line in messages.splitlines():
        marker, error = _BLAMED.match(line), _ERROR.search(line)
        if error is not None:
            pending = error.group(1)
        if marker is not None and pending is not None:
            found.setdefault(int(marker.group(1)), pending)
            pending = None
    return found


def _syntax(toolchain: Toolchain, flags: Sequence[str], cases: Sequence[Case]) -> dict[int, str]:
    clang = toolchain.kind in ("clang", "zig")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "cases.cpp"
        source.write_text(unit(cases))
        command = [*toolchain.command, "-std=c++17", f"-I{INCLUDE}", *flags, "-w"]
        command += _ALL_ERRORS if clang else ()
        # zig requires an object file even if it is not needed.
        zig = toolchain.kind == "zig"
        command += ["-c", "-O0", "-o", f"{folder}/cases.o"] if zig else ["-fsyntax-only"]
        command += [str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return {}
    found = blame_after(done.stderr) if clang else blame_before(done.stderr)
    if not found:
        raise RuntimeError("an error that belongs to no case:\n" + done.stderr[:2000])
    return found


def judge_batch(
    toolchain: Toolchain, flags: Sequence[str], cases: Sequence[Case]
) -> dict[str, str]:
    """Return the rejected cases of a batch, each with its first error."""
    refused: dict[str, str] = {}
    rest = list(cases)
    while rest:
        found = _syntax(toolchain, flags, rest)
        if not found:
            break
        refused.update({rest[index].name: text for index, text in found.items()})
        rest = [case for case in rest if case.name not in refused]
    return refused


def _batches(cases: Sequence[Case], size: int) -> list[list[Case]]:
    # Group cases by verdict: those that compile need only one pass.
    ordered = sorted(cases, key=lambda case: case.compiles)
    return [ordered[i : i + size] for i in range(0, len(ordered), size)]


def judge(
    toolchain: Toolchain, cases: Sequence[Case], *, lax: bool = True, jobs: int = 2
) -> dict[str, str]:
    """Return the cases that our headers reject, each with its first error."""
    flags = [LAX] if lax else []

    def part(batch: Sequence[Case]) -> dict[str, str]:
        return judge_batch(toolchain, flags, batch)

    with ThreadPoolExecutor(jobs) as pool:
        parts = pool.map(part, _batches(cases, BATCH))
        return {name: text for found in parts for name, text in found.items()}


def disagreements(cases: Iterable[Case], refused: Mapping[str, str]) -> list[Case]:
    """Return the unsuspicious cases on which our verdict differs, in order."""
    return [c for c in cases if not c.suspect and c.compiles == (c.name in refused)]


# ----------------------------------------------------------------------------------------- runs
class Recording:
    """The arrays of the recorded executions of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, Any] = {}

    def array(self, run: Run, name: str) -> Array:
        """Return the array ``<run>/<name>``, which the caller may modify."""
        if run.file not in self._files:
            self._files[run.file] = np.load(self._folder / run.file)
        return np.array(self._files[run.file][f"{run.name}/{name}"])

    def start(self, run: Run, argument: Argument) -> Array:
        """Return the initial value of an array argument."""
        if argument.kind == "inout":
            return self.array(run, argument.name + ".init")
        stored = self.array(run, argument.name)
        return stored if argument.kind == "in" else np.zeros(stored.shape, stored.dtype)


def differing(run: Run, ours: Array, recorded: Array) -> int:
    """Return how many elements are outside the tolerance of the run."""
    if run.bits:
        word = np.dtype(f"u{ours.dtype.itemsize}")
        return int(np.count_nonzero(ours.view(word) != recorded.view(word)))
    if ours.dtype.kind != "f":
        a, b = ours.astype(np.int64), recorded.astype(np.int64)
        if run.relative == 0 and run.absolute == 0:
            return int(np.count_nonzero(a != b))
        bound = run.relative * np.abs(b) + run.absolute
        return int(np.count_nonzero(np.abs(a - b) > bound))
    x, y = ours.astype(np.float64), recorded.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(x - y) <= run.relative * np.abs(y) + run.absolute
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    return int(np.count_nonzero(~(near | same)))


def _execute(library: ctypes.CDLL, symbol: str, run: Run, recording: Recording) -> str:
    arrays = [None if a.kind == "scalar" else recording.start(run, a) for a in run.arguments]
    words = [
        a.value if array is None else array.ctypes.data
        for a, array in zip(run.arguments, arrays, strict=True)
    ]
    library.control_start()
    getattr(library, symbol)((ctypes.c_int64 * max(1, len(words)))(*words))
    if library.control_error() is not None:
        return cast(bytes, library.control_error()).decode()
    for argument, array in zip(run.arguments, arrays, strict=True):
        if argument.kind in ("out", "inout") and array is not None:
            wrong = differing(run, array, recording.array(run, argument.name))
            if wrong:
                return f"{wrong} of {array.size} elements of {argument.name} differ"
    return ""


def run_batch(
    toolchain: Toolchain,
    cases: Sequence[Case],
    runs: Mapping[str, Sequence[Run]],
    recording: Recording,
    flags: Sequence[str],
) -> dict[str, str]:
    """Compile cases, execute their runs; return the runs that differ, each with a reason."""
    with tempfile.TemporaryDirectory() as folder:
        source, path = Path(folder) / "cases.cpp", Path(folder) / "cases.so"
        source.write_text(unit(cases))
        command = [*toolchain.command, "-std=c++17", "-O1", "-fPIC", "-shared", "-w", LAX, *flags]
        command += ["-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno"]
        command += ["-fno-trapping-math", f"-I{INCLUDE}", str(source), "-o", str(path)]
        subprocess.run(command, check=True)
        library = ctypes.CDLL(str(path))
        library.control_error.restype = ctypes.c_char_p
        wrong: dict[str, str] = {}
        for index, case in enumerate(cases):
            for run in runs[case.name]:
                reason = _execute(library, f"k{index}", run, recording)
                if reason:
                    wrong[run.name] = reason
        return wrong


def execute(
    toolchain: Toolchain,
    cases: Sequence[Case],
    runs: Sequence[Run],
    folder: Path,
    *,
    flags: Sequence[str] = (),
    jobs: int = 2,
) -> dict[str, str]:
    """Execute runs whose cases compile; return those that differ, each with a reason."""
    by_case: dict[str, list[Run]] = {}
    for run in runs:
        by_case.setdefault(run.case, []).append(run)
    chosen = [case for case in cases if case.name in by_case]
    batches = [chosen[i : i + RUN_BATCH] for i in range(0, len(chosen), RUN_BATCH)]

    def part(batch: Sequence[Case]) -> dict[str, str]:
        return run_batch(toolchain, batch, by_case, Recording(folder), flags)

    with ThreadPoolExecutor(jobs) as pool:
        return {name: text for found in pool.map(part, batches) for name, text in found.items()}


# ----------------------------------------------------------------------------------------- data
def chosen_runs(runs: Sequence[Run], sizes: Mapping[str, int], budget: int) -> list[Run]:
    """Return runs of `budget` compressed bytes at most, those of rare instructions first.

    Each round takes the next smallest run of every instruction; a case is taken a second time only
    when every case of its instruction is included.
    """
    groups: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: (sizes[run.name], run.name)):
        groups.setdefault(run.case.split("-")[0], []).append(run)
    for name, group in groups.items():
        first = {run.case: run for run in reversed(group)}
        ahead = [run for run in group if first[run.case] is run]
        groups[name] = ahead + [run for run in group if first[run.case] is not run]
    taken: set[str] = set()
    for turn in range(max(map(len, groups.values()), default=0)):
        for group in groups.values():
            if turn < len(group) and sizes[group[turn].name] <= budget:
                budget -= sizes[group[turn].name]
                taken.add(group[turn].name)
    return [run for run in runs if run.name in taken]


def _packed(array: Array) -> int:
    return len(zlib.compress(array.tobytes())) + 200  # the archive's overhead per member


def carry(source: Path, target: Path, budget: int) -> None:
    """Write the verdicts and a selection of the runs of ``source`` to ``target``."""
    recording = Recording(source)
    runs = [run for run in read_runs(source) if not run.suspect]
    arrays = {
        run.name: {
            f"{run.name}/{name}": recording.array(run, name)
            for a in run.arguments
            if a.kind != "scalar"
            for name in ([a.name + ".init", a.name] if a.kind == "inout" else [a.name])
        }
        for run in runs
    }
    sizes = {name: sum(map(_packed, members.values())) for name, members in arrays.items()}
    chosen = {run.name for run in chosen_runs(runs, sizes, budget)}
    target.mkdir(parents=True, exist_ok=True)
    target.joinpath("verdicts.jsonl.gz").write_bytes(
        source.joinpath("verdicts.jsonl.gz").read_bytes()
    )
    index = json.loads(_index_text(source))
    rows = [{**row, "file": "runs.npz"} for row in index["runs"] if row["id"] in chosen]
    text = json.dumps({"version": index["version"], "runs": rows}, separators=(",", ":"))
    target.joinpath("runs.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    kept = {k: v for name in arrays if name in chosen for k, v in arrays[name].items()}
    np.savez_compressed(target / "runs.npz", allow_pickle=False, **kept)


# --------------------------------------------------------------------------------------- report
def _print_groups(title: str, names: Iterable[tuple[str, str]], show: bool) -> None:
    listed = list(names)
    print(f"\n{title}: {len(listed)}")
    for key, count in Counter(key for key, _ in listed).most_common():
        print(f"  {count:4} {key}")
        if show:
            for other, name in listed:
                if other == key:
                    print(f"         {name}")


def _report_verdicts(
    toolchain: Toolchain, cases: Sequence[Case], jobs: int, show: bool
) -> dict[str, str]:
    refused = judge(toolchain, cases, jobs=jobs)
    fair = [case for case in cases if not case.suspect]
    wrong = disagreements(cases, refused)
    share = 1 - len(wrong) / len(fair)
    print(f"verdicts: {len(fair) - len(wrong)} of {len(fair)} agree ({100 * share:.2f} %)")
    _print_groups(
        "we refuse, they compile",
        ((f"{c.instruction}: {refused[c.name][:110]}", c.name) for c in wrong if c.compiles),
        show,
    )
    _print_groups(
        "we compile, they refuse",
        ((f"{c.instruction}: {c.error[:110]}", c.name) for c in wrong if not c.compiles),
        show,
    )
    return refused


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison; exit code 0 if it was carried out without problems."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="regular expression of instructions")
    parser.add_argument("--runs", action="store_true", help="execute the recorded runs, too")
    parser.add_argument("--flags", default="", help="more flags for the runs: --flags=-O3")
    parser.add_argument("--strict", action="store_true", help="count the default mode, too")
    parser.add_argument("--show", action="store_true", help="name every case")
    parser.add_argument("--carry", type=Path, help="write the data of the tests to this folder")
    parser.add_argument("--budget", type=int, default=2_600_000, help="bytes of the carried runs")
    given = parser.parse_args(arguments)
    if given.carry is not None:
        carry(given.data, given.carry, given.budget)
        return 0
    toolchain = find_toolchain()
    if toolchain is None:
        parser.error("no C++ compiler")
    keep: Callable[[str], object] = re.compile(given.only or ".*").fullmatch
    cases = [case for case in read_cases(given.data) if keep(case.instruction)]
    refused = _report_verdicts(toolchain, cases, given.jobs, given.show)
    if given.strict:
        strict = judge(toolchain, cases, lax=False, jobs=given.jobs)
        extra = [
            (strict[c.name], c.name) for c in cases if c.name in strict.keys() - refused.keys()
        ]
        _print_groups("refused by the default mode only", extra, given.show)
    if given.runs:
        good = [case for case in cases if case.name not in refused]
        names = {case.name for case in good}
        runs = [r for r in read_runs(given.data) if not r.suspect and r.case in names]
        flags = given.flags.split()
        wrong = execute(toolchain, good, runs, given.data, flags=flags, jobs=given.jobs)
        print(f"\nruns: {len(runs) - len(wrong)} of {len(runs)} equal")
        _print_groups("runs that differ", ((why, run) for run, why in wrong.items()), True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
