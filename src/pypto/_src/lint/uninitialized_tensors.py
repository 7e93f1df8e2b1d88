"""Outputs that are not written, and tensors that are read before anything has written them.

Expects programs in SSA form with flattened calls, and visits callees first: a function's first
reads and its writes are summarized as boxes in terms of its parameters, which each call binds to
tensors. Sets of written elements are over-approximated and sets of read elements
under-approximated, so that what is reported is certain. Knows no op: which operands give the box
is in the op's definition.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import inf, prod
from typing import Final

from pypto._src.analysis.affine import Affine
from pypto._src.analysis.interval_sets import Cover, missing, repeated, shifted, union
from pypto._src.analysis.iteration_accesses import iterations_text
from pypto._src.analysis.iteration_tensors import (
    NOTHING,
    IterationFindings,
    iteration_findings,
    region_text,
)
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, call_of, points_in, read_by
from pypto._src.analysis.tensor_regions import TensorParts, moved
from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, Label, Span
from pypto._src.ir.array_types import TensorType, static_shape
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import Call, Expr, GlobalVar, IterArg, Var, const_value
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.stmts import AssignStmt, Function, IfStmt, Program
from pypto._src.ir.traversal.queries import call_order
from pypto._src.ops import tensor_math
from pypto._src.ops.rules.type_rules import called, dims
from pypto._src.records import NamedTuple

OUTPUT: Final = "out-never-written"
PATH: Final = "out-not-always-written"
PART: Final = "out-partly-written"
READ: Final = "uninitialized-tensor"
LOST: Final = "lost-write"

_MOST_PARTS: Final = 64
"""How many writes, or first reads, of one parameter are tracked separately."""


class Side(NamedTuple):
    """Indices along one dimension: ``cover`` shifted by ``base``; a ``cover`` of None means any.

    The atoms of ``base`` are parameters of the function that the side belongs to.
    """

    base: Affine
    cover: Cover | None


_ANY: Final = Side(Affine(0, {}), None)


class Part(NamedTuple):
    """An upper bound of some elements of a tensor: indices by dimension, and how many there are."""

    sides: tuple[Side, ...] | None  # None for any
    volume: int | None  # None for any


_ALL: Final = Part(None, None)


class Read(NamedTuple):
    """Elements that a function certainly reads, all of them, before it writes any.

    A side is None where the elements are not known.
    """

    sides: tuple[tuple[Affine, int] | None, ...]
    reader: str
    span: Span


class Summary(NamedTuple):
    """What a call of a function does with its tensor arguments."""

    writes: Mapping[int, Sequence[Part]]
    reads: Mapping[int, Sequence[Read]]
    results: tuple[tuple[int, ...], ...]  # for each, the parameters that it may be
    positions: Mapping[Expr, int]  # of the parameters


def uninitialized_tensors(
    program: Program, inner: Collection[str], names: Mapping[Call, str]
) -> list[Diagnostic]:
    """Return a finding for each output that is not written, and each uninitialized read.

    ``program`` is in SSA form with flattened calls; ``inner`` are the functions that others call,
    ``names`` maps calls to the names of their values in the source.
    """
    known: dict[str, Summary] = {}
    looked: dict[str, _Tensors] = {}
    for function in call_order(program):
        looked[function.name] = _Tensors(function, known, names)
        known[function.name] = looked[function.name].summary()
    iterations = iteration_findings(program, inner, looked)
    return [
        each
        for function in program.functions_
        for each in looked[function.name].findings(
            iterations.get(function.name, NOTHING), is_entry=function.name not in inner
        )
    ]


class _Write(NamedTuple):
    begin: int
    block: Block
    part: Part


class _Tensors(TensorParts):
    """One function: its tensors, in the order of the text."""

    def __init__(
        self, function: Function, known: Mapping[str, Summary], names: Mapping[Call, str]
    ) -> None:
        results = {name: summary.results for name, summary in known.items()}
        super().__init__(function, results)
        self.known = known
        self.names = names
        self.scalars: dict[Expr, None] = dict.fromkeys(function.params)
        self.directions = {
            param: direction
            for param, direction in zip(function.params, function.param_directions, strict=True)
            if isinstance(param.type, TensorType)
        }
        # Where computed tensors are used, with what writes them.
        self.users: dict[Var, dict[ProgramPoint, str]] = {}
        self.writes: dict[Var, list[_Write]] = {}
        self.covers: dict[Var, list[list[Cover | None]]] = {}  # of the writes up to each
        self.first_reads: dict[Var, list[Read]] = {}
        self.found: dict[Var, Diagnostic] = {}
        points = points_in(self.iterations.root)
        for look in (self._note_writes, self._note_reads):
            for point in points:
                look(point)

    # ----- what is written ----------------------------------------------------------------------

    def _note_writes(self, point: ProgramPoint) -> None:
        stmt, call, block = point.stmt, call_of(point.stmt), point.block
        if call is not None:
            if isinstance(call.op, GlobalVar):
                self._written_by_callee(point, call)
            elif (op := op_of(call)) is not None:
                for index in sorted(op.writes):
                    part = self._part(call, op, index, block)
                    self._write(point, call.args[index], part)
        if isinstance(stmt, AssignStmt) and stmt.var in self.computed:
            self.writes.setdefault(stmt.var, []).append(_Write(point.begin, block, _ALL))

    def _part(self, call: Call, op: OpDef[..., object], index: int, block: Block) -> Part:
        """Return the part of a tensor operand that a call may touch."""
        box = self.box(call, op, index, block)
        base = self.base(call.args[index])
        offsets = None if box is None or base is None else moved(base, box[0])
        if box is None or offsets is None:
            return _ALL
        sides = [
            self._repeat(Side(offset, None if size is None else ((0, size),)), block)
            for offset, size in zip(offsets, box[1], strict=True)
        ]
        return self._made_part(sides, [size for size in box[1] if size is not None], block)

    def _made_part(self, sides: Sequence[Side], sizes: Sequence[int], block: Block) -> Part:
        trips = self.iterations.trips[block]
        if trips is None or len(sizes) < len(sides) or any(side.cover is None for side in sides):
            return Part(tuple(sides), None)
        return Part(tuple(sides), trips * prod(sizes))

    def _repeat(self, side: Side, block: Block) -> Side:
        """Return the union of a side over all iterations of the loops around ``block``."""
        cover = side.cover
        begin = side.base.constant
        terms: dict[Expr, int] = {}
        counted: list[tuple[int, int]] = []
        for atom, factor in side.base.terms.items():
            values = self._values(atom)
            if values is not None:
                begin += factor * (values[0] if values else 0)
                counted.append((factor * values.step, len(values)))
            elif atom in self.scalars:
                terms[atom] = factor
            else:
                return _ANY
        if cover is not None:
            for distance, count in sorted(counted, key=lambda each: abs(each[0])):
                cover = repeated(cover, distance, count)
        return Side(Affine(begin, terms), cover)

    def _values(self, atom: Expr) -> range | None:
        """Return the values of a loop variable, None if they are not known."""
        counter = self.iterations.integers.counters.get(atom)
        if counter is None or counter.step is None or inf in (-counter.low, counter.high):
            return None
        low, high = int(counter.low), int(counter.high)
        if counter.step > 0:
            return range(low, high + 1, counter.step)
        return range(high, low - 1, counter.step)

    def _written_by_callee(self, point: ProgramPoint, call: Call) -> None:
        callee = self.known.get(call.op.name)
        for index, arg in enumerate(call.args):
            if callee is None:
                self._write(point, arg, _ALL)
                continue
            for part in callee.writes.get(index, ()):
                self._write(point, arg, self._translated(part, callee, call, arg, point.block))

    def _translated(self, part: Part, callee: Summary, call: Call, arg: Expr, block: Block) -> Part:
        """Return the part of an argument that a callee touches, in terms of this function."""
        base = self.base(arg)
        if part.sides is None or base is None:
            return _ALL
        at = moved(
            base, tuple([self.bound(s.base, callee.positions, call, block) for s in part.sides])
        )
        if at is None:
            return _ALL
        sides = [
            self._repeat(Side(begin, side.cover), block)
            for begin, side in zip(at, part.sides, strict=True)
        ]
        trips, volume = self.iterations.trips[block], part.volume
        if trips is None or volume is None or any(side.cover is None for side in sides):
            return Part(tuple(sides), None)
        return Part(tuple(sides), volume * trips)

    def _write(self, point: ProgramPoint, value: Expr, part: Part) -> None:
        for root in self.bases_of(value):
            self.writes.setdefault(root, []).append(_Write(point.begin, point.block, part))

    # ----- what is read -------------------------------------------------------------------------

    def _note_reads(self, point: ProgramPoint) -> None:
        call, block = call_of(point.stmt), point.block
        if self.computed:
            self._note_users(point, call)
        if call is None:
            return
        if isinstance(call.op, GlobalVar):
            callee = self.known.get(call.op.name)
            if callee is not None:
                for index, reads in callee.reads.items():
                    for read in reads:
                        seen = self._seen(read, callee, call, index, block)
                        self._read(point, call.args[index], seen)
            return
        op = op_of(call)
        if op is None or op.view_of is not None:
            return
        for index in sorted(op.reads):
            if index < len(call.args) and isinstance(call.args[index].type, TensorType):
                box = self.box(call, op, index, block)
                base = self.base(call.args[index])
                at = None if box is None or base is None else moved(base, box[0])
                sides = self._sure(at, () if box is None else box[1], block)
                self._read(point, call.args[index], Read(sides, called(op), call.span))

    def _note_users(self, point: ProgramPoint, call: Call | None) -> None:
        """Record what a statement does with computed tensors."""
        values: Sequence[Expr] = read_by(point.stmt) if call is None else call.args
        for index, value in enumerate(values):
            for root in self.bases_of(value):
                if root in self.computed:
                    writer = "" if call is None else self._writer(call, index)
                    users = self.users.setdefault(root, {})
                    users[point] = writer if users.get(point, writer) else ""

    def _writer(self, call: Call, index: int) -> str:
        """Return the name of the op or function if it only writes the operand, else ""."""
        op = op_of(call)
        if op is not None:
            return called(op) if index in op.writes and index not in op.reads else ""
        callee = self.known.get(call.op.name)
        if callee is None or callee.reads.get(index) or not callee.writes.get(index):
            return ""
        return call.op.name

    def _seen(self, read: Read, callee: Summary, call: Call, index: int, block: Block) -> Read:
        """Return what a callee reads first, in terms of this function."""
        base = self.base(call.args[index])
        if base is None or None in read.sides:
            return Read((), call.op.name, call.span)
        known = [side for side in read.sides if side is not None]
        bound = tuple([self.bound(form, callee.positions, call, block) for form, _ in known])
        sides = self._sure(moved(base, bound), [size for _, size in known], block)
        return Read(sides, call.op.name, call.span)

    def _sure(
        self, at: tuple[Affine, ...] | None, sizes: Sequence[int | None], block: Block
    ) -> tuple[tuple[Affine, int] | None, ...]:
        """Return the box that is read in the first iterations of the loops around ``block``."""
        if at is None:
            return ()
        found: list[tuple[Affine, int] | None] = []
        for offset, size in zip(at, sizes, strict=True):
            form = self.iterations.at_start(offset, block)
            is_known = form is not None and all(atom in self.scalars for atom in form.terms)
            found.append((form, size) if is_known and form is not None and size else None)
        return tuple(found)

    def _read(self, point: ProgramPoint, value: Expr, read: Read) -> None:
        roots = self.bases_of(value)
        until = self.iterations.until(point)
        if not roots:
            return
        if any(self._count(root, until) for root in roots):
            if len(roots) == 1:
                self._read_part(roots[0], read, until)
            return
        sure = self.iterations.is_sure(point.block, 0)
        for root in roots:
            if root in self.directions:
                known = self.first_reads.setdefault(root, [])
                if sure and len(roots) == 1 and len(known) < _MOST_PARTS:
                    known.append(read)
        if all(self._has_no_value(root) for root in roots):
            while isinstance(value, IterArg):  # what it is in the first iteration
                value = value.initValue
            self._add((*self.bases_of(value), *roots)[0], read, "")

    def _count(self, root: Var, until: int) -> int:
        """Return how many writes of a tensor come before the number ``until``."""
        return bisect_left(self.writes.get(root, ()), until, key=lambda write: write.begin)

    def _has_no_value(self, root: Var) -> bool:
        return root in self.made or self.directions.get(root) is ParamDirection.Out

    def _read_part(self, root: Var, read: Read, until: int) -> None:
        """Report elements that are read and that no earlier write can have reached."""
        if root in self.found or not self._has_no_value(root):
            return
        covers = self._covers(root, self._count(root, until))
        for axis, (side, cover) in enumerate(zip(read.sides, covers, strict=False)):
            if side is None or side[0].terms or cover is None:
                continue
            begin = side[0].constant
            left = missing((begin, begin + side[1]), cover)
            if left is not None:
                self._add(root, read, f"{left[0]}:{left[1]} in dimension {axis} of ")
                return

    def _covers(self, root: Var, count: int) -> list[Cover | None]:
        """Return for each dimension what the first ``count`` writes may have written."""
        assert isinstance(root.type, TensorType)
        known = self.covers.setdefault(root, [[() for _ in root.type.shape]])
        while len(known) <= count:
            known.append(_with(known[-1], self.writes[root][len(known) - 1].part))
        return known[count]

    def _add(self, root: Var, read: Read, what: str, when: str = "") -> None:
        if root in self.found:
            return
        name = self._name(root)
        text = f"{read.reader} reads {what}{name}, which is uninitialized"
        text = f"{text} where {when}" if when else text
        hint = None
        if root in self.made:
            label = Label(self.made[root].span, f"{name} is made here and has no value yet")
        else:
            label = Label(root.span, "an output, which a caller need not give a value")
            hint = f"write {root.name}: pl.InOut[...]"
        error = DiagnosticSeverity.Error
        self.found[root] = Diagnostic(error, READ, 0, text, read.span, related=(label,), hint=hint)

    def _name(self, root: Var) -> str:
        call = self.made.get(root)
        return root.name if call is None else self.names.get(call, root.name)

    # ----- results ------------------------------------------------------------------------------

    def summary(self) -> Summary:
        """Return what calls of the function do."""
        writes: dict[int, Sequence[Part]] = {}
        reads: dict[int, Sequence[Read]] = {}
        for index, param in enumerate(self.function.params):
            parts = [write.part for write in self.writes.get(param, ())]
            if not parts and self.directions.get(param) is ParamDirection.Out:
                parts = [_ALL]  # a missing write is reported here, not again in callers
            writes[index] = parts if len(parts) <= _MOST_PARTS else [_ALL]
            reads[index] = self.first_reads.get(param, ())
        positions: dict[Expr, int] = {param: i for i, param in enumerate(self.function.params)}
        return Summary(writes, reads, self.results_in(positions), positions)

    def findings(self, iterations: IterationFindings, *, is_entry: bool) -> list[Diagnostic]:
        """Return the function's findings; partly written outputs count only if nothing calls it."""
        for root, (access, box) in iterations.reads.items():
            what = f"{region_text(box)} of "
            self._add(
                root, Read((), access.reader, access.span), what, iterations_text(access.around)
            )
        found = [*iterations.outside, *self.found.values(), *self._lost()]
        outputs = [r for r, d in self.directions.items() if d is ParamDirection.Out]
        if is_entry:
            returned = dict.fromkeys(roots for roots in self.returned() if len(roots) == 1)
            outputs += [root for (root,) in returned if root in self.made]
        for root in outputs:
            if root in self.found:
                continue
            finding = self._uninitialized(root, is_entry)
            if finding is None and root in iterations.left:
                finding = self._part_of(
                    root, f"nothing writes {region_text(iterations.left[root])}"
                )
            if finding is not None:
                found.append(finding)
        return found

    def _lost(self) -> Iterator[Diagnostic]:
        """Yield an error for each tensor that is computed, written to, and then not used again."""
        for root, users in self.users.items():
            [(point, writer), *more] = users.items()
            call, op = self.computed[root], op_of(self.computed[root])
            if more or not writer or op is None:
                continue
            source = next((a.name for a in call.args if isinstance(a, Var)), "its operand")
            yield Diagnostic(
                DiagnosticSeverity.Error,
                LOST,
                0,
                f"what {writer} writes is lost: {called(op)} makes a new tensor, and nothing "
                "reads it afterwards",
                point.stmt.span,
                related=(Label(call.span, f"a copy, not {source} itself"),),
                hint=_kept(root, call),
            )

    def _uninitialized(self, root: Var, is_entry: bool) -> Diagnostic | None:
        writes = self.writes.get(root, [])
        what, span = self._output(root)
        if not writes:
            error = DiagnosticSeverity.Error
            return Diagnostic(error, OUTPUT, 0, f"{what} is never written", span)
        if not is_entry:
            return None
        branch = self._bypass({write.block for write in writes}, {w.begin for w in writes})
        if branch is not None:
            point, holds = branch
            assert isinstance(point.stmt, IfStmt)
            word = "holds" if holds else "does not hold"
            return Diagnostic(
                DiagnosticSeverity.Warning,
                PATH,
                0,
                f"{what} is not written where a condition {word}",
                span,
                related=(Label(point.stmt.condition.span, "the condition"),),
            )
        left = self._left(root, [write.part for write in writes])
        return None if left is None else self._part_of(root, left)

    def _output(self, root: Var) -> tuple[str, Span]:
        """Return an output in words, and its span."""
        what = f"{'result' if root in self.made else 'output'} {self._name(root)!r}"
        span = self.made[root].span if root in self.made else root.span
        return f"{what} of {self.function.name}", span

    def _part_of(self, root: Var, left: str) -> Diagnostic:
        what, span = self._output(root)
        hint = None if root in self.made else f"write {root.name}: pl.InOut[...]"
        text = f"{what} is written in part only: {left}"
        return Diagnostic(DiagnosticSeverity.Warning, PART, 0, text, span, hint=hint)

    def _bypass(self, blocks: set[Block], begins: set[int]) -> tuple[ProgramPoint, bool] | None:
        """Return the branch at which a path that avoids all writes begins, and its outcome."""
        pending: list[tuple[Block, tuple[ProgramPoint, bool] | None]] = [
            (self.iterations.root, None)
        ]
        while pending:
            block, last = pending.pop()
            inside = [b for b in blocks if block.begin <= b.begin < block.end]
            if not inside:
                return last
            if any(b is block for b in inside):
                continue
            holding = [s for s in block.points if s.blocks and _holds_any(s, inside)]
            if len(holding) != 1:
                continue
            [point] = holding
            if not isinstance(point.stmt, IfStmt):
                pending.append((point.blocks[0], last))
            elif self.iterations.outcomes[point] is None and self.iterations.is_free(
                point.stmt.condition
            ):
                if len(point.blocks) == 1:
                    return point, False
                pending += [(b, (point, i == 0)) for i, b in enumerate(point.blocks)]
        return None

    def _left(self, root: Var, parts: Sequence[Part]) -> str | None:
        """Return which part of a tensor is certainly not written, None where all of it may be."""
        kind = root.type
        assert isinstance(kind, TensorType)
        covers: list[Cover | None] = [() for _ in kind.shape]
        for part in parts:
            covers = _with(covers, part)
        for axis, (dim, cover) in enumerate(zip(kind.shape, covers, strict=True)):
            size = const_value(dim)
            left = None if size is None or size < 0 or cover is None else missing((0, size), cover)
            if left is not None:
                return f"nothing writes {left[0]}:{left[1]} in dimension {axis}"
        shape = static_shape(kind)
        volumes = [p.volume for p in parts if all(not s.base.terms for s in p.sides or (_ANY,))]
        known = [volume for volume in volumes if volume is not None]
        if shape is None or len(known) < len(parts) or sum(known) >= prod(shape):
            return None
        return f"at most {sum(known)} of its {prod(shape)} elements"


def _holds_any(point: ProgramPoint, blocks: Iterable[Block]) -> bool:
    return any(point.begin < block.begin < point.end for block in blocks)


def _with(covers: Sequence[Cover | None], part: Part) -> list[Cover | None]:
    """Return the covers with one more part written; None for any index of a dimension."""
    if part.sides is None or len(part.sides) != len(covers):
        return [None] * len(covers)
    found: list[Cover | None] = []
    for cover, side in zip(covers, part.sides, strict=True):
        if cover is None or side.cover is None or side.base.terms:
            found.append(None)
        else:
            found.append(union((cover, shifted(side.cover, side.base.constant))))
    return found


def _kept(root: Var, call: Call) -> str | None:
    """Return a hint on how to bring writes to a reshaped copy back into the tensor."""
    source = call.args[0]
    if call.op is not tensor_math.reshape or not isinstance(source, Var):
        return None
    kind, whole = root.type, source.type
    assert isinstance(kind, TensorType)
    assert isinstance(whole, TensorType)
    return (
        f"write to t = pl.create_tensor({dims(kind.shape)}, pl.{kind.dtype.member}), and then "
        f"pl.assemble({source.name}, pl.reshape(t, {dims(whole.shape)}), {[0] * len(whole.shape)})"
    )
