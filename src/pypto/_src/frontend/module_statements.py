"""What the statements around the kernels of a text define, found without executing them.

Expressions mean here what they mean in a kernel, so a constant is what the front end computes for
it. Definitions and imports of unknown things are skipped: a kernel that reads one is refused where
it does. A statement with an effect, such as a call, is refused where it is.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, cast

from pypto._src.diagnostics import Span, counted
from pypto._src.errors import (
    NotExecutedError,
    ParserSyntaxError,
    ParserTypeError,
    TextRunError,
    UnsupportedFeatureError,
)
from pypto._src.frontend.programs import Alone
from pypto._src.frontend.source.python_names import MISSING, Environment, items_of
from pypto._src.frontend.source.reading import LANGUAGE, PACKAGE, Reading, Unread
from pypto._src.frontend.source.source import Source
from pypto._src.frontend.state.context import Context, Forms
from pypto._src.frontend.state.errors import Errors
from pypto._src.frontend.state.messages import did_you_mean
from pypto._src.frontend.syntax.calls import too_large
from pypto._src.frontend.syntax.expressions import FORMS
from pypto._src.frontend.syntax.statements import STATEMENT_FORMS
from pypto._src.ir.exprs import Call, Expr
from pypto._src.ir.traversal.walk import walk

_OUTSIDE: Final = ast.FunctionDef(
    "module", ast.arguments([], [], None, [], [], None, []), [], [], None
)


def _dict(ctx: Context, node: ast.Dict) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            raise UnsupportedFeatureError("'**' is not supported in a dict", ctx.span(value))
        try:
            found[ctx.value(key)] = ctx.value(value)
        except TypeError as error:
            raise ParserTypeError(str(error), ctx.span(key), slug="constant-expression") from None
    return found


_FORMS: Final = Forms({**FORMS, ast.Dict: _dict}, FORMS.unsupported)


class ModuleStatements:
    """Reads the statements of a text, or of a class in it, in order.

    ``names`` receives what they define. ``prefix`` is what kernels write before a name: ``self.``
    in a class.
    """

    def __init__(
        self,
        source: Source,
        names: dict[str, Any],
        environment: Environment,
        reading: Reading,
        prefix: str = "",
    ) -> None:
        self.source = source
        self.names = names
        self.environment = environment
        self.reading = reading
        self.prefix = prefix

    def read(self, node: ast.stmt) -> Sequence[ast.stmt]:
        """Read one statement; return those of the branch that is taken, as some may be kernels.

        Raises:
            NotExecutedError: reading it would need its execution.
            ParserError: it has a mistake.
        """
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case ast.Assign(targets=targets, value=value):
                self._assign(node, targets, value)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self._assign(node, [target], value)
            case ast.AugAssign(target=ast.Name() as target):
                self._augment(node, target)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                decorator = "function" if self.prefix else "inline"
                what = "a Python function"
                self._leave(node, [name], what, f"write @pl.{decorator} above def {name}")
            case ast.ClassDef(name=name):
                self._leave(node, [name], "a Python class")
            case ast.If():
                return self._taken(node)
            case ast.Assert(test=test):
                if not self._truth(node, test):
                    message = f"running {self.source.text(node)} raises AssertionError"
                    raise TextRunError(message, self.source.span(node))
            case ast.Expr(value=value):
                self.value(value)
            case _:
                raise self._refused(node)
        return ()

    def _refused(self, node: ast.stmt) -> NotExecutedError:
        return self.reading.refused("Python would execute this", self.source.span(node))

    def value(self, node: ast.expr) -> Any:
        """Return the value of a constant expression.

        Raises:
            NotExecutedError: only Python could compute it.
            ParserError: it has a mistake.
        """
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.names[node.id]  # as it is: a symbolic size, not the variable made from it
        ctx = Context(
            self.source,
            _OUTSIDE,
            self.environment.again(),
            _FORMS,
            STATEMENT_FORMS,
            Alone(),
            Errors(),
        )
        try:
            value: Any = ctx.value(node)
        except ParserTypeError as error:
            if error.slug != "constant-expression":
                raise
            raise TextRunError(error.message, error.location, error.hint) from None
        except UnsupportedFeatureError as error:
            what = f"{self.source.text(node)} is computed by Python"
            raise self.reading.refused(what, error.location) from None
        if ctx.block or isinstance(value, Call):
            raise self.reading.refused("an op is outside a kernel", self.source.span(node))
        if _is_large(value):
            raise too_large(ctx, node)
        return value

    def _assign(self, node: ast.stmt, targets: Sequence[ast.expr], source: ast.expr) -> None:
        try:
            value = self.value(source)
        except NotExecutedError:
            if len(targets) == 1 and self._assign_each(node, targets[0], source):
                return
            names = [name for target in targets for name in self._names(target, node)]
            self._leave(node, names, "computed by Python")
            self._leave(node, self._changed(source), "perhaps changed by Python")
            return
        for target in targets:
            self._bind(target, value, node)

    def _assign_each(self, node: ast.stmt, target: ast.expr, source: ast.expr) -> bool:
        """Assign the parts of ``a, b = 1, f()`` one by one; False if they cannot be taken apart."""
        if not isinstance(target, ast.Tuple) or not isinstance(source, ast.Tuple):
            return False
        reads = {item.id for item in ast.walk(source) if isinstance(item, ast.Name)}
        if len(target.elts) != len(source.elts) or not reads.isdisjoint(self._names(target, node)):
            return False
        for item, value in zip(target.elts, source.elts, strict=True):
            self._assign(node, [item], value)
        return True

    def _changed(self, node: ast.expr) -> list[str]:
        """Return the lists and dicts that an expression which is not executed may change."""
        lists = [name for name, value in self.names.items() if isinstance(value, list | dict)]
        reads = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
        unread = [self.reading.unread[name].what for name in reads if name in self.reading.unread]
        if any(what != "imported" for what in unread):  # it may change what it does not name
            return lists
        return [name for name in lists if name in reads]

    def _names(self, target: ast.expr, node: ast.stmt) -> list[str]:
        """Return the names that a target binds."""
        if isinstance(target, ast.Name):
            return [target.id]
        if not isinstance(target, ast.Tuple | ast.List):
            raise self._refused(node)
        return [name for item in target.elts for name in self._names(item, node)]

    def _bind(self, target: ast.expr, value: Any, node: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            self._define(target.id, value)
            return
        if not isinstance(target, ast.Tuple | ast.List):
            raise self._refused(node)
        items = items_of(value)
        if items is None or len(items) != len(target.elts):
            found = "no list" if items is None else counted(len(items), "value")
            raise ParserTypeError(
                f"{counted(len(target.elts), 'name')} are assigned {found}",
                self.source.span(target),
                slug="constant-expression",
            )
        for item, part in zip(target.elts, items, strict=True):
            self._bind(item, part, node)

    def _define(self, name: str, value: Any) -> None:
        self.names[name] = value
        self.reading.unread.pop(self.prefix + name, None)
        if self.prefix:
            self.reading.unread.pop(name, None)

    def _augment(self, node: ast.AugAssign, target: ast.Name) -> None:
        left = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        operation = ast.copy_location(ast.BinOp(left, node.op, node.value), node)
        self._assign(node, [target], operation)

    def _taken(self, node: ast.If) -> Sequence[ast.stmt]:
        test = node.test
        name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
        chosen = name != "TYPE_CHECKING" and self._truth(node, test)
        return node.body if chosen else node.orelse

    def _truth(self, node: ast.stmt, test: ast.expr) -> bool:
        value = self.value(test)
        if isinstance(value, Expr):
            raise self._refused(node)
        return bool(value)

    def _leave(
        self, node: ast.stmt, names: Sequence[str], what: str, hint: str | None = None
    ) -> None:
        """Note what a skipped statement would define; names that are given keep their values."""
        span = self.source.span(node)
        header = Span(span.filename, span.begin_line, span.begin_column)
        for name in names:
            if name in self.reading.given:
                self._define(name, self.reading.given[name])
                continue
            self.names.pop(name, None)
            unread = Unread(header, what, hint)
            self.reading.unread[name] = unread
            if self.prefix:
                self.reading.unread[self.prefix + name] = unread

    # ---------------------------------------------------------------------------- imports

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.ImportFrom):
            if node.module != "__future__":
                self._import_from(node)
            return
        for alias in node.names:
            top = alias.name.partition(".")[0]
            if alias.name not in (PACKAGE, LANGUAGE):
                self._leave(node, [alias.asname or top], "imported")
            elif alias.asname is None:
                self._define(PACKAGE, import_module(PACKAGE))
            else:
                self._define(alias.asname, import_module(alias.name))

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = None
        if not node.level and node.module in (PACKAGE, LANGUAGE):
            module = import_module(node.module)
        for alias in node.names:
            name = alias.asname or alias.name
            if module is not None and alias.name == "*" and node.module == LANGUAGE:
                for each in module.__all__:
                    self._define(each, getattr(module, each))
            elif module is None or not self.reading.may_read(module, alias.name):
                self._leave(node, [name], "imported")
            else:
                value = getattr(module, alias.name, MISSING)
                if value is MISSING:
                    raise ParserSyntaxError(
                        f"{node.module} has no {alias.name!r}",
                        self.source.span(alias),
                        hint=did_you_mean(alias.name, module.__all__),
                        slug="attribute",
                    )
                self._define(name, value)


def _is_large(value: Any) -> bool:
    """True if a constant has more parts than allowed: later ones may be built from it."""
    if not isinstance(value, str | bytes | list | tuple | dict | Expr):
        return False
    from pypto._src.frontend.source.limits import MOST_ITEMS, item_count

    if item_count([value]) > MOST_ITEMS:
        return True
    return any(part > MOST_ITEMS for expr in _exprs(value) for part, _ in enumerate(walk(expr)))


def _exprs(value: Any) -> list[Expr]:
    """Return the expressions in a constant, which has few items."""
    if isinstance(value, Expr):
        return [value]
    items = items_of(value)
    if isinstance(value, dict):
        items = [*cast("dict[Any, Any]", value).values()]
    return [expr for item in items or () for expr in _exprs(item)]
