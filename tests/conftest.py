"""Options, profiles and fixtures for all tests.

``golden(name, text)`` compares a text with ``tests/golden/<name>``. A run of the whole suite also
fails if a file in that folder is compared with nothing.
"""

from __future__ import annotations

import difflib
import gc
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests import effort

if TYPE_CHECKING:
    from pypto._src.run.toolchain import Toolchain

# Tests run in several processes: NumPy's matrix threads would wait for one another, spinning.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Containers often forbid writing bytecode: then each process that a test starts, and there are
# hundreds, would compile the package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

GOLDEN = Path(__file__).parent / "golden"
USED_GOLDEN = pytest.StashKey[set[str]]()

# How long generating data takes depends on the machine and on what else it runs.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", UNTIMED, max_examples=15)
settings.register_profile("ci", UNTIMED, max_examples=15, derandomize=True, print_blob=True)
settings.register_profile("nightly", UNTIMED, max_examples=5000, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def draws_from_module(path: str) -> bool:
    """Return False for any module; see below."""
    return False


if os.environ.get("CI"):
    # Hypothesis also draws numbers and strings that occur in the modules loaded so far: a test
    # would draw other values after other tests. There is no setting for it. Versions without
    # the module draw none of them; `tests/meta/test_draws.py` shows whether this one does.
    asks = "hypothesis.internal.conjecture.providers.is_local_module_file"
    with suppress(ImportError):
        pytest.MonkeyPatch().setattr(asks, draws_from_module, raising=False)

# Variables that change the output of PyPTO, argparse or Python's own tracebacks.
OF_THE_OUTPUT = (
    "COLUMNS",
    "FORCE_COLOR",
    "NO_COLOR",
    "PTO_BACKTRACE",
    "PYPTO_DEBUG",
    "PYTHON_COLORS",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the files in tests/golden instead of comparing with them",
    )
    parser.addoption(
        "--thorough",
        action="store_true",
        help="draw all programs, run all combinations, and compile all kernels as users do",
    )
    parser.addoption(
        "--show-text",
        action="store_true",
        help="print the whole texts of kernels that are not those that tests/golden records",
    )


def pytest_configure(config: pytest.Config) -> None:
    effort.thorough = bool(config.getoption("--thorough"))
    config.stash[USED_GOLDEN] = set()
    # A worker with nothing left to do takes tests from another; else one ends a minute later.
    if config.getoption("dist", None) == "load":  # what pytest-xdist makes of `-n`
        config.option.dist = "worksteal"


def pytest_collection_finish() -> None:
    """Exclude modules and the tests themselves from garbage collection, but not what tests make.

    They live until the end, and traversing them repeatedly takes a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


@pytest.fixture(scope="session", autouse=True)
def plain_output() -> Iterator[None]:
    """Make the texts that tests compare the same in every terminal and on every CI machine."""
    with pytest.MonkeyPatch.context() as patch:
        for name in OF_THE_OUTPUT:
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_compiler(request: pytest.FixtureRequest) -> Iterator[tuple[str, ...]]:
    """Compile kernels with -O1, which takes two thirds of the time; yield the shipped flags.

    No flag may change a value (`run.toolchain`). That -O3 changes none is shown by the tests that
    use `shipped_flags`, by all processes that tests start, and by all tests with ``--thorough``.
    """
    from pypto._src.run import toolchain

    shipped: tuple[str, ...] = toolchain.FAST
    with pytest.MonkeyPatch.context() as patch:
        if not effort.thorough:
            quick = tuple("-O1" if flag == "-O3" else flag for flag in shipped)
            patch.setattr(toolchain, "FAST", quick)
        yield shipped


@pytest.fixture(scope="module")
def shipped_flags(quick_compiler: tuple[str, ...]) -> Iterator[None]:
    """Compile the kernels of a module's tests with the flags that users get."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pypto._src.run.toolchain.FAST", quick_compiler)
        yield


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    """Return the C++ compiler."""
    from tests.natively import compiler  # NumPy reads the variable above when it is loaded

    return compiler()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return ``golden(name, text)``, which fails unless tests/golden/<name> contains the text."""
    used = request.config.stash[USED_GOLDEN]
    update = bool(request.config.getoption("--update-golden"))

    def compare(name: str, text: str) -> None:
        used.add(name)
        path = GOLDEN / name
        if update:
            write_atomically(path, text)
            return
        if not path.exists():
            pytest.fail(f"tests/golden/{name} is missing; `make golden` writes it", pytrace=False)
        expected = path.read_bytes().decode()
        if text != expected:
            difference = difflib.unified_diff(
                expected.splitlines(), text.splitlines(), f"tests/golden/{name}", "now", lineterm=""
            )
            lines = "\n".join(difference) or "only line ends differ"
            pytest.fail(f"{lines}\n`make golden` accepts the new text", pytrace=False)

    return compare


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` so that a concurrent test reads either the old text or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, suffix=".new", delete=False) as file:
        file.write(text.encode())
    temporary = Path(file.name)
    temporary.chmod(0o644)
    temporary.replace(path)


def orphan_golden_files(used: set[str]) -> list[str]:
    files = (path for path in GOLDEN.rglob("*") if path.is_file())
    return sorted({path.relative_to(GOLDEN).as_posix() for path in files} - used)


def runs_whole_suite(config: pytest.Config) -> bool:
    """True if no argument or option selects among the tests."""
    selecting = ("keyword", "markexpr", "lf", "deselect", "ignore", "ignore_glob", "maxfail")
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not any(
        config.getoption(option, None) for option in selecting
    )


@pytest.hookimpl(optionalhook=True)  # called by pytest-xdist, with its own class of node
def pytest_testnodedown(node: Any, error: object) -> None:
    output: dict[str, list[str]] = getattr(node, "workeroutput", {})
    node.config.stash[USED_GOLDEN].update(output.get("used_golden", []))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    config = session.config
    used = config.stash[USED_GOLDEN]
    output: dict[str, list[str]] | None = getattr(config, "workeroutput", None)
    if output is not None:  # a worker of pytest-xdist; the controller sees all names
        output["used_golden"] = sorted(used)
    elif exitstatus == pytest.ExitCode.OK and runs_whole_suite(config):
        orphans = orphan_golden_files(used)
        if orphans:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            print("\nNo test compares with these files in tests/golden:", *orphans, sep="\n  ")
