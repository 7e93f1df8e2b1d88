"""Running `.pto` texts on arrays: recorded runs, and errors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.dialect.evaluate import Machine, evaluate
from pypto._src.dialect.reader import parse
from pypto._src.dialect.semantics import MEANINGS
from pypto._src.dialect.table import TABLE
from pypto._src.dialect.verify import Options, faults_of
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import CallError, EvaluationError
from pypto._src.interp.evaluate import Evaluator
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from tests.dialect.recorded import Run, runs

NOT_EVALUATED = {
    "pto.tstore_fp",  # quantization by a tile of factors: no recording shows what it computes
    "pto.tmov.fp",
    "pto.textract_fp",
    "pto.tinsert_fp",
    "pto.trandom",  # a5 only, and in no recorded run
    "pto.thistogram",
    "pto.tpack",
}
OPS = sorted({run.op for run in runs()})


def bound(run: Run, dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return the permitted relative and absolute error of a result."""
    if run.tolerance is not None:
        return run.tolerance, run.tolerance
    return (1e-4, 1e-5) if dtype == np.float32 else (4e-3, 2e-3)


def check_run(run: Run) -> None:
    """Assert that the outputs of a run have the recorded values."""
    arguments = [value.copy() if value.ndim else value[()] for value in run.arguments]
    evaluate(parse(run.text, run.id), run.entry, arguments, simulator=True)
    for place, wanted in run.results.items():
        found = arguments[place]
        assert found.dtype == wanted.dtype
        if wanted.dtype.kind in "iu":
            np.testing.assert_array_equal(found, wanted, err_msg=f"{run.id}, argument {place}")
        else:
            rtol, atol = bound(run, wanted.dtype)
            np.testing.assert_allclose(found, wanted, rtol, atol, err_msg=f"{run.id}, {place}")


@pytest.mark.parametrize("op", OPS)
def test_recorded_runs(op: str) -> None:
    """All recorded runs of an op give the recorded values within their bounds."""
    chosen = [run for run in runs() if run.op == op]
    for run in chosen:
        check_run(run)
    print(f"{op}: {len(chosen)} runs")


def test_recorded_runs_are_there() -> None:
    """The selection has runs of every op in the larger set."""
    assert len(runs()) >= 500
    assert len(OPS) >= 120


def test_every_tile_op_has_a_meaning() -> None:
    """The ops of the table can be evaluated, except for a few listed with reasons."""
    assert set(TABLE) - set(MEANINGS) == NOT_EVALUATED
    assert set(MEANINGS) <= set(TABLE)


KERNEL = """
!T = !pto.tile_buf<vec, 16x16xf32>
!V = !pto.tensor_view<?x?xf32>
!P = !pto.partition_tensor_view<16x16xf32>
module {
  func.func @k(%x: !pto.ptr<f32>, %row: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %v = pto.make_tensor_view %x, shape = [%c16, %c16], strides = [%c16, %c1] : !V
    %p = pto.partition_view %v, offsets = [%row, %c0], sizes = [%c16, %c16] : !V -> !P
    %t = pto.alloc_tile : !T
    pto.tload ins(%p : !P) outs(%t : !T)
    pto.tneg ins(%t : !T) outs(%t : !T)
    pto.tstore ins(%t : !T) outs(%p : !P)
    return
  }
}
"""


def test_arrays_are_written_in_place() -> None:
    """A kernel modifies the array that is passed to it."""
    x = np.arange(256, dtype=np.float32).reshape(16, 16)
    evaluate(parse(KERNEL), "k", [x, 0])
    np.testing.assert_array_equal(x, -np.arange(256, dtype=np.float32).reshape(16, 16))


def test_access_outside_of_an_array_is_refused() -> None:
    """A region that exceeds the array is reported at the op that reads it."""
    x = np.zeros((16, 16), np.float32)
    with pytest.raises(EvaluationError, match="reaches element 16 to 271 of 256") as caught:
        evaluate(parse(KERNEL, "k.pto"), "k", [x, 1])
    assert str(caught.value.span) == "k.pto:13:4"


@pytest.mark.parametrize(
    ("entry", "arguments", "message"),
    [
        ("main", [], "there is no function @main; there are k"),
        ("k", [0], "@k takes 2 arguments, got 1"),
        ("k", [np.zeros(256, np.float16), 0], "!pto.ptr<f32> takes a dense array of float32"),
        ("k", [np.zeros((16, 32), np.float32)[:, ::2], 0], "takes a dense array"),
    ],
)
def test_wrong_calls(entry: str, arguments: list[Any], message: str) -> None:
    """An unknown function, and arguments that it does not accept, are rejected."""
    with pytest.raises(CallError, match=message.replace("(", r"\(")):
        evaluate(parse(KERNEL), entry, arguments)


def scalar(body: str, kind: str, value: Any) -> Any:
    """Return ``%r`` of a body that gets ``%x`` of a type."""
    text = f"func.func @f(%x: {kind}) -> {kind} {{\n{body}\nreturn %r : {kind}\n}}\n"
    [result] = evaluate(parse(text), "f", [value])
    return result


@pytest.mark.parametrize(
    ("body", "kind", "value", "wanted"),
    [
        ("%c = arith.constant 1 : i8\n%r = arith.addi %x, %c : i8", "i8", 127, -128),
        ("%c = arith.constant -3 : i32\n%r = arith.divsi %x, %c : i32", "i32", 7, -2),
        ("%c = arith.constant -3 : i32\n%r = arith.floordivsi %x, %c : i32", "i32", 7, -3),
        ("%c = arith.constant -3 : i32\n%r = arith.remsi %x, %c : i32", "i32", 7, 1),
        ("%c = arith.constant 3 : i32\n%r = arith.divui %x, %c : i32", "i32", -1, 1431655765),
        ("%c = arith.constant 4 : i16\n%r = arith.ceildivsi %x, %c : i16", "i16", 9, 3),
        ("%c = arith.constant 1 : i32\n%r = arith.shrui %x, %c : i32", "i32", -2, 2147483647),
        ("%w = arith.extui %x : i8 to i32\n%r = arith.trunci %w : i32 to i8", "i8", -1, -1),
        ("%i = arith.fptosi %x : f32 to i32\n%r = arith.sitofp %i : i32 to f32", "f32", -2.7, -2),
    ],
)
def test_scalars(body: str, kind: str, value: float, wanted: float) -> None:
    """Scalar ops have the width and signedness that they state."""
    assert scalar(body, kind, value) == wanted


@pytest.mark.parametrize("value", [1.0, float("nan")])
def test_comparisons_with_nan(value: float) -> None:
    """Ordered comparisons with NaN are false, unordered ones true."""
    body = "%b = arith.cmpf {} , %x, %x : f32\n%r = arith.uitofp %b : i1 to f32"
    is_nan = np.isnan(value)
    assert scalar(body.format("oeq"), "f32", value) == (not is_nan)
    assert scalar(body.format("une"), "f32", value) == is_nan
    assert scalar(body.format("uno"), "f32", value) == is_nan
    assert scalar(body.format("ule"), "f32", value) == 1


def test_tiles_at_one_address_share_their_bytes() -> None:
    """At level 3 two tiles at overlapping addresses share memory."""
    text = """
!T = !pto.tile_buf<vec, 1x8xf32>
!I = !pto.tile_buf<vec, 1x8xi32>
func.func @f(%x: f32) -> i32 {
  %a = arith.constant 64 : i64
  %c = arith.constant 5 : index
  %t = pto.alloc_tile addr = %a : !T
  %u = pto.alloc_tile addr = %a : !I
  pto.texpands ins(%x : f32) outs(%t : !T)
  %r = pto.tgetval ins(%u, %c : !I, index) outs : i32
  return %r : i32
}
"""
    assert evaluate(parse(text), "f", [1.0]) == (0x3F800000,)


BITCAST = """
!T = !pto.tile_buf<vec, 4x16x{0}>
!U = !pto.tile_buf<vec, 4x16x{1}>
func.func @f(%x: {0}) -> {1} {{
  %c = arith.constant 5 : index
  %t = pto.alloc_tile : !T
  pto.texpands ins(%x : {0}) outs(%t : !T)
  %u = pto.bitcast %t : !T -> !U
  %r = pto.tgetval ins(%u, %c : !U, index) outs : {1}
  return %r : {1}
}}
"""


def test_elements_of_another_size() -> None:
    """A bitcast is accepted between sizes; smaller elements are at the start of the tile."""
    for kinds in ("f32", "i16"), ("f16", "i32"):
        text = BITCAST.format(*kinds).replace(f" -> {kinds[1]} {{", " {")
        assert not faults_of(re.sub("return .*", "return", text), "f.pto", Options())
    text = BITCAST.format("f32", "i16")
    assert evaluate(parse(text), "f", [1.0]) == (0x3F80,)  # element 5: the upper half of a number
    text = BITCAST.format("f16", "i32")
    with pytest.raises(EvaluationError, match="a tile of 256 bytes lies where one of 128 is"):
        evaluate(parse(text), "f", [1.0])


def test_tiles_are_handed_from_core_to_core() -> None:
    """What one function pushes, the other pops, in the same order."""
    text = """
!T = !pto.tile_buf<vec, 1x8xf32>
module {
  func.func @cube(%x: f32) attributes {pto.entry} {
    %t = pto.alloc_tile : !T
    pto.texpands ins(%x : f32) outs(%t : !T)
    pto.tpush_to_aiv(%t : !T) {split = 0}
    return
  }
  func.func @vect(%p: !pto.ptr<f32>) attributes {pto.entry} {
    %c = arith.constant 0 : index
    %t = pto.tpop_from_aic {split = 0} -> !T
    %v = pto.tgetval ins(%t, %c : !T, index) outs : f32
    pto.store_scalar %v, %p[%c] : !pto.ptr<f32>, f32
    pto.tfree_from_aic {split = 0}
    return
  }
}
"""
    machine, out = Machine(parse(text)), np.zeros(1, np.float32)
    machine.call("cube", 3.0)
    machine.call("vect", out)
    assert out[0] == 3.0
    with pytest.raises(EvaluationError, match="finds no tile"):
        machine.call("vect", out)


def test_numbers_that_only_the_simulator_gives() -> None:
    """A cast to an integer type saturates, except in the simulator."""
    text = """
!T = !pto.tile_buf<vec, 1x8xf32>
!I = !pto.tile_buf<vec, 1x8xi32>
func.func @f(%x: f32) -> i32 {
  %c = arith.constant 0 : index
  %t = pto.alloc_tile : !T
  %u = pto.alloc_tile : !I
  pto.texpands ins(%x : f32) outs(%t : !T)
  pto.tcvt ins(%t {rmode = #pto<round_mode TRUNC>} : !T) outs(%u : !I)
  %r = pto.tgetval ins(%u, %c : !I, index) outs : i32
  return %r : i32
}
"""
    source = parse(text)
    assert evaluate(source, "f", [1e20]) == (2147483647,)
    assert evaluate(source, "f", [1e20], simulator=True) == (-2147483648,)


@pytest.mark.parametrize("dtype", [pl.FP16, pl.BF16], ids=lambda dtype: dtype.member)
def test_store_from_the_accumulator_rounds(dtype: pl.DataType) -> None:
    """FP32 sums stored as 16-bit floats are rounded to nearest, as in the interpreter."""
    program = pl.parse_program(f"""
import pypto.language as pl

@pl.program
class Product:
    @pl.function(type=pl.FunctionType.InCore)
    def product(
        self,
        a: pl.Tensor[[16, 16], pl.FP32],
        b: pl.Tensor[[16, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[16, 16], pl.{dtype.member}]],
    ):
        mat_a = pl.load(a, [0, 0], [16, 16], target_memory=pl.MemorySpace.Mat)
        mat_b = pl.load(b, [0, 0], [16, 16], target_memory=pl.MemorySpace.Mat)
        left = pl.move(mat_a, target_memory=pl.MemorySpace.Left)
        right = pl.move(mat_b, target_memory=pl.MemorySpace.Right)
        out = pl.store(pl.matmul(left, right), [0, 0], [16, 16], out)
""")
    a, b = np.random.default_rng(1).random((2, 16, 16), np.float32)
    found, wanted = (np.zeros((16, 16), dtype.numpy) for _ in range(2))
    lowered = PassManager.get_strategy(OptimizationStrategy.PTOAS).run_passes(program)
    evaluate(parse(PTOCodegen().generate(lowered)), "product", [a, b, found])
    Evaluator(program).call("product", [a, b, wanted])
    np.testing.assert_array_equal(found.view(np.uint16), wanted.view(np.uint16))
    assert not np.array_equal(wanted.astype(np.float32), a @ b)  # some values are rounded
