"""Sections 13 and 14: what passes leave of a function, and programs passed to code generation."""

from __future__ import annotations

import inspect
import itertools
import re
from pathlib import Path
from typing import Any

import pytest

import pypto.language as pl
from pypto import codegen, ir, passes
from pypto.ir import pto_codegen
from tests.api.test_04_expressions import MADE

SCOPED = """
@pl.program
class Scoped:
    @pl.function
    def main(self, x: pl.Tensor[[64, 64], pl.FP32]) -> pl.Tensor[[64, 64], pl.FP32]:
        with pl.incore():
            y: pl.Tensor[[64, 64], pl.FP32] = pl.add(x, 1.0)
        return y
"""
PARSED = """
@pl.program
class Parsed:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        y = pl.store(pl.add(pl.load(x, [0, 0], [64, 64]), 1.0), [0, 0], [64, 64], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        y = self.kernel(x, y)
        return y
"""


def program(text: str) -> ir.Program:
    return pl.parse_program("import pypto.language as pl\n" + text)


def test_outlining_leaves_the_parent_opaque() -> None:
    """13.3: the pass alone creates InCore functions, and does not change the others' types."""
    after = passes.outline_incore_scopes()(passes.convert_to_ssa()(program(SCOPED)))
    assert {each.name: each.func_type for each in after.functions.values()} == {
        "main": ir.FunctionType.Opaque,
        "main_incore_0": ir.FunctionType.InCore,
    }


def test_text_of_a_program_as_it_was_parsed() -> None:
    """14.4: code generation runs the passes that a freshly parsed program needs."""
    fresh = program(PARSED)
    files = codegen.CCECodegen().generate(fresh)
    assert sorted(files) == ["kernel_config.py", "kernels/aiv/kernel.cpp", "orchestration/main.cpp"]
    main = fresh.get_function("main")
    assert main is not None
    made = codegen.generate_orchestration(fresh, main)
    assert made.code == files["orchestration/main.cpp"]


def test_an_opaque_function_without_block_ops_has_no_file() -> None:
    """14.4: a function that is not a kernel and launches none gets no file; the error says why."""
    text = SCOPED.replace("        with pl.incore():\n    ", "")
    with pytest.raises(
        ValueError, match="no file to write: 'main' is not a kernel and launches none"
    ):
        codegen.CCECodegen().generate(program(text))


def test_pto_codegen_module(tmp_path: Path) -> None:
    """`pypto.ir.pto_codegen.generate` writes the files of a fresh program, and returns them."""
    names = list(inspect.signature(pto_codegen.generate).parameters)
    assert names == ["program", "output_dir", "skip_ptoas"]
    assert inspect.signature(pto_codegen.generate).parameters["skip_ptoas"].default is False
    files = pto_codegen.generate(program(PARSED), str(tmp_path), skip_ptoas=True)
    assert sorted(files) == ["kernels/aiv/kernel.pto", "orchestration/main.cpp"]
    assert {name: (tmp_path / name).read_text() for name in files} == files


def test_no_message_has_an_address() -> None:
    """7: a difference between two nodes, of any classes, is reported without object addresses."""
    nodes: list[Any] = [make() for make in MADE.values()]
    messages: list[str] = []
    for left, right in itertools.permutations(nodes, 2):
        try:
            ir.assert_structural_equal(left, right)
        except (TypeError, ValueError) as error:
            messages.append(str(error))
    assert len(messages) > 600
    assert [text for text in messages if re.search(r"0x[0-9a-f]{5,}|object at", text)] == []


@pytest.mark.parametrize("kind", [ir.ScalarType(ir.FP32), ir.TensorType([4], ir.FP16)])
def test_the_hash_of_a_free_variable(kind: ir.Type) -> None:
    """7: neither the type nor the initial value of a free variable enters a hash."""
    first = ir.IterArg("carried", ir.ScalarType(ir.INT64), ir.ConstInt(0, ir.INT64))
    other = ir.IterArg("carried", kind, ir.ConstFloat(1.5, ir.FP32))
    assert ir.structural_hash(first) == ir.structural_hash(other)
    named = ir.Var("x", ir.ScalarType(ir.INT64)), ir.Var("y", kind)
    assert ir.structural_hash(named[0], True) == ir.structural_hash(named[1], True)
