"""Fresh names."""

from __future__ import annotations

from pypto._src.ir.fresh_names import FreshNames


def test_like() -> None:
    """A free name is unchanged; a taken one gets the first number that makes it fresh."""
    names = FreshNames(["a", "a_1", "b"])
    found = [names.like(each) for each in ("a", "a", "c", "c", "b")]
    assert found == ["a_2", "a_3", "c", "c_1", "b_1"]
    assert names.like("a_2", "") == "a_21"


def test_numbered() -> None:
    """Numbers continue from the last one for the same name, skipping taken ones."""
    names = FreshNames(["t1"])
    assert [names.numbered("t", 0) for _ in range(3)] == ["t0", "t2", "t3"]
    assert names.numbered("u") == "u1"
    assert names.like("u1") == "u1_1"


def test_many_of_one_name() -> None:
    """The cost per name is constant, however many there are."""
    names = FreshNames([])
    found = [names.like("x") for _ in range(20_000)]
    assert found[:2] == ["x", "x_1"]
    assert found[-1] == "x_19999"
    assert len({*found}) == 20_000
