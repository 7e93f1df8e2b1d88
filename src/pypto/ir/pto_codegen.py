"""The PTO files of a program after the passes."""

from pypto._src.build_output import write_pto as generate

__all__ = ["generate"]
