"""Tasks of one program distributed over ranks: which rank runs which, cost, and results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import runtime
from pypto._src.errors import CallError, PyptoError
from pypto.ir.distributed_compiled_program import DistributedConfig

ROWS, COLUMNS, PARTS = 16, 64, 4
Part = pl.Tensor[[16, 64], pl.FP32]
Whole = pl.Tensor[[64, 64], pl.FP32]
TWO = DistributedConfig(device_ids=[0, 1])


@pl.program
class Rolled:
    """Twice x, plus the same of the following part."""

    @pl.function(type=pl.FunctionType.InCore)
    def twice(self, x: Part, out: pl.Out[Part]) -> Part:
        return pl.store(pl.mul(pl.load(x, [0, 0], [16, 64]), 2.0), [0, 0], [16, 64], out)

    @pl.function(type=pl.FunctionType.InCore)
    def plus(self, x: Part, y: Part, out: pl.Out[Part]) -> Part:
        total = pl.add(pl.load(x, [0, 0], [16, 64]), pl.load(y, [0, 0], [16, 64]))
        return pl.store(total, [0, 0], [16, 64], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: Whole, y: pl.Out[Whole]) -> Whole:
        middle = pl.create_tensor([64, 64], dtype=pl.FP32)
        for i in pl.range(4):
            self.twice(pl.slice(x, [16, 64], [i * 16, 0]), pl.slice(middle, [16, 64], [i * 16, 0]))
        for i in pl.range(4):
            mine = pl.slice(middle, [16, 64], [i * 16, 0])
            following = pl.slice(middle, [16, 64], [(i + 1) % 4 * 16, 0])
            self.plus(mine, following, pl.slice(y, [16, 64], [i * 16, 0]))
        return y


def arrays() -> tuple[Any, Any]:
    x = np.random.default_rng(3).random((64, 64), np.float32)
    return x, np.zeros_like(x)


def expected(x: Any) -> Any:
    return 2 * x + 2 * np.roll(x, -ROWS, axis=0)


def last_first(region: Any, ranks: int) -> int:
    return 1 - int(region.box[0][0] >= 48) if region.kernel == "twice" else ranks - 1


@pytest.mark.parametrize(
    ("owner", "twice", "plus"),
    [
        ("block", [0, 0, 1, 1], [0, 0, 1, 1]),
        ("cyclic", [0, 1, 0, 1], [0, 1, 0, 1]),
        (last_first, [1, 1, 1, 0], [1, 1, 1, 1]),
    ],
)
def test_the_owner_of_what_a_task_writes_runs_it(owner: Any, twice: Any, plus: Any) -> None:
    """Results do not depend on ownership; a task waits for what it reads on other ranks."""
    x, y = arrays()
    made = runtime.spread(Rolled, x, y, config=TWO, owner=owner)
    assert made.owners == [*(("twice", n) for n in twice), *(("plus", n) for n in plus)]
    assert (y == 0).all()
    made.run()
    np.testing.assert_array_equal(y, expected(x))


def test_kernels_of_regions_are_spread() -> None:
    """A function of pl.jit has its regions as tasks; results end up in their destinations."""

    @pl.jit
    def kernel(x: Whole, y: pl.Out[Whole]):
        for i in pl.parallel(4):
            with pl.at(level=pl.Level.CORE_GROUP):
                y[i * 16 : i * 16 + 16, :] = pl.add(x[i * 16 : i * 16 + 16, :], 1.0)
        return y

    x, y = arrays()
    made = runtime.spread(kernel.compile(x, y), x, y, config=TWO)
    assert len(made.owners) == 4
    made.run()
    np.testing.assert_array_equal(y, x + 1)


def test_the_estimate_says_whether_it_pays() -> None:
    """Long tasks pay off, short ones cannot, and it depends on the machine's own parallelism."""
    x, y = arrays()
    made = runtime.spread(Rolled, x, y, config=TWO)
    long = made.estimate({"twice": 1.0, "plus": 1.0}, threads=1)
    assert long.pays
    assert long.tasks == (4, 4)
    assert long.here_s == 8.0
    assert 4.0 < long.spread_s < 4.1
    # Each part of x and middle to its rank and each y there; two parts of middle change ranks.
    assert long.moved_bytes == ROWS * COLUMNS * 4 * (3 * PARTS + 2) + 2 * x.nbytes
    assert "spreading pays: 2.0 times as fast (an estimate)" in str(long)
    both = made.estimate({"twice": 1.0, "plus": 1.0}, threads=2)
    assert not both.can_pay
    short = made.estimate({"twice": 1e-5, "plus": 1e-5}, threads=1)
    assert not short.can_pay
    assert "spreading cannot pay: 4.0" in str(short)
    alone = runtime.spread(Rolled, x, y, config=TWO, owner=lambda region, ranks: 0)
    bad = alone.estimate({"twice": 1.0, "plus": 1.0}, threads=1)
    assert bad.can_pay
    assert not bad.pays
    assert "spreading does not pay with these owners" in str(bad)
    assert (y == 0).all()


@pytest.mark.usefixtures("toolchain")
def test_the_estimate_measures() -> None:
    """Without figures the program runs once, on copies of its arrays."""
    x, y = arrays()
    found = runtime.spread(Rolled, x, y, config=TWO).estimate()
    assert 0 < found.here_s < 1
    assert found.spread_s > 4e-3  # four calls on each rank
    assert (y == 0).all()


@pl.program
class AsDataSays:
    @pl.function(type=pl.FunctionType.InCore)
    def twice(self, x: Part, out: pl.Out[Part]) -> Part:
        return pl.store(pl.mul(pl.load(x, [0, 0], [16, 64]), 2.0), [0, 0], [16, 64], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, n: pl.Tensor[[1], pl.INT64], x: Part, y: pl.Out[Part]) -> Part:
        for _ in pl.range(pl.read(n, [0])):
            y = self.twice(x, y)
        return y


@pl.program
class WritesItself:
    @pl.function(type=pl.FunctionType.InCore)
    def twice(self, x: Part, out: pl.Out[Part]) -> Part:
        return pl.store(pl.mul(pl.load(x, [0, 0], [16, 64]), 2.0), [0, 0], [16, 64], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: Part, y: pl.Out[Part]) -> Part:
        y = self.twice(x, y)
        pl.write(y, [0, 0], 1.0)
        return y


def test_programs_that_are_refused() -> None:
    """Tasks must follow from sizes and scalars; a distributed program's host writes no elements."""
    x = np.zeros((16, 64), np.float32)
    with pytest.raises(PyptoError, match="which tasks there are depends on the elements") as raised:
        runtime.spread(AsDataSays, np.ones(1, np.int64), x, x.copy(), config=TWO)
    assert raised.value.slug == "spread"
    assert raised.value.location.filename == __file__
    with pytest.raises(PyptoError, match="the host function changes a tensor itself") as raised:
        runtime.spread(WritesItself, x, x.copy(), config=TWO)
    assert raised.value.slug == "spread"


def test_owners_that_are_none() -> None:
    """An owner is a name, or a function that returns the number of a rank."""
    x, y = arrays()
    with pytest.raises(CallError, match="owner is 'blocks'; it is one of block, cyclic"):
        runtime.spread(Rolled, x, y, config=TWO, owner="blocks")
    with pytest.raises(CallError, match=r"a tensor \[64, 64\] is 2; there are ranks 0 to 1"):
        runtime.spread(Rolled, x, y, config=TWO, owner=lambda region, ranks: ranks)
