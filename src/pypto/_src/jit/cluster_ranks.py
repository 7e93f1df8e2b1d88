"""Ranks that are processes of a cluster: for one run, or for all of a worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pypto._src.errors import EvaluationError
from pypto._src.jit.host_evaluator import Evaluation
from pypto._src.jit.host_values import Buffer
from pypto._src.run.config import DistributedConfig
from pypto._src.run.launches import Launch

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.cluster.session import Session

    Array = np.ndarray[Any, Any]


class ClusterRanks:
    """The ranks of a worker, which start at its first run and end with it."""

    def __init__(self, resident: Callable[[], Sequence[Array]]) -> None:
        """Take a function that returns the arrays which stay on the ranks between runs."""
        self._resident = resident
        self._session: Session | None = None
        self._config: DistributedConfig | None = None

    def run(
        self, evaluation: Evaluation, config: DistributedConfig, windows: Sequence[Buffer]
    ) -> None:
        """Run what a call launches; the next run gets ``windows`` as this one leaves them."""
        if self._config != config or self._session is None or not self._session.is_usable:
            self.close()
            self._session, self._config = _session(config), config
        evaluation.session = self._session
        try:
            for launches, restarts in evaluation.steps():
                self._run_step(evaluation, config, launches, restarts)
            self._session.end([each.memory for each in windows], self._resident())
        except BaseException:
            self.close()
            raise

    def _run_step(
        self,
        evaluation: Evaluation,
        config: DistributedConfig,
        launches: Sequence[Launch],
        restarts: int,
    ) -> None:
        """Run launches; if a rank is lost, retry with new ranks, up to ``restarts`` times."""
        session = self._session
        assert session is not None
        if not restarts:
            evaluation.run_some(launches)
            return
        windows = [buffer.memory for buffer in evaluation.buffers]
        session.begin(windows, evaluation.programs)
        session.end(windows)  # copies the contents here, so that they are not lost with a rank
        rows = session.rows(windows)
        written = [each.array for launch in launches for each in launch.touched if each.is_written]
        copies = [array.copy() for array in written]
        for left in reversed(range(restarts + 1)):
            try:
                evaluation.run_some(launches)
            except EvaluationError as error:
                if error.slug != "rank-lost" or not left:
                    raise
            else:
                return
            self.close()
            evaluation.session = self._session = session = _session(config)
            session.begin(windows, evaluation.programs)
            session.fill(windows, rows)
            for array, copy in zip(written, copies, strict=True):
                array[...] = copy

    def bring(self, array: Array) -> None:
        """Copy what kernels have written to an array back into it."""
        if self._session is not None:
            self._session.bring(array)

    def close(self) -> None:
        """End the ranks."""
        if self._session is not None:
            self._session.close()
            self._session = None


def run_on(
    ranks: ClusterRanks | None,
    evaluation: Evaluation,
    config: DistributedConfig,
    windows: Sequence[Buffer],
) -> None:
    """Run what a call launches on the ranks of a worker, or on new ones for this call alone."""
    if ranks is not None:
        ranks.run(evaluation, config, windows)
        return
    own = ClusterRanks(list)
    try:
        own.run(evaluation, config, windows)
    finally:
        own.close()


def _session(config: DistributedConfig) -> Session:
    from pypto._src.cluster.session import Session

    assert config.on is not None
    return Session(len(config.device_ids), config.on, config.timeout)
