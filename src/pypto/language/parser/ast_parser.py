"""From the syntax tree of a definition to a function or program."""

from pypto._src.frontend.programs import ProgramParser, parse_function
from pypto._src.frontend.state.context import Context

__all__ = ["Context", "ProgramParser", "parse_function"]
