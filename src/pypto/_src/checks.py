"""Everything that can be checked about a program without running it, for ``pypto check``.

Ties the parts together: the rules of the IR, the passes and their memory plan, the
synchronisation, and whether both targets' texts can be emitted and are accepted. Decides nothing
that one of them could decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pypto._src.build_output import CCECodegen
from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import InternalError, PyptoError
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.roles import kernels, sends_signals
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.traversal.recursion import nesting, room, with_room
from pypto._src.ir.verify.verifier import IRVerifier
from pypto._src.lazy import lazy_module
from pypto._src.lint.parallel_loops import check_parallel
from pypto._src.lint.uninitialized import check_uninitialized
from pypto._src.lint.unused_results import unused_results
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.passes.sync.checker import FlagIdentity, check_sync
from pypto._src.passes.sync.insert_sync import InsertSync, insert_sync
from pypto._src.records import NamedTuple
from pypto._src.run.effects import effects

if TYPE_CHECKING:
    from pypto._src.dialect import verify as pto_dialect
else:
    pto_dialect = lazy_module("pypto._src.dialect.verify")  # needs an optional package

T = TypeVar("T")

STAGES: Final = ("rules", "memory", "sync", "cpp", "pto")
"""Rules of the IR, unused and uninitialized values; passes and memory plan; flags and barriers; the
two texts."""


class Stage(NamedTuple):
    """The outcome of one check of a program."""

    name: str
    findings: tuple[Diagnostic, ...] = ()
    skipped: str = ""  # why it was not run

    @property
    def errors(self) -> int:
        """How many of the findings are errors."""
        return sum(d.severity is DiagnosticSeverity.Error for d in self.findings)

    @property
    def summary(self) -> str:
        """``ok``, the number of errors and warnings, or why the check was not run."""
        if self.skipped:
            return f"skipped: {self.skipped}"
        counts = [(self.errors, "error"), (len(self.findings) - self.errors, "warning")]
        return ", ".join(f"{n} {word}{'s' * (n > 1)}" for n, word in counts if n) or "ok"


def check_program(program: Program, identity: FlagIdentity = FlagIdentity.PAIR) -> Iterator[Stage]:
    """Yield the outcome of each check, in the order of `STAGES`."""
    verifier = IRVerifier()
    for rule in ("Structure", "TypeCheck"):
        verifier.enable_rule(rule)
    found = verifier.verify(program)
    written = () if found else with_room(lambda: _certain(program), program)
    unused = with_room(lambda: unused_results(program), program)
    yield Stage("rules", (*found, *written, *unused))
    lowered: Program | None = None
    if found:
        yield Stage("memory", skipped="the program breaks rules")
    else:
        stage, lowered = _lowered(program, OptimizationStrategy.Default, identity)
        yield stage
    if lowered is None:
        yield from (Stage(name, skipped="the passes failed earlier") for name in STAGES[2:])
        return
    yield Stage("sync", tuple(with_room(lambda: check_sync(lowered, identity=identity), lowered)))
    yield _emitted("cpp", lambda: with_room(lambda: CCECodegen().generate(lowered), lowered))
    if any(sends_signals(each.body) for each in lowered.functions_):
        yield Stage("pto", skipped="the assembler does not support ranks")
        return
    with room(nesting(program)):  # the PTO reader turns a RecursionError into a finding
        accepted = _accepted(program)
    yield accepted


def _certain(program: Program) -> tuple[Diagnostic, ...]:
    """Return the errors that are certain in a program that keeps the rules."""
    return (*_written_inputs(program), *check_uninitialized(program), *check_parallel(program))


def _written_inputs(program: Program) -> Iterator[Diagnostic]:
    """Yield an error for each tensor that a function with outputs writes without declaring it one.

    The front end sees only direct writes; this includes writes by calls and through aliases.
    """
    found = effects(program)
    for function in program.functions_:
        directions = function.param_directions
        if all(direction is ParamDirection.In for direction in directions):
            continue  # declares no directions
        for param, direction, writes in zip(
            function.params, directions, found[function.name].writes, strict=True
        ):
            if writes and direction is ParamDirection.In:
                yield Diagnostic(
                    DiagnosticSeverity.Error,
                    "input-written",
                    0,
                    f"{function.name} writes {param.name!r}, although it is not declared as an "
                    "output",
                    param.span,
                    hint=f"write {param.name}: pl.InOut[...], or pass another tensor",
                )


def _lowered(
    program: Program,
    strategy: OptimizationStrategy,
    identity: FlagIdentity = FlagIdentity.PAIR,
) -> tuple[Stage, Program | None]:
    manager = PassManager(strategy)
    if identity is FlagIdentity.SOURCE:  # the inserted flags have to be right for it
        manager.passes = [
            insert_sync(by_source=True) if isinstance(each, InsertSync) else each
            for each in manager.passes
        ]
    try:
        return Stage("memory"), manager.run_passes(program)
    except PyptoError as error:
        return Stage("memory", _diagnostics(error)), None


def _diagnostics(error: PyptoError) -> tuple[Diagnostic, ...]:
    return tuple(each.diagnostic for each in (error, *error.others))


def _emitted(name: str, write: Callable[[], Any]) -> Stage:
    try:
        _text(name, write)
    except PyptoError as error:
        return Stage(name, _diagnostics(error))
    return Stage(name)


def _text(name: str, write: Callable[[], T]) -> T:
    """Return what ``write`` returns.

    Raises:
        PyptoError: the text cannot express the program.
        InternalError: an emitter failed, which is no fault of the program.
    """
    try:
        return write()
    except (PyptoError, RecursionError):  # nested too deeply, which the command reports
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise InternalError(f"the {name} text could not be written: {what}") from error


def _accepted(program: Program) -> Stage:
    """Return whether the PTO text of each kernel can be emitted and the assembler accepts it."""
    stage, lowered = _lowered(program, OptimizationStrategy.PTOAS)
    if lowered is None:
        return Stage("pto", stage.findings)
    texts: list[tuple[Function, str]] = []
    for kernel in kernels(lowered):
        try:
            alone = Program([kernel], kernel.name)
            texts.append((kernel, _text("pto", partial(PTOCodegen().generate, alone))))
        except PyptoError as error:
            return Stage("pto", _diagnostics(error))
    if find_spec("xdsl") is None:
        return Stage("pto", skipped="it needs pip install 'pypto[mlir]'")
    found: list[Diagnostic] = []
    for kernel, text in texts:
        options = pto_dialect.options_of(text)
        faults = pto_dialect.faults_of(text, f"{kernel.name}.pto", options)
        found += [_at_the_kernel(fault.diagnostic, kernel) for fault in faults]
    return Stage("pto", tuple(found))


def _at_the_kernel(fault: Diagnostic, kernel: Function) -> Diagnostic:
    """Return a finding of a PTO text; one about all its tiles is located at the kernel."""
    if fault.rule_name != "memory":
        return fault
    return fault._replace(
        span=kernel.span,
        hint="work on smaller tiles: the assembler keeps what a loop uses for all of the loop",
        note="only the PTO text does not fit, whose tiles the assembler places; the C++ does",
    )
