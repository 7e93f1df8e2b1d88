"""Faults planted in the examples, and the result of `pypto bisect` on each.

``python -m tests.numerics.faults [--full]`` plants each of them, searches for it with the original
program as the reference, and prints a table: the statement found, whether it has the fault, and
the seconds taken, which include reading the program.
Programs are shrunk to the sizes of their tests, or unchanged with ``--full``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from pypto._src.commands.example_cases import Case
from pypto._src.numerics.bisect import Difference, against_program
from pypto._src.numerics.compare import location
from tests.examples.region_programs import SIZES
from tests.examples.resized import ROOT, resized

LAYER = "decoder/decode_layer"
MLA, PREFILL = "attention/mla_decode", "attention/causal_prefill"
W8A8, EXPERTS = "moe/w8a8_gemm", "moe/routed_experts"
PAGED = "paged_attention"
ALL_SIZES = {**SIZES, PAGED: {"BATCH": 2, "CONTEXT": 300}}


class Fault(NamedTuple):
    """A faulty edit of a line of an example."""

    kind: str
    example: str
    old: str
    new: str


FAULTS = (
    Fault("wrong offset", LAYER, "row = (page * KV_HEADS + kv) * PAGE",
          "row = (page * KV_HEADS + (kv + 1) % KV_HEADS) * PAGE"),
    Fault("missing scale", LAYER, "pl.set_validshape(pl.mul(scores, SCALE), Q_ROWS",
          "pl.set_validshape(scores, Q_ROWS"),
    Fault("swapped operands", LAYER, "fade = pl.exp(pl.sub(top, new_top))",
          "fade = pl.exp(pl.sub(new_top, top))"),
    Fault("stale tile", LAYER, "pl.exp(pl.row_expand_sub(masked, new_top))",
          "pl.exp(pl.row_expand_sub(masked, top))"),
    Fault("missing residual", LAYER,
          "stream[:, n : n + TILE_N] = pl.add(hidden[:, n : n + TILE_N], acc)",
          "stream[:, n : n + TILE_N] = acc"),
    Fault("wrong weight", LAYER, "up = pl.matmul(rows, w_up[0:TILE_K",
          "up = pl.matmul(rows, w_gate[0:TILE_K"),
    Fault("wrong sign", LAYER, "second = pl.add(pl.col_expand_mul(hi, cos_hi)",
          "second = pl.sub(pl.col_expand_mul(hi, cos_hi)"),
    Fault("missing rescale", LAYER, "total = pl.add(pl.mul(total, fade), pl.row_sum(powers))",
          "total = pl.add(total, pl.row_sum(powers))"),
    Fault("missing update", LAYER, "            top = new_top\n", "\n"),
    Fault("wrong constant", LAYER, "mean = pl.add(pl.mul(sum_sq, 1.0 / HIDDEN), EPS)",
          "mean = pl.add(pl.mul(sum_sq, 2.0 / HIDDEN), EPS)"),
    Fault("wrong offset", MLA, "row = b * MAX_SEQ + s", "row = b * MAX_SEQ"),
    Fault("missing statement", MLA,
          "            scores = pl.matmul_acc(scores, q_r, r_tile, b_trans=True)\n", "\n"),
    Fault("wrong slice", MLA, "w = w_value[h * LATENT : (h + 1) * LATENT, :]",
          "w = w_value[0:LATENT, :]"),
    Fault("wrong condition", PREFILL, "if s == t:", "if s == 0:"),
    Fault("wrong offset", PREFILL, "kc = head // GROUP * HEAD_DIM", "kc = head * 0"),
    Fault("wrong bound of a loop", PREFILL, "pl.range(0, t + Q_TILE, K_TILE)",
          "pl.range(0, t, K_TILE)"),
    Fault("wrong cast mode", W8A8, 'pl.cast(scaled, target_type=pl.INT32, mode="rint")',
          'pl.cast(scaled, target_type=pl.INT32, mode="floor")'),
    Fault("wrong scale", W8A8, "pl.mul(largest, 1.0 / 127.0)", "pl.mul(largest, 1.0 / 128.0)"),
    Fault("wrong slice", W8A8, "w_scale[:, n : n + TILE_N])", "w_scale[:, 0:TILE_N])"),
    Fault("stale tile", W8A8, "left = x_int8[m : m + TILE_M, k : k + TILE_K]",
          "left = x_int8[m : m + TILE_M, 0:TILE_K]"),
    Fault("wrong row", EXPERTS, "n : n + TILE_K] = part[i : i + 1, :]",
          "n : n + TILE_K] = part[0:1, :]"),
    Fault("wrong index", EXPERTS, "share = pl.read(shares, [t, c])",
          "share = pl.read(shares, [t, 0])"),
    Fault("wrong condition", PAGED, "if number > 0:", "if number > 1:"),
    Fault("swapped operands", PAGED, "self.values(p, rows_v, step)",
          "self.values(p, rows_k, step)"),
    Fault("wrong count", PAGED, "pl.cast(min(length - number * BLOCK, BLOCK), pl.FP32)",
          "pl.cast(BLOCK, pl.FP32)"),
    Fault("missing maximum", PAGED, "top_now = pl.maximum(top_before, top)",
          "top_now = pl.maximum(top, top)"),
)  # fmt: skip


class Outcome(NamedTuple):
    """The result of the search for a fault."""

    fault: Fault
    line: int
    found: Difference | None
    seconds: float

    @property
    def is_named(self) -> bool:
        """True if the fault is in the statement found or its operand, or is a missing statement."""
        return _names(self.found, self.line)


def _names(found: Difference | None, line: int) -> bool:
    if found is None:
        return False
    points = [*found.only_here, *found.only_there]
    spans = [found.span, found.partner_span or found.span, *(p.span for p in points)]
    return any(s.begin_line <= line <= max(s.end_line, s.begin_line) for s in spans)


def planted(fault: Fault, folder: Path, *, full: bool = False) -> tuple[Case, Case, int]:
    """Return an example's case with a fault, the one without, and the fault's line."""
    path = ROOT / "examples" / f"{fault.example}.py"
    text = path.read_text(encoding="utf-8")
    assert text.count(fault.old) == 1, (fault, text.count(fault.old))
    line = text[: text.index(fault.old)].count("\n") + 1
    wrong = folder / path.name
    wrong.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
    sizes = {} if full else ALL_SIZES[fault.example]
    return vars(resized(wrong, sizes))["CASES"][0], vars(resized(path, sizes))["CASES"][0], line


def outcome(fault: Fault, *, full: bool = False) -> Outcome:
    """Plant a fault and search for it."""
    with TemporaryDirectory() as folder:
        bad, good, line = planted(fault, Path(folder), full=full)
        args = list(good.inputs(np.random.default_rng(0)).values())
        begin = time.perf_counter()
        found = against_program(bad.program, good.program, args)
        return Outcome(fault, line, found, time.perf_counter() - begin)


def main() -> int:
    """Print the table; return 1 if fewer than nine in ten are found."""
    full = "--full" in sys.argv[1:]
    named = 0
    print(f"{'fault':<22} {'in':<25} {'named':<27} {'seconds':>7}")
    for fault in FAULTS:
        each = outcome(fault, full=full)
        named += each.is_named
        where = f"{Path(fault.example).name}.py:{each.line}"
        found = "nothing" if each.found is None else location(each.found.span)
        mark = "yes" if each.is_named else "no"
        print(
            f"{fault.kind:<22} {where:<25} {mark:<3} {found:<23} {each.seconds:>7.2f}", flush=True
        )
    print(f"{named} of {len(FAULTS)} named")
    return int(named * 10 < len(FAULTS) * 9)


if __name__ == "__main__":
    raise SystemExit(main())
