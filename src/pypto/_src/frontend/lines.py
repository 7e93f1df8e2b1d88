"""Syntax trees in which calls that stand on a line of their own stay text until someone asks.

Python's parser takes a quarter of the time of a whole compile, most of it for the nodes of lines
such as ``t = pl.add(a, b)``, which tell the front end no more than their text does. So runs of such
lines are cut out before Python parses a text, and come back as `Line`: an assignment that knows its
parts as text, and has Python parse them when its nodes are asked for.

In place of a run stands one name as long as its last line, so that blocks end where they did. A run
may lie within a string or within brackets, where its lines are no statements. The tree itself
tells: where such a name is no statement, the whole text is parsed.

Knows Python's syntax; nothing of the language.
"""

from __future__ import annotations

import ast
import re
from ast import AST, AnnAssign, Assign, AugAssign, Expr, Name, Return, Store, iter_child_nodes
from collections.abc import Iterator
from functools import cache
from keyword import kwlist
from typing import Any, Final

from pypto._src.python_text import parse_python

_NAME: Final = r"[A-Za-z_]\w*"
_ATOM: Final = rf"(?:{_NAME}(?:\.{_NAME})*|-?(?:\d{{1,9}}\.\d{{1,9}}|0|[1-9]\d{{0,14}}))"
_ITEM: Final = rf"(?:{_ATOM}|\[{_ATOM}(?:, {_ATOM})*\])"
_WORD: Final = rf"{_NAME}={_ITEM}"
_CALLEE: Final = rf"(?!self\.){_NAME}(?:\.{_NAME})+"  # what a method gives, its nodes alone tell
_LINE: Final = rf"{_NAME} = {_CALLEE}\({_ITEM}(?:, {_ITEM})*(?:, {_WORD})*\)\n"
_PARTS: Final = re.compile(r"( +)(\w+) = ([\w.]+)\((.*)\)\n", re.ASCII)
_PATHS: Final = re.compile(r"[A-Za-z_][\w.]*(?![\w.=])", re.ASCII)
_WORDS: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_KEYWORDS: Final = frozenset(kwlist)
_BLOCKS: Final = ("body", "orelse", "handlers", "finalbody", "cases")


@cache
def _runs() -> re.Pattern[str]:
    """Return what finds runs; not made when this module is imported, since that takes long.

    Runs are not longer, since `re` remembers where each line of a run could have ended otherwise.
    """
    run = rf"(?<!\\\n)^( +){_LINE}(?:\1{_LINE}){{0,255}}"
    return re.compile(run, re.MULTILINE | re.ASCII)


argument_texts: Final = re.compile(r"(?:\w+=)?\[[^]]*\]|[^ ,]+").findall
"""Returns the text of each of a line's ``arguments``, with its keyword if it has one."""


class Place:
    """Where a name stands, as syntax nodes say it."""

    def __init__(self, line: int, begin: int, end: int) -> None:
        self.lineno = self.end_lineno = line
        self.col_offset = begin
        self.end_col_offset = end


class Line(Assign):
    """The assignment of a call to a name: ``name = callee(arguments)``, on one line.

    ``begin`` is the column of the call. Who reads or sets ``targets`` or ``value`` makes it an
    assignment like any other. Another thread may do so at any moment, as functions that are
    expanded are everybody's: what a line has beside its nodes is read by functions, not methods.
    """

    name: str
    callee: str
    arguments: str
    begin: int

    @property
    def targets(self) -> list[ast.expr]:
        """The name, as a list of one node."""
        return _parsed(self).targets

    @targets.setter
    def targets(self, new: Any) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        _parsed(self).targets = new

    @property
    def value(self) -> ast.expr:
        """The node of the call."""
        return _parsed(self).value

    @value.setter
    def value(self, new: Any) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        _parsed(self).value = new

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Let copies be assignments: Python makes one before it has its parts."""
        return _parsed(self).__reduce_ex__(protocol)


Line.__name__ = "Assign"  # by which visitors of trees find what to do with it


def name_place(line: Line) -> Place:
    """Return where the name stands that a line assigns."""
    return Place(line.lineno, line.col_offset, line.col_offset + len(line.name))


def call_place(line: Line) -> Place:
    """Return where the call of a line stands."""
    return Place(line.lineno, line.begin, line.end_col_offset or 0)


def paths_read(line: Line) -> list[str]:
    """Return what a line's call reads, in the order of the text: names with their attributes."""
    return [line.callee, *_PATHS.findall(line.arguments)]


def _parsed(line: Line) -> Assign:
    """Make a line an assignment; return it."""
    call = f"({' ' * (line.begin - 1)}{line.callee}({line.arguments}))"
    value = parse_python(call, mode="eval").body
    _move(value, line.lineno - 1)
    name = Name(line.name, Store(), **vars(name_place(line)))
    this: Any = line
    this.__dict__.update(targets=[name], value=value)  # before it is what has them
    this.__class__ = Assign
    return this


def _move(node: AST, lines: int) -> None:
    """Let a node and those in it stand some lines further down."""
    pending: list[Any] = [node]
    for item in pending:
        fields = item.__dict__
        for value in fields.values():
            if value.__class__ is list:
                pending += value
            elif isinstance(value, AST):
                pending.append(value)
        if "lineno" in fields:
            item.lineno += lines
            item.end_lineno += lines


def syntax_tree_of(text: str, filename: str = "<unknown>") -> ast.Module:
    """Return what ``ast.parse`` does, with a `Line` in place of some assignments.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as ``ast.parse``.
    """
    runs: dict[int, str] = {}
    rest = text if "\r" in text else _without_runs(text, runs)  # else lines are counted otherwise
    if runs:
        try:
            tree = parse_python(rest, filename)
        except (SyntaxError, ValueError):  # perhaps of an open string: as the whole text has it
            return parse_python(text, filename)
        if _put_back(tree, runs):
            return tree
    return parse_python(text, filename)


def walk(node: AST) -> Iterator[AST]:
    """Yield what ``ast.walk`` does, in the order of the text, without the nodes of lines."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, Line):
            pending += reversed([*iter_child_nodes(node)])


def _without_runs(text: str, runs: dict[int, str]) -> str:
    """Return a text with a name for each run, and fill ``runs``: their texts by last line."""
    kept: list[str] = []
    end, line = 0, 0
    for found in _runs().finditer(text):
        run = found[0]
        if not _KEYWORDS.isdisjoint(_WORDS.findall(run)):
            continue
        start, indent = found.start(), found[1]
        count = run.count("\n")
        line += text.count("\n", end, start) + count
        runs[line] = run
        last = len(run) - run.rfind("\n", 0, -1) - 2
        kept += text[end:start], "\n" * (count - 1), indent, "_" * (last - len(indent)), "\n"
        end = found.end()
    kept.append(text[end:])
    return "".join(kept)


def _put_back(tree: ast.Module, runs: dict[int, str]) -> bool:
    """Put the lines of the runs where their names are; False if one of them is no statement."""
    missing = len(runs)
    pending: list[Any] = [tree]
    for node in pending:
        for block in _BLOCKS:
            body: Any = getattr(node, block, None)
            if body.__class__ is not list:
                continue
            whole: list[Any] = []
            for item in body:
                cls = item.__class__
                if cls is Expr and item.lineno in runs and item.value.__class__ is Name:
                    _add_lines(whole, runs[item.lineno], item.lineno)
                    missing -= 1
                    continue
                whole.append(item)
                if cls not in _WITHOUT_BLOCKS:
                    pending.append(item)
            body[:] = whole
    return not missing


_WITHOUT_BLOCKS: Final = frozenset({Assign, AnnAssign, AugAssign, Expr, Return})


_new: Final[Any] = Line.__new__  # what makes a node sets its fields, which a line has not yet


def _add_lines(body: list[Any], run: str, last: int) -> None:
    """Append the lines of a run, of which the last one has the number ``last``."""
    number = last - run.count("\n")
    for found in _PARTS.finditer(run):
        number += 1
        line = _new(Line)
        indent, line.name, line.callee, line.arguments = found.groups()
        line.lineno = line.end_lineno = number
        begin, end = found.span()
        line.col_offset = len(indent)
        line.begin = found.start(3) - begin
        line.end_col_offset = end - begin - 1
        body.append(line)
