"""Functions that are inlined into the kernels that call them: ``@pl.jit.inline`` and the like.

The text is read when a kernel first calls the function, and kept as it is then. The whole body of a
function of ``@pl.jit.incore`` is a region; for one of ``@pl.jit.extern``, the function that was
registered as its substitute is called.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any, Final

from pypto._src.errors import UnsupportedFeatureError
from pypto._src.frontend.region_markers import Level, at
from pypto._src.frontend.source.python_names import MISSING, Environment, function_environment
from pypto._src.frontend.source.source import Source, function_source
from pypto._src.frontend.syntax.inline import InlineFunction
from pypto._src.ir.annotations import InOut, Out
from pypto._src.records import NamedTuple


class InlineKernel(InlineFunction):
    """A function whose body is expanded where it is called; its text is not read before that."""

    is_spliced = True

    def __init__(self, func: Callable[..., Any], frame: FrameType, *, auto_scope: bool) -> None:
        self.function = func
        self.name = func.__name__
        self.auto_scope = auto_scope
        self.__name__ = func.__name__
        self.__qualname__: str = func.__qualname__
        self.__module__: str = func.__module__
        self.__doc__: str | None = func.__doc__
        self._layers = function_environment(func, frame).layers

    @cached_property
    def _read(self) -> tuple[Source, ast.FunctionDef]:
        return function_source(self.function)

    @property
    def source(self) -> Source:
        """The text that contains the function."""
        return self._read[0]

    @property
    def func_def(self) -> ast.FunctionDef:
        """The syntax tree."""
        return self._read[1]

    @property
    def environment(self) -> Environment:
        """What the names around it mean now."""
        own = function_environment(self.function, _NO_FRAME)
        return Environment((own.layers[0], *self._layers[1:]))

    @property
    def param_names(self) -> list[str]:
        """The names of the parameters, in order."""
        args = self.func_def.args
        return [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]

    @cached_property
    def marks_region(self) -> bool:
        """True if the body has regions or calls such a function: its caller is a host function."""
        environment = self.environment
        for node in ast.walk(self.func_def):
            if isinstance(node, ast.Call):
                callee = object_of(environment, node.func)
                if callee is not self and getattr(callee, "marks_region", False) is True:
                    return True
        return False

    def __repr__(self) -> str:
        return f"<pl.jit.inline {self.name}>"


class CoreKernel(InlineKernel):
    """A function that runs on one core: called outside regions, its body becomes a region."""

    marks_region = True  # pyright: ignore[reportAssignmentType]  whatever its body has

    def __init__(self, func: Callable[..., Any], frame: FrameType) -> None:
        super().__init__(func, frame, auto_scope=True)
        self._whole = _WholeRegion(func, frame)

    def placed(self, *, in_region: bool) -> InlineFunction:
        """Return the function with or without the region around its body."""
        return self if in_region else self._whole

    def __repr__(self) -> str:
        return f"<pl.jit.incore {self.name}>"


class _WholeRegion(InlineKernel):
    """A function whose body is wrapped in ``with pl.at(...)``, named like the function."""

    marks_region = True  # pyright: ignore[reportAssignmentType]

    def __init__(self, func: Callable[..., Any], frame: FrameType) -> None:
        super().__init__(func, frame, auto_scope=True)

    @property
    def environment(self) -> Environment:
        """What the names around it mean now."""
        return super().environment.inside(_HIDDEN)

    @property
    def func_def(self) -> ast.FunctionDef:
        """The definition with the region."""
        return self._with_region

    @cached_property
    def _with_region(self) -> ast.FunctionDef:
        node = super().func_def
        *body, last = node.body
        returned: ast.Return | None = None
        if isinstance(last, ast.Return):
            returned = last
            body += _results_named(last)
        else:
            body.append(last)
            returned = self._outputs(node)
        words = {"level": _LEVEL, "name_hint": None}
        call = ast.Call(
            ast.Name(_AT, ast.Load()),
            [],
            [
                ast.keyword(word, ast.Name(name, ast.Load()) if name else ast.Constant(self.name))
                for word, name in words.items()
            ],
        )
        region = ast.With([ast.withitem(call)], body)
        for item in ast.walk(call):
            ast.copy_location(item, node)
        made = copy.copy(node)
        made.body = [ast.copy_location(region, body[0])]
        region.end_lineno, region.end_col_offset = last.end_lineno, last.end_col_offset
        if returned is not None:
            made.body.append(returned)
        return made

    def _outputs(self, node: ast.FunctionDef) -> ast.Return | None:
        """Return the return statement for the outputs, of a function that returns nothing."""
        environment = self.environment
        found: list[ast.expr] = []
        for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            kind = arg.annotation
            if isinstance(kind, ast.Subscript) and object_of(environment, kind.value) in (
                Out,
                InOut,
            ):
                found.append(ast.copy_location(ast.Name(arg.arg, ast.Load()), arg))
        if not found:
            return None
        value = found[0] if len(found) == 1 else ast.Tuple(found, ast.Load())
        return ast.copy_location(ast.Return(ast.copy_location(value, node.body[-1])), node.body[-1])


def _results_named(node: ast.Return) -> list[ast.stmt]:
    """Return assignments of returned values to names; the statement then returns the names."""
    value = node.value
    if value is None or isinstance(value, ast.Name):
        return []
    items = value.elts if isinstance(value, ast.Tuple) else [value]
    made: list[ast.stmt] = []
    names: list[ast.expr] = []
    for index, item in enumerate(items):
        if isinstance(item, ast.Name):
            names.append(item)
            continue
        name = f"returned_{index}"
        target = ast.copy_location(ast.Name(name, ast.Store()), item)
        made.append(ast.copy_location(ast.Assign([target], item), item))
        names.append(ast.copy_location(ast.Name(name, ast.Load()), item))
    tuple_ = ast.copy_location(ast.Tuple(names, ast.Load()), value)
    node.value = tuple_ if isinstance(value, ast.Tuple) else names[0]
    return made


class ExternKernel(InlineKernel):
    """A kernel written in C++ for the device; a substitute runs here."""

    marks_region = True  # pyright: ignore[reportAssignmentType]

    def __init__(self, func: Callable[..., Any], frame: FrameType, options: ExternOptions) -> None:
        super().__init__(func, frame, auto_scope=True)
        self.options = options

    def placed(self, *, in_region: bool) -> InlineFunction:
        """Return the registered substitute.

        Raises:
            UnsupportedFeatureError: there is none.
        """
        found = SUBSTITUTES.get(self.name)
        if found is not None:
            return found.placed(in_region=in_region)
        files = [self.options.source, self.options.aic_source, self.options.aiv_source]
        texts = ", ".join(Path(file).name for file in files if file is not None)
        raise UnsupportedFeatureError(
            f"the kernel {self.name!r} is C++ for the device ({texts}), which does not run here",
            hint=f"write runtime.register_extern({self.name!r}, kernel)",
            note="kernel is a function of @pl.jit.incore that does the same here",
            slug="extern-kernel",
        )

    def __repr__(self) -> str:
        return f"<pl.jit.extern {self.name}>"


class ExternOptions(NamedTuple):
    """The arguments of ``@pl.jit.extern(...)``."""

    core_type: str
    source: str | None
    aic_source: str | None
    aiv_source: str | None
    dual_aiv_dispatch: bool
    include_dirs: tuple[str, ...]


SUBSTITUTES: Final[dict[str, InlineKernel]] = {}
"""Substitutes that run on this machine for C++ kernels, by the names of those."""

_AT: Final = "the region"
_LEVEL: Final = "the level"
_HIDDEN: Final[dict[str, Any]] = {_AT: at, _LEVEL: Level.CORE_GROUP}
"""Names that no kernel can have."""


_NO_FRAME: Any = type("NoFrame", (), {"f_locals": {}, "f_globals": {}})()


def object_of(environment: Environment, node: ast.expr) -> Any:
    """Return the object that a name, or an attribute of one, stands for; `MISSING` if none."""
    if isinstance(node, ast.Name):
        return environment.get(node.id)
    if isinstance(node, ast.Attribute):
        base = object_of(environment, node.value)
        return MISSING if base is MISSING else getattr(base, node.attr, MISSING)
    return MISSING
