"""The texts of all op rows, examples, forms and random kernels match `tests/golden`.

`golden_texts.py` describes its contents. ``--update-golden`` rewrites it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.emit.cpp_operands import faults
from tests.emit.golden_texts import (
    FOLDERS,
    GOLDEN,
    MANIFEST,
    all_texts,
    choose,
    differences,
    entry,
    kept,
    line_forms,
    manifest_text,
    texts,
)
from tests.emit.write_texts import INDEX, write_texts

CPP = [folder for folder in FOLDERS if folder.startswith("cpp/")]
SHOWN = 20
"""The most texts that a failure names."""
ADVICE = """\
All differences:         `make texts DIR=build/new`; with DIR=build/old on the commit before; then
                         diff -r build/old build/new
These texts as they are: pytest "{test}" --show-text
The new texts are right: `make golden`"""


def difference(path: str, text: str) -> str:
    """Return the difference between a text and its stored file."""
    old = (GOLDEN / path).read_bytes().decode().splitlines()
    lines = difflib.unified_diff(
        old, text.splitlines(), f"tests/golden/{path}", "now", lineterm="", n=2
    )
    return "\n".join(lines) or "only line ends differ"


def report(folder: str, found: Mapping[str, str], *, whole: bool) -> str:
    """Return a developer's report on texts that differ from the recorded ones.

    It has their names, and the difference of the shortest stored one. ``whole``
    asks for all of each text.
    """
    other = dict(differences(folder, found))
    if not other:
        return ""
    readable = kept()
    lines = [f"of {len(found)} texts in {folder}, {len(other)} are not as recorded:"]
    lines += [f"  {path} {what}" for path, what in [*other.items()][:SHOWN]]
    lines += [f"  and {len(other) - SHOWN} more"] * (len(other) > SHOWN)
    changed = [path for path in other if path in found]
    if whole:
        lines += [f"==== {path}\n{found[path]}" for path in changed]
    elif both := [path for path in changed if path in readable]:
        shortest = min(both, key=lambda path: len(found[path]))
        lines.append(difference(shortest, found[shortest]))
    return "\n".join(lines)


@pytest.mark.parametrize("folder", FOLDERS)
def test_texts_are_as_recorded(folder: str, request: pytest.FixtureRequest) -> None:
    """Each text of the folder is in the manifest, byte for byte, and the manifest has no other."""
    config = request.config
    if config.getoption("--update-golden"):
        return  # `test_kept_texts` writes the manifest
    found = texts(folder)
    if message := report(folder, found, whole=bool(config.getoption("--show-text"))):
        test = f"tests/emit/test_golden.py::test_texts_are_as_recorded[{folder}]"
        pytest.fail(f"{message}\n{ADVICE.format(test=test)}", pytrace=False)


def test_kept_texts(golden: Callable[[str, str], None], request: pytest.FixtureRequest) -> None:
    """The manifest and the stored texts are those that `choose` selects, and no other files."""
    found = all_texts()
    chosen = choose(found)
    golden(MANIFEST, manifest_text(found))
    for path in chosen:
        golden(path, found[path])
    stale = kept() - set(chosen)
    if request.config.getoption("--update-golden"):
        for path in stale:
            (GOLDEN / path).unlink()
        return
    assert stale == set(), "`make golden` removes these files"


@pytest.mark.parametrize("folder", CPP)
def test_operands_are_as_the_library_wants_them(folder: str) -> None:
    """Operands satisfy the chip's headers even where no static_assert would fail."""
    found = {path: [*faults(text)] for path, text in texts(folder).items()}
    assert found
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


# --------------------------------------------------------------------------------------------
# Which texts are kept
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "line", "forms"),
    [
        ("cpp", "    TADD(sum, a0, a1);  // rows.py:12", ["TADD(x..);"]),
        ("cpp", "TADDS(t, t, static_cast<half>(2.0f));", ["static_cast<half>(x)", "TADDS(x..);"]),
        (
            "cpp",
            "if (i < n && k * 2 == 7) {",
            ["x < x", "x && x", "x * x", "x == x", "(x)", "if x {"],
        ),
        (
            "cpp",
            "using tType = Tile<TileType::Vec, half, 16, 16, BLayout::RowMajor, -1, -1>;",
            ["using x = Tile<TileType::Vec, half, x.., BLayout::RowMajor, -x, -x>;"],
        ),
        ("cpp", "set_flag(PIPE_V, PIPE_M, EVENT_ID3);", ["set_flag(PIPE_V, PIPE_M, EVENT_IDx);"]),
        (
            "pto",
            "pto.tload ins(%10 : !pto.partition_tensor_view<16x16xf16>)",
            ["pto.tload ins(x : !pto.partition_tensor_view<xxf16>)"],
        ),
        ("pto", "%4:2 = scf.if %c -> (i32, f32) {", ["x:x = scf.if x -> (i32, f32) {"]),
        ("pto", "%cst_1 = arith.constant 1.0e-05 : f16", ["x = arith.constant x : f16"]),
    ],
)
def test_forms_of_a_line(kind: str, line: str, forms: list[str]) -> None:
    """A form has no names and numbers; expressions in C++ are forms of their own."""
    assert [*line_forms(kind, line)] == forms


def test_choice() -> None:
    """Examples are taken, then the shortest text for each form; redundant ones are dropped."""
    found = {
        "pto/examples/add.level3.pto": "pto.tadd\n",
        "pto/examples/add.pto": "pto.tadd\n",
        "cpp/examples/long.k.cpp": "TADD(a, b, c);\nTSUB(a, b, c);\nTMUL(a, b, c);\n",
        "cpp/op/add.cpp": "TADD(x, y, z);\n",
        "cpp/op/exp.cpp": "TEXP(x, y);\n",
        "cpp/op/exp_twice.cpp": "TEXP(x, y);\nTEXP(y, y);\n",
        "cpp/op/exp_log.cpp": "TEXP(x, y);\nTLOG(y, y);\n",
    }
    kept_whole = ["cpp/examples/long.k.cpp", "cpp/op/exp_log.cpp", "pto/examples/add.pto"]
    assert choose(found) == kept_whole


def test_reports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A failure names texts that were changed, added and removed, with the shortest difference."""
    before = {f"pto/folder/{name}.pto": f"// {name}\npto.tmatmul\n" for name in "abc"}
    (tmp_path / "pto/folder").mkdir(parents=True)
    for path, text in before.items():
        (tmp_path / path).write_text(text, encoding="utf-8", newline="\n")
    recorded = {path: entry(text) for path, text in before.items()}
    monkeypatch.setattr("tests.emit.golden_texts.manifest", lambda: recorded)
    monkeypatch.setattr("tests.emit.golden_texts.GOLDEN", tmp_path)
    monkeypatch.setattr("tests.emit.test_golden.GOLDEN", tmp_path)
    assert report("pto/folder", before, whole=False) == ""
    now = {
        "pto/folder/a.pto": "// a\n// longer\npto.tmatmul\n",
        "pto/folder/b.pto": "// b\npto.tgemv\n",
        "pto/folder/d.pto": "// d\n",
    }
    assert report("pto/folder", now, whole=False).splitlines() == [
        "of 3 texts in pto/folder, 4 are not as recorded:",
        "  pto/folder/a.pto is another text",
        "  pto/folder/b.pto is another text",
        "  pto/folder/c.pto is gone",
        "  pto/folder/d.pto is new",
        "--- tests/golden/pto/folder/b.pto",
        "+++ now",
        "@@ -1,2 +1,2 @@",
        " // b",
        "-pto.tmatmul",
        "+pto.tgemv",
    ]
    monkeypatch.setattr("tests.emit.test_golden.SHOWN", 1)
    whole = report("pto/folder", now, whole=True)
    assert "  and 3 more\n" in whole
    assert all(f"==== {path}\n{text}" in whole for path, text in now.items())


def test_written_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`make texts` writes all texts, and the assembler's options for the PTO texts."""
    write_texts(tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    found = {path.relative_to(tmp_path).as_posix(): path.read_bytes().decode() for path in files}
    index = found.pop(f"pto/{INDEX}")
    assert found == all_texts()
    assert capsys.readouterr().out == f"{len(found)} texts are in {tmp_path}\n"
    head, *lines = index.splitlines()
    assert head == "path\toptions of ptoas"
    assert "kernels/softmax.level3.pto\t--pto-level=level3" in lines
    assert [f"pto/{line.split()[0]}" for line in lines] == sorted(
        path for path in found if path.startswith("pto/")
    )
