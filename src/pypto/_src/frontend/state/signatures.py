"""What callers know about a function of the program, which may not have been parsed yet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

from pypto._src.diagnostics import Label, Span
from pypto._src.errors import ParserTypeError
from pypto._src.ir.array_types import valid_part
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import Call, Var
from pypto._src.ir.stmts import Function
from pypto._src.ir.traversal.queries import defined_by, stmts_in
from pypto._src.ir.types import Type
from pypto._src.records import NamedTuple


class Signature(NamedTuple):
    """What callers need to know of a function."""

    name: str
    params: tuple[Var, ...]
    directions: tuple[ParamDirection, ...]
    results: tuple[Type, ...]
    kept: frozenset[Var] = frozenset()
    """The parameters that are valid sizes of results, and that the function never assigns."""

    @staticmethod
    def of(function: Function) -> Signature:
        """Return the signature of a finished function."""
        results = function.return_types
        named = frozenset(size for kind in results for size in valid_part(kind) or ())
        kept = {param for param in function.params if param in named}
        if kept:
            kept.difference_update(*map(defined_by, stmts_in(function.body)))
        params, directions = function.params, function.param_directions
        return Signature(function.name, params, directions, results, frozenset(kept))


class Swapped(NamedTuple):
    """A call that only reads an output and writes a non-output: perhaps the two are swapped."""

    called: Signature
    call: Call
    read: int
    written: int

    def error(self, output: Var, prefix: str) -> ParserTypeError:
        """Return the error that shows the two swapped."""
        from pypto._src.ir.inspect.source_names import user_name

        args, name = [*self.call.args], self.called.name
        args[self.read], args[self.written] = args[self.written], args[self.read]
        param = self.called.params[self.read]
        texts = [user_name(arg) if isinstance(arg, Var) else str(arg) for arg in args]
        return ParserTypeError(
            f"{name} only reads {param.name!r}, for which it gets the output {output.name!r}",
            self.call.span,
            hint=f"write {prefix}{name}({', '.join(texts)})",
            slug="out-swapped",
            related=(Label(param.span, "the parameter"),) if param.span.begin_line > 0 else (),
        )


class Callee(ABC):
    """A function of the program, perhaps not parsed yet."""

    @abstractmethod
    def signature(self, span: Span) -> Signature:
        """Return the signature; ``span`` is the call's, for errors."""

    @abstractmethod
    def of_blocks(self) -> Any:
        """Return the function for a launch to expand, None if it does not read its block index."""


class Functions(Protocol):
    """What a function sees of the program around it."""

    name: str
    """The name of the class, or an empty string."""

    def method(self, name: str) -> Callee | None:
        """Return the function that ``self.<name>`` is, or None."""
        ...

    def attribute(self, name: str) -> Any:
        """Return the class attribute ``name``, `MISSING` if there is none."""
        ...

    def names(self) -> list[str]:
        """Return the names of all methods."""
        ...

    def use(self, function: Function, span: Span) -> None:
        """Add a function from outside the program."""
        ...
