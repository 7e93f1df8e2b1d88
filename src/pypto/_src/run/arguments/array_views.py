"""Array arguments, viewed as NumPy arrays over the same memory.

Kernels see only addresses, so an array whose memory does not hold its values is rejected: one
with a mask, a sign or a unit beside its memory, or with less memory than its elements need.
Knows NumPy's types by name, and tensors of other libraries by their methods.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeGuard, cast

from pypto._src.errors import CallError, of_type
from pypto._src.lazy import lazy_module
from pypto._src.records import NamedTuple

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")


_MOST_WORK: Final = 10_000
"""How many candidates NumPy may try when it looks for shared memory; beyond that, it assumes it."""


def may_share(a: Array, b: Array) -> bool:
    """True unless two arrays certainly share no element's memory."""
    return np.may_share_memory(a, b, cast("Any", _MOST_WORK))


class Argument(NamedTuple):
    """The parameter that an array was passed for, as messages describe it."""

    name: str
    function: str
    wanted: str
    dtype: str  # as Python spells it: np.float32
    is_written: bool

    def reject(self, arg: object, why: str, hint: str | None, slug: str) -> NoReturn:
        """Raise the error about what was passed."""
        raise CallError(
            f"argument {self.name!r} of {self.function} is {described(arg)}{why}; {self.wanted} "
            "was wanted",
            hint=hint,
            slug=slug,
        )

    def reject_values(self, arg: object, why: str, made: str) -> NoReturn:
        """Raise the error about memory without the values; ``made`` spells an array with them."""
        # The caller must hold the array that a kernel writes to.
        hint = f"write {self.name} = {made} before the call" if self.is_written else f"pass {made}"
        self.reject(arg, why, hint, "argument-memory")


def is_array(value: object) -> TypeGuard[Array]:
    """True for NumPy arrays."""
    return isinstance(value, np.ndarray)


def copied(value: Any) -> Any:
    """Return an array as a copy, anything else as it is."""
    return value.copy() if is_array(value) else value


def is_plain_number(value: object) -> bool:
    """True for a NumPy scalar, or an array of exactly the class ``ndarray``."""
    return isinstance(value, np.generic) or type(value) is np.ndarray


def described(arg: object) -> str:
    """Return a description of an argument that is not an array."""
    return "None" if arg is None else of_type(arg)


def array_view(arg: Any, argument: Argument) -> Array:
    """Return an array, or an object with DLPack support, as a NumPy array over the same memory.

    Raises:
        CallError: it is neither, NumPy cannot use it in place, or its memory does not hold its
            values.
    """
    if is_array(arg):
        _refuse_array(arg, argument)
        return np.asarray(arg)
    if not hasattr(arg, "__dlpack__"):
        is_data = isinstance(arg, int | float | list | tuple)
        made = f"np.asarray({argument.name}, {argument.dtype})"
        hint = made if is_data else f"pass a NumPy array of {argument.dtype}"
        argument.reject(arg, "", hint, "argument-kind")
    _refuse_tensor(arg, argument)
    try:
        if str(getattr(arg, "dtype", "")).endswith(".bfloat16"):
            return bfloat16_view(arg)
        return np.from_dlpack(arg)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        argument.reject(
            arg,
            f", which NumPy cannot use in place: {error}",
            _made_usable(arg, argument)
            or f"pass a NumPy array of {argument.dtype} in the CPU's memory",
            "argument-dlpack",
        )


def zeros_like_others(arrays: Sequence[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a new array of zeros, from the library of the first of ``arrays`` if it is known."""
    first = arrays[0] if arrays else None
    name = type(first).__module__.partition(".")[0]
    if name == "torch":
        import sys

        torch = sys.modules[name]
        return torch.zeros(shape, dtype=getattr(torch, str(np.dtype(dtype))))
    return np.zeros(shape, dtype)


def bfloat16_view(tensor: Any) -> Any:
    """Return an array in the memory of a tensor of a library such as PyTorch.

    NumPy's DLPack reader has no such element type, so the bits are passed as INT16.
    """
    import sys

    import ml_dtypes

    library = sys.modules.get(type(tensor).__module__.partition(".")[0])
    bits = getattr(library, "int16", None)
    if bits is None or not hasattr(tensor, "view"):
        return np.from_dlpack(tensor)
    return np.from_dlpack(tensor.view(bits)).view(ml_dtypes.bfloat16)


def number_in(arg: Any, argument: Argument) -> Any:
    """Return the number in an array without dimensions.

    Raises:
        CallError: its memory does not hold the number.
    """
    if is_array(arg):
        _refuse_array(arg, argument)
    else:
        _refuse_tensor(arg, argument)
    try:
        return arg.item()
    except (RuntimeError, TypeError, ValueError) as error:
        argument.reject(arg, f", which gives no number: {error}", None, "argument-memory")


# --------------------------------------------------------------------------------------------
# NumPy's own arrays
# --------------------------------------------------------------------------------------------


def _refuse_array(arg: Array, argument: Argument) -> None:
    """Raise CallError for a subclass, unless its memory is known to hold its values."""
    kind: type[Any] = type(arg)
    if kind in (np.ndarray, np.memmap, np.matrix, np.recarray):
        return
    name = argument.name
    if isinstance(arg, np.ma.MaskedArray):
        made = f"{name}.data" if argument.is_written else f"{name}.filled(0)"
        why = ", and its memory does not tell which elements are masked"
        argument.reject(arg, why, f"pass {made}", "argument-memory")
    why = ", a kind of array that may mean something else than its memory holds"
    argument.reject(arg, why, f"pass np.asarray({name})", "argument-memory")


# --------------------------------------------------------------------------------------------
# Tensors of other libraries, such as PyTorch
# --------------------------------------------------------------------------------------------


def _refuse_tensor(arg: Any, argument: Argument) -> None:
    """Raise CallError for a tensor that exports memory which does not hold its values."""
    name = argument.name
    if _redefines_ops(arg.__class__):
        made = f"{name}.to_tensor(0)" if hasattr(arg, "to_tensor") else f"{name}.detach().clone()"
        why = ", a kind of tensor that may mean something else than its memory holds"
        argument.reject_values(arg, why, made)
    if _ask(arg, "is_neg"):
        why = " whose negation is still to be done (its negative bit is set)"
        argument.reject_values(arg, why, f"{name}.resolve_neg()")
    storage, address = _ask(arg, "untyped_storage"), _ask(arg, "data_ptr")
    if storage is None or not arg.nbytes:
        return
    # For a tensor that is not contiguous this is too little, but its layout is rejected later.
    wanted: int = arg.nbytes + arg.storage_offset() * arg.itemsize
    found: int = storage.nbytes() if address else 0
    if found < wanted:
        has = f"has {found} of the {wanted} bytes" if found else "has none of the bytes"
        why = f" whose storage {has} that it needs"
        hint = f"pass a tensor that has its memory: torch.empty({list(arg.shape)})"
        argument.reject(arg, why, hint, "argument-memory")


def _made_usable(arg: Any, argument: Argument) -> str | None:
    """Return a hint for a tensor that itself declares its memory unusable."""
    if _ask(arg, "is_conj"):
        return f"pass {argument.name}.resolve_conj()"
    if getattr(arg, "is_meta", False) is True:
        return f"pass a tensor that has its memory: torch.empty({list(arg.shape)})"
    if getattr(arg, "requires_grad", False) is True:
        return f"pass {argument.name}.detach()"
    return None


@functools.lru_cache(maxsize=64)
def _redefines_ops(kind: type[Any]) -> bool:
    """Return whether a class of tensors overrides ops, as fake, masked or distributed ones do."""
    for base in kind.__mro__:
        for hook in ("__torch_dispatch__", "__torch_function__"):
            own = vars(base).get(hook)
            if own is None or (base.__module__, base.__name__) == ("torch", "Tensor"):
                continue
            # PyTorch's hook for classes that opt out, such as Parameter.
            if not getattr(own, "__name__", "").startswith("_disabled_"):
                return True
    return False


def _ask(arg: Any, method: str) -> Any:
    """Return the result of a method, None if it is missing or fails: there is no answer then."""
    call = getattr(arg, method, None)
    if call is None:
        return None
    try:
        return call()
    except (RuntimeError, TypeError, ValueError):
        return None
