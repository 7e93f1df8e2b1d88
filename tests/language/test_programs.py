"""Random programs with regions; `python -m tests.language.programs` checks thousands of them."""

from __future__ import annotations

import numpy as np

from tests.language import numpy_regions
from tests.language.draw import drawn
from tests.language.programs import checked, fault_of, shrunk
from tests.natively import compiler


def test_drawn_programs() -> None:
    """NumPy, interpreter, all passes, C++ and PTO agree; texts round-trip; flags are right."""
    compiler()
    assert checked(21, range(4)) == [(number, None) for number in range(4)]


def test_all_constructs_are_drawn() -> None:
    """Each construct is in several programs, and a program depends on its seed alone."""
    texts = [drawn(f"7 {number}").source for number in range(300)]
    assert texts[5] == drawn("7 5").source
    wanted = [
        "with pl.at(",
        " in pl.spmd(",
        "with pl.spmd(",
        "get_block_idx()",
        "with pl.manual_scope():",
        "deps=[",
        "pl.range(",
        "pl.parallel(",
        "pl.pipeline(",
        "pl.unroll(",
        "while ",
        "elif ",
        "break",
        "pl.split_aiv(",
        "pl.create_tensor(",
        "init_value=0",
        "pl.reshape(",
        "valid_shape=",
        "pl.set_validshape(",
        "pl.matmul(",
        "pl.matmul_acc(",
        "a_trans=True",
        "init_cond=",
        "atomic=pl.AtomicType.Add",
        "pl.write(",
        "pl.read(",
        "pl.cmp(",
        "pl.row_sum(",
        "col_expand_",
        "@pl.jit.inline",
        "bind_dynamic(",
        "FACTORS[",
        "+= ",
    ]
    assert {text: sum(text in each for each in texts) >= 5 for text in wanted} == dict.fromkeys(
        wanted, True
    )


def test_a_value_with_two_names() -> None:
    """A value that NumPy changed in place would have changed under both names."""
    source = """\
def entry(x, o):
    with pl.at(level=pl.Level.CORE_GROUP):
        one = pl.neg(x)
        other = one
        other -= pl.full([2, 8], dtype=pl.FP32, value=1.0)
        o[:] = pl.sub(one, other)
"""
    x, found = np.ones((2, 8), np.float32), np.zeros((2, 8), np.float32)
    numpy_regions.run(source, [x, found], "entry")
    assert (found == 1).all()


def test_what_fails_is_made_small() -> None:
    """A rejected program is reduced to the rejected statement and what it needs."""
    program = next(
        p for p in (drawn(f"9 {number}") for number in range(20)) if len(p.source) > 4000
    )
    line = "    with pl.at(level=pl.Level.CORE_GROUP):\n"
    line += "        o[:] = pl.neg(2.0 / pl.abs(x))\n"
    broken = program._replace(source=program.source.replace("    return o", f"{line}    return o"))
    fault = fault_of(broken, "refused")
    assert fault is not None
    assert fault.step == "refused"
    small = shrunk(broken, fault.kind, seconds=3600).source
    body = small[small.index("):\n", small.index("def drawn(")) :].strip().split("\n")
    assert [each.strip() for each in body if each.strip()] == [
        "):",
        "with pl.at(level=pl.Level.CORE_GROUP):",
        "o[:] = 2.0 / pl.abs(x)",
    ]
