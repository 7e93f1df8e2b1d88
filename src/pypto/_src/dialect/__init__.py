"""The PTO dialect in xDSL: parsing, verifying, printing and evaluating `.pto` files.

Needs the package xdsl, which `pip install 'pypto[mlir]'` installs; the rest of PyPTO imports this
package only to read a `.pto` file.
"""

from __future__ import annotations

from importlib.util import find_spec

from pypto._src.errors import PyptoError

if find_spec("xdsl") is None:
    raise PyptoError(
        "reading PTO MLIR needs the package xdsl, which is not installed",
        hint="pip install 'pypto[mlir]'",
        slug="missing-package",
    )
