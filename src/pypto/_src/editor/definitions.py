"""The kernels of a text that is being edited.

Only definitions are executed: imports, functions, classes that are programs, and assignments that
compute with literals, names and the language. Calls and loops of the file are skipped, so that half
a line never runs for its effects. What fails is reported, and the rest goes on.
"""

from __future__ import annotations
import __future__

import ast
import linecache
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, Span
from pypto._src.errors import PyptoError

_LANGUAGE: Final = "pypto"


class Definitions(NamedTuple):
    """The values of a text's names, and the errors of some of its statements."""

    names: dict[str, Any]
    findings: list[Diagnostic]
    unknown: frozenset[str]
    """Names that have no value, as their statement was skipped or failed."""


def definitions(text: str, filename: str) -> Definitions:
    """Execute the definitions of a text.

    Raises:
        SyntaxError: the text is not valid Python.
    """
    # Reports show its lines, and kernels are read from them. No time stamp: it is not re-read.
    lines = text.splitlines(keepends=True)
    linecache.cache[filename] = (len(text), None, lines, filename)
    tree = ast.parse(text, filename)
    names: dict[str, Any] = {"__name__": "__pypto_editor__", "__file__": filename}
    aliases: set[str] = set()
    findings: list[Diagnostic] = []
    unknown: set[str] = set()
    flags = 0
    for node in _statements(tree.body):
        if not _defines(node, aliases):
            unknown.update(_targets(node))
            continue
        try:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                flags |= (
                    __future__.annotations.compiler_flag
                )  # the only one that still has an effect
                continue
            code = compile(ast.Module([node], []), filename, "exec", flags, dont_inherit=True)
            # Kernels are wanted as objects, as an import of the file would make them. `_defines`
            # has skipped the statements that an import would run for their effects.
            exec(code, names)
        except PyptoError as error:
            findings += [each.diagnostic for each in (error, *error.others)]
            unknown.update(_targets(node))
        except (Exception, SystemExit) as error:
            unknown.update(_targets(node))
            if not (isinstance(error, NameError) and error.name in unknown):
                findings.append(_failure(error, node, filename, lines))
    return Definitions(names, findings, frozenset(unknown - names.keys()))


def of_syntax(error: SyntaxError, filename: str) -> Diagnostic:
    """Return a finding for a text that is not valid Python."""
    span = Span(filename, error.lineno or 1, max((error.offset or 1) - 1, 0))
    return Diagnostic(DiagnosticSeverity.Error, "user-file", 0, f"SyntaxError: {error.msg}", span)


def _failure(error: BaseException, node: ast.stmt, filename: str, lines: list[str]) -> Diagnostic:
    before = lines[node.lineno - 1].encode()[: node.col_offset]  # Python counts bytes here
    span = Span(filename, node.lineno, len(before.decode()))
    message = f"{type(error).__name__}: {error}"
    return Diagnostic(DiagnosticSeverity.Error, "user-file", 0, message, span)


def _statements(nodes: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, including those of both branches of a condition."""
    for node in nodes:
        if isinstance(node, ast.If | ast.Try) and not _is_main(node):
            yield from _statements(node.body)
            yield from _statements(node.orelse)
        else:
            yield node


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(each, ast.Name) and each.id in ("__name__", "TYPE_CHECKING")
        for each in ast.walk(node.test)
    )


def _defines(node: ast.stmt, aliases: set[str]) -> bool:
    """True for a statement that only defines; adds the names of our modules to ``aliases``."""
    match node:
        case ast.Import():
            for each in node.names:
                if each.name.split(".")[0] == _LANGUAGE:
                    aliases.add(each.asname or each.name.split(".")[0])
            return True
        case ast.ImportFrom():
            if node.level == 0 and (node.module or "").split(".")[0] == _LANGUAGE:
                aliases.update(each.asname or each.name for each in node.names)
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            outside = [*node.decorator_list]
            if isinstance(node, ast.ClassDef):
                if not node.decorator_list:
                    return False
                outside += node.bases
            return all(_is_known(each, aliases) for each in outside)
        case ast.Assign() | ast.AnnAssign():
            return node.value is not None and _is_known(node.value, aliases)
        case _:
            return False


def _is_known(node: ast.expr, aliases: set[str]) -> bool:
    """True for an expression that calls nothing outside the language."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            target = each.func
            while isinstance(target, ast.Attribute):
                target = target.value
            if not (isinstance(target, ast.Name) and target.id in aliases):
                return False
        elif isinstance(each, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
            return False
    return True


def _targets(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement would have assigned."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id
