"""``pypto explain``: the page of an error, by the slug that its report shows in brackets."""

from __future__ import annotations

import argparse
import difflib
import re
from pathlib import Path

from pypto._src.commands.cli_options import Commands, json_words, print_json
from pypto._src.errors import CallError
from pypto._src.records import NamedTuple

_ROW = re.compile(r"^\| `([a-z-]+)` \| (.+) \|$", re.MULTILINE)
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])+)\]\(([^)\s]+)\)")
_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Mistake(NamedTuple):
    """A program that leads to an error, and the report that it gets."""

    title: str
    program: str
    report: str


class Page(NamedTuple):
    """What is known of a slug: programs that lead to it, or prose where no program's text does."""

    slug: str
    meaning: str | None
    mistakes: tuple[Mistake, ...]


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "explain",
        parents=[json_words()],
        help="print what an error means, with programs that have it",
    )
    parser.add_argument(
        "slug",
        nargs="?",
        metavar="SLUG",
        help="the word in brackets at the end of a report's first line; without it: all there are",
    )
    parser.set_defaults(command=_explain)


def _explain(args: argparse.Namespace) -> int:
    if args.slug is None:
        slugs = sorted({name for name, _ in _ROW.findall(_pages()[0].read_text(encoding="utf-8"))})
        if args.json:
            print_json(slugs)
        else:
            print(*slugs, sep="\n")
        return 0
    found = page(args.slug.strip("[]"))
    if args.json:
        print_json({**found._asdict(), "mistakes": [each._asdict() for each in found.mistakes]})
        return 0
    print(found.slug if found.meaning is None else f"{found.slug}: {found.meaning}")
    for each in found.mistakes:
        print(f"\n# {each.title}\n")
        if len(found.mistakes) == 1:
            print(each.program)
        print(each.report, end="")
    return 0


def page(slug: str) -> Page:
    """Return the page of a slug.

    Raises:
        CallError: there is none.
    """
    index, programs = _pages()
    rows: dict[str, list[str]] = {}
    for name, text in _ROW.findall(index.read_text(encoding="utf-8")):
        rows.setdefault(name, []).append(text)
    if slug not in rows:
        near = difflib.get_close_matches(slug, rows, n=1)
        hint = f"pypto explain {near[0]}" if near else "pypto explain, which lists all of them"
        raise CallError(f"there is no error {slug!r}", hint=hint, slug="unknown-slug")
    meanings: list[str] = []
    mistakes: list[Mistake] = []
    for text in rows[slug]:
        links = [(title, name) for title, name in _LINK.findall(text) if "tests/errors/" in name]
        mistakes += [_mistake(title, programs / Path(name).name) for title, name in links]
        if not links:
            meanings.append(_LINK.sub(r"\1", text).replace("`", ""))
    return Page(slug, "; ".join(meanings) or None, tuple(mistakes))


def _mistake(title: str, path: Path) -> Mistake:
    blocks = _BLOCK.findall(path.read_text(encoding="utf-8"))
    program = "\n".join(text for language, text in blocks if language == "python")
    report = "\n".join(text for language, text in blocks if language == "text")
    return Mistake(title, program, report)


def _pages() -> tuple[Path, Path]:
    """Return the page of all errors and the folder of programs: of the checkout, else installed.

    Raises:
        CallError: this package was installed without them.
    """
    package = Path(__file__).parents[2]
    checkout = package.parents[1]
    places = [(package / "pages" / "errors.md", package / "pages" / "errors")]
    if (checkout / "pyproject.toml").is_file():
        places.insert(0, (checkout / "docs" / "errors.md", checkout / "tests" / "errors"))
    for index, programs in places:
        if index.is_file():
            return index, programs
    raise CallError("the pages of errors are not installed", slug="unknown-slug")
