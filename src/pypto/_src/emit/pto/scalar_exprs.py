"""Scalar expressions in the PTO dialect: arith operations, with workarounds for their traps.

The assembler accepts forms that it then translates wrongly, or dies on. Each is handled once here,
marked "Trap"; the measurements are in the dialect sheet, section 8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Final

from pypto._src.dtypes import DataType
from pypto._src.emit.pto.function_body import Body
from pypto._src.emit.pto.int64 import exceeds_index, is_int64, parts
from pypto._src.emit.pto.types import scalar_dtype, value_type
from pypto._src.errors import EmitError, of_type
from pypto._src.ir.exprs import (
    COMPARISONS,
    LOGICAL,
    Abs,
    Add,
    And,
    BinaryExpr,
    BitNot,
    Call,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    FloorDiv,
    FloorMod,
    Ne,
    Neg,
    Not,
    Or,
    Pow,
    UnaryExpr,
    Var,
)
from pypto._src.ir.scalar_ops import BINARY, DECOMPOSED, decomposed
from pypto._src.records import NamedTuple

_KEEP_NATURAL: Final = ("addi", "muli", "floordivsi")
_MAX_UNROLLED_POWER: Final = 64


class _Operand(NamedTuple):
    """The name of an operator's operand, and whether it is an INT64 held as i64."""

    name: str
    is_long: bool


class Scalars:
    """Gives every scalar expression an SSA name, writing what computes it into a `Body`.

    A value of type INT64 is ``index``, or ``i64`` where all its bits are needed (`int64`).

    Args:
        body: Collects the lines.
        long: The variables of type INT64 that are ``i64``.
    """

    call: Callable[[Call, bool], str]
    """Emits a call with a scalar value, an INT64 as i64 if the second argument says so; set by
    `calls`, which needs the scalars for it."""

    def __init__(self, body: Body, long: Set[Expr]) -> None:
        self.body = body
        self.long = long
        self.names: dict[Expr, str] = {}  # names of variables
        self.symbols: dict[str, str] = {}  # symbolic dimensions by their name
        # Shared subexpressions of the current statement: in their own type, and as i64.
        self._known: tuple[dict[Expr, str], dict[Expr, str]] = {}, {}
        self._has_long: dict[Expr, bool] = {}  # of the same
        self._stands_for: dict[Expr, Expr] = {}  # decomposed operators
        self._unsigned: set[str] = set()  # values that the generated C++ holds as unsigned
        self._natural: set[str] = set()  # values known not to be negative

    def begin_statement(self) -> None:
        """Forget the subexpressions of the previous statement, whose scope may have ended."""
        for known in self._known:
            known.clear()
        self._has_long.clear()

    def define(self, var: Var, value: Expr) -> None:
        """Bind ``var`` to a value."""
        self.names[var] = self.value_for(var, value)

    def type_of(self, var: Var) -> str:
        """Return the type that a scalar variable is held in."""
        return "i64" if var in self.long else value_type(scalar_dtype(var))

    def value_for(self, var: Var, value: Expr) -> str:
        """Return the name of a scalar expression converted to the type of ``var``."""
        if var not in self.long:
            return self.value_as(value, scalar_dtype(var))
        return self.long_value(value)

    def long_value(self, value: Expr) -> str:
        """Return the name of a scalar expression as i64."""
        if is_int64(value):
            return self.value(value, long=True)
        return self._to_long(self.value(value), scalar_dtype(value))

    def value_as(self, value: Expr, dtype: DataType) -> str:
        """Return the name of a scalar expression converted to ``dtype``, INT64 as ``index``."""
        if isinstance(value, ConstInt) and (dtype.is_float() or dtype.is_int()):
            return self._integer(value.value, dtype)
        source = scalar_dtype(value)
        wide = self._is_long if dtype is DataType.INT64 else self._is_wide
        long = is_int64(value) and (_is_wanted_long(dtype) or wide(value))
        return self.convert(self.value(value, long), source, dtype, long)

    def index(self, value: Expr) -> str:
        """Return the name of an integer expression as ``index``."""
        return self.value_as(value, DataType.INDEX)

    def condition(self, value: Expr) -> str:
        """Return the name of an expression as i1."""
        return self.value_as(value, DataType.BOOL)

    def value(self, value: Expr, long: bool = False) -> str:
        """Return the name of a scalar expression, emitting what computes it.

        An INT64 is i64 if ``long``, or if it is computed from variables that are.

        Raises:
            EmitError: the dialect has no such operation, or a variable has no value here.
        """
        if isinstance(value, Var) and (not long or value in self.long):
            return self._variable(value)
        long = long or self._is_long(value)
        stack = [(value, long)]
        while stack:
            node, wide = stack[-1]
            known = self._known[wide]
            if node in known:
                stack.pop()
                continue
            operands = self._operands(node, wide)
            pending = [pair for pair in operands if pair[0] not in self._known[pair[1]]]
            if pending:
                stack += reversed(pending)
            else:
                names = [_Operand(self._known[i64][child], i64) for child, i64 in operands]
                known[node] = self._compute(node, wide, names)
                stack.pop()
        return self._known[long][value]

    def _operands(self, node: Expr, long: bool) -> list[tuple[Expr, bool]]:
        """Return the operands of an operator, and which are i64; ``long``: the result is i64."""
        if node.__class__ in DECOMPOSED:
            return [(self._decomposed(node), long)]
        match node:
            case BinaryExpr():
                # The operands of a constant power are numbers of its own type.
                below = node.left, node.right
                if type(node) in COMPARISONS:
                    long = any(map(self._is_wide, below))
            case UnaryExpr():
                below = (node.operand,)
                if isinstance(node, Cast) and not is_int64(node):
                    long = _is_wanted_long(scalar_dtype(node))
            case _:
                return []
        is_wide = self._is_long if is_int64(node) else self._is_wide
        return [(child, is_int64(child) and (long or is_wide(child))) for child in below]

    def _is_wide(self, value: Expr) -> bool:
        """True for an INT64 whose value may not fit ``index``."""
        return is_int64(value) and (self._is_long(value) or exceeds_index(value))

    def _is_long(self, value: Expr) -> bool:
        """True for an INT64 computed from i64 variables, and so held as i64 itself."""
        if not self.long:
            return False
        known, stack = self._has_long, [value]
        while stack:
            node = stack[-1]
            below = [c for c in parts(node) if is_int64(c)] if is_int64(node) else []
            pending = [child for child in below if child not in known]
            if pending:
                stack += pending
            else:
                known[node] = node in self.long or any(known[child] for child in below)
                stack.pop()
        return known[value]

    # ---------------------------------------------------------------------------------------
    # Expressions
    # ---------------------------------------------------------------------------------------

    def _decomposed(self, node: Expr) -> Expr:
        """Return an operator's decomposition, the same object each time for a node."""
        found = self._stands_for.get(node)
        if found is None:
            found = self._stands_for[node] = decomposed(node)
        return found

    def _compute(self, node: Expr, long: bool, operands: Sequence[_Operand]) -> str:
        if node.__class__ in DECOMPOSED:
            return operands[0].name
        match node:
            case Var():
                name = self._variable(node)
                return self.index_to_i64(name) if long and node not in self.long else name
            case ConstBool():
                return self.body.boolean(node.value)
            case ConstInt():
                return self._integer(node.value, node.dtype, long)
            case ConstFloat():
                return self.body.real(node.value, node.dtype)
            case BinaryExpr():
                return self._binary(node, long, *operands)
            case UnaryExpr():
                return self._unary(node, long, *operands)
            case Call():
                return self.call(node, long)
            case _:
                raise EmitError(f"{of_type(node)} is not a scalar value", node.span)

    def _variable(self, var: Var) -> str:
        name = self.names.get(var) or self.symbols.get(var.name)
        if name is None:
            raise EmitError(f"{var.name!r} has no value here", var.span, slug="emit-undefined")
        return name

    def zero(self, dtype: DataType, long: bool) -> str:
        """Return the name of a zero; an INT64 is i64 if ``long``."""
        if dtype is DataType.BOOL:
            return self.body.boolean(False)
        return self._integer(0, dtype, long)

    def _integer(self, value: int, dtype: DataType, long: bool = False) -> str:
        if dtype.is_float():
            return self.body.real(float(value), dtype)
        name = self.body.integer(value, "i64" if long else value_type(dtype))
        if value >= 0:
            self._natural.add(name)
        return name

    def _binary(self, node: BinaryExpr, long: bool, first: _Operand, second: _Operand) -> str:
        kind = type(node)
        if kind in LOGICAL:
            return self._logical(node, first, second)
        left, right = first.name, second.name
        dtype = scalar_dtype(node.left)
        if kind in COMPARISONS:
            return self._compare(kind, left, right, dtype, first.is_long)
        if kind is Pow:
            return self._power(node, left, long)
        if dtype.is_float():
            return self._float_op(kind, left, right, dtype)
        return self._int_op(node, left, right, dtype, _type(dtype, long))

    def _logical(self, node: BinaryExpr, first: _Operand, second: _Operand) -> str:
        # Only `select` is known to work on i1.
        a = self.convert(first.name, scalar_dtype(node.left), DataType.BOOL, first.is_long)
        b = self.convert(second.name, scalar_dtype(node.right), DataType.BOOL, second.is_long)
        if isinstance(node, And):
            return self._select(a, b, self.body.boolean(False), "i1")
        if isinstance(node, Or):
            return self._select(a, self.body.boolean(True), b, "i1")
        return self._select(a, self._not(b), b, "i1")

    def _not(self, name: str) -> str:
        return self._select(name, self.body.boolean(False), self.body.boolean(True), "i1")

    def _select(self, condition: str, yes: str, no: str, type_: str) -> str:
        return self.body.assign(f"arith.select {condition}, {yes}, {no} : {type_}")

    def _op(self, name: str, left: str, right: str, type_: str) -> str:
        return self.body.assign(f"arith.{name} {left}, {right} : {type_}")

    def _modular(self, name: str, left: str, right: str, type_: str) -> str:
        """Emit an operation whose result the generated C++ holds as unsigned; see `_widen`."""
        result = self._op(name, left, right, type_)
        self._unsigned.add(result)
        if name in _KEEP_NATURAL and left in self._natural and right in self._natural:
            self._natural.add(result)
        return result

    def is_nonnegative(self, name: str) -> bool:
        """True if an integer is known not to be negative."""
        return name in self._natural

    def set_nonnegative(self, name: str) -> None:
        """Note that an integer is never negative."""
        self._natural.add(name)

    def clamped(self, name: str) -> str:
        """Return the maximum of an ``index`` value and 0."""
        if name in self._natural:
            return name
        result = self._op("maxsi", name, self.body.index(0), "index")
        self._natural.add(result)
        return result

    def _compare(
        self, kind: type[BinaryExpr], left: str, right: str, dtype: DataType, long: bool
    ) -> str:
        if dtype is DataType.BOOL:
            different = self._select(left, self._not(right), right, "i1")
            return different if kind is Ne else self._not(different)
        form = BINARY[kind].arith
        assert form is not None
        if dtype.is_float():
            return self._op(f"cmpf {form.real},", left, right, value_type(dtype))
        predicate = form.unsigned if dtype.is_unsigned_int() else form.signed
        return self._op(f"cmpi {predicate},", left, right, _type(dtype, long))

    def _int_op(self, node: BinaryExpr, left: str, right: str, dtype: DataType, type_: str) -> str:
        form = BINARY[type(node)].arith
        if form is not None and form.signed:
            name = form.unsigned if dtype.is_unsigned_int() else form.signed
            emit = self._modular if form.wraps else self._op
            return emit(name, left, right, type_)
        if isinstance(node, FloorMod):
            if dtype.is_unsigned_int():
                return self._op("remui", left, right, type_)
            quotient = self._modular("floordivsi", left, right, type_)
            product = self._modular("muli", quotient, right, type_)
            return self._modular("subi", left, product, type_)
        raise EmitError(
            f"'{node.symbol}' of integers has no integer result",
            node.span,
            hint="write // for the quotient, or cast an operand to a float type",
            slug="emit-operator",
        )

    def _float_op(self, kind: type[BinaryExpr], left: str, right: str, dtype: DataType) -> str:
        type_ = value_type(dtype)
        if kind is Add:
            return self._add_floats(left, right, type_)
        form = BINARY[kind].arith
        if form is not None and form.real:
            return self._op(form.real, left, right, type_)
        if kind is FloorDiv:
            return self._floor(self._op("divf", left, right, type_), dtype)
        assert kind is FloorMod
        remainder = self._op("remf", left, right, type_)  # has the sign of the dividend
        zero = self.body.real(0.0, dtype)
        product = self._op("mulf", remainder, right, type_)
        other_sign = self._op("cmpf olt,", product, zero, type_)
        moved = self._add_floats(remainder, right, type_)
        return self._select(other_sign, moved, remainder, type_)

    def _add_floats(self, left: str, right: str, type_: str) -> str:
        # Trap: arith.addf does not assemble. a + b is a - (-b), bit for bit.
        negated = self.body.assign(f"arith.negf {right} : {type_}")
        return self._op("subf", left, negated, type_)

    def _floor(self, name: str, dtype: DataType) -> str:
        # There is no floor operation. Quotients of 2^63 and more are out of range.
        type_ = value_type(dtype)
        whole = self.body.assign(f"arith.fptosi {name} : {type_} to i64")
        cut = self.body.assign(f"arith.sitofp {whole} : i64 to {type_}")
        above = self._op("cmpf ogt,", cut, name, type_)
        lower = self._op("subf", cut, self.body.real(1.0, dtype), type_)
        return self._select(above, lower, cut, type_)

    def _power(self, node: BinaryExpr, factor: str, long: bool) -> str:
        base, exponent = node.left, node.right
        dtype = scalar_dtype(node)
        if isinstance(base, ConstInt | ConstFloat) and isinstance(exponent, ConstInt | ConstFloat):
            value = base.value**exponent.value
            if dtype.is_float():
                return self.body.real(float(value), dtype)
            if isinstance(value, int):
                return self._integer(value, dtype, long)
        count = int(exponent.value) if isinstance(exponent, ConstInt | ConstFloat) else -1
        whole = isinstance(exponent, ConstInt | ConstFloat) and exponent.value == count
        if not whole or not 0 <= count <= _MAX_UNROLLED_POWER:
            raise EmitError(
                f"'**' takes a constant exponent from 0 to {_MAX_UNROLLED_POWER} here",
                node.span,
                hint="multiply in a loop",
                slug="emit-operator",
            )
        return self._repeated_product(factor, count, dtype, long)

    def _repeated_product(self, factor: str, count: int, dtype: DataType, long: bool) -> str:
        type_ = _type(dtype, long)
        result: str | None = None
        while count:
            if count & 1:
                result = factor if result is None else self._product(result, factor, type_, dtype)
            count >>= 1
            if count:
                factor = self._product(factor, factor, type_, dtype)
        return self._integer(1, dtype, long) if result is None else result

    def _product(self, left: str, right: str, type_: str, dtype: DataType) -> str:
        if dtype.is_float():
            return self._op("mulf", left, right, type_)
        return self._modular("muli", left, right, type_)

    def _unary(self, node: UnaryExpr, long: bool, given: _Operand) -> str:
        operand, dtype = given.name, scalar_dtype(node.operand)
        if isinstance(node, Cast):
            if long:
                return self._to_long(operand, dtype)
            return self.convert(operand, dtype, scalar_dtype(node), given.is_long)
        if isinstance(node, Not):
            return self._not(self.convert(operand, dtype, DataType.BOOL, given.is_long))
        type_ = _type(dtype, long)
        if dtype.is_float():
            negated = self.body.assign(f"arith.negf {operand} : {type_}")
            return (
                negated if isinstance(node, Neg) else self._op("maximumf", operand, negated, type_)
            )
        if not dtype.is_int():
            raise EmitError(f"'{node.symbol}' does not take {dtype}", node.span)
        if isinstance(node, BitNot):
            return self._modular("xori", operand, self.body.integer(-1, type_), type_)
        if isinstance(node, Abs) and dtype.is_unsigned_int():
            return operand
        negated = self._modular("subi", self.body.integer(0, type_), operand, type_)
        return negated if isinstance(node, Neg) else self._op("maxsi", operand, negated, type_)

    # ---------------------------------------------------------------------------------------
    # Conversions
    # ---------------------------------------------------------------------------------------

    def convert(self, name: str, source: DataType, target: DataType, is_long: bool = False) -> str:
        """Return the name of value ``name`` of type ``source`` converted to ``target``.

        An INT64 is ``index``, except for a ``name`` that is i64.
        """
        if target is DataType.BOOL and source is not target:
            zero = self._integer(0, source, is_long)
            return self._compare(Ne, name, zero, source, is_long)
        if is_long:
            return self._from_fixed(name, "i64", True, target)
        if source is target or value_type(source) == value_type(target):
            return name
        if source is DataType.BOOL:
            return self._from_fixed(self._to_long(name, source), "i64", True, target)
        if source.is_float() and target.is_float():
            return self._float_to_float(name, source, target)
        if source.is_float():
            return self._float_to_int(name, source, target)
        if value_type(source) == "index":
            wide = self.index_to_i64(name, target.is_float() or target.get_bit() == 64)
            return self._from_fixed(wide, "i64", True, target)
        return self._from_fixed(name, value_type(source), not source.is_unsigned_int(), target)

    def _to_long(self, name: str, source: DataType) -> str:
        """Return the name of a scalar as i64; one of type INT64 is i64 already."""
        if source is DataType.INT64:
            return name
        if source is DataType.BOOL:
            return self.body.assign(f"arith.extui {name} : i1 to i64")
        if source.is_float():
            return self._float_to_long(name, source)
        return self._resize(name, value_type(source), "i64", not source.is_unsigned_int())

    def _cast(self, op: str, name: str, source: str, target: str) -> str:
        return self.body.assign(f"arith.{op} {name} : {source} to {target}")

    def _widen(
        self,
        name: str,
        source: str,
        cast: Callable[[str], str],
        negate: Callable[[str], str],
        target: str,
    ) -> str:
        """Return ``cast(name)``, right for negative values too.

        Trap: the C++ keeps the result of addi, subi, muli and their like unsigned, and a widening
        cast of it appends zeros: 2 - 5 becomes 4294967293. Comparisons are right, so a negative
        value is cast by its magnitude.
        """
        if name not in self._unsigned:
            return cast(name)
        zero = self.body.integer(0, source)
        negative = self._op("cmpi slt,", name, zero, source)
        magnitude = self._modular("subi", zero, name, source)
        below, above = negate(cast(magnitude)), cast(name)
        return self._select(negative, below, above, target)

    def _negated(self, type_: str) -> Callable[[str], str]:
        if type_.startswith("i"):
            return lambda name: self._modular("subi", self.body.integer(0, type_), name, type_)
        return lambda name: self.body.assign(f"arith.negf {name} : {type_}")

    def index_to_i64(self, name: str, exact: bool = True) -> str:
        """Return an ``index`` as i64, only its low bits unless ``exact``."""

        def cast(value: str) -> str:
            return self._cast("index_cast", value, "index", "i64")

        if exact:
            return self._widen(name, "index", cast, self._negated("i64"), "i64")
        wide = cast(name)  # only the low bits matter, which zero-extension leaves alone
        self._unsigned.add(wide)
        return wide

    def _from_fixed(self, name: str, source: str, signed: bool, target: DataType) -> str:
        """Convert an integer of fixed width to an integer or float type."""
        if target.is_float():
            return self._fixed_to_float(name, source, signed, target)
        type_ = value_type(target)
        if type_ == "index":
            # Trap: index_cast between i32 and index crashes on what scf.for and scf.if carry, and
            # is rejected next to store_scalar. Going through i64 is always right.
            wide = self._resize(name, source, "i64", signed)
            result = self._cast("index_cast", wide, "i64", "index")
            if not signed or name in self._natural:
                self._natural.add(result)
            if wide in self._unsigned:
                self._unsigned.add(result)
            return result
        return self._resize(name, source, type_, signed)

    def _resize(self, name: str, source: str, target: str, signed: bool) -> str:
        bits, wanted = int(source[1:]), int(target[1:])
        if bits == wanted:
            return name
        if bits > wanted:
            narrow = self._cast("trunci", name, source, target)
            self._unsigned.add(narrow)
            return narrow
        if not signed:
            return self._cast("extui", name, source, target)
        return self._widen(
            name,
            source,
            lambda value: self._cast("extsi", value, source, target),
            self._negated(target),
            target,
        )

    def _fixed_to_float(self, name: str, source: str, signed: bool, target: DataType) -> str:
        first = DataType.FP64 if target is DataType.FP64 else DataType.FP32
        type_ = value_type(first)
        if not signed:
            return self.convert(self._cast("uitofp", name, source, type_), first, target)
        wide = self._widen(
            name,
            source,
            lambda value: self._cast("sitofp", value, source, type_),
            self._negated(type_),
            type_,
        )
        return self.convert(wide, first, target)

    def _float_to_float(self, name: str, source: DataType, target: DataType) -> str:
        a, b = source.get_bit(), target.get_bit()
        if a == b:  # f16 and bf16
            wide = self._cast("extf", name, value_type(source), "f32")
            return self._cast("truncf", wide, "f32", value_type(target))
        op = "extf" if a < b else "truncf"
        return self._cast(op, name, value_type(source), value_type(target))

    def _float_to_long(self, name: str, source: DataType) -> str:
        if source is DataType.BF16:
            return self._float_to_long(self.convert(name, source, DataType.FP32), DataType.FP32)
        return self._cast("fptosi", name, value_type(source), "i64")

    def _float_to_int(self, name: str, source: DataType, target: DataType) -> str:
        if source is DataType.BF16:
            return self._float_to_int(
                self.convert(name, source, DataType.FP32), DataType.FP32, target
            )
        if value_type(target) == "index":
            return self._cast("index_cast", self._float_to_long(name, source), "i64", "index")
        op = "fptoui" if target.is_unsigned_int() else "fptosi"
        return self._cast(op, name, value_type(source), value_type(target))

    # ---------------------------------------------------------------------------------------
    # Carried values
    # ---------------------------------------------------------------------------------------

    def handed_over(
        self, values: Sequence[str], carried: Sequence[str], kinds: Sequence[tuple[DataType, bool]]
    ) -> list[str]:
        """Return the values that a loop body yields, so that all of them change at the same time.

        Trap: the C++ assigns the carried variables one after the other. A value that is itself an
        earlier carried variable (a swap) would be read after it has changed, so it is copied. A
        kind is the type of a value, and whether an INT64 is i64.
        """
        position = {name: index for index, name in enumerate(carried)}
        out: list[str] = []
        for index, (name, kind) in enumerate(zip(values, kinds, strict=True)):
            earlier = position.get(name, index)
            changed = earlier < index and values[earlier] != name
            out.append(self._copy(name, *kind) if changed else name)
        return out

    def _copy(self, name: str, dtype: DataType, long: bool) -> str:
        """Return a new value equal to ``name``, by min(max(x, 0), x), which nothing folds."""
        if dtype is DataType.BOOL:
            wide = self._copy(self.convert(name, dtype, DataType.INT32), DataType.INT32, False)
            return self.convert(wide, DataType.INT32, dtype)
        type_, zero = _type(dtype, long), self._integer(0, dtype, long)
        low, high = ("minimumf", "maximumf") if dtype.is_float() else ("minsi", "maxsi")
        return self._op(low, self._op(high, name, zero, type_), name, type_)

    # ---------------------------------------------------------------------------------------
    # Offsets
    # ---------------------------------------------------------------------------------------

    def sum_of_products(self, pairs: Sequence[tuple[Expr | str | int, str | int]]) -> str:
        """Return the ``index`` sum of a * b over ``pairs``; constants fold."""
        constant, total = 0, ""
        for a, b in pairs:
            factor = a.value if isinstance(a, ConstInt) else a
            if isinstance(factor, int) and isinstance(b, int):
                constant += factor * b
                continue
            total = self._plus(total, self._times(factor, b))
        if total and not constant:
            return total
        return self._plus(total, self.body.index(constant))

    def _times(self, a: Expr | str | int, b: str | int) -> str:
        if isinstance(a, Expr):
            a = self.index(a)
        if a == 1 or b == 1:
            return self.as_index(b if a == 1 else a)
        return self._modular("muli", self.as_index(a), self.as_index(b), "index")

    def _plus(self, a: str, b: str) -> str:
        return self._modular("addi", a, b, "index") if a else b

    def as_index(self, value: str | int) -> str:
        """Return the name of a size, given as a number or its name."""
        return self.body.index(value) if isinstance(value, int) else value


def _is_wanted_long(target: DataType) -> bool:
    """True if all bits of an INT64 matter when it is converted to another type."""
    return target is not DataType.INT64 and target is not DataType.BOOL


def _type(dtype: DataType, long: bool) -> str:
    return "i64" if long else value_type(dtype)
