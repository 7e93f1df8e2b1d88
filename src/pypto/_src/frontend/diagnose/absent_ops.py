"""Operators of other versions of the language that do not exist here: why, and what to write."""

from __future__ import annotations

from typing import Final, NamedTuple


class Absent(NamedTuple):
    """Why an operator is not here, and what is written in its place."""

    reason: str
    hint: str


_A5: Final = "only the a5 chip has the instruction"
_HANDED_OVER: Final = Absent(
    "the compiler hands values over between cube and vector cores",
    "write both kinds of work into one region: with pl.at(level=pl.Level.CORE_GROUP):",
)
_BY_ROWS: Final = Absent(
    "rows at positions in memory are loaded one by one",
    "load each row in a loop: t[i : i + 1, :] = x[row : row + 1, :], with row = pl.read(idx, [i])",
)

ABSENT: Final = {
    "random": Absent(_A5, "draw numbers where the kernel is called, and pass them as a tensor"),
    **dict.fromkeys(
        ("matmul_mx", "matmul_mx_acc", "matmul_mx_bias"),
        Absent(_A5, "scale the operands, and multiply them with pl.matmul"),
    ),
    **dict.fromkeys(
        (
            *("tpush_to_aiv", "tpush_to_aic", "tpop_from_aic", "tpop_from_aiv"),
            *("tfree_to_aic", "tfree_to_aiv", "aic_initialize_pipe", "aiv_initialize_pipe"),
            *("reserve_buffer", "import_peer_buffer", "sync_set", "sync_wait", "set_ffts"),
        ),
        _HANDED_OVER,
    ),
    **dict.fromkeys(("mgather", "paged_gather"), _BY_ROWS),
    "mscatter": Absent(
        "elements go to positions in memory one by one",
        "write each in a loop: pl.write(out, [row, column], value)",
    ),
    "gatherb": Absent(
        "elements are gathered by their number, not by bytes",
        "write pl.gather(x, dim=-1, index=columns)",
    ),
    "gather_compare": Absent(
        "positions of elements that compare are not collected",
        "compare, and sort by the result: pl.sort32(pl.cmp(x, value), pl.arange(...))",
    ),
    "ci": Absent(
        "the row of numbers that follow each other has another name",
        "write pl.arange(start, [1, columns])",
    ),
    "batch_matmul_acc": Absent(
        "products of stacks are added as values",
        "write pl.add(acc, pl.matmul(x, y))",
    ),
    "cumsum": Absent(
        "running sums are added up in a loop",
        "compute them in a loop over the rows: total = total + x[i : i + 1, :], and store each",
    ),
    "einsum": Absent(
        "products and sums are ops of their own",
        "compute products of matrices with pl.matmul, others with pl.mul and pl.row_sum",
    ),
    "stack": Absent(
        "no op adds a dimension to several tiles",
        "store each at its place in an output that has one dimension more",
    ),
    "topk": Absent(
        "the largest elements are the first ones of sorted rows",
        "sort with pl.sort32(x, pl.arange(...)), and join sorted runs with pl.mrgsort",
    ),
    "expand_clone": Absent(
        "a part of a tensor is repeated as a tile",
        "write pl.row_expand(x, column) or pl.col_expand(x, row)",
    ),
}
"""By name."""
