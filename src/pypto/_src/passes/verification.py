"""Verification of properties, and what a pipeline has verified about its current program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Final

from pypto._src import knobs
from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity
from pypto._src.errors import VerificationError
from pypto._src.ir.array_types import MemRef, ShapedType, TensorType, TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import ConstInt, IRNode, Var, const_value
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, Program, Stmt
from pypto._src.ir.traversal.queries import defined_by, stmts_in
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.verify.verification_cache import VerificationCache
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.targets import A2A3, Target


class VerificationLevel(Enum):
    """How much a pipeline verifies after each pass."""

    NONE = 0
    BASIC = 1


class VerificationMode(Enum):
    """When a `VerificationInstrument` verifies."""

    NONE = 0
    BEFORE = 1
    AFTER = 2
    BEFORE_AND_AFTER = 3


def get_default_verification_level() -> VerificationLevel:
    """Return the level that PYPTO_VERIFY_LEVEL sets: BASIC unless it is ``none``."""
    return VerificationLevel[knobs.VERIFY_LEVEL.get().upper()]


def _allocated_addresses(program: Program) -> list[Diagnostic]:
    """Return a finding for each on-chip buffer without an address (0) or beyond its memory (1)."""
    if _are_placed(_memrefs(program)):
        return []
    found: list[Diagnostic] = []
    seen: set[MemRef] = set()
    for node in walk(program):  # in textual order, unlike `_memrefs`
        memref = _memref_of(node)
        if memref is None or memref in seen:
            continue
        seen.add(memref)
        wrong = _wrong_address(memref)
        if wrong is not None:
            code, what = wrong
            message = f"buffer {memref.name} {what}"
            rule = IRProperty.AllocatedMemoryAddr.name
            found.append(Diagnostic(DiagnosticSeverity.Error, rule, code, message, node.span))
    return found


def _memref_of(node: IRNode) -> MemRef | None:
    if isinstance(node, Var) and isinstance(node.type, ShapedType):
        return node.type.memref
    return None


def _memrefs(program: Program) -> set[MemRef]:
    """Return the memory references of all variables that a program defines."""
    found: set[MemRef | None] = set()
    for function in program.functions_:
        stmts: Any = stmts_in(function.body)
        others = [*function.params]
        for stmt in stmts:
            if stmt.__class__ is AssignStmt:
                kind = stmt.var.type
                if kind.__class__ is TileType or kind.__class__ is TensorType:
                    found.add(kind.memref)
            elif stmt.__class__ is not EvalStmt:
                others += defined_by(stmt)
        found.update([_memref_of(var) for var in others])
    return {memref for memref in found if memref is not None}


_DDR: Final = MemorySpace.DDR  # looking it up in its class takes five times as long


def _are_placed(memrefs: Iterable[MemRef], target: Target = A2A3) -> bool:
    """True if nothing is wrong with the addresses; see `_wrong_address`."""
    sizes = {space: memory.physical_bytes for space, memory in target.memories.items()}
    for memref in memrefs:
        space = memref.memory_space_
        address: Any = memref.addr_
        if space is not _DDR and not (
            address.__class__ is ConstInt and 0 <= address.value <= sizes[space] - memref.size_
        ):
            return False
    return True


def _wrong_address(memref: MemRef, target: Target = A2A3) -> tuple[int, str] | None:
    """Return the code and text of the finding about a buffer's address, None if it is right."""
    if memref.memory_space_ is MemorySpace.DDR:
        return None
    address = const_value(memref.addr_)
    size = target.memories[memref.memory_space_].physical_bytes
    if address is None or address < 0:
        return 0, "has no address"
    if address + memref.size_ > size:
        return 1, f"ends at byte {address + memref.size_} of a memory of {size} bytes"
    return None


_RULES: Final[dict[IRProperty, tuple[str, ...]]] = {
    IRProperty.SSAForm: ("SSAVerify",),
    IRProperty.TypeChecked: ("Structure", "TypeCheck"),  # both hold of every program
}
"""The rules of the verifier that a property stands for."""

_CHECKS: Final = frozenset({*_RULES, IRProperty.AllocatedMemoryAddr})
"""What can be verified."""


def get_verified_properties() -> IRPropertySet:
    """Return the properties that can be verified; the others are taken on trust."""
    return IRPropertySet(*_CHECKS)


class PassFacts:
    """What a pipeline knows about the program that it passes to a pass, and about no other.

    A pass may use the facts to skip work; its result is the same without them.
    """

    def __init__(
        self,
        claimed: frozenset[IRProperty] = frozenset(),
        verified: frozenset[IRProperty] = frozenset(),
        cache: VerificationCache | None = None,
    ) -> None:
        self._claimed = claimed
        self._verified = verified
        self.cache = cache
        """What the verifier found about single statements, for later verification."""

    def claims(self, prop: IRProperty) -> bool:
        """True if the passes that ran claim that ``prop`` holds, verified or not."""
        return prop in self._claimed

    def verified_rules(self) -> tuple[str, ...]:
        """Return the verifier's rules that were run on exactly this program."""
        return tuple([r for prop, rules in _RULES.items() if prop in self._verified for r in rules])

    def unproved(self, function: Function) -> Iterable[Stmt]:
        """Return the statements of a function that the verifier has not proved, in order.

        These are all statements unless the function was verified. `verification_cache` says what
        holds of the others: among other things, no call is nested in an expression.
        """
        look = None if self.cache is None else self.cache.found_of(function)
        return stmts_in(function.body) if look is None else look.left

    def representative_statements(self, function: Function) -> Sequence[Stmt]:
        """Return statements that include each form of the function's calls with operands.

        These are all statements unless the function was verified.
        """
        look = None if self.cache is None else self.cache.found_of(function)
        return [*stmts_in(function.body)] if look is None else [*look.forms, *look.left]


NOTHING_KNOWN: Final = PassFacts()
"""The facts about a program outside of pipelines: none."""


def verify_properties(properties: IRPropertySet, program: Program, pass_name: str) -> None:
    """Check those of ``properties`` that can be verified.

    Raises:
        VerificationError: one does not hold; the message is the report, naming ``pass_name``.
    """
    verify(properties.items, program, "after", pass_name)


def can_verify_any(properties: frozenset[IRProperty]) -> bool:
    """True if one of ``properties`` can be verified."""
    return not properties.isdisjoint(_CHECKS)


def verify(
    properties: frozenset[IRProperty],
    program: Program,
    when: str,
    pass_name: str,
    cache: VerificationCache | None = None,
) -> None:
    """Check those of ``properties`` that can be verified; ``when`` is before or after the pass.

    Raises:
        VerificationError: one does not hold.
    """
    if not can_verify_any(properties):
        return
    from pypto._src.ir.verify.verifier import IRVerifier

    verifier = IRVerifier()
    for prop, rules in _RULES.items():
        for rule in rules if prop in properties else ():
            verifier.enable_rule(rule)
    found = verifier.verify(program, cache)
    if IRProperty.AllocatedMemoryAddr in properties:
        found += _allocated_addresses(program)
    errors = [d for d in found if d.severity is DiagnosticSeverity.Error]
    if not errors:
        return
    report = IRVerifier.generate_report(errors)
    raise VerificationError(f"verification failed {when} {pass_name}\n{report}", errors[0].span)
