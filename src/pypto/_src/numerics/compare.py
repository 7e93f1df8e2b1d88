"""``compare``: where a program loses precision, statement by statement.

The program runs twice, in lockstep: with its own element types, as on the chip, and in float64, the
exact reference. The compiled program runs once more for its results. A statement's *loss* is the
relative error of its values beyond that of its worst operand: rounding causes it, and so does the
difference of two close numbers, which rounds nothing and exposes what was lost before.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import Span, span_of_frame
from pypto._src.driver import CompiledProgram, compile_program, entry_function
from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.errors import CallError
from pypto._src.ir.stmts import Program
from pypto._src.lazy import lazy_module
from pypto._src.numerics.lockstep import Diverged, Values, in_lockstep
from pypto._src.numerics.trace import Point, TracedEvaluator, sample
from pypto._src.numerics.ulps import distances, ulp
from pypto._src.run.arguments.array_views import copied, is_array
from pypto._src.run.toolchain import find_toolchain
from pypto._src.usage_errors import check_kind

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")


@dataclass(frozen=True)
class Worst:
    """The element that is furthest off."""

    index: tuple[int, ...]
    found: float
    exact: float


@dataclass
class ErrorSum:
    """The error of the values of one statement, or of one result, over a whole run."""

    dtype: DataType
    largest: float = 0.0
    """In units in the last place of the element type."""
    worst: Worst | None = None
    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    power: float = 0.0

    @property
    def mean(self) -> float:
        """The mean error, in units in the last place."""
        return self.total / self.count if self.count else 0.0

    @property
    def part(self) -> float:
        """The relative error: root mean square error over that of the values; at most 1."""
        return float(min(np.sqrt(self.squares / self.power), 1.0)) if self.squares else 0.0

    def add(self, found: Any, exact: Any) -> None:
        """Count the elements of one value."""
        x, y = np.asarray(found).astype(np.float64), np.asarray(exact)
        if x.size == 0:
            return
        self.count += x.size
        self.add_part(x, y)
        if (x == y).all():
            if self.worst is None:
                first = (0,) * x.ndim
                self.worst = Worst(first, float(x[first]), float(y[first]))
            return
        errors = distances(x, y) / ulp(y, self.dtype)
        at = int(np.argmax(errors))
        largest = float(errors.flat[at])
        if self.worst is None or largest > self.largest:
            index = tuple(map(int, np.unravel_index(at, x.shape)))
            self.largest = largest
            self.worst = Worst(index, float(x.flat[at]), float(y.flat[at]))
        self.total += float(errors.sum())

    def add_part(self, x: Array, y: Array) -> None:
        """Count elements for `part` only, except marks such as a mask's lowest number."""
        with np.errstate(invalid="ignore", over="ignore"):
            used = np.abs(y) < _MARK
            apart, size = np.where(used, x - y, 0.0), np.where(used, y, 0.0)
            self.squares += float(np.vdot(apart, apart))
            self.power += float(np.vdot(size, size))

    def as_data(self) -> dict[str, Any]:
        """Return it as data for JSON."""
        row: dict[str, Any] = {
            "dtype": self.dtype.member,
            "largest_ulp": _number(self.largest),
            "mean_ulp": _number(self.mean),
            "relative": self.part,
        }
        if self.worst is not None:
            row["worst"] = {
                "index": list(self.worst.index),
                "found": _number(self.worst.found),
                "exact": _number(self.worst.exact),
            }
        return row


def _number(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)


_MARK: Final = 1e30
"""Numbers beyond it are marks, not values."""


class StatementLoss:
    """One statement: the errors of its values and of its operands."""

    def __init__(self, point: Point, dtype: DataType) -> None:
        self.point = point
        self.errors = ErrorSum(dtype)
        self.operands: dict[int, ErrorSum] = {}

    @property
    def loss(self) -> float:
        """The relative error of the values minus that of the worst operand."""
        return self.errors.part - max((each.part for each in self.operands.values()), default=0.0)

    @property
    def span(self) -> Span:
        """The span of the statement."""
        return self.point.span

    def add(self, found: Values, exact: Values) -> None:
        """Count one run of the statement."""
        self.errors.add(found.values[0], exact.values[0])
        for index, (one, other) in enumerate(zip(found.operands, exact.operands, strict=True)):
            if _is_float_array(other):
                known = self.operands.get(index)
                if known is None:
                    known = self.operands[index] = ErrorSum(DataType.FP32)
                known.add_part(sample(one).astype(np.float64), other)


@dataclass
class Comparison:
    """The result of `compare`; ``str()`` is the table."""

    statements: list[StatementLoss]
    """Sorted by their loss, the largest first."""
    results: dict[str, dict[str, ErrorSum]]
    """For each result, by its name: the errors of ``interpreter`` and, if it ran, ``native``."""
    diverged: Point | None
    """The branch or loop that took another path in float64: nothing after it was compared."""

    def text(self, rows: int | None = None) -> str:
        """Return the table, of all statements or of the first ``rows``."""
        shown = self.statements if rows is None else self.statements[:rows]
        lines = [f"{'loss':>8} {'largest ulp':>12} {'mean ulp':>9}  {'type':<10}statement"]
        for each in shown:
            errors, point = each.errors, each.point
            lines.append(
                f"{each.loss:8.1e} {errors.largest:12.3g} {errors.mean:9.2g}  "
                f"{errors.dtype.member:<10}{location(point.span)}  {point.text}"
            )
            lines += _worst_lines(errors, 43)
        if len(shown) < len(self.statements):
            lines.append(f"and {len(self.statements) - len(shown)} statements that lose less")
        lines += ["", f"{'result':<20} {'on':<12} {'largest ulp':>12} {'mean ulp':>9}  type"]
        for name, targets in self.results.items():
            for target, errors in targets.items():
                lines.append(
                    f"{name:<20} {target:<12} {errors.largest:12.3g} {errors.mean:9.2g}  "
                    f"{errors.dtype.member}"
                )
                lines += _worst_lines(errors, 34)
        if self.diverged is not None:
            lines.append(
                f"{location(self.diverged.span)}: in float64 the program goes another way here; "
                "nothing behind it is compared"
            )
        return "\n".join(lines) + "\n"

    __str__ = text

    def as_data(self) -> dict[str, Any]:
        """Return it as data for JSON."""
        return {
            "statements": [
                {
                    "file": each.span.filename,
                    "line": each.span.begin_line,
                    "function": each.point.function,
                    "statement": each.point.text,
                    "loss": each.loss,
                    **each.errors.as_data(),
                }
                for each in self.statements
            ],
            "results": {
                name: {target: errors.as_data() for target, errors in targets.items()}
                for name, targets in self.results.items()
            },
            "diverged": None if self.diverged is None else location(self.diverged.span),
        }


def _worst_lines(errors: ErrorSum, indent: int) -> list[str]:
    worst = errors.worst
    if worst is None or errors.largest == 0.0:
        return []
    text = f"{list(worst.index)} is {worst.found:.9g}, exactly {worst.exact:.9g}"
    return [" " * indent + text]


def location(span: Span) -> str:
    """Return file and line, the file without its folders."""
    if span.begin_line <= 0:
        return "?"
    name = span.filename.replace("\\", "/").rpartition("/")[2]
    return f"{name}:{span.begin_line}"


def compare(program: Program, *args: Any, entry: str | None = None) -> Comparison:
    """Return where ``program`` loses precision on these arguments, which are not changed.

    ``print`` of the result is the table of `pypto compare`.

    Args:
        program: A program; that of a ``@pl.jit`` function is ``kernel.parse(*args)``.
        args: Its arguments, in the order of the parameters.
        entry: The function that is called, as in ``runtime.compile``.

    Raises:
        PyptoError: the program cannot be compiled or run.
    """
    check_kind("program", program, Program, "kernel.parse(...)", sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
    function = entry_function(program, entry)
    name = function.name
    if len(args) != len(function.params):
        raise CallError(
            f"{name!r} takes {len(function.params)} arguments "
            f"({', '.join(p.name for p in function.params)}), got {len(args)}",
            span_of_frame(sys._getframe(1)),  # pyright: ignore[reportPrivateUsage]
            slug="argument",
        )
    arguments = {p.name: value for p, value in zip(function.params, args, strict=True)}
    own = {key: copied(value) for key, value in arguments.items()}
    exact = {key: widened(value) for key, value in arguments.items()}
    tested, reference = TracedEvaluator(program), TracedEvaluator(program, is_exact=True)
    found: dict[int, StatementLoss] = {}

    def count(one: Values, other: Values) -> None:
        point = tested.points[one.point]
        value = other.values[0]
        if point.stores or point.dtype is None or not _is_float_array(value):
            return
        loss = found.get(one.point)
        if loss is None:
            loss = found[one.point] = StatementLoss(point, point.dtype)
        loss.add(one, other)

    partner = {number: number for number in range(len(tested.points))}
    diverged: Point | None = None
    returned: tuple[Any, Any] | None = None
    try:
        returned = in_lockstep(
            (tested, name, list(own.values())),
            (reference, name, list(exact.values())),
            partner,
            count,
            operands=True,
        )
    except Diverged as where:
        number = where.found if where.found >= 0 else where.wanted
        diverged = None if number is None else tested.points[number]
    compiled = compile_program(program, "cpu" if find_toolchain() is not None else "interpreter",
                               entry=name)  # fmt: skip
    native = {key: copied(value) for key, value in arguments.items()}
    of_native = compiled(*native.values())
    results: dict[str, dict[str, ErrorSum]] = {}
    if returned is not None:
        runs = {"interpreter": _results(compiled, own, returned[0])}
        if compiled.target == "cpu":
            runs["native"] = _results(compiled, native, of_native)
        meant = _results(compiled, exact, returned[1])
        dtypes = {key: element_type(value) for key, value in runs["interpreter"].items()}
        for key, dtype in dtypes.items():
            if dtype is not None:
                results[key] = {target: ErrorSum(dtype) for target in runs}
                for target, values in runs.items():
                    results[key][target].add(values[key], meant[key])
    ordered = sorted(found.values(), key=lambda each: -each.loss)
    return Comparison(ordered, results, diverged)


def _results(
    compiled: CompiledProgram, arguments: Mapping[str, Any], returned: Any
) -> dict[str, Array]:
    """Return the arrays that a call wrote or returned, by name, each once."""
    found = {name: arguments[name] for name in compiled.written}
    values: tuple[Any, ...] = returned if isinstance(returned, tuple) else (returned,)  # pyright: ignore[reportUnknownVariableType]
    for index, value in enumerate(values):
        is_new = not any(value is known for known in arguments.values())
        if is_array(value) and is_new:
            found[f"result {index}" if len(values) > 1 else "result"] = value
    return found


def element_type(array: Array) -> DataType | None:
    """Return the element type of an array, None if programs have no such type."""
    return next(
        (d for d in MEMBERS.values() if d.numpy_name is not None and d.numpy == array.dtype), None
    )


def _is_float_array(value: Any) -> bool:
    return is_array(value) and value.dtype == np.float64 and value.ndim > 0


def widened(value: Any) -> Any:
    """Return an argument for an exact run: a copy with floats in 64 bits, numbers unchanged."""
    if not is_array(value):
        return value
    is_float = value.dtype.kind not in "iub" and np.can_cast(value.dtype, np.float64)
    return value.astype(np.float64) if is_float else value.copy()
