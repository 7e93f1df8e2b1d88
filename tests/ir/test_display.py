"""Rich display: highlighted HTML, the tree dump, and JSON."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pypto import ir
from pypto._src.ir.inspect.highlight import MAX_LINES, to_html
from tests.ir.samples import FP32, INT, assign, function, kernel, loop_sum, program, var

x, y = var("x"), var("y")
SPAN = ir.Span("k.py", 3, 4)

# --------------------------------------------------------------------------------------------
# HTML
# --------------------------------------------------------------------------------------------

KEYWORD = "color:#a14fc4"
TYPE = "color:#1e8f8f"
OP = "color:#2f7fd0"
NUMBER = "color:#b8642c"


def html(node: Any) -> str:
    return node._repr_html_()


def spelled(style: str, text: str) -> str:
    return f'<span style="{style}">{text}</span>'


def test_statement_in_a_notebook() -> None:
    """A statement is one preformatted element; types and numbers are coloured."""
    type_text = f"{spelled(TYPE, 'pl.Scalar')}[{spelled(TYPE, 'pl.INT64')}]"
    wanted = f'<pre class="pypto-ir">x: {type_text} = y + {spelled(NUMBER, "1")}</pre>'
    assert html(assign(x, y + 1)) == wanted


def test_function_in_a_notebook() -> None:
    """Decorators, keywords, the defined name and ops are coloured; arrows are escaped."""
    assert html(function([], ir.EvalStmt(ir.Call(ir.Op("a.b"), [])), results=[INT])) == (
        '<pre class="pypto-ir"><span style="color:#b5852b">@pl.function</span>\n'
        f'{spelled(KEYWORD, "def")} <span style="{OP};font-weight:bold">f</span>() -&gt; '
        f"{spelled(TYPE, 'pl.Scalar')}[{spelled(TYPE, 'pl.INT64')}]:\n"
        f"    {spelled(OP, 'pl.a.b')}()</pre>"
    )


def test_program_in_a_notebook() -> None:
    """The header comment of a program is coloured as a comment."""
    first = html(program(kernel())).splitlines()[0]
    assert first == (
        '<pre class="pypto-ir"><span style="color:#7f848e;font-style:italic">'
        "# pypto.program: P</span>"
    )


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("'<b>'", spelled("color:#4c9141", "'&lt;b&gt;'")),
        (r"'it\'s' + x", spelled("color:#4c9141", r"'it\'s'") + " + x"),
        ("'open", "'open"),
        ("1e-05 - 2", f"{spelled(NUMBER, '1e-05')} - {spelled(NUMBER, '2')}"),
        ("x1 + 0x1f", f"x1 + {spelled(NUMBER, '0x1f')}"),
        ("not forest", f"{spelled(KEYWORD, 'not')} forest"),
        ("self.helper(x)", "self.helper(x)"),
        ("# <a> 'b'", spelled("color:#7f848e;font-style:italic", "# &lt;a&gt; 'b'")),
    ],
)
def test_tokens(text: str, inner: str) -> None:
    """Each kind of token is found, and no text is lost or taken for markup."""
    assert to_html(text) == f'<pre class="pypto-ir">{inner}</pre>'


def test_long_text_is_cut() -> None:
    """A browser gets a limited number of lines, and the number omitted."""
    shown = to_html("x\n" * (MAX_LINES + 4)).splitlines()
    assert len(shown) == MAX_LINES + 1
    assert "# ... and 5 more lines</span></pre>" in shown[-1]


def test_types_are_no_pages() -> None:
    """Types have no HTML of their own: a notebook shows their text."""
    assert not hasattr(INT, "_repr_html_")


# --------------------------------------------------------------------------------------------
# Tree
# --------------------------------------------------------------------------------------------


def test_tree_of_a_function() -> None:
    """One line per node; shared objects are numbered and shown in full once."""
    assert ir.dump_tree(loop_sum()) == (
        "Function f param_directions=[ParamDirection.In] return_types=[pl.Scalar[pl.INT64]] "
        "func_type=FunctionType.Opaque\n"
        "  params[0]: Var n #1 type=pl.Scalar[pl.INT64]\n"
        "  body: SeqStmts\n"
        "    stmts[0]: AssignStmt\n"
        "      var: Var start #2 type=pl.Scalar[pl.INT64]\n"
        "      value: ConstInt type=pl.Scalar[pl.INT64] value=0\n"
        "    stmts[1]: ForStmt kind=ForKind.Sequential stages=1\n"
        "      start: ConstInt type=pl.Scalar[pl.INT64] value=0\n"
        "      stop: Var n #1\n"
        "      step: ConstInt type=pl.Scalar[pl.INT64] value=1\n"
        "      loop_var: Var i #3 type=pl.Scalar[pl.INT64]\n"
        "      iter_args[0]: IterArg sum #4 type=pl.Scalar[pl.INT64]\n"
        "        initValue: Var start #2\n"
        "      body: YieldStmt\n"
        "        value[0]: Add type=pl.Scalar[pl.INT64]\n"
        "          left: IterArg sum #4\n"
        "          right: Var i #3\n"
        "      return_vars[0]: Var sum #5 type=pl.Scalar[pl.INT64]\n"
        "    stmts[2]: ReturnStmt\n"
        "      value[0]: Var sum #5"
    )


def test_tree_of_a_call() -> None:
    """Ops, keywords and odd names are on the line; without spans there are no locations."""
    call = ir.Call(ir.Op("a.b"), [], {"m": ir.Vec, "d": ir.FP16, "t": {"M": [1, "s"]}}, FP32, SPAN)
    line = "Call type=pl.Scalar[pl.FP32] op=a.b kwargs={m=MemorySpace.Vec, d=FP16, t={M=[1, 's']}}"
    assert ir.dump_tree(call) == line
    assert ir.dump_tree(call, spans=True) == f"{line} @k.py:3:4"
    assert ir.dump_tree(ir.Var("a b", INT)) == "Var 'a b' type=pl.Scalar[pl.INT64]"


def test_tree_of_a_type() -> None:
    """A type may be the root; its dimensions then have lines."""
    assert ir.dump_tree(ir.TensorType([8, x], ir.FP16)) == (
        "TensorType dtype=FP16\n"
        "  shape[0]: ConstInt type=pl.Scalar[pl.INT64] value=8\n"
        "  shape[1]: Var x type=pl.Scalar[pl.INT64]"
    )


def test_deep_tree() -> None:
    """Below 40 levels the depth is a number, so that the size of the text is linear."""
    chain: ir.Expr = x
    for _ in range(10_000):
        chain = -chain
    lines = ir.dump_tree(chain).splitlines()
    assert len(lines) == 10_001
    assert lines[40] == "  " * 40 + "operand: Neg type=pl.Scalar[pl.INT64]"
    assert lines[-1] == "  " * 40 + "(10000) operand: Var x type=pl.Scalar[pl.INT64]"


# --------------------------------------------------------------------------------------------
# JSON
# --------------------------------------------------------------------------------------------


def test_json() -> None:
    """Nodes come after their children, and refer to them by id; equal plain types are one node."""
    stmt = ir.AssignStmt(y, ir.Add(x, x, ir.INT64, SPAN))
    assert json.loads(ir.to_json(stmt)) == {
        "format": "pypto.ir",
        "version": 1,
        "root": 4,
        "nodes": [
            {"id": 0, "class": "ScalarType", "dtype": {"dtype": "INT64"}},
            {"id": 1, "class": "Var", "type": {"ref": 0}, "name": "y", "span": None},
            {"id": 2, "class": "Var", "type": {"ref": 0}, "name": "x", "span": None},
            {
                "id": 3,
                "class": "Add",
                "type": {"ref": 0},
                "left": {"ref": 2},
                "right": {"ref": 2},
                "span": {"span": ["k.py", 3, 4, -1, -1]},
            },
            {
                "id": 4,
                "class": "AssignStmt",
                "var": {"ref": 1},
                "value": {"ref": 3},
                "span": None,
            },
        ],
    }


VALUES: dict[str, tuple[Any, Any]] = {
    "none": (None, None),
    "bool": (True, True),
    "int": ((1 << 63) - 1, (1 << 63) - 1),
    "float": (0.1, 0.1),
    "nan": (math.nan, {"float": "nan"}),
    "infinity": (-math.inf, {"float": "-inf"}),
    "text": ("é\n\udc80", "é\n\udc80"),
    "enum": (ir.ForKind.Parallel, {"enum": "ForKind.Parallel"}),
    "pipe": (ir.PipeType.MTE2, {"enum": "PipeType.MTE2"}),
    "dtype": (ir.BF16, {"dtype": "BF16"}),
    "list": ([1, (2.5, [])], [1, [2.5, []]]),
    "dict": ({"M": {"N": 1}}, {"dict": {"M": {"dict": {"N": 1}}}}),
    "op": (ir.Op("a.b"), {"op": "a.b"}),
    "function": (ir.GlobalVar("f"), {"function": "f"}),
}


@pytest.mark.parametrize(("value", "wanted"), VALUES.values(), ids=VALUES)
def test_json_values(value: Any, wanted: Any) -> None:
    """Every kind of value has the form described by the schema."""
    node = json.loads(ir.to_json(ir.Call(ir.Op("o"), [], {"k": value})))["nodes"][-1]
    assert node["kwargs"] == {"dict": {"k": wanted}}
    assert node["op"] == {"op": "o"}


def test_json_is_deterministic() -> None:
    """The same tree gives the same text, which can be indented."""
    assert ir.to_json(program(kernel())) == ir.to_json(program(kernel()))
    assert ir.to_json(x, indent=2).splitlines()[1] == '  "format": "pypto.ir",'
    assert json.loads(ir.to_json(x, indent=2)) == json.loads(ir.to_json(x))


def test_json_of_views_and_memrefs() -> None:
    """Views and memory references are nodes too; a shared one is one node."""
    mem = ir.MemRef(ir.Vec, 0, 64, 1)
    kinds = [ir.TileType([8], ir.FP32, mem, ir.TileView([8])) for _ in range(2)]
    nodes = json.loads(ir.to_json(ir.TupleType(kinds)))["nodes"]
    classes = [node["class"] for node in nodes]
    assert (classes.count("MemRef"), classes.count("TileView")) == (1, 2)
    [view, _] = [node for node in nodes if node["class"] == "TileView"]
    assert (view["start_offset"], view["pad"]) == (None, {"enum": "TilePad.null"})


def test_json_of_deep_trees() -> None:
    """10,000 nested expressions are written without recursion."""
    chain: ir.Expr = x
    for _ in range(10_000):
        chain = -chain
    whole = json.loads(ir.to_json(chain))
    assert (whole["root"], len(whole["nodes"])) == (10_001, 10_002)


@pytest.mark.parametrize("show", [ir.dump_tree, ir.to_json])
def test_only_ir_is_shown(show: Any) -> None:
    """Anything but a node or a type is rejected."""
    with pytest.raises(TypeError, match=f"{show.__name__} takes an IR node or a type, got int"):
        show(3)


def test_nothing_loads_before_use() -> None:
    """The tokenizer is loaded lazily, when a notebook uses it."""
    code = (
        "import sys, pypto.language, pypto.ir\n"
        "print([n for n in ('highlight', 'display') if f'pypto._src.ir.{n}' in sys.modules])"
    )
    source = Path(__file__).parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
