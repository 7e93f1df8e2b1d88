"""Section 3 of the API: classes of errors, their data, how they are shown, and what propagates.

The project's errors say more than the API requires. Handlers for the classes named there, of
Python or of the parser, catch them.
"""

from __future__ import annotations

import linecache
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pypto
import pypto.language as pl
from pypto import ir, passes, pypto_core
from pypto._src import errors
from pypto._src.diagnostics import Span, wants_colour
from pypto.language.parser import diagnostics as d

ROOT = Path(__file__).parents[2]
INT = ir.ScalarType(ir.INT64)
X = ir.Var("x", INT)
NOT_A_NODE: Any = INT
T = ir.Var("t", ir.TensorType([4, 8], ir.FP32))
HERE = Span("kernel.py", 3, 4, 3, 9)
HERE_DICT = {
    "filename": "kernel.py",
    "file": "kernel.py",
    "line": 3,
    "column": 4,
    "begin_line": 3,
    "begin_column": 4,
}

# ------------------------------------------------------------------------------ 3.1 the classes


def open_loop() -> Any:
    """Return the sub-builder of a loop that is not closed."""
    ib = ir.IRBuilder()
    ib.function("f").__enter__()
    return ib.for_loop(X, 0, 1, 1).__enter__()


def closed_branch() -> Any:
    ib = ir.IRBuilder()
    with ib.function("f"), ib.if_stmt(ir.ConstBool(True)) as branch:
        pass
    return branch


def unverified() -> ir.Program:
    """Return a program whose loop has a result, but no yield that provides it."""
    init = ir.IterArg("a", INT, 0)
    loop = ir.ForStmt(X, 0, 1, 1, [init], ir.SeqStmts(), [ir.Var("r", INT)])
    return ir.Program([ir.Function("f", [], [], loop)], "p")


MAPPING: list[tuple[str, Callable[[], object], type[Exception], str]] = [
    ("failed check", lambda: pypto.check(False, "no"), ValueError, "no"),
    ("unknown op", lambda: ir.get_op("block.no"), ValueError, "there is no op 'block.no'"),
    ("unknown op called", lambda: ir.create_op_call("no", []), ValueError, "no op 'no'"),
    (
        "shape",
        lambda: ir.TupleGetItemExpr(ir.MakeTuple([1]), 1),
        ValueError,
        "outside a tuple of 1",
    ),
    (
        "operands",
        lambda: ir.create_op_call("block.add", [T, T]),
        ValueError,
        "argument 'lhs' of block.add is a Tensor, a Tile was wanted",
    ),
    ("bytes", lambda: ir.deserialize(b"\x01"), ValueError, "these bytes are not serialised IR"),
    ("two functions", lambda: ir.Program([F, F], "p"), ValueError, "two functions"),
    ("kind of object", lambda: ir.add(X, None), TypeError, "got NoneType"),
    ("kind of operand", lambda: ir.add(X, T), TypeError, "scalar operators take scalars"),
    ("dtypes", lambda: ir.add(X, 1.5), TypeError, "two ints or two floats, got int64 and fp32"),
    ("kind of argument", lambda: ir.serialize(NOT_A_NODE), TypeError, "takes an IR node"),
    ("builder", lambda: ir.IRBuilder().emit(ir.BreakStmt()), RuntimeError, "outside a function"),
    ("nested", lambda: ir.IRBuilder().for_loop(X, 0, 1, 1), RuntimeError, "outside a function"),
    (
        "unimplemented",
        lambda: passes.Pass().run(ir.Program([], "p")),
        NotImplementedError,
        "",
    ),
    ("index", lambda: closed_branch().output(2), IndexError, "output 2 of a block with 0 results"),
    (
        "assertion",
        lambda: open_loop().get_result(),
        AssertionError,
        "when the with block has ended",
    ),
    ("invariant", lambda: ir.OpStmts([ir.ReturnStmt()]), pypto.InternalError, "got ReturnStmt"),
    (
        "verification",
        lambda: ir.IRVerifier.create_default().verify_or_throw(unverified()),
        Exception,
        "IR verification report",
    ),
    (
        "property",
        lambda: passes.verify_properties(
            passes.IRPropertySet(passes.IRProperty.SSAForm), unverified(), "mine"
        ),
        Exception,
        "verification failed after mine",
    ),
]
F = ir.Function("f", [], [], ir.SeqStmts())


@pytest.mark.parametrize(
    ("call", "kind", "text"), [row[1:] for row in MAPPING], ids=[row[0] for row in MAPPING]
)
def test_core_mapping(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    """Each cause raises the Python class that the API names, with what was found."""
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_internal_error() -> None:
    """`InternalError` is a RuntimeError of the top package."""
    cls = pypto.InternalError
    assert (cls.__module__, cls.__name__, cls.__bases__) == (
        "pypto",
        "InternalError",
        (RuntimeError,),
    )


CORE_CLASSES = [
    (errors.OpError, pypto_core.ValueError),
    (errors.OpTypeError, pypto_core.TypeError),
    (errors.SerializeError, pypto_core.ValueError),
    (errors.VerificationError, pypto_core.ValueError),
    (errors.PassError, pypto_core.ValueError),
    (errors.EvaluationError, pypto_core.RuntimeError),
    (errors.CallError, pypto_core.TypeError),
    (errors.ParserError, pypto_core.Error),
    (errors.InternalError, pypto_core.RuntimeError),
]


@pytest.mark.parametrize(("raised", "caught"), CORE_CLASSES)
def test_native_names_catch(raised: type[Exception], caught: type[Exception]) -> None:
    """A program that catches the native module's classes catches ours."""
    with pytest.raises(caught, match="what was found"):
        raise raised("what was found")


def test_every_user_error_is_a_pypto_error() -> None:
    """All classes of user errors have one base, a slug of their own and a docstring."""
    found = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Exception)]
    ours = [c for c in found if c not in (errors.InternalError, errors.PyptoWarning)]
    assert [c.__name__ for c in ours if not issubclass(c, errors.PyptoError)] == []
    assert [c.__name__ for c in ours if not c.__doc__] == []


# ------------------------------------------------------------------------- 3.2 the parser errors

CODES = [
    ("UNSUPPORTED_STATEMENT", "E001"),
    ("INVALID_ASSIGNMENT", "E002"),
    ("INVALID_LOOP_TARGET", "E003"),
    ("INVALID_RANGE_USAGE", "E004"),
    ("MISSING_RANGE_CALL", "E005"),
    ("TUPLE_UNPACKING_ERROR", "E006"),
    ("ITER_ARG_MISMATCH", "E007"),
    ("MISSING_TYPE_ANNOTATION", "E100"),
    ("INVALID_TYPE_ANNOTATION", "E101"),
    ("UNSUPPORTED_TYPE", "E102"),
    ("INCOMPLETE_TYPE", "E103"),
    ("TENSOR_TYPE_ERROR", "E104"),
    ("DTYPE_ERROR", "E105"),
    ("UNDEFINED_VARIABLE", "E200"),
    ("SSA_VIOLATION", "E201"),
    ("SCOPE_ISOLATION_ERROR", "E202"),
    ("UNKNOWN_OPERATION", "E300"),
    ("UNSUPPORTED_OPERATION", "E301"),
    ("INVALID_OPERATION_ARGS", "E302"),
    ("UNSUPPORTED_BINARY_OP", "E303"),
    ("UNSUPPORTED_UNARY_OP", "E304"),
    ("UNSUPPORTED_COMPARISON", "E305"),
]
CATEGORIES = [("SYNTAX", "E0"), ("TYPE", "E1"), ("NAME", "E2"), ("OPERATION", "E3")]


def test_codes_and_categories() -> None:
    """The complete tables of codes and categories; a code begins with its category."""
    assert [(code.name, code.value) for code in d.ErrorCode] == CODES
    assert [(category.name, category.value) for category in d.ErrorCategory] == CATEGORIES
    begins = [code.value.startswith(code.category.value) for code in d.ErrorCode]
    assert begins == [True] * len(CODES)
    assert (str(d.ErrorCode.DTYPE_ERROR), d.ErrorCode.DTYPE_ERROR == "E105") == ("E105", True)


CLASS_CODES: list[tuple[type[BaseException], str | None]] = [
    (d.ParserSyntaxError, "E001"),
    (d.ParserTypeError, "E101"),
    (d.UndefinedVariableError, "E200"),
    (d.SSAViolationError, "E201"),
    (d.UnsupportedFeatureError, "E301"),
    (d.InvalidOperationError, "E300"),
    (d.ScopeIsolationError, None),
    (d.ParserError, None),
    (ValueError, None),
    (SystemExit, None),  # has an attribute `code`, which means something else
]


@pytest.mark.parametrize(("cls", "code"), CLASS_CODES)
def test_code_of_a_class(cls: type[BaseException], code: str | None) -> None:
    """The code of each class of parser errors; other classes have none."""
    assert d.get_error_code(cls) == code


@pytest.mark.parametrize("cls", [cls for cls, _ in CLASS_CODES[:7]])
def test_parser_classes(cls: type[d.ParserError]) -> None:
    """Each is a direct child of ParserError, with message, span, hint, note and lines."""
    assert (cls.__bases__, issubclass(d.ParserError, Exception)) == ((d.ParserError,), True)
    error = cls("what", HERE, "do this", "and know this", ["a\n", "b\n", "c\n"])
    assert (error.message, str(error), error.args) == ("what", "what", ("what",))
    assert error.span == HERE_DICT
    assert (error.hint, error.note, error.source_lines) == (
        "do this",
        "and know this",
        ["a\n", "b\n", "c\n"],
    )
    bare = cls("what")
    assert (bare.span, bare.hint, bare.note, bare.source_lines) == (None, None, None, None)
    named = cls(message="m", span=HERE, hint="h", note="n", source_lines=["l"])
    assert (named.message, named.hint, named.note) == ("m", "h", "n")


SPANS: list[tuple[str, Any, dict[str, Any] | None]] = [
    ("span", HERE, HERE_DICT),
    ("none", None, None),
    ("unknown", Span.unknown(), None),
    ("dict", HERE_DICT, HERE_DICT),
    ("short dict", {"file": "kernel.py", "line": 3, "column": 4}, HERE_DICT),
    (
        "empty dict",
        {},
        {
            "filename": "",
            "file": "",
            "line": -1,
            "column": -1,
            "begin_line": -1,
            "begin_column": -1,
        },
    ),
]


@pytest.mark.parametrize(("given", "span"), [r[1:] for r in SPANS], ids=[r[0] for r in SPANS])
def test_span_is_a_dict(given: Any, span: dict[str, Any] | None) -> None:
    """A location given as Span, dict or not at all reads back as a dict, or None."""
    assert d.ParserError("m", given).span == span
    again = d.SSAViolationError("m", HERE, previous_span=given)
    assert (again.previous_span, again.span) == (span, HERE_DICT)


def test_wrong_span() -> None:
    """Anything else is not a location."""
    with pytest.raises(TypeError, match="a location is a Span, a dict or None, got str"):
        d.ParserError("m", "kernel.py:3")  # pyright: ignore[reportArgumentType]


def test_errors_are_pickled() -> None:
    """An error that is passed between processes keeps its data."""
    error = d.SSAViolationError("m", HERE, hint="h", previous_span=Span("k.py", 1, 0))
    found = pickle.loads(pickle.dumps(error))
    assert (type(found), str(found), found.hint) == (d.SSAViolationError, "m", "h")
    assert (found.span, found.previous_span) == (error.span, error.previous_span)
    assert (found.span["line"], found.previous_span["line"]) == (3, 1)


HEAD = "@pl.function\ndef f(x: pl.Tensor[[4, 8], pl.FP32], n: pl.INT64):\n"
CAUSES: list[tuple[str, str, type[d.ParserError], str, int, int]] = [
    # cause, body, class, text in the message, line and column of the location
    (
        "no pl.range",
        "for i in [1]:\n        pass",
        d.ParserSyntaxError,
        "iterates over pl.range",
        3,
        13,
    ),
    ("after return", "return n\n    y = n", d.ParserSyntaxError, "never runs", 4, 4),
    ("constant", "return 'text'", d.ParserTypeError, "the str 'text'", 3, 11),
    ("arguments", "y = pl.load(x)", d.ParserTypeError, "misses its argument 'offsets'", 3, 8),
    ("operand", "y = pl.load(n, [0, 0], [4, 8])", d.ParserTypeError, "is a Scalar", 3, 16),
    ("unknown name", "y = m", d.UndefinedVariableError, "'m' is not defined", 3, 8),
    ("two names", "y = n\n    y = 1", d.SSAViolationError, "assigned a second time", 4, 4),
    (
        "try",
        "try:\n        pass\n    finally:\n        pass",
        d.UnsupportedFeatureError,
        "try",
        3,
        4,
    ),
    ("unknown op", "y = pl.nothing(x)", d.InvalidOperationError, "there is no pl.nothing", 3, 8),
    ("op on scalars", "y = pl.exp(n)", d.InvalidOperationError, "got a Scalar", 3, 8),
    ("operator", "y = n + 'a'", d.InvalidOperationError, "there is no '+' between", 3, 8),
]


@pytest.mark.parametrize(
    ("body", "cls", "text", "line", "column"), [r[1:] for r in CAUSES], ids=[r[0] for r in CAUSES]
)
def test_causes(body: str, cls: type[d.ParserError], text: str, line: int, column: int) -> None:
    """Each mistake in a kernel has its class, its location, and all lines of the source."""
    head = HEAD.replace("@pl.function", "@pl.function(strict_ssa=True)")
    source = f"{head}    {body}\n"
    with pytest.raises(cls) as caught:
        pl.parse(source, "kernel.py")
    error = caught.value
    assert text in error.message
    assert error.span is not None
    assert (error.span["file"], error.span["line"], error.span["column"]) == (
        "kernel.py",
        line,
        column,
    )
    assert error.source_lines == source.splitlines(keepends=True)


PROGRAM = """
@pl.program
class P:
    @pl.function
    def f(self, n: pl.INT64) -> pl.INT64:
        y: pl.INT64 = self.g(n)
        return y
"""


def test_unknown_method() -> None:
    """An unknown ``self.x`` is an undefined name."""
    with pytest.raises(d.UndefinedVariableError, match="the program has no function 'g'"):
        pl.parse(PROGRAM)


def test_scalar_inout() -> None:
    """A scalar parameter cannot be InOut (document 003)."""
    with pytest.raises(d.ParserTypeError) as caught:
        pl.parse("@pl.function\ndef f(n: pl.InOut[pl.Scalar[pl.INT64]]): pass\n")
    assert d.get_error_code(type(caught.value)) == "E101"


def test_second_assignment_knows_the_first() -> None:
    """Under strict_ssa the error has both locations."""
    with pytest.raises(d.SSAViolationError) as caught:
        pl.parse("@pl.function(strict_ssa=True)\ndef f(n: pl.INT64):\n    y = n\n    y = 1\n")
    previous, span = caught.value.previous_span, caught.value.span
    assert previous is not None
    assert span is not None
    assert (previous["line"], previous["column"], span["line"]) == (3, 4, 4)
    assert previous.keys() == span.keys() == HERE_DICT.keys()


# --------------------------------------------------------------------------------- 3.3 rendering

LINES = ["x = 1", "y = 2", "    z = a + b"]
RENDERED: list[tuple[str, d.ParserError, str]] = [
    ("message alone", d.ParserError("no place"), "error: no place  [parser]"),
    (
        "place, hint and note",
        d.UndefinedVariableError("'a' is not defined", Span("k.py", 3, 8, 3, 9), "write b",
                                 "it is late", LINES),
        "error: 'a' is not defined  [undefined-name]\n"
        " --> k.py:3:9\n"
        "  |\n"
        "3 |     z = a + b\n"
        "  |         ^\n"
        "  = hint: write b\n"
        "  = note: it is late",
    ),
    (
        "no source",
        d.ParserTypeError("wrong", Span("gone.py", 3, 8)),
        "error: wrong  [type]\n --> gone.py:3:9",
    ),
    (
        "second place",
        d.SSAViolationError("'x' is assigned a second time", Span("k.py", 3, 4, 3, 5),
                            source_lines=LINES, previous_span=Span("k.py", 1, 0, 1, 1)),
        "error: 'x' is assigned a second time  [ssa-redefinition]\n"
        " --> k.py:3:5\n"
        "  |\n"
        "3 |     z = a + b\n"
        "  |     ^\n"
        "1 | x = 1\n"
        "  | - first assigned here",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("error", "text"), [r[1:] for r in RENDERED], ids=[r[0] for r in RENDERED])
def test_rendering(error: d.ParserError, text: str) -> None:
    """Header, location, line with caret, second location, hint and note; colour changes no text."""
    assert d.ErrorRenderer(use_color=False).render(error) == text
    coloured = d.ErrorRenderer(use_color=True).render(error)
    assert coloured != text
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == text


class Terminal:
    """A stream that says whether it is a terminal."""

    def __init__(self, yes: bool) -> None:
        self.yes = yes

    def isatty(self) -> bool:
        return self.yes


COLOUR: list[tuple[bool, dict[str, str], bool]] = [
    (True, {}, True),
    (False, {}, False),
    (True, {"NO_COLOR": "1"}, False),
    (True, {"TERM": "dumb"}, False),
    (False, {"FORCE_COLOR": "1"}, True),
    (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True),
    (False, {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
    (True, {"NO_COLOR": ""}, True),  # an empty value counts as unset
    (False, {"FORCE_COLOR": ""}, False),
]


@pytest.mark.parametrize(("terminal", "environment", "colour"), COLOUR)
def test_when_there_is_colour(
    terminal: bool, environment: dict[str, str], colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal gets colour unless the environment forbids it; FORCE_COLOR wins."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stderr", Terminal(terminal))
    assert wants_colour() is colour
    assert ("\x1b[" in d.ErrorRenderer().render(d.ParserError("m"))) is colour
    assert d.ErrorRenderer().use_color is colour


# ------------------------------------------------------------------------------------- 3.4 hook

KERNEL = "import pypto.language as pl\n@pl.function\ndef f(n: pl.INT64):\n    y = m\n"
SHOWN = (
    "error: 'm' is not defined  [undefined-name]\n"
    " --> kernel.py:4:9\n"
    "  |\n"
    "4 |     y = m\n"
    "  |         ^\n"
)


def run(folder: Path, code: str, **environment: str) -> str:
    """Return what running ``code`` as kernel.py writes to standard error."""
    (folder / "kernel.py").write_text(code, encoding="utf-8")
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "kernel.py"],
        env={**os.environ, "PYTHONPATH": path, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    return done.stderr.replace(f"{folder}{os.sep}", "")


BACKTRACE: list[tuple[dict[str, str], str, str]] = [
    ({}, SHOWN, ""),
    ({"PTO_BACKTRACE": "0"}, SHOWN, ""),
    ({"PTO_BACKTRACE": "1"}, SHOWN, "Traceback (most recent call last):\n"),
    ({"PYPTO_DEBUG": "1"}, SHOWN, "Traceback (most recent call last):\n"),
    ({"PTO_BACKTRACE": "2"}, SHOWN, "KnobError: PTO_BACKTRACE is '2'; it takes 0 or 1\n"),
]


@pytest.mark.parametrize(("environment", "begin", "more"), BACKTRACE)
def test_hook(environment: dict[str, str], begin: str, more: str, tmp_path: Path) -> None:
    """An uncaught error is shown as its report; PTO_BACKTRACE adds the traceback, or is invalid."""
    shown = run(tmp_path, KERNEL, **environment)
    assert shown.startswith(begin)
    assert more in shown
    assert (shown == begin) is (more == "")


def test_hook_colours(tmp_path: Path) -> None:
    """FORCE_COLOR also colours the report."""
    assert run(tmp_path, KERNEL, FORCE_COLOR="1").startswith("\x1b[1;31merror\x1b[0m: ")


def test_hook_passes_other_errors_on(tmp_path: Path) -> None:
    """Other errors go to the previously installed hook."""
    code = (
        "import sys\n"
        "sys.excepthook = lambda kind, *rest: print('mine', kind.__name__, file=sys.stderr)\n"
        "import pypto.language\n"
        "1 / 0\n"
    )
    assert run(tmp_path, code) == "mine ZeroDivisionError\n"


# -------------------------------------------------------------------------- 3.5 what propagates


class Odd:
    """An object captured by a kernel that raises an unexpected exception."""

    @property
    def size(self) -> int:
        raise KeyError("size")


def define(code: str, name: str) -> dict[str, Any]:
    """Execute ``code`` as the file ``name`` that kernels can be read from."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    names: dict[str, Any] = {"pl": pl, "odd": Odd(), "T": T}
    exec(compile(code, name, "exec"), names)
    return names


FUNCTION = "@pl.function\ndef f(n: pl.INT64) -> pl.INT64:\n    return n + odd.size\n"
METHOD = """\
@pl.program
class P:
    @pl.function
    def f(self, n: pl.INT64) -> pl.INT64:
        return n + odd.size
"""
ODD = "class Odd:\n    size = property(len)\nodd = Odd()\n"
BAD_OP = HEAD + "    y = pl.load(x)\n"
BAD_OP_METHOD = """\
@pl.program
class P:
    @pl.function
    def f(self, x: pl.Tensor[[4, 8], pl.FP32]):
        y = pl.load(x)
"""
ESCAPES: list[tuple[str, Callable[[], object], tuple[type[Exception], ...], str]] = [
    (
        "@pl.function wraps",
        lambda: define(FUNCTION, "odd_function.py"),
        (d.ParserSyntaxError,),
        "parsing function 'f' raises KeyError: 'size'",
    ),
    (
        "@pl.program does not",
        lambda: define(METHOD, "odd_program.py"),
        (KeyError,),
        "'size'",
    ),
    (
        "pl.parse wraps",
        lambda: pl.parse(ODD + FUNCTION, trusted=True),
        (RuntimeError,),
        "running <string>:6:4 raises TypeError: object of type 'Odd' has no len()",
    ),
    ("pl.parse, a statement", lambda: pl.parse("1 / 0\n", trusted=True), (RuntimeError,),
     "running <string> raises ZeroDivisionError: division by zero"),
    ("pl.parse, no Python", lambda: pl.parse("def f(:\n"), (SyntaxError,), "invalid syntax"),
    ("pl.parse, nothing", lambda: pl.parse("x = 1\n"), (ValueError,),
     "defines 0 functions and programs, 1 was wanted"),
    ("pl.parse, two", lambda: pl.parse(f"{HEAD}    return\n{HEAD.replace('f(', 'g(')}    return\n"),
     (ValueError,), "defines 2 functions and programs, 1 was wanted: f, g"),
    ("pl.parse_program", lambda: pl.parse_program(f"{HEAD}    return\n"), (ValueError,),
     "defines the function 'f', a program was wanted"),
    ("pl.loads", lambda: pl.loads("no-such-file.py"), (FileNotFoundError,), "no-such-file.py"),
    ("an op in @pl.function", lambda: define(BAD_OP, "bad_op.py"),
     (d.ParserSyntaxError, d.ParserTypeError, ValueError), "pl.load misses its argument 'offsets'"),
    ("an op in @pl.program", lambda: define(BAD_OP_METHOD, "bad_method.py"),
     (d.ParserError, ValueError, errors.OpError), "pl.load misses its argument 'offsets'"),
    ("an op in pl.parse", lambda: pl.parse(BAD_OP), (d.ParserError, ValueError),
     "pl.load misses its argument 'offsets'"),
    ("no source", lambda: exec("@pl.function\ndef f(): pass\n", {"pl": pl}), (d.ParserSyntaxError,),
     "the source text of 'f' (<string>) cannot be read"),
    ("no function", lambda: pl.function(NOT_A_NODE), (d.ParserSyntaxError,),
     "a function was wanted, got a ScalarType"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "kinds", "text"), [r[1:] for r in ESCAPES], ids=[r[0] for r in ESCAPES]
)
def test_what_escapes(
    call: Callable[[], object], kinds: tuple[type[Exception], ...], text: str
) -> None:
    """What parsing raises is of the class, or of all the classes, that its caller expects."""
    with pytest.raises(Exception, match=re.escape(text)) as caught:
        call()
    assert [kind.__name__ for kind in kinds if not isinstance(caught.value, kind)] == []


def test_wrapped_error_has_cause_and_place() -> None:
    """A wrapping error points at the statement, and keeps the original exception as its cause."""
    with pytest.raises(d.ParserSyntaxError) as caught:
        define(FUNCTION, "odd_again.py")
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.span is not None
    assert (caught.value.span["file"], caught.value.span["line"]) == ("odd_again.py", 3)


def test_error_of_a_program_says_where() -> None:
    """An error that ``@pl.program`` lets through has the statement's location as a note."""
    with pytest.raises(KeyError) as caught:
        define(METHOD, "odd_method.py")
    assert caught.value.__notes__ == ["raised while odd_method.py, line 5, was parsed"]


def test_text_that_is_no_longer_python() -> None:
    """A file that was changed after it was run, and is no longer Python, is a ParserSyntaxError."""
    code = METHOD.replace("n + odd.size", '"""\nx\n"""')
    names = {"pl": pl}
    linecache.cache["changed.py"] = (
        1,
        None,
        [*code.splitlines(keepends=True), "def (\n"],
        "changed.py",
    )
    with pytest.raises(
        d.ParserSyntaxError, match=r"the text of changed\.py is not valid Python"
    ) as caught:
        exec(compile(code, "changed.py", "exec"), names)
    assert caught.value.span is not None
    assert caught.value.span["line"] == 8


@pytest.mark.parametrize("kind", ["int", "array", "UnknownType", "ndarray", "FP32", "f16", "Int"])
def test_article_an(kind: str) -> None:
    """Types whose names are spoken with a vowel have the article "an" in messages."""
    assert errors.with_article(kind) == f"an {kind}"


@pytest.mark.parametrize("kind", ["str", "UnaryExpr", "UINT8", "Union", "bf16", "Function", "Name"])
def test_article_a(kind: str) -> None:
    """All others have "a", also those with a vowel that is spoken as "you"."""
    assert errors.with_article(kind) == f"a {kind}"
