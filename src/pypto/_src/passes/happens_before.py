"""Checks the synchronisation of functions: races, and the discipline of flags and barriers.

Two accesses of the same bytes, one of them a write, that nothing orders are a race (hardware sheet,
3.1 and 3.2). The whole of a function is covered, every way and any number of turns; the argument
stands in `check_flow`. Works on any function with memory references, whoever put the flags there.

It decides the sheet's model exactly but for this: ways that conditions exclude may be reported; and
distinct parameters are taken as distinct memory, turns of a parallel loop as independent.
"""

from __future__ import annotations

from enum import Enum

from pypto._src.diagnostics import Diagnostic
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Function, Program
from pypto._src.passes.buffers import Accesses
from pypto._src.passes.check_flow import Flow
from pypto._src.passes.check_state import Key
from pypto._src.passes.check_texts import Findings, Triple
from pypto._src.passes.regions import number
from pypto._src.targets import A2A3, Target


class FlagIdentity(Enum):
    """What tells two flags apart. The vendor says the first; field reports suspect the second."""

    PAIR = "pair"
    """Source pipe, waiting pipe and event."""
    SOURCE = "source"
    """Source pipe and event: whoever waits first takes the flag."""


def check_sync(
    program: Program | Function,
    target: Target = A2A3,
    *,
    identity: FlagIdentity = FlagIdentity.PAIR,
    every_way: bool = False,
) -> list[Diagnostic]:
    """Return what is wrong with the flags and barriers of a program's kernels, each finding once.

    Rules: ``sync-race`` two accesses that nothing orders; ``sync-deadlock`` a wait before its set;
    ``sync-double-set`` a flag raised twice; ``sync-taken`` a flag that another pipe takes;
    ``sync-leak`` a flag left raised; ``sync-flag`` a flag that the hardware does not have;
    ``sync-tail`` work in flight at the end; ``sync-overtake`` (a warning) a flag raised again while
    its wait may still be under way.

    With ``every_way`` nothing is made of conditions: any arm may follow any other.

    Raises:
        PassError: a tile has no memory reference: InitMemRef has not run.
    """
    if isinstance(program, Program):
        kernels = [f for f in program.functions_ if role(f) is Role.KERNEL]
        found: list[Diagnostic] = []
        for kernel in kernels:
            found += check_sync(kernel, target, identity=identity, every_way=every_way)
        return found
    root = number(program)
    findings = Findings(target.event_ids)
    key_of = _by_pair if identity is FlagIdentity.PAIR else _by_source
    accesses = Accesses(program, root)
    Flow(program, root, accesses, findings, key_of, every_way=every_way).run()
    return findings.list()


def _by_pair(triple: Triple) -> Key:
    return triple


def _by_source(triple: Triple) -> Key:
    return triple.source, triple.event
