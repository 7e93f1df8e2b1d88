"""Manually ordered tasks: a pipeline of stages over tiles, joined before a final task.

In a manual scope only ``deps`` order tasks. A tile goes through three stages; each stage waits for
the tile's previous one and nothing else, so that different tiles can overtake each other.
"""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

TILES, ROWS, COLS = 6, 32, 128


@pl.jit.inline
def stage(
    source: pl.Tensor,
    target: pl.Tensor,
    row: pl.Scalar[pl.INDEX],
    factor: pl.Scalar[pl.FP32],
    before: pl.Scalar[pl.TASK_ID],
) -> pl.Scalar[pl.TASK_ID]:
    """Write a scaled tile into another tensor, after the task ``before``."""
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="stage", deps=[before]) as done:
        target[row : row + ROWS, :] = pl.mul(source[row : row + ROWS, :], factor)
    return done


@pl.jit(auto_scope=False)
def task_graph(
    x: pl.Tensor[[TILES * ROWS, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[TILES * ROWS, COLS], pl.FP32]],
    total: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    """Scale each tile three times, and add up all tiles."""
    first = pl.create_tensor([TILES * ROWS, COLS], dtype=pl.FP32, manual_dep=True)
    second = pl.create_tensor([TILES * ROWS, COLS], dtype=pl.FP32, manual_dep=True)
    finished = pl.array.create(TILES, pl.TASK_ID)
    with pl.manual_scope():
        for i in pl.range(TILES):
            row = i * ROWS
            loaded = stage(x, first, row, 0.5, None)
            scaled = stage(first, second, row, 3.0, loaded)
            stored = stage(second, y, row, 2.0, scaled)
            finished[i] = stored
        even = pl.system.task_dummy(deps=[finished[i] for i in range(TILES) if i % 2 == 0])
        odd = pl.system.task_dummy(deps=[finished[i] for i in range(TILES) if i % 2 == 1])
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="add_up", deps=[even, odd]):
            acc = pl.full([ROWS, COLS], dtype=pl.FP32, value=0.0)
            for i in pl.range(TILES):
                acc = pl.add(acc, y[i * ROWS : (i + 1) * ROWS, :])
            total[:] = acc
    return y, total


def inputs(rng):
    """Return rows of magnitude about 1."""
    shape = (TILES * ROWS, COLS)
    return {
        "x": rng.standard_normal(shape, np.float32),
        "y": np.zeros(shape, np.float32),
        "total": np.zeros((ROWS, COLS), np.float32),
    }


def reference(x, y, total):
    """Return the scaled rows and the sums in float64."""
    scaled = x.astype(np.float64) * 3
    return {"y": scaled, "total": scaled.reshape(TILES, ROWS, COLS).sum(axis=0)}


# One rounding of a product, and sums of six numbers below 16.
CASES = [Case("task_graph", task_graph, inputs, reference, 2e-6)]
