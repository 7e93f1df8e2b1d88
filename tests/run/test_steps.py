"""Steps of host functions: everything before a step has ended when it begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto._src.errors import EvaluationError, ParserError
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import RunConfig

RANKS, COLUMNS = 2, 64
two = RunConfig(distributed_config=DistributedConfig(device_ids=[0, 1]))


@pl.jit(target="interpreter")
def put(
    x: pl.Tensor[[1, COLUMNS], pl.FP32], box: pl.InOut[pld.DistributedTensor[[1, COLUMNS], pl.FP32]]
):
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.tensor.put(box, (pld.rank(box) + 1) % pld.nranks(box), x)


@pl.jit(target="interpreter")
def take(
    y: pl.Out[pl.Tensor[[1, COLUMNS], pl.FP32]],
    box: pl.InOut[pld.DistributedTensor[[1, COLUMNS], pl.FP32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = box[0:1, :]
    return y


@pl.jit.host
def exchange(x: pl.Tensor, y: pl.Out[pl.Tensor], is_step: int = 1):
    boxes = pld.alloc_window_buffer([1, COLUMNS], dtype=pl.FP32)
    box = pld.window(boxes, [1, COLUMNS], dtype=pl.FP32)
    for r in pl.range(pld.world_size()):
        put(x[r], box, device=r)
    if is_step:
        with pld.step():
            for r in pl.range(pld.world_size()):
                take(y[r], box, device=r)
    else:
        for r in pl.range(pld.world_size()):
            take(y[r], box, device=r)


def arrays() -> tuple[Any, Any]:
    x = np.random.default_rng(3).random((RANKS, 1, COLUMNS), np.float32)
    return x, np.zeros_like(x)


def test_a_step_begins_when_all_before_has_ended() -> None:
    """What ranks put before a step, others read in it without a signal; otherwise it is a race."""
    x, y = arrays()
    exchange.check(x, y, config=two)
    exchange(x, y, config=two)
    np.testing.assert_array_equal(y, x[::-1])
    with pytest.raises(EvaluationError) as raised:
        exchange.check(x, y, 0, config=two)
    assert raised.value.slug == "rank-race"


@pl.jit(target="interpreter")
def ring(bell: pl.InOut[pld.DistributedTensor[[1], pl.INT32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.system.notify(bell, 0, [0], 1, op=pld.NotifyOp.AtomicAdd)


@pl.jit(target="interpreter")
def hear(bell: pl.InOut[pld.DistributedTensor[[1], pl.INT32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.system.wait(bell, [0], 1, cmp=pld.WaitCmp.Ge)


@pl.jit.host
def too_late():
    bells = pld.alloc_window_buffer([1], dtype=pl.INT32)
    bell = pld.window(bells, [1], dtype=pl.INT32)
    hear(bell, device=0)
    with pld.step(restarts=0):
        ring(bell, device=1)


def test_a_wait_for_what_a_later_step_sends() -> None:
    """A deadlock, as the step begins only when the wait has ended: on threads as on a cluster."""
    with pytest.raises(EvaluationError, match="deadlock: all 2 ranks") as raised:
        too_late(config=two)
    [label] = raised.value.related
    assert label.text == (
        "rank 1 waits for the end of hear on device 0, which is before the step of ring"
    )


@pl.jit.host
def nested():
    with pld.step():
        for _ in pl.range(2):
            with pld.step():
                pass


@pl.jit.host
def negative():
    with pld.step(restarts=-1):
        pass


@pytest.mark.parametrize(
    ("function", "text"), [(nested, "a step is inside another one"), (negative, "got -1")]
)
def test_steps_that_are_none(function: Any, text: str) -> None:
    """Steps do not nest, and the number of restarts is not negative."""
    with pytest.raises(ParserError, match=text) as raised:
        function(config=two)
    assert raised.value.hint
