"""What is known about a region while it is parsed: what goes before it, what it loads."""

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
    """The last load or product assigned to a variable: where, and whether it is the only one."""

    call: Call
    block: list[Stmt]
    stmt: Stmt
    is_only: bool
    parts: dict[Any, Var]
    """Parts loaded for products, by begin and size in each dimension; copies of it."""


class Region:
    """Statements that run on one core, inside a host function, while being parsed."""

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
        self.call = call  # builds the calls of ops in it
        # Functions for loads, parts of tiles, tiles with a part replaced, initial values, and what
        # to store: a tile, or the tensor that it was stored to. Then for values assigned to names
        # of an outer block, and for such names before it.
        self.operand, self.part, self.with_part, self.begin, self.stored, *named = on_tiles
        self.settled, self.settle = named
        self.names = names
        self.level = names.level  # of the enclosing names
        self.name = name
        self.block_index = block_index  # which block of a launch runs it
        self.block_count: Expr | None = None  # how many blocks the launch has
        self.span = span
        self.may_carry = may_carry  # True if its single statement may be the actual region
        self.shadowed: dict[str, Var] = {}  # outside tensors whose names stand for tiles inside
        self.results: dict[str, Var] = {}  # the tensors in which tiles read later are stored
        self.before: list[Stmt] = []  # statements to put before the region: tensors that it needs
        self.writes_elements = False  # True if it writes single elements of tensors
        self.was_parsed_twice = False  # for a statement: what it needed then may be unused
        self.products: set[Var] = set()  # in vector memory: a store of one rounds, like any
        self.gathered: Any = None  # the last product made in blocks, in a tensor
        self.loads: dict[Var, Loaded] = {}  # variables that hold a part of a tensor
        self.made: dict[Var, Loaded] = {}  # variables that hold a product
        self.ended: dict[int, list[Stmt]] = {}  # the blocks already parsed, by identity
        self.divided: Span | None = None  # the span of pl.split in its options
        self.lanes: tuple[Any, ast.expr] | None = None
        """In a loop over the vector cores: which part of a value each has; the loop variable."""

    def shadow(self, name: str, level: int, outside: Var) -> bool:
        """Give a tile the name of an outside tensor; False if the name is the region's own."""
        if level <= self.level:
            self.shadowed[name] = outside
        return level <= self.level

    def refuse_late(self, names: Names, name: str, kind: Type) -> None:
        """Raise `LoadFirst` if a loop or branch gives a tensor's name to a tile like it."""
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
        """Note that an inner block is parsed: its loads are not available to what follows."""
        self.ended[id(block)] = block

    def load_of(self, var: Var, block: list[Stmt]) -> Loaded | None:
        """Return the load that ``var`` holds in a block; None if it may hold another value."""
        found = self.loads.get(var)
        if found is None or found.block is block:
            return found
        return found if found.is_only and id(found.block) not in self.ended else None

    def product_around(self, var: Var, block: list[Stmt]) -> Loaded | None:
        """Return where ``var``, a product, is made around a block; None if it may change."""
        found = self.made.get(var)
        if found is None or found.block is block or not found.is_only:
            return None
        return None if id(found.block) in self.ended else found

    def forget_copies(self, block: list[Stmt]) -> None:
        """Forget what was inserted after loads and products of a block, as part of it goes."""
        for found in (*self.loads.values(), *self.made.values()):
            if found.block is block:
                found.parts.clear()

    def note_load(
        self, var: Var, value: Expr, stmt: Stmt, block: list[Stmt], *, is_only: bool
    ) -> None:
        """Note whether ``var`` holds a load; ``is_only`` if it holds nothing else anywhere."""
        if value in self.products:
            self.products.add(var)
        op = value.op if isinstance(value, Call) else None
        pipe = op.pipe_of(cast("Call", value)) if isinstance(op, OpDef) else None
        self.loads.pop(var, None)
        self.made.pop(var, None)
        if pipe is PipeType.MTE2 or pipe is PipeType.M:
            known = self.loads if pipe is PipeType.MTE2 else self.made
            known[var] = Loaded(cast("Call", value), block, stmt, is_only, {})
