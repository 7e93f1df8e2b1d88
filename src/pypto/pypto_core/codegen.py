"""The names of `pypto.codegen` under the path of the native module."""

from typing import TYPE_CHECKING

from pypto._src.lazy import dir_of, names_of

if TYPE_CHECKING:
    from pypto.codegen import *

__getattr__ = names_of("pypto.codegen", __name__)
__dir__ = dir_of("pypto.codegen")
