"""Calls that hit the signature cache: the same IR, spans included, as if built from scratch."""

from __future__ import annotations

import copy
import runpy
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.errors import ParserError
from pypto._src.frontend.state.call_plan import CallPlan
from pypto._src.ir import call_forms
from pypto._src.ir.call_forms import key_of
from pypto._src.ir.exprs import Call, ConstFloat, IRNode, Var
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.types import scalar_type
from pypto._src.ops.memory import load
from pypto.runtime import Case

EXAMPLES = {path.stem: path for path in (Path(__file__).parents[2] / "examples").glob("*.py")}
HEAD = """\
import pypto.language as pl

@pl.program
class Kernels:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        w: pl.Tensor[[64, 64], pl.FP32],
        h: pl.Tensor[[64, 64], pl.FP16],
        n: pl.INT64,
        s: pl.FP32,
        y: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
    ):
"""
KERNEL = """\
t = pl.load(x, [0, 0], [16, 64])
u = pl.load(w, [0, 0], [16, 64])
u = pl.load(w, [16, 0], [16, 64])
t = pl.load(tensor=w, shapes=[16, 64], offsets=[0, 0])
t = pl.load(tensor=x, shapes=[16, 64], offsets=[0, 0])
t = pl.load(x, [n, 0], [16, 64])
t = pl.load(w, [n + 1, n * 16], [16, 64])
p = pl.load(x, [0, n], [16, 64], valid_shapes=[n, 64])
p = pl.load(w, [n, 0], [16, 64], valid_shapes=[n, 64])
a = pl.mul(t, u)
a = pl.mul(u, t)
a = pl.mul(u, u)
a = pl.sub(rhs=t, lhs=u)
a = pl.sub(rhs=u, lhs=t)
a = pl.add(2, t)
a = pl.add(2, u)
a = pl.add(t, 2)
a = pl.add(t, 2.0)
a = 2 * t + u * 2
a = 2 * u + t * 2
a = pl.mul(t, s)
a = pl.mul(u, s * s)
a = pl.mul(t, s + s)
m = pl.row_max(t)
m = pl.row_max(u)
m = pl.row_sum(t, a)
m = pl.row_sum(u, t)
b = t < u
b = u < t
c = pl.cast(t, pl.FP16, mode="floor")
c = pl.cast(u, pl.FP16, mode="floor")
c = pl.cast(u, pl.FP16)
i = pl.cast(pl.exp(t), target_type=pl.INT32)
i = pl.cast(pl.exp(u), target_type=pl.INT32)
for k in pl.range(0, 4):
    t = x[k * 16 : k * 16 + 16, :]
    u = w[k * 16 : k * 16 + 16, :]
    y[k * 16 : k * 16 + 16, :] = t
    y[k * 16 : k * 16 + 16, :] = pl.add(t, u)
    v = t[0:8, :]
    v = u[k : k + 8, :]
g = pl.load(h, [0, 0], [64, 64], target_memory=pl.MemorySpace.Mat)
l = pl.move(g, target_memory=pl.MemorySpace.Left)
r = pl.move(g, target_memory=pl.MemorySpace.Right)
y = pl.store(pl.matmul(l, r), [0, 0], [64, 64], y)
y = pl.store(pl.matmul(l, r), [0, 0], [64, 64], y)
y = pl.store(pl.matmul(pl.move(g, target_memory=pl.MemorySpace.Left), r), [0, 0], [64, 64], y)
"""


def kernel(body: str) -> str:
    return HEAD + "".join(f"        {line}\n" for line in body.splitlines())


def parsed(text: str) -> Program:
    program = pl.parse(text)
    assert isinstance(program, Program)
    return program


def nodes(program: Program | Function) -> Iterator[IRNode]:
    functions = program.functions_ if isinstance(program, Program) else (program,)
    for function in functions:
        yield from walk(function)


def places(program: Program | Function) -> list[str]:
    """Return class and full span of every node."""
    found: list[str] = []
    for node in nodes(program):
        span = node.span
        found.append(f"{type(node).__name__} {span} {span.end_line}:{span.end_column}")
    return found


def no_form(_self: CallPlan, _args: object, _kwargs: object, _span: object) -> None:
    """Replace `CallPlan.call`, so that the op builds every call."""


def programs(name: str) -> list[Program]:
    """Return the programs of an example, which may make several from one class; or the kernel."""
    if name not in EXAMPLES:
        return [parsed(kernel(KERNEL))]
    cases: list[Case] = runpy.run_path(str(EXAMPLES[name]))["CASES"]
    return list(dict.fromkeys(case.program for case in cases))


@pytest.mark.parametrize("name", ["kernel", *sorted(EXAMPLES)])
def test_same_as_built_by_the_ops(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example, and a kernel of calls in pairs: types, operands, keywords and spans agree."""
    found = programs(name)
    monkeypatch.setattr(CallPlan, "call", no_form)
    wanted = programs(name)
    assert len(found) == len(wanted) > 0
    for one, other in zip(found, wanted, strict=True):
        assert one is not other
        assert ir.structural_equal(one, other)
        assert ir.python_print(one) == ir.python_print(other)
        assert places(one) == places(other)


def test_calls_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most calls come from the cache: an op builds one per signature, none in the next program."""
    built: list[str] = []
    first = CallPlan.__init__

    def count(self: CallPlan, made: Call, *rest: Any) -> None:
        built.append(made.op.name)
        first(self, made, *rest)

    call_forms.FORMS.clear()
    monkeypatch.setattr(CallPlan, "__init__", count)
    turn = "t = pl.load(x, [0, 0], [16, 64])\nu = pl.load(w, [0, 0], [16, 64])\nt = pl.add(t, u)\n"
    for _ in range(2):
        program = parsed(kernel(turn * 20))
        assert built == ["block.load", "block.add"]
        assert sum(isinstance(node, Call) for node in nodes(program)) == 60


def test_zeros_keep_their_signs() -> None:
    """Constants that compare equal in Python stay distinct."""
    program = parsed(
        kernel(
            "t = pl.load(x, [0, 0], [16, 64])\n"
            "a = pl.add(t, 0.0)\nb = pl.add(t, -0.0)\nc = pl.add(t, 0.0)\nd = pl.add(t, -0.0)"
        )
    )
    values = [node.value for node in nodes(program) if isinstance(node, ConstFloat)]
    signs = [struct.pack("<d", value)[-1] >> 7 for value in values]
    assert signs == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("good", "bad", "slug"),
    [
        ("pl.load(x, [0, 0], [16, 64])", "pl.load(x, [56, 0], [16, 64])", "out-of-bounds"),
        ("pl.load(x, [0, 0], [16, 64])", "pl.load(x, [0, 0], [16, 48], n)", "argument-kind"),
        ("pl.add(t, t)", "pl.add(t, pl.load(x, [0, 0], [8, 64]))", "shape-mismatch"),
        ("pl.exp(t)", "pl.exp(pl.cast(t, pl.INT32))", "element-type"),
        ("pl.cast(t, pl.FP16)", "pl.cast(t, pl.FP16, mode='up')", "argument-kind"),
        ("pl.view(t, [8, 64], [0, 0])", "pl.view(t, [8, 64], [16, 0])", "out-of-bounds"),
    ],
)
def test_other_calls_are_refused(good: str, bad: str, slug: str) -> None:
    """A call that an op rejects is rejected after any number of similar valid ones."""
    lines = ["t = pl.load(x, [0, 0], [16, 64])", *[f"u = {good}"] * 3, f"u = {bad}"]
    with pytest.raises(ParserError) as caught:
        pl.parse(kernel("\n".join(lines)))
    assert caught.value.slug == slug
    assert caught.value.location.begin_line == HEAD.count("\n") + len(lines)


def test_offsets_are_no_part_of_a_form() -> None:
    """Loads that differ only in a computed offset share a signature; in a size or constant, not."""
    x = Var("x", ir.TensorType([64, 64], pl.FP32))
    i, j = (Var(name, scalar_type(pl.INT64)) for name in "ij")

    def key(offsets: list[object], sizes: list[object]) -> object:
        return key_of(load, [x, offsets, sizes], {})

    assert key([i, 0], [16, 64]) == key([j, 0], [16, 64]) == key([i * 2, 0], [16, 64])
    assert key([i, 0], [16, 64]) != key([0, i], [16, 64])
    assert key([0, 0], [16, 64]) != key([16, 0], [16, 64])
    assert key([0, 0], [i, 64]) != key([0, 0], [j, 64])
    assert key([0, 0], [i * 2, 64]) is None


def test_lists_of_users_are_no_operands() -> None:
    """A list that is an expression is kept as it is; a list of numbers becomes an expression."""
    x = Var("x", ir.TensorType([64, 64], pl.FP32))
    given, index = [0, 0], ir.ConstInt(0, pl.INDEX)
    keys = [key_of(load, [x, at, [16, 64]], {}) for at in (given, ir.MakeTuple(given), [0, index])]
    assert None not in keys
    assert len(set(keys)) == 3


def test_the_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full table is cleared; the program is the same."""
    wanted = parsed(kernel(KERNEL))
    monkeypatch.setattr(call_forms, "MOST_FORMS", 4)
    call_forms.FORMS.clear()
    sizes: set[int] = set()
    first = CallPlan.__init__

    def watched(self: CallPlan, *args: Any) -> None:
        first(self, *args)
        sizes.add(len(call_forms.FORMS))

    monkeypatch.setattr(CallPlan, "__init__", watched)
    found = parsed(kernel(KERNEL))
    assert max(sizes) == 4
    assert places(found) == places(wanted)
    assert ir.python_print(found) == ir.python_print(wanted)


def test_threads_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that parse concurrently, while the table is cleared repeatedly, all read the same."""
    wanted = ir.python_print(parsed(kernel(KERNEL)))
    monkeypatch.setattr(call_forms, "MOST_FORMS", 4)
    call_forms.FORMS.clear()
    start = threading.Barrier(4)

    def read(_: int) -> list[str]:
        start.wait()
        return [ir.python_print(parsed(kernel(KERNEL))) for _ in range(5)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(read, range(4)))
    assert found == [[wanted] * 5] * 4


@pytest.mark.parametrize("name", ["cast", "sync_src"])
def test_keywords_of_a_call_do_not_change(name: str) -> None:
    """The keywords of a call, which other programs share, cannot be modified."""
    body = (
        'c = pl.cast(pl.load(x, [0, 0], [16, 64]), pl.FP16, mode="floor")\n'
        "pl.system.sync_src(set_pipe=pl.PipeType.M, wait_pipe=pl.PipeType.V, event_id=1)\n"
        "pl.system.bar_all()"
    )
    program = parsed(kernel(body))
    wanted = ir.python_print(program)
    calls = [node for node in nodes(program) if isinstance(node, Call)]
    (keywords,) = [call.kwargs for call in calls if call.op.name.endswith(f".{name}")]
    (none,) = [call.kwargs for call in calls if call.op.name == "system.bar_all"]
    before = dict(keywords)
    for held in (keywords, none):
        words: Any = held
        changes: list[Callable[[], object]] = [
            lambda words=words: words.update(mode=1),
            lambda words=words: words.__setitem__("mode", 1),
            lambda words=words: words.pop("mode", None),
            lambda words=words: words.setdefault("other", 1),
            lambda words=words: words.__ior__({"mode": 1}),
            lambda words=words: words.clear(),
        ]
        for change in changes:
            with pytest.raises(TypeError, match=r"change a copy, dict\(call.kwargs\)"):
                change()
    mine = copy.copy(keywords)
    assert type(mine) is dict
    assert mine == before == keywords
    assert ir.python_print(parsed(kernel(body))) == wanted
