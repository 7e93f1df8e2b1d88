"""Programs with several ranks: results on the interpreter and as C++, in several orders."""

from __future__ import annotations

import runpy
from typing import Any

import numpy as np
import pytest

from pypto._src.commands.example_cases import relative_error
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import RunConfig
from tests.examples.resized import ROOT

FILES = sorted((ROOT / "examples" / "distributed").glob("*.py"))


def test_every_program_is_here() -> None:
    """Each way to split a model over ranks has a program."""
    assert [file.stem for file in FILES] == [
        "expert_parallel",
        "gather_gemm",
        "ring_attention",
        "tensor_parallel_mlp",
    ]


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_results_are_those_of_numpy(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Concurrent ranks, or ranks interleaved in any order, get the same results: no races."""
    names: dict[str, Any] = runpy.run_path(str(file))
    devices = DistributedConfig(device_ids=list(range(names["RANKS"])))
    arguments = names["inputs"](np.random.default_rng(1))
    expected = names["reference"](**arguments)
    for seed in ("", "1", "5"):
        monkeypatch.setenv("PYPTO_RANK_SEED", seed)
        result = {name: np.full_like(arguments[name], np.nan) for name in expected}
        names["PROGRAM"](**{**arguments, **result}, config=RunConfig(distributed_config=devices))
        for name, wanted in expected.items():
            assert relative_error(result[name], wanted) <= 1e-5
    names["PROGRAM"].check(**arguments, orders=2, config=RunConfig(distributed_config=devices))


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize(
    ("name", "size", "ranks"),
    [("tensor_parallel_mlp", {"inner": 256}, 1), ("ring_attention", {"rows": 64}, 4)],
)
def test_results_do_not_depend_on_the_number_of_ranks(
    name: str, size: dict[str, int], ranks: int
) -> None:
    """The same weights, or the same sequence, split over a different number of ranks."""
    names: dict[str, Any] = runpy.run_path(str(ROOT / "examples" / "distributed" / f"{name}.py"))
    whole = names["inputs"](np.random.default_rng(1), ranks=1, **size)
    expected = names["reference"](**whole)["y"]
    for count in (ranks, names["RANKS"]):
        arguments = names["split"](whole, count)
        devices = RunConfig(distributed_config=DistributedConfig(device_ids=list(range(count))))
        names["PROGRAM"](**arguments, config=devices)
        assert relative_error(names["joined"](arguments["y"]), expected) <= 1e-5
    names["PROGRAM"].check(**arguments, orders=2, config=devices)
