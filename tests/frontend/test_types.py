"""Annotations of parameters and results, directions, and outputs that must be written."""

from __future__ import annotations

import pytest

from pypto._src.dtypes import DataType
from pypto._src.errors import ParserTypeError, UnsupportedFeatureError
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import ParamDirection, TensorLayout
from pypto._src.ir.exprs import ConstInt, Var
from pypto._src.ir.types import ScalarType, Type
from tests.frontend.texts import error, kernel

BEFORE = """
N = pl.dynamic("N")
SIZE = 64
SHAPE = [64, SIZE]
DTYPE = pl.FP16
Matrix = pl.Tensor[[64, 64], pl.FP32]
def half(n): return n // 2
"""


def parameter(annotation: str) -> Type:
    return kernel(f"p: {annotation}", "pass", before=BEFORE, trusted=True).params[0].type


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        ("pl.INT64", "pl.Scalar[pl.INT64]"),
        ("pl.Scalar[pl.BF16]", "pl.Scalar[pl.BF16]"),
        ("pl.Scalar(pl.FP32)", "pl.Scalar[pl.FP32]"),
        ("pl.Tensor[[64, 32], pl.FP8]", "pl.Tensor[[64, 32], pl.FP8E4M3FN]"),
        ("pl.Tensor[(64, 32), pl.FP32]", "pl.Tensor[[64, 32], pl.FP32]"),
        ("pl.Tensor((64, 32), pl.FP32)", "pl.Tensor[[64, 32], pl.FP32]"),
        ("pl.Tile(shape=[16, 16], dtype=pl.FP16)", "pl.Tile[[16, 16], pl.FP16]"),
        ("pl.Tensor[SHAPE, DTYPE]", "pl.Tensor[[64, 64], pl.FP16]"),
        ("pl.Tensor[[SIZE * 2, half(SIZE)], pl.FP32]", "pl.Tensor[[128, 32], pl.FP32]"),
        ("pl.Tensor[[-1, 8], pl.FP32]", "pl.Tensor[[-1, 8], pl.FP32]"),
        ("Matrix", "pl.Tensor[[64, 64], pl.FP32]"),
        (
            "pl.Tensor[[64], pl.FP32, pl.NZ]",
            "pl.Tensor[[64], pl.FP32, pl.TensorView(layout=pl.TensorLayout.NZ)]",
        ),
        (
            "pl.Tile[[16, 16], pl.FP16, pl.MemRef(pl.MemorySpace.Left, 0, 512, 2), "
            "pl.TileView(valid_shape=[8, 16], blayout=pl.TileLayout.col_major)]",
            "pl.Tile[[16, 16], pl.FP16, pl.MemRef(pl.MemorySpace.Left, 0, 512, 2), "
            "pl.TileView(valid_shape=[8, 16], blayout=pl.TileLayout.col_major)]",
        ),
        (
            "pl.Tile((16, 16), pl.FP16, memref=pl.MemRef(pl.MemorySpace.Left, "
            "pl.ConstInt(0, pl.INT64), 512), tile_view=pl.TileView())",
            "pl.Tile[[16, 16], pl.FP16, pl.MemRef(pl.MemorySpace.Left, 0, 512, 0), pl.TileView()]",
        ),
        (
            "pl.Tuple[[pl.INT64, pl.Tensor[[8], pl.FP32]]]",
            "pl.Tuple[[pl.Scalar[pl.INT64], pl.Tensor[[8], pl.FP32]]]",
        ),
    ],
)
def test_annotation(annotation: str, text: str) -> None:
    """What each form of annotation means, as printed."""
    assert str(parameter(annotation)) == text


def test_symbolic_dimensions() -> None:
    """One DynVar is one variable; a dimension may be a parameter that comes later."""
    found = kernel(
        "a: pl.Tensor[[N, n], pl.FP32], b: pl.Tensor[[N], pl.FP32], n: pl.INT64",
        "pass",
        before=BEFORE,
    )
    a, b, n = (p.type for p in found.params)
    assert isinstance(a, TensorType)
    assert isinstance(b, TensorType)
    assert isinstance(a.shape[0], Var)
    assert a.shape[0] is b.shape[0]
    assert a.shape[1] is found.params[2]
    assert isinstance(n, ScalarType)


def test_directions() -> None:
    """Out and InOut wrap a parameter's type; a scalar may be Out."""
    found = kernel(
        "a: pl.Tensor[[8], pl.FP32], b: pl.InOut[pl.Tensor[[8], pl.FP32]], "
        "c: pl.Out[pl.Scalar[pl.FP32]]",
        "pass",
        options="(type=pl.FunctionType.Orchestration)",
    )
    assert found.param_directions == (
        ParamDirection.In,
        ParamDirection.InOut,
        ParamDirection.Out,
    )
    assert found.func_type.name == "Orchestration"


def test_layout_view() -> None:
    """A layout after the element type becomes a view without strides."""
    kind = parameter("pl.Tensor[[8, 8], pl.FP32, pl.TensorLayout.DN]")
    assert isinstance(kind, TensorType)
    assert kind.tensor_view is not None
    assert (kind.tensor_view.layout, kind.tensor_view.stride) == (TensorLayout.DN, ())
    assert isinstance(kind.shape[0], ConstInt)
    assert kind.shape[0].dtype is DataType.INDEX


def test_memory_references_are_shared() -> None:
    """Within a function, equal space and id are one MemRef object."""
    ref = "pl.MemRef(pl.MemorySpace.Vec, 0, 512, 2)"
    found = kernel(f"a: pl.Tile[[16, 16], pl.FP16, {ref}], b: pl.Tile[[4], pl.FP16, {ref}]", "pass")
    a, b = (p.type for p in found.params)
    assert isinstance(a, TileType)
    assert isinstance(b, TileType)
    assert a.shares_memref_with(b)


@pytest.mark.parametrize(
    ("params", "slug"),
    [
        ("p", "annotation"),
        ("p: int", "annotation"),
        ("p: 'pl.Tensor[[8], pl.FP32]'", "annotation"),
        ("p: tuple[pl.INT64, pl.INT64]", "annotation"),
        ("p: pl.Tensor", "annotation"),
        ("p: pl.Tensor[[8]]", "annotation"),
        ("p: pl.Tensor[8, pl.FP32]", "annotation"),
        ("p: pl.Tensor[[8], pl.FP31]", "annotation"),
        ("p: pl.Tensor[[8], SIZE]", "annotation"),
        ("p: pl.Tensor[[0.5], pl.FP32]", "annotation"),
        ("p: pl.Tile[[8, 8], pl.FP32, pl.NZ]", "annotation"),
        ("p: pl.Out[pl.Out[pl.Tensor[[8], pl.FP32]]]", "annotation"),
        ("p: pl.InOut[pl.Scalar[pl.FP32]]", "scalar-inout"),
        ("p: pl.InOut[pl.FP32]", "scalar-inout"),
        (
            "p: pl.Tile[[8], pl.FP32, pl.MemRef(pl.MemorySpace.Vec, 0, 32, 1)], "
            "q: pl.Tile[[8], pl.FP32, pl.MemRef(pl.MemorySpace.Vec, 0, 64, 1)]",
            "memref",
        ),
    ],
)
def test_annotation_refused(params: str, slug: str) -> None:
    """An annotation that is not a kernel type is rejected at the annotation."""
    found = error(params, "pass", before=BEFORE)
    assert (type(found), found.slug) == (ParserTypeError, slug)


@pytest.mark.parametrize("params", ["*p: pl.INT64", "**p: pl.INT64", "p: pl.INT64 = 1"])
def test_odd_parameters_are_refused(params: str) -> None:
    """Kernels have neither defaults nor starred parameters."""
    assert type(error(params, "pass")) is UnsupportedFeatureError


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ("pl.INT32", "return n"),
        ("pl.INT64", "return n, n"),
        ("pl.INT64", "x = n"),
        ("tuple[pl.INT64, pl.INT64]", "return n"),
    ],
)
def test_results_are_checked(result: str, code: str) -> None:
    """The returned values have the declared types."""
    found = error("n: pl.INT64", code, result=result)
    assert (type(found), found.slug) == (ParserTypeError, "return-type")


def test_returned_number_takes_the_declared_type() -> None:
    """A bare number in a return statement has the declared element type."""
    text = str(kernel("n: pl.INT64", "return 1, n", result="tuple[pl.FP16, pl.INT64]"))
    assert text.endswith("return pl.const(1.0, pl.FP16), n")


OUT = "x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
T = "t = pl.load(x, [0, 0], [64, 64])\n"


@pytest.mark.parametrize(
    "code",
    [
        "pl.store(t, [0, 0], [64, 64], out)",
        "out = pl.store(t, [0, 0], [64, 64], out)\nreturn out",
        "o = out\nfor i in pl.range(4):\n    o = pl.store(t, [i, 0], [64, 64], o)",
        "for i, (o,) in pl.range(4, init_values=(out,)):\n"
        "    o = pl.yield_(pl.store(t, [i, 0], [64, 64], o))\nout = o",
        "if x.shape[0] > 2:\n    out = pl.store(t, [0, 0], [64, 64], out)",
        "v = pl.view(out, [64, 64], [0, 0])\npl.store(t, [0, 0], [64, 64], v)",
        "pl.store(t, [0, 0], [64, 64], out)\nout2 = out\nout = out2",
    ],
)
def test_output_is_written(code: str) -> None:
    """A store into the output counts, also through another name, a loop or a view."""
    text = code if "return" in code else f"{code}\nreturn out"
    assert kernel(OUT, T + text).return_types


@pytest.mark.parametrize(
    ("code", "slug"),
    [
        ("pass", "out-never-written"),
        ("u = pl.exp(t)", "out-never-written"),
        ("o = pl.store(t, [0, 0], [64, 64], x)", "out-never-written"),
        ("out = t", "out-rebound"),
        ("out = x", "out-rebound"),
        ("out = [1]", "out-rebound"),
        ("out = pl.store(t, [0, 0], [64, 64], x)", "out-rebound"),
        ("for i in pl.range(4):\n    out = x", "out-rebound"),
    ],
)
def test_output_mistakes(code: str, slug: str) -> None:
    """An output that is never written, or whose name is rebound, is an error."""
    found = error(OUT, T + code)
    assert (type(found), found.slug) == (ParserTypeError, slug)
    assert found.location.begin_line == (
        4 if slug == "out-never-written" else found.location.begin_line
    )
    if code.endswith("out = x"):
        assert found.hint == "write out[:] = x"
    else:
        assert "pl.store(" in str(found.hint) or "use another name" in str(found.hint)


@pytest.mark.parametrize(
    "code",
    [
        "pl.store(t, [0, 0], [64, 64], x)",
        "x = pl.store(t, [0, 0], [64, 64], x)",
        "for i in pl.range(4):\n    x[:] = t",
    ],
)
def test_input_is_not_written(code: str) -> None:
    """If parameters have directions, one without a direction cannot be written."""
    found = error(OUT, f"{T}{code}\nout = pl.store(t, [0, 0], [64, 64], out)")
    assert (type(found), found.slug) == (ParserTypeError, "input-written")
    assert found.hint == "write x: pl.InOut[pl.Tensor[[64, 64], pl.FP32]]"
    assert [label.span.begin_line for label in found.related] == [4]


def test_other_tensor_under_the_name_of_an_input_is_written() -> None:
    """A parameter's name may be rebound to an output, or a view of one, which is written."""
    stored = "out = pl.store(t, [0, 0], [64, 64], out)"
    for value in ("out", "pl.view(out, [64, 64], [0, 0])"):
        code = f"{T}{stored}\nx = {value}\nx = pl.store(t, [0, 0], [64, 64], x)"
        assert kernel(OUT, code).params[0].name == "x"
