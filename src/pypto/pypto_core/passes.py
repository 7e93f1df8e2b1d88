"""The names of `pypto.passes` under the path of the native module."""

from typing import TYPE_CHECKING

from pypto._src.lazy import dir_of, names_of

if TYPE_CHECKING:
    from pypto.passes import *

__getattr__ = names_of("pypto.passes", __name__)
__dir__ = dir_of("pypto.passes")
