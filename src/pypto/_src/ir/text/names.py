"""Names at each point of a printed program: of functions, variables and loops' results.

Owns that distinct variables have distinct names wherever both could be meant, as the grammar in
`ir.text` says under "Names". Knows nothing else of the text.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from typing import Final

from pypto._src.ir.exprs import Var
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.stmts import ForStmt, Function, Stmt, WhileStmt, YieldStmt, statements
from pypto._src.ir.text.grammar import identifier, is_plain_name, value_type
from pypto._src.ir.types import Type, same_type

_RESERVED: Final = frozenset({*keyword.kwlist, "self", "min", "max", "abs", "float", "tuple"})


class Whole:
    """What the functions of one text share: signatures, and the names declared above them."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self.results = {f.name: f.return_types for f in functions}
        self.declared: dict[str, str] = {}
        self.defs: dict[str, str] = {}  # names after `def`, by names of functions
        names = FreshNames(keyword.kwlist)
        for function in sorted(functions, key=lambda f: not is_plain_name(f.name)):
            self.defs[function.name] = names.like(identifier(function.name))

    def deduced(self, callee: str) -> Type | None:
        """Return the type of a call of a function, None if it names a symbolic dimension."""
        results = self.results.get(callee)
        return None if results is None else value_type(results)


class Results:
    """The variables that take the values a body yields, while that body is printed."""

    def __init__(self, variables: Sequence[Var], *, carries: bool = False) -> None:
        self.variables = variables
        self.carries = carries  # the statement has iter_args
        self.names: dict[Var, str] = {}  # of those that have no name yet
        self.args: set[Var] = set()  # loop variable and iter_args that are scoped to the loop

    def fit(self, last: Stmt | None) -> bool:
        """True if a yield that ends the body can name the variables."""
        count = len(self.variables)
        return count > 0 and isinstance(last, YieldStmt) and len(last.value) == count


class Names:
    """The names of variables while one function is printed."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.given: dict[Var, str] = {}  # of the variables in scope at this point of the text
        self.holders: dict[str, Var] = {}  # the owner of each name at this point of the text
        self.suffixes: dict[str, int] = {}  # the last one given
        self.expected: dict[Var, str] = {}  # results of statements being printed

    def fresh(self, wanted: str) -> str:
        """Return ``wanted``, or a variation of it, that no variable has at this point."""
        name = wanted if wanted.isidentifier() and wanted.isascii() else identifier(wanted)
        if self.usable(name):
            return name
        number = self.suffixes.get(name, 0) + 1
        while not self.usable(f"{name}_{number}"):
            number += 1
        self.suffixes[name] = number
        return f"{name}_{number}"

    def usable(self, name: str) -> bool:
        return name not in self.holders and name not in _RESERVED and name != self.prefix

    def reserve(self, var: Var) -> str:
        """Return a name reserved for ``var``."""
        name = self.expected.pop(var, None)
        if name is not None:
            return name
        name = self.fresh(var.name)
        self.holders[name] = var
        return name

    def define(self, var: Var) -> str:
        """Return the name of a variable that is defined here and known from here on."""
        name = self.given.get(var)
        if name is None:
            name = self.given[var] = self.reserve(var)
        return name

    def enter(self, counter: Var) -> str:
        """Name a loop variable that is scoped to the loop."""
        name = self.given[counter] = self.fresh(counter.name)
        self.holders[name] = counter
        return name

    def leave(self, counter: Var, name: str) -> None:
        """Release the name of a loop variable."""
        del self.holders[name]
        if self.given.get(counter) == name:
            del self.given[counter]

    def carry(self, stmt: ForStmt | WhileStmt) -> Results:
        """Name the results and iter_args of a loop, alike where they have the same name.

        After the loop an iter_arg's name means its result, so nothing else gets that name.
        """
        results = Results(stmt.return_vars, carries=bool(stmt.iter_args))
        last = last_of(stmt.body)
        # A result that is declared in the body has its name there.
        named = results.fit(last)
        declared = set(stmt.return_vars)  # names that mean nothing else in the body
        if named and isinstance(last, YieldStmt):
            declared = set(self.declared_results(results, last)).union(stmt.iter_args)
        self.expect(results)
        for index, arg in enumerate(stmt.iter_args):
            if arg in self.given:  # known outside as well
                continue
            result = stmt.return_vars[index] if index < len(stmt.return_vars) else None
            results.args.add(arg)
            name = None if result is None else results.names.get(result)
            if name is None or result is None or result.name != arg.name or result in declared:
                name = self.fresh(arg.name)
                self.holders[name] = arg
            else:
                del self.expected[result]  # inside the loop its name means the iter_arg
            self.given[arg] = name
        return results

    def expect(self, results: Results) -> None:
        """Reserve names for the results, which come into scope once the body has been printed."""
        for var in results.variables:
            if var not in self.given and var not in results.names:
                results.names[var] = self.reserve(var)
                self.expected[var] = results.names[var]

    def settle(self, results: Results) -> None:
        """Bring the results into scope, and forget the iter_args."""
        for arg in results.args:
            self.given.pop(arg, None)
        results.args.clear()
        for var, name in results.names.items():
            self.expected.pop(var, None)
            if var not in self.given:
                self.given[var] = name
        results.names.clear()

    def declared_results(self, results: Results, stmt: YieldStmt) -> list[Var]:
        """Return those of several results whose types differ from the yielded values' types."""
        if len(results.variables) == 1:
            return []
        odd: dict[Var, None] = {}
        for var, value in zip(results.variables, stmt.value, strict=False):
            known = var in self.given and var not in results.args
            if not known and (var.__class__ is not Var or not same_type(var.type, value.type)):
                odd[var] = None
        return list(odd)


def last_of(body: Stmt | None) -> Stmt | None:
    """Return the statement that ends a body, None for an empty one."""
    stmts = statements(body)
    return stmts[-1] if stmts else None
