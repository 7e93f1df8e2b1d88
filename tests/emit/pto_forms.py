"""Kernels for what op rows do not cover: control flow, scalars, run-time sizes and offsets.

Sources in the language by name. `tests/emit/pto_texts.py` stores their texts.
"""

from __future__ import annotations

from typing import Final

_HEAD = """\
import pypto.language as pl

M = pl.dynamic("M")
N = pl.dynamic("N")
MAT, LEFT, RIGHT = pl.MemorySpace.Mat, pl.MemorySpace.Left, pl.MemorySpace.Right


@pl.program
class Form:
    @pl.function(type=pl.FunctionType.InCore)
    def {name}(self, {params}):
{body}"""

_X = "x: pl.Tensor[[64, 64], pl.FP32]"
_OUT = "out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"

_INTEGERS: Final = ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32")
_FLOATS: Final = ("FP16", "FP32")

_KERNELS: dict[str, tuple[str, str]] = {
    # ----- places -------------------------------------------------------------------------
    "offset_int64": (
        f"{_X}, n: pl.INT64, {_OUT}",
        """
        out[n : n + 8, 0:64] = x[n * 2 + 3 : n * 2 + 11, 0:64]
        """,
    ),
    "offset_int32": (
        f"{_X}, n: pl.INT32, k: pl.INT32, {_OUT}",
        """
        first = (n - k) * (n - k)
        tile = pl.load(x, [first, k % 4 * 8], [8, 32])
        out = pl.store(tile, [k, k % 5 * 8], [8, 32], out)
        """,
    ),
    "offset_uint32": (
        f"{_X}, n: pl.UINT32, {_OUT}",
        """
        tile = pl.load(x, [n, 0], [8, 64])
        out = pl.store(tile, [n % 7, 0], [8, 64], out)
        """,
    ),
    "offset_read": (
        f"{_X}, at: pl.Tensor[[8], pl.INT32], {_OUT}",
        """
        for i in pl.range(8):
            row = pl.tensor.read(at, [i])
            out = pl.store(pl.load(x, [row, 0], [8, 64]), [i * 8, 0], [8, 64], out)
        """,
    ),
    "block_index": (
        f"{_X}, {_OUT}",
        """
        b = pl.block.get_block_idx()
        out[b * 8 : b * 8 + 8] = x[b * 8 : b * 8 + 8] * 2
        """,
    ),
    "rank_1": (
        "x: pl.Tensor[[256], pl.FP16], n: pl.INT64, out: pl.Out[pl.Tensor[[256], pl.FP16]]",
        """
        out = pl.store(pl.exp(pl.load(x, [n], [64])), [n + 64], [64], out)
        """,
    ),
    "rank_3": (
        "x: pl.Tensor[[4, 16, 32], pl.FP32], n: pl.INT64, "
        "out: pl.Out[pl.Tensor[[4, 16, 32], pl.FP32]]",
        """
        tile = pl.load(x, [n % 3, 0, 0], [2, 16, 32])
        out = pl.store(pl.exp(tile), [0, 0, 0], [2, 16, 32], out)
        """,
    ),
    "rank_4": (
        "x: pl.Tensor[[M, 2, 8, 32], pl.FP32], n: pl.INT64, "
        "out: pl.Out[pl.Tensor[[M, 2, 8, 32], pl.FP32]]",
        """
        for i in pl.range(0, M):
            tile = pl.load(x, [i, 1, 0, 0], [1, 1, 8, 32])
            out = pl.store(tile * 3, [i, 0, 0, 0], [1, 1, 8, 32], out)
        """,
    ),
    "rank_5": (
        "x: pl.Tensor[[2, M, 2, 8, 32], pl.FP16], "
        "out: pl.Out[pl.Tensor[[2, M, 2, 8, 32], pl.FP16]]",
        """
        for i in pl.range(0, M):
            tile = pl.load(x, [1, i, 1, 0, 0], [1, 1, 1, 8, 32])
            out = pl.store(tile * 3, [0, i, 0, 0, 0], [1, 1, 1, 8, 32], out)
        """,
    ),
    "sizes_at_run_time": (
        "x: pl.Tensor[[M, N], pl.FP32], out: pl.Out[pl.Tensor[[M, N], pl.FP32]]",
        """
        for i in pl.range(0, M, 16):
            for j in pl.range(0, N, 64):
                out[i : i + 16, j : j + 64] = x[i : i + 16, j : j + 64] * 2
        """,
    ),
    "size_of_a_parameter": (
        "n: pl.INT64, x: pl.Tensor[[n * 2, 64], pl.FP32], out: pl.Out[pl.Tensor[[n, 64], pl.FP32]]",
        """
        for i in pl.range(0, n, 8):
            out[i : i + 8] = x[i * 2 : i * 2 + 8] + x[n : n + 8]
        """,
    ),
    "column_at_run_time": (
        "x: pl.Tensor[[M, 1], pl.FP32], out: pl.Out[pl.Tensor[[M, 1], pl.FP32]]",
        """
        for i in pl.range(0, M, 16):
            tile = pl.load(x, [i, 0], [16, 1])
            out = pl.store(pl.exp(tile) * 2 + tile, [i, 0], [16, 1], out)
        """,
    ),
    "windows": (
        f"{_X}, n: pl.INT64, {_OUT}",
        """
        upper = pl.tensor.view(x, [32, 32], [n, 16])
        part = pl.tensor.view(upper, [8, 32], [n * 2, 0])
        out = pl.store(pl.load(part, [0, 0], [8, 32]), [0, n], [8, 32], out)
        """,
    ),
    "tile_views": (
        f"{_X}, n: pl.INT64, {_OUT}",
        """
        tile = x[0:32, :]
        for i in pl.range(0, 4):
            part = pl.view(tile, [8, 64], [i * 8, 0])
            out = pl.store(pl.exp(part), [i * 8, 0], [8, 64], out)
        last = pl.view(tile, [2, 64], [n, 0])
        out = pl.store(last + 1, [62, 0], [2, 64], out)
        """,
    ),
    "tile_views_in_a_row": (
        f"{_X}, n: pl.INT64, {_OUT}",
        """
        tile = x[0:8, :]
        rows = pl.view(tile, [4, 64], [n % 5, 0])
        row = pl.view(rows, [1, 64], [3 - n % 3, 0])
        flat = pl.reshape(rows, [1, 256])
        part = pl.view(flat, [1, 32], [0, n * 16])
        again = pl.view(part, [1, 16], [0, n % 3 * 8])
        out = pl.store(row * 2, [0, 0], [1, 64], out)
        out = pl.store(part + 1, [1, 0], [1, 32], out)
        out = pl.store(again + 2, [2, 0], [1, 16], out)
        """,
    ),
    # ----- control ------------------------------------------------------------------------
    "carried_tile": (
        f"{_X}, n: pl.INT64, {_OUT}",
        """
        total = x[0:8]
        for i in pl.range(1, n):
            total = total + x[i * 8 : i * 8 + 8]
        out[0:8] = total
        """,
    ),
    "carried_pair": (
        f"{_X}, n: pl.INT64, {_OUT}",
        """
        a = x[0:8]
        b = x[8:16]
        for i in pl.range(n):
            a, b = b, a + b
        out[0:8] = a
        out[8:16] = b
        """,
    ),
    "carried_statistics": (
        f"{_X}, {_OUT}",
        """
        scratch = pl.create_tile([8, 64], pl.FP32)
        top = pl.row_max(x[0:8], scratch)
        total = pl.full([8, 1], pl.FP32, 0.0)
        for i in pl.range(1, 8):
            tile = x[i * 8 : i * 8 + 8]
            higher = pl.maximum(top, pl.row_max(tile, scratch))
            grown = total * pl.exp(top - higher)
            total = grown + pl.row_sum(pl.exp(pl.row_expand_sub(tile, higher)), scratch)
            top = higher
        out[0:8] = pl.row_expand_div(pl.row_expand_sub(x[0:8], top), total)
        """,
    ),
    "chosen_tile": (
        f"{_X}, n: pl.INT64, {_OUT}",
        """
        if n > 3:
            tile = pl.exp(x[0:8])
        else:
            tile = x[8:16]
        out[0:8] = tile
        """,
    ),
    "nested_choice": (
        f"{_X}, n: pl.INT64, f: pl.FP32, {_OUT}",
        """
        tile = x[0:8]
        k = n
        for i in pl.range(n):
            if i % 2 == 0:
                if f > 0.5:
                    tile = tile * f
                    k = k + i
                else:
                    tile = x[i * 8 : i * 8 + 8]
            else:
                k = k - 2
        out[0:8] = tile * pl.cast(k, pl.FP32)
        """,
    ),
    "while_loop": (
        f"{_X}, n: pl.INT64, {_OUT}",
        """
        tile = x[0:8]
        k = n
        while k > 1:
            if k % 2 == 0:
                k = k // 2
            else:
                k = 3 * k + 1
            tile = tile + 1
        out[0:8] = tile
        """,
    ),
    "while_with_two_conditions": (
        f"{_X}, n: pl.INT64, f: pl.FP32, {_OUT}",
        """
        g = f
        k = 0
        while k < n and not g > 100.0:
            g = g * 1.5
            k = k + 1
        out[0:8] = x[0:8] * g
        """,
    ),
    "loops_in_loops": (
        f"{_X}, n: pl.INT64, {_OUT}",
        """
        k = 0
        for i in pl.range(n):
            for j in pl.range(i, n, 2):
                k = k + i * j
            for j in pl.range(n, 0, -3):
                k = k - j
        out[0:8] = x[0:8] * pl.cast(k, pl.FP32)
        """,
    ),
    "loop_of_any_step": (
        f"{_X}, a: pl.INT64, b: pl.INT64, s: pl.INT64, {_OUT}",
        """
        k = 0
        for i in pl.range(a, b, s):
            k = k * 3 + i
        out[0:8] = x[0:8] * pl.cast(k, pl.FP32)
        """,
    ),
    "jumps": (
        f"{_X}, n: pl.INT64, {_OUT}",
        """
        total = x[0:8]
        for i in pl.range(n):
            if i == 3:
                continue
            if i > 5:
                break
            total = total + x[i * 8 : i * 8 + 8]
        out[0:8] = total
        """,
    ),
    "swapped_numbers": (
        f"{_X}, n: pl.INT64, f: pl.FP32, {_OUT}",
        """
        a, b = 1, 2
        g, h = f, 2.0
        for i in pl.range(n):
            a, b = b, a
            g, h = h, g
        out[0:8] = (x[0:8] + pl.cast(a * 10 + b, pl.FP32)) * g + h
        """,
    ),
    "carried_tensor": (
        f"{_X}, n: pl.INT64, {_OUT}",
        """
        for i in pl.range(n):
            if i > 2:
                out = pl.store(x[0:8], [i * 8, 0], [8, 64], out)
            else:
                out = pl.store(x[8:16], [i * 8, 0], [8, 64], out)
        """,
    ),
    # ----- tiles --------------------------------------------------------------------------
    "compare_and_choose": (
        f"{_X}, f: pl.FP32, {_OUT}",
        """
        a = x[0:8]
        b = x[8:16]
        out[0:8] = pl.sel(a > b, a, b)
        out[8:16] = pl.sel(a >= f, a - f, pl.sel(b != 0.0, b, a))
        """,
    ),
    "compare_columns": (
        f"{_X}, {_OUT}",
        """
        scratch = pl.create_tile([32, 64], pl.FP32)
        a = pl.row_max(x[0:32], scratch)
        b = pl.row_min(x[32:64], scratch)
        out[0:32] = pl.row_expand_mul(x[0:32], pl.sel(a > -b, a, b))
        """,
    ),
    "casts_by_way": (
        "x: pl.Tensor[[16, 64], pl.INT8], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]",
        """
        out[...] = pl.cast(pl.cast(x[...], pl.FP16), pl.FP32) * 0.125
        """,
    ),
    "element_types_and_shapes": (
        "x: pl.Tensor[[32, 64], pl.FP16], y: pl.Tensor[[32, 64], pl.INT32], "
        "m: pl.Tensor[[32, 1], pl.FP32], r: pl.Tensor[[1, 64], pl.INT32], "
        "out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]",
        """
        a, b, c, d = x[:], y[:], m[:], r[:]
        e = a * c + d
        f = pl.sel(e > b, e, c)
        g = pl.sub(c, d) / a
        f = pl.maximum(pl.col_expand_mul(f, d), pl.row_expand_sub(b, c))
        out = pl.store(pl.block.addc(f, g, pl.cast(b | d, pl.FP32)), [0, 0], [32, 64], out)
        """,
    ),
    "integer_types_and_shapes": (
        "x: pl.Tensor[[32, 64], pl.INT16], y: pl.Tensor[[32, 64], pl.UINT16], "
        "m: pl.Tensor[[32, 1], pl.UINT16], r: pl.Tensor[[1, 64], pl.INT16], "
        "out: pl.Out[pl.Tensor[[32, 64], pl.INT16]]",
        """
        a, b, c, d = x[:], y[:], m[:], r[:]
        e = pl.minimum(a + b, c) ^ d
        out = pl.store((e << c) - b * d, [0, 0], [32, 64], out)
        """,
    ),
    "unsigned_tiles": (
        "x: pl.Tensor[[16, 64], pl.UINT16], out: pl.Out[pl.Tensor[[16, 64], pl.UINT16]]",
        """
        a = x[...]
        b = (a & 255) | (a << 3)
        out[...] = (b >> 1) + a * 3 - 7
        """,
    ),
    "row_and_column_results": (
        "x: pl.Tensor[[32, 64], pl.FP32], r: pl.Out[pl.Tensor[[32, 1], pl.FP32]], "
        "c: pl.Out[pl.Tensor[[1, 64], pl.FP32]]",
        """
        tile = x[...]
        r[...] = pl.sum(tile, axis=1, keepdim=True)
        c[...] = pl.sum(tile, axis=0, keepdim=True)
        """,
    ),
    "product_in_steps": (
        "a: pl.Tensor[[M, N], pl.FP16], b: pl.Tensor[[N, 64], pl.FP16], "
        "c: pl.Out[pl.Tensor[[M, 64], pl.FP32]]",
        """
        for i in pl.range(0, M, 32):
            left = pl.move(pl.load(a, [i, 0], [32, 32], target_memory=MAT), target_memory=LEFT)
            right = pl.move(pl.load(b, [0, 0], [32, 64], target_memory=MAT), target_memory=RIGHT)
            acc = pl.matmul(left, right)
            for k in pl.range(32, N, 32):
                left = pl.move(pl.load(a, [i, k], [32, 32], target_memory=MAT), target_memory=LEFT)
                staged = pl.load(b, [k, 0], [32, 64], target_memory=MAT)
                right = pl.move(staged, target_memory=RIGHT)
                acc = pl.matmul_acc(acc, left, right)
            c = pl.l0c_store(acc, [i, 0], [32, 64], c)
        """,
    ),
    "transposed_operand": (
        "a: pl.Tensor[[32, 64], pl.FP16], b: pl.Tensor[[48, 64], pl.FP16], "
        "c: pl.Out[pl.Tensor[[32, 48], pl.FP16]]",
        """
        left = pl.move(pl.load(a, [0, 0], [32, 64], target_memory=MAT), target_memory=LEFT)
        staged = pl.load(b, [0, 0], [48, 64], target_memory=MAT)
        right = pl.move(staged, target_memory=RIGHT, transpose=True)
        c = pl.l0c_store(pl.matmul(left, right), [0, 0], [32, 48], c)
        """,
    ),
    "large_constants": (
        "x: pl.Tensor[[8, 64], pl.INT32], out: pl.Out[pl.Tensor[[8, 64], pl.INT32]]",
        """
        out[...] = (x[...] + 2147483647) * -2147483648 - 1
        """,
    ),
    "small_constants": (
        "x: pl.Tensor[[8, 64], pl.FP16], out: pl.Out[pl.Tensor[[8, 64], pl.FP16]]",
        """
        out[...] = x[...] * 6e-08 + 65504.0 - 0.1
        """,
    ),
    "truth_values": (
        f"{_X}, n: pl.INT64, f: pl.FP32, {_OUT}",
        """
        a = n > 3
        b = f < 1.0
        c = a and not b
        if c or (a == b):
            out[0:8] = x[0:8]
        if c != a:
            out[8:16] = x[8:16]
        """,
    ),
}


def _of_integers(dtype: str) -> tuple[str, str]:
    """Return a kernel with all the arithmetic of an integer type."""
    lines = [
        f"k = (a + b) * (a - b) + (a // 3) - (b % {5 if dtype.startswith('U') else -5})",
        "k = (k & a) | (b ^ k)",
        "k = max(k, a) - min(k, b)",
        "k = (k << 2) + (a >> 1)",
        "k = k + ~a" if dtype.startswith("U") else "k = k + ~a + (-b) + abs(a)",
        "if a < b or a >= k:",
        "    k = k + 1",
        "if k != a and (k == b or k <= b or not k > b):",
        "    k = k * 7",
        "for i in pl.range(4):",
        "    k = k * 3 - a",
        f"out[0:8] = x[0:8] * pl.cast(k, pl.FP32) + pl.cast(pl.cast(f, pl.{dtype}), pl.FP32)",
    ]
    body = "\n" + "\n".join(f"        {line}" for line in lines) + "\n"
    return f"{_X}, a: pl.{dtype}, b: pl.{dtype}, f: pl.FP32, {_OUT}", body


def _of_floats(dtype: str) -> tuple[str, str]:
    """Return a kernel with all the arithmetic of a float type."""
    lines = [
        "k = (a + b) * (a - b) / (b * b + 1.0)",
        "k = k + a // 3.0 + b % 0.75 + b ** 3",
        "k = max(k, a) - min(k, b) + abs(a) - (-b)",
        "if a < b or a >= k:",
        "    k = k + 1.0",
        "if k != a and (k == b or k <= b or not k > b):",
        "    k = k * 7.0",
        "for i in pl.range(4):",
        "    k = k * 0.5 - a",
        "n = pl.cast(k, pl.INT32)",
        "out[0:8] = x[0:8] * pl.cast(k, pl.FP32) + pl.cast(n, pl.FP32)",
    ]
    body = "\n" + "\n".join(f"        {line}" for line in lines) + "\n"
    return f"{_X}, a: pl.{dtype}, b: pl.{dtype}, {_OUT}", body


def _of_elements(dtype: str) -> tuple[str, str]:
    """Return a kernel that reads elements of a type, at a run-time offset."""
    body = """
        k = pl.tensor.read(v, [n % 4, 3])
        if k > pl.tensor.read(v, [0, n]):
            out[0:8] = x[0:8] * pl.cast(k, pl.FP32)
        else:
            out[0:8] = x[0:8] + pl.cast(k, pl.FP32)
    """
    return f"{_X}, v: pl.Tensor[[4, 8], pl.{dtype}], n: pl.INT64, {_OUT}", body


for _dtype in _INTEGERS:
    _KERNELS[f"scalars_{_dtype.lower()}"] = _of_integers(_dtype)
for _dtype in _FLOATS:
    _KERNELS[f"scalars_{_dtype.lower()}"] = _of_floats(_dtype)
for _dtype in (*_INTEGERS, *_FLOATS, "BF16"):
    _KERNELS[f"elements_{_dtype.lower()}"] = _of_elements(_dtype)

FORMS: Final = {
    name: _HEAD.format(name=name, params=params, body=body.strip("\n").rstrip() + "\n")
    for name, (params, body) in _KERNELS.items()
}
