"""``@pl.jit``: a kernel that is specialised, compiled and run when it is called with arrays."""

from __future__ import annotations

import ast
import functools
import sys
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import span_of_caller, span_of_frame
from pypto._src.driver import CompiledProgram, TargetName, pass_manager
from pypto._src.dtypes import DataType
from pypto._src.errors import CallError, ParserError, ParserSyntaxError, PyptoError
from pypto._src.frontend.decorators import unwrapped
from pypto._src.frontend.inline_kernels import InlineKernel
from pypto._src.frontend.programs import Options
from pypto._src.frontend.region_markers import RUNTIME
from pypto._src.frontend.source.python_names import (
    closure_of,
    enclosing_names,
    function_environment,
    plain_value,
)
from pypto._src.frontend.source.source import function_source
from pypto._src.frontend.syntax.inline import Entry, InlineFunction
from pypto._src.ir.stmts import Program
from pypto._src.jit.captures import names_read
from pypto._src.jit.parameters import (
    REQUIRED,
    ArrayParameter,
    ConstantParameter,
    NumberParameter,
    Parameter,
    ScalarParameter,
    WindowArgument,
    WindowParameter,
)
from pypto._src.jit.specialisation import Definition, Version
from pypto._src.passes.pass_manager import OptimizationStrategy
from pypto._src.records import NamedTuple

if TYPE_CHECKING:
    from inspect import Signature

    from pypto._src.run.config import RunConfig


class _Options(NamedTuple):
    """The options of ``@pl.jit(...)``."""

    function: Options
    target: TargetName
    strategy: OptimizationStrategy
    is_host: bool = False
    overlap: bool = False


class JitFunction(Entry):
    """A kernel that compiles itself for the arguments it is called with.

    ``kernel(a, b, out)`` runs it in place on NumPy arrays, or anything that NumPy can view through
    DLPack; without ``out`` it returns a new array. ``kernel.parse(...)`` returns the program for
    such arguments, ``kernel.lower(...)`` the same after all passes, ``kernel.compile(...)`` what a
    call would run. In place of an array they take ``pl.Tensor[[64, 64], pl.FP32]``.

    The source is not read before the first of these. Captured variables have their value at the
    time of the call. Specialisations not used lately are dropped, and compiled again when they
    are needed: see `Generations`.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        frame: FrameType,
        options: Options,
        target: TargetName,
        strategy: OptimizationStrategy,
        *,
        is_host: bool = False,
        overlap: bool = False,
    ) -> None:
        if isinstance(func, type):
            raise ParserSyntaxError(
                f"@pl.jit is for a function, got the class {func.__name__!r}",
                span_of_frame(frame),
                hint=f"put @pl.program above class {func.__name__}",
                slug="no-source",
            )
        function = unwrapped(func)
        if not hasattr(function, "__code__"):
            function_source(function)  # raises, and says what was passed in place of a function
        self._function = function
        self._inline = InlineKernel(function, frame, auto_scope=True)
        self._layers = function_environment(function, frame).layers[1:]
        self._frames = enclosing_names(frame)  # copied, as the kernel outlives the frame
        self._options = _Options(options, target, strategy, is_host, overlap)
        self.is_host = is_host
        self.__name__: str = function.__name__
        self.__qualname__: str = function.__qualname__
        self.__module__: str = function.__module__
        self.__doc__: str | None = function.__doc__
        self._lock = threading.RLock()
        self.misses: list[str] = []
        """Why the last 1,024 compilations happened, in order: what differed from earlier calls."""
        self._version: Version | None = None
        self._versions: dict[Hashable, Version] = {}

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the kernel, compiling it first if no earlier call had arguments of these kinds.

        Raises:
            CallError: the arguments do not fit the parameters.
            ParserError: the kernel makes no sense for these arguments.
            PyptoError: a pass or compiler reports an error.
        """
        try:
            config = self._present().config(named) if "config" in named else None
            return self.run_kernel(args, named, config)
        except CallError as error:
            error.at(span_of_caller(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
            raise

    def run_kernel(
        self,
        args: Sequence[Any],
        named: Mapping[str, Any] | None = None,
        config: RunConfig | None = None,
    ) -> Any:
        """Run the kernel on a sequence of arguments; errors have no location of the call.

        Outputs that are left out are new arrays, which are returned if the kernel returns nothing.

        Raises:
            CallError, ParserError, PyptoError: as in a call.
        """
        version = self._version
        if version is None or not version.outside.holds():
            version = self._present()
        new: list[Any] = []
        if named or len(args) != len(version.parameters):
            passed = (*args, *(named or {}).values())
            args = version.arranged(args, named or {})
            new = version.added(args, passed)
        args = tuple(args)
        try:
            made = version.made[version.key(args)]
        except (KeyError, AttributeError, TypeError):
            version.refuse_runtime(args)
            made = self._make(version, args)
        if config is not None:
            made = made.with_config(config)
            made.prepare()
        found = made.run(args if version.takes_all else [args[i] for i in version.passed])
        if found is None and new:  # a kernel without a return: only this has these arrays
            return new[0] if len(new) == 1 else tuple(new)
        return found

    def parameters(self) -> Sequence[Parameter]:
        """Return the parameters as their annotations declare them now.

        Raises:
            ParserError: a parameter makes no sense.
        """
        return self._present().parameters

    def parse(self, *args: Any, **named: Any) -> Program:
        """Return the program for these arguments, as parsed: no pass has run.

        Raises:
            CallError, ParserError: as in a call.
        """
        try:
            version = self._present()
            version.config(named)
            return version.program(version.checked(version.arguments(args, named)))
        except CallError as error:
            error.at(span_of_frame(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
            raise

    def lower(self, *args: Any, **named: Any) -> Program:
        """Return the program for these arguments after all passes.

        Raises:
            CallError, ParserError, PyptoError: as in a call.
        """
        try:
            version = self._present()
            config = version.config(named)
            program = version.program(version.checked(version.arguments(args, named)))
            strategy = None if config is None else config.strategy
            overlap = None if config is None else config.overlap
            manager = pass_manager(
                program,
                strategy or self._options.strategy,
                overlap=self._options.overlap if overlap is None else overlap,
            )
            return manager.run_passes(program)
        except CallError as error:
            error.at(span_of_frame(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
            raise

    def compile(self, *args: Any, **named: Any) -> CompiledProgram:
        """Return what a call with these arguments runs; it takes them without the constants.

        A scalar passed as ``pl.RUNTIME`` is not specialised on: each call supplies it. Without any
        array, shapes are those of the annotations: ``kernel.compile(n=pl.RUNTIME)``.

        Raises:
            CallError, ParserError, PyptoError: as in a call.
        """
        try:
            version = self._present()
            config = version.config(named)
            given = version.arguments(args, named)
            version.checked(given)
            made = self._make(version, given)
            return made if config is None else made.with_config(config)
        except CallError as error:
            error.at(span_of_frame(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
            raise

    def declared(self, sizes: Mapping[str, int] = MappingProxyType({})) -> Program:
        """Return the program for the shapes of the annotations; each call supplies the scalars.

        If it needs named sizes as numbers, it is the one for ``sizes``.

        Raises:
            CallError: an annotation has no shape, or a constant of the kernel has no default.
            ParserError: the kernel makes no sense for such arguments.
        """
        version = self._present()
        _check_declarations(version)
        scalars = [p for p in version.parameters if isinstance(p, ScalarParameter)]
        numbers = {p.name: RUNTIME for p in scalars if p.default is REQUIRED}
        try:
            return version.program(version.views(version.arguments((), numbers)))
        except ParserError as error:
            if error.slug != "slice-size":
                raise
            if sizes:
                return self.of_sizes((), {**version.declared_arguments(sizes), **numbers})
            try:
                version.declared_arguments(sizes)
            except CallError as missing:
                error.noted(f"calls compile it for their sizes; to check some, add {missing.hint}")
            raise

    def declared_arguments(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        """Return arguments of the kinds that annotations declare, by name, with named ``sizes``.

        Raises:
            CallError: an annotation has no shape, or a size is not given.
            ParserError: a parameter makes no sense.
        """
        return self._present().declared_arguments(sizes)

    def of_sizes(self, args: Sequence[Any], named: Mapping[str, Any]) -> Program:
        """Return the program for arguments, with all sizes as numbers.

        Raises:
            CallError, ParserError: as in a call.
        """
        version = self._present()
        views = version.views(version.arguments(args, named))
        return version.lowered(views, any_size=False)

    def numbers(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, int]:
        """Return the integer arguments of a call that the kernel is not specialised on."""
        version = self._present()
        given = zip(version.parameters, version.arguments(args, named), strict=True)
        return {
            parameter.name: value
            for parameter, value in given
            if isinstance(parameter, NumberParameter) and isinstance(value, int)
        }

    @property
    def overlap(self) -> bool:
        """True if loops overlap unless a call says otherwise."""
        return self._options.overlap

    def kinds(self, args: Sequence[Any], named: Mapping[str, Any]) -> Hashable:
        """Return the specialisation key of a call: shapes, element types, constants.

        Raises:
            CallError, ParserError: as in a call.
        """
        version = self._present()
        return version.kinds(version.views(version.arguments(args, named)))

    def __repr__(self) -> str:
        names = self._function.__code__.co_varnames[: self._function.__code__.co_argcount]
        return f"<pl.jit {self.__qualname__}({', '.join(names)})>"

    def __get__(self, instance: object, owner: type | None = None) -> JitFunction:
        """Return itself: a kernel is not a method."""
        return self

    @property
    def parameter_names(self) -> list[str]:
        """The names of all parameters, in order."""
        code = self._function.__code__
        return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])

    @property
    def __signature__(self) -> Signature:
        """The signature that `help`, notebooks and shells show: the parameters as declared."""
        import inspect

        found = inspect.signature(self._function)
        try:
            _, node = function_source(self._function)
        except ParserSyntaxError:  # typed at a prompt, which a call reports
            return found
        types = {each.arg: each.annotation for each in (*node.args.args, *node.args.kwonlyargs)}
        texts = {name: ast.unparse(each) for name, each in types.items() if each is not None}
        shown = [
            p.replace(annotation=texts.get(p.name, p.empty)) for p in found.parameters.values()
        ]
        return found.replace(parameters=shown)

    @property
    def file(self) -> str:
        """The file that defines the kernel."""
        return self._definition.source.filename

    def as_inline(self) -> InlineFunction:
        """Return the function that is spliced into a host function."""
        return self._inline

    def launched(
        self, args: Sequence[Any], named: Mapping[str, Any], rank: int
    ) -> tuple[CompiledProgram, list[Any]]:
        """Return the program that a host function's call on a device runs, and its arguments.

        One program serves all ranks, so scalars are run-time arguments, unless the kernel needs
        them when it is compiled. A kernel with windows gets the number of its rank.

        Raises:
            CallError, ParserError, PyptoError: as in a call.
        """
        version = self._present()
        given = version.arranged(args, named)
        version.views(given)
        free = tuple(
            RUNTIME if isinstance(parameter, ScalarParameter) else value
            for parameter, value in zip(version.parameters, given, strict=True)
        )
        if version.needs_numbers:
            made = self._make(version, given)
        else:
            try:
                made = self._make(version, free)
            except PyptoError:
                if not any(value is RUNTIME for value in free):
                    raise
                made = self._make(version, given)
                version.needs_numbers = True
        passed = [given[index] for index in version.passed]
        values = [arg.rows if isinstance(arg, WindowArgument) else arg for arg in passed]
        if any(isinstance(each, WindowParameter) for each in version.parameters):
            values.append(rank)
        return made, values

    def _make(self, version: Version, args: tuple[Any, ...]) -> CompiledProgram:
        with self._lock:
            return version.make(args)

    @functools.cached_property
    def _definition(self) -> Definition:
        function, layers = self._function, self._layers
        source, node = function_source(function)
        known = _known_in_frames(node, (closure_of(function), *layers), self._frames)
        self._frames = ()
        return Definition(node.name, function, source, node, (*layers, known), *self._options)

    def _present(self) -> Version:
        """Return the version for the current values of captured variables.

        Raises:
            ParserError: a parameter makes no sense, or no longer does.
        """
        if self._version is not None and self._version.outside.holds():
            return self._version
        with self._lock:
            outside = self._definition.outside()
            version = self._versions.get(outside.key)
            if version is None:
                version = Version(self._definition, outside, self.misses, self._version)
                kept = {k: v for k, v in self._versions.items() if v.made or v.older}
                self._versions = {**kept, outside.key: version}
            else:
                version.outside = outside  # equal, in other objects
            self._version = version
            return version


def _known_in_frames(
    node: ast.FunctionDef, layers: Sequence[Mapping[str, Any]], frames: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the names of a kernel that only the frames enclosing its definer have."""
    found: dict[str, Any] = {}
    for name in names_read(node):
        if all(name not in layer for layer in layers):
            holder = next((frame for frame in frames if name in frame), None)
            if holder is not None:
                found[name] = plain_value(holder[name])
    return found


def _check_declarations(version: Version) -> None:
    """Raise the error, at its place, of a parameter that only a call tells."""
    definition = version.definition
    arguments = definition.node.args
    nodes = {a.arg: a for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for parameter in version.parameters:
        try:
            if isinstance(parameter, ArrayParameter):
                version.declared(parameter)
            elif isinstance(parameter, ConstantParameter) and parameter.default is REQUIRED:
                value = _VALUES[parameter.kind]
                raise CallError(
                    f"parameter {parameter.name!r} of {definition.name} is a constant of the "
                    f"kernel without a default, and {definition.name} is compiled without a call",
                    hint=f"write program = {definition.name}.parse({parameter.name}={value}) "
                    "at the end",
                    slug="argument-count",
                )
        except CallError as error:
            raise error.at(definition.source.span(nodes[parameter.name])) from None


_VALUES: Final = {int: "64", float: "1.0", bool: "True", str: '"name"', DataType: "pl.FP32"}
"""What constants of kernels may be, for a hint."""
