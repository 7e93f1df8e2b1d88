"""Our named tuples behave like those of `typing` in everything that users see."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from typing import Any

import pytest

from pypto._src import records


class Ours(records.NamedTuple):
    """With a default, a property and a method."""

    first: int
    second: str = "two"

    @property
    def twice(self) -> int:
        """Twice the first field."""
        return 2 * self.first


class Theirs(typing.NamedTuple):
    """The same."""

    first: int
    second: str = "two"

    @property
    def twice(self) -> int:
        """Twice the first field."""
        return 2 * self.first


class Empty(records.NamedTuple):
    """Has no field."""


class Derived(Ours):
    """Adds no field."""

    third = 3


KINDS = pytest.mark.parametrize("kind", [Ours, Theirs])


@KINDS
def test_tuples(kind: Any) -> None:
    """They are tuples with named fields, created by position, by name and by default."""
    made = kind(1)
    assert made == (1, "two")
    assert made == kind(second="two", first=1)
    assert (made.first, made.second, made.twice) == (1, "two", 2)
    assert tuple in kind.__mro__
    assert hash(made) == hash((1, "two"))
    assert not hasattr(made, "__dict__")
    assert kind.__match_args__ == ("first", "second")


@KINDS
def test_helpers(kind: Any) -> None:
    """The further attributes of named tuples."""
    made = kind(1)
    assert made._fields == ("first", "second")
    assert kind._field_defaults == {"second": "two"}
    assert made._asdict() == {"first": 1, "second": "two"}
    assert made._replace(first=5) == (5, "two")
    assert kind._make([3, 4]) == (3, 4)
    assert repr(made) == f"{kind.__name__}(first=1, second='two')"
    with pytest.raises(ValueError, match="third"):
        made._replace(third=3)


@KINDS
def test_copies(kind: Any) -> None:
    """Copies and unpickled values are of the same class."""
    made = kind(1, ["x"])
    for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert type(again) is kind
        assert again == made


@KINDS
@pytest.mark.parametrize(
    ("args", "words"), [((), {}), ((1, 2, 3), {}), ((1,), {"third": 3}), ((1,), {"first": 2})]
)
def test_refusals(kind: Any, args: tuple[int, ...], words: dict[str, int]) -> None:
    """Wrong arguments are rejected like those of a function."""
    with pytest.raises(TypeError, match="argument"):
        kind(*args, **words)


@KINDS
def test_fields_do_not_change(kind: Any) -> None:
    """Fields cannot be assigned, and no others can be added."""
    with pytest.raises(AttributeError):
        kind(1).first = 2
    with pytest.raises(AttributeError):
        kind(1).third = 2


def test_signature() -> None:
    """The parameters are the fields, with their types and defaults."""
    assert str(inspect.signature(Ours)) == "(first: 'int', second: 'str' = 'two')"
    with pytest.raises(TypeError, match=r"^Ours\.__new__\(\) missing 1 required"):
        Ours()  # pyright: ignore[reportCallIssue]


def test_derived() -> None:
    """A class may have no fields, or be derived from another one."""
    assert Empty() == ()
    assert repr(Empty()) == "Empty()"
    assert Derived(1) == (1, "two")
    assert repr(Derived(1)) == "Derived(first=1, second='two')"
    assert Derived(1).third == 3


def test_defaults_come_last() -> None:
    """A field without a default after one with a default is rejected."""
    text = "class Wrong(NamedTuple):\n    first: int = 1\n    second: int"
    with pytest.raises(TypeError, match="default"):
        exec(text, {"NamedTuple": records.NamedTuple})
