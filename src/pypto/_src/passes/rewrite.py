"""Rules on expressions, and the driver that applies them.

A rule is a function of one expression that returns another one, or None for no change. Its
parameter's annotation says which class it is tried on; its docstring is ``before -> after``::

    def add_zero(e: Add) -> Expr | None:
        "x + 0 -> x"
        return e.left if const_value(e.right) == 0 else None

The driver visits operands first, then tries the rules on a node until none of them changes it. Only
the rules for `Call` are tried on calls that make tiles and tensors, and a rule must keep the type
of such a call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Any, Final, get_args, get_type_hints

from pypto._src.errors import PassError, with_article
from pypto._src.ir.array_types import exprs_of_type
from pypto._src.ir.exprs import Call, ConstInt, Expr
from pypto._src.ir.stmts import Program
from pypto._src.ir.traversal.mutator import Mutator
from pypto._src.ir.types import ScalarType, same_type
from pypto._src.ops.rules.type_rules import describe
from pypto._src.passes.pass_base import Pass
from pypto._src.records import NamedTuple

Rule = Callable[[Any], Expr | None]

MOST_ROUNDS: Final = 64
"""How often rules may change one expression before they are assumed to cycle."""


class Hits(NamedTuple):
    """How often one rule changed something."""

    rule: str
    meaning: str  # the rule's docstring
    location: str  # file:line of its definition
    hits: int


def _classes_of(rule: Rule) -> tuple[type[Expr], ...]:
    """Return the classes that a rule's parameter is annotated with."""
    hints = get_type_hints(rule)
    parameter = next(iter(inspect.signature(rule).parameters), "")
    kind = hints.get(parameter, Expr)
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if not all(isinstance(each, type) and issubclass(each, Expr) for each in kinds):
        raise TypeError(
            f"the parameter of rule {rule.__name__} is annotated {kind!r}, wanted a class of "
            "expressions such as ir.Add"
        )
    return kinds


class Rewriter(Mutator):
    """Applies rules to every expression that it visits, operands first."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        super().__init__()
        self._rules = [(rule, _classes_of(rule)) for rule in rules]
        self._by_class: dict[type, list[Rule]] = {}
        self._of_calls = [rule for rule, kinds in self._rules if Call in kinds]
        self._as_written = 0  # enclosing calls whose types have symbols
        self._hits: dict[str, int] = {rule.__name__: 0 for rule in rules}

    def rules_for(self, cls: type) -> list[Rule]:
        """Return the rules that apply to nodes of ``cls``."""
        found = self._by_class.get(cls)
        if found is None:
            found = [rule for rule, kinds in self._rules if issubclass(cls, kinds)]
            self._by_class[cls] = found
        return found

    def rebuild(self, node: Any) -> Any:
        """Rebuild ``node``, then apply rules to it until none matches.

        Raises:
            PassError: the rules change an expression without end, or a rule changes the type of a
                call.
        """
        if isinstance(node, Call) and _is_symbolic(node):
            self._as_written += 1  # its type follows from its operands
            try:
                node = super().rebuild(node)
            finally:
                self._as_written -= 1
        else:
            node = super().rebuild(node)
        if self._as_written or not isinstance(node, Expr):
            return node
        last: list[str] = []
        for _ in range(MOST_ROUNDS):
            is_scalar = isinstance(node.type, ScalarType)
            if not is_scalar and not isinstance(node, Call):
                return node
            changed = self._once(node, last)
            if changed is None:
                return node
            if not is_scalar and not same_type(changed.type, node.type):
                found, wanted = (with_article(describe(each.type)) for each in (changed, node))
                raise _wrong(last[-1], f"{found} in place of {wanted}", node)
            node = changed
        names = ", ".join(dict.fromkeys(last[-4:]))
        raise PassError(
            f"after {MOST_ROUNDS} changes of one expression these rules still fire: {names}",
            node.span,
            hint="let a rule return None where it changes nothing",
            slug="rules-in-circles",
        )

    def _once(self, node: Expr, last: list[str]) -> Expr | None:
        of_calls = not isinstance(node.type, ScalarType)
        for rule in self._of_calls if of_calls else self.rules_for(type(node)):
            new = rule(node)
            if new is not None and not isinstance(new, Expr):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise _wrong(rule.__name__, repr(new), node)
            if new is not None and new is not node:
                self._hits[rule.__name__] += 1
                last.append(rule.__name__)
                return new
        return None

    def hits(self) -> list[Hits]:
        """Return how often each rule has changed something, in the order of the rules."""
        return [
            Hits(
                rule.__name__,
                inspect.getdoc(rule) or "",
                f"{rule.__code__.co_filename}:{rule.__code__.co_firstlineno}",
                self._hits[rule.__name__],
            )
            for rule, _ in self._rules
        ]


def _wrong(rule: str, returned: str, node: Expr) -> PassError:
    return PassError(
        f"the rule {rule} returns {returned}",
        node.span,
        hint="let a rule return an expression of the same type, or None",
        slug="rule-result",
    )


def _is_symbolic(call: Call) -> bool:
    return any(not isinstance(dim, ConstInt) for dim in exprs_of_type(call.type))


class RewritePass(Pass):
    """Applies rules to every function: ``RewritePass([add_zero], name="AddZero")(program)``."""

    def __init__(self, rules: Sequence[Rule], name: str = "Rewrite") -> None:
        self._name = name
        self.rules = tuple(rules)
        self.hits: list[Hits] = []
        """What the rules did in the last run."""

    def get_name(self) -> str:
        """Return the name given."""
        return self._name

    def rewriter(self) -> Rewriter:
        """Return a rewriter for one program."""
        return Rewriter(self.rules)

    def run(self, program: Program) -> Program:
        """Return the program after all rules; the same object where none matches."""
        rewriter = self.rewriter()
        result = rewriter.program(program)
        self.hits = rewriter.hits()
        return result

    def stats(self) -> Mapping[str, int]:
        """Return how often each rule changed something in the last run."""
        return {each.rule: each.hits for each in self.hits}
