"""Reading serialised IR with every op loaded: `deserialize` returns the registered ones."""

from __future__ import annotations

from pypto._src.ir.serialization.serialize import deserialize, deserialize_from_file, use_registry
from pypto._src.ops.lookup import REGISTRY

__all__ = ["deserialize", "deserialize_from_file"]

use_registry(REGISTRY.get)
