"""``pl.jit``: the decorators for kernels that are called with arrays.

What happens when such a kernel is called is in `function`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, overload

from pypto._src.diagnostics import span_of_frame
from pypto._src.driver import TargetName, check_strategy, check_target
from pypto._src.errors import CallError
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
    from pypto._src.frontend.region_markers import Level
    from pypto._src.jit.host import HostFunction

    P = ParamSpec("P")
    R = TypeVar("R")


class Jit:
    """``@pl.jit``, and the functions that such kernels call: ``@pl.jit.inline``, ``incore`` ..."""

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
        overlap: bool = ...,
    ) -> Callable[[Callable[..., Any]], JitFunction]: ...
    def __call__(
        self,
        func: Callable[..., Any] | None = None,
        *,
        type: FunctionType = FunctionType.Opaque,  # noqa: A002  as in pl.function
        target: TargetName = "cpu",
        strategy: OptimizationStrategy = OptimizationStrategy.Default,
        auto_scope: bool = True,
        overlap: bool = False,
        **unknown: Any,
    ) -> Any:
        """Make a Python function a kernel that compiles itself for the arguments it is called with.

        Parameters are annotated with

        * ``pl.Tensor``: any array; the kernel is specialised on its shape and element type;
        * ``pl.Tensor[[M, 64], pl.FP32]``: such an array; one kernel serves all values of named
          sizes (``M = pl.dynamic("M")``, here or in ``x.bind_dynamic(0, M)``), unless its body
          needs them as numbers: then it is specialised on them;
        * ``pl.Scalar[pl.INT32]``: a number that is part of the kernel, which is specialised on it;
        * ``pl.INT32`` and other element types: a number at run time;
        * ``int``, ``float``, ``bool``, ``str``, ``pl.DataType``: a constant, which need not be a
          number.

        Directions are written as usual: ``out: pl.Out[pl.Tensor]``. Parameters may have defaults.

        Args:
            func: The function; without it ``jit(...)`` returns the decorator.
            type: Where the function runs, as in ``pl.function``.
            target: ``cpu`` or ``interpreter``, as in ``pypto.runtime.compile``.
            strategy: The passes that run.
            auto_scope: Whether the runtime bounds the lifetime of tasks by itself; results do not
                depend on it.
            overlap: Let loads of one iteration of a loop overlap with the work of another, as in
                ``pypto.runtime.compile``.
            unknown: Nothing: other keywords are refused.

        Raises:
            ParserError: this is not a function. Other mistakes are found by the first call: nothing
                is read before it.
            KeywordError: a keyword is unknown.
            CallError: ``type`` or ``strategy`` is of the wrong kind.
            ValueError: there is no such target.
        """
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        known = ("type", "target", "strategy", "auto_scope", "overlap")
        refuse_keywords("pl.jit", unknown, known, frame)
        check_target(target)
        check_kind("type", type, FunctionType, "write type=pl.FunctionType.InCore", frame)
        check_strategy(strategy, frame)
        check_kind("auto_scope", auto_scope, bool, "write auto_scope=False", frame)
        check_kind("overlap", overlap, bool, "write overlap=True", frame)
        options = Options(type, strict_ssa=False)
        if func is None:

            def decorate(func: Callable[..., Any]) -> JitFunction:
                frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
                return JitFunction(func, frame, options, target, strategy, overlap=overlap)

            return decorate
        return JitFunction(func, frame, options, target, strategy, overlap=overlap)

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

        What it writes to part of a parameter is written to the caller's variable; everything else
        that it assigns is local. It returns in its last statement: one value, several, or none.

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

        def decorate(func: Callable[..., Any]) -> Any:
            return InlineKernel(unwrapped(func), frame, auto_scope=auto_scope)

        return decorate if func is None else decorate(func)

    @overload
    def incore(self, func: Callable[P, R], /) -> DeclaredInline[P, R]: ...
    @overload
    def incore(
        self, func: None = None, *, level: Level | None = ...
    ) -> Callable[[Callable[P, R]], DeclaredInline[P, R]]: ...
    def incore(
        self, func: Callable[..., Any] | None = None, *, level: Any = None, **unknown: Any
    ) -> Any:
        """Make a function that runs on one core: each call is a separate task.

        Its body is like that of ``with pl.at(level=pl.Level.CORE_GROUP):``. A call returns what it
        returns, otherwise its outputs. Called from a region, it is part of that.

        Args:
            func: The function; without it ``jit.incore(...)`` returns the decorator.
            level: ``pl.Level.CORE_GROUP``, or None, which is the same.
            unknown: Nothing: other keywords are refused.

        Raises:
            KeywordError: there is another keyword.
            CallError: ``level`` is any other.
        """
        from pypto._src.frontend.inline_kernels import CoreKernel
        from pypto._src.frontend.region_markers import Level

        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        refuse_keywords("pl.jit.incore", unknown, ("level",), frame)
        if level not in (None, Level.CORE_GROUP):
            raise CallError(
                f"level is {level!r}; a kernel runs at pl.Level.CORE_GROUP",
                span_of_frame(frame),
                hint="write level=pl.Level.CORE_GROUP",
                slug="region-option",
            )

        def decorate(func: Callable[..., Any]) -> Any:
            return CoreKernel(unwrapped(func), frame)

        return decorate if func is None else decorate(func)

    @overload
    def opaque(self, func: Callable[P, R], /) -> DeclaredInline[P, R]: ...
    @overload
    def opaque(self, func: None = None) -> Callable[[Callable[P, R]], DeclaredInline[P, R]]: ...
    def opaque(self, func: Callable[..., Any] | None = None, **unknown: Any) -> Any:
        """Make a function of no particular type: it may contain whatever its callers may contain.

        It is spliced into them, like one of ``pl.jit.inline``.

        Raises:
            KeywordError: there is a keyword.
        """
        from pypto._src.frontend.inline_kernels import InlineKernel

        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        refuse_keywords("pl.jit.opaque", unknown, (), frame)

        def decorate(func: Callable[..., Any]) -> Any:
            return InlineKernel(unwrapped(func), frame, auto_scope=True)

        return decorate if func is None else decorate(func)

    @overload
    def host(self, func: Callable[..., Any], /) -> HostFunction: ...
    @overload
    def host(
        self, func: None = None, *, auto_scope: bool = ...
    ) -> Callable[[Callable[..., Any]], HostFunction]: ...
    def host(
        self, func: Callable[..., Any] | None = None, *, auto_scope: bool = True, **unknown: Any
    ) -> Any:
        """Make a function that runs on the host, and launches kernels on devices.

        It calls functions of ``pl.jit`` with ``device=``, the number of the device. Here each
        device is a thread of this process; ``config=`` of a call says how many there are.

        Args:
            func: The function; without it ``jit.host(...)`` returns the decorator.
            auto_scope: As in ``pl.jit``.
            unknown: Nothing: other keywords are refused.

        Raises:
            KeywordError: there is another keyword.
        """
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        refuse_keywords("pl.jit.host", unknown, ("auto_scope",), frame)
        check_kind("auto_scope", auto_scope, bool, "write auto_scope=False", frame)

        def decorate(func: Callable[..., Any]) -> HostFunction:
            options = Options(FunctionType.Opaque, strict_ssa=False)
            strategy = OptimizationStrategy.Default
            from pypto._src.jit.host import HostFunction

            return HostFunction(func, frame, options, "cpu", strategy, is_host=True)

        return decorate if func is None else decorate(func)

    def extern(
        self,
        *,
        core_type: str,
        source: str | os.PathLike[str] | None = None,
        aic_source: str | os.PathLike[str] | None = None,
        aiv_source: str | os.PathLike[str] | None = None,
        dual_aiv_dispatch: bool = False,
        include_dirs: Sequence[str | os.PathLike[str]] | None = None,
    ) -> Callable[[Callable[P, R]], DeclaredInline[P, R]]:
        """Declare a kernel that is written in C++ for the device; the body is ``...``.

        On this machine a kernel of ``pl.jit.incore`` runs in its place, which is set with
        ``pypto.runtime.register_extern``.

        Args:
            core_type: ``"aiv"``, ``"aic"``, or ``"mixed"``, which has a file for each.
            source: The file of a kernel for one kind of core.
            aic_source: The file of the cube core.
            aiv_source: The file of the vector cores.
            dual_aiv_dispatch: Whether a mixed kernel runs on both vector cores of a cluster.
            include_dirs: The folders of its headers, as a list.

        Raises:
            ValueError: there is no such kind of core, or a file is missing.
            TypeError: ``include_dirs`` is not a list.
        """
        from pypto._src.frontend.inline_kernels import ExternKernel, ExternOptions

        if core_type not in _CORE_TYPES:
            names = ", ".join(map(repr, _CORE_TYPES))
            raise ValueError(f"core_type is {core_type!r}; it is one of {names}")
        if dual_aiv_dispatch and core_type != "mixed":
            raise ValueError(f'dual_aiv_dispatch goes with core_type="mixed", not {core_type!r}')
        if include_dirs is not None and not isinstance(include_dirs, list | tuple):
            raise TypeError(f"include_dirs is a list of folders, got {include_dirs!r}")
        given = {"source": source, "aic_source": aic_source, "aiv_source": aiv_source}
        files = {word: None if file is None else os.fspath(file) for word, file in given.items()}
        own = files[f"{core_type}_source"] if core_type != "mixed" else None
        wanted = ("aic_source", "aiv_source") if core_type == "mixed" else ("source",)
        for word in wanted:
            file = files[word] or own
            if file is None:
                raise ValueError(f"core_type={core_type!r} needs {word}=, the file of the kernel")
            if not Path(file).is_file():
                raise ValueError(f"there is no file {file}, which {word} names")
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        folders = tuple(os.fspath(folder) for folder in include_dirs or ())
        options = ExternOptions(
            core_type, files["source"], files["aic_source"], files["aiv_source"],
            dual_aiv_dispatch, folders,
        )  # fmt: skip

        def decorate(func: Callable[..., Any]) -> Any:
            return ExternKernel(unwrapped(func), frame, options)

        return decorate


def register_extern(name: str, kernel: Any) -> None:
    """Run a kernel in place of one in C++ that is declared with ``pl.jit.extern``.

    Args:
        name: The name of the kernel in C++.
        kernel: A function of ``pl.jit.incore`` or ``pl.jit.inline`` with the same parameters.

    Raises:
        CallError: it is neither of these.
    """
    from pypto._src.frontend.inline_kernels import SUBSTITUTES, ExternKernel, InlineKernel

    if not isinstance(kernel, InlineKernel) or isinstance(kernel, ExternKernel):
        raise CallError(
            f"{name!r} is to be {kernel!r}; a function of pl.jit.incore or pl.jit.inline was "
            "wanted",
            span_of_frame(sys._getframe(1)),  # pyright: ignore[reportPrivateUsage]
            hint="write @pl.jit.incore above it",
            slug="argument-kind",
        )
    SUBSTITUTES[name] = kernel


_CORE_TYPES: Final = ("aiv", "aic", "mixed")

jit: Final = Jit()
