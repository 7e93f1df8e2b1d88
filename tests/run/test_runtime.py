"""``runtime.compile``: choosing entry and target, checking arguments, returning results."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pypto.language as pl
from pypto import runtime
from pypto._src.errors import CallError, PyptoError
from pypto._src.interp.evaluate import evaluate
from pypto._src.run.arguments.parameters import word_of
from pypto._src.run.cache import CompileError
from pypto._src.run.native import KernelError
from pypto._src.run.toolchain import ToolchainError
from tests.natively import compiler
from tests.run.programs import Dynamic, Scale, Several, count

Array = np.ndarray[Any, Any]
TARGETS = pytest.mark.parametrize("target", ["cpu", "interpreter"])


@pytest.fixture(autouse=True)
def needs_compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYPTO_CXX", raising=False)
    if "cpu" in request.node.name:
        compiler()


def square(value: float = 1.0) -> Array:
    return np.full((8, 16), value, np.float32)


@TARGETS
def test_results_of_an_orchestration(target: Any) -> None:
    """A returned parameter is the object that was passed; a tensor made inside is a new array."""
    x, out = square(-3), square(0)
    first, second = runtime.compile(Scale, target)(x, 2.0, out)
    assert first is out
    assert (out == -6).all()
    assert (second == 0).all()
    assert second.dtype == np.float32


@TARGETS
def test_kernel_called_directly(target: Any) -> None:
    """The results of a kernel are its parameters in the order in which it returns them."""
    x, low, high = square(-3), square(), square()
    x[0] = 4
    results = runtime.compile(Scale, target, entry="split")(x, low, high)
    assert results[0] is high
    assert results[1] is low
    np.testing.assert_array_equal(high, np.maximum(x, 0))
    np.testing.assert_array_equal(low, np.minimum(x, 0))


@TARGETS
def test_a_scalar_may_be_nan(target: Any) -> None:
    """A float argument is any float; a NaN is not mistaken for a size mismatch."""
    x, out = square(3), square(0)
    first, _ = runtime.compile(Scale, target)(x, float("nan"), out)
    assert np.isnan(first).all()


@TARGETS
@pytest.mark.filterwarnings("error")
def test_a_scalar_beyond_its_type_is_infinite(target: Any) -> None:
    """A float argument out of range of its type is infinity, as inside a kernel."""
    x, out = square(3), square(0)
    first, _ = runtime.compile(Scale, target)(x, -1e39, out)
    assert (first == -np.inf).all()


def test_one_function_is_a_program() -> None:
    """A function on its own is compiled as a program of one."""
    kernel = Scale.get_function("scale")
    assert kernel is not None
    compiled = runtime.compile(kernel, "interpreter")
    assert compiled.entry == "scale"
    assert compiled.written == ["out"]
    assert (compiled(square(2), 1.5, square()) == 3).all()


def test_program_shows_its_signature() -> None:
    """The text of a compiled program has the entry, its parameters and the target."""
    assert repr(runtime.compile(Scale, "interpreter")) == (
        "<CompiledProgram main(x: Tensor[[8, 16], FP32], factor: Scalar[FP32], "
        "out: Out[Tensor[[8, 16], FP32]]) on interpreter>"
    )


def test_cpu_keeps_the_sources() -> None:
    """The compiled C++ is there by kernel; kernels that the entry does not launch are omitted."""
    assert sorted(runtime.compile(Scale).sources) == ["scale", "split"]
    [(name, text)] = runtime.compile(Scale, entry="scale").sources.items()
    assert name == "scale"
    assert "kernel_entry" in text


# --------------------------------------------------------------------------------------------
# Choosing
# --------------------------------------------------------------------------------------------


def test_several_candidates_need_a_name() -> None:
    """Without an orchestration function the error lists the candidates."""
    with pytest.raises(CallError) as caught:
        runtime.compile(Several, "interpreter")
    assert caught.value.message == (
        "the program has several functions and none is its entry: first, second"
    )
    assert caught.value.hint == "entry='first'"
    assert runtime.compile(Several, "interpreter", entry="second").entry == "second"


def test_a_function_that_none_calls_is_the_entry() -> None:
    """Functions with scopes for the cores are not marked as orchestration, and need no name."""

    @pl.program
    class Steps:
        @pl.function
        def again(self, x: pl.Tensor[[8, 16], pl.FP32]) -> pl.Tensor[[8, 16], pl.FP32]:
            with pl.incore():
                x += x
            return x

        @pl.function
        def first(self, x: pl.Tensor[[8, 16], pl.FP32]) -> pl.Tensor[[8, 16], pl.FP32]:
            with pl.incore():
                y = x + 1.0
            return self.again(y)

    compiled = runtime.compile(Steps, "interpreter")
    assert compiled.entry == "first"
    assert (compiled(square(2)) == 6).all()
    assert (evaluate(Steps, [square(2)]) == 6).all()


def test_unknown_entry() -> None:
    """For an unknown entry, the error lists the known ones."""
    with pytest.raises(CallError) as caught:
        runtime.compile(Several, "interpreter", entry="third")
    assert caught.value.message == "the program has no function 'third'; it has first, second"


def test_unknown_target() -> None:
    """A target that does not exist is rejected before anything else happens."""
    wrong: Any = "gpu"
    with pytest.raises(ValueError, match="target is 'gpu'; it is one of cpu, interpreter"):
        runtime.compile(Scale, wrong)


def test_without_a_compiler_the_interpreter_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a compiler gets a warning that says so, and the same results."""
    monkeypatch.setattr("pypto._src.driver.find_toolchain", lambda: None)
    with pytest.warns(RuntimeWarning, match="the program runs in the interpreter") as caught:
        compiled = runtime.compile(Scale)
    assert caught[0].filename == __file__
    assert 'pip install "pypto[toolchain]"' in str(caught[0].message)
    assert compiled.target == "interpreter"
    assert (compiled(square(2), 3.0, square())[0] == 6).all()


def test_wrong_compiler_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a compiler that the user chose does not work, there is no fallback."""
    monkeypatch.setenv("PYPTO_CXX", "no-such-compiler")
    with pytest.raises(ToolchainError, match="no-such-compiler") as caught:
        runtime.compile(Scale)
    assert isinstance(caught.value, PyptoError)


def test_errors_are_for_users() -> None:
    """Errors of compiler and kernels are PyptoErrors with the whole report as their message."""
    error = CompileError(("c++", "x.cpp"), "x.cpp:1: error: no", Path("x.cpp"), 1)
    assert isinstance(error, PyptoError)
    assert error.render().startswith("error: the C++ compiler failed with exit code 1\n")
    assert issubclass(KernelError, PyptoError)


def test_sizes_that_vary_run_in_the_interpreter() -> None:
    """A dimension that is not constant accepts arrays of any size."""
    compiled = runtime.compile(Dynamic, "interpreter")
    for rows in (8, 30):
        x = np.full((rows, 16), rows, np.float32)
        assert (compiled(x, square()) == rows).all()


# --------------------------------------------------------------------------------------------
# Arguments
# --------------------------------------------------------------------------------------------


def refusal(*args: Any, entry: str = "scale") -> CallError:
    with pytest.raises(CallError) as caught:
        runtime.compile(Scale, "interpreter", entry=entry)(*args)
    return caught.value


def read_only() -> Array:
    array = square()
    array.flags.writeable = False
    return array


OUT = "Out[Tensor[[8, 16], FP32]] was wanted"
X = "Tensor[[8, 16], FP32] was wanted"


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (
            (1,),
            "scale takes 3 arguments (x, factor, out), got 1",
            "call it as scale(x: Tensor[[8, 16], FP32], factor: Scalar[FP32], "
            "out: Out[Tensor[[8, 16], FP32]])",
        ),
        (
            (square().astype(np.float64), 1.0, square()),
            f"argument 'x' of scale is an array [8, 16] of float64; {X}",
            "pass x.astype(np.float32)",
        ),
        (
            (square(), 1.0, square().astype(np.float16)),
            f"argument 'out' of scale is an array [8, 16] of float16; {OUT}",
            "make it with dtype=np.float32",
        ),
        (
            (square().reshape(16, 8), 1.0, square()),
            f"argument 'x' of scale is an array [16, 8] of float32; {X}",
            "pass x.reshape(8, 16)",
        ),
        (
            (square()[:4], 1.0, square()),
            f"argument 'x' of scale is an array [4, 16] of float32; {X}",
            "declare x: pl.Tensor[[4, 16], pl.FP32]",
        ),
        (
            (np.zeros((8, 32), np.float32)[:, ::2], 1.0, square()),
            "argument 'x' of scale is not contiguous in row-major order; "
            "its strides are [128, 8] bytes",
            "pass x.copy()",
        ),
        (
            (square(), 1.0, np.zeros((16, 8), np.float32).T),
            "argument 'out' of scale is not contiguous in row-major order; "
            "its strides are [4, 32] bytes",
            "make it with np.empty((8, 16,), np.float32)",
        ),
        (
            (square(), 1.0, read_only()),
            "argument 'out' of scale is read-only, but the kernel writes it",
            "pass a copy that can be written: out.copy()",
        ),
        (
            ([[1.0]], 1.0, square()),
            f"argument 'x' of scale is a list; {X}",
            "np.asarray(x, np.float32)",
        ),
        (
            (square(), "2", square()),
            "argument 'factor' of scale is a str; Scalar[FP32] was wanted",
            "pass a number: factor=1",
        ),
    ],
)
def test_wrong_arguments(args: tuple[Any, ...], message: str, hint: str | None) -> None:
    """Each mistake is reported with the parameter, what was passed, what was expected and a fix."""
    error = refusal(*args)
    assert (error.message, error.hint) == (message, hint)


def test_results_do_not_share_memory() -> None:
    """A tensor that is written must not overlap another argument; inputs may."""
    memory = np.ones((12, 16), np.float32)
    error = refusal(memory[:8], 1.0, memory[4:])
    assert error.message == ("arguments 'out' and 'x' of scale share memory, and 'out' is written")
    assert error.hint == "pass a copy: x.copy()"


def test_read_only_inputs_are_fine() -> None:
    """Only what is written must be writable."""
    assert (
        runtime.compile(Scale, "interpreter", entry="scale")(read_only(), 2, square()) == 2
    ).all()


class OldExporter:
    """An array of a library with DLPack before version 1, which has no read-only flag."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, stream: None = None) -> object:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_old_exporters_are_inputs_only() -> None:
    """Memory that DLPack does not mark as writable is rejected as a result."""
    compiled = runtime.compile(Scale, "interpreter", entry="scale")
    assert (compiled(OldExporter(square(3)), 2.0, square()) == 6).all()
    error = refusal(square(), 2.0, OldExporter(square()))
    assert error.message == "argument 'out' of scale is read-only, but the kernel writes it"
    assert error.hint == "pass its memory as a NumPy array: out.numpy()"


class Exporter:
    """An array of another library: it supports DLPack and nothing else."""

    def __init__(self, array: Array, device: int = 1) -> None:
        self.array = array
        self.device = device

    def __dlpack__(self, **keywords: Any) -> object:
        if self.device != 1:
            raise BufferError("the data is on another device")
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)


@TARGETS
def test_arrays_of_other_libraries(target: Any) -> None:
    """DLPack objects are read and written in place, and returned as the objects passed."""
    x, out = Exporter(square(3)), Exporter(square(0))
    assert runtime.compile(Scale, target, entry="scale")(x, 2.0, out) is out
    assert (out.array == 6).all()


def test_arrays_elsewhere_are_refused() -> None:
    """What NumPy cannot view in place is rejected with NumPy's reason."""
    error = refusal(Exporter(square(), device=2), 1.0, square())
    assert error.slug == "argument-dlpack"
    assert error.message.startswith("argument 'x' of scale is an Exporter, which NumPy cannot use")
    assert error.hint == "pass a NumPy array of np.float32 in the CPU's memory"


@TARGETS
def test_memory_maps(target: Any, tmp_path: Path) -> None:
    """A subclass of the array type, such as a file's memory map, is used in place."""
    out = np.memmap(tmp_path / "out", np.float32, "w+", shape=(8, 16))
    assert runtime.compile(Scale, target, entry="scale")(square(), 4.0, out) is out
    assert (np.fromfile(tmp_path / "out", np.float32) == 4).all()


@TARGETS
@pytest.mark.parametrize("factor", [3, np.float32(3), np.array(3.0), ml_dtypes.bfloat16(3)])
def test_numbers_of_all_kinds(target: Any, factor: Any) -> None:
    """Scalars are Python numbers, NumPy's, or zero-dimensional arrays."""
    result = runtime.compile(Scale, target, entry="scale")(square(2), factor, square())
    assert (result == 6).all()


@TARGETS
def test_scalars_in_and_out(target: Any) -> None:
    """A function of scalars alone returns a Python number."""
    compiled = runtime.compile(count, target)
    assert compiled(5, False) == 25
    assert compiled(np.int8(5), True) == -25
    assert type(compiled(5, False)) is int


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (
            (2.0, True),
            "argument 'n' of count is 2.0; Scalar[INT32] was wanted",
            "int(n)",
        ),
        (
            (1 << 31, True),
            "argument 'n' of count is 2147483648, which is out of range for INT32",
            "declare n: pl.INT64",
        ),
        ((1, 2), "argument 'negate' of count is 2, which is out of range for BOOL", "bool(negate)"),
    ],
)
def test_wrong_numbers(args: tuple[Any, ...], message: str, hint: str | None) -> None:
    """An integer parameter accepts no fraction and nothing out of range."""
    with pytest.raises(CallError) as caught:
        runtime.compile(count, "interpreter")(*args)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("dtype", "value", "word"),
    [
        (pl.FP32, 1.0, 0x3F800000),
        (pl.FP32, -0.0, 0x80000000),
        (pl.FP16, 1.0, 0x3C00),
        (pl.BF16, 1.0, 0x3F80),
        (pl.INT8, -1, -1),
        (pl.INT64, -(1 << 63), -(1 << 63)),
        (pl.UINT64, (1 << 64) - 1, -1),
        (pl.UINT32, (1 << 32) - 1, (1 << 32) - 1),
        (pl.BOOL, True, 1),
    ],
)
def test_words_of_numbers(dtype: Any, value: Any, word: int) -> None:
    """A float's bits are in the low bytes of its word; an integer is the word itself."""
    assert word_of(dtype)(value) == word


@TARGETS
def test_calls_from_several_threads(target: Any) -> None:
    """Threads that call one program at the same time each get their own result."""
    compiled = runtime.compile(Scale, target)
    wrong: list[int] = []

    def call(number: int) -> None:
        for turn in range(20):
            value = float(number * 100 + turn)
            out, high = compiled(square(value), 2.0, square())
            if not ((out == 2 * value).all() and (high == 2 * value).all()):
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_wrong_argument_points_at_the_call() -> None:
    """The error of a call shows the caller's line, as a report has no traceback."""
    compiled = runtime.compile(Scale, "interpreter")
    with pytest.raises(CallError) as caught:
        compiled(square(), 2.0, square(), square())
    assert caught.value.location.filename == __file__
    assert "compiled(square(), 2.0, square(), square())" in caught.value.render()


def test_bits_of_floats() -> None:
    """NumPy has no bfloat16: bits of others are reinterpreted as such, not converted."""

    @pl.function(type=pl.FunctionType.InCore)
    def copy(x: pl.Tensor[[8, 16], pl.BF16], out: pl.Out[pl.Tensor[[8, 16], pl.BF16]]):
        out[:] = x[:]

    bits = np.zeros((8, 16), np.uint16)
    compiled = runtime.compile(copy, "interpreter")
    with pytest.raises(CallError) as caught:
        compiled(bits, bits.copy())
    assert caught.value.hint == "pass x.view(ml_dtypes.bfloat16)"
    floats: Any = bits.view(ml_dtypes.bfloat16)
    with pytest.raises(CallError) as caught:
        compiled(floats, np.zeros((8, 16), np.float32))
    assert caught.value.hint == "make it with dtype=ml_dtypes.bfloat16"
    compiled(floats + 1, floats)
    assert (bits == 0x3F80).all()


M = pl.dynamic("M")
R = pl.dynamic("R")


@pl.program
class TwoHalves:
    """A kernel whose second tensor has twice the rows of the first, and a third of given size."""

    @pl.function(type=pl.FunctionType.InCore)
    def lower_half(
        self,
        n: pl.INT64,
        x: pl.Tensor[[M, 16], pl.FP32],
        y: pl.Tensor[[M * 2, 16], pl.FP32],
        z: pl.Tensor[[n, 16], pl.FP32],  # pyright: ignore[reportUndefinedVariable]  # noqa: F821
        out: pl.Out[pl.Tensor[[M, 16], pl.FP32]],
    ):
        for i in pl.range(0, M, 8):
            out[i : i + 8] = x[i : i + 8] + y[M + i : M + i + 8] + z[n - 8 : n]

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[M, 16], pl.FP32],
        y: pl.Tensor[[R, 16], pl.FP32],
        z: pl.Tensor[[8, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[M, 16], pl.FP32]],
    ):
        self.lower_half(n, x, y[0:R], z, out)


TOLD = [(16, 8, ""), (8, 8, "'y'"), (24, 8, "'y'"), (16, 16, "'z'")]


@TARGETS
@pytest.mark.parametrize(("rows", "n", "refused"), TOLD)
def test_sizes_that_other_arguments_tell(target: Any, rows: int, n: int, refused: str) -> None:
    """A kernel relies on a dimension such as M * 2, so arrays that do not match it are rejected."""
    arrays = [np.ones((size, 16), np.float32) for size in (8, rows, 8, 8)]
    lower_half = runtime.compile(TwoHalves, target, entry="lower_half")
    if not refused:
        lower_half(n, *arrays)
        assert (arrays[-1] == 3).all()
        return
    with pytest.raises(CallError, match=f"argument {refused} of lower_half") as caught:
        lower_half(n, *arrays)
    if refused == "'y'":
        assert caught.value.message.endswith("and M * 2 is 16")
        larger = rows > 16
        assert caught.value.hint == ("pass y[:16].copy()" if larger else "pass an array [16, 16]")


@TARGETS
@pytest.mark.parametrize(("rows", "n", "refused"), TOLD)
def test_sizes_that_a_host_function_tells(target: Any, rows: int, n: int, refused: str) -> None:
    """The same holds where a host function calls the kernel."""
    arrays = [np.ones((size, 16), np.float32) for size in (8, rows, 8, 8)]
    main = runtime.compile(TwoHalves, target)
    if refused:
        with pytest.raises(PyptoError, match=f"argument {refused}") as caught:
            main(n, *arrays)
        assert caught.value.location.begin_line > 0
    else:
        main(n, *arrays)
        assert (arrays[-1] == 3).all()


@pl.program
class Rest:
    """A kernel whose second tensor has the rows of the first that remain after n."""

    @pl.function(type=pl.FunctionType.InCore)
    def copy(
        self,
        n: pl.INT64,
        x: pl.Tensor[[M, 16], pl.FP32],
        y: pl.Tensor[[M - n, 16], pl.FP32],  # pyright: ignore[reportUndefinedVariable]  # noqa: F821
        out: pl.Out[pl.Tensor[[M, 16], pl.FP32]],
    ):
        out[0:8] = x[0:8] + y[0:8]

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[M, 16], pl.FP32],
        y: pl.Tensor[[R, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[M, 16], pl.FP32]],
    ):
        self.copy(n, x, y, out)


@TARGETS
@pytest.mark.parametrize("entry", ["main", "copy"])
def test_no_tensor_has_a_size_below_0(target: Any, entry: str) -> None:
    """A negative size is rejected, without suggesting a slice that would not help."""
    run = runtime.compile(Rest, target, entry=entry)
    for n in (0, 9, 10):
        x, y, out = (np.ones((8, 16), np.float32) for _ in range(3))
        if n == 0:
            run(n, x, y, out)
            assert (out == 2).all()
            continue
        with pytest.raises(PyptoError, match="argument 'y'") as caught:
            run(n, x, y, out)
        assert caught.value.hint is None


@TARGETS
def test_a_size_that_nothing_tells(target: Any) -> None:
    """A size that cannot be solved for is rejected before anything runs."""

    @pl.program
    class Batches:
        @pl.function(type=pl.FunctionType.InCore)
        def copy(self, x: pl.Tensor[[8, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]):
            out[:] = x[:]

        @pl.function(type=pl.FunctionType.Orchestration)
        def main(
            self,
            x: pl.Tensor[[M // 2 * 16, 16], pl.FP32],
            out: pl.Out[pl.Tensor[[M // 2 * 16, 16], pl.FP32]],
        ):
            for i in pl.range(M // 2):
                self.copy(x[i * 8 : i * 8 + 8], out[i * 8 : i * 8 + 8])

    with pytest.raises(CallError, match="main cannot be called: the size 'M'") as caught:
        runtime.compile(Batches, target)
    assert caught.value.hint == "add a parameter M: pl.Scalar[pl.INT64]"
