"""The check of the keywords of calls that are not ops by themselves."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pypto._src.errors import ParserTypeError
from pypto._src.frontend.state.context import Context
from pypto._src.suggestions import keyword_hint


def refuse_unknown_keyword(
    ctx: Context,
    node: ast.AST,
    kwargs: Mapping[str, Any],
    names: Sequence[str],
    others: Collection[str] = (),
) -> None:
    """Raise the error for a keyword of a call that is not in ``names``; operators have no keywords.

    ``others`` are alternative names of the same arguments, accepted but not suggested.

    Raises:
        ParserTypeError: there is one.
    """
    known = {*names, *others}
    if kwargs.keys() <= known or not isinstance(node, ast.Call):
        return
    for word in node.keywords:
        if word.arg is None or word.arg not in kwargs or word.arg in known:
            continue
        given = {*names[: len(node.args)], *kwargs}
        raise ParserTypeError(
            f"{ctx.source.text(node.func)} has no argument {word.arg!r}",
            ctx.span(word),
            hint=keyword_hint(word.arg, [name for name in names if name not in given])
            or f"its arguments are {', '.join(names)}",
            slug="unknown-keyword",
        )
