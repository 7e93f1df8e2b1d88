"""Plain types are interned, one object per structure, in a bounded table without programs."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType
from pypto._src.ir import call_forms, interning
from pypto._src.ir.array_types import MemRef, TensorType, TileType
from pypto._src.ir.exprs import ConstInt, Expr, Var
from pypto._src.ir.interning import Facts, is_plain, unique_array
from pypto._src.ir.types import scalar_type
from pypto._src.ops.elementwise import add

PLACE = Span("kernel.py", 3, 4, 3, 9)
FP32, INDEX = DataType.FP32, scalar_type(DataType.INDEX)
SIZE = Var("n", INDEX)
MEMORY = MemRef(pl.MemorySpace.Vec, -1, 1024)


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start with empty tables for this test."""
    monkeypatch.setattr(interning, "TYPES", {})
    monkeypatch.setattr(interning, "BY_ID", {})
    call_forms.FORMS.clear()


def tile(view: ir.TileView | None = None, dims: Any = (16, 64)) -> TileType:
    return TileType(dims, FP32, None, view)


PLAIN: list[Callable[[], TileType | TensorType]] = [
    tile,
    lambda: tile(dims=[64, 16]),
    lambda: TileType([16, 64], DataType.FP16),
    lambda: TensorType([16, 64], FP32),
    lambda: TensorType([16, -1], FP32),
    lambda: TensorType([16], FP32),
    lambda: TensorType([16, 64], FP32, None, ir.TensorView([64, 1])),
    lambda: TensorType([16, 64], FP32, None, ir.TensorView([64, 1], ir.TensorLayout.DN)),
    lambda: tile(ir.TileView()),
    lambda: tile(ir.TileView(valid_shape=[8, 64])),
    lambda: tile(ir.TileView(stride=[8, 64])),
    lambda: tile(ir.TileView(start_offset=0)),
    lambda: tile(ir.TileView(start_offset=32)),
    lambda: tile(ir.TileView(blayout=ir.TileLayout.col_major)),
    lambda: tile(ir.TileView(slayout=ir.TileLayout.col_major)),
    lambda: tile(ir.TileView(fractal=1024)),
    lambda: tile(ir.TileView(pad=ir.TilePad.zero)),
]
"""Types that differ in one thing each."""

OTHERS: list[Callable[[], Any]] = [
    lambda: tile(dims=[SIZE, 64]),
    lambda: TensorType([SIZE * 2, 64], FP32),
    lambda: tile(ir.TileView(valid_shape=[SIZE, 64])),
    lambda: tile(ir.TileView(start_offset=SIZE)),
    lambda: TensorType([16, 64], FP32, None, ir.TensorView([SIZE, 1])),
    lambda: TileType([16, 64], FP32, MEMORY),
    lambda: tile(dims=[ConstInt(16, DataType.INT32), ConstInt(64)]),
]
"""Types that refer to a program, or with numbers that are not indices."""


def test_one_object_for_each_structure() -> None:
    """Equal structures give one object, different ones never do; the structure is kept."""
    found = [interning.unique(make()) for make in PLAIN]
    assert len({id(kind) for kind in found}) == len(PLAIN)
    for make, kind in zip(PLAIN, found, strict=True):
        again = make()
        assert interning.unique(again) is kind
        assert interning.unique(kind) is kind
        assert is_plain(again)
        assert again == kind
        assert str(again) == str(kind)
    assert unique_array(TileType, [16, 64], FP32) is found[0]
    assert unique_array(TensorType, [16, 64], FP32) is found[3]


@pytest.mark.parametrize("make", OTHERS, ids=range(len(OTHERS)))
def test_other_types_stay_what_they_are(make: Callable[[], Any]) -> None:
    """A type with a variable or a memory reference is returned itself, and not interned."""
    kind = make()
    assert interning.unique(kind) is kind
    assert not is_plain(kind)
    assert interning.TYPES == {}


def test_classes_of_users_stay() -> None:
    """A type of a subclass is not replaced by one of ours."""

    class Mine(TileType):
        """A tile with a name."""

    kind = Mine([16, 64], FP32)
    assert interning.unique(kind) is kind
    assert not is_plain(kind)


def test_places_do_not_count() -> None:
    """The interned object's constants have no location, whichever program came first."""

    def placed(*numbers: int) -> list[Expr]:
        return [ConstInt(number, DataType.INDEX, PLACE) for number in numbers]

    view = ir.TileView(placed(8, 64), placed(64, 1), placed(0)[0], pad=ir.TilePad.zero)
    kind = interning.unique(TileType(placed(16, 64), FP32, None, view))
    assert isinstance(kind, TileType)
    assert kind.tile_view is not None
    parts = kind.tile_view
    assert parts.start_offset is not None
    held = [*kind.shape, *parts.valid_shape, *parts.stride, parts.start_offset]
    assert [dim.value for dim in held if isinstance(dim, ConstInt)] == [16, 64, 8, 64, 64, 1, 0]
    assert {id(dim.span) for dim in held} == {id(UNKNOWN_SPAN)}
    assert kind == TileType(placed(16, 64), FP32, None, view)
    tensor = interning.unique(TensorType(placed(16), FP32, None, ir.TensorView(placed(1))))
    assert isinstance(tensor, TensorType)
    assert tensor.tensor_view is not None
    assert [dim.span for dim in (*tensor.shape, *tensor.tensor_view.stride)] == [UNKNOWN_SPAN] * 2


def test_the_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full table is cleared: then a structure has a new object, equal to the first."""
    monkeypatch.setattr(interning, "MOST_TYPES", 8)
    first = unique_array(TileType, [1, 64], FP32)
    for rows in range(1, 40):
        unique_array(TileType, [rows, 64], FP32)
        interning.unique(TensorType([rows, 64], FP32))
        assert len(interning.TYPES) == len(interning.BY_ID) <= 8
    again = unique_array(TileType, [1, 64], FP32)
    assert again is not first
    assert again == first


def test_threads_agree() -> None:
    """Threads that request the same structures get the same objects."""
    found: list[list[int]] = []
    start = threading.Barrier(4)

    def ask() -> None:
        start.wait()
        found.append([id(unique_array(TileType, [rows, 8], FP32)) for rows in range(1, 500)])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert found.count(found[0]) == 4


def test_facts_are_kept_of_plain_types_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts are cached for plain types only; for other types they are computed each time."""
    monkeypatch.setattr(interning, "MOST_TYPES", 4)
    asked: list[Any] = []

    def find(kind: Any, *rest: Any) -> str:
        asked.append(kind)
        return f"{kind} {rest}"

    facts = Facts(find)
    plain, named = unique_array(TileType, [16, 64], FP32), OTHERS[0]()
    for _ in range(3):
        assert facts.of(plain, 1) == f"{plain} (1,)"
        assert facts.of(named) == f"{named} ()"
    assert [kind is plain for kind in asked] == [True, False, False, False]
    asked.clear()
    assert len(gc.get_referrers(named)) <= 1  # this function counts as one
    for rows in range(1, 40):
        facts.of(unique_array(TileType, [rows, 64], FP32))
    facts.of(plain, 1)
    assert asked.count(plain) == 2  # forgotten when the table was full


def test_result_types_hold_for_the_next_program() -> None:
    """The rule of an op runs once for plain types, whatever programs the operands are from."""
    kind = unique_array(TileType, [16, 64], FP32)
    calls = [add.call([Var("a", kind), Var("b", kind)], {}) for _ in range(3)]
    assert [call.type for call in calls] == [kind] * 3
    assert all(call.type is kind for call in calls)
    assert len(call_forms.FORMS) == 1


def test_named_sizes_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signature whose types name a program's variable is different for each variable."""
    monkeypatch.setattr(call_forms, "MOST_FORMS", 4)
    for _ in range(20):
        size = Var("n", INDEX)
        kind = tile(ir.TileView(valid_shape=[size, 64]))
        call = add.call([Var("a", kind), Var("b", kind)], {})
        assert isinstance(call.type, TileType)
        assert call.type.tile_view is not None
        assert call.type.tile_view.valid_shape[0] is size
        assert 0 < len(call_forms.FORMS) <= 4


@pytest.mark.parametrize("dims", [(SIZE, 64), (16, 64)], ids=["named", "int32"])
def test_result_types_hold_no_constant_of_a_call(dims: tuple[Any, ...]) -> None:
    """Equal sizes in another program find the type: it has neither their locations nor objects."""
    dtype = DataType.INDEX if dims[0] is SIZE else DataType.INT32

    def made(place: Span) -> tuple[ir.Call, list[Expr]]:
        items: list[Expr] = [d if isinstance(d, Var) else ConstInt(d, dtype, place) for d in dims]
        return ir.create_op_call("tensor.create", [ir.MakeTuple(items)], {"dtype": FP32}), items

    for place in (PLACE, Span("other.py", 7, 1)):
        call, items = made(place)
        assert isinstance(call.type, TensorType)
        for dim, item in zip(call.type.shape, items, strict=True):
            if isinstance(item, Var):
                assert dim is item
            else:
                assert isinstance(dim, ConstInt)
                assert isinstance(item, ConstInt)
                assert (dim.value, dim.dtype) == (item.value, item.dtype)
                assert dim is not item
                assert dim.span is UNKNOWN_SPAN


def test_bytes_do_not_depend_on_the_program_before() -> None:
    """A program with a size that another one has too serialises to the same bytes after it."""

    def program() -> ir.Function:
        def create(size: Expr) -> ir.Call:
            sizes = ir.MakeTuple([SIZE, size])
            return ir.create_op_call("tensor.create", [sizes], {"dtype": FP32})

        first, second = create(ConstInt(64, DataType.INDEX)), create(ConstInt(64))
        a, b = Var("a", first.type), Var("b", second.type)
        body = ir.SeqStmts([ir.AssignStmt(a, first), ir.AssignStmt(b, second)])
        return ir.Function("f", [SIZE], [], body)

    alone = ir.serialize(program())
    assert call_forms.FORMS
    assert ir.serialize(program()) == alone
