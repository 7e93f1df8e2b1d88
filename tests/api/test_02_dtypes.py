"""Section 2 of the API: every element type, every method, and the older spellings."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from pypto import DataType, ir


class Row(NamedTuple):
    """One line of the table: the number of bits, ``str``, code, C type and kind of a member."""

    member: str
    bits: int
    text: str
    code: int
    c_type: str
    kind: str  # which predicate is true: float, signed, unsigned, or none


ROWS = [
    Row("BOOL", 1, "bool", 0x00, "bool", ""),
    Row("INT4", 4, "int4", 0x10, "unknown", "signed"),
    Row("INT8", 8, "int8", 0x11, "int8_t", "signed"),
    Row("INT16", 16, "int16", 0x12, "int16_t", "signed"),
    Row("INT32", 32, "int32", 0x13, "int32_t", "signed"),
    Row("INT64", 64, "int64", 0x14, "int64_t", "signed"),
    Row("UINT4", 4, "uint4", 0x20, "unknown", "unsigned"),
    Row("UINT8", 8, "uint8", 0x21, "uint8_t", "unsigned"),
    Row("UINT16", 16, "uint16", 0x22, "uint16_t", "unsigned"),
    Row("UINT32", 32, "uint32", 0x23, "uint32_t", "unsigned"),
    Row("UINT64", 64, "uint64", 0x24, "uint64_t", "unsigned"),
    Row("FP4", 4, "fp4", 0x30, "unknown", "float"),
    Row("FP8E4M3FN", 8, "fp8e4m3fn", 0x31, "unknown", "float"),
    Row("FP8E5M2", 8, "fp8e5m2", 0x32, "unknown", "float"),
    Row("FP16", 16, "fp16", 0x33, "half", "float"),
    Row("FP32", 32, "fp32", 0x34, "float", "float"),
    Row("FP64", 64, "fp64", 0x35, "double", "float"),  # FLOAT64 of document 002
    Row("BF16", 16, "bfloat16", 0x40, "bfloat16_t", "float"),
    Row("HF4", 4, "hf4", 0x41, "unknown", "float"),
    Row("HF8", 8, "hf8", 0x42, "unknown", "float"),
]
ALIASES = [
    ("INDEX", "INT64"),
    ("DEFAULT_CONST_INT", "INT64"),
    ("DEFAULT_CONST_FLOAT", "FP32"),
    ("FLOAT16", "FP16"),
    ("FLOAT32", "FP32"),
    ("FLOAT64", "FP64"),
    ("FP8", "FP8E4M3FN"),
]


def member(name: str) -> DataType:
    return getattr(DataType, name)


@pytest.mark.parametrize("row", ROWS, ids=[row.member for row in ROWS])
def test_table(row: Row) -> None:
    """A member has the bits, text, code and C type of its row."""
    dtype = member(row.member)
    assert (dtype.get_bit(), dtype.to_string(), dtype.code(), dtype.to_c_type_string()) == (
        row.bits,
        row.text,
        row.code,
        row.c_type,
    )
    assert str(dtype) == repr(dtype) == row.text


@pytest.mark.parametrize("row", ROWS, ids=[row.member for row in ROWS])
def test_kinds(row: Row) -> None:
    """Each member is a float, a signed or an unsigned integer, or (BOOL) none of them."""
    dtype = member(row.member)
    answers = (
        dtype.is_float(),
        dtype.is_signed_int(),
        dtype.is_unsigned_int(),
        dtype.is_int(),
    )
    kind = row.kind
    assert answers == (kind == "float", kind == "signed", kind == "unsigned", "signed" in kind)


@pytest.mark.parametrize("row", ROWS, ids=[row.member for row in ROWS])
def test_printed_name(row: Row) -> None:
    """Types print the member in upper case; FP64, which ``pl`` lacks, with its class."""
    name = row.member if row.member != "FP64" else "DataType.FP64"
    assert str(ir.ScalarType(member(row.member))) == f"pl.Scalar[pl.{name}]"


@pytest.mark.parametrize("row", ROWS, ids=[row.member for row in ROWS])
def test_members_are_single_objects(row: Row) -> None:
    """Copies and unpickled members are the member itself."""
    dtype = member(row.member)
    copies = [copy.copy(dtype), copy.deepcopy(dtype), pickle.loads(pickle.dumps(dtype))]
    assert [other is dtype for other in copies] == [True, True, True]


@pytest.mark.parametrize(("alias", "name"), ALIASES)
def test_aliases(alias: str, name: str) -> None:
    """Aliases are the same member, which prints under its own name."""
    dtype = member(alias)
    assert (dtype is member(name), dtype == member(name)) == (True, True)
    assert str(ir.ScalarType(dtype)).endswith(f"{name}]")


def test_equality_and_hash() -> None:
    """Members equal only themselves, and can be dictionary keys; other types are never equal."""
    dtypes = [member(row.member) for row in ROWS]
    equal = [(a.member, b.member) for a in dtypes for b in dtypes if a == b]
    assert equal == [(row.member, row.member) for row in ROWS]
    assert len({dtype.code() for dtype in dtypes}) == len(set(dtypes)) == len(ROWS)
    table = {DataType.INT64: "n"}
    assert table[DataType.INDEX] == "n"
    assert hash(DataType.INDEX) == hash(DataType.INT64)
    # The native module raises TypeError here; in Python, unlike things are unequal.
    assert (DataType.FP32 == "fp32", DataType.FP32 != "fp32") == (False, True)


REFUSED: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    ("construct", lambda: DataType(), TypeError, "DataType has no constructor: use a member"),
    ("code", lambda: DataType(0x34), TypeError, ""),  # pyright: ignore[reportCallIssue]
    ("unknown", lambda: getattr(DataType, "FP128"), AttributeError, "FP128"),  # noqa: B009
    (
        "set",
        lambda: setattr(DataType, "FP32", DataType.FP16),
        AttributeError,
        "DataType.FP32 cannot be set: the element types are fixed",
    ),
    (
        "delete",
        lambda: delattr(DataType, "FP32"),
        AttributeError,
        "DataType.FP32 cannot be deleted: the element types are fixed",
    ),
    (
        "set field",
        lambda: setattr(DataType.FP32, "text", "float"),
        AttributeError,
        "DataType is immutable: cannot set 'text'",
    ),
]


@pytest.mark.parametrize(
    ("call", "kind", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refused(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    """Element types can be neither created nor modified."""
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)
    assert DataType.FP32.text == "fp32"


SPACES = [("UB", "Vec"), ("L1", "Mat"), ("L0A", "Left"), ("L0B", "Right"), ("L0C", "Acc")]


@pytest.mark.parametrize(("older", "name"), SPACES)
def test_older_names_of_memory_spaces(older: str, name: str) -> None:
    """Document 002 calls the memories by other names, which are aliases of the same members."""
    space = ir.MemorySpace[older]
    assert (space is ir.MemorySpace[name], str(space)) == (True, f"MemorySpace.{name}")


def test_constants_take_the_default_types() -> None:
    """A Python int is an INDEX constant, a float an FP32 one."""
    x = ir.Var("x", ir.ScalarType(DataType.INT64))
    y = ir.Var("y", ir.ScalarType(DataType.FP32))
    right: list[Any] = [ir.add(x, 1).right, ir.add(y, 1.0).right]
    assert [type(constant) for constant in right] == [ir.ConstInt, ir.ConstFloat]
    assert right[0].dtype is DataType.DEFAULT_CONST_INT
    assert right[1].dtype is DataType.DEFAULT_CONST_FLOAT
