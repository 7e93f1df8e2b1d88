"""Programs as text in the statement form.

Owns layout and names. The words are those of `mnemonics`; the grammar is in docs/statement-form.md.
Operands of a statement that are neither variables nor constants are lifted into ops of their own
directly before it, whose values are named ``%.0``, ``%.1``, ...: they have no variable, and the
reader puts the expression back where the name is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pypto._src.dtypes import DataType
from pypto._src.errors import PyptoError
from pypto._src.ir.array_types import MemRef, ShapedType, dtype_of, exprs_of_type
from pypto._src.ir.enums import ForKind, FunctionType, ParamDirection
from pypto._src.ir.exprs import (
    BinaryExpr,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    GlobalVar,
    IterArg,
    MakeTuple,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
)
from pypto._src.ir.op_params import ROUND_MODES
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
from pypto._src.ir.traversal.queries import uses
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.types import ScalarType, Type, UnknownType
from pypto._src.statement.atoms import (
    CONSTANTS,
    TypePrinter,
    has_dtype,
    is_index,
    is_mistyped,
    literal,
)
from pypto._src.statement.form import to_statement_form
from pypto._src.statement.mnemonics import (
    CALL,
    CONSTANT,
    DTYPE_WORD,
    FREE,
    GET_ITEM,
    KIND_WORD,
    MAKE_MEMREF,
    MAKE_TUPLE,
    MARK,
    OTHER_OP,
    SCALAR_WORD,
    Spelling,
    assign_word,
    key_text,
    name_text,
    spelling_of,
)

_STEP: Final = "    "
_NUMBERS: Final = (ConstInt, ConstFloat)
_ROUND_WORDS: Final = {number: word for word, number in ROUND_MODES.items()}


def to_statement_text(program: Program) -> str:
    """Return ``program`` in the statement form; `from_statement_text` reads it back.

    A program with variables assigned several times or calls inside other expressions is converted
    to the form first, by ConvertToSSA and FlattenCallExpr, which complete the yields of loops and
    branches. The text reads back as a program structurally equal to the one in that form.

    Raises:
        VerificationError: the program breaks rules that hold of every program.
        PassError: the program cannot be converted to the form.
    """
    program = to_statement_form(program)
    lines = [f"program.module @{name_text(program.name)} {{"]
    if program.entry is not None:
        lines.append(f"  program.entry @{name_text(program.entry)}")
    for key, value in program.attrs.items():
        lines.append(f"  attr {key_text(key)} = {TypePrinter().constant(value)}")
    for function in program.functions_:
        printer = _Printer()
        printer.function(function)
        lines += printer.lines
    lines.append("}\n")
    return "\n".join(lines)


class _Printer(TypePrinter):
    """Prints one function to ``lines``; ``ops`` is the open op block."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.ops: list[str] = []  # lines of the statement.op that is open
        self.lifted: dict[Expr, str] = {}  # by the statement being printed
        self.lift_count = 0
        self.literals: dict[Var, str] = {}  # constants in the type list of their op
        self.uses: dict[Var, int] | None = None
        self.body: Stmt | None = None

    # ------------------------------------------------------------------------- operands

    def value(self, expr: Expr) -> str:
        """Return a variable or constant without its type; anything else is lifted."""
        if isinstance(expr, Var) and not isinstance(expr, MemRef):
            return self.names.get(expr) or self.use(expr)
        if isinstance(expr, CONSTANTS) and not is_mistyped(expr):
            return literal(expr, with_type=False)
        return self.lifted.get(expr) or self.lift(expr)

    def typed(self, expr: Expr) -> str:
        """Return `value` for a place without a type list: a constant has its type beside it."""
        if isinstance(expr, CONSTANTS) and not is_mistyped(expr):
            return literal(expr, with_type=True)
        return self.value(expr)

    def values(self, exprs: Sequence[Expr]) -> str:
        return ", ".join([self.typed(expr) for expr in exprs])

    def lift(self, root: Expr) -> str:
        """Emit ops for ``root`` and its operands, innermost first; return the name of its value."""
        stack = [root]
        while stack:
            node = stack[-1]
            if node in self.lifted:
                stack.pop()
                continue
            below = [part for part in _parts(node) if self.needs_lift(part)]
            if below:
                stack += reversed(below)
                continue
            stack.pop()
            name = f"%.{self.lift_count}"
            self.lift_count += 1
            self.ops.append(f"{name} = {self.op(node)}")
            self.lifted[node] = name
        return self.lifted[root]

    def lift_parts(self, node: Expr) -> None:
        for part in _parts(node):
            if self.needs_lift(part):
                self.lift(part)

    def needs_lift(self, part: Expr) -> bool:
        if isinstance(part, CONSTANTS) and not is_mistyped(part):
            return False
        return (not isinstance(part, Var) or isinstance(part, MemRef)) and part not in self.lifted

    # ------------------------------------------------------------------------------ ops

    def op(self, node: Expr) -> str:
        """Return the right side of an op, whose operands have been lifted."""
        match node:
            case ConstInt() | ConstFloat() if is_mistyped(node):
                own = "int64" if isinstance(node, ConstInt) else "fp32"
                return f"{CONSTANT} {node.value!r} : ({own}) -> {self.type(node.type)}"
            case ConstInt() | ConstFloat() | ConstBool():
                return f"{literal(node, with_type=False)} : {DTYPE_WORD[dtype_of(node)]}"
            case MemRef():
                address = node.addr_
                text = self.plain_op(MAKE_MEMREF, (address,), node.type)
                space = node.memory_space_.name
                return f"{text} {{space={space}, size={node.size_}, id={node.id_}}}"
            case Var():
                return self.plain_op(assign_word(node), (node,), node.type)
            case BinaryExpr():
                word = SCALAR_WORD[node.__class__]
                return self.plain_op(word, (node.left, node.right), node.type)
            case UnaryExpr():
                return self.plain_op(SCALAR_WORD[node.__class__], (node.operand,), node.type)
            case MakeTuple():
                return self.plain_op(MAKE_TUPLE, node.elements, node.type)
            case TupleGetItemExpr():
                text = self.plain_op(GET_ITEM, (node.tuple,), node.type)
                return f"{text} {{index={node.index}}}"
            case Call():
                return self.call(node)
            case _:
                raise PyptoError(f"{type(node).__name__} has no statement form")

    def plain_op(self, word: str, operands: Sequence[Expr], result: Type) -> str:
        texts = ", ".join([self.value(operand) for operand in operands])
        types = ", ".join([self.type(operand.type) for operand in operands])
        space = " " if texts else ""
        return f"{word}{space}{texts} : ({types}) -> {self.type(result)}"

    def call(self, node: Call) -> str:
        spelling = _spelling_of(node)
        if spelling is None:
            word = CALL if isinstance(node.op, GlobalVar) else OTHER_OP
            text = self.plain_op(f"{word} @{name_text(node.op.name)}", node.args, node.type)
            return text + self.attributes(
                [f"{key_text(k)}={self.constant(v)}" for k, v in node.kwargs.items()]
            )
        operands = [node.args[at] for at in spelling.values]
        texts = ", ".join([self.value(operand) for operand in operands])
        in_list = self.listed_value if spelling.lists_scalars else self.listed_type
        types = ", ".join([in_list(operand) for operand in operands])
        space = " " if texts else ""
        text = f"{spelling.word}{space}{texts} : ({types}) -> {self.type(node.type)}"
        return text + self.attributes(self.op_attributes(spelling, node))

    def listed_type(self, operand: Expr) -> str:
        return self.type(operand.type)

    def listed_value(self, operand: Expr) -> str:
        """Return the entry of a type list for an op on tensors: scalars are entered as values."""
        if isinstance(operand, CONSTANTS) or not isinstance(operand.type, ScalarType):
            return self.type(operand.type)
        if isinstance(operand, Var) and operand in self.literals:
            return self.literals[operand]
        return self.value(operand)

    def op_attributes(self, spelling: Spelling, node: Call) -> list[str]:
        fields: list[str] = []
        for name, at in spelling.lists.items():
            value = node.args[at]
            if isinstance(value, MakeTuple):
                fields.append(f"{name}=[{self.values(value.elements)}]")
            else:
                fields.append(f"{name}={self.typed(value)}")
        kinds = spelling.keywords
        for key, value in node.kwargs.items():
            if kinds.get(key) == "RoundMode" and type(value) is int and value in _ROUND_WORDS:
                fields.append(f"{key}={_ROUND_WORDS[value]}")
            else:
                fields.append(f"{key_text(key)}={self.constant(value)}")
        return fields

    def attributes(self, fields: Sequence[str]) -> str:
        return f" {{{', '.join(fields)}}}" if fields else ""

    # ----------------------------------------------------------------------- statements

    def region(self, body: Stmt | None, pad: str) -> None:
        """Print a region that ends with a yield, even if the program has none."""
        last = self.statements(statements(body), pad)
        if not isinstance(last, YieldStmt):
            self.lines.append(f"{pad}statement.yield // implied")

    def statements(self, stmts: Sequence[Stmt], pad: str) -> Stmt | None:
        """Print statements and close the statement.op that is open; return the last one."""
        inline = self.inline_constants(stmts)
        for index, stmt in enumerate(stmts):
            if index in inline:
                continue
            if self.lifted:
                self.lifted = {}
            match stmt:
                case AssignStmt():
                    self.assign(stmt)
                case EvalStmt():
                    self.evaluate(stmt)
                case _:
                    self.compound(stmt, pad)
        self.flush(pad)
        return stmts[-1] if stmts else None

    def flush(self, pad: str) -> None:
        if self.ops:
            self.lines.append(f"{pad}statement.op {{")
            self.lines += [f"{pad}{_STEP}{op}" for op in self.ops]
            self.lines.append(f"{pad}}}")
            self.ops = []

    def assign(self, stmt: AssignStmt) -> None:
        value, var = stmt.value, stmt.var
        self.lift_parts(value)
        text = self.op(value)
        self.ops.append(f"{self.target(var, value.type)} = {text}")

    def target(self, var: Var, kind: Type) -> str:
        """Define ``var``; return its name, with its type if that is not written as ``kind``."""
        name = self.define(var)
        if var.type is kind:
            return name
        own = self.type(var.type)
        return name if own == self.type(kind) else f"{name}: {own}"

    def evaluate(self, stmt: EvalStmt) -> None:
        self.lift_parts(stmt.expr)
        if isinstance(stmt.expr, CONSTANTS) and not is_mistyped(stmt.expr):
            self.ops.append(self.plain_op(assign_word(stmt.expr), (stmt.expr,), stmt.expr.type))
        else:
            self.ops.append(self.op(stmt.expr))

    def compound(self, stmt: Stmt, pad: str) -> None:
        match stmt:
            case IfStmt():
                self.if_(stmt, pad)
            case ForStmt():
                self.for_(stmt, pad)
            case WhileStmt():
                self.while_(stmt, pad)
            case YieldStmt():
                self.end("statement.yield", stmt.value, pad)
            case ReturnStmt():
                self.end("statement.return", stmt.value, pad)
            case ScopeStmt():
                self.flush(pad)
                kind = stmt.scope_kind.name.lower()
                name = f" @{name_text(stmt.name_hint)}" if stmt.name_hint else ""
                self.lines.append(f"{pad}statement.scope {kind}{name} {{")
                self.statements(statements(stmt.body), pad + _STEP)
                self.lines.append(f"{pad}}}")
            case BreakStmt():
                self.end("statement.break", (), pad)
            case _:
                assert isinstance(stmt, ContinueStmt)
                self.end("statement.continue", (), pad)

    def end(self, word: str, values: Sequence[Expr], pad: str) -> None:
        texts = self.values(values)
        self.flush(pad)
        self.lines.append(f"{pad}{word} {texts}" if texts else f"{pad}{word}")

    def if_(self, stmt: IfStmt, pad: str) -> None:
        condition = self.typed(stmt.condition)
        self.flush(pad)
        head = len(self.lines)
        self.lines.append("")
        self.region(stmt.then_body, pad + _STEP)
        self.lines.append(f"{pad}}} else {{")
        self.region(stmt.else_body, pad + _STEP)
        self.lines.append(f"{pad}}}")
        then = statements(stmt.then_body)
        values = then[-1].value if then and isinstance(then[-1], YieldStmt) else ()
        results = self.results(stmt.return_vars, values)
        self.lines[head] = f"{pad}{results}statement.if {condition} {{"

    def results(self, variables: Sequence[Var], values: Sequence[Expr]) -> str:
        """Define the results of a statement, which have the types of ``values``."""
        if not variables:
            return ""
        kinds = [value.type for value in values[: len(variables)]]
        kinds += [UnknownType.get()] * (len(variables) - len(kinds))
        pairs = zip(variables, kinds, strict=True)
        return f"{', '.join([self.target(var, kind) for var, kind in pairs])} = "

    def for_(self, stmt: ForStmt, pad: str) -> None:
        bounds = [self.typed(bound) for bound in (stmt.start, stmt.stop, stmt.step)]
        inits = self.inits(stmt.iter_args)
        self.flush(pad)
        head = len(self.lines)
        self.lines.append("")
        counter = self.define(stmt.loop_var)
        if not is_index(stmt.loop_var.type):
            counter = f"{counter}: {self.type(stmt.loop_var.type)}"
        text = f"statement.for {counter} = {bounds[0]} to {bounds[1]} step {bounds[2]}"
        text += self.iter_args(stmt.iter_args, inits)
        attributes = [f"stages={stmt.stages}"] if stmt.stages > 1 else []
        if stmt.kind is not ForKind.Sequential:
            attributes.insert(0, f"kind={stmt.kind.name.lower()}")
        if attributes:
            text += f" attributes {{ {', '.join(attributes)} }}"
        self.region(stmt.body, pad + _STEP)
        self.lines.append(f"{pad}}}")
        self.lines[head] = f"{pad}{self.results(stmt.return_vars, stmt.iter_args)}{text} {{"

    def while_(self, stmt: WhileStmt, pad: str) -> None:
        inits = self.inits(stmt.iter_args)
        self.flush(pad)
        head = len(self.lines)
        self.lines.append("")
        text = f"statement.while{self.iter_args(stmt.iter_args, inits)}"
        inner = pad + _STEP
        self.lifted = {}
        condition = self.typed(stmt.condition)
        self.flush(inner)
        self.lines += [f"{inner}statement.condition {condition}", f"{pad}}} do {{"]
        self.region(stmt.body, inner)
        self.lines.append(f"{pad}}}")
        self.lines[head] = f"{pad}{self.results(stmt.return_vars, stmt.iter_args)}{text} {{"

    def inits(self, iter_args: Sequence[IterArg]) -> list[str]:
        return [self.init(arg) for arg in iter_args]

    def init(self, arg: IterArg) -> str:
        """Return the init value of an iter_arg; a constant takes the iter_arg's type."""
        init = arg.initValue
        if isinstance(init, CONSTANTS) and self.type(init.type) != self.type(arg.type):
            return self.lift(init)
        return self.value(init)

    def iter_args(self, iter_args: Sequence[IterArg], inits: Sequence[str]) -> str:
        if not iter_args:
            return ""
        texts = [
            f"{self.define(arg)} = {init} : {self.type(arg.type)}"
            for arg, init in zip(iter_args, inits, strict=True)
        ]
        return f" iter_args({', '.join(texts)})"

    def declarations(self) -> list[str]:
        """Return a statement.op that declares the free variables; those in types come first."""
        ops: dict[Var, str] = {}
        for var in list(self.free):
            self.type(var.type)  # may add free variables
            for each in (*uses(exprs_of_type(var.type)), var):
                if each in self.free and each not in ops:
                    ops[each] = f"{self.names[each]} = {FREE} : () -> {self.type(each.type)}"
        lines = [f"{_STEP}{_STEP}{op}" for op in ops.values()]
        return [f"{_STEP}statement.op {{", *lines, f"{_STEP}}}"] if lines else []

    # ------------------------------------------------------------------ inline constants

    def inline_constants(self, stmts: Sequence[Stmt]) -> set[int]:
        """Return the positions of constants that are written inside the op that follows them.

        They are constants of the element type of an op on tensors, directly before it, and without
        other uses; the op's operands name them, and its type list has their values.
        """
        found: set[int] = set()
        for index, stmt in enumerate(stmts):
            previous = stmts[index - 1] if index else None
            if not (isinstance(previous, AssignStmt) and isinstance(previous.value, _NUMBERS)):
                continue
            call = _call_of(stmt)
            if call is None:
                continue
            before = index - 1
            for operand in reversed(_listed_operands(call)):
                constant = stmts[before] if before >= 0 else None
                if not isinstance(constant, AssignStmt) or constant.var is not operand:
                    break
                if not self.is_inline(constant, _element(call)):
                    break
                self.define(constant.var)
                self.literals[constant.var] = literal(constant.value, with_type=False)
                found.add(before)
                before -= 1
        return found

    def is_inline(self, constant: AssignStmt, element: DataType | None) -> bool:
        value = constant.value
        if element is None or not isinstance(value, _NUMBERS):
            return False
        fits = dtype_of(value) is element and element.is_float() == isinstance(value, ConstFloat)
        kind = constant.var.type
        return fits and has_dtype(kind, element) and self.use_count(constant.var) == 1

    def use_count(self, var: Var) -> int:
        if self.uses is None:
            assert self.body is not None
            self.uses = _uses(self.body)
        return self.uses.get(var, 0)

    # ------------------------------------------------------------------------ functions

    def function(self, function: Function) -> None:
        self.body = function.body
        for var in function.params:
            self.define(var)
        self.in_signature = True
        marked = any(way is not ParamDirection.In for way in function.param_directions)
        params: list[str] = []
        for var, way in zip(function.params, function.param_directions, strict=True):
            mark = f" {MARK[way]}" if marked else ""
            params.append(f"{self.names[var]}: {self.type(var.type)}{mark}")
        head = f"  func.func @{name_text(function.name)}({', '.join(params)})"
        if function.return_types:
            results = [self.type(kind) for kind in function.return_types]
            head = f"{head} -> ({', '.join(results)})"
        self.in_signature = False
        self.type_texts = {}  # the signature's texts may define dimensions
        self.lines.append(f"{head} {{")
        begin = len(self.lines)
        last = self.statements(statements(function.body), _STEP)
        if not isinstance(last, ReturnStmt):
            self.lines.append(f"{_STEP}statement.return // implied")
        self.lines[begin:begin] = self.declarations()
        self.lines += ["  }", f"  // func.kind = {KIND_WORD[function.func_type]}"]
        if function.func_type is FunctionType.InCore:  # as in document 004
            self.lines.append("")


def _parts(node: Expr) -> Sequence[Expr]:
    """Return the operands of one op, which must be variables or constants in the text."""
    match node:
        case Call():
            return _call_parts(node)
        case MemRef():
            return (node.addr_,)
        case BinaryExpr():
            return (node.left, node.right)
        case UnaryExpr():
            return (node.operand,)
        case MakeTuple():
            return node.elements
        case TupleGetItemExpr():
            return (node.tuple,)
        case _:
            return ()


def _call_parts(call: Call) -> Sequence[Expr]:
    spelling = _spelling_of(call)
    if spelling is None:
        return call.args
    parts = [call.args[at] for at in spelling.values]
    for at in spelling.lists.values():
        value = call.args[at]
        parts += value.elements if isinstance(value, MakeTuple) else (value,)
    return parts


def _spelling_of(call: Call) -> Spelling | None:
    """Return how a call is written, None if its operands do not fit the op's declaration."""
    spelling = None if isinstance(call.op, GlobalVar) else spelling_of(call.op)
    if spelling is None or len(call.args) != len(spelling.params):
        return None
    if any(not isinstance(call.args[at], MakeTuple | ConstInt) for at in spelling.lists.values()):
        return None
    kinds = tuple([call.args[at].type for at in spelling.values])
    return spelling if spelling.takes(kinds) else None


def _call_of(stmt: Stmt) -> Call | None:
    """Return the call that is the whole value of a statement, None if there is none."""
    match stmt:
        case AssignStmt(value=Call() as call) | EvalStmt(expr=Call() as call):
            return call
        case _:
            return None


def _listed_operands(call: Call) -> list[Var]:
    """Return the scalar variables whose values are in the type list of an op."""
    spelling = _spelling_of(call)
    if spelling is None or not spelling.lists_scalars:
        return []
    operands = [call.args[at] for at in spelling.values]
    return [a for a in operands if isinstance(a, Var) and isinstance(a.type, ScalarType)]


def _element(call: Call) -> DataType | None:
    """Return the element type of the first tensor operand of an op."""
    return next((a.type.dtype for a in call.args if isinstance(a.type, ShapedType)), None)


def _uses(body: Stmt) -> dict[Var, int]:
    """Return how often each variable is read in a body, in types too."""
    counts: dict[Var, int] = {}
    for node in walk(body):
        if isinstance(node, AssignStmt):
            counts[node.var] = counts.get(node.var, 0) - 1  # the walk also visits the definition
        if isinstance(node, Var):
            counts[node] = counts.get(node, 0) + 1
        if isinstance(node, Var | Call):
            for expr in exprs_of_type(node.type):
                for inner in walk(expr):
                    if isinstance(inner, Var):
                        counts[inner] = counts.get(inner, 0) + 1
    return counts
