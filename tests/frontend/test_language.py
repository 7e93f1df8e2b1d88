"""The public package: every op has its names, and helpers work outside kernels."""

from __future__ import annotations

import inspect
import pickle
from types import ModuleType
from typing import Any

import pytest

import pypto
import pypto.language as pl
from pypto._src.dtypes import PUBLIC_NAMES, DataType
from pypto._src.errors import OpError, ParserError
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.exprs import Call, Max, Var
from pypto._src.ir.types import scalar_type
from pypto._src.ops.define import BY_PYTHON_NAME, DISPATCHED, OVERLOADS
from pypto._src.ops.unified import Unified, named, unified

NAMESPACES = {"block": pl.block, "tensor": pl.tensor, "system": pl.system}


@pytest.mark.parametrize("level", list(NAMESPACES))
def test_namespaces_hold_all_ops(level: str) -> None:
    """pl.block, pl.tensor and pl.system export every op of their level, and nothing else."""
    module: ModuleType = NAMESPACES[level]
    names = {name: op for (own, name), op in BY_PYTHON_NAME.items() if own == level}
    enums = {"MaskPattern"} if level == "block" else set[str]()
    assert set(module.__all__) - enums == set(names)
    assert {name: getattr(module, name) for name in names} == {
        name: named(level, name) for name in names
    }
    later = {name for own, name in DISPATCHED & BY_PYTHON_NAME.keys() if own == level}
    several = {"add", "div", "mul", "sub"} if level == "tensor" else set[str]()
    found = {name for name in names if isinstance(getattr(module, name), Unified)}
    assert found == several | later


def test_unified_names() -> None:
    """Every unified name is exported: the op if it is the only one, else a dispatcher."""
    names = {op.overload for op in BY_PYTHON_NAME.values() if op.level in ("block", "tensor")}
    names |= {name for level, name in BY_PYTHON_NAME if level == "block"}
    for name in sorted(names):
        assert getattr(pl, name) == unified(name), name
    assert set(pl.__all__) >= names


def test_exports_exist() -> None:
    """All names of __all__ exist, the element types among them."""
    for name in pl.__all__:
        assert getattr(pl, name) is not None
    assert {name: getattr(pl, name) for name in PUBLIC_NAMES} == {
        name: getattr(DataType, name) for name in PUBLIC_NAMES
    }


def test_ops_show_signature_and_manual() -> None:
    """help() and editors show the parameters and docstring of the definition."""
    assert pl.load.doc.startswith("Return")
    assert [p.name for p in pl.load.params][:3] == ["tensor", "offsets", "shapes"]
    manual = inspect.getdoc(pl.add)
    assert manual is not None
    assert "block.adds(lhs, rhs)" in manual
    assert repr(pl.add).startswith("<pl.add: block.add, block.adds")


def test_ops_are_callable_on_expressions() -> None:
    """Outside kernels, too, ops and unified names build calls."""
    tile = Var("t", TileType([16, 16], pl.FP32))
    made = pl.add(tile, 2)
    assert isinstance(made, Call)
    assert made.op is BY_PYTHON_NAME["block", "adds"]
    assert isinstance(pl.add(2, tile), Call)
    n = Var("n", scalar_type(pl.INT64))
    assert isinstance(pl.max(n, 3), Max)
    x = Var("x", TensorType([16, 16], pl.FP32))
    load: Any = pl.load  # the signature says Tensor, which is how kernels are typed
    assert isinstance(load(x, [0, 0], [16, 16]), Call)
    lrelu: Any = pl.lrelu
    with pytest.raises(OpError, match=r"a Tensor, a Tile was wanted"):
        lrelu(x, 0.1)


def test_unified_is_a_name() -> None:
    """Two dispatchers of one name are equal; one of several ops says which operands it expects."""
    assert Unified("add") == pl.add
    assert len(OVERLOADS["add"]) >= 2
    x = Var("x", scalar_type(pl.INT64))
    with pytest.raises(OpError, match=r"pl\.add is for a T"):
        pl.add(x, x)


def test_help_has_the_form_on_scalars() -> None:
    """What a function does on scalars follows the docs of the ops of its name."""
    assert (pl.abs.__doc__ or "").endswith("abs(scalar)\n\nReturn the magnitude of a scalar.")
    assert "of two scalars" not in (pl.tensor.maximum.__doc__ or "")


def test_helpers_outside_kernels() -> None:
    """Loops, yields and constants are ordinary Python outside kernels."""
    assert list(pl.range(2, 8, 3)) == [2, 5]
    assert list(pl.range(2, init_values=[7])) == [(0, (7,)), (1, (7,))]
    assert list(pl.parallel(2)) == [0, 1]
    assert next(pl.while_(init_values=(1, 2))) == (1, 2)
    with pytest.raises(ValueError, match="init_values"):
        pl.while_()
    assert pl.yield_(1) == 1
    assert pl.yield_(1, 2) == (1, 2)
    assert pl.const(3, pl.INT8) == 3
    pl.cond(True)
    with pl.incore():
        pass


def test_dynamic_dimensions() -> None:
    """A dimension is named by an identifier."""
    assert repr(pl.dynamic("M")) == "DynVar('M')"
    with pytest.raises(ValueError, match="identifier"):
        pl.DynVar("2M")


def test_inline_outside_kernels() -> None:
    """An inline function keeps its definition and cannot be called outside kernels."""
    found = pl.parse_program  # any name of this module
    made = pl.inline(_example)
    assert isinstance(made, pl.InlineFunction)
    assert (made.name, made.param_names, made.source_file) == ("_example", ["t"], __file__)
    assert made.closure_vars["pl"].parse_program is found
    assert made.source_lines[made.func_def.lineno + made.line_offset - 1].startswith("def _ex")
    with pytest.raises(TypeError, match="inside kernels"):
        made(1)


def _example(t: object) -> object:
    return t


def test_errors_of_the_parser_package() -> None:
    """The parser package exports the errors and the renderer."""
    with pytest.raises(ParserError) as caught:
        pl.parse("@pl.function\ndef f(n: pl.INT64):\n    x = m\n    y = k\n")
    text = pl.parser.ErrorRenderer(use_color=False).render(caught.value)
    assert text.count("error: ") == 2
    assert text.endswith("2 errors")
    assert "\x1b[" in pl.parser.ErrorRenderer(use_color=True).render(caught.value)
    assert pl.parser.ParserError is ParserError


def test_top_package() -> None:
    """`pypto` has the element types under their old names, checks, and the version."""
    assert pypto.DT_FP32 is DataType.FP32
    assert pypto.DT_INDEX is DataType.INT64
    assert pypto.__version__ == "0.1.0"
    assert pypto.language is pl
    with pytest.raises(ValueError, match="wrong"):
        pypto.check(False, "wrong")
    with pytest.raises(pypto.InternalError, match="broken"):
        pypto.internal_check(0, "broken")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pypto.nothing  # noqa: B018
    assert pickle.loads(pickle.dumps(pypto.DT_BF16)) is DataType.BF16
