"""The ranks of a program on a cluster, as the process that launches kernels sees them.

A session has an actor for each rank. Kernels are sent as serialized IR and compiled by the first
rank of a node; the others find them in its cache. Arrays travel through the object store, from node
to node: what a kernel writes is copied back here only when it is read.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pypto._src.cluster import messages
from pypto._src.diagnostics import Label, Span
from pypto._src.driver import CompiledProgram
from pypto._src.errors import CallError, EvaluationError
from pypto._src.ir.serialization.serialize import serialize
from pypto._src.lazy import lazy_module
from pypto._src.ranks import Stopped, World
from pypto._src.records import NamedTuple
from pypto._src.run.arguments.array_views import is_array, may_share

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

ray: Any = lazy_module("ray")

_LOOK_S: Final = 0.25
"""How often the driver checks whether a launch has ended or a rank has failed."""
_START_S: Final = 60.0
"""How long the cluster may take to start the ranks."""


class _Held(NamedTuple):
    """An array of the driver of which the cluster has a copy."""

    array: Array
    ref: Any
    is_newer: bool
    """True if a kernel has written the copy, and the driver's array is older."""


class Node(NamedTuple):
    """Where a rank runs."""

    number: str
    address: str
    process: int

    def __str__(self) -> str:
        return f"node {self.address} ({self.number[:8]})"


class Session:
    """The ranks of one program, or of a worker's programs."""

    def __init__(self, count: int, on: str, timeout: float) -> None:
        self.count, self.timeout = count, timeout
        connect(on)
        self._group, self.actors = _start(count)
        self._lock = threading.RLock()
        self._failure: BaseException | None = None
        self._loaded: dict[str, None] = {}
        self._keys: dict[CompiledProgram, str] = {}
        self._windows: dict[int, tuple[int, int, Any]] = {}  # address: number, bytes, array
        self._made = 0
        self._held: list[_Held] = []
        self._begun = [0] * count
        try:
            found = self._asked("where", [()] * count)
            self.nodes = [Node(*each) for each in found]
            self._asked("meet", [(self._others(rank),) for rank in range(count)])
        except BaseException:
            self.close()
            raise

    def _others(self, rank: int) -> dict[int, Any]:
        node = self.nodes[rank].number
        return {n: a for n, a in enumerate(self.actors) if self.nodes[n].number != node}

    def _asked(self, what: str, args: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of each rank; return the results."""
        refs = [getattr(a, what).remote(*each) for a, each in zip(self.actors, args, strict=True)]
        return [self._got(rank, ref) for rank, ref in enumerate(refs)]

    def _got(self, rank: int, ref: Any) -> Any:
        try:
            return ray.get(ref, timeout=max(self.timeout, _START_S))
        except (ray.exceptions.RayActorError, ray.exceptions.OutOfMemoryError):
            raise self.lost(rank) from None
        except ray.exceptions.GetTimeoutError:
            raise EvaluationError(
                f"rank {rank} does not answer for {self.timeout:g} s", slug="rank-lost"
            ) from None

    def lost(self, rank: int) -> EvaluationError:
        """Return the error for a rank that is gone."""
        nodes = getattr(self, "nodes", None)
        where = "" if nodes is None else f" on {nodes[rank]}, process {nodes[rank].process}"
        return EvaluationError(
            f"rank {rank}{where} has ended in the middle of a run",
            hint="see the logs of Ray on that node; out of memory is the most frequent reason",
            slug="rank-lost",
        )

    def close(self) -> None:
        """Kill all ranks, whatever they are doing; a second call does nothing."""
        for actor in self.actors:
            ray.kill(actor)
        self.actors = []
        if self._group is not None:
            ray.util.remove_placement_group(self._group)
            self._group = None
        self._held = []

    @property
    def is_usable(self) -> bool:
        """False if a rank has failed, or the session is closed."""
        return self._failure is None and bool(self.actors)

    # ----- before and after a run -----------------------------------------------------------

    def begin(self, windows: Iterable[Array], programs: Mapping[CompiledProgram, None]) -> None:
        """Open new windows and load programs, on all ranks.

        A window has a row for each rank. The rows are never accessed here: their address is a name.
        """
        new: dict[int, int] = {}
        for array in windows:
            address = int(array.ctypes.data)
            if address not in self._windows:
                self._made += 1
                self._windows[address] = (self._made, array.shape[1], array)
                new[self._made] = array.shape[1]
        firsts: dict[str, int] = {}
        for rank, node in enumerate(self.nodes):
            firsts.setdefault(node.number, rank)
        made = {n: self.actors[rank].make.remote(new) for n, rank in firsts.items()} if new else {}
        handles = {n: self._got(firsts[n], ref) for n, ref in made.items()}
        others = [rank for rank in range(self.count) if rank not in firsts.values()]
        opened = [
            (rank, self.actors[rank].open.remote(new, handles[self.nodes[rank].number]))
            for rank in others
            if new
        ]
        for rank, ref in opened:
            if not self._got(rank, ref):
                raise self.lost(firsts[self.nodes[rank].number])
        for program in programs:
            key, message = _as_message(program)
            self._keys[program] = key
            if key in self._loaded:
                continue
            self._load(list(firsts.values()), key, message)
            self._load(others, key, message)
            self._loaded[key] = None

    def _load(self, ranks: Sequence[int], key: str, message: bytes) -> None:
        refs = [(rank, self.actors[rank].load.remote(key, message)) for rank in ranks]
        for rank, ref in refs:
            found = messages.unpacked(self._got(rank, ref))
            if "error" in found:
                raise messages.error_from_data(found["error"])

    def end(self, kept: Sequence[Array] = (), resident: Sequence[Array] = ()) -> None:
        """Copy results back to the driver's arrays, except those that stay on the ranks.

        Windows that are not ``kept`` are closed.
        """
        addresses = {int(array.ctypes.data) for array in kept}
        gone = [address for address in self._windows if address not in addresses]
        names = [self._windows.pop(address)[0] for address in gone]
        if names:
            self._asked("close", [(names,)] * self.count)
        stay: list[_Held] = []
        for held in self._held:
            if any(np.may_share_memory(held.array, array) for array in resident):
                stay.append(held)
            elif held.is_newer:
                self._bring(held)
        self._held = stay

    def rows(self, windows: Iterable[Array]) -> list[list[Array]]:
        """Return the contents of each rank's row, for each window."""
        asked = [
            (self._windows[int(each.ctypes.data)][0], 0, [each.shape[1]], [1]) for each in windows
        ]
        return [self._asked("fetch", [(*each, False)] * self.count) for each in asked]

    def fill(self, windows: Iterable[Array], rows: Sequence[Sequence[Array]]) -> None:
        """Restore each rank's row of each window from what `rows` has returned."""
        for each, found in zip(windows, rows, strict=True):
            name = self._windows[int(each.ctypes.data)][0]
            box = (name, 0, [each.shape[1]], [1])
            self._asked("store", [(*box, row, False) for row in found])

    def bring(self, array: Array) -> None:
        """Copy back to an array of the driver what kernels have written."""
        with self._lock:
            left: list[_Held] = []
            for held in self._held:
                if may_share(held.array, array):
                    if held.is_newer:
                        self._bring(held)
                else:
                    left.append(held)
            self._held = left

    def _bring(self, held: _Held) -> None:
        found = ray.get(held.ref)
        held.array[...] = found.view(held.array.dtype)

    # ----- launches -------------------------------------------------------------------------

    def launch(
        self, rank: int, program: CompiledProgram, values: Sequence[Any], location: Span, file: str
    ) -> None:
        """Run a program on a rank to completion, in that rank's thread of the driver's world.

        Raises:
            EvaluationError: what the kernel reports, or that a rank is lost.
            Stopped: another rank has failed.
        """
        written = {*program.output_indices}
        args: list[list[Any]] = []
        refs: list[Any] = []
        results: list[Array] = []
        for index, value in enumerate(values):
            known = self._window(value)
            if known is not None:
                args.append(["window", known[0], value.dtype.name, known[1]])
            elif is_array(value):
                args.append(["array", value.dtype.name, index in written])
                refs.append(self._ref(value))
                if index in written:
                    results.append(value)
            else:
                args.append(["number", value.item() if hasattr(value, "item") else value])
        message = messages.packed(
            {
                "program": self._keys[program],
                "args": args,
                "location": messages.span_as_data(location),
                "file": file,
            }
        )
        self._begun[rank] += 1
        method = self.actors[rank].launch.options(num_returns=1 + len(results))
        made = method.remote(message, *refs)
        done, *outputs = made if results else [made]
        found = messages.unpacked(self._awaited(rank, done))
        if "lost" in found:
            raise self.lost(found["lost"])
        if "error" in found:
            raise messages.error_from_data(found["error"])
        for array, ref in zip(results, outputs, strict=True):
            self._wrote(array, ref)

    def _awaited(self, rank: int, ref: Any) -> Any:
        while True:
            ready, _ = ray.wait([ref], timeout=_LOOK_S)
            if self._failure is not None:
                raise Stopped
            if ready:
                return self._got(rank, ref)

    def _window(self, value: Any) -> tuple[int, int] | None:
        """Return the number and the row size in bytes of the window that an argument is."""
        if not is_array(value):
            return None
        found = self._windows.get(int(value.ctypes.data))
        return None if found is None or value.base is not found[2] else found[:2]

    def _ref(self, array: Array) -> Any:
        """Return the object of an array; parts of it that kernels wrote are copied back first."""
        with self._lock:
            for held in self._held:
                if _is_same(held.array, array):
                    return held.ref
            newer = [h for h in self._held if h.is_newer and may_share(h.array, array)]
            for held in newer:
                self._bring(held)
            self._held = [
                h._replace(is_newer=False) if any(h is each for each in newer) else h
                for h in self._held
            ]
            ref = ray.put(messages.sent(array))
            self._held.append(_Held(array, ref, is_newer=False))
            return ref

    def _wrote(self, array: Array, ref: Any) -> None:
        with self._lock:
            left: list[_Held] = []
            for held in self._held:
                if not may_share(held.array, array):
                    left.append(held)
                elif held.is_newer and not _is_same(held.array, array):
                    self._bring(held)
            self._held = [*left, _Held(array, ref, is_newer=True)]

    # ----- failures -------------------------------------------------------------------------

    def watched(self, world: World, name: Callable[[int], str]) -> Callable[[], None]:
        """Watch the ranks while a world runs; return a function that stops watching."""
        over = threading.Event()
        thread = threading.Thread(
            target=self._watch, args=(world, name, over), name="pypto-ranks", daemon=True
        )
        thread.start()

        def end() -> None:
            over.set()
            thread.join()

        return end

    def _watch(self, world: World, name: Callable[[int], str], over: threading.Event) -> None:
        """Fail the run if a rank has failed, all wait for each other, or nothing progresses."""
        before: Any = None
        quiet = 0.0
        while not over.wait(_LOOK_S):
            if world.has_failed:
                self._fail(Stopped())
                return
            running = sorted(world.running())
            found = self._statuses(running)
            if found is None:
                continue
            now = [(rank, each["begun"], each["waits"]) for rank, each in found]
            waiting = [rank for rank, each in found if each["waiting"] is not None]
            is_current = all(each["begun"] == self._begun[rank] for rank, each in found)
            is_still = now == before and running == sorted(world.running())
            quiet = quiet + _LOOK_S if is_still else 0.0
            before = now
            if running and is_current and is_still and waiting == running:
                error = self._deadlock(found, name)
                world.fail(error)
                self._fail(error)
                return
            if running and quiet > self.timeout:
                ranks = ", ".join(f"rank {rank} on {self.nodes[rank]}" for rank in running)
                error = EvaluationError(
                    f"nothing has gone on for {self.timeout:g} s: {ranks}",
                    hint="DistributedConfig(..., timeout=600) gives kernels more time",
                    slug="rank-timeout",
                )
                world.fail(error)
                self._fail(error)
                return

    def _statuses(self, running: Sequence[int]) -> list[tuple[int, dict[str, Any]]] | None:
        refs = [self.actors[rank].status.remote() for rank in running]
        try:
            found = ray.get(refs, timeout=2.0)
        except ray.exceptions.RayError:  # a lost rank is reported by its launch
            return None
        return [(rank, messages.unpacked(each)) for rank, each in zip(running, found, strict=True)]

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error

    def _deadlock(
        self, found: Sequence[tuple[int, dict[str, Any]]], name: Callable[[int], str]
    ) -> EvaluationError:
        names = {number: array for number, _, array in self._windows.values()}
        labels: list[Label] = []
        for rank, each in found:
            waiting, text = each["waiting"], ""
            if each["signal"] is not None:
                window, whose, offset = each["signal"]
                array = names[window]
                text = f"{name(int(array.ctypes.data) + whose * array.shape[1] + offset)} "
            what = f"rank {rank} waits for {text}{waiting['for']}"
            labels.append(Label(messages.span_from_data(waiting["location"]), what))
        first, *others = labels
        count = f"all {len(labels)} ranks that still run wait" if others else "one rank waits"
        return EvaluationError(
            f"deadlock: {count}, and no rank is left to notify; {first.text}",
            first.span,
            hint="notify the signal before its wait, on the rank that waits",
            slug="deadlock",
            related=others,
        )


def _is_same(a: Array, b: Array) -> bool:
    return (
        a.ctypes.data == b.ctypes.data
        and a.shape == b.shape
        and a.strides == b.strides
        and a.dtype == b.dtype
    )


def _as_message(program: CompiledProgram) -> tuple[str, bytes]:
    """Return the key of a program, and the program as bytes."""
    message = messages.packed(
        {
            "program": serialize(program.source),
            "entry": program.entry,
            "target": program.target,
            "strategy": program._strategy.name,  # pyright: ignore[reportPrivateUsage]
            "overlap": program._overlap,  # pyright: ignore[reportPrivateUsage]
        }
    )
    return hashlib.sha256(message).hexdigest(), message


def connect(on: str) -> None:
    """Use this process's Ray session, else the one at an address, else start one.

    Raises:
        CallError: there is none at the address, or it requires a token.
    """
    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage statistics of our own sessions
    address = None if on == "ray" else on
    try:
        ray.init(address=address, log_to_driver=False, include_dashboard=False)
    except ConnectionError as error:
        raise CallError(
            f"no cluster of Ray lets this process in at {on}: {error}",
            hint="where Ray runs with a token, put its ~/.ray/auth_token here and type: "
            "export RAY_AUTH_MODE=token",
            slug="cluster-refuses",
        ) from error


def _start(count: int) -> tuple[Any, list[Any]]:
    """Start an actor with one CPU for each rank; neighbours share a node where possible."""
    from pypto._src.cluster.rank_actor import remote_class

    group = ray.util.placement_group([{"CPU": 1}] * count, strategy="PACK")
    if not group.wait(_START_S):
        ray.util.remove_placement_group(group)
        free = ray.available_resources().get("CPU", 0)
        raise CallError(
            f"{count} ranks need a CPU each, the cluster has {free:g} free after {_START_S:g} s",
            hint="start more nodes: ray start --address=HEAD:6379",
            slug="rank-placement",
        )
    table = ray.util.placement_group_table(group)["bundles_to_node_id"]
    bundles = sorted(table, key=lambda bundle: (table[bundle], bundle))
    strategy = ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy
    made = remote_class()
    actors = [
        made.options(
            num_cpus=1,
            max_restarts=0,
            scheduling_strategy=strategy(group, placement_group_bundle_index=bundle),
        ).remote(rank, count)
        for rank, bundle in enumerate(bundles)
    ]
    return group, actors
