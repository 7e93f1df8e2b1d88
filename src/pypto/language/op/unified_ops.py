"""The ops that take tiles, tensors or scalars, depending on their operands."""

from typing import TYPE_CHECKING

from pypto._src.lazy import lazy_names as _lazy_names
from pypto._src.ops import names as _names
from pypto._src.ops.names import *  # noqa: F403

if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__ = _lazy_names(__name__, _names.LATE)
    __all__ = [*_names.__all__, *_names.LATE]
