# ruff: noqa: RET504, SIM108  (kernels, which have rules of their own)
"""Whole-tensor programs give the same results compiled, as PTO text, and interpreted directly.

They are what users write: scopes around ops on tensors, no tile, no load, no memory space.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dialect.evaluate import evaluate
from pypto._src.dialect.verify import check, options_of
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import EmitError, PassError
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.roles import Role, core_type, role
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.run.effects import effects
from pypto._src.run.toolchain import find_toolchain

Array = np.ndarray[Any, Any]
EPS = 2.0**-24
M, N = pl.dynamic("M"), pl.dynamic("N")


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


class TextHost(Evaluator):
    """A lowered program whose kernels run as PTO text."""

    def __init__(self, program: ir.Program) -> None:
        super().__init__(program)
        self.effects = effects(program)
        self.sources: dict[str, Any] = {}
        self.params: dict[str, Sequence[ir.Var]] = {}
        for function in program.functions_:
            if role(function) is Role.KERNEL:
                self.params[function.name] = function.params
                text = PTOCodegen().generate(ir.Program([function], program.name))
                self.sources[function.name] = check(text, function.name, options_of(text, "a3"))

    def run(self, name: str, args: Sequence[Any], span: Span = UNKNOWN_SPAN) -> Any:
        """Evaluate a kernel's text, on dense copies of views."""
        source = self.sources.get(name)
        if source is None:
            return super().run(name, args, span)
        dense: list[Any] = [np.ascontiguousarray(a) if _is_array(a) else a for a in args]
        evaluate(source, name, [*dense, *sizes_behind(self.params[name], args)])
        for arg, copy in zip(args, dense, strict=True):
            if copy is not arg:
                arg[...] = copy
        found = tuple(args[indices[0]] for indices in self.effects[name].results)
        return found[0] if len(found) == 1 else found or None


def sizes_behind(params: Sequence[ir.Var], args: Sequence[Any]) -> list[int]:
    """Return the sizes that a kernel's text takes after its arguments, one for each name."""
    found: dict[Any, int] = {}
    for param, arg in zip(params, args, strict=True):
        if isinstance(param.type, ir.TensorType):
            for dim, size in zip(param.type.shape, arg.shape, strict=True):
                if isinstance(dim, ir.Var):
                    found.setdefault(dim, size)
    return list(found.values())


class Case(NamedTuple):
    """A program, its arguments, the expected results, and their tolerance."""

    program: ir.Program
    arguments: list[Any]
    wanted: list[Array]
    atol: float


def _random(shape: Sequence[int], seed: int = 0, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)


def _whole(shape: Sequence[int], seed: int = 0) -> Array:
    """Return small integers, whose sums are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def softmax_of(rows: int, columns: int) -> Case:
    """Return a softmax along rows, of any size."""

    @pl.program
    class Softmax:
        @pl.function
        def main(
            self, x: pl.Tensor[[rows, columns], pl.FP32]
        ) -> pl.Tensor[[rows, columns], pl.FP32]:
            with pl.incore():
                e = pl.exp(pl.sub(x, pl.row_max(x)))
                y = pl.div(e, pl.row_sum(e))
            return y

    x = _random((rows, columns)) * 4
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return Case(Softmax, [x], [e / e.sum(axis=1, keepdims=True)], columns * 4 * EPS)


def layer_norm() -> Case:
    """Return a layer norm; 1 / sqrt is computed by Newton's iteration, in a loop."""

    @pl.program
    class LayerNorm:
        @pl.function
        def main(
            self,
            x: pl.Tensor[[192, 512], pl.FP32],
            gain: pl.Tensor[[512], pl.FP32],
            bias: pl.Tensor[[1, 512], pl.FP32],
            out: pl.Out[pl.Tensor[[192, 512], pl.FP32]],
        ) -> pl.Tensor[[192, 512], pl.FP32]:
            with pl.incore():
                centred = x - pl.row_sum(x) * (1.0 / 512)
                variance = pl.row_sum(centred * centred) * (1.0 / 512) + 1e-5
                inverse = variance * 0.0 + 1.0
                for _ in pl.range(8):
                    inverse = inverse * (variance * inverse * inverse * -0.5 + 1.5)
                out = pl.assemble(out, centred * inverse * gain + bias, [0, 0])
            return out

    x, gain, bias = _random((192, 512)), _random((512,), 1), _random((1, 512), 2)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    out = np.zeros((192, 512), np.float32)
    return Case(LayerNorm, [x, gain, bias, out], [centred * inverse * gain + bias], 512 * EPS)


def linear_gelu() -> Case:
    """Return a linear layer and a GELU in one scope: cube work, then vector work."""

    @pl.program
    class LinearGelu:
        @pl.function
        def main(
            self,
            x: pl.Tensor[[96, 256], pl.FP16],
            w: pl.Tensor[[128, 256], pl.FP16],
            b: pl.Tensor[[1, 128], pl.FP32],
        ) -> pl.Tensor[[96, 128], pl.FP32]:
            with pl.incore():
                h = pl.matmul(x, w, out_dtype=pl.FP32, b_trans=True) + b
                y = h / (pl.exp(h * -1.702) + 1.0)
            return y

    x, w = _random((96, 256), 0, np.float16), _random((128, 256), 1, np.float16)
    b = _random((1, 128), 2)
    h = x.astype(np.float64) @ w.astype(np.float64).T + b
    return Case(LinearGelu, [x, w, b], [h / (1 + np.exp(-1.702 * h))], 256 * 16 * EPS)


def product() -> Case:
    """Return a matrix product that takes many tiles in each direction."""

    @pl.program
    class Product:
        @pl.function
        def main(
            self, a: pl.Tensor[[256, 384], pl.FP32], b: pl.Tensor[[384, 512], pl.FP32]
        ) -> pl.Tensor[[256, 512], pl.FP32]:
            with pl.incore():
                c = pl.matmul(a, b)
            return c

    a, b = _whole((256, 384)), _whole((384, 512), 1)
    return Case(Product, [a, b], [a @ b], 0.0)


def chain() -> Case:
    """Return chained products, one transposed, with tails in M and N, and one assembled part."""

    @pl.program
    class Chain:
        @pl.function
        def main(
            self,
            a: pl.Tensor[[50, 64], pl.FP32],
            b: pl.Tensor[[64, 80], pl.FP32],
            c: pl.Tensor[[112, 80], pl.FP32],
            out: pl.InOut[pl.Tensor[[60, 120], pl.FP32]],
        ) -> pl.Tensor[[60, 120], pl.FP32]:
            with pl.incore():
                d = pl.matmul(pl.matmul(a, b), c, b_trans=True)
                out = pl.assemble(out, d, [3, 4])
            return out

    a, b, c = _whole((50, 64)), _whole((64, 80), 1), _whole((112, 80), 2)
    wanted = np.ones((60, 120), np.float32)
    wanted[3:53, 4:116] = a @ b @ c.T
    return Case(Chain, [a, b, c, np.ones((60, 120), np.float32)], [wanted], 0.0)


def shapes() -> Case:
    """Return tensors reshaped and transposed, in three dimensions."""

    @pl.program
    class Shapes:
        @pl.function
        def main(
            self, x: pl.Tensor[[32, 64, 48], pl.FP32]
        ) -> tuple[
            pl.Tensor[[48, 64, 32], pl.FP32],
            pl.Tensor[[64, 32, 48], pl.FP32],
            pl.Tensor[[96, 1024], pl.FP32],
            pl.Tensor[[32, 64], pl.FP32],
        ]:
            with pl.incore():
                a = pl.transpose(x, 0, 2)
                b = pl.transpose(x * 3.0, 0, 1)
                c = pl.reshape(x, [96, 1024])
                d = pl.row_sum(x, keep_dim=False)
            return a, b, c, d

    x = _whole((32, 64, 48))
    wanted = [x.T, np.swapaxes(x * 3, 0, 1), x.reshape(96, 1024), x.sum(axis=-1)]
    return Case(Shapes, [x], wanted, 0.0)


def large() -> Case:
    """Return an elementwise op with tails in rows and columns that are no multiples of blocks."""

    @pl.program
    class Large:
        @pl.function
        def main(
            self, x: pl.Tensor[[301, 1003], pl.FP32], c: pl.Tensor[[1003], pl.FP32]
        ) -> pl.Tensor[[301, 1003], pl.FP32]:
            with pl.incore():
                y = x * 2.0 + c
            return y

    x, c = _whole((301, 1003)), _whole((1003,), 1)
    return Case(Large, [x, c], [x * 2 + c], 0.0)


def in_place() -> Case:
    """Return a loop that reads and writes one tensor, in place and in overlapping parts."""

    @pl.program
    class InPlace:
        @pl.function
        def main(
            self, x: pl.InOut[pl.Tensor[[300, 200], pl.FP32]], y: pl.Tensor[[16, 200], pl.FP32]
        ) -> pl.Tensor[[300, 200], pl.FP32]:
            with pl.incore():
                for i in pl.range(3):
                    x = pl.assemble(x, x + 1.0, [0, 0])
                    x = pl.assemble(x, pl.mul(x[i * 16 : i * 16 + 16], y), [i * 16 + 8, 0])
            return x

    x, y = _whole((300, 200)), _whole((16, 200), 1)
    wanted = x.copy()
    for i in range(3):
        wanted += 1
        wanted[i * 16 + 8 : i * 16 + 24] = wanted[i * 16 : i * 16 + 16] * y
    return Case(InPlace, [x, y], [wanted], 0.0)


def many_values() -> Case:
    """Return a scope with more live values than any tile size has room for."""
    count = 40
    lines = [f"        v{i} = pl.tensor.mul(x, {float(i)})" for i in range(count)]
    total = "v0"
    for i in range(1, count):
        lines.append(f"        s{i} = pl.tensor.add({total}, v{i})")
        total = f"s{i}"
    text = f"""
import pypto.language as pl

@pl.program
class Many:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, x: pl.Tensor[[8, 8192], pl.FP32]) -> pl.Tensor[[8, 8192], pl.FP32]:
        m = pl.tensor.row_max(x)
{chr(10).join(lines)}
        return pl.tensor.sub({total}, m)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[8, 8192], pl.FP32]) -> pl.Tensor[[8, 8192], pl.FP32]:
        return self.kernel(x)
"""
    x = _whole((8, 8192))
    wanted = x * sum(range(count)) - x.max(axis=1, keepdims=True)
    return Case(pl.parse_program(text), [x], [wanted], 0.0)


CASES: dict[str, Callable[[], Case]] = {
    "softmax": lambda: softmax_of(100, 256),
    "softmax_of_long_rows": lambda: softmax_of(16, 16384),
    "softmax_of_few_rows": lambda: softmax_of(3, 1024),
    "softmax_of_one_row": lambda: softmax_of(1, 64),
    "layer_norm": layer_norm,
    "linear_gelu": linear_gelu,
    "product": product,
    "chain": chain,
    "shapes": shapes,
    "large": large,
    "in_place": in_place,
    "many_values": many_values,
}


def _results(found: Any) -> list[Array]:
    items = cast("tuple[Any, ...]", found if isinstance(found, tuple) else (found,))
    return [np.array(item) for item in items]


def _copied(values: Sequence[Any]) -> list[Any]:
    return [v.copy() if isinstance(v, np.ndarray) else v for v in values]


@pytest.mark.parametrize("name", CASES)
def test_programs(name: str) -> None:
    """All ways to run a program agree with NumPy, within rounding."""
    case = CASES[name]()
    assert find_toolchain() is not None
    ways: dict[str, Callable[..., Any]] = {
        "interpreter": runtime.compile(case.program, target="interpreter", entry="main"),
        "cpu": runtime.compile(case.program, target="cpu", entry="main"),
    }
    lowered = PassManager(OptimizationStrategy.PTOAS).run_passes(case.program)
    ways["text"] = lambda *args: TextHost(lowered).call("main", list(args))
    for way, run in ways.items():
        for found, wanted in zip(_results(run(*_copied(case.arguments))), case.wanted, strict=True):
            assert found.shape == wanted.shape, way
            np.testing.assert_allclose(found, wanted, rtol=0, atol=case.atol, err_msg=way)


R = pl.dynamic("R")


@pl.program
class OnePage:
    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self,
        x: pl.Tensor[[R, 4, 16, 32], pl.FP32],
        page: pl.Scalar[pl.INDEX],
        out: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
    ) -> pl.Tensor[[64, 32], pl.FP32]:
        part = pl.tensor.view(x, [1, 4, 16, 32], [page, 0, 0, 0])
        rows = pl.tensor.reshape_view(part, [64, 32])
        out = pl.store(pl.mul(pl.load(rows, [0, 0], [64, 32]), 2.0), [0, 0], [64, 32], out)
        return out


@pl.program
class SomeColumns:
    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self,
        x: pl.Tensor[[16, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[64, 8], pl.FP32]],
    ) -> pl.Tensor[[64, 8], pl.FP32]:
        part = pl.tensor.view(x, [16, 32], [0, 0])
        rows = pl.tensor.reshape_view(part, [64, 8])
        out = pl.store(pl.load(rows, [0, 0], [64, 8]), [0, 0], [64, 8], out)
        return out


def test_a_dense_part_in_another_shape() -> None:
    """A page of a tensor of run-time size is a matrix, in a text as elsewhere."""
    x = np.random.default_rng(3).random((3, 4, 16, 32), np.float32)
    for strategy in (OptimizationStrategy.Default, OptimizationStrategy.PTOAS):
        lowered = PassManager(strategy).run_passes(OnePage)
        for host in (Evaluator(lowered), TextHost(lowered)):
            out = np.zeros((64, 32), np.float32)
            host.call("main", [x, 1, out])
            np.testing.assert_array_equal(out, 2 * x[1].reshape(64, 32))


def test_a_part_with_gaps_in_another_shape() -> None:
    """Its elements are not contiguous, so neither text can express it."""
    lowered = PassManager(OptimizationStrategy.PTOAS).run_passes(SomeColumns)
    for emit in (PTOCodegen().generate, runtime.compile):
        with pytest.raises(EmitError, match="are not contiguous in memory") as caught:
            emit(lowered)
        assert caught.value.hint == "reshape the whole tensor, and take the part of that"


def test_a_scope_with_both_cores_is_two_kernels() -> None:
    """Products run on a cube core, what follows on a vector core."""
    lowered = PassManager().run_passes(linear_gelu().program)
    cores = {f.name: core_type(f).name for f in lowered.functions_ if role(f) is Role.KERNEL}
    assert cores == {"main_incore_0": "CUBE", "main_incore_1": "VECTOR"}


@pl.program
class Sizes:
    """Sums of a tensor whose sizes are known only at the call."""

    @pl.function
    def main(self, x: pl.Tensor[[M, N], pl.FP32], n: pl.INT64) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.incore():
            y = x + 1.0
            for i in pl.range(n):
                if i % 2 == 0:
                    y = y * x
                else:
                    y = y + x
        return y


@pl.program
class Rows:
    """A softmax of any number of rows."""

    @pl.function
    def main(self, x: pl.Tensor[[M, 256], pl.FP32]) -> pl.Tensor[[M, 256], pl.FP32]:
        with pl.incore():
            e = pl.exp(x - pl.row_max(x))
            y = e / pl.row_sum(e)
        return y


@pytest.mark.parametrize("shape", [(1, 8), (5, 20), (64, 64), (257, 700)])
def test_sizes_known_at_the_call(shape: tuple[int, int]) -> None:
    """A tile is no larger than the tensor, and the last one ends where it ends."""
    x = _whole(shape)
    wanted = x + 1
    for i in range(3):
        wanted = wanted * x if i % 2 == 0 else wanted + x
    np.testing.assert_array_equal(runtime.compile(Sizes, entry="main")(x, 3), wanted)
    lowered = PassManager(OptimizationStrategy.PTOAS).run_passes(Sizes)
    np.testing.assert_array_equal(Evaluator(lowered).call("main", [x, 3]), wanted)


@pytest.mark.parametrize("rows", [1, 7, 8, 13, 100, 1000])
def test_rows_known_at_the_call(rows: int) -> None:
    """The same for reductions, where a few rows are processed one by one."""
    x = _random((rows, 256))
    lowered = PassManager().run_passes(Rows)
    wanted = Evaluator(Rows).call("main", [x])
    np.testing.assert_array_equal(Evaluator(lowered).call("main", [x]), wanted)
    found = runtime.compile(Rows, entry="main")(x)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=256 * EPS)


@pl.program
class Products:
    """Products of any number of rows and columns; one K is longer than a block."""

    @pl.function
    def main(
        self,
        a: pl.Tensor[[M, 64], pl.INT8],
        b: pl.Tensor[[64, N], pl.INT8],
        long: pl.Tensor[[M, 1024], pl.BF16],
        deep: pl.Tensor[[1024, 32], pl.BF16],
    ) -> tuple[pl.Tensor[[M, N], pl.INT32], pl.Tensor[[M, 32], pl.FP32]]:
        with pl.incore():
            plain = pl.matmul(a, b, out_dtype=pl.INT32)
            added = pl.matmul(long, deep, out_dtype=pl.FP32)
        return plain, added


@pl.program
class Turned:
    """The same with transposed operands."""

    @pl.function
    def main(
        self,
        a: pl.Tensor[[64, M], pl.FP16],
        b: pl.Tensor[[N, 64], pl.FP16],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.incore():
            c = pl.matmul(a, b, a_trans=True, b_trans=True, out_dtype=pl.FP32)
        return c


@pl.program
class Stacks:
    """The same for stacks of matrices, and for a vector."""

    @pl.function
    def main(
        self,
        stack: pl.Tensor[[2, M, 64], pl.FP32],
        other: pl.Tensor[[2, N, 64], pl.FP32],
        row: pl.Tensor[[256], pl.FP16],
        beside: pl.Tensor[[256, N], pl.FP16],
    ) -> tuple[pl.Tensor[[2, M, N], pl.FP32], pl.Tensor[[N], pl.FP32]]:
        with pl.incore():
            stacked = pl.matmul(stack, other, b_trans=True)
            vector = pl.matmul(row, beside, out_dtype=pl.FP32)
        return stacked, vector


def products(m: int, n: int) -> Case:
    """Return `Products` of ``m`` rows and ``n`` columns."""
    a, b = _whole((m, 64)), _whole((64, n), 1)
    long, deep = _whole((m, 1024), 2), _whole((1024, 32), 3)
    int8, bf16 = pl.INT8.numpy, pl.BF16.numpy
    args = [a.astype(int8), b.astype(int8), long.astype(bf16), deep.astype(bf16)]
    return Case(Products, args, [a @ b, long @ deep], 0)


def turned(m: int, n: int) -> Case:
    """Return `Turned` of ``m`` rows and ``n`` columns."""
    a, b = _whole((64, m)), _whole((n, 64), 1)
    return Case(Turned, [a.astype(np.float16), b.astype(np.float16)], [(b @ a).T], 0)


def stacks(m: int, n: int) -> Case:
    """Return `Stacks` of ``m`` rows and ``n`` columns."""
    stack, other = _whole((2, m, 64)), _whole((2, n, 64), 1)
    row, beside = _whole((256,), 2), _whole((256, n), 3)
    args = [stack, other, row.astype(np.float16), beside.astype(np.float16)]
    return Case(Stacks, args, [stack @ other.swapaxes(1, 2), row @ beside], 0)


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (16, 31), (40, 33)])
@pytest.mark.parametrize("make", [products, turned, stacks])
def test_products_of_fewer_rows_than_a_block(
    make: Callable[[int, int], Case], shape: tuple[int, int]
) -> None:
    """Blocks are loaded and stored up to the tensors' ends, in every text and order of pipes."""
    program, arguments, wanted, _ = make(*shape)
    lowered = PassManager(OptimizationStrategy.PTOAS).run_passes(program)
    ways: dict[str, Callable[..., Any]] = {
        "interpreter": runtime.compile(program, target="interpreter", entry="main"),
        "strict": runtime.compile(program, target="interpreter", strict="late", entry="main"),
        "cpu": runtime.compile(program, target="cpu", entry="main"),
        "text": lambda *args: TextHost(lowered).call("main", list(args)),
    }
    for way, run in ways.items():
        for found, right in zip(_results(run(*_copied(arguments))), wanted, strict=True):
            np.testing.assert_array_equal(found, right, err_msg=way)


@pl.program
class InPlace:
    """An op that reads what it writes, for any number of rows."""

    @pl.function
    def main(self, n: pl.INT64, out: pl.InOut[pl.Tensor[[M, 64], pl.FP32]]):
        for _ in pl.range(n):
            with pl.incore():
                out[:] = out * 2.0


@pytest.mark.parametrize("rows", [1, 300])
def test_rows_are_written_in_place_once(rows: int) -> None:
    """The last tile of a tensor overlaps the previous one, but no row is doubled twice."""
    x = _random((rows, 64))
    found = [x.copy(), x.copy()]
    runtime.compile(InPlace, entry="main")(3, found[0])
    Evaluator(PassManager(OptimizationStrategy.PTOAS).run_passes(InPlace)).call(
        "main", [3, found[1]]
    )
    for each in found:
        np.testing.assert_array_equal(each, x * 8)


@pl.program
class Moved:
    """Rows shifted down within a tensor, and a tensor that is read and then written."""

    @pl.function
    def main(
        self,
        x: pl.Tensor[[M, 512], pl.FP32],
        old: pl.Out[pl.Tensor[[M, 512], pl.FP32]],
        out: pl.InOut[pl.Tensor[[M + 64, 512], pl.FP32]],
        rows: pl.InOut[pl.Tensor[[200, 512], pl.FP32]],
    ):
        with pl.incore():
            rows[8:] = rows[:192]
        with pl.incore():
            out[1:] = out[: M + 63]
            old[:] = out[:M]
            out[64:] = x


def test_parts_of_a_tensor_move_within_it() -> None:
    """The copy has the previous contents, even though tiles are written one by one."""
    x, out, rows = _random((300, 512)), _random((364, 512), 1), _random((200, 512), 2)
    old, first = np.zeros_like(x), np.concatenate([out[:1], out[:-1]])
    wanted = [first[:300], np.concatenate([first[:64], x]), np.concatenate([rows[:8], rows[:192]])]
    lowered = PassManager(OptimizationStrategy.PTOAS).run_passes(Moved)
    found = [[x, old.copy(), out.copy(), rows.copy()] for _ in range(2)]
    runtime.compile(Moved, entry="main")(*found[0])
    Evaluator(lowered).call("main", found[1])
    for way in found:
        for each, want in zip(way[1:], wanted, strict=True):
            np.testing.assert_array_equal(each, want)


@pl.program
class Direct:
    """A kernel written with ops on tensors, which a host function calls."""

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, x: pl.Tensor[[64, 64], pl.FP32], f: pl.FP32
    ) -> tuple[pl.Tensor[[64, 64], pl.FP32], pl.Tensor[[64, 1], pl.FP32]]:
        y = pl.tensor.mul(x, f)
        return y, pl.tensor.row_max(y)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[64, 64], pl.FP32]
    ) -> tuple[pl.Tensor[[64, 64], pl.FP32], pl.Tensor[[64, 1], pl.FP32]]:
        y, top = self.kernel(x, 2.0)
        z, top = self.kernel(y, -3.0)
        return z, top


def test_kernels_written_with_tensor_ops() -> None:
    """The results of a kernel are new tensors of its caller."""
    x = _whole((64, 64))
    z, top = runtime.compile(Direct, target="cpu")(x.copy())
    np.testing.assert_array_equal(z, x * -6)
    np.testing.assert_array_equal(top, (x * -6).max(axis=1, keepdims=True))


def test_a_kernel_does_not_mix_cores() -> None:
    """A user's own kernel is not split by core: the message says how to do it."""

    @pl.program
    class Mixed:
        @pl.function(type=pl.FunctionType.InCore)
        def kernel(self, x: pl.Tensor[[64, 64], pl.FP32]) -> pl.Tensor[[64, 64], pl.FP32]:
            return pl.tensor.exp(pl.tensor.matmul(x, x))

    with pytest.raises(PassError, match=r"tensor\.exp is vector work, and the kernel 'kernel'"):
        PassManager().run_passes(Mixed)
