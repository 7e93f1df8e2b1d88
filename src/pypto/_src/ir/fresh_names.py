"""Names that are not taken yet, for additions to a function or a program."""

from __future__ import annotations

from collections.abc import Iterable


class FreshNames:
    """Gives names that are not ``taken``, none of them twice."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*taken}
        self._next: dict[str, int] = {}  # by the text before the number

    def like(self, wanted: str, between: str = "_") -> str:
        """Return ``wanted``, or if it is taken, ``wanted`` followed by the first free number."""
        if wanted in self._taken:
            return self.numbered(f"{wanted}{between}")
        self._taken.add(wanted)
        return wanted

    def numbered(self, base: str, first: int = 1) -> str:
        """Return ``base`` followed by the first free number, counting from ``first``."""
        number = self._next.get(base, first)
        while (name := f"{base}{number}") in self._taken:
            number += 1
        self._next[base] = number + 1
        self._taken.add(name)
        return name
