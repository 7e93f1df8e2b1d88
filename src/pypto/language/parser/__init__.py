"""Decorators, text entry points and errors of the parser."""

from typing import TYPE_CHECKING

from pypto._src.frontend.decorators import function, inline, program
from pypto._src.frontend.markers import range_ as range
from pypto._src.frontend.markers import yield_
from pypto._src.frontend.parse_text import loads, loads_program, parse, parse_program
from pypto._src.frontend.syntax.inline import InlineFunction
from pypto._src.ir.annotations import Scalar, Tensor, Tile
from pypto._src.lazy import lazy_names
from pypto.language.parser import diagnostics
from pypto.language.parser.diagnostics import ErrorRenderer, ParserError

if TYPE_CHECKING:
    from pypto.language.parser import ast_parser as ast_parser
    from pypto.language.parser import decorator as decorator
    from pypto.language.parser import expr_evaluator as expr_evaluator
    from pypto.language.parser import scope_manager as scope_manager
    from pypto.language.parser import span_tracker as span_tracker
    from pypto.language.parser import text_parser as text_parser
    from pypto.language.parser import type_resolver as type_resolver

__getattr__ = lazy_names(
    __name__,
    {},
    (
        "ast_parser",
        "decorator",
        "expr_evaluator",
        "scope_manager",
        "span_tracker",
        "text_parser",
        "type_resolver",
    ),
)

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
