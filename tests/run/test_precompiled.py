"""The precompiled header: which sources use it, and that nothing depends on it."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pypto._src.run.cache import CompileError, build
from pypto._src.run.objects import precompiled
from pypto._src.run.objects.precompiled import Headers, prelude
from pypto._src.run.shield import Abandoned
from pypto._src.run.toolchain import Finished, Kind, Toolchain, run
from tests.natively import compiler

BEGIN = "#include <cstdint>\n\n#include <pto/pto-inst.hpp>\n"
ANSWER = (
    '{}extern "C" __attribute__((visibility("default"))) int answer() {{ return ANSWER + {}; }}\n'
)


class Lines:
    """The command lines of all compilations, which are run, or end as ``outcome`` says."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.outcomes: dict[str, Finished | BaseException] = {}

    def __call__(
        self, line: Sequence[str], *, timeout_s: float, environment: dict[str, str]
    ) -> Finished:
        text = " ".join(line)
        self.lines.append(text)
        for words, outcome in self.outcomes.items():
            if words in text:
                if isinstance(outcome, BaseException):
                    raise outcome
                return outcome
        return run(line, timeout_s=timeout_s, environment=environment)

    def kinds(self) -> list[str]:
        """Return the kind of each compilation since the last call, sorted: two run at once."""
        marks = {"-x c++-header": "header", " -c ": "object", "-include": "with header"}
        found = [
            next((kind for mark, kind in marks.items() if mark in line), "plain")
            for line in self.lines
        ]
        self.lines.clear()
        return sorted(found)


@pytest.fixture
def toolchain(monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    monkeypatch.delenv("PYPTO_CXX", raising=False)
    found = compiler()
    if found.kind not in ("gcc", "clang"):
        pytest.skip("this compiler has no precompiled headers that we know")
    return replace(found, tuning=())


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lines:
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path / "cache"))
    found = Lines()
    monkeypatch.setattr(precompiled, "run", found)
    return found


@pytest.fixture
def headers(tmp_path: Path) -> Path:
    """Return a folder with a small header under the name that kernels include."""
    path = tmp_path / "include"
    (path / "pto").mkdir(parents=True)
    (path / "pto" / "pto-inst.hpp").write_text("#ifndef ANSWER\n#define ANSWER 40\n#endif\n")
    return path


def compiled(number: int, toolchain: Toolchain, headers: Path, begin: str = BEGIN) -> Path:
    return build(ANSWER.format(begin, number), toolchain=toolchain, include_dirs=[headers])


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (BEGIN + "int x;\n#include <late>\n", ("<cstdint>", "<pto/pto-inst.hpp>")),
        ('// what it is\n#include "a.hpp"\n', ('"a.hpp"',)),
        ("#define PTO_CPU_LAX 1\n" + BEGIN, ()),
        ("", ()),
    ],
)
def test_prelude_is_what_comes_before_all_else(source: str, wanted: tuple[str, ...]) -> None:
    """A macro before an include may change what the include means."""
    assert prelude(source) == wanted


def test_header_is_compiled_beside_the_first_source(
    toolchain: Toolchain, headers: Path, lines: Lines
) -> None:
    """The first source does not wait for header and object; the second one uses them."""
    compiled(1, toolchain, headers)
    assert lines.kinds() == ["header", "object", "plain"]
    compiled(2, toolchain, headers)
    assert lines.kinds() == ["with header"]


FIXED = """\
#pragma once
extern const char* ahead;
#if !defined(PTO_COMPILED_AHEAD)
#if defined(PTO_COMPILES_AHEAD)
const char* ahead = "in the object";
#else
inline const char* ahead = "in the kernel";
#endif
#endif
"""
WHERE = 'extern "C" __attribute__((visibility("default"))) const char* where() { return ahead; }\n'


def test_what_the_header_declares_is_linked(
    toolchain: Toolchain, headers: Path, lines: Lines
) -> None:
    """Code common to all kernels is in the object, or in the kernel without the header."""
    (headers / "pto" / "pto-inst.hpp").write_text(FIXED)
    found: list[bytes] = []
    for number in range(3):
        source = f"{BEGIN}{WHERE}// {number}\n"
        where = ctypes.CDLL(str(build(source, toolchain=toolchain, include_dirs=[headers]))).where
        where.restype = ctypes.c_char_p
        found.append(where())
    assert found == [b"in the kernel", b"in the object", b"in the object"]
    assert lines.kinds() == ["header", "object", "plain", "with header", "with header"]


def test_object_that_cannot_be_made(toolchain: Toolchain, headers: Path, lines: Lines) -> None:
    """A header alone would lack functions: it is not used."""
    lines.outcomes[" -c "] = Finished(1, "", "error: no")
    compiled(1, toolchain, headers)
    compiled(2, toolchain, headers)
    assert lines.kinds() == ["header", "object", "plain", "plain"]


def test_other_sources_do_without(toolchain: Toolchain, headers: Path, lines: Lines) -> None:
    """A source with a different prelude gets no header of its own."""
    compiled(1, toolchain, headers, "#define OTHER\n" + BEGIN)
    assert lines.kinds() == ["plain"]


def test_changed_headers_are_others(toolchain: Toolchain, headers: Path, lines: Lines) -> None:
    """A header that is edited is compiled again, even if the kernel's text is the same."""
    compiled(1, toolchain, headers)
    (headers / "pto" / "pto-inst.hpp").write_text("#define ANSWER 41\n")
    compiled(1, toolchain, headers)
    assert lines.kinds() == ["header", "header", "object", "object", "plain", "plain"]


def test_error_is_that_of_the_source_alone(
    toolchain: Toolchain, headers: Path, lines: Lines
) -> None:
    """A source that does not compile is reported as if there were no precompiled header."""
    compiled(1, toolchain, headers)
    with pytest.raises(CompileError, match="syntax_error") as caught:
        build(BEGIN + "int x = syntax_error;\n", toolchain=toolchain, include_dirs=[headers])
    assert "-include" not in caught.value.command
    assert lines.kinds() == ["header", "object", "plain", "plain", "with header"]


def test_header_that_does_not_fit_is_left_alone(
    toolchain: Toolchain, headers: Path, lines: Lines
) -> None:
    """If the compiler rejects the header, sources are compiled without it from then on."""
    compiled(1, toolchain, headers)
    lines.outcomes["-include"] = Finished(1, "", "error: this header is of another compiler")
    compiled(2, toolchain, headers)
    compiled(3, toolchain, headers)
    assert lines.kinds() == ["header", "object", "plain", "plain", "plain", "with header"]


def test_header_that_cannot_be_made(toolchain: Toolchain, headers: Path, lines: Lines) -> None:
    """A compiler without precompiled headers is tried once."""
    lines.outcomes["-x c++-header"] = Finished(1, "", "error: no")
    compiled(1, toolchain, headers)
    compiled(2, toolchain, headers)
    assert lines.kinds() == ["header", "plain", "plain"]


def test_interrupted_header_is_made_next_time(
    toolchain: Toolchain, headers: Path, lines: Lines
) -> None:
    """A header whose build is interrupted is neither used nor given up: the next call builds it."""
    lines.outcomes["-x c++-header"] = Abandoned()
    compiled(1, toolchain, headers)
    lines.outcomes.clear()
    compiled(2, toolchain, headers)
    compiled(3, toolchain, headers)
    assert lines.kinds() == ["header", "header", "object", "plain", "plain", "with header"]


@pytest.mark.parametrize("damaged", ["kernel.hpp.sha256", "ahead.sha256"])
def test_damaged_header_is_made_anew(
    damaged: str, toolchain: Toolchain, headers: Path, lines: Lines, tmp_path: Path
) -> None:
    """A file that does not match its hash is not given to the compiler."""
    compiled(1, toolchain, headers)
    [kept] = (tmp_path / "cache").rglob(damaged)
    kept.write_text("0" * 64)
    folder, root = kept.parent, tmp_path / "cache"
    given = precompiled.Compilation(
        toolchain.kind,
        toolchain.command,
        (*toolchain.flags, f"-I{headers}"),
        tmp_path / "a.cpp",
        tmp_path / "a.so",
        tmp_path,
        10.0,
    )
    given.source.write_text(BEGIN)
    lines.kinds()
    of_another_process = Headers(folder, root)
    for _ in range(2):
        assert of_another_process.compile(given, prelude(BEGIN)).code == 0
    assert lines.kinds() == ["header", "object", "plain", "with header"]


def test_header_that_goes_is_made_anew(
    toolchain: Toolchain, headers: Path, lines: Lines, tmp_path: Path
) -> None:
    """The cache may be deleted while a process uses it."""
    compiled(1, toolchain, headers)
    shutil.rmtree(tmp_path / "cache")
    compiled(2, toolchain, headers)
    assert lines.kinds() == ["header", "header", "object", "object", "plain", "plain"]


@pytest.mark.parametrize("kind", ["zig", "other"])
def test_compilers_without_such_headers(
    kind: Kind, toolchain: Toolchain, headers: Path, lines: Lines
) -> None:
    """Only compilers whose precompiled headers are known are asked for one."""
    compiled(1, replace(toolchain, kind=kind), headers)
    assert lines.kinds() == ["plain"]
