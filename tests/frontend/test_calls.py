"""Calls of ops in every spelling, of functions and inline functions, and what they reject."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import runtime
from pypto._src.errors import (
    InvalidOperationError,
    ParserError,
    ParserOpError,
    ParserOpTypeError,
    ParserSyntaxError,
    ParserTypeError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Call, GlobalVar
from pypto._src.ir.stmts import AssignStmt, statements
from tests.frontend.texts import body, error, kernel, lines, program

X = "x: pl.Tensor[[64, 64], pl.FP32]"
XO = f"{X}, out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
LOAD = "pl.block.load(x, [0, 0], [64, 64], target_memory=pl.MemorySpace.Vec)"


@pytest.mark.parametrize(
    "text",
    [
        "pl.load(x, [0, 0], [64, 64])",
        "pl.block.load(x, [0, 0], [64, 64])",
        "pl.load(x, (0, 0), (64, 64), pl.MemorySpace.Vec)",
        "pl.load(tensor=x, offsets=[0, 0], shapes=[64, 64])",
        "pl.load(x, offsets=ZEROS, shapes=[S, S])",
        "tile_lang.load(x, ZEROS, [S] * 2)",
        "get(x, [0, 0], x.shape)",
        "blocks.load(x, [0, 0], [64, 64], target_memory=Space.Vec)",
    ],
)
def test_spellings_of_one_call(text: str) -> None:
    """Positional or keyword, any alias of module, namespace, op or enum: the object decides."""
    before = """
    import pypto.language as tile_lang
    from pypto.language import block as blocks, load as get, MemorySpace as Space
    S = 64
    ZEROS = (0, 0)
    """
    assert body(X, f"t = {text}", before=before) == f"t = {LOAD}"


def test_unified_names_dispatch_on_operands() -> None:
    """One name covers the ops on tiles and on numbers; a number may come first."""
    assert body(
        X,
        """
        t = pl.load(x, [0, 0], [64, 64])
        a = pl.add(t, t)
        b = pl.add(t, 2)
        c = pl.mul(2.5, t)
        d = pl.maximum(t, 0.0)
        e = pl.adds(t, 1.0)
        n = pl.dim(x, 0)
        v = pl.view(x, [32, 64], [n, 0])
        """,
    ) == lines(f"""
        t = {LOAD}
        a = pl.block.add(t, t)
        b = pl.block.adds(t, 2.0)
        c = pl.block.muls(t, 2.5)
        d = pl.block.maxs(t, 0.0)
        e = pl.block.adds(t, 1.0)
        n = pl.tensor.dim(x, 0)
        v = pl.tensor.view(x, [32, 64], [n, 0])
        """)


def test_constants_by_position() -> None:
    """Element types, enums and axes need no keyword."""
    assert body(
        X,
        """
        t = pl.load(x, [0, 0], [64, 64])
        a = pl.cast(t, pl.FP16, "rint")
        b = pl.create_tile([16, 16], pl.FP16, pl.MemorySpace.Vec)
        c = pl.transpose(t, t, 0, 1)
        """,
    ) == lines(f"""
        t = {LOAD}
        a = pl.block.cast(t, target_type=pl.FP16, mode="rint")
        b = pl.block.create_tile([16, 16], dtype=pl.FP16, target_memory=pl.MemorySpace.Vec)
        c = pl.block.transpose(t, t, axis1=0, axis2=1)
        """)


def test_calls_nest_and_stand_alone() -> None:
    """A call may be an argument; a statement of its own is evaluated for its effect."""
    text = "pl.store(pl.exp(pl.load(x, [0, 0], [64, 64])), [0, 0], [64, 64], out)\n" + (
        "pl.system.bar_all()\npl.system.sync_src(pl.PipeType.V, pl.PipeType.MTE3, 0)"
    )
    assert body(XO, text) == lines(f"""
        pl.block.store(pl.block.exp({LOAD}), [0, 0], [64, 64], out)
        pl.system.bar_all()
        pl.system.sync_src(set_pipe=pl.PipeType.V, wait_pipe=pl.PipeType.MTE3, event_id=0)
        """)


def test_spans_of_calls() -> None:
    """A call has the span of its own text, a statement that of its target."""
    found = kernel(X, "t = pl.exp(pl.load(x, [0, 0], [64, 64]))")
    stmt = statements(found.body)[0]
    assert isinstance(stmt, AssignStmt)
    outer = stmt.value
    assert isinstance(outer, Call)
    places = [
        (s.begin_line, s.begin_column, s.end_line, s.end_column)
        for s in (stmt.var.span, outer.span, outer.args[0].span)
    ]
    assert places == [(5, 4, 5, 5), (5, 8, 5, 44), (5, 15, 5, 43)]


OUTSIDE = """
@pl.function
def outside(x: pl.Tensor[[64], pl.FP32]) -> pl.Tensor[[64], pl.FP32]:
    return x
"""
PROGRAM = """
import pypto.language as pl
M = pl.dynamic("M")

@pl.program
class P:
    @pl.function
    def main(self, x: pl.Tensor[[64], pl.FP32], y: pl.Tensor[[32, 8], pl.FP16], n: pl.INT32):
        {text}

    @pl.function
    def declared(self, x: pl.Tensor[[64], pl.FP32], n: pl.INT32) -> tuple[pl.INT32, pl.INT64]:
        return n, 1

    @pl.function
    def inferred(self, y: pl.Tensor[[M, 8], pl.FP16]):
        return y
"""


def assigned(text: str) -> list[AssignStmt]:
    main = program(PROGRAM.format(text=text.replace("\n", "\n        "))).get_function("main")
    assert main is not None
    return [s for s in statements(main.body) if isinstance(s, AssignStmt)]


def test_later_functions_are_typed() -> None:
    """A call of a later function has the type that it declares, or that its body implies."""
    a, b = assigned("a = self.declared(x, n)\nb = self.inferred(y)")
    assert str(a.var.type) == "pl.Tuple[[pl.Scalar[pl.INT32], pl.Scalar[pl.INT64]]]"
    assert isinstance(b.var.type, TensorType)
    assert str(b.var.type) == "pl.Tensor[[32, 8], pl.FP16]"


def test_results_are_unpacked() -> None:
    """Several results are read from a variable that holds the tuple."""
    main = assigned("a, b = self.declared(x, 7)")
    assert [str(s) for s in main] == [
        "_tuple_tmp: pl.Tuple[[pl.Scalar[pl.INT32], pl.Scalar[pl.INT64]]] = "
        "declared(x, pl.const(7, pl.INT32))",
        "a: pl.Scalar[pl.INT32] = _tuple_tmp[0]",
        "b: pl.Scalar[pl.INT64] = _tuple_tmp[1]",
    ]


def test_arguments_by_name() -> None:
    """Arguments of functions may be passed by parameter name."""
    (stmt,) = assigned("a = self.declared(n=n, x=x)")
    assert isinstance(stmt.value, Call)
    assert isinstance(stmt.value.op, GlobalVar)
    assert [str(arg) for arg in stmt.value.args] == ["x", "n"]


def test_function_from_outside_is_added_once() -> None:
    """A function called by its bare name joins the program, once, under its own name."""
    found = program(OUTSIDE + PROGRAM.format(text="a = outside(x)\n        b = outside(a)"))
    assert [f.name for f in found.functions_] == ["declared", "inferred", "main", "outside"]


def test_functions_bring_what_they_call() -> None:
    """A function from outside brings along the functions that it calls itself."""
    found = program("""
        import pypto.language as pl

        @pl.function
        def inner(n: pl.INT64) -> pl.INT64:
            return n

        @pl.function
        def outer(n: pl.INT64) -> pl.INT64:
            return inner(n)

        renamed = outer

        @pl.program
        class P:
            @pl.function
            def main(self, n: pl.INT64) -> pl.INT64:
                return renamed(n)
        """)
    assert [f.name for f in found.functions_] == ["inner", "main", "outer"]


INLINE = """
EPS = 0.5

@pl.inline
def scaled(t, factor):
    t = t * factor
    u = t + EPS
    return u

@pl.inline
def both(t):
    a = scaled(t, 2.0)
    return a, scaled(a, 3.0)

@pl.inline
def loop(t):
    return loop(t)

@pl.inline
def early(n):
    if n > 1:
        return n
    return n + 1
"""


def test_tiles_of_an_inline_function_on_the_host() -> None:
    """An inline function that works on tiles is rejected in an orchestration function."""
    found = error(
        X,
        "n = pl.tensor.dim(x, 0)\nwith pl.incore():\n    a = both(x)\nb = loaded(x)",
        before=f"{INLINE}\n@pl.inline\ndef loaded(t):\n    return pl.load(t, [0, 0], [8, 64])\n",
        options="(type=pl.FunctionType.Orchestration)",
    )
    assert isinstance(found, InvalidOperationError)
    assert (found.slug, found.message.partition(" ")[0]) == ("host-tile", "pl.load")


def test_inline_functions_are_expanded() -> None:
    """Each call of an inline function has its own statements and variables."""
    assert body(
        X,
        """
        t = pl.load(x, [0, 0], [64, 64])
        u, v = both(t)
        w = t
        """,
        before=INLINE,
    ) == lines(f"""
        t = {LOAD}
        t_1 = t
        t_1 = pl.block.muls(t_1, 2.0)
        u = pl.block.adds(t_1, 0.5)
        a = u
        t_2 = a
        t_2 = pl.block.muls(t_2, 3.0)
        u_1 = pl.block.adds(t_2, 0.5)
        u_2 = a
        v = u_1
        w = t
        """)


@pytest.mark.parametrize(
    ("text", "kind", "slug"),
    [
        ("scaled(n)", ParserTypeError, "argument-count"),
        ("scaled(n, factor=n)", ParserTypeError, "argument-count"),
        ("loop(n)", UnsupportedFeatureError, "recursion"),
        ("early(n)", UnsupportedFeatureError, "inline-return"),
    ],
)
def test_inline_refused(text: str, kind: type[Exception], slug: str) -> None:
    """The number of arguments is checked; inline functions neither recurse nor return early."""
    found = error("n: pl.INT64", f"a = {text}", before=INLINE)
    assert (type(found), found.slug) == (kind, slug)


def test_error_inside_inline_function_has_its_place() -> None:
    """A mistake in an inline function is reported at its own line."""
    found = error(
        "n: pl.INT64", "a = twice(n)", before="@pl.inline\ndef twice(n):\n    return n + q"
    )
    assert (found.message, found.location.begin_line) == ("'q' is not defined", 4)


@pytest.mark.parametrize(
    ("text", "kind", "slug"),
    [
        ("a = pl.exq(x)", InvalidOperationError, "unknown-op"),
        ("a = pl.block.exq(x)", InvalidOperationError, "unknown-op"),
        ("a = pl.lrelu(1.0, 0.1)", ParserOpTypeError, "argument-kind"),
        ("a = pl.exp(1.0)", InvalidOperationError, "no-overload"),
        ("a = pl.add(1.0, 2.0)", InvalidOperationError, "no-overload"),
        ("a = pl.load(x)", ParserOpError, "argument-count"),
        ("a = pl.load(x, [0, 0], [64, 64], pl.MemorySpace.Vec, 1)", ParserOpError, None),
        ("a = pl.load(x, 0, 64)", ParserOpTypeError, "argument-kind"),
        ("a = pl.load(x, [0, 0], [64, 64], target=1)", ParserOpError, "unknown-keyword"),
        ("a = pl.load(**x)", UnsupportedFeatureError, "unsupported"),
        ("a = pl.load(*x)", UnsupportedFeatureError, "unsupported"),
        ("a = foo(x)", UndefinedVariableError, "undefined-name"),
        ("a = SIZE(x)", ParserTypeError, "not-callable"),
        ("a = helper(x)", UnsupportedFeatureError, "python-call"),
        ("a = pl.range(3)", ParserSyntaxError, "misplaced"),
        ("pl.cond(True)", ParserSyntaxError, "misplaced"),
        ("pl.incore()", ParserSyntaxError, "misplaced"),
        ("a = helper('x')", ParserTypeError, "constant-expression"),
    ],
)
def test_refused(text: str, kind: type[Exception], slug: str | None) -> None:
    """Wrong callees and arguments are rejected with class and slug."""
    found = error(X, text, before="SIZE = 64\ndef helper(a): return a + 1", trusted=True)
    assert type(found) is kind
    assert slug in (None, found.slug)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("self.declared(x)", ParserTypeError, "'n' is missing"),
        ("self.declared(x, n, n)", ParserTypeError, "takes 2 arguments (x, n), got 3"),
        ("self.declared(x, k=n)", ParserTypeError, "declared does not have the parameter 'k'"),
        (
            "self.declared(y, n)",
            ParserTypeError,
            "is Tensor[[64], FP32], got Tensor[[32, 8], FP16]",
        ),
        ("self.declared(x, 0.5)", ParserTypeError, "is Scalar[INT32], got Scalar[FP32]"),
        ("self.inferred(x)", ParserTypeError, "parameter 'y' of inferred"),
        ("self.declred(x, n)", UndefinedVariableError, "no function 'declred'"),
        ("self.main(x, y, n)", ParserTypeError, "main calls itself"),
    ],
)
def test_function_calls_are_checked(text: str, kind: type[Exception], message: str) -> None:
    """Arguments of functions are checked by count, name and type."""
    with pytest.raises(kind) as caught:
        assigned(f"a = {text}")
    assert message in str(caught.value)


CONFLICT = """
import pypto.language as pl

def make(k):
    @pl.function
    def helper(n: pl.INT64) -> pl.INT64:
        return n + k
    return helper

one, two = make(1), make(2)
"""


@pytest.mark.parametrize(
    ("body_text", "extra", "message"),
    [
        ("one(n) + two(n)", "", "the name of another function from outside"),
        (
            "one(n)",
            "    @pl.function\n    def helper(self, n: pl.INT64) -> pl.INT64:\n        return n\n",
            "the name of a method of the program",
        ),
    ],
)
def test_names_of_functions_conflict(body_text: str, extra: str, message: str) -> None:
    """Two functions of the same name cannot be in one program."""
    text = (
        f"{CONFLICT}\n@pl.program\nclass P:\n    @pl.function\n"
        f"    def main(self, n: pl.INT64) -> pl.INT64:\n        return {body_text}\n{extra}"
    )
    with pytest.raises(ParserSyntaxError) as caught:
        program(text, trusted=True)
    assert message in str(caught.value)
    assert caught.value.slug == "name-conflict"


def test_functions_without_directions_write_their_tensors() -> None:
    """An Out parameter passed to a function that declares no direction counts as written."""
    tensor = "pl.Tensor[[64, 64], pl.FP32]"
    text = f"""
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: {tensor}, out: pl.Out[{tensor}]) -> {tensor}:
        out = self.copy(x, out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def copy(self, x: {tensor}, y: {tensor}) -> {tensor}:
        return pl.store(pl.load(x, [0, 0], [64, 64]), [0, 0], [64, 64], y)
"""
    main = program(text).get_function("main")
    assert main is not None
    assert [d.name for d in main.param_directions] == ["In", "Out"]


TRANSPOSES = """
@pl.program
class Transposes:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[24, 40], pl.FP32],
        first: pl.Out[pl.Tensor[[40, 24], pl.FP32]],
        second: pl.Out[pl.Tensor[[40, 24], pl.FP32]],
        third: pl.Out[pl.Tensor[[40, 24], pl.FP32]],
    ):
        tile = x[...]
        first[...] = pl.transpose(tile, 0, 1)
        second[...] = pl.block.transpose(tile, axis1=-1, axis2=0)
        third[...] = pl.transpose(tile, pl.create_tile([40, 32], pl.FP32))
"""


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_transpose_by_axes(target: Any) -> None:
    """A tile is transposed with the user's scratch tile or, by axes, with an implicit one."""
    x = np.arange(24 * 40, dtype=np.float32).reshape(24, 40)
    outs = [np.zeros((40, 24), np.float32) for _ in range(3)]
    runtime.compile(pl.parse_program(TRANSPOSES), target=target)(x, *outs)
    assert [(out == x.T).all() for out in outs] == [True] * 3


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("pl.row_max(t)", "pl.row_max(t, pl.create_tile([16, 64], pl.INT16))"),
        ("pl.row_sum(input=t)", "pl.row_sum(t, pl.create_tile([16, 64], pl.INT16))"),
        ("pl.row_min(t, None)", "pl.row_min(t, pl.create_tile([16, 64], pl.INT16))"),
        ("pl.block.row_min(tile=t)", "pl.row_min(t, pl.create_tile([16, 64], pl.INT16))"),
        ("pl.xor(t, t)", "pl.xor(t, t, pl.create_tile([16, 64], pl.INT16))"),
        ("pl.xor(t, 5)", "pl.xor(t, 5, pl.create_tile([16, 64], pl.INT16))"),
        ("pl.prelu(f, slope=f)", "pl.prelu(f, f, pl.create_tile([16, 64], pl.FP16))"),
    ],
)
def test_own_scratch(short: str, full: str) -> None:
    """An omitted scratch tile is created, with the type of the first operand."""
    before = "t = pl.full([16, 64], dtype=pl.INT16, value=3)\nf = pl.cast(t, pl.FP16)\n"
    assert body(X, f"{before}y = {short}") == body(X, f"{before}y = {full}")


def test_operator_with_scratch() -> None:
    """An operator is the op with an implicit scratch tile."""
    before = "t = pl.full([16, 64], dtype=pl.INT16, value=3)\n"
    assert body(X, f"{before}y = t ^ t") == body(X, f"{before}y = pl.xor(t, t)")


@pytest.mark.parametrize("axes", ["0, 0", "0, 2", "-1, 1"])
def test_transpose_of_wrong_axes(axes: str) -> None:
    """The two axes must be the two of the tile."""
    text = TRANSPOSES.replace("0, 1)", f"{axes})")
    with pytest.raises(ParserError, match="swaps rows and columns of a two-dimensional tile"):
        pl.parse(text)


@pytest.mark.parametrize(
    ("named", "plain"),
    [
        ("pl.exp(input=t)", "pl.exp(t)"),
        ("pl.cast(input=t, target_type=pl.FP16)", "pl.cast(t, pl.FP16)"),
        ("pl.reshape(input=t, shape=[32, 128])", "pl.reshape(t, [32, 128])"),
        ("pl.view(input=x, shape=[8, 64], offset=[0, 0])", "pl.view(x, [8, 64], [0, 0])"),
        ("pl.row_max(input=t, tmp_tile=s)", "pl.row_max(t, s)"),
    ],
)
def test_first_operand_by_name(named: str, plain: str) -> None:
    """The first operand of a unified name is called ``input``, for tiles as for tensors."""
    before = "t = pl.load(x, [0, 0], [64, 64])\ns = pl.create_tile([64, 64], pl.FP32)\n"
    assert body(X, f"{before}y = {named}") == body(X, f"{before}y = {plain}")


@pytest.mark.parametrize("declared", ["", " -> pl.Tile[[16, 16], pl.FP32]"])
def test_functions_that_call_the_next(declared: str) -> None:
    """Functions whose result types follow only from their callees are parsed, in any order."""
    count = 400
    text = "import pypto.language as pl\n\n@pl.program\nclass P:\n"
    for at in range(count):
        value = f"self.f{at + 1}(t)" if at < count - 1 else "pl.exp(t)"
        text += (
            "    @pl.function(type=pl.FunctionType.InCore)\n"
            f"    def f{at}(self, t: pl.Tile[[16, 16], pl.FP32]){declared}:\n"
            f"        u = {value}\n        return u\n"
        )
    found = pl.parse_program(text)
    assert len(found.functions_) == count
    assert all(len(f.return_types) == 1 for f in found.functions_)


KERNELS = """
import pypto.language as pl

T = pl.Tensor[[16, 16], pl.FP32]

@pl.inline
def first_of(items):
    a = items[0]
    b = items[0]
    return (a, b, items[1])

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def more(self, x: pl.InOut[T]) -> T:
        x = pl.store(pl.add(pl.load(x, [0, 0], [16, 16]), 1.0), [0, 0], [16, 16], x)
        return x

    @pl.function(type=pl.FunctionType.InCore)
    def twice(self, x: pl.InOut[T]):
        x = pl.store(pl.mul(pl.load(x, [0, 0], [16, 16]), 2.0), [0, 0], [16, 16], x)

    @pl.function(type=pl.FunctionType.InCore)
    def swap(self, a: pl.InOut[T], b: pl.InOut[T]) -> tuple[T, T]:
        t = pl.load(a, [0, 0], [16, 16])
        a = pl.store(pl.load(b, [0, 0], [16, 16]), [0, 0], [16, 16], a)
        b = pl.store(t, [0, 0], [16, 16], b)
        return a, b

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.InOut[T], n: pl.INT64) -> pl.INT64:
        {text}
        return m
"""


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
@pytest.mark.parametrize(
    ("text", "result", "left"),
    [
        ("m = (self.more(x), n)[1]", 7, 4.0),
        ("m = (n, self.twice(x))[0]", 7, 6.0),
        ("m = ((self.more(x), self.twice(x)), n)[1]", 7, 8.0),
        ("(self.more(x), self.twice(x))[1]\n        m = n", 7, 8.0),
        ("m = [n, self.more(x), 3][::2][1] + n", 10, 4.0),
        ("m = n + len([self.more(x), n])", 9, 4.0),
        ("m = n + self.more(x).shape[0]", 23, 4.0),
        ("a, b, m = first_of([self.more(x), n])", 7, 4.0),
        ("m = 1 if n < 9 and self.more(x).shape[0] > 9 else n", 1, 4.0),
        ("m = 1 if n > 9 and self.more(x).shape[0] > 9 else n", 7, 3.0),
        ("m = 1 if n < 9 or self.more(x).shape[0] > 9 else n", 1, 3.0),
        ("m = 1 if n > 9 or self.more(x).shape[0] > 16 else n", 7, 4.0),
        ("m = 1 if n > 9 or len([self.more(x)]) and n or (self.twice(x), n)[1] else n", 1, 4.0),
        ("m = 1 if False and self.more(x).shape[0] > 9 else n", 7, 3.0),
        ("m = (True and len([self.more(x), n])) + n", 9, 4.0),
        ("m = len([self.more(x)] * 2) + n", 9, 4.0),
        ("m = 2 if not [self.more(x)] else n", 7, 4.0),
        ("m = ([self.more(x)] and [n])[0]", 7, 4.0),
        ("m = len([self.twice(x)] * 2) + n", 9, 6.0),
        ("m = len([self.more(x), len([self.twice(x)]), n])", 3, 8.0),
        ("m = len([self.twice(x), (self.more(x), n)[1]])", 2, 7.0),
        ("m = ([self.more(x), n] + [len([self.twice(x)])])[1]", 7, 8.0),
        ("m = n if self.more(x).shape[0] < len([self.twice(x)]) else 0", 0, 8.0),
    ],
)
def test_calls_happen_once(text: str, result: int, left: float, target: Any) -> None:
    """A call whose value is unused is made, and one whose value is read twice is made once.

    An operand that ``and`` or ``or`` short-circuits is not evaluated.
    """
    main = runtime.compile(pl.parse_program(KERNELS.format(text=text)), target=target)
    x = np.full((16, 16), 3.0, np.float32)
    assert main(x, 7) == result
    assert (x == left).all()


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("at = [n, 0]\nn = n + 1", 3),
        ("at = (n, 0)\nif n > 1:\n    at = (n + 2, 0)", 5),
    ],
)
def test_named_lists(text: str, row: int, target: Any) -> None:
    """A variable that holds several scalars can be used as a list of them."""
    params = f"{X}, n: pl.INT64, out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]"
    code = f"{text}\nt = pl.load(x, at, [16, 64])\nout = pl.store(t, [0, 0], [16, 64], out)"
    x, out = np.arange(4096, dtype=np.float32).reshape(64, 64), np.zeros((16, 64), np.float32)
    runtime.compile(kernel(params, code), target=target)(x, 3, out)
    assert (out == x[row : row + 16]).all()


def test_named_valid_sizes() -> None:
    """Tiles whose valid sizes come from a list are compatible while it is the same list."""
    params = f"{X}, n: pl.INT64, out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]"
    load = "pl.load(x, [0, 0], [16, 64], valid_shapes=part)"
    code = f"part = [n, 32]\na = {load}\n{{}}b = {load}\n"
    store = "out = pl.store(pl.add(a, b), [0, 0], part, out)"
    x, out = np.arange(4096, dtype=np.float32).reshape(64, 64), np.zeros((16, 64), np.float32)
    runtime.compile(kernel(params, code.format("") + store))(x, 3, out)
    assert (out[:3, :32] == 2 * x[:3, :32]).all()
    assert not out[3:].any()
    assert not out[:, 32:].any()
    with pytest.raises(ParserError) as caught:
        kernel(params, code.format("part = [n + 1, 32]\n") + store)
    assert caught.value.slug == "valid-shape"


def test_results_in_the_order_of_what_is_written() -> None:
    """If there are as many results as written arguments, they are those, even if not Out."""
    text = "s = pl.create_tensor([16, 16], pl.FP32)\n        s, x = self.swap(s, x)\n        m = n"
    assert "s, x = " not in str(program(KERNELS.format(text=text)))
