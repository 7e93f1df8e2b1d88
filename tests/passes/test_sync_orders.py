"""Unusual but realistic kernels, in every order that InsertSync's flags permit.

The strict interpreter starts instructions as early as it may; it must find nothing, and the
results must be those of the plain interpreter.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.passes.pass_manager import PassManager
from pypto._src.passes.sync.checker import FlagIdentity, check_sync
from pypto._src.passes.sync.insert_sync import InsertSync

HEAD: Final = """\
import pypto.language as pl

@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        y: pl.Tensor[[64, 64], pl.FP32],
        places: pl.Tensor[[16], pl.INT32],
        n: pl.INT64,
        out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
    ):
"""
COUNTS: Final = (0, 1, 2, 5)
"""How many iterations loops run."""

VECTOR: Final = {
    "tiles change places": """\
a = pl.load(x, [0, 0], [8, 64])
b = pl.load(y, [0, 0], [8, 64])
for i in pl.range(n):
    out = pl.store(pl.add(a, b), [i * 8, 0], [8, 64], out)
    a, b = b, a
    out = pl.store(pl.exp(a), [i * 8 + 8, 0], [8, 64], out)
""",
    "tiles move on, and one is loaded": """\
a = pl.load(x, [0, 0], [8, 64])
b = pl.load(y, [0, 0], [8, 64])
for i in pl.range(n):
    out = pl.store(a, [i * 8, 0], [8, 64], out)
    c = pl.add(a, b)
    a = b
    b = pl.load(x, [i * 8, 0], [8, 64])
    out = pl.store(c, [i * 8, 0], [8, 64], out)
""",
    "while": """\
i = 0
a = pl.load(x, [0, 0], [8, 64])
while i < n:
    b = pl.load(x, [i * 8, 0], [8, 64])
    out = pl.store(pl.add(a, b), [i * 8, 0], [8, 64], out)
    a = b
    i = i + 1
""",
    "break and continue": """\
for i in pl.range(8):
    a = pl.load(x, [i * 8, 0], [8, 64])
    if i == 1:
        continue
    b = pl.exp(a)
    if i == n:
        break
    out = pl.store(b, [i * 8, 0], [8, 64], out)
""",
    "buffers by parity": """\
for i in pl.range(6):
    if i % 2 == 0:
        a = pl.load(x, [i * 8, 0], [8, 64])
        out = pl.store(pl.exp(a), [i * 8, 0], [8, 64], out)
    else:
        b = pl.load(y, [i * 8, 0], [8, 64])
        out = pl.store(pl.neg(b), [i * 8 - 8, 0], [8, 64], out)
""",
    "loaded ahead": """\
now = pl.load(x, [0, 0], [8, 64])
for i in pl.range(6):
    later = now
    if i + 1 < 6:
        later = pl.load(x, [i * 8 + 8, 0], [8, 64])
    out = pl.store(pl.exp(now), [i * 8, 0], [8, 64], out)
    now = later
""",
    "rows that the iteration before has written": """\
for i in pl.range(n):
    a = pl.load(out, [i * 8, 0], [8, 64])
    out = pl.store(pl.add(a, 1.0), [i * 8 + 8, 0], [8, 64], out)
b = pl.load(out, [0, 0], [64, 64])
out = pl.store(pl.exp(b), [0, 0], [64, 64], out)
""",
    "rows that meet half": """\
for i in pl.range(4):
    out = pl.store(pl.load(x, [i * 16, 0], [8, 64]), [i * 16, 0], [8, 64], out)
    b = pl.load(out, [i * 16 + 4, 0], [8, 64])
    out = pl.store(b, [i * 16 + 8, 0], [8, 64], out)
""",
    "views of views": """\
v = pl.view(out, [32, 64], [16, 0])
w = pl.view(v, [16, 64], [8, 0])
a = pl.load(w, [0, 0], [8, 64])
v = pl.store(pl.exp(a), [8, 0], [8, 64], v)
b = pl.load(out, [24, 0], [8, 64])
out = pl.store(pl.neg(b), [0, 0], [8, 64], out)
""",
    "rows from a tensor": """\
for i in pl.range(n):
    row = pl.cast(pl.tensor.read(places, [i]), pl.INT64) * 8
    a = pl.load(x, [row, 0], [8, 64])
    out = pl.store(a, [row, 0], [8, 64], out)
    b = pl.load(out, [i * 8, 0], [8, 64])
    out = pl.store(pl.add(b, a), [i * 8, 0], [8, 64], out)
""",
    "numbers that were stored": """\
a = pl.load(x, [0, 0], [8, 64])
out = pl.store(a, [0, 0], [8, 64], out)
for i in pl.range(n):
    a = pl.mul(a, pl.tensor.read(out, [i, 1]))
    out = pl.store(a, [i, 0], [8, 64], out)
""",
    "the block's own rows": """\
first = pl.cast(pl.block.get_block_idx(), pl.INT64) * 8
for i in pl.range(n):
    a = pl.load(out, [first + i, 0], [8, 64])
    out = pl.store(pl.exp(a), [first + i + 1, 0], [8, 64], out)
""",
    "more branches than events, each after the one before": "".join(
        f"""\
if n > {i}:
    a = pl.load(out, [{4 * i}, 0], [4, 64])
    out = pl.store(a, [{4 * i + 4}, 0], [4, 64], out)
"""
        for i in range(12)
    ),
    "columns beside rows": """\
a = pl.load(x, [0, 0], [16, 64])
for i in pl.range(n):
    out = pl.store(pl.reshape(a, [64, 16]), [0, 16], [64, 16], out)
    a = pl.row_expand_sub(a, pl.row_max(a))
    out = pl.store(pl.transpose(a, 0, 1), [0, 0], [64, 16], out)
    a = pl.load(out, [i * 8, 0], [16, 64])
""",
    "more loops than are told apart": """\
a = pl.load(x, [0, 0], [8, 64])
for i in pl.range(2):
    for j in pl.range(n):
        b = pl.load(y, [j * 8, 0], [8, 64])
        for k in pl.range(2):
            for m in pl.range(i):
                a = pl.add(a, b)
                if k > 0:
                    out = pl.store(a, [m * 8, 0], [8, 64], out)
        a = pl.load(out, [j * 8, 0], [8, 64])
out = pl.store(a, [56, 0], [8, 64], out)
""",
}
MATRIX: Final = {
    "sums of products": """\
left = pl.move(pl.load(x, [0, 0], [16, 16], target_memory=mat), target_memory=l)
right = pl.move(pl.load(y, [0, 0], [16, 32], target_memory=mat), target_memory=r)
acc = pl.matmul(left, right)
for k in pl.range(16, 64, 16):
    left = pl.move(pl.load(x, [0, k], [16, 16], target_memory=mat), target_memory=l)
    right = pl.move(pl.load(y, [k, 0], [16, 32], target_memory=mat), target_memory=r)
    acc = pl.matmul_acc(acc, left, right)
out = pl.store(acc, [0, 0], [16, 32], out)
""",
    "one operand is loaded in some iterations": """\
a = pl.load(x, [0, 0], [16, 16], target_memory=mat)
right = pl.move(pl.load(y, [0, 0], [16, 32], target_memory=mat), target_memory=r)
acc = pl.matmul(pl.move(a, target_memory=l), right)
for k in pl.range(n):
    if k % 2 == 0:
        a = pl.load(x, [0, k * 8], [16, 16], target_memory=mat)
    acc = pl.matmul_acc(acc, pl.move(a, target_memory=l), right)
    if k == 1:
        out = pl.store(acc, [16, 0], [16, 32], out)
out = pl.store(acc, [0, 0], [16, 32], out)
""",
    "products that a vector reads back": """\
a = pl.load(x, [0, 0], [64, 64], target_memory=mat)
left = pl.move(a, target_memory=l)
for i in pl.range(n):
    b = pl.load(y, [0, 0], [64, 64], target_memory=mat)
    acc = pl.matmul(left, pl.move(b, target_memory=r))
    out = pl.store(acc, [0, 0], [64, 64], out)
    c = pl.load(out, [i * 8, 0], [8, 64])
    out = pl.store(pl.exp(c), [0, 0], [8, 64], out)
""",
}


def program_of(body: str) -> ir.Program:
    """Return the program of a kernel with the body ``body``."""
    spaces = {"mat)": "Mat)", "l)": "Left)", "r)": "Right)"}
    for short, name in spaces.items():
        body = body.replace(f"target_memory={short}", f"target_memory=pl.MemorySpace.{name}")
    program = pl.parse(HEAD + "".join(f"        {line}\n" for line in body.splitlines()))
    assert isinstance(program, ir.Program)
    return program


def arguments(count: int) -> list[Any]:
    rng = np.random.default_rng(count)
    x, y, out = (rng.standard_normal((64, 64)).astype(np.float32) for _ in range(3))
    return [x, y, rng.integers(0, 4, 16).astype(np.int32), count, out]


@pytest.mark.parametrize("name", [*VECTOR, *MATRIX])
def test_no_order_of_the_queues_races(name: str) -> None:
    """The checker finds nothing, and no order gives a different result."""
    program = program_of({**VECTOR, **MATRIX}[name])
    assert check_sync(PassManager.get_strategy().run_passes(program)) == []
    plain = runtime.compile(program, target="interpreter")
    strict = runtime.compile(program, target="interpreter", strict="exhaustive")
    for count in COUNTS:
        wanted, found = arguments(count), arguments(count)
        plain(*wanted)
        strict(*found)
        np.testing.assert_array_equal(found[-1], wanted[-1])


@pytest.mark.parametrize("name", [*VECTOR, *MATRIX])
def test_nor_where_a_flag_is_its_source_and_event(name: str) -> None:
    """With ``by_source`` the checker finds nothing under the other reading of the hardware."""
    program = program_of({**VECTOR, **MATRIX}[name])
    for step in PassManager.get_strategy().passes:
        program = (InsertSync(by_source=True) if isinstance(step, InsertSync) else step)(program)
    assert check_sync(program, identity=FlagIdentity.SOURCE) == []
