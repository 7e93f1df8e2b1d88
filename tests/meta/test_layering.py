"""The layers of `pypto._src`: imports go to earlier layers, and never form a cycle."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "pypto"

# One line per layer, the lowest first. A module imports from its own line and earlier ones.
# `*` stands for the modules of that package that no other line names; `x` alone, where x is a
# package, is its `__init__`, which may see the whole package.
LAYERS = """
records
diagnostics
errors
suggestions usage_errors
lazy python_parser output_folder
knobs
logs testing
ranks
dtypes
cost.cases
cost.formulas
cost.tables
cost.model
cost.fit
cost.accuracy
cost
ir.static_names
ir.node_base ir.enums ir.fresh_names ir.name_rules
ir.inspect ir.inspect.highlight
ir.types
ir.exprs
ir.array_types
ir.unchecked ir.stmts ir.interning ir.scalar_ops
ir.annotations ir.call_forms ir.emit_sites ir.op_params
ir.opdef
ir.inspect.source_names
ir.traversal ir.traversal.walk
ir.traversal.recursion
ir.traversal.mutator ir.traversal.queries
ir.verify ir.verify.codes ir.traversal.common_parts
ir.verify.verification_cache
ir.verify.ssa
ir.verify.structure ir.verify.types ir.verify.nested_calls
ir.traversal.symbolic_dims
ir.roles
ir.equal
ir.text ir.text.grammar
ir.text.names
ir.text.expressions
ir.text.printer
ir.ssa ir.ssa.liveout
ir.ssa.jumps ir.ssa.tuples
ir.ssa.construct
ir.builders ir.builders.builder
ir.builders.stack_builder
ir.verify.verifier
ir.serialization ir.serialization.tokens
ir.serialization.field_kinds ir.serialization.rules
ir.serialization.serialize
ir.inspect.tree
ir
targets
backend
ops.define
ops.rules ops.rules.type_rules
ops.*
ops
interp.*
interp
frontend.annotation_names frontend.markers frontend.region_markers frontend.distributed_markers
frontend.source frontend.source.*
frontend.state.*
frontend.diagnose.trial frontend.diagnose.fixits
frontend.ir_text.*
frontend.*
frontend
analysis analysis.*
passes.properties
passes.verification
passes.pass_base
passes.pipeline passes.rewrite
passes.structure.*
passes.tensors.*
passes.memory.*
passes.sync.*
passes.*
passes.pass_manager
passes
lint lint.*
statement.mnemonics
statement.atoms
statement.form
statement.*
statement
emit.writer emit.tensor_parts
emit.host emit.host.runtime_api emit.host.statement_kinds emit.host.tensor_aliases
emit.cpp.types emit.cpp.helper_functions emit.cpp.names emit.cpp.tensors
emit.pto.types emit.pto.function_body
emit.cpp emit.cpp.* emit.pto emit.pto.*
emit.host.device emit.host.device.*
emit.host.native emit.host.native.*
emit
dialect.types
dialect.rules
dialect.row_rules
dialect.table dialect.syntax
dialect.tile_ops dialect.sync_ops
dialect.ops
dialect.reader dialect.op_rules
dialect.*
dialect
run.*
run
timeline.instructions timeline.core
timeline.simulate timeline.schedule
timeline.profile
timeline.*
timeline
build_output
checks driver
golden.*
golden
numerics.*
numerics
cluster.windows cluster.messages
cluster.rank_world
cluster.rank_actor
cluster.session
cluster.tasks
cluster
jit jit.captures jit.parameters
jit.specialised_source
jit.specialisation
jit.function jit.host_values
jit.host_operations
jit.host_evaluator
jit.cluster_ranks jit.signal_check jit.spread
jit.workers
jit.host
compiled_folder
jit.decorator
jit.collectives
tune.examine tune.results
tune.workers
tune.search tune.worker
tune.report
tune.autotune
tune
notebook.timeline_drawing
notebook.*
notebook
frameworks.operator
frameworks.*
frameworks
editor.definitions
editor.analysis
editor.*
editor
commands.example_cases
commands.programs commands.cli_options
commands.*
commands
cli
"""

ORDER = [line.split() for line in LAYERS.strip().splitlines()]
DEPENDENCIES = {"numpy", "ml_dtypes"}
# What a package that is imported only on request may need, too.
EXTRAS = {"dialect": {"xdsl"}, "cluster": {"ray"}, "editor": {"lsprotocol", "pygls"}}
MOST_MODULES = 20  # per folder, beside its `__init__`: more are several families, each for a folder
MODULE_PATH = re.compile(r"pypto\._src(\.\w+)+")


@dataclass(frozen=True)
class Import:
    """One imported name: an absolute dotted path, which may end in an attribute of a module."""

    name: str
    line: int


def layer(module: str) -> int | None:
    """Return the line of ``module`` (a path below `_src`) in `ORDER`; None if no line has it."""
    exact = (i for i, names in enumerate(ORDER) if module in names)
    globbed = (i for i, names in enumerate(ORDER) if any(fnmatchcase(module, n) for n in names))
    return next(exact, next(globbed, None))


def module_name(path: Path, root: Path) -> str:
    """Return the dotted name of a file below ``root``: ``ir/exprs.py`` is ``ir.exprs``."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def source_files(root: Path) -> dict[str, Path]:
    return {module_name(path, root): path for path in sorted(root.rglob("*.py"))}


def imports(tree: ast.AST, module: str, is_package: bool) -> Iterator[Import]:
    """Yield all imports, at any depth: also those inside functions and under TYPE_CHECKING.

    A string that is the full path of one of our modules counts too, since it can be nothing but
    an argument to an import function.
    """
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (Import(alias.name, node.lineno) for alias in names)
            case ast.ImportFrom(module=source, names=names, level=level):
                base = package[: len(package) - level + 1] if level else []
                prefix = ".".join([*base, *([source] if source else [])])
                yield from (Import(f"{prefix}.{alias.name}", node.lineno) for alias in names)
            case ast.Constant(value=str(text)) if MODULE_PATH.fullmatch(text):
                yield Import(text, node.lineno)
            case _:
                pass


def find_faults(root: Path) -> list[str]:
    """Return what is wrong with the imports of the modules below ``root``, a `_src` folder."""
    files = source_files(root)
    faults: list[str] = []
    graph: dict[str, set[str]] = {}
    for module, path in files.items():
        if module == "":
            continue
        rank = layer(module)
        if rank is None:
            faults.append(f"{module}: no line of LAYERS has this module")
            continue
        tree = ast.parse(path.read_bytes(), str(path))
        full_name = f"pypto._src.{module}"
        graph[module] = set()
        for found in imports(tree, full_name, path.name == "__init__.py"):
            where = f"{path.relative_to(root).as_posix()}:{found.line}"
            top = found.name.split(".")[0]
            if top != "pypto":
                extras = EXTRAS.get(module.split(".")[0], set())
                if top not in sys.stdlib_module_names | DEPENDENCIES | extras:
                    faults.append(f"{where}: imports {top}, which is not a dependency")
                continue
            if found.name.startswith("pypto._version."):
                continue
            if not found.name.startswith("pypto._src."):
                faults.append(f"{where}: imports {found.name} from a public package")
                continue
            target = resolve(found.name.removeprefix("pypto._src."), files)
            if target is None or target == module:
                faults.append(f"{where}: imports {found.name}, which does not exist")
                continue
            graph[module].add(target)
            other = layer(target)
            if other is not None and other > rank:
                faults.append(f"{where}: {module} imports {target}, which is a later layer")
    return faults + find_cycle(graph)


def resolve(name: str, files: dict[str, Path]) -> str | None:
    """Return the module that ``name`` is, or is an attribute of."""
    if name in files:
        return name
    parent = name.rpartition(".")[0]
    return parent if parent in files and parent != "" else None


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return ["cycle: " + " imports ".join(reversed(circle))]
    return []


def is_reexport(statement: ast.stmt) -> bool:
    """True for what a public module may hold.

    That is: its docstring, imports from `pypto` (and `TYPE_CHECKING`, `__future__`), aliases, and
    values for `__all__` and the like. `__getattr__` may be bound to a function made elsewhere.
    """
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.Import(names=names):
            return all(alias.name.split(".")[0] == "pypto" for alias in names)
        case ast.ImportFrom(module=source, level=level):
            plain = {"pypto", "__future__", "typing", "builtins"}
            return level > 0 or (source or "").split(".")[0] in plain
        case ast.Assign(targets=targets, value=value):
            dunder = all(isinstance(t, ast.Name) and t.id.startswith("__") for t in targets)
            return dunder or isinstance(value, ast.Name | ast.Attribute)
        case ast.AnnAssign(target=ast.Name(id=name)):
            return name.startswith("__")
        case ast.AugAssign(target=ast.Name(id="__all__")):
            return True
        case ast.Expr(ast.Call(func=ast.Attribute(ast.Name(id="__all__"), attr="extend"))):
            return True  # with the names of a module that `make generate` writes
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=orelse):
            return all(is_reexport(inner) for inner in (*body, *orelse))
        case ast.If(test=ast.UnaryOp(ast.Not(), ast.Name(id="TYPE_CHECKING")), body=body):
            return all(is_reexport(inner) for inner in body)
        case _:
            return False


def public_files() -> dict[str, Path]:
    """The public modules; `pypto.__main__` is the command, not a facade."""
    private = ("_src", "_version", "__main__")
    files = source_files(PACKAGE)
    return {name: path for name, path in files.items() if name.split(".")[0] not in private}


def test_imports_follow_the_layers() -> None:
    """No module of `_src` imports from a later layer, in a cycle, or from a public package."""
    faults = find_faults(PACKAGE / "_src")
    assert not faults, "\n".join(faults)


def test_public_packages_only_reexport() -> None:
    """Public modules hold imports and names, no code."""
    code = [
        f"{path.relative_to(PACKAGE).as_posix()}:{statement.lineno}"
        for path in public_files().values()
        for statement in ast.parse(path.read_bytes(), str(path)).body
        if not is_reexport(statement)
    ]
    assert not code, "\n".join(code)


def test_folders_stay_small() -> None:
    """No folder has more than 20 modules: a reader can survey it at a glance."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    counts = {
        folder.relative_to(PACKAGE).as_posix(): len(set(folder.glob("*.py"))) - 1
        for folder in sorted(folders)
    }
    assert {folder: n for folder, n in counts.items() if n > MOST_MODULES} == {}


def write_tree(root: Path, sources: dict[str, str]) -> None:
    for name, source in sources.items():
        path = root / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)


def test_import_from_later_layer_is_found(tmp_path: Path) -> None:
    """An import from a later layer is reported, also inside a function or as a string."""
    sources = {
        "driver": "",
        "errors": "from pypto._src.driver import compile\n",
        "knobs": "def f():\n    from pypto._src import driver\n",
        "targets": "m = load('pypto._src.driver')\n",
        "ir/exprs": "from ..driver import compile\n",
    }
    write_tree(tmp_path, sources)
    assert find_faults(tmp_path) == [
        "errors.py:1: errors imports driver, which is a later layer",
        "ir/exprs.py:1: ir.exprs imports driver, which is a later layer",
        "knobs.py:2: knobs imports driver, which is a later layer",
        "targets.py:1: targets imports driver, which is a later layer",
    ]


def test_cycle_inside_a_layer_is_found(tmp_path: Path) -> None:
    """Modules of one layer may import each other, but not in a cycle."""
    sources = {"run/cache": "from pypto._src.run import launch\n", "run/launch": ""}
    write_tree(tmp_path, sources)
    assert find_faults(tmp_path) == []
    write_tree(tmp_path, {"run/launch": "def f():\n    import pypto._src.run.cache\n"})
    [fault] = find_faults(tmp_path)
    assert fault.startswith("cycle: run.")


def test_foreign_imports_are_found(tmp_path: Path) -> None:
    """A public package, an undeclared dependency, a missing module and an unknown layer."""
    sources = {
        "driver": "import pypto.language\nimport scipy, numpy\nfrom pypto._src import ghost\n",
        "run/__init__": "from pypto._src.run import ghost\n",
        "attic": "",
    }
    write_tree(tmp_path, sources)
    assert find_faults(tmp_path) == [
        "attic: no line of LAYERS has this module",
        "driver.py:1: imports pypto.language from a public package",
        "driver.py:2: imports scipy, which is not a dependency",
        "driver.py:3: imports pypto._src.ghost, which does not exist",
        "run/__init__.py:1: imports pypto._src.run.ghost, which does not exist",
    ]


def test_named_module_is_not_in_the_star() -> None:
    """A line that names a module wins over a `*` that matches it."""
    assert [ORDER[layer(m) or 0] for m in ("passes.fold", "passes.pass_manager")] == [
        ["passes.*"],
        ["passes.pass_manager"],
    ]
