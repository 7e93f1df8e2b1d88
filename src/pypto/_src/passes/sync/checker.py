"""Checks the synchronisation of functions: races, and the discipline of flags and barriers.

Two unordered accesses of the same bytes, one of them a write, are a race (hardware sheet, 3.1 and
3.2). All of a function is covered: every path, any number of iterations; the argument is in
`checker_dataflow`. Works on any function with memory references, whether its flags come from a pass
or from the user.

It decides the sheet's model exactly, with these exceptions: it may report paths that conditions
exclude; distinct parameters count as distinct memory unless a call in the program passes the same
memory to both, and iterations of a parallel loop count as independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from pypto._src.analysis.accesses import Accesses, SharedParams, alias_bases
from pypto._src.analysis.call_aliases import Alias, call_aliases
from pypto._src.analysis.stmt_tree import Block, number
from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, Label
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Function, Program
from pypto._src.passes.sync.checker_dataflow import Flow
from pypto._src.passes.sync.checker_reports import Findings, Skips, Triple
from pypto._src.passes.sync.checker_state import Key
from pypto._src.records import NamedTuple
from pypto._src.targets import A2A3, Target
from pypto._src.usage_errors import not_a_program


class FlagIdentity(Enum):
    """What identifies a flag. The vendor documents the first; field reports suspect the second."""

    PAIR = "pair"
    """Source pipe, waiting pipe and event."""
    SOURCE = "source"
    """Source pipe and event: the first pipe that waits takes the flag."""


def check_sync(
    program: Program | Function,
    target: Target = A2A3,
    *,
    identity: FlagIdentity = FlagIdentity.PAIR,
    every_way: bool = False,
) -> list[Diagnostic]:
    """Return findings about the flags and barriers of a program's kernels, each one once.

    Rules: ``sync-race`` two unordered accesses; ``sync-deadlock`` a wait before its set;
    ``sync-double-set`` a flag raised twice; ``sync-taken`` a flag that another pipe takes;
    ``sync-leak`` a flag left raised; ``sync-flag`` a flag that the hardware does not have;
    ``sync-tail`` work in flight at the end; ``sync-overtake`` (a warning) a flag raised again while
    its wait may still be pending.

    With ``every_way`` conditions are ignored: any arm may follow any other.

    Raises:
        CallError: it is neither a program nor a function.
        PassError: a tile has no memory reference: InitMemRef has not run.
    """
    check = _Check(target, identity, every_way)
    if isinstance(program, Function):
        root = number(program)
        return check.run(program, root).list()
    if not isinstance(program, Program):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise not_a_program(program, "passes.check_sync")
    found: list[Diagnostic] = []
    kernels = [f for f in program.functions_ if role(f) is Role.KERNEL]
    trees = {kernel: number(kernel) for kernel in kernels}
    aliases: Mapping[str, Sequence[Alias]] = {}
    if len(kernels) < len(program.functions_):
        roots = {kernel.name: alias_bases(kernel, root) for kernel, root in trees.items()}
        aliases = call_aliases(program, roots)
    for kernel, root in trees.items():
        findings = check.run(kernel, root)
        found += findings.list()
        for alias in aliases.get(kernel.name, ()):
            found += _of_alias(
                kernel, alias, findings, check.of_alias(kernel, root, alias, findings)
            )
    return found


class _Check(NamedTuple):
    """How functions are checked; see `check_sync`."""

    target: Target
    identity: FlagIdentity
    every_way: bool

    def of_alias(self, kernel: Function, root: Block, alias: Alias, known: Findings) -> Findings:
        """Return the findings if two parameters share memory, without the known races.

        Races of statements that touch different elements are left out, too: there may be very many.
        """
        return self.run(
            kernel,
            root,
            [alias.params],
            skips=lambda first, second, loop: (
                known.has_race(first, second, loop) or not alias.may_meet(first.begin, second.begin)
            ),
        )

    def run(
        self,
        function: Function,
        root: Block,
        shared: Sequence[SharedParams] = (),
        *,
        skips: Skips | None = None,
    ) -> Findings:
        """Return the findings in a function, some of whose parameters may share memory."""
        findings = Findings(self.target.event_ids, skips, function)
        key_of = _by_pair if self.identity is FlagIdentity.PAIR else _by_source
        accesses = Accesses(function, root, shared)
        Flow(function, root, accesses, findings, key_of, every_way=self.every_way).run()
        return findings


def _of_alias(
    kernel: Function, alias: Alias, known: Findings, findings: Findings
) -> list[Diagnostic]:
    """Return the races that exist only because a call passes two parameters the same memory."""
    names = [user_name(kernel.params[i]) for i in (alias.params.first, alias.params.second)]
    what, verb = " and ".join(names), "are" if alias.is_sure else "may be"
    severity = DiagnosticSeverity.Error if alias.is_sure else DiagnosticSeverity.Warning
    new = [key for key in findings.found if key[0] == "sync-race" or key not in known.found]
    return [
        each._replace(
            severity=severity,
            message=f"{each.message}: {what} {verb} one tensor where {alias.caller} calls "
            f"{kernel.name}",
            related=(*each.related, Label(alias.call.span, f"{what} {verb} one tensor here")),
        )
        for each in map(findings.diagnostic, new)
    ]


def _by_pair(triple: Triple) -> Key:
    return triple


def _by_source(triple: Triple) -> Key:
    return triple.source, triple.event
