"""Deferred loads, and operands in tile-register layout: neither has an observable effect.

A random sequence of instructions runs twice: with tensors registered by the launcher, so that
loads are deferred to their readers, and without, in a build without vectors and tile registers.
All numbers are small integers, so that every sum is exact and the results must be bit-identical.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from pypto._src.run.toolchain import Toolchain
from tests import effort
from tests.headers.harness import DTYPES, Array, Library, tensor, tile
from tests.headers.test_accuracy import variant

SIDE = 96  # of both tensors
SIZE = 64  # of most tiles
FIELDS = 8
LOAD, MOVE, EXTRACT, FILL, PRODUCT, LOOK, SCATTER = range(7)

# Mat tiles: B follows A, O overlaps both, S at A's address with half its rows, W is A's bytes as
# columns; M and N are handles of A's and B's bytes with rows and columns exchanged.
MATS = ("A", "B", "O", "S", "W", "M", "N")
LOADED = ("A", "B", "O", "S", "W")
ROWS = {"S": 32}
OPERANDS = ("L", "R", "H")  # H is a Left tile of 32 rows at L's address

KERNEL = """
constexpr int kSide = 96;
using T = @T@;
auto* first = reinterpret_cast<T*>(args[0]);
auto* second = reinterpret_cast<T*>(args[1]);
auto* code = reinterpret_cast<int64_t*>(args[2]);
auto* out = reinterpret_cast<float*>(args[4]);
auto* dump = reinterpret_cast<char*>(args[5]);
if (args[6] != 0) {
    pto::cpu::allow(first, kSide * kSide * sizeof(T));
    pto::cpu::allow(second, kSide * kSide * sizeof(T));
}
using Sizes = Shape<1, 1, 1, -1, -1>;
constexpr int64_t size = 64 * 64 * sizeof(T);
using Nz = Tile<TileType::Mat, T, 64, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
using Zn = Tile<TileType::Mat, T, 64, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
using Half = Tile<TileType::Mat, T, 32, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
Nz A(64, 64), B(64, 64), O(64, 64);
Half S(32, 64);
Zn W(64, 64), M(64, 64), N(64, 64);
TASSIGN(A, 0); TASSIGN(B, size); TASSIGN(O, size / 2); TASSIGN(S, 0); TASSIGN(W, 0);
TRESHAPE(M, A); TRESHAPE(N, B);
Tile<TileType::Left, T, 64, 64, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512> L(64, 64);
Tile<TileType::Left, T, 32, 64, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512> H(32, 64);
Tile<TileType::Right, T, 64, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512> R(64, 64);
TASSIGN(L, 0); TASSIGN(H, 0); TASSIGN(R, 0);
using Sum = @SUM@;
Tile<TileType::Acc, Sum, 64, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024> C(64, 64);
Tile<TileType::Acc, Sum, 32, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024> D(32, 64);
TASSIGN(C, 0); TASSIGN(D, 0);
Tile<TileType::Vec, T, 16, 64, BLayout::RowMajor, -1, -1> v(16, 64);
Tile<TileType::Vec, T, 1, 64> line;
Tile<TileType::Vec, int32_t, 1, 64> index;
TASSIGN(v, 0); TASSIGN(line, 0x4000); TASSIGN(index, 0x5000);

const auto with_mat = [&](int64_t which, auto&& f) {
    if (which == 0) f(A); else if (which == 1) f(B); else if (which == 2) f(O);
    else if (which == 3) f(S); else if (which == 4) f(W); else if (which == 5) f(M); else f(N);
};
const auto with_operand = [&](int64_t which, auto&& f) {
    if (which == 0) f(L); else if (which == 1) f(R); else f(H);
};
for (int64_t i = 0; i < args[3]; ++i) {
#if PTO_HAVE_AMX
    pto::detail::amx_skip_count[0] = pto::detail::amx_skip_count[1] = 0;
#endif
    const int64_t* op = code + 8 * i;
    const int64_t tile = op[1], r = op[2], c = op[3], rows = op[4], cols = op[5];
    const int64_t x = op[6], y = op[7];
    if (op[0] == 0) {
        T* from = (x != 0 ? second : first) + r * kSide + c;
        if (tile == 4) {
            GlobalTensor<T, Sizes, Stride<1, 1, 1, 1, kSide>, Layout::DN> g(from, {rows, cols});
            W.SetValidShape(rows, cols);
            TLOAD(W, g);
        } else {
            GlobalTensor<T, Sizes, Stride<1, 1, 1, kSide, 1>> g(from, {rows, cols});
            if (tile == 0) { A.SetValidShape(rows, cols); TLOAD(A, g); }
            if (tile == 1) { B.SetValidShape(rows, cols); TLOAD(B, g); }
            if (tile == 2) { O.SetValidShape(rows, cols); TLOAD(O, g); }
            if (tile == 3) { S.SetValidShape(rows, cols); TLOAD(S, g); }
        }
    } else if (op[0] == 1 || op[0] == 2) {
        with_mat(tile, [&](auto& s) {
            using Source = std::remove_reference_t<decltype(s)>;
            with_operand(x, [&](auto& d) {
                using Target = std::remove_reference_t<decltype(d)>;
                d.SetValidShape(rows, cols);
                if (op[0] == 2) {
                    s.SetValidShape(Source::Rows, 64);
                    TEXTRACT(d, s, r, c);
                } else if constexpr (Source::Rows == Target::Rows) {
                    s.SetValidShape(rows, cols);
                    TMOV(d, s);
                }
            });
        });
    } else if (op[0] == 3) {
        T* to = first + r * kSide + c;
        GlobalTensor<T, Sizes, Stride<1, 1, 1, kSide, 1>> g(to, {rows, cols});
        v.SetValidShape(rows, cols);
        TEXPANDS(v, static_cast<T>(x));
        TSTORE(g, v);
    } else if (op[0] == 4) {
        const auto multiply = [&](auto& sum, auto& left) {
            left.SetValidShape(rows, x);
            R.SetValidShape(x, cols);
            sum.SetValidShape(rows, cols);
            TMATMUL(sum, left, R);
            if (y != 0) {
                TMATMUL_ACC(sum, sum, left, R);
            }
            for (int a = 0; a < rows; ++a) {
                for (int b = 0; b < cols; ++b) {
                    *out++ = static_cast<float>(sum.GetElement(a, b));
                }
            }
        };
        if (tile == 0) multiply(C, L); else multiply(D, H);
    } else if (op[0] == 5) {
        with_mat(tile, [&](auto& s) { *out++ = static_cast<float>(s.GetElement(r, c)); });
    } else {
        GlobalTensor<T, Shape<1, 1, 1, kSide, kSide>, Stride<1, 1, 1, kSide, 1>> g(first);
        TEXPANDS(line, static_cast<T>(x));
        TCI<decltype(index), int32_t, 0>(index, static_cast<int32_t>(r * kSide + c));
        MSCATTER<Coalesce::Elem>(g, line, index);
    }
}
std::memcpy(dump, A.data(), size);
std::memcpy(dump + size, B.data(), size);
"""
DTYPE_SUMS = {"float": "float", "bfloat16_t": "float", "half": "float", "int8_t": "int32_t"}
KERNELS = {
    f"held_{dtype}": KERNEL.replace("@T@", dtype).replace("@SUM@", total)
    for dtype, total in DTYPE_SUMS.items()
}


def kept(before: tuple[int, ...] | None, rows: int, cols: int) -> tuple[int, int]:
    """Return the part of an operand known after a move; whole boxes do not affect others."""
    whole = rows % 32 == 0 and cols % 32 == 0
    if whole and before is not None and rows <= before[0] and cols <= before[1]:
        return before[0], before[1]
    return rows, cols


@dataclass
class Writer:
    """Writes a random program whose products only read what was moved before."""

    rng: np.random.Generator
    code: list[list[int]] = field(default_factory=list[list[int]])
    left: tuple[int, int, int] | None = None
    right: tuple[int, int] | None = None
    results: int = 0

    def size(self, most: int) -> int:
        """Return a size up to ``most``: often all of it, or a multiple of a box."""
        kind = int(self.rng.integers(4))
        if kind < 2:
            return most
        if kind == 2:
            return int(self.rng.integers(1, most // 16 + 1)) * 16
        return int(self.rng.integers(1, most + 1))

    def step(self) -> None:
        """Append one instruction."""
        kind = int(self.rng.choice(7, p=[0.3, 0.2, 0.16, 0.07, 0.18, 0.06, 0.03]))
        tile = int(self.rng.integers(len(LOADED) if kind == LOAD else len(MATS)))
        most = ROWS.get(MATS[tile], SIZE)
        rows, cols = self.size(most), self.size(SIZE)
        r, c = (int(x) for x in self.rng.integers(0, SIDE - SIZE, 2))
        if kind == LOAD:
            self.add(kind, tile, r, c, rows, cols, int(self.rng.integers(2)))
        elif kind in (MOVE, EXTRACT):
            self.operand(kind, tile, most)
        elif kind == FILL:
            self.add(kind, 0, r, c, self.size(16), cols, int(self.rng.integers(-3, 4)))
        elif kind == PRODUCT:
            self.product()
        elif kind == LOOK:
            at = self.rng.integers(0, (most, SIZE))
            self.add(kind, tile, int(at[0]), int(at[1]))
            self.results += 1
        else:
            self.add(kind, 0, r, c, 0, 0, int(self.rng.integers(-3, 4)))

    def operand(self, kind: int, tile: int, most: int) -> None:
        """Append a move or an extraction of any window."""
        to = int(self.rng.integers(3))
        half = OPERANDS[to] == "H"
        if kind == MOVE and half != (most == 32):
            return
        high = min(32 if half else SIZE, most)
        rows, cols = self.size(high), self.size(SIZE)
        r, c = 0, 0
        if kind == EXTRACT:
            unit = int(self.rng.choice([1, 16, 32]))
            r = int(self.rng.integers(0, most - rows + 1)) // unit * unit
            c = int(self.rng.integers(0, SIZE - cols + 1)) // unit * unit
        self.add(kind, tile, r, c, rows, cols, to)
        if OPERANDS[to] == "R":
            self.right = kept(self.right, rows, cols)
        elif self.left is not None and self.left[0] == to:
            self.left = (to, *kept(self.left[1:], rows, cols))
        else:
            self.left = (to, rows, cols)

    def product(self) -> None:
        """Append a product of the valid parts, or of smaller ones."""
        if self.left is None or self.right is None:
            return
        to, rows, deep = self.left
        k, cols = min(deep, self.right[0]), self.right[1]
        if self.rng.integers(3) == 0:
            rows, k, cols = self.size(rows) if rows > 16 else rows, max(1, k // 2), cols
        again = int(self.rng.integers(2))
        self.add(PRODUCT, to, 0, 0, rows, cols, k, again)
        self.results += rows * cols

    def add(self, *words: int) -> None:
        """Append the words of an instruction, padded with zeros."""
        self.code.append([*words, *[0] * (FIELDS - len(words))])


def run(library: Library, dtype: str, code: Array, results: int, late: bool) -> list[Array]:
    """Run a program and return both tensors, its output, and the bytes of Mat memory."""
    rng = np.random.default_rng(7)
    tensors = [rng.integers(-3, 4, (SIDE, SIDE)).astype(DTYPES[dtype]) for _ in range(2)]
    out = np.zeros(max(results, 1), np.float32)
    dump = np.zeros(2 * SIZE * SIZE * DTYPES[dtype].itemsize, np.uint8)
    library.start(0)
    library.call(f"held_{dtype}", *tensors, code, len(code), out, dump, int(late))
    assert library.error() is None
    return [*(t.view(np.uint8) for t in tensors), out, dump]


@pytest.mark.parametrize("flags", effort.part(("", "-mno-avx512f", "-DPTO_SCALAR"), 3))
def test_nobody_can_tell(toolchain: Toolchain, flags: str) -> None:
    """Random programs give the same bits with and without deferred loads."""
    late = Library(KERNELS, variant(toolchain, flags))
    plain = Library(KERNELS, variant(toolchain, "-DPTO_SCALAR"))
    for dtype in DTYPE_SUMS:
        for seed in range(effort.count(50, thorough_run=150)):
            writer = Writer(np.random.default_rng(seed))
            while len(writer.code) < 40:
                writer.step()
            code = np.array(writer.code, np.int64)
            found = run(late, dtype, code, writer.results, late=True)
            wanted = run(plain, dtype, code, writer.results, late=False)
            for index, (a, b) in enumerate(zip(found, wanted, strict=True)):
                assert np.array_equal(a, b), (dtype, seed, index, _listing(writer.code))


def _listing(code: list[list[int]]) -> Any:
    names = ("load", "move", "extract", "fill", "product", "look", "scatter")
    return [(names[op], *rest) for op, *rest in code]


WAITS = (
    tensor("g", 0, "float", (32, 64))
    + tile("mat", "float", (32, 64), 0, layout="nz", location="Mat")
    + "auto* count = reinterpret_cast<int64_t*>(args[1]);\n"
    + "const int& held = pto::detail::kernel_state.held.count;\n"
    + "TLOAD(mat, g); count[0] = held;\n"
    + "pto::cpu::reset_error(); pto::cpu::allow(gData, 32 * 64 * 4);\n"
    + "TLOAD(mat, g); count[1] = held;\n"
    + "count[2] = static_cast<int64_t>(mat.GetElement(5, 9)); count[3] = held;\n"
    + "TLOAD(mat, g); pto::cpu::reset_error(); count[4] = held;\n"
)


def test_loads_wait_during_a_launch(toolchain: Toolchain) -> None:
    """With registered tensors, a load is deferred until its bytes are read or the launch ends."""
    library = Library({"waits": WAITS}, toolchain)
    x = np.arange(32 * 64, dtype=np.float32).reshape(32, 64)
    count = np.full(5, -1)
    library.run("waits", x, count)
    assert count.tolist() == [0, 1, 5 * 64 + 9, 0, 0]
