"""Whether the cost per line is constant: programs of 40 and of 400 regions, 7 lines each.

A region loads rows, computes with them and stores them for the next one; every fourth is a product
of matrices, every fifth has a loop. A figure is the fastest of several repetitions, each with its
own program and with the garbage collector off. ``ratio`` is that of the times per line: 1 is the
goal, 1.2 the limit.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from support.timing import once

SIZES: Final = (40, 400)
HEAD: Final = """\
import pypto.language as pl


@pl.jit
def scale(x: pl.Tensor[[64, 128], pl.FP32], w: pl.Tensor[[128, 128], pl.FP32],
          out: pl.Out[pl.Tensor[[64, 128], pl.FP32]]):
    t_0 = x
"""
BEGIN: Final = """\
    t_{n} = pl.create_tensor([64, 128], dtype=pl.FP32)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="region_{n}"):
"""
ELEMENTWISE: Final = """\
        a = t_{m}[:, :]
        b = pl.mul(a, {n}.5)
        c = pl.add(b, x[:, :])
        d = pl.exp(pl.neg(c))
        t_{n}[:, :] = pl.div(c, pl.add(d, 1.0))
"""
PRODUCT: Final = """\
        acc = pl.matmul(t_{m}[:, 0:64], w[0:64, :], out_dtype=pl.FP32)
        for k in pl.range(64, 128, 64):
            acc = pl.matmul_acc(acc, t_{m}[:, k : k + 64], w[k : k + 64, :])
        t_{n}[:, :] = acc
"""
LOOP: Final = """\
        for r in pl.range(0, 64, 16):
            a = t_{m}[r : r + 16, :]
            top = pl.row_max(a)
            b = pl.row_expand_sub(a, top)
            t_{n}[r : r + 16, :] = pl.mul(pl.exp(b), {n}.25)
"""
TAIL: Final = """\
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="last"):
        out[:, :] = t_{n}[:, :]
    return out
"""


def text(regions: int) -> str:
    """Return a program with a number of regions."""
    parts = [HEAD]
    for n in range(1, regions):
        body = PRODUCT if n % 4 == 0 else LOOP if n % 5 == 0 else ELEMENTWISE
        parts += [BEGIN.format(n=n), body.format(n=n, m=n - 1)]
    return "".join([*parts, TAIL.format(n=regions - 1)])


def loaded(regions: int, folder: Path) -> Any:
    """Return the function of such a program, from a new file."""
    path = folder / f"scale_{regions}.py"
    path.write_text(text(regions), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.scale


def stages(regions: int, folder: Path) -> dict[str, float]:
    """Return the seconds of each stage, of one program."""
    from pypto._src.checks import check_program
    from pypto._src.emit.cpp.generate import kernel_file
    from pypto._src.emit.host.native.generate import host_text
    from pypto._src.emit.pto.generate import PTOCodegen
    from pypto._src.ir.roles import kernels
    from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
    from pypto._src.run.effects import effects

    found: dict[str, float] = {}
    kept: dict[str, Any] = {}

    def timed(stage: str, run: Callable[[], Any]) -> Any:
        def keep() -> None:
            kept[stage] = run()

        found[stage] = once(keep)
        return kept[stage]

    def pto(after: Any) -> list[str]:
        return [PTOCodegen().generate(after.with_functions([k])) for k in kernels(after)]

    function = loaded(regions, folder)
    program = timed("parse", function.parse)
    after = timed("passes", lambda: PassManager.get_strategy().run_passes(program))
    timed("C++", lambda: [kernel_file(k) for k in kernels(after)])
    effect = effects(after)
    results = {k.name: [i for one in effect[k.name].results for i in one] for k in kernels(after)}
    entry = next(f for f in after.functions_ if f.name == "scale")
    timed("host C++", lambda: host_text(after, entry, results))
    manager = PassManager.get_strategy(OptimizationStrategy.PTOAS)
    for_pto = timed("passes for PTO", lambda: manager.run_passes(program))
    timed("PTO", lambda: pto(for_pto))
    timed("check", lambda: list(check_program(program)))
    return found


def main() -> None:
    """Print a line for each stage."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=3, help="of each size (3)")
    given = parser.parse_args()
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}")
    lines = [len(text(size).splitlines()) for size in SIZES]
    best: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as name:
        stages(SIZES[0], Path(name))  # the first run of a process pays for imports
        for size in SIZES:
            rounds = [stages(size, Path(name)) for _ in range(given.repetitions)]
            best.append({stage: min(each[stage] for each in rounds) for stage in rounds[0]})
    titles = "".join(f"{f'{n:,} lines':>16}" for n in lines)
    print(f"{'us a line':16}{titles}{'ratio':>8}")
    for stage in best[0]:
        small, large = (each[stage] / n * 1e6 for each, n in zip(best, lines, strict=True))
        print(f"{stage:16}{small:16.1f}{large:16.1f}{large / small:8.2f}")


if __name__ == "__main__":
    main()
