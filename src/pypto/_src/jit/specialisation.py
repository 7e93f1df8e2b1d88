"""What a kernel of ``@pl.jit`` is specialised on, and its compiled programs.

A `Version` is a kernel with its captures at one time. Parsing is the front end's work, with
constants and sizes added to the names around the function; compiling is the driver's.
"""

from __future__ import annotations

import ast
import functools
import math
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, cast

from pypto._src import knobs
from pypto._src.driver import CompiledProgram, TargetName, compile_program
from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.errors import CallError, PyptoError
from pypto._src.frontend.programs import Alone, Method, Options, ProgramParser
from pypto._src.frontend.region_markers import RUNTIME
from pypto._src.frontend.source.python_names import Environment, closure_of
from pypto._src.frontend.source.source import Source
from pypto._src.frontend.state.errors import Errors
from pypto._src.frontend.state.messages import describe
from pypto._src.ir.annotations import InOut, Tensor
from pypto._src.ir.array_types import TensorType, static_shape
from pypto._src.ir.exprs import ConstInt, Var
from pypto._src.ir.stmts import Program
from pypto._src.jit.captures import Outside, Reader, cells_of
from pypto._src.jit.parameters import (
    REQUIRED,
    ArrayParameter,
    ConstantParameter,
    NumberParameter,
    Parameter,
    ScalarParameter,
    WindowArgument,
    WindowParameter,
    key_function,
    kind_of_array,
    parameters_of,
)
from pypto._src.jit.specialised_source import (
    BOTH_WAYS,
    Around,
    hidden,
    rank_names,
    specialised_source,
)
from pypto._src.lazy import lazy_module
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.records import NamedTuple
from pypto._src.run.arguments.array_views import Argument, array_view, zeros_like_others
from pypto._src.run.arguments.parameters import plain_number, type_text
from pypto._src.run.toolchain import find_toolchain
from pypto._src.suggestions import keyword_hint
from pypto._src.usage_errors import check_kind

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.run.config import RunConfig

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

MAX_SPECIALISATIONS: Final = 1024
"""The most that are kept for all kernels of the process, unless the environment sets a limit."""

_MAX_MISSES: Final = 1024


class Definition(NamedTuple):
    """The text of a kernel, and how it is compiled."""

    name: str
    function: Any
    source: Source
    node: ast.FunctionDef
    layers: tuple[Mapping[str, Any], ...]  # the names around it, except those of enclosing calls
    options: Options
    target: TargetName
    strategy: OptimizationStrategy
    is_host: bool
    overlap: bool = False

    def environment(self, frame: FrameType | None = None) -> Environment:
        """Return the current meaning of names around the kernel."""
        return Environment((closure_of(self.function), *self.layers), frame)

    def outside(self) -> Outside:
        """Return the kernel's captures, as they are now."""
        return Outside(Reader(self.node, cells_of(self.function), self.layers))


class Version:
    """A kernel with its captures at one time, and what was compiled from it."""

    def __init__(
        self,
        definition: Definition,
        outside: Outside,
        misses: list[str],
        before: Version | None = None,
    ) -> None:
        self.definition = definition
        self.outside = outside
        self.misses = misses
        self.before: Outside | None = None  # of the last version that was compiled
        if before is not None:
            self.before = before.outside if before.made or before.older else before.before
        self.environment = definition.environment()
        header = Method(
            definition.source,
            definition.node,
            self.environment,
            definition.options,
            Alone(),
            Errors(),
        ).context
        self.parameters = parameters_of(header, definition.node.args, definition.function)
        self.passed = [
            i for i, p in enumerate(self.parameters) if not isinstance(p, ConstantParameter)
        ]
        self.takes_all = len(self.passed) == len(self.parameters)
        self.any_size = any(isinstance(p, ArrayParameter) and p.is_dynamic for p in self.parameters)
        """True as long as one program may serve all values of named sizes."""
        names = {each.name for each in self.parameters}
        self.rank_name = next(name for name in rank_names() if name not in names)
        """The parameter for the number of the rank, which kernels with windows take last."""
        self.needs_numbers = False
        """True if scalars have to be numbers when a host function's launch is compiled."""
        self._find_keys()
        self.made: dict[tuple[Any, ...], CompiledProgram] = {}  # the young ones: `Generations`
        self.older: dict[tuple[Any, ...], CompiledProgram] = {}

    def _find_keys(self) -> None:
        self.keys = [key_function(each, any_size=self.any_size) for each in self.parameters]
        self.are_bare = all(key is kind_of_array for key in self.keys)

    # ------------------------------------------------------------------ arguments, in order

    def arguments(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of `JitFunction.compile`, of which none may be an array."""
        arrays = [p for p in self.parameters if isinstance(p, ArrayParameter)]
        if not args and not any(p.name in named for p in arrays):
            named = {**{p.name: self.declared(p) for p in arrays}, **named}
            windows = [p for p in self.parameters if isinstance(p, WindowParameter)]
            named = {**{p.name: self.declared_window(p) for p in windows}, **named}
            numbers = [p for p in self.parameters if isinstance(p, NumberParameter)]
            each_call = [p.name for p in numbers if p.default is REQUIRED]
            named = {**dict.fromkeys(each_call, RUNTIME), **named}
        return self.arranged(args, named)

    def declared_window(self, parameter: WindowParameter) -> WindowArgument:
        """Return the window that an annotation declares, for an assumed number of ranks."""
        kind = parameter.kind
        shape = None if kind is None else static_shape(kind)
        if kind is None or shape is None:
            raise CallError(
                f"the annotation of {parameter.name!r} has no constant shape, and "
                f"{self.definition.name} is compiled without arrays",
                hint=f"declare {parameter.name}: pld.DistributedTensor[[64, 64], pl.FP32]",
                slug="argument-kind",
            )
        rows = _ArraySpec((_DECLARED_RANKS, math.prod(shape)), kind.dtype.numpy)
        return WindowArgument(rows, shape)

    def declared(self, parameter: ArrayParameter) -> _ArraySpec:
        """Return the array that an annotation declares; named sizes are None."""
        kind = parameter.kind
        if kind is None:
            raise CallError(
                f"the annotation of {parameter.name!r} has no shape, and {self.definition.name} is "
                "compiled without arrays",
                hint=f"declare {parameter.name}: pl.Tensor[[64, 64], pl.FP32]",
                slug="argument-kind",
            )
        dims = parameter.with_symbols(kind).shape
        shape = [dim.value if isinstance(dim, ConstInt) else None for dim in dims]
        return _ArraySpec(tuple(shape), kind.dtype.numpy)

    def declared_arguments(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        """Return what annotations declare, by name; ``sizes`` has the named sizes.

        Raises:
            CallError: an annotation has no shape, or a size is not given.
        """
        found: dict[str, Any] = {}
        for parameter in self.parameters:
            if isinstance(parameter, ArrayParameter):
                view, kind = self.declared(parameter), cast("TensorType", parameter.kind)
                dims = zip(parameter.with_symbols(kind).shape, view.shape, strict=True)
                names = [cast("Var", dim).name if size is None else "" for dim, size in dims]
                missing = [name for name in names if name and name not in sizes]
                if missing:
                    raise CallError(
                        f"the size {missing[0]!r} of {parameter.name!r} is not known",
                        hint=" ".join(f"--size {name}=64" for name in missing),
                        slug="size-missing",
                    )
                pairs = zip(names, view.shape, strict=True)
                shape = [sizes[name] if name else cast("int", size) for name, size in pairs]
                found[parameter.name] = _ArraySpec(tuple(shape), view.dtype)
            elif parameter.default is REQUIRED and not isinstance(parameter, ConstantParameter):
                found[parameter.name] = sizes.get(parameter.name, 1)
        return found

    def kinds(self, views: Sequence[Any]) -> tuple[Any, ...]:
        """Return the specialisation key of these arguments, with all sizes."""
        return tuple([(v.shape, str(v.dtype)) if hasattr(v, "shape") else repr(v) for v in views])

    def config(self, named: dict[str, Any]) -> RunConfig | None:
        """Take ``config=``, which says how to compile and run, out of the keywords of a call."""
        if "config" not in named or any(p.name == "config" for p in self.parameters):
            return None
        config = named.pop("config")
        if config is None:
            return None
        from pypto._src.run.config import RunConfig

        frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
        check_kind("config", config, RunConfig, "write config=RunConfig()", frame)
        return config

    def refuse_runtime(self, args: Sequence[Any]) -> None:
        """Raise CallError for ``pl.RUNTIME`` in a call, which must supply the number."""
        for parameter, arg in zip(self.parameters, args, strict=True):
            if arg is RUNTIME:
                raise CallError(
                    f"argument {parameter.name!r} of {self.definition.name} is pl.RUNTIME, but a "
                    "call must pass a value",
                    hint=f"write {self.definition.name}.compile({parameter.name}=pl.RUNTIME)",
                    slug="argument-kind",
                )

    def arranged(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments in the order of the parameters; omitted outputs are new arrays."""
        names = [p.name for p in self.parameters]
        outputs = {p.name for p in self.parameters if isinstance(p, ArrayParameter) and p.is_out}
        required = [p.name for p in self.parameters if p.default is REQUIRED]
        skipped = outputs
        if outputs & named.keys() or len(args) + len(named) >= len(required):
            skipped = set[str]()  # not left out
        order = [name for name in names if name not in skipped]
        given = dict(zip(order, args, strict=False))
        left = order[len(args) :]
        unknown = next((name for name in named if name not in left), None)
        if unknown is not None:
            what = f"{self.definition.name} does not take argument {unknown!r}"
            error = self.refusal(what, "argument-count")
            error.hint = keyword_hint(unknown, left) or error.hint
            raise error
        if len(args) > len(order):
            what = f"{self.definition.name} does not take {len(args)} arguments"
            raise self.refusal(what, "argument-count")
        given |= named
        for parameter in self.parameters:
            value = given.setdefault(parameter.name, parameter.default)
            if value is REQUIRED and parameter.name not in skipped:
                what = f"argument {parameter.name!r} is missing"
                raise self.refusal(what, "argument-count")
        if skipped:
            self.add_outputs(given)
        return tuple([given[name] for name in names])

    def added(self, args: Sequence[Any], passed: Sequence[Any]) -> list[Any]:
        """Return those arranged arguments that are new arrays, not ``passed`` by the caller."""
        return [
            value
            for parameter, value in zip(self.parameters, args, strict=True)
            if isinstance(parameter, ArrayParameter) and parameter.is_out
            if not any(value is each for each in passed)
        ]

    def add_outputs(self, given: dict[str, Any]) -> None:
        """Add new arrays for the outputs that a call leaves out.

        Raises:
            CallError: nothing determines the shape of one.
        """
        arrays = [p for p in self.parameters if isinstance(p, ArrayParameter)]
        passed = [given[p.name] for p in arrays if given[p.name] is not REQUIRED]
        sizes: dict[Var, int] = {}
        for parameter in arrays:
            value = given[parameter.name]
            if value is not REQUIRED and parameter.kind is not None:
                kind = parameter.with_symbols(parameter.kind)
                self.measure(parameter, kind, self.view(parameter, value).shape, sizes)
        for parameter in arrays:
            if given[parameter.name] is not REQUIRED:
                continue
            kind = parameter.kind
            dims = () if kind is None else parameter.with_symbols(kind).shape
            shape = [
                d.value if isinstance(d, ConstInt) else sizes.get(cast("Var", d)) for d in dims
            ]
            if kind is None or None in shape:
                raise self.refusal(
                    f"argument {parameter.name!r} is missing, and no other one tells its shape",
                    "argument-count",
                )
            given[parameter.name] = zeros_like_others(
                passed, tuple(cast("list[int]", shape)), kind.dtype.numpy
            )

    def refusal(self, message: str, slug: str) -> CallError:
        return CallError(message, hint=self.usual_call, slug=slug)

    @property
    def usual_call(self) -> str:
        """The hint with all arguments in their order."""
        names = ", ".join(p.name for p in self.parameters)
        return f"call it as {self.definition.name}({names})"

    # ------------------------------------------------------------------ what is compiled

    def make(self, args: tuple[Any, ...]) -> CompiledProgram:
        """Return the program for these arguments, compiling it if there is none yet."""
        views = self.views(args)
        made = _generations.find(self, self.key(views))
        if made is None:
            made = self.compiled(views)
            self.misses.append(self.reason(self.key(views)))
            del self.misses[:-_MAX_MISSES]
            _generations.add(self, self.key(views), made)
        if not any(isinstance(arg, Tensor) for arg in args):
            # An array of another library has its own key, which then leads here as well.
            with suppress(AttributeError, TypeError):
                _generations.add(self, self.key(args), made)
        return made

    def compiled(self, views: Sequence[Any]) -> CompiledProgram:
        """Compile for these arguments: for any values of named sizes where that is possible.

        A kernel that needs such a size as a number is compiled for each value.
        """
        made: CompiledProgram | None = None
        failure: PyptoError | None = None
        if self.any_size:
            try:
                made = self.compiled_as(self.lowered(views, any_size=True), views)
            except PyptoError as error:
                failure = error
            is_slow = made is not None and made.target != self.definition.target
            if made is not None and not (is_slow and find_toolchain() is not None):
                return made
            if any(isinstance(view, _ArraySpec) and None in view.shape for view in views):
                if failure is not None:
                    raise failure
                assert made is not None
                return made
        found = self.compiled_as(self.lowered(views, any_size=False), views)
        if self.any_size and not (made is not None and found.target == made.target):
            self.any_size = False
            self._find_keys()
        return found

    def compiled_as(self, program: Program, views: Sequence[Any]) -> CompiledProgram:
        definition = self.definition
        made = compile_program(
            program,
            definition.target,
            entry=definition.name,
            strategy=definition.strategy,
            overlap=definition.overlap,
        )
        made.fixed = {
            index: views[at]
            for index, at in enumerate(self.passed)
            if isinstance(self.parameters[at], ScalarParameter) and views[at] is not None
        }
        return made

    def program(self, views: Sequence[Any]) -> Program:
        """Return the program as parsed: for any named sizes, if the passes accept that."""
        if self.any_size:
            with suppress(PyptoError):
                program = self.lowered(views, any_size=True)
                PassManager(self.definition.strategy).run_passes(program)
                return program
        return self.lowered(views, any_size=False)

    def key(self, args: Sequence[Any]) -> tuple[Any, ...]:
        if self.are_bare and len(args) == len(self.keys):  # the same, without calls
            return tuple([(arg.shape, arg.dtype) for arg in args])
        return tuple([key(arg) for key, arg in zip(self.keys, args, strict=True)])

    def lowered(self, args: Sequence[Any], *, any_size: bool) -> Program:
        """Return the program for these arguments, as parsed."""
        definition = self.definition
        constants: dict[str, Any] = {}
        scalars: dict[str, Any] = {}
        sizes: dict[Var, int] = {}
        kinds: dict[str, TensorType] = {}
        windows: dict[str, tuple[int, ...]] = {}
        is_remote = False
        for parameter, arg in zip(self.parameters, args, strict=True):
            match parameter:
                case ConstantParameter():
                    constants[parameter.name] = self.constant(parameter, arg)
                case ScalarParameter():
                    scalars[parameter.name] = arg
                case ArrayParameter(kind=TensorType() as kind):
                    whole = parameter.with_symbols(kind)
                    self.measure(parameter, whole, arg.shape, sizes)
                    if parameter.bound:
                        sizes_here = zip(whole.shape, arg.shape, strict=True)
                        shape = [
                            dim if any_size or size is None else size for dim, size in sizes_here
                        ]
                        kinds[parameter.name] = TensorType(shape, kind.dtype)
                case ArrayParameter():
                    kind = self.tensor_type(parameter, arg)
                    whole = parameter.with_symbols(kind)
                    self.measure(parameter, whole, arg.shape, sizes)
                    kinds[parameter.name] = whole if any_size else kind
                case WindowParameter():
                    kinds[parameter.name] = self.tensor_type(parameter, arg.rows)
                    windows[parameter.name] = arg.shape
                    is_remote = is_remote or arg.is_remote
                case _:
                    continue
        spelled: dict[str, Any] = {hidden(name): kind for name, kind in kinds.items()}
        if windows:
            spelled |= {BOTH_WAYS: InOut, hidden(self.rank_name): DataType.INT32}
        known = {} if any_size else sizes
        environment = Around(self.environment, {**constants, **spelled}, known)
        parser = ProgramParser(self.definition.name, {})
        parser.add(
            definition.source,
            specialised_source(definition.node, constants, kinds, windows, self.rank_name),
            environment,
            definition.options,
        )
        method = parser.methods[definition.name]
        method.context.is_specialised = True
        method.context.is_host = definition.is_host
        method.declare()
        told = {name: value for name, value in scalars.items() if value is not None}
        for name, value in told.items():
            method.context.names.bind(name, value)
        if windows:
            from pypto._src.frontend.regions.distributed import bind_windows

            bind_windows(method.context, windows, self.rank_name, is_remote=is_remote)
        return parser.finish(definition.source.span(definition.node), entry=self.definition.name)

    def constant(self, parameter: ConstantParameter, arg: Any) -> Any:
        is_bool = isinstance(arg, bool) and parameter.kind is not bool
        wanted = (int, float) if parameter.kind is float else parameter.kind
        if isinstance(arg, wanted) and not is_bool:
            return arg
        found = describe(arg) if _has_dimensions(arg) else repr(arg)
        raise CallError(
            f"argument {parameter.name!r} of {self.definition.name} is {found}; a Python "
            f"{parameter.kind.__name__} was wanted, which becomes part of the kernel",
            hint=f"{parameter.kind.__name__}({parameter.name})" if isinstance(arg, float) else None,
            slug="argument-kind",
        )

    def views(self, args: Sequence[Any]) -> list[Any]:
        """Return objects with shape and dtype for the arrays, and the values of scalars."""
        found = zip(self.parameters, args, strict=True)
        try:
            return [self.view(parameter, arg) for parameter, arg in found]
        except CallError as error:
            if error.slug == "argument-kind" and self._are_misplaced(args):
                error.hint = self.usual_call
            raise

    def _are_misplaced(self, args: Sequence[Any]) -> bool:
        """True if an array is passed for a number: an argument is missing, or two are swapped."""
        return any(
            not isinstance(parameter, ArrayParameter | WindowParameter) and _has_dimensions(arg)
            for parameter, arg in zip(self.parameters, args, strict=True)
        )

    def view(self, parameter: Parameter, arg: Any) -> Any:
        """Return an object with the shape and dtype of an argument, or its value.

        None stands for a number that each call supplies.
        """
        if isinstance(parameter, ConstantParameter) and _has_dimensions(arg):
            self.constant(parameter, arg)
        if isinstance(parameter, ScalarParameter):
            if arg is RUNTIME or arg is None:
                return None
            return plain_number(self.definition.name, parameter.name, parameter.kind, arg)
        if isinstance(parameter, WindowParameter) and not isinstance(arg, WindowArgument):
            raise CallError(
                f"argument {parameter.name!r} of {self.definition.name} is a window, which all "
                "ranks reach; Python has none to pass",
                hint="launch it from a function of @pl.jit.host, with pld.window(...)",
                slug="window",
            )
        if not isinstance(parameter, ArrayParameter) or isinstance(arg, _ArraySpec):
            return arg
        if isinstance(arg, Tensor) and arg.dtype is not None:
            return _ArraySpec(tuple(arg.shape), arg.dtype.numpy)
        argument = Argument(
            parameter.name, self.definition.name, "an array", "np.float32", is_written=False
        )
        return array_view(arg, argument)

    def checked(self, args: Sequence[Any]) -> list[Any]:
        """Return `views` of arguments, checked against the sizes and element types of annotations.

        Raises:
            CallError: one does not match.
        """
        views = self.views(args)
        for parameter, view in zip(self.parameters, views, strict=True):
            if isinstance(parameter, ArrayParameter) and parameter.kind is not None:
                self._check_kind(parameter, parameter.with_symbols(parameter.kind), view)
        return views

    def _check_kind(self, parameter: ArrayParameter, kind: TensorType, found: Any) -> None:
        shape, wanted = found.shape, kind.dtype.numpy
        axes = [
            axis
            for axis, (dim, size) in enumerate(zip(kind.shape, shape, strict=False))
            if isinstance(dim, ConstInt) and size is not None and dim.value not in (size, -1)
        ]
        is_shape = len(shape) != len(kind.shape) or bool(axes)
        if not is_shape and found.dtype == wanted:
            return
        text = (
            f"argument {parameter.name!r} of {self.definition.name} is an array {list(shape)} of "
            f"{found.dtype}; {type_text(kind)} was wanted"
        )
        if not is_shape:
            hint = f"pass {parameter.name}.astype(np.{wanted})"
            raise CallError(text, hint=hint, slug="argument-dtype")
        text += "".join(f", {kind.shape[at]} in dimension {at}" for at in axes[:1])
        hint = f"declare {parameter.name}: pl.Tensor[{list(shape)}, pl.{kind.dtype.member}]"
        raise CallError(text, hint=hint, slug="argument-shape")

    def tensor_type(self, parameter: Parameter, arg: Array | _ArraySpec) -> TensorType:
        dtype = _element_types().get(arg.dtype)
        if dtype is not None:
            return TensorType(cast("tuple[int, ...]", arg.shape), dtype)
        raise CallError(
            f"argument {parameter.name!r} of {self.definition.name} is an array of {arg.dtype}, "
            "which is not an element type of a kernel",
            hint=f"pass {parameter.name}.astype(np.float32)",
            slug="argument-dtype",
        )

    def measure(
        self,
        parameter: ArrayParameter,
        kind: TensorType,
        shape: tuple[int | None, ...],
        sizes: dict[Var, int],
    ) -> None:
        """Record the sizes of symbolic dimensions in an argument."""
        fits = len(shape) == len(kind.shape)
        for dim, size in zip(kind.shape, shape, strict=False):
            if isinstance(dim, Var) and size is not None:
                fits = fits and sizes.setdefault(dim, size) == size
        if not fits:
            raise CallError(
                f"argument {parameter.name!r} of {self.definition.name} is an array {list(shape)}; "
                f"{type_text(kind)} was wanted"
                + "".join(f", with {dim.name} = {size}" for dim, size in sizes.items()),
                hint=self.fitting(parameter, kind, sizes)
                if len(shape) == len(kind.shape)
                else _reshaped(parameter.name, kind, shape),
                slug="argument-shape",
            )

    @staticmethod
    def fitting(
        parameter: ArrayParameter, kind: TensorType, sizes: Mapping[Var, int]
    ) -> str | None:
        """Return a hint for an output with the sizes of the other arguments."""
        shape = [
            dim.value if isinstance(dim, ConstInt) else sizes.get(cast("Var", dim))
            for dim in kind.shape
        ]
        if not parameter.is_out or None in shape:
            return None
        return f"pass np.empty({tuple(shape)}, np.{kind.dtype.numpy.name})"

    def reason(self, key: tuple[Any, ...]) -> str:
        """Return how a call differs from the most similar earlier one."""
        known = [*self.older, *self.made]
        if not known:
            changes = [] if self.before is None else self.outside.changes(self.before)
            return f"{self.definition.name}: {'; '.join(changes) or 'first call'}"
        nearest = min(known, key=lambda old: sum(a != b for a, b in zip(old, key, strict=True)))
        parts = [
            f"{parameter.name} is {_shown(new)}, was {_shown(old)}"
            for parameter, old, new in zip(self.parameters, nearest, key, strict=True)
            if old != new
        ]
        return f"{self.definition.name}: {'; '.join(parts)}"


def _reshaped(name: str, kind: TensorType, shape: Sequence[int | None]) -> str | None:
    """Return a hint to reshape an argument that has the declared number of elements."""
    wanted = static_shape(kind)
    if wanted is None or None in shape or math.prod(wanted) != math.prod(cast("Any", shape)):
        return None
    return f"pass {name}.reshape({', '.join(map(str, wanted))})"


def _has_dimensions(arg: Any) -> bool:
    """True for an array, of any library, that is not a scalar."""
    return bool(getattr(arg, "shape", ()))


class Generations:
    """Drops the least recently used specialisations of all kernels of the process.

    One that is compiled, or found again, is young. When half of those that may be kept are young,
    the old ones are dropped, and the young ones become old. So what is dropped was not used while
    half the limit of others were, and a call that finds a young one, as nearly every call does,
    needs no bookkeeping. A program that is running or referenced lives until it is released.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._versions: weakref.WeakSet[Version] = weakref.WeakSet()

    def find(self, version: Version, key: tuple[Any, ...]) -> CompiledProgram | None:
        """Return a specialisation, and make it young, or None."""
        found = version.made.get(key) or version.older.get(key)
        if found is not None:
            self.add(version, key, found)
        return found

    def add(self, version: Version, key: tuple[Any, ...], made: CompiledProgram) -> None:
        """Keep a specialisation as a young one, and drop old ones if there are too many."""
        forgotten: list[object] = []  # outlives the lock: destructors may run foreign code
        with self._lock:
            if key in version.made:
                return
            most = knobs.MAX_SPECIALISATIONS.get() or MAX_SPECIALISATIONS
            versions = list(self._versions)
            if sum(len(each.made) for each in versions) >= max(1, most // 2):
                for each in versions:
                    forgotten.append(each.older)
                    each.older, each.made = each.made if most > 1 else {}, {}
                    if not each.older:
                        self._versions.discard(each)
            forgotten.append(version.older.pop(key, None))
            version.made[key] = made
            self._versions.add(version)


_generations: Final = Generations()


_DECLARED_RANKS: Final = 16
"""The assumed number of ranks for a kernel that is inspected but not run."""


class _ArraySpec(NamedTuple):
    """Shape and dtype in place of an array; a size that may differ between calls is None."""

    shape: tuple[int | None, ...]
    dtype: Any


@functools.cache
def _element_types() -> dict[Any, DataType]:
    """Return the element types by their NumPy dtype."""
    found: dict[Any, DataType] = {}
    for dtype in MEMBERS.values():
        if dtype.numpy_name is not None:
            found.setdefault(dtype.numpy, dtype)
    return found


def _shown(part: Any) -> str:
    """Return one part of a key as text: of a constant, an array or a shape."""
    if not isinstance(part, tuple):
        return str(part)
    items = cast("tuple[Any, ...]", part)
    if items and isinstance(items[0], type):
        is_hexadecimal = items[0] is float and isinstance(items[1], str)
        return repr(float.fromhex(items[1]) if is_hexadecimal else items[1])
    if items and isinstance(items[0], tuple):
        return f"{items[1]} {list(cast('tuple[int, ...]', items[0]))}"
    return str(list(items))
