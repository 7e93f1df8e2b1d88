"""The ops of `pypto.language.tensor`, under another name."""

from pypto.language.tensor import *  # noqa: F403
