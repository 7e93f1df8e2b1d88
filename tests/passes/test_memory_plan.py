"""MemoryPlan: the table, the maps, and the planners."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from pypto import ir
from pypto._src.commands.programs import load
from pypto._src.errors import MemoryPlanError
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.stmts import Function, Program
from pypto._src.passes.memory.allocate_memory_addr import with_addresses
from pypto._src.passes.memory.init_mem_ref import with_memrefs
from pypto._src.passes.memory.memory_plan import MemoryPlan
from pypto._src.passes.pass_manager import PassManager
from tests.passes.build import Block, random_kernel, tensor


def chain() -> Function:
    """Return a kernel of two loads, a sum and a store on [8, 128] tiles, 4096 bytes each."""
    block = Block()
    x, y, out = (tensor(n, [8, 128]) for n in ("x", "y", "out"))
    a = block.load("a", x, [0, 0], [8, 128])
    b = block.load("b", y, [0, 0], [8, 128])
    c = block.let("c", "block.add", a, b)
    return with_memrefs(block.function([x, y, out], [block.store("r", c, [0, 0], out)]))


TEXT = """\
k, Vec: 12,288 of 188,416 bytes (7 %), no plan is lower than 8,192
  a 0x000000 +4096    a: [8, 128] FP32, lines 1-3
  b 0x001000 +4096    b: [8, 128] FP32, lines 2-3
  c 0x002000 +4096    c: [8, 128] FP32, lines 3-4
  .........cc.....
  .........cc.....
  .......bb.......
  .......bb.......
  .....aaaa.......
  .....aaaa......."""


def test_text_of_a_compiled_kernel() -> None:
    """One line per buffer, then a map of address by time."""
    assert str(MemoryPlan.of(Program([with_addresses(chain())], "P"))) == TEXT


def test_planners_of_a_kernel_without_addresses() -> None:
    """The sum takes the place of an operand in both, and the exact planner proves it optimal."""
    for planner in ("fast", "exact"):
        [kernel] = MemoryPlan.of(Program([chain()], "P"), planner=planner).kernels
        [space] = kernel.spaces
        assert (space.space, space.height, space.bound) == (MemorySpace.Vec, 8192, 8192)
        assert space.optimal
        assert space.fits
        assert [b.address for b in space.buffers] == [0, 4096, 4096]


def test_page_draws_every_segment() -> None:
    """The page has one rectangle per time span, titled with its contents, and is deterministic."""
    plan = ir.MemoryPlan.of(Program([with_addresses(chain())], "P"))
    page = plan.html()
    assert page.count("<rect ") == 3
    assert "<title>c: [8, 128] FP32, 0x2000 +4,096</title>" in page
    assert page.startswith("<!DOCTYPE html>")
    assert page == plan._repr_html_()  # pyright: ignore[reportPrivateUsage]


def test_what_has_no_plan_is_refused() -> None:
    """A kernel before InitMemRef has nothing to plan; the planner's name has to be known."""
    block = Block()
    x, out = tensor("x", [8, 128]), tensor("out", [8, 128])
    a = block.load("a", x, [0, 0], [8, 128])
    bare = Program([block.function([x, out], [block.store("r", a, [0, 0], out)])], "P")
    with pytest.raises(MemoryPlanError, match="tiles of kernel 'k' have no memory references yet"):
        MemoryPlan.of(bare)
    with pytest.raises(ValueError, match="planner is 'best', wanted 'fast' or 'exact'"):
        MemoryPlan.of(bare, planner="best")


def test_random_kernels_are_planned_to_the_bound() -> None:
    """Of 200 drawn kernels with up to 40 buffers, at least 95 % are proven optimal; none is worse
    than first fit."""
    proven = planned = 0
    for seed in range(200):
        rng = Random(seed)
        program = Program([with_memrefs(random_kernel(rng.randrange, 10 + seed % 40))], "P")
        fast = MemoryPlan.of(program, planner="fast").kernels[0].spaces
        exact = MemoryPlan.of(program, planner="exact").kernels[0].spaces
        for quick, best in zip(fast, exact, strict=True):
            assert best.bound <= best.height <= quick.height
            if len(best.buffers) <= 40:
                planned += 1
                proven += best.optimal
    assert planned >= 150
    assert proven >= 0.95 * planned


HELPER = """\
import pypto.language as pl






@pl.inline
def doubled(t):
    u = pl.add(t, t)
    return u
"""
KERNEL = """\
import pypto.language as pl
from plan_helper import doubled


@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, x: pl.Tensor[[8, 64], pl.FP32], out: pl.Out[pl.Tensor[[8, 64], pl.FP32]]):
        t = pl.load(x, [0, 0], [8, 64])
        out = pl.store(doubled(t), [0, 0], [8, 64], out)
"""


def test_lines_of_another_file(tmp_path: Path) -> None:
    """Lines in an inlined function's file are distinguished from those in the kernel's file."""
    (tmp_path / "plan_helper.py").write_text(HELPER)
    (tmp_path / "kernel.py").write_text(KERNEL)
    program = PassManager.get_strategy().run_passes(load(str(tmp_path / "kernel.py")))
    plan = MemoryPlan.of(program)
    each = plan.kernels[0].spaces[0].buffers[0]
    assert str(plan).splitlines()[1].endswith("t: [8, 64] FP32, lines 9-9, plan_helper.py 10-10")
    assert (each.lines, each.elsewhere[0][1:]) == ((9, 9), (10, 10))
    assert plan.as_data()[0]["buffers"][0]["elsewhere"][0]["last"] == 10
    assert "<td>9-9, plan_helper.py 10-10</td>" in plan.html()


def test_padding_is_told() -> None:
    """Rows of 5 elements take 32 bytes, and the note says what that costs."""
    block = Block()
    x, y = tensor("x", [32, 5]), tensor("y", [32, 8])
    a = block.load("a", x, [0, 0], [32, 5])
    b = block.load("b", y, [0, 0], [32, 8])
    stores = [block.store("r", a, [0, 0], x), block.store("s", b, [0, 0], y)]
    function = with_memrefs(block.function([x, y], stores))
    plan = MemoryPlan.of(Program([with_addresses(function)], "P"))
    lines = str(plan).splitlines()
    assert lines[1].endswith("a: [32, 5] FP32, 384 bytes of padding (38 %), lines 1-3")
    assert lines[2].endswith("b: [32, 8] FP32, lines 2-4")
    assert [each["padding"] for each in plan.as_data()[0]["buffers"]] == [384, 0]
    assert "<td>1,024</td><td>384</td>" in plan.html()
