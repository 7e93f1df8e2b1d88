"""Programs with regions, as models are written: results, texts and synchronisation of each.

The texts themselves are recorded by `tests/emit`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from pypto import ir
from pypto._src.checks import STAGES, check_program
from pypto._src.commands.example_cases import relative_error
from pypto._src.driver import compile_program
from tests import effort
from tests.examples.emitted import Emitted
from tests.examples.region_programs import CALLS, SIZES, example
from tests.examples.resized import ROOT, Loaded
from tests.natively import Array, deferred

BITS = (
    "basics/embedding",
    "basics/hello_add",
    "basics/tiled_add",
    "basics/top_k",
    "attention/kv_scatter",
)
"""Programs independent of the order of a sum and of functions such as exp."""


@pytest.fixture(scope="module", params=SIZES)
def loaded(request: pytest.FixtureRequest) -> Loaded:
    """Each program in turn, loaded once for all of its tests."""
    return example(request.param).load()


@pytest.fixture(scope="module")
def interpreted(loaded: Loaded) -> Mapping[str, Array]:
    """The arguments of seed 1 after the interpreter has run the program."""
    arguments = loaded.case.inputs(np.random.default_rng(1))
    compile_program(loaded.case.program, "interpreter")(*arguments.values())
    return arguments


def test_every_program_is_here() -> None:
    """Every file of the folders is tested; ranks and models have their own tests."""
    own = ("distributed", "models")
    folders = [each for each in (ROOT / "examples").iterdir() if each.name not in own]
    found = {path for folder in folders for path in folder.glob("*.py")}
    assert found == {example(name).path for name in SIZES}


def test_interpreter_agrees_with_numpy(loaded: Loaded, interpreted: Mapping[str, Array]) -> None:
    """The interpreter's results are within the bound; the initial outputs are not."""
    case = loaded.case
    arguments = case.inputs(np.random.default_rng(1))
    expected = case.reference(**arguments)
    before = [relative_error(arguments[name], wanted) for name, wanted in expected.items()]
    after = [relative_error(interpreted[name], wanted) for name, wanted in expected.items()]
    assert max(after) <= case.bound
    assert all(error > 5 * case.bound for error in before)


@pytest.mark.usefixtures("toolchain")
def test_a_call_agrees_with_numpy(loaded: Loaded) -> None:
    """Calling the decorated function on arrays, of different sizes if it accepts any."""
    case = loaded.case
    name = next(name for name in SIZES if name.endswith(f"/{loaded.name}"))
    extents = CALLS.get(name, ()) if name in effort.part(CALLS, 3, first=1) else ()
    for seed, extent in enumerate([None, *effort.part(extents, 2)]):
        rng = np.random.default_rng(seed + 2)
        arguments = case.inputs(rng) if extent is None else loaded.inputs(rng, extent)
        expected = case.reference(**arguments)
        with deferred():
            loaded.function(*arguments.values())
        errors = [relative_error(arguments[name], wanted) for name, wanted in expected.items()]
        assert max(errors) <= case.bound, (extent, errors)


def test_texts(loaded: Loaded, interpreted: Mapping[str, Array]) -> None:
    """``pypto check`` finds no error, in flags and texts either; `.pto` gives the same bits."""
    case = loaded.case
    program = case.program
    ir.assert_structural_equal(ir.parse(str(program)), program)
    stages = list(check_program(program))
    assert [stage.name for stage in stages if not stage.skipped] == [*STAGES]
    assert [found for stage in stages if stage.errors for found in stage.findings] == []
    found = case.inputs(np.random.default_rng(1))
    outputs = case.reference(**found).keys()
    emitted = Emitted(program)
    emitted.call(loaded.name, list(found.values()))
    for name in outputs:
        wanted = interpreted[name].view(np.uint8)
        np.testing.assert_array_equal(found[name].view(np.uint8), wanted, name)


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize("loaded", BITS, indirect=True)
def test_native_code_gives_the_interpreters_bits(loaded: Loaded) -> None:
    """Where neither exp nor the order of a float sum makes a difference."""
    case = loaded.case
    wanted, found = (case.inputs(np.random.default_rng(4)) for _ in range(2))
    compile_program(case.program, "interpreter")(*wanted.values())
    compile_program(case.program)(*found.values())
    for name in case.reference(**wanted):
        np.testing.assert_array_equal(found[name].view(np.uint8), wanted[name].view(np.uint8), name)
