"""The programs that a command line names: in files that are executed, or in texts that are read."""

from __future__ import annotations

import runpy
import sys
import traceback
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pypto._src.commands import example_cases
from pypto._src.commands.cli_options import random_arguments
from pypto._src.diagnostics import Span, spelled_like
from pypto._src.driver import CompiledProgram, compile_program, entry_function
from pypto._src.errors import CallError, PyptoError
from pypto._src.frontend.parse_text import definitions, is_printed_text, parse_program
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Var
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.types import ScalarType, Type
from pypto._src.jit.function import JitFunction
from pypto._src.lazy import lazy_module
from pypto._src.statement.reader import from_statement_text, is_statement_text

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.jit.host import HostFunction
    from pypto._src.tune.autotune import Autotuned
else:
    np = lazy_module("numpy")

_Kind = TypeVar("_Kind")


def load(text: str) -> Program:
    """Return the program that ``FILE[:NAME]`` means; the file is executed.

    Raises:
        PyptoError: the file fails, or has no such program, or several and no name is given.
        OSError: the file cannot be read.
    """
    return load_case(text)[0]


def load_case(text: str) -> tuple[Program, example_cases.Case | None]:
    """Return the program that ``FILE[:NAME]`` means, and the example's case that it is, if any.

    Raises:
        PyptoError: as `load` does.
        OSError: the file cannot be read.
    """
    path, name = split(text)
    variables = _execute(path)
    found = _programs(variables)
    named = variables.get(name) if name is not None and found else None
    if name is not None and isinstance(named, Program | Function):
        found.setdefault(name, named)  # a second name of a program, or a function beside programs
    kernels = {**_named(variables, JitFunction), **_tunable(variables)}
    if not found and not kernels:
        raise _no_program(path)
    kernel = kernels.get(name) if name is not None else None
    if name is not None and name not in found and kernel is not None:
        found = kernels = {name: kernel}
    program = _chosen(path, name, found or kernels)
    return program, next((case for case in _cases(variables) if case.program is program), None)


def _cases(variables: Mapping[str, Any]) -> list[example_cases.Case]:
    """Return the cases that an example lists; other files use this name for other lists, too."""
    listed = variables.get("CASES")
    if not isinstance(listed, list | tuple):
        return []
    items = cast("Sequence[Any]", listed)
    return [item for item in items if isinstance(item, example_cases.Case)]


def _chosen(
    path: Path, name: str | None, found: Mapping[str, Program | Function | JitFunction | Autotuned]
) -> Program:
    """Return the program of a name among those of a file, or the only one."""
    program = found[_chosen_name(path, name, found)]
    if not isinstance(program, Program | Function):
        return program.declared()
    return program if isinstance(program, Program) else Program([program], program.name)


def _chosen_name(path: Path, name: str | None, found: Mapping[str, object]) -> str:
    """Return the name that is meant: the given one, or the only one."""
    names = ", ".join(found)
    if name is None and len(found) == 1:
        [name] = found
    if name is None:
        first = next(iter(found))
        raise CallError(
            f"{path} defines several programs: {names}",
            hint=f"name one: {path}:{first}",
            slug="program-name",
        )
    if name not in found:
        near = spelled_like(name, found) or (names if len(found) == 1 else None)
        hint = None if near is None else f"name one that it defines: {path}:{near}"
        what = f"{path} defines no {name!r}; it defines {names}"
        raise CallError(what, hint=hint, slug="program-name")
    return name


def load_tunable(text: str, choices: Mapping[str, list[Any]]) -> Autotuned:
    """Return the tunable kernel that ``FILE[:NAME]`` names; the file is executed.

    Args:
        text: The file, and the name if it has several.
        choices: Values of constants, in place of those that the file declares.

    Raises:
        PyptoError: the file fails, or has no such kernel, or several and no name is given.
        OSError: the file cannot be read.
    """
    from pypto._src.tune.autotune import with_choices

    path, name = split(text)
    variables = _execute(path)
    found: dict[str, Any] = dict(_tunable(variables))
    if choices:
        found |= _named(variables, JitFunction)
    named = variables.get(name) if name is not None else None
    if choices and name is not None and callable(named):
        found.setdefault(name, named)  # a function that makes programs
    if not found:
        raise CallError(
            f"{path} declares no choices",
            hint="put @pl.autotune(TILE=[64, 128]) above a kernel, or give --choice TILE=64,128",
            slug="program-name",
        )
    chosen = found[_chosen_name(path, name, found)]
    if not choices:
        return chosen
    return with_choices(getattr(chosen, "function", chosen), choices)


def _tunable(variables: Mapping[str, Any]) -> Mapping[str, Autotuned]:
    """Return what has tunable constants; nothing if the file has not imported `autotune`."""
    module = sys.modules.get("pypto._src.tune.autotune")
    return {} if module is None else _named(variables, module.Autotuned)


def call_arguments(
    compiled: CompiledProgram,
    program: Program,
    case: example_cases.Case | None,
    sizes: Mapping[str, int],
    seed: int = example_cases.SEED,
) -> Mapping[str, Any]:
    """Return the case's arguments if it calls this entry without given sizes, else random ones."""
    # Without a case, the only entry may be the one that is named: look for others last.
    if case is not None and not sizes and compiled.entry == entry_function(program).name:
        return case.inputs(np.random.default_rng(seed))
    return random_arguments(compiled, sizes, seed)


def load_reference(text: str, program: Program) -> Program | Callable[..., Any]:
    """Return the reference for ``program`` that ``FILE[:NAME]`` has.

    That is the function ``NAME``, ``reference`` or ``golden``, or else a program, of the same name
    if there are several.

    Raises:
        PyptoError: the file fails, or has neither.
        OSError: it cannot be read.
    """
    path, name = split(text)
    variables = _execute(path)
    has_programs = bool(_programs(variables) or _named(variables, JitFunction))
    wanted = [name] if name is not None else [] if has_programs else ["reference", "golden"]
    for each in wanted:
        found = variables.get(each)
        if isinstance(found, FunctionType):
            return found
    if not has_programs:
        hint = "define reference(x, ...) with the program's parameters, or name it: REF.py:NAME"
        raise CallError(f"{path} has no program and no reference", hint=hint, slug="program-name")
    if name is None:
        found = _programs(variables) or _named(variables, JitFunction)
        name = program.name if len(found) > 1 and program.name in found else None
    return load(text if name is None else f"{path}:{name}")


def given_arguments(
    program: Program,
    case: example_cases.Case | None,
    entry: str | None,
    sizes: Mapping[str, int],
    inputs: Path | None,
    seed: int,
) -> Mapping[str, Any]:
    """Return arguments for the interpreter: the arrays of ``inputs``, else as `call_arguments`.

    Raises:
        PyptoError: the file has no such arrays, or a size is missing.
        OSError: it cannot be read.
    """
    compiled = compile_program(program, "interpreter", entry=entry)
    if inputs is None:
        return call_arguments(compiled, program, case, sizes, seed)
    arrays = read_arrays(inputs)
    function = program.get_function(compiled.entry)
    assert function is not None
    known = dict(sizes)
    names = compiled.param_names
    for name in arrays:
        if name not in names:
            near = spelled_like(name, names) or ", ".join(names)
            what = f"{inputs} has {name!r}, which is not a parameter of {compiled.entry}"
            raise CallError(what, hint=f"name it as the parameter: {near}", slug="argument")
    for param in function.params:
        if param.name in arrays and isinstance(param.type, TensorType):
            for dim, size in zip(param.type.shape, arrays[param.name].shape, strict=False):
                if isinstance(dim, Var):
                    known.setdefault(dim.name, size)
    made = dict(call_arguments(compiled, program, case, known, seed))
    for param in function.params:
        if param.name in arrays:
            made[param.name] = _as_argument(arrays[param.name], param.type)
    return made


def read_arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of an ``.npz`` file; nothing in it is executed.

    Raises:
        PyptoError: it is no such file, or holds something else.
        OSError: it cannot be read.
    """
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except (ValueError, EOFError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        what = f"{path} holds no arrays of NumPy"
        raise CallError(what, hint=f'np.savez("{path}", x=x)', slug="file") from error


def _as_argument(array: Any, kind: Type) -> Any:
    """Return an array of a file as an argument: raw bytes become elements of the wanted type."""
    if isinstance(kind, ScalarType):
        return array.item() if array.ndim == 0 else array
    dtype = kind.dtype.numpy if isinstance(kind, TensorType) else array.dtype
    is_bytes = array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize
    return np.ascontiguousarray(array).view(dtype) if is_bytes else array


def load_text(text: str, command: str, *, execute: bool) -> Program:
    """Return the program that ``FILE[:NAME]`` means, from text in either form.

    A Python file is read, not executed, unless ``execute`` asks for that; then it is loaded as by
    `load`, except for a file with the header that `python_print` writes, which has entry and
    attributes. ``command`` is the command that hints extend by ``--execute``.

    Raises:
        PyptoError: the text is wrong, or has no such program, or the file fails.
        OSError: the file cannot be read.
    """
    path, name = (Path(text), None) if Path(text).is_file() else split(text)
    source = text_of(path)
    if is_statement_text(source):
        program = from_statement_text(source, str(path))
        return _chosen(path, name, {program.name: program})
    if execute and not is_printed_text(source):
        return load(text)
    try:
        if execute:
            return parse_program(source, str(path), trusted=True)
        found = definitions(source, str(path), command)
    except SyntaxError as error:
        raise _failure(path, error) from error
    if not found:
        hint = f"programs that Python makes: {command} --execute"
        raise CallError(f"{path} defines no program", hint=hint, slug="program-name")
    programs = {name: each for name, each in found.items() if isinstance(each, Program)}
    return _chosen(path, name, programs if programs and name not in found else found)


def checked_in(
    text: str, sizes: Mapping[str, int]
) -> Mapping[str, Program | HostFunction | CallError]:
    """Execute a file; return what there is to check in ``FILE[:NAME]``, by name.

    Without a name that is every program, and the functions that are in none of them; those of
    ``@pl.jit`` if there are no others. For a kernel of ranks whose sizes only its launches know, it
    is the error that says so. Kernels that need named sizes as numbers are specialized for
    ``sizes``.

    Raises:
        PyptoError: the file fails, or has no such program.
        OSError: the file cannot be read.
    """
    path, name = split(text)
    variables = _execute(path)
    hosts = _hosts(variables)
    if name is not None:
        host = hosts.get(name) or next(
            (h for h in hosts.values() if h is variables.get(name)), None
        )
        return {name: host if host is not None else load(text)}
    functions = _programs(variables)
    programs = [each for each in functions.values() if isinstance(each, Program)]
    inside = {(f.name, f.span) for program in programs for f in program.functions_}
    for name, value in _named(variables, Function).items():
        if (value.name, value.span) not in inside:
            functions[name] = value
    found: dict[str, Program | HostFunction | CallError] = {
        name: each if isinstance(each, Program) else Program([each], each.name)
        for name, each in functions.items()
    }
    for name, each in _named(variables, JitFunction).items() if not found else ():
        try:
            if not each.is_host:
                found[name] = each.declared(sizes)
        except CallError as error:
            if not hosts:
                raise
            found[name] = error
    found.update(hosts)
    if not found:
        load(text)  # raises the error that there is none
    return found


def _hosts(variables: Mapping[str, Any]) -> Mapping[str, HostFunction]:
    """Return the functions that launch kernels on several devices."""
    module = sys.modules.get("pypto._src.jit.host")
    return {} if module is None else _named(variables, module.HostFunction)


def split(text: str) -> tuple[Path, str | None]:
    """Return file and name of ``FILE[:NAME]``."""
    head, colon, name = text.rpartition(":")
    # C:\kernels.py has a colon, too.
    return (Path(head), name) if colon and name.isidentifier() and head else (Path(text), None)


def _no_program(path: Path) -> CallError:
    hint = "put @pl.program above a class of functions, or @pl.jit above a function"
    return CallError(f"{path} defines no program", hint=hint, slug="program-name")


def _execute(path: Path) -> dict[str, Any]:
    path.open("rb").close()  # a missing file is the command's error, one that it opens is not
    folder = str(path.parent.absolute())
    sys.path.insert(0, folder)  # as Python does for a script
    try:
        return runpy.run_path(str(path))
    except PyptoError:
        raise
    except (Exception, SystemExit) as error:
        raise _failure(path, error) from error
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _programs(variables: Mapping[str, Any]) -> dict[str, Program | Function]:
    found = _named(variables, Program)
    known = {id(program) for program in found.values()}
    for case in _cases(variables):  # whose program a function may make
        if id(case.program) not in known:
            known.add(id(case.program))
            found[case.name] = case.program
    return {**(found or _named(variables, Function))}


def _named(variables: Mapping[str, Any], kind: type[_Kind]) -> dict[str, _Kind]:
    """Return the objects of a kind by name; one with several names goes by the first."""
    found: dict[int, tuple[str, _Kind]] = {}
    for name, value in variables.items():
        if isinstance(value, kind):
            found.setdefault(id(value), (name, value))
    return dict(found.values())


def _failure(path: Path, error: BaseException) -> PyptoError:
    """Return the error for what a file raised, at the file's line."""
    location: Span | None = None
    if isinstance(error, SyntaxError) and error.lineno is not None:
        column = (error.offset or 1) - 1
        location = Span(error.filename or str(path), error.lineno, column)
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == str(path):
            location = Span(str(path), line, -1)
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return PyptoError(f"{type(error).__name__}: {text}", location, slug="user-file")


def text_of(path: Path) -> str:
    """Return what a file holds.

    Raises:
        PyptoError: it is no text.
        OSError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PyptoError(f"{path} is not text: {error}", slug="file") from error
