"""Scalar code of the PTO emitter, executed the way the assembler's C++ would execute it.

`Machine` runs straight-line arith text with the measured faults of the translation: results of
wrapping integer operations are unsigned, so that a widening cast zero-extends them.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from random import Random
from typing import Any, Final

import pytest

from pypto._src.dtypes import DataType
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.emit.pto.int64 import exceeds_index
from pypto._src.ir.enums import FunctionType
from pypto._src.ir.exprs import (
    Abs,
    Add,
    And,
    BinaryExpr,
    Cast,
    ConstFloat,
    ConstInt,
    Eq,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    Ge,
    Lt,
    Max,
    Min,
    Mul,
    Ne,
    Neg,
    Not,
    Pow,
    Sub,
    UnaryExpr,
    Var,
)
from pypto._src.ir.stmts import AssignStmt, Function, Program
from pypto._src.ir.types import scalar_type

D = DataType
INTEGERS: Final = (D.INT8, D.INT16, D.INT32, D.INT64)
KINDS: Final = (*INTEGERS, D.FP64)
LIMITS: Final = {D.INT8: 7, D.INT16: 15, D.INT32: 31, D.INT64: 63}

Number = int | float


def bits(type_: str) -> int:
    return 32 if type_ == "index" else int(type_[1:])


def wrapped(value: int, type_: str) -> int:
    half = 1 << (bits(type_) - 1)
    return (value + half) % (2 * half) - half


PREDICATES: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "eq": operator.eq, "oeq": operator.eq, "ne": operator.ne, "une": operator.ne,
    "slt": operator.lt, "olt": operator.lt, "sge": operator.ge, "oge": operator.ge,
    "ogt": operator.gt,
}  # fmt: skip
WRAPPING: Final[dict[str, Callable[[Any, Any], int]]] = {
    "addi": operator.add, "subi": operator.sub, "muli": operator.mul,
    "floordivsi": lambda a, b: a // b,
}  # fmt: skip
PLAIN: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "minsi": min, "maxsi": max, "minimumf": min, "maximumf": max, "remf": math.fmod,
    "subf": operator.sub, "mulf": operator.mul, "divf": lambda a, b: a / b,
}  # fmt: skip


class Machine:
    """Values of SSA names, and which of them the C++ holds as unsigned."""

    def __init__(self, inputs: dict[str, Number]) -> None:
        self.values: dict[str, Any] = dict(inputs)
        self.unsigned: set[str] = set()

    def run(self, line: str) -> str:
        """Execute ``%n = arith.op ...``; return the name."""
        name, op, rest = re.fullmatch(r"(%\S+) = arith\.(\w+) (.*)", line.strip()).groups()  # pyright: ignore[reportOptionalMemberAccess]
        left, _, type_ = rest.rpartition(" : ")
        words = left.replace(",", "").split()
        if op == "constant":
            truth = {"true": True, "false": False}.get(rest)
            number = float if type_.startswith("f") else int
            self.values[name] = number(left) if truth is None else truth
        elif op == "select":
            self.values[name] = self.values[words[1] if self.values[words[0]] else words[2]]
        elif op in ("cmpi", "cmpf"):
            self.values[name] = PREDICATES[words[0]](*(self.values[w] for w in words[1:]))
        elif op in WRAPPING:
            self.values[name] = wrapped(WRAPPING[op](*(self.values[w] for w in words)), type_)
            self.unsigned.add(name)
        elif op in PLAIN:
            self.values[name] = PLAIN[op](*(self.values[w] for w in words))
        elif op == "negf":
            self.values[name] = -self.values[words[0]]
        else:
            self._cast(name, op, words[0], *type_.split(" to "))
        return name

    def _cast(self, name: str, op: str, operand: str, source: str, target: str) -> None:
        value = self.values[operand]
        if op in ("extsi", "sitofp", "index_cast") and operand in self.unsigned:
            value %= 1 << bits(source)
        if op in ("extsi", "index_cast", "trunci", "extui"):
            self.values[name] = wrapped(int(value), target)
            if op in ("trunci", "extui") or (op == "index_cast" and operand in self.unsigned):
                self.unsigned.add(name)
        elif op == "sitofp":
            self.values[name] = float(value)
        else:
            assert op == "fptosi"
            self.values[name] = wrapped(math.trunc(value), target)


def reference(value: Expr, inputs: dict[str, Number]) -> Any:
    """Evaluate with Python's numbers.

    Raises:
        OverflowError: an integer does not fit its type.
    """
    match value:
        case Var():
            return inputs[value.name]
        case ConstInt() | ConstFloat():
            return value.value
        case BinaryExpr():
            result = type(value).fold(reference(value.left, inputs), reference(value.right, inputs))
        case UnaryExpr():
            operand = reference(value.operand, inputs)
            dtype = dtype_of(value)
            is_cast = isinstance(value, Cast)
            result = type(value).fold(operand)
            if is_cast:
                result = float(operand) if dtype is D.FP64 else math.trunc(operand)
        case _:
            raise AssertionError(value)
    limit = LIMITS.get(dtype_of(value))
    if limit is not None and not -(1 << limit) <= result < 1 << limit:
        raise OverflowError
    return result


def dtype_of(value: Any) -> DataType:
    return value.type.dtype


VARIABLES: Final = {d: Var(d.text, scalar_type(d)) for d in KINDS}
BINARY: Final = (Add, Sub, Sub, Mul, FloorDiv, FloorMod, Min, Max)


def draw(random: Random, dtype: DataType, depth: int) -> Expr:
    """Draw an expression of type ``dtype``."""
    choice = random.randrange(8)
    if depth == 0 or choice == 0:
        return VARIABLES[dtype]
    if choice == 1:
        number = random.randrange(-5, 6)
        return ConstFloat(number / 2, dtype) if dtype is D.FP64 else ConstInt(number, dtype)
    if choice <= 3:
        return Cast(draw(random, random.choice(KINDS), depth - 1), dtype)
    if choice == 4:
        kind = random.choice((Neg, Abs))
        return kind(draw(random, dtype, depth - 1), dtype)
    options = (*BINARY, FloatDiv) if dtype is D.FP64 else BINARY
    kind = random.choice(options)
    return kind(draw(random, dtype, depth - 1), draw(random, dtype, depth - 1), dtype)


def lines_of(value: Expr) -> list[str]:
    """Return the arith lines that compute ``value``, constants first."""
    stmt = AssignStmt(var=Var("value", value.type), value=value)
    function = Function("k", list(VARIABLES.values()), [], stmt, type=FunctionType.InCore)
    text = PTOCodegen().generate(Program([function], "p"))
    return [line for line in text.splitlines() if " = arith." in line]


def executed(value: Expr, inputs: dict[str, Number]) -> Any:
    """Return what the emitted code computes."""
    machine = Machine({f"%arg{i}": inputs[v.name] for i, v in enumerate(VARIABLES.values())})
    name = ""
    for line in lines_of(value):
        name = machine.run(line)
    return machine.values[name]


@pytest.mark.parametrize("seed", range(40))
def test_scalar_code_computes_what_the_expression_says(seed: int) -> None:
    """Random expressions of five number types have the same value as in Python, despite faults."""
    random = Random(seed)
    compared = 0
    while compared < 10:
        kind = random.choice(KINDS)
        # The outermost operation ensures that there is code.
        value = Neg(Cast(draw(random, kind, 4), D.FP64), D.FP64)
        inputs: dict[str, Number] = {d.text: random.randrange(-9, 10) for d in INTEGERS}
        inputs[D.INT64.text] = random.randrange(-9, 10) << random.choice((0, 0, 29, 31, 50))
        inputs[D.FP64.text] = random.randrange(-40, 41) / 4
        try:
            expected = reference(value, inputs)
        except (OverflowError, ZeroDivisionError):
            continue
        found = executed(value, inputs)
        assert math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-12), (str(value), found)
        compared += 1


@pytest.mark.parametrize("kind", [Eq, Ne, Lt, Ge])
def test_comparisons_compute_truth_values(kind: type[BinaryExpr]) -> None:
    """Comparisons of differences are right although these are kept as unsigned."""
    narrow = VARIABLES[D.INT8]
    compare = kind(Sub(narrow, 5, D.INT8), ConstInt(-2, D.INT8), D.BOOL)
    for number in (2, 3, 4):
        inputs: dict[str, Number] = dict.fromkeys((d.text for d in KINDS), number)
        assert executed(compare, inputs) is kind.fold(number - 5, -2)


LARGE: Final = (1 << 31, -(1 << 31) - 1, (1 << 40) + 1, (1 << 53) - 1, -(1 << 63))


@pytest.mark.parametrize("number", LARGE)
def test_integers_of_64_bits_keep_their_value(number: int) -> None:
    """All bits of an INT64 are computed and compared, though ``index`` has 32."""
    inputs: dict[str, Number] = dict.fromkeys((d.text for d in KINDS), 1)
    inputs[D.INT64.text] = number
    wide, narrow = VARIABLES[D.INT64], VARIABLES[D.INT32]
    assert executed(Cast(wide, D.FP64), inputs) == float(number)
    assert executed(Cast(wide // 3, D.FP64), inputs) == float(number // 3)
    assert executed(Cast(wide % 1000, D.INT32), inputs) == number % 1000
    assert executed(Lt(wide, ConstInt(0), D.BOOL), inputs) is (number < 0)
    assert executed(Eq(wide, narrow, D.BOOL), inputs) is False
    power = Pow(Add(wide - wide, Cast(narrow, D.INT64), D.INT64) * 10, 15, D.INT64)
    assert executed(Cast(power, D.FP64), inputs) == 1e15


@pytest.mark.parametrize("kind", [D.UINT32, D.UINT64, D.FP64])
def test_comparisons_of_other_types_keep_all_bits(kind: DataType) -> None:
    """What does not fit in 32 bits is not compared as an index, whatever is computed from it."""
    value = Cast(Var("value", scalar_type(kind)), D.INT64)
    assert exceeds_index(Neg(value + 1, D.INT64))
    assert exceeds_index(ConstInt(1 << 31) - 1)
    assert exceeds_index(Cast(VARIABLES[D.INT32], D.INT64) * 7)
    assert not exceeds_index(Cast(VARIABLES[D.INT32], D.INT64) // 7)


def test_a_large_float_is_compared_as_an_integer() -> None:
    """It is not truncated to the bits of an index first."""
    inputs: dict[str, Number] = dict.fromkeys((d.text for d in KINDS), 2.0**32)
    whole = Cast(VARIABLES[D.FP64], D.INT64)
    assert executed(Eq(whole, ConstInt(0), D.BOOL), inputs) is False
    assert executed(Ge(whole + 1, ConstInt(1 << 32), D.BOOL), inputs) is True


def test_a_product_of_small_integers_is_compared_in_64_bits() -> None:
    """Its operands fit in an index, but the product does not."""
    inputs: dict[str, Number] = dict.fromkeys((d.text for d in KINDS), 1 << 20)
    inputs[D.INT8.text] = inputs[D.INT16.text] = 1
    small = Cast(VARIABLES[D.INT32], D.INT64)
    assert executed(Ge(small * small, ConstInt(1 << 30), D.BOOL), inputs) is True
    assert executed(Eq(small * 4096, ConstInt(0), D.BOOL), inputs) is False
    assert executed(Lt(small + 0x7FFFFFFF, ConstInt(0), D.BOOL), inputs) is False


def test_a_large_integer_is_true() -> None:
    """Truth is decided on all bits, of which an index has the lower half."""
    inputs: dict[str, Number] = dict.fromkeys((d.text for d in KINDS), 2.0**32)
    whole = Cast(VARIABLES[D.FP64], D.INT64)
    assert executed(Not(whole, D.BOOL), inputs) is False
    assert executed(And(whole, whole * 2, D.BOOL), inputs) is True
    assert executed(Cast(whole, D.BOOL), inputs) is True


@pytest.mark.parametrize("number", LARGE)
def test_a_place_may_be_made_of_a_large_integer(number: int) -> None:
    """Quotient, remainder and minimum are computed on all bits."""
    inputs: dict[str, Number] = dict.fromkeys((d.text for d in KINDS), 1)
    inputs[D.INT64.text] = number
    wide = VARIABLES[D.INT64]
    assert executed(wide % 7, inputs) == number % 7
    assert executed(wide // (1 << 40), inputs) == number // (1 << 40)
    bounded = Max(Min(wide, ConstInt(9), D.INT64), ConstInt(2), D.INT64)
    assert executed(bounded, inputs) == max(min(number, 9), 2)


def test_an_integer_of_which_places_depend_alone_has_32_bits() -> None:
    """A size or offset is ``index``, which the assembler requires there."""
    text = "\n".join(lines_of(VARIABLES[D.INT64] * 2))
    assert "muli" in text
    assert ": i64\n" not in text


def test_the_machine_has_the_fault() -> None:
    """Casting a negative difference directly gives a wrong value here, as in the C++."""
    machine = Machine({"%a": 2, "%b": 5})
    machine.run("%d = arith.subi %a, %b : i32")
    machine.run("%w = arith.extsi %d : i32 to i64")
    assert machine.values["%w"] == 4294967293
