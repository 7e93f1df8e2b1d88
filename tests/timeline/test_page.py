"""The page of a profile: its contents, and that a browser renders it without errors."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pypto._src import cli
from pypto._src.timeline.page import page
from tests.timeline.test_profile import profiled, rows

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

KERNEL = """\
import pypto.language as pl


@pl.program
class Rows:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, x: pl.Tensor[[64, 1024], pl.FP32], out: pl.Out[pl.Tensor[[64, 1024], pl.FP32]]
    ):
        for r in pl.range(0, 64, 8):
            tile = pl.load(x, [r, 0], [8, 1024])
            out = pl.store(pl.exp(tile), [r, 0], [8, 1024], out)  # </script><b>
        return out
"""

CHOOSE = """<script>
window.addEventListener('load', () => setTimeout(() => {
  const figures = Bokeh.documents[0].roots();
  const [figure] = figures;
  document.body.dataset.figures = String(figures.length);
  document.body.dataset.wide = String(document.documentElement.scrollWidth > innerWidth);
  const bars = figure.renderers.filter((each) => each.data_source.data.number);
  document.body.dataset.lanes = String(bars.length);
  const sources = figures.flatMap((each) => each.renderers).map((each) => each.data_source);
  sources.find((each) => each.data.bottom).selected.indices = [0];
  setTimeout(() => {
    document.body.dataset.tile = document.getElementById('chosen').textContent;
    bars[0].data_source.selected.indices = [2];
  }, 500);
}, 2000));
</script></body>"""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a kernel, compared with the same kernel pipelined."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "rows.py").write_text(KERNEL)
    (folder / "stages.py").write_text(
        KERNEL.replace("range(0, 64, 8)", "pipeline(0, 64, 8, stage=2)")
    )
    words = ["--against", str(folder / "stages.py"), "-o", str(folder / "rows.html")]
    assert cli.main(["profile", str(folder / "rows.py"), *words]) == 0
    return folder / "rows.html"


def test_page_holds_all_it_shows(drawn: Path) -> None:
    """It requests nothing from the network; it embeds source and costs, safely escaped."""
    text = drawn.read_text()
    outside = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=[\"'](?!data:)")
    assert outside.search(text) is None
    assert "&lt;/script&gt;&lt;b&gt;" in text
    assert 'id="rows.py:11"' in text
    assert "1 tasks on 1 vector cores" in text
    for title in ("Before and after", "Hints", "Timeline", "Before", "Memory", "Roofline"):
        assert re.search(rf"<h[23]>{title}</h[23]>", text)
    assert 'href="#rows.py:10"' in text  # from a hint to its line
    assert len(text) < 3_000_000


def test_page_is_dark_where_readers_want_that(drawn: Path) -> None:
    """The page has both colour schemes, and no drawing paints its own white background."""
    text = drawn.read_text()
    assert "color-scheme: light dark" in text
    figures = text.count('"type":"object","name":"Figure"')
    assert figures == 4
    assert text.count('"background_fill_color":null') == figures
    assert text.count('"border_fill_color":null') == figures


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on PATH to draw the page in")
def test_browser_draws_it_and_a_choice_leads_to_the_line(drawn: Path, width: int) -> None:
    """No console errors, nothing too wide; selecting an event shows its details and its line."""
    assert BROWSER is not None
    copy = drawn.with_name(f"choose{width}.html")
    copy.write_text(drawn.read_text().replace("</body>", CHOOSE))
    flags = f"--headless --no-sandbox --disable-gpu --window-size={width},1000"
    command = [BROWSER, *flags.split(), "--enable-logging=stderr"]
    command += [f"--user-data-dir={drawn.parent / 'browser'}"]
    command += ["--virtual-time-budget=20000", "--dump-dom", copy.as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    console = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    assert [line for line in console if "ERROR" in line or "Uncaught" in line] == []
    assert 'data-wide="false"' in result.stdout
    assert 'data-figures="4"' in result.stdout  # after, before, memory, roofline
    chosen = re.search(r'<p id="chosen"[^>]*>([^<]*)<', result.stdout)
    assert chosen is not None
    assert chosen[1].startswith("TLOAD 8 x 1024 on MTE2: ")
    assert "pl.load in rows.py:11, kernel; writes tile in Vec, bytes " in chosen[1]
    assert re.search(r'<tr id="rows.py:11"[^>]*class="chosen"', result.stdout)
    assert 'data-lanes="4"' in result.stdout  # MTE2, V, MTE3 and the tasks
    assert re.search(r'data-tile="tile tile in Vec, bytes \d+ to \d+: ', result.stdout)


def test_many_events_are_thinned_out_and_said_to_be() -> None:
    """Of 1.6 * 10^5 instructions 10^5 are drawn, in less than 3 MB; the page says so."""
    profile = profiled(rows(1024, 1024))
    [run] = profile.runs
    assert run.timeline is not None
    count = 160_000 // len(run.timeline.events)
    starts = [run.end * number for number in range(count)]
    runs = [run._replace(start=start, end=start + run.end) for start in starts]
    text = page(profile._replace(runs=tuple(runs), cycles=run.end * count), "many")
    assert "more tasks on these cores are not drawn" in text
    assert 1_500_000 < len(text) < 3_000_000


def test_without_bokeh(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If Bokeh is not installed the command says what to install."""
    monkeypatch.setitem(sys.modules, "bokeh.embed", None)
    (tmp_path / "rows.py").write_text(KERNEL)
    assert cli.main(["profile", str(tmp_path / "rows.py"), "-o", str(tmp_path / "x.html")]) == 1
    assert "hint: pip install 'pypto[profile]'" in capsys.readouterr().err
