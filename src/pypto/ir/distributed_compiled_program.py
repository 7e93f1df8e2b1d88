"""Programs for several devices: the choice of these devices."""

from pypto._src.run.config import DistributedConfig

__all__ = ["DistributedConfig"]
