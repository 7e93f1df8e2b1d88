"""A program at a glance: source, IR, passes, texts, memory, tasks and timeline, as tabs of HTML.

The tabs work without scripts, so that a saved notebook shows them, too. What cannot be made of a
program is an error, whose report is shown in its tab.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, Final

from pypto._src.diagnostics import known_lines
from pypto._src.driver import (
    CompiledProgram,
    compile_for_evaluator,
    compile_program,
    entry_function,
    kernels_of,
    random_arguments,
)
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import CallError, PyptoError
from pypto._src.frontend.excepthook import notebook_html
from pypto._src.ir.inspect.highlight import to_html
from pypto._src.ir.stmts import Program
from pypto._src.ir.text.printer import python_print
from pypto._src.jit.function import JitFunction
from pypto._src.passes.memory.memory_plan import MemoryPlan
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager, with_kernels
from pypto._src.run.progress import Progress
from pypto._src.run.task_graph.drawing import draw
from pypto._src.run.task_graph.tasks import tasks_of
from pypto._src.timeline.profile import Profile

STYLE: Final = """
.pypto-tabs{display:flex;flex-wrap:wrap;margin:0;font:14px/1.4 system-ui,sans-serif}
.pypto-tabs>div{display:contents}
.pypto-tabs>div>label{padding:.3em .8em;cursor:pointer;border-bottom:2px solid transparent}
.pypto-tabs>div>label>input{position:absolute;opacity:0}
.pypto-tabs>div>label:has(:checked){border-color:#2f7fd0;font-weight:600}
.pypto-tabs>div>label:has(:focus-visible){outline:2px solid #2f7fd0}
.pypto-tabs>div>section{order:1;width:100%;display:none;overflow:auto;max-height:40em;margin:0}
.pypto-tabs>div:has(>label>:checked)>section{display:block}
.pypto-tabs pre{white-space:pre;margin:.5em 0;text-align:left;font-size:12px;line-height:1.35}
.pypto-tabs iframe{width:100%;height:32em;border:0;background:#fff}
.pypto-beside{display:flex;flex-wrap:wrap;gap:2em}.pypto-beside>div{flex:1 1 24em;overflow:auto}
"""

_STYLED: Final = f"<div><style>{STYLE.replace('{', '{{').replace('}', '}}')}</style>{{}}</div>"


class Overview:
    """What notebooks show of a program; ``html()`` is the same as text.

    Args:
        program: A ``@pl.jit`` function, a ``@pl.program``, or what `runtime.compile` returns.
        args: The arguments of a call, for its tasks and its timeline; random ones if not given.
        sizes: The sizes of named dimensions of random arguments.
    """

    def __init__(
        self,
        program: JitFunction | Program | CompiledProgram,
        args: Sequence[Any] | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        if isinstance(program, JitFunction):
            program = program.parse(*args) if args is not None else program.declared()
        elif isinstance(program, CompiledProgram):
            program = program.source
        elif not isinstance(program, Program):  # pyright: ignore[reportUnnecessaryIsInstance]  users are not checked
            raise CallError(
                f"{program!r} is not a program",
                hint="pass a class decorated with @pl.program, or a function with @pl.jit",
                slug="no-program",
            )
        self.program = program
        self._args = args
        self._sizes = dict(sizes or {})
        self._html: str | None = None

    def __repr__(self) -> str:
        return f"<overview of {self.program.name}>"

    def html(self) -> str:
        """Return the tabs as one element of HTML."""
        if self._html is None:
            self._html = _STYLED.format(tabs(self.parts()))
        return self._html

    def parts(self) -> dict[str, str]:
        """Return the HTML of each tab, by title."""
        makers: dict[str, Callable[[], str]] = {
            "Source and IR": self._source,
            "Passes": self._passes,
            "C++": lambda: self._texts(OptimizationStrategy.Default, kernel_file),
            "MLIR": lambda: self._texts(OptimizationStrategy.PTOAS, _mlir),
            "Memory": self._memory,
            "Tasks": self._tasks,
            "Timeline": self._timeline,
        }
        progress = Progress("drawing", len(makers))
        made: dict[str, str] = {}
        with progress.shown():
            for title, make in makers.items():
                with progress.part(title):
                    made[title] = _or_error(make)
        return made

    def _repr_html_(self) -> str:
        return self.html()

    def _source(self) -> str:
        sources = "\n\n".join(_source_texts(self.program)) or "# nobody has the source"
        ir = python_print(self.program)
        return (
            f'<div class="pypto-beside"><div>{to_html(sources)}</div><div>{to_html(ir)}</div></div>'
        )

    def _passes(self) -> str:
        """Return the program after each pass that changed it."""
        program, text = self.program, python_print(self.program)
        made = {"parsed": to_html(text)}
        unchanged: list[str] = []
        manager = PassManager.get_strategy()
        for name, each in zip(manager.pass_names, manager.passes, strict=True):
            before = text
            program = each(program)
            text = python_print(program)
            if text == before:
                unchanged.append(name)
            else:
                made[name] = to_html(text)
        note = f"<p>{escape(', '.join(unchanged))} changed nothing.</p>" if unchanged else ""
        return _framed(_STYLED.format(note + tabs(made)))

    def _texts(self, strategy: OptimizationStrategy, write: Callable[..., str]) -> str:
        lowered = PassManager(strategy).run_passes(self.program)
        kernels = kernels_of(lowered, entry_function(lowered))
        made = {kernel.name: f"<pre>{escape(write(kernel))}</pre>" for kernel in kernels}
        if len(made) == 1:
            return next(iter(made.values()))
        return _framed(_STYLED.format(tabs(made)))

    def _memory(self) -> str:
        plan = MemoryPlan.of(PassManager.get_strategy().run_passes(self.program))
        return _framed(plan.html())

    def _tasks(self) -> str:
        program = with_kernels(self.program)
        entry = entry_function(program).name
        return draw(tasks_of(program, entry, self._arguments()), ".svg")

    def _arguments(self) -> list[Any]:
        if self._args is not None:
            return list(self._args)
        compiled = compile_program(self.program, "interpreter")
        return list(random_arguments(compiled, 0, self._sizes).values())

    def _timeline(self) -> str:
        from pypto._src.notebook.timeline_drawing import timeline_svg
        from pypto._src.timeline import report

        profile = self._profile()
        return f"<p>{escape(report.headline(profile))}</p>{timeline_svg(profile)}"

    def _profile(self) -> Profile:
        from pypto._src.cost.model import CostModel
        from pypto._src.cost.tables import load_table
        from pypto._src.timeline.profile import ProgramSimulator

        found: list[ProgramSimulator] = []

        def make(lowered: Program) -> ProgramSimulator:
            found.append(ProgramSimulator(lowered, CostModel(load_table("a2a3"))))
            return found[0]

        compile_for_evaluator(self.program, None, make)(*self._arguments())
        profile = found[0].profile
        assert profile is not None
        return profile


def tabs(parts: Mapping[str, str]) -> str:
    """Return parts of HTML under their titles, with the first one shown."""
    # Buttons of one name are one choice; each form has names of its own, and holds no other form.
    rows = [
        f'<div><label><input type="radio" name="tab"{" checked" if index == 0 else ""}>'
        f"{escape(title)}</label><section>{part}</section></div>"
        for index, (title, part) in enumerate(parts.items())
    ]
    return f'<form class="pypto-tabs" onsubmit="return false">{"".join(rows)}</form>'


def _framed(page: str) -> str:
    """Return a page inside another page, with names and styles of its own."""
    return f'<iframe srcdoc="{escape(page)}"></iframe>'


def _or_error(make: Callable[[], str]) -> str:
    try:
        return make()
    except PyptoError as error:
        return notebook_html(error)


def _mlir(kernel: Any) -> str:
    return PTOCodegen().generate(Program([kernel], kernel.name))


def _source_texts(program: Program) -> list[str]:
    """Return the source text of each function, as far as its file is known."""
    spans = sorted(
        {(f.span.filename, f.span.begin_line, f.span.end_line) for f in program.functions_}
    )
    texts: list[str] = []
    for filename, first, last in spans:
        lines = known_lines(filename)[max(first - 1, 0) : max(last, first)]
        if lines:
            texts.append("".join(lines).rstrip("\n"))
    return texts
