"""Draws IR programs over all node kinds, element types, enumerations and registered ops.

A *tame* program is well typed: every op's rule accepted its operands, every variable is defined
before it is used. A *wild* one is any IR value that the constructors make: types that do not fit
their values, names of odd kinds, jumps outside loops, results that nothing yields.

``python -m tests.properties.ir_values [count]`` prints which fields of which node classes the first
``count`` programs cover.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from random import Random
from typing import Any, Final, NamedTuple, cast

from pypto import ir
from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.errors import PyptoError
from pypto._src.ir import array_types, exprs, stmts, types
from pypto._src.ir.node_base import Node
from pypto._src.ir.op_params import AXIS, INTS, REQUIRED, ROUND_MODES, SCALAR, TENSOR, TILE
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.types import Type, same_type
from pypto._src.ops.lookup import REGISTRY

DTYPES: Final = list(MEMBERS.values())
INT_TYPES: Final = [d for d in DTYPES if d.is_int()]
FLOAT_TYPES: Final = [d for d in DTYPES if d.is_float()]
BOOL: Final = DataType.BOOL
INT64: Final = DataType.INT64
NUMBERS: Final = [0, 1, 7, 100, -1, -(1 << 63), (1 << 63) - 1, 255]
INFINITE: Final = [float("inf"), float("-inf"), float("nan")]
FLOATS: Final = [0.0, -0.0, 1.5, 0.1, 1e300, 5e-324, 1e22, -2.0, *INFINITE]
PLAIN_NAMES: Final = ["a", "b", "x", "n", "acc", "i"]
ODD_NAMES: Final = ["pl", "self", "for", "min", "$", "1st", "β", "ﬁ", "fi", "x$y", "_", "float",
                    "f", "None", "a.b", "x_1", "0", "tuple", "print"]  # fmt: skip
FUNCTIONS: Final = ["main", "f", "g", "kernel"]
ODD_FUNCTIONS: Final = ["match", "class", "ﬁ", "self", "pl", "f", "β", "a_b", "main",
                        "None", "_"]  # fmt: skip
ODD_OPS: Final = ["foo", "custom.and", "custom.and_", "my.op", "β", "None", "min", "x.for.y",
                  "block.nix", "class", "block.add", "pl", "self.f", "float",
                  "tuple", "str"]  # fmt: skip
ENUM_MEMBERS: Final = [
    *ir.MemorySpace, *ir.PipeType, *ir.CoreType, *ir.TensorLayout, *ir.TileLayout, *ir.TilePad,
    *ir.ForKind, *ir.ScopeKind, *ir.FunctionType, *ir.ParamDirection,
]  # fmt: skip
BINARY: Final = sorted(exprs.BinaryExpr.__subclasses__(), key=lambda c: c.__name__)
UNARY: Final = [c for c in exprs.UnaryExpr.__subclasses__() if c is not ir.Cast]
ON_INTEGERS: Final = [c for c in BINARY if c not in (*exprs.COMPARISONS, *exprs.LOGICAL)]
ON_FLOATS: Final = [c for c in ON_INTEGERS if not c.integers_only]
SHAPES: Final = [[16, 16], [16, 32], [32, 16], [1, 16], [16, 1], [16], [2, 16, 16], [32, 32]]


class Recipe(NamedTuple):
    """Operands and keywords that an op accepts: a type or a Python value for each parameter."""

    op: OpDef[..., Any]
    values: dict[str, Any]


# --------------------------------------------------------------------------------------------
# Ops: what they accept, found from their declarations
# --------------------------------------------------------------------------------------------


def attribute(random: Random, kind: str) -> Any:
    """Return a value for an attribute declared as ``kind``."""
    if kind.endswith("| None") and random.random() < 0.4:
        return None
    values: dict[str, Sequence[Any]] = {
        "DataType": DTYPES,
        "MemorySpace": list(ir.MemorySpace),
        "PipeType": list(ir.PipeType),
        "RoundMode": list(ROUND_MODES),
        "TileLayout": list(ir.TileLayout),
        "TensorLayout": list(ir.TensorLayout),
        "TilePad": list(ir.TilePad),
        "bool": [False, True],
        "int": [0, 1, -1, 2, 3],
        "float": [0.0, 0.5, float("inf")],
        "str": ["", "plain", 'a "b"'],
    }
    return random.choice(values.get(kind.removesuffix(" | None"), [REQUIRED]))


def operand_type(random: Random, kind: str, dtype: DataType, shape: list[int]) -> ir.Type:
    if kind == TENSOR:
        return ir.TensorType(shape, dtype)
    draw = random.random()
    if draw < 0.7:
        return ir.TileType(shape, dtype)
    layouts = [ir.TileLayout.row_major, ir.TileLayout.col_major]
    blayout, slayout = random.choice(layouts), random.choice([*layouts, ir.TileLayout.none_box])
    fractal = random.choice([512, 1024])
    return ir.TileType(shape, dtype, None, ir.TileView((), (), None, blayout, slayout, fractal))


def attempt(random: Random, op: OpDef[..., Any]) -> dict[str, Any]:
    """Return values for the parameters of ``op`` that its rule may accept."""
    known = sorted(op.dtypes, key=lambda d: d.code()) or DTYPES
    dtype, shape = random.choice(known), random.choice(SHAPES)
    alike = random.random() < 0.6
    values: dict[str, Any] = {}
    for param in op.params:
        if not alike:
            shape = random.choice(SHAPES)
            dtype = dtype if random.random() < 0.8 else random.choice(known)
        if param.kind in (TILE, TENSOR):
            values[param.name] = operand_type(random, param.kind, dtype, shape)
        elif param.kind == SCALAR:
            values[param.name] = random.choice([ir.ScalarType(dtype), 1.5, 3])
        elif param.kind == INTS:
            numbers = random.choice([shape, [0] * len(shape), [0, 0], [16, 16], [256]])
            values[param.name] = list(numbers)
        elif param.kind == AXIS:
            values[param.name] = random.choice([0, 1])
        else:
            value = attribute(random, param.attr_type)
            if value is REQUIRED or (param.default is not REQUIRED and random.random() < 0.3):
                value = param.default
            values[param.name] = value
    return values


def build(recipe: Recipe, operand: Callable[[ir.Type], ir.Expr]) -> ir.Call:
    """Return the call; ``operand`` gives an expression of a type."""
    ready = {k: operand(v) if isinstance(v, Type) else v for k, v in recipe.values.items()}
    return recipe.op.build((), ready)


@cache
def recipes() -> dict[str, list[Recipe]]:
    """Return some accepted calls of each registered op."""
    found: dict[str, list[Recipe]] = {}
    for name, op in REGISTRY.items():
        if name in FITTING:
            found[name] = [Recipe(op, FITTING[name])]
            continue
        random = Random(name)
        accepted: list[Recipe] = []
        for _ in range(6000):
            recipe = Recipe(op, attempt(random, op))
            try:
                build(recipe, lambda kind: ir.Var("v", kind))
            except (PyptoError, TypeError, ValueError, IndexError):
                continue
            accepted.append(recipe)
            if len(accepted) == 6:
                break
        found[name] = accepted
    return found


@cache
def op_names() -> list[str]:
    """Return the names of all registered ops, sorted."""
    return sorted(REGISTRY)


def _fitting(level: str, kind: type[ir.TileType | ir.TensorType]) -> dict[str, dict[str, Any]]:
    def records(count: int, dtype: ir.DataType = ir.FP32) -> ir.Type:
        return kind([1, count], dtype)

    return {
        f"{level}.scatter_update": {
            "input": kind([16, 32], ir.FP32),
            "dim": -2,
            "index": records(4, ir.INT32),
            "src": kind([4, 32], ir.FP32),
        },
        f"{level}.sort32": {"src": records(64), "idx": records(64, ir.UINT32)},
        f"{level}.mrgsort": {"src": records(512), "block_len": 64},
        **{
            f"{level}.mrgsort{count}": {f"src{index}": records(128) for index in range(count)}
            for count in (2, 3, 4)
        },
    }


FITTING = {**_fitting("block", ir.TileType), **_fitting("tensor", ir.TensorType)}
"""Values of the ops that want what is hardly ever drawn: a row of records, a row of numbers."""


# --------------------------------------------------------------------------------------------
# Programs
# --------------------------------------------------------------------------------------------


def placed(var: ir.Var) -> bool:
    """True if the variable has its memory, which the rules of ops look at."""
    return getattr(var.type, "memref", None) is not None


class Draw:
    """Draws one function."""

    def __init__(
        self, random: Random, *, wild: bool, functions: Sequence[ir.Function] = ()
    ) -> None:
        self.random = random
        self.wild = wild
        self.functions = functions  # that it may call
        self.params: list[ir.Var] = []
        self.visible: list[ir.Var] = []
        self.dims = [ir.Var(random.choice(["N", "M", "n"]), ir.ScalarType(INT64)) for _ in "12"]
        self.memrefs: list[ir.MemRef] = []
        self.loops = 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def odd(self, probability: float = 0.1) -> bool:
        """True now and then for wild programs, never for tame ones."""
        return self.wild and self.chance(probability)

    def pick(self, items: Sequence[Any]) -> Any:
        return self.random.choice(items)

    def name(self) -> str:
        return self.pick(ODD_NAMES if self.odd(0.3) else PLAIN_NAMES)

    def span(self) -> ir.Span:
        if self.chance(0.8):
            return ir.Span.unknown()
        return ir.Span(self.pick(["a.py", "b.py"]), self.random.randrange(1, 99), 4)

    # ------------------------------------------------------------------------ types

    def memref(self) -> ir.MemRef:
        """Return a memory reference, often one that other types have as well."""
        if self.memrefs and self.chance(0.5):
            return self.pick(self.memrefs)
        address: Any = self.pick([-1, 0, 4096])
        if self.odd(0.3):
            address = self.integer(1)
        made = ir.MemRef(
            self.pick(list(ir.MemorySpace)),
            address,
            self.pick([0, 256, 16384]),
            len(self.memrefs),
            self.span(),
        )
        self.memrefs.append(made)
        return made

    def dim(self) -> Any:
        draw = self.random.random()
        if draw < 0.7:
            return self.pick([16, 32, 1, 64])
        if draw < 0.9:
            return self.pick(self.dims)
        if self.odd(0.5):
            return self.integer(2)
        return ir.Mul(self.pick(self.dims), 2, INT64)

    def shape(self) -> list[Any]:
        return [self.dim() for _ in range(self.pick([2, 2, 2, 1, 3, 0]))]

    def view(self) -> ir.TileView:
        return ir.TileView(
            self.pick([(), self.shape()]),
            self.pick([(), self.shape()]),
            self.pick([None, 0, self.dim()]),
            self.pick(list(ir.TileLayout)),
            self.pick(list(ir.TileLayout)),
            self.pick([512, 1024, 32]),
            self.pick(list(ir.TilePad)),
        )

    def type(self, depth: int = 2) -> ir.Type:
        draw = self.random.random()
        if draw < 0.4:
            return ir.ScalarType(self.pick(DTYPES))
        memref = self.memref() if self.chance(0.4) else None
        if draw < 0.6:
            layout = self.pick(list(ir.TensorLayout))
            view = ir.TensorView(self.pick([(), self.shape()]), layout)
            chosen = view if self.chance(0.5) else None
            return ir.TensorType(self.shape(), self.pick(DTYPES), memref, chosen)
        if draw < 0.85:
            chosen = self.view() if self.chance(0.5) else None
            return ir.TileType(self.shape(), self.pick(DTYPES), memref, chosen)
        if depth and draw < 0.95:
            return ir.TupleType([self.type(depth - 1) for _ in range(self.random.randrange(3))])
        if self.wild:
            return self.pick([ir.UnknownType.get(), ir.MemRefType()])
        return ir.ScalarType(INT64)

    # ------------------------------------------------------------------------ values

    def new(self, kind: ir.Type) -> ir.Var:
        if self.odd(0.03):
            return ir.IterArg(self.name(), kind, self.constant(INT64), self.span())
        return ir.Var(self.name(), kind, self.span())

    def param(self, kind: ir.Type) -> ir.Var:
        var = self.new(kind)
        self.params.append(var)
        self.visible.append(var)
        return var

    def var(self, kind: ir.Type) -> ir.Expr:
        """Return a variable of a type: a visible one, else a new parameter."""
        if self.odd(0.05):
            return self.new(kind)  # nobody defines it
        known = [v for v in self.visible if same_type(v.type, kind) and not placed(v)]
        return self.pick(known) if known and self.chance(0.9) else self.param(kind)

    def constant(self, dtype: DataType) -> ir.Expr:
        span = self.span()
        if self.odd(0.1):
            return self.pick(
                [
                    ir.ConstInt(self.pick(NUMBERS), self.pick(DTYPES), span),
                    ir.ConstFloat(self.pick(FLOATS), self.pick(DTYPES), span),
                    ir.ConstBool(self.chance(0.5), span),
                ]
            )
        if dtype is BOOL:
            return ir.ConstBool(self.chance(0.5), span)
        if dtype.is_float():
            return ir.ConstFloat(self.pick(FLOATS), dtype, span)
        return ir.ConstInt(self.pick([0, 1, 7]), dtype, span)

    def scalar(self, dtype: DataType, depth: int = 3) -> ir.Expr:
        if depth == 0 or self.chance(0.25):
            leaf = self.chance(0.4)
            return self.constant(dtype) if leaf else self.var(ir.ScalarType(dtype))
        result = self.pick(DTYPES) if self.odd(0.05) else dtype
        if self.chance(0.15):
            return ir.Cast(self.scalar(self.pick(DTYPES), depth - 1), result, self.span())
        if self.odd(0.05):
            return self.call_of_nobody(ir.ScalarType(dtype))
        operand = self.pick(DTYPES) if dtype is BOOL else dtype
        if self.chance(0.2):
            kind = ir.Not if dtype is BOOL else self.pick([k for k in UNARY if k is not ir.Not])
            return kind(self.scalar(dtype, depth - 1), result, self.span())
        kinds = self.binary_kinds(dtype, operand)
        operand = BOOL if kinds is exprs.LOGICAL else operand
        kind = self.pick(BINARY) if self.odd(0.05) else self.pick(kinds)
        other = self.pick(DTYPES) if self.odd(0.05) else operand
        left, right = self.scalar(operand, depth - 1), self.scalar(other, depth - 1)
        return kind(left, right, result, self.span())

    def integer(self, depth: int) -> ir.Expr:
        """Return an expression for a dimension or address, which the constructors check."""
        found = self.scalar(INT64, depth)
        whole = isinstance(found.type, ir.ScalarType) and found.type.dtype.is_int()
        return found if whole else ir.Cast(found, INT64)

    def binary_kinds(self, dtype: DataType, operand: DataType) -> Sequence[Any]:
        if dtype is BOOL:
            return exprs.LOGICAL if operand is BOOL or self.chance(0.5) else exprs.COMPARISONS
        return ON_FLOATS if dtype.is_float() else ON_INTEGERS

    def value(self, depth: int = 2) -> ir.Expr:
        """Return any expression."""
        draw = self.random.random()
        if draw < 0.3:
            return self.scalar(self.pick(DTYPES), depth)
        if draw < 0.7:
            return self.call()
        if draw < 0.8:
            return self.var(self.type())
        elements = [self.value(depth - 1) for _ in range(self.random.randrange(3))] if depth else []
        made = ir.MakeTuple(elements, self.span())
        if elements and self.chance(0.5):
            whole = made if self.chance(0.5) else self.var(made.type)
            return ir.TupleGetItemExpr(whole, self.random.randrange(len(elements)), self.span())
        return self.memref() if self.odd(0.2) else made

    # ------------------------------------------------------------------------- calls

    def call(self) -> ir.Call:
        if self.functions and self.chance(0.15):
            return self.function_call(self.pick(self.functions))
        if self.odd(0.25):
            return self.call_of_nobody(self.type())
        accepted = recipes()[self.pick(op_names())]
        made = build(self.pick(accepted), self.var)
        kwargs, args, kind = dict(made.kwargs), list(made.args), made.type
        for index, arg in enumerate(args):  # a number as an expression
            if isinstance(arg, ir.ConstFloat | ir.ConstInt) and self.odd(0.2):
                args[index] = self.scalar(arg.dtype, 1)
        if self.odd():
            kwargs.popitem() if kwargs and self.chance(0.5) else kwargs.update(self.keywords())
        if self.odd(0.05):
            args = args[:-1] if self.chance(0.5) else [*args, self.constant(INT64)]
        if self.odd():
            kind = self.type()
        return ir.Call(made.op, args, kwargs, kind, self.span())

    def function_call(self, callee: ir.Function) -> ir.Call:
        results = callee.return_types
        kind = ir.TupleType(results) if len(results) > 1 else None
        kind = results[0] if len(results) == 1 else kind
        args = [self.var(v.type) for v in callee.params]
        return ir.Call(ir.GlobalVar(callee.name), args, {}, kind or ir.UnknownType.get())

    def call_of_nobody(self, kind: ir.Type) -> ir.Call:
        """Return the call of something that is not registered or not there."""
        op = ir.Op(self.pick(ODD_OPS)) if self.chance(0.7) else ir.GlobalVar(self.pick(FUNCTIONS))
        if self.chance(0.1):
            op = ir.GlobalVar(self.pick(ODD_FUNCTIONS))
        args = [self.scalar(self.pick(DTYPES), 1) for _ in range(self.random.randrange(3))]
        words = self.keywords() if self.chance(0.4) else {}
        return ir.Call(op, args, words, self.pick([kind, ir.UnknownType.get()]), self.span())

    def keywords(self) -> dict[str, Any]:
        words = ["axis", "mode", "dtype", "lhs", "x y", "for", "", "set_pipe", "target_type"]
        return {self.pick(words): self.keyword() for _ in range(self.random.randrange(1, 3))}

    def keyword(self, depth: int = 2) -> Any:
        plain = [True, 3, -2, (1 << 63) - 1, 0.5, -0.0, *INFINITE, None, "", "rint",
                 'q"\'\\', "\n", "\ud800", *ENUM_MEMBERS, *DTYPES]  # fmt: skip
        draw = self.random.random()
        if depth == 0 or draw < 0.6:
            return self.pick(plain)
        if draw < 0.7:
            return [self.keyword(depth - 1) for _ in range(self.random.randrange(3))]
        if draw < 0.8:
            return {self.pick(["k", "x y", ""]): self.keyword(depth - 1)}
        if draw < 0.9:
            return tuple(self.keyword(depth - 1) for _ in range(self.random.randrange(3)))
        return self.pick(plain)

    # -------------------------------------------------------------------- statements

    def block(self, depth: int) -> list[ir.Stmt]:
        """Return statements; tame programs forget what they define."""
        count = len(self.visible)
        made = [self.stmt(depth) for _ in range(self.random.randrange(0, 4))]
        if not self.wild or self.chance(0.5):
            kept = set(self.params)
            self.visible[count:] = [v for v in self.visible[count:] if v in kept]
        if made and self.chance(0.1):
            simple = [s for s in made if isinstance(s, ir.AssignStmt | ir.EvalStmt)]
            rest = [s for s in made if not isinstance(s, ir.AssignStmt | ir.EvalStmt)]
            return [ir.OpStmts(simple, self.span()), ir.SeqStmts(rest, self.span())]
        return made

    def body(self, made: list[ir.Stmt]) -> ir.Stmt:
        return made[0] if len(made) == 1 and self.chance(0.5) else ir.SeqStmts(made, self.span())

    def stmt(self, depth: int) -> ir.Stmt:
        draw = self.random.random()
        if depth and draw < 0.12:
            return self.branch(depth)
        if depth and draw < 0.24:
            return self.counted(depth)
        if depth and draw < 0.32:
            return self.while_loop(depth)
        if depth and draw < 0.36:
            body = self.body(self.block(depth - 1))
            hint = self.pick(["", "part", "head"])
            return ir.ScopeStmt(ir.ScopeKind.InCore, body, self.span(), hint)
        if draw < 0.4 and (self.loops or self.wild):
            return self.pick([ir.BreakStmt, ir.ContinueStmt])(self.span())
        if draw < 0.5:
            value = self.value() if self.wild else self.call()
            return ir.EvalStmt(value, self.span())
        if self.odd(0.05):
            values = [self.value(1) for _ in range(self.random.randrange(3))]
            return self.pick([ir.YieldStmt, ir.ReturnStmt])(values, self.span())
        return self.assign()

    def assign(self) -> ir.Stmt:
        if self.odd(0.3) and self.visible:
            return ir.AssignStmt(self.pick(self.visible), self.value(), self.span())
        value = self.value()
        var: ir.Var = self.new(self.type() if self.odd(0.2) else value.type)
        if self.odd(0.03):
            var = self.memref()
        made = ir.AssignStmt(var, value, self.span())
        self.visible.append(var)
        return made

    def values(self) -> list[ir.Expr]:
        return [self.value(1) for _ in range(self.pick([0, 1, 1, 2]))]

    def like(self, kinds: Sequence[ir.Type]) -> list[ir.Expr]:
        return [self.var(kind) for kind in kinds]

    def results(self, kinds: Sequence[ir.Type]) -> list[ir.Var]:
        if self.odd():
            kinds = [self.type() for _ in range(self.random.randrange(3))]
        made = [self.new(kind) for kind in kinds]
        if made and self.visible and self.odd():
            made[0] = self.pick(self.visible)
        self.visible += made
        return made

    def ended(self, depth: int, kinds: Sequence[ir.Type]) -> ir.Stmt:
        """Return a body that ends with a yield of ``kinds``."""
        made = self.block(depth - 1)
        if kinds or self.chance(0.2):
            values = self.values() if self.odd() else self.like(kinds)
            if not self.odd():
                made.append(ir.YieldStmt(values, self.span()))
        return self.body(made)

    def branch(self, depth: int) -> ir.Stmt:
        condition = self.value(1) if self.odd() else self.scalar(BOOL)
        kinds = [value.type for value in self.values()]
        then = self.ended(depth, kinds)
        other: ir.Stmt | None = self.ended(depth, kinds)
        if (not kinds and self.chance(0.5)) or self.odd():
            other = None
        return ir.IfStmt(condition, then, other, self.results(kinds), self.span())

    def carried(self) -> list[ir.IterArg]:
        made: list[ir.IterArg] = []
        for init in self.values():
            kind = self.type() if self.odd(0.2) else init.type
            made.append(ir.IterArg(self.name(), kind, init, self.span()))
        return made

    def results_of(self, args: Sequence[ir.IterArg]) -> list[ir.Var]:
        made = self.results([arg.type for arg in args])
        if args and made and self.chance(0.5) and made[0].__class__ is ir.Var:
            made[0] = ir.Var(args[0].name, made[0].type)
        return made

    def looped(self, depth: int, known: Sequence[ir.Var], kinds: Sequence[ir.Type]) -> ir.Stmt:
        count = len(self.visible)
        self.visible += known
        self.loops += 1
        body = self.ended(depth, kinds)
        self.loops -= 1
        if not self.odd():
            kept = set(self.params)
            self.visible[count:] = [v for v in self.visible[count:] if v in kept]
        return body

    def counted(self, depth: int) -> ir.Stmt:
        bounds = [self.scalar(INT64, 1) for _ in range(2)]
        step = self.scalar(INT64, 1) if self.wild else ir.ConstInt(self.pick([1, 2]))
        args = self.carried()
        index = ir.ScalarType(self.pick(INT_TYPES) if self.odd() else INT64)
        counter = self.pick(self.visible) if self.odd(0.05) and self.visible else self.new(index)
        body = self.looped(depth, [counter, *args], [arg.type for arg in args])
        kind = self.pick(list(ir.ForKind))
        results = self.results_of(args)
        stages = self.pick([1, 1, 2, 3]) if kind is ir.ForKind.Sequential else 1
        start, stop = bounds
        return ir.ForStmt(
            counter, start, stop, step, args, body, results, self.span(), kind, stages
        )

    def while_loop(self, depth: int) -> ir.Stmt:
        args = self.carried()
        self.visible += args
        condition = self.scalar(BOOL)
        kept = set(self.params)
        known = set(args)
        self.visible[:] = [v for v in self.visible if v in kept or v not in known]
        if not args and not self.wild and self.chance(0.3):
            condition = ir.ConstBool(True)
        body = self.looped(depth, args, [arg.type for arg in args])
        return ir.WhileStmt(condition, args, body, self.results_of(args), self.span())

    # --------------------------------------------------------------------- functions

    def function(self, name: str) -> ir.Function:
        for _ in range(self.random.randrange(3)):
            self.param(self.type())
        made = [self.stmt(3) for _ in range(self.random.randrange(0, 8))]
        values = self.values()
        kinds = [self.type()] if self.odd(0.2) else [value.type for value in values]
        if values or self.chance(0.5):
            made.append(ir.ReturnStmt(values, self.span()))
        directions = list(ir.ParamDirection)
        params = [(v, self.pick(directions) if self.chance(0.4) else directions[0])
                  for v in self.params]  # fmt: skip
        if self.odd(0.05) and params:
            params.append(params[0])
        kind = self.pick(list(ir.FunctionType))
        return ir.Function(name, params, kinds, self.body(made), self.span(), kind)


def attributes(draw: Draw) -> dict[str, Any]:
    """Return attributes of a program."""
    values: list[Any] = [True, 3, 0.5, float("inf"), float("nan"), "text", 'q"\'\\\n', {}, [1, [2]],
                         {"top": -1.5, "deep": {"k": [True]}}]  # fmt: skip
    names = ["arch", "x y", "a=b", " ", "'q", "k"]
    return {draw.pick(names): draw.pick(values) for _ in range(draw.random.randrange(3))}


def drawn_program(seed: int) -> ir.Program:
    """Return the program of a seed: a tame one for even seeds, a wild one for odd."""
    random, wild = Random(seed), bool(seed % 2)
    names = [*FUNCTIONS, *ODD_FUNCTIONS] if wild else FUNCTIONS
    functions: list[ir.Function] = []
    for name in dict.fromkeys(random.choice(names) for _ in range(random.choice([0, 1, 1, 2, 3]))):
        functions.append(Draw(random, wild=wild, functions=functions).function(name))
    draw = Draw(random, wild=wild)
    program_names = ["P", "class", "", "β", "None"] if wild else ["P", "Q"]
    entries = [None, *[f.name for f in functions], *(["nobody", ""] if wild else [])]
    entry = random.choice(entries)
    return ir.Program(
        functions, random.choice(program_names), draw.span(), attrs=attributes(draw), entry=entry
    )


# --------------------------------------------------------------------------------------------
# What the drawn programs cover
# --------------------------------------------------------------------------------------------

NODE_CLASSES: Final = [
    cls
    for module in (types, exprs, array_types, stmts)
    for cls in vars(module).values()
    if inspect.isclass(cls)
    and issubclass(cls, Node)
    and cls.__module__ == module.__name__
    and (not cls.__subclasses__() or cls in (ir.Var, ir.Op))
]
ONE_VALUE: Final = {("ScopeStmt", "scope_kind"), ("MemRef", "type"), ("ConstBool", "type")}
"""Fields of which the IR has only one value."""


class Coverage:
    """Which fields of which node classes had two different values."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], set[str]] = {}
        self.classes: set[str] = set()
        self.ops: set[str] = set()
        self.members: set[Any] = set()
        self.dtypes: set[DataType] = set()

    def add(self, root: Node) -> None:
        """Count the fields of ``root`` and of everything in it."""
        stack: list[Any] = [root]
        known: set[int] = set()
        while stack:
            value = stack.pop()
            if isinstance(value, tuple | list):
                stack += value
            elif isinstance(value, dict):
                stack += value.values()
            elif isinstance(value, Enum):
                self.members.add(value)
            elif isinstance(value, DataType):
                self.dtypes.add(value)
            if not isinstance(value, Node) or id(value) in known:
                continue
            known.add(id(value))
            self.fields(value, stack)

    def fields(self, node: Node, stack: list[Any]) -> None:
        cls = node.__class__
        if isinstance(node, OpDef):
            self.ops.add(cast("ir.Op", node).name)
        self.classes.add(cls.__name__)
        for field in cls.fields():
            value: Any = getattr(cast("Any", node), field.name)
            stack.append(value)
            seen = self.seen.setdefault((cls.__name__, field.name), set())
            if len(seen) < 2:
                seen.add(_digest(value))

    def empty(self) -> list[str]:
        """Return the cells that no drawn program fills."""
        cells: list[str] = []
        for cls in NODE_CLASSES:
            if cls.__name__ not in self.classes:
                cells.append(cls.__name__)
            for field in cls.fields():
                key = (cls.__name__, field.name)
                wanted = 1 if key in ONE_VALUE else 2
                if len(self.seen.get(key, ())) < wanted:
                    cells.append(".".join(key))
        return cells

    def table(self) -> str:
        """Return one line a class: its fields, each with the number of values (at most 2)."""
        lines: list[str] = []
        for cls in NODE_CLASSES:
            cells = [
                f"{field.name}:{len(self.seen.get((cls.__name__, field.name), ()))}"
                for field in cls.fields()
            ]
            mark = "yes" if cls.__name__ in self.classes else "NO"
            lines.append(f"{cls.__name__:18} {mark:4} {' '.join(cells)}")
        return "\n".join(lines)


def _digest(value: Any) -> str:
    """Return a text that is other for other values, as far as one level tells."""
    if isinstance(value, ir.ConstInt | ir.ConstFloat | ir.ConstBool):
        return f"{type(value).__name__} {value.value}"
    if isinstance(value, ir.Program | ir.Function | ir.Stmt | ir.Expr):
        return type(value).__name__
    if isinstance(value, tuple | dict):
        return f"{len(cast('Sequence[Any]', value))} items"
    return str(value)


def main() -> None:
    """Print the table for the number of programs given."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    coverage = Coverage()
    for seed in range(count):
        coverage.add(drawn_program(seed))
    print(coverage.table())
    print(f"{count} programs, empty cells: {', '.join(coverage.empty()) or 'none'}")


if __name__ == "__main__":
    main()
