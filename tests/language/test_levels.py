"""Operators at each level: in regions, on whole tensors, in kernels on tiles.

Each row of `rows` runs with each of its element types in the interpreter, with its kernels as
compiled C++, and in the evaluator of its texts for the assembler; all must match the row's formula.
Where several namespaces have the operator, they give the same program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from pypto import ir
from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.roles import kernels
from pypto._src.ir.stmts import Program
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.run.effects import effects
from pypto._src.run.native import NativeKernel
from tests import effort
from tests.examples.emitted import Emitted, sizes
from tests.language.levels import Subject, arguments, program, subjects, wanted
from tests.language.rows import ROWS, TENSOR, Array
from tests.natively import assert_close, batches, compile_together, compiler, words

SUBJECTS = {str(subject): subject for subject in effort.part(subjects(ROWS), 4)}
_CLOSE: Mapping[str, float] = {"FP32": 2e-6, "FP16": 4e-3, "BF16": 2e-2}


def bounds(subject: Subject) -> tuple[float, float]:
    """Return the tolerances of a result with respect to the formula: none for integers."""
    dtype = subject.row.result or subject.dtype
    close = subject.row.rtol or _CLOSE.get(dtype.member, 0.0)
    return close, close


@cache
def parsed(name: str) -> tuple[Program, list[Array]]:
    """Return the program of a subject, and arrays to call it with."""
    subject = SUBJECTS[name]
    given = arguments(subject)
    return program(subject, subject.namespaces[0], given), given


def run(evaluator: Evaluator, name: str, count: int | None = None) -> Array:
    """Return the last argument after a call of the program; with ``count`` arguments, its value."""
    given = [array.copy() for array in parsed(name)[1]]
    with np.errstate(all="ignore"):
        found = evaluator.run("main", given[:count])
    return given[-1] if count is None else np.asarray(found)


def check(name: str, found: Array) -> None:
    """Compare a result with the row's formula."""
    subject = SUBJECTS[name]
    assert_close(found, wanted(subject, parsed(name)[1]), bounds(subject))


class Compiled(Evaluator):
    """A lowered program whose kernels are compiled."""

    def __init__(self, lowered: Program, natives: Mapping[str, NativeKernel]) -> None:
        super().__init__(lowered)
        self._natives = natives
        self._effects = effects(lowered)
        self._kernels = {kernel.name: kernel for kernel in kernels(lowered)}

    def run(self, name: str, args: Sequence[Any], span: Span = UNKNOWN_SPAN) -> Any:
        """Call a function; a kernel works on dense copies."""
        native = self._natives.get(name)
        if native is None:
            return super().run(name, args, span)
        dense: list[Any] = [np.ascontiguousarray(a) if _is_array(a) else a for a in args]
        native(words([*dense, *sizes(self._kernels[name], dense)]))
        for arg, copy in zip(args, dense, strict=True):
            if _is_array(arg) and copy is not arg:
                arg[...] = copy
        results = [args[index] for [index] in self._effects[name].results]
        return results[0] if len(results) == 1 else tuple(results) or None


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


BATCHES = batches(dict.fromkeys(SUBJECTS, 3))


@cache
def compiled(batch: tuple[str, ...]) -> dict[str, Compiled]:
    """Return the programs of subjects whose kernels are compiled together."""
    passes = PassManager(OptimizationStrategy.Default)
    lowered = {name: passes.run_passes(parsed(name)[0]) for name in batch}
    parts = [(name, kernel) for name, each in lowered.items() for kernel in kernels(each)]
    natives = compile_together([kernel for _, kernel in parts], compiler())
    found: dict[str, dict[str, NativeKernel]] = {name: {} for name in batch}
    for (name, kernel), native in zip(parts, natives, strict=True):
        found[name][kernel.name] = native
    return {name: Compiled(lowered[name], found[name]) for name in batch}


@pytest.mark.parametrize("name", SUBJECTS)
def test_interpreter(name: str) -> None:
    """The interpreter computes the formula."""
    made = parsed(name)[0]
    check(name, run(Evaluator(made), name, -1 if SUBJECTS[name].level == TENSOR else None))


@pytest.mark.parametrize("name", SUBJECTS)
def test_assembler_text(name: str) -> None:
    """The text for the assembler is accepted, and computes the formula."""
    check(name, run(Emitted(parsed(name)[0]), name))


@pytest.mark.parametrize("name", SUBJECTS)
def test_compiled(name: str) -> None:
    """Compiled C++ computes the formula."""
    check(name, run(compiled(BATCHES[name])[name], name))


@pytest.mark.parametrize(
    "name",
    [name for name, s in SUBJECTS.items() if len(s.namespaces) > 1 and s.dtype is s.row.dtypes[0]],
)
def test_namespaces(name: str) -> None:
    """The level's operator is the same as that of ``pl``."""
    subject = SUBJECTS[name]
    made, given = parsed(name)
    ir.assert_structural_equal(program(subject, subject.namespaces[1], given), made)
