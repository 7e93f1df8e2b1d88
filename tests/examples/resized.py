"""The programs in the folders of `examples`, with the sizes used in tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from examples.models.resized import resized
from pypto._src.commands.example_cases import Case

ROOT = Path(__file__).parents[2]


class Example(NamedTuple):
    """A program in a folder of `examples`."""

    path: Path
    sizes: Mapping[str, int]
    """The constants that a test changes."""
    calls: tuple[int, ...] = ()
    """Other values of the extent that a call determines: the second parameter of ``inputs``."""

    @property
    def name(self) -> str:
        return self.path.stem

    def load(self) -> Loaded:
        return Loaded(self, resized(self.path, self.sizes))


class Loaded:
    """An example's module with the sizes of a test."""

    def __init__(self, example: Example, module: ModuleType) -> None:
        self.name = example.name
        self.function: Callable[..., Any] = vars(module)[example.name]
        [case] = module.CASES
        self.case: Case = case
        self.inputs: Callable[..., dict[str, Any]] = module.inputs
