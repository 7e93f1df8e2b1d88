"""C++ of a host function for the device's task runtime: tensors, loops, one task a kernel call.

The runtime finds the order of tasks from the tensors that they read and write, so the text has no
synchronisation. Sizes that are known at run time only are words behind the parameters: of the
entry, of host functions that it calls, and of each task whose kernel has such. What this form
cannot express is refused at its place in the user's source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from pypto._src.dtypes import DataType
from pypto._src.emit.cpp import RESERVED
from pypto._src.emit.cpp_tensors import parameter_sizes
from pypto._src.emit.cpp_types import FLOOR_HELPERS, ScalarText, c_type
from pypto._src.emit.orchestration_roots import Choices, Results, noun, tensor_roots
from pypto._src.emit.writer import CodeEmitter, Names, source_comment
from pypto._src.errors import EmitError, PyptoError
from pypto._src.ir.dims import dimension_vars
from pypto._src.ir.enums import CoreType, ParamDirection
from pypto._src.ir.nodes import (
    Call,
    Expr,
    GlobalVar,
    IterArg,
    MakeTuple,
    ScalarType,
    TensorType,
    TupleGetItemExpr,
    TupleType,
    Var,
    const_value,
    dtype_of,
    same_dims,
    static_shape,
)
from pypto._src.ir.opdef import op_of
from pypto._src.ir.roles import Role, core_type, role
from pypto._src.ir.stmts import (
    AssignStmt,
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
    yielded,
)
from pypto._src.ir.user_text import user_name
from pypto._src.ir.walk import stmts_in
from pypto._src.ops import tensor as tensor_ops
from pypto._src.ops import tensor_math

_DTYPES: Final = {
    DataType.FP16: "FLOAT16",
    DataType.FP32: "FLOAT32",
    DataType.BF16: "BFLOAT16",
    DataType.INT8: "INT8",
    DataType.INT16: "INT16",
    DataType.INT32: "INT32",
    DataType.INT64: "INT64",
    DataType.UINT8: "UINT8",
    DataType.UINT64: "UINT64",
}
_MAKE_PARAM: Final = {
    ParamDirection.In: "make_input_param",
    ParamDirection.Out: "make_output_param",
    ParamDirection.InOut: "make_inout_param",
}
_WORKERS: Final = {
    CoreType.VECTOR: "PTO2_WORKER_VECTOR",
    CoreType.CUBE: "PTO2_WORKER_CUBE",
}
_RESERVED: Final = RESERVED | {"rt", "arg_count", "Tensor", "PTOParam", "DataType", "float_to_u64"}
_VISIBLE: Final = '__attribute__((visibility("default")))'

_HEAD: Final = (
    "#include <stddef.h>",
    "#include <stdint.h>",
    "#include <stdio.h>",
    "",
    '#include "pto_orchestration_api.h"',
    "",
)
_FLOAT_TO_U64: Final = (
    "static inline uint64_t float_to_u64(float value)",
    "{",
    "    union { uint64_t word; float value; } bits;",
    "    bits.word = 0;",
    "    bits.value = value;",
    "    return bits.word;",
    "}",
    "",
)


_CHIP_SLUGS: Final = frozenset(
    {"emit-op", "emit-read", "emit-return", "emit-tensor-merge", "emit-dtype"}
)
_CHIP_ONLY: Final = (
    "only the C++ for the chip's runtime cannot say this; on the CPU the program runs as it is"
)


class OrchestrationResult(NamedTuple):
    """The text of a host function, and the kernels that it launches."""

    code: str
    func_name_to_id: Mapping[str, int]
    func_name_to_core_type: Mapping[str, CoreType]


def generate_orchestration(program: Program, func: Function) -> OrchestrationResult:
    """Return the C++ text of host function ``func`` of ``program``.

    Both have gone through the passes: SSA form, calls in statements of their own.

    Raises:
        EmitError: ``func`` is a kernel, calls what the program does not have, or has a part that
            the runtime's interface cannot express; the error points at the user's line.
    """
    if role(func) is not Role.HOST:
        raise EmitError(
            f"function {func.name!r} is a kernel, not an orchestration",
            func.span,
            hint="mark it with @pl.function(type=pl.FunctionType.Orchestration)",
            slug="emit-orchestration",
        )
    return _Host(program, func).result()


class _Handle(NamedTuple):
    """A tensor of the runtime: the C++ object, and where the host may read its elements."""

    text: str
    pointer: str  # typed pointer, "" where the elements exist on the device only
    base: str  # distance in elements of the first element from the pointer, "" for none
    strides: tuple[str, ...]
    level: int = 0  # how many loops and branches of the text its object is declared in at most
    is_choice: bool = False  # the object that a pointer points to at the time


class _Shared:
    """What the function and those that it calls number and write together."""

    def __init__(self, program: Program) -> None:
        self.results = Results(program)
        self.ids: dict[str, int] = {}
        self.cores: dict[str, CoreType] = {}
        self.tasks = 0
        self.names = Names(_RESERVED)  # of functions
        self.functions: dict[str, str] = {}  # C++ names of the host functions that are called
        self.text = CodeEmitter()  # of those functions, callees first
        self.helpers: dict[str, None] = {}
        self.path: list[str] = []


class _Host:
    def __init__(self, program: Program, function: Function, shared: _Shared | None = None) -> None:
        self.program = program
        self.function = function
        self.shared = _Shared(program) if shared is None else shared
        self.names = Names(_RESERVED)
        self.macros = Names(frozenset())
        self.scalars = ScalarText(self.name)
        self.handles: dict[Var, _Handle] = {}
        self.tuples: dict[Var, tuple[_Handle, ...]] = {}
        self.roots = tensor_roots(function, self.shared.results)
        self.choices = Choices(function, self.shared.results)
        self.level = 0
        self.written: set[Var] = self._written_roots()
        self.types: dict[str, str] = {}  # of the variables of the text that may be assigned
        self.defines: dict[int, str] = {}  # by the number of the entry's argument
        self.unpack = CodeEmitter(1)
        self.body = CodeEmitter(1)
        self.line: str | None = None
        self.assigned: set[Var] = set()

    def result(self) -> OrchestrationResult:
        self.shared.path.append(self.function.name)
        try:
            self._parameters()
            self._statements(self.function.body)
        except PyptoError as error:
            error = error.at(self.function.span)
            raise (error.noted(_CHIP_ONLY) if error.slug in _CHIP_SLUGS else error) from None
        return OrchestrationResult(self._text(), self.shared.ids, self.shared.cores)

    def called(self) -> str:
        """Write the function as one that another host function calls; return its C++ name."""
        shared, function = self.shared, self.function
        known = shared.functions.get(function.name)
        if known is not None:
            return known
        if function.name in shared.path:
            raise EmitError(f"{function.name!r} calls itself", hint="write a loop")
        shared.path.append(function.name)
        params = ["PTO2Runtime* rt"]
        for param in function.params:
            if isinstance(param.type, TensorType):
                name = self.names.fresh(param.name)
                self.handles[param] = _Handle(name, "", "", ())
                params.append(f"Tensor& {name}")
            else:
                params.append(f"{_host_type(param)} {self.names.register(param)}")
        for var in dimension_vars(function):
            params.append(f"{_host_type(var)} {self.names.register(var)}")
        self._statements(function.body)
        shared.path.pop()
        shared.helpers |= self.scalars.helpers
        name = shared.functions[function.name] = shared.names.fresh(f"host_{function.name}")
        shared.text.emit_line(f"static void {name}({', '.join(params)})")
        shared.text.emit_line("{")
        shared.text.emit_block(self.body.get_code())
        shared.text.emit_line("}")
        shared.text.emit_line()
        return name

    def _text(self) -> str:
        out = CodeEmitter()
        defines = [self.defines[index] for index in sorted(self.defines)]
        for line in (*_HEAD, *defines, "", *_FLOAT_TO_U64):
            out.emit_line(line)
        for name in sorted(self.scalars.helpers | self.shared.helpers):
            for line in (*FLOOR_HELPERS[name], ""):
                out.emit_line(line.replace("__aicore__ ", ""))
        out.emit_block(self.shared.text.get_code())
        for line in (
            'extern "C" {',
            "",
            _VISIBLE,
            "PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t* args, int arg_count)",
            "{",
            "    (void)args;",
            "    (void)arg_count;",
            "    return PTO2OrchestrationConfig{",
            f"        .expected_arg_count = {len(self.defines)},",
            "    };",
            "}",
            "",
            _VISIBLE,
            "void aicpu_orchestration_entry(PTO2Runtime* rt, uint64_t* args, int arg_count)",
            "{",
            "    (void)arg_count;",
        ):
            out.emit_line(line)
        out.emit_block(self.unpack.get_code())
        out.emit_line()
        out.emit_block(self.body.get_code())
        for line in ("}", "", '}  // extern "C"'):
            out.emit_line(line)
        return out.get_code()

    # ----- parameters -----------------------------------------------------------------------

    def _parameters(self) -> None:
        later: list[tuple[int, Var]] = []  # their sizes are scalars, which get names before
        params = self.function.params
        for index, param in enumerate(params):
            match param.type:
                case TensorType():
                    if static_shape(param.type) is None:
                        later.append((index, param))
                    else:
                        self._external(param, index)
                case ScalarType():
                    self._scalar_parameter(param, param.type.dtype, index)
                case _:
                    raise EmitError(
                        f"parameter {param.name!r} is neither a tensor nor a scalar", param.span
                    )
        for index, var in enumerate(dimension_vars(self.function), len(params)):
            self._scalar_parameter(var, dtype_of(var), index)
        for index, param in later:
            self._external(param, index)
        for stmt in statements(self.function.body):
            if isinstance(stmt, ReturnStmt):
                self._results(stmt)

    def _results(self, stmt: ReturnStmt) -> None:
        """Make the returned tensors that are no parameters arguments of the entry, too."""
        made = {
            s.var
            for s in statements(self.function.body)
            if isinstance(s, AssignStmt) and _is_op(s.value, tensor_ops.create)
        }
        for value in stmt.value:
            root = self.roots.get(value)
            if root is None or (root in made and not _same_shape(value, root)):
                raise EmitError(
                    "an orchestration returns whole tensors: parameters, and ones that it makes",
                    stmt.span,
                    slug="emit-return",
                )
            if root in self.handles:
                continue
            if root not in made:
                raise EmitError(
                    f"the returned tensor {root.name!r} is made inside a loop or branch",
                    stmt.span,
                    hint=f"make {root.name} before it",
                    slug="emit-return",
                )
            self._external(root, len(self.defines), _user_name(root))

    def _define(self, name: str, index: int) -> str:
        macro = self.macros.fresh(name)
        self.defines[index] = f"#define {macro} {index}"
        return macro

    def _external(self, var: Var, index: int, name: str | None = None) -> None:
        assert isinstance(var.type, TensorType)
        strides = self._strides(
            list(parameter_sizes(var, lambda size: self.scalars.text(size, 11)))
        )
        shape = [self._size(size) for size in var.type.shape]
        name = self.names.fresh(name or var.name)
        macro = self._define(f"ARG_PTR_{name.upper()}", index)
        pointer, handle = self.names.fresh(f"arg_{name}_ptr"), self.names.fresh(f"ext_{name}")
        self.unpack.emit_line()
        self.unpack.emit_line(f"void* {pointer} = reinterpret_cast<void*>(args[{macro}]);")
        shapes = self._array(self.unpack, f"{name}_shapes", shape)
        dtype = _dtype_name(dtype_of(var), var)
        self.unpack.emit_line(
            f"Tensor {handle} = make_tensor_external({pointer}, {shapes}, {len(shape)}, {dtype});"
        )
        self.handles[var] = _Handle(handle, pointer, "", strides)

    def _strides(self, sizes: Sequence[int | str]) -> tuple[str, ...]:
        """Return the strides of a dense tensor as factors of a product."""
        strides: list[str] = []
        known, unknown = 1, ""
        for size in reversed(sizes):
            strides.append(f"{unknown}{known}" if known != 1 or not unknown else unknown[:-3])
            if isinstance(size, int):
                known *= size
            else:
                unknown = f"{size} * {unknown}"
        return tuple(reversed(strides))

    def _array(self, out: CodeEmitter, name: str, values: Sequence[str]) -> str:
        name = self.names.fresh(name)
        out.emit_line(f"uint64_t {name}[{len(values)}] = {{{', '.join(values)}}};")
        return name

    def _scalar_parameter(self, param: Var, dtype: DataType, index: int) -> None:
        name = self.names.register(param)
        word = f"args[{self._define(f'ARG_{name.upper()}', index)}]"
        self.unpack.emit_line()
        if dtype is DataType.BOOL:
            self.unpack.emit_line(f"bool {name} = {word} != 0;")
        elif dtype is DataType.FP32:
            bits = self.names.fresh(f"{name}_bits")
            self.unpack.emit_line(f"union {{ uint64_t word; float value; }} {bits};")
            self.unpack.emit_line(f"{bits}.word = {word};")
            self.unpack.emit_line(f"float {name} = {bits}.value;")
        elif dtype.is_int():
            kind = c_type(dtype)
            self.unpack.emit_line(f"{kind} {name} = static_cast<{kind}>({word});")
        else:
            raise _no_scalar(dtype, param)

    # ----- names and values -----------------------------------------------------------------

    def name(self, var: Var) -> str:
        """Return the C++ name of a scalar."""
        name = self.names.get(var)
        if name is None:
            raise EmitError(f"the value of {var.name!r} is not known on the host", var.span)
        return name

    def handle(self, value: Expr) -> _Handle:
        """Return the handle of a tensor expression."""
        if isinstance(value, Var) and value in self.handles:
            return self.handles[value]
        if isinstance(value, TupleGetItemExpr) and isinstance(value.tuple, Var):
            items = self.tuples.get(value.tuple)
            if items is not None:
                return items[value.index]
        raise EmitError("a tensor stands here that the orchestration does not have", value.span)

    def _size(self, value: Expr) -> str:
        """Return an entry of a list of ``uint64_t``."""
        known = const_value(value)
        if known is not None:
            return str(known)
        return f"static_cast<uint64_t>({self.scalars.text(value)})"

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
                self._comment(stmt)
                self._launch(_kernel_call(stmt.expr))
            case ForStmt():
                self._for(stmt)
            case WhileStmt():
                self._while(stmt)
            case IfStmt():
                self._if(stmt)
            case ScopeStmt():
                self._statements(stmt.body)
            case ReturnStmt() | YieldStmt():
                pass  # written by what they belong to
            case _:
                raise EmitError(
                    f"an orchestration has no {type(stmt).__name__.removesuffix('Stmt').lower()}: "
                    "it would leave a scope of the runtime",
                    hint="write the loop's condition without it",
                    slug="emit-orchestration",
                )

    def _comment(self, stmt: Stmt) -> None:
        text = source_comment(stmt.span)
        if text is not None and text != self.line:
            self.body.emit_line(f"// {text}")
            self.line = text

    def _assign(self, stmt: AssignStmt) -> None:
        var, value = stmt.var, stmt.value
        if var in self.assigned:
            raise EmitError(
                f"{var.name!r} is assigned twice",
                hint="run the passes first: PassManager.get_strategy().run_passes(program)",
                slug="emit-ssa",
            )
        self.assigned.add(var)
        if var in self.handles:
            return  # a tensor made here and returned: it is an argument of the entry
        self._comment(stmt)
        if isinstance(value, Call) and isinstance(value.op, GlobalVar):
            self._results_of_launch(var, self._launch(value))
        elif isinstance(value, Call):
            self._op(var, value)
        elif isinstance(var.type, TensorType):
            self.handles[var] = self.handle(value)
        elif isinstance(var.type, ScalarType):
            text = self.scalars.text(value)
            self._declare_scalar(var, text)
        else:
            raise EmitError(f"an orchestration has no variable of {type(var.type).__name__}")

    def _declare_scalar(self, var: Var, text: str) -> None:
        name = self.names.register(var)
        self.types[name] = _host_type(var)
        self.body.emit_line(f"{self.types[name]} {name} = {text};")

    def _op(self, var: Var, call: Call) -> None:
        op = op_of(call)
        if op is tensor_ops.create:
            self._create(var, call)
        elif op is tensor_ops.view:
            self._view(var, call)
        elif op is tensor_ops.read:
            self._read(var, call)
        elif op is tensor_ops.dim:
            self._declare_scalar(var, self.scalars.text(tensor_ops.size_of(call)))
        elif op is tensor_math.assemble:
            raise _no_copy(call)
        else:
            raise EmitError(
                f"{call.op.name} has no form in an orchestration",
                hint="move it into an InCore function and call that",
                slug="emit-op",
            )

    def _create(self, var: Var, call: Call) -> None:
        sizes = _elements(call.args[0])
        name = self.names.fresh(var.name)
        shapes = self._array(self.body, f"{name}_shapes", [self._size(d) for d in sizes])
        dtype = _dtype_name(dtype_of(var), var)
        self.body.emit_line(f"Tensor {name} = make_tensor({shapes}, {len(sizes)}, {dtype});")
        self.handles[var] = _Handle(name, "", "", (), self.level)

    def _view(self, var: Var, call: Call) -> None:
        source = self.handle(call.args[0])
        shape, offsets = _elements(call.args[1]), _elements(call.args[2])
        name = self.names.fresh(var.name)
        sizes = ", ".join(self._size(d) for d in shape)
        starts = ", ".join(self._size(o) for o in offsets)
        self.body.emit_line(f"Tensor {name} = {source.text}.view({{{sizes}}}, {{{starts}}});")
        base = self._distance(source, offsets) if source.pointer else ""
        self.handles[var] = source._replace(text=name, base=base, level=self.level, is_choice=False)

    def _distance(self, source: _Handle, indices: Sequence[Expr]) -> str:
        terms = [source.base] if source.base else []
        for index, stride in zip(indices, source.strides, strict=True):
            text = self.scalars.text(index, 11 if stride != "1" else 10)
            terms.append(f"{text} * {stride}" if stride != "1" else text)
        return " + ".join(terms) or "0"

    def _read(self, var: Var, call: Call) -> None:
        source = self.handle(call.args[0])
        root = self.roots.get(call.args[0])
        is_parameter = any(root is param for param in self.function.params)
        if is_parameter and self.shared.path[0] != self.function.name:
            raise EmitError(
                f"{self.function.name!r} reads an element, and another function calls it",
                hint="read it in the function that is called first, and pass the scalar",
                slug="emit-read",
            )
        if not source.pointer or root in self.written:
            raise EmitError(
                "the host reads an element that a kernel writes; it is not there yet when the "
                "orchestration runs",
                hint="read it in the kernel that needs it",
                slug="emit-read",
            )
        element = _host_type(var)
        at = self._distance(source, _elements(call.args[1]))
        self._declare_scalar(var, f"static_cast<const {element}*>({source.pointer})[{at}]")

    # ----- kernel calls ---------------------------------------------------------------------

    def _callee(self, call: Call) -> Function:
        callee = self.program.get_function(call.op.name)
        if callee is None:
            raise EmitError(f"the program has no function {call.op.name!r}")
        return callee

    def _launch(self, call: Call) -> tuple[_Handle, ...]:
        """Write a task; return the tensors that the call's results are."""
        callee, shared = self._callee(call), self.shared
        if role(callee) is Role.HOST:
            return self._host_call(call, callee)
        number = shared.ids.setdefault(callee.name, len(shared.ids))
        if callee.name not in shared.cores:
            shared.cores[callee.name] = core_type(callee)
        worker = shared.cores[callee.name]
        task = shared.tasks
        shared.tasks += 1
        params = self.names.fresh(f"params_t{task}")
        entries = [
            self._param(arg, direction)
            for arg, direction in zip(call.args, callee.param_directions, strict=True)
        ]
        entries += [self._param(size, ParamDirection.In) for size in self._told_sizes(call, callee)]
        self.body.emit_line(f"// Task {task}: {callee.name}")
        self.body.emit_line(f"PTOParam {params}[] = {{")
        for entry in entries:
            self.body.emit_line(f"    {entry},")
        self.body.emit_line("};")
        self.body.emit_line(
            f"pto2_rt_submit_task(rt, {number}, {_WORKERS[worker]}, {params}, {len(entries)});"
        )
        return tuple(self.handle(call.args[i]) for i in shared.results.of(callee))

    def _host_call(self, call: Call, callee: Function) -> tuple[_Handle, ...]:
        """Write the call of another host function; return the tensors that its results are."""
        results = self.shared.results.of(callee)
        name = _Host(self.program, callee, self.shared).called()
        args = [
            _object(self.handle(arg))
            if isinstance(arg.type, TensorType)
            else self.scalars.text(arg)
            for arg in call.args
        ]
        args += [self.scalars.text(size) for size in self._told_sizes(call, callee)]
        self.body.emit_line(f"{name}({', '.join(['rt', *args])});")
        return tuple(self.handle(call.args[i]) for i in results)

    def _told_sizes(self, call: Call, callee: Function) -> list[Expr]:
        """Return what ``call`` makes of the sizes that ``callee`` is told behind its parameters."""
        found: dict[Var, Expr] = {}
        for param, arg in zip(callee.params, call.args, strict=True):
            if isinstance(param.type, TensorType) and isinstance(arg.type, TensorType):
                for dim, size in zip(param.type.shape, arg.type.shape, strict=True):
                    if isinstance(dim, Var):
                        found.setdefault(dim, size)
        for var in dimension_vars(callee):
            if var not in found:
                raise EmitError(
                    f"no tensor tells the size {var.name!r} of {noun(callee)} {callee.name!r}",
                    hint=f"add a parameter {var.name.lower()}: pl.INT64 and use it in the shapes",
                    slug="emit-shape",
                )
        return [found[var] for var in dimension_vars(callee)]

    def _param(self, arg: Expr, direction: ParamDirection) -> str:
        if isinstance(arg.type, TensorType):
            return f"{_MAKE_PARAM[direction]}({_object(self.handle(arg))})"
        if not isinstance(arg.type, ScalarType):
            raise EmitError(f"a kernel takes tensors and scalars, got {type(arg.type).__name__}")
        dtype, text = arg.type.dtype, self.scalars.text(arg)
        if dtype is DataType.FP32:
            return f"make_scalar_param(float_to_u64({text}))"
        if dtype.is_float():
            raise _no_scalar(dtype, arg)
        return f"make_scalar_param(static_cast<uint64_t>({text}))"

    def _results_of_launch(self, var: Var, results: tuple[_Handle, ...]) -> None:
        if isinstance(var.type, TupleType):
            self.tuples[var] = results
        elif results:
            self.handles[var] = results[0]

    def _written_roots(self) -> set[Var]:
        written: set[Var] = set()
        for stmt in stmts_in(self.function.body):
            value = stmt.value if isinstance(stmt, AssignStmt) else None
            call = stmt.expr if isinstance(stmt, EvalStmt) else value
            if not isinstance(call, Call) or not isinstance(call.op, GlobalVar):
                continue
            callee = self.program.get_function(call.op.name)
            if callee is None:
                continue
            for arg, direction in zip(call.args, callee.param_directions, strict=False):
                if direction is ParamDirection.In:
                    continue
                for tensor in (arg, *self.choices.all_of(arg)):
                    root = self.roots.get(tensor, tensor)
                    if isinstance(root, Var):
                        written.add(root)
        return written

    # ----- control flow ---------------------------------------------------------------------

    def _scope(self, header: str, body: Stmt, targets: Sequence[Var]) -> None:
        """Write ``header { PTO2_SCOPE(rt) { body } }``; the body's yields go to ``targets``."""
        self.body.emit_line(f"{header} {{")
        self.body.increase_indent()
        self.body.emit_line("PTO2_SCOPE(rt) {")
        self.body.increase_indent()
        self.level += 1
        self._statements(body)
        self.level -= 1
        self._yield(body, targets)
        self.body.decrease_indent()
        self.body.emit_line("}")
        self.body.decrease_indent()

    def _yield(self, body: Stmt, targets: Sequence[Var]) -> None:
        values = yielded(body)
        if len(values) != len(targets):
            raise EmitError(f"{len(targets)} values are wanted, the body yields {len(values)}")
        pairs: list[tuple[str, str]] = []
        for target, value in zip(targets, values, strict=True):
            if isinstance(target.type, TensorType):
                self._merge(target, value, pairs)
            else:
                pairs.append((self.name(target), self.scalars.text(value)))
        self._assign_together(pairs)

    def _assign_together(self, pairs: Sequence[tuple[str, str]]) -> None:
        changed = [pair for pair in pairs if pair[0] != pair[1]]
        if len(changed) == 1:
            self.body.emit_line(f"{changed[0][0]} = {changed[0][1]};")
            return
        # All values are read before any of them changes.
        later: list[str] = []
        for target, text in changed:
            name = self.names.fresh(f"{target}_next")
            self.body.emit_line(f"{self.types[target]} {name} = {text};")
            later.append(f"{target} = {name};")
        for line in later:
            self.body.emit_line(line)

    def _merge(self, target: Var, value: Expr, pairs: list[tuple[str, str]]) -> None:
        handle = self.handle(value)
        known = self.handles.setdefault(target, handle)
        if known == handle:
            return
        if not known.is_choice or handle.level > self.level:
            raise EmitError(
                f"{user_name(target)!r} stands for different tensors, depending on the way to it, "
                "and one of them is made on that way",
                hint="make it before the loop or branch, with pl.create_tensor or pl.view",
                slug="emit-tensor-merge",
            )
        pairs.append((_address(known), _address(handle)))

    def _choice(self, var: Var, address: str) -> None:
        """Declare a pointer to the tensor that a variable stands for at the time.

        It is no copy, since the runtime gives memory to a tensor when it is first written.
        """
        name = self.names.fresh(var.name)
        self.body.emit_line(f"Tensor* {name} = {address};")
        self.types[name] = "Tensor*"
        handles: dict[Any, _Handle] = self.handles
        known = [handles[tensor] for tensor in self.choices.all_of(var) if tensor in handles]
        level = max([0, *(handle.level for handle in known)])
        self.handles[var] = _Handle(f"(*{name})", "", "", (), level, is_choice=True)

    def _enter(self, iter_args: Sequence[IterArg]) -> None:
        for arg in iter_args:
            if arg in self.choices.chosen:
                self._choice(arg, _address(self.handle(arg.initValue)))
            elif isinstance(arg.type, TensorType):
                self.handles[arg] = self.handle(arg.initValue)
            else:
                self._declare_scalar(arg, self.scalars.text(arg.initValue))

    def _leave(self, iter_args: Sequence[IterArg], return_vars: Sequence[Var]) -> None:
        for arg, var in zip(iter_args, return_vars, strict=True):
            if isinstance(arg.type, TensorType):
                self.handles[var] = self.handles[arg]
            else:
                self.names.register(var, self.name(arg))

    def _for(self, stmt: ForStmt) -> None:
        self._comment(stmt)
        self._enter(stmt.iter_args)
        name = self.names.register(stmt.loop_var)
        start, stop, step = (self.scalars.text(e, 10) for e in (stmt.start, stmt.stop, stmt.step))
        known = const_value(stmt.step)
        if known is None:
            test = f"{step} > 0 ? {name} < {stop} : {name} > {stop}"
        else:
            test = f"{name} {'<' if known > 0 else '>'} {stop}"
        kind = _host_type(stmt.loop_var)
        header = f"for ({kind} {name} = {start}; {test}; {name} += {step})"
        self._scope(header, stmt.body, stmt.iter_args)
        self.body.emit_line("}")
        self._leave(stmt.iter_args, stmt.return_vars)

    def _while(self, stmt: WhileStmt) -> None:
        self._comment(stmt)
        self._enter(stmt.iter_args)
        self._scope(f"while ({self.scalars.text(stmt.condition)})", stmt.body, stmt.iter_args)
        self.body.emit_line("}")
        self._leave(stmt.iter_args, stmt.return_vars)

    def _if(self, stmt: IfStmt) -> None:
        self._comment(stmt)
        for var in stmt.return_vars:
            if not isinstance(var.type, TensorType):
                name = self.names.register(var)
                self.types[name] = _host_type(var)
                self.body.emit_line(f"{self.types[name]} {name};")
            elif var in self.choices.chosen:
                self._choice(var, "nullptr")  # each arm sets it
        self._scope(f"if ({self.scalars.text(stmt.condition)})", stmt.then_body, stmt.return_vars)
        if stmt.else_body is not None:
            self._scope("} else", stmt.else_body, stmt.return_vars)
        self.body.emit_line("}")


def _object(handle: _Handle) -> str:
    """Return the text of a tensor where it stands alone."""
    return handle.text[1:-1] if handle.is_choice else handle.text


def _address(handle: _Handle) -> str:
    return handle.text[2:-1] if handle.is_choice else f"&{handle.text}"


def _kernel_call(value: Expr) -> Call:
    if isinstance(value, Call) and isinstance(value.op, GlobalVar):
        return value
    if isinstance(value, Call) and _is_op(value, tensor_math.assemble):
        raise _no_copy(value)
    raise EmitError(
        "a statement of an orchestration is a kernel call or an assignment",
        slug="emit-orchestration",
    )


def _is_op(value: Expr, op: Any) -> bool:
    return op_of(value) is op


def _elements(value: Expr) -> tuple[Expr, ...]:
    assert isinstance(value, MakeTuple)
    return value.elements


def _no_copy(call: Call) -> EmitError:
    """Return the error for ``out[0:16] = x``: the runtime runs kernels, and has no copies."""
    target, source = (_user_name(arg) for arg in call.args[:2])
    return EmitError(
        f"{target}[...] = {source} copies a tensor on the host, and the device's runtime has no "
        "task that copies",
        hint="let a kernel copy it: write with pl.incore(): above it",
        slug="emit-op",
    )


def _user_name(value: Expr) -> str:
    """Return the name of a variable in the user's source, without what SSA form appended."""
    return re.sub(r"_\d+$", "", value.name) if isinstance(value, Var) else "a tensor"


def _same_shape(a: Expr, b: Expr) -> bool:
    assert isinstance(a.type, TensorType)
    assert isinstance(b.type, TensorType)
    return same_dims(a.type.shape, b.type.shape)


def _dtype_name(dtype: DataType, var: Var) -> str:
    if dtype not in _DTYPES:
        raise EmitError(
            f"the runtime has no tensors of {dtype.member}, {var.name!r} is one",
            var.span,
            slug="emit-dtype",
        )
    return f"DataType::{_DTYPES[dtype]}"


def _host_type(var: Var) -> str:
    dtype = dtype_of(var)
    if dtype.is_float() and dtype not in (DataType.FP32, DataType.FP64):
        raise _no_scalar(dtype, var)
    return c_type(dtype)


def _no_scalar(dtype: DataType, at: Expr) -> EmitError:
    return EmitError(
        f"the host computes with no scalars of {dtype.member}",
        at.span,
        hint="use pl.FP32 and cast in the kernel",
        slug="emit-dtype",
    )
