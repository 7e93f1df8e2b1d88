"""LegalizeTiles: elementwise ops on column vectors are done on rows of the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import TileType, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Var
from pypto._src.ir.stmts import Function, Program, statements
from pypto._src.ir.traversal.walk import walk
from pypto._src.ops.layout import tile_spaces
from pypto._src.passes.memory.init_mem_ref import with_memrefs
from pypto._src.passes.pass_base import Pass
from pypto._src.passes.pipeline import PassPipeline
from pypto._src.passes.structure.convert_to_ssa import ConvertToSSA
from pypto._src.passes.tensors.legalize_tiles import LegalizeTiles, with_legal_tiles
from pypto._src.passes.verification import NOTHING_KNOWN, PassFacts
from tests.passes.build import FP32, Block, buffer_ids, index, listing, tensor


def shapes(function: Function) -> dict[str, tuple[int, ...] | None]:
    variables = [node for node in walk(function) if isinstance(node, Var)]
    return {v.name: static_shape(v.type) for v in variables if isinstance(v.type, TileType)}


def softmax() -> Function:
    """Return a softmax over rows: its row statistics are column vectors."""
    block, x, out = Block(), tensor("x", [64, 128]), tensor("out", [64, 1])
    a = block.load("a", x, [0, 0], [64, 128])
    tmp = block.let("tmp", "block.create_tile", [64, 128], dtype=FP32)
    m = block.let("m", "block.row_max", a, tmp)
    b = block.let("b", "block.row_expand_sub", a, m)
    s = block.let("s", "block.row_max", b, tmp)
    e = block.let("e", "block.exp", s)
    f = block.let("f", "block.add", e, s)
    return block.function([x, out], [block.store("r", f, [0, 0], out)])


def test_elementwise_ops_work_on_rows() -> None:
    """Each column is viewed as a row once; only values needed as a column are turned back."""
    legal = with_legal_tiles(softmax())
    assert listing(legal).splitlines() == [
        "a = load(x, [0, 0], [64, 128])",
        "tmp = create_tile([64, 128])",
        "m = row_max(a, tmp)",
        "b = row_expand_sub(a, m)",
        "s = row_max(b, tmp)",
        "s_row = reshape(s, [1, 64])",
        "e_row = exp(s_row)",
        "f_row = add(e_row, s_row)",
        "f = reshape(f_row, [64, 1])",
        "r = store(f, [0, 0], [64, 1], out)",
        "return r",
    ]
    found = shapes(legal)
    assert found["f_row"] == found["s_row"] == (1, 64)
    assert found["f"] == found["s"] == (64, 1)


def test_one_column_in_a_long_function() -> None:
    """A pipeline looks at one statement of each form first; the others are not forgotten."""
    block, x, out = Block(), tensor("x", [64, 128]), tensor("out", [64, 1])
    tile = block.load("a", x, [0, 0], [64, 128])
    for number in range(30):
        tile = block.let(f"t{number}", "block.exp", tile)
    tmp = block.let("tmp", "block.create_tile", [64, 128], dtype=FP32)
    column = block.let("m", "block.row_max", tile, tmp)
    for number in range(30):
        column = block.let(f"m{number}", "block.exp", column)
    function = block.function([x, out], [block.store("r", column, [0, 0], out)])
    seen: list[tuple[int, int]] = []

    class Look(Pass):
        def transform(self, program: Program, facts: PassFacts) -> Program:
            [each] = program.functions_
            seen.append((len(facts.representative_statements(each)), len(statements(each.body))))
            return program

    passes = [ConvertToSSA(), Look(), LegalizeTiles()]
    made = PassPipeline(passes).run(Program([function], "P")).functions_[0]
    assert listing(made) == listing(with_legal_tiles(function))
    assert shapes(made)["m29_row"] == (1, 64)
    assert seen == [(7, 65)]
    assert len(NOTHING_KNOWN.representative_statements(function)) == 65


def test_rows_and_columns_are_one_buffer() -> None:
    """Turning a column into a row moves nothing."""
    ids = buffer_ids(with_memrefs(with_legal_tiles(softmax())))
    assert ids["s"] == ids["s_row"]
    assert ids["f"] == ids["f_row"] != ids["e_row"]


def test_tiles_that_are_no_columns_stay() -> None:
    """A kernel without column vectors is the same object afterwards."""
    block, x, out = Block(), tensor("x", [64, 128]), tensor("out", [64, 128])
    a = block.load("a", x, [0, 0], [64, 128])
    b = block.let("b", "block.exp", a)
    kernel = block.function([x, out], [block.store("r", b, [0, 0], out)])
    assert with_legal_tiles(kernel) is kernel
    program = Program([kernel])
    assert LegalizeTiles()(program) is program


def test_a_filled_column_is_a_filled_row() -> None:
    """An op without tile operands gets the row's shape."""
    block, out = Block(), tensor("out", [64, 1])
    zero = block.let("zero", "block.full", [64, 1], value=0.0, dtype=FP32)
    kernel = block.function([out], [block.store("r", zero, [0, 0], out)])
    assert listing(with_legal_tiles(kernel)).splitlines()[:2] == [
        "zero_row = full([1, 64], 0.0)",
        "zero = reshape(zero_row, [64, 1])",
    ]


def test_carried_columns_are_turned_in_the_body() -> None:
    """A row made in one block is not used outside that block."""
    block, x, out = Block(), tensor("x", [64, 1]), tensor("out", [64, 1])
    a = block.load("a", x, [0, 0], [64, 1])

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        return [inner.let("b", "block.add", args[0], a)]

    [last] = block.loop({"acc": a}, body, stop=index("n"))
    c = block.let("c", "block.exp", a)
    d = block.let("d", "block.add", last, c)
    kernel = block.function([x, out], [block.store("r", d, [0, 0], out)])
    assert listing(with_legal_tiles(kernel)).splitlines()[1:] == [
        "for i in 0, n, 1 (acc_it=a)",
        "  acc_it_row = reshape(acc_it, [1, 64])",
        "  a_row = reshape(a, [1, 64])",
        "  b_row = add(acc_it_row, a_row)",
        "  b = reshape(b_row, [64, 1])",
        "  yield b",
        "-> acc_out",
        "a_row1 = reshape(a, [1, 64])",
        "c_row = exp(a_row1)",
        "acc_out_row = reshape(acc_out, [1, 64])",
        "d_row = add(acc_out_row, c_row)",
        "d = reshape(d_row, [64, 1])",
        "r = store(d, [0, 0], [64, 1], out)",
        "return r",
    ]


def test_a_reduction_of_a_column_is_a_copy() -> None:
    """Each of its rows has one element."""
    block, x, out = Block(), tensor("x", [64, 1]), tensor("out", [64, 1])
    a = block.load("a", x, [0, 0], [64, 1])
    b = block.let("b", "block.row_max", a, a)
    kernel = block.function([x, out], [block.store("r", b, [0, 0], out)])
    assert "b = vec_move(a)" in listing(with_legal_tiles(kernel))


def test_a_column_beside_a_column_is_two_tiles() -> None:
    """Ops that broadcast a column over a tile's rows have nothing to broadcast over a column."""
    block, x, out = Block(), tensor("x", [64, 1]), tensor("out", [64, 1])
    a = block.load("a", x, [0, 0], [64, 1])
    b = block.let("b", "block.row_expand_sub", a, a)
    kernel = block.function([x, out], [block.store("r", b, [0, 0], out)])
    assert listing(with_legal_tiles(kernel)).splitlines() == [
        "a = load(x, [0, 0], [64, 1])",
        "a_row = reshape(a, [1, 64])",
        "b_row = sub(a_row, a_row)",
        "b = reshape(b_row, [64, 1])",
        "r = store(b, [0, 0], [64, 1], out)",
        "return r",
    ]


def compared(dtype: DataType, *, kept: bool = False) -> Function:
    """Return a kernel that compares two tiles and selects by the mask, optionally storing it."""
    block = Block()
    x, y, out, mask = (tensor(name, [32, 64], dtype) for name in ("x", "y", "out", "mask"))
    a = block.load("a", x, [0, 0], [32, 64])
    b = block.load("b", y, [0, 0], [32, 64])
    m = block.let("m", "block.cmp", a, b, cmp_type=4)
    c = block.let("c", "block.sel", m, a, b)
    stored = [block.store("r", c, [0, 0], out)]
    if kept:
        stored.append(block.store("k", m, [0, 0], mask))
    return block.function([x, y, out, mask], stored)


def test_a_choice_by_a_comparison_takes_its_bits() -> None:
    """The 0/1 mask between a comparison and a select is not materialized."""
    assert listing(with_legal_tiles(compared(FP32))).splitlines() == [
        "a = load(x, [0, 0], [32, 64])",
        "b = load(y, [0, 0], [32, 64])",
        "c_bits = cmp(a, b, 8)",
        "c_scratch = create_tile([1, 16])",
        "c = sel(c_bits, a, b, c_scratch)",
        "r = store(c, [0, 0], [32, 64], out)",
        "return r",
    ]


def test_a_mask_that_is_read_stays() -> None:
    """If the mask has another reader, it is materialized; the select uses bits all the same."""
    lines = listing(with_legal_tiles(compared(FP32, kept=True))).splitlines()
    assert [line for line in lines if " = cmp(" in line or " = sel(" in line] == [
        "m_bits = cmp(a, b, 8)",
        "m = sel(m_bits, m_ones, m_zeros, m_scratch)",
        "c_bits = cmp(a, b, 8)",
        "c = sel(c_bits, a, b, c_scratch)",
    ]


def test_integers_of_16_bits_are_compared_as_floats() -> None:
    """a > b is max(a, b) != b; equality is tested on floats, which represent 16 bits exactly."""
    assert listing(with_legal_tiles(compared(DataType.UINT16))).splitlines()[2:9] == [
        "c_larger = maximum(a, b)",
        "c_signed = reshape(c_larger, [32, 64], 18)",
        "c_wide = cast(c_signed)",
        "c_signed1 = reshape(b, [32, 64], 18)",
        "c_wide1 = cast(c_signed1)",
        "c_bits = cmp(c_wide, c_wide1, 8)",
        "c_scratch = create_tile([1, 16])",
    ]


def test_unsigned_elements_are_reduced_as_signed_ones() -> None:
    """With half of the range subtracted, they are ordered like signed ones."""
    block, dtype = Block(), DataType.UINT16
    x, out = tensor("x", [16, 64], dtype), tensor("out", [16, 1], dtype)
    a = block.load("a", x, [0, 0], [16, 64])
    tmp = block.let("tmp", "block.create_tile", [16, 64], dtype=dtype)
    m = block.let("m", "block.row_max", a, tmp)
    function = block.function([x, out], [block.store("r", m, [0, 0], out)])
    assert listing(with_legal_tiles(function)).splitlines()[2:10] == [
        "m_moved = subs(a, pl.const(32768, pl.UINT16))",
        "m_signed = reshape(m_moved, [16, 64], 18)",
        "m_signed1 = reshape(tmp, [16, 64], 18)",
        "m_found = row_max(m_signed, m_signed1)",
        "m_back = reshape(m_found, [16, 1], 34)",
        "m_back_row = reshape(m_back, [1, 16])",
        "m_row = adds(m_back_row, pl.const(32768, pl.UINT16))",
        "m = reshape(m_row, [16, 1])",
    ]


def test_a_bias_in_mat_memory_is_moved() -> None:
    """A matmul needs its bias in Bias memory; a bias already there is not moved."""
    block, x = Block(), tensor("x", [64, 64])
    z, out = tensor("z", [1, 64]), tensor("out", [64, 64])
    places = (("left", MemorySpace.Left), ("right", MemorySpace.Right))
    loaded = block.let("t", "block.load", x, [0, 0], [64, 64], target_memory=MemorySpace.Mat)
    a, b = (block.let(name, "block.move", loaded, target_memory=space) for name, space in places)
    row = block.let("row", "block.load", z, [0, 0], [1, 64], target_memory=MemorySpace.Mat)
    p = block.let("p", "block.matmul_bias", a, b, row)
    bias = block.let("bias", "block.move", row, target_memory=MemorySpace.Bias)
    q = block.let("q", "block.matmul_bias", a, b, bias)
    returned = [block.store("r", p, [0, 0], out), block.store("s", q, [0, 0], out)]
    legal = with_legal_tiles(block.function([x, z, out], returned))
    assert listing(legal).splitlines()[4:8] == [
        "p_bias = move(row)",
        "p = matmul_bias(left, right, p_bias)",
        "bias = move(row)",
        "q = matmul_bias(left, right, bias)",
    ]
    places_of = tile_spaces(legal)
    assert {v.name for v, s in places_of.items() if s is MemorySpace.Bias} == {"p_bias", "bias"}
