"""Whether the blocks of a launch depend on their order: runs in a few orders are compared.

Blocks of `pl.spmd` and iterations of `pl.parallel` run at the same time. If their offsets are data,
only a run can tell whether two of them overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pypto._src.errors import EvaluationError
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.enums import ForKind
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import ForStmt, Program
from pypto._src.ir.traversal.queries import calls_in, stmts_in
from pypto._src.lazy import lazy_module

np = lazy_module("numpy")

Order = Callable[[range], Sequence[int]]

ORDERS: Final[Mapping[str, Order]] = {
    "from the last to the first": lambda blocks: blocks[::-1],
    "with every second one first": lambda blocks: [*blocks[1::2], *blocks[::2]],
}
"""The orders that are compared with that from the first to the last."""
_MOST_ROUNDED: Final = 0.05
_ROUNDINGS: Final = 64


def check_blocks(program: Program, entry: str, values: Sequence[Any]) -> None:
    """Run a program on copies of arguments, with blocks in several orders.

    If blocks add to a tensor, sums may differ by rounding.

    Raises:
        EvaluationError: an array then has other elements; located at the launch responsible.
    """
    loops = [
        stmt
        for function in program.functions_
        for stmt in stmts_in(function.body)
        if isinstance(stmt, ForStmt) and stmt.kind is ForKind.Parallel
    ]
    if not loops:
        return
    function = next(each for each in program.functions_ if each.name == entry)
    names = [param.name for param in function.params]
    adds = _adds(program)
    forwards = _ran(program, entry, values, {})
    for words, order in ORDERS.items():
        other = _ran(program, entry, values, dict.fromkeys(loops, order))
        if _difference(names, forwards, other, adds) is None:
            continue
        for loop in loops:  # find the one responsible, and its own difference
            alone = _ran(program, entry, values, {loop: order})
            if (found := _difference(names, forwards, alone, adds)) is not None:
                element, first, second = found
                raise EvaluationError(
                    f"blocks of this launch depend on their order: {element} is {first} in order, "
                    f"and {second} {words}",
                    hint="let each block write a part of its own, or add to it: "
                    "pl.assemble(..., atomic=pl.AtomicType.Add)",
                    slug="block-order",
                ).at(loop.span)


def _ran(
    program: Program, entry: str, values: Sequence[Any], orders: Mapping[ForStmt, Order]
) -> list[Any]:
    """Return the arguments after a run on copies; an array passed twice is one copy."""
    evaluator = Evaluator(program)
    evaluator.orders = orders
    copies = {id(value): value.copy() for value in values if isinstance(value, np.ndarray)}
    given = [copies.get(id(value), value) for value in values]
    evaluator.call(entry, given)
    return given


def _adds(program: Program) -> bool:
    """True if an op adds to the elements of a tensor."""
    for function in program.functions_:
        for call in calls_in(function.body):
            op = op_of(call)
            for at in () if op is None else sorted(op.writes & op.reads):
                if isinstance(call.args[at].type, TensorType):
                    return True
    return False


def _difference(
    names: Sequence[str], wanted: Sequence[Any], found: Sequence[Any], adds: bool
) -> tuple[str, Any, Any] | None:
    """Return the first element that differs, with both values; None if there is none."""
    for name, first, second in zip(names, wanted, found, strict=True):
        if not isinstance(first, np.ndarray) or first.tobytes() == second.tobytes():
            continue
        differs = (first != second) & ~((first != first) & (second != second))
        if adds and not np.issubdtype(first.dtype, np.integer):
            a, b = first.astype(np.float64), second.astype(np.float64)
            eps = float(np.spacing(np.ones((), first.dtype)))
            most = min(_ROUNDINGS * eps, _MOST_ROUNDED) * np.nanmax(np.abs(a), initial=1.0)
            differs &= ~(np.abs(a - b) <= most)
        if differs.any():
            at = tuple(int(index) for index in np.argwhere(differs)[0])
            return f"{name}{list(at)}", first[at], second[at]
    return None
