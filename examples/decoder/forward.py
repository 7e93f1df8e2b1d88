"""A small model from tokens to logits: embedding, two layers, norm and head, for any length.

The weights of the layers are stacked, one layer after another, and the layers are a loop. The
sequence length is set per call; the same compiled program serves all lengths.
"""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

LAYERS, VOCAB, MAX_SEQ = 2, 2048, 256
HIDDEN, INNER = 512, 1024
HEADS, HEAD_DIM = 4, 128
HALF = HEAD_DIM // 2
EPS = 1e-6
THETA = 1e4
SCALE = HEAD_DIM**-0.5
LOWEST = -3.4028234663852886e38

TILE = 16  # tokens per block
COLS, STEP = 128, 128  # of a product: columns per block, K elements per step
SEQ = pl.dynamic("SEQ")


@pl.jit.inline
def load_rows(x: pl.Tensor, row: pl.Scalar[pl.INDEX], column: pl.Scalar[pl.INDEX], width: int):
    """Return a block of rows with zeros after the last token."""
    valid = pl.min(TILE, pl.tensor.dim(x, 0) - row)
    part = pl.slice(x, [TILE, width], [row, column], valid_shape=[valid, width])
    return pl.fillpad(part, pad_value=pl.PadValue.zero)


@pl.jit.inline
def rms_norm(x: pl.Tensor, gamma: pl.Tensor, normed: pl.Tensor):
    """Normalise all rows."""
    seq = pl.tensor.dim(x, 0)
    for block in pl.spmd((seq + TILE - 1) // TILE, name_hint="rms_norm"):
        row = block * TILE
        tile = load_rows(x, row, 0, HIDDEN)
        mean = pl.mul(pl.row_sum(pl.mul(tile, tile)), 1.0 / HIDDEN)
        inv = pl.rsqrt(pl.add(mean, EPS), high_precision=True)
        scaled = pl.col_expand_mul(pl.row_expand_mul(tile, inv), gamma)
        known = pl.set_validshape(scaled, pl.min(TILE, seq - row), HIDDEN)
        normed[row : row + TILE, :] = pl.cast(known, target_type=pl.BF16)
    return normed


@pl.jit.inline
def linear(x: pl.Tensor, w: pl.Tensor, y: pl.Tensor):
    """Write x times w transposed."""
    seq = pl.tensor.dim(x, 0)
    rows, depth = w.shape
    blocks = rows // COLS
    for block in pl.spmd((seq + TILE - 1) // TILE * blocks, name_hint="linear"):
        row = block // blocks * TILE
        n = block % blocks * COLS
        acc = pl.create_tensor([TILE, COLS], dtype=pl.FP32)
        for k in pl.range(0, depth, STEP):
            tile = load_rows(x, row, k, STEP)
            acc = pl.matmul_acc(
                acc, tile, w[n : n + COLS, k : k + STEP], b_trans=True, init_cond=k == 0
            )
        y[row : row + TILE, n : n + COLS] = pl.set_validshape(acc, pl.min(TILE, seq - row), COLS)
    return y


@pl.jit.inline
def rope(x: pl.Tensor, cos: pl.Tensor, sin: pl.Tensor, y: pl.Tensor):
    """Rotate each head of each token according to its position."""
    seq = pl.tensor.dim(x, 0)
    for block in pl.spmd((seq + TILE - 1) // TILE, name_hint="rope"):
        row = block * TILE
        valid = pl.min(TILE, seq - row)
        c = cos[row : row + TILE, :]
        s = sin[row : row + TILE, :]
        for head in pl.range(HEADS):
            at = head * HEAD_DIM
            lo = load_rows(x, row, at, HALF)
            hi = load_rows(x, row, at + HALF, HALF)
            first = pl.sub(pl.mul(lo, c), pl.mul(hi, s))
            second = pl.add(pl.mul(hi, c), pl.mul(lo, s))
            first = pl.set_validshape(pl.cast(first, target_type=pl.BF16), valid, HALF)
            second = pl.set_validshape(pl.cast(second, target_type=pl.BF16), valid, HALF)
            y[row : row + TILE, at : at + HALF] = first
            y[row : row + TILE, at + HALF : at + HEAD_DIM] = second
    return y


@pl.jit.inline
def attention(q: pl.Tensor, k: pl.Tensor, v: pl.Tensor, mask: pl.Tensor, y: pl.Tensor):
    """Let each token attend to itself and those before it."""
    seq = pl.tensor.dim(q, 0)
    for block in pl.spmd((seq + TILE - 1) // TILE * HEADS, name_hint="attention"):
        row = block // HEADS * TILE
        at = block % HEADS * HEAD_DIM
        q_tile = load_rows(q, row, at, HEAD_DIM)
        top = pl.full([TILE, 1], dtype=pl.FP32, value=LOWEST)
        total = pl.full([TILE, 1], dtype=pl.FP32, value=0.0)
        acc = pl.full([TILE, HEAD_DIM], dtype=pl.FP32, value=0.0)
        for s in pl.range(0, row + TILE, TILE):
            k_tile = load_rows(k, s, at, HEAD_DIM)
            v_tile = pl.cast(load_rows(v, s, at, HEAD_DIM), target_type=pl.BF16)
            scores = pl.mul(pl.matmul(q_tile, k_tile, b_trans=True, out_dtype=pl.FP32), SCALE)
            if s == row:
                scores = pl.add(scores, mask[:, :])
            new_top = pl.maximum(top, pl.row_max(scores))
            fade = pl.exp(pl.sub(top, new_top))
            powers = pl.exp(pl.row_expand_sub(scores, new_top))
            total = pl.add(pl.mul(total, fade), pl.row_sum(powers))
            mixed = pl.matmul(pl.cast(powers, target_type=pl.BF16), v_tile, out_dtype=pl.FP32)
            acc = pl.add(pl.row_expand_mul(acc, fade), mixed)
            top = new_top
        result = pl.cast(pl.row_expand_div(acc, total), target_type=pl.BF16)
        y[row : row + TILE, at : at + HEAD_DIM] = pl.set_validshape(
            result, pl.min(TILE, seq - row), HEAD_DIM
        )
    return y


@pl.jit.inline
def swiglu(gate: pl.Tensor, up: pl.Tensor, y: pl.Tensor):
    """Write silu(gate) * up."""
    seq = pl.tensor.dim(gate, 0)
    for block in pl.spmd((seq + TILE - 1) // TILE, name_hint="swiglu"):
        row = block * TILE
        for c in pl.range(0, INNER, COLS):
            g = load_rows(gate, row, c, COLS)
            u = load_rows(up, row, c, COLS)
            active = pl.mul(pl.mul(g, pl.recip(pl.add(pl.exp(pl.neg(g)), 1.0))), u)
            known = pl.set_validshape(active, pl.min(TILE, seq - row), COLS)
            y[row : row + TILE, c : c + COLS] = pl.cast(known, target_type=pl.BF16)
    return y


@pl.jit.inline
def add_rows(x: pl.Tensor, more: pl.Tensor):
    """Add ``more`` to x in place."""
    seq = pl.tensor.dim(x, 0)
    for row in pl.spmd(seq, name_hint="add_rows"):
        x[row : row + 1, :] = pl.add(x[row : row + 1, :], more[row : row + 1, :])
    return x


@pl.jit.inline
def layer(
    x: pl.Tensor,
    gammas: pl.Tensor,
    w_qkv: pl.Tensor,
    w_out: pl.Tensor,
    w_inner: pl.Tensor,
    w_down: pl.Tensor,
    cos: pl.Tensor,
    sin: pl.Tensor,
    mask: pl.Tensor,
):
    """Apply one layer to the residual stream, in place."""
    seq = pl.tensor.dim(x, 0)
    normed = pl.create_tensor([seq, HIDDEN], dtype=pl.BF16)
    normed = rms_norm(x, gammas[0:1, :], normed)
    q_plain = pl.create_tensor([seq, HIDDEN], dtype=pl.FP32)
    k_plain = pl.create_tensor([seq, HIDDEN], dtype=pl.FP32)
    v = pl.create_tensor([seq, HIDDEN], dtype=pl.FP32)
    q_plain = linear(normed, w_qkv[0:HIDDEN, :], q_plain)
    k_plain = linear(normed, w_qkv[HIDDEN : 2 * HIDDEN, :], k_plain)
    v = linear(normed, w_qkv[2 * HIDDEN : 3 * HIDDEN, :], v)
    q = pl.create_tensor([seq, HIDDEN], dtype=pl.BF16)
    k = pl.create_tensor([seq, HIDDEN], dtype=pl.BF16)
    q = rope(q_plain, cos, sin, q)
    k = rope(k_plain, cos, sin, k)
    attended = pl.create_tensor([seq, HIDDEN], dtype=pl.BF16)
    attended = attention(q, k, v, mask, attended)
    change = pl.create_tensor([seq, HIDDEN], dtype=pl.FP32)
    change = linear(attended, w_out, change)
    x = add_rows(x, change)
    normed = rms_norm(x, gammas[1:2, :], normed)
    gate = pl.create_tensor([seq, INNER], dtype=pl.FP32)
    up = pl.create_tensor([seq, INNER], dtype=pl.FP32)
    gate = linear(normed, w_inner[0:INNER, :], gate)
    up = linear(normed, w_inner[INNER : 2 * INNER, :], up)
    inner = pl.create_tensor([seq, INNER], dtype=pl.BF16)
    inner = swiglu(gate, up, inner)
    change = linear(inner, w_down, change)
    return add_rows(x, change)


@pl.jit
def forward(
    tokens: pl.Tensor[[MAX_SEQ], pl.INT32],
    table: pl.Tensor[[VOCAB, HIDDEN], pl.BF16],
    gammas: pl.Tensor[[LAYERS * 2 + 1, HIDDEN], pl.FP32],
    w_qkv: pl.Tensor[[LAYERS * 3 * HIDDEN, HIDDEN], pl.BF16],
    w_out: pl.Tensor[[LAYERS * HIDDEN, HIDDEN], pl.BF16],
    w_inner: pl.Tensor[[LAYERS * 2 * INNER, HIDDEN], pl.BF16],
    w_down: pl.Tensor[[LAYERS * HIDDEN, INNER], pl.BF16],
    cos: pl.Tensor[[MAX_SEQ, HALF], pl.FP32],
    sin: pl.Tensor[[MAX_SEQ, HALF], pl.FP32],
    mask: pl.Tensor[[TILE, TILE], pl.FP32],
    logits: pl.Out[pl.Tensor[[MAX_SEQ, VOCAB], pl.FP32]],
):
    """Return the logits of all positions."""
    tokens.bind_dynamic(0, SEQ)
    logits.bind_dynamic(0, SEQ)
    seq = pl.tensor.dim(tokens, 0)
    x = pl.create_tensor([seq, HIDDEN], dtype=pl.FP32)
    for t in pl.spmd(seq, name_hint="embed"):
        token = pl.cast(pl.read(tokens, [t]), pl.INDEX)
        x[t : t + 1, :] = pl.cast(table[token : token + 1, :], target_type=pl.FP32)
    for i in pl.range(LAYERS):
        x = layer(
            x,
            gammas[2 * i : 2 * i + 2, :],
            w_qkv[i * 3 * HIDDEN : (i + 1) * 3 * HIDDEN, :],
            w_out[i * HIDDEN : (i + 1) * HIDDEN, :],
            w_inner[i * 2 * INNER : (i + 1) * 2 * INNER, :],
            w_down[i * HIDDEN : (i + 1) * HIDDEN, :],
            cos,
            sin,
            mask,
        )
    normed = pl.create_tensor([seq, HIDDEN], dtype=pl.BF16)
    normed = rms_norm(x, gammas[2 * LAYERS : 2 * LAYERS + 1, :], normed)
    return linear(normed, table, logits)


def inputs(rng, seq=MAX_SEQ - 35):
    """Return a sequence that ends partway through a block, and weights that keep values about 1."""
    bf16 = pl.BF16.numpy

    def weights(rows, columns, gain=1.0):
        values = rng.standard_normal((rows, columns), np.float32)
        return (values * np.float32(gain * columns**-0.5)).astype(bf16)

    gammas = 1 + 0.1 * rng.standard_normal((LAYERS * 2 + 1, HIDDEN), np.float32)
    gammas[-1] *= np.float32(HIDDEN**-0.5)
    angles = np.arange(MAX_SEQ)[:, None] * THETA ** (-np.arange(HALF) / HALF)
    place = np.arange(TILE)
    return {
        "tokens": rng.integers(0, VOCAB, seq, np.int32),
        "table": rng.standard_normal((VOCAB, HIDDEN), np.float32).astype(bf16),
        "gammas": gammas,
        "w_qkv": weights(LAYERS * 3 * HIDDEN, HIDDEN),
        "w_out": weights(LAYERS * HIDDEN, HIDDEN),
        "w_inner": weights(LAYERS * 2 * INNER, HIDDEN),
        "w_down": weights(LAYERS * HIDDEN, INNER),
        "cos": np.cos(angles).astype(np.float32),
        "sin": np.sin(angles).astype(np.float32),
        "mask": np.where(place <= place[:, None], 0, -1e30).astype(np.float32),
        "logits": np.zeros((seq, VOCAB), np.float32),
    }


def reference(precision=np.float64, **arguments):
    """Return the logits; no intermediate value is rounded."""
    tokens = arguments["tokens"]
    seq = len(tokens)
    wide = {n: a.astype(precision) for n, a in arguments.items() if n not in ("tokens", "logits")}
    cos, sin = (wide[name][:seq, None] for name in ("cos", "sin"))
    shapes = {
        "w_qkv": (LAYERS, 3, HIDDEN, HIDDEN),
        "w_out": (LAYERS, HIDDEN, HIDDEN),
        "w_inner": (LAYERS, 2, INNER, HIDDEN),
        "w_down": (LAYERS, HIDDEN, INNER),
    }
    stacks = {name: wide[name].reshape(shape) for name, shape in shapes.items()}

    def norm(x, gamma):
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPS) * gamma

    def turn(x):
        lo, hi = x[..., :HALF], x[..., HALF:]
        return np.concatenate([lo * cos - hi * sin, hi * cos + lo * sin], axis=-1)

    x = wide["table"][tokens]
    later = np.triu(np.full((seq, seq), -1e30, precision), 1)
    for i in range(LAYERS):
        normed = norm(x, wide["gammas"][2 * i])
        q, k, v = ((normed @ w.T).reshape(seq, HEADS, HEAD_DIM) for w in stacks["w_qkv"][i])
        scores = np.einsum("qhd,khd->hqk", turn(q), turn(k)) * SCALE + later
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = np.einsum("hqk,khd->qhd", powers / powers.sum(axis=-1, keepdims=True), v)
        x = x + mixed.reshape(seq, HIDDEN) @ stacks["w_out"][i].T
        normed = norm(x, wide["gammas"][2 * i + 1])
        gate, up = (normed @ w.T for w in stacks["w_inner"][i])
        x = x + (gate / (1 + np.exp(-gate)) * up) @ stacks["w_down"][i].T
    return {"logits": norm(x, wide["gammas"][2 * LAYERS]) @ wide["table"].T}


# Each rounding to BF16 adds a relative error of standard deviation 2**-9 / sqrt(3) to 2**-9. The
# stream gets about ten from each layer, in terms as large as itself or smaller, and two from
# the last product: together 0.4 % of a logit, which is about 1. The bound is six deviations.
CASES = [Case("forward", forward, inputs, reference, 0.025)]
