"""Old (March) and newer spellings of the same thing: both give the same program."""

from __future__ import annotations

import pytest

import pypto.language as pl
from pypto import ir

HEAD = """\
@pl.function(type=pl.FunctionType.InCore)
def f(
    x: pl.Tensor[[64, 64], pl.FP32],
    y: pl.Tensor[[64, 64], pl.FP32],
    out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
):
    t = pl.load(x, [0, 0], [64, 64])
    u = pl.load(y, [0, 0], [64, 64])
"""
PAIRS: dict[str, tuple[list[str], list[str]]] = {
    "namespace": (["r = pl.block.add(t, u)"], ["r = pl.tile.add(t, u)"]),
    "part of a tile": (
        ["r = pl.block.view(t, [64, 64], [0, 0])"],
        ["r = pl.tile.slice(t, [64, 64], [0, 0])"],
    ),
    "maxs": (["r = pl.block.maxs(t, 1.0)"], ["r = pl.tile.maximums(t, 1.0)"]),
    "mins": (["r = pl.block.mins(t, 1.0)"], ["r = pl.tile.minimums(t, 1.0)"]),
    "adds": (["r = pl.adds(t, 1.0)"], ["r = pl.tile.adds(t, 1.0)"]),
    "number": (["r = pl.adds(t, 1.0)"], ["r = pl.tile.add(t, 1.0)"]),
    "scalar": (
        ["k = pl.cast(1, pl.FP32)", "r = pl.maximum(t, k)"],
        ["k = pl.cast(1, pl.FP32)", "r = pl.tile.maximum(t, rhs=k)"],
    ),
    "compared with a number": (["r = pl.cmps(t, 1.0, 4)"], ["r = pl.tile.cmp(t, 1.0, 4)"]),
    "create": (
        ["r = pl.tile.row_max(t, pl.block.create_tile([64, 64], pl.FP32))"],
        ["r = pl.tile.row_max(t, pl.tile.create([64, 64], pl.FP32))"],
    ),
    "scratch": (
        ["m = pl.row_max(t)", "r = pl.row_expand_sub(t, m)"],
        ["m = pl.tile.row_max(t, pl.create_tile([64, 64], pl.FP32))",
         "r = pl.tile.row_expand_sub(t, m)"],
    ),
    "valid part": (
        ["q = pl.load(x, [0, 0], [64, 64], valid_shapes=[32, 64])", "r = pl.fillpad(q)"],
        ["q = pl.load(x, [0, 0], [64, 64], valid_shape=[32, 64])",
         "r = pl.fillpad(q, pad_value=pl.PadValue.zero)"],
    ),
    "memory in fourth place": (
        ["r = pl.load(x, [0, 0], [64, 64], pl.MemorySpace.Vec)"],
        ["r = pl.load(x, [0, 0], [64, 64], target_memory=pl.Mem.Vec)"],
    ),
    "valid part in fourth place": (
        ["q = pl.load(x, [0, 0], [64, 64], valid_shapes=[32, 64])", "r = pl.fillpad(q)"],
        ["q = pl.load(x, [0, 0], [64, 64], [32, 64])", "r = pl.fillpad(q)"],
    ),
    "transpose": (["r = pl.block.transpose(t, 0, 1)"], ["r = pl.tile.transpose(t, 0, 1)"]),
    "rem": (
        ["r = pl.block.rem(t, u)"],
        ["r = pl.tile.rem(t, u, pl.create_tile([64, 64], pl.FP32))"],
    ),
    "move": (
        ["r = pl.block.move(t, pl.MemorySpace.Vec)"],
        ["r = pl.tile.move(t, pl.Mem.Vec)"],
    ),
    "full": (
        ["r = pl.full([64, 64], pl.FP32, 1.0)"],
        ["r = pl.tile.full([64, 64], dtype=pl.FP32, value=1.0)"],
    ),
    "element": (
        ["r = pl.add(t, pl.block.read(t, [0, 0]))"],
        ["r = pl.add(t, pl.tile.read(t, [0, 0]))"],
    ),
    "choice": (
        ["r = pl.block.sel(pl.block.cmp(t, u, cmp_type=1), t, u)"],
        ["r = pl.tile.sel(pl.tile.cmp(t, u, cmp_type=1), t, u, pl.create_tile([1, 32], pl.UINT8))"],
    ),
}  # fmt: skip
STORES = {
    "march": "out = pl.store(r, [0, 0], {0}, out)",
    "later": "out = pl.store(r, [0, 0], out)",
    "named": "out = pl.tile.store(r, [0, 0], out, shapes={0}, atomic=pl.AtomicType.None_)",
}
WHOLE = {
    "add_scalar": ("pl.tensor.add_scalar(x, 1.0)", "pl.tensor.adds(x, 1.0)"),
    "sub_scalar": ("pl.tensor.sub_scalar(x, 1.0)", "pl.tensor.subs(x, 1.0)"),
    "mul_scalar": ("pl.tensor.mul_scalar(x, 2.0)", "pl.tensor.muls(x, 2.0)"),
    "div_scalar": ("pl.tensor.div_scalar(x, 2.0)", "pl.tensor.divs(x, 2.0)"),
    "create": ("pl.tensor.create([64, 64], pl.FP32)", "pl.create_tensor([64, 64], dtype=pl.FP32)"),
    "transpose": ("pl.tensor.transpose(x, 0, 1)", "pl.transpose(x, 0, 1)"),
}


def program(lines: list[str], store: str) -> ir.Function | ir.Program:
    """Return a kernel with these statements."""
    shape = "[64, 1]" if "row_max(t, " in lines[-1] else "[64, 64]"
    body = "".join(f"    {line}\n" for line in [*lines, store.format(shape)])
    return pl.parse(f"{HEAD}{body}    return out\n")


@pytest.mark.parametrize("name", PAIRS)
def test_tiles(name: str) -> None:
    """Both spellings are one program, which is printed in one of them and read back."""
    march, later = PAIRS[name]
    first = program(march, STORES["march"])
    for store in STORES.values():
        found = program(later, store)
        ir.assert_structural_equal(found, first)
        assert str(found) == str(first)
    ir.assert_structural_equal(pl.parse(str(first)), first)


@pytest.mark.parametrize("name", WHOLE)
def test_tensors(name: str) -> None:
    """The same holds for ops on tensors."""

    def made(value: str) -> ir.Function | ir.Program:
        kind = "pl.Tensor[[64, 64], pl.FP32]"
        return pl.parse(f"@pl.function\ndef f(x: {kind}) -> {kind}:\n    return {value}\n")

    march, later = map(made, WHOLE[name])
    ir.assert_structural_equal(later, march)
