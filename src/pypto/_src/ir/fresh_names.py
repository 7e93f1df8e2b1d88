"""Names that are not taken yet, for what is added to a function or a program."""

from __future__ import annotations

from collections.abc import Iterable


class NewNames:
    """Gives names other than those that are ``taken``, no name twice."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*taken}
        self._next: dict[str, int] = {}  # by what stands before the number

    def like(self, wanted: str, between: str = "_") -> str:
        """Return ``wanted``, or that with the first number behind it that makes it new."""
        if wanted in self._taken:
            return self.numbered(f"{wanted}{between}")
        self._taken.add(wanted)
        return wanted

    def numbered(self, base: str, first: int = 1) -> str:
        """Return ``base`` with a number behind it: of ``first`` and those above the first new."""
        number = self._next.get(base, first)
        while (name := f"{base}{number}") in self._taken:
            number += 1
        self._next[base] = number + 1
        self._taken.add(name)
        return name
