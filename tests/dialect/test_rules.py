"""Every rule of the dialect has a text that breaks it, and is otherwise correct.

The first line of a file in `broken` gives the rule, and any non-default options:
``// rule: level --level level3``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from pypto._src.dialect.ops import PTO
from pypto._src.dialect.rules import RULES
from pypto._src.dialect.verify import Options, check, faults_of
from pypto._src.errors import PyptoError

FILES = sorted((Path(__file__).parent / "broken").glob("*.pto"))
HEAD = re.compile(
    r"// rule: (?P<rule>[\w-]+)(?: --arch (?P<arch>\w+))?(?: --level (?P<level>\w+))?"
)
SOURCES = Path(__file__).parents[2] / "src" / "pypto" / "_src" / "dialect"


class Broken(NamedTuple):
    """One file: its text, the rule that it breaks, and the options."""

    text: str
    rule: str
    options: Options


def read(path: Path) -> Broken:
    text = path.read_text(encoding="utf-8")
    head = HEAD.match(text)
    assert head is not None, f"{path.name} does not say which rule it breaks"
    return Broken(text, head["rule"], Options(head["arch"] or "a3", head["level"] or "level2"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_broken_text_is_refused_with_its_rule(path: Path) -> None:
    """The first and only fault of each broken text is of the rule that its first line names."""
    case = read(path)
    faults = faults_of(case.text, path.name, case.options)
    assert {fault.slug for fault in faults} == {case.rule}, [fault.render() for fault in faults]


def test_there_are_enough_broken_texts() -> None:
    """At least 40 texts, and one for each rule."""
    assert len(FILES) >= 40
    assert {read(path).rule for path in FILES} == set(RULES)


def test_every_rule_that_is_used_is_described() -> None:
    """The rules named in the code are those of the table of rules."""
    name = r"(?:Rule|Broken|Fault)\(\s*\"([a-z-]+)\""
    used = {rule for path in SOURCES.glob("*.py") for rule in re.findall(name, path.read_text())}
    assert used | {"pto-syntax"} == set(RULES)


def test_fault_has_its_place() -> None:
    """A fault is reported at the op's line, with the line and a caret."""
    path = SOURCES.parents[3] / "tests" / "dialect" / "broken" / "exp-of-integers.pto"
    with pytest.raises(PyptoError) as caught:
        check(path.read_text(encoding="utf-8"), "kernel.pto")
    assert caught.value.render().splitlines()[:2] == [
        "error: src has elements of i32, wanted f16, f32  [element-type]",
        " --> kernel.pto:6:5",
    ]


def test_every_fault_is_reported() -> None:
    """A text with two faults is rejected with both, in textual order."""
    tile = "!pto.tile_buf<vec, 32x32xi32>"
    use = f"    pto.texp ins(%t : {tile}) outs(%t : {tile})\n"
    head = f"module {{\n  func.func @k() {{\n    %t = pto.alloc_tile : {tile}\n"
    faults = faults_of(f"{head}{use}{use}    return\n  }}\n}}\n", "k.pto", Options())
    assert [(fault.slug, fault.location.begin_line) for fault in faults] == [
        ("element-type", 4),
        ("element-type", 5),
    ]


def read_by_xdsl(text: str) -> builtin.ModuleOp:
    """Parse with xDSL's own parser and the dialect, without our reader."""
    context = Context()
    for dialect in (builtin.Builtin, arith.Arith, func.Func, PTO):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def test_verifier_of_xdsl_knows_the_rules() -> None:
    """The ops verify themselves, for the target that the module names, or else for any."""
    path = Path(__file__).parent / "broken" / "add-of-bytes-on-a3.pto"
    text = path.read_text(encoding="utf-8")
    read_by_xdsl(text).verify()
    named = text.replace("module {", 'module attributes {pto.target_arch = "a3"} {')
    with pytest.raises(VerifyException, match=r"'pto.tadd' src0 has elements of i8.*element-type"):
        read_by_xdsl(named).verify()
    read_by_xdsl(named.replace('"a3"', '"A5"')).verify()


def test_printer_of_xdsl_prints_what_its_parser_reads() -> None:
    """The dialect's types, attributes and ops print themselves for xDSL's own printer."""
    tile, mask = "!pto.tile_buf<vec, 32x32xf32>", "!pto.tile_buf<vec, 32x32xui8, valid=32x4>"
    text = f"""
func.func @k(%p: !pto.ptr<f32>) {{
  %c = arith.constant 32 : index
  %v = pto.make_tensor_view %p, shape = [%c, %c], strides = [%c, %c] : !pto.tensor_view<?x?xf32>
  %t = pto.alloc_tile : {tile}
  %m = pto.alloc_tile : {mask}
  pto.tcmp ins(%t, %t {{cmpMode = #pto<cmp lt>}} : {tile}, {tile}) outs(%m : {mask})
  pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
  pto.tgather ins(%t, {{maskPattern = #pto.mask_pattern<P0101>}} : {tile}) outs(%t : {tile})
  return
}}
"""
    module = read_by_xdsl(text)
    assert str(read_by_xdsl(str(module))) == str(module)
    assert "{cmpMode = #pto<cmp lt>}" in str(module)


@pytest.mark.parametrize(
    "number",
    ["1.0e40 : f32", "-1.0e+40 : f32", "70000.0 : f16", "0x1FFFFFFFF : f32", "-129 : i8", "2 : i1"],
)
def test_a_number_beyond_its_type_is_shown_whole(number: str) -> None:
    """A constant out of its type's range is a fault at the number, sign included."""
    line = f"    %s = arith.constant {number}"
    text = f"module {{ func.func @k() {{\n{line}\n    return\n}} }}\n"
    [fault] = faults_of(text, "k.pto", Options())
    literal = number.partition(" :")[0]
    assert fault.message == f"{literal} is beyond the numbers of its type"
    place = fault.location
    assert (place.begin_line, place.begin_column) == (2, line.index(literal))
    assert place.end_column == place.begin_column + len(literal)


@pytest.mark.parametrize("number", ["65504.0 : f16", "255 : i8", "-128 : i8", "1.0e-60 : f32"])
def test_a_number_of_its_type_is_taken(number: str) -> None:
    """The largest number, the largest unsigned one, and what rounds to 0 are accepted."""
    text = f"module {{ func.func @k() {{\n    %s = arith.constant {number}\n    return\n}} }}\n"
    assert faults_of(text, "k.pto", Options()) == []
