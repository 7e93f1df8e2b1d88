"""The page of operators: which rows cover each of them, at which levels, for which elements.

``python -m tests.language.page`` prints the table.
"""

from __future__ import annotations

from typing import Final

from tests.language.levels import levels_of
from tests.language.rows import REGION, ROWS, TENSOR, TILE, Row

_LEVELS: Final = {REGION: "regions", TENSOR: "tensors", TILE: "tiles"}
TITLE: Final = """# Operators and their tests

Which operators are tested where: in regions of `pl.jit` functions, in functions on whole tensors,
and in kernels on tiles. Each spelling is run by the interpreter, by its kernels as compiled C++,
and by the evaluator of its PTO text, and compared with a formula on NumPy arrays:
`pytest tests/language/test_levels.py -k NAME`. `pytest --update-golden` writes this page from the
rows in `tests/language/rows.py`. `pl.create_l1`, `pl.gather_row` and `pl.tile.transpose_view` are
tested in `tests/language/test_local_matrices.py`.

| Operator | Spellings | Where | Elements |
|---|---|---|---|
"""
OTHERS: Final = {
    "array.create": "tests/frontend/test_asides.py::test_numbers_that_choose_rows",
    "aiv_shard": "tests/frontend/test_region_parts.py::test_halves_of_a_value",
    "const": "tests/language/test_mixed_regions.py::test_mixed_regions",
    "create_l1": "tests/language/test_local_matrices.py::test_rows_gathered_for_a_product",
    "create_tensor": "tests/frontend/test_regions.py::test_value_that_leaves_a_region",
    "create_tile": "tests/language/test_levels.py",
    "gather_row": "tests/language/test_local_matrices.py::test_rows_gathered_for_a_product",
    "get_block_idx": "tests/frontend/test_regions.py::test_blocks",
    "load": "tests/run/test_jit_functions.py::test_kernels_of_one_core",
    "max": "tests/run/test_scalars.py",
    "min": "tests/run/test_scalars.py",
    "move": "tests/emit/test_golden.py",
    "no_dep": "tests/run/test_jit_functions.py::test_what_changes_no_value",
    "pld.alloc_window_buffer": "tests/run/test_ranks.py::test_a_ring",
    "pld.system.notify": "tests/run/test_ranks.py::test_a_ring",
    "pld.system.wait": "tests/run/test_ranks.py::test_a_ring",
    "pld.tensor.put": "tests/run/test_ranks.py::test_parts_and_sums_at_peers",
    "pld.tensor.remote_store": "tests/run/test_ranks.py::test_parts_and_sums_at_peers",
    "pld.tile.remote_load": "tests/run/test_ranks.py::test_a_sum_over_all_ranks",
    "pld.tile.remote_store": "tests/run/test_ranks.py::test_parts_and_sums_at_peers",
    "pld.window": "tests/run/test_ranks.py::test_a_ring",
    "pld.world_size": "tests/run/test_ranks.py::test_a_ring",
    "prefetch.async_prefetch": "tests/run/test_jit_functions.py::test_what_changes_no_value",
    "prefetch.make_context": "tests/run/test_jit_functions.py::test_what_changes_no_value",
    "store": "tests/run/test_jit_functions.py::test_kernels_of_one_core",
    "system.syncall": "tests/frontend/test_regions.py::test_barriers",
    "system.task_dummy": "tests/frontend/test_regions.py::test_spliced_functions",
    "tensor.dim": "tests/run/test_jit_sizes.py::test_one_program_for_many_sizes",
    "tile.transpose_view": "tests/language/test_local_matrices.py::test_a_transposed_operand",
}
"""Operators that are not functions of arrays, with a test that runs each."""
OTHERS_TITLE: Final = """
## Operators without rows

They make tensors, move them, name tasks and ranks, or are numbers of a launch: no function of
arrays. Each is run by the interpreter and as compiled C++ in the test next to it.

| Operator | Test |
|---|---|
"""


def rows_by_operator() -> dict[str, list[Row]]:
    """Return the rows that cover each operator: those whose result it computes."""
    found: dict[str, list[Row]] = {}
    for row in ROWS:
        for name in row.operators:
            found.setdefault(name, []).append(row)
    return dict(sorted(found.items()))


def page() -> str:
    """Return the text of the page."""
    lines: list[str] = []
    for name, rows in rows_by_operator().items():
        levels = [
            word for level, word in _LEVELS.items() if any(level in levels_of(r) for r in rows)
        ]
        kinds = dict.fromkeys(dtype.member for row in rows for dtype in row.dtypes)
        lines.append(f"| `{name}` | {len(rows)} | {', '.join(levels)} | {', '.join(kinds)} |\n")
    others = [f"| `{name}` | `{test}` |\n" for name, test in OTHERS.items()]
    return "".join([TITLE, *lines, OTHERS_TITLE, *others])


if __name__ == "__main__":
    print(page(), end="")
