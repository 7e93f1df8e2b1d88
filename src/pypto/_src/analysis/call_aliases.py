"""Which parameters of kernels are given the same memory by the calls of a program.

A host function may pass one tensor to two parameters, or overlapping views of one. Expects host
functions in SSA form with flattened calls; where they call each other, what the callee's parameters
share is known. Two tensors that loops swap are distinguished, and so are parameters of which the
kernel writes no element that it also touches through the other. Knows nothing about flags.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Final, TypeAlias

from pypto._src.analysis.accesses import AliasBases, Distance, SharedParams
from pypto._src.analysis.affine import Affine, combine, may_overlap
from pypto._src.analysis.affine import Box as Region
from pypto._src.analysis.box_sets import MOST_BOXES, Box, add
from pypto._src.analysis.iteration_accesses import IterationAccesses, box_of
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, call_of, points_in
from pypto._src.analysis.tensor_regions import Key, TensorAliasBases, TensorParts, keys
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Call, Expr, GlobalVar, Var
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import (
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    Stmt,
    WhileStmt,
    yielded,
)
from pypto._src.ir.traversal.queries import call_order, stmts_in
from pypto._src.records import NamedTuple

_MOST: Final = 64
"""How many ways in which parameters of one function share memory are distinguished."""


class Alias(NamedTuple):
    """Two parameters of a function to which a call passes, or may pass, the same memory."""

    params: SharedParams
    is_sure: bool
    caller: str
    call: Call
    touched: Touched | None = None  # by the kernel, None if unknown

    def may_meet(self, first: int, second: int) -> bool:
        """True if two statements of the kernel may touch one element through this alias.

        They are given by their numbers; see `stmt_tree.number`.
        """
        return self.touched is None or self.touched.may_meet(first, second, self.params)


def call_aliases(
    program: Program, roots: Mapping[str, Mapping[Var, AliasBases]]
) -> dict[str, list[Alias]]:
    """Return, by kernel, which of its parameters share memory in some call.

    ``roots`` has the tensors that the variables of each kernel may be. Parameters of functions that
    nothing calls are assumed to be distinct memory.
    """
    hosts: Sequence[Function] = [f for f in program.functions_ if role(f) is Role.HOST]
    if not any(_may_share(host) for host in hosts):
        return {}
    if len(hosts) > 1:
        hosts = call_order(program.with_functions(hosts))
    results: dict[str, tuple[tuple[int, ...], ...]] = {
        f.name: _results(f, roots[f.name]) for f in program.functions_ if f.name in roots
    }
    shares = False
    for host in hosts:
        each = TensorAliasBases(host, results)
        if len(hosts) > 1:  # they may call each other
            results[host.name] = each.results_in({param: i for i, param in enumerate(host.params)})
        shares = shares or any(_shares(call, each) for _, call in _calls(each))
    if not shares:
        return {}
    parts = {host.name: TensorParts(host, results) for host in hosts}
    found: dict[str, dict[object, Alias]] = {}
    for host in reversed(hosts):  # callers first
        known = [*found.get(host.name, {}).values()]
        for name, alias in _Calls(parts[host.name], known).aliases():
            _note(found.setdefault(name, {}), alias)
    kernels = [f for f in program.functions_ if f.name in roots and f.name in found]
    met = {f.name: list(_that_meet(f, found[f.name].values())) for f in kernels}
    return {name: aliases for name, aliases in met.items() if aliases}


def _that_meet(kernel: Function, aliases: Iterable[Alias]) -> Iterator[Alias]:
    """Yield the aliases through which a kernel may touch one element by two parameters.

    One is sure if the kernel certainly does so for at least one element that it writes.
    """
    whole = IterationAccesses(TensorParts(kernel, {}), {})
    whole.add_all()
    touched = None if whole.broken is not None else Touched(kernel.params, whole)
    for alias in aliases:
        meets = None if touched is None else touched.meets(alias.params)
        if meets is not False:
            yield alias._replace(is_sure=alias.is_sure and bool(meets), touched=touched)


class Touched:
    """The elements of its parameters that a kernel reads, and those that it writes."""

    def __init__(self, params: Sequence[Var], whole: IterationAccesses) -> None:
        self.params = params
        self.boxes: dict[tuple[Var, int], _Boxes] = {}  # read, and written
        self.at: dict[tuple[Var, int], _Boxes] = {}  # by the number of the statement
        self.lost = {*whole.unread, *whole.unknown}
        self.boxes.update({(root, True): None for root in whole.unknown})
        self.boxes.update({(root, False): None for root in whole.unread})
        for access in whole.found:
            box = box_of(access)
            _take(self.boxes, (access.root, access.writes), box)
            _take(self.at, (access.root, access.order), box)

    def meets(self, shared: SharedParams) -> bool | None:
        """True if one parameter is written where the other is touched, None if unknown."""
        first, second, distance = shared
        is_known = distance is not None and None not in distance
        for one, other in ((True, True), (True, False), (False, True)):
            boxes = self.boxes.get((self.params[first], one), [])
            others = self.boxes.get((self.params[second], other), [])
            if boxes is None or others is None:
                is_known = False
            elif _any_meet(boxes, others, distance):
                return True if is_known else None
        return False if is_known else None

    def may_meet(self, first: int, second: int, shared: SharedParams) -> bool:
        """True if two statements may touch one element, each through one of two parameters."""
        a, b = self.params[shared.first], self.params[shared.second]
        if a in self.lost or b in self.lost:
            return True
        return any(
            _any_meet(self.at.get((a, one), []), self.at.get((b, other), []), shared.distance)
            for one, other in ((first, second), (second, first))
        )


_Boxes: TypeAlias = "list[Box] | None"
"""Elements of a tensor, None for any."""


def _take(found: dict[tuple[Var, int], _Boxes], key: tuple[Var, int], box: Box | None) -> None:
    """Add a box to those of a key; None, or too many, make them any."""
    boxes = found.setdefault(key, [])
    if boxes is not None and box is not None:
        add(boxes, box)
    if box is None or (boxes is not None and len(boxes) > MOST_BOXES):
        found[key] = None


def _any_meet(boxes: _Boxes, others: _Boxes, distance: Distance) -> bool:
    """True if ``boxes`` may share an element with ``others`` shifted by ``distance``."""
    if boxes is None or others is None:
        return boxes != [] and others != []
    if distance is None:
        return bool(boxes and others)
    return any(_meet(box, other, distance) for box in boxes for other in others)


def _meet(box: Box, other: Box, distance: Sequence[int | None]) -> bool:
    """True if two boxes may share an element, the second one shifted by ``distance``."""
    if not len(box) == len(other) == len(distance):
        return True
    return all(
        by is None or (begin < last + by and first + by < end)
        for (begin, end), (first, last), by in zip(box, other, distance, strict=True)
    )


def _may_share(host: Function) -> bool:
    """True if a function has a call with two tensors that could be the same."""
    return any(
        sum([isinstance(arg.type, TensorType) for arg in call.args]) > 1
        for call in map(call_of, stmts_in(host.body))
        if call is not None and isinstance(call.op, GlobalVar)
    )


def _results(kernel: Function, roots: Mapping[Var, AliasBases]) -> tuple[tuple[int, ...], ...]:
    """Return for each result of a kernel the parameters that it may be."""
    positions = {param: i for i, param in enumerate(kernel.params)}
    found: list[tuple[int, ...]] = [() for _ in kernel.return_types]
    for stmt in stmts_in(kernel.body) if found else ():
        if isinstance(stmt, ReturnStmt):
            for i, value in enumerate(stmt.value[: len(found)]):
                of = roots.get(value, ()) if isinstance(value, Var) else ()
                new = [positions[root] for root in of if root in positions]
                found[i] = tuple(dict.fromkeys((*found[i], *new)))
    return tuple(found)


def _calls(tensors: TensorAliasBases) -> Iterator[tuple[ProgramPoint, Call]]:
    """Yield the calls of program functions."""
    for point in points_in(tensors.root):
        call = call_of(point.stmt)
        if call is not None and isinstance(call.op, GlobalVar):
            yield point, call


def _shares(call: Call, tensors: TensorAliasBases) -> bool:
    """True if two arguments of a call may be parts of one tensor."""
    args = [arg for arg in call.args if isinstance(arg.type, TensorType)]
    roots = [root for arg in args for root in tensors.bases_of(arg)]
    return len(set(roots)) < len(roots)


def _note(known: dict[object, Alias], alias: Alias) -> None:
    """Add an alias; a sure one replaces an unsure one."""
    if len(known) >= _MOST:
        alias = alias._replace(params=alias.params._replace(distance=None), is_sure=False)
    old = known.get(alias.params)
    if old is None or (alias.is_sure and not old.is_sure):
        known[alias.params] = alias


class _Sharing(NamedTuple):
    """How two arguments may share memory: the offset between their bases, before views of them."""

    distance: Distance
    is_sure: bool
    caller: str
    call: Call


class _Calls:
    """The calls that one host function makes; ``known`` has the aliases of its own parameters."""

    def __init__(self, parts: TensorParts, known: Sequence[Alias]) -> None:
        self.parts = parts
        self.name = parts.function.name
        params = parts.function.params
        self.known: dict[tuple[Var, Var], list[_Sharing]] = {}
        for (first, second, distance), is_sure, caller, call, _ in known:
            back = None if distance is None else tuple([d if d is None else -d for d in distance])
            a, b = params[first], params[second]
            for pair, sharing in (((a, b), distance), ((b, a), back)):
                self.known.setdefault(pair, []).append(_Sharing(sharing, is_sure, caller, call))

    def aliases(self) -> Iterator[tuple[str, Alias]]:
        """Yield the aliases among the arguments of each call, with the function's name."""
        for point, call in _calls(self.parts):
            if not self.known and not _shares(call, self.parts):
                continue
            tensors = [i for i, arg in enumerate(call.args) if isinstance(arg.type, TensorType)]
            for first, second in combinations(tensors, 2):
                for alias in self._of(call, first, second, point.block):
                    yield call.op.name, alias

    def _of(self, call: Call, first: int, second: int, block: Block) -> Iterator[Alias]:
        """Yield the ways in which two arguments of a call may share memory."""
        a, b = call.args[first], call.args[second]
        roots, others = self.parts.bases_of(a), self.parts.bases_of(b)
        pairs = [(r, o) for r in roots for o in others if r is o or (r, o) in self.known]
        if not pairs or not self._may_meet(keys(a), keys(b)):
            return
        if len(roots) > 1 or len(others) > 1:
            yield Alias(SharedParams(first, second, None), False, self.name, call)
            return
        [(root, other)] = pairs
        sharings = self.known.get((root, other), [])
        if root is other:
            made = self.origins.get((root, -1))
            is_sure = made is None or made.block is None or self._is_outside(made.block)
            sharings = [_Sharing((0,) * len(_shape(root)), is_sure, self.name, call)]
        for sharing in sharings:
            met = self._meeting(a, b, sharing, block)
            if met is not None:
                yield Alias(
                    SharedParams(first, second, met[0]), met[1], sharing.caller, sharing.call
                )

    def _meeting(
        self, a: Expr, b: Expr, sharing: _Sharing, block: Block
    ) -> tuple[Distance, bool] | None:
        """Return the offset of ``b`` in ``a``, and whether they certainly overlap.

        None if they do not overlap.
        """
        begin, other, apart = self._begin(a), self._begin(b), sharing.distance
        if begin is None or other is None or apart is None:
            return None, False
        if not len(begin) == len(other) == len(apart) == len(_shape(a)) == len(_shape(b)):
            return None, False
        sizes, others = self._sizes(a, block), self._sizes(b, block)
        distance: list[int | None] = []
        for axis, by in enumerate(apart):
            if by is None:
                distance.append(None)
                continue
            first, second = begin[axis], combine(other[axis], Affine(by, {}), 1)
            between = combine(second, first, -1)
            distance.append(None if between.terms else between.constant)
            one, two = Region((first,), (sizes[axis],)), Region((second,), (others[axis],))
            if not may_overlap(
                one, two, block, self.parts.iterations.integers, later_iteration=False
            ):
                return None
        return tuple(distance), sharing.is_sure and None not in (*distance, *sizes, *others)

    def _is_outside(self, block: Block) -> bool:
        """True if a block is outside all loops."""
        return self.parts.iterations.loop[block] is None

    def _begin(self, value: Expr) -> tuple[Affine, ...] | None:
        begin = self.parts.base(value)
        return (Affine(0, {}),) * len(_shape(value)) if begin == () else begin

    def _sizes(self, value: Expr, block: Block) -> list[int | None]:
        forms = [self.parts.iterations.integers.form(dim, block) for dim in _shape(value)]
        return [None if form.terms else form.constant for form in forms]

    # ----- which variables may be one tensor ----------------------------------------------------

    def _may_meet(self, first: Iterable[Key], second: Iterable[Key]) -> bool:
        """True if two variables may be one tensor at the same time.

        Traces them back to their origins, the later one first. A new tensor is distinct from all
        earlier ones; two results of one statement are traced through the same iteration or arm.
        """
        pending = [(a, b) for a in first for b in second]
        seen = set(pending)
        while pending:
            a, b = pending.pop()
            if (a[0] is b[0] and a[1] == b[1]) or (a[0], b[0]) in self.known:
                return True
            of_a, of_b = self.origins.get(a, _PARAM), self.origins.get(b, _PARAM)
            if of_a.stmt is not None and of_a.stmt is of_b.stmt and of_a.begin == of_b.begin:
                alternatives = zip(of_a.sources, of_b.sources, strict=True)
                new = [(x, y) for xs, ys in alternatives for x in xs for y in ys]
            elif of_a.begin < of_b.begin:
                new = [(a, y) for ys in of_b.sources for y in ys]
            else:
                new = [(x, b) for xs in of_a.sources for x in xs]
            fresh = [pair for pair in dict.fromkeys(new) if pair not in seen]
            seen.update(fresh)
            pending += fresh
        return False

    @cached_property
    def origins(self) -> Mapping[Key, _Origin]:
        """The origin of each variable that is not a parameter."""
        found: dict[Key, _Origin] = {}
        for point in points_in(self.parts.iterations.root):
            stmt, block = point.stmt, point.block
            match stmt:
                case AssignStmt(var=var, value=value):
                    for index, sources in self.parts.sources(value).items():
                        found[var, index] = _Origin(point.begin, None, [sources], block)
                case ForStmt() | WhileStmt():
                    ends = yielded(stmt.body)
                    for i, (arg, var) in enumerate(
                        zip(stmt.iter_args, stmt.return_vars, strict=True)
                    ):
                        sources = [keys(arg.initValue), keys(ends[i] if i < len(ends) else arg)]
                        found[arg, -1] = _Origin(point.begin, stmt, sources, block)
                        found[var, -1] = _Origin(point.end, stmt, sources, block)
                case IfStmt():
                    arms = [yielded(stmt.then_body), yielded(stmt.else_body)]
                    for i, var in enumerate(stmt.return_vars):
                        sources = [keys(arm[i]) if i < len(arm) else [] for arm in arms]
                        found[var, -1] = _Origin(point.end, stmt, sources, block)
                case _:
                    pass
        return found


class _Origin(NamedTuple):
    """Where a tensor variable comes from: its sources, by alternative; empty for a new tensor.

    Variables that one statement merges, at one point, have corresponding alternatives.
    """

    begin: int
    stmt: Stmt | None
    sources: Sequence[Sequence[Key]]
    block: Block | None


_PARAM: Final = _Origin(-1, None, (), None)


def _shape(value: Expr) -> tuple[Expr, ...]:
    kind = value.type
    assert isinstance(kind, TensorType)
    return tuple(kind.shape)
