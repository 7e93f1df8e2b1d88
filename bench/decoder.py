"""A decoder layer of a model with 14 billion parameters: `examples/decoder/decode_layer.py`.

Three questions, each answered by a separate process:

* What does compiling it cost? Parsing the functions, the passes, and the texts of all kernels, as
  C++ and for the PTO assembler, which have different passes. ``first`` is the first compile of
  the process, after one of `OTHER`; ``best`` the fastest of several.
* How long does a call take, compared with NumPy? Weights and caches are BF16 for us. NumPy computes
  in FP32 with copies of them in FP32, which are made before timing. Both have as many threads as
  ``--threads`` says, by default one.
* How much memory does a call take? The growth of the process while the layer is compiled and
  called, and the bytes of its tensors.

``--small`` uses a narrow layer.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from support.texts import EXAMPLES
from support.timing import once, without_collector

ROOT: Final = Path(__file__).parents[1]
LAYER: Final = EXAMPLES / "decoder" / "decode_layer.py"
OTHER: Final = EXAMPLES / "basics" / "layer_norm.py"
SMALL: Final = {"HIDDEN": 512, "INNER": 2048, "HEADS": 5, "KV_HEADS": 1, "MAX_SEQ": 1024}
THREADS: Final = ("PYPTO_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
QUESTIONS: Final = ("compile", "call", "memory")


def loaded(path: Path, sizes: Mapping[str, int]) -> Any:
    """Return the module of an example, with other values for some of its constants."""
    sys.path.insert(0, str(ROOT))
    from tests.examples.resized import resized

    return resized(path, sizes)


def texts(lower: Callable[[], Any]) -> dict[str, float]:
    """Parse a program and write all its texts; return the seconds of each stage."""
    from pypto._src.emit.cpp.generate import kernel_file
    from pypto._src.emit.pto.generate import PTOCodegen
    from pypto._src.ir.roles import kernels
    from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager

    seconds: dict[str, float] = {}

    def timed(stage: str, run: Callable[[], Any]) -> Any:
        with without_collector():
            start = time.perf_counter()
            result = run()
            seconds[stage] = time.perf_counter() - start
        return result

    def pto(after: Any) -> list[str]:
        return [PTOCodegen().generate(after.with_functions([k])) for k in kernels(after)]

    program = timed("parse", lower)
    for name, strategy in (("C++", "Default"), ("PTO", "PTOAS")):
        manager = PassManager.get_strategy(OptimizationStrategy[strategy])
        after = timed(f"passes for {name}", lambda run=manager.run_passes: run(program))
        if name == "C++":
            timed(name, lambda after=after: [kernel_file(k) for k in kernels(after)])
        else:
            timed(name, lambda after=after: pto(after))
    return seconds


def types_of(case: Any, rng: Any) -> list[Any]:
    """Return types in place of the arguments of a case: a parse needs no arrays."""
    import pypto.language as pl

    kinds = {str(dtype.numpy): dtype for dtype in (pl.FP32, pl.BF16, pl.INT32)}
    made = case.inputs(rng).values()
    return [pl.Tensor[[*array.shape], kinds[str(array.dtype)]] for array in made]


def compile_costs(sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the seconds of each stage: of the first compile, and of the fastest of five."""
    import numpy as np

    rng = np.random.default_rng(1)
    other = loaded(OTHER, {})
    texts(lambda: other.layer_norm.parse(*types_of(other.CASES[0], rng)))
    module = loaded(LAYER, sizes)
    kinds = types_of(module.CASES[0], rng)
    first, *more = (texts(lambda: module.decode_layer.parse(*kinds)) for _ in range(6))
    return {"first": first, "best": {name: min(row[name] for row in more) for name in first}}


def call_times(sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the milliseconds of a call and of NumPy, timed alternately, and the largest error."""
    import numpy as np

    from pypto._src.commands.example_cases import relative_error

    module = loaded(LAYER, sizes)
    [case] = module.CASES
    arguments = case.inputs(np.random.default_rng(1))
    wide = {
        name: array if array.dtype.kind == "i" else array.astype(np.float32)
        for name, array in arguments.items()
    }
    expected = case.reference(**wide, precision=np.float32)
    module.decode_layer(*arguments.values())
    error = max(relative_error(arguments[name], value) for name, value in expected.items())
    ours: list[float] = []
    peer: list[float] = []
    for _ in range(7):
        ours.append(once(lambda: module.decode_layer(*arguments.values())))
        peer.append(once(lambda: case.reference(**wide, precision=np.float32)))
    return {
        "ours": statistics.median(ours) * 1e3,
        "numpy": statistics.median(peer) * 1e3,
        "error": error,
        "bound": case.bound,
    }


def memory_used(sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the bytes of the tensors, and how much a compile and a call grow the process."""
    import numpy as np

    module = loaded(LAYER, sizes)
    arguments = module.CASES[0].inputs(np.random.default_rng(1))
    before = _resident()
    module.decode_layer(*arguments.values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    tensors = sum(array.nbytes for array in arguments.values())
    return {"tensors": tensors, "before": before, "after": _resident(), "peak": peak}


def _resident() -> int:
    """Return the bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def in_own_process(question: str, given: argparse.Namespace) -> dict[str, Any]:
    """Return the result of a fresh interpreter."""
    command = [sys.executable, __file__, "--one", question, *(["--small"] if given.small else [])]
    env = os.environ | {name: str(given.threads) for name in THREADS}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env)
    return json.loads(done.stdout)


def main() -> None:
    """Print the answers to the questions."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("questions", nargs="*", default=QUESTIONS, metavar="QUESTION")
    parser.add_argument("--small", action="store_true", help="a narrow layer")
    parser.add_argument("--threads", type=int, default=1, help="of ours and of NumPy (1)")
    parser.add_argument("--one", choices=QUESTIONS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    sizes = SMALL if given.small else {}
    answers = {"compile": compile_costs, "call": call_times, "memory": memory_used}
    if given.one:
        print(json.dumps(answers[given.one](sizes)))
        return
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}")
    if "compile" in given.questions:
        found = in_own_process("compile", given)
        print(f"{'compile, ms':20}{'first':>10}{'best':>10}")
        rows = {name: (found["first"][name], best) for name, best in found["best"].items()}
        rows["all"] = (sum(found["first"].values()), sum(found["best"].values()))
        for name, seconds in rows.items():
            print(f"{name:20}" + "".join(f"{each * 1e3:10.1f}" for each in seconds))
    if "call" in given.questions:
        found = in_own_process("call", given)
        print(
            f"call: {found['ours']:.1f} ms, NumPy {found['numpy']:.1f} ms, "
            f"ratio {found['ours'] / found['numpy']:.2f}; error {found['error']:.3g}, "
            f"bound {found['bound']}"
        )
    if "memory" in given.questions:
        found = in_own_process("memory", given)
        grown = found["after"] - found["before"]
        print(
            f"memory: tensors {found['tensors'] / 2**20:.0f} MiB, process grown by "
            f"{grown / 2**20:.0f} MiB, in all {found['after'] / 2**20:.0f} MiB: "
            f"{(found['tensors'] + grown) / found['tensors']:.2f} times the tensors"
        )


if __name__ == "__main__":
    main()
