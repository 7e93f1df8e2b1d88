"""One kernel on its way to C++: what the parts of the generator share while they write it.

Owns the names, the memory of tensors, the texts of values, and the lines of the body with the
comments that name the user's. Does not know statements, ops and the lines of the prologue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.emit.cpp.names import CodeContext
from pypto._src.emit.cpp.options import CppOptions
from pypto._src.emit.cpp.prescan import Facts
from pypto._src.emit.cpp.scalar_exprs import ScalarText
from pypto._src.emit.cpp.tensors import Choices, Regions, TensorRef
from pypto._src.emit.cpp.types import TypeConverter
from pypto._src.emit.writer import CodeEmitter, base_name, comment_text, source_text
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import BinaryExpr, Expr, MakeTuple, Var
from pypto._src.ir.stmts import Function, Stmt
from pypto._src.ir.types import Type

if TYPE_CHECKING:
    from pypto._src.emit.cpp.scalar_folding import Sharing
    from pypto._src.emit.cpp.value_ranges import Ranges


class Body(CodeEmitter):
    """The lines of the body; the first of each source line follows a comment that names it."""

    def __init__(self, comments: bool, texts: bool) -> None:
        super().__init__(1)
        self._comments = comments
        self._texts = texts  # comments include the text of the source line
        self.span = UNKNOWN_SPAN  # the span of the lines that follow
        self._file = self._shown = ""
        self._line = -1
        self._source = self._named = ""  # the comment for it, and the last comment written
        self._is_due = False  # a comment precedes the next line

    def note(self, span: Span) -> None:
        """Set the source span of the lines that follow."""
        self.span = span
        line, file = span.begin_line, span.filename
        if line == self._line and file == self._file:
            return
        if line <= 0 or not self._comments:
            return
        if file != self._file:
            self._file, self._shown = file, base_name(file)
        self._line = line
        source = f"{self._shown}:{line}"
        if self._texts:
            text = source_text(span)
            source = f"{source}: {text}" if text else source
        source = comment_text(source)
        self._source = source
        self._is_due = source != self._named

    def end_notes(self) -> None:
        """Make the lines that follow belong to no source span."""
        self._is_due = False

    def emit_line(self, line: str = "") -> None:
        """Append a line, after a comment if its source line differs from the last one's."""
        if self._is_due and line != "}":
            self._is_due = False
            self._named = self._source
            self._lines.append(f"{self._indent}// {self._source}")
        self._lines.append(self._indent + line if line else "")

    def emit_lines(self, lines: Iterable[str]) -> None:
        """Append several lines."""
        for line in lines:
            if self._is_due or not line:
                self.emit_line(line)
            else:
                self._lines.append(self._indent + line)


class Kernel:
    """The state of the generator for one function."""

    def __init__(
        self,
        function: Function,
        options: CppOptions,
        comments: bool,
        facts: Facts,
        choices: Choices,
        sharing: Sharing | None,
    ) -> None:
        self.function = function
        self.options = options
        self.sharing = sharing
        self.used = facts.used
        self.tiles = facts.tiles
        self.choices = choices
        self.types = TypeConverter()
        self.context = CodeContext()
        self.body = Body(comments, options.source_lines)
        shared = None
        if sharing is not None:
            shared = partial(_shared, sharing, self.context, self.body)
        self.scalars = ScalarText(self.context.get_var_name, shared, checked=True)
        self.helpers = self.scalars.helpers
        self.refs: dict[str, TensorRef] = {}  # by the name that a tensor is registered under
        self.regions = Regions(self.context.fresh)
        self.constants: dict[Var, Expr] = {}  # scalars that folding found to be constant
        self.profile = ""  # name of the pointer to the counters
        self.dead: list[Stmt] = []  # bodies that never run

    @cached_property
    def ranges(self) -> Ranges:
        """The ranges of scalars, made on first use: a kernel that defines no scalars needs none."""
        from pypto._src.emit.cpp.value_ranges import Ranges

        return Ranges()

    def name(self, var: Var) -> str:
        """Return the C++ name of a tile or scalar variable."""
        return self.context.get_var_name(var)

    def ref(self, value: Expr) -> TensorRef:
        """Return the memory that a tensor expression denotes."""
        ref = self.refs.get(self.context.given.get(value, ""))
        if ref is None:
            raise EmitError("a kernel's tensor is not one of its parameters", value.span)
        return ref

    def same_tensor(self, var: Var, value: Expr) -> None:
        """Make ``var`` another name of the tensor ``value``: its object, and so its pointer."""
        assert isinstance(value, Var)
        self.ref(value)
        self.context.register_var(var, self.context.get_var_name(value))

    def new_tensor(self, var: Var, name: str, ref: TensorRef) -> None:
        """Register ``var`` as a tensor that begins at a new pointer."""
        self.context.register_var(var, name)
        self.context.register_pointer(name, ref.pointer)
        self.refs[name] = ref

    def value(self, expr: Expr) -> str:
        """Return the text of a tile or scalar operand; "" for tensors and tuples."""
        if expr.type.__class__ is TensorType or expr.__class__ is MakeTuple:
            return ""
        return self.scalar(expr)

    def operands(self, exprs: Sequence[Expr]) -> list[str]:
        """Return the texts of operands, as `value` does; most of them are tiles with a name."""
        texts: list[str] = []
        for expr in exprs:
            kind = expr.type.__class__
            if kind is TileType:
                texts.append(self.context.given.get(expr) or self.scalar(expr))
            elif kind is TensorType or expr.__class__ is MakeTuple:
                texts.append("")
            else:
                texts.append(self.scalar(expr))
        return texts

    def scalar(self, expr: Expr, parent: int = 0) -> str:
        """Return the text of a scalar, in parentheses if it binds less tightly than ``parent``."""
        if self.options.fold_constants:
            from pypto._src.emit.cpp.scalar_folding import folded

            expr = folded(expr, self.constants)
        return self.scalars.text(expr, parent)

    def folded(self, expr: Expr) -> Expr:
        """Return ``expr`` with its constant parts folded, if folding is enabled."""
        from pypto._src.emit.cpp.scalar_folding import folded

        return folded(expr, self.constants) if self.options.fold_constants else expr

    def enter_block(self) -> None:
        """Indent what follows; names of shared expressions are in scope until `leave_block`."""
        self.body.increase_indent()
        if self.sharing is not None:
            self.sharing.enter()

    def leave_block(self) -> None:
        """End the innermost block."""
        self.body.decrease_indent()
        if self.sharing is not None:
            self.sharing.leave()


def _shared(
    sharing: Sharing, context: CodeContext, body: Body, expr: BinaryExpr, text: str
) -> str | None:
    """Return the text that replaces an expression; see `ScalarText`."""

    def define() -> str:
        name = context.fresh("index")
        body.emit_line(f"int64_t {name} = {text};")
        return name

    return sharing.see(expr, define)


def space_of(kind: Type) -> MemorySpace:
    """Return the memory that a tile of type ``kind`` lives in."""
    memref = kind.memref if isinstance(kind, TileType) else None
    return MemorySpace.Vec if memref is None else memref.memory_space_
