"""Random programs mean the same, bit for bit, before and after every pass.

``python -m tests.passes.preservation [COUNT] [--on ray] [--keep FILE]`` draws COUNT programs (3,000
by default) and runs each with several arguments on the interpreter, as written and after each pass
of both strategies; and after the optional passes, each alone and all in sequence, followed by the
Default strategy. The last line counts programs, comparisons and differences. `tests.campaigns`
describes the options.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from pypto import ir
from pypto._src.errors import PyptoError
from pypto._src.passes.optimize.unroll_loops import UnrollLoops
from pypto._src.passes.pass_base import Pass
from pypto._src.passes.pass_manager import OPTIONAL, PassManager, optional_pass
from pypto._src.passes.run_verifier import RunVerifier
from pypto._src.passes.structure.convert_to_ssa import ConvertToSSA
from pypto._src.passes.structure.flatten_call_expr import FlattenCallExpr
from tests import campaigns
from tests.natively import assert_close
from tests.properties.programs import ALL_MAKERS, stages
from tests.properties.test_programs import COUNTS, results

MAKERS: dict[str, Callable[[], Pass]] = {name: partial(optional_pass, name) for name in OPTIONAL}
MAKERS["UnrollLoops"] = lambda: UnrollLoops(whole=3, factor=2)  # the drawn loops are short


def optimised(program: ir.Program) -> Iterator[tuple[str, ir.Program]]:
    """Yield the program after each optional pass on SSA form, alone and after the others."""
    program = FlattenCallExpr()(ConvertToSSA()(program))
    together = program
    for name, make in MAKERS.items():
        alone = make()(program)
        yield name, alone
        together = make()(together)
        yield f"... > {name}", together
        for after in (alone, together):
            RunVerifier()(after)
            assert not ir.IRVerifier.create_default().verify(after)
    yield "all, then Default", PassManager().run_passes(together)


def check(kind: str, seed: int) -> tuple[int, dict[str, int]]:
    """Compare one program; return the number of comparisons and the passes that changed it."""
    program = ALL_MAKERS[kind](Random(seed).randrange, 6 + seed % 20)
    wanted = results(program)
    compared = 0
    changed: dict[str, int] = {}
    for stage, after in [*stages(program), *optimised(program)]:
        for count, found, expected in zip(COUNTS, results(after), wanted, strict=True):
            for left, right in zip(found, expected, strict=True):
                assert_close(left, right, note=f"{kind} {seed}, n = {count} after {stage}")
                compared += 1
    before = FlattenCallExpr()(ConvertToSSA()(program))
    for name, make in MAKERS.items():
        changed[name] = int(make()(before) is not before)
    return compared, changed


def judged(number: int) -> dict[str, Any]:
    """Compare the program with this number; return the counts, or what differs."""
    kinds = list(ALL_MAKERS)
    try:
        compared, changed = check(kinds[number % len(kinds)], number)
    except (AssertionError, PyptoError) as error:
        return {"fault": str(error)}
    return {"compared": compared, "changed": changed}


def main() -> int:
    """Check programs, each kind in turn, and print the totals; return 1 if any differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=3000)
    campaigns.words(parser)
    args = parser.parse_args()
    total = checked = 0
    changed: dict[str, int] = {}
    faults: list[str] = []
    judge = "tests.passes.preservation:judged"
    for number, found in campaigns.outcomes(judge, range(args.count), args.on, args.keep):
        checked += 1
        fault = found.get("fault") or found.get("refused")
        if fault:
            faults.append(f"program {number}: {fault}")
            continue
        total += found["compared"]
        for name, hits in found["changed"].items():
            changed[name] = changed.get(name, 0) + hits
    listed = ", ".join(f"{name} {hits}" for name, hits in changed.items())
    print(f"programs changed by optional passes alone: {listed}")
    for fault in faults:
        print(fault)
    print(f"{checked} programs, {total} arrays compared, {len(faults)} differences")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
