"""Passes over programs, what they require and produce, and the pipelines made of them."""

from typing import TYPE_CHECKING

from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity
from pypto._src.ir.verify.codes import NestedCallErrorType, SSAErrorType, TypeCheckErrorType
from pypto._src.ir.verify.verifier import IRVerifier
from pypto._src.lazy import lazy_names
from pypto._src.lint.parallel_loops import check_parallel
from pypto._src.lint.uninitialized import check_uninitialized, check_unwritten
from pypto._src.passes.memory.allocate_memory_addr import allocate_memory_addr
from pypto._src.passes.memory.init_mem_ref import init_mem_ref
from pypto._src.passes.memory.memory_reuse import basic_memory_reuse
from pypto._src.passes.optimize.common_subexpr import common_subexpr
from pypto._src.passes.optimize.dead_code import dead_code
from pypto._src.passes.optimize.loop_invariant_motion import loop_invariant_motion
from pypto._src.passes.optimize.simplify import simplify
from pypto._src.passes.optimize.unroll_loops import unroll_loops
from pypto._src.passes.pass_base import (
    CallbackInstrument,
    Pass,
    PassContext,
    PassInstrument,
    VerificationInstrument,
)
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.passes.pipeline import PassPipeline
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.passes.rewrite import RewritePass
from pypto._src.passes.run_verifier import run_verifier
from pypto._src.passes.statistics import PassRecord, PassStatistics
from pypto._src.passes.structure.convert_to_ssa import convert_to_ssa
from pypto._src.passes.structure.flatten_call_expr import flatten_call_expr
from pypto._src.passes.structure.flatten_single_stmt import flatten_single_stmt
from pypto._src.passes.structure.inline_calls import inline_calls
from pypto._src.passes.structure.normalize_stmt_structure import normalize_stmt_structure
from pypto._src.passes.sync.checker import FlagIdentity, check_sync
from pypto._src.passes.sync.insert_sync import insert_sync
from pypto._src.passes.tensors.convert_tensor_to_block_ops import convert_tensor_to_block_ops
from pypto._src.passes.tensors.legalize_tiles import legalize_tiles
from pypto._src.passes.tensors.outline_incore_scopes import outline_incore_scopes
from pypto._src.passes.verification import (
    VerificationLevel,
    VerificationMode,
    get_default_verification_level,
    get_verified_properties,
    verify_properties,
)

__all__ = [
    "CallbackInstrument",
    "Diagnostic",
    "DiagnosticSeverity",
    "FlagIdentity",
    "IRProperty",
    "IRPropertySet",
    "IRVerifier",
    "NestedCallErrorType",
    "OptimizationStrategy",
    "Pass",
    "PassContext",
    "PassInstrument",
    "PassManager",
    "PassPipeline",
    "PassRecord",
    "PassStatistics",
    "RewritePass",
    "SSAErrorType",
    "TypeCheckErrorType",
    "VerificationInstrument",
    "VerificationLevel",
    "VerificationMode",
    "allocate_memory_addr",
    "basic_memory_reuse",
    "check_parallel",
    "check_sync",
    "check_uninitialized",
    "check_unwritten",
    "common_subexpr",
    "convert_tensor_to_block_ops",
    "convert_to_ssa",
    "dead_code",
    "flatten_call_expr",
    "flatten_single_stmt",
    "get_default_verification_level",
    "get_verified_properties",
    "init_mem_ref",
    "inline_calls",
    "insert_sync",
    "legalize_tiles",
    "loop_invariant_motion",
    "normalize_stmt_structure",
    "outline_incore_scopes",
    "run_verifier",
    "simplify",
    "unroll_loops",
    "verify_properties",
]

if not TYPE_CHECKING:  # a type checker knows the names
    __getattr__ = lazy_names(__name__, {})  # suggests the right name for a misspelt one
