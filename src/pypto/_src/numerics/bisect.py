"""``bisect``: the first statement of a run whose value differs from a reference's.

A reference is a run with named values: another version of the program, or the program itself in
float64, with the values of all its statements, or a function on NumPy arrays, with those of its
local variables. The run under test is compared with it as it goes, so that the first difference is
the first in time; nothing has to be run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, Label, Span, render
from pypto._src.driver import entry_function
from pypto._src.errors import EvaluationError
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import Expr, MakeTuple
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.traversal.walk import walk
from pypto._src.lazy import lazy_module
from pypto._src.numerics.alignment import aligned
from pypto._src.numerics.compare import location, widened
from pypto._src.numerics.lockstep import Diverged, Stopped, Values, in_lockstep
from pypto._src.numerics.trace import Point, TracedEvaluator
from pypto._src.numerics.ulps import bounded
from pypto._src.run.arguments.array_views import copied, is_array

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")


@dataclass(frozen=True)
class Difference:
    """The first value that differs from the reference's."""

    point: Point
    """The statement."""
    span: Span
    """The wrong operand, if it is an offset or another number; else the statement."""
    partner: Point | None
    """The reference's statement, None if it has none, as for a function on arrays."""
    partner_span: Span | None
    """The reference's operand or statement."""
    iteration: tuple[tuple[str, int], ...]
    """The loop variables, the outermost first."""
    what: str
    """What differs, in words: ``element``, ``what is stored``, or the name of a tensor or tile."""
    index: tuple[int, ...]
    """The index of the worst element, () for a number."""
    found: str
    wanted: str
    error: float
    """How far it is off, relative to ``max(1, abs(wanted))``; infinite if it is of another kind."""
    before: Point | None
    """The last statement in time that agrees."""
    only_here: tuple[Point, ...]
    """Points between the two that the reference does not have."""
    only_there: tuple[Point, ...]
    """Points of the reference in between that this program does not have."""

    def text(self, *, colour: bool = False) -> str:
        """Return the report for a person."""
        at = "" if not self.index else f"[{', '.join(map(str, self.index))}]"
        where = self.point.region
        unnamed = "the region at " if where.startswith("line ") else ""
        region = f" in {unnamed}{where}" if where else ""
        loops = ", ".join(f"{name} = {value}" for name, value in self.iteration)
        related: list[Label] = []
        if self.partner_span is not None:
            related.append(Label(self.partner_span, "the reference"))
        related += [Label(p.span, "the reference does not have this") for p in self.only_here]
        related += [Label(p.span, "only the reference has this") for p in self.only_there]
        error = "" if np.isinf(self.error) else f", off by {self.error:.3g}"
        told = f"{self.what}{at} is {self.found}, {self.wanted} in the reference{error}"
        before = self.before
        agrees = "nothing before it was compared"
        if before is not None:
            agrees = f"the last that agrees: {location(before.span)}  {before.text}"
        message = f"the first wrong value{region}{f', at {loops}' if loops else ''}: {told}"
        found = Diagnostic(
            DiagnosticSeverity.Error, "wrong-value", 0, message, self.span,
            related=tuple(related), note=agrees,
        )  # fmt: skip
        return render(found, colour=colour)

    def as_data(self) -> dict[str, Any]:
        """Return it as data for JSON."""
        partner = self.partner_span
        return {
            "file": self.point.span.filename,
            "line": self.span.begin_line,
            "function": self.point.function,
            "region": self.point.region,
            "statement": self.point.text,
            "iteration": dict(self.iteration),
            "value": self.what,
            "index": list(self.index),
            "found": self.found,
            "wanted": self.wanted,
            "error": self.error if np.isfinite(self.error) else str(self.error),
            "reference": None if partner is None else location(partner),
            "agrees": None if self.before is None else location(self.before.span),
            "only_here": [location(p.span) for p in self.only_here],
            "only_there": [location(p.span) for p in self.only_there],
        }


def against_program(
    program: Program,
    reference: Program,
    args: Sequence[Any],
    *,
    entry: str | None = None,
    bound: float = 0.0,
    is_exact: bool = False,
) -> Difference | None:
    """Return the first statement whose value differs in another version of the program.

    Args:
        program: The program under test.
        reference: The other version, or the same with ``is_exact``.
        args: The arguments, which are not changed.
        entry: The function that is called.
        bound: How far a value may be off, relative to ``max(1, abs(wanted))``.
        is_exact: Whether the reference computes in float64.

    Raises:
        PyptoError: one of them cannot be run.
    """
    name = entry_function(program, entry).name
    other_name = name if reference.get_function(name) else entry_function(reference).name
    tested = TracedEvaluator(program)
    other = TracedEvaluator(reference, is_exact=is_exact)
    partner = aligned(tested.points, other.points)
    search = _Search(tested, other, partner, bound, floats_only=is_exact)
    widen: Callable[[Any], Any] = widened if is_exact else copied
    try:
        in_lockstep(
            (tested, name, [copied(value) for value in args]),
            (other, other_name, [widen(value) for value in args]),
            partner,
            search.compare,
            operands=True,
        )
    except Diverged as where:
        search.diverged(where)
    return search.found


class _Search:
    """Compares the values of two runs as they proceed, up to the first difference."""

    def __init__(
        self,
        tested: TracedEvaluator,
        other: TracedEvaluator,
        partner: Mapping[int, int],
        bound: float,
        *,
        floats_only: bool,
    ) -> None:
        self.tested = tested
        self.other = other
        self.partner = partner
        self.bound = bound
        self.floats_only = floats_only
        self.last: int | None = None
        self.previous: int | None = None  # the last one on another line
        self.found: Difference | None = None
        self.here: dict[int, None] = {}  # passed without a partner, in order of the last time
        self.there: dict[int, None] = {}

    def compare(self, found: Values, wanted: Values) -> None:
        """Compare the values of one point.

        Raises:
            Stopped: they differ.
        """
        for passed, values in ((self.here, found.passed), (self.there, wanted.passed)):
            for each in values:
                passed.pop(each, None)
                passed[each] = None
        point = self.tested.points[found.point]
        if self.floats_only and (point.dtype is None or not point.dtype.is_float()):
            self._agrees(found.point)
            return
        for number, (one, two) in enumerate(zip(found.values, wanted.values, strict=False)):
            worst = worst_element(one, two, self.bound)
            if worst is not None:
                what = "element " if worst[0] else "it"
                if point.stores:
                    what = "what is stored" if number == 0 else "where it is stored"
                other = self.other.points[wanted.point]
                spans = [_wrong_operand(p, found.operands, wanted.operands) for p in (point, other)]
                self._end(found.point, wanted.point, what, *worst, spans=spans)
                raise Stopped
        if len(found.values) != len(wanted.values):
            text = (f"{len(found.values)} values", f"{len(wanted.values)} values")
            self._end(found.point, wanted.point, "the statement", (), *text, float("inf"))
            raise Stopped
        self._agrees(found.point)

    def _agrees(self, number: int) -> None:
        points, last = self.tested.points, self.last
        if last is None or points[last].span.begin_line != points[number].span.begin_line:
            self.previous = last
        self.last = number

    def diverged(self, where: Diverged) -> None:
        """Record that the runs have diverged: one is at a point that the other is not at."""
        if where.found >= 0:
            text = "nothing more" if where.wanted is None else self._place(where.wanted)
            self._end(where.found, where.wanted, "the run", (), "here", text, float("inf"))
        elif self.last is not None:
            text = "nothing more" if where.wanted is None else self._place(where.wanted)
            self._end(self.last, where.wanted, "the run", (), "at its end", text, float("inf"))

    def _place(self, number: int) -> str:
        point = self.other.points[number]
        return f"at {location(point.span)}"

    def _end(
        self,
        number: int,
        partner: int | None,
        what: str,
        index: tuple[int, ...],
        found: str,
        wanted: str,
        error: float,
        spans: Sequence[Span | None] = (None, None),
    ) -> None:
        points, others, last = self.tested.points, self.other.points, self.last
        point = points[number]
        if last is not None and points[last].span.begin_line == point.span.begin_line:
            last = self.previous
        self.found = Difference(
            point,
            spans[0] or point.span,
            None if partner is None else others[partner],
            None if partner is None else spans[1] or others[partner].span,
            tuple(self.tested.iteration(point)),
            what,
            index,
            found,
            wanted,
            error,
            None if last is None else points[last],
            _near(points, self.here, point),
            _near(others, self.there, point)
            if partner is None
            else _near(others, self.there, others[partner]),
        )


def _near(points: Sequence[Point], passed: Iterable[int], point: Point) -> tuple[Point, ...]:
    """Return the last points that were passed in the region of ``point``, one per line."""
    region = point.function, point.region
    inside = [points[at] for at in passed if (points[at].function, points[at].region) == region]
    return tuple({each.span.begin_line: each for each in inside}.values())[-_SHOWN:]


def _wrong_operand(point: Point, operands: Sequence[Any], others: Sequence[Any]) -> Span | None:
    """Return the span of the first operand that is a different number, None if there is none."""
    if point.call is None:
        return None
    for expr, one, two in zip(point.call.args, operands, others, strict=False):
        pairs: list[tuple[Expr, Any, Any]] = [(expr, one, two)]
        if isinstance(expr, MakeTuple) and isinstance(one, tuple) and isinstance(two, tuple):
            items = cast("tuple[Any, ...]", one), cast("tuple[Any, ...]", two)
            pairs = list(zip(expr.elements, *items, strict=False))
        for each, found, wanted in pairs:
            is_number = isinstance(found, int | float) and isinstance(wanted, int | float)
            if is_number and found != wanted:
                return _own_span(each, point.span)
    return None


def _own_span(expr: Expr, statement: Span) -> Span | None:
    """Return the span of a number, or of its first part on another line than the statement."""
    spans = [each.span for each in walk(expr) if each.span.is_valid()]
    elsewhere = [span for span in spans if span.begin_line != statement.begin_line]
    return next(iter(elsewhere or spans), None)


_SHOWN: Final = 4
"""How many statements that only one version has are shown."""


def worst_element(
    found: Any, wanted: Any, bound: float
) -> tuple[tuple[int, ...], str, str, float] | None:
    """Return index, both values and error of the worst element, None if all are within bound."""
    if found is None or wanted is None:
        return None
    try:
        x, y = np.asarray(found), np.asarray(wanted)
    except ValueError:
        return None
    if x.dtype.kind in "OSU" or y.dtype.kind in "OSU":
        return None
    if x.shape != y.shape:
        return (), f"of shape {list(x.shape)}", f"{list(y.shape)}", float("inf")
    if x.size == 0 or (x == y).all():
        return None
    errors = bounded(x, y)
    at = int(np.argmax(errors))
    if not float(errors.flat[at]) > bound:
        return None
    index = tuple(map(int, np.unravel_index(at, x.shape)))
    return index, _text(x.flat[at]), _text(y.flat[at]), float(errors.flat[at])


def _text(value: Any) -> str:
    return str(int(value)) if np.asarray(value).dtype.kind in "iub" else f"{float(value):.9g}"


# --------------------------------------------------------------------------------------------
# Functions on arrays
# --------------------------------------------------------------------------------------------


def against_values(
    program: Program,
    named: Mapping[str, Any],
    args: Sequence[Any],
    *,
    entry: str | None = None,
    bound: float,
) -> Difference | None:
    """Return the first statement whose value differs from the reference's value of that name.

    Tensors are compared after the run, as they may be written in parts, in the order of their last
    writes. The element that is furthest off then determines which store was wrong. In the region of
    that store, a tile with the name of a reference array has to be a block of that array.

    Args:
        program: The program under test.
        named: The expected values, by the names of variables.
        args: The arguments, which are not changed.
        entry: The function that is called.
        bound: How far a value may be off, relative to ``max(1, abs(wanted))``.

    Raises:
        PyptoError: the program cannot be run.
    """
    name = entry_function(program, entry).name
    tested = TracedEvaluator(program)
    points = tested.points
    wanted = {key: np.asarray(value) for key, value in named.items()}
    last: dict[str, tuple[int, Any]] = {}
    params = entry_function(program, entry).params
    own = [copied(value) for value in args]
    arrays = {id(value): p.name for p, value in zip(params, own, strict=True) if is_array(value)}

    def note(number: int, values: tuple[Any, ...], operands: Sequence[Any]) -> None:
        point = points[number]
        for key, value in _tensors(point, values, operands, arrays):
            if key in wanted and value.size == wanted[key].size:
                last.pop(key, None)
                last[key] = (number, value)

    tested.run_on(name, own, note)
    for key, (number, value) in last.items():
        expected = wanted[key].reshape(value.shape)
        worst = worst_element(value, expected, bound)
        if worst is not None:
            return _first_in(tested, name, args, wanted, bound, key, number, worst, params)
    return None


def _tensors(
    point: Point, values: tuple[Any, ...], operands: Sequence[Any], arrays: Mapping[int, str]
) -> Iterator[tuple[str, Any]]:
    """Yield the tensors that a point has written, with their names."""
    if point.stores:
        for value in operands:
            if is_array(value) and value is not values[0]:
                base = value if value.base is None else value.base
                yield arrays.get(id(value), arrays.get(id(base), point.target)), value
    elif point.target and point.is_whole and is_array(values[0]):
        yield point.target, values[0]


def _first_in(
    tested: TracedEvaluator,
    name: str,
    args: Sequence[Any],
    wanted: Mapping[str, Any],
    bound: float,
    key: str,
    number: int,
    worst: tuple[tuple[int, ...], str, str, float],
    params: Sequence[Any],
) -> Difference:
    """Return the first wrong statement among those that determine an element of a tensor."""
    points = tested.points
    own = [copied(value) for value in args]
    known = {id(value): p.name for p, value in zip(params, own, strict=True) if is_array(value)}
    held: bytes | None = None
    culprit: Difference | None = None
    tile: Difference | None = None
    before: Point | None = None

    def watch(at: int, values: tuple[Any, ...], operands: Sequence[Any]) -> None:
        nonlocal held, culprit, tile, before
        point = points[at]
        iteration = tuple(tested.iteration(point))
        for found_key, value in _tensors(point, values, operands, known):
            if found_key == key and value.size == wanted[key].size:
                now = value.reshape(wanted[key].shape)[
                    np.unravel_index(np.ravel_multi_index(worst[0], value.shape),
                                     wanted[key].shape)
                ].tobytes()  # fmt: skip
                if now != held:
                    held = now
                    shown = tile if tile is not None and tile.point.region == point.region else None
                    culprit = shown or Difference(
                        point, point.span, None, None, iteration, key, *worst, before, (), ()
                    )
                    return
        expected = wanted.get(point.target)
        if expected is None or point.stores or not point.is_whole or not is_array(values[0]):
            return
        block = _block(values[0], expected, bound)
        if block is None:
            before = point
        elif tile is None or tile.point.region != point.region:
            tile = Difference(
                point, point.span, None, None, iteration, point.target, *block, before, (), ()
            )

    tested.run_on(name, own, watch)
    if culprit is None:
        culprit = Difference(
            points[number], points[number].span, None, None, (), key, *worst, before, (), ()
        )
    return culprit


_MOST_BLOCKS: Final = 4096
"""The most blocks of an array among which a tile is looked for."""


def _block(
    value: Array, expected: Array, bound: float
) -> tuple[tuple[int, ...], str, str, float] | None:
    """Return how far a tile is from the nearest block of an array, None if within the bound."""
    whole = expected.reshape(1, -1) if expected.ndim == 1 else expected
    whole = whole.reshape(-1, whole.shape[-1]) if whole.ndim != value.ndim else whole
    if value.ndim != whole.ndim or any(
        size == 0 or of % size for size, of in zip(value.shape, whole.shape, strict=True)
    ):
        return None
    counts = [of // size for size, of in zip(value.shape, whole.shape, strict=True)]
    if int(np.prod(counts)) > _MOST_BLOCKS:
        return None
    nearest: tuple[tuple[int, ...], str, str, float] | None = None
    for at in np.ndindex(*counts):
        part = whole[tuple(slice(i * n, (i + 1) * n) for i, n in zip(at, value.shape, strict=True))]
        worst = worst_element(value, part, bound)
        if worst is None:
            return None
        if nearest is None or worst[3] < nearest[3]:
            nearest = worst
    return nearest


def locals_of(
    function: Callable[..., Any], arguments: Mapping[str, Any], entry: Function
) -> dict[str, Any]:
    """Call a reference with arguments by name; return its arrays, by their names.

    Those are its local variables when it returns, and its result: a dictionary, or the tensors that
    the program's ``entry`` writes, in order. A function of one argument whose name is not that of a
    parameter gets all arguments, as a dictionary that it fills.

    Raises:
        EvaluationError: it fails, or returns another number of arrays.
    """
    import inspect
    import sys

    found: dict[str, Any] = {}
    code = getattr(function, "__code__", None)

    def profile(frame: Any, event: str, _arg: Any) -> None:
        if event == "return" and frame.f_code is code:
            found.update(frame.f_locals)

    names = list(inspect.signature(function).parameters)
    filled = {key: copied(value) for key, value in arguments.items()}
    takes_all = len(names) == 1 and names[0] not in arguments
    has_rest = any(
        p.kind is inspect.Parameter.VAR_KEYWORD
        for p in inspect.signature(function).parameters.values()
    )
    given = {key: value for key, value in filled.items() if has_rest or key in names}
    kept = sys.getprofile()
    sys.setprofile(profile)
    try:
        returned: Any = function(filled) if takes_all else function(**given)
    except Exception as error:  # a reference is the user's code, which may raise anything
        raise EvaluationError(
            f"the reference {function.__name__} fails: {type(error).__name__}: {error}",
            slug="user-file",
        ) from error
    finally:
        sys.setprofile(kept)
    results: Any = filled if takes_all else {}
    if isinstance(returned, dict):
        results = cast("dict[str, Any]", returned)
    elif returned is not None:
        results = _in_order(function.__name__, returned, entry)
    found.update(results)
    return {key: array for key, value in found.items() if (array := _as_array(value)) is not None}


def _in_order(name: str, returned: Any, entry: Function) -> dict[str, Any]:
    """Return the results of a reference by the names of the parameters that a program writes."""
    directions = zip(entry.params, entry.param_directions, strict=True)
    written = [p.name for p, direction in directions if direction is not ParamDirection.In]
    values = cast("Sequence[Any]", returned if isinstance(returned, tuple | list) else (returned,))
    if len(values) != len(written) or any(_as_array(value) is None for value in values):
        pairs = ", ".join(f"{each!r}: {each}" for each in written)
        raise EvaluationError(
            f"the reference {name} returns {len(values)} values, not the arrays that "
            f"{entry.name} writes: {', '.join(written)}",
            hint=f"return {{{pairs}}}",
            slug="user-file",
        )
    return dict(zip(written, values, strict=True))


def _as_array(value: Any) -> Any:
    from pypto._src.golden.comparison import as_floats
    from pypto._src.golden.specs import is_torch

    if is_torch(value):
        return as_floats(value)
    return value if is_array(value) and value.ndim > 0 else None
