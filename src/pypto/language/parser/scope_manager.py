"""What the names of a kernel mean at each of its places."""

from pypto._src.frontend.state.scope import Names, same_value_type

__all__ = ["Names", "same_value_type"]
