"""The reader of the statement form: text to `Program`, in one pass over the tokens.

The grammar is in docs/statement-form.md. The reader keeps the types that the text gives; it checks
grammar, names and scopes, and that type lists match the types of their operands. The verifiers
check what ops require of their operands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from pypto._src.dtypes import DataType
from pypto._src.frontend.state.messages import did_you_mean
from pypto._src.ir.enums import ForKind, FunctionType, ParamDirection, ScopeKind
from pypto._src.ir.exprs import Expr, IterArg, Var
from pypto._src.ir.name_rules import is_function_name, is_program_name
from pypto._src.ir.stmts import (
    BreakStmt,
    ContinueStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    seq,
    statements,
)
from pypto._src.ir.types import ScalarType, Type, same_type, scalar_type
from pypto._src.statement import form
from pypto._src.statement.mnemonics import CALL, DTYPES, KINDS, MARKS, OTHER_OP, op_words
from pypto._src.statement.ops import OpReader, Results
from pypto._src.statement.scanner import END, KIND, MARK, PUNCTUATION, SYMBOL, VALUE, WORD, Scanner
from pypto._src.statement.types import Literal

_BEGIN: Final = re.compile(r"(?>\s+|//[^\n]*)*+program\.module\b")
_SCOPES: Final = {kind.name.lower(): kind for kind in ScopeKind}
_FOR_KINDS: Final = {kind.name.lower(): kind for kind in ForKind}


def from_statement_text(text: str, filename: str = "<string>") -> Program:
    """Return the program in ``text``; ``filename`` is for messages.

    Raises:
        ParserError: the text is not a program in the statement form. The message says what was
            found and what was expected, with the span.
    """
    return _Reader(Scanner(text, filename)).module()


def is_statement_text(text: str) -> bool:
    """True if ``text`` begins as a module does, after comments."""
    return _BEGIN.match(text) is not None


class _Reader(OpReader):
    """Reads one module: functions and statements."""

    # ---------------------------------------------------------------------------- module

    def module(self) -> Program:
        s = self.s
        first = s.index
        s.want("program.module", "at the begin of the text", "program.module @main { ... }")
        name = s.symbol("the name of the module", is_program_name)
        last = s.index - 1
        s.want("{", "after the name of the module")
        entry: str | None = None
        attrs: dict[str, Any] = {}
        functions: dict[str, Function] = {}
        while not s.take("}"):
            at = s.index
            if s.take("program.entry"):
                if entry is not None:
                    raise s.error("a second program.entry: a module has one", at, slug=form.MODULE)
                entry = s.symbol("the name of a function", is_program_name)
            elif s.take("attr"):
                self.program_attribute(attrs)
            elif s.kind == WORD and s.word == "func.func":
                function = self.function()
                if function.name in functions:
                    message = f"a second function is named @{function.name}"
                    raise s.error(message, at + 1, slug=form.MODULE)
                functions[function.name] = function
            else:
                self.not_in_module()
        self.end_of_text()
        span = s.span(first, last)
        return Program(list(functions.values()), name, span, attrs=attrs, entry=entry)

    def program_attribute(self, attrs: dict[str, Any]) -> None:
        at = self.s.index
        key = self.key("the name of an attribute")
        if key in attrs:
            raise self.s.error(f"attribute {key!r} is given twice", at)
        self.s.want("=", "after the name of an attribute", f"attr {key} = 1")
        attrs[key] = self.constant()

    def not_in_module(self) -> NoReturn:
        s = self.s
        if s.word == "program.module":
            raise s.error("a module is inside another module", slug=form.MODULE)
        if s.kind == KIND:
            raise s.error(
                "func.kind belongs to a function: it comes before or after its closing '}'"
            )
        words = ("program.entry", "attr", "func.func")
        hint = did_you_mean(s.word, words) if s.kind == WORD else None
        wanted = "program.entry, attr, func.func or '}'"
        raise s.error(f"{wanted} was wanted in a module, found {s.found(s.index)}", hint=hint)

    def end_of_text(self) -> None:
        s = self.s
        if s.kind != END:
            slug = form.MODULE if s.word == "program.module" else None
            found = s.found(s.index)
            raise s.error(f"a text holds one module, {found} follows it", slug=slug)

    # -------------------------------------------------------------------------- functions

    def function(self) -> Function:
        s = self.s
        self.start_function()
        first = s.index
        s.index += 1
        name = s.name(SYMBOL, "the name of the function")
        if not name:
            raise s.error("a function has a name", s.index - 1, hint="func.func @main(...)")
        if not is_function_name(name):
            raise s.misnamed("an identifier", s.index - 1)
        s.want("(", "after the name of a function")
        self.in_signature = True
        self.early_params()
        params = self.list_of(self.param, ")", "the parameters")
        results: list[Type] = []
        if s.take("->"):
            s.want("(", "before the result types", "-> (fp32)")
            results = self.list_of(self.type, ")", "the result types")
        self.in_signature = False
        last = s.index - 1
        s.want("{", "before the body of a function")
        body = self.function_body(name)
        for value, at in self.unused.items():
            message = f"nothing uses %{value}, which is not a variable but a part of other ops"
            raise s.error(message, at, hint=f"%{value[1:]}")
        inside = s.function_kind()
        if not s.take("}"):
            found = s.found(s.index)
            message = f"statement.return is last in @{name}, {found} follows it"
            raise s.error(message, slug=form.SIGNATURE)
        kind = self.function_type(inside)
        return Function(name, params, results, body, s.span(first, last), kind)

    def early_params(self) -> None:
        """Define the scalar parameters first: shapes of earlier parameters may name them."""
        s = self.s
        at, depth = s.index, 0
        while s.kinds[at] != END:
            text = s.texts[at]
            if text in ("(", "[", "{", "<") and s.kinds[at] == PUNCTUATION:
                depth += 1
            elif text in (")", "]", "}", ">") and s.kinds[at] == PUNCTUATION:
                depth -= 1
                if depth < 0:
                    return
            elif s.kinds[at] == VALUE and depth == 0 and s.texts[at + 1] == ":":
                dtype = DTYPES.get(s.texts[at + 2]) if s.kinds[at + 1] != END else None
                name = s.plain_name(text, at)
                if dtype is not None and name not in self.known:
                    self.known[name] = Var(name, scalar_type(dtype), s.span(at))
            at += 1

    def param(self) -> tuple[Var, ParamDirection]:
        s = self.s
        at = s.index
        name = s.name(VALUE, "a parameter")
        s.want(":", f"after parameter %{name}", f"%{name}: fp32")
        kind = self.type()
        var = self.known.get(name)
        if name in self.positions or not (isinstance(var, Var) and same_type(var.type, kind)):
            if name in self.known:
                self.twice(name, at)
            var = Var(name, kind, s.span(at))
        self.bind(name, var, at)
        direction = ParamDirection.In
        if s.kind == MARK:
            direction = self.one_of(MARKS, "a mark such as #out")
        return var, direction

    def function_type(self, inside: str | None) -> FunctionType:
        s = self.s
        at = s.index - 1
        after = s.function_kind()
        word = after if inside is None else inside
        if word is None:
            return FunctionType.Opaque
        if inside is not None and after is not None and inside != after:
            raise s.error(
                f"func.kind is {inside!r} before the closing '}}' and {after!r} after it", at
            )
        if word not in KINDS:
            position = at + 1 if after is not None else at - 1
            raise s.error(
                f"func.kind is {word!r}",
                position,
                hint=did_you_mean(word, KINDS) or f"write one of {', '.join(KINDS)}",
            )
        return KINDS[word]

    def function_body(self, name: str) -> Stmt:
        s = self.s
        stmts = self.statements(f"@{name}")
        at = s.index
        if not s.take("statement.return"):
            raise s.error(
                f"@{name} ends without statement.return, found {s.found(at)}",
                hint="statement.return",
                slug=form.SIGNATURE,
            )
        values = self.operands()
        if values or not s.implied():
            stmts.append(ReturnStmt(values, s.span(at, s.index - 1)))
        return seq(stmts)

    # ------------------------------------------------------------------------ statements

    def region(self, owner: str) -> Stmt:
        """Read ``{"{"} {stmt} yield "}"``: the first brace has been taken."""
        s = self.s
        mark = len(self.order)
        self.deeper("regions")
        stmts = self.statements(owner)
        at = s.index
        if not s.take("statement.yield"):
            slug = form.SIGNATURE if s.word == "statement.return" else form.REGIONS
            raise s.error(
                f"a region of {owner} ends with statement.yield, found {s.found(at)}",
                hint="statement.yield",
                slug=slug,
            )
        values = self.operands()
        if values or not s.implied():
            stmts.append(YieldStmt(values, s.span(at, s.index - 1)))
        if not s.take("}"):
            found = s.found(s.index)
            message = f"statement.yield is last in a region of {owner}, {found} follows it"
            raise s.error(message, slug=form.REGIONS)
        self.leave(mark)
        return seq(stmts)

    def leave(self, mark: int) -> None:
        """End the scope of the names defined since ``mark``."""
        self.depth -= 1
        for name in self.order[mark:]:
            self.known.pop(name, None)
        del self.order[mark:]

    def statements(self, owner: str) -> list[Stmt]:
        """Read statements up to one that ends a region or function."""
        s = self.s
        out: list[Stmt] = []
        while True:
            word = s.word
            if s.kind == WORD:
                if word == "statement.op":
                    self.op_block(out)
                    continue
                if word in ("statement.yield", "statement.return", "statement.condition"):
                    return out
                if word in ("statement.for", "statement.if", "statement.while"):
                    out.append(self.compound(Results([], [], []), s.index))
                    continue
                if word in ("statement.break", "statement.continue"):
                    s.index += 1
                    cls = BreakStmt if word == "statement.break" else ContinueStmt
                    out.append(cls(s.span(s.index - 1)))
                    continue
                if word == "statement.scope":
                    out.append(self.scope())
                    continue
            elif s.kind == VALUE:
                at = s.index
                results = self.left_side()
                if s.word in ("statement.for", "statement.if", "statement.while"):
                    out.append(self.compound(results, at))
                    continue
                self.op_outside(at)
            elif word == "}" and s.kind == PUNCTUATION:
                return out
            self.no_statement(owner)

    def op_outside(self, at: int) -> NoReturn:
        raise self.s.error(
            "an op is outside statement.op",
            at,
            hint="statement.op { ... }",
            slug=form.OPS,
        )

    def no_statement(self, owner: str) -> NoReturn:
        s = self.s
        at = s.index
        if s.kind == WORD and (s.word in (CALL, OTHER_OP) or s.word in op_words()):
            self.op_outside(at)
        words = [f"statement.{word}" for word in ("op", "for", "if", "yield", "return", "while")]
        hint = did_you_mean(s.word, words) if s.kind == WORD else None
        raise s.error(f"a statement was wanted in {owner}, found {s.found(at)}", hint=hint)

    def scope(self) -> Stmt:
        """Read a scope, which does not limit names: its definitions stay visible after it."""
        s = self.s
        first = s.index
        s.index += 1
        kind = self.one_of(_SCOPES, "the kind of a scope")
        name = s.symbol("the name of its kernel", is_function_name) if s.kind == SYMBOL else ""
        s.want("{", "after the kind of a scope")
        self.deeper("regions")
        stmts = self.statements("statement.scope")
        s.want("}", "at the end of statement.scope")
        self.depth -= 1
        return ScopeStmt(kind, seq(stmts), s.span(first), name)

    def compound(self, results: Results, first: int) -> Stmt:
        word = self.s.word
        self.s.index += 1
        if word == "statement.for":
            return self.for_(results, first)
        if word == "statement.while":
            return self.while_(results, first)
        return self.if_(results, first)

    def for_(self, results: Results, first: int) -> Stmt:
        s = self.s
        counter_at = s.index
        counter_name = s.name(VALUE, "a loop variable")
        kind = self.type() if s.take(":") else scalar_type(DataType.INDEX)
        hint = f"statement.for %{counter_name} = 0 to 4 step 1 {{ ... }}"
        start, stop, step = (self.bound(word, hint) for word in ("=", "to", "step"))
        inits = self.iter_args()
        loop_kind, stages = self.loop_attributes()
        last = s.index - 1
        s.want("{", "before the body of statement.for")
        mark = len(self.order)
        counter = Var(counter_name, kind, s.span(counter_at))
        self.define(counter, counter_at)
        args = self.define_iter_args(inits)
        body = self.inner_region("statement.for", mark)
        variables = self.results(results, args)
        span = s.span(first, last)
        return ForStmt(counter, start, stop, step, args, body, variables, span, loop_kind, stages)

    def bound(self, word: str, hint: str) -> Expr:
        self.s.want(word, "in the range of statement.for", hint)
        return self.operand()

    def inner_region(self, owner: str, mark: int) -> Stmt:
        """Read a region to which the names defined since ``mark`` are local."""
        body = self.region(owner)
        self.depth += 1
        self.leave(mark)
        return body

    def while_(self, results: Results, first: int) -> Stmt:
        s = self.s
        inits = self.iter_args()
        last = s.index - 1
        s.want("{", "before the condition of statement.while")
        mark = len(self.order)
        args = self.define_iter_args(inits)
        inner = len(self.order)
        before = self.statements("statement.while")
        at = s.want(
            "statement.condition", "after the ops of the condition", "statement.condition %c"
        )
        if before:
            raise s.error("the condition of statement.while holds values such as %.0 only", at)
        condition = self.operand()
        s.want("}", "after statement.condition")
        s.want("do", "before the body of statement.while")
        s.want("{", "before the body of statement.while")
        self.depth += 1
        self.leave(inner)
        body = self.inner_region("statement.while", mark)
        variables = self.results(results, args)
        return WhileStmt(condition, args, body, variables, s.span(first, last))

    def iter_args(self) -> list[tuple[int, str, Expr, Type]]:
        s = self.s
        if not s.take("iter_args"):
            return []
        s.want("(", "after iter_args", "iter_args(%a = %x : fp32)")
        return self.list_of(self.iter_arg, ")", "iter_args")

    def iter_arg(self) -> tuple[int, str, Expr, Type]:
        s = self.s
        at = s.index
        name = s.name(VALUE, "an iter_arg")
        s.want("=", "after the name of an iter_arg", f"%{name} = %x : fp32")
        init = self.raw_operand()
        s.want(":", "before the type of an iter_arg", f"%{name} = %x : fp32")
        kind = self.type()
        if isinstance(init, Literal):
            init = self.typed_literal(init, kind if isinstance(kind, ScalarType) else None)
        return at, name, self.defined(init), kind

    def define_iter_args(self, inits: Sequence[tuple[int, str, Expr, Type]]) -> list[IterArg]:
        args: list[IterArg] = []
        for at, name, init, kind in inits:
            arg = IterArg(name, kind, init, self.s.span(at))
            self.define(arg, at)
            args.append(arg)
        return args

    def loop_attributes(self) -> tuple[ForKind, int]:
        """Read the kind of a loop, and how many of its iterations overlap."""
        s = self.s
        kind, stages = ForKind.Sequential, 1
        if s.take("attributes"):
            s.want("{", "after attributes", "attributes { kind=parallel }")
            while not s.take("}"):
                if s.take("stages"):
                    s.want("=", "after stages", "attributes { stages=2 }")
                    at = s.index
                    found = self.number()
                    if type(found) is not int or found < 1:
                        raise s.error("the number of stages is 1 or more", at, "write stages=2")
                    stages = found
                else:
                    s.want("kind", "in the attributes of a loop", "attributes { kind=parallel }")
                    s.want("=", "after kind", "attributes { kind=parallel }")
                    kind = self.one_of(_FOR_KINDS, "the kind of a loop")
                s.take(",")
        return kind, stages

    def if_(self, results: Results, first: int) -> Stmt:
        s = self.s
        condition = self.operand()
        last = s.index - 1
        s.want("{", "after the condition of statement.if")
        then = self.region("statement.if")
        if not s.take("else"):
            raise s.error(
                f"statement.if has an else, found {s.found(s.index)}",
                hint="else { statement.yield }",
                slug=form.REGIONS,
            )
        s.want("{", "after else")
        other = self.region("statement.if")
        ending = statements(then)[-1:]
        values = ending[0].value if ending and isinstance(ending[0], YieldStmt) else ()
        variables = self.results(results, values)
        return IfStmt(condition, then, other, variables, s.span(first, last))
