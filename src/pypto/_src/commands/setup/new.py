"""``pypto new``: a folder with a kernel, a test that passes, and what to type next."""

from __future__ import annotations

import argparse
import keyword
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from pypto._src.commands.cli_options import Commands, json_words, print_json
from pypto._src.errors import CallError

_KERNEL: Final = '''\
"""The softmax of each row, in one pass over tiles: the kernel to begin with."""

import pypto.language as pl

ROWS, COLS = 256, 64
TILE = 64  # rows that are in on-chip memory at a time


@pl.jit
def NAME(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    for row in pl.range(0, ROWS, TILE):
        tile = pl.load(x, [row, 0], [TILE, COLS])
        shifted = pl.row_expand_sub(tile, pl.row_max(tile))
        powers = pl.exp(shifted)
        shares = pl.row_expand_div(powers, pl.row_sum(powers))
        out = pl.store(shares, [row, 0], [TILE, COLS], out)
    return out
'''

_TEST: Final = '''\
"""What the kernel computes, compared with NumPy in float64."""

import numpy as np

from NAME import COLS, ROWS, NAME


def softmax(x: np.ndarray) -> np.ndarray:
    """Return the softmax of each row, in float64."""
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def test_NAME() -> None:
    """The kernel is as exact as float32 is."""
    x = np.random.default_rng(0).standard_normal((ROWS, COLS)).astype(np.float32)
    out = np.empty_like(x)
    NAME(x, out)
    np.testing.assert_allclose(out, softmax(x), rtol=1e-5)
'''

_PROJECT: Final = """\
[project]
name = "PROJECT"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["pypto"]

[project.optional-dependencies]
dev = ["pytest"]

[tool.pytest.ini_options]
pythonpath = ["."]
"""

_README: Final = """\
# PROJECT

A kernel for PyPTO.

```sh
pip install pypto pytest
pytest                        # compile the kernel for this machine and compare it with NumPy
pypto check NAME.py           # find mistakes that would show on the chip, without running
pypto show NAME.py cpp        # the generated C++
pypto profile NAME.py         # how fast it would be on the chip, and why
```
"""


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "new", parents=[json_words()], help="start a folder with a kernel and a test that passes"
    )
    parser.add_argument("name", metavar="NAME", help="of the folder, which is made, and the kernel")
    parser.set_defaults(command=_new)


def _importable(name: str) -> str:
    """Return a name similar to ``name`` that Python can import."""
    kept = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "kernel"
    return f"my_{kept}" if kept[0].isdigit() or keyword.iskeyword(kept) else kept


def _new(args: argparse.Namespace) -> int:
    folder = Path(args.name)
    module = folder.name.replace("-", "_")
    if not module.isidentifier() or not module.isascii() or keyword.iskeyword(module):
        raise CallError(
            f"{folder.name!r} is not a name that Python can import",
            hint=f"pypto new {_importable(module)}",
            slug="project-name",
        )
    if folder.exists():
        raise CallError(
            f"{folder} is there already", hint="give a name of nothing that is there", slug="file"
        )
    texts = {
        "README.md": _README,
        "pyproject.toml": _PROJECT,
        f"{module}.py": _KERNEL,
        f"test_{module}.py": _TEST,
    }
    folder.mkdir(parents=True)
    for name, text in texts.items():
        filled = text.replace("NAME", module).replace("PROJECT", folder.name)
        (folder / name).write_text(filled, encoding="utf-8")
    if args.json:
        print_json({"folder": str(folder), "files": list(texts)})
        return 0
    print(f"{folder}:")
    for name in texts:
        print(f"  {name}")
    pytest = "pytest" if find_spec("pytest") else "pip install pytest && pytest"
    print(f"\nnext: cd {folder} && {pytest}")
    return 0
