"""Sparse attention: an index scores up to 4,096 cached tokens; 2,048 of them are attended to.

All heads share the keys and values of a token. The scores are exact, so that there is only one
right choice; attention to the chosen rows goes block by block, with a running maximum.
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
BLOCK = 128  # chosen tokens that are attended to at a time
LOWEST = -3.4028234663852886e38


def sparse(sizes):
    """Return the program for one new token per request."""
    own_sizes = {name: size for name, size in sizes.items() if name != "HIDDEN"}
    layer = resized(EXAMPLES / "attention" / "sparse_decode.py", own_sizes)
    index_scores = layer.index_scores
    batch, heads, head_dim, hidden = layer.BATCH, layer.HEADS, layer.HEAD_DIM, sizes["HIDDEN"]
    seq, top, scale, width = layer.SEQ, layer.TOP, layer.SCALE, heads * head_dim
    index_rows, index_dim = batch * layer.INDEX_HEADS, layer.INDEX_DIM
    rms_norm, project, project_add = blocks({"BATCH": batch, "HIDDEN": hidden})

    @pl.jit.inline
    def choose(scores: pl.Tensor, chosen: pl.Tensor):
        """Write the tokens with the largest scores: sort halves, four runs at a time, and merge."""
        for b in pl.spmd(batch, name_hint="choose"):
            places = pl.arange(0, [1, seq], dtype=pl.UINT32)
            pairs = pl.sort32(scores[b : b + 1, :], places)
            pairs = pl.mrgsort(pairs, block_len=64)
            pairs = pl.mrgsort(pairs, block_len=256)
            if seq == 4096:
                pairs = pl.mrgsort(pairs, block_len=1024)
            pairs = pl.mrgsort(pairs[:, 0:seq], pairs[:, seq : 2 * seq])
            best = pairs[:, 0 : 2 * top]
            chosen[b : b + 1, :] = pl.gather(
                best, mask_pattern=pl.tile.MaskPattern.P1010, output_dtype=pl.INT32
            )
        return chosen

    @pl.jit.inline
    def attend(
        q: pl.Tensor, keys: pl.Tensor, values: pl.Tensor, chosen: pl.Tensor, attended: pl.Tensor
    ):
        """Gather the chosen rows and attend to them, block by block."""
        near_k = pl.create_tensor([batch * top, head_dim], dtype=pl.BF16)
        near_v = pl.create_tensor([batch * top, head_dim], dtype=pl.BF16)
        for b in pl.spmd(batch, name_hint="gather_rows"):
            for i in pl.range(top):
                token = b * seq + pl.cast(pl.read(chosen, [b, i]), pl.INDEX)
                near_k[b * top + i : b * top + i + 1, :] = keys[token : token + 1, :]
                near_v[b * top + i : b * top + i + 1, :] = values[token : token + 1, :]
        for b in pl.spmd(batch, name_hint="attend"):
            q_rows = q[b * heads : (b + 1) * heads, :]
            largest = pl.full([heads, 1], dtype=pl.FP32, value=LOWEST)
            total = pl.full([heads, 1], dtype=pl.FP32, value=0.0)
            acc = pl.full([heads, head_dim], dtype=pl.FP32, value=0.0)
            for s in pl.range(0, top, BLOCK):
                row = b * top + s
                products = pl.matmul(
                    q_rows, near_k[row : row + BLOCK, :], b_trans=True, out_dtype=pl.FP32
                )
                logits = pl.mul(products, scale)
                new_largest = pl.maximum(largest, pl.row_max(logits))
                fade = pl.exp(pl.sub(largest, new_largest))
                powers = pl.exp(pl.row_expand_sub(logits, new_largest))
                total = pl.add(pl.mul(total, fade), pl.row_sum(powers))
                shares = pl.cast(powers, target_type=pl.BF16)
                mixed = pl.matmul(shares, near_v[row : row + BLOCK, :], out_dtype=pl.FP32)
                acc = pl.add(pl.row_expand_mul(acc, fade), mixed)
                largest = new_largest
            result = pl.row_expand_div(acc, total)
            attended[b * heads : (b + 1) * heads, :] = pl.cast(result, target_type=pl.BF16)
        return attended

    @pl.jit
    def sparse_model(
        hidden_rows: pl.Tensor[[batch, hidden], pl.FP32],
        gamma: pl.Tensor[[LAYERS, hidden], pl.FP32],
        w_q: pl.Tensor[[LAYERS * hidden, width], pl.BF16],
        keys: pl.Tensor[[LAYERS * batch * seq, head_dim], pl.BF16],
        values: pl.Tensor[[LAYERS * batch * seq, head_dim], pl.BF16],
        index_q: pl.Tensor[[LAYERS * index_rows, index_dim], pl.BF16],
        index_k: pl.Tensor[[LAYERS * batch * seq, index_dim], pl.BF16],
        index_w: pl.Tensor[[LAYERS * batch, layer.INDEX_HEADS], pl.FP32],
        w_out: pl.Tensor[[LAYERS * width, hidden], pl.BF16],
        chosen: pl.Out[pl.Tensor[[LAYERS * batch, top], pl.INT32]],
        out: pl.Out[pl.Tensor[[batch, hidden], pl.FP32]],
    ):
        """Write the stream after all layers, and the tokens chosen by each."""
        stream = hidden_rows
        for i in pl.unroll(LAYERS):
            h, c, w = i * hidden, i * batch * seq, i * width
            rows = pl.create_tensor([batch, hidden], dtype=pl.BF16)
            rows = rms_norm(stream, gamma[i : i + 1, :], rows)
            q = pl.create_tensor([batch, width], dtype=pl.BF16)
            q = project(rows, w_q[h : h + hidden, :], q)
            scores = pl.create_tensor([batch, seq], dtype=pl.FP32)
            scores = index_scores(
                index_q[i * index_rows : (i + 1) * index_rows, :],
                index_k[c : c + batch * seq, :],
                index_w[i * batch : (i + 1) * batch, :],
                scores,
            )
            own = chosen[i * batch : (i + 1) * batch, :]
            own = choose(scores, own)
            attended = pl.create_tensor([batch * heads, head_dim], dtype=pl.BF16)
            by_head = pl.reshape(q, [batch * heads, head_dim])
            attended = attend(
                by_head, keys[c : c + batch * seq, :], values[c : c + batch * seq, :], own, attended
            )
            together = pl.reshape(attended, [batch, width])
            after = pl.create_tensor([batch, hidden], dtype=pl.FP32)
            stream = project_add(together, w_out[w : w + width, :], stream, after, 0)
        for block in pl.spmd(hidden // CHUNK, name_hint="result"):
            column = block * CHUNK
            out[:, column : column + CHUNK] = stream[:, column : column + CHUNK]
        return chosen, out

    of_attention = ("keys", "values", "index_q", "index_k", "index_w")
    of_layer = ("gamma", "w_q", *of_attention, "w_out")

    def of_one(rng):
        bf16 = pl.BF16.numpy
        own = layer.inputs(rng)
        return {
            "hidden_rows": rng.standard_normal((batch, hidden), np.float32),
            "gamma": 1 + 0.1 * rng.standard_normal((1, hidden), np.float32),
            "w_q": weights(rng, hidden, width, bf16),
            **{name: own[name] for name in of_attention},
            "w_out": weights(rng, width, hidden, bf16),
            "chosen": np.zeros((LAYERS * batch, top), np.int32),
            "out": np.zeros((batch, hidden), np.float32),
        }

    def inputs(rng):
        return stacked((of_one(rng) for _ in range(LAYERS)), of_layer)

    def reference(_found, **arguments):
        stream = arguments["hidden_rows"].astype(np.float64)
        choices = []
        for i in range(LAYERS):
            own = {name: part(arguments[name], i) for name in of_layer}
            rows = normed(stream) * own.pop("gamma")
            q = (rows @ own.pop("w_q").astype(float)).reshape(-1, head_dim)
            w_out = own.pop("w_out").astype(float)
            found = layer.reference(q, chosen=None, attended=None, **own)
            stream = stream + found["attended"].reshape(batch, width) @ w_out
            choices.append(found["chosen"])
        return {"chosen": np.concatenate(choices), "out": stream}

    # Attention to so many tokens adds little; its own bound, 0.01, holds for each layer.
    return Built(sparse_model, inputs, reference, LAYERS * layer.CASES[0].bound)


MODELS = [
    Model(
        "sparse attention",
        sparse,
        {"BATCH": 16, "HIDDEN": 7168, "SEQ": 4096, "TOP": 2048},
        {"BATCH": 2, "HIDDEN": 512, "SEQ": 1024, "TOP": 256},
    ),
]
