"""Parts of tensors: which columns a transfer moves, and which parts have another shape.

A column in vector memory is contiguous, and a transfer writes each of its bursts to a separate
block there. So the elements of a column must be contiguous in global memory, too: the device
ignores any other stride, while our headers and the CPU model of the tile library do not. Knows
sizes and strides; a text stands for one known only at run time.
"""

from __future__ import annotations

from collections.abc import Sequence

from pypto._src.diagnostics import Span
from pypto._src.errors import EmitError


def check_column(shape: Sequence[int | str], strides: Sequence[int | str]) -> None:
    """Check that one transfer can move a part of ``shape`` of a tensor to or from a column.

    Raises:
        EmitError: its rows are not contiguous.
    """
    rows = [s for d, s in zip(shape[:-1], strides[:-1], strict=False) if d != 1]
    if rows and rows[-1] != 1:
        sizes = ", ".join(str(size) if isinstance(size, int) else "?" for size in shape)
        apart = rows[-1] if isinstance(rows[-1], int) else "several"
        raise EmitError(
            f"a column [{sizes}] of a tensor whose rows are {apart} elements apart cannot be "
            "moved: the elements of a column are contiguous in memory",
            hint="keep the vector in a tensor [N, 1] of its own",
            slug="emit-shape",
        )


def check_dense(shape: Sequence[int | str], strides: Sequence[int | str], span: Span) -> None:
    """Check that a part of ``shape`` is contiguous, as viewing it in another shape requires.

    Sizes known only at run time are checked by the interpreter.

    Raises:
        EmitError: there are gaps.
    """
    step: int | str = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 1:
            continue
        if isinstance(stride, int) and isinstance(step, int) and stride != step:
            raise EmitError(
                "a part of a tensor gets another shape, though its elements are not contiguous "
                "in memory",
                span,
                hint="reshape the whole tensor, and take the part of that",
                slug="emit-tensor",
            )
        step = size * step if isinstance(size, int) and isinstance(step, int) else ""
