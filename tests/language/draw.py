"""Generates random programs with regions: launches, loops, branches, tensors, products, helpers.

Almost every number in them is exact: each value is known to be a multiple of a power of two with
bounded magnitude, so that the order of sums does not matter and all ways of running a program must
give the same bits. Results of ``exp`` and the like are inexact ("rough"): they are kept separate,
up to the output ``rough``. Blocks of a launch write disjoint rows.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from tests.language.draw_regions import Regions
from tests.language.draw_values import (
    NUMPY,
    Array,
    Drawn,
    Fact,
    Helper,
    Number,
    Program,
    Scope,
    Tensor,
    Writer,
)


class Bodies(Regions):
    """Generates code that launches regions, and whole programs."""

    def options(self, scope: Scope) -> str:
        found = ""
        if self.chance(3):
            found += f', name_hint="{self.fresh("part_")}"'
        if self.chance(8):
            found += ", allow_early_resolve=True"
        return found

    def orchestrate(self, scope: Scope, depth: int) -> None:
        """Add some statements that launch work."""
        for _ in range(self.one((1, 2, 2, 3))):
            self.left -= 1
            kinds = [
                self.at,
                self.at,
                self.launch,
                self.launch,
                self.create,
                self.view,
                self.scalar,
            ]
            if self.writers:
                kinds += [self.write]
            if depth > 0 and self.left > 0:
                kinds += [self.host_loop, self.host_branch, self.host_scope, self.host_parallel]
            self.one(kinds)(scope, depth)

    def at(self, scope: Scope, depth: int) -> None:
        inner = scope.inner(values={})
        with self.block(f"with pl.at(level=pl.Level.CORE_GROUP{self.options(scope)}):"):
            before = len(self.lines)
            self.body(inner, depth if self.left > 0 else 0)
            if scope.own is None and scope.kept and self.chance(3):
                name = self.one(list(scope.kept))
                fact = scope.kept[name]
                drawn = self.value(inner, fact.shape, fact.dtype, 1, fact.rough)
                self.add(f"{name} = {self.fit(drawn, fact).text}")
            made = [line.split(" = ")[0].strip() for line in self.lines[before:]]
            top = [name for name in made if name in inner.values and name[0] == "v"]
            if len(self.lines) == before or not any("= " in line for line in self.lines[before:]):
                self.local(inner, 0)
            self.store(inner, 0)
        if scope.own is None and top and self.chance(2):
            name = self.one(top)
            if inner.values[name].fits:
                scope.kept[name] = inner.values[name]

    def launch(self, scope: Scope, depth: int) -> None:
        if scope.own is not None:
            return self.at(scope, depth)
        targets = [
            t for t in scope.tensors if t.writable and t.filled and t.fact.shape[0] == self.rows
        ]
        if not targets:
            return self.at(scope, depth)
        chosen = self.random.sample(targets, self.random.randrange(1, len(targets) + 1))
        shared = {t.name for t in chosen}
        count = self.rows // self.tile
        number = self.one(
            [
                str(count),
                f"{self.rows} // {self.tile}",
                f"pl.tensor.dim({chosen[0].name}, 0) // {self.tile}",
                "BLOCKS",
            ]
        )
        block = self.fresh("b")
        row = self.fresh("r")
        options = self.options(scope)
        inner = scope.inner(
            values={},
            own=Number(row, self.rows - self.tile),
            shared=shared,
            times=scope.times * count,
        )
        inner.numbers.append(Number(block, count - 1))

        def body() -> None:
            self.add(f"{row} = {block} * {self.tile}")
            self.body(inner, depth if self.left > 0 else 0)
            self.store_to(inner, self.one(chosen))

        form = self.random.randrange(4)
        if form < 2:
            with self.block(f"for {block} in pl.spmd({number}{options}):"):
                body()
        elif form == 2:
            task = f" as {self.fresh('task')}" if self.chance(2) else ""
            with self.block(f"with pl.spmd({number}{options}){task}:"):
                self.add(f"{block} = pl.{self.one(('tile.', ''))}get_block_idx()")
                body()
        else:
            with (
                self.block(f"with pl.spmd({number}):"),
                self.block(f"with pl.at(level=pl.Level.CORE_GROUP{options}):"),
            ):
                self.add(f"{block} = pl.get_block_idx()")
                body()
        return None

    def create(self, scope: Scope, depth: int) -> None:
        name = self.fresh("m")
        dtype = self.one(("FP32", "FP32", "BF16", "INT32"))
        shape = self.one(((self.rows, self.columns), (self.rows, self.width), (self.rows, 1)))
        if dtype == "BF16" and shape[1] == 1:
            dtype = "FP32"
        rough = self.rough and dtype == "FP32" and self.chance(3)
        tensor = Tensor(name, Fact(shape, dtype, 8, 0, rough), writable=True)
        init = ", init_value=0" if self.chance(2) else ""
        if self.chance(8):
            init += ", manual_dep=True"
        self.add(f"{name} = pl.create_tensor({list(shape)}, dtype=pl.{dtype}{init})")
        if "init_value" not in init:
            if scope.own is not None:
                init = ""
            self.fill(scope, tensor)
        if scope.own is None:
            scope.tensors.append(tensor)

    def fill(self, scope: Scope, tensor: Tensor) -> None:
        """Write all of a tensor."""
        inner = scope.inner(values={}, own=None)
        inner.shared |= scope.shared
        fact = tensor.fact
        of = fact.dtype if fact.dtype != "BF16" else "FP32"
        if self.chance(2):
            with self.block("with pl.at(level=pl.Level.CORE_GROUP):"):
                drawn = self.value(inner, fact.shape, of, 1, fact.rough)
                text = self.fit(drawn, fact).text
                text = f"pl.cast({text}, pl.BF16)" if fact.dtype == "BF16" else text
                self.add(f"{tensor.name}[:] = {text}")
        else:
            index = self.fresh("b")
            with self.block(f"for {index} in pl.spmd({self.rows // self.tile}):"):
                size = (self.tile, fact.shape[1])
                drawn = self.value(inner, size, of, 1, fact.rough)
                text = self.fit(drawn, fact).text
                text = f"pl.cast({text}, pl.BF16)" if fact.dtype == "BF16" else text
                row = f"{index} * {self.tile}"
                self.add(f"{tensor.name}[{row} : {row} + {self.tile}, :] = {text}")

    def view(self, scope: Scope, depth: int) -> None:
        """Name a slice or reshape of a tensor that nobody writes."""
        known = [
            t
            for t in scope.tensors
            if not t.writable and min(t.fact.shape) > 1 and len(t.fact.shape) == 2
        ]
        if not known:
            return
        of = self.one(known)
        rows, columns = of.fact.shape
        name = self.fresh("s")
        match self.random.randrange(4):
            case 0 if not self.ragged and rows % 2 == 0:
                shape = (rows // 2, columns * 2)
                self.add(f"{name} = pl.reshape({of.name}, {list(shape)})")
            case 1:
                shape = (rows // 2, columns)
                row = self.offset(scope, shape[0], rows)
                self.add(f"{name} = pl.slice({of.name}, {list(shape)}, [{row}, 0])")
            case _:
                shape = (rows // 2, columns // 2)
                row = self.offset(scope, shape[0], rows)
                column = self.offset(scope, shape[1], columns)
                rows_of, columns_of = (
                    f"{row} : {row} + {shape[0]}",
                    f"{column} : {column} + {shape[1]}",
                )
                self.add(f"{name} = {of.name}[{rows_of}, {columns_of}]")
        scope.tensors.append(Tensor(name, of.fact._replace(shape=shape)))

    def scalar(self, scope: Scope, depth: int) -> None:
        name = self.fresh("p")
        if self.chance(2):
            place = self.offset(scope, 1, self.rows)
            self.add(f"{name} = pl.cast(pl.read(index, [{place}]), pl.INDEX)")
            scope.numbers.append(Number(name, self.rows - self.tile))
        else:
            number = self.number(scope)
            self.add(f"{name} = {number.text}")
            scope.numbers.append(Number(name, number.largest))

    def write(self, scope: Scope, depth: int) -> None:
        """Call a function that writes rows of a tensor."""
        writer = self.one(self.writers)
        sources = [
            t for t in scope.tensors if t.fact == writer.source and t.name not in scope.shared
        ]
        targets = [t for t in self.targets(scope) if t.fact == writer.target]
        if not sources or not targets:
            return self.at(scope, depth)
        source, target = self.one(sources), self.one(targets)
        row = scope.own.text if scope.own else self.offset(scope, self.tile, self.rows)
        result = f"{target.name} = " if writer.returns and self.chance(2) else ""
        self.add(f"{result}{writer.name}({source.name}, {target.name}, {row})")
        return None

    def host_loop(self, scope: Scope, depth: int) -> None:
        index = self.fresh("i")
        kind = self.one(("range", "range", "unroll"))
        top = self.one((1, 2, 3))
        bounds, largest = str(top), top - 1
        if kind == "range" and self.chance(3):
            number = self.number(scope)
            bounds, largest = number.text, max(0, number.largest - 1)
        if scope.times * (largest + 1) > 30:
            return self.at(scope, depth)
        inner = scope.inner(times=scope.times * (largest + 1))
        inner.numbers.append(Number(index, largest))
        with self.block(f"for {index} in pl.{kind}({bounds}):"):
            self.orchestrate(inner, depth - 1)
        return None

    def host_parallel(self, scope: Scope, depth: int) -> None:
        """Add a loop with independent iterations."""
        targets = [
            t for t in scope.tensors if t.writable and t.filled and t.fact.shape[0] == self.rows
        ]
        if scope.own is not None or not targets:
            return self.at(scope, depth)
        shared = {
            t.name for t in self.random.sample(targets, self.random.randrange(1, len(targets) + 1))
        }
        index, row = self.fresh("i"), self.fresh("r")
        count = self.rows // self.tile
        inner = scope.inner(
            own=Number(row, self.rows - self.tile), shared=shared, times=scope.times * count
        )
        if self.chance(2):
            with self.block(f"for {row} in pl.parallel(0, {self.rows}, {self.tile}):"):
                self.orchestrate(inner, depth - 1)
            return None
        inner.numbers.append(Number(index, count - 1))
        with self.block(f"for {index} in pl.parallel({count}):"):
            self.add(f"{row} = {index} * {self.tile}")
            self.orchestrate(inner, depth - 1)
        return None

    def host_branch(self, scope: Scope, depth: int) -> None:
        with self.block(f"if {self.condition(scope)}:"):
            self.orchestrate(scope.inner(), depth - 1)
        if self.chance(2):
            with self.block("else:"):
                self.orchestrate(scope.inner(), depth - 1)

    def host_scope(self, scope: Scope, depth: int) -> None:
        """Add regions, each of which may depend explicitly on the one before."""
        with self.block("with pl.manual_scope():"):
            last = ""
            for _ in range(self.one((1, 2, 3))):
                task = self.fresh("task")
                waits = f", deps=[{last}]" if last else ""
                inner = scope.inner(values={})
                head = f"with pl.at(level=pl.Level.CORE_GROUP{waits}) as {task}:"
                with self.block(head):
                    self.body(inner, 1)
                    self.store(inner, 0)
                last = task

    # ---------------------------------------------------------------- functions

    def make_helper(self) -> None:
        shapes = [
            (self.tile, self.columns),
            (self.tile, self.columns),
            (self.tile, 1),
            (1, self.columns),
        ]
        takes = [
            (f"x{at}", Fact(self.one(shapes), self.one(("FP32", "FP32", "FP16")), 8, 0))
            for at in range(self.one((1, 2, 3)))
        ]
        options = ["scale"] if self.chance(2) else []
        name = self.fresh("helper_")
        params = [f"{p}: pl.Tensor[{list(fact.shape)}, pl.{fact.dtype}]" for p, fact in takes]
        params += [f"{option}: pl.Scalar[pl.FP32] = 2.0" for option in options]
        scope = Scope([], dict(takes))
        self.lines += ["@pl.jit.inline", f"def {name}({', '.join(params)}):"]
        results: list[Drawn] = []
        before, self.rough = self.rough, False
        for _ in range(self.one((0, 0, 1, 2))):
            self.statement(scope, 1)
        for _ in range(self.one((1, 2))):
            shape = self.one(((self.tile, self.columns), (self.tile, 1), takes[0][1].shape))
            drawn = self.value(scope, shape, "FP32", 2, False)
            if options and not results:
                drawn = self.fit(drawn, Fact((), "", 64, 0))
                text = f"pl.mul({drawn.text}, scale)"
                drawn = Drawn(text, drawn.fact._replace(bound=drawn.fact.bound * 2, step=1))
            if self.chance(2):
                kept = self.fresh("t")
                self.add(f"{kept} = {drawn.text}")
                drawn = Drawn(kept, drawn.fact)
            results.append(drawn)
        self.rough = before
        self.add(f"return {', '.join(drawn.text for drawn in results)}")
        self.lines += ["", ""]
        self.helpers.append(Helper(name, takes, options, [drawn.fact for drawn in results]))

    def make_writer(self, source: Fact, target: Fact) -> None:
        name = self.fresh("writer_")
        tile = self.tile
        self.lines += [
            "@pl.jit.inline",
            f"def {name}(src: pl.Tensor, dst: pl.Tensor, row: pl.Scalar[pl.INDEX]):",
        ]
        with self.block(f"with pl.at(level=pl.Level.CORE_GROUP{self.options(Scope([]))}):"):
            scope = Scope([], {"part": source._replace(shape=(tile, source.shape[1]))})
            self.add(f"part = src[row : row + {tile}, :]")
            size = (tile, target.shape[1])
            drawn = self.value(scope, size, target.dtype, 2, False)
            self.add(f"dst[row : row + {tile}, :] = {self.fit(drawn, target).text}")
        returns = self.chance(2)
        if returns:
            self.add("return dst")
        self.lines += ["", ""]
        self.writers.append(Writer(name, source, target, returns))

    def program(self) -> Program:
        rows, columns, width, tile = self.rows, self.columns, self.width, self.tile
        kind = self.one(("BF16", "FP16", "FP32", "INT8"))
        tensors = [
            Tensor("x", Fact((rows, columns), "FP32", 4)),
            Tensor("y", Fact((rows, columns), self.one(("FP16", "BF16", "INT32")), 4)),
            Tensor("z", Fact((rows, columns), kind if kind != "FP32" else "BF16", 4)),
            Tensor("col", Fact((rows, 1), "FP32", 4)),
            Tensor("row", Fact((1, columns), "FP32", 4)),
            Tensor("w", Fact((columns, width), kind, 4)),
            Tensor("wt", Fact((width, columns), kind, 4)),
        ]
        planes = (3, tile, self.one((columns, width)))
        tensors = [t for t in tensors if t.name in "xw" or self.random.randrange(4)]
        outs = [
            Tensor("o", Fact((rows, columns), "FP32"), writable=True),
            Tensor("q", Fact((rows, width), self.one(("FP32", "BF16", "INT32"))), writable=True),
            Tensor("c", Fact((rows, 1), "FP32"), writable=True),
            Tensor("sums", Fact((tile, columns), "FP32")),
            Tensor("marks", Fact((rows,), "INT32")),
            Tensor("cube", Fact(planes, self.one(("FP32", "FP16", "INT32")))),
            Tensor("rough", Fact((rows, columns), "FP32", rough=True), writable=True),
        ]
        outs = [t for t in outs if t.name == "o" or self.chance(2)]
        if not self.rough:
            outs = [t for t in outs if t.name != "rough"]
        elif not any(t.name == "rough" for t in outs):
            self.rough = False
        self.apart = True
        for _ in range(self.random.randrange(3)):
            self.make_helper()
        if self.chance(2):
            self.make_writer(tensors[0].fact, outs[0].fact)
        self.apart = False
        functions, self.lines = self.lines, []
        scope = Scope([*tensors, *outs])
        for tensor in outs:
            if tensor.name in ("sums", "marks", "cube"):
                tensor.filled = False  # nobody reads it
        fresh = [t for t in outs if t.writable and self.chance(3)]
        for tensor in fresh:
            tensor.filled = False
        for tensor in fresh:
            self.fill(scope, tensor)
            tensor.filled = True
        self.orchestrate(scope, 3)
        while self.left > 0:
            self.orchestrate(scope, 3)
        self.at(scope, 1)
        return self.finished(functions, tensors, outs, {t.name for t in fresh})

    def finished(
        self, functions: list[str], tensors: list[Tensor], outs: list[Tensor], fresh: set[str]
    ) -> Program:
        def annotated(tensor: Tensor) -> str:
            return f"pl.Tensor[{list(tensor.fact.shape)}, pl.{tensor.fact.dtype}]"

        runtime = self.chance(2)
        params = [f"{t.name}: {annotated(t)}" for t in tensors]
        params += [
            f"index: pl.Tensor[[{self.rows}], pl.INT32]",
            "n: pl.INT32" if runtime else "n: pl.Scalar[pl.INT32]",
            "k: pl.Scalar[pl.INT32]",
            "f: pl.FP32" if self.chance(2) else "f: pl.Scalar[pl.FP32]",
        ]
        for t in outs:
            wrapper = "Out" if t.name in fresh else "InOut"
            params.append(f"{t.name}: pl.{wrapper}[{annotated(t)}]")
        body = self.lines
        dynamic = [t for t in (*tensors, *outs) if t.fact.shape[0] == self.rows]
        head: list[str] = []
        if self.ragged:
            head = [f"    {t.name}.bind_dynamic(0, ROWS)" for t in dynamic]
        text = "\n".join(
            [
                "import pypto.language as pl",
                "",
                f"BLOCKS = {self.rows // self.tile}",
                'ROWS = pl.dynamic("ROWS")',
                "FACTORS = [2.0, 0.5, 1.0, -1.0]",
                "",
                "",
                *functions,
                "@pl.jit",
                "def drawn(",
                *(f"    {param}," for param in params),
                "):",
                *head,
                *body,
                f"    return {', '.join(t.name for t in outs)}",
                "",
            ]
        )
        calls = [self.arguments(tensors, outs, fresh, n) for n in ((0, 2) if runtime else (2,))]
        first = len(tensors) + 4
        rough = tuple(first + at for at, t in enumerate(outs) if t.fact.rough)
        return Program(text, calls, rough)

    def arguments(
        self, tensors: list[Tensor], outs: list[Tensor], fresh: set[str], n: int
    ) -> list[Any]:
        rng: Any = np.random.default_rng(self.random.randrange(1 << 30))
        found: list[Any] = []
        for tensor in tensors:
            drawn = rng.integers(-4, 5, tensor.fact.shape)
            found.append(drawn.astype(NUMPY[tensor.fact.dtype]))
        found.append(rng.integers(0, self.rows - self.tile + 1, self.rows).astype(np.int32))
        found += [n, 1, 1.5]
        for tensor in outs:
            factor = 0 if tensor.name in fresh else 1
            drawn: Array = rng.integers(-4, 5, tensor.fact.shape) * factor
            found.append(drawn.astype(NUMPY[tensor.fact.dtype]))
        return found


def drawn(seed: str) -> Program:
    """Return the program generated from a seed."""
    random = Random(seed)
    return Bodies(random, random.randrange(3, 14)).program()
