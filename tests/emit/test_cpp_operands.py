"""The rules of `cpp_operands.py`; `test_golden.py` applies them to all texts."""

from __future__ import annotations

from tests.emit.cpp_operands import faults


def test_broken_texts_are_found() -> None:
    """Each rule detects a text that breaks it."""
    text = """
using aType = Tile<TileType::Vec, float, 8, 8, BLayout::RowMajor, -1, -1>;
using bType = Tile<TileType::Vec, half, 8, 16, BLayout::RowMajor, -1, -1>;
using cType = Tile<TileType::Vec, float, 8192, 8, BLayout::RowMajor, -1, -1>;
using xShapeDim5 = Shape<1, 1, 1, 8, 8>;
using xStrideDim5 = Stride<1, 1, 1, 128, 2>;
using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
TADD(a, a, b);
TORS(a, a, 3);
TRESHAPE(b, a);
TLOAD(c, xGlobal);
"""
    assert [*faults(text)] == [
        "TADD ['a', 'a', 'b']: operands of different types",
        "TORS ['a', 'a', '3']: the result lies on the operand",
        "TRESHAPE ['b', 'a']: ('Vec', 'float', 8, 8, 'RowMajor') becomes "
        "('Vec', 'half', 8, 16, 'RowMajor')",
        "TLOAD c xGlobal: gaps between the elements of a line",
        "TLOAD c xGlobal: too many rows",
    ]
