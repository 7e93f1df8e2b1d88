"""``pypto doctor``: what this machine has for PyPTO, and what to type for what is missing."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pypto._src import knobs
from pypto._src.build_output import find_assembler
from pypto._src.commands.cli_options import Commands, json_words, print_json
from pypto._src.errors import PyptoError
from pypto._src.knobs import KnobError
from pypto._src.records import NamedTuple
from pypto._src.run import cache, toolchain
from pypto._src.run.scheduler import thread_count
from pypto._src.run.toolchain import Toolchain, find_toolchain
from pypto._version import __version__

EXTRAS: Final = {
    "toolchain": ("ziglang", "a C++ compiler as a wheel"),
    "mlir": ("xdsl", "pypto verify, and the check of MLIR in pypto check"),
    "profile": ("bokeh", "pypto profile -o OUT.html"),
    "torch": ("torch", "kernels as operators of PyTorch"),
    "jax": ("jax", "kernels as functions of JAX"),
    "cluster": ("ray", "programs of ranks and searches on several machines"),
    "editor": ("pygls", "pypto language-server"),
    "bench": ("torch", "benchmarks beside PyTorch"),
}
"""The extras that users install: the package each brings, and what it is for."""

_VECTORS: Final = (
    ("__AVX512F__", "AVX-512"),
    ("__AVX2__", "AVX2"),
    ("__AVX__", "AVX"),
    ("__SSE4_1__", "SSE4"),
    ("__SSE__", "SSE"),
    ("__ARM_FEATURE_SVE", "SVE"),
    ("__ARM_NEON", "NEON"),
)
"""Macros that compilers define for these vector instructions, the widest first."""


class Finding(NamedTuple):
    """One property of the machine: what is there, and what to do if it is not good."""

    name: str
    text: str
    data: object
    problem: str | None = None
    hint: str | None = None


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "doctor",
        parents=[json_words()],
        help="say what this machine has for PyPTO, and what to type for what is missing",
    )
    parser.set_defaults(command=_doctor)


def _doctor(args: argparse.Namespace) -> int:
    findings = [_python(), _compiler(), _threads(), _cache(), _assembler(), *_extras()]
    findings += _variables()
    problems = [found for found in findings if found.problem is not None]
    if args.json:
        extras = {f.name.removeprefix("extra "): f.data for f in findings if f.name[:5] == "extra"}
        print_json(
            {
                "pypto": __version__,
                **{f.name: f.data for f in findings if f.name in _SINGLE},
                "extras": extras,
                "environment": {k.name: k.text() for k in knobs.KNOBS if k.text() is not None},
                "problems": [{"message": f.problem, "hint": f.hint} for f in problems],
            }
        )
        return 1 if problems else 0
    width = max(len(found.name) for found in findings)
    for found in findings:
        print(f"{found.name:<{width}}  {found.text}")
    for found in problems:
        print(f"\nproblem: {found.problem}")
        if found.hint is not None:
            print(f"  = hint: {found.hint}")
    if not problems:
        print("\nPrograms run compiled on this machine.")
    return 1 if problems else 0


_SINGLE: Final = ("python", "compiler", "threads", "cache", "assembler")


def _python() -> Finding:
    where = f"{platform.python_implementation()} {platform.python_version()}"
    system = f"{platform.system()} {platform.machine()}"
    data = {
        "implementation": platform.python_implementation(),
        "version": platform.python_version(),
        "executable": sys.executable,
        "system": platform.system(),
        "machine": platform.machine(),
    }
    return Finding("python", f"{where} on {system}, pypto {__version__}", data)


def _compiler() -> Finding:
    data: dict[str, Any] = {"command": None, "kind": None, "version": None}
    data |= {"flags": [], "vectors": None, "tried": {}}
    try:
        found = find_toolchain()
    except PyptoError as error:  # PYPTO_CXX or PYPTO_SANITIZE asks for something missing
        hint = error.hint or "unset PYPTO_CXX, and the first compiler that works is used"
        return Finding("compiler", "none that can be used", data, error.message, hint)
    if found is None:
        reasons = {name: why for name, why in toolchain.candidates() if isinstance(why, str)}
        tried = "; ".join(f"{name}: {why}" for name, why in reasons.items())
        return Finding(
            "compiler",
            "none: programs run in the interpreter, which is slower",
            {**data, "tried": reasons},
            f"no C++ compiler that works was found ({tried})",
            "pip install 'pypto[toolchain]'",
        )
    vectors = _vectors(found)
    data |= {
        "command": list(found.command),
        "kind": found.kind,
        "version": found.version.partition("\n")[0],
        "flags": list(found.flags),
        "vectors": vectors,
    }
    tuned = " ".join(found.tuning) or "no tuning for this machine"
    return Finding("compiler", f"{found.label}, {tuned}: {vectors or 'no vectors'}", data)


def _vectors(found: Toolchain) -> str | None:
    """Return the widest vector instructions that the compiler uses with its flags."""
    words = [*found.command, *found.tuning, "-dM", "-E", "-x", "c++", os.devnull]
    done = toolchain.run(words, timeout_s=toolchain.VERSION_TIMEOUT_S)
    macros = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("#define ")}
    return next((name for macro, name in _VECTORS if macro in macros), None)


def _threads() -> Finding:
    try:
        count = thread_count()
    except KnobError as error:
        return Finding("threads", "unknown", None, str(error), "unset PYPTO_NUM_THREADS")
    chosen = knobs.NUM_THREADS.get()
    why = "as PYPTO_NUM_THREADS says" if chosen else "as many as this process may use"
    return Finding("threads", f"{count}, {why}", count)


def _cache() -> Finding:
    try:
        directory = knobs.CACHE_DIR.get()
    except KnobError as error:
        nothing = {"directory": None, "kernels": 0, "bytes": 0}
        return Finding("cache", "unknown", nothing, str(error), "unset PYPTO_CACHE_DIR")
    problem = cache.why_unusable(directory)
    kernels, size = _contents(directory)
    data = {"directory": str(directory), "kernels": kernels, "bytes": size}
    text = f"{directory}: {kernels} kernels, {size / 1e6:.1f} MB"
    if problem is None:
        return Finding("cache", text, data)
    return Finding("cache", text, data, problem.message, problem.hint)


def _contents(directory: Path) -> tuple[int, int]:
    """Return the number of kernels in a cache directory, and the bytes of all its files."""
    kernels = size = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder, name)
            try:
                size += path.lstat().st_size
            except OSError:  # gone meanwhile
                continue
            kernels += path.suffix == ".so"
    return kernels, size


def _assembler() -> Finding:
    command = find_assembler()
    text = command or "none: MLIR is written as text, and no further"
    return Finding("assembler", text, command)


def _extras() -> Sequence[Finding]:
    found: list[Finding] = []
    for name, (package, use) in EXTRAS.items():
        is_there = importlib.util.find_spec(package) is not None
        text = (
            f"{package} is installed" if is_there else f"no {package}: pip install 'pypto[{name}]'"
        )
        data = {"package": package, "installed": is_there, "use": use}
        found.append(Finding(f"extra {name}", f"{text} ({use})", data))
    return found


def _variables() -> Sequence[Finding]:
    """Return the variables that are set, each with what is wrong with its value if anything is."""
    found: list[Finding] = []
    reported = (knobs.NUM_THREADS, knobs.CACHE_DIR)  # whose values have a line of their own
    for knob in knobs.KNOBS:
        value = knob.text()
        if value is None:
            continue
        problem = None
        try:
            getattr(knob, "get", knob.text)()
        except KnobError as error:
            problem = None if knob in reported else str(error)
        hint = None if problem is None else f"unset {knob.name}"
        found.append(Finding(knob.name, value, value, problem, hint))
    return found
