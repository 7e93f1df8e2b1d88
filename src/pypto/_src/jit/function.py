"""``@pl.jit``: a kernel that is specialised, compiled and run when it is called with arrays.

Decides what a call specialises on, and keeps one compiled program a combination. Parsing is the
front end's work, with constants and sizes put into the names around the function; compiling is
the driver's.
"""

from __future__ import annotations

import ast
import copy
import functools
import sys
import threading
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, cast

from pypto._src import knobs
from pypto._src.diagnostics import place_of_frame
from pypto._src.driver import (
    CompiledProgram,
    TargetName,
    compile_program,
)
from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.errors import CallError, ParserSyntaxError, ParserTypeError
from pypto._src.frontend.decorators import unwrapped
from pypto._src.frontend.programs import Alone, Method, Options, ProgramParser
from pypto._src.frontend.source.python_names import (
    MISSING,
    Environment,
    closure_of,
    function_environment,
)
from pypto._src.frontend.source.source import Source, function_source
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.errors import Errors
from pypto._src.frontend.syntax.annotations import parameter_type
from pypto._src.ir.annotations import InOut, Out, Tensor
from pypto._src.ir.array_types import TensorType, static_shape
from pypto._src.ir.exprs import ConstInt, Var
from pypto._src.ir.stmts import Program
from pypto._src.ir.types import ScalarType
from pypto._src.jit.captures import Outside, Reader, cells_of, names_read
from pypto._src.lazy import lazy_module
from pypto._src.passes.pass_manager import OptimizationStrategy
from pypto._src.records import NamedTuple
from pypto._src.run.arguments import type_text
from pypto._src.run.array_views import Argument, array_view
from pypto._src.suggestions import meant_keyword
from pypto._src.usage_errors import check_kind

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

_CONSTANTS: Final = (int, float, bool, str, DataType)


class _Array(NamedTuple):
    """A tensor parameter; ``kind`` is None where the annotation is a bare ``pl.Tensor``."""

    name: str
    kind: TensorType | None
    default: Any
    is_out: bool = False
    bound: tuple[tuple[int, Var], ...] = ()
    """The dimensions that the body binds to a symbolic size, whatever the annotation says."""

    @property
    def is_fixed(self) -> bool:
        """True if every call has the same shape and element type."""
        if self.kind is None or self.bound:
            return False
        return all(isinstance(dim, ConstInt) for dim in self.kind.shape)


class _Number(NamedTuple):
    """A scalar that the kernel gets at run time."""

    name: str
    kind: ScalarType
    default: Any


class _Constant(NamedTuple):
    """A Python value that is part of the kernel."""

    name: str
    kind: type
    default: Any


_Parameter = _Array | _Number | _Constant
_NONE: Final = object()

MAX_SPECIALISATIONS: Final = 1024
"""So many are kept, of all kernels of the process together, where the environment says nothing."""

_MAX_MISSES: Final = 1024


class _Definition(NamedTuple):
    """The text of a kernel, and how it is compiled."""

    name: str
    function: Any
    source: Source
    node: ast.FunctionDef
    layers: tuple[Mapping[str, Any], ...]  # the names around it, but for those of enclosing calls
    options: Options
    target: TargetName
    strategy: OptimizationStrategy

    def environment(self, frame: FrameType | None = None) -> Environment:
        """Return what names mean around the kernel now."""
        return Environment((closure_of(self.function), *self.layers), frame)

    def outside(self) -> Outside:
        """Return what the kernel reads from outside, as it is now."""
        return Outside(Reader(self.node, cells_of(self.function), self.layers))


class JitFunction:
    """A kernel that compiles itself for the arguments it is called with.

    ``kernel(a, b, out)`` runs it in place on NumPy arrays, or anything that NumPy can view through
    DLPack; ``kernel.lower(...)`` returns the program for such arguments, ``kernel.compile(...)``
    what a call would run. In place of an array both take ``pl.Tensor[[64, 64], pl.FP32]``.

    What it reads from outside has the value of the time of the call. What was not used for long is
    forgotten, and compiled again when it is wanted: see `_Generations`.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        frame: FrameType,
        options: Options,
        target: TargetName,
        strategy: OptimizationStrategy,
    ) -> None:
        if isinstance(func, type):
            raise ParserSyntaxError(
                f"@pl.jit is for a function, got the class {func.__name__!r}",
                place_of_frame(frame),
                hint=f"put @pl.program above class {func.__name__}",
                slug="no-source",
            )
        function = unwrapped(func)
        source, node = function_source(function)
        around = function_environment(function, frame)
        layers = around.layers[1:]
        known = _known_in_frames(node, around)  # the kernel outlives the frame
        self._definition = _Definition(
            node.name, function, source, node, (*layers, known), options, target, strategy
        )
        self.__name__ = node.name
        self.__qualname__: str = function.__qualname__
        self.__module__: str = function.__module__
        self.__doc__: str | None = function.__doc__
        self._lock = threading.RLock()
        self.misses: list[str] = []
        """Why the last 1,024 compilations happened, in order: what no earlier call had."""
        self._version = _Version(self._definition, self._definition.outside(), self.misses)
        self._versions: dict[Hashable, _Version] = {self._version.outside.key: self._version}

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the kernel, compiled for these arguments now if no earlier call had their kinds.

        Raises:
            CallError: the arguments do not fit the parameters.
            ParserError: the kernel makes no sense for these arguments.
            PyptoError: what passes and compilers report.
        """
        try:
            version = self._version
            if not version.outside.holds():
                version = self._present()
            if named or len(args) != len(version.parameters):
                args = version.arranged(args, version.without_config(named))
            try:
                made = version.made[version.key(args)]
            except (KeyError, AttributeError, TypeError):
                made = self._make(version, args)
            return made.run(args if version.takes_all else [args[i] for i in version.passed])
        except CallError as error:
            error.at(place_of_frame(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
            raise

    def lower(self, *args: Any, **named: Any) -> Program:
        """Return the program for these arguments, as parsed: no pass has run.

        Raises:
            CallError, ParserError: as in a call.
        """
        version = self._present()
        try:
            arranged = version.arranged(args, version.without_config(named))
            found = zip(version.parameters, arranged, strict=True)
            views = [version.view(p, a) if isinstance(p, _Array) else a for p, a in found]
        except CallError as error:
            error.at(place_of_frame(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
            raise
        return version.lower(views)

    def compile(self, *args: Any, **named: Any) -> CompiledProgram:
        """Return what a call with these arguments runs; it takes them without the constants.

        Raises:
            CallError, ParserError, PyptoError: as in a call.
        """
        version = self._present()
        try:
            return self._make(version, version.arranged(args, version.without_config(named)))
        except CallError as error:
            error.at(place_of_frame(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
            raise

    def __repr__(self) -> str:
        names = ", ".join(p.name for p in self._version.parameters)
        return f"<pl.jit {self.__qualname__}({names})>"

    def __get__(self, instance: object, owner: type | None = None) -> JitFunction:
        """Return itself: a kernel is no method."""
        return self

    def _make(self, version: _Version, args: tuple[Any, ...]) -> CompiledProgram:
        with self._lock:
            return version.make(args)

    def _present(self) -> _Version:
        """Return the version for what the kernel reads from outside now.

        Raises:
            ParserError: a parameter makes no sense any more.
        """
        if self._version.outside.holds():
            return self._version
        with self._lock:
            outside = self._definition.outside()
            version = self._versions.get(outside.key)
            if version is None:
                version = _Version(self._definition, outside, self.misses, self._version)
                kept = {k: v for k, v in self._versions.items() if v.made or v.older}
                self._versions = {**kept, outside.key: version}
            else:
                version.outside = outside  # equal, in other objects
            self._version = version
            return version


class _Version:
    """A kernel with what it reads from outside at one time, and what was compiled of it."""

    def __init__(
        self,
        definition: _Definition,
        outside: Outside,
        misses: list[str],
        before: _Version | None = None,
    ) -> None:
        self.definition = definition
        self.outside = outside
        self.misses = misses
        self.before: Outside | None = None  # of the last one that something was compiled of
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
        self.parameters = _parameters(header, definition.node.args, definition.function)
        self.passed = [i for i, p in enumerate(self.parameters) if not isinstance(p, _Constant)]
        self.takes_all = len(self.passed) == len(self.parameters)
        self.keys = [_key_of(parameter) for parameter in self.parameters]
        self.are_bare = all(key is _kind_of_array for key in self.keys)
        self.made: dict[tuple[Any, ...], CompiledProgram] = {}  # the young ones: `_Generations`
        self.older: dict[tuple[Any, ...], CompiledProgram] = {}

    def without_config(self, named: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return keywords without ``config=``, which says where to run; that has to be here."""
        config = named.get("config")
        if config is None or any(p.name == "config" for p in self.parameters):
            return named
        from pypto._src.run.config import RunConfig, check_runs_here

        frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
        check_kind("config", config, RunConfig, "write config=RunConfig()", frame)
        check_runs_here(config)
        return {key: value for key, value in named.items() if key != "config"}

    def with_outputs(self, args: Sequence[Any]) -> Sequence[Any]:
        """Return arguments with new arrays for the outputs, if just these are left out.

        An output whose size its array alone tells cannot be left out.
        """
        outputs = [p for p in self.parameters if isinstance(p, _Array) and p.is_out]
        required = [p for p in self.parameters if p.default is _NONE]
        is_short = len(args) < len(required) == len(self.parameters)
        if not outputs or not is_short or len(args) != len(self.parameters) - len(outputs):
            return args
        given = iter(args)
        found: list[Any] = []
        for parameter in self.parameters:
            if not (isinstance(parameter, _Array) and parameter.is_out):
                found.append(next(given))
                continue
            kind = parameter.kind
            shape = None if kind is None or not parameter.is_fixed else static_shape(kind)
            if kind is None or shape is None:
                return args
            found.append(np.zeros(shape, kind.dtype.numpy))
        return found

    def arranged(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments in the order of the parameters."""
        args = args if named else self.with_outputs(args)
        found: list[Any] = list(args)
        rest = dict(named)
        left = [parameter.name for parameter in self.parameters[len(args) :]]
        unknown = next((name for name in named if name not in left), None)
        if unknown is not None:
            what = f"{self.definition.name} does not take argument {unknown!r}"
            error = self.refusal(what, "argument-count")
            error.hint = meant_keyword(unknown, left) or error.hint
            raise error
        for parameter in self.parameters[len(args) :]:
            value = rest.pop(parameter.name, parameter.default)
            if value is _NONE:
                raise self.refusal(f"argument {parameter.name!r} is missing", "argument-count")
            found.append(value)
        if len(found) > len(self.parameters):
            what = f"{self.definition.name} does not take {len(args)} arguments"
            raise self.refusal(what, "argument-count")
        return tuple(found)

    def refusal(self, message: str, slug: str) -> CallError:
        names = ", ".join(p.name for p in self.parameters)
        return CallError(message, hint=f"call it as {self.definition.name}({names})", slug=slug)

    def make(self, args: tuple[Any, ...]) -> CompiledProgram:
        views = [
            self.view(parameter, arg) if isinstance(parameter, _Array) else arg
            for parameter, arg in zip(self.parameters, args, strict=True)
        ]
        key = self.key(views)
        made = _generations.find(self, key)
        if made is None:
            definition = self.definition
            program = self.lower(views)
            reason = self.reason(key)
            made = compile_program(
                program, definition.target, entry=definition.name, strategy=definition.strategy
            )
            self.misses.append(reason)
            del self.misses[:-_MAX_MISSES]
            _generations.add(self, key, made)
        if not any(isinstance(arg, Tensor) for arg in args):
            # An array of another library has a key of its own, which then leads here as well.
            _generations.add(self, self.key(args), made)
        return made

    def key(self, args: Sequence[Any]) -> tuple[Any, ...]:
        if self.are_bare and len(args) == len(self.keys):  # the same, without calls
            return tuple([(arg.shape, arg.dtype) for arg in args])
        return tuple([key(arg) for key, arg in zip(self.keys, args, strict=True)])

    def lower(self, args: Sequence[Any]) -> Program:
        definition = self.definition
        constants: dict[str, Any] = {}
        sizes: dict[Var, int] = {}
        kinds: dict[str, TensorType] = {}
        for parameter, arg in zip(self.parameters, args, strict=True):
            match parameter:
                case _Constant():
                    constants[parameter.name] = self.constant(parameter, arg)
                case _Array(kind=TensorType() as kind):
                    self.measure(parameter, _bound(kind, parameter.bound), arg.shape, sizes)
                    if parameter.bound:
                        kinds[parameter.name] = TensorType(arg.shape, kind.dtype)
                case _Array():
                    kinds[parameter.name] = self.tensor_type(parameter, arg)
                case _Number():
                    continue
        spelled = {_hidden(name): kind for name, kind in kinds.items()}
        environment = _Around(self.environment, {**constants, **spelled}, sizes)
        parser = ProgramParser(self.definition.name, {})
        parser.add(
            definition.source,
            _specialised(definition.node, constants, kinds),
            environment,
            definition.options,
        )
        return parser.finish(definition.source.span(definition.node), entry=self.definition.name)

    def constant(self, parameter: _Constant, arg: Any) -> Any:
        is_bool = isinstance(arg, bool) and parameter.kind is not bool
        wanted = (int, float) if parameter.kind is float else parameter.kind
        if isinstance(arg, wanted) and not is_bool:
            return arg
        raise CallError(
            f"argument {parameter.name!r} of {self.definition.name} is {arg!r}; a Python "
            f"{parameter.kind.__name__} was wanted, which becomes part of the kernel",
            hint=f"{parameter.kind.__name__}({parameter.name})" if isinstance(arg, float) else None,
            slug="argument-kind",
        )

    def view(self, parameter: _Array, arg: Any) -> Array | _Abstract:
        """Return what has shape and dtype of an argument."""
        if isinstance(arg, Tensor) and arg.dtype is not None:
            return _Abstract(tuple(arg.shape), arg.dtype.numpy)
        argument = Argument(
            parameter.name, self.definition.name, "an array", "np.float32", is_written=False
        )
        return array_view(arg, argument)

    def tensor_type(self, parameter: _Array, arg: Array | _Abstract) -> TensorType:
        dtype = _element_types().get(arg.dtype)
        if dtype is not None:
            return TensorType(arg.shape, dtype)
        raise CallError(
            f"argument {parameter.name!r} of {self.definition.name} is an array of {arg.dtype}, "
            "which is no element type of a kernel",
            hint=f"pass {parameter.name}.astype(np.float32)",
            slug="argument-dtype",
        )

    def measure(
        self,
        parameter: _Array,
        kind: TensorType,
        shape: tuple[int, ...],
        sizes: dict[Var, int],
    ) -> None:
        """Note the sizes that an argument gives to symbolic dimensions."""
        fits = len(shape) == len(kind.shape)
        for dim, size in zip(kind.shape, shape, strict=False):
            if isinstance(dim, Var):
                fits = fits and sizes.setdefault(dim, size) == size
        if not fits:
            raise CallError(
                f"argument {parameter.name!r} of {self.definition.name} is an array {list(shape)}; "
                f"{type_text(kind)} was wanted"
                + "".join(f", with {dim.name} = {size}" for dim, size in sizes.items()),
                slug="argument-shape",
            )

    def reason(self, key: tuple[Any, ...]) -> str:
        """Return what sets a call apart from the most similar one before."""
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


class _Generations:
    """Forgets the specialisations that were not used lately, of all kernels of the process.

    What is compiled, or found again, is young. When half of those that may be kept are young, what
    is old is forgotten, and what is young becomes old. So what is forgotten was not used while
    half as many others were, and a call that finds a young one, as nearly every call does, does
    nothing for it. A program that runs, or that somebody holds, lives on until it is let go.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._versions: weakref.WeakSet[_Version] = weakref.WeakSet()

    def find(self, version: _Version, key: tuple[Any, ...]) -> CompiledProgram | None:
        """Return a specialisation, which is young from now on, or None."""
        found = version.made.get(key) or version.older.get(key)
        if found is not None:
            self.add(version, key, found)
        return found

    def add(self, version: _Version, key: tuple[Any, ...], made: CompiledProgram) -> None:
        """Keep a specialisation, as a young one, and forget old ones if there are too many."""
        forgotten: list[object] = []  # outlives the lock: what is let go may run code of others
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


_generations: Final = _Generations()


class _Around(Environment):
    """What names mean around one specialisation."""

    __slots__ = ("_sizes",)

    def __init__(self, outer: Environment, names: Mapping[str, Any], sizes: dict[Var, int]) -> None:
        super().__init__((names, *outer.layers), outer.frame)
        self._sizes = sizes

    def get(self, name: str) -> Any:
        """Return what ``name`` stands for; a symbolic dimension with a known size is that size."""
        value = super().get(name)
        return self._sizes.get(value, value) if isinstance(value, Var) else value


def _known_in_frames(node: ast.FunctionDef, around: Environment) -> dict[str, Any]:
    """Return the names of a kernel that only the frames around its definer have."""
    names = [name for name in names_read(node) if all(name not in layer for layer in around.layers)]
    found = {name: around.get(name) for name in names}
    return {name: value for name, value in found.items() if value is not MISSING}


def _parameters(ctx: Context, args: ast.arguments, function: Any) -> list[_Parameter]:
    listed = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    for odd in (args.vararg, args.kwarg):
        if odd is not None:
            raise ParserTypeError(
                "kernels do not have '*' before a parameter", ctx.span(odd), slug="annotation"
            )
    positional = function.__defaults__ or ()
    first = len(args.posonlyargs) + len(args.args) - len(positional)
    defaults = {arg.arg: value for arg, value in zip(listed[first:], positional, strict=False)}
    defaults.update(function.__kwdefaults__ or {})
    found: dict[str, _Parameter] = {}
    # A dimension may be a scalar parameter that stands later.
    for arg in sorted(listed, key=lambda arg: isinstance(arg.annotation, ast.Subscript)):
        found[arg.arg] = _parameter(ctx, arg, defaults.get(arg.arg, _NONE))
    bound = _bound_sizes(ctx)
    made = [found[arg.arg] for arg in listed]
    return [_with_bound(p, bound.get(p.name, ())) for p in made]


def _with_bound(parameter: _Parameter, bound: Sequence[tuple[int, Var]]) -> _Parameter:
    if not isinstance(parameter, _Array) or parameter.kind is None:
        return parameter
    rank = len(parameter.kind.shape)
    return parameter._replace(bound=tuple([b for b in bound if -rank <= b[0] < rank]))


def _bound(kind: TensorType, bound: Sequence[tuple[int, Var]]) -> TensorType:
    """Return a type with symbolic sizes in the dimensions that are bound to them."""
    if not bound:
        return kind
    shape = list(kind.shape)
    for axis, size in bound:
        shape[axis] = size
    return TensorType(shape, kind.dtype)


def _bound_sizes(ctx: Context) -> dict[str, list[tuple[int, Var]]]:
    """Return what statements ``x.bind_dynamic(0, ROWS)`` of the body say, by parameter."""
    found: dict[str, list[tuple[int, Var]]] = {}
    for node in ctx.node.body:
        match node:
            case ast.Expr(
                ast.Call(
                    ast.Attribute(ast.Name(id=name), attr="bind_dynamic"),
                    [ast.Constant(value=int(axis)), ast.Name() as size],
                )
            ):
                value = ctx.peek(size)
                if isinstance(value, Var):
                    found.setdefault(name, []).append((axis, value))
            case _:
                continue
    return found


def _parameter(ctx: Context, arg: ast.arg, default: Any) -> _Parameter:
    node = arg.annotation
    if node is None:
        raise ParserTypeError(
            f"parameter {arg.arg!r} has no type",
            ctx.span(arg),
            hint=f"write {arg.arg}: pl.Tensor, or {arg.arg}: int for a constant",
            slug="annotation",
        )
    inner = _inside(ctx, node)
    meant = ctx.peek(inner)
    is_out = isinstance(node, ast.Subscript) and ctx.peek(node.value) is Out
    if meant is Tensor:
        return _Array(arg.arg, None, default, is_out)
    if isinstance(meant, type) and meant in _CONSTANTS:
        return _Constant(arg.arg, meant, default)
    kind, _ = parameter_type(ctx, node)
    if isinstance(kind, TensorType):
        return _Array(arg.arg, kind, default, is_out)
    if isinstance(kind, ScalarType):
        ctx.names.bind(arg.arg, Var(arg.arg, kind, ctx.span(arg)))
        return _Number(arg.arg, kind, default)
    raise ParserTypeError(
        f"parameter {arg.arg!r} is neither an array nor a number: Python cannot pass it",
        ctx.span(node),
        hint=f"write {arg.arg}: pl.Tensor",
        slug="annotation",
    )


def _inside(ctx: Context, node: ast.expr) -> ast.expr:
    """Return what stands in ``pl.Out[...]`` or ``pl.InOut[...]``, else ``node``."""
    if isinstance(node, ast.Subscript) and ctx.peek(node.value) in (Out, InOut):
        return node.slice
    return node


def _hidden(name: str) -> str:
    """Return the name under which a specialisation finds a parameter's type."""
    return f"type of {name}"


def _specialised(
    node: ast.FunctionDef, constants: Mapping[str, Any], kinds: Mapping[str, TensorType]
) -> ast.FunctionDef:
    """Return a definition without its constant parameters, and with the types it is called with."""

    def one(arg: ast.arg) -> ast.arg:
        annotation = arg.annotation
        if arg.arg not in kinds or annotation is None:
            return arg
        name = ast.Name(_hidden(arg.arg), ast.Load())
        made = copy.copy(arg)
        if isinstance(annotation, ast.Subscript) and not isinstance(annotation.slice, ast.Tuple):
            ast.copy_location(name, annotation.slice)
            made.annotation = copy.copy(annotation)
            made.annotation.slice = name
        else:
            made.annotation = ast.copy_location(name, annotation)
        return made

    args = node.args
    listed = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    made = copy.copy(node)
    kept = [one(arg) for arg in listed if arg.arg not in constants]
    made.args = ast.arguments(posonlyargs=[], args=kept, kwonlyargs=[], kw_defaults=[], defaults=[])
    return made


def _key_of(parameter: _Parameter) -> Callable[[Any], Any]:
    """Return the function from an argument to what a specialisation of it depends on."""
    match parameter:
        case _Array(kind=None):
            return _kind_of_array
        case _Array():
            return _nothing if parameter.is_fixed else _shape_of_array
        case _Constant():
            return _constant_key
        case _Number():
            return _nothing


def _kind_of_array(arg: Any) -> Any:
    return arg.shape, arg.dtype


def _shape_of_array(arg: Any) -> Any:
    return arg.shape


def _constant_key(arg: Any) -> Any:
    return type(arg), arg  # 1, 1.0 and True are three constants


def _nothing(_arg: Any) -> None:
    return None


class _Abstract(NamedTuple):
    """Shape and dtype of an array that is not there."""

    shape: tuple[int, ...]
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
    """Return one part of a key as text: that of a constant, of an array, of a shape."""
    if not isinstance(part, tuple):
        return str(part)
    items = cast("tuple[Any, ...]", part)
    if items and isinstance(items[0], type):
        return repr(items[1])
    if items and isinstance(items[0], tuple):
        return f"{items[1]} {list(cast('tuple[int, ...]', items[0]))}"
    return str(list(items))
