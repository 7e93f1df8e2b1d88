"""Constraints of the tile library on operands that no static_assert of its CPU model checks."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TILE = re.compile(r"using (\w+)Type = (Tile<.*>);")
_DIMS = re.compile(r"using (\w+(?:Shape|Stride)Dim5) = \w+<(.*)>;")
_GLOBAL = re.compile(r"using (\w+)Type = GlobalTensor<\w+, (\w+), (\w+)(?:, Layout::(\w+))?>;")
_CALL = re.compile(r"(T[A-Z_0-9]+)(?:<.*?>)?\((.*)\);")
_FORM = re.compile(r"Tile<TileType::(\w+), (\w+), (\d+), (\d+), BLayout::(\w+)")
SAME_TYPE = {
    "TADD": (0, 1, 2),
    "TSUB": (0, 1, 2),
    "TMUL": (0, 1, 2),
    "TDIV": (0, 1, 2),
    "TMAX": (0, 1, 2),
    "TMIN": (0, 1, 2),
    "TAND": (0, 1, 2),
    "TOR": (0, 1, 2),
    "TABS": (0, 1),
    "TSEL": (0, 2, 3),
}
"""Operands that must have the same C++ type."""
APART = {"TANDS": 1, "TORS": 1, "TXORS": 1, "TRECIP": 1}
"""Instructions whose result must not be the given operand."""
LONGEST = 4095


class Text:
    """The declarations and instructions of a text."""

    def __init__(self, text: str) -> None:
        lines = [line.strip() for line in text.splitlines()]
        self.tiles = {m[1]: m[2] for m in map(_TILE.fullmatch, lines) if m}
        dims = {m[1]: m[2].split(", ") for m in map(_DIMS.fullmatch, lines) if m}
        globals_ = [m for m in map(_GLOBAL.fullmatch, lines) if m]
        self.globals = {m[1]: (dims[m[2]], dims[m[3]], m[4] or "ND") for m in globals_}
        found = [m for m in map(_CALL.match, lines) if m]
        self.calls = [(m[1], [arg.strip() for arg in m[2].split(",")]) for m in found]

    def faults(self) -> Iterator[str]:
        """Yield the faults of the operands."""
        for name, args in self.calls:
            if name in SAME_TYPE and len({self.tiles[args[i]] for i in SAME_TYPE[name]}) > 1:
                yield f"{name} {args}: operands of different types"
            if name in APART and args[0] == args[APART[name]]:
                yield f"{name} {args}: the result lies on the operand"
            if name == "TRESHAPE":
                yield from self.reshaped(args)
            if name in ("TLOAD", "TSTORE"):
                tile, tensor = args if name == "TLOAD" else reversed(args)
                yield from self.moved(name, tile, tensor)

    def form(self, tile: str) -> tuple[str, str, int, int, str]:
        """Return memory, element type, rows, columns and layout of a tile."""
        match = _FORM.match(self.tiles[tile])
        assert match is not None
        return match[1], match[2], int(match[3]), int(match[4]), match[5]

    def reshaped(self, args: list[str]) -> Iterator[str]:
        """Yield the faults of two tiles over the same bytes: sign may differ, kind may not."""
        new, old = (self.form(tile) for tile in args)
        if new[0] != old[0] or new[1].removeprefix("u") != old[1].removeprefix("u"):
            yield f"TRESHAPE {args}: {old} becomes {new}"

    def moved(self, name: str, tile: str, tensor: str) -> Iterator[str]:
        """Yield the faults of a transfer: sizes that are too large, gaps between elements."""
        shape, stride, layout = self.globals[tensor]
        space, _, rows, _, _ = self.form(tile)
        inner = 3 if layout == "DN" else 4
        if shape[inner] != "1" and stride[inner] != "1":
            yield f"{name} {tile} {tensor}: gaps between the elements of a line"
        if space == "Vec" and (rows > LONGEST or any(int(n) > LONGEST for n in shape[:3])):
            yield f"{name} {tile} {tensor}: too many rows"


def faults(text: str) -> Iterator[str]:
    """Yield the faults of a text's operands."""
    yield from Text(text).faults()
