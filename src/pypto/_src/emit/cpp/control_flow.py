"""Loops and branches in C++, and the values that they carry and return.

Owns the variables that hold a scalar, tile or tensor where paths merge. Does not know what the
statements inside do: a callback writes each body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pypto._src.emit.cpp.helper_functions import UNROLL_LIMIT
from pypto._src.emit.cpp.kernel_state import Kernel
from pypto._src.emit.cpp.prologue import Declarations
from pypto._src.emit.cpp.scalar_exprs import loop_test
from pypto._src.emit.cpp.tensors import TensorRef, declare_global
from pypto._src.emit.writer import check_carried
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType, TileType, dtype_of
from pypto._src.ir.exprs import ConstBool, Expr, IterArg, Var, const_value
from pypto._src.ir.stmts import ForStmt, IfStmt, Stmt, WhileStmt, YieldStmt, statements, yielded
from pypto._src.ir.traversal.queries import uses
from pypto._src.ir.types import ScalarType


class Flow:
    """Writes loops and branches.

    Args:
        kernel: The state of the generator.
        declarations: Declares the tiles that they carry and result in.
        write: Writes the statements of a body.
        assign: Defines a scalar variable with a value.
    """

    def __init__(
        self,
        kernel: Kernel,
        declarations: Declarations,
        write: Callable[[Stmt | None], None],
        assign: Callable[[Var, Expr], None],
    ) -> None:
        self._kernel = kernel
        self._declarations = declarations
        self._write = write
        self._assign = assign
        self._body = kernel.body
        self._context = kernel.context

    # ----- loops ----------------------------------------------------------------------------

    def counted(self, stmt: ForStmt) -> None:
        """Write a counted loop."""
        if self._kernel.options.remove_dead_code and self._iterations(stmt) == 0:
            self._without_iterations(stmt)
            return
        self._body.note(stmt.span)
        self._enter_carried(stmt.iter_args)
        kind = self._kernel.types.ConvertDataType(dtype_of(stmt.loop_var))
        start, stop = self._kernel.scalar(stmt.start, 10), self._kernel.scalar(stmt.stop, 10)
        step = self._kernel.scalar(stmt.step, 10)
        self._kernel.ranges.enter(stmt, stop)
        known = const_value(self._kernel.folded(stmt.step))
        name = self._context.declare(stmt.loop_var)
        if not known:
            self._kernel.helpers["loop_step"] = None
            given = step
            step = self._context.fresh(f"{name}_step")
            self._body.emit_line(f"{kind} {step} = {_cast(kind, f'loop_step({given})')};")
        test = loop_test(name, stop, step, known)
        iterations = self._iterations(stmt)
        if (
            self._kernel.options.scheduling_hints
            and iterations is not None
            and 1 < iterations <= UNROLL_LIMIT
        ):
            self._kernel.helpers["PYPTO_UNROLL"] = None
            self._body.emit_line("PYPTO_UNROLL")
        self._body.emit_line(f"for ({kind} {name} = {start}; {test}; {name} += {step}) {{")
        self._carried_body(stmt.body, stmt.iter_args)
        self._body.emit_line("}")
        self._leave_carried(stmt.iter_args, stmt.return_vars)

    def _iterations(self, stmt: ForStmt) -> int | None:
        """Return a loop's number of iterations, None if that is not constant."""
        bounds = [const_value(self._kernel.folded(e)) for e in (stmt.start, stmt.stop, stmt.step)]
        start, stop, step = bounds
        if start is None or stop is None or not step:
            return None
        return len(range(start, stop, step))

    def _without_iterations(self, stmt: ForStmt) -> None:
        self._kernel.dead.append(stmt.body)
        for arg, var in zip(stmt.iter_args, stmt.return_vars, strict=True):
            if isinstance(var.type, TensorType):
                self._kernel.same_tensor(var, arg.initValue)
            else:
                self._alias(var, arg.initValue)

    def _alias(self, var: Var, value: Expr) -> None:
        """Make ``var`` another name of ``value``, which has been emitted already."""
        if isinstance(var.type, TileType) or isinstance(self._kernel.folded(value), Var):
            self._context.register_var(var, self._kernel.value(value))
        elif var in self._kernel.used:
            self._assign(var, value)

    def conditional(self, stmt: WhileStmt) -> None:
        """Write a loop that runs while a condition holds."""
        self._body.note(stmt.span)
        self._enter_carried(stmt.iter_args)
        if self._kernel.sharing is not None:
            self._kernel.sharing.paused = True  # the condition is recomputed in each iteration
        condition = self._kernel.scalar(stmt.condition)
        if self._kernel.sharing is not None:
            self._kernel.sharing.paused = False
        self._body.emit_line(f"while ({condition}) {{")
        self._carried_body(stmt.body, stmt.iter_args)
        self._body.emit_line("}")
        self._leave_carried(stmt.iter_args, stmt.return_vars)

    def _enter_carried(self, iter_args: Sequence[IterArg]) -> None:
        check_carried(iter_args)
        for arg in iter_args:
            if isinstance(arg.type, TensorType):
                if arg in self._kernel.choices.moved:
                    self._carry_pointer(arg)
                else:
                    self._kernel.same_tensor(arg, arg.initValue)
            elif isinstance(arg.type, TileType):
                init = self._kernel.value(arg.initValue)
                self._body.emit_lines(self._declarations.tile(arg).split("\n"))
                self._body.emit_line(f"{self._kernel.name(arg)} = {init};")
            else:
                init = self._kernel.scalar(arg.initValue)
                kind = self._kernel.types.ConvertDataType(dtype_of(arg))
                self._body.emit_line(f"{kind} {self._context.declare(arg)} = {init};")

    def _carry_pointer(self, arg: IterArg) -> None:
        """Declare the pointer of a carried tensor that may change in each iteration."""
        init = self._kernel.ref(arg.initValue)
        name = self._context.fresh(arg.name)
        self._body.emit_line(f"__gm__ {init.element}* {name} = {init.pointer};")
        self._kernel.new_tensor(
            arg, f"{name}Global", init._replace(pointer=name, base=name, whole="")
        )

    def _carried_body(self, body: Stmt, iter_args: Sequence[IterArg]) -> None:
        self._kernel.enter_block()
        self._write(body)
        values = yielded(body)
        if len(values) != len(iter_args):
            raise EmitError(f"a loop carries {len(iter_args)} values and yields {len(values)}")
        pairs: list[_Next] = []
        for arg, value in zip(iter_args, values, strict=True):
            if not isinstance(arg.type, TensorType):
                kind = arg.type if isinstance(arg.type, ScalarType) else None
                name = "" if kind is None else self._kernel.types.ConvertDataType(kind.dtype)
                pairs.append(_Next(arg, self._kernel.name(arg), self._kernel.value(value), name))
            elif arg in self._kernel.choices.moved:
                here, there = self._kernel.ref(arg), self._kernel.ref(value)
                self._check_alike(arg, here, there)
                kind = f"__gm__ {here.element}*"
                pairs.append(_Next(arg, here.pointer, there.pointer, kind))
        self._assign_together(pairs, values)
        self._kernel.leave_block()

    def _assign_together(self, pairs: Sequence[_Next], values: Sequence[Expr]) -> None:
        # All yields are read before any is written, as loop semantics say: a value that another
        # yield still reads goes through a copy.
        read = set(uses(values))
        aside = [p for p in pairs if len(pairs) > 1 and p.kind and self._is_read(p, read)]
        fresh: dict[str, str] = {}
        for pair in aside:
            fresh[pair.target] = self._context.fresh(f"{pair.target}_next")
            self._body.emit_line(f"{pair.kind} {fresh[pair.target]} = {pair.text};")
        for pair in pairs:
            if pair.target not in fresh and pair.target != pair.text:
                self._body.emit_line(f"{pair.target} = {pair.text};")
        for pair in aside:
            self._body.emit_line(f"{pair.target} = {fresh[pair.target]};")

    def _is_read(self, pair: _Next, read: set[Var]) -> bool:
        """True if a yield reads what the loop carries in ``pair``, under any name."""
        if isinstance(pair.arg.type, TensorType):
            return True
        return pair.arg in read

    def _check_alike(self, var: Var, a: TensorRef, b: TensorRef) -> None:
        if a.strides != b.strides:
            raise EmitError(
                f"the tensor {var.name!r} is one of two with different layouts in memory: their "
                f"strides are {list(a.strides)} and {list(b.strides)}",
                hint="store to one tensor per variable: out = pl.store(tile, ..., out)",
                slug="emit-tensor-merge",
            )

    def _leave_carried(self, iter_args: Sequence[IterArg], return_vars: Sequence[Var]) -> None:
        for arg, var in zip(iter_args, return_vars, strict=True):
            self._context.register_var(var, self._context.get_var_name(arg))

    # ----- branches -------------------------------------------------------------------------

    def branch(self, stmt: IfStmt) -> None:
        """Write a branch."""
        condition = self._kernel.folded(stmt.condition)
        if self._kernel.options.remove_dead_code and isinstance(condition, ConstBool):
            self._only_branch(stmt, condition.value)
            return
        self._body.note(stmt.span)
        text = self._kernel.scalar(condition)
        for var in stmt.return_vars:
            if isinstance(var.type, TileType):
                self._body.emit_lines(self._declarations.tile(var).split("\n"))
            elif isinstance(var.type, TensorType):
                self._declare_choice(var)
            elif var in self._kernel.used:
                kind = self._kernel.types.ConvertDataType(dtype_of(var))
                self._body.emit_line(f"{kind} {self._context.declare(var)};")
        self._body.emit_line(f"if ({text}) {{")
        self._branch(stmt.then_body, stmt.return_vars)
        if stmt.else_body is not None and self._has_else_lines(stmt):
            self._body.emit_line("} else {")
            self._branch(stmt.else_body, stmt.return_vars)
        self._body.emit_line("}")

    def _has_else_lines(self, stmt: IfStmt) -> bool:
        """True if the else branch emits a line: a statement, or a result to assign."""
        if any(not isinstance(s, YieldStmt) for s in statements(stmt.else_body)):
            return True
        return any(
            self._is_declared(var)
            if isinstance(var.type, TensorType)
            else isinstance(var.type, TileType) or var in self._kernel.used
            for var in stmt.return_vars
        )

    def _is_declared(self, var: Var) -> bool:
        """True if a branch's tensor result has its own object or pointer."""
        return var in self._kernel.used or self._kernel.choices.is_merged(var)

    def _declare_choice(self, var: Var) -> None:
        """Declare the tensor that a branch returns: its object, and its pointer if that varies.

        Where both arms give the same tensor, the result takes over its pointer; otherwise it has a
        pointer variable. A view has no object, so the result then has none either.
        """
        if not self._is_declared(var):
            return
        assert isinstance(var.type, TensorType)
        name = self._context.fresh(var.name)
        known = [self._root_tensor(root) for root in self._kernel.choices.roots[var]]
        first, second = known
        pointer = name
        if self._kernel.choices.is_merged(var):
            kind = self._kernel.types.ConvertDataType(var.type.dtype)
            self._body.emit_line(f"__gm__ {kind}* {name};")
        elif first is not None:
            pointer = first.pointer
        self._context.register_var(var, f"{name}Global")
        self._context.register_pointer(f"{name}Global", pointer)
        if first is None or second is None or not (first.whole and second.whole):
            return
        if (first.shape, first.strides) != (second.shape, second.strides):
            return
        base = first.base if pointer == first.pointer else name
        ref = first._replace(pointer=pointer, base=base, whole=f"{name}Global")
        self._kernel.refs[ref.whole] = ref
        lines = declare_global(name, ref, ref.shape, "ND", "")
        self._body.emit_lines(lines.split("\n"))

    def _root_tensor(self, root: Var | None) -> TensorRef | None:
        name = None if root is None else self._context.get(root)
        return None if name is None else self._kernel.refs.get(name)

    def _only_branch(self, stmt: IfStmt, taken: bool) -> None:
        body, other = stmt.then_body, stmt.else_body
        if not taken:
            body, other = other, body
        if other is not None:
            self._kernel.dead.append(other)
        self._write(body)
        for var, value in zip(stmt.return_vars, yielded(body), strict=True):
            if isinstance(var.type, TensorType):
                self._kernel.same_tensor(var, value)
            else:
                self._alias(var, value)

    def _branch(self, body: Stmt, return_vars: Sequence[Var]) -> None:
        self._kernel.enter_block()
        self._write(body)
        for var, value in zip(return_vars, yielded(body), strict=True):
            if isinstance(var.type, TensorType):
                self._branch_tensor(var, value)
            elif self._context.get(var) is not None:
                self._body.emit_line(f"{self._kernel.name(var)} = {self._kernel.value(value)};")
        self._kernel.leave_block()

    def _branch_tensor(self, var: Var, value: Expr) -> None:
        ref = self._kernel.ref(value)
        if not self._is_declared(var):
            if self._context.get(var) is None:
                self._kernel.same_tensor(var, value)
            return
        name = self._context.get_var_name(var)
        pointer = self._context.get_pointer(name)
        base = ref.base if pointer == ref.pointer else pointer
        inherited = ref._replace(pointer=pointer, base=base, whole="")
        known = self._kernel.refs.setdefault(name, inherited)
        self._check_alike(var, known, ref)
        if known.whole:
            self._body.emit_line(f"{name} = {ref.whole};")
        if pointer != ref.pointer:
            self._body.emit_line(f"{pointer} = {ref.pointer};")


class _Next:
    """What a carried value becomes in the next iteration."""

    __slots__ = ("arg", "kind", "target", "text")

    def __init__(self, arg: IterArg, target: str, text: str, kind: str) -> None:
        self.arg = arg
        self.target = target
        self.text = text
        self.kind = kind  # C++ type of a copy; "" for tiles, which are copied in the program


def _cast(kind: str, text: str) -> str:
    return text if kind == "int64_t" else f"static_cast<{kind}>({text})"
