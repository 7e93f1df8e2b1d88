"""Mutates collectives, and counts what detects each mutant: the rank checker, or wrong values.

``python -m tests.run.collective_mutants [COUNT] [SEED]`` prints, for COUNT mutants of the
collectives' own source, counts by kind, how many are found without any data, and those that nothing
finds. Each mutant changes one statement or argument of a function of
`pypto._src.jit.collectives`: a wait, notification, barrier or transfer is missing, repeated, or
swapped with the statement before it; a value, peer, signal or offset is changed. Each
collective runs twice on three ranks with different numbers, as ``check`` runs a program: ranks
are scheduled in six orders. What it does not report is compared with NumPy.
"""

from __future__ import annotations

import ast
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld
from pypto._src.errors import PyptoError
from pypto._src.jit import collectives
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import RunConfig

Array = np.ndarray[Any, Any]

RANKS: Final = 3
ROWS, COLUMNS = 12, 16
ROUNDS: Final = 2
SOURCE: Final = Path(collectives.__file__)

FUNCTIONS: Final = {
    "all-reduce, mesh": ("allreduce", "_mesh_reduce", "_mesh_gather", "_copied"),
    "all-reduce, ring": ("allreduce", "_ring_reduce", "_ring_gather", "_copied"),
    "reduce-scatter": ("reduce_scatter",),
    "all-gather": ("allgather",),
    "broadcast": ("broadcast",),
    "all-to-all": ("all_to_all",),
    "barrier": ("barrier", "_take"),
}
"""The functions of a collective; those of the barrier are tested in an all-gather."""

OTHER_MODE: Final = {"all-reduce, mesh": ("_ring",), "all-reduce, ring": ("_mesh",)}
"""Functions that a collective calls only in another mode."""

EQUAL: Final = {
    ("all-gather", "wrong neighbour"): "each rank puts its row to all peers, in another order",
    ("barrier", "wrong neighbour"): "each rank notifies all peers, in another order",
    ("barrier", "wrong signal"): "each rank has another element, and waits for all elements",
}
"""Equivalent mutants, by collective and kind, with the reason."""


class Mutant(NamedTuple):
    """One change of the source of the collectives."""

    kind: str
    collective: str
    line: int
    change: str
    text: str
    """The source with the change applied."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.collective}, line {self.line}: {self.change}"


# --------------------------------------------------------------------------------------------
# Mutants
# --------------------------------------------------------------------------------------------

SIGNALS: Final = {"notify", "wait"}
TRANSFERS: Final = {"put", "get"}
WHOLE: Final = {"barrier", "_take", "_copied", *[n for ns in FUNCTIONS.values() for n in ns]}


class Source:
    """The source of the collectives, for small pieces and few ranks, and changes to it."""

    def __init__(self) -> None:
        text = SOURCE.read_text("utf-8")
        text = text.replace("_MOST: Final = 32 * 1024", "_MOST: Final = 128")
        self.text = text.replace("@jit\n", '@jit(target="interpreter")\n')
        assert self.text.count("128") == 1
        tree = ast.parse(self.text)
        self.functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        lines = self.text.splitlines(keepends=True)
        self._begins = [0]
        for line in lines:
            self._begins.append(self._begins[-1] + len(line))

    def of(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of a node."""
        begin, end = self._ends(node)
        return self.text[begin:end]

    def changed(self, *changes: tuple[ast.expr | ast.stmt, str]) -> str:
        """Return the source with nodes replaced by other text."""
        text = self.text
        for node, new in sorted(changes, key=lambda pair: -self._ends(pair[0])[0]):
            begin, end = self._ends(node)
            text = text[:begin] + new + text[end:]
        return text

    def _ends(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = self._begins[node.lineno - 1] + node.col_offset
        return begin, self._begins[node.end_lineno - 1] + node.end_col_offset


def mutants() -> list[Mutant]:
    """Return all mutants of all collectives."""
    source = Source()
    return [
        mutant
        for collective, names in FUNCTIONS.items()
        for name in names
        for mutant in _of_function(source, collective, source.functions[name])
    ]


def _of_function(source: Source, collective: str, function: ast.FunctionDef) -> Iterator[Mutant]:
    def mutant(kind: str, node: ast.expr | ast.stmt, new: str, *more: Any) -> Mutant:
        old = " ".join(source.of(node).split())
        text = source.changed((node, new), *more)
        return Mutant(kind, collective, node.lineno, f"{old} -> {' '.join(new.split())}", text)

    others = OTHER_MODE.get(collective, ())
    for body in _bodies(function):
        if others and any(_called(stmt)[0].startswith(others) for stmt in body):
            continue
        for at, stmt in enumerate(body):
            name, call = _called(stmt)
            if name:
                yield mutant(f"missing {_word(name)}", stmt, "pass")
            if name == "notify":
                both = f"{source.of(stmt)}\n{' ' * stmt.col_offset}{source.of(stmt)}"
                yield mutant("doubled notify", stmt, both)
            if call is not None:
                for kind, node, new in _arguments(source, name, call):
                    yield mutant(kind, node, new)
            before = body[at - 1] if at else None
            if before is not None and name and (_called(before)[0] or isinstance(before, ast.For)):
                kind = f"{_word(name)} too early"
                yield mutant(kind, before, source.of(stmt), (stmt, source.of(before)))
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _name(node) == "remote_load":
            peer = node.args[1]
            yield mutant("wrong neighbour", peer, _next(source.of(peer)))
            yield mutant("wrong offset", node.args[2], "[0, 0]")
        if isinstance(node, ast.For):
            assert isinstance(node.iter, ast.Call)
            last = node.iter.args[-1]
            yield mutant("wrong bound", last, f"{source.of(last)} - 1")
            if len(node.iter.args) > 1:
                first = node.iter.args[0]
                yield mutant("wrong bound", first, f"{source.of(first)} + 1")
        if isinstance(node, ast.Compare) and "mode" not in source.of(node):
            yield mutant("wrong bound", node, f"not ({source.of(node)})")


def _bodies(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body:
                yield body


def _called(stmt: ast.stmt) -> tuple[str, ast.Call | None]:
    """Return what a statement does to other ranks or their signals; "" for nothing."""
    if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
        name = _name(stmt.value)
        if name in SIGNALS | TRANSFERS | WHOLE:
            return name, stmt.value
    if isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Subscript):
        return "store", None
    return "", None


def _name(call: ast.Call) -> str:
    func = call.func
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def _word(name: str) -> str:
    if name in TRANSFERS or name in ("store", "_copied"):
        return "transfer"
    return name if name in SIGNALS or name == "barrier" else "wait" if name == "_take" else "phase"


def _next(peer: str) -> str:
    return f"({peer} + 1) % {RANKS}"


def _arguments(
    source: Source, name: str, call: ast.Call
) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    """Yield changes of the arguments of a call: kind, argument, replacement text."""
    args = call.args
    if name == "notify":
        _, peer, index, value = args
        yield "wrong neighbour", peer, _next(source.of(peer))
        yield "wrong signal", index, _next(source.of(index))
        yield "reused signal", index, "0"
        yield "wrong value", value, f"{source.of(value)} + 1"
        yield "wrong value", value, "0"
        yield "set for add", call.keywords[0].value, "pld.NotifyOp.Set"
    elif name == "wait":
        _, index, value = args
        yield "wrong signal", index, _next(source.of(index))
        yield "reused signal", index, "0"
        yield "wrong value", value, "0"
        yield "wrong value", value, "2"
        yield "wrong value", call.keywords[0].value, "pld.WaitCmp.Eq"
    elif name == "_take":
        yield "wrong signal", args[1], _next(source.of(args[1]))
        yield "reused signal", args[1], "0"
    elif name == "_copied":
        yield "wrong neighbour", args[1], _next(source.of(args[1]))
        yield "wrong offset", args[2], _next(source.of(args[2]))
    elif name in TRANSFERS:
        yield "wrong neighbour", args[1], _next(source.of(args[1]))
        for offsets in args[3:5]:
            assert isinstance(offsets, ast.List)
            if source.of(offsets) != "[0, 0]":
                yield "wrong offset", offsets, "[0, 0]"


# --------------------------------------------------------------------------------------------
# Programs
# --------------------------------------------------------------------------------------------

devices = RunConfig(distributed_config=DistributedConfig(device_ids=[*range(RANKS)]))


@pl.jit(target="interpreter")
def fill(x: pl.Tensor, box: pl.InOut[pld.DistributedTensor]):
    """Fill a rank's window with the rank's data."""
    with pl.at(level=pl.Level.CORE_GROUP):
        box[:, :] = x[:, :]


@pl.jit(target="interpreter")
def read(y: pl.Out[pl.Tensor], box: pl.InOut[pld.DistributedTensor]):
    """Return the contents of a rank's window."""
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = box[:, :]
    return y


def program(collective: str, names: Any) -> tuple[Any, Callable[[Array], Array], tuple[int, int]]:
    """Return a program of a collective, its NumPy reference, and the shape of a rank's part.

    ``names`` is the module of collectives; ``program(x, y)`` takes one part for each round and
    rank, and returns as many.
    """
    launch, reference = _KINDS[collective]
    rows = RANKS if collective in _OF_ROWS else ROWS

    @pl.jit.host
    def run(x: pl.Tensor, y: pl.Out[pl.Tensor]):
        boxes = pld.alloc_window_buffer([rows, COLUMNS], dtype=pl.FP32)
        others = pld.alloc_window_buffer([rows, COLUMNS], dtype=pl.FP32)
        signals = pld.alloc_window_buffer([RANKS], dtype=pl.INT32)
        box = pld.window(boxes, [rows, COLUMNS], dtype=pl.FP32)
        other = pld.window(others, [rows, COLUMNS], dtype=pl.FP32)
        signal = pld.window(signals, [RANKS], dtype=pl.INT32)
        for n in pl.range(ROUNDS):
            for r in pl.range(pld.world_size()):
                fill(x[n, r], box, device=r)
                launch(names, box, other, signal, r)
                read(y[n, r], box, device=r)

    return run, reference, (rows, COLUMNS)


_OF_ROWS: Final = {"reduce-scatter", "all-gather", "barrier"}


@pl.jit.inline
def _mesh(names: Any, box: Any, other: Any, signal: Any, r: int):
    names.allreduce_kernel(box, signal, device=r)


@pl.jit.inline
def _ring(names: Any, box: Any, other: Any, signal: Any, r: int):
    names.allreduce_kernel(box, signal, mode="ring", device=r)


@pl.jit.inline
def _scattered(names: Any, box: Any, other: Any, signal: Any, r: int):
    names.reduce_scatter_kernel(box, signal, device=r)


@pl.jit.inline
def _gathered(names: Any, box: Any, other: Any, signal: Any, r: int):
    first_row(box, other, device=r)
    names.allgather_kernel(other, box, signal, device=r)


@pl.jit.inline
def _spread(names: Any, box: Any, other: Any, signal: Any, r: int):
    names.broadcast_kernel(box, signal, root=1, device=r)


@pl.jit.inline
def _exchanged(names: Any, box: Any, other: Any, signal: Any, r: int):
    whole(box, other, device=r)
    names.all_to_all_kernel(other, box, signal, device=r)


@pl.jit(target="interpreter")
def first_row(box: pl.InOut[pld.DistributedTensor], other: pl.InOut[pld.DistributedTensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        other[0:1, :] = box[0:1, :]


@pl.jit(target="interpreter")
def whole(box: pl.InOut[pld.DistributedTensor], other: pl.InOut[pld.DistributedTensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        other[:, :] = box[:, :]


def _all_sums(x: Array) -> Array:
    return np.broadcast_to(x.sum(axis=1, keepdims=True), x.shape)


def _row_sums(x: Array) -> Array:
    found = x.copy()
    for r in range(RANKS):
        found[:, r, r] = x[:, :, r].sum(axis=1)
    return found


def _rows(x: Array) -> Array:
    return np.broadcast_to(x[:, None, :, 0], x.shape)


def _of_root(x: Array) -> Array:
    return np.broadcast_to(x[:, 1:2], x.shape)


def _blocks(x: Array) -> Array:
    parts = x.reshape(ROUNDS, RANKS, RANKS, ROWS // RANKS, COLUMNS)
    return parts.transpose(0, 2, 1, 3, 4).reshape(x.shape)


_KINDS: Final[dict[str, tuple[Any, Callable[[Array], Array]]]] = {
    "all-reduce, mesh": (_mesh, _all_sums),
    "all-reduce, ring": (_ring, _all_sums),
    "reduce-scatter": (_scattered, _row_sums),
    "all-gather": (_gathered, _rows),
    "broadcast": (_spread, _of_root),
    "all-to-all": (_exchanged, _blocks),
    "barrier": (_gathered, _rows),
}


# --------------------------------------------------------------------------------------------
# Verdicts
# --------------------------------------------------------------------------------------------


def verdict(collective: str, text: str, folder: Path) -> str:
    """Return what is found in a collective of a source: a slug, ``value``, or "" for nothing."""
    run, reference, shape = program(collective, _loaded(text, folder))
    x = np.random.default_rng(5).integers(-9, 9, (ROUNDS, RANKS, *shape)).astype(np.float32)
    y = np.zeros_like(x)
    try:
        run.check(x, y, config=devices)
        run(x, y, config=devices)
    except PyptoError as error:
        return error.slug
    return "" if np.array_equal(y, reference(x)) else "value"


def verdict_without_data(collective: str, text: str, folder: Path) -> str:
    """Return what is found in a collective from its signals, offsets and loops alone."""
    run, _, shape = program(collective, _loaded(text, folder))
    parts = pl.Tensor[[ROUNDS, RANKS, *shape], pl.FP32]
    try:
        run.check_signals(parts, parts, config=devices)
    except PyptoError as error:
        return error.slug
    return ""


def _loaded(text: str, folder: Path) -> Any:
    path = folder / f"collectives_{len([*folder.iterdir()])}.py"
    path.write_text(text, "utf-8")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    names = module_from_spec(spec)
    spec.loader.exec_module(names)
    return names


def judged(chosen: Sequence[Mutant]) -> Iterator[tuple[Mutant, str, str]]:
    """Yield the verdicts on some mutants: what is found, and what is found without data."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for mutant in chosen:
            found = verdict(mutant.collective, mutant.text, folder)
            yield mutant, found, verdict_without_data(mutant.collective, mutant.text, folder)


def main(count: int, seed: int) -> int:
    """Print the verdicts on ``count`` mutants; return 1 if a non-equivalent one is never found.

    Equivalent mutants are counted separately: none of them may be found by anything.
    """
    begin = time.perf_counter()
    with TemporaryDirectory() as folder:
        for collective in FUNCTIONS:
            found = verdict(collective, Source().text, Path(folder))
            assert not found, f"{collective} as it is: {found}"
    every = mutants()
    chosen = Random(seed).sample(every, min(count, len(every)))
    counts: Counter[tuple[str, str]] = Counter()
    missed: list[Mutant] = []
    equal = without_data = 0
    for mutant, found, early in judged(chosen):
        assert early in ("", found), f"{mutant}: {early} without data, then {found}"
        without_data += bool(early)
        if not found and (mutant.collective, mutant.kind) in EQUAL:
            equal += 1
            continue
        counts[mutant.kind, found or "nothing"] += 1
        if not found:
            missed.append(mutant)
    by = sorted({found for _, found in counts})
    print(f"{'kind':<20}{'mutants':>8}" + "".join(f"{word:>14}" for word in by))
    for kind in sorted({kind for kind, _ in counts}):
        row = [counts[kind, word] for word in by]
        print(f"{kind:<20}{sum(row):>8}" + "".join(f"{n or '':>14}" for n in row))
    total = sum(counts.values())
    print(
        f"{total} mutants, {total - len(missed)} found, {without_data} of them without data; ",
        end="",
    )
    print(f"{equal} more mean the same")
    for mutant in missed:
        print(f"  not found: {mutant}")
    print(f"{time.perf_counter() - begin:.0f} s")
    return int(bool(missed))


if __name__ == "__main__":
    numbers = [int(arg) for arg in sys.argv[1:]]
    sys.exit(main(*[*numbers, *(100, 0)[len(numbers) :]]))
