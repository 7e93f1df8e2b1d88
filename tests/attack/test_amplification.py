"""Short texts that demand much memory or time: each is rejected before either is spent.

Every text is read in its own process with little memory, so that a reader that allocates first
fails here and nowhere else.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pypto.language as pl
from pypto._src import cli
from pypto._src.errors import PyptoError
from tests import effort

MEMORY_BYTES = 1 << 30
"""The most that a reader may map, including Python and all its imports."""

READERS = {
    "kernel": "import pypto.language as pl; pl.parse(text, 'given')",
    "ir": "from pypto import ir; ir.parse(text, 'given')",
    "statement": "from pypto import ir; ir.from_statement_text(text, 'given')",
    "pto": "from pypto._src.dialect import reader; reader.parse(text, 'given')",
}
CHILD = f"""
import resource, sys
try:
    resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, {MEMORY_BYTES}))
except (ImportError, ValueError, OSError):
    pass
from pypto._src.errors import PyptoError
text = sys.stdin.read()
try:
    READER
except (PyptoError, SyntaxError) as error:
    print(error.render() if isinstance(error, PyptoError) else error)
"""


def report(reader: str, text: str) -> str:
    """Return what a reader reports on a text, with little memory; nothing if it accepts it."""
    command = [sys.executable, "-c", CHILD.replace("READER", READERS[reader])]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def kernel(statement: str, before: str = "") -> str:
    return f"{before}\n@pl.function\ndef f(n: pl.INT64):\n    x = {statement}\n"


def doubling(first: str, step: str, count: int = 60) -> str:
    """Return constants each of which uses the previous one twice."""
    lines = [
        f"A0 = {first}",
        *(f"A{i} = {step.replace('A', f'A{i - 1}')}" for i in range(1, count)),
    ]
    return "\n".join(lines)


INLINES = "\n".join(
    [
        "@pl.inline\ndef g0(n):\n    return n + 1\n",
        *(
            f"@pl.inline\ndef g{i}(n):\n    return g{i - 1}(n) + g{i - 1}(n)\n"
            for i in range(1, 45)
        ),
    ]
)
LARGE = "too large"
DEEP = r"too deep|too many nested|\[too-deep\]"
KERNELS = {
    "a power": (kernel("10 ** 10 ** 10"), LARGE),
    "a product of powers": (kernel(f"{' * '.join(['10 ** 1000'] * 50)}"), LARGE),
    "a shift": (kernel("1 << 10 ** 12"), LARGE),
    "a list": (kernel("[0] * 10 ** 9"), LARGE),
    "a list of lists": (kernel("[[[0] * 900] * 900] * 900"), LARGE),
    "a list on the right": (kernel("10 ** 9 * [0]"), LARGE),
    "a text": (kernel("'a' * 10 ** 10"), LARGE),
    "bytes": (kernel("b'a' * 10 ** 10"), LARGE),
    "a wide format": (kernel("'%9999999999d' % 1"), LARGE),
    "a format with a width": (kernel("'%*d' % (10 ** 10, 1)"), LARGE),
    "pow": (kernel("pow(10, 10 ** 10)"), LARGE),
    "pow by names": (kernel("pow(exp=10 ** 10, base=10)"), LARGE),
    "round": (kernel("round(5, -(10 ** 10))"), LARGE),
    "a list of a range": (kernel("len(list(range(10 ** 12)))"), LARGE),
    "a sum of a range": (kernel("sum(range(10 ** 12))"), LARGE),
    "a search in a range": (kernel("0.5 in range(10 ** 12)"), LARGE),
    "constants: squares": (kernel("n", doubling("3", "A * A")), LARGE),
    "constants: sums of lists": (kernel("n", doubling("[0]", "A + A")), LARGE),
    "constants: lists of lists": (kernel("n", doubling("[0]", "[A, A]")), LARGE),
    "constants: dicts of dicts": (kernel("n", doubling("{1: 0}", "{1: A, 2: A}")), LARGE),
    "constants: texts": (kernel("n", doubling("'ab'", "A + A")), LARGE),
    "constants: sizes": (kernel("n", doubling("pl.dynamic('N')", "A * A")), LARGE),
    "constants: sizes in dicts": (
        kernel("n", doubling("{1: pl.dynamic('N')}", "{1: A[1] * A[1]}")),
        LARGE,
    ),
    "inline functions": (kernel("g44(n)", INLINES), "expand more than 16384 times"),
    "brackets": (kernel("(" * 100_000 + "n" + ")" * 100_000), DEEP),
    "signs": (kernel("-" * 100_000 + "n"), DEEP),
    "attributes": (kernel("pl" + ".a" * 100_000), DEEP),
    "calls": (kernel("f(" * 90 + "n" + ")" * 90), "not defined"),
    "digits": (kernel("9" * 10_000), "4300 digits"),
    "blocks": (
        "def f():\n" + "".join(" " * i + "if n:\n" for i in range(1, 120)) + " " * 120 + "pass",
        "too many levels|too deep|defines 0",
    ),
}


@pytest.mark.parametrize("name", effort.part(KERNELS, 2))
def test_kernels(name: str) -> None:
    """Values computed by a text stay small; the error says what is too large."""
    text, wanted = KERNELS[name]
    assert re.search(wanted, report("kernel", text))


def test_what_is_small_is_computed() -> None:
    """The limits are far above what shapes and constants need."""
    text = kernel(
        "n + SIZES[1] + len(SHAPE) + pow(2, 40)", "SIZES = [1 << 40, 7 ** 20]\nSHAPE = [0] * 9"
    )
    assert "n + 79792266297612001 + 9 + 1099511627776" in str(pl.parse(text))


def function(body: str) -> str:
    return f"func.func private @f({body})"


PTO = {
    "one number for many": ("%0 = arith.constant dense<1> : tensor<500000000xi64>", 32),
    "one float for many": ("%0 = arith.constant dense<1.0> : vector<500000000xf32>", 34),
    "one complex number": ("%0 = arith.constant dense<(1,1)> : tensor<500000000xcomplex<i64>>", 36),
    "bytes for many": ('%0 = arith.constant dense<"0x01"> : tensor<5000000000xi8>', 37),
    "more than 64 bits": (f"%0 = arith.constant dense<1> : tensor<{'99999999999x' * 9}i64>", 32),
    "many in all": (
        "\n".join(f"%{i} = arith.constant dense<1> : tensor<1000000xi8>" for i in range(500)),
        32,
    ),
    "a wide integer": ("%0 = arith.constant 1 : i99999999999", 25),
    "a wide unsigned integer": (function("ui16777215"), 22),
    "many wide integers": ("%0 = arith.constant dense<1> : tensor<1000xi16777215>", 44),
    "many dimensions": (function(f"tensor<{'9x' * 20_000}i32>"), 29),
    "many dimensions of a vector": (function(f"vector<{'9x' * 20_000}i32>"), 29),
    "nested types": (function(f"{'tuple<' * 50_000}i32{'>' * 50_000}"), None),
    "nested attributes": (
        f"func.func private @f() attributes {{a = {'[' * 50_000}{']' * 50_000}}}",
        None,
    ),
    "nested maps": (
        f"func.func private @f() attributes {{a = affine_map<(d) -> ({'(' * 50_000}d)>}}",
        None,
    ),
    "nested regions": ("scf.if %a {" * 20_000, None),
    "a long number": (f"%0 = arith.constant {'9' * 10_000} : i64", None),
    "a long hexadecimal number": (f"%0 = arith.constant 0x{'f' * 100_000} : f32", None),
    "many results": ("%0:4000000000 = arith.constant 1 : i32", None),
}


@pytest.mark.parametrize("name", effort.part(PTO, 2))
def test_pto(name: str) -> None:
    """A `.pto` text is rejected at the type that asks for more than a kernel can need."""
    text, column = PTO[name]
    found = report("pto", text)
    assert "[pto-syntax]" in found
    place = re.search(r"--> given:(\d+):(\d+)", found)
    assert place is not None
    if column is not None:
        assert int(place[2]) == column


def test_pto_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`pypto verify` reports it as a user error, with line and caret."""
    path = tmp_path / "splat.pto"
    path.write_text("// one number\n%0 = arith.constant dense<1> : tensor<500000000xi64>\n")
    assert cli.main(["verify", str(path)]) == 1
    error = capsys.readouterr().err
    assert error.splitlines()[1:] == [
        f" --> {path}:2:32",
        "  |",
        "2 | %0 = arith.constant dense<1> : tensor<500000000xi64>",
        "  |                                ^^^^^^",
    ]


def test_dense_literals_of_a_kernel_are_read() -> None:
    """Dense literals that are written out, or are small splats, are accepted."""
    splat = "%0 = arith.constant dense<1> : tensor<64x64xi32>"
    text = f"{splat}\n%1 = arith.constant dense<[1, 2]> : vector<2xi8>"
    assert report("pto", text) == ""


STATEMENTS = {
    "nested types": "tuple<" * 20_000 + "fp32" + ">" * 20_000,
    "a long number": "tensor<" + "9" * 10_000 + "xfp32>",
    "a large number": "tensor<[99999999999999999999999, 4], fp32>",
    "nested brackets": "(" * 50_000,
}


@pytest.mark.parametrize("kind", STATEMENTS.values(), ids=STATEMENTS)
def test_statement_form(kind: str) -> None:
    """Types of the statement form that are too deep or too large are rejected."""
    text = f"program.module @m {{ func.func @f(%x: {kind}) {{ statement.return }} }}"
    assert "error: " in report("statement", text)


IR_TEXTS = {
    "an attribute": f"# pypto.program: P\n# pypto.attr: a = {'[' * 50_000}{']' * 50_000}\n",
    "braces without end": f"# pypto.program: P\n# pypto.attr: a = {'{' * 150}\n",
    "a name of many signs": f"# pypto.program: 'a' {'-' * 100_000}'b'\n",
    "a repeated list": "# pypto.program: P\n# pypto.attr: a = [0] * 10 ** 9\n",
    "a long number": f"# pypto.program: P\n# pypto.attr: a = {'9' * 10_000}\n",
}


@pytest.mark.parametrize("reader", ["ir", "kernel"])
@pytest.mark.parametrize("text", IR_TEXTS.values(), ids=IR_TEXTS)
def test_ir_text(text: str, reader: str) -> None:
    """Attributes of printed programs are literals; computed or too deep ones are rejected."""
    whole = f"{text}@pl.program\nclass P:\n    @pl.function\n    def f(self):\n        pass\n"
    assert report(reader, whole)


def test_readers_are_bounded_in_the_process() -> None:
    """The errors are of our classes, which callers catch."""
    with pytest.raises(PyptoError):
        pl.parse(KERNELS["a list"][0])
