"""Document 000: its code blocks, tables and rules, each compared or executed.

Where the document gives the text of a kernel, it is compared exactly. Where our text differs
from the document's, `DIFFERENCES` has the difference, with the reason that forces it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pytest

from pypto._src.dtypes import DataType
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import MemRef, TensorType, TileType
from pypto._src.ir.enums import FunctionType, MemorySpace, ParamDirection, PipeType
from pypto._src.ir.exprs import Expr, IterArg, Var
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    ReturnStmt,
    SeqStmts,
    Stmt,
    YieldStmt,
)
from pypto._src.ir.types import Type, scalar_type
from pypto._src.ops import memory, system
from pypto._src.ops.elementwise import add, adds, mul, sqrt
from pypto.codegen import (
    CodeContext,
    CodeEmitter,
    CodeGenerator,
    ISAMapper,
    TileCollector,
    TypeConverter,
)
from tests.emit.kernels import BlockOfRows, SimpleAdd
from tests.emit.native import lowered, run, text_of


class Difference(NamedTuple):
    """A form of the document that is written differently."""

    section: str
    document: str
    ours: str
    reason: str


DIFFERENCES = (
    Difference(
        "Operation Mapping, block.load",
        "TASSIGN(inputGlobal, input + first_iter * 128 + 0);",
        "TASSIGN(input_32x128Global, input + first_iter * 128 + 0);",
        "TLOAD takes a GlobalTensor whose shape is the tile's: a part has an object of its own",
    ),
    Difference(
        "Operation Mapping, block.load with whole tensors",
        "TASSIGN(xGlobal, x + 0 * 64 + 0);",
        "TLOAD(tile_x, xGlobal);",
        "the document's own kernel (Phase 2) loads a whole tensor without it",
    ),
    Difference(
        "TypeConverter, BF16",
        "__gm__ bfloat16* input",
        "__gm__ bfloat16_t* input",
        "the tile library's type has this name, and no other",
    ),
    Difference(
        "ForStmt, iteration arguments",
        "first_iter = first_0;",
        "int64_t first_iter = first_0;",
        "C++ declares a variable before it is assigned",
    ),
)
"""Forced differences, shown by the kernel `BlockOfRows` (the second one by `SimpleAdd`)."""


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda d: d.section)
def test_forced_differences(difference: Difference) -> None:
    """Where document and tile library disagree, the text follows the library."""
    program = SimpleAdd if "whole tensors" in difference.section else BlockOfRows
    lines = [line.strip() for line in text_of(lowered(program)).splitlines()]
    assert [line for line in lines if line.startswith(difference.ours)], difference.reason
    assert not [line for line in lines if line.startswith(difference.document)]


# --------------------------------------------------------------------------------------------
# Core components
# --------------------------------------------------------------------------------------------


def test_code_emitter_example() -> None:
    """The emitter's example gives the text in its comment."""
    emitter = CodeEmitter()
    emitter.EmitLine("void myFunction() {")
    emitter.IncreaseIndent()
    emitter.EmitLine("int x = 42;")
    emitter.DecreaseIndent()
    emitter.EmitLine("}")
    assert emitter.GetCode() == "void myFunction() {\n    int x = 42;\n}\n"


def test_code_emitter_block_is_emitted_as_is() -> None:
    """EmitBlock adds no indentation to the lines of a block."""
    emitter = CodeEmitter()
    emitter.IncreaseIndent()
    emitter.EmitBlock("a;\n  b;")
    emitter.EmitLine("c;")
    assert emitter.GetCode() == "a;\n  b;\n    c;\n"


def var(name: str, kind: Type | None = None) -> Var:
    return Var(name, kind or scalar_type(DataType.INT64))


def test_context_usage_pattern() -> None:
    """A name is sanitized, registered, and looked up again."""
    context, ir_var = CodeContext(), var("a.b c")
    cpp_name = context.SanitizeName(ir_var)
    context.RegisterVar(ir_var, cpp_name)
    assert context.GetVarName(ir_var) == cpp_name == "a_b_c"


@pytest.mark.parametrize(
    ("name", "cpp"),
    [("x", "x"), ("9lives", "_9lives"), ("a-b", "a_b"), ("é", "_"), ("int", "int_1"), ("", "_")],
)
def test_sanitised_names_are_identifiers(name: str, cpp: str) -> None:
    """Characters that C++ does not allow are replaced; keywords get a number."""
    assert CodeContext().SanitizeName(var(name)) == cpp


def test_sanitising_registers_nothing() -> None:
    """SanitizeName is const: called twice, it returns the same, until the name is registered."""
    context, first, second = CodeContext(), var("x"), var("x")
    assert context.SanitizeName(first) == context.SanitizeName(second) == "x"
    context.RegisterVar(first, "x")
    assert context.SanitizeName(second) == "x_1"


def test_a_variable_is_registered_once() -> None:
    """RegisterVar rejects a variable that already has a name."""
    context, ir_var = CodeContext(), var("x")
    context.RegisterVar(ir_var, "x")
    with pytest.raises(ValueError, match="variable 'x' is registered already as 'x'"):
        context.RegisterVar(ir_var, "y")


def test_an_unregistered_variable_has_no_name() -> None:
    """GetVarName rejects a variable without a name; so does GetPointer a tensor."""
    context = CodeContext()
    with pytest.raises(ValueError, match="variable 'x' is used before it has a value"):
        context.GetVarName(var("x"))
    with pytest.raises(ValueError, match="the tensor 'xGlobal' has no pointer"):
        context.GetPointer("xGlobal")


def test_clear_forgets_everything() -> None:
    """After Clear a variable can be registered again, and pointers are unknown."""
    context, ir_var = CodeContext(), var("x")
    context.RegisterVar(ir_var, "x")
    context.RegisterPointer("xGlobal", "x")
    context.Clear()
    assert context.SanitizeName(ir_var) == "x"
    context.RegisterVar(ir_var, "x")
    with pytest.raises(EmitError):
        context.GetPointer("xGlobal")


def test_pointer_tracking_example() -> None:
    """Addresses are computed from the raw pointer of outputGlobal."""
    context, emitter = CodeContext(), CodeEmitter()
    context.RegisterPointer("outputGlobal", "output")
    ptr = context.GetPointer("outputGlobal")
    offset = "tile_idx * 128 + 0"
    emitter.EmitLine("TASSIGN(outputGlobal, " + ptr + " + " + offset + ");")
    assert emitter.GetCode() == "TASSIGN(outputGlobal, output + tile_idx * 128 + 0);\n"


def test_pointer_inheritance_example() -> None:
    """A carried tensor takes over its initial value's pointer, a branch's result its value's."""
    context, init, carried = CodeContext(), var("output"), var("output_iter")
    context.RegisterVar(init, "outputGlobal")
    context.RegisterPointer("outputGlobal", "output")
    context.RegisterVar(carried, "output_iter")
    context.RegisterPointer("output_iter", context.GetPointer(context.GetVarName(init)))
    context.RegisterPointer("output_final", context.GetPointer(context.GetVarName(carried)))
    assert context.GetPointer("output_iter") == context.GetPointer("output_final") == "output"


# The table says bfloat16; see DIFFERENCES.
DATA_TYPES = [
    (DataType.FP32, "float"),
    (DataType.FP16, "half"),
    (DataType.INT32, "int32_t"),
    (DataType.INT64, "int64_t"),
    (DataType.BOOL, "bool"),
    (DataType.BF16, "bfloat16_t"),
]


@pytest.mark.parametrize(("dtype", "text"), DATA_TYPES, ids=lambda v: str(v))
def test_data_type_table(dtype: DataType, text: str) -> None:
    """Each row of the table of element types."""
    assert TypeConverter().ConvertDataType(dtype) == text


@pytest.mark.parametrize(
    ("space", "annotation"),
    [
        (MemorySpace.DDR, "__gm__"),
        (MemorySpace.Vec, ""),
        (MemorySpace.Left, ""),
        (MemorySpace.Right, ""),
        (MemorySpace.Acc, ""),
    ],
)
def test_memory_space_table(space: MemorySpace, annotation: str) -> None:
    """Global memory is annotated, on-chip memory (UB, L0A, L0B, L0C) is not."""
    assert TypeConverter().ConvertMemorySpace(space) == annotation


def test_shape_and_stride_examples() -> None:
    """Shapes and row-major strides are padded on the left to five dimensions."""
    converter = TypeConverter()
    assert converter.GenerateShapeType([128, 64]) == "Shape<1, 1, 1, 128, 64>"
    assert converter.GenerateStrideType([128, 64]) == "Stride<1, 1, 1, 64, 1>"
    assert converter.GenerateStrideType([2, 3, 4, 5, 6]) == "Stride<360, 120, 30, 6, 1>"


# --------------------------------------------------------------------------------------------
# Operation mapping
# --------------------------------------------------------------------------------------------

# Both tables of the document. `block.adds` and the like are the current names of its rows.
OPERATIONS: list[tuple[str, dict[str, Any], str]] = [
    ("block.load", {}, "TLOAD"),
    ("block.store", {}, "TSTORE"),
    ("block.add", {}, "TADD"),
    ("block.sub", {}, "TSUB"),
    ("block.mul", {}, "TMUL"),
    ("block.div", {}, "TDIV"),
    ("block.adds", {}, "TADDS"),
    ("block.subs", {}, "TSUBS"),
    ("block.muls", {}, "TMULS"),
    ("block.divs", {}, "TDIVS"),
    ("block.sqrt", {}, "TSQRT"),
    ("block.sum", {"axis": 0}, "TCOLSUM"),
    ("block.sum", {"axis": 1}, "TROWSUM"),
    ("system.sync_src", {}, "set_flag"),
    ("system.sync_dst", {}, "wait_flag"),
    ("system.bar_v", {}, "pipe_barrier"),
    ("system.bar_m", {}, "pipe_barrier"),
    ("system.bar_all", {}, "pipe_barrier"),
]


@pytest.mark.parametrize(("name", "attributes", "instruction"), OPERATIONS, ids=lambda v: str(v))
def test_operation_mapping_table(name: str, attributes: dict[str, Any], instruction: str) -> None:
    """Each row of the mapping table."""
    assert ISAMapper().GetInstruction(name, **attributes) == instruction


def test_sum_needs_an_axis() -> None:
    """The instruction of block.sum depends on its axis."""
    with pytest.raises(ValueError, match=r"the instruction of block\.sum depends on 'axis'"):
        ISAMapper().GetInstruction("block.sum")


def test_unknown_operations_have_no_instruction() -> None:
    """A name that is not an op is rejected."""
    with pytest.raises(ValueError, match=r"block\.frobnicate"):
        ISAMapper().GetInstruction("block.frobnicate")


SHAPE = [128, 64]


def tile(name: str, address: int, shape: list[int] | None = None) -> Var:
    """Return a tile variable at an address of vector memory."""
    shape = shape or SHAPE
    place = MemRef(MemorySpace.Vec, address, shape[0] * shape[1] * 4)
    return Var(name, TileType(shape, DataType.FP32, place))


def tensors(*names: str, shape: list[int] | None = None) -> list[Var]:
    return [Var(name, TensorType(shape or SHAPE, DataType.FP32)) for name in names]


def kernel(params: list[Var], body: list[Stmt], *results: Expr, name: str = "k") -> Function:
    """Return a kernel whose last parameter is its output."""
    given: list[Any] = [*params[:-1], (params[-1], ParamDirection.Out)]
    stmts = [*body, ReturnStmt(list(results))]
    types = [r.type for r in results]
    return Function(name, given, types, SeqStmts(stmts), type=FunctionType.InCore)


def load(source: Var, rows: int = 128, columns: int = 64) -> Any:
    return memory.load(source, [0, 0], [rows, columns])  # pyright: ignore[reportArgumentType]


def store(source: Var, target: Expr, rows: int = 128, columns: int = 64) -> Any:
    return memory.store(source, [0, 0], [rows, columns], target)  # pyright: ignore[reportArgumentType]


def op(call: Any) -> Any:
    return call


def body_lines(function: Function) -> list[str]:
    """Return the lines of the body, without the function's own indentation."""
    body = text_of(function).split("    // Function body\n")[1].removesuffix("}\n")
    return [line.removeprefix("    ") for line in body.splitlines()]


def test_block_load_and_store_examples() -> None:
    """block.load and block.store point a GlobalTensor at row * stride + column, then transfer."""
    source, output = tensors("input", "output", shape=[64, 128])
    tile_z = tile("tile_z", 0, [32, 128])
    result = Var("output_new", output.type)
    function = kernel(
        [source, output],
        [
            AssignStmt(tile_z, load(source, 32, 128)),
            AssignStmt(result, store(tile_z, output, 32, 128)),
        ],
        result,
    )
    assert body_lines(function) == [
        "TASSIGN(input_32x128Global, input + 0 * 128 + 0);",
        "TLOAD(tile_z, input_32x128Global);",
        "TASSIGN(output_32x128Global, output + 0 * 128 + 0);",
        "TSTORE(output_32x128Global, tile_z);",
    ]


tile_x, tile_y, tile_z = tile("tile_x", 0), tile("tile_y", 0x8000), tile("tile_z", 0x10000)
EXAMPLES: list[tuple[Var, Any, str]] = [
    (tile_z, lambda: op(add)(tile_x, tile_y), "TADD(tile_z, tile_x, tile_y);"),
    (tile_z, lambda: op(mul)(tile_x, tile_y), "TMUL(tile_z, tile_x, tile_y);"),
    (tile_z, lambda: op(sqrt)(tile_x), "TSQRT(tile_z, tile_x);"),
    (tile_z, lambda: op(adds)(tile_x, 2.0), "TADDS(tile_z, tile_x, 2.0f);"),
]


@pytest.mark.parametrize(("target", "call", "line"), EXAMPLES, ids=[e[2] for e in EXAMPLES])
def test_compute_examples(target: Var, call: Any, line: str) -> None:
    """An assigned op is one instruction with the destination first."""
    x, output = tensors("x", "output")
    body: list[Stmt] = [AssignStmt(tile_x, load(x)), AssignStmt(tile_y, load(x))]
    lines = body_lines(kernel([x, output], [*body, AssignStmt(target, call())]))
    assert lines[2:] == [line]


def flag(which: Any, first: PipeType, second: PipeType) -> EvalStmt:
    return EvalStmt(which(set_pipe=first, wait_pipe=second, event_id=0))


SYNCHRONIZATION: list[tuple[EvalStmt, str]] = [
    (
        flag(system.sync_src, PipeType.MTE2, PipeType.V),
        "set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);",
    ),
    (
        flag(system.sync_dst, PipeType.MTE2, PipeType.V),
        "wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);",
    ),
    (EvalStmt(op(system.bar_v)()), "pipe_barrier(PIPE_V);"),
    (EvalStmt(op(system.bar_m)()), "pipe_barrier(PIPE_M);"),
    (EvalStmt(op(system.bar_all)()), "pipe_barrier(PIPE_ALL);"),
]


@pytest.mark.parametrize(
    ("stmt", "line"), SYNCHRONIZATION, ids=[line for _, line in SYNCHRONIZATION]
)
def test_synchronization_examples(stmt: EvalStmt, line: str) -> None:
    """Flags and barriers are translated one by one; nothing is inferred."""
    assert body_lines(kernel(tensors("x"), [stmt])) == [line]


# --------------------------------------------------------------------------------------------
# The three phases
# --------------------------------------------------------------------------------------------

# Document 000, "Three-Phase Generation": the examples of phases 1, 2 and 3, in sequence.
DOCUMENT = """\
__aicore__ __attribute__((always_inline)) void runSimpleAdd(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* y = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* output = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 128, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using yShapeDim5 = Shape<1, 1, 1, 128, 64>;
    using yStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using yGlobalType = GlobalTensor<float, yShapeDim5, yStrideDim5>;
    yGlobalType yGlobal(y);

    using outputShapeDim5 = Shape<1, 1, 1, 128, 64>;
    using outputStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outputGlobalType = GlobalTensor<float, outputShapeDim5, outputStrideDim5>;
    outputGlobalType outputGlobal(output);

    // Tile type definitions and allocations
    using tile_xType = Tile<TileType::Vec, float, 128, 64, BLayout::RowMajor, -1, -1>;
    tile_xType tile_x(128, 64);
    TASSIGN(tile_x, 0x0);

    using tile_yType = Tile<TileType::Vec, float, 128, 64, BLayout::RowMajor, -1, -1>;
    tile_yType tile_y(128, 64);
    TASSIGN(tile_y, 0x10000);

    using tile_zType = Tile<TileType::Vec, float, 128, 64, BLayout::RowMajor, -1, -1>;
    tile_zType tile_z(128, 64);
    TASSIGN(tile_z, 0x20000);

    // Function body
    TLOAD(tile_x, xGlobal);
    TLOAD(tile_y, yGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TADD(tile_z, tile_x, tile_y);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outputGlobal, tile_z);
}
"""


def simple_add() -> Function:
    """Return the document's kernel with its addresses and flags, statement by statement."""
    x, y, output = tensors("x", "y", "output")
    tile_x, tile_y, tile_z = tile("tile_x", 0), tile("tile_y", 0x10000), tile("tile_z", 0x20000)
    result = Var("result", output.type)
    return kernel(
        [x, y, output],
        [
            AssignStmt(tile_x, load(x)),
            AssignStmt(tile_y, load(y)),
            flag(system.sync_src, PipeType.MTE2, PipeType.V),
            flag(system.sync_dst, PipeType.MTE2, PipeType.V),
            AssignStmt(tile_z, op(add)(tile_x, tile_y)),
            flag(system.sync_src, PipeType.V, PipeType.MTE3),
            flag(system.sync_dst, PipeType.V, PipeType.MTE3),
            AssignStmt(result, store(tile_z, output)),
        ],
        result,
        name="simple_add",
    )


def test_simple_add_is_the_documents_text() -> None:
    """Document 000's kernel, built by hand as described, has exactly its text."""
    assert text_of(simple_add()) == DOCUMENT


def test_simple_add_from_the_language() -> None:
    """From Python source, only addresses differ, and the kernel waits for its store at the end."""
    expected = DOCUMENT.replace("0x10000", "0x8000").replace("0x20000", "0x10000")
    expected = expected.replace("tile_z);\n}", "tile_z);\n    pipe_barrier(PIPE_ALL);\n}")
    assert text_of(lowered(SimpleAdd)) == expected


def test_simple_add_computes_the_sum() -> None:
    """The document's text, compiled against the CPU headers, adds."""
    x, y = (np.random.default_rng(s).random((128, 64), np.float32) for s in (1, 2))
    out = np.zeros_like(x)
    run(lowered(SimpleAdd), x, y, out)
    np.testing.assert_array_equal(out, x + y)


def test_complete_example() -> None:
    """The document's second text of simple_add: the same function without the type definitions."""
    wanted = """\
__aicore__ __attribute__((always_inline)) void runSimpleAdd(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* y = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* output = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    // (type definitions would go here)

    // Function body
    TLOAD(tile_x, xGlobal);
    TLOAD(tile_y, yGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TADD(tile_z, tile_x, tile_y);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outputGlobal, tile_z);
}
"""
    text = text_of(simple_add())
    definitions = re.compile(
        r"(?<=declarations\n)    using xShape.*?(?=    // Function body)", re.S
    )
    placeholder = "    // (type definitions would go here)\n\n"
    assert definitions.sub(placeholder, text, count=1) == wanted


def test_basic_usage() -> None:
    """A generator turns a function into text: the document's Generate."""
    assert CodeGenerator(comments=False).Generate(simple_add()) == DOCUMENT


def test_memory_address_example() -> None:
    """A tile with a MemRef is assigned its address, in hexadecimal."""
    tile_a = tile("tile_a", 0x10000, [64, 64])
    [x] = tensors("x", shape=[64, 64])
    text = text_of(kernel([x], [AssignStmt(tile_a, load(x, 64, 64))]))
    assert text.split("    // Tile type definitions and allocations\n")[1].split("\n\n")[0] == (
        "    using tile_aType = Tile<TileType::Vec, float, 64, 64, BLayout::RowMajor, -1, -1>;\n"
        "    tile_aType tile_a(64, 64);\n"
        "    TASSIGN(tile_a, 0x10000);"
    )


def test_without_a_memref_nothing_is_assigned() -> None:
    """A tile without MemRef is declared without TASSIGN."""
    tile_a = Var("tile_a", TileType([64, 64], DataType.FP32))
    [x] = tensors("x", shape=[64, 64])
    text = text_of(kernel([x], [AssignStmt(tile_a, load(x, 64, 64))]))
    assert "tile_aType tile_a(64, 64);\n" in text
    assert "TASSIGN" not in text


def test_parameters_are_registered_with_a_suffix() -> None:
    """The raw pointer has the parameter's name, the GlobalTensor the suffix Global."""
    [input_a] = tensors("input_a")
    lines = text_of(kernel([input_a], [])).splitlines()
    assert "    __gm__ float* input_a = reinterpret_cast<__gm__ float*>(args[0]);" in lines
    assert "    input_aGlobalType input_aGlobal(input_a);" in lines


# --------------------------------------------------------------------------------------------
# Expressions
# --------------------------------------------------------------------------------------------


def test_dual_mode() -> None:
    """A call becomes a statement with its destination; a scalar is inlined where it is used."""
    i, j = var("i"), var("j")
    [out] = tensors("out", shape=[4, 128])
    row = tile("row", 0, [1, 64])
    x = Var("x", TensorType([4, 128], DataType.FP32))
    offset: Any = i * 128 + j
    move: Any = memory.load(x, [offset, 0], [1, 64])  # pyright: ignore[reportArgumentType]
    doubled = tile("tile_z", 0x100, [1, 64])
    function = kernel(
        [x, i, j, out], [AssignStmt(row, move), AssignStmt(doubled, op(add)(row, row))]
    )
    assert body_lines(function) == [
        "TASSIGN(x_1x64Global, x + (i * 128 + j) * 128 + 0);",
        "TLOAD(row, x_1x64Global);",
        "TADD(tile_z, row, row);",
    ]


def test_user_mistakes_are_value_errors() -> None:
    """What a user can cause raises a ValueError with a location, never an internal error."""
    x = Var("x", TensorType([-1, 64], DataType.FP32))
    with pytest.raises(ValueError, match="has a dimension without a name"):
        text_of(kernel([x], []))


# --------------------------------------------------------------------------------------------
# Control flow
# --------------------------------------------------------------------------------------------


def test_simple_for_loop() -> None:
    """A loop without carried values is a C++ loop over an int64_t."""
    start, stop, i = var("start"), var("stop"), var("i")
    [out] = tensors("out")
    barrier = EvalStmt(op(system.bar_v)())
    loop = ForStmt(i, start, stop, 2, [], barrier, [])
    assert body_lines(kernel([start, stop, out], [loop])) == [
        "for (int64_t i = start; i < stop; i += 2) {",
        "    pipe_barrier(PIPE_V);",
        "}",
    ]


def test_for_loop_with_iteration_arguments() -> None:
    """A carried scalar is one variable: set before, assigned by yield, read after by its name."""
    init_value, i = var("init_value"), var("i")
    total = IterArg("sum", init_value.type, init_value)
    yielded_value, result = var("yielded_value"), var("result")
    x, out = tensors("x", "out")
    row = tile("row", 0, [1, 64])
    inside: Any = total + i
    loop = ForStmt(
        i,
        0,
        4,
        1,
        [total],
        SeqStmts([AssignStmt(yielded_value, inside), YieldStmt([yielded_value])]),
        [result],
    )
    after: Any = memory.load(x, [result, 0], [1, 64])  # pyright: ignore[reportArgumentType]
    function = kernel([x, init_value, out], [loop, AssignStmt(row, after)])
    assert body_lines(function) == [
        "int64_t sum = init_value;",
        "for (int64_t i = 0; i < 4; i += 1) {",
        "    int64_t yielded_value = sum + i;",
        "    sum = yielded_value;",
        "}",
        "TASSIGN(x_1x64Global, x + sum * 64 + 0);",
        "TLOAD(row, x_1x64Global);",
    ]


def test_if_without_else() -> None:
    """A condition is any boolean expression; without else there is one block."""
    n = var("n")
    [out] = tensors("out")
    condition: Any = n > 3
    stmt = IfStmt(condition, EvalStmt(op(system.bar_v)()), None, [])
    assert body_lines(kernel([n, out], [stmt])) == [
        "if (n > 3) {",
        "    pipe_barrier(PIPE_V);",
        "}",
    ]


def test_if_else() -> None:
    """Both blocks are in the source's order."""
    condition = Var("condition", scalar_type(DataType.BOOL))
    [out] = tensors("out")
    stmt = IfStmt(condition, EvalStmt(op(system.bar_v)()), EvalStmt(op(system.bar_m)()), [])
    assert body_lines(kernel([condition, out], [stmt])) == [
        "if (condition) {",
        "    pipe_barrier(PIPE_V);",
        "} else {",
        "    pipe_barrier(PIPE_M);",
        "}",
    ]


def has_tail_kernel() -> Function:
    """Return the document's example: a branch that results in a tile, a tensor and a scalar."""
    has_tail = Var("has_tail", scalar_type(DataType.BOOL))
    x, out = tensors("x", "out")
    tile_in = tile("tile_in", 0)
    with_tail, updated = tile("output_with_tail", 0x10000), tile("output_updated", 0x18000)
    final = tile("output_final", 0x20000)
    stored, kept = Var("stored", out.type), Var("out_final", out.type)
    rows, count = var("rows"), var("count")
    result = Var("result", out.type)
    then = SeqStmts(
        [
            AssignStmt(with_tail, op(add)(tile_in, tile_in)),
            AssignStmt(stored, store(with_tail, out)),
            YieldStmt([with_tail, stored, 1]),
        ]
    )
    other = SeqStmts([AssignStmt(updated, op(mul)(tile_in, tile_in)), YieldStmt([updated, out, 2])])
    tail: Any = memory.load(x, [count, 0], [1, 64])  # pyright: ignore[reportArgumentType]
    return kernel(
        [x, has_tail, out],
        [
            AssignStmt(tile_in, load(x)),
            IfStmt(has_tail, then, other, [final, kept, rows]),
            AssignStmt(count, rows),
            AssignStmt(tile("tail", 0, [1, 64]), tail),
            AssignStmt(result, store(final, kept)),
        ],
        result,
    )


HAS_TAIL = """\
TLOAD(tile_in, xGlobal);
using output_finalType = Tile<TileType::Vec, float, 128, 64, BLayout::RowMajor, -1, -1>;
output_finalType output_final(128, 64);
TASSIGN(output_final, 0x20000);
using out_finalShapeDim5 = Shape<1, 1, 1, 128, 64>;
using out_finalStrideDim5 = Stride<1, 1, 1, 64, 1>;
using out_finalGlobalType = GlobalTensor<float, out_finalShapeDim5, out_finalStrideDim5>;
out_finalGlobalType out_finalGlobal;
int64_t rows;
if (has_tail) {
    TADD(output_with_tail, tile_in, tile_in);
    TSTORE(outGlobal, output_with_tail);
    output_final = output_with_tail;
    out_finalGlobal = outGlobal;
    rows = 1;
} else {
    TMUL(output_updated, tile_in, tile_in);
    output_final = output_updated;
    out_finalGlobal = outGlobal;
    rows = 2;
}
int64_t count = rows;
TASSIGN(x_1x64Global, x + count * 64 + 0);
TLOAD(tail, x_1x64Global);
TSTORE(out_finalGlobal, output_final);
"""


def test_branch_results_are_declared_in_front() -> None:
    """A tile with type and address, a tensor with its types, a scalar; assigned in each branch."""
    assert "\n".join(body_lines(has_tail_kernel())) + "\n" == HAS_TAIL


@pytest.mark.parametrize("has_tail", [0, 1])
def test_branch_results_compute(has_tail: int) -> None:
    """The code after a branch uses the tile and tensor handles chosen in it."""
    x = np.random.default_rng(1).random((128, 64), np.float32)
    out = np.zeros_like(x)
    run(has_tail_kernel(), x, has_tail, out)
    np.testing.assert_array_equal(out, x + x if has_tail else x * x)


def test_tile_collector_leaves_out_branch_results() -> None:
    """The prologue declares variables assigned by ops, not the results of branches."""
    names = [v.name for v in TileCollector().collect(has_tail_kernel())]
    assert names == ["tile_in", "output_with_tail", "output_updated", "tail"]


def test_nested_control_flow() -> None:
    """A branch in a loop in a loop: each yield assigns what its own structure carries."""
    i, j = var("i"), var("j")
    start: Any = 0
    outer = IterArg("outer", i.type, op(_constant)(0))
    inner = IterArg("inner", i.type, outer)
    chosen, inner_result, outer_result = var("chosen"), var("inner_result"), var("outer_result")
    more: Any = inner + j
    condition: Any = j > 1
    branch = IfStmt(condition, YieldStmt([more]), YieldStmt([inner]), [chosen])
    inside = ForStmt(
        j, start, 3, 1, [inner], SeqStmts([branch, YieldStmt([chosen])]), [inner_result]
    )
    outside = ForStmt(
        i, start, 2, 1, [outer], SeqStmts([inside, YieldStmt([inner_result])]), [outer_result]
    )
    x, out = tensors("x", "out")
    row = tile("row", 0, [1, 64])
    after: Any = memory.load(x, [outer_result, 0], [1, 64])  # pyright: ignore[reportArgumentType]
    assert body_lines(kernel([x, out], [outside, AssignStmt(row, after)])) == [
        "int64_t outer = 0;",
        "for (int64_t i = 0; i < 2; i += 1) {",
        "    int64_t inner = outer;",
        "    for (int64_t j = 0; j < 3; j += 1) {",
        "        int64_t chosen;",
        "        if (j > 1) {",
        "            chosen = inner + j;",
        "        } else {",
        "            chosen = inner;",
        "        }",
        "        inner = chosen;",
        "    }",
        "    outer = inner;",
        "}",
        "TASSIGN(x_1x64Global, x + outer * 64 + 0);",
        "TLOAD(row, x_1x64Global);",
    ]


def _constant(value: int) -> Expr:
    from pypto._src.ir.exprs import ConstInt

    return ConstInt(value, DataType.INT64)
