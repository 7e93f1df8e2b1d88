"""Whether the function being parsed computes with tiles, on a core, or with tensors, on the host.

The function's role (`ir.roles`) follows from its ops; slices need to know earlier.
"""

from __future__ import annotations

import ast

from pypto._src.frontend import markers
from pypto._src.frontend.source.syntax_tree import nodes_in
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.signatures import Callee
from pypto._src.ir.enums import FunctionType
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.stmts import Function


def computes_with_tiles(home: Context) -> bool:
    """True if a slice of a tensor is a tile in this function, False if it is a view."""
    if home.on_tiles is None:
        if home.func_type is FunctionType.Opaque:
            home.on_tiles = not _is_host(home)
        else:
            home.on_tiles = home.func_type is FunctionType.InCore
    return home.on_tiles


def _is_host(home: Context) -> bool:
    """True if an Opaque function has scopes, or calls functions and names no block op."""
    calls = tiles = False
    for node in nodes_in(*home.node.body):
        if isinstance(node, ast.Call):
            callee = home.peek(node.func)
            if callee is markers.incore or getattr(callee, "marks_region", False):
                return True
            if isinstance(callee, OpDef):
                tiles = tiles or callee.level == "block"
            elif isinstance(callee, Function | Callee) or _is_method(home, node.func):
                calls = True
    return calls and not tiles


def _is_method(home: Context, func: ast.expr) -> bool:
    return (
        isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Name)
        and func.value.id == home.self_name
        and home.functions.method(func.attr) is not None
    )
