"""IR as Python text."""

from pypto._src.ir.text.printer import python_print

__all__ = ["python_print"]
