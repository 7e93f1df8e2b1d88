"""Programs used by the tests of running."""

# ruff: noqa: RET504  a store's result is named, as in the documents

from __future__ import annotations

import pypto.language as pl

ROWS = pl.dynamic("rows")


@pl.program
class Steps:
    """Kernels on 8 x 16 blocks, and orchestrations that depend on their order."""

    @pl.function(type=pl.FunctionType.InCore)
    def add(
        self,
        x: pl.Tensor[[8, 16], pl.FP32],
        y: pl.Tensor[[8, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        a = pl.load(x, [0, 0], [8, 16])
        b = pl.load(y, [0, 0], [8, 16])
        out = pl.store(pl.add(a, b), [0, 0], [8, 16], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def scale(
        self, x: pl.InOut[pl.Tensor[[8, 16], pl.FP32]], factor: pl.Scalar[pl.FP32]
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        a = pl.load(x, [0, 0], [8, 16])
        x = pl.store(pl.mul(a, factor), [0, 0], [8, 16], x)
        return x

    @pl.function(type=pl.FunctionType.InCore)
    def top_row(
        self,
        x: pl.Tensor[[8, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        a = pl.load(x, [0, 0], [1, 16])
        out = pl.store(a, [0, 0], [1, 16], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def fibonacci(
        self,
        x: pl.InOut[pl.Tensor[[8, 16], pl.FP32]],
        y: pl.InOut[pl.Tensor[[8, 16], pl.FP32]],
        z: pl.InOut[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        for _ in pl.range(0, 5):
            self.add(x, y, z)
            self.add(y, z, x)
            self.add(z, x, y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def columns(
        self,
        x: pl.Tensor[[8, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[8, 64], pl.FP32]],
    ) -> pl.Tensor[[8, 64], pl.FP32]:
        for c in pl.range(0, 64, 16):
            source = pl.view(x, [8, 16], [0, c])
            target = pl.view(out, [8, 16], [0, c])
            self.add(source, source, target)
            self.scale(target, 0.5)
        for c in pl.range(0, 48, 16):
            left = pl.view(out, [8, 16], [0, c])
            right = pl.view(out, [8, 16], [0, c + 16])
            self.add(left, right, right)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def partly(
        self,
        x: pl.Tensor[[8, 16], pl.FP32],
        out: pl.InOut[pl.Tensor[[8, 32], pl.FP32]],
    ) -> pl.Tensor[[8, 32], pl.FP32]:
        right = pl.view(out, [8, 16], [0, 16])
        self.top_row(x, right)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def until_large(
        self, x: pl.InOut[pl.Tensor[[8, 16], pl.FP32]], limit: pl.Scalar[pl.FP32]
    ) -> pl.Scalar[pl.INT64]:
        iterations: pl.Scalar[pl.INT64] = 0
        largest: pl.Scalar[pl.FP32] = pl.read(x, [7, 15])
        while largest < limit:
            self.scale(x, 2.0)
            largest = pl.read(x, [7, 15])
            iterations = iterations + 1
        return iterations

    @pl.function(type=pl.FunctionType.Orchestration)
    def with_scratch(
        self, x: pl.Tensor[[8, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        for i in pl.range(0, 20):
            scratch = pl.create_tensor([8, 16], dtype=pl.FP32)
            scratch = self.add(x, x, scratch)
            if i % 2 == 0:
                self.scale(scratch, 3.0)
            self.add(scratch, x, out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def twice(
        self, x: pl.Tensor[[8, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        made = pl.create_tensor([8, 16], dtype=pl.FP32)
        made = self.with_scratch(x, made)
        made = self.scale(made, 3.0)
        out = self.add(made, made, out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def overlapping(self, x: pl.InOut[pl.Tensor[[8, 64], pl.FP32]]) -> pl.Tensor[[8, 64], pl.FP32]:
        left = pl.view(x, [8, 16], [0, 0])
        right = pl.view(x, [8, 16], [0, 8])
        self.add(left, left, right)
        return x


@pl.program
class Undirected:
    """Parameters as in the documents' first examples: no Out."""

    @pl.function(type=pl.FunctionType.InCore)
    def double(
        self, x: pl.Tensor[[8, 16], pl.FP32], y: pl.Tensor[[8, 16], pl.FP32]
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        tile = pl.load(x, [0, 0], [8, 16])
        y = pl.store(pl.add(tile, tile), [0, 0], [8, 16], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[8, 16], pl.FP32], y: pl.Tensor[[8, 16], pl.FP32]
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        made = pl.create_tensor([8, 16], dtype=pl.FP32)
        made = self.double(x, made)
        y = self.double(made, y)
        return y


@pl.program
class Broken:
    """An orchestration whose views leave the tensor in the third iteration."""

    @pl.function(type=pl.FunctionType.InCore)
    def clear(self, out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]) -> pl.Tensor[[8, 16], pl.FP32]:
        out = pl.store(pl.full([8, 16], pl.FP32, 0.0), [0, 0], [8, 16], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, out: pl.InOut[pl.Tensor[[20, 16], pl.FP32]], iterations: pl.Scalar[pl.INT64]
    ) -> pl.Tensor[[20, 16], pl.FP32]:
        for i in pl.range(0, iterations):
            rows = pl.view(out, [8, 16], [i * 8, 0])
            self.clear(rows)
        return out


@pl.program
class CopyRow:
    """A kernel that copies the row given by an argument."""

    @pl.function(type=pl.FunctionType.InCore)
    def copy_row(
        self,
        x: pl.Tensor[[4, 16], pl.FP32],
        row: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[4, 16], pl.FP32]],
    ) -> pl.Tensor[[4, 16], pl.FP32]:
        a = pl.load(x, [row, 0], [1, 16])
        out = pl.store(a, [0, 0], [1, 16], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[4, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[4, 16], pl.FP32]],
    ) -> pl.Tensor[[4, 16], pl.FP32]:
        self.copy_row(x, 1, out)
        return out


@pl.program
class Scale:
    """x * factor, and a sum of two arrays."""

    @pl.function(type=pl.FunctionType.InCore)
    def scale(
        self,
        x: pl.Tensor[[8, 16], pl.FP32],
        factor: pl.Scalar[pl.FP32],
        out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        out = pl.store(pl.mul(pl.load(x, [0, 0], [8, 16]), factor), [0, 0], [8, 16], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def split(
        self,
        x: pl.Tensor[[8, 16], pl.FP32],
        low: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
        high: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> tuple[pl.Tensor[[8, 16], pl.FP32], pl.Tensor[[8, 16], pl.FP32]]:
        tile = pl.load(x, [0, 0], [8, 16])
        low = pl.store(pl.minimum(tile, 0.0), [0, 0], [8, 16], low)
        high = pl.store(pl.maximum(tile, 0.0), [0, 0], [8, 16], high)
        return high, low

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[8, 16], pl.FP32],
        factor: pl.Scalar[pl.FP32],
        out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> tuple[pl.Tensor[[8, 16], pl.FP32], pl.Tensor[[8, 16], pl.FP32]]:
        made = pl.create_tensor([8, 16], dtype=pl.FP32)
        low = pl.create_tensor([8, 16], dtype=pl.FP32)
        out = self.scale(x, factor, out)
        made, low = self.split(out, low, made)
        return out, made


@pl.program
class Several:
    """Two kernels, and nothing that makes either of them the entry."""

    @pl.function(type=pl.FunctionType.InCore)
    def first(self, out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]) -> pl.Tensor[[8, 16], pl.FP32]:
        out = pl.store(pl.full([8, 16], pl.FP32, 1.0), [0, 0], [8, 16], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def second(self, out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]) -> pl.Tensor[[8, 16], pl.FP32]:
        out = pl.store(pl.full([8, 16], pl.FP32, 2.0), [0, 0], [8, 16], out)
        return out


@pl.program
class Dynamic:
    """A kernel on a tensor of unknown size."""

    @pl.function(type=pl.FunctionType.InCore)
    def first_rows(
        self,
        x: pl.Tensor[[ROWS, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        out = pl.store(pl.load(x, [0, 0], [8, 16]), [0, 0], [8, 16], out)
        return out


@pl.function(type=pl.FunctionType.Orchestration)
def count(n: pl.Scalar[pl.INT32], negate: pl.Scalar[pl.BOOL]) -> pl.Scalar[pl.INT32]:
    """The sum of the numbers below n, negated on request."""
    total: pl.Scalar[pl.INT32] = pl.const(0, pl.INT32)
    for _ in pl.range(0, n):
        total = total + n
    if negate:
        total = -total
    return total


@pl.program
class Flows:
    """Tensors that pass through branches, loops, calls and tuples."""

    @pl.function(type=pl.FunctionType.InCore)
    def fill(
        self, a: pl.Tensor[[8, 16], pl.FP32], b: pl.Tensor[[8, 16], pl.FP32]
    ) -> tuple[pl.Tensor[[8, 16], pl.FP32], pl.Tensor[[8, 16], pl.FP32]]:
        for i in pl.range(0, 8):
            b = pl.store(pl.load(a, [i, 0], [1, 16]), [i, 0], [1, 16], b)
        return b, a

    @pl.function(type=pl.FunctionType.Orchestration)
    def branch(
        self,
        x: pl.Tensor[[8, 16], pl.FP32],
        y: pl.Tensor[[8, 16], pl.FP32],
        z: pl.Tensor[[8, 16], pl.FP32],
        first: pl.Scalar[pl.BOOL],
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        if first:
            out: pl.Tensor[[8, 16], pl.FP32] = pl.yield_(x)
        else:
            out: pl.Tensor[[8, 16], pl.FP32] = pl.yield_(y)
        written, _read = self.fill(z, out)
        return written

    @pl.function(type=pl.FunctionType.Orchestration)
    def alone(
        self, x: pl.Tensor[[8, 16], pl.FP32], y: pl.Tensor[[8, 16], pl.FP32]
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        made = pl.create_tensor([8, 16], dtype=pl.FP32)
        rows = pl.view(made, [8, 16], [0, 0])
        self.fill(x, rows)
        self.fill(rows, y)
        return made
