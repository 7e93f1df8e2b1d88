"""The programs with regions, each with the sizes used in tests.

They are smaller than those in the files, and keep what makes a program interesting: a last
block that is partly valid, several iterations of each loop, several heads of a group.
"""

from __future__ import annotations

from tests.examples.resized import ROOT, Example

LAYER = {"HIDDEN": 512, "INNER": 768, "HEADS": 4, "KV_HEADS": 2}
SIZES: dict[str, dict[str, int]] = {
    "basics/cross_entropy": {"TOKENS": 32, "VOCAB": 2048},
    "basics/embedding": {},
    "basics/gemm": {"M": 256, "K": 384, "N": 256},
    "basics/gemm_gelu": {},
    "basics/hello_add": {},
    "basics/layer_norm": {"ROWS": 32},
    "basics/projections": {"HIDDEN": 768, "Q_DIM": 512, "KV_DIM": 128},
    "basics/rms_norm": {"HIDDEN": 1024, "MAX_TOKENS": 48},
    "basics/rope": {"BATCH": 4, "HEADS": 16, "MAX_SEQ": 256},
    "basics/sampling": {"BATCH": 3},
    "basics/softmax": {"ROWS": 64},
    "basics/split_k": {"K": 2048},
    "basics/tiled_add": {"ROWS": 256, "COLS": 384},
    "basics/top_k": {"ROWS": 8},
    "attention/causal_prefill": {"MAX_SEQ": 192, "HEADS": 4},
    "attention/kv_scatter": {"KV_HEADS": 4},
    "attention/linear_attention": {"SEQ": 256, "HEADS": 2},
    "attention/mla_decode": {"BATCH": 2, "MAX_SEQ": 256},
    "attention/paged_decode": {"MAX_BATCH": 4, "HEADS": 10, "KV_HEADS": 2, "POOL": 16},
    "attention/sparse_decode": {"BATCH": 2},
    "decoder/decode_layer": {**LAYER, "HEADS": 10, "MAX_SEQ": 512, "POOL": 64},
    "decoder/forward": {"HIDDEN": 256, "INNER": 384, "HEADS": 2, "VOCAB": 512, "MAX_SEQ": 128},
    "decoder/prefill_layer": {**LAYER, "MAX_TOKENS": 192},
    "moe/codebook_gemm": {"K": 256},
    "moe/moe_gate": {"TOKENS": 16, "HIDDEN": 512},
    "moe/routed_experts": {"TOKENS": 16, "HIDDEN": 256, "INNER": 128},
    "moe/swiglu_mlp": {"HIDDEN": 512, "INNER": 768},
    "moe/w8a8_gemm": {"K": 1024, "N": 256},
    "scheduling/task_graph": {},
    "scheduling/two_lanes": {},
}
"""Each program with its changed constants."""
CALLS = {
    "basics/embedding": (1, 16),
    "basics/rms_norm": (1, 32),
    "attention/causal_prefill": (1, 128),
    "attention/kv_scatter": (1,),
    "attention/paged_decode": (2, 4),
    "decoder/forward": (1, 64),
    "decoder/prefill_layer": (1, 128),
}
"""Extents used in calls, besides the case's own: one, and whole blocks."""


def example(name: str) -> Example:
    return Example(ROOT / "examples" / f"{name}.py", SIZES[name], CALLS.get(name, ()))
