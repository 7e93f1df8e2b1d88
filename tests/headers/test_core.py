"""Tile memory, errors, threads and blocks; warnings and sanitizers."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pypto._src.run.toolchain import Toolchain
from tests import effort
from tests.headers import test_values
from tests.headers.harness import INCLUDE, PRELUDE, WARNINGS, Library, function, tensor, tile

SHAPE = (8, 16)
IO = tensor("g", 0, "float", SHAPE) + tensor("gd", 1, "float", SHAPE)
KERNELS: dict[str, str] = {
    # The same bytes as three types, and the same address in another location.
    "alias": IO
    + tile("a", "float", SHAPE, 0x100)
    + tile("bits", "int32_t", SHAPE, 0x100)
    + tile("d", "float", SHAPE, 0x100)
    + tile("m", "float", SHAPE, 0x100, location="Mat")
    + "TLOAD(a, g); TEXPANDS(m, 5); TANDS(bits, bits, 0x7fffffff); TSTORE(gd, d);",
    "copy_handle": IO
    + tile("a", "float", SHAPE, 0)
    + tile("b", "float", SHAPE, 0x400)
    + "TLOAD(a, g); TADDS(b, a, 1);\n"
    + "aType c(8, 16); c = args[2] > 0 ? a : b; TSTORE(gd, c);",
    "top": IO + tile("a", "float", SHAPE, 192 * 1024 - 512) + "TLOAD(a, g); TSTORE(gd, a);",
    "block": "int64_t* p = reinterpret_cast<int64_t*>(args[0]);\n"
    "p[0] = get_block_idx(); p[1] = get_block_num();",
    "own_memory": IO
    + tile("a", "float", SHAPE, 0)
    + "if (args[2] != 0) { TLOAD(a, g); }\nTSTORE(gd, a);",
}
WRONG: dict[str, tuple[str, str]] = {
    "beyond": (tile("a", "float", SHAPE, 192 * 1024 - 480), "does not fit"),
    "negative": (tile("a", "float", SHAPE, 0) + "TASSIGN(a, -64);", "does not fit"),
    "misaligned": (tile("a", "float", SHAPE, 0x104), "multiple of 32"),
    "unassigned": ("Tile<TileType::Vec, float, 8, 16> a;", "without an address"),
    "too_valid": (tile("a", "float", SHAPE, 0, valid=(9, 16)), "larger than the physical"),
    "mismatch": (tile("a", "float", SHAPE, 0, valid=(7, 16)), "TLOAD: shape"),
    "small_source": (
        tile("a", "float", SHAPE, 0)
        + tile("b", "float", SHAPE, 0x400, valid=(4, 16))
        + "TADD(a, a, b);",
        "smaller than the valid region",
    ),
}
for _name, (_text, _) in WRONG.items():
    KERNELS[f"wrong_{_name}"] = IO + _text + "\nTLOAD(a, g); TSTORE(gd, a);"
KERNELS["wrong_store"] = (
    IO + tile("a", "float", SHAPE, 0) + "TLOAD(a, g); a.SetValidShape(8, 12); TSTORE(gd, a);"
)


@pytest.fixture(scope="module")
def library(toolchain: Toolchain) -> Library:
    return Library(KERNELS, toolchain)


def ramp() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.arange(128, dtype=np.float32).reshape(SHAPE)


def test_addresses_alias(library: Library) -> None:
    """Tiles at one address share bytes, whatever their types; other locations do not alias."""
    out = np.zeros(SHAPE, np.float32)
    library.run("alias", -ramp(), out)
    np.testing.assert_array_equal(out, ramp())  # the mask removed the sign bit


@pytest.mark.parametrize("first", [0, 1])
def test_assignment_copies_the_handle(library: Library, first: int) -> None:
    """A tile assigned from another one refers to the same memory."""
    out = np.zeros(SHAPE, np.float32)
    library.run("copy_handle", ramp(), out, first)
    np.testing.assert_array_equal(out, ramp() + (1 - first))


def test_last_byte_is_usable(library: Library) -> None:
    """A tile may end exactly where its memory ends."""
    out = np.zeros(SHAPE, np.float32)
    library.run("top", ramp(), out)
    np.testing.assert_array_equal(out, ramp())


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_recorded(library: Library, name: str) -> None:
    """An invalid tile records an error in its thread, and the instruction does no harm."""
    out = np.full(SHAPE, 7, np.float32)
    library.start()
    library.call(f"wrong_{name}", ramp(), out)
    message = library.error()
    assert message is not None
    assert WRONG[name][1] in message
    library.run("top", ramp(), out)  # a fresh start clears it


def test_a_refused_store_writes_nothing(library: Library) -> None:
    """TSTORE checks the tile's valid region against the GlobalTensor."""
    out = np.full(SHAPE, 7, np.float32)
    library.start()
    library.call("wrong_store", ramp(), out)
    assert library.error() is not None
    assert (out == 7).all()


def test_blocks(library: Library) -> None:
    """The launcher sets which block runs."""
    out = np.zeros(2, np.int64)
    library.run("block", out)
    assert out.tolist() == [0, 1]
    library.block(3, 24)
    library.run("block", out)
    library.block(0, 1)
    assert out.tolist() == [3, 24]


def test_each_thread_has_its_own_core(library: Library) -> None:
    """Tile memory and errors belong to one thread."""
    library.run("own_memory", ramp(), np.zeros(SHAPE, np.float32), 1)

    def other() -> tuple[float, str | None]:
        out = np.full(SHAPE, 7, np.float32)
        library.call("own_memory", ramp(), out, 0)
        first = float(out.max())
        library.call("wrong_misaligned", ramp(), out)
        return first, library.error()

    with ThreadPoolExecutor(1) as pool:
        largest, message = pool.submit(other).result()
    assert largest == 0  # fresh memory is zero
    assert message is not None
    assert library.error() is None
    out = np.zeros(SHAPE, np.float32)
    library.call("own_memory", ramp(), out, 0)
    np.testing.assert_array_equal(out, ramp())


# --------------------------------------------------------------------------------- whole programs
# Kernels of test_values that cover every driver, and the size of the arrays they get.
SAMPLE = (
    "TADD_float",
    "TMUL_half",
    "TDIV_int16_t",
    "TSHL_int32_t",
    "TEXP_float",
    "TLOG_bfloat16_t",
    "TRSQRT_half",
    "TROWSUM_half_1100",
    "TCOLMAX_float_200",
    "TROWEXPANDSUB_half",
    "TCOLEXPANDDIV_bfloat16_t",
    "block_float",
    "cvt_ODD_ON",
    "cvt_RINT_OFF",
    "widen_in_place",
    "trans_int8_t_64",
    "nd_nz_half",
    "mm_float_40_50",
    "bias_int8_t",
    "cast_half",
    "atomic",
    "gemv",
)
MAIN = """
#include <cstdlib>
#include <cstring>
int main() {{
    const std::size_t bytes = 1 << 17;
    int64_t args[4];
    const int bytes_of_memory[] = {{0x00, 0x3c, 0x7f, 0x80, 0xff}};
    for (int byte : bytes_of_memory) {{
        for (int64_t& word : args) {{
            void* block = std::malloc(bytes);
            std::memset(block, byte, bytes);
            word = reinterpret_cast<int64_t>(block);
        }}
        pto::cpu::poison(static_cast<uint8_t>(byte));
        {calls}
        for (int64_t word : args) std::free(reinterpret_cast<void*>(word));
    }}
    return pto::cpu::error() == nullptr ? 0 : 1;
}}
"""


def program() -> str:
    functions = "".join(function(name, test_values.KERNELS[name]) for name in SAMPLE)
    return PRELUDE + functions + MAIN.format(calls=" ".join(f"{name}(args);" for name in SAMPLE))


def compile_program(toolchain: Toolchain, folder: Path, text: str, *flags: str) -> Path:
    source = folder / "program.cpp"
    source.write_text(text)
    result = folder / "program"
    command = [*toolchain.command, f"-I{INCLUDE}", *WARNINGS, *flags, str(source)]
    done = subprocess.run(
        [*command, "-o", str(result)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return result


MODES = (
    ("-std=c++17", "-O2"),
    ("-std=c++20", "-O0", "-march=native"),
    ("-std=c++17", "-O0", "-DPTO_CPU_SOFT_HALF"),
)


@pytest.mark.parametrize("flags", effort.part(MODES, 2), ids=" ".join)
def test_compiles_without_warnings(
    toolchain: Toolchain, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """The headers are clean under -Wall -Wextra -Werror and run with any memory contents."""
    if "-march=native" in flags and not toolchain.tuning:
        flags = tuple(flag for flag in flags if flag != "-march=native")
    path = compile_program(toolchain, tmp_path, program(), *flags)
    assert subprocess.run([path], check=False, timeout=250).returncode == 0


def test_sanitizers(toolchain: Toolchain, tmp_path: Path) -> None:
    """No instruction leaves its memory or has undefined behaviour, whatever its input bytes."""
    kinds = "undefined" if toolchain.kind == "zig" else "address,undefined"
    flags = ("-std=c++17", "-O1", "-g0", f"-fsanitize={kinds}", "-fno-sanitize-recover=all")
    probe = tmp_path / "probe"
    probe.mkdir()
    try:
        compile_program(toolchain, probe, "int main() { return 0; }\n", *flags)
    except AssertionError:
        pytest.skip("this compiler has no sanitizer runtime")
    path = compile_program(toolchain, tmp_path, program(), *flags)
    done = subprocess.run([path], capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 0, done.stderr


SEED = """
// Unpack arguments
__gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
__gm__ float* output = reinterpret_cast<__gm__ float*>(args[1]);
using xShapeDim5 = Shape<1, 1, 1, 128, 64>;
using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
xGlobalType xGlobal(x);
using outputGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
outputGlobalType outputGlobal(output);
using tile_xType = Tile<TileType::Vec, float, 128, 64, BLayout::RowMajor, -1, -1>;
tile_xType tile_x(128, 64);
TASSIGN(tile_x, 0x0);
tile_xType tile_z(128, 64);
TASSIGN(tile_z, 0x20000);
for (int64_t i = 0; i < 2; i += 1) {
    TASSIGN(xGlobal, x + i * 8192);
    TLOAD(tile_x, xGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TADD(tile_z, tile_x, tile_x);
    pipe_barrier(PIPE_V);
    RecordEvent done = TMULS(tile_z, tile_z, 0.5);
    Event<Op::TMULS, Op::TADDS> event(done);
    TADDS(tile_z, tile_z, 1, event);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(outputGlobal, output + i * 8192 + 0);
    TSTORE(outputGlobal, tile_z);
}
"""


def test_emitted_form(toolchain: Toolchain) -> None:
    """The emitter's form of a kernel compiles unchanged into a shared object."""
    library = Library({"seed": SEED}, toolchain)
    a = np.random.default_rng(1).random((256, 64), np.float32)
    out = np.zeros_like(a)
    library.run("seed", a, out)
    np.testing.assert_array_equal(out, a + 1)
