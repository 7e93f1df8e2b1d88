"""Results for operands that no NPU supports, where ``PTO_CPU_LAX`` accepts them."""

from __future__ import annotations

import numpy as np
import pytest

from pypto._src.run.toolchain import Toolchain
from tests.headers.conformance import LAX
from tests.headers.harness import DTYPES, Library, tensor, tile
from tests.headers.test_accuracy import variant

PAIRS = (("float", "half"), ("half", "float"), ("int32_t", "int16_t"), ("int16_t", "float"))
MASK_COLUMNS = 130

KERNELS = {
    f"{op}_{source}_{target}": (
        tensor("g", 0, source, (9, 50))
        + tensor("gd", 1, target, (1, 50))
        + tile("a", source, (16, 64), 0, valid=(9, 50))
        + tile("d", target, (1, 64), 0x8000, valid=(1, 50))
        + f"TLOAD(a, g);\n{op}(d, a);\nTSTORE(gd, d);"
    )
    for op in ("TCOLMIN", "TCOLPROD")
    for source, target in PAIRS
}
for _layout in ("nd", "dn"):
    KERNELS[f"mask_{_layout}"] = (
        tensor("g0", 0, "float", (9, MASK_COLUMNS))
        + tensor("g1", 1, "float", (9, MASK_COLUMNS))
        + tensor("gd", 2, "uint8_t", (9, 17))
        + tile("a", "float", (16, 192), 0, valid=(9, MASK_COLUMNS))
        + tile("b", "float", (16, 192), 0x4000, valid=(9, MASK_COLUMNS))
        + tile("m", "uint8_t", (32, 32), 0x8000, valid=(9, 17), layout=_layout)
        + "TLOAD(a, g0);\nTLOAD(b, g1);\nTCMP(m, a, b, CmpMode::LT);\nTSTORE(gd, m);"
    )


@pytest.fixture(scope="module")
def library(toolchain: Toolchain) -> Library:
    return Library(KERNELS, variant(toolchain, LAX))


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("op", ["TCOLMIN", "TCOLPROD"])
def test_column_reductions_convert(library: Library, op: str, source: str, target: str) -> None:
    """The column's minimum or product is computed in the destination's type."""
    a = np.random.default_rng(1).integers(-3, 4, (9, 50)).astype(DTYPES[source])
    out = np.zeros((1, 50), DTYPES[target])
    library.run(f"{op}_{source}_{target}", a, out)
    reduce = np.min if op == "TCOLMIN" else np.prod
    expected = reduce(a.astype(np.float64), axis=0, keepdims=True)
    np.testing.assert_array_equal(out.astype(np.float64), expected)


@pytest.mark.parametrize("layout", ["nd", "dn"])
def test_masks_of_both_layouts(library: Library, layout: str) -> None:
    """Byte w of row r of a mask has its columns from 8 w on, whatever the order of the bytes."""
    random = np.random.default_rng(2)
    a, b = random.uniform(-1, 1, (2, 9, MASK_COLUMNS)).astype(np.float32)
    out = np.zeros((9, 17), np.uint8)
    library.run(f"mask_{layout}", a, b, out)
    np.testing.assert_array_equal(out, np.packbits(a < b, axis=1, bitorder="little"))
