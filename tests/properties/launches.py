"""Draws programs whose host function launches kernels: calls with several results, and nested ones.

What a kernel or an orchestration returns is taken apart by names or by indices, or not at all;
kernels call helpers that return several tiles and numbers, and that call others. Every op in them
is exact, as in `kernels`.
"""

from __future__ import annotations

from typing import Final

from tests.properties.kernels import BEGIN, START, TOP, Drawer, Pick

_TILE: Final = "pl.Tile[[16, 32], pl.FP32]"
_TENSOR: Final = "pl.Tensor[[64, 32], pl.FP32]"
_NUMBER: Final = "pl.Scalar[pl.INT64]"
_KERNEL: Final = "    @pl.function(type=pl.FunctionType.InCore)"
_HOST: Final = "    @pl.function(type=pl.FunctionType.Orchestration)"

_INPUTS: Final = f"""\
        x: {_TENSOR},
        y: {_TENSOR},
        z: pl.Tensor[[64, 1], pl.FP32],
        n: {_NUMBER},
        f: pl.Scalar[pl.FP32],
"""

_HELPERS: Final = f"""\
{_KERNEL}
    def both(self, p: {_TILE}, q: {_TILE}) -> tuple[{_TILE}, {_TILE}]:
        return pl.add(p, q), pl.sub(p, q)

{_KERNEL}
    def turn(
        self, p: {_TILE}, q: {_TILE}, m: {_NUMBER}
    ) -> tuple[{_TILE}, {_NUMBER}, {_TILE}, {_NUMBER}]:
        low, high = self.both(p, q)
        if m % 2 == 0:
            low, high = high, low
        pair = self.both(low, q)
        return pair[0], m + 1, high, m - 2

{_KERNEL}
    def spread(
        self, x: {_TENSOR}, low: pl.Out[{_TENSOR}], high: pl.Out[{_TENSOR}]
    ) -> tuple[{_TENSOR}, {_TENSOR}]:
        for k in pl.range(4):
            t = pl.load(x, [k * 16, 0], [16, 32])
            both = self.both(t, t)
            low = pl.store(both[1], [k * 16, 0], [16, 32], low)
            high = pl.store(both[0], [k * 16, 0], [16, 32], high)
        return low, high

"""

_PAIR: Final = f"""\
{_KERNEL}
    def pair(
        self,
{_INPUTS}\
        out: pl.InOut[{_TENSOR}],
        rest: pl.InOut[{_TENSOR}],
    ) -> tuple[{_TENSOR}, {_TENSOR}]:
{START}"""

_HOSTS: Final = f"""
{_HOST}
    def turned(
        self,
{_INPUTS}\
        low: pl.InOut[{_TENSOR}],
        high: pl.InOut[{_TENSOR}],
    ) -> tuple[{_TENSOR}, {_TENSOR}]:
        pair = self.pair(x, y, z, n, f, high, low)
        return pair[1], pair[0]

{_HOST}
    def main(
        self,
{_INPUTS}\
        out: pl.InOut[{_TENSOR}],
    ) -> tuple[{_TENSOR}, {_TENSOR}]:
        s = n + 1
        r = s * 3
        b = pl.create_tensor([64, 32], pl.FP32)
        a, b = self.spread(y, out, b)
"""


class _KernelDrawer(Drawer):
    """Draws what kernels do, and calls of helpers with several results."""

    returned = "out, rest"

    def statement(self, depth: int, *, loop: bool) -> list[str]:
        return super().statement(depth, loop=loop) if self.pick(4) else self.helper()

    def helper(self) -> list[str]:
        left, right = self.one(["ab", "ba", "aa"])
        both = f"self.both({left}, {right})"
        return self.one(
            [
                [f"a, b = {both}"],
                [f"b, a = {both}"],
                [f"q = {both}", "a, b = q[1], q[0]"],
                [f"b, s, a, r = self.turn({left}, {right}, {self.index(1)})"],
                [f"m = self.turn({left}, {right}, {self.index(1)})", "b, r = m[2], m[1]"],
                [f"q = {both}", "a, b = self.both(q[0], q[1])"],
                [f"q = {both}", f"rest = pl.store(q[1], [{self.row()}, 0], [16, 32], rest)"],
            ]
        )


class _HostDrawer(Drawer):
    """Draws what a host function does, which has the tensors a and b and the numbers s and r."""

    def statement(self, depth: int, *, loop: bool) -> list[str]:
        kind = self.pick(12)
        if kind == 0:
            return ["a, b = b, a"]
        if kind == 1:
            return [self.one(["s, r = r, s", f"s = min(max({self.index()}, -40), 40)"])]
        if kind > 7 and depth > 0:
            return self.branch(depth, loop=False) if self.pick(3) else self.for_loop(depth)
        return self.launch()

    def launch(self) -> list[str]:
        """Call what returns two tensors; a and b are different ones afterwards."""
        name = self.one(["pair", "pair", "turned"])
        given = self.one(["a, b", "b, a"])
        call = f"self.{name}(x, y, z, min({self.index(1)}, 3), f, {given})"
        return self.one(
            [
                [f"a, b = {call}"],
                [f"b, a = {call}"],
                [f"t = {call}", "a = t[0]", "b = t[1]"],
                [f"t = {call}", "b, a = t[0], t[1]"],
                [call],
            ]
        )


def random_launches(pick: Pick, size: int = 20) -> str:
    """Return a program with a host function ``main``, of about ``size`` statements in all.

    ``n`` may be any number up to 3.
    """
    kernel = _KernelDrawer(pick, size)
    inside: list[str] = []
    while kernel.left > 0:
        inside += kernel.block(TOP, size, loop=False)
    inside += ["e = pl.add(pl.row_expand_add(a, v), pl.cast(g, pl.FP32))"]
    inside += ["out = pl.store(e, [16, 0], [16, 32], out)"]
    inside += ["rest = pl.store(pl.mul(b, pl.cast(s + r, pl.FP32)), [32, 0], [16, 32], rest)"]
    inside += ["return out, rest"]
    host = _HostDrawer(pick, 1 + size // 6)
    outside = host.launch()
    while host.left > 0:
        outside += host.block(2, size, loop=False)
    outside += host.one(
        [
            ["return a, b"],
            ["return self.pair(x, y, z, 1, f, b, a)"],
            ["t = self.turned(x, y, z, n, f, a, b)", "return t[0], t[1]"],
        ]
    )
    parts = [BEGIN + _HELPERS + _PAIR, *_lines(inside), _HOSTS, *_lines(outside)]
    return "".join(parts)


def _lines(body: list[str]) -> list[str]:
    return [f"        {line}\n" for line in body]
