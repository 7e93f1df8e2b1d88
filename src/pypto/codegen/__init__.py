"""From programs after the passes to text: PTO, C++ kernels, C++ orchestration."""

from pypto._src.build_output import CCECodegen, TypeConverter
from pypto._src.emit.cpp import CodeGenerator
from pypto._src.emit.orchestration import OrchestrationResult, generate_orchestration
from pypto._src.emit.pto import PTOCodegen
from pypto._src.ir.roles import core_type as infer_function_core_type

__all__ = [
    "CCECodegen",
    "CodeGenerator",
    "OrchestrationResult",
    "PTOCodegen",
    "TypeConverter",
    "generate_orchestration",
    "infer_function_core_type",
]
