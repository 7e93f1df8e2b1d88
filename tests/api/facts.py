"""How a row of the API tables is checked: an action, and its value or the error it raises.

A table maps the words of a fact to such a row. Comparing expressions builds nodes, so a row
says what it expects of them: a text, a class, a type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from pypto import ir


@dataclass(frozen=True)
class Refused:
    """The error expected by a row: its class, and words of its message."""

    error: type[BaseException]
    words: str


Row = tuple[Callable[[], Any], Any]
Table = dict[str, Row]


def rows(table: Table) -> Any:
    """Return the decorator that runs a test for each row, as ``make`` and ``wanted``."""
    return pytest.mark.parametrize(("make", "wanted"), table.values(), ids=list(table))


def check(make: Callable[[], Any], wanted: Any) -> None:
    """Run a row."""
    if isinstance(wanted, Refused):
        with pytest.raises(wanted.error, match=re.escape(wanted.words)):
            make()
        return
    found = make()
    assert not isinstance(found, ir.Expr), "a row wants a value that can be compared"
    assert type(found) is type(wanted)
    assert found == wanted
