"""Work that any machine of a cluster may do: data goes there and comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final

from pypto._src.cluster.messages import packed, unpacked
from pypto._src.cluster.session import connect
from pypto._src.lazy import lazy_module

ray: Any = lazy_module("ray")

_TRIES: Final = 3
"""How often a request is sent again if its machine or process has ended."""


class Tasks:
    """Requests that a function answers on the machines of a cluster, each on one CPU."""

    def __init__(self, on: str, function: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
        connect(on)

        def answered(message: bytes) -> bytes:
            return packed(function(unpacked(message)))

        self._task = ray.remote(num_cpus=1, max_retries=_TRIES)(answered)
        self._open: dict[Any, None] = {}

    def ask(self, request: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Send a request; return the future of its answer."""
        ref = self._task.remote(packed(request))
        found: Future[dict[str, Any]] = Future()
        self._open[ref] = None

        def done(future: Future[bytes]) -> None:
            self._open.pop(ref, None)
            error = future.exception()
            if error is None:
                found.set_result(unpacked(future.result()))
            else:
                text = str(error).strip().splitlines()[0]
                found.set_result({"refused": f"lost on the cluster: {text}", "slug": "worker"})

        ref.future().add_done_callback(done)
        return found

    def close(self) -> None:
        """Cancel the requests that have no answer yet."""
        for ref in [*self._open]:
            ray.cancel(ref, force=True)
