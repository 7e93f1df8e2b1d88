"""``pl.jit``: the decorators that make kernels which are called with arrays.

What such a kernel does when it is called is in `function`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, overload

from pypto._src.driver import TargetName, check_strategy, check_target
from pypto._src.frontend.decorators import unwrapped
from pypto._src.frontend.programs import Options
from pypto._src.ir.enums import FunctionType
from pypto._src.jit.function import JitFunction
from pypto._src.passes.pass_manager import OptimizationStrategy
from pypto._src.suggestions import refuse_keywords
from pypto._src.usage_errors import check_kind

if TYPE_CHECKING:
    from typing import ParamSpec, TypeVar

    from pypto._src.frontend.decorators import DeclaredInline

    P = ParamSpec("P")
    R = TypeVar("R")


class Jit:
    """``@pl.jit``, and the functions that such kernels call: ``@pl.jit.inline``."""

    @overload
    def __call__(self, func: Callable[..., Any], /) -> JitFunction: ...
    @overload
    def __call__(
        self,
        func: None = None,
        *,
        type: FunctionType = ...,
        target: TargetName = ...,
        strategy: OptimizationStrategy = ...,
        auto_scope: bool = ...,
    ) -> Callable[[Callable[..., Any]], JitFunction]: ...
    def __call__(
        self,
        func: Callable[..., Any] | None = None,
        *,
        type: FunctionType = FunctionType.Opaque,  # noqa: A002  as in pl.function
        target: TargetName = "cpu",
        strategy: OptimizationStrategy = OptimizationStrategy.Default,
        auto_scope: bool = True,
        **unknown: Any,
    ) -> Any:
        """Make a Python function a kernel that compiles itself for the arguments it is called with.

        Parameters are annotated with

        * ``pl.Tensor``: any array; the kernel is specialised on its shape and element type;
        * ``pl.Tensor[[M, 64], pl.FP32]``: such an array; one kernel serves all sizes that have a
          name (``M = pl.dynamic("M")``, here or in ``x.bind_dynamic(0, M)``), unless its body
          needs them as numbers: then it is specialised on them;
        * ``pl.Scalar[pl.INT32]``: a number that is part of the kernel, which is specialised on it;
        * ``pl.INT32`` and other element types: a number at run time;
        * ``int``, ``float``, ``bool``, ``str``, ``pl.DataType``: a constant, which may be no
          number.

        Directions are written as ever: ``out: pl.Out[pl.Tensor]``. Parameters may have defaults.

        Args:
            func: The function; without it ``jit(...)`` returns the decorator.
            type: Where the function runs, as in ``pl.function``.
            target: ``cpu`` or ``interpreter``, as in ``pypto.runtime.compile``.
            strategy: The passes that run.
            auto_scope: Whether the runtime bounds the lifetime of tasks by itself; no value depends
                on it.
            unknown: Nothing: other keywords are refused.

        Raises:
            ParserError: this is no function. Other mistakes are found by the first call: nothing
                is read before.
            KeywordError: there is another keyword.
            CallError: ``type`` or ``strategy`` is of another kind.
            ValueError: there is no such target.
        """
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        refuse_keywords("pl.jit", unknown, ("type", "target", "strategy", "auto_scope"), frame)
        check_target(target)
        check_kind("type", type, FunctionType, "write type=pl.FunctionType.InCore", frame)
        check_strategy(strategy, frame)
        check_kind("auto_scope", auto_scope, bool, "write auto_scope=False", frame)
        options = Options(type, strict_ssa=False)
        if func is None:

            def decorate(func: Callable[..., Any]) -> JitFunction:
                frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
                return JitFunction(func, frame, options, target, strategy)

            return decorate
        return JitFunction(func, frame, options, target, strategy)

    @overload
    def inline(self, func: Callable[P, R], /) -> DeclaredInline[P, R]: ...
    @overload
    def inline(
        self, func: None = None, *, auto_scope: bool = ...
    ) -> Callable[[Callable[P, R]], DeclaredInline[P, R]]: ...
    def inline(
        self,
        func: Callable[..., Any] | None = None,
        *,
        auto_scope: bool = True,
        **unknown: Any,
    ) -> Any:
        """Make a function whose statements are spliced into the kernels that call it.

        What it writes to a part of a parameter, the caller's variable has; everything else that it
        assigns is its own. It returns in its last statement, one value, several, or none.

        Args:
            func: The function; without it ``jit.inline(...)`` returns the decorator.
            auto_scope: As in ``pl.jit``.
            unknown: Nothing: other keywords are refused.

        Raises:
            KeywordError: there is another keyword.
        """
        from pypto._src.frontend.inline_kernels import InlineKernel

        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        refuse_keywords("pl.jit.inline", unknown, ("auto_scope",), frame)
        if func is None:

            def decorate(func: Callable[..., Any]) -> Any:
                return InlineKernel(unwrapped(func), frame, auto_scope=auto_scope)

            return decorate
        return InlineKernel(unwrapped(func), frame, auto_scope=auto_scope)


jit: Final = Jit()
