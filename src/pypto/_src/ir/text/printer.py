"""The printer: any node or type as Python text that reads back as the same structure.

Owns the grammar of the text, and prints statements, functions and programs. `names` chooses names,
`expressions` prints types, expressions and calls, and `grammar` has what readers know, too.
``ir.parse(print(x))`` is structurally equal to ``x`` for every program, function and type, valid or
not, and printing that gives the same text again (free variables may correspond to others). The
plain part of the grammar is also source of the language; apart from the types of some calls, it
suffices for every program that verifies. Below, ``pl`` stands for the prefix.

Types
    ``pl.Scalar[pl.INT64]``; ``pl.Tensor[[64, n], pl.FP32]``; ``pl.Tile[[64, 64], pl.FP16]``;
    ``pl.Tuple[[T, U]]``; ``pl.MemRefType``; ``pl.UnknownType``. The element type of a tensor or
    tile is followed, in this order and only where the type has them, by
    ``pl.MemRef(pl.MemorySpace.Vec, ADDR, SIZE, ID)``, ``pl.TensorView(stride=[...],
    layout=pl.TensorLayout.DN)`` or ``pl.TileView(valid_shape=[...], stride=[...],
    start_offset=E, blayout=pl.TileLayout.col_major, slayout=..., fractal=1024,
    pad=pl.TilePad.zero)``. Fields of a view with default values are left out. MemRefs of one
    function with equal fields are one object. ``FP64`` is ``pl.DataType.FP64``.
Names
    Distinct variables have distinct names wherever both could be meant; a later one gets
    ``_1``, ``_2``, ... A loop variable is always new and scoped to its loop, and so is an
    iter_arg; but after the loop its name means the loop's result, so no other variable has that
    name. The two may have the same name: ``for i, (s,) in ...: s = pl.yield_(s)``.
    Variables that a function uses before it defines them are declared above the function or class:
    a symbolic dimension, which is an INT64, as ``n = pl.dynamic("n")``, any other as ``x: TYPE``.
    A dimension may be a later parameter of the signature.
    Where a variable is an IterArg or a MemRef outside of its usual place,
    ``pl.IterArg(TYPE, INIT)`` or ``pl.MemRef(...)`` replaces its type; a MemRef that is used as
    a value is written in full.
Constants
    A bare int is INT64 and a bare float FP32, except directly as Scalar operand of an op, where it
    takes the ``dtype`` keyword or the element type of the first tensor or tile operand, and in
    shapes. All others are ``pl.const(VALUE, pl.INT32)``, also beside a scalar of another type. A
    minus sign before a number is part of the number. An operator on constants alone is not folded:
    its first operand is written with ``pl.const``, even a BOOL.
    Floats have their shortest exact text; the others are ``pl.const(float("inf"), pl.FP32)``,
    ``"-inf"`` and ``"nan"``. Booleans are ``True`` and ``False``.
Expressions
    Python operators with Python's precedence. ``and or not`` are And, Or, Not; ``^`` is Xor
    between BOOLs and BitXor otherwise; ``~`` is BitNot. ``min(a, b)``, ``max(a, b)``,
    ``abs(x)``, ``pl.cast(x, pl.FP16)``; ``[a, b]`` makes a tuple, ``t[0]`` reads one. Casts are
    always explicit; reading the text never adds one. An operation has the type of its (left)
    operand, a comparison or logical operation is BOOL.
Calls
    ``pl.block.and_(...)``: level and Python name. Operands are positional up to the first
    attribute of the op's signature; then come the attributes, in the call's order, and
    then operands by keyword: ``pl.block.full([64, 64], dtype=pl.FP32, value=0.0)``. Rounding modes
    are words (``mode="rint"``), pipes ``pl.PipeType.V``, spaces ``pl.MemorySpace.Vec``. Functions
    of the program are called as ``self.f(a)``, by a function printed alone as ``f(a)``;
    unregistered ops as ``pl.my.op(a)`` or ``foo(a)``.
    The value of a variable has the variable's type; any other call of an op has the type that the
    op's rule gives, and a call of a function that of its results where they name no variable.
Statements
    ``v: TYPE = EXPR``; the annotation *is* the variable's type, and is missing only for calls
    without a type that are not of a regular op. ``return a, b``; ``pl.yield_(a, b)``; ``break``;
    ``continue``; ``with pl.incore():``; ``pass`` in an empty body.
    ``for i in pl.range(start, stop, step):`` (``pl.parallel``), with
    iter_args ``for i, (a,) in pl.range(start, stop, step, init_values=(x,)):``. ``while c:``, with
    iter_args ``for (a,) in pl.while_(init_values=(x,)):`` and first in its body ``pl.cond(c)``.
    The last yield of a loop body or branch names the results: ``q: TYPE = pl.yield_(x)``, or
    ``q, r = pl.yield_(x, y)``. An iter_arg has the type of its init value, and one of several
    results that of the yielded value; if not, ``q: TYPE`` without a value is the first line of
    the loop body, or comes directly before the yield (a result declared so shares no name with an
    iter_arg); so for a loop variable that is not an INT64 or is also defined outside of the loop.
    Nested sequences print as one. An empty else is not printed.
Functions and programs
    ``@pl.function`` or ``@pl.function(type=pl.FunctionType.InCore)``, parameters
    ``q: pl.Out[T]``, ``r: pl.InOut[T]``; ``-> T``, ``-> tuple[T, U]`` for several result types, no
    arrow for none. A program starts with ``# pypto.program: NAME``, ``# pypto.entry: FUNCTION``
    and ``# pypto.attr: KEY = LITERAL`` for each attribute; functions come before their callers.
    Unusual names in these lines are quoted; the attribute is then ``{KEY: LITERAL}``.
    A name that is not an identifier is printed, too, but no reader accepts it (`ir.name_rules`).
    A function whose name is not a Python name, such as ``class``, has it in
    ``@pl.function(name="...")``, and is called as ``self["..."](a)``.
Exact forms, which only IR text has
    ``pl.typed(EXPR, TYPE)``: an operation, call or constant whose type does not follow.
    ``v: TYPE = CALL  # untyped``: a call without a type, assigned to a variable that has one.
    ``pl.call("block.add", a, k=1)``: a call with nothing inferred: of an op whose name is not a
    Python name, or without all operands and attributes of a registered one (missing attributes
    are never filled in). ``pl.logical_xor(a, b)`` and ``pl.bit_xor(a, b)``, where ``^`` means the
    other. ``q, r = pl.results()`` at the end of a body: the results, where no yield names them.
    Keywords that the op does not declare, or that are not names: ``**{"x y": 1}``;
    their values are Python constants, members, types, and ``pl.expr(EXPR)``;
    ``str("rint")`` is a string where a plain one would be a rounding mode.

An expression or statement printed alone is for people only: it uses no exact forms, and
``# no yield for: q`` marks results that have no yield.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from pypto._src.errors import TextError, of_type
from pypto._src.ir.array_types import MemRef
from pypto._src.ir.enums import ForKind, FunctionType, ParamDirection
from pypto._src.ir.exprs import Call, Expr, IterArg, Op, Var
from pypto._src.ir.node_base import Node
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    OpStmts,
    Program,
    ReturnStmt,
    ScopeStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.text.expressions import CONSTANTS, WRITERS, Exprs, is_index, is_regular
from pypto._src.ir.text.grammar import UNTYPED, identifier
from pypto._src.ir.text.names import Names, Results, Whole, last_of
from pypto._src.ir.traversal.common_parts import endless
from pypto._src.ir.types import Type, UnknownType, same_type
from pypto._src.usage_errors import check_kind, users_frame

_STEP: Final = "    "


def python_print(node: Node, prefix: str = "pl") -> str:
    """Return ``node`` (any IR node, or a type) as text without a final newline.

    Raises:
        TextError: it nests deeper than Python calls may (CPython's parser stops far earlier), or
            shares objects so often that its text would be too long to write.
    """
    if not isinstance(prefix, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        check_kind("prefix", prefix, str, 'prefix="pl"', users_frame())
    try:
        return _printed(node, prefix)
    except RecursionError:
        raise TextError(
            f"this {type(node).__name__} nests too deeply to be printed",
            hint="print a part of it, or look at ir.dump_tree(node)",
            slug="too-deep",
        ) from None


def _printed(node: Node, prefix: str) -> str:
    why = endless(node) if isinstance(node, Program | Function | Stmt | Expr) else None
    if why is not None:
        raise TextError(
            f"this {type(node).__name__} is too long to be printed: {why}",
            hint="give the shared parts names, as an IRBuilder does: assign them to variables",
            slug="too-deep",
        )
    if isinstance(node, Program):
        return _program(node, prefix)
    if isinstance(node, Function):
        return _function_alone(node, prefix)
    exprs = Exprs(prefix, exact=not isinstance(node, Expr | Stmt))
    if isinstance(node, Stmt):
        printer = _Statements(exprs)
        printer.body(node, "")
        return "\n".join(printer.lines)
    if isinstance(node, Op | MemRef):
        return node.name
    write = WRITERS.get(type(node))
    if write is not None:
        return write(exprs, node)
    if isinstance(node, Expr):
        return exprs.expr(node)
    raise TypeError(f"nothing is known about printing {of_type(node)}")


class _Statements:
    """Prints statements and a function to ``lines``."""

    def __init__(self, exprs: Exprs) -> None:
        self._exprs = exprs
        self._names = exprs.names
        self._prefix = exprs.prefix
        self._exact = exprs.exact
        self.lines: list[str] = []
        self.return_types: Sequence[Type] = ()

    def body(self, body: Stmt | None, pad: str, results: Results | None = None) -> None:
        """Print the statements of a body; its last yield names ``results``."""
        stmts = statements(body)
        last = stmts[-1] if stmts else None
        names_results = results is not None and results.fit(last)
        for stmt in stmts[:-1] if names_results else stmts:
            _PRINTERS[stmt.__class__](self, stmt, pad)
        if results is not None:
            if names_results and isinstance(last, YieldStmt):
                self.yield_into(results, last, pad)
                return
            unnamed = self._exact and results.carries and isinstance(last, YieldStmt)
            if not stmts and not self._exact:
                self.lines.append(f"{pad}pass")
            if results.variables or unnamed:
                self.name_results(results, pad)
                return
            self._names.settle(results)
        if not stmts:
            self.lines.append(f"{pad}pass")

    def yield_into(self, results: Results, stmt: YieldStmt, pad: str) -> None:
        """Print a yield that names the results. Their types may name variables of the body."""
        values = ", ".join([self._exprs.expr(value) for value in stmt.value])
        variables = results.variables
        if len(variables) == 1:
            kind = self.annotation(variables[0], results)
            self._names.settle(results)
            target = f"{self._names.given[variables[0]]}: {kind}"
        else:
            declared = self._names.declared_results(results, stmt)
            kinds = [self.annotation(var, results) for var in declared]
            self._names.settle(results)
            for var, kind in zip(declared, kinds, strict=True):
                self.lines.append(f"{pad}{self._names.given[var]}: {kind}")
            target = ", ".join([self._names.given[var] for var in variables])
        self.lines.append(f"{pad}{target} = {self._prefix}.yield_({values})")

    def annotation(self, var: Var, results: Results) -> str:
        """Return the text after the colon where a result is named."""
        known = var in self._names.given and var not in results.args
        return self._exprs.type(var.type) if known else self._exprs.definition(var)

    def name_results(self, results: Results, pad: str) -> None:
        """Print which variables take results that no yield names."""
        if not self._exact:
            self._names.settle(results)
            names = ", ".join([self._names.given[var] for var in results.variables])
            self.lines.append(f"{pad}# no yield for: {names}")
            return
        new = [var for var in results.names if var not in self._names.given or var in results.args]
        kinds = [(var, self._exprs.definition(var)) for var in new]
        self._names.settle(results)
        self.lines += [f"{pad}{self._names.given[var]}: {kind}" for var, kind in kinds]
        names = [self._names.given[var] for var in results.variables]
        comma = "," if len(names) == 1 else ""
        target = f"{', '.join(names)}{comma} = " if names else ""
        self.lines.append(f"{pad}{target}{self._prefix}.results()")

    def assign(self, stmt: AssignStmt, pad: str) -> None:
        value, var = stmt.value, stmt.var
        kind = var.type
        if value.__class__ is Call:
            text = self._exprs.call(value)  # pyright: ignore[reportArgumentType]
            if value.type is not kind and not same_type(value.type, kind):
                unknown = value.type.__class__ is UnknownType
                text = f"{text}{UNTYPED}" if unknown else self._exprs.typed(text, value.type)
        elif isinstance(value, CONSTANTS) and not same_type(value.type, kind):
            text = self._exprs.const(value)
        else:
            text = self._exprs.expr(value)
        name = self._names.given.get(var)
        if name is not None:
            self.lines.append(f"{pad}{name}: {self._exprs.type(kind)} = {text}")
        elif var.__class__ is Var and kind.__class__ is UnknownType and _is_bare(value):
            self.lines.append(f"{pad}{self._names.define(var)} = {text}")
        else:
            after = self._exprs.type(kind) if var.__class__ is Var else self._exprs.definition(var)
            self.lines.append(f"{pad}{self._names.define(var)}: {after} = {text}")

    def eval(self, stmt: EvalStmt, pad: str) -> None:
        self.lines.append(f"{pad}{self._exprs.expr(stmt.expr)}")

    def yield_(self, stmt: YieldStmt, pad: str) -> None:
        values = ", ".join([self._exprs.expr(value) for value in stmt.value])
        self.lines.append(f"{pad}{self._prefix}.yield_({values})")

    def return_(self, stmt: ReturnStmt, pad: str) -> None:
        values = [self._exprs.expr(value) for value in stmt.value]
        for index, (value, kind) in enumerate(zip(stmt.value, self.return_types, strict=False)):
            if isinstance(value, CONSTANTS) and not same_type(value.type, kind):
                values[index] = self._exprs.const(value)
        self.lines.append(f"{pad}return {', '.join(values)}" if values else f"{pad}return")

    def break_(self, stmt: BreakStmt, pad: str) -> None:
        self.lines.append(f"{pad}break")

    def continue_(self, stmt: ContinueStmt, pad: str) -> None:
        self.lines.append(f"{pad}continue")

    def if_(self, stmt: IfStmt, pad: str) -> None:
        self.lines.append(f"{pad}if {self._exprs.expr(stmt.condition)}:")
        then = orelse = None
        if stmt.return_vars:
            results = Results(stmt.return_vars)
            self._names.expect(results)
            orelse = results if results.fit(last_of(stmt.else_body)) else None
            # If neither branch can name the results in its yield, the first branch names them.
            then = results if orelse is None or results.fit(last_of(stmt.then_body)) else None
            if not self._exact:
                then = orelse = results
        self.body(stmt.then_body, pad + _STEP, then)
        if statements(stmt.else_body) or (stmt.return_vars and not self._exact):
            self.lines.append(f"{pad}else:")
            self.body(stmt.else_body, pad + _STEP, orelse)

    def for_(self, stmt: ForStmt, pad: str) -> None:
        call = "parallel" if stmt.kind is ForKind.Parallel else "range"
        if stmt.stages > 1:
            call = "pipeline"
        bounds = [
            self._exprs.expr(stmt.start),
            self._exprs.expr(stmt.stop),
            self._exprs.expr(stmt.step),
        ]
        if stmt.stages > 1:
            bounds.append(f"stage={stmt.stages}")
        if stmt.iter_args:
            bounds.append(f"init_values={self.inits(stmt.iter_args)}")
        known = [var for var in (stmt.loop_var, *stmt.iter_args) if var in self._names.given]
        results = self._names.carry(stmt) if stmt.iter_args or stmt.return_vars else None
        own = stmt.loop_var not in self._names.given
        counter = self._names.enter(stmt.loop_var) if own else self._names.given[stmt.loop_var]
        if own and results is not None:
            results.args.add(stmt.loop_var)
        target = counter
        if stmt.iter_args:
            target = f"{counter}, {self.tuple_of(stmt.iter_args)}"
        source = f"{self._prefix}.{call}({', '.join(bounds)})"
        self.lines.append(f"{pad}for {target} in {source}:")
        if not own or not is_index(stmt.loop_var.type) or stmt.loop_var.__class__ is not Var:
            self.lines.append(f"{pad}{_STEP}{counter}: {self._exprs.definition(stmt.loop_var)}")
        self.iter_arg_types(stmt.iter_args, pad + _STEP, known)
        self.body(stmt.body, pad + _STEP, results)
        if own:
            self._names.leave(stmt.loop_var, counter)

    def while_(self, stmt: WhileStmt, pad: str) -> None:
        if not stmt.iter_args:
            self.lines.append(f"{pad}while {self._exprs.expr(stmt.condition)}:")
            self.body(stmt.body, pad + _STEP, self._names.carry(stmt) if stmt.return_vars else None)
            return
        inits = self.inits(stmt.iter_args)
        known = [var for var in stmt.iter_args if var in self._names.given]
        results = self._names.carry(stmt)
        target = self.tuple_of(stmt.iter_args)
        self.lines.append(f"{pad}for {target} in {self._prefix}.while_(init_values={inits}):")
        self.iter_arg_types(stmt.iter_args, pad + _STEP, known)
        self.lines.append(f"{pad}{_STEP}{self._prefix}.cond({self._exprs.expr(stmt.condition)})")
        self.body(stmt.body, pad + _STEP, results)

    def tuple_of(self, variables: Sequence[Var]) -> str:
        names = [self._names.given[var] for var in variables]
        return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"

    def inits(self, iter_args: Sequence[IterArg]) -> str:
        values = [self._exprs.expr(arg.initValue) for arg in iter_args]
        return f"({values[0]},)" if len(values) == 1 else f"({', '.join(values)})"

    def iter_arg_types(self, iter_args: Sequence[IterArg], pad: str, known: Sequence[Var]) -> None:
        """Print the types that differ from the init values', and those of args defined outside."""
        outside = set(known)
        for arg in iter_args:
            if arg in outside or not same_type(arg.type, arg.initValue.type):
                self.lines.append(f"{pad}{self._names.given[arg]}: {self._exprs.type(arg.type)}")

    def scope(self, stmt: ScopeStmt, pad: str) -> None:
        option = f"name_hint={self._exprs.value(stmt.name_hint)}" if stmt.name_hint else ""
        self.lines.append(f"{pad}with {self._prefix}.{stmt.scope_kind.name.lower()}({option}):")
        self.body(stmt.body, pad + _STEP)

    def sequence(self, stmt: Stmt, pad: str) -> None:
        self.body(stmt, pad)

    # ------------------------------------------------------------------------ functions

    def function(self, function: Function, pad: str) -> None:
        kind = function.func_type
        defined = identifier(function.name)
        if self._exprs.whole is not None:
            defined = self._exprs.whole.defs[function.name]
        options = [] if kind is FunctionType.Opaque else [f"type={self._exprs.member(kind)}"]
        if defined != function.name or keyword.iskeyword(defined):
            options.append(f"name={self._exprs.value(function.name)}")
            defined = f"{defined}_" if keyword.iskeyword(defined) else defined
        option = f"({', '.join(options)})" if options else ""
        self.lines.append(f"{pad}@{self._prefix}.function{option}")
        params = ["self"] if self._exprs.in_program else []
        for var in function.params:
            self._names.define(var)
        for var, direction in zip(function.params, function.param_directions, strict=True):
            text = self._exprs.definition(var)
            if direction is not ParamDirection.In:
                text = f"{self._prefix}.{direction.name}[{text}]"
            params.append(f"{self._names.given[var]}: {text}")
        self.return_types = function.return_types
        results = [self._exprs.type(kind) for kind in function.return_types]
        arrow = f" -> {results[0]}" if len(results) == 1 else ""
        if len(results) > 1:
            arrow = f" -> tuple[{', '.join(results)}]"
        self.lines.append(f"{pad}def {defined}({', '.join(params)}){arrow}:")
        self.body(function.body, pad + _STEP)


def _is_bare(value: Expr) -> bool:
    """True for a call that has no type and is not a regular one of a registered op."""
    if not isinstance(value, Call) or not isinstance(value.type, UnknownType):
        return False
    return value.op.__class__ is Op or (isinstance(value.op, OpDef) and not is_regular(value))


def _declarations(texts: Iterable[str]) -> list[str]:
    lines = list(dict.fromkeys(texts))
    return [*lines, ""] if lines else []


def _function_alone(function: Function, prefix: str) -> str:
    exprs = Exprs(prefix)
    printer = _Statements(exprs)
    printer.function(function, "")
    return "\n".join([*_declarations(exprs.free.values()), *printer.lines])


def _program(program: Program, prefix: str) -> str:
    whole = Whole(program.functions_)
    texts: dict[str, Exprs] = {}
    bodies: dict[str, list[str]] = {}
    for function in program.functions_:
        texts[function.name] = exprs = Exprs(prefix, whole)
        printer = _Statements(exprs)
        printer.function(function, _STEP)
        bodies[function.name] = printer.lines
    order = _callees_first({name: exprs.callees for name, exprs in texts.items()})
    name = program.name or "Program"
    lines = [f"# pypto.program: {_header_text(name)}"]
    if program.entry is not None:
        lines.append(f"# pypto.entry: {_header_text(program.entry)}")
    writer = Exprs(prefix)
    for key, value in program.attrs.items():
        text = f"{key} = {writer.literal(value)}"
        if _header_text(key) != key or "=" in key or key[0] == "{":
            text = writer.literal({key: value})
        lines.append(f"# pypto.attr: {text}")
    plain = prefix == "pl"
    lines.append(
        "import pypto.language as pl" if plain else f"from pypto import language as {prefix}"
    )
    lines.append("")
    lines += _declarations(text for f in order for text in texts[f].free.values())
    lines += [f"@{prefix}.program", f"class {Names('').fresh(name)}:"]
    for function_name in order:
        lines += bodies[function_name]
    if not order:
        lines.append(f"{_STEP}pass")
    return "\n".join(lines)


def _header_text(text: str) -> str:
    """Return a name for a comment line: as it is, or quoted if it would not read back."""
    plain = text.isprintable() and text == text.strip() and text[:1] not in ("", "'", '"')
    return text if plain else repr(text)


def _callees_first(calls: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names of ``calls`` with callees before callers, otherwise in name order."""
    done: dict[str, None] = {}
    seen: set[str] = set()
    for root in calls:
        stack = [(root, False)]
        while stack:
            name, leave = stack.pop()
            if leave:
                done[name] = None
            elif name not in seen:
                seen.add(name)
                stack.append((name, True))
                callees = sorted((c for c in calls[name] if c in calls), reverse=True)
                stack += [(callee, False) for callee in callees]
    return list(done)


_S = _Statements
_PRINTERS: Final[dict[type, Callable[[_Statements, Any, str], None]]] = {
    AssignStmt: _S.assign,
    EvalStmt: _S.eval,
    YieldStmt: _S.yield_,
    ReturnStmt: _S.return_,
    BreakStmt: _S.break_,
    ContinueStmt: _S.continue_,
    IfStmt: _S.if_,
    ForStmt: _S.for_,
    WhileStmt: _S.while_,
    ScopeStmt: _S.scope,
    SeqStmts: _S.sequence,
    OpStmts: _S.sequence,
}
