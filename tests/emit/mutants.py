"""Mutates what the emitters of kernels write, and counts the mutants that recorded texts detect.

Run ``python -m tests.emit.mutants [COUNT [FOLDER ...]]`` for all mutants, or for a random sample
of those that the texts of some folders reach. A mutant is one change in a function that writes
PTO or C++ texts of kernels, in `pypto._src.emit` or in the form that an op's definition has:

* *text*: a string is replaced: an instruction, an attribute, a type, a bracket;
* *order*: two adjacent values of an f-string are swapped;
* *name*: the instruction that an op's definition names is replaced.

A mutant is detected if emission fails, or some text differs from the one in `tests/golden`. Only
changes that some text reaches are made: error messages are in no text, nor are arguments that
a function gets only for its errors. Each mutant is judged
in its own process, as emitters keep results.
"""

from __future__ import annotations

import ast
import builtins
import gc
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from types import CodeType, FunctionType
from typing import NamedTuple

from pypto import _src
from pypto._src.ops.define import REGISTRY
from tests.emit.golden_texts import FOLDERS, differences, texts

SOURCE = Path(_src.__file__).parent
EMITTERS = ("emit/cpp", "emit/pto", "emit/writer")
"""The prefixes of the files of the emitters of kernels."""
OTHER = "_OTHER"


class Mutant(NamedTuple):
    """One change."""

    kind: str
    file: str  # below `SOURCE`; or the op whose instruction is renamed
    line: int
    number: int  # of the change, within its file

    def __str__(self) -> str:
        return f"{self.kind} {self.file}:{self.line}"


# --------------------------------------------------------------------------------------------
# Mutants of functions
# --------------------------------------------------------------------------------------------


class _Changes(ast.NodeTransformer):
    """Numbers the possible changes of a file, and makes one of them.

    Text that an emitter does not write is unchanged: docstrings, error messages, names that are
    compared or looked up. Without a number, nothing changes, except that each expression that
    could be changed reports to `_REACHED` when it is evaluated.
    """

    def __init__(self, wanted: int | None, *, everywhere: bool) -> None:
        self.found: list[tuple[str, int]] = []
        self.wanted = wanted
        self.everywhere = everywhere  # or only in functions that get a `CppSite` or a `PtoSite`
        self.inside = False  # such a function

    def _number(self, kind: str, node: ast.expr) -> int:
        self.found.append((kind, node.lineno))
        return len(self.found) - 1

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outside = self.inside
        self.inside = outside or self.everywhere or "Site" in ast.unparse(node.args)
        node.body = [self.visit(stmt) for stmt in node.body]
        self.inside = outside
        return node

    def _leave(self, node: ast.AST) -> ast.AST:
        return node

    visit_Raise = visit_Assert = visit_Compare = visit_Subscript = visit_Dict = _leave

    def visit_Call(self, node: ast.Call) -> ast.AST:
        said = (
            _said_only().get(node.func.id, frozenset()) if isinstance(node.func, ast.Name) else ()
        )
        node.func = self.visit(node.func)
        node.args = [arg if at in said else self.visit(arg) for at, arg in enumerate(node.args)]
        node.keywords = [word if word.arg in said else self.visit(word) for word in node.keywords]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = self.visit(node.value) if node.value is not None else None
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        node.body = [self.visit(stmt) for stmt in node.body]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        node.value = self.visit(node.value)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not (self.inside and isinstance(node.value, str) and node.value.strip()):
            return node
        number = self._number("text", node)
        if self.wanted is None:
            return _reaching(number, node)
        return ast.Constant(f"{node.value}0") if number == self.wanted else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        values = [part for part in node.values if isinstance(part, ast.FormattedValue)]
        numbers: list[int] = []
        for one, other in pairwise(values if self.inside else ()):
            if ast.dump(one.value) != ast.dump(other.value):
                numbers.append(self._number("order", node))
                if numbers[-1] == self.wanted:
                    one.value, other.value = other.value, one.value
                    return node
        for index, part in enumerate(node.values):
            new = self.visit(part)
            node.values[index] = ast.FormattedValue(new, -1) if isinstance(new, ast.Call) else new
        return (
            _reaching(numbers[0], node, len(numbers)) if numbers and self.wanted is None else node
        )


_REACHED = "reached_by_a_text"


def _reaching(number: int, value: ast.expr, count: int = 1) -> ast.Call:
    """Return a call that records that changes are reached, and has this value."""
    numbers = [ast.Constant(number + index) for index in range(count)]
    where = ast.Name("__file__", ast.Load())
    return ast.Call(ast.Name(_REACHED, ast.Load()), [where, value, *numbers], [])


@cache
def _source(file: str) -> str:
    return (SOURCE / file).read_text(encoding="utf-8")


@cache
def _said_only() -> dict[str, frozenset[int | str]]:
    """Return which arguments of functions, by position and name, only their errors use."""
    found: dict[str, frozenset[int | str]] = {}
    for file in files():
        for node in ast.walk(ast.parse(_source(file))):
            if isinstance(node, ast.FunctionDef):
                said = _said_by_errors(node)
                found[node.name] = found.get(node.name, said) & said  # of all with that name
    return found


def _said_by_errors(function: ast.FunctionDef) -> frozenset[int | str]:
    """Return the parameters of a function that are read only where it raises."""
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    raised = [node for node in ast.walk(function) if isinstance(node, ast.Raise)]
    in_errors = {id(node) for each in raised for node in ast.walk(each)}
    reads = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    said = {node.id for node in reads if id(node) in in_errors}
    said -= {node.id for node in reads if id(node) not in in_errors}
    return frozenset[int | str](
        word for at, name in enumerate(names) if name in said for word in (at, name)
    )


def _changed(file: str, wanted: int | None = None) -> tuple[ast.Module, list[tuple[str, int]]]:
    changes = _Changes(wanted, everywhere=file.startswith(EMITTERS))
    tree: ast.Module = changes.visit(ast.parse(_source(file)))
    return ast.fix_missing_locations(tree), changes.found


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


@cache
def _functions() -> list[FunctionType]:
    gc.unfreeze()
    return [found for found in gc.get_objects() if isinstance(found, FunctionType)]


def _make(file: str, wanted: int | None) -> None:
    """Replace all functions of a file, in this process, by the changed ones."""
    path = str(SOURCE / file)
    code = compile(_changed(file, wanted)[0], path, "exec", dont_inherit=True)
    new = {_key(code): code for code in _codes(code)}
    for function in _functions():
        old = function.__code__
        if old.co_filename == path:
            changed = new[_key(old)]
            assert changed.co_freevars == old.co_freevars
            function.__code__ = changed


def _rename(name: str) -> None:
    """Make the definition of an op name another instruction, in both texts."""
    op = REGISTRY[name]
    for field in ("isa", "pto"):
        form = getattr(op, field)
        if isinstance(form, str):
            object.__setattr__(op, field, form + OTHER)


def _below(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@cache
def files() -> list[str]:
    """Return the files whose functions are changed."""
    forms = [form for op in REGISTRY.values() for form in (op.isa, op.pto)]
    found = {Path(form.__code__.co_filename) for form in forms if isinstance(form, FunctionType)}
    found |= {path for path in SOURCE.rglob("*.py") if _below(path).startswith(EMITTERS)}
    return sorted(map(_below, found))


def mutants() -> list[Mutant]:
    """Return all mutants."""
    found = [
        Mutant(kind, file, line, number)
        for file in files()
        for number, (kind, line) in enumerate(_changed(file)[1])
    ]
    renamed = sorted(name for name, op in REGISTRY.items() if isinstance(op.isa or op.pto, str))
    return found + [Mutant("name", name, 0, 0) for name in renamed]


# --------------------------------------------------------------------------------------------
# Judging
# --------------------------------------------------------------------------------------------

Reached = dict[tuple[str, int], str]
"""File and number of a change, mapped to the first folder whose texts reach it."""


def reached(folders: Sequence[str]) -> Reached:
    """Return which changes the folders' texts reach, and the first such folder."""
    found: Reached = {}
    folder = ""

    def note(path: str, value: str, *numbers: int) -> str:
        for number in numbers:
            found.setdefault((_below(Path(path)), number), folder)
        return value

    setattr(builtins, _REACHED, note)
    for file in files():
        _make(file, None)
    for folder in folders:
        texts(folder)
    return found


def noticed(mutant: Mutant, first: str) -> bool:
    """True if a recorded text, from a folder on, differs with a mutant's change."""
    if mutant.kind == "name":
        _rename(mutant.file)
        folders: Sequence[str] = [path for path in FOLDERS if path.endswith(f"/{mutant.file}")]
    else:
        _make(mutant.file, mutant.number)
        folders = FOLDERS[FOLDERS.index(first) :]
    try:
        return any(any(differences(folder, texts(folder))) for folder in folders)
    except Exception:
        return True  # nothing is emitted


def main(count: int | None, folders: Sequence[str]) -> int:
    """Judge mutants that the texts of folders reach; return how many were missed.

    Prints how many were detected of each kind, and which were missed.
    """
    _functions()  # there are more of them in a process that has emitted something
    context = multiprocessing.get_context("fork")
    with context.Pool(1) as pool:
        firsts = pool.apply(reached, [folders])
    for mutant in mutants():
        if mutant.kind == "name":
            firsts[mutant.file, mutant.number] = ""
    chosen = [mutant for mutant in mutants() if (mutant.file, mutant.number) in firsts]
    if count is not None:
        chosen = Random(count).sample(chosen, count)
    work = [(mutant, firsts[mutant.file, mutant.number]) for mutant in chosen]
    with context.Pool(maxtasksperchild=1) as pool:
        verdicts = dict(zip(chosen, pool.starmap(noticed, work, chunksize=1), strict=True))
    for kind in sorted({mutant.kind for mutant in chosen}):
        found = [verdict for mutant, verdict in verdicts.items() if mutant.kind == kind]
        print(f"{kind}: {sum(found)} of {len(found)} mutants noticed")
    missed = [mutant for mutant, verdict in verdicts.items() if not verdict]
    for mutant in missed:
        print(f"missed: {mutant}")
    return len(missed)


if __name__ == "__main__":
    number, *names = sys.argv[1:] or [""]
    sys.exit(main(int(number) if number else None, names or FOLDERS) > 0)
