"""``python -m pypto`` is the command ``pypto``."""

import sys

from pypto._src.cli import main

if __name__ == "__main__":
    sys.exit(main())
