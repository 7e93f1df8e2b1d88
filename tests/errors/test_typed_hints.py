"""NumPy, PyTorch and Triton idioms on one line: the hint for each, which works when typed.

Other files of this folder record the messages of these mistakes; this one has more that share one.
"""

from __future__ import annotations

import re

import pytest

from pypto._src.frontend.diagnose.calls_elsewhere import FORMS
from tests.errors.test_errors import Case, failure, first_line, typed

TILE = """\
import numpy as np

import pypto.language as pl


@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        w: pl.Tensor[[64, 64], pl.FP16],
        idx: pl.Tensor[[1, 64], pl.INT32],
        n: pl.Scalar[pl.INT64],
        f: pl.Scalar[pl.FP32],
        out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ):
        t = pl.load(x, [0, 0], [64, 64])
        {line}
        out = pl.store(t, [0, 0], [64, 64], out)
"""
REGION = """\
import pypto.language as pl

rows = pl.dynamic("rows")


@pl.program
class P:
    @pl.function
    def main(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        y: pl.Tensor[[64, 64], pl.FP32],
        w: pl.Tensor[[64, 64], pl.BF16],
        q: pl.Tensor[[rows, 64], pl.FP32],
        n: pl.Scalar[pl.INT64],
        f: pl.Scalar[pl.FP32],
        out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP):
            t = x[:, :]
            {line}
            out[:, :] = t
        return out
"""
MATRICES = """\
import pypto.language as pl


@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        a: pl.Tensor[[64, 64], pl.FP32],
        b: pl.Tensor[[64, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ):
        am = pl.load(a, [0, 0], [64, 64], target_memory=pl.MemorySpace.Mat)
        bm = pl.load(b, [0, 0], [64, 64], target_memory=pl.MemorySpace.Mat)
        al = pl.move(am, target_memory=pl.MemorySpace.Left)
        br = pl.move(bm, target_memory=pl.MemorySpace.Right)
        {line}
        out = pl.store(c, [0, 0], [64, 64], out)
"""
HOST = """\
import pypto.language as pl


@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def double(
        self, x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        out = pl.store(pl.load(x, [0, 0], [64, 64]) * 2, [0, 0], [64, 64], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        tmp = pl.create_tensor([64, 64], dtype=pl.FP32)
        tmp = self.double(x, tmp)
        {line}
        return out
"""


def line_of(template: str) -> tuple[int, str]:
    """Return the line number of the mistake in a template, and its indentation."""
    lines = template.splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip() == "{line}")
    return at + 1, lines[at].removesuffix("{line}")


def check(template: str, line: str, wanted: str) -> None:
    """A line's mistake is found there, has the hint ``wanted``, and is gone when that is typed."""
    number, indent = line_of(template)
    code = template.replace("{line}", line.replace("\n", f"\n{indent}"))
    error, text = failure(code, "compile")
    assert error.hint == wanted
    assert number <= error.location.begin_line <= number + line.count("\n")
    hint = wanted.removeprefix("write ")
    if hint != wanted:
        found = [first_line(new, "check") for new in typed(Case(code, text, "", None), hint)]
        assert "" in found, found


FLOOR = 'write pl.cast(pl.cast({}, pl.INT32, mode="floor"), pl.{})'


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("t = t // 2", FLOOR.format("t / 2", "FP32")),
        ("t //= 2", "write t = " + FLOOR.format("t / 2", "FP32").removeprefix("write ")),
        ("u = w[:] // 2", FLOOR.format("w[:] / 2", "FP16")),
        ("t = f / t", "write pl.recip(t) * f"),
        ("t = (f + 1) / t", "write pl.recip(t) * (f + 1)"),
        ("t = f - t", "write pl.neg(t) + f"),
        ("u = idx[:]\nu = 3 / u", "write pl.recip(pl.cast(u, pl.FP32)) * 3"),
        ("u = idx[:]\nu = 1 - u", "write pl.neg(u) + 1"),
        ("t = t**3", "write t * t * t"),
        ("u = t & 1", "write pl.cast(t, pl.INT32) & 1"),
        ("u = (t + 1) << n", "write pl.cast(t + 1, pl.INT32) << n"),
        ("t = t > 0 & t < 1", "write (t > 0) * (t < 1)"),
        ("t = t > 0 | t < 1", "write max(t > 0, t < 1)"),
        ("if n > 0 & n < 4:\n    t = t * 2", "write n > 0 and n < 4"),
        ("if n is n + 1:\n    t = t * 2", "write n == n + 1"),
        ("if n == None:\n    t = t * 2", "leave the test out: n is never None"),
        ("if None is not n:\n    t = t * 2", "leave the test out: n is never None"),
        ("u = 2 & t", "write 2 & pl.cast(t, pl.INT32)"),
        ("u = t ^ t", "write pl.cast(t, pl.INT32) ^ pl.cast(t, pl.INT32)"),
        ("u = idx[:] & t", "write idx[:] & pl.cast(t, pl.INT32)"),
        ("u = t << f", "write pl.cast(t, pl.INT32) << pl.cast(f, pl.INT32)"),
        ("u = (t + 1) // n", FLOOR.format("(t + 1) / n", "FP32")),
        ("u = 0 < t & t < 1", "write (0 < t) * (t < 1)"),
        ("u = 0 < t < 1", "write (0 < t) * (t < 1)"),
        ("u = t > 0 & t < 1 & t != -1", "write (t > 0) * (t < 1) * (t != -1)"),
        ("if n > 0 & n < 4 & n != 2:\n    t = t * 2", "write n > 0 and n < 4 and n != 2"),
        ("if 0 < (n & 3) < 2:\n    t = t * 2", "write 0 < n & 3 and n & 3 < 2"),
    ],
)
def test_operators(line: str, wanted: str) -> None:
    """For an operator unsupported on tiles or scalars, the hint has ops for the same value."""
    check(TILE, line, wanted)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("t = x // 2", FLOOR.format("x / 2", "FP32")),
        ("t = 1.0 - x", "write x * -1 + 1.0"),
        ("t = 1.0 - w", "write pl.cast(w, pl.FP32) * -1 + 1.0"),
        ("t = 1.0 / x", "write pl.recip(x)"),
        ("t = f / x", "write pl.recip(x) * f"),
        ("t = 2.0 / w", "write pl.recip(pl.cast(w, pl.FP32)) * 2.0"),
        ("u = 1 & x", "write 1 & pl.cast(x, pl.INT32)"),
        ("u = t & w", "write pl.cast(t, pl.INT32) & pl.cast(w, pl.INT32)"),
    ],
)
def test_operators_of_regions(line: str, wanted: str) -> None:
    """The same in a region, on tensors."""
    check(REGION, line, wanted)


@pytest.mark.filterwarnings('ignore:"is.* with a:SyntaxWarning')
@pytest.mark.parametrize(("line", "wanted"), [("is", "=="), ("is not", "!=")])
def test_identity_with_a_number(line: str, wanted: str) -> None:
    """A scalar is compared with `==`, not by identity."""
    check(TILE, f"if n {line} 3:\n    t = t * 2", f"write n {wanted} 3")


@pytest.mark.parametrize(
    ("line", "shape", "place", "valid"),
    [
        ("q[n : pl.min(n + 16, rows), :]", "[16, 64]", "[n, 0]", "[pl.min(16, rows - n), 64]"),
        ("q[n : min(rows, n + 16), 0:32]", "[16, 32]", "[n, 0]", "[min(16, rows - n), 32]"),
        ("q[: min(16, rows)]", "[16, 64]", "[0, 0]", "[min(16, rows), 64]"),
        ("q[8 : min(16, rows)]", "[8, 64]", "[8, 0]", "[min(8, rows - 8), 64]"),
        (
            "q[n * 16 : min((n + 1) * 16, rows)]",
            "[16, 64]",
            "[n * 16, 0]",
            "[min(16, rows - n * 16), 64]",
        ),
    ],
)
def test_slices_of_the_rows_that_there_are(line: str, shape: str, place: str, valid: str) -> None:
    """A slice that ends at the minimum of two offsets is a partly valid tile."""
    wanted = f"write pl.slice(q, {shape}, {place}, valid_shape={valid})"
    check(REGION, f"u = {line}", wanted)


def test_slices_of_the_rows_that_there_are_in_kernels() -> None:
    """In a kernel the same is a load."""
    wanted = "write pl.load(x, [n, 0], [16, 64], valid_shapes=[pl.min(16, 64 - n), 64])"
    check(TILE, "u = x[n : pl.min(n + 16, 64)] * 2", wanted)


ROUNDED = 'write pl.cast(pl.cast(t, pl.INT32, mode="{}"), t.dtype)'
TANH = "pl.add(pl.mul(pl.recip(pl.add(pl.exp(pl.mul({}, 2.0)), 1.0)), -2.0), 1.0)"
CENTRED = "pl.col_expand_sub({0}, pl.mul(pl.col_sum({0}), 1.0 / {1}.shape[0]))"
VAR = f"pl.mul(pl.col_sum(pl.mul({CENTRED}, {CENTRED})), 1.0 / {{1}}.shape[0])"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("np.max(t)", "write pl.col_max(pl.row_max(t))"),
        ("np.amin(x)", "write pl.col_min(pl.row_min(x))"),
        ("np.sum(t)", "write pl.col_sum(pl.row_sum(t))"),
        ("sum(t)", "write pl.col_sum(t)"),
        ("np.max(t, axis=1, keepdims=True)", "write pl.max(t, axis=1, keepdim=True)"),
        ("np.mean(t, axis=0)", "write pl.mul(pl.col_sum(t), 1.0 / t.shape[0])"),
        ("np.transpose(t)", "write pl.transpose(t, 0, 1)"),
        ("np.argmax(t, axis=1)", "write pl.row_argmax(t)"),
        ("np.floor(t)", ROUNDED.format("floor")),
        ("np.mean(t, axis=-2)", "write pl.mul(pl.col_sum(t), 1.0 / t.shape[0])"),
        ("np.transpose(t, (1, 0))", "write pl.transpose(t, 0, 1)"),
        ("np.square(x=t)", "write pl.mul(t, t)"),
        ("np.power(t, exponent=2)", "write pl.mul(t, t)"),
        ("np.power(t, 0.5)", "write pl.exp(pl.mul(pl.log(t), 0.5))"),
        ("np.full_like(t, fill_value=0)", "write pl.full(t.shape, t.dtype, 0)"),
        ("np.floor(n)", "write n"),
        ("round(t)", ROUNDED.format("rint")),
    ],
)
def test_functions_of_numpy(value: str, wanted: str) -> None:
    """For a NumPy function that reduces everything, or an axis, the hint has the ops for that."""
    check(TILE, f"u = {value}", wanted)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("t.max()", "write pl.col_max(pl.row_max(t))"),
        ("t.sum()", "write pl.col_sum(pl.row_sum(t))"),
        ("t.transpose()", "write pl.transpose(t, 0, 1)"),
        ("t.half()", "write pl.cast(t, pl.FP16)"),
        ("t.float()", "write pl.cast(t, pl.FP32)"),
        ("t.round()", ROUNDED.format("rint")),
        ("pl.ceil(t)", ROUNDED.format("ceil")),
        ("pl.round(t)", ROUNDED.format("rint")),
        ("pl.sign(t)", "write pl.sub(t > 0, t < 0)"),
        ("pl.isnan(t)", "write (t != t)"),
        ("pl.argmin(t, axis=0)", "write pl.col_argmin(t)"),
        ("pl.tanh(w)", "write " + TANH.format("w")),
        ("t.argmax(dim=-2, keepdim=True)", "write pl.col_argmax(t)"),
        ("(t + 1).var(0)", "write " + VAR.format("t + 1", "(t + 1)")),
        ("t.pow(3)", "write pl.mul(pl.mul(t, t), t)"),
        ("t.max(axis=None)", "write pl.col_max(pl.row_max(t))"),
        ("t.size()", "write t.shape"),
        ("t.size(1)", "write t.shape[1]"),
        ("t.where(t > 0, 0)", "write pl.sel(t > 0, t, pl.full([64, 64], pl.FP32, 0))"),
        ('t.astype("float16")', "write pl.cast(t, pl.FP16)"),
        ("t.T.max()", "write pl.transpose(t, 0, 1)"),
    ],
)
def test_methods_and_ops_of_other_libraries(value: str, wanted: str) -> None:
    """For an unknown method or op, the hint is what computes it."""
    check(TILE, f"u = {value}", wanted)


@pytest.mark.parametrize("value", [
    # arguments that nothing here uses
    "np.argmax(t)", "t.argmax()", "pl.argmax(t, axis=None)", "np.round(t, 2)",
    "t.round(decimals=2)", "np.mean(t, dtype=np.float16)", "t.mean((0, 1))", "np.std(t, ddof=1)",
    "t.softmax(dim=0)", "pl.clamp(t)", "np.power(t, 4)", "t.astype(dtype=np.float16)",
    # operands of other kinds
    "np.floor(f)", "pl.floor(f)", "pl.round(f)", "pl.clamp(f, min=0.0)", "np.clip(n, 0, 4)",
    "pl.sigmoid(idx[:])", "np.mean(idx)", "pl.cdiv(f, 2)", "len(n)", "sum(f)",
    "np.where(idx[:] > 0, 1.5, 0.5)", "np.where(t > 0)", "np.where(t > 0, None, t)",
    "np.where(n > 0, t, 0)",
    # shapes, element types and numbers that there are not
    "pl.reshape(t, [16, 16, 16]).mean()", "pl.reshape(t, [16, 16, 16]).max()",
    "pl.reshape(t, [16, 16, 16]).transpose()", "pl.cdiv(n, 0)", "np.zeros(n)",
    "np.hstack([pl.reshape(t, [4096]), pl.reshape(t, [4096])])", "np.mean(pl.reshape(t, [4096]))",
    "np.ones((64, n))", "np.full((64, n), f)", "t.reshape(n, 32)", "np.log1p(t)",
])  # fmt: skip
def test_calls_that_have_no_form_here(value: str) -> None:
    """Without ops for exactly what is called there is no hint."""
    error, _ = failure(TILE.replace("{line}", f"u = {value}"))
    assert error.slug in ("python-call", "attribute", "unknown-op")
    assert error.hint is None


ARGUMENTS = ("t", "t, 0", "t, None", "t, t, 2", "f", "n, 2", "idx[:], 1", "[t, t], 1", "[2, n]")


@pytest.mark.parametrize("name", sorted({name.lstrip(".") for name in FORMS}))
def test_no_hint_for_a_call_is_refused(name: str) -> None:
    """Whatever the arguments are, the code of a hint is accepted where it is typed."""
    calls = [f"{module}.{name}({each})" for each in ARGUMENTS for module in ("pl", "t")]
    for call in calls:
        code = TILE.replace("{line}", f"u = {call}")
        try:
            error, text = failure(code)
        except pytest.fail.Exception:  # max, min and sum are ops as well
            continue
        hint = str(error.hint).removeprefix("write ")
        if error.slug in ("attribute", "unknown-op") and hint != error.hint and error.hint:
            assert "" in [first_line(new, "") for new in typed(Case(code, text, "", None), hint)]


@pytest.mark.parametrize("dtype", ["pl.BOOL", "np.float64", '"number"'])
def test_constant_tiles_of_no_element_type(dtype: str) -> None:
    """An element type that no tile is filled with is not replaced by another one."""
    error, _ = failure(TILE.replace("{line}", f"u = pl.zeros([64, 64], {dtype})"))
    assert error.hint == "did you mean pl.full?"


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("self.clamp(t, 0.0, 1.0)", "@pl.function above def clamp"),
        ("self.stack(t)", "@pl.function above def stack"),
        ("lib.view(t, 2)", "@pl.inline above def view"),
        ("lib.stack(t)", "@pl.inline above def stack"),
        ("lib.cdiv(n, 2)", "@pl.inline above def cdiv"),
        ("cdiv(n, 2)", "@pl.inline above def cdiv"),
    ],
)
def test_functions_of_the_user(call: str, wanted: str) -> None:
    """A function of a user is not taken for that of a library with the same name."""
    names = ("view", "stack", "cdiv")
    library = "".join(f"def {name}(a, b=0):\n    return a * b\n\n\n" for name in names)
    library += f"class lib:\n    {', '.join(names)} = {', '.join(names)}\n\n\n"
    methods = "    def clamp(self, a, b, c):\n        return a\n\n    def stack(self, a):\n"
    code = TILE.replace("@pl.program\nclass P:\n", f"{library}@pl.program\nclass P:\n{methods}"
                        "        return a\n\n")  # fmt: skip
    error, _ = failure(code.replace("{line}", f"u = {call}"))
    assert (error.slug, error.hint) == ("python-call", f"write {wanted}")


PLACED = "target_memory=pl.MemorySpace."


@pytest.mark.parametrize(
    ("operands", "keyword", "wanted"),
    [
        ("al, br", "b_trans", f"al, pl.move(bm, {PLACED}Right, transpose=True)"),
        ("al, br", "a_trans", f"pl.move(am, {PLACED}Left, transpose=True), br"),
        (
            "am, bm",
            "b_trans",
            f"pl.move(am, {PLACED}Left), pl.move(bm, {PLACED}Right, transpose=True)",
        ),
    ],
)
def test_transposed_operands_of_kernels(operands: str, keyword: str, wanted: str) -> None:
    """A kernel transposes an operand of a product where it moves it."""
    check(MATRICES, f"c = pl.matmul({operands}, {keyword}=True)", f"write pl.matmul({wanted})")


def test_sums_of_products_begin_with_a_product() -> None:
    """Products cannot be accumulated into a number; in a region zeros can be used."""
    loop = "acc = 0\nfor i in pl.range(3):\n    acc = pl.matmul_acc(acc, {})\n"
    wanted = "begin with acc = pl.matmul(al, br), and add up from the second on"
    check(MATRICES, loop.format("al, br") + "c = pl.matmul(al, br)", wanted)
    line = loop.format("x[:, 0:32], y[0:32, :]")
    check(REGION, line, "begin with acc = pl.full([64, 64], pl.FP32, 0.0)")
    mended = line.replace("acc = 0", "acc = pl.full([64, 64], pl.FP32, 0.0)")
    assert first_line(REGION.replace("{line}", mended.replace("\n", "\n            ")), "") == ""


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("t = pl.matmul(x, 2.0)", "write x * 2.0"),
        ("t = pl.matmul(f, x)", "write f * x"),
        ("t = t @ 2", "write t * 2"),
        ("t = (t + 1) @ f", "write (t + 1) * f"),
        ("t @= 2", "write t = t * 2"),
    ],
)
def test_products_with_a_number(line: str, wanted: str) -> None:
    """A number scales a matrix: that is not a matrix product."""
    check(REGION, line, wanted)


@pytest.mark.parametrize(
    "value",
    [
        "pl.matmul_acc(t, x, 2.0)",  # adds to t
        "pl.matmul_bias(x, 2.0, t)",
        "pl.matmul(n, f)",  # numbers of two kinds
        "w @ 2",  # the vector ops do not multiply BF16
    ],
)
def test_products_with_a_number_that_scales_nothing(value: str) -> None:
    """No hint replaces what else a product computes, and none is refused in its place."""
    error, _ = failure(REGION.replace("{line}", f"t = {value}"))
    assert (error.slug, error.hint) == ("product-operand", None)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("u = t @ x[0:32, :]", "write pl.matmul(t, x[0:32, :], b_trans=True)"),
        ("u = x @ y[0:32, :]", "write pl.matmul(x, y[0:32, :], b_trans=True)"),
    ],
)
def test_operators_do_not_transpose(line: str, wanted: str) -> None:
    """An operator has no keywords: the op does."""
    check(REGION, line, wanted)


def test_products_assigned_to_an_operand() -> None:
    """`@=` is refused as `@` is: for matrices of two element types, or of another K."""
    error, _ = failure(REGION.replace("{line}", "t @= w"))
    assert error.slug == "dtype-mismatch"
    error, _ = failure(REGION.replace("{line}", "t @= x[0:32, :]"))
    assert error.hint == "write t = pl.matmul(t, x[0:32, :], b_trans=True)"


@pytest.mark.parametrize("value", ["q // 2", "q**3", "1.0 / q", "2 - q", "2**q"])
def test_operators_on_tensors_of_run_time_size(value: str) -> None:
    """No operator computes them whole, so no hint has one that does."""
    error, _ = failure(REGION.replace("{line}", f"u = {value}"))
    assert (error.slug, error.hint) == ("no-operator", None)


@pytest.mark.parametrize(
    "line",
    [
        "if t > 0 & t < 1:\n            t = t * 2",
        "if (t > 0) & (t < 1):\n            t = t * 2",
        "if t > 0 and t < 1:\n            t = t * 2",
        "if n > 0 & t < 1:\n            t = t * 2",
        "u = t > 0 & n < 1",
        "u = t > 0 & t < 1 | t > 3",
        "u = x > 0 & x < 1",
        "u = 1.5 | t",
    ],
)
def test_no_mask_is_told_where_none_is_taken(line: str) -> None:
    """A tile is no condition, and a mask is not joined with a truth value."""
    assert failure(TILE.replace("{line}", line))[0].hint is None


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("range(x.shape)", "write pl.range(x.shape[0])"), ("pl.range(x.shape)", "write x.shape[0]")],
)
def test_loops_over_a_shape(line: str, wanted: str) -> None:
    """A loop counts to one size."""
    check(TILE, f"for i in {line}:\n    t = t * 2", wanted)


@pytest.mark.parametrize("value", ["tmp", "x", "tmp + 1"])
def test_outputs_of_the_host(value: str) -> None:
    """Assigning a host name does not make it an output: a region has to store it."""
    check(HOST, f"out = {value}", f"write with pl.incore(): out[:] = {value}")


def test_outputs_of_regions_and_kernels() -> None:
    """In these the whole output is written."""
    check(REGION, "out = x", "write out[:] = x")
    check(TILE, "out = x", "write out[:] = x")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("pl.write(out, [0], f)", "write pl.write(out, [0, 0], f)"),
        ("pl.write(t, [n, 0, 0], f)", "write pl.write(t, [n, 0], f)"),
        ("m = pl.read(idx, [n])", "write pl.read(idx, [n, 0])"),
    ],
)
def test_indices_of_another_number(line: str, wanted: str) -> None:
    """An element has one index per dimension."""
    number, _ = line_of(TILE)
    error, _ = failure(TILE.replace("{line}", line))
    assert (error.location.begin_line, error.hint) == (number, wanted)
    mended = re.sub(r"pl\..*", wanted.removeprefix("write "), line)
    assert first_line(TILE.replace("{line}", mended), "") == ""


FULL = "write pl.full([64, 64], pl.FP32, {})"
MEAN = "pl.mul(pl.col_sum(pl.row_sum(t)), 1.0 / (t.shape[0] * t.shape[1]))"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("pl.cdiv(n, 16)", "write ((n + 16 - 1) // 16)"),
        ("pl.cdiv(n + 1, n)", "write (((n + 1) + n - 1) // n)"),
        ("pl.zeros([64, 64], pl.FP32)", FULL.format("0.0")),
        ("pl.ones([64, 64], dtype=pl.INT32)", "write pl.full([64, 64], pl.INT32, 1)"),
        ("pl.ones(64, 64)", FULL.format("1.0")),
        ("pl.full([64, 64], pl.FP32)", FULL.format("0.0")),
        ("pl.cat([t, t], dim=1)", "write pl.concat(t, t)"),
        ("np.hstack([t, t, t])", "write pl.concat(pl.concat(t, t), t)"),
        ("pl.concat([t, t])", "write pl.concat(t, t)"),
        ("t.clamp(min=0.0, max=1.0)", "write pl.minimum(pl.maximum(t, 0.0), 1.0)"),
        ("pl.clamp(t, max=1.0)", "write pl.minimum(t, 1.0)"),
        ("np.clip(t, None, 1.0)", "write pl.minimum(t, 1.0)"),
        ("t.reshape(-1, 32)", "write pl.reshape(t, [128, 32])"),
        ("t.view(32, 128)", "write pl.reshape(t, [32, 128])"),
        ("t.unsqueeze(0)", "write pl.reshape(t, [1, 64, 64])"),
        ("t.unsqueeze(-1)", "write pl.reshape(t, [64, 64, 1])"),
        ("t.flatten()", "write pl.reshape(t, [4096])"),
        ("t.permute(1, 0)", "write pl.transpose(t, 0, 1)"),
        ("pl.permute(t, [0, 1])", "write t"),
        ("x.stride(0)", "write x.shape[1]"),
        ("x.stride(-1)", "write 1"),
        ("t.item()", "write t[0, 0]"),
        ("pl.where(t > 0, t, 0)", "write pl.sel(t > 0, t, pl.full([64, 64], pl.FP32, 0))"),
        ("np.where(t > 0, 1.0, t)", "write pl.sel(t > 0, pl.full([64, 64], pl.FP32, 1.0), t)"),
        ("pl.where(t > 0, t, t + 1)", "write pl.sel(t > 0, t, t + 1)"),
        ("pl.mean(t)", f"write {MEAN}"),
        ("np.mean(t, axis=None, keepdims=True)", f"write {MEAN}"),
        ("t.sum(dim=-1)", "write pl.sum(t, axis=-1)"),
        ('pl.zeros([64, 64], dtype="float16")', "write pl.full([64, 64], pl.FP16, 0.0)"),
        ("pl.mean(t, None)", f"write {MEAN}"),
        ("np.mean(a=t)", f"write {MEAN}"),
        (
            "np.where(t > 0, f, n)",
            "write pl.sel(t > 0, pl.full([64, 64], pl.FP32, f), "
            "pl.full([64, 64], pl.FP32, pl.cast(n, pl.FP32)))",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:'int' object is not callable:SyntaxWarning")
def test_calls_with_other_arguments(value: str, wanted: str) -> None:
    """A call whose arguments have another form here is told in one step."""
    check(TILE, f"u = {value}", wanted)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("pl.cumsum(t, 0)", "compute them in a loop over the rows"),
        ("t.cumsum(0)", "compute them in a loop over the rows"),
        ('pl.einsum("ij,jk->ik", t, t)', "compute products of matrices with pl.matmul"),
        ("pl.cat([t, t])", "pl.concat joins columns"),
        ("np.stack([t, t])", "store each at its place"),
        ("pl.topk(t, 8)", "sort with pl.sort32"),
        ("pl.gather(t, kvalue=f)", "compare, and sort by the result"),
        ("t.permute(0, 2)", "None"),
        ("t * math.pi", "import math at the top of the file"),
    ],
)
def test_calls_without_one_form_here(value: str, wanted: str) -> None:
    """What no single call computes is told in words, not as an op that computes another value."""
    error, _ = failure(TILE.replace("{line}", f"u = {value}"))
    assert str(error.hint).startswith(wanted)


def test_constant_tiles_belong_to_cores() -> None:
    """The host has no tiles: one is made where the tensor is written."""
    error, _ = failure(HOST.replace("{line}", "out = pl.zeros([64, 64], pl.FP32)"))
    assert error.hint == (
        "in a region or an InCore function, store pl.full([64, 64], pl.FP32, 0.0)"
    )


@pytest.mark.parametrize(
    "value",
    ["pl.sign(x)", "pl.where(x > 0, x, 0)", "pl.ones_like(x)", "out.fill(0.0)", "x.fill(0.0)"],
)
def test_ops_on_tiles_belong_to_cores(value: str) -> None:
    """The host compares no tensors and makes no tiles: no hint does."""
    error, _ = failure(HOST.replace("{line}", f"u = {value}"))
    assert error.hint in (None, "did you mean pl.sel?")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("np.arange(4)", "pl.range(4)"),
        ("np.arange(0, n, 2)", "pl.range(0, n, 2)"),
        ("len(t)", "pl.range(t.shape[0])"),
        ("len(t.shape)", "pl.range(len(t.shape))"),
        ("4", "pl.range(4)"),
        ("n + 1", "pl.range(n + 1)"),
        ("x.shape[0]", "pl.range(x.shape[0])"),
        ("f", "pl.range(pl.cast(f, pl.INT64))"),
        ("pl.static_range(4)", "pl.unroll(4)"),
        ("tl.static_range(0, 4)", "pl.unroll(0, 4)"),
    ],
)
def test_loops_keep_their_count(line: str, wanted: str) -> None:
    """What a loop counts to stays in the hint; n may be another number."""
    check(TILE, f"for i in {line}:\n    t = t * 2", f"write for i in {wanted}:")


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("pl.range(step=4)", "say where it ends: pl.range(0, ..., 4)"),
        ("pl.range(start=2)", "say where it ends: pl.range(2, ...)"),
        ("pl.range(64, step=4)", "write pl.range(0, 64, 4)"),
        ("pl.range(0, n, step=4)", "write pl.range(0, n, 4)"),
        ("pl.range(0, stop=n)", "write pl.range(0, n)"),
        ("pl.range(start=0, stop=64, step=4)", "write pl.range(0, 64, 4)"),
        ("pl.parallel(stop=n, step=4)", "write pl.parallel(0, n, 4)"),
        ("pl.unroll(8, step=4)", "write pl.unroll(0, 8, 4)"),
    ],
)
def test_named_bounds_of_loops(call: str, wanted: str) -> None:
    """Bounds have no names: each goes to its place, and a step is no end."""
    check(TILE, f"for i in {call}:\n    t = t * 2", wanted)


def test_named_bounds_beside_other_arguments() -> None:
    """What has a name keeps it; a step of a pipeline is no number of stages."""
    loop = "for i, (s,) in pl.range(0, 8, step=4, init_values=(t,)):\n    pl.yield_(s * 2)"
    error, _ = failure(TILE.replace("{line}", loop.replace("\n", "\n        ")))
    assert error.hint == "write pl.range(0, 8, 4, init_values=(t,))"
    loop = "for i in pl.pipeline(0, 8, step=4):\n    t = t * 2"
    error, _ = failure(TILE.replace("{line}", loop.replace("\n", "\n        ")))
    assert error.hint == "write pl.pipeline(0, 8, 4)"
    check(
        TILE,
        "for i in pl.pipeline(0, 8, stage=2, step=4):\n    t = t * 2",
        "write pl.pipeline(0, 8, 4, stage=2)",
    )


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("t[t > 0] = 0", "write t = pl.sel(t > 0, pl.full([64, 64], pl.FP32, 0), t)"),
        ("t[t > 0] = t + 1", "write t = pl.sel(t > 0, t + 1, t)"),
        (
            "t[t > 0] = n",
            "write t = pl.sel(t > 0, pl.full([64, 64], pl.FP32, pl.cast(n, pl.FP32)), t)",
        ),
        ("u = t[t > 0]", "a tile keeps its shape: choose with pl.sel(t > 0, t, ...)"),
        ("m = t[0][0]", "write t[0, 0]"),
        ("m = x[n][0] + 1.0", "write x[n, 0]"),
        ("out[0][n] = f", "write out[0, n]"),
        ("u = pl.load(x, [16, 64], [n, 0])", "write pl.load(x, [n, 0], [16, 64])"),
    ],
)
def test_subscripts_and_regions(line: str, wanted: str) -> None:
    """Masks, and indices in brackets of their own, are told in one step."""
    check(TILE, line, wanted)


@pytest.mark.parametrize("line", ["u = t[idx]", "u = x[idx]", "t[idx] = 0"])
def test_indices_in_brackets(line: str) -> None:
    """Rows at positions in memory are loaded one by one."""
    error, _ = failure(TILE.replace("{line}", line))
    assert str(error.hint).startswith("load each row in a loop")


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("q, [n, 0], [16, 64]", "write pl.slice(q, [16, 64], [n, 0])"),
        ("x, [0, 0], [16, 64]", "write pl.slice(x, [16, 64], [0, 0])"),
        ("x, [16, 64], [60, 0]", "write pl.slice(x, [16, 64], [48, 0])"),
        ("x, [16], [n]", "write pl.slice(x, [16, 64], [n, 0])"),
    ],
)
def test_slices_have_their_size_first(call: str, wanted: str) -> None:
    """The size of a slice comes before its offset, in a hint too."""
    check(REGION, f"u = pl.slice({call})", wanted)


def test_slices_with_a_named_offset() -> None:
    """An offset outside by its name is an error, not a failure of the compiler."""
    error, _ = failure(REGION.replace("{line}", "u = pl.slice(x, [16, 64], offset=[60, 0])"))
    assert error.slug == "out-of-bounds"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("m = max(n, f)", "write max(pl.cast(n, pl.FP32), f)"),
        ("m = pl.min(f, n + 1)", "write pl.min(f, pl.cast(n + 1, pl.FP32))"),
        ("u = pl.load(x, 0, 0)", "write pl.load(x, [0, 0], [64, 64])"),
        ("u = pl.load(x, 0)", "write pl.load(x, [0, 0], [64, 64])"),
    ],
)
def test_casts_outputs_and_loads(line: str, wanted: str) -> None:
    """Numbers of two kinds, outputs that change, and a load without brackets."""
    check(TILE, line, wanted)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("u = np.square(t\n    + t)", "write pl.mul(t + t, t + t)"),
        ("u = (t\n    + t) ** -1", "write pl.recip(t + t)"),
        ("u = (t\n     > 0) and (t\n     < 1)", "write (t > 0) * (t < 1)"),
        ("u = 0 < (t\n         + t) < 2", "write (0 < t + t) * (t + t < 2)"),
        ("out += (t\n        + t)", "write out[:] = out[:] + (t + t)"),
    ],
)
def test_operands_on_several_lines(line: str, wanted: str) -> None:
    """A hint has all of an operand, on one line."""
    error, _ = failure(TILE.replace("{line}", line.replace("\n", "\n        ")))
    assert str(error.hint).endswith(wanted.removeprefix("write "))


@pytest.mark.parametrize("line", ["t = t.reshape(*[8, 512])", "t = t.reshape(**{})"])
def test_unpacked_arguments(line: str) -> None:
    """No call is proposed with arguments that kernels cannot unpack."""
    error, _ = failure(TILE.replace("{line}", line))
    assert "*" not in str(error.hint)


FLOORED = FLOOR.format("out[:] / 2", "FP32").removeprefix("write ")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("out += t", "write out[:] = out[:] + t"),
        ("out -= t * 2", "write out[:] = out[:] - (t * 2)"),
        ("out += 1.0", "write out[:] = out[:] + 1.0"),
        ("out += x", "write out[:] = out[:] + x[:]"),
        ("out *= out", "write out[:] = out[:] * out[:]"),
        ("out //= 2", f"write out[:] = {FLOORED}"),
        ("out **= 2", "write out[:] = out[:] * out[:]"),
    ],
)
def test_outputs_that_change(line: str, wanted: str) -> None:
    """What is added to an output in a kernel is stored in it, if it has a value."""
    check(TILE.replace("pl.Out[", "pl.InOut["), line, wanted)
    check(TILE.replace("{line}", "out[:] = t\n        {line}"), line, wanted)


def test_outputs_that_change_in_regions() -> None:
    """In a region most operators change an output; those that do not exist are stored too."""
    template = REGION.replace("pl.Out[", "pl.InOut[")
    check(template, "out **= 2", "write out[:] = out[:] * out[:]")
    check(template, "out //= 2", f"write out[:] = {FLOORED}")


@pytest.mark.parametrize("value", ["x", "1.0"])
def test_outputs_that_change_on_the_host(value: str) -> None:
    """What is added to an output on the host does not replace it."""
    wanted = f"write with pl.incore(): out[:] = out[:] + {value}"
    check(HOST.replace("pl.Out[", "pl.InOut["), f"out += {value}", wanted)


@pytest.mark.parametrize(
    ("template", "line"), [(TILE, "out += t"), (REGION, "out **= 2"), (HOST, "out += x")]
)
def test_outputs_without_a_value_do_not_change(template: str, line: str) -> None:
    """Before it is written an Out has no value to add to: it is an InOut."""
    hint = failure(template.replace("{line}", line))[0].hint
    assert hint is not None
    assert hint.startswith("declare out as pl.InOut[...] to read it, and write ")


def test_inputs_that_change_are_told_no_store() -> None:
    """An input is not written, in a hint neither."""
    assert failure(TILE.replace("{line}", "x += t"))[0].hint is None


@pytest.mark.parametrize(
    ("template", "line", "wanted"),
    [
        (TILE, "u = x[n : max(n + 16, 64)]", "write x[n:n + 16]"),
        (TILE, "u = x[n : pl.max(n + 16, 64)]", "write x[n:n + 16]"),
        (REGION, "u = q[n : min(n + 16, rows), n]", "write q[n:n + 16, n]"),
    ],
)
def test_slices_that_end_elsewhere(template: str, line: str, wanted: str) -> None:
    """The larger of two places is not as many rows as there are, nor is one place a slice."""
    check(template, line, wanted)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("q[n : min(n + 1, rows), 0:4, 0:8]", "q[n:n + 16, 0:4, 0:8]"),
        ("q[0:2, n : min(n + 2, 4), 0:8]", "q[0:2, n:n + 4, 0:8]"),
        ("q[n, 1 : min(n, 4), 0:8]", "q[n, 1:1 + 3, 0:8]"),
    ],
)
def test_slices_of_stacks_of_the_rows_that_there_are(line: str, wanted: str) -> None:
    """A tile of three dimensions has no valid part; the size told is one that there is."""
    template = REGION.replace("q: pl.Tensor[[rows, 64]", "q: pl.Tensor[[rows, 4, 64]")
    check(template, f"u = {line}", f"write {wanted}")


@pytest.mark.parametrize(
    ("template", "line", "wanted"),
    [
        (
            TILE,
            "u = idx[:]\nu[u > 0] = 0",
            "write u = pl.sel(u > 0, pl.full([1, 64], pl.INT32, 0), u)",
        ),
        (
            TILE,
            "u = idx[:]\nm = u > 0\nu[m] = 0",
            "write u = pl.sel(m, pl.full([1, 64], pl.INT32, 0), u)",
        ),
        (TILE, "t[t > 0, 0] = 0", "a tile keeps its shape: choose with pl.sel(t > 0, t, ...)"),
        (TILE, "u = t[t > 0, 0]", "a tile keeps its shape: choose with pl.sel(t > 0, t, ...)"),
        (REGION, "x[x > 0] = 0", "choose elements with pl.sel(x > 0, ..., ...)"),
        (REGION, "out[t > 0] = 0", "choose elements with pl.sel(t > 0, ..., ...)"),
        (TILE, "x[0][0] = f", "an input is not written; for an output, the element is x[0, 0]"),
    ],
)
def test_masks_and_elements_that_are_written(template: str, line: str, wanted: str) -> None:
    """A comparison of integers is a mask, too; what cannot be written is not told as a line."""
    check(template, line, wanted)


MOVED = "transpose the operand where it is moved: pl.move(..., transpose=True)"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("c = pl.matmul(lhs=al, rhs=br, b_trans=True)", MOVED),
        (f"c = pl.matmul(pl.move(am, {PLACED}Left), br, a_trans=True)", MOVED),
        ("c = pl.matmul(al, br, transpose_b=True)", MOVED),
        ("c = pl.matmul(al, br)\nc = pl.matmul_acc(c, al, br, b_trans=True)", MOVED),
        ("c = pl.matmul(al, br, b_trans=False)", "write pl.matmul(al, br)"),
        (
            "c = pl.matmul_acc(0, al, br)",
            "begin with acc = pl.matmul(al, br), and add up from the second on",
        ),
    ],
)
def test_products_keep_their_transposition(line: str, wanted: str) -> None:
    """A keyword that transposes is left out only where it is False."""
    check(MATRICES, line, wanted)


def test_sums_of_products_of_integers() -> None:
    """Products of integers are added to an integer."""
    code = REGION.replace("pl.BF16", "pl.INT8").replace("{line}", "acc = pl.matmul_acc(0, w, w)")
    error, _ = failure(code)
    assert error.hint == "begin with acc = pl.full([64, 64], pl.INT32, 0)"


def test_outputs_of_sizes_known_at_run_time() -> None:
    """A whole output is written in a line only where its size is constant."""
    parameter = "out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],\n"
    more = f"{parameter}        o2: pl.Out[pl.Tensor[[rows, 64], pl.FP32]],\n"
    code = REGION.replace(parameter, more).replace("{line}", "o2 = q")
    error, _ = failure(code)
    assert (error.slug, error.hint) == ("out-rebound", "use another name: o22 = ...")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("for i in np.arange(0, 64, step=4):\n    t = t * 2", "write for i in pl.range(n):"),
        ("for i in range(x.shape, ):\n    t = t * 2", "write pl.range(x.shape[0])"),
        ("u = pl.add(t, kvalue=1.0)", "its arguments are lhs, rhs"),
    ],
)
def test_arguments_that_other_calls_take(line: str, wanted: str) -> None:
    """What a hint leaves out would change the meaning; what it names belongs to the call."""
    check(TILE, line, wanted)
