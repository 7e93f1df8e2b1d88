"""Section 5 of the API: types, views and enumerations.

Two facts deliberately differ from the native module. Types are immutable like all nodes, and so is
a type's own copy of a view, so sequences read back as tuples; and a tile in vector memory
has no view unless its layout is unusual (docs/decisions/0006).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Any

import pytest

from pypto import DataType, ir
from pypto._src.ops.layout import effective_view

INT = ir.ScalarType(ir.INT64)
N = ir.Var("n", INT)
M = ir.Var("m", INT)
VEC = ir.MemRef(ir.Vec, 0, 1024, 3)
DDR = ir.MemRef(ir.DDR, N, 1024, 1)
VIEW = ir.TileView([2, N], [1, 1], 0, ir.TileLayout.col_major, ir.TileLayout.row_major, 1024,
                   ir.TilePad.zero)  # fmt: skip
DN = ir.TensorView([1, 4], ir.TensorLayout.DN)
OTHER: Any = object()


def texts(values: Any) -> list[str]:
    return [str(value) for value in values]


# --------------------------------------------------------------- constructors, attributes, texts

# What is constructed, its attributes with their text, the text of the whole.
MADE: list[tuple[str, Any, dict[str, object], str]] = [
    ("unknown", ir.UnknownType(), {}, "pl.UnknownType"),
    ("shared unknown", ir.UnknownType.get(), {}, "pl.UnknownType"),
    ("scalar", ir.ScalarType(ir.FP32), {"dtype": ir.FP32}, "pl.Scalar[pl.FP32]"),
    ("scalar by name", ir.ScalarType(dtype=ir.BF16), {"dtype": ir.BF16}, "pl.Scalar[pl.BF16]"),
    ("index", ir.ScalarType(DataType.INDEX), {"dtype": ir.INT64}, "pl.Scalar[pl.INT64]"),
    (
        "tensor",
        ir.TensorType([64, 128], ir.FP32),
        {"shape": ["64", "128"], "dtype": ir.FP32, "memref": None, "tensor_view": None},
        "pl.Tensor[[64, 128], pl.FP32]",
    ),
    (
        "tensor of document 002",
        ir.TensorType(ir.FP32, [64, 128]),
        {"shape": ["64", "128"], "dtype": ir.FP32},
        "pl.Tensor[[64, 128], pl.FP32]",
    ),
    (
        "mixed shape",
        ir.TensorType((64, N, N * 2), ir.FP16),
        {"shape": ["64", "n", "n * 2"]},
        "pl.Tensor[[64, n, n * 2], pl.FP16]",
    ),
    ("no dimension", ir.TensorType([], ir.INT8), {"shape": []}, "pl.Tensor[[], pl.INT8]"),
    (
        "dynamic dimension",
        ir.TensorType([ir.DYNAMIC_DIM, 4], ir.FP32),
        {"shape": ["-1", "4"]},
        "pl.Tensor[[-1, 4], pl.FP32]",
    ),
    (
        "tensor with memory",
        ir.TensorType([4], ir.FP32, DDR),
        {"memref": DDR},
        "pl.Tensor[[4], pl.FP32, pl.MemRef(pl.MemorySpace.DDR, n, 1024, 1)]",
    ),
    (
        "tensor with view",
        ir.TensorType([4, 4], ir.FP32, tensor_view=DN),
        {"memref": None, "tensor_view": DN},
        "pl.Tensor[[4, 4], pl.FP32, pl.TensorView(stride=[1, 4], layout=pl.TensorLayout.DN)]",
    ),
    (
        "tensor, all by name",
        ir.TensorType(shape=[4], dtype=ir.FP32, memref=DDR, tensor_view=DN),
        {"shape": ["4"], "memref": DDR, "tensor_view": DN},
        "pl.Tensor[[4], pl.FP32, pl.MemRef(pl.MemorySpace.DDR, n, 1024, 1), "
        "pl.TensorView(stride=[1, 4], layout=pl.TensorLayout.DN)]",
    ),
    (
        "tile",
        ir.TileType([16, 32], ir.FP16),
        {"shape": ["16", "32"], "dtype": ir.FP16, "memref": None, "tile_view": None},
        "pl.Tile[[16, 32], pl.FP16]",
    ),
    (
        "tile of document 002",
        ir.TileType(ir.FP16, [16, N]),
        {"shape": ["16", "n"], "dtype": ir.FP16},
        "pl.Tile[[16, n], pl.FP16]",
    ),
    (
        "tile with memory",
        ir.TileType([16, 32], ir.FP16, VEC),
        {"memref": VEC},
        "pl.Tile[[16, 32], pl.FP16, pl.MemRef(pl.MemorySpace.Vec, 0, 1024, 3)]",
    ),
    (
        "tile with view and no memory",
        ir.TileType([16, 32], ir.FP16, None, ir.TileView()),
        {"memref": None},
        "pl.Tile[[16, 32], pl.FP16, pl.TileView()]",
    ),
    (
        "tile, all by name",
        ir.TileType(shape=[2, 2], dtype=ir.FP16, memref=VEC, tile_view=VIEW),
        {"memref": VEC, "tile_view": VIEW},
        "pl.Tile[[2, 2], pl.FP16, pl.MemRef(pl.MemorySpace.Vec, 0, 1024, 3), "
        "pl.TileView(valid_shape=[2, n], stride=[1, 1], start_offset=0, "
        "blayout=pl.TileLayout.col_major, slayout=pl.TileLayout.row_major, fractal=1024, "
        "pad=pl.TilePad.zero)]",
    ),
    (
        "tuple",
        ir.TupleType([INT, ir.TileType([4], ir.FP32)]),
        {"types": ["pl.Scalar[pl.INT64]", "pl.Tile[[4], pl.FP32]"]},
        "pl.Tuple[[pl.Scalar[pl.INT64], pl.Tile[[4], pl.FP32]]]",
    ),
    ("empty tuple", ir.TupleType([]), {"types": []}, "pl.Tuple[[]]"),
    ("type of a MemRef", VEC.type, {}, "pl.MemRefType"),
    (
        "tensor view",
        ir.TensorView(),
        {"stride": [], "layout": ir.TensorLayout.ND},
        "pl.TensorView()",
    ),
    (
        "tensor view with stride",
        ir.TensorView(stride=[N, 1], layout=ir.TensorLayout.NZ),
        {"stride": ["n", "1"], "layout": ir.TensorLayout.NZ},
        "pl.TensorView(stride=[n, 1], layout=pl.TensorLayout.NZ)",
    ),
    (
        "tile view",
        ir.TileView(),
        {
            "valid_shape": [],
            "stride": [],
            "start_offset": None,
            "blayout": ir.TileLayout.row_major,
            "slayout": ir.TileLayout.none_box,
            "fractal": 512,
            "pad": ir.TilePad.null,
        },
        "pl.TileView()",
    ),
    (
        "tile view with regions",
        ir.TileView([16, N], [1, 16], N),
        {"valid_shape": ["16", "n"], "stride": ["1", "16"], "start_offset": N, "fractal": 512},
        "pl.TileView(valid_shape=[16, n], stride=[1, 16], start_offset=n)",
    ),
    (
        "tile view by name",
        ir.TileView(valid_shape=[8], stride=[1], start_offset=4, pad=ir.TilePad.min),
        {"valid_shape": ["8"], "stride": ["1"], "pad": ir.TilePad.min},
        "pl.TileView(valid_shape=[8], stride=[1], start_offset=4, pad=pl.TilePad.min)",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("made", "attributes", "text"), [row[1:] for row in MADE], ids=[row[0] for row in MADE]
)
def test_constructors(made: Any, attributes: dict[str, object], text: str) -> None:
    """Every form of constructor keeps its arguments; ``str`` is the text of section 9."""
    for name, wanted in attributes.items():
        found = getattr(made, name)
        if isinstance(wanted, list):
            assert texts(found) == wanted, name
        elif isinstance(wanted, ir.TensorView | ir.TileView):
            assert str(found) == str(wanted)
        else:
            assert found is wanted or (isinstance(wanted, int) and found == wanted), name
    assert str(made) == made.as_python() == text
    assert made.as_python("tl") == text.replace("pl.", "tl.")


SETTABLE = (ir.TensorView, ir.TileView)


@pytest.mark.parametrize("made", [row[1] for row in MADE], ids=[row[0] for row in MADE])
def test_immutable(made: Any) -> None:
    """No field can be set or deleted, known or unknown; but those of views can be set."""
    for name in [*(field.name for field in made.fields()), "anything"]:
        if name == "anything" or not isinstance(made, SETTABLE):
            with pytest.raises(AttributeError, match=f"is immutable: cannot set '{name}'"):
                setattr(made, name, None)
        with pytest.raises(AttributeError, match=f"is immutable: cannot delete '{name}'"):
            delattr(made, name)


def test_a_type_has_its_own_copy_of_a_view() -> None:
    """Fields of a view are checked and set as by its constructor; no type changes with them."""
    view = ir.TileView()
    view.valid_shape = [2, N]  # pyright: ignore[reportAttributeAccessIssue]
    view.pad = ir.TilePad.zero
    tile = ir.TileType([4, 8], ir.FP32, None, view)
    view.pad = ir.TilePad.min
    assert tile.tile_view is not None
    assert (view.pad, tile.tile_view.pad) == (ir.TilePad.min, ir.TilePad.zero)
    assert texts(tile.tile_view.valid_shape) == ["2", "n"]
    with pytest.raises(TypeError, match="pad is of type TilePad, got int"):
        view.pad = 1  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError, match="TileView of a type is immutable: cannot set 'pad'"):
        tile.tile_view.pad = ir.TilePad.max
    strided = ir.TensorView()
    strided.layout = ir.DN
    tensor = ir.TensorType([4, 8], ir.FP32, None, strided)
    strided.stride = [1, 4]  # pyright: ignore[reportAttributeAccessIssue]
    assert tensor.tensor_view is not None
    assert (tensor.tensor_view.layout, tensor.tensor_view.stride) == (ir.DN, ())


def test_a_buffer_can_be_changed_until_a_type_has_it() -> None:
    """Space and number identify a buffer; a type's own buffer never changes."""
    memref = ir.MemRef(ir.Vec, 0, 64, 1)
    memref.size_, memref.id_, memref.memory_space_ = 128, 7, ir.Mat
    memref.addr_ = 32  # pyright: ignore[reportAttributeAccessIssue]
    assert (memref.name, memref.size_, str(memref.addr_)) == ("mem_mat_7", 128, "32")
    with pytest.raises(ValueError, match="a number of bytes, got -1"):
        memref.size_ = -1
    assert memref.size_ == 128
    assert ir.TileType([4, 8], ir.FP32, memref).memref is memref
    with pytest.raises(AttributeError, match="MemRef of a type is immutable: cannot set 'size_'"):
        memref.size_ = 64


def test_ints_become_index_constants() -> None:
    """A dimension is a constant of dtype INDEX, or the expression that was given."""
    first, second = ir.TensorType([64, N], ir.FP32).shape
    assert isinstance(first, ir.ConstInt)
    assert (first.value, first.dtype, second is N) == (64, DataType.INDEX, True)
    offset = ir.TileView([1], [1], 7).start_offset
    assert isinstance(offset, ir.ConstInt)
    assert (offset.value, offset.dtype) == (7, DataType.INDEX)


def test_shared_unknown_type() -> None:
    """``UnknownType.get()`` always returns the same object, which equals any other."""
    assert ir.UnknownType.get() is ir.UnknownType.get()
    assert ir.UnknownType.get() == ir.UnknownType()


SHARING = [
    ("same object", ir.TensorType([4], ir.FP32, DDR), ir.TileType([8], ir.FP16, DDR), True),
    ("equal objects", ir.TileType([4], ir.FP32, VEC),
     ir.TileType([4], ir.FP32, ir.MemRef(ir.Vec, 0, 1024, 3)), False),
    ("one without", ir.TensorType([4], ir.FP32, DDR), ir.TensorType([4], ir.FP32), False),
    ("both without", ir.TensorType([4], ir.FP32), ir.TensorType([4], ir.FP32), False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b", "shares"), [row[1:] for row in SHARING], ids=[row[0] for row in SHARING]
)
def test_shares_memref_with(a: ir.ShapedType, b: ir.ShapedType, shares: bool) -> None:
    """Two arrays share memory if both have the very same MemRef object."""
    assert (a.shares_memref_with(b), b.shares_memref_with(a)) == (shares, shares)


REFUSED: list[tuple[str, Callable[[], object], str]] = [
    ("dtype by name", lambda: ir.ScalarType(call("FP32")),
     "the element type is of type DataType, got str"),
    ("no dtype", lambda: call(ir.ScalarType)(), "missing 1 required positional argument: 'dtype'"),
    ("two dtypes", lambda: call(ir.ScalarType)(ir.FP32, ir.FP16), "takes 2 positional arguments"),
    ("tensor of a dtype by name", lambda: ir.TensorType([4], "FP32"),
     "the element type is of type DataType, got str"),
    ("tensor of nothing", lambda: call(ir.TensorType)([4]), "missing 1 required positional"),
    ("one number", lambda: ir.TensorType(4, ir.FP32), "a sequence of integers was wanted, got int"),
    ("a text", lambda: ir.TensorType("4", ir.FP32),
     "an expression, int or float was wanted, got str"),
    ("a float", lambda: ir.TileType([4.0], ir.FP32),
     "a dimension is an integer, got a value of fp32"),
    ("a bool", lambda: ir.TileType([True], ir.FP32),
     "a dimension is an integer, got a value of bool"),
    ("no number", lambda: ir.TensorType([None], ir.FP32), "was wanted, got NoneType"),
    ("a tensor", lambda: ir.TensorType([ir.Var("t", ir.TensorType([4], ir.FP32))], ir.FP32),
     "a dimension is an integer, got a value of TensorType"),
    ("memref", lambda: ir.TensorType([4], ir.FP32, OTHER), "memref is of type MemRef, got object"),
    ("tensor view", lambda: ir.TensorType([4], ir.FP32, None, call(ir.TileView())),
     "tensor_view is of type TensorView, got TileView"),
    ("tile view", lambda: ir.TileType([4], ir.FP32, None, call(DN)),
     "tile_view is of type TileView, got TensorView"),
    ("part of a tuple", lambda: ir.TupleType([INT, OTHER]),
     "a part of a tuple is of type Type, got object"),
    ("layout of a tensor", lambda: ir.TensorView([], call(ir.TileLayout.none_box)),
     "the layout is of type TensorLayout, got TileLayout"),
    ("stride", lambda: ir.TensorView([call(1.5)]), "a stride is an integer, got a value of fp32"),
    ("layout of boxes", lambda: ir.TileView(blayout=call(ir.TensorLayout.ND)),
     "blayout is of type TileLayout, got TensorLayout"),
    ("layout in boxes", lambda: ir.TileView(slayout=call(0)),
     "slayout is of type TileLayout, got int"),
    ("fractal", lambda: ir.TileView(fractal=call("512")), "fractal is of type int, got str"),
    ("pad", lambda: ir.TileView(pad=call(None)), "pad is of type TilePad, got NoneType"),
    ("offset", lambda: ir.TileView([], [], call(0.5)),
     "start_offset is an integer, got a value of fp32"),
    ("valid shape", lambda: ir.TileView(call(4)), "a sequence of integers was wanted, got int"),
    ("unknown keyword", lambda: call(ir.TileView)(bits=3), "unexpected keyword argument 'bits'"),
]  # fmt: skip


def call(value: Any) -> Any:
    """Return ``value`` typed as Any, to hide it from type checkers."""
    return value


@pytest.mark.parametrize(
    ("make", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_wrong_arguments(make: Callable[[], object], text: str) -> None:
    """An argument of the wrong class or number is a TypeError that says what was expected."""
    with pytest.raises(TypeError) as caught:
        make()
    assert text in str(caught.value)


# ------------------------------------------------------------------------------ equality and hash

# Types in groups: those of one group are equal, those of different groups are not.
GROUPS: list[list[ir.Type]] = [
    [ir.UnknownType(), ir.UnknownType.get()],
    [VEC.type, DDR.type],
    [ir.ScalarType(ir.INT64), ir.ScalarType(DataType.INDEX)],
    [ir.ScalarType(ir.FP32), ir.ScalarType(DataType.FLOAT32)],
    [
        ir.TensorType([4, 8], ir.FP32),
        ir.TensorType(ir.FP32, [4, 8]),
        ir.TensorType([ir.ConstInt(4), ir.ConstInt(8)], ir.FP32),
        ir.TensorType([4, 8], ir.FP32, DDR),  # memory and view of a tensor are ignored
        ir.TensorType([4, 8], ir.FP32, None, DN),
    ],
    [ir.TensorType([8, 4], ir.FP32)],
    [ir.TensorType([4, 8, 1], ir.FP32)],
    [ir.TensorType([4, 8], ir.FP16)],
    [ir.TensorType([N], ir.FP32), ir.TensorType([N], ir.FP32)],
    [ir.TensorType([M], ir.FP32)],  # a free variable equals only itself
    [ir.TensorType([N + 1], ir.FP32), ir.TensorType([N + 1], ir.FP32)],
    [ir.TensorType([N + 2], ir.FP32)],
    [ir.TensorType([M + 1], ir.FP32)],
    [ir.TileType([4, 8], ir.FP32), ir.TileType([4, 8], ir.FP32, VEC)],
    [
        ir.TileType([4, 8], ir.FP32, None, ir.TileView()),  # presence of a tile's view is compared
        ir.TileType([4, 8], ir.FP32, VEC, ir.TileView(fractal=512)),
    ],
    [ir.TileType([4, 8], ir.FP32, None, VIEW)],
    [ir.TileType([4, 8], ir.FP32, None, ir.TileView(fractal=1024))],
    [ir.TileType([4, 8], ir.FP32, None, ir.TileView(pad=ir.TilePad.max))],
    [ir.TileType([4, 8], ir.FP32, None, ir.TileView([4, 7]))],
    [ir.TileType([4, 8], ir.FP32, None, ir.TileView([4, N]))],
    [ir.TileType([4, 8], ir.FP32, None, ir.TileView([], [1, 4]))],
    [ir.TileType([4, 8], ir.FP32, None, ir.TileView(start_offset=0))],
    [ir.TileType([4, 8], ir.FP32, None, ir.TileView(slayout=ir.TileLayout.col_major))],
    [ir.TileType([4, 8], ir.FP32, None, ir.TileView(blayout=ir.TileLayout.col_major))],
    [ir.TupleType([])],
    [ir.TupleType([INT]), ir.TupleType((ir.ScalarType(DataType.INDEX),))],
    [ir.TupleType([INT, INT])],
    [ir.TupleType([ir.TupleType([INT])]), ir.TupleType([ir.TupleType([INT])])],
    [ir.TupleType([ir.TupleType([ir.ScalarType(ir.FP32)])])],
]
FLAT = [(number, kind) for number, group in enumerate(GROUPS) for kind in group]


@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_equality(group: int) -> None:
    """``==`` is `structural_equal`; ``!=`` is its inverse; equal types have equal hashes."""
    for kind in GROUPS[group]:
        for number, other in FLAT:
            equal = number == group
            found = (kind == other, kind != other, ir.structural_equal(kind, other))
            assert found == (equal, not equal, equal), f"{kind} and {other}"
            assert hash(kind) == hash(other) or not equal


def test_types_are_keys() -> None:
    """A type finds what was stored under an equal one; unequal shapes do not share a hash."""
    table = {kind: number for number, kind in FLAT}
    assert [table[kind] for _, kind in FLAT] == [number for number, _ in FLAT]
    many = {hash(ir.TileType([rows, cols], ir.FP32)) for rows in range(64) for cols in range(64)}
    assert len(many) > 4000


def test_types_and_other_things() -> None:
    """A type equals no other kind of object (the native module raises TypeError)."""
    assert (INT == "int64", INT != "int64", INT == ir.INT64) == (False, True, False)
    assert INT in [None, INT]


def test_deep_tuples() -> None:
    """Tuples nested ten thousand deep are compared and hashed without recursion."""

    def nested() -> ir.Type:
        kind: ir.Type = INT
        for _ in range(10_000):
            kind = ir.TupleType([kind])
        return kind

    a, b = nested(), nested()
    assert (a == b, a == ir.TupleType([b]), hash(a) == hash(b)) == (True, False, True)


# ------------------------------------------------------------------------------------- 5.1 enums

ENUMS: list[tuple[type[Enum], type[Enum], str]] = [
    # Bias is the project's own, for the bias row of a matrix product.
    (ir.MemorySpace, Enum, "DDR=0 Vec=1 Mat=2 Left=3 Right=4 Acc=5 Bias=6"),
    (ir.PipeType, IntEnum, "MTE1=0 MTE2=1 MTE3=2 M=3 V=4 S=5 FIX=6 ALL=7"),
    (ir.CoreType, IntEnum, "CUBE=0 VECTOR=1"),
    (ir.TensorLayout, Enum, "ND=0 DN=1 NZ=2"),
    (ir.TileLayout, Enum, "none_box=0 row_major=1 col_major=2"),
    (ir.TilePad, Enum, "null=0 zero=1 max=2 min=3"),
    (ir.ForKind, Enum, "Sequential=0 Parallel=1"),
    (ir.ScopeKind, Enum, "InCore=0"),
    (ir.FunctionType, Enum, "Opaque=0 Orchestration=1 InCore=2"),
    (ir.ParamDirection, Enum, "In=0 Out=1 InOut=2"),
]


@pytest.mark.parametrize(("kind", "base", "members"), ENUMS, ids=[row[0].__name__ for row in ENUMS])
def test_enums(kind: type[Enum], base: type[Enum], members: str) -> None:
    """An enumeration has the kind, members and values of its row; ``str`` names both."""
    assert " ".join(f"{member.name}={member.value}" for member in kind) == members
    assert (issubclass(kind, base), issubclass(kind, int)) == (True, base is IntEnum)
    for member in kind:
        assert str(member) == f"{kind.__name__}.{member.name}"
        assert kind(member.value) is kind[member.name] is member
        assert pickle.loads(pickle.dumps(member)) is member


def test_pipes_and_cores_are_numbers() -> None:
    """A pipe can be used as an int, such as a keyword of a sync op. So can a core."""
    assert (ir.PipeType.V + 0, ir.PipeType(2) is ir.PipeType.MTE3, int(ir.ALL)) == (4, True, 7)
    assert (ir.CoreType.VECTOR + 0, ir.CoreType(0) is ir.CUBE, f"{ir.VECTOR}") == (
        1,
        True,
        "CoreType.VECTOR",
    )


# ---------------------------------------------------------------------------- 5.2 default views


def made(op: str, *args: Any, **kwargs: Any) -> ir.TileType:
    kind = ir.create_op_call(op, args, kwargs, ir.Span.unknown()).type
    assert isinstance(kind, ir.TileType)
    return kind


def tensor(shape: list[int], dtype: DataType = ir.FP16) -> ir.Var:
    return ir.Var("t", ir.TensorType(shape, dtype))


def loaded(space: ir.MemorySpace, shape: tuple[int, int] = (16, 32)) -> ir.TileType:
    zeros, box = ir.MakeTuple([0, 0]), ir.MakeTuple(shape)
    source = tensor([64, 1 if shape[1] == 1 else 64])
    return made("block.load", source, zeros, box, target_memory=space)


def moved(
    to: ir.MemorySpace, *, transpose: bool = False, of: ir.MemorySpace = ir.Mat
) -> ir.TileType:
    source = ir.Var("s", loaded(of))
    return made("block.move", source, target_memory=to, transpose=transpose)


def product(op: str = "block.matmul", *first: ir.Expr) -> ir.TileType:
    right = ir.Var(
        "r", made("block.move", ir.Var("s", loaded(ir.Mat, (32, 16))), target_memory=ir.Right)
    )
    return made(op, *first, ir.Var("l", moved(ir.Left)), right)


def added() -> ir.TileType:
    tile = ir.Var("x", loaded(ir.Vec))
    return made("block.add", tile, tile)


# The producer; its view as (blayout, slayout, fractal), or None if the type carries none.
PRODUCERS: list[tuple[str, Callable[[], ir.TileType], tuple[str, str, int] | None]] = [
    ("load to Vec", lambda: loaded(ir.Vec), None),
    ("load to Mat", lambda: loaded(ir.Mat), ("col_major", "row_major", 512)),
    ("move to Left", lambda: moved(ir.Left), ("row_major", "row_major", 512)),
    ("move to Right", lambda: moved(ir.Right), ("row_major", "col_major", 512)),
    # Right memory has one layout; the native module gives a transposed tile another.
    ("move to Left, transposed", lambda: moved(ir.Left, transpose=True),
     ("row_major", "row_major", 512)),
    ("move to Right, transposed", lambda: moved(ir.Right, transpose=True),
     ("row_major", "col_major", 512)),
    ("move to Vec", lambda: moved(ir.Vec, of=ir.Vec), None),
    ("matmul", product, ("col_major", "row_major", 1024)),
    ("matmul_acc", lambda: product("block.matmul_acc", ir.Var("a", product())),
     ("col_major", "row_major", 1024)),
    ("add", added, None),
    ("column", lambda: loaded(ir.Vec, (16, 1)), None),
    ("by hand", lambda: ir.TileType([4, 4], ir.FP32), None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("produce", "layout"), [row[1:] for row in PRODUCERS], ids=[row[0] for row in PRODUCERS]
)
def test_default_views(
    produce: Callable[[], ir.TileType], layout: tuple[str, str, int] | None
) -> None:
    """Tiles outside vector memory carry the view of their memory; those inside carry none."""
    view = produce().tile_view
    if layout is None:
        assert view is None
        return
    assert view is not None
    assert (view.blayout.name, view.slayout.name, view.fractal) == layout
    assert (view.valid_shape, view.stride, view.start_offset, view.pad) == (
        (),
        (),
        None,
        ir.TilePad.null,
    )


# In vector memory a tile's view is implied by its shape.
IMPLIED = [
    ("tile", (16, 32), ("row_major", "none_box", 512)),
    ("column", (16, 1), ("col_major", "none_box", 512)),
    ("row", (1, 32), ("row_major", "none_box", 512)),
]


@pytest.mark.parametrize(
    ("shape", "layout"), [row[1:] for row in IMPLIED], ids=[row[0] for row in IMPLIED]
)
def test_implied_views(shape: tuple[int, int], layout: tuple[str, str, int]) -> None:
    """The API's view of a loaded tile is that of `effective_view`; a column's is column-major."""
    view = effective_view(loaded(ir.Vec, shape))
    assert (view.blayout.name, view.slayout.name, view.fractal) == layout
