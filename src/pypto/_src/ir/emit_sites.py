"""What the definition of an op sees of a pass or an emitter, around one call of it.

An op that stands for others gets a `Let`, one with a text of its own a `CppSite` or a `PtoSite`.
Passes and emitters have what they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pypto._src.ir.array_types import TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, Expr, Var


class Let(Protocol):
    """What a decomposition sees of the program around the statement that is being replaced."""

    def __call__(self, name: str, value: Expr) -> Var:
        """Give a value a name, in front of the statement."""
        ...

    def made(self, value: Expr) -> Call | None:
        """Return the call that a variable was assigned in the program, None if it is no such."""
        ...

    def space(self, tile: Expr) -> MemorySpace | None:
        """Return the memory that a tile is in, None where nothing tells."""
        ...


class CppSite(Protocol):
    """What an op with its own C++ form sees of the emitter, for one call."""

    call: Call
    # C++ name of the result tile; ``float v``, the declaration, for a scalar; "" without result.
    dst: str
    args: tuple[str, ...]  # C++ text of the operands; "" for tuples

    def emit(self, line: str) -> None:
        """Write one line of code."""
        ...

    def expr(self, value: Expr) -> str:
        """Return the C++ text of a scalar expression."""
        ...

    def global_view(
        self, tensor: Expr, offsets: Sequence[Expr], shape: Sequence[Expr], layout: str = "ND"
    ) -> str:
        """Return the GlobalTensor name for a region of a tensor, after pointing it there."""
        ...

    def element(self, tensor: Expr, indices: Sequence[Expr]) -> str:
        """Return the C++ text of one element of a tensor."""
        ...

    def reinterpret(self, tile: Expr | None, kind: TileType, suffix: str) -> str:
        """Declare a tile of ``kind`` over the bytes of ``tile`` (TRESHAPE); return its name.

        None stands for the result.
        """
        ...


class PtoSite(Protocol):
    """What an op with its own PTO form sees of the emitter, for one call."""

    call: Call
    codegen: Any  # the `PTOCodegen` that writes, with the helpers of document 001
    dst: str  # SSA name of the result buffer, "" if the call has none
    dst_type: str  # its tile_buf type
    args: tuple[str, ...]  # SSA names of the operands; "" for tuples
    arg_types: tuple[str, ...]

    def emit(self, line: str) -> None:
        """Write one line of code."""
        ...

    def expr(self, value: Expr) -> str:
        """Return the SSA name of a scalar expression, emitting what computes it."""
        ...

    def index(self, value: Expr) -> str:
        """Return the SSA name of a scalar expression as an ``index`` value."""
        ...

    def long(self, value: Expr) -> str:
        """Return the SSA name of a scalar expression as an ``i64`` value, with all its bits."""
        ...

    def partition_view(
        self, tensor: Expr, offsets: Sequence[Expr], shape: Sequence[Expr]
    ) -> tuple[str, str]:
        """Emit a partition view of a tensor; return its name and type."""
        ...

    def element(self, tensor: Expr, indices: Sequence[Expr]) -> tuple[str, str, str]:
        """Return pointer, linear index and pointee type of one element of a tensor."""
        ...

    def alias(self, name: str) -> None:
        """Let the call's result be the value ``name``, without code."""
        ...

    def reinterpret(self, tile: Expr | None, kind: TileType) -> tuple[str, str]:
        """Emit a treshape of ``tile`` to ``kind``; return name and type of the alias.

        None stands for the result.
        """
        ...

    def branch(self, condition: str, line: str, other: str) -> None:
        """Write a branch on an i1 with one line for each case."""
        ...

    def part(self, row: Expr, column: Expr) -> None:
        """Let the result be the part of the first operand that begins at a row and column."""
        ...
