"""The selected backend, and the chip as the backends describe it.

The figures come from `targets`; nothing here is used by passes or emitters.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, cast

from pypto._src.ir.enums import CoreType, MemorySpace
from pypto._src.targets import A2A3

if TYPE_CHECKING:
    import os


class BackendType(Enum):
    """The kinds of text to emit: C++ for the tile library, or PTO for its assembler."""

    CCE = 0
    PTO = 1
    Ascend910B = 1  # noqa: PIE796  an alias: the chip that the text is for


class _Selection:
    """The backend of this process, once one is chosen."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.chosen: BackendType | None = None


_selection: Final = _Selection()


def set_backend_type(backend_type: BackendType) -> None:
    """Choose the backend of this process; choosing the same one again is allowed.

    Raises:
        ValueError: another one was chosen already.
    """
    with _selection.lock:
        if _selection.chosen not in (None, backend_type):
            raise ValueError(
                f"the backend is {_selection.chosen.name} already and cannot become "
                f"{backend_type.name} in the same process"
            )
        _selection.chosen = backend_type


def get_backend_type() -> BackendType:
    """Return the chosen backend.

    Raises:
        ValueError: none was chosen yet.
    """
    if _selection.chosen is None:
        raise ValueError("no backend is chosen: call set_backend_type(BackendType.PTO) first")
    return _selection.chosen


def is_backend_configured() -> bool:
    """True once a backend is chosen."""
    return _selection.chosen is not None


def reset_for_testing() -> None:
    """Forget the choice."""
    with _selection.lock:
        _selection.chosen = None


# --------------------------------------------------------------------------------------------
# The chip
# --------------------------------------------------------------------------------------------


class _Frozen:
    """Base of the descriptions: compared by identity, and immutable."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}")


_put = object.__setattr__


class Mem(_Frozen):
    """One memory: space, size and alignment in bytes."""

    __slots__ = ("alignment", "mem_size", "mem_type")
    mem_type: MemorySpace
    mem_size: int
    alignment: int

    def __init__(self, mem_type: MemorySpace, mem_size: int, alignment: int) -> None:
        _put(self, "mem_type", mem_type)
        _put(self, "mem_size", mem_size)
        _put(self, "alignment", alignment)

    def __repr__(self) -> str:
        return f"Mem(type={self.mem_type.name}, size={self.mem_size}, alignment={self.alignment})"


class Core(_Frozen):
    """One core with its memories."""

    __slots__ = ("core_type", "mems")
    core_type: CoreType
    mems: tuple[Mem, ...]

    def __init__(self, core_type: CoreType, mems: list[Mem] | tuple[Mem, ...]) -> None:
        _put(self, "core_type", core_type)
        _put(self, "mems", tuple(mems))

    def __repr__(self) -> str:
        return f"Core(type={self.core_type.value}, mems={len(self.mems)})"


def _counts(parts: Any, count: int | None) -> dict[Any, int]:
    if isinstance(parts, Mapping):
        if count is not None:
            raise TypeError("a mapping of parts has the counts already")
        return dict(cast("Mapping[Any, int]", parts))
    return {parts: 1 if count is None else count}


class Cluster(_Frozen):
    """Cores that belong together, each with its count."""

    __slots__ = ("core_counts",)
    core_counts: Mapping[Core, int]

    def __init__(self, core_counts: Mapping[Core, int] | Core, count: int | None = None) -> None:
        _put(self, "core_counts", _counts(core_counts, count))

    def total_core_count(self) -> int:
        """Return how many cores there are."""
        return sum(self.core_counts.values())

    def __repr__(self) -> str:
        return f"Cluster(total_cores={self.total_core_count()})"


class Die(_Frozen):
    """Clusters, each with its count."""

    __slots__ = ("cluster_counts",)
    cluster_counts: Mapping[Cluster, int]

    def __init__(
        self, cluster_counts: Mapping[Cluster, int] | Cluster, count: int | None = None
    ) -> None:
        _put(self, "cluster_counts", _counts(cluster_counts, count))

    def total_cluster_count(self) -> int:
        """Return how many clusters there are."""
        return sum(self.cluster_counts.values())

    def total_core_count(self) -> int:
        """Return how many cores there are."""
        return sum(c.total_core_count() * n for c, n in self.cluster_counts.items())

    def __repr__(self) -> str:
        return f"Die(clusters={self.total_cluster_count()}, cores={self.total_core_count()})"


class SoC(_Frozen):
    """A chip: dies, each with its count."""

    __slots__ = ("die_counts",)
    die_counts: Mapping[Die, int]

    def __init__(self, die_counts: Mapping[Die, int] | Die, count: int | None = None) -> None:
        _put(self, "die_counts", _counts(die_counts, count))

    def total_die_count(self) -> int:
        """Return how many dies there are."""
        return sum(self.die_counts.values())

    def total_cluster_count(self) -> int:
        """Return how many clusters there are."""
        return sum(d.total_cluster_count() * n for d, n in self.die_counts.items())

    def total_core_count(self) -> int:
        """Return how many cores there are."""
        return sum(d.total_core_count() * n for d, n in self.die_counts.items())

    def __repr__(self) -> str:
        return (
            f"SoC(dies={self.total_die_count()}, clusters={self.total_cluster_count()}, "
            f"cores={self.total_core_count()})"
        )


def _core(kind: CoreType, spaces: tuple[MemorySpace, ...]) -> Core:
    rows = [(space, A2A3.memories[space]) for space in spaces]
    return Core(kind, [Mem(s, m.physical_bytes, m.align_bytes) for s, m in rows])


def _soc_910b() -> SoC:
    cube = _core(
        CoreType.CUBE, (MemorySpace.Mat, MemorySpace.Left, MemorySpace.Right, MemorySpace.Acc)
    )
    vector = _core(CoreType.VECTOR, (MemorySpace.Vec,))
    clusters = {Cluster(cube): A2A3.cube_cores, Cluster(vector): A2A3.vector_cores}
    return SoC(Die(clusters))


_MOVES_910B: Final[Mapping[MemorySpace, tuple[MemorySpace, ...]]] = {
    MemorySpace.DDR: (MemorySpace.Vec, MemorySpace.Mat),
    MemorySpace.Vec: (MemorySpace.DDR,),
    MemorySpace.Mat: (MemorySpace.Left, MemorySpace.Right),
    MemorySpace.Acc: (MemorySpace.Mat, MemorySpace.DDR),
}
"""The memories to which one instruction can move bytes of a memory."""


class Backend:
    """A backend with its chip; see `Backend910B_CCE` and `Backend910B_PTO`."""

    type_name: ClassVar[str] = ""
    _instances: ClassVar[dict[type[Backend], Backend]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        if not self.type_name:
            raise TypeError("Backend is abstract: use Backend910B_PTO.instance()")
        self._soc = _soc_910b()

    @classmethod
    def instance(cls) -> Backend:
        """Return the one backend of this class."""
        with Backend._lock:
            if cls not in Backend._instances:
                Backend._instances[cls] = cls()
            return Backend._instances[cls]

    def get_type_name(self) -> str:
        """Return the name of the backend, such as ``910B_PTO``."""
        return self.type_name

    @property
    def soc(self) -> SoC:
        """The chip."""
        return self._soc

    def find_mem_path(self, from_mem: MemorySpace, to_mem: MemorySpace) -> list[MemorySpace]:
        """Return the memories on a shortest path from one to another, both included.

        Raises:
            ValueError: there is no path.
        """
        before: dict[MemorySpace, MemorySpace | None] = {from_mem: None}
        queue = deque([from_mem])
        while queue and to_mem not in before:
            here = queue.popleft()
            for there in _MOVES_910B.get(here, ()):
                if there not in before:
                    before[there] = here
                    queue.append(there)
        if to_mem not in before:
            raise ValueError(f"there is no path from {from_mem.name} to {to_mem.name} memory")
        path: list[MemorySpace] = []
        step: MemorySpace | None = to_mem
        while step is not None:
            path.append(step)
            step = before[step]
        return path[::-1]

    def get_mem_size(self, mem_type: MemorySpace) -> int:
        """Return the bytes of a memory of one core, 0 for one that no core has."""
        memory = A2A3.memories.get(mem_type)
        return 0 if memory is None else memory.physical_bytes

    def export_to_file(self, path: str | os.PathLike[str]) -> None:
        """Write the backend as a small JSON file, for `import_from_file`."""
        import json
        from pathlib import Path

        memories = {
            space.name: {"size_bytes": m.physical_bytes, "align_bytes": m.align_bytes}
            for space, m in A2A3.memories.items()
        }
        text = json.dumps({"backend": self.type_name, "memories": memories}, indent=2)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @staticmethod
    def import_from_file(path: str | os.PathLike[str]) -> Backend:
        """Return the backend named in a file of `export_to_file`.

        Raises:
            ValueError: the file is not one of these.
        """
        import json
        from pathlib import Path

        data: object = json.loads(Path(path).read_text(encoding="utf-8"))
        fields = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        name = fields.get("backend")
        for kind in (Backend910B_CCE, Backend910B_PTO):
            if kind.type_name == name:
                return kind.instance()
        raise ValueError(f"{path} names the backend {name!r}; there are 910B_CCE and 910B_PTO")


class Backend910B_CCE(Backend):
    """C++ for the Ascend 910B."""

    type_name = "910B_CCE"


class Backend910B_PTO(Backend):
    """PTO for the Ascend 910B."""

    type_name = "910B_PTO"
