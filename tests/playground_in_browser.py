"""Opens the playground in a headless browser, edits kernels there, and times it.

    python -m tests.playground_in_browser SITE PICTURES    the folder that has playground/, as
                                                           `make playground` builds it; a folder
                                                           for screenshots

The folder is served on this machine only, and the browser may request nothing else. The first
program runs and is right; an edit gives other results; mistakes are listed with their lines; a
link opens a program, which runs when the reader agrees; an endless one is stopped. Needs the extra
`browser`, and Chromium.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import sys
import threading
import time
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.notebooks_in_browser import browser_path, complaints
from tools.playground.__main__ import programs

WAIT_MS = 120_000
DESKTOP = {"width": 1400, "height": 900}
PHONE = {"width": 400, "height": 850}
TABS = ["Results", "Source and IR", "Passes", "C++", "MLIR", "Memory", "Tasks", "Timeline"]


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Log no requests."""


@contextlib.contextmanager
def server(folder: Path) -> Generator[str]:
    """Serve a folder on this machine only; yield its address."""
    handler = functools.partial(_Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{made.server_address[1]}"
        finally:
            made.shutdown()
            thread.join()


class Playground:
    """The page, as a reader uses it."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def settled(self, state: str = "done") -> None:
        """Wait until Python has run the text in the editor."""
        ended = ", ".join(f'body[data-state="{each}"]' for each in ("done", "failed"))
        self.page.wait_for_selector(ended, timeout=WAIT_MS)
        if self.page.evaluate("document.body.dataset.state") != state:
            status = self.page.locator("#status").inner_text()
            raise SystemExit(f"error: not {state}: {status} {self.findings()}")

    def seconds(self, name: str) -> float:
        """Return a time measured by the page."""
        return float(self.page.evaluate(f"document.body.dataset.{name}"))

    def edit(self, text: str, state: str = "done") -> float:
        """Replace the text, as typing does; return how long the run took."""
        self.page.evaluate("delete document.body.dataset.state")
        self.page.fill("#source", text)
        self.settled(state)
        return self.seconds("seconds")

    def tab(self, title: str) -> str:
        """Select a tab; return the text that it shows, including that of nested pages."""
        self.page.get_by_role("tab", name=title, exact=True).click()
        self.page.wait_for_timeout(300)
        [frame] = [f for f in self.page.frames if f.parent_frame == self.page.main_frame]
        return "\n".join(each.locator("body").inner_text() for each in [frame, *frame.child_frames])

    def findings(self) -> list[str]:
        """Return the listed findings."""
        return self.page.locator("#findings li").all_inner_texts()


def examine(address: str, pictures: Path) -> Generator[str]:
    """Use the page; yield what is wrong. Prints the times."""
    api: Any = import_module("playwright.sync_api")
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    texts = {each["name"]: each["text"] for each in programs()}
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=options)
        context = browser.new_context(viewport=DESKTOP)
        page = context.new_page()
        said = complaints(page)
        asked: list[str] = []

        def note(request: Any) -> None:
            asked.append(request.url)

        page.on("request", note)
        shown = Playground(page)

        page.goto(f"{address}/playground/index.html")
        shown.settled()
        cold = shown.seconds("first")
        if "largest difference from NumPy: 0" not in shown.tab("Results"):
            yield f"the first program is wrong: {shown.tab('Results')}"
        page.screenshot(path=str(pictures / "playground.png"))
        for title, word in {"C++": "TROWMAX(", "MLIR": "pto.trowmax", "Memory": "Vec"}.items():
            if word not in shown.tab(title):
                yield f"{title} has no {word}"
            page.screenshot(path=str(pictures / f"playground-{title.lower()}.png"))
        if page.get_by_role("tab").all_inner_texts() != TABS:
            yield f"the tabs are {page.get_by_role('tab').all_inner_texts()}"
        if "vector core" not in shown.tab("Timeline"):
            yield "no timeline is drawn"
        page.screenshot(path=str(pictures / "playground-timeline.png"))

        page.reload()
        shown.settled()
        warm = shown.seconds("first")
        begin = time.perf_counter()
        edited = shown.edit(texts["softmax"].replace("pl.exp(", "pl.abs("))
        whole = time.perf_counter() - begin
        if "largest difference from NumPy: 0.0" in shown.tab("Results"):
            yield "an edit changes no result"
        if "pto.tabs" not in shown.tab("MLIR"):
            yield "an edit changes no MLIR"
        times = [shown.edit(texts[name]) for name in sorted(texts)]

        shown.edit(texts["mistakes"])
        if not any("line 8" in found and "hint: " in found for found in shown.findings()):
            yield f"mistakes are not listed: {shown.findings()}"
        page.screenshot(path=str(pictures / "playground-mistakes.png"))
        shown.edit(texts["add"].replace("pl.add(left, right)", "pl.add(left, rihgt)"), "failed")
        if not any("rihgt" in found and "line 16" in found for found in shown.findings()):
            yield f"an error is not listed: {shown.findings()}"
        page.screenshot(path=str(pictures / "playground-error.png"))
        shown.edit(texts["gemm"].replace("FP16", "BF16").split("random =")[0])
        if "cannot compute with BF16" not in shown.tab("Results"):
            yield "results of elements that are missing are not refused"
        if "bfloat16" not in shown.tab("C++"):
            yield "programs with elements that are missing have no C++"

        shown.edit(texts["add"])
        page.get_by_role("button", name="Share").click()
        page.wait_for_url("**/index.html#*")
        link = page.url
        page.evaluate("delete document.body.dataset.state")
        page.fill("#source", "while True:\n    pass\n")
        page.locator("#stop").click(timeout=WAIT_MS)
        shown.edit(texts["add"])
        page.close()

        for scheme, size in (("light", PHONE), ("dark", DESKTOP)):
            context = browser.new_context(viewport=size, color_scheme=scheme)
            page = context.new_page()
            said += complaints(page)
            shown = Playground(page)
            page.goto(link)
            page.wait_for_timeout(3000)
            if page.locator("body").get_attribute("data-state") is not None:
                yield "a program that came with a link runs before somebody says so"
            page.locator("#run").click()
            shown.settled()
            if page.locator("#source").input_value() != texts["add"]:
                yield "a link does not hold its program"
            if "right: True" not in shown.tab("Results"):
                yield f"the program of a link is wrong: {shown.tab('Results')}"
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                yield f"the page is wider than {size['width']} pixels"
            page.screenshot(path=str(pictures / f"playground-{scheme}.png"), full_page=True)
            shown.tab("Timeline")
            page.screenshot(path=str(pictures / f"playground-{scheme}-timeline.png"))
            context.close()
        browser.close()
    yield from (f"console: {text}" for text in said)
    elsewhere = [each for each in asked if not each.startswith((address, "blob:", "data:"))]
    yield from (f"loaded from elsewhere: {each}" for each in elsewhere)
    print(f"first result: {cold:.1f} s cold, {warm:.1f} s warm")
    print(f"an edit: {edited:.2f} s in Python, {whole:.2f} s with the pause after the last key")
    print(f"the programs of the page: {', '.join(f'{each:.2f}' for each in times)} s")


def main() -> int:
    """Check the playground of the site named on the command line."""
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    site, pictures = (Path(word).resolve() for word in sys.argv[1:])
    pictures.mkdir(parents=True, exist_ok=True)
    with server(site) as address:
        found = list(examine(address, pictures))
    print("\n".join(found) or "the playground works, and the browser has nothing to complain of")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
