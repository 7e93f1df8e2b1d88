"""Forms of the language in compiled C++: the interpreter's values, without warnings."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.driver import compile_program
from pypto._src.ir.stmts import Program
from pypto._src.run.native import NativeKernel
from tests.emit.native import WARNINGS, lowered
from tests.natively import compile_together, compiler, words

HEAD = """
@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
        n: pl.Scalar[pl.INT64], m: pl.Scalar[pl.INT64], f: pl.Scalar[pl.FP32],
        b: pl.Scalar[pl.BOOL],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
"""
FORMS = {
    "break and continue": """\
for i in pl.range(0, 64, 8):
    if i == n:
        continue
    if i > m:
        break
    out = pl.store(pl.load(x, [i, 0], [8, 64]), [i, 0], [8, 64], out)""",
    "return in a loop": """\
for i in pl.range(0, 64, 8):
    if i == n:
        return out
    out = pl.store(pl.load(x, [i, 0], [8, 64]), [i, 0], [8, 64], out)
    if i > m:
        return out
out = pl.store(pl.load(x, [0, 0], [8, 64]), [56, 0], [8, 64], out)""",
    "return in inner loops": """\
for i in pl.range(0, 64, 16):
    for j in pl.range(0, 16, 8):
        if i + j == m:
            return out
        out = pl.store(pl.load(x, [i + j, 0], [8, 64]), [i + j, 0], [8, 64], out)
k = n
while k < 64:
    if b and k > 20:
        return out
    out = pl.store(pl.load(x, [0, 0], [8, 64]), [k // 8 * 8, 0], [8, 64], out)
    k = k + 8""",
    "parallel loop": """\
for i in pl.parallel(0, 64, 8):
    out = pl.store(pl.mul(pl.load(x, [i, 0], [8, 64]), f), [i, 0], [8, 64], out)""",
    "loop that counts down": """\
for i in pl.range(m, 0, -8):
    out = pl.store(pl.load(x, [i, 0], [8, 64]), [i, 0], [8, 64], out)""",
    "element, size, core": """\
s = pl.read(x, [n, m])
d = pl.dim(x, 0)
g = pl.block.get_block_idx()
out = pl.store(pl.full([8, 64], pl.FP32, s), [d - 8, 0], [8, 64], out)""",
    "tiles that change places": """\
t = pl.load(x, [0, 0], [8, 64])
u = pl.load(x, [8, 0], [8, 64])
for i in pl.range(0, n):
    v = t
    t = u
    u = pl.add(v, u)
out = pl.store(t, [0, 0], [8, 64], out)
out = pl.store(u, [8, 0], [8, 64], out)""",
    "carried float in a branch": """\
acc = 0.5
for i in pl.range(0, n):
    if b:
        acc = acc * f + 1.0
    else:
        acc = acc - f
out = pl.store(pl.full([8, 64], pl.FP32, acc), [0, 0], [8, 64], out)""",
    "while, floor remainder": """\
k = n
while k < 60:
    k = k * 2 + 1
    if k > m and not (k == 31):
        tile = pl.load(x, [k // 8 * 8 % 56, 0], [8, 64])
        out = pl.store(tile, [(0 - k) % 8 * 7, 0], [8, 64], out)""",
    "smaller, larger, magnitude": """\
p = min(n, m)
q = max(n, m) - p
z = abs(p - q)
out = pl.store(pl.load(x, [p, 0], [8, 64]), [z % 56, 0], [8, 64], out)""",
    "scalar and tile casts": """\
y = pl.cast(n, pl.FP32) * f
h = pl.cast(pl.full([8, 64], pl.FP32, y), pl.FP16)
out = pl.store(pl.cast(h, pl.FP32), [0, 0], [8, 64], out)""",
    "views of tiles": """\
t = pl.load(x, [0, 0], [16, 64])
r = pl.reshape(t, [8, 128])
o = pl.load(x, [0, 0], [64, 64])
out = pl.store(pl.transpose(o, pl.create_tile([64, 64], pl.FP32)), [0, 0], [64, 64], out)
out = pl.store(pl.reshape(pl.add(r, r), [16, 64]), [0, 0], [16, 64], out)""",
}
ARGUMENTS = [(8, 40, 1.5, True), (0, 24, -2.0, False), (3, 56, 0.25, True)]


def program(body: str) -> Program:
    lines = [f"        {line}\n" for line in (*body.splitlines(), "return out")]
    return pl.parse_program(HEAD + "".join(lines))


@cache
def compiled_forms() -> dict[str, NativeKernel]:
    """Return the kernel of each form; a compiler warning is an error."""
    kernels = [lowered(program(body)) for body in FORMS.values()]
    return dict(zip(FORMS, compile_together(kernels, compiler(), WARNINGS), strict=True))


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_compiled_form(form: str, arguments: tuple[int, int, float, bool]) -> None:
    """The compiled kernel writes exactly what the interpreter writes."""
    n, m, f, b = arguments
    source = program(FORMS[form])
    x = np.random.default_rng(7).random((64, 64), np.float32)
    expected, out = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    compile_program(source, "interpreter")(x, expected, n, m, f, b)
    compiled_forms()[form](words([x, out, n, m, int(np.float32(f).view(np.uint32)), int(b)]))
    np.testing.assert_array_equal(out, expected)
