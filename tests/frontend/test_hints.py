"""Where hints come from: nearest names, ops of other libraries, the user's text of a variable."""

from __future__ import annotations

import linecache
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import DataType, backend, codegen, ir, passes, runtime
from pypto._src.driver import compile_program
from pypto._src.errors import CallError, KeywordError, PyptoError, UnknownNameError
from pypto._src.frontend.diagnose import number_forms
from pypto._src.ir.exprs import Call
from pypto._src.ir.inspect.source_names import resized, user_call, user_name
from pypto._src.ir.traversal.walk import walk
from pypto._src.suggestions import nearest

Array = np.ndarray[Any, Any]

KERNEL = """
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def kernel(x: pl.Tensor[[16, 32], pl.FP32], out: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    t = pl.load(x, [0, 0], [16, 32])
    out = pl.store(VALUE, [0, 0], [16, 32], out)
"""


def hint_for(value: str, before: str = "") -> str | None:
    """Return the hint for a value stored in `KERNEL`, or for one assigned ``before``."""
    text = KERNEL.replace("    out =", f"{before}    out =").replace("VALUE", value)
    with pytest.raises(PyptoError) as caught:
        pl.parse(text)
    return caught.value.hint


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ('(t + t) * "2"', "(t + t) * 2"),
        ('"2" * (t + t)', "2 * (t + t)"),
        ('(t) + ("0.5")', "(t) + (0.5)"),
        ('pl.load(x, ["0", 0], [16, 32])', "[0, 0]"),
    ],
    ids=["right", "left", "both", "list"],
)
def test_numbers_lose_their_quotes(found: str, wanted: str) -> None:
    """A number in quotes is hinted without them, whatever brackets surround it."""
    assert hint_for(found) == f"write {wanted}"


def test_dimensions_without_a_size_get_different_names() -> None:
    """Applying the hint to several None dimensions does not give them the same size."""
    text = KERNEL.replace("VALUE", "t").replace("[[16, 32]", "[[None, None]", 1)
    for name in ("N", "M"):
        with pytest.raises(PyptoError) as caught:
            pl.parse(text)
        assert caught.value.hint == f'write pl.dynamic("{name}")'
        text = text.replace("None", f'pl.dynamic("{name}")', 1)
    assert pl.parse(text).name == "kernel"


@pytest.mark.parametrize(("call", "form"), [
    ("recip", "1 / {}"), ("rsqrt", "{} ** -0.5"), ("sqrt", "{} ** 0.5"),
    ("exp", "2.718281828459045 ** {}"),
])  # fmt: skip
def test_operators_are_hinted_where_they_have_a_value(call: str, form: str) -> None:
    """An op on a number is hinted as Python's operator, or on a tile if that has no result."""
    assert hint_for(f"pl.add(t, pl.{call}(4.0))") == f"write {form.format('4.0')}"
    odd = "1000.0" if call == "exp" else "-0.0" if call == "recip" else "-4.0"
    tile = f"pl.full([16, 32], pl.FP32, {odd})"
    assert hint_for(f"pl.add(t, pl.{call}({odd}))") == f"write pl.{call}({tile})"


def test_values_of_operators_are_those_of_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function beside each operator computes what the text says; hints evaluate no text."""

    def refused(*_args: object) -> object:
        raise AssertionError("a text is run")

    monkeypatch.setattr(number_forms, "eval", refused, raising=False)
    assert hint_for("pl.add(t, pl.sqrt(4.0))") == "write 4.0 ** 0.5"
    numbers = (0.25, 1.0, -4.0, 7, -2)
    for known in number_forms.OF_NUMBERS.values():
        assert [known.value(n) for n in numbers] == [
            eval(known.form.format(f"({n})")) for n in numbers
        ]


@pytest.mark.parametrize(("name", "found"), [
    ("a b", "'a b'"), ("", "''"), ("class", "Python's word 'class'"), (3, "3"), (None, "None"),
])  # fmt: skip
def test_names_of_dimensions(name: Any, found: str) -> None:
    """A dimension's name must be a valid variable name."""
    with pytest.raises(
        ValueError, match=f"^the name of a dimension is an identifier, got {found}$"
    ):
        pl.dynamic(name)


def test_no_float_is_hinted_for_an_op_of_integers() -> None:
    """A constant tile is hinted only with elements that the op accepts."""
    assert hint_for("pl.not_(3)") is None


def test_a_list_is_not_hinted_as_it_stands() -> None:
    """If no integer can be meant there is no hint, least of all the same list again."""
    assert hint_for("pl.load(x, [None, 0], [16, 32])") is None


def test_no_tile_of_integers_begins_with_a_fraction() -> None:
    """A variable that is 0.5 first and an integer tile later must be renamed."""
    before = (
        "    a = 0.5\n    for i in pl.range(2):\n        a = pl.cast(t, pl.INT32, mode='floor')\n"
    )
    assert hint_for("a", before) == "assign to another name: a2 = ..."


def test_a_tile_that_is_promoted_in_a_loop_is_cast_before_it() -> None:
    """Renaming would break the accumulation: the variable is cast to the wider type beforehand."""
    loop = "    for i in pl.range(2):\n        a += t\n"
    before = "    a = pl.cast(t, pl.FP16)\n"
    found = hint_for("a", before + loop)
    assert found == "before the loop or branch, write a = pl.cast(a, pl.FP32)"
    text = KERNEL.replace("    out =", f"{before}    a = pl.cast(a, pl.FP32)\n{loop}    out =")
    assert pl.parse(text.replace("VALUE", "a"))
    loop = "    for i in pl.range(2):\n        t = pl.cast(t, pl.FP16)\n"  # no promotion
    assert hint_for("t", loop) == "assign to another name: t2 = ..."


def test_a_second_method_gets_a_free_name() -> None:
    """The name hinted for the second of two equally named methods is not taken by a third."""
    method = "    @pl.function\n    def NAME(self, x: pl.Scalar[pl.INT64]):\n        return x\n"
    methods = "".join(method.replace("NAME", name) for name in ("main", "main", "main2"))
    with pytest.raises(PyptoError) as caught:
        pl.parse_program(f"import pypto.language as pl\n\n@pl.program\nclass P:\n{methods}")
    assert (caught.value.slug, caught.value.hint) == ("function-twice", "write main3")


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ("not t", "t == 0"),
        ("t and t > 1", "(t != 0) * (t > 1)"),
        ("t + True", "t + 1"),
        ("np.float32(2.0) * t", "2.0 * t"),
        ("pl.add(*[t, t])", "t, t"),
        ("pl.add(*(t, t))", "t, t"),
        ("t.astype(np.float16)", "pl.cast(t, pl.FP16)"),
        ("t.clip(0.0, 1.0)", "pl.minimum(pl.maximum(t, 0.0), 1.0)"),
        ("np.clip(t, 0.0, 1.0)", "pl.minimum(pl.maximum(t, 0.0), 1.0)"),
        ("t.mean(axis=1)", "pl.mul(pl.row_sum(t), 1.0 / t.shape[1])"),
        ("t.sum()", "pl.col_sum(pl.row_sum(t))"),
        ("t.max(axis=1, keepdims=True)", "pl.max(t, axis=1, keepdim=True)"),
    ],
)
def test_what_other_libraries_write(found: str, wanted: str) -> None:
    """Operators, numbers and methods of NumPy and PyTorch are hinted in this language's syntax."""
    with pytest.raises(PyptoError) as caught:
        pl.parse(KERNEL.replace("VALUE", found), names={"np": np}, trusted=True)
    assert caught.value.hint == f"write {wanted}"


@pytest.mark.parametrize("value", ["t.mean(axis=0)", "t.var(axis=0)", "pl.clip(t)"])
def test_no_other_op_is_hinted(value: str) -> None:
    """Moments of columns are not those of rows, and a missing bound is not invented."""
    assert "row_sum" not in str(hint_for(value))
    assert "imum" not in str(hint_for(value))


OTHERS: dict[str, Callable[[Array], Array]] = {
    "pl.clip(t, -0.5, 0.5)": lambda x: np.clip(x, -0.5, 0.5),
    "pl.clamp(t, min=0.25)": lambda x: np.maximum(x, 0.25),
    "pl.where(t > 0, t, 0.5)": lambda x: np.where(x > 0, x, np.float32(0.5)),
    "pl.clamp(t, -0.5, 0.5)": lambda x: np.clip(x, -0.5, 0.5),
    "pl.pow(t, 2)": lambda x: x * x,
    "pl.pow(pl.exp(t), 1.5)": lambda x: np.exp(x) ** np.float32(1.5),
    "pl.zeros_like(t)": np.zeros_like,
    "pl.ones_like(t)": np.ones_like,
    "pl.full_like(t, 3)": lambda x: np.full_like(x, 3),
}


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


RECIPES: dict[str, Callable[[Array], Array]] = {
    "gelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "softmax": softmax,
    "square": lambda x: x * x,
    "tanh": np.tanh,
}


def computed(value: str) -> tuple[Array, Array]:
    """Return an array and the value of an expression of the tile ``t`` with its elements."""
    program = pl.parse(KERNEL.replace("VALUE", value))
    assert isinstance(program, ir.Function)
    x = np.random.default_rng(3).normal(size=(16, 32)).astype(np.float32)
    out = np.zeros_like(x)
    compile_program(ir.Program([program], "P", ir.Span.unknown()), "interpreter")(x, out)
    return x, out


@pytest.mark.parametrize("call", [*(f"pl.{name}(t)" for name in RECIPES), *OTHERS])
def test_recipes_compute_what_they_stand_for(call: str) -> None:
    """The code hinted for an op of another library computes the values of that op."""
    value = str(hint_for(call)).removeprefix("write ")
    meaning = OTHERS.get(call) or RECIPES[call.removeprefix("pl.").removesuffix("(t)")]
    x, out = computed(value)
    np.testing.assert_allclose(out, meaning(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["mean", "std", "var"])
def test_recipes_of_rows(name: str) -> None:
    """Means, deviations and variances are those of each row, as a column."""
    value = str(hint_for(f"t.{name}(dim=-1)")).removeprefix("write ")
    x, out = computed(f"pl.row_expand(t, {value})")
    wanted = getattr(x, name)(axis=1, keepdims=True)
    np.testing.assert_allclose(out, np.broadcast_to(wanted, x.shape), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["mean", "std", "var"])
def test_recipes_of_all_elements(name: str) -> None:
    """Without an axis they are those of all elements."""
    value = str(hint_for(f"pl.{name}(t)")).removeprefix("write ")
    x, out = computed(f"t * 0.0 + {value}[0, 0]")
    wanted = getattr(x, name)()
    np.testing.assert_allclose(out, np.broadcast_to(wanted, x.shape), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "call", ["t.mean(axis=0)", "pl.mean(t, axis=0)", "t.var(0)", "pl.std(t, dim=0)"]
)
def test_recipes_of_columns(call: str) -> None:
    """Means, standard deviations and variances along the first dimension are columns', as a row."""
    name = re.search(r"\.(\w+)\(", call)
    assert name is not None
    value = str(hint_for(call)).removeprefix("write ")
    x, out = computed(f"pl.col_expand(t, {value})")
    wanted = getattr(x, name[1])(axis=0, keepdims=True)
    np.testing.assert_allclose(out, np.broadcast_to(wanted, x.shape), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["row_mean", "col_mean", "row_var", "col_std"])
def test_moments_are_no_extremes(name: str) -> None:
    """``row_mean`` is hinted by meaning, not by the most similar name."""
    line, moment = name.split("_")
    value = str(hint_for(f"pl.{name}(t)")).removeprefix("write ")
    x, out = computed(f"pl.{line}_expand(t, {value})")
    wanted = getattr(x, moment)(axis=1 if line == "row" else 0, keepdims=True)
    np.testing.assert_allclose(out, np.broadcast_to(wanted, x.shape), rtol=1e-5, atol=1e-6)


def test_recipe_of_erf() -> None:
    """The error function is approximated within 0.0004 everywhere."""
    x, out = computed(str(hint_for("pl.erf(t)")).removeprefix("write "))
    np.testing.assert_allclose(out, np.vectorize(math.erf)(x), atol=4e-4)


NAMES = ["FP16", "FP32", "BF16", "INT32", "BOOL", "Tensor", "tensor", "Vec", "matmul", "function"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("float32", "FP32"),
        ("FLOAT32", "FP32"),
        ("Int32", "INT32"),
        ("bfloat16", "BF16"),
        ("half", "FP16"),
        ("double", "FP32"),
        ("FP64", "FP32"),
        ("bool_", "BOOL"),
        ("tensr", "tensor"),
        ("Tensr", "Tensor"),
        ("Vector", "Vec"),
        ("mm", "matmul"),
        ("functon", "function"),
        ("xyzzy", None),
    ],
)
def test_nearest(name: str, meant: str | None) -> None:
    """Element types by their names elsewhere, misspelt names in their own case, other words."""
    assert nearest(name, NAMES) == meant


@pytest.mark.parametrize(("name", "meant"), [("CORE", "CORE_GROUP"), ("UPDOWN", "UP_DOWN")])
def test_nearest_of_members(name: str, meant: str) -> None:
    """A member of two words is found by the first word, and without the separator."""
    assert nearest(name, ["CORE_GROUP", "UP_DOWN", "CHIP", "LEFT_RIGHT"]) == meant


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    """A test for the name's existence gets an answer; reading it gives a location and a hint."""
    assert not hasattr(pl, "float32")
    assert getattr(pl.FunctionType, "Incore", None) is None
    with pytest.raises(UnknownNameError) as caught:
        getattr(pl, "float32")  # noqa: B009
    assert isinstance(caught.value, AttributeError)
    assert caught.value.hint == "did you mean FP32?"
    assert caught.value.location.filename == __file__
    with pytest.raises(UnknownNameError, match="DataType has no attribute 'FP31'") as caught:
        getattr(DataType, "FP31")  # noqa: B009
    assert caught.value.hint == "did you mean FP32?"


@pytest.mark.parametrize(
    ("owner", "found", "meant"),
    [
        (runtime, "compil", "compile"),
        (passes, "init_memref", "init_mem_ref"),
        (codegen, "PTOCodgen", "PTOCodegen"),
        (backend, "BackendTyp", "BackendType"),
        (ir.op.block, "lod", "load"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_public_names_are_hinted(owner: Any, found: str, meant: str) -> None:
    """Every public package, and the ops of a level, suggest the right name for a misspelt one."""
    with pytest.raises(UnknownNameError) as caught:
        getattr(owner, found)
    assert caught.value.hint == f"did you mean {meant}?"
    assert caught.value.location.filename == __file__
    assert not hasattr(owner, "__wrapped__")


@pytest.mark.parametrize("strategy", ["Default", "PTOAS"])
def test_strategies_are_no_strings(strategy: Any) -> None:
    """A strategy given as a string is rejected with the names of the existing ones."""
    message = "it is one of OptimizationStrategy.Default, OptimizationStrategy.PTOAS"
    with pytest.raises(ValueError, match=f"^strategy is '{strategy}'; {message}$"):
        passes.PassManager.get_strategy(strategy)


def test_backends_are_no_strings(tmp_path: Path) -> None:
    """A backend given as a string is rejected before anything is written."""
    wanted = "backend_type is 'cce'; it is one of BackendType.CCE, BackendType.PTO"
    backend_type: Any = "cce"
    with pytest.raises(ValueError, match=f"^{wanted}$"):
        ir.compile(ir.Program([], "P"), tmp_path / "out", backend_type=backend_type)
    assert not (tmp_path / "out").exists()


def test_a_pass_takes_programs_only() -> None:
    """An argument that is no program is the caller's mistake, not an internal error."""
    function: Any = pl.parse(KERNEL.replace("VALUE", "t"))
    with pytest.raises(CallError) as caught:
        passes.init_mem_ref()(function)
    assert caught.value.message == "InitMemRef takes a program, got the function 'kernel'"
    assert caught.value.hint == 'write ir.Program([kernel], "kernel")'


def test_a_text_is_a_string() -> None:
    """A path or number in place of a text is reported as what it is."""
    text: Any = Path("kernel.py")
    with pytest.raises(TypeError, match=r"^the text of a kernel is a str, got \w*Path$"):
        pl.parse(text)


def test_a_keyword_that_there_is_not_is_a_type_error() -> None:
    """The error lists a decorator's keywords."""
    made: Any = pl.program
    with pytest.raises(KeywordError, match="has no argument 'strict'; it has strict_ssa") as caught:
        made(strict=True)
    assert isinstance(caught.value, TypeError)
    assert caught.value.hint == "did you mean strict_ssa=?"


@pytest.mark.parametrize(
    ("text", "sizes", "wanted"),
    [
        ("pl.load(x, [0, 0], [64, n])", {0: 32}, "pl.load(x, [0, 0], [32, n])"),
        ("pl.load(x, [0, 0], shapes=[64, 64])", {1: 8}, "pl.load(x, [0, 0], shapes=[64, 8])"),
        ("x[0:64, :]", {0: 32}, "x[0:32, :]"),
        ("x[i:i + 64, :]", {0: 32, 1: 8}, "x[i:i + 32, :8]"),
        ("x[0:64]", {1: 8}, None),
        ("pl.exp(t)", {0: 8}, None),
        ("t", {0: 8}, None),
    ],
)
def test_resized(text: str, sizes: dict[int, int], wanted: str | None) -> None:
    """A call or slice with other sizes is otherwise the user's own text."""
    assert resized(text, (2, "shapes"), sizes) == wanted


@pytest.mark.parametrize(
    ("line", "name", "wanted"),
    [
        ("total = pl.exp(t)", "total_1", "total"),
        ("x: pl.Tensor[[64], pl.FP32],", "x_0", "x"),
        ("pl.exp(t)", "_t0", "pl.exp(t)"),
        ("pl.exp(t)", "mine", "mine"),
        ("for i in pl.range(4):", "t_copy0", "t_copy0"),
        ("", "t_1", "t_1"),
    ],
)
def test_user_name(line: str, name: str, wanted: str) -> None:
    """A variable is reported by its source name, a temporary by its expression."""
    linecache.cache["named.py"] = (len(line), None, [line], "named.py")
    try:
        span = ir.Span("named.py", 1, 0, 1, len(line))
        assert user_name(ir.Var(name, ir.TileType([16, 16], DataType.FP32), span)) == wanted
    finally:
        del linecache.cache["named.py"]


CALLS = """\
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def kernel(x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    t = x[0:16]
    t = t * (
        2.0
    )
    t -= x[16 : 16 + 32 - 16, 0 : 64 - 0 + 0]
    t = pl.block.maximum(
        t, -t
    )
    t = t > 0.0
    out[0:16] = t
"""


def test_user_call() -> None:
    """A call is named by the function, operator or slice at its span."""
    function = pl.parse(CALLS)
    found = [user_call(node) for node in walk(function) if isinstance(node, Call)]
    assert found == [
        "x[0:16]",
        "'*'",
        "'-='",
        "x[...]",
        "pl.block.maximum",
        "'-'",
        "'>'",
        "out[0:16] = ...",
    ]


def test_user_call_without_a_text() -> None:
    """Without source, the name in the IR is used."""
    function = pl.parse(CALLS)
    first = next(node for node in walk(function) if isinstance(node, Call))
    call = Call(first.op, list(first.args), dict(first.kwargs), first.type, ir.Span.unknown())
    assert user_call(call) == "block.load"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("t **= 2", "t = t * t"),
        ("t **= -1", "t = pl.recip(t)"),
        ("t //= 2.0", 't = pl.cast(pl.cast(t / 2.0, pl.INT32, mode="floor"), pl.FP32)'),
        ("t **= 3", "t = t * t * t"),
        ("t **= 4", None),
    ],
)
def test_operators_that_assign(line: str, wanted: str | None) -> None:
    """For an unsupported augmented assignment, the hint is a whole statement."""
    hint = hint_for("t", f"    {line}\n")
    assert hint == (None if wanted is None else f"write {wanted}")


SAME_ROWS = """
import pypto.language as pl

M, N = pl.dynamic("M"), pl.dynamic("N")

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def half(self, x: pl.Tensor[[M, 16], pl.FP32], y: pl.Out[pl.Tensor[[M, 16], pl.FP32]]):
        y[0:1, 0:16] = pl.mul(x[0:1, 0:16], 0.5)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        a: pl.Tensor[[N, 16], pl.FP32],
        b: pl.Tensor[[8, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[OTHER, 16], pl.FP32]],
    ):
        self.half(a, out)
"""


@pytest.mark.parametrize(
    ("other", "hint"), [("M", None), ("8", "declare y: pl.Tensor[[8, 16], pl.FP32]")]
)
def test_a_symbolic_size_that_an_argument_told(other: str, hint: str | None) -> None:
    """Two parameters with one symbol: the size of the first argument applies to the second."""
    with pytest.raises(PyptoError) as caught:
        pl.parse(SAME_ROWS.replace("OTHER", other))
    assert caught.value.message == (
        f"parameter 'y' of half is Tensor[[N, 16], FP32], got Tensor[[{other}, 16], FP32]"
    )
    assert caught.value.hint == hint


ENDLESS = """
import pypto.language as pl

@pl.function
def f(n: pl.INT64) -> pl.INT64:
    while {condition}:
        n = n + 1
        {inside}
    return n
"""


@pytest.mark.parametrize("condition", ["True", "1"])
@pytest.mark.parametrize(
    ("inside", "ends"),
    [
        ("pass", False),
        ("for i in pl.range(n):\n            break", False),
        ("if n > 3:\n            break", True),
        ("for i in pl.range(n):\n            return n", True),
    ],
)
def test_loops_that_end(condition: str, inside: str, ends: bool) -> None:
    """A loop whose condition is always true needs a break of its own, or a return."""
    text = ENDLESS.format(condition=condition, inside=inside)
    if ends:
        pl.parse(text)
        return
    with pytest.raises(PyptoError) as caught:
        pl.parse(text)
    assert caught.value.slug == "endless-loop"


SWAPPED = """
import pypto.language as pl

T = pl.Tensor[[16, 16], pl.FP32]

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def half(self, x: T, y: pl.Out[T]) -> T:
        y[...] = pl.mul(x[...], 0.5)
        return y

    @pl.function(type=pl.FunctionType.InCore)
    def times(self, x: T, n: pl.INT64, y: pl.Out[T]):
        y[...] = pl.mul(x[...], pl.cast(n, pl.FP32))

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: T, b: T, n: pl.INT64, out: pl.Out[T]):
        LINE
"""


@pytest.mark.parametrize(
    ("line", "slug", "hint"),
    [
        ("self.half(out, a)", "out-swapped", "write self.half(a, out)"),
        ("out = self.half(out, a)", "out-swapped", "write self.half(a, out)"),
        ("s = self.half(x=out, y=b)", "out-swapped", "write self.half(b, out)"),
        (
            "self.times(out, n if n > 2 else 3, a)",
            "out-swapped",
            "write self.times(a, n if n > 2 else 3, out)",
        ),
        ("self.half(a, b)", "out-never-written", None),
    ],
)
def test_arguments_swapped(line: str, slug: str, hint: str | None) -> None:
    """If an output is passed as input and an input as output, the hint has them swapped."""
    with pytest.raises(PyptoError) as caught:
        pl.parse(SWAPPED.replace("LINE", line))
    assert caught.value.slug == slug
    assert hint is None or caught.value.hint == hint
