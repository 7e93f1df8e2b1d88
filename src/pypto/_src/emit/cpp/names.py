"""What a C++ generator knows about names: each variable's, and each tensor's raw pointer.

Document 000's CodeContext. Each variable is registered once; looking one up before that is an error
in the program, never a guess. Knows no statements and writes nothing.
"""

from __future__ import annotations

from typing import Final

from pypto._src.emit.writer import Names
from pypto._src.errors import EmitError
from pypto._src.ir.exprs import Var

# Reserved names: keywords, and names of the tile library or of this emitter.
_RESERVED_TEXT: Final = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class const
    constexpr continue default delete do double else enum explicit export extern false float for
    friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or
    or_eq private protected public register return short signed sizeof static struct switch
    template this throw true try typedef typeid typename union unsigned using virtual void volatile
    wchar_t while xor xor_eq half bfloat16_t int8_t int16_t int32_t int64_t uint8_t uint16_t
    uint32_t uint64_t Shape Stride GlobalTensor Tile TileType BLayout SLayout Layout args
    kernel_entry pto main floor_div floor_mod int_pow float_floor_div float_floor_mod float_max
    float_min float_pow element_index view_begin region_begin loop_step get_block_idx profile_clock
    profile_add shift_count float_to_int int_abs int_div int_max int_min float_abs unsigned_div
    unsigned_mod"""
RESERVED: Final = frozenset(_RESERVED_TEXT.split())


class CodeContext(Names):
    """The C++ names of one function's variables, and the pointers under its tensors.

    A tensor's variable is registered under its GlobalTensor object, ``xGlobal``; addresses are
    computed from the raw pointer, ``x``, so that is kept beside it. A variable that takes over a
    tensor (a carried value, the result of a branch) registers that pointer again.
    """

    def __init__(self, reserved: frozenset[str] = RESERVED) -> None:
        super().__init__(reserved)
        self._pointers: dict[str, str] = {}

    def sanitize_name(self, var: Var) -> str:
        """Return an unused, legal C++ identifier for ``var``; registers nothing."""
        return self.unused(var.name)

    def register_var(self, var: Var, cpp_name: str) -> None:
        """Give ``var`` its C++ name.

        Raises:
            EmitError: it has one already.
        """
        if var in self.given:
            known = self.given[var]
            raise EmitError(
                f"variable {var.name!r} is registered already as {known!r}",
                var.span,
                hint="give each definition a variable of its own: run ConvertToSSA",
                slug="emit-name",
            )
        self.given[var] = cpp_name
        self._taken.add(cpp_name)

    def declare(self, var: Var) -> str:
        """Give ``var`` an unused name, as `sanitize_name` finds it; return the name."""
        name = self.unused(var.name)
        if var in self.given:
            self.register_var(var, name)  # raises
        self.given[var] = name
        self._taken.add(name)
        return name

    def get_var_name(self, var: Var) -> str:
        """Return the C++ name of ``var``.

        Raises:
            EmitError: it has none yet.
        """
        name = self.given.get(var)
        if name is None:
            raise EmitError(
                f"variable {var.name!r} is used before it has a value", var.span, slug="emit-name"
            )
        return name

    def register_pointer(self, tensor_var_name: str, ptr_name: str) -> None:
        """Record the raw pointer that a GlobalTensor's memory begins at."""
        self._pointers[tensor_var_name] = ptr_name

    def get_pointer(self, tensor_var_name: str) -> str:
        """Return the raw pointer of a GlobalTensor.

        Raises:
            EmitError: none is known.
        """
        pointer = self._pointers.get(tensor_var_name)
        if pointer is None:
            raise EmitError(
                f"the tensor {tensor_var_name!r} has no pointer",
                hint="register_pointer(tensor_var_name, ptr_name) comes first",
                slug="emit-name",
            )
        return pointer

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self._pointers.clear()

    # The names of document 000.
    SanitizeName = sanitize_name
    RegisterVar = register_var
    GetVarName = get_var_name
    RegisterPointer = register_pointer
    GetPointer = get_pointer
    Clear = clear
