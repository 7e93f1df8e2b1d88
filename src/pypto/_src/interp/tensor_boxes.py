"""Which part of a tensor a call of an op reads or writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from pypto._src.ir.op_params import INTS
from pypto._src.ir.opdef import OpDef


class TensorBoxes:
    """Finds the part of a tensor operand that a call touches, from the values of its operands."""

    def __init__(self, op: OpDef[..., Any]) -> None:
        names = {p.name: i for i, p in enumerate(op.operands) if p.kind == INTS}
        self._indices = names.get("indices")
        self._offsets, self._shapes = names.get("offsets"), names.get("shapes")

    def of(self, args: Sequence[Any], index: int, anywhere: Collection[int] = ()) -> Any:
        """Return the part as a view, with all of each dimension in ``anywhere``."""
        tensor = args[index]
        if self._indices is not None:
            box: Iterable[slice] = (slice(i, i + 1) for i in args[self._indices])
        elif self._offsets is not None and self._shapes is not None:
            pairs = zip(args[self._offsets], args[self._shapes], strict=True)
            box = (
                slice(None) if dim in anywhere else slice(begin, begin + size)
                for dim, (begin, size) in enumerate(pairs)
            )
        else:
            return tensor
        return tensor[tuple(box)]
