"""InitMemRef: which variables share a buffer, and where copies are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypto.language as pl
from pypto._src.dtypes import DataType
from pypto._src.errors import PassError
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Var
from pypto._src.ir.stmts import Function, Program
from pypto._src.passes.memory.init_mem_ref import init_mem_ref, with_memrefs
from pypto._src.passes.pass_manager import PassManager
from pypto._src.passes.structure.normalize_stmt_structure import normalized
from tests.passes import oracle
from tests.passes.build import (
    COLS,
    FP32,
    ROWS,
    Block,
    buffer_ids,
    index,
    listing,
    memref,
    random_kernel,
    tensor,
)

X, OUT = [64, 128], [64, 128]


def moves(function: Function) -> list[str]:
    return [line.strip() for line in listing(function).splitlines() if "move(" in line]


def arguments(n: int) -> list[Any]:
    """Return x, y, n and out for a random kernel."""
    rng = np.random.default_rng(7)
    x, y = (rng.standard_normal((4 * ROWS, COLS)).astype(np.float32) for _ in range(2))
    return [x, y, n, np.zeros((4 * ROWS, COLS), np.float32)]


def test_every_variable_gets_a_buffer_in_order_of_definition() -> None:
    """Parameters first, then tiles; a store's result is the tensor that it writes."""
    block, x, out = Block(), tensor("x", X), tensor("out", OUT)
    a = block.load("a", x, [0, 0], [64, 128])
    b = block.let("b", "block.add", a, a)
    r = block.store("r", b, [0, 0], out)
    planned = with_memrefs(block.function([x, out], [r]))
    assert buffer_ids(planned) == {"x": 0, "out": 1, "a": 2, "b": 3, "r": 1}
    variables = {v.name: v for v in planned.params}
    assert memref(variables["x"]).memory_space_ is MemorySpace.DDR
    assert memref(variables["x"]).size_ == 64 * 128 * 4


def test_views_share_the_buffer_of_their_operand() -> None:
    """A reshape, and a reshape of a reshape, are the same bytes."""
    block, x, out = Block(), tensor("x", X), tensor("out", OUT)
    a = block.load("a", x, [0, 0], [64, 128])
    v = block.let("v", "block.reshape", a, [128, 64])
    w = block.let("w", "block.reshape", v, [64, 128])
    r = block.store("r", w, [0, 0], out)
    ids = buffer_ids(with_memrefs(block.function([x, out], [r])))
    assert ids["a"] == ids["v"] == ids["w"] == 2


def accumulate(init: str = "block.full", *, after: bool = False, yields: str = "sum") -> Function:
    """Return a kernel that carries one tile ``acc`` through a loop over the rows of x."""
    block, x, out = Block(), tensor("x", [256, 128]), tensor("out", OUT)
    if init == "block.full":
        zero = block.let("zero", init, [64, 128], value=0.0, dtype=FP32)
    else:
        zero = block.load("zero", x, [0, 0], [64, 128])

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        a = inner.load("a", x, [i * 64, 0], [64, 128])
        total = inner.let("sum", "block.add", args[0], a)
        return {"sum": [total], "zero": [zero], "iter": [args[0]]}[yields]

    results = block.loop({"acc": zero}, body, stop=4)
    last = block.let("last", "block.add", results[0], zero if after else results[0])
    return block.function([x, out], [block.store("r", last, [0, 0], out)])


def test_an_accumulator_is_one_buffer_without_copies() -> None:
    """Init value, iter_arg, yielded value and result of a loop share a buffer, without moves."""
    planned = with_memrefs(accumulate())
    ids = buffer_ids(planned)
    assert ids["zero"] == ids["acc_it"] == ids["sum"] == ids["acc_out"]
    assert ids["a"] != ids["sum"]
    assert moves(planned) == []


def test_an_init_needed_after_the_loop_is_copied_into_the_loop() -> None:
    """The loop would overwrite what the code after it still reads."""
    planned = with_memrefs(accumulate(after=True))
    ids = buffer_ids(planned)
    assert moves(planned) == ["acc_out_copy0 = move(zero)"]
    assert "for i in 0, 4, 1 (acc_it=acc_out_copy0)" in listing(planned)
    assert ids["acc_out_copy0"] == ids["acc_it"] == ids["acc_out"] != ids["zero"]


def test_a_yielded_value_from_outside_the_loop_is_copied() -> None:
    """The next iteration and the code after the loop read the carried buffer, not the outer one."""
    planned = with_memrefs(accumulate(yields="zero"))
    ids = buffer_ids(planned)
    assert ids["zero"] != ids["acc_it"]
    assert len(moves(planned)) == 2  # into the loop, and at its end


def test_an_unchanged_iter_arg_needs_no_copy() -> None:
    """Yielding the iter_arg itself leaves the bytes where they are."""
    planned = with_memrefs(accumulate(yields="iter"))
    assert moves(planned) == []


def two_carried(yields: str) -> Function:
    """Return a loop that carries tiles p and q and yields them in the given order."""
    block, x, out = Block(), tensor("x", [128, 128]), tensor("out", OUT)
    p = block.load("p", x, [0, 0], [64, 128])
    q = block.load("q", x, [64, 0], [64, 128])

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        total = inner.let("total", "block.add", args[0], args[1])
        choices = {
            "swap": [args[1], args[0]],
            "twice": [total, total],
            "shift": [args[1], total],
        }
        return choices[yields]

    results = block.loop({"p": p, "q": q}, body, stop=3)
    r = block.store("r", block.let("s", "block.sub", *results), [0, 0], out)
    return block.function([x, out], [r])


def test_swapped_tiles_go_through_a_third_buffer() -> None:
    """Swapping two buffers takes three moves, in an order that loses nothing."""
    planned = with_memrefs(two_carried("swap"))
    ids = buffer_ids(planned)
    assert [line.split(" = ")[1] for line in moves(planned)] == [
        "move(q_it)",
        "move(p_it)",
        "move(q_it_copy0)",
    ]
    assert len({ids["p_it"], ids["q_it"], ids["q_it_copy0"]}) == 3


def test_a_value_yielded_twice_is_copied_once() -> None:
    """One of the two carried buffers is computed in place, the other gets a copy."""
    assert len(moves(with_memrefs(two_carried("twice")))) == 1


def test_a_shift_copies_only_what_moves() -> None:
    """(p, q) = (q, p + q): q moves into the buffer of p once the sum has read it."""
    planned = with_memrefs(two_carried("shift"))
    assert len(moves(planned)) == 2
    x = np.arange(128 * 128, dtype=np.float32).reshape(128, 128)
    expected = oracle.run(
        two_carried("shift"), [x, np.zeros((64, 128), np.float32)], by_memory=False
    )
    found = oracle.run(planned, [x, np.zeros((64, 128), np.float32)], by_memory=True)
    np.testing.assert_array_equal(found[0], expected[0])


def test_scalars_beside_carried_tiles_keep_their_place() -> None:
    """A while loop that counts, and swaps two tiles in each iteration."""
    block, x, out = Block(), tensor("x", [128, 128]), tensor("out", OUT)
    p = block.load("p", x, [0, 0], [64, 128])
    q = block.load("q", x, [64, 0], [64, 128])

    def body(inner: Block, count: Var, args: list[Any]) -> Sequence[Var]:
        return [args[1], args[0]]

    [first, _] = block.repeat({"p": p, "q": q}, body, stop=3)
    kernel = block.function([x, out], [block.store("r", first, [0, 0], out)])
    x_value = np.arange(128 * 128, dtype=np.float32).reshape(128, 128)
    args = [x_value, np.zeros((64, 128), np.float32)]
    [result] = oracle.run(with_memrefs(kernel), args, by_memory=True)
    np.testing.assert_array_equal(result, x_value[64:])


def conditional(update: bool) -> Function:
    """Return a kernel in which one arm replaces a tile and the other keeps it."""
    block, x, out, n = Block(), tensor("x", X), tensor("out", OUT), index("n")
    a = block.load("a", x, [0, 0], [64, 128])

    def then(inner: Block) -> Sequence[Var]:
        return [inner.let("b", "block.add", a, a)]

    def keep(inner: Block) -> Sequence[Var]:
        return [a]

    [m] = block.branch(n > 0, ["m"], then, keep)
    last = block.let("last", "block.add", m, m if update else a)
    return block.function([x, n, out], [block.store("r", last, [0, 0], out)])


def test_a_tile_that_one_arm_replaces_needs_no_copy() -> None:
    """In the other arm the old value is dead once the new one is made, so they share a buffer."""
    planned = with_memrefs(conditional(update=True))
    ids = buffer_ids(planned)
    assert moves(planned) == []
    assert ids["a"] == ids["b"] == ids["m"]


def test_a_tile_that_lives_on_after_a_branch_is_copied_in_the_arm() -> None:
    """The branch's result must not be the buffer of a tile that is read later."""
    planned = with_memrefs(conditional(update=False))
    assert moves(planned) == ["m_copy0 = move(a)"]
    assert buffer_ids(planned)["m"] != buffer_ids(planned)["a"]


def test_a_carried_tensor_is_its_init() -> None:
    """A loop that stores rows carries a name for the output, not another buffer."""
    block, x, out = Block(), tensor("x", [256, 128]), tensor("out", [256, 128])

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        a = inner.load("a", x, [i * 64, 0], [64, 128])
        return [inner.store("w", a, [i * 64, 0], args[0])]

    [last] = block.loop({"o": out}, body, stop=4)
    ids = buffer_ids(with_memrefs(block.function([x, out], [last])))
    assert ids["out"] == ids["o_it"] == ids["w"] == ids["o_out"]


def product(*, reread: bool = False, twice: bool = False, columns: int = 64) -> Function:
    """Return a matrix product over three slices of K that accumulates in a loop."""
    fp16 = DataType.FP16
    block = Block()
    a, b = tensor("a", [64, 192], fp16), tensor("b", [192, columns], fp16)
    out = tensor("out", [64, columns])

    def operands(inner: Block, k: Any) -> tuple[Var, Var]:
        am = inner.let("am", "block.load", a, [0, k], [64, 64], target_memory=MemorySpace.Mat)
        bm = inner.let("bm", "block.load", b, [k, 0], [64, columns], target_memory=MemorySpace.Mat)
        left = inner.let("left", "block.move", am, target_memory=MemorySpace.Left)
        right = inner.let("right", "block.move", bm, target_memory=MemorySpace.Right)
        return left, right

    first = block.let("first", "block.matmul", *operands(block, 0))

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        left, right = operands(inner, i * 64)
        acc = args[0]
        total = inner.let("total", "block.matmul_acc", acc, left, right)
        if reread:
            total = inner.let("again", "block.matmul_acc", acc, left, right)
        return [total, *args[1:]]

    inits = {"acc": first, "acc2": first} if twice else {"acc": first}
    if twice:

        def body2(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
            return [*body(inner, i, args[:1]), args[1]]

        results = block.loop(inits, body2, start=1, stop=2)
    else:
        results = block.loop(inits, body, start=1, stop=3)
    return block.function([a, b, out], [block.store("r", results[0], [0, 0], out)])


def test_an_accumulator_in_the_matrix_unit_is_one_buffer() -> None:
    """Product, carried value and sums are the same bytes of Acc memory."""
    planned = with_memrefs(product())
    ids = buffer_ids(planned)
    assert ids["first"] == ids["acc_it"] == ids["total"] == ids["acc_out"]


def test_an_accumulator_read_after_its_update_is_an_error() -> None:
    """The matrix unit accumulates in place, so the old sum is gone."""
    with pytest.raises(PassError) as caught:
        with_memrefs(product(reread=True))
    assert caught.value.message == (
        "'acc_it' is still needed after block.matmul_acc has added to it, "
        "and accumulators cannot be copied"
    )
    assert caught.value.hint == "use the result instead of 'acc_it' from here on"
    assert caught.value.location.begin_line > 0


def test_an_accumulator_that_would_need_a_copy_is_an_error() -> None:
    """Two carried accumulators that start from one product need two buffers of Acc."""
    with pytest.raises(PassError, match="a tile in Acc memory cannot be copied") as caught:
        with_memrefs(product(twice=True))
    assert caught.value.hint == "create a separate 'first' for 'acc2_out'"


@given(st.data(), st.integers(5, 40), st.integers(0, 3))
def test_random_kernels_compute_the_same_in_their_buffers(
    data: st.DataObject, size: int, n: int
) -> None:
    """In loops, branches, views and stores, shared bytes hold the values of the SSA form."""
    kernel = random_kernel(lambda below: data.draw(st.integers(0, below - 1)), size)
    expected = oracle.run(kernel, arguments(n), by_memory=False)
    found = oracle.run(with_memrefs(kernel), arguments(n), by_memory=True)
    assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]


@pytest.mark.parametrize(
    ("shape", "hint"),
    [
        ("[n, 64]", "take blocks of constant size, then the rest in tiles [1, 64]"),
        ("[n, n]", "take blocks of constant size, the last one up to the end of the tensor"),
        ("[8, n]", "take blocks of constant size, the last one up to the end of the tensor"),
    ],
)
def test_a_tile_of_no_constant_size_is_an_error(shape: str, hint: str) -> None:
    """The hint says what to do about rows, for which ops single rows suffice, and about columns."""
    block = "pl.Tensor[[64, 64], pl.FP32]"
    source = pl.parse_program(
        "@pl.program\nclass P:\n"
        "    @pl.function(type=pl.FunctionType.InCore)\n"
        f"    def kernel(self, n: pl.INT64, x: {block}, out: pl.Out[{block}]):\n"
        f"        tile = pl.load(x, [0, 0], {shape})\n"
        f"        out = pl.store(tile, [0, 0], {shape}, out)\n"
    )
    with pytest.raises(PassError) as caught:
        PassManager.get_strategy().run_passes(source)
    message = "the shape of tile 'tile' is not constant, so it cannot be allocated"
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize("before", [True, False])
def test_the_first_tile_of_no_constant_size_is_reported(before: bool) -> None:
    """Whether a loop carries it or not: the first one in the text."""
    lone = "        lone = pl.load(x, [0, 0], [n, 8])\n"
    carried = (
        "        sums = pl.load(x, [0, 0], [n, 8])\n"
        "        for i in pl.range(4):\n"
        "            sums = pl.exp(sums)\n"
    )
    block = "pl.Tensor[[64, 64], pl.FP32]"
    source = pl.parse_program(
        "@pl.program\nclass P:\n"
        "    @pl.function(type=pl.FunctionType.InCore)\n"
        f"    def kernel(self, n: pl.INT64, x: {block}, out: pl.Out[{block}]):\n"
        f"{lone + carried if before else carried + lone}"
        "        out = pl.store(lone, [0, 0], [n, 8], out)\n"
        "        out = pl.store(sums, [0, 8], [n, 8], out)\n"
    )
    with pytest.raises(PassError) as caught:
        PassManager.get_strategy().run_passes(source)
    name = "lone" if before else "sums"
    assert caught.value.message.startswith(f"the shape of tile '{name}' is not constant")


def test_the_pass_keeps_programs_in_normal_form() -> None:
    """Every body is one sequence; runs of operations are kept together."""
    kernel = accumulate(after=True)
    program = init_mem_ref()(Program([kernel]))
    assert normalized(program) is program
    [result] = program.functions_
    assert listing(result) == listing(with_memrefs(kernel))
