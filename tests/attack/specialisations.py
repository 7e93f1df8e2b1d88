"""Specialises one kernel many times, and shows what of that stays in the process.

    python -m tests.attack.specialisations 20000

prints ten lines: specialisations so far, seconds, loaded shared objects of kernels, all
mappings of the process, its resident KiB. A fake compiler compiles the first kernel and copies it
for all others, which then all compute what the first one does: only counts matter here.
"""

from __future__ import annotations

import argparse
import gc
import os
import shlex
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import pypto.language as pl
from pypto._src.run.toolchain import find_toolchain


class Usage(NamedTuple):
    """What a process uses; -1 where the system does not tell."""

    objects: int
    mappings: int
    resident_kib: int


def usage(cache: Path) -> Usage:
    """Return what this process uses; ``objects`` are those below ``cache``."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return Usage(-1, -1, -1)
    lines = os.fsdecode(maps.read_bytes()).splitlines()  # file names may contain any bytes
    loaded = {line.split(maxsplit=5)[-1] for line in lines if str(cache) in line}
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Usage(len(loaded), len(lines), pages * os.sysconf("SC_PAGE_SIZE") // 1024)


def copying_compiler(path: Path) -> Path:
    """Write a compiler that compiles the first kernel and copies its object for all later ones."""
    toolchain = find_toolchain()
    assert toolchain is not None
    real, kept = shlex.join(toolchain.command), shlex.quote(f"{path}.so")
    path.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *kernel.so) ;; *) exec {real} "$@";; esac\n'
        "for output; do :; done\n"
        f'if [ -e {kept} ]; then cp {kept} "$output"; else\n'
        f'  {real} "$@" && cp "$output" {kept}\nfi\n'
    )
    path.chmod(0o755)
    return path


@pl.jit
def add(x: pl.Tensor[[8, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]], STEP: int):
    return pl.store(pl.add(pl.load(x, [0, 0], [8, 16]), STEP), [0, 0], [8, 16], out)


def main() -> None:
    parser = argparse.ArgumentParser(description="Specialise one kernel many times.")
    parser.add_argument("count", type=int, nargs="?", default=20_000)
    count: int = parser.parse_args().count
    with tempfile.TemporaryDirectory(prefix="pypto-") as folder:
        cache = Path(folder, "cache")
        os.environ["PYPTO_CXX"] = str(copying_compiler(Path(folder, "compiler")))
        os.environ["PYPTO_CACHE_DIR"] = str(cache)
        x = np.zeros((8, 16), np.float32)
        out = np.zeros_like(x)
        begin = time.monotonic()
        for number in range(count):
            add(x, out, number)
            if (number + 1) % max(1, count // 10) == 0:
                gc.collect()
                found = usage(cache)
                seconds = time.monotonic() - begin
                print(number + 1, f"{seconds:.0f}", *found, flush=True)


if __name__ == "__main__":
    sys.exit(main())
