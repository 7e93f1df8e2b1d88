"""Functions and programs from text."""

from pypto._src.frontend.parse_text import loads, loads_program, parse, parse_program

__all__ = ["loads", "loads_program", "parse", "parse_program"]
