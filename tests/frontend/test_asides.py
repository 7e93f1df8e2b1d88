"""Lists of numbers, assertions and queries in programs, and options of slices in regions."""

# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# A value of a region is a tile that authors call a tensor: ops that accept only tiles accept it.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.frontend.diagnose.absent_ops import ABSENT
from pypto.language.parser.diagnostics import ParserError

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)
X = RNG.random((16, 64), np.float32)
ROWS = 16


@pytest.fixture(params=["interpreter", "cpu"])
def target(request: pytest.FixtureRequest) -> Any:
    return request.param


def result(kernel: Any, *args: Any) -> Array:
    """Return what a kernel writes to its last argument; its program is printed and reparsed."""
    program = kernel.parse(*args)
    ir.assert_structural_equal(ir.parse(str(program)), program)
    kernel(*args)
    return args[-1]


def test_numbers_that_choose_rows(target: Any) -> None:
    """A list outside regions is assigned in one loop and read in another one."""

    @pl.jit(target=target)
    def rows(x: pl.Tensor[[16, 64], pl.FP32], y: pl.InOut[pl.Tensor[[16, 64], pl.FP32]]):
        first = pl.array.create(4, pl.INDEX)
        used = pl.array.create(4, pl.BOOL)
        for i in pl.range(4):
            first[i] = 12 - i * 4
            used[i] = i < 3
        for i in pl.range(4):
            row = first[i]
            if used[i]:
                with pl.at(level=pl.Level.CORE_GROUP):
                    y[row : row + 4, :] = pl.add(x[row : row + 4, :], 1.0)
        return y

    y = result(rows, X, np.zeros_like(X))
    assert (y[4:] == X[4:] + 1).all()
    assert not y[:4].any()


def test_numbers_of_a_block(target: Any) -> None:
    """Each block of a launch has its own list; values already read do not change."""

    @pl.jit(target=target)
    def blocks(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        for b in pl.spmd(4):
            held = pl.array.create(2, pl.INT32)
            held[0] = pl.cast(b, pl.INT32)
            held[1] = held[0] + 7
            old = held[0]
            held[0] = held[1]
            held[1] = old
            number = pl.cast(held[0] * 10 + held[1], pl.FP32)
            y[b * 4 : b * 4 + 4, :] = pl.add(x[b * 4 : b * 4 + 4, :], number)
        return y

    y = result(blocks, X, np.zeros_like(X))
    b = np.arange(16)[:, None] // 4
    np.testing.assert_allclose(y, X + (b + 7) * 10 + b, 1e-6)


@pl.jit.inline
def count(counts: pl.Array[2, pl.INT32], at: pl.Scalar[pl.INDEX]):
    """Add one to an item of the caller's list."""
    counts[at] = counts[at] + 1


def test_numbers_of_the_caller(target: Any) -> None:
    """An inlined function modifies the caller's list."""

    @pl.jit(target=target)
    def twice(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        counts = pl.array.create(2, pl.INT32)
        count(counts, 1)
        count(counts, 1)
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.mul(x, pl.cast(counts[1], pl.FP32))
        return y

    assert (result(twice, X, np.zeros_like(X)) == 2 * X).all()


def test_lists_hold_integers() -> None:
    """An item of a list of numbers is an integer, and its index is in bounds."""

    @pl.jit
    def real(x: pl.Tensor[[16, 64], pl.FP32]):
        counts = pl.array.create(2, pl.INT32)
        counts[0] = 1.5
        return x

    @pl.jit
    def outside(x: pl.Tensor[[16, 64], pl.FP32]):
        counts = pl.array.create(2, pl.INT32)
        counts[2] = 1
        return x

    with pytest.raises(ParserError, match=r"holds integers, got the float 1\.5"):
        real.parse(X)
    with pytest.raises(ParserError, match="from 0 to 1, got the int 2"):
        outside.parse(X)


def test_what_is_said_while_a_program_is_parsed(capsys: pytest.CaptureFixture[str]) -> None:
    """Assertions that hold leave no trace; values are printed with their line."""

    @pl.jit
    def plain(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        pl.static_assert(ROWS % 16 == 0, "rows come in blocks of 16")
        pl.static_assert(x.shape[1] == 64)
        pl.static_print("x is", x, ROWS * 2)
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.add(x, 1.0)
        return y

    result(plain, X, np.zeros_like(X))
    shown = capsys.readouterr().out
    assert "x is Tensor[[16, 64], FP32] 32" in shown
    assert "test_asides.py:" in shown


def test_assertions_look_at_constants() -> None:
    """A condition known only at run time, and a computed message, are rejected."""

    @pl.jit
    def unknown(x: pl.Tensor[[16, 64], pl.FP32], n: pl.INT32):
        pl.static_assert(n > 3, "too few")
        return x

    @pl.jit
    def computed(x: pl.Tensor[[16, 64], pl.FP32]):
        pl.static_assert(True, str(ROWS))
        return x

    with pytest.raises(ParserError, match="looks at constants, n > 3 is known when"):
        unknown.parse(X, 4)
    with pytest.raises(ParserError, match="has a message that is written out"):
        computed.parse(X)


def test_questions_of_blocks(target: Any) -> None:
    """A block can query the number of blocks; a loop over vector cores, its core's index."""

    @pl.jit(target=target)
    def numbered(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        with pl.spmd(4):
            block = pl.tile.get_block_idx()
            rows = ROWS // 4
            count = pl.cast(pl.get_block_num(), pl.FP32)
            for lane in pl.split_aiv(2, mode=pl.SplitMode.NONE):
                row = block * rows + lane * 2
                own = pl.cast(pl.tile.get_subblock_idx(), pl.FP32)
                part = pl.add(x[row : row + 2, :], count)
                y[row : row + 2, :] = pl.add(part, own)
        return y

    lane = np.arange(16)[:, None] // 2 % 2
    np.testing.assert_allclose(result(numbered, X, np.zeros_like(X)), X + 4 + lane, 1e-6)


def test_what_changes_no_value(target: Any) -> None:
    """Fences, clusters, markers and hints for the device leave values unchanged."""

    @pl.jit(target=target)
    def marked(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        pl.func_attr({"split": 1})
        ahead = pl.prefetch.make_context()
        read = pl.prefetch.async_prefetch(pl.reshape(x, [1024]), ahead)
        pl.prefetch.wait(read, pl.prefetch.session(ahead))
        cores = pl.min(pl.system.available_aiv_count(), pl.system.available_cluster_count())
        with pl.cluster(name_hint="both"), pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.mul(pl.dump_tag(x), pl.cast(cores, pl.FP32))
            pl.system.fence()
            pl.system.cacheinvalid()
        return y

    assert (result(marked, X, np.zeros_like(X)) == 24 * X).all()


def test_slices_that_reach_over_the_end(target: Any) -> None:
    """With ``clamp`` a slice is valid inside the tensor; dimensions of 1 may be dropped."""

    @pl.jit(target=target)
    def tails(
        x: pl.Tensor[[3, 16, 64], pl.FP32],
        n: pl.INT32,
        y: pl.InOut[pl.Tensor[[3, 16, 64], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            tail = pl.slice(x, [1, 16, 64], [1, n, 0], drop_dims=[0], clamp=True)
            y[0, :, :] = pl.fillpad(tail)
            known = pl.slice(x, [1, 16, 64], [2, 12, 0], drop_dims=[0], clamp=True)
            y[1, :, :] = pl.fillpad(known)
            value = pl.add(pl.slice(x, [1, 16, 64], [0, 0, 0], drop_dims=[0]), 1.0)
            part = pl.slice(value, [16, 64], [0, 0], valid_shape=[3, 64])
            y[2, :, :] = pl.fillpad(part)
        return y

    x = RNG.random((3, 16, 64), np.float32)
    y = result(tails, x, 10, np.zeros_like(x))
    wanted = np.zeros_like(x)
    wanted[0, :6], wanted[1, :4], wanted[2, :3] = x[1, 10:], x[2, 12:], x[0, :3] + 1
    assert (y == wanted).all()


def test_an_option_that_slices_do_not_have() -> None:
    """An unknown option of a slice is an error that names it."""

    @pl.jit
    def odd(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.slice(x, [16, 64], [0, 0], stride=2)
        return y

    with pytest.raises(ParserError, match="has no argument 'stride'"):
        odd.parse(X, X)


def test_elements_are_assigned(target: Any) -> None:
    """An element of a tensor is assigned in place, in loops, branches and blocks."""

    @pl.jit(target=target)
    def turned(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 16], pl.FP32]]):
        for i in pl.spmd(64):
            for j in pl.range(16):
                y[i, j] = x[j, i]
                if j == 3:
                    y[i, j] = 0.5
        return y

    wanted = X.T.copy()
    wanted[:, 3] = 0.5
    np.testing.assert_array_equal(result(turned, X, np.zeros((64, 16), np.float32)), wanted)


def test_new_tensors_outside_regions(target: Any) -> None:
    """`pl.full` and `pl.arange` outside regions create tensors, which regions can read."""

    @pl.jit(target=target)
    def made(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        half = pl.full([16, 64], pl.BF16, value=0.5)
        steps = pl.arange(3, [1, 64], dtype=pl.INT32)
        pairs = pl.concat(x, x)
        with pl.at(level=pl.Level.CORE_GROUP):
            total = pl.add(pairs[:, 32:96], pl.cast(half, pl.FP32))
            y[:, :] = pl.col_expand_add(total, pl.cast(steps, pl.FP32))
        return y

    both = np.concatenate([X, X], 1)[:, 32:96]
    np.testing.assert_allclose(
        result(made, X, np.zeros_like(X)), both + 0.5 + np.arange(3, 67), 1e-6
    )


def test_operators_that_are_not_here() -> None:
    """Each error says why, and what to write instead; none of them is a name of the language."""
    assert [name for name in ABSENT if hasattr(pl, name) or hasattr(pl.tile, name)] == []
    for absent in ABSENT.values():
        verbs = ("write ", "load ", "compare", "compute ", "draw ", "scale ", "sort ", "store ")
        assert absent.hint.startswith(verbs)
    for name, hint in (("ci", "pl.arange"), ("batch_matmul_acc", "pl.add(acc, pl.matmul(x, y))")):
        with pytest.raises(ParserError) as caught:
            pl.parse(f"@pl.function\ndef f(n: pl.INT64):\n    row = pl.tile.{name}(0, [1, 32])\n")
        assert hint in str(caught.value.hint)
