"""How far results may differ from expected values: functions that make comparisons of an output.

A comparison takes the actual and the expected tensor, the rest of the run by keyword, and returns
whether they are close enough, with the reason if not. Knows tensors of NumPy and PyTorch; runs
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pypto._src.golden.specs import is_torch
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

Verdict = tuple[bool, str]
Comparison = Callable[..., Verdict]


def as_floats(value: Any) -> Array:
    """Return a tensor as an array of float64."""
    if is_torch(value):
        value = value.detach().cpu()
        value = (value.double() if value.is_floating_point() else value.long()).numpy()
    return np.asarray(value).astype(np.float64)


def close(actual: Any, expected: Any, rtol: float, atol: float) -> Verdict:
    """Compare all elements: none may be off by more than ``atol + rtol * abs(expected)``."""
    return ratio_allclose(max_error_ratio=0.0)(actual, expected, rtol=rtol, atol=atol)


def ratio_allclose(
    atol: float | None = None,
    rtol: float | None = None,
    max_error_ratio: float = 0.005,
    max_show: int = 10,
    valid_rows: int | None = None,
    valid_axis: int = 0,
    zero_tail: bool = False,
) -> Comparison:
    """Return a comparison in which a fraction of the elements may be beyond the bounds.

    Args:
        atol: The absolute bound; that of the run if None.
        rtol: The bound relative to the expected value; that of the run if None.
        max_error_ratio: The fraction of elements that may be beyond; all must be finite.
        max_show: How many elements a message shows.
        valid_rows: How many along ``valid_axis`` are compared; all if None.
        valid_axis: The axis.
        zero_tail: Whether the rows after them have to be zero.
    """

    def compare(actual: Any, expected: Any, **run: Any) -> Verdict:
        found, wanted, problem = _parts(actual, expected, valid_rows, valid_axis, zero_tail)
        if problem:
            return False, problem
        bound = (run["atol"] if atol is None else atol) + (
            run["rtol"] if rtol is None else rtol
        ) * np.abs(wanted)
        with np.errstate(invalid="ignore"):
            is_far = ~(np.abs(found - wanted) <= bound)
        allowed = round(max_error_ratio * found.size)
        not_finite = int((~np.isfinite(found) | ~np.isfinite(wanted)).sum())
        if not_finite:
            return False, f"{not_finite} of {found.size} elements are not finite"
        return _verdict(found, wanted, is_far, allowed, max_show)

    return compare


def ratio_reldiff(
    diff_thd: float = 0.01,
    pct_thd: float = 0.05,
    max_diff_hd: float = float("inf"),
    max_show: int = 10,
    valid_rows: int | None = None,
    valid_axis: int = 0,
    zero_tail: bool = False,
) -> Comparison:
    """Return a comparison by relative differences.

    A fraction ``pct_thd`` of the elements may differ by more than ``diff_thd``, none by more than
    ``max_diff_hd``. The other arguments are those of `ratio_allclose`.
    """

    def compare(actual: Any, expected: Any, **_: Any) -> Verdict:
        found, wanted, problem = _parts(actual, expected, valid_rows, valid_axis, zero_tail)
        if problem:
            return False, problem
        apart = np.abs(found - wanted)
        size = np.maximum(np.maximum(np.abs(found), np.abs(wanted)), 2.0**-14 / diff_thd) + 1e-9
        relative = np.where(apart < diff_thd, apart, apart / size)
        is_far = ~(relative <= diff_thd)
        if relative.size and not float(relative.max()) <= max_diff_hd:
            return False, f"the largest relative difference is {float(relative.max()):.3g}"
        return _verdict(found, wanted, is_far, round(pct_thd * found.size), max_show)

    return compare


def topk_pair_compare(
    vals_name: str, *, dim: int = -1, descending: bool = True, max_show: int = 10
) -> Comparison:
    """Return a comparison of indices by the values that they select.

    ``vals_name`` is the output with the values of these indices, or the input that they index:
    equal values may come in any order, and ties for the last places may be resolved either way.
    """

    def compare(actual: Any, expected: Any, **run: Any) -> Verdict:
        found = np.moveaxis(as_floats(actual).astype(np.int64), dim, -1)
        wanted = np.moveaxis(as_floats(expected).astype(np.int64), dim, -1)
        if found.shape != wanted.shape:
            return False, f"the shape is {list(found.shape)}, {list(wanted.shape)} was expected"
        if vals_name not in run["expected_outputs"]:
            source = np.moveaxis(as_floats(run["inputs"][vals_name]), dim, -1)
            if found.size and not (found.min() >= 0 and found.max() < source.shape[-1]):
                return False, f"an index is outside {vals_name}"
            picked = np.sort(np.take_along_axis(source, found, -1), -1)
            meant = np.sort(np.take_along_axis(source, wanted, -1), -1)
            return close(picked, meant, run["rtol"], run["atol"])
        values = np.moveaxis(as_floats(run["expected_outputs"][vals_name]), dim, -1)
        last = values.min(-1, keepdims=True) if descending else values.max(-1, keepdims=True)
        rows = zip(*(each.reshape(-1, found.shape[-1]) for each in (found, wanted, values)),
                   last.reshape(-1), strict=True)  # fmt: skip
        wrong: list[str] = []
        for row, (a, e, v, end) in enumerate(rows):
            for value in np.unique(v):
                at = v == value
                if value != end and set(a[at].tolist()) != set(e[at].tolist()):
                    wrong.append(f"row {row}: {a[at].tolist()}, expected {e[at].tolist()}")
        return not wrong, "; ".join(wrong[:max_show])

    return compare


def mapped_pool_ratio_allclose(
    mapping_name: str,
    *,
    mapping_shape: Sequence[int],
    block_size: int,
    leading_rank_axis: bool = False,
    pool_name: str = "pool",
    atol: float,
    rtol: float,
    max_error_ratio: float = 0.005,
) -> Comparison:
    """Return a comparison of the blocks of a pool that an input, the mapping, refers to.

    A pool has one row per slot, block after block, or blocks and slots as two axes.
    """

    def compare(actual: Any, expected: Any, *, inputs: Mapping[str, Any], **run: Any) -> Verdict:
        found, wanted = as_floats(actual), as_floats(expected)
        blocks = as_floats(inputs[mapping_name]).astype(np.int64).reshape(mapping_shape)
        pools = zip(found, wanted, blocks, strict=True) if leading_rank_axis else (
            [(found, wanted, blocks)])  # fmt: skip
        kept: list[tuple[Array, Array]] = []
        for got, meant, named in pools:
            used = np.unique(named[named >= 0])
            is_by_block = got.ndim > 2 and got.shape[1] == block_size  # else row by row
            shape = got.shape if is_by_block else (-1, block_size, *got.shape[1:])
            kept.append((got.reshape(shape)[used].ravel(), meant.reshape(shape)[used].ravel()))
        compared = ratio_allclose(atol, rtol, max_error_ratio)
        verdict, why = compared(*(np.concatenate(side) for side in zip(*kept, strict=True)), **run)
        return verdict, f"{pool_name}: {why}" if why else why

    return compare


def error_distribution(quantiles: Sequence[float] = (0.5, 0.9, 0.99, 1.0)) -> Comparison:
    """Return a comparison that prints how errors are distributed, and passes."""

    def compare(actual: Any, expected: Any, **_: Any) -> Verdict:
        apart = np.abs(as_floats(actual) - as_floats(expected)).ravel()
        found: list[float] = np.quantile(apart, quantiles).tolist() if apart.size else []
        rows = [f"{100 * q:g} %: {v:.3g}" for q, v in zip(quantiles, found, strict=False)]
        print(f"[RUN] errors: {', '.join(rows)}")
        return True, ""

    return compare


def _parts(
    actual: Any, expected: Any, rows: int | None, axis: int, zero_tail: bool
) -> tuple[Array, Array, str]:
    """Return the elements to compare, and the problem with the others."""
    found, wanted = as_floats(actual), as_floats(expected)
    if found.shape != wanted.shape:
        text = f"the shape is {list(found.shape)}, {list(wanted.shape)} was expected"
        return found, wanted, text
    if rows is None:
        return found, wanted, ""
    found, wanted = np.moveaxis(found, axis, 0), np.moveaxis(wanted, axis, 0)
    tail = int(np.count_nonzero(found[rows:])) if zero_tail else 0
    problem = f"{tail} elements after the first {rows} are not zero" if tail else ""
    return found[:rows], wanted[:rows], problem


def _verdict(found: Array, wanted: Array, is_far: Array, allowed: int, shown: int) -> Verdict:
    count = int(is_far.sum())
    if count <= allowed:
        return True, ""
    places = np.argwhere(is_far)[:shown]
    rows = [f"{list(map(int, at))}: {found[tuple(at)]:.6g}, expected {wanted[tuple(at)]:.6g}"
            for at in places]  # fmt: skip
    return False, f"{count} of {found.size} elements differ, {allowed} may: {'; '.join(rows)}"
