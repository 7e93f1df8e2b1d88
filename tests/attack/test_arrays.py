"""Deceptive arrays: their memory does not hold their values, or does not exist.

A kernel sees only an address. Each of these was once used as if its memory were its values, or
crashed the process; all are rejected with what to pass instead, before anything is compiled.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import runtime
from pypto._src.errors import CallError

Array = np.ndarray[Any, Any]

MASKED = ", and its memory does not tell which elements are masked"
SUBCLASS = ", a kind of array that may mean something else than its memory holds"
TENSOR = ", a kind of tensor that may mean something else than its memory holds"
NEGATIVE = " whose negation is still to be done (its negative bit is set)"
NO_TORCH = "PyTorch is not installed: the nightly run installs it"


@pl.function(type=pl.FunctionType.InCore)
def scale(
    x: pl.Tensor[[4, 8], pl.FP32], f: pl.FP32, out: pl.Out[pl.Tensor[[4, 8], pl.FP32]]
) -> pl.Tensor[[4, 8], pl.FP32]:
    return pl.store(pl.mul(pl.load(x, [0, 0], [4, 8]), f), [0, 0], [4, 8], out)


@pl.jit(target="interpreter")
def scaled(x: pl.Tensor, f: pl.FP32, out: pl.Out[pl.Tensor]):
    return pl.store(pl.mul(pl.load(x, [0, 0], [4, 8]), f), [0, 0], [4, 8], out)


def ones() -> Array:
    return np.ones((4, 8), np.float32)


def refused(x: object, f: object = 2.0, out: object = None) -> CallError:
    """Return the error of a compiled program; no result may have been modified."""
    compiled = runtime.compile(scale, "interpreter")
    kept: Any = ones() if out is None else out
    with pytest.raises(CallError) as caught:
        compiled(x, f, kept)
    assert out is not None or (kept == 1).all()
    assert caught.value.span.filename == __file__
    return caught.value


def refused_by_jit(x: object) -> CallError:
    """Return the error of a kernel under jit, which compiles nothing for such an array."""
    before = list(scaled.misses)
    with pytest.raises(CallError) as caught:
        scaled(x, 2.0, ones())
    assert scaled.misses == before
    return caught.value


def check(x: object, why: str, hint: str) -> None:
    """Check the error for ``x`` as an input, with both kinds of call."""
    error = refused(x)
    kind = type(x).__name__
    assert error.message == (
        f"argument 'x' of scale is a {kind}{why}; Tensor[[4, 8], FP32] was wanted"
    )
    assert (error.hint, error.slug) == (hint, "argument-memory")
    error = refused_by_jit(x)
    assert error.message == f"argument 'x' of scaled is a {kind}{why}; an array was wanted"
    assert (error.hint, error.slug) == (hint, "argument-memory")


# --------------------------------------------------------------------------------------------
# NumPy
# --------------------------------------------------------------------------------------------


class Metres(np.ndarray[Any, Any]):
    """An array with a unit."""


def test_masked_arrays() -> None:
    """Masked elements are still in memory; for a result the mask would stay wrong."""
    x = np.ma.masked_less(ones() * np.arange(8, dtype=np.float32), 3)
    check(x, MASKED, "pass x.filled(0)")
    compiled = runtime.compile(scale, "interpreter")
    assert compiled(x.filled(0), 1.0, ones())[0].tolist() == [0, 0, 0, 3, 4, 5, 6, 7]
    out = np.ma.masked_equal(ones(), 5)
    error = refused(ones(), out=out)
    assert error.hint == "pass out.data"
    assert (compiled(ones(), 3.0, out.data) == 3).all()
    assert (out == 3).all()


def test_unmasked_masked_arrays() -> None:
    """A mask may be set later: the class is rejected, whatever the array holds now."""
    check(np.ma.asarray(ones()), MASKED, "pass x.filled(0)")


def test_masked_numbers() -> None:
    """A masked scalar is not a number."""
    for f in (np.ma.masked, np.ma.masked_array(3.0, mask=True), np.ma.masked_array(3.0)):
        error = refused(ones(), f)
        assert error.message == (
            f"argument 'f' of scale is a {type(f).__name__}{MASKED}; Scalar[FP32] was wanted"
        )
        assert error.hint == "pass f.filled(0)"


def test_subclasses() -> None:
    """A subclass may have a unit, or compute its elements; its plain memory is easily obtained."""
    x = ones().view(Metres)
    check(x, SUBCLASS, "pass np.asarray(x)")
    assert refused(ones(), np.ones(()).view(Metres)).hint == "pass np.asarray(f)"
    compiled = runtime.compile(scale, "interpreter")
    out = ones().view(Metres)
    assert refused(ones(), out=out).hint == "pass np.asarray(out)"
    compiled(ones(), 3.0, np.asarray(out))
    assert (np.asarray(out) == 3).all()


def test_subclasses_that_are_their_memory() -> None:
    """Matrices are used in place, as memory maps are."""
    compiled = runtime.compile(scale, "interpreter")
    out = ones().view(np.matrix)
    assert compiled(ones().view(np.matrix), 2.0, out) is out
    assert (out == 2).all()


# --------------------------------------------------------------------------------------------
# Tensors of other libraries
# --------------------------------------------------------------------------------------------


class Storage:
    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes

    def nbytes(self) -> int:
        return self.size_bytes


class Lazy:
    """A tensor like PyTorch's, which exports its memory whatever its values are."""

    def __init__(
        self, array: Array, *, negative: bool = False, held: int | None = None, start: int = 0
    ) -> None:
        self.array = array
        self.negative = negative
        self.held = array.nbytes if held is None else held
        self.start = start
        self.shape = array.shape
        self.dtype = array.dtype

    def __dlpack__(self, **keywords: Any) -> object:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def is_neg(self) -> bool:
        return self.negative

    def resolve_neg(self) -> Lazy:
        return Lazy(-self.array) if self.negative else self

    def untyped_storage(self) -> Storage:
        return Storage(self.held)

    def data_ptr(self) -> int:
        return self.array.ctypes.data if self.held else 0

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    @property
    def itemsize(self) -> int:
        return self.array.itemsize

    def storage_offset(self) -> int:
        return self.start


class Dispatching(Lazy):
    """A tensor with overridden ops."""

    @classmethod
    def __torch_dispatch__(cls, *args: object) -> object:
        raise NotImplementedError


class Disabled(Lazy):
    """A tensor that disables its overridden ops."""

    def _disabled_torch_function_impl(self) -> None: ...

    __torch_function__ = _disabled_torch_function_impl


def test_negated_tensors() -> None:
    """The caller has to resolve a lazy negation."""
    check(Lazy(ones(), negative=True), NEGATIVE, "pass x.resolve_neg()")
    out = Lazy(ones(), negative=True)
    error = refused(ones(), out=out)
    assert error.hint == "write out = out.resolve_neg() before the call"
    compiled = runtime.compile(scale, "interpreter")
    made = out.resolve_neg()
    assert compiled(out.resolve_neg(), 2.0, made) is made
    assert (made.array == -2).all()


@pytest.mark.parametrize(
    ("held", "start", "has"),
    [(0, 0, "has none of the bytes"), (64, 0, "has 64 of the 128 bytes"),
     (128, 1, "has 128 of the 132 bytes"), (127, 0, "has 127 of the 128 bytes")],
)  # fmt: skip
def test_tensors_without_memory(held: int, start: int, has: str) -> None:
    """A tensor whose storage was freed or shrunk must not read memory that is not its own."""
    tensor = Lazy(ones(), held=held, start=start)
    why = f" whose storage {has} that it needs"
    check(tensor, why, "pass a tensor that has its memory: torch.empty([4, 8])")


def test_tensors_with_more_memory() -> None:
    """A part of a larger storage is used in place."""
    compiled = runtime.compile(scale, "interpreter")
    assert (compiled(Lazy(ones(), held=4096, start=32), 2.0, ones()) == 2).all()
    assert (compiled(Disabled(ones()), 2.0, ones()) == 2).all()


def test_tensors_with_ops_of_their_own() -> None:
    """Fake, masked and distributed tensors are more than their memory."""
    check(Dispatching(ones()), TENSOR, "pass x.detach().clone()")


# --------------------------------------------------------------------------------------------
# PyTorch itself, where it is
# --------------------------------------------------------------------------------------------


def freed(torch: Any, size_bytes: int) -> Any:
    tensor = torch.ones(4, 8)
    tensor.untyped_storage().resize_(size_bytes)
    return tensor


def fake(torch: Any) -> Any:
    with importlib.import_module("torch._subclasses.fake_tensor").FakeTensorMode():
        return torch.ones(4, 8)


def masked(torch: Any) -> Any:
    made = importlib.import_module("torch.masked").masked_tensor
    return made(torch.ones(4, 8), torch.ones(4, 8) > 2)


def within(transform: Callable[[Any], Any], tensor: Any) -> Any:
    """Return what a transformed function gets as its argument."""
    found: list[Any] = []

    def note(x: Any) -> Any:
        found.append(x)
        return x.sum()

    transform(note)(tensor)
    return found[0]


EMPTY = "pass a tensor that has its memory: torch.empty([4, 8])"
LYING: dict[str, tuple[Callable[[Any], Any], str]] = {
    "negative": (
        lambda t: t.ones(4, 8, dtype=t.complex64).conj().imag,
        "pass x.resolve_neg()",
    ),
    "conjugate": (lambda t: t.ones(4, 8, dtype=t.complex64).conj(), "pass x.resolve_conj()"),
    "freed": (lambda t: freed(t, 0), EMPTY),
    "shrunk": (lambda t: freed(t, 64), EMPTY),
    "meta": (lambda t: t.ones(4, 8, device="meta"), EMPTY),
    "fake": (fake, "pass x.detach().clone()"),
    "zeros": (lambda t: t._efficientzerotensor(4, 8), EMPTY),
    "masked": (masked, "pass x.to_tensor(0)"),
    "with gradient": (lambda t: t.ones(4, 8, requires_grad=True), "pass x.detach()"),
    "functional": (
        lambda t: within(t.func.functionalize, t.ones(4, 8)),
        EMPTY,
    ),
    "quantised": (
        lambda t: t.quantize_per_tensor(t.ones(4, 8), 0.1, 0, t.quint8),
        "pass a NumPy array of np.float32 in the CPU's memory",
    ),
    "sparse": (
        lambda t: t.ones(4, 8).to_sparse(),
        "pass a NumPy array of np.float32 in the CPU's memory",
    ),
}


@pytest.mark.filterwarnings("ignore")  # PyTorch's, about its own prototypes
@pytest.mark.parametrize("name", LYING)
def test_torch(name: str) -> None:
    """Tensors whose memory is not their values are rejected, each with a hint."""
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    make, hint = LYING[name]
    assert refused(make(torch)).hint == hint
    assert refused_by_jit(make(torch)).hint == hint


@pytest.mark.filterwarnings("ignore")
def test_torch_numbers() -> None:
    """A tensor without dimensions is a number where a number is expected."""
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    compiled = runtime.compile(scale, "interpreter")
    assert (compiled(ones(), torch.tensor(3.0), ones()) == 3).all()
    number = torch.tensor(3 + 4j).conj().imag
    assert (compiled(ones(), number.resolve_neg(), ones()) == -4).all()
    for made in (number, torch.ones((), device="meta"), fake(torch).sum()):
        assert refused(ones(), made).slug == "argument-memory"


def test_torch_in_place() -> None:
    """Tensors, parts of tensors and parameters that are their memory are used in place."""
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    compiled = runtime.compile(scale, "interpreter")
    out = torch.zeros(12, 8)[4:8]
    assert compiled(torch.ones(4, 8), 3.0, out) is out
    assert bool((out == 3).all())
    parameter = torch.nn.Parameter(torch.ones(4, 8), requires_grad=False)
    assert (compiled(parameter, 2.0, ones()) == 2).all()


def test_tensors_of_bfloat16() -> None:
    """PyTorch's BF16 tensors are used in place, though NumPy's DLPack reader lacks BF16."""
    torch: Any = pytest.importorskip("torch", reason=NO_TORCH)

    @pl.jit(target="interpreter")
    def copied(x: pl.Tensor[[16, 64], pl.BF16], out: pl.Out[pl.Tensor[[16, 64], pl.BF16]]) -> None:
        with pl.at(level=pl.Level.CORE_GROUP):
            out[:] = x[:, :]

    x, out = torch.randn(16, 64).bfloat16(), torch.zeros(16, 64).bfloat16()
    copied(x, out)
    assert torch.equal(x, out)
