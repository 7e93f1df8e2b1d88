"""Checks the built documentation site in a headless browser, as its readers see it.

    python -m tests.site_in_browser SITE    SITE is the folder that `make docs` has built

Pages are opened from the folder, without a server: at desktop and phone size nothing is wider than
the window, the console has no error, and the search finds an operator.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

WIDTHS = 1400, 400
SEARCHED = {"row_sum": "pl.block.row_sum", "DistributedWorker": "pypto.runtime.DistributedWorker"}
MEASURE = """<script>
window.addEventListener('load', () => {
  document.body.dataset.wide = String(document.documentElement.scrollWidth > innerWidth);
});
</script></body>"""


class Browser:
    """A browser that prints a page as it is after its scripts have run."""

    def __init__(self, profile: Path) -> None:
        names = "chromium", "chromium-browser", "google-chrome"
        found = next(filter(None, map(shutil.which, names)), None)
        if found is None:
            raise SystemExit(f"error: none of these is on PATH: {', '.join(names)}")
        self.command = [found, "--headless", "--no-sandbox", "--disable-gpu"]
        self.command += ["--enable-logging=stderr", f"--user-data-dir={profile}"]

    def opened(self, address: str, width: int) -> tuple[str, list[str]]:
        """Return the document at ``address``, and the console's errors."""
        command = [*self.command, f"--window-size={width},1000", "--virtual-time-budget=8000"]
        done = subprocess.run(
            [*command, "--dump-dom", address],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return done.stdout, [line for line in console if "rror" in line]


def faults(site: Path, browser: Browser) -> list[str]:
    """Return what is wrong with the pages that readers see first, and with the search."""
    found: list[str] = []
    pages = [site / "index.html", site / "errors.html", site / "api" / "operators-block.html"]
    pages += sorted((site / "tutorials").glob("*.html"))
    for page in pages:
        measured = page.with_name(f"measured-{page.name}")
        measured.write_text(page.read_text(encoding="utf-8").replace("</body>", MEASURE))
        for width in WIDTHS:
            text, complaints = browser.opened(measured.as_uri(), width)
            name = f"{page.relative_to(site).as_posix()} at {width}"
            found += [f"{name}: {line}" for line in complaints]
            if 'data-wide="false"' not in text:
                found.append(f"{name}: is wider than the window")
        measured.unlink()
    for word, name in SEARCHED.items():
        address = f"{(site / 'search.html').as_uri()}?{urlencode({'q': word})}"
        text, _ = browser.opened(address, WIDTHS[0])
        hits = re.findall(r'<a href="[^"]*#([\w.]+)"', text)
        if name not in hits:
            found.append(f"the search for {word} does not find {name}, but {hits}")
    return found


def main() -> int:
    """Check the site named on the command line."""
    site = Path(sys.argv[1]).resolve()
    with TemporaryDirectory() as profile:
        found = faults(site, Browser(Path(profile)))
    print("\n".join(found) or "the browser has nothing to complain of")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
