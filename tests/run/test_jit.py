"""``@pl.jit``: what a call specialises on, what runs, and the errors for wrong calls."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.errors import CallError, ParserError
from tests.natively import compiler

M = pl.dynamic("M")
Array = np.ndarray[Any, Any]


def make(target: Any = "interpreter") -> Any:
    """Return a fresh kernel: ``out = x + y * f``, some rows at a time."""

    @pl.jit(target=target)
    def scaled(
        x: pl.Tensor,
        y: pl.Tensor[[M, 64], pl.FP32],
        f: pl.FP32,
        out: pl.Out[pl.Tensor],
        ROWS: int = 32,
    ):
        for r in pl.range(0, M, ROWS):
            a = pl.load(x, [r, 0], [ROWS, 64])
            b = pl.load(y, [r, 0], [ROWS, 64])
            out = pl.store(pl.add(a, pl.mul(b, f)), [r, 0], [ROWS, 64], out)
        return out

    return scaled


def arrays(rows: int = 128, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    x, y = rng.random((2, rows, 64), np.float32)
    return x, y, np.zeros_like(x)


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_runs_on_arrays(target: str) -> None:
    """A call computes in place and returns the array that the kernel returns."""
    if target == "cpu":
        compiler()
    kernel = make(target)
    x, y, out = arrays()
    assert kernel(x, y, 0.5, out) is out
    np.testing.assert_array_equal(out, x + y * np.float32(0.5))


def test_compiles_once_a_key() -> None:
    """Shapes, element types and constants make a new kernel; run-time scalars do not."""
    kernel = make()
    x, y, out = arrays()
    kernel(x, y, 0.5, out)
    kernel(x, y, 0.25, out)
    kernel(*arrays(seed=1)[:2], 2.0, out)
    kernel(x, y, 0.5, out, ROWS=32)
    assert kernel.misses == ["scaled: first call"]
    kernel(x, y, 0.5, out, 64)
    small = arrays(64)
    kernel(*small[:2], 0.5, small[2])
    np.testing.assert_array_equal(small[2], small[0] + small[1] * np.float32(0.5))
    assert kernel.misses[1:] == [
        "scaled: ROWS is 64, was 32",
        "scaled: x is float32 [64, 64], was float32 [128, 64]; "
        "out is float32 [64, 64], was float32 [128, 64]",
    ]


def test_constants_differ_by_type() -> None:
    """1 and True are two constants."""

    @pl.jit(target="interpreter")
    def add(out: pl.InOut[pl.Tensor], step: float = 1):
        tile = pl.add(pl.load(out, [0, 0], [8, 8]), step)
        return pl.store(tile, [0, 0], [8, 8], out)

    out = np.zeros((8, 8), np.float32)
    add(out)
    add(out, 1.0)
    assert add.misses == ["add: first call", "add: step is 1.0, was 1"]
    assert (out == 2).all()


def test_parse_gives_the_program() -> None:
    """`parse` returns the program as parsed; constants and unnamed sizes are numbers."""
    x, y, out = arrays()
    program = make().parse(x, y, 0.5, out, ROWS=64)
    assert str(program) == (
        "# pypto.program: scaled\n"
        "# pypto.entry: scaled\n"
        "import pypto.language as pl\n"
        "\n"
        'M = pl.dynamic("M")\n'
        "\n"
        "@pl.program\n"
        "class scaled:\n"
        "    @pl.function\n"
        "    def scaled(self, x: pl.Tensor[[128, 64], pl.FP32], y: pl.Tensor[[M, 64], pl.FP32], "
        "f: pl.Scalar[pl.FP32], out: pl.Out[pl.Tensor[[128, 64], pl.FP32]]) -> "
        "pl.Tensor[[128, 64], pl.FP32]:\n"
        "        for r in pl.range(0, M, 64):\n"
        "            a: pl.Tile[[64, 64], pl.FP32] = pl.block.load(x, [r, 0], [64, 64], "
        "target_memory=pl.MemorySpace.Vec)\n"
        "            b: pl.Tile[[64, 64], pl.FP32] = pl.block.load(y, [r, 0], [64, 64], "
        "target_memory=pl.MemorySpace.Vec)\n"
        "            out: pl.Tensor[[128, 64], pl.FP32] = pl.block.store(pl.block.add(a, "
        "pl.block.muls(b, f)), [r, 0], [64, 64], out)\n"
        "        return out"
    )


def test_annotations_stand_for_arrays() -> None:
    """`parse` and `compile` accept annotations; a call with such arrays then finds the kernel."""
    kernel = make()
    kind = pl.Tensor[[128, 64], pl.FP32]
    x, y, out = arrays()
    ir.assert_structural_equal(kernel.parse(kind, kind, 1.0, kind), kernel.parse(x, y, 1.0, out))
    compiled = kernel.compile(kind, kind, 1.0, kind)
    assert compiled.signature == (
        "scaled(x: Tensor[[128, 64], FP32], y: Tensor[[M, 64], FP32], f: Scalar[FP32], "
        "out: Out[Tensor[[128, 64], FP32]])"
    )
    compiled(x, y, 3.0, out)
    np.testing.assert_array_equal(out, x + y * np.float32(3))
    kernel(x, y, 0.5, out)
    assert kernel.misses == ["scaled: first call"]


class OfAnotherLibrary:
    """An array that supports DLPack but is not a NumPy array."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.shape, self.dtype = array.shape, "float32"

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries() -> None:
    """An array that supports DLPack uses the same kernel as NumPy arrays."""
    kernel = make()
    x, y, out = arrays()
    kernel(x, y, 0.5, out)
    out[:] = 0
    kernel(OfAnotherLibrary(x), y, 0.5, out)
    np.testing.assert_array_equal(out, x + y * np.float32(0.5))
    assert kernel.misses == ["scaled: first call"]


def test_calls_other_kernels() -> None:
    """An orchestration under jit launches kernels defined outside it, and expands inline ones."""

    @pl.function(type=pl.FunctionType.InCore)
    def double(x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
        tile = pl.load(x, [0, 0], [16, 16])
        return pl.store(pl.add(tile, tile), [0, 0], [16, 16], out)

    @pl.jit(type=pl.FunctionType.Orchestration, target="interpreter")
    def twice(x: pl.Tensor, out: pl.Out[pl.Tensor]):
        middle = pl.create_tensor([16, 16], dtype=pl.FP32)
        middle = double(x, middle)
        return double(middle, out)

    x = np.arange(256, dtype=np.float32).reshape(16, 16)
    out = np.zeros_like(x)
    twice(x, out)
    np.testing.assert_array_equal(out, x * 4)
    assert sorted(f.name for f in twice.parse(x, out).functions_) == ["double", "twice"]


X, Y, OUT = arrays()
WRONG: list[tuple[str, Callable[[Any], Any], str, str | None]] = [
    (
        "missing",
        lambda k: k(X, Y, 2.0),
        "argument 'out' is missing, and no other one tells its shape",
        "call it as scaled(x, y, f, out, ROWS)",
    ),
    (
        "too many",
        lambda k: k(X, Y, 2.0, OUT, 32, 1),
        "scaled does not take 6 arguments",
        "call it as scaled(x, y, f, out, ROWS)",
    ),
    (
        "unknown name",
        lambda k: k(X, Y, 2.0, OUT, COLS=1),
        "scaled does not take argument 'COLS'",
        "call it as scaled(x, y, f, out, ROWS)",
    ),
    (
        "list",
        lambda k: k([1.0], Y, 2.0, OUT),
        "argument 'x' of scaled is a list; an array was wanted",
        "np.asarray(x, np.float32)",
    ),
    (
        "rank",
        lambda k: k(X, Y[0], 2.0, OUT),
        "argument 'y' of scaled is an array [64]; Tensor[[M, 64], FP32] was wanted",
        None,
    ),
    (
        "constant",
        lambda k: k(X, Y, 2.0, OUT, ROWS=32.0),
        "argument 'ROWS' of scaled is 32.0; a Python int was wanted, which becomes part of the "
        "kernel",
        "int(ROWS)",
    ),
    (
        "dtype of a bare tensor",
        lambda k: k(X.astype(np.complex64), Y, 2.0, OUT),
        "argument 'x' of scaled is an array of complex64, which is not an element type of a kernel",
        "pass x.astype(np.float32)",
    ),
    (
        "dtype of a typed tensor",
        lambda k: k(X, Y.astype(np.float64), 2.0, OUT),
        "argument 'y' of scaled is an array [128, 64] of float64; Tensor[[M, 64], FP32] was wanted",
        "pass y.astype(np.float32)",
    ),
]


@pytest.mark.parametrize(
    ("call", "message", "hint"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
def test_wrong_calls(call: Callable[[Any], Any], message: str, hint: str | None) -> None:
    """An invalid call is rejected at the caller's line, and compiles nothing."""
    kernel = make()
    with pytest.raises(CallError) as caught:
        call(kernel)
    assert (str(caught.value), caught.value.hint) == (message, hint)
    assert caught.value.span.filename == __file__
    assert (kernel(X, Y, 2.0, OUT) == X + Y * np.float32(2)).all()


def test_one_size_a_dimension() -> None:
    """A symbolic dimension has a single size within a call."""

    @pl.jit(target="interpreter")
    def copy(x: pl.Tensor[[M, 8], pl.FP32], out: pl.Out[pl.Tensor[[M, 8], pl.FP32]]):
        return pl.store(pl.load(x, [0, 0], [M, 8]), [0, 0], [M, 8], out)

    x, out = np.ones((4, 8), np.float32), np.zeros((5, 8), np.float32)
    with pytest.raises(CallError) as caught:
        copy(x, out)
    assert str(caught.value) == (
        "argument 'out' of copy is an array [5, 8]; Tensor[[M, 8], FP32] was wanted, with M = 4"
    )


def test_parameters_without_meaning() -> None:
    """Parameters that no kernel can have are rejected by the first call, at their line."""

    @pl.jit
    def untyped(x):  # pyright: ignore
        return x  # pyright: ignore

    with pytest.raises(ParserError, match="parameter 'x' has no type") as caught:
        untyped(X)
    assert caught.value.hint == "write x: pl.Tensor, or x: int for a constant"

    @pl.jit
    def tiled(t: pl.Tile[[8, 8], pl.FP32]):
        return t

    with pytest.raises(ParserError, match="parameter 't' is neither an array nor a number"):
        tiled(X)


def test_mistakes_in_the_body() -> None:
    """A mistake in the body is reported at the kernel's line, and again by the next call."""

    @pl.jit(target="interpreter")
    def wrong(x: pl.Tensor, out: pl.Out[pl.Tensor]):
        tile = pl.load(x, [0, 0], [8, 8])
        return pl.store(pl.expo(tile), [0, 0], [8, 8], out)  # pyright: ignore

    x = np.ones((8, 8), np.float32)
    for _ in range(2):
        with pytest.raises(ParserError, match=r"there is no pl\.expo") as caught:
            wrong(x, x.copy())
        lines = Path(__file__).read_text("utf-8").splitlines()
        assert caught.value.span is not None
        assert "pl.expo(tile)" in lines[caught.value.span["line"] - 1]
    assert wrong.misses == []


# --------------------------------------------------------------------------------------------
# What a kernel reads from outside
# --------------------------------------------------------------------------------------------

OUTSIDE = """\
import types
import pypto.language as pl

STEP = 1.0
SIZES = [8, 16]
KIND = pl.FP32
SETTINGS = types.SimpleNamespace(rows=8)

@pl.inline
def change(tile):
    return pl.add(tile, STEP)

@pl.function(type=pl.FunctionType.InCore)
def copy(x: pl.Tensor[[8, 16], pl.FP32], y: pl.Out[pl.Tensor[[8, 16], pl.FP32]]):
    return pl.store(pl.load(x, [0, 0], [8, 16]), [0, 0], [8, 16], y)

@pl.jit(target="interpreter")
def kernel(x: pl.Tensor[[8, 16], KIND], y: pl.Out[pl.Tensor[[8, 16], KIND]]):
    tile = change(pl.load(x, [0, 0], SIZES))
    return pl.store(pl.mul(tile, float(SETTINGS.rows)), [0, 0], SIZES, y)

@pl.jit(type=pl.FunctionType.Orchestration, target="interpreter")
def launch(x: pl.Tensor[[8, 16], pl.FP32], y: pl.Out[pl.Tensor[[8, 16], pl.FP32]]):
    return copy(x, y)
"""


def outside(tmp_path: Path) -> Any:
    """Return the module that `OUTSIDE` is."""
    path = tmp_path / "captures.py"
    path.write_text(OUTSIDE)
    module = types.ModuleType("outside")
    exec(compile(OUTSIDE, str(path), "exec"), vars(module))
    return module


def ran(kernel: Any, dtype: Any = np.float32) -> float:
    """Return the first element of a kernel's result for zeros."""
    y = np.full((8, 16), -1, dtype)
    kernel(np.zeros((8, 16), dtype), y)
    return float(y[0, 0])


def test_changed_globals(tmp_path: Path) -> None:
    """A call uses the current value of a global; an old value reuses what was compiled for it."""
    module = outside(tmp_path)
    assert ran(module.kernel) == 8.0
    module.STEP = 2.0
    assert ran(module.kernel) == 16.0
    module.SETTINGS.rows = 4
    assert ran(module.kernel) == 8.0
    module.STEP = 1.0
    module.SETTINGS = types.SimpleNamespace(rows=8)
    assert ran(module.kernel) == 8.0
    assert module.kernel.misses == [
        "kernel: first call",
        "kernel: change.STEP is 2.0, was 1.0",
        "kernel: SETTINGS.rows is 4, was 8",
        "kernel: SETTINGS is another one; SETTINGS.rows is 8, was 4; change.STEP is 1.0, was 2.0",
    ]
    module.STEP = 2.0
    ran(module.kernel)
    module.STEP = float("1.0")  # an equal value in another object
    ran(module.kernel)
    assert len(module.kernel.misses) == 5


def test_changed_containers(tmp_path: Path) -> None:
    """A list is compared by its contents, whether it is changed in place or replaced."""
    module = outside(tmp_path)
    ran(module.kernel)
    module.SIZES = [8, 16]
    ran(module.kernel)
    assert len(module.kernel.misses) == 1
    module.SIZES[0] = 4
    y = np.full((8, 16), -1, np.float32)
    module.kernel(np.zeros((8, 16), np.float32), y)
    assert (y[:4] == 8).all()
    assert (y[4:] == -1).all()
    assert module.kernel.misses[1:] == ["kernel: SIZES is [4, 16], was [8, 16]"]


def test_changed_functions(tmp_path: Path) -> None:
    """A redefined inline function or kernel is the one that runs."""
    module = outside(tmp_path)
    assert (ran(module.kernel), ran(module.launch)) == (8.0, 0.0)
    module.change = pl.inline(_less)
    module.copy = _ones
    assert (ran(module.kernel), ran(module.launch)) == (-8.0, 1.0)
    assert module.kernel.misses[1:] == ["kernel: change is another one"]
    assert module.launch.misses[1:] == ["launch: copy is another one"]


def _less(tile: pl.Tile) -> pl.Tile:
    return pl.sub(tile, 1.0)


@pl.function(type=pl.FunctionType.InCore)
def _ones(x: pl.Tensor[[8, 16], pl.FP32], y: pl.Out[pl.Tensor[[8, 16], pl.FP32]]):
    return pl.store(pl.add(pl.load(x, [0, 0], [8, 16]), 1.0), [0, 0], [8, 16], y)


def test_changed_parameters(tmp_path: Path) -> None:
    """Globals that a signature reads count too: parameters reflect their values at the call."""
    module = outside(tmp_path)
    assert ran(module.kernel) == 8.0
    module.KIND = pl.FP16
    assert ran(module.kernel, np.float16) == 8.0
    with pytest.raises(CallError, match="FP16"):
        ran(module.kernel, np.float32)
    assert module.kernel.misses[1:] == ["kernel: KIND is fp16, was fp32"]


def test_changed_closure() -> None:
    """The same holds for variables of the enclosing function, including those assigned later."""
    step = 1.0

    def set_step(value: float) -> None:
        nonlocal step
        step = value

    @pl.jit(target="interpreter")
    def kernel(x: pl.Tensor, y: pl.Out[pl.Tensor]):
        tile = pl.add(pl.load(x, [0, 0], [8, 16]), step)
        return pl.store(pl.mul(tile, factor), [0, 0], [8, 16], y)

    factor = 3.0
    assert ran(kernel) == 3.0
    set_step(2.0)
    assert ran(kernel) == 6.0
    assert kernel.misses == ["kernel: first call", "kernel: step is 2.0, was 1.0"]


def test_own_names_are_not_outside(tmp_path: Path) -> None:
    """A global with the name of a parameter or local variable has no effect."""
    module = outside(tmp_path)
    ran(module.kernel)
    module.x = module.tile = 5
    ran(module.kernel)
    assert len(module.kernel.misses) == 1


def test_a_global_that_hides_a_builtin(tmp_path: Path) -> None:
    """A new global with the name of a builtin is noticed, too."""
    module = outside(tmp_path)
    ran(module.kernel)
    module.float = 3
    with pytest.raises(ParserError, match="float"):
        ran(module.kernel)
    del module.float
    assert ran(module.kernel) == 8.0
    assert len(module.kernel.misses) == 1


def test_arrays_have_the_sizes_of_annotations() -> None:
    """parse, lower and compile accept the same arrays as a call; the error names the dimension."""

    @pl.jit(target="interpreter")
    def copy(x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        out[:] = x[:]

    small, large = np.zeros((16, 64), np.float32), np.zeros((32, 64), np.float32)
    for method in (copy.parse, copy.lower, copy.compile):
        with pytest.raises(CallError, match=r"'x' of copy .* was wanted, 16 in dimension 0") as e:
            method(large, small)
        assert e.value.hint == "declare x: pl.Tensor[[32, 64], pl.FP32]"
        with pytest.raises(CallError, match=r"'out' of copy is an array .* of float16") as e:
            method(small, small.astype(np.float16))
        assert e.value.hint == "pass out.astype(np.float32)"
        method(small, small)


def test_signature() -> None:
    """The signature shown by notebooks and `help`: the parameters with their annotations."""
    shown = str(inspect.signature(make()))
    assert shown.startswith("(x: 'pl.Tensor', y: 'pl.Tensor[[M, 64], pl.FP32]', f: 'pl.FP32', ")
    assert "out: 'pl.Out[pl.Tensor]'" in shown
