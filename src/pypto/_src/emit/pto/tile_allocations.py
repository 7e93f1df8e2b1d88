"""The allocation that each tile variable of a kernel uses, found before anything is written.

A buffer is a memory reference viewed as one tile type. Where a memory reference is used with
several types, the second is, at level 3, another allocation at the same address; at level 2,
where the assembler plans memory itself, a separate allocation, unless a loop or branch passes
the bytes on under both types: then it is a reshape of the first. At level 2 the row view of a
column is a reshape of that column, which alone has a valid part that varies (`padded_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from pypto._src.emit.pto.padded_rows import whole_rows
from pypto._src.emit.pto.types import tile_buf_type, valid_dims
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import MemRef, TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, Expr, Var, const_value
from pypto._src.ir.opdef import aliased
from pypto._src.ir.stmts import AssignStmt, ForStmt, Function, IfStmt, Stmt, WhileStmt, yielded
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ops.layout import is_whole
from pypto._src.records import NamedTuple

Key: TypeAlias = "tuple[int, str, tuple[int, ...]]"
"""Identity of the memory reference, type text, identities of valid dimensions that vary."""


class Texts(NamedTuple):
    """How a tile type is spelled in one memory."""

    name: str
    valid: tuple[Expr | None, Expr | None] | None
    """Its valid rows and columns where they are known only at run time."""


class Buffer(NamedTuple):
    """One memory reference viewed as one tile type."""

    memref: MemRef
    kind: TileType
    type_text: str
    alias_of: Key | None  # the buffer that it is a reshape of; None for an allocation

    @property
    def space(self) -> MemorySpace:
        """The memory that the tile lives in."""
        return self.memref.memory_space_

    @property
    def address(self) -> int:
        """The byte address in its memory; see `address_of`."""
        return address_of(self.memref)


class _Handover(NamedTuple):
    """A loop or branch makes variable ``target`` an alias of the bytes of ``source``."""

    source: Expr
    target: Var
    stmt: Stmt


class Buffers:
    """The buffers of a kernel in order of first definition."""

    def __init__(self, function: Function, *, has_addresses: bool) -> None:
        self._has_addresses = has_addresses
        self._found: dict[Key, Buffer] = {}
        self._storage: dict[Expr, Key | None] = {}  # the underlying buffer; None for part of a tile
        self._handovers: list[_Handover] = []
        self._keys: dict[Expr, Key] = {}  # of variables with their own buffer
        # By what distinguishes types; the function (or the next dictionary) keeps these alive.
        self._texts: dict[tuple[object, ...], Texts] = {}
        self._rows = {} if has_addresses else whole_rows(function)
        self._columns: list[tuple[Key, Key]] = []  # columns with their row views
        for stmt in stmts_in(function.body):
            self._visit(stmt)
        links = [self._link(each) for each in self._handovers]
        found = _in_front(self._found, self._columns)
        self.by_key = found if has_addresses else _joined(found, [*links, *self._columns])

    def of(self, var: Expr) -> Key:
        """Return the key of the buffer that a variable is written to."""
        return self._keys.get(var) or self._key(var)

    def texts_of(self, var: Var) -> Texts:
        """Return how the type of a tile variable is spelled."""
        kind = self._rows.get(var, var.type)
        assert isinstance(kind, TileType)
        return self.texts(kind, memref_of(var).memory_space_)

    def texts(self, kind: TileType, space: MemorySpace) -> Texts:
        """Return how the type of one of the function's variables is spelled."""
        key = id(kind.shape), kind.dtype, id(kind.tile_view), space
        known = self._texts.get(key)
        if known is None:
            valid = valid_dims(kind, space)
            varies = valid[0] is not None or valid[1] is not None
            known = Texts(tile_buf_type(kind, space), valid if varies else None)
            self._texts[key] = known
        return known

    def reread(self, var: Var, value: Expr) -> bool:
        """True for a view of another tile whose valid part is known only at run time.

        The assembler can set a valid part only on allocations; a reshape has that of its type.
        """
        if not isinstance(value, Call) or aliased(value) is None:
            return False
        return self.texts_of(var).valid is not None

    def defines(self, var: Var) -> bool:
        """True if a variable that views another tile has its own allocation nevertheless."""
        return self._keys.get(var) is not None

    def _key(self, value: Expr) -> Key:
        memref, kind = memref_of(value), value.type
        assert isinstance(kind, TileType)
        texts = self.texts(kind, memref.memory_space_)
        if value in self._rows:  # the dimensions that vary distinguish it from other rows
            assert isinstance(value, Var)
            texts = texts._replace(name=self.texts_of(value).name)
        varying = tuple(
            id(dim) if const_value(dim) is None else const_value(dim) or 0
            for dim in texts.valid or ()
            if dim is not None
        )
        return id(memref), texts.name, varying

    def __getitem__(self, key: Key) -> Buffer:
        return self.by_key[key]

    def __iter__(self) -> Iterator[tuple[Key, Buffer]]:
        return iter(self.by_key.items())

    def _visit(self, stmt: Stmt) -> None:
        match stmt:
            case AssignStmt():
                if isinstance(stmt.var.type, TileType):
                    self._assign(stmt.var, stmt.value)
            case ForStmt() | WhileStmt():
                for iter_arg, result in zip(stmt.iter_args, stmt.return_vars, strict=True):
                    self._hand_over(iter_arg.initValue, iter_arg, stmt)
                    self._hand_over(iter_arg, result, stmt)
                for iter_arg, value in zip(stmt.iter_args, yielded(stmt.body), strict=False):
                    self._hand_over(value, iter_arg, stmt)
            case IfStmt():
                for body in (stmt.then_body, stmt.else_body):
                    for result, value in zip(stmt.return_vars, yielded(body), strict=False):
                        self._hand_over(value, result, stmt)
            case _:
                pass

    def _assign(self, var: Var, value: Expr) -> None:
        source = aliased(value)
        if source is None or (self._has_addresses and self.reread(var, value)):
            self._define(var)
        elif source in self._rows and self.reread(var, value):
            row = self._storage.get(source)
            self._define(var)
            column = self._keys[var]
            if row is not None and row != column and row[0] == column[0]:
                self._columns.append((column, row))
        elif is_whole(source, var):
            self._storage[var] = self._storage.get(source)
        else:
            self._storage[var] = None

    def _define(self, var: Var) -> None:
        key = self._key(var)
        self._storage[var] = self._keys[var] = key
        if key not in self._found:
            kind = self._rows.get(var, var.type)
            assert isinstance(kind, TileType)
            assert kind.memref is not None
            self._found[key] = Buffer(kind.memref, kind, key[1], None)

    def _hand_over(self, source: Expr, target: Var, stmt: Stmt) -> None:
        if not isinstance(target.type, TileType):
            return
        if target not in self._storage:
            self._define(target)
        self._handovers.append(_Handover(source, target, stmt))

    def _link(self, each: _Handover) -> tuple[Key, Key]:
        source, target = self._storage.get(each.source), self._storage[each.target]
        assert target is not None
        if source is None:
            raise EmitError(
                f"{each.target.name!r} is part of another tile, which cannot be handed on",
                each.stmt.span,
                hint="copy the part first: pl.move(part, target_memory=pl.MemorySpace.Vec)",
                slug="emit-carried-tile",
            )
        if source[0] != target[0]:
            raise EmitError(
                f"{each.target.name!r} is handed on from one buffer to another",
                each.stmt.span,
                hint="run passes.init_mem_ref() first",
                slug="emit-carried-tile",
            )
        return source, target


def memref_of(value: Expr) -> MemRef:
    """Return the memory reference of a tile.

    Raises:
        EmitError: it has none.
    """
    kind = value.type
    if isinstance(kind, TileType) and kind.memref is not None:
        return kind.memref
    name = value.name if isinstance(value, Var) else "a tile"
    raise EmitError(
        f"{name!r} has no buffer",
        value.span,
        hint="run passes.init_mem_ref() first",
        slug="emit-no-buffer",
    )


def address_of(memref: MemRef) -> int:
    """Return the byte address of a memory reference in its memory.

    Raises:
        EmitError: it has none yet.
    """
    address = const_value(memref.addr_)
    if address is None or address < 0:
        raise EmitError(
            f"buffer {memref.name!r} has no address, which --pto-level=level3 needs",
            hint="run passes.allocate_memory_addr() first",
            slug="emit-address",
        )
    return address


def _in_front(found: dict[Key, Buffer], pairs: Sequence[tuple[Key, Key]]) -> dict[Key, Buffer]:
    """Return the buffers with the first of each pair before the second."""
    before: dict[Key, list[Key]] = {}
    for first, second in pairs:
        before.setdefault(second, []).append(first)
    order = dict.fromkeys(each for key in found for each in (*before.get(key, ()), key))
    return {key: found[key] for key in order}


def _joined(found: dict[Key, Buffer], links: Sequence[tuple[Key, Key]]) -> dict[Key, Buffer]:
    """Return the buffers; those linked to an earlier one become reshapes of it."""
    order = {key: index for index, key in enumerate(found)}
    parent: dict[Key, Key] = {}

    def find(key: Key) -> Key:
        while key in parent:
            key = parent[key]
        return key

    for pair in links:
        a, b = sorted(map(find, pair), key=order.__getitem__)
        if a != b:
            parent[b] = a
    return {
        key: buffer._replace(alias_of=find(key) if key in parent else None)
        for key, buffer in found.items()
    }
