"""Finds mistakes in the signals of a host function's ranks, without any data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pypto._src.driver import compile_for_evaluator
from pypto._src.errors import EvaluationError, PyptoError
from pypto._src.interp.data_free import DataFreeEvaluator
from pypto._src.interp.race_detector import RaceDetector
from pypto._src.interp.signal_trace import (
    Event,
    NeedsDataError,
    Player,
    RecordingWorld,
    stored_signal,
)
from pypto._src.jit.host_evaluator import Evaluation
from pypto._src.ranks import Launched, Rank, as_rank
from pypto._src.run.launches import run_launches


def check_signals(evaluation: Evaluation, orders: int) -> None:
    """Trace what the ranks do, in several orders.

    Raises:
        EvaluationError: as `Evaluation.run_watched`; `NeedsDataError` where signals depend on data.
    """
    traces = _recorded(evaluation)
    stored = stored_signal(traces)
    if stored is not None:
        raise NeedsDataError().at(stored.at)
    launches, name = evaluation.launches, evaluation.name_of
    windows = [(buffer.memory, buffer.element) for buffer in evaluation.buffers]
    player = Player([launch.device for launch in launches], traces)
    played = [
        launch._replace(run=partial(player.play, index)) for index, launch in enumerate(launches)
    ]
    for seed in range(orders):
        detector = RaceDetector(evaluation.ranks, windows, name)
        player.begin()
        try:
            run_launches(played, evaluation.ranks, name, seed, watch=detector)
            detector.finish()
        except EvaluationError as error:
            if error.slug == "deadlock":
                player.explain(error, name)
            raise


def _recorded(evaluation: Evaluation) -> list[Sequence[Event]]:
    """Return what each launch does with windows, as if no rank waited."""

    def is_window(array: Any) -> bool:
        address = int(array.ctypes.data)
        memories = (buffer.memory for buffer in evaluation.buffers)
        return any(0 <= address - int(each.ctypes.data) < each.size for each in memories)

    evaluation.watched = {
        program: compile_for_evaluator(program.source, program.entry, DataFreeEvaluator)
        for program in evaluation.programs
    }
    traces: list[Sequence[Event]] = []
    for launch in evaluation.launches:
        world = RecordingWorld(evaluation.ranks, is_window)
        rank = Rank(world, launch.device)
        rank.launched = Launched(launch.location, launch.file)
        with as_rank(rank):
            try:
                launch.run()
            except PyptoError as error:
                raise error.at(launch.location) from None
        traces.append(world.events)
    return traces
