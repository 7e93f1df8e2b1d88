"""Kernels that differ only in names, of which one is compiled for all.

The regions of a model's layers are such kernels. Two are alike if their IR has the same structure
and their C++ differs only by a one-to-one renaming of identifiers that it declares itself: then one
object serves both, and only names in its reports have to be changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from pypto._src.emit.cpp.launch_sizes import tensor_sizes
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.equal import structural_equal
from pypto._src.ir.exprs import Var
from pypto._src.ir.stmts import Function
from pypto._src.records import NamedTuple
from pypto._src.run.native import (
    INCLUDE,
    MAX_CHECKED_TENSORS,
    LaunchTensor,
    NativeKernel,
    load_kernel,
)
from pypto._src.run.progress import Progress
from pypto._src.run.scheduler import thread_count
from pypto._src.run.shield import adopt, current, shielded
from pypto._src.run.toolchain import Toolchain

_TOKEN: Final = re.compile(r'//[^\n]*|"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|\s+|\d[\w.]*|.', re.DOTALL)

# A name after a type and before an initializer, arguments or the end: a declaration, or an operand
# of `return` and the like, which needs an earlier declaration anyway.
_DECLARED: Final = re.compile(
    r"\busing (\w+) =|(?<!\breturn)(?<!\belse)(?<!\bcase)(?:\w|(?<=\S)>)[*&]? +(\w+)\s*[=(;,){\[]"
)


class Launched(NamedTuple):
    """A compiled kernel, and new names for its reports if it was compiled from another one."""

    kernel: NativeKernel
    names: Mapping[str, str]


def compile_kernels(
    functions: Sequence[Function], sources: Mapping[str, str], toolchain: Toolchain
) -> dict[str, Launched]:
    """Compile kernels in parallel; of those that are alike, the first for all.

    Args:
        functions: Kernels after the passes, each name once.
        sources: The C++ of each, by its name.
        toolchain: What compiles it.

    Raises:
        CompileError: the compiler rejected a text.
    """
    sizes = {function.name: tensor_sizes(function) for function in functions}
    texts = {name: sources[name] + found.functions for name, found in sizes.items()}
    progress = Progress("compiling kernels", len(functions))

    def compile_one(function: Function) -> NativeKernel:
        with progress.part(function.name):
            return load_kernel(
                texts[function.name],
                toolchain=toolchain,
                include_dirs=[INCLUDE],
                tensors=_launch_tensors(function, sizes[function.name].shapes),
                name=function.name,
            )

    if len(functions) < 2:
        with progress.shown():
            return {function.name: Launched(compile_one(function), {}) for function in functions}
    like = representatives(functions, texts)
    different = [function for function in functions if like[function.name] is function]
    progress = Progress("compiling kernels", len(different))
    workers = min(len(different), thread_count())

    def compile_all() -> list[NativeKernel]:
        with ThreadPoolExecutor(workers, initializer=adopt, initargs=(current(),)) as pool:
            return list(pool.map(compile_one, different))

    with progress.shown():
        made = shielded(compile_all)
    kernels = {function.name: kernel for function, kernel in zip(different, made, strict=True)}
    return {
        function.name: Launched(
            kernels[like[function.name].name], renamed(like[function.name], function)
        )
        for function in functions
    }


def representatives(functions: Sequence[Function], texts: Mapping[str, str]) -> dict[str, Function]:
    """Return, for the name of each kernel, the first one that is like it.

    Args:
        functions: Kernels after the passes.
        texts: All the C++ of each, by its name.
    """
    found: dict[str, Function] = {}
    candidates: dict[str, list[Function]] = {}
    for function in functions:
        same_text = candidates.setdefault(without_names(texts[function.name]), [])
        like = next((other for other in same_text if _is_alike(other, function)), function)
        if like is function:
            same_text.append(function)
        found[function.name] = like
    return found


def without_names(text: str) -> str:
    """Return a C++ text without comments, with a number for each identifier that it declares.

    What the headers declare keeps its name: functions, types, pipes, layouts.
    """
    declared = {name for pair in _DECLARED.findall(text) for name in pair}
    numbers: dict[str, str] = {}
    parts: list[str] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token.startswith("//") or token.isspace():
            continue
        if token in declared:
            token = numbers.setdefault(token, f"@{len(numbers)}")
        parts.append(token)
    return " ".join(parts)


def renamed(like: Function, function: Function) -> dict[str, str]:
    """Return the new names of the parameters that ``like`` names in reports."""
    if like is function:
        return {}
    return {a.name: b.name for a, b in zip(like.params, function.params, strict=True)}


def _is_alike(a: Function, b: Function) -> bool:
    return structural_equal(a, b, enable_auto_mapping=True)


def _launch_tensors(
    function: Function, shapes: Mapping[Var, tuple[int | str, ...]]
) -> list[LaunchTensor | None]:
    """Return for each parameter its tensor, None for a scalar; see `launcher_source`.

    The list is empty, so that nothing is checked, if there are too many.
    """
    found: list[LaunchTensor | None] = []
    for param in function.params:
        kind = param.type
        if not isinstance(kind, TensorType):
            found.append(None)
            continue
        shape = shapes[param] if kind.tensor_view is None else None
        found.append(LaunchTensor(param.name, kind.dtype.bytes, shape))
    return found if len(found) <= MAX_CHECKED_TENSORS else []
