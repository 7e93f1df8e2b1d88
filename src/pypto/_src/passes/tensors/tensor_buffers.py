"""The buffers of a kernel's tensors while its tensor ops become loops over tiles.

A name stands for the memory of a parameter, or of a tensor that a statement makes. A value that
crosses statements and has no such memory gets its own parameter, its home: ``out_<N>`` if the
kernel returns it, ``tmp_<N>`` if not. Which ops are fused is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto._src.analysis.accesses import SharedParams, alias_bases, heads
from pypto._src.analysis.stmt_tree import number
from pypto._src.errors import PassError
from pypto._src.ir.array_types import TensorType, exprs_of_type, same_dims
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.stmts import Function, ReturnStmt, statements
from pypto._src.ir.traversal.mutator import Mutator
from pypto._src.ir.traversal.queries import uses, variable_names


class TensorBuffers:
    """The buffers of the tensors of one kernel, and their current names.

    ``added`` and ``temporaries`` are the new parameters; some of the old ones may be ``shared``
    memory.
    """

    def __init__(self, function: Function, shared: Sequence[SharedParams] = ()) -> None:
        self.name = FreshNames(variable_names(function)).like
        self._now: dict[Var, Var] = {}  # the current name of each tensor variable
        self.buffer: dict[Var, Var] = {}  # the variable that stands for a name's memory
        self.part: set[Var] = set()  # names of parts of buffers
        self.views: dict[Var, tuple[Var, Sequence[Expr]]] = {}  # by name: source and offsets
        self._mapped = _Names(self._now)
        self.added: list[Var] = []
        self.temporaries: list[Var] = []
        self._roots = alias_bases(function, number(function))
        self.homes: dict[Var, Var] = {}
        self._params = set(function.params)
        self._symbols = self._params | {
            v for p in function.params for v in uses(exprs_of_type(p.type))
        }
        for param in function.params:
            if isinstance(param.type, TensorType):
                self.buffer[param] = param
        self._share(function.params, shared)
        self._results(function)

    def _share(self, params: Sequence[Var], shared: Sequence[SharedParams]) -> None:
        """Make parameters that may share memory parts of one buffer, or the same buffer."""
        for member, head in heads(shared).items():
            if member == head:
                continue
            self.buffer[params[member]] = params[head]
            distances = [each.distance for each in shared if each[:2] == (head, member)]
            is_same = same_dims(shape_of(params[head]), shape_of(params[member]))
            if (
                not is_same
                or not distances
                or any(distance is None or any(distance) for distance in distances)
            ):
                self.part.add(params[member])

    def _results(self, function: Function) -> None:
        """Make the parameters for results that are not parameters of the kernel."""
        last = next((s for s in statements(function.body) if isinstance(s, ReturnStmt)), None)
        for index, value in enumerate(last.value if last is not None else ()):
            if not isinstance(value, Var) or not isinstance(value.type, TensorType):
                continue
            roots = self._roots.get(value, ())
            if len(roots) == 1 and roots[0] in self._params:
                continue
            home = self._parameter(f"out_{index}", value, self.added)
            # A merged tensor, or a part of one, is copied; others are computed in place.
            if len(roots) == 1 and same_dims(shape_of(roots[0]), shape_of(value)):
                self.homes.setdefault(roots[0], home)
            self.homes.setdefault(value, home)

    def _parameter(self, name: str, like: Var, added: list[Var]) -> Var:
        kind = like.type
        assert isinstance(kind, TensorType)
        for var in uses(kind.shape):
            if var not in self._symbols:
                size = user_name(var)
                raise PassError(
                    f"'{user_name(like)}' has a size that only the kernel knows: '{size}'",
                    like.span,
                    hint=f"compute '{size}' before the with statement",
                    slug="tensor-size",
                )
        param = Var(self.name(name), TensorType(kind.shape, kind.dtype), like.span)
        added.append(param)
        self.buffer[param] = param
        return param

    def home(self, var: Var) -> Var:
        """Return the parameter that holds ``var``."""
        if var not in self.homes:
            name = f"tmp_{len(self.temporaries)}"
            self.homes[var] = self._parameter(name, var, self.temporaries)
        return self.homes[var]

    def rename(self, var: Var, name: Var, like: Var, *, part: bool = False) -> None:
        """Record that ``var`` is called ``name`` from now on, in the buffer of ``like``."""
        self._now[var] = name
        self.buffer[name] = self.buffer[like]
        if part or like in self.part:
            self.part.add(name)

    def at(self, var: Var) -> Var:
        """Return the current name of a tensor variable."""
        return self._now.get(var, var)

    def buffer_of(self, var: Var) -> Var:
        """Return the variable that stands for the memory of a tensor variable."""
        return self.buffer[self.at(var)]

    def named(self, node: Any) -> Any:
        """Return an expression or a statement with the current names of its tensors."""
        return self._mapped.visit(node)

    def merged(self, var: Var) -> Var | None:
        """Return the home of a variable that may be one of several tensors, else None."""
        is_merged = isinstance(var.type, TensorType) and len(self._roots.get(var, ())) > 1
        return self.home(var) if is_merged else None


class _Names(Mutator):
    """Replaces each of the program's tensor variables by its current name."""

    def __init__(self, present: dict[Var, Var]) -> None:
        super().__init__()
        self._present = present

    def visit_Var(self, var: Var) -> Expr:
        """Return the current name."""
        return self._present.get(var, var)


def shape_of(value: Expr) -> tuple[Expr, ...]:
    """Return the shape of a tensor."""
    assert isinstance(value.type, TensorType)
    return tuple(value.type.shape)
