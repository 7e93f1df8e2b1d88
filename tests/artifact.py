"""Builds the package and tests the result, outside the checkout.

    python -m tests.artifact                 build into a temporary folder, then try it
    python -m tests.artifact build FOLDER    the wheel and the sdist
    python -m tests.artifact try FOLDER      install each into an environment of its own, below a
                                             folder of spaces and letters; run the first kernel of
                                             the README, the page of the first five minutes, a new
                                             project, also without a compiler and without a
                                             writable home, and `pypto demo`
    python -m tests.artifact version TAG     reject a tag that is not the version, or has no
                                             section in the changelog

Needs nothing but Python: it runs before anything is installed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMANDS = "Scripts" if os.name == "nt" else "bin"
IN_WHEEL = (
    "golden/__init__.py",
    "pypto/py.typed",
    "pypto/examples/softmax.py",
    "pypto/include/pto/pto-inst.hpp",
    "pypto/pages/errors.md",
    "pypto/pages/errors/shape-mismatch.md",
)
HOMES = ("HOME", "USERPROFILE", "LOCALAPPDATA")
NO_COMPILER = {"PATH": "", "PYPTO_CXX": ""}
IN_SDIST = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "tests/artifact.py")


def run(
    command: Sequence[str | Path],
    folder: Path,
    variables: Mapping[str, str] | None = None,
    status: int = 0,
) -> str:
    """Run a command in a folder, like a user without a checkout; return its output.

    Exits if the command's status is not the expected one.
    """
    words = [str(word) for word in command]
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {
        "PYPTO_CACHE_DIR": str(folder / "cache"),
        "PYTHONUTF8": "1",
        **(variables or {}),
    }
    begin = time.perf_counter()
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode != status:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    shown = " ".join([Path(words[0]).stem, *(w for w in words[1:] if len(w) < 60)])
    print(f"  {shown}: {time.perf_counter() - begin:.1f} s", flush=True)
    return done.stdout


def environment_in(folder: Path) -> Path:
    """Create an environment and return the folder of its commands."""
    venv.create(folder, with_pip=True)
    return folder / COMMANDS


def build(target: Path) -> None:
    """Write the wheel, built from the sdist, and the sdist into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        python = environment_in(folder / "environment") / "python"
        run([python, "-m", "pip", "install", "--quiet", "build"], folder)
        run([python, "-m", "build", "--outdir", target.absolute(), ROOT], folder)
    wheel, sdist = artifacts(target)
    held = set(zipfile.ZipFile(wheel).namelist())
    require(held, IN_WHEEL, wheel)
    if any(name.startswith("tests/") for name in held):
        sys.exit(f"{wheel.name} holds tests")
    with tarfile.open(sdist) as archive:
        require({name.partition("/")[2] for name in archive.getnames()}, IN_SDIST, sdist)
    for path in (wheel, sdist):
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")


def require(held: set[str], wanted: Sequence[str], path: Path) -> None:
    """Exit if an archive lacks files."""
    missing = sorted(set(wanted) - held)
    if missing:
        sys.exit(f"{path.name} lacks {', '.join(missing)}")


def artifacts(folder: Path) -> tuple[Path, Path]:
    """Return the one wheel and the one sdist in a folder."""
    wheels, sdists = list(folder.glob("pypto-*.whl")), list(folder.glob("pypto-*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        sys.exit(f"{folder} holds {len(wheels)} wheels and {len(sdists)} sdists, not one of each")
    return wheels[0], sdists[0]


def first_kernel() -> str:
    """Return the first program of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def first_minutes() -> list[tuple[str, str]]:
    """Return what a newcomer types: commands of the start page and the first tutorial, and files.

    A file's name comes before its text; ``sh`` comes before a command. What a page adds to a kernel
    goes below it, in the same file.
    """
    steps = [("sh", "pypto demo softmax")]
    assert steps[0][1] in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "tutorials" / "first-kernel.md").read_text(encoding="utf-8")
    file, text = "", ""
    for language, name, block in re.findall(r"^```(\w+) ?(.*)\n([^`]*?)^```$", page, re.MULTILINE):
        if language == "sh":
            steps += [("sh", line) for line in block.splitlines()]
        elif language == "python":
            file = name or file
            text = block if name else f"{text}\n\n{block}"
            steps += [(file, text), ("sh", f"python {file}")]
    return steps


def try_out(path: Path) -> None:
    """Install a wheel or an sdist into a new environment and use it there."""
    print(path.name)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve() / "two wörds"
        folder.mkdir()
        commands = environment_in(folder / "environment")
        python = commands / "python"
        run([python, "-m", "pip", "install", "--quiet", path.absolute()], folder)
        where = run([python, "-c", "import pypto; print(pypto.__file__)"], folder).strip()
        if not Path(where).resolve().is_relative_to(folder):
            sys.exit(f"pypto was imported from {where}, not from the new environment")
        said = run([commands / "pypto", "--version"], folder).split()
        if said != ["pypto", version()]:
            sys.exit(f"pypto --version says {' '.join(said)}, the checkout is {version()}")
        (folder / "first.py").write_text(first_kernel(), encoding="utf-8")
        run([python, "first.py"], folder)
        for kind, text in first_minutes():
            if kind == "sh":
                program, *words = text.split()
                run([commands / program, *words], folder)
            else:
                (folder / kind).write_text(text, encoding="utf-8")
        run([commands / "pypto", "check", "first.py"], folder)
        run([commands / "pypto", "explain", "shape-mismatch"], folder)
        run([commands / "pypto", "doctor", "--json"], folder)
        # A newcomer's own project; then the same on a machine without a compiler, and with a home
        # that nothing can be written to.
        run([commands / "pypto", "new", "kern"], folder)
        run([commands / "pypto", "run", "kern/kern.py"], folder)
        run([commands / "pypto", "run", "kern/kern.py"], folder, NO_COMPILER)
        (folder / "home").touch()  # not a folder at all
        home = str(folder / "home")
        variables = {**dict.fromkeys(HOMES, home), "PYPTO_CACHE_DIR": ""}
        run([commands / "pypto", "run", "kern/kern.py"], folder, variables)
        print(run([commands / "pypto", "demo"], folder).rstrip())


def version() -> str:
    """Return the version of the checkout."""
    text = (ROOT / "src" / "pypto" / "_version.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found is not None
    return found[1]


def sections() -> list[tuple[str, str, str]]:
    """Return the sections of the changelog, newest first: version, date and text."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?\n(.*?)(?=^## |\Z)"
    found = re.findall(heads, text, re.MULTILINE | re.DOTALL)
    return [(name, date, body.strip()) for name, date, body in found]


def check_tag(tag: str) -> None:
    """Exit unless a tag names this version, which the changelog describes with its date."""
    if tag != f"v{version()}":
        sys.exit(f"the tag is {tag}, the version v{version()}: src/pypto/_version.py has it")
    (unreleased, _, pending), (name, date, _), *_ = sections()
    if unreleased != "Unreleased" or pending:
        sys.exit("CHANGELOG.md has changes under Unreleased: give them to the version")
    if name != version() or not date:
        sys.exit(f"CHANGELOG.md has no section [{version()}] with a date below Unreleased")
    print(f"{tag} of {date}")


def main(arguments: Sequence[str]) -> None:
    """Run the command line."""
    match arguments:
        case []:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                main(["build", folder])
                main(["try", folder])
        case ["build", folder]:
            build(Path(folder))
        case ["try", folder]:
            for path in artifacts(Path(folder)):
                try_out(path)
        case ["version", tag]:
            check_tag(tag)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
