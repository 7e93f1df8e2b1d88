"""pl.parse and pl.loads: programs from text."""

from __future__ import annotations

import gc
import textwrap
from pathlib import Path

import pytest

import pypto.language as pl
from pypto._src.errors import ParserSyntaxError, UndefinedVariableError
from pypto._src.ir.equal import assert_structural_equal
from pypto._src.ir.stmts import Function, Program
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager

FUNCTION = "@pl.function\ndef f(n: pl.INT64) -> pl.INT64:\n    return n\n"
PROGRAM = f"""\
# pypto.program: class
# pypto.entry: f
# pypto.attr: arch = 'a2a3'
# pypto.attr: sizes = {{'M': 16, 'limit': 1e999}}
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore, strict_ssa=True)
    {FUNCTION.splitlines()[1].replace("(", "(self, ")}
        return n
"""


def test_function_from_text() -> None:
    """`pl` is known without an import."""
    found = pl.parse(FUNCTION)
    assert isinstance(found, Function)
    assert found.span.filename == "<string>"
    assert (found.span.begin_line, found.span.begin_column) == (2, 0)


@pytest.mark.parametrize("begin", ["", "\n"])
@pytest.mark.parametrize("text", [FUNCTION, PROGRAM], ids=["function", "program"])
def test_indented_text(text: str, begin: str) -> None:
    """A text that is indented as a whole, such as a string in a function, is dedented."""
    indented = begin + textwrap.indent(text, "        ")
    for trusted in (False, True):
        assert str(pl.parse(indented, trusted=trusted)) == str(pl.parse(text))
    with pytest.raises(IndentationError):
        pl.parse("x = 1\n" + indented)


def test_program_from_text() -> None:
    """Comments at the top give name, entry and attributes; options are read from the decorator."""
    found = pl.parse(PROGRAM)
    assert isinstance(found, Program)
    assert (found.name, found.entry) == ("class", "f")
    assert found.attrs == {"arch": "a2a3", "sizes": {"M": 16, "limit": float("inf")}}
    assert found.functions_[0].func_type is pl.FunctionType.InCore
    assert_structural_equal(pl.parse(str(found)), found)


def test_files(tmp_path: Path) -> None:
    """loads reads a file, whose name is in the spans."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    assert pl.loads(path).span.filename == str(path)
    assert isinstance(pl.loads_program(str(path)), Program)
    with pytest.raises(FileNotFoundError):
        pl.loads(tmp_path / "missing.py")


def test_python_around_kernels() -> None:
    """Statements of a trusted text run in order; annotations are never evaluated by Python."""
    text = f"""
SIZE = 4
def twice(n): return 2 * n
{FUNCTION.replace("pl.INT64)", "pl.INT64, x: pl.Tensor[[twice(SIZE), n], pl.FP32])")}
SIZE = 5
class Other: pass
"""
    found = pl.parse(text, trusted=True)
    assert isinstance(found, Function)
    assert str(found.params[1].type) == "pl.Tensor[[8, n], pl.FP32]"


def test_class_with_more_than_methods() -> None:
    """A class may have constants of its own; when executed, it is parsed like one in a file."""
    text = PROGRAM.replace("class P:\n", "class P:\n    LIMIT = 3\n").replace(
        "return n\n", "return n + self.LIMIT\n"
    )
    for trusted in (False, True):
        found = pl.parse_program(text, trusted=trusted)
        assert str(found.functions_[0]).endswith("return n + 3")


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("x = 1\n", ValueError, "defines 0 functions and programs, 1 was wanted"),
        (FUNCTION + FUNCTION.replace("f(", "g("), ValueError, "wanted: f, g"),
        ("def f(:\n", SyntaxError, ""),
        ("1 / 0\n", RuntimeError, "raises ZeroDivisionError: division by zero"),
        (FUNCTION.replace("return n", "return m"), UndefinedVariableError, "'m' is not defined"),
        (
            FUNCTION.replace("@pl.function", "@pl.function(pl.FunctionType.InCore)"),
            ParserSyntaxError,
            "the type of a function is given by name, got a FunctionType",
        ),
        ("# pypto.attr: x = y\n" + FUNCTION, ParserSyntaxError, "is not a literal: y"),
    ],
)
def test_refused(text: str, kind: type[Exception], message: str) -> None:
    """Text that is no kernel, not Python, or more than one kernel, is rejected."""
    with pytest.raises(kind) as caught:
        pl.parse(text)
    assert message in str(caught.value)


def test_function_is_no_program() -> None:
    """parse_program requires a program."""
    with pytest.raises(ValueError, match="defines the function 'f', a program was wanted"):
        pl.parse_program(FUNCTION)


def test_error_has_excerpt_of_the_text() -> None:
    """The report shows the line of the text, which is in no file."""
    with pytest.raises(UndefinedVariableError) as caught:
        pl.parse(FUNCTION.replace("return n", "return m"), "given.py")
    assert caught.value.render() == (
        "error: 'm' is not defined  [undefined-name]\n"
        " --> given.py:3:12\n"
        "  |\n"
        "3 |     return m\n"
        "  |            ^"
    )
    span = caught.value.span
    assert span is not None
    assert span["filename"] == "given.py"
    assert caught.value.source_lines is not None


KERNELS = """
import pypto.language as pl

@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def rows(
        self,
        x: pl.Tensor[[64, 128], pl.FP32],
        out: pl.Out[pl.Tensor[[64, 128], pl.FP32]],
        n: pl.INT64,
    ):
        for i in pl.range(4):
            t = pl.load(x, [i * 16, 0], [16, 128])
            tmp = pl.create_tile([16, 128], pl.FP32)
            r = pl.row_expand_sub(t, pl.row_max(t, tmp))
            if n > i:
                r = r * 2.0
            out = pl.store(r, [i * 16, 0], [16, 128], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def product(
        self,
        a: pl.Tensor[[64, 64], pl.FP16],
        b: pl.Tensor[[64, 64], pl.FP16],
        c: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ):
        left = pl.move(pl.load(a, [0, 0], [64, 64], pl.MemorySpace.Mat), pl.MemorySpace.Left)
        right = pl.move(pl.load(b, [0, 0], [64, 64], pl.MemorySpace.Mat), pl.MemorySpace.Right)
        acc = pl.matmul(left, right)
        for i in pl.range(3):
            acc = pl.matmul_acc(acc, left, right)
        c = pl.l0c_store(acc, [0, 0], [64, 64], c)
        return c

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[64, 128], pl.FP32],
        out: pl.Out[pl.Tensor[[64, 128], pl.FP32]],
        n: pl.INT64,
    ):
        y = pl.create_tensor([64, 128], pl.FP32)
        y = self.rows(x, y, n)
        out = self.rows(y, out, 3)
        return out
"""


@pytest.mark.parametrize("strategy", list(OptimizationStrategy), ids=lambda s: s.name)
def test_every_stage_is_read_back(strategy: OptimizationStrategy) -> None:
    """After each pass the printed program parses to the same program and prints the same."""
    program = pl.parse_program(KERNELS)
    for step in PassManager.get_strategy(strategy).passes:
        program = step(program)
        again = pl.parse_program(str(program))
        assert_structural_equal(again, program)
        assert str(again) == str(program), step.get_name()


TWO = """\
import pypto.language as pl


@pl.program
class Two:
    @pl.function
    def first(self, n: pl.INT64) -> pl.INT64:
        return n

    @pl.function
    def second(self, n: pl.INT64) -> pl.INT64:
        return n + 1
"""


@pytest.mark.parametrize("is_printed", [False, True], ids=["written", "printed"])
def test_two_functions_of_one_name(is_printed: bool) -> None:
    """A text with two functions of one name is rejected, printed or hand-written."""
    text = str(pl.parse_program(TWO)) if is_printed else TWO
    assert len(pl.parse_program(text).functions_) == 2
    with pytest.raises(ParserSyntaxError) as caught:
        pl.parse_program(text.replace("def second(", "def first("))
    assert caught.value.slug == "function-twice"
    first, second = (i for i, line in enumerate(text.splitlines(), 1) if "    def " in line)
    assert caught.value.location.begin_line == second
    assert [label.span.begin_line for label in caught.value.related] == [first]


def test_no_cycles() -> None:
    """What a parse leaves behind is freed at once, without the cycle collector."""
    text = textwrap.dedent(
        """
        @pl.program
        class P:
            @pl.function(type=pl.FunctionType.InCore)
            def first(self, x: pl.Tensor[[16, 16], pl.FP32], n: pl.INT64):
                for i in pl.range(n):
                    u = self.second(pl.load(x, [0, 0], [16, 16]))

            @pl.function(type=pl.FunctionType.InCore)
            def second(self, t: pl.Tile[[16, 16], pl.FP32]):
                return pl.exp(t)
        """
    )
    pl.parse(text)
    gc.collect()
    gc.disable()
    try:
        pl.parse(text)
        assert gc.collect() == 0
    finally:
        gc.enable()
