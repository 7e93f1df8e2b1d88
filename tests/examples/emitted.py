"""Runs a program with its kernels as emitted for the PTO assembler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dialect.evaluate import evaluate
from pypto._src.dialect.verify import check, options_of
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import BinaryExpr, ConstInt, Expr
from pypto._src.ir.roles import kernels
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.traversal.symbolic_dims import dimension_vars, solved_dims
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.run.effects import effects


class Emitted(Evaluator):
    """A program whose host functions are evaluated as usual, and its kernels from their `.pto`.

    Each text is verified as by `pypto verify`. ``calls`` counts the runs of each kernel;
    ``lowered`` is the program after the passes for the assembler, if it is known.
    """

    def __init__(self, program: Program, lowered: Program | None = None) -> None:
        if lowered is None:
            lowered = PassManager.get_strategy(OptimizationStrategy.PTOAS).run_passes(program)
        super().__init__(lowered)
        self.calls = {kernel.name: 0 for kernel in kernels(lowered)}
        self._effects = effects(lowered)
        self._kernels = {kernel.name: kernel for kernel in kernels(lowered)}
        self._sources = {
            kernel.name: check(text, f"{kernel.name}.pto", options_of(text))
            for kernel in kernels(lowered)
            for text in [PTOCodegen().generate(lowered.with_functions([kernel]))]
        }

    def run(self, name: str, args: Sequence[Any], span: Span = UNKNOWN_SPAN) -> Any:
        """Call a function; a kernel works on dense copies, which pointers can address."""
        source = self._sources.get(name)
        if source is None:
            return super().run(name, args, span)
        self.calls[name] += 1
        dense = [np.ascontiguousarray(arg) if _is_array(arg) else arg for arg in args]
        evaluate(source, name, [*dense, *sizes(self._kernels[name], dense)])
        for arg, copy in zip(args, dense, strict=True):
            if _is_array(arg) and copy is not arg:
                arg[...] = copy
        results = [args[index] for [index] in self._effects[name].results]
        return results[0] if len(results) == 1 else tuple(results) or None


def sizes(kernel: Function, args: Sequence[Any]) -> list[int]:
    """Return the sizes that a kernel gets after its arguments, from those of its arrays."""
    known: dict[Expr, int] = {}
    for param, arg in zip(kernel.params, args, strict=True):
        if isinstance(param.type, TensorType):
            known |= zip(param.type.shape, arg.shape, strict=True)
        else:
            known[param] = arg

    def number(expr: Expr) -> int:
        if isinstance(expr, ConstInt):
            return expr.value
        if isinstance(expr, BinaryExpr):
            return type(expr).fold(number(expr.left), number(expr.right))
        return known[expr]

    for row in solved_dims(kernel):
        known[row.size] = args[row.param].shape[row.axis]
        known[row.var] = number(row.value)
    return [known[var] for var in dimension_vars(kernel)]


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0
