"""``@pl.jit.inline``: functions that are spliced into the kernels that call them.

The text is read when a kernel first calls the function, and stays what it was then.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cached_property
from types import FrameType
from typing import Any

from pypto._src.frontend.source.python_names import MISSING, Environment, function_environment
from pypto._src.frontend.source.source import Source, function_source
from pypto._src.frontend.syntax.inline import InlineFunction


class InlineKernel(InlineFunction):
    """A function whose body is expanded where it is called; nothing is read before."""

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
        """The text that the function stands in."""
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
        """True if the body has regions, or calls such a function: its caller is a host function."""
        environment = self.environment
        for node in ast.walk(self.func_def):
            if isinstance(node, ast.Call):
                callee = _object(environment, node.func)
                if callee is not self and getattr(callee, "marks_region", False) is True:
                    return True
        return False

    def __repr__(self) -> str:
        return f"<pl.jit.inline {self.name}>"


_NO_FRAME: Any = type("NoFrame", (), {"f_locals": {}, "f_globals": {}})()


def _object(environment: Environment, node: ast.expr) -> Any:
    """Return the object that a name, or an attribute of one, stands for; `MISSING` if none."""
    if isinstance(node, ast.Name):
        return environment.get(node.id)
    if isinstance(node, ast.Attribute):
        base = _object(environment, node.value)
        return MISSING if base is MISSING else getattr(base, node.attr, MISSING)
    return MISSING
