"""Literals, names, operators, subscripts and attributes inside kernels."""

from __future__ import annotations

import pytest

from pypto._src.dtypes import DataType
from pypto._src.errors import (
    InvalidOperationError,
    ParserSyntaxError,
    ParserTypeError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from pypto._src.ir import exprs
from pypto._src.ir.array_types import TileType, static_shape
from pypto._src.ir.exprs import ConstFloat, ConstInt
from pypto._src.ir.stmts import AssignStmt, statements
from pypto._src.ir.types import ScalarType
from tests.frontend.texts import body, error, kernel, lines

SCALARS = "n: pl.INT64, m: pl.INT64, h: pl.FP32, b: pl.BOOL"
TILES = "x: pl.Tensor[[64, 64], pl.FP32], i: pl.Tensor[[64, 64], pl.INT32]"


def value(code: str, before: str = "") -> exprs.Expr:
    """Return the value assigned by the last statement of a kernel."""
    stmt = statements(kernel(SCALARS, code, before=before).body)[-1]
    assert isinstance(stmt, AssignStmt)
    return stmt.value


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("n + m", exprs.Add),
        ("n - m", exprs.Sub),
        ("n * m", exprs.Mul),
        ("n / m", exprs.FloatDiv),
        ("n // m", exprs.FloorDiv),
        ("n % m", exprs.FloorMod),
        ("n ** m", exprs.Pow),
        ("n & m", exprs.BitAnd),
        ("n | m", exprs.BitOr),
        ("n ^ m", exprs.BitXor),
        ("n << m", exprs.BitShiftLeft),
        ("n >> m", exprs.BitShiftRight),
        ("n == m", exprs.Eq),
        ("n != m", exprs.Ne),
        ("n < m", exprs.Lt),
        ("n <= m", exprs.Le),
        ("n > m", exprs.Gt),
        ("n >= m", exprs.Ge),
        ("b and n > m", exprs.And),
        ("b or n > m", exprs.Or),
        ("b ^ (n > m)", exprs.Xor),
        ("-n", exprs.Neg),
        ("~n", exprs.BitNot),
        ("not b", exprs.Not),
        ("abs(n)", exprs.Abs),
        ("min(n, m)", exprs.Min),
        ("max(n, m)", exprs.Max),
        ("pl.min(n, m)", exprs.Min),
        ("pl.max(n, m)", exprs.Max),
        ("pl.abs(n)", exprs.Abs),
        ("pl.cast(n, pl.FP16)", exprs.Cast),
        ("pl.cast(n, target_type=pl.FP16)", exprs.Cast),
    ],
)
def test_operator_makes_its_node(text: str, node: type[exprs.Expr]) -> None:
    """Every operator of the language becomes its own node class."""
    assert type(value(f"y = {text}")) is node


@pytest.mark.parametrize(
    ("dtype", "literal", "found"),
    [
        ("INT32", "1", DataType.INT32),
        ("UINT64", "1", DataType.UINT64),
        ("FP16", "2", DataType.FP16),
        ("FP16", "2.5", DataType.FP16),
        ("INT8", "300", DataType.INT64),
        ("UINT8", "-1", DataType.INT64),
        ("FP16", "65504", DataType.FP16),
        ("FP16", "1e6", DataType.FP32),
        ("FP16", "100000", DataType.FP32),
        ("BF16", "1e38", DataType.BF16),
    ],
)
def test_literal_takes_the_type_beside_it(dtype: str, literal: str, found: DataType) -> None:
    """A number that fits has the type of the other operand; one that does not fit widens it."""
    stmt = statements(kernel(f"v: pl.{dtype}", f"y = v + {literal}").body)[0]
    assert isinstance(stmt, AssignStmt)
    assert isinstance(stmt.value, exprs.Add)
    assert isinstance(stmt.value.right.type, ScalarType)
    assert stmt.value.right.type.dtype is found
    assert stmt.value.dtype is found


def test_literal_kinds() -> None:
    """Bare numbers are INT64 and FP32, booleans BOOL; pl.const gives another type."""
    assert isinstance(found := value("y = 3"), ConstInt)
    assert found.dtype is DataType.INT64
    assert isinstance(found := value("y = 0.1"), ConstFloat)
    assert (found.dtype, found.value) == (DataType.FP32, 0.1)
    assert isinstance(found := value("y = True"), exprs.ConstBool)
    assert isinstance(found := value("y = pl.const(-3, pl.INT8)"), ConstInt)
    assert (found.dtype, found.value) == (DataType.INT8, -3)
    assert isinstance(found := value('y = pl.const(float("inf"), pl.FP16)'), ConstFloat)
    assert (found.dtype, found.value) == (DataType.FP16, float("inf"))


def test_python_arithmetic_is_done_at_once() -> None:
    """Arithmetic between literals and captured names is done by Python, while parsing."""
    before = "B = 64\nSIZES = [16, 32]\ndef cdiv(a, b): return -(-a // b)\nimport math"
    assert body(
        "n: pl.INT64",
        """
        a = n * (2 * B + 1)
        c = n + cdiv(100, B)
        d = n + SIZES[1] + len(SIZES) + max(SIZES)
        e = n + int(math.sqrt(B))
        g = n + (1 if B > 32 else 2)
        """,
        before=before,
        trusted=True,
    ) == lines("""
        a = n * 129
        c = n + 2
        d = n + 32 + 2 + 32
        e = n + 8
        g = n + 1
        """)


def test_numpy_numbers_are_numbers() -> None:
    """Captured NumPy integers and floats are used like Python's."""
    before = "import numpy as np\nSIZE = np.int64(8)\nHALF = np.float32(0.5)"
    params, code = "n: pl.INT64, h: pl.FP32", "a = n + SIZE\nb = h * HALF"
    assert body(params, code, before=before, trusted=True) == lines("""
        a = n + 8
        b = h * 0.5
        """)


def test_conditions_are_left_associative() -> None:
    """Several `and` or operands of min nest to the left."""
    assert body(SCALARS, "y = b and n > 1 and m > 2\nz = min(n, m, 3)") == lines("""
        y = b and n > 1 and m > 2
        z = min(min(n, m), 3)
        """)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a == 1", "pl.block.cmps(a, 1.0, cmp_type=0)"),
        ("a != h", "pl.block.cmps(a, h, cmp_type=1)"),
        ("a < a", "pl.block.cmp(a, a, cmp_type=2)"),
        ("1 >= a", "pl.block.cmps(a, 1.0, cmp_type=3)"),
        ("0 < a", "pl.block.cmps(a, 0.0, cmp_type=4)"),
        ("a >= 0", "pl.block.cmps(a, 0.0, cmp_type=5)"),
    ],
)
def test_comparison_of_tiles(text: str, value: str) -> None:
    """A comparison with a tile is one op; a number may stand on either side."""
    found = body(f"{TILES}, h: pl.FP32", f"a = x[:]\nb = {text}").splitlines()[1]
    assert found == f"b = {value}"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a & a", "pl.block.and_(a, a)"),
        ("3 | a", "pl.block.ors(a, 3)"),
        ("a << 1", "pl.block.shls(a, 1)"),
        ("a >> a", "pl.block.shr(a, a)"),
        ("a % n", "pl.block.rems(a, n)"),
        ("-a", "pl.block.neg(a)"),
        ("a - 1", "pl.block.subs(a, 1)"),
    ],
)
def test_operators_on_integer_tiles(text: str, value: str) -> None:
    """Each operator on integer tiles is a single op, with a tile or a number."""
    found = body(f"{TILES}, n: pl.INT32", f"a = i[:]\nb = {text}").splitlines()[1]
    assert found == f"b = {value}"


def test_conditional_expression_is_an_if() -> None:
    """With a run-time condition it is an if statement before the one that uses its value."""
    assert body(
        SCALARS, "y = (n if b else 0) + m\nz = pl.cast(2.5 if n > 1 else 1, pl.FP16)"
    ) == lines(
        """
        if b:
            _if_tmp = pl.yield_(n)
        else:
            _if_tmp = pl.yield_(0)
        y = _if_tmp + m
        if n > 1:
            _if_tmp_1 = pl.yield_(2.5)
        else:
            _if_tmp_1 = pl.yield_(1.0)
        z = pl.cast(_if_tmp_1, pl.FP16)
        """
    )
    nested = body(SCALARS, "y = n if b else m if n > 1 else -m")
    assert nested == lines("""
        if b:
            _if_tmp = pl.yield_(n)
        else:
            if n > 1:
                _if_tmp_1 = pl.yield_(m)
            else:
                _if_tmp_1 = pl.yield_(-m)
            _if_tmp = pl.yield_(_if_tmp_1)
        y = _if_tmp
        """)


def test_conditional_output() -> None:
    """A conditional expression of one output is that output; of two tensors it is neither."""
    params = (
        "b: pl.BOOL, x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]"
    )
    store = "pl.store(t, [0, 0], [16, 16], out)"
    kept = f"t = x[:]\nout = {store} if b else {store}\nreturn out"
    assert "out: pl.Tensor[[16, 16], pl.FP32] = _if_tmp" in str(kernel(params, kept))
    lost = error(params, f"t = x[:]\nout = {store} if b else x")
    assert lost.slug == "out-rebound"


def test_tile_operators_are_ops() -> None:
    """Python's operators on tiles are the unified ops; a number has the tile's element type."""
    assert body(
        TILES,
        """
        t = pl.load(x, [0, 0], [64, 64])
        u = t + t - t * t / t
        v = 2 * t + 1
        w = t - 1.5
        y = -abs(t)
        z = max(t, u)
        k = pl.load(i, [0, 0], [64, 64]) * 3
        """,
    ) == lines("""
        t = pl.block.load(x, [0, 0], [64, 64], target_memory=pl.MemorySpace.Vec)
        u = pl.block.sub(pl.block.add(t, t), pl.block.div(pl.block.mul(t, t), t))
        v = pl.block.adds(pl.block.muls(t, 2.0), 1.0)
        w = pl.block.subs(t, 1.5)
        y = pl.block.neg(pl.block.abs(t))
        z = pl.block.maximum(t, u)
        k = pl.block.muls(pl.block.load(i, [0, 0], [64, 64], target_memory=pl.MemorySpace.Vec), 3)
        """)


def test_shape_and_dtype_of_values() -> None:
    """`.shape` and `.dtype` are known while parsing, also inside other arguments."""
    stmts = statements(
        kernel(
            TILES,
            """
            t = pl.load(x, [0, 0], x.shape)
            u = pl.load(x, [0, 0], [x.shape[0] // 2, 64])
            v = pl.create_tile(u.shape, u.dtype)
            """,
        ).body
    )
    kinds = [s.var.type for s in stmts if isinstance(s, AssignStmt)]
    assert [static_shape(k) for k in kinds if isinstance(k, TileType)] == [
        (64, 64),
        (32, 64),
        (32, 64),
    ]


def test_tuples_are_read_with_constants() -> None:
    """Items of a tuple of values become TupleGetItemExpr; negative indices count from the end."""
    assert body("n: pl.INT64", "t = [n, 2 * n]\ny = t[0] + t[-1]") == lines("""
        t = [n, 2 * n]
        y = t[0] + t[1]
        """)


def test_long_sum_does_not_recurse() -> None:
    """A sum of thousands of terms is parsed without recursion over the terms."""
    found = kernel("n: pl.INT64", f"y = {' + '.join(['n'] * 1500)}")
    stmt = statements(found.body)[0]
    assert isinstance(stmt, AssignStmt)
    depth, node = 0, stmt.value
    while isinstance(node, exprs.Add):
        depth, node = depth + 1, node.left
    assert depth == 1499


@pytest.mark.parametrize(
    ("text", "kind", "slug"),
    [
        ("y = 1 < n < 3", ParserSyntaxError, "comparison-chain"),
        ("y = n * 0.5", ParserTypeError, "scalar-operands"),
        ("y = h & 1", ParserTypeError, "scalar-operands"),
        ("y = b + 1", ParserTypeError, "scalar-operands"),
        ("y = n @ n", InvalidOperationError, "no-operator"),
        ("y = n + 'a'", InvalidOperationError, "no-operator"),
        ("y = n if b else h", ParserTypeError, "conditional-expression"),
        ("y = n if b else [1, 2]", ParserTypeError, "conditional-expression"),
        ("y = lambda: n", UnsupportedFeatureError, "unsupported"),
        ("y = f'{n}'", UnsupportedFeatureError, "unsupported"),
        ("y = {n: n}", UnsupportedFeatureError, "unsupported"),
        ("y = (z := n)", UnsupportedFeatureError, "unsupported"),
        ("y = n.shape", UnsupportedFeatureError, "attribute"),
        ("y = n[0]", ParserTypeError, "subscript"),
        ("y = 1 // 0", ParserTypeError, "constant-expression"),
        ("y = 1 << 64", ParserTypeError, "constant-range"),
        ("y = pl.const(300, pl.INT8)", ParserTypeError, "constant-range"),
        ("y = pl.const(n, pl.INT8)", ParserSyntaxError, "const"),
        ("y = pl.const(1)", ParserSyntaxError, "const"),
        ("y = sum([n, m])", UnsupportedFeatureError, "python-call"),
        ("y = print(1)", UnsupportedFeatureError, "python-call"),
        ("y = q", UndefinedVariableError, "undefined-name"),
        ("y = pl.blok.add(n, n)", InvalidOperationError, "unknown-op"),
    ],
)
def test_refused(text: str, kind: type[Exception], slug: str) -> None:
    """What has no meaning in a kernel is rejected with its class and slug."""
    found = error(SCALARS, text)
    assert (type(found), found.slug) == (kind, slug)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("pl.max(h, n)", "write pl.max(h, pl.cast(n, pl.FP32))"),
        ("pl.max(h, b)", "write pl.max(h, pl.cast(b, pl.FP32))"),
        ("pl.min(b, 0.5)", "write pl.min(pl.cast(b, pl.FP32), 0.5)"),
        ("pl.min(n, 0.5)", "write pl.min(pl.cast(n, pl.FP32), 0.5)"),
        ("pl.max(h, True)", None),
        ("pl.max(n, b)", None),
    ],
)
def test_hints_of_functions_on_scalars(text: str, hint: str | None) -> None:
    """A hint casts what stands beside floats, and is taken; it is never the call itself."""
    assert error(SCALARS, f"y = {text}").hint == hint
    if hint is not None:
        assert isinstance(value(f"y = {hint.removeprefix('write ')}"), exprs.BinaryExpr)
