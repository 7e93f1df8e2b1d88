"""Loads an example with sizes other than those in its source.

The constants at the top of an example are the sizes of one model; a bigger model, or a quick test,
needs the same program with other sizes. They are replaced in the syntax tree, so that every line
keeps its number: the functions read their source from the file.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType


def resized(path: Path, sizes: Mapping[str, int]) -> ModuleType:
    """Run a module with other values for some of the constants that it assigns."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    left = set(sizes)
    for statement in tree.body:
        if not isinstance(statement, ast.Assign):
            continue
        [target] = statement.targets
        match target, statement.value:
            case ast.Name(id=name), _ if name in sizes:
                statement.value = ast.copy_location(ast.Constant(sizes[name]), statement.value)
                left.discard(name)
            case ast.Tuple(elts=names), ast.Tuple(elts=values):
                for index, each in enumerate(names):
                    if isinstance(each, ast.Name) and each.id in sizes:
                        constant = ast.Constant(sizes[each.id])
                        values[index] = ast.copy_location(constant, values[index])
                        left.discard(each.id)
            case _:
                pass
    if left:
        raise ValueError(f"{path} has no constant {sorted(left)}")
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    exec(compile(tree, str(path), "exec"), vars(module))
    return module
