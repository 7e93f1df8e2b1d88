"""Syntax trees in which calls that stand on a line of their own stay text until someone asks.

Python's parser takes a quarter of the time of a whole compile, most of it for the nodes of lines
such as ``t = pl.add(a, b)``, which tell the front end no more than their text does. So runs of such
lines are cut out before Python parses a text, and come back as `Line`: an assignment that knows its
parts as text, and has Python parse them when its nodes are asked for.

In place of a run stands one name as long as its last line, so that blocks end where they did. A run
may lie within a string or within brackets, where its lines are no statements. The tree itself
tells: where such a name is no statement, the whole text is parsed.

So it is with the types of parameters, such as ``pl.Out[pl.Tensor[[64, N], pl.FP32]]``: in place of
each stands a name as long, and it comes back as `TypeText`.

Knows Python's syntax; nothing of the language.
"""

from __future__ import annotations

import ast
import re
from ast import (
    AST,
    AnnAssign,
    Assign,
    AugAssign,
    Expr,
    FunctionDef,
    Name,
    Return,
    Store,
    Subscript,
    iter_child_nodes,
)
from collections.abc import Iterator
from functools import cache
from keyword import kwlist
from typing import Any, Final

from pypto._src.python_text import parse_python

# Repetitions give nothing back (`++`): what a line may look like is decided from left to right.
_NAME: Final = r"[A-Za-z_]\w*+"
_ATOM: Final = rf"(?:{_NAME}(?:\.{_NAME})*+|-?(?:\d{{1,9}}\.\d{{1,9}}|0|[1-9]\d{{0,14}}))"
_ITEM: Final = rf"(?:{_ATOM}|\[{_ATOM}(?:, {_ATOM})*+\])"
_WORD: Final = rf"{_NAME}={_ITEM}"
_CALLEE: Final = rf"(?!self\.){_NAME}(?:\.{_NAME})++"  # what a method gives, its nodes alone tell
_LINE: Final = rf"{_NAME} = {_CALLEE}\({_ITEM}(?:, {_ITEM}(?!=))*+(?:, {_WORD})*+\)(?=\n)"
_PARTS: Final = re.compile(r"\n +(\w+) = ([\w.]+)\((.*)\)", re.ASCII)
_PATHS: Final = re.compile(r"[A-Za-z_][\w.]*(?![\w.=])", re.ASCII)
_KEYWORDS: Final = frozenset(kwlist)
_BETWEEN_WORDS: Final = dict.fromkeys(b"\n.,=()[]-", " ")
_PATH: Final = rf"{_NAME}(?:\.{_NAME})*+"
_SIZE: Final = rf"(?:{_PATH}|0|[1-9]\d{{0,14}})"
_SHAPED: Final = rf"\[({_SIZE}(?:, {_SIZE})*+)\], ({_PATH})\]"
_MARK: Final = "__t_"
"""How the names begin that stand for types; they are shorter than any type."""
_BLOCKS: Final = ("body", "orelse", "handlers", "finalbody", "cases")


@cache
def _runs() -> re.Pattern[str]:
    """Return what finds runs; not made when this module is imported, since that takes long.

    A run begins with the end of the line above it and lacks its own: so what is searched for first
    is one character, which `re` does fast. Runs are not longer, since `re` is slow in long ones.
    """
    run = rf"(\n(?<!\\\n)( ++){_LINE}(?:\n\2{_LINE}){{0,255}}+)"
    return re.compile(run, re.ASCII)


@cache
def _types() -> re.Pattern[str]:
    """Return what finds the types of parameters."""
    kind = rf"({_PATH})\[(?:({_PATH})\[)?+{_SHAPED}(?(3)\])"
    return re.compile(rf": ({kind})(?=,|\s*\))", re.ASCII)


_ARGUMENTS: Final = re.compile(r"(?:\w++=)?+\[[^]]*+\]|[^ ,]++").findall


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


class TypeText(Subscript):
    """The type of a parameter: ``path[[sizes], element]``, or ``outer[path[[sizes], element]]``.

    ``parts`` are outer, path, sizes and element. Who reads or sets ``value`` or ``slice`` makes it
    a subscript like any other; see `Line`.
    """

    text: str
    parts: tuple[str, str, str, str]

    @property
    def value(self) -> ast.expr:
        """The node of what has an index."""
        return _parsed_type(self).value

    @value.setter
    def value(self, new: Any) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        _parsed_type(self).value = new

    @property
    def slice(self) -> ast.expr:
        """The node of the index."""
        return _parsed_type(self).slice

    @slice.setter  # noqa: A003  a field of Python's nodes
    def slice(self, new: Any) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        _parsed_type(self).slice = new

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Let copies be subscripts."""
        return _parsed_type(self).__reduce_ex__(protocol)


Line.__name__ = "Assign"  # by which visitors of trees find what to do with it
TypeText.__name__ = "Subscript"


def name_place(line: Line) -> Place:
    """Return where the name stands that a line assigns."""
    return Place(line.lineno, line.col_offset, line.col_offset + len(line.name))


def argument_texts(line: Line) -> list[str]:
    """Return the text of each argument of a line's call, with its keyword if it has one."""
    texts = line.arguments
    return _ARGUMENTS(texts) if "[" in texts else texts.split(", ")


def paths_read(line: Line) -> list[str]:
    """Return what a line's call reads, in the order of the text: names with their attributes."""
    return [line.callee, *_PATHS.findall(line.arguments)]


def _parsed(line: Line) -> Assign:
    """Make a line an assignment; return it."""
    value = _node_of(f"{line.callee}({line.arguments})", line.lineno, line.begin)
    name = Name(line.name, Store(), **vars(name_place(line)))
    this: Any = line
    this.__dict__.update(targets=[name], value=value)  # before it is what has them
    this.__class__ = Assign
    return this


def _parsed_type(kind: TypeText) -> Subscript:
    """Make the text of a type a subscript; return it."""
    node: Any = _node_of(kind.text, kind.lineno, kind.col_offset)
    this: Any = kind
    this.__dict__.update(value=node.value, slice=node.slice)  # before it is what has them
    this.__class__ = Subscript
    return this


def _node_of(text: str, line: int, column: int) -> ast.expr:
    """Return the node of an expression of one line that stands at a place."""
    node = parse_python(f"({text})", mode="eval").body
    _move(node, line - 1, column - 1)
    return node


def _move(node: AST, lines: int, columns: int) -> None:
    """Let a node and those in it stand some lines further down and columns to the right."""
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
            item.col_offset += columns
            item.end_col_offset += columns


def syntax_tree_of(text: str, filename: str = "<unknown>") -> ast.Module:
    """Return what ``ast.parse`` does, with `Line` and `TypeText` in place of some nodes.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as ``ast.parse``.
    """
    runs: dict[int, str] = {}
    types: dict[str, re.Match[str]] = {}
    rest = text
    if "\r" not in text:  # else lines are counted otherwise
        rest = _without_types(_without_runs(text, runs), types)
    if runs or types:
        try:
            tree = parse_python(rest, filename)
        except (SyntaxError, ValueError):  # perhaps of an open string: as the whole text has it
            return parse_python(text, filename)
        if _put_back(tree, runs, types):
            return tree
    return parse_python(text, filename)


def walk(node: AST) -> Iterator[AST]:
    """Yield what ``ast.walk`` does, in the order of the text, without the nodes of what is text."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, Line | TypeText):
            pending += reversed([*iter_child_nodes(node)])


def _without_runs(text: str, runs: dict[int, str]) -> str:
    """Return a text with a name for each run, and fill ``runs``: their texts by last line."""
    kept: list[str] = []
    end, line = 0, 1
    cuts = [*_runs().finditer(text)]
    if _has_keyword("".join([found[1] for found in cuts])):
        cuts = [found for found in cuts if not _has_keyword(found[1])]
    for found in cuts:
        run, indent = found.groups()
        start = found.start()
        count = run.count("\n")
        line += text.count("\n", end, start) + count
        runs[line] = run
        last = len(run) - run.rfind("\n") - 1
        kept += text[end:start], "\n" * count, indent, "_" * (last - len(indent))
        end = found.end()
    kept.append(text[end:])
    return "".join(kept)


def _without_types(text: str, types: dict[str, re.Match[str]]) -> str:
    """Return a text with a name for each type of a parameter, and fill ``types`` by these names."""
    if _MARK in text:
        return text
    kept: list[str] = []
    end = 0
    for found in _types().finditer(text):
        start, behind = found.span(1)
        name = f"{_MARK}{len(types)}".ljust(behind - start, "_")
        types[name] = found
        kept += text[end:start], name
        end = behind
    if _has_keyword(" ".join([found[1] for found in types.values()])):
        types.clear()
        return text
    kept.append(text[end:])
    return "".join(kept)


def _has_keyword(text: str) -> bool:
    """True if a word in the text of lines or types is a keyword of Python."""
    return not _KEYWORDS.isdisjoint(text.translate(_BETWEEN_WORDS).split())


def _put_back(tree: ast.Module, runs: dict[int, str], types: dict[str, re.Match[str]]) -> bool:
    """Put lines and types where their names are; False if one of them is something else."""
    missing = len(runs)
    pending: list[Any] = [tree]
    for node in pending:
        if types and node.__class__ is FunctionDef:
            _put_types(node.args, types)
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
    return not missing and not types


def _put_types(given: ast.arguments, types: dict[str, re.Match[str]]) -> None:
    """Put the types of a function's parameters where their names are, and take them out."""
    for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs):
        name: Any = arg.annotation
        found = types.pop(name.id, None) if name.__class__ is Name else None
        if found is None:
            continue
        kind = _new(TypeText)
        kind.text, *parts = found.groups("")
        kind.parts = tuple(parts)
        kind.ctx = name.ctx
        kind.lineno, kind.end_lineno = name.lineno, name.end_lineno
        kind.col_offset, kind.end_col_offset = name.col_offset, name.end_col_offset
        arg.annotation = kind


_WITHOUT_BLOCKS: Final = frozenset({Assign, AnnAssign, AugAssign, Expr, Return})


_new: Final[Any] = AST.__new__  # what makes a node sets its fields, which a line has not yet


def _add_lines(body: list[Any], run: str, last: int) -> None:
    """Append the lines of a run, of which the last one has the number ``last``."""
    parts = _PARTS.findall(run)
    indent = len(run) - len(run.lstrip()) - 1
    for number, (name, callee, arguments) in enumerate(parts, last - len(parts) + 1):
        begin = indent + len(name) + 3
        line = _new(Line)
        line.__dict__ = {  # all at once, which takes less time
            "name": name,
            "callee": callee,
            "arguments": arguments,
            "begin": begin,
            "lineno": number,
            "end_lineno": number,
            "col_offset": indent,
            "end_col_offset": begin + len(callee) + len(arguments) + 2,
        }
        body.append(line)
