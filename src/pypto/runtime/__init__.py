"""Programs that run on this machine: ``compiled = runtime.compile(program); compiled(x, out)``."""

from typing import TYPE_CHECKING

from pypto._src.commands.example_cases import Case
from pypto._src.driver import CompiledProgram
from pypto._src.driver import compile_program as compile
from pypto._src.lazy import lazy_names

if TYPE_CHECKING:
    from pypto._src.run.config import RunConfig

__all__ = ["Case", "CompiledProgram", "RunConfig", "compile"]

if not TYPE_CHECKING:  # a type checker knows the names
    __getattr__ = lazy_names(__name__, {"RunConfig": "pypto._src.run.config"})
