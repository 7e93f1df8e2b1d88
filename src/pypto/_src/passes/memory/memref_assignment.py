"""The memory references of a function's tensors and tiles, before they are part of their types.

A memory reference is part of a variable's type, and so of every use of the variable: changing one
means copying all later statements. Four passes in a row change references, or only read them. So in
a pipeline they pass on the unchanged statements, with the references beside them, and the
statements are rebuilt once, when something else asks for the program.

Knows how references get into types; the passes decide which references.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import is_
from typing import Any, TypeAlias

from pypto._src.analysis.liveness import Lifetimes, defined
from pypto._src.analysis.stmt_tree import Block, Retype, number
from pypto._src.ir.array_types import MemRef, TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Var
from pypto._src.ir.stmts import Function, Program, Stmt, statements
from pypto._src.ir.traversal.recursion import with_room
from pypto._src.ir.types import Type
from pypto._src.ir.unchecked import with_memref
from pypto._src.passes.pass_base import AnyProgram, Pass, PassContext, Unmaterialized, materialized
from pypto._src.passes.structure.normalize_stmt_structure import normal_body, normal_function
from pypto._src.passes.verification import PassFacts

Members: TypeAlias = "dict[MemorySpace, dict[MemRef, list[Var]]]"
"""The tiles of each on-chip buffer, by memory space, in order of definition."""
Buffers: TypeAlias = "dict[MemorySpace, list[MemRef]]"
"""The on-chip buffers of each memory space, in order of definition."""


class MemRefs:
    """A function with the memory references that are assigned to its tensors and tiles.

    ``of`` has them in the order of `liveness.defined`. The types in ``function`` may have others,
    or none yet. With ``is_normal`` the function is materialized with normal bodies.
    """

    def __init__(
        self, function: Function, of: Mapping[Var, MemRef], *, is_normal: bool = False
    ) -> None:
        self.function = function
        self.of = of
        self.is_normal = is_normal

    @staticmethod
    def in_types(function: Function) -> MemRefs:
        """Return a function with the memory references that its types have."""
        kinds: list[tuple[Var, Any]] = [(var, var.type) for var in defined(function)]
        return MemRefs(function, {var: k.memref for var, k in kinds if k.memref is not None})

    @cached_property
    def root(self) -> Block:
        """The statements of the function, numbered."""
        return number(self.function)

    @cached_property
    def lifetimes(self) -> Lifetimes:
        """The live ranges of the tiles."""
        return Lifetimes(self.function, self.root)

    @cached_property
    def tiles(self) -> Members:
        """The tiles of each on-chip buffer."""
        found: Members = {}
        for var, memref in self.of.items():
            if var.type.__class__ is not TileType:
                continue
            space = memref.memory_space_
            buffers = found.get(space)
            if buffers is None:
                buffers = found[space] = {}
            tiles = buffers.get(memref)
            if tiles is None:
                buffers[memref] = [var]
            else:
                tiles.append(var)
        return found

    @cached_property
    def buffers(self) -> Buffers:
        """The on-chip buffers."""
        return {space: [*found] for space, found in self.tiles.items()}

    def knows(
        self,
        root: Block | None = None,
        lifetimes: Lifetimes | None = None,
        buffers: Buffers | None = None,
    ) -> MemRefs:
        """Reuse results that were computed before; return the object itself."""
        if root is not None:
            self.root = root
        if lifetimes is not None:
            self.lifetimes = lifetimes
        if buffers is not None:
            self.buffers = buffers
        return self

    def replaced(self, merged: Mapping[MemRef, MemRef]) -> MemRefs:
        """Return the same statements, with the references in ``merged`` replaced."""
        if not merged:
            return self
        other, old, known = merged.get, self.of.values(), vars(self)
        of = dict(zip(self.of, map(other, old, old), strict=True))
        buffers = {
            space: [*dict.fromkeys(map(other, found, found))]
            for space, found in self.buffers.items()
        }
        made = MemRefs(self.function, of, is_normal=self.is_normal)
        return made.knows(known.get("root"), known.get("lifetimes"), buffers)

    def within(self, function: Function) -> MemRefs:
        """Return the same references for other statements on the same variables.

        The bodies of ``function`` must be normal if ``is_normal`` is set here.
        """
        if function is self.function:
            return self
        return MemRefs(function, self.of).knows(buffers=vars(self).get("buffers"))

    def materialize(self) -> Function:
        """Return the function with these references in its types.

        Variables that shared a type object and have one reference still share a type object.
        """
        types: dict[Var, Type] = {}
        known: dict[tuple[int, MemRef], Type] = {}
        for var, memref in self.of.items():
            kind: Any = var.type
            if kind.memref is memref:
                continue
            key = id(kind), memref
            new = known.get(key)
            if new is None:
                new = known[key] = with_memref(kind, memref)
            types[var] = new
        if not types:
            return normal_function(self.function) if self.is_normal else self.function
        return (_Normal if self.is_normal else Retype)(types.get).function(self.function)


class _Normal(Retype):
    """Also normalizes bodies, as `NormalizeStmtStructure` does."""

    def body(self, stmt: Stmt) -> Stmt:
        """Return the body with its variables replaced."""
        return normal_body(stmt, self.each(statements(stmt)))


class MemRefAssignment(Unmaterialized):
    """A program with the memory references of each of its functions."""

    def __init__(self, program: Program, functions: Sequence[MemRefs]) -> None:
        bare = [each.function for each in functions]
        same = all(map(is_, bare, program.functions_))
        super().__init__(program if same else program.with_functions(bare))
        self.functions = functions
        self.guard: Callable[[Callable[[], Any], Program], Any] = with_room
        """Runs the rebuilding, with errors attributed to the pass that has deferred it."""

    @staticmethod
    def of(given: AnyProgram) -> MemRefAssignment:
        """Return a program with the memory references of its types, or those already assigned."""
        if isinstance(given, MemRefAssignment):
            return given
        program = materialized(given)
        return MemRefAssignment(program, [MemRefs.in_types(f) for f in program.functions_])

    def with_functions(self, functions: Sequence[MemRefs]) -> MemRefAssignment:
        """Return the program with other functions, itself if they are the same."""
        same = all(map(is_, functions, self.functions))
        return self if same else MemRefAssignment(self.program, functions)

    def materialize(self) -> Program:
        """Return the program with the references in its types."""
        return self._program

    @cached_property
    def _program(self) -> Program:
        old, functions = self.program, self.functions
        new = self.guard(lambda: [each.materialize() for each in functions], old)
        return old if all(map(is_, new, old.functions_)) else old.with_functions(new)


class MemoryPass(Pass):
    """A pass that makes, changes or reads memory references, which need not be in types yet."""

    def go_on(self, given: AnyProgram) -> AnyProgram:
        """Return the transformed program, perhaps unmaterialized; errors are those of `run`."""
        raise NotImplementedError(f"{type(self).__name__} does not define go_on()")

    def run(self, program: Program) -> Program:
        """Return the transformed program, with memory references in its types."""
        return materialized(self.go_on(program))

    def step(self, given: AnyProgram, facts: PassFacts) -> AnyProgram:
        """Do what a call does; statements are not rebuilt unless an instrument inspects them."""
        context = PassContext.current()
        is_seen = context is not None and context.get_instruments()
        cls = type(self)
        if is_seen or cls.run is not MemoryPass.run or cls.__call__ is not Pass.__call__:
            return self(materialized(given))  # a subclass overrides more than `go_on`
        made = self.guarded(lambda: self._gone_on(given, facts), given)
        if isinstance(made, MemRefAssignment) and made is not given:
            made.guard = self.guarded
        return made

    def _gone_on(self, given: AnyProgram, facts: PassFacts) -> AnyProgram:
        return self.go_on(self.accepted(given, facts) if isinstance(given, Program) else given)
