"""Passes in order, and the verification between them. Knows no particular pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pypto._src.errors import VerificationError
from pypto._src.ir.stmts import Program
from pypto._src.ir.verify.verification_cache import VerificationCache
from pypto._src.passes.pass_base import AnyProgram, Pass, PassContext, materialized
from pypto._src.passes.properties import IRProperty
from pypto._src.passes.verification import (
    PassFacts,
    VerificationLevel,
    can_verify_any,
    get_default_verification_level,
    verify,
)


class PassPipeline:
    """Passes in order. What they produce is verified after each of them."""

    def __init__(self, passes: Sequence[Pass] = ()) -> None:
        self._passes = list(passes)

    def add_pass(self, pass_: Pass) -> None:
        """Append a pass."""
        self._passes.append(pass_)

    def get_pass_names(self) -> list[str]:
        """Return the names of the passes in order."""
        return [pass_.get_name() for pass_ in self._passes]

    def run(
        self, program: Program, after: Callable[[Pass, Program], object] | None = None
    ) -> Program:
        """Return the program after all passes; ``after`` sees each result before it is verified.

        Unless the verification level is NONE, a property that a pass produces and that was not
        known to hold is verified right after it. That it still holds is verified at the end, and
        where a pass invalidates it or fails; the error names the first pass whose program has lost
        the property. Forms of statements are verified once; see `VerificationCache`.

        Raises:
            VerificationError: a pass returned a program without a property that it must have.
            PyptoError: what a pass reports about the program.
        """
        context = PassContext.current()
        level = get_default_verification_level()
        if context is not None:
            level = context.get_verification_level()
        claims = _Claims(verified=level is not VerificationLevel.NONE)
        now: AnyProgram = program
        for pass_ in self._passes:
            before = now
            try:
                now = pass_.step(now, claims.facts())
            except Exception:
                claims.settle()  # its error, if any, explains more
                raise
            if after is not None:
                after(pass_, materialized(now))
            claims.add(pass_, now, changed=now is not before)
        claims.settle()
        return materialized(now)


class _Claims:
    """What the passes of one run claim about their programs, and how much of it is verified.

    Verifying costs as much as a pass. So a property that held before is not verified after every
    pass, but where it may be lost; the programs are kept until then, to tell which pass lost it.
    """

    def __init__(self, *, verified: bool) -> None:
        self._verified = verified
        self._holds: frozenset[IRProperty] = frozenset()
        self._open: list[tuple[frozenset[IRProperty], AnyProgram, str]] = []
        self._verified_now: frozenset[IRProperty] = frozenset()  # of the last program
        self._cache = VerificationCache()

    def add(self, pass_: Pass, program: AnyProgram, *, changed: bool) -> None:
        """Record what ``pass_`` returned; verify what it newly claims.

        Raises:
            VerificationError: this pass or an earlier one returned a program without a property.
        """
        lost = self._holds & pass_.get_invalidated_properties().items
        if can_verify_any(lost):
            self.settle()
        kept = self._holds - lost
        self._holds = kept | pass_.get_produced_properties().items
        if not self._verified:
            return
        if changed:  # else what held still holds
            self._open.append((kept, program, pass_.get_name()))
            self._verified_now = frozenset()
        new = self._holds - kept
        if new:
            self._verify(new, program, pass_.get_name())
            self._verified_now |= new

    def facts(self) -> PassFacts:
        """Return what is known about the program that was added last."""
        return PassFacts(self._holds, self._verified_now, self._cache)

    def settle(self) -> None:
        """Verify the claims that are still open.

        Raises:
            VerificationError: a pass lost a property; if several did, the first one is named.
        """
        claims, self._open = self._open, []
        try:
            for held, program, name in claims[-1:]:
                self._verify(held, program, name)
        except VerificationError:
            for held, program, name in claims[:-1]:
                self._verify(held, program, name)
            raise

    def _verify(self, properties: frozenset[IRProperty], given: AnyProgram, name: str) -> None:
        if can_verify_any(properties):
            verify(properties, materialized(given), "after", name, self._cache)
