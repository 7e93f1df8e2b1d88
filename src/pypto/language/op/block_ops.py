"""The ops of `pypto.language.block`, under another name."""

from pypto.language.block import *  # noqa: F403
