"""Lay the pages out for Sphinx: in one folder, with links that work there, and with outputs.

`docs/index.md` is the start page, and its sections are the navigation: the links of the table in a
section are the pages below it, in that order. Pages from outside `docs/` get the folder
`project/`; other files of the repository that pages link to are copied. The programs of
`tests/errors` are a page for each error, `errors/SLUG`.
"""

from __future__ import annotations

import html
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.site.api import ApiPage
from tools.site.execute import Output, is_tutorial
from tools.site.markdown import LINK, blocks

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEX = DOCS / "index.md"
DECISIONS = DOCS / "decisions"
PLAYGROUND = DOCS / "playground.md"
MISTAKES = ROOT / "tests" / "errors"
OUTSIDE = {
    ROOT / "README.md": "readme",
    ROOT / "CHANGELOG.md": "changelog",
    ROOT / "CONTRIBUTING.md": "contributing",
    ROOT / "SECURITY.md": "reporting",
    ROOT / "bench" / "README.md": "benchmarks",
}
PAGES = sorted([*OUTSIDE, *DOCS.rglob("*.md")])

_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_SLUG = re.compile(
    r"^\| `(?P<slug>[\w-]+)` \| (?P<links>\[.*\]\(\.\./tests/errors/.*)\|$", re.MULTILINE
)
_ROW = re.compile(r"^\| \[(?P<title>[^\]]+)\]\((?P<target>[^)#]+)\)", re.MULTILINE)


def place(page: Path) -> Path:
    """Return the path in the site of a file of the repository."""
    if DOCS in page.parents:
        return page.relative_to(DOCS)
    if page in OUTSIDE:
        return Path("project", f"{OUTSIDE[page]}.md")
    return Path("files", page.relative_to(ROOT))


def navigation() -> dict[str, dict[Path, str]]:
    """Return the pages of each section of the start page, in order, with their titles there."""
    parts = _SECTION.split(INDEX.read_text(encoding="utf-8"))[1:]
    return {
        section: {(DOCS / row["target"]).resolve(): row["title"] for row in _ROW.finditer(text)}
        for section, text in zip(parts[::2], parts[1::2], strict=True)
    }


def stage(folder: Path, shown: Mapping[Path, list[Output]], api: list[ApiPage]) -> None:
    """Write the sources of the site into ``folder``, with the output of blocks."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        text = with_outputs(page, text, shown.get(page, []))
        text = _with_links(page, text, folder)
        if page == INDEX:
            text = _with_navigation(text, api)
        if page == PLAYGROUND:
            link = '<p><a href="playground/index.html">Open the playground</a></p>'
            text = text.replace("\n## ", f"\n```{{raw}} html\n{link}\n```\n\n## ", 1)
        if page == min(DECISIONS.glob("*.md")):
            others = sorted(each.name for each in DECISIONS.glob("*.md") if each != page)
            text += "\n## All decisions\n\n" + _toctree("", others, hidden=False)
        _write(folder / place(page), text)
    for slug, programs in mistakes().items():
        _write(folder / "errors" / f"{slug}.md", _mistakes_page(slug, programs))
    for page in api:
        _write(folder / "api" / f"{page.name}.md", page.text)


def mistakes() -> dict[str, list[Path]]:
    """Return the programs that lead to each error with a row on the page of errors."""
    text = (DOCS / "errors.md").read_text(encoding="utf-8")
    return {
        row["slug"]: [(DOCS / link["target"]).resolve() for link in LINK.finditer(row["links"])]
        for row in _SLUG.finditer(text)
    }


def _mistakes_page(slug: str, programs: list[Path]) -> str:
    parts = [
        f"---\norphan: true\n---\n\n# {slug}\n\nPrograms that lead to this [error](../errors.md).\n"
    ]
    for program in programs:
        text = program.read_text(encoding="utf-8")
        parts.append(f"(mistake-{program.stem})=\n#{text}")
    return "\n".join(parts)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _with_links(page: Path, text: str, folder: Path) -> str:
    """Return ``text`` with links adjusted to where files are in the site."""
    begin = place(page).parent

    def replace(found: re.Match[str]) -> str:
        target = found["target"]
        if not target or ":" in target:
            return found[0]
        path = (page.parent / target).resolve()
        if path.parent == MISTAKES:
            return f"{found['text']}(#mistake-{path.stem})"
        if path.is_dir():  # it has no page
            return found["text"][1:-1]
        if path not in PAGES:
            copied = folder / place(path)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copied)
        target = Path(os.path.relpath(place(path), begin)).as_posix()
        return f"{found['text']}({target}{found['anchor'] or ''})"

    code = {number for block in blocks(text) for number in range(block.first, block.last)}
    lines = text.splitlines(keepends=True)
    changed = [
        line if number in code else LINK.sub(replace, line) for number, line in enumerate(lines)
    ]
    return "".join(changed)


def _with_navigation(text: str, api: list[ApiPage]) -> str:
    rows = "".join(f"| [{page.title}](api/{page.name}.md) | {page.about} |\n" for page in api)
    trees = [
        _toctree(section, [f"{title} <{place(page).as_posix()}>" for page, title in pages.items()])
        for section, pages in navigation().items()
    ]
    names = _toctree("API", [f"api/{page.name}.md" for page in api])
    return f"{text}\n## API\n\n| Page | What it has |\n|---|---|\n{rows}\n" + "".join(
        [*trees, names]
    )


def _toctree(caption: str, pages: list[str], *, hidden: bool = True) -> str:
    options = [f":caption: {caption}"] * bool(caption) + [":hidden:"] * hidden
    return "\n".join(["```{toctree}", *options, ":maxdepth: 1", "", *pages, "```", ""])


def with_outputs(page: Path, text: str, shown: list[Output]) -> str:
    """Return a page with the output of each block below it, and the names of files above."""
    lines = text.splitlines()
    outputs = {output.last: output for output in shown}
    if is_tutorial(page) and shown:
        link = (
            f'<p><a href="{_address(page, f"{page.stem}.ipynb")}">This page as a notebook</a></p>'
        )
        lines += ["", "```{raw} html", link, "```"]
    for block in reversed(list(blocks(text))):
        if block.last in outputs:
            lines[block.last + 1 : block.last + 1] = _output(page, outputs[block.last])
        if block.file and block.is_example:
            address = _address(page, block.file)
            link = f'<p class="file"><a href="{address}">{block.file}</a></p>'
            lines[block.first - 1 : block.first - 1] = ["```{raw} html", link, "```", ""]
    return "\n".join(lines) + "\n"


def outputs_of(page: Path) -> Path:
    """Return the folder of the site that has the files of a page."""
    return Path("_outputs", place(page).stem)


def _address(page: Path, file: str) -> str:
    return Path(os.path.relpath(outputs_of(page) / file, place(page).parent)).as_posix()


def _output(page: Path, output: Output) -> Iterator[str]:
    if output.text.strip():
        yield from ("", "```{raw} html")
        yield f'<pre class="output">{html.escape(output.text.rstrip())}</pre>'
        yield "```"
    for name in output.pictures:
        address = _address(page, name)
        yield from ("", "```{raw} html")
        if name.endswith(".html"):
            yield f'<iframe src="{address}" loading="lazy" title="{name}"></iframe>'
            yield f'<p class="open"><a href="{address}">{name} on a page of its own</a></p>'
        else:
            yield f'<a href="{address}"><img src="{address}" alt="{name}"></a>'
        yield "```"
