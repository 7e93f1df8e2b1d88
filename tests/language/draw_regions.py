"""Generates the statements of regions."""

from __future__ import annotations

from tests.language.draw_values import (
    VECTOR,
    Drawn,
    Fact,
    Number,
    Scope,
    Shape,
    Tensor,
    Values,
    joined,
)


class Regions(Values):
    """Generates statements of regions."""

    def shape(self) -> Shape:
        """Return a shape for values."""
        tile, columns = self.tile, self.columns
        return self.one(
            [
                *[(tile, columns)] * 5,
                (tile, 1),
                (1, columns),
                (tile, self.width),
                (tile // 2, columns),
                (tile, columns // 2),
                (self.rows, columns),
            ]
        )

    def body(self, scope: Scope, depth: int) -> None:
        """Add some statements of a region."""
        for _ in range(self.one((1, 2, 2, 3))):
            self.left -= 1
            self.statement(scope, depth if self.left > 0 else 0)

    def statement(self, scope: Scope, depth: int) -> None:
        kinds = [self.local, self.rebind, self.rebind, self.store, self.store, self.store, self.put]
        kinds += [self.swap, self.element, self.update, self.partly, self.planes, self.pieces]
        if self.helpers:
            kinds += [self.call, self.call]
        if depth > 0:
            kinds += [self.loop] * 4 + [self.branch] * 3
            kinds += [self.sum_of_products] * 3 + [self.while_loop, self.lanes]
            self.one(kinds)(scope, depth)
        else:
            self.one(kinds)(scope, 0)

    def depth_of_values(self) -> int:
        return self.one((1, 2, 2, 3))

    def local(self, scope: Scope, depth: int) -> None:
        dtype = self.one(VECTOR)
        rough = self.rough and self.chance(3) and dtype == "FP32"
        drawn = self.value(scope, self.shape(), dtype, self.depth_of_values(), rough)
        name = self.fresh("v")
        self.add(f"{name} = {drawn.text}")
        scope.values[name] = drawn.fact

    def rebind(self, scope: Scope, depth: int) -> None:
        names = [name for name in scope.values if name[0] == "v"]
        if not names:
            return self.local(scope, depth)
        name = self.one(names)
        fact = scope.values[name]
        drawn = self.value(scope, fact.shape, fact.dtype, self.depth_of_values(), fact.rough)
        self.add(f"{name} = {self.fit(drawn, fact).text}")
        return None

    def put(self, scope: Scope, depth: int) -> None:
        """Write a part of a value."""
        names = [n for n, fact in scope.values.items() if n[0] == "v" and min(fact.shape) > 1]
        if not names:
            return self.local(scope, depth)
        name = self.one(names)
        fact = scope.values[name]
        rows = self.one((fact.shape[0], fact.shape[0] // 2))
        columns = self.one((fact.shape[1], fact.shape[1] // 2))
        drawn = self.value(scope, (rows, columns), fact.dtype, 1, fact.rough)
        text = self.fit(drawn, fact).text
        row = self.offset(scope, rows, fact.shape[0])
        column = self.offset(scope, columns, fact.shape[1])
        if self.chance(3):
            self.add(f"{name} = pl.assemble({name}, {text}, [{row}, {column}])")
        else:
            self.add(f"{name}[{row} : {row} + {rows}, {column} : {column} + {columns}] = {text}")
        return None

    def swap(self, scope: Scope, depth: int) -> None:
        """Swap two values, or two numbers."""
        names = [name for name in scope.values if name[0] == "v"]
        pairs = [
            (a, b) for a in names for b in names if a < b and scope.values[a] == scope.values[b]
        ]
        if not pairs:
            return self.local(scope, depth)
        a, b = self.one(pairs)
        self.add(f"{a}, {b} = {b}, {a}")
        return None

    def element(self, scope: Scope, depth: int) -> None:
        """Read an element of a value, compute with it and branch on it."""
        names = [
            n for n, f in scope.values.items() if n[0] == "v" and not f.rough and f.dtype != "FP16"
        ]
        if not names:
            return self.local(scope, depth)
        name = self.one(names)
        fact = scope.values[name]
        row = self.offset(scope, 1, fact.shape[0])
        column = self.offset(scope, 1, fact.shape[1])
        scalar = self.fresh("e")
        text = self.one((f"{name}[{row}, {column}]", f"pl.read({name}, [{row}, {column}])"))
        self.add(f"{scalar} = {text}")
        if self.chance(2):
            zero = "0" if fact.dtype == "INT32" else "0.0"
            with self.block(f"if {scalar} > {zero}:"):
                self.rebind(scope.inner(), 0)
            return None
        made = Drawn(f"pl.add({name}, {scalar})", fact._replace(bound=fact.bound * 2))
        if made.fact.fits:
            other = self.fresh("v")
            self.add(f"{other} = {made.text}")
            scope.values[other] = made.fact
        return None

    def update(self, scope: Scope, depth: int) -> None:
        """Update a value or a part of a tensor by an operator."""
        names = [n for n, f in scope.values.items() if n[0] == "v" and f.bound <= 64 and f.step < 3]
        if not names or scope.times > 1:
            return self.rebind(scope, depth)
        name = self.one(names)
        fact = scope.values[name]
        other = self.fit(
            self.value(scope, fact.shape, fact.dtype, 1, fact.rough), Fact((), "", 8, 0)
        )
        made = joined("add", fact, other.fact)
        if not made.fits or other.fact.rough != fact.rough or name in scope.outer:
            return self.rebind(scope, depth)
        self.add(f"{name} {self.one(('+=', '-='))} {other.text}")
        scope.values[name] = made
        return None

    def partly(self, scope: Scope, depth: int) -> None:
        """Add a partly valid value, and store the valid part or its sums."""
        size = (self.tile, self.columns)
        whole = self.value(scope, size, "FP32", 1, False)
        rows = self.one(
            (str(self.tile - 3), "n + 1", f"pl.min({self.number(scope).text} + 1, {self.tile})")
        )
        columns = self.one((str(self.columns), str(self.columns - 5), str(self.columns), "k + 8"))
        if self.apart:
            rows, columns = "3", str(self.columns - 5)
        name = self.fresh("u")
        self.add(f"{name} = pl.set_validshape({whole.text}, {rows}, {columns})")
        if self.chance(2):
            self.add(f"{name} = pl.add({name}, 1.0)")
            whole = Drawn(whole.text, whole.fact._replace(bound=whole.fact.bound + 1))
        fact = whole.fact
        if not fact._replace(bound=fact.bound * self.columns).fits:
            return
        kind = self.random.randrange(3)
        targets = [
            t
            for t in self.targets(scope)
            if t.fact.shape == (self.rows, self.columns)
            and not t.fact.rough
            and t.fact.dtype == "FP32"
        ]
        made = self.fresh("v")
        if kind == 0 and targets:
            target = self.one(targets)
            row = scope.own.text if scope.own else self.offset(scope, self.tile, self.rows)
            text = (
                self.fit(Drawn(name, fact._replace(step=0)), target.fact).text
                if fact.step == 0
                else None
            )
            if text:
                self.add(f"{target.name}[{row} : {row} + {self.tile}, :] = {text}")
        elif kind == 1:
            self.add(f"{made} = pl.fillpad({name}, pad_value=pl.PadValue.zero)")
            scope.values[made] = fact
        else:
            columns_of = [t for t in self.targets(scope) if t.name == "c"]
            if not columns_of:
                return
            row = scope.own.text if scope.own else self.offset(scope, self.tile, self.rows)
            total = Drawn(
                f"{self.one(('pl.row_sum', 'pl.row_max'))}({name})",
                fact._replace(bound=fact.bound * self.columns),
            )
            if fact.step == 0:
                text = self.fit(total, columns_of[0].fact).text
                self.add(f"c[{row} : {row} + {self.tile}, :] = {text}")

    def planes(self, scope: Scope, depth: int) -> None:
        """Read and write a plane of a three-dimensional tensor."""
        found = [t for t in scope.tensors if t.name == "cube"]
        if not found:
            return self.local(scope, depth)
        fact = found[0].fact
        size = fact.shape[1:]
        plane = self.offset(scope, 1, fact.shape[0])
        name = self.fresh("v")
        if self.chance(2) or scope.own is not None:
            part = self.one((":, :", f"0:{size[0]}, :"))
            self.add(f"{name} = cube[{plane}, {part}]")
            scope.values[name] = fact._replace(shape=size)
        elif "cube" not in scope.shared:
            drawn = self.fit(self.value(scope, size, fact.dtype, 1, False), fact)
            self.add(f"cube[{plane}, :, :] = {drawn.text}")
        return None

    def pieces(self, scope: Scope, depth: int) -> None:
        """Build a value in a loop, part by part."""
        if self.columns % 32 or scope.times > 30:
            return self.local(scope, depth)
        name, index, half = self.fresh("v"), self.fresh("i"), self.columns // 2
        size = (self.tile, self.columns)
        fact = Fact(size, "FP32", 8, 0)
        self.add(f"{name} = pl.create_tensor({list(size)}, dtype=pl.FP32)")
        kind = self.one(("range", "unroll"))
        with self.block(f"for {index} in pl.{kind}(2):"):
            inner = scope.inner(times=scope.times * 2)
            inner.numbers.append(Number(index, 1))
            drawn = self.fit(self.value(inner, (self.tile, half), "FP32", 2, False), fact)
            begin = f"{index} * {half}"
            self.add(f"{name}[:, {begin} : {begin} + {half}] = {drawn.text}")
            last = self.fresh("v")
            self.add(f"{last} = {self.fit(self.value(inner, size, 'FP32', 1, False), fact).text}")
        scope.values[name] = fact
        if self.chance(2):
            scope.values[last] = fact
        return None

    def lanes(self, scope: Scope, depth: int) -> None:
        """Split work between the vector cores."""
        targets = [
            t
            for t in self.targets(scope)
            if t.fact.dtype == "FP32" and t.fact.shape[0] == self.rows
        ]
        if not targets or self.tile % 16 or self.in_lanes or self.apart:
            return self.loop(scope, depth)
        target = self.one(targets)
        index, half = self.fresh("i"), self.tile // 2
        self.in_lanes = True
        with self.block(f"for {index} in pl.split_aiv(2, mode=pl.SplitMode.NONE):"):
            row = scope.own.text if scope.own else "0"
            begin = f"{row} + {index} * {half}"
            inner = scope.inner(own=None, shared=scope.shared | {target.name})
            size = (half, target.fact.shape[1])
            drawn = self.fit(self.value(inner, size, "FP32", 2, target.fact.rough), target.fact)
            self.add(f"{target.name}[{begin} : {begin} + {half}, :] = {drawn.text}")
        self.in_lanes = False
        return None

    def targets(self, scope: Scope) -> list[Tensor]:
        found = [t for t in scope.tensors if t.writable and t.filled]
        if scope.own is not None:
            found = [t for t in found if t.name in scope.shared]
        return found

    def store(self, scope: Scope, depth: int) -> None:
        targets = self.targets(scope)
        sums = [t for t in scope.tensors if t.name == "sums"]
        if sums and self.chance(6):
            fact = sums[0].fact
            drawn = self.fit(self.value(scope, fact.shape, "FP32", 1, False), fact)
            self.add(f"sums = pl.assemble(sums, {drawn.text}, [0, 0], atomic=pl.AtomicType.Add)")
            return
        elements = [t for t in scope.tensors if t.name == "marks"]
        if elements and self.chance(6):
            place = f"{scope.own.text} + 1" if scope.own else self.offset(scope, 1, self.rows)
            number = self.number(scope)
            self.add(f"pl.write(marks, [{place}], pl.cast({number.text}, pl.INT32))")
            return
        if not targets:
            self.local(scope, depth)
            return
        target = self.one(targets)
        self.store_to(scope, target)

    def store_to(self, scope: Scope, target: Tensor) -> None:
        fact = target.fact
        tall = fact.shape[0] == self.rows
        if scope.own is not None:
            rows = self.tile
            row = scope.own.text
        else:
            rows = self.tile if tall else fact.shape[0]
            row = self.offset(scope, rows, fact.shape[0])
        columns = fact.shape[1]
        column = "0"
        if self.chance(3) and columns % 2 == 0:
            columns //= 2
            column = self.offset(scope, columns, fact.shape[1])
        drawn = self.value(
            scope, (rows, columns), fact.dtype if fact.dtype != "BF16" else "FP32", 2, fact.rough
        )
        text = self.fit(drawn, fact).text
        if fact.dtype == "BF16":
            text = f"pl.cast({text}, pl.BF16)"
        name = target.name
        match self.random.randrange(6):
            case 0:
                self.add(f"{name} = pl.assemble({name}, {text}, [{row}, {column}])")
            case 1:
                self.add(f"{name} = pl.store({text}, [{row}, {column}], {name})")
            case _:
                across = f"{column} : {column} + {columns}"
                if column == "0" and columns == fact.shape[1]:
                    across = self.one((":", f"0:{columns}"))
                self.add(f"{name}[{row} : {row} + {rows}, {across}] = {text}")

    def call(self, scope: Scope, depth: int) -> None:
        helper = self.one(self.helpers)
        args: list[str] = []
        for name, fact in helper.takes:
            drawn = self.fit(self.value(scope, fact.shape, fact.dtype, 1, False), fact)
            args.append(f"{name}={drawn.text}" if self.chance(6) and len(args) > 0 else drawn.text)
            if "=" in args[-1].split("(")[0]:
                args[-1] = drawn.text
        for option in helper.options:
            if self.chance(2):
                factor = self.one(("2.0", "0.5", "f"))
                # A helper that calls another one has no parameter `f`.
                factor = "1.0" if self.apart and factor == "f" else factor
                args.append(f"{option}={factor}")
        names = [self.fresh("v") for _ in helper.gives]
        self.add(f"{', '.join(names)} = {helper.name}({', '.join(args)})")
        scope.values |= dict(zip(names, helper.gives, strict=True))

    def loop(self, scope: Scope, depth: int) -> None:
        index = self.fresh("i")
        kind = self.one(("range", "range", "pipeline", "unroll", "parallel"))
        if kind == "parallel":
            kind = "range"
        top = self.one((1, 2, 3, 4))
        bounds, largest, times = str(top), top - 1, top
        match self.random.randrange(5):
            case 0:
                bounds, largest, times = f"1, {top + 1}", top, top
            case 1:
                bounds, largest, times = f"0, {top * 2}, 2", top * 2 - 2, top
            case 2 if kind != "unroll":
                number = self.number(scope)
                bounds, largest, times = number.text, max(0, number.largest - 1), number.largest
            case _:
                pass
        stage = f", stage={self.one((1, 2, 2))}" if kind == "pipeline" else ""
        self.carried(scope)
        inner = scope.inner(times=scope.times * max(1, times))
        inner.numbers.append(Number(index, largest))
        if inner.times > 200:
            return self.local(scope, depth)
        with self.block(f"for {index} in pl.{kind}({bounds}{stage}):"):
            self.body(inner, depth - 1)
            if self.chance(2):
                self.rebind(inner, 0)
            if kind == "range" and self.chance(5):
                with self.block(f"if {self.condition(inner)}:"):
                    self.add(self.one(("break", "continue")))
                self.rebind(inner, 0)
            if kind == "unroll" and top < 4 and bounds == str(top):
                names = [n for n, f in inner.values.items() if n[0] == "v" and f.dtype == "FP32"]
                for name in names[:1]:
                    fact = inner.values[name]
                    made = Drawn(
                        f"pl.mul({name}, FACTORS[{index}])",
                        fact._replace(bound=fact.bound * 2, step=fact.step + 1),
                    )
                    if made.fact.fits:
                        self.add(f"{name} = {self.fit(made, fact).text}")
        return None

    def carried(self, scope: Scope) -> None:
        """Add a loop-carried value, if there is none."""
        if not any(name[0] == "v" for name in scope.values) or self.chance(3):
            self.local(scope, 0)

    def while_loop(self, scope: Scope, depth: int) -> None:
        if scope.times > 50 or self.random.randrange(3):
            return self.loop(scope, depth)
        self.carried(scope)
        index = self.fresh("c")
        number = self.number(scope)
        self.add(f"{index} = {number.text}")
        with self.block(f"while {index} > 0:"):
            inner = scope.inner(times=scope.times * 8)
            inner.numbers.append(Number(index, number.largest))
            self.body(inner, depth - 1)
            self.add(f"{index} = {index} - 1")
        return None

    def branch(self, scope: Scope, depth: int) -> None:
        self.carried(scope)
        both: str | None = None
        fact = Fact((self.tile, self.columns), "FP32", 8, 0)
        if self.chance(3):
            both = self.fresh("v")
        first, other = self.condition(scope), self.condition(scope)
        with self.block(f"if {first}:"):
            inner = scope.inner()
            self.body(inner, depth - 1)
            if both:
                value = self.fit(self.value(inner, fact.shape, "FP32", 1, False), fact)
                self.add(f"{both} = {value.text}")
        if self.chance(5):
            with self.block(f"elif {other}:"):
                inner = scope.inner()
                self.body(inner, depth - 1)
                if both:
                    value = self.fit(self.value(inner, fact.shape, "FP32", 1, False), fact)
                    self.add(f"{both} = {value.text}")
        if both or self.chance(2):
            with self.block("else:"):
                inner = scope.inner()
                self.body(inner, depth - 1)
                if both:
                    value = self.fit(self.value(inner, fact.shape, "FP32", 1, False), fact)
                    self.add(f"{both} = {value.text}")
        if both:
            scope.values[both] = fact

    def sum_of_products(self, scope: Scope, depth: int) -> None:
        """Add a product accumulated along K."""
        wide = [
            t
            for t in scope.tensors
            if t.fact.dtype in ("BF16", "FP16", "FP32")
            and t.name not in scope.shared
            and t.filled
            and not t.fact.rough
            and t.fact.shape == (self.rows, self.columns)
        ]
        weights = [t for t in scope.tensors if t.name in ("w", "wt") and t.fact.dtype != "INT8"]
        pairs = [(x, w) for x in wide for w in weights if x.fact.dtype == w.fact.dtype]
        if not pairs or self.columns % 32:
            return self.local(scope, depth)
        x, w = self.one(pairs)
        half, tile = self.columns // 2, self.tile
        row = scope.own.text if scope.own else self.offset(scope, tile, self.rows)
        acc, index = self.fresh("v"), self.fresh("i")
        a = f"{x.name}[{row} : {row} + {tile}, {index} : {index} + {half}]"
        turned = w.name == "wt"
        part = f"{index} : {index} + {half}"
        b = f"wt[:, {part}]" if turned else f"w[{part}, :]"
        how = ", b_trans=True" if turned else ""
        fact = Fact((tile, self.width), "FP32", 64 * self.columns)
        loop = self.one(
            (
                f"pl.range(0, {self.columns}, {half})",
                f"pl.pipeline(0, {self.columns}, {half}, stage=2)",
            )
        )
        match self.random.randrange(3):
            case 0:
                self.add(f"{acc} = pl.create_tensor([{tile}, {self.width}], dtype=pl.FP32)")
                with self.block(f"for {index} in {loop}:"):
                    self.add(f"{acc} = pl.matmul_acc({acc}, {a}, {b}{how}, init_cond={index} == 0)")
            case 1:
                self.add(f"{acc} = pl.create_tensor([{tile}, {self.width}], dtype=pl.FP32)")
                with self.block(f"for {index} in {loop}:"):
                    with self.block(f"if {index} == 0:"):
                        self.add(f"{acc} = pl.matmul({a}, {b}{how}, out_dtype=pl.FP32)")
                    with self.block("else:"):
                        self.add(f"{acc} = pl.matmul_acc({acc}, {a}, {b}{how})")
            case _:
                self.add(f"{acc} = pl.full([{tile}, {self.width}], dtype=pl.FP32, value=0.0)")
                with self.block(f"for {index} in {loop}:"):
                    self.add(f"{acc} = pl.matmul_acc({acc}, {a}, {b}{how})")
        scope.values[acc] = fact
        return None
