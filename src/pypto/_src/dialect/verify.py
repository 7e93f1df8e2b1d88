"""Which parsed modules the assembler accepts, for a target, a level and its sync insertion.

Owns the options and the faults, each of which names the broken rule. `op_rules` has the rules of
ops; `memory` decides whether the tiles fit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from pypto._src.dialect import sync_ops
from pypto._src.dialect.memory import find_overflows
from pypto._src.dialect.op_rules import Context, broken_rules, function_of, uses_own_region
from pypto._src.dialect.reader import Source, parse
from pypto._src.dialect.rules import A3, A5
from pypto._src.dialect.tile_ops import declared_arch
from pypto._src.errors import ParserSyntaxError, PyptoError, VerificationError
from pypto._src.records import NamedTuple

LEVELS: Final = ("level1", "level2", "level3")

_WITHIN: Final = "an operand is defined in a region of the op itself"


@dataclass(frozen=True)
class Options:
    """The options of a call of the assembler."""

    arch: str = A3
    level: str = "level2"
    insert_sync: bool = False


class Fault(NamedTuple):
    """A broken rule and the op that breaks it."""

    rule: str
    message: str
    op: Operation


def check(text: str, filename: str = "<pto>", options: Options | None = None) -> Source:
    """Parse and verify a `.pto` text; return the parsed module.

    Raises:
        ParserSyntaxError: the text is not valid syntax.
        VerificationError: the assembler rejects it; the slug is the broken rule, and further faults
            are in ``others``.
    """
    source = parse(text, filename)
    faults = find_faults(source.module, options or Options())
    if faults:
        first, *others = (_error(source, fault) for fault in faults)
        first.others = tuple(others)
        raise first
    return source


_TARGET: Final = re.compile(r"pto\.target_arch\s*=\s*\"(\w*)\"")


def options_of(text: str, arch: str | None = None, level: str | None = None) -> Options:
    """Return the options that a text asks for, except those that are given.

    The target comes from the module's attribute, else it is a3. The level and sync insertion come
    from the first line, as in ``// ptoas --pto-level=level3``.
    """
    named_arch = _TARGET.search(text)
    if arch is None:
        arch = A5 if named_arch is not None and named_arch[1].lower() == A5 else A3
    first = text.split("\n", 1)[0]
    words = first.split()[2:] if first.startswith("// ptoas") else []
    named = [word.partition("=")[2] for word in words if word.startswith("--pto-level=")]
    return Options(arch, level or next(iter(named), "level2"), "--enable-insert-sync" in words)


def as_data(options: Options) -> dict[str, str | bool]:
    """Return options as a dictionary."""
    return {"arch": options.arch, "level": options.level, "insert_sync": options.insert_sync}


def faults_of(text: str, filename: str, options: Options) -> list[PyptoError]:
    """Return every fault of a text, each with its span; see `check`."""
    try:
        check(text, filename, options)
    except (ParserSyntaxError, VerificationError) as error:
        return [error, *error.others]
    return []


def _error(source: Source, fault: Fault) -> VerificationError:
    return VerificationError(
        fault.message,
        source.span(fault.op),
        source_lines=source.text.split("\n"),
        slug=fault.rule,
    )


def find_faults(module: ModuleOp, options: Options) -> list[Fault]:
    """Return what the assembler rejects: first options, then ops of the module in text order."""
    level = options.level.lower()
    if level not in LEVELS:
        return [Fault("level", f"the level is {options.level!r}, wanted one of {LEVELS}", module)]
    declared = declared_arch(module)
    archs = [options.arch] if declared is None else sorted({declared, options.arch})
    ops_in_order = list(module.walk())
    within = [Fault("dominance", _WITHIN, op) for op in ops_in_order if uses_own_region(op)]
    if within:
        return within
    context = Context(
        archs,
        declared or A3,
        level,
        options.insert_sync,
        {op: index for index, op in enumerate(ops_in_order)},
        {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)},
        {function_of(op) for op in ops_in_order if isinstance(op, sync_ops.SetFftsOp)},
    )
    faults: list[Fault] = []
    for op in ops_in_order:
        faults += (Fault(*broken, op) for broken in broken_rules(op, context))
    if not faults and level != "level3":
        for op in context.functions.values():
            faults += (Fault("memory", text, op) for text in find_overflows(op, options.arch))
    return faults
