"""What the definition of an op sees of the pass or emitter that handles one call of it.

A decomposition gets a `Let`, an op with emitted text of its own a `CppSite` or a `PtoSite`. Passes
and emitters implement these protocols.
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
        """Assign a value to a new variable before the statement; return the variable."""
        ...

    def made(self, value: Expr) -> Call | None:
        """Return the call that was assigned to a variable in the program, None for other values."""
        ...

    def space(self, tile: Expr) -> MemorySpace | None:
        """Return the memory space of a tile, None if it is unknown."""
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
        """Point a GlobalTensor at a region of a tensor and return its name."""
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
        """Emit the computation of a scalar expression and return its SSA name."""
        ...

    def index(self, value: Expr) -> str:
        """Return the SSA name of a scalar expression as an ``index`` value."""
        ...

    def long(self, value: Expr) -> str:
        """Return the SSA name of a scalar expression as an ``i64`` value, with all bits kept."""
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
        """Make the call's result an alias of the value ``name``, without code."""
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
        """Make the result the part of the first operand that begins at a row and column."""
        ...
