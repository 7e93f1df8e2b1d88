"""Kernels in a file, as users write them: here the decorators find their source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pypto.language as language_under_another_name
from pypto.language import FP32, Out, Tensor, load, program
from pypto.language import function as kernel

pl = language_under_another_name
BLOCK = 32


def unchanged(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function unchanged, as third-party decorators may."""
    return func


@kernel
@unchanged
def plain(
    x: Tensor[[BLOCK, BLOCK], FP32],  # a comment
    # another one, further left:
    # here
    out: Out[Tensor[[BLOCK, BLOCK], FP32]],
) -> Tensor[[BLOCK, BLOCK], FP32]:
    """Read, write.
    This line of the docstring stands left of the function.
    """
    tile = load(x, [0, 0], [BLOCK, BLOCK])
    return language_under_another_name.store(tile, [0, 0], [BLOCK, BLOCK], out)


def make(rows: int) -> Any:
    """Return a program that depends on an argument."""
    columns = 2 * rows

    def inner() -> Any:
        @program
        class Made:
            """Its methods are indented further than any function here."""

            FACTOR = 2.5

            @kernel(type=pl.FunctionType.InCore)
            def scaled(
                self, x: Tensor[[rows, columns], FP32], out: Out[Tensor[[rows, columns], FP32]]
            ):
                tile = load(x, [0, 0], [rows, columns]) * self.FACTOR
                return pl.store(tile, [0, 0], [rows, columns], out)

            def ignored(self) -> None:
                """Python's own: not part of the program."""

        return Made

    return inner()


class Holder:
    """A program as an attribute of a class."""

    @pl.program
    class Inner:
        @pl.function(type=pl.FunctionType.Orchestration)
        def run(self, n: pl.INT64) -> pl.INT64:
            return n * 2  # «non-ASCII» in the text
