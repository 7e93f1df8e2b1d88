"""The error message for a transfer out of bounds that a compiled kernel reports.

Owns the layout of that report, which ``include/pto/detail/core/bounds.hpp`` fills in, and its text
and hint. Knows nothing of how it gets here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Final

from pypto._src.records import NamedTuple

MARK: Final = b"\x01"
"""First byte of a report; plain messages do not begin with it."""


class Report(ctypes.Structure):
    """``pto::detail::Told``: sizes and strides in elements, outermost of five dimensions first."""

    _fields_ = (
        ("mark", ctypes.c_char * 4),
        ("bytes", ctypes.c_int32),
        ("verb", ctypes.c_char_p),
        ("kernel", ctypes.c_char_p),
        ("tensor", ctypes.c_char_p),
        ("at", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("n", ctypes.c_int64 * 5),
        ("step", ctypes.c_int64 * 5),
        ("rank", ctypes.c_int64),
        ("shape", ctypes.c_int64 * 5),
        ("begin", ctypes.c_int64 * 5),
        ("count", ctypes.c_int64 * 5),
        ("limit", ctypes.c_int64 * 5),
    )


class Said(NamedTuple):
    """A kernel's report on one dimension: it accesses ``size`` of ``limit`` from ``begin`` on."""

    begin: int
    size: int
    limit: int


class Access(NamedTuple):
    """The tensor whose bounds a transfer exceeds, and whether it writes it."""

    tensor: str
    writes: bool


def access(report: Report) -> Access | None:
    """Return the access that a kernel reports, None if it does not know the tensor."""
    if report.tensor is None:
        return None
    return Access(report.tensor.decode(), b"write" in report.verb)


def rename(report: Report, kernel: str | None, names: Mapping[str, str]) -> None:
    """Give the kernel and the tensor of a report other names."""
    if report.kernel is not None and kernel is not None:
        report.kernel = kernel.encode()
    if report.tensor is not None:
        tensor = report.tensor.decode()
        report.tensor = names.get(tensor, tensor).encode()


def words(report: Report) -> tuple[str, str | None]:
    """Return the message and, where there is something to type, the hint."""
    kernel = "" if report.kernel is None else f"{report.kernel.decode()}: "
    verb = report.verb.decode()
    if not report.size:
        begin, size, limit = report.at, report.n[0], report.n[1]
        where = f"{begin}:{begin + size} of a dimension of {limit} elements"
        return f"{kernel}{verb} {where}", None
    if report.tensor is None:
        return f"{kernel}{verb} outside the tensors that the kernel was given", None
    shape = report.shape[: report.rank]
    whole = f"{report.tensor.decode()}, a tensor {shape}"
    begin, sizes = report.at // report.size, report.n[5 - report.rank :]
    said = {
        axis: Said(*each)
        for axis, each in enumerate(zip(report.begin, report.count, report.limit, strict=True))
        if each[2] >= 0
    }
    first = _coordinates(begin, shape, report.step[5 - report.rank :], said)
    if first is None:
        reach = sum((n - 1) * step for n, step in zip(report.n, report.step, strict=True)) + 1
        box = f"the elements {begin}:{begin + reach}"
        return f"{kernel}{verb} {box} of {whole}{_of_parts(said)}", None
    box = ", ".join(f"{b}:{b + n}" for b, n in zip(first, sizes, strict=True))
    text = f"{kernel}{verb} [{box}] of {whole}"
    parts = {axis: each for axis, each in said.items() if each.limit != shape[axis]}
    return text + _of_parts(parts), None if parts else _hint(first, sizes, shape)


def _of_parts(said: Mapping[int, Said]) -> str:
    """Return the text on where regions are in a part of a tensor that the kernel took."""
    return "".join(
        f", {begin}:{begin + size} of the {limit} elements that its part has in dimension {axis}"
        for axis, (begin, size, limit) in said.items()
    )


def _coordinates(
    element: int, shape: Sequence[int], strides: Sequence[int], said: Mapping[int, Said]
) -> list[int] | None:
    """Return an element's coordinates in a dense tensor, None if ``strides`` are not its strides.

    It is within each dimension except the outermost and those with a report in ``said``.
    """
    found: list[int] = []
    stride = 1
    for axis in range(len(shape) - 1, -1, -1):
        size = shape[axis]
        if size <= 0 or (size > 1 and strides[axis] != stride):
            return None
        stride *= size
        at = element if axis == 0 else element % size
        if axis in said:
            # A part begins inside the tensor, and the region at the reported distance from there.
            begin = said[axis].begin
            at = begin + (element - begin) % size
        element = (element - at) // size
        found.append(at)
    return found[::-1] or None


def _hint(first: Sequence[int], sizes: Sequence[int], shape: Sequence[int]) -> str | None:
    """Return how to move only what is in bounds, for a region that begins inside its tensor."""
    rows = list(zip(first, sizes, shape, strict=True))
    if not all(0 <= begin < size for begin, _, size in rows):
        return None
    parts = [
        f"pl.min({count}, {size} - offset)" if begin + count > size else str(count)
        for begin, count, size in rows
    ]
    return f"load only what is in bounds: valid_shapes=[{', '.join(parts)}]"
