"""Checks of programs on the machines of a cluster: programs go there, findings come back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pypto._src.checks import Stage, check_program
from pypto._src.cluster.messages import span_as_data, span_from_data
from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, Label
from pypto._src.ir.serialization.serialize import serialize
from pypto._src.ir.stmts import Program
from pypto._src.ops.serialized import deserialize
from pypto._src.passes.sync.checker import FlagIdentity


class ClusterChecks:
    """Programs that a cluster checks, several at a time; `close` cancels the rest."""

    def __init__(self, on: str, programs: Mapping[str, Program], identity: FlagIdentity) -> None:
        from pypto._src.cluster.tasks import Tasks

        self._tasks = Tasks(on, answer)
        self._asked = {
            name: self._tasks.ask({"program": serialize(program), "flags": identity.value})
            for name, program in programs.items()
        }

    def stages(self, name: str) -> list[Stage]:
        """Wait for the outcome of a program."""
        future = self._asked[name]
        while True:
            try:
                found = future.result(timeout=0.5)  # so that Ctrl-C is seen
                break
            except TimeoutError:
                continue
        if "refused" in found:
            return [Stage("rules", (_lost(found["refused"]),))]
        return [
            Stage(stage["name"], tuple(map(_finding, stage["findings"])), stage["skipped"])
            for stage in found["stages"]
        ]

    def close(self) -> None:
        """Cancel the checks that have no outcome yet."""
        self._tasks.close()


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Check one program, on whatever machine this is."""
    program = deserialize(request["program"])
    assert isinstance(program, Program)
    stages = check_program(program, FlagIdentity(request["flags"]))
    return {
        "stages": [
            {"name": s.name, "findings": list(map(_as_data, s.findings)), "skipped": s.skipped}
            for s in stages
        ]
    }


def _as_data(finding: Diagnostic) -> list[Any]:
    related = [[span_as_data(label.span), label.text] for label in finding.related]
    return [
        finding.severity.name,
        finding.rule_name,
        finding.error_code,
        finding.message,
        span_as_data(finding.span),
        finding.label,
        related,
        finding.hint,
        finding.note,
    ]


def _finding(data: list[Any]) -> Diagnostic:
    severity, rule, code, message, span, label, related, hint, note = data
    return Diagnostic(
        DiagnosticSeverity[severity],
        rule,
        code,
        message,
        span_from_data(span),
        label,
        tuple([Label(span_from_data(at), text) for at, text in related]),
        hint,
        note,
    )


def _lost(why: str) -> Diagnostic:
    return Diagnostic(
        DiagnosticSeverity.Error, "worker", 0, why, hint="check it here: leave --on out"
    )
