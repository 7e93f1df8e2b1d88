"""How a kernel is compiled and run: `RunConfig`, which calls of ``@pl.jit`` kernels take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pypto._src.errors import CallError
from pypto._src.passes.pass_manager import OptimizationStrategy

HERE: Final = frozenset({"a2a3sim", "a5sim"})
"""Platforms that denote this machine."""

DEVICES: Final = {"a2a3": "an Ascend 910B", "a5": "an Ascend 950"}


@dataclass(frozen=True)
class RunConfig:
    """The platform and other options of a run; this machine is ``a2a3sim``.

    ``strategy`` chooses the passes, ``overlap`` says whether iterations of loops overlap,
    overriding the kernel's declaration. Before a run, ``dump_passes`` writes the program after each
    pass to the folder ``passes_dump`` of the program's ``output_dir``, and ``save_kernels`` the
    texts for the device; ``save_kernels_dir`` is that folder. ``check_blocks`` runs the program on
    copies of the arguments first, with blocks of launches in other orders, and rejects one whose
    results depend on the order. Fields that steer a device's runtime or its diagnostics are kept
    and change nothing here.
    """

    platform: str = "a2a3sim"
    device_id: int = 0
    rtol: float = 1e-5
    atol: float = 1e-5
    strategy: OptimizationStrategy | None = None
    backend_type: Any = None
    dump_passes: bool = False
    dump_ptoas_passes: bool = False
    save_kernels: bool = False
    save_kernels_dir: str | None = None
    codegen_only: bool = False
    distributed_config: Any = None
    analyze_auto_scopes_for_deps: bool = False
    enable_chip_swimlane: int = 0
    enable_dump_args: int = 0
    enable_pmu: int = 0
    enable_dep_gen: bool = False
    enable_scope_stats: bool = False
    compile_profiling: bool = False
    diagnostic_phase: Any = None
    disabled_diagnostics: Any = None
    golden_data_dir: str | None = None
    aicpu_thread_num: int | None = None
    ring_task_window: int | None = None
    ring_heap: int | None = None
    ring_dep_pool: int | None = None
    memory_planner: Any = None
    overlap: bool | None = None
    check_blocks: bool = False

    def __post_init__(self) -> None:
        """Check the name of the platform, and the fields that have an effect on this machine.

        Raises:
            ValueError: there is no such platform.
            TypeError: another kind of value was wanted.
        """
        if not isinstance(self.strategy, OptimizationStrategy | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            names = " or ".join(map(str, OptimizationStrategy))
            raise TypeError(f"strategy is {names}, got {self.strategy!r}")
        if not isinstance(self.overlap, bool | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"overlap is True, False or None, got {self.overlap!r}")
        for name in ("dump_passes", "save_kernels", "codegen_only", "check_blocks"):
            if not isinstance(value := getattr(self, name), bool):
                raise TypeError(f"{name} is True or False, got {value!r}")
        if self.platform not in HERE and self.platform not in DEVICES:
            names = ", ".join(sorted((*HERE, *DEVICES)))
            raise ValueError(f"there is no platform {self.platform!r}; there are {names}")


@dataclass(frozen=True)
class DistributedConfig:
    """The devices of a program that runs on several of them."""

    device_ids: Sequence[int] = (0,)
    num_sub_workers: int = 0
    runtime: str = "tensormap_and_ringbuffer"
    aicpu_thread_num: int = 0
    on: str | None = None
    """Where the ranks run: None for threads of this process, else processes of a cluster. ``ray``
    is this process's session of Ray, or a new one on this machine; any other text is the address
    of a cluster, such as ``auto``."""
    timeout: float = 60.0
    """Seconds without progress of any rank after which a run on a cluster ends with an error."""

    def __post_init__(self) -> None:
        """Check the numbers of the devices.

        Raises:
            ValueError: there are none, one is negative or repeated, or the timeout is not positive.
        """
        if not self.timeout > 0:
            raise ValueError(f"timeout is a number of seconds, got {self.timeout!r}")
        found = list(self.device_ids)
        if not found or min(found) < 0 or len(set(found)) < len(found):
            raise ValueError(f"device_ids are different numbers from 0 on, got {found}")
        object.__setattr__(self, "device_ids", found)


def check_runs_here(config: RunConfig) -> None:
    """Reject running on a device, which needs software that is not part of this package.

    Raises:
        CallError: the platform is a device.
    """
    device = DEVICES.get(config.platform)
    if device is not None:
        raise CallError(
            f"a run on {config.platform} needs {device}, its driver and its compiler, which are "
            "not part of this package",
            hint=f'pass RunConfig(platform="{config.platform}sim"), which is this machine',
            slug="platform",
        )
