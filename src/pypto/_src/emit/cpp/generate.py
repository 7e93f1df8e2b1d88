"""C++ for PTO ISA from a kernel function, in the form of the user's codegen document (000).

Three phases: the prologue unpacks arguments and declares tensors and tiles, the body writes the
instructions, the epilogue closes the function. Nothing is decided here: layouts, addresses, flags
and copies are in the program already. Owns the order of the phases, how often they run, and the
file around the kernel; the parts are in `prescan` (what must be known first), `kernel_state` (what
the parts share), `prologue`, `statements`, `control_flow` and `calls`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto._src.emit.cpp.helper_functions import header_lines, helper_lines
from pypto._src.emit.cpp.kernel_state import Kernel
from pypto._src.emit.cpp.names import RESERVED
from pypto._src.emit.cpp.options import DEFAULT, CppOptions
from pypto._src.emit.cpp.prescan import TileCollector, scan
from pypto._src.emit.cpp.prologue import Declarations
from pypto._src.emit.cpp.statements import Statements
from pypto._src.emit.cpp.tensors import NO_CHOICES, find_choices
from pypto._src.emit.writer import CodeEmitter, camel_case
from pypto._src.ir.stmts import Function, Stmt

if TYPE_CHECKING:
    from pypto._src.emit.cpp.scalar_folding import Sharing


__all__ = ["RESERVED", "CodeGenerator", "TileCollector", "function_name", "kernel_file"]


class CodeGenerator:
    """Writes one kernel function; see `generate`."""

    def __init__(self, options: CppOptions = DEFAULT, *, comments: bool = True) -> None:
        self.options = options
        self._comments = comments
        self.helpers: dict[str, None] = {}
        """The helper texts that the last function needs (`helper_functions`)."""

    def generate(self, function: Function) -> str:
        """Return the C++ text of ``function``, a kernel after the passes.

        Raises:
            EmitError: something has no C++ form; the error points at the user's line.
        """
        removed: frozenset[Stmt] = frozenset()
        if self.options.remove_dead_code:
            kernel, _ = self._written(function, removed, None)
            removed = frozenset(kernel.dead)
        sharing = None
        if self.options.share_expressions:
            from pypto._src.emit.cpp.scalar_folding import Sharing

            sharing = Sharing()
            self._written(function, removed, sharing)
            sharing.start_naming()
        kernel, out = self._written(function, removed, sharing)
        self.helpers = kernel.helpers
        return out.get_code()

    def _written(
        self, function: Function, removed: frozenset[Stmt], sharing: Sharing | None
    ) -> tuple[Kernel, CodeEmitter]:
        """Run the three phases; return the generator's state and the lines of the function."""
        facts = scan(function, removed)
        choices = find_choices(function) if facts.passes_tensors_on else NO_CHOICES
        kernel = Kernel(function, self.options, self._comments, facts, choices, sharing)
        declarations = Declarations(kernel)
        declarations.declare()
        Statements(kernel, declarations).function()
        out = CodeEmitter()
        name = function_name(function)
        out.emit_line(
            f"__aicore__ __attribute__((always_inline)) void {name}(__gm__ int64_t* args)"
        )
        out.emit_line("{")
        out.increase_indent()
        declarations.write(out)  # after the body, which adds declarations
        out.emit_line("// Function body")
        out.append(kernel.body)
        out.decrease_indent()
        out.emit_line("}")
        return kernel, out

    Generate = generate


def function_name(function: Function) -> str:
    """Return the C++ name of a kernel: ``runSimpleAdd`` for simple_add."""
    return f"run{camel_case(function.name)}"


def kernel_file(function: Function, *, comments: bool = True, options: CppOptions = DEFAULT) -> str:
    """Return the whole C++ file of a kernel: includes, helpers, function and entry point."""
    generator = CodeGenerator(options, comments=comments)
    body = generator.generate(function)
    lines = [
        "#include <cstdint>",
        *header_lines(generator.helpers),
        "",
        "#include <pto/pto-inst.hpp>",
        "",
        "using namespace pto;",
        "",
        *helper_lines(generator.helpers),
        body.rstrip("\n"),
        "",
        'extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)',
        "{",
        f"    {function_name(function)}(args);",
        "}",
    ]
    return "\n".join(lines) + "\n"
