"""The arguments of a compiled program: checked against the signature, turned into words.

Arrays are used where they are, never copied: kernels read and write the caller's memory. Knows
signatures and arrays; knows nothing of compilers and tasks.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from ctypes import addressof, c_char
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from pypto._src.diagnostics import counted
from pypto._src.dtypes import DataType
from pypto._src.errors import CallError, EvaluationError
from pypto._src.interp.evaluate import FLAT, Evaluator
from pypto._src.interp.scalars import wrapper
from pypto._src.ir.array_types import TensorType, static_shape
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import ConstInt, Expr, MakeTuple, Var, const_value
from pypto._src.ir.inspect.source_names import size_text
from pypto._src.ir.stmts import Function, ReturnStmt
from pypto._src.ir.traversal.queries import uses
from pypto._src.ir.traversal.recursion import nesting, room
from pypto._src.ir.traversal.symbolic_dims import SolvedDim, dimension_vars, solved_dims, told_dims
from pypto._src.ir.types import ScalarType, TupleType
from pypto._src.lazy import lazy_module
from pypto._src.ops.rules.type_rules import new_array
from pypto._src.records import NamedTuple
from pypto._src.run.arguments.array_views import (
    Argument,
    array_view,
    is_array,
    is_plain_number,
    number_in,
    zeros_like_others,
)
from pypto._src.run.arguments.dim_solver import Sizes
from pypto._src.suggestions import meant_keyword

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")


def address_of(array: Any) -> int:
    """Return the address of a dense array's bytes, four times as fast as through its ``ctypes``."""
    try:
        return addressof(c_char.from_buffer(array))
    except (TypeError, ValueError, BufferError):  # read-only, empty, or element types that C lacks
        return array.ctypes.data


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
        self._params = [_parameter(function, *row) for row in islice(rows, given)]
        tensors = [(i, p) for i, p in enumerate(self._params) if isinstance(p, _Tensor)]
        # A tensor that is written must not share memory with any other.
        pairs = [
            (i, [j for j, q in tensors if i < j or not q.writes]) for i, p in tensors if p.writes
        ]
        self._pairs = [(i, others) for i, others in pairs if others]
        self._told = ToldSizes(function, len(self._params))

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
        return [p.name for p in self._params if isinstance(p, _Tensor) and p.writes]

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
                    hint=meant_keyword(name, [n for n in names if n not in found])
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
        results = {p.name for p in self._params if isinstance(p, _Tensor) and p.is_result}
        others = [p for p in self._params if p.name not in results]
        if results & named.keys() or not results or len(args) + len(named) != len(others):
            return (self.arranged(args, named) if named else args), ()
        dims: dict[Var, int] = {}
        names = [p.name for p in others]
        given = dict(zip(names, self._ordered(names, args, named), strict=True))
        passed: list[Any] = []
        for param in others:
            param.bind(given[param.name], dims)
            passed += [given[param.name]] if isinstance(param, _Tensor) else []
        new: list[Any] = []
        for param in self._params:
            if not isinstance(param, _Tensor) or not param.is_result:
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
        misfit = self._told.misfit(values) if self._told else None
        if misfit is not None:
            self._refuse_told(*misfit, values)
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
        return any(isinstance(p, _Scalar) and getattr(a, "shape", ()) != () for p, a in pairs)

    def _refuse_told(self, index: int, axis: int, size: int, values: Sequence[Any]) -> NoReturn:
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


class KnownSizes:
    """The sizes of the dimensions of a function's tensors, and the numbers that may be sizes."""

    def __init__(self, function: Function, given: int) -> None:
        """Find the sizes that the first ``given`` parameters determine."""
        self._function = function
        self._params = function.params[:given]
        self._solved: list[tuple[SolvedDim, list[Var], Computation]] = []
        self.vars = {*self._params, *_dimensions(self._params)}
        for row in solved_dims(function, given):
            others = [var for var in dict.fromkeys(uses([row.value])) if var is not row.size]
            solve = Computation([row.size, *others], [row.value], function)
            self._solved.append((row, others, solve))
            self.vars.add(row.var)

    def of(self, values: Sequence[Any]) -> dict[Var, int]:
        """Return the sizes and numbers for arguments.

        Raises:
            CallError: a size would be negative or undefined.
        """
        found: dict[Var, int] = {}
        numbers: dict[Var, int] = {}
        for param, value in zip(self._params, values, strict=False):
            if isinstance(param.type, TensorType):
                pairs = zip(param.type.shape, value.shape, strict=True)
                found |= {dim: size for dim, size in pairs if isinstance(dim, Var)}
            elif isinstance(param.type, ScalarType) and not param.type.dtype.is_float():
                numbers[param] = value
        found |= numbers
        for row, others, solve in self._solved:
            whole = values[row.param].shape[row.axis]
            try:
                (size,) = solve.of([whole, *(found[var] for var in others)])
            except EvaluationError as error:
                self._refuse(row, values, f"which gives no {row.var.name}: {error.message}")
            if size < 0:
                self._refuse(row, values, f"and {row.var.name} would be {size}")
            found[row.var] = size
        return found

    def _refuse(self, row: SolvedDim, values: Sequence[Any], why: str) -> NoReturn:
        param = self._function.params[row.param]
        assert isinstance(param.type, TensorType)
        raise CallError(
            f"argument {param.name!r} of {self._function.name} is an array "
            f"{list(values[row.param].shape)}; {type_text(param.type)} was wanted, {why}",
            slug="argument-shape",
        )


class Computation:
    """Computes several numbers from others, however deeply operators are nested."""

    def __init__(self, params: Sequence[Var], values: Sequence[Expr], function: Function) -> None:
        body = ReturnStmt([MakeTuple(values, function.span)], function.span)
        kind = TupleType([value.type for value in values])
        made = Function("sizes", params, [kind], body, function.span)
        self._depth = nesting(made)
        with room(self._depth):
            self._plan = Evaluator(made).plan(made)

    def of(self, numbers: Sequence[int]) -> Sequence[int]:
        with room(self._depth) if self._depth > FLAT else nullcontext():
            return self._plan.call(numbers)


class ToldSizes:
    """Dimensions whose sizes follow from other arguments, to be checked against the tensors."""

    def __init__(self, function: Function, given: int) -> None:
        """Find these dimensions among the first ``given`` parameters.

        Raises:
            CallError: nothing determines a size that such a dimension depends on.
        """
        self._axes = [axis for axis in told_dims(function) if axis[0] < given]
        if not self._axes:  # as for most functions
            return
        dims = [dim for _, _, dim in self._axes]
        self._vars = list(dict.fromkeys(uses(dims)))
        self._known = KnownSizes(function, given)
        for var in self._vars:
            if var not in self._known.vars:
                raise _untold(function, var)
        self._plan = Computation(self._vars, dims, function)

    def __bool__(self) -> bool:
        return bool(self._axes)

    def misfit(self, values: Sequence[Any]) -> tuple[int, int, int] | None:
        """Return the first mismatched dimension: parameter, axis and expected size."""
        known = self._known.of(values)
        wanted = self._plan.of([known[var] for var in self._vars])
        for (index, axis, _), size in zip(self._axes, wanted, strict=True):
            if values[index].shape[axis] != size:
                return index, axis, size
        return None


def _untold(function: Function, var: Var) -> CallError:
    return CallError(
        f"{function.name} cannot be called: the size {var.name!r} is not a dimension of any of "
        "its tensors",
        function.span,
        hint=f"add a parameter {var.name}: pl.Scalar[pl.INT64]",
        slug="argument-kind",
    )


class SizeWords:
    """The symbolic sizes of a kernel's tensors: words after those of its arguments."""

    def __init__(self, function: Function) -> None:
        """Find where each size can be read.

        Raises:
            CallError: a size is not a dimension of any tensor, so nothing determines it.
        """
        self.name = function.name
        self._axes: list[tuple[Var, list[tuple[int, int]]]] = []
        self._solved: KnownSizes | None = None
        found = _dimensions(function.params)
        for var in dimension_vars(function):
            if var not in found:
                self._solved = self._solved or KnownSizes(function, len(function.params))
                if var not in self._solved.vars:
                    raise _untold(function, var)
            self._axes.append((var, found.get(var, [])))

    def __bool__(self) -> bool:
        return bool(self._axes)

    @property
    def axes(self) -> list[tuple[str, list[tuple[int, int]]]]:
        """For each size its name, and the (parameter, axis) pairs that have it."""
        return [(var.name, list(found)) for var, found in self._axes]

    def words(self, values: Sequence[Any]) -> list[int]:
        """Return the sizes of arguments, in the order in which the kernel takes them.

        Raises:
            CallError: two tensors differ in a size of the same name.
        """
        words: list[int] = []
        known = {} if self._solved is None else self._solved.of(values)
        for var, axes in self._axes:
            if not axes:
                words.append(known[var])
                continue
            (first, axis), *others = axes
            size: int = values[first].shape[axis]
            for index, other_axis in others:
                other = values[index].shape[other_axis]
                if other != size:
                    raise CallError(
                        f"the tensors of {self.name} have {size} and {other} elements in the "
                        f"dimension {var.name!r}",
                        slug="argument-shape",
                    )
            words.append(size)
        return words


def _dimensions(params: Sequence[Var]) -> dict[Var, list[tuple[int, int]]]:
    """Return where each variable is by itself a dimension: parameter and axis."""
    found: dict[Var, list[tuple[int, int]]] = {}
    for index, param in enumerate(params):
        if isinstance(param.type, TensorType):
            for axis, dim in enumerate(param.type.shape):
                if isinstance(dim, Var):
                    found.setdefault(dim, []).append((index, axis))
    return found


def word_of(dtype: DataType) -> Callable[[Any], int]:
    """Return the function that puts a number into a 64-bit word, as kernels take it."""
    if dtype is DataType.BOOL:
        return int
    if not dtype.is_float():
        return _signed if dtype is DataType.UINT64 else int
    form = {DataType.FP32: "<fi", DataType.FP64: "<d", DataType.FP16: "<ehi"}.get(dtype)
    if form is None:
        return lambda value: int(np.array(value, dtype.numpy).view(f"u{dtype.bytes}"))
    packer, zeros = struct.Struct(form), (0,) * (len(form) - 2)
    return lambda value: int.from_bytes(packer.pack(value, *zeros), "little", signed=True)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def type_text(kind: TensorType | ScalarType) -> str:
    """Return a type as signatures show it: ``Tensor[[64, n], FP32]``."""
    if isinstance(kind, ScalarType):
        return f"Scalar[{kind.dtype.member}]"
    return f"Tensor[[{', '.join(map(size_text, kind.shape))}], {kind.dtype.member}]"


def _parameter(
    function: Function, var: Var, direction: ParamDirection, writes: bool
) -> _Tensor | _Scalar:
    if isinstance(var.type, TensorType):
        return _Tensor(function.name, var, var.type, direction, writes)
    if isinstance(var.type, ScalarType):
        return _Scalar(function.name, var, var.type)
    raise CallError(
        f"{function.name} cannot be called from Python: its parameter {var.name!r} is a "
        f"{type(var.type).__name__.removesuffix('Type')}",
        var.span,
        hint="call a function whose parameters are tensors and scalars",
        slug="argument-kind",
    )


class _Scalar:
    def __init__(self, function: str, var: Var, kind: ScalarType) -> None:
        self.function = function
        self.name = var.name
        self.var = var
        self.dtype = kind.dtype
        self.text = type_text(kind)
        self.word = word_of(kind.dtype)
        self.wrap = wrapper(kind.dtype)
        self.is_float = kind.dtype.is_float()
        python = "float" if self.is_float else "int"
        self.argument = Argument(self.name, function, self.text, python, is_written=False)

    def random(self, rng: np.random.Generator, sizes: Sizes) -> Any:
        if self.is_float:
            return self.wrap(rng.random() * 2 - 1)
        given = sizes.number(self.var)
        if given is None:
            return self.wrap(1)  # in range as a size, as an index and as a count
        if self.wrap(given) != given:
            raise CallError(
                f"the size {self.name!r} is {given}, which {self.dtype.member} does not hold",
                slug="argument-range",
            )
        return given

    def bind(self, arg: Any, dims: dict[Var, int]) -> tuple[Any, int]:
        value: Any = arg
        if _is_number_of_numpy(arg):
            value = arg.item() if is_plain_number(arg) else number_in(arg, self.argument)
        elif type(arg).__module__ == "ctypes":
            value = self._number_of_c(arg)
        if not isinstance(value, int if not self.is_float else (int, float)):
            self._refuse(arg)
        if self.is_float:
            with np.errstate(over="ignore"):  # out of range becomes infinity, as inside a kernel
                number = self.wrap(value)
        else:
            number = self.wrap(value)
        if not self.is_float and number != value:
            hint = f"declare {self.name}: pl.INT64" if -(1 << 63) <= value < 1 << 63 else None
            raise CallError(
                f"argument {self.name!r} of {self.function} is {value}, which {self.dtype.member} "
                "does not hold",
                hint=f"bool({self.name})" if self.dtype is DataType.BOOL else hint,
                slug="argument-range",
            )
        if not self.is_float and dims.setdefault(self.var, number) != number:
            raise CallError(
                f"argument {self.name!r} of {self.function} is {number}, and a tensor has "
                f"{dims[self.var]} in the dimension of that name",
                slug="argument-shape",
            )
        return number, self.word(number)

    def _number_of_c(self, arg: Any) -> Any:
        """Return the value of a ``ctypes`` scalar, which must have exactly this type."""
        wanted = np.ctypeslib.as_ctypes_type(self.dtype.numpy) if self.dtype.bytes > 0 else None
        if type(arg) is not wanted:
            self._refuse(arg)
        return arg.value

    def _refuse(self, arg: Any) -> NoReturn:
        found = arg if isinstance(arg, int | float) else f"a {type(arg).__name__}"
        is_number = isinstance(arg, float) or _is_number_of_numpy(arg)
        hint = f"int({self.name})" if is_number else f"pass a number: {self.name}=1"
        raise CallError(
            f"argument {self.name!r} of {self.function} is {found}; {self.text} was wanted",
            hint=hint,
            slug="argument-kind",
        )


def plain_number(function: str, name: str, kind: ScalarType, arg: Any) -> Any:
    """Return an argument for a scalar parameter as a Python number.

    Raises:
        CallError: it is not a number, or out of range of the type.
    """
    scalar = _Scalar(function, Var(name, kind), kind)
    number, _ = scalar.bind(arg, {})
    if not scalar.is_float:
        return bool(number) if kind.dtype is DataType.BOOL else int(number)
    return float(arg if isinstance(arg, int | float) else arg.item())


def _is_number_of_numpy(arg: object) -> bool:
    """True for NumPy scalars and arrays without dimensions, of ml_dtypes as well."""
    return getattr(arg, "shape", None) == () and hasattr(arg, "item")


class _Tensor:
    def __init__(
        self, function: str, var: Var, kind: TensorType, direction: ParamDirection, writes: bool
    ) -> None:
        self.function = function
        self.name = var.name
        self.var = var
        self.kind = kind
        self.writes = writes
        self.is_result = direction is ParamDirection.Out
        self.is_float = kind.dtype.is_float()
        text = type_text(kind)
        plain = direction is ParamDirection.In
        self.text = text if plain else f"{direction.name}[{text}]"
        shaped = f"pl.Tensor[{{}}, pl.{kind.dtype.member}]"
        self.annotation = shaped if plain else f"pl.{direction.name}[{shaped}]"
        try:
            self.dtype = kind.dtype.numpy
        except TypeError as error:
            raise CallError(
                f"argument {var.name!r} of {function} cannot be an array: {error}",
                var.span,
                slug="argument-dtype",
            ) from None
        self.argument = Argument(self.name, function, self.text, _dtype_text(self.dtype), writes)
        self.dims = kind.shape
        sizes = [dim.value if isinstance(dim, ConstInt) else -1 for dim in kind.shape]
        self.shape = None if any(size < 0 for size in sizes) else tuple(sizes)

    def random(self, rng: np.random.Generator, sizes: Sizes) -> Array:
        shape = self.shape or sizes.shape(self.var, self.kind)
        try:
            return self._filled(rng, shape)
        except (ValueError, MemoryError):
            raise CallError(
                f"there is no memory for {self.name!r} of {self.function}, "
                f"{list(shape)} elements of {self.dtype}",
                slug="argument-range",
            ) from None

    def _filled(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Return a new array: zeros for a result, else random numbers."""
        if self.is_result:
            return np.zeros(shape, self.dtype)
        if self.is_float:
            return (rng.random(shape) * 2 - 1).astype(self.dtype)
        return rng.integers(0, 2 if self.dtype == np.bool_ else 10, shape).astype(self.dtype)

    def bind(self, arg: Any, dims: dict[Var, int]) -> tuple[Array, int]:
        array: Array = arg if type(arg) is np.ndarray else array_view(arg, self.argument)
        if array.dtype != self.dtype:
            self._refuse_dtype(array)
        if array.shape != self.shape and not self._fits(array.shape, dims):
            self._refuse_shape(array, dims)
        flags = array.flags
        if not flags.carray:  # dense, aligned and writeable
            if not flags.c_contiguous or not flags.aligned:
                self._refuse_layout(array)
            if self.writes:
                self._refuse_read_only(arg)
        return array, address_of(array)

    def _fits(self, shape: tuple[int, ...], dims: dict[Var, int]) -> bool:
        if len(shape) != len(self.dims):
            return False
        for dim, size in zip(self.dims, shape, strict=True):
            if isinstance(dim, Var) and dims.setdefault(dim, size) != size:
                return False
            if isinstance(dim, ConstInt) and dim.value not in (size, -1):
                return False
        return True

    def _found(self, array: Array) -> str:
        return (
            f"argument {self.name!r} of {self.function} is an array {list(array.shape)} of "
            f"{array.dtype}; {self.text} was wanted"
        )

    def _refuse_dtype(self, array: Array) -> NoReturn:
        wanted = _dtype_text(self.dtype)
        cast = f"pass {self.name}.astype({wanted})"
        if (
            array.dtype.kind == "u"
            and array.dtype.itemsize == self.dtype.itemsize
            and self.is_float
        ):
            # NumPy lacks this float type, so these may be its bits.
            raise CallError(
                self._found(array), hint=f"pass {self.name}.view({wanted})", slug="argument-dtype"
            )
        # A result must be written to the caller's own array, so a converted copy would be useless.
        hint = f"make it with dtype={wanted}" if self.writes else cast
        raise CallError(self._found(array), hint=hint, slug="argument-dtype")

    def _refuse_shape(self, array: Array, dims: Mapping[Var, int]) -> NoReturn:
        sizes = "" if self.shape is None else ", ".join(map(str, self.shape))
        same_size = self.shape is not None and array.size == int(np.prod(self.shape))
        hint = f"pass {self.name}.reshape({sizes})" if same_size else self._shape_hint(array)
        known = {dim.name: dims[dim] for dim in self.dims if isinstance(dim, Var) and dim in dims}
        told = "".join(f", with {name} = {size}" for name, size in known.items())
        raise CallError(self._found(array) + told, hint=hint, slug="argument-shape")

    def _shape_hint(self, array: Array) -> str | None:
        """Return the part of a larger input that fits, or the parameter that takes the array."""
        if self.shape is None:
            return None
        found, wanted = array.shape, self.shape
        larger = len(found) == len(wanted) and all(map(operator.ge, found, wanted))
        if larger and not self.writes:
            cut = ", ".join(f":{size}" for size in wanted)
            return f"pass {self.name}[{cut}].copy()"
        return f"declare {self.name}: {self.annotation.format(list(found))}"

    def _refuse_read_only(self, arg: object) -> NoReturn:
        # DLPack before its version 1 cannot say that writing is allowed.
        foreign = f"pass its memory as a NumPy array: {self.name}.numpy()"
        copied = f"pass a copy that can be written: {self.name}.copy()"
        raise CallError(
            f"argument {self.name!r} of {self.function} is read-only, and it is written",
            hint=copied if is_array(arg) else foreign,
            slug="argument-read-only",
        )

    def _refuse_layout(self, array: Array) -> NoReturn:
        what = "aligned" if array.flags.c_contiguous else "contiguous in row-major order"
        sizes = ", ".join(map(str, array.shape))
        made = f"np.empty(({sizes},), {_dtype_text(self.dtype)})"
        copied = f"pass {self.name}.copy()"  # in C order, whatever the order was
        raise CallError(
            f"argument {self.name!r} of {self.function} is not {what}; its strides are "
            f"{list(array.strides)} bytes",
            hint=f"make it with {made}" if self.writes else copied,
            slug="argument-layout",
        )


def _dtype_text(dtype: np.dtype[Any]) -> str:
    return f"{'np' if hasattr(np, dtype.name) else 'ml_dtypes'}.{dtype.name}"
