"""Kernels on the CPU against NumPy and PyTorch: ratios of times, and shares of the machine's peaks.

Runs itself twice, with one thread and with all of them, because the libraries read their number
of threads when they are loaded. In each run the contenders of a row take turns, so that a busy
machine slows all equally; a ratio is the median over the rounds of their time divided by ours, so
above 1 we are faster. The share is of the machine's multiply-add peak or copy bandwidth, both
measured in the same run by code of this file. A wrong result ends the run with an error.

``README.md`` says what each row does. PyTorch is the extra ``bench``; without it its column is
empty.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import runpy
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np

import pypto.language as pl
from pypto import runtime
from pypto._src.golden.machine_peaks import copy_bandwidth, multiply_add_peak
from pypto._src.run.toolchain import find_toolchain, no_compiler_message

EXAMPLES: Final = Path(__file__).parents[1] / "examples"
THREAD_VARIABLES: Final = (
    "PYPTO_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)
REST_S: Final = 0.05
"""Idle threads spin for a while, OpenBLAS's for 2**26 cycles: nothing is timed meanwhile."""

Run = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """One measurement: our run, the libraries' equivalents, and the amount of work."""

    name: str
    ours: Run
    numpy: Run | None
    torch: Run | None
    check: Callable[[], float]
    """Runs ours and returns its largest error, as a fraction of the bound."""
    flops: float = 0.0
    bytes: float = 0.0
    target: str = ""


# ----------------------------------------------------------------------------------------- programs


def matmul_program(dtype: pl.DataType, size: int) -> Any:
    """Return the program of a square product; the tiles fill Left, Right and Acc."""
    rows, wide = 256, 128
    deep = 65536 // rows // dtype.bytes
    mat_rows = 256  # rows of one task

    @pl.program
    class Matmul:
        @pl.function(type=pl.FunctionType.InCore)
        def block(
            self,
            a: pl.Tensor[[mat_rows, size], dtype],
            b: pl.Tensor[[size, size], dtype],
            c: pl.Out[pl.Tensor[[mat_rows, size], pl.FP32]],
        ) -> pl.Tensor[[mat_rows, size], pl.FP32]:
            for n in pl.range(0, size, wide):
                for m in pl.range(0, mat_rows, rows):
                    mat_a = pl.load(a, [m, 0], [rows, deep], target_memory=pl.MemorySpace.Mat)
                    mat_b = pl.load(b, [0, n], [deep, wide], target_memory=pl.MemorySpace.Mat)
                    left = pl.move(mat_a, target_memory=pl.MemorySpace.Left)
                    right = pl.move(mat_b, target_memory=pl.MemorySpace.Right)
                    acc = pl.matmul(left, right)
                    for k in pl.range(deep, size, deep):
                        mat_a = pl.load(a, [m, k], [rows, deep], target_memory=pl.MemorySpace.Mat)
                        mat_b = pl.load(b, [k, n], [deep, wide], target_memory=pl.MemorySpace.Mat)
                        left = pl.move(mat_a, target_memory=pl.MemorySpace.Left)
                        right = pl.move(mat_b, target_memory=pl.MemorySpace.Right)
                        acc = pl.matmul_acc(acc, left, right)
                    c = pl.store(acc, [m, n], [rows, wide], c)
            return c

        @pl.function(type=pl.FunctionType.Orchestration)
        def main(
            self,
            a: pl.Tensor[[size, size], dtype],
            b: pl.Tensor[[size, size], dtype],
            c: pl.Out[pl.Tensor[[size, size], pl.FP32]],
        ) -> pl.Tensor[[size, size], pl.FP32]:
            for m in pl.range(0, size, mat_rows):
                rows_a = pl.view(a, [mat_rows, size], [m, 0])
                rows_c = pl.view(c, [mat_rows, size], [m, 0])
                self.block(rows_a, b, rows_c)
            return c

    return Matmul


def empty_program(tasks: int) -> Any:
    """Return a program that launches an empty kernel, each time on a separate row."""

    @pl.program
    class Empty:
        @pl.function(type=pl.FunctionType.InCore)
        def nothing(self, x: pl.InOut[pl.Tensor[[1, 16], pl.FP32]], n: pl.Scalar[pl.INDEX]):
            for _ in pl.range(0, n):
                pl.store(pl.load(x, [0, 0], [1, 16]), [0, 0], [1, 16], x)

        @pl.function(type=pl.FunctionType.Orchestration)
        def main(self, x: pl.InOut[pl.Tensor[[tasks, 16], pl.FP32]]):
            for i in pl.range(0, tasks):
                self.nothing(pl.view(x, [1, 16], [i, 0]), 0)

    return Empty


def example(name: str) -> dict[str, Any]:
    """Return the globals of an example."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def case(name: str) -> Any:
    """Return the only case of an example."""
    [found] = example(name)["CASES"]
    return found


# --------------------------------------------------------------------------------------------- rows


def rows(torch: Any) -> Iterator[tuple[str, Callable[[], Row]]]:
    """Yield the names of the rows with what makes them; ``torch`` is the module or None."""
    for name in ("elementwise", "softmax", "rmsnorm"):
        yield name, partial(elementwise_row, torch, name)
    for dtype, target in ((pl.FP32, ">= 0.8 of the faster"), (pl.BF16, ">= 3 PyTorch")):
        for size in (1024, 2048):
            name = f"matmul {dtype.member.lower()} {size}"
            yield name, partial(matmul_row, torch, dtype, size, target)
    yield "flash attention", partial(flash_row, torch)
    yield "paged attention", partial(paged_row, torch)
    yield "empty tasks", tasks_row


def elementwise_row(torch: Any, name: str) -> Row:
    """Return the row of an example that reads and writes each element once."""

    def chain(a: Any, b: Any, c: Any, exp: Callable[[Any], Any]) -> Any:
        z = a * b + c
        return z / (1 + exp(-z))

    def softmax(x: Any) -> Any:
        powers = np.exp(x - x.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    def rmsnorm(x: Any, weight: Any) -> Any:
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * weight

    def numpy_chain(a: Any, b: Any, c: Any) -> Any:
        return chain(a, b, c, np.exp)

    def torch_chain(a: Any, b: Any, c: Any) -> Any:
        return chain(a, b, c, torch.exp)

    def torch_softmax(x: Any) -> Any:
        return torch.softmax(x, -1)

    def torch_rmsnorm(x: Any, weight: Any) -> Any:
        return torch.nn.functional.rms_norm(x, (x.shape[-1],), weight[0], 1e-6)

    plain, fast, target = {
        "elementwise": (numpy_chain, torch_chain, ">= 3 NumPy, >= 2 PyTorch"),
        "softmax": (softmax, torch_softmax, ">= 2 PyTorch"),
        "rmsnorm": (rmsnorm, torch_rmsnorm, ">= 2 PyTorch"),
    }[name]
    found = case(name)
    arguments = found.inputs(np.random.default_rng(0))
    *inputs, out = arguments.values()
    return Row(
        name=f"{name} {out.shape[0]}x{out.shape[1]}",
        ours=compiled_run(found.program, arguments),
        numpy=lambda: plain(*inputs),
        torch=on_torch(torch, fast, inputs),
        check=checker(found.program, arguments, found.reference, found.bound),
        bytes=float(sum(x.nbytes for x in arguments.values())),
        target=target,
    )


def matmul_row(torch: Any, dtype: pl.DataType, size: int, target: str) -> Row:
    """Return the row of a square product."""
    rng = np.random.default_rng(0)
    a, b = ((rng.random((size, size), np.float32) * 2 - 1).astype(dtype.numpy) for _ in range(2))
    arguments = {"a": a, "b": b, "c": np.zeros((size, size), np.float32)}

    def expected(a: Any, b: Any, **_: Any) -> dict[str, Any]:
        return {"c": a.astype(np.float64) @ b.astype(np.float64)}

    def product(x: Any, y: Any) -> Any:
        return x @ y

    # A sum of products in [-1, 1] in any order: see examples/matmul.py.
    bound = size * 2.0**-24 * size / 3
    program = matmul_program(dtype, size)
    return Row(
        name=f"matmul {dtype.member.lower()} {size}",
        ours=compiled_run(program, arguments),
        numpy=(lambda: a @ b) if dtype is pl.FP32 else None,
        torch=on_torch(torch, product, [a, b]),
        check=checker(program, arguments, expected, bound),
        flops=2.0 * size**3,
        target=target,
    )


def flash_row(torch: Any) -> Row:
    """Return the row of attention of one head."""
    found = case("flash_attention")
    arguments = found.inputs(np.random.default_rng(0))
    q, k, v, _ = arguments.values()
    length, head = q.shape

    def fused(q: Any, k: Any, v: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    return Row(
        name=f"flash attention {length}x{head}",
        ours=compiled_run(found.program, arguments),
        numpy=lambda: found.reference(q, k, v, np.float32),
        torch=on_torch(torch, fused, [x[None, None] for x in (q, k, v)]),
        check=checker(found.program, arguments, found.reference, found.bound),
        flops=4.0 * length * length * head,
        target=">= 0.8 of PyTorch",
    )


def paged_row(torch: Any) -> Row:
    """Return the row of one decoding step over a paged cache."""
    module = example("paged_attention")
    [found] = module["CASES"]
    arguments = found.inputs(np.random.default_rng(0))
    run = paged_torch(torch, module, arguments) if torch is not None else None
    reference: Callable[..., Any] = found.reference
    return Row(
        name="paged attention 8x32x128",
        ours=compiled_run(found.program, arguments),
        numpy=lambda: reference(**arguments, precision=np.float32),
        torch=run,
        check=checker(found.program, arguments, found.reference, found.bound),
        target=">= 2 PyTorch",
    )


def paged_torch(torch: Any, module: dict[str, Any], arguments: dict[str, Any]) -> Run:
    """Return the same step in PyTorch: per request gather its blocks, then attend.

    Raises:
        SystemExit: it computes something different.
    """
    heads, group, block = module["KV_HEADS"], module["GROUP"], module["BLOCK"]
    size, scale = module["HEAD"], module["SCALE"]
    lengths: list[int] = arguments["context_lengths"].tolist()
    q = torch_view(torch, arguments["q"]).view(len(lengths), 1, heads, group, size)
    k_cache, v_cache = (
        torch_view(torch, arguments[name]).view(-1, heads, block, size)
        for name in ("k_cache", "v_cache")
    )
    table = torch_view(torch, arguments["block_table"]).long()
    attend: Callable[..., Any] = torch.nn.functional.scaled_dot_product_attention

    def gathered(cache: Any, request: int, length: int) -> Any:
        chosen = cache[table[request, : -(-length // block)]]  # [blocks, heads, block, size]
        return chosen.permute(1, 0, 2, 3).reshape(1, heads, -1, size)[:, :, :length]

    def run() -> Any:
        parts: list[Any] = []
        for request, length in enumerate(lengths):
            k, v = gathered(k_cache, request, length), gathered(v_cache, request, length)
            parts.append(attend(q[request], k, v, scale=scale))
        return torch.cat(parts).view(-1, size)

    expected = module["reference"](**arguments)["out"]
    if not np.abs(run().float().numpy() - expected).max() < 0.02:
        raise SystemExit("paged attention: PyTorch computes something else")
    return run


def tasks_row() -> Row:
    """Return the row of tasks without work: what the scheduler costs."""
    count = 10_000
    arguments = {"x": np.zeros((count, 16), np.float32)}
    return Row(
        name=f"{count:,} empty tasks",
        ours=compiled_run(empty_program(count), arguments),
        numpy=None,
        torch=None,
        check=lambda: 0.0,
        target="< 5 ms on 2 cores",
    )


def compiled_run(program: Any, arguments: dict[str, Any]) -> Run:
    """Return a function that runs the compiled program on the arguments, checked once."""
    return runtime.compile(program, target="cpu").prepared(list(arguments.values()))


def checker(
    program: Any, arguments: dict[str, Any], reference: Callable[..., Any], bound: float
) -> Callable[[], float]:
    """Return a function that runs the program and returns its largest error by the bound."""

    def check() -> float:
        compiled_run(program, arguments)()
        [(name, wanted)] = reference(**arguments).items()
        found = np.asarray(arguments[name], np.float64)
        return float((np.abs(found - wanted) / np.maximum(1.0, np.abs(wanted))).max()) / bound

    return check


def on_torch(torch: Any, function: Callable[..., Any], arrays: Sequence[Any]) -> Run | None:
    """Return the run of a function on PyTorch tensors of the same memory; None without PyTorch."""
    if torch is None:
        return None
    tensors = [torch_view(torch, array) for array in arrays]
    return lambda: function(*tensors)


def torch_view(torch: Any, array: Any) -> Any:
    """Return an array as a tensor over the same memory; bfloat16 is passed as bits."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


# ---------------------------------------------------------------------------------------- measuring


def measure(row: Row, seconds: float) -> dict[str, Any]:
    """Return the times and ratios of a row for the table."""
    error = row.check()
    if not error <= 1.0:
        raise SystemExit(f"{row.name}: the result is wrong by {error:.3g} times its bound")
    runs = {"ours": row.ours, "numpy": row.numpy, "torch": row.torch}
    present = {name: run for name, run in runs.items() if run is not None}
    times: dict[str, list[float]] = {name: [] for name in present}
    deadline = time.perf_counter() + seconds
    while len(times["ours"]) < 5 or time.perf_counter() < deadline:
        for name, run in present.items():
            run()  # wakes up its threads
            begin = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - begin)
            time.sleep(REST_S)
        if len(times["ours"]) >= 200:
            break
    ours = times["ours"]
    ratios = {
        name: statistics.median(t / o for t, o in zip(found, ours, strict=True))
        for name, found in times.items()
        if name != "ours"
    }
    return {
        "name": row.name,
        "median": statistics.median(ours),
        "best": min(ours),
        "ratios": ratios,
        "flops": row.flops / statistics.median(ours),
        "bytes": row.bytes / statistics.median(ours),
        "target": row.target,
        "turns": len(ours),
    }


def child(threads: int, seconds: float, wanted: Sequence[str]) -> None:
    """Measure all rows in this process and print them as JSON, one a line."""
    torch = None
    if importlib.util.find_spec("torch") is not None:
        import torch  # pyright: ignore[reportMissingImports]

        torch.set_num_threads(threads)  # pyright: ignore[reportUnknownMemberType]
        torch.set_grad_enabled(False)  # pyright: ignore[reportUnknownMemberType]
    print(json.dumps({"peak": multiply_add_peak(threads), "copy": copy_bandwidth(threads)}))
    for name, make in rows(torch):
        if not wanted or any(name.startswith(word) for word in wanted):
            print(json.dumps(measure(make(), seconds)), flush=True)


# ------------------------------------------------------------------------------------------- report


def report(threads: int, seconds: float, wanted: Sequence[str]) -> None:
    """Run a child with a number of threads and print its table."""
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}
    command = [sys.executable, __file__, "--child", "--threads", str(threads)]
    command += ["--seconds", str(seconds), *wanted]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        machine = json.loads(process.stdout.readline() or "{}")
        if machine:
            print(
                f"\n{threads} thread{'s' * (threads > 1)}: "
                f"multiply-add peak {machine['peak'] / 1e9:.0f} GFLOP/s (FP32), "
                f"copy {machine['copy'] / 1e9:.0f} GB/s"
            )
            heads = (
                f"{'median ms':>10} {'best ms':>9} {'x NumPy':>8} {'x PyTorch':>9} {'share':>11}"
            )
            print(f"{'':26}{heads}  target")
        for line in process.stdout:
            print(text_of(json.loads(line), machine), flush=True)
    if process.returncode:
        raise SystemExit(process.returncode)


def text_of(found: dict[str, Any], machine: dict[str, float]) -> str:
    """Return one row of the table."""
    ratios = found["ratios"]
    cells = [f"{ratios[key]:.2f}" if key in ratios else "-" for key in ("numpy", "torch")]
    share = ""
    if found["flops"]:
        share = f"{found['flops'] / machine['peak']:.0%} fma"
    elif found["bytes"]:
        share = f"{found['bytes'] / machine['copy']:.0%} copy"
    return (
        f"{found['name']:26}{found['median'] * 1e3:10.2f} {found['best'] * 1e3:9.2f} "
        f"{cells[0]:>8} {cells[1]:>9} {share:>11}  {found['target']}"
    )


def main() -> None:
    """Measure with one thread and with all, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", nargs="*", help="only rows whose names begin so")
    parser.add_argument("--seconds", type=float, default=2.0, help="of measuring, for each row")
    parser.add_argument("--threads", type=int, help="only so many")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.threads, options.seconds, options.rows)
        return
    toolchain = find_toolchain()
    if toolchain is None:
        raise SystemExit(no_compiler_message())
    print(f"{platform.machine()}, CPython {platform.python_version()}, NumPy {np.__version__}")
    print(toolchain.label)
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed (extra bench): its column is empty")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for threads in [options.threads] if options.threads else sorted({1, cores or 1}):
        report(threads, options.seconds, options.rows)


if __name__ == "__main__":
    main()
