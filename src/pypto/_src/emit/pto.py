"""IR -> PTO MLIR, in the form of document 001.

Owns the order of the text (constants, views, allocations, operations) and control flow. Decides
nothing about the program: passes have chosen buffers, addresses and flags, ops bring their own
text. Host functions are not written here.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType
from pypto._src.emit.pto_body import Body, Line, location
from pypto._src.emit.pto_buffers import Buffers, Key, address_of, memref_of, yields
from pypto._src.emit.pto_parts import Parts, Place, Tile
from pypto._src.emit.pto_scalars import Scalars
from pypto._src.emit.pto_tensors import Tensors
from pypto._src.emit.pto_types import (
    element_type,
    parameter_type,
    pointer_type,
    rows_and_columns,
    scalar_dtype,
    signless,
    tensor_view_type,
    tile_buf_type,
    valid_dims,
    value_type,
)
from pypto._src.emit.writer import source_comment
from pypto._src.errors import EmitError, PyptoError
from pypto._src.ir.nodes import (
    Call,
    Expr,
    GlobalVar,
    IterArg,
    MakeTuple,
    MemRef,
    MemRefType,
    ScalarType,
    TensorType,
    TileType,
    TupleGetItemExpr,
    TupleType,
    Var,
    const_value,
    exprs_of_type,
)
from pypto._src.ir.opdef import AXIS, OpDef, aliased, op_of
from pypto._src.ir.roles import kernels
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.walk import children, exprs_in, stmts_in, uses
from pypto._src.ops import tensor as tensor_ops

_SECTIONS: Final = ("Parameters", "Tensor views", "Allocations")
"""What stands between the constants and the operations, in this order."""


class PTOCodegen:
    """Writes the kernels of a program as one PTO module.

    The program has gone through the passes: SSA form, legal tiles, memory references.

    Args:
        backend: The backend that it writes for; there is one, so it changes nothing.
        locations: Say behind each operation which place of the source it is for, as in
            ``loc("kernel.py":7:5)``; messages of the assembler then name that place.
    """

    def __init__(self, backend: object = None, *, locations: bool = False) -> None:
        self.backend = backend
        self.locations = locations
        self._places: list[Span] = []  # of the lines of the text that was generated last
        self._kernel: _Kernel | None = None  # what is being written
        self._site: _Site | None = None

    def generate(self, program: Program) -> str:
        """Return the text of a module with one function for each kernel, in name order.

        The first line says which options of the assembler the text is for. If any kernel has
        flags of its own the whole file is at level 3, with addresses on all tiles; else the
        assembler plans memory and inserts flags.

        Raises:
            EmitError: the program has a part that the dialect cannot express.
        """
        functions = kernels(program)
        placed = any(_has_flags(function) for function in functions)
        attributes = " attributes {pto.entry}" if len(functions) > 1 else ""
        options = "--pto-level=level3" if placed else "--pto-level=level2 --enable-insert-sync"
        lines = [Line(f"// ptoas {options}"), Line("module {")]
        for index, function in enumerate(functions):
            if index:
                lines.append(Line(""))
            self._kernel = _Kernel(function, placed, self)
            try:
                lines += self._kernel.lines(attributes)
            finally:
                self._kernel = self._site = None
        lines += [Line("}"), Line("")]
        self._places = [line.place for line in lines]
        return "\n".join(line.text for line in lines)

    def place_of(self, line: int) -> Span:
        """Return the place in the user's source that a line of the last text is for.

        Args:
            line: Its number, from 1 on.
        """
        return self._places[line - 1] if 0 < line <= len(self._places) else UNKNOWN_SPAN

    # ---------------------------------------------------------------------------------------
    # What the form of an op may ask for besides its site (`site.codegen`)
    # ---------------------------------------------------------------------------------------

    @contextmanager
    def writing(self, site: _Site) -> Generator[None]:
        """Let the helpers below be about the call of ``site``."""
        outer, self._site = self._site, site
        try:
            yield
        finally:
            self._site = outer

    def _now(self) -> _Kernel:
        if self._kernel is None:
            raise EmitError(
                "this is known only while a kernel is being written",
                hint="ask in the form of an op, by site.codegen",
                slug="emit-helper",
            )
        return self._kernel

    def get_current_result_target(self) -> str:
        """Return the name of the result of the call that is being written, "" if it has none."""
        return "" if self._site is None else self._site.dst

    def get_current_result_tile_buf_type_string(self) -> str:
        """Return the type of the tile that the call being written gives, "" if it gives none."""
        return "" if self._site is None else self._site.dst_type

    def emit(self, line: str) -> None:
        """Append an operation to the kernel that is being written."""
        self._now().body.op(line)

    def new_temp(self) -> str:
        """Return a new SSA name, such as ``%7``."""
        return self._now().body.fresh()

    def get_expr_as_code(self, expr: Expr) -> str:
        """Return the name of a tile, of a tensor's view, or of a scalar, emitting the latter."""
        return self._now().operand(expr)[0]

    def get_expr_type_annotation(self, expr: Expr) -> str:
        """Return the type in which an expression stands in the text."""
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
            raise EmitError(f"{mlir_type!r} is no float type of tiles", slug="emit-dtype")
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


def _has_flags(function: Function) -> bool:
    return any(op.level == "system" for op in map(op_of, _expressions(function)) if op)


def _expressions(function: Function) -> Iterator[Expr]:
    """Yield every expression of a function once, however often it is used."""
    seen: set[Expr] = set()
    for stmt in stmts_in(function.body):
        stack = list(exprs_in(stmt))
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                yield node
                stack += [child for child in children(node) if isinstance(child, Expr)]


class _Kernel:
    """Writes one function."""

    def __init__(self, function: Function, placed: bool, codegen: PTOCodegen) -> None:
        self.function = function
        self.placed = placed
        self.codegen = codegen
        self.body = Body(codegen.locations)
        self.body.place = function.span
        self.scalars = Scalars(self.body, self._scalar_call)
        self.tensors = Tensors(self.body, self.scalars)
        self.parts = Parts(self.body, self.scalars)
        with _at(function):
            _check_parameters(function)
        self.buffers = Buffers(function, placed=placed)
        self.buffer_names: dict[Key, str] = {}
        self.tiles: dict[Expr, tuple[str, str]] = {}  # name and type
        self.places: dict[Expr, Place] = {}  # of parts of tiles, at level 3
        self.tuples: dict[Expr, tuple[Expr, ...]] = {}
        self.parameters: list[str] = []

    def lines(self, attributes: str) -> list[Line]:
        """Return the lines of the function."""
        for key, _ in self.buffers:  # the document numbers allocations before views
            self.buffer_names[key] = self.body.fresh()
        with _at(self.function):
            self._parameters()
            self._check_results()
            with self.body.section("Allocations"):
                self._allocate()
        with self.body.section("body"):
            self._block(self.function.body)
        return self._assemble(attributes)

    def _assemble(self, attributes: str) -> list[Line]:
        place, sections = self.function.span, self.body.sections
        where = f" {location(place)}".rstrip() if self.body.locations else ""
        head = f"  func.func @{self.function.name}"
        separator = ",\n" + " " * len(head)
        text = f"{head}({separator.join(self.parameters)}){attributes} {{"
        out = [Line(line, place) for line in text.split("\n")]
        blocks = [(title, sections[title]) for title in _SECTIONS if sections.get(title)]
        if self.body.constants:
            pairs = self.body.constants.items()
            constants = [Line(f"    {name} = {right}{where}", place) for right, name in pairs]
            blocks.insert(0, ("Constants", constants))
        for title, lines in blocks:
            out += [Line(f"    // {title}"), *lines, Line("")]
        body = sections.get("body", [])
        end = [Line(f"    return{where}", place), Line(f"  }}{where}", place)]
        return [*out, *body, *([Line("")] if body else []), *end]

    # ---------------------------------------------------------------------------------------
    # Parameters and allocations
    # ---------------------------------------------------------------------------------------

    def _parameters(self) -> None:
        tensors: list[tuple[Var, TensorType, str, str]] = []
        read = _dtypes_read(self.function)
        for var in self.function.params:
            pointer = f"%arg{len(self.parameters)}"
            match var.type:
                case TensorType():
                    element = element_type(var.type.dtype)
                    # A scalar read through an unsigned pointer is a value that nothing takes.
                    element = signless(element) if var.type.dtype in read else element
                    self.parameters.append(f"{pointer}: {pointer_type(element)}")
                    tensors.append((var, var.type, pointer, element))
                case ScalarType():
                    self._scalar_parameter(var, var.type.dtype, pointer)
                case _:
                    pass  # _check_parameters refused it
        self._symbolic_dimensions(kind for _, kind, _, _ in tensors)
        with self.body.section("Tensor views"):
            for var, kind, pointer, element in tensors:
                self.tensors.names[var] = self.tensors.make_view(pointer, element, kind)

    def _scalar_parameter(self, var: Var, dtype: DataType, name: str) -> None:
        self.parameters.append(f"{name}: {parameter_type(dtype)}")
        if dtype is DataType.INT64:
            with self.body.section("Parameters"):
                name = self.body.assign(f"arith.index_cast {name} : i64 to index")
        self.scalars.names[var] = name

    def _symbolic_dimensions(self, kinds: Iterator[TensorType]) -> None:
        """Add an ``index`` parameter for each symbolic dimension that no parameter gives."""
        for kind in kinds:
            for var in uses(exprs_of_type(kind)):
                if var in self.scalars.names or var.name in self.scalars.symbols:
                    continue
                name = f"%arg{len(self.parameters)}"
                self.parameters.append(f"{name}: index")
                self.scalars.symbols[var.name] = name

    def _check_results(self) -> None:
        for kind in self.function.return_types:
            if not isinstance(kind, TensorType):
                raise EmitError(
                    f"kernel {self.function.name!r} returns a {type(kind).__name__}, "
                    "and a kernel hands over nothing but tensors",
                    hint="store the value to a pl.Out tensor",
                    slug="emit-result",
                )

    def _allocate(self) -> None:
        for key, buffer in self.buffers:
            name, space = self.buffer_names[key], buffer.space
            if buffer.alias_of is not None:
                whole = self.buffers[buffer.alias_of]
                self.body.emit(
                    f"{name} = pto.treshape {self.buffer_names[buffer.alias_of]} : "
                    f"{whole.type_text} -> {buffer.type_text}"
                )
                continue
            operands = ""
            if self.placed:
                operands = f" addr = {self.body.integer(buffer.address, 'i64')}"
            if any(dim is not None for dim in valid_dims(buffer.kind, space)):
                rows, columns = rows_and_columns(buffer.kind)
                operands += f" valid_row = {self.body.index(rows)}"
                operands += f" valid_col = {self.body.index(columns)}"
            self.body.emit(f"{name} = pto.alloc_tile{operands} : {buffer.type_text}")

    # ---------------------------------------------------------------------------------------
    # Statements
    # ---------------------------------------------------------------------------------------

    def _block(self, body: Stmt | None) -> None:
        for stmt in statements(body):
            with _at(stmt):
                self._statement(stmt)

    def _statement(self, stmt: Stmt) -> None:
        self.scalars.begin_statement()
        outer, self.body.place = self.body.place, stmt.span
        self.body.note(source_comment(stmt.span))
        match stmt:
            case AssignStmt():
                self._assign(stmt.var, stmt.value)
            case EvalStmt():
                self._evaluate(stmt.expr)
            case ForStmt():
                self._for(stmt)
            case WhileStmt():
                self._while(stmt)
            case IfStmt():
                self._if(stmt)
            case ScopeStmt():
                self._block(stmt.body)
            case YieldStmt() | ReturnStmt():
                pass  # loops and branches write their yields; a kernel's results are its tensors
            case BreakStmt() | ContinueStmt():
                raise EmitError(
                    "the PTO dialect has no jumps out of a loop",
                    hint="run passes.convert_to_ssa() first, which turns them into conditions",
                    slug="emit-jump",
                )
            case _:
                raise EmitError(f"a {type(stmt).__name__} cannot be written", slug="emit-statement")
        self.body.note(None)
        self.body.place = outer

    def _assign(self, var: Var, value: Expr) -> None:
        match var.type:
            case MemRefType():
                pass  # block.alloc describes a buffer; the allocations are written from the types
            case TensorType():
                self.tensors.names[var] = self._tensor(value)
            case TileType():
                self._tile(var, value)
            case TupleType():
                self.tuples[var] = self._elements(value)
            case _:
                self.scalars.define(var, self._item(value))

    def _elements(self, value: Expr) -> tuple[Expr, ...]:
        if isinstance(value, MakeTuple):
            return value.elements
        if value in self.tuples:
            return self.tuples[value]
        raise EmitError(f"a {type(value).__name__} is no tuple of values here", value.span)

    def _item(self, value: Expr) -> Expr:
        """Return the element that an item read stands for, ``value`` itself for anything else."""
        while isinstance(value, TupleGetItemExpr):
            value = self._elements(value.tuple)[value.index]
        return value

    def _evaluate(self, value: Expr) -> None:
        if not isinstance(value, Call):
            return
        op = _op(value)
        is_unused_tile = isinstance(value.type, TileType)  # it has no buffer to be written to
        if not is_unused_tile and (op.writes or op.level == "system"):
            self._emit_call(value, op, "", "")

    # ---------------------------------------------------------------------------------------
    # Calls
    # ---------------------------------------------------------------------------------------

    def _tensor(self, value: Expr) -> Any:
        """Return the name of a tensor value, emitting the store whose result it is."""
        value = self._item(value)
        if not isinstance(value, Call):
            return self.tensors.of(value)
        op = _op(value)
        if op is tensor_ops.view:
            return self.tensors.window(value.args[0], self._elements(value.args[2]))
        if op.level == "block" and len(op.writes) == 1:
            self._emit_call(value, op, "", "")
            return self.tensors.of(value.args[next(iter(op.writes))])
        raise _no_form(op)

    def _tile(self, var: Var, value: Expr) -> None:
        value = self._item(value)
        source = aliased(value)
        if source is not None and source in self.places:
            self.places[var] = self.places[source]
        if not isinstance(value, Call):
            self.tiles[var] = self.tile(value)
            return
        op = _op(value)
        space = memref_of(var).memory_space_
        assert isinstance(var.type, TileType)
        type_ = tile_buf_type(var.type, space)
        name: str | None = None  # of another tile's bytes, which `_Site` names
        if source is None:
            name = self.buffer_names[self.buffers.of(var)]
            self._set_valid_shape(var.type, name, type_)
        site = self._emit_call(value, op, name, type_)
        self.tiles[var] = site.dst, type_
        if site.place is not None:
            self.places[var] = site.place

    def part(self, result: Tile, tile: Expr, row: Expr, column: Expr) -> Place | None:
        """Write the part of a tile at a row and column; return where it begins, at level 3."""
        (name, type_), kind = self.tile(tile), tile.type
        assert isinstance(kind, TileType)
        source = Tile(name, type_, kind)
        place: Place | None = None
        if self.placed:
            base = self.places.get(tile) or Place(address_of(memref_of(tile)), None)
            place = self.parts.begin(kind, base, row, column)
        first, second = const_value(row), const_value(column)
        if first is not None and second is not None:
            self.parts.constant(result, source, first, second)
        elif place is not None:
            self.parts.placed(result, place)
        else:
            self.parts.copied(result, source, row, column)
        return place

    def _set_valid_shape(self, kind: TileType, name: str, type_: str) -> None:
        view = valid_dims(kind, memref_of(Var("tile", kind)).memory_space_)
        rows, columns = view
        if rows is not None and columns is not None:
            self.body.emit(
                f"pto.set_validshape {name}, {self.scalars.index(rows)}, "
                f"{self.scalars.index(columns)} : {type_}"
            )

    def _scalar_call(self, call: Call) -> str:
        """Emit a call with a scalar value; return the value as the body holds it."""
        op, dtype = _op(call), scalar_dtype(call)
        site = self._emit_call(call, op, None, parameter_type(dtype))
        if site.known is not None:
            return site.known
        if dtype is DataType.INT64:
            return self.body.assign(f"arith.index_cast {site.dst} : i64 to index")
        return site.dst

    def _emit_call(self, call: Call, op: OpDef[..., Any], dst: str | None, dst_type: str) -> _Site:
        if op.unsupported is not None:
            raise _no_form(op)
        if op.pto is None:
            raise _no_form(op)
        site = _Site(self, call, dst, dst_type)
        with self.codegen.writing(site):
            if callable(op.pto):
                op.pto(site)
            else:
                site.standard(op.pto)
        return site

    def operand(self, value: Expr, dtype: DataType | None = None) -> tuple[str, str]:
        """Return name and type of an operand, "" of others; a scalar is of its own type if None."""
        match value.type:
            case TileType():
                return self.tile(value)
            case TensorType():
                tensor = self.tensors.of(value)
                return tensor.view, tensor.view_type
            case ScalarType():
                dtype = value.type.dtype if dtype is None else dtype
                return self.scalars.value_as(value, dtype), value_type(dtype)
            case _:
                return "", ""

    def tile(self, value: Expr) -> tuple[str, str]:
        """Return name and type of a tile variable."""
        found = self.tiles.get(value)
        if found is None:
            name = value.name if isinstance(value, Var) else "a nested call"
            raise EmitError(
                f"{name!r} is no tile that has been defined here",
                value.span,
                hint=None if isinstance(value, Var) else "run passes.flatten_call_expr() first",
                slug="emit-undefined",
            )
        return found

    # ---------------------------------------------------------------------------------------
    # Control flow. Loops and branches carry scalars only: a carried tile is one buffer that is
    # written in place, a carried tensor one name.
    # ---------------------------------------------------------------------------------------

    def _own_buffer(self, var: Var) -> None:
        key = self.buffers.of(var)
        self.tiles[var] = self.buffer_names[key], self.buffers[key].type_text

    def _enter(self, iter_args: Sequence[IterArg]) -> None:
        for var in iter_args:
            if isinstance(var.type, TileType):
                self._own_buffer(var)
            elif isinstance(var.type, TensorType):
                self.tensors.names[var] = self.tensors.of(var.initValue)

    def _leave(self, iter_args: Sequence[IterArg], stmt: ForStmt | WhileStmt) -> None:
        """Let the results of a loop be what it carried."""
        for var, result, value in zip(iter_args, stmt.return_vars, yields(stmt.body), strict=True):
            if isinstance(var.type, TileType):
                self._own_buffer(result)
            elif isinstance(var.type, TensorType):
                carried = self.tensors.of(var)
                if self.tensors.of(value) != carried:
                    raise _several_tensors(f"a loop carries {var.name!r}")
                self.tensors.names[result] = carried

    def _for(self, stmt: ForStmt) -> None:
        carried = [a for a in stmt.iter_args if isinstance(a.type, ScalarType)]
        results = [v for v in stmt.return_vars if isinstance(v.type, ScalarType)]
        self._enter(stmt.iter_args)
        bounds = _Bounds(self.scalars, stmt, bool(carried))
        inits = [self.scalars.value_as(a.initValue, scalar_dtype(a)) for a in carried]
        names = [self.body.fresh() for _ in results]
        counter = self.body.fresh()
        inside = [self.body.fresh() for _ in carried]
        head = f"scf.for {counter} = {bounds.low} to {bounds.high} step {bounds.step}"
        if carried:
            pairs = ", ".join(f"{a} = {b}" for a, b in zip(inside, inits, strict=True))
            head = f"{', '.join(names)} = {head} iter_args({pairs}) -> ({_types(carried)})"
        self.body.emit(head + " {")
        self.scalars.names.update(zip(carried, inside, strict=True))
        with self.body.indented():
            self.scalars.begin_statement()
            self.scalars.names[stmt.loop_var] = bounds.value(counter)
            self._block(stmt.body)
            self._yield(stmt.body, carried, inside, stmt.iter_args)
        self.body.emit("}")
        self.scalars.names.update(zip(results, names, strict=True))
        self._leave(stmt.iter_args, stmt)

    def _yield(
        self,
        body: Stmt | None,
        carried: Sequence[Var],
        inside: Sequence[str],
        targets: Sequence[Var],
    ) -> None:
        """Write the scalars of a body's yield."""
        self.scalars.begin_statement()
        if not carried:
            return
        dtypes = [scalar_dtype(var) for var in carried]
        values = [
            self.scalars.value_as(self._item(value), scalar_dtype(target))
            for target, value in zip(targets, yields(body), strict=True)
            if isinstance(target.type, ScalarType)
        ]
        values = self.scalars.handed_over(values, inside, dtypes)
        self.body.emit(f"scf.yield {', '.join(values)} : {_types(carried)}")

    def _while(self, stmt: WhileStmt) -> None:
        carried = [a for a in stmt.iter_args if isinstance(a.type, ScalarType)]
        results = [v for v in stmt.return_vars if isinstance(v.type, ScalarType)]
        self._enter(stmt.iter_args)
        inits = [self.scalars.value_as(a.initValue, scalar_dtype(a)) for a in carried]
        names = [self.body.fresh() for _ in results]
        before = [self.body.fresh() for _ in carried]
        after = [self.body.fresh() for _ in carried]
        types = _types(carried)
        pairs = ", ".join(f"{a} = {b}" for a, b in zip(before, inits, strict=True))
        self.body.emit(
            f"{', '.join(names)} = scf.while ({pairs}) : ({types}) -> ({types}) {{"
            if carried
            else "scf.while : () -> () {"
        )
        self.scalars.names.update(zip(carried, before, strict=True))
        with self.body.indented():
            self.scalars.begin_statement()
            condition = self.scalars.condition(stmt.condition)
            passed = f" {', '.join(before)} : {types}" if carried else ""
            self.body.emit(f"scf.condition({condition}){passed}")
        self.body.emit("} do {")
        self.scalars.names.update(zip(carried, after, strict=True))
        if carried:
            arguments = (f"{n}: {_types([a])}" for n, a in zip(after, carried, strict=True))
            self.body.emit(f"^bb0({', '.join(arguments)}):")
        with self.body.indented():
            self._block(stmt.body)
            self._yield(stmt.body, carried, after, stmt.iter_args)
            if not carried:
                self.body.emit("scf.yield")
        self.body.emit("}")
        self.scalars.names.update(zip(results, names, strict=True))
        self._leave(stmt.iter_args, stmt)

    def _if(self, stmt: IfStmt) -> None:
        results = [v for v in stmt.return_vars if isinstance(v.type, ScalarType)]
        condition = self.scalars.condition(stmt.condition)
        names = [self.body.fresh() for _ in results]
        head = f"scf.if {condition}"
        if results:
            head = f"{', '.join(names)} = {head} -> ({_types(results)})"
        self.body.emit(head + " {")
        tensors = self._branch(stmt.then_body, results, stmt.return_vars)
        others = tensors
        if results or any(not isinstance(s, YieldStmt) for s in statements(stmt.else_body)):
            self.body.emit("} else {")
            others = self._branch(stmt.else_body, results, stmt.return_vars)
        elif stmt.else_body is not None:
            others = self._tensor_yields(stmt.else_body)
        self.body.emit("}")
        if tensors != others:
            raise _several_tensors("the branches hand on")
        self.scalars.names.update(zip(results, names, strict=True))
        merged = iter(tensors)
        for var in stmt.return_vars:
            if isinstance(var.type, TensorType):
                self.tensors.names[var] = next(merged)
            elif isinstance(var.type, TileType):
                self._own_buffer(var)

    def _branch(
        self, body: Stmt | None, results: Sequence[Var], targets: Sequence[Var]
    ) -> list[Any]:
        with self.body.indented():
            self._block(body)
            self._yield(body, results, [], targets)
        return self._tensor_yields(body)

    def _tensor_yields(self, body: Stmt | None) -> list[Any]:
        return [self.tensors.of(v) for v in yields(body) if isinstance(v.type, TensorType)]


class _Bounds:
    """The three bounds of an scf.for that runs the turns of a counted loop, and its counter.

    Trap: the C++ counter of a loop that carries nothing is unsigned, so with a negative bound it
    would run for ever. Such a loop, and one that counts down, runs over the numbers of its turns.
    """

    def __init__(self, scalars: Scalars, stmt: ForStmt, carries: bool) -> None:
        self._scalars = scalars
        self._dtype = scalar_dtype(stmt.loop_var)
        step = const_value(stmt.step)
        if step == 0:
            raise EmitError("the step of a loop is zero", slug="emit-loop")
        self._start, high = scalars.index(stmt.start), scalars.index(stmt.stop)
        self._stride = scalars.index(stmt.step)
        start = const_value(stmt.start)
        self._factor: str | int = self._stride if step is None else step
        self._offset: str | int = self._start if start is None else start
        self._starts_natural = scalars.is_natural(self._start)
        upward = step is not None and step > 0
        self._by_turns = not upward or not (carries or self._starts_natural)
        if self._by_turns:
            self._count_turns(high)
            return
        self.low, self.step = self._start, self._stride
        self.high = high if carries else scalars.clamped(high)

    def _count_turns(self, high: str) -> None:
        scalars, body = self._scalars, self._scalars.body
        length = body.assign(f"arith.subi {high}, {self._start} : index")
        turns = body.assign(f"arith.ceildivsi {length}, {self._stride} : index")
        self.low, self.step = body.index(0), body.index(1)
        self.high = scalars.clamped(turns)

    def value(self, counter: str) -> str:
        """Return the loop variable's value, computed in the loop's body."""
        scalars = self._scalars
        if self._by_turns:
            counter = scalars.sum_of_products([(counter, self._factor), (self._offset, 1)])
        elif self._starts_natural:
            scalars.set_natural(counter)
        return scalars.convert(counter, DataType.INDEX, self._dtype)


class _Site:
    """One call, as the op's own form sees it (`ir.opdef.PtoSite`)."""

    dst: str

    def __init__(self, kernel: _Kernel, call: Call, dst: str | None, dst_type: str) -> None:
        self._kernel = kernel
        self.codegen = kernel.codegen
        self.call = call
        if dst is not None:
            self.dst = dst
        self.dst_type = dst_type
        self.known: str | None = None  # the value that the result is, if nothing computes it
        self.place: Place | None = None  # where the result begins, if it is part of a tile
        kinds = [param.kind for param in _op(call).operands]
        pairs = zip(call.args, kinds, strict=True)
        # The number of a dimension is a fact of the op, no operand of the text.
        operands = [("", "") if kind == AXIS else self._operand(arg) for arg, kind in pairs]
        self.args = tuple(name for name, _ in operands)
        self.arg_types = tuple(type_ for _, type_ in operands)

    def __getattr__(self, name: str) -> str:
        """Name a scalar result when the op first asks for it, so that numbers follow the text."""
        if name != "dst":
            raise AttributeError(name)
        self.dst = self._kernel.body.fresh()
        return self.dst

    def _operand(self, arg: Expr) -> tuple[str, str]:
        kind = arg.type
        dtype = self._operand_dtype(kind.dtype) if isinstance(kind, ScalarType) else None
        return self._kernel.operand(arg, dtype)

    def _operand_dtype(self, dtype: DataType) -> DataType:
        """Return the type in which a scalar stands beside tiles: the element type.

        No tile op takes ``index``, and a float constant is single precision whatever it meets.
        """
        kinds = [arg.type for arg in self.call.args]
        element = next((k.dtype for k in kinds if isinstance(k, TileType)), None)
        if element is None and isinstance(self.call.type, TileType):
            element = self.call.type.dtype
        if element is None or element.get_bit() < 8:
            return dtype
        same_kind = element.is_float() == dtype.is_float()
        return element if same_kind or dtype is DataType.INDEX else dtype

    def emit(self, line: str) -> None:
        self._kernel.body.op(line)

    def expr(self, value: Expr) -> str:
        return self._kernel.scalars.value(value)

    def index(self, value: Expr) -> str:
        return self._kernel.scalars.index(value)

    def new_name(self) -> str:
        return self._kernel.body.fresh()

    def partition_view(
        self, tensor: Expr, offsets: Sequence[Expr], shape: Sequence[Expr]
    ) -> tuple[str, str]:
        return self._kernel.tensors.region(tensor, offsets, shape)

    def element(self, tensor: Expr, indices: Sequence[Expr]) -> tuple[str, str, str]:
        return self._kernel.tensors.element(tensor, indices)

    def alias(self, name: str) -> None:
        self.known = name

    def retype(self, tile: Expr | None, kind: TileType) -> tuple[str, str]:
        if tile is None:
            name, type_, space = self.dst, self.dst_type, _op(self.call).space_of(self.call)
        else:
            (name, type_), space = self._kernel.tile(tile), memref_of(tile).memory_space_
        other = tile_buf_type(kind, space)
        alias = self._kernel.body.assign(f"pto.treshape {name} : {type_} -> {other}")
        return alias, other

    def part(self, row: Expr, column: Expr) -> None:
        kind = self.call.type
        assert isinstance(kind, TileType)
        result = Tile(self.dst, self.dst_type, kind)
        self.place = self._kernel.part(result, self.call.args[0], row, column)

    def standard(self, mnemonic: str) -> None:
        """Write ``mnemonic ins(a, b : Ta, Tb) outs(d : Td)``."""
        pairs = [(n, t) for n, t in zip(self.args, self.arg_types, strict=True) if n]
        names, types = (", ".join(column) for column in zip(*pairs, strict=True))
        self.emit(f"{mnemonic} ins({names} : {types}) outs({self.dst} : {self.dst_type})")


def _check_parameters(function: Function) -> None:
    for var in function.params:
        if not isinstance(var.type, TensorType | ScalarType):
            raise EmitError(
                f"parameter {var.name!r} is neither a tensor nor a scalar",
                var.span,
                hint="load the tile in the kernel",
                slug="emit-parameter",
            )


def _op(call: Call) -> OpDef[..., Any]:
    op = op_of(call)
    if op is not None:
        return op
    if isinstance(call.op, GlobalVar):
        raise EmitError(
            f"a kernel cannot call {call.op.name!r}",
            call.span,
            hint="run passes.convert_to_ssa() first, which inlines calls between kernels",
            slug="emit-call",
        )
    raise EmitError(f"nobody registered the op {call.op.name}", call.span, slug="emit-op")


def _no_form(op: OpDef[..., Any]) -> EmitError:
    reason = op.unsupported or "it is not an operation of a core"
    return EmitError(f"{op.name} has no PTO form: {reason}", hint=op.instead, slug="emit-op")


def _several_tensors(what: str) -> EmitError:
    return EmitError(
        f"{what} different tensors, and the dialect has no choice between views",
        hint="store in each branch to its own tensor",
        slug="emit-tensor-merge",
    )


def _types(variables: Sequence[Var]) -> str:
    return ", ".join(value_type(scalar_dtype(var)) for var in variables)


def _dtypes_read(function: Function) -> frozenset[DataType]:
    """Return the element types of tensors of which single elements are read."""
    calls = (node for node in _expressions(function) if isinstance(node, Call))
    return frozenset(scalar_dtype(call) for call in calls if call.op is tensor_ops.read)


@contextmanager
def _at(node: Stmt | Function) -> Generator[None]:
    """Give errors that come from inside the place of ``node``."""
    try:
        yield
    except PyptoError as error:
        error.at(node.span)
        raise
