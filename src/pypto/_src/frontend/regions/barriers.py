"""Barriers of a launch, ``pl.system.syncall()``: all blocks reach one before any continues.

A launch with barriers becomes several launches, one after the other. On both sides of a barrier a
block knows only numbers, which each launch computes again; everything else goes through memory.
"""

from __future__ import annotations

import ast
import copy
from typing import Final, TypeAlias

from pypto._src.diagnostics import Label
from pypto._src.errors import ParserSyntaxError, ParserTypeError
from pypto._src.frontend import region_markers
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.live_names import read_names

Launch: TypeAlias = "ast.With | ast.For"


def phases(ctx: Context, node: Launch) -> list[Launch]:
    """Split the launch into one for each stretch between barriers.

    Raises:
        ParserTypeError: a barrier is inside a loop or branch, or a value would cross it.
    """
    parts = _between_barriers(ctx, node.body, node)
    if len(parts) == 1:
        return [node]
    made: list[Launch] = []
    for part in parts:
        if part:
            phase = copy.copy(node)
            phase.body = part
            made.append(phase)
    return made


def _between_barriers(ctx: Context, body: list[ast.stmt], launch: Launch) -> list[list[ast.stmt]]:
    """Return the stretches between barriers, each preceded by the earlier numbers that it reads.

    A barrier in a loop over the vector cores ends that loop, and another loop does the rest.
    """
    parts: list[list[ast.stmt]] = [[]]
    for stmt in body:
        if _is_barrier(ctx, stmt):
            assert isinstance(stmt, ast.Expr)
            assert isinstance(stmt.value, ast.Call)
            _check_options(ctx, stmt.value)
            parts.append([])
            continue
        loop = _over_cores(ctx, stmt)
        if loop is not None:
            first, *others = [
                [_loop_of(loop, part)] if part else []
                for part in _between_barriers(ctx, loop.body, launch)
            ]
            parts[-1] += first
            parts += others
            continue
        inner = next((n for n in ast.walk(stmt) if _is_barrier(ctx, n)), None)
        if inner is not None:
            raise ParserTypeError(
                "a barrier belongs at the top level of a launch, not in a loop or branch",
                ctx.span(inner),
                hint="move it after the loop, or write a launch for each part",
                slug="barrier",
                related=(Label(ctx.span(launch), "the launch"),),
            )
        parts[-1].append(stmt)
    found: list[list[ast.stmt]] = []
    before: list[ast.stmt] = []
    for part in parts:
        found.append([*_numbers(ctx, before, part), *part] if part else [])
        before += part
    return found


def _over_cores(ctx: Context, stmt: ast.stmt) -> ast.For | None:
    """Return the statement if it is a loop over the vector cores."""
    if isinstance(stmt, ast.For) and isinstance(stmt.iter, ast.Call):
        return stmt if ctx.peek(stmt.iter.func) is region_markers.split_aiv else None
    return None


def _loop_of(loop: ast.For, body: list[ast.stmt]) -> ast.stmt:
    made = copy.copy(loop)
    made.body = body
    return made


def _is_barrier(ctx: Context, node: ast.AST) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and ctx.peek(call.func) is region_markers.syncall


_CORES: Final = ("mix", "aic_only", "aiv_only")
_MODES: Final = ("hard", "soft")
_OF_SOFT: Final = ("gm_workspace", "used_cores")


def _check_options(ctx: Context, call: ast.Call) -> None:
    """Check which cores wait at a barrier, and how: these options change no value.

    Raises:
        ParserSyntaxError: there are no such cores, or no such mode.
    """
    words = {word.arg: word.value for word in call.keywords if word.arg is not None}
    known = {"core_type": _CORES, "mode": _MODES}
    found = {key: ctx.value(words[key]) if key in words else known[key][0] for key in known}
    problem, wanted = "", None
    if call.args or not {*words} <= {*known, *_OF_SOFT}:
        problem = "pl.system.syncall takes core_type, mode, gm_workspace and used_cores, by name"
        wanted = 'core_type="mix"'
    for key, choices in known.items():
        if wanted is None and found[key] not in choices:
            problem = f"{key} of a barrier is one of {', '.join(choices)}, got {found[key]!r}"
            wanted = f'{key}="{choices[0]}"'
    is_soft = found["mode"] == "soft"
    odd = [key for key in _OF_SOFT if (key in words) is not is_soft]
    if wanted is None and odd:
        verb = "needs" if is_soft else "takes no"
        problem = f"a {found['mode']} barrier {verb} {' and '.join(odd)}"
        wanted = 'mode="soft", gm_workspace=flags, used_cores=4' if is_soft else 'mode="hard"'
    if wanted is not None:
        raise ParserSyntaxError(
            problem, ctx.span(call), hint=f"write pl.system.syncall({wanted})", slug="barrier"
        )


_OF_NUMBERS = frozenset({"get_block_idx", "get_block_num", "min", "max", "cast", "dim"})


def _is_number(ctx: Context, stmt: ast.stmt) -> bool:
    """True for an assignment of a number that does not depend on memory to a single name."""
    if not isinstance(stmt, ast.Assign) or not isinstance(stmt.targets[0], ast.Name):
        return False
    for node in ast.walk(stmt.value):
        if isinstance(node, ast.Subscript):
            return False
        if isinstance(node, ast.Call):
            callee = ctx.peek(node.func)
            if getattr(callee, "__name__", "") not in _OF_NUMBERS:
                return False
    return True


def _numbers(ctx: Context, before: list[ast.stmt], part: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements before a barrier that compute what is read after it."""
    wanted = read_names(part)
    kept: list[ast.stmt] = []
    for stmt in reversed(before):
        assigned = {
            n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        if wanted.isdisjoint(assigned):
            continue
        if not _is_number(ctx, stmt):
            name = sorted(wanted & assigned)[0]
            raise ParserTypeError(
                f"{name!r} crosses a barrier, and is not a number that can be computed again",
                ctx.span(stmt),
                hint="store it in a tensor before the barrier, and read it from there",
                slug="barrier",
            )
        kept.insert(0, stmt)
        wanted = (wanted - assigned) | read_names([stmt])
    return kept
