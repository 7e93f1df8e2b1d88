"""State of host functions while they become C++, shared by the orchestration's generator.

Owns the names, what each tensor and scalar variable denotes, and the lines of a body with the
comments that name the user's lines. Does not know statements, calls and the entry's arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from pypto._src.emit.cpp.names import RESERVED
from pypto._src.emit.cpp.scalar_exprs import ScalarText
from pypto._src.emit.host.device.types import scalar_type
from pypto._src.emit.host.runtime_api import WORDS
from pypto._src.emit.host.tensor_aliases import Choices, Results, tensor_roots, written_roots
from pypto._src.emit.writer import CodeEmitter, Names, source_comment
from pypto._src.errors import EmitError
from pypto._src.ir.enums import CoreType
from pypto._src.ir.exprs import Expr, TupleGetItemExpr, Var, const_value
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.stmts import Function, Program, Stmt
from pypto._src.records import NamedTuple

_RESERVED: Final = RESERVED | WORDS | {"float_to_u64"}


class Handle(NamedTuple):
    """A tensor of the runtime: the C++ object, and where the host may read its elements."""

    text: str
    pointer: str = ""  # typed pointer, "" where the elements exist on the device only
    base: str = ""  # distance in elements of the first element from the pointer, "" for none
    strides: tuple[str, ...] = ()
    level: int = 0  # the deepest nesting in loops and branches at which its object is declared
    is_choice: bool = False  # the object that a pointer currently points to

    @property
    def alone(self) -> str:
        """The text of the tensor as an expression by itself."""
        return self.text[1:-1] if self.is_choice else self.text

    @property
    def address(self) -> str:
        """The text of the object's address."""
        return self.text[2:-1] if self.is_choice else f"&{self.text}"


class File:
    """The numbering and text that the functions of one file share."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.results = Results(program)
        self.ids: dict[str, int] = {}
        self.cores: dict[str, CoreType] = {}
        self.tasks = 0
        self.names = Names(_RESERVED)  # of functions
        self.functions: dict[str, str] = {}  # C++ names of the host functions that are called
        self.text = CodeEmitter()  # of those functions, callees first
        self.helpers: dict[str, None] = {}
        self.path: list[str] = []  # the functions being written, the entry first


class Host:
    """The state of the generator for one function."""

    def __init__(self, file: File, function: Function) -> None:
        self.file = file
        self.function = function
        self.names = Names(_RESERVED)
        self.scalars = ScalarText(partial(_scalar_name, self.names))
        self.handles: dict[Var, Handle] = {}
        self.tuples: dict[Var, tuple[Handle, ...]] = {}
        self.roots = tensor_roots(function, file.results)
        self.choices = Choices(function, file.results)
        self.written = written_roots(function, file.program, self.roots, self.choices)
        self.types: dict[str, str] = {}  # of the variables of the text that may be assigned
        self.level = 0  # the nesting of the next line in loops and branches
        self.body = CodeEmitter(1)
        self._line: str | None = None

    def name(self, var: Var) -> str:
        """Return the C++ name of a scalar."""
        return _scalar_name(self.names, var)

    def handle(self, value: Expr) -> Handle:
        """Return the handle of a tensor expression."""
        if isinstance(value, Var) and value in self.handles:
            return self.handles[value]
        if isinstance(value, TupleGetItemExpr) and isinstance(value.tuple, Var):
            items = self.tuples.get(value.tuple)
            if items is not None:
                return items[value.index]
        raise EmitError("this tensor is not defined in the orchestration", value.span)

    def sizes(self, values: Iterable[Expr]) -> list[str]:
        """Return the entries of a list of ``uint64_t``."""
        return [self._size(value) for value in values]

    def _size(self, value: Expr) -> str:
        known = const_value(value)
        if known is not None:
            return str(known)
        return f"static_cast<uint64_t>({self.scalars.text(value)})"

    def declare_array(self, out: CodeEmitter, name: str, values: Sequence[str]) -> str:
        """Write an array of ``uint64_t``; return its name, which is derived from ``name``."""
        name = self.names.fresh(name)
        out.emit_line(f"uint64_t {name}[{len(values)}] = {{{', '.join(values)}}};")
        return name

    def declare_scalar(self, var: Var, text: str | None = None) -> None:
        """Write the definition of a scalar variable; without ``text`` it has no value yet."""
        name = self.names.register(var)
        kind = self.types[name] = scalar_type(var)
        self.body.emit_line(f"{kind} {name};" if text is None else f"{kind} {name} = {text};")

    def comment(self, stmt: Stmt) -> None:
        """Write a comment with the source line of the lines that follow, unless it is unchanged."""
        text = source_comment(stmt.span)
        if text is not None and text != self._line:
            self.body.emit_line(f"// {text}")
            self._line = text


def _scalar_name(names: Names, var: Var) -> str:
    name = names.get(var)
    if name is None:
        raise EmitError(f"the value of {var.name!r} is not known on the host", var.span)
    return name


def source_name(value: Expr) -> str:
    """Return the name of a variable in the user's source, without what SSA form appended."""
    if not isinstance(value, Var):
        return "a tensor"
    name = user_name(value)
    return re.sub(r"_\d+$", "", name) if name == value.name else name
