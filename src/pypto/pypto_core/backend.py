"""The names of `pypto.backend` under the path of the native module."""

from typing import TYPE_CHECKING

from pypto._src.lazy import dir_of, names_of

if TYPE_CHECKING:
    from pypto.backend import *

__getattr__ = names_of("pypto.backend", __name__)
__dir__ = dir_of("pypto.backend")
