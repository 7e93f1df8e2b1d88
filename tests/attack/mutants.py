"""Damaged programs of every kind that PyPTO reads, and their permitted outcomes.

``python -m tests.attack.mutants KIND COUNT [--seed S] [--first N]`` reads ``COUNT`` mutants of a
``KIND``: bytes, ir, statement, pto or python; of ``all``, that many of each. Each ends in a
`PyptoError` (or Python's own `SyntaxError`), or in a program that is printed and read back equal.
Anything else stops the run, with the mutant's number and text: a crash, another
exception, more than `SECONDS`, more than `MEMORY` bytes, a file written, a module imported, a
process started, or the text executed. Mutant number N of a kind and a seed is always the same:
``--first N`` with a count of 1 repeats it.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

import pypto.language as pl
from pypto import ir
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import PyptoError
from pypto._src.lazy import lazy_module
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from tests.attack.markers import MARKERS
from tests.properties.ir_values import drawn_program

msgpack = lazy_module("msgpack")

SOURCE_FILE: Final = "mutant.py"
SECONDS: Final = 10.0  # for one mutant; most take a few milliseconds
MEMORY: Final = 1 << 30  # that the process may map in addition to what it starts with

Text = str | bytes


class Failure(AssertionError):
    """A mutant with an outcome that is not permitted."""


# --------------------------------------------------------------------------------------------
# Programs to damage
# --------------------------------------------------------------------------------------------

SOURCES: Final = [
    '''@pl.program
class Twice:
    @pl.function(type=pl.FunctionType.InCore)
    def add(
        self, x: pl.Tensor[[16, 64], pl.FP32], f: pl.Scalar[pl.FP32],
        out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ):
        tile = pl.load(x, [0, 0], [16, 64])
        out = pl.store(pl.add(tile, f), [0, 0], [16, 64], out)

    @pl.function
    def main(self, x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        for i in pl.range(4):
            self.add(x, 2.0, out)
''',
    '''N = pl.dynamic("N")

@pl.function(type=pl.FunctionType.InCore)
def rows(x: pl.Tensor[[N, 64], pl.FP16], n: pl.INT64, y: pl.Out[pl.Tensor[[N, 64], pl.FP16]]):
    total = n
    for i, (acc,) in pl.range(0, N, 16, init_values=(total,)):
        if i < n * 2 - 1:
            acc = acc + 1
        else:
            acc = acc // 3
        t = pl.load(x, [i, 0], [16, 64])
        y = pl.store(pl.exp(t), [i, 0], [16, 64], y)
        total = pl.yield_(acc)
''',
    '''@pl.function(type=pl.FunctionType.InCore)
def product(a: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    mat = pl.load(a, [0, 0], [64, 64], target_memory=pl.MemorySpace.Mat)
    left = pl.move(mat, target_memory=pl.MemorySpace.Left)
    right = pl.move(mat, target_memory=pl.MemorySpace.Right)
    out = pl.store(pl.matmul(left, right), [0, 0], [64, 64], out)
''',
]  # fmt: skip


def programs() -> list[ir.Program]:
    """Return the programs of `SOURCES`, as written and after the passes."""
    found: list[ir.Program] = []
    for source in SOURCES:
        read = pl.parse(source)
        whole = read if isinstance(read, ir.Program) else ir.Program([read], "P", attrs={"k": 1})
        found.append(whole)
        found.append(PassManager.get_strategy(OptimizationStrategy.Default).run_passes(whole))
    return found


def pto_texts() -> list[str]:
    """Return `.pto` texts of the kernels."""
    texts: list[str] = []
    for strategy in OptimizationStrategy:
        for program in programs()[::2]:
            lowered = PassManager.get_strategy(strategy).run_passes(program)
            texts.append(PTOCodegen().generate(lowered))
    return texts


def small_programs() -> list[ir.Program]:
    """Return short programs that cover everything in the IR."""
    drawn = (drawn_program(seed) for seed in range(200))
    return [*programs(), *(program for program in drawn if len(str(program)) < 1500)]


# --------------------------------------------------------------------------------------------
# Damage
# --------------------------------------------------------------------------------------------

PROBE: Final = "pypto_attack_probe"
HOSTILE: Final = [
    *MARKERS,
    f"__import__('{PROBE}')",
    f"open('{PROBE}', 'w')",
    f"exec('import {PROBE}')",
    "().__class__.__base__.__subclasses__()",
    "lambda: 0",
    "9" * 5000,
    "2 ** 10 ** 10",
    "-1",
    "1e400",
    "nan",
    "0x7fffffffffffffff",
    "9223372036854775808",
    "(" * 200,
    "[" * 200,
    "{" * 200,
    "-" * 200,
    "not " * 200,
    "\t",
    "\\",
    "'",
    '"',
    '"""',
    "#",
    "//",
    "%",
    "@",
    "\ufeff",
    "\ud800",
    "dense<1> : tensor<500000000xi64>",
    "tensor<[",
    "view={}",
    "memref={}",
]
_PIECE: Final = re.compile(r"\w+|\s+|[^\w\s]")


def damaged_text(random: Random, text: str, words: Sequence[str]) -> str:
    """Return a text with characters, words or lines removed, doubled, swapped or replaced."""
    for _ in range(random.choice([1, 1, 1, 2, 3, 8])):
        kind = random.randrange(9)
        parts = text.splitlines(keepends=True) if kind < 3 else _PIECE.findall(text)
        if kind == 8 or len(parts) < 2:
            at = random.randrange(len(text) + 1)
            text = text[:at] + chr(random.choice([random.randrange(128), random.randrange(0x3000)]))
            continue
        a, b = random.randrange(len(parts)), random.randrange(len(parts))
        match kind:
            case 0 | 3:
                del parts[a]
            case 1 | 4:
                parts.insert(a, parts[b])
            case 2 | 5:
                parts[a], parts[b] = parts[b], parts[a]
            case 6:
                parts[a] = random.choice(words)
            case _:
                parts.insert(a, random.choice(HOSTILE))
        text = "".join(parts)
    return text


PLANTED: Final = [
    f"__import__('{PROBE}')",
    f"open('{PROBE}', 'w')",
    f"exec('import {PROBE}')",
    f"eval(\"__import__('{PROBE}')\")",
    f"(lambda: __import__('{PROBE}'))()",
    f"[__import__('{PROBE}') for _ in [0]]",
    f"{{**{{'a': open('{PROBE}', 'w')}}}}",
    f"f\"{{__import__('{PROBE}')}}\"",
    f"(pl.load, __import__('{PROBE}'))[0]",
    f"pl.parse('import {PROBE}', trusted=True)",
    f"pl.add.__class__.__init__.__globals__['__builtins__']['__import__']('{PROBE}')",
    f"getattr(pl, 'parse').__globals__['__builtins__']['exec']('import {PROBE}')",
    f"pl.dynamic(__import__('{PROBE}'))",
    f"pl.INT64(open('{PROBE}', 'w'))",
    f"sorted([1], key=lambda _: open('{PROBE}', 'w'))",
]
"""Expressions that leave a trace if any part of them is evaluated as Python."""


def damaged_source(random: Random, text: str, words: Sequence[str]) -> str:
    """Return a damaged kernel; in every second one, a well-formed part is replaced by a probe."""
    if random.randrange(2) == 0:
        return damaged_text(random, text, words)
    probe = random.choice(PLANTED)
    places = sorted(
        (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt | ast.expr)
    )
    line, column, last, end = random.choice(places)
    lines = text.splitlines(keepends=True)
    before, behind = lines[line - 1][:column], lines[last - 1][end:]
    match random.randrange(6):
        case 0:  # a statement, a decorator or an import before the line
            form = random.choice([probe, f"@{probe}", f"import {PROBE}", f"N = {probe}"])
            indentation = lines[line - 1][: len(before) - len(before.lstrip())]
            lines.insert(line - 1, f"{indentation}{form}\n")
        case 1:  # an argument, an item, an annotation or a default after it
            form = random.choice([", {}", ": {}", "={}", " + {}", " if {} else 0", "[{}]", "({})"])
            lines[last - 1] = lines[last - 1][:end] + form.format(probe) + behind
        case _:
            lines[line - 1 : last] = [before + probe + behind]
    found = "".join(lines)
    return found if random.randrange(4) else damaged_text(random, found, words)


_TOKENS: Final[list[Any]] = [
    0, 1, 2, 3, -1, 64, 1 << 31, 1 << 63, -(1 << 63), True, False, None, 0.5, float("nan"), "",
    "x", "add", "../../x", "a" * 300, b"", *MARKERS,
]  # fmt: skip


def damaged_bytes(random: Random, data: bytes, words: Sequence[Any]) -> bytes:
    """Return bytes with bits or values changed, removed, doubled or replaced."""
    if random.randrange(4) == 0:
        blob = bytearray(data)
        for _ in range(random.choice([1, 1, 2, 5])):
            at = random.randrange(len(blob) or 1)
            match random.randrange(5):
                case 0:
                    del blob[at:]
                case 1:
                    blob[at:at] = random.randbytes(random.randrange(1, 9))
                case 2:
                    del blob[at : at + random.randrange(1, 9)]
                case _ if blob:
                    blob[at] ^= 1 << random.randrange(8)
                case _:
                    pass
        return bytes(blob)
    tokens: list[Any] = msgpack.unpackb(data, unicode_errors="surrogatepass")
    for _ in range(random.choice([1, 1, 1, 1, 2, 3])):
        at, other = random.randrange(2, len(tokens)), random.randrange(2, len(tokens))
        match random.randrange(8):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[other])
            case 2:
                tokens[at] = tokens[other]
            case 3:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 4 | 5 | 6 if type(tokens[at]) is int:
                changed = tokens[at] + random.choice([-3, -2, -1, 1, 2, 3])
                tokens[at] = min(max(changed, -(1 << 63)), (1 << 64) - 1)
            case 7:
                tokens[at] = random.choice(words)
            case _:
                tokens[at] = random.choice(_TOKENS)
    return msgpack.packb(tokens, unicode_errors="surrogatepass")


# --------------------------------------------------------------------------------------------
# Kinds
# --------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """One format of programs."""

    seeds: Callable[[], Sequence[Text]]
    damage: Callable[[Random, Any, Sequence[Any]], Text]
    words: Callable[[Text], Sequence[Any]]
    read: Callable[[Any], bool]
    """Reads a mutant, and its printed form; returns whether there was a program.

    It raises an error of `REFUSALS` if that is rejected, and `Failure` if the two differ.
    """


def _same(first: Any, second: Any) -> None:
    try:
        ir.assert_structural_equal(first, second, enable_auto_mapping=True)
    except ValueError as error:
        raise Failure(f"it reads back as another program: {error}") from None


def _pieces(text: Any) -> Sequence[str]:
    return sorted(set(_PIECE.findall(text)))


def _values(data: Any) -> Sequence[Any]:
    tokens = msgpack.unpackb(data, unicode_errors="surrogatepass")
    return sorted({token for token in tokens if isinstance(token, str)})


def _read_bytes(data: bytes) -> bool:
    node = ir.deserialize(data)
    again = ir.serialize(node)
    if ir.serialize(ir.deserialize(again)) != again:
        raise Failure("its bytes read back as others")
    text = str(node)  # as all are printed; those of programs and functions are parsed
    if isinstance(node, ir.Program | ir.Function):
        _comes_back(node, text)
    return True


def _read_ir(text: str) -> bool:
    found: Any = ir.parse(text)
    _comes_back(found, str(found))
    return True


def _comes_back(found: Any, printed: str) -> None:
    """Check that printed text is parsed; no rejection is permitted here."""
    try:
        again: Any = ir.parse(printed)
    except REFUSALS as error:
        raise Failure(f"its own text is refused: {error}") from error
    _same(found, again)


def _read_statement(text: str) -> bool:
    found = ir.from_statement_text(text)
    printed = ir.to_statement_text(found)  # every valid program must have a text
    try:
        again = ir.from_statement_text(printed)
    except PyptoError as error:
        raise Failure(f"its own text is refused: {error}") from error
    _same(found, again)
    return True


def _read_pto(text: str) -> bool:
    from pypto._src.dialect import printer, reader, verify

    options = verify.options_of(text)
    faults = verify.faults_of(text, "mutant.pto", options)
    if faults:
        raise faults[0]
    printed = printer.print_source(reader.parse(text))
    faults = verify.faults_of(printed, "printed.pto", options)
    if faults:
        raise Failure(f"its own text is refused: {faults[0]}\n{printed}")
    if printer.print_source(reader.parse(printed)) != printed:
        raise Failure("its own text is printed differently")
    return True


def _read_python(text: str) -> bool:
    found: Any = pl.parse(text, SOURCE_FILE)
    _comes_back(found, str(found))
    return True


KINDS: Final = {
    "bytes": Kind(
        lambda: [ir.serialize(p) for p in small_programs()], damaged_bytes, _values, _read_bytes
    ),
    "ir": Kind(lambda: [str(p) for p in small_programs()], damaged_text, _pieces, _read_ir),
    "statement": Kind(
        lambda: [ir.to_statement_text(p) for p in programs()],
        damaged_text,
        _pieces,
        _read_statement,
    ),
    "pto": Kind(pto_texts, damaged_text, _pieces, _read_pto),
    "python": Kind(lambda: SOURCES, damaged_source, _pieces, _read_python),
}
REFUSALS: Final = (PyptoError, SyntaxError)


# --------------------------------------------------------------------------------------------
# Running them
# --------------------------------------------------------------------------------------------


class _Watch:
    """Observes what the interpreter does while a mutant is read."""

    is_on = False
    seen: str | None = None

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.is_on:
            return
        match event:
            case "open":
                path, mode, flags = args
                writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
                if writes or (isinstance(mode, str) and set(mode) & set("wax+")):
                    self.seen = f"opens {path!r} to write"
            case "import" if PROBE in str(args[0]):
                self.seen = f"imports {args[0]}"
            case "exec" if _is_of_a_mutant(args[0]):
                self.seen = f"executes {args[0]}"
            case (
                "os.mkdir" | "os.rename" | "os.remove" | "os.rmdir" | "os.link" | "os.symlink"
                | "os.system" | "os.exec" | "os.fork" | "os.posix_spawn" | "subprocess.Popen"
                | "socket.connect" | "ctypes.dlopen" | "shutil.rmtree"
            ):  # fmt: skip
                self.seen = f"{event}{args!r}"
            case _:
                pass


def _is_of_a_mutant(code: CodeType) -> bool:
    return code.co_filename == SOURCE_FILE or PROBE in str((code.co_names, code.co_consts))


def _too_slow(_number: int, _frame: FrameType | None) -> None:
    raise Failure(f"it takes more than {SECONDS} s")


def _limit_memory() -> None:
    """Make allocations beyond `MEMORY` fail; a MemoryError is not a permitted outcome."""
    with Path("/proc/self/statm").open(encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))


def mutant(name: str, seed: int, number: int, seeds: Sequence[Text], words: Sequence[Any]) -> Text:
    """Return mutant number ``number`` of a kind."""
    random = Random(f"{name} {seed} {number}")
    return KINDS[name].damage(random, random.choice(seeds), words)


def run(name: str, count: int, seed: int, first: int) -> Iterator[tuple[int, str]]:
    """Yield the number of each mutant and its outcome.

    Raises:
        Failure: an outcome is not permitted.
    """
    kind = KINDS[name]
    seeds = kind.seeds()
    words = sorted({word for text in seeds for word in kind.words(text)})
    for text in seeds:  # this loads everything, and shows that the seeds are valid
        assert kind.read(text)
    watch = _Watch()
    sys.addaudithook(watch.hook)
    signal.signal(signal.SIGALRM, _too_slow)
    _limit_memory()
    for number in range(first, first + count):
        given = mutant(name, seed, number, seeds, words)
        watch.is_on = True
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            end = "read" if kind.read(given) else "nothing"
        except REFUSALS as error:
            end = type(error).__name__
        except BaseException as error:
            signal.setitimer(signal.ITIMER_REAL, 0)
            watch.is_on = False
            what = f"{type(error).__name__}: {error}"
            raise Failure(f"{name} mutant {number} of seed {seed}: {what}\n{given!r}") from error
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            watch.is_on = False
        if watch.seen is not None:
            raise Failure(f"{name} mutant {number} of seed {seed} {watch.seen}\n{given!r}")
        yield number, end


def main() -> None:
    """Read the command line, and run mutants."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", maxsplit=1)[0])
    parser.add_argument("kind", choices=[*KINDS, "all"])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    sys.dont_write_bytecode = True  # of lazily imported modules
    warnings.simplefilter("ignore")  # SyntaxWarning of a mutant that Python parses
    for name in KINDS if args.kind == "all" else [args.kind]:
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            ends = Counter(end for _, end in run(name, args.count, args.seed, args.first))
            left = [path.name for path in Path(folder).iterdir()]
            os.chdir("/")
        if left:
            raise Failure(f"{name} mutants left {left}")
        read = ends.pop("read", 0)
        kinds = ", ".join(f"{count} {end}" for end, count in ends.most_common())
        print(
            f"{name}: {args.count} mutants of seed {args.seed}, {read} read, "
            f"{args.count - read} refused ({kinds}); {time.perf_counter() - begin:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
