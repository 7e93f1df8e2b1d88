"""What names refer to in regions, loops and branches: all ways of running agree."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import pypto.language as pl
from pypto import runtime
from tests.language.draw_values import Program
from tests.language.programs import faults
from tests.natively import compiler

HEAD = """\
import pypto.language as pl


@pl.jit.inline
def more(v: pl.Tensor[[16, 64], pl.FP32]):
    for i in pl.range(2):
        v = pl.add(v, 1.0)
    return v


@pl.jit
def drawn(
    x: pl.Tensor[[16, 64], pl.FP32],
    y: pl.Tensor[[16, 64], pl.FP32],
    n: pl.INT32,
    out: pl.InOut[pl.Tensor[[16, 64], pl.FP32]],
):
"""
REGION = "with pl.at(level=pl.Level.CORE_GROUP):"

BODIES = {
    "a name of a tensor in a loop that is of a tile in its branches": f"""
    {REGION}
        for i in pl.range(1, 3):
            v = x
            for j in pl.range(2):
                if n >= 1:
                    v = pl.add(y, 1.0)
                out[:] = pl.add(y, 2.0)
""",
    "a value of one region in a loop of the next": f"""
    {REGION}
        v = pl.add(x, 1.0)
    {REGION}
        for i in pl.range(n):
            v = pl.add(v, y)
        out[:] = v
""",
    "a value of one region in a branch of the next": f"""
    {REGION}
        v = pl.add(x, 1.0)
    {REGION}
        if n > 2:
            v = pl.add(v, y)
        out[:] = v
""",
    "a tensor that a loop begins with": f"""
    {REGION}
        total = x
        for i in pl.range(n):
            total = pl.add(total, y)
        out[:] = total
""",
    "a parameter that an inline function changes": f"""
    {REGION}
        for i in pl.range(n):
            v = more(x)
            out[:] = pl.add(v, y)
""",
    "a loop assigns a tensor": f"""
    {REGION}
        v = pl.mul(x, 2.0)
        for i in pl.range(n):
            v = pl.add(v, 1.0)
            if i == 1:
                v = y
        out[:] = v
""",
    "a tensor in one branch, a value in the other": f"""
    {REGION}
        if n > 2:
            v = x
        else:
            v = pl.add(y, 1.0)
        w = y
        if n > 1:
            w = pl.neg(w)
        out[:] = pl.sub(v, w)
""",
    "a name used again": f"""
    {REGION}
        v = pl.add(x, 1.0)
        out[:] = v
    {REGION}
        for i in pl.range(n):
            v = pl.mul(y, 2.0)
            out[:] = pl.add(out[:], v)
""",
    "a name of blocks in a loop around them": """
    for i in pl.range(n):
        for b in pl.spmd(2):
            for j in pl.range(1, 2):
                v = x[b * 8 : b * 8 + 8, :]
            out[b * 8 : b * 8 + 8, :] = pl.add(v, 1.0)
""",
    "a part of a tensor in another shape is read": f"""
    part = pl.reshape(x[2:14, 8:40], [6, 64])
    {REGION}
        out[0:6, :] = part
""",
    "values of regions are exchanged": f"""
    {REGION}
        a = pl.add(x, 1.0)
        b = pl.mul(y, 2.0)
    for i in pl.range(n):
        a, b = b, a
    {REGION}
        out[:] = pl.sub(pl.mul(a, 3.0), b)
""",
    "three values take turns": f"""
    {REGION}
        a = pl.add(x, 1.0)
        b = pl.mul(y, 2.0)
    {REGION}
        c = pl.neg(a)
    for i in pl.range(n):
        a, b, c = b, c, a
    {REGION}
        b = pl.add(b, c)
    {REGION}
        out[:] = pl.sub(pl.mul(a, 3.0), b)
""",
    "a region changes values that are exchanged": f"""
    {REGION}
        a = pl.add(x, 1.0)
        b = pl.mul(y, 2.0)
    for i in pl.range(n):
        {REGION}
            a = pl.add(a, b)
        a, b = b, a
    {REGION}
        out[:] = pl.sub(pl.mul(a, 3.0), b)
""",
    "a region exchanges values": f"""
    {REGION}
        a = pl.add(x, 1.0)
        b = pl.mul(y, 2.0)
    for i in pl.range(n):
        {REGION}
            a, b = pl.add(a, b), a
        {REGION}
            a, b = b, a
    {REGION}
        out[:] = pl.sub(pl.mul(a, 3.0), b)
""",
    "a branch exchanges values": f"""
    {REGION}
        a = pl.add(x, 1.0)
        b = pl.mul(y, 2.0)
    if n > 2:
        {REGION}
            a = pl.neg(a)
        a, b = b, a
    else:
        {REGION}
            b = pl.add(a, b)
    {REGION}
        out[:] = pl.sub(pl.mul(a, 3.0), b)
""",
    "a loop around a branch that exchanges values": f"""
    {REGION}
        a = pl.add(x, 1.0)
        b = pl.mul(y, 2.0)
    for i in pl.range(n):
        for j in pl.range(2):
            if i + j > 1:
                a, b = b, a
            {REGION}
                a = pl.add(a, 1.0)
    {REGION}
        out[:] = pl.sub(pl.mul(a, 3.0), b)
""",
    "buffers in turn": f"""
    a = pl.create_tensor([16, 64], dtype=pl.FP32)
    b = pl.create_tensor([16, 64], dtype=pl.FP32)
    {REGION}
        a[:] = x
        b[:] = y
    i = n
    while i > 0:
        for j in pl.spmd(2):
            b[j * 8 : j * 8 + 8, :] = pl.add(a[8 - j * 8 : 16 - j * 8, :], 1.0)
        a, b = b, a
        i = i - 1
    {REGION}
        out[:] = pl.sub(pl.mul(a, 3.0), b)
""",
    "buffers written in branches": f"""
    a = pl.create_tensor([16, 64], dtype=pl.FP32)
    b = pl.create_tensor([16, 64], dtype=pl.FP32)
    {REGION}
        a[:] = x
        b[:] = y
    for i in pl.range(n):
        if i > 1:
            {REGION}
                a[:] = pl.add(a, 1.0)
            a, b = b, a
        else:
            {REGION}
                b[:] = pl.add(a, 2.0)
    {REGION}
        out[:] = pl.sub(pl.mul(a, 3.0), b)
""",
    "a new tensor in each iteration": f"""
    a = x
    b = y
    for i in pl.range(n):
        c = pl.create_tensor([16, 64], dtype=pl.FP32)
        {REGION}
            c[:] = pl.add(a, b)
        a = c
    {REGION}
        out[:] = pl.sub(pl.mul(a, 3.0), b)
""",
}


def test_names() -> None:
    """Each program computes what Python does, for two trip counts."""
    compiler()
    rng = np.random.default_rng(5)
    x, y, out = (rng.integers(-4, 5, (16, 64)).astype(np.float32) for _ in range(3))
    calls = [[x, y, n, out] for n in (1, 3)]
    programs = {
        f"<{name}>": Program(f"{HEAD}{body}    return out\n", calls, ())
        for name, body in BODIES.items()
    }
    assert [(name, fault) for name, fault in faults(programs) if fault is not None] == []


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_a_part_in_another_shape_is_memory(target: str) -> None:
    """A slice and a reshape of it alias: writing one of them writes both."""

    @pl.jit
    def kernel(x: pl.Tensor[[6, 64], pl.FP32], out: pl.InOut[pl.Tensor[[16, 64], pl.FP32]]):
        part = out[2:14, 8:40]
        flat = pl.reshape(part, [6, 64])
        for _ in pl.range(2):
            with pl.at(level=pl.Level.CORE_GROUP):
                flat[:] = pl.add(flat[0:6, :], x[:])
            with pl.at(level=pl.Level.CORE_GROUP):
                out[0:4, :] = pl.mul(out[0:4, :], 2.0)
        return out

    if target == "cpu":
        compiler()
    x = np.arange(6 * 64, dtype=np.float32).reshape(6, 64)
    out = np.ones((16, 64), np.float32)
    wanted = out.copy()
    for _ in range(2):
        wanted[2:14, 8:40] += x.reshape(12, 32)
        wanted[0:4] *= 2
    runtime.compile(kernel.lower(x, out), target=cast("Any", target))(x, out)
    assert (out == wanted).all()
