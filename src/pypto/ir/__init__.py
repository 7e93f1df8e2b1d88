"""The IR: types, expressions, statements, programs; making, printing, comparing, verifying."""

from typing import TYPE_CHECKING

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import (
    DYNAMIC_DIM,
    MemRef,
    ShapedType,
    TensorType,
    TensorView,
    TileType,
    TileView,
)
from pypto._src.ir.enums import (
    CoreType,
    ForKind,
    FunctionType,
    MemorySpace,
    ParamDirection,
    PipeType,
    ScopeKind,
    TensorLayout,
    TileLayout,
    TilePad,
)
from pypto._src.ir.exprs import (
    Abs,
    Add,
    And,
    BinaryExpr,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitShiftRight,
    BitXor,
    Call,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    Eq,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    Ge,
    GlobalVar,
    Gt,
    IRNode,
    IterArg,
    Le,
    Lt,
    MakeTuple,
    Max,
    Min,
    Mul,
    Ne,
    Neg,
    Not,
    Op,
    Or,
    Pow,
    Sub,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
    Xor,
)
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    OpStmts,
    Program,
    ReturnStmt,
    ScopeStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
)
from pypto._src.ir.traversal.mutator import Mutator as IRMutator
from pypto._src.ir.traversal.queries import ParentStmtAnalysis
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.types import MemRefType, ScalarType, TupleType, Type, UnknownType
from pypto._src.lazy import lazy_names

if TYPE_CHECKING:
    from pypto._src.compiled_folder import compile
    from pypto._src.frontend.ir_text.programs import parse
    from pypto._src.ir.builders.builder import (
        IRBuilder,
        add,
        bit_and,
        bit_not,
        bit_or,
        bit_shift_left,
        bit_shift_right,
        bit_xor,
        eq,
        floordiv,
        ge,
        gt,
        le,
        lt,
        max_,
        min_,
        mod,
        mul,
        ne,
        neg,
        sub,
        truediv,
    )
    from pypto._src.ir.builders.builder import cast_ as cast
    from pypto._src.ir.builders.builder import pow_ as pow
    from pypto._src.ir.equal import assert_structural_equal, structural_equal, structural_hash
    from pypto._src.ir.inspect.tree import dump_tree, to_json
    from pypto._src.ir.serialization.serialize import (
        deserialize,
        deserialize_from_file,
        serialize,
        serialize_to_file,
    )
    from pypto._src.ir.text.printer import python_print
    from pypto._src.ir.text.printer import python_print as python_print_type
    from pypto._src.ir.verify.verifier import IRVerifier
    from pypto._src.ops.conversion import (
        ConversionContext,
        has_op_conversion,
        op_conversion,
        register_op_conversion,
        register_op_conversion_custom,
    )
    from pypto._src.ops.lookup import create_op_call, get_op, is_op_registered
    from pypto._src.passes.memory.memory_plan import MemoryPlan
    from pypto._src.passes.pass_base import PassContext
    from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
    from pypto._src.passes.verification import VerificationLevel, VerificationMode
    from pypto._src.statement.form import verify_statement_form
    from pypto._src.statement.printer import to_statement_text
    from pypto._src.statement.reader import from_statement_text
    from pypto.ir import builder as builder
    from pypto.ir import op
    from pypto.ir import operators as operators
    from pypto.ir import pass_manager as pass_manager
    from pypto.ir import printer as printer
    from pypto.ir import type as type
    from pypto.ir import utils as utils

BOOL = DataType.BOOL
INT4 = DataType.INT4
INT8 = DataType.INT8
INT16 = DataType.INT16
INT32 = DataType.INT32
INT64 = DataType.INT64
UINT4 = DataType.UINT4
UINT8 = DataType.UINT8
UINT16 = DataType.UINT16
UINT32 = DataType.UINT32
UINT64 = DataType.UINT64
FP4 = DataType.FP4
FP8E4M3FN = DataType.FP8E4M3FN
FP8E5M2 = DataType.FP8E5M2
FP16 = DataType.FP16
FP32 = DataType.FP32
BF16 = DataType.BF16
HF4 = DataType.HF4
HF8 = DataType.HF8
INDEX = DataType.INDEX

DDR = MemorySpace.DDR
Vec = MemorySpace.Vec
Mat = MemorySpace.Mat
Left = MemorySpace.Left
Right = MemorySpace.Right
Acc = MemorySpace.Acc
MTE1 = PipeType.MTE1
MTE2 = PipeType.MTE2
MTE3 = PipeType.MTE3
M = PipeType.M
V = PipeType.V
S = PipeType.S
FIX = PipeType.FIX
ALL = PipeType.ALL
CUBE = CoreType.CUBE
VECTOR = CoreType.VECTOR
ND = TensorLayout.ND
DN = TensorLayout.DN
NZ = TensorLayout.NZ
none_box = TileLayout.none_box
row_major = TileLayout.row_major
col_major = TileLayout.col_major
null = TilePad.null
zero = TilePad.zero
max = TilePad.max  # noqa: A001  the name of the member
min = TilePad.min  # noqa: A001  the name of the member
Sequential = ForKind.Sequential
Parallel = ForKind.Parallel
InCore = ScopeKind.InCore
Opaque = FunctionType.Opaque
Orchestration = FunctionType.Orchestration
In = ParamDirection.In
Out = ParamDirection.Out
InOut = ParamDirection.InOut

__getattr__ = lazy_names(
    __name__,
    {
        "compile": "pypto._src.compiled_folder",
        "IRBuilder": "pypto._src.ir.builders.builder",
        "add": "pypto._src.ir.builders.builder",
        "bit_and": "pypto._src.ir.builders.builder",
        "bit_not": "pypto._src.ir.builders.builder",
        "bit_or": "pypto._src.ir.builders.builder",
        "bit_shift_left": "pypto._src.ir.builders.builder",
        "bit_shift_right": "pypto._src.ir.builders.builder",
        "bit_xor": "pypto._src.ir.builders.builder",
        "eq": "pypto._src.ir.builders.builder",
        "floordiv": "pypto._src.ir.builders.builder",
        "ge": "pypto._src.ir.builders.builder",
        "gt": "pypto._src.ir.builders.builder",
        "le": "pypto._src.ir.builders.builder",
        "lt": "pypto._src.ir.builders.builder",
        "max_": "pypto._src.ir.builders.builder",
        "min_": "pypto._src.ir.builders.builder",
        "mod": "pypto._src.ir.builders.builder",
        "mul": "pypto._src.ir.builders.builder",
        "ne": "pypto._src.ir.builders.builder",
        "neg": "pypto._src.ir.builders.builder",
        "sub": "pypto._src.ir.builders.builder",
        "truediv": "pypto._src.ir.builders.builder",
        "cast": "pypto._src.ir.builders.builder:cast_",
        "pow": "pypto._src.ir.builders.builder:pow_",
        "assert_structural_equal": "pypto._src.ir.equal",
        "structural_equal": "pypto._src.ir.equal",
        "structural_hash": "pypto._src.ir.equal",
        "python_print": "pypto._src.ir.text.printer",
        "IRVerifier": "pypto._src.ir.verify.verifier",
        "python_print_type": "pypto._src.ir.text.printer:python_print",
        "create_op_call": "pypto._src.ops.lookup",
        "deserialize": "pypto._src.ops.serialized",
        "deserialize_from_file": "pypto._src.ops.serialized",
        "dump_tree": "pypto._src.ir.inspect.tree",
        "to_json": "pypto._src.ir.inspect.tree",
        "serialize": "pypto._src.ir.serialization.serialize",
        "serialize_to_file": "pypto._src.ir.serialization.serialize",
        "ConversionContext": "pypto._src.ops.conversion",
        "has_op_conversion": "pypto._src.ops.conversion",
        "op_conversion": "pypto._src.ops.conversion",
        "register_op_conversion": "pypto._src.ops.conversion",
        "register_op_conversion_custom": "pypto._src.ops.conversion",
        "get_op": "pypto._src.ops.lookup",
        "is_op_registered": "pypto._src.ops.lookup",
        "parse": "pypto._src.frontend.ir_text.programs",
        "PassContext": "pypto._src.passes.pass_base",
        "VerificationLevel": "pypto._src.passes.verification",
        "VerificationMode": "pypto._src.passes.verification",
        "MemoryPlan": "pypto._src.passes.memory.memory_plan",
        "OptimizationStrategy": "pypto._src.passes.pass_manager",
        "PassManager": "pypto._src.passes.pass_manager",
        "from_statement_text": "pypto._src.statement.reader",
        "to_statement_text": "pypto._src.statement.printer",
        "verify_statement_form": "pypto._src.statement.form",
    },
    ("builder", "op", "operators", "pass_manager", "printer", "type", "utils"),
)

__all__ = [
    "ALL",
    "BF16",
    "BOOL",
    "CUBE",
    "DDR",
    "DN",
    "DYNAMIC_DIM",
    "FIX",
    "FP4",
    "FP8E4M3FN",
    "FP8E5M2",
    "FP16",
    "FP32",
    "HF4",
    "HF8",
    "INDEX",
    "INT4",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "MTE1",
    "MTE2",
    "MTE3",
    "ND",
    "NZ",
    "UINT4",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "VECTOR",
    "Abs",
    "Acc",
    "Add",
    "And",
    "AssignStmt",
    "BinaryExpr",
    "BitAnd",
    "BitNot",
    "BitOr",
    "BitShiftLeft",
    "BitShiftRight",
    "BitXor",
    "BreakStmt",
    "Call",
    "Cast",
    "ConstBool",
    "ConstFloat",
    "ConstInt",
    "ContinueStmt",
    "ConversionContext",
    "CoreType",
    "DataType",
    "Eq",
    "EvalStmt",
    "Expr",
    "FloatDiv",
    "FloorDiv",
    "FloorMod",
    "ForKind",
    "ForStmt",
    "Function",
    "FunctionType",
    "Ge",
    "GlobalVar",
    "Gt",
    "IRBuilder",
    "IRMutator",
    "IRNode",
    "IRVerifier",
    "IfStmt",
    "In",
    "InCore",
    "InOut",
    "IterArg",
    "Le",
    "Left",
    "Lt",
    "M",
    "MakeTuple",
    "Mat",
    "Max",
    "MemRef",
    "MemRefType",
    "MemoryPlan",
    "MemorySpace",
    "Min",
    "Mul",
    "Ne",
    "Neg",
    "Not",
    "Op",
    "OpStmts",
    "Opaque",
    "OptimizationStrategy",
    "Or",
    "Orchestration",
    "Out",
    "Parallel",
    "ParamDirection",
    "ParentStmtAnalysis",
    "PassContext",
    "PassManager",
    "PipeType",
    "Pow",
    "Program",
    "ReturnStmt",
    "Right",
    "S",
    "ScalarType",
    "ScopeKind",
    "ScopeStmt",
    "SeqStmts",
    "Sequential",
    "ShapedType",
    "Span",
    "Stmt",
    "Sub",
    "TensorLayout",
    "TensorType",
    "TensorView",
    "TileLayout",
    "TilePad",
    "TileType",
    "TileView",
    "TupleGetItemExpr",
    "TupleType",
    "Type",
    "UnaryExpr",
    "UnknownType",
    "V",
    "Var",
    "Vec",
    "VerificationLevel",
    "VerificationMode",
    "WhileStmt",
    "Xor",
    "YieldStmt",
    "add",
    "assert_structural_equal",
    "bit_and",
    "bit_not",
    "bit_or",
    "bit_shift_left",
    "bit_shift_right",
    "bit_xor",
    "cast",
    "col_major",
    "compile",
    "create_op_call",
    "deserialize",
    "deserialize_from_file",
    "dump_tree",
    "eq",
    "floordiv",
    "from_statement_text",
    "ge",
    "get_op",
    "gt",
    "has_op_conversion",
    "is_op_registered",
    "le",
    "lt",
    "max",
    "max_",
    "min",
    "min_",
    "mod",
    "mul",
    "ne",
    "neg",
    "none_box",
    "null",
    "op",
    "op_conversion",
    "parse",
    "pow",
    "python_print",
    "python_print_type",
    "register_op_conversion",
    "register_op_conversion_custom",
    "row_major",
    "serialize",
    "serialize_to_file",
    "structural_equal",
    "structural_hash",
    "sub",
    "to_json",
    "to_statement_text",
    "truediv",
    "verify_statement_form",
    "walk",
    "zero",
]
