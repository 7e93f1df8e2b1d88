"""While loops around branches, carried 16-bit floats and sub-tiles of reshapes are rejected.

Each text is assembled from parts, so that the accepted neighbours of a rejected one are tested.
"""

from __future__ import annotations

import pytest

from pypto._src.dialect.verify import Options, faults_of

IF = """\
    scf.if %t {
      pto.tadds ins(%a, %x : !T, f32) outs(%a : !T)
    }
"""
IF_ELSE = """\
    %v = scf.if %t -> (index) {
      scf.yield %n : index
    } else {
      scf.yield %c0 : index
    }
"""
FOR = """\
    scf.for %j = %c0 to %n step %c1 {
      pto.tadds ins(%a, %x : !T, f32) outs(%a : !T)
    }
"""
OP = "    pto.tadds ins(%a, %x : !T, f32) outs(%a : !T)\n"
names = iter(range(1000))


def loop(body: str) -> str:
    """Return a while loop that carries an index."""
    n = next(names)
    return f"""\
    %r{n} = scf.while (%p{n} = %n) : (index) -> (index) {{
      %m{n} = arith.cmpi sgt, %p{n}, %c0 : index
      scf.condition(%m{n}) %p{n} : index
    }} do {{
    ^bb0(%q{n}: index):
{body}      %s{n} = arith.subi %q{n}, %c1 : index
      scf.yield %s{n} : index
    }}
"""


def bare(body: str) -> str:
    """Return a while loop that carries nothing."""
    head = "    scf.while : () -> () {\n      scf.condition(%t)\n    } do {\n"
    return f"{head}{body}      scf.yield\n    }}\n"


def within_for(body: str) -> str:
    """Return a counted loop."""
    return f"    scf.for %i{next(names)} = %c0 to %n step %c1 {{\n{body}    }}\n"


def within_if(body: str) -> str:
    """Return a branch."""
    return f"    scf.if %t {{\n{body}    }}\n"


def within_else(body: str) -> str:
    """Return a branch with a body in its else."""
    return f"    scf.if %t {{\n{OP}    }} else {{\n{body}    }}\n"


def renamed(body: str) -> str:
    """Return a copy of a body with fresh names."""
    n = next(names)
    return body.replace("%v", f"%v{n}_").replace("%j", f"%j{n}_")


def hand_on(kind: str, form: str) -> str:
    """Return a loop or branch that yields a value of a type."""
    x = f"%x{kind}"
    if form == "for":
        return (
            f"    %h = scf.for %j = %c0 to %n step %c1 iter_args(%g = {x}) -> ({kind}) {{\n"
            f"      scf.yield %g : {kind}\n    }}\n"
        )
    if form == "two":
        return (
            "    %h:2 = scf.for %j = %c0 to %n step %c1 "
            f"iter_args(%f = %x, %g = {x}) -> (f32, {kind}) {{\n"
            f"      scf.yield %f, %g : f32, {kind}\n    }}\n"
        )
    return (
        f"    %h = scf.if %t -> ({kind}) {{\n      scf.yield {x} : {kind}\n    }} else {{\n"
        f"      scf.yield {x} : {kind}\n    }}\n"
    )


R = "!pto.tile_buf<vec, 32x32xf32>"
RESHAPE = f"    %w = pto.treshape %a : !T -> {R}\n"
PART = f"    %k = pto.subset %w[%c0, %c0] sizes [8, 32] : {R}\n"

WHILES = {
    "a for around a while with an if": within_for(loop(IF)),
    "a for around a while with an else": within_for(loop(IF_ELSE)),
    "a for around a while with a for": within_for(loop(FOR)),
    "an if around a while with an if": within_if(loop(IF)),
    "an if around a while with a for": within_if(loop(FOR)),
    "an else around a while with an if": within_else(loop(IF)),
    "an else around a while with a for": within_else(loop(FOR)),
    "a while around a while with an if": loop(loop(IF)),
    "a while around a while with a for": loop(loop(FOR)),
    "a while with an if and a while": loop(IF + loop(OP)),
    "a while with a while and a for": loop(loop(OP) + FOR),
    "a while with a while in an if": loop(within_if(loop(OP))),
    "a while with a while in a for": loop(within_for(loop(OP))),
    "three deep": loop(loop(loop(IF))),
    "two fors around a while with an if": within_for(within_for(loop(IF))),
    "a for around a bare while with an if": within_for(bare(IF)),
    "a bare while with an if and a while": bare(IF + loop(OP)),
    "an if in a for in a while in a for": within_for(loop(within_for(IF))),
}
HALVES = {
    f"{form} of {kind}": hand_on(kind, form)
    for kind in ("f16", "bf16")
    for form in ("for", "if", "two")
}
HALVES["a half in a for in an if"] = within_if(hand_on("f16", "for"))
HALVES["a half in an if in a for"] = within_for(hand_on("bf16", "if"))
PARTS = {
    "a part": RESHAPE + PART,
    "a part in a loop": RESHAPE + within_for(PART),
    "a reshape and a part in a branch": within_if(RESHAPE + PART),
    "one of two parts": RESHAPE + "    %l = pto.subset %a[%c0, %c0] sizes [8, 64] : !T\n" + PART,
}
REFUSED = [
    *(("while-body", name, text) for name, text in WHILES.items()),
    *(("carried-half", name, text) for name, text in HALVES.items()),
    *(("part-of-reshape", name, text) for name, text in PARTS.items()),
]
ACCEPTED = {
    "a while with an if": loop(IF),
    "a while with a for and an else": loop(FOR + IF_ELSE),
    "a while with an if in a for": loop(within_for(IF)),
    "whiles three deep": loop(loop(loop(OP))),
    "a for around a while": within_for(loop(OP)),
    "an if around whiles": within_if(loop(loop(OP))),
    "whiles one after the other": loop(IF) + loop(renamed(IF_ELSE)),
    "floats": hand_on("f32", "for"),
    "floats of a branch": hand_on("f32", "if"),
    "a reshape of a part": "    %k = pto.subset %a[%c0, %c0] sizes [8, 64] : !T\n"
    "    %w = pto.treshape %k : !pto.tile_buf<vec, 8x64xf32> -> !pto.tile_buf<vec, 16x32xf32>\n",
}


def whole(body: str) -> str:
    """Return a module with a function with this body."""
    text = f"""\
module {{
  func.func @k(%n: index, %x: f32, %xf16: f16, %xbf16: bf16) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = arith.cmpi sgt, %n, %c0 : index
    %a = pto.alloc_tile : !T
{body.replace("%xf32", "%x")}    return
  }}
}}
"""
    return text.replace("!T", "!pto.tile_buf<vec, 16x64xf32>")


@pytest.mark.parametrize(
    ("rule", "text"), [(rule, text) for rule, _, text in REFUSED], ids=[n for _, n, _ in REFUSED]
)
def test_refused(rule: str, text: str) -> None:
    """A text that the assembler rejects is rejected by the named rule, and only by it."""
    faults = faults_of(whole(text), "text.pto", Options())
    assert {fault.slug for fault in faults} == {rule}, whole(text)


def test_there_are_thirty() -> None:
    """This many forms are rejected."""
    assert len(REFUSED) >= 30


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(text: str) -> None:
    """Similar forms are accepted."""
    assert [str(fault) for fault in faults_of(whole(text), "text.pto", Options())] == []
