"""Errors for kernels and programs used as something else: called, or not made yet.

Knows Python objects and the user's source; knows nothing of the IR.
"""

from __future__ import annotations

import re
import sys
from types import FrameType
from typing import Any, Final

from pypto._src.diagnostics import lines_at, span_of_frame
from pypto._src.errors import CallError, of_type, with_article

_CALL: Final = r"([\w.]+)(\((?s:.*)\))"


def uncompiled(kind: str, name: str, frame: FrameType) -> CallError:
    """Return the error for calling, in ``frame``, a ``kind`` that can only be compiled."""
    location = span_of_frame(frame)
    text = re.fullmatch(_CALL, lines_at(location))
    compiled, passed = (name, "(...)") if text is None else (text[1], " ".join(text[2].split()))
    return CallError(
        f"{kind} {name!r} is called before it is compiled",
        location,
        hint=f"write runtime.compile({compiled}){passed}",
        note="from pypto import runtime",
        slug="call-uncompiled",
    )


def not_a_pass_yet(name: str, frame: FrameType) -> CallError:
    """Return the error for a program passed in ``frame`` to ``name``, which makes a pass."""
    location = span_of_frame(frame)
    text = re.fullmatch(_CALL, lines_at(location))
    called, given = (f"passes.{name}", "(program)") if text is None else (text[1], text[2])
    return CallError(
        f"{name} makes a pass, which takes the program",
        location,
        hint=f"write {called}(){given}",
        slug="pass-made",
    )


def check_kind(word: str, value: object, kind: type, hint: str, frame: FrameType) -> None:
    """Raise the error for an argument ``word=value``, given in ``frame``, that is not a ``kind``.

    Raises:
        CallError: it is not one; a number is not a bool, nor a bool a number.
    """
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return
    raise CallError(
        f"{word} is {value!r}, {with_article(kind.__name__)} was wanted",
        span_of_frame(frame),
        hint=hint,
        slug="argument-kind",
    )


def users_frame() -> FrameType:
    """Return the innermost frame outside of this package, else the outermost one."""
    package = __name__.partition(".")[0] + "."
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(package):
        frame = frame.f_back
    return frame


def not_a_program(value: Any, taker: str, frame: FrameType | None = None) -> CallError:
    """Return the error for what ``taker`` was given in ``frame`` instead of a program."""
    kind = type(value).__name__
    name = str(getattr(value, "__name__", getattr(value, "name", "")))
    found, hint = of_type(value), "put @pl.program above a class of functions"
    if value is None or isinstance(value, str):
        found = repr(value)
    elif isinstance(value, type):
        found, hint = f"the class {name!r}", f"put @pl.program above class {name}"
    elif hasattr(value, "__code__") and name.isidentifier():  # else a lambda
        found, hint = f"the Python function {name!r}", f"put @pl.function above def {name}"
    elif hasattr(value, "func_type"):
        found, hint = f"the function {name!r}", f'write ir.Program([{name}], "{name}")'
    elif kind == "JitFunction":
        found = f"the pl.jit function {name!r}"
        hint = f"call {name} itself: it compiles for the arguments it is given"
    return CallError(
        f"{taker} takes a program, got {found}",
        None if frame is None else span_of_frame(frame),
        hint=hint,
        slug="no-program",
    )
