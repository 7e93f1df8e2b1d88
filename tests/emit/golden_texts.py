"""What `tests/golden` stores of the texts of kernels: a line for each, and some of them in full.

There are thousands of texts (`pto_texts.py`, `cpp_texts.py`), most of them nearly alike.
`manifest.tsv` has a line for each: its path and a prefix of its SHA-256 digest. So a changed byte
in any text is noticed. The texts that `choose` selects are for people to read, stored as files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path

from tests.emit import cpp_texts, pto_texts

GOLDEN = Path(__file__).parents[1] / "golden"
MANIFEST = "manifest.tsv"
HEAD = "each folder, and for each text in it: name\tsha256\n"
KINDS = {"pto": pto_texts, "cpp": cpp_texts}
FOLDERS = tuple(f"{kind}/{folder}" for kind, module in KINDS.items() for folder in module.FOLDERS)
WHOLE = ("pto/examples/", "pto/kernels/", "cpp/examples/")
"""Folders whose texts are kept: programs as users write them."""
AGAIN = re.compile(r"pto/examples/.*\.level3\.pto")
"""Second texts of the same kernels, with addresses: stored only if they show a form."""
NEVER = ("pto/programs/", "cpp/programs/")
"""Folders that are only in the manifest: long texts, whose forms shorter ones show."""


@cache
def texts(folder: str) -> Mapping[str, str]:
    """Return the texts of a folder by their paths below `tests/golden`.

    No two paths differ only in case: some file systems do not distinguish them.
    """
    kind, _, name = folder.partition("/")
    found: dict[str, str] = {}
    for path, text in KINDS[kind].texts(name):
        assert f"{kind}/{path}" not in found, f"two texts have the path {kind}/{path}"
        found[f"{kind}/{path}"] = text
    assert len({path.lower() for path in found}) == len(found)
    return found


def all_texts() -> dict[str, str]:
    """Return all texts by path."""
    return {path: text for folder in FOLDERS for path, text in texts(folder).items()}


# --------------------------------------------------------------------------------------------
# The manifest
# --------------------------------------------------------------------------------------------


def options_of(text: str) -> str:
    """Return the assembler options in the first line of a PTO text."""
    first = text.partition("\n")[0]
    return first.removeprefix("// ptoas ") if first.startswith("// ptoas ") else ""


def entry(text: str) -> str:
    """Return the manifest's entry for this text: the prefix of its digest."""
    return sha256(text.encode()).hexdigest()[:16]


def manifest_text(found: Mapping[str, str]) -> str:
    """Return the manifest of texts."""
    lines = [HEAD]
    for folder, paths in groupby(sorted(found), key=lambda path: path.rpartition("/")[0]):
        lines.append(f"{folder}/\n")
        lines += [f"{path.removeprefix(f'{folder}/')}\t{entry(found[path])}\n" for path in paths]
    return "".join(lines)


@cache
def manifest() -> dict[str, str]:
    """Return the manifest's digests by path."""
    found: dict[str, str] = {}
    folder = ""
    for line in (GOLDEN / MANIFEST).read_text(encoding="utf-8").splitlines()[1:]:
        name, tab, digest = line.partition("\t")
        if not tab:
            folder = line
        else:
            found[folder + name] = digest
    return found


def kept() -> set[str]:
    """Return the paths of the texts that `tests/golden` stores in full."""
    files = (path for kind in KINDS for path in (GOLDEN / kind).rglob("*") if path.is_file())
    return {path.relative_to(GOLDEN).as_posix() for path in files}


# --------------------------------------------------------------------------------------------
# Which texts a person reads
# --------------------------------------------------------------------------------------------

_COMMENT = re.compile(r"\s*//.*")
_NUMBER = re.compile(r'"[^"]*"|\b\d[\dx]*(?=x[a-z]+\d+>)|\b\d[\w.]*(?:(?<=e)-\d+)?|(?<=EVENT_ID)\d')
_NAME = {
    "pto": re.compile(r"%-?\w+(?:#\w+)?|(?<=@)\w+"),
    # Types, flags and instructions are upper-case names, or these.
    "cpp": re.compile(
        r"\b(?!(?:u?int\d+_t|float|half|bool|auto|const|using|if|else|for|while|return|static_cast"
        r"|reinterpret_cast|set_flag|wait_flag|pipe_barrier)\b)(?:[a-z_]\w*|[A-Z]\b)"
    ),
}
_LIST = re.compile(r"\bx(?:(?:, |x)x)+\b")
_VALUE = r"[-!~*]?\bx\b"
_INNER = re.compile(
    rf"{_VALUE} (?:[-+*/%&|^<>]|[<>=!]=|<<|>>|&&|\|\||\? x :) {_VALUE}"
    rf"|(?:static_cast<\w+>|\bx<\w+>|\bx|(?<![\w>]))\({_VALUE}(?:, {_VALUE})*\)|\bx\[x\]|\bx\(\)"
)


@cache
def line_forms(kind: str, line: str) -> tuple[str, ...]:
    """Return the forms of a line: the line with ``x`` for each name, number and list of them.

    In C++, operators and calls in expressions are forms of their own, with ``x`` in place of
    them in the enclosing expression.
    """
    line = _NAME[kind].sub("x", _NUMBER.sub("x", _COMMENT.sub("", line.strip())))
    found: list[str] = []
    while kind == "cpp" and (inner := _INNER.search(line)):
        found.append(inner[0])
        line = f"{line[: inner.start()]}x{line[inner.end() :]}"
    return (*found, _LIST.sub("x..", line))


def forms(path: str, text: str) -> set[str]:
    """Return the forms of the lines of a text."""
    kind = path.partition("/")[0]
    return {f"{kind}: {form}" for line in text.splitlines() for form in line_forms(kind, line)}


def is_whole(path: str) -> bool:
    """True for a text that is stored regardless of its forms."""
    return path.startswith(WHOLE) and AGAIN.fullmatch(path) is None


def choose(found: Mapping[str, str]) -> list[str]:
    """Return the paths of the texts for people to read, in order: each form is in one of them.

    Those for which `is_whole` are taken, those of `NEVER` are not. Then, from the shortest to the
    longest, each that shows a form not yet shown by a taken one. Finally, the longest first, those
    are dropped whose forms are all shown by others.
    """
    of = {path: forms(path, found[path]) for path in found if not path.startswith(NEVER)}
    order = sorted(of, key=lambda path: (not is_whole(path), len(found[path]), path))
    shown: Counter[str] = Counter()
    taken: list[str] = []
    for path in order:
        if is_whole(path) or any(form not in shown for form in of[path]):
            taken.append(path)
            shown.update(of[path])
    for path in taken[::-1]:
        if not is_whole(path) and all(shown[form] > 1 for form in of[path]):
            taken.remove(path)
            shown.subtract(of[path])
    return sorted(taken)


# --------------------------------------------------------------------------------------------
# Differences
# --------------------------------------------------------------------------------------------


def differences(folder: str, found: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield path and kind of difference between the texts of a folder and the manifest."""
    recorded = {path: e for path, e in manifest().items() if path.startswith(f"{folder}/")}
    for path in sorted(found.keys() | recorded.keys()):
        if path not in recorded:
            yield path, "is new"
        elif path not in found:
            yield path, "is gone"
        elif entry(found[path]) != recorded[path]:
            yield path, "is another text"
