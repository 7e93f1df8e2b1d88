"""What is known about a region while it is parsed: what stands before it, what it loads."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, cast

from pypto._src.diagnostics import Span
from pypto._src.frontend.state.scope import LoadFirst, Names
from pypto._src.ir.array_types import TensorType, TileType, same_dims, valid_part
from pypto._src.ir.enums import PipeType
from pypto._src.ir.exprs import Call, Expr, Var
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.stmts import Stmt
from pypto._src.ir.types import Type
from pypto._src.records import NamedTuple


class Loaded(NamedTuple):
    """A variable that was assigned a load or product last: where, and if nothing else ever is."""

    call: Call
    block: list[Stmt]
    stmt: Stmt
    is_only: bool
    parts: dict[Any, Var]
    """What of it was loaded for products, by begin and size in each dimension; copies of it."""


class Region:
    """Statements that run on one core, inside a host function, while they are parsed."""

    __slots__ = (
        "before",
        "begin",
        "block_count",
        "block_index",
        "call",
        "divided",
        "ended",
        "gathered",
        "lanes",
        "level",
        "loads",
        "made",
        "may_carry",
        "name",
        "names",
        "operand",
        "part",
        "products",
        "results",
        "settle",
        "settled",
        "shadowed",
        "span",
        "stored",
        "was_parsed_twice",
        "with_part",
        "writes_elements",
    )

    def __init__(
        self,
        call: Callable[..., Any],
        on_tiles: Sequence[Callable[..., Any]],
        names: Names,
        name: str,
        block_index: Var | None,
        span: Span,
        *,
        may_carry: bool,
    ) -> None:
        self.call = call  # what makes the calls of ops in it
        # What makes loads, parts of tiles, tiles with another part, values that are none, and what
        # is stored: a tile, or the tensor that it was stored to. Then what is assigned to a name of
        # an outer block, and what such names are before it.
        self.operand, self.part, self.with_part, self.begin, self.stored, *named = on_tiles
        self.settled, self.settle = named
        self.names = names
        self.level = names.level  # of the names around it
        self.name = name
        self.block_index = block_index  # which block of a launch runs it
        self.block_count: Expr | None = None  # how many blocks the launch has
        self.span = span
        self.may_carry = may_carry  # True if its one statement may be the region proper
        self.shadowed: dict[str, Var] = {}  # tensors outside whose names are of tiles inside
        self.results: dict[str, Var] = {}  # the tensors that tiles read later are stored in
        self.before: list[Stmt] = []  # what has to stand before the region: tensors that it needs
        self.writes_elements = False  # of tensors, one by one
        self.was_parsed_twice = False  # a statement of it: what it needed then may be unused
        self.products: set[Var] = set()  # in vector memory: a store of one rounds, as of any
        self.gathered: Any = None  # the last product made in blocks, in a tensor
        self.loads: dict[Var, Loaded] = {}  # variables that are a part of a tensor
        self.made: dict[Var, Loaded] = {}  # variables that are a product
        self.ended: dict[int, list[Stmt]] = {}  # the blocks that are parsed, by identity
        self.divided: Span | None = None  # where its options have a pl.split
        self.lanes: tuple[Any, ast.expr] | None = None
        """In a loop over the vector cores: which part of a value each has; the loop's variable."""

    def shadow(self, name: str, level: int, outside: Var) -> bool:
        """Let a tile have the name of a tensor outside; False if the name is the region's own."""
        if level <= self.level:
            self.shadowed[name] = outside
        return level <= self.level

    def refuse_late(self, names: Names, name: str, kind: Type) -> None:
        """Raise `LoadFirst` where a loop or branch gives the name of a tensor to a tile like it."""
        old = names.values.get(name)
        if not isinstance(old, Var) or not isinstance(kind, TileType):
            return
        was = old.type
        if not isinstance(was, TensorType) or was.dtype is not kind.dtype:
            return
        level = max(names.levels[name], self.level + 1 if names is self.names else 0)
        if level < names.level and valid_part(kind) is None and same_dims(was.shape, kind.shape):
            raise LoadFirst(names, name, level)

    def end_block(self, block: list[Stmt]) -> None:
        """Note that a block inside is parsed: what it loads is not there for what comes after."""
        self.ended[id(block)] = block

    def load_of(self, var: Var, block: list[Stmt]) -> Loaded | None:
        """Return the load that ``var`` is in a block; None if it may be another value there."""
        found = self.loads.get(var)
        if found is None or found.block is block:
            return found
        return found if found.is_only and id(found.block) not in self.ended else None

    def product_around(self, var: Var, block: list[Stmt]) -> Loaded | None:
        """Return where ``var``, a product, is made around a block; None if it may be another."""
        found = self.made.get(var)
        if found is None or found.block is block or not found.is_only:
            return None
        return None if id(found.block) in self.ended else found

    def forget_copies(self, block: list[Stmt]) -> None:
        """Forget what was inserted behind loads and products of a block: part of it goes."""
        for found in (*self.loads.values(), *self.made.values()):
            if found.block is block:
                found.parts.clear()

    def note_load(
        self, var: Var, value: Expr, stmt: Stmt, block: list[Stmt], *, is_only: bool
    ) -> None:
        """Note whether ``var`` is what a load has read; ``is_only`` if it is so wherever it is."""
        if value in self.products:
            self.products.add(var)
        op = value.op if isinstance(value, Call) else None
        pipe = op.pipe_of(cast("Call", value)) if isinstance(op, OpDef) else None
        self.loads.pop(var, None)
        self.made.pop(var, None)
        if pipe is PipeType.MTE2 or pipe is PipeType.M:
            known = self.loads if pipe is PipeType.MTE2 else self.made
            known[var] = Loaded(cast("Call", value), block, stmt, is_only, {})
