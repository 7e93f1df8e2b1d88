"""Reports to a `RaceDetector` which parts of tensors the calls of a rank read and write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto._src.interp.evaluate import Evaluator, Plan
from pypto._src.interp.op_calls import Env, Eval, argument
from pypto._src.interp.race_detector import AccessKind, RaceDetector
from pypto._src.interp.tensor_boxes import TensorBoxes
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Call
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.stmts import Function
from pypto._src.ranks import current


class WatchedEvaluator(Evaluator):
    """Evaluates a program after the passes; calls report to the detector of their rank's world."""

    def plan(self, function: Function) -> Plan:
        """Return ``function`` ready to be called."""
        return WatchedPlan(function, self)


class WatchedPlan(Plan):
    """One function as closures that report what they touch."""

    def _op_call(self, call: Call, op: OpDef[..., Any], evals: Sequence[Eval]) -> Eval:
        touched = [
            (index, access_kind(op, index))
            for index, arg in enumerate(call.args)
            if isinstance(arg.type, TensorType) and (index in op.reads or index in op.writes)
        ]
        if op.view_of is not None or not touched:
            return super()._op_call(call, op, evals)
        span, boxes = call.span, TensorBoxes(op)
        changes_signal = op.level == "system"  # ranks report these to the detector
        count = len(call.args)
        compute = super()._op_call(call, op, [argument(index) for index in range(len(evals))])

        def run(env: Env) -> Any:
            args = [each(env) for each in evals]
            rank = current()
            detector = None if rank is None else rank.world.watch
            if rank is not None and isinstance(detector, RaceDetector):
                rank.at = span
                for index, kind in () if changes_signal else touched:
                    box = boxes.of(args, index)
                    if count < len(args) <= count + 2:  # of a partly valid tile
                        box = box[(..., *map(slice, args[count:]))]
                    detector.touched(rank, box, kind)
            return compute(args)

        return run


def access_kind(op: OpDef[..., Any], index: int) -> AccessKind:
    """Return what a call does with an operand; reading and writing it is adding to it."""
    if index not in op.writes:
        return AccessKind.READ
    return AccessKind.ADD if index in op.reads else AccessKind.WRITE
