"""Ranks on a cluster of Ray: each an actor, with windows in the shared memory of its node.

Needs the package ray, which ``pip install 'pypto[cluster]'`` brings; nothing else of PyPTO imports
this one unless it is asked to run on a cluster.
"""

from __future__ import annotations

from importlib.util import find_spec

from pypto._src.errors import PyptoError

if find_spec("ray") is None:
    raise PyptoError(
        "running on a cluster needs the package ray, which is not installed",
        hint="pip install 'pypto[cluster]'",
        slug="missing-package",
    )
