"""Parsed modules -> `.pto` text in the layout of document 001, with original names and comments.

Text emitted by PyPTO is reproduced exactly. Types are written in their long form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from io import StringIO

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.printer import Printer

from pypto._src.dialect import ops
from pypto._src.dialect.reader import Source
from pypto._src.dialect.tile_ops import TileOp
from pypto._src.dialect.values import numpy_dtype


def print_source(source: Source) -> str:
    """Return the text of a parsed module."""
    names = dict(source.names)
    lines = _Lines(names, source.comments, source.literals)
    return "".join(f"{line}\n" for line in lines.of(source.module))


class _Leaf(Printer):
    """The printer of xDSL with the names of the parsed text."""

    def __init__(self, stream: StringIO, names: dict[SSAValue, str]) -> None:
        super().__init__(stream)
        self.names = names

    def print_ssa_value(self, value: SSAValue) -> str:
        """Print the name of a value; an unnamed one gets a number."""
        name = self.names.setdefault(value, f"v{len(self.names)}")
        self.print_string(f"%{name}")
        return name

    def print_block_name(self, block: Block) -> str:
        """Print the label of a block."""
        name = _label(block)
        self.print_string(f"^{name}")
        return name


def _label(block: Block) -> str:
    """Return the name of a block, by default its number in its region."""
    if block.name_hint is not None:
        return block.name_hint
    index = 0 if block.parent is None else block.parent.get_block_index(block)
    return f"bb{index}"


class _Lines:
    """Builds the lines of ops, without the indentation of the enclosing op."""

    def __init__(
        self,
        names: dict[SSAValue, str],
        comments: Mapping[Operation, Sequence[str]],
        literals: Mapping[Operation, str],
    ) -> None:
        self.names = names
        self.comments = comments
        self.literals = literals

    def of(self, op: Operation) -> Iterator[str]:
        """Yield the blank lines and comments above an op, then its own lines."""
        yield from self.comments.get(op, ())
        if isinstance(op.location, UnknownLoc):
            yield from self._lines(op)
            return
        *lines, last = self._lines(op)
        yield from (*lines, f"{last} {op.location}")

    def _lines(self, op: Operation) -> Iterator[str]:
        match op:
            case ModuleOp():
                attributes = self._attributes(op.attributes)
                yield f"module{' attributes' if attributes else ''}{attributes} {{"
                yield from self._inside(op.body.block)
                yield "}"
            case func.FuncOp() if not op.is_declaration:
                yield from self._function(op)
            case func.ReturnOp():
                operands = self._list(list(op.operands))
                types = ", ".join(str(value.type) for value in op.operands)
                yield f"return {operands} : {types}" if operands else "return"
            case scf.ForOp():
                yield f"{self._results(op)}{self._for_head(op)} {{"
                yield from self._inside(op.body.block)
                yield "}"
            case scf.IfOp():
                yield from self._if(op)
            case scf.WhileOp():
                yield from self._while(op)
            case ops.SectionOp():
                yield f"{op.name} {{"
                yield from self._inside(op.body.block)
                yield "}"
            case _:
                yield from self._leaf(op)

    def _inside(self, block: Block) -> Iterator[str]:
        for op in block.ops:
            if isinstance(op, scf.YieldOp) and not op.operands and _is_implied(op):
                continue
            for line in self.of(op):
                yield f"  {line}" if line else ""

    # Parts of lines

    def _text(self, value: SSAValue) -> str:
        return f"%{self.names.setdefault(value, f'v{len(self.names)}')}"

    def _list(self, values: Sequence[SSAValue]) -> str:
        return ", ".join(self._text(value) for value in values)

    def _pairs(self, inside: Sequence[SSAValue], outside: Sequence[SSAValue]) -> str:
        return ", ".join(
            f"{self._text(a)} = {self._text(b)}" for a, b in zip(inside, outside, strict=True)
        )

    def _results(self, op: Operation) -> str:
        """Return ``%a, %b = ``, or ``%r:2 = `` for results that share a name."""
        found: list[str] = []
        for value in op.results:
            base, mark, _ = self._text(value).partition("#")
            if not mark:
                found.append(base)
            elif not found or not found[-1].startswith(f"{base}:"):
                count = sum(self._text(other).startswith(f"{base}#") for other in op.results)
                found.append(f"{base}:{count}")
        return f"{', '.join(found)} = " if found else ""

    def _attributes(self, attributes: Mapping[str, Attribute]) -> str:
        stream = StringIO()
        Printer(stream).print_op_attributes(attributes)
        return stream.getvalue()

    # Ops with regions

    def _function(self, op: func.FuncOp) -> Iterator[str]:
        visibility = f"{op.sym_visibility.data} " if op.sym_visibility is not None else ""
        head = f"func.func {visibility}@{op.sym_name.data}"
        arguments = f",\n{' ' * len(head)}".join(
            f"{self._text(value)}: {value.type}" for value in op.args
        )
        outputs = list(op.function_type.outputs)
        results = f" -> {_type_list(outputs)}" if outputs else ""
        attributes = self._attributes(op.attributes)
        keyword = " attributes" if attributes else ""
        yield from f"{head}({arguments}){results}{keyword}{attributes} {{".split("\n")
        for index, block in enumerate(op.body.blocks):
            if index:
                yield from self._block_head(block)
            yield from self._inside(block)
        yield "}"

    def _block_head(self, block: Block) -> Iterator[str]:
        arguments = ", ".join(f"{self._text(value)}: {value.type}" for value in block.args)
        yield f"^{_label(block)}{f'({arguments})' if arguments else ''}:"

    def _for_head(self, op: scf.ForOp) -> str:
        index, *carried = op.body.block.args
        low, high, step = (self._text(value) for value in (op.lb, op.ub, op.step))
        head = f"scf.for {self._text(index)} = {low} to {high} step {step}"
        if carried:
            types = ", ".join(str(value.type) for value in carried)
            head += f" iter_args({self._pairs(carried, op.iter_args)}) -> ({types})"
        return head if str(index.type) == "index" else f"{head} : {index.type}"

    def _if(self, op: scf.IfOp) -> Iterator[str]:
        types = ", ".join(str(result.type) for result in op.results)
        arrow = f" -> ({types})" if types else ""
        yield f"{self._results(op)}scf.if {self._text(op.cond)}{arrow} {{"
        yield from self._inside(op.true_region.block)
        if op.false_region.blocks:
            yield "} else {"
            yield from self._inside(op.false_region.block)
        yield "}"

    def _while(self, op: scf.WhileOp) -> Iterator[str]:
        before, after = op.before_region.block, op.after_region.block
        pairs = self._pairs(before.args, op.arguments)
        types = [", ".join(str(v.type) for v in values) for values in (op.arguments, op.results)]
        initial = f" ({pairs})" if pairs else ""
        yield f"{self._results(op)}scf.while{initial} : ({types[0]}) -> ({types[1]}) {{"
        yield from self._inside(before)
        yield "} do {"
        if after.args:
            yield from self._block_head(after)
        yield from self._inside(after)
        yield "}"

    # Ops without regions

    def _leaf(self, op: Operation) -> Iterator[str]:
        """Yield the lines of an op; ops of two parts have the second on its own line."""
        results = self._results(op)
        pad = " " * len(results)
        if isinstance(op, arith.ConstantOp):
            literal, kind = self._literal(op), str(op.result.type)
            suffix = "" if literal in ("true", "false") else f" : {kind}"
            parts = [f"{op.name} {literal}{suffix}"]
        elif isinstance(op, TileOp) and op.row.outs:
            pad = " " * (len(op.name) + 1)
            parts = [op.name + self._part(op.print_ins), self._part(op.print_outs)]
        elif isinstance(op, ops.MakeTensorViewOp):
            parts = [op.name + self._part(op.print_shape), self._part(op.print_strides)]
        elif isinstance(op, ops.PartitionViewOp):
            parts = [op.name + self._part(op.print_region), self._part(op.print_types)]
        else:
            stream = StringIO()
            _Leaf(stream, self.names).print_op(op)
            parts = [stream.getvalue().partition(" = ")[2] if op.results else stream.getvalue()]
            if isinstance(op, ops.SetValueOp):
                pad = " " * (len(op.name) + 1)
                parts = [part.strip() for part in parts[0].replace(" outs(", "\nouts(").split("\n")]
        first, *rest = parts
        yield from f"{results}{first}".split("\n")
        for part in rest:
            yield f"{pad}{part}"

    def _part(self, print_part: Callable[[Printer], None]) -> str:
        stream = StringIO()
        print_part(_Leaf(stream, self.names))
        return stream.getvalue()

    def _literal(self, op: arith.ConstantOp) -> str:
        """Return a constant as it was written, else in its shortest form."""
        if op in self.literals:
            return self.literals[op]
        value = op.value
        if isinstance(value, IntegerAttr):
            is_bool = str(op.result.type) == "i1"
            return str(bool(value.value.data)).lower() if is_bool else str(value.value.data)
        assert isinstance(value, FloatAttr)
        return str(numpy_dtype(op.result.type).type(value.value.data))


def _type_list(types: Sequence[Attribute]) -> str:
    return str(types[0]) if len(types) == 1 else f"({', '.join(map(str, types))})"


def _is_implied(op: scf.YieldOp) -> bool:
    """True for a yield of nothing that ends a loop or branch; only `scf.while` prints it."""
    return not isinstance(op.parent_op(), scf.WhileOp | scf.IndexSwitchOp)
