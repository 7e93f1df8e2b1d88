"""The names and forms of the task runtime's C++ interface that both texts of host functions use.

Owns what element types, directions and cores are called there, and forms of C++ that do not depend
on what is written. Does not know programs: `device` writes for the device, `native` for this
machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pypto._src.dtypes import DataType
from pypto._src.emit.writer import Names
from pypto._src.ir.enums import CoreType, ParamDirection

DTYPES: Final = {
    DataType.FP32: "FLOAT32",
    DataType.FP16: "FLOAT16",
    DataType.INT32: "INT32",
    DataType.INT16: "INT16",
    DataType.INT8: "INT8",
    DataType.UINT8: "UINT8",
    DataType.BF16: "BFLOAT16",
    DataType.INT64: "INT64",
    DataType.UINT64: "UINT64",
    DataType.UINT16: "UINT16",
    DataType.UINT32: "UINT32",
    DataType.FP64: "FLOAT64",
    DataType.BOOL: "BOOL",
    DataType.FP8E4M3FN: "FLOAT8_E4M3FN",
    DataType.FP8E5M2: "FLOAT8_E5M2",
}
"""The runtime's element types, in the order of their numbers there."""

ON_DEVICE: Final = frozenset(list(DTYPES)[:9])
"""The element types that the device's runtime has, too."""

MAKE_PARAM: Final = {
    ParamDirection.In: "make_input_param",
    ParamDirection.Out: "make_output_param",
    ParamDirection.InOut: "make_inout_param",
}
WORKERS: Final = {
    CoreType.VECTOR: "PTO2_WORKER_VECTOR",
    CoreType.CUBE: "PTO2_WORKER_CUBE",
}
WORDS: Final = frozenset({"rt", "arg_count", "Tensor", "PTOParam", "DataType"})
"""Names that the runtime declares, which no variable may have."""


def assign_together(
    pairs: Sequence[tuple[str, str, str]], names: Names, line: Callable[[str], None]
) -> None:
    """Write parallel assignments of (C++ type, variable, value): all values are read first.

    Assignments that change nothing are left out.
    """
    changed = [pair for pair in pairs if pair[1] != pair[2]]
    if len(changed) == 1:
        _, name, text = changed[0]
        line(f"{name} = {text};")
        return
    later: list[str] = []
    for kind, name, text in changed:
        new = names.fresh(f"{name}_next")
        line(f"{kind} {new} = {text};")
        later.append(f"{name} = {new};")
    for text in later:
        line(text)
