"""Write what follows from the definitions of ops: the modules that name them.

    python -m tools.generate            write the files
    python -m tools.generate --check    name those that are not current, and exit with 1

An op is defined once, in `src/pypto/_src/ops`. Type checkers and editors read files and execute
nothing, so the names that users import must be in files, too; these are written here. Their
contents follow from the registry alone, so that no op can be missing.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "pypto"
OPS = PACKAGE / "_src" / "ops"
OPS_PACKAGE = "pypto._src.ops"
UNIFIED = f"{OPS_PACKAGE}.unified"
DEFINE = f"{OPS_PACKAGE}.define"
NAMES = f"{OPS_PACKAGE}.names"
STATIC_NAMES = "pypto._src.ir.static_names"
KINDS = ("Integer", "Scalar")
"""What a function on scalars takes, as type checkers see it: the first that fits is chosen."""

MARK = "Written by `make generate` from the definitions of the ops."

DISPATCHED = {"bitwise", "ternary"}
"""The families outside the room `lazy` that are loaded when one of their ops is called.

Few kernels use them, and nearly all their names denote ops on tiles and others as well.
"""

NAMED = {"compare_select", "matmul", "new_tiles", "reduce", "reshaping", "tensor_math"}
"""The families that are loaded when one of their ops is named: the names are the ops themselves."""

_DEFINES = re.compile(r"\b(?:block|tensor|system|test)_op\(")
_LEVELS = {"block": "Tile", "tensor": "Tensor"}
_DOC = {
    "block": "Ops on tiles, the blocks of data in a core's memories.",
    "tensor": "Ops on whole tensors in global memory.",
    "system": "Ops that act on a core itself: flags and barriers between its pipes.",
}
"""The docstring of `pypto.language.<level>`."""

REGION_FORMS = {
    "assemble": [
        (
            "target: Tensor, source: Tensor | Tile, offset: Offsets, *, atomic: AtomicType",
            "Tensor",
            "Add ``source`` to the region of ``target`` at ``offset``; return the target.",
        ),
        (
            "target: Tile, source: Tensor | Tile, offset: Offsets",
            "Tile",
            "Return a tile like ``target`` with ``source`` at ``offset``.",
        ),
    ],
    "create_tensor": [
        (
            "shape: Ints, dtype: DataType, layout: Any = None, manual_dep: bool = False, "
            "init_value: Scalar | None = None",
            "Tensor",
            "Return a new tensor of ``shape`` whose elements are ``init_value``, if that is given.",
        )
    ],
    "fillpad": [
        (
            "input: Tensor, pad_value: TilePad | None = None",
            "Tensor",
            "Return a copy of ``input`` with zeros, or as told, where it holds no valid elements.",
        )
    ],
    "matmul_acc": [
        (
            "acc: Tensor, lhs: Tensor | Tile, rhs: Tensor | Tile, a_trans: bool = False, "
            "b_trans: bool = False, init_cond: Scalar | None = None",
            "Tensor",
            "Return ``acc`` plus the product, the product alone where ``init_cond`` holds.",
        )
    ],
    "set_validshape": [
        (
            "input: Tensor | Tile, rows: Scalar, columns: Scalar",
            "Tensor",
            "Return ``input`` of which so many ``rows`` and ``columns`` are valid.",
        ),
        (
            "input: Tensor, valid_shape: Ints",
            "Tensor",
            "Return ``input`` of which ``valid_shape`` is valid.",
        ),
    ],
    "store": [
        (
            "tile: Tensor | Tile, offsets: Offsets, output_tensor: Tensor, "
            "shapes: Ints | None = None, *, atomic: AtomicType | None = None",
            "Tensor",
            "Store the valid part of ``tile`` in ``output_tensor`` at ``offsets``; return that.",
        )
    ],
}
"""Additional signatures of names in regions, beyond their ops': parameters, result, docstring."""

_MARKERS = {
    "block": (
        "aiv_shard",
        "gather_row",
        "get_block_num",
        "get_subblock_idx",
        "slice",
        "transpose_view",
    ),
    "tensor": (
        *("create_l1", "dump_tag", "gather_row", "get_block_num", "get_subblock_idx", "no_dep"),
        "slice",
    ),
    "system": (
        *("available_aiv_count", "available_cluster_count", "cacheinvalid", "fence", "syncall"),
        *("task_dummy", "task_invalid"),
    ),
}
"""Names of a level that are not ops and load on first use: the parser defines their meaning."""


def _markers(level: str) -> str:
    """Return the statements that add to a level its names that are not ops."""
    names, module = _MARKERS[level], "pypto._src.frontend.region_markers"
    return f"""
if TYPE_CHECKING:
    from {module} import {", ".join(f"{name} as {name}" for name in names)}
else:
    __getattr__ = _lazy_names(__name__, {dict.fromkeys(names, module)!r})
"""


def families() -> list[str]:
    """Return the modules in which ops are defined."""
    modules = [path for path in sorted(OPS.glob("*.py")) if path.name != "define.py"]
    found = [m.stem for m in modules if _DEFINES.search(m.read_text(encoding="utf-8"))]
    lazy = sorted((OPS / "lazy").glob("[a-z]*.py"))
    return [*found, *(f"lazy.{path.stem}" for path in lazy)]


def is_dispatched(family: str) -> bool:
    """True for a family whose names dispatch: it is loaded when one of its ops is called."""
    return family in DISPATCHED or family.startswith("lazy.")


def is_lazy(family: str) -> bool:
    """True for a family that is not loaded with the language."""
    return family in NAMED or is_dispatched(family)


def load(names: Iterable[str]) -> ModuleType:
    """Import the families, without the files that are written here; return `ops.unified`."""
    package = ModuleType(OPS_PACKAGE)
    package.__path__ = [str(OPS)]
    sys.modules[OPS_PACKAGE] = package
    for name in names:
        import_module(f"{OPS_PACKAGE}.{name}")
    return import_module(UNIFIED)


@dataclass(frozen=True)
class Source:
    """The text of a family's module: its definitions, and where it imports names from."""

    module: str
    functions: Mapping[str, ast.FunctionDef]
    imports: Mapping[str, str]

    @classmethod
    def read(cls, name: str) -> Source:
        """Read the source of the family ``name``."""
        path = OPS / f"{name.replace('.', '/')}.py"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        imports = {alias.name: node.module or "" for node in found for alias in node.names}
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        return cls(f"{OPS_PACKAGE}.{name}", functions, imports)


class Generator:
    """Writes each file from the registry."""

    def __init__(self) -> None:
        """Read the definitions."""
        self.families = families()
        self.unified = load(self.families)
        self.define = import_module(f"{OPS_PACKAGE}.define")
        self.sources = [Source.read(name) for name in self.families]

    def files(self) -> dict[Path, str]:
        """Return the text of each file."""
        language = PACKAGE / "language"
        texts = {
            OPS / "__init__.py": self.package(),
            OPS / "names.py": self.names(),
            OPS / "names.pyi": self.stubs(),
        }
        texts |= {language / f"{level}.py": self.level(level) for level in _DOC}
        return {path: formatted(path, text) for path, text in texts.items()}

    def package(self) -> str:
        """Return the module that imports every family, or declares it lazy."""
        early = [name for name in self.families if not is_lazy(name)]
        rows: dict[str, list[str]] = {name: [] for name in self.families if is_lazy(name)}
        for (_, python_name), op in self.define.BY_PYTHON_NAME.items():
            if self.is_late(op):
                names = (op.name, python_name, op.overload)
                rows[self.family(op)].append(f"({', '.join(map(repr, names))})")
        return module(
            "The vocabulary: every operator, one definition each. Importing it registers all.",
            {OPS_PACKAGE: {name: name for name in early}, DEFINE: {"lazy_family": "lazy_family"}}
            if rows
            else {OPS_PACKAGE: {name: name for name in early}},
            "\n".join(lazy_call(name, ops) for name, ops in rows.items() if ops),
            exported=early,
        )

    def family(self, op: Any) -> str:
        """Return the name of the family that defines an op."""
        return self.place(op)[0].removeprefix(f"{OPS_PACKAGE}.")

    def is_late(self, op: Any) -> bool:
        """True for an op of a family that is not loaded with the language."""
        return is_lazy(self.family(op))

    def is_dispatched(self, op: Any) -> bool:
        """True for an op whose name dispatches, so that the name loads nothing."""
        return is_dispatched(self.family(op))

    def level(self, level: str) -> str:
        """Return the public module of the ops of a level."""
        imports: dict[str, dict[str, str]] = {}
        names = [name for own, name in self.define.BY_PYTHON_NAME if own == level]
        for name in names:
            op = self.dispatched(level, name)
            place = (NAMES, f"{level}_{name}") if self.is_unified(op) else self.place(op)
            imports.setdefault(place[0], {})[name] = place[1]
        if level == "block":  # ``pl.tile.MaskPattern``, an argument of ops on tiles
            imports["pypto._src.ir.enums"] = {"MaskPattern": "MaskPattern"}
            names.append("MaskPattern")
        imports["typing"] = {"TYPE_CHECKING": "TYPE_CHECKING"}
        imports["pypto._src.lazy"] = {"lazy_names as _lazy_names": "lazy_names as _lazy_names"}
        return module(_DOC[level], imports, _markers(level), exported=names)

    def short_names(self) -> dict[str, Any]:
        """Return the value of `pl.<name>` for each name of an op."""
        ops = list(self.define.BY_PYTHON_NAME.items())
        names = {op.overload for _, op in ops if op.level in _LEVELS}
        names |= {name for (level, name), _ in ops if level == "block"}
        names |= self.unified.ON_SCALARS
        return {name: self.dispatched("", name) for name in sorted(names)}

    def dispatched(self, level: str, name: str) -> Any:
        """Return what a name denotes."""
        op = self.unified.named(level, name) if level else self.unified.unified(name)
        if self.is_unified(op):
            return op
        others = self.define.OVERLOADS.get(name, ()) if level == "block" else ()
        if any(map(self.is_dispatched, [op, *(o for o in others if o.level == level)])):
            return self.unified.Unified(name, level)
        return op

    def singles(self, short: Mapping[str, Any]) -> dict[str, dict[str, str]]:
        """Return the imports of the names that denote a single op."""
        imports: dict[str, dict[str, str]] = {}
        for name, op in short.items():
            if not self.is_unified(op):
                source, original = self.place(op)
                imports.setdefault(source, {})[name] = original
        return imports

    def on_a_level(self) -> dict[str, Any]:
        """Return the names that denote several ops of one level."""
        found = {
            f"{level}_{name}": self.dispatched(level, name)
            for level, name in self.define.BY_PYTHON_NAME
            if level in _DOC
        }
        return {name: op for name, op in sorted(found.items()) if self.is_unified(op)}

    def names(self) -> str:
        """Return the module of the short names."""
        short = self.short_names()
        late = {
            name: source if name == own else f"{source}:{own}"
            for source, names in self.singles(short).items()
            if is_lazy(source.removeprefix(f"{OPS_PACKAGE}."))
            for name, own in names.items()
        }
        early = {name: op for name, op in short.items() if name not in late}
        imports = self.singles(early) | {UNIFIED: {"Unified": "Unified"}}
        lines = [f"{name} = Unified({name!r})" for name in early if self.is_unified(early[name])]
        lines += [
            f"{name} = Unified({op.name!r}, {op.level!r})" for name, op in self.on_a_level().items()
        ]
        lines.append(f'\nLATE = {late!r}\n"""The names that are imported when they are read."""')
        return module(
            "The short names of the ops: `pl.add` is `add` here.",
            imports,
            "\n".join(lines),
            exported=list(early),
        )

    def stubs(self) -> str:
        """Return the stubs of the short names for type checkers."""
        short = self.short_names()
        imports = {
            "typing": {"Any": "Any", "overload": "overload"},
            "pypto._src.ir.exprs": {"Expr": "Expr"},
            f"{OPS_PACKAGE}.define": {"Scalar": "Scalar"},
            UNIFIED: {"Unified": "Unified"},
        }
        body: list[str] = []
        imports["pypto._src.ir.enums"] = {"AtomicType": "AtomicType"}
        for name, op in short.items():
            if self.is_unified(op):
                body += self.overloads(name, imports)
            elif name in REGION_FORMS:
                body += self.with_forms(name, op, imports)
        body += [f"{name}: Unified" for name in self.on_a_level()]
        body.append("LATE: dict[str, str]")
        for source, found in self.singles(short).items():
            kept = {name: own for name, own in found.items() if name not in REGION_FORMS}
            if kept:
                imports.setdefault(source, {}).update(kept)
        return module(
            "The short names of the ops, as type checkers and editors see them.",
            imports,
            "\n".join(body),
            exported=list(short),
        )

    def overloads(self, name: str, imports: dict[str, dict[str, str]]) -> Iterator[str]:
        """Yield the overloads of a name: one for each op, one for scalars, one for anything."""
        number_first, has_value = False, False
        found = self.unified.Unified(name).candidates
        given = set[str]()  # ops without operands take the same for a tile and for a tensor
        for op in found:
            if op.level not in _LEVELS:
                continue
            source, original = self.place(op)
            family = next(each for each in self.sources if each.module == source)
            args = family.functions[original].args
            returns = ast.unparse(family.functions[original].returns or ast.Constant(None))
            for used in names_annotated(args):
                where = family.imports.get(used)
                if where is not None:
                    imports.setdefault(where, {})[used] = used
            has_value = has_value or returns != "None"
            parameters = ast.unparse(args)
            if parameters in given:
                continue
            given.add(parameters)
            yield stub(name, parameters, returns, op.doc)
            if op.commutes:
                number_first = True
                first, second = args.args[:2]
                yield stub(name, f"{first.arg}: Scalar, {second.arg}: {returns}", returns, op.doc)
            yield from self.without_scratch(name, op, args, returns)
        yield from (stub(name, *form) for form in REGION_FORMS.get(name, ()))
        yield from self.on_scalars(name, imports)
        returns = "Any" if has_value or not found else "None"
        yield stub(name, "operand: Expr, /, *others: Any, **named: Any", returns)
        if number_first:
            yield stub(name, "lhs: float, rhs: Expr, /, **named: Any", "Any")

    def with_forms(self, name: str, op: Any, imports: dict[str, dict[str, str]]) -> Iterator[str]:
        """Yield the overloads of a name that denotes one op: its own, and those in regions."""
        source, original = self.place(op)
        family = next(each for each in self.sources if each.module == source)
        function = family.functions[original]
        for used in names_annotated(function.args):
            where = family.imports.get(used)
            if where is not None:
                imports.setdefault(where, {})[used] = used
        returns = ast.unparse(function.returns or ast.Constant(None))
        yield stub(name, ast.unparse(function.args), returns, op.doc)
        yield from (stub(name, *form) for form in REGION_FORMS[name])

    def on_scalars(self, name: str, imports: dict[str, dict[str, str]]) -> Iterator[str]:
        """Yield the overloads for scalars, if the name is one of theirs.

        Of integers the result is an integer, as that of an operator: only that can be passed for a
        parameter declared `pl.INT32`. A cast returns what its argument names.
        """
        text = self.unified.scalar_doc(name)
        if text:
            imports.setdefault(STATIC_NAMES, {})["Integer"] = "Integer"
            operands = self.unified.scalar_parameters(name)
            for kind in ("Integer",) if self.unified.of_integers_only(name) else KINDS:
                parameters = ", ".join(f"{operand}: {kind}" for operand in operands)
                yield stub(name, parameters, kind, text)
        elif name == "cast":
            doc = "Return a scalar as a value of ``target_type``."
            imports.setdefault(STATIC_NAMES, {})["T"] = "T"
            yield stub(name, "scalar: Scalar, target_type: type[T]", "T", doc)
            yield stub(name, "scalar: Scalar, target_type: DataType", "Scalar", doc)

    def without_scratch(
        self, name: str, op: Any, args: ast.arguments, returns: str
    ) -> Iterator[str]:
        """Yield the overload of an op that makes its scratch tile if none is given."""
        scratch = {op.operands[index].name for index in op.writes if index > 0}
        required = args.args[: len(args.args) - len(args.defaults)]
        if op.complete is None or not scratch & {arg.arg for arg in required}:
            return
        left = [ast.unparse(arg) for arg in args.args if arg.arg not in scratch]
        yield stub(name, ", ".join(left), returns, op.doc.partition("\n\n")[0])

    def is_unified(self, op: Any) -> bool:
        """True for a name that dispatches."""
        return isinstance(op, self.unified.Unified)

    def place(self, op: Any) -> tuple[str, str]:
        """Return the module and the name of an op's definition."""
        for source in self.sources:
            name = op.python_name
            if name in source.functions and getattr(sys.modules[source.module], name) is op:
                return source.module, name
        raise LookupError(f"{op.name} has no name in the module that defines it")


def lazy_call(family: str, ops: Sequence[str]) -> str:
    """Return the call that declares a lazy family and its ops."""
    how = "" if is_dispatched(family) else ", dispatched=False"
    return f"lazy_family({family!r}, [{', '.join(ops)},]{how})"


def names_annotated(args: ast.arguments) -> list[str]:
    """Return the names in the annotations of parameters."""
    nodes = [arg.annotation for arg in args.args if arg.annotation is not None]
    walked = (each for node in nodes for each in ast.walk(node))
    return [each.id for each in walked if isinstance(each, ast.Name)]


def stub(name: str, parameters: str, returns: str, doc: str = "") -> str:
    """Return one overload."""
    head = f"@overload\ndef {name}({parameters}) -> {returns}:"
    return f'{head}\n    """{doc}"""\n    ...\n' if doc else f"{head} ...\n"


def module(
    doc: str,
    imports: Mapping[str, Mapping[str, str]],
    body: str = "",
    *,
    exported: Sequence[str],
) -> str:
    """Return the text of a module; ``imports`` maps local to imported names, by module."""
    lines = [f'"""{doc}\n\n{MARK}\n"""\n']
    for source, names in sorted(imports.items()):
        found = [name if name == own else f"{name} as {own}" for own, name in names.items()]
        lines.append(f"from {source} import {', '.join(found)}")
    listed = ", ".join(f'"{name}"' for name in sorted(exported))
    return "\n".join([*lines, "", body, "", f"__all__ = [{listed},]", ""])


def formatted(path: Path, text: str) -> str:
    """Return a text formatted for `make check`, with imports and ``__all__`` sorted."""
    for options in (["check", "--fix", "--select", "I,RUF022,F401"], ["format"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *options, "--quiet", "--stdin-filename", path, "-"],
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=ROOT,
            check=True,
        )
        text = done.stdout
    return text


def main() -> int:
    """Write the files, or with ``--check`` compare them."""
    parser = argparse.ArgumentParser(description="Write what follows from the ops' definitions.")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    check = parser.parse_args().check
    stale = 0
    for path, text in Generator().files().items():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        name = path.relative_to(ROOT).as_posix()
        if check:
            print(f"{name} is not what the ops' definitions say: run `make generate`")
        else:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"wrote {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
