"""The state of one function being parsed, shared by the handlers of all syntax forms.

Owns names, the statements so far, errors and Out parameters. Knows no syntax: the tables of
handlers are passed in, so that statements, expressions and calls need not import each other.
"""

from __future__ import annotations

import ast
from ast import Attribute, Name
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pypto._src.diagnostics import Label, Span
from pypto._src.dtypes import DataType, bounds
from pypto._src.errors import (
    OpError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    PyptoError,
    warn,
)
from pypto._src.frontend.source.python_names import MISSING, Environment, items_of
from pypto._src.frontend.source.source import Source
from pypto._src.frontend.source.syntax_tree import (
    assigned_names,
    bound_names,
    names_changed_in_part,
    nodes_in,
)
from pypto._src.frontend.state.errors import Errors, as_parser_error, note_span
from pypto._src.frontend.state.messages import describe, first_value, store_line
from pypto._src.frontend.state.scalar_promotion import number
from pypto._src.frontend.state.scope import (
    BROKEN,
    Cascade,
    LoadFirst,
    Names,
    reassigned,
    same_value_type,
)
from pypto._src.frontend.state.signatures import Functions, Swapped
from pypto._src.ir.array_types import (
    MemRef,
    ShapedType,
    TensorType,
    TileType,
    same_dims,
    static_shape,
    valid_part,
)
from pypto._src.ir.enums import FunctionType
from pypto._src.ir.exprs import Call, Expr, MakeTuple, Var
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Stmt, checked_assign
from pypto._src.ir.types import ScalarType, TupleType, Type
from pypto._src.ops import tensor
from pypto._src.ops.unified import unified

if TYPE_CHECKING:
    from pypto._src.frontend.state.region import Region
    from pypto._src.frontend.state.windows import Window

TERMINATORS: Final = frozenset({ast.Return, ast.Break, ast.Continue})


Form: TypeAlias = "Callable[[Context, Any], Any]"


class Forms(dict[type, Form]):
    """The handlers by syntax class, and one for all others: what is not part of the language.

    ``later`` has functions that import a handler when a node of its class is first met.
    """

    def __init__(
        self,
        forms: Mapping[type, Form],
        unsupported: Form,
        later: Mapping[type, Callable[[], Form]] = MappingProxyType({}),
    ) -> None:
        super().__init__(forms)
        self.unsupported = unsupported
        self.later = later

    def __missing__(self, key: type) -> Form:
        load = self.later.get(key)
        if load is None:
            return self.unsupported
        self[key] = form = load()
        return form


class Context:
    """One function being parsed."""

    __slots__ = (
        "_assigned",
        "_changed_in_part",
        "anew",
        "around",
        "block",
        "broken",
        "called_at",
        "constants",
        "declared",
        "environment",
        "errors",
        "evaluated",
        "expanding",
        "expansions",
        "forms",
        "func_type",
        "functions",
        "has_tile_ops",
        "in_trial",
        "inputs",
        "is_host",
        "is_specialised",
        "launches",
        "live",
        "loops",
        "made_here",
        "manual_scope",
        "memrefs",
        "names",
        "node",
        "on_tiles",
        "origins",
        "outer",
        "outputs",
        "parts",
        "region",
        "reshaped",
        "returns",
        "self_name",
        "source",
        "span",
        "stmt_forms",
        "strict_ssa",
        "swapped",
        "transposed",
        "unplaced",
        "wanted",
        "windows",
        "written",
        "zero_divisions",
    )  # fmt: skip

    def __init__(
        self,
        source: Source,
        node: ast.FunctionDef,
        environment: Environment,
        forms: Mapping[type, Form],
        stmt_forms: Mapping[type, Form],
        functions: Functions,
        errors: Errors,
        *,
        strict_ssa: bool = False,
        func_type: FunctionType = FunctionType.Opaque,
    ) -> None:
        self.source = source
        self.span = source.span
        self.node = node
        self.environment = environment
        self.forms = forms
        self.stmt_forms = stmt_forms
        self.functions = functions
        self.errors = errors
        self.strict_ssa = strict_ssa
        self.func_type = func_type
        self.is_host = False  # True if it launches entries, on one device or several
        self.is_specialised = False  # True if branches that the constants exclude were removed
        self.around: Context | None = None  # the function into which this one is expanded
        self.called_at: Span | None = None  # the call in that function's text that led here
        self.on_tiles: bool | None = None  # True if the function computes with tiles
        self.region: Region | None = None  # the region that is being parsed
        self.anew: list[str] = []  # names that each copy of an unrolled loop assigns
        self.manual_scope: Span | None = None  # the manual scope of tasks around it
        self.made_here: set[Var] = set()  # variables of tensors made in this function
        self.reshaped: set[Var] = set()  # variables of reshaped views of a tensor
        self.transposed: set[Expr] = set()  # copies of tensors with two dimensions swapped
        self.launches: bool | None = None  # see `launches_regions`
        self.live: Any = None  # which names are read after regions, once that is needed
        self.names = Names()
        self.outer: dict[str, Any] = {}  # names of the environment, looked up once
        self.block: list[Stmt] = []
        self.self_name = ""  # the name of the first parameter of a method
        self.memrefs: dict[Any, MemRef] = {}
        self.declared: dict[str, Type] = {}  # `x: TYPE` without a value
        self.loops: list[Any] = []
        self.wanted: tuple[Type, ...] | None = None  # declared result types
        self.returns: list[tuple[tuple[Expr, ...], Span]] = []
        self.windows: dict[Expr, Window] = {}  # by the variable of this rank's part
        self.origins: dict[Expr, Var] = {}  # the Out or InOut parameter whose buffer a value is
        self.parts: dict[Expr, list[Var | None]] = {}  # the same for each part of a tuple
        self.outputs: dict[str, Var] = {}
        # Tensor parameters without direction, and the first call that writes to one anyway.
        self.inputs: dict[Expr, Call | None] = {}
        self.unplaced: list[Call] = []  # calls that may have an operand in a wrong memory
        self.zero_divisions: list[Expr] = []  # integer divisions by zero, which may never run
        self.written: set[Var] = set()
        # Outputs that a call only reads, with the argument that may be meant in their place.
        self.swapped: dict[Var, Swapped] = {}
        self.evaluated: dict[int, Expr] = {}  # by id: calls without a value that were made
        self.expanding: tuple[Any, ...] = ()  # the inline functions being expanded around this one
        self.expansions = 0  # the number of inline expansions so far
        self.constants: dict[Var, int] = {}  # scalars with one value wherever they are read
        self._assigned: Mapping[str, int] | None = None
        self._changed_in_part: set[str] | None = None
        self.has_tile_ops = False  # True once an op on tiles was called
        self.broken = False  # True once a statement was given up
        self.in_trial = False  # True while an expression of a hint is tried

    @property
    def launches_regions(self) -> bool:
        """True if the function has regions, itself or in functions that are inlined into it."""
        home = self.home
        if home.launches is None:
            calls = [node for node in nodes_in(home.node) if isinstance(node, ast.Call)]
            marks = (getattr(home.peek(call.func), "marks_region", False) for call in calls)
            home.launches = any(mark is True for mark in marks)
        return home.launches

    @property
    def home(self) -> Context:
        """The function that is being parsed, into which this one may be expanded."""
        return self if self.around is None else self.around

    @property
    def is_foreign(self) -> bool:
        """True if the text is in another file than the function that is being parsed."""
        return self.source.filename != self.home.source.filename

    def span_at_home(self, node: ast.AST) -> Span:
        """Return the span of a node, or of the call that led to it if its text is foreign."""
        called_at = self.called_at if self.is_foreign else None
        return self.span(node) if called_at is None else called_at

    # ------------------------------------------------------------------ expressions

    def value(self, node: ast.expr) -> Any:
        """Return what an expression means: an IR expression, or a Python object."""
        return self.forms[node.__class__](self, node)

    def expr(self, node: ast.expr, dtype: Any = None) -> Expr:
        """Return an expression as IR; a bare number gets ``dtype`` if that has its value."""
        return self.as_expr(self.value(node), node, dtype)

    def as_expr(self, value: Any, node: ast.expr, dtype: Any = None) -> Expr:
        """Return a value as IR.

        Raises:
            ParserTypeError: it is a Python object without meaning in a kernel.
        """
        if isinstance(value, Expr):
            return value
        if isinstance(value, (int, float)):
            return self.number(value, dtype, node)
        items = items_of(value)
        if items is not None:
            return MakeTuple([self.as_expr(item, node) for item in items], self.span(node))
        raise ParserTypeError(
            f"a value of the kernel was wanted, got {describe(value)}",
            self.span(node),
            hint=self._unquoted(node),
            slug="not-a-value",
        )

    def _unquoted(self, node: ast.expr) -> str | None:
        """Return the text of an expression without quotes around names of values."""
        text, found = self.source.text(node), False
        for item in ast.walk(node):
            name = str(item.value) if isinstance(item, ast.Constant) else ""
            if isinstance(self.names.values.get(name), Expr):
                text, found = text.replace(self.source.text(item), name), True
        return f"write {text}" if found else None

    def number(self, value: float, dtype: Any, node: ast.expr) -> Expr:
        """Return a Python number as a constant.

        Raises:
            ParserTypeError: no constant type can hold it.
        """
        try:
            return number(value, dtype, self.span(node))
        except TypeError as error:
            is_float = isinstance(value, float) or (dtype is not None and dtype.is_float())
            largest = bounds(DataType.FP32 if is_float else DataType.INT64)[value > 0]
            raise ParserTypeError(
                str(error), self.span(node), hint=f"write {largest}", slug="constant-range"
            ) from None

    def scalar(self, node: ast.expr, what: str, *, integer: bool = False) -> Expr:
        """Return an expression that must be a scalar.

        Raises:
            ParserTypeError: it is not one, or not an integer where one is wanted.
        """
        found = self.expr(node)
        kind = found.type
        if isinstance(kind, ScalarType) and (not integer or kind.dtype.is_int()):
            return found
        wanted = "an integer" if integer else "a scalar"
        compared = isinstance(kind, TileType) and isinstance(node, ast.Compare) and not integer
        text = self.source.text(node)
        number = node.value if isinstance(node, ast.Constant) else None
        hint = f"choose by element: pl.sel({text}, if_so, if_not)" if compared else None
        if isinstance(number, float) and number.is_integer():
            hint = f"write {int(number)}"
        elif isinstance(number, float):
            hint = f"write {int(number) + 1}"
        elif isinstance(kind, ScalarType) and number is None:
            hint = f"write pl.cast({text}, pl.INT64)"
        elif isinstance(kind, ShapedType) and not compared and not integer:
            hint = f"take an element: pl.read({text}, [{', '.join(['0'] * len(kind.shape))}])"
        raise ParserTypeError(
            f"{what} is {wanted}, got {describe(found if number is None else number)}",
            self.span(node),
            hint=hint,
            slug="scalar-wanted",
        )

    def peek(self, node: ast.expr) -> Any:
        """Return the object that a name or ``module.name`` names, `MISSING` for anything else."""
        path: list[str] = []
        while isinstance(node, Attribute):
            path.append(node.attr)
            node = node.value
        if not isinstance(node, Name):
            return MISSING
        value = self.names.values.get(node.id, MISSING)
        if value is MISSING:
            value = self.lookup(node.id)
        while path:
            value = self.attribute(value, path.pop())
            if value is MISSING:
                return MISSING
        return value

    def attribute(self, base: Any, name: str) -> Any:
        """Return an attribute of a Python object, `MISSING` if it has none that may be read."""
        if isinstance(base, Expr):
            return MISSING
        reading = self.environment.reading
        if reading is not None and not reading.may_read(base, name):
            return MISSING
        return getattr(base, name, MISSING)

    def is_outside(self, name: str) -> bool:
        """True if nothing in the function binds the name, here or elsewhere."""
        return name not in self.assigned and name not in self.names.lost

    def lookup(self, name: str) -> Any:
        """Return what a name means outside the function, `MISSING` if nothing."""
        value = self.outer.get(name, MISSING)
        if value is MISSING and self.is_outside(name):
            around = self.environment.known
            value = around.get(name, MISSING)
            if value is MISSING:
                value = self.environment.get(name)
            if value is not MISSING:
                self.outer[name] = around[name] = value
        return value

    @property
    def assigned(self) -> Mapping[str, int]:
        """How often the function assigns each of its locals, as Python counts locals."""
        if self._assigned is None:
            self._assigned = assigned_names(self.node.body)
        return self._assigned

    @property
    def changed_in_part(self) -> set[str]:
        """The locals whose values the function may change without assigning to the names."""
        if self._changed_in_part is None:
            self._changed_in_part = names_changed_in_part(self.node.body)
        return self._changed_in_part

    def is_only(self, name: str) -> bool:
        """True if the present assignment to ``name`` is the only one in the function."""
        return self.names.values.get(name, MISSING) is MISSING and self.assigned.get(name) == 1

    def assigned_again(self, nodes: Sequence[ast.stmt]) -> None:
        """Note that statements are parsed more than once, with different values each time."""
        found = dict(self.assigned)
        for name, count in assigned_names(nodes).items():
            found[name] = found.get(name, 0) + count
        self._assigned = found

    def element(self, base: Expr, index: Sequence[Any], node: ast.AST) -> Any:
        """Return one element of a tensor or tile."""
        from pypto._src.ops.unified import Unified

        read: Any = unified("read")
        made: Any = read.build([base, list(index)], {}, self.span(node))
        assert isinstance(read, Unified | OpDef)
        return made

    def known_number(self, value: Any) -> int | None:
        """Return the integer that a value is known to be, None if it is not known."""
        from pypto._src.frontend.state.known_sizes import number_of

        return number_of(value, self.constants)

    def still_there(self, name: str) -> Any:
        """Return what a name that went out of scope still stands for, else `MISSING`.

        The result of a store in a loop or branch is an output, which outlives both.
        """
        if self.loops and self.names.candidates:
            var = self._of_other_branch(name)
            if var is not None:
                return var
        lost = self.names.lost.get(name)
        output = None if lost is None else self.origins.get(lost.value)
        if lost is None or output is None:
            return MISSING
        found = self.names.values.get(output.name, MISSING)
        same = isinstance(found, Var) and self.origins.get(found) is output
        return found if same and same_value_type(found.type, lost.value.type) else MISSING

    def _of_other_branch(self, name: str) -> Var | None:
        """Return a variable of the other branch of an if in a loop, from an earlier iteration."""
        for branch in reversed(self.names.candidates):
            var = branch.get(name)
            if var is not None and self.may_be_unassigned(
                name,
                var,
                "assigned in one branch of an if, and read in the other one: if no iteration "
                "before took the first, it has no value",
                "the loop",
            ):
                self.names.bind(name, var)
                return var
        return None

    def may_be_unassigned(self, name: str, value: Any, why: str, before: str) -> bool:
        """Warn of a variable that some paths do not assign; False if that is not allowed."""
        from pypto._src.ops.new_tiles import unassigned_value

        if self.strict_ssa or not isinstance(value, Var) or value in self.origins:
            return False
        if unassigned_value(value) is None or not self.may_begin(value.type):
            return False
        if value not in self.names.partial:
            self.names.partial.add(value)
            hint = f"write {name} = {first_value(value.type)} before {before}"
            warn(f"{name!r} is {why}", value.span, hint=hint, slug="maybe-unassigned")
        return True

    def may_begin(self, kind: Type) -> bool:
        """True if a variable of a type can exist before its value is computed."""
        if isinstance(kind, TupleType):
            return all(self.may_begin(item) for item in kind.types)
        if isinstance(kind, TensorType):  # kernels cannot create tensors
            return self.region is None and self.func_type is not FunctionType.InCore
        return all(
            self.names.values.get(size.name) is size
            for size in valid_part(kind) or ()
            if isinstance(size, Var)
        )

    # ------------------------------------------------------------------- statements

    def run(self, nodes: Sequence[ast.stmt]) -> None:
        """Parse statements in order; after an error go on with the next statement."""
        forms, block, level = self.stmt_forms, self.block, self.names.level
        journal = self.names.journal
        for index, node in enumerate(nodes):
            mark, before = len(journal), block[-1] if block else None
            try:
                forms[node.__class__](self, node)
            except PyptoError as error:
                self.recover(node, level, mark, block)
                self.report(error, node)
            except Cascade:
                self.recover(node, level, mark, block)
            except LoadFirst as early:
                if early.names is not self.names or early.level != level:
                    raise
                while self.names.level > level:
                    self.names.close(mark)
                self.block = block
                from pypto._src.frontend.state.early_loads import again

                again(self, node, early.name, before)
            except Exception as error:
                # Methods of the user's values may raise anything, and so may a fault in the parser.
                # No traceback has a line of the kernel, so that line is added as a note.
                note_span(error, self.span(node))
                raise
            if node.__class__ in TERMINATORS and index + 1 < len(nodes):
                self.report(_unreachable(self, node, nodes[index + 1]), node)
                return

    def recover(self, node: ast.stmt, level: int, mark: int, block: list[Stmt]) -> None:
        """After an error, return to the block of ``node`` and mark what it assigns as broken."""
        self.broken = True
        while self.names.level > level:
            self.names.close(mark)
        self.names.level = level
        self.block = block
        for name in bound_names(node):
            # An output keeps its meaning even if a store to it failed; loops set their variables.
            old = self.names.values.get(name)
            if name not in self.outputs and not (isinstance(old, Var) and old in self.names.fixed):
                self.names.bind(name, BROKEN)

    def report(self, error: PyptoError, node: Any) -> None:
        """Keep an error, with the span of ``node`` if it has none."""
        self.errors.add(self.located(error, self.span(node)))

    def located(self, error: PyptoError, span: Span) -> PyptoError:
        """Return an error as one of the front end, with span and source text."""
        if isinstance(error, OpError) and not isinstance(error, ParserError):
            error = as_parser_error(error)
        error.at(span)
        if error.source_lines is None and error.location.filename == self.source.filename:
            error.source_lines = list(self.source.lines)
            error.__notes__ = [error.render()]
        return error

    def body(self, nodes: Sequence[ast.stmt]) -> list[Stmt]:
        """Parse the statements of a block into a separate list."""
        outside, self.block = self.block, []
        try:
            self.run(nodes)
            return self.block
        finally:
            if self.region is not None:
                self.region.end_block(self.block)
            self.block = outside

    def assign(
        self,
        name: str,
        value: Expr,
        node: Any,
        *,
        kind: Type | None = None,
        source: ast.expr | None = None,
    ) -> Var:
        """Append ``name = value``; ``node`` is the node of the name.

        ``kind`` is the variable's type if it differs from the value's; ``source`` is the node of
        the value, for errors.

        Raises:
            ParserTypeError: the name has to keep its type or its meaning.
            SSAViolationError: a second assignment under ``strict_ssa``.
        """
        if self.region is not None and kind is None and value.type.__class__ in _ARRAYS:
            value = self.region.settled(self, name, value, node)
        kind = value.type if kind is None else kind
        written = self._written_view(name, value)
        if written is not None:
            if isinstance(value, Call):
                self.block.append(EvalStmt(value, self.span(node, source)))
            return written
        if self.strict_ssa or name in self.outputs:
            self.check_assignable(name, value, node, source)
        var = self.names.plain.get(name)
        if var is None or var.type is not kind:
            span = self.span(node)
            if self.region is not None:
                self.region.refuse_late(self.names, name, kind)
            try:
                var = self.names.define(name, kind, span)
            except ParserTypeError as error:
                raise error.at(span) from None
        if self.parts or kind.__class__ is TensorType:
            self.follow(var, value)
            self.note_made(var, value)
        stmt = checked_assign(var, value, self.span(node, source))
        self.block.append(stmt)
        if self.region is not None and kind.__class__ is TileType:
            is_only = self.assigned.get(var.name, 0) == 1 and var.name not in self.changed_in_part
            self.region.note_load(var, value, stmt, self.block, is_only=is_only)
        return var

    def _written_view(self, name: str, value: Expr) -> Var | None:
        """Return the variable of a reshaped tensor that is written under its name.

        It stays that variable, as its memory is that of another one.
        """
        reshaped = self.home.reshaped
        if not reshaped:
            return None
        old = self.names.values.get(name)
        if isinstance(value, Var) and value in reshaped:  # another name for it
            if value is not old:
                self.names.bind(name, value)
            return value
        if not isinstance(value, Call) or not isinstance(old, Var) or old not in reshaped:
            return None
        op: OpDef[..., Any] | None = op_of(value)
        if op is None or len(op.writes) != 1:
            return None
        return old if value.args[min(op.writes)] is old else None

    def append(self, var: Var, value: Expr, span: Span) -> None:
        """Append ``var = value``."""
        self.block.append(AssignStmt(var, value, span))

    def check_assignable(
        self, name: str, value: Expr | None, node: Any, source: ast.expr | None = None
    ) -> None:
        """Raise an error if ``value`` must not be assigned to ``name`` at ``node``."""
        old = self.names.values.get(name, MISSING)
        if old is MISSING or old is BROKEN:
            return
        if self.strict_ssa:
            raise reassigned(name, old, self.span(node))
        output = self.outputs.get(name)
        if output is None or not isinstance(old, Var) or self.origins.get(old) is not output:
            return
        if value is None or self.origin(value) is not output:
            raise self._rebound(name, output, value, self.span(node), source)

    def _rebound(
        self, name: str, output: Var, value: Expr | None, span: Span, source: ast.expr | None
    ) -> ParserTypeError:
        swapped = self.swapped.get(output)
        if swapped is not None and value is swapped.call:
            return self.swapped_error(output)
        hint = f"use another name: {name}2 = ..."
        is_alike = value is not None and value.type == output.type
        is_constant = isinstance(output.type, TensorType) and static_shape(output.type) is not None
        if is_alike and is_constant and source is not None:
            hint = f"write {name}[:] = {self.source.text(source)}"
            if self.region is None and self.func_type is FunctionType.Orchestration:
                hint = hint.replace("write ", "write with pl.incore(): ")
        if value is not None and isinstance(value.type, TileType):
            text = self.source.text(source) if source else ""
            hint = f"write {store_line(name, output, text)}"
            kind = output.type
            if self.region is not None and text and isinstance(kind, TensorType):
                whole = same_dims(kind.shape, value.type.shape)
                hint = f"write {name}[:] = {text}" if whole else hint
        return ParserTypeError(
            f"{name!r} is an output; this gives its name to a value that is not stored in it",
            span,
            hint=hint,
            slug="out-rebound",
            related=(Label(output.span, "the parameter"),),
        )

    def swapped_error(self, output: Var) -> ParserTypeError:
        """Return the error for a call that only reads an output, if nothing writes that output."""
        return self.swapped[output].error(output, f"{self.self_name}." if self.self_name else "")

    # --------------------------------------------------------------------- outputs

    def origin(self, value: Expr) -> Var | None:
        """Return the Out or InOut parameter whose buffer ``value`` is."""
        return self.origins.get(value)

    def follow(self, var: Expr, value: Expr) -> None:
        """Note that ``var`` now names the buffer that ``value`` is."""
        if value in self.parts:
            self.parts[var] = self.parts[value]
        if var.type.__class__ is not TensorType:
            return
        if self.inputs.get(var, value) is None:
            del self.inputs[var]  # from here on the name means another tensor
        origin = self.origins.get(value)
        if origin is not None:
            self.origins[var] = origin
        elif var in self.origins and var is not self.origins[var]:
            del self.origins[var]

    def note_made(self, var: Var, value: Expr) -> None:
        """Note whether a variable is a new tensor, which cannot be a parameter."""
        op = value.op if isinstance(value, Call) else None
        if op is tensor.reshape_view:
            self.home.reshaped.add(var)
        if value in self.home.transposed:
            self.home.transposed.add(var)
        if op is tensor.create:
            self.made_here.add(var)
        elif not isinstance(op, OpDef) or not op.writes:
            self.made_here.discard(var)

    def follow_call(self, call: Call, old: Call) -> None:
        """Note that ``call`` has the same buffers as ``old``, which differs in its type only."""
        if old in self.origins:
            self.origins[call] = self.origins[old]
        if old in self.parts:
            self.parts[call] = self.parts[old]

    def note_effects(self, call: Call) -> None:
        """Note which outputs an op call writes, and whose buffer its value is."""
        op = call.op
        if not isinstance(op, OpDef):
            return
        for index in op.writes:
            written = call.args[index]
            if written in self.home.transposed:
                from pypto._src.ir.inspect.source_names import user_name

                name = user_name(written) if isinstance(written, Var) else "this"
                raise ParserTypeError(
                    f"{name} is a copy of a tensor, with two dimensions swapped: what is written "
                    "to it would not be in the tensor",
                    call.span,
                    hint="swap the dimensions of what is written, and write that to the tensor",
                    slug="input-written",
                )
            origin = self.origins.get(written)
            if origin is not None:
                self.written.add(origin)
                self.origins[call] = origin
            elif self.inputs.get(written, call) is None:
                self.inputs[written] = call
        if op.view_of is not None:
            if call.args[op.view_of] in self.home.transposed:
                self.home.transposed.add(call)
            origin = self.origins.get(call.args[op.view_of])
            if origin is not None:
                self.origins[call] = origin


_ARRAYS: Final = frozenset({TensorType, TileType})


def _unreachable(ctx: Context, last: ast.stmt, following: ast.stmt) -> ParserError:
    word = type(last).__name__.lower()
    return ParserSyntaxError(
        f"this statement is after {word!r} and never runs",
        ctx.span(following),
        hint=f"delete it, or move it before the {word}",
        slug="unreachable",
    )
