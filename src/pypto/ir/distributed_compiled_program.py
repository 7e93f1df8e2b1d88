"""Programs for several devices: which devices these are."""

from pypto._src.run.config import DistributedConfig

__all__ = ["DistributedConfig"]
