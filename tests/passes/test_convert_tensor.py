"""ConvertTensorToBlockOps: texts, every op on every element type, and errors."""

from __future__ import annotations

import re
from textwrap import dedent, indent
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.dtypes import DataType
from pypto._src.errors import OpError, PassError, PyptoError
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.array_types import static_shape
from pypto._src.ir.opdef import op_of
from pypto._src.ir.text.printer import python_print
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.verify.verifier import IRVerifier
from pypto._src.ops import elementwise, reduce, reshaping
from pypto._src.ops.conversion import CONVERSIONS, core_of
from pypto._src.ops.define import REGISTRY
from pypto._src.ops.rules import type_rules
from pypto._src.passes.pass_manager import PassManager
from pypto._src.passes.properties import IRProperty
from pypto._src.passes.structure.convert_to_ssa import ConvertToSSA
from pypto._src.passes.structure.flatten_call_expr import FlattenCallExpr
from pypto._src.passes.structure.normalize_stmt_structure import NormalizeStmtStructure
from pypto._src.passes.tensors.convert_tensor_to_block_ops import ConvertTensorToBlockOps
from tests.cases import CASES, Array, moderate
from tests.natively import assert_close

D = DataType

HEADER = """\
import pypto.language as pl
M = pl.dynamic("M")

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, {params}) -> {results}:
"""


def parsed(params: str, results: str, body: str) -> ir.Program:
    """Return the program of one kernel; ``F[16, 32]`` stands for a tensor of FP32."""

    def long(text: str) -> str:
        return re.sub(r"F(\[[^]]*\])", r"pl.Tensor[\1, pl.FP32]", text)

    head = HEADER.format(params=long(params), results=long(results))
    head = head.replace(" -> :", ":")
    return pl.parse_program(head + indent(dedent(body).strip("\n"), " " * 8) + "\n")


def ssa(program: ir.Program) -> ir.Program:
    return FlattenCallExpr()(ConvertToSSA()(program))


def converted(program: ir.Program) -> ir.Program:
    """Return a program after the pass: valid, and without tensor ops in kernels."""
    after = ConvertTensorToBlockOps()(program)
    assert IRVerifier.create_default().verify(after) == []
    for function in after.functions_:
        if function.func_type is ir.FunctionType.InCore:
            calls = [node for node in walk(function) if isinstance(node, ir.Call)]
            ops = [op for op in map(op_of, calls) if op is not None]
            assert not [op.name for op in ops if op.level == "tensor" and op.name in CONVERSIONS]
    return after


def short(program: ir.Program, name: str = "k") -> str:
    """Return the statements of a function as text, without types and defaults."""
    function = program.get_function(name)
    assert function is not None
    lines: list[str] = []
    for line in python_print(function).splitlines()[2:]:
        text = line.removeprefix("    ")
        head, colon, rest = text.partition(": pl.")
        if colon and " = " in rest and "for " not in head:
            text = f"{head} = {rest.partition(' = ')[2]}"
        text = text.replace(", target_memory=pl.MemorySpace.Vec", "").replace("pl.block.", "")
        lines.append(text.replace("pl.MemorySpace.", "").replace(", transpose=False", ""))
    return "\n".join(lines[next(i for i, t in enumerate(lines) if not t.startswith("def")) :])


def test_properties() -> None:
    """The pass requires outlined scopes and leaves block ops in kernels."""
    made = ConvertTensorToBlockOps()
    assert made.get_name() == "ConvertTensorToBlockOps"
    assert made.get_required_properties().to_list() == [IRProperty.SplitIncoreOrch]
    assert made.get_produced_properties().to_list() == [IRProperty.IncoreBlockOps]
    assert made.get_invalidated_properties().empty()


# --------------------------------------------------------------------------------------------
# Texts
# --------------------------------------------------------------------------------------------

TEXTS: dict[str, tuple[str, str, str, str]] = {
    "one_tile": (
        "x: F[16, 32], f: pl.FP32",
        "F[16, 32]",
        """
        y = pl.tensor.mul(x, f)
        return pl.tensor.exp(y)
        """,
        """
        x_tile = load(x, [0, 0], [16, 32])
        y_tile = muls(x_tile, f)
        _t0_tile = exp(y_tile)
        out_0_1 = store(_t0_tile, [0, 0], [16, 32], out_0)
        return out_0_1
        """,
    ),
    "rows_and_columns_that_spread": (
        "x: F[16, 32], c: F[16, 1], r: F[32], out: pl.Out[F[32, 32]]",
        "F[32, 32]",
        "return pl.tensor.assemble(out, pl.tensor.mul(pl.tensor.sub(x, c), r), [8, 0])",
        """
        x_tile = load(x, [0, 0], [16, 32])
        c_tile = load(c, [0, 0], [16, 1])
        _t0_tile = row_expand_sub(x_tile, c_tile)
        r_tile = load(r, [0], [32])
        r_tile_1 = reshape(r_tile, [1, 32])
        _t1_tile = col_expand_mul(_t0_tile, r_tile_1)
        out_1 = store(_t1_tile, [8, 0], [16, 32], out)
        return out_1
        """,
    ),
    "reductions": (
        "x: F[16, 32]",
        "tuple[F[16], F[1, 32]]",
        "return pl.tensor.row_sum(x, keep_dim=False), pl.tensor.row_max(x, axis=0)",
        """
        x_tile = load(x, [0, 0], [16, 32])
        scratch = create_tile([16, 32], dtype=pl.FP32)
        _t0_tile = row_sum(x_tile, scratch)
        _t0_tile_1 = reshape(_t0_tile, [1, 16])
        out_0_1 = store(_t0_tile_1, [0], [16], out_0)
        _t1_tile = max(x_tile, axis=0, keepdim=True)
        out_1_1 = store(_t1_tile, [0, 0], [1, 32], out_1)
        return out_0_1, out_1_1
        """,
    ),
    "tiles_of_rows": (
        "x: F[1000, 1024]",
        "F[1000, 1024]",
        "return pl.tensor.add(x, 1.0)",
        """
        for row, (out_0_iter,) in pl.range(0, 1000, 10, init_values=(out_0,)):
            x_tile = load(x, [row, 0], [10, 1024])
            _t0_tile = adds(x_tile, 1.0)
            out_0_iter_1 = store(_t0_tile, [row, 0], [10, 1024], out_0_iter)
            out_0_1 = pl.yield_(out_0_iter_1)
        return out_0_1
        """,
    ),
    "a_tail": (
        "x: F[37, 1024]",
        "F[37, 1024]",
        "return pl.tensor.add(x, 1.0)",
        """
        for row, (out_0_iter,) in pl.range(0, 37, 10, init_values=(out_0,)):
            row_at = min(row, 27)
            x_tile = load(x, [row_at, 0], [10, 1024])
            _t0_tile = adds(x_tile, 1.0)
            out_0_iter_1 = store(_t0_tile, [row_at, 0], [10, 1024], out_0_iter)
            out_0_1 = pl.yield_(out_0_iter_1)
        return out_0_1
        """,
    ),
    "a_branch": (
        "x: F[16, 32], n: pl.INT64",
        "F[16, 32]",
        """
        y = pl.tensor.mul(x, 2.0)
        if n > 1:
            y = pl.tensor.add(y, x)
        return y
        """,
        """
        x_tile = load(x, [0, 0], [16, 32])
        y_0_tile = muls(x_tile, 2.0)
        tmp_0_1 = store(y_0_tile, [0, 0], [16, 32], tmp_0)
        if n > 1:
            tmp_0_1_tile = load(tmp_0_1, [0, 0], [16, 32])
            x_tile_1 = load(x, [0, 0], [16, 32])
            y_1_tile = add(tmp_0_1_tile, x_tile_1)
            out_0_1 = store(y_1_tile, [0, 0], [16, 32], out_0)
            y_2_1 = pl.yield_(out_0_1)
        else:
            tmp_0_1_tile_1 = load(tmp_0_1, [0, 0], [16, 32])
            out_0_2 = store(tmp_0_1_tile_1, [0, 0], [16, 32], out_0)
            y_2_1 = pl.yield_(out_0_2)
        return y_2_1
        """,
    ),
    "a_loop_in_place": (
        "x: F[16, 32], n: pl.INT64",
        "F[16, 32]",
        """
        y = pl.tensor.mul(x, 2.0)
        for i in pl.range(n):
            y = pl.tensor.add(y, x)
        return y
        """,
        """
        x_tile = load(x, [0, 0], [16, 32])
        y_0_tile = muls(x_tile, 2.0)
        tmp_0_1 = store(y_0_tile, [0, 0], [16, 32], tmp_0)
        tmp_0_1_tile = load(tmp_0_1, [0, 0], [16, 32])
        out_0_1 = store(tmp_0_1_tile, [0, 0], [16, 32], out_0)
        for i, (y_iter_1,) in pl.range(0, n, 1, init_values=(out_0_1,)):
            y_iter_1_tile = load(y_iter_1, [0, 0], [16, 32])
            x_tile_1 = load(x, [0, 0], [16, 32])
            y_1_tile = add(y_iter_1_tile, x_tile_1)
            y_iter_1_1 = store(y_1_tile, [0, 0], [16, 32], y_iter_1)
            y_2_1 = pl.yield_(y_iter_1_1)
        return y_2_1
        """,
    ),
    "a_product": (
        "a: F[32, 64], b: F[48, 64]",
        "F[32, 48]",
        "return pl.tensor.matmul(a, b, b_trans=True)",
        """
        a_mat = load(a, [0, 0], [32, 64], target_memory=Mat)
        a_left = move(a_mat, target_memory=Left)
        b_mat = load(b, [0, 0], [48, 64], target_memory=Mat)
        b_right = move(b_mat, target_memory=Right, transpose=True)
        out_0_acc = matmul(a_left, b_right)
        out_0_1 = store(out_0_acc, [0, 0], [32, 48], out_0)
        return out_0_1
        """,
    ),
    "products_of_a_stack": (
        "a: F[3, 16, 32], b: F[32, 48]",
        "F[3, 16, 48]",
        "return pl.tensor.matmul(a, b)",
        """
        for batch, (out_0_iter,) in pl.range(0, 3, 1, init_values=(out_0,)):
            a_mat = load(a, [batch, 0, 0], [1, 16, 32], target_memory=Mat)
            a_mat_1 = reshape(a_mat, [16, 32])
            a_left = move(a_mat_1, target_memory=Left)
            b_mat = load(b, [0, 0], [32, 48], target_memory=Mat)
            b_right = move(b_mat, target_memory=Right)
            out_0_acc = matmul(a_left, b_right)
            out_0_iter_1 = store(out_0_acc, [batch, 0, 0], [1, 16, 48], out_0_iter)
            out_0_1 = pl.yield_(out_0_iter_1)
        return out_0_1
        """,
    ),
    "a_matrix_and_a_vector": (
        "a: F[48, 128], b: F[128]",
        "F[48]",
        "return pl.tensor.matmul(a, b)",
        """
        b_mat = load(b, [0], [128], target_memory=Mat)
        b_mat_1 = reshape(b_mat, [1, 128])
        b_left = move(b_mat_1, target_memory=Left)
        a_mat = load(a, [0, 0], [48, 128], target_memory=Mat)
        a_right = move(a_mat, target_memory=Right, transpose=True)
        out_0_acc = gemv(b_left, a_right)
        out_0_1 = store(out_0_acc, [0], [48], out_0)
        return out_0_1
        """,
    ),
    "a_transpose": (
        "x: F[16, 32]",
        "F[32, 16]",
        "return pl.tensor.transpose(x, 0, 1)",
        """
        x_tile = load(x, [0, 0], [16, 32])
        scratch = create_tile([32, 16], dtype=pl.FP32)
        out_0_tile = transpose(x_tile, scratch, axis1=0, axis2=1)
        out_0_1 = store(out_0_tile, [0, 0], [32, 16], out_0)
        return out_0_1
        """,
    ),
    "a_view": (
        "x: F[16, 32], n: pl.INT64",
        "F[8, 32]",
        "return pl.tensor.exp(pl.tensor.view(x, [8, 32], [n, 0]))",
        """
        _t0 = pl.tensor.view(x, [8, 32], [n, 0])
        _t0_tile = load(_t0, [0, 0], [8, 32])
        _t1_tile = exp(_t0_tile)
        out_0_1 = store(_t1_tile, [0, 0], [8, 32], out_0)
        return out_0_1
        """,
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    """The statements after the pass."""
    params, results, before, after = TEXTS[name]
    found = short(converted(ssa(parsed(params, results, before))))
    assert found == dedent(after).strip("\n")


def test_long_rows() -> None:
    """Rows too long for a tile: each reduction accumulates its parts, its inputs stay in memory."""
    before = ssa(
        parsed(
            "x: F[16, 8192]",
            "F[16, 8192]",
            "return pl.tensor.div(x, pl.tensor.row_sum(pl.tensor.exp(x)))",
        )
    )
    text = short(converted(before))
    assert text.splitlines()[:4] == [
        "for row, (tmp_0_iter,) in pl.range(0, 16, 8, init_values=(tmp_0,)):",
        "    x_tile = load(x, [row, 0], [8, 1024])",
        "    _t0_tile = exp(x_tile)",
        "    scratch = create_tile([8, 1024], dtype=pl.FP32)",
    ]
    assert "part, (_t1_tile_iter,) in pl.range(1024, 8192, 1024, init_values=(_t1_tile,))" in text
    assert "_t1_tile_2 = add(_t1_tile_iter, _t1_tile_1)" in text


@pytest.mark.parametrize("dtype", [D.FP16, D.BF16, D.FP32, D.INT32])
def test_sums_of_long_rows(dtype: DataType) -> None:
    """Parts of 16-bit floats are summed in 32 bits and rounded once; a single column is its sum."""
    source = f"""
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, x: pl.Tensor[[32, 40000], pl.{dtype.member}], c: pl.Tensor[[32, 1], pl.{dtype.member}]
    ) -> tuple[pl.Tensor[[32, 1], pl.{dtype.member}], pl.Tensor[[32], pl.{dtype.member}]]:
        y = pl.tensor.sub(x, c)
        s = pl.tensor.add(pl.tensor.row_sum(y), pl.tensor.row_sum(c))
        return s, pl.tensor.row_max(y, keep_dim=False)
"""
    program = pl.parse_program(source)
    rng = np.random.default_rng(7)
    # Whole numbers with sums below 2**24, which FP32 represents exactly.
    x = rng.integers(-3, 5, (32, 40000)).astype(dtype.numpy)
    c = rng.integers(-2, 3, (32, 1)).astype(dtype.numpy)
    wanted = Evaluator(program).call("k", [x, c])
    for stage in (converted(program), PassManager().run_passes(program)):
        out = [np.zeros((32, 1), dtype.numpy), np.zeros(32, dtype.numpy)]
        tmp = [new_array(p) for p in stage.functions_[0].params[4:]]
        found = Evaluator(stage).call("k", [x.copy(), c.copy(), *out, *tmp])
        for one, other in zip(found, wanted, strict=True):
            assert_close(one, other)


def test_callers_make_the_results() -> None:
    """Each call gets new tensors; their sizes are those of its own arguments."""
    text = """
import pypto.language as pl
M = pl.dynamic("M")

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, n: pl.INT64, x: pl.Tensor[[M, 32], pl.FP32]) -> pl.Tensor[[M, 32], pl.FP32]:
        y = pl.tensor.exp(x)
        if n > 1:
            y = pl.tensor.add(y, x)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[64, 32], pl.FP32]) -> pl.Tensor[[16, 32], pl.FP32]:
        y = self.k(1, x)
        return self.k(2, pl.view(y, [16, 32], [8, 0]))
"""
    for program in (pl.parse_program(text), ssa(pl.parse_program(text))):
        after = converted(program)
        kernel = after.get_function("k")
        assert kernel is not None
        assert [p.name for p in kernel.params] == ["n", "x", "out_0", "tmp_0"]
        assert [d.name for d in kernel.param_directions] == ["In", "In", "Out", "Out"]
        lines = [line.strip() for line in short(after, "main").splitlines()]
        assert lines[:3] == [
            "out_0 = pl.tensor.create([64, 32], dtype=pl.FP32)",
            "tmp_0 = pl.tensor.create([64, 32], dtype=pl.FP32)",
            "y = k(1, x, out_0, tmp_0)",
        ]
        assert "out_0_1 = pl.tensor.create([16, 32], dtype=pl.FP32)" in lines


def test_forms_that_other_passes_leave() -> None:
    """Nested calls, sequences of statements and functions without results are all converted."""
    params = "x: F[16, 32], out: pl.Out[F[16, 32]]"
    body = "pl.tensor.assemble(out, pl.tensor.add(pl.tensor.exp(x), x), [0, 0])"
    plain = parsed(params, "", body)
    wanted = short(converted(ssa(plain)))
    assert wanted.splitlines()[-1] == "out_1 = store(_t1_tile, [0, 0], [16, 32], out)"
    assert short(converted(plain)) == wanted
    assert short(converted(NormalizeStmtStructure()(ssa(plain)))) == wanted


def test_registered_conversions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass uses a user's registered conversion of an op, reductions included."""
    monkeypatch.setattr("pypto._src.ops.conversion.CONVERSIONS", dict(CONVERSIONS))
    ir.register_op_conversion("tensor.exp", "block.neg")

    def largest(ctx: Any, args: Any, _kwargs: Any, span: ir.Span) -> ir.Expr:
        (tile,) = args
        call: Any = ir.get_op("block.min")
        return call.build((ctx.let("twice", ir.op.block.add(tile, tile)),), {"axis": 0}, span)

    ir.op_conversion("tensor.row_max")(largest)
    before = "return pl.tensor.exp(x), pl.tensor.row_max(x, axis=0, keep_dim=False)"
    found = short(converted(ssa(parsed("x: F[16, 32]", "tuple[F[16, 32], F[32]]", before))))
    assert "_t0_tile = neg(x_tile)" in found.splitlines()
    assert "twice = add(x_tile, x_tile)" in found.splitlines()
    assert "_t1_tile = min(twice, axis=0, keepdim=False)" in found.splitlines()


def test_kernels_without_tensor_ops_stay() -> None:
    """A program of loads and stores is returned as the same object."""
    before = ssa(
        parsed(
            "x: F[16, 32], out: pl.Out[F[16, 32]]",
            "F[16, 32]",
            "return pl.store(pl.exp(pl.load(x, [0, 0], [16, 32])), [0, 0], [16, 32], out)",
        )
    )
    assert ConvertTensorToBlockOps()(before) is before


# --------------------------------------------------------------------------------------------
# Every op
# --------------------------------------------------------------------------------------------

BINARY = ("add", "sub", "mul", "div", "maximum")
SHAPES = (([16, 32], [16, 32]), ([40, 64], [40, 1]), ([24, 96], [1, 96]), ([16, 32], [32]))
STORABLE = sorted((d for d in REGISTRY["tensor.add"].dtypes), key=lambda d: d.member)
ROWS: list[tuple[str, list[tuple[list[int], Any]], tuple[Any, ...], dict[str, Any]]] = [
    *(
        (name, [(shape, dtype) for shape in shapes], (), {})
        for name in BINARY
        for dtype in STORABLE
        for shapes in SHAPES
    ),
    *(
        (f"{name}_scalar", [([16, 64], dtype)], (3,), {})
        for name in BINARY[:4]
        for dtype in STORABLE
    ),
    *(("exp", [([16, 64], dtype)], (), {}) for dtype in STORABLE),
    *(
        ("cast", [([16, 64], dtype)], (), {"target_type": target})
        for dtype in STORABLE
        for target in STORABLE
    ),
    *(
        (name, [([32, 64], dtype)], (), {"axis": axis, "keep_dim": keep})
        for name in ("row_max", "row_sum")
        for dtype in STORABLE
        for axis in (-1, 0)
        for keep in (True, False)
    ),
    *(("transpose", [(shape, d)], (0, 1), {}) for d in STORABLE for shape in ([64, 32], [32, 256])),
    *(("reshape", [([64, 32], dtype)], ([32, 64],), {}) for dtype in STORABLE),
    *(
        ("matmul", [([32, 64], dtype), ([64, 96], dtype)], (), {"out_dtype": out})
        for dtype in STORABLE
        for out in (None, D.FP32, D.INT32)
    ),
]


def _identity(row: Any) -> str:
    name, kinds, rest, kwargs = row
    shapes = "-".join("x".join(map(str, shape)) for shape, _ in kinds)
    words = [v.member if isinstance(v, DataType) else str(v) for v in kwargs.values()]
    return "-".join([name, kinds[0][1].member, shapes, *words]) + ("s" if rest else "")


def kernel_of(row: Any) -> ir.Function:
    """Return a kernel that returns one call of a tensor op."""
    name, kinds, rest, kwargs = row
    params = [ir.Var(f"x{i}", ir.TensorType(s, d)) for i, (s, d) in enumerate(kinds)]
    span = ir.Span("kernel.py", 3, 7)
    numbers: tuple[Any, ...] = rest
    if name.endswith("_scalar"):
        dtype = kinds[0][1]
        numbers = (ir.ConstFloat(3.0, dtype) if dtype.is_float() else ir.ConstInt(3, dtype),)
    known = {key: value for key, value in kwargs.items() if value is not None}
    call: Any = REGISTRY[f"tensor.{name}"].build((*params, *numbers), known, span)
    y = ir.Var("y", call.type)
    body = [ir.AssignStmt(y, call, span), ir.ReturnStmt([y])]
    return ir.Function("k", params, [call.type], body, type=ir.FunctionType.InCore)


@pytest.mark.parametrize("row", ROWS, ids=_identity)
def test_every_op(row: Any) -> None:
    """Before and after the pass, and after all passes, the values are the same, bit for bit.

    Where the unit lacks the element type, the message names the supported ones. Sums of
    floats are exact here, so that their order does not matter.
    """
    program = ir.Program([kernel_of(row)], "p", entry="k")
    if not _is_done(row):
        with pytest.raises((OpError, PassError), match=r"element|pl\.cast|adds up in"):
            converted(program)
        return
    after = converted(program)
    rng = np.random.default_rng(3)
    name, kinds, _, _ = row
    arrays: list[Array] = []
    for shape, dtype in kinds:
        drawn = moderate(rng, tuple(shape), dtype)
        if name in ("row_sum", "matmul") and dtype.is_float():
            drawn = np.rint(drawn).astype(dtype.numpy)
        arrays.append(drawn)
    with np.errstate(all="ignore"):
        wanted = Evaluator(program).call("k", [a.copy() for a in arrays])
        for stage in (after, PassManager().run_passes(program)):
            lowered = stage.get_function("k")
            assert lowered is not None
            out = [new_array(param) for param in lowered.params[len(arrays) :]]
            found = Evaluator(stage).call("k", [*(a.copy() for a in arrays), *out])
            assert_close(found, wanted)


def new_array(param: ir.Var) -> Array:
    """Return an array for a tensor parameter."""
    kind = param.type
    assert isinstance(kind, ir.TensorType)
    return np.zeros(static_shape(kind) or (), kind.dtype.numpy)


def _is_done(row: Any) -> bool:
    """True if some core supports the op for these element types."""
    name, kinds, _, kwargs = row
    dtype = kinds[0][1]
    block: dict[str, Any] = {
        **{op.python_name: op for op in (elementwise.add, elementwise.sub, elementwise.mul)},
        "div": elementwise.div,
        "maximum": elementwise.maximum,
        "transpose": reshaping.transpose,
        "reshape": reshaping.reshape,
        "row_max": reduce.row_max,
        "row_sum": reduce.row_sum,
        "add_scalar": elementwise.adds,
        "sub_scalar": elementwise.subs,
        "mul_scalar": elementwise.muls,
        "div_scalar": elementwise.divs,
    }
    if dtype is D.BF16 and name not in ("cast", "transpose", "reshape", "matmul"):
        return True  # in FP32, rounded once
    if name == "exp":
        return dtype in elementwise.exp.dtypes or _has_cast(dtype, D.FP32)
    if name == "cast":
        target = kwargs["target_type"]
        return target is dtype or target in type_rules.CASTS.get(dtype, ())
    if name == "matmul":
        out = kwargs["out_dtype"] or dtype
        stored = {D.FP32, D.FP16, D.BF16} if dtype.is_float() else {D.INT32}
        return dtype in (D.INT8, D.FP16, D.BF16, D.FP32) and out in stored
    if name in BINARY and kinds[0][0] != kinds[1][0]:
        column = kinds[1][0] == [40, 1]
        ops = {
            "add": reduce.row_expand_add if column else elementwise.add,
            "sub": reduce.row_expand_sub if column else reduce.col_expand_sub,
            "mul": reduce.row_expand_mul if column else reduce.col_expand_mul,
            "div": reduce.row_expand_div if column else reduce.col_expand_div,
            "maximum": elementwise.maximum,
        }
        spread = reduce.row_expand_mul if column else reduce.col_expand
        needs_spread = name == "maximum" or (name == "add" and not column)
        return dtype in ops[name].dtypes and (not needs_spread or dtype in spread.dtypes)
    return dtype in block[name].dtypes


def _has_cast(source: DataType, target: DataType) -> bool:
    return type_rules.cast_steps(source, target) is not None


def test_every_op_has_a_row() -> None:
    """Each tensor op that computes is in the table, or the table of ops has a kernel of it."""
    named = {f"tensor.{row[0]}" for row in ROWS}
    work = {
        name
        for name, op in REGISTRY.items()
        if op.level == "tensor" and core_of(ir.Call(op, [])) is not None
    }
    in_kernels = {case.op.name for case in CASES if case.build is not None}
    assert named <= work
    assert work - named <= in_kernels
    assert work >= set(CONVERSIONS)


# --------------------------------------------------------------------------------------------
# What is refused
# --------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[str, str, str, type[PyptoError], str]] = {
    "quotient_of_integers": (
        "x: pl.Tensor[[16, 64], pl.INT32], y: pl.Tensor[[16, 64], pl.INT32]",
        "pl.Tensor[[16, 64], pl.INT32]",
        "return pl.tensor.div(x, y)",
        OpError,
        r"pl\.div takes elements of FP16, FP32, x has INT32",
    ),
    "two_vectors": (
        "x: F[128], y: F[128]",
        "",
        "return pl.tensor.matmul(x, y)",
        PassError,
        r"pl\.matmul in a kernel multiplies matrices, x is Tensor\[\[128\], FP32\]",
    ),
    "size_of_the_kernel": (
        "x: F[16, 32], n: pl.INT64",
        "F[16, 32]",
        """
        k = n + 1
        y = pl.tensor.exp(pl.tensor.view(x, [k, 32], [0, 0]))
        for i in pl.range(n):
            y = pl.tensor.exp(y)
        return pl.tensor.assemble(x, y, [0, 0])
        """,
        PassError,
        "has a size that only the kernel knows: 'k'",
    ),
    "two_targets": (
        "x: F[16, 32], n: pl.INT64, a: pl.InOut[F[16, 32]], b: pl.InOut[F[16, 32]]",
        "F[16, 32]",
        """
        if n > 1:
            t = pl.yield_(a)
        else:
            t = pl.yield_(b)
        pl.tensor.assemble(t, x, [0, 0])
        return a
        """,
        PassError,
        "'t' is 'a' or another tensor, and 'a' is written",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    """The message names op, sizes and the expected ones; it has a hint and the op's location."""
    params, results, body, kind, text = REFUSED[name]
    program = ssa(parsed(params, results, body))
    with pytest.raises(kind, match=text) as caught:
        ConvertTensorToBlockOps()(program)
    assert caught.value.hint
    assert caught.value.span.is_valid()
