"""Whole models, two layers each, at full size: `examples/models`.

For each: the lines of its program's text, kernels (and how many were compiled: those that differ
only in names count once), tasks of a call; seconds of parsing, passes, check, C++ and of the
compiler, with an empty cache and with one that has all kernels; seconds of a call with all threads;
the bytes of the caller's tensors, the peak of those that the program makes, and by how much the
process has grown beyond the caller's; the largest error, as a fraction of max(1, expected), and
its bound.

``--small`` uses small sizes. Each model has its own processes; the biggest needs 8 GiB.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
MODULES: Final = ("dense", "experts", "latent", "sparse", "quantized")
STAGES: Final = ("parse", "passes", "check", "emit", "build")


def models() -> dict[str, Any]:
    """Return all models by name."""
    import importlib

    sys.path.insert(0, str(ROOT))
    found = (importlib.import_module(f"examples.models.{name}").MODELS for name in MODULES)
    return {model.name: model for some in found for model in some}


def resident(peak: bool) -> int:
    """Return this process's resident bytes, now or at the peak since `forget_peak`."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:" if peak else "VmRSS:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def forget_peak() -> None:
    """Reset the peak, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def measured(name: str, small: bool, only_compile: bool) -> dict[str, Any]:
    """Return the figures of one model."""
    import numpy as np

    from pypto import runtime
    from pypto._src.checks import check_program
    from pypto._src.emit.cpp.generate import kernel_file
    from pypto._src.ir.roles import kernels
    from pypto._src.passes.pass_manager import PassManager
    from pypto._src.run.compiled_kernels import representatives

    model = models()[name]
    built = model.build(model.small if small else model.full)
    arguments = built.inputs(np.random.default_rng(1))
    seconds: dict[str, float] = {}

    def timed(stage: str, run: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = run()
        seconds[stage] = time.perf_counter() - start
        return result

    values = list(arguments.values())
    program = timed("parse", lambda: built.function.parse(*values))
    after = timed("passes", lambda: PassManager.get_strategy().run_passes(program))
    timed("check", lambda: list(check_program(program)))
    texts = timed("emit", lambda: {k.name: kernel_file(k) for k in kernels(after)})
    before = resident(peak=False)
    forget_peak()
    compiled = timed("compile", lambda: runtime.compile(program))
    seconds["build"] = max(
        seconds.pop("compile") - seconds["passes"] - seconds["emit"], 0.0
    )  # it runs the passes and the emitter again
    if only_compile:
        return {"seconds": seconds}
    like = representatives([*kernels(after)], texts)
    kept = {n: a.copy() for n, a in arguments.items() if n in compiled.written}
    timed("first call", lambda: compiled(*values))
    peak = resident(peak=True) - before - sum(array.nbytes for array in kept.values())
    use = compiled.memory
    found = {n: arguments[n].copy() for n in kept}
    calls: list[float] = []
    for _ in range(3):
        for n, array in kept.items():
            arguments[n][...] = array
        timed("call", lambda: compiled(*values))
        calls.append(seconds["call"])
    for n, array in kept.items():
        arguments[n][...] = array
    expected = built.reference(found, **arguments)
    errors = [
        float((np.abs(found[n].astype(np.float64) - v) / np.maximum(1, np.abs(v))).max())
        for n, v in expected.items()
    ]
    return {
        "lines": len(str(program).splitlines()),
        "kernels": len(texts),
        "compiled": len({f.name for f in like.values()}),
        "tasks": use.tasks,
        "seconds": seconds,
        "run": min(calls),
        "arguments": use.argument_bytes,
        "made": use.peak_bytes,
        "grown": peak,
        "error": max(errors),
        "bound": built.bound,
    }


def in_own_process(name: str, small: bool, *more: str, cache: str) -> dict[str, Any]:
    """Return the result of a fresh interpreter."""
    command = [sys.executable, __file__, "--one", name, *(["--small"] if small else []), *more]
    env = os.environ | {"PYPTO_CACHE_DIR": cache}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    return json.loads(done.stdout)


def lines(name: str, cold: dict[str, Any], warm: dict[str, Any]) -> Iterator[str]:
    """Yield the printed lines of a model."""
    mib = 2.0**20
    yield (
        f"{name}: {warm['lines']} lines, {warm['kernels']} kernels ({warm['compiled']} compiled), "
        f"{warm['tasks']} tasks"
    )
    for label, found in (("cold", cold), ("warm", warm)):
        stages = ", ".join(f"{stage} {found['seconds'][stage]:.2f}" for stage in STAGES)
        yield f"  {label}, s: {stages}"
    made, tensors = warm["made"] / mib, warm["arguments"] / mib
    yield (
        f"  call {warm['run']:.3f} s; tensors {tensors:.0f} MiB, made {made:.1f} MiB, "
        f"process grown by {warm['grown'] / mib:.0f} MiB"
    )
    verdict = "within" if warm["error"] <= warm["bound"] else "ABOVE"
    yield f"  largest error {warm['error']:.3g}, {verdict} its bound {warm['bound']:.3g}"


def main() -> None:
    """Print a paragraph for each model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="MODEL", help="whose names begin so")
    parser.add_argument("--small", action="store_true", help="small sizes")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--only-compile", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given.one, given.small, given.only_compile)))
        return
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}")
    wanted = tuple(given.names) or ("",)
    for name in models():
        if name.startswith(wanted):
            with tempfile.TemporaryDirectory() as cache:
                cold = in_own_process(name, given.small, "--only-compile", cache=cache)
                warm = in_own_process(name, given.small, cache=cache)
            print("\n".join(lines(name, cold, warm)), flush=True)


if __name__ == "__main__":
    main()
