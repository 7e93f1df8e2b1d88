"""Writes the text of every kernel of the tests into a folder: `make texts DIR=build/out`.

Each is a file. ``build/out/pto`` is for the assembler: `index.tsv` lists its files with the
options, and ``ptoas FILE -o /dev/null OPTIONS`` has to accept each, for ``--pto-arch=a3`` and
``--pto-arch=a5``. ``build/out/cpp`` is for the tile library: each file is a translation unit with
the entry point ``kernel_entry``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.emit.golden_texts import all_texts, options_of

INDEX = "index.tsv"


def write_texts(directory: Path) -> None:
    """Write all texts below ``directory``."""
    found = all_texts()
    index = ["path\toptions of ptoas\n"]
    for path, text in sorted(found.items()):
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        kind, _, name = path.partition("/")
        if kind == "pto":
            index.append(f"{name}\t{options_of(text)}\n")
    (directory / "pto" / INDEX).write_bytes("".join(index).encode())
    print(f"{len(found)} texts are in {directory}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1]:
        sys.exit("error: no folder to write to\nhint: make texts DIR=build/out")
    write_texts(Path(sys.argv[1]))
