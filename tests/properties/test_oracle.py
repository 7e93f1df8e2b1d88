"""A kernel means what its own text means to Python: parsed and interpreted, or just executed.

Programs in mutable style, with branches, loops, jumps and calls.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.interp.evaluate import Evaluator
from tests import effort
from tests.natively import assert_close
from tests.properties import numpy_language
from tests.properties.kernels import random_matrix_source, random_mixed_source, random_source
from tests.properties.test_programs import COUNTS, arguments, main, tensors

MAKERS = {"vector": random_source, "mixed": random_mixed_source, "matrix": random_matrix_source}
CHUNK, CHUNKS = 100, effort.count(1, thorough_run=10)


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("kind", MAKERS)
def test_python_agrees(kind: str, chunk: int) -> None:
    """The interpreter writes the numbers that Python writes when it executes the same text."""
    written = 0
    for seed in range(chunk * CHUNK, chunk * CHUNK + CHUNK):
        source = MAKERS[kind](Random(seed).randrange, 12)
        program = pl.parse_program(source)
        function, count = main(program), COUNTS[seed % len(COUNTS)]
        args, expected = arguments(function, count), arguments(function, count)
        before = [array.copy() for array in tensors(args)]
        Evaluator(program).call(function.name, args)
        numpy_language.run(source, expected)
        for left, right in zip(tensors(args), tensors(expected), strict=True):
            assert_close(left, right, signed_zero=False, note=f"seed {seed}, n = {count}")
        pairs = zip(before, tensors(args), strict=True)
        written += any(not np.array_equal(a, b, equal_nan=True) for a, b in pairs)
    assert written > CHUNK * 3 // 4  # most kernels change what they get
