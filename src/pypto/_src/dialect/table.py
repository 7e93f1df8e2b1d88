"""The tile ops of the dialect: one row an op, with its operands, attributes and legality rules.

What is measured is the real assembler's behaviour, also where it is uneven: an op that takes tiles
of unequal valid shape does so here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute

from pypto._src.dialect.rules import (
    A3,
    A5,
    Rule,
    Site,
    constant,
    element_sizes,
    elements,
    fits,
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
    DYNAMIC,
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
    element_bytes,
    family,
    is_float,
    is_scalar,
    is_signless,
)


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
"""What kinds of operands there are; `scalar` is a `number` that is no integer with a sign."""


@dataclass(frozen=True)
class Row:
    """A tile op: ``pto.NAME ins(OPERANDS {INNER} : TYPES) outs(OPERANDS : TYPES) {OUTER}``."""

    name: str
    forms: tuple[tuple[Operand, ...], ...]  # the choices of operands in ins(..)
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
        """What each attribute that the op has may be."""
        return {**self.inner, **self.outer}


TABLE: Final[dict[str, Row]] = {}
"""Every tile op by its full name, such as ``pto.tadd``."""


def _operands(text: str) -> tuple[Operand, ...]:
    """Return the operands that ``src tmp? s:scalar`` names."""
    found: list[Operand] = []
    for word in text.split():
        name, _, kind = word.partition(":")
        found.append(Operand(name.rstrip("?"), kind or "tile", name.endswith("?")))
    return tuple(found)


def _is(*classes: type[Attribute]) -> Callable[[Attribute], bool]:
    return lambda attribute: isinstance(attribute, classes)


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
    """Add a row; ``ins`` may give several choices of operands, separated by ``|``."""
    flat: list[Rule] = []
    for rule in rules:
        flat += [rule] if isinstance(rule, Rule) else rule
    full = f"pto.{name}"
    forms = tuple(_operands(form) for form in ins.split("|"))
    TABLE[full] = Row(
        full, forms, _operands(outs), tuple(flat), inner or {}, outer or {}, paired=paired
    )


# --------------------------------------------------------------------------------------------
# Sets of element types, by width and kind; the sign of integers does not count
# --------------------------------------------------------------------------------------------

F: Final = "f16 f32"
I: Final = "i16 i32"  # noqa: E741 - I and F are the names that tables of the ISA use
FI: Final = f"{F} {I}"
FI8: Final = f"{FI} i8"
FIB8: Final = f"{FI8} bf16"
I8: Final = f"{I} i8"
MEMORY: Final = "i8 i16 i32 i64 f16 bf16 f32"

# --------------------------------------------------------------------------------------------
# Rules that only a few ops have
# --------------------------------------------------------------------------------------------


def _scalar_is_element(tile: str = "src") -> Rule:
    def check(site: Site) -> str | None:
        scalar, element = site.values["scalar"].type, site.element(tile)
        if scalar == element:
            return None
        return f"the scalar is {scalar} beside elements of {element}, wanted the same"

    return Rule("scalar-type", check)


def _float_scalar(site: Site) -> str | None:
    if is_float(site.values["scalar"].type):
        return None
    return f"the scalar is {site.values['scalar'].type}, wanted a float"


def _widens(site: Site) -> bool:
    return (family(site.element("src")), family(site.element("dst"))) == ("f16", "f32")


def _count_not_negative(site: Site) -> str | None:
    count = constant(site.values["scalar"])
    return f"the shift count is {count}" if count is not None and count < 0 else None


def _concat_fits(site: Site) -> str | None:
    parts = [site.tile(name).valid_col for name in ("src0", "src1")]
    if DYNAMIC in parts or sum(parts) <= site.tile("dst").cols:
        return None
    return f"{sum(parts)} columns in a dst of {site.tile('dst').cols}"


def _row_result(site: Site) -> str | None:
    dst = site.tile("dst")
    if dst.blayout == "col_major" and dst.cols != 1:
        return f"a col_major dst has one column, found {dst.cols}"
    if dst.slayout != "none_box":
        return f"dst has boxes ({dst.slayout}), wanted slayout=none_box"
    return None


def _one_value_a_row(site: Site) -> str | None:
    """A row_major operand of one value a row is one block of 32 bytes wide."""
    src, size = site.tile("src1"), element_bytes(site.element("src1"))
    if src.blayout == "col_major" or not size or fits(src.valid_col, 32 // size):
        return None
    return f"src1 has {src.valid_col} valid columns, wanted {32 // size} if row_major"


def _one_matches(site: Site) -> str | None:
    """One source has the valid shape of dst and is row_major, the other has a value a row."""
    dst = site.tile("dst")

    def matches(name: str) -> bool:
        return all(fits(a, b) for a, b in zip(site.tile(name).valid, dst.valid, strict=True))

    if matches("src0"):
        full, rows = "src0", "src1"
    elif matches("src1"):
        full, rows = "src1", "src0"
    else:
        return "neither src0 nor src1 has the valid shape of dst"
    if site.tile(full).blayout != "row_major":
        return f"{full} is col_major, wanted row_major"
    other, size = site.tile(rows), element_bytes(site.element(rows)) or 1
    if not fits(other.valid_row, dst.valid_row):
        return f"{rows} has {other.valid_row} valid rows, wanted {dst.valid_row}"
    wanted = 1 if other.blayout == "col_major" else 32 // size
    if not fits(other.valid_col, wanted):
        return f"{rows} has {other.valid_col} valid columns, wanted {wanted}"
    return None


def _no_tmp_on_a5(site: Site) -> str | None:
    return "a5 takes no tmp" if site.arch == A5 and site.has("tmp") else None


def _narrow_col_expand(site: Site) -> str | None:
    """8-bit elements need the module attribute, not only the option."""
    if family(site.element("src0")) != "i8" or site.declared == A5:
        return None
    return 'elements of 8 bits need the module attribute pto.target_arch = "a5"'


def _major_is_aligned(name: str) -> Rule:
    def check(site: Site) -> str | None:
        tile = site.tile(name)
        major = tile.cols if tile.blayout == "row_major" else tile.rows
        size = major * (element_bytes(tile.element) or 0)
        return f"{name} has lines of {size} bytes, wanted a multiple of 32" if size % 32 else None

    return Rule("alignment", check)


def _pads(site: Site) -> str | None:
    return None if site.tile("dst").pad else "dst has pad=0, wanted 1 (zero), 2 (max) or 3 (min)"


def _grows(site: Site) -> str | None:
    src, dst = site.tile("src").shape, site.tile("dst").shape
    return None if all(a <= b for a, b in zip(src, dst, strict=True)) else "dst is smaller than src"


def _triangle(site: Site) -> str | None:
    side = site.attribute("upperOrLower")
    if side is None or (isinstance(side, IntegerAttr) and side.value.data in (0, 1)):
        return None
    return "upperOrLower is neither 0 (lower) nor 1 (upper)"


def _gather(site: Site) -> str | None:
    """A gather has indices and a scratch tile, or a pattern that says which columns stay."""
    if (site.attribute("maskPattern") is None) == site.has("idx"):
        return None
    return "a gather takes idx and tmp, or maskPattern"


def _takes_indices(site: Site) -> bool:
    return site.has("idx")


def _keeps_columns(site: Site) -> bool:
    return not site.has("idx")


def _whole_columns(site: Site) -> str | None:
    dst = site.tile("dst")
    if fits(dst.valid_col, dst.cols):
        return None
    return f"dst has {dst.valid_col} valid columns, wanted all {dst.cols}"


def _one_row_of_runs(site: Site) -> str | None:
    if site.tile("src").rows != 1:
        return f"src has {site.tile('src').rows} rows, wanted 1"
    length = constant(site.values["length"])
    if length is None or (length > 0 and length % 64 == 0):
        return None
    return f"runs of {length} elements, wanted a multiple of 64"


def _pack_sizes(site: Site) -> str | None:
    sizes = tuple(element_bytes(site.element(name)) for name in ("src", "dst"))
    return None if sizes in ((4, 2), (4, 1), (2, 1)) else f"packs {sizes[0]} bytes to {sizes[1]}"


# Moves


def _load_space(site: Site) -> str | None:
    found = site.tile("dst").space
    return None if site.arch == A5 or found in ("vec", "mat") else f"dst is in {found} on a3"


def _static_count(dims: tuple[int, ...]) -> int | None:
    count = 1
    for dim in dims:
        if dim == DYNAMIC:
            return None
        count *= dim
    return count


def _store_count(site: Site) -> str | None:
    src, dst = _static_count(site.tile("src").valid), _static_count(site.part("dst").dims)
    if src is None or dst is None or src == dst:
        return None
    return f"{src} valid elements are stored to a region of {dst}"


def _store(site: Site) -> str | None:
    where = site.tile("src").space
    allowed = ("vec", "mat", "acc") if site.arch == A3 else ("vec", "acc")
    return None if where in allowed else f"src is in {where}, wanted {' or '.join(allowed)}"


_QUANTIZED: Final = {
    (A3, "f32"): ("i8",),
    (A3, "i32"): ("i8", "f16"),
    (A5, "f32"): ("i8", "f16", "bf16", "f32"),
    (A5, "i32"): ("i8", "f16", "bf16"),
}
"""Element types that a tstore with a factor writes, by target and source."""


def _store_elements(site: Site) -> str | None:
    src, dst = site.element("src"), site.element("dst")
    if site.tile("src").space != "acc":
        if family(src) not in MEMORY.split() and not (family(src) == "f8" and site.arch == A5):
            return f"src has elements of {src}"
        same = element_bytes(src) == element_bytes(dst)
        return None if same else f"elements of {src} are stored as {dst}, wanted the same size"
    if str(src) not in ("f32", "i32"):
        return f"src has elements of {src} in acc, wanted f32 or i32"
    if site.has("factor"):
        wanted = _QUANTIZED[site.arch, str(src)]
    else:
        wanted = ("i32", "f32", "f16", "bf16")
    return None if str(dst) in wanted else f"elements of {src} are stored as {dst}: {wanted}"


def _store_columns(site: Site) -> str | None:
    tile = site.tile("src")
    if tile.space != "acc" or site.arch != A3 or tile.cols <= 4095:
        return None
    return f"src has {tile.cols} columns, wanted at most 4095"


def _relu_from_acc(site: Site) -> str | None:
    mode = site.attribute("reluPreMode")
    if mode is None or site.tile("src").space == "acc" or mode == ReluPreMode("no_relu"):
        return None
    return "reluPreMode is only for a src in acc"


_MOVES: Final = {
    "mat": ("left", "right", "bias", "scaling"),
    "vec": ("vec",),
    "acc": ("mat", "vec"),
}
"""Where tmov moves to, by memory of the source; on a5 also from vec to mat."""


def _move_spaces(site: Site) -> str | None:
    src, dst = site.tile("src").space, site.tile("dst").space
    if dst in _MOVES.get(src, ()) or (site.arch == A5 and (src, dst) == ("vec", "mat")):
        return None
    return f"no move from {src} to {dst}"


def _move_shapes(site: Site) -> str | None:
    src, dst = site.tile("src"), site.tile("dst")
    if src.shape == dst.shape or (site.arch == A5 and src.space != "mat"):
        return None
    return f"src is {src.rows}x{src.cols} and dst {dst.rows}x{dst.cols}, wanted the same shape"


def _vec_mode(site: Site) -> str | None:
    if site.attribute("accToVecMode") is None:
        return None
    spaces = site.tile("src").space, site.tile("dst").space
    return None if spaces == ("acc", "vec") else "accToVecMode is only for moves from acc to vec"


_EXTRACTS: Final = {
    A3: {("mat", "left"), ("mat", "right")},
    A5: {
        ("mat", "left"),
        ("mat", "right"),
        ("mat", "scaling"),
        ("vec", "vec"),
        ("vec", "mat"),
    },
}
_INSERTS: Final = {A3: {("acc", "mat")}, A5: {("acc", "mat"), ("vec", "mat"), ("vec", "vec")}}


def _pair_of(pairs: Mapping[str, set[tuple[str, str]]]) -> Rule:
    def check(site: Site) -> str | None:
        found = site.tile("src").space, site.tile("dst").space
        return None if found in pairs[site.arch] else f"no {found[0]} to {found[1]}"

    return Rule("address-space", check)


def _part_fits(part: str, whole: str) -> Rule:
    """A part at a constant offset lies within the whole."""

    def check(site: Site) -> str | None:
        inner, outer = site.tile(part).shape, site.tile(whole).shape
        for name, size, limit in zip(("row", "col"), inner, outer, strict=True):
            offset = constant(site.values[name])
            if offset is not None and (offset < 0 or offset + size > limit):
                return f"{name} {offset} and {size} more lie outside of {limit}"
        return None

    return Rule("bounds", check)


def _insert_elements(site: Site) -> str | None:
    src, dst = site.element("src"), site.element("dst")
    pair = str(src), str(dst)
    if site.tile("src").space == "acc":
        good = [("f32", "f16"), ("f32", "bf16")]
        if site.arch == A5:
            good += [("f32", "f32"), ("i32", "i32")]
        return None if pair in good else f"elements of {src} are inserted as {dst}"
    if src == dst and family(src) in {"f8", "f16", "bf16", "f32", "i8", "i32"}:
        return None
    return f"elements of {src} are inserted as {dst}, wanted the same"


def _insert_layout(site: Site) -> str | None:
    dst = site.tile("dst")
    if dst.space != "mat" or site.tile("src").space != "acc":
        return None
    good = (dst.blayout, dst.slayout, dst.fractal) == ("col_major", "row_major", 512)
    return None if good else "dst is not col_major with row_major boxes and fractal=512"


# Matrix products


_PRODUCTS: Final = {("i32", "i8", "i8"), ("f32", "f16", "f16"), ("f32", "bf16", "bf16")} | {
    ("f32", "f32", "f32")
}


def _product_elements(site: Site) -> str | None:
    kinds = tuple(family(site.element(name)) for name in ("dst", "lhs", "rhs"))
    if kinds in _PRODUCTS or (site.arch == A5 and kinds == ("f32", "f8", "f8")):
        return None
    return f"no product of {kinds[1]} and {kinds[2]} into {kinds[0]}"


def _product_spaces(site: Site) -> str | None:
    found = tuple(site.tile(name).space for name in ("lhs", "rhs", "dst"))
    return (
        None
        if found == ("left", "right", "acc")
        else (f"operands in {', '.join(found)}, wanted left, right, acc")
    )


def _product_shapes(site: Site) -> str | None:
    lhs, rhs, dst = (site.tile(name).shape for name in ("lhs", "rhs", "dst"))
    good = lhs[1] == rhs[0] and dst == (lhs[0], rhs[1])
    return None if good else f"shapes {lhs}, {rhs} into {dst}, wanted [M, K], [K, N], [M, N]"


def _product_sizes(site: Site) -> str | None:
    sizes = (*site.tile("lhs").valid, site.tile("rhs").valid_col)
    bad = [size for size in sizes if size != DYNAMIC and not 1 <= size <= 4095]
    return f"a valid size is {bad[0]}, wanted 1 to 4095" if bad else None


def _product_layouts(site: Site) -> str | None:
    """On a5 all three layouts are checked; that of a left tile is always right."""
    wanted = {
        "lhs": (None, "row_major"),
        "rhs": ("row_major", "col_major"),
        "dst": ("col_major", "row_major"),
    }
    for name, (blayout, slayout) in wanted.items():
        tile = site.tile(name)
        if blayout is not None and tile.blayout != blayout:
            return f"{name} has blayout={tile.blayout}, wanted {blayout}"
        if tile.slayout != slayout:
            return f"{name} has slayout={tile.slayout}, wanted {slayout}"
    return None


def _one_bias_row(site: Site) -> str | None:
    rows = site.tile("bias").rows
    return None if rows == 1 else f"bias has {rows} rows, wanted 1"


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
    Rule("shape", _concat_fits),
)

# --------------------------------------------------------------------------------------------
# 2. Tile with scalar
# --------------------------------------------------------------------------------------------


def _scaled(name: str, a3: str, a5: str, *extra: Rule, loose_rows: bool) -> None:
    """``loose_rows``: on a5 the valid rows of src and dst may differ."""
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
_scaled("tmaxs", FI, FI8, Rule("scalar-type", _float_scalar), loose_rows=False)
_scaled("tmins", FI, FIB8, Rule("scalar-type", _float_scalar), loose_rows=True)
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
    unless(same_element("src", "dst"), _widens),
    space("vec", "src", "dst"),
    row_major("src", "dst"),
    _scalar_is_element(),
    same_shape("src", "dst"),
    same_valid("src", "dst"),
)
op(
    "tfmods",
    "src scalar:scalar",
    elements("src", FI),
    _scalar_is_element(),
    same_element("src", "dst"),
    row_major("src", "dst"),
    same_valid("src", "dst"),
)
op(
    "trems",
    "src scalar:scalar tmp",
    elements("src", "f32 i32", FI),
    _scalar_is_element(),
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
    Rule("shift-count", _count_not_negative),
)
op(
    "tshrs",
    "src scalar:int",
    elements("src", I, I8),
    space("vec", "src", "dst"),
    same_element("src", "dst"),
    row_major("src", "dst"),
    same_valid("src", "dst"),
    Rule("shift-count", _count_not_negative),
)
op("taddsc", "src0 scalar:scalar src1", same_shape("src0", "src1", "dst"))
op("tsubsc", "src0 scalar:scalar src1")
op(
    "texpands",
    "scalar:scalar",
    elements("dst", FI, FI8),
    _scalar_is_element("dst"),
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
        Rule("layout", _row_result),
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
    Rule("valid-shape", _one_value_a_row),
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
        Rule("operand-count", _no_tmp_on_a5),
        elements("src0", _a3, _a5),
        same_element("src0", "src1", "dst"),
        row_major("dst"),
        Rule("valid-shape", _one_matches),
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
        Rule("target", _narrow_col_expand),
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
    on(A5, _major_is_aligned("src"), _major_is_aligned("dst")),
)


def _fill(name: str, *extra: Rule) -> None:
    op(
        name,
        "src",
        element_sizes("src", "1 2 4"),
        same_element_size("src", "dst"),
        Rule("padding", _pads),
        *extra,
    )


_fill("tfillpad", same_shape("src", "dst"))
_fill("tfillpad_inplace", same_shape("src", "dst"))
_fill("tfillpad_expand", Rule("shape", _grows))
op(
    "tci",
    "scalar:int",
    elements("dst", I),
    _scalar_is_element("dst"),
    inner={"descending": _is_bool},
)
op(
    "ttri",
    "diagonal:int",
    elements("dst", FI, FIB8),
    Rule("attribute", _triangle),
    inner={"upperOrLower": _is(IntegerAttr)},
)
op(
    "tgather",
    "src idx tmp | src",
    Rule("operand-count", _gather),
    unless(elements("src", FI, FI8), _keeps_columns),
    elements("idx", "i32"),
    unless(element_sizes("src", "2 4", "1 2 4"), _takes_indices),
    unless(Rule("valid-shape", _whole_columns), _takes_indices),
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
    Rule("shape", _one_row_of_runs),
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
op("tpack", "src", only(A5), Rule("element-size", _pack_sizes))
op("tprint", "src:view", elements("src", "f16 f32 i8 i16 i32"), outs="")

# --------------------------------------------------------------------------------------------
# 5. Moves
# --------------------------------------------------------------------------------------------

op(
    "tload",
    "src:part",
    Rule("address-space", _load_space),
    on(A3, elements("dst", MEMORY)),
    on(A5, element_sizes("dst", "1 2 4 8")),
    same_element_size("src", "dst"),
)
op("tprefetch", "src:part")
op(
    "tstore",
    "src factor?:i64",
    Rule("address-space", _store),
    Rule("element-type", _store_elements),
    Rule("shape", _store_count),
    Rule("shape", _store_columns),
    Rule("attribute", _relu_from_acc),
    outs="dst:part",
    outer={
        "stPhase": _is(StPhase),
        "atomicType": _is(AtomicType),
        "reluPreMode": _is(ReluPreMode),
    },
    paired=True,
)
op("tstore_fp", "src fp", space("acc", "src"), space("scaling", "fp"), outs="dst:part")
op(
    "tmov",
    "src fp?",
    Rule("shape", _move_shapes),
    Rule("address-space", _move_spaces),
    Rule("attribute", _vec_mode),
    outer={"accToVecMode": _is(AccToVecMode), "reluPreMode": _is(ReluPreMode)},
    paired=True,
)
op("tmov.fp", "src fp", space("acc", "src"), space("scaling", "fp"))
op(
    "textract",
    "src row:index col:index",
    same_element("src", "dst"),
    _pair_of(_EXTRACTS),
    elements("src", "i8 f16 bf16 f32", "f8 i8 f16 bf16 f32"),
    _part_fits("dst", "src"),
)
op(
    "tinsert",
    "src row:index col:index",
    _part_fits("src", "dst"),
    _pair_of(_INSERTS),
    Rule("element-type", _insert_elements),
    on(A3, Rule("layout", _insert_layout)),
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
    Rule("address-space", _product_spaces),
    Rule("shape", _product_shapes),
    Rule("valid-shape", _product_sizes),
    *on(A5, Rule("layout", _product_layouts)),
)
_BIAS: Final = (
    same_element("bias", "dst"),
    space("bias", "bias"),
    Rule("shape", _one_bias_row),
)
_ELEMENTS: Final = Rule("element-type", _product_elements)

op("tmatmul", "lhs rhs", *_PRODUCT, _ELEMENTS)
op("tmatmul.acc", "acc lhs rhs", *_PRODUCT)
op("tmatmul.bias", "lhs rhs bias", *_PRODUCT, *_BIAS, _ELEMENTS)
_VECTOR: Final = (*_PRODUCT, valid_is("lhs", 0, 1))
op("tgemv", "lhs rhs", *_VECTOR, _ELEMENTS)
op("tgemv.acc", "acc lhs rhs", *_VECTOR)
op("tgemv.bias", "lhs rhs bias", *_VECTOR, *_BIAS, _ELEMENTS)
