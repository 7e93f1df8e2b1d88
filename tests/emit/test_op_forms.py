"""The text of ops that is not simply their operands: both targets, statement by statement."""

from __future__ import annotations

import re

import pytest

import pypto.language as pl
from pypto import passes
from pypto._src.emit.cpp.generate import CodeGenerator
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import EmitError, OpError
from pypto._src.ir.roles import kernels
from pypto._src.ir.stmts import Program
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager

HEAD = """
@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, x: pl.Tensor[[16, 128], pl.FP32], w: pl.Tensor[[128, 32], pl.FP32],
        r: pl.Tensor[[1, 128], pl.FP32], b: pl.Tensor[[1, 32], pl.FP32],
        out: pl.InOut[pl.Tensor[[16, 128], pl.FP32]], column: pl.InOut[pl.Tensor[[16, 1], pl.FP32]],
        vector: pl.InOut[pl.Tensor[[16], pl.FP32]], line: pl.InOut[pl.Tensor[[1, 128], pl.FP32]],
        short: pl.InOut[pl.Tensor[[1, 32], pl.FP32]], block: pl.InOut[pl.Tensor[[16, 32], pl.FP32]],
    ):
"""
TILE = "t = pl.load(x, [0, 0], [16, 128])\n"
LINE = "v = pl.load(r, [0, 0], [1, 128])\n"
COLUMN = "c = pl.row_max(t, pl.create_tile([16, 128], pl.FP32))\n"
STAGED = """\
am = pl.load({}, [0, 0], [{}, 128], target_memory=pl.MemorySpace.Mat)
wm = pl.load(w, [0, 0], [128, 32], target_memory=pl.MemorySpace.Mat)
bm = pl.load(b, [0, 0], [1, 32], target_memory=pl.MemorySpace.Mat)
a = pl.move(am, pl.MemorySpace.Left)
m = pl.move(wm, pl.MemorySpace.Right)
bias = pl.move(bm, pl.MemorySpace.Bias)
"""
MATRIX, VECTOR = STAGED.format("x", 16), STAGED.format("r", 1)
OUT = "pl.store(y, [0, 0], [16, 128], out)"
BLOCK = "pl.store(y, [0, 0], [16, 32], block)"
SHORT = "pl.store(y, [0, 0], [1, 32], short)"

# (statements; lines of the dialect from the op on; lines of C++)
FORMS: dict[str, tuple[str, list[str], list[str]]] = {
    "col_expand": (
        TILE + LINE + "y = pl.col_expand(t, v)\n" + OUT,
        ["pto.tcolexpand ins(_ : 1x128) outs(_ : 16x128)"],
        ["TCOLEXPAND(y, v);"],
    ),
    "row_expand": (
        TILE + "y = pl.row_expand(t)\n" + OUT,
        ["pto.trowexpand ins(_ : 16x128) outs(_ : 16x128)"],
        ["TROWEXPAND(y, t);"],
    ),
    "row_expand of a column": (
        TILE + COLUMN + "y = pl.row_expand(c)\npl.store(y, [0, 0], [16, 1], column)",
        ["pto.tmov ins(_ : 16x1) outs(_ : 16x1)"],
        ["TMOV(y, c);"],
    ),
    "vec_move": (
        TILE + "y = pl.vec_move(t)\n" + OUT,
        ["pto.tmov ins(_ : 16x128) outs(_ : 16x128)"],
        ["TMOV(y, t);"],
    ),
    "fillpad": (
        TILE + "y = pl.fillpad(t)\n" + OUT,
        [
            "_ = pto.treshape _ : 16x128 -> 16x128 pad=1",
            "pto.tfillpad ins(_ : 16x128) outs(_ : 16x128 pad=1)",
        ],
        [
            "using y_paddedType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1, "
            "SLayout::NoneBox, 512, PadValue::Zero>;",
            "y_paddedType y_padded(16, 128);",
            "TRESHAPE(y_padded, y);",
            "TFILLPAD(y_padded, t);",
        ],
    ),
    "sum of columns": (
        TILE + "y = pl.sum(t, axis=0, keepdim=True)\npl.store(y, [0, 0], [1, 128], line)",
        ["pto.tcolsum ins(_ : 16x128) outs(_ : 1x128)"],
        ["TCOLSUM(y, t);"],
    ),
    "largest of columns": (
        TILE + "y = pl.max(t, axis=-2, keepdim=True)\npl.store(y, [0, 0], [1, 128], line)",
        ["pto.tcolmax ins(_ : 16x128) outs(_ : 1x128)"],
        ["TCOLMAX(y, t);"],
    ),
    "smallest of columns": (
        TILE + "y = pl.block.min(t, keepdim=True)\npl.store(y, [0, 0], [1, 128], line)",
        ["pto.tcolmin ins(_ : 16x128) outs(_ : 1x128)"],
        ["TCOLMIN(y, t);"],
    ),
    "sum of rows": (
        TILE + "y = pl.sum(t, axis=1, keepdim=True)\npl.store(y, [0, 0], [16, 1], column)",
        ["pto.trowsum ins(_, _ : 16x128, 16x128) outs(_ : 16x1)"],
        ["TROWSUM(y, t, y_scratch);"],
    ),
    "largest of rows": (
        TILE + "y = pl.max(t, axis=-1)\npl.store(y, [0], [16], vector)",
        [
            "pto.trowmax ins(_, _ : 16x128, 16x128) outs(_ : 16x1)",
            "_ = pto.treshape _ : 16x1 -> 1x16",
        ],
        ["TROWMAX(y_column, t, y_scratch);", "TRESHAPE(y, y_column);"],
    ),
    "matmul_bias": (
        MATRIX + "y = pl.matmul_bias(a, m, bias)\n" + BLOCK,
        ["pto.tmatmul.bias ins(_, _, _ : 16x128, 128x32, 1x32) outs(_ : 16x32)"],
        ["TMATMUL_BIAS(y, a, m, bias);"],
    ),
    "gemv": (
        VECTOR + "y = pl.gemv(a, m)\n" + SHORT,
        ["pto.tgemv ins(_, _ : 1x128, 128x32) outs(_ : 1x32)"],
        ["TGEMV(y, a, m);"],
    ),
    "gemv_bias": (
        VECTOR + "y = pl.gemv_bias(a, m, bias)\n" + SHORT,
        ["pto.tgemv.bias ins(_, _, _ : 1x128, 128x32, 1x32) outs(_ : 1x32)"],
        ["TGEMV_BIAS(y, a, m, bias);"],
    ),
    "gemv_acc": (
        VECTOR + "z = pl.gemv(a, m)\ny = pl.gemv_acc(z, a, m)\n" + SHORT,
        ["pto.tgemv.acc ins(_, _, _ : 1x32, 1x128, 128x32) outs(_ : 1x32)"],
        ["TGEMV_ACC(y, z, a, m);"],
    ),
    "expands": (
        TILE + "y = pl.expands(t, 2)\n" + OUT,
        ["pto.texpands ins(_ : f32) outs(_ : 16x128)"],
        ["TEXPANDS(y, 2.0f);"],
    ),
    "lrelu": (
        TILE + "y = pl.lrelu(t, 0.25)\n" + OUT,
        ["pto.tlrelu ins(_, _ : 16x128, f32) outs(_ : 16x128)"],
        ["TLRELU(y, t, 0.25f);"],
    ),
    "lrelu of halves": (
        TILE + "h = pl.lrelu(pl.cast(t, pl.FP16), 0.25)\ny = pl.cast(h, pl.FP32)\n" + OUT,
        ["pto.tlrelu ins(_, _ : 16x128, f32) outs(_ : 16x128)"],
        ["TLRELU(h, _t0, static_cast<half>(0.25f));"],
    ),
    "subc": (
        TILE + "y = pl.subc(t, t, t)\n" + OUT,
        [
            "pto.tsub ins(_, _ : 16x128, 16x128) outs(_ : 16x128)",
            "pto.tsub ins(_, _ : 16x128, 16x128) outs(_ : 16x128)",
        ],
        ["TSUB(y_part, t, t);", "TSUB(y, y_part, t);"],
    ),
    "addsc": (
        TILE + "y = pl.addsc(t, 2.0, t)\n" + OUT,
        [
            "pto.tadds ins(_, _ : 16x128, f32) outs(_ : 16x128)",
            "pto.tadd ins(_, _ : 16x128, 16x128) outs(_ : 16x128)",
        ],
        ["TADDS(y_part, t, 2.0f);", "TADD(y, y_part, t);"],
    ),
    "cmp": (
        TILE + "y = pl.cmp(t, t, cmp_type=5)\n" + OUT,
        [
            "pto.tcmp ins(_, _ {cmpMode = #pto<cmp ge>} : 16x128, 16x128) outs(_ : 16x128)",
            "pto.texpands ins(_ : f32) outs(_ : 16x128)",
            "pto.texpands ins(_ : f32) outs(_ : 16x128)",
            "pto.tsel ins(_, _, _, _ : 16x128, 16x128, 16x128, 1x16) outs(_ : 16x128)",
        ],
        [
            "y_bits.SetValidCol(16);",
            "TCMP(y_bits, t, t, CmpMode::GE);",
            "TEXPANDS(y_ones, 1.0f);",
            "TEXPANDS(y_zeros, 0.0f);",
            "TSEL(y, y_bits, y_ones, y_zeros, y_scratch);",
        ],
    ),
    "sel": (
        TILE + "u = pl.neg(t)\ny = pl.sel(t, t, u)\n" + OUT,
        [
            "pto.tcmp ins(_, _ {cmpMode = #pto<cmp eq>} : 16x128, 16x128) outs(_ : 16x128)",
            "pto.tsel ins(_, _, _, _ : 16x128, 16x128, 16x128, 1x16) outs(_ : 16x128)",
        ],
        ["TCMP(y_bits, t, y_zeros, CmpMode::EQ);", "TSEL(y, y_bits, u, t, y_scratch);"],
    ),
    "sels of a constant": (
        TILE + "u = pl.neg(t)\ny = pl.sels(t, u, 0)\n" + OUT,
        ["pto.tmov ins(_ : 16x128) outs(_ : 16x128)"],
        ["TMOV(y, u);"],
    ),
    "sels": (
        TILE + "u = pl.neg(t)\ny = pl.sels(t, u, pl.read(x, [0, 0]))\n" + OUT,
        [
            "scf.if _ {",
            "pto.tmov ins(_ : 16x128) outs(_ : 16x128)",
            "} else {",
            "pto.tmov ins(_ : 16x128) outs(_ : 16x128)",
            "}",
        ],
        ["if (_t0 != 0.0f) {", "TMOV(y, t);", "} else {", "TMOV(y, u);", "}"],
    ),
    "view": (
        TILE + "y = pl.view(t, [4, 128], [8, 0])\npl.store(y, [0, 0], [4, 128], out)",
        ["_ = pto.subset _[%c8, %c0] sizes [4, 128] : 16x128"],
        ["TSUBVIEW(y, t, 8, 0);"],
    ),
}


def program(body: str) -> Program:
    lines = [f"        {line}\n" for line in body.splitlines()]
    return pl.parse_program(HEAD + "".join(lines))


def short_types(text: str) -> str:
    """Reduce tile types to their shapes, with the padding if there is one."""

    def shape(match: re.Match[str]) -> str:
        rows, columns, pad = match.groups()
        return f"{rows}x{columns}" + (f" pad={pad}" if pad != "0" else "")

    pattern = r"!pto\.tile_buf<[^>]*rows=(\d+), cols=(\d+), [^>]*pad=(\d)>"
    return re.sub(pattern, shape, text)


def dialect(source: Program, strategy: OptimizationStrategy) -> list[str]:
    """Return the operations of the dialect, one per line, without the names of values."""
    text = PTOCodegen().generate(PassManager(strategy).run_passes(source))
    joined = re.sub(r"\n +(?=outs\(|: !pto)", " ", text)
    nameless = re.sub(r"%(?!c\d)\w+", "_", short_types(joined))
    return [line.strip() for line in nameless.splitlines()]


def holds(lines: list[str], wanted: list[str]) -> bool:
    """True if ``wanted`` occurs in order in ``lines``, adjacent except for flags and barriers."""
    ignored = re.compile(r"$|//|(pto\.)?(set_|wait_|pipe_|barrier)")
    lines = [line for line in lines if not ignored.match(line)]
    size = len(wanted)
    return any(lines[at : at + size] == wanted for at in range(len(lines) - size + 1))


@pytest.mark.parametrize("strategy", list(OptimizationStrategy), ids=lambda s: s.name)
@pytest.mark.parametrize("name", FORMS)
def test_form(name: str, strategy: OptimizationStrategy) -> None:
    """The op is written as the assembler and the headers accept it."""
    body, in_dialect, in_cpp = FORMS[name]
    source = program(body)
    lines = dialect(source, strategy)
    assert holds(lines, in_dialect), "\n".join(lines)
    [kernel] = kernels(PassManager().run_passes(source))
    text = CodeGenerator(comments=False).generate(kernel)
    assert holds([line.strip() for line in text.splitlines()], in_cpp), text


def test_operands_of_another_memory_are_typed_by_it() -> None:
    """A row is plain in Mat, not rounded up in Left, and the bias has its own memory."""
    text = PTOCodegen().generate(
        PassManager(OptimizationStrategy.PTOAS).run_passes(program(FORMS["gemv_bias"][0]))
    )
    shown = {
        "loc=mat, dtype=f32, rows=1, cols=128, v_row=1, v_col=128, blayout=row_major, "
        "slayout=none_box, fractal=512, pad=0",
        "loc=left, dtype=f32, rows=1, cols=128, v_row=1, v_col=128, blayout=row_major, "
        "slayout=row_major, fractal=512, pad=0",
        "loc=bias, dtype=f32, rows=1, cols=32, v_row=1, v_col=32, blayout=row_major, "
        "slayout=none_box, fractal=512, pad=0",
        "loc=acc, dtype=f32, rows=1, cols=32, v_row=1, v_col=32, blayout=col_major, "
        "slayout=row_major, fractal=1024, pad=0",
    }
    allocated = set(re.findall(r"alloc_tile : !pto\.tile_buf<([^>]*)>", text))
    assert shown <= allocated


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "v = pl.create_tile([128], pl.UINT32)\ns = pl.sum(v, axis=0)\n"
            "y = pl.full([16, 128], pl.FP32, pl.cast(s, pl.FP32))\n" + OUT,
            "pl.sum of a tile of one dimension is a number, and numbers are read from elements of "
            "INT8, INT16, INT32, FP16, FP32, BF16, v has UINT32",
        ),
        (
            "y = pl.load(r, [0, 0], [1, 128], target_memory=pl.MemorySpace.Mat)\n"
            "pl.store(y, [0, 0], [1, 128], line)",
            "pl.store takes y from Vec or Acc memory, it is in Mat",
        ),
        (
            "t = pl.load(r, [0, 0], [1, 128], target_memory=pl.MemorySpace.Mat)\n"
            "y = pl.exp(t)\npl.store(y, [0, 0], [1, 128], line)",
            "pl.exp takes t from Vec memory, it is in Mat",
        ),
    ],
)
def test_what_no_target_executes(body: str, message: str) -> None:
    """What only the whole kernel shows is rejected before memory is planned, at its line."""
    with pytest.raises(OpError) as caught:
        PassManager().run_passes(program(body))
    assert caught.value.message == message
    assert caught.value.location.begin_line > 0


def test_columns_of_several_rows_are_legalized_first() -> None:
    """A region that no address and length describe has no text of its own, in either language."""
    source = program(
        "t = pl.load(x, [0, 0], [16, 128])\ny = pl.view(t, [16, 64], [0, 64])\n"
        "pl.store(y, [0, 0], [16, 64], out)"
    )
    placed = source
    for make in (passes.convert_to_ssa, passes.flatten_call_expr, passes.init_mem_ref):
        placed = make()(placed)
    placed = passes.allocate_memory_addr()(placed)
    [kernel] = kernels(placed)
    for emit in (lambda: PTOCodegen().generate(placed), lambda: CodeGenerator().generate(kernel)):
        with pytest.raises(EmitError, match=r"block\.view is several instructions") as caught:
            emit()
        assert caught.value.hint == "run passes.legalize_tiles() first"
