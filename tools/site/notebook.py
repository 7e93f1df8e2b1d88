"""A tutorial as a notebook for Jupyter: text, code and its output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tools.site.execute import Output
from tools.site.markdown import LINK, Block, blocks

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def notebook(page: str, shown: list[Output]) -> str:
    """Return the text of a tutorial, with the output of its blocks, in Jupyter's format.

    A block that is a file is written and run; commands are run by a shell, and pages that they
    draw are shown.
    """
    outputs = {output.last: output for output in shown}
    lines, cells, begin = page.splitlines(), list[dict[str, Any]](), 0
    for block in blocks(page):
        if block.last not in outputs:
            continue
        cells += _text(lines[begin : block.first - 1])
        cells += _code(block, outputs[block.last])
        begin = block.last + 1
    cells += _text(lines[begin:])
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    whole = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _text(lines: list[str]) -> Iterator[dict[str, Any]]:
    text = "\n".join(lines).strip()
    if text:  # links lead to pages of the site, to which a notebook does not belong
        text = LINK.sub(lambda link: link[0] if ":" in link["target"] else link["text"][1:-1], text)
        yield {"cell_type": "markdown", "metadata": {}, "source": _source(text)}


def _code(block: Block, output: Output) -> Iterator[dict[str, Any]]:
    if block.language == "sh":
        commands = [line for line in block.text.splitlines() if line.strip()]
        yield _cell("\n".join(f"!{command}" for command in commands), output.text)
        for name in output.pictures:
            kind, size = ("IFrame", ', "100%", 640') if name.endswith(".html") else ("Image", "")
            yield _cell(f'from IPython.display import {kind}\n\n{kind}("{name}"{size})', "")
    elif block.file:
        yield _cell(f"%%writefile {block.file}\n{block.text}", "")
        yield _cell(f"%run {block.file}", output.text)
    else:
        yield _cell(block.text, output.text)


def _cell(code: str, text: str) -> dict[str, Any]:
    stream = {"name": "stdout", "output_type": "stream", "text": _source(text)}
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [stream] if text.strip() else [],
        "source": _source(code.rstrip("\n")),
    }


def _source(text: str) -> list[str]:
    return text.splitlines(keepends=True)
