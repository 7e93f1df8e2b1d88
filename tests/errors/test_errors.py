"""Every file here shows a wrong kernel and the exact message that its author gets.

A file has a title, a ``python`` block and a ``text`` block; the Python is a whole file called
kernel.py. A line ``stage: compile`` means that the passes find the mistake, ``stage: C++``
or ``stage: PTO`` that it is found when text is emitted after them. A line
``fix: OLD => NEW`` says how the hint is typed, where that is not obvious.
``--update-golden`` rewrites the messages.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pypto._src.build_output import CCECodegen
from pypto._src.diagnostics import DiagnosticSeverity
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import ParserError, PyptoError, ScopeIsolationError, UndefinedVariableError
from pypto._src.frontend.excepthook import report
from pypto._src.ir.stmts import Program
from pypto._src.lint.uninitialized import check_uninitialized
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from tests.case_files import parts

CASES = sorted(Path(__file__).parent.glob("*.md"))


class Case(NamedTuple):
    """One file, split into its parts."""

    code: str
    text: str
    stage: str  # "", "compile", "C++" or "PTO"
    fix: tuple[str, str] | None


def read(path: Path) -> Case:
    words, code, text = parts(path)
    stage = re.search(r"^stage: (compile|C\+\+|PTO)$", words, re.MULTILINE)
    fix = re.search(r"^fix: (.+) => (.+)$", words, re.MULTILINE)
    changed = (fix[1], fix[2]) if fix else None
    return Case(code, text, stage[1] if stage else "", changed)


def compile_at(stage: str, program: Program) -> None:
    """Compile a program as far as ``stage``; "check" also looks for uninitialized reads."""
    if stage == "PTO":
        lowered = PassManager.get_strategy(OptimizationStrategy.PTOAS).run_passes(program)
        PTOCodegen().generate(lowered)
    elif stage:
        lowered = PassManager.get_strategy().run_passes(program)
        if stage == "C++":
            CCECodegen().generate(lowered)
        for found in check_uninitialized(program) if stage == "check" else ():
            if found.severity is DiagnosticSeverity.Error:
                raise ParserError(found.message, found.span, slug=found.rule_name)


def failure(code: str, stage: str = "") -> tuple[PyptoError, str]:
    """Run ``code`` as kernel.py; return the error that it raises, and its report."""
    lines = code.splitlines(keepends=True)
    linecache.cache["kernel.py"] = (len(code), None, lines, "kernel.py")
    names: dict[str, Any] = {"__name__": "kernel"}
    try:
        exec(compile(code, "kernel.py", "exec"), names)
        programs = [value for value in names.values() if isinstance(value, Program)]
        if stage:
            compile_at(stage, programs[-1])
    except PyptoError as error:
        return error, report(error) + "\n"
    finally:
        del linecache.cache["kernel.py"]
    pytest.fail("the kernel has no mistake", pytrace=False)


def message(code: str, stage: str = "") -> str:
    """Return the report of the error that ``code`` raises."""
    return failure(code, stage)[1]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_message(path: Path, request: pytest.FixtureRequest) -> None:
    """The message is exactly the one in the file."""
    case = read(path)
    found = message(case.code, case.stage)
    if request.config.getoption("--update-golden"):
        text = path.read_text(encoding="utf-8")
        begin = text.index("```text\n") + len("```text\n")
        path.write_text(text[:begin] + found + "```\n", encoding="utf-8")
        return
    assert found == case.text


def test_messages_differ() -> None:
    """Each file has its own mistake: no two messages start alike."""
    firsts = [read(path).text.splitlines()[0] for path in CASES]
    assert len(firsts) == len(set(firsts)) >= 25


PROSE = {
    "carried-tuple",  # names all values, also where they are used
    "annotation-undefined-dim", "async-kernel", "cast-mode", "division", "function-on-class",
    "host-branch", "kernel-recursion", "kwargs", "lambda-kernel", "load-acc", "match",
    "for-numbers", "host-tile", "misplaced-range", "out-never-written", "recursive-kernel",
    "region-swap", "star-args",
    "at-three", "bind-dynamic-static", "bind-dynamic-undefined",
    "host-op", "notify-op", "remote-store-window", "wait-cmp",
    "window-buffer", "world-inside",
    "step-zero", "text", "unsupported", "unsupported-expressions",
    "unused-result", "while-values-condition", "yield-python", "yield-unnamed",
}  # fmt: skip
"""Errors whose hint begins with "write" but goes on in prose: there are several ways to do it."""


def _hint(text: str) -> str | None:
    """Return the code that the first error's hint suggests, None if it is prose."""
    report = text.split("\n\n")[0]
    found = re.search(r"= hint: (?:write|load it:|did you mean) (.+?)\??$", report, re.MULTILINE)
    return None if found is None else found[1]


def typed(case: Case, hint: str) -> Iterator[str]:
    """Yield the program with the hint in place of what it may replace.

    That is the marked text, its whole line, the value assigned there, a line inserted above it or
    above a header, or one at the end.
    """
    lines = case.code.splitlines(keepends=True)
    header = re.fullmatch(r"(@\S+) above (def \w+)", hint)
    if header is not None:
        at = next(i for i, line in enumerate(lines) if line.strip().startswith(header[2]))
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        yield "".join([*lines[:at], f"{indent}{header[1]}\n", *lines[at:]])
    end = re.fullmatch(r"(.+) at the end", hint)
    if end is not None:
        indent = lines[-1][: len(lines[-1]) - len(lines[-1].lstrip())]
        yield "".join([*lines, f"{indent}{end[1]}\n"])
    place = re.search(r"--> kernel.py:(\d+):(\d+)", case.text)
    marks = re.search(r"\| +(\^+)", case.text)
    if place is None or marks is None:
        return
    index, begin = int(place[1]) - 1, int(place[2]) - 1
    line = lines[index]
    indent = line[: len(line) - len(line.lstrip())]
    above = re.fullmatch(r"(.+) before it", hint)
    if above is not None:
        yield "".join([*lines[:index], f"{indent}{above[1]}\n", *lines[index:]])
    loop = re.fullmatch(r"(.+) before the loop", hint)
    if loop is not None:
        at = max(i for i in range(index) if re.match(r" *(for|while) ", lines[i]))
        space = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        yield "".join([*lines[:at], f"{space}{loop[1]}\n", *lines[at:]])
    for node in ast.walk(ast.parse(case.code)):
        last = (getattr(node, "end_lineno", None) or 0) - 1
        if not isinstance(node, ast.expr) or last <= index:
            continue
        if (node.lineno, node.col_offset) == (index + 1, begin):
            rest = lines[last][node.end_col_offset :]
            yield "".join([*lines[:index], f"{line[:begin]}{hint}{rest}", *lines[last + 1 :]])
    if hint.endswith("="):
        value = line[begin : begin + len(marks[1])].partition("=")[2]
        yield "".join(
            [
                *lines[:index],
                f"{line[:begin]}{hint}{value}{line[begin + len(marks[1]) :]}",
                *lines[index + 1 :],
            ]
        )
    name, equals, _ = line.partition(" = ")
    marked = f"{line[:begin]}{hint}{line[begin + len(marks[1]) :]}"
    for new in (marked, f"{indent}{hint}\n", f"{name}{equals}{hint}\n"):
        yield "".join([*lines[:index], new, *lines[index + 1 :]])


def first_line(code: str, stage: str) -> str:
    """Return the first line of a program's report, or "" if it has no mistake."""
    try:
        return message(code, stage).splitlines()[0]
    except (SyntaxError, pytest.fail.Exception) as error:
        return "" if isinstance(error, pytest.fail.Exception) else "error: a syntax error"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_hint_can_be_typed(path: Path) -> None:
    """Typing what the hint says removes the mistake."""
    case = read(path)
    if case.fix is not None:
        old, new = case.fix
        assert new in case.text
        assert case.code.count(old) == 1
        assert first_line(case.code.replace(old, new), case.stage) == ""
        return
    hint = _hint(case.text)
    if hint is None or path.stem in PROSE:
        return
    left = [first_line(code, case.stage) for code in typed(case, hint)]
    before = case.text.splitlines()[0]
    assert any(line not in (before, "error: a syntax error") for line in left), (hint, left)


def test_prose_is_needed() -> None:
    """Each error exempt from the test above exists."""
    assert {path.stem for path in CASES} >= PROSE


NO_HINT = {
    "carried-count": "IR made by hand",
    "conditional-types": "either value may be the wrong one",
    "divide-zero": "any other divisor may be meant",
    "division-by-zero": "any other divisor may be meant",
    "host-return": "a scalar has no way back from an orchestration",
    "no-callee": "IR made by hand",
    "not-a-value": "the string means nothing",
    "not-of-tile": "one number of a tile does not choose a branch",
    "parsing-failed": "the user's own Python fails",
    "result-count": "IR made by hand",
    "run-division": "the data decide",
    "run-exponent": "the data decide",
    "run-outside": "the data decide",
    "run-range": "no type holds the number",
    "run-shift": "the data decide",
    "run-step": "the data decide",
    "spread-parts": "no op makes a tile of their valid rows and columns",
    "static-assert": "the program says itself what is wrong",
    "step-of-zero": "IR made by hand",
    "stray-jump": "IR made by hand",
    "string-operand": "the string means nothing",
    "tensor-memory": "the data decide",
    "tensor-negative": "the data decide",
    "text-run": "the user's own Python fails",
}
"""Errors without a hint, and why no single edit is right."""


def test_hint_is_given() -> None:
    """Each message ends with a hint, except those known to have none."""
    assert {path.stem for path in CASES if "= hint: " not in read(path).text} == set(NO_HINT)


NOT_RAISED = {ParserError, ScopeIsolationError}
"""The base of the front end's errors, and a class that it raises only as a subclass."""


def subclasses(cls: type[ParserError]) -> Iterator[type[ParserError]]:
    """Yield an error class and those derived from it, but no mixin bases."""
    yield cls
    for other in cls.__subclasses__():
        yield from subclasses(other)


def test_every_class_is_shown() -> None:
    """Each error class of the front end has a file that raises it."""
    shown: set[type] = set()
    for path in CASES:
        case = read(path)
        error, _ = failure(case.code, case.stage)
        shown |= {type(e) for e in (error, *error.others)}
    assert {c for c in subclasses(ParserError) if c.__module__ == ParserError.__module__} == (
        {c for c in shown if issubclass(c, ParserError)} | NOT_RAISED
    )


@pytest.mark.parametrize("cls", [ScopeIsolationError, UndefinedVariableError])
def test_lost_names_are_caught_as_either(cls: type[ParserError]) -> None:
    """A name read after its loop is both out of scope, as in the statement form, and undefined."""
    error, _ = failure(read(Path(__file__).with_name("lost-in-loop.md")).code)
    assert isinstance(error, cls)


def test_compiler_is_not_shown() -> None:
    """No message refers to a file of the compiler."""
    for path in CASES:
        assert not re.search(r"[/\\]_src[/\\]", read(path).text), path.name
