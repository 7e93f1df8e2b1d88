"""Hints for mistakes that share a message with another file of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pypto.language as pl
from pypto import DataType, ir
from pypto._src.errors import CallError, OpError
from tests.errors.test_errors import failure, read

KERNEL = """\
import pypto.language as pl


@pl.function(type=pl.FunctionType.InCore)
def kernel(
    x: pl.Tensor[[64, 64], pl.{dtype}],
    n: pl.Scalar[pl.INT64],
    out: pl.Out[pl.Tensor[[64, 64], pl.{dtype}]],
):
    t = pl.load(x, [0, 0], [64, 64])
    {line}
    out = pl.store(t, [0, 0], [64, 64], out)
"""


def hint(line: str, dtype: str) -> str | None:
    """Return the hint for a line's mistake; the code that the hint suggests has none."""
    error = failure(KERNEL.format(dtype=dtype, line=line))[0]
    assert error.location.begin_line == 11
    return error.hint


STORE = "write pl.store(t, [0, 0], [64, 64], out)"


@pytest.mark.parametrize(
    "line",
    [
        "pl.store(t, [0, 0])",
        "pl.store(t, out, [0, 0])",
        "pl.store(out, [0, 0], t)",
        "pl.store(out, t)",
        "pl.store(t)",
    ],
)
def test_stores(line: str) -> None:
    """For a store that lacks arguments, in any order, the hint has the whole call."""
    short = "write pl.store(t, [0, 0], out)"  # where only the tensor is missing
    assert hint(line, "FP32") == (short if line == "pl.store(t, [0, 0])" else STORE)


def test_load_of_a_part() -> None:
    """A region of a tensor is already a tile: it needs no load."""
    assert hint("t = pl.load(x[0:64, 0:64])", "FP32") == "write x[0:64, 0:64]"


def test_part_between_blocks() -> None:
    """What begins inside a block of a tile is loaded from the tile's tensor instead."""
    wanted = "load the part from its tensor, or store it from there on"
    assert hint("t = pl.view(t, [1, 8], [0, 3])", "FP32") == wanted


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("m = pl.add(n, 3)", "write n + 3"),
        ("m = pl.mul(n - 1, 2)", "write (n - 1) * 2"),
        ("m = pl.minimum(4, n)", "write pl.min(4, n)"),
        ("m = pl.rem(n, 4)", "write n % 4"),
        ("m = pl.shl(n, 4)", "write n << 4"),
    ],
)
def test_ops_of_numbers(line: str, wanted: str) -> None:
    """For a tile op on two scalars, the hint is the operator."""
    assert hint(line, "FP32") == wanted


@pytest.mark.parametrize(
    ("line", "dtype", "wanted"),
    [
        ("t = pl.mul(t, -40000)", "INT16", "write pl.mul(t, -32768)"),
        ("t -= 40000", "INT16", "write t -= 32767"),
        ("t = t | 0x8000", "INT16", "write t | -32768"),
        ("t = t ^ 0x18000", "INT16", "write t ^ 32767"),
        ("t = t & 0x80000000", "INT32", "write t & -2147483648"),
        ("t = t & 0xFFFFFFFFF", "INT32", "write t & 2147483647"),
        ("t = t & -1", "UINT8", "write t & 255"),
        ("t = pl.and_(t, -256)", "UINT16", "write pl.and_(t, 65280)"),
        ("t = t | 300", "UINT8", "write t | 255"),
        ("t = t | -300", "UINT8", "write t | 0"),
        ("t = pl.full([64, 64], dtype=pl.INT16, value=40000)", "INT16",
         "write pl.full([64, 64], dtype=pl.INT16, value=32767)"),
        ("t = t * 65520", "FP16", "write t * 65504.0"),
        ("t = t + 10**400", "FP32", "write t + 3.4028234663852886e+38"),
        ("m = pl.cast(n, pl.FP32) * 1e39", "FP32", "write 3.4028234663852886e+38"),
        ("m = 10**400 if n > 1 else pl.cast(n, pl.FP32)", "FP32", "write 3.4028234663852886e+38"),
        ("m = -1e39 if n > 1 else pl.cast(n, pl.FP32)", "FP32", "write -3.4028234663852886e+38"),
        ("m = 10**40 if n > 1 else n", "FP32", "write 9223372036854775807"),
        ("m = pl.const(70000, pl.FP16)", "FP16", "write pl.const(70000.0, pl.FP32)"),
        ("m = pl.const(10**400, pl.FP16)", "FP16", None),
    ],
)  # fmt: skip
def test_numbers_beyond(line: str, dtype: str, wanted: str | None) -> None:
    """A number out of its type's range becomes the nearest, a mask the one with its bits."""
    error = failure(KERNEL.format(dtype=dtype, line=line))[0]
    assert (error.slug, error.hint) == ("constant-range", wanted)


@pytest.mark.parametrize(
    ("line", "dtype"),
    [
        ("t = pl.maximum(t, 32767)", "INT16"),
        ("t = pl.add(t, -32768)", "INT16"),
        ("t = pl.mul(t, 65519)", "FP16"),
        ("t = pl.add(t, 3.4028235e38)", "FP32"),
        ('t = pl.maximum(t, float("-inf"))', "FP16"),
    ],
)
def test_numbers_within(line: str, dtype: str) -> None:
    """The largest numbers, what is rounded to them, and infinity itself are no mistakes."""
    with pytest.raises(pytest.fail.Exception, match="the kernel has no mistake"):
        failure(KERNEL.format(dtype=dtype, line=line))


def test_directions_are_not_called() -> None:
    """Where Python evaluates the annotation, the call's error says how to write it."""
    with pytest.raises(CallError) as caught:
        pl.Out(pl.Tensor[[64, 64], pl.FP32])  # pyright: ignore[reportCallIssue]
    assert caught.value.message == "pl.Out goes around a type, and is not called"
    assert caught.value.hint == "write pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
    with pytest.raises(CallError) as caught:
        pl.InOut()  # pyright: ignore[reportCallIssue]
    assert caught.value.hint == "write pl.InOut[pl.Tensor[...]]"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("pl.block", "the module 'pypto.language.block'"),
        ("pl.exp", "the op 'exp'"),
        ("pl.range", "the function 'range'"),
        ("pl.MemorySpace.Vec", "MemorySpace.Vec"),
        ("[pl.range]", "a list"),
        ("pl.MemorySpace", "MemorySpace"),
    ],
)
def test_objects_of_python(value: str, words: str) -> None:
    """An object in place of a tile is described, without addresses."""
    error = failure(KERNEL.format(dtype="FP32", line=f"t = pl.block.exp({value})"))[0]
    assert error.message == f"argument 'tile' of pl.block.exp is {words}, a Tile was wanted"


def test_members_of_enumerations() -> None:
    """A member without its enumeration is found there, before ops with similar spelling."""
    line = "t = pl.load(x, [0, 0], [64, 64], target_memory=pl.Mat)"
    assert hint(line, "FP32") == "did you mean pl.MemorySpace.Mat?"
    assert hint("pl.system.bar_all(pl.MTE2)", "FP32") == "did you mean pl.PipeType.MTE2?"


def test_numbers_of_numpy() -> None:
    """A NumPy number must first be converted to a Python one, which is then an operand."""
    kernel = KERNEL.format(dtype="FP32", line="t = pl.mul(t, np.float32(2.0))")
    code = f"import numpy as np\n{kernel}"
    assert failure(code)[0].hint == "write float(np.float32(2.0))"
    with pytest.raises(pytest.fail.Exception, match="the kernel has no mistake"):
        failure(code.replace("np.float32(2.0)", "float(np.float32(2.0))"))


@pytest.mark.parametrize(
    ("dtype", "number", "wanted"),
    [("INT8", "300", "127"), ("UINT8", "-1", "0"), ("FP16", "1e6", "65504.0")],
)
def test_arguments_beyond(dtype: str, number: str, wanted: str) -> None:
    """A number out of a parameter's range is rejected where the kernel is called."""
    code = f"""\
import pypto.language as pl


@pl.program
class P:
    @pl.function
    def half(self, n: pl.{dtype}) -> pl.{dtype}:
        return n

    @pl.function
    def main(self, x: pl.INT64) -> pl.{dtype}:
        return self.half({number})
"""
    error = failure(code)[0]
    assert error.message.startswith(f"parameter 'n' of half: {dtype} has no value ")
    assert (error.slug, error.hint) == ("constant-range", f"write {wanted}")
    assert (error.location.begin_line, error.location.begin_column) == (12, 25)


def test_numbers_outside_of_kernels() -> None:
    """Code that builds IR gets the same error for such a number; with a scalar it widens."""
    nowhere = ir.Span.unknown()
    tile = ir.Var("t", ir.TileType([16, 16], DataType.INT16), nowhere)
    with pytest.raises(OpError, match="INT16 has no value 40000: it has -32768 to 32767"):
        ir.op.block.adds(tile, 40000)
    half = ir.Var("h", ir.ScalarType(DataType.FP16), nowhere)
    found: list[Any] = [pl.min(half, number) for number in (2.0, 1e6)]
    assert [each.dtype for each in found] == [DataType.FP16, DataType.FP32]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("t = x[:] ** 2", "write x[:] * x[:]"),
        ("t = t**0.5", "write pl.sqrt(t)"),
        ("t = (t + 1) ** -0.5", "write pl.rsqrt(t + 1)"),
        ("t = t**-1", "write pl.recip(t)"),
        ("t = t**3", "write t * t * t"),
        ("t = t**4", None),
    ],
)
def test_powers(line: str, wanted: str | None) -> None:
    """For a power of a tile, the hint is the op that computes it, if there is one."""
    assert hint(line, "FP32") == wanted


def test_powers_of_integers() -> None:
    """For types without sqrt, the hint does not suggest it."""
    assert hint("t = t**0.5", "INT32") is None


def test_arguments_moved_on() -> None:
    """If all arguments are in a wrong order, the hint has the right order."""
    assert hint("t = pl.full(0.0, [64, 64], pl.FP32)", "FP32") == (
        "write pl.full([64, 64], pl.FP32, 0.0)"
    )


BATCHES = """\
import pypto.language as pl


@pl.function(type=pl.FunctionType.InCore)
def kernel(
    x: pl.Tensor[[4, 64, 48], pl.FP32],
    n: pl.Scalar[pl.INT64],
    out: pl.Out[pl.Tensor[[4, 64, 48], pl.FP32]],
):
    t = pl.load(x, [0, 0, 0], [1, 64, 48])
    {line}
    out = pl.store(t, [0, 0, 0], [1, 64, 48], out)
"""


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("t = pl.load(x, [n, 0, 0], [64, 48])", "write pl.load(x, [n, 0, 0], [1, 64, 48])"),
        (
            "t = pl.load(x, [n, 0, 0], [2, 64, 48], valid_shapes=[1, n, 48])",
            "declare the tensor with two dimensions, and load [64, 48] of it",
        ),
        (
            "m = pl.matmul(t, t)",
            "declare the tensor with two dimensions, and load [64, 48] of it",
        ),
    ],
)
def test_matrices_of_a_batch(line: str, wanted: str) -> None:
    """Whole rows without leading dimensions are those of one matrix."""
    error = failure(BATCHES.format(line=line))[0]
    assert (error.location.begin_line, error.hint) == (11, wanted)


def test_a_return_in_a_loop_that_may_have_no_turn() -> None:
    """The path around the loop returns what the loop would."""
    code = """\
import pypto.language as pl


@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        for i in pl.range(4):
            out = pl.store(x[i * 16 : i * 16 + 16], [i * 16, 0], [16, 64], out)
            if i > 2:
                return out
"""
    assert failure(code, "compile")[0].hint == "write return out at the end"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("t = pl.sel(t > 0 and t < 1, t, t * 2)", "write (t > 0) * (t < 1)"),
        ("t = pl.sel(t > 1 or t < 0, t, t * 2)", "write max(t > 1, t < 0)"),
        ("t = pl.sel(t > 1 or n < 0, t, t * 2)", None),
        ("t = pl.sel(t or t > 1, t, t * 2)", "write max(t != 0, t > 1)"),
    ],
)
def test_conditions_by_element(line: str, wanted: str | None) -> None:
    """Masks are 1 or 0, so `and` is a product and `or` a maximum."""
    assert hint(line, "FP32") == wanted
    if wanted is not None:
        masks = wanted.removeprefix("write ")
        line = f"t = pl.sel({masks}, t, t * 2)"
        assert isinstance(pl.parse(KERNEL.format(dtype="FP32", line=line)), ir.Function)


CARRIED = """\
import pypto.language as pl


@pl.function(type=pl.FunctionType.InCore)
def kernel(x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    a = x[0:16]
    for i, ({names},) in pl.range(3, init_values=({inits},)):
        {line}
    out[:] = t
"""


@pytest.mark.parametrize(
    ("names", "inits", "line", "wanted"),
    [
        ("t", "a", "t, u = pl.yield_(t * 2, t)", "write t = pl.yield_(t * 2)"),
        ("t, u", "a, a", "t = pl.yield_(t * 2)", "write t, u = pl.yield_(t * 2, u)"),
    ],
)
def test_yields_of_another_number(names: str, inits: str, line: str, wanted: str) -> None:
    """The hint yields as many values as the loop carries, missing ones unchanged."""
    error = failure(CARRIED.format(names=names, inits=inits, line=line))[0]
    assert (error.location.begin_line, error.hint) == (8, wanted)


def test_call_without_self_in_text() -> None:
    """A function of the program called without self has the same hint in text and class."""
    code = read(Path(__file__).with_name("call-without-self.md")).code
    in_class, in_text = (
        failure(code)[0],
        failure(f"import pypto.language as pl\npl.parse({code!r})")[0],
    )
    assert (in_text.message, in_text.hint) == (in_class.message, in_class.hint)
    assert in_text.slug == in_class.slug == "python-call"


@pytest.mark.parametrize(
    ("dtype", "first"),
    [
        ("BF16", "pl.create_tile([64, 64], pl.BF16)"),
        ("INT8", "pl.create_tile([64, 64], pl.INT8)"),
        ("INT32", "pl.full([64, 64], pl.INT32, 0)"),
    ],
)
def test_what_is_none_first_begins_with_what_its_element_type_allows(
    dtype: str, first: str
) -> None:
    """`pl.full` does not fill tiles of all types; the code that the hint suggests is valid."""
    lines = "r = None\n    for _ in pl.range(4):\n        r = t\n    t = r"
    error = failure(KERNEL.format(dtype=dtype, line=lines))[0]
    assert error.hint == f"begin with r = {first}"
    mended = lines.replace("None", first)
    assert isinstance(pl.parse(KERNEL.format(dtype=dtype, line=mended)), ir.Function)
