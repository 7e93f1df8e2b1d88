"""The builder that makes IR from nested `with` blocks."""

from pypto._src.ir.builders.builder import (
    ForLoopBuilder,
    FunctionBuilder,
    IfStmtBuilder,
    IRBuilder,
    ProgramBuilder,
    ScopeBuilder,
    WhileLoopBuilder,
)

__all__ = [
    "ForLoopBuilder",
    "FunctionBuilder",
    "IRBuilder",
    "IfStmtBuilder",
    "ProgramBuilder",
    "ScopeBuilder",
    "WhileLoopBuilder",
]
