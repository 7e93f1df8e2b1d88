"""Keywords with values of the wrong kind are rejected where they are given, not ignored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pypto.language as pl
from pypto import ir, passes, runtime
from pypto._src.errors import CallError
from pypto.codegen import CppOptions

TEXT = """
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def kernel(x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    out = pl.store(pl.load(x, [0, 0], [64, 64]), [0, 0], [64, 64], out)
"""


def program() -> ir.Program:
    function = pl.parse(TEXT)
    assert isinstance(function, ir.Function)
    return ir.Program([function], "P")


Given = Callable[[Any, Any], object]
REFUSED: list[tuple[Given, str, str]] = [
    (
        lambda p, w: runtime.compile(p, "interpreter", strict=True, seed=w("x")),
        "seed is 'x', an int was wanted",
        "seed=0",
    ),
    (
        lambda p, w: runtime.compile(p, "interpreter", seed=w(True)),
        "seed is True, an int was wanted",
        "seed=0",
    ),
    (
        lambda p, w: runtime.compile(p, "interpreter", entry=w(3)),
        "entry is 3, a str was wanted",
        'entry="kernel"',
    ),
    (
        lambda p, w: pl.jit(strategy=w("PTOAS")),
        "strategy is 'PTOAS', an OptimizationStrategy was wanted",
        "strategy=OptimizationStrategy.Default",
    ),
    (
        lambda p, w: pl.jit(type=w("InCore")),
        "type is 'InCore', a FunctionType was wanted",
        "write type=pl.FunctionType.InCore",
    ),
    (
        lambda p, w: pl.program(strict_ssa=w(1)),
        "strict_ssa is 1, a bool was wanted",
        "write strict_ssa=True",
    ),
    (
        lambda p, w: ir.compile(p, dump_passes=w("no")),
        "dump_passes is 'no', a bool was wanted",
        "dump_passes=False",
    ),
    (
        lambda p, w: ir.compile(p, skip_ptoas=w("no")),
        "skip_ptoas is 'no', a bool was wanted",
        "skip_ptoas=True",
    ),
    (
        lambda p, w: CppOptions(fold_constants=w("no")),
        "fold_constants is 'no', a bool was wanted",
        "CppOptions(fold_constants=True)",
    ),
    (
        lambda p, w: CppOptions(profile=w(1)),
        "profile is 1, a bool was wanted",
        "CppOptions(profile=True)",
    ),
    (
        lambda p, w: passes.insert_sync(by_source=w("no")),
        "by_source is 'no', a bool was wanted",
        "by_source=True",
    ),
    (
        lambda p, w: passes.unroll_loops(whole=w("4")),
        "whole is '4', an int was wanted",
        "whole=4",
    ),
    (
        lambda p, w: passes.unroll_loops(factor=w(True)),
        "factor is True, an int was wanted",
        "factor=4",
    ),
    (
        lambda p, w: ir.python_print(p, prefix=w(3)),
        "prefix is 3, a str was wanted",
        'prefix="pl"',
    ),
    (
        lambda p, w: p.as_python(w(None)),
        "prefix is None, a str was wanted",
        'prefix="pl"',
    ),
]


def as_any(value: object) -> Any:
    """Return a value as Any, for type checkers."""
    return value


@pytest.mark.parametrize(("give", "message", "hint"), REFUSED)
def test_refused(give: Given, message: str, hint: str) -> None:
    """The error names the keyword, shows the line that gives it, and what to write."""
    with pytest.raises(CallError) as caught:
        give(program(), as_any)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert caught.value.slug == "argument-kind"
    assert caught.value.location.filename == __file__


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (
            lambda: passes.PassContext([], as_any("BASIC")),
            "verification_level is 'BASIC'; it is one of VerificationLevel.NONE, "
            "VerificationLevel.BASIC",
        ),
        (lambda: passes.VerificationInstrument(as_any(1)), "mode is 1; it is one of Verification"),
        (
            lambda: passes.run_verifier("TypeCheck"),
            r"the rules to leave out are a list: \['TypeCheck'\]",
        ),
    ],
)
def test_refused_by_passes(give: Callable[[], object], message: str) -> None:
    """Objects of the pass manager list the possible values."""
    with pytest.raises(ValueError, match=message):
        give()
