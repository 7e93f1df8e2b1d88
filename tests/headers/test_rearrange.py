"""Results of the instructions that move, compare, sort and select elements.

This covers what the recorded runs (`test_conformance.py`) do not: long rows, odd windows, special
values, and accesses out of bounds.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pypto._src.run.toolchain import Toolchain
from tests.headers.harness import DTYPES, Array, Library, tensor, tile

KERNELS: dict[str, str] = {}

INT_MAX = np.iinfo(np.int32).max
INT_MIN = np.iinfo(np.int32).min
NAN, INF = math.nan, math.inf


@pytest.fixture(scope="module")
def library(toolchain: Toolchain) -> Library:
    return Library(KERNELS, toolchain)


def load(name: str, argument: int, dtype: str, shape: tuple[int, int], address: int) -> str:
    """Declare a tile, rows padded to 32 bytes, and load an argument into it."""
    unit = 32 // DTYPES[dtype].itemsize
    physical = (shape[0], -(-shape[1] // unit) * unit)
    return (
        tensor(f"g{name}", argument, dtype, shape)
        + tile(name, dtype, physical, address, valid=shape)
        + f"TLOAD({name}, g{name});\n"
    )


def store(name: str, argument: int, dtype: str, shape: tuple[int, int], address: int) -> str:
    """Declare a tile and the tensor it is stored to by `TSTORE(g<name>, <name>)`."""
    unit = 32 // DTYPES[dtype].itemsize
    physical = (shape[0], -(-shape[1] // unit) * unit)
    return tensor(f"g{name}", argument, dtype, shape) + tile(
        name, dtype, physical, address, valid=shape
    )


def floats(shape: tuple[int, ...], seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-4, 4, shape).astype(np.float32)


# ------------------------------------------------------------------------------------------ windows
def boxed(a: Array) -> Array:
    """Return the elements of a matrix in the order of the layout Nz."""
    rows, cols = a.shape
    width = 32 // a.dtype.itemsize
    return np.ascontiguousarray(a.reshape(rows, cols // width, width).transpose(1, 0, 2))


def boxed_tensor(name: str, argument: int, rows: int, cols: int) -> str:
    return tensor(
        name,
        argument,
        "half",
        (1, cols // 16, rows // 16, 16, 16),
        (rows * cols, rows * 16, 256, 16, 1),
        "NZ",
    )


WINDOWS = [(0, 0), (16, 16), (3, 0), (0, 5), (17, 21)]
for _r, _c in WINDOWS:
    KERNELS[f"extract_{_r}_{_c}"] = (
        boxed_tensor("ga", 0, 64, 64)
        + boxed_tensor("gd", 1, 32, 32)
        + tile("a", "half", (64, 64), 0, layout="nz")
        + tile("d", "half", (32, 32), 0x8000, layout="nz")
        + f"TLOAD(a, ga);\nTEXTRACT(d, a, {_r}, {_c});\nTSTORE(gd, d);"
    )
    KERNELS[f"insert_{_r}_{_c}"] = (
        boxed_tensor("ga", 0, 32, 32)
        + boxed_tensor("gd", 1, 64, 64)
        + tile("whole", "half", (32, 32), 0, layout="nz")
        + tile("a", "half", (32, 32), 0, layout="nz", valid=(30, 25))
        + tile("d", "half", (64, 64), 0x8000, layout="nz")
        + f"TLOAD(whole, ga);\nTLOAD(d, gd);\nTINSERT(d, a, {_r}, {_c});\nTSTORE(gd, d);"
    )
KERNELS["extract_outside"] = (
    tile("a", "float", (16, 64), 0)
    + tile("d", "float", (8, 32), 0x8000)
    + "(void)args;\nTEXTRACT(d, a, 9, 0);"
)


@pytest.mark.parametrize(("r", "c"), WINDOWS)
def test_extract_from_boxes(library: Library, r: int, c: int) -> None:
    """A window of a boxed tile may begin anywhere."""
    a, out = floats((64, 64)).astype(np.float16), np.zeros((2, 32, 16), np.float16)
    library.run(f"extract_{r}_{c}", boxed(a), out)
    np.testing.assert_array_equal(out, boxed(a[r : r + 32, c : c + 32]))


@pytest.mark.parametrize(("r", "c"), WINDOWS)
def test_insert_into_boxes(library: Library, r: int, c: int) -> None:
    """An inserted window changes nothing around it, even if it ends within a box."""
    a, d = floats((32, 32), 1).astype(np.float16), floats((64, 64), 2).astype(np.float16)
    out = boxed(d)
    library.run(f"insert_{r}_{c}", boxed(a), out)
    d[r : r + 30, c : c + 25] = a[:30, :25]
    np.testing.assert_array_equal(out, boxed(d))


def test_window_outside(library: Library) -> None:
    """A window that exceeds the source is an error."""
    library.start()
    library.call("extract_outside")
    assert library.error() == "TEXTRACT: the window leaves the valid region of the source"


# ---------------------------------------------------------------------------- positions of extremes
LONG = 700
for _dtype in ("float", "half"):
    for _op in ("TROWARGMAX", "TROWARGMIN"):
        KERNELS[f"{_op}_{_dtype}"] = (
            load("a", 0, _dtype, (16, LONG), 0)
            + tile("v", _dtype, (16, 1), 0x20000, layout="dn")
            + tile("i", "int32_t", (16, 1), 0x21000, layout="dn")
            + tensor("gv", 1, _dtype, (16, 1), (1, 1), "DN")
            + tensor("gi", 2, "int32_t", (16, 1), (1, 1), "DN")
            + f"{_op}(v, i, a, a);\nTSTORE(gv, v);\nTSTORE(gi, i);"
        )
for _op in ("TCOLARGMAX", "TCOLARGMIN"):
    KERNELS[_op] = (
        load("a", 0, "float", (9, 100), 0)
        + store("v", 1, "float", (1, 100), 0x10000)
        + store("i", 2, "uint32_t", (1, 100), 0x11000)
        + f"{_op}(v, i, a, a);\nTSTORE(gv, v);\nTSTORE(gi, i);"
    )


def first_best(row: Array, better: Callable[[Any, Any], bool]) -> int:
    """Return the index found by a scan from the left: a NaN is never better."""
    best = 0
    for i, value in enumerate(row):
        if better(value, row[best]):
            best = i
    return best


BETTER: dict[str, Callable[[Any, Any], bool]] = {
    "MAX": lambda a, b: bool(a > b),
    "MIN": lambda a, b: bool(a < b),
}


@pytest.mark.parametrize("kind", BETTER)
@pytest.mark.parametrize("dtype", ["float", "half"])
def test_extremes_of_rows(library: Library, dtype: str, kind: str) -> None:
    """The first best element wins, wherever NaNs are and however long the row is."""
    # Few distinct values: ties everywhere.
    values = np.random.default_rng(3).integers(-5, 6, (16, LONG)).astype(DTYPES[dtype])
    values[1, 0] = NAN
    values[2, :40] = NAN
    values[3, 1:30] = NAN
    values[4] = 7
    values[7, 512] = NAN
    values[7, 600] = 9 if kind == "MAX" else -9
    values[8] = NAN
    values[5, 699] = 9 if kind == "MAX" else -9
    values[6, 512] = 9 if kind == "MAX" else -9
    value, index = np.zeros((16, 1), DTYPES[dtype]), np.zeros((16, 1), np.int32)
    library.run(f"TROWARG{kind}_{dtype}", values, value, index)
    expected = [first_best(row, BETTER[kind]) for row in values]
    np.testing.assert_array_equal(index[:, 0], expected)
    np.testing.assert_array_equal(value[:, 0], values[np.arange(16), expected])


@pytest.mark.parametrize("kind", BETTER)
def test_extremes_of_columns(library: Library, kind: str) -> None:
    """The first best row of every column."""
    values = np.random.default_rng(4).integers(-2, 3, (9, 100)).astype(np.float32)
    values[0, 3], values[4, 4] = NAN, NAN
    value, index = np.zeros((1, 100), np.float32), np.zeros((1, 100), np.uint32)
    library.run(f"TCOLARG{kind}", values, value, index)
    expected = [first_best(column, BETTER[kind]) for column in values.T]
    np.testing.assert_array_equal(index[0], expected)
    np.testing.assert_array_equal(value[0], values[expected, np.arange(100)])


# --------------------------------------------------------------------------------------------- sort
KERNELS["sort"] = (
    load("a", 0, "float", (2, 40), 0)
    + load("i", 1, "uint32_t", (2, 40), 0x1000)
    + store("d", 2, "float", (2, 80), 0x2000)
    + tile("t", "float", (2, 40), 0x4000)
    + "TSORT32(d, a, i, t);\nTSTORE(gd, d);"
)
MERGED = {"three": 3, "six": 6, "ragged": 2}
for _name, _blocks in MERGED.items():
    _cols = 64 * _blocks + (16 if _name == "ragged" else 0)
    KERNELS[f"merge_{_name}"] = (
        load("a", 0, "float", (1, _cols), 0)
        + store("d", 1, "float", (1, _cols), 0x8000)
        + "TMRGSORT(d, a, 64);\nTSTORE(gd, d);"
    )


def records(values: Array, indices: Array) -> Array:
    """Return records of value and index as 4-byte words."""
    return np.stack([values.view(np.uint32), indices.astype(np.uint32)], -1).reshape(-1)


def descending(values: Array) -> Array:
    """Return the stable descending order, NaN and infinity first; zeros are equal."""
    keys = np.where(np.isnan(values), -INF, -(values + np.float32(0)))
    return np.lexsort((np.arange(len(values)), keys, ~np.isnan(values)))


def test_sort_of_groups(library: Library) -> None:
    """Each 32 columns and the remainder are sorted separately and stably."""
    values = np.random.default_rng(5).integers(-4, 5, (2, 40)).astype(np.float32)
    values[0, [3, 7, 9, 12]] = [NAN, -0.0, 0.0, INF]
    values[1, [35, 38]] = [-INF, NAN]
    indices = np.arange(80, dtype=np.uint32).reshape(2, 40) + 1000
    out = np.zeros((2, 80), np.float32)
    library.run("sort", values, indices, out)
    for row, index, got in zip(values, indices, out, strict=True):
        expected = [
            records(row[part][order], index[part][order])
            for part in (slice(0, 32), slice(32, 40))
            for order in [descending(row[part])]
        ]
        np.testing.assert_array_equal(got.view(np.uint32), np.concatenate(expected))


@pytest.mark.parametrize("name", MERGED)
def test_merge(library: Library, name: str) -> None:
    """Every four blocks become one; fewer at the end, and a shorter one, are also merged."""
    count = 32 * MERGED[name] + (8 if name == "ragged" else 0)
    values = np.random.default_rng(6).integers(-9, 10, count).astype(np.float32)
    for start in range(0, count, 32):
        values[start : start + 32] = np.sort(values[start : start + 32])[::-1]
    index = np.arange(count)
    out = np.zeros((1, 2 * count), np.float32)
    library.run(f"merge_{name}", records(values, index).view(np.float32).reshape(1, -1), out)
    expected: list[Array] = []
    for start in range(0, count, 128):
        part = slice(start, start + 128)
        order = descending(values[part])
        expected.append(records(values[part][order], index[part][order]))
    np.testing.assert_array_equal(out[0].view(np.uint32), np.concatenate(expected))


# ---------------------------------------------------------------------------------- gather, scatter
PATTERNS = {
    "P0101": (2, 0),
    "P1010": (2, 1),
    "P0001": (4, 0),
    "P0010": (4, 1),
    "P0100": (4, 2),
    "P1000": (4, 3),
    "P1111": (1, 0),
}
for _name, (_step, _) in PATTERNS.items():
    KERNELS[f"pick_{_name}"] = (
        load("a", 0, "half", (3, 64), 0)
        + store("d", 1, "half", (3, 64 // _step), 0x1000)
        + f"TGATHER<dType, aType, MaskPattern::{_name}>(d, a);\nTSTORE(gd, d);"
    )
    KERNELS[f"spread_{_name}"] = (
        load("a", 0, "half", (3, 64 // _step), 0)
        + store("d", 1, "half", (3, 64), 0x1000)
        + f"TSCATTER<MaskPattern::{_name}>(d, a);\nTSTORE(gd, d);"
    )
KERNELS["gather"] = (
    load("a", 0, "float", (2, 16), 0)
    + load("i", 1, "int32_t", (2, 24), 0x1000)
    + store("d", 2, "float", (2, 24), 0x2000)
    + "TGATHER(d, a, i, i);\nTSTORE(gd, d);"
)
KERNELS["scatter"] = (
    load("a", 0, "float", (2, 16), 0)
    + load("i", 1, "int32_t", (2, 16), 0x1000)
    + load("d", 2, "float", (2, 16), 0x2000)
    + "TSCATTER(d, a, i);\nTSTORE(gd, d);"
)


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns(library: Library, name: str) -> None:
    """A pattern selects every n-th column from an offset on, to gather or to scatter."""
    step, first = PATTERNS[name]
    a, out = floats((3, 64)).astype(np.float16), np.ones((3, 64 // step), np.float16)
    library.run(f"pick_{name}", a, out)
    np.testing.assert_array_equal(out, a[:, first::step])
    spread = np.ones((3, 64), np.float16)
    library.run(f"spread_{name}", out, spread)
    expected = np.zeros((3, 64), np.float16)
    expected[:, first::step] = out
    np.testing.assert_array_equal(spread, expected)


def test_gather_outside(library: Library) -> None:
    """An index outside the source gives 0."""
    a = floats((2, 16))
    index = np.random.default_rng(7).integers(-8, 40, (2, 24)).astype(np.int32)
    out = np.ones((2, 24), np.float32)
    library.run("gather", a, index, out)
    inside = (index >= 0) & (index < 32)
    np.testing.assert_array_equal(out, np.where(inside, a.reshape(-1)[index % 32], 0))


def test_scatter_outside(library: Library) -> None:
    """An index outside the destination is an error; the last of equal indices wins."""
    a, d = floats((2, 16), 1), floats((2, 16), 2)
    index = np.random.default_rng(8).integers(0, 32, (2, 16)).astype(np.int32)
    expected = d.copy().reshape(-1)
    for at, value in zip(index.reshape(-1), a.reshape(-1), strict=True):
        expected[at] = value
    out = d.copy()
    library.run("scatter", a, index, out)
    np.testing.assert_array_equal(out.reshape(-1), expected)
    index[0, 0] = 32
    library.start()
    library.call("scatter", a, index, d)
    assert library.error() == "TSCATTER: an index leaves the destination"


MEMORY_ROWS, MEMORY_COLS = 10, 16
MEMORY = tensor("g", 0, "float", (MEMORY_ROWS, MEMORY_COLS))
for _name, _arguments in {
    "plain": "",
    "elem": "<Coalesce::Elem>",
    "clamp": "<Coalesce::Elem, GatherOOB::Clamp>",
    "wrap": "<Coalesce::Elem, GatherOOB::Wrap>",
    "zero": "<Coalesce::Elem, GatherOOB::Zero>",
}.items():
    KERNELS[f"fetch_{_name}"] = (
        MEMORY
        + load("i", 1, "int32_t", (4, 8), 0)
        + store("d", 2, "float", (4, 8), 0x1000)
        + f"MGATHER{_arguments}(d, g, i);\nTSTORE(gd, d);"
    )
KERNELS["fetch_rows"] = (
    MEMORY
    + load("i", 1, "int32_t", (1, 5), 0)
    + store("d", 2, "float", (5, MEMORY_COLS), 0x1000)
    + "MGATHER<Coalesce::Row>(d, g, i);\nTSTORE(gd, d);"
)
for _name, _arguments in {
    "plain": "",
    "add": "<Coalesce::Elem, AtomicType::AtomicAdd>",
    "skip": "<Coalesce::Elem, AtomicType::AtomicNone, ScatterOOB::Skip>",
    "wrap": "<Coalesce::Elem, AtomicType::AtomicNone, ScatterOOB::Wrap>",
}.items():
    KERNELS[f"put_{_name}"] = (
        MEMORY
        + load("i", 1, "int32_t", (4, 8), 0)
        + load("a", 2, "float", (4, 8), 0x1000)
        + f"MSCATTER{_arguments}(g, a, i);"
    )
KERNELS["put_rows"] = (
    MEMORY
    + load("i", 1, "int32_t", (1, 5), 0)
    + load("a", 2, "float", (5, MEMORY_COLS), 0x1000)
    + "MSCATTER<Coalesce::Row>(g, a, i);"
)
SIZE = MEMORY_ROWS * MEMORY_COLS


@pytest.mark.parametrize("name", ["plain", "elem", "clamp", "wrap", "zero"])
def test_fetch(library: Library, name: str) -> None:
    """MGATHER reads single elements; the handling of an index outside is selectable."""
    memory, out = floats((MEMORY_ROWS, MEMORY_COLS)), np.ones((4, 8), np.float32)
    low, high = (0, SIZE) if name in ("plain", "elem") else (-SIZE, 2 * SIZE)
    index = np.random.default_rng(9).integers(low, high, (4, 8)).astype(np.int32)
    library.run(f"fetch_{name}", memory, index, out)
    place = np.clip(index, 0, SIZE - 1) if name == "clamp" else index % SIZE
    expected = memory.reshape(-1)[place]
    if name == "zero":
        expected = np.where((index >= 0) & (index < SIZE), expected, 0)
    np.testing.assert_array_equal(out, expected)


def test_fetch_outside(library: Library) -> None:
    """By default an index outside is an error, and memory outside is not read."""
    memory, out = floats((MEMORY_ROWS, MEMORY_COLS)), np.ones((4, 8), np.float32)
    library.start()
    library.call("fetch_plain", memory, np.full((4, 8), SIZE, np.int32), out)
    assert library.error() == "MGATHER: an index leaves the GlobalTensor"


def test_fetch_rows(library: Library) -> None:
    """With Coalesce::Row an index selects a row, and may be repeated."""
    memory, out = floats((MEMORY_ROWS, MEMORY_COLS)), np.zeros((5, MEMORY_COLS), np.float32)
    index = np.array([[9, 0, 3, 3, 7]], np.int32)
    library.run("fetch_rows", memory, index, out)
    np.testing.assert_array_equal(out, memory[index[0]])


@pytest.mark.parametrize("name", ["plain", "add", "skip", "wrap"])
def test_put(library: Library, name: str) -> None:
    """MSCATTER writes single elements in order; AtomicAdd accumulates them."""
    memory, a = floats((MEMORY_ROWS, MEMORY_COLS), 1), floats((4, 8), 2)
    low, high = (0, 20) if name in ("plain", "add") else (-SIZE, 2 * SIZE)
    index = np.random.default_rng(10).integers(low, high, (4, 8)).astype(np.int32)
    expected = memory.copy().reshape(-1)
    for at, value in zip(index.reshape(-1), a.reshape(-1), strict=True):
        if name == "add":
            expected[at] += value
        elif name == "wrap" or 0 <= at < SIZE:
            expected[at % SIZE] = value
    library.run(f"put_{name}", memory, index, a)
    np.testing.assert_array_equal(memory.reshape(-1), expected)


def test_put_outside(library: Library) -> None:
    """By default an index outside is an error, and memory outside is not written."""
    memory, a = floats((MEMORY_ROWS, MEMORY_COLS), 1), floats((4, 8), 2)
    before = memory.copy()
    library.start()
    library.call("put_plain", memory, np.full((4, 8), -1, np.int32), a)
    assert library.error() == "MSCATTER: an index leaves the GlobalTensor"
    np.testing.assert_array_equal(memory, before)


def test_put_rows(library: Library) -> None:
    """With Coalesce::Row an index selects a row; the last of equal indices wins."""
    memory, a = floats((MEMORY_ROWS, MEMORY_COLS), 1), floats((5, MEMORY_COLS), 2)
    index, expected = np.array([[9, 0, 3, 3, 7]], np.int32), memory.copy()
    for at, row in zip(index[0], a, strict=True):
        expected[at] = row
    library.run("put_rows", memory, index, a)
    np.testing.assert_array_equal(memory, expected)


# ------------------------------------------------------------------------------- compare and select
MODES: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}
WIDE = (3, 523)
MASK = "using mType = Tile<TileType::Vec, uint8_t, 3, 96>;\nmType m;\nTASSIGN(m, 0x10000);\n"
BITS = tile("bits", "uint8_t", (3, 96), 0x10000, valid=(3, 66)) + tensor(
    "gbits", 2, "uint8_t", (3, 66)
)
for _mode in MODES:
    KERNELS[f"compare_{_mode}"] = (
        load("a", 0, "float", WIDE, 0)
        + load("b", 1, "float", WIDE, 0x4000)
        + MASK
        + BITS
        + f"TCMP(m, a, b, CmpMode::{_mode});\nTSTORE(gbits, bits);"
    )
    for _form, _value in (("value", "1.0f"), ("tile", "b")):
        KERNELS[f"compare_{_form}_{_mode}"] = (
            load("a", 0, "float", WIDE, 0)
            + load("b", 1, "float", (1, 8), 0x4000)
            + MASK
            + BITS
            + f"(void)b;\nTCMPS(m, a, {_value}, CmpMode::{_mode});\nTSTORE(gbits, bits);"
        )


def special(seed: int) -> Array:
    values = np.random.default_rng(seed).integers(-2, 3, WIDE).astype(np.float32)
    values[0, ::7], values[1, ::5], values[2, 3::11] = NAN, INF, -0.0
    return values


def packed(flags: Array) -> Array:
    return np.packbits(flags, axis=1, bitorder="little")


@pytest.mark.parametrize("mode", MODES)
def test_compare(library: Library, mode: str) -> None:
    """One bit per element, row by row; bits after the last column are 0."""
    a, b, out = special(1), special(2), np.full((3, 66), 255, np.uint8)
    library.run(f"compare_{mode}", a, b, out)
    np.testing.assert_array_equal(out, packed(MODES[mode](a, b)))


@pytest.mark.parametrize("form", ["value", "tile"])
@pytest.mark.parametrize("mode", MODES)
def test_compare_with_one_value(library: Library, mode: str, form: str) -> None:
    """The same with a scalar, or with the first element of a tile."""
    a, b, out = special(1), np.full((1, 8), 7, np.float32), np.full((3, 66), 255, np.uint8)
    b[0, 0] = 1
    library.run(f"compare_{form}_{mode}", a, b, out)
    np.testing.assert_array_equal(out, packed(MODES[mode](a, np.float32(1))))


SELECTED = ("uint8_t", "half", "float", "int64_t")
for _dtype in SELECTED:
    _mask = load("m", 0, "uint8_t", (3, 66), 0x10000) + tile("t", "uint32_t", (1, 16), 0x18000)
    KERNELS[f"select_{_dtype}"] = (
        _mask
        + load("a", 1, _dtype, WIDE, 0)
        + load("b", 2, _dtype, WIDE, 0x4000)
        + store("d", 3, _dtype, WIDE, 0x8000)
        + "TSEL(d, m, a, b, t);\nTSTORE(gd, d);"
    )
    KERNELS[f"select_value_{_dtype}"] = (
        _mask
        + load("a", 1, _dtype, WIDE, 0)
        + store("d", 2, _dtype, WIDE, 0x8000)
        + "TSELS(d, m, a, t, 5);\nTSTORE(gd, d);"
    )


@pytest.mark.parametrize("dtype", SELECTED)
def test_select(library: Library, dtype: str) -> None:
    """The bit of an element selects between two tiles, or a tile and a value."""
    random = np.random.default_rng(11)
    a = random.integers(0, 100, WIDE).astype(DTYPES[dtype])
    b = random.integers(0, 100, WIDE).astype(DTYPES[dtype])
    flags = random.integers(0, 2, WIDE).astype(np.bool_)
    out = np.zeros(WIDE, DTYPES[dtype])
    library.run(f"select_{dtype}", packed(flags), a, b, out)
    np.testing.assert_array_equal(out, np.where(flags, a, b))
    library.run(f"select_value_{dtype}", packed(flags), a, out)
    np.testing.assert_array_equal(out, np.where(flags, a, np.array(5, DTYPES[dtype])))


# ------------------------------------------------------------------------------- special arithmetic
EDGES = [INT_MIN, INT_MIN + 1, -7, -2, -1, 0, 1, 2, 3, 7, INT_MAX - 1, INT_MAX]
PAIRS = np.array([(a, b) for a in EDGES for b in EDGES], np.int32).T.copy()
POINTS = [NAN, INF, -INF, -7.5, -2.0, -0.5, 0.0, 0.5, 2.0, 3.0, 1e30]
FLOAT_PAIRS = np.array([(a, b) for a in POINTS for b in POINTS][:120], np.float32).T.copy()
for _op, _scratch in (("TREM", ", t"), ("TFMOD", ""), ("TPOW", ", t"), ("TSUBRELU", "")):
    for _dtype, _count in (("int32_t", 144), ("float", 120)):
        KERNELS[f"{_op}_{_dtype}"] = (
            load("a", 0, _dtype, (1, _count), 0)
            + load("b", 1, _dtype, (1, _count), 0x1000)
            + store("d", 2, _dtype, (1, _count), 0x2000)
            + tile("t", _dtype, (1, _count), 0x3000)
            + f"(void)t;\n{_op}(d, a, b{_scratch});\nTSTORE(gd, d);"
        )
KERNELS["TLRELU"] = (
    load("a", 0, "float", (1, 16), 0)
    + store("d", 1, "float", (1, 16), 0x1000)
    + "TLRELU(d, a, 0.25f);\nTSTORE(gd, d);"
)


def floor_mod(a: int, b: int) -> int:
    return a % b if b else 0


def trunc_mod(a: int, b: int) -> int:
    return int(math.copysign(abs(a) % abs(b), a)) if b else 0


def power(a: int, b: int) -> int:
    if b < 0:
        return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)
    result = pow(a, b, 1 << 32)
    return result - (1 << 32) if result >= 1 << 31 else result


def sub_relu(a: int, b: int) -> int:
    result = max(a - b, 0)
    return result - (1 << 32) if result >= 1 << 31 else result


INTEGER_RULES: dict[str, Callable[[int, int], int]] = {
    "TREM": floor_mod,
    "TFMOD": trunc_mod,
    "TPOW": power,
    "TSUBRELU": sub_relu,
}


@pytest.mark.parametrize("op", INTEGER_RULES)
def test_integer_edges(library: Library, op: str) -> None:
    """Overflow wraps, a remainder by 0 is 0, and the minimum over -1 does not trap."""
    a, b = PAIRS[:1].copy(), PAIRS[1:].copy()
    out = np.zeros((1, 144), np.int32)
    library.run(f"{op}_int32_t", a, b, out)
    rule = INTEGER_RULES[op]
    assert out[0].tolist() == [rule(int(x), int(y)) for x, y in PAIRS.T]


FLOAT_RULES: dict[str, Callable[[Any, Any], Any]] = {
    "TFMOD": np.fmod,
    "TPOW": np.power,
    "TSUBRELU": lambda a, b: np.maximum(a - b, np.float32(0)),
}


@pytest.mark.parametrize("op", FLOAT_RULES)
def test_float_edges(library: Library, op: str) -> None:
    """Infinities, zeros and NaN behave as in NumPy."""
    a, b = FLOAT_PAIRS[:1].copy(), FLOAT_PAIRS[1:].copy()
    out = np.zeros((1, 120), np.float32)
    library.run(f"{op}_float", a, b, out)
    with np.errstate(all="ignore"):
        expected = FLOAT_RULES[op](a, b)
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_float_remainder(library: Library) -> None:
    """TREM has the sign of the divisor, even where the quotient is huge."""
    a, b = FLOAT_PAIRS[:1].copy(), FLOAT_PAIRS[1:].copy()
    finite = np.isfinite(a) & np.isfinite(b)
    out = np.zeros((1, 120), np.float32)
    library.run("TREM_float", a, b, out)
    with np.errstate(all="ignore"):
        expected = np.remainder(a, b)
    np.testing.assert_array_equal(out[finite], expected[finite])


def test_leaky_relu(library: Library) -> None:
    """Positive elements are unchanged, others are scaled, NaN stays NaN."""
    a = np.array([[NAN, INF, -INF, -0.0, 0.0, 1e-40, -4, 4] * 2], np.float32)
    out = np.zeros((1, 16), np.float32)
    library.run("TLRELU", a, out)
    np.testing.assert_array_equal(out, np.where(a > 0, a, a * np.float32(0.25)))


# ------------------------------------------------------------------------------- partial, quantised
KERNELS["part"] = (
    tensor("ga", 0, "float", (4, 24))
    + tile("a", "float", (8, 40), 0, valid=(4, 24))
    + tensor("gb", 1, "float", (6, 16))
    + tile("b", "float", (8, 40), 0x1000, valid=(6, 16))
    + store("d", 2, "float", (8, 40), 0x2000)
    + "TLOAD(a, ga);\nTLOAD(b, gb);\nTPARTADD(d, a, b);\nTSTORE(gd, d);"
)
KERNELS["quantise"] = (
    load("a", 0, "float", (8, 600), 0)
    + tensor("gs", 1, "float", (8, 1), (1, 1), "DN")
    + tile("s", "float", (8, 1), 0x10000, layout="dn")
    + tensor("go", 2, "float", (8, 1), (1, 1), "DN")
    + tile("o", "float", (8, 1), 0x10100, layout="dn")
    + store("d", 3, "uint8_t", (8, 600), 0x11000)
    + "TLOAD(s, gs);\nTLOAD(o, go);\nTQUANT<QuantType::INT8_ASYM>(d, a, s, &o);\nTSTORE(gd, d);"
)
KERNELS["print"] = load("a", 0, "float", (2, 3), 0) + "TPRINT(a);"


def test_parts_of_different_size(library: Library) -> None:
    """Where only one source is valid it is copied; where neither is, the result is 0."""
    a, b, out = floats((4, 24), 1), floats((6, 16), 2), np.ones((8, 40), np.float32)
    library.run("part", a, b, out)
    expected = np.zeros((8, 40), np.float32)
    expected[:4, :24] += a
    expected[:6, :16] += b
    np.testing.assert_array_equal(out, expected)


def test_asymmetric_quantisation(library: Library) -> None:
    """Scale and offset of the row, round to nearest even, clamped to the type."""
    a, scale, offset = floats((8, 600), 1), floats((8, 1), 2) * 20, floats((8, 1), 3) * 20 + 100
    out = np.zeros((8, 600), np.uint8)
    library.run("quantise", a, scale, offset, out)
    np.testing.assert_array_equal(out, np.clip(np.rint(a * scale + offset), 0, 255))


def test_print(library: Library, capfd: pytest.CaptureFixture[str]) -> None:
    """The valid rows, below a line with their number and length."""
    library.run("print", np.array([[1, -2.5, 0.25], [INF, 100, 3]], np.float32))
    ctypes.CDLL(None).fflush(None)
    lines = capfd.readouterr().out.splitlines()
    assert lines == [
        "TPRINT 2x3",
        "  1.0000  -2.5000   0.2500 ",
        "     inf 100.0000   3.0000 ",
    ]
