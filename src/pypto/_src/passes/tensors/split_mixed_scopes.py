"""Scopes with matrix and vector work, which no core can do alone, are split by kind of work.

    with pl.incore():                            for b in pl.range(4):
        for b in pl.range(4):                        with pl.incore():  # on the cube core
            p = matmul(...)                              p = matmul(...)
            store(p, held)                               store(p, held)
            total += load(held)            ->        with pl.incore():  # on a vector core
        store(total, out)                                store(load(kept) + load(held), kept)
                                                 with pl.incore():
                                                     store(load(kept), out)

Loops and branches that hold both go to the host function, with the scalars that they need. Tiles
that go from one scope to another pass through tensors, or are loaded again; those of one iteration
of a loop with stages pass through slots, so that one core may run ahead of the other. A tile of
which the other core, or the host, needs an element is stored in a tensor, too, and read from there.
A scope stays as it is where that is impossible: where an accumulator must live across vector work.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from pypto._src.errors import PyptoError
from pypto._src.ir.array_types import TensorType, TileType, static_shape, valid_part
from pypto._src.ir.enums import CoreType, MemorySpace, PipeType
from pypto._src.ir.exprs import Call, ConstInt, Expr, MakeTuple, Var
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    IfStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    seq,
    statements,
)
from pypto._src.ir.traversal.mutator import substitute
from pypto._src.ir.traversal.queries import defined_by, stmts_in, uses
from pypto._src.ir.traversal.walk import copy_with, walk
from pypto._src.ir.types import ScalarType
from pypto._src.ops import memory, tensor
from pypto._src.ops.layout import tile_space
from pypto._src.passes.tensors.core_work import (
    BOTH_CORES,
    calls_in,
    changed_in_place,
    cores_of,
    used_in,
)
from pypto._src.passes.tensors.slots import LoopSlots, created
from pypto._src.passes.tensors.work_order import gathered, hoist_accumulator_stores

_ON_HOST: Final = frozenset(
    {tensor.view, tensor.reshape_view, tensor.create, tensor.dim, tensor.read}
)


class _Unsplit(Exception):
    """Raised where a scope stays as it is."""


class _NeededOnHost(Exception):
    """Raised where the host needs elements of tiles that only a core would have read."""

    def __init__(self, elements: Iterable[Var]) -> None:
        super().__init__()
        self.elements = tuple(elements)


class _Part:
    """Statements that run on one core."""

    def __init__(self, loop: LoopSlots | None) -> None:
        self.loop = loop  # the innermost one on the host around it
        self.core: CoreType | None = None
        self.loads: list[Stmt] = []  # of values from other parts, before all other statements
        self.stmts: list[Stmt] = []
        self.known: dict[Var, Expr] = {}  # values of other parts, with their names here


class _Lifted:
    """A loop or branch that goes to the host, with its bodies."""

    def __init__(self, stmt: ForStmt | WhileStmt | IfStmt, bodies: list[list[_Node]]) -> None:
        self.stmt = stmt
        self.bodies = bodies
        self.head: list[Stmt] = []  # the first statements of an iteration
        self.yields: list[YieldStmt | None] = []


_Node: TypeAlias = "_Part | _Lifted | Stmt"


def split_scope(
    scope: ScopeStmt,
    names: FreshNames,
    roots: Mapping[Var, Sequence[Var]],
    own: Container[Var],
    stages: int,
) -> list[Stmt] | None:
    """Return the scopes into which a scope is split, with the host's statements; None if it stays.

    ``roots`` are the tensors whose memory a variable may name, ``own`` those that one statement of
    the scope writes, and that have no other name. Loops that go to the host may have at least
    ``stages`` iterations in flight.
    """
    body = list(statements(scope.body))
    if cores_of(body) != BOTH_CORES:
        return None
    read_by_host: dict[Var, None] = {}
    gathers = False
    while True:
        try:
            splitter = _Splitter(scope, body, names, roots, own, stages, read_by_host, gathers)
            return splitter.run()
        except _NeededOnHost as needed:
            read_by_host.update(dict.fromkeys(needed.elements))
        except (_Unsplit, PyptoError):
            if gathers:
                return None
            gathers = True


def name_on_core(name: str, core: CoreType | None) -> str:
    """Return the name of the part of the region ``name`` that runs on ``core``."""
    return f"{name}_aic" if core is CoreType.CUBE else f"{name}_aiv"


def _is_tile(value: Expr) -> bool:
    return isinstance(value.type, TileType)


def _is_element(value: Expr) -> bool:
    """True for a read of an element of a tile, given by tile and indices."""
    if not isinstance(value, Call) or not isinstance(value.type, ScalarType):
        return False
    return len(value.args) == 2 and isinstance(value.args[0], Var) and _is_tile(value.args[0])


def _is_last_use(nodes: Sequence[_Node], part: _Part, held: Var) -> bool:
    """True if ``part`` is among the nodes, and none after it uses the tensor ``held``."""
    behind = iter(nodes)
    if all(node is not part for node in behind):
        return False
    pending = list(behind)
    for node in pending:  # grows as it goes
        if isinstance(node, _Lifted):
            pending += [*node.head, *(inner for body in node.bodies for inner in body)]
        elif isinstance(node, _Part):
            pending += [*node.loads, *node.stmts]
        elif held in used_in(node):
            return False
    return True


class _Splitter:
    """Splits one scope."""

    def __init__(
        self,
        scope: ScopeStmt,
        body: list[Stmt],
        names: FreshNames,
        roots: Mapping[Var, Sequence[Var]],
        own: Container[Var],
        stages: int,
        read_by_host: Mapping[Var, None],
        gathers: bool,
    ) -> None:
        self._gathers = gathers  # reorders each body, where the written order fails
        self._own = own
        self._stages = stages
        self._loops: list[LoopSlots | None] = [None]  # loops on the host around the current body
        self._read_by_host = read_by_host  # variables that are elements of tiles
        self._scalars: dict[Var, Expr] = {}  # scalars that cores compute
        self._moved: dict[Var, AssignStmt] = {}  # operands of products made from other tiles
        self._scope = scope
        self._body = body
        self._names = names
        self._roots = roots
        self._span = scope.span
        self._made: list[Stmt] = []  # the tensors through which tiles pass
        self._held: dict[Var, Var] = {}  # tiles, with the tensor that holds them
        self._where: dict[Var, _Part] = {}  # the part that makes a tile or scalar
        self._floating: dict[Var, AssignStmt] = {}  # what each part loads for itself
        self._placed: set[Var] = set()  # those that already keep their name in some part
        written = [
            arg
            for stmt in body
            for call in calls_in(stmt)
            if (op := op_of(call)) is not None
            for at, arg in enumerate(call.args)
            if at in op.writes and isinstance(arg, Var)
        ]
        self._written = {root for var in written for root in roots.get(var, (var,))}
        inner = (stmt for top in body for stmt in stmts_in(top))
        self._changed = {var for stmt in inner for var in changed_in_place(stmt)}

    def run(self) -> list[Stmt]:
        """Return the statements that replace the scope."""
        nodes: list[_Node] = []
        last = self._body[-1] if isinstance(self._body[-1], YieldStmt) else None
        for stmt in self._in_order(self._body[:-1] if last else self._body):
            self._add(nodes, stmt)
        if last is not None:
            self._check_on_host(uses([last]))
        made = self._assembled(nodes)
        return [*self._made, *made, *([last] if last else [])]

    # ------------------------------------------------------------------- parts

    def _add(self, nodes: list[_Node], stmt: Stmt) -> None:
        """Add a statement to the last part, or after it."""
        cores = cores_of([stmt])
        if cores == BOTH_CORES:
            self._lift(nodes, stmt)
            return
        if isinstance(stmt, AssignStmt) and stmt.var in self._read_by_host:
            self._read(nodes, stmt)
            return
        if isinstance(stmt, AssignStmt) and self._floats(stmt):
            self._floating[stmt.var] = stmt
            return
        part = nodes[-1] if nodes and isinstance(nodes[-1], _Part) else None
        if not cores and isinstance(stmt, AssignStmt) and self._is_for_host(stmt):
            in_part = part is not None and any(
                part is self._where.get(var) for var in used_in(stmt)
            )
            if part is None or in_part or self._reads_written(stmt):
                nodes.append(stmt)
            else:
                nodes.insert(len(nodes) - 1, stmt)
            return
        core = next(iter(cores), None)
        if part is None or None is not part.core is not core is not None:
            part = _Part(self._loops[-1])
            nodes.append(part)
        if part.core is None:  # CoreType.CUBE is 0
            part.core = core
        self._put(part, stmt)

    def _put(self, part: _Part, stmt: Stmt) -> None:
        for var in used_in(stmt):
            self._bring(part, var)
        for var in (v for inner in stmts_in(stmt) for v in changed_in_place(inner)):
            if self._where.get(var, part) is not part:  # other parts have the old contents
                raise _Unsplit
        part.stmts.append(substitute(stmt, part.known))
        for var in defined_by(stmt):
            self._where[var] = part
        if isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, ScalarType):
            self._scalars[stmt.var] = stmt.value
        if isinstance(stmt, AssignStmt) and _is_tile(stmt.var) and self._is_moved(stmt):
            self._moved[stmt.var] = stmt

    def _is_moved(self, stmt: AssignStmt) -> bool:
        """True for an operand of products from a tile or tensor that is written only once."""
        if tile_space(stmt.var) in (MemorySpace.Vec, MemorySpace.Acc):
            return False
        if not isinstance(stmt.value, Call):
            return False
        source = stmt.value.args[0] if stmt.value.args else None
        if not isinstance(source, Var):
            return False
        if op_of(stmt.value) is memory.move:
            return source not in self._changed
        bases = self._roots.get(source, (source,))
        return op_of(stmt.value) is memory.load and all(base in self._own for base in bases)

    def _read(self, nodes: list[_Node], stmt: AssignStmt) -> None:
        """Make the host read an element of a tile, which is stored in a tensor for that."""
        assert isinstance(stmt.value, Call)
        tile, indices = stmt.value.args
        assert isinstance(tile, Var)
        self._check_on_host(uses([indices]))
        made = self._where.get(tile)
        if made is None:
            held = self._held.get(tile)
            if held is None:  # each part makes the tile for itself
                held = self._tensor(tile, self._loops[-1])
                self._add(nodes, self._stored(tile, held))
        elif tile in self._changed:
            held = self._new_tensor(tile, made.loop)
            made.stmts.append(self._stored(made.known.get(tile, tile), held))
        else:
            held = self._kept(tile, made)
        read = tensor.read.build([held, indices], {}, stmt.span)
        nodes.append(AssignStmt(stmt.var, read, stmt.span))

    def _bring(self, part: _Part, var: Var) -> None:
        """Make a variable from outside the part available in it."""
        if var in part.known:
            return
        floating = self._floating.get(var)
        if floating is not None:
            for source in used_in(floating):
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
        if part.loop is not None and var in self._own:
            assert isinstance(var.type, TensorType)
            part.known[var] = self._in_slots(var.name, var.type, part.loop)
            return
        if made is part or (made is None and var not in self._held):
            return
        if isinstance(var.type, TensorType):
            return
        if isinstance(var.type, ScalarType):
            self._bring_scalar(part, var)
            return
        moved = self._moved.get(var)
        if moved is not None:  # each part moves it to the operand memory again
            for source in used_in(moved):
                self._bring(part, source)
            new = Var(self._names.like(var.name), var.type, var.span)
            value = substitute(moved.value, part.known)
            part.known[var] = new
            part.stmts.append(AssignStmt(new, value, moved.span))
            return
        if not _is_tile(var) or tile_space(var) is not MemorySpace.Vec:
            raise _Unsplit
        held = self._held[var] if made is None else self._kept(var, made)
        new = Var(self._names.like(var.name), var.type, var.span)
        part.known[var] = new
        part.loads.append(AssignStmt(new, self._loaded(var, held), self._span))

    def _bring_scalar(self, part: _Part, var: Var) -> None:
        """Make a part recompute another part's scalar; it reads elements of tiles from tensors."""
        made, value = self._where.get(var), self._scalars.get(var)
        if made is None or value is None:  # a loop or branch has made it
            raise _Unsplit
        for inner in uses([value]):
            if not _is_tile(inner):
                self._bring(part, inner)
        if _is_element(value):
            assert isinstance(value, Call)
            held = self._kept_at(value.args[0], made, var)
            indices = substitute(value.args[1], part.known)
            value = tensor.read.build([held, indices], {}, self._span)
        elif isinstance(value, Call):
            raise _Unsplit
        new = Var(self._names.like(var.name), var.type, var.span)
        part.loads.append(AssignStmt(new, substitute(value, part.known), self._span))
        part.known[var] = new

    def _kept(self, tile: Expr, made: _Part) -> Var:
        """Return the tensor through which a tile of the part ``made`` passes; store it there."""
        assert isinstance(tile, Var)
        held = self._held.get(tile)
        if held is None:
            held = self._tensor(tile, made.loop)
            made.stmts.append(self._stored(made.known.get(tile, tile), held))
        return held

    def _kept_at(self, tile: Expr, made: _Part, element: Var) -> Var:
        """Return a tensor with the contents of a tile at the point where ``element`` is read."""
        assert isinstance(tile, Var)
        if tile not in self._changed:
            return self._kept(tile, made)
        defined = [(at, var) for at, stmt in enumerate(made.stmts) for var in defined_by(stmt)]
        at = next(at for at, var in defined if var is element)
        held = self._new_tensor(tile, made.loop)
        made.stmts.insert(at, self._stored(made.known.get(tile, tile), held))
        return held

    def _tensor(self, var: Var, loop: LoopSlots | None) -> Var:
        """Return a new tensor through which a tile of one iteration passes."""
        self._held[var] = self._new_tensor(var, loop)
        return self._held[var]

    def _new_tensor(self, var: Var, loop: LoopSlots | None) -> Var:
        kind = var.type
        assert isinstance(kind, TileType)
        if static_shape(kind) is None or tile_space(var) is not MemorySpace.Vec:
            raise _Unsplit
        return self._in_slots(self._names.like(f"{var.name}_held"), kind, loop)

    def _in_slots(self, name: str, kind: TensorType | TileType, loop: LoopSlots | None) -> Var:
        """Return a new tensor, private to an iteration of the loop if there is one."""
        make = created if loop is None else loop.held
        made, held = make(name, kind.shape, kind.dtype, self._span)
        self._made.append(made)
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

    # ------------------------------------------------------------------- host or core

    def _is_for_host(self, stmt: AssignStmt) -> bool:
        """True for a value that the host computes: it needs nothing that a core has computed."""
        for node in walk(stmt.value):
            if isinstance(node, Call) and op_of(node) not in _ON_HOST:
                return False
        is_value = isinstance(stmt.var.type, ScalarType) or isinstance(stmt.value, Call)
        inside = (
            v for v in used_in(stmt) if v in self._where and not isinstance(v.type, TensorType)
        )
        return is_value and next(inside, None) is None

    def _reads_written(self, stmt: AssignStmt) -> bool:
        calls = [n for n in walk(stmt.value) if isinstance(n, Call) and op_of(n) is tensor.read]
        return any(self._is_written(arg) for call in calls for arg in call.args)

    def _is_written(self, value: Expr) -> bool:
        if not isinstance(value, Var) or not isinstance(value.type, TensorType):
            return False
        return not self._written.isdisjoint(self._roots.get(value, (value,)))

    def _floats(self, stmt: AssignStmt) -> bool:
        """True for a tile that each part makes for itself, from tensors that nothing writes."""
        call = stmt.value
        op = op_of(call)
        if not isinstance(call, Call) or not _is_tile(stmt.var) or op is None or op.writes:
            return False
        if stmt.var in self._changed:
            return False
        if op.pipe_of(call) is PipeType.V and any(_is_tile(arg) for arg in call.args):
            return False
        for var in used_in(stmt):
            scalar = isinstance(var.type, ScalarType) and var in self._where
            tile = _is_tile(var) and var not in self._floating
            if var is not stmt.var and (scalar or tile or self._is_written(var)):
                return False
        return True

    def _check_on_host(self, variables: Iterable[Var]) -> None:
        for var in variables:
            if var in self._where and isinstance(var.type, ScalarType):
                raise self._needed_on_host(var)
            if (var in self._where and not isinstance(var.type, TensorType)) or _is_tile(var):
                raise _Unsplit

    def _needed_on_host(self, scalar: Var) -> Exception:
        """Return the exception for a core's scalar that the host needs: which elements to read."""
        found: dict[Var, None] = {}
        pending = [scalar]
        for var in pending:  # grows as it goes
            value = self._scalars.get(var)
            if value is None:  # a loop or branch has made it
                return _Unsplit()
            if _is_element(value):
                found[var] = None
            elif isinstance(value, Call):
                return _Unsplit()
            else:
                pending += [inner for inner in uses([value]) if inner in self._where]
        return _NeededOnHost(found) if found else _Unsplit()

    # ------------------------------------------------------------------- loops and branches

    def _lift(self, nodes: list[_Node], stmt: Stmt) -> None:
        """Move a loop or branch to the host."""
        if isinstance(stmt, ForStmt | WhileStmt):
            inits = [arg.initValue for arg in stmt.iter_args if not _is_tile(arg)]
            bounds = () if isinstance(stmt, WhileStmt) else (stmt.start, stmt.stop, stmt.step)
            self._check_on_host(uses([*bounds, *inits]))
            tensors: list[Var | None] = []
            for arg, result in zip(stmt.iter_args, stmt.return_vars, strict=True):
                tensors.append(self._tensor(arg, self._loops[-1]) if _is_tile(arg) else None)
                if tensors[-1] is not None:
                    self._held[result] = tensors[-1]
                    self._add(nodes, self._stored(arg.initValue, tensors[-1]))
            lifted = _Lifted(stmt, [])
            self._loops.append(self._slots(stmt))
            self._body_of(lifted, stmt.body, tensors)
            loop = self._loops.pop()
            lifted.head = [] if loop is None else loop.head
            if isinstance(stmt, WhileStmt):
                self._check_on_host(uses([stmt.condition]))
        elif isinstance(stmt, IfStmt):
            self._check_on_host(uses([stmt.condition]))
            tensors = []
            for result in stmt.return_vars:
                held = self._tensor(result, self._loops[-1]) if _is_tile(result) else None
                tensors.append(held)
            lifted = _Lifted(stmt, [])
            for body in (stmt.then_body, stmt.else_body):
                if body is not None:
                    self._body_of(lifted, body, tensors)
        else:
            raise _Unsplit
        nodes.append(lifted)

    def _slots(self, loop: ForStmt | WhileStmt) -> LoopSlots | None:
        if isinstance(loop, WhileStmt):  # its iterations are not numbered
            return None
        return LoopSlots(loop, self._names, max(loop.stages, self._stages))

    def _body_of(self, lifted: _Lifted, body: Stmt, tensors: Sequence[Var | None]) -> None:
        inner: list[_Node] = []
        stmts = self._without_copies(list(statements(body)))
        end = stmts[-1] if stmts else None
        last = end if isinstance(end, YieldStmt) else None
        for stmt in self._in_order(stmts[:-1] if last is not None else stmts):
            self._add(inner, stmt)
        kept: list[Expr] = []
        values: Sequence[Expr] = last.value if last is not None else ()
        late: list[Stmt] = []
        for value, held in zip(values, tensors, strict=True):
            if held is None:
                self._check_on_host(uses([value]))
                kept.append(value)
            elif not isinstance(value, Var) or self._held.get(value) is not held:
                made = self._where.get(value) if isinstance(value, Var) else None
                is_yielded = any(self._held.get(v) is held for v in values if isinstance(v, Var))
                if made is not None and not is_yielded and _is_last_use(inner, made, held):
                    assert isinstance(value, Var)
                    made.stmts.append(self._stored(made.known.get(value, value), held))
                else:
                    late.append(self._stored(value, held))
        for stmt in late:
            self._add(inner, stmt)
        lifted.bodies.append(inner)
        lifted.yields.append(YieldStmt(kept, last.span) if last is not None and kept else None)

    def _in_order(self, stmts: Sequence[Stmt]) -> list[Stmt]:
        """Return the statements of a body in the order in which cores run them."""
        ordered = gathered(stmts, self._roots, self._own) if self._gathers else stmts
        return hoist_accumulator_stores(ordered, self._roots)

    def _without_copies(self, stmts: list[Stmt]) -> list[Stmt]:
        """Return statements in which each tile that does not change has one name.

        So a tile is stored where it is made, not where it is renamed.
        """
        known: dict[Var, Expr] = {}
        out: list[Stmt] = []
        for stmt in stmts:
            new = substitute(stmt, known) if known else stmt
            if (
                isinstance(new, AssignStmt)
                and isinstance(new.value, Var)
                and _is_tile(new.value)
                and self._changed.isdisjoint((new.var, new.value))
            ):
                known[new.var] = new.value
            else:
                out.append(new)
        return out

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
        if isinstance(stmt, ForStmt | WhileStmt):
            args = tuple([arg for arg in stmt.iter_args if not _is_tile(arg)])
            body = seq([*node.head, *statements(bodies[0])], stmt.span)
            changes = {"iter_args": args, "body": body, "return_vars": tuple(results)}
            return copy_with(stmt, changes)
        orelse = bodies[1] if len(bodies) > 1 else None
        return IfStmt(stmt.condition, bodies[0], orelse, results, stmt.span)
