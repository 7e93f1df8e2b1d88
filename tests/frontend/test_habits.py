"""Harmless habits of existing programs: read as intended, with a warning if a text misleads.

Each program runs in the interpreter, also with the pipes of a core, compiled, and from its texts
for the assembler.
"""

from __future__ import annotations

import linecache
import re
import textwrap
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pypto
from pypto import ir, runtime
from pypto._src.errors import EvaluationError, PyptoError, PyptoWarning
from pypto._src.ir.stmts import Program
from tests.examples.emitted import Emitted
from tests.natively import Array, compiler

TARGETS = ("interpreter", "strict interpreter", "cpu", "pto")
HEAD = """\
import pypto.language as pl

HEAD_DIM = pl.dynamic("head_dim")


@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.{kind})
"""


@dataclass(frozen=True)
class Habit:
    """The functions of a program, its arrays before and after a call, and the warnings."""

    text: str
    arrays: Callable[[], list[Any]]
    after: Callable[[Sequence[Any]], Array]  # the last array
    warned: Sequence[str] = ()
    kind: str = "InCore"


def ramp(*shape: int, dtype: Any = np.float32) -> Array:
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def zeros(*shape: int) -> Array:
    return np.zeros(shape, np.float32)


HABITS: dict[str, Habit] = {
    "an annotation that the value contradicts": Habit(
        """
    def main(self, x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        a: pl.Tile[[16, 32], pl.FP16] = pl.load(x, [0, 0], [16, 64])
        n: pl.Scalar[pl.FP32] = pl.add(a, 1.0)
        y = pl.store(n, [0, 0], [16, 64], y)
""",
        lambda: [ramp(16, 64), zeros(16, 64)],
        lambda given: given[0] + 1,
        [
            "habit.py:10: the annotation is Tile[[16, 32], FP16], but the value is "
            "Tile[[16, 64], FP32]; the value's type is used; write pl.Tile[[16, 64], pl.FP32] "
            "[annotation-mismatch]",
            "habit.py:11: the annotation is Scalar[FP32], but the value is "
            "Tile[[16, 64], FP32]; the value's type is used; write pl.Tile[[16, 64], pl.FP32] "
            "[annotation-mismatch]",
        ],
    ),
    "an output returned as it came": Habit(
        """
    def main(
        self, x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]
    ) -> pl.Tensor[[16, 64], pl.FP32]:
        a = pl.load(x, [0, 0], [16, 64])
        return y
""",
        lambda: [ramp(16, 64), zeros(16, 64)],
        lambda given: given[1],
        [
            "habit.py:10: output 'y' of main is returned as it came, never written; write "
            "y = pl.store(tile, [0, 0], [16, 64], y) [out-never-written]"
        ],
    ),
    "an input that is returned for the output": Habit(
        """
    def main(
        self, x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]
    ) -> pl.Tensor[[16, 64], pl.FP32]:
        y = self.twice(x, y)
        return x

    @pl.function(type=pl.FunctionType.InCore)
    def twice(
        self, x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]
    ) -> pl.Tensor[[16, 64], pl.FP32]:
        a = pl.load(x, [0, 0], [16, 64])
        return pl.store(pl.add(a, a), [0, 0], [16, 64], y)
""",
        lambda: [ramp(16, 64), zeros(16, 64)],
        lambda given: 2 * given[0],
        [
            "habit.py:13: main returns its input x, and not its output 'y'; write return y "
            "[input-returned]"
        ],
        kind="Orchestration",
    ),
    "a size with a name where a number is wanted": Habit(
        """
    def main(
        self,
        x: pl.Tensor[[16, HEAD_DIM], pl.FP32],
        y: pl.Out[pl.Tensor[[16, HEAD_DIM], pl.FP32]],
    ) -> pl.Tensor[[16, HEAD_DIM], pl.FP32]:
        r = self.twice(x, y)
        return r

    @pl.function(type=pl.FunctionType.InCore)
    def twice(
        self, x: pl.Tensor[[16, 128], pl.FP32], y: pl.Out[pl.Tensor[[16, 128], pl.FP32]]
    ) -> pl.Tensor[[16, 128], pl.FP32]:
        a = pl.load(x, [0, 0], [16, 128])
        return pl.store(pl.add(a, a), [0, 0], [16, 128], y)
""",
        lambda: [ramp(16, 128), zeros(16, 128)],
        lambda given: 2 * given[0],
        kind="Orchestration",
    ),
    "a store in a loop or branch, returned after it": Habit(
        """
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[64, 64], pl.FP32],
        y: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        for i in pl.range(4):
            r = pl.store(pl.load(x, [i * 16, 0], [16, 64]), [i * 16, 0], [16, 64], y)
        if n > 3:
            s = pl.store(pl.load(r, [32, 0], [16, 64]), [0, 0], [16, 64], r)
        return s
""",
        lambda: [4, ramp(64, 64), zeros(64, 64)],
        lambda given: np.concatenate([given[1][32:48], given[1][16:]]),
    ),
    "a name that one branch assigns, read where it was taken": Habit(
        """
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[64, 64], pl.FP32],
        y: pl.InOut[pl.Tensor[[16, 64], pl.FP32]],
    ):
        if n > 2:
            a = pl.load(x, [0, 0], [16, 64])
            if n > 3:
                row, fits = n * 4, n > 5
        if fits:
            a = pl.load(x, [48, 0], [16, 64])
        if n > 3:
            y = pl.store(pl.add(a, pl.load(x, [row, 0], [16, 64])), [0, 0], [16, 64], y)
""",
        lambda: [4, ramp(64, 64), zeros(16, 64)],
        lambda given: given[1][:16] + given[1][16:32],
        [
            "habit.py:18: 'fits' is assigned in only one branch of an if, and read after it: "
            "where the other branch is taken, it has no value; write fits = False before the if "
            "[maybe-unassigned]",
            "habit.py:18: 'row' is assigned in only one branch of an if, and read after it: "
            "where the other branch is taken, it has no value; write row = 0 before the if "
            "[maybe-unassigned]",
            "habit.py:16: 'a' is assigned in only one branch of an if, and read after it: where "
            "the other branch is taken, it has no value; write a = pl.full([16, 64], pl.FP32, 0.0) "
            "before the if [maybe-unassigned]",
        ],
    ),
    "values of any kind that one branch assigns": Habit(
        """
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[64, 64], pl.FP32],
        y: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
    ):
        rows = n + 2
        if n > 2:
            pair = (pl.load(x, [0, 0], [16, 64]), n)
            five = pl.load(x, [16, 0], [16, 64], valid_shapes=[5, 64])
            some = pl.load(x, [32, 0], [16, 64], valid_shapes=[rows, 64])
        if n > 2:
            a, m = pair
            y = pl.store(pl.mul(a, m), [0, 0], [16, 64], y)
            y = pl.store(five, [16, 0], [16, 64], y)
            y = pl.store(pl.add(some, 1.0), [32, 0], [16, 64], y)
""",
        lambda: [4, ramp(64, 64), zeros(64, 64)],
        lambda given: np.concatenate(
            [
                given[1][:16] * 4,
                *(given[1][16:21], zeros(11, 64)),
                *(given[1][32:38] + 1, zeros(26, 64)),
            ]
        ),
        [
            "habit.py:18: 'five' is assigned in only one branch of an if, and read after it: where "
            "the other branch is taken, it has no value; write five = "
            "pl.set_validshape(pl.create_tile([16, 64], pl.FP32), 5, 64) before the if "
            "[maybe-unassigned]",
            "habit.py:17: 'pair' is assigned in only one branch of an if, and read after it: where "
            "the other branch is taken, it has no value; write pair = "
            "(pl.full([16, 64], pl.FP32, 0.0), 0) before the if [maybe-unassigned]",
            "habit.py:19: 'some' is assigned in only one branch of an if, and read after it: where "
            "the other branch is taken, it has no value; write some = "
            "pl.set_validshape(pl.create_tile([16, 64], pl.FP32), rows, 64) before the if "
            "[maybe-unassigned]",
        ],
    ),
    "a tensor that one branch makes": Habit(
        """
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[16, 64], pl.FP32],
        y: pl.InOut[pl.Tensor[[16, 64], pl.FP32]],
    ):
        if n > 2:
            t = pl.create_tensor([16, 64], pl.FP32)
            t = self.twice(x, t)
        if n > 2:
            y = self.twice(t, y)

    @pl.function(type=pl.FunctionType.InCore)
    def twice(
        self, x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]
    ) -> pl.Tensor[[16, 64], pl.FP32]:
        a = pl.load(x, [0, 0], [16, 64])
        return pl.store(pl.add(a, a), [0, 0], [16, 64], y)
""",
        lambda: [3, ramp(16, 64), zeros(16, 64)],
        lambda given: 4 * given[1],
        [
            "habit.py:16: 't' is assigned in only one branch of an if, and read after it: where "
            "the other branch is taken, it has no value; write "
            "t = pl.create_tensor([16, 64], pl.FP32) before the if [maybe-unassigned]"
        ],
        kind="Orchestration",
    ),
    "a tensor that one branch makes and a region fills": Habit(
        """
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[16, 64], pl.FP32],
        y: pl.InOut[pl.Tensor[[16, 64], pl.FP32]],
    ):
        if n > 2:
            t = pl.create_tensor([16, 64], pl.FP32)
            with pl.at(level=pl.Level.CORE_GROUP):
                t[:] = x * 2.0
        if n > 2:
            with pl.at(level=pl.Level.CORE_GROUP):
                y[:] = t * 2.0
""",
        lambda: [3, ramp(16, 64), zeros(16, 64)],
        lambda given: 4 * given[1],
        [
            "habit.py:16: 't' is assigned in only one branch of an if, and read after it: where "
            "the other branch is taken, it has no value; write "
            "t = pl.create_tensor([16, 64], pl.FP32) before the if [maybe-unassigned]"
        ],
        kind="Opaque",
    ),
    "a name that has another type in each iteration": Habit(
        """
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[64, 64], pl.FP16],
        y: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
    ):
        a, scale = pl.load(x, [0, 0], [16, 64]), 2
        for i in pl.range(4):
            a = pl.load(x, [i * 16, 0], [16, 64])
            a = pl.cast(a, pl.FP32)
            if i == n:
                scale = 1.5
                a = pl.mul(a, scale)
            else:
                a = pl.row_expand_add(a, pl.row_max(a))
            y = pl.store(a, [i * 16, 0], [16, 64], y)
        y = pl.store(pl.cast(pl.load(x, [0, 0], [1, 64]), pl.FP32), [2, 0], [1, 64], y)
""",
        lambda: [1, ramp(64, 64, dtype=np.float16) % 7, zeros(64, 64)],
        lambda given: np.concatenate(
            [
                (given[1][:2] + 6, given[1][:1], given[1][3:16] + 6, given[1][16:32] * 1.5)[at]
                for at in range(4)
            ]
            + [given[1][32:] + 6]
        ).astype(np.float32),
    ),
    "a name that has another type after both branches": Habit(
        """
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[16, 64], pl.FP16],
        y: pl.InOut[pl.Tensor[[16, 64], pl.FP32]],
    ):
        a = pl.load(x, [0, 0], [16, 64])
        for i in pl.range(3):
            if i == n:
                a = pl.cast(pl.add(a, a), pl.FP32)
            else:
                a = pl.add(pl.cast(a, pl.FP32), 1.0)
            a = pl.cast(a, pl.FP16)
        if n > 5:
            a = pl.cast(a, pl.FP32)
        else:
            b = pl.cast(a, pl.FP32)
            a = pl.sub(b, 1.0)
        y = pl.store(a, [0, 0], [16, 64], y)
""",
        lambda: [1, ramp(16, 64, dtype=np.float16) % 7, zeros(16, 64)],
        lambda given: 2 * given[1].astype(np.float32) + 2,
    ),
    "the first iteration is another one": Habit(
        """
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[64, 64], pl.FP32],
        y: pl.InOut[pl.Tensor[[16, 64], pl.FP32]],
    ):
        for j in pl.range(2):
            for i in pl.range(n):
                a = pl.load(x, [i * 16, 0], [16, 64])
                if i == 0:
                    total = a
                else:
                    total = pl.add(total, a)
                if i == 0:
                    most = pl.row_max(a)
                if i > 0:
                    most = pl.maximum(most, pl.row_max(a))
            if n > 0:
                y = pl.store(pl.row_expand_add(total, most), [0, 0], [16, 64], y)
""",
        lambda: [3, ramp(64, 64), zeros(16, 64)],
        lambda given: given[1][:48].reshape(3, 16, 64).sum(0) + given[1][32:48, 63:],
        [
            "habit.py:19: 'total' is assigned in one branch of an if, and read in the other one: "
            "if no iteration before took the first, it has no value; write "
            "total = pl.full([16, 64], pl.FP32, 0.0) before the loop [maybe-unassigned]",
            "habit.py:23: 'most' is assigned in only one branch of an if, and read after it: "
            "where the other branch is taken, it has no value; write "
            "most = pl.full([16, 1], pl.FP32, 0.0) before the if [maybe-unassigned]",
        ],
    ),
    "a loop that is left with what it looked for": Habit(
        """
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[64, 64], pl.FP32],
        y: pl.InOut[pl.Tensor[[16, 64], pl.FP32]],
    ):
        i = 0
        while i < 4:
            a = pl.load(x, [i * 16, 0], [16, 64])
            if i == n:
                found = a
                break
            i = i + 1
        y = pl.store(found, [0, 0], [16, 64], y)
""",
        lambda: [2, ramp(64, 64), zeros(16, 64)],
        lambda given: given[1][32:48],
        [
            "habit.py:19: 'found' is assigned where the loop is left, and read after it: where it "
            "ends, it has no value; write found = pl.full([16, 64], pl.FP32, 0.0) before the loop "
            "[maybe-unassigned]"
        ],
    ),
    "values of loops, which have one before": Habit(
        """
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[64, 64], pl.FP32],
        y: pl.InOut[pl.Tensor[[16, 64], pl.FP32]],
    ):
        a, row = pl.load(x, [0, 0], [16, 64]), 0
        k = n
        while k > 0:
            for i in pl.range(2):
                if i == 1:
                    a, row = pl.add(a, 1.0), row + 8
            k = k - 1
        y = pl.store(pl.add(a, pl.load(x, [row, 0], [16, 64])), [0, 0], [16, 64], y)
""",
        lambda: [3, ramp(64, 64), zeros(16, 64)],
        lambda given: given[1][:16] + 3 + given[1][24:40],
    ),
    "operands of the matrix unit that nobody moves": Habit(
        """
    def main(
        self,
        x: pl.Tensor[[32, 64], pl.FP32],
        w: pl.Tensor[[64, 32], pl.FP32],
        y: pl.InOut[pl.Tensor[[64, 32], pl.FP32]],
    ):
        total = pl.create_tile([32, 32], pl.FP32)
        bias = pl.load(w, [0, 0], [1, 32])
        for k in pl.range(2):
            a = pl.load(x, [0, k * 32], [32, 32])
            b = pl.load(w, [k * 32, 0], [32, 32], target_memory=pl.MemorySpace.Mat)
            if k == 0:
                total = pl.matmul_bias(a, b, bias)
            else:
                total = pl.matmul_acc(total, pl.move(a, target_memory=pl.MemorySpace.Left), b)
        y = pl.store(total, [0, 0], [32, 32], y)
        y = pl.store(pl.matmul(x[:, 32:64], x[:, 0:32]), [32, 0], [32, 32], y)
""",
        lambda: [ramp(32, 64) % 5, ramp(64, 32) % 3, zeros(64, 32)],
        lambda given: np.concatenate(
            [given[0] @ given[1] + given[1][:1], given[0][:, 32:] @ given[0][:, :32]]
        ),
    ),
    "a single row among the rows of an operand that nobody moves": Habit(
        """
    def main(
        self,
        x: pl.Tensor[[1, 45], pl.FP16],
        w: pl.Tensor[[45, 19], pl.FP16],
        y: pl.Out[pl.Tensor[[1, 19], pl.FP32]],
    ):
        a = pl.load(x, [0, 0], [16, 45], valid_shapes=[1, 45])
        b = pl.load(w, [0, 0], [45, 19])
        y = pl.store(pl.matmul(a, b), [0, 0], [16, 19], y)
""",
        lambda: [
            ramp(1, 45, dtype=np.float16) % 5,
            ramp(45, 19, dtype=np.float16) % 3,
            zeros(1, 19),
        ],
        lambda given: given[0].astype(np.float32) @ given[1].astype(np.float32),
    ),
    "an operand of the matrix unit that vector ops take, too": Habit(
        """
    def main(
        self,
        x: pl.Tensor[[32, 32], pl.FP32],
        y: pl.InOut[pl.Tensor[[64, 32], pl.FP32]],
    ):
        a = pl.load(x, [0, 0], [32, 32])
        a_mat = pl.add(a, 1.0)
        y = pl.store(pl.matmul(a, a), [0, 0], [32, 32], y)
        y = pl.store(a_mat, [32, 0], [32, 32], y)
""",
        lambda: [ramp(32, 32) % 5, zeros(64, 32)],
        lambda given: np.concatenate([given[0] @ given[0], given[0] + 1]),
    ),
    "a part of less precision": Habit(
        """
    def main(
        self, x: pl.Tensor[[16, 64], pl.FP16], y: pl.InOut[pl.Tensor[[32, 64], pl.FP32]]
    ) -> pl.Tensor[[32, 64], pl.FP32]:
        with pl.incore():
            y = pl.assemble(y, x, [8, 0])
        return y
""",
        lambda: [ramp(16, 64, dtype=np.float16), zeros(32, 64)],
        lambda given: np.pad(given[0].astype(np.float32), ((8, 8), (0, 0))),
        kind="Opaque",
    ),
    "numbers as flags": Habit(
        """
    def main(
        self,
        n: pl.Scalar[pl.INT64],
        x: pl.Tensor[[16, 64], pl.FP32],
        y: pl.InOut[pl.Tensor[[16, 64], pl.FP32]],
    ):
        self.twice(x, n, y)
        self.twice(y, 0, y)
        self.twice(y, 2, y)

    @pl.function(type=pl.FunctionType.InCore)
    def twice(
        self,
        x: pl.Tensor[[16, 64], pl.FP32],
        flag: pl.Scalar[pl.BOOL],
        y: pl.InOut[pl.Tensor[[16, 64], pl.FP32]],
    ):
        a = pl.load(x, [0, 0], [16, 64])
        if flag:
            a = pl.add(a, a)
        y = pl.store(a, [0, 0], [16, 64], y)
""",
        lambda: [4, ramp(16, 64), zeros(16, 64)],
        lambda given: 4 * given[1],
        kind="Orchestration",
    ),
}


def parsed(habit: Habit, action: Any = "always") -> tuple[Program, list[str]]:
    """Return a program, and its warnings as ``file:line: text``."""
    text = HEAD.format(kind=habit.kind) + habit.text.lstrip("\n")
    linecache.cache["habit.py"] = (len(text), None, text.splitlines(keepends=True), "habit.py")
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter(action, PyptoWarning)
        names: dict[str, Any] = {"__name__": "kernel"}
        exec(compile(text, "habit.py", "exec"), names)
    assert all(item.category is PyptoWarning for item in shown)
    return names["Kernel"], [f"{item.filename}:{item.lineno}: {item.message}" for item in shown]


def run(program: Program, target: str, arrays: Sequence[Any]) -> None:
    """Call ``main`` on a target."""
    match target:
        case "pto":
            Emitted(program).run("main", arrays)
        case "strict interpreter":
            runtime.compile(program, target="interpreter", entry="main", strict=True)(*arrays)
        case "interpreter":
            runtime.compile(program, target="interpreter", entry="main")(*arrays)
        case _:
            compiler()
            runtime.compile(program, entry="main")(*arrays)


@pytest.mark.parametrize("name", HABITS)
@pytest.mark.parametrize("target", TARGETS)
def test_habit_runs(name: str, target: str) -> None:
    """The program does what was intended, on each target."""
    habit = HABITS[name]
    program, _ = parsed(habit)
    arrays = habit.arrays()
    wanted = habit.after(arrays).copy()
    run(program, target, arrays)
    np.testing.assert_array_equal(arrays[-1], wanted)


@pytest.mark.parametrize("name", HABITS)
def test_habit_warns(name: str) -> None:
    """A text that does not mean what it says gives a warning with file, line and what to write."""
    habit = HABITS[name]
    assert parsed(habit)[1] == list(habit.warned)


def test_a_warning_can_be_an_error() -> None:
    """The category of the warnings is public, so that Python's filters can use it."""
    assert pypto.PyptoWarning is PyptoWarning
    habit = HABITS["an annotation that the value contradicts"]
    with pytest.raises(pypto.PyptoWarning, match="the value's type is used"):
        parsed(habit, "error")


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_a_size_with_a_name_is_checked_when_it_is_known(target: Any) -> None:
    """A constant is required where the caller has a symbol: arrays of another size are rejected."""
    program, _ = parsed(HABITS["a size with a name where a number is wanted"])
    call = runtime.compile(program, target=target, entry="main")
    for columns in (64, 256):
        found = re.escape(f"[16, {columns}] of float32")
        with pytest.raises(EvaluationError, match=rf"'x' .*{found}.* Tensor\[\[16, 128\], FP32\]"):
            call(ramp(16, columns), zeros(16, columns))


@pytest.mark.parametrize("kind", ["a tile", "a scalar"])
def test_a_variable_without_a_value_is_an_error_when_it_is_read(kind: str) -> None:
    """The interpreter checks that the branch was taken that assigns the variable."""
    value = "pl.load(x, [16, 0], [16, 64])" if kind == "a tile" else "16"
    read = "a" if kind == "a tile" else "pl.load(x, [a, 0], [16, 64])"
    habit = Habit(
        f"""
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[64, 64], pl.FP32],
        y: pl.InOut[pl.Tensor[[16, 64], pl.FP32]],
    ):
        if n > 2:
            a = {value}
        y = pl.store({read}, [0, 0], [16, 64], y)
""",
        list,
        lambda given: given[-1],
    )
    program, shown = parsed(habit)
    assert len(shown) == 1
    x, y = ramp(64, 64), zeros(16, 64)
    call = runtime.compile(program, target="interpreter", entry="main")
    call(3, x, y)
    np.testing.assert_array_equal(y, x[16:32])
    with pytest.raises(EvaluationError, match="'a' is read before it has a value") as caught:
        call(2, x, y)
    assert caught.value.span.begin_line == 17


@pytest.mark.parametrize(
    ("body", "line", "hint"),
    [
        (
            "for i in pl.range(2):\n    a = pl.add(pl.cast(a, pl.FP32), 1.0)\n",
            17,
            "before the loop or branch, write a = pl.cast(a, pl.FP32)",
        ),
        (
            "for i in pl.range(2):\n    a = pl.row_max(a)\n    if i == n:\n        continue\n"
            "    a = pl.load(x, [0, 0], [16, 64])\n",
            17,
            "assign to another name: a2 = ...",
        ),
        (
            "for i in pl.range(2):\n    if i == n:\n        a = pl.row_max(a)\n        break\n"
            "y = pl.store(a, [0, 0], [16, 64], y)\n",
            18,
            "assign to another name: a2 = ...",
        ),
        (
            "if n > 2:\n    a = pl.row_max(a)\ny = pl.store(a, [0, 0], [16, 64], y)\n",
            17,
            "assign to another name: a2 = ...",
        ),
        (
            "if n > 2:\n    a = pl.row_max(a)\nelse:\n    a = pl.col_max(a)\n"
            "y = pl.store(a, [0, 0], [16, 64], y)\n",
            17,
            "assign to another name: a2 = ...",
        ),
    ],
)
def test_a_value_of_another_type_that_is_read_outside_is_an_error(
    body: str, line: int, hint: str
) -> None:
    """In another iteration, or after a loop or branch, a name cannot have another type."""
    habit = Habit(
        """
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[16, 64], pl.FP16],
        y: pl.InOut[pl.Tensor[[16, 64], pl.FP16]],
    ):
        a = pl.load(x, [0, 0], [16, 64])
"""
        + textwrap.indent(body, " " * 8),
        list,
        lambda given: given[-1],
    )
    with pytest.raises(PyptoError, match="'a' changes its type in a loop or branch") as caught:
        parsed(habit)
    assert (caught.value.location.begin_line, caught.value.hint) == (line, hint)


@pytest.mark.parametrize("form", ["python", "statement", "bytes"])
@pytest.mark.parametrize(
    "name",
    [
        "a name that one branch assigns, read where it was taken",
        "values of any kind that one branch assigns",
        "a name that has another type in each iteration",
        "a name that has another type after both branches",
    ],
)
def test_a_program_with_such_a_variable_is_read_back(form: str, name: str) -> None:
    """A variable that only one branch assigns, or gives another type, round-trips in every form."""
    habit = HABITS[name]
    program, _ = parsed(habit)
    again: Any
    match form:
        case "python":
            again = ir.parse(str(program))
            ir.assert_structural_equal(again, program)
        case "statement":
            again = ir.from_statement_text(ir.to_statement_text(program))
        case _:
            again = ir.deserialize(ir.serialize(program))
            ir.assert_structural_equal(again, program)
    arrays = habit.arrays()
    wanted = habit.after(arrays).copy()
    runtime.compile(again, target="interpreter", entry="main")(*arrays)
    np.testing.assert_array_equal(arrays[-1], wanted)


def test_calls_built_by_hand_get_their_types() -> None:
    """`ir.Call` without a type stays so; the passes give it the type that the op's rule deduces."""
    tensor, tile = ir.TensorType([16, 64], ir.FP32), ir.TileType([16, 64], ir.FP32)
    x, y, out = (ir.Var(name, tensor) for name in ("x", "y", "out"))
    a, b = (ir.Var(name, tile) for name in "ab")
    start, size = ir.MakeTuple([0, 0]), ir.MakeTuple([16, 64])
    calls = [
        (a, ir.Call(ir.get_op("block.load"), [x, start, size])),
        (b, ir.Call(ir.get_op("block.add"), [a, a])),
        (out, ir.Call(ir.get_op("block.store"), [b, start, size, y])),
    ]
    assert all(isinstance(call.type, ir.UnknownType) for _, call in calls)
    body = ir.SeqStmts([*(ir.AssignStmt(*pair) for pair in calls), ir.ReturnStmt([out])])
    params = [x, (y, ir.ParamDirection.Out)]
    main = ir.Function("main", params, [tensor], body, type=ir.FunctionType.InCore)
    program = ir.Program([main], "Kernel")
    for target in TARGETS:
        arrays = [ramp(16, 64), zeros(16, 64)]
        run(program, target, arrays)
        np.testing.assert_array_equal(arrays[1], 2 * arrays[0], err_msg=target)
