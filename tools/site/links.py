"""Check each link of the built site: all targets are in the folder, anchors too."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_ADDRESSES = {"a": "href", "link": "href", "script": "src", "img": "src", "iframe": "src"}
_LOADED = {"link", "script", "img", "iframe"}
"""What a browser fetches by itself; none of it may come from elsewhere."""


class Checked(NamedTuple):
    """The number of links, and the errors in some of them."""

    links: int
    broken: list[str]


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        for key in ("id", "name"):
            self.anchors.add(values.get(key) or "")
        address = values.get(_ADDRESSES.get(tag, ""))
        if address is not None and values.get("rel") not in ("canonical", "preconnect"):
            self.links.append((tag, address))


def check(site: Path) -> Checked:
    """Check the links of all pages in ``site``."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    broken: list[str] = []
    count = 0
    for path, page in pages.items():
        for tag, address in page.links:
            count += 1
            wrong = _wrong(path, tag, address, pages)
            if wrong:
                broken.append(f"{path.relative_to(site).as_posix()}: {address}: {wrong}")
    return Checked(count, broken)


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _wrong(path: Path, tag: str, address: str, pages: dict[Path, _Page]) -> str:
    """Return the error in a link, if any."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return "is loaded from elsewhere" if tag in _LOADED and parts.scheme != "data" else ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "there is no such file"
    if parts.fragment and target in pages:
        known = pages[target].anchors
        if unquote(parts.fragment) not in known:
            return "the page has no such anchor"
    return ""
