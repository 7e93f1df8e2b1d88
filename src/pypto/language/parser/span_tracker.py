"""Locations of a kernel's syntax in its file."""

from pypto._src.diagnostics import Span
from pypto._src.frontend.source.source import Source, class_source, function_source

__all__ = ["Source", "Span", "class_source", "function_source"]
