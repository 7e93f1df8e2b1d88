"""IR -> PTO MLIR, in the form of document 001.

Owns the module around the kernels, and what an op's form may ask for while a kernel is written.
Decides nothing about the program: passes have chosen buffers, addresses and flags, ops supply their
own text. Host functions are not written here. The parts are in `function_head` (parameters,
views, allocations), `statements`, `control_flow` and `calls`; `kernel_state` is what they share.
"""

from __future__ import annotations

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType
from pypto._src.emit.pto.calls import Calls, Site
from pypto._src.emit.pto.function_body import Lines
from pypto._src.emit.pto.function_head import BODY, Head, check_parameters
from pypto._src.emit.pto.kernel_state import Kernel
from pypto._src.emit.pto.statements import Statements
from pypto._src.emit.pto.tile_allocations import memref_of
from pypto._src.emit.pto.types import element_type, scalar_dtype, tensor_view_type, tile_buf_type
from pypto._src.errors import EmitError, PyptoError
from pypto._src.ir.array_types import MemRef, TensorType, TileType
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.roles import kernels
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.traversal.queries import calls_in
from pypto._src.ops import tensor as tensor_ops
from pypto._src.records import NamedTuple


class PTOCodegen:
    """Writes the kernels of a program as one PTO module.

    The program has gone through the passes: SSA form, legal tiles, memory references.

    Args:
        backend: The target backend; there is only one, so it changes nothing.
        locations: Append to each operation the source span that it comes from, as in
            ``loc("kernel.py":7:5)``; messages of the assembler then name that span.
    """

    def __init__(self, backend: object = None, *, locations: bool = False) -> None:
        self.backend = backend
        self.locations = locations
        self._spans: list[Span] = []  # of the lines of the last generated text
        self._calls: Calls | None = None  # of the kernel being written

    def generate(self, program: Program) -> str:
        """Return the text of a module with one function for each kernel, in name order.

        The first line says which assembler options the text is for. If any kernel has flags of its
        own the whole file is at level 3, with addresses on all tiles; otherwise the assembler plans
        memory and inserts flags.

        Raises:
            EmitError: the program has a part that the dialect cannot express.
        """
        found = [(function, _look_at(function)) for function in kernels(program)]
        has_addresses = any(facts.has_flags for _, facts in found)
        attributes = " attributes {pto.entry}" if len(found) > 1 else ""
        options = (
            "--pto-level=level3" if has_addresses else "--pto-level=level2 --enable-insert-sync"
        )
        lines = Lines()
        lines.add(f"// ptoas {options}")
        lines.add("module {")
        for index, (function, facts) in enumerate(found):
            if index:
                lines.add("")
            try:
                lines.append(self._function(function, facts.dtypes_read, has_addresses, attributes))
            finally:
                if self._calls is not None:
                    self._calls.end()
                self._calls = None
        lines.add("}")
        lines.add("")
        self._spans = lines.spans
        return "\n".join(lines.texts)

    def _function(
        self, function: Function, read: frozenset[DataType], has_addresses: bool, attributes: str
    ) -> Lines:
        """Return the lines of one kernel."""
        try:
            check_parameters(function)
        except PyptoError as error:
            raise error.at(function.span) from None
        kernel = Kernel(function, has_addresses, self, self.locations)
        calls = self._calls = Calls(kernel)
        head = Head(kernel, read)
        try:
            head.write()
        except PyptoError as error:
            raise error.at(function.span) from None
        with kernel.body.section(BODY):
            Statements(kernel, calls).write(function.body)
        return head.around(attributes)

    def span_of(self, line: int) -> Span:
        """Return the span of the user's source that a line of the last text comes from.

        Args:
            line: Its number, counted from 1.
        """
        return self._spans[line - 1] if 0 < line <= len(self._spans) else UNKNOWN_SPAN

    # ---------------------------------------------------------------------------------------
    # What an op's form may ask for besides its site (`site.codegen`)
    # ---------------------------------------------------------------------------------------

    def _now(self) -> Kernel:
        if self._calls is None:
            raise EmitError(
                "this is known only while a kernel is being written",
                hint="ask in the form of an op, by site.codegen",
                slug="emit-helper",
            )
        return self._calls.kernel

    def _site(self) -> Site | None:
        """Return the site of the call being written."""
        return None if self._calls is None else self._calls.site

    def get_current_result_target(self) -> str:
        """Return the name of the result of the call being written, "" if it has none."""
        site = self._site()
        return "" if site is None else site.dst

    def get_current_result_tile_buf_type_string(self) -> str:
        """Return the type of the tile that the call being written makes, "" if it makes none."""
        site = self._site()
        return "" if site is None else site.dst_type

    def emit(self, line: str) -> None:
        """Append an operation to the kernel being written."""
        self._now().body.op(line)

    def new_temp(self) -> str:
        """Return a new SSA name, such as ``%7``."""
        return self._now().body.fresh()

    def get_expr_as_code(self, expr: Expr) -> str:
        """Return the name of a tile, a tensor's view, or a scalar; a scalar is emitted first."""
        return self._now().operand(expr)[0]

    def get_expr_type_annotation(self, expr: Expr) -> str:
        """Return the type that an expression has in the text."""
        return self._now().operand(expr)[1]

    def get_or_create_tensor_view(self, tensor: Var) -> str:
        """Return the name of the view of a tensor."""
        return self._now().tensors.of(tensor).view

    def get_index_constant(self, val: int) -> str:
        """Return the name of an ``index`` constant, such as ``%c32``."""
        return self._now().body.index(val)

    def get_or_emit_float_constant(self, value: float, mlir_type: str = "f32") -> str:
        """Return the name of a float constant, such as ``%cst``."""
        floats = (DataType.FP32, DataType.FP16, DataType.BF16)
        dtype = next((d for d in floats if element_type(d) == mlir_type), None)
        if dtype is None:
            raise EmitError(f"{mlir_type!r} is not a float type of tiles", slug="emit-dtype")
        return self._now().body.real(value, dtype)

    def get_type_string(self, dtype: DataType) -> str:
        """Return how tiles, views and pointers spell an element type, such as ``f32``."""
        return element_type(dtype)

    def get_tensor_view_type_string(self, tensor_type: TensorType) -> str:
        """Return the type of a view of a whole tensor."""
        return tensor_view_type(len(tensor_type.shape), element_type(tensor_type.dtype))

    def get_tile_buf_type_string(self, of: MemRef | TileType) -> str:
        """Return the type of the tile that uses a memory reference, or of a tile type with one."""
        if isinstance(of, TileType):
            return tile_buf_type(of, memref_of(Var("tile", of)).memory_space_)
        for _, buffer in self._now().buffers:
            if buffer.memref is of:
                return buffer.type_text
        raise EmitError(f"no tile of this kernel uses {of.name!r}", slug="emit-no-buffer")

    # The names of document 001.
    Generate = generate
    GetCurrentResultTarget = get_current_result_target
    GetCurrentResultTileBufTypeString = get_current_result_tile_buf_type_string
    Emit = emit
    NewTemp = new_temp
    GetExprAsCode = get_expr_as_code
    GetExprTypeAnnotation = get_expr_type_annotation
    GetOrCreateTensorView = get_or_create_tensor_view
    GetIndexConstant = get_index_constant
    GetOrEmitFloatConstant = get_or_emit_float_constant
    GetTypeString = get_type_string
    GetTensorViewTypeString = get_tensor_view_type_string
    GetTileBufTypeString = get_tile_buf_type_string


class _Facts(NamedTuple):
    """What must be known about a function before the first one is written."""

    has_flags: bool
    dtypes_read: frozenset[DataType]
    """Element types of tensors from which single elements are read."""


def _look_at(function: Function) -> _Facts:
    has_flags, read = False, set[DataType]()
    for call in calls_in(function.body):
        op = op_of(call)
        if op is not None and op.level == "system":
            has_flags = True
        elif op is tensor_ops.read:
            read.add(scalar_dtype(call))
    return _Facts(has_flags, frozenset(read))
