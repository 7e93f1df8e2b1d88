"""Programs that run on this machine: ``compiled = runtime.compile(program); compiled(x, out)``."""

from pypto._src.demo import Case
from pypto._src.driver import CompiledProgram
from pypto._src.driver import compile_program as compile

__all__ = ["Case", "CompiledProgram", "compile"]
