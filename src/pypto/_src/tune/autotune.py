"""``pl.autotune``: tunable constants of a kernel, or of a function that makes a program.

A declaration lists the values of each constant. The first call for arguments of some kinds
searches; later calls, and later processes through the results on disk, use what was found.
"""

from __future__ import annotations

import inspect
import itertools
import os
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from pypto._src import knobs
from pypto._src.cost.tables import CostTable
from pypto._src.diagnostics import span_of_frame, spelled_like
from pypto._src.driver import CompiledProgram
from pypto._src.errors import CallError, PyptoError
from pypto._src.ir.stmts import Program
from pypto._src.jit.function import JitFunction
from pypto._src.tune.report import OVERLAP, as_data, choice_of, text
from pypto._src.tune.search import Options, Outcome, Space, search

MAX_CANDIDATES: Final = 100_000
"""More combinations than this are taken for a mistake."""

Values = Mapping[str, Sequence[Any]]


class Tuned:
    """What a search chose, and why: ``choice`` by name, ``str()`` the table."""

    def __init__(self, name: str, outcome: Outcome, *, overlaps: bool) -> None:
        self.name = name
        self.outcome = outcome
        self._overlaps = overlaps

    @property
    def choice(self) -> dict[str, Any]:
        """The best values.

        Raises:
            CallError: no candidate is legal, or the search was stopped before one was simulated.
        """
        if self.outcome.best is not None:
            return choice_of(self.outcome.best, overlaps=self._overlaps)
        refused = next((each for each in self.outcome.candidates if each.refused), None)
        reason = f": {refused.refused}" if refused is not None else ""
        what = f"stopped by {self.outcome.stopped}" if self.outcome.stopped else f"refused{reason}"
        raise CallError(
            f"no choice of the constants of {self.name} is left: all were {what}",
            hint=f"print({self.name}.tune(...)) says why each was refused",
            slug="tune-nothing",
        )

    def as_data(self, times: Sequence[float] = ()) -> dict[str, Any]:
        """Return all results as JSON data."""
        return as_data(self.name, self.outcome, times)

    def text(self, times: Sequence[float] = ()) -> str:
        """Return the table; ``times`` are those of the best few on this machine, in seconds."""
        return text(self.name, self.outcome, times)

    def __str__(self) -> str:
        return self.text()


class Autotuned:
    """A kernel, or a function that makes a program, with tunable constants.

    It is called as without the decorator, but without those constants. A constant that a call gives
    has that value, and the others are chosen.
    """

    def __init__(
        self, function: JitFunction | Callable[..., Program], values: Values, where: Any
    ) -> None:
        self.function = function
        self.__name__: str = function.__name__
        self.__doc__: str | None = function.__doc__
        self.values = dict(values)
        self._where: Callable[..., bool] | None = where
        self._chosen: dict[Hashable, dict[str, Any]] = {}

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the kernel, or make the program, with the best constants for these arguments."""
        try:
            choice = self._choice(args, named)
        except CallError as error:
            error.at(span_of_frame(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
            raise
        return self.function(*args, **self._with(choice, named))

    def compile(self, *args: Any, **named: Any) -> CompiledProgram:
        """Return what a call with these arguments runs, as `JitFunction.compile`."""
        return self._jit().compile(*args, **self._with(self._choice(args, named), named))

    def parse(self, *args: Any, **named: Any) -> Program:
        """Return the program for these arguments and the best constants, as parsed."""
        return self._jit().parse(*args, **self._with(self._choice(args, named), named))

    def lower(self, *args: Any, **named: Any) -> Program:
        """Return the program for these arguments and the best constants after all passes."""
        return self._jit().lower(*args, **self._with(self._choice(args, named), named))

    def tune(
        self,
        *args: Any,
        limit: float | None = None,
        processes: int | None = None,
        costs: CostTable | None = None,
        told: Callable[[str, int, int], None] | None = None,
        on: str | None = None,
        **named: Any,
    ) -> Tuned:
        """Return what the search chooses for these arguments; later calls use it.

        Args:
            args: As in a call; ``pl.Tensor[[64, 64], pl.FP32]`` may stand for an array.
            limit: The time limit in seconds; with one, the outcome depends on the machine.
            processes: How many processes do the work; by default as many as the machine has cores.
            costs: The costs of instructions, if not PyPTO's own.
            told: Called with what is being done, how much of it is done, and how much there is.
            on: A cluster that does the work: ``ray``, or its address.
            named: Arguments by name; constants that are given are not chosen.

        Raises:
            CallError, ParserError: the arguments do not fit.
        """
        space = self._space(args, named, costs)
        count = processes or knobs.NUM_THREADS.get() or os.cpu_count() or 1
        found = search(space, Options(count, limit, told, on))
        tuned = Tuned(self.__name__, found, overlaps=OVERLAP in self._open(named))
        if found.best is not None:
            self._chosen[self._kinds(args, named)] = tuned.choice
        return tuned

    def declared(self) -> Program:
        """Return the program for the shapes of the annotations and the best constants for it.

        Raises:
            CallError: an annotation has no shape.
        """
        given = self.declared_arguments({})
        return self.program(self._choice((), given), given)

    def declared_arguments(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        """Return arguments as annotations declare them; see `JitFunction.declared_arguments`."""
        if isinstance(self.function, JitFunction):
            return self.function.declared_arguments(sizes)
        return dict(sizes)

    def program(self, choice: Mapping[str, Any], named: Mapping[str, Any]) -> Program:
        """Return the program for a choice and other arguments by name, with all sizes as numbers.

        Raises:
            PyptoError: there is none for this choice.
        """
        constants = {name: value for name, value in choice.items() if name != OVERLAP}
        if isinstance(self.function, JitFunction):
            return self.function.of_sizes((), {**named, **constants})
        return _made(self.function, (), {**named, **constants})

    # ------------------------------------------------------------------ parts

    def _jit(self) -> JitFunction:
        if isinstance(self.function, JitFunction):
            return self.function
        raise CallError(
            f"{self.__name__} is not a kernel of pl.jit; it makes programs",
            hint=f"runtime.compile({self.__name__}())",
            slug="argument-kind",
        )

    def _open(self, named: Mapping[str, Any]) -> Values:
        """Return the constants that a call leaves open, with their values."""
        return {name: values for name, values in self.values.items() if name not in named}

    def _choice(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        known = self._chosen.get(self._kinds(args, named))
        if known is None:
            known = self.tune(*args, **{k: v for k, v in named.items() if k != "config"}).choice
        return known

    def _with(self, choice: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keywords of a call with a choice; the overlap is part of its ``config``."""
        found = {**named, **{k: v for k, v in choice.items() if k != OVERLAP}}
        if OVERLAP in choice and choice[OVERLAP] != self._jit().overlap:
            from pypto._src.run.config import RunConfig

            found["config"] = replace(named.get("config") or RunConfig(), overlap=choice[OVERLAP])
        return found

    def _kinds(self, args: Sequence[Any], named: Mapping[str, Any]) -> Hashable:
        """Return what the choice of constants depends on."""
        named = {name: value for name, value in named.items() if name != "config"}
        first = {k: v[0] for k, v in self._open(named).items() if k != OVERLAP}
        given = tuple(sorted(self.values.keys() & named.keys()))
        if isinstance(self.function, JitFunction):
            return given, self.function.kinds(args, {**named, **first})
        return given, repr((args, sorted(named.items())))

    def _space(
        self, args: Sequence[Any], named: Mapping[str, Any], costs: CostTable | None
    ) -> Space:
        named = {name: value for name, value in named.items() if name != "config"}
        function = self.function
        overlap = isinstance(function, JitFunction) and function.overlap
        choices = candidates(self._open(named), self._where, named, overlap=overlap)

        def make(choice: Mapping[str, Any]) -> Program:
            if isinstance(function, JitFunction):
                return function.of_sizes(args, {**named, **choice})
            return _made(function, args, {**named, **choice})

        numbers = {}
        if isinstance(function, JitFunction):
            numbers = function.numbers(args, {**named, **choices[0][0]}) if choices else {}
        return Space(make, choices, None, numbers, costs)


def _made(
    function: Callable[..., Program], args: Sequence[Any], named: Mapping[str, Any]
) -> Program:
    """Return the program that a function makes.

    Raises:
        PyptoError: it makes none, or raises what Python code does where values do not fit.
    """
    try:
        found = cast("object", function(*args, **named))
    except (ValueError, ArithmeticError, AssertionError) as error:
        if isinstance(error, PyptoError):
            raise
        raise PyptoError(f"{type(error).__name__}: {error}", slug="user-file") from error
    if not isinstance(found, Program):
        raise CallError(
            f"{function.__name__} returned {type(found).__name__}, a program was wanted",
            hint="return what @pl.program makes",
            slug="argument-kind",
        )
    return found


def candidates(
    values: Values,
    where: Callable[..., bool] | None,
    given: Mapping[str, Any],
    *,
    overlap: bool,
) -> list[tuple[dict[str, Any], bool]]:
    """Return all combinations of values that ``where`` accepts, the last name varying fastest.

    ``overlap`` is the value to use if it is not among the choices.
    """
    names = list(values)
    found: list[tuple[dict[str, Any], bool]] = []
    wanted = _parameters(where)
    for combination in itertools.product(*values.values()):
        choice = dict(zip(names, combination, strict=True))
        if where is not None:
            known = {**given, **choice}
            if not where(**{name: known[name] for name in wanted if name in known}):
                continue
        found.append((choice, bool(choice.pop(OVERLAP, overlap))))
        if len(found) > MAX_CANDIDATES:
            raise CallError(
                f"there are more than {MAX_CANDIDATES} combinations",
                hint="declare fewer values, or where=lambda ...: to leave some out",
                slug="tune-choices",
            )
    return found


def _parameters(where: Callable[..., bool] | None) -> list[str]:
    return [] if where is None else list(inspect.signature(where).parameters)


def autotune(
    *, where: Callable[..., bool] | None = None, **choices: Sequence[Any]
) -> Callable[[JitFunction | Callable[..., Program]], Autotuned]:
    """Let constants of a kernel be chosen, by simulating it with each of the given values.

        @pl.autotune(TILE=[64, 128, 256], STAGES=[1, 2], overlap=[False, True])
        @pl.jit
        def kernel(x: pl.Tensor, y: pl.Out[pl.Tensor], TILE: int = 64, STAGES: int = 1): ...

    The first call for arguments of other shapes or element types compiles and simulates all legal
    combinations for the chip, and runs the fastest; what was found is kept on disk. ``overlap``
    stands for that option of ``pl.jit``. Above a
    function that returns a program, the choices are its parameters.

    Args:
        where: Says which combinations are wanted: ``lambda TILE, STAGES: TILE * STAGES <= 256``.
        choices: The values of each constant, by its name.

    Raises:
        CallError: there is no choice, or the function has no such constant.
    """
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]

    def decorate(function: JitFunction | Callable[..., Program]) -> Autotuned:
        try:
            return with_choices(function, choices, where)
        except CallError as error:
            error.at(span_of_frame(frame))
            raise

    return decorate


def with_choices(
    function: JitFunction | Callable[..., Program],
    choices: Values,
    where: Callable[..., bool] | None = None,
) -> Autotuned:
    """Return what `autotune` makes.

    Raises:
        CallError: there is no choice, or the function has no such constant.
    """
    _check_choices(choices)
    _check_names(function, choices)
    return Autotuned(function, {name: list(values) for name, values in choices.items()}, where)


def _check_choices(choices: Mapping[str, Any]) -> None:
    for name, values in choices.items():
        listed = cast("list[Any]", values) if isinstance(values, list | tuple | range) else []
        if len(listed) == 0:
            raise CallError(
                f"the values of {name} are {values!r}; a list of some was wanted",
                hint=f"write {name}=[64, 128]",
                slug="tune-choices",
            )
    if not choices:
        raise CallError(
            "pl.autotune has nothing to choose",
            hint="write pl.autotune(TILE=[64, 128])",
            slug="tune-choices",
        )


def _check_names(function: Any, choices: Mapping[str, Any]) -> None:
    """Raise CallError for a name that is not a parameter."""
    if isinstance(function, JitFunction):
        names = function.parameter_names
    elif callable(function):
        names = list(inspect.signature(function).parameters)
    else:
        raise CallError(
            f"pl.autotune is for a kernel or a function that makes a program, got {function!r}",
            hint="put it above @pl.jit",
            slug="argument-kind",
        )
    for name in choices:
        if name in names or (name == OVERLAP and isinstance(function, JitFunction)):
            continue
        near = spelled_like(name, names)
        raise CallError(
            f"{function.__name__} has no parameter {name!r}; it has {', '.join(names)}",
            hint=f"write {near}=" if near else f"add {name}: int to it",
            slug="tune-choices",
        )
