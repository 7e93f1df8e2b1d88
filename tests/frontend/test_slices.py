"""Slices: what ``t[...]`` and ``out[...] = value`` become, and where they are invalid."""

from __future__ import annotations

import pytest

from pypto._src.dtypes import DataType
from pypto._src.errors import ParserTypeError, SSAViolationError, UnsupportedFeatureError
from pypto._src.frontend.state.known_sizes import difference
from pypto._src.ir.exprs import Add, ConstInt, Expr, Neg, Sub, Var
from pypto._src.ir.stmts import Function
from pypto._src.ir.types import scalar_type
from tests.frontend.texts import body, error, kernel, lines, program

TENSORS = "n: pl.INT64, x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
HOST = "(type=pl.FunctionType.Orchestration)"
VEC = "target_memory=pl.MemorySpace.Vec"
LOAD = lines(f"""
    t = pl.block.load(x, [0, 0], [16, 64], {VEC})
    out = pl.block.store(t, [0, 0], [16, 64], out)
    """)


def stored(index: str, options: str = "") -> str:
    """Return the line that ``t = x[index]`` becomes; a store makes the kernel complete."""
    code = f"t = x[{index}]\nout[0:64, 0:64] = x[0:64, 0:64]"
    return body(TENSORS, code, options=options).splitlines()[0]


@pytest.mark.parametrize(
    ("index", "offsets", "sizes"),
    [
        ("0:16, 0:64", "[0, 0]", "[16, 64]"),
        ("0:16", "[0, 0]", "[16, 64]"),
        (":16, :", "[0, 0]", "[16, 64]"),
        ("48:, 32:", "[48, 32]", "[16, 32]"),
        (":", "[0, 0]", "[64, 64]"),
        ("...", "[0, 0]", "[64, 64]"),
        ("..., 8:16", "[0, 8]", "[64, 8]"),
        ("8:16, ...", "[8, 0]", "[8, 64]"),
        ("-16:, :-32", "[48, 0]", "[16, 32]"),
        ("0:16:1, :", "[0, 0]", "[16, 64]"),
    ],
)
def test_bounds_become_offsets_and_sizes(index: str, offsets: str, sizes: str) -> None:
    """Omitted bounds and dimensions mean the whole; negative bounds count from the end."""
    assert stored(index) == f"t = pl.block.load(x, {offsets}, {sizes}, {VEC})"


@pytest.mark.parametrize(
    ("index", "offset", "size"),
    [
        ("n:n + 16", "n", 16),
        ("n:16 + n", "n", 16),
        ("n * 16:(n + 1) * 16", "n * 16", 16),
        ("16 * n:16 + n * 16", "16 * n", 16),
        ("n - 8:n + 8", "n - 8", 16),
        ("2 * n + 3:n + n + 7", "2 * n + 3", 4),
        ("-n:8 - n", "-n", 8),
        ("n // 2:n // 2 + 8", "n // 2", 8),
        ("n // 2 * 4:(n // 2 + 2) * 4", "n // 2 * 4", 8),
        ("pl.cast(n, pl.INT32):n + 8", "pl.cast(n, pl.INT32)", None),
    ],
)
def test_size_is_the_difference(index: str, offset: str, size: int | None) -> None:
    """A size is known if its variable terms cancel, however it is written."""
    if size is None:
        assert error(TENSORS, f"t = x[{index}]").slug == "slice-size"
    else:
        assert stored(index) == f"t = pl.block.load(x, [{offset}, 0], [{size}, 64], {VEC})"


def test_store_rebinds_the_output() -> None:
    """Assigning to a slice is a store that rebinds the tensor's name, in and outside of loops."""
    code = """
        for i in pl.range(4):
            out[i * 16 : (i + 1) * 16, :] = x[i * 16 : (i + 1) * 16, :] * 2
        return out
        """
    explicit = """
        for i in pl.range(4):
            t = pl.load(x, [i * 16, 0], [16, 64])
            out = pl.store(t * 2, [i * 16, 0], [16, 64], out)
        return out
        """
    loaded = f"pl.block.load(x, [i * 16, 0], [16, 64], {VEC})"
    expected = lines(f"""
        for i in pl.range(0, 4, 1):
            t = {loaded}
            out = pl.block.store(pl.block.muls(t, 2.0), [i * 16, 0], [16, 64], out)
        return out
        """)
    assert body(TENSORS, explicit) == expected
    inline = "\n".join(line for line in expected.splitlines() if " t = " not in line)
    assert body(TENSORS, code) == inline.replace("muls(t,", f"muls({loaded},")


def test_strict_ssa_keeps_the_name() -> None:
    """Under strict_ssa assigning to a slice is a plain store: no name gets a second value."""
    options = "(strict_ssa=True)"
    assert body(TENSORS, "t = x[0:16]\nout[0:16] = t", options=options) == LOAD.replace(
        "out = pl.block", "pl.block"
    )
    again = error(TENSORS, "t = x[0:16]\nt = x[0:16]\nout[0:16] = t", options=options)
    assert isinstance(again, SSAViolationError)


def test_slice_of_a_tile_is_a_part() -> None:
    """On a tile a slice is a view of some rows."""
    assert body(TENSORS, "t = x[:]\nout[0:16] = t[n : n + 16]") == lines(f"""
        t = pl.block.load(x, [0, 0], [64, 64], {VEC})
        out = pl.block.store(pl.block.view(t, [16, 64], [n, 0]), [0, 0], [16, 64], out)
        """)


def test_views_on_the_host() -> None:
    """Outside kernels a slice is a view, whose size may vary, and a write an assemble."""
    code = "a = x[n : n + 16]\nout[n : n + 16] = a * 2\nb = x[n:]\nc = x[n : 3 * n + 8, 0:32]"
    assert body(TENSORS, code, options=HOST) == lines("""
        a = pl.tensor.view(x, [16, 64], [n, 0])
        out = pl.tensor.assemble(out, pl.tensor.mul_scalar(a, 2.0), [n, 0])
        b = pl.tensor.view(x, [64 - n, 64], [n, 0])
        c = pl.tensor.view(x, [n * 2 + 8, 32], [n, 0])
        """)


def parts(options: str, code: str) -> str:
    """Return the printed function ``main`` of a program with a kernel beside it."""
    text = f"""
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def double(
        self, x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]
    ) -> pl.Tensor[[16, 64], pl.FP32]:
        out[...] = x[...] * 2
        return out

    @pl.function{options}
    def main(self, x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        {code}
"""
    main = program(text).get_function("main")
    assert isinstance(main, Function)
    return str(main)


@pytest.mark.parametrize(
    ("options", "code", "found"),
    [
        (HOST, "part = self.double(x[0:16], y[0:16])", "pl.tensor.view(x, [16, 64], [0, 0])"),
        ("", "part = self.double(x[0:16], y[0:16])", "pl.tensor.view(x, [16, 64], [0, 0])"),
        ("", "y[0:16] = x[0:16]", "pl.block.load(x, [0, 0], [16, 64]"),
        ("(type=pl.FunctionType.InCore)", "y[0:16] = x[0:16]", "pl.block.load(x, [0, 0]"),
        (
            "",
            "t = pl.load(x, [0, 0], [64, 64])\n        y[0:16] = x[0:16]\n"
            "        part = self.double(pl.view(x, [16, 64], [0, 0]), "
            "pl.view(y, [16, 64], [0, 0]))",
            "pl.block.load(x, [0, 0], [16, 64]",
        ),
    ],
)
def test_where_a_function_runs_decides(options: str, code: str, found: str) -> None:
    """Opaque functions compute with tiles, unless all they do is call others."""
    assert found in parts(options, code)


def test_scopes_compute_with_tensors() -> None:
    """A function with an InCore scope works on tensors; its slices are views."""
    code = "with pl.incore():\n    y = x[0:16] * 2\nout[0:16] = y"
    text = str(kernel(TENSORS, code))
    assert "pl.tensor.view(x, [16, 64], [0, 0])" in text
    assert "pl.tensor.assemble(out, y, [0, 0])" in text


def test_inline_functions_slice_like_their_caller() -> None:
    """A slice in an inline function has the meaning it has in the calling function."""
    before = """
        @pl.inline
        def double(t, out):
            out[0:16] = t[0:16] * 2
        """
    text = body(TENSORS, "double(x, out)\nreturn out", before=before)
    assert text == lines(f"""
        out = pl.block.store(pl.block.muls(pl.block.load(x, [0, 0], [16, 64], {VEC}), 2.0), [0, 0], [16, 64], out)
        return out
        """)  # noqa: E501
    assert "pl.tensor.view(x" in body(TENSORS, "double(x, out)", before=before, options=HOST)


# --------------------------------------------------------------------------------------------
# Sizes from shapes and constants
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "t = x[0:ROWS]\nout[:ROWS] = t",
        "rows = 16\nt = x[0:rows]\nout[:rows] = t",
        "rows = 48\nt = x[:-rows]\nout[-64:-rows] = t",
        "rows = 16\nt = pl.load(x, [0, 0], [rows, 64])\nout = pl.store(t, [0, 0], [16, 64], out)",
        "t = pl.load(x, [0, 0], [16, 64])\nr = 16\nout = pl.store(t, [0, 0], [r, 64], out)",
        "h, w = x.shape\nt = pl.load(x, [0, 0], [h // 4, w])\nout[: h // 4] = t",
        "h = x.shape[0] // 4\nt = x[: min(h, 32)]\nout[:h] = t",
        "h: pl.INT64 = 8\nk = h * 2\nt: pl.Tile[[k, 64], pl.FP32] = x[0:k]\nout[:k] = t",
        "k = pl.const(16, pl.INT32)\nt = x[0:k]\nout[:k] = t",
        "shape = [x.shape[0] // 4, 64]\nt = pl.load(x, [0, 0], shape)\nout[:16] = t",
    ],
)
def test_constants_are_sizes(code: str) -> None:
    """A value that is the same constant wherever it is read can be the size of a tile."""
    text = body(TENSORS, code, before="ROWS = 16")
    assert [line for line in text.splitlines() if "block" in line] == LOAD.splitlines()


@pytest.mark.parametrize(
    "code",
    [
        "k = 16\nk = k + n\nt = x[0:k]",
        "k = 16\nfor i in pl.range(2):\n    k = 32\nt = x[0:k]",
        "n = 16\nt = x[0:n]",
        "if n > 3:\n    k = 16\nelse:\n    k = 32\nt = x[0:k]",
        "k = 16\nk += 8\nt = x[0:k]",
        "for i, (k,) in pl.range(2, init_values=(16,)):\n    k = pl.yield_(k + 8)\nt = x[0:k]",
    ],
)
def test_variables_are_no_sizes(code: str) -> None:
    """A variable assigned twice, or a parameter, is known only at run time."""
    assert error(TENSORS, code).slug == "slice-size"


def test_constants_that_wrap_are_no_sizes() -> None:
    """Arithmetic that overflows its type is not folded while parsing."""
    code = "k = pl.const(100, pl.INT8)\nm = k * 2\nt = x[0:m]"
    assert error(TENSORS, code).slug == "slice-size"


def test_shape_and_dtype() -> None:
    """Shapes are lists of numbers and variables; element types are those of the language."""
    params = (
        "x: pl.Tensor[[M, 64], pl.FP16], m: pl.INT64, y: pl.Tensor[[m, -1], pl.FP32], "
        "out: pl.Out[pl.Tensor[[8, 64], pl.FP16]]"
    )
    code = """
        t = pl.full([8, x.shape[1]], x.dtype, 1.0)
        a = x.shape[0] + y.shape[0]
        b = y.shape[1]
        c = len(t.shape) + t.shape[-1]
        for i in pl.range(x.shape[0]):
            out[:] = t
        """
    assert body(params, code, before='M = pl.dynamic("M")') == lines("""
        t = pl.block.full([8, 64], dtype=pl.FP16, value=1.0)
        a = M + m
        b = pl.tensor.dim(y, 1)
        c = 66
        for i in pl.range(0, M, 1):
            out = pl.block.store(t, [0, 0], [8, 64], out)
        """)


# --------------------------------------------------------------------------------------------
# Errors
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "slug"),
    [
        ("t = x[0:16, [0]]", "subscript"),
        ("t = x[0:16, ..., ...]", "subscript"),
        ('t = x["a":, :]', "subscript"),
        ("t = x[True:, :]", "subscript"),
        ("t = x[0:16, None]", "subscript"),
        ("out[0, :] = x[0:1]", "subscript"),
        ("out[:] = x", "shape-mismatch"),
        ("out[0:16] = [1, 2]", "target"),
        ("out[0:16] = n", "target"),
        ("n[0:16] = x[0:16]", "target"),
        ("[x, out][1][0:16] = x[0:16]", "target"),
        ("out[0:16]: pl.Tile[[16, 64], pl.FP32] = x[0:16]", "target"),
    ],
)
def test_refused(code: str, slug: str) -> None:
    """Wrong indices, targets and values each have an error of their own kind."""
    params = TENSORS.replace("out: pl.Out[pl.Tensor[[64", "out: pl.Out[pl.Tensor[[32")
    found = error(params, code, options=HOST if code == "out[:] = x" else "")
    assert isinstance(found, ParserTypeError | UnsupportedFeatureError)
    assert found.slug == slug


def test_hints_can_be_typed() -> None:
    """The hint for a rejected slice is a slice that would work."""
    hints = {
        "t = x[n]": "write x[n:n + 1]",
        "t = x[3, 0:8]": "write x[3:4, 0:8]",
        "t = x[n:, :]": "write x[n:n + 16, :]",
        "t = x[:, 0:n]": "write x[:, 0:16]",
        "t = x[:n]": "write x[:16]",
        "out[n:] = x[0:8]": "write out[n:n + 8]",
        "out[:8, :] = x[0:4, 0:16]": "write out[:4, :16]",
    }
    assert {code: error(TENSORS, code).hint for code in hints} == hints


def test_many_terms_do_not_nest() -> None:
    """The difference of sums of ten thousand terms is found without recursion."""
    n, m = (Var(name, scalar_type(DataType.INDEX)) for name in "nm")
    total: Expr = n
    for _ in range(10_000):
        total = Add(total, n, DataType.INDEX)
    assert difference(Add(total, ConstInt(16), DataType.INDEX), total, {}) == 16
    both = Sub(total, Neg(m, DataType.INDEX), DataType.INDEX)
    assert difference(both, total, {}) is m
    assert difference(both, total, {m: 7}) == 7
