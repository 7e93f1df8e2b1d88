"""The results of the instructions, compared with NumPy."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pypto._src.run.toolchain import Toolchain
from tests.headers.harness import DTYPES, FLOATS, Array, Library, acc, tensor, tile

KERNELS: dict[str, str] = {}


@pytest.fixture(scope="module")
def library(toolchain: Toolchain) -> Library:
    return Library(KERNELS, toolchain)


def draw(dtype: str, shape: tuple[int, ...], seed: int = 0, positive: bool = False) -> Array:
    random = np.random.default_rng(seed)
    if dtype in FLOATS:
        values = random.uniform(0.1 if positive else -4, 4, shape)
    else:
        low = 1 if positive or dtype.startswith("u") else -100
        values = random.integers(low, 101, shape)
    return values.astype(DTYPES[dtype])


def close(actual: Array, expected: Array, tolerance: float = 0.0) -> None:
    np.testing.assert_allclose(
        actual.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance
    )


# ------------------------------------------------------------------------------------ elementwise
ROWS, COLS, VALID = 16, 64, (13, 50)


def vector_kernel(dtype: str, operands: int, statement: str, out: str | None = None) -> str:
    """Load operands a, b into partly valid tiles, run the statement, store d as the last."""
    out = out or dtype
    text = ""
    for i in range(operands):
        text += tensor(f"g{i}", i, dtype, VALID)
        text += tile("ab"[i], dtype, (ROWS, COLS), 0x4000 * i, valid=VALID)
        text += f"TLOAD({'ab'[i]}, g{i});\n"
    text += tensor("gd", operands, out, VALID) + tile("d", out, (ROWS, COLS), 0x8000, valid=VALID)
    text += tile("t", out, (ROWS, COLS), 0xC000)
    return f"{text}{statement}\n(void)t;\nTSTORE(gd, d);"


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "TADD": operator.add,
    "TSUB": operator.sub,
    "TMUL": operator.mul,
    "TMAX": np.maximum,
    "TMIN": np.minimum,
}
BINARY_DTYPES = ("float", "half", "bfloat16_t", "int32_t", "int16_t", "uint8_t", "int64_t")
for _op in BINARY:
    for _dtype in BINARY_DTYPES:
        KERNELS[f"{_op}_{_dtype}"] = vector_kernel(_dtype, 2, f"{_op}(d, a, b);")


@pytest.mark.parametrize("dtype", BINARY_DTYPES)
@pytest.mark.parametrize("op", BINARY)
def test_binary(library: Library, op: str, dtype: str) -> None:
    """Tile with tile equals NumPy bit for bit, wrapping integers included."""
    a, b = draw(dtype, VALID, 1), draw(dtype, VALID, 2)
    out = np.zeros(VALID, DTYPES[dtype])
    library.run(f"{op}_{dtype}", a, b, out)
    np.testing.assert_array_equal(out, BINARY[op](a, b))


INTEGER = {
    "TAND": np.bitwise_and,
    "TOR": np.bitwise_or,
    "TXOR": np.bitwise_xor,
    "TDIV": None,
    "TSHL": None,
    "TSHR": None,
}
for _op in INTEGER:
    for _dtype in ("int16_t", "int32_t", "uint8_t"):
        _scratch = ", t" if _op == "TXOR" else ""
        KERNELS[f"{_op}_{_dtype}"] = vector_kernel(_dtype, 2, f"{_op}(d, a, b{_scratch});")


@pytest.mark.parametrize("dtype", ["int16_t", "int32_t", "uint8_t"])
@pytest.mark.parametrize("op", ["TAND", "TOR", "TXOR"])
def test_bitwise(library: Library, op: str, dtype: str) -> None:
    """Bitwise instructions equal NumPy's."""
    a, b = draw(dtype, VALID, 1), draw(dtype, VALID, 2)
    out = np.zeros(VALID, DTYPES[dtype])
    library.run(f"{op}_{dtype}", a, b, out)
    function = INTEGER[op]
    assert function is not None
    np.testing.assert_array_equal(out, function(a, b))


@pytest.mark.parametrize("dtype", ["int16_t", "int32_t", "uint8_t"])
def test_integer_division(library: Library, dtype: str) -> None:
    """Division truncates toward zero; x / 0 is 0 and minimum / -1 wraps."""
    a, b = draw(dtype, VALID, 1), draw(dtype, VALID, 2)
    info = np.iinfo(DTYPES[dtype])
    a[0, :4] = [info.min, 7, 0, info.max]
    b[0, :4] = [info.max if info.min == 0 else -1, 0, 0, 2]
    out = np.zeros(VALID, DTYPES[dtype])
    library.run(f"TDIV_{dtype}", a, b, out)
    wide_a, wide_b = a.astype(np.int64), b.astype(np.int64)
    safe = np.where(wide_b == 0, 1, wide_b)
    expected = np.where(wide_b == 0, 0, np.trunc(wide_a / safe)).astype(np.int64)
    np.testing.assert_array_equal(out, expected.astype(DTYPES[dtype]))


@pytest.mark.parametrize("dtype", ["int16_t", "int32_t", "uint8_t"])
def test_shifts(library: Library, dtype: str) -> None:
    """Shifts by at least the width, or by a negative count, leave zero or the sign."""
    bits = DTYPES[dtype].itemsize * 8
    a = draw(dtype, VALID, 1)
    b = np.resize(np.array([0, 1, 3, bits - 1, bits, bits + 5]), VALID).astype(DTYPES[dtype])
    if dtype != "uint8_t":
        b[1, 0] = -1
    left, right = np.zeros(VALID, DTYPES[dtype]), np.zeros(VALID, DTYPES[dtype])
    library.run(f"TSHL_{dtype}", a, b, left)
    library.run(f"TSHR_{dtype}", a, b, right)
    inside = (b >= 0) & (b < bits)
    count = np.where(inside, b, 0)
    np.testing.assert_array_equal(left, np.where(inside, a << count, 0))
    np.testing.assert_array_equal(right, np.where(inside, a >> count, np.where(a < 0, -1, 0)))


SCALAR: dict[str, Callable[[Any, Any], Any]] = {
    "TADDS(d, a, 3)": operator.add,
    "TSUBS(d, a, 3)": operator.sub,
    "TMULS(d, a, 3)": operator.mul,
    "TMAXS(d, a, 3)": np.maximum,
    "TMINS(d, a, 3)": np.minimum,
    "TDIVS(d, a, 3)": lambda a, x: np.trunc(a / x) if a.dtype.kind == "i" else a / x,
    "TDIVS(d, 3, a)": lambda a, x: np.trunc(x / a) if a.dtype.kind == "i" else x / a,
}
SCALAR_DTYPES = ("float", "half", "bfloat16_t", "int32_t", "int16_t")
for _i, _text in enumerate(SCALAR):
    for _dtype in SCALAR_DTYPES:
        KERNELS[f"scalar{_i}_{_dtype}"] = vector_kernel(_dtype, 1, f"{_text};")


@pytest.mark.parametrize("dtype", SCALAR_DTYPES)
@pytest.mark.parametrize("index", range(len(SCALAR)))
def test_scalar(library: Library, index: int, dtype: str) -> None:
    """Tile with scalar equals NumPy with a scalar of the element type."""
    a = draw(dtype, VALID, 3, positive=True)
    out = np.zeros(VALID, DTYPES[dtype])
    library.run(f"scalar{index}_{dtype}", a, out)
    expected = list(SCALAR.values())[index](a, DTYPES[dtype].type(3))
    np.testing.assert_array_equal(out, np.asarray(expected).astype(DTYPES[dtype]))


# Tiles of one and the same type, as TXORS and TREMS require, which are wholly valid.
INTEGER_SCALAR: dict[str, Callable[[Any], Any]] = {
    "TANDS(d, a, 90)": lambda a: a & 90,
    "TORS(d, a, 90)": lambda a: a | 90,
    "TXORS(d, a, 90, t)": lambda a: a ^ 90,
    "TSHLS(d, a, 3)": lambda a: a << 3,
    "TSHLS(d, a, 64)": np.zeros_like,
    "TSHRS(d, a, 3)": lambda a: a >> 3,
    "TSHRS(d, a, 64)": lambda a: np.where(a < 0, -1, 0),
    "TREMS(d, a, 7, t)": lambda a: np.mod(a, 7),
    "TREMS(d, a, 0, t)": np.zeros_like,
}
for _i, _text in enumerate(INTEGER_SCALAR):
    for _dtype in ("int16_t", "int32_t", "uint8_t"):
        KERNELS[f"integer{_i}_{_dtype}"] = (
            tensor("ga", 0, _dtype, (ROWS, COLS))
            + tensor("gd", 1, _dtype, (ROWS, COLS))
            + "".join(tile(n, _dtype, (ROWS, COLS), 0x4000 * k) for k, n in enumerate("adt"))
            + f"TLOAD(a, ga);\n{_text};\nTSTORE(gd, d);"
        )


@pytest.mark.parametrize("dtype", ["int16_t", "int32_t", "uint8_t"])
@pytest.mark.parametrize("index", range(len(INTEGER_SCALAR)))
def test_integer_scalar(library: Library, index: int, dtype: str) -> None:
    """Logic, shifts and remainders with a scalar equal NumPy's; x mod 0 is 0."""
    a = draw(dtype, (ROWS, COLS), 5)
    out = np.ones((ROWS, COLS), DTYPES[dtype])
    library.run(f"integer{index}_{dtype}", a, out)
    expected = list(INTEGER_SCALAR.values())[index](a)
    np.testing.assert_array_equal(out, expected.astype(DTYPES[dtype]))


UNARY: dict[str, tuple[Callable[[Any], Any], float]] = {
    "TABS": (np.abs, 0),
    "TNEG": (operator.neg, 0),
    "TRELU": (lambda a: np.maximum(a, 0), 0),
    "TSQRT": (lambda a: np.sqrt(np.abs(a)), 0),
    "TRSQRT": (lambda a: 1 / np.sqrt(np.abs(a)), 1),
    "TRECIP": (lambda a: 1 / a, 0),
    "TEXP": (np.exp, 1),
    "TLOG": (lambda a: np.log(np.abs(a)), 1),
}
for _op in UNARY:
    for _dtype in FLOATS:
        _first = "" if _op in ("TABS", "TNEG", "TRELU", "TRECIP", "TEXP") else "TABS(a, a);"
        KERNELS[f"{_op}_{_dtype}"] = vector_kernel(_dtype, 1, f"{_first}{_op}(d, a);")
KERNELS["TNOT_int16_t"] = vector_kernel("int16_t", 1, "TNOT(d, a);")
KERNELS["fill_half"] = vector_kernel("half", 1, "TEXPANDS(d, 1.5f);")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", UNARY)
def test_unary(library: Library, op: str, dtype: str) -> None:
    """Unary instructions are correctly rounded, the transcendental ones within one ulp."""
    a = draw(dtype, VALID, 4)
    out = np.zeros(VALID, DTYPES[dtype])
    library.run(f"{op}_{dtype}", a, out)
    function, units = UNARY[op]
    expected = np.asarray(function(a.astype(np.float64))).astype(DTYPES[dtype])
    epsilon = {"float": 2.0**-23, "half": 2.0**-10, "bfloat16_t": 2.0**-7}[dtype]
    close(out, expected, units * epsilon)


def test_not_and_fill(library: Library) -> None:
    """TNOT inverts all bits; TEXPANDS converts its scalar to the element type."""
    a = draw("int16_t", VALID, 5)
    out = np.zeros(VALID, np.int16)
    library.run("TNOT_int16_t", a, out)
    np.testing.assert_array_equal(out, ~a)
    filled = np.zeros(VALID, np.float16)
    library.run("fill_half", filled.copy(), filled)
    assert (filled == 1.5).all()


SPECIAL = [0, -0.0, np.inf, -np.inf, np.nan, -1, 1e-45, 1e-40, 88.7, 88.73, -87.5, -103.9, -104.1]


def test_exp_log_special_values(library: Library) -> None:
    """exp and log handle infinities, NaN, overflow and subnormals like the real functions."""
    a = np.resize(np.array(SPECIAL, np.float32), VALID)
    out = np.zeros(VALID, np.float32)
    with np.errstate(all="ignore"):
        library.run("TEXP_float", a, out)
        expected = np.exp(a.astype(np.float64)).astype(np.float32)
        np.testing.assert_allclose(out, expected, rtol=1.2e-7, atol=1.5e-45)
        library.run("log_raw", a, out)
        expected = np.log(a.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(out, expected, rtol=1.2e-7)


KERNELS["log_raw"] = vector_kernel("float", 1, "TLOG(d, a);")


@pytest.mark.parametrize("op", ["TMAX", "TMIN"])
def test_nan_wins_in_max_and_min(library: Library, op: str) -> None:
    """max and min return NaN if either operand is NaN, in either order."""
    a, b = draw("float", VALID, 1), draw("float", VALID, 2)
    a[0, ::2] = np.nan
    b[1, ::3] = np.nan
    out = np.zeros(VALID, np.float32)
    library.run(f"{op}_float", a, b, out)
    np.testing.assert_array_equal(out, BINARY[op](a, b))


KERNELS["inplace"] = vector_kernel(
    "half", 2, "TADD(a, a, b); TMUL(b, a, b); TEXP(a, a); TADDS(b, b, 1); TSUB(d, a, b);"
)


def test_in_place(library: Library) -> None:
    """An elementwise destination may be one of its sources."""
    a, b = draw("half", VALID, 1), draw("half", VALID, 2)
    out = np.zeros(VALID, np.float16)
    library.run("inplace", a, b, out)
    total = a + b
    exp = np.exp(total.astype(np.float64)).astype(np.float16)
    close(out, exp - (total * b + np.float16(1)), 2.0**-10)


OWN = {
    "cast_up": ("float", "int32_t", "TCVT(d, a, RoundMode::CAST_TRUNC);"),
    "cast_down": ("int32_t", "float", "TCVT(d, a, RoundMode::CAST_NONE);"),
    "cast_half": ("half", "int16_t", "TCVT(d, a, RoundMode::CAST_TRUNC);"),
    "fill": ("float", "float", "TEXPANDS(d, 3);"),
    "chosen": ("float", "float", "TCMP(m, a, b, CmpMode::GT); TSEL(d, m, a, b, t);"),
    "other": ("float", "float", "TCMP(m, a, b, CmpMode::GT); TSEL(d, m, b, a, t);"),
}
for _name, (_dtype, _out, _text) in OWN.items():
    _mask = tile("m", "uint8_t", (ROWS, 32), 0x10000)
    KERNELS[f"own_{_name}"] = vector_kernel(_dtype, 2, _mask + "TASSIGN(d, 0);" + _text, _out)


@pytest.mark.parametrize("name", OWN)
def test_results_on_their_operands(library: Library, name: str) -> None:
    """What `OpDef.in_place` allows besides plain arithmetic: the result at its source's address."""
    dtype, target, _ = OWN[name]
    a, b = draw(dtype, VALID, 1), draw(dtype, VALID, 2)
    out = np.zeros(VALID, DTYPES[target])
    library.run(f"own_{name}", a, b, out)
    expected = {"fill": np.full(VALID, 3), "chosen": np.maximum(a, b), "other": np.minimum(a, b)}
    np.testing.assert_array_equal(out, expected.get(name, a).astype(DTYPES[target]))


KERNELS["outside"] = (
    tensor("g", 0, "float", VALID)
    + tensor("out", 1, "float", (ROWS, COLS))
    + tile("d", "float", (ROWS, COLS), 0)
    + "TEXPANDS(d, 7);\n"
    + tile("a", "float", (ROWS, COLS), 0, valid=VALID)
    + "TLOAD(a, g); TADDS(a, a, 1); TEXP(a, a);\nTSTORE(out, d);"
)


KERNELS["prefetch"] = (
    tensor("g", 0, "float", VALID)
    + tensor("out", 1, "float", VALID)
    + tile("a", "float", (ROWS, COLS), 0, valid=VALID)
    + tile("buffer", "float", (ROWS, COLS), 0x8000, valid=VALID)
    + "Event<Op::TPREFETCH, Op::TLOAD> near = TPREFETCH(buffer, g);\n"
    + "TLOAD(a, g, near);\nTPREFETCH(buffer, g);\nTSTORE(out, a);"
)


def test_prefetch(library: Library) -> None:
    """A prefetch takes a tile as buffer, returns an event and changes no other tile."""
    a = draw("float", VALID, 1)
    out = np.zeros(VALID, np.float32)
    library.run("prefetch", a, out)
    np.testing.assert_array_equal(out, a)


def test_outside_the_valid_region(library: Library) -> None:
    """Loads and arithmetic do not change the rest of the physical tile."""
    a = draw("float", VALID, 1)
    out = np.zeros((ROWS, COLS), np.float32)
    library.run("outside", a, out)
    inside = np.zeros((ROWS, COLS), bool)
    inside[: VALID[0], : VALID[1]] = True
    assert (out[~inside] == 7).all()
    close(out[: VALID[0], : VALID[1]], np.exp(a.astype(np.float64) + 1), 1e-6)


# -------------------------------------------------------------------------- reductions, broadcasts
ROW_REDUCE = {"TROWSUM": np.sum, "TROWMAX": np.max, "TROWMIN": np.min}
COL_REDUCE = {"TCOLSUM": np.sum, "TCOLMAX": np.max, "TCOLMIN": np.min}
REDUCE_DTYPES = ("float", "half", "bfloat16_t", "int32_t", "int16_t")
WIDTHS = (5, 64, 200, 1100)


def widths_of(dtype: str) -> tuple[int, ...]:
    return {"float": WIDTHS, "half": WIDTHS[::3]}.get(dtype, WIDTHS[2:3])


def reduce_kernels() -> None:
    for dtype in REDUCE_DTYPES:
        for width in widths_of(dtype):
            physical = -(-width // 64) * 64
            source = tensor("g", 0, dtype, (9, width))
            source += tile("a", dtype, (16, physical), 0, valid=(9, width)) + "TLOAD(a, g);\n"
            scratch = tile("t", dtype, (16, physical), 0x10000)
            for op in ROW_REDUCE:
                KERNELS[f"{op}_{dtype}_{width}"] = (
                    source
                    + scratch
                    + tensor("gd", 1, dtype, (9, 1), (1, 9), "DN")
                    + tile("d", dtype, (16, 1), 0x20000, valid=(9, 1), layout="dn")
                    + f"{op}(d, a, t);\nTSTORE(gd, d);"
                )
            for op in COL_REDUCE:
                KERNELS[f"{op}_{dtype}_{width}"] = (
                    source
                    + tensor("gd", 1, dtype, (1, width))
                    + tile("d", dtype, (1, physical), 0x20000, valid=(1, width))
                    + f"{op}(d, a);\nTSTORE(gd, d);"
                )


reduce_kernels()


@pytest.mark.parametrize("dtype", REDUCE_DTYPES)
@pytest.mark.parametrize("op", [*ROW_REDUCE, *COL_REDUCE])
def test_reductions(library: Library, op: str, dtype: str) -> None:
    """Row and column reductions, with 16-bit sums rounded once, for short and long lines."""
    axis = 1 if op in ROW_REDUCE else 0
    function = {**ROW_REDUCE, **COL_REDUCE}[op]
    for width in widths_of(dtype):
        a = draw(dtype, (9, width), width)
        out = np.zeros((9, 1) if axis else (1, width), DTYPES[dtype])
        library.run(f"{op}_{dtype}_{width}", a, out)
        wide = a.astype(np.float64 if dtype in FLOATS else np.int64)
        expected = np.asarray(function(wide, axis=axis, keepdims=True)).astype(DTYPES[dtype])
        units = 2.0**-20 if dtype == "float" else 2.0**-7 if dtype == "bfloat16_t" else 2.0**-10
        tolerance = units * 4 if dtype in FLOATS and "SUM" in op else 0.0
        if tolerance and dtype == "float":
            # At least four partial sums: if terms cancel, their magnitudes bound the error.
            length = a.shape[axis]
            tolerance = max(tolerance, 2.0**-24 * (length / 4 + 4) * np.abs(wide).sum(axis).max())
        close(out, expected, tolerance)


@pytest.mark.parametrize("op", ["TROWMAX", "TROWMIN", "TCOLMAX", "TCOLMIN"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nan_in_reductions(library: Library, op: str, width: int) -> None:
    """A NaN anywhere in the line is the result of max and min."""
    for at in {0, width // 2, width - 1, *range(5, width, 17)}:
        a = draw("float", (9, width), 1)
        a[4, at] = np.nan
        axis = 1 if "ROW" in op else 0
        out = np.zeros((9, 1) if axis else (1, width), np.float32)
        library.run(f"{op}_float_{width}", a, out)
        function = np.max if "MAX" in op else np.min
        np.testing.assert_array_equal(out, function(a, axis=axis, keepdims=True))


for _dtype in ("float", "int16_t", "int32_t"):
    KERNELS[f"TCOLPROD_{_dtype}"] = (
        tensor("g", 0, _dtype, (9, 50))
        + tensor("gd", 1, _dtype, (1, 50))
        + tile("a", _dtype, (16, 64), 0, valid=(9, 50))
        + tile("d", _dtype, (1, 64), 0x8000, valid=(1, 50))
        + "TLOAD(a, g);\nTCOLPROD(d, a);\nTSTORE(gd, d);"
    )


@pytest.mark.parametrize("dtype", ["float", "int16_t", "int32_t"])
def test_column_products(library: Library, dtype: str) -> None:
    """TCOLPROD multiplies the rows; integers wrap."""
    a = np.random.default_rng(5).integers(-7, 8, (9, 50)).astype(DTYPES[dtype])
    out = np.zeros((1, 50), DTYPES[dtype])
    library.run(f"TCOLPROD_{dtype}", a, out)
    expected = a.astype(np.int64).prod(axis=0, keepdims=True).astype(DTYPES[dtype])
    np.testing.assert_array_equal(out, expected)


EXPAND: dict[str, Callable[[Any, Any], Any]] = {
    "ADD": operator.add,
    "SUB": operator.sub,
    "MUL": operator.mul,
    "DIV": np.divide,
    "MAX": np.maximum,
    "MIN": np.minimum,
}
EXPAND_DTYPES = ("float", "half", "bfloat16_t")


def expand_kernels() -> None:
    for dtype in EXPAND_DTYPES:
        start = tensor("g0", 0, dtype, VALID) + tile("a", dtype, (ROWS, COLS), 0, valid=VALID)
        end = tensor("gd", 2, dtype, VALID) + tile("d", dtype, (ROWS, COLS), 0x8000, valid=VALID)
        start += "TLOAD(a, g0);\n"
        column = tensor("g1", 1, dtype, (VALID[0], 1), (1, VALID[0]), "DN")
        column += tile("b", dtype, (ROWS, 1), 0x4000, valid=(VALID[0], 1), layout="dn")
        column += "TLOAD(b, g1);\n"
        row = tensor("g1", 1, dtype, (1, VALID[1]))
        row += tile("b", dtype, (1, COLS), 0x4000, valid=(1, VALID[1])) + "TLOAD(b, g1);\n"
        lanes = 32 // DTYPES[dtype].itemsize
        block = tensor("g1", 1, dtype, (VALID[0], lanes))
        block += tile("b", dtype, (ROWS, lanes), 0x4000) + f"b.SetValidShape({VALID[0]}, {lanes});"
        block += "TLOAD(b, g1);\n"
        for op in EXPAND:
            rows, columns = f"TROWEXPAND{op}", f"TCOLEXPAND{op}"
            stored = "\nTSTORE(gd, d);"
            KERNELS[f"{rows}_{dtype}"] = start + end + column + f"{rows}(d, a, b);" + stored
            KERNELS[f"{columns}_{dtype}"] = start + end + row + f"{columns}(d, a, b);" + stored
            own = "TASSIGN(d, 0);"  # the address of a
            KERNELS[f"own_{rows}_{dtype}"] = (
                start + end + column + f"{own}{rows}(d, a, b);" + stored
            )
            KERNELS[f"own_{columns}_{dtype}"] = (
                start + end + row + f"{own}{columns}(d, a, b);" + stored
            )
        stored = "\nTSTORE(gd, d);"
        KERNELS[f"reversed_{dtype}"] = start + end + column + "TROWEXPANDSUB(d, b, a);" + stored
        KERNELS[f"block_{dtype}"] = start + end + block + "TROWEXPANDSUB(d, a, b);" + stored
        KERNELS[f"own_{dtype}"] = start + end + row + "TASSIGN(d, 0); TCOLEXPAND(d, b);" + stored
        KERNELS[f"rows_{dtype}"] = start + end + column + "TROWEXPAND(d, b);" + stored
        KERNELS[f"columns_{dtype}"] = start + end + row + "TCOLEXPAND(d, b);" + stored


expand_kernels()


@pytest.mark.parametrize("dtype", EXPAND_DTYPES)
@pytest.mark.parametrize("op", EXPAND)
def test_expand(library: Library, op: str, dtype: str) -> None:
    """A column over rows and a row over columns, as NumPy broadcasts; d may be the full source."""
    a = draw(dtype, VALID, 1)
    for name, shape in (("ROW", (VALID[0], 1)), ("COL", (1, VALID[1]))):
        b = draw(dtype, shape, 2, positive=True)
        for where in ("", "own_"):
            out = np.zeros(VALID, DTYPES[dtype])
            library.run(f"{where}T{name}EXPAND{op}_{dtype}", a, b, out)
            np.testing.assert_array_equal(out, EXPAND[op](a, b))


@pytest.mark.parametrize("dtype", EXPAND_DTYPES)
def test_expand_forms(library: Library, dtype: str) -> None:
    """Operand order is kept, a 32-byte block repeats along the row."""
    a, column = draw(dtype, VALID, 1), draw(dtype, (VALID[0], 1), 2, positive=True)
    out = np.zeros(VALID, DTYPES[dtype])
    library.run(f"reversed_{dtype}", a, column, out)
    np.testing.assert_array_equal(out, column - a)
    lanes = 32 // DTYPES[dtype].itemsize
    block = draw(dtype, (VALID[0], lanes), 3)
    library.run(f"block_{dtype}", a, block, out)
    np.testing.assert_array_equal(out, a - block[:, np.arange(VALID[1]) % lanes])
    library.run(f"rows_{dtype}", a, column, out)
    np.testing.assert_array_equal(out, np.broadcast_to(column, VALID))
    row = draw(dtype, (1, VALID[1]), 4)
    for kernel in ("columns", "own"):
        library.run(f"{kernel}_{dtype}", a, row, out)
        np.testing.assert_array_equal(out, np.broadcast_to(row, VALID))


# ------------------------------------------------------------------------------------- conversions
def odd(value: float) -> int:
    whole = math.trunc(value)
    return whole if whole == value or whole % 2 else whole + (1 if value > 0 else -1)


MODES: dict[str, Callable[[float], int]] = {
    "RINT": round,
    "ROUND": lambda value: int(math.copysign(math.floor(abs(value) + 0.5), value)),
    "FLOOR": math.floor,
    "CEIL": math.ceil,
    "TRUNC": math.trunc,
    "NONE": math.trunc,
    "ODD": odd,
}
for _mode in MODES:
    for _saturation in ("ON", "OFF"):
        KERNELS[f"cvt_{_mode}_{_saturation}"] = vector_kernel(
            "float",
            1,
            f"TCVT(d, a, RoundMode::CAST_{_mode}, SaturationMode::{_saturation});",
            out="int16_t",
        )
PAIRS = [
    ("float", "half"),
    ("float", "bfloat16_t"),
    ("float", "int32_t"),
    ("float", "int64_t"),
    ("float", "bool"),
    ("half", "float"),
    ("half", "uint8_t"),
    ("bfloat16_t", "float"),
    ("int16_t", "half"),
    ("int32_t", "float"),
    ("int64_t", "int32_t"),
]
for _from, _to in PAIRS:
    for _saturation in ("ON", "OFF"):
        KERNELS[f"pair_{_saturation}_{_from}_{_to}"] = vector_kernel(
            _from, 1, f"TCVT(d, a, RoundMode::CAST_RINT, SaturationMode::{_saturation});", out=_to
        )
FINITE_MAX = {"half": 65504.0, "bfloat16_t": 3.3895313892515355e38}


def to_integer(value: float | int, target: str, mode: str, saturate: bool) -> int:
    """Return the documented result of a conversion to an integer type."""
    info = np.iinfo(DTYPES[target])
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return (int(info.max) if value > 0 else int(info.min)) if saturate else 0
    whole = MODES[mode](value)
    if saturate:
        return min(max(whole, int(info.min)), int(info.max))
    if not -(2**63) <= whole < 2**63:
        return 0
    return (whole - int(info.min)) % 2**info.bits + int(info.min)


def to_float(value: float, target: str, saturate: bool) -> float:
    """Return the value to be rounded to a float type."""
    top = FINITE_MAX.get(target)
    return value if top is None or not saturate or value != value else max(min(value, top), -top)


TIES = [0.5, 1.5, 2.5, -0.5, -1.5, -2.7, 0.3]
LARGE = [2049, 1e5, -1e5, 3e9, -3e9, 5e18, 1e30, 3.4e38, math.inf, -math.inf, math.nan]
EXTREMES = [*TIES, *LARGE]


@pytest.mark.parametrize("saturation", ["ON", "OFF"])
@pytest.mark.parametrize("mode", MODES)
def test_rounding_modes(library: Library, mode: str, saturation: str) -> None:
    """Every mode on ties and extremes; saturation clamps, otherwise the value wraps."""
    a = np.resize(np.array(EXTREMES, np.float32), VALID)
    out = np.zeros(VALID, np.int16)
    library.run(f"cvt_{mode}_{saturation}", a, out)
    expected = [to_integer(v, "int16_t", mode, saturation == "ON") for v in a.ravel().tolist()]
    assert out.ravel().tolist() == expected


@pytest.mark.parametrize("saturation", ["ON", "OFF"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_conversion_pairs(library: Library, source: str, target: str, saturation: str) -> None:
    """Conversions round to nearest even and saturate on request."""
    a = draw(source, VALID, 7)
    if source == "float":
        a[0, : len(EXTREMES)] = EXTREMES
    if source == "int64_t":
        a[0, :4] = [2**40, -(2**40), 2**31, -(2**31) - 1]
    out = np.zeros(VALID, DTYPES[target])
    library.run(f"pair_{saturation}_{source}_{target}", a, out)
    values: list[Any] = a.ravel().tolist()
    on = saturation == "ON"
    with np.errstate(over="ignore"):
        if target == "bool":
            expected = a != 0
        elif target in FLOATS:
            floats = np.array([to_float(value, target, on) for value in values])
            expected = floats.astype(np.float32).astype(DTYPES[target])
        else:
            integers = [to_integer(value, target, "RINT", on) for value in values]
            expected = np.array(integers, DTYPES[target])
    close(out, expected.reshape(VALID))


KERNELS["widen_in_place"] = (
    tensor("g", 0, "half", (16, 1024))
    + tensor("gd", 1, "float", (16, 1024))
    + tile("a", "half", (16, 1024), 0)
    + tile("d", "float", (16, 1024), 0)
    + "TLOAD(a, g); TCVT(d, a, RoundMode::CAST_NONE); TSTORE(gd, d);"
)


def test_widening_in_place(library: Library) -> None:
    """A conversion to a wider type may start at the address of its source."""
    a = draw("half", (16, 1024), 8)
    out = np.zeros((16, 1024), np.float32)
    library.run("widen_in_place", a, out)
    np.testing.assert_array_equal(out, a.astype(np.float32))


# ---------------------------------------------------------------------------- loads, moves, stores
TRANSPOSED = {
    ("float", 7, 19),
    ("float", 24, 40),
    ("half", 33, 50),
    ("int8_t", 64, 96),
    ("int64_t", 8, 12),
}
for _dtype, _rows, _cols in sorted(TRANSPOSED):
    KERNELS[f"trans_{_dtype}_{_rows}"] = (
        tensor("g", 0, _dtype, (_rows, _cols))
        + tensor("gd", 1, _dtype, (_cols, _rows))
        + tile("a", _dtype, (64, 96), 0, valid=(_rows, _cols))
        + tile("d", _dtype, (96, 64), 0x10000, valid=(_cols, _rows))
        + tile("t", _dtype, (96, 64), 0x20000)
        + "TLOAD(a, g); TTRANS(d, a, t); TSTORE(gd, d);"
    )


@pytest.mark.parametrize(("dtype", "rows", "cols"), sorted(TRANSPOSED))
def test_transposition(library: Library, dtype: str, rows: int, cols: int) -> None:
    """TTRANS of whole and partial blocks."""
    a = draw(dtype, (rows, cols), 9)
    out = np.zeros((cols, rows), DTYPES[dtype])
    library.run(f"trans_{dtype}_{rows}", a, out)
    np.testing.assert_array_equal(out, a.T)


KERNELS["sub_block"] = (
    tensor("g", 0, "float", (5, 24), (40, 1))
    + tensor("gd", 1, "float", (5, 24), (40, 1))
    + "TASSIGN(g, gData + 2 * 40 + 8);\nTASSIGN(gd, gdData + 3 * 40 + 9);\n"
    + tile("a", "float", (8, 32), 0, valid=(5, 24))
    + "TLOAD(a, g); TSTORE(gd, a);"
)
KERNELS["five_d"] = (
    tensor("g", 0, "int16_t", (2, 3, 2, 2, 8), (200, 60, 30, 10, 1))
    + tensor("gd", 1, "int16_t", (24, 8))
    + tile("a", "int16_t", (24, 16), 0, valid=(24, 8))
    + "TLOAD(a, g); TSTORE(gd, a);"
)
KERNELS["dynamic"] = """
__gm__ float* in = reinterpret_cast<__gm__ float*>(args[0]);
__gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);
int64_t rows = args[2], cols = args[3];
using T = GlobalTensor<float, Shape<1, 1, 1, -1, -1>, Stride<1, 1, 1, -1, 1>>;
T g(in, {rows, cols}, {cols});
T gd(out, {rows, cols}, {cols});
Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1> a(rows, cols);
TASSIGN(a, 0x40);
TLOAD(a, g);
TADDS(a, a, 1.0f);
TSTORE(gd, a);
"""


def test_load_and_store_forms(library: Library) -> None:
    """Sub-blocks with the parent's stride, five dimensions, and run-time shapes."""
    parent = draw("float", (10, 40), 1)
    out = np.zeros((10, 40), np.float32)
    library.run("sub_block", parent, out)
    expected = np.zeros_like(out)
    expected[3:8, 9:33] = parent[2:7, 8:32]
    np.testing.assert_array_equal(out, expected)

    flat = np.arange(400, dtype=np.int16)
    view = np.lib.stride_tricks.as_strided(
        flat, (2, 3, 2, 2, 8), [2 * s for s in (200, 60, 30, 10, 1)]
    )
    folded = np.zeros((24, 8), np.int16)
    library.run("five_d", flat, folded)
    np.testing.assert_array_equal(folded, view.reshape(24, 8))

    a = draw("float", (21, 37), 2)
    out = np.zeros((21, 37), np.float32)
    library.run("dynamic", a, out, 21, 37)
    np.testing.assert_array_equal(out, a + 1)


def fold_nz(a: Array) -> Array:
    """Return the bytes of a matrix in NZ order."""
    c0 = 32 // a.dtype.itemsize
    rows, cols = a.shape
    return np.ascontiguousarray(a.reshape(rows, cols // c0, c0).transpose(1, 0, 2))


def nz_tensor(name: str, argument: int, dtype: str, rows: int, cols: int) -> str:
    c0 = 32 // DTYPES[dtype].itemsize
    shape, strides = (cols // c0, rows // 16, 16, c0), (rows * c0, 16 * c0, c0, 1)
    return tensor(name, argument, dtype, shape, strides, "NZ")


for _dtype in ("float", "half", "int8_t"):
    KERNELS[f"nd_nz_{_dtype}"] = (
        tensor("g", 0, _dtype, (32, 64))
        + nz_tensor("gd", 1, _dtype, 32, 64)
        + tile("a", _dtype, (32, 64), 0, location="Mat", layout="nz")
        + "TLOAD(a, g); TSTORE(gd, a);"
    )
    KERNELS[f"nz_nd_{_dtype}"] = (
        nz_tensor("g", 0, _dtype, 32, 64)
        + nz_tensor("gd", 1, _dtype, 32, 64)
        + tile("a", _dtype, (32, 64), 0, location="Mat", layout="nz")
        + "TLOAD(a, g); TSTORE(gd, a);"
    )


@pytest.mark.parametrize("dtype", ["float", "half", "int8_t"])
def test_boxed_loads(library: Library, dtype: str) -> None:
    """A load from ND to Nz puts each 32-byte run where the NZ tensor has it."""
    a = draw(dtype, (32, 64), 3)
    out = np.zeros_like(fold_nz(a))
    library.run(f"nd_nz_{dtype}", a, out)
    np.testing.assert_array_equal(out, fold_nz(a))
    out[:] = 0
    library.run(f"nz_nd_{dtype}", fold_nz(a), out)
    np.testing.assert_array_equal(out, fold_nz(a))


# ----------------------------------------------------------------------------------------- matmul
PRODUCTS = {"float": "float", "half": "float", "bfloat16_t": "float", "int8_t": "int32_t"}
SIZES = [(64, 64, 64), (40, 50, 60), (1, 33, 17), (16, 200, 16)]


def product_kernel(
    dtype: str, size: tuple[int, int, int], statement: str, extra: str = "", out: str | None = None
) -> str:
    m, k, n = size
    pm, pk, pn = (-(-x // 32) * 32 for x in size)
    result = PRODUCTS[dtype]
    return (
        tensor("ga", 0, dtype, (m, k))
        + tensor("gb", 1, dtype, (k, n))
        + tensor("gc", 2, out or result, (m, n))
        + tile("am", dtype, (pm, pk), 0, valid=(m, k), location="Mat", layout="nz")
        + tile("bm", dtype, (pk, pn), 0x20000, valid=(k, n), location="Mat", layout="nz")
        + tile("a", dtype, (pm, pk), 0, valid=(m, k), location="Left", layout="zz")
        + tile("b", dtype, (pk, pn), 0, valid=(k, n), location="Right", layout="zn")
        + acc("c", result, (pm, pn), (m, n))
        + extra
        + f"TLOAD(am, ga); TLOAD(bm, gb); TMOV(a, am); TMOV(b, bm);\n{statement}"
    )


for _dtype in PRODUCTS:
    for _size in SIZES:
        KERNELS[f"mm_{_dtype}_{_size[0]}_{_size[1]}"] = product_kernel(
            _dtype, _size, "TMATMUL(c, a, b); TSTORE(gc, c);"
        )
    KERNELS[f"acc_{_dtype}"] = product_kernel(
        _dtype,
        SIZES[1],
        "TMATMUL(c, a, b); TMATMUL_ACC(c, c, a, b); TMATMUL_ACC(c, a, b); TSTORE(gc, c);",
    )
    _result = PRODUCTS[_dtype]
    KERNELS[f"bias_{_dtype}"] = product_kernel(
        _dtype,
        SIZES[1],
        "TMATMUL_BIAS(c, a, b, bias); TSTORE(gc, c);",
        tensor("gbias", 3, _result, (1, 60))
        + tile("biasm", _result, (1, 64), 0x40000, valid=(1, 60), location="Mat")
        + tile("bias", _result, (1, 64), 0, valid=(1, 60), location="Bias")
        + "TLOAD(biasm, gbias); TMOV(bias, biasm);\n",
    )
    _m, _k, _n = 48, 64, 32
    KERNELS[f"bt_{_dtype}"] = (
        tensor("ga", 0, _dtype, (_m, _k))
        + tensor("gb", 1, _dtype, (_n, _k))
        + tensor("gc", 2, _result, (_m, _n))
        + tile("am", _dtype, (_m, _k), 0, location="Mat", layout="nz")
        + tile("bm", _dtype, (_n, _k), 0x20000, location="Mat", layout="nz")
        + tile("bt", _dtype, (_k, _n), 0, location="Mat", layout="zn")
        + tile("a", _dtype, (_m, _k), 0, location="Left", layout="zz")
        + tile("b", _dtype, (_k, _n), 0, location="Right", layout="zn")
        + acc("c", _result, (_m, _n), (_m, _n))
        + "TLOAD(am, ga); TLOAD(bm, gb); TRESHAPE(bt, bm); TMOV(a, am); TMOV(b, bt);\n"
        + "TMATMUL(c, a, b); TSTORE(gc, c);"
    )
for _dtype in ("half", "bfloat16_t"):
    KERNELS[f"cast_{_dtype}"] = product_kernel(
        "float",
        SIZES[1],
        "TMATMUL(c, a, b); TSTORE<cType, gcType, AtomicType::AtomicNone, "
        "ReluPreMode::NormalRelu>(gc, c);",
        out=_dtype,
    )
KERNELS["atomic"] = product_kernel(
    "float", SIZES[1], "TMATMUL(c, a, b); TSTORE<cType, gcType, AtomicType::AtomicAdd>(gc, c);"
)
KERNELS["gemv"] = (
    tensor("ga", 0, "half", (1, 256))
    + tensor("gb", 1, "half", (256, 48))
    + tensor("gc", 2, "float", (1, 48))
    + tile("am", "half", (1, 256), 0, location="Mat")
    + tile("bm", "half", (256, 48), 0x20000, location="Mat", layout="nz")
    + "TileLeft<half, 1, 256> a; TASSIGN(a, 0); TileRight<half, 256, 48> b; TASSIGN(b, 0);\n"
    + "TileAcc<float, 1, 48> c; TASSIGN(c, 0);\n"
    + "TLOAD(am, ga); TLOAD(bm, gb); TMOV(a, am); TMOV(b, bm); TGEMV(c, a, b);\n"
    + "TGEMV_ACC(c, c, a, b); TSTORE(gc, c);"
)


def operands(dtype: str, size: tuple[int, int, int]) -> tuple[Array, Array]:
    m, k, n = size
    random = np.random.default_rng(m)
    low, high = (-128, 128) if dtype == "int8_t" else (-4, 5)
    a, b = random.integers(low, high, (m, k)), random.integers(low, high, (k, n))
    return a.astype(DTYPES[dtype]), b.astype(DTYPES[dtype])


def product(a: Array, b: Array) -> Array:
    return a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", PRODUCTS)
def test_matmul(library: Library, dtype: str, size: tuple[int, int, int]) -> None:
    """Products of small integers are exact for every operand type, also with partial boxes."""
    a, b = operands(dtype, size)
    out = np.zeros((size[0], size[2]), DTYPES[PRODUCTS[dtype]])
    library.run(f"mm_{dtype}_{size[0]}_{size[1]}", a, b, out)
    np.testing.assert_array_equal(out, product(a, b))


@pytest.mark.parametrize("dtype", PRODUCTS)
def test_matmul_forms(library: Library, dtype: str) -> None:
    """Accumulation in both forms, bias, and a right operand stored transposed."""
    a, b = operands(dtype, SIZES[1])
    out = np.zeros((40, 60), DTYPES[PRODUCTS[dtype]])
    library.run(f"acc_{dtype}", a, b, out)
    np.testing.assert_array_equal(out, 3 * product(a, b))
    bias = np.arange(60).astype(out.dtype)
    library.run(f"bias_{dtype}", a, b, out, bias)
    np.testing.assert_array_equal(out, product(a, b) + bias)
    a, b = operands(dtype, (48, 64, 32))
    out = np.zeros((48, 32), out.dtype)
    library.run(f"bt_{dtype}", a, np.ascontiguousarray(b.T), out)
    np.testing.assert_array_equal(out, product(a, b))


def test_accumulator_stores(library: Library) -> None:
    """An accumulator is stored with a cast, with relu, and added to global memory."""
    a, b = operands("float", SIZES[1])
    for dtype in ("half", "bfloat16_t"):
        out = np.zeros((40, 60), DTYPES[dtype])
        library.run(f"cast_{dtype}", a, b, out)
        np.testing.assert_array_equal(out, np.maximum(product(a, b), 0).astype(DTYPES[dtype]))
    for blocks in (1, 2):
        library.block(0, blocks)
        out = np.ones((40, 60), np.float32)
        library.run("atomic", a, b, out)
        np.testing.assert_array_equal(out, product(a, b) + 1)
    library.block(0, 1)


def test_gemv(library: Library) -> None:
    """A tile of one row times a matrix, twice."""
    a, b = operands("half", (1, 256, 48))
    out = np.zeros((1, 48), np.float32)
    library.run("gemv", a, b, out)
    np.testing.assert_array_equal(out, 2 * product(a, b))


# ------------------------------------------------------------------------------- padding and parts
PADDED = ("float", "half", "int16_t", "uint8_t", "bfloat16_t", "uint32_t")
PADS = ("Zero", "Max", "Min")
FILLS = {"Normal": (16, 64), "Expand": (32, 96), "InPlace": (16, 64)}


def padded(name: str, dtype: str, shape: tuple[int, int], pad: str, address: int) -> str:
    """Declare a wholly valid tile whose type has a pad value."""
    return (
        f"using {name}Type = Tile<TileType::Vec, {dtype}, {shape[0]}, {shape[1]}, "
        f"BLayout::RowMajor, -1, -1, SLayout::NoneBox, 512, PadValue::{pad}>;\n"
        f"{name}Type {name}({shape[0]}, {shape[1]});\nTASSIGN({name}, {address:#x});\n"
    )


for _dtype in PADDED:
    for _pad in PADS:
        for _mode, _shape in FILLS.items():
            KERNELS[f"fill_{_dtype}_{_pad}_{_mode}"] = (
                tensor("ga", 0, _dtype, VALID)
                + tensor("gd", 1, _dtype, _shape)
                + tile("a", _dtype, (ROWS, COLS), 0, valid=VALID)
                + padded("d", _dtype, _shape, _pad, 0 if _mode == "InPlace" else 0x8000)
                + f"TLOAD(a, ga); TFILLPAD<TFillPadMode::{_mode}>(d, a); TSTORE(gd, d);"
            )
KERNELS["fill_mat"] = (
    tensor("ga", 0, "half", VALID)
    + tensor("gb", 1, "half", (64, 16))
    + tensor("gd", 2, "float", (16, 16))
    + "using dType = Tile<TileType::Mat, half, 16, 64, BLayout::ColMajor, -1, -1, "
    + "SLayout::RowMajor, 512, PadValue::Zero>;\ndType d(16, 64);\nTASSIGN(d, 0x10000);\n"
    + f"dType a({VALID[0]}, {VALID[1]});\nTASSIGN(a, 0);\n"
    + tile("bm", "half", (64, 16), 0x8000, location="Mat", layout="nz")
    + tile("l", "half", (16, 64), 0, location="Left", layout="zz")
    + tile("b", "half", (64, 16), 0, location="Right", layout="zn")
    + acc("c", "float", (16, 16), (16, 16))
    + "TLOAD(a, ga); TLOAD(bm, gb); TFILLPAD(d, a); TMOV(l, d); TMOV(b, bm);\n"
    + "TMATMUL(c, l, b); TSTORE(gd, c);"
)
KERNELS["part"] = (
    tensor("g", 0, "float", (16, 64))
    + tile("a", "float", (16, 64), 0)
    + tile("rows", "float", (4, 64), 0x8000)
    + tile("run", "float", (1, 16), 0x8000)
    + tile("deep", "float", (2, 64), 0x8000)
    + "TLOAD(a, g); TSUBVIEW(rows, a, 8, 0); TSUBVIEW(run, a, 3, 32); TSUBVIEW(deep, rows, 1, 0);\n"
    + "TADDS(rows, rows, 1); TMULS(run, run, 2); TADDS(deep, deep, 10); TSTORE(g, a);"
)
KERNELS["column_part"] = (
    tensor("g", 0, "float", (32, 1), (1, 1), "DN")
    + tensor("gd", 1, "float", (8, 1), (1, 1), "DN")
    + tile("a", "float", (32, 1), 0, layout="dn")
    + tile("part", "float", (8, 1), 0x8000, layout="dn")
    + "TLOAD(a, g); TSUBVIEW(part, a, 16, 0); TSTORE(gd, part);"
)


@pytest.mark.parametrize("mode", FILLS)
@pytest.mark.parametrize("pad", PADS)
@pytest.mark.parametrize("dtype", PADDED)
def test_fillpad(library: Library, dtype: str, pad: str, mode: str) -> None:
    """The valid part is copied; the rest of the whole tile gets its type's pad value."""
    a, kind = draw(dtype, VALID, 1), DTYPES[dtype]
    if dtype in FLOATS:
        value = {"Zero": 0.0, "Max": math.inf, "Min": -math.inf}[pad]
    else:
        value = {"Zero": 0, "Max": np.iinfo(kind).max, "Min": np.iinfo(kind).min}[pad]
    expected = np.full(FILLS[mode], value, kind)
    expected[: VALID[0], : VALID[1]] = a
    out = np.full(FILLS[mode], 7, kind)
    library.run(f"fill_{dtype}_{pad}_{mode}", a, out)
    np.testing.assert_array_equal(out.astype(np.float64), expected.astype(np.float64))


def test_fillpad_of_a_matrix_operand(library: Library) -> None:
    """A partly valid Mat tile is filled with zeros, so that the whole product is right."""
    a, _ = operands("half", (*VALID, 16))
    _, b = operands("half", (16, 64, 16))
    out = np.zeros((16, 16), np.float32)
    library.run("fill_mat", a, b, out)
    expected = np.zeros((16, 16))
    expected[: VALID[0]] = product(a, b[: VALID[1]])
    np.testing.assert_array_equal(out, expected)


def test_parts(library: Library) -> None:
    """A sub-tile shares its tile's bytes: whole rows, part of a row, or a nested sub-tile."""
    a = draw("float", (16, 64), 1)
    expected = a.copy()
    expected[8:12] += np.float32(1)
    expected[3, 32:48] *= np.float32(2)
    expected[9:11] += np.float32(10)
    library.run("part", a)
    np.testing.assert_array_equal(a, expected)
    column, out = draw("float", (32, 1), 2), np.zeros((8, 1), np.float32)
    library.run("column_part", column, out)
    np.testing.assert_array_equal(out, column[16:24])
