"""C++ for PTO ISA from a kernel function, in the form of the user's codegen document.

Three parts: the prologue unpacks arguments and declares tensors and tiles, the body writes one
instruction an op, the epilogue closes the function. Nothing is decided here: layouts, addresses,
flags and copies stand in the program already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from pypto._src.diagnostics import Span
from pypto._src.emit.cpp_types import (
    FLOOR_HELPERS,
    ScalarText,
    bit_cast_lines,
    c_type,
    row_major,
    shape_text,
    stride_text,
    tile_text,
)
from pypto._src.emit.writer import CodeEmitter, Names, camel_case, source_comment
from pypto._src.errors import EmitError, PyptoError
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.nodes import (
    Call,
    ConstInt,
    Expr,
    IterArg,
    MakeTuple,
    MemRefType,
    ScalarType,
    TensorType,
    TileType,
    Type,
    Var,
    const_value,
    dtype_of,
    static_shape,
)
from pypto._src.ir.opdef import aliased, op_of
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
from pypto._src.ir.text import python_print
from pypto._src.ir.walk import exprs_in, stmts_in, uses
from pypto._src.ops import tensor

# What a variable must not be called: keywords, and names of the tile library or of this emitter.
_RESERVED_TEXT: Final = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class const
    constexpr continue default delete do double else enum explicit export extern false float for
    friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or
    or_eq private protected public register return short signed sizeof static struct switch
    template this throw true try typedef typeid typename union unsigned using virtual void volatile
    wchar_t while xor xor_eq half bfloat16_t int8_t int16_t int32_t int64_t uint8_t uint16_t
    uint32_t uint64_t Shape Stride GlobalTensor Tile TileType BLayout SLayout Layout args
    kernel_entry pto main floor_div floor_mod int_pow get_block_idx"""
RESERVED: Final = frozenset(_RESERVED_TEXT.split())


class Place(NamedTuple):
    """Where a tensor variable lies: a pointer expression, shape and strides in elements."""

    pointer: str
    element: str  # C++ element type
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    whole: str  # GlobalTensor object of exactly this place, "" if there is none


class CodeGenerator:
    """Writes one kernel function; see `generate`."""

    def __init__(self, *, comments: bool = True) -> None:
        self._comments = comments
        self.helpers: dict[str, None] = {}

    def generate(self, function: Function) -> str:
        """Return the C++ text of ``function``, a kernel after the passes.

        Raises:
            EmitError: something has no C++ form; the error points at the user's line.
        """
        kernel = _Kernel(function, self._comments)
        text = kernel.text()
        self.helpers = kernel.scalars.helpers
        return text


def function_name(function: Function) -> str:
    """Return the C++ name of a kernel: ``runSimpleAdd`` for simple_add."""
    return f"run{camel_case(function.name)}"


def kernel_file(function: Function, *, comments: bool = True) -> str:
    """Return the whole C++ file of a kernel: includes, helpers, function and entry point."""
    generator = CodeGenerator(comments=comments)
    body = generator.generate(function)
    lines = [
        "#include <cstdint>",
        "",
        "#include <pto/pto-inst.hpp>",
        "",
        "using namespace pto;",
        "",
    ]
    for name in sorted(generator.helpers):
        lines += [*FLOOR_HELPERS[name], ""]
    lines.append(body.rstrip("\n"))
    lines += [
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
    def __init__(self, function: Function, comments: bool) -> None:
        self.function = function
        self.comments = comments
        self.names = Names(RESERVED)
        self.scalars = ScalarText(self.name)
        self.places: dict[Var, Place] = {}
        self.views: dict[tuple[Any, ...], str] = {}
        self.view_lines: list[list[str]] = []
        self.body = _Body()
        self.used = _used(function)

    # ----- prologue and epilogue ------------------------------------------------------------

    def text(self) -> str:
        arguments = self._arguments()
        tensors = [self._tensor_param(p) for p in self.function.params if _is_tensor(p)]
        tiles = self._tiles()
        self._statements(self.function.body)
        out = CodeEmitter()
        name = function_name(self.function)
        out.emit_line(
            f"__aicore__ __attribute__((always_inline)) void {name}(__gm__ int64_t* args)"
        )
        out.emit_line("{")
        out.increase_indent()
        _section(out, "Unpack arguments", [arguments])
        _section(out, "Global tensor declarations", [*tensors, *self.view_lines])
        _section(out, "Tile type definitions and allocations", tiles)
        out.emit_line("// Function body")
        out.emit_block(self.body.get_code())
        out.decrease_indent()
        out.emit_line("}")
        return out.get_code()

    def _arguments(self) -> list[str]:
        lines: list[str] = []
        for index, param in enumerate(self.function.params):
            word = f"args[{index}]"
            if _is_tensor(param):
                name = self.names.fresh(param.name)
                kind = c_type(dtype_of(param))
                pointer = f"__gm__ {kind}*"
                lines.append(f"{pointer} {name} = reinterpret_cast<{pointer}>({word});")
                self.places[param] = self._param_place(param, name)
            elif isinstance(param.type, ScalarType):
                name = self.names.register(param)
                if param in self.used:
                    lines += bit_cast_lines(name, param.type.dtype, word)
            else:
                raise EmitError(
                    f"parameter {param.name!r} of kernel {self.function.name!r} is a tile; "
                    "kernels take tensors and scalars",
                    param.span,
                    slug="emit-parameter",
                )
        return lines

    def _param_place(self, param: Var, name: str) -> Place:
        kind = param.type
        assert isinstance(kind, TensorType)
        try:
            shape = _constant(kind.shape, f"tensor {param.name!r}")
        except EmitError as error:
            raise error.at(param.span) from None
        strides = tuple(row_major(shape))
        if kind.tensor_view is not None and kind.tensor_view.stride:
            given = [const_value(s) for s in kind.tensor_view.stride]
            strides = tuple(s for s in given if s is not None)
        return Place(name, c_type(kind.dtype), shape, strides, f"{name}Global")

    def _tensor_param(self, param: Var) -> list[str]:
        place = self.places[param]
        return _declare_global(place.pointer, place, place.shape, "ND")

    def _tiles(self) -> list[list[str]]:
        declared: list[list[str]] = []
        for stmt in stmts_in(self.function.body):
            if not isinstance(stmt, AssignStmt) or not isinstance(stmt.var.type, TileType):
                continue
            if isinstance(stmt.value, Call):
                declared.append(self._declare_tile(stmt.var))
        return declared

    def _declare_tile(self, var: Var) -> list[str]:
        name = self.names.register(var)
        kind = var.type
        assert isinstance(kind, TileType)
        return self._tile_lines(name, kind, var.span)

    def _tile_lines(self, name: str, kind: TileType, span: Span) -> list[str]:
        shape = static_shape(kind)
        if shape is None:
            raise EmitError("a tile has a shape that is not constant", span, slug="emit-shape")
        space = _space(kind)
        rows, cols = _rows_cols(shape)
        lines = [
            f"using {name}Type = {tile_text(kind, space, rows, cols)};",
            f"{name}Type {name}({rows}, {cols});",
        ]
        address = const_value(kind.memref.addr_) if kind.memref is not None else None
        if address is not None and address >= 0:
            lines.append(f"TASSIGN({name}, 0x{address:x});")
        return lines

    # ----- names and values -----------------------------------------------------------------

    def name(self, var: Var) -> str:
        """Return the C++ name of a tile or scalar variable."""
        name = self.names.get(var)
        if name is None:
            raise EmitError(f"variable {var.name!r} is used before it has a value", var.span)
        return name

    def place(self, value: Expr) -> Place:
        """Return where a tensor expression lies."""
        if isinstance(value, Var) and value in self.places:
            return self.places[value]
        raise EmitError("a kernel's tensor is not one of its parameters", value.span)

    def value(self, expr: Expr) -> str:
        """Return the text of a tile or scalar operand; "" for tensors and tuples."""
        if isinstance(expr.type, TensorType) or isinstance(expr, MakeTuple):
            return ""
        return self.scalars.text(expr)

    # ----- statements -----------------------------------------------------------------------

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
            self.body.source = source_comment(span) or self.body.source

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
        elif isinstance(value, Call):
            if isinstance(var.type, ScalarType):
                if var in self.used:
                    self._comment(stmt.span)
                    name = self.names.register(var)
                    self._call(value, f"{c_type(var.type.dtype)} {name}")
            else:
                self._comment(stmt.span)
                self._call(value, self.name(var))
        elif isinstance(var.type, TileType):
            self.names.register(var, self.value(value))  # another name of the same tile
        elif isinstance(var.type, ScalarType):
            if var in self.used:
                self._comment(stmt.span)
                text = self.scalars.text(value)
                self.body.emit_line(
                    f"{c_type(var.type.dtype)} {self.names.register(var)} = {text};"
                )
        else:
            raise EmitError(f"C++ kernels have no variable of {type(var.type).__name__}")

    def _assign_tensor(self, var: Var, value: Expr, span: Span) -> None:
        if isinstance(value, Call):
            if value.op is tensor.view:
                self.places[var] = self._view(value)
                return
            self._comment(span)
            self._call(value, "")
            self.places[var] = self.place(_written(value))
        else:
            self.places[var] = self.place(value)

    def _view(self, call: Call) -> Place:
        source = self.place(call.args[0])
        shape, offsets = call.args[1], call.args[2]
        assert isinstance(shape, MakeTuple)
        assert isinstance(offsets, MakeTuple)
        dims = _constant(shape.elements, "a view")
        return Place(
            f"({self.offset(source, offsets.elements)})", source.element, dims, source.strides, ""
        )

    # ----- calls ----------------------------------------------------------------------------

    def _call(self, call: Call, dst: str) -> None:
        op = op_of(call)
        if op is None:
            raise EmitError(f"the call of {call.op.name!r} was not expanded into the kernel")
        form = op.isa
        if form is None:
            raise EmitError(
                f"{op.name} has no C++ form: {op.unsupported or 'none is known'}",
                hint=op.instead,
                slug="emit-op",
            )
        args = tuple(self.value(a) for a in call.args)
        if isinstance(form, str):
            parts = [dst, *args] if dst else list(args)
            self.body.emit_line(f"{form}({', '.join(p for p in parts if p)});")
        else:
            form(_Site(self, call, dst, args))

    def offset(self, place: Place, offsets: Sequence[Expr]) -> str:
        """Return ``x + r * 64 + c`` for a place and one offset a dimension."""
        parts = [place.pointer]
        for offset, stride in zip(offsets, place.strides, strict=True):
            text = self.scalars.text(offset, 11 if stride != 1 else 10)
            parts.append(f"{text} * {stride}" if stride != 1 else text)
        return " + ".join(parts)

    def region(self, value: Expr, offsets: Sequence[Expr], dims: Sequence[Expr], order: str) -> str:
        """Return the GlobalTensor of a region, after pointing it there."""
        place = self.place(value)
        shape = _constant(dims, "a region")
        at_start = all(isinstance(o, ConstInt) and o.value == 0 for o in offsets)
        if place.whole and at_start and shape == place.shape and order == "ND":
            return place.whole
        name = self._region_object(place, shape, order)
        self.body.emit_line(f"TASSIGN({name}, {self.offset(place, offsets)});")
        return name

    def _region_object(self, place: Place, shape: tuple[int, ...], order: str) -> str:
        base = place.pointer.strip("()").split(" ", 1)[0]
        key = (base, shape, place.strides, order)
        if key not in self.views:
            extent = "x".join(str(d) for d in shape)
            name = self.names.fresh(
                f"{base}_{extent}{'' if order == 'ND' else f'_{order.lower()}'}"
            )
            self.view_lines.append(_declare_global(name, place, shape, order, base))
            self.views[key] = f"{name}Global"
        return self.views[key]

    # ----- control flow ---------------------------------------------------------------------

    def _for(self, stmt: ForStmt) -> None:
        self._comment(stmt.span)
        self._enter_carried(stmt.iter_args)
        name = self.names.register(stmt.loop_var)
        kind = c_type(dtype_of(stmt.loop_var))
        start, stop, step = (self.scalars.text(e, 10) for e in (stmt.start, stmt.stop, stmt.step))
        known = const_value(stmt.step)
        if known is None:
            test = f"({step}) > 0 ? {name} < {stop} : {name} > {stop}"
        else:
            test = f"{name} {'<' if known > 0 else '>'} {stop}"
        self.body.emit_line(f"for ({kind} {name} = {start}; {test}; {name} += {step}) {{")
        self._carried_body(stmt.body, stmt.iter_args)
        self.body.emit_line("}")
        self._leave_carried(stmt.iter_args, stmt.return_vars)

    def _while(self, stmt: WhileStmt) -> None:
        self._comment(stmt.span)
        self._enter_carried(stmt.iter_args)
        self.body.emit_line(f"while ({self.scalars.text(stmt.condition)}) {{")
        self._carried_body(stmt.body, stmt.iter_args)
        self.body.emit_line("}")
        self._leave_carried(stmt.iter_args, stmt.return_vars)

    def _enter_carried(self, iter_args: Sequence[IterArg]) -> None:
        for arg in iter_args:
            if isinstance(arg.type, TensorType):
                self.places[arg] = self.place(arg.initValue)
            elif isinstance(arg.type, TileType):
                init = self.value(arg.initValue)
                for line in self._declare_tile(arg):
                    self.body.emit_line(line)
                self.body.emit_line(f"{self.name(arg)} = {init};")
            else:
                init = self.scalars.text(arg.initValue)
                kind = c_type(dtype_of(arg))
                self.body.emit_line(f"{kind} {self.names.register(arg)} = {init};")

    def _carried_body(self, body: Stmt, iter_args: Sequence[IterArg]) -> None:
        self.body.increase_indent()
        self._statements(body)
        values = _yielded(body)
        if len(values) != len(iter_args):
            raise EmitError(f"a loop carries {len(iter_args)} values and yields {len(values)}")
        pairs: list[tuple[str, str, IterArg]] = []
        for arg, value in zip(iter_args, values, strict=True):
            if isinstance(arg.type, TensorType):
                self._same_place(arg, value)
            else:
                pairs.append((self.name(arg), self.value(value), arg))
        self._assign_together(pairs, values)
        self.body.decrease_indent()

    def _assign_together(
        self, pairs: Sequence[tuple[str, str, IterArg]], values: Sequence[Expr]
    ) -> None:
        carried = {arg for _, _, arg in pairs}
        read = {v for v in uses(values) if v in carried}
        # All yields are read before any is written, as in the loop's meaning: a value that another
        # yield still reads goes through a copy.
        aside = [
            (f"{target}_next", text, target, arg)
            for target, text, arg in pairs
            if len(pairs) > 1 and arg in read and isinstance(arg.type, ScalarType)
        ]
        late = {target for _, _, target, _ in aside}
        fresh: dict[str, str] = {}
        for name, text, target, arg in aside:
            fresh[target] = self.names.fresh(name)
            self.body.emit_line(f"{c_type(dtype_of(arg))} {fresh[target]} = {text};")
        for target, text, _ in pairs:
            if target not in late and target != text:
                self.body.emit_line(f"{target} = {text};")
        for _, _, target, _ in aside:
            self.body.emit_line(f"{target} = {fresh[target]};")

    def _same_place(self, arg: Var, value: Expr) -> None:
        if self.place(value) != self.places[arg]:
            raise EmitError(
                f"the carried tensor {arg.name!r} becomes another tensor in the loop",
                hint="carry one tensor a variable: out = pl.store(tile, ..., out)",
                slug="emit-tensor-merge",
            )

    def _leave_carried(self, iter_args: Sequence[IterArg], return_vars: Sequence[Var]) -> None:
        for arg, var in zip(iter_args, return_vars, strict=True):
            if isinstance(arg.type, TensorType):
                self.places[var] = self.places[arg]
            else:
                self.names.register(var, self.name(arg))

    def _if(self, stmt: IfStmt) -> None:
        self._comment(stmt.span)
        wanted = [v for v in stmt.return_vars if not isinstance(v.type, TensorType)]
        for var in wanted:
            if isinstance(var.type, TileType):
                for line in self._declare_tile(var):
                    self.body.emit_line(line)
            elif var in self.used:
                self.body.emit_line(f"{c_type(dtype_of(var))} {self.names.register(var)};")
        self.body.emit_line(f"if ({self.scalars.text(stmt.condition)}) {{")
        self._branch(stmt.then_body, stmt.return_vars)
        if stmt.else_body is not None and (
            statements(stmt.else_body) != () or len(stmt.return_vars) > 0
        ):
            self.body.emit_line("} else {")
            self._branch(stmt.else_body, stmt.return_vars)
        self.body.emit_line("}")

    def _branch(self, body: Stmt, return_vars: Sequence[Var]) -> None:
        self.body.increase_indent()
        self._statements(body)
        values = _yielded(body)
        for var, value in zip(return_vars, values, strict=True):
            if isinstance(var.type, TensorType):
                place = self.place(value)
                if self.places.setdefault(var, place) != place:
                    raise EmitError(
                        f"the branches give {var.name!r} different tensors",
                        hint="store to one tensor in both branches",
                        slug="emit-tensor-merge",
                    )
            elif self.names.get(var) is not None:
                self.body.emit_line(f"{self.name(var)} = {self.value(value)};")
        self.body.decrease_indent()


class _Site:
    """What an op's own C++ form may do (`CppSite`)."""

    def __init__(self, kernel: _Kernel, call: Call, dst: str, args: tuple[str, ...]) -> None:
        self._kernel = kernel
        self.call = call
        self.dst = dst
        self.args = args

    def emit(self, line: str) -> None:
        """Write one line."""
        self._kernel.body.emit_line(line)

    def expr(self, value: Expr) -> str:
        """Return the text of a scalar."""
        return self._kernel.scalars.text(value)

    def global_view(
        self, tensor: Expr, offsets: Sequence[Expr], shape: Sequence[Expr], layout: str = "ND"
    ) -> str:
        """Return the GlobalTensor of a region, after pointing it there."""
        return self._kernel.region(tensor, offsets, shape, layout)

    def element(self, tensor: Expr, indices: Sequence[Expr]) -> str:
        """Return the text of one element."""
        return f"*({self._kernel.offset(self._kernel.place(tensor), indices)})"

    def retype(self, tile: Expr | None, kind: TileType, suffix: str) -> str:
        """Declare a tile over the bytes of another, or of the result; return its name."""
        kernel = self._kernel
        source = self.dst if tile is None else kernel.value(tile)
        # Two underscores in a row would make a name that C++ keeps for itself.
        name = kernel.names.fresh(f"{self.dst or source}_{suffix.strip('_')}")
        bare = TileType(kind.shape, kind.dtype, None, kind.tile_view)
        op = op_of(self.call)
        assert op is not None
        space = op.space_of(self.call) if tile is None else _space(tile.type)
        rows, cols = _rows_cols(static_shape(bare) or ())
        self.emit(f"using {name}Type = {tile_text(bare, space, rows, cols)};")
        self.emit(f"{name}Type {name}({rows}, {cols});")
        self.emit(f"TRESHAPE({name}, {source});")
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


def _declare_global(
    name: str, place: Place, shape: Sequence[int], order: str, pointer: str = ""
) -> list[str]:
    layout = "" if order == "ND" else f", Layout::{order}"
    # The document writes 1 for the strides of filled-up dimensions; nothing is skipped there.
    return [
        f"using {name}ShapeDim5 = {shape_text(shape)};",
        f"using {name}StrideDim5 = {stride_text(place.strides)};",
        f"using {name}GlobalType = GlobalTensor<{place.element}, {name}ShapeDim5, "
        f"{name}StrideDim5{layout}>;",
        f"{name}GlobalType {name}Global({pointer or name});",
    ]


def _rows_cols(shape: Sequence[int]) -> tuple[int, int]:
    rows = 1
    for dim in shape[:-1]:
        rows *= dim
    return (rows, shape[-1]) if shape else (1, 1)


def _space(kind: Type) -> MemorySpace:
    memref = kind.memref if isinstance(kind, TileType) else None
    return MemorySpace.Vec if memref is None else memref.memory_space_


def _written(call: Call) -> Expr:
    """Return the tensor that the result of a call is: the one it views or writes to.

    Raises:
        EmitError: the call makes a new tensor, which kernels cannot.
    """
    source = aliased(call)
    if source is None:
        op, name = op_of(call), call.op.name
        reason = op.unsupported if op is not None and op.unsupported else "it makes a tensor"
        raise EmitError(
            f"{name} has no C++ form in a kernel: {reason}",
            hint=op.instead if op is not None else None,
            slug="emit-op",
        )
    return source


def _constant(dims: Sequence[Expr], what: str) -> tuple[int, ...]:
    """Return sizes as integers.

    Raises:
        EmitError: one of them is known at run time only.
    """
    values = [const_value(d) for d in dims]
    if None in values:
        sizes = ", ".join(python_print(d) for d in dims)
        raise EmitError(
            f"{what} has the size [{sizes}]; C++ kernels take constant sizes",
            hint="write the sizes as numbers and pass what varies as offsets",
            slug="emit-shape",
        )
    return tuple(v for v in values if v is not None)


def _is_tensor(var: Var) -> bool:
    return isinstance(var.type, TensorType)


def _yielded(body: Stmt) -> tuple[Expr, ...]:
    last = statements(body)[-1:]
    return last[0].value if last and isinstance(last[0], YieldStmt) else ()


def _used(function: Function) -> frozenset[Var]:
    """Return the variables whose value the text needs; scalars that nobody reads are left out."""
    read: set[Var] = set()
    for stmt in stmts_in(function.body):
        exprs = [e for e in exprs_in(stmt) if not isinstance(e, Var)]
        match stmt:
            case AssignStmt():
                exprs = [stmt.value]
            case ForStmt():
                exprs = [stmt.start, stmt.stop, stmt.step, *(a.initValue for a in stmt.iter_args)]
            case WhileStmt():
                exprs = [stmt.condition, *(a.initValue for a in stmt.iter_args)]
            case IfStmt():
                exprs = [stmt.condition]
            case YieldStmt() | ReturnStmt():
                exprs = list(stmt.value)
            case _:
                pass
        read.update(uses(exprs))
    return frozenset(read)
