"""From the syntax tree of a definition to a function or program."""

from pypto._src.frontend.context import Context
from pypto._src.frontend.functions import ProgramParser, parse_function

__all__ = ["Context", "ProgramParser", "parse_function"]
