"""The kept texts are what is emitted; `tests/emit/pto_texts.py` says which these are.

Whether they are accepted and mean the same is judged in `tests/dialect/test_rows.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.emit.pto_texts import FOLDERS, index_text, texts

GOLDEN = Path(__file__).parents[1] / "golden" / "pto"
INDEX = "index.tsv"


def remove_stale(folder: Path, names: set[str], wanted: bool) -> None:
    """Remove files that nothing writes any more, if that is ``wanted``."""
    for path in folder.glob("*.pto") if wanted else ():
        if path.name not in names:
            path.unlink()


@pytest.mark.parametrize("folder", FOLDERS)
def test_texts_are_kept(
    folder: str, golden: Callable[[str, str], None], request: pytest.FixtureRequest
) -> None:
    """Each text is the kept one, byte for byte, and there is a file for each name."""
    names: set[str] = set()
    for path, text in texts(folder):
        name = path.partition("/")[2]
        assert name not in names
        assert name.lower() not in {other.lower() for other in names}
        golden(f"pto/{path}", text)
        names.add(name)
    remove_stale(GOLDEN / folder, names, bool(request.config.getoption("--update-golden")))
    assert {path.name for path in (GOLDEN / folder).glob("*.pto")} == names


def test_index_lists_the_texts(golden: Callable[[str, str], None]) -> None:
    """The index has a line for each file: its path, and the options that it is for."""
    first_lines = {
        path: text.partition("\n")[0] for folder in FOLDERS for path, text in texts(folder)
    }
    golden(f"pto/{INDEX}", index_text(first_lines))
