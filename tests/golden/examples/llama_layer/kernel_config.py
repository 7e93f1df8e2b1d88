"""The orchestration and the kernels that it launches, for the device's build."""

from pathlib import Path

_ROOT_DIR = Path(__file__).parent

RUNTIME_CONFIG = {
    "runtime": "tensormap_and_ringbuffer",
    "aicpu_thread_num": 4,
    "block_dim": 24,
}

ORCHESTRATION = {
    "source": str(_ROOT_DIR / "orchestration/layer.cpp"),
    "function_name": "aicpu_orchestration_entry",
}

KERNELS = [
    {
        "func_id": 0,
        "source": str(_ROOT_DIR / "kernels/aiv/norm.cpp"),
        "core_type": "aiv",
    },
    {
        "func_id": 1,
        "source": str(_ROOT_DIR / "kernels/aic/project.cpp"),
        "core_type": "aic",
    },
    {
        "func_id": 2,
        "source": str(_ROOT_DIR / "kernels/aiv/rope.cpp"),
        "core_type": "aiv",
    },
    {
        "func_id": 3,
        "source": str(_ROOT_DIR / "kernels/aic/scores.cpp"),
        "core_type": "aic",
    },
    {
        "func_id": 4,
        "source": str(_ROOT_DIR / "kernels/aiv/softmax.cpp"),
        "core_type": "aiv",
    },
    {
        "func_id": 5,
        "source": str(_ROOT_DIR / "kernels/aic/values.cpp"),
        "core_type": "aic",
    },
    {
        "func_id": 6,
        "source": str(_ROOT_DIR / "kernels/aiv/add.cpp"),
        "core_type": "aiv",
    },
    {
        "func_id": 7,
        "source": str(_ROOT_DIR / "kernels/aic/widen.cpp"),
        "core_type": "aic",
    },
    {
        "func_id": 8,
        "source": str(_ROOT_DIR / "kernels/aiv/activate.cpp"),
        "core_type": "aiv",
    },
    {
        "func_id": 9,
        "source": str(_ROOT_DIR / "kernels/aic/narrow.cpp"),
        "core_type": "aic",
    },
]
