"""The parts of a Markdown page that the site and the tests need: blocks and links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LINK = re.compile(r"(?P<text>!?\[[^\]]*\])\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")
"""A link or a picture; the target is empty where it leads to another part of the same page."""

_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,}) *(?P<info>[^`]*)$")


class Block(NamedTuple):
    """A fenced block: its lines are ``lines[first:last]`` of the page, counted from 0.

    ``file`` follows the language, if the block is declared to be a file, or part of one.
    """

    language: str
    file: str
    text: str
    first: int
    last: int

    @property
    def is_example(self) -> bool:
        """Whether it is Python to be run; guides have blocks that are files of the repository."""
        return self.language == "python" and "/" not in self.file


def blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of ``page``."""
    lines = page.splitlines()
    closing = info = ""
    first = 0
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if not closing and fence:
            closing, info, first = fence["fence"], fence["info"].strip(), number + 1
        elif closing and line.strip() == closing:
            language, _, file = info.partition(" ")
            yield Block(language, file, "\n".join(lines[first:number]) + "\n", first, number)
            closing = ""


def examples_in_place(page: str) -> str:
    """Return the Python to be run, in place: all other lines of ``page`` are empty."""
    lines = page.splitlines()
    kept = [""] * len(lines)
    for block in blocks(page):
        if block.is_example:
            kept[block.first : block.last] = lines[block.first : block.last]
    return "\n".join(kept) + "\n"
