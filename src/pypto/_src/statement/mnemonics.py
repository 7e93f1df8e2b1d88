"""The mnemonics of the statement form: one table between them and the IR, used in both directions.

Owns the names of element types, scalar operators, ops, function kinds and directions, and how names
and strings are quoted. The mnemonics of ops follow from their definitions; no op is named here.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, Final

from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import FunctionType, ParamDirection
from pypto._src.ir.exprs import Expr, Op
from pypto._src.ir.op_params import ATTR, AXIS, INTS, KIND_TYPES, REQUIRED, TILE, Param
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.scalar_ops import ROWS
from pypto._src.ir.types import Type, UnknownType
from pypto._src.ops.lookup import REGISTRY
from pypto._src.records import NamedTuple

# --------------------------------------------------------------------------------------------
# Element types, kinds, marks
# --------------------------------------------------------------------------------------------

_DTYPE_WORDS: Final = {DataType.BF16: "bf16"}
DTYPE_WORD: Final[dict[DataType, str]] = {
    dtype: _DTYPE_WORDS.get(dtype, dtype.text) for dtype in MEMBERS.values()
}
"""The printed name of each element type."""

DTYPES: Final[dict[str, DataType]] = {
    **{dtype.text: dtype for dtype in MEMBERS.values()},
    **{word: dtype for dtype, word in DTYPE_WORD.items()},
    "index": DataType.INDEX,
    "fp8": DataType.FP8E4M3FN,
}
"""The element type that each word is read as."""

KIND_WORD: Final = {
    FunctionType.Orchestration: "control_flow",
    FunctionType.Opaque: "dataflow",
    FunctionType.InCore: "kernel",
}
KINDS: Final = {word: kind for kind, word in KIND_WORD.items()}
MARK: Final = {
    ParamDirection.In: "#in",
    ParamDirection.Out: "#out",
    ParamDirection.InOut: "#inout",
}
MARKS: Final = {word: direction for direction, word in MARK.items()}

# --------------------------------------------------------------------------------------------
# Scalar operators
# --------------------------------------------------------------------------------------------

SCALAR_PREFIX: Final = "tensor.OP_SCALAR_"
SCALARS: Final = {SCALAR_PREFIX + row.mnemonic: row.node for row in ROWS}
SCALAR_WORD: Final[dict[type, str]] = {cls: word for word, cls in SCALARS.items()}

SELECT: Final = SCALAR_PREFIX + "ITE"
"""``ITE c, a, b``: read as a branch that yields ``a`` or ``b``."""

_ASSIGN_WORDS: Final = {
    TensorType: "tensor.assign",
    TileType: "tile.OP_ASSIGN",
}
_SCALAR_ASSIGN: Final = SCALAR_PREFIX + "ASSIGN"
_OTHER_ASSIGN: Final = "value.assign"
ASSIGNS: Final = frozenset(
    {*_ASSIGN_WORDS.values(), _SCALAR_ASSIGN, _OTHER_ASSIGN, SCALAR_PREFIX + "POS"}
)
"""Mnemonics whose value is their operand."""

FREE: Final = "value.free"
"""A variable that the function uses without defining it."""
CONSTANT: Final = "value.constant"
"""An int constant of a float type, such as the integer 1 as an fp16, or the reverse."""
MAKE_TUPLE: Final = "tuple.make"
GET_ITEM: Final = "tuple.get"
MAKE_MEMREF: Final = "memref.make"
CALL: Final = "call"
OTHER_OP: Final = "op"
"""``op @"name"``: an unregistered op, or one called with other operands than it declares."""


def assign_word(value: Expr) -> str:
    """Return the mnemonic for assigning ``value`` to another name."""
    kind: Type = value.type
    if isinstance(kind, TensorType | TileType):
        return _ASSIGN_WORDS[type(kind)]
    known = hasattr(kind, "dtype")
    return _SCALAR_ASSIGN if known else _OTHER_ASSIGN


# --------------------------------------------------------------------------------------------
# Registered ops
# --------------------------------------------------------------------------------------------


class Spelling(NamedTuple):
    """How calls of one op are written."""

    word: str
    op: Op
    params: tuple[Param, ...]  # the operands, in the order of the call
    values: tuple[int, ...]  # positions of the operands that are values, in text order
    lists: dict[str, int]  # attribute to position of the operand written as it
    keywords: dict[str, str]  # the other attributes, with the texts of their types
    lists_scalars: bool  # scalar values are in the type list themselves, as in document 004

    def takes(self, kinds: tuple[Type, ...]) -> bool:
        """True if operands of the types ``kinds`` fit the op's."""
        return len(kinds) == len(self.values) and all(
            isinstance(kind, UnknownType | KIND_TYPES[self.params[at].kind])
            for at, kind in zip(self.values, kinds, strict=True)
        )

    @property
    def signature(self) -> str:
        """Names and kinds of the operands in text order."""
        return ", ".join(f"{self.params[at].name}: {self.params[at].kind}" for at in self.values)


class _Table(NamedTuple):
    by_op: dict[str, Spelling]  # by the name of the op
    by_word: dict[str, list[Spelling]]


_FAMILIES: Final = {"block": "tile"}
"""The level of ops to the first part of their mnemonics, where it differs."""

_TILE, _INTS = Param("", TILE, REQUIRED), Param("", INTS, REQUIRED)
_UNREGISTERED: Final = (
    Spelling(
        "tile.assemble",
        Op("block.assemble"),
        (
            _TILE._replace(name="target"),
            _TILE._replace(name="source"),
            _INTS._replace(name="offset"),
        ),
        (1, 0),
        {"offset": 2},
        {},
        lists_scalars=False,
    ),
)
"""Mnemonics of document 004 for unregistered ops. They mean the op of that name if one is
registered."""


@cache
def _table() -> _Table:
    """Return the table for the registered ops."""
    table = _Table({}, {})
    taken: dict[tuple[str, tuple[str, ...]], None] = {}
    # An op that gives its name to variants comes before them.
    ops = sorted(REGISTRY.values(), key=lambda op: _base(op) != _own(op))
    for op in ops:
        spelling = _spelling(op, _base(op))
        if (spelling.word, _kinds(spelling)) in taken:
            spelling = _spelling(op, _own(op))
        taken[spelling.word, _kinds(spelling)] = None
        table.by_op[op.name] = spelling
        table.by_word.setdefault(spelling.word, []).append(spelling)
    for spelling in _UNREGISTERED:
        if spelling.op.name not in table.by_op:
            table.by_op[spelling.op.name] = spelling
            table.by_word.setdefault(spelling.word, []).append(spelling)
    for op in ops:
        for word in _other_words(op):
            spelling = table.by_op[op.name]
            if (word, _kinds(spelling)) not in taken:
                taken[word, _kinds(spelling)] = None
                table.by_word.setdefault(word, []).append(spelling)
    return table


def _own(op: OpDef[..., Any]) -> str:
    return op.name.partition(".")[2]


def _base(op: OpDef[..., Any]) -> str:
    """Return the name of the op that ``op`` is a variant of: ``add`` for ``block.adds``."""
    shared = op.overload.rstrip("_")
    return shared if f"{op.level}.{shared}" in REGISTRY else _own(op)


def _spelling(op: OpDef[..., Any], name: str) -> Spelling:
    params = list(enumerate(op.operands))
    values = [at for at, param in params if param.kind not in (INTS, AXIS)]
    values.sort(key=lambda at: at in op.writes)  # written operands come last
    for known in _UNREGISTERED:  # of an op that is registered after all
        if known.op.name == op.name:
            values = list(known.values)
    lists = {param.name: at for at, param in params if param.kind in (INTS, AXIS)}
    family = _FAMILIES.get(op.level, op.level)
    # Tile ops that take a region or a shape move data; the others compute.
    computes = family != op.level and all(param.kind != INTS for _, param in params)
    word = f"{family}.OP_{name.upper()}" if computes else f"{family}.{name}"
    keywords = {param.name: param.attr_type for param in op.params if param.kind == ATTR}
    on_tensors = op.level == "tensor"
    return Spelling(word, op, op.operands, tuple(values), lists, keywords, on_tensors)


def _kinds(spelling: Spelling) -> tuple[str, ...]:
    return tuple(spelling.params[at].kind for at in spelling.values)


def _other_words(op: OpDef[..., Any]) -> list[str]:
    family = _FAMILIES.get(op.level, op.level)
    names = dict.fromkeys((_base(op), _own(op)))
    words = [f"{family}.{name}" for name in names]
    if family != op.level:
        words += [f"{family}.OP_{name.upper()}" for name in names]
    return [*words, op.name]


def spelling_of(op: Op) -> Spelling | None:
    """Return how calls of an op are written, None for one without a mnemonic."""
    return _table().by_op.get(op.name)


def spellings(word: str) -> list[Spelling]:
    """Return the ops that ``word`` may mean; the operands decide."""
    return _table().by_word.get(word, [])


def op_words() -> list[str]:
    """Return every mnemonic that can begin the right side of an op."""
    return [
        *_table().by_word,
        *SCALARS,
        *ASSIGNS,
        SELECT,
        FREE,
        CONSTANT,
        MAKE_TUPLE,
        GET_ITEM,
        MAKE_MEMREF,
    ]


# --------------------------------------------------------------------------------------------
# Names and texts
# --------------------------------------------------------------------------------------------

_PLAIN_NAME: Final = re.compile(r"[\w$][\w$.]*")
_PLAIN_KEY: Final = re.compile(r"[^\W\d]\w*")


def quoted(text: str) -> str:
    """Return ``text`` in quotation marks, as JSON writes it."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return json.dumps(text)


def name_text(name: str) -> str:
    """Return a name as it is written after ``%`` or ``@``."""
    return name if _PLAIN_NAME.fullmatch(name) else quoted(name)


def key_text(name: str) -> str:
    """Return a name as it is written before ``=``."""
    return name if _PLAIN_KEY.fullmatch(name) else quoted(name)
