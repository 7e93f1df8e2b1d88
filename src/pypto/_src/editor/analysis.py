"""What an editor shows of a file of kernels: findings, and the types of tiles and tensors."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from typing import Any, Final, NamedTuple

from pypto._src.checks import check_program
from pypto._src.diagnostics import Diagnostic, Span
from pypto._src.editor.definitions import Definitions, definitions, of_syntax
from pypto._src.errors import PyptoError
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.stmts import AssignStmt, Function, Program, Stmt
from pypto._src.ir.text.printer import python_print
from pypto._src.ir.traversal.walk import walk
from pypto._src.jit.function import JitFunction

_NAME: Final = re.compile(r"[^\W\d]\w*(?= *=[^=])")


class Hint(NamedTuple):
    """A text after the name that a statement assigns; lines and columns from 0."""

    line: int
    column: int
    text: str


class Analysis(NamedTuple):
    """What an editor shows of a text; ``hints`` is None if the text is not valid Python."""

    findings: list[Diagnostic]
    hints: list[Hint] | None


class Analyser:
    """Analyses successive versions of one file. Runs no kernel.

    A program is checked again only if it has changed, not if lines above it came or went.
    """

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self._known: dict[Hashable, tuple[int, list[Diagnostic]]] = {}

    def analyse(self, text: str) -> Analysis:
        """Return what is found in a text, and the hints of its kernels."""
        try:
            found = definitions(text, self.filename)
        except SyntaxError as error:
            return Analysis([of_syntax(error, self.filename)], None)
        findings = dict.fromkeys(found.findings)
        hints: dict[tuple[int, int], Hint] = {}
        known: dict[Hashable, tuple[int, list[Diagnostic]]] = {}
        for program in _programs(found, findings):
            first = min((f.span.begin_line for f in program.functions_), default=0)
            key = _key(program, first)
            before, said = self._known.get(key) or (first, self._checked(program, found))
            known[key] = before, said
            findings.update(dict.fromkeys(_moved(each, first - before) for each in said))
            for hint in _hints(program, self.filename, text.splitlines()):
                hints.setdefault((hint.line, hint.column), hint)
        self._known = known
        here = [each for each in findings if each.span.filename in (self.filename, "")]
        return Analysis(here, sorted(hints.values()))

    def _checked(self, program: Program, found: Definitions) -> list[Diagnostic]:
        said: dict[Diagnostic, None] = {}
        try:
            for stage in check_program(program):
                said.update(dict.fromkeys(stage.findings))
        except PyptoError as error:
            _note(said, error, found)
        return list(said)


def _key(program: Program, first: int) -> Hashable:
    """Return a key that is equal for programs with the same findings, except for their lines."""
    spans = [node.span for f in program.functions_ for node in walk(f) if isinstance(node, Stmt)]
    spans += [f.span for f in program.functions_] + [
        p.span for f in program.functions_ for p in f.params
    ]
    places = [(s.filename, s.begin_line - first, s.begin_column, s.end_line - first) for s in spans]
    return python_print(program), tuple(places)


def _moved(found: Diagnostic, lines: int) -> Diagnostic:
    span = found.span
    if not lines or span.begin_line <= 0:
        return found
    last = span.end_line + lines if span.end_line > 0 else span.end_line
    moved = Span(span.filename, span.begin_line + lines, span.begin_column, last, span.end_column)
    return found._replace(span=moved)


def _programs(found: Definitions, findings: dict[Diagnostic, None]) -> Iterator[Program]:
    """Yield the programs of a text, and each kernel that is in none of them as a program."""
    values: dict[int, Any] = {id(value): value for value in found.names.values()}
    programs = [value for value in values.values() if isinstance(value, Program)]
    inside = {(f.name, f.span) for program in programs for f in program.functions_}
    yield from programs
    for value in values.values():
        try:
            if isinstance(value, Function) and (value.name, value.span) not in inside:
                yield Program([value], value.name)
            # Host functions of ranks have launches and nothing else to look at.
            elif isinstance(value, JitFunction) and not value.is_host:
                yield value.declared()
        except PyptoError as error:
            _note(findings, error, found)


def _note(findings: dict[Diagnostic, None], error: PyptoError, found: Definitions) -> None:
    """Add the findings of an error, except for a name that has a value only when the file runs."""
    for each in (error, *error.others):
        names = re.findall(r"'(\w+)'", each.message)
        is_ours = each.slug == "undefined-name" and found.unknown.intersection(names[:1])
        if not is_ours and each.slug != "argument-kind":  # sizes come with a call
            findings[each.diagnostic] = None


def _hints(program: Program, filename: str, lines: list[str]) -> Iterator[Hint]:
    for function in program.functions_:
        for node in walk(function):
            if not isinstance(node, AssignStmt) or node.span.filename != filename:
                continue
            kind, span = node.var.type, node.span
            if not isinstance(kind, TileType | TensorType) or not 0 < span.begin_line <= len(lines):
                continue
            assigned = _NAME.match(lines[span.begin_line - 1], max(span.begin_column, 0))
            if assigned is not None and node.var.name.startswith(assigned[0]):
                sizes = ", ".join(map(str, kind.shape))
                where = "" if isinstance(kind, TileType) else " tensor"
                text = f": [{sizes}] {kind.dtype.member}{where}"
                yield Hint(span.begin_line - 1, assigned.end(), text)
