"""What an instruction's time depends on: its name, element types, sizes and where it moves data."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TextIO

from pypto._src.errors import PyptoError

REPEAT_BYTES = 256
"""Bytes that one repeat of a vector instruction processes."""

COLUMNS = (
    "id",
    "arch",
    "instruction",
    "src_dtype",
    "dst_dtype",
    "rows",
    "cols",
    "valid_rows",
    "valid_cols",
    "src_layout",
    "dst_layout",
    "extra",
)
"""The columns of a CSV file of cases; others are ignored."""

_BITS = {"fp32": 32, "bf16": 16, "fp16": 16, "hif8": 8, "bool": 8, "index": 64}
_CLASSES = {"bf16": "fp16", "hif8": "fp8", "bool": "int"}
"""For a type without figures of its own, the type of the same size whose figures it uses."""


def bits_of(dtype: str) -> int:
    """Return the size of an element type in bits; 32 for an unknown type.

    >>> [bits_of(name) for name in ("fp16", "int8", "fp4e2m1", "fp8e5m2", "complex")]
    [16, 8, 4, 8, 32]
    """
    known = _BITS.get(dtype)
    if known is not None:
        return known
    digits = ""
    for letter in dtype.lstrip("abcdefghijklmnopqrstuvwxyz_"):
        if not letter.isdigit():
            break
        digits += letter
    return int(digits) if digits in ("4", "8", "16", "32", "64") else 32


def class_of(dtype: str) -> str:
    """Return the class of an element type: all types of a class have the same figures.

    >>> [class_of(name) for name in ("fp32", "bf16", "uint16", "fp8e4m3", "hif8", "fp4e1m2")]
    ['fp32', 'fp16', 'int', 'fp8', 'fp8', 'fp4']
    """
    known = _CLASSES.get(dtype)
    if known is not None:
        return known
    for prefix, name in (("int", "int"), ("uint", "int"), ("fp8", "fp8"), ("fp4", "fp4")):
        if dtype.startswith(prefix):
            return name
    return dtype


class Case:
    """One instruction with all that its time depends on; sizes are in elements."""

    def __init__(
        self,
        instruction: str,
        src_dtype: str,
        dst_dtype: str,
        shape: tuple[int, int],
        valid: tuple[int, int] | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        self.instruction = instruction
        self.src_dtype = src_dtype
        self.dst_dtype = dst_dtype
        self.rows, self.cols = shape
        self.valid_rows, self.valid_cols = shape if valid is None else valid
        self.extra: Mapping[str, str] = {} if extra is None else extra

    def number(self, key: str, default: int) -> int:
        """Return the number under ``key`` in ``extra``, ``default`` if there is none."""
        return _count(self.extra.get(key, ""), default)

    @cached_property
    def bits(self) -> int:
        """The element size of the wider operand, in bits."""
        return max(bits_of(self.src_dtype), bits_of(self.dst_dtype))

    @cached_property
    def repeat_elements(self) -> int:
        """How many elements one repeat processes."""
        return REPEAT_BYTES * 8 // self.bits

    @cached_property
    def row_repeats(self) -> int:
        """How many repeats the valid part of one row takes."""
        return ceil_div(self.valid_cols, self.repeat_elements)

    @cached_property
    def is_contiguous(self) -> bool:
        """True if the valid rows of all operands follow each other without a gap."""
        pitch = max(self.cols, self.number("dst_cols", self.cols))
        return pitch == self.valid_cols or self.valid_rows <= 1

    @cached_property
    def bytes(self) -> int:
        """How many bytes the instruction moves."""
        bursts = self.number("bursts", 0)
        if bursts:
            dmas = self.number("dmas", 1)
            return dmas * bursts * self.number("burst_bytes", 0)
        return self.valid_rows * self.valid_cols * bits_of(self.src_dtype) // 8

    @cached_property
    def qualifiers(self) -> tuple[str, ...]:
        """What may follow the instruction's name in a table, most specific first."""
        source, target = self.src_dtype, self.dst_dtype
        found = [self.extra[key] for key in ("variant", "path", "dst", "src") if key in self.extra]
        found += [key for key in ("inplace", "binary") if self.extra.get(key) == "true"]
        classes = class_of(source), class_of(target)
        if source != target:
            found += [f"{source}->{target}", "->".join(classes)]
        return (*found, source, classes[0])


def ceil_div(value: int, size: int) -> int:
    """Return how many parts of ``size`` cover ``value``."""
    return -(-value // size)


def read_cases(lines: TextIO, name: str) -> Iterator[tuple[Mapping[str, str], Case]]:
    """Yield each row of a CSV file of cases with the case in it.

    Raises:
        PyptoError: the file has no column ``instruction``.
    """
    rows = csv.DictReader(lines)
    missing = [c for c in ("id", "instruction") if c not in (rows.fieldnames or ())]
    if missing:
        raise PyptoError(
            f"{name} has no column {missing[0]!r}",
            hint=f"the first line names the columns: {','.join(COLUMNS)}",
            slug="cost-case",
        )
    for row in rows:
        yield row, case_of(row)


def case_of(row: Mapping[str, str | None]) -> Case:
    """Return the case that a row describes; sizes default to 1, valid sizes to the whole tile."""

    def text(key: str) -> str:
        return (row.get(key) or "").strip()

    extra = dict(_pairs(text("extra").split(";")))
    rows, cols = (max(_count(text(key), 1), 1) for key in ("rows", "cols"))
    valid = tuple(
        max(_count(text(key), size), 0)
        for key, size in (("valid_rows", rows), ("valid_cols", cols))
    )
    source = text("src_dtype") or text("dst_dtype") or "fp32"
    target = text("dst_dtype") or source
    instruction = text("instruction").upper()
    return Case(instruction, source, target, (rows, cols), (valid[0], valid[1]), extra)


def _pairs(parts: Iterable[str]) -> Iterator[tuple[str, str]]:
    for part in parts:
        key, equals, value = part.partition("=")
        if equals:
            yield key.strip(), value.strip()


def _count(text: str, default: int) -> int:
    """Return ``text`` as an integer, or ``default`` if it is not a number."""
    try:
        return int(float(text))
    except (ValueError, OverflowError):
        return default
