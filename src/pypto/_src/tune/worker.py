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
    gc.freeze()  # so that the collector does not scan modules again and again
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # no print may look like an answer
    while (request := read_message(sys.stdin.buffer)) is not None:
        write_message(out, answer(request))


if __name__ == "__main__":
    main()
