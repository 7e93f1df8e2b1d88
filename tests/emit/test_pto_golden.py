"""The kept texts are what is emitted; `tests/emit/pto_texts.py` says which these are.

Whether they are accepted and mean the same is judged in `tests/dialect/test_rows.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.emit.kept import GOLDEN, compare_folder
from tests.emit.pto_texts import FOLDERS, index_text, texts

INDEX = "index.tsv"


@pytest.mark.parametrize("folder", FOLDERS)
def test_texts_are_kept(
    folder: str, golden: Callable[[str, str], None], request: pytest.FixtureRequest
) -> None:
    """Each text is the kept one, byte for byte, and there is a file for each name."""
    found = ((path.partition("/")[2], text) for path, text in texts(folder))
    compare_folder(f"pto/{folder}", found, ".pto", golden, request.config)


def first_lines(emitted: bool) -> dict[str, str]:
    """Return the first line of each text by path: as ``emitted``, or as kept, which is the same."""
    if emitted:
        return {path: text.partition("\n")[0] for folder in FOLDERS for path, text in texts(folder)}
    found: dict[str, str] = {}
    for path in (file for folder in FOLDERS for file in (GOLDEN / "pto" / folder).glob("*.pto")):
        with path.open(encoding="utf-8") as kept:
            found[path.relative_to(GOLDEN / "pto").as_posix()] = kept.readline().rstrip("\n")
    return found


def test_index_lists_the_texts(
    golden: Callable[[str, str], None], request: pytest.FixtureRequest
) -> None:
    """The index has a line for each file: its path, and the options that it is for."""
    update = bool(request.config.getoption("--update-golden"))
    golden(f"pto/{INDEX}", index_text(first_lines(update)))
