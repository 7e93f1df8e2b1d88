"""What a pass is, and the runner: properties, contexts, instruments, verification between passes.

Knows no pass. A pass subclasses `Pass`, states its property sets and defines `run`:

    class LegalizeTiles(Pass):
        requires = IRPropertySet(IRProperty.SSAForm, IRProperty.TypeChecked)

        def run(self, program: Program) -> Program: ...

`run` raises `PassError` (with a span) about the user's program. Anything else that escapes from it
is a defect of the pass and reaches the caller as `InternalError` with the IR before the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from operator import attrgetter
from threading import local
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

from pypto._src import knobs
from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity
from pypto._src.errors import InternalError, PyptoError, VerificationError
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.nodes import (
    ConstInt,
    IRNode,
    MemRef,
    ShapedType,
    TensorType,
    TileType,
    Var,
    const_value,
)
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, Program, Stmt
from pypto._src.ir.verify.known_forms import Proofs
from pypto._src.ir.walk import defined_by, stmts_in, walk, with_room
from pypto._src.targets import A2A3, Target
from pypto._src.usage_errors import not_a_program

# --------------------------------------------------------------------------------------------
# Properties
# --------------------------------------------------------------------------------------------


class IRProperty(Enum):
    """Something that holds of a program, which passes require, produce and invalidate."""

    SSAForm = 0
    TypeChecked = 1
    NoNestedCalls = 2
    NormalizedStmtStructure = 3
    FlattenedSingleStmt = 4
    SplitIncoreOrch = 5
    HasMemRefs = 6
    IncoreBlockOps = 7
    AllocatedMemoryAddr = 8

    __hash__ = object.__hash__  # members are single; that of Enum is written in Python


class IRPropertySet:
    """A set of properties. Only `insert` and `remove` change it; the others return new sets."""

    __slots__ = ("_items",)

    def __init__(self, *properties: IRProperty) -> None:
        self._items = frozenset(properties)

    @property
    def items(self) -> frozenset[IRProperty]:
        """The properties, in no order."""
        return self._items

    def insert(self, prop: IRProperty) -> None:
        """Add ``prop``."""
        self._items |= {prop}

    def remove(self, prop: IRProperty) -> None:
        """Take ``prop`` out if it is there."""
        self._items -= {prop}

    def contains(self, prop: IRProperty) -> bool:
        """True if ``prop`` is in the set."""
        return prop in self._items

    __contains__ = contains

    def contains_all(self, other: IRPropertySet) -> bool:
        """True if every property of ``other`` is in the set."""
        return other._items <= self._items

    def union_with(self, other: IRPropertySet) -> IRPropertySet:
        """Return the properties of either set."""
        return _set_of(self._items | other._items)

    def intersection(self, other: IRPropertySet) -> IRPropertySet:
        """Return the properties of both sets."""
        return _set_of(self._items & other._items)

    def difference(self, other: IRPropertySet) -> IRPropertySet:
        """Return the properties of this set that are not in ``other``."""
        return _set_of(self._items - other._items)

    def copy(self) -> IRPropertySet:
        """Return a set of its own with the same properties."""
        return _set_of(self._items)

    def empty(self) -> bool:
        """True if there is none."""
        return not self._items

    def to_list(self) -> list[IRProperty]:
        """Return the properties in the order of the enumeration."""
        return _ordered(self._items)

    def __iter__(self) -> Iterator[IRProperty]:
        return iter(self.to_list())

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return self._items == other._items if isinstance(other, IRPropertySet) else NotImplemented

    __hash__ = None  # pyright: ignore[reportAssignmentType]  mutable, hence not hashable

    def __str__(self) -> str:
        return "{" + ", ".join(prop.name for prop in self) + "}"

    __repr__ = __str__


_NUMBER: Final = attrgetter("_value_")  # without the detour of ``value``


def _set_of(items: frozenset[IRProperty]) -> IRPropertySet:
    made = object.__new__(IRPropertySet)
    made._items = items  # pyright: ignore[reportPrivateUsage]
    return made


def _ordered(properties: frozenset[IRProperty]) -> list[IRProperty]:
    return sorted(properties, key=_NUMBER)


# --------------------------------------------------------------------------------------------
# Verification of properties
# --------------------------------------------------------------------------------------------


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
    """Return what PYPTO_VERIFY_LEVEL says: BASIC unless it is ``none``."""
    return VerificationLevel[knobs.VERIFY_LEVEL.get().upper()]


def _allocated_addresses(program: Program) -> list[Diagnostic]:
    """Return a finding for each on-chip buffer without address (0) or beyond its memory (1)."""
    if _are_placed(_memrefs(program)):
        return []
    found: list[Diagnostic] = []
    seen: set[MemRef] = set()
    for node in walk(program):  # in the order of the text, which `_memrefs` has not
        memref = _memref_of(node)
        if memref is None or memref in seen:
            continue
        seen.add(memref)
        wrong = _wrong_place(memref)
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
    """True if nothing is wrong with the addresses; see `_wrong_place`."""
    sizes = {space: memory.physical_bytes for space, memory in target.memories.items()}
    for memref in memrefs:
        space = memref.memory_space_
        address: Any = memref.addr_
        if space is not _DDR and not (
            address.__class__ is ConstInt and 0 <= address.value <= sizes[space] - memref.size_
        ):
            return False
    return True


def _wrong_place(memref: MemRef, target: Target = A2A3) -> tuple[int, str] | None:
    """Return the code and the text of what is wrong with the address of a buffer, if anything."""
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


def proofs_at_hand() -> Proofs | None:
    """Return what the running pipeline knows of single statements."""
    return _active.proofs


def not_proved(function: Function) -> Iterable[Stmt]:
    """Return the statements of a function that the running pipeline has not proved, in their order.

    They are all of them unless it has verified the function. Of the others see `ir.proofs`: among
    other things no call stands in another expression.
    """
    look = None if _active.proofs is None else _active.proofs.found_of(function)
    return stmts_in(function.body) if look is None else look.left


def one_of_each_form(function: Function) -> Sequence[Stmt]:
    """Return statements of a function among which each form of its calls with operands is.

    They are all of them unless the running pipeline has verified the function.
    """
    look = None if _active.proofs is None else _active.proofs.found_of(function)
    return [*stmts_in(function.body)] if look is None else [*look.forms, *look.left]


def is_said_of(program: Program, prop: IRProperty) -> bool:
    """True if the passes of the running pipeline say that ``prop`` holds of this very program.

    That need not be verified: most properties are taken on trust.
    """
    given, properties = _active.said
    return given is program and prop in properties


def rules_verified(program: Program) -> tuple[str, ...]:
    """Return the rules that the running pipeline has verified on this very program."""
    verified, properties = _active.proved
    if verified is not program:
        return ()
    return tuple([rule for prop, rules in _RULES.items() if prop in properties for rule in rules])


def verify_properties(properties: IRPropertySet, program: Program, pass_name: str) -> None:
    """Check those of ``properties`` that can be verified.

    Raises:
        VerificationError: one does not hold; the message is the report, naming ``pass_name``.
    """
    _verify(properties.items, program, "after", pass_name)


def _verify(
    properties: frozenset[IRProperty], given: AnyProgram, when: str, pass_name: str
) -> None:
    if properties.isdisjoint(_CHECKS):
        return
    from pypto._src.ir.verify.verifier import IRVerifier

    program, verifier = written(given), IRVerifier()
    for prop, rules in _RULES.items():
        for rule in rules if prop in properties else ():
            verifier.enable_rule(rule)
    found = verifier.verify(program, _active.proofs)
    if IRProperty.AllocatedMemoryAddr in properties:
        found += _allocated_addresses(program)
    errors = [d for d in found if d.severity is DiagnosticSeverity.Error]
    if not errors:
        return
    report = IRVerifier.generate_report(errors)
    raise VerificationError(f"verification failed {when} {pass_name}\n{report}", errors[0].span)


# --------------------------------------------------------------------------------------------
# Passes
# --------------------------------------------------------------------------------------------

T = TypeVar("T")


class Unwritten:
    """A program that a pass hands to the next one before all its statements are made."""

    def __init__(self, program: Program) -> None:
        self.program = program  # with the statements that there are

    def written(self) -> Program:
        """Return the program; the same one each time."""
        raise NotImplementedError


AnyProgram: TypeAlias = "Program | Unwritten"
"""What passes hand on inside a pipeline."""


def written(given: AnyProgram) -> Program:
    """Return the program that is handed on."""
    return given.written() if isinstance(given, Unwritten) else given


class Pass:
    """A transformation of programs: ``pass_(program)`` returns a program, the input is untouched.

    A subclass defines `run` and, where they are not empty, the property sets. Its name is that of
    the class unless ``name`` says otherwise.
    """

    name: ClassVar[str] = "Pass"
    requires: ClassVar[IRPropertySet] = IRPropertySet()
    produces: ClassVar[IRPropertySet] = IRPropertySet()
    invalidates: ClassVar[IRPropertySet] = IRPropertySet()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def run(self, program: Program) -> Program:
        """Return the transformed program.

        Raises:
            PyptoError: the program has something that the pass cannot go on with.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define run()")

    def __call__(self, program: Program) -> Program:
        """Run the pass between the instruments of the current context.

        Raises:
            PyptoError: what the pass reports about the program.
            InternalError: the pass failed; a note holds the IR before it.
        """
        context = PassContext.current()
        instruments = [] if context is None else context.get_instruments()
        for instrument in instruments:
            instrument.run_before_pass(self, program)
        result = self.guarded(lambda: self.run(program), program)
        for instrument in instruments:
            instrument.run_after_pass(self, result)
        return result

    def step(self, given: AnyProgram) -> AnyProgram:
        """Do what a call does, for pipelines: a pass may hand on what the next one understands."""
        return self(written(given))

    def guarded(self, action: Callable[[], T], given: AnyProgram) -> T:
        """Return ``action()``, which is what the pass does, with the errors of a call."""
        try:
            return with_room(action, given.program if isinstance(given, Unwritten) else given)
        except PyptoError:
            raise
        except Exception as error:
            if not isinstance(given, Program | Unwritten):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise not_a_program(given, self.get_name()) from None
            what = str(error) if isinstance(error, InternalError) else _description(error)
            failure = InternalError(f"pass {self.get_name()} failed: {what}")
            failure.add_note(f"The IR before {self.get_name()}:\n{_text(given)}")
            raise failure from error

    def get_name(self) -> str:
        """Return the name of the pass."""
        return self.name

    def get_required_properties(self) -> IRPropertySet:
        """Return what must hold before the pass (declarative: the pass itself does not check)."""
        return self.requires.copy()

    def get_produced_properties(self) -> IRPropertySet:
        """Return what holds after the pass."""
        return self.produces.copy()

    def get_invalidated_properties(self) -> IRPropertySet:
        """Return what may no longer hold after the pass."""
        return self.invalidates.copy()

    def __repr__(self) -> str:
        return f"<pass {self.get_name()}>"


def _description(error: Exception) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _text(given: AnyProgram) -> str:
    from pypto._src.ir.text.printer import python_print

    try:
        return python_print(written(given))
    except Exception as error:  # the program may be as broken as the pass that gets it
        return f"(cannot be printed: {type(error).__name__}: {error})"


# --------------------------------------------------------------------------------------------
# Context and instruments
# --------------------------------------------------------------------------------------------


class PassInstrument:
    """Something that sees every pass of a context: override either hook."""

    def get_name(self) -> str:
        """Return the name of the instrument."""
        return type(self).__name__

    def run_before_pass(self, pass_: Pass, program: Program) -> None:
        """Look at the program that ``pass_`` is about to get."""

    def run_after_pass(self, pass_: Pass, program: Program) -> None:
        """Look at the program that ``pass_`` has returned."""


def _check_member(word: str, value: object, kind: type[Enum]) -> None:
    if not isinstance(value, kind):
        names = ", ".join(f"{kind.__name__}.{name}" for name in kind.__members__)
        raise ValueError(f"{word} is {value!r}; it is one of {names}")


class VerificationInstrument(PassInstrument):
    """Verifies required properties before each pass, produced ones after it, or both."""

    def __init__(self, mode: VerificationMode) -> None:
        _check_member("mode", mode, VerificationMode)
        self.mode = mode

    def run_before_pass(self, pass_: Pass, program: Program) -> None:
        """Raise VerificationError unless what ``pass_`` requires holds."""
        if self.mode in (VerificationMode.BEFORE, VerificationMode.BEFORE_AND_AFTER):
            _verify(pass_.get_required_properties().items, program, "before", pass_.get_name())

    def run_after_pass(self, pass_: Pass, program: Program) -> None:
        """Raise VerificationError unless what ``pass_`` produces holds."""
        if self.mode in (VerificationMode.AFTER, VerificationMode.BEFORE_AND_AFTER):
            _verify(pass_.get_produced_properties().items, program, "after", pass_.get_name())


class CallbackInstrument(PassInstrument):
    """Calls functions with ``(pass, program)`` before and after each pass."""

    def __init__(
        self,
        before_pass: Callable[[Pass, Program], Any] | None = None,
        after_pass: Callable[[Pass, Program], Any] | None = None,
        name: str = "CallbackInstrument",
    ) -> None:
        self._before = before_pass
        self._after = after_pass
        self._name = name

    def get_name(self) -> str:
        """Return the name given."""
        return self._name

    def run_before_pass(self, pass_: Pass, program: Program) -> None:
        """Call ``before_pass``."""
        if self._before is not None:
            self._before(pass_, program)

    def run_after_pass(self, pass_: Pass, program: Program) -> None:
        """Call ``after_pass``."""
        if self._after is not None:
            self._after(pass_, program)


class _Active(local):
    """The contexts that a thread has entered, innermost last."""

    def __init__(self) -> None:
        self.contexts: list[PassContext] = []
        self.proved: tuple[AnyProgram | None, frozenset[IRProperty]] = None, frozenset()
        self.proofs: Proofs | None = None
        self.said: tuple[AnyProgram | None, frozenset[IRProperty]] = None, frozenset()


_active = _Active()


class PassContext:
    """Instruments and verification level for the passes run inside ``with PassContext(...)``.

    Contexts belong to a thread. Only the innermost one acts.
    """

    def __init__(
        self,
        instruments: Sequence[PassInstrument],
        verification_level: VerificationLevel = VerificationLevel.BASIC,
    ) -> None:
        _check_member("verification_level", verification_level, VerificationLevel)
        self._instruments = tuple(instruments)
        self._level = verification_level

    def __enter__(self) -> PassContext:
        _active.contexts.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _active.contexts.pop()

    def get_verification_level(self) -> VerificationLevel:
        """Return how much pipelines verify inside the context."""
        return self._level

    def get_instruments(self) -> list[PassInstrument]:
        """Return the instruments in the order in which they see a pass."""
        return list(self._instruments)

    @staticmethod
    def current() -> PassContext | None:
        """Return the innermost context of this thread, or None."""
        return _active.contexts[-1] if _active.contexts else None


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

        Unless the verification level is NONE, what a pass produces and was not known to hold is
        verified right after it. That it still holds is verified at the end, and where a pass
        invalidates it or fails; a program that does not keep what it had is an error of the pass
        that returned it first. What a statement proves of itself is verified once; see `Proofs`.

        Raises:
            VerificationError: a pass returned a program without a property that it has to have.
            PyptoError: what a pass reports about the program.
        """
        context = PassContext.current()
        level = get_default_verification_level()
        if context is not None:
            level = context.get_verification_level()
        claims = _Claims(verified=level is not VerificationLevel.NONE)
        now: AnyProgram = program
        with claims.active():
            for pass_ in self._passes:
                before = now
                claims.tell(now)
                try:
                    now = pass_.step(now)
                except Exception:
                    claims.settle()  # whose error says more, if there is one
                    raise
                if after is not None:
                    after(pass_, written(now))
                claims.add(pass_, now, changed=now is not before)
            claims.settle()
            return written(now)


class _Claims:
    """What the passes of one run say of the programs that they return, and what of it is verified.

    Verifying is as much work as a pass. So a property that held before is not verified after each
    pass but where it may be lost; the programs are kept until then, to tell which pass lost it.
    """

    def __init__(self, *, verified: bool) -> None:
        self._verified = verified
        self._holds: frozenset[IRProperty] = frozenset()
        self._open: list[tuple[frozenset[IRProperty], AnyProgram, str]] = []
        self._proved: frozenset[IRProperty] = frozenset()  # verified of the last program

    def add(self, pass_: Pass, program: AnyProgram, *, changed: bool) -> None:
        """Take in what ``pass_`` returned; verify what it newly claims.

        Raises:
            VerificationError: the pass, or one before it, returned what it should not.
        """
        lost = self._holds & pass_.get_invalidated_properties().items
        if not lost.isdisjoint(_CHECKS):
            self.settle()
        kept = self._holds - lost
        self._holds = kept | pass_.get_produced_properties().items
        if not self._verified:
            return
        if changed:  # else what held still holds
            self._open.append((kept, program, pass_.get_name()))
            self._proved = frozenset()
        new = self._holds - kept
        if new:
            _verify(new, program, "after", pass_.get_name())
            self._proved |= new

    @contextmanager
    def active(self) -> Generator[None]:
        """Let functions such as `proofs_at_hand` know, inside the block, what is known here."""
        outer = _active.proved, _active.proofs, _active.said
        _active.proofs = Proofs()
        try:
            yield
        finally:
            _active.proved, _active.proofs, _active.said = outer

    def tell(self, program: AnyProgram) -> None:
        """Tell what is verified, and what is said, of ``program``, which the next pass gets."""
        _active.proved = program, self._proved
        _active.said = program, self._holds

    def settle(self) -> None:
        """Verify what is open.

        Raises:
            VerificationError: a pass returned a program without what it had; of several the first.
        """
        claims, self._open = self._open, []
        try:
            for held, program, name in claims[-1:]:
                _verify(held, program, "after", name)
        except VerificationError:
            for held, program, name in claims[:-1]:
                _verify(held, program, "after", name)
            raise
