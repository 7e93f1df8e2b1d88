"""What loops do to tensors, one iteration at a time: out of bounds, or uninitialized.

Exact where execution is fully known (loops with constant bounds, conditions on their iterations),
and silent elsewhere: `uninitialized_tensors` covers the rest. Every region outside its tensor is an
error when it runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from pypto._src.analysis.box_sets import MOST_BOXES, Box, add, uncovered
from pypto._src.analysis.iteration_accesses import (
    Access,
    IterationAccesses,
    Outside,
    box_of,
    iterations_text,
)
from pypto._src.analysis.stmt_tree import call_of, points_in
from pypto._src.analysis.tensor_regions import TensorParts
from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, Label, Span
from pypto._src.ir.array_types import TensorType, TileType, static_shape
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import Call, ConstInt, GlobalVar, MakeTuple, Var, const_value
from pypto._src.ir.inspect.source_names import size_text, user_name
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import Program
from pypto._src.ops.rules.type_rules import called
from pypto._src.records import NamedTuple

OUTSIDE: Final = "out-of-bounds"


class IterationFindings(NamedTuple):
    """What stepping through the iterations of one function has found.

    ``reads`` has, by tensor, the first read of what nothing has written; ``left`` the first
    elements of outputs that nothing writes.
    """

    outside: Sequence[Diagnostic]
    reads: Mapping[Var, tuple[Access, Box]]
    left: Mapping[Var, Box]


NOTHING: Final = IterationFindings((), {}, {})


def iteration_findings(
    program: Program, inner: Collection[str], known: Mapping[str, TensorParts]
) -> dict[str, IterationFindings]:
    """Return the findings for the functions that have loops, or call others.

    ``known`` has all functions, ``inner`` those that others call: what these leave uninitialized is
    up to their callers.
    """
    found: dict[str, IterationFindings] = {}
    told: set[tuple[Span, str]] = set()  # reported already: copies of a call share its span
    for function in program.functions_:
        parts = known[function.name]
        points = points_in(parts.iterations.root)
        calls = [call_of(point.stmt) for point in points]
        if not any(point.is_loop for point in points) and not any(map(_is_launch, calls)):
            continue
        whole = IterationAccesses(parts, known)
        whole.add_all()
        every = {(d.span, d.message): d for d in map(_outside, whole.outside.values())}
        outside = [each for key, each in every.items() if key not in told]
        told.update(every)
        reads = dict(_reads(parts, whole))
        is_entry = function.name not in inner
        left = dict(_left(parts, whole)) if is_entry and whole.broken is None else {}
        found[function.name] = IterationFindings(outside, reads, left)
    return found


def _is_launch(call: Call | None) -> bool:
    return call is not None and isinstance(call.op, GlobalVar)


def region_text(box: Box) -> str:
    """Return a box in the notation of an index."""
    return "[" + ", ".join(f"{begin}:{end}" for begin, end in box) + "]"


def _outside(found: Outside) -> Diagnostic:
    call, kind, op = found.call, found.tensor.type, op_of(found.call)
    assert isinstance(kind, TensorType)
    assert op is not None
    box = tuple([(b, b + s) for b, s in zip(found.offsets, found.sizes, strict=True)])
    name = user_name(found.tensor) if isinstance(found.tensor, Var) else "a tensor"
    when, outer = iterations_text(found.around), iterations_text(found.outer)
    where = f" where {when}" if when else ""
    called_here = f"called here, where {outer}" if outer else "called here"
    related = () if found.caller is None else (Label(found.caller, called_here),)
    sizes = zip(kind.shape, found.limits, strict=True)
    shape = [size_text(dim) if limit is None else str(limit) for dim, limit in sizes]
    text = f"{called(op)} of {region_text(box)} is outside {name} [{', '.join(shape)}]{where}"
    return Diagnostic(
        DiagnosticSeverity.Error, OUTSIDE, 0, text, call.span, related=related, hint=_cut(found)
    )


def _cut(found: Outside) -> str | None:
    """Return the ``valid_shapes`` with which a tile can be loaded at a tensor's end."""
    call, kind = found.call, found.tensor.type
    assert isinstance(kind, TensorType)
    offsets = next((arg for arg in call.args if isinstance(arg, MakeTuple)), None)
    if not isinstance(call.type, TileType) or offsets is None:
        return None
    sizes: list[str] = []
    for axis, at in enumerate(offsets.elements):
        begin, size, limit = found.offsets[axis], found.sizes[axis], found.limits[axis]
        if limit is None or not 0 <= begin < limit:
            return None
        is_whole = const_value(at) is not None and begin + size <= limit
        text = size_text(at) if isinstance(at, Var | ConstInt) else f"({size_text(at)})"
        end = size_text(kind.shape[axis])
        sizes.append(str(size) if is_whole else f"pl.min({end} - {text}, {size})")
    return f"valid_shapes=[{', '.join(sizes)}]"


def _has_no_value(parts: TensorParts, root: Var) -> bool:
    function = parts.function
    if root in parts.made:
        return True
    directions = zip(function.params, function.param_directions, strict=True)
    return any(p is root and direction is ParamDirection.Out for p, direction in directions)


def _reads(
    parts: TensorParts, whole: IterationAccesses
) -> Iterator[tuple[Var, tuple[Access, Box]]]:
    """Yield the first read, for each tensor, of elements that nothing has written by then."""
    written: dict[Var, list[Box]] = {}
    done: dict[Var, bool] = {}  # True if there is no more to find
    seen: set[tuple[Var, Box]] = set()  # boxes that were checked
    for number, access in enumerate(whole.found):
        if whole.broken is not None and number >= whole.broken:
            return
        root = access.root
        if root not in done:
            done[root] = not _has_no_value(parts, root)
        if done[root]:
            continue
        if whole.unknown.get(root, number + 1) <= number or len(written.get(root, ())) > MOST_BOXES:
            done[root] = True
            continue
        box = box_of(access)
        if access.writes:
            if box is None:
                done[root] = True
            else:
                add(written.setdefault(root, []), box)
        elif box is not None and not access.path and (root, box) not in seen:
            seen.add((root, box))
            left = uncovered(box, written.get(root, ()))
            if left is not None:
                done[root] = True
                yield root, (access, left)


def _left(parts: TensorParts, whole: IterationAccesses) -> Iterator[tuple[Var, Box]]:
    """Yield for outputs, and new tensors that are returned, elements that nothing writes."""
    returned = [roots[0] for roots in parts.returned() if len(roots) == 1]
    roots = [p for p in parts.params if _has_no_value(parts, p)]
    roots += [root for root in dict.fromkeys(returned) if root in parts.made]
    for root in roots:
        kind = root.type
        shape = static_shape(kind) if isinstance(kind, TensorType) else None
        writes = [box_of(a) for a in whole.found if a.root is root and a.writes]
        if shape is None or root in whole.unknown or not writes or None in writes:
            continue
        boxes: list[Box] = []
        for box in writes:
            if box is not None and len(boxes) <= MOST_BOXES:
                add(boxes, box)
        if len(boxes) > MOST_BOXES:
            continue
        left = uncovered(tuple([(0, size) for size in shape]), boxes)
        if left is not None:
            yield root, left
