"""Latent attention with compressed keys and values: hidden 7168, one of eight ranks of 128 heads.

The cache of a token is a vector of 512 elements and 64 rotated ones, shared by all heads; up to
4,096 tokens for each of 16 requests. The query projection has no low-rank bottleneck of its own.
"""

import numpy as np

import pypto.language as pl
from examples.models.model import (
    EXAMPLES,
    LAYERS,
    Built,
    Model,
    blocks,
    normed,
    part,
    stacked,
    weights,
)
from examples.models.resized import resized

CHUNK = 256


def latent(sizes):
    """Return the program for one new token per request."""
    own_sizes = {name: size for name, size in sizes.items() if name != "HIDDEN"}
    layer = resized(EXAMPLES / "attention" / "mla_decode.py", own_sizes)
    attend = layer.mla_decode.as_inline()
    batch, hidden = layer.BATCH, sizes["HIDDEN"]
    rms_norm, project, project_add = blocks({"BATCH": batch, "HIDDEN": hidden})
    nope, rotary = layer.HEADS * layer.NOPE, layer.HEADS * layer.ROTARY
    latent_dim, value = layer.LATENT, layer.HEADS * layer.VALUE
    cache = batch * layer.MAX_SEQ

    @pl.jit
    def latent_decode(
        hidden_rows: pl.Tensor[[batch, hidden], pl.FP32],
        gamma: pl.Tensor[[LAYERS, hidden], pl.FP32],
        w_nope: pl.Tensor[[LAYERS * hidden, nope], pl.BF16],
        w_rotary: pl.Tensor[[LAYERS * hidden, rotary], pl.BF16],
        w_key: pl.Tensor[[LAYERS * nope, latent_dim], pl.BF16],
        w_value: pl.Tensor[[LAYERS * layer.HEADS * latent_dim, layer.VALUE], pl.BF16],
        latents: pl.Tensor[[LAYERS * cache, latent_dim], pl.BF16],
        rotaries: pl.Tensor[[LAYERS * cache, layer.ROTARY], pl.BF16],
        lengths: pl.Tensor[[batch], pl.INT32],
        w_out: pl.Tensor[[LAYERS * value, hidden], pl.BF16],
        out: pl.Out[pl.Tensor[[batch, hidden], pl.FP32]],
    ):
        """Write the stream after all layers."""
        stream = hidden_rows
        for i in pl.unroll(LAYERS):
            h, n, c = i * hidden, i * nope, i * cache
            v, w = i * layer.HEADS * latent_dim, i * value
            rows = pl.create_tensor([batch, hidden], dtype=pl.BF16)
            rows = rms_norm(stream, gamma[i : i + 1, :], rows)
            q_nope = pl.create_tensor([batch, nope], dtype=pl.BF16)
            q_nope = project(rows, w_nope[h : h + hidden, :], q_nope)
            q_rotary = pl.create_tensor([batch, rotary], dtype=pl.BF16)
            q_rotary = project(rows, w_rotary[h : h + hidden, :], q_rotary)
            attended = pl.create_tensor([batch, value], dtype=pl.BF16)
            attended = attend(
                q_nope,
                q_rotary,
                w_key[n : n + nope, :],
                w_value[v : v + layer.HEADS * latent_dim, :],
                latents[c : c + cache, :],
                rotaries[c : c + cache, :],
                lengths,
                attended,
            )
            after = pl.create_tensor([batch, hidden], dtype=pl.FP32)
            stream = project_add(attended, w_out[w : w + value, :], stream, after, 0)
        for block in pl.spmd(hidden // CHUNK, name_hint="result"):
            column = block * CHUNK
            out[:, column : column + CHUNK] = stream[:, column : column + CHUNK]
        return out

    of_layer = ("gamma", "w_nope", "w_rotary", "w_key", "w_value", "latents", "rotaries", "w_out")

    def of_one(rng):
        bf16 = pl.BF16.numpy
        own = layer.inputs(rng)
        return {
            "hidden_rows": rng.standard_normal((batch, hidden), np.float32),
            "gamma": 1 + 0.1 * rng.standard_normal((1, hidden), np.float32),
            "w_nope": weights(rng, hidden, nope, bf16),
            "w_rotary": weights(rng, hidden, rotary, bf16),
            **{n: own[n] for n in ("w_key", "w_value", "latents", "rotaries", "lengths")},
            "w_out": weights(rng, value, hidden, bf16),
            "out": np.zeros((batch, hidden), np.float32),
        }

    def inputs(rng):
        return stacked((of_one(rng) for _ in range(LAYERS)), of_layer)

    def reference(_found, **arguments):
        stream = arguments["hidden_rows"].astype(np.float64)
        for i in range(LAYERS):
            own = {name: part(arguments[name], i) for name in of_layer}
            rows = normed(stream) * own.pop("gamma")
            q_nope, q_rotary = (rows @ own.pop(w).astype(float) for w in ("w_nope", "w_rotary"))
            w_out = own.pop("w_out").astype(float)
            results = layer.reference(
                q_nope, q_rotary, lengths=arguments["lengths"], attended=None, **own
            )
            stream = stream + results["attended"] @ w_out
        return {"out": stream}

    # Attention adds about 1 for a short request. Its error has a deviation of at most 0.005 (its
    # bound is four of them), plus the rounding of the projections: 2**-9 of each query and
    # result. Together 0.007; six deviations, and as much again from the layer before.
    return Built(latent_decode, inputs, reference, 0.06)


MODELS = [
    Model(
        "latent attention",
        latent,
        {"BATCH": 16, "HIDDEN": 7168, "MAX_SEQ": 4096},
        {"BATCH": 2, "HIDDEN": 512, "MAX_SEQ": 256},
    ),
]
