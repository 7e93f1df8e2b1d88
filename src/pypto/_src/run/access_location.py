"""The source line of a tensor access that a compiled kernel reports, where only one fits.

Compiled code knows tensors, not lines. A kernel with one load of a tensor has one line that can
have read it; with several loads, nothing says which one it was.
"""

from __future__ import annotations

from pypto._src.diagnostics import Span
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.opdef import aliased, op_of
from pypto._src.ir.stmts import AssignStmt, ForStmt, Function, WhileStmt, yielded
from pypto._src.ir.traversal.queries import calls_of, stmts_in


def span_of_access(function: Function, tensor: str, *, writes: bool) -> Span | None:
    """Return the span of the only access that reads or writes a parameter, else None."""
    params = [param for param in function.params if isinstance(param.type, TensorType)]
    roots: dict[Var, str] = {param: param.name for param in params}
    found: list[Span] = []
    carried: list[tuple[Expr, str]] = []
    for stmt in stmts_in(function.body):
        for call in calls_of(stmt):
            op = op_of(call)
            for index, arg in enumerate(call.args if op is not None else ()):
                if isinstance(arg, Var) and isinstance(arg.type, TensorType):
                    if arg not in roots:
                        return None  # it may be one of several tensors
                    if roots[arg] == tensor and (index in op.writes) is writes:  # pyright: ignore[reportOptionalMemberAccess]
                        found.append(call.span)
        if isinstance(stmt, AssignStmt):
            source = aliased(stmt.value)
            if isinstance(source, Var) and source in roots:
                roots[stmt.var] = roots[source]
        elif isinstance(stmt, ForStmt | WhileStmt):
            rows = zip(stmt.iter_args, stmt.return_vars, yielded(stmt.body), strict=False)
            for arg, result, value in rows:
                if isinstance(arg.initValue, Var) and arg.initValue in roots:
                    roots[arg] = roots[result] = roots[arg.initValue]
                    carried.append((value, roots[arg]))
    if any(not isinstance(value, Var) or roots.get(value) != root for value, root in carried):
        return None  # a loop carries different tensors
    return found[0] if len(found) == 1 and found[0].begin_line > 0 else None
