"""The arguments of a compiled program: checked against the signature, turned into words.

Knows what the arguments of a call say together, which one alone does not: that they fit each other
and share no memory that is written. Knows nothing of compilers and tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from pypto._src.diagnostics import counted
from pypto._src.errors import CallError
from pypto._src.ir.array_types import TensorType, static_shape
from pypto._src.ir.exprs import Var, const_value
from pypto._src.ir.inspect.source_names import size_text
from pypto._src.ir.stmts import Function
from pypto._src.lazy import lazy_module
from pypto._src.ops.rules.type_rules import new_array
from pypto._src.records import NamedTuple
from pypto._src.run.arguments.array_views import zeros_like_others
from pypto._src.run.arguments.dim_solver import Sizes
from pypto._src.run.arguments.parameters import (
    ScalarParameter,
    TensorParameter,
    address_of,
    parameter_of,
)
from pypto._src.run.arguments.symbolic_sizes import DependentSizes, KnownSizes
from pypto._src.suggestions import keyword_hint

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")


class Bound(NamedTuple):
    """Arguments that fit: NumPy arrays and Python numbers, and the words that kernels take."""

    values: list[Any]
    words: list[int]  # the address of an array, the bits of a number


class Signature:
    """The parameters of a function, ready to check and convert arguments."""

    def __init__(
        self, function: Function, writes: Sequence[bool], given: int | None = None
    ) -> None:
        """Prepare the checks.

        Args:
            function: The function that is called.
            writes: Whether it writes each of its parameters.
            given: How many of the first parameters a call gives; all if None.

        Raises:
            CallError: a parameter is neither a tensor nor a scalar, or has no NumPy type.
        """
        self.name = function.name
        self._function = function
        rows = zip(function.params, function.param_directions, writes, strict=True)
        self._params = [parameter_of(function, *row) for row in islice(rows, given)]
        tensors = [(i, p) for i, p in enumerate(self._params) if isinstance(p, TensorParameter)]
        # A tensor that is written must not share memory with any other.
        pairs = [
            (i, [j for j, q in tensors if i < j or not q.writes]) for i, p in tensors if p.writes
        ]
        self._pairs = [(i, others) for i, others in pairs if others]
        self._dependent = DependentSizes(function, len(self._params))

    def __str__(self) -> str:
        """Return the call with its parameters: ``main(x: Tensor[[64], FP32], n: ...)``."""
        return f"{self.name}({', '.join(f'{p.name}: {p.text}' for p in self._params)})"

    @property
    def names(self) -> list[str]:
        """The names of the parameters."""
        return [p.name for p in self._params]

    @property
    def written(self) -> list[str]:
        """The names of the parameters that a call writes."""
        return [p.name for p in self._params if isinstance(p, TensorParameter) and p.writes]

    def random(self, seed: int, given: Mapping[str, int]) -> dict[str, Any]:
        """Return arguments that fit, by name; see `CompiledProgram.random_arguments`.

        Raises:
            CallError: a size is missing, unknown, or makes no sense.
        """
        try:
            rng = np.random.default_rng(seed)
        except (TypeError, ValueError):
            raise CallError(
                f"seed is {seed!r}, an integer of 0 or more was wanted",
                hint="seed=0",
                slug="argument-kind",
            ) from None
        sizes = Sizes(self._function, given)
        return {param.name: param.random(rng, sizes) for param in self._params}

    def arranged(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Return arguments, positional and named, in the order of the parameters.

        Raises:
            CallError: an argument is unknown, given twice, or missing.
        """
        return self._ordered([p.name for p in self._params], args, named)

    def _ordered(
        self, names: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]
    ) -> list[Any]:
        """Return the arguments of parameters, of which some are given by name, in their order."""
        found = dict(zip(names, args, strict=False))
        for name in named:
            if name not in names or name in found:
                problem = "got twice" if name in found else "does not have"
                raise CallError(
                    f"{self.name} {problem} the argument {name!r}; it has {', '.join(names)}",
                    hint=keyword_hint(name, [n for n in names if n not in found])
                    or f"call it as {self}",
                    slug="unknown-keyword",
                )
        found |= named
        if len(args) + len(named) != len(names):
            self._refuse_count(len(args) + len(named))
        return [found[name] for name in names]

    def completed(
        self, args: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the arguments in order, and those of them that are new arrays.

        They are for the outputs, where a call leaves out all of them and gives all others.

        Raises:
            CallError: as `arranged`, or nothing tells how large an output is.
        """
        if not named and len(args) == len(self._params):
            return args, ()
        results = {p.name for p in self._params if isinstance(p, TensorParameter) and p.is_result}
        others = [p for p in self._params if p.name not in results]
        if results & named.keys() or not results or len(args) + len(named) != len(others):
            return (self.arranged(args, named) if named else args), ()
        dims: dict[Var, int] = {}
        names = [p.name for p in others]
        given = dict(zip(names, self._ordered(names, args, named), strict=True))
        passed: list[Any] = []
        for param in others:
            param.bind(given[param.name], dims)
            passed += [given[param.name]] if isinstance(param, TensorParameter) else []
        new: list[Any] = []
        for param in self._params:
            if not isinstance(param, TensorParameter) or not param.is_result:
                continue
            shape = [
                dims.get(dim) if isinstance(dim, Var) else const_value(dim) for dim in param.dims
            ]
            known = [size for size in shape if size is not None and size >= 0]
            if len(known) < len(shape):
                self._refuse_count(len(args) + len(named))
            new.append(zeros_like_others(passed, tuple(known), param.dtype))
            given[param.name] = new[-1]
        return [given[p.name] for p in self._params], new

    def check_fixed(self, args: Sequence[Any], index: int, number: Any) -> None:
        """Reject a number other than the one compiled into the program.

        Raises:
            CallError: the argument is another one.
        """
        param = self._params[index]
        if index < len(args) and param.bind(args[index], {})[0] != param.bind(number, {})[0]:
            name = param.name
            raise CallError(
                f"argument {name!r} of {self.name} is {args[index]}; the program was compiled for "
                f"{number}",
                hint=f"compile it with {name}=pl.RUNTIME, or call the kernel itself",
                slug="argument-fixed",
            )

    def _refuse_count(self, count: int) -> NoReturn:
        names = ", ".join(p.name for p in self._params)
        wanted = counted(len(self._params), "argument")
        raise CallError(
            f"{self.name} takes {wanted} ({names}), got {count}",
            hint=f"call it as {self}",
            slug="argument-count",
        )

    def bind(self, args: Sequence[Any]) -> Bound:
        """Return the arguments as arrays, numbers and words.

        Raises:
            CallError: they do not fit the parameters.
        """
        if len(args) != len(self._params):
            self._refuse_count(len(args))
        values: list[Any] = []
        words: list[int] = []
        dims: dict[Var, int] = {}
        try:
            for param, arg in zip(self._params, args, strict=True):
                value, word = param.bind(arg, dims)
                values.append(value)
                words.append(word)
        except CallError as error:
            if error.slug == "argument-kind" and self._are_misplaced(args):
                error.hint = f"call it as {self.name}({', '.join(self.names)})"
            raise
        misfit = self._dependent.misfit(values) if self._dependent else None
        if misfit is not None:
            self._refuse_dependent(*misfit, values)
        for i, others in self._pairs:
            begin = words[i]
            end = begin + values[i].nbytes
            for j in others:
                if words[j] < end and begin < words[j] + values[j].nbytes:
                    self._refuse_overlap(i, j)
        return Bound(values, words)

    def _are_misplaced(self, args: Sequence[Any]) -> bool:
        """True if an array is passed for a number: an argument is missing, or two are swapped."""
        pairs = zip(self._params, args, strict=True)
        return any(
            isinstance(p, ScalarParameter) and getattr(a, "shape", ()) != () for p, a in pairs
        )

    def _refuse_dependent(
        self, index: int, axis: int, size: int, values: Sequence[Any]
    ) -> NoReturn:
        param, found = self._params[index], list(values[index].shape)
        kind = self._function.params[index].type
        assert isinstance(kind, TensorType)
        dim = size_text(kind.shape[axis])
        wanted = ", ".join(map(str, [*found[:axis], size, *found[axis + 1 :]]))
        cut = f"pass {param.name}[{':, ' * axis}:{size}].copy()"
        fits = found[axis] > size and param.name not in self.written
        hint = cut if fits else f"pass an array [{wanted}]"
        raise CallError(
            f"argument {param.name!r} of {self.name} is an array {found}; {param.text} was wanted, "
            f"and {dim} is {size}",
            hint=hint if size >= 0 else None,
            slug="argument-shape",
        )

    def _refuse_overlap(self, i: int, j: int) -> NoReturn:
        written, other = self._params[i].name, self._params[j].name
        raise CallError(
            f"arguments {written!r} and {other!r} of {self.name} share memory, and {written!r} is "
            "written",
            hint=f"pass a copy: {other}.copy()",
            slug="argument-overlap",
        )


class Additions:
    """The tensor parameters after those that a call gives: passes added them to a kernel.

    They are its intermediate tensors, and results for which the caller passes no array.
    """

    def __init__(self, function: Function, given: int) -> None:
        """Find the tensors after the first ``given`` parameters."""
        self._function = function
        self._known = KnownSizes(function, given)
        self._made = [
            (param, param.type)
            for param in function.params[given:]
            if isinstance(param.type, TensorType)
        ]
        shapes = [static_shape(kind) for _, kind in self._made]
        self._shapes = None if None in shapes else [shape for shape in shapes if shape is not None]

    def __bool__(self) -> bool:
        return bool(self._made)

    def complete(self, bound: Bound) -> Bound:
        """Return the arguments followed by new, uninitialised arrays."""
        values, words = [*bound.values], [*bound.words]
        shapes = self._shapes
        if shapes is None:
            sizes = Sizes.of(self._function, self._known.of(bound.values))
            shapes = [sizes.shape(param, kind) for param, kind in self._made]
        for (_, kind), shape in zip(self._made, shapes, strict=True):
            array = new_array(shape, kind.dtype.numpy)
            values.append(array)
            words.append(address_of(array))
        return Bound(values, words)
