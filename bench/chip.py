"""Kernels whose times on the chip are known, written again and simulated.

Prints for each the simulated time beside the measured one, and the same of the share of its core's
time in which each pipe is busy, with what is different in ours. Measured are public figures of the
910B: a CSV file with the columns ``id``, ``time_us`` and ``cube_ratio``, ``mte1_ratio`` and so on,
which is given on the command line; without it these columns stay empty.

Large kernels are cut to a part that repeats, whose time without the launch is multiplied.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import dataclass
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
        a: pl.Tensor[[{cm}, {k}], pl.FP16],
        b: pl.Tensor[[{b_core}], pl.FP16],
        c: pl.Out[pl.Tensor[[{cm}, {cn}], pl.{out}]],
    ):
        for m in pl.range(0, {cm}, {bm}):
            for n in pl.range(0, {cn}, {bn}):
{body}
        return c

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        a: pl.Tensor[[{m}, {k}], pl.FP16],
        b: pl.Tensor[[{b_all}], pl.FP16],
        c: pl.Out[pl.Tensor[[{m}, {n}], pl.{out}]],
    ):
        for i in pl.range(0, {m}, {cm}):
            for j in pl.range(0, {n}, {cn}):
                pa = pl.tensor.view(a, [{cm}, {k}], [i, 0])
                pb = pl.tensor.view(b, [{b_core}], [{b_at}])
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
        for r in pl.range(0, {rows}, {tile_rows}):
            for c in pl.range(0, {n}, {tile_cols}):
                tile = pl.load(x, [r, c], [{tile_rows}, {tile_cols}])

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[{m}, {n}], pl.FP16]):
        for i in pl.range(0, {m}, {rows}):
            part = pl.tensor.view(x, [{rows}, {n}], [i, 0])
            self.core(part)
"""


@dataclass(frozen=True)
class Gemm:
    """A matrix product: its size, that of a core's part, and of a tile of the product."""

    m: int
    n: int
    k: int
    core: tuple[int, int]
    base: tuple[int, int, int]  # rows, columns, k
    buffers: int = 1  # how many slices of k are loaded before the first is used
    b_is_transposed: bool = False
    out: str = "FP32"

    def text(self) -> str:
        """Return the program."""
        (cm, cn), (bm, bn, _) = self.core, self.base
        b_core, b_all, b_at = f"{self.k}, {cn}", f"{self.k}, {self.n}", "0, j"
        if self.b_is_transposed:
            b_core, b_all, b_at = f"{cn}, {self.k}", f"{self.n}, {self.k}", "j, 0"
        return GEMM.format(
            m=self.m,
            n=self.n,
            k=self.k,
            cm=cm,
            cn=cn,
            bm=bm,
            bn=bn,
            b_core=b_core,
            b_all=b_all,
            b_at=b_at,
            out=self.out,
            body="\n".join(self._body()),
        )

    def _body(self) -> list[str]:
        bm, bn, bk = self.base
        depth = bk * self.buffers
        inner = [f"    {line}" for line in self._step("kk + ", is_first=False)]
        lines = [
            *self._step("", is_first=True),
            *[f"for kk in pl.range({depth}, {self.k}, {depth}):", *inner],
            f"c = pl.store(acc, [m, n], [{bm}, {bn}], c)",
        ]
        return [" " * 16 + line for line in lines]

    def _step(self, at: str, *, is_first: bool) -> list[str]:
        bm, bn, bk = self.base
        lines: list[str] = []
        for u in range(self.buffers):
            here = f"{at}{u * bk}"
            b_at, b_size = f"{here}, n", f"{bk}, {bn}"
            if self.b_is_transposed:
                b_at, b_size = f"n, {here}", f"{bn}, {bk}"
            mat = "target_memory=pl.MemorySpace.Mat"
            lines.append(f"a{u} = pl.load(a, [m, {here}], [{bm}, {bk}], {mat})")
            lines.append(f"b{u} = pl.load(b, [{b_at}], [{b_size}], {mat})")
        turn = ", transpose=True" if self.b_is_transposed else ""
        for u in range(self.buffers):
            lines.append(f"l{u} = pl.move(a{u}, target_memory=pl.MemorySpace.Left)")
            lines.append(f"r{u} = pl.move(b{u}, target_memory=pl.MemorySpace.Right{turn})")
        for u in range(self.buffers):
            call = "pl.matmul(" if is_first and u == 0 else "pl.matmul_acc(acc, "
            lines.append(f"acc = {call}l{u}, r{u})")
        return lines


@dataclass(frozen=True)
class Kernel:
    """A measured kernel, and ours in its place."""

    id: str
    title: str
    text: str
    scale: float = 1.0
    different: str = ""


def copy(cores: int, rows: int, n: int, tile: tuple[int, int]) -> str:
    """Return a program that only loads."""
    names = {"rows": rows, "n": n, "m": cores * rows, "tile_rows": tile[0], "tile_cols": tile[1]}
    return COPY.format(**names)


KERNELS = [
    Kernel(
        "k119.gemm",
        "GEMM 8192, one core, tiles 64 x 64 x 64, no buffering",
        Gemm(512, 512, 8192, (512, 512), (64, 64, 64), 1, True, "FP16").text(),
        scale=256,
        different="its scalar unit is busy 67 % of the time, ours with issue alone",
    ),
    Kernel(
        "k120.gemm",
        "GEMM 8192, one core, tiles 128 x 256 x 64, no buffering",
        Gemm(1024, 1024, 8192, (1024, 1024), (128, 256, 64), 1, True, "FP16").text(),
        scale=64,
        different="as above, 26 %",
    ),
    Kernel(
        "k001.gemm",
        "GEMM 1536, 24 cores, tiles 128 x 256 x 64, double buffers",
        Gemm(1536, 1536, 1536, (384, 256), (128, 256, 64), 2).text(),
        different="rows of A are loaded by 128 B, not 512, as tiles in Mat have no parts here: "
        "278 cycles more a slice of k, 0.28 of the ratio",
    ),
    Kernel(
        "k002.gemm",
        "GEMM 3072, 24 cores, tiles 128 x 256 x 64, double buffers",
        Gemm(3072, 3072, 3072, (768, 512), (128, 256, 64), 2).text(),
        different="as above, 0.42 of the ratio",
    ),
    Kernel(
        "k104.copy",
        "loads of 64 x 1024 to 48 vector cores, four passes that miss",
        copy(48, 64, 12288, (64, 1024)),
        scale=4 * 4,
        different="one buffer: each load waits for the one before it",
    ),
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
    """Return the lines for one kernel."""
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
        f"{'':<12}{kernel.different}",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate all kernels, or those whose id begins with one of the given words."""
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
