"""Opens the notebooks of the tutorials in JupyterLab, in a headless browser, and runs all cells.

    python -m tests.notebooks_in_browser SITE PICTURES [NAME...]    the folder that `make docs` has
                                                                    built; a folder for screenshots

Each notebook is opened as users do, in a JupyterLab that this starts, and every cell is run. Then
no cell may show an error, the browser's console must have none, and a screenshot is kept. A
last notebook has a mistake, which is shown with its caret. Needs the extra `browser`, and Chromium.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import urlopen

WAIT_S = 600
MISTAKE = """\
import pypto.language as pl


@pl.jit
def wrong(x: pl.Tensor[[128, 64], pl.FP32], out: pl.Out[pl.Tensor[[128, 64], pl.FP32]]):
    with pl.incore():
        tile = pl.load(x, [0, 0], [128, 65])
        out = pl.store(tile, [0, 0], [128, 65], out)
    return out


wrong.parse()"""

HARMLESS = re.compile(r"favicon|ResizeObserver|net::ERR_(?:INTERNET|NAME|NETWORK|CONNECTION)")
"""Errors that JupyterLab itself logs on the console without a network: it requests its news."""


def browser_path() -> str:
    """Return the path of the system's browser."""
    names = "chromium", "chromium-browser", "google-chrome"
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise SystemExit(f"error: none of these is on PATH: {', '.join(names)}")
    return found


@contextlib.contextmanager
def server(folder: Path) -> Generator[str]:
    """Serve a folder with JupyterLab, on this machine only; yield the address of its page."""
    token = secrets.token_hex()
    state = folder / ".jupyter"
    places = {f"JUPYTER_{name}_DIR": str(state / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0"]
    options += [f"--IdentityProvider.token={token}", "--LabApp.news_url=None"]
    options += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    log = folder / "jupyter.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyter", "lab", *options],
            cwd=folder,
            env={**os.environ, **places, "PATH": commands},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        found = None
        for _ in range(WAIT_S):
            found = re.search(r"http://127\.0\.0\.1:(\d+)/lab", log.read_text())
            if found is not None or process.poll() is not None:
                break
            time.sleep(1)
        if found is None:
            raise SystemExit(f"error: JupyterLab does not start:\n{log.read_text()}")
        address = f"http://127.0.0.1:{found[1]}"
        urlopen(f"{address}/api/status?token={token}").close()
        yield f"{address}/lab/tree/{{}}?reset&token={token}"
    finally:
        process.terminate()
        process.wait()


def complaints(page: Any) -> list[str]:
    """Return a list to which a page's console errors are appended."""
    said: list[str] = []

    def message(found: Any) -> None:
        if found.type == "error" and not HARMLESS.search(found.text):
            said.append(found.text)

    def failure(error: Any) -> None:
        said.append(str(error))

    page.on("console", message)
    page.on("pageerror", failure)
    return said


def run_all(page: Any, address: str, picture: Path) -> list[str]:
    """Open a notebook and run all its cells; return the errors that the page shows."""
    page.goto(address)
    page.locator(".jp-Notebook").wait_for(timeout=WAIT_S * 1000)
    page.get_by_text("| Idle").wait_for(timeout=WAIT_S * 1000)  # the kernel is ready
    page.locator(".lm-MenuBar-itemLabel", has_text=re.compile("^Run$")).click()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile("^Run All Cells$")).click()
    # A cell that waits or runs has a star; one that has run has a number.
    code = ".jp-CodeCell .jp-InputArea-prompt"
    page.wait_for_function(
        """(selector) => {
            const all = [...document.querySelectorAll(selector)].map(each => each.textContent);
            return all.length > 0 && all.every(text => /\\[\\d+\\]/.test(text));
        }""",
        arg=code,
        timeout=WAIT_S * 1000,
    )
    page.wait_for_timeout(1000)  # for what the last cell draws
    page.screenshot(path=str(picture))
    # Printed output is intentional, as where a tutorial shows an error.
    printed = "[data-mime-type='application/vnd.jupyter.stdout']"
    errors = page.locator(f".jp-OutputArea-output:not({printed}) pre")
    texts: list[str] = errors.all_inner_texts()
    return [text for text in texts if "Traceback" in text or text.lstrip().startswith("error:")]


def examine(site: Path, pictures: Path, names: Sequence[str]) -> list[str]:
    """Run the notebooks of a site; return what is wrong."""
    playwright_api: Any = import_module("playwright.sync_api")
    found: list[str] = []
    pictures.mkdir(parents=True, exist_ok=True)
    notebooks = sorted((site / "_outputs").glob("*/*.ipynb"))
    chosen = [path for path in notebooks if not names or path.stem in names]
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as name,
        playwright_api.sync_playwright() as playwright,
    ):
        folder = Path(name)
        for path in chosen:
            shutil.copy(path, folder)
        template = json.loads(chosen[0].read_text(encoding="utf-8"))
        cell = next(cell for cell in template["cells"] if cell["cell_type"] == "code")
        template["cells"] = [{**cell, "source": MISTAKE, "outputs": []}]
        (folder / "mistake.ipynb").write_text(json.dumps(template), encoding="utf-8")
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=browser_path(), args=options)
        with server(folder) as address:
            for stem in [*(path.stem for path in chosen), "mistake"]:
                begin = time.perf_counter()
                page = browser.new_page(viewport={"width": 1400, "height": 2400})
                said = complaints(page)
                shown = run_all(page, address.format(f"{stem}.ipynb"), pictures / f"{stem}.png")
                page.close()
                found += [f"{stem}: console: {text}" for text in said]
                if stem == "mistake":
                    [text] = shown or [""]
                    if "^" not in text or "hint: " not in text:
                        found.append(f"the report of a mistake has no caret, but says {text!r}")
                else:
                    found += [f"{stem}: {text}" for text in shown]
                print(f"{stem}: {time.perf_counter() - begin:.0f} s", flush=True)
        browser.close()
    return found


def main() -> int:
    """Check the notebooks of the site named on the command line."""
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    site, pictures, *names = sys.argv[1:]
    found = examine(Path(site).resolve(), Path(pictures).resolve(), names)
    print("\n".join(found) or "all cells ran, and the browser has nothing to complain of")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
