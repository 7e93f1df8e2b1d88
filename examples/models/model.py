"""What makes up a model: a program at some sizes, with inputs, a reference and an error bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from examples.models.resized import resized

EXAMPLES = Path(__file__).parents[1]
LAYERS = 2

Arguments = dict[str, Any]


class Built(NamedTuple):
    """A model instantiated at some sizes."""

    function: Any
    """A ``@pl.jit`` function."""
    inputs: Callable[[np.random.Generator], Arguments]
    """Returns the arguments in the order of the parameters."""
    reference: Callable[..., Arguments]
    """Takes the program's results, by name, and the arguments; returns the results in float64.
    Between choices that are equal up to rounding, it follows those of the program."""
    bound: float
    """The largest error allowed, relative to max(1, |expected|)."""


class Model(NamedTuple):
    """A model whose sizes are still to be chosen."""

    name: str
    build: Callable[[Mapping[str, int]], Built]
    full: Mapping[str, int]
    """The sizes of the real model, where they differ from those in its layers' source."""
    small: Mapping[str, int]
    """Sizes for a quick test."""


def blocks(sizes: Mapping[str, int]) -> tuple[Any, Any, Any]:
    """Return ``rms_norm``, ``project`` and ``project_add`` for BATCH rows of HIDDEN columns."""
    batch, hidden = sizes["BATCH"], sizes["HIDDEN"]
    decoder = EXAMPLES / "decoder"
    norm = resized(decoder / "decode_layer.py", {"BATCH": batch, "HIDDEN": hidden, "CHUNK": 256})
    products = resized(decoder / "prefill_layer.py", {"BLOCK": batch, "HIDDEN": hidden})
    return norm.rms_norm, products.project, products.project_add


def normed(x: Any) -> Any:
    """Return rows divided by their root mean square."""
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)


def weights(rng: np.random.Generator, rows: int, columns: int, dtype: Any, gain: float = 1) -> Any:
    """Return a matrix whose products with rows of magnitude 1 have magnitude ``gain``."""
    values = rng.standard_normal((rows, columns), np.float32)
    return (values * np.float32(gain * rows**-0.5)).astype(dtype)


def stacked(layers: Iterable[Arguments], of_layer: Iterable[str]) -> Arguments:
    """Return the arguments of all layers: those in ``of_layer`` concatenated, others once."""
    all_layers = list(layers)
    found = dict(all_layers[0])
    for name in of_layer:
        found[name] = np.concatenate([layer.pop(name) for layer in all_layers])
    return found


def part(array: Any, layer: int) -> Any:
    """Return one layer's slice of a stacked argument."""
    rows = len(array) // LAYERS
    return array[layer * rows : (layer + 1) * rows]
