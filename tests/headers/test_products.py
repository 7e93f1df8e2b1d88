"""Products of whole boxes: the packed layouts, the tile registers, and the scalar fallback."""

from __future__ import annotations

import numpy as np
import pytest

from pypto._src.run.toolchain import Toolchain
from tests import effort
from tests.headers.harness import BF16, DTYPES, Array, Library, tensor, tile
from tests.headers.test_accuracy import VARIANTS, variant
from tests.headers.test_values import PRODUCTS, product_kernel

SIZES = (
    (16, 32, 16),
    (16, 96, 128),
    (32, 64, 48),
    (64, 96, 64),
    (48, 48, 16),
    (64, 33, 32),
    (17, 64, 33),
)
CHOSEN = effort.part(SIZES, 2)
STATEMENTS = {
    "once": "TMATMUL(c, a, b); TSTORE(gc, c);",
    "thrice": "TMATMUL(c, a, b); TMATMUL_ACC(c, c, a, b); TMATMUL_ACC(c, a, b); TSTORE(gc, c);",
}
KERNELS = {
    f"{dtype}_{size[0]}_{size[1]}_{name}": product_kernel(dtype, size, text)
    for dtype in PRODUCTS
    for size in CHOSEN
    for name, text in STATEMENTS.items()
}


def added_kernel(dtype: str, size: tuple[int, int, int]) -> str:
    """Return a product with a bias, and one accumulated from another accumulator."""
    m, _, n = size
    pm, pn = (-(-x // 32) * 32 for x in (m, n))
    result = PRODUCTS[dtype]
    extra = (
        tensor("gbias", 3, result, (1, n))
        + tile("biasm", result, (1, pn), 0x40000, valid=(1, n), location="Mat")
        + tile("bias", result, (1, pn), 0, valid=(1, n), location="Bias")
        + tile(
            "d", result, (pm, pn), 0x8000, valid=(m, n), location="Acc", layout="nz", fractal=1024
        )
        + "TLOAD(biasm, gbias); TMOV(bias, biasm);\n"
    )
    text = "TMATMUL_BIAS(d, a, b, bias); TMATMUL_ACC(c, d, a, b); TSTORE(gc, c);"
    return product_kernel(dtype, size, text, extra)


ADDED = {
    f"{dtype}_{size[0]}_{size[1]}_added": added_kernel(dtype, size)
    for dtype in PRODUCTS
    for size in CHOSEN
}


@pytest.fixture(scope="module", params=effort.part(VARIANTS, 3, first=2))
def library(toolchain: Toolchain, request: pytest.FixtureRequest) -> Library:
    """Return all kernels, which share their instructions, compiled for one variant."""
    return Library({**KERNELS, **ADDED}, variant(toolchain, request.param))


def draw(dtype: str, shape: tuple[int, int], seed: int) -> Array:
    """Return integers for int8, otherwise normal numbers over many exponents."""
    rng = np.random.default_rng(seed)
    if dtype == "int8_t":
        return rng.integers(-128, 128, shape).astype(np.int8)
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)).astype(DTYPES[dtype])


def test_products(library: Library) -> None:
    """Every element is within k * 2^-24 of its terms' magnitudes; int8 is exact."""
    for name in KERNELS:
        dtype, m, k, text = name.rsplit("_", 3)
        size = next(s for s in SIZES if s[:2] == (int(m), int(k)))
        a, b = draw(dtype, size[:2], 1), draw(dtype, size[1:], 2)
        out = np.zeros((size[0], size[2]), DTYPES[PRODUCTS[dtype]])
        library.run(name, a, b, out)
        times = 3 if text == "thrice" else 1
        x, y = a.astype(np.float64), b.astype(np.float64)
        bound = 0.0 if dtype == "int8_t" else (size[1] + 3) * 2.0**-24
        allowed = bound * times * (np.abs(x) @ np.abs(y))
        assert (np.abs(out - times * (x @ y)) <= allowed).all(), name


def test_added_products(library: Library) -> None:
    """A bias is added to every row, and a product to an accumulator at another address."""
    for name in ADDED:
        dtype, m, k, _ = name.rsplit("_", 3)
        size = next(s for s in SIZES if s[:2] == (int(m), int(k)))
        a, b = draw(dtype, size[:2], 1), draw(dtype, size[1:], 2)
        out = np.zeros((size[0], size[2]), DTYPES[PRODUCTS[dtype]])
        bias = draw(dtype, (1, size[2]), 5).astype(out.dtype)
        library.run(name, a, b, out, bias)
        x, y, z = a.astype(np.float64), b.astype(np.float64), bias.astype(np.float64)
        bound = 0.0 if dtype == "int8_t" else (2 * size[1] + 3) * 2.0**-24
        allowed = bound * (2 * (np.abs(x) @ np.abs(y)) + np.abs(z))
        assert (np.abs(out - (2 * (x @ y) + z)) <= allowed).all(), name


SMALL = (32, 64, 32)


@pytest.mark.parametrize("where", ["a", "b"])
def test_subnormal_operands(toolchain: Toolchain, where: str) -> None:
    """A subnormal bfloat16 keeps its value, even where a tile register flushes it to zero."""
    library = Library({"small": product_kernel("bfloat16_t", SMALL, STATEMENTS["once"])}, toolchain)
    a, b = draw("bfloat16_t", SMALL[:2], 3), draw("bfloat16_t", SMALL[1:], 4)
    a[5], b[:, 7] = 0, 0
    tiny, large = np.array(2.0**-130).astype(BF16), np.array(2.0**100).astype(BF16)
    a[5, 9], b[9, 7] = (tiny, large) if where == "a" else (large, tiny)
    out = np.zeros((SMALL[0], SMALL[2]), np.float32)
    library.run("small", a, b, out)
    assert out[5, 7] == 2.0**-30
