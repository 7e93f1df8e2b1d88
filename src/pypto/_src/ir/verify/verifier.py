"""The rules that a program has to keep, and the verifier that runs them.

A rule is a function from a program to `Diagnostic`s; `RULES` names them:

* ``Structure``: yields, breaks and calls of functions are where they have a meaning. Holds of
  every program.
* ``TypeCheck``: values have the types of their variables; calls of ops have the type that
  the op's rule gives. Holds of every program.
* ``SSAVerify``: every variable is assigned once and read where it is known. Holds from
  ConvertToSSA on.
* ``NoNestedCall``: a call is the whole right side of an assignment, or a statement. Holds from
  FlattenCallExpr on.

Each rule has a module. Together they make one walk, linear in the size of the program, and a closer
check of the statements that are not right in every program; see `verification_cache`. The module of
a rule is loaded only for a program with statements that it checks; most have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, Label
from pypto._src.errors import VerificationError
from pypto._src.ir.stmts import Program
from pypto._src.ir.verify.ssa import look, ssa
from pypto._src.ir.verify.verification_cache import Look, VerificationCache

Rule: TypeAlias = Callable[..., Iterator[Diagnostic]]
"""Takes a program and, if it is in `_USES_CACHE`, what was found of the program before."""


def structure(program: Program, cache: VerificationCache | None = None) -> Iterator[Diagnostic]:
    """Yields and returns end bodies, jumps are in loops, called functions exist."""
    cache = cache or VerificationCache()
    known = program.entry is None or program.get_function(program.entry) is not None
    if known and all(found.in_place and not found.doubtful for found in _looks(program, cache)):
        return
    from pypto._src.ir.verify import structure

    yield from structure.structure(program, cache)


def type_check(program: Program, cache: VerificationCache | None = None) -> Iterator[Diagnostic]:
    """Values have the types of what takes them; scalars and calls fit their operands."""
    cache = cache or VerificationCache()
    if any(found.doubtful for found in _looks(program, cache)):
        from pypto._src.ir.verify import types

        yield from types.type_check(program, cache)


def no_nested_call(
    program: Program, cache: VerificationCache | None = None
) -> Iterator[Diagnostic]:
    """A call is the whole right side of an assignment, or a statement."""
    cache = cache or VerificationCache()
    if any(found.left for found in _looks(program, cache)):
        from pypto._src.ir.verify import nested_calls

        yield from nested_calls.no_nested_call(program, cache)


def _looks(program: Program, cache: VerificationCache) -> list[Look]:
    return [look(function, cache) for function in program.functions_]


RULES: Final[dict[str, Rule]] = {
    "Structure": structure,
    "SSAVerify": ssa,
    "TypeCheck": type_check,
    "NoNestedCall": no_nested_call,
}
"""Every rule by its name."""

_USES_CACHE: Final = frozenset(RULES.values())


class IRVerifier:
    """Some of the `RULES`, run together: none at first, all with `create_default`."""

    def __init__(self) -> None:
        self._rules: dict[str, None] = {}
        self._disabled: set[str] = set()

    @staticmethod
    def create_default() -> IRVerifier:
        """Return a verifier with all rules."""
        verifier = IRVerifier()
        for name in RULES:
            verifier.enable_rule(name)
        return verifier

    def enable_rule(self, name: str) -> None:
        """Run the rule ``name``; unknown names are ignored."""
        self._disabled.discard(name)
        if name in RULES:
            self._rules[name] = None

    def disable_rule(self, name: str) -> None:
        """Do not run the rule ``name``."""
        self._disabled.add(name)

    def is_rule_enabled(self, name: str) -> bool:
        """True unless ``name`` was disabled and not enabled again."""
        return name not in self._disabled

    def verify(self, program: Program, cache: VerificationCache | None = None) -> list[Diagnostic]:
        """Return what the rules find, rule by rule, in the order of the program's text.

        ``cache`` may hold what was found of this program before a pass changed it, and takes in
        what is found now.
        """
        names = [name for name in self._rules if name not in self._disabled]
        known = VerificationCache() if cache is None else cache
        found: list[Diagnostic] = []
        for rule in map(RULES.__getitem__, names):
            found += rule(program, known) if rule in _USES_CACHE else rule(program)
        return found

    def verify_or_throw(self, program: Program) -> None:
        """Do nothing if the rules find no error.

        Raises:
            VerificationError: its message is the report.
        """
        found = self.verify(program)
        errors = [d for d in found if d.severity is DiagnosticSeverity.Error]
        if errors:
            raise VerificationError(self.generate_report(found), errors[0].span)

    @staticmethod
    def generate_report(diagnostics: Sequence[Diagnostic]) -> str:
        """Return the diagnostics as text, with their counts and whether there is an error."""
        errors = sum(d.severity is DiagnosticSeverity.Error for d in diagnostics)
        title = "IR verification report"
        lines = [title, "=" * len(title)]
        warnings = len(diagnostics) - errors
        lines.append(f"{_counted(errors, 'error')}, {_counted(warnings, 'warning')}")
        from pypto._src.ir.verify.codes import CODE_NAMES

        for number, found in enumerate(diagnostics, 1):
            code = CODE_NAMES.get((found.rule_name, found.error_code))
            named = f" ({code})" if code else ""
            at = f" at {found.span}" if found.span.begin_line > 0 else ""
            severity = found.severity.name.lower()
            lines.append(f"[{number}] {severity} {found.rule_name} {found.error_code}{named}{at}")
            lines.append(f"    {found.message}")
            lines += [f"    {_label(label)}" for label in found.related]
            if found.hint:
                lines.append(f"    hint: {found.hint}")
        lines.append("Status: FAILED" if errors else "Status: PASSED")
        return "\n".join(lines)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def _label(label: Label) -> str:
    return f"{label.span}: {label.text}" if label.span.begin_line > 0 else label.text
