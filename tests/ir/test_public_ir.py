"""The public package pypto.ir."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pypto import ir
from pypto._src.errors import OpError
from tests.ir.samples import var


def test_public_names_exist_once() -> None:
    """Every public name exists, and is listed once."""
    assert [name for name in ir.__all__ if not hasattr(ir, name)] == []
    assert len(set(ir.__all__)) == len(ir.__all__)
    with pytest.raises(AttributeError, match=r"module 'pypto\.ir' has no attribute 'nothing'"):
        getattr(ir, "nothing")  # noqa: B009


def test_members_are_names_of_the_module() -> None:
    """Members of enumerations and element types are names of the module."""
    assert ir.Vec is ir.MemorySpace.Vec is ir.MemorySpace.UB
    assert ir.max is ir.TilePad.max
    assert ir.InCore is ir.ScopeKind.InCore
    assert ir.Opaque is ir.FunctionType.Opaque
    assert str(ir.MemorySpace.Vec) == "MemorySpace.Vec"
    assert str(ir.PipeType.MTE2) == "PipeType.MTE2"
    assert int(ir.PipeType.FIX) == 6
    assert ir.DYNAMIC_DIM == -1


def test_heavier_modules_load_on_demand() -> None:
    """Importing the package loads neither ops nor passes nor NumPy."""
    code = (
        "import sys, pypto.ir\n"
        "names = ('pypto._src.ops', 'pypto._src.passes', 'numpy')\n"
        "print([n for n in names if n in sys.modules])"
    )
    source = Path(__file__).parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_ops_by_name() -> None:
    """Ops are found by full name or through op.<level>; an unknown name is reported."""
    assert ir.get_op("block.add") is ir.op.block.add is ir.op.block_ops.add
    assert ir.is_op_registered("system.bar_all")
    assert not ir.is_op_registered("block.nothing")
    with pytest.raises(OpError, match=r"there is no op 'block\.nothing'"):
        ir.get_op("block.nothing")
    with pytest.raises(AttributeError, match="there is no op 'nothing' in block"):
        _ = ir.op.block.nothing
    assert "load" in dir(ir.op.block)
    assert "load" not in dir(ir.op.system)


def test_create_op_call() -> None:
    """A call is created by name from operands, keywords and a span, and has its type."""
    x = var("x", ir.TensorType([64, 64], ir.FP32))
    span = ir.Span("f.py", 1, 1)
    offsets, shape = ir.MakeTuple([0, 0]), ir.MakeTuple([16, 32])
    load = ir.create_op_call("block.load", [x, offsets, shape], span)
    assert load.span is span
    assert str(load.type) == "pl.Tile[[16, 32], pl.FP32]"
    words = {"target_memory": ir.MemorySpace.Mat}
    placed = ir.create_op_call("block.load", [x, offsets, shape], words, span)
    assert placed.kwargs["target_memory"] is ir.MemorySpace.Mat
    with pytest.raises(OpError, match="takes 4 operands, got 1"):
        ir.create_op_call("block.l0c_store", [x])
    with pytest.raises(OpError, match=r"block\.load misses its argument 'offsets'"):
        ir.create_op_call("block.load", [x])
    with pytest.raises(TypeError, match="takes kwargs and a span"):
        ir.create_op_call("block.load", [x], 3)
