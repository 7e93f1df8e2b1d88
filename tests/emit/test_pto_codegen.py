"""`PTOCodegen`: the helpers of document 001, optional locations, sub-tiles at run time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.diagnostics import UNKNOWN_SPAN
from pypto._src.dialect.printer import print_source
from pypto._src.dialect.verify import check, options_of
from pypto._src.dtypes import DataType
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.emit_sites import PtoSite
from pypto._src.ops import elementwise
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from tests.emit.pto_forms import FORMS
from tests.emit.pto_texts import LEVELS, emitted, forms

D = DataType
LEVEL2, LEVEL3 = OptimizationStrategy.PTOAS, OptimizationStrategy.Default

SCALED = """\
import pypto.language as pl

@pl.program
class Scaled:
    @pl.function(type=pl.FunctionType.InCore)
    def scaled(
        self, x: pl.Tensor[[16, 64], pl.FP16], n: pl.INT64,
        out: pl.Out[pl.Tensor[[16, 64], pl.FP16]],
    ):
        tile = pl.load(x, [n, 0], [8, 64])
        out = pl.store(pl.exp(tile), [0, 0], [8, 64], out)
"""


def lowered(strategy: OptimizationStrategy = LEVEL2) -> ir.Program:
    program = pl.parse_program(SCALED, "scaled.py")
    return PassManager.get_strategy(strategy).run_passes(program)


# --------------------------------------------------------------------------------------------
# Helpers of document 001
# --------------------------------------------------------------------------------------------

HELPERS = {
    "GetCurrentResultTarget": "get_current_result_target",
    "Emit": "emit",
    "GetExprAsCode": "get_expr_as_code",
    "GetTypeString": "get_type_string",
    "NewTemp": "new_temp",
    "GetOrCreateTensorView": "get_or_create_tensor_view",
    "GetIndexConstant": "get_index_constant",
    "GetOrEmitFloatConstant": "get_or_emit_float_constant",
    "GetTensorViewTypeString": "get_tensor_view_type_string",
    "GetTileBufTypeString": "get_tile_buf_type_string",
    "GetExprTypeAnnotation": "get_expr_type_annotation",
    "GetCurrentResultTileBufTypeString": "get_current_result_tile_buf_type_string",
    "Generate": "generate",
}
"""The member functions that document 001's class has, and their names in Python."""


@pytest.mark.parametrize(("name", "python"), HELPERS.items())
def test_helpers_have_both_names(name: str, python: str) -> None:
    """Each member function of document 001 exists, in its own spelling and in Python's."""
    assert getattr(PTOCodegen, name) is getattr(PTOCodegen, python)


@pytest.fixture
def form(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Make `block.exp` be emitted by a form that queries all that a form may query."""
    heard: list[Any] = []

    def write(site: PtoSite) -> None:
        codegen: PTOCodegen = site.codegen
        tile = site.call.args[0]
        kind = tile.type
        assert isinstance(kind, TileType)
        assert kind.memref is not None
        type_ = codegen.get_current_result_tile_buf_type_string()
        heard.append(codegen.get_current_result_target())
        heard.append(codegen.get_expr_as_code(tile))
        heard.append(codegen.get_expr_type_annotation(tile) == type_)
        heard.append(codegen.get_tile_buf_type_string(kind.memref) == type_)
        heard.append(codegen.get_index_constant(77))
        heard.append(codegen.get_or_emit_float_constant(2.5, "f16"))
        heard.append(codegen.get_or_emit_float_constant(2.5))
        heard.append(codegen.new_temp())
        heard.append(codegen.new_temp())
        codegen.emit(f"pto.texp ins({site.args[0]} : {type_}) outs({heard[0]} : {type_})")

    object.__setattr__(elementwise.exp, "pto", write)
    yield heard
    object.__setattr__(elementwise.exp, "pto", "pto.texp")


def test_helpers_answer_for_the_call_that_is_written(form: list[Any]) -> None:
    """An op's own form queries names, types and constants, and emits its line."""
    text = PTOCodegen().generate(lowered())
    result, source, same, same_buffer, index, half, single, first, second = form
    assert (result, source) == ("%1", "%0")
    assert same
    assert same_buffer
    assert index == "%c77"
    assert f"{index} = arith.constant 77 : index" in text
    assert f"{half} = arith.constant 2.5 : f16" in text
    assert f"{single} = arith.constant 2.5 : f32" in text
    assert int(second[1:]) == int(first[1:]) + 1
    assert "pto.texp ins(%0 : " in text


def test_helpers_need_a_kernel() -> None:
    """Outside a kernel being emitted only types are available."""
    codegen = PTOCodegen()
    assert codegen.get_type_string(D.FP32) == "f32"
    view = codegen.get_tensor_view_type_string(TensorType([4, 8], D.UINT8))
    assert view == "!pto.tensor_view<?x?xui8>"
    assert codegen.get_current_result_target() == ""
    with pytest.raises(EmitError, match="known only while a kernel is being written"):
        codegen.new_temp()
    with pytest.raises(EmitError, match="'i32' is not a float type of tiles"):
        codegen.get_or_emit_float_constant(1.0, "i32")


def test_a_codegen_writes_again(form: list[Any]) -> None:
    """After a text, even one that failed, an object emits the next one the same."""
    codegen = PTOCodegen()
    text = codegen.generate(lowered())
    with pytest.raises(EmitError):
        codegen.generate(pl.parse_program(SCALED))  # without passes, no buffers
    assert codegen.generate(lowered()) == text
    assert len(form) == 18


# --------------------------------------------------------------------------------------------
# Places
# --------------------------------------------------------------------------------------------


def test_places_of_lines() -> None:
    """Each line of a text is mapped to the statement or function that it was written for."""
    codegen = PTOCodegen()
    text = codegen.generate(lowered())
    lines = text.split("\n")
    found = {
        word: codegen.span_of(1 + next(i for i, line in enumerate(lines) if word in line))
        for word in ("module {", "func.func", "%c64 =", "tload", "texp", "tstore", "    return")
    }
    wanted = {"module {": -1, "func.func": 6, "%c64 =": 6, "tload": 10, "texp": 11, "tstore": 11}
    assert {word: place.begin_line for word, place in found.items()} == {**wanted, "    return": 6}
    assert found["texp"].filename == "scaled.py"
    assert codegen.span_of(0) is codegen.span_of(len(lines) + 1) is UNKNOWN_SPAN


def test_locations_on_request() -> None:
    """On request, locations follow operations; the text is otherwise the same."""
    text = PTOCodegen(locations=True).generate(lowered())
    assert "pto.texp ins(%0 : " in text
    assert re.search(r'outs\(%1 : .*\) loc\("scaled.py":11:24\)\n', text)
    assert '    return loc("scaled.py":6:5)\n  } loc("scaled.py":6:5)\n' in text
    assert re.sub(r' loc\(".*?":\d+:\d+\)', "", text) == PTOCodegen().generate(lowered())


@pytest.mark.parametrize("name", FORMS)
def test_locations_are_accepted(name: str) -> None:
    """Texts with locations, also on loops and branches, are parsed, accepted and re-printed."""
    for strategy in LEVELS:
        after = PassManager.get_strategy(strategy).run_passes(forms()[name])
        text = PTOCodegen(locations=True).generate(after)
        assert print_source(check(text, name, options_of(text, "a3"))) == text


# --------------------------------------------------------------------------------------------
# Parts of tiles
# --------------------------------------------------------------------------------------------

PART = """\
import pypto.language as pl

@pl.program
class Part:
    @pl.function(type=pl.FunctionType.InCore)
    def part(
        self, x: pl.Tensor[[{rows}, {columns}], pl.{dtype}], n: pl.INT64,
        out: pl.Out[pl.Tensor[{shape}, pl.{dtype}]],
    ):
        tile = pl.load(x, [0, 0], [{rows}, {columns}])
        out = pl.store(pl.view(tile, {shape}, {offset}), [0, 0], {shape}, out)
"""


def part(strategy: OptimizationStrategy, **words: Any) -> str:
    words = {
        "rows": 4,
        "columns": 16,
        "shape": [2, 16],
        "offset": "[n, 0]",
        "dtype": "FP32",
    } | words
    return emitted(pl.parse_program(PART.format(**words)), strategy)


def body_of(text: str) -> list[str]:
    """Return the lines between load and store, with short tile types."""
    short = re.sub(
        r"!pto.tile_buf<loc=vec, dtype=(\w+), rows=(\d+), cols=(\d+)[^>]*>", r"\1[\2,\3]", text
    )
    lines = re.sub(r"\n +(?=outs\(|: !pto)", " ", short).split("\n")
    first = next(i for i, line in enumerate(lines) if "pto.tload" in line)
    last = next(i for i, line in enumerate(lines) if "sizes = [" in line and i > first)
    flags = ("set_flag", "wait_flag", "//")
    return [
        line[4:] for line in lines[first + 1 : last] if line and not any(f in line for f in flags)
    ]


def test_a_part_at_run_time_is_an_allocation_at_level_3() -> None:
    """With addresses, a sub-tile is a tile at a computed address."""
    assert body_of(part(LEVEL3)) == [
        "%6 = arith.muli %1, %c64 : index",
        "%7 = arith.index_cast %6 : index to i64",
        "%8 = arith.addi %c0_i64, %7 : i64",
        "%5 = pto.alloc_tile addr = %8 : f32[2,16]",
    ]


def test_a_part_at_run_time_is_chosen_at_level_2() -> None:
    """Where the assembler plans memory, the sub-tile is copied from its actual offset."""
    assert body_of(part(LEVEL2)) == [
        "%5 = pto.alloc_tile : f32[2,16]",
        "%6 = arith.cmpi slt, %1, %c1 : index",
        "scf.if %6 {",
        "  %7 = pto.subset %0[%c0, %c0] sizes [2, 16] : f32[4,16]",
        "  pto.tmov ins(%7 : f32[2,16]) outs(%5 : f32[2,16])",
        "} else {",
        "  %8 = arith.cmpi slt, %1, %c2 : index",
        "  scf.if %8 {",
        "    %9 = pto.subset %0[%c1, %c0] sizes [2, 16] : f32[4,16]",
        "    pto.tmov ins(%9 : f32[2,16]) outs(%5 : f32[2,16])",
        "  } else {",
        "    %10 = pto.subset %0[%c2, %c0] sizes [2, 16] : f32[4,16]",
        "    pto.tmov ins(%10 : f32[2,16]) outs(%5 : f32[2,16])",
        "  }",
        "}",
    ]


def test_a_part_of_a_row_is_chosen_by_blocks() -> None:
    """A sub-tile of one row begins at a multiple of 32 bytes."""
    lines = body_of(part(LEVEL2, rows=1, columns=32, shape=[1, 16], offset="[0, n]"))
    assert lines[:6] == [
        "%5 = pto.alloc_tile : f32[1,16]",
        "%6 = arith.divsi %1, %c8 : index",
        "%7 = arith.cmpi slt, %6, %c1 : index",
        "scf.if %7 {",
        "  %8 = pto.subset %0[%c0, %c0] sizes [1, 16] : f32[1,32]",
        "  pto.tmov ins(%8 : f32[1,16]) outs(%5 : f32[1,16])",
    ]
    assert sum("pto.tmov" in line for line in lines) == 3


def test_parts_of_elements_that_no_move_takes() -> None:
    """Unsigned 64-bit elements are moved as signed ones: the sub-tile is not a reshape."""
    lines = body_of(part(LEVEL2, dtype="UINT64"))
    assert lines[3:7] == [
        "  %7 = pto.subset %0[%c0, %c0] sizes [2, 16] : ui64[4,16]",
        "  %8 = pto.treshape %7 : ui64[2,16] -> i64[2,16]",
        "  %9 = pto.treshape %5 : ui64[2,16] -> i64[2,16]",
        "  pto.tmov ins(%8 : i64[2,16]) outs(%9 : i64[2,16])",
    ]


def test_a_part_with_too_many_offsets_is_refused() -> None:
    """The selection is not emitted for a thousand offsets or more; addresses have no limit."""
    with pytest.raises(EmitError, match="may begin at 1025 offsets in its tile"):
        part(LEVEL2, rows=1025, columns=8, shape=[1, 8])
    assert "pto.alloc_tile addr = %8" in part(LEVEL3, rows=1025, columns=8, shape=[1, 8])
