"""Build the documentation site.

    python -m tools.site [OUT]    build it into OUT, build/site unless given

Every block of every page runs first, each page in its own process; then Sphinx builds the pages
and fails on any warning; then each link is checked.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.site import api, links
from tools.site.execute import Output, is_tutorial
from tools.site.markdown import blocks
from tools.site.notebook import notebook
from tools.site.stage import DECISIONS, PAGES, ROOT, outputs_of, stage

THEME = Path(__file__).parent / "theme"


NO_PLAYGROUND = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>PyPTO playground</title>
<p>This site was built without the playground: <code>make playground</code> builds it.
<p><a href="../playground.html">Back</a>
</html>
"""
"""The page that `make playground` replaces."""


class PageError(Exception):
    """A block of a page does not run, or a page cannot be built; the text says which."""


def run_blocks(extra: Path) -> dict[Path, list[Output]]:
    """Run the blocks of all pages; the files that they write go to ``extra``."""
    pages = [page for page in PAGES if DECISIONS not in page.parents]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        shown = pool.map(_run, pages, [extra] * len(pages))
        return dict(zip(pages, shown, strict=True))


def _run(page: Path, extra: Path) -> list[Output]:
    command = [sys.executable, "-m", "tools.site.execute", str(page)]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PageError(done.stderr)
        shown = [Output(**each) for each in json.loads(done.stdout.splitlines()[-1])]
        text = page.read_text(encoding="utf-8")
        files = [block.file for block in blocks(text) if block.file and block.is_example]
        files += [name for output in shown for name in output.pictures]
        for name in dict.fromkeys(files):
            kept = extra / outputs_of(page) / name
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(Path(folder, name), kept)
        if is_tutorial(page):
            made = extra / outputs_of(page) / f"{page.stem}.ipynb"
            made.write_text(notebook(text, shown), encoding="utf-8")
    return shown


def build(site: Path) -> str:
    """Build the site into ``site``; return a summary."""
    with TemporaryDirectory() as folder:
        source, extra = Path(folder, "source"), Path(folder, "extra")
        (extra / "playground").mkdir(parents=True)
        (extra / "playground" / "index.html").write_text(NO_PLAYGROUND, encoding="utf-8")
        shown = run_blocks(extra)
        names = list(api.pages())
        stage(source, shown, names)
        shutil.copytree(THEME, source, dirs_exist_ok=True)
        shutil.rmtree(site, ignore_errors=True)
        command = [
            sys.executable,
            "-m",
            "sphinx",
            "-q",
            "-W",
            "--keep-going",
            "-j",
            "auto",
            "-b",
            "html",
        ]
        command += ["-d", str(Path(folder, "doctrees")), "-D", f"html_extra_path={extra}"]
        done = subprocess.run([*command, str(source), str(site)], check=False)
        if done.returncode:
            raise PageError("Sphinx complains of the pages; its warnings stand above")
    checked = links.check(site)
    if checked.broken:
        raise PageError("\n".join(["links that lead nowhere:", *checked.broken]))
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    executed = sum(len(outputs) for outputs in shown.values())
    return (
        f"{len(list(site.rglob('*.html')))} pages, {sum(page.names for page in names)} names, "
        f"{executed} blocks executed, {checked.links} links checked, {size / 1e6:.1f} MB"
    )


def main() -> int:
    """Build the site into the folder that the command line names."""
    site = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site").resolve()
    try:
        print(build(site))
    except PageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"open {site / 'index.html'}, or serve it: python -m http.server -d {site}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
