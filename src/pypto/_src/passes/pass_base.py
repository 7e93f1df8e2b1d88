"""The base class of passes, and what a caller puts around passes: contexts and instruments.

Knows no particular pass. A pass subclasses `Pass`, declares its property sets and defines `run`:

    class LegalizeTiles(Pass):
        requires = IRPropertySet(IRProperty.SSAForm, IRProperty.TypeChecked)

        def run(self, program: Program) -> Program: ...

`run` raises `PassError` (with a span) about the user's program. Any other exception is a defect of
the pass and reaches the caller as `InternalError` with the IR before the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from enum import Enum
from functools import wraps
from typing import Any, ClassVar, Final, ParamSpec, TypeAlias, TypeVar

from pypto._src.errors import InternalError, PyptoError
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.traversal.queries import defined_by, stmts_in
from pypto._src.ir.traversal.recursion import with_room
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.passes.verification import (
    NOTHING_KNOWN,
    PassFacts,
    VerificationLevel,
    VerificationMode,
    verify,
)
from pypto._src.usage_errors import not_a_pass_yet, not_a_program, users_frame

T = TypeVar("T")
P = ParamSpec("P")


class Unmaterialized:
    """A program that a pass hands to the next one before its statements are rebuilt."""

    def __init__(self, program: Program) -> None:
        self.program = program  # with the statements not yet rebuilt

    def materialize(self) -> Program:
        """Return the program; the same one each time."""
        raise NotImplementedError


AnyProgram: TypeAlias = "Program | Unmaterialized"
"""What passes exchange inside a pipeline."""


def materialized(given: AnyProgram) -> Program:
    """Return the program, materialized if it is not."""
    return given.materialize() if isinstance(given, Unmaterialized) else given


class Pass:
    """A transformation of programs: ``pass_(program)`` returns a program; the input is unchanged.

    A subclass defines `run` and, where they are not empty, the property sets. Its name is that of
    the class unless it sets ``name``.
    """

    name: ClassVar[str] = "Pass"
    requires: ClassVar[IRPropertySet] = IRPropertySet()
    produces: ClassVar[IRPropertySet] = IRPropertySet()
    invalidates: ClassVar[IRPropertySet] = IRPropertySet()
    stages: int = 1
    """How many iterations of a loop it lets overlap."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def run(self, program: Program) -> Program:
        """Return the transformed program.

        Raises:
            PyptoError: the program has something that the pass cannot handle.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define run()")

    def transform(self, program: Program, facts: PassFacts) -> Program:
        """Do what `run` does; a pass overrides it to skip work that the pipeline's facts save."""
        return self.run(program)

    def __call__(self, program: Program) -> Program:
        """Run the pass between the instruments of the current context.

        Raises:
            PyptoError: what the pass reports about the program.
            InternalError: the pass failed; a note holds the IR before it.
        """
        return self._instrumented(program, NOTHING_KNOWN)

    def _instrumented(self, program: Program, facts: PassFacts) -> Program:
        context = PassContext.current()
        instruments = [] if context is None else context.get_instruments()
        for instrument in instruments:
            instrument.run_before_pass(self, program)
        result = self.guarded(lambda: self._transformed(program, facts), program)
        for instrument in instruments:
            instrument.run_after_pass(self, result)
        return result

    def _transformed(self, program: Program, facts: PassFacts) -> Program:
        accepted = self.accepted(program, facts)
        return self.transform(accepted, facts if accepted is program else NOTHING_KNOWN)

    def accepted(self, program: Program, facts: PassFacts) -> Program:
        """Return the program in SSA form if the pass requires it, since users call single passes.

        A pass that treats a variable as a value would miscompile one that is assigned twice.

        Raises:
            PassError: a variable is read without being assigned on every path there.
        """
        if IRProperty.SSAForm not in self.requires.items or facts.claims(IRProperty.SSAForm):
            return program
        return _assigned_once(program)

    def step(self, given: AnyProgram, facts: PassFacts) -> AnyProgram:
        """Do what a call does, for pipelines; passes may exchange an `Unmaterialized` program."""
        if type(self).__call__ is not Pass.__call__:
            return self(materialized(given))  # a subclass overrides it
        return self._instrumented(materialized(given), facts)

    def guarded(self, action: Callable[[], T], given: AnyProgram) -> T:
        """Return ``action()``, the work of the pass, with its errors raised as those of a call."""
        try:
            return with_room(action, given.program if isinstance(given, Unmaterialized) else given)
        except PyptoError:
            raise
        except Exception as error:
            # A fault of the pass may be of any type. That the argument is a program at all is
            # checked only here, so that calls that succeed do not pay for it.
            if not isinstance(given, Program | Unmaterialized):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise not_a_program(given, self.get_name()) from None
            what = str(error) if isinstance(error, InternalError) else _description(error)
            failure = InternalError(f"pass {self.get_name()} failed: {what}")
            failure.add_note(f"The IR before {self.get_name()}:\n{_text(given)}")
            raise failure from error

    def get_name(self) -> str:
        """Return the name of the pass."""
        return self.name

    def get_required_properties(self) -> IRPropertySet:
        """Return what must hold before the pass; a call converts to SSA and assumes the rest."""
        return self.requires.copy()

    def get_produced_properties(self) -> IRPropertySet:
        """Return what holds after the pass."""
        return self.produces.copy()

    def get_invalidated_properties(self) -> IRPropertySet:
        """Return what may no longer hold after the pass."""
        return self.invalidates.copy()

    def __repr__(self) -> str:
        return f"<pass {self.get_name()}>"


def pass_factory(make: Callable[P, Pass]) -> Callable[P, Pass]:
    """Make a pass factory report that it is one if it is called with a program."""

    @wraps(make)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Pass:
        if args and isinstance(args[0], Program):
            raise not_a_pass_yet(make.__name__, users_frame())
        return make(*args, **kwargs)

    return checked


def _assigned_once(program: Program) -> Program:
    """Return the program; functions that assign a variable twice are converted to SSA form."""
    if not any(map(_assigns_twice, program.functions_)):
        return program
    from pypto._src.ir.ssa.construct import to_ssa
    from pypto._src.ir.ssa.jumps import lower_jumps
    from pypto._src.ir.traversal.mutator import map_functions
    from pypto._src.ops.new_tiles import unassigned_value

    return map_functions(
        lower_jumps(program), lambda f: to_ssa(f, unassigned_value) if _assigns_twice(f) else f
    )


def _assigns_twice(function: Function) -> bool:
    """True if a variable of a function, or one of its parameters, has several definitions."""
    known = {*function.params}
    for stmt in stmts_in(function.body):
        for var in defined_by(stmt):
            if var in known:
                return True
            known.add(var)
    return False


def _description(error: Exception) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _text(given: AnyProgram) -> str:
    from pypto._src.ir.text.printer import python_print

    try:
        return python_print(materialized(given))
    except Exception as error:  # the program itself may be broken
        return f"(cannot be printed: {type(error).__name__}: {error})"


class PassInstrument:
    """An observer of every pass in a context: override either hook."""

    def get_name(self) -> str:
        """Return the name of the instrument."""
        return type(self).__name__

    def run_before_pass(self, pass_: Pass, program: Program) -> None:
        """Inspect the program that ``pass_`` is about to run on."""

    def run_after_pass(self, pass_: Pass, program: Program) -> None:
        """Inspect the program that ``pass_`` has returned."""


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
            verify(pass_.get_required_properties().items, program, "before", pass_.get_name())

    def run_after_pass(self, pass_: Pass, program: Program) -> None:
        """Raise VerificationError unless what ``pass_`` produces holds."""
        if self.mode in (VerificationMode.AFTER, VerificationMode.BEFORE_AND_AFTER):
            verify(pass_.get_produced_properties().items, program, "after", pass_.get_name())


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


_ENTERED: Final[ContextVar[tuple[PassContext, ...]]] = ContextVar("entered", default=())
"""The contexts that a thread has entered, innermost last."""


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
        _ENTERED.set((*_ENTERED.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _ENTERED.set(_ENTERED.get()[:-1])

    def get_verification_level(self) -> VerificationLevel:
        """Return how much pipelines verify inside the context."""
        return self._level

    def get_instruments(self) -> list[PassInstrument]:
        """Return the instruments in the order in which they see a pass."""
        return list(self._instruments)

    @staticmethod
    def current() -> PassContext | None:
        """Return the innermost context of this thread, or None."""
        entered = _ENTERED.get()
        return entered[-1] if entered else None
