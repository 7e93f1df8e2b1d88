"""The names of `pypto.ir` under the path of the native module; `IRBuilder` is the low-level one."""

from typing import TYPE_CHECKING

from pypto._src.lazy import dir_of, names_of

if TYPE_CHECKING:
    from pypto.ir import *

from pypto._src.ir.builders.stack_builder import IRBuilder as IRBuilder

__getattr__ = names_of("pypto.ir", __name__)
__dir__ = dir_of("pypto.ir")
