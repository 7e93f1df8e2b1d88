"""The documentation site: what `make docs` turns pages, blocks and docstrings into for Sphinx."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import pypto.language as pl
from tools.site import api, links
from tools.site import stage as stage_
from tools.site.execute import BlockError, Output, run_page
from tools.site.markdown import blocks
from tools.site.notebook import notebook
from tools.site.stage import ROOT, mistakes, stage, with_outputs


def test_every_operator_has_an_entry() -> None:
    """The pages of operators have each name with its signature, text and instruction."""
    pages = {page.name: page.text for page in api.pages()}
    for name in ("block", "tensor", "system"):
        for op in getattr(pl, name).__all__:
            if op != "MaskPattern":
                assert f"{{py:function}} {op}(" in pages[f"operators-{name}"], op
    assert (
        "{py:function} row_sum(tile, tmp_tile=None)\n\nReturn the sum" in pages["operators-block"]
    )
    twice = re.findall(r"^```{py:function} and_\(.*\n.*$", pages["operators-block"], re.MULTILINE)
    head = "```{py:function} and_(lhs, rhs)\n"  # two tiles; a tile and a number
    assert twice == [head, f"{head}:no-index:"]
    assert "C++ `TROWSUM`; MLIR `pto.trowsum`" in pages["operators-block"]
    assert "{py:function} compile(" in pages["pypto-runtime"]
    assert "{py:method} random_arguments(seed=0, sizes=None)" in pages["pypto-runtime"]
    assert not [text for text in pages.values() if " object at 0x" in text]


def test_sections_of_docstrings_are_lists() -> None:
    """What Google's style indents becomes a list in Markdown; other text is unchanged."""
    text = "Do it.\n\nArgs:\n    name: What\n        it is.\n\nRaises:\n    E: so.\n"
    markdown = " ".join(api.docstring(text).split())
    assert markdown == "Do it. **Args** - `name`: What it is. **Raises** - `E`: so."


def test_pages_are_laid_out(tmp_path: Path) -> None:
    """Links point to the pages' places in the site; each mistake is on the page of its error."""
    stage(tmp_path, {}, list(api.pages()))
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "[README](project/readme.md)" in index
    assert "Language <language.md>" in index  # in the navigation
    readme = (tmp_path / "project" / "readme.md").read_text(encoding="utf-8")
    assert "[docs/index.md](../index.md)" in readme
    errors = (tmp_path / "errors.md").read_text(encoding="utf-8")
    assert "(#mistake-shape-mismatch)" in errors
    programs = [program for found in mistakes().values() for program in found]
    assert sorted(programs) == sorted((ROOT / "tests" / "errors").glob("*.md"))
    fast = (tmp_path / "make-it-fast.md").read_text(encoding="utf-8")
    assert "(files/tests/golden/make-it-fast/1.svg)" in fast
    assert (tmp_path / "files" / "tests" / "golden" / "make-it-fast" / "1.svg").exists()


TUTORIAL = """\
# Double

```python double.py
import pypto.language as pl


@pl.jit(target="interpreter")
def double(x: pl.Tensor[[16, 16], pl.FP32], y: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
    y[:] = x[:] * 2
    return y
```

```python
print("two", "<b>")
2 + 2
```

```sh
pypto check double.py    # finds nothing
pypto show double.py --graph tasks.svg
```
"""


def test_tutorials_show_what_their_blocks_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Printed output, the last value, and what commands print and draw for the Python above."""
    page = tmp_path / "tutorials" / "double.md"
    page.parent.mkdir()
    page.write_text(TUTORIAL)
    monkeypatch.setattr(stage_, "DOCS", tmp_path)
    monkeypatch.chdir(tmp_path)
    first, second, commands = run_page(page)
    assert (first.text, first.pictures) == ("", [])
    assert (second.text, second.pictures) == ("two <b>\n4\n", [])
    assert commands.text.startswith("double.py: double\n  rules   ok\n")
    assert commands.pictures == ["tasks.svg"]
    text = with_outputs(page, TUTORIAL, [first, second, commands])
    assert '<pre class="output">two &lt;b&gt;\n4</pre>' in text
    assert '<img src="../_outputs/double/tasks.svg" alt="tasks.svg">' in text
    assert text.index("2 + 2") < text.index("two &lt;b&gt;") < text.index("pypto check")
    assert 'href="../_outputs/double/double.py"' in text
    assert Path("double.py").read_text().endswith("    return y\n")


def test_tutorials_are_notebooks() -> None:
    """A file is written and run, commands are shell commands, and links of the site are text."""
    shown = [Output(12, "", []), Output(17, "two\n4\n", []), Output(22, "ok\n", ["a.html"])]
    page = TUTORIAL.replace("# Double", "# Double\nSee [it](../it.md).", 1)
    shown = [Output(block.last, *each[1:]) for block, each in zip(blocks(page), shown, strict=True)]
    cells = json.loads(notebook(page, shown))["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    assert sources[0] == "# Double\nSee it."
    assert sources[1].startswith("%%writefile double.py\nimport pypto.language as pl\n")
    assert sources[2:4] == ["%run double.py", 'print("two", "<b>")\n2 + 2']
    assert sources[4].startswith("!pypto check double.py ")
    assert sources[5].endswith('IFrame("a.html", "100%", 640)')
    assert [cell.get("outputs") for cell in cells[3:5]] == [
        [{"name": "stdout", "output_type": "stream", "text": text}]
        for text in (["two\n", "4\n"], ["ok\n"])
    ]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("sh\nls\n", "page.md:4: only commands of pypto run in a tutorial"),
        ("sh\npypto check no.py\n", "page.md:4: pypto check no.py ends with 1"),
        ("python\nx = \n", "page.md:4: "),
    ],
)
def test_commands_that_fail_are_located(
    block: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that is not ours, or that fails, is reported with the line of the page."""
    page = tmp_path / "tutorials" / "page.md"
    page.parent.mkdir()
    page.write_text(f"# T\n\n```{block}```\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BlockError) as found:
        run_page(page)
    assert str(found.value).startswith(message)


def test_links_of_the_site(tmp_path: Path) -> None:
    """Missing files, missing anchors, and resources loaded from elsewhere are found."""
    (tmp_path / "a.html").write_text(
        '<link href="b.css"><script src="https://example.com/x.js"></script><h1 id="top">A</h1>'
        '<a href="b.html#end">b</a> <a href="#top">up</a> <a href="https://example.com">out</a>'
        '<img src="data:image/png;base64,AA">'
    )
    (tmp_path / "b.html").write_text('<p>B</p><a href="a.html#top">a</a><a href="c.html">c</a>')
    assert links.check(tmp_path) == links.Checked(
        links=8,
        broken=[
            "a.html: b.css: there is no such file",
            "a.html: https://example.com/x.js: is loaded from elsewhere",
            "a.html: b.html#end: the page has no such anchor",
            "b.html: c.html: there is no such file",
        ],
    )
