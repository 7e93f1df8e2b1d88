"""What notebooks show for programs and errors: HTML that needs no network and no script."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import PyptoError, runtime
from pypto._src.errors import CallError
from pypto._src.frontend.excepthook import notebook_html
from tests.frameworks import kernels

TITLES = ["Source and IR", "Passes", "C++", "MLIR", "Memory", "Tasks", "Timeline"]
VOID = {"input", "meta", "link", "br", "hr"}


class Checker(HTMLParser):
    """Records the contents of a page; fails where an element is closed that is not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "form":
            assert "form" not in self.open, "forms cannot be nested"
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href"):
                self.links.append(value or "")
            if name == "srcdoc":
                inner = checked(value or "")
                self.tags += inner.tags
                self.links += inner.links

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    return checker


def sections(page: str) -> dict[str, str]:
    """Return the contents of each tab of the outermost row."""
    found = re.findall(r'name="tab"[^>]*>([^<]*)</label><section>(.*?)</section></div>', page, re.S)
    return {html.unescape(title): part for title, part in found}


@pytest.fixture(scope="module")
def page() -> str:
    """Return the overview of a kernel."""
    return runtime.Overview(kernels.scale, sizes={"ROWS": 48}).html()


def test_page_is_whole_and_alone(page: str) -> None:
    """The page is well-formed, loads nothing, and has no script; one tab per row is selected."""
    found = checked(page)
    assert found.links == []
    assert "script" not in found.tags
    assert found.tags.count("form") == 2  # of the page, and of its passes
    assert list(sections(page)) == TITLES
    assert "pypto-error" not in page


def test_tabs(page: str) -> None:
    """Each tab shows what its title says."""
    tabs = sections(page)
    source, ir = tabs["Source and IR"].split("</div><div>")
    assert "# pypto.program: " in ir
    assert 'factor: <span style="color:#1e8f8f">pl.FP32</span> = ' in source
    passes = html.unescape(tabs["Passes"])
    assert list(sections(passes)) == [
        "parsed",
        *("ConvertToSSA", "FlattenCallExpr", "InitMemRef", "InsertSync", "AllocateMemoryAddr"),
    ]
    assert "changed nothing." in passes
    assert "TMULS(" in tabs["C++"]
    assert "pto.tmuls" in tabs["MLIR"]
    assert "<h2>scale, Vec</h2>" in html.unescape(tabs["Memory"])
    assert tabs["Tasks"].startswith("<svg ")


def test_timeline(page: str) -> None:
    """The timeline has a bar for the task and one for each instruction of each iteration."""
    timeline = sections(page)["Timeline"]
    names = re.findall(r"<title>(\S+)", timeline)
    assert names.count("scale:") == 1
    assert [names.count(name) for name in ("pl.load", "pl.mul", "pl.store")] == [3, 3, 3]
    assert "vector core 0 MTE2</text>" in timeline


def test_errors_have_their_tab() -> None:
    """If a part cannot be produced, its tab has the report; the others are unaffected."""

    @pl.program
    class TooLarge:
        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            self,
            x: pl.Tensor[[512, 512], pl.FP32],
            out: pl.Out[pl.Tensor[[512, 512], pl.FP32]],
        ):
            return pl.store(pl.load(x, [0, 0], [512, 512]), [0, 0], [512, 512], out)

    page = runtime.Overview(TooLarge).html()
    checked(page)
    tabs = sections(page)
    assert list(tabs) == TITLES
    assert "pypto-error" not in tabs["Source and IR"]
    assert "[memory-overflow]" in tabs["C++"]


def test_what_has_an_overview() -> None:
    """Programs, compiled ones and kernels with arguments have one; other values do not."""
    compiled = kernels.divide.compile()
    assert repr(runtime.Overview(compiled)) == f"<overview of {compiled.source.name}>"
    x = np.zeros((20, 64), np.float32)
    overview: Any = runtime.Overview(kernels.scale, [x, np.zeros_like(x), 2.0])
    assert "[memory" not in overview._repr_html_()
    assert overview.html() is overview.html()
    wrong: Any = x
    with pytest.raises(CallError) as caught:
        runtime.Overview(wrong)
    assert caught.value.slug == "no-program"


def test_error_as_html() -> None:
    """An error as a cell's value is shown with excerpt and caret; its text is escaped."""
    with pytest.raises(PyptoError) as caught:
        pl.parse("@pl.function\ndef f(n: pl.INT64) -> pl.INT64:\n    return n < m\n", "<cell>")
    shown: Any = caught.value
    page = shown._repr_html_()
    assert page == notebook_html(caught.value)
    checked(page)
    text = html.unescape(re.sub(r"<[^>]*>", "", page))
    assert text == caught.value.render(colour=False)
    assert "\n  |                ^" in text
    assert '<span style="color:#d0402f;font-weight:bold">error</span>: <b>' in page
