"""What the names of a kernel mean in each of its scopes."""

from pypto._src.frontend.state.scope import Names, same_value_type

__all__ = ["Names", "same_value_type"]
