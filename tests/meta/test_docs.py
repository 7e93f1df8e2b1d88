"""README.md and docs/: their Python runs, their links resolve, their commands are ours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.site.execute import BlockError, run_page
from tools.site.markdown import LINK
from tools.site.stage import DECISIONS, INDEX, PAGES, ROOT, navigation


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if DECISIONS not in page.parents], ids=relative
)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All examples of a page run, one after another, in one namespace."""
    if not (ROOT / "src" / "pypto" / "language").exists():
        pytest.skip("the examples are written in pypto.language, which is not in this tree")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run_page(page)


def test_failing_block_is_located(tmp_path: Path) -> None:
    """A failure names the page and the line in it; blocks in other languages do not run."""
    page = tmp_path / "page.md"
    page.write_text("# T\n\n```sh\nfalse\n```\n\n```python\nx = 1\n```\n\n```python\nx / 0\n```\n")
    with pytest.raises(BlockError, match=r"^page\.md:12: (.|\n)*ZeroDivisionError"):
        run_page(page)


def test_blocks_have_source(tmp_path: Path) -> None:
    """Decorators can read the source of what they decorate, as `pl.program` does."""
    page = tmp_path / "page.md"
    page.write_text(
        "It's no Python.\n```python\nimport inspect\n\nclass C:\n    x = 1\n```\n"
        "```python\nassert inspect.getsource(C) == 'class C:\\n    x = 1\\n'\n```\n"
    )
    run_page(page)


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link points to a file of the repository."""
    targets = [link["target"] for link in LINK.finditer(page.read_text(encoding="utf-8"))]
    local = [target for target in targets if target and ":" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_index_has_every_page() -> None:
    """Each page is in one section of docs/index.md; decisions are reached through the first one."""
    listed = [page for pages in navigation().values() for page in pages]
    first = min(DECISIONS.glob("*.md"))
    pages = {page for page in PAGES if DECISIONS not in page.parents or page == first}
    assert sorted(map(relative, listed)) == sorted(map(relative, pages - {INDEX}))


def test_decisions_are_counted() -> None:
    """Each decision has a unique number, with which its file name and its title begin."""
    found = sorted(DECISIONS.glob("*.md"))
    assert [int(page.name[:4]) for page in found] == list(range(1, len(found) + 1))
    for page in found:
        title = page.read_text(encoding="utf-8").splitlines()[0]
        assert title.startswith(f"# {int(page.name[:4])}. "), page


def test_plain_commands_are_those_of_make() -> None:
    """README.md, .ci/run and the Makefile check and test with the same commands."""
    tool = re.compile(r"^\s*(?:\.venv/bin|\$\(BIN\))/((?:ruff|pyright|pytest)\b.*)$", re.MULTILINE)
    readme, ci, make = (
        [command.replace("$(BIN)", ".venv/bin") for command in tool.findall(path.read_text())]
        for path in (ROOT / "README.md", ROOT / ".ci" / "run", ROOT / "Makefile")
    )
    assert readme == ci
    assert set(readme) <= set(make)
    assert len(readme) == 4
