"""C++ for PTO ISA from a kernel function, in the form of the user's codegen document (000).

Three phases: the prologue unpacks arguments and declares tensors and tiles, the body writes the
instructions, the epilogue closes the function. Nothing is decided here: layouts, addresses, flags
and copies stand in the program already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.emit.cpp_context import RESERVED, CodeContext
from pypto._src.emit.cpp_helpers import UNROLL_LIMIT, header_lines, helper_lines
from pypto._src.emit.cpp_index import Sharing, folded, is_constant
from pypto._src.emit.cpp_isa import ISAMapper
from pypto._src.emit.cpp_options import DEFAULT, CppOptions
from pypto._src.emit.cpp_tensors import (
    Place,
    Regions,
    column_part,
    constant_sizes,
    declare_global,
    find_choices,
    parameter_sizes,
    row_major_text,
    set_sizes,
    tile_rows_cols,
    valid_sizes,
    written,
    yielded,
)
from pypto._src.emit.cpp_types import ScalarText, Size, TypeConverter, bit_cast_lines, printed
from pypto._src.emit.writer import CodeEmitter, camel_case, source_comment, source_text
from pypto._src.errors import EmitError, PyptoError
from pypto._src.ir.dims import dimension_vars
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.nodes import (
    Add,
    BinaryExpr,
    Call,
    ConstBool,
    ConstInt,
    Expr,
    IterArg,
    MakeTuple,
    MemRefType,
    Mul,
    ScalarType,
    TensorType,
    TileType,
    Type,
    Var,
    binary,
    const_value,
    dtype_of,
    scalar_type,
)
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.walk import exprs_in, stmts_in, uses
from pypto._src.ops import tensor

__all__ = ["RESERVED", "CodeGenerator", "TileCollector", "function_name", "kernel_file"]


class CodeGenerator:
    """Writes one kernel function; see `generate`."""

    def __init__(self, options: CppOptions = DEFAULT, *, comments: bool = True) -> None:
        self.options = options
        self._comments = comments
        self.helpers: dict[str, None] = {}
        """The helper texts that the last function needs (`cpp_helpers`)."""

    def generate(self, function: Function) -> str:
        """Return the C++ text of ``function``, a kernel after the passes.

        Raises:
            EmitError: something has no C++ form; the error points at the user's line.
        """
        removed: frozenset[Stmt] = frozenset()
        if self.options.remove_dead_code:
            removed = self._kernel(function, removed, None).removed()
        sharing = None
        if self.options.share_expressions:
            sharing = Sharing()
            self._kernel(function, removed, sharing).text()
            sharing.start_naming()
        kernel = self._kernel(function, removed, sharing)
        text = kernel.text()
        self.helpers = kernel.helpers
        return text

    def _kernel(
        self, function: Function, removed: frozenset[Stmt], sharing: Sharing | None
    ) -> _Kernel:
        return _Kernel(function, self.options, self._comments, removed, sharing)

    Generate = generate


class TileCollector:
    """Finds the tiles that the prologue declares: those that an assignment of an op makes.

    Results of branches are not among them; they are declared in front of their branch.
    """

    def collect(self, function: Function) -> list[Var]:
        """Return the tile variables in the order of the text."""
        return [
            stmt.var
            for stmt in stmts_in(function.body)
            if isinstance(stmt, AssignStmt)
            and isinstance(stmt.var.type, TileType)
            and isinstance(stmt.value, Call)
        ]


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


class _Body(CodeEmitter):
    """The lines of the body; the first of each source line follows a comment that names it."""

    def __init__(self) -> None:
        super().__init__(1)
        self.source: str | None = None
        self._named: str | None = None

    def emit_line(self, line: str = "") -> None:
        """Append a line, after a comment if it comes from another source line than the last."""
        if self.source != self._named and line != "}":
            self._named = self.source
            super().emit_line(f"// {self.source}")
        super().emit_line(line)


class _Kernel:
    """One function on its way to text."""

    def __init__(
        self,
        function: Function,
        options: CppOptions,
        comments: bool,
        removed: frozenset[Stmt],
        sharing: Sharing | None,
    ) -> None:
        self.function = function
        self.options = options
        self.comments = comments
        self.sharing = sharing
        self.types = TypeConverter()
        self.mapper = ISAMapper()
        self.context = CodeContext()
        self.scalars = ScalarText(self.name, None if sharing is None else self._share)
        self.helpers = self.scalars.helpers
        self.places: dict[str, Place] = {}  # by the name that a tensor is registered under
        self.regions = Regions(self.context.fresh)
        self.computed: list[str] = []  # sizes of tensors that are known at run time
        self.runtime_sizes: dict[str, Var] = {}
        self.constants: dict[Var, Expr] = {}  # scalars that folding found to be constant
        self.body = _Body()
        self.used = _used(function, removed)
        self.dead: list[Stmt] = []  # bodies that never run
        self.choices = find_choices(function)

    def removed(self) -> frozenset[Stmt]:
        """Return the bodies that the text leaves out."""
        self.text()
        return frozenset(self.dead)

    def text(self) -> str:
        """Return the text of the function."""
        arguments = self._arguments()
        tensors = [self._tensor_param(p) for p in self.function.params if _is_tensor(p)]
        tiles = [self._declare_tile(var) for var in TileCollector().collect(self.function)]
        self._body()
        out = CodeEmitter()
        self._prologue(out, arguments, tensors, tiles)
        out.emit_line("// Function body")
        out.emit_block(self.body.get_code())
        self._epilogue(out)
        return out.get_code()

    # ----- phase 1: prologue ----------------------------------------------------------------

    def _prologue(
        self,
        out: CodeEmitter,
        arguments: list[str],
        tensors: list[list[str]],
        tiles: list[list[str]],
    ) -> None:
        name = function_name(self.function)
        out.emit_line(
            f"__aicore__ __attribute__((always_inline)) void {name}(__gm__ int64_t* args)"
        )
        out.emit_line("{")
        out.increase_indent()
        _section(out, "Unpack arguments", [arguments])
        _section(out, "Shapes and strides", [self.computed])
        _section(out, "Global tensor declarations", [*tensors, *self.regions.declarations])
        _section(out, "Tile type definitions and allocations", tiles)

    def _arguments(self) -> list[str]:
        lines: list[str] = []
        for index, param in enumerate(self.function.params):
            word = f"args[{index}]"
            if _is_tensor(param):
                lines.append(self._pointer_argument(param, word))
            elif isinstance(param.type, ScalarType):
                name = self._declare(param)
                if param in self.used:
                    lines += bit_cast_lines(name, param.type.dtype, word)
            else:
                raise EmitError(
                    f"parameter {param.name!r} of kernel {self.function.name!r} is a tile; "
                    "kernels take tensors and scalars",
                    param.span,
                    slug="emit-parameter",
                )
        count = len(self.function.params)
        for var in dimension_vars(self.function):
            lines.append(f"int64_t {self._declare(var)} = args[{count}];")
            count += 1
        if self.options.profile:
            self.helpers["profile_clock"] = None
            self.profile = self.context.fresh("profile")
            pointer = "__gm__ int64_t*"
            lines.append(f"{pointer} {self.profile} = reinterpret_cast<{pointer}>(args[{count}]);")
        return lines

    def _pointer_argument(self, param: Var, word: str) -> str:
        """Return the line that unpacks a tensor's raw pointer; its object has "Global" behind."""
        name = self.context.fresh(param.name)
        self.context.register_var(param, f"{name}Global")
        self.context.register_pointer(f"{name}Global", name)
        self.regions.declared.add(name)
        pointer = f"__gm__ {self.types.ConvertDataType(dtype_of(param))}*"
        return f"{pointer} {name} = reinterpret_cast<{pointer}>({word});"

    def _tensor_param(self, param: Var) -> list[str]:
        whole = self.context.get_var_name(param)
        name = self.context.get_pointer(whole)
        kind = param.type
        assert isinstance(kind, TensorType)
        try:
            shape = [
                self._run_time(size, f"{name}_dim{axis}")
                for axis, size in enumerate(parameter_sizes(param, self.scalars.text))
            ]
            strides = self._strides(kind, shape, name)
            place = Place(
                name,
                name,
                self.types.ConvertDataType(kind.dtype),
                tuple(shape),
                tuple(strides),
                whole,
            )
            self.places[whole] = place
            return declare_global(name, place, place.shape, "ND", name)
        except EmitError as error:
            raise error.at(param.span) from None

    def _strides(self, kind: TensorType, shape: Sequence[Size], name: str) -> list[Size]:
        view = kind.tensor_view
        if view is not None and view.stride:
            strides: list[Size] = [
                s.value if isinstance(s, ConstInt) else self.scalars.text(s) for s in view.stride
            ]
        else:
            strides = row_major_text(shape)
        return [
            self._run_time(stride, f"{name}_stride{axis}") for axis, stride in enumerate(strides)
        ]

    def _run_time(self, size: Size, name: str) -> Size:
        """Return a size as a number or variable; an expression gets a variable of its own."""
        if isinstance(size, int) or size.isidentifier():
            return size
        known = self.context.fresh(name)
        self.computed.append(f"int64_t {known} = {size};")
        return known

    def _declare(self, var: Var) -> str:
        """Give a variable its name, in the two steps of the document."""
        name = self.context.sanitize_name(var)
        self.context.register_var(var, name)
        return name

    def _declare_tile(self, var: Var) -> list[str]:
        """Return the lines that declare a tile: its type, the object, its address."""
        name, kind = self._declare(var), var.type
        assert isinstance(kind, TileType)
        try:
            rows, cols = tile_rows_cols(kind)
        except EmitError as error:
            raise error.at(var.span) from None
        valid = [const_value(size) for size in valid_sizes(kind)] or [rows, cols]
        # Sizes known at run time are set where the tile gets its value.
        given = [
            known if known is not None else full
            for known, full in zip(valid, (rows, cols), strict=True)
        ]
        lines = [
            f"using {name}Type = {self.types.tile_type(kind, _space(kind), rows, cols)};",
            f"{name}Type {name}({given[0]}, {given[1]});",
        ]
        address = const_value(kind.memref.addr_) if kind.memref is not None else None
        if address is not None and address >= 0:
            lines.append(f"TASSIGN({name}, 0x{address:x});")
        return lines

    # ----- phase 3: epilogue ----------------------------------------------------------------

    def _epilogue(self, out: CodeEmitter) -> None:
        out.decrease_indent()
        out.emit_line("}")

    # ----- phase 2: body --------------------------------------------------------------------

    def _body(self) -> None:
        if self.options.profile:
            begin = self.context.fresh("profile_begin")
            self.body.emit_line(f"int64_t {begin} = profile_clock();")
            self._statements(self.function.body)
            self.body.source = None
            self.body.emit_line(f"profile_add({self.profile}, 1);")
            self.body.emit_line(f"profile_add({self.profile} + 1, profile_clock() - {begin});")
        else:
            self._statements(self.function.body)

    def name(self, var: Var) -> str:
        """Return the C++ name of a tile or scalar variable."""
        return self.context.get_var_name(var)

    def place(self, value: Expr) -> Place:
        """Return where a tensor expression lies."""
        name = self.context.get(value) if isinstance(value, Var) else None
        if name is None or name not in self.places:
            raise EmitError("a kernel's tensor is not one of its parameters", value.span)
        return self.places[name]

    def _same_tensor(self, var: Var, value: Expr) -> None:
        """Let ``var`` be the tensor ``value``: its object, and with it its pointer."""
        assert isinstance(value, Var)
        self.place(value)
        self.context.register_var(var, self.context.get_var_name(value))

    def _new_tensor(self, var: Var, name: str, place: Place) -> None:
        self.context.register_var(var, name)
        self.context.register_pointer(name, place.pointer)
        self.places[name] = place

    def value(self, expr: Expr) -> str:
        """Return the text of a tile or scalar operand; "" for tensors and tuples."""
        if isinstance(expr.type, TensorType) or isinstance(expr, MakeTuple):
            return ""
        return self.scalar(expr)

    def scalar(self, expr: Expr, parent: int = 0) -> str:
        """Return the text of a scalar, in parentheses if it binds less than ``parent``."""
        return self.scalars.text(self._folded(expr), parent)

    def _folded(self, expr: Expr) -> Expr:
        return folded(expr, self.constants) if self.options.fold_constants else expr

    def _share(self, expr: BinaryExpr, text: str) -> str | None:
        assert self.sharing is not None

        def define() -> str:
            name = self.context.fresh("index")
            self.body.emit_line(f"int64_t {name} = {text};")
            return name

        return self.sharing.see(expr, define)

    def _statements(self, body: Stmt | None) -> None:
        for stmt in statements(body):
            try:
                self._statement(stmt)
            except PyptoError as error:
                raise error.at(stmt.span) from None

    def _statement(self, stmt: Stmt) -> None:
        match stmt:
            case AssignStmt():
                self._assign(stmt)
            case EvalStmt():
                if isinstance(stmt.expr, Call):
                    self._comment(stmt.span)
                    self._call(stmt.expr, "")
            case ForStmt():
                self._for(stmt)
            case IfStmt():
                self._if(stmt)
            case WhileStmt():
                self._while(stmt)
            case ScopeStmt():
                self._statements(stmt.body)
            case BreakStmt():
                self.body.emit_line("break;")
            case ContinueStmt():
                self.body.emit_line("continue;")
            case ReturnStmt():
                self._return(stmt)
            case YieldStmt():
                pass  # written by the statement that it yields to
            case _:
                raise EmitError(f"C++ kernels have no {type(stmt).__name__}")

    def _comment(self, span: Span) -> None:
        if self.comments:
            found = source_comment(span)
            if found is not None and self.options.source_lines:
                text = source_text(span)
                found = f"{found}: {text}" if text else found
            self.body.source = found or self.body.source

    def _return(self, stmt: ReturnStmt) -> None:
        for value in stmt.value:
            if not isinstance(value.type, TensorType):
                raise EmitError(
                    "a kernel returns tensors only",
                    stmt.span,
                    hint="store the value to an Out parameter",
                    slug="emit-return",
                )

    def _assign(self, stmt: AssignStmt) -> None:
        var, value = stmt.var, stmt.value
        if isinstance(var.type, MemRefType):
            return  # block.alloc describes a buffer; tiles are declared with their addresses
        if isinstance(var.type, TensorType):
            self._assign_tensor(var, value, stmt.span)
        elif isinstance(var.type, TileType):
            if isinstance(value, Call):
                self._comment(stmt.span)
                self._set_valid(var)
                self._call(value, self.name(var), var.type)
                self._print_tile(var)
            else:  # another name of the same tile
                self.context.register_var(var, self.value(value))
        elif isinstance(var.type, ScalarType):
            if var in self.used:
                self._comment(stmt.span)
                self._assign_scalar(var, value)
                self._print_scalar(var)
        else:
            raise EmitError(f"C++ kernels have no variable of {type(var.type).__name__}")

    def _assign_scalar(self, var: Var, value: Expr) -> None:
        kind = self.types.ConvertDataType(dtype_of(var))
        if isinstance(value, Call):
            self._call(value, f"{kind} {self._declare(var)}")
        else:
            value = self._folded(value)
            if self.options.fold_constants and is_constant(value):
                self.constants[var] = value  # stands where the variable is used
                if not self.options.debug_prints:
                    return
            text = self.scalar(value)
            self.body.emit_line(f"{kind} {self._declare(var)} = {text};")

    def _assign_tensor(self, var: Var, value: Expr, span: Span) -> None:
        if not isinstance(value, Call):
            self._same_tensor(var, value)
        elif value.op is tensor.view:
            place = self._view(value)
            self._new_tensor(var, self.context.fresh(var.name), place)
        else:
            self._comment(span)
            self._call(value, "")
            self._same_tensor(var, written(value))

    def _view(self, call: Call) -> Place:
        source = self.place(call.args[0])
        shape, offsets = call.args[1], call.args[2]
        assert isinstance(shape, MakeTuple)
        assert isinstance(offsets, MakeTuple)
        dims = tuple(d.value if isinstance(d, ConstInt) else self.scalar(d) for d in shape.elements)
        text = self.offset(source, offsets.elements)
        pointer = text if text.isidentifier() else f"({text})"
        return Place(pointer, source.base, source.element, dims, source.strides, "")

    def _set_valid(self, var: Var) -> None:
        """Set the valid sizes of a tile that are known only at run time."""
        assert isinstance(var.type, TileType)
        sizes = valid_sizes(var.type)
        if all(const_value(size) is not None for size in sizes):
            return
        rows, cols = (self.scalar(size) for size in sizes)
        self.body.emit_line(f"{self.name(var)}.SetValidShape({rows}, {cols});")

    # ----- calls ----------------------------------------------------------------------------

    def _call(self, call: Call, dst: str, kind: Type | None = None) -> None:
        op = op_of(call)
        if op is None:
            raise EmitError(f"the call of {call.op.name!r} was not expanded into the kernel")
        form = self.mapper.form(op)
        args = tuple(self.value(a) for a in call.args)
        pipe = op.pipe_of(call) if self.options.scheduling_hints else None
        remark = f"  // {pipe.name}" if pipe is not None else ""
        if isinstance(form, str):
            parts = [dst, *args] if dst else list(args)
            self.body.emit_line(f"{form}({', '.join(p for p in parts if p)});{remark}")
        else:
            form(_Site(self, call, dst, args, kind, remark))

    def offset(self, place: Place, offsets: Sequence[Expr]) -> str:
        """Return ``x + r * 64 + c`` for a place and one offset a dimension."""
        if self.options.fold_constants or self.sharing is not None:
            return self._short_offset(place, offsets)
        parts = [place.pointer]
        for offset, stride in zip(offsets, place.strides, strict=True):
            text = self.scalars.text(offset, 11 if stride != 1 else 10)
            parts.append(f"{text} * {stride}" if stride != 1 else text)
        return " + ".join(parts)

    def _short_offset(self, place: Place, offsets: Sequence[Expr]) -> str:
        """Return an address whose offset is one expression, to be folded and shared."""
        total: Expr = ConstInt(0)
        for offset, stride in zip(offsets, place.strides, strict=True):
            total = binary(Add, total, binary(Mul, offset, self._size(stride)))
        total = folded(total, self.constants)
        if isinstance(total, ConstInt) and total.value == 0:
            return place.pointer
        return f"{place.pointer} + {self.scalar(total, 10)}"

    def _size(self, size: Size) -> Expr:
        if isinstance(size, int):
            return ConstInt(size)
        if size not in self.runtime_sizes:
            var = self.runtime_sizes[size] = Var(size, scalar_type(DataType.INDEX))
            self.context.register_var(var, size)
        return self.runtime_sizes[size]

    def region(
        self, place: Place, offsets: Sequence[Expr], shape: Sequence[Size], order: str
    ) -> str:
        """Return the GlobalTensor of a region, after pointing it there."""
        at_start = all(const_value(o) == 0 for o in offsets)
        same = tuple(shape) == place.shape
        if place.whole and at_start and same and order == "ND":
            return place.whole
        address = self.offset(place, offsets)
        return self.point(self.regions.object_for(place, shape, order), address, shape)

    def point(self, name: str, address: str, shape: Sequence[Size]) -> str:
        """Point a GlobalTensor somewhere and give it its sizes; return its name."""
        self.body.emit_line(f"TASSIGN({name}, {address});")
        sizes = set_sizes(name, shape)
        if sizes is not None:
            self.body.emit_line(sizes)
        return name

    # ----- control flow ---------------------------------------------------------------------

    def _for(self, stmt: ForStmt) -> None:
        if self.options.remove_dead_code and self._turns(stmt) == 0:
            self._without_turns(stmt)
            return
        self._comment(stmt.span)
        self._enter_carried(stmt.iter_args)
        kind = self.types.ConvertDataType(dtype_of(stmt.loop_var))
        start, stop = self.scalar(stmt.start, 10), self.scalar(stmt.stop, 10)
        step = self.scalar(stmt.step, 10)
        known = const_value(self._folded(stmt.step))
        name = self._declare(stmt.loop_var)
        if known is None or known == 0:
            self.helpers["loop_step"] = None
            given = step
            step = self.context.fresh(f"{name}_step")
            self.body.emit_line(f"{kind} {step} = {_cast(kind, f'loop_step({given})')};")
            test = f"{step} > 0 ? {name} < {stop} : ({step} < 0 && {name} > {stop})"
        else:
            test = f"{name} {'<' if known > 0 else '>'} {stop}"
        turns = self._turns(stmt)
        if self.options.scheduling_hints and turns is not None and 1 < turns <= UNROLL_LIMIT:
            self.helpers["PYPTO_UNROLL"] = None
            self.body.emit_line("PYPTO_UNROLL")
        self.body.emit_line(f"for ({kind} {name} = {start}; {test}; {name} += {step}) {{")
        self._carried_body(stmt.body, stmt.iter_args)
        self.body.emit_line("}")
        self._leave_carried(stmt.iter_args, stmt.return_vars)

    def _turns(self, stmt: ForStmt) -> int | None:
        """Return how often a loop runs, None if that is not constant."""
        bounds = [const_value(self._folded(e)) for e in (stmt.start, stmt.stop, stmt.step)]
        start, stop, step = bounds
        if start is None or stop is None or not step:
            return None
        return len(range(start, stop, step))

    def _without_turns(self, stmt: ForStmt) -> None:
        self.dead.append(stmt.body)
        for arg, var in zip(stmt.iter_args, stmt.return_vars, strict=True):
            if isinstance(var.type, TensorType):
                self._same_tensor(var, arg.initValue)
            else:
                self._alias(var, arg.initValue)

    def _alias(self, var: Var, value: Expr) -> None:
        """Let ``var`` be ``value``, which stands already."""
        if isinstance(var.type, TileType) or isinstance(self._folded(value), Var):
            self.context.register_var(var, self.value(value))
        elif var in self.used:
            self._assign_scalar(var, value)

    def _while(self, stmt: WhileStmt) -> None:
        self._comment(stmt.span)
        self._enter_carried(stmt.iter_args)
        if self.sharing is not None:
            self.sharing.paused = True  # the condition is computed anew in each turn
        condition = self.scalar(stmt.condition)
        if self.sharing is not None:
            self.sharing.paused = False
        self.body.emit_line(f"while ({condition}) {{")
        self._carried_body(stmt.body, stmt.iter_args)
        self.body.emit_line("}")
        self._leave_carried(stmt.iter_args, stmt.return_vars)

    def _enter_carried(self, iter_args: Sequence[IterArg]) -> None:
        for arg in iter_args:
            if isinstance(arg.type, TensorType):
                if arg in self.choices.moved:
                    self._carry_pointer(arg)
                else:
                    self._same_tensor(arg, arg.initValue)
            elif isinstance(arg.type, TileType):
                init = self.value(arg.initValue)
                for line in self._declare_tile(arg):
                    self.body.emit_line(line)
                self.body.emit_line(f"{self.name(arg)} = {init};")
            else:
                init = self.scalar(arg.initValue)
                kind = self.types.ConvertDataType(dtype_of(arg))
                self.body.emit_line(f"{kind} {self._declare(arg)} = {init};")

    def _carry_pointer(self, arg: IterArg) -> None:
        """Declare the pointer of a tensor that the loop makes another one in each turn."""
        init = self.place(arg.initValue)
        name = self.context.fresh(arg.name)
        self.body.emit_line(f"__gm__ {init.element}* {name} = {init.pointer};")
        self._new_tensor(arg, f"{name}Global", init._replace(pointer=name, base=name, whole=""))

    def _carried_body(self, body: Stmt, iter_args: Sequence[IterArg]) -> None:
        self._enter_block()
        self._statements(body)
        values = yielded(body)
        if len(values) != len(iter_args):
            raise EmitError(f"a loop carries {len(iter_args)} values and yields {len(values)}")
        pairs: list[_Next] = []
        for arg, value in zip(iter_args, values, strict=True):
            if not isinstance(arg.type, TensorType):
                kind = arg.type if isinstance(arg.type, ScalarType) else None
                name = "" if kind is None else self.types.ConvertDataType(kind.dtype)
                pairs.append(_Next(arg, self.name(arg), self.value(value), name))
            elif arg in self.choices.moved:
                here, there = self.place(arg), self.place(value)
                self._check_alike(arg, here, there)
                kind = f"__gm__ {here.element}*"
                pairs.append(_Next(arg, here.pointer, there.pointer, kind))
        self._assign_together(pairs, values)
        self._leave_block()

    def _enter_block(self) -> None:
        self.body.increase_indent()
        if self.sharing is not None:
            self.sharing.enter()

    def _leave_block(self) -> None:
        self.body.decrease_indent()
        if self.sharing is not None:
            self.sharing.leave()

    def _assign_together(self, pairs: Sequence[_Next], values: Sequence[Expr]) -> None:
        # All yields are read before any is written, as in the loop's meaning: a value that another
        # yield still reads goes through a copy.
        read = set(uses(values))
        aside = [p for p in pairs if len(pairs) > 1 and p.kind and self._is_read(p, read)]
        fresh: dict[str, str] = {}
        for pair in aside:
            fresh[pair.target] = self.context.fresh(f"{pair.target}_next")
            self.body.emit_line(f"{pair.kind} {fresh[pair.target]} = {pair.text};")
        for pair in pairs:
            if pair.target not in fresh and pair.target != pair.text:
                self.body.emit_line(f"{pair.target} = {pair.text};")
        for pair in aside:
            self.body.emit_line(f"{pair.target} = {fresh[pair.target]};")

    def _is_read(self, pair: _Next, read: set[Var]) -> bool:
        """True if a yield reads what the loop carries in ``pair``, by whatever name."""
        if isinstance(pair.arg.type, TensorType):
            return True
        return pair.arg in read

    def _check_alike(self, var: Var, a: Place, b: Place) -> None:
        if a.strides != b.strides:
            raise EmitError(
                f"the tensor {var.name!r} is one of two that lie differently in memory: their "
                f"strides are {list(a.strides)} and {list(b.strides)}",
                hint="store to one tensor a variable: out = pl.store(tile, ..., out)",
                slug="emit-tensor-merge",
            )

    def _leave_carried(self, iter_args: Sequence[IterArg], return_vars: Sequence[Var]) -> None:
        for arg, var in zip(iter_args, return_vars, strict=True):
            self.context.register_var(var, self.context.get_var_name(arg))

    def _if(self, stmt: IfStmt) -> None:
        condition = self._folded(stmt.condition)
        if self.options.remove_dead_code and isinstance(condition, ConstBool):
            self._only_branch(stmt, condition.value)
            return
        self._comment(stmt.span)
        text = self.scalar(condition)
        for var in stmt.return_vars:
            if isinstance(var.type, TileType):
                for line in self._declare_tile(var):
                    self.body.emit_line(line)
            elif isinstance(var.type, TensorType):
                self._declare_choice(var)
            elif var in self.used:
                kind = self.types.ConvertDataType(dtype_of(var))
                self.body.emit_line(f"{kind} {self._declare(var)};")
        self.body.emit_line(f"if ({text}) {{")
        self._branch(stmt.then_body, stmt.return_vars)
        if stmt.else_body is not None and self._says_something(stmt):
            self.body.emit_line("} else {")
            self._branch(stmt.else_body, stmt.return_vars)
        self.body.emit_line("}")

    def _says_something(self, stmt: IfStmt) -> bool:
        """True if the other branch has a line: a statement, or a result to assign."""
        if any(not isinstance(s, YieldStmt) for s in statements(stmt.else_body)):
            return True
        return any(
            self._is_declared(var)
            if isinstance(var.type, TensorType)
            else isinstance(var.type, TileType) or var in self.used
            for var in stmt.return_vars
        )

    def _is_declared(self, var: Var) -> bool:
        """True if a branch's tensor result has an object or a pointer of its own."""
        return var in self.used or self.choices.is_merged(var)

    def _declare_choice(self, var: Var) -> None:
        """Declare the tensor that a branch results in: its object, and its pointer if that varies.

        Where both ways give one tensor, the result takes over its pointer; else it has a variable
        for it. A view has no object, nor has then the result.
        """
        if not self._is_declared(var):
            return
        assert isinstance(var.type, TensorType)
        name = self.context.fresh(var.name)
        known = [self._root_place(root) for root in self.choices.roots[var]]
        first, second = known
        pointer = name
        if self.choices.is_merged(var):
            kind = self.types.ConvertDataType(var.type.dtype)
            self.body.emit_line(f"__gm__ {kind}* {name};")
        elif first is not None:
            pointer = first.pointer
        self.context.register_var(var, f"{name}Global")
        self.context.register_pointer(f"{name}Global", pointer)
        if first is None or second is None or not (first.whole and second.whole):
            return
        if (first.shape, first.strides) != (second.shape, second.strides):
            return
        base = first.base if pointer == first.pointer else name
        place = first._replace(pointer=pointer, base=base, whole=f"{name}Global")
        self.places[place.whole] = place
        for line in declare_global(name, place, place.shape, "ND", ""):
            self.body.emit_line(line)

    def _root_place(self, root: Var | None) -> Place | None:
        name = None if root is None else self.context.get(root)
        return None if name is None else self.places.get(name)

    def _only_branch(self, stmt: IfStmt, taken: bool) -> None:
        body, other = stmt.then_body, stmt.else_body
        if not taken:
            body, other = other, body
        if other is not None:
            self.dead.append(other)
        self._statements(body)
        for var, value in zip(stmt.return_vars, yielded(body), strict=True):
            if isinstance(var.type, TensorType):
                self._same_tensor(var, value)
            else:
                self._alias(var, value)

    def _branch(self, body: Stmt, return_vars: Sequence[Var]) -> None:
        self._enter_block()
        self._statements(body)
        for var, value in zip(return_vars, yielded(body), strict=True):
            if isinstance(var.type, TensorType):
                self._branch_tensor(var, value)
            elif self.context.get(var) is not None:
                self.body.emit_line(f"{self.name(var)} = {self.value(value)};")
        self._leave_block()

    def _branch_tensor(self, var: Var, value: Expr) -> None:
        place = self.place(value)
        if not self._is_declared(var):
            if self.context.get(var) is None:
                self._same_tensor(var, value)
            return
        name = self.context.get_var_name(var)
        pointer = self.context.get_pointer(name)
        base = place.base if pointer == place.pointer else pointer
        inherited = place._replace(pointer=pointer, base=base, whole="")
        known = self.places.setdefault(name, inherited)
        self._check_alike(var, known, place)
        if known.whole:
            self.body.emit_line(f"{name} = {place.whole};")
        if pointer != place.pointer:
            self.body.emit_line(f"{pointer} = {place.pointer};")

    # ----- debugging ------------------------------------------------------------------------

    def _print_tile(self, var: Var) -> None:
        if self.options.debug_prints and _space(var.type) is MemorySpace.Vec:
            self.helpers["PYPTO_PRINT"] = None
            self.body.emit_line("pipe_barrier(PIPE_ALL);")
            self.body.emit_line(f'PYPTO_PRINT("{self.name(var)}: ");')
            self.body.emit_line(f"TPRINT({self.name(var)});")

    def _print_scalar(self, var: Var) -> None:
        if self.options.debug_prints:
            self.helpers["PYPTO_PRINT"] = None
            form, value = printed(self.name(var), dtype_of(var))
            self.body.emit_line(f'PYPTO_PRINT("{self.name(var)} = {form}\\n", {value});')


class _Next:
    """What a carried value becomes in the next turn."""

    __slots__ = ("arg", "kind", "target", "text")

    def __init__(self, arg: IterArg, target: str, text: str, kind: str) -> None:
        self.arg = arg
        self.target = target
        self.text = text
        self.kind = kind  # C++ type of a copy; "" for tiles, which are copied in the program


class _Site:
    """What an op's own C++ form may do (`CppSite`)."""

    def __init__(
        self,
        kernel: _Kernel,
        call: Call,
        dst: str,
        args: tuple[str, ...],
        kind: Type | None,
        remark: str,
    ) -> None:
        self._kernel = kernel
        self._kind = kind
        self._remark = remark  # ends each line
        self.call = call
        self.dst = dst
        self.args = args

    def emit(self, line: str) -> None:
        """Write one line."""
        self._kernel.body.emit_line(line + self._remark)

    def expr(self, value: Expr) -> str:
        """Return the text of a scalar."""
        return self._kernel.scalar(value)

    def global_view(
        self, tensor: Expr, offsets: Sequence[Expr], shape: Sequence[Expr], layout: str = "ND"
    ) -> str:
        """Return the GlobalTensor of a region, after pointing it there.

        The region is as large as the valid part of the tile that moves. Where a column goes in
        rows, the tile's name is from here on that of the same bytes in rows.
        """
        kernel = self._kernel
        place = kernel.place(tensor)
        tile, kind = self._moved()
        sizes: list[Size] = list(constant_sizes(shape, "a region"))
        valid = valid_sizes(kind)
        if len(valid) == len(sizes):
            sizes = [v.value if isinstance(v, ConstInt) else kernel.scalar(v) for v in valid]
        if layout == "ND":
            return kernel.region(place, offsets, sizes, layout)
        part = column_part(sizes, place.strides, kind.dtype.bytes)
        address = kernel.offset(place, offsets)
        if part.order == "ND":
            self._name_rows(tile, kind, part.shape)
        there = place._replace(strides=part.strides)
        name = kernel.regions.object_for(there, part.shape, part.order)
        return kernel.point(name, address, part.shape)

    def _moved(self) -> tuple[Expr | None, TileType]:
        """Return the tile that moves and its type; None stands for the result."""
        if isinstance(self._kind, TileType):
            return None, self._kind
        tile = next(arg for arg in self.call.args if isinstance(arg.type, TileType))
        assert isinstance(tile.type, TileType)
        return tile, tile.type

    def _name_rows(self, tile: Expr | None, kind: TileType, shape: Sequence[Size]) -> None:
        rows = TileType([int(size) for size in shape], kind.dtype)
        name = self.retype(tile, rows, "rows")
        if tile is None:
            self.dst = name
        else:
            index = next(i for i, arg in enumerate(self.call.args) if arg is tile)
            self.args = (*self.args[:index], name, *self.args[index + 1 :])

    def element(self, tensor: Expr, indices: Sequence[Expr]) -> str:
        """Return the text of one element."""
        return f"*({self._kernel.offset(self._kernel.place(tensor), indices)})"

    def retype(self, tile: Expr | None, kind: TileType, suffix: str) -> str:
        """Declare a tile over the bytes of another, or of the result; return its name."""
        kernel = self._kernel
        source = self.dst if tile is None else kernel.value(tile)
        # Two underscores in a row would make a name that C++ keeps for itself.
        name = kernel.context.fresh(f"{self.dst or source}_{suffix.strip('_')}")
        bare = TileType(kind.shape, kind.dtype, None, kind.tile_view)
        op = op_of(self.call)
        assert op is not None
        space = op.space_of(self.call) if tile is None else _space(tile.type)
        rows, cols = tile_rows_cols(bare)
        kind_text = kernel.types.tile_type(bare, space, rows, cols)
        kernel.body.emit_line(f"using {name}Type = {kind_text};")
        kernel.body.emit_line(f"{name}Type {name}({rows}, {cols});")
        kernel.body.emit_line(f"TRESHAPE({name}, {source});")
        return name


def _section(out: CodeEmitter, title: str, groups: Sequence[Sequence[str]]) -> None:
    groups = [g for g in groups if g]
    if not groups:
        return
    out.emit_line(f"// {title}")
    for group in groups:
        for line in group:
            out.emit_line(line)
        out.emit_line()


def _cast(kind: str, text: str) -> str:
    return text if kind == "int64_t" else f"static_cast<{kind}>({text})"


def _space(kind: Type) -> MemorySpace:
    memref = kind.memref if isinstance(kind, TileType) else None
    return MemorySpace.Vec if memref is None else memref.memory_space_


def _is_tensor(var: Var) -> bool:
    return isinstance(var.type, TensorType)


def _used(function: Function, removed: frozenset[Stmt]) -> frozenset[Var]:
    """Return the variables whose value the text needs; scalars that nobody reads are left out.

    Nothing in ``removed`` statements reads anything.
    """
    read: set[Var] = set()
    pending: dict[Var, list[Var]] = {}  # what scalars that are not read yet would read
    passed: set[Stmt] = set()  # yields whose values are read only as far as their results are
    gone = {inner for stmt in removed for inner in stmts_in(stmt)}
    for stmt in stmts_in(function.body):
        if stmt in gone or stmt in passed:
            continue
        exprs: list[Any]
        match stmt:
            case AssignStmt():
                exprs = [stmt.value, *_types_read(stmt.var)]
                if isinstance(stmt.var.type, ScalarType):
                    pending[stmt.var] = list(uses(exprs))
                    continue
            case ForStmt():
                exprs = [stmt.start, stmt.stop, stmt.step, *(a.initValue for a in stmt.iter_args)]
            case WhileStmt():
                exprs = [stmt.condition, *(a.initValue for a in stmt.iter_args)]
            case IfStmt():
                exprs = [stmt.condition]
                for body in (stmt.then_body, stmt.else_body):
                    passed.update(s for s in statements(body)[-1:] if isinstance(s, YieldStmt))
                    if body is not None and body not in gone:
                        exprs += _given_on(stmt.return_vars, yielded(body), pending)
            case YieldStmt() | ReturnStmt():
                exprs = list(stmt.value)
            case _:
                exprs = [e for e in exprs_in(stmt) if not isinstance(e, Var)]
        read.update(uses(exprs))
    for param in function.params:
        read.update(uses(_types_read(param)))
    stack = list(read)
    while stack:
        for var in pending.pop(stack.pop(), ()):
            if var not in read:
                read.add(var)
                stack.append(var)
    return frozenset(read)


def _given_on(
    results: Sequence[Var], values: Sequence[Expr], pending: dict[Var, list[Var]]
) -> list[Expr]:
    """Note what the scalars among a branch's results read; return the values of the others."""
    others: list[Expr] = []
    for var, value in zip(results, values, strict=False):
        if isinstance(var.type, ScalarType):
            pending.setdefault(var, []).extend(uses([value]))
        else:
            others.append(value)
    return others


def _types_read(var: Var) -> Sequence[Expr]:
    """Return the sizes in a type that the text says."""
    match var.type:
        case TensorType():
            view = var.type.tensor_view
            return (*var.type.shape, *(view.stride if view is not None else ()))
        case TileType():
            return valid_sizes(var.type)
        case _:
            return ()
