"""The orchestration and the kernels that it launches, for the device's build."""

from pathlib import Path

_ROOT_DIR = Path(__file__).parent

RUNTIME_CONFIG = {
    "runtime": "tensormap_and_ringbuffer",
    "aicpu_thread_num": 4,
    "block_dim": 24,
}

ORCHESTRATION = {
    "source": str(_ROOT_DIR / "orchestration/projections.cpp"),
    "function_name": "aicpu_orchestration_entry",
}

KERNELS = [
    {
        "func_id": 0,
        "source": str(_ROOT_DIR / "kernels/aiv/rms_norm.cpp"),
        "core_type": "aiv",
    },
    {
        "func_id": 1,
        "source": str(_ROOT_DIR / "kernels/aic/project.cpp"),
        "core_type": "aic",
    },
    {
        "func_id": 2,
        "source": str(_ROOT_DIR / "kernels/aic/project_1.cpp"),
        "core_type": "aic",
    },
    {
        "func_id": 3,
        "source": str(_ROOT_DIR / "kernels/aic/project_2.cpp"),
        "core_type": "aic",
    },
]
