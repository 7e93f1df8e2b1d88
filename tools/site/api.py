"""Pages of the public names, from their docstrings and signatures.

Sphinx reads docstrings itself (autodoc), but does not know operators: an `OpDef` is a value. What
is worth saying about one is in its definition, so the pages are written here, as Markdown, in which
docstrings are written, too. Each name becomes an entry of Sphinx's index and search.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import pypto.language as pl
from pypto._src.dtypes import DataType
from pypto._src.ir.op_params import REQUIRED, Param
from pypto._src.ir.opdef import OpDef
from pypto._src.ops.unified import Unified

OPERATORS = {
    "block": ("Operators on tiles", "Each is `pl.NAME`, too, and works with tiles, in kernels."),
    "tensor": ("Operators on tensors", "Whole arrays in global memory; a compile tiles them."),
    "system": ("Operators on the core", "Flags and barriers, which a compile inserts by itself."),
}
PACKAGES = {
    "pypto.language": "The names beside operators that kernels use: decorators, loops, types.",
    "pypto.runtime": "Compile programs and run them on this machine.",
    "pypto.golden": "Run a program on arguments from specs and compare it with a reference.",
    "pypto.ir": "Programs as data: nodes, types, printing, reading, comparing.",
    "pypto.passes": "What a compile does, one by one, and the checks.",
    "pypto.codegen": "C++ and PTO MLIR as text.",
    "pypto.backend": "Chips and how texts for them are made.",
    "pypto": "The version, errors and the log.",
}
_SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Attributes):\s*$")
_ENTRY = re.compile(r"^ +(\*{0,2}\w+)(?: \([^)]*\))?: ?(.*)$")


class ApiPage(NamedTuple):
    """A page of the site: its name, title, introduction and number of names."""

    name: str
    title: str
    about: str
    text: str
    names: int


def pages() -> Iterator[ApiPage]:
    """Yield the pages, those of operators first."""
    for name, (title, about) in OPERATORS.items():
        module: ModuleType = getattr(pl, name)
        head = f"# {title}\n\nThe names of `pl.{name}`. {about}\n"
        entries = [_operator(op_name, getattr(module, op_name)) for op_name in _ops(module)]
        text = "\n".join([head, _current(f"pl.{name}"), *entries])
        yield ApiPage(f"operators-{name}", title, about, text, len(entries))
    operators = {op for name in OPERATORS for op in _ops(getattr(pl, name))}
    for name, about in PACKAGES.items():
        module = import_module(name)
        names: list[str] = [each for each in module.__all__ if each not in operators]
        head = f"# {name}\n\n{about}\n"
        entries = [_entry(each, getattr(module, each)) for each in names]
        entries = [entry for entry in entries if entry]
        text = "\n".join([head, _current(name), *entries])
        yield ApiPage(name.replace(".", "-"), name, about, text, len(entries))


def _ops(module: ModuleType) -> list[str]:
    return sorted(
        name for name in module.__all__ if isinstance(getattr(module, name), OpDef | Unified)
    )


def _current(module: str) -> str:
    return f"```{{py:currentmodule}} {module}\n```\n"


def _directive(kind: str, signature: str, body: str, *, indexed: bool = True) -> str:
    """Return a directive; its fence is longer than any inside it."""
    inside = max((len(found) for found in re.findall(r"^`{3,}", body, re.MULTILINE)), default=2)
    fence = "`" * (inside + 1)
    option = "" if indexed else ":no-index:\n"
    return f"{fence}{{py:{kind}}} {signature}\n{option}\n{body.strip()}\n{fence}\n"


def _operator(name: str, op: Any) -> str:
    """Return the entries of an operator, one for each kind of operands; the first is indexed."""
    defined: list[OpDef[..., Any]] = op.candidates if isinstance(op, Unified) else [op]
    entries = [
        _directive(
            "function",
            f"{name}{_parameters(each)}",
            f"{docstring(each.doc)}\n{_facts(each)}",
            indexed=each is defined[0],
        )
        for each in defined
    ]
    return "\n".join(entries)


def _parameters(op: OpDef[..., Any]) -> str:
    parameters = [_parameter(each) for each in op.params]
    if op.last_operand:
        parameters.append(f"{op.last_operand}=None")
    return f"({', '.join(parameters)})"


def _parameter(param: Param) -> str:
    if param.default is REQUIRED:
        return param.name
    return f"{param.name}={_value(param.default)}"


def _value(value: object) -> str:
    if isinstance(value, DataType):
        return f"pl.{value.member}"
    if isinstance(value, enum.Enum):
        return f"pl.{type(value).__name__}.{value.name}"
    return repr(value)


def _facts(op: OpDef[..., Any]) -> str:
    """Return the other facts in the definition of an op, as one line."""
    facts: list[str] = []
    if op.pipe is not None:
        facts.append(f"pipe {op.pipe.name}")
    if isinstance(op.isa, str):
        facts.append(f"C++ `{op.isa}`")
    if isinstance(op.pto, str):
        facts.append(f"MLIR `{op.pto}`")
    if op.level == "block" and op.dtypes:
        facts.append("elements " + ", ".join(sorted(each.member for each in op.dtypes)))
    return f"\n*{'; '.join(facts)}*\n".replace("*`", "`") if facts else ""


def _entry(name: str, value: Any) -> str:
    """Return the entry of a public name, or nothing for a module or a member of a listed class."""
    if isinstance(value, ModuleType | enum.Enum | str | int | DataType):
        return ""
    text = docstring(inspect.getdoc(value) or "")
    if isinstance(value, enum.EnumType):
        members = ", ".join(f"`{member}`" for member in value.__members__)
        return _directive("class", name, f"{text}\nMembers: {members}\n")
    if inspect.isclass(value):
        return _directive("class", f"{name}{_signature(value)}", text + _members(value))
    if callable(value):
        return _directive("function", f"{name}{_signature(value)}", text)
    return _directive("data", name, text)


def _members(owner: Any) -> str:
    found: list[str] = []
    attributes: dict[str, Any] = dict(owner.__dict__)
    for name, value in attributes.items():
        if name.startswith("_"):
            continue
        if isinstance(value, property) and value.__doc__:
            found.append(_directive("property", name, docstring(value.__doc__)))
        elif isinstance(value, staticmethod | classmethod | FunctionType):
            plain: Any = getattr(owner, name)
            if inspect.getdoc(plain):
                text = docstring(inspect.getdoc(plain) or "")
                signature = _signature(plain, bound=isinstance(value, FunctionType))
                found.append(_directive("method", f"{name}{signature}", text))
    return "\n" + "\n".join(found)


def _signature(value: Any, *, bound: bool = False) -> str:
    """Return the names and defaults of the parameters; types would make it unreadable."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return "()"
    shown = [
        parameter.replace(annotation=parameter.empty, default=_Shown.of(parameter.default))
        for parameter in parameters[bound:]
        if parameter.name != "span"
    ]
    try:
        return str(inspect.Signature(shown))
    except ValueError:  # a parameter without a default after one with: `span` was between them
        return "(" + ", ".join(parameter.name for parameter in shown) + ")"


class _Shown:
    """A default that is shown as a user would type it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    @staticmethod
    def of(default: Any) -> Any:
        if default is inspect.Parameter.empty:
            return default
        text = _value(default)
        return _Shown("..." if text.startswith("<") or len(text) > 40 else text)


def docstring(text: str) -> str:
    """Return a docstring as Markdown: its sections are lists."""
    lines: list[str] = []
    section = False
    for line in inspect.cleandoc(text).splitlines():
        head = _SECTION.match(line)
        entry = _ENTRY.match(line) if section else None
        if head:
            section = True
            lines += ["", f"**{head[1]}**", ""]
        elif entry:
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        else:
            section = section and (not line or line.startswith(" "))
            lines.append(line)
    return "\n".join(lines) + "\n"
