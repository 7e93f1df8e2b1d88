"""Scopes with matrix and vector work become scopes of one of them each, which no core does alone.

    with pl.incore():                            for b in pl.range(4):
        for b in pl.range(4):                        with pl.incore():  # on the cube core
            p = matmul(...)                              p = matmul(...)
            store(p, held)                               store(p, held)
            total += load(held)            ->        with pl.incore():  # on a vector core
        store(total, out)                                store(load(kept) + load(held), kept)
                                                 with pl.incore():
                                                     store(load(kept), out)

Loops and branches that hold both go to the host function, with the scalars that they need. Tiles
that go from one scope to another lie in tensors between them, or are loaded again. A scope stays
as it is where that is impossible: a value of a core decides what runs, or an accumulator would
have to be kept over vector work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from pypto._src.errors import PyptoError
from pypto._src.ir.array_types import TensorType, TileType, exprs_of_type, static_shape, valid_part
from pypto._src.ir.enums import CoreType, MemorySpace, PipeType
from pypto._src.ir.exprs import Call, ConstInt, Expr, IterArg, MakeTuple, Var
from pypto._src.ir.fresh_names import NewNames
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    IfStmt,
    ScopeStmt,
    Stmt,
    YieldStmt,
    seq,
    statements,
)
from pypto._src.ir.traversal.mutator import substitute
from pypto._src.ir.traversal.queries import defined_by, stmts_in, uses
from pypto._src.ir.traversal.walk import children, copy_with, walk
from pypto._src.ir.types import ScalarType
from pypto._src.ops import memory, tensor
from pypto._src.ops.layout import tile_space

_ON_CUBE: Final = frozenset({PipeType.M, PipeType.MTE1, PipeType.FIX})
_ON_HOST: Final = frozenset(
    {tensor.view, tensor.reshape_view, tensor.create, tensor.dim, tensor.read}
)
_BOTH: Final = frozenset({CoreType.CUBE, CoreType.VECTOR})


class _Unsplit(Exception):
    """Raised where a scope stays as it is."""


class _Part:
    """Statements that one core does."""

    def __init__(self) -> None:
        self.core: CoreType | None = None
        self.loads: list[Stmt] = []  # of what others have made, before everything else
        self.stmts: list[Stmt] = []
        self.known: dict[Var, Expr] = {}  # tiles of others, by what they are here


class _Lifted:
    """A loop or branch that goes to the host, with its bodies."""

    def __init__(self, stmt: ForStmt | IfStmt, bodies: list[list[_Node]]) -> None:
        self.stmt = stmt
        self.bodies = bodies
        self.yields: list[YieldStmt | None] = []


_Node: TypeAlias = "_Part | _Lifted | Stmt"


def split_scope(
    scope: ScopeStmt, names: NewNames, roots: Mapping[Var, Sequence[Var]]
) -> list[Stmt] | None:
    """Return a scope as several and what the host does between them; None if it is left as it is.

    ``roots`` are the tensors whose memory a variable may name.
    """
    body = list(statements(scope.body))
    if cores_of(body) != _BOTH:
        return None
    try:
        return _Splitter(scope, body, names, roots).run()
    except (_Unsplit, PyptoError):
        return None


def stored_early(stmts: Sequence[Stmt], roots: Mapping[Var, Sequence[Var]]) -> list[Stmt]:
    """Return statements that store accumulators as soon as they can, not behind vector work.

    The vector work that reads one may come in several pieces; all of them find it in memory then,
    and the accumulator need not outlive the first one. A store moves up where nothing between is
    about the tensor that it writes.
    """
    made: dict[Var, int] = {}
    touched: dict[Var, int] = {}  # where a tensor was read or written last
    vector = -1  # where the last vector work is
    behind: dict[int, list[Stmt]] = {}
    moved: set[int] = set()
    for index, stmt in enumerate(stmts):
        used = _used(stmt)
        at = _early(stmt, used, made, index)
        if at is not None and at < vector:
            tensors = [root for var in used for root in roots.get(var, (var,))]
            if all(touched.get(root, -1) <= at for root in tensors):
                behind.setdefault(at, []).append(stmt)
                moved.add(index)
                made.update(dict.fromkeys(defined_by(stmt), at))
                touched.update(dict.fromkeys(tensors, at))
                continue
        if CoreType.VECTOR in cores_of([stmt]):
            vector = index
        for var in (*used, *defined_by(stmt)):
            if isinstance(var.type, TensorType):
                touched.update(dict.fromkeys(roots.get(var, (var,)), index))
        made.update(dict.fromkeys(defined_by(stmt), index))
    out: list[Stmt] = []
    for index, stmt in enumerate(stmts):
        if index not in moved:
            out += [stmt, *behind.get(index, ())]
    return out


def _early(stmt: Stmt, used: Iterable[Var], made: Mapping[Var, int], index: int) -> int | None:
    """Return behind which statement an accumulator may be stored, None for other statements."""
    value = stmt.value if isinstance(stmt, AssignStmt) else None
    value = stmt.expr if isinstance(stmt, EvalStmt) else value
    if not isinstance(value, Call) or op_of(value) is not memory.store:
        return None
    tile = value.args[0]
    if not isinstance(tile, Var) or tile_space(tile) is not MemorySpace.Acc or tile not in made:
        return None
    return max(made.get(var, -1) for var in used)


def name_on_core(name: str, core: CoreType | None) -> str:
    """Return what the part of a region called ``name`` that one core does is called."""
    return f"{name}_aic" if core is CoreType.CUBE else f"{name}_aiv"


def cores_of(stmts: Sequence[Stmt]) -> frozenset[CoreType]:
    """Return the cores that the work on tiles in statements wants."""
    found = {_core_of(call) for stmt in stmts for call in _calls(stmt)}
    return frozenset(core for core in found if core is not None)


def _core_of(call: Call) -> CoreType | None:
    op = op_of(call)
    if op is None or op.level != "block":
        return None
    pipe = op.pipe_of(call)
    if pipe in _ON_CUBE:
        return CoreType.CUBE
    if pipe is PipeType.V:
        return CoreType.VECTOR
    for value in (call, *call.args):
        if isinstance(value.type, TileType):
            return CoreType.VECTOR if tile_space(value) is MemorySpace.Vec else CoreType.CUBE
    return None


def _calls(top: Stmt) -> list[Call]:
    found: list[Call] = []
    for stmt in stmts_in(top):
        for child in children(stmt):
            if not isinstance(child, Stmt):
                found += [node for node in walk(child) if isinstance(node, Call)]
    return found


def _used(top: Stmt) -> dict[Var, None]:
    """Return the variables that a statement uses and does not define, by first use."""
    found: dict[Var, None] = {}
    defined: set[Var] = set()
    for stmt in stmts_in(top):
        defined.update(defined_by(stmt))
        for child in children(stmt):
            if isinstance(child, Stmt):
                continue
            found.update(dict.fromkeys(uses([child])))
            if isinstance(child, IterArg):
                found.update(dict.fromkeys(uses([child.initValue])))
            for node in walk(child):
                if isinstance(node, Expr) and not isinstance(node.type, ScalarType):
                    found.update(dict.fromkeys(uses(exprs_of_type(node.type))))
    return {var: None for var in found if var not in defined}


def _is_tile(value: Expr) -> bool:
    return isinstance(value.type, TileType)


class _Splitter:
    """Splits one scope."""

    def __init__(
        self,
        scope: ScopeStmt,
        body: list[Stmt],
        names: NewNames,
        roots: Mapping[Var, Sequence[Var]],
    ) -> None:
        self._scope = scope
        self._body = body
        self._names = names
        self._roots = roots
        self._span = scope.span
        self._made: list[Stmt] = []  # the tensors in which tiles are handed over
        self._held: dict[Var, Var] = {}  # tiles, by the tensor that they are in
        self._where: dict[Var, _Part] = {}  # which part makes a tile or scalar
        self._floating: dict[Var, AssignStmt] = {}  # what each part loads for itself
        self._placed: set[Var] = set()  # of these, those that a part has under their own name
        written = [
            arg
            for stmt in body
            for call in _calls(stmt)
            if (op := op_of(call)) is not None
            for at, arg in enumerate(call.args)
            if at in op.writes and isinstance(arg, Var)
        ]
        self._written = {root for var in written for root in roots.get(var, (var,))}

    def run(self) -> list[Stmt]:
        """Return what stands in place of the scope."""
        nodes: list[_Node] = []
        last = self._body[-1] if isinstance(self._body[-1], YieldStmt) else None
        for stmt in self._body[:-1] if last else self._body:
            self._add(nodes, stmt)
        if last is not None:
            self._check_on_host(uses([last]))
        made = self._assembled(nodes)
        return [*self._made, *made, *([last] if last else [])]

    # ------------------------------------------------------------------- parts

    def _add(self, nodes: list[_Node], stmt: Stmt) -> None:
        """Add a statement to the last part, or behind it."""
        cores = cores_of([stmt])
        if cores == _BOTH:
            self._lift(nodes, stmt)
            return
        if isinstance(stmt, AssignStmt) and self._floats(stmt):
            self._floating[stmt.var] = stmt
            return
        part = nodes[-1] if nodes and isinstance(nodes[-1], _Part) else None
        if not cores and isinstance(stmt, AssignStmt) and self._is_for_host(stmt):
            in_part = part is not None and any(part is self._where.get(var) for var in _used(stmt))
            if part is None or in_part or self._reads_written(stmt):
                nodes.append(stmt)
            else:
                nodes.insert(len(nodes) - 1, stmt)
            return
        core = next(iter(cores), None)
        if part is None or None is not part.core is not core is not None:
            part = _Part()
            nodes.append(part)
        if part.core is None:  # CoreType.CUBE is 0
            part.core = core
        self._put(part, stmt)

    def _put(self, part: _Part, stmt: Stmt) -> None:
        for var in _used(stmt):
            self._bring(part, var)
        part.stmts.append(substitute(stmt, part.known))
        for var in defined_by(stmt):
            self._where[var] = part

    def _bring(self, part: _Part, var: Var) -> None:
        """Let a part have a tile that it has not made."""
        if var in part.known:
            return
        floating = self._floating.get(var)
        if floating is not None:
            for source in _used(floating):
                self._bring(part, source)
            value = substitute(floating.value, part.known)
            new = var
            if var in self._placed:
                new = Var(self._names.like(var.name), var.type, var.span)
            self._placed.add(var)
            part.known[var] = new
            part.stmts.append(AssignStmt(new, value, floating.span))
            return
        made = self._where.get(var)
        if made is part or (made is None and var not in self._held):
            return
        if isinstance(var.type, TensorType):
            return
        if not _is_tile(var) or tile_space(var) is not MemorySpace.Vec:
            raise _Unsplit
        held = self._held.get(var)
        if held is None:
            assert made is not None
            held = self._tensor(var)
            made.stmts.append(self._stored(made.known.get(var, var), held))
        new = Var(self._names.like(var.name), var.type, var.span)
        part.known[var] = new
        part.loads.append(AssignStmt(new, self._loaded(var, held), self._span))

    def _tensor(self, var: Var) -> Var:
        """Return a new tensor in which a tile is handed over."""
        kind = var.type
        assert isinstance(kind, TileType)
        if static_shape(kind) is None or tile_space(var) is not MemorySpace.Vec:
            raise _Unsplit
        made = tensor.create.build((list(kind.shape), kind.dtype), {}, self._span)
        held = Var(self._names.like(f"{var.name}_held"), made.type, var.span)
        self._made.append(AssignStmt(held, made, self._span))
        self._held[var] = held
        return held

    def _stored(self, value: Expr, held: Var) -> Stmt:
        kind = held.type
        assert isinstance(kind, TensorType)
        zeros = MakeTuple([ConstInt(0) for _ in kind.shape])
        operands = (value, zeros, MakeTuple(kind.shape), held)
        return EvalStmt(memory.store.build(operands, {}, self._span), self._span)

    def _loaded(self, var: Var, held: Var) -> Expr:
        kind = var.type
        assert isinstance(kind, TileType)
        part = valid_part(kind)
        if part is not None:
            self._check_on_host(uses(part))
        words = {} if part is None else {"valid_shapes": MakeTuple(part)}
        zeros = MakeTuple([ConstInt(0) for _ in kind.shape])
        operands = (held, zeros, MakeTuple(kind.shape))
        return memory.load.build(operands, words, self._span)

    # ------------------------------------------------------------------- what is where

    def _is_for_host(self, stmt: AssignStmt) -> bool:
        """True for what the host computes: it needs nothing that a core has computed."""
        for node in walk(stmt.value):
            if isinstance(node, Call) and op_of(node) not in _ON_HOST:
                return False
        is_value = isinstance(stmt.var.type, ScalarType) or isinstance(stmt.value, Call)
        inside = (v for v in _used(stmt) if v in self._where and not isinstance(v.type, TensorType))
        return is_value and next(inside, None) is None

    def _reads_written(self, stmt: AssignStmt) -> bool:
        calls = [n for n in walk(stmt.value) if isinstance(n, Call) and op_of(n) is tensor.read]
        return any(self._is_written(arg) for call in calls for arg in call.args)

    def _is_written(self, value: Expr) -> bool:
        if not isinstance(value, Var) or not isinstance(value.type, TensorType):
            return False
        return not self._written.isdisjoint(self._roots.get(value, (value,)))

    def _floats(self, stmt: AssignStmt) -> bool:
        """True for a tile that each part makes for itself: of tensors that nobody writes."""
        call = stmt.value
        op = op_of(call)
        if not isinstance(call, Call) or not _is_tile(stmt.var) or op is None or op.writes:
            return False
        if op.pipe_of(call) is PipeType.V and any(_is_tile(arg) for arg in call.args):
            return False
        for var in _used(stmt):
            scalar = isinstance(var.type, ScalarType) and var in self._where
            tile = _is_tile(var) and var not in self._floating
            if var is not stmt.var and (scalar or tile or self._is_written(var)):
                return False
        return True

    def _check_on_host(self, variables: Iterable[Var]) -> None:
        for var in variables:
            if (var in self._where and not isinstance(var.type, TensorType)) or _is_tile(var):
                raise _Unsplit

    # ------------------------------------------------------------------- loops and branches

    def _lift(self, nodes: list[_Node], stmt: Stmt) -> None:
        """Let the host run a loop or branch."""
        if isinstance(stmt, ForStmt):
            inits = [arg.initValue for arg in stmt.iter_args if not _is_tile(arg)]
            self._check_on_host(uses([stmt.start, stmt.stop, stmt.step, *inits]))
            tensors: list[Var | None] = []
            for arg, result in zip(stmt.iter_args, stmt.return_vars, strict=True):
                tensors.append(self._tensor(arg) if _is_tile(arg) else None)
                if tensors[-1] is not None:
                    self._held[result] = tensors[-1]
                    self._add(nodes, self._stored(arg.initValue, tensors[-1]))
            lifted = _Lifted(stmt, [])
            self._body_of(lifted, stmt.body, tensors)
        elif isinstance(stmt, IfStmt):
            self._check_on_host(uses([stmt.condition]))
            tensors = []
            for result in stmt.return_vars:
                tensors.append(self._tensor(result) if _is_tile(result) else None)
            lifted = _Lifted(stmt, [])
            for body in (stmt.then_body, stmt.else_body):
                if body is not None:
                    self._body_of(lifted, body, tensors)
        else:
            raise _Unsplit
        nodes.append(lifted)

    def _body_of(self, lifted: _Lifted, body: Stmt, tensors: Sequence[Var | None]) -> None:
        inner: list[_Node] = []
        stmts = list(statements(body))
        end = stmts[-1] if stmts else None
        last = end if isinstance(end, YieldStmt) else None
        for stmt in stored_early(stmts[:-1] if last is not None else stmts, self._roots):
            self._add(inner, stmt)
        kept: list[Expr] = []
        values: Sequence[Expr] = last.value if last is not None else ()
        for value, held in zip(values, tensors, strict=True):
            if held is None:
                self._check_on_host(uses([value]))
                kept.append(value)
            elif not isinstance(value, Var) or self._held.get(value) is not held:
                self._add(inner, self._stored(value, held))
        lifted.bodies.append(inner)
        lifted.yields.append(YieldStmt(kept, last.span) if last is not None and kept else None)

    def _assembled(self, nodes: Sequence[_Node]) -> list[Stmt]:
        out: list[Stmt] = []
        for node in nodes:
            if isinstance(node, _Part):
                body = seq([*node.loads, *node.stmts], self._span)
                name = self._scope.name_hint and name_on_core(self._scope.name_hint, node.core)
                out.append(ScopeStmt(self._scope.scope_kind, body, self._span, name))
            elif isinstance(node, _Lifted):
                out.append(self._rebuilt(node))
            else:
                out.append(node)
        return out

    def _rebuilt(self, node: _Lifted) -> Stmt:
        stmt = node.stmt
        bodies = [
            seq([*self._assembled(body), *([last] if last is not None else [])], stmt.span)
            for body, last in zip(node.bodies, node.yields, strict=True)
        ]
        results = [var for var in stmt.return_vars if not _is_tile(var)]
        if isinstance(stmt, ForStmt):
            args = tuple([arg for arg in stmt.iter_args if not _is_tile(arg)])
            changes = {"iter_args": args, "body": bodies[0], "return_vars": tuple(results)}
            return copy_with(stmt, changes)
        orelse = bodies[1] if len(bodies) > 1 else None
        return IfStmt(stmt.condition, bodies[0], orelse, results, stmt.span)
