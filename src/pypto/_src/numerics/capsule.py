"""A search of `bisect` as a file: program, arguments and reference, to be run again anywhere.

A capsule is data only: an ``.npz`` file of arrays, which are read without pickle. The programs are
the bytes of `ir.serialize`, and all else that is not an array is JSON.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import MEMBERS
from pypto._src.errors import CallError
from pypto._src.ir.serialization.serialize import deserialize, serialize
from pypto._src.ir.stmts import Program
from pypto._src.lazy import lazy_module
from pypto._src.numerics.bisect import Difference, against_program, against_values
from pypto._src.numerics.compare import element_type
from pypto._src.run.arguments.array_views import is_array

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

_VERSION: Final = 1
_INPUT, _VALUE = "input/", "value/"


@dataclass(frozen=True)
class Search:
    """The inputs of a search by `bisect`."""

    program: Program
    arguments: Mapping[str, Any]
    """The arguments by name, in the order of the parameters."""
    reference: Program | Mapping[str, Any] | None
    """Another version of the program, arrays by name, or None: the program itself in float64."""
    bound: float
    entry: str | None = None

    def run(self) -> Difference | None:
        """Return the first statement whose value differs from the reference's.

        Raises:
            PyptoError: one of the programs cannot be run.
        """
        args, reference = list(self.arguments.values()), self.reference
        if reference is None or isinstance(reference, Program):
            return against_program(
                self.program,
                reference or self.program,
                args,
                entry=self.entry,
                bound=self.bound,
                is_exact=reference is None,
            )
        return against_values(self.program, reference, args, entry=self.entry, bound=self.bound)

    def save(self, path: Path) -> None:
        """Write the capsule.

        Raises:
            OSError: the file cannot be written.
        """
        arrays: dict[str, Any] = {"program": _of_bytes(serialize(self.program))}
        values = {f"{_INPUT}{name}": value for name, value in self.arguments.items()}
        if isinstance(self.reference, Program):
            arrays["reference"] = _of_bytes(serialize(self.reference))
        elif self.reference is not None:
            values |= {f"{_VALUE}{name}": value for name, value in self.reference.items()}
        dtypes: dict[str, str] = {}
        numbers: dict[str, Any] = {}
        for name, value in values.items():
            if is_array(value):
                arrays[name] = value
                dtype = element_type(value)
                dtypes[name] = value.dtype.str if dtype is None else dtype.member
            else:
                numbers[name] = value.item() if hasattr(value, "item") else value
        facts = {
            "pypto": "capsule",
            "version": _VERSION,
            "entry": self.entry,
            "bound": self.bound,
            "names": list(values),
            "dtypes": dtypes,
            "numbers": numbers,
        }
        arrays["json"] = _of_bytes(json.dumps(facts).encode())
        np.savez(path, **arrays)

    @staticmethod
    def load(path: Path) -> Search:
        """Return the search in a capsule; nothing in it is executed.

        Raises:
            PyptoError: the file is not a capsule, or is damaged.
            OSError: it cannot be read.
        """
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as found:
                arrays = {name: found[name] for name in found.files}
            facts = json.loads(arrays["json"].tobytes())
            if facts["pypto"] != "capsule" or facts["version"] != _VERSION:
                raise ValueError("another version")
            values = {
                name: _as_type(arrays[name], facts["dtypes"][name])
                if name in facts["dtypes"]
                else facts["numbers"][name]
                for name in facts["names"]
            }
            bound, entry = float(facts["bound"]), facts["entry"]
            program = deserialize(arrays["program"].tobytes())
            other = deserialize(arrays["reference"].tobytes()) if "reference" in arrays else None
        except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            what = f"{path} is not a capsule that this version reads"
            hint = f"pypto bisect FILE --against REF.py -o {path}"
            raise CallError(what, hint=hint, slug="file") from error
        assert isinstance(program, Program)
        named = {n.removeprefix(_VALUE): v for n, v in values.items() if n.startswith(_VALUE)}
        inputs = {n.removeprefix(_INPUT): v for n, v in values.items() if n.startswith(_INPUT)}
        reference = other if isinstance(other, Program) else named or None
        return Search(program, inputs, reference, bound, entry)


def _of_bytes(data: bytes) -> Any:
    return np.frombuffer(data, np.uint8)


def _as_type(array: Any, name: str) -> Any:
    """Return an array with its element type: types that NumPy lacks are read as bytes."""
    dtype = MEMBERS[name].numpy if name in MEMBERS else np.dtype(name)
    return np.ascontiguousarray(array).view(dtype).reshape(array.shape)
