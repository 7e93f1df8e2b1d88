"""The decorators: `@pl.function`, `@pl.program` and `@pl.inline`."""

from pypto._src.frontend.decorators import function, inline, program
from pypto._src.frontend.syntax.inline import InlineFunction

__all__ = ["InlineFunction", "function", "inline", "program"]
