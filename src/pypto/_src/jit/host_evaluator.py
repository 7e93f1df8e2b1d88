"""Evaluates a host function, statement by statement: the result is a list of launches.

Loops and conditions are on numbers, tensors are parts of what the caller passed, windows are new
memory. Kernels are launched, not evaluated.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, cast

from pypto._src.diagnostics import counted
from pypto._src.driver import CompiledProgram, compile_for_evaluator
from pypto._src.dtypes import DataType
from pypto._src.errors import (
    CallError,
    ParserSyntaxError,
    ParserTypeError,
    PyptoError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from pypto._src.frontend import distributed_markers as pld
from pypto._src.frontend import markers, region_markers
from pypto._src.frontend.inline_kernels import InlineKernel
from pypto._src.frontend.source.python_names import MISSING, Environment
from pypto._src.frontend.source.source import Source
from pypto._src.ir.exprs import ConstInt
from pypto._src.jit.function import JitFunction
from pypto._src.jit.host_operations import FORMS, OPS, HostCall, alloc, described, window
from pypto._src.jit.host_values import (
    COLLECTIVES,
    Buffer,
    HostTensor,
    HostWindow,
    TensorWithoutShape,
)
from pypto._src.jit.parameters import ArrayParameter, WindowArgument
from pypto._src.run.arguments.array_views import is_array
from pypto._src.run.launches import Launch, Touched, run_launches

if TYPE_CHECKING:
    from pypto._src.cluster.session import Session

_DEEPEST: Final = 50


class Evaluation:
    """What one call of a host function launches."""

    def __init__(
        self,
        ranks: int,
        environment: Environment,
        windows: list[Buffer] | None = None,
        *,
        is_remote: bool = False,
    ) -> None:
        self.ranks = ranks
        self.is_remote = is_remote
        """True if ranks may have separate memory."""
        self.session: Session | None = None
        """The cluster session that the launches run in; None for threads of this process."""
        self.kept = windows
        """The windows of an earlier run, in order of creation; None if none are kept."""
        self.environment = environment
        self.launches: list[Launch] = []
        self.programs: dict[CompiledProgram, None] = {}
        self.buffers: list[Buffer] = []
        self.watched: Mapping[CompiledProgram, CompiledProgram] | None = None
        """For each program a version that reports its accesses, if the run is watched."""
        self.segment = 0
        """The number of the step, or of the stretch between steps, that the next launch is in."""
        self.restarts: dict[int, int] = {}
        """How often a step may be restarted, by its number."""
        self.outputs: list[Any] = []
        """The arguments that the host function only writes."""

    def run_body(
        self,
        source: Source,
        node: ast.FunctionDef,
        environment: Environment,
        values: dict[str, Any],
        depth: int = 0,
    ) -> Any:
        """Evaluate the statements of a function; return its value."""
        body = _Body(self, source, environment, values, depth)
        body.run(node.body)
        return body.result

    def run(self) -> None:
        """Run the launches to completion."""
        self.run_some(self.launches)

    def run_some(self, launches: Sequence[Launch]) -> None:
        """Run some of the launches to completion."""
        if self.session is not None:
            self.session.begin([buffer.memory for buffer in self.buffers], self.programs)
        run_launches(launches, self.ranks, self.name_of, None, self.session)

    def steps(self) -> Iterator[tuple[Sequence[Launch], int]]:
        """Yield the launches of each step and between steps, and how often each may restart."""
        if not any(self.restarts.values()):
            yield self.launches, 0
            return
        for segment, launches in groupby(self.launches, lambda launch: launch.segment):
            yield list(launches), self.restarts.get(segment, 0)

    def run_watched(self, seed: int, programs: dict[CompiledProgram, CompiledProgram]) -> None:
        """Run the launches with ranks that take turns, and look for races between them.

        ``programs`` caches the versions of programs that report their accesses, from run to run.

        Raises:
            EvaluationError: two ranks access an element at the same time, or a signal is lost.
        """
        from pypto._src.interp.race_detector import RaceDetector
        from pypto._src.interp.watched_interpreter import WatchedEvaluator

        for program in self.programs:
            if program not in programs:
                made = compile_for_evaluator(program.source, program.entry, WatchedEvaluator)
                programs[program] = made
        self.watched = programs
        windows = [(buffer.memory, buffer.element) for buffer in self.buffers]
        detector = RaceDetector(self.ranks, windows, self.name_of)
        run_launches(self.launches, self.ranks, self.name_of, seed, watch=detector)
        detector.finish()

    def launch(self, made: CompiledProgram, values: Sequence[Any], launch: Launch) -> None:
        """Run one of the launches, on its rank."""
        if self.session is None:
            (made if self.watched is None else self.watched[made]).run(values)
        else:
            self.session.launch(launch.device, made, values, launch.location, launch.file)

    def buffer(self, made: Buffer) -> Buffer:
        """Return the next window: ``made``, or the corresponding one of an earlier run."""
        index, kept = len(self.buffers), self.kept
        if kept is not None and index < len(kept) and kept[index].is_like(made):
            made = kept[index]
        elif kept is not None:
            kept[index:] = [made]
        self.buffers.append(made)
        return made

    def name_of(self, address: int) -> str:
        """Return the name of a signal."""
        found = (buffer.element_at(address) for buffer in self.buffers)
        return next(filter(None, found), hex(address))


class _Done(BaseException):
    """A return statement has been reached."""


_OPERATORS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Is: "is_",
    ast.IsNot: "is_not",
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Not: "not_",
    ast.Invert: "invert",
}
"""Python's operators, by their names in the module `operator`."""


def _applied(kind: ast.AST, *values: Any) -> Any:
    """Return the result of a Python operator."""
    if isinstance(kind, ast.In | ast.NotIn):
        return (values[0] in values[1]) is isinstance(kind, ast.In)
    return getattr(operator, _OPERATORS[type(kind)])(*values)


_PURE: Final = {
    getattr(builtins, name) for name in ("abs", "bool", "float", "int", "len", "range", "sum")
}
_LOOPS: Final = (
    markers.range_,
    markers.parallel,
    region_markers.unroll,
    region_markers.pipeline,
    range,
)


class _Body:
    """The statements of one function, with the values of its names."""

    def __init__(
        self,
        whole: Evaluation,
        source: Source,
        environment: Environment,
        values: dict[str, Any],
        depth: int,
    ) -> None:
        self.whole, self.source, self.environment = whole, source, environment
        self.values, self.depth = values, depth
        self.result: Any = None

    def run(self, nodes: Iterable[ast.stmt]) -> None:
        """Run statements up to a return."""
        with suppress(_Done):
            self._all(nodes)

    def _all(self, nodes: Iterable[ast.stmt]) -> None:
        for node in nodes:
            try:
                self._statement(node)
            except PyptoError as error:
                raise error.at(self.source.span(node)) from None
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                raise ParserTypeError(
                    f"{self.source.text(node)!r} raises {type(error).__name__}: {error}",
                    self.source.span(node),
                    slug="constant-expression",
                ) from None

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr():
                self.value(node.value)
            case ast.Assign(targets=[target]):
                self._assign(target, self.value(node.value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self.value(value))
            case ast.AugAssign(target=ast.Name(id=name)):
                old = self._name(ast.copy_location(ast.Name(name, ast.Load()), node.target))
                self.values[name] = _applied(node.op, old, self.value(node.value))
            case ast.For(target=ast.Name(id=name)):
                for item in self._iterated(node.iter):
                    self.values[name] = item
                    self._all(node.body)
            case ast.If():
                self._all(node.body if self._truth(node.test) else node.orelse)
            case ast.With():
                self._scope(node)
            case ast.Return():
                self.result = None if node.value is None else self.value(node.value)
                raise _Done
            case ast.Pass():
                pass
            case _:
                raise UnsupportedFeatureError(
                    f"a host function does not have {type(node).__name__.lower()}",
                    self.source.span(node),
                    hint="write it in a kernel, which a host function launches",
                )

    def _scope(self, node: ast.With) -> None:
        call = node.items[0].context_expr
        callee = self.value(call.func) if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and callee is pld.step and len(node.items) == 1:
            self._step(call, node)
            return
        if len(node.items) != 1 or callee not in (
            region_markers.scope,
            region_markers.manual_scope,
        ):
            raise ParserSyntaxError(
                f"{self.source.text(call)} is a region, and a host function has none",
                self.source.span(call),
                hint="write it in a function of @pl.jit, and launch that",
                slug="misplaced",
            )
        self._all(node.body)

    def _step(self, call: ast.Call, node: ast.With) -> None:
        """Put launches into their own segment."""
        given = [self.value(each) for each in (*call.args, *(word.value for word in call.keywords))]
        restarts = given[0] if given else 1
        if not isinstance(restarts, int) or restarts < 0:
            raise ParserTypeError(
                f"restarts= is the largest number of restarts of a step, got {described(restarts)}",
                self.source.span(call),
                hint="write with pld.step(restarts=1):",
                slug="region-option",
            )
        if self.whole.segment in self.whole.restarts:
            raise ParserSyntaxError(
                "a step is inside another one",
                self.source.span(call),
                hint="end the outer step before it",
                slug="misplaced",
            )
        self.whole.segment += 1
        self.whole.restarts[self.whole.segment] = restarts
        self._all(node.body)
        self.whole.segment += 1

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            if isinstance(value, Buffer) and value.name == "a window":
                value.name = target.id
            self.values[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            for item, part in zip(target.elts, value, strict=True):
                self._assign(item, part)
        else:
            raise UnsupportedFeatureError(
                "a host function assigns to names; tensors are written by kernels",
                self.source.span(target),
                hint="launch a kernel that writes it",
            )

    def _iterated(self, node: ast.expr) -> Iterable[Any]:
        if isinstance(node, ast.Call) and self.value(node.func) in _LOOPS:
            bounds = [self.value(arg) for arg in node.args]
            if all(isinstance(bound, int) for bound in bounds):
                return range(*bounds)
        elif not isinstance(node, ast.Call):
            found = self.value(node)
            if isinstance(found, list | tuple | range):
                return found  # pyright: ignore[reportUnknownVariableType]
        raise ParserSyntaxError(
            f"a host function loops over pl.range of numbers, got {self.source.text(node)}",
            self.source.span(node),
            hint="write for r in pl.range(pld.world_size()):",
            slug="constant-expression",
        )

    def _truth(self, node: ast.expr) -> bool:
        value = self.value(node)
        if isinstance(value, HostTensor | HostWindow | Buffer):
            raise ParserTypeError(
                f"a condition is a number, got {described(value)}",
                self.source.span(node),
                hint="let a kernel read the element",
                slug="constant-expression",
            )
        return bool(value)

    # ----- expressions ----------------------------------------------------------------------

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression."""
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                return getattr(self.value(node.value), node.attr)
            case ast.Tuple() | ast.List():
                items = [self.value(item) for item in node.elts]
                return items if isinstance(node, ast.List) else tuple(items)
            case ast.Slice():
                parts = (node.lower, node.upper, node.step)
                return slice(*(None if part is None else self.value(part) for part in parts))
            case ast.Subscript():
                return self._item(node)
            case ast.BinOp():
                return _applied(node.op, self.value(node.left), self.value(node.right))
            case ast.UnaryOp():
                return _applied(node.op, self.value(node.operand))
            case ast.BoolOp():
                found = [self._truth(item) for item in node.values]
                return all(found) if isinstance(node.op, ast.And) else any(found)
            case ast.Compare():
                return self._compared(node)
            case ast.IfExp():
                return self.value(node.body if self._truth(node.test) else node.orelse)
            case ast.Call():
                return self._call(node)
            case _:
                raise UnsupportedFeatureError(
                    f"a host function does not have {self.source.text(node)}",
                    self.source.span(node),
                    hint="write it in a kernel, or outside both",
                )

    def _name(self, node: ast.Name) -> Any:
        if node.id in self.values:
            return self.values[node.id]
        found = self.environment.get(node.id)
        if found is MISSING:
            found = getattr(builtins, node.id, MISSING)
        if found is MISSING:
            raise UndefinedVariableError(f"{node.id!r} is not defined", self.source.span(node))
        return found

    def _compared(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for kind, item in zip(node.ops, node.comparators, strict=True):
            right = self.value(item)
            if not _applied(kind, left, right):
                return False
            left = right
        return True

    def _item(self, node: ast.Subscript) -> Any:
        base, index = self.value(node.value), self.value(node.slice)
        if not isinstance(base, HostTensor):
            if isinstance(base, HostWindow):
                raise ParserTypeError(
                    f"{self.source.text(node.value)} is a window; kernels take parts of it",
                    self.source.span(node),
                    hint=f"pass {self.source.text(node.value)}",
                    slug="window",
                )
            return base[index]
        if isinstance(base, TensorWithoutShape):
            return base[index]
        parts: Sequence[Any] = cast("Any", index if isinstance(index, tuple) else (index,))
        for axis, item in enumerate(parts):
            limit = base.shape[axis] if axis < len(base.shape) else 0
            ends = _ends(item)
            last = limit if isinstance(item, slice) else limit - 1
            if any(end is not None and not 0 <= end <= last for end in ends):
                raise ParserTypeError(
                    f"{self.source.text(node)} takes {self.source.text(node.slice)} of "
                    f"{limit} elements in dimension {axis}: it is {item}",
                    self.source.span(node),
                    hint=f"pass an array with a part for each of {self.whole.ranks} devices"
                    if axis == 0 and not isinstance(item, slice)
                    else None,
                    slug="out-of-bounds",
                )
        return base[index]

    # ----- calls ----------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "bind_dynamic":
            return None  # a parameter's declaration
        callee = self.value(node.func)
        args = [self.value(arg) for arg in node.args]
        named = {word.arg: self.value(word.value) for word in node.keywords if word.arg}
        if isinstance(callee, JitFunction):
            return self._launch(callee, args, named, node)
        if isinstance(callee, InlineKernel) and callee in COLLECTIVES:
            return self._collective(callee, args, named, node)
        if isinstance(callee, InlineKernel):
            return self._inlined(callee, args, named, node)
        form = FORMS.get(callee) if _is_hashable(callee) else None
        if form is not None:
            return form(self._host_call(node), *args, **named)
        name = getattr(callee, "name", None) or getattr(callee, "__name__", "")
        form = OPS.get(str(name).rpartition(".")[2])
        if form is not None and callee not in _PURE:
            return form(self._host_call(node), *args, **named)
        if callee in (min, max) or callee in _PURE:
            return callee(*args, **named)
        raise UnsupportedFeatureError(
            f"{self.source.text(node.func)} belongs in a kernel; a host function launches kernels",
            self.source.span(node),
            hint="write it in a function of @pl.jit, and launch that with device=",
        )

    def _host_call(self, node: ast.Call) -> HostCall:
        return HostCall(self.source, node, self.whole.ranks, self.whole.buffer)

    def _inlined(
        self, callee: InlineKernel, args: list[Any], named: dict[str, Any], node: ast.Call
    ) -> Any:
        if self.depth >= _DEEPEST:
            raise UnsupportedFeatureError(
                f"inline function {callee.name!r} expands itself",
                self.source.span(node),
                hint="use a loop instead",
                slug="recursion",
            )
        values = {**dict(zip(callee.param_names, args, strict=False)), **named}
        return self.whole.run_body(
            callee.source, callee.func_def, callee.environment, values, self.depth + 1
        )

    def _collective(
        self, callee: InlineKernel, args: list[Any], named: dict[str, Any], node: ast.Call
    ) -> Any:
        """Launch a collective on each device; return its window."""
        kernel: JitFunction = COLLECTIVES[callee]
        given = {**dict(zip(callee.param_names, args, strict=False)), **named}
        given.pop("core_num", None)  # it changes no value
        if "signal" in callee.param_names and given.get("signal") is None:
            count = self.whole.ranks
            call, dtype = self._host_call(node), DataType.INT32
            given["signal"] = window(call, alloc(call, [count], dtype=dtype), [count], dtype=dtype)
        for value in (given.get("target"), given.get("local_data"), given.get("input")):
            if value is not None and not isinstance(value, HostWindow):
                raise ParserTypeError(
                    f"{self.source.text(node.func)} on the host takes windows, got "
                    f"{described(value)}",
                    self.source.span(node),
                    hint="call it in a kernel that is launched on each device",
                    slug="window",
                )
        for device in range(self.whole.ranks):
            self._launch(kernel, [], {**given, "device": device}, node)
        return given.get("target", given["signal"])

    def _launch(
        self, callee: JitFunction, args: list[Any], named: dict[str, Any], node: ast.Call
    ) -> Any:
        location = self.source.span(node)
        if callee.is_host:
            raise UnsupportedFeatureError(
                f"{callee.__name__} is a host function, which Python calls",
                location,
                hint=f"write @pl.jit.inline above def {callee.__name__}",
                slug="entry-called",
            )
        device = named.pop("device", 0)
        if not isinstance(device, int) or isinstance(device, bool):
            raise ParserTypeError(
                f"a device is a number, got {described(device)}",
                location,
                hint="write device=r",
                slug="device",
            )
        count = self.whole.ranks
        if not 0 <= device < count:
            ids = ", ".join(map(str, range(device + 1)))
            raise ParserTypeError(
                f"device is {device}; the run has {counted(count, 'device')}, from 0",
                location,
                hint=f"call it with config=RunConfig(distributed_config="
                f"DistributedConfig(device_ids=[{ids}]))"
                if device >= 0
                else None,
                slug="device",
            )
        is_remote = self.whole.is_remote
        try:
            args, named = _fill_in_shapes(callee, args, named)
            passed = [_argument(arg, is_remote=is_remote) for arg in args]
            words = {key: _argument(arg, is_remote=is_remote) for key, arg in named.items()}
            made, values = callee.launched(passed, words, device)
        except CallError as error:
            raise error.at(location) from None
        self.whole.programs[made] = None
        written = set(made.output_indices)
        touched = tuple(
            Touched(value, index in written)
            for index, value in enumerate(values)
            if is_array(value) and not any(value.base is b.memory for b in self.whole.buffers)
        )
        launch = Launch(
            callee.__name__,
            device,
            lambda: self.whole.launch(made, values, launch),
            touched,
            location,
            callee.file,
            made.target == "interpreter",
            self.whole.segment,
        )
        self.whole.launches.append(launch)
        outputs = [arg for arg, index in _tensors(args, values) if index in written]
        return outputs[0] if len(outputs) == 1 else tuple(outputs) or None


def _is_hashable(value: object) -> bool:
    return isinstance(value, Hashable)


def _ends(index: Any) -> Sequence[int | None]:
    """Return the numbers in an index."""
    return (index.start, index.stop) if isinstance(index, slice) else (index,)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def _tensors(args: Sequence[Any], values: Sequence[Any]) -> list[tuple[Any, int]]:
    return [
        (arg, index)
        for index, arg in enumerate(args)
        if index < len(values) and isinstance(arg, HostTensor | HostWindow)
    ]


def _fill_in_shapes(
    callee: JitFunction, args: list[Any], named: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments whose tensors have a shape: the kernel's where none is declared."""
    if not any(isinstance(each, TensorWithoutShape) for each in (*args, *named.values())):
        return args, named
    kinds = {
        each.name: each.kind
        for each in callee.parameters()
        if isinstance(each, ArrayParameter) and each.is_fixed
    }

    def of_shape(name: str, value: Any) -> Any:
        kind = kinds.get(name)
        if not isinstance(value, TensorWithoutShape) or kind is None:
            return value
        shape = [cast("ConstInt", dim).value for dim in kind.shape]
        return HostTensor(value.of_shape(shape, kind.dtype))

    pairs = zip(callee.parameter_names, args, strict=False)
    return [of_shape(*pair) for pair in pairs], {n: of_shape(n, v) for n, v in named.items()}


def _argument(value: Any, *, is_remote: bool) -> Any:
    """Return a kernel's argument for a value of a host function."""
    if isinstance(value, HostTensor):
        return value.array
    if isinstance(value, HostWindow):
        return WindowArgument(value.rows, value.shape, is_remote)
    return value
