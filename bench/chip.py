"""Kernels whose times on the chip are known, rewritten and simulated.

Prints for each the simulated time beside the measured one, and likewise the share of its core's
time in which each pipe is busy, with what differs in ours. Measured figures are public ones of the
910B: a CSV file with the columns ``id``, ``time_us`` and ``cube_ratio``, ``mte1_ratio`` and so on,
which is given on the command line; without it these columns stay empty.

Large kernels are reduced to a part that repeats, whose time without the launch is multiplied.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pypto.language as pl
from pypto import ir
from pypto._src.cost.model import CostModel
from pypto._src.cost.tables import load_table
from pypto._src.driver import compile_for_evaluator, random_arguments
from pypto._src.timeline.profile import Profile, ProgramSimulator

RATIOS = {
    "M": "cube_ratio",
    "V": "vec_ratio",
    "MTE1": "mte1_ratio",
    "MTE2": "mte2_ratio",
    "MTE3": "mte3_ratio",
    "FIX": "fixpipe_ratio",
}

GEMM = """
import pypto.language as pl

@pl.program
class Gemm:
    @pl.function(type=pl.FunctionType.InCore)
    def core(
        self,
        a: pl.Tensor[[{cm}, {k}], pl.{dtype}],
        b: pl.Tensor[[{cn}, {k}], pl.{dtype}],
        c: pl.Out[pl.Tensor[[{cm}, {cn}], pl.{out}]],
    ):
        for m in pl.range(0, {cm}, {bm}):
            for n in pl.range(0, {cn}, {bn}):
                acc = pl.create_tile([{bm}, {bn}], pl.FP32, target_memory=pl.MemorySpace.Acc)
                for k in {loop}:
                    rows = pl.load(a, [m, k], [{bm}, {wide}], target_memory=pl.MemorySpace.Mat)
                    columns = pl.load(b, [n, k], [{bn}, {wide}], target_memory=pl.MemorySpace.Mat)
                    for s in pl.unroll(0, {wide}, {bk}):
                        left = pl.tile.extract(
                            rows, 0, s, [{bm}, {bk}], target_memory=pl.MemorySpace.Left)
                        right = pl.tile.extract(
                            columns, 0, s, [{bn}, {bk}], target_memory=pl.MemorySpace.Right,
                            transpose=True)
                        if k + s == 0:
                            acc = pl.matmul(left, right)
                        else:
                            acc = pl.matmul_acc(acc, left, right)
                c = pl.store(acc, [m, n], [{bm}, {bn}], c)
        return c

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        a: pl.Tensor[[{m}, {k}], pl.{dtype}],
        b: pl.Tensor[[{n}, {k}], pl.{dtype}],
        c: pl.Out[pl.Tensor[[{m}, {n}], pl.{out}]],
    ):
        for i in pl.range(0, {m}, {cm}):
            for j in pl.range(0, {n}, {cn}):
                pa = pl.tensor.view(a, [{cm}, {k}], [i, 0])
                pb = pl.tensor.view(b, [{cn}, {k}], [j, 0])
                pc = pl.tensor.view(c, [{cm}, {cn}], [i, j])
                pc = self.core(pa, pb, pc)
        return c
"""

COPY = """
import pypto.language as pl

@pl.program
class Copy:
    @pl.function(type=pl.FunctionType.InCore)
    def core(self, x: pl.Tensor[[{rows}, {n}], pl.FP16]):
        for part in pl.range(0, {n}, {slice}):
            for again in pl.range({passes}):
                for r in pl.range(0, {rows}, {tile_rows}):
                    for c in pl.pipeline(0, {slice}, {tile_cols}, stage=2):
                        tile = pl.load(x, [r, part + c], [{tile_rows}, {tile_cols}],
                                       target_memory=pl.MemorySpace.{memory})
                        used = {use}

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[{m}, {pitch}], pl.FP16]):
        for i in pl.range(0, {m}, {rows}):
            part = pl.tensor.view(x, [{rows}, {n}], [i, 0])
            self.core(part)
"""

TOP_K = """
import pypto.language as pl

@pl.program
class TopK:
    @pl.function(type=pl.FunctionType.InCore)
    def core(
        self,
        x: pl.Tensor[[{rows}, 1280], pl.FP32],
        positions: pl.Tensor[[1, 1024], pl.UINT32],
        values: pl.Out[pl.Tensor[[{rows}, 1024], pl.FP32]],
        indices: pl.Out[pl.Tensor[[{rows}, 1024], pl.INT32]],
    ):
        for r in pl.pipeline(0, {rows}, 1, stage=2):
            row = pl.load(x, [r, 0], [1, 1024])
            columns = pl.load(positions, [0, 0], [1, 1024])
            pairs = pl.sort32(row, columns)
            pairs = pl.mrgsort(pairs, block_len=64)
            pairs = pl.mrgsort(pairs, block_len=256)
            pairs = pl.mrgsort(
                pl.view(pairs, [1, 1024], [0, 0]), pl.view(pairs, [1, 1024], [0, 1024]))
            best = pl.gather(pairs, mask_pattern=pl.tile.MaskPattern.P0101)
            at = pl.gather(
                pairs, mask_pattern=pl.tile.MaskPattern.P1010, output_dtype=pl.INT32)
            values = pl.store(best, [r, 0], [1, 1024], values)
            indices = pl.store(at, [r, 0], [1, 1024], indices)
        return values, indices

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[{all_rows}, 1280], pl.FP32],
        positions: pl.Tensor[[1, 1024], pl.UINT32],
        values: pl.Out[pl.Tensor[[{all_rows}, 1024], pl.FP32]],
        indices: pl.Out[pl.Tensor[[{all_rows}, 1024], pl.INT32]],
    ):
        for i in pl.range(0, {all_rows}, {rows}):
            px = pl.tensor.view(x, [{rows}, 1280], [i, 0])
            pv = pl.tensor.view(values, [{rows}, 1024], [i, 0])
            pi = pl.tensor.view(indices, [{rows}, 1024], [i, 0])
            pv, pi = self.core(px, positions, pv, pi)
        return values, indices
"""


def gemm(
    m: int,
    n: int,
    k: int,
    core: tuple[int, int],
    *,
    base: tuple[int, int, int] = (128, 256, 64),
    slices: int = 1,
    stages: int = 1,
    dtype: str = "FP16",
    out: str = "FP32",
) -> str:
    """Return a matrix product with B transposed; each core computes parts of size ``core``.

    ``base`` has the rows, columns and depth of an instruction; a load brings ``slices`` of them,
    while the previous one is in use if ``stages`` is 2.
    """
    (cm, cn), (bm, bn, bk) = core, base
    wide = bk * slices
    loop = f"pl.pipeline(0, {k}, {wide}, stage={stages})"
    names = {"m": m, "n": n, "k": k, "cm": cm, "cn": cn, "bm": bm, "bn": bn, "bk": bk}
    return GEMM.format(**names, wide=wide, loop=loop, dtype=dtype, out=out)


def copy(
    cores: int,
    rows: int,
    tile: tuple[int, int],
    *,
    n: int = 12288,
    memory: str = "Vec",
    pitch: int = 0,
    passes: int = 1,
    slices: int = 1,
) -> str:
    """Return a program that loads each of ``slices`` parts of the columns, ``passes`` times.

    Rows of ``n`` elements have the stride ``pitch``. A little of each tile is used, so that there
    are two buffers with flags: successive loads to one buffer would wait for each other.
    """
    use = "pl.add(pl.view(tile, [1, 64], [0, 0]), 1.0)"
    if memory == "Mat":
        part = "pl.tile.extract(tile, 0, 0, [16, 16], target_memory=pl.MemorySpace.{})"
        use = f"pl.matmul({part.format('Left')}, {part.format('Right')})"
    names = {"rows": rows, "n": n, "m": cores * rows, "tile_rows": tile[0], "tile_cols": tile[1]}
    return COPY.format(
        **names, memory=memory, pitch=pitch or n, passes=passes, slice=n // slices, use=use
    )


def top_k(cores: int, rows: int) -> str:
    """Return a program that sorts rows of 1024 numbers with their positions."""
    return TOP_K.format(rows=rows, all_rows=cores * rows)


@dataclass(frozen=True)
class Kernel:
    """A measured kernel, and our equivalent."""

    id: str
    title: str
    text: str
    scale: float = 1.0
    different: str = ""


buffered = partial(gemm, slices=4, stages=2)

KERNELS = [
    Kernel(
        "k119.gemm",
        "GEMM 8192, one core, tiles 64 x 64 x 64, no buffering",
        gemm(512, 512, 8192, (512, 512), base=(64, 64, 64), out="FP16"),
        scale=256,
        different="its scalar unit is busy 67 % of the time, ours with issue alone",
    ),
    Kernel(
        "k120.gemm",
        "GEMM 8192, one core, tiles 128 x 256 x 64, no buffering",
        gemm(1024, 1024, 8192, (1024, 1024), out="FP16"),
        scale=64,
        different="as above, 26 %",
    ),
    Kernel(
        "k121.gemm",
        "GEMM 8192, 24 cores, tiles 128 x 256 x 64, no buffering",
        gemm(1024, 12 * 768, 8192, (512, 768), out="FP16"),
        scale=8 * 683 / 768,
        different="its loads of 128 bytes a row are a quarter slower than those of one core alone, "
        "and its scalar unit is busy 24 % of the time",
    ),
    Kernel(
        "k001.gemm",
        "GEMM 1536, 24 cores, tiles 128 x 256 x 64, four slices a load, double buffers",
        buffered(1536, 1536, 1536, (384, 256)),
    ),
    Kernel("k002.gemm", "GEMM 3072, the same", buffered(3072, 3072, 3072, (768, 512))),
    Kernel("k003.gemm", "GEMM 6144, the same", buffered(6144, 6144, 6144, (1536, 1024))),
    Kernel("k004.gemm", "GEMM 7680, the same", buffered(7680, 7680, 7680, (1920, 1280))),
    Kernel(
        "k005.gemm",
        "GEMM 6144, FP16 result, the same",
        buffered(6144, 6144, 6144, (1536, 1024), out="FP16"),
        different="its blocks are in an order that keeps panels in the cache",
    ),
    Kernel(
        "k095.gemm",
        "GEMM 5504 x 6144 by 1536, 258 tiles dealt to 24 cores",
        buffered(5504, 1536, 6144, (128, 256), out="FP16"),
        different="each tile is a task",
    ),
    Kernel(
        "k123.gemm",
        "GEMM 8192, 24 cores, parts of 2048 x 1536",
        buffered(8192, 9216, 8192, (2048, 1536), out="FP16"),
        different="bounds of its loops are known at run time",
    ),
    Kernel(
        "k126.gemm",
        "GEMM 8192, 24 cores, the same with constant bounds",
        buffered(8192, 9216, 8192, (2048, 1536), out="FP16"),
    ),
    Kernel(
        "k128.gemm",
        "GEMM 128 x 1024 by 30720, one buffer",
        gemm(128, 30720, 1024, (128, 1280), slices=4, out="FP16"),
    ),
    Kernel(
        "k100.copy",
        "loads of 64 x 1024 to 48 vector cores, rows begin anywhere",
        copy(48, 64, (64, 1024), pitch=12289),
        scale=4,
        different="rows off the grid of 512 bytes load slower, which the model does not know",
    ),
    Kernel(
        "k101.copy",
        "loads of 64 x 64 to 24 matrix cores",
        copy(24, 64, (64, 64), memory="Mat"),
        scale=8,
    ),
    Kernel(
        "k103.copy",
        "loads of 64 x 256 to 24 matrix cores, rows begin anywhere",
        copy(24, 64, (64, 256), memory="Mat", pitch=12289),
        scale=8,
        different="as above: at half the speed",
    ),
    Kernel(
        "k104.copy",
        "loads of 64 x 1024 to 48 vector cores, four passes that miss",
        copy(48, 64, (64, 1024)),
        scale=4 * 4,
    ),
    Kernel(
        "k105.copy",
        "loads of 64 x 1024 to 48 vector cores, four passes of which three hit",
        copy(48, 64, (64, 1024), passes=4, slices=4),
        scale=4,
    ),
    Kernel(
        "k106.copy",
        "loads of 64 x 256 to 24 matrix cores, four passes that miss",
        copy(24, 64, (64, 256), memory="Mat"),
        scale=8 * 4,
    ),
    Kernel(
        "k107.copy",
        "loads of 64 x 256 to 24 matrix cores, four passes of which three hit",
        copy(24, 64, (64, 256), memory="Mat", passes=4, slices=4),
        scale=8,
    ),
    Kernel(
        "k011.topk",
        "top 1000 of 1024 of 4800 rows",
        top_k(48, 100),
        different="merges of runs longer than 64 were never measured apart: ours cost as much each",
    ),
    Kernel("k012.topk", "top 1000 of 1024 of 3456 rows", top_k(48, 72), different="as above"),
]


def simulate(text: str) -> Profile:
    """Return the profile of a program on random arguments."""
    program = pl.parse(text)
    assert isinstance(program, ir.Program)
    found: list[ProgramSimulator] = []

    def make(lowered: ir.Program) -> ProgramSimulator:
        found.append(ProgramSimulator(lowered, CostModel(load_table("a2a3"))))
        return found[0]

    compiled = compile_for_evaluator(program, None, make)
    compiled(*random_arguments(compiled, 0, {}).values())
    profile = found[0].profile
    assert profile is not None
    return profile


def shown(kernel: Kernel, measured: dict[str, str]) -> list[str]:
    """Return the printed lines for one kernel."""
    profile = simulate(kernel.text)
    launch = profile.launch / profile.mhz
    us = launch + (profile.us - launch) * kernel.scale
    known = measured.get("time_us") or ""
    ratio = f"{us / float(known):6.2f}" if known else "     -"
    [core] = profile.kernels
    busy = {pipe.name: cycles / core.cycles for pipe, cycles in core.busy.items()}
    shares = [
        f"{pipe} {busy[pipe]:.0%}" + (f" ({float(measured[key]):.0%})" if measured.get(key) else "")
        for pipe, key in RATIOS.items()
        if pipe in busy
    ]
    return [
        f"{kernel.id:<12}{us:>12.1f}{known or '-':>12}{ratio}  {kernel.title}",
        f"{'':<12}busy: {', '.join(shares)}",
        *([f"{'':<12}{kernel.different}"] if kernel.different else []),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate all kernels, or those whose ids begin with one of the given words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="beginnings of ids")
    parser.add_argument("--measured", type=Path, metavar="FILE.csv", help="the measured times")
    args = parser.parse_args(argv)
    rows: dict[str, dict[str, str]] = {}
    if args.measured is not None:
        with args.measured.open(encoding="utf-8", newline="") as file:
            rows = {row["id"]: row for row in csv.DictReader(file)}
    print(f"{'kernel':<12}{'simulated us':>12}{'measured us':>12} ratio  busy: ours (measured)")
    for kernel in KERNELS:
        if not args.names or kernel.id.startswith(tuple(args.names)):
            print(*shown(kernel, rows.get(kernel.id, {})), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
