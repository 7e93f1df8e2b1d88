"""Decorators, text entry points and errors of the parser."""

from pypto._src.frontend.control import range_ as range
from pypto._src.frontend.control import yield_
from pypto._src.frontend.decorators import function, inline, program
from pypto._src.frontend.inline import InlineFunction
from pypto._src.frontend.text import loads, loads_program, parse, parse_program
from pypto._src.ir.annotations import Scalar, Tensor, Tile
from pypto.language.parser import diagnostics
from pypto.language.parser.diagnostics import ErrorRenderer, ParserError

__all__ = [
    "ErrorRenderer",
    "InlineFunction",
    "ParserError",
    "Scalar",
    "Tensor",
    "Tile",
    "diagnostics",
    "function",
    "inline",
    "loads",
    "loads_program",
    "parse",
    "parse_program",
    "program",
    "range",
    "yield_",
]
