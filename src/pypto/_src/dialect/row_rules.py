"""Legality rules that only a few tile ops of the dialect have; common ones are in `rules`.

Each returns what is wrong with an op's operands and attributes, or None; or it is a predicate. The
rules follow the measured behaviour of the real assembler. Does not know which op has which rule:
that is in `table`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from xdsl.dialects.builtin import IntegerAttr

from pypto._src.dialect.rules import A3, A5, Rule, Site, constant, fits
from pypto._src.dialect.types import DYNAMIC, ReluPreMode, element_bytes, family, is_float

MEMORY: Final = "i8 i16 i32 i64 f16 bf16 f32"
"""The element types that transfers to and from memory take."""


def scalar_is_element(tile: str = "src") -> Rule:
    """Return the rule that the scalar has the element type of ``tile``."""

    def check(site: Site) -> str | None:
        scalar, element = site.values["scalar"].type, site.element(tile)
        if scalar == element:
            return None
        return f"the scalar is {scalar} beside elements of {element}, wanted the same"

    return Rule("scalar-type", check)


def float_scalar(site: Site) -> str | None:
    """The scalar is a float."""
    if is_float(site.values["scalar"].type):
        return None
    return f"the scalar is {site.values['scalar'].type}, wanted a float"


def widens(site: Site) -> bool:
    """True for a conversion from fp16 to fp32."""
    return (family(site.element("src")), family(site.element("dst"))) == ("f16", "f32")


def count_not_negative(site: Site) -> str | None:
    """A constant count of a shift is not negative."""
    count = constant(site.values["scalar"])
    return f"the shift count is {count}" if count is not None and count < 0 else None


def concat_fits(site: Site) -> str | None:
    """The columns of both sources fit into dst."""
    parts = [site.tile(name).valid_col for name in ("src0", "src1")]
    if DYNAMIC in parts or sum(parts) <= site.tile("dst").cols:
        return None
    return f"{sum(parts)} columns in a dst of {site.tile('dst').cols}"


def row_result(site: Site) -> str | None:
    """Dst has no boxes, and one column if it is col_major."""
    dst = site.tile("dst")
    if dst.blayout == "col_major" and dst.cols != 1:
        return f"a col_major dst has one column, found {dst.cols}"
    if dst.slayout != "none_box":
        return f"dst has boxes ({dst.slayout}), wanted slayout=none_box"
    return None


def one_value_a_row(site: Site) -> str | None:
    """A row_major operand of one value per row is one block of 32 bytes wide."""
    src, size = site.tile("src1"), element_bytes(site.element("src1"))
    if src.blayout == "col_major" or not size or fits(src.valid_col, 32 // size):
        return None
    return f"src1 has {src.valid_col} valid columns, wanted {32 // size} if row_major"


def one_source_matches(site: Site) -> str | None:
    """One source has the valid shape of dst and is row_major, the other has one value per row."""
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


def no_tmp_on_a5(site: Site) -> str | None:
    """There is no scratch tile on a5."""
    return "a5 takes no tmp" if site.arch == A5 and site.has("tmp") else None


def byte_col_expand(site: Site) -> str | None:
    """8-bit elements need the module attribute, not only the option."""
    if family(site.element("src0")) != "i8" or site.declared == A5:
        return None
    return 'elements of 8 bits need the module attribute pto.target_arch = "a5"'


def major_is_aligned(name: str) -> Rule:
    """Return the rule that the size of a line of tile ``name`` is a multiple of 32 bytes."""

    def check(site: Site) -> str | None:
        tile = site.tile(name)
        major = tile.cols if tile.blayout == "row_major" else tile.rows
        size = major * (element_bytes(tile.element) or 0)
        return f"{name} has lines of {size} bytes, wanted a multiple of 32" if size % 32 else None

    return Rule("alignment", check)


def pads(site: Site) -> str | None:
    """The type of dst specifies the padding."""
    return None if site.tile("dst").pad else "dst has pad=0, wanted 1 (zero), 2 (max) or 3 (min)"


def grows(site: Site) -> str | None:
    """Dst is not smaller than src in any dimension."""
    src, dst = site.tile("src").shape, site.tile("dst").shape
    return None if all(a <= b for a, b in zip(src, dst, strict=True)) else "dst is smaller than src"


def triangle(site: Site) -> str | None:
    """The triangle is the upper or the lower one."""
    side = site.attribute("upperOrLower")
    if side is None or (isinstance(side, IntegerAttr) and side.value.data in (0, 1)):
        return None
    return "upperOrLower is neither 0 (lower) nor 1 (upper)"


def gather_operands(site: Site) -> str | None:
    """A gather has indices and a scratch tile, or a pattern that selects columns."""
    if (site.attribute("maskPattern") is None) == site.has("idx"):
        return None
    return "a gather takes idx and tmp, or maskPattern"


def takes_indices(site: Site) -> bool:
    """True for a gather by indices."""
    return site.has("idx")


def keeps_columns(site: Site) -> bool:
    """True for a gather by a mask."""
    return not site.has("idx")


def whole_columns(site: Site) -> str | None:
    """All columns of dst are valid."""
    dst = site.tile("dst")
    if fits(dst.valid_col, dst.cols):
        return None
    return f"dst has {dst.valid_col} valid columns, wanted all {dst.cols}"


def one_row_of_runs(site: Site) -> str | None:
    """The runs are in one row."""
    if site.tile("src").rows != 1:
        return f"src has {site.tile('src').rows} rows, wanted 1"
    length = constant(site.values["length"])
    if length is None or (length > 0 and length % 64 == 0):
        return None
    return f"runs of {length} elements, wanted a multiple of 64"


def pack_sizes(site: Site) -> str | None:
    """Elements become smaller, between sizes that can be packed."""
    sizes = tuple(element_bytes(site.element(name)) for name in ("src", "dst"))
    return None if sizes in ((4, 2), (4, 1), (2, 1)) else f"packs {sizes[0]} bytes to {sizes[1]}"


# Moves


def load_space(site: Site) -> str | None:
    """A load goes to a memory that it can reach."""
    found = site.tile("dst").space
    return None if site.arch == A5 or found in ("vec", "mat") else f"dst is in {found} on a3"


def _static_count(dims: tuple[int, ...]) -> int | None:
    count = 1
    for dim in dims:
        if dim == DYNAMIC:
            return None
        count *= dim
    return count


def store_count(site: Site) -> str | None:
    """The number of elements stored is that of the part of the tensor, if both are known."""
    src, dst = _static_count(site.tile("src").valid), _static_count(site.part("dst").dims)
    if src is None or dst is None or src == dst:
        return None
    return f"{src} valid elements are stored to a region of {dst}"


def store_spaces(site: Site) -> str | None:
    """A store reads from a memory that it can read."""
    where = site.tile("src").space
    allowed = ("vec", "mat", "acc") if site.arch == A3 else ("vec", "acc")
    return None if where in allowed else f"src is in {where}, wanted {' or '.join(allowed)}"


_QUANTIZED: Final = {
    (A3, "f32"): ("i8",),
    (A3, "i32"): ("i8", "f16"),
    (A5, "f32"): ("i8", "f16", "bf16", "f32"),
    (A5, "i32"): ("i8", "f16", "bf16"),
}
"""Element types that a tstore with a factor writes, by target and source type."""


def store_elements(site: Site) -> str | None:
    """The tensor's element type matches the tile's, or is one that Acc can be stored as."""
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


def store_columns(site: Site) -> str | None:
    """A tile in Acc has no more columns than one store takes on a3."""
    tile = site.tile("src")
    if tile.space != "acc" or site.arch != A3 or tile.cols <= 4095:
        return None
    return f"src has {tile.cols} columns, wanted at most 4095"


def relu_from_acc(site: Site) -> str | None:
    """Only a move from Acc can apply relu."""
    mode = site.attribute("reluPreMode")
    if mode is None or site.tile("src").space == "acc" or mode == ReluPreMode("no_relu"):
        return None
    return "reluPreMode is only for a src in acc"


_MOVES: Final = {
    "mat": ("left", "right", "bias", "scaling"),
    "vec": ("vec",),
    "acc": ("mat", "vec"),
}
"""Destinations of tmov by source memory; on a5 also from vec to mat."""


def move_spaces(site: Site) -> str | None:
    """There is a data path from the memory of src to that of dst."""
    src, dst = site.tile("src").space, site.tile("dst").space
    if dst in _MOVES.get(src, ()) or (site.arch == A5 and (src, dst) == ("vec", "mat")):
        return None
    return f"no move from {src} to {dst}"


def move_shapes(site: Site) -> str | None:
    """A tile keeps its shape, unless the data path can change it."""
    src, dst = site.tile("src"), site.tile("dst")
    if src.shape == dst.shape or (site.arch == A5 and src.space != "mat"):
        return None
    return f"src is {src.rows}x{src.cols} and dst {dst.rows}x{dst.cols}, wanted the same shape"


def vec_mode(site: Site) -> str | None:
    """Only moves from Acc to Vec have a mode."""
    if site.attribute("accToVecMode") is None:
        return None
    spaces = site.tile("src").space, site.tile("dst").space
    return None if spaces == ("acc", "vec") else "accToVecMode is only for moves from acc to vec"


EXTRACTS: Final = {
    A3: {("mat", "left"), ("mat", "right")},
    A5: {
        ("mat", "left"),
        ("mat", "right"),
        ("mat", "scaling"),
        ("vec", "vec"),
        ("vec", "mat"),
    },
}
INSERTS: Final = {A3: {("acc", "mat")}, A5: {("acc", "mat"), ("vec", "mat"), ("vec", "vec")}}


def pair_of(pairs: Mapping[str, set[tuple[str, str]]]) -> Rule:
    """Return the rule that src and dst are in one of ``pairs`` of memories, by target."""

    def check(site: Site) -> str | None:
        found = site.tile("src").space, site.tile("dst").space
        return None if found in pairs[site.arch] else f"no {found[0]} to {found[1]}"

    return Rule("address-space", check)


def part_fits(part: str, whole: str) -> Rule:
    """A part at a constant offset lies within the whole."""

    def check(site: Site) -> str | None:
        inner, outer = site.tile(part).shape, site.tile(whole).shape
        for name, size, limit in zip(("row", "col"), inner, outer, strict=True):
            offset = constant(site.values[name])
            if offset is not None and (offset < 0 or offset + size > limit):
                return f"{name} {offset} and {size} more lie outside of {limit}"
        return None

    return Rule("bounds", check)


def insert_elements(site: Site) -> str | None:
    """Src has the element type of dst, or one that can be converted to it from Acc."""
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


def insert_layout(site: Site) -> str | None:
    """From Acc to Mat, dst has the boxes of a left operand."""
    dst = site.tile("dst")
    if dst.space != "mat" or site.tile("src").space != "acc":
        return None
    good = (dst.blayout, dst.slayout, dst.fractal) == ("col_major", "row_major", 512)
    return None if good else "dst is not col_major with row_major boxes and fractal=512"


# Matrix products


_PRODUCTS: Final = {("i32", "i8", "i8"), ("f32", "f16", "f16"), ("f32", "bf16", "bf16")} | {
    ("f32", "f32", "f32")
}


def product_elements(site: Site) -> str | None:
    """The matrix unit supports this combination of element types."""
    kinds = tuple(family(site.element(name)) for name in ("dst", "lhs", "rhs"))
    if kinds in _PRODUCTS or (site.arch == A5 and kinds == ("f32", "f8", "f8")):
        return None
    return f"no product of {kinds[1]} and {kinds[2]} into {kinds[0]}"


def product_spaces(site: Site) -> str | None:
    """The operands of a product are in Left and Right, the result is in Acc."""
    found = tuple(site.tile(name).space for name in ("lhs", "rhs", "dst"))
    return (
        None
        if found == ("left", "right", "acc")
        else (f"operands in {', '.join(found)}, wanted left, right, acc")
    )


def product_shapes(site: Site) -> str | None:
    """The shapes are those of a product."""
    lhs, rhs, dst = (site.tile(name).shape for name in ("lhs", "rhs", "dst"))
    good = lhs[1] == rhs[0] and dst == (lhs[0], rhs[1])
    return None if good else f"shapes {lhs}, {rhs} into {dst}, wanted [M, K], [K, N], [M, N]"


def product_sizes(site: Site) -> str | None:
    """Valid sizes that are known are from 1 to 4095."""
    sizes = (*site.tile("lhs").valid, site.tile("rhs").valid_col)
    bad = [size for size in sizes if size != DYNAMIC and not 1 <= size <= 4095]
    return f"a valid size is {bad[0]}, wanted 1 to 4095" if bad else None


def product_layouts(site: Site) -> str | None:
    """On a5 all layouts are checked, except the order of a left tile, which is always right."""
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


def one_bias_row(site: Site) -> str | None:
    """The bias is one row."""
    rows = site.tile("bias").rows
    return None if rows == 1 else f"bias has {rows} rows, wanted 1"
