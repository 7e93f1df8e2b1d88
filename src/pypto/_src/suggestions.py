"""What a misspelt or foreign name probably means: the nearest of the existing names.

Knows the names of NumPy, PyTorch and similar libraries; knows nothing of the IR.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any, Final, NoReturn

from pypto._src.diagnostics import Span, span_of_frame, spelled_like, text_at
from pypto._src.errors import KeywordError, UnknownNameError

_ELSEWHERE: Final = {
    "absolute": "abs",
    "amax": "row_max",
    "astype": "cast",
    "cat": "concat",
    "divide": "div",
    "dot": "matmul",
    "fill": "full",
    "gt": "cmp",
    "kernel": "jit",
    "mm": "matmul",
    "num_programs": "get_block_num",
    "multiply": "mul",
    "negative": "neg",
    "pad": "fillpad",
    "power": "pow",
    "program_id": "get_block_idx",
    "reciprocal": "recip",
    "remainder": "rem",
    "subtract": "sub",
    "sum": "row_sum",
    "to": "cast",
    "true_divide": "div",
    "where": "sel",
    "zeros": "full",
}
"""Names in NumPy and similar libraries. An entry counts if the name on its right is known."""

_KEYWORDS: Final = {
    "dtype": "target_type",
    "dim": "axis",
    "axis": "dim",
    "fill_value": "value",
    "transpose_a": "a_trans",
    "transpose_b": "b_trans",
}
"""Names of keywords elsewhere. An entry counts if the one on its right is known."""

_DTYPES: Final = {
    "int": "int64",
    "long": "int64",
    "float": "fp32",
    "half": "fp16",
    "double": "fp64",
    "bool_": "bool",
}
"""Names of element types that are not formed like ours."""


def op_elsewhere(name: str) -> str | None:
    """Return the op that NumPy and similar libraries call ``name``."""
    return _ELSEWHERE.get(name.lower())


def dtype_word(text: str) -> str:
    """Return the name that an element type called ``text`` elsewhere would have here: ``BF16``."""
    word = text.rpartition(".")[2].lower()
    word = _DTYPES.get(word) or word.replace("float", "fp").replace("bfp", "bf")
    return word.upper()


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return the known name that ``name`` most likely means.

    That is the element type of that name elsewhere; one spelled alike, ignoring case; a prefix of
    it (``Vec`` for ``Vector``), or the only one whose first word it is; or the one that other
    libraries call ``name``.
    """
    spelled = {text.lower(): text for text in sorted(set(known), reverse=True)}
    low = name.lower()
    alias = op_elsewhere(low)
    if alias is not None and alias in spelled and low not in spelled:
        return spelled[alias]
    dtype = dtype_word(name).lower()
    if dtype == "fp64" and dtype not in spelled:
        dtype = "fp32"  # the widest one that cores compute in
    if dtype != low and spelled.get(dtype) == dtype.upper():
        return spelled[dtype]
    found = spelled_like(low, spelled, cutoff=0.66)
    if found is not None and name.islower() and _is_class(spelled[found]):
        found = spelled_like(low, [found], cutoff=0.8)  # a misspelt class is rarely in lower case
    if found is not None and not _is_number_lost(name, spelled[found]):
        same = [text for text in known if text.lower() == found and text[:1] == name[:1]]
        return same[0] if same else spelled[found]
    begins = [text for text in spelled if len(text) >= 3 and low.startswith(text)]
    if begins:
        return spelled[max(begins, key=len)]
    longer = [text for text in spelled if text.startswith(f"{low}_")]
    return spelled[longer[0]] if len(longer) == 1 else None


def _is_class(name: str) -> bool:
    return not name.islower() and not name.isupper()


def _is_number_lost(name: str, known: str) -> bool:
    """True if ``known`` is an element type with a number, such as INT8, and ``name`` has none."""
    return known.isupper() and any(map(str.isdigit, known)) and name.isalpha()


def did_you_mean(name: str, known: Iterable[str], prefix: str = "") -> str | None:
    """Return a hint with the nearest known name, None if there is none."""
    found = nearest(name, [*known])
    return None if found is None else f"did you mean {prefix}{found}?"


def nearest_keyword(name: str, known: Collection[str]) -> str | None:
    """Return the keyword that has ``name`` as a word, else the nearest, None if there is none."""
    longer = next((text for text in known if name in text.split("_")), None)
    elsewhere = _KEYWORDS.get(name)
    return longer or (elsewhere if elsewhere in known else nearest(name, known))


def keyword_hint(name: str, known: Collection[str]) -> str | None:
    """Return a hint with the nearest keyword, None if there is none."""
    found = nearest_keyword(name, known)
    return None if found is None else f"did you mean {found}=?"


def raise_unknown_name(owner: str, name: str, known: Iterable[str], frame: FrameType) -> NoReturn:
    """Raise the error for ``owner.name``, read in ``frame``, where ``owner`` has other names.

    Lookups by Python and the compiler itself get a plain error, which is faster.

    Raises:
        AttributeError: always; as `UnknownNameError` with span and hint for a user's code.
    """
    asker = str(frame.f_globals.get("__name__", ""))
    if name.startswith("_") or asker.partition(".")[0] in _NO_USERS:
        raise AttributeError(f"{owner} has no attribute {name!r}")
    location: Span = span_of_frame(frame)
    names = [text for text in known if not text.startswith("_")]
    text = text_at(location)
    prefix = text.removesuffix(name) if text.endswith(f".{name}") else ""
    hint = did_you_mean(name, names, prefix)
    raise UnknownNameError(f"{owner} has no attribute {name!r}", location, hint)


def refuse_keywords(
    owner: str, unknown: Mapping[str, Any], known: Sequence[str], frame: FrameType
) -> None:
    """Raise the error for keywords that ``owner``, called in ``frame``, does not have.

    Raises:
        KeywordError: there is one.
    """
    if unknown:
        name = next(iter(unknown))
        raise KeywordError(
            f"{owner} has no argument {name!r}; it has {', '.join(known) or 'none'}",
            span_of_frame(frame),
            (keyword_hint(name, known) or f"leave out {name}=") if known else f"write {owner}",
        )


_NO_USERS: Final = frozenset({"pypto", "importlib", "inspect", *sys.builtin_module_names})
