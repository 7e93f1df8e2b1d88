"""Programs with regions, as models are written: results, texts and synchronisation of each.

The sizes are smaller than those that the files state, and keep what makes a program interesting: a
last block that is valid in part, several steps of each loop, several heads of a group.
"""

from __future__ import annotations

import numpy as np
import pytest

from pypto import ir
from pypto._src.commands.example_cases import relative_error
from pypto._src.dialect.verify import check, options_of
from pypto._src.driver import compile_program
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.ir.roles import kernels
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.passes.sync.checker import check_sync
from tests.examples.emitted import Emitted
from tests.examples.resized import ROOT, Example, Loaded

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
}
"""Each program with the constants that are changed."""
CALLS = {
    "basics/embedding": (1, 16),
    "basics/rms_norm": (1, 32),
    "attention/causal_prefill": (1, 128),
    "attention/kv_scatter": (1,),
    "attention/paged_decode": (2, 4),
    "decoder/forward": (1, 64),
    "decoder/prefill_layer": (1, 128),
}
"""Extents that calls have, beside that of the case: one, and whole blocks."""
BITS = (
    "basics/embedding",
    "basics/hello_add",
    "basics/tiled_add",
    "basics/top_k",
    "attention/kv_scatter",
)
"""Programs in which nothing depends on the order of a sum or on a function such as exp."""


def example(name: str) -> Example:
    return Example(ROOT / "examples" / f"{name}.py", SIZES[name], CALLS.get(name, ()))


@pytest.fixture(scope="module", params=SIZES)
def loaded(request: pytest.FixtureRequest) -> Loaded:
    """Each program in turn, loaded once for all of its tests."""
    return example(request.param).load()


def test_every_program_is_here() -> None:
    """No file of a folder is without tests."""
    found = set((ROOT / "examples").glob("*/*.py"))
    assert found == {example(name).path for name in SIZES}


def test_interpreter_agrees_with_numpy(loaded: Loaded) -> None:
    """The interpreter's results are within the bound; what a call begins with is not."""
    case = loaded.case
    arguments = case.inputs(np.random.default_rng(1))
    expected = case.reference(**arguments)
    before = [relative_error(arguments[name], wanted) for name, wanted in expected.items()]
    compile_program(case.program, "interpreter")(*arguments.values())
    after = [relative_error(arguments[name], wanted) for name, wanted in expected.items()]
    assert max(after) <= case.bound
    assert all(error > 5 * case.bound for error in before)


@pytest.mark.usefixtures("toolchain")
def test_a_call_agrees_with_numpy(loaded: Loaded) -> None:
    """What the decorated function does with arrays, of different sizes where it takes any."""
    case = loaded.case
    extents = CALLS.get(next(name for name in SIZES if name.endswith(f"/{loaded.name}")), ())
    for seed, extent in enumerate([None, *extents]):
        rng = np.random.default_rng(seed + 2)
        arguments = case.inputs(rng) if extent is None else loaded.inputs(rng, extent)
        expected = case.reference(**arguments)
        loaded.function(*arguments.values())
        errors = [relative_error(arguments[name], wanted) for name, wanted in expected.items()]
        assert max(errors) <= case.bound, (extent, errors)


def test_texts(loaded: Loaded) -> None:
    """Flags order all accesses, the assembler's rules hold, and `.pto` gives the same bits."""
    case = loaded.case
    program = case.program
    ir.assert_structural_equal(ir.parse(str(program)), program)
    flagged = PassManager.get_strategy(OptimizationStrategy.Default).run_passes(program)
    assert check_sync(flagged) == []
    for kernel in kernels(flagged):
        assert kernel_file(kernel)
        text = PTOCodegen().generate(flagged.with_functions([kernel]))
        check(text, f"{kernel.name}.pto", options_of(text))
    wanted, found = (case.inputs(np.random.default_rng(1)) for _ in range(2))
    compile_program(program, "interpreter")(*wanted.values())
    emitted = Emitted(program)
    emitted.call(loaded.name, list(found.values()))
    for name in case.reference(**wanted):
        np.testing.assert_array_equal(found[name].view(np.uint8), wanted[name].view(np.uint8), name)


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize("loaded", BITS, indirect=True)
def test_native_code_gives_the_interpreters_bits(loaded: Loaded) -> None:
    """Where neither exp nor the order of a sum of floats makes a difference."""
    case = loaded.case
    wanted, found = (case.inputs(np.random.default_rng(4)) for _ in range(2))
    compile_program(case.program, "interpreter")(*wanted.values())
    compile_program(case.program)(*found.values())
    for name in case.reference(**wanted):
        np.testing.assert_array_equal(found[name].view(np.uint8), wanted[name].view(np.uint8), name)
