"""A decoder layer of a 14-billion-parameter model, one new token for each of 16 requests.

    normed  = rms_norm(hidden)
    q, k, v = normed wq, normed wk, normed wv
    q, k    = rope(rms_norm of each head of q and k)
    caches  += k, v at the slots of the new tokens
    hidden  = hidden + attention(q, caches) wo
    out     = hidden + (silu(rms_norm(hidden) w_gate) * (rms_norm(hidden) w_up)) w_down

Weights, caches and tensors passed between launches are BF16; the residual stream and sums are FP32.
"""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

BATCH = 16
HIDDEN, INNER = 5120, 17408
HEADS, KV_HEADS, HEAD_DIM = 40, 8, 128
GROUP = HEADS // KV_HEADS  # query heads that share keys and values
HALF = HEAD_DIM // 2
Q_DIM, KV_DIM = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
MAX_SEQ = 4096
PAGE = 128  # tokens per page
MAX_PAGES = MAX_SEQ // PAGE  # per request
POOL = 256  # pages shared by all requests
EPS = 1e-6
THETA = 1e6
SCALE = HEAD_DIM**-0.5
LOWEST = -3.4028234663852886e38

CHUNK = 512  # columns that a vector core handles at a time
TILE_N, TILE_K = 128, 256  # columns of a product's block, and K elements per step
Q_ROWS = 16  # rows of a product with queries; only those of a group are valid
PAGES = pl.dynamic("PAGES")


@pl.jit.inline
def rms_norm(
    x: pl.Tensor[[BATCH, HIDDEN], pl.FP32],
    gamma: pl.Tensor[[1, HIDDEN], pl.FP32],
    normed: pl.Tensor[[BATCH, HIDDEN], pl.BF16],
):
    """Divide each row by its root mean square, and scale the columns."""
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="rms_norm"):
        sum_sq = pl.full([1, BATCH], dtype=pl.FP32, value=0.0)
        for c in pl.pipeline(0, HIDDEN, CHUNK, stage=2):
            part = x[:, c : c + CHUNK]
            squares = pl.row_sum(pl.mul(part, part))
            sum_sq = pl.add(sum_sq, pl.reshape(squares, [1, BATCH]))
        mean = pl.add(pl.mul(sum_sq, 1.0 / HIDDEN), EPS)
        inv = pl.reshape(pl.recip(pl.sqrt(mean)), [BATCH, 1])
        for c in pl.pipeline(0, HIDDEN, CHUNK, stage=2):
            rows = pl.row_expand_mul(x[:, c : c + CHUNK], inv)
            scaled = pl.col_expand_mul(rows, gamma[:, c : c + CHUNK])
            normed[:, c : c + CHUNK] = pl.cast(scaled, target_type=pl.BF16, mode="rint")
    return normed


@pl.jit.inline
def qkv_proj(
    normed: pl.Tensor[[BATCH, HIDDEN], pl.BF16],
    wq: pl.Tensor[[HIDDEN, Q_DIM], pl.BF16],
    wk: pl.Tensor[[HIDDEN, KV_DIM], pl.BF16],
    wv: pl.Tensor[[HIDDEN, KV_DIM], pl.BF16],
    q: pl.Tensor[[BATCH, Q_DIM], pl.FP32],
    k: pl.Tensor[[BATCH, KV_DIM], pl.FP32],
    v: pl.Tensor[[BATCH, KV_DIM], pl.FP32],
):
    """Multiply one input by three matrices; a block computes 128 columns."""
    for block in pl.spmd(Q_DIM // TILE_N, name_hint="q_proj"):
        n = block * TILE_N
        acc = pl.matmul(normed[:, 0:TILE_K], wq[0:TILE_K, n : n + TILE_N], out_dtype=pl.FP32)
        for i in pl.pipeline(TILE_K, HIDDEN, TILE_K, stage=2):
            acc = pl.matmul_acc(acc, normed[:, i : i + TILE_K], wq[i : i + TILE_K, n : n + TILE_N])
        q[:, n : n + TILE_N] = acc
    for block in pl.spmd(KV_DIM // TILE_N, name_hint="kv_proj"):
        n = block * TILE_N
        rows = normed[:, 0:TILE_K]
        k_acc = pl.matmul(rows, wk[0:TILE_K, n : n + TILE_N], out_dtype=pl.FP32)
        v_acc = pl.matmul(rows, wv[0:TILE_K, n : n + TILE_N], out_dtype=pl.FP32)
        for i in pl.pipeline(TILE_K, HIDDEN, TILE_K, stage=2):
            rows = normed[:, i : i + TILE_K]
            k_acc = pl.matmul_acc(k_acc, rows, wk[i : i + TILE_K, n : n + TILE_N])
            v_acc = pl.matmul_acc(v_acc, rows, wv[i : i + TILE_K, n : n + TILE_N])
        k[:, n : n + TILE_N] = k_acc
        v[:, n : n + TILE_N] = v_acc
    return q, k, v


@pl.jit.inline
def head_norm(heads: pl.Tensor, gamma: pl.Tensor):
    """Divide each head by its root mean square, and scale its elements."""
    mean = pl.mul(pl.row_sum(pl.mul(heads, heads)), 1.0 / HEAD_DIM)
    scaled = pl.row_expand_mul(heads, pl.recip(pl.sqrt(pl.add(mean, EPS))))
    return pl.col_expand_mul(scaled, gamma)


@pl.jit.inline
def turn(heads: pl.Tensor, cos_row: pl.Tensor, sin_row: pl.Tensor):
    """Return both halves of the heads, rotated by the angles of one position."""
    lo = heads[:, 0:HALF]
    hi = heads[:, HALF:HEAD_DIM]
    cos_lo, sin_lo = cos_row[:, 0:HALF], sin_row[:, 0:HALF]
    cos_hi, sin_hi = cos_row[:, HALF:HEAD_DIM], sin_row[:, HALF:HEAD_DIM]
    first = pl.sub(pl.col_expand_mul(lo, cos_lo), pl.col_expand_mul(hi, sin_lo))
    second = pl.add(pl.col_expand_mul(hi, cos_hi), pl.col_expand_mul(lo, sin_hi))
    return pl.cast(first, target_type=pl.BF16), pl.cast(second, target_type=pl.BF16)


@pl.jit.inline
def qk_norm_rope_cache(
    q: pl.Tensor[[BATCH, Q_DIM], pl.FP32],
    k: pl.Tensor[[BATCH, KV_DIM], pl.FP32],
    v: pl.Tensor[[BATCH, KV_DIM], pl.FP32],
    q_gamma: pl.Tensor[[1, HEAD_DIM], pl.FP32],
    k_gamma: pl.Tensor[[1, HEAD_DIM], pl.FP32],
    cos: pl.Tensor[[MAX_SEQ, HEAD_DIM], pl.FP32],
    sin: pl.Tensor[[MAX_SEQ, HEAD_DIM], pl.FP32],
    lengths: pl.Tensor[[BATCH], pl.INT32],
    slots: pl.Tensor[[BATCH], pl.INT32],
    k_pool: pl.Tensor[[POOL * KV_HEADS * PAGE, HEAD_DIM], pl.BF16],
    v_pool: pl.Tensor[[POOL * KV_HEADS * PAGE, HEAD_DIM], pl.BF16],
    q_turned: pl.Tensor[[BATCH * HEADS, HEAD_DIM], pl.BF16],
):
    """Normalise and rotate the heads of a request; write its key and value to the caches."""
    q_heads = pl.reshape(q, [BATCH * HEADS, HEAD_DIM])
    k_heads = pl.reshape(k, [BATCH * KV_HEADS, HEAD_DIM])
    v_heads = pl.reshape(v, [BATCH * KV_HEADS, HEAD_DIM])
    for b in pl.spmd(BATCH, name_hint="qk_norm_rope_cache"):
        pos = pl.cast(pl.read(lengths, [b]), pl.INDEX) - 1
        slot = pl.cast(pl.read(slots, [b]), pl.INDEX)
        page = slot // PAGE
        place = slot % PAGE
        cos_row = cos[pos : pos + 1, :]
        sin_row = sin[pos : pos + 1, :]
        for h in pl.range(0, HEADS, KV_HEADS):
            r = b * HEADS + h
            q_normed = head_norm(q_heads[r : r + KV_HEADS, :], q_gamma)
            q_lo, q_hi = turn(q_normed, cos_row, sin_row)
            q_turned[r : r + KV_HEADS, 0:HALF] = q_lo
            q_turned[r : r + KV_HEADS, HALF:HEAD_DIM] = q_hi
        k_normed = head_norm(k_heads[b * KV_HEADS : (b + 1) * KV_HEADS, :], k_gamma)
        k_lo, k_hi = turn(k_normed, cos_row, sin_row)
        for h in pl.unroll(KV_HEADS):
            row = (page * KV_HEADS + h) * PAGE + place
            k_pool[row : row + 1, 0:HALF] = k_lo[h : h + 1, :]
            k_pool[row : row + 1, HALF:HEAD_DIM] = k_hi[h : h + 1, :]
            v_row = v_heads[b * KV_HEADS + h : b * KV_HEADS + h + 1, :]
            v_pool[row : row + 1, :] = pl.cast(v_row, target_type=pl.BF16, mode="rint")
    return q_turned, k_pool, v_pool


@pl.jit.inline
def paged_attention(
    q: pl.Tensor[[BATCH * HEADS, HEAD_DIM], pl.BF16],
    k_pool: pl.Tensor[[POOL * KV_HEADS * PAGE, HEAD_DIM], pl.BF16],
    v_pool: pl.Tensor[[POOL * KV_HEADS * PAGE, HEAD_DIM], pl.BF16],
    page_table: pl.Tensor[[BATCH * MAX_PAGES], pl.INT32],
    lengths: pl.Tensor[[BATCH], pl.INT32],
    attended: pl.Tensor[[BATCH * HEADS, HEAD_DIM], pl.BF16],
):
    """Attend to the cached tokens of each request; a block handles one group of heads."""
    for block in pl.spmd(BATCH * KV_HEADS, name_hint="paged_attention"):
        b = block // KV_HEADS
        kv = block % KV_HEADS
        first = b * HEADS + kv * GROUP
        length = pl.cast(pl.read(lengths, [b]), pl.INDEX)
        q_part = pl.slice(q, [Q_ROWS, HEAD_DIM], [first, 0], valid_shape=[GROUP, HEAD_DIM])
        q_rows = pl.fillpad(q_part, pad_value=pl.PadValue.zero)
        top = pl.full([Q_ROWS, 1], dtype=pl.FP32, value=LOWEST)
        total = pl.full([Q_ROWS, 1], dtype=pl.FP32, value=0.0)
        acc = pl.full([Q_ROWS, HEAD_DIM], dtype=pl.FP32, value=0.0)
        for p in pl.range((length + PAGE - 1) // PAGE):
            page = pl.cast(pl.read(page_table, [b * MAX_PAGES + p]), pl.INDEX)
            row = (page * KV_HEADS + kv) * PAGE
            left = pl.min(PAGE, length - p * PAGE)
            scores = pl.matmul(q_rows, k_pool[row : row + PAGE, :], b_trans=True, out_dtype=pl.FP32)
            scaled = pl.set_validshape(pl.mul(scores, SCALE), Q_ROWS, left)
            masked = pl.fillpad(scaled, pad_value=pl.PadValue.min)
            new_top = pl.maximum(top, pl.row_max(masked))
            fade = pl.exp(pl.sub(top, new_top))
            powers = pl.exp(pl.row_expand_sub(masked, new_top))
            total = pl.add(pl.mul(total, fade), pl.row_sum(powers))
            weights = pl.cast(powers, target_type=pl.BF16, mode="rint")
            mixed = pl.matmul(weights, v_pool[row : row + PAGE, :], out_dtype=pl.FP32)
            acc = pl.add(pl.row_expand_mul(acc, fade), mixed)
            top = new_top
        result = pl.cast(pl.row_expand_div(acc, total), target_type=pl.BF16, mode="rint")
        attended[first : first + GROUP, :] = result[0:GROUP, :]
    return attended


@pl.jit.inline
def out_proj(
    attended: pl.Tensor[[BATCH, Q_DIM], pl.BF16],
    wo: pl.Tensor[[Q_DIM, HIDDEN], pl.BF16],
    hidden: pl.Tensor[[BATCH, HIDDEN], pl.FP32],
    stream: pl.Tensor[[BATCH, HIDDEN], pl.FP32],
):
    """Write hidden + attended wo."""
    for block in pl.spmd(HIDDEN // TILE_N, name_hint="out_proj"):
        n = block * TILE_N
        acc = pl.matmul(attended[:, 0:TILE_K], wo[0:TILE_K, n : n + TILE_N], out_dtype=pl.FP32)
        for i in pl.pipeline(TILE_K, Q_DIM, TILE_K, stage=2):
            acc = pl.matmul_acc(
                acc, attended[:, i : i + TILE_K], wo[i : i + TILE_K, n : n + TILE_N]
            )
        stream[:, n : n + TILE_N] = pl.add(hidden[:, n : n + TILE_N], acc)
    return stream


@pl.jit.inline
def mlp(
    normed: pl.Tensor[[BATCH, HIDDEN], pl.BF16],
    w_gate: pl.Tensor[[HIDDEN, INNER], pl.BF16],
    w_up: pl.Tensor[[HIDDEN, INNER], pl.BF16],
    w_down: pl.Tensor[[INNER, HIDDEN], pl.BF16],
    stream: pl.Tensor[[BATCH, HIDDEN], pl.FP32],
    out: pl.Tensor[[BATCH, HIDDEN], pl.FP32],
):
    """Write stream + (silu(normed w_gate) * (normed w_up)) w_down."""
    inner = pl.create_tensor([BATCH, INNER], dtype=pl.BF16)
    for block in pl.spmd(INNER // TILE_N, name_hint="gate_up"):
        n = block * TILE_N
        rows = normed[:, 0:TILE_K]
        gate = pl.matmul(rows, w_gate[0:TILE_K, n : n + TILE_N], out_dtype=pl.FP32)
        up = pl.matmul(rows, w_up[0:TILE_K, n : n + TILE_N], out_dtype=pl.FP32)
        for i in pl.pipeline(TILE_K, HIDDEN, TILE_K, stage=2):
            rows = normed[:, i : i + TILE_K]
            gate = pl.matmul_acc(gate, rows, w_gate[i : i + TILE_K, n : n + TILE_N])
            up = pl.matmul_acc(up, rows, w_up[i : i + TILE_K, n : n + TILE_N])
        sigmoid = pl.recip(pl.add(pl.exp(pl.neg(gate)), 1.0))
        active = pl.mul(pl.mul(gate, sigmoid), up)
        inner[:, n : n + TILE_N] = pl.cast(active, target_type=pl.BF16, mode="rint")
    for block in pl.spmd(HIDDEN // TILE_N, name_hint="down"):
        n = block * TILE_N
        acc = pl.matmul(inner[:, 0:TILE_K], w_down[0:TILE_K, n : n + TILE_N], out_dtype=pl.FP32)
        for i in pl.pipeline(TILE_K, INNER, TILE_K, stage=2):
            acc = pl.matmul_acc(
                acc, inner[:, i : i + TILE_K], w_down[i : i + TILE_K, n : n + TILE_N]
            )
        out[:, n : n + TILE_N] = pl.add(stream[:, n : n + TILE_N], acc)
    return out


@pl.jit
def decode_layer(
    hidden: pl.Tensor[[BATCH, HIDDEN], pl.FP32],
    input_gamma: pl.Tensor[[1, HIDDEN], pl.FP32],
    wq: pl.Tensor[[HIDDEN, Q_DIM], pl.BF16],
    wk: pl.Tensor[[HIDDEN, KV_DIM], pl.BF16],
    wv: pl.Tensor[[HIDDEN, KV_DIM], pl.BF16],
    q_gamma: pl.Tensor[[1, HEAD_DIM], pl.FP32],
    k_gamma: pl.Tensor[[1, HEAD_DIM], pl.FP32],
    cos: pl.Tensor[[MAX_SEQ, HEAD_DIM], pl.FP32],
    sin: pl.Tensor[[MAX_SEQ, HEAD_DIM], pl.FP32],
    lengths: pl.Tensor[[BATCH], pl.INT32],
    slots: pl.Tensor[[BATCH], pl.INT32],
    page_table: pl.Tensor[[BATCH * MAX_PAGES], pl.INT32],
    k_pool: pl.InOut[pl.Tensor[[POOL * KV_HEADS * PAGE, HEAD_DIM], pl.BF16]],
    v_pool: pl.InOut[pl.Tensor[[POOL * KV_HEADS * PAGE, HEAD_DIM], pl.BF16]],
    wo: pl.Tensor[[Q_DIM, HIDDEN], pl.BF16],
    post_gamma: pl.Tensor[[1, HIDDEN], pl.FP32],
    w_gate: pl.Tensor[[HIDDEN, INNER], pl.BF16],
    w_up: pl.Tensor[[HIDDEN, INNER], pl.BF16],
    w_down: pl.Tensor[[INNER, HIDDEN], pl.BF16],
    out: pl.Out[pl.Tensor[[BATCH, HIDDEN], pl.FP32]],
):
    """Run the layer; the new keys and values are in the caches afterwards."""
    k_pool.bind_dynamic(0, PAGES)
    v_pool.bind_dynamic(0, PAGES)
    normed = pl.create_tensor([BATCH, HIDDEN], dtype=pl.BF16)
    normed = rms_norm(hidden, input_gamma, normed)
    q = pl.create_tensor([BATCH, Q_DIM], dtype=pl.FP32)
    k = pl.create_tensor([BATCH, KV_DIM], dtype=pl.FP32)
    v = pl.create_tensor([BATCH, KV_DIM], dtype=pl.FP32)
    q, k, v = qkv_proj(normed, wq, wk, wv, q, k, v)
    q_turned = pl.create_tensor([BATCH * HEADS, HEAD_DIM], dtype=pl.BF16)
    q_turned, k_pool, v_pool = qk_norm_rope_cache(
        q, k, v, q_gamma, k_gamma, cos, sin, lengths, slots, k_pool, v_pool, q_turned
    )
    attended = pl.create_tensor([BATCH * HEADS, HEAD_DIM], dtype=pl.BF16)
    attended = paged_attention(q_turned, k_pool, v_pool, page_table, lengths, attended)
    rows = pl.reshape(attended, [BATCH, Q_DIM])
    stream = pl.create_tensor([BATCH, HIDDEN], dtype=pl.FP32)
    stream = out_proj(rows, wo, hidden, stream)
    post_normed = pl.create_tensor([BATCH, HIDDEN], dtype=pl.BF16)
    post_normed = rms_norm(stream, post_gamma, post_normed)
    out = mlp(post_normed, w_gate, w_up, w_down, stream, out)
    return k_pool, v_pool, out


def inputs(rng, longest=MAX_SEQ):
    """Return requests of different lengths, up to ``longest`` tokens and the pool's capacity."""
    bf16 = pl.BF16.numpy

    def normal(*shape, size=1.0):
        values = rng.standard_normal(shape, np.float32)
        values *= np.float32(size)
        return values

    def weights(rows, columns, gain=1.0):
        return normal(rows, columns, size=gain * rows**-0.5).astype(bf16)

    angles = np.arange(MAX_SEQ)[:, None] * THETA ** (-np.arange(HALF) / HALF)
    both = np.concatenate([angles, angles], axis=1)
    each = POOL // BATCH
    lengths = rng.integers(1, min(longest, each * PAGE) + 1, BATCH, np.int32)
    lengths[0] = 1
    table = np.full((BATCH, MAX_PAGES), -1, np.int32)
    table[:, : min(each, MAX_PAGES)] = rng.permutation(POOL)[: BATCH * each].reshape(BATCH, each)[
        :, :MAX_PAGES
    ]
    page, place = np.divmod(lengths - 1, PAGE)
    return {
        "hidden": normal(BATCH, HIDDEN),
        "input_gamma": 1 + normal(1, HIDDEN, size=0.1),
        "wq": weights(HIDDEN, Q_DIM),
        "wk": weights(HIDDEN, KV_DIM),
        "wv": weights(HIDDEN, KV_DIM),
        "q_gamma": 1 + normal(1, HEAD_DIM, size=0.1),
        "k_gamma": 1 + normal(1, HEAD_DIM, size=0.1),
        "cos": np.cos(both).astype(np.float32),
        "sin": np.sin(both).astype(np.float32),
        "lengths": lengths,
        "slots": table[np.arange(BATCH), page] * PAGE + place.astype(np.int32),
        "page_table": table.reshape(-1),
        "k_pool": normal(POOL * KV_HEADS * PAGE, HEAD_DIM).astype(bf16),
        "v_pool": normal(POOL * KV_HEADS * PAGE, HEAD_DIM).astype(bf16),
        "wo": weights(Q_DIM, HIDDEN),
        "post_gamma": 1 + normal(1, HIDDEN, size=0.1),
        "w_gate": weights(HIDDEN, INNER),
        "w_up": weights(HIDDEN, INNER),
        "w_down": weights(INNER, HIDDEN),
        "out": np.zeros((BATCH, HIDDEN), np.float32),
    }


def reference(precision=np.float64, **arguments):
    """Return the stream and both caches; no intermediate value is rounded."""
    wide = {
        name: value.astype(precision)
        for name, value in arguments.items()
        if value.dtype.kind != "i" and name not in ("k_pool", "v_pool", "out")
    }
    lengths, slots = arguments["lengths"], arguments["slots"]
    table = arguments["page_table"].reshape(BATCH, MAX_PAGES)

    def norm(x, gamma):
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPS) * gamma

    cos, sin = (wide[name][lengths - 1][:, None] for name in ("cos", "sin"))

    def rope(x):
        halves = np.concatenate([-x[..., HALF:], x[..., :HALF]], axis=-1)
        return x * cos + halves * sin

    normed = norm(wide["hidden"], wide["input_gamma"])
    q = (normed @ wide["wq"]).reshape(BATCH, HEADS, HEAD_DIM)
    k, v = ((normed @ wide[w]).reshape(BATCH, KV_HEADS, HEAD_DIM) for w in ("wk", "wv"))
    q, k = rope(norm(q, wide["q_gamma"])), rope(norm(k, wide["k_gamma"]))
    shape = (POOL, KV_HEADS, PAGE, HEAD_DIM)
    keys, values = (arguments[name].reshape(shape) for name in ("k_pool", "v_pool"))
    attended = np.empty((BATCH, KV_HEADS, GROUP, HEAD_DIM), precision)
    for b, length in enumerate(lengths):
        pages = table[b, : (length + PAGE - 1) // PAGE]
        old_k, old_v = (
            pool[pages].swapaxes(1, 2).reshape(-1, KV_HEADS, HEAD_DIM)[:length].astype(precision)
            for pool in (keys, values)
        )
        old_k[-1], old_v[-1] = k[b], v[b]
        heads = q[b].reshape(KV_HEADS, GROUP, HEAD_DIM)
        scores = heads @ old_k.transpose(1, 2, 0) * SCALE
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        attended[b] = powers @ old_v.swapaxes(0, 1) / powers.sum(axis=-1, keepdims=True)
    stream = wide["hidden"] + attended.reshape(BATCH, Q_DIM) @ wide["wo"]
    normed = norm(stream, wide["post_gamma"])
    gate, up = normed @ wide["w_gate"], normed @ wide["w_up"]
    out = stream + (gate / (1 + np.exp(-gate)) * up) @ wide["w_down"]
    pools = {"k_pool": keys.astype(precision), "v_pool": values.astype(precision)}
    page, place = np.divmod(slots, PAGE)
    pools["k_pool"][page, :, place], pools["v_pool"][page, :, place] = k, v
    return {"out": out, **{name: pool.reshape(-1, HEAD_DIM) for name, pool in pools.items()}}


# Rounding to BF16 multiplies by 1 + d, with d of standard deviation r = 2**-8 / sqrt(12) to 2**-8 /
# sqrt(3). A new key is rounded twice (the normalised row, the key): by at most 2**-8 the last time,
# by about r the first. What attention adds to the stream has the errors of row, weights, values
# and results: 2.5 r of its magnitude, 1 for one token. The MLP's output, of magnitude 0.6, has six
# such errors and that of its input. Standard deviation in all: 0.006; the bound is six times that.
CASES = [Case("decode_layer", decode_layer, inputs, reference, 0.036)]
