"""Functions that raise on purpose, for tests of how errors reach the user."""

from __future__ import annotations

from typing import NoReturn, Protocol

from pypto._src.errors import InternalError, PyptoError


class Raiser(Protocol):
    """A function that raises one class."""

    def __call__(self, message: str) -> NoReturn:
        """Raise the class with ``message``."""
        ...


def _raiser(cls: type[Exception]) -> Raiser:
    def raise_error(message: str) -> NoReturn:
        raise cls(message)

    raise_error.__doc__ = f"Raise {cls.__name__} with ``message``."
    return raise_error


raise_value_error = _raiser(ValueError)
raise_type_error = _raiser(TypeError)
raise_runtime_error = _raiser(RuntimeError)
raise_not_implemented_error = _raiser(NotImplementedError)
raise_index_error = _raiser(IndexError)
raise_assertion_error = _raiser(AssertionError)
raise_internal_error = _raiser(InternalError)
raise_generic_error = _raiser(PyptoError)
