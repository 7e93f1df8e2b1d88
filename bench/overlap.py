"""What overlapping the loads, work and stores of loops brings: simulated times before and after.

Each program is simulated for the 910B as written and with ``--overlap`` (docs/profiling.md). ``us``
is the whole run with its launch, ``bound`` the least time the chip would need, as a share of the
time after the launch; ``busy`` the share of its time in which the busiest pipe of the slowest
kernel is at work, and which pipe that is.

The last three are regions with matrix and vector work, whose loops the host runs: an iteration
begins while the previous one is running, with slots for what it passes on. They are small, so that
the chip has nothing else to do meanwhile.

All programs are simulated whole, except the kernels by rows: 8160 of 8192 rows, 170 for each core,
and the time without the launch is multiplied by 8192 / 8160. Flash attention takes minutes;
``--heads 3`` simulates three of its heads, and multiplies the time without the launch. That gives a
fifth more, as filling the workspaces and the last tasks are a larger share of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pypto.language as pl
from pypto import ir
from pypto._src.commands.example_cases import Case
from pypto._src.commands.programs import call_arguments, load_case
from pypto._src.cost.model import CostModel
from pypto._src.cost.tables import load_table
from pypto._src.driver import compile_for_evaluator
from pypto._src.timeline.profile import Profile, ProgramSimulator

GEMM = """
import pypto.language as pl

@pl.program
class Gemm:
    @pl.function(type=pl.FunctionType.InCore)
    def core(
        self,
        a: pl.Tensor[[128, 4096], pl.FP16],
        b: pl.Tensor[[4096, 256], pl.FP16],
        c: pl.Out[pl.Tensor[[128, 256], pl.FP32]],
    ):
        acc = pl.matmul(
            pl.move(pl.load(a, [0, 0], [128, 64], target_memory=pl.MemorySpace.Mat),
                    target_memory=pl.MemorySpace.Left),
            pl.move(pl.load(b, [0, 0], [64, 256], target_memory=pl.MemorySpace.Mat),
                    target_memory=pl.MemorySpace.Right))
        for k in pl.range(64, 4096, 64):
            left = pl.move(pl.load(a, [0, k], [128, 64], target_memory=pl.MemorySpace.Mat),
                           target_memory=pl.MemorySpace.Left)
            right = pl.move(pl.load(b, [k, 0], [64, 256], target_memory=pl.MemorySpace.Mat),
                            target_memory=pl.MemorySpace.Right)
            acc = pl.matmul_acc(acc, left, right)
        c = pl.store(acc, [0, 0], [128, 256], c)
        return c

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        a: pl.Tensor[[4096, 4096], pl.FP16],
        b: pl.Tensor[[4096, 4096], pl.FP16],
        c: pl.Out[pl.Tensor[[4096, 4096], pl.FP32]],
    ):
        for i in pl.range(0, 4096, 128):
            for j in pl.range(0, 4096, 256):
                pa = pl.tensor.view(a, [128, 4096], [i, 0])
                pb = pl.tensor.view(b, [4096, 256], [0, j])
                pc = pl.tensor.view(c, [128, 256], [i, j])
                pc = self.core(pa, pb, pc)
        return c
"""

ROWS = """
import pypto.language as pl

@pl.program
class Rows:
    @pl.function(type=pl.FunctionType.InCore)
    def core(
        self,
        x: pl.Tensor[[{part}, 4096], pl.FP32],
        y: pl.Out[pl.Tensor[[{part}, 4096], pl.FP32]],
    ):
        for r in pl.range(0, {part}, 2):
            tile = pl.load(x, [r, 0], [2, 4096])
{body}
            y = pl.store(out, [r, 0], [2, 4096], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[{rows}, 4096], pl.FP32],
        y: pl.Out[pl.Tensor[[{rows}, 4096], pl.FP32]],
    ):
        for i in pl.range(0, {rows}, {part}):
            px = pl.tensor.view(x, [{part}, 4096], [i, 0])
            py = pl.tensor.view(y, [{part}, 4096], [i, 0])
            py = self.core(px, py)
        return y
"""

SOFTMAX = """
            shifted = pl.row_expand_sub(tile, pl.row_max(tile))
            powers = pl.exp(shifted)
            out = pl.row_expand_div(powers, pl.row_sum(powers))
"""

RMS_NORM = """
            mean = pl.mul(pl.row_sum(pl.mul(tile, tile)), 0.000244140625)
            out = pl.row_expand_mul(tile, pl.rsqrt(pl.add(mean, 0.00001)))
"""

CORES = 48
EXAMPLES = Path(__file__).parents[1] / "examples"


@dataclass(frozen=True)
class Result:
    """The figures of one run: its time, its lower bound, and the busiest pipe."""

    us: float
    launch: float
    least: float
    bound: str
    busy: float
    pipe: str

    def row(self) -> str:
        """Return the columns of the table."""
        share = self.least / (self.us - self.launch)
        return f"{self.us:9.1f} {share:6.0%} {self.busy:6.0%} {self.pipe:<5}"


def simulated(text: str, *, overlap: bool) -> Profile:
    """Return the profile of a program on random arguments."""
    program = pl.parse(text)
    assert isinstance(program, ir.Program)
    return profiled(program, None, overlap=overlap)


def profiled(program: ir.Program, case: Case | None, *, overlap: bool) -> Profile:
    """Return the profile of a program on the arguments of a case, or on random ones."""
    found: list[ProgramSimulator] = []

    def make(lowered: ir.Program) -> ProgramSimulator:
        found.append(ProgramSimulator(lowered, CostModel(load_table("a2a3"))))
        return found[0]

    compiled = compile_for_evaluator(program, None, make, overlap=overlap)
    compiled(*call_arguments(compiled, program, case, {}).values())
    profile = found[0].profile
    assert profile is not None
    return profile


def result(profile: Profile, times: float = 1.0) -> Result:
    """Return the result of a run whose part after the launch is repeated ``times`` times."""
    launch, kernel = profile.launch / profile.mhz, max(profile.kernels, key=lambda k: k.cycles)
    bound = profile.bounds[0]
    us, least = (profile.us - launch) * times, bound.cycles / profile.mhz * times
    pipe = max(kernel.busy, key=lambda each: kernel.busy[each])
    busy = kernel.busy[pipe] / kernel.cycles
    return Result(launch + us, launch, least, bound.name, busy, pipe.name)


def gemm(*, overlap: bool) -> Result:
    """Return the result of a product of 4096 x 4096 matrices: 512 tasks on 24 cores."""
    return result(simulated(GEMM, overlap=overlap))


def by_rows(body: str, *, overlap: bool) -> Result:
    """Return the result of a kernel over 8192 rows, one task per core."""
    part = 8192 // CORES // 2 * 2
    text = ROWS.format(part=part, rows=part * CORES, body=body.strip("\n"))
    return result(simulated(text, overlap=overlap), 8192 / (part * CORES))


def attention(heads: int, *, overlap: bool) -> Result:
    """Return the result of the example with 16 heads of 4096, from a number of them.

    Steps are longer than in the example. Of 40 blocks of queries in flight some are on vector cores
    while others keep the 24 matrix cores busy; the cache has room for what they pass on.
    """
    text = (EXAMPLES / "flash_attention.py").read_text(encoding="utf-8")
    text = text[: text.index("def inputs(")].replace("SEQ, HEAD = 1024,", "SEQ, HEAD = 4096,")
    text = text.replace("BLOCK_K = 512 ", "BLOCK_K = 1024 ")
    text = text.replace("WORKSPACES = 8 ", "WORKSPACES = 40 ")
    text = text.replace("Tensor[[SEQ, HEAD]", f"Tensor[[{heads} * SEQ, HEAD]")
    text = text.replace("range(0, SEQ, BLOCK_Q)", f"range(0, {heads} * SEQ, BLOCK_Q)")
    text = text.replace("[j, 0])", "[i // SEQ * SEQ + j, 0])")
    return result(simulated(text, overlap=overlap), 16 / heads)


def example(name: str, *, overlap: bool) -> Result:
    """Return the result of an example on its own arguments."""
    return result(profiled(*load_case(str(EXAMPLES / name)), overlap=overlap))


FLASH = "flash attention 16 x 4096 x 128"
ROWS_OF_TABLE: dict[str, Callable[..., Result]] = {
    "GEMM 4096^3 fp16": gemm,
    "softmax 8192 x 4096 fp32": partial(by_rows, SOFTMAX),
    "RMSNorm 8192 x 4096 fp32": partial(by_rows, RMS_NORM),
    FLASH: attention,
    "paged attention 8 x 32 x 128": partial(example, "paged_attention.py"),
    "causal prefill 485 x 8 x 128": partial(example, "attention/causal_prefill.py"),
    "latent attention, decode": partial(example, "attention/mla_decode.py"),
    "paged attention, decode": partial(example, "attention/paged_decode.py"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, or the rows whose names begin with one of the given words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="beginnings of the names of rows")
    parser.add_argument("--heads", type=int, default=16, help="of flash attention")
    args = parser.parse_args(argv)
    titles = f"{'us':>9} {'bound':>6} {'busy':>6} pipe "
    print(f"{'':<32} {titles} | {titles} | what bounds it")
    for name, run in ROWS_OF_TABLE.items():
        if not args.names or name.startswith(tuple(args.names)):
            options = {"heads": args.heads} if name == FLASH else {}
            before, after = (run(**options, overlap=each) for each in (False, True))
            print(f"{name:<32} {before.row()} | {after.row()} | {after.bound}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
