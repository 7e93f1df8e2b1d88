"""A decoder layer of a 14-billion-parameter model, on a prompt of any length.

Tokens go through the layer in blocks of 64. The keys and values of all blocks come first; then
each block attends to those up to its own. The last block is partly valid.
"""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

MAX_TOKENS = 1024
HIDDEN, INNER = 5120, 17408
HEADS, KV_HEADS, HEAD_DIM = 40, 8, 128
GROUP = HEADS // KV_HEADS
HALF = HEAD_DIM // 2
Q_DIM, KV_DIM = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
EPS = 1e-6
THETA = 1e6
SCALE = HEAD_DIM**-0.5
LOWEST = -3.4028234663852886e38
MASKED = -1e30

BLOCK = 64  # tokens
ROWS = 16  # tokens that a vector core handles at a time
CHUNK = 256  # columns that it handles at a time
TILE_N, TILE_K = 128, 128
TOKENS = pl.dynamic("TOKENS")


@pl.jit.inline
def rms_norm(x: pl.Tensor, gamma: pl.Tensor, normed: pl.Tensor, t: pl.Scalar[pl.INDEX]):
    """Normalise a block of tokens; rows after the last token become zero."""
    tokens = pl.tensor.dim(x, 0)
    for part in pl.spmd(BLOCK // ROWS, name_hint="rms_norm"):
        row = t + part * ROWS
        valid = pl.max(pl.min(ROWS, tokens - row), 0)
        if valid > 0:
            sum_sq = pl.full([ROWS, 1], dtype=pl.FP32, value=0.0)
            for c in pl.pipeline(0, HIDDEN, CHUNK, stage=2):
                some = pl.slice(x, [ROWS, CHUNK], [row, c], valid_shape=[valid, CHUNK])
                tile = pl.fillpad(some, pad_value=pl.PadValue.zero)
                sum_sq = pl.add(sum_sq, pl.row_sum(pl.mul(tile, tile)))
            mean = pl.add(pl.mul(sum_sq, 1.0 / HIDDEN), EPS)
            inv = pl.rsqrt(mean, high_precision=True)
            for c in pl.pipeline(0, HIDDEN, CHUNK, stage=2):
                some = pl.slice(x, [ROWS, CHUNK], [row, c], valid_shape=[valid, CHUNK])
                tile = pl.fillpad(some, pad_value=pl.PadValue.zero)
                scaled = pl.col_expand_mul(pl.row_expand_mul(tile, inv), gamma[:, c : c + CHUNK])
                at = part * ROWS
                normed[at : at + ROWS, c : c + CHUNK] = pl.cast(scaled, target_type=pl.BF16)
        else:
            for c in pl.range(0, HIDDEN, CHUNK):
                nothing = pl.full([ROWS, CHUNK], dtype=pl.FP32, value=0.0)
                at = part * ROWS
                normed[at : at + ROWS, c : c + CHUNK] = pl.cast(nothing, target_type=pl.BF16)
    return normed


@pl.jit.inline
def project(x: pl.Tensor, w: pl.Tensor, y: pl.Tensor):
    """Write a block of tokens times a matrix."""
    depth = pl.tensor.dim(w, 0)
    columns = pl.tensor.dim(w, 1)
    for block in pl.spmd(columns // TILE_N, name_hint="project"):
        n = block * TILE_N
        acc = pl.matmul(x[:, 0:TILE_K], w[0:TILE_K, n : n + TILE_N], out_dtype=pl.FP32)
        for k in pl.pipeline(TILE_K, depth, TILE_K, stage=2):
            acc = pl.matmul_acc(acc, x[:, k : k + TILE_K], w[k : k + TILE_K, n : n + TILE_N])
        y[:, n : n + TILE_N] = acc
    return y


@pl.jit.inline
def norm_rope(
    x: pl.Tensor,
    gamma: pl.Tensor,
    cos: pl.Tensor,
    sin: pl.Tensor,
    y: pl.Tensor,
    t: pl.Scalar[pl.INDEX],
):
    """Normalise the heads of a block of tokens, and rotate them according to their positions."""
    heads = pl.tensor.dim(x, 1) // HEAD_DIM
    for part in pl.spmd(BLOCK // ROWS, name_hint="norm_rope"):
        row = part * ROWS
        at = t + row
        cos_lo = cos[at : at + ROWS, 0:HALF]
        cos_hi = cos[at : at + ROWS, HALF:HEAD_DIM]
        sin_lo = sin[at : at + ROWS, 0:HALF]
        sin_hi = sin[at : at + ROWS, HALF:HEAD_DIM]
        for h in pl.range(heads):
            c = h * HEAD_DIM
            head = x[row : row + ROWS, c : c + HEAD_DIM]
            mean = pl.mul(pl.row_sum(pl.mul(head, head)), 1.0 / HEAD_DIM)
            inv = pl.recip(pl.sqrt(pl.add(mean, EPS)))
            normed = pl.col_expand_mul(pl.row_expand_mul(head, inv), gamma)
            lo = normed[:, 0:HALF]
            hi = normed[:, HALF:HEAD_DIM]
            first = pl.sub(pl.mul(lo, cos_lo), pl.mul(hi, sin_lo))
            second = pl.add(pl.mul(hi, cos_hi), pl.mul(lo, sin_hi))
            y[row : row + ROWS, c : c + HALF] = pl.cast(first, target_type=pl.BF16)
            y[row : row + ROWS, c + HALF : c + HEAD_DIM] = pl.cast(second, target_type=pl.BF16)
    return y


@pl.jit.inline
def attend(
    q: pl.Tensor,
    k: pl.Tensor,
    v: pl.Tensor,
    mask: pl.Tensor,
    attended: pl.Tensor,
    t: pl.Scalar[pl.INDEX],
):
    """Attend to the key blocks up to the queries' own, in which a mask hides later tokens."""
    for head in pl.spmd(HEADS, name_hint="attend"):
        qc = head * HEAD_DIM
        kc = head // GROUP * HEAD_DIM
        q_tile = q[:, qc : qc + HEAD_DIM]
        top = pl.full([BLOCK, 1], dtype=pl.FP32, value=LOWEST)
        total = pl.full([BLOCK, 1], dtype=pl.FP32, value=0.0)
        acc = pl.full([BLOCK, HEAD_DIM], dtype=pl.FP32, value=0.0)
        for s in pl.range(0, t + BLOCK, BLOCK):
            k_tile = k[s : s + BLOCK, kc : kc + HEAD_DIM]
            scores = pl.mul(pl.matmul(q_tile, k_tile, b_trans=True, out_dtype=pl.FP32), SCALE)
            if s == t:
                scores = pl.add(scores, mask[:, :])
            new_top = pl.maximum(top, pl.row_max(scores))
            fade = pl.exp(pl.sub(top, new_top))
            powers = pl.exp(pl.row_expand_sub(scores, new_top))
            total = pl.add(pl.mul(total, fade), pl.row_sum(powers))
            weights = pl.cast(powers, target_type=pl.BF16)
            mixed = pl.matmul(weights, v[s : s + BLOCK, kc : kc + HEAD_DIM], out_dtype=pl.FP32)
            acc = pl.add(pl.row_expand_mul(acc, fade), mixed)
            top = new_top
        result = pl.row_expand_div(acc, total)
        attended[:, qc : qc + HEAD_DIM] = pl.cast(result, target_type=pl.BF16)
    return attended


@pl.jit.inline
def project_add(x: pl.Tensor, w: pl.Tensor, old: pl.Tensor, new: pl.Tensor, t: pl.Scalar[pl.INDEX]):
    """Write old + x w for a block of tokens, only the rows of existing tokens."""
    tokens = pl.tensor.dim(old, 0)
    depth = pl.tensor.dim(w, 0)
    for block in pl.spmd(HIDDEN // TILE_N, name_hint="project_add"):
        n = block * TILE_N
        rows = pl.min(BLOCK, tokens - t)
        acc = pl.matmul(x[:, 0:TILE_K], w[0:TILE_K, n : n + TILE_N], out_dtype=pl.FP32)
        for k in pl.pipeline(TILE_K, depth, TILE_K, stage=2):
            acc = pl.matmul_acc(acc, x[:, k : k + TILE_K], w[k : k + TILE_K, n : n + TILE_N])
        stream = pl.slice(old, [BLOCK, TILE_N], [t, n], valid_shape=[rows, TILE_N])
        new[t : t + BLOCK, n : n + TILE_N] = pl.add(stream, acc)
    return new


@pl.jit.inline
def gate_up(x: pl.Tensor, w_gate: pl.Tensor, w_up: pl.Tensor, inner: pl.Tensor):
    """Write silu(x w_gate) * (x w_up) for a block of tokens."""
    for block in pl.spmd(INNER // TILE_N, name_hint="gate_up"):
        n = block * TILE_N
        gate = pl.create_tensor([BLOCK, TILE_N], dtype=pl.FP32)
        up = pl.create_tensor([BLOCK, TILE_N], dtype=pl.FP32)
        for k in pl.pipeline(0, HIDDEN, TILE_K, stage=2):
            rows = x[:, k : k + TILE_K]
            gate = pl.matmul_acc(
                gate, rows, w_gate[k : k + TILE_K, n : n + TILE_N], init_cond=k == 0
            )
            up = pl.matmul_acc(up, rows, w_up[k : k + TILE_K, n : n + TILE_N], init_cond=k == 0)
        sigmoid = pl.recip(pl.add(pl.exp(pl.neg(gate)), 1.0))
        active = pl.mul(pl.mul(gate, sigmoid), up)
        inner[:, n : n + TILE_N] = pl.cast(active, target_type=pl.BF16)
    return inner


@pl.jit
def prefill_layer(
    hidden: pl.Tensor[[MAX_TOKENS, HIDDEN], pl.FP32],
    input_gamma: pl.Tensor[[1, HIDDEN], pl.FP32],
    wq: pl.Tensor[[HIDDEN, Q_DIM], pl.BF16],
    wk: pl.Tensor[[HIDDEN, KV_DIM], pl.BF16],
    wv: pl.Tensor[[HIDDEN, KV_DIM], pl.BF16],
    q_gamma: pl.Tensor[[1, HEAD_DIM], pl.FP32],
    k_gamma: pl.Tensor[[1, HEAD_DIM], pl.FP32],
    cos: pl.Tensor[[MAX_TOKENS, HEAD_DIM], pl.FP32],
    sin: pl.Tensor[[MAX_TOKENS, HEAD_DIM], pl.FP32],
    mask: pl.Tensor[[BLOCK, BLOCK], pl.FP32],
    wo: pl.Tensor[[Q_DIM, HIDDEN], pl.BF16],
    post_gamma: pl.Tensor[[1, HIDDEN], pl.FP32],
    w_gate: pl.Tensor[[HIDDEN, INNER], pl.BF16],
    w_up: pl.Tensor[[HIDDEN, INNER], pl.BF16],
    w_down: pl.Tensor[[INNER, HIDDEN], pl.BF16],
    out: pl.Out[pl.Tensor[[MAX_TOKENS, HIDDEN], pl.FP32]],
):
    """Run the layer on all tokens."""
    hidden.bind_dynamic(0, TOKENS)
    out.bind_dynamic(0, TOKENS)
    tokens = pl.tensor.dim(hidden, 0)
    padded = (tokens + BLOCK - 1) // BLOCK * BLOCK
    q_all = pl.create_tensor([padded, Q_DIM], dtype=pl.BF16)
    k_all = pl.create_tensor([padded, KV_DIM], dtype=pl.BF16)
    v_all = pl.create_tensor([padded, KV_DIM], dtype=pl.BF16)
    for t in pl.parallel(0, padded, BLOCK):
        normed = pl.create_tensor([BLOCK, HIDDEN], dtype=pl.BF16)
        normed = rms_norm(hidden, input_gamma, normed, t)
        q = pl.create_tensor([BLOCK, Q_DIM], dtype=pl.FP32)
        k = pl.create_tensor([BLOCK, KV_DIM], dtype=pl.FP32)
        q = project(normed, wq, q)
        k = project(normed, wk, k)
        v_block = v_all[t : t + BLOCK, :]
        v_block = project(normed, wv, v_block)
        q_block = q_all[t : t + BLOCK, :]
        k_block = k_all[t : t + BLOCK, :]
        q_block = norm_rope(q, q_gamma, cos, sin, q_block, t)
        k_block = norm_rope(k, k_gamma, cos, sin, k_block, t)
    stream = pl.create_tensor([tokens, HIDDEN], dtype=pl.FP32)
    for t in pl.parallel(0, padded, BLOCK):
        attended = pl.create_tensor([BLOCK, Q_DIM], dtype=pl.BF16)
        attended = attend(q_all[t : t + BLOCK, :], k_all, v_all, mask, attended, t)
        stream = project_add(attended, wo, hidden, stream, t)
        normed = pl.create_tensor([BLOCK, HIDDEN], dtype=pl.BF16)
        normed = rms_norm(stream, post_gamma, normed, t)
        inner = pl.create_tensor([BLOCK, INNER], dtype=pl.BF16)
        inner = gate_up(normed, w_gate, w_up, inner)
        out = project_add(inner, w_down, stream, out, t)
    return out


def inputs(rng, tokens=None):
    """Return a prompt that ends partway through a block, and weights that keep values about 1."""
    tokens = MAX_TOKENS - 38 if tokens is None else tokens
    bf16 = pl.BF16.numpy

    def normal(*shape, size=1.0):
        values = rng.standard_normal(shape, np.float32)
        values *= np.float32(size)
        return values

    def weights(rows, columns):
        return normal(rows, columns, size=rows**-0.5).astype(bf16)

    angles = np.arange(MAX_TOKENS)[:, None] * THETA ** (-np.arange(HALF) / HALF)
    both = np.concatenate([angles, angles], axis=1)
    place = np.arange(BLOCK)
    return {
        "hidden": normal(tokens, HIDDEN),
        "input_gamma": 1 + normal(1, HIDDEN, size=0.1),
        "wq": weights(HIDDEN, Q_DIM),
        "wk": weights(HIDDEN, KV_DIM),
        "wv": weights(HIDDEN, KV_DIM),
        "q_gamma": 1 + normal(1, HEAD_DIM, size=0.1),
        "k_gamma": 1 + normal(1, HEAD_DIM, size=0.1),
        "cos": np.cos(both).astype(np.float32),
        "sin": np.sin(both).astype(np.float32),
        "mask": np.where(place <= place[:, None], 0, MASKED).astype(np.float32),
        "wo": weights(Q_DIM, HIDDEN),
        "post_gamma": 1 + normal(1, HIDDEN, size=0.1),
        "w_gate": weights(HIDDEN, INNER),
        "w_up": weights(HIDDEN, INNER),
        "w_down": weights(INNER, HIDDEN),
        "out": np.zeros((tokens, HIDDEN), np.float32),
    }


def reference(precision=np.float64, **arguments):
    """Return the residual stream; no intermediate value is rounded."""
    wide = {name: value.astype(precision) for name, value in arguments.items() if name != "out"}
    tokens = len(wide["hidden"])

    def norm(x, gamma):
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPS) * gamma

    cos, sin = (wide[name][:tokens, None] for name in ("cos", "sin"))

    def rope(x):
        halves = np.concatenate([-x[..., HALF:], x[..., :HALF]], axis=-1)
        return x * cos + halves * sin

    normed = norm(wide["hidden"], wide["input_gamma"])
    q = (normed @ wide["wq"]).reshape(tokens, HEADS, HEAD_DIM)
    k, v = ((normed @ wide[w]).reshape(tokens, KV_HEADS, HEAD_DIM) for w in ("wk", "wv"))
    q, k = rope(norm(q, wide["q_gamma"])), rope(norm(k, wide["k_gamma"]))
    attended = np.empty((tokens, HEADS, HEAD_DIM), precision)
    later = np.triu(np.full((tokens, tokens), MASKED, precision), 1)
    for head in range(HEADS):
        scores = q[:, head] @ k[:, head // GROUP].T * SCALE + later
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        attended[:, head] = powers @ v[:, head // GROUP] / powers.sum(axis=1, keepdims=True)
    stream = wide["hidden"] + attended.reshape(tokens, Q_DIM) @ wide["wo"]
    normed = norm(stream, wide["post_gamma"])
    gate, up = normed @ wide["w_gate"], normed @ wide["w_up"]
    return {"out": stream + (gate / (1 + np.exp(-gate)) * up) @ wide["w_down"]}


# As for one new token per request: the first token of a prompt attends to itself alone.
CASES = [Case("prefill_layer", prefill_layer, inputs, reference, 0.036)]
