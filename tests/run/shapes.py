"""Tensor-level programs at every size: native, interpreter, PTO texts and NumPy agree.

Programs and sizes are random; `python -m tests.run.shapes COUNT SEED [NAME ...]` makes that many
runs, of the programs that are named or of all. In half of them the sizes are constants of the
program; in the others one program serves all sizes. Kernels are compiled together
(`tests.natively`). Every array passed to a native kernel is placed between guard bytes, which no
run may change; after planning, the interpreter's memory starts poisoned, padding included. Texts
and interpreter are orders of magnitude slower: they evaluate only runs up to `SMALL`.
"""

# NumPy's results are arrays of unknown type.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import functools
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.errors import OpError
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.roles import Role, role
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.run.effects import effects
from pypto._src.run.native import NativeKernel
from tests.natively import compile_together, compiler, words
from tests.run.test_tensor_programs import TextHost, sizes_behind

Array = np.ndarray[Any, Any]
SIZES: Final = (0, 1, 3, 5, 16, 17, 31, 64, 100, 127, 777, 1000)
SMALL: Final = 20_000
"""The most elements (for a product: multiplications / 64) for which texts are evaluated."""
GUARD: Final = 64
BATCH: Final = 60
"""How many programs of constant sizes are compiled together."""
DTYPES: Final[dict[str, Any]] = {
    "FP32": np.float32,
    "FP16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "INT32": np.int32,
    "INT8": np.int8,
}
SYMBOLS: Final = {
    "m": "M",
    "n": "N",
    "k": "K",
    "1": "1",
    "3": "3",
    "2m": "M3",
    "2n": "N2",
    "m+2": "M2",
    "n+3": "N3",
}
"""The names of sizes in programs that serve all sizes."""

Shape = tuple[str, ...]


class Form(NamedTuple):
    """A program with sizes m, n and k to be filled in, and its NumPy reference."""

    inputs: tuple[tuple[Shape, str], ...]  # the names of the sizes; element type
    body: str  # of x0, x1, ...; the result, or out as a whole
    meaning: Callable[..., Any]
    result: tuple[Shape, str] = (("m", "n"), "FP32")
    some: str = ""
    """The dimension over which a maximum is taken: 0 is rejected where it is constant."""
    dynamic: bool = True  # False if the sizes have to be constants


def _f32(*shapes: str) -> tuple[tuple[Shape, str], ...]:
    return tuple((tuple(shape), "FP32") for shape in shapes)


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(1, keepdims=True, initial=-np.inf))
    return powers / powers.sum(1, keepdims=True)


def _rms_norm(x: Array, w: Array) -> Array:
    return x * w / np.sqrt((x * x).sum(1, keepdims=True) + 1)


def _layer_norm(x: Array, w: Array, b: Array) -> Array:
    centred = x - x.sum(1, keepdims=True) / 64
    return centred / np.sqrt((centred * centred).sum(1, keepdims=True) + 1) * w + b


def _attention(q: Array, k: Array, v: Array) -> Array:
    return _softmax(q @ k.T / 16) @ v


def _third(x: Array) -> Array:
    for _ in range(2):
        x = x - (x == x.max(1, keepdims=True, initial=-np.inf)) * np.float32(1000)
    return x.max(1, keepdims=True, initial=-np.inf)


def _half(x: Array) -> Array:
    return (x.astype(np.float32) * 2).astype(np.float16)


def _cast(target: str) -> Callable[[Array], Array]:
    """Return the reference of a cast to ``target``; only casts of these to integers round."""
    return lambda x: (
        np.trunc(x).astype(DTYPES[target]) if "INT" in target else x.astype(DTYPES[target])
    )


_WIDE: Final = ((("m", "k"), "FP16"), (("k", "n"), "FP16"))
FORMS: Final[dict[str, Form]] = {
    "elementwise": Form(
        _f32("mn", "mn"), "y = pl.mul(pl.add(x0, x1), 2.0)", lambda a, b: (a + b) * 2
    ),
    "beside_row": Form(_f32("mn", "1n"), "y = pl.mul(x0, x1)", lambda a, b: a * b),
    "beside_column": Form(_f32("mn", "m1"), "y = pl.add(x0, x1)", lambda a, b: a + b),
    "outer": Form(_f32("1n", "m1"), "y = pl.mul(x0, x1)", lambda a, b: a * b),
    "softmax": Form(
        _f32("mn"),
        "e = pl.exp(pl.sub(x0, pl.row_max(x0))); y = pl.div(e, pl.row_sum(e))",
        _softmax,
        some="n",
    ),
    "rms_norm": Form(
        _f32("mn", "1n"),
        "s = pl.row_sum(pl.mul(x0, x0)); y = pl.div(pl.mul(x0, x1), pl.sqrt(pl.add(s, 1.0)))",
        _rms_norm,
    ),
    "layer_norm": Form(
        _f32("mn", "1n", "1n"),
        "c = pl.sub(x0, pl.mul(pl.row_sum(x0), 0.015625)); s = pl.row_sum(pl.mul(c, c)); "
        "y = pl.add(pl.mul(pl.div(c, pl.sqrt(pl.add(s, 1.0))), x1), x2)",
        _layer_norm,
    ),
    "row_sum": Form(
        _f32("mn"),
        "y = pl.row_sum(x0)",
        lambda x: x.sum(1, keepdims=True),
        (("m", "1"), "FP32"),
    ),
    "row_min": Form(
        ((("m", "n"), "FP16"),),
        "y = pl.row_min(x0)",
        lambda x: x.min(1, keepdims=True, initial=np.inf),
        (("m", "1"), "FP16"),
        some="n",
    ),
    "column_sum": Form(
        _f32("mn"),
        "y = pl.col_sum(x0)",
        lambda x: x.sum(0, keepdims=True),
        (("1", "n"), "FP32"),
    ),
    "column_max": Form(
        ((("m", "n"), "INT32"),),
        "y = pl.col_max(x0)",
        lambda x: x.max(0, keepdims=True, initial=np.iinfo(np.int32).min),
        (("1", "n"), "INT32"),
        some="m",
    ),
    "casts": Form(
        ((("m", "n"), "FP16"),),
        "y = pl.cast(pl.mul(pl.cast(x0, pl.FP32), 2.0), pl.FP16)",
        _half,
        (("m", "n"), "FP16"),
    ),
    "integers": Form(
        ((("m", "n"), "INT32"), (("m", "n"), "BF16")),
        "y = pl.cast(pl.add(pl.cast(x0, pl.FP32), pl.cast(x1, pl.FP32)), pl.INT32, mode='trunc')",
        lambda a, b: (a.astype(np.float32) + b.astype(np.float32)).astype(np.int32),
        (("m", "n"), "INT32"),
    ),
    "promoted": Form(
        ((("m", "n"), "FP16"), (("m", "n"), "FP32")),
        "y = pl.add(x0, x1)",
        lambda a, b: a + b,
    ),
    "transpose": Form(_f32("nm"), "y = pl.transpose(x0, 0, 1)", lambda x: x.T),
    "transpose_halves": Form(
        ((("n", "m"), "FP16"),),
        "y = pl.transpose(x0, 0, 1)",
        lambda x: x.T,
        (("m", "n"), "FP16"),
    ),
    "product": Form(_f32("mk", "kn"), "y = pl.matmul(x0, x1)", lambda a, b: a @ b),
    "product_bias": Form(
        (*_WIDE, (("1", "n"), "FP32")),
        "y = pl.add(pl.matmul(x0, x1, out_dtype=pl.FP32), x2)",
        lambda a, b, c: a.astype(np.float32) @ b.astype(np.float32) + c,
    ),
    "product_a_trans": Form(
        _f32("km", "kn"), "y = pl.matmul(x0, x1, a_trans=True)", lambda a, b: a.T @ b
    ),
    "product_b_trans": Form(
        _f32("mk", "nk"), "y = pl.matmul(x0, x1, b_trans=True)", lambda a, b: a @ b.T
    ),
    "product_turned": Form(
        ((("k", "m"), "FP16"), (("n", "k"), "FP16")),
        "y = pl.matmul(x0, x1, a_trans=True, b_trans=True, out_dtype=pl.FP32)",
        lambda a, b: a.T.astype(np.float32) @ b.T.astype(np.float32),
    ),
    "attention": Form(
        _f32("mk", "nk", "nk"),
        "s = pl.mul(pl.matmul(x0, x1, b_trans=True), 0.0625); "
        "e = pl.exp(pl.sub(s, pl.row_max(s))); y = pl.matmul(pl.div(e, pl.row_sum(e)), x2)",
        _attention,
        (("m", "k"), "FP32"),
        some="n",
    ),
    "third_largest": Form(
        _f32("mn"),
        "x1 = pl.sub(x0, pl.mul(pl.cmp(x0, pl.row_max(x0), cmp_type=0), 1000.0)); "
        "x2 = pl.sub(x1, pl.mul(pl.cmp(x1, pl.row_max(x1), cmp_type=0), 1000.0)); "
        "y = pl.row_max(x2)",
        _third,
        (("m", "1"), "FP32"),
        some="n",
    ),
    "concatenation": Form(
        _f32("mn", "mn"),
        "out = pl.assemble(out, x0, [0, 0]); out = pl.assemble(out, x1, [0, {n}])",
        lambda a, b: np.concatenate([a, b], axis=1),
        (("m", "2n"), "FP32"),
    ),
    "slice": Form(
        ((("m+2", "n+3"), "FP32"), (("m", "n"), "FP32")),
        "y = pl.add(pl.view(x0, [{m}, {n}], [1, 2]), x1)",
        lambda a, b: a[1:-1, 2:-1] + b,
    ),
    "reshape": Form(
        _f32("mn"),
        "y = pl.reshape(x0, [{n}, {m}])",
        lambda x: x.reshape(x.shape[::-1]),
        (("n", "m"), "FP32"),
    ),
    "flattened": Form(
        ((("m", "n"), "FP16"),),
        "y = pl.reshape(pl.add(pl.reshape(x0, [{m} * {n}]), 1.0), [1, {m}, {n}])",
        lambda x: x[None] + np.float16(1),
        (("1", "m", "n"), "FP16"),
    ),
    "vector_matrix": Form(
        _f32("k", "kn"), "y = pl.matmul(x0, x1)", lambda a, b: a @ b, (("n",), "FP32")
    ),
    "matrix_vector": Form(
        ((("m", "k"), "FP16"), (("k",), "FP16")),
        "y = pl.matmul(x0, x1, out_dtype=pl.FP32)",
        lambda a, b: a.astype(np.float32) @ b.astype(np.float32),
        (("m",), "FP32"),
    ),
    "integer_product": Form(
        ((("m", "k"), "INT8"), (("n", "k"), "INT8")),
        "y = pl.matmul(x0, x1, b_trans=True, out_dtype=pl.INT32)",
        lambda a, b: a.astype(np.int32) @ b.T.astype(np.int32),
        (("m", "n"), "INT32"),
    ),
    "stacked_product": Form(
        _f32("3mk", "3kn"),
        "y = pl.matmul(x0, x1)",
        lambda a, b: a @ b,
        (("3", "m", "n"), "FP32"),
    ),
    "plane_sum": Form(
        _f32("3mn"),
        "y = pl.row_sum(x0, axis=0)",
        lambda x: x.sum(0, keepdims=True),
        (("1", "m", "n"), "FP32"),
    ),
    "middle_max": Form(
        _f32("3mn"),
        "y = pl.row_max(x0, axis=1)",
        lambda x: x.max(1, keepdims=True, initial=-np.inf),
        (("3", "1", "n"), "FP32"),
        some="m",
    ),
    "plane_row_sum": Form(
        _f32("3mn"),
        "y = pl.mul(x0, pl.row_sum(x0))",
        lambda x: x * x.sum(2, keepdims=True),
        (("3", "m", "n"), "FP32"),
    ),
    "sum_of_a_row": Form(
        _f32("1n"), "y = pl.row_sum(x0)", lambda x: x.sum(1, keepdims=True), (("1", "1"), "FP32")
    ),
    "beside_one": Form(_f32("mn", "11"), "y = pl.mul(x0, x1)", lambda a, b: a * b),
    "rows_below": Form(
        ((("m", "n"), "BF16"), (("m", "n"), "BF16")),
        "out = pl.assemble(out, x0, [0, 0]); out = pl.assemble(out, x1, [{m}, 0])",
        lambda a, b: np.concatenate([a, b]),
        (("2m", "n"), "BF16"),
    ),
    "column_of_wide": Form(
        ((("m+2", "n+3"), "FP32"),),
        "y = pl.add(pl.view(x0, [{m}, 1], [2, 2]), 1.0)",
        lambda x: x[2:, 2:3] + 1,
        (("m", "1"), "FP32"),
    ),
    "quantized": Form(
        _f32("mn", "m1"),
        "y = pl.cast(pl.cast(pl.cast(pl.mul(x0, x1), pl.INT32, mode='rint'), pl.FP16, "
        "mode='none'), pl.INT8, mode='trunc')",
        lambda a, s: np.rint(a * s).astype(np.int8),
        (("m", "n"), "INT8"),
    ),
    "dequantized": Form(
        ((("m", "n"), "INT8"), (("m", "1"), "FP32")),
        "y = pl.mul(pl.cast(pl.cast(x0, pl.FP16), pl.FP32), x1)",
        lambda a, s: a.astype(np.float32) * s,
    ),
    **{
        f"cast_{source}_{target}": Form(
            ((("m", "n"), source),),
            f"y = pl.cast(x0, pl.{target}, mode='trunc')",
            _cast(target),
            (("m", "n"), target),
        )
        for source, target in (
            ("FP32", "BF16"),
            ("FP32", "INT32"),
            ("BF16", "INT32"),
            ("FP16", "INT8"),
            ("INT32", "FP32"),
            ("FP16", "INT32"),
        )
    },
}


class Run(NamedTuple):
    """One program at given sizes; ``dynamic`` if its sizes are known only at the call."""

    name: str
    m: int
    n: int
    k: int
    dynamic: bool = False

    @property
    def sizes(self) -> dict[str, int]:
        """The value of each named size."""
        m, n, k = self.m, self.n, self.k
        return {
            "m": m,
            "n": n,
            "k": k,
            "1": 1,
            "3": 3,
            "2m": 2 * m,
            "2n": 2 * n,
            "m+2": m + 2,
            "n+3": n + 3,
        }

    @property
    def key(self) -> Run:
        """The key under which this and other runs share a program."""
        return Run(self.name, 0, 0, 0, True) if self.dynamic else self

    def array(self, of: tuple[Shape, str], rng: np.random.Generator) -> Array:
        """Return an argument: multiples of 1/4 and 1/8, or integers."""
        shape, kind = of
        found = rng.integers(-8, 9, tuple(self.sizes[name] for name in shape))
        return (found if "INT" in kind else found / 4 + 0.125).astype(DTYPES[kind])

    def program(self) -> ir.Program:
        """Return the program.

        Raises:
            OpError: it asks for the maximum of no elements.
        """
        form = FORMS[self.name]
        names: Mapping[str, Any] = SYMBOLS if self.dynamic else self.sizes
        params = [f"x{at}: pl.{_tensor(*of, names)}" for at, of in enumerate(form.inputs)]
        params.append(f"out: pl.Out[pl.{_tensor(*form.result, names)}]")
        body = form.body.format(**{each: names[each] for each in "mnk"}).split("; ")
        if "out = " not in form.body:
            body.append(f"out = pl.assemble(out, y, {[0] * len(form.result[0])})")
        lines = [
            "import pypto.language as pl\n",
            *(f"{s} = pl.dynamic('{s}')" for s in SYMBOLS.values() if not s.isdigit()),
            "\n\n@pl.program\nclass Drawn:\n    @pl.function",
            f"    def main(self, {', '.join(params)}):\n        with pl.incore():",
            *(f"            {line}" for line in body),
            "        return out\n",
        ]
        return pl.parse_program("\n".join(lines))

    def is_refused(self) -> bool:
        """True if the program asks for the maximum of no elements."""
        some = FORMS[self.name].some
        return not self.dynamic and some != "" and self.sizes[some] == 0

    def is_small(self) -> bool:
        """True if its texts can be evaluated in reasonable time."""
        uses_k = any("k" in shape for shape, _ in FORMS[self.name].inputs)
        planes = 3 if any("3" in shape for shape, _ in FORMS[self.name].inputs) else 1
        return planes * self.m * self.n * (max(1, self.k // 64) if uses_k else 1) <= SMALL


def _tensor(shape: Shape, kind: str, names: Mapping[str, Any]) -> str:
    return f"Tensor[[{', '.join(str(names[name]) for name in shape)}], pl.{kind}]"


def drawn(count: int, seed: int, only: Sequence[str] = ()) -> list[Run]:
    """Return runs: the programs in rotation, with random sizes, every second one dynamic."""
    rng = np.random.default_rng(seed)
    names = [name for name in FORMS if name in only or not only]
    found: list[Run] = []
    for at in range(count):
        name = names[at % len(names)]
        dynamic = FORMS[name].dynamic and at // len(names) % 2 == 0
        m, n, k = (int(size) for size in rng.choice(SIZES, 3))
        found.append(Run(name, m, n, k, dynamic))
    return found


# --------------------------------------------------------------------------------------------
# Guards
# --------------------------------------------------------------------------------------------


def _guarded(array: Array) -> tuple[Array, Array]:
    """Return a copy of an array, and the buffer that contains it, guards included."""
    whole = np.full(array.nbytes + 2 * GUARD, 0xA5, np.uint8)
    inner = whole[GUARD : GUARD + array.nbytes].view(array.dtype).reshape(array.shape)
    inner[...] = array
    return inner, whole


def _assert_guards(wholes: Sequence[Array]) -> None:
    for whole in wholes:
        assert (whole[:GUARD] == 0xA5).all(), "the bytes before an array have changed"
        assert (whole[-GUARD:] == 0xA5).all(), "the bytes behind an array have changed"


class NativeHost(Evaluator):
    """A lowered program whose kernels run natively, on arrays between guard bytes."""

    def __init__(self, program: ir.Program, kernels: Mapping[str, NativeKernel]) -> None:
        super().__init__(program)
        self.effects = effects(program)
        self.kernels = kernels
        self.params = {f.name: f.params for f in program.functions_}

    def run(self, name: str, args: Sequence[Any], span: Span = UNKNOWN_SPAN) -> Any:
        """Call a kernel on guarded copies of its arrays."""
        kernel = self.kernels.get(name)
        if kernel is None:
            return super().run(name, args, span)
        pairs = [_guarded(a) if isinstance(a, np.ndarray) else (a, None) for a in args]
        given = [*(inner for inner, _ in pairs), *sizes_behind(self.params[name], args)]
        kernel(words(given))
        _assert_guards([whole for _, whole in pairs if whole is not None])
        for arg, (inner, _) in zip(args, pairs, strict=True):
            if isinstance(arg, np.ndarray):
                arg[...] = inner
        found = tuple(args[index] for index, *_ in self.effects[name].results)
        return found[0] if len(found) == 1 else found or None


# --------------------------------------------------------------------------------------------
# Runs
# --------------------------------------------------------------------------------------------


class Ways(NamedTuple):
    """The ways to execute a program: callables by name."""

    native: dict[str, Callable[..., Any]]
    slow: Callable[[], dict[str, Callable[..., Any]]]
    """Makes the interpreters and the evaluators of texts when called; raises for a wrong text."""


def prepared(programs: Mapping[Run, ir.Program]) -> dict[Run, Ways]:
    """Return the ways to execute each program; their kernels are compiled together."""
    default = {
        key: PassManager(OptimizationStrategy.Default).run_passes(program)
        for key, program in programs.items()
    }
    kernels = [(key, f) for key, p in default.items() for f in _kernels(p)]
    natives: dict[Run, dict[str, NativeKernel]] = {key: {} for key in default}
    if kernels:
        found = compile_together([f for _, f in kernels], compiler())
        for (key, function), native in zip(kernels, found, strict=True):
            natives[key][function.name] = native
    ways: dict[Run, Ways] = {}
    for key, low in default.items():
        native = {"kernels": NativeHost(low, natives[key])}
        calls = {way: _caller(host) for way, host in native.items()}
        if key.dynamic:
            calls["native"] = runtime.compile(programs[key])
        ways[key] = Ways(calls, functools.cache(functools.partial(_slow, programs[key], low)))
    return ways


def _slow(program: ir.Program, default: ir.Program) -> dict[str, Callable[..., Any]]:
    lowered = {
        "Default": default,
        "PTOAS": PassManager(OptimizationStrategy.PTOAS).run_passes(program),
    }
    return {
        **{f"interpreter {name}": _caller(Evaluator(p)) for name, p in lowered.items()},
        **{f"text {name}": _caller(TextHost(p)) for name, p in lowered.items()},
    }


def _kernels(program: ir.Program) -> list[ir.Function]:
    return [f for f in program.functions_ if role(f) is Role.KERNEL]


def _caller(host: Evaluator) -> Callable[..., Any]:
    return lambda *args: host.call("main", list(args))


def compare(run: Run, ways: Ways) -> None:
    """Compare all ways to execute a program, at one run's sizes."""
    form = FORMS[run.name]
    rng = np.random.default_rng(run.m * 1009 + run.n * 31 + run.k)
    arrays = [run.array(of, rng) for of in form.inputs]
    poison = np.full_like(run.array(form.result, rng), -77)
    with np.errstate(all="ignore"):
        wanted: Array = form.meaning(*arrays)
    rtol = 2e-3 if wanted.dtype == np.float16 else 2e-5
    slow = ways.slow()  # for large runs as well: their texts are checked, though not evaluated
    calls = {**ways.native, **(slow if run.is_small() else {})}
    for way, call in calls.items():
        pairs = [_guarded(array) for array in (*arrays, poison)]
        call(*(inner for inner, _ in pairs))
        inners = [inner for inner, _ in pairs]
        np.testing.assert_allclose(inners[-1], wanted, rtol, 1e-3, err_msg=f"{run} {way}")
        _assert_guards([whole for _, whole in pairs])
        for inner, array in zip(inners, arrays, strict=False):
            np.testing.assert_array_equal(inner, array)


def assert_refused(run: Run) -> None:
    """Check that the program of a run is rejected, and why."""
    with pytest.raises(OpError, match="has no elements to choose from") as caught:
        run.program()
    assert caught.value.slug == "no-elements"


def checked(runs: Sequence[Run]) -> Iterator[tuple[Run, Exception | None]]:
    """Make runs; yield each with its failure, if any."""
    kept: dict[Run, Ways] = {}  # for programs that serve all sizes
    for begin in range(0, len(runs), BATCH):
        batch = runs[begin : begin + BATCH]
        new = dict.fromkeys(run.key for run in batch if run.dynamic and run.key not in kept)
        kept |= prepared({key: key.program() for key in new})
        broken: dict[Run, Exception] = {}
        programs: dict[Run, ir.Program] = {}
        for run in batch:
            if run.dynamic or run.is_refused() or run in programs:
                continue
            try:
                program = run.program()
                low = PassManager(OptimizationStrategy.Default).run_passes(program)
                for kernel in _kernels(low):
                    kernel_file(kernel)
                programs[run] = program
            except Exception as error:
                broken[run] = error
        ways = kept | prepared(programs)
        for run in batch:
            try:
                if run in broken:
                    raise broken[run]
                if run.is_refused():
                    assert_refused(run)
                else:
                    compare(run, ways[run.key])
            except Exception as error:
                yield run, error
            else:
                yield run, None


def main(count: int, seed: int, only: Sequence[str] = ()) -> int:
    """Make runs, of some programs (``only``) or of all; print and count those that differ."""
    done, wrong, small, begin = Counter[str](), 0, 0, time.monotonic()
    for run, error in checked(drawn(count, seed, only)):
        done[run.name] += 1
        small += run.is_small() and not run.is_refused()
        if error is not None:
            wrong += 1
            message = " ".join(str(error).split())
            print(run, type(error).__name__, message[:300], sep=": ", flush=True)
        if sum(done.values()) % 250 == 0:
            print(f"{sum(done.values())} runs, {time.monotonic() - begin:.0f} s", flush=True)
    print(dict(done), f"{small} on all ways, the others natively", sep="\n")
    print(f"{wrong} of {count} differ")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))
