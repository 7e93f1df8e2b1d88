"""Texts that PyPTO emits are accepted, and re-printed identically by the dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from random import Random

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.commands.example_cases import Case, cases, examples_directory
from pypto._src.dialect.evaluate import evaluate
from pypto._src.dialect.printer import print_source
from pypto._src.dialect.reader import Source, parse
from pypto._src.dialect.verify import check, find_faults, options_of
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import ParserSyntaxError
from pypto._src.interp.evaluate import Evaluator
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from tests import effort
from tests.dialect.recorded import verdicts
from tests.emit.pto_texts import kernel_texts
from tests.passes.build import random_kernel
from tests.properties.kernels import random_matrix_source, random_source
from tests.properties.test_programs import COUNTS, arguments, main, tensors

BUILT = dict(kernel_texts())


@cache
def examples() -> list[Case]:
    directory = examples_directory()
    assert directory is not None
    return cases(directory)


def emitted(program: ir.Program) -> Iterator[str]:
    """Yield the text of a program at level 3 and at level 2."""
    for strategy in OptimizationStrategy:
        yield PTOCodegen().generate(PassManager.get_strategy(strategy).run_passes(program))


def check_text(text: str, name: str) -> Source:
    """Assert that a text is accepted for both targets and re-prints identically."""
    source = check(text, name, options_of(text, "a3"))
    assert find_faults(source.module, options_of(text, "a5")) == []
    assert print_source(source) == text
    return source


@pytest.mark.parametrize("path", BUILT)
def test_built_kernels(path: str) -> None:
    """Texts of kernels built by hand are accepted for both targets, and re-print identically."""
    check_text(BUILT[path], path)


def test_a_type_is_read_once() -> None:
    """A type's text that is repeated gives the same object; a wrong one is rejected again."""
    text = BUILT["kernels/elementwise.pto"]
    found = [kind for op in parse(text).module.walk() for kind in op.result_types]
    tiles = [kind for kind in found if "tile_buf" in str(kind)]
    assert len({id(kind) for kind in tiles}) == len(set(map(str, tiles))) < len(tiles)
    wrong = "module {\n  func.func @f(%a: !pto.ptr<f32>, %b: !pto.ptr<x>) {\n    return\n  }\n}\n"
    with pytest.raises(ParserSyntaxError) as caught:
        parse(wrong)
    assert caught.value.location.begin_line == 2


def test_examples() -> None:
    """So are those of the examples, at level 2 and level 3."""
    assert len(examples()) >= 5
    for case in examples():
        for text in emitted(case.program):
            check_text(text, case.name)


def _built(random: Random) -> ir.Program:
    function = random_kernel(random.randrange, 8)
    return ir.Program([function], "built", entry=function.name)


def _written(random: Random) -> ir.Program:
    return pl.parse_program(random_source(random.randrange, 8))


def _multiplied(random: Random) -> ir.Program:
    return pl.parse_program(random_matrix_source(random.randrange, 8))


@pytest.mark.parametrize(
    ("make", "count"),
    [(_built, 440), (_written, 32), (_multiplied, 32)],
    ids=["built", "written", "multiplied"],
)
def test_random_programs(make: Callable[[Random], ir.Program], count: int) -> None:
    """So are those of random programs, with the same meaning; for one strategy each."""
    strategies = list(OptimizationStrategy)
    for seed in range(effort.count(count // 4, thorough_run=count)):
        manager = PassManager.get_strategy(strategies[seed % len(strategies)])
        program = make(Random(seed))
        source = check_text(PTOCodegen().generate(manager.run_passes(program)), f"{seed}.pto")
        function = main(program)
        wanted, found = (arguments(function, COUNTS[seed % len(COUNTS)]) for _ in range(2))
        Evaluator(program).call(function.name, wanted)
        evaluate(source, function.name, found)
        for one, other in zip(tensors(found), tensors(wanted), strict=True):
            np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8), f"seed {seed}")


def test_any_text_reprints_to_a_text_that_stays() -> None:
    """The printed form of a recorded text parses, and is printed identically again."""
    count = 0
    for verdict in verdicts()[::8]:
        try:
            printed = print_source(parse(verdict.text))
        except ParserSyntaxError:
            continue
        assert print_source(parse(printed)) == printed
        count += 1
    assert count > 500


def test_names_comments_and_literals_are_kept() -> None:
    """Numeric names, groups of results, comments, blank lines and literals are kept."""
    text = """\
// a kernel
module attributes {pto.target_arch = "a3"} {
  func.func @k(%p: !pto.ptr<f32>,
              %n: index) attributes {pto.entry} {
    // numbers
    %7 = arith.constant 0.1 : f32
    %c = arith.constant 1.000000e-05 : f32

    %r:2 = scf.for %i = %n to %n step %n iter_args(%a = %7, %b = %c) -> (f32, f32) {
      scf.yield %a, %b : f32, f32
    }
    pto.store_scalar %r#1, %p[%n] : !pto.ptr<f32>, f32
    return
  }

  func.func private @twice(%x: i32) -> i32 {
    %y = arith.addi %x, %x : i32
    return %y : i32
  }
}
"""
    assert print_source(parse(text)) == text


def test_locations_are_kept() -> None:
    """The source location of an op, a loop or a function is kept after it."""
    text = """\
module {
  func.func @k(%n: index) {
    scf.for %i = %n to %n step %n {
      %a = arith.addi %i, %n : index loc("kernel.py":7:12)
    } loc("kernel.py":6:4)
    return loc(unknown)
  } loc("kernel.py":5:0)
}
"""
    assert print_source(parse(text)) == text.replace(" loc(unknown)", "")


def test_short_types_are_printed_long() -> None:
    """The short form of a tile type, with its fields in any order, equals the long one."""
    short = "!pto.tile_buf<vec, 32x16xf16, pad=2, valid=?x8, blayout=col_major>"
    source = parse(f"func.func @k(%t: {short}) {{\n  return\n}}\n")
    assert (
        "!pto.tile_buf<loc=vec, dtype=f16, rows=32, cols=16, v_row=?, v_col=8, blayout=col_major, "
        "slayout=none_box, fractal=512, pad=2>"
    ) in print_source(source)


def test_long_functions_are_read() -> None:
    """Ten thousand ops, each on the previous result, are parsed, verified and printed."""
    lines = [f"    %c{i + 1} = arith.addi %c{i}, %c0 : i32\n" for i in range(10_000)]
    head = "module {\n  func.func @k(%c0: i32) {\n"
    text = f"{head}{''.join(lines)}    return\n  }}\n}}\n"
    assert print_source(check(text, "long.pto")) == text


def test_deep_nesting_is_an_error_with_a_place() -> None:
    """A thousand nested branches are rejected, without a traceback from the parser."""
    depth = 1000
    text = f"func.func @k(%b: i1) {{\n{'scf.if %b {' * depth}{'}' * depth}\nreturn\n}}\n"
    with pytest.raises(ParserSyntaxError, match="nested too deeply"):
        parse(text)
