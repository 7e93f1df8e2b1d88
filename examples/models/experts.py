"""A mixture of 256 experts, 8 per token: hidden 7168 and inner 2048, both divided by ``SCALE``.

A layer normalises the stream, scores all experts, sends each token to its best ones and adds their
results. An expert may get no token. At scale 1 a layer's weights are 22 GB.
"""

import numpy as np

import pypto.language as pl
from examples.models.model import EXAMPLES, LAYERS, Built, Model, blocks, normed, part, weights
from examples.models.resized import resized

TOKENS, HIDDEN, INNER = 16, 7168, 2048
SHARES = 2.5  # the sum of the shares of a token's experts
NEAR = 0.02  # scores of experts that differ by less may be ordered either way by rounding


def mixture(sizes):
    """Return the program of layers of experts."""
    hidden = HIDDEN // sizes["SCALE"]
    inner = max(INNER // sizes["SCALE"] // 128, 1) * 128
    experts, top = 256, 8
    both = {"TOKENS": TOKENS, "HIDDEN": hidden, "EXPERTS": experts, "TOP": top}
    choose = resized(EXAMPLES / "moe" / "moe_gate.py", both).moe_gate.as_inline()
    routed = resized(EXAMPLES / "moe" / "routed_experts.py", {**both, "INNER": inner})
    run_experts = routed.routed_experts.as_inline()
    rms_norm, _, _ = blocks({"BATCH": TOKENS, "HIDDEN": hidden})
    chunk = 256

    @pl.jit
    def mixture_of_experts(
        hidden_rows: pl.Tensor[[TOKENS, hidden], pl.FP32],
        gamma: pl.Tensor[[LAYERS, hidden], pl.FP32],
        gate: pl.Tensor[[LAYERS * experts, hidden], pl.FP32],
        bias: pl.Tensor[[LAYERS, experts], pl.FP32],
        w_gate: pl.Tensor[[LAYERS * experts, hidden, inner], pl.BF16],
        w_up: pl.Tensor[[LAYERS * experts, hidden, inner], pl.BF16],
        w_down: pl.Tensor[[LAYERS * experts, inner, hidden], pl.BF16],
        chosen: pl.Out[pl.Tensor[[LAYERS * TOKENS, top], pl.INT32]],
        out: pl.Out[pl.Tensor[[TOKENS, hidden], pl.FP32]],
    ):
        """Write the stream after all layers, and the experts of each token."""
        stream = hidden_rows
        for i in pl.unroll(LAYERS):
            e, t = i * experts, i * TOKENS
            rows = pl.create_tensor([TOKENS, hidden], dtype=pl.BF16)
            rows = rms_norm(stream, gamma[i : i + 1, :], rows)
            wide = pl.create_tensor([TOKENS, hidden], dtype=pl.FP32)
            for block in pl.spmd(hidden // chunk, name_hint="widen"):
                c = block * chunk
                wide[:, c : c + chunk] = pl.cast(rows[:, c : c + chunk], target_type=pl.FP32)
            shares = pl.create_tensor([TOKENS, top], dtype=pl.FP32)
            own = chosen[t : t + TOKENS, :]
            own, shares = choose(
                wide, gate[e : e + experts, :], bias[i : i + 1, :], SHARES, own, shares
            )
            y = pl.create_tensor([TOKENS, hidden], dtype=pl.FP32)
            y = run_experts(
                rows,
                own,
                shares,
                w_gate[e : e + experts, :, :],
                w_up[e : e + experts, :, :],
                w_down[e : e + experts, :, :],
                y,
            )
            after = pl.create_tensor([TOKENS, hidden], dtype=pl.FP32)
            for block in pl.spmd(hidden // chunk, name_hint="add"):
                c = block * chunk
                after[:, c : c + chunk] = pl.add(stream[:, c : c + chunk], y[:, c : c + chunk])
            stream = after
        for block in pl.spmd(hidden // chunk, name_hint="result"):
            c = block * chunk
            out[:, c : c + chunk] = stream[:, c : c + chunk]
        return chosen, out

    def inputs(rng):
        bf16 = pl.BF16.numpy

        def matrices(rows, columns):
            made = np.empty((LAYERS * experts, rows, columns), bf16)
            for each in made:
                each[:] = weights(rng, rows, columns, bf16)
            return made

        return {
            "hidden_rows": rng.standard_normal((TOKENS, hidden), np.float32),
            "gamma": 1 + 0.1 * rng.standard_normal((LAYERS, hidden), np.float32),
            "gate": weights(rng, hidden, LAYERS * experts, np.float32).T.copy(),
            "bias": 0.1 * rng.standard_normal((LAYERS, experts), np.float32),
            "w_gate": matrices(hidden, inner),
            "w_up": matrices(hidden, inner),
            "w_down": matrices(inner, hidden),
            "chosen": np.zeros((LAYERS * TOKENS, top), np.int32),
            "out": np.zeros((TOKENS, hidden), np.float32),
        }

    def reference(found, **arguments):
        stream = arguments["hidden_rows"].astype(np.float64)
        choices = []
        for i in range(LAYERS):
            own = {name: part(arguments[name], i) for name in ("gate", "w_gate", "w_up", "w_down")}
            rows = normed(stream) * arguments["gamma"][i]
            scores = 1 / (1 + np.exp(-(rows @ own["gate"].T)))
            ranked = scores + arguments["bias"][i]
            best = np.argsort(-ranked, axis=1, kind="stable")[:, :top]
            theirs = part(found["chosen"], i)
            for token in range(TOKENS):
                least = ranked[token, best[token]].min()
                if (ranked[token, theirs[token]] >= least - NEAR).all():
                    best[token] = theirs[token]
            shares = np.take_along_axis(scores, best, axis=1)
            own |= {"x": rows, "experts": best, "y": rows}
            shares = SHARES * shares / shares.sum(axis=1, keepdims=True)
            own.pop("gate")
            stream = stream + routed.reference(shares=shares, **own)["y"]
            choices.append(best)
        return {"chosen": np.concatenate(choices), "out": stream}

    # A layer adds eight results of magnitude 0.6, by shares of about 2.5 / 8: 0.5. Their operands
    # are rounded to BF16 three times, with deviation 2**-9 / sqrt(3): rows, inner activations, and
    # the shares by the rows. Six deviations, and the second layer has the error of the first.
    return Built(mixture_of_experts, inputs, reference, 0.03)


MODELS = [
    Model("experts", mixture, {"SCALE": 4}, {"SCALE": 28}),
]
