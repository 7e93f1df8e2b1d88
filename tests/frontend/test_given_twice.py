"""Repeated names in texts: Python rejects them only when compiling, which texts are not."""

from __future__ import annotations

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.errors import ParserSyntaxError

TEXT = """\
# pypto.program: Kernel
import pypto.language as pl

@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.InCore)
    def f(self, x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        t: pl.Tile[[64, 64], pl.FP32] = pl.block.full([64, 64], dtype=pl.FP32, value=1.0)
        out: pl.Tensor[[64, 64], pl.FP32] = pl.block.store(t, [0, 0], [64, 64], out)
"""


@pytest.mark.parametrize(
    ("old", "new", "printed", "source"),
    [
        ("dtype=pl.FP32", "dtype=pl.FP32, dtype=pl.FP32",
         "block.full is given dtype twice", "the argument 'dtype' is given twice"),
        ("value=1.0", "value=1.0, value=2.0",
         "block.full is given value twice", "the argument 'value' is given twice"),
    ],
)  # fmt: skip
def test_in_printed_text(old: str, new: str, printed: str, source: str) -> None:
    """In IR text, edited or not, the second occurrence is rejected."""
    text = TEXT.replace(old, new)
    assert ir.parse(TEXT) is not None
    with pytest.raises(ParserSyntaxError) as caught:
        ir.parse(text)
    assert caught.value.message == f"this is not IR text: {printed}"
    with pytest.raises(ParserSyntaxError) as caught:
        pl.parse(text)
    assert caught.value.message == source


def test_one_parameter_twice() -> None:
    """In IR one variable may occur twice among the parameters; in kernels it may not."""
    text = TEXT.replace("self, x: pl.Tensor[[64, 64], pl.FP32]", "self, x: pl.INT64, x: pl.INT64")
    read = ir.parse(text.replace("pl.INT64", "pl.Scalar[pl.INT64]"))
    assert isinstance(read, ir.Program)
    (function,) = read.functions_
    assert function.params[0] is function.params[1]
    assert str(read) == str(ir.parse(str(read)))
    with pytest.raises(ParserSyntaxError) as caught:
        pl.parse(text.replace("pl.block.", "pl."))
    assert caught.value.message == "two parameters are called 'x'"


def test_of_a_decorator() -> None:
    """IR text rejects it, and so do other texts. In executed code, Python reports it itself."""
    text = TEXT.replace("InCore)", "InCore, type=pl.FunctionType.InCore)")
    with pytest.raises(ParserSyntaxError, match=r"pl\.function is given an argument twice"):
        ir.parse(text)
    with pytest.raises(ParserSyntaxError, match="the argument 'type' is given twice"):
        pl.parse(text)
    with pytest.raises(SyntaxError, match="keyword argument repeated: type"):
        pl.parse(text, trusted=True)


def test_on_a_line_of_its_own() -> None:
    """A call that would be kept as text is rejected at the second argument, too."""
    text = """\
@pl.function(type=pl.FunctionType.InCore)
def f(x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    t = pl.full([64, 64], dtype=pl.FP32, value=1.0)
    t = pl.full([64, 64], dtype=pl.FP32, value=1.0, dtype=pl.FP16)
    out = pl.store(t, [0, 0], [64, 64], out)
"""
    with pytest.raises(ParserSyntaxError) as caught:
        pl.parse(text)
    assert (caught.value.location.begin_line, caught.value.location.begin_column) == (4, 52)
