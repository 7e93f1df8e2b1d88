"""The common rules in rows of the op table: each a name and a check of one op.

A rule looks at the named operands of an op and says what is wrong with them, for one target. Knows
no op by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from pypto._src.dialect.types import (
    DYNAMIC,
    Dims,
    PartitionType,
    Tile,
    TileType,
    dims_text,
    element_bytes,
    family,
    is_signless,
)
from pypto._src.records import NamedTuple

A3: Final = "a3"
A5: Final = "a5"
ARCHS: Final = (A3, A5)


RULES: Final[Mapping[str, str]] = {
    "address-space": "a tile is in a memory that the op takes",
    "alignment": "a line of a tile fills whole blocks of 32 bytes",
    "attribute": "an attribute has a value that the op knows",
    "bounds": "constant offsets and sizes stay inside of what they cut",
    "call": "a call fits the function that it names",
    "carried-half": "scf.for and scf.if hand on no f16 and no bf16",
    "carried-tile": "a loop carries no tile",
    "cast": "a cast goes between types that it can go between",
    "declaration": "a function without a body is private",
    "dominance": "a value is given before it is used",
    "element-size": "elements have a size that the op takes",
    "element-type": "elements have a type that the op takes on the target",
    "entry": "an entry returns nothing",
    "ffts": "a3 says where flags between cores are kept",
    "in-place": "operands that must not be one tile are two",
    "index-cast": "no cast between i32 and index that the assembler stumbles over",
    "layout": "tiles and views have a layout that the op takes",
    "level": "addresses are given at level 3 and only there",
    "memory": "the live tiles fit the memories when the assembler places them",
    "not-lowered": "the assembler has C++ for the op",
    "operand-count": "optional operands are there when the form or the target wants them",
    "operands": "operands are of the number and kinds that the op takes",
    "padding": "a tile that is filled says with what",
    "parameter-type": "functions take and return pointers and numbers",
    "part-of-reshape": "a subset is not of what a treshape gives",
    "pipe": "a pipe takes part in what the op does",
    "pto-syntax": "the text is of the dialect's form, and a value is used as the type that it has",
    "rank": "views and parts have a size for each dimension, at most 5",
    "recursion": "no function calls itself",
    "result-count": "a function returns at most one value",
    "same-element": "operands have the same element type",
    "same-element-size": "operands have elements of the same size",
    "scalar-type": "a scalar is of a type that fits the tile",
    "section": "a section holds no scf.while",
    "shape": "rows and columns of operands fit together",
    "shift-count": "a constant shift count is not negative",
    "structure": "blocks, regions, symbols and types are what MLIR asks for",
    "target": "the target has the op",
    "valid-operand": "valid sizes are given exactly where the type leaves them open",
    "valid-shape": "valid rows and columns of operands fit together",
    "while-body": "an scf.while with an scf.if or scf.for is in no scf op and around no while",
    "yields": "loops and branches hand on the values that their results have",
}
"""Every rule by its name, with its requirement."""


@dataclass(frozen=True)
class Site:
    """One op as its rules see it: operands by name, attributes, and the target."""

    op: Operation
    values: Mapping[str, SSAValue]
    arch: str
    declared: str
    """The target that the module's attribute names, a3 by default."""

    def has(self, name: str) -> bool:
        """True if the op has the optional operand ``name``."""
        return name in self.values

    def tile(self, name: str) -> Tile:
        """Return the tile type of operand ``name``."""
        kind = self.values[name].type
        assert isinstance(kind, TileType)
        return kind.data

    def tiles(self, names: Collection[str]) -> list[Tile]:
        """Return the tile types of the operands in ``names`` that are present."""
        return [self.tile(name) for name in names if name in self.values]

    def part(self, name: str) -> Dims:
        """Return the dimensions of the partition view ``name``."""
        kind = self.values[name].type
        assert isinstance(kind, PartitionType)
        return kind.data

    def element(self, name: str) -> Attribute:
        """Return the element type of a tile or view, or the type of a scalar."""
        kind = self.values[name].type
        return kind.data.element if isinstance(kind, TileType | PartitionType) else kind

    def attribute(self, name: str) -> Attribute | None:
        """Return an attribute, wherever the op keeps it."""
        return attribute_of(self.op, name)


class Rule(NamedTuple):
    """A named requirement; ``check`` returns what is wrong, or None."""

    id: str
    check: Callable[[Site], str | None]


class Broken(NamedTuple):
    """A rule that an op breaks, and how."""

    rule: str
    message: str


def attribute_of(op: Operation, name: str) -> Attribute | None:
    """Return an attribute of an op, wherever the op keeps it."""
    found = op.attributes.get(name)
    return op.properties.get(name) if found is None else found


def constant(value: SSAValue) -> int | None:
    """Return the number of a value defined by ``arith.constant``, None for other values."""
    if not isinstance(value, OpResult) or value.op.name != "arith.constant":
        return None
    number = attribute_of(value.op, "value")
    return number.value.data if isinstance(number, IntegerAttr) else None


# --------------------------------------------------------------------------------------------
# Small comparisons
# --------------------------------------------------------------------------------------------


def fits(a: int, b: int) -> bool:
    """True if two sizes can be equal: a size known only at run time matches any."""
    return DYNAMIC in (a, b) or a == b


def _pairs(site: Site, names: tuple[str, ...]) -> list[tuple[str, str]]:
    present = [name for name in names if site.has(name)]
    return [(present[0], other) for other in present[1:]]


# --------------------------------------------------------------------------------------------
# Element types
# --------------------------------------------------------------------------------------------


def elements(
    name: str, a3: str, a5: str | None = None, *, signless: bool = False, rule: str = "element-type"
) -> Rule:
    """Operand ``name`` has one of the element types, whatever the signedness of integers."""
    wanted = {A3: a3.split(), A5: (a3 if a5 is None else a5).split()}

    def check(site: Site) -> str | None:
        if not site.has(name):
            return None
        element = site.element(name)
        good = family(element) in wanted[site.arch]
        if good and signless and family(element).startswith("i"):
            good = is_signless(element)
        if good:
            return None
        return f"{name} has elements of {element}, wanted {', '.join(wanted[site.arch])}"

    return Rule(rule, check)


def element_sizes(name: str, a3: str, a5: str | None = None) -> Rule:
    """Operand ``name`` has elements of one of the sizes in bytes."""
    wanted = {A3: a3.split(), A5: (a3 if a5 is None else a5).split()}

    def check(site: Site) -> str | None:
        size = element_bytes(site.element(name))
        if str(size) in wanted[site.arch]:
            return None
        return f"{name} has elements of {site.element(name)}, wanted {wanted[site.arch]} bytes each"

    return Rule("element-size", check)


def same_element(*names: str) -> Rule:
    """The operands have the same element type."""

    def check(site: Site) -> str | None:
        for first, other in _pairs(site, names):
            a, b = site.element(first), site.element(other)
            if a != b:
                return f"{first} has elements of {a} and {other} of {b}, wanted the same"
        return None

    return Rule("same-element", check)


def same_element_size(*names: str) -> Rule:
    """The operands have elements of the same size."""

    def check(site: Site) -> str | None:
        for first, other in _pairs(site, names):
            a, b = site.element(first), site.element(other)
            if element_bytes(a) != element_bytes(b):
                return f"{first} has elements of {a} and {other} of {b}, wanted the same size"
        return None

    return Rule("same-element-size", check)


# --------------------------------------------------------------------------------------------
# Shapes
# --------------------------------------------------------------------------------------------


def same_valid(*names: str, dims: str = "01") -> Rule:
    """The operands have the same valid rows (``0``) and columns (``1``)."""

    def check(site: Site) -> str | None:
        for first, other in _pairs(site, names):
            a, b = site.tile(first).valid, site.tile(other).valid
            if not all(fits(a[int(dim)], b[int(dim)]) for dim in dims):
                return (
                    f"{first} has the valid shape {dims_text(a)} and {other} {dims_text(b)}, "
                    "wanted the same"
                )
        return None

    return Rule("valid-shape", check)


def valid_is(name: str, dim: int, wanted: int) -> Rule:
    """The valid rows (0) or columns (1) of ``name`` are ``wanted``."""

    def check(site: Site) -> str | None:
        tile = site.tile(name)
        if fits(tile.valid[dim], wanted):
            return None
        what = ("rows", "columns")[dim]
        return f"{name} has {tile.valid[dim]} valid {what}, wanted {wanted}"

    return Rule("valid-shape", check)


def valid_covers(big: str, *names: str) -> Rule:
    """The valid shape of each operand is not larger than that of ``big``."""

    def check(site: Site) -> str | None:
        limit = site.tile(big).valid
        for name in names:
            valid = site.tile(name).valid
            if any(DYNAMIC not in (a, b) and a > b for a, b in zip(valid, limit, strict=True)):
                found, most = dims_text(valid), dims_text(limit)
                return f"{name} has the valid shape {found}, wanted at most {most}"
        return None

    return Rule("valid-shape", check)


def valid_fits(*names: str) -> Rule:
    """The valid shape of each operand lies within its rows and columns."""

    def check(site: Site) -> str | None:
        for name in names:
            tile = site.tile(name)
            if any(a > b for a, b in zip(tile.valid, tile.shape, strict=True)):
                return (
                    f"{name} has the valid shape {dims_text(tile.valid)} in "
                    f"{dims_text(tile.shape)} elements"
                )
        return None

    return Rule("valid-shape", check)


def same_shape(*names: str) -> Rule:
    """The operands have the same rows and columns."""

    def check(site: Site) -> str | None:
        for first, other in _pairs(site, names):
            a, b = site.tile(first).shape, site.tile(other).shape
            if a != b:
                return (
                    f"{first} is {dims_text(a)} and {other} {dims_text(b)}, wanted the same shape"
                )
        return None

    return Rule("shape", check)


# --------------------------------------------------------------------------------------------
# Layouts and memories
# --------------------------------------------------------------------------------------------


def row_major(*names: str) -> Rule:
    """The operands are stored row by row."""

    def check(site: Site) -> str | None:
        for name in names:
            if site.has(name) and site.tile(name).blayout != "row_major":
                return f"{name} is col_major, wanted row_major"
        return None

    return Rule("layout", check)


def plain(*names: str) -> Rule:
    """The operands have no inner boxes."""

    def check(site: Site) -> str | None:
        for name in names:
            slayout = site.tile(name).slayout
            if slayout != "none_box":
                return f"{name} has boxes ({slayout}), wanted slayout=none_box"
        return None

    return Rule("layout", check)


def space(wanted: str, *names: str) -> Rule:
    """The operands are in one of the memories."""

    def check(site: Site) -> str | None:
        for name in names:
            if site.has(name) and site.tile(name).space not in wanted.split():
                return f"{name} is in {site.tile(name).space}, wanted {' or '.join(wanted.split())}"
        return None

    return Rule("address-space", check)


def storage_differs(*names: str) -> Rule:
    """No two of the operands are the same tile."""

    def check(site: Site) -> str | None:
        present = [name for name in names if site.has(name)]
        for index, first in enumerate(present):
            for other in present[index + 1 :]:
                if site.values[first] is site.values[other]:
                    return f"{first} and {other} are one tile, wanted two"
        return None

    return Rule("in-place", check)


# --------------------------------------------------------------------------------------------
# Combination
# --------------------------------------------------------------------------------------------


def on(arch: str, *rules: Rule) -> tuple[Rule, ...]:
    """Return rules that hold only for one target."""
    return tuple(unless(rule, lambda site: site.arch != arch) for rule in rules)


def only(arch: str, *, by_attribute: bool = False) -> Rule:
    """The op exists only on one target; with ``by_attribute`` the module must name it, too."""

    def check(site: Site) -> str | None:
        if site.arch != arch:
            return f"only {arch} has this op"
        if by_attribute and site.declared != arch:
            return f'this op needs the module attribute pto.target_arch = "{arch}"'
        return None

    return Rule("target", check)


def unless(rule: Rule, holds: Callable[[Site], bool]) -> Rule:
    """Return a rule that applies unless ``holds``."""

    def check(site: Site) -> str | None:
        return None if holds(site) else rule.check(site)

    return Rule(rule.id, check)


def first_broken(rules: Collection[Rule], site: Site) -> Broken | None:
    """Return the first rule that an op breaks."""
    for rule in rules:
        message = rule.check(site)
        if message is not None:
            return Broken(rule.id, message)
    return None
