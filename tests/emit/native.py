"""Lowers kernels to C++, and calls compiled C++ with arrays, for the tests of emitters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pypto._src.emit.cpp.generate import CodeGenerator, kernel_file
from pypto._src.ir.roles import kernels
from pypto._src.ir.stmts import Function
from pypto._src.passes.pass_manager import PassManager
from pypto._src.run.native import load_kernel
from tests.natively import compiler

INCLUDE = Path(__file__).parents[2] / "src" / "pypto" / "include"
WARNINGS = ("-Wall", "-Wextra", "-Werror")


def text_of(function: Function) -> str:
    """Return the function's C++ without source comments."""
    return CodeGenerator(comments=False).generate(function)


def lowered(program: Any) -> Function:
    """Return the only kernel of a program after the passes of the default pipeline."""
    [function] = kernels(PassManager.get_strategy().run_passes(program))
    return function


def run(function: Function, *words: Any, comments: bool = True) -> None:
    """Compile a kernel, warnings as errors, and call it; arrays are passed by address."""
    toolchain = compiler()
    source = kernel_file(function, comments=comments)
    kernel = load_kernel(source, toolchain=toolchain, include_dirs=[INCLUDE], extra_flags=WARNINGS)
    kernel([w.ctypes.data if isinstance(w, np.ndarray) else int(w) for w in words])
