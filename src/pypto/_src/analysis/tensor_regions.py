"""Which tensor a variable of a function names, and which part of it a call touches.

Expects functions in SSA form with flattened calls; for callees it knows which parameters their
results may be. Knows no op: which operands give the box is in the op's definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from pypto._src.analysis.affine import Affine, combine
from pypto._src.analysis.first_iteration import FirstIterations
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, number, points_in
from pypto._src.ir.array_types import TensorType, same_dims
from pypto._src.ir.exprs import Call, Expr, GlobalVar, MakeTuple, TupleGetItemExpr, Var
from pypto._src.ir.op_params import INTS
from pypto._src.ir.opdef import OpDef, aliased, op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    ReturnStmt,
    WhileStmt,
    yielded,
)
from pypto._src.ir.types import ScalarType
from pypto._src.ops import tensor as tensor_ops

Key: TypeAlias = "tuple[Var, int]"
"""A tensor variable with -1, or a tuple variable with the index of an element."""

Window: TypeAlias = "tuple[Affine, ...] | None"
"""Offset of a view in its tensor: empty for the beginning, None if unknown."""

Results: TypeAlias = "Mapping[str, tuple[tuple[int, ...], ...]]"
"""By function name, the parameters that each of its results may be, by position."""


class TensorAliasBases:
    """Which tensors the variables of one function name.

    ``roots`` has the parameters and new tensors that a variable may be on any path, ``made`` the
    new tensors that are uninitialized, ``computed`` those that have a value.
    """

    def __init__(self, function: Function, results: Results) -> None:
        self.function = function
        self.results = results
        self.root = number(function)
        self.params = [p for p in function.params if isinstance(p.type, TensorType)]
        self.made: dict[Var, Call] = {}
        self.computed: dict[Var, Call] = {}
        self.roots = self._roots()

    def bases_of(self, value: Expr) -> tuple[Var, ...]:
        """Return the parameters and new tensors that a value may be."""
        found: list[Var] = []
        for key in keys(value):
            found += self.roots.get(key, ())
        return tuple(found)

    def returned(self) -> list[tuple[Var, ...]]:
        """Return the tensors that each result may be."""
        found: list[tuple[Var, ...]] = [() for _ in self.function.return_types]
        for point in points_in(self.root):
            if isinstance(point.stmt, ReturnStmt):
                for i, value in enumerate(point.stmt.value[: len(found)]):
                    found[i] += self.bases_of(value)
        return found

    def results_in(self, positions: Mapping[Expr, int]) -> tuple[tuple[int, ...], ...]:
        """Return for each result the parameters that it may be, by their ``positions``."""
        return tuple(
            tuple(dict.fromkeys(positions[r] for r in roots if r in positions))
            for roots in self.returned()
        )

    def _roots(self) -> dict[Key, tuple[Var, ...]]:
        """Return which parameters and new tensors each tensor may be, on any path."""
        users: dict[Key, list[Key]] = {}
        found: dict[Key, tuple[Var, ...]] = {(p, -1): (p,) for p in self.params}

        def hand_on(target: Key, sources: Iterable[Key]) -> None:
            for source in sources:
                users.setdefault(source, []).append(target)

        for point in points_in(self.root):
            stmt = point.stmt
            match stmt:
                case AssignStmt(var=var, value=value) if var.type.__class__ is not ScalarType:
                    for index, sources in self.sources(value).items():
                        hand_on((var, index), sources)
                    if isinstance(var.type, TensorType) and isinstance(value, Call):
                        if _makes(value):
                            self.made[var] = value
                            found[var, -1] = (var,)
                        elif _copies(value):
                            self.computed[var] = value
                            found[var, -1] = (var,)
                case ForStmt() | WhileStmt():
                    ends = yielded(stmt.body)
                    for i, (arg, var) in enumerate(
                        zip(stmt.iter_args, stmt.return_vars, strict=True)
                    ):
                        sources = [*keys(arg.initValue), *keys(ends[i] if i < len(ends) else arg)]
                        hand_on((arg, -1), sources)
                        hand_on((var, -1), sources)
                case IfStmt():
                    for body in (stmt.then_body, stmt.else_body):
                        for var, value in zip(stmt.return_vars, yielded(body), strict=False):
                            hand_on((var, -1), keys(value))
                case _:
                    pass
        pending = list(found)
        while pending:
            key = pending.pop()
            for user in users.get(key, ()):
                old = found.get(user, ())
                new = tuple(dict.fromkeys((*old, *found[key])))
                if len(new) > len(old):
                    found[user] = new
                    pending.append(user)
        return found

    def sources(self, value: Expr) -> dict[int, list[Key]]:
        """Return the variables whose memory a value may be, by tuple element."""
        if isinstance(value, Call) and isinstance(value.op, GlobalVar):
            results = self.results.get(value.op.name, ())
            found = [[k for i in params for k in keys(value.args[i])] for params in results]
            return {-1: found[0]} if len(found) == 1 else dict(enumerate(found))
        return {-1: keys(value)}


class TensorParts(TensorAliasBases):
    """Which tensors, and which parts of them, the variables of one function name."""

    def __init__(self, function: Function, results: Results) -> None:
        super().__init__(function, results)
        self.iterations = FirstIterations(function, self.root)
        self.windows: dict[Key, Window] = {(p, -1): () for p in self.params}
        for point in points_in(self.root):
            self._note_window(point)

    def bound(
        self, form: Affine, positions: Mapping[Expr, int], call: Call, block: Block
    ) -> Affine:
        """Return a linear form over a callee's parameters in terms of a call's arguments."""
        found = Affine(form.constant, {})
        for atom, factor in form.terms.items():
            arg = call.args[positions[atom]]
            found = combine(found, self.iterations.integers.form(arg, block), factor)
        return found

    def _window(self, value: Expr, block: Block) -> Window:
        """Return the offset of a tensor in the one whose memory it is."""
        if isinstance(value, Call) and isinstance(value.op, GlobalVar):
            sources = self.sources(value).get(-1, [])
            return self.windows.get(sources[0]) if len(sources) == 1 else None
        source = aliased(value)
        if source is value or not isinstance(value, Call):
            return self.base(value)
        op = op_of(value)
        if source is None or op is None:
            return ()
        base = self._window(source, block)
        if op.view_of is None or base is None:
            return base  # a store, whose value is the whole tensor
        return moved(base, self._ints(value, op, block, "offset"))

    def _ints(
        self, call: Call, op: OpDef[..., object], block: Block, name: str
    ) -> tuple[Affine, ...] | None:
        """Return the integers that a call has under ``name``, such as its offsets."""
        for param, arg in zip(op.operands, call.args, strict=False):
            if param.name == name and param.kind == INTS and isinstance(arg, MakeTuple):
                return tuple([self.iterations.integers.form(e, block) for e in arg.elements])
        return None

    def _note_window(self, point: ProgramPoint) -> None:
        stmt, block = point.stmt, point.block
        if isinstance(stmt, AssignStmt):
            self.windows[stmt.var, -1] = self._window(stmt.value, block)
            if isinstance(stmt.value, Call) and isinstance(stmt.value.op, GlobalVar):
                for index, sources in self.sources(stmt.value).items():
                    if index >= 0:
                        known = len(sources) == 1
                        self.windows[stmt.var, index] = (
                            self.windows.get(sources[0]) if known else None
                        )
        elif isinstance(stmt, ForStmt | WhileStmt | IfStmt):
            for var in (*stmt.return_vars, *(() if isinstance(stmt, IfStmt) else stmt.iter_args)):
                roots = self.roots.get((var, -1), ())
                whole = all(_same_shape(root, var) for root in roots)
                self.windows[var, -1] = () if whole else None

    def base(self, value: Expr) -> Window:
        """Return the offset of a tensor in the one whose memory it is."""
        found = keys(value)
        return self.windows.get(found[0]) if found else None

    def box(
        self, call: Call, op: OpDef[..., object], index: int, block: Block
    ) -> tuple[tuple[Affine, ...], tuple[int | None, ...]] | None:
        """Return `region` with constants for its sizes, None for a size that is not constant."""
        found = self.region(call, op, index, block)
        if found is None:
            return None
        return found[0], tuple([None if s.terms else s.constant for s in found[1]])

    def region(
        self, call: Call, op: OpDef[..., object], index: int, block: Block
    ) -> tuple[tuple[Affine, ...], tuple[Affine, ...]] | None:
        """Return offsets and sizes of the part of an operand that a call touches, None for any.

        The operands' names tell: ``indices`` of one element, ``offsets`` and ``shapes`` (or
        ``valid_shapes``) of a box, or the ``offset`` at which another tensor is written.
        """
        indices = self._ints(call, op, block, "indices")
        if indices is not None:
            return indices, (Affine(1, {}),) * len(indices)
        offsets, sizes = self._ints(call, op, block, "offsets"), None
        if offsets is not None:
            sizes = self._ints(call, op, block, "valid_shapes")
            sizes = sizes or self._ints(call, op, block, "shapes")
        elif index in op.writes:
            offsets = self._ints(call, op, block, "offset")
            read = [call.args[i].type for i in sorted(op.reads)]
            if len(read) == 1 and isinstance(read[0], TensorType):
                sizes = self._shape(read[0], block)
        else:
            kind = call.args[index].type
            if isinstance(kind, TensorType):
                sizes = self._shape(kind, block)
                return (Affine(0, {}),) * len(sizes), sizes
        if offsets is None or sizes is None or len(offsets) != len(sizes):
            return None
        return offsets, sizes

    def view_region(
        self, call: Call, op: OpDef[..., object], block: Block
    ) -> tuple[tuple[Affine, ...], tuple[Affine, ...]] | None:
        """Return offsets and sizes of the part of a tensor that a view selects."""
        offsets, kind = self._ints(call, op, block, "offset"), call.type
        if offsets is None or not isinstance(kind, TensorType):
            return None
        return offsets, self._shape(kind, block)

    def _shape(self, kind: TensorType, block: Block) -> tuple[Affine, ...]:
        return tuple([self.iterations.integers.form(dim, block) for dim in kind.shape])


def _same_shape(first: Var, second: Var) -> bool:
    a, b = first.type, second.type
    return isinstance(a, TensorType) and isinstance(b, TensorType) and same_dims(a.shape, b.shape)


def _makes(value: Expr) -> bool:
    return op_of(value) is tensor_ops.create


def _copies(value: Expr) -> bool:
    """True for a new tensor whose elements are computed."""
    return op_of(value) is not None and aliased(value) is None and not _makes(value)


def keys(value: Expr) -> list[Key]:
    """Return the variable, or tuple element, whose memory a tensor is; empty for a new one."""
    while True:
        if isinstance(value, TupleGetItemExpr):
            source = value.tuple
            return [(source, value.index)] if isinstance(source, Var) else []
        source = aliased(value)
        if source is None:
            return []
        if isinstance(source, Var):
            return [(source, -1)]
        value = source


def moved(base: tuple[Affine, ...], by: tuple[Affine, ...] | None) -> tuple[Affine, ...] | None:
    """Return the offset of a part that begins at ``by`` in a view at offset ``base``."""
    if by is None or not base:
        return by
    if len(base) != len(by):
        return None
    return tuple([combine(a, b, 1) for a, b in zip(base, by, strict=True)])
