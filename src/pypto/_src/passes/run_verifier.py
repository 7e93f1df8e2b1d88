"""RunVerifier: reports what is wrong with a program, and continues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pypto._src.diagnostics import DiagnosticSeverity, render
from pypto._src.ir.stmts import Program
from pypto._src.lazy import lazy_module
from pypto._src.passes.pass_base import Pass, pass_factory
from pypto._src.passes.verification import NOTHING_KNOWN, PassFacts

if TYPE_CHECKING:
    from pypto._src import logs
else:
    logs = lazy_module("pypto._src.logs")


class RunVerifier(Pass):
    """Logs what the verifier's rules find, by their severity; the program stays as it is."""

    name = "IRVerifier"

    def __init__(self, disabled_rules: Sequence[str] = ()) -> None:
        if isinstance(disabled_rules, str):
            raise ValueError(f"the rules to leave out are a list: [{disabled_rules!r}]")
        self.disabled_rules = tuple(disabled_rules)

    def run(self, program: Program) -> Program:
        """Return ``program`` itself; errors in it are logged, not raised."""
        return self.transform(program, NOTHING_KNOWN)

    def transform(self, program: Program, facts: PassFacts) -> Program:
        """Do what `run` does, without the rules that were already run on this program."""
        from pypto._src.ir.verify.verifier import IRVerifier

        verifier = IRVerifier.create_default()
        for rule in (*self.disabled_rules, *facts.verified_rules()):
            verifier.disable_rule(rule)
        for diagnostic in verifier.verify(program, facts.cache):
            severe = diagnostic.severity is DiagnosticSeverity.Error
            logs.log(logs.LogLevel.ERROR if severe else logs.LogLevel.WARN, render(diagnostic))
        return program


@pass_factory
def run_verifier(disabled_rules: Sequence[str] = ()) -> Pass:
    """Return the pass that logs what the verifier finds, without the disabled rules."""
    return RunVerifier(disabled_rules)
