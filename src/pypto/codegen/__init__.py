"""From programs after the passes to text: PTO, C++ kernels, C++ orchestration."""

from typing import TYPE_CHECKING

from pypto._src.build_output import CCECodegen, generate_orchestration
from pypto._src.emit.cpp.generate import CodeGenerator, TileCollector
from pypto._src.emit.cpp.isa_mapper import ISAMapper
from pypto._src.emit.cpp.names import CodeContext
from pypto._src.emit.cpp.options import CppOptions
from pypto._src.emit.cpp.types import TypeConverter
from pypto._src.emit.host.device.generate import OrchestrationResult
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.emit.writer import CodeEmitter
from pypto._src.ir.roles import core_type as infer_function_core_type
from pypto._src.lazy import lazy_names

__all__ = [
    "CCECodegen",
    "CodeContext",
    "CodeEmitter",
    "CodeGenerator",
    "CppOptions",
    "ISAMapper",
    "OrchestrationResult",
    "PTOCodegen",
    "TileCollector",
    "TypeConverter",
    "generate_orchestration",
    "infer_function_core_type",
]

if not TYPE_CHECKING:  # a type checker knows the names
    __getattr__ = lazy_names(__name__, {})  # suggests the right name for a misspelt one
