"""Regions with cube and vector work: transfers between the cores, and tiles that change.

Each program is checked like a random one: NumPy, interpreter, all passes, C++, PTO and host text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto._src.ir.roles import core_type, kernels
from pypto._src.passes.pass_manager import PassManager
from tests.language.draw_values import Program
from tests.language.programs import faults, parsed
from tests.natively import compiler

RNG = np.random.default_rng(34)
HEAD = """
import pypto.language as pl


@pl.jit
def drawn(
    x: pl.Tensor[[16, 64], pl.FP32],
    w: pl.Tensor[[256, 64], pl.FP32],
    n: pl.Tensor[[1, 8], pl.INT32],
    y: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
):
    with pl.at(
        level=pl.Level.CORE_GROUP,
        optimizations=[pl.cross_core_slot(slot_num=4)],
        name_hint="mixed",
    ):
"""

BODIES = {
    # A loop with a run-time trip count goes to the host.
    "while": """
        value = x[:, :]
        step = pl.const(0, pl.INT32)
        while step < pl.read(n, [0, 0]):
            product = pl.matmul(value, w[0:64, :], out_dtype=pl.FP32)
            value = pl.mul(product, 0.5)
            step = step + 1
        y[:, :] = value
""",
    # Elements of computed tiles select the matrix, and scale the product.
    "elements": """
        doubled = pl.mul(x[:, :], 2.0)
        counts = pl.add(n[:, :], 0)
        pl.write(counts, [0, 1], pl.read(n, [0, 1]))
        at = pl.cast(pl.read(counts, [0, 1]), pl.INDEX) * 64
        product = pl.matmul(x[:, :], w[at : at + 64, :], out_dtype=pl.FP32)
        y[:, :] = pl.mul(product, pl.read(doubled, [1, 2]))
""",
    # A value read from a tile does not change when the tile does.
    "changed": """
        counts = pl.add(n[:, :], 0)
        pl.write(counts, [0, 1], pl.read(n, [0, 1]))
        first = pl.cast(pl.read(counts, [0, 1]), pl.INDEX) * 64
        pl.write(counts, [0, 1], pl.read(n, [0, 2]))
        second = pl.cast(pl.read(counts, [0, 1]), pl.INDEX) * 64
        one = pl.matmul(x[:, :], w[first : first + 64, :], out_dtype=pl.FP32)
        other = pl.matmul(x[:, :], w[second : second + 64, :], out_dtype=pl.FP32)
        y[:, :] = pl.sub(one, other)
""",
    # A part of a loaded tile changes between the products that use the tile.
    "parts": """
        rows = pl.create_tensor([64, 64], dtype=pl.FP32)
        rows[:, :] = w[0:64, :]
        total = pl.full([16, 64], dtype=pl.FP32, value=0.0)
        for step in pl.range(3):
            total = pl.add(total, pl.matmul(x[:, :], rows, out_dtype=pl.FP32))
            rows[step : step + 1, :] = w[100 + step : 101 + step, :]
        y[:, :] = total
""",
    # A branch with an unused scalar result goes to the host with it.
    "choice": """
        product = pl.matmul(x[:, :], w[0:64, :], out_dtype=pl.FP32)
        spare = pl.full([1, 64], dtype=pl.FP32, value=0.5)
        unused = 3 if pl.read(n, [0, 0]) > 0 else 1
        y[:, :] = pl.add(product, 1.0)
""",
    # So do loops of scalars, here before the product whose rows they select.
    "rows": """
        at = pl.const(0, pl.INT32)
        for step in pl.range(3):
            at = at + 16
        at = at if pl.read(n, [0, 0]) > 1 else 64
        product = pl.matmul(x[:, :], w[at : at + 64, :], out_dtype=pl.FP32)
        y[:, :] = pl.mul(product, 2.0)
""",
    # Products are added to what was there before a loop that also does vector work.
    "sums": """
        total = pl.matmul(x[:, :], w[0:64, :], out_dtype=pl.FP32)
        begun = pl.create_tensor([16, 64], dtype=pl.FP32)
        for step in pl.range(1, 3):
            value = pl.mul(x[:, :], pl.cast(step, pl.FP32))
            part = w[step * 64 : step * 64 + 64, :]
            total = pl.matmul_acc(total, value, part)
            begun = pl.matmul_acc(begun, value, part, init_cond=step == 1)
        y[:, :] = pl.sub(total, begun)
""",
    # A sum that one loop has computed is no longer an accumulator in the next.
    "handed on": """
        total = pl.create_tensor([16, 64], dtype=pl.FP32)
        for step in pl.range(4):
            part = w[step * 64 : step * 64 + 64, :]
            total = pl.matmul_acc(total, x[:, :], part, init_cond=step == 0)
        for step in pl.range(2):
            total = pl.maximum(total, pl.mul(x[:, :], pl.cast(step, pl.FP32)))
        y[:, :] = total
""",
    # A tile that was created before such a loop is modified in it.
    "marks": """
        marks = pl.mul(x[:, :], 0.0)
        for step in pl.range(4):
            product = pl.mul(pl.matmul(x[:, :], w[0:64, :], out_dtype=pl.FP32), 2.0)
            pl.write(marks, [0, step], pl.read(product, [0, step]))
        y[:, :] = marks
""",
    # A tile that a loop builds row by row, or loads, is a product's operand after the loop.
    "behind": """
        rows = pl.create_tensor([64, 64], dtype=pl.FP32)
        for step in pl.range(64):
            at = pl.cast(pl.read(n, [0, step % 8]), pl.INDEX)
            rows[step : step + 1, :] = w[at * 8 + step : at * 8 + step + 1, :]
        for step in pl.range(4):
            last = w[step * 64 : step * 64 + 64, :]
        product = pl.matmul(x[:, :], rows, out_dtype=pl.FP32)
        y[:, :] = pl.add(product, pl.matmul(x[:, :], last, out_dtype=pl.FP32))
""",
    # A pipelined loop transfers in slots; loop-carried values are stored where they are computed.
    "ahead": """
        total = pl.mul(x[:, :], 0.0)
        least = pl.full([16, 1], dtype=pl.FP32, value=0.0)
        for step in pl.pipeline(1, pl.read(n, [0, 0]) + 1, 1, stage=2):
            rows = w[step * 64 - 64 : step * 64, :]
            half = pl.mul(pl.matmul(x[:, :], rows, out_dtype=pl.FP32), 0.5)
            lower = pl.minimum(least, pl.row_min(half))
            fade = pl.exp(pl.sub(lower, least))
            next = pl.matmul(half, w[192:256, :], out_dtype=pl.FP32)
            total = pl.add(pl.row_expand_mul(total, fade), next)
            least = lower
        y[:, :] = pl.row_expand_add(total, least)
""",
    # Nested loops have slots each; what two loops exchange is not stored before it is read.
    "slots": """
        first = pl.mul(x[:, :], 1.0)
        second = pl.mul(x[:, :], 2.0)
        for row in pl.pipeline(0, 128, 64, stage=3):
            kept = pl.mul(pl.matmul(first, w[row : row + 64, :], out_dtype=pl.FP32), 0.25)
            for step in pl.pipeline(2, stage=2):
                kept = pl.mul(pl.matmul(kept, w[64:128, :], out_dtype=pl.FP32), 0.125)
            first, second = second, pl.add(kept, first)
        y[:, :] = pl.sub(first, second)
""",
    # Vector work between products that does not need their sum is done before them.
    "between": """
        used = pl.cast(pl.read(n, [0, 0]), pl.INDEX)
        first = pl.slice(x, [16, 32], [0, 0], valid_shape=[used, 32])
        first = pl.fillpad(first, pad_value=pl.PadValue.zero)
        total = pl.matmul(first, w[0:32, :], out_dtype=pl.FP32)
        second = pl.slice(x, [16, 32], [0, 32], valid_shape=[used, 32])
        second = pl.fillpad(second, pad_value=pl.PadValue.zero)
        total = pl.matmul_acc(total, second, w[64:96, :])
        y[:, :] = pl.mul(x[:, :], 2.0)
        y = pl.assemble(y, total, [0, 0], atomic=pl.AtomicType.Add)
""",
    # The same in a loop, in which a padded tile is an operand of two products.
    "twice": """
        total = pl.mul(x[:, :], 0.0)
        for step in pl.range(pl.read(n, [0, 0])):
            rows = pl.slice(w, [64, 64], [step * 64, 0], valid_shape=[60, 64])
            rows = pl.fillpad(rows, pad_value=pl.PadValue.zero)
            product = pl.matmul(x[:, :], rows, out_dtype=pl.FP32)
            grown = pl.mul(x[:, :], pl.cast(step, pl.FP32))
            product = pl.matmul_acc(product, grown, w[0:64, :])
            halves = pl.mul(product, 0.5)
            total = pl.add(total, pl.matmul(halves, rows, out_dtype=pl.FP32))
        y[:, :] = total
""",
    # Rows of an accumulated product that a loop reads are stored once, before it.
    "pieces": """
        total = pl.matmul(x[:, 0:16], w[0:16, :], out_dtype=pl.FP32)
        for step in pl.pipeline(16, 64, 16, stage=2):
            total = pl.matmul_acc(total, x[:, step : step + 16], w[step : step + 16, :])
        for step in pl.range(16):
            at = pl.cast(pl.read(n, [0, step % 8]), pl.INDEX)
            y[step : step + 1, :] = pl.add(total[step : step + 1, :], w[at : at + 1, :])
""",
    # A number from the product decides what the other core does, without any of its tiles.
    "decides": """
        product = pl.matmul(x[:, :], w[0:64, :], out_dtype=pl.FP32)
        first = pl.read(product, [0, 0])
        if first > 0.0:
            product = pl.mul(x[:, :], 3.0)
        y[:, :] = pl.mul(x[:, :], first)
""",
    # The sum starts each time from a tile of the other core.
    "from-tile": """
        product = pl.matmul(x[:, :], w[0:64, :], out_dtype=pl.FP32)
        for step in pl.range(3):
            start = pl.neg(product)
            product = pl.matmul_acc(start, x[:, :], w[0:64, :])
        y[:, :] = pl.add(product, pl.read(product, [0, 0]))
""",
    # A row has two names, and its tile is used afterwards.
    "row": """
        product = pl.matmul(x[:, :], w[0:64, :], out_dtype=pl.FP32)
        scaled = pl.mul(product, 0.5)
        last = scaled[15:16, :]
        again = last
        y[:, :] = pl.add(scaled, again)
""",
    # What is stored and reloaded between two products stays after the first of them.
    "stored": """
        product = pl.matmul(x[:, :], w[0:64, :], out_dtype=pl.FP32)
        y[:, :] = pl.mul(product, 0.5)
        total = pl.matmul(x[:, :], w[64:128, :], out_dtype=pl.FP32)
        total = pl.matmul_acc(total, pl.mul(y[:, :], 2.0), w[128:192, :])
        y[:, :] = total
""",
}


def arguments() -> list[Any]:
    x = RNG.standard_normal((16, 64), np.float32)
    w = RNG.standard_normal((256, 64), np.float32) / 8
    return [x, w, np.array([[3, 2, 1, 0, 5, 9, 4, 7]], np.int32), np.zeros_like(x)]


# A tile that changes element by element between the products stays on one core.
@pytest.mark.parametrize("name", [name for name in BODIES if name != "marks"])
def test_each_kernel_is_of_one_core(name: str) -> None:
    """The chip has no core that does both kinds of work."""
    program = parsed(
        Program(f"{HEAD}{BODIES[name]}    return y\n", [arguments()], (3,)), f"<cores {name}>"
    )
    for kernel in kernels(PassManager().run_passes(program)):
        core_type(kernel)


def test_mixed_regions() -> None:
    """All ways of running agree, and the host text for the device is emitted."""
    compiler()
    programs = {
        f"<mixed {name}>": Program(f"{HEAD}{body}    return y\n", [arguments()], (3,))
        for name, body in BODIES.items()
    }
    assert [found for found in faults(programs) if found[1] is not None] == []
