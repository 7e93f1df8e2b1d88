"""The process of one rank: an actor, which runs kernels and answers the other ranks meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pypto._src.cluster.messages import (
    dtype_of,
    error_as_data,
    packed,
    sent,
    span_from_data,
    unpacked,
)
from pypto._src.cluster.rank_world import Peer, PeerLostError, RankWorld, change_signal
from pypto._src.cluster.windows import Part, Window, Windows, box_of
from pypto._src.driver import CompiledProgram, compile_program
from pypto._src.errors import PyptoError
from pypto._src.ir.stmts import Program
from pypto._src.lazy import lazy_module
from pypto._src.ops.serialized import deserialize
from pypto._src.passes.pass_manager import OptimizationStrategy
from pypto._src.ranks import Launched
from pypto._src.run.launches import connect

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

ray: Any = lazy_module("ray")

_SERVED: Final = 8
"""How many requests of other ranks and of the driver are answered at a time."""


class RankActor:
    """One rank. Methods of the concurrency group ``serve`` run even while a kernel runs."""

    def __init__(self, rank: int, count: int) -> None:
        connect()
        self._count = count
        self._windows = Windows()
        self._world = RankWorld(rank, count, self._windows)
        self._programs: dict[str, CompiledProgram] = {}
        self._begun = 0

    def where(self) -> tuple[str, str, int]:
        """Return node id, node address and process id."""
        return ray.get_runtime_context().get_node_id(), ray.util.get_node_ip_address(), os.getpid()

    def meet(self, others: Mapping[int, Any]) -> None:
        """Learn who the ranks on other nodes are."""

        def call_of(actor: Any) -> Callable[..., Any]:
            def call(what: str, *args: Any) -> Any:
                return getattr(actor, what).remote(*args)

            return call

        for rank, actor in others.items():
            self._world.peers[rank] = Peer(rank, call_of(actor), ray.get)

    # ----- windows --------------------------------------------------------------------------

    def make(self, sizes: Mapping[int, int]) -> dict[int, tuple[int, int]]:
        """Create windows of these sizes in bytes, by number; return how others open them."""
        for name, size in sizes.items():
            self._windows.add(Window.made(name, self._count, size))
        return {name: self._windows[name].handle for name in sizes}

    def open(self, sizes: Mapping[int, int], handles: Mapping[int, tuple[int, int]]) -> bool:
        """Open windows that another rank of this node has created; False if that rank has ended."""
        for name, size in sizes.items():
            try:
                window = Window.opened(name, *handles[name], self._count, size)
            except OSError:
                return False
            self._windows.add(window)
        return True

    def close(self, names: Sequence[int]) -> None:
        """Close windows."""
        for name in names:
            self._windows.close(name)

    # ----- kernels --------------------------------------------------------------------------

    def load(self, key: str, message: bytes) -> bytes:
        """Compile a program, or find it in this node's cache; return its error, if it has one."""
        told = unpacked(message)
        try:
            program = deserialize(told["program"])
            assert isinstance(program, Program)
            self._programs[key] = compile_program(
                program,
                told["target"],
                entry=told["entry"],
                strategy=OptimizationStrategy[told["strategy"]],
                overlap=told["overlap"],
            )
        except PyptoError as error:
            return packed({"error": error_as_data(error)})
        return packed({})

    def launch(self, message: bytes, *arrays: Array) -> Any:
        """Run a program; return a message and the arrays that it wrote."""
        told = unpacked(message)
        self._begun += 1
        program = self._programs[told["program"]]
        values, written = self._arguments(told, arrays)
        rank = self._world.rank
        rank.launched = Launched(span_from_data(told["location"]), told["file"])
        try:
            self._world.run_here(lambda: program.run(values))
        except PeerLostError as error:
            return self._failed({"lost": error.rank}, written)
        except PyptoError as error:
            return self._failed({"error": error_as_data(error.at(rank.launched.location))}, written)
        found = [sent(array) for array in written]
        return (packed({}), *found) if found else packed({})

    def _failed(self, message: dict[str, Any], written: Sequence[Any]) -> Any:
        return (packed(message), *[None] * len(written)) if written else packed(message)

    def _arguments(
        self, told: Mapping[str, Any], arrays: Sequence[Array]
    ) -> tuple[list[Any], list[Array]]:
        """Return the arguments of a launch, and the arrays among them that it writes."""
        values: list[Any] = []
        written: list[Array] = []
        left = iter(arrays)
        for kind, *rest in told["args"]:
            if kind == "window":
                name, dtype, size = rest
                values.append(self._windows[name].rows[:, :size].view(dtype_of(dtype)))
            elif kind == "array":
                dtype, is_written = rest
                array = next(left).view(dtype_of(dtype))
                if is_written:
                    array = np.array(array)
                    written.append(array)
                values.append(array)
            else:
                values.append(rest[0])
        return values, written

    # ----- while a kernel runs --------------------------------------------------------------

    def fetch(
        self, name: int, offset: int, sizes: list[int], strides: list[int], adds: bool
    ) -> Array | None:
        """Return the bytes of a box of this rank's row; None if ``adds`` and the window is locked.

        With ``adds`` the window stays locked from now on, until `store`.
        """
        window = self._windows[name]
        if adds and not window.sums.acquire(waits=False):
            return None
        box = self._box(window, offset, sizes, strides)
        return None if box is None else box.copy()

    def store(
        self,
        name: int,
        offset: int,
        sizes: list[int],
        strides: list[int],
        what: Array,
        adds: bool,
    ) -> None:
        """Store the bytes of a box in this rank's row."""
        window = self._windows[name]
        box = self._box(window, offset, sizes, strides)
        if box is not None:
            box[...] = what
        if adds:
            window.sums.release()

    def _box(
        self, window: Window, offset: int, sizes: list[int], strides: list[int]
    ) -> Array | None:
        return box_of(window.rows[self._world.rank.number], offset, sizes, strides)

    def notify(self, name: int, offset: int, value: int, adds: bool) -> None:
        """Add to a signal of this rank, or set it."""
        part = Part(self._windows[name], self._world.rank.number, offset)
        change_signal(part, value, adds=adds)

    def status(self) -> bytes:
        """Return what this rank is doing."""
        world = self._world
        waiting = world.waiting
        signal = world.signal
        return packed(
            {
                "begun": self._begun,
                "waits": world.waits,
                "waiting": waiting,
                "signal": None if signal is None else [*signal],
            }
        )


def remote_class() -> Any:
    """Return the remote class of the actors."""
    for method in (RankActor.fetch, RankActor.store, RankActor.notify, RankActor.status):
        ray.method(concurrency_group="serve")(method)
    return ray.remote(concurrency_groups={"serve": _SERVED})(RankActor)
