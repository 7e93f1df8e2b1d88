"""The two programs of document 004, verbatim, and texts shared by the tests here."""

from __future__ import annotations

from pypto import ir

TENSORS = """\
program.module @main {
  program.entry @test_value
  attr arch = "PTOv2"
  attr enable_debug = true
  attr tile_default = { M=16, N=16, K=16 }
  func.func @test_value(%input_3: tensor<[%b_1, 128], fp32>, %scale1_4: fp32, %len_5: fp32, %output_8: tensor<[%b_1, 128], fp32>) {
    statement.op {
        %loop_tile_11 = tensor.view %input_3 : (tensor<[%b_1, 128], fp32>) -> tensor<[1, 128], fp32> {shape=[1, 128], offset=[0, 0]}
        %mul1_res_12 = tensor.mul %loop_tile_11, %scale1_4 : (tensor<[1, 128], fp32>, %scale1_4) -> tensor<[1, 128], fp32>
        %mul2_res_14 = tensor.mul %mul1_res_12, %const_pi_13 : (tensor<[1, 128], fp32>, 3.14) -> tensor<[1, 128], fp32>
        %output_15 = tensor.assemble %mul2_res_14, %output_8 : (tensor<[1, 128], fp32>, tensor<[%b_1, 128], fp32>) -> tensor<[1, 128], fp32> {offset=[0, 0]}
    }
    statement.return
  }
  // func.kind = control_flow
}
"""  # noqa: E501

TILES = """\
program.module @test_type_program {
  program.entry @test_type_complete
  attr arch = "PTOv2"
  attr enable_debug = true
  attr test_type = "tile_scalar_only"
  attr tile_default = { M=16, N=16, K=16 }
  func.func @test_type_complete(%input_tile_1: tile<[16, 32], [16, 32], fp32> #in, %scale_4: fp32 #in, %output_tile_5: tile<[16, 32], [16, 32], fp32> #out) -> (fp64) {
    statement.op {
        %const_2_9 = 2.0 : fp64
        %const_3_10 = 3.0 : fp64
        %tile_mul_11 = tile.OP_MUL %input_tile_1, %scale_4 : (tile<[16, 32], [16, 32], fp32>, fp32) -> tile<[16, 32], [16, 32], fp32>
        %tile_add_14 = tile.OP_ADD %tile_mul_11, %const_2_9 : (tile<[16, 32], [16, 32], fp32>, fp64) -> tile<[16, 32], [16, 32], fp32>
        %tile_sub_17 = tile.OP_SUB %tile_add_14, %const_3_10 : (tile<[16, 32], [16, 32], fp32>, fp64) -> tile<[16, 32], [16, 32], fp32>
        %tile_div_20 = tile.OP_DIV %tile_sub_17, %scale_4 : (tile<[16, 32], [16, 32], fp32>, fp32) -> tile<[16, 32], [16, 32], fp32>
        %output_tile_21 = tile.assemble %tile_div_20, %output_tile_5 : (tile<[16, 32], [16, 32], fp32>, tile<[16, 32], [16, 32], fp32>) -> tile<[16, 32], [16, 32], fp32> {offset=[0, 0]}
        %scalar1_23 = 10.5 : fp64
        %scalar2_24 = 5.2 : fp64
        %scalar_add_25 = tensor.OP_SCALAR_ADD %scalar1_23, %scalar2_24 : (fp64, fp64) -> fp64
        %scalar_mul_26 = tensor.OP_SCALAR_MUL %scalar_add_25, %const_2_9 : (fp64, fp64) -> fp64
    }
    statement.return %scalar_mul_26
  }
  // func.kind = kernel

}
"""  # noqa: E501

DOCUMENT = {"tensors": TENSORS, "tiles": TILES}

TILE = "tile<[16, 32], [16, 32], fp32>"
SIGNATURE = f"%x: {TILE}, %s: fp32, %n: int64, %c: bool"


def module(body: str, signature: str = SIGNATURE, results: str = "", kind: str = "dataflow") -> str:
    """Return the text of a module with one function @f, whose body is ``body`` unindented."""
    arrow = f" -> ({results})" if results else ""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return (
        "program.module @m {\n"
        "  program.entry @f\n"
        f"  func.func @f({signature}){arrow} {{\n"
        f"{lines}"
        "  }\n"
        f"  // func.kind = {kind}\n" + ("\n" if kind == "kernel" else "") + "}\n"
    )


def ops(*lines: str, signature: str = SIGNATURE) -> str:
    """Return the text of a module whose function has these ops and returns nothing."""
    inside = "".join(f"    {line}\n" for line in lines)
    return module(f"statement.op {{\n{inside}}}\nstatement.return", signature)


def check(program: ir.Program, form: ir.Program | None = None) -> str:
    """Compare a program with what its text is parsed to, and the reverse; return the text.

    ``form`` is the statement form of ``program``, if it is not in that form itself.
    """
    text = ir.to_statement_text(program)
    again = ir.from_statement_text(text)
    ir.assert_structural_equal(program if form is None else form, again, enable_auto_mapping=True)
    assert ir.to_statement_text(again) == text
    return text
