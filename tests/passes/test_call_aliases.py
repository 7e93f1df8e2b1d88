"""One tensor passed twice: which parameters alias, the flags for it, and the reported races."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import passes, runtime
from pypto._src.analysis.accesses import alias_bases
from pypto._src.analysis.call_aliases import Alias, call_aliases
from pypto._src.analysis.stmt_tree import number
from pypto._src.diagnostics import Diagnostic, render
from pypto._src.errors import EvaluationError
from pypto._src.interp.evaluate import Evaluator
from pypto._src.interp.pipe_interpreter import StrictEvaluator
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Program
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from tests import effort
from tests.passes.test_iteration_accesses import body

HEAD = """\
@pl.program
class Launches:
    @pl.function(type=pl.FunctionType.InCore)
    def shift(self, x: pl.Tensor[[64, 32], pl.FP32], out: pl.InOut[pl.Tensor[[64, 32], pl.FP32]]):
        for i in pl.range(1, 4):
            a = pl.load(x, [i * 16 - 16, 0], [16, 32])
            out = pl.store(pl.add(a, 1.0), [i * 16, 0], [16, 32], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def hand(self, x: pl.Tensor[[64, 32], pl.FP32], out: pl.InOut[pl.Tensor[[64, 32], pl.FP32]]):
        a = pl.load(x, [0, 0], [16, 32])
        pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.MTE3, event_id=0)
        pl.system.sync_dst(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.MTE3, event_id=0)
        out = pl.store(a, [16, 0], [16, 32], out)
        b = pl.load(x, [16, 0], [16, 32])
        pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.MTE3, event_id=1)
        pl.system.sync_dst(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.MTE3, event_id=1)
        out = pl.store(b, [32, 0], [16, 32], out)
        pl.system.bar_all()
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def both(
        self,
        x: pl.Tensor[[64, 32], pl.FP32],
        y: pl.InOut[pl.Tensor[[64, 32], pl.FP32]],
        z: pl.InOut[pl.Tensor[[64, 32], pl.FP32]],
    ):
        y = pl.store(pl.load(x, [0, 0], [64, 32]), [0, 0], [64, 32], y)
        z = pl.store(pl.mul(pl.load(x, [0, 0], [64, 32]), 2.0), [0, 0], [64, 32], z)
        return y, z

    @pl.function(type=pl.FunctionType.InCore)
    def whole(self, x: pl.Tensor[[64, 32], pl.FP32], y: pl.InOut[pl.Tensor[[64, 32], pl.FP32]]):
        y = pl.assemble(y, pl.add(x, y), [0, 0])
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def inner(self, a: pl.Tensor[[64, 32], pl.FP32], b: pl.InOut[pl.Tensor[[64, 32], pl.FP32]]):
        self.shift(a, b)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        n: pl.INT64,
        big: pl.InOut[pl.Tensor[[128, 32], pl.FP32]],
        t: pl.InOut[pl.Tensor[[64, 32], pl.FP32]],
        u: pl.InOut[pl.Tensor[[64, 32], pl.FP32]],
    ):
"""
NEW = "a = pl.create_tensor([64, 32], pl.FP32)\nb = pl.create_tensor([64, 32], pl.FP32)\n"


def program(body_text: str) -> Program:
    """Return a program whose last function has the body ``body``."""
    found = pl.parse(HEAD + "".join(f"        {line}\n" for line in body_text.splitlines()), "k.py")
    assert isinstance(found, Program)
    return found


def lowered(body: str) -> Program:
    """Return such a program after the passes."""
    return PassManager(OptimizationStrategy.Default).run_passes(program(body))


def findings(body: str) -> list[Diagnostic]:
    """Return the faults of its flags."""
    return passes.check_sync(lowered(body))


def aliases(body: str) -> dict[str, list[Alias]]:
    """Return which parameters alias, by kernel."""
    found = lowered(body)
    kernels = [f for f in found.functions_ if role(f) is Role.KERNEL]
    return call_aliases(found, {f.name: alias_bases(f, number(f)) for f in kernels})


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param("t = self.shift(t, t)", [("shift", 0, 1, (0, 0), True)], id="one"),
        pytest.param("t = self.shift(u, t)", [], id="two"),
        pytest.param("self.shift(big[0:64], t)", [], id="a view of another one"),
        pytest.param("self.shift(big[0:64], big[64:128])", [], id="disjoint views"),
        pytest.param("self.shift(big[16:80], big[0:64])", [("shift", 0, 1, (-16, 0), True)],
                     id="views that meet"),
        pytest.param("self.shift(big[n:n+64], big[n+64:n+128])", [], id="disjoint, open"),
        pytest.param("self.shift(big[n:n+64], big[n+8:n+72])", [("shift", 0, 1, (8, 0), True)],
                     id="meeting, open"),
        pytest.param("self.shift(big[0:64], big[n:n+64])", [("shift", 0, 1, (None, 0), False)],
                     id="not known"),
        pytest.param("for i in pl.range(1):\n    self.shift(big[0:64], big[i + 64:i + 128])", [],
                     id="behind, in a loop"),
        pytest.param(f"{NEW}a = self.shift(t, a)\nfor i in pl.range(4):\n"
                     "    b = self.shift(a, b)\n    a, b = b, a\nself.shift(a, u)", [],
                     id="changing places"),
        pytest.param(f"{NEW}a = self.shift(t, a)\nb = self.shift(t, b)\nfor i in pl.range(4):\n"
                     "    if n > i:\n        a = b\n    a = self.shift(a, b)\nself.shift(a, u)",
                     [("shift", 0, 1, None, False)], id="perhaps one"),
        pytest.param("for i in pl.range(4):\n    a = pl.create_tensor([64, 32], pl.FP32)\n"
                     "    a = self.shift(t, a)\n    u = self.shift(a, u)", [], id="alternating"),
        pytest.param("self.inner(big[0:64], big[8:72])", [("shift", 0, 1, (8, 0), True)],
                     id="through a host function"),
        pytest.param("self.inner(big[0:64], big[64:128])\nself.inner(t, u)", [],
                     id="different, through a host function"),
        pytest.param("self.both(t, t, big[0:64])\nself.both(t, u, u)",
                     [("both", 0, 1, (0, 0), True), ("both", 1, 2, (0, 0), True)], id="two calls"),
    ],
)  # fmt: skip
def test_aliases(body: str, wanted: list[object]) -> None:
    """Which parameters alias, where the second begins in the first, and whether always."""
    found = aliases(body)
    assert [(name, *a.params, a.is_sure) for name, each in found.items() for a in each] == wanted


def test_text() -> None:
    """The report names both statements, both parameters and the call; its hint is a flag."""
    [found] = findings("t = self.hand(t, t)")
    assert render(found) == (
        "error: RAW race: pl.load on MTE2 reads what pl.store on MTE3 writes, and nothing makes "
        "MTE2 wait: x and out are one tensor where main calls hand  [sync-race]\n"
        "  --> k.py:16:9\n"
        "   |\n"
        "16 |         b = pl.load(x, [16, 0], [16, 32])\n"
        "   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ reads it on MTE2\n"
        "15 |         out = pl.store(a, [16, 0], [16, 32], out)\n"
        "   |         ----------------------------------------- writes it on MTE3\n"
        "51 |         t = self.hand(t, t)\n"
        "   |             --------------- x and out are one tensor here\n"
        "   = hint: pl.system.sync_src(set_pipe=pl.PipeType.MTE3, wait_pipe=pl.PipeType.MTE2, "
        "event_id=0) after line 15, pl.system.sync_dst(set_pipe=pl.PipeType.MTE3, "
        "wait_pipe=pl.PipeType.MTE2, event_id=0) before line 16"
    )


def test_text_where_it_may_be() -> None:
    """A race that depends on an argument is a warning."""
    [found] = findings("self.hand(big[0:64], big[n:n+64])")
    assert str(found.severity) == "DiagnosticSeverity.Warning"
    assert found.message.endswith("wait: x and out may be one tensor where main calls hand")


@pytest.mark.parametrize(
    "body",
    [
        "t = self.hand(u, t)",
        "self.hand(big[0:64], big[64:128])",
        "self.hand(big[0:64], big[16:80])",  # other rows than those it reads
        "self.hand(big[0:64], t)\nself.hand(big[0:64], u)",
    ],
)
def test_no_race(body: str) -> None:
    """Nothing is reported for distinct tensors, or if they overlap only in rows not accessed."""
    assert findings(body) == []


def flags(body: str) -> int:
    """Return how many flags InsertSync adds to ``shift``."""
    found = lowered(body).get_function("shift")
    assert found is not None
    return str(found).count("sync_src")


BODIES = {
    "one": "t = self.shift(t, t)\nself.shift(t, big[0:64])",
    "by sixteen": "self.shift(big[0:64], big[16:80])",
    "back": "self.shift(big[16:80], big[8:72])",
    "not known": "self.shift(big[0:64], big[n:n+64])",
    "inner": "self.inner(big[0:64], big[64:128])\nself.inner(big[0:64], big[8:72])",
    "three": "self.both(big[0:64], big[16:80], big[32:96])\nself.both(t, t, big[32:96])",
    "written twice": "self.both(t, u, u)",
    "tensor ops": "self.whole(big[0:64], big[1:65])",
    "a scope": (
        "v = pl.view(big, [64, 32], [16, 0])\nwith pl.incore():\n"
        "    a = pl.load(big, [0, 0], [32, 32])\n    v = pl.store(a, [0, 0], [32, 32], v)\n"
        "    b = pl.load(big, [16, 0], [32, 32])\n    v = pl.store(b, [32, 0], [32, 32], v)"
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_all_ways_to_run_agree(name: str) -> None:
    """Flags order accesses that overlap through two parameters: no race, and right results."""
    whole = program(BODIES[name])
    results: list[list[Any]] = []
    ways: list[dict[str, Any]] = [
        {"target": "interpreter"},
        {"target": "cpu"},
        {"target": "interpreter", "strict": "exhaustive"},
    ]
    for way in ways:
        compiled = runtime.compile(whole, entry="main", **way)
        given = compiled.random_arguments(0, {"n": 8})
        compiled(*given.values())
        results.append([given[each] for each in ("big", "t", "u")])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
    assert findings(BODIES[name]) == []


def test_no_flags_without_need() -> None:
    """A kernel called with distinct tensors, or disjoint views, has the same flags as before."""
    assert flags("t = self.shift(t, t)") != flags("t = self.shift(u, t)")
    assert flags("self.shift(big[0:64], big[64:128])") == flags("t = self.shift(u, t)")


MET = """\
@pl.program
class Rows:
    @pl.function(type=pl.FunctionType.InCore)
    def move(
        self, n: pl.INT64, x: pl.Tensor[[64, 32], pl.FP32],
        out: pl.InOut[pl.Tensor[[64, 32], pl.FP32]],
    ):
        for i in pl.range({iterations}):
            a = pl.load(x, [i % 4 * 8, 0], [8, 32])
            out = pl.store(pl.exp(a), [i // 2 * 16, 0], [8, 32], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, n: pl.INT64, big: pl.InOut[pl.Tensor[[128, 32], pl.FP32]]):
        self.move(n, big[0:64], big[{begin}:{begin} + 64])
"""


@pytest.mark.parametrize(
    ("iterations", "begin", "wanted"),
    [
        pytest.param("4", 16, [((16, 0), True)], id="rows that are touched"),
        pytest.param("4", 32, [], id="rows behind those that are touched"),
        pytest.param("4", 24, [((24, 0), True)], id="the last one"),
        pytest.param("n", 32, [((32, 0), False)], id="rows that are not known"),
    ],
)
def test_what_a_kernel_touches(iterations: str, begin: int, wanted: list[object]) -> None:
    """Views that overlap only where a kernel accesses nothing do not alias."""
    program = pl.parse_program(MET.format(iterations=iterations, begin=begin))
    found = PassManager(OptimizationStrategy.Default).run_passes(program)
    kernels = [f for f in found.functions_ if role(f) is Role.KERNEL]
    shared = call_aliases(found, {f.name: alias_bases(f, number(f)) for f in kernels})
    assert [(a.params.distance, a.is_sure) for a in shared.get("move", [])] == wanted


SHARED = """\
@pl.program
class Shared:
    @pl.function(type=pl.FunctionType.InCore)
    def part(
        self, x: pl.InOut[pl.Tensor[[256, 32], pl.FP32]],
        out: pl.InOut[pl.Tensor[[256, 32], pl.FP32]],
    ):
{part}
        return x, out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, n: pl.INT64, big: pl.InOut[pl.Tensor[[512, 32], pl.FP32]]):
        self.part({first}, {second})
"""
PARTS = [f"big[{begin}:{begin + 256}]" for begin in (0, 4, 8, 20, 256)]


def shared_program(lines: list[str], first: str, second: str) -> Program:
    """Return a program after the passes whose kernel gets two parts of one tensor."""
    part = "\n".join(f"        {line}" for line in lines)
    text = SHARED.format(part=part, first=first, second=second)
    return PassManager(OptimizationStrategy.Default).run_passes(pl.parse_program(text))


def outcome(program: Program) -> tuple[str, Any]:
    """Return how a run of ``main`` ends in all orders, and with which results."""
    big = np.arange(512 * 32, dtype=np.float32).reshape(512, 32)
    try:
        StrictEvaluator(program, "exhaustive", 0).call("main", [8, big])
    except EvaluationError as error:
        return error.message, None
    return "", big


@pytest.mark.parametrize("chunk", effort.part(range(4), 2))
def test_random_kernels(chunk: int) -> None:
    """Flags are right for the calls' aliasing; races are found for other aliasing."""
    races = 0
    for seed in range(chunk * 25, chunk * 25 + 25):
        random = Random(seed)
        inner = [f"    {line}" for line in body(random, ["i"], 0)]
        lines = ["for i in pl.range(3):", *inner]
        first, second = random.choice(PARTS[:3]), random.choice((*PARTS, "big[n:n + 256]"))
        whole = shared_program(lines, first, second)
        plain = Evaluator(whole)
        wanted = np.arange(512 * 32, dtype=np.float32).reshape(512, 32)
        plain.call("main", [8, wanted])
        error, found = outcome(whole)
        assert error == "", (seed, lines)
        np.testing.assert_array_equal(found, wanted)
        assert passes.check_sync(whole) == []
        apart = shared_program(lines, "big[0:256]", "big[256:512]").get_function("part")
        assert apart is not None
        mixed = [apart if f.name == "part" else f for f in whole.functions_]
        other = whole.with_functions(mixed)
        if outcome(other)[0]:
            races += 1
            assert passes.check_sync(other) != [], (seed, lines)
    assert races > 0


LARGE = """\
@pl.program
class Large:
    @pl.function(type=pl.FunctionType.InCore)
    def add(self, x: pl.Tensor[[512, 256], pl.FP32], y: pl.InOut[pl.Tensor[[512, 256], pl.FP32]]):
        y = pl.assemble(y, pl.add(x, y), [0, 0])
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, big: pl.InOut[pl.Tensor[[1024, 256], pl.FP32]]):
        self.add(big[0:512], big[1:513])
"""


def test_tensor_ops_on_what_meets() -> None:
    """Ops on whole tensors read all of one before an overlapping view is written."""
    results: list[Any] = []
    for target in ("interpreter", "cpu"):
        compiled = runtime.compile(pl.parse_program(LARGE), target=target, entry="main")
        given = compiled.random_arguments(0)
        compiled(*given.values())
        results.append(given["big"])
    np.testing.assert_array_equal(results[0], results[1])
