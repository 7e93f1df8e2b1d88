"""The formulas that turn a table's figures and an instruction's sizes into a time.

Each formula names its figures with values to start a fit from, which also stand for figures that a
table leaves out. Formulas know hardware, but no instruction: which one an instruction follows is in
the table.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Final

from pypto._src.cost.cases import Case, bits_of, ceil_div
from pypto._src.records import NamedTuple


class Timing(NamedTuple):
    """How long an instruction takes, in cycles.

    Back to back on a pipe, each instruction costs ``busy``. The first one after a pause also takes
    ``head``, and results are available ``tail`` after the pipe is free.
    """

    head: float
    busy: float
    tail: float

    @property
    def alone(self) -> float:
        """The time from issue to the last result on an idle core."""
        return self.head + self.busy + self.tail


Figures = Callable[[str], float]
"""Returns the figure with a given name for the element types of a case."""


class Formula(NamedTuple):
    """How to compute a time, and which figures it needs."""

    timing: Callable[[Figures, Case], Timing]
    start: dict[str, float]


VECTOR_TAIL: Final = 18.0
"""Cycles from the last repeat of a vector instruction to its results."""


def _vector(fixed: float, busy: float) -> Timing:
    """Split a vector instruction's fixed cost into head and tail; the tail is known."""
    tail = min(VECTOR_TAIL, fixed)
    return Timing(fixed - tail, busy, tail)


# ----- vector pipe of the 910B ------------------------------------------------------------------


def _elementwise(figures: Figures, case: Case) -> Timing:
    walks, masks = figures("walks_rows") > 0, figures("masks_rows") > 0
    repeats, is_masked = elementwise_repeats(case, walks_rows=walks, masks_rows=masks)
    extra = figures("mask") if is_masked else 0.0
    return _vector(figures("fixed"), figures("per_repeat") * repeats + extra)


def elementwise_repeats(
    case: Case, *, walks_rows: bool = False, masks_rows: bool = False
) -> tuple[int, bool]:
    """Return how many repeats the tile library issues, and whether it has to set a mask.

    Whole repeats go through a contiguous tile as one long row. Narrow rows that do not fill whole
    repeats take one each. Any other size is counted by element, which also sets a mask.

    ``walks_rows`` is true for instructions that always take narrow rows one by one,
    ``masks_rows`` for those that set the mask for them.
    """
    rows, cols, width = case.valid_rows, case.valid_cols, case.repeat_elements
    total = rows * cols
    if cols % width == 0:
        return total // width, not case.is_contiguous and cols // width >= rows > 1
    if cols > width:
        return ceil_div(total, width), True
    if case.is_contiguous and total % width == 0:
        return (rows, True) if walks_rows else (total // width, masks_rows)
    return rows, not case.is_contiguous


def _counted(figures: Figures, case: Case) -> Timing:
    total = case.valid_rows * case.valid_cols
    is_masked = bool(case.valid_cols % case.repeat_elements)
    if case.valid_cols < case.repeat_elements and total % case.repeat_elements == 0:
        is_masked = False
    busy = figures("per_repeat") * ceil_div(total, case.repeat_elements)
    return _vector(figures("fixed"), busy + (figures("mask") if is_masked else 0.0))


def _scalar_loop(figures: Figures, case: Case) -> Timing:
    elements = case.valid_rows * case.valid_cols
    return Timing(figures("fixed"), figures("per_element") * elements, 0.0)


def _row_reduction(figures: Figures, case: Case) -> Timing:
    count = case.row_repeats
    is_whole = case.valid_cols == count * case.repeat_elements
    if count <= 1:
        per_row = figures("one")
        fixed = figures("fixed") + (0.0 if is_whole else figures("mask"))
    else:
        # Blocks of a row are combined one by one, and the last repeat reduces what is left. Each
        # step waits for the one before it.
        per_row = figures("per_row") + figures("per_block") * count
        fixed = figures("fixed") + figures("step") * (count - 1)
        if not is_whole:
            per_row += figures("ragged_row")
            fixed += figures("mask")
    return _vector(fixed, per_row * case.valid_rows)


def _column_reduction(figures: Figures, case: Case) -> Timing:
    count = case.row_repeats
    busy = figures("copy_block") * count
    parts = 1.0
    if count > 1 and case.valid_cols % case.repeat_elements:
        parts += figures("ragged")  # a masked instruction of its own for the end of each row
    busy += max(case.valid_rows - 1, 0) * (parts * figures("wait") + figures("per_block") * count)
    return _vector(figures("fixed"), busy)


def _column_tree(figures: Figures, case: Case) -> Timing:
    rows, busy = case.valid_rows, figures("copy_block") * case.row_repeats
    while rows > 1:
        pairs = rows // 2
        busy += figures("wait") + figures("per_block") * pairs * case.row_repeats
        rows -= pairs
    return _vector(figures("fixed"), busy)


def _per_row(figures: Figures, case: Case) -> Timing:
    per_row = figures("per_row") + figures("per_block") * case.row_repeats
    return _vector(figures("fixed"), per_row * case.valid_rows)


def _merge(figures: Figures, case: Case) -> Timing:
    merges = max(case.valid_rows * case.valid_cols / figures("elements"), 1.0)
    return _vector(figures("fixed"), figures("per_merge") * merges)


# ----- transfers and the cube ---------------------------------------------------------------------


def _transfer(figures: Figures, case: Case) -> Timing:
    dmas = max(case.number("dmas", 1), 1)
    busy = max(case.bytes / figures("bytes_per_cycle"), dmas * figures("issue"))
    return Timing(figures("latency"), busy, 0.0)


def _local_move(figures: Figures, case: Case) -> Timing:
    return Timing(figures("fixed"), case.bytes / figures("bytes_per_cycle"), 0.0)


def _drain(figures: Figures, case: Case) -> Timing:
    row_bytes = case.valid_cols * bits_of(case.dst_dtype) / 8
    per_row = max(figures("least_row"), row_bytes / figures("bytes_per_cycle"))
    if bits_of(case.dst_dtype) >= 32:
        blocks = ceil_div(case.valid_cols, 8)
        odd = blocks // (blocks & -blocks) if blocks else 1
        per_row += figures("odd_row") * (odd - 1)
    return Timing(0.0, figures("fixed") + case.valid_rows * per_row, 0.0)


def _matrix_product(figures: Figures, case: Case) -> Timing:
    m, n = case.number("m", case.valid_rows), case.number("n", case.valid_cols)
    k = case.number("k", 16)
    depth = 32 * 8 // max(bits_of(case.src_dtype), 1)
    cubes = ceil_div(m, 16) * ceil_div(n, 16) * ceil_div(k, depth)
    stream = figures("stream")
    return Timing(0.0, stream + cubes * figures("per_cube"), max(figures("fixed") - stream, 0.0))


# ----- vector functions of the 950 ----------------------------------------------------------------


def _vector_function(figures: Figures, case: Case) -> Timing:
    """Register loops: a start, then the slowest of loads and stores, issue, and row ends."""
    blocks = case.row_repeats
    total = blocks * case.valid_rows
    if case.is_contiguous:
        return Timing(figures("start"), figures("per_block") * total, 0.0)
    if case.valid_cols <= max(figures("short"), case.repeat_elements):
        return Timing(figures("row_start"), figures("short_row") * case.valid_rows, 0.0)
    bulk = figures("bulk_start") + figures("bulk_block") * total
    by_rows = figures("row_start") + (figures("per_row") + blocks) * case.valid_rows
    return Timing(0.0, max(bulk, by_rows), 0.0)


def _narrowing_function(figures: Figures, case: Case) -> Timing:
    """Narrowing to 8 bits or fewer: steps of 64 elements; rows with a tail go one by one."""
    elements = case.valid_rows * case.valid_cols
    if case.is_contiguous:
        steps = ceil(elements / case.repeat_elements)
        return Timing(figures("start"), figures("per_block") * steps, 0.0)
    if case.valid_cols <= figures("short"):
        return Timing(figures("row_start"), figures("short_row") * case.valid_rows, 0.0)
    steps = ceil_div(case.valid_cols, 64) + 1
    return Timing(figures("row_start"), figures("row_step") * steps * case.valid_rows, 0.0)


def _sort(figures: Figures, case: Case) -> Timing:
    groups = ceil_div(case.valid_cols, 32)
    per_row = figures("per_row") + figures("per_group") * (groups - 1)
    return _vector(figures("fixed"), per_row * case.valid_rows)


FORMULAS: Final[dict[str, Formula]] = {
    "elementwise": Formula(
        _elementwise,
        {"fixed": 25, "per_repeat": 2, "mask": 16, "walks_rows": 0, "masks_rows": 0},
    ),
    "counted": Formula(_counted, {"fixed": 45, "per_repeat": 5, "mask": 16}),
    "scalar_loop": Formula(_scalar_loop, {"fixed": 0, "per_element": 26}),
    "row_reduction": Formula(
        _row_reduction,
        {
            "fixed": 35,
            "mask": 15,
            "one": 7,
            "per_row": 6,
            "per_block": 1.25,
            "step": 20,
            "ragged_row": 0.5,
        },
    ),
    "column_reduction": Formula(
        _column_reduction,
        {"fixed": 20, "copy_block": 1, "wait": 15, "per_block": 2, "ragged": 0},
    ),
    "column_tree": Formula(
        _column_tree, {"fixed": 20, "copy_block": 1, "wait": 18, "per_block": 2}
    ),
    "per_row": Formula(_per_row, {"fixed": 37, "per_row": 13, "per_block": 1}),
    "merge": Formula(_merge, {"fixed": 20, "per_merge": 78, "elements": 256}),
    "sort": Formula(_sort, {"fixed": 20, "per_row": 12.5, "per_group": 4}),
    "transfer": Formula(_transfer, {"latency": 400, "bytes_per_cycle": 22, "issue": 20.6}),
    "local_move": Formula(_local_move, {"fixed": 23, "bytes_per_cycle": 128}),
    "drain": Formula(
        _drain, {"fixed": 164, "least_row": 4.45, "bytes_per_cycle": 118, "odd_row": 2.6}
    ),
    "matrix_product": Formula(_matrix_product, {"fixed": 43, "stream": 13, "per_cube": 1}),
    "vector_function": Formula(
        _vector_function,
        {
            "start": 56,
            "per_block": 1.5,
            "row_start": 54,
            "per_row": 5,
            "short": 0,
            "short_row": 3,
            "bulk_start": 54,
            "bulk_block": 1.7,
        },
    ),
    "narrowing_function": Formula(
        _narrowing_function,
        {
            "start": 59,
            "per_block": 12,
            "row_start": 60,
            "short": 128,
            "short_row": 12,
            "row_step": 39.5,
        },
    ),
}
