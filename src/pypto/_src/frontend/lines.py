"""Syntax trees in which assignments and calls on lines of their own stay text until someone asks.

Python's parser takes a quarter of the time of a whole compile, most of it for the nodes of lines
such as ``t = pl.exp(pl.add(a, b))``, which tell the front end no more than their text does. So runs
of such lines are cut out before Python parses a text, and come back as `Line`: an assignment that
is text, and has Python parse it when its nodes are asked for. Calls of the program's functions,
such as ``self.scores(q, k, s)``, come back as `CallLine`.

In place of a run stands one name as long as its last line, so that blocks end where they did. A run
may lie within a string or within brackets, where its lines are no statements. The tree itself
tells: where such a name is no statement, the whole text is parsed.

So it is with the types of parameters, such as ``pl.Out[pl.Tensor[[64, N], pl.FP32]]``, and with the
parameters between two such: in place of them stands a name, and each type comes back as `TypeText`.

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
_PATH: Final = rf"{_NAME}(?:\.{_NAME})*+"
_ATTRIBUTES: Final = rf"(?<!\bself)(?:\.{_NAME})++"  # calls of methods in others have nodes
_PYTHON: Final = r"(?=\()(?<=\b(?:abs|max|min))"  # Python's own, of values of the kernel
_NUMBER: Final = r"-?(?:\d{1,9}\.\d{1,9}|0|[1-9]\d{0,14})"
_OPERATOR: Final = r" (?:[-+*%]|//?) "
_ATOM: Final = rf"(?:{_PATH}|{_NUMBER})"
_ITEM: Final = rf"(?:\[{_ATOM}(?:, {_ATOM})*+\]|{_PATH}|{_NUMBER})"  # what one letter decides first
_WORD: Final = rf"{_NAME}={_ITEM}"
_PLAIN: Final = rf"\({_ITEM}(?:, {_ITEM}(?!=))*+(?:, {_WORD})*+\)"
_FLAT: Final = rf"{_NAME}(?:\.{_NAME})++{_PLAIN}"
"""Most lines are such calls, for which this pattern is faster than that of all lines."""
_ALONE: Final = rf"self\.{_NAME}{_PLAIN}"
_MOST_CALLS: Final = 3
"""How many calls may stand within each other."""


def _items(item: str, words: str = "") -> str:
    """Return the pattern of what stands in brackets; ``item`` is in it once.

    An item is followed by a comma, behind which there is another one, or by what ends the list;
    a longer list is left to Python.
    """
    return rf"(?![])])(?:{item}(?:(?=[])])|, (?![])]))){{0,99}}+{words}"


def _sum(operand: str) -> str:
    """Return the pattern of operands with operators in between, in the same way."""
    return rf"(?:{operand}(?:(?=[],)\n])|{_OPERATOR}(?=[\w(-]))){{1,99}}+"


def _line() -> str:
    """Return the pattern of a line without its indentation."""
    plain = _sum(_ATOM)
    operand = rf"(?:\({plain}\)|{_PATH}|{_NUMBER})"
    several = rf"\[{_items(_sum(operand))}\]"
    words = _items(rf"{_NAME}=(?:{plain}|\[{_items(plain)}\])")
    for _ in range(_MOST_CALLS):
        arguments = _items(rf"(?:{several}|{_sum(operand)})", rf"(?:{words})?+")
        path = rf"{_NAME}(?:(?:{_ATTRIBUTES}|{_PYTHON})(?:\({arguments}\))?+)?+"
        operand = rf"(?:\({plain}\)|{path}|{_NUMBER})"
    number = r"-?[\d.]++\n"  # alone it says less than its node
    values = rf"(?!{number})(?:{_sum(operand)}(?:(?=\n)|, (?!\n)))++"
    assignment = rf"{_NAME}(?:, {_NAME})*+ = (?:{_FLAT}(?=\n)|{values}(?=\n))"
    return rf"(?:{_ALONE}(?=\n)|{assignment})"


_PATHS: Final = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*(?![\w.=])", re.ASCII)
_CALLED: Final = re.compile(r"[A-Za-z_][\w.]*(?=\()", re.ASCII)
_KEYWORDS: Final = frozenset(kwlist)
_CONSTANTS: Final = frozenset({"True", "False", "None"})
_BETWEEN_WORDS: Final = dict.fromkeys(b"\n.,:=()[]-", " ")
_SIZE: Final = rf"(?:{_PATH}|0|[1-9]\d{{0,14}})"
_SHAPED: Final = rf"\[{_SIZE}(?:, {_SIZE})*+\], {_PATH}\]"
_TYPE: Final = rf"{_PATH}\[(?:{_PATH}\[{_SHAPED}\]|{_SHAPED})(?=,|\s*\))"
_PARAMETER: Final = re.compile(  # what is before its type; the type and its parts
    r"(?:(,[ \n]++)(\w++): )?+(([\w.]++)\[(?:([\w.]++)\[)?+\[([^]]++)\], ([\w.]++)\]++)", re.ASCII
)
_MARK: Final = "__t_"
"""How the names begin that stand for types; they are shorter than any type."""
_BLOCKS: Final = ("body", "orelse", "handlers", "finalbody", "cases")


@cache
def _runs() -> re.Pattern[str]:
    """Return what finds runs; not made when this module is imported, since that takes long.

    A run begins with the end of the line above it and lacks its own: so what is searched for first
    is one character, which `re` does fast. Runs are not longer, since `re` is slow in long ones.
    The third group, which is empty, says that a line came before.
    """
    run = rf"(\n(?<!\\\n)( ++)(?:(?(3)\n\2)(){_line()}){{1,256}}+)"
    return re.compile(run, re.ASCII)


@cache
def _types() -> re.Pattern[str]:
    """Return what finds the types of parameters that follow each other, with the names between."""
    return re.compile(rf": ({_TYPE}(?:,[ \n]++{_NAME}: {_TYPE})*+)", re.ASCII)


_ITEMS: Final = re.compile(r"(?:\w++=)?+\[[^]]*+\]|[^ ,][^,]*+").findall


class Line(Assign):
    """An assignment on one line, of calls, sums and names to a name or to several.

    ``text`` is the statement, ``names`` what it assigns. Who reads or sets ``targets`` or ``value``
    makes it an assignment like any other. Another thread may do so at any moment, as functions that
    are expanded are everybody's: what a line has beside its nodes is read by functions, not
    methods.
    """

    text: str
    names: str

    @property
    def targets(self) -> list[ast.expr]:
        """What is assigned, as a list of one node."""
        return _parsed(self).targets

    @targets.setter
    def targets(self, new: Any) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        _parsed(self).targets = new

    @property
    def value(self) -> ast.expr:
        """The node of the value."""
        return _parsed(self).value

    @value.setter
    def value(self, new: Any) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        _parsed(self).value = new

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Let copies be assignments: Python makes one before it has its parts."""
        return _parsed(self).__reduce_ex__(protocol)


class CallLine(Expr):
    """A call of a method on a line of its own, whose value nobody takes.

    ``text`` is the statement. Who reads or sets ``value`` makes it a statement like any other.
    """

    text: str

    @property
    def value(self) -> ast.expr:
        """The node of the call."""
        return _parsed(self).value

    @value.setter
    def value(self, new: Any) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        _parsed(self).value = new

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Let copies be statements with nodes."""
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
CallLine.__name__ = "Expr"
TypeText.__name__ = "Subscript"


def names_assigned(line: Line) -> list[str]:
    """Return the names that a line assigns."""
    return line.names.split(", ")


def callee_of(line: Line | CallLine) -> str | None:
    """Return the path with which a line's value begins if it is that of a call."""
    found = _CALLED.match(line.text.rpartition(" = ")[2])
    return None if found is None else found[0]


def items_of_text(text: str) -> list[str]:
    """Return the items of a list without brackets in it but those of lists, keywords included."""
    return _ITEMS(text) if "[" in text else text.split(", ")


def paths_read(line: Line | CallLine) -> list[str]:
    """Return what a line's value reads, in the order of the text: names with their attributes."""
    found = _PATHS.findall(line.text.rpartition(" = ")[2])
    return [path for path in found if path not in _CONSTANTS]


def _parsed(line: Line | CallLine) -> Any:
    """Make a line a statement with nodes; return it."""
    node: Any = parse_python(line.text).body[0]
    _move(node, line.lineno - 1, line.col_offset)
    this: Any = line
    fields = {name: node.__dict__[name] for name in ("targets", "value") if hasattr(node, name)}
    this.__dict__.update(fields)  # before it is what has them
    this.__class__ = node.__class__
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
    types: dict[str, str] = {}
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
        if not isinstance(node, Line | CallLine | TypeText):
            pending += reversed([*iter_child_nodes(node)])


def _without_runs(text: str, runs: dict[int, str]) -> str:
    """Return a text with a name for each run, and fill ``runs``: their texts by last line."""
    kept: list[str] = []
    end, line = 0, 1
    cuts = [*_runs().finditer(text)]
    if _has_keyword("".join([found[1] for found in cuts])):
        cuts = [found for found in cuts if not _has_keyword(found[1])]
    for found in cuts:
        run, indent = found.group(1, 2)
        start = found.start()
        count = run.count("\n")
        line += text.count("\n", end, start) + count
        runs[line] = run
        last = len(run) - run.rfind("\n") - 1
        kept += text[end:start], "\n" * count, indent, "_" * (last - len(indent))
        end = found.end()
    kept.append(text[end:])
    return "".join(kept)


def _without_types(text: str, types: dict[str, str]) -> str:
    """Return a text with names for types of parameters, and fill ``types``: what they stand for."""
    if _MARK in text:
        return text
    kept: list[str] = []
    end = 0
    for found in _types().finditer(text):
        run = found[1]
        name = f"{_MARK}{len(types)}"
        types[name] = run
        lines = run.count("\n")
        last = len(run) - run.rfind("\n") - 1
        kept += text[end : found.start(1)], name
        kept.append("\n" * lines + " " * last if lines else " " * (last - len(name)))
        end = found.end()
    if _has_keyword(" ".join(types.values())):
        types.clear()
        return text
    kept.append(text[end:])
    return "".join(kept)


def _has_keyword(text: str) -> bool:
    """True if a word in the text of lines or types is a keyword of Python; ``k=True`` has none."""
    words = text.translate(_BETWEEN_WORDS).split()
    if _KEYWORDS.isdisjoint(words):
        return False
    found = _KEYWORDS.intersection(words)
    given = sum(text.count(f"={word}{end}") for word in found & _CONSTANTS for end in ",)")
    return sum(map(words.count, found)) != given


def _put_back(tree: ast.Module, runs: dict[int, str], types: dict[str, str]) -> bool:
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


def _put_types(given: ast.arguments, types: dict[str, str]) -> None:
    """Put the types of a function's parameters where their names are, and take them out."""
    for args in (given.posonlyargs, given.args, given.kwonlyargs):
        whole: list[ast.arg] = []
        for arg in args:
            name: Any = arg.annotation
            run = types.pop(name.id, None) if name.__class__ is Name else None
            if run is None:
                whole.append(arg)
            else:
                _add_parameters(whole, arg, name, run)
        if len(whole) > len(args):
            if args is given.kwonlyargs:
                defaults = {
                    id(arg): each for arg, each in zip(args, given.kw_defaults, strict=True)
                }
                given.kw_defaults[:] = [defaults.get(id(arg)) for arg in whole]
            args[:] = whole


def _add_parameters(whole: list[ast.arg], arg: Any, name: Any, run: str) -> None:
    """Append a parameter and those that follow it in a run of types, in place of ``name``."""
    line, column = name.lineno, name.col_offset
    for between, own, text, *parts in _PARAMETER.findall(run):
        kind, begin = _new(TypeText), column
        if between:
            arg, lines = _new(ast.arg), between.count("\n")
            begin = len(between) - between.rfind("\n") - 1 if lines else column + len(between)
            line += lines
            column = begin + len(own) + 2
            arg.__dict__ = {"arg": own, "lineno": line, "col_offset": begin}
        end = column + len(text)
        kind.__dict__ = {
            "text": text,
            "parts": tuple(parts),
            "ctx": name.ctx,
            "lineno": line,
            "end_lineno": line,
            "col_offset": column,
            "end_col_offset": end,
        }
        arg.annotation, arg.end_lineno, arg.end_col_offset = kind, line, end
        whole.append(arg)
        column = end


_WITHOUT_BLOCKS: Final = frozenset({Assign, AnnAssign, AugAssign, Expr, Return})


_new: Final[Any] = AST.__new__  # what makes a node sets its fields, which a line has not yet


def _add_lines(body: list[Any], run: str, last: int) -> None:
    """Append the lines of a run, of which the last one has the number ``last``."""
    indent = len(run) - len(run.lstrip()) - 1
    texts = run.split(run[: indent + 1])
    for number, text in enumerate(texts[1:], last - len(texts) + 2):
        names, is_assigned, _ = text.partition(" = ")
        line = _new(Line if is_assigned else CallLine)
        line.__dict__ = {  # all at once, which takes less time
            "text": text,
            "names": names,
            "lineno": number,
            "end_lineno": number,
            "col_offset": indent,
            "end_col_offset": indent + len(text),
        }
        body.append(line)
