"""What kernels write around the work of cores: regions, blocks, tasks, and more kinds of loops.

Like those of `markers`, these objects are recognised by identity, and do next to nothing outside a
kernel. A kernel without regions never loads this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pypto._src.dtypes import DataType
from pypto._src.ir.annotations import Scalar

if TYPE_CHECKING:
    from pypto._src.ir.static_names import Integer, Number


T = TypeVar("T")


class Level(Enum):
    """Where a region runs, from one vector core to all machines."""

    AIV = 0
    AIC = 1
    CORE_GROUP = 2
    CHIP_DIE = 3
    CHIP = 4
    HOST = 5
    CLUSTER_0 = 6
    CLUSTER_1 = 7
    CLUSTER_2 = 8
    GLOBAL = 9
    L2CACHE = 3  # noqa: PIE796  another name of it
    PROCESSOR = 4  # noqa: PIE796  another name of it
    UMA = 4  # noqa: PIE796  another name of it
    NODE = 5  # noqa: PIE796  another name of it
    POD = 6  # noqa: PIE796  another name of it
    CLOS1 = 7  # noqa: PIE796  another name of it
    CLOS2 = 8  # noqa: PIE796  another name of it


class Role(Enum):
    """What a function at a level above the chip does."""

    Orchestrator = 0
    SubWorker = 1


class SplitMode(Enum):
    """How a region's vector work is divided between the two vector cores of a cluster."""

    NONE = 0
    UP_DOWN = 1
    LEFT_RIGHT = 2


class ScopeMode(Enum):
    """Whether the tasks of a scope wait for each other according to what they read and write."""

    AUTO = 0
    MANUAL = 1


class TaskId(Scalar):
    """Names a task that others may wait for: ``with pl.at(...) as done:``."""

    marks_tasks = True


class _Context:
    """The base of with-statement markers, which mean nothing outside a kernel."""

    marks_region = True

    def __enter__(self) -> TaskId:
        return TaskId(None)

    def __exit__(self, *exception: object) -> None:
        return None


class at(_Context):
    """Mark statements that run on one core: ``with pl.at(level=pl.Level.CORE_GROUP):``.

    There a slice of a tensor is a copy in on-chip memory, and an assignment to one is a store.
    """

    def __init__(
        self,
        level: Level,
        role: Role | None = None,
        *,
        optimizations: Sequence[Any] | None = None,
        deps: Sequence[Any] | None = None,
        no_dep_args: Sequence[Any] | None = None,
        dumps: Sequence[Any] | None = None,
        allow_early_resolve: bool = False,
        name_hint: str = "",
        windowize: bool = False,
    ) -> None:
        """Take the options: the level is ``pl.Level.CORE_GROUP``, the name that of the kernel."""


class spmd(_Context):
    """Run statements as ``core_num`` blocks at the same time: ``for b in pl.spmd(8):``.

    With ``with pl.spmd(8):`` the block index is ``pl.tile.get_block_idx()``.
    """

    def __init__(
        self,
        core_num: Number,
        *,
        sync_start: bool = False,
        name_hint: str = "",
        optimizations: Sequence[Any] | None = None,
        deps: Sequence[Any] | None = None,
        allow_early_resolve: bool = False,
        predicate: Any = None,
    ) -> None:
        """Take the number of blocks and the options."""
        self.core_num = core_num

    def __iter__(self) -> Iterator[Integer]:
        return iter([])


class scope(_Context):
    """Bound the lifetime of tasks and of memory: ``with pl.scope():``. It changes no value."""

    def __init__(self, mode: ScopeMode = ScopeMode.AUTO) -> None:
        """Take the mode."""


class manual_scope(_Context):
    """A scope in which tasks wait only for those in ``deps=``: ``with pl.manual_scope():``."""


class cluster(_Context):
    """Start what is inside on the cores of one cluster: ``with pl.cluster():``.

    It changes no value.
    """

    def __init__(self, name_hint: str = "") -> None:
        """Take the name."""


def pipeline(
    *bounds: Number, stage: int, init_values: Sequence[Any] | None = None
) -> Iterator[Integer]:
    """Iterate like ``pl.range``, with ``stage`` iterations in flight at the same time."""
    return iter([])


def unroll(*bounds: int) -> Iterator[int]:
    """Repeat the statements of the body, with a constant for the loop variable in each copy."""
    return iter(range(*bounds))


def split_aiv(n: int, *, mode: SplitMode) -> Iterator[Integer]:
    """Run the body on each of the two vector cores of a cluster, with its part as ``mode`` says.

    ``for lane in pl.split_aiv(2, mode=pl.SplitMode.NONE):``
    """
    return iter(range(n))


def aiv_shard(x: T) -> T:
    """Return a vector core's part of ``x`` in a loop of `split_aiv`: all of it, or half."""
    return x


def aic_gather(x: T) -> T:
    """Return a value that both vector cores hold, for a product; in a loop of mode ``NONE``."""
    return x


def submit(
    kernel: Any,
    *args: Any,
    deps: Sequence[Any] | None = None,
    dumps: Sequence[Any] | None = None,
    allow_early_resolve: bool = False,
) -> Any:
    """Call a kernel; return its results and its task: ``y, done = pl.submit(self.rows, x, y)``."""


def spmd_submit(
    kernel: Any,
    *args: Any,
    core_num: Number,
    sync_start: bool = False,
    deps: Sequence[Any] | None = None,
    dumps: Sequence[Any] | None = None,
    allow_early_resolve: bool = False,
    predicate: Any = None,
) -> Any:
    """Call a kernel as ``core_num`` blocks; return its results and the task of all blocks.

    ``y, done = pl.spmd_submit(self.rows, x, y, core_num=8)``
    """


def slice(  # noqa: A001  the name that users write
    x: Any,
    shape: Sequence[Any],
    offset: Sequence[Any],
    valid_shape: Sequence[Any] | None = None,
    **options: Any,
) -> Any:
    """Return the part of ``x`` of size ``shape`` at ``offset``: a copy in regions, a view outside.

    Only the elements within ``valid_shape`` are read.
    """


slice.is_op = True  # pyright: ignore[reportFunctionMemberAccess]  the parser takes it for one


def create_l1(shape: Sequence[int], dtype: DataType, transpose: bool = False) -> Any:
    """Return an uninitialized matrix for `gather_row` to fill and a product to take; in regions."""


def gather_row(
    dst: Any,
    src: Any,
    dst_offset: Sequence[Any],
    src_offset: Sequence[Any],
    shapes: Sequence[int],
    transpose: bool = False,
    *,
    valid_shape: Sequence[Any] | None = None,
) -> Any:
    """Return ``dst`` with the part of ``src`` of size ``shapes`` at ``src_offset``; in regions.

    It goes to ``dst_offset``. Only the elements within ``valid_shape`` are copied.
    """


def transpose_view(tile: Any) -> Any:
    """Return a matrix with rows and columns swapped, as operand of a product; in regions."""


for _op in (create_l1, gather_row, transpose_view):
    _op.is_op = True  # pyright: ignore[reportFunctionMemberAccess]  the parser takes it for one


def split(mode: SplitMode, *, slot_num: int | None = None) -> None:
    """Divide the vector work of a region with products: ``optimizations=[pl.split(mode)]``."""


def cross_core_slot(*, slot_num: int) -> None:
    """Give the ring buffer between cube and vector cores this many slots."""


class Array:
    """A parameter with several scalars or tasks: ``done: pl.Array[4, pl.TASK_ID]``."""

    marks_tasks = True

    def __init__(self, size: int, dtype: Any) -> None:
        self.size = size
        self.dtype = dtype

    def __class_getitem__(cls, item: Any) -> Array:
        return cls(*item)

    if TYPE_CHECKING:

        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...


TASK_ID: Final = TaskId
"""The type of a task, as in ``pl.array.create(4, pl.TASK_ID)``."""


class RUNTIME:
    """Passed to ``kernel.compile`` for a scalar whose value each call gives."""


def array_create(extent: int, dtype: DataType | type[TaskId]) -> Any:
    """Return a list of ``extent`` scalars or tasks that a kernel reads and writes by index."""
    return Array(extent, dtype)


def task_dummy(*, deps: Sequence[Any]) -> TaskId:
    """Return a task that does nothing, and ends when those in ``deps`` have."""
    return TaskId(None)


def task_invalid() -> None:
    """Return the task that stands for none."""


def get_block_num() -> Integer:
    """Return how many blocks run the statements of a launch; 1 in a region without blocks."""
    return 1


def get_subblock_idx() -> Integer:
    """Return which of the two vector cores of a cluster runs this: 0 outside `split_aiv`."""
    return 0


def available_cluster_count() -> Integer:
    """Return how many clusters the chip has: cube cores with their vector cores."""
    return 1


def available_aiv_count() -> Integer:
    """Return how many vector cores the chip has."""
    return 1


def static_assert(condition: Any, message: str = "") -> None:
    """Refuse the program unless ``condition``, a constant at parse time, holds."""


def static_print(*values: Any) -> None:
    """Print values as known when the program is parsed: constants, types of tensors."""


def func_attr(attributes: Mapping[str, Any]) -> None:
    """Note facts for the chip's code, such as how vector work is split; no value changes."""


def dump_tag(x: T) -> T:
    """Mark a tensor for a debugger's dump, and return it; no value changes."""
    return x


def fence() -> None:
    """Make writes to memory visible to other cores before what follows; no value changes."""


def cacheinvalid(*part: Any) -> None:
    """Make reads from memory see what other cores have written; no value changes."""


def no_dep(x: T) -> T:
    """Pass ``x`` to a kernel that then waits for no task because of it: ``f(pl.no_dep(x), y)``."""
    return x


def prefetch_context() -> Any:
    """Return the context that prefetches belong to."""


def prefetch_session(context: Any) -> Any:
    """Return the session that waits for prefetches."""


def prefetch_read(x: Any, context: Any) -> Any:
    """Begin to prefetch a tensor."""


def prefetch_wait(event: Any, session: Any) -> bool:
    """Wait for a prefetch; True when it is done."""
    return True


def syncall(
    *, core_type: str = "mix", mode: str = "hard", gm_workspace: Any = None, used_cores: Any = None
) -> None:
    """Make all cores of a launch wait for each other."""
