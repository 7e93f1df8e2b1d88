"""What type checkers and editors report for kernels: no false findings, and the true ones.

pyright checks a folder with the examples, the pages of the documentation, the syntax document's
code, and files with mistakes: once, half of it in strict and half in basic mode.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pypto.language as pl
from pypto._src.dtypes import DataType
from pypto._src.ir import static_names
from pypto._src.ir.op_params import ATTR, AXIS, INTS, REQUIRED, TILE
from pypto._src.ir.opdef import OpDef
from pypto._src.ops import names as short_names
from pypto._src.ops.unified import Unified
from tools.generate import REGION_FORMS
from tools.site.markdown import examples_in_place
from tools.site.stage import PAGES, ROOT, place

DOCUMENT = """
# pypto.program: program_name
import pypto.language as pl
from pypto import ir

span = ir.Span.unknown()
addr_expr = pl.ConstInt(0x1000, pl.INT64, span)
memref = pl.MemRef(pl.MemorySpace.DDR, addr_expr, 1024)
valid_shape = [pl.ConstInt(16, pl.INT64, span)] * 2
stride = [pl.ConstInt(1, pl.INT64, span), pl.ConstInt(16, pl.INT64, span)]
start_offset = pl.ConstInt(0, pl.INT64, span)
tile_view = pl.TileView(valid_shape=valid_shape, stride=stride, start_offset=start_offset)
n = pl.dynamic("n")
m = pl.dynamic("m")


def types(
    x: pl.INT64,
    y: pl.FP32,
    z: pl.BOOL,
    a: pl.Tensor[[4, 8], pl.FP32],
    b: pl.Tensor[[n, m], pl.INT64],
    t: pl.Tile[[16, 16], pl.FP16],
    tensor: pl.Tensor[[64, 128], pl.FP32, pl.MemRef(pl.MemorySpace.DDR, addr_expr, 8192)],
    tile: pl.Tile[[16, 16], pl.FP16, memref, tile_view],
):
    u = t + t
    return x, y, z, a, b, u, tensor, tile


OFFSET = [0, 0]
TILE_SHAPE = [64, 64]


@pl.function
def closure(
    t: pl.Tensor[[128, 128], pl.FP32], out: pl.Tensor[[128, 128], pl.FP32]
) -> pl.Tensor[[128, 128], pl.FP32]:
    a: pl.Tile[[64, 64], pl.FP32] = pl.block.load(t, OFFSET, TILE_SHAPE)
    return pl.store(a, OFFSET, TILE_SHAPE, out)


@pl.function
def operators(
    a: pl.INT64, b: pl.INT64, x: pl.FP32, y: pl.FP32, p: pl.BOOL, q: pl.BOOL
) -> tuple[pl.INT64, pl.FP32, pl.BOOL]:
    c: pl.INT64 = a + b - a * b // a % b
    c = a ** b & b | a << 2 >> 1
    c = min(-a, ~b, max(a, b)) + abs(a)
    z: pl.FP32 = x / y * 2 - 1 + 3.14
    z = min(-x, abs(y), 42)
    r: pl.BOOL = a == b or a != b or a < b or a <= b or a > b or a >= b
    r = p and q or not p ^ q
    return c, z, r


@pl.function
def calls(
    t: pl.Tensor[[64, 64], pl.FP32],
    a: pl.Tensor[[64, 64], pl.FP32],
    b: pl.Tensor[[64, 64], pl.FP32],
) -> pl.Tensor[[64, 64], pl.FP32]:
    c = pl.tensor.add(a, b)
    tile = pl.block.load(t, [0, 0], [64, 64])
    d = pl.add(c, b)
    tile = pl.mul(tile, 2.0)
    tile = pl.add(tile, pl.exp(tile))
    tile = pl.add(tile, pl.load(t, [0, 0], [64, 64]))
    e = pl.create_tensor([64], dtype=pl.FP32)
    return pl.store(tile, [0, 0], [64, 64], pl.add(d, e))


@pl.function
def branches(condition: pl.BOOL, value1: pl.INT64, value2: pl.INT64) -> pl.INT64:
    if condition:
        y1 = pl.yield_(value1)
    else:
        y1 = pl.yield_(value2)
    if condition:
        y1, y2 = pl.yield_(y1, value2)
    else:
        y1, y2 = pl.yield_(value2, value1)
    return y1 * 10 + y2


@pl.function
def simple_loops(start: pl.INT64, stop: pl.INT64, step: pl.INT64, x: pl.Tensor[[n, 8], pl.FP32]):
    for i in pl.range(start, stop, step):
        pl.load(x, [i, 0], [8, 8])
    for i in pl.parallel(0, n, 8):
        pl.load(x, [i, 0], [8, 8])


@pl.function
def statements(x: pl.INT64, y: pl.INT64):
    for i in pl.range(4):
        yield x + i, y


@pl.function
def carried(n: pl.INT64) -> pl.INT64:
    sum_init: pl.INT64 = 0
    for i, (sum,) in pl.range(0, n, 1, init_values=(sum_init,)):
        sum = pl.yield_(sum + i)
    sum_final: pl.INT64 = sum
    return sum_final


@pl.function
def waits(n: pl.INT64) -> pl.INT64:
    x: pl.INT64 = 0
    for (x,) in pl.while_(init_values=(x,)):
        pl.cond(x < n)
        x = pl.yield_(x + 1)
    return x


@pl.function(type=pl.FunctionType.Orchestration)
def orchestrator(n: pl.INT64) -> pl.INT64:
    return n + 1


@pl.function(type=pl.FunctionType.InCore)
def kernel(
    qi: pl.Tensor[[16, 128], pl.BF16],
    output: pl.InOut[pl.Tensor[[16, 128], pl.FP32]],
    result: pl.Out[pl.Tensor[[16, 128], pl.FP32]],
    scale: pl.Scalar[pl.FP32],
) -> pl.Tensor[[16, 128], pl.FP32]:
    ...


@pl.program
class BlockExample:
    @pl.function
    def tile_add(
        self,
        input_a: pl.Tensor[[64, 64], pl.FP32],
        input_b: pl.Tensor[[64, 64], pl.FP32],
        output: pl.Tensor[[64, 64], pl.FP32],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        tile_a: pl.Tile[[64, 64], pl.FP32] = pl.load(input_a, [0, 0], [64, 64])
        tile_b: pl.Tile[[64, 64], pl.FP32] = pl.load(input_b, [0, 0], [64, 64])
        tile_c: pl.Tile[[64, 64], pl.FP32] = pl.add(tile_a, tile_b)
        result: pl.Tensor[[64, 64], pl.FP32] = pl.store(tile_c, [0, 0], [64, 64], output)
        return result


@pl.function
def softmax(x: pl.Tensor[[64], pl.FP32]) -> pl.Tensor[[64], pl.FP32]:
    ...


@pl.inline
def normalize(x: pl.Tensor[[64], pl.FP32]) -> pl.Tensor[[64], pl.FP32]:
    result: pl.Tensor[[64], pl.FP32] = pl.mul(x, 2.0)
    return result


@pl.program
class MyModel:
    @pl.function
    def main(self, x: pl.Tensor[[64], pl.FP32]) -> pl.Tensor[[64], pl.FP32]:
        y: pl.Tensor[[64], pl.FP32] = softmax(x)
        z: pl.Tensor[[64], pl.FP32] = normalize(y)
        return z


def printed(expr: ir.Expr):
    return pl.max(expr, pl.abs(expr)), pl.add(2, expr), pl.exp(expr), pl.cast(expr, pl.FP32)
"""

USES = """
import numpy as np

import pypto.language as tile_lang
from pypto.language import FP32, Out, Tensor, jit, load, store

LEFT: tile_lang.DataType = FP32
BITS = FP32.get_bit() + tile_lang.INT8.get_bit()
assert FP32.numpy == np.dtype(np.float32)


def make(dtype: tile_lang.DataType):
    @tile_lang.function
    def kernel(x: Tensor[[64, 64], dtype], out: Out[Tensor[[64, 64], dtype]]):
        tile = x[:] * 0.5 + x[0:64, 0:64] - 1
        tile += tile % 3 / x[...] - load(x, [0, 0], [64, 64]) * x[...]
        wide = tile_lang.cast(tile, tile_lang.INT32) & 3 | 4
        tile = tile_lang.sel(tile > 2, max(tile, -tile), abs(tile))
        tile = tile_lang.transpose(tile_lang.transpose(tile, 0, 1), axis1=-1, axis2=0)
        rows, columns = x.shape
        for i in tile_lang.range(0, rows - 8, 8):
            out[i : i + 8, :columns] = x[i : i + 8] * 2
            tile_lang.store(load(x, (i, 0), (8, 64)), [i, 0], [8, 64], out)
        with tile_lang.incore():
            scale = tile_lang.read(x, [0, 0]) * tile_lang.const(2.0, FP32)
            out[...] = tile * scale if scale > 1 else tile
        out = store(tile_lang.cast(wide << 1, x.dtype), [0, 0], [64, 64], out)
        return out

    return kernel


made = make(FP32), make(tile_lang.BF16), make(LEFT)
print(made[0].name, [param.type for param in made[0].params])


@jit
def doubled(x: Tensor, factor: tile_lang.FP32, out: Out[Tensor], ROWS: int = 64):
    tile = load(x, [0, 0], [ROWS, 64])
    return store(tile_lang.mul(factor, tile), [0, 0], [ROWS, 64], out)


doubled(np.ones((64, 64), np.float32), 2.0, np.ones((64, 64), np.float32))


@tile_lang.program
class Numbers:
    @tile_lang.function
    def sized(self, n: tile_lang.INT32, x: FP32) -> FP32:
        return tile_lang.cast(tile_lang.abs(n) & 7, FP32) * x

    @tile_lang.function
    def main(self, n: tile_lang.INT32, x: FP32) -> FP32:
        x = self.sized(2 * tile_lang.max(n, 3), tile_lang.min(x, 1.0))
        return self.sized(tile_lang.cast(x, tile_lang.INT32), tile_lang.abs(x))
"""

WRONG = """
import pypto.language as pl


@pl.program
class Wrong:
    @pl.function
    def kernel(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        n: pl.INT64,
        out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        tile = pl.load(x, [0, 0], [64, 64])
        pl.load(x, [0, 0])  # wrong: an argument is missing
        pl.load(x, [0, 0], [64, 64], target_mem=pl.MemorySpace.Mat)  # wrong: no such argument
        pl.load(tile, [0, 0], [64, 64])  # wrong: a tile is no tensor
        pl.load(x, "0, 0", [64, 64])  # wrong: a string is no list of numbers
        pl.add("tile", 1.0)  # wrong: a string is no tile
        pl.add(tile, x)  # wrong: a tile and a tensor
        pl.exp(tile + x)  # wrong: a tile and a tensor
        pl.add(tile, 1.0, 2.0)  # wrong: an argument too many
        pl.exp(x, base=2)  # wrong: no such argument
        pl.full([1, 64], "FP32", 1.0)  # wrong: a string is no element type
        pl.full([1, 64], pl.FP32, tile)  # wrong: a tile is no scalar
        pl.expp(tile)  # wrong: no such op
        for i in pl.range(tile):  # wrong: a tile is no bound
            pl.store(tile, [i, 0], [64, 64], out)
        for i in pl.range(n):
            for a, b in pl.range(i):  # wrong: this loop carries nothing
                pl.store(tile, [a, b], [64, 64], out)
        count: pl.INT64 = "three"  # wrong: a string is no scalar
        pl.store(tile @ tile, [count, 0], [64, 64], out)  # wrong: no such operator
        pl.store(2 - tile, [0, 0], [64, 64], out)  # wrong: the number is on the right
        other: pl.Tile[[64, 64], pl.FP32] = x  # wrong: a tensor is no tile
        return other  # wrong: a tile is no tensor

    @pl.function
    def main(self, x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        self.kernel(x, 1, out)
        self.kernel(x, n=1, out=out)
        self.kernel(x, out)  # wrong: an argument is missing
        self.kernel(x, "1", out)  # wrong: a string is no scalar
        self.kernel(x, pl.max(1.5, 2.5), out)  # wrong: a float is no integer
        self.kernel(x, pl.cast(1, pl.FP32), out)  # wrong: a float is no integer
        self.kernel(x, 1, out=out, more=2)  # wrong: no such argument
        self.kernels(x, 1, out)  # wrong: no such function
        return self.kernel(x, 1, pl.load(out, [0, 0], [64, 64]))  # wrong: a tile is no tensor
"""

UNTOLD = {
    # Python evaluates annotations before there are arguments.
    ("language.py", "reportUndefinedVariable", '"n" is not defined'),
    # No type expresses that a loop has iterations.
    ("document.py", "reportPossiblyUnbound", '"sum" is possibly unbound'),
}
"""The findings in correct files that no types of ours could prevent."""


class Finding(NamedTuple):
    file: str
    mode: str
    line: int
    severity: str
    rule: str
    message: str


def files() -> Iterator[tuple[str, str]]:
    for example in sorted((ROOT / "examples").glob("*.py")):
        yield f"example_{example.name}", example.read_text(encoding="utf-8")
    for page in PAGES:
        name = place(page).with_suffix(".py").name.replace("-", "_")
        yield name, examples_in_place(page.read_text(encoding="utf-8"))
    yield from (("document.py", DOCUMENT), ("uses.py", USES), ("wrong.py", WRONG))


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    """The findings of pyright for all files, in both of its modes."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("needs pyright, a development dependency")
    folder = tmp_path_factory.mktemp("kernels")
    for mode in ("strict", "basic"):
        (folder / mode).mkdir()
        for name, text in files():
            (folder / mode / name).write_text(text, encoding="utf-8")
    config: dict[str, Any] = {
        "include": ["strict", "basic"],
        "strict": ["strict"],
        "typeCheckingMode": "basic",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT / "src")],
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(config), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, "--project", str(folder)], capture_output=True, text=True, check=False
    )
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == 2 * len(list(files()))
    return [
        Finding(
            Path(found["file"]).name,
            Path(found["file"]).parent.name,
            found["range"]["start"]["line"] + 1,
            found["severity"],
            found.get("rule", ""),
            found["message"],
        )
        for found in report["generalDiagnostics"]
    ]


@pytest.mark.parametrize("mode", ["strict", "basic"])
def test_no_false_findings(findings: list[Finding], mode: str) -> None:
    """Correct kernels have no findings except those that no types could prevent."""
    untold = {(file, rule.removesuffix("Variable"), text) for file, rule, text in UNTOLD}
    false = [
        found
        for found in findings
        if found.mode == mode and found.file != "wrong.py"
        if (found.file, found.rule.removesuffix("Variable"), found.message) not in untold
    ]
    assert false == []


@pytest.mark.parametrize("mode", ["strict", "basic"])
def test_mistakes_are_found(findings: list[Finding], mode: str) -> None:
    """Each wrong line of the wrong file has an error, and no other line has one."""
    found = {
        f.line for f in findings if (f.file, f.mode, f.severity) == ("wrong.py", mode, "error")
    }
    lines = enumerate(WRONG.splitlines(), 1)
    assert found == {number for number, line in lines if "# wrong" in line}


def test_element_types_are_numbers() -> None:
    """Each element type of the language is a scalar in annotations: integers have bit operators."""
    members = {name: value for name, value in vars(pl).items() if isinstance(value, DataType)}
    assert len(members) == 21
    for name, value in members.items():
        kind = getattr(static_names, name)
        assert static_names.Number in kind.__mro__
        assert (static_names.Integer in kind.__mro__) == (not value.is_float()), name


def written(op: OpDef[..., Any]) -> list[tuple[str, str, str]]:
    """Return the parameters of an op as in its overload: name, type, default."""
    rows: list[tuple[str, str, str]] = []
    for param in op.params:
        kind = {ATTR: param.attr_type, AXIS: "Axis", INTS: param.attr_type or INTS}.get(
            param.kind, param.kind
        )
        if param.kind == TILE and param.default is None:
            kind += " | None"
        default = "" if param.default is REQUIRED else repr(param.default)
        if isinstance(param.default, DataType):
            default = f"DataType.{param.default.member}"
        rows.append((param.name, kind, default))
    return rows


def declared(node: ast.FunctionDef) -> list[tuple[str, str, str]]:
    args = node.args.args
    defaults = [""] * (len(args) - len(node.args.defaults))
    defaults += [ast.unparse(default) for default in node.args.defaults]
    texts = [ast.unparse(arg.annotation) if arg.annotation else "" for arg in args]
    return list(zip([arg.arg for arg in args], texts, defaults, strict=True))


def test_overloads_are_the_ops() -> None:
    """A name that covers several ops shows the parameters and docstring of each."""
    stub = Path(short_names.__file__).with_suffix(".pyi")
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    shown: dict[str, list[tuple[Any, str, str]]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            row = declared(node), ast.get_docstring(node) or "", ast.unparse(node.returns)
            shown.setdefault(node.name, []).append(row)
    for name, rows in shown.items():
        alike: list[Any] = []
        for op in Unified(name).candidates:
            if written(op) in alike:  # creation ops: a tile, or a tensor
                continue
            alike.append(written(op))
            result = {"block": "Tile", "tensor": "Tensor"}[op.level]
            others = {"read": "Scalar", "write": "None", "store": "Tensor", "store_add": "Tensor"}
            result = others.get(op.python_name, result)
            assert (written(op), inspect.cleandoc(op.doc), result) in rows, op.name
    names = {name for name, value in vars(pl).items() if type(value).__name__ == "Unified"}
    assert shown.keys() == names | REGION_FORMS.keys()


@pytest.mark.parametrize(
    ("op", "parameters", "first_line"),
    [
        (
            pl.load,
            "(tensor, offsets, shapes, target_memory=<MemorySpace.Vec: 1>, span=None)",
            "Return the region of ``tensor`` at ``offsets`` as a tile of shape ``shapes``.",
        ),
        (pl.add, "(lhs, rhs, span=None)", "block.add(lhs, rhs)"),
        (
            pl.range,
            "(*args: 'Any', init_values: 'Sequence[Any] | None' = None) -> 'Iterator[Any]'",
            "Iterate in order: ``for i in pl.range(stop)``, ``(start, stop)`` or "
            "``(start, stop, step)``.",
        ),
    ],
    ids=["op", "unified", "loop"],
)
def test_signature_and_text(op: Any, parameters: str, first_line: str) -> None:
    """What `help`, and editors that run the code, show: parameters and docstring."""
    assert str(inspect.signature(op)) == parameters
    assert (inspect.getdoc(op) or "").splitlines()[0] == first_line
