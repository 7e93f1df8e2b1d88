"""Random programs: what the printer prints, the parser reads as the same program."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import pypto.language as pl
from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import TensorType, TileType, dtype_of
from pypto._src.ir.enums import ForKind, FunctionType, ParamDirection, ScopeKind
from pypto._src.ir.equal import assert_structural_equal
from pypto._src.ir.exprs import (
    Abs,
    Add,
    And,
    BinaryExpr,
    BitAnd,
    BitNot,
    BitShiftLeft,
    BitXor,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    Eq,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    IterArg,
    Le,
    Lt,
    MakeTuple,
    Max,
    Min,
    Mul,
    Ne,
    Neg,
    Not,
    Or,
    Pow,
    Sub,
    TupleGetItemExpr,
    Var,
    Xor,
    unary,
)
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    seq,
)
from pypto._src.ir.types import scalar_type

INTS = (DataType.INT64, DataType.INT32, DataType.UINT8)
FLOATS = (DataType.FP32, DataType.FP16)
BOOL = DataType.BOOL
ON_INTS = (Add, Sub, Mul, FloorDiv, FloorMod, FloatDiv, Pow, Min, Max, BitAnd, BitXor, BitShiftLeft)
ON_FLOATS = (Add, Sub, Mul, FloatDiv, Pow, Min, Max)
COMPARISONS = (Eq, Ne, Lt, Le)
TENSOR = TensorType([64, 16], DataType.FP16)


class Writer:
    """Generates a function: expressions over the visible variables, statements in nested blocks."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.count = 0
        self.scalars: list[Var] = []
        self.tiles: list[Var] = []
        self.assignable: set[Var] = set()
        self.tensor = Var("x", TENSOR)

    def fresh(self) -> str:
        """Return a name, which may have been used before."""
        self.count += 1
        return self.random.choice(["a", "b", f"v{self.count}"])

    def constant(self, dtype: DataType) -> Expr:
        if dtype is BOOL:
            return ConstBool(self.random.random() < 0.5)
        if dtype.is_float():
            return ConstFloat(self.random.choice([0.0, 1.5, -2.0, 1e-9, 3.0]), dtype)
        return ConstInt(self.random.choice([0, 1, 7, 100]), dtype)

    def leaf(self, dtype: DataType) -> Expr:
        known = [v for v in self.scalars if getattr(v.type, "dtype", None) is dtype]
        return (
            self.random.choice(known)
            if known and self.random.random() < 0.7
            else self.constant(dtype)
        )

    def expr(self, dtype: DataType, depth: int = 3) -> Expr:
        if depth == 0 or self.random.random() < 0.2:
            return self.leaf(dtype)
        if self.random.random() < 0.15:
            return Cast(self.expr(self.random.choice([*INTS, *FLOATS]), depth - 1), dtype)
        if dtype is BOOL:
            return self.truth(depth)
        if self.random.random() < 0.2:
            signs = (Neg, Abs) if dtype.is_float() else (Neg, Abs, BitNot)
            return unary(self.random.choice(signs), self.expr(dtype, depth - 1))
        kinds: Sequence[type[BinaryExpr]] = ON_FLOATS if dtype.is_float() else ON_INTS
        kind = self.random.choice(kinds)
        return kind(self.expr(dtype, depth - 1), self.expr(dtype, depth - 1), dtype)

    def truth(self, depth: int) -> Expr:
        draw = self.random.random()
        if draw < 0.2:
            return Not(self.expr(BOOL, depth - 1), BOOL)
        if draw < 0.6:
            kind = self.random.choice([And, Or, Xor])
            return kind(self.expr(BOOL, depth - 1), self.expr(BOOL, depth - 1), BOOL)
        operand = self.random.choice([*INTS, *FLOATS])
        kind = self.random.choice(COMPARISONS)
        return kind(self.expr(operand, depth - 1), self.expr(operand, depth - 1), BOOL)

    def tile(self, depth: int = 2) -> Expr:
        draw = self.random.random()
        if depth == 0 or draw < 0.3:
            return self.random.choice(self.tiles)
        if draw < 0.5:
            return made(pl.load, self.tensor, [self.row(), 0], [16, 16])
        if draw < 0.7:
            return made(pl.mul, self.tile(depth - 1), self.expr(DataType.FP16, 1))
        return made(pl.add, self.tile(depth - 1), self.tile(depth - 1))

    def row(self) -> Expr:
        """Return an offset that is a variable: the op checks constant ones."""
        known = [v for v in self.scalars if getattr(v.type, "dtype", None) is DataType.INT64]
        return Mul(self.random.choice(known), ConstInt(16), DataType.INT64)

    def block(self, depth: int) -> list[Stmt]:
        """Generate statements; what they define is forgotten afterwards."""
        scalars, tiles = len(self.scalars), len(self.tiles)
        stmts = [self.stmt(depth) for _ in range(self.random.randrange(1, 4))]
        del self.scalars[scalars:], self.tiles[tiles:]
        return stmts

    def stmt(self, depth: int) -> Stmt:
        draw = self.random.random()
        if depth and draw < 0.15:
            return self.branch(depth)
        if depth and draw < 0.3:
            return self.loop(depth)
        if depth and draw < 0.4:
            return self.while_loop(depth)
        if depth and draw < 0.45:
            return ScopeStmt(ScopeKind.InCore, seq(self.block(depth - 1)))
        if draw < 0.55:
            return EvalStmt(made(pl.store, self.tile(), [0, 0], [16, 16], self.tensor))
        return self.assign()

    def assign(self) -> Stmt:
        again = [v for v in (*self.scalars, *self.tiles) if v in self.assignable]
        if again and self.random.random() < 0.3:
            var = self.random.choice(again)
            if isinstance(var.type, TileType):
                return AssignStmt(var, self.tile())
            return AssignStmt(var, self.expr(dtype_of(var)))
        if self.random.random() < 0.3:
            value: Expr = self.tile()
        else:
            value = self.expr(self.random.choice([*INTS, *FLOATS, BOOL]))
        var = Var(self.fresh(), value.type)
        stmt = AssignStmt(var, value)
        self.know(var)
        return stmt

    def know(self, var: Var, *, assignable: bool = True) -> None:
        (self.tiles if isinstance(var.type, TileType) else self.scalars).append(var)
        if assignable:
            self.assignable.add(var)

    def values(self) -> list[Expr]:
        kinds = [self.random.choice([*INTS, BOOL]) for _ in range(self.random.randrange(3))]
        values = [self.expr(kind, 1) for kind in kinds]
        return [*values, self.tile(1)] if self.random.random() < 0.5 else values

    def like(self, values: Sequence[Expr]) -> list[Expr]:
        return [
            self.tile()
            if isinstance(v.type, TileType)
            else self.expr(getattr(v.type, "dtype", BOOL))
            for v in values
        ]

    def branch(self, depth: int) -> Stmt:
        condition = self.expr(BOOL)
        values = self.values()
        then, orelse = self.block(depth - 1), self.block(depth - 1)
        results = [Var(self.fresh(), v.type) for v in values]
        if values:
            then.append(YieldStmt(tuple(values)))
            orelse.append(YieldStmt(tuple(self.like(values))))
        elif self.random.random() < 0.3:
            orelse = []
        for var in results:
            self.know(var)
        return IfStmt(condition, seq(then), seq(orelse) if orelse else None, tuple(results))

    def carried(
        self, depth: int, counter: Sequence[Var]
    ) -> tuple[Expr, list[IterArg], Stmt, list[Var]]:
        """Return a condition inside the loop, iter_args, body and results."""
        inits = self.values()
        args = [IterArg(self.fresh(), v.type, v) for v in inits]
        scalars, tiles = len(self.scalars), len(self.tiles)
        for var in counter:
            self.know(var, assignable=False)
        for arg in args:
            self.know(arg)
        condition = self.expr(BOOL)
        body = self.block(depth - 1)
        if args:
            body.append(YieldStmt(tuple(self.like(inits))))
        del self.scalars[scalars:], self.tiles[tiles:]
        return condition, args, seq(body), [Var(self.fresh(), v.type) for v in inits]

    def loop(self, depth: int) -> Stmt:
        start, stop = self.expr(DataType.INT64, 1), self.expr(DataType.INT64, 1)
        counter = Var(self.fresh(), scalar_type(DataType.INT64))
        _, args, body, results = self.carried(depth, [counter])
        kind = self.random.choice([ForKind.Sequential, ForKind.Parallel])
        for var in results:
            self.know(var)
        return ForStmt(counter, start, stop, 2, args, body, results, kind=kind)

    def while_loop(self, depth: int) -> Stmt:
        inside, args, body, results = self.carried(depth, [])
        condition = inside if args else self.expr(BOOL)
        for var in results:
            self.know(var)
        return WhileStmt(condition, args, body, results)

    def function(self) -> Function:
        params = [Var(f"p{i}", scalar_type(d)) for i, d in enumerate((*INTS, *FLOATS, BOOL))]
        for var in params:
            self.know(var)
        load = made(pl.load, self.tensor, [0, 0], [16, 16])
        first = Var("t", load.type)
        stmts: list[Stmt] = [AssignStmt(first, load)]
        self.know(first)
        stmts += [self.stmt(3) for _ in range(self.random.randrange(2, 8))]
        pair = Var("pair", MakeTuple([params[0], params[1]]).type)
        stmts.append(AssignStmt(pair, MakeTuple([params[0], params[1]])))
        result = TupleGetItemExpr(pair, 1)
        stmts.append(ReturnStmt((result,)))
        directed = [(self.tensor, ParamDirection.InOut), *params]
        kind = self.random.choice(list(FunctionType))
        return Function("f", directed, [result.type], seq(stmts), type=kind)


def made(op: Any, *args: Any) -> Any:
    """Return the call of an op; the operands are expressions."""
    return op(*args)


@given(st.integers(0, 2**32))
def test_printed_programs_are_read_back(seed: int) -> None:
    """parse(print(p)) is structurally equal to p, and prints the same text."""
    program = Program([Writer(Random(seed)).function()], "P")
    text = str(program)
    again = pl.parse_program(text)
    assert_structural_equal(again, program)
    assert str(again) == text
