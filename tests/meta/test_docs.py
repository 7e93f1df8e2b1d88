"""README.md and docs/: the Python in them runs, the links lead somewhere, the commands are ours."""

from __future__ import annotations

import linecache
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
OUTSIDE = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = sorted([*OUTSIDE, *(ROOT / "docs").rglob("*.md")])
DECISIONS = ROOT / "docs" / "decisions"

FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,}) *(?P<info>[^`]*)$")
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s#]*)(?:#[^)\s]*)?\)")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def fenced(text: str, language: str) -> str:
    """Return the blocks of ``language`` in place: all other lines of ``text`` are left empty."""
    lines: list[str] = []
    closing = info = ""
    for line in text.splitlines():
        fence = FENCE.match(line)
        if not closing and fence:
            closing, info = fence["fence"], fence["info"].strip()
            lines.append("")
        elif closing and line.strip() == closing:
            closing = ""
            lines.append("")
        else:
            lines.append(line if closing and info == language else "")
    return "\n".join(lines) + "\n"


def execute(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the Python blocks of ``page`` as one module whose line numbers are the page's."""
    source = fenced(page.read_text(encoding="utf-8"), "python")
    filename = str(page)
    module = ModuleType("page")
    module.__file__ = filename
    monkeypatch.setitem(sys.modules, module.__name__, module)
    # `inspect.getsource` shall find Python here, not the Markdown. No time stamp: not re-read.
    entry = (len(source), None, source.splitlines(keepends=True), filename)
    monkeypatch.setitem(linecache.cache, filename, entry)
    try:
        exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == filename]
        line = error.lineno if isinstance(error, SyntaxError) and not lines else lines[-1]
        message = "".join(traceback.format_exception(error))
        pytest.fail(f"{page.name}:{line}: {message}", pytrace=False)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if DECISIONS not in page.parents], ids=relative
)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All examples of a page run, one after the other, in one namespace."""
    if not (ROOT / "src" / "pypto" / "language").exists():
        pytest.skip("the examples are written in pypto.language, which is not in this tree")
    monkeypatch.chdir(tmp_path)
    execute(page, monkeypatch)


def test_failing_block_is_located(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure names the page and the line in it; other languages' blocks do not run."""
    page = tmp_path / "page.md"
    page.write_text("# T\n\n```sh\nfalse\n```\n\n```python\nx = 1\n```\n\n```python\nx / 0\n```\n")
    with pytest.raises(pytest.fail.Exception, match=r"^page\.md:12: (.|\n)*ZeroDivisionError"):
        execute(page, monkeypatch)


def test_blocks_have_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decorators can read the source of what they decorate, as `pl.program` does."""
    page = tmp_path / "page.md"
    page.write_text(
        "It's no Python.\n```python\nimport inspect\n\nclass C:\n    x = 1\n```\n"
        "```python\nassert inspect.getsource(C) == 'class C:\\n    x = 1\\n'\n```\n"
    )
    execute(page, monkeypatch)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=relative)
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link names a file of the repository."""
    targets = [link["target"] for link in LINK.finditer(page.read_text(encoding="utf-8"))]
    local = [target for target in targets if target and ":" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_index_has_every_page() -> None:
    """docs/index.md links every page of docs/; decisions are reached through their folder."""
    index = ROOT / "docs" / "index.md"
    links = LINK.finditer(index.read_text(encoding="utf-8"))
    linked = {(index.parent / link["target"]).resolve() for link in links}
    pages = {page for page in (ROOT / "docs").rglob("*.md") if DECISIONS not in page.parents}
    assert sorted(map(relative, pages - linked - {index})) == []


def test_decisions_are_counted() -> None:
    """Each decision has a number of its own, which its name and its title begin with."""
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
