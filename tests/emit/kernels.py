"""Kernels in the language for the tests of the emitters."""

from __future__ import annotations

import pypto.language as pl


@pl.program
class SimpleAdd:
    """Document 000's kernel in the language."""

    @pl.function(type=pl.FunctionType.InCore)
    def simple_add(
        self,
        x: pl.Tensor[[128, 64], pl.FP32],
        y: pl.Tensor[[128, 64], pl.FP32],
        output: pl.Out[pl.Tensor[[128, 64], pl.FP32]],
    ) -> pl.Tensor[[128, 64], pl.FP32]:
        tile_x = pl.load(x, [0, 0], [128, 64])
        tile_y = pl.load(y, [0, 0], [128, 64])
        tile_z = pl.add(tile_x, tile_y)
        result = pl.store(tile_z, [0, 0], [128, 64], output)
        return result  # noqa: RET504  the document's names


@pl.program
class BlockOfRows:
    """A kernel with forms whose text in the document would not compile."""

    @pl.function(type=pl.FunctionType.InCore)
    def block_of_rows(
        self,
        input: pl.Tensor[[64, 128], pl.BF16],  # noqa: A002  the document's name
        output: pl.Out[pl.Tensor[[64, 128], pl.BF16]],
        n: pl.Scalar[pl.INT64],
    ) -> pl.Tensor[[64, 128], pl.BF16]:
        first = n
        for i in pl.range(0, 2):
            tile_x = pl.load(input, [first, 0], [32, 128])
            output = pl.store(tile_x, [first, 0], [32, 128], output)
            first = first + i
        return output


@pl.program
class Loops:
    """Nested loops, with a carried tile and a carried tensor."""

    @pl.function(type=pl.FunctionType.InCore)
    def loops(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ) -> pl.Tensor[[16, 64], pl.FP32]:
        for r in pl.range(0, 16, 8):
            total = pl.load(x, [r, 0], [8, 64])
            for k in pl.range(48, 0, -16):
                total = pl.add(total, pl.load(x, [r + k, 0], [8, 64]))
            out = pl.store(total, [r, 0], [8, 64], out)
        return out


@pl.program
class Branches:
    """A branch that results in a scalar and a tile, and one without else."""

    @pl.function(type=pl.FunctionType.InCore)
    def branches(
        self,
        x: pl.Tensor[[32, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[32, 16], pl.FP32]],
        n: pl.Scalar[pl.INT64],
    ) -> pl.Tensor[[32, 16], pl.FP32]:
        tile = pl.load(x, [0, 0], [8, 16])
        row = 0
        if n > 3:
            tile = pl.mul(tile, 2.0)
            row = n * 2
        else:
            tile = pl.neg(tile)
        if n != 0:
            out = pl.store(tile, [row, 0], [8, 16], out)
        return out


@pl.program
class Fibonacci:
    """Two carried scalars that read each other, in a while loop."""

    @pl.function(type=pl.FunctionType.InCore)
    def fibonacci(
        self, out: pl.Out[pl.Tensor[[8, 8], pl.INT32]], n: pl.Scalar[pl.INT32]
    ) -> pl.Tensor[[8, 8], pl.INT32]:
        a: pl.Scalar[pl.INT32] = pl.const(0, pl.INT32)
        b: pl.Scalar[pl.INT32] = pl.const(1, pl.INT32)
        left = n
        while left > 0:
            c = a + b
            a = b
            b = c
            left = left - 1
        return pl.store(pl.full([8, 8], pl.INT32, a), [0, 0], [8, 8], out)


@pl.program
class Regions:
    """Regions of tensors: a block, a part of a view, a column."""

    @pl.function(type=pl.FunctionType.InCore)
    def regions(
        self,
        x: pl.Tensor[[64, 128], pl.FP32],
        c: pl.Tensor[[64, 1], pl.FP32],
        out: pl.Out[pl.Tensor[[64, 128], pl.FP32]],
        r: pl.Scalar[pl.INT64],
    ) -> pl.Tensor[[64, 128], pl.FP32]:
        right = pl.view(x, [64, 64], [0, 64])
        low = pl.view(right, [32, 64], [r, 0])
        tile = pl.load(low, [8, 32], [16, 32])
        factors = pl.load(c, [r + 8, 0], [16, 1])
        tile = pl.row_expand_mul(tile, factors)
        return pl.store(tile, [r * 2 + 1, 64], [16, 32], out)


@pl.program
class Scalars:
    """One scalar parameter of each kind, all of them used."""

    @pl.function(type=pl.FunctionType.InCore)
    def scalars(
        self,
        out: pl.Out[pl.Tensor[[16, 8], pl.FP32]],
        f: pl.Scalar[pl.FP32],
        i: pl.Scalar[pl.INT32],
        w: pl.Scalar[pl.INT64],
        flag: pl.Scalar[pl.BOOL],
        unused: pl.Scalar[pl.FP32],
    ) -> pl.Tensor[[16, 8], pl.FP32]:
        tile = pl.full([8, 8], pl.FP32, f)
        if flag and i < 0:
            out = pl.store(tile, [w, 0], [8, 8], out)
        return out


@pl.program
class Clashes:
    """Python names that are also used by C++, the tile library or the emitter."""

    @pl.function(type=pl.FunctionType.InCore)
    def clashes(
        self,
        double: pl.Tensor[[8, 16], pl.FP32],
        args: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        auto = pl.load(double, [0, 0], [8, 16])
        Tile = pl.exp(auto)
        template = pl.add(Tile, auto)
        for int64_t in pl.range(0, 1):
            args = pl.store(template, [int64_t, 0], [8, 16], args)
        return args
