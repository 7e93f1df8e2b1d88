"""Helpers to parse a kernel in a test and to inspect the result."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

import pypto.language as pl
from pypto._src.errors import ParserError
from pypto._src.ir.equal import assert_structural_equal
from pypto._src.ir.stmts import Function, Program


def source(params: str, code: str, *, before: str = "", options: str = "", result: str = "") -> str:
    """Return a module with the kernel ``f(params) -> result``."""
    arrow = f" -> {result}" if result else ""
    body = indent(dedent(code).strip(), "    ")
    head = f"import pypto.language as pl\n{dedent(before)}\n@pl.function{options}\n"
    return f"{head}def f({params}){arrow}:\n{body}\n"


def kernel(
    params: str,
    code: str,
    *,
    before: str = "",
    options: str = "",
    result: str = "",
    trusted: bool = False,
) -> Function:
    """Return the parsed kernel, after checking that its printed text round-trips."""
    text = source(params, code, before=before, options=options, result=result)
    found = pl.parse(text, trusted=trusted)
    assert isinstance(found, Function)
    again = pl.parse(str(found))
    assert_structural_equal(again, found)
    assert str(again) == str(found)
    return found


def body(
    params: str,
    code: str,
    *,
    before: str = "",
    options: str = "",
    result: str = "",
    trusted: bool = False,
) -> str:
    """Return the printed statements of a kernel, without types of the variables."""
    text = str(kernel(params, code, before=before, options=options, result=result, trusted=trusted))
    lines = text[text.index("def f(") :].splitlines()[1:]
    return "\n".join(untyped(line[4:]) for line in lines)


def untyped(line: str) -> str:
    """Return ``x: TYPE = value`` as ``x = value``."""
    stripped = line.lstrip()
    name, colon, rest = stripped.partition(": pl.")
    if not colon or not name.isidentifier() or " = " not in rest:
        return line
    return f"{line[: len(line) - len(stripped)]}{name} = {rest.split(' = ', 1)[1]}"


def lines(text: str) -> str:
    """Return the lines of an indented text."""
    return dedent(text).strip("\n").rstrip()


def error(
    params: str,
    code: str,
    *,
    before: str = "",
    options: str = "",
    result: str = "",
    trusted: bool = False,
) -> ParserError:
    """Return the error of a kernel with mistakes."""
    text = source(params, code, before=before, options=options, result=result)
    with pytest.raises(ParserError) as caught:
        pl.parse(text, trusted=trusted)
    return caught.value


def program(code: str, *, trusted: bool = False) -> Program:
    """Return the parsed program, after checking that its printed text round-trips."""
    found = pl.parse_program(dedent(code), trusted=trusted)
    assert_structural_equal(pl.parse_program(str(found)), found)
    return found
