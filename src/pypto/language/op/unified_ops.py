"""The ops that take tiles, tensors or scalars, whichever their operands are."""

from pypto._src.ops.names import *  # noqa: F403
