"""Ops on whole tensors: values over element types and shapes, effects, errors, execution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.generate import CodeGenerator
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import EmitError, EvaluationError, OpError
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir.array_types import static_shape
from pypto._src.ir.exprs import ConstInt
from pypto._src.ops import elementwise, tensor_math
from pypto._src.ops.tensor_math import assemble
from pypto._src.passes.pass_manager import PassManager
from pypto._src.run.effects import effects
from tests.cases import CASES, Array, Case, Shape, build_call
from tests.natively import compiler
from tests.ops.arrays import apply, apply_call

D = DataType
Target = Literal["cpu", "interpreter"]
ROWS = [case for case in CASES if case.op in vars(tensor_math).values()]


def uses() -> Iterator[Any]:
    """Yield the rows, once per element type and choice of shapes."""
    for case in ROWS:
        for dtype in case.dtypes:
            for shapes in case.shapes:
                name = "_".join("x".join(map(str, shape)) for shape in shapes)
                yield pytest.param(case, dtype, shapes, id=f"{case.name}-{dtype.member}-{name}")


def function_of(call: Any) -> ir.Function:
    """Return a function that returns ``call``, with its variables as parameters."""
    params = [arg for arg in call.args if isinstance(arg, ir.Var)]
    result = ir.Var("result", call.type)
    body = ir.SeqStmts([ir.AssignStmt(result, call), ir.ReturnStmt([result])])
    return ir.Function("f", params, [call.type], body)


def arguments(case: Case, call: Any, dtype: DataType, seed: int = 1) -> list[Array]:
    rng = np.random.default_rng(seed)
    types = [arg.type for arg in call.args if isinstance(arg.type, ir.TensorType)]
    return [case.values(rng, static_shape(kind) or (), dtype) for kind in types]


@pytest.mark.parametrize(("case", "dtype", "shapes"), list(uses()))
def test_row(case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> None:
    """A program with the call gives the op's result, with the rule's shape and type."""
    call = build_call(case, dtype, shapes)
    arrays = arguments(case, call, dtype)
    wanted = apply_call(call, case.op, [array.copy() for array in arrays])
    before = [array.copy() for array in arrays]
    found = evaluate(function_of(call), arrays)
    assert (found.shape, found.dtype) == (static_shape(call.type), call.type.dtype.numpy)
    np.testing.assert_array_equal(found, wanted)
    kept = [i for i in range(len(arrays)) if i not in case.op.writes]
    for index in kept:
        np.testing.assert_array_equal(arrays[index], before[index])
        assert not np.shares_memory(found, arrays[index])


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case.name)
def test_row_is_read_back(case: Case) -> None:
    """The call is the same after printing and parsing, and after serialising."""
    program = ir.Program([function_of(build_call(case, case.dtypes[0], case.shapes[0]))], "P")
    ir.assert_structural_equal(pl.parse_program(str(program)), program)
    ir.assert_structural_equal(ir.deserialize(ir.serialize(program)), program)


def tensors(*kinds: tuple[list[Any], DataType]) -> list[ir.Var]:
    return [ir.Var(f"x{i}", ir.TensorType(s, dtype)) for i, (s, dtype) in enumerate(kinds)]


def run(call: Any, *arrays: Any) -> Any:
    return evaluate(function_of(call), arrays)


def test_mixed_types_are_computed_in_the_promoted_one() -> None:
    """FP16 with FP32 is computed in FP32; integers with FP16 in FP16."""
    x, y, n = tensors(([3], D.FP16), ([3], D.FP32), ([3], D.INT32))
    half = np.array([1, 2048, 0.5], np.float16)
    single = np.array([1e-7, 1, 1 / 3], np.float32)
    found = run(ir.op.tensor.add(x, y), half, single)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, half.astype(np.float32) + single)
    found = run(ir.op.tensor.mul(n, x), np.array([2049, 3, -1], np.int32), half)
    assert found.dtype == np.float16
    assert found.tolist() == [2048, 6144, -0.5]


def test_wider_scalar_widens() -> None:
    """FP16 elements times an FP32 number are computed in FP32."""
    (x,) = tensors(([3], D.FP16))
    s = ir.Var("s", ir.ScalarType(D.FP32))
    half = np.array([1, 3, 2049], np.float16)
    found = run(ir.op.tensor.mul(x, s), half, 0.1)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, half.astype(np.float32) * np.float32(0.1))


@pytest.mark.parametrize(
    ("name", "lhs", "rhs", "wanted"),
    [
        ("add", [2**31 - 1, -(2**31)], [1, -1], [-(2**31), 2**31 - 1]),
        ("mul", [65536, 3], [65536, -4], [0, -12]),
        ("div", [7, -7], [-2, 2], [-3, -3]),
        ("div", [5, -(2**31)], [0, -1], [0, -(2**31)]),
    ],
)
def test_integers(name: str, lhs: list[int], rhs: list[int], wanted: list[int]) -> None:
    """Integers wrap; quotients are truncated toward zero, and are 0 over 0."""
    x, y = tensors(([2], D.INT32), ([2], D.INT32))
    call = getattr(ir.op.tensor, name)(x, y)
    found = run(call, np.array(lhs, np.int32), np.array(rhs, np.int32))
    assert found.tolist() == wanted


@pytest.mark.parametrize("dtype", [D.FP16, D.BF16])
def test_products_add_up_wide(dtype: DataType) -> None:
    """4096 ones and a half are accumulated in 32 bits, and are rounded once."""
    x, y = tensors(([1, 4096], dtype), ([4096, 1], dtype))
    ones = np.ones((1, 4096), dtype.numpy)
    ones[0, 0] = 0.5
    found = run(ir.op.tensor.matmul(x, y, D.FP32), ones, np.ones((4096, 1), dtype.numpy))
    assert found.tolist() == [[4095.5]]
    rounded = run(ir.op.tensor.matmul(x, y), ones, np.ones((4096, 1), dtype.numpy))
    assert rounded.dtype == dtype.numpy
    assert rounded[0, 0] == np.asarray(4095.5).astype(dtype.numpy)
    assert run(ir.op.tensor.row_sum(x), ones)[0, 0] == rounded[0, 0]


def test_products_of_integers_wrap() -> None:
    """INT8 times INT8 is INT8 unless another type is requested."""
    x, y = tensors(([1, 2], D.INT8), ([2, 1], D.INT8))
    args = np.array([[100, 100]], np.int8), np.array([[100], [1]], np.int8)
    assert run(ir.op.tensor.matmul(x, y, D.INT32), *args).tolist() == [[10100]]
    assert run(ir.op.tensor.matmul(x, y), *args).tolist() == [[10100 % 256]]


@pytest.mark.parametrize("trans", [(False, False), (True, False), (False, True), (True, True)])
def test_product_against_numpy(trans: tuple[bool, bool]) -> None:
    """Either side may be transposed; batches of matrices broadcast."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 1, 4, 6)), rng.normal(size=(3, 6, 5))
    wanted = a @ b
    given = [np.swapaxes(m, -1, -2) if turn else m for m, turn in zip((a, b), trans, strict=True)]
    x, y = tensors(*((list(m.shape), D.FP32) for m in given))
    call = ir.op.tensor.matmul(x, y, a_trans=trans[0], b_trans=trans[1])
    found = run(call, *(np.ascontiguousarray(m, np.float32) for m in given))
    assert found.shape == (2, 3, 4, 5)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_exp_of_integers() -> None:
    """Integers are cast to FP32 first."""
    (x,) = tensors(([2], D.INT8))
    found = run(ir.op.tensor.exp(x), np.array([0, 1], np.int8))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [1, np.e], rtol=1e-6)


def test_numbers_as_in_block_ops() -> None:
    """Tensor and tile ops with the same name agree on every element, edge values included."""
    edges = np.array([-np.inf, -65504, -1.5, -0.0, 0.0, 2, 65504, np.inf, np.nan], np.float16)
    pairs = np.meshgrid(edges, edges)
    for name in ("add", "sub", "mul", "div", "maximum"):
        on_tiles = apply(getattr(elementwise, name), *pairs)
        on_tensors = apply(getattr(tensor_math, name), *pairs, result=edges.dtype)
        np.testing.assert_array_equal(on_tensors.view(np.uint16), on_tiles.view(np.uint16))


# --------------------------------------------------------------------------------------------
# Writing a part
# --------------------------------------------------------------------------------------------


def test_assemble_writes_its_target() -> None:
    """Only the region changes, in the same array that was passed."""
    whole, part = np.zeros((4, 6), np.float32), np.ones((2, 3), np.float32)
    x, y = tensors(([4, 6], D.FP32), ([2, 3], D.FP32))
    assert run(ir.op.tensor.assemble(x, y, [1, 2]), whole, part) is whole
    wanted = np.zeros((4, 6))
    wanted[1:3, 2:5] = 1
    np.testing.assert_array_equal(whole, wanted)


def test_assemble_of_its_own_part() -> None:
    """The source may be a view of the target."""
    whole = np.arange(6, dtype=np.float32)
    assert apply(assemble, whole, whole[:5], (1,)) is whole
    assert whole.tolist() == [0, 0, 1, 2, 3, 4]


def test_effects_of_assemble() -> None:
    """It reads the source and writes the target, and its result shares the target's buffer."""
    assert (assemble.reads, assemble.writes, assemble.view_of) == ({1}, {0}, None)
    x, y = tensors(([4, 6], D.FP32), ([2, 3], D.FP32))
    function = function_of(ir.op.tensor.assemble(x, y, [0, 0]))
    assert effects(ir.Program([function], "P"))["f"] == ((True, False), ((0,),), (False, True))


def test_buffers_of_tensors() -> None:
    """After InitMemRef an assembled tensor has its target's buffer, a computed one its own."""

    program = pl.parse_program(
        "@pl.program\n"
        "class P:\n"
        "    @pl.function(type=pl.FunctionType.Orchestration)\n"
        "    def f(self, x: pl.Tensor[[4, 6], pl.FP32],\n"
        "          out: pl.Out[pl.Tensor[[4, 6], pl.FP32]]) -> pl.Tensor[[4, 6], pl.FP32]:\n"
        "        y = pl.exp(x)\n"
        "        z = pl.assemble(out, y, [0, 0])\n"
        "        return z\n"
    )
    (after,) = PassManager.get_strategy().run_passes(program).functions_
    types: dict[str, Any] = {
        s.var.name: s.var.type for s in ir.walk(after) if isinstance(s, ir.AssignStmt)
    }
    x, out = (param.type for param in after.params)
    assert types["z"].shares_memref_with(out)
    assert not types["y"].shares_memref_with(out)
    assert not types["y"].shares_memref_with(x)


# --------------------------------------------------------------------------------------------
# The language
# --------------------------------------------------------------------------------------------


def body(text: str) -> list[str]:
    """Return the printed statements of a function on ``x`` and ``v``."""
    lines = "\n".join(f"    {line}" for line in text.strip().splitlines())
    function = pl.parse(
        "@pl.function\n"
        "def f(x: pl.Tensor[[16, 32], pl.FP16], v: pl.Tensor[[16, 1], pl.FP16]):\n" + lines
    )
    return [line.partition(" = ")[2] for line in str(function).splitlines()[1:] if " = " in line]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("pl.add(x, v)", "add(x, v)"),
        ("pl.add(x, 2)", "add_scalar(x, 2.0)"),
        ("pl.add(2, x)", "add_scalar(x, 2.0)"),
        ("pl.tensor.add(x, v)", "add(x, v)"),
        ("pl.tensor.add(x, 2)", "add_scalar(x, 2.0)"),
        ("pl.tensor.div_scalar(x, 2)", "div_scalar(x, 2.0)"),
        ("pl.sub_scalar(x, 2)", "sub_scalar(x, 2.0)"),
        ("x + v", "add(x, v)"),
        ("x - 1.5", "sub_scalar(x, 1.5)"),
        ("3 * x", "mul_scalar(x, 3.0)"),
        ("x / v", "div(x, v)"),
        ("pl.maximum(x, v)", "maximum(x, v)"),
        ("pl.exp(x)", "exp(x)"),
        ("pl.cast(x, pl.FP32)", 'cast(x, target_type=pl.FP32, mode="round")'),
        ("pl.reshape(x, [32, 16])", "reshape(x, [32, 16])"),
        ("pl.transpose(x, 0, 1)", "transpose(x, 0, 1)"),
        ("pl.transpose(x, axis1=-1, axis2=-2)", "transpose(x, -1, -2)"),
        ("pl.row_max(x)", "row_max(x)"),
        ("pl.row_sum(x, axis=0)", "row_sum(x, axis=0)"),
        (
            "pl.matmul(x, x, b_trans=True)",
            "matmul(x, x, a_trans=False, b_trans=True, c_matrix_nz=False)",
        ),
        ("pl.assemble(x, v, [0, 3])", "assemble(x, v, [0, 3])"),
    ],
)
def test_language(text: str, wanted: str) -> None:
    """Names and operators on tensors are the ops on tensors."""
    assert body(f"y = {text}") == [f"pl.tensor.{wanted}"]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("pl.add(x, pl.create_tensor([16], dtype=pl.FP16))", "do not broadcast", None),
        ("pl.exp(3.0)", "pl.exp is for a Tile or Tensor first, got a Scalar", None),
        ("pl.tensor.add(3.0, x)", None, None),
        ("pl.tensor.sub(3.0, x)", "pl.tensor.sub is for a Tensor first, got a Scalar", None),
        ("x + pl.const(1, pl.INT4)", "pl.const(1, pl.INT4) has INT4", None),
        (
            "pl.matmul(x, x)",
            "different K: [16, 32] and [16, 32]",
            "write pl.matmul(x, x, b_trans=True)",
        ),
        ("pl.assemble(x, v, [0, 32])", "of 32:33 in dimension 1 is outside x [16, 32]", None),
        ("pl.assemble(x, v, [0])", "needs 2 offsets", None),
        (
            "pl.assemble(x, pl.cast(v, pl.FP32), [0, 0])",
            "of FP32 elements into a tensor of FP16",
            "write pl.assemble(x, pl.cast(pl.cast(v, pl.FP32), pl.FP16), [0, 0])",
        ),
        ("pl.cast(x, pl.BOOL)", "cannot create tensors of BOOL", None),
        ("pl.reshape(x, [-4, 8])", "has the size -4 in dimension 0", None),
        ("pl.row_sum(x, axis=2)", "of dimension 2, x has 2 dimensions", None),
    ],
)
def test_refused(text: str, message: str | None, hint: str | None) -> None:
    """What an op excludes is rejected in the language's terms."""
    if message is None:
        assert body(f"y = {text}") == ["pl.tensor.add_scalar(x, 3.0)"]
        return
    with pytest.raises(pl.parser.ParserError) as caught:
        body(f"y = {text}")
    assert message in caught.value.message
    if hint is not None:
        assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("a", "b", "hint"),
    [
        ([16, 32], [16], "pl.reshape(x1, [16, 1])"),
        ([16, 32], [64, 32], "pl.view(x1, [16, 32], [0, 0])"),
        ([64, 32], [16, 32], "pl.view(x0, [16, 32], [0, 0])"),
        ([64, 16], [16, 32], None),
        ([16, 32], [8], None),
    ],
)
def test_shapes_that_do_not_fit(a: list[int], b: list[int], hint: str | None) -> None:
    """The hint makes the shapes broadcast."""
    x, y = tensors((a, D.FP32), (b, D.FP32))
    with pytest.raises(OpError, match="do not broadcast") as caught:
        ir.op.tensor.add(x, y)
    assert caught.value.hint == hint
    if hint is not None:
        made: Any = eval(hint, {"pl": pl, "x0": x, "x1": y})
        assert ir.op.tensor.add(*((made, y) if "x0" in hint else (x, made))) is not None


@pytest.mark.parametrize(
    ("name", "shapes", "found"),
    [
        ("add", ((3,), (5,)), r"tensors \[3\] and \[5\] do not broadcast"),
        ("matmul", ((3,), (5,)), r"pl\.matmul of tensors \[3\] and \[5\]"),
    ],
)
def test_shapes_known_at_run_time(name: str, shapes: tuple[Shape, Shape], found: str) -> None:
    """Sizes that only the arrays determine are checked when the op is evaluated."""
    x, y = tensors(([-1], D.FP32), ([-1], D.FP32))
    with pytest.raises(EvaluationError, match=found):
        run(getattr(ir.op.tensor, name)(x, y), *(np.zeros(s, np.float32) for s in shapes))


def test_regions_known_at_run_time() -> None:
    """A region that exceeds its target, and a reshape that does not fit, are errors."""
    x, y = tensors(([-1], D.FP32), ([2], D.FP32))
    arrays = np.zeros(3, np.float32), np.ones(2, np.float32)
    with pytest.raises(EvaluationError, match=r"pl\.assemble writes \[2:4\] of a tensor \[3\]"):
        run(ir.op.tensor.assemble(x, y, [2]), *arrays)
    with pytest.raises(EvaluationError, match=r"pl\.reshape of a tensor \[3\] to \[2, 2\]"):
        run(ir.op.tensor.reshape(x, [2, 2]), arrays[0])


# --------------------------------------------------------------------------------------------
# Emission and running
# --------------------------------------------------------------------------------------------


def kernel(statement: str) -> ir.Program:
    return pl.parse_program(
        "@pl.program\n"
        "class P:\n"
        "    @pl.function(type=pl.FunctionType.InCore)\n"
        "    def f(self, x: pl.Tensor[[16, 32], pl.FP32],\n"
        "          out: pl.InOut[pl.Tensor[[16, 32], pl.FP32]]) -> pl.Tensor[[16, 32], pl.FP32]:\n"
        f"        {statement}\n"
        "        return out\n"
    )


@pytest.mark.parametrize(
    ("statement", "name", "hint"),
    [
        ("out = pl.assemble(out, x, [0, 0])", "tensor.assemble", "pl.store(tile, offsets, sizes"),
        ("y = pl.exp(x)", "tensor.exp", "pl.load the operands, apply pl.exp to the tiles"),
        ("y = x + 1.0", "tensor.add_scalar", "pl.load the operands, apply pl.add to the tiles"),
    ],
)
@pytest.mark.parametrize("target", ["cpp", "pto"])
def test_kernels_have_no_form_of_them(statement: str, name: str, hint: str, target: str) -> None:
    """Without ConvertTensorToBlockOps both emitters say why, what to write instead, and where."""
    program = kernel(statement)
    manager = PassManager.get_strategy()
    for name_of_pass, pass_ in zip(manager.pass_names, manager.passes, strict=True):
        if name_of_pass != "ConvertTensorToBlockOps":
            program = pass_(program)
    emit: Any = CodeGenerator().generate if target == "cpp" else PTOCodegen().generate
    text = f"{name} has no .* form.*ConvertTensorToBlockOps"
    with pytest.raises(EmitError, match=text) as caught:
        emit(program.functions_[0] if target == "cpp" else program)
    assert caught.value.slug == "emit-op"
    assert (caught.value.hint or "").startswith(hint)
    assert caught.value.location.begin_line == 6


MIXED = """
@pl.program
class Mixed:
    @pl.function(type=pl.FunctionType.InCore)
    def double(
        self, x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]
    ) -> pl.Tensor[[16, 16], pl.FP32]:
        t = pl.load(x, [0, 0], [16, 16])
        return pl.store(pl.add(t, t), [0, 0], [16, 16], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 32], pl.FP32]]
    ) -> pl.Tensor[[16, 32], pl.FP32]:
        t = pl.create_tensor([16, 16], dtype=pl.FP32)
        t = self.double(x, t)
        z = pl.exp(t * 0.5 - 1.0) @ pl.transpose(x, 0, 1)
        z = z / pl.row_sum(z)
        z = self.double(z, t)
        out = pl.assemble(out, x, [0, 0])
        out = pl.assemble(out, z, [0, 16])
        return out
"""


@pytest.mark.parametrize("threads", ["1", "4"])
@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_orchestration(target: Target, threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between kernel calls, tensor ops run on the host, in order with the tasks."""
    if target == "cpu":
        compiler()
    monkeypatch.setenv("PYPTO_NUM_THREADS", threads)
    x = np.random.default_rng(2).random((16, 16), np.float32)
    out = np.zeros((16, 32), np.float32)
    assert runtime.compile(pl.parse_program(MIXED), target)(x, out) is out
    z = np.exp(x - 1) @ x.T
    np.testing.assert_array_equal(out[:, :16], x)
    np.testing.assert_allclose(out[:, 16:], 2 * z / z.sum(-1, keepdims=True), rtol=1e-5)


def test_axes_are_constants() -> None:
    """An axis is an integer constant in the call; a run-time value is rejected."""
    call = ir.op.tensor.transpose(tensors(([4, 6], D.FP32))[0], 0, -1)
    assert [type(arg) for arg in call.args[1:]] == [ConstInt, ConstInt]
    n = ir.Var("n", ir.ScalarType(D.INDEX))
    with pytest.raises(OpError, match=r"'axis1' of tensor\.transpose names a dimension"):
        ir.op.tensor.transpose(tensors(([4, 6], D.FP32))[0], n, 1)
    with pytest.raises(OpError, match=r"argument 'axis1' of tensor\.transpose is True"):
        ir.op.tensor.transpose(tensors(([4, 6], D.FP32))[0], True, 1)
