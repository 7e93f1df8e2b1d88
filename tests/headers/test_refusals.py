"""Kernels that must not compile, each with the error message."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pypto._src.run.toolchain import Toolchain
from tests.headers.harness import INCLUDE, PRELUDE, acc, function, tensor, tile

VEC = "".join(tile(name, "float", (16, 64), 0) for name in "abdt")
INTS = "".join(tile(name, "int32_t", (16, 64), 0) for name in "ijk")
COLUMN = tile("col", "float", (16, 1), 0, layout="dn") + tile(
    "out", "float", (16, 1), 0, layout="dn"
)
HALVES = tile("h", "half", (16, 64), 0)
PADDED = (
    "Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, 32, 64, SLayout::NoneBox, 512, "
    "PadValue::Zero> p;\n"
)
FULL = PADDED.replace("32, 64", "16, 64").replace("> p", "> f")
MATRIX = (
    tile("m", "float", (32, 32), 0, location="Mat", layout="nz")
    + tile("l", "float", (32, 32), 0, location="Left", layout="zz")
    + tile("r", "float", (32, 32), 0, location="Right", layout="zn")
    + tile("hr", "half", (32, 32), 0, location="Right", layout="zn")
    + tile("wide", "float", (32, 64), 0, location="Right", layout="zn")
    + acc("c", "float", (32, 32), (32, 32))
)
GLOBAL = (
    tensor("g", 0, "float", (16, 64))
    + tensor("gh", 0, "half", (16, 64))
    + tensor("gdn", 0, "float", (16, 64), (1, 16), "DN")
)


def tile_type(arguments: str) -> str:
    return f"Tile<TileType::{arguments}> x; (void)x;"


# name: (body, text of the error)
REFUSED = {
    "short_row": (
        tile_type("Vec, float, 16, 4"),
        "row of a RowMajor tile must be a multiple of 32",
    ),
    "short_column": (
        tile_type("Vec, half, 8, 1, BLayout::ColMajor"),
        "column of a ColMajor tile must be a multiple of 32",
    ),
    "box_columns": (
        tile_type("Mat, half, 16, 8, BLayout::ColMajor, 16, 8, SLayout::RowMajor"),
        "columns must be a multiple of the box columns",
    ),
    "box_rows": (
        tile_type("Mat, float, 8, 8, BLayout::ColMajor, 8, 8, SLayout::RowMajor"),
        "rows must be a multiple of the box rows",
    ),
    "valid": (tile_type("Vec, float, 16, 64, BLayout::RowMajor, 17, 64"), "valid size must not"),
    "fractal": (
        tile_type("Mat, float, 16, 16, BLayout::ColMajor, 16, 16, SLayout::RowMajor, 256"),
        "fractal size must be 512, 1024 or 32",
    ),
    "static_address": (
        "Tile<TileType::Vec, float, 512, 64> x; TASSIGN<0x18000>(x);",
        "does not fit into its memory",
    ),
    "float_address": (VEC + "TASSIGN(a, 1.0f);", "integer address"),
    "integer_pointer": (GLOBAL + "TASSIGN(g, 16);", "can only be assigned a pointer"),
    "const_pointer": (
        GLOBAL + "const float* p = gData; TASSIGN(g, p);",
        "must point to the element type",
    ),
    "stride_count": (
        "Stride<1, 1, 1, -1, -1> s(3); (void)s;",
        "one argument needs exactly 1 dynamic dimension",
    ),
    "types": (VEC + INTS + "TADD(d, a, i);", "must have the same element type"),
    "column_add": (COLUMN + "TADD(out, col, col);", "must be RowMajor without boxes"),
    "column_adds": (COLUMN + "TADDS(out, col, 1);", "source and destination must be RowMajor"),
    "mat_add": (MATRIX + "TADD(m, m, m);", "all tiles must be Vec tiles"),
    "mat_muls": (MATRIX + "TMULS(m, m, 2);", "source and destination must be Vec tiles"),
    "float_and": (VEC + "TAND(d, a, b);", "unsupported element type"),
    "integer_sqrt": (INTS + "TSQRT(i, j);", "unsupported element type"),
    "extra_operand": (VEC + "TMAX(d, a, b, t);", "trailing arguments of an instruction"),
    "load_type": (GLOBAL + VEC + "TLOAD(a, gh);", "element sizes of tile and GlobalTensor"),
    "load_layout": (GLOBAL + VEC + "TLOAD(a, gdn);", "a Vec tile loads ND to ND"),
    "load_left": (
        tensor("q", 0, "float", (32, 32)) + MATRIX + "TLOAD(l, q);",
        "destination must be a Vec or Mat tile",
    ),
    "prefetch_type": (GLOBAL + VEC + "TPREFETCH(a, gh);", "element sizes of tile and GlobalTensor"),
    "prefetch_operands": (
        GLOBAL + VEC + "TPREFETCH(g, a);",
        "operands must be (Tile, GlobalTensor)",
    ),
    "store_type": (GLOBAL + HALVES + "TSTORE(g, h);", "must have the same element type"),
    "move_path": (MATRIX + "TMOV(m, l);", "no such path"),
    "reshape_bytes": (VEC + COLUMN + "TRESHAPE(a, col);", "the same number of bytes"),
    "row_sum_scratch": (VEC + COLUMN + "TROWSUM(col, a);", "TROWSUM"),
    "row_sum_type": (
        tile("u", "uint8_t", (32, 64), 0)
        + tile("v", "uint8_t", (32, 1), 0, layout="dn")
        + "TROWSUM(v, u, u);",
        "TROWSUM: unsupported element type",
    ),
    "col_sum_width": (
        VEC + tile("n", "float", (1, 32), 0) + "TCOLSUM(n, a);",
        "same number of columns",
    ),
    "col_max_type": (
        VEC + tile("n", "half", (1, 64), 0) + "TCOLMAX(n, a);",
        "TCOLMAX: source and destination must have the same element type",
    ),
    "col_sum_type": (
        VEC + tile("n", "half", (1, 64), 0) + "TCOLSUM(n, a);",
        "TCOLSUM: source and destination must have the same element type",
    ),
    "col_max_unsigned": (
        tile("u", "uint32_t", (16, 64), 0) + "TCOLMAX(u, u);",
        "TCOLMAX: unsupported element type",
    ),
    "col_sum_bytes": (
        tile("u", "int8_t", (16, 64), 0) + "TCOLSUM(u, u);",
        "TCOLSUM: unsupported element type",
    ),
    "col_min_type": (
        VEC + tile("n", "half", (1, 64), 0) + "TCOLMIN(n, a);",
        "column reduction: source and destination must have the same element type",
    ),
    "col_prod_type": (
        INTS + tile("n", "int16_t", (1, 64), 0) + "TCOLPROD(n, i);",
        "column reduction: source and destination must have the same element type",
    ),
    "expand_column": (VEC + COLUMN + "TROWEXPANDADD(col, col, col);", "must be RowMajor"),
    "transposed_valid": (
        "Tile<TileType::Vec, float, 16, 64> x, y; TTRANS(y, x, x);",
        "must mirror each other",
    ),
    "fill_without_value": (VEC + "TFILLPAD(d, a);", "the destination must have a pad value"),
    "fill_size": (
        VEC + PADDED + "TFILLPAD(p, a);",
        "TFILLPAD: both tiles must have the same rows and columns",
    ),
    "fill_type": (HALVES + FULL + "TFILLPAD(f, h);", "must have the same element type"),
    "fill_matrix": (
        MATRIX
        + "Tile<TileType::Mat, float, 32, 32, BLayout::ColMajor, 32, 32, SLayout::RowMajor, 512, "
        "PadValue::Max> q; TFILLPAD(q, m);",
        "Mat tiles must be Nz and are filled with zeros",
    ),
    "fill_places": (
        MATRIX
        + "Tile<TileType::Vec, float, 32, 32, BLayout::RowMajor, 32, 32, SLayout::NoneBox, 512, "
        "PadValue::Zero> q; TFILLPAD(q, m);",
        "both tiles must be Vec tiles or both Mat tiles",
    ),
    "part_type": (VEC + HALVES + "TSUBVIEW(a, h, 0, 0);", "must have the same element type"),
    "part_layout": (VEC + COLUMN + "TSUBVIEW(col, a, 0, 0);", "must have the same plain layout"),
    "part_boxes": (MATRIX + "TSUBVIEW(m, m, 0, 0);", "must have the same plain layout"),
    "part_place": (
        VEC + tile("row", "float", (1, 64), 0, location="Mat") + "TSUBVIEW(row, a, 0, 0);",
        "must have the same location",
    ),
    "short_vector": (
        tile("row", "float", (1, 64), 0, location="Mat")
        + "TileLeft<float, 1, 64> q; TMOV(q, row);",
        "one row of a multiple of 512 bytes",
    ),
    "one_type": (
        VEC + tile_type("Vec, float, 16, 64, BLayout::RowMajor, 8, 64") + "TADD(a, b, x);",
        "all tiles must be of one and the same type",
    ),
    "one_type_abs": (
        VEC + tile_type("Vec, float, 16, 128, BLayout::RowMajor, 16, 64") + "TABS(x, a);",
        "all tiles must be of one and the same type",
    ),
    "mask_type": (
        VEC + tile("m", "int8_t", (16, 64), 0) + "TCMP(m, a, b, CmpMode::LT);",
        "the mask must be uint8_t or uint32_t",
    ),
    "wide_mask": (
        VEC + tile("m", "uint32_t", (16, 8), 0) + "TCMP(m, a, b, CmpMode::LT);",
        "the mask must be uint8_t",
    ),
    "compare_type": (
        tile("h", "int16_t", (16, 64), 0)
        + tile("m", "uint8_t", (16, 32), 0)
        + "TCMP(m, h, h, CmpMode::LT);",
        "TCMP: unsupported element type",
    ),
    "column_mask": (
        VEC + tile("m", "uint8_t", (32, 8), 0, layout="dn") + "TCMP(m, a, b, CmpMode::LT);",
        "compare: the mask must be RowMajor without boxes",
    ),
    "column_mask_of_select": (
        VEC + tile("m", "uint8_t", (32, 8), 0, layout="dn") + "TSEL(d, m, a, b, t);",
        "select: the mask must be RowMajor without boxes",
    ),
    "float_mask": (VEC + "TSELS(d, a, b, t, 1.0f);", "the mask must be of integers"),
    "position_type": (
        VEC + tile("p", "int16_t", (16, 16), 0) + "TROWARGMAX(p, a, t);",
        "the index tile must be int32_t or uint32_t",
    ),
    "part_of_type": (
        tile("u", "uint32_t", (16, 64), 0) + "TPARTADD(u, u, u);",
        "TPART: unsupported element type",
    ),
    "sort_type": (INTS + "TSORT32(i, j, k);", "sort: element type must be f32 or f16"),
    "gather_type": (
        VEC + tile("p", "int16_t", (16, 64), 0) + "TGATHER(d, a, p, t);",
        "TGATHER: the index tile must be int32_t or uint32_t",
    ),
    "scatter_width": (
        VEC + tile("p", "int16_t", (16, 64), 0) + "TSCATTER(d, a, p);",
        "the index must be as wide as the data",
    ),
    "window_path": (MATRIX + "TEXTRACT(m, l, 0, 0);", "window: no such path"),
    "carry": (VEC + "TADDC(d, a, b, t);", "TADDC: no NPU has this instruction"),
    "remainder_type": (
        VEC + "Tile<TileType::Vec, float, 16, 64> f; TREMS(d, a, 2, f);",
        "all tiles must be of one and the same type",
    ),
    "product_types": (MATRIX + "TMATMUL(c, l, hr);", "unsupported element types"),
    "product_sizes": (MATRIX + "TMATMUL(c, l, wide);", "do not agree"),
    "product_places": (MATRIX + "TMATMUL(c, m, r);", "must be Acc, Left and Right"),
}
# Rejected only because of the NPU.
LAX = (
    "column_add",
    "mat_add",
    "load_left",
    "load_layout",
    "move_path",
    "store_type",
    "wide_mask",
    "window_path",
    "carry",
    "col_min_type",
    "col_prod_type",
    "column_mask",
)


def compile_text(toolchain: Toolchain, folder: Path, body: str, *flags: str) -> tuple[int, str]:
    source = folder / "kernel.cpp"
    source.write_text(PRELUDE + function("kernel_entry", body))
    command = [*toolchain.command, "-std=c++17", "-c", f"-I{INCLUDE}", *flags, str(source)]
    command += ["-o", str(folder / "kernel.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def verdicts(
    toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, bool], tuple[int, str]]:
    """Compile everything at once: (name, lax) -> exit code and messages."""
    jobs = [(name, False) for name in REFUSED] + [(name, True) for name in LAX]
    root = tmp_path_factory.mktemp("refusals")

    def run(job: tuple[str, bool]) -> tuple[int, str]:
        name, lax = job
        folder = root / f"{name}{int(lax)}"
        folder.mkdir()
        flags = ["-DPTO_CPU_LAX=1"] if lax else []
        return compile_text(toolchain, folder, REFUSED[name][0], *flags)

    with ThreadPoolExecutor(4) as pool:
        return dict(zip(jobs, pool.map(run, jobs), strict=True))


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(verdicts: dict[tuple[str, bool], tuple[int, str]], name: str) -> None:
    """The kernel is rejected, with the expected message."""
    code, messages = verdicts[name, False]
    assert code != 0
    assert REFUSED[name][1] in messages


@pytest.mark.parametrize("name", LAX)
def test_lax_mode(verdicts: dict[tuple[str, bool], tuple[int, str]], name: str) -> None:
    """What only an NPU cannot do compiles with PTO_CPU_LAX."""
    code, messages = verdicts[name, True]
    assert code == 0, messages
