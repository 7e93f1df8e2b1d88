"""What the playground shows for a file of kernels. This module runs inside the page.

The file is executed as in a run without a C++ compiler: its calls run in the interpreter. For the
last program in it, this produces everything that `runtime.Overview` shows, the findings of `pypto
check`, and the result of a call with random arguments.
"""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import re
import time
import traceback
import warnings
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, cast

import numpy as np

from pypto._src.checks import check_program
from pypto._src.commands.programs import checked_in
from pypto._src.diagnostics import Diagnostic
from pypto._src.driver import compile_program
from pypto._src.errors import CallError, PyptoError
from pypto._src.frontend.excepthook import notebook_html
from pypto._src.ir.stmts import Program
from pypto._src.ir.text.printer import python_print
from pypto._src.notebook.overview import Overview

FILE = Path("kernel.py")
"""The name of the editor's text in messages."""

_MISSING = re.compile(r"\bpl\.(BF16|FP8\w*|FP4|U?INT4)\b")
"""Element types that NumPy alone does not have."""


def evaluate(source: str) -> str:
    """Return what the page shows for a file, as JSON.

    ``parts`` are the tabs, HTML by title; ``findings`` each have the line of an error or a warning;
    ``seconds`` is how long that took. A file that fails has no parts except its report.
    """
    begin = time.perf_counter()
    FILE.write_text(source, encoding="utf-8")
    linecache.checkcache()
    shown: dict[str, Any] = {"name": "", "checks": {}, "findings": [], "parts": {}, "failed": False}
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the program runs in the interpreter")
            _examine(shown, printed)
    except PyptoError as error:
        shown["failed"] = True
        shown["findings"] = [_finding(each.diagnostic) for each in (error, *error.others)]
        shown["parts"] = {"Results": _output(printed) + notebook_html(error)}
    except Exception as error:  # an error in PyPTO itself: the page goes on
        shown["failed"] = True
        what = f"{type(error).__name__}: {error}"
        shown["findings"] = [{"severity": "error", "message": what, "line": 0, "hint": None}]
        shown["parts"] = {"Results": f"<pre>{escape(traceback.format_exc())}</pre>"}
    shown["seconds"] = time.perf_counter() - begin
    return json.dumps(shown)


def _examine(shown: dict[str, Any], printed: io.StringIO) -> None:
    *_, (name, program) = checked_in(str(FILE), {}).items()
    if isinstance(program, CallError):
        raise program
    if not isinstance(program, Program):
        raise CallError(
            f"{name} is a program of several ranks, which the playground has not",
            hint=f"run the file on your machine: pypto check {FILE}",
            slug="no-program",
        )
    shown["name"] = name
    for stage in check_program(program):
        if not stage.skipped.startswith("it needs pip install"):  # what a page cannot install
            shown["checks"][stage.name] = stage.summary
            shown["findings"] += [_finding(each) for each in stage.findings]
    overview = _Overview(program)
    shown["parts"] = {"Results": _output(printed) + overview.results(), **overview.parts()}


def _finding(found: Diagnostic) -> dict[str, Any]:
    return {
        "severity": found.severity.name.lower(),
        "message": found.message,
        "line": found.span.begin_line if found.span.filename == str(FILE) else 0,
        "hint": found.hint,
    }


def _output(printed: io.StringIO) -> str:
    """Return the file's output."""
    text = printed.getvalue().rstrip("\n")
    return f"<h2>Printed</h2><pre>{escape(text)}</pre>" if text else ""


class _Overview(Overview):
    """An overview whose tabs say which element types the page cannot compute with."""

    def _arguments(self) -> list[Any]:
        missing = sorted(set(_MISSING.findall(python_print(self.program))))
        if missing:
            raise CallError(
                f"the playground cannot compute with {', '.join(missing)}: NumPy has no such "
                "elements, and ml_dtypes, which has, is not built for browsers",
                hint="take FP32, FP16 or wider integers here, or run the file on your machine: "
                f"pypto run {FILE}",
                slug="argument-type",
            )
        return super()._arguments()

    def results(self) -> str:
        """Run the program in the interpreter; return its arguments afterwards, and its results."""
        try:
            values = self._arguments()
            compiled = compile_program(self.program, "interpreter")
            returned: Any = compiled(*values)
        except PyptoError as error:
            return notebook_html(error)
        shown = dict(zip(compiled.param_names, values, strict=True))
        results: Sequence[Any] = cast(
            "Any", returned if isinstance(returned, tuple) else (returned,)
        )
        for number, value in enumerate(results):
            if value is not None and not any(value is known for known in values):
                shown[f"result {number}"] = value
        rows = "".join(f"<h3>{escape(name)}</h3>{_value(value)}" for name, value in shown.items())
        return f"<h2>A call with random arguments, after it ran</h2>{rows}"


def _value(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return f"<pre>{escape(str(value))}</pre>"
    array = cast("np.ndarray[Any, np.dtype[Any]]", value)
    sizes = " x ".join(map(str, array.shape))
    text = np.array2string(array, threshold=48, edgeitems=3, precision=5, suppress_small=True)
    return f"<p>{sizes}, {array.dtype.name}</p><pre>{escape(text)}</pre>"
