"""A dense decoder of the 14B class: grouped-query attention, 40 heads, hidden 5120, SwiGLU 17408.

The layers are those of `examples/decoder`. Decoding computes one token for each of 16 requests,
with paged caches of up to 4,096 tokens; prefill reads a prompt of 512 tokens.
"""

import numpy as np

import pypto.language as pl
from examples.models.model import EXAMPLES, LAYERS, Built, Model, part, stacked
from examples.models.resized import resized

OF_LAYER = ("input_gamma", "wq", "wk", "wv", "q_gamma", "k_gamma")
AFTER_ATTENTION = ("wo", "post_gamma", "w_gate", "w_up", "w_down")
CACHES = ("k_pool", "v_pool")


def decode(sizes):
    """Return the program for one new token per request."""
    layer = resized(EXAMPLES / "decoder" / "decode_layer.py", sizes)
    run_layer = layer.decode_layer.as_inline()
    batch, hidden_size, inner = layer.BATCH, layer.HIDDEN, layer.INNER
    q_dim, kv_dim, head_dim = layer.Q_DIM, layer.KV_DIM, layer.HEAD_DIM
    cache = layer.POOL * layer.KV_HEADS * layer.PAGE

    @pl.jit
    def dense_decode(
        hidden: pl.Tensor[[batch, hidden_size], pl.FP32],
        input_gamma: pl.Tensor[[LAYERS, hidden_size], pl.FP32],
        wq: pl.Tensor[[LAYERS * hidden_size, q_dim], pl.BF16],
        wk: pl.Tensor[[LAYERS * hidden_size, kv_dim], pl.BF16],
        wv: pl.Tensor[[LAYERS * hidden_size, kv_dim], pl.BF16],
        q_gamma: pl.Tensor[[LAYERS, head_dim], pl.FP32],
        k_gamma: pl.Tensor[[LAYERS, head_dim], pl.FP32],
        cos: pl.Tensor[[layer.MAX_SEQ, head_dim], pl.FP32],
        sin: pl.Tensor[[layer.MAX_SEQ, head_dim], pl.FP32],
        lengths: pl.Tensor[[batch], pl.INT32],
        slots: pl.Tensor[[batch], pl.INT32],
        page_table: pl.Tensor[[batch * layer.MAX_PAGES], pl.INT32],
        k_pool: pl.InOut[pl.Tensor[[LAYERS * cache, head_dim], pl.BF16]],
        v_pool: pl.InOut[pl.Tensor[[LAYERS * cache, head_dim], pl.BF16]],
        wo: pl.Tensor[[LAYERS * q_dim, hidden_size], pl.BF16],
        post_gamma: pl.Tensor[[LAYERS, hidden_size], pl.FP32],
        w_gate: pl.Tensor[[LAYERS * hidden_size, inner], pl.BF16],
        w_up: pl.Tensor[[LAYERS * hidden_size, inner], pl.BF16],
        w_down: pl.Tensor[[LAYERS * inner, hidden_size], pl.BF16],
        out: pl.Out[pl.Tensor[[LAYERS * batch, hidden_size], pl.FP32]],
    ):
        """Write the stream after each layer; the caches then hold the new keys and values."""
        stream = hidden
        for i in pl.unroll(LAYERS):
            h, q = i * hidden_size, i * q_dim
            k_cache = k_pool[i * cache : (i + 1) * cache, :]
            v_cache = v_pool[i * cache : (i + 1) * cache, :]
            k_cache, v_cache, stream = run_layer(
                stream,
                input_gamma[i : i + 1, :],
                wq[h : h + hidden_size, :],
                wk[h : h + hidden_size, :],
                wv[h : h + hidden_size, :],
                q_gamma[i : i + 1, :],
                k_gamma[i : i + 1, :],
                cos,
                sin,
                lengths,
                slots,
                page_table,
                k_cache,
                v_cache,
                wo[q : q + q_dim, :],
                post_gamma[i : i + 1, :],
                w_gate[h : h + hidden_size, :],
                w_up[h : h + hidden_size, :],
                w_down[i * inner : (i + 1) * inner, :],
                out[i * batch : (i + 1) * batch, :],
            )
        return out

    of_layer = (*OF_LAYER, *CACHES, *AFTER_ATTENTION)

    def inputs(rng):
        arguments = stacked((layer.inputs(rng) for _ in range(LAYERS)), of_layer)
        arguments["out"] = np.zeros((LAYERS * batch, hidden_size), np.float32)
        return arguments

    def reference(_found, **arguments):
        found = {name: [] for name in ("out", *CACHES)}
        stream = arguments["hidden"]
        for i in range(LAYERS):
            own = {name: part(arguments[name], i) for name in of_layer}
            results = layer.reference(**{**arguments, **own, "hidden": stream})
            stream = results["out"]
            for name, values in results.items():
                found[name].append(values)
        return {name: np.concatenate(values) for name, values in found.items()}

    # The bound of one layer holds for each; the second one starts with the error of the first.
    return Built(dense_decode, inputs, reference, LAYERS * layer.CASES[0].bound)


def prefill(sizes):
    """Return the program for a prompt."""
    layer = resized(EXAMPLES / "decoder" / "prefill_layer.py", sizes)
    run_layer = layer.prefill_layer.as_inline()
    tokens, hidden_size, inner = layer.MAX_TOKENS, layer.HIDDEN, layer.INNER
    q_dim, kv_dim, head_dim = layer.Q_DIM, layer.KV_DIM, layer.HEAD_DIM

    @pl.jit
    def dense_prefill(
        hidden: pl.Tensor[[tokens, hidden_size], pl.FP32],
        input_gamma: pl.Tensor[[LAYERS, hidden_size], pl.FP32],
        wq: pl.Tensor[[LAYERS * hidden_size, q_dim], pl.BF16],
        wk: pl.Tensor[[LAYERS * hidden_size, kv_dim], pl.BF16],
        wv: pl.Tensor[[LAYERS * hidden_size, kv_dim], pl.BF16],
        q_gamma: pl.Tensor[[LAYERS, head_dim], pl.FP32],
        k_gamma: pl.Tensor[[LAYERS, head_dim], pl.FP32],
        cos: pl.Tensor[[tokens, head_dim], pl.FP32],
        sin: pl.Tensor[[tokens, head_dim], pl.FP32],
        mask: pl.Tensor[[layer.BLOCK, layer.BLOCK], pl.FP32],
        wo: pl.Tensor[[LAYERS * q_dim, hidden_size], pl.BF16],
        post_gamma: pl.Tensor[[LAYERS, hidden_size], pl.FP32],
        w_gate: pl.Tensor[[LAYERS * hidden_size, inner], pl.BF16],
        w_up: pl.Tensor[[LAYERS * hidden_size, inner], pl.BF16],
        w_down: pl.Tensor[[LAYERS * inner, hidden_size], pl.BF16],
        out: pl.Out[pl.Tensor[[LAYERS * tokens, hidden_size], pl.FP32]],
    ):
        """Write the stream after each layer."""
        stream = hidden
        for i in pl.unroll(LAYERS):
            h, q = i * hidden_size, i * q_dim
            stream = run_layer(
                stream,
                input_gamma[i : i + 1, :],
                wq[h : h + hidden_size, :],
                wk[h : h + hidden_size, :],
                wv[h : h + hidden_size, :],
                q_gamma[i : i + 1, :],
                k_gamma[i : i + 1, :],
                cos,
                sin,
                mask,
                wo[q : q + q_dim, :],
                post_gamma[i : i + 1, :],
                w_gate[h : h + hidden_size, :],
                w_up[h : h + hidden_size, :],
                w_down[i * inner : (i + 1) * inner, :],
                out[i * tokens : (i + 1) * tokens, :],
            )
        return out

    of_layer = (*OF_LAYER, *AFTER_ATTENTION)

    def inputs(rng):
        arguments = stacked((layer.inputs(rng, tokens) for _ in range(LAYERS)), of_layer)
        arguments["out"] = np.zeros((LAYERS * tokens, hidden_size), np.float32)
        return arguments

    def reference(_found, **arguments):
        streams = [arguments["hidden"]]
        for i in range(LAYERS):
            own = {name: part(arguments[name], i) for name in of_layer}
            results = layer.reference(**{**arguments, **own, "hidden": streams[-1]})
            streams.append(results["out"])
        return {"out": np.concatenate(streams[1:])}

    return Built(dense_prefill, inputs, reference, LAYERS * layer.CASES[0].bound)


NARROW = {"HIDDEN": 512, "INNER": 768}
MODELS = [
    Model(
        "dense decode",
        decode,
        {"POOL": 512},  # 32 pages per request: 4,096 tokens
        {**NARROW, "HEADS": 10, "KV_HEADS": 2, "MAX_SEQ": 512, "POOL": 64},
    ),
    Model(
        "dense prefill",
        prefill,
        {"MAX_TOKENS": 512},
        {**NARROW, "HEADS": 4, "KV_HEADS": 2, "MAX_TOKENS": 128},
    ),
]
