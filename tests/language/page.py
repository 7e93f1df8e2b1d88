"""The page of operators: which rows show each of them, at which levels, for which elements.

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


def rows_by_operator() -> dict[str, list[Row]]:
    """Return the rows that show each operator: those whose result it gives."""
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
    return TITLE + "".join(lines)


if __name__ == "__main__":
    print(page(), end="")
