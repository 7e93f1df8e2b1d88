"""A process that examines candidates: requests on standard input, answers on standard output."""

from __future__ import annotations

import gc
import os
import sys

from pypto._src.tune.examine import answer
from pypto._src.tune.workers import read_message, write_message


def main() -> None:
    """Answer all requests until there are no more."""
    gc.collect()
    gc.freeze()  # modules are not looked through again and again
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what prints must not be taken for answers
    while (request := read_message(sys.stdin.buffer)) is not None:
        write_message(out, answer(request))


if __name__ == "__main__":
    main()
