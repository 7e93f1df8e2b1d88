"""A data-driven program: a script tells the host which kernels to call, on which regions."""

# Kernels' annotations are a language of their own, and their bodies are not run as Python.
# pyright: basic, reportInvalidTypeArguments=false, reportOperatorIssue=false
# pyright: reportArgumentType=false, reportAssignmentType=false, reportReturnType=false
# ruff: noqa: RET504  a store's result is named, as in the documents

from __future__ import annotations

import pypto.language as pl

STEPS = pl.dynamic("STEPS")
ROWS, COLS = 32, 64
OPS = 7
WORDS = 8


@pl.program
class Scripted:
    """Each step of the script is an op number, a flag, and three positions as rows and columns."""

    @pl.function(type=pl.FunctionType.InCore)
    def mix(
        self,
        x: pl.Tensor[[8, 16], pl.FP32],
        y: pl.Tensor[[8, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        a = pl.load(x, [0, 0], [8, 16])
        b = pl.load(y, [0, 0], [8, 16])
        out = pl.store(pl.add(pl.mul(a, 0.5), pl.mul(b, 0.25)), [0, 0], [8, 16], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def bump(
        self, x: pl.InOut[pl.Tensor[[8, 16], pl.FP32]], by: pl.Scalar[pl.FP32]
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        x = pl.store(pl.add(pl.load(x, [0, 0], [8, 16]), by), [0, 0], [8, 16], x)
        return x

    @pl.function(type=pl.FunctionType.InCore)
    def small(
        self,
        x: pl.Tensor[[4, 8], pl.FP32],
        out: pl.Out[pl.Tensor[[4, 8], pl.FP32]],
    ) -> pl.Tensor[[4, 8], pl.FP32]:
        out = pl.store(pl.neg(pl.load(x, [0, 0], [4, 8])), [0, 0], [4, 8], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def wide(
        self,
        x: pl.Tensor[[2, 64], pl.FP32],
        out: pl.InOut[pl.Tensor[[2, 64], pl.FP32]],
    ) -> pl.Tensor[[2, 64], pl.FP32]:
        total = pl.add(pl.load(x, [0, 0], [2, 64]), pl.load(out, [0, 0], [2, 64]))
        out = pl.store(pl.mul(total, 0.5), [0, 0], [2, 64], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def through(
        self,
        x: pl.Tensor[[8, 16], pl.FP32],
        by: pl.Scalar[pl.FP32],
        out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> tuple[pl.Tensor[[8, 16], pl.FP32], pl.Scalar[pl.FP32]]:
        made = pl.create_tensor([8, 16], dtype=pl.FP32)
        made = self.mix(x, x, made)
        made = self.bump(made, by)
        out = self.mix(made, x, out)
        return out, by * 0.5

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.InOut[pl.Tensor[[32, 64], pl.FP32]],
        y: pl.InOut[pl.Tensor[[32, 64], pl.FP32]],
        script: pl.Tensor[[STEPS, 8], pl.INT64],
        start: pl.Scalar[pl.FP32],
    ) -> tuple[pl.Tensor[[8, 16], pl.FP32], pl.Tensor[[32, 64], pl.FP32], pl.Scalar[pl.FP32]]:
        held = pl.create_tensor([8, 16], dtype=pl.FP32)
        corner = pl.view(x, [8, 16], [0, 0])
        held = self.mix(corner, corner, held)
        level: pl.Scalar[pl.FP32] = start
        for i in pl.range(0, pl.tensor.dim(script, 0)):
            op: pl.Scalar[pl.INT64] = pl.read(script, [i, 0])
            flag: pl.Scalar[pl.INT64] = pl.read(script, [i, 1])
            r0: pl.Scalar[pl.INT64] = pl.read(script, [i, 2])
            c0: pl.Scalar[pl.INT64] = pl.read(script, [i, 3])
            r1: pl.Scalar[pl.INT64] = pl.read(script, [i, 4])
            c1: pl.Scalar[pl.INT64] = pl.read(script, [i, 5])
            r2: pl.Scalar[pl.INT64] = pl.read(script, [i, 6])
            c2: pl.Scalar[pl.INT64] = pl.read(script, [i, 7])
            if op == 0:
                a = pl.view(x, [8, 16], [r0, c0])
                b = pl.view(y, [8, 16], [r1, c1])
                into = pl.view(y, [8, 16], [r2, c2])
                self.mix(a, b, into)
            if op == 1:
                a1 = pl.view(y, [8, 16], [r0, c0])
                temp = pl.create_tensor([8, 16], dtype=pl.FP32)
                temp = self.mix(a1, held, temp)
                if flag > 0:
                    self.bump(temp, level)
                self.mix(temp, a1, pl.view(x, [8, 16], [r1, c1]))
            if op == 2:
                half = pl.view(x, [16, 32], [r0 // 2, c0 // 2])
                self.small(pl.view(half, [4, 8], [r1 // 4, c1 // 4]), pl.view(y, [4, 8], [r2, c2]))
            if op == 3:
                fresh = pl.create_tensor([8, 16], dtype=pl.FP32)
                fresh = self.mix(held, pl.view(x, [8, 16], [r0, c0]), fresh)
                if flag > 0:
                    held = fresh
                else:
                    self.bump(held, 0.125)
            if op == 4:
                seen: pl.Scalar[pl.FP32] = pl.read(x, [r0, c0])
                iterations: pl.Scalar[pl.INT64] = 0
                while seen < level and iterations < 3:
                    self.bump(pl.view(x, [8, 16], [r0, c0]), 0.75)
                    seen = pl.read(x, [r0, c0])
                    iterations = iterations + 1
                level = level * 0.5 + seen
            if op == 5:
                for k in pl.range(r0, 28 - r0, 4):
                    self.wide(pl.view(y, [2, 64], [r1, 0]), pl.view(x, [2, 64], [k, 0]))
            if op == 6:
                spare = pl.create_tensor([16, 16], dtype=pl.FP32)
                top = pl.view(spare, [8, 16], [0, 0])
                low = pl.view(spare, [8, 16], [8, 0])
                top, other = self.through(pl.view(y, [8, 16], [r0, c0]), level, top)
                self.mix(top, held, low)
                self.bump(low, other)
                self.mix(low, top, pl.view(y, [8, 16], [r1, c1]))
        return held, x, level
