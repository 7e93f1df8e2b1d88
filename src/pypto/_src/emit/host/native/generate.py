"""C++ of host functions for the task runtime on this machine: all that the language permits.

Owns the file: which functions it has, in which order, and how the runtime enters it. The form is
that of ``emit.host.device``, which writes for the device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.emit.host.native.host_function import TAKEN, HostFile, HostFunction
from pypto._src.emit.host.native.scalar_exprs import from_word, host_type, to_word
from pypto._src.emit.host.native.types import element_dtype, leaf_types, value_type
from pypto._src.emit.writer import Names
from pypto._src.errors import EmitError, PyptoError
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Call, ConstInt
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.traversal.queries import functions_called
from pypto._src.ir.types import ScalarType
from pypto._src.records import NamedTuple

ENTRY_SYMBOL: Final = "pypto_enter"


class HostText(NamedTuple):
    """The C++ of a host function and of those that it calls."""

    code: str
    kernels: tuple[str, ...]  # by the number that tasks use
    ops: tuple[Call, ...]  # evaluated in Python, by their number
    spans: tuple[Span, ...]  # span in the user's source of each line of the text

    def span(self, line: int) -> Span:
        """Return the user's span of a line of the text, counted from 1."""
        return self.spans[line - 1] if 0 < line <= len(self.spans) else UNKNOWN_SPAN


def host_text(
    program: Program,
    entry: Function,
    results: Mapping[str, Sequence[int]],
    only_written: Mapping[str, Sequence[int]] | None = None,
) -> HostText:
    """Return the C++ text of host function ``entry`` of ``program``, after the passes.

    Its arguments are words: one for each parameter, then for each tensor parameter the sizes of
    its dimensions that are not constant.

    Args:
        program: The program, after the passes.
        entry: The function that is called.
        results: For each kernel, which of its parameters its results are.
        only_written: For each kernel, the parameters that it writes and does not read: they do not
            make iterations of a parallel loop wait for each other. None: all parameters do.

    Raises:
        EmitError: something has no form here; the error points at the user's line.
    """
    file = HostFile(program, results, only_written or {})
    hosts = _in_order(program, entry)
    for line in (
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        '#include "pto_orchestration_api.h"',
    ):
        file.line(line)
    for function in hosts:
        file.functions[function.name] = file.names.fresh(f"host_{function.name}")
        file.line()
        try:
            HostFunction(file, function).write()
        except PyptoError as error:
            raise error.at(function.span) from None
    file.span = entry.span
    _write_entry(file, entry)
    return HostText(file.out.get_code(), tuple(file.kernels), tuple(file.ops), tuple(file.spans))


def _in_order(program: Program, entry: Function) -> list[Function]:
    """Return the host functions reachable from the entry, callees first."""
    done: dict[str, Function] = {}
    path: list[str] = []
    pending: list[tuple[Function, bool]] = [(entry, False)]
    while pending:
        function, is_finished = pending.pop()
        if is_finished:
            path.pop()
            done[function.name] = function
            continue
        if function.name in done:
            continue
        if function.name in path:
            raise EmitError(f"{function.name!r} calls itself", function.span)
        path.append(function.name)
        pending.append((function, True))
        for name in functions_called(function):
            callee = program.get_function(name)
            if callee is not None and role(callee) is Role.HOST:
                pending.append((callee, False))
    return list(done.values())


def _write_entry(file: HostFile, entry: Function) -> None:
    """Write the function by which the runtime enters the file: words in, results out."""
    file.line()
    file.line("static void entry(PTO2Runtime* rt, uint64_t* args, int arg_count)")
    file.line("{")
    file.out.increase_indent()
    file.line("(void)arg_count;")
    names = Names(TAKEN | {"entry", "args", *file.functions.values()})
    passed = ["__LINE__", "rt"]
    sizes = len(entry.params)
    for index, param in enumerate(entry.params):
        name = names.fresh(param.name)
        passed.append(name)
        if isinstance(param.type, TensorType):
            shape: list[str] = []
            for dim in param.type.shape:
                known = dim.value if isinstance(dim, ConstInt) and dim.value >= 0 else None
                shape.append(f"args[{sizes}]" if known is None else str(known))
                sizes += known is None
            rank = len(shape)
            values = ", ".join(shape) or "0"
            file.line(f"uint64_t {name}_shapes[{max(rank, 1)}] = {{{values}}};")
            pointer = f"reinterpret_cast<void*>(args[{index}])"
            dtype = f"DataType::{element_dtype(param.type.dtype)}"
            tensor = f"{pointer}, {name}_shapes, {rank}, {dtype}"
            file.line(f"Tensor {name} = make_tensor_external({tensor});")
        else:
            assert isinstance(param.type, ScalarType)
            kind = param.type.dtype
            file.line(f"{host_type(kind)} {name} = {from_word(kind, f'args[{index}]')};")
    kinds = leaf_types(entry.return_types)
    results: list[str] = []
    for index, kind in enumerate(kinds):
        name = names.fresh(f"result_{index}")
        results.append(name)
        file.line(f"{value_type(kind)} {name}{{}};")
    file.line(f"{file.functions[entry.name]}({', '.join([*passed, *results])});")
    for name, kind in zip(results, kinds, strict=True):
        if isinstance(kind, ScalarType):
            file.line(f"pto2_rt_return_word(rt, {to_word(kind.dtype, name)});")
        else:
            file.line(f"pto2_rt_return(rt, {name});")
    file.out.decrease_indent()
    file.line("}")
    file.line()
    export = 'extern "C" __attribute__((visibility("default")))'
    file.line(f"{export} int {ENTRY_SYMBOL}(PTO2Runtime* rt, uint64_t* args, int count)")
    file.line("{")
    file.line("    return pto2_enter(rt, args, count, entry);")
    file.line("}")
