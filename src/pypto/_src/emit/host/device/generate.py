"""C++ of a host function for the device's task runtime: tensors, loops, a task per kernel call.

The runtime derives the order of tasks from the tensors that they read and write, so the text has no
synchronisation. Sizes known only at run time are argument words after the parameters: of the
entry, of host functions that it calls, and of each task whose kernel has such sizes. What this
form cannot express is rejected at its line in the user's source.

Owns the file: its head, the entry, and the functions that the entry calls. The parts are
`host_state` (what they share), `entry` (the arguments), `statements`, `control_flow`, `tensors`,
`tasks` and `types`; `host.tensor_aliases` knows the program, not the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from pypto._src.emit.cpp.helper_functions import SCALAR_HELPERS
from pypto._src.emit.host.device.entry import Arguments
from pypto._src.emit.host.device.host_state import File, Handle, Host
from pypto._src.emit.host.device.statements import Statements
from pypto._src.emit.host.device.types import scalar_type
from pypto._src.emit.writer import CodeEmitter
from pypto._src.errors import EmitError, PyptoError
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.enums import CoreType
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.traversal.symbolic_dims import dimension_vars
from pypto._src.records import NamedTuple

_VISIBLE: Final = '__attribute__((visibility("default")))'

_HEAD: Final = (
    "#include <stddef.h>",
    "#include <stdint.h>",
    "#include <stdio.h>",
    "",
    '#include "pto_orchestration_api.h"',
    "",
)
_FLOAT_TO_U64: Final = (
    "static inline uint64_t float_to_u64(float value)",
    "{",
    "    union { uint64_t word; float value; } bits;",
    "    bits.word = 0;",
    "    bits.value = value;",
    "    return bits.word;",
    "}",
    "",
)
_CHIP_SLUGS: Final = frozenset(
    {"emit-op", "emit-read", "emit-return", "emit-tensor-merge", "emit-dtype"}
)
_CHIP_ONLY: Final = (
    "only the C++ for the chip's runtime cannot express this; on the CPU the program runs as it is"
)


class OrchestrationResult(NamedTuple):
    """The text of a host function, and the kernels that it launches."""

    code: str
    func_name_to_id: Mapping[str, int]
    func_name_to_core_type: Mapping[str, CoreType]


def generate_orchestration(program: Program, func: Function) -> OrchestrationResult:
    """Return the C++ text of host function ``func`` of ``program``.

    Both have gone through the passes: SSA form, each call in its own statement.

    Raises:
        EmitError: ``func`` is a kernel, calls what the program does not have, or has a part that
            the runtime's interface cannot express; the error points at the user's line.
    """
    if role(func) is not Role.HOST:
        raise EmitError(
            f"function {func.name!r} is a kernel, not an orchestration",
            func.span,
            hint="mark it with @pl.function(type=pl.FunctionType.Orchestration)",
            slug="emit-orchestration",
        )
    file = File(program)
    file.path.append(func.name)
    try:
        host = Host(file, func)
        arguments = Arguments(host)
        arguments.write()
        _write_body(host)
    except PyptoError as error:
        error = error.at(func.span)
        raise (error.noted(_CHIP_ONLY) if error.slug in _CHIP_SLUGS else error) from None
    return OrchestrationResult(_text(host, arguments), file.ids, file.cores)


def _write_body(host: Host) -> None:
    Statements(host, partial(_called, host.file)).write(host.function.body)


def _called(file: File, function: Function) -> str:
    """Write a host function that another one calls, once; return its C++ name."""
    known = file.functions.get(function.name)
    if known is not None:
        return known
    if function.name in file.path:
        raise EmitError(f"{function.name!r} calls itself", hint="write a loop")
    file.path.append(function.name)
    host = Host(file, function)
    params = _parameters(host)
    _write_body(host)
    file.path.pop()
    file.helpers |= host.scalars.helpers
    name = file.functions[function.name] = file.names.fresh(f"host_{function.name}")
    file.text.emit_line(f"static void {name}({', '.join(params)})")
    file.text.emit_line("{")
    file.text.append(host.body)
    file.text.emit_lines(("}", ""))
    return name


def _parameters(host: Host) -> list[str]:
    """Return the parameters of a called function, followed by the sizes that it is passed."""
    params = ["PTO2Runtime* rt"]
    for param in host.function.params:
        if isinstance(param.type, TensorType):
            name = host.names.fresh(param.name)
            host.handles[param] = Handle(name)
            params.append(f"Tensor& {name}")
        else:
            params.append(f"{scalar_type(param)} {host.names.register(param)}")
    for var in dimension_vars(host.function):
        params.append(f"{scalar_type(var)} {host.names.register(var)}")
    return params


def _text(host: Host, arguments: Arguments) -> str:
    """Return the file whose entry is ``host``."""
    out = CodeEmitter()
    out.emit_lines((*_HEAD, *arguments.defines, "", *_FLOAT_TO_U64))
    for name in sorted(host.scalars.helpers | host.file.helpers):
        out.emit_lines(line.replace("__aicore__ ", "") for line in (*SCALAR_HELPERS[name], ""))
    out.append(host.file.text)
    out.emit_lines(
        (
            'extern "C" {',
            "",
            _VISIBLE,
            "PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t* args, int arg_count)",
            "{",
            "    (void)args;",
            "    (void)arg_count;",
            "    return PTO2OrchestrationConfig{",
            f"        .expected_arg_count = {len(arguments.defines)},",
            "    };",
            "}",
            "",
            _VISIBLE,
            "void aicpu_orchestration_entry(PTO2Runtime* rt, uint64_t* args, int arg_count)",
            "{",
            "    (void)arg_count;",
        )
    )
    out.append(arguments.unpack)
    out.emit_line()
    out.append(host.body)
    out.emit_lines(("}", "", '}  // extern "C"'))
    return out.get_code()
