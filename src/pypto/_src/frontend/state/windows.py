"""Windows: memory of which each rank has a part and which all ranks can access.

In the IR a window is one tensor [ranks, elements], with a row for each rank. The parameter's name
stands for the row of the kernel's own rank, in the shape of the annotation; a peer's part is
another row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pypto._src.records import NamedTuple

if TYPE_CHECKING:
    from pypto._src.diagnostics import Span
    from pypto._src.ir.exprs import Call, Expr, Var


class Window(NamedTuple):
    """A window parameter: the rows of all ranks, the number of this rank, the shape of a row."""

    whole: Var
    rank: Var
    shape: tuple[int, ...]
    is_remote: bool = False
    """True if other ranks may have their rows on other nodes: transfers say what they access."""


def row_of(window: Window, rank: Expr | int, span: Span) -> tuple[Call, list[int]]:
    """Return the row of a rank as a view, and the shape to give it."""
    from pypto._src.ops import tensor

    sizes = [1, math.prod(window.shape)]
    return tensor.view.build((window.whole, sizes, [rank, 0]), {}, span), [*window.shape]
