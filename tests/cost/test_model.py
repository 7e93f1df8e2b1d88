"""The cost model: predictions follow the formulas, for every possible case."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto._src.cost.cases import Case, case_of
from pypto._src.cost.formulas import FORMULAS, elementwise_repeats
from pypto._src.cost.model import CostModel
from pypto._src.cost.tables import TARGETS, load_table, read_table, to_toml
from pypto._src.errors import PyptoError


def cycles(instruction: str, dtype: str, rows: int, cols: int, **extra: str) -> float:
    """Return the prediction for a whole tile on the 910B."""
    case = Case(instruction, dtype, dtype, (rows, cols), extra=extra)
    return CostModel(load_table("a2a3")).timing(case).alone


def test_repeats_of_whole_and_partial_tiles() -> None:
    """A contiguous tile is one long row; narrow rows with a gap take a masked repeat each."""
    whole = Case("TADDS", "fp32", "fp32", (64, 128))
    assert elementwise_repeats(whole) == (128, False)
    gap = Case("TADDS", "fp32", "fp32", (64, 64), (64, 32))
    assert elementwise_repeats(gap) == (64, True)
    ragged = Case("TADDS", "fp32", "fp32", (3, 80))
    assert elementwise_repeats(ragged) == (4, True)  # 240 elements, counted
    narrow = Case("TADD", "fp32", "fp32", (64, 32))
    assert elementwise_repeats(narrow) == (32, False)
    assert elementwise_repeats(narrow, walks_rows=True) == (64, True)


def test_times_are_head_repeats_and_tail() -> None:
    """Twice the repeats take twice the busy time, and nothing more."""
    model = CostModel(load_table("a2a3"))
    one, two = (model.timing(Case("TADDS", "fp32", "fp32", (n, 64))) for n in (32, 64))
    assert two.busy == 2 * one.busy == 64
    assert (one.head, one.tail) == (two.head, two.tail) == (7, 18)
    assert one.alone == 57


def test_special_functions_run_at_one_element_rate() -> None:
    """An fp16 repeat has twice the elements of an fp32 one, and takes twice as long."""
    assert cycles("TEXP", "fp16", 64, 64) == cycles("TEXP", "fp32", 64, 64)
    assert cycles("TADDS", "fp16", 64, 64) < cycles("TADDS", "fp32", 64, 64)


def test_dependent_rows_and_scalar_loops_are_slow() -> None:
    """Column reductions are serialised by row; integer division goes element by element."""
    assert cycles("TCOLMAX", "fp32", 64, 64) > 6 * cycles("TADD", "fp32", 64, 64)
    assert cycles("TDIVS", "int32", 32, 64) > 26 * 32 * 64


def test_transfers_and_products() -> None:
    """Cold loads are latency-bound; a product takes its cubes plus its head and tail."""
    small, large = (cycles("TLOAD", "fp32", n, 128, dst="Vec") for n in (1, 128))
    assert 500 < small < 600
    assert large == pytest.approx(522 + 128 * 512 / 22.6)
    product = Case("TMATMUL", "fp16", "fp32", (64, 64), extra={"m": "64", "k": "64", "n": "64"})
    assert CostModel(load_table("a2a3")).timing(product).alone == 43 + 64


def test_what_is_not_known_is_assumed_and_said() -> None:
    """An instruction without figures takes those of its family, and the model says so."""
    model = CostModel(load_table("a2a3"))
    model.timing(Case("TADD", "fp32", "fp32", (64, 64)))
    assert model.assumptions == {}
    unknown, stand_in = (
        model.timing(Case(name, "fp32", "fp32", (64, 64))).alone for name in ("TWHAT", "TROWPROD")
    )
    assert unknown == 25 + 128
    assert stand_in == cycles("TROWSUM", "fp32", 64, 64)
    assert model.assumptions["TWHAT"].startswith("not known: taken as elementwise")
    assert model.machine("flags.set_issue") == 1
    assert "machine.flags" in model.assumptions


@given(
    st.sampled_from(TARGETS),
    st.fixed_dictionaries(
        {},
        optional={
            "instruction": st.sampled_from([*load_table("a2a3").instructions, "TNEW", "", "tadd"]),
            "src_dtype": st.sampled_from(["fp32", "fp16", "int8", "fp4e2m1", "what", ""]),
            "dst_dtype": st.sampled_from(["fp32", "bf16", "hif8", "bool", ""]),
            "rows": st.sampled_from(["0", "1", "64", "-3", "nan", "", "1e9"]),
            "cols": st.sampled_from(["0", "1", "100", "4096", "inf", "x"]),
            "valid_rows": st.sampled_from(["0", "1", "63", "-1", ""]),
            "valid_cols": st.sampled_from(["0", "1", "99", "-1", ""]),
            "extra": st.sampled_from(["", ";;=", "m=0;k=0;n=0", "dmas=0;bursts=4", "dst=Right"]),
        },
    ),
)
def test_any_case_has_a_time(target: str, row: dict[str, str]) -> None:
    """No case, however odd, gives an invalid time."""
    found = CostModel(load_table(target)).timing(case_of(row))
    assert math.isfinite(found.alone)
    assert found.alone >= 0


@pytest.mark.parametrize("target", TARGETS)
def test_each_figure_says_where_it_comes_from(target: str) -> None:
    """Every row of the tables has a source and a grade, and all figures that are used."""
    table = load_table(target)
    for row in (*table.machine.values(), *table.instructions.values()):
        assert row.source, row.name
        assert row.sure in (1, 2, 3, 4), row.name
    for row in table.instructions.values():
        assert row.formula in FORMULAS


def test_a_table_reads_back(tmp_path: Path) -> None:
    """A table that is printed and parsed is the same table."""
    table = load_table("a2a3")
    (tmp_path / "costs.toml").write_text(to_toml(table))
    again = read_table(tmp_path / "costs.toml")
    assert again.machine == table.machine
    assert again.instructions == table.instructions


def test_rows_of_a_file_count(tmp_path: Path) -> None:
    """A file replaces rows of instructions and figures of the machine, and leaves all others."""
    path = tmp_path / "costs.toml"
    path.write_text(
        "[machine.memory]\nhbm = 400\n"
        '[instructions.TADD]\nformula = "elementwise"\nfixed = 1\nper_repeat = 1\nsure = 1\n'
    )
    table = read_table(path)
    assert CostModel(table).timing(Case("TADD", "fp32", "fp32", (1, 64))).alone == 2
    assert table.machine_figure("memory.hbm") == 400
    assert table.machine_figure("memory.l2") == load_table("a2a3").machine_figure("memory.l2")
    assert table.instructions["TSUB"] == load_table("a2a3").instructions["TSUB"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[instructions.TADD\n", "is not valid TOML"),
        ("[instruction.TADD]\n", "no table has [instruction]"),
        ('[instructions.TADD]\nformula = "linear"\n', "'linear', which does not exist"),
        ('[instructions.TADD]\nformula = "elementwise"\nfix = 2\n', "'fix', which nothing reads"),
        (
            '[instructions.TADD]\nformula = "elementwise"\nfixed = "2"\n',
            "TADD.fixed is not a number",
        ),
        (
            '[instructions.TLOAD]\nformula = "transfer"\nbytes_per_cycle = 0\n',
            "TLOAD.bytes_per_cycle is not a number above 0",
        ),
        ("[machine.hbm]\nus = 2\n", "no [machine.hbm]"),
        ("[instructions]\nTADD = 2\n", "TADD is not a table of figures"),
    ],
)
def test_wrong_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    """An invalid table is an error that says what is wrong, with the file."""
    path = tmp_path / "costs.toml"
    path.write_text(text)
    with pytest.raises(PyptoError) as caught:
        read_table(path)
    assert message in caught.value.message
    assert str(path) in caught.value.message


def test_other_targets_have_no_table() -> None:
    """A target without costs is rejected, with a list of those that have some."""
    with pytest.raises(PyptoError, match="there are no costs for 'a4', only for a2a3, a5"):
        load_table("a4")
