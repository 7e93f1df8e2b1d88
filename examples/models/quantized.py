"""W8A8: SwiGLU of hidden 5120 and inner 17408 with 8-bit weights and activations.

Each product quantises its input rows with one scale per row; weights have one scale per column.
"""

import numpy as np

import pypto.language as pl
from examples.models.model import EXAMPLES, LAYERS, Built, Model, blocks, normed, part
from examples.models.resized import resized

BATCH, CHUNK = 16, 256


def quantized(sizes):
    """Return the program of MLP layers."""
    hidden, inner = sizes["HIDDEN"], sizes["INNER"]
    path = EXAMPLES / "moe" / "w8a8_gemm.py"
    rows = {"TOKENS": BATCH, "TILE_M": BATCH, "CHUNK": CHUNK}
    widen = resized(path, {**rows, "K": hidden, "N": inner}).w8a8_gemm.as_inline()
    narrow = resized(path, {**rows, "K": inner, "N": hidden}).w8a8_gemm.as_inline()
    rms_norm, _, _ = blocks({"BATCH": BATCH, "HIDDEN": hidden})

    @pl.jit
    def quantized_mlp(
        hidden_rows: pl.Tensor[[BATCH, hidden], pl.FP32],
        gamma: pl.Tensor[[LAYERS, hidden], pl.FP32],
        w_gate: pl.Tensor[[LAYERS * inner, hidden], pl.INT8],
        gate_scale: pl.Tensor[[LAYERS, inner], pl.FP32],
        w_up: pl.Tensor[[LAYERS * inner, hidden], pl.INT8],
        up_scale: pl.Tensor[[LAYERS, inner], pl.FP32],
        w_down: pl.Tensor[[LAYERS * hidden, inner], pl.INT8],
        down_scale: pl.Tensor[[LAYERS, hidden], pl.FP32],
        out: pl.Out[pl.Tensor[[BATCH, hidden], pl.FP32]],
    ):
        """Write the stream after all layers."""
        stream = hidden_rows
        for i in pl.unroll(LAYERS):
            w, h = i * inner, i * hidden
            x = pl.create_tensor([BATCH, hidden], dtype=pl.BF16)
            x = rms_norm(stream, gamma[i : i + 1, :], x)
            gate = pl.create_tensor([BATCH, inner], dtype=pl.BF16)
            up = pl.create_tensor([BATCH, inner], dtype=pl.BF16)
            gate = widen(x, w_gate[w : w + inner, :], gate_scale[i : i + 1, :], gate)
            up = widen(x, w_up[w : w + inner, :], up_scale[i : i + 1, :], up)
            active = pl.create_tensor([BATCH, inner], dtype=pl.BF16)
            for block in pl.spmd(inner // CHUNK, name_hint="silu"):
                c = block * CHUNK
                g = pl.cast(gate[:, c : c + CHUNK], target_type=pl.FP32)
                u = pl.cast(up[:, c : c + CHUNK], target_type=pl.FP32)
                sigmoid = pl.recip(pl.add(pl.exp(pl.neg(g)), 1.0))
                product = pl.mul(pl.mul(g, sigmoid), u)
                active[:, c : c + CHUNK] = pl.cast(product, target_type=pl.BF16, mode="rint")
            y = pl.create_tensor([BATCH, hidden], dtype=pl.BF16)
            y = narrow(active, w_down[h : h + hidden, :], down_scale[i : i + 1, :], y)
            after = pl.create_tensor([BATCH, hidden], dtype=pl.FP32)
            for block in pl.spmd(hidden // CHUNK, name_hint="add"):
                c = block * CHUNK
                part_y = pl.cast(y[:, c : c + CHUNK], target_type=pl.FP32)
                after[:, c : c + CHUNK] = pl.add(stream[:, c : c + CHUNK], part_y)
            stream = after
        for block in pl.spmd(hidden // CHUNK, name_hint="result"):
            c = block * CHUNK
            out[:, c : c + CHUNK] = stream[:, c : c + CHUNK]
        return out

    def inputs(rng):
        def scales(columns, depth):
            spread = 0.5 + rng.random((LAYERS, columns), np.float32)
            return spread * np.float32(depth**-0.5 / 73)

        def integers(rows, columns):
            return rng.integers(-127, 128, (LAYERS * rows, columns), np.int8)

        return {
            "hidden_rows": rng.standard_normal((BATCH, hidden), np.float32),
            "gamma": 1 + 0.1 * rng.standard_normal((LAYERS, hidden), np.float32),
            "w_gate": integers(inner, hidden),
            "gate_scale": scales(inner, hidden),
            "w_up": integers(inner, hidden),
            "up_scale": scales(inner, hidden),
            "w_down": integers(hidden, inner),
            "down_scale": scales(hidden, inner),
            "out": np.zeros((BATCH, hidden), np.float32),
        }

    def reference(_found, **arguments):
        stream = arguments["hidden_rows"].astype(np.float64)
        for i in range(LAYERS):
            own = {name: part(values, i) for name, values in arguments.items()}

            def product(x, name, own=own):
                return x @ own[f"w_{name}"].T.astype(np.float64) * own[f"{name}_scale"]

            x = normed(stream) * own["gamma"]
            gate, up = product(x, "gate"), product(x, "up")
            stream = stream + product(gate / (1 + np.exp(-gate)) * up, "down")
        return {"out": stream}

    # The error of a product of 8-bit rows is 0.0143 of its magnitude (`examples/moe/w8a8_gemm.py`).
    # The largest inner element, a product of two numbers of magnitude 0.6, is about 15: a unit is
    # 0.12, and the error of a layer's last product 0.12 / sqrt(12) = 0.035, with the two before it
    # 0.038; two layers 0.054. Six deviations.
    return Built(quantized_mlp, inputs, reference, 0.33)


MODELS = [
    Model(
        "W8A8 perceptron",
        quantized,
        {"HIDDEN": 5120, "INNER": 17408},
        {"HIDDEN": 512, "INNER": 768},
    ),
]
