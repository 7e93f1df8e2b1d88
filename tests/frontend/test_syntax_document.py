"""The Python syntax document: its code blocks run, and mean what the accompanying text says.

A block that is incomplete in the document gets what it assumes: the names that it reads
as parameters, and a function around it.
"""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.errors import ParserError, ParserTypeError, PyptoWarning
from pypto._src.interp.evaluate import evaluate

SCALARS = "INT4 INT8 INT16 INT32 INT64 UINT4 UINT8 UINT16 UINT32 UINT64 FP4 FP8 FP16 FP32 BF16 HF4"
FP32, INT64 = ir.FP32, ir.INT64


def function(params: str, body: str, before: str = "") -> Any:
    """Return the function with these parameters and this body."""
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    found = pl.parse(f"{textwrap.dedent(before)}\n@pl.function\ndef f({params}):\n{lines}\n")
    assert isinstance(found, ir.Function)
    return found


def run(whole: ir.Function | ir.Program, *args: Any) -> Any:
    program = ir.Program([whole]) if isinstance(whole, ir.Function) else whole
    return evaluate(program, list(args))


def values(whole: ir.Function | ir.Program) -> dict[str, ir.Expr]:
    """Return what the assignments of a function assign, by name."""
    return {s.var.name: s.value for s in ir.walk(whole) if isinstance(s, ir.AssignStmt)}


def called(value: ir.Expr) -> str:
    assert isinstance(value, ir.Call)
    return value.op.name


# --------------------------------------------------------------------------------------------
# Module structure
# --------------------------------------------------------------------------------------------


def test_module_header() -> None:
    """The header names the program; without a name in it the class does."""
    text = """# pypto.program: program_name
import pypto.language as pl

@pl.program
class Other:
    @pl.function
    def f(self, n: pl.INT64) -> pl.INT64:
        return n
"""
    assert pl.parse(text).name == "program_name"
    assert pl.parse(text.replace(": program_name", "")).name == "Other"


@pytest.mark.parametrize("prefix", ["pl", "ir", "pi", "tile_lang"])
def test_prefix_is_configurable(prefix: str) -> None:
    """A program printed with any prefix reads back as the same program."""
    whole = ir.Program([function("a: pl.INT64, b: pl.INT64", "x = a + b\nreturn x")], "P")
    text = ir.python_print(whole, prefix)
    assert f"x: {prefix}.Scalar[{prefix}.INT64] = a + b" in text
    ir.assert_structural_equal(whole, pl.parse(text))


def test_printed_statement() -> None:
    """The document's last example: one statement with the default and with another prefix."""
    (stmt,) = [
        s
        for s in ir.walk(function("a: pl.INT64, b: pl.INT64", "x: pl.INT64 = a + b"))
        if isinstance(s, ir.AssignStmt)
    ]
    assert ir.python_print(stmt) == "x: pl.Scalar[pl.INT64] = a + b"
    assert ir.python_print(stmt, "ir") == "x: ir.Scalar[ir.INT64] = a + b"


# --------------------------------------------------------------------------------------------
# Types
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*SCALARS.split(), "HF8", "BOOL"])
def test_scalar_types(name: str) -> None:
    """Each element type of the table annotates a scalar, bare or as pl.Scalar."""
    whole = function(f"x: pl.{name}, y: pl.Scalar[pl.{name}]", "return x")
    dtype = getattr(ir.DataType, name)
    assert [p.type for p in whole.params] == [ir.ScalarType(dtype)] * 2


def test_tensor_and_tile_types() -> None:
    """Fixed and symbolic shapes; a symbolic dimension may be a scalar parameter."""
    params = "a: pl.Tensor[[4, 8], pl.FP32], b: pl.Tensor[[n, m], pl.INT64], "
    whole = function(f"{params}n: pl.INT64, m: pl.INT64, t: pl.Tile[[16, 16], pl.FP16]", "return a")
    a, b, n, m, t = whole.params
    assert a.type == ir.TensorType([4, 8], FP32)
    assert isinstance(b.type, ir.TensorType)
    assert [d is v for d, v in zip(b.type.shape, (n, m), strict=True)] == [True, True]
    assert t.type == ir.TileType([16, 16], ir.FP16)
    free = function("b: pl.Tensor[[n, n], pl.INT64]", "return b", before='n = pl.dynamic("n")')
    assert isinstance(free.params[0].type, ir.TensorType)
    first, second = free.params[0].type.shape
    assert first is second


MEMREF = """
from pypto import ir
span = ir.Span.unknown()
addr_expr = pl.ConstInt(0x1000, pl.INT64, span)
memref = pl.MemRef(pl.MemorySpace.DDR, addr_expr, 1024)
addr = addr_expr
"""
TILE_VIEW = """
valid_shape = [pl.ConstInt(16, pl.INT64, span)] * 2
stride = [pl.ConstInt(1, pl.INT64, span), pl.ConstInt(16, pl.INT64, span)]
start_offset = pl.ConstInt(0, pl.INT64, span)
tile_view = pl.TileView(valid_shape=valid_shape, stride=stride, start_offset=start_offset)
"""


@pytest.mark.parametrize(
    "annotation",
    [
        "pl.Tensor[[64, 128], pl.FP32, pl.MemRef(pl.MemorySpace.DDR, addr, 8192)]",
        "pl.Tensor([64, 128], pl.FP32, memref=pl.MemRef(pl.MemorySpace.DDR, addr, 8192))",
    ],
)
def test_memory_references(annotation: str) -> None:
    """A tensor with its memory reference, in brackets or in the call form."""
    whole = function(f"tensor: {annotation}", "return tensor", before=MEMREF)
    kind = whole.params[0].type
    assert isinstance(kind, ir.TensorType)
    assert kind.memref is not None
    assert (kind.memref.memory_space_, kind.memref.size_) == (ir.MemorySpace.DDR, 8192)
    assert isinstance(kind.memref.addr_, ir.ConstInt)
    assert kind.memref.addr_.value == 0x1000


@pytest.mark.parametrize(
    "view",
    [
        "tile_view",
        "pl.TileView(valid_shape=valid_shape, stride=stride, start_offset=start_offset)",
    ],
)
def test_tile_views(view: str) -> None:
    """A tile with its memory reference and its view, in the document's call form."""
    place = "pl.MemRef(pl.MemorySpace.Left, addr, 512)"
    annotation = f"pl.Tile(\n    (16, 16), pl.FP16,\n    memref={place},\n    tile_view={view}\n)"
    whole = function(f"tile: {annotation}", "return tile", before=MEMREF + TILE_VIEW)
    kind = whole.params[0].type
    assert isinstance(kind, ir.TileType)
    assert kind.memref is not None
    assert kind.memref.memory_space_ is ir.MemorySpace.Left
    assert kind.tile_view is not None
    stride = [d.value for d in kind.tile_view.stride if isinstance(d, ir.ConstInt)]
    assert stride == [1, 16]
    assert len(kind.tile_view.valid_shape) == 2
    assert isinstance(kind.tile_view.start_offset, ir.ConstInt)


@pytest.mark.parametrize("space", ["DDR", "Vec", "Mat", "Left", "Right", "Acc"])
def test_memory_spaces(space: str) -> None:
    """Each memory space in the list can hold a tensor or tile."""
    place = f"pl.MemRef(pl.MemorySpace.{space}, 0, 64)"
    whole = function(f"t: pl.Tile[[4, 4], pl.FP32, {place}]", "return t")
    kind = whole.params[0].type
    assert isinstance(kind, ir.TileType)
    assert kind.memref is not None
    assert kind.memref.memory_space_ is ir.MemorySpace[space]


# --------------------------------------------------------------------------------------------
# Expressions
# --------------------------------------------------------------------------------------------


def test_variables_and_constants() -> None:
    """Integers are INT64 and floats FP32."""
    whole = function("x: pl.INT64", "a = x\nb = 42\nc = 3.14")
    found = values(whole)
    assert found["a"] is whole.params[0]
    assert (found["b"].type, found["c"].type) == (ir.ScalarType(INT64), ir.ScalarType(FP32))


def test_closure_variables() -> None:
    """Lists of the enclosing scope are operands; so are numbers, booleans, IR expressions."""
    text = """
from pypto import ir
OFFSET = [0, 0]
TILE_SHAPE = [64, 64]
SCALE, TURNS, FLAG, DEPTH = 2.0, 3, True, ir.ConstInt(7, ir.INT64)

@pl.function
def func(
    t: pl.Tensor[[128, 128], pl.FP32], out: pl.Tensor[[128, 128], pl.FP32]
) -> pl.Tensor[[128, 128], pl.FP32]:
    # closure vars as positional args
    a: pl.Tile[[64, 64], pl.FP32] = pl.block.load(t, OFFSET, TILE_SHAPE)
    b = pl.mul(a, SCALE)
    n = DEPTH + TURNS
    flag = FLAG
    out = pl.store(b, OFFSET, TILE_SHAPE, out)
    return out
"""
    found = values(pl.parse(text))
    load = found["a"]
    assert isinstance(load, ir.Call)
    assert str(load) == ("pl.block.load(t, [0, 0], [64, 64], target_memory=pl.MemorySpace.Vec)")
    assert str(found["b"]) == "pl.block.muls(a, 2.0)"
    assert isinstance(found["n"], ir.Add)
    assert isinstance(found["flag"], ir.ConstBool)


BINARY = [
    ("a + b", ir.Add), ("a - b", ir.Sub), ("a * b", ir.Mul), ("a // b", ir.FloorDiv),
    ("a % b", ir.FloorMod), ("x / y", ir.FloatDiv), ("a ** b", ir.Pow), ("a == b", ir.Eq),
    ("a != b", ir.Ne), ("a < b", ir.Lt), ("a <= b", ir.Le), ("a > b", ir.Gt), ("a >= b", ir.Ge),
    ("p and q", ir.And), ("p or q", ir.Or), ("p ^ q", ir.Xor), ("a & b", ir.BitAnd),
    ("a | b", ir.BitOr), ("a << b", ir.BitShiftLeft), ("a >> b", ir.BitShiftRight),
    ("-a", ir.Neg), ("~a", ir.BitNot), ("not p", ir.Not), ("abs(a)", ir.Abs),
    ("min(a, b)", ir.Min), ("max(a, b)", ir.Max),
]  # fmt: skip
OPERANDS: dict[str, Any] = {"a": -7, "b": 3, "x": 2.5, "y": -0.5, "p": True, "q": False}


@pytest.mark.parametrize(("text", "kind"), BINARY, ids=[row[0] for row in BINARY])
def test_operators(text: str, kind: type[ir.Expr]) -> None:
    """Every operator in the tables becomes its node, and computes what Python computes."""
    types = "a: pl.INT64, b: pl.INT64, x: pl.FP32, y: pl.FP32, p: pl.BOOL, q: pl.BOOL"
    whole = function(types, f"v = {text}\nreturn v")
    assert type(values(whole)["v"]) is kind
    operands = {**OPERANDS, "a": 7} if "**" in text or "<<" in text else OPERANDS
    assert run(whole, *operands.values()) == eval(text, {}, operands)


def test_calls() -> None:
    """Explicit namespaces, dispatch on the operands, and names promoted from one of the two."""
    tensors = "a: pl.Tensor[[64, 64], pl.FP32], b: pl.Tensor[[64, 64], pl.FP32]"
    whole = function(
        f"{tensors}, t: pl.Tensor[[128, 128], pl.FP32]",
        """
        v0 = pl.tensor.add(a, b)                  # Tensor addition
        tile = pl.block.load(t, [0, 0], [64, 64])      # Block load
        v1 = pl.add(a, b)                          # Tensor or Tile - dispatched automatically
        v2 = pl.add(tile, tile)
        v3 = pl.mul(tile, 2.0)                     # Tile + scalar -> block.muls
        v4 = pl.exp(tile)                          # Tile -> block.exp
        v5 = pl.load(t, [0, 0], [64, 64])            # Promoted from block
        v6 = pl.create_tensor([64], dtype=pl.FP32)       # Promoted from tensor
        """,
    )
    assert {name: called(value) for name, value in values(whole).items()} == {
        "v0": "tensor.add",
        "tile": "block.load",
        "v1": "tensor.add",
        "v2": "block.add",
        "v3": "block.muls",
        "v4": "block.exp",
        "v5": "block.load",
        "v6": "tensor.create",
    }


# --------------------------------------------------------------------------------------------
# Statements
# --------------------------------------------------------------------------------------------


def test_assignment() -> None:
    """Annotated assignments have the annotated type; if it is wrong the value's is used."""
    tensor = "a: pl.Tensor[[4], pl.FP32]"
    whole = function(tensor, "x: pl.INT64 = 1\ny: pl.Tensor[[4], pl.FP32] = a")
    x, y = (s.var for s in ir.walk(whole) if isinstance(s, ir.AssignStmt))
    assert x.type == ir.ScalarType(INT64)
    assert y.type == ir.TensorType([4], FP32)
    with pytest.warns(PyptoWarning, match="the value is Tensor"):
        other = function(tensor, "y: pl.Tensor[[8], pl.FP32] = a")
    assert [s.var.type for s in ir.walk(other) if isinstance(s, ir.AssignStmt)] == [y.type]


IF = """
if condition:
    y1 = pl.yield_(value1)
else:
    y1 = pl.yield_(value2)
return y1
"""
IF_TWO = """
if condition:
    y1, y2 = pl.yield_(value1, value2)
else:
    y1, y2 = pl.yield_(value3, value4)
return y1 * 10 + y2
"""
CONDITION = "condition: pl.BOOL, value1: pl.INT64, value2: pl.INT64"


@pytest.mark.parametrize("taken", [True, False])
def test_if(taken: bool) -> None:
    """Both branches yield the value that the name has after the `if`."""
    whole = function(CONDITION, IF)
    (stmt,) = [s for s in ir.walk(whole) if isinstance(s, ir.IfStmt)]
    assert [var.name for var in stmt.return_vars] == ["y1"]
    assert run(whole, taken, 5, 6) == (5 if taken else 6)
    two = function(f"{CONDITION}, value3: pl.INT64, value4: pl.INT64", IF_TWO)
    assert run(two, taken, 1, 2, 3, 4) == (12 if taken else 34)


def test_branches_yield_the_same() -> None:
    """A different number of yielded values is rejected, and so is an annotation on a tuple."""
    with pytest.raises(ParserError):
        function(CONDITION, IF_TWO.replace("pl.yield_(value3, value4)", "pl.yield_(value1)"))
    with pytest.raises(SyntaxError):
        function(CONDITION, IF_TWO.replace("y1, y2 =", "y1, y2: pl.INT64 ="))


def test_for_loops() -> None:
    """Simple, carrying and parallel loops; the carried name has the last value afterwards."""
    bounds = "start: pl.INT64, stop: pl.INT64, step: pl.INT64"
    for name, kind in (("range", ir.ForKind.Sequential), ("parallel", ir.ForKind.Parallel)):
        whole = function(bounds, f"for i in pl.{name}(start, stop, step):\n    x = i + 1")
        (loop,) = [s for s in ir.walk(whole) if isinstance(s, ir.ForStmt)]
        assert loop.kind is kind
        bound = (loop.start, loop.stop, loop.step)
        assert [a is b for a, b in zip(bound, whole.params, strict=True)] == [True] * 3
    whole = function(
        "n: pl.INT64",
        """
        sum_init: pl.INT64 = 0
        for i, (sum,) in pl.range(0, n, 1, init_values=(sum_init,)):
            sum = pl.yield_(sum + i)
        sum_final = sum
        return sum_final
        """,
    )
    (loop,) = [s for s in ir.walk(whole) if isinstance(s, ir.ForStmt)]
    assert [arg.name for arg in loop.iter_args] == ["sum"]
    assert run(whole, 5) == 10
    parallel = str(whole).replace("pl.range", "pl.parallel")
    assert run(pl.parse(parallel), 5) == 10


def test_yield_statements() -> None:
    """Python's own `yield` passes on none, one or several values."""
    whole = function(
        "n: pl.INT64",
        """
        a: pl.INT64 = 0
        b: pl.INT64 = 1
        for i, (a,) in pl.range(0, n, 1, init_values=(a,)):
            yield a + i
        for i, (a, b) in pl.range(0, n, 1, init_values=(a, b)):
            yield a + 1, b * 2
        for i in pl.range(0, n, 1):
            yield
        return a, b
        """,
    )
    assert run(whole, 4) == (10, 16)


def test_sequences() -> None:
    """Statements run in their order."""
    assert run(function("n: pl.INT64", "n = n + 1\nn = n * 2\nn = n - 3\nreturn n"), 4) == 7


# --------------------------------------------------------------------------------------------
# Functions
# --------------------------------------------------------------------------------------------

FUNCTIONS = """
{head}
def function_name({self}param1: pl.INT64, param2: pl.FP32) -> pl.INT64:
    x: pl.INT64 = param1 + 1
    return x

{head}
def several({self}x: pl.INT64) -> tuple[pl.INT64, pl.INT64]:
    y: pl.INT64 = x + 1
    z: pl.INT64 = x * 2
    return y, z

{head}
def none({self}x: pl.INT64):
    y: pl.INT64 = x + 1

# With function type
@pl.function(type=pl.FunctionType.Orchestration)
def orchestrator({self}n: pl.INT64) -> pl.INT64:
    return n + 1

@pl.function(type=pl.FunctionType.InCore)
def aicore_kernel({self}x: pl.INT64) -> pl.INT64:
    return x * 2
"""


def test_functions() -> None:
    """One, several and no results; function types, Opaque by default."""
    body = textwrap.indent(FUNCTIONS.format(head="@pl.function", self="self, "), "    ")
    whole = pl.parse(f"@pl.program\nclass All:\n{body}")
    assert isinstance(whole, ir.Program)
    kinds = {f.name: (f.func_type.name, len(f.return_types)) for f in whole.functions_}
    assert kinds == {
        "function_name": ("Opaque", 1),
        "several": ("Opaque", 2),
        "none": ("Opaque", 0),
        "orchestrator": ("Orchestration", 1),
        "aicore_kernel": ("InCore", 1),
    }
    assert evaluate(whole, [1, 0.5], entry="function_name") == 2
    assert evaluate(whole, [5], entry="several") == (6, 10)
    assert evaluate(whole, [5], entry="none") is None
    assert evaluate(whole, [5], entry="orchestrator") == 6
    assert evaluate(whole, [5], entry="aicore_kernel") == 10


DIRECTIONS = """
@pl.function(type=pl.FunctionType.InCore)
def kernel(
    qi: pl.Tensor[[16, 128], pl.BF16],                   # In (default)
    output: pl.InOut[pl.Tensor[[16, 128], pl.FP32]],      # InOut
    result: pl.Out[pl.Tensor[[16, 128], pl.FP32]],        # Out
    scale: pl.Scalar[pl.FP32],                             # In (default)
) -> pl.Tensor[[16, 128], pl.FP32]:
    tile = pl.mul(pl.load(output, [0, 0], [16, 128]), scale)
    output = pl.store(tile, [0, 0], [16, 128], output)
    result = pl.store(tile, [0, 0], [16, 128], result)
    return result
"""


def test_parameter_directions() -> None:
    """Parameters are In by default; a scalar cannot be InOut."""
    whole = pl.parse(DIRECTIONS)
    assert isinstance(whole, ir.Function)
    names = [direction.name for direction in whole.param_directions]
    assert names == ["In", "InOut", "Out", "In"]
    with pytest.raises(ParserTypeError, match="Scalar parameter cannot be InOut"):
        pl.parse(DIRECTIONS.replace("pl.Scalar[pl.FP32]", "pl.InOut[pl.Scalar[pl.FP32]]"))


# --------------------------------------------------------------------------------------------
# Complete examples
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decorator", ["", "@pl.function\n"])
def test_loop_sum(decorator: str) -> None:
    """The document's loop_sum, which has no decorator, carries its sum through the loop."""
    whole = pl.parse(
        f"""# pypto.program: my_program
import pypto.language as pl

{decorator}def loop_sum(n: pl.INT64) -> pl.INT64:
    sum_init: pl.INT64 = 0
    for i, (sum,) in pl.range(0, n, 1, init_values=(sum_init,)):
        sum = pl.yield_(sum + i)
    return sum
"""
    )
    assert isinstance(whole, ir.Function)
    assert [run(whole, n) for n in (0, 1, 5)] == [0, 0, 10]


def test_block_example() -> None:
    """The document's tile_add adds two arrays."""
    import numpy as np

    whole = pl.parse(
        """import pypto.language as pl

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
"""
    )
    assert isinstance(whole, ir.Program)
    a, b = np.random.default_rng(0).random((2, 64, 64), np.float32)
    out = np.zeros_like(a)
    evaluate(whole, [a, b, out])
    np.testing.assert_array_equal(out, a + b)


def test_control_flow_with_phis() -> None:
    """The document's two phis: after the `if`, and after the loop."""
    branch = function(
        "condition: pl.BOOL, x: pl.INT64",
        """
        if condition:
            y1 = pl.yield_(x + 1)
        else:
            y1 = pl.yield_(x + 2)
        return y1
        """,
    )
    assert [run(branch, c, 10) for c in (True, False)] == [11, 12]
    loop = function(
        "start: pl.INT64",
        """
        sum_init: pl.INT64 = start
        for i, (sum,) in pl.range(0, 10, 1, init_values=(sum_init,)):
            sum = pl.yield_(sum + i)
        sum_final: pl.INT64 = sum  # captures final value
        return sum_final
        """,
    )
    assert run(loop, 100) == 145


# --------------------------------------------------------------------------------------------
# Functions of other modules
# --------------------------------------------------------------------------------------------

SOFTMAX = """
@pl.function
def softmax(x: pl.Tensor[[64], pl.FP32]) -> pl.Tensor[[64], pl.FP32]:
    y = pl.exp(x)
    return y
"""
MODEL = """
@pl.program
class MyModel:
    @pl.function
    def main(self, x: pl.Tensor[[64], pl.FP32]) -> pl.Tensor[[64], pl.FP32]:
        y: pl.Tensor[[64], pl.FP32] = softmax(x)   # ir.Call(GlobalVar("softmax"), [x])
        return y
"""


def test_external_functions() -> None:
    """A function from outside is called through its GlobalVar and added once, by its own name."""
    alias = MODEL.replace("softmax(x)   #", "alias(x)   #")
    twice = MODEL + MODEL[MODEL.index("    @pl") :].replace("main", "again")
    for model, count in ((MODEL, 2), (f"alias = softmax\n{alias}", 2), (twice, 3)):
        whole = pl.parse(SOFTMAX + model)
        assert isinstance(whole, ir.Program)
        assert len(whole.functions_) == count
        main = whole.get_function("main")
        assert main is not None
        call = values(main)["y"]
        assert isinstance(call, ir.Call)
        assert isinstance(call.op, ir.GlobalVar)
        assert call.op.name == "softmax"


def test_external_name_conflicts() -> None:
    """Neither a method nor another function from outside may have the same name."""
    with pytest.raises(ParserError, match="has the name of a method of the program"):
        pl.parse(
            f"{SOFTMAX}outer = softmax\n"
            + MODEL.replace("softmax", "outer").replace("main", "softmax")
        )
    again = f"first = softmax\n{SOFTMAX}second = softmax\n"
    two = MODEL.replace("softmax(x)   #", "second(first(x))   #")
    with pytest.raises(ParserError, match="has the name of another function from outside"):
        pl.parse(SOFTMAX + again + two)


INLINE = """
FACTOR = 2.0

@pl.inline
def normalize(x: pl.Tensor[[64], pl.FP32]) -> pl.Tensor[[64], pl.FP32]:
    result: pl.Tensor[[64], pl.FP32] = pl.mul(x, FACTOR)
    return result

@pl.inline
def both(x: pl.Tensor[[64], pl.FP32]) -> pl.Tensor[[64], pl.FP32]:
    return normalize(normalize(x))

@pl.program
class MyModel:
    @pl.function
    def main(self, x: pl.Tensor[[64], pl.FP32]) -> pl.Tensor[[64], pl.FP32]:
        y: pl.Tensor[[64], pl.FP32] = normalize(x)  # statements inlined in-place
        result = both(y)
        return result
"""


def test_inline_functions() -> None:
    """Each call expands the body anew, nested ones too; no function is added to the program."""
    import numpy as np

    whole = pl.parse(INLINE)
    assert isinstance(whole, ir.Program)
    assert [f.name for f in whole.functions_] == ["main"]
    calls = [called(v) for v in ir.walk(whole) if isinstance(v, ir.Call)]
    assert calls == ["tensor.mul_scalar"] * 3
    x = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(evaluate(whole, [x]), x * 8)


def test_inline_argument_count() -> None:
    """An inline function takes exactly as many arguments as it has parameters."""
    with pytest.raises(ParserTypeError, match="takes 1 argument"):
        pl.parse(INLINE.replace("normalize(x)  #", "normalize(x, x)  #"))
