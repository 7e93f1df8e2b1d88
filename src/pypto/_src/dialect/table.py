"""The tile ops of the dialect: one row per op, with its operands, attributes and legality rules.

The table follows the measured behaviour of the real assembler, even where that is inconsistent: an
op that takes tiles of unequal valid shape does so here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute

from pypto._src.dialect import row_rules as own
from pypto._src.dialect.rules import (
    A3,
    A5,
    Rule,
    Site,
    element_sizes,
    elements,
    on,
    only,
    plain,
    row_major,
    same_element,
    same_element_size,
    same_shape,
    same_valid,
    space,
    storage_differs,
    unless,
    valid_covers,
    valid_fits,
    valid_is,
)
from pypto._src.dialect.types import (
    I64,
    INDEX,
    AccToVecMode,
    AtomicType,
    Cmp,
    GatherOob,
    MaskPattern,
    PartitionType,
    QuantType,
    ReluPreMode,
    RoundMode,
    SaturationMode,
    ScatterAtomicOp,
    StPhase,
    TileType,
    is_float,
    is_scalar,
    is_signless,
)
from pypto._src.records import NamedTuple


class Operand(NamedTuple):
    """An operand of a row: its name in rules, and what kind of value it is."""

    name: str
    kind: str
    optional: bool


KINDS: Final[Mapping[str, Callable[[Attribute], bool]]] = {
    "tile": lambda kind: isinstance(kind, TileType),
    "part": lambda kind: isinstance(kind, PartitionType),
    "view": lambda kind: isinstance(kind, TileType | PartitionType),
    "scalar": is_scalar,
    "int": is_signless,
    "float": is_float,
    "number": lambda kind: is_float(kind) or isinstance(kind, IntegerType),
    "index": lambda kind: kind == INDEX,
    "i64": lambda kind: kind == I64,
}
"""The kinds of operands; `scalar` is a `number` that is a float or a signless integer."""


@dataclass(frozen=True)
class Row:
    """A tile op: ``pto.NAME ins(OPERANDS {INNER} : TYPES) outs(OPERANDS : TYPES) {OUTER}``."""

    name: str
    forms: tuple[tuple[Operand, ...], ...]  # the alternatives for operands in ins(..)
    outs: tuple[Operand, ...]
    rules: tuple[Rule, ...]
    inner: Mapping[str, Callable[[Attribute], bool]] = field(
        default_factory=dict[str, Callable[[Attribute], bool]]
    )
    outer: Mapping[str, Callable[[Attribute], bool]] = field(
        default_factory=dict[str, Callable[[Attribute], bool]]
    )
    paired: bool = False
    """True if each operand of ``ins`` is followed by its own type: ``ins(%a : T, %b : U)``."""

    @property
    def attributes(self) -> Mapping[str, Callable[[Attribute], bool]]:
        """A predicate of the legal values of each attribute."""
        return {**self.inner, **self.outer}


TABLE: Final[dict[str, Row]] = {}
"""Every tile op by its full name, such as ``pto.tadd``."""


def _operands(text: str) -> tuple[Operand, ...]:
    """Parse operands written as ``src tmp? s:scalar``."""
    found: list[Operand] = []
    for word in text.split():
        name, _, kind = word.partition(":")
        found.append(Operand(name.rstrip("?"), kind or "tile", name.endswith("?")))
    return tuple(found)


def _is(*classes: type[Attribute]) -> Callable[[Attribute], bool]:
    return lambda attribute: isinstance(attribute, classes)


_ATOMIC: Final = frozenset(map(str, map(AtomicType, ("atomic_none", "atomic_add"))))
"""The assembler parses the others, too, and then rejects them."""


def _is_bool(attribute: Attribute) -> bool:
    return str(attribute) in ("true", "false")


def op(
    name: str,
    ins: str,
    *rules: Rule | tuple[Rule, ...],
    outs: str = "dst",
    inner: Mapping[str, Callable[[Attribute], bool]] | None = None,
    outer: Mapping[str, Callable[[Attribute], bool]] | None = None,
    paired: bool = False,
) -> None:
    """Add a row; ``ins`` may give several alternatives for operands, separated by ``|``."""
    flat: list[Rule] = []
    for rule in rules:
        flat += [rule] if isinstance(rule, Rule) else rule
    full = f"pto.{name}"
    forms = tuple(_operands(form) for form in ins.split("|"))
    TABLE[full] = Row(
        full, forms, _operands(outs), tuple(flat), inner or {}, outer or {}, paired=paired
    )


# --------------------------------------------------------------------------------------------
# Sets of element types, by width and kind; the signedness of integers does not matter
# --------------------------------------------------------------------------------------------

F: Final = "f16 f32"
I: Final = "i16 i32"  # noqa: E741 - I and F are the names that tables of the ISA use
FI: Final = f"{F} {I}"
FI8: Final = f"{FI} i8"
FIB8: Final = f"{FI8} bf16"
I8: Final = f"{I} i8"

# --------------------------------------------------------------------------------------------
# 1. Elementwise
# --------------------------------------------------------------------------------------------


def _unary(name: str, a3: str, a5: str | None = None, *extra: Rule, ins: str = "src") -> None:
    op(
        name,
        ins,
        elements("src", a3, a5),
        space("vec", "src", "dst"),
        valid_fits("src", "dst"),
        row_major("src", "dst"),
        same_element("src", "dst"),
        same_valid("src", "dst"),
        *extra,
    )


_unary("tabs", F)
_unary("texp", F)
_unary("tlog", F)
_unary("tsqrt", F)
_unary("trsqrt", F, ins="src tmp?")
_unary("trecip", F, None, *on(A3, storage_differs("src", "dst")))
_unary("trelu", f"{F} i32")
_unary("tnot", "i16", I8)
op(
    "tneg",
    "src",
    elements("src", FI, FIB8),
    space("vec", "src", "dst"),
    same_element("src", "dst"),
    on(A3, same_valid("src", "dst")),
    on(A5, same_valid("src", "dst", dims="1")),
)


def _binary(
    name: str, a3: str, a5: str | None = None, *extra: Rule, ins: str = "src0 src1"
) -> None:
    op(
        name,
        ins,
        elements("src0", a3, a5),
        same_element("src0", "src1", "dst"),
        row_major("src0", "src1", "dst"),
        same_valid("src0", "src1", "dst"),
        *extra,
    )


_binary("tadd", FI, FIB8)
_binary("tsub", FI, FI8)
_binary("tmul", FI)
_binary("tdiv", F, FI)
_binary("tmax", FI, FI8)
_binary("tmin", FI, FI8)
_binary("tfmod", FI)
_binary("tand", "i8 i16", I8)
_binary("tor", "i8 i16", I8)
_binary("trem", "f32 i32", FI, same_element("dst", "tmp"), row_major("tmp"), ins="src0 src1 tmp")
_binary("txor", "i8 i16", I8, *on(A3, same_element("src0", "tmp")), ins="src0 src1 tmp")


def _shift(name: str) -> None:
    op(
        name,
        "src0 src1",
        elements("src0", I8),
        same_element("src0", "src1"),
        row_major("src0", "src1", "dst"),
        same_valid("src0", "src1", "dst"),
    )


_shift("tshl")
_shift("tshr")
op(
    "tprelu",
    "src0 src1 tmp",
    elements("src0", F),
    same_element("src0", "src1", "dst"),
    row_major("src0", "src1", "dst"),
    same_shape("src0", "src1", "dst"),
    same_valid("src0", "src1", "dst"),
    on(A3, storage_differs("src0", "src1", "tmp", "dst")),
)


def _partial(name: str, *extra: Rule) -> None:
    op(
        name,
        "src0 src1",
        elements("src0", FI, FIB8),
        same_element("src0", "src1", "dst"),
        on(A3, valid_covers("dst", "src0", "src1")),
        *extra,
    )


_partial("tpartadd")
_partial("tpartmul")
_partial("tpartmax", same_shape("src0", "src1", "dst"))
_partial("tpartmin", same_shape("src0", "src1", "dst"))
op("taddc", "src0 src1 src2", same_shape("src0", "src1", "src2", "dst"))
op("tsubc", "src0 src1 src2")
op(
    "tconcat",
    "src0 src1",
    elements("src0", FIB8, signless=True),
    same_element("src0", "src1", "dst"),
    same_valid("src0", "src1", "dst", dims="0"),
    Rule("shape", own.concat_fits),
)

# --------------------------------------------------------------------------------------------
# 2. Tile with scalar
# --------------------------------------------------------------------------------------------


def _scaled(name: str, a3: str, a5: str, *extra: Rule, loose_rows: bool) -> None:
    """Add a row; with ``loose_rows`` the valid rows of src and dst may differ on a5."""
    op(
        name,
        "src scalar:scalar",
        elements("src", a3, a5),
        space("vec", "src", "dst"),
        same_element("src", "dst"),
        on(A3, same_valid("src", "dst")),
        on(A5, same_valid("src", "dst", dims="1" if loose_rows else "01")),
        *extra,
    )


_scaled("tadds", FI, FIB8, loose_rows=True)
_scaled("tsubs", FI, FIB8, loose_rows=True)
_scaled("tmuls", FI, FIB8, loose_rows=True)
_scaled("tmaxs", FI, FI8, Rule("scalar-type", own.float_scalar), loose_rows=False)
_scaled("tmins", FI, FIB8, Rule("scalar-type", own.float_scalar), loose_rows=True)
op(
    "tdivs",
    "src scalar:number | scalar:number src",
    elements("src", FI, FI8),
    space("vec", "src", "dst"),
    same_element("src", "dst"),
    same_valid("src", "dst"),
)
op(
    "tlrelu",
    "src scalar:float",
    elements("src", F),
    space("vec", "src", "dst"),
    same_element("src", "dst"),
    same_valid("src", "dst"),
)
op(
    "taxpy",
    "src scalar:scalar",
    elements("src", F, f"{F} bf16"),
    elements("dst", F, f"{F} bf16"),
    unless(same_element("src", "dst"), own.widens),
    space("vec", "src", "dst"),
    row_major("src", "dst"),
    own.scalar_is_element(),
    same_shape("src", "dst"),
    same_valid("src", "dst"),
)
op(
    "tfmods",
    "src scalar:scalar",
    elements("src", FI),
    own.scalar_is_element(),
    same_element("src", "dst"),
    row_major("src", "dst"),
    same_valid("src", "dst"),
)
op(
    "trems",
    "src scalar:scalar tmp",
    elements("src", "f32 i32", FI),
    own.scalar_is_element(),
    same_element("dst", "src", "tmp"),
    row_major("src", "tmp", "dst"),
    same_valid("src", "dst"),
)


def _logic_scalar(name: str, *extra: Rule, ins: str = "src scalar:int") -> None:
    op(
        name,
        ins,
        elements("src", "i8 i16", I8),
        same_element("src", "dst"),
        row_major("src", "dst"),
        same_valid("src", "dst"),
        storage_differs("src", "dst"),
        *extra,
    )


_logic_scalar("tands")
_logic_scalar("tors")
_logic_scalar("txors", ins="src scalar:int tmp")
op(
    "tshls",
    "src scalar:int",
    elements("src", f"{I8} i64"),
    same_element("src", "dst"),
    Rule("shift-count", own.count_not_negative),
)
op(
    "tshrs",
    "src scalar:int",
    elements("src", I, I8),
    space("vec", "src", "dst"),
    same_element("src", "dst"),
    row_major("src", "dst"),
    same_valid("src", "dst"),
    Rule("shift-count", own.count_not_negative),
)
op("taddsc", "src0 scalar:scalar src1", same_shape("src0", "src1", "dst"))
op("tsubsc", "src0 scalar:scalar src1")
op(
    "texpands",
    "scalar:scalar",
    elements("dst", FI, FI8),
    own.scalar_is_element("dst"),
    space("vec mat", "dst"),
)

# --------------------------------------------------------------------------------------------
# 3. Reductions and broadcasts
# --------------------------------------------------------------------------------------------


def _row_reduction(name: str, *extra: Rule, result: tuple[Rule, ...] = ()) -> None:
    op(
        name,
        "src tmp",
        elements("src", FI),
        space("vec", "src", "dst"),
        row_major("src"),
        plain("src"),
        Rule("layout", own.row_result),
        valid_is("dst", 1, 1),
        same_valid("src", "dst", dims="0"),
        *(result or (same_element("src", "dst"),)),
        *extra,
    )


_row_reduction("trowsum")
_row_reduction("trowmax")
_row_reduction("trowmin", same_element("src", "tmp"), same_valid("src", "tmp"))
_row_reduction("trowprod", same_element("src", "tmp"), same_valid("src", "tmp"))
for _name in ("trowargmax", "trowargmin"):
    _row_reduction(
        _name,
        same_element("src", "tmp"),
        same_valid("src", "tmp"),
        result=(elements("dst", "i32"),),
    )


def _col_reduction(
    name: str,
    a5: str,
    *extra: Rule,
    ins: str = "src",
    inner: Mapping[str, Callable[[Attribute], bool]] | None = None,
) -> None:
    op(
        name,
        ins,
        elements("src", FI, a5),
        space("vec", "src", "dst"),
        row_major("src", "dst"),
        same_element("src", "dst"),
        same_valid("src", "dst", dims="1"),
        *extra,
        inner=inner,
    )


_col_reduction(
    "tcolsum",
    FIB8,
    ins="src tmp?",
    inner={"isBinary": _is_bool},
)
_col_reduction("tcolmax", FIB8)
_col_reduction("tcolmin", FIB8)
_col_reduction("tcolprod", f"{FI} bf16")
for _name in ("tcolargmax", "tcolargmin"):
    op(
        _name,
        "src tmp",
        elements("src", F),
        elements("dst", "i32"),
        space("vec", "src", "dst"),
        row_major("src", "dst"),
        valid_is("dst", 0, 1),
        same_valid("src", "dst", dims="1"),
        same_element("src", "tmp"),
        same_valid("src", "tmp"),
    )


def _unsigned_or_signless(site: Site) -> str | None:
    found = str(site.element("src"))
    return f"src has elements of {found}" if found.startswith("si") else None


for _name, _dims in (("trowexpand", "0"), ("tcolexpand", "1")):
    op(
        _name,
        "src",
        elements("src", FIB8),
        Rule("element-type", _unsigned_or_signless),
        same_element("src", "dst"),
        space("vec", "src", "dst"),
        row_major("dst"),
        same_valid("src", "dst", dims=_dims),
    )

op(
    "trowexpandadd",
    "src0 src1",
    elements("src0", FI, FI8),
    same_element("src0", "src1", "dst"),
    row_major("src0", "dst"),
    same_valid("src0", "dst"),
    same_valid("src1", "dst", dims="0"),
    Rule("valid-shape", own.one_value_a_row),
)
for _name, _a3, _a5 in (
    ("trowexpandsub", FI, FI8),
    ("trowexpandmul", FI, FI8),
    ("trowexpanddiv", F, F),
):
    op(
        _name,
        "src0 src1 tmp?",
        elements("src0", _a3, _a5),
        same_element("src0", "src1", "dst"),
        row_major("dst"),
    )
for _name, _a3, _a5 in (
    ("trowexpandmax", FI, FI8),
    ("trowexpandmin", FI, FI8),
    ("trowexpandexpdif", F, F),
):
    op(
        _name,
        "src0 src1 tmp?",
        Rule("operand-count", own.no_tmp_on_a5),
        elements("src0", _a3, _a5),
        same_element("src0", "src1", "dst"),
        row_major("dst"),
        Rule("valid-shape", own.one_source_matches),
    )
for _name, _a3, _a5 in (
    ("tcolexpandadd", FI, FI8),
    ("tcolexpandsub", FI, FI8),
    ("tcolexpandmul", FI, FI8),
    ("tcolexpandmax", FI, FI8),
    ("tcolexpandmin", FI, FI8),
    ("tcolexpanddiv", F, F),
    ("tcolexpandexpdif", F, F),
):
    op(
        _name,
        "src0 src1",
        elements("src0", _a3, _a5),
        Rule("target", own.byte_col_expand),
        row_major("src0", "dst"),
        same_valid("src0", "dst"),
        same_shape("src0", "dst"),
        same_valid("src1", "dst", dims="1"),
    )

# --------------------------------------------------------------------------------------------
# 4. Compare, select, convert, rearrange
# --------------------------------------------------------------------------------------------

op(
    "tcmp",
    "src0 src1",
    elements("src0", f"{F} i32", FIB8),
    elements("dst", "i8"),
    on(A3, space("vec", "dst"), same_valid("src0", "dst", dims="0")),
    on(A5, same_shape("src0", "src1", "dst")),
    inner={"cmpMode": _is(Cmp)},
)
op(
    "tcmps",
    "src scalar:scalar",
    elements("src", FI, FI8),
    elements("dst", "i8"),
    on(A3, same_valid("src", "dst", dims="0")),
    inner={"cmpMode": _is(Cmp)},
)
op("tsel", "mask src0 src1 tmp", elements("src0", FI, FI8), same_element("src0", "src1", "dst"))
op(
    "tsels",
    "mask src tmp scalar:scalar",
    elements("src", FI, FI8, signless=True),
    same_element("src", "dst"),
)
op(
    "tcvt",
    "src tmp?",
    same_shape("src", "dst"),
    same_valid("src", "dst"),
    inner={"rmode": _is(RoundMode), "sat_mode": _is(SaturationMode)},
)
op(
    "ttrans",
    "src tmp",
    element_sizes("src", "1 2 4"),
    elements("src", FIB8),
    same_element("src", "tmp", "dst"),
    on(A3, row_major("src")),
    on(A5, own.major_is_aligned("src"), own.major_is_aligned("dst")),
)


def _fill(name: str, *extra: Rule) -> None:
    op(
        name,
        "src",
        element_sizes("src", "1 2 4"),
        same_element_size("src", "dst"),
        Rule("padding", own.pads),
        *extra,
    )


_fill("tfillpad", same_shape("src", "dst"))
_fill("tfillpad_inplace", same_shape("src", "dst"))
_fill("tfillpad_expand", Rule("shape", own.grows))
op(
    "tci",
    "scalar:int",
    elements("dst", I),
    own.scalar_is_element("dst"),
    inner={"descending": _is_bool},
)
op(
    "ttri",
    "diagonal:int",
    elements("dst", FI, FIB8),
    Rule("attribute", own.triangle),
    inner={"upperOrLower": _is(IntegerAttr)},
)
op(
    "tgather",
    "src idx tmp | src",
    Rule("operand-count", own.gather_operands),
    unless(elements("src", FI, FI8), own.keeps_columns),
    elements("idx", "i32"),
    unless(element_sizes("src", "2 4", "1 2 4"), own.takes_indices),
    unless(Rule("valid-shape", own.whole_columns), own.takes_indices),
    inner={"maskPattern": _is(MaskPattern)},
)
op("tgatherb", "src offsets", element_sizes("dst", "1 2 4"))
op("tscatter", "src idx", same_element("src", "dst"))
op(
    "tsort32",
    "src idx tmp?",
    elements("src", F),
    elements("idx", "i32"),
    same_element("src", "dst"),
)
op(
    "tmrgsort",
    "src length:int",
    elements("src", F),
    same_element("src", "dst"),
    Rule("shape", own.one_row_of_runs),
)
op(
    "tquant",
    "src scale offset?",
    elements("src", "f32"),
    elements("dst", "i8"),
    outer={"quant_type": _is(QuantType)},
)
op(
    "tdequant",
    "src scale offset",
    elements("src", "i8 i16", signless=True),
    elements("dst", "f32"),
)
op("trandom", " ".join(f"k{i}:int" for i in range(6)), only(A5), elements("dst", "i32"))
op("thistogram", "src idx", only(A5), elements("src", "i16"))
op("tpack", "src", only(A5), Rule("element-size", own.pack_sizes))
op("tprint", "src:view", elements("src", "f16 f32 i8 i16 i32"), outs="")

# --------------------------------------------------------------------------------------------
# 5. Moves
# --------------------------------------------------------------------------------------------

op(
    "tload",
    "src:part",
    Rule("address-space", own.load_space),
    on(A3, elements("dst", own.MEMORY)),
    on(A5, element_sizes("dst", "1 2 4 8")),
    same_element_size("src", "dst"),
)
op("tprefetch", "src:part")
op(
    "tstore",
    "src factor?:i64",
    Rule("address-space", own.store_spaces),
    Rule("element-type", own.store_elements),
    Rule("shape", own.store_count),
    Rule("shape", own.store_columns),
    Rule("attribute", own.relu_from_acc),
    outs="dst:part",
    outer={
        "stPhase": _is(StPhase),
        "atomicType": lambda given: str(given) in _ATOMIC,
        "reluPreMode": _is(ReluPreMode),
    },
    paired=True,
)
op("tstore_fp", "src fp", space("acc", "src"), space("scaling", "fp"), outs="dst:part")
op(
    "tmov",
    "src fp?",
    Rule("shape", own.move_shapes),
    Rule("address-space", own.move_spaces),
    Rule("attribute", own.vec_mode),
    outer={"accToVecMode": _is(AccToVecMode), "reluPreMode": _is(ReluPreMode)},
    paired=True,
)
op("tmov.fp", "src fp", space("acc", "src"), space("scaling", "fp"))
op(
    "textract",
    "src row:index col:index",
    same_element("src", "dst"),
    own.pair_of(own.EXTRACTS),
    elements("src", "i8 f16 bf16 f32", "f8 i8 f16 bf16 f32"),
    own.part_fits("dst", "src"),
)
op(
    "tinsert",
    "src row:index col:index",
    own.part_fits("src", "dst"),
    own.pair_of(own.INSERTS),
    Rule("element-type", own.insert_elements),
    on(A3, Rule("layout", own.insert_layout)),
)
for _name in ("textract_fp", "tinsert_fp"):
    op(_name, "src fp row:index col:index", space("acc", "src"), space("scaling", "fp"))
op(
    "mgather",
    "src:part idx",
    only(A5, by_attribute=True),
    elements("idx", "i32"),
    outer={"gatherOob": _is(GatherOob)},
)
op(
    "mscatter",
    "src idx",
    only(A5, by_attribute=True),
    elements("src", "i8 i16 i32 f16 bf16 f32", "i8 i16 i32 f16 bf16 f32 f8"),
    elements("idx", "i32"),
    outs="dst:part",
    outer={"scatterAtomicOp": _is(ScatterAtomicOp)},
)

# --------------------------------------------------------------------------------------------
# 6. Matrix products
# --------------------------------------------------------------------------------------------

_PRODUCT: Final = (
    Rule("address-space", own.product_spaces),
    Rule("shape", own.product_shapes),
    Rule("valid-shape", own.product_sizes),
    *on(A5, Rule("layout", own.product_layouts)),
)
_BIAS: Final = (
    same_element("bias", "dst"),
    space("bias", "bias"),
    Rule("shape", own.one_bias_row),
)
_ELEMENTS: Final = Rule("element-type", own.product_elements)

op("tmatmul", "lhs rhs", *_PRODUCT, _ELEMENTS)
op("tmatmul.acc", "acc lhs rhs", *_PRODUCT)
op("tmatmul.bias", "lhs rhs bias", *_PRODUCT, *_BIAS, _ELEMENTS)
_VECTOR: Final = (*_PRODUCT, valid_is("lhs", 0, 1))
op("tgemv", "lhs rhs", *_VECTOR, _ELEMENTS)
op("tgemv.acc", "acc lhs rhs", *_VECTOR)
op("tgemv.bias", "lhs rhs bias", *_VECTOR, *_BIAS, _ELEMENTS)
