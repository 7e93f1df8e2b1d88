"""The parameters of a function, one by one: what fits each, and the word that kernels take for it.

Arrays are used where they are, never copied: kernels read and write the caller's memory. Knows one
argument at a time; what several say together is for `signature` and `symbolic_sizes`.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Mapping
from ctypes import addressof, c_char
from typing import TYPE_CHECKING, Any, NoReturn

from pypto._src.dtypes import DataType
from pypto._src.errors import CallError, of_type, with_article
from pypto._src.interp.scalars import wrapper
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import ConstInt, Var
from pypto._src.ir.inspect.source_names import size_text
from pypto._src.ir.stmts import Function
from pypto._src.ir.types import ScalarType
from pypto._src.lazy import lazy_module
from pypto._src.run.arguments.array_views import (
    Argument,
    array_view,
    is_array,
    is_plain_number,
    number_in,
)
from pypto._src.run.arguments.dim_solver import Sizes

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


def parameter_of(
    function: Function, var: Var, direction: ParamDirection, writes: bool
) -> TensorParameter | ScalarParameter:
    if isinstance(var.type, TensorType):
        return TensorParameter(function.name, var, var.type, direction, writes)
    if isinstance(var.type, ScalarType):
        return ScalarParameter(function.name, var, var.type)
    raise CallError(
        f"{function.name} cannot be called from Python: its parameter {var.name!r} is "
        f"{with_article(type(var.type).__name__.removesuffix('Type'))}",
        var.span,
        hint="call a function whose parameters are tensors and scalars",
        slug="argument-kind",
    )


class ScalarParameter:
    """A parameter that is a number."""

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
                f"the size {self.name!r} is {given}, which is out of range for {self.dtype.member}",
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
                f"argument {self.name!r} of {self.function} is {value}, which is out of range "
                f"for {self.dtype.member}",
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
        found = arg if isinstance(arg, int | float) else of_type(arg)
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
    scalar = ScalarParameter(function, Var(name, kind), kind)
    number, _ = scalar.bind(arg, {})
    if not scalar.is_float:
        return bool(number) if kind.dtype is DataType.BOOL else int(number)
    return float(arg if isinstance(arg, int | float) else arg.item())


def _is_number_of_numpy(arg: object) -> bool:
    """True for NumPy scalars and arrays without dimensions, of ml_dtypes as well."""
    return getattr(arg, "shape", None) == () and hasattr(arg, "item")


class TensorParameter:
    """A parameter that is an array."""

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
            f"argument {self.name!r} of {self.function} is read-only, but the kernel writes it",
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
