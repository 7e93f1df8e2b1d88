"""A lower bound of the memory that a host function needs for its tensors, known before it runs.

A tensor is allocated by its statement and live until the last statement that names it, or a view
or result of it. So tensors live at the same statement are allocated at the same time, however
tasks overlap; the peak of their sizes is what a call needs at least. Sizes known only at run time
count as nothing; of several tensors made by loops and branches in a statement the largest counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pypto._src.emit.host.tensor_aliases import Results, tensor_roots
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Call, ConstInt, Expr, Var, const_value
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt, Function, Program, Stmt, statements
from pypto._src.ir.traversal.mutator import substitute
from pypto._src.ir.traversal.queries import occurring, stmts_in, uses
from pypto._src.ir.types import ScalarType
from pypto._src.ops import tensor as tensor_ops
from pypto._src.records import NamedTuple
from pypto._src.run.arguments.symbolic_sizes import Computation, KnownSizes

_SMALL: Final = 1 << 28
"""Calls that need less are not checked: the system's own figure is no more accurate than that."""

_NAMED: Final = 3
_MOST_DEFINITIONS: Final = 16  # substituted one after the other in a size


class NeededTensor(NamedTuple):
    """A tensor that a program makes."""

    var: Var
    shape: tuple[int, ...]
    dtype: str
    bytes: int

    @property
    def name(self) -> str:
        """Its name in the source."""
        from pypto._src.ir.inspect.source_names import user_name

        return user_name(self.var)

    def __str__(self) -> str:
        return f"{self.name} {list(self.shape)} {self.dtype} of {size_text(self.bytes)}"


class MemoryNeed(NamedTuple):
    """The least memory that a call needs for tensors that the program makes."""

    bytes: int
    """The peak of the bytes live at one time."""
    tensors: tuple[NeededTensor, ...]
    """The tensors live at the peak, the largest first."""


class _Made(NamedTuple):
    var: Var
    dtype: str
    element_bytes: int
    sizes: tuple[int, ...]
    """Indices of its dimensions among all dimensions that are computed."""
    first: int
    last: int
    is_nested: bool


class MemoryNeeds:
    """The memory that calls of a host function need."""

    def __init__(self, function: Function, program: Program) -> None:
        """Find the tensors of a function after the passes, and their live ranges."""
        self._function = function
        self._known = KnownSizes(function, len(function.params))
        self._dims: list[Expr] = []
        self._made = list(self._tensors(program))
        self._vars = list(dict.fromkeys(uses(self._dims)))
        plan = Computation(self._vars, self._dims, function) if self._dims else None
        self._plan = plan
        self._fixed = None if self._vars else self._need(plan.of([]) if plan else [])

    @property
    def are_small(self) -> bool:
        """True if no call needs enough to be checked."""
        return self._fixed is not None and self._fixed.bytes < _SMALL

    def of(self, values: Sequence[object]) -> MemoryNeed:
        """Return what a call with these arguments needs."""
        if self._fixed is not None:
            return self._fixed
        assert self._plan is not None
        known = self._known.of(values)
        return self._need(self._plan.of([known[var] for var in self._vars]))

    def check(self, values: Sequence[object]) -> None:
        """Reject a call that needs more than the machine has left.

        Raises:
            MemoryError: the memory is too small; the text names the largest tensors.
        """
        need = self.of(values)
        if need.bytes < _SMALL:
            return
        left = available_bytes()
        if left is not None and need.bytes > left:
            largest = "; ".join(map(str, need.tensors[:_NAMED]))
            raise MemoryError(
                f"{self._function.name} makes tensors of {size_text(need.bytes)} that it needs at "
                f"the same time, but {size_text(left)} are free; the largest: {largest}"
            )

    def _tensors(self, program: Program) -> Iterator[_Made]:
        stmts = statements(self._function.body)
        try:
            roots = tensor_roots(self._function, Results(program))
        except EmitError:  # a function returns a tensor of its own: live ranges seem shorter
            roots = tensor_roots(self._function)
        last: dict[Var, int] = {}
        for number, stmt in enumerate(stmts):
            for inner in stmts_in(stmt):
                for var in occurring(inner):
                    root = roots.get(var)
                    if root is not None:
                        last[root] = number
        definitions = self._definitions(stmts)
        for number, stmt in enumerate(stmts):
            for inner in stmts_in(stmt):
                if not isinstance(inner, AssignStmt) or op_of(inner.value) is not tensor_ops.create:
                    continue
                kind = inner.var.type
                assert isinstance(kind, TensorType)
                dims = [self._resolved(dim, definitions) for dim in kind.shape]
                known = [dim for dim in dims if dim is not None]
                if len(known) < len(dims):
                    continue
                first = len(self._dims)
                self._dims += known
                is_nested = inner is not stmt
                end = number if is_nested else last.get(inner.var, number)
                sizes = tuple(range(first, len(self._dims)))
                dtype = kind.dtype
                yield _Made(inner.var, str(dtype), dtype.bytes, sizes, number, end, is_nested)

    def _definitions(self, stmts: Sequence[Stmt]) -> dict[Var, Expr]:
        """Return the definitions of those scalars of the function that sizes may depend on."""
        found: dict[Var, Expr] = {}
        for stmt in stmts:
            if not isinstance(stmt, AssignStmt) or not isinstance(stmt.var.type, ScalarType):
                continue
            value = stmt.value
            if op_of(value) is tensor_ops.dim:
                assert isinstance(value, Call)
                kind, axis = value.args[0].type, const_value(value.args[1])
                if isinstance(kind, TensorType) and axis is not None:
                    found[stmt.var] = kind.shape[axis]
            elif not isinstance(value, Call):
                found[stmt.var] = value
        return found

    def _resolved(self, dim: Expr, definitions: dict[Var, Expr]) -> Expr | None:
        """Return a size in terms of what the arguments determine; None if they do not."""
        for _ in range(_MOST_DEFINITIONS):
            if isinstance(dim, ConstInt):
                return dim
            unknown = [var for var in dict.fromkeys(uses([dim])) if var not in self._known.vars]
            if not unknown:
                return dim
            if any(var not in definitions for var in unknown):
                return None
            dim = substitute(dim, {var: definitions[var] for var in unknown})
        return None

    def _need(self, sizes: Sequence[int]) -> MemoryNeed:
        best = MemoryNeed(0, ())
        needed: list[tuple[_Made, NeededTensor]] = []
        for made in self._made:
            shape = tuple([max(int(sizes[i]), 0) for i in made.sizes])
            total = made.element_bytes
            for size in shape:
                total *= size
            needed.append((made, NeededTensor(made.var, shape, made.dtype, total)))
        for moment in dict.fromkeys(made.first for made, _ in needed):
            alive = [
                tensor
                for made, tensor in needed
                if made.first <= moment <= made.last and not made.is_nested
            ]
            inside = [t for made, t in needed if made.is_nested and made.first == moment]
            if inside:
                alive.append(max(inside, key=lambda tensor: tensor.bytes))
            total = sum(tensor.bytes for tensor in alive)
            if total > best.bytes:
                alive.sort(key=lambda tensor: -tensor.bytes)
                best = MemoryNeed(total, tuple(alive))
        return best


def size_text(count: int) -> str:
    """Return a number of bytes as readable text."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"


def available_bytes() -> int | None:
    """Return the memory that this machine has available, None where that is not known."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
