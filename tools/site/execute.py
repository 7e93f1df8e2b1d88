"""Run the blocks of a page, and collect their output.

    python -m tools.site.execute PAGE    print the outputs of each block as JSON

The Python blocks of a page are one module; a block `python NAME.py` is written to that file, too,
after those of the same name. In a tutorial a block `sh` holds commands `pypto ...`, which find
these files. The output of a block is what it prints, the value of its last expression, and the
pictures that it writes into the working directory.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import io
import json
import linecache
import shlex
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from pypto._src import cli
from tools.site.markdown import Block, blocks, examples_in_place

PICTURES = {".html", ".svg", ".png"}


class BlockError(Exception):
    """A block of a page failed; the text begins with the page and the line."""


class Output(NamedTuple):
    """The output of the block that ends at line ``last``."""

    last: int
    text: str
    pictures: list[str]


def is_tutorial(page: Path) -> bool:
    """Return whether the commands of ``page`` run, too."""
    return page.parent.name == "tutorials"


def run_page(page: Path) -> list[Output]:
    """Run the blocks of ``page`` in the working directory, the Python ones in one namespace."""
    text = page.read_text(encoding="utf-8")
    source, filename = examples_in_place(text), str(page)
    module = ModuleType("page")
    module.__file__ = filename
    outer = sys.modules.get("page")
    sys.modules["page"] = module
    # `inspect.getsource` must find Python here, not the Markdown. No timestamp: it is not re-read.
    entry = (len(source), None, source.splitlines(keepends=True), filename)
    linecache.cache[filename] = entry
    try:
        return list(_run(page, text, module.__dict__))
    finally:
        del sys.modules["page"], linecache.cache[filename]
        if outer is not None:
            sys.modules["page"] = outer


def _run(page: Path, text: str, names: dict[str, Any]) -> list[Output]:
    shown: list[Output] = []
    tutorial = is_tutorial(page)
    files: dict[str, str] = {}
    for block in blocks(text):
        pictures = _pictures()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if block.is_example:
                if block.file:
                    before = files.get(block.file)
                    files[block.file] = f"{before}\n\n{block.text}" if before else block.text
                    Path(block.file).write_text(files[block.file], encoding="utf-8")
                _run_python(page, block, names)
            elif tutorial and block.language == "sh":
                _run_commands(page, block)
            else:
                continue
        new = [name for name, time in _pictures().items() if pictures.get(name) != time]
        # Errors name the page, whose path differs for each reader.
        text_shown = printed.getvalue().replace(str(page), page.name)
        shown.append(Output(block.last, text_shown, new))
    return shown


def _pictures() -> dict[str, int]:
    found = sorted(path for path in Path().iterdir() if path.suffix in PICTURES)
    return {path.name: path.stat().st_mtime_ns for path in found}


def _run_python(page: Path, block: Block, names: dict[str, Any]) -> None:
    filename = str(page)
    try:
        tree = ast.parse("\n" * block.first + block.text, filename)
        flags = 0
        if "annotations" in names and names["annotations"] is __future__.annotations:
            flags = __future__.annotations.compiler_flag  # set by an earlier block
        last = tree.body[-1] if tree.body else None
        value = None
        if isinstance(last, ast.Expr):
            tree.body.pop()
        # Pages belong to the project: their blocks run as a reader would run them. The future
        # imports of this module must not hold there.
        exec(compile(tree, filename, "exec", flags, dont_inherit=True), names)
        if isinstance(last, ast.Expr):
            expression = ast.Expression(last.value)
            value = eval(compile(expression, filename, "eval", flags, dont_inherit=True), names)
        if value is not None:
            print(value)
    except Exception as error:  # a block may raise anything; readers look for the page's line
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == filename]
        line = error.lineno if isinstance(error, SyntaxError) and not lines else lines[-1]
        message = "".join(traceback.format_exception(error))
        raise BlockError(f"{page.name}:{line}: {message}") from None


def _run_commands(page: Path, block: Block) -> None:
    for number, line in enumerate(block.text.splitlines(), block.first + 1):
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[0] != "pypto":
            raise BlockError(f"{page.name}:{number}: only commands of pypto run in a tutorial")
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            code = cli.main(words[1:])
        if code:
            raise BlockError(f"{page.name}:{number}: {line} ends with {code}\n{errors.getvalue()}")


def main() -> int:
    """Run the page that the command line names, and print the output of its blocks."""
    try:
        shown = run_page(Path(sys.argv[1]))
    except BlockError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps([output._asdict() for output in shown]), file=sys.__stdout__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
