"""Installs the built package in all the usual ways, uses it there, and prints a table.

    python -m tests.installs FOLDER [PYTHON...]    FOLDER has the wheel and the sdist that
                                                   `python -m tests.artifact build` makes; PYTHON
                                                   is an interpreter, by default each that is
                                                   supported, on PATH or from pyenv

Everything happens below a folder whose name has spaces and non-ASCII letters. uv, pipx and ziglang
come from the package index; shells and compilers missing from the machine are reported as missing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.artifact import COMMANDS, HOMES, NO_COMPILER, artifacts, first_minutes, run
from tests.shells import CASES, START, completed

VERSIONS = range(11, 15)


class Missing(Exception):
    """A prerequisite of a trial is missing on this machine."""


class Machine(NamedTuple):
    """What all trials use."""

    folder: Path
    wheel: Path
    sdist: Path
    tools: Path
    """The folder with the commands of uv and pipx."""


def interpreters() -> list[str]:
    """Return the interpreters of this machine, one of each supported version."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = [path for minor in VERSIONS if (path := shutil.which(f"python3.{minor}"))]
    kept = [str(path) for path in sorted(pyenv.glob("3.*/bin/python"))]
    found: dict[str, str] = {}
    for path in [sys.executable, *named, *kept]:
        probe = [path, "-c", "import sys; print(*sys.version_info[:2], sys.executable)"]
        done = subprocess.run(probe, capture_output=True, encoding="utf-8", check=False)
        if done.returncode == 0:  # a shim of pyenv may lead nowhere
            major, minor, real = done.stdout.strip().split(" ", 2)
            if int(major) == 3 and int(minor) in VERSIONS:
                found.setdefault(f"3.{minor}", real)
    return list(found.values())


def environment(machine: Machine, python: str, name: str) -> Path:
    """Create an environment for an interpreter; return the folder of its commands."""
    folder = machine.folder / name
    run([python, "-m", "venv", folder], machine.folder)
    return folder / COMMANDS


def installed(machine: Machine, python: str, what: str, *words: str) -> Path:
    """Return the commands of a new environment into which pip has installed ``what``."""
    taken = time.time_ns()
    commands = environment(machine, python, f"environment {taken}")
    run([commands / "python", "-m", "pip", "install", "--quiet", *words, what], machine.folder)
    return commands


def used(commands: Path, variables: Mapping[str, str] | None = None, target: str = "cpu") -> str:
    """Use the command ``pypto`` as the first pages say, and return how kernels ran."""
    pypto = commands / "pypto"
    # One cache for all trials: compiled kernels do not depend on how PyPTO was installed.
    variables = {"PYPTO_CACHE_DIR": str(commands.parents[1] / "cache"), **(variables or {})}
    folder = Path(tempfile.mkdtemp(dir=commands.parents[1], prefix="füßchen "))
    for kind, text in first_minutes():
        if kind != "sh":
            (folder / kind).write_text(text, encoding="utf-8")
        elif text.startswith("pypto"):
            run([pypto, *text.split()[1:]], folder, variables)
    said = run([pypto, "run", "add_one.py:add_one"], folder, variables)
    if f" on {target}: " not in said:
        sys.exit(f"add_one did not run on {target}: {said}")
    return f"ran on {target}"


def doctor(
    commands: Path, variables: Mapping[str, str], status: int = 0
) -> tuple[str | None, list[str]]:
    """Return the compiler that `pypto doctor` names, and what it says to type."""
    folder = commands.parents[1]
    said = run([commands / "pypto", "doctor", "--json"], folder, variables, status)
    found = json.loads(said)
    command = found["compiler"]["command"]
    hints = [problem["hint"] for problem in found["problems"]]
    return None if command is None else " ".join(map(str, command)), hints


def with_pip(machine: Machine, python: str, what: Path) -> str:
    """Use an installation made with pip."""
    return used(installed(machine, python, str(what)))


def with_uv(machine: Machine, python: str) -> str:
    """Use an installation made with uv, in an environment that uv created."""
    folder = machine.folder / f"uv {Path(python).name} {time.time_ns()}"
    uv = machine.tools / "uv"
    run([uv, "venv", "--quiet", "--python", python, folder], machine.folder)
    where = folder / COMMANDS / "python"
    run([uv, "pip", "install", "--quiet", "--python", where, machine.wheel], machine.folder)
    return used(folder / COMMANDS)


def with_pipx(machine: Machine, python: str) -> str:
    """Use the command that pipx has installed."""
    home = machine.folder / "pipx home"
    commands = home / "made" / "commands"
    places = {"PIPX_HOME": str(home), "PIPX_BIN_DIR": str(commands), "PIPX_MAN_DIR": str(home)}
    words = ["install", "--quiet", "--python", python, machine.wheel]
    run([machine.tools / "pipx", *words], machine.folder, places)
    return used(commands)


def offline(machine: Machine, python: str) -> str:
    """Install from a folder of wheels that was downloaded before."""
    wheels = machine.folder / "wheels"
    download = ["download", "--quiet", "--dest", wheels, machine.wheel]
    run([python, "-m", "pip", *download], machine.folder)
    count = len(list(wheels.glob("*.whl")))
    words = ["--no-index", "--find-links", str(wheels)]
    return f"{used(installed(machine, python, 'pypto', *words))}, {count} wheels"


def without_compiler(machine: Machine, python: str) -> str:
    """Check, show and run without a compiler; doctor says what to type."""
    commands = installed(machine, python, str(machine.wheel))
    compiler, hints = doctor(commands, NO_COMPILER, 1)
    if compiler is not None or hints != ["pip install 'pypto[toolchain]'"]:
        sys.exit(f"pypto doctor says {compiler} and {hints}")
    return f"{used(commands, NO_COMPILER, 'interpreter')}; hint: {hints[0]}"


def with_zig(machine: Machine, python: str) -> str:
    """Do what doctor says to type: use the compiler from a wheel, with no other on PATH."""
    commands = installed(machine, python, f"{machine.wheel}[toolchain]")
    compiler, hints = doctor(commands, NO_COMPILER)
    if compiler is None or not compiler.endswith("-m ziglang c++") or hints:
        sys.exit(f"pypto doctor says {compiler} and {hints}")
    return f"{used(commands, NO_COMPILER)} by zig"


def with_compiler(machine: Machine, python: str, name: str) -> str:
    """Use one compiler of the machine."""
    if shutil.which(name) is None:
        raise Missing(f"no {name}")
    commands = installed(machine, python, str(machine.wheel))
    compiler, hints = doctor(commands, {"PYPTO_CXX": name})
    if compiler is None or Path(compiler).name != name or hints:
        sys.exit(f"pypto doctor says {compiler} and {hints}")
    return f"{used(commands, {'PYPTO_CXX': name})} by {name}"


def read_only_home(machine: Machine, python: str) -> str:
    """Use it if nothing can be written to the home, which is not even a folder."""
    home = machine.folder / "home"
    home.touch()
    variables = {**dict.fromkeys(HOMES, str(home)), "PYPTO_CACHE_DIR": ""}
    return used(installed(machine, python, str(machine.wheel)), variables)


def completion(machine: Machine, python: str, shell: str) -> str:
    """Complete partial words in a real shell, with the script of the installed command."""
    if shutil.which(shell) is None:
        raise Missing(f"no {shell}")
    commands = installed(machine, python, str(machine.wheel))
    folder = machine.folder / f"kernels of {shell}"
    folder.mkdir()
    wanted = [words for _, words in CASES]
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{commands}{os.pathsep}{before}"
    try:
        if shell in START:
            found = completed(shell, f'eval "$(pypto completion {shell})"', folder)
        else:
            (folder / "kernel.py").touch()
            ask = "pypto completion fish | source; complete -C '{}'"
            words = ["fish", "--no-config", "-c"]
            lines = [run([*words, ask.format(typed)], folder) for typed, _ in CASES]
            found = [line.partition("\t")[0].strip() for line in lines]
            wanted = [words.split()[-1] for words in wanted]
    finally:
        os.environ["PATH"] = before
    if found != wanted:
        sys.exit(f"{shell} completes to {found}, not {wanted}")
    return f"{len(found)} lines completed"


def trials(machine: Machine, pythons: Sequence[str]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield all trials: those of an installer for each Python, the others for the first."""
    for python in pythons:
        version = run([python, "--version"], machine.folder).split()[1]
        yield f"pip, wheel, {version}", lambda p=python: with_pip(machine, p, machine.wheel)
        yield f"pip, sdist, {version}", lambda p=python: with_pip(machine, p, machine.sdist)
        yield f"uv, {version}", lambda p=python: with_uv(machine, p)
    python = pythons[0]
    yield "pipx", lambda: with_pipx(machine, python)
    yield "no network", lambda: offline(machine, python)
    yield "no compiler", lambda: without_compiler(machine, python)
    yield "zig", lambda: with_zig(machine, python)
    for name in ("g++", "clang++"):
        yield name, lambda n=name: with_compiler(machine, python, n)
    yield "read-only home", lambda: read_only_home(machine, python)
    for shell in (*START, "fish"):
        yield f"completion in {shell}", lambda s=shell: completion(machine, python, s)


def main(words: Sequence[str]) -> int:
    """Run all trials; print a row for each, and return whether one failed."""
    if not words:
        sys.exit(__doc__)
    wheel, sdist = (path.resolve() for path in artifacts(Path(words[0])))
    rows: list[tuple[str, str, float]] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve() / "two wörds"
        folder.mkdir()
        machine = Machine(folder, wheel, sdist, folder / "tools" / COMMANDS)
        run([sys.executable, "-m", "venv", folder / "tools"], folder)
        pip = [machine.tools / "python", "-m", "pip", "install", "--quiet", "uv", "pipx"]
        run(pip, folder)
        for what, trial in trials(machine, words[1:] or interpreters()):
            print(what, flush=True)
            begin = time.perf_counter()
            try:
                outcome = trial()
            except Missing as reason:
                outcome = f"left out: {reason}"
            except SystemExit as failure:
                outcome = f"FAILED: {failure}"
            rows.append((what, outcome, time.perf_counter() - begin))
    print("\n| Installed with | Outcome | s |\n|---|---|---|")
    for what, outcome, seconds in rows:
        print(f"| {what} | {outcome} | {seconds:.0f} |")
    return int(any(outcome.startswith("FAILED") for _, outcome, _ in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
