"""Document 001 verbatim: its examples and tables against what is emitted.

The assembler rejects some of what the document shows. `DIFFERENCES` is the only list of what is
written instead, each with its reason; every form below is compared as a whole, after the
differences that it names.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

import pypto.language as pl
from pypto._src.dtypes import DataType
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.emit.pto.types import parameter_type
from pypto._src.errors import EmitError, OpError
from pypto._src.ir.array_types import MemRef, TensorType, TileType, TileView
from pypto._src.ir.enums import MemorySpace, TileLayout, TilePad
from pypto._src.ir.stmts import Program
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager

D = DataType
VEC = (
    "!pto.tile_buf<loc=vec, dtype=f32, rows=32, cols=32, v_row=32, v_col=32, "
    "blayout=row_major, slayout=none_box, fractal=512, pad=0>"
)


class Difference(NamedTuple):
    """What the document shows, what is written instead, and why."""

    shown: str
    written: str
    reason: str


DIFFERENCES = {
    "options": Difference(
        "module {",
        "// ptoas --pto-level=level2 --enable-insert-sync\nmodule {",
        "A text fits one set of the assembler's options; the first line says which.",
    ),
    "comma": Difference(
        "[%c32, %c32]\n         strides",
        "[%c32, %c32],\n         strides",
        "The assembler wants a comma before `strides`.",
    ),
    "one-line": Difference(
        "%0 = pto.make_tensor_view %arg0,\n     shape",
        "%0 = pto.make_tensor_view %arg0, shape",
        "The document breaks lines in two ways; that of its complete example is kept.",
    ),
    "break": Difference(
        "[%c32, %c32]\n     strides = [%c32, %c1]\n     : ",
        "[%c32, %c32],\n     strides = [%c32, %c1] : ",
        "As in the complete example, with the comma that the assembler wants.",
    ),
    "sizes": Difference(
        ",\n                 sizes = [%c32, %c32]\n                 : ",
        ", sizes = [%c32, %c32]\n     : ",
        "The document breaks lines in two ways; that of its complete example is kept.",
    ),
    "groups": Difference(
        "ins(%0 : !pto.tile_buf<...>, %1 : ",
        "ins(%0, %1 : !pto.tile_buf<...>, ",
        "The assembler wants all operands before all types.",
    ),
    "groups-by-name": Difference(
        "ins(%tile_a_buf : !pto.tile_buf<...>,\n             %tile_b_buf : !pto.tile_buf<...>)",
        "ins(%tile_a_buf, %tile_b_buf : !pto.tile_buf<...>, !pto.tile_buf<...>)",
        "The assembler wants all operands before all types.",
    ),
    "allocation": Difference(
        "!pto.tile_buf<loc=vec, dtype=f32, rows=32, cols=32, ...>",
        VEC,
        "The dots are the document's; a type has all its fields.",
    ),
    "dots": Difference(
        "!pto.tile_buf<...>", VEC, "The dots are the document's; a type has all its fields."
    ),
    "loc-dots": Difference(
        "!pto.tile_buf<loc=vec, ...>",
        VEC,
        "The dots are the document's; a type has all its fields.",
    ),
    "long-type": Difference(
        "cols=32,\n                       v_row=32, v_col=32, blayout=row_major,\n"
        "                       slayout",
        "cols=32, v_row=32, v_col=32, blayout=row_major, slayout",
        "A type stands on one line, so that it can be searched for.",
    ),
    "hash": Difference(
        "# ",
        "// ",
        "A line that begins with # is no comment in MLIR, but an alias of an attribute.",
    ),
    "load-1": Difference(
        "// 1. Create partition view\n", "// kernel.py:7\n", "One comment a line of the user's."
    ),
    "load-2": Difference(
        "\n\n// 2. Load into tile buffer\n", "\n", "One comment a line of the user's."
    ),
    "store-1": Difference(
        "// 1. Create partition view for output\n",
        "// kernel.py:9\n",
        "One comment a line of the user's.",
    ),
    "store-2": Difference(
        "\n\n// 2. Store from tile buffer\n", "\n", "One comment a line of the user's."
    ),
    "comment-a": Difference(
        "// Load tile_a",
        "// kernel.py:11",
        "A comment names the user's line, so that a message of the assembler leads to it.",
    ),
    "comment-b": Difference("// Load tile_b", "// kernel.py:12", "As above."),
    "comment-multiply": Difference("// Multiply", "// kernel.py:15", "As above."),
    "comment-store": Difference("// Store tile_c", "// kernel.py:18", "As above."),
    "part": Difference("%3", "%part", "The document numbers its excerpts anew."),
    "part-5": Difference("%5", "%part", "The document numbers its excerpts anew."),
}
"""The forced differences of this module, all of them."""


def changed(shown: str, *names: str) -> str:
    """Return a form of the document after the named differences, each of which must apply."""
    for name in names:
        difference = DIFFERENCES[name]
        assert difference.shown in shown, name
        shown = shown.replace(difference.shown, difference.written)
    return shown


def emitted(source: str) -> str:
    program = pl.parse(source, "kernel.py")
    assert isinstance(program, Program)
    after = PassManager.get_strategy(OptimizationStrategy.PTOAS).run_passes(program)
    return PTOCodegen().generate(after)


# --------------------------------------------------------------------------------------------
# The complete example
# --------------------------------------------------------------------------------------------

PROGRAM = """\
import pypto.language as pl

@pl.program
class MulKernel:
    @pl.function
    def mul_kernel_2d(self,
                     a: pl.Tensor[[32, 32], pl.FP32],
                     b: pl.Tensor[[32, 32], pl.FP32],
                     c: pl.Tensor[[32, 32], pl.FP32]):
        # Load tiles
        tile_a = pl.load(a, [0, 0], [32, 32])
        tile_b = pl.load(b, [0, 0], [32, 32])

        # Multiply
        tile_c = pl.mul(tile_a, tile_b)

        # Store result
        pl.store(tile_c, [0, 0], [32, 32], c)
"""
"""The input of document 001's complete example, verbatim."""

EXAMPLE = """\
module {
  func.func @mul_kernel_2d(%arg0: !pto.ptr<f32>,
                          %arg1: !pto.ptr<f32>,
                          %arg2: !pto.ptr<f32>) {
    // Constants
    %c32 = arith.constant 32 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index

    // Tensor views
    %3 = pto.make_tensor_view %arg0, shape = [%c32, %c32]
         strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>
    %4 = pto.make_tensor_view %arg1, shape = [%c32, %c32]
         strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>
    %5 = pto.make_tensor_view %arg2, shape = [%c32, %c32]
         strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>

    // Allocations
    %0 = pto.alloc_tile : !pto.tile_buf<loc=vec, dtype=f32, rows=32, cols=32, ...>
    %1 = pto.alloc_tile : !pto.tile_buf<loc=vec, dtype=f32, rows=32, cols=32, ...>
    %2 = pto.alloc_tile : !pto.tile_buf<loc=vec, dtype=f32, rows=32, cols=32, ...>

    // Load tile_a
    %6 = pto.partition_view %3, offsets = [%c0, %c0], sizes = [%c32, %c32]
         : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<32x32xf32>
    pto.tload ins(%6 : !pto.partition_tensor_view<32x32xf32>)
              outs(%0 : !pto.tile_buf<...>)

    // Load tile_b
    %7 = pto.partition_view %4, offsets = [%c0, %c0], sizes = [%c32, %c32]
         : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<32x32xf32>
    pto.tload ins(%7 : !pto.partition_tensor_view<32x32xf32>)
              outs(%1 : !pto.tile_buf<...>)

    // Multiply
    pto.tmul ins(%0 : !pto.tile_buf<...>, %1 : !pto.tile_buf<...>)
             outs(%2 : !pto.tile_buf<...>)

    // Store tile_c
    %8 = pto.partition_view %5, offsets = [%c0, %c0], sizes = [%c32, %c32]
         : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<32x32xf32>
    pto.tstore ins(%2 : !pto.tile_buf<...>)
               outs(%8 : !pto.partition_tensor_view<32x32xf32>)

    return
  }
}
"""
"""The output of document 001's complete example, verbatim."""

COMPLETE = (
    "options", "comma", "groups", "allocation", "dots",
    "comment-a", "comment-b", "comment-multiply", "comment-store",
)  # fmt: skip


def test_the_complete_example() -> None:
    """The document's program gives the document's text except for the forced differences."""
    assert emitted(PROGRAM) == changed(EXAMPLE, *COMPLETE)


def test_sections_are_in_order() -> None:
    """Constants, tensor views, allocations, operations: the document's fixed order."""
    text = emitted(PROGRAM)
    titles = ["// Constants", "// Tensor views", "// Allocations", "pto.tload", "return"]
    assert [text.index(title) for title in titles] == sorted(text.index(t) for t in titles)


# --------------------------------------------------------------------------------------------
# Excerpts
# --------------------------------------------------------------------------------------------

EXCERPTS = """\
import pypto.language as pl
@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, tensor_a: pl.Tensor[[32, 32], pl.FP32],
               tensor_out: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        tile_a = pl.load(tensor_a, [0, 0], [32, 32])
        tile_c = pl.mul(tile_a, tile_a)
        pl.store(tile_c, [0, 0], [32, 32], tensor_out)
"""

TENSOR_VIEW = """\
%0 = pto.make_tensor_view %arg0,
     shape = [%c32, %c32]
     strides = [%c32, %c1]
     : !pto.tensor_view<?x?xf32>
"""
ALLOCATION = """\
%0 = pto.alloc_tile : !pto.tile_buf<loc=vec, dtype=f32, rows=32, cols=32,
                       v_row=32, v_col=32, blayout=row_major,
                       slayout=none_box, fractal=512, pad=0>
"""
LOAD = """\
# 1. Create partition view
%3 = pto.partition_view %tensor_view, offsets = [%c0, %c0],
                 sizes = [%c32, %c32]
                 : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<32x32xf32>

# 2. Load into tile buffer
pto.tload ins(%3 : !pto.partition_tensor_view<32x32xf32>)
          outs(%tile_buf : !pto.tile_buf<loc=vec, ...>)
"""
STORE = """\
# 1. Create partition view for output
%5 = pto.partition_view %output_view, offsets = [%c0, %c0],
                 sizes = [%c32, %c32]
                 : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<32x32xf32>

# 2. Store from tile buffer
pto.tstore ins(%tile_buf : !pto.tile_buf<loc=vec, ...>)
           outs(%5 : !pto.partition_tensor_view<32x32xf32>)
"""
COMPUTE = """\
pto.tmul ins(%tile_a_buf : !pto.tile_buf<...>,
             %tile_b_buf : !pto.tile_buf<...>)
         outs(%tile_c_buf : !pto.tile_buf<...>)
"""
NAMES = {
    "%tensor_view": "%2", "%output_view": "%3",
    "%tile_a_buf": "%0", "%tile_b_buf": "%0", "%tile_c_buf": "%1",
}  # fmt: skip
"""The names used in the excerpts, in the program above."""


def assert_in(excerpt: str, text: str, **names: str) -> None:
    """Assert that a text has the lines of an excerpt in sequence, names aside.

    Where a line begins in the middle of an operation, its column follows the names' lengths; the
    number of ``%part`` is arbitrary.
    """
    for shown, written in {**NAMES, **{f"%{key}": name for key, name in names.items()}}.items():
        excerpt = re.sub(rf"{shown}\b", written, excerpt)
    lines = [re.escape(line.strip()) for line in excerpt.strip().split("\n")]
    pattern = r"\n *".join(lines).replace("%part", r"%\d+")
    assert re.search(pattern, text), pattern


def test_the_tensor_view_excerpt() -> None:
    """A view has shape and strides, and open dimensions in its type."""
    excerpt = changed(TENSOR_VIEW, "one-line", "break")
    assert_in(excerpt.replace("%0 =", "%2 ="), emitted(EXCERPTS))


def test_the_allocation_excerpt() -> None:
    """One allocation per memory reference."""
    text = emitted(EXCERPTS)
    assert_in(changed(ALLOCATION, "long-type"), text)
    assert text.count("pto.alloc_tile") == 2


def test_the_load_excerpt() -> None:
    """A load is a partition view and a tload."""
    excerpt = changed(LOAD, "sizes", "hash", "load-1", "load-2", "loc-dots", "part")
    assert_in(excerpt, emitted(EXCERPTS), tile_buf="%0")


def test_the_store_excerpt() -> None:
    """A store is a partition view and a tstore."""
    excerpt = changed(STORE, "sizes", "hash", "store-1", "store-2", "loc-dots", "part-5")
    assert_in(excerpt, emitted(EXCERPTS), tile_buf="%1")


def test_the_compute_excerpt() -> None:
    """Operands are buffers, the result has its own."""
    assert_in(changed(COMPUTE, "groups-by-name", "dots"), emitted(EXCERPTS))


def test_every_difference_is_met() -> None:
    """The list has no difference that no form of the document shows."""
    forms = (EXAMPLE, TENSOR_VIEW, ALLOCATION, LOAD, STORE, COMPUTE)
    hashes = [form.replace("# ", "// ") for form in forms]
    for name, difference in DIFFERENCES.items():
        assert any(difference.shown in form for form in (*forms, *hashes)), name
        assert difference.reason.endswith(".")


# --------------------------------------------------------------------------------------------
# Tables
# --------------------------------------------------------------------------------------------

OPERATORS = {
    "a = pl.load(x, [0, 0], [32, 32])": "pto.partition_view pto.tload",
    "pl.store(t, [0, 0], [32, 32], x)": "pto.partition_view pto.tstore",
    "a = pl.mul(t, u)": "pto.tmul",
    # The document has pto.taddc for block.add(a, b, c), which is pl.addc. The assembler writes two
    # TADD for it, the only form that the A2/A3 library has; so do we, and the passes see both.
    "a = pl.addc(t, u, t)": "pto.tadd pto.tadd",
    "a = pl.add(t, 2.0)": "pto.tadds",
}


@pytest.mark.parametrize("statement", OPERATORS)
def test_the_operator_table(statement: str) -> None:
    """Each operation of the table becomes the instructions of the table."""
    store = "" if statement.startswith("pl.store") else "        pl.store(a, [0, 0], [32, 32], x)\n"
    text = emitted(
        "import pypto.language as pl\n@pl.program\nclass K:\n    @pl.function\n"
        "    def k(self, x: pl.Tensor[[32, 32], pl.FP32]):\n"
        "        t = pl.load(x, [0, 0], [32, 32])\n        u = pl.load(x, [0, 0], [32, 32])\n"
        f"        {statement}\n{store}"
    )
    line = next(i for i, found in enumerate(text.split("\n")) if found.strip() == "// kernel.py:8")
    rest = "\n".join(text.split("\n")[line + 1 :]).split("// kernel.py:9")[0]
    assert " ".join(re.findall(r"pto\.(?:partition_view|t\w+)(?= )", rest)) == OPERATORS[statement]


def test_the_parameter_table() -> None:
    """A tensor is a pointer with a view, a scalar its element type; a tile is rejected."""
    text = emitted(
        "import pypto.language as pl\n@pl.program\nclass K:\n    @pl.function\n"
        "    def k(self, x: pl.Tensor[[32, 32], pl.FP32], s: pl.Scalar[pl.FP32]):\n"
        "        pl.store(pl.mul(pl.load(x, [0, 0], [32, 32]), s), [0, 0], [32, 32], x)\n"
    )
    assert "(%arg0: !pto.ptr<f32>,\n                   %arg1: f32)" in text.replace(
        "\n              ", "\n                   "
    )
    assert "pto.make_tensor_view %arg0, " in text
    assert "pto.tmuls ins(%0, %arg1 : " in text
    with pytest.raises((EmitError, OpError), match="neither a tensor nor a scalar"):
        emitted(
            "import pypto.language as pl\n@pl.program\nclass K:\n    @pl.function\n"
            "    def k(self, t: pl.Tile[[32, 32], pl.FP32], x: pl.Tensor[[32, 32], pl.FP32]):\n"
            "        pl.store(t, [0, 0], [32, 32], x)\n"
        )


ELEMENTS = {
    D.FP32: "f32", D.FP16: "f16", D.BF16: "bf16",
    D.INT32: "i32", D.INT64: "i64", D.INT8: "i8", D.UINT8: "ui8",
}  # fmt: skip


@pytest.mark.parametrize(("dtype", "name"), ELEMENTS.items(), ids=ELEMENTS.values())
def test_the_element_type_table(dtype: DataType, name: str) -> None:
    """Elements are spelled as in the table; so are scalars, except that they are signless."""
    assert PTOCodegen().get_type_string(dtype) == name
    view = PTOCodegen().get_tensor_view_type_string(TensorType([8, 8], dtype))
    assert view == f"!pto.tensor_view<?x?x{name}>"
    # The assembler has no unsigned scalars.
    assert parameter_type(dtype) == name.removeprefix("u")


SPACES = {"UB": "vec", "L1": "mat", "L0A": "left", "L0B": "right", "L0C": "acc"}


def test_the_memory_table() -> None:
    """The older names of memories are aliases, with the address spaces of the table."""
    for name, loc in SPACES.items():
        kind = TileType([16, 16], D.FP32, MemRef(getattr(MemorySpace, name), 0, 1024))
        assert PTOCodegen().get_tile_buf_type_string(kind).startswith(f"!pto.tile_buf<loc={loc}, ")
    kind = TileType([16, 16], D.FP32, MemRef(MemorySpace.DDR, 0, 1024))
    with pytest.raises(EmitError, match="a tile cannot live in DDR memory"):  # gm holds no tiles
        PTOCodegen().get_tile_buf_type_string(kind)


@pytest.mark.parametrize("layout", TileLayout)
@pytest.mark.parametrize("pad", TilePad)
def test_the_attribute_table(layout: TileLayout, pad: TilePad) -> None:
    """Layouts, fractal and pad come from the view; without one, or a field, they are the defaults.

    The document also allows `blayout` none_box, for which the assembler has no layout; the
    view then stands for the default.
    """
    view = TileView(slayout=layout, fractal=1024, pad=pad)
    kind = TileType([16, 16], D.FP32, MemRef(MemorySpace.Vec, 0, 1024), view)
    assert (
        PTOCodegen()
        .get_tile_buf_type_string(kind)
        .endswith(f"blayout=row_major, slayout={layout.name}, fractal=1024, pad={pad.value}>")
    )
    assert {pad.name: pad.value for pad in TilePad} == {"null": 0, "zero": 1, "max": 2, "min": 3}


def test_the_naming_table() -> None:
    """Parameters are %argN, constants %cN and %cst, results numbered: buffers first, then views."""
    text = emitted(EXCERPTS)
    assert re.findall(r"(%arg\d+): ", text) == ["%arg0", "%arg1"]
    assert re.findall(r"(%c\w+) = arith.constant", text) == ["%c32", "%c1", "%c0"]
    results = re.findall(r"(%\d+) = pto\.(\w+)", text)
    assert results == [
        ("%2", "make_tensor_view"), ("%3", "make_tensor_view"),
        ("%0", "alloc_tile"), ("%1", "alloc_tile"),
        ("%4", "partition_view"), ("%5", "partition_view"),
    ]  # fmt: skip
