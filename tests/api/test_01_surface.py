"""Section 1 of the API: every import path, and what each name is.

A name must not merely exist: classes have their base, members their enumeration, functions show
the result of one call, and the names of the native module are the same objects as ours.
"""

from __future__ import annotations

import importlib
import io
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pypto
import pypto.language as pl
from pypto import backend, codegen, ir, passes, pypto_core
from pypto._src.errors import PyptoError
from pypto._src.logs import LogLevel
from pypto.pypto_core import ir as core_ir

ROOT = Path(__file__).parents[2]
X = ir.Var("x", ir.ScalarType(ir.INT64))
Y = ir.Var("y", ir.ScalarType(ir.INT64))


def words(text: str) -> list[str]:
    return text.split()


# Names of later work, and the issue that brings them. Until then there are no stubs for them.
PLANNED: dict[tuple[str, str], int] = {}

# ------------------------------------------------------------------------------------- 1.1 pypto

ALIASES = words("""
BOOL INT4 INT8 INT16 INT32 INT64 UINT4 UINT8 UINT16 UINT32 UINT64
FP4 FP8E4M3FN FP8E5M2 FP16 FP32 BF16 HF4 HF8 INDEX
""")


@pytest.mark.parametrize("name", ALIASES)
def test_element_types_have_aliases_everywhere(name: str) -> None:
    """``pypto.DT_X``, ``ir.X`` and ``pl.X`` are the member ``DataType.X``."""
    member = getattr(pypto.DataType, name)
    found = [getattr(pypto, f"DT_{name}"), getattr(ir, name), getattr(pl, name)]
    assert [dtype is member for dtype in found] == [True, True, True]
    assert member.member == ("INT64" if name == "INDEX" else name)


SAME_OBJECTS = [
    ("pypto.DataType", "pypto.pypto_core.DataType"),
    ("pypto.DataType", "pypto.ir.DataType"),
    ("pypto.DataType", "pypto.language.DataType"),
    ("pypto.InternalError", "pypto.pypto_core.InternalError"),
    ("pypto.check", "pypto.pypto_core.check"),
    ("pypto.internal_check", "pypto.pypto_core.internal_check"),
    ("pypto.LogLevel", "pypto.pypto_core.LogLevel"),
    ("pypto.set_log_level", "pypto.pypto_core.set_log_level"),
    ("pypto.log_debug", "pypto.pypto_core.log_debug"),
    ("pypto.log_info", "pypto.pypto_core.log_info"),
    ("pypto.log_warn", "pypto.pypto_core.log_warn"),
    ("pypto.log_error", "pypto.pypto_core.log_error"),
    ("pypto.log_fatal", "pypto.pypto_core.log_fatal"),
    ("pypto.log_event", "pypto.pypto_core.log_event"),
    ("builtins.ValueError", "pypto.pypto_core.ValueError"),
    ("builtins.TypeError", "pypto.pypto_core.TypeError"),
    ("builtins.RuntimeError", "pypto.pypto_core.RuntimeError"),
    ("builtins.NotImplementedError", "pypto.pypto_core.NotImplementedError"),
    ("builtins.IndexError", "pypto.pypto_core.IndexError"),
    ("builtins.AssertionError", "pypto.pypto_core.AssertionError"),
    ("pypto.PyptoError", "pypto.pypto_core.Error"),
    # 1.5, the submodules of pypto.ir
    ("pypto.ir.IRBuilder", "pypto.ir.builder.IRBuilder"),
    ("pypto._src.ir.builders.builder.FunctionBuilder", "pypto.ir.builder.FunctionBuilder"),
    ("pypto._src.ir.builders.builder.ForLoopBuilder", "pypto.ir.builder.ForLoopBuilder"),
    ("pypto._src.ir.builders.builder.WhileLoopBuilder", "pypto.ir.builder.WhileLoopBuilder"),
    ("pypto._src.ir.builders.builder.IfStmtBuilder", "pypto.ir.builder.IfStmtBuilder"),
    ("pypto._src.ir.builders.builder.ScopeBuilder", "pypto.ir.builder.ScopeBuilder"),
    ("pypto._src.ir.builders.builder.ProgramBuilder", "pypto.ir.builder.ProgramBuilder"),
    ("pypto.ir.add", "pypto.ir.operators.add"),
    ("pypto.ir.pow", "pypto.ir.operators.pow"),
    ("pypto.ir.cast", "pypto.ir.operators.cast"),
    ("pypto.ir.python_print", "pypto.ir.printer.python_print"),
    ("pypto.ir.TensorType", "pypto.ir.type.TensorType"),
    ("pypto.ir.TileType", "pypto.ir.type.TileType"),
    ("pypto.ir.TileView", "pypto.ir.type.TileView"),
    ("pypto._src.ir.exprs.caller_span", "pypto.ir.utils.caller_span"),
    ("pypto._src.ir.exprs.as_expr", "pypto.ir.utils.as_expr"),
    ("pypto.ir.PassManager", "pypto.ir.pass_manager.PassManager"),
    ("pypto.ir.OptimizationStrategy", "pypto.ir.pass_manager.OptimizationStrategy"),
    ("pypto.ir.op.block", "pypto.ir.op.block_ops"),
    ("pypto.ir.op.tensor", "pypto.ir.op.tensor_ops"),
    ("pypto.ir.ConversionContext", "pypto.ir.op_conversion.ConversionContext"),
    ("pypto.ir.register_op_conversion", "pypto.ir.op_conversion.register_op_conversion"),
    ("pypto.passes.PassContext", "pypto.ir.PassContext"),
    ("pypto.passes.VerificationLevel", "pypto.ir.VerificationLevel"),
    ("pypto.passes.VerificationMode", "pypto.ir.VerificationMode"),
    # 1.8, the submodules of the parser
    ("pypto.language.add", "pypto.language.op.unified_ops.add"),
    ("pypto.language.create_tile", "pypto.language.op.unified_ops.create_tile"),
    ("pypto.language.block.adds", "pypto.language.op.block_ops.adds"),
    ("pypto.language.tensor.create", "pypto.language.op.tensor_ops.create"),
    (
        "pypto.language.parser.diagnostics.ParserTypeError",
        "pypto.language.parser.diagnostics.exceptions.ParserTypeError",
    ),
    ("pypto.language.parse", "pypto.language.parser.parse"),
    ("pypto.language.loads", "pypto.language.parser.loads"),
    ("pypto.language.parse_program", "pypto.language.parser.parse_program"),
    ("pypto.language.loads_program", "pypto.language.parser.loads_program"),
    ("pypto.language.function", "pypto.language.parser.function"),
    ("pypto.language.inline", "pypto.language.parser.inline"),
    ("pypto.language.program", "pypto.language.parser.program"),
    ("pypto.language.InlineFunction", "pypto.language.parser.InlineFunction"),
    ("pypto.language.range", "pypto.language.parser.range"),
    ("pypto.language.yield_", "pypto.language.parser.yield_"),
    ("pypto.language.Tensor", "pypto.language.parser.Tensor"),
    ("pypto.language.Tile", "pypto.language.parser.Tile"),
    ("pypto.language.Scalar", "pypto.language.parser.Scalar"),
    ("pypto.language.function", "pypto.language.parser.decorator.function"),
    ("pypto.language.program", "pypto.language.parser.decorator.program"),
    ("pypto.language.inline", "pypto.language.parser.decorator.inline"),
    ("pypto.language.parse", "pypto.language.parser.text_parser.parse"),
    ("pypto.language.loads", "pypto.language.parser.text_parser.loads"),
    ("pypto._src.frontend.state.context.Context", "pypto.language.parser.ast_parser.Context"),
    (
        "pypto._src.frontend.source.python_names.Environment",
        "pypto.language.parser.expr_evaluator.Environment",
    ),
    ("pypto._src.frontend.state.scope.Names", "pypto.language.parser.scope_manager.Names"),
    ("pypto._src.frontend.source.source.Source", "pypto.language.parser.span_tracker.Source"),
    (
        "pypto._src.frontend.syntax.annotations.type_of",
        "pypto.language.parser.type_resolver.type_of",
    ),
    ("pypto._src.errors.ParserError", "pypto.language.parser.ParserError"),
    ("pypto.language.parser.ParserError", "pypto.language.parser.diagnostics.ParserError"),
    ("pypto.language.parser.ErrorRenderer", "pypto.language.parser.diagnostics.ErrorRenderer"),
]  # fmt: skip


def at(path: str) -> Any:
    """Return what a dotted path names: the module is imported, then the attribute is read."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize(("ours", "path"), SAME_OBJECTS, ids=[row[1] for row in SAME_OBJECTS])
def test_one_object_under_two_paths(ours: str, path: str) -> None:
    """A second path names the same object."""
    assert at(path) is at(ours)


ALL_MODULES = words("""
pypto pypto.testing pypto.backend pypto.codegen pypto.passes pypto.runtime
pypto.ir pypto.ir.builder pypto.ir.operators pypto.ir.printer pypto.ir.type pypto.ir.utils
pypto.ir.pass_manager pypto.ir.op pypto.ir.op_conversion
pypto.pypto_core pypto.pypto_core.ir pypto.pypto_core.passes pypto.pypto_core.codegen
pypto.pypto_core.backend pypto.pypto_core.testing
pypto.language pypto.language.block pypto.language.tensor pypto.language.system
pypto.language.parser pypto.language.parser.ast_parser pypto.language.parser.decorator
pypto.language.parser.diagnostics pypto.language.parser.expr_evaluator
pypto.language.parser.scope_manager pypto.language.parser.span_tracker
pypto.language.parser.text_parser pypto.language.parser.type_resolver
""")


@pytest.mark.parametrize("path", ALL_MODULES)
def test_modules(path: str) -> None:
    """A module is imported by its path, is an attribute of its package, and lists its names."""
    module = importlib.import_module(path)
    assert (isinstance(module, ModuleType), module.__name__) == (True, path)
    parent, _, name = path.rpartition(".")
    if parent:
        assert getattr(importlib.import_module(parent), name) is module
    names: list[str] = module.__all__
    assert [n for n in names if not hasattr(module, n)] == []
    assert len(set(names)) == len(names)
    with pytest.raises(AttributeError, match=f"module {path!r} has no attribute 'nothing'"):
        getattr(module, "nothing")  # noqa: B009


def test_modules_are_attributes() -> None:
    """``pypto`` lists its modules; ``from pypto import passes`` is the same as importing it."""
    modules = {"codegen", "ir", "language", "passes", "testing"}
    assert modules <= set(pypto.__all__)
    code = "import pypto; print(*(getattr(pypto, n).__name__ for n in sorted(pypto.__all__)" \
        " if type(getattr(pypto, n)).__name__ == 'module'))"  # fmt: skip
    assert python(code).stdout.split() == [
        "pypto.backend", "pypto.codegen", "pypto.ir", "pypto.language", "pypto.passes",
        "pypto.pypto_core", "pypto.runtime", "pypto.testing",
    ]  # fmt: skip


def test_version() -> None:
    """The version is 0.1.0, written in one file that the build also reads."""
    assert pypto.__version__ == "0.1.0"
    written = (ROOT / "src/pypto/_version.py").read_text(encoding="utf-8")
    assert re.findall(r'"(\d+\.\d+\.\d+)"', written) == [pypto.__version__]
    assert 'path = "src/pypto/_version.py"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


CHECKS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: pypto.check(False, "n is 3"), ValueError, "n is 3"),
    (lambda: pypto.check([], "no dims"), ValueError, "no dims"),
    (lambda: pypto.internal_check(False, "lost a var"), pypto.InternalError, "lost a var"),
    (lambda: pypto_core.check(False, "core"), ValueError, "core"),
    (lambda: pypto_core.internal_check(0, "core"), pypto.InternalError, "core"),
    (lambda: pypto.testing.raise_value_error("v"), ValueError, "v"),
    (lambda: pypto.testing.raise_type_error("t"), TypeError, "t"),
    (lambda: pypto.testing.raise_runtime_error("r"), RuntimeError, "r"),
    (lambda: pypto.testing.raise_not_implemented_error("n"), NotImplementedError, "n"),
    (lambda: pypto.testing.raise_index_error("i"), IndexError, "i"),
    (lambda: pypto.testing.raise_generic_error("g"), PyptoError, "g"),
    (lambda: pypto.testing.raise_assertion_error("a"), AssertionError, "a"),
    (lambda: pypto.testing.raise_internal_error("b"), pypto.InternalError, "b"),
    (lambda: pypto_core.testing.raise_generic_error("c"), pypto_core.Error, "c"),
    (lambda: pypto_core.testing.raise_index_error(message="c"), pypto_core.IndexError, "c"),
]


@pytest.mark.parametrize(("call", "kind", "text"), CHECKS)
def test_checks_raise(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    """A failed check, or a function that raises on purpose, raises its class with its message."""
    with pytest.raises(kind) as caught:
        call()
    assert (type(caught.value), str(caught.value)) == (kind, text)


def test_checks_that_hold() -> None:
    """A condition that holds raises nothing."""
    pypto.check(True, "no")
    pypto.internal_check(1, "no")


# -------------------------------------------------------------------------------------- logging

LEVELS = [("DEBUG", 0), ("INFO", 1), ("WARN", 2), ("ERROR", 3), ("FATAL", 4), ("EVENT", 5),
          ("NONE", 6)]  # fmt: skip
WRITERS = ["debug", "info", "warn", "error", "fatal", "event"]
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} ([DIWEFV]) \| (.*)")


@pytest.fixture(autouse=True)
def _fresh_log(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test starts with the threshold of a new process."""
    monkeypatch.delenv("PYPTO_DEBUG", raising=False)
    logger = logging.getLogger("pypto")
    level, handlers = logger.level, list(logger.handlers)
    logger.setLevel(logging.NOTSET)
    yield
    logger.setLevel(level)
    logger.handlers[:] = handlers


def write_all() -> None:
    for name in WRITERS:
        getattr(pypto, f"log_{name}")(f"a {name}")


def test_log_levels() -> None:
    """The levels are an IntEnum, and names of the native module."""
    assert [(level.name, level.value) for level in pypto.LogLevel] == LEVELS
    assert [getattr(pypto_core, name) is pypto.LogLevel[name] for name, _ in LEVELS] == [True] * 7
    assert issubclass(pypto.LogLevel, int)


@pytest.mark.parametrize(
    ("level", "letters"),
    [
        (None, "EFV"),  # ERROR unless told otherwise
        (LogLevel.DEBUG, "DIWEFV"),
        (LogLevel.INFO, "IWEFV"),
        (LogLevel.WARN, "WEFV"),
        (LogLevel.ERROR, "EFV"),
        (LogLevel.FATAL, "FV"),
        (LogLevel.EVENT, "V"),
        (LogLevel.NONE, ""),
        (2, "WEFV"),
        (6, ""),
    ],
    ids=["unset", *(f"LogLevel.{name}" for name, _ in LEVELS), "2", "6"],
)
def test_threshold(level: Any, letters: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A record is written to standard error when its level reaches the threshold."""
    if level is not None:
        pypto.set_log_level(level)
    write_all()
    written = capsys.readouterr()
    lines = [LINE.fullmatch(line) for line in written.err.splitlines()]
    assert all(lines), written.err
    names = {"D": "debug", "I": "info", "W": "warn", "E": "error", "F": "fatal", "V": "event"}
    found = [(line[1], line[2]) for line in lines if line]
    assert (found, written.out) == ([(c, f"a {names[c]}") for c in letters], "")


def test_debug_knob_lowers_the_threshold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """PYPTO_DEBUG=1 shows everything, as a debug build does."""
    monkeypatch.setenv("PYPTO_DEBUG", "1")
    pypto.log_debug("seen")
    assert capsys.readouterr().err.endswith(" D | seen\n")


@pytest.mark.parametrize(
    ("level", "kind", "text"),
    [
        (7, ValueError, "the log level is 7, it is one of DEBUG=0, INFO=1, WARN=2"),
        (-1, ValueError, "the log level is -1, it is one of DEBUG=0"),
        ("WARN", TypeError, "a log level is a LogLevel or int, got str"),
        (None, TypeError, "a log level is a LogLevel or int, got NoneType"),
    ],
)
def test_wrong_log_level(level: Any, kind: type[Exception], text: str) -> None:
    """An invalid level is rejected."""
    with pytest.raises(kind, match=re.escape(text)):
        pypto.set_log_level(level)


def test_each_line_of_a_message_is_a_line_of_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    """Each line of a message becomes a line of its own, prefixed with time and level."""
    pypto.log_error("100 % of it\nfailed")
    pypto.log_error("")
    found = [LINE.fullmatch(line) for line in capsys.readouterr().err.splitlines()]
    assert [line[2] for line in found if line] == ["100 % of it", "failed", ""]


def test_log_goes_through_python_logging(capsys: pytest.CaptureFixture[str]) -> None:
    """A handler that a user adds to the logger ``pypto`` gets our records, once."""
    stream = io.StringIO()
    logging.getLogger("pypto").handlers[:] = [logging.StreamHandler(stream)]
    pypto.log_error("to the handler")
    assert (stream.getvalue(), capsys.readouterr().err) == ("to the handler\n", "")


def test_log_beside_a_root_handler() -> None:
    """If the root logger writes to standard error, our own handler is silent."""
    code = "import logging, pypto; logging.basicConfig(); pypto.log_error('once')"
    assert python(code).stderr == "ERROR:pypto:once\n"


# --------------------------------------------------------------------------------- 1.4, 1.5 ir

# Each class is in the row of its base.
IR_CLASSES = {
    "IRNode": "Expr Stmt Function Program",
    "Expr": "Var Call MakeTuple TupleGetItemExpr BinaryExpr UnaryExpr ConstInt ConstFloat "
    "ConstBool",
    "Var": "IterArg MemRef",
    "Op": "GlobalVar",
    "BinaryExpr": "Add Sub Mul FloorDiv FloorMod FloatDiv Min Max Pow Eq Ne Lt Le Gt Ge And Or Xor "
    "BitAnd BitOr BitXor BitShiftLeft BitShiftRight",
    "UnaryExpr": "Abs Neg Not BitNot Cast",
    "Type": "UnknownType ScalarType ShapedType TupleType",
    "ShapedType": "TensorType TileType",
    "Stmt": "AssignStmt IfStmt YieldStmt ReturnStmt ForStmt WhileStmt ScopeStmt SeqStmts OpStmts "
    "EvalStmt BreakStmt ContinueStmt",
}
CLASS_ROWS = [(base, name) for base, names in IR_CLASSES.items() for name in names.split()]
OTHER_CLASSES = words("""
IRNode Type Span Op TensorView TileView IRBuilder ParentStmtAnalysis PassManager PassContext
OptimizationStrategy VerificationLevel VerificationMode ConversionContext DataType
""")
MEMBERS = {
    "MemorySpace": "DDR Vec Mat Left Right Acc",
    "PipeType": "MTE1 MTE2 MTE3 M V S FIX ALL",
    "CoreType": "CUBE VECTOR",
    "TensorLayout": "ND DN NZ",
    "TileLayout": "none_box row_major col_major",
    "TilePad": "null zero max min",
    "ForKind": "Sequential Parallel",
    "ScopeKind": "InCore",
    "FunctionType": "Opaque Orchestration",
    "ParamDirection": "In Out InOut",
}
MEMBER_ROWS = [(kind, name) for kind, names in MEMBERS.items() for name in names.split()]


@pytest.mark.parametrize(("base", "name"), CLASS_ROWS, ids=[name for _, name in CLASS_ROWS])
def test_ir_classes(base: str, name: str) -> None:
    """A class of the IR has its base; both packages have it under its name."""
    cls = getattr(ir, name)
    assert (cls.__name__, issubclass(cls, getattr(ir, base))) == (name, True)
    assert getattr(core_ir, name) is cls


@pytest.mark.parametrize("name", OTHER_CLASSES)
def test_other_ir_classes(name: str) -> None:
    """A class without a base in the IR is a class of its name."""
    cls = getattr(ir, name)
    assert (isinstance(cls, type), cls.__name__) == (True, name)


@pytest.mark.parametrize(("kind", "name"), MEMBER_ROWS, ids=[f"{k}.{n}" for k, n in MEMBER_ROWS])
def test_members_are_names_of_the_module(kind: str, name: str) -> None:
    """``ir.Vec`` is ``ir.MemorySpace.Vec``; the same holds for the native module."""
    member = getattr(getattr(ir, kind), name)
    assert (str(member), getattr(ir, name) is member) == (f"{kind}.{name}", True)
    assert getattr(core_ir, name) is member


def test_incore_is_the_scope() -> None:
    """``InCore`` is a scope and a function type; the bare name is the scope."""
    assert ir.InCore is ir.ScopeKind.InCore is core_ir.InCore
    assert ir.FunctionType.InCore.value == 2


def test_two_builders() -> None:
    """``ir.IRBuilder`` works with blocks, the native module's with begin and end."""
    assert core_ir.IRBuilder is not ir.IRBuilder
    assert (hasattr(core_ir.IRBuilder, "end_if"), hasattr(ir.IRBuilder, "end_if")) == (True, False)
    assert (hasattr(core_ir.IRBuilder, "if_stmt"), hasattr(ir.IRBuilder, "if_stmt")) == (
        False,
        True,
    )


CAST = "pl.cast(x, pl.FP16)"
FUNCTIONS: list[tuple[str, Callable[[], object], object]] = [
    ("DYNAMIC_DIM", lambda: ir.DYNAMIC_DIM, -1),
    ("add", lambda: str(ir.add(X, Y)), "x + y"),
    ("sub", lambda: str(ir.sub(X, 1)), "x - 1"),
    ("mul", lambda: str(ir.mul(2, X)), "2 * x"),
    ("truediv", lambda: str(ir.truediv(X, Y)), "x / y"),
    ("floordiv", lambda: str(ir.floordiv(X, Y)), "x // y"),
    ("mod", lambda: str(ir.mod(X, Y)), "x % y"),
    ("pow", lambda: str(ir.pow(X, Y)), "x ** y"),
    ("eq", lambda: str(ir.eq(X, Y)), "x == y"),
    ("ne", lambda: str(ir.ne(X, Y)), "x != y"),
    ("lt", lambda: str(ir.lt(X, Y)), "x < y"),
    ("le", lambda: str(ir.le(X, Y)), "x <= y"),
    ("gt", lambda: str(ir.gt(X, Y)), "x > y"),
    ("ge", lambda: str(ir.ge(X, Y)), "x >= y"),
    ("min_", lambda: str(ir.min_(X, Y)), "min(x, y)"),
    ("max_", lambda: str(ir.max_(X, Y)), "max(x, y)"),
    ("bit_and", lambda: str(ir.bit_and(X, Y)), "x & y"),
    ("bit_or", lambda: str(ir.bit_or(X, Y)), "x | y"),
    ("bit_xor", lambda: str(ir.bit_xor(X, Y)), "x ^ y"),
    ("bit_shift_left", lambda: str(ir.bit_shift_left(X, Y)), "x << y"),
    ("bit_shift_right", lambda: str(ir.bit_shift_right(X, Y)), "x >> y"),
    ("neg", lambda: str(ir.neg(X)), "-x"),
    ("bit_not", lambda: str(ir.bit_not(X)), "~x"),
    ("cast", lambda: str(ir.cast(X, ir.FP16)), CAST),
    ("create_op_call", lambda: str(ir.create_op_call("system.bar_all", []).op.name),
     "system.bar_all"),
    ("is_op_registered", lambda: ir.is_op_registered("block.add"), True),
    ("get_op", lambda: ir.get_op("block.add").name, "block.add"),
    ("structural_equal", lambda: ir.structural_equal(ir.add(X, Y), ir.add(X, Y)), True),
    ("structural_hash", lambda: ir.structural_hash(X + Y) == ir.structural_hash(X + Y), True),
    ("assert_structural_equal", lambda: ir.assert_structural_equal(X, X), None),
    ("deserialize", lambda: str(ir.deserialize(ir.serialize(X + 1))), "x + 1"),
    ("serialize", lambda: b"pypto.ir" in ir.serialize(X), True),
    ("python_print", lambda: ir.python_print(X + 1), "x + 1"),
    ("python_print_type", lambda: ir.python_print_type(X.type), "pl.Scalar[pl.INT64]"),
    ("has_op_conversion", lambda: ir.has_op_conversion("no.op"), False),
]  # fmt: skip


@pytest.mark.parametrize(("name", "call", "value"), FUNCTIONS, ids=[row[0] for row in FUNCTIONS])
def test_ir_functions(name: str, call: Callable[[], object], value: object) -> None:
    """A function of the IR returns the expected value; the native module has the same one."""
    assert call() == value
    assert getattr(core_ir, name) is getattr(ir, name)


OTHER_FUNCTIONS = words("""
serialize_to_file deserialize_from_file register_op_conversion register_op_conversion_custom
""")


@pytest.mark.parametrize("name", OTHER_FUNCTIONS)
def test_functions_with_effects(name: str) -> None:
    """Functions that act on files or registries are one object under both paths."""
    assert getattr(core_ir, name) is getattr(ir, name)
    assert getattr(ir, name).__name__ == name


# ------------------------------------------------------------------------- 1.6 and 1.7, passes

PASS_CLASSES = words("""
IRProperty IRPropertySet VerificationMode VerificationLevel Pass PassInstrument
VerificationInstrument CallbackInstrument PassContext PassPipeline Diagnostic DiagnosticSeverity
IRVerifier SSAErrorType TypeCheckErrorType NestedCallErrorType
""")
PASS_FACTORIES = words("""
init_mem_ref basic_memory_reuse insert_sync allocate_memory_addr convert_to_ssa
outline_incore_scopes convert_tensor_to_block_ops flatten_call_expr normalize_stmt_structure
flatten_single_stmt run_verifier
""")
PASS_FUNCTIONS = [
    ("get_verified_properties", passes.IRPropertySet),
    ("get_default_verification_level", passes.VerificationLevel),
]
BACKEND = words("""
Mem Core Cluster Die SoC Backend Backend910B_CCE Backend910B_PTO BackendType
set_backend_type get_backend_type is_backend_configured reset_for_testing
""")
CODEGEN = words("""
TypeConverter PTOCodegen CCECodegen OrchestrationResult generate_orchestration
""")


def there(module: str, names: list[str]) -> list[str]:
    """Return the names that are not planned for later."""
    return [name for name in names if (module, name) not in PLANNED]


@pytest.mark.parametrize("name", PASS_CLASSES)
def test_pass_classes(name: str) -> None:
    """A class of the passes has its name; the native module has the same one."""
    cls = getattr(passes, name)
    assert (isinstance(cls, type), cls.__name__) == (True, name)
    assert getattr(pypto_core.passes, name) is cls


@pytest.mark.parametrize("name", there("pypto.passes", PASS_FACTORIES))
def test_pass_factories(name: str) -> None:
    """The function with a pass's name creates that pass."""
    made = getattr(pypto_core.passes, name)()
    assert isinstance(made, passes.Pass)
    assert getattr(passes, name) is getattr(pypto_core.passes, name)


@pytest.mark.parametrize(("name", "kind"), PASS_FUNCTIONS)
def test_pass_functions(name: str, kind: type) -> None:
    """What the functions without arguments return."""
    assert type(getattr(pypto_core.passes, name)()) is kind


def test_verify_properties_of_an_empty_program() -> None:
    """The empty program has every property."""
    every = passes.IRPropertySet(*passes.IRProperty)
    assert passes.verify_properties(every, ir.Program([], "p"), "nothing") is None
    assert pypto_core.passes.verify_properties is passes.verify_properties


@pytest.mark.parametrize(
    ("path", "name"),
    [*(("backend", name) for name in BACKEND), *(("codegen", name) for name in CODEGEN)],
)
def test_backend_and_codegen(path: str, name: str) -> None:
    """The names of back ends and emitters are the same objects under both paths."""
    ours = getattr(at(f"pypto.{path}"), name)
    assert getattr(at(f"pypto.pypto_core.{path}"), name) is ours
    assert ours.__name__ == name


def test_core_type_of_a_function() -> None:
    """A function without ops runs on a vector core."""
    empty = ir.Function("f", [], [], ir.SeqStmts())
    assert codegen.infer_function_core_type(empty) is ir.CoreType.VECTOR
    assert pypto_core.codegen.infer_function_core_type is codegen.infer_function_core_type


def test_backend_types() -> None:
    """The two back ends have the numbers of the API."""
    assert [(kind.name, kind.value) for kind in backend.BackendType] == [("CCE", 0), ("PTO", 1)]


# ------------------------------------------------------------------------------ 1.8 the language

UNIFIED = words("""
add sub mul div maximum exp cast reshape transpose view matmul row_max row_sum create_tile
""")
BLOCK = words("""
load store l0c_store move vec_move neg sqrt rsqrt recip log abs relu not_ matmul_acc matmul_bias
gemv gemv_acc gemv_bias minimum sum max min cmp cmps row_min row_expand row_expand_add
row_expand_sub row_expand_mul row_expand_div col_expand col_expand_mul col_expand_div col_expand_sub
expands rem rems and_ ands or_ ors xor xors shl shls shr shrs maxs mins prelu addc subc addsc subsc
lrelu sel sels
""")
TENSOR = ["create_tensor", "assemble", "dim"]
UNDER_BLOCK = words("full fillpad adds subs muls divs get_block_idx")
UNDER_TENSOR = words("create_tensor read add_scalar sub_scalar mul_scalar div_scalar")


@pytest.mark.parametrize("name", there("pypto.language", [*UNIFIED, *BLOCK, *TENSOR]))
def test_ops_of_the_language(name: str) -> None:
    """``pl.X`` is the op called X, or the name that dispatches to the ops called X."""
    op_name = {"create_tensor": "create"}.get(name, name)
    last = getattr(pl, name).name.rpartition(".")[2]
    assert last in (op_name, op_name.removesuffix("_"))


@pytest.mark.parametrize("name", there("pypto.language.block", UNDER_BLOCK))
def test_ops_under_block(name: str) -> None:
    """``pl.block.X`` is the op ``block.X``."""
    assert getattr(pl.block, name) is ir.get_op(f"block.{name}")


@pytest.mark.parametrize("name", there("pypto.language.tensor", UNDER_TENSOR))
def test_ops_under_tensor(name: str) -> None:
    """``pl.tensor.X`` is the op ``tensor.X``."""
    full = "tensor.create" if name == "create_tensor" else f"tensor.{name}"
    assert getattr(pl.tensor, name) is ir.get_op(full)


TENSOR_TYPE: Any = pl.Tensor[[4, 8], pl.FP32]
TILE_TYPE: Any = pl.Tile[[4, 8], pl.FP16]
SCALAR_TYPE: Any = pl.Scalar[pl.INT64]
LANGUAGE: list[tuple[str, Callable[[], object], object]] = [
    ("function", lambda: pl.function.__name__, "function"),
    ("inline", lambda: pl.inline.__name__, "inline"),
    ("program", lambda: pl.program.__name__, "program"),
    ("InlineFunction", lambda: pl.InlineFunction.__name__, "InlineFunction"),
    ("parse", lambda: pl.parse("@pl.function\ndef f(): pass\n").name, "f"),
    ("Tensor", lambda: TENSOR_TYPE.shape, [4, 8]),
    ("Tile", lambda: TILE_TYPE.dtype, pypto.DT_FP16),
    ("Scalar", lambda: SCALAR_TYPE.dtype, pypto.DT_INT64),
    ("Out", lambda: pl.Out[int], int),
    ("InOut", lambda: pl.InOut[int], int),
    ("DynVar", lambda: repr(pl.DynVar("M")), "DynVar('M')"),
    ("dynamic", lambda: repr(pl.dynamic("N")), "DynVar('N')"),
    ("IntLike", lambda: int in pl.IntLike.__args__, True),
    ("range", lambda: list(pl.range(1, 7, 2)), [1, 3, 5]),
    ("parallel", lambda: list(pl.parallel(2)), [0, 1]),
    ("while_", lambda: list(pl.while_(init_values=(1, 2))), [(1, 2)]),
    ("yield_", lambda: (pl.yield_(1), pl.yield_(1, 2)), (1, (1, 2))),
    ("cond", lambda: pl.cond(False), None),
    ("incore", lambda: pl.incore().__enter__(), None),
    ("const", lambda: pl.const(3, pl.INT32), 3),
    ("FunctionType", lambda: pl.FunctionType is ir.FunctionType, True),
    ("ForKind", lambda: pl.ForKind is ir.ForKind, True),
    ("MemorySpace", lambda: pl.MemorySpace is ir.MemorySpace, True),
    ("TensorLayout", lambda: pl.TensorLayout is ir.TensorLayout, True),
    ("ND", lambda: pl.ND, ir.TensorLayout.ND),
    ("DN", lambda: pl.DN, ir.TensorLayout.DN),
    ("NZ", lambda: pl.NZ, ir.TensorLayout.NZ),
]


@pytest.mark.parametrize(("name", "call", "value"), LANGUAGE, ids=[row[0] for row in LANGUAGE])
def test_names_of_the_language(name: str, call: Callable[[], object], value: object) -> None:
    """Each other name of the language behaves as documented."""
    assert name in pl.__all__
    assert call() == value


DIAGNOSTICS = words("""
ParserError ParserSyntaxError ParserTypeError UndefinedVariableError SSAViolationError
UnsupportedFeatureError InvalidOperationError ScopeIsolationError ErrorRenderer ErrorCategory
ErrorCode get_error_code
""")


@pytest.mark.parametrize("name", DIAGNOSTICS)
def test_names_of_the_diagnostics(name: str) -> None:
    """The parser's diagnostics have the names of the API; section 3 says what they do."""
    assert getattr(pl.parser.diagnostics, name).__name__ == name


# ------------------------------------------------------------------------- planned, and the cost


@pytest.mark.parametrize(("row", "issue"), PLANNED.items(), ids=[name for _, name in PLANNED])
def test_planned_names_are_absent(row: tuple[str, str], issue: int) -> None:
    """What a later issue brings does not exist yet, not even as a stub; then its row goes."""
    module, name = row
    assert not hasattr(importlib.import_module(module), name), f"issue {issue} has brought it"


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def loaded_by(code: str) -> set[str]:
    """Return the modules of the project that ``code`` loads in a new process."""
    done = python(f"{code}\nimport sys; print(*(m for m in sys.modules if 'pypto' in m))")
    assert done.stderr == ""
    return {name.removeprefix("pypto._src.") for name in done.stdout.split()}


def test_importing_pypto_is_light() -> None:
    """The top package loads errors and element types, nothing of the IR, and no logging."""
    assert loaded_by("import pypto") == {
        "pypto", "pypto._version", "pypto._src", "lazy", "errors", "diagnostics", "suggestions",
        "dtypes", "records",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["ir", "passes", "codegen", "backend", "testing"])
def test_native_paths_load_when_they_are_read(name: str) -> None:
    """Importing a module of the native package does not load the public one it stands for."""
    path = f"pypto.pypto_core.{name}"
    assert f"pypto.{name}" not in loaded_by(f"import {path}")
    assert f"pypto.{name}" in loaded_by(f"import {path}; {path}.__all__")


def test_language_loads_no_passes_and_installs_the_hook() -> None:
    """The language loads neither passes nor emitters; it changes how errors are shown."""
    code = "import sys; before = sys.excepthook; import pypto.language"
    assert not [m for m in loaded_by(code) if m.startswith(("passes", "emit", "run", "logs"))]
    assert python(f"{code}\nprint(sys.excepthook is before)").stdout == "False\n"
