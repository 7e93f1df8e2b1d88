"""What the sync checker reports about kernels with hand-written flags.

A file in ``findings`` has a title, a ``python`` block, which is a whole file called kernel.py, and
a ``text`` block: the report of the kernel after the passes, one finding after another.
``--update-golden`` rewrites the reports. A line ``flags: source`` selects the other reading of
what distinguishes two flags.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pypto.language as pl
from pypto import passes
from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, render
from pypto._src.errors import CallError
from pypto._src.ir.exprs import Call
from pypto._src.ir.stmts import Function, Program
from pypto._src.passes.memory.init_mem_ref import with_memrefs
from pypto._src.passes.pass_manager import PassManager
from pypto._src.passes.sync import checker_reports
from pypto._src.passes.sync.checker import FlagIdentity, check_sync
from pypto._src.passes.sync.insert_sync import with_sync
from tests.case_files import parts
from tests.passes.build import Block, tensor

FILES = sorted(Path(__file__).parent.joinpath("findings").glob("*.md"))


class Case(NamedTuple):
    """One file, split into its parts."""

    code: str
    text: str
    identity: FlagIdentity


def read(path: Path) -> Case:
    words, code, text = parts(path)
    source = re.search(r"^flags: source$", words, re.MULTILINE) is not None
    return Case(code, text, FlagIdentity.SOURCE if source else FlagIdentity.PAIR)


@contextmanager
def shown_as_kernel(code: str) -> Generator[None]:
    """Make reports quote ``code`` as the file kernel.py."""
    linecache.cache["kernel.py"] = (len(code), None, code.splitlines(keepends=True), "kernel.py")
    try:
        yield
    finally:
        linecache.cache.pop("kernel.py", None)


def compiled(code: str) -> Program:
    """Return the program of ``code`` after the passes."""
    with shown_as_kernel(code):
        names: dict[str, Any] = {"__name__": "kernel"}
        exec(compile(code, "kernel.py", "exec"), names)
        [program] = [value for value in names.values() if isinstance(value, Program | Function)]
        whole = Program([program], program.name) if isinstance(program, Function) else program
        return PassManager().run_passes(whole)


def findings(code: str, identity: FlagIdentity = FlagIdentity.PAIR) -> list[Diagnostic]:
    program = compiled(code)
    with shown_as_kernel(code):
        return check_sync(program, identity=identity)


def errors(code: str) -> list[Diagnostic]:
    return [d for d in findings(code) if d.severity is DiagnosticSeverity.Error]


def report(code: str, identity: FlagIdentity = FlagIdentity.PAIR) -> str:
    """Return the findings as shown to users; "none" if there are none."""
    found = findings(code, identity)
    with shown_as_kernel(code):
        return "\n\n".join(render(each) for each in found) or "none"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_report(path: Path, request: pytest.FixtureRequest) -> None:
    """The report is exactly the one in the file."""
    case = read(path)
    found = report(case.code, case.identity) + "\n"
    if request.config.getoption("--update-golden"):
        text = path.read_text(encoding="utf-8")
        begin = text.index("```text\n") + len("```text\n")
        path.write_text(text[:begin] + found + "```\n", encoding="utf-8")
        return
    assert found == case.text


def test_every_rule_has_a_report() -> None:
    """Each rule named in the checker's documentation is shown by a file."""
    rules = set(re.findall(r"``(sync-[a-z-]+)``", check_sync.__doc__ or ""))
    shown = {rule for path in FILES for rule in re.findall(r"\[(sync-[a-z-]+)\]", read(path).text)}
    # A flag that does not exist cannot be written in source: the op itself rejects it.
    assert sorted(rules - {"sync-flag"}) == sorted(shown)
    assert len(rules) == 8


# --------------------------------------------------------------------------------------------
# Hints
# --------------------------------------------------------------------------------------------

HEAD = """\
import pypto.language as pl


@pl.function(type=pl.FunctionType.InCore)
def kernel(
    x: pl.Tensor[[64, 128], pl.FP32],
    n: pl.Scalar[pl.INT64],
    out: pl.InOut[pl.Tensor[[64, 128], pl.FP32]],
):
"""


def kernel(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines)


def flag(op: str, source: str, target: str, event: int = 0) -> str:
    pipes = f"set_pipe=pl.PipeType.{source}, wait_pipe=pl.PipeType.{target}"
    return f"pl.system.{op}({pipes}, event_id={event})"


def sets(source: str, target: str, event: int = 0) -> str:
    return flag("sync_src", source, target, event)


def waits(source: str, target: str, event: int = 0) -> str:
    return flag("sync_dst", source, target, event)


BODY = (
    "a = pl.load(x, [0, 0], [16, 128])",
    "b = pl.add(a, 1.0)",
    "pl.store(b, [0, 0], [16, 128], out)",
    "pl.system.bar_all()",
)
LOOP = (
    "for i in pl.range(4):",
    "    a = pl.load(x, [i * 16, 0], [16, 128])",
    "    b = pl.add(a, 1.0)",
    "    pl.store(b, [i * 16, 0], [16, 128], out)",
    "pl.system.bar_all()",
)
_PLACED = re.compile(r"(pl\.system\.\w+\(.*?\)) (after|before|at the end of) ([^,]+)(?:, |$)")


_NAMED = re.compile(r"write (\w+) = (.+) on a line before, and \1 here")


def typed(code: str, hint: str) -> str:
    """Return ``code`` after the edit that a hint suggests, at the line it suggests."""
    lines = code.splitlines()
    named = _NAMED.fullmatch(hint)
    if named is not None:
        number = next(i for i, line in enumerate(lines) if named[2] in line)
        line = lines[number]
        indent = line[: len(line) - len(line.lstrip())]
        lines[number] = line.replace(named[2], named[1], 1)
        lines.insert(number, f"{indent}{named[1]} = {named[2]}")
        return "\n".join(lines) + "\n"
    inserts: list[tuple[int, str]] = []
    for text, word, where in _PLACED.findall(hint):
        if word == "at the end of":
            place = next(i for i, line in enumerate(lines) if line.strip().startswith("for")) + 4
            inserts.append((place, " " * 8 + text))
            continue
        number = int(re.findall(r"line (\d+)", where)[0])
        line = lines[number - 1]
        indent = " " * (len(line) - len(line.lstrip()))
        inserts.append((number - (word == "before"), indent + text))
    assert inserts, hint
    inserts.reverse()
    for place, text in sorted(inserts, key=lambda insert: -insert[0]):
        lines.insert(place, text)
    return "\n".join(lines) + "\n"


LINE = (
    "pl.store(pl.add(pl.load(x, [0, 0], [16, 128]), pl.load(x, [16, 0], [16, 128])), "
    "[0, 0], [16, 128], out)",
    "pl.system.bar_all()",
)


@pytest.mark.parametrize("lines", [BODY, LOOP, LINE], ids=["straight", "loop", "one-line"])
def test_following_the_hints_mends_a_kernel(lines: Sequence[str]) -> None:
    """Applying the first finding's hint repeatedly soon ends with no findings."""
    code = kernel(*lines)
    for _ in range(8):
        found = errors(code)
        if not found:
            return
        assert found[0].hint is not None
        code = typed(code, found[0].hint)
    pytest.fail("there are still findings:\n" + code)


@pytest.mark.parametrize("in_loop", [False, True], ids=["straight", "loop"])
def test_following_the_hint_of_an_event_used_again(in_loop: bool) -> None:
    """Another event where the flag is raised once; in loops, a barrier: events are shared."""
    again = [sets("MTE2", "V"), waits("MTE2", "V")]
    lines = ["for i in pl.range(4):", *(f"    {line}" for line in again)] if in_loop else again * 2
    code = kernel(*lines, "pl.system.bar_all()")
    [found] = findings(code)
    assert found.rule_name == "sync-overtake"
    assert found.hint is not None
    if in_loop:
        assert found.hint == "pl.system.bar_all() before line 11"
        code = typed(code, found.hint)
    else:
        assert found.hint == "use event 1 here and where it is waited for"
        old = "".join(f"    {line}\n" for line in again)
        code = code.replace(old * 2, old + old.replace("event_id=0", "event_id=1"))
    assert findings(code) == []


def test_findings_need_no_source() -> None:
    """Kernels built without source lines get a hint without line numbers."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    a = block.load("a", x, [0, 0], [8, 128])
    block.store("o", a, [0, 0], out)
    block.do("system.bar_all")
    [finding] = check_sync(with_memrefs(block.function([x, out], [out])))
    assert finding.rule_name == "sync-race"
    assert finding.hint == (
        "pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.MTE3, event_id=0) "
        "after line 1, pl.system.sync_dst(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.MTE3, "
        "event_id=0) before line 2"
    )


# --------------------------------------------------------------------------------------------
# Paths through a kernel
# --------------------------------------------------------------------------------------------


def rules(*lines: str) -> list[str]:
    """Return the rules that a kernel of these lines breaks, each once, without warnings."""
    return list(dict.fromkeys(d.rule_name for d in errors(kernel(*lines))))


def double_buffered(*, prime: Sequence[int] = (0, 1), trips: str = "n") -> list[str]:
    """Return the lines of a loop that alternates two tiles by iteration, loading and storing."""
    arms: list[str] = []
    for slot in (0, 1):
        arms += [
            f"    {'if i % 2 == 0' if slot == 0 else 'else'}:",
            f"        {waits('MTE3', 'MTE2', slot)}",
            f"        t{slot} = pl.load(x, [0, 0], [16, 128])",
            f"        {sets('MTE2', 'MTE3', slot)}",
            f"        {waits('MTE2', 'MTE3', slot)}",
            f"        pl.store(t{slot}, [{slot * 16}, 0], [16, 128], out)",
            "        pl.system.bar_all()",
            f"        {sets('MTE3', 'MTE2', slot)}",
        ]
    return [
        *(sets("MTE3", "MTE2", slot) for slot in prime),
        f"for i in pl.range({trips}):",
        *arms,
        *(waits("MTE3", "MTE2", slot) for slot in (0, 1)),
        "pl.system.bar_all()",
    ]


def test_double_buffers() -> None:
    """Two alternating tiles, each with its own pair of events, primed before and drained after."""
    assert rules(*double_buffered()) == []
    assert rules(*double_buffered(prime=(0,))) == ["sync-deadlock"]


def handed_over(trips: str) -> list[str]:
    """Return a loop in which each iteration raises the flag that the next one waits for."""
    return [
        sets("MTE2", "V", 0),
        f"for i in pl.range({trips}):",
        "    if i % 2 == 0:",
        f"        {waits('MTE2', 'V', 0)}",
        f"        {sets('MTE2', 'V', 1)}",
        "    else:",
        f"        {waits('MTE2', 'V', 1)}",
        f"        {sets('MTE2', 'V', 0)}",
    ]


def test_iterations_are_told_apart_by_remainder() -> None:
    """The flag that is up after the loop is selected by the parity of the trip count."""
    end = "pl.system.bar_all()"
    assert rules(*handed_over("6"), waits("MTE2", "V", 0), end) == []
    assert rules(*handed_over("7"), waits("MTE2", "V", 1), end) == []
    assert rules(*handed_over("7"), waits("MTE2", "V", 0), end) == ["sync-deadlock", "sync-leak"]
    assert rules(*handed_over("n"), waits("MTE2", "V", 0), end) == ["sync-deadlock", "sync-leak"]


@pytest.mark.parametrize(
    ("first", "later", "found"),
    [
        ("i == 0", "i > 0", []),
        ("i == 0", "i >= 2", ["sync-deadlock"]),
        ("i < 1", "0 < i", []),
        ("i + 1 < n", "i + 1 < n", []),
    ],
)
def test_first_and_last_iterations_are_told_apart(first: str, later: str, found: list[str]) -> None:
    """A flag that the first iteration raises, and a later or the same iteration waits for."""
    lines = [
        "for i in pl.range(n):",
        f"    if {first}:",
        f"        {sets('MTE2', 'V')}",
        f"    if {later}:",
        f"        {waits('MTE2', 'V')}",
    ]
    got = rules(*lines, "pl.system.bar_all()")
    if first == "i + 1 < n":
        assert got == found
    elif later == "i >= 2":
        assert "sync-deadlock" in got
    else:
        # The second iteration takes the flag, the third waits forever.
        assert got == ["sync-deadlock", "sync-leak"]


def test_prefetch_of_all_but_the_last_iteration() -> None:
    """The flag for the next iteration is not set in the last iteration."""
    lines = [
        sets("MTE2", "V"),
        "for i in pl.range(1, 5):",
        f"    {waits('MTE2', 'V')}",
        "    if i + 1 < 5:",
        f"        {sets('MTE2', 'V')}",
        "pl.system.bar_all()",
    ]
    assert rules(*lines) == []
    assert rules(*[line.replace("i + 1 < 5", "i + 1 < 6") for line in lines]) == ["sync-leak"]


def test_equal_conditions_go_together() -> None:
    """A flag raised under a condition may be waited for under the same one, but no other."""
    lines = [
        "if n > 2:",
        f"    {sets('MTE2', 'V')}",
        "a = pl.full([16, 128], pl.FP32, 1.0)",
        "if n > 2:",
        f"    {waits('MTE2', 'V')}",
        "pl.system.bar_all()",
    ]
    assert rules(*lines) == []
    other = [*lines[:3], "if n > 3:", *lines[4:]]
    assert rules(*other) == ["sync-deadlock", "sync-leak"]


def test_a_loop_that_may_not_run_leaves_its_flag_down() -> None:
    """A set in a loop matches a wait after it only if the loop runs exactly once."""
    lines = [
        "for i in pl.range({}):",
        f"    {sets('MTE2', 'V')}",
        waits("MTE2", "V"),
        "pl.system.bar_all()",
    ]
    assert rules(*[line.format("1") for line in lines]) == []
    assert rules(*[line.format("0") for line in lines]) == ["sync-deadlock"]
    assert rules(*[line.format("2") for line in lines]) == ["sync-double-set", "sync-leak"]
    found = ["sync-double-set", "sync-deadlock", "sync-leak"]
    assert rules(*[line.format("n") for line in lines]) == found


def test_deep_loops_are_followed_to_the_end() -> None:
    """What the innermost of three loops leaves pending is found in the outermost's next pass."""
    lines = [
        "for i in pl.range(n):",
        "    a = pl.load(x, [0, 0], [16, 128])",
        f"    {sets('MTE2', 'V')}",
        f"    {waits('MTE2', 'V')}",
        "    for j in pl.range(n):",
        "        for k in pl.range(n):",
        "            b = pl.add(a, 1.0)",
        "pl.system.bar_all()",
    ]
    races = [d.message for d in findings(kernel(*lines)) if "race: pl.load" in d.message]
    assert races == [
        "WAR race: pl.load on MTE2 writes what pl.add on V reads in the iteration before, and "
        "nothing makes MTE2 wait",
        "WAW race: pl.load on MTE2 writes what pl.load on MTE2 writes in the iteration before, "
        "and nothing makes MTE2 wait",
    ]


# --------------------------------------------------------------------------------------------
# Size, and the public name
# --------------------------------------------------------------------------------------------


def test_twenty_thousand_statements() -> None:
    """A kernel of this size is checked completely: removing a flag at its end is always found."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    last = out
    for i in range(5000):
        a = block.load(f"a{i}", x, [0, 0], [8, 128])
        b = block.let(f"b{i}", "block.neg", a)
        c = block.let(f"c{i}", "block.add", a, b)
        if i % 100 == 99:
            last = block.store(f"o{i}", c, [0, 0], last)
    function, report_ = with_sync(with_memrefs(block.function([x, out], [last])))
    assert report_.flags > 5000
    assert check_sync(function) == []
    assert report_.acknowledgements == 50 * 12  # of V: whenever 8 of 100 loads are in flight


def test_programs_before_the_passes_are_refused() -> None:
    """Without memory references there is nothing to check: the error says which pass to run."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    block.load("a", x, [0, 0], [8, 128])
    program = Program([block.function([x, out], [out])], "p")
    with pytest.raises(ValueError, match="a has no memory reference") as caught:
        check_sync(program)
    assert "run passes.init_mem_ref() first" in str(caught.value.__notes__)


@pytest.mark.parametrize("check", ["check_sync", "check_uninitialized", "check_parallel"])
def test_what_is_no_program(check: str) -> None:
    """Each check says what it expects, as the passes do, not that an attribute is missing."""
    with pytest.raises(CallError) as caught:
        getattr(passes, check)(3)
    assert caught.value.message == f"passes.{check} takes a program, got an int"
    assert caught.value.slug == "no-program"


def test_a_condition_in_a_condition_in_a_condition() -> None:
    """Conditions that use another one twice, repeatedly, and one that is nested very deeply."""
    block = [
        "if c:",
        f"    {sets('MTE2', 'V')}",
        "a = pl.full([16, 128], pl.FP32, 1.0)",
        "if c:",
        f"    {waits('MTE2', 'V')}",
        "pl.system.bar_all()",
    ]
    twice = ["c = n > 2", *["c = (c and n > 3) or (c and n > 4)"] * 60]
    deep = ["c = n > 2", *["c = c and n > 3"] * 1500]
    for made in (twice, deep):
        assert rules(*made, *block) == ["sync-deadlock", "sync-leak"]
        never = [made[0].replace("n > 2", "n != n"), *made[1:]]
        assert rules(*never, *block) == []
        alternately = ["for i in pl.range(5):", *[f"    {line}" for line in (*made, *block)]]
        asked = [line.replace("n > ", "i > 10 + ") for line in alternately]
        assert rules(*asked) == []


ALIASED = """
import pypto.language as pl

@pl.program
class Twice:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[8, 8], pl.FP32], out: pl.InOut[pl.Tensor[[8, 8], pl.FP32]]):
        LINES
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.InOut[pl.Tensor[[8, 8], pl.FP32]]):
        return self.k(x, x)
"""


def test_very_many_races_by_an_alias(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pair of rows races; each row is reported once, and its name looked up once."""
    lines = [
        line
        for i in range(20)
        for line in (
            f"t{i} = pl.load(x, [0, 0], [1, 8])",
            sets("MTE2", "MTE3"),
            waits("MTE2", "MTE3"),
            f"out = pl.store(t{i}, [0, 0], [1, 8], out)",
        )
    ]
    program = pl.parse(ALIASED.replace("LINES", "\n        ".join(lines)))
    assert isinstance(program, Program)
    lowered = PassManager.get_strategy().run_passes(program)
    asked: list[object] = []

    def called(call: Call) -> str:
        asked.append(call)
        return str(call.op.name)

    monkeypatch.setattr(checker_reports, "user_call", called)
    races = [d for d in check_sync(lowered) if d.rule_name == "sync-race"]
    assert len(races) == 2 * 19  # one per row, with those of the earlier rows
    assert sum(1 + int((d.note or "0").split()[0]) for d in races) == 2 * 190
    of_alias = [d for d in races if "x and out are one tensor" in d.message]
    assert len(of_alias) == 19
    assert (of_alias[1].note, of_alias[-1].note) == (
        "1 more statement races with it on MTE3",
        "18 more statements race with it on MTE3",
    )
    assert len(asked) <= 2 * 20 + 20  # the stores of both runs, and the loads of the second


def test_the_public_names() -> None:
    """The checker is in `pypto.passes`, with the two readings of a flag's identity."""
    assert passes.check_sync is check_sync
    assert [identity.value for identity in passes.FlagIdentity] == ["pair", "source"]
