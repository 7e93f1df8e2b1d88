"""OutlineIncoreScopes: text before and after, which values are parameters, what the host keeps."""

from __future__ import annotations

from textwrap import dedent, indent

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.errors import PassError, PyptoWarning
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.enums import CoreType, FunctionType, ParamDirection
from pypto._src.ir.roles import Role, role
from pypto._src.ir.text.printer import python_print
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.verify.verifier import IRVerifier
from pypto._src.ops.conversion import core_of
from pypto._src.passes.properties import IRProperty
from pypto._src.passes.structure.convert_to_ssa import ConvertToSSA
from pypto._src.passes.structure.flatten_call_expr import FlattenCallExpr
from pypto._src.passes.tensors.outline_incore_scopes import OutlineIncoreScopes
from pypto._src.passes.tensors.outlined_scopes import with_directions

HEADER = """\
import pypto.language as pl
M = pl.dynamic("M")

@pl.program
class P:
    @pl.function
    def main(
        self,
        n: pl.INT64,
        f: pl.FP32,
        x: pl.Tensor[[16, 32], pl.FP32],
        z: pl.Tensor[[M, 32], pl.FP32],
        out: pl.InOut[pl.Tensor[[16, 32], pl.FP32]],
    ) -> pl.Tensor[[16, 32], pl.FP32]:
"""


def parsed(body: str) -> ir.Program:
    """Return the program whose function ``main`` has this body, in SSA form, calls flattened."""
    text = HEADER + indent(dedent(body).strip("\n"), " " * 8) + "\n"
    return FlattenCallExpr()(ConvertToSSA()(pl.parse_program(text)))


def outlined(body: str) -> ir.Program:
    """Return the program after the pass; every rule of the verifier holds."""
    after = OutlineIncoreScopes()(parsed(body))
    assert IRVerifier.create_default().verify(after) == []
    return after


def short(program: ir.Program) -> str:
    """Return the functions as text, without the types of what they assign."""
    lines: list[str] = []
    for line in python_print(program).partition("class P:\n")[2].splitlines():
        text = line.removeprefix("    ")
        name, colon, rest = text.partition(": pl.")
        if colon and " = " in rest and "def " not in name and "for " not in name:
            text = f"{name} = {rest.partition(' = ')[2]}"
        if not text.strip().startswith("@"):
            lines.append(text.replace("pl.Scalar", "S").replace("pl.Tensor", "T"))
    return "\n".join(lines)


def test_properties() -> None:
    """The pass requires SSA form and separates host code from kernels."""
    made = OutlineIncoreScopes()
    needed = [IRProperty.SSAForm, IRProperty.TypeChecked]
    assert made.get_name() == "OutlineIncoreScopes"
    assert made.get_required_properties().to_list() == needed
    assert made.get_produced_properties().to_list() == [IRProperty.SplitIncoreOrch]
    assert made.get_invalidated_properties().empty()


def test_one_scope() -> None:
    """Variables from outside become parameters with their names; a result is assigned."""
    after = outlined("""
        with pl.incore():
            y = pl.mul(x, f)
            y = pl.add(y, x)
        return y
        """)
    assert short(after) == dedent("""\
        def main_incore_0(self, f: S[pl.FP32], x: T[[16, 32], pl.FP32]) -> T[[16, 32], pl.FP32]:
            y_0 = pl.tensor.mul_scalar(x, f)
            y_1 = pl.tensor.add(y_0, x)
            return y_1
        def main(self, n: S[pl.INT64], f: S[pl.FP32], x: T[[16, 32], pl.FP32], \
z: T[[M, 32], pl.FP32], out: pl.InOut[T[[16, 32], pl.FP32]]) -> T[[16, 32], pl.FP32]:
            y_1 = self.main_incore_0(f, x)
            return y_1""")
    kernel, host = after.functions_[1], after.functions_[0]
    assert (host.name, host.func_type) == ("main", FunctionType.Opaque)
    assert kernel.func_type is FunctionType.InCore


def test_several_results_and_none() -> None:
    """Several results are a tuple, by name; a scope whose results are unused is a plain call."""
    after = outlined("""
        with pl.incore():
            b = pl.mul(x, 2.0)
            a = pl.exp(b)
        with pl.incore():
            pl.assemble(out, pl.add(a, b), [0, 0])
        return out
        """)
    assert short(after).split("def main(")[0] == dedent("""\
        def main_incore_0(self, x: T[[16, 32], pl.FP32]) -> \
tuple[T[[16, 32], pl.FP32], T[[16, 32], pl.FP32]]:
            b = pl.tensor.mul_scalar(x, 2.0)
            a = pl.tensor.exp(b)
            return a, b
        def main_incore_1(self, a: T[[16, 32], pl.FP32], b: T[[16, 32], pl.FP32], \
out: pl.Out[T[[16, 32], pl.FP32]]):
            _t0 = pl.tensor.add(a, b)
            pl.tensor.assemble(out, _t0, [0, 0])
        """)
    assert short(after).splitlines()[-5:] == [
        "    ret = self.main_incore_0(x)",
        "    a = ret[0]",
        "    b = ret[1]",
        "    self.main_incore_1(a, b, out)",
        "    return out",
    ]


def test_names() -> None:
    """A scope names its kernel; a name already in use by anything gets a number."""
    after = outlined("""
        with pl.incore(name_hint="rows"):
            a = pl.exp(x)
        with pl.incore(name_hint="rows"):
            b = pl.exp(a)
        with pl.incore(name_hint="main"):
            c = pl.exp(b)
        with pl.incore():
            d = pl.exp(c)
        return d
        """)
    names = [function.name for function in after.functions_]
    assert names == ["main", "main_1", "main_incore_0", "rows", "rows_1"]


def test_directions() -> None:
    """Tensors only written are Out, those read as well InOut, through views and loops."""
    after = outlined("""
        y = pl.create_tensor([16, 32], pl.FP32)
        with pl.incore():
            for i in pl.range(n):
                v = pl.view(out, [8, 32], [0, 0])
                pl.assemble(v, pl.view(z, [8, 32], [i, 0]), [0, 0])
                y = pl.assemble(y, pl.add(pl.view(y, [8, 32], [8, 0]), v), [0, 0])
        return y
        """)
    kernel = after.get_function("main_incore_0")
    assert kernel is not None
    found = {p.name: d.name for p, d in zip(kernel.params, kernel.param_directions, strict=True)}
    assert found == {"n": "In", "out": "InOut", "y_0": "InOut", "z": "In"}
    alone = ir.Function("k", kernel.params, kernel.return_types, kernel.body)
    assert with_directions(alone).param_directions == kernel.param_directions
    assert ParamDirection.Out not in kernel.param_directions


def test_loops_and_branches_around_scopes() -> None:
    """A scope in a loop or branch becomes a call there; carried values go in and out."""
    after = outlined("""
        y = pl.create_tensor([16, 32], pl.FP32)
        for i in pl.range(n):
            if i > 2:
                with pl.incore():
                    y = pl.mul(x, pl.cast(i, pl.FP32))
            else:
                with pl.incore():
                    y = pl.add(y, x)
        return y
        """)
    assert short(after).split("def main(")[1].splitlines()[1:] == [
        "    y_0 = pl.tensor.create([16, 32], dtype=pl.FP32)",
        "    for i, (y_iter,) in pl.range(0, n, 1, init_values=(y_0,)):",
        "        if i > 2:",
        "            y_1 = self.main_incore_0(i, x)",
        "            y_3 = pl.yield_(y_1)",
        "        else:",
        "            y_2 = self.main_incore_1(x, y_iter)",
        "            y_3 = pl.yield_(y_2)",
        "        y_4 = pl.yield_(y_3)",
        "    return y_4",
    ]


def test_control_flow_inside() -> None:
    """Loops and branches in a scope move with it; a nested scope is part of the outer one."""
    after = outlined("""
        with pl.incore():
            y = pl.mul(x, 1.0)
            for i in pl.range(n):
                with pl.incore():
                    if i > 2:
                        y = pl.mul(y, f)
        return y
        """)
    assert [f.name for f in after.functions_] == ["main", "main_incore_0"]
    assert short(after).split("def main(")[0] == dedent("""\
        def main_incore_0(self, f: S[pl.FP32], n: S[pl.INT64], x: T[[16, 32], pl.FP32]) -> \
T[[16, 32], pl.FP32]:
            y_0 = pl.tensor.mul_scalar(x, 1.0)
            for i, (y_iter,) in pl.range(0, n, 1, init_values=(y_0,)):
                if i > 2:
                    y_1 = pl.tensor.mul_scalar(y_iter, f)
                    y_2 = pl.yield_(y_1)
                else:
                    y_2 = pl.yield_(y_iter)
                y_3 = pl.yield_(y_2)
            return y_3
        """)


def test_the_host_keeps_scalars_views_and_new_tensors() -> None:
    """What the host needs of a scope and can compute itself goes before or after the call."""
    after = outlined("""
        with pl.incore():
            k = n + 1
            v = pl.view(x, [8, 32], [k, 0])
            y = pl.mul(x, f)
            s = pl.tensor.read(y, [0, k])
        for i in pl.range(k):
            pl.assemble(out, v, [i, 0])
        return pl.add(y, s)
        """)
    assert short(after).split("def main(")[1].splitlines()[1:6] == [
        "    k = n + 1",
        "    v = pl.tensor.view(x, [8, 32], [k, 0])",
        "    y = self.main_incore_0(f, x)",
        "    s = pl.tensor.read(y, [0, k])",
        "    for i in pl.range(0, k, 1):",
    ]


def test_sizes_known_at_the_call() -> None:
    """A size comes with a tensor that has it, otherwise as a number."""
    after = outlined("""
        with pl.incore():
            y = pl.exp(z)
        with pl.incore():
            w = x
            for i in pl.range(M):
                w = pl.mul(w, 2.0)
        pl.assemble(out, w, [0, 0])
        return pl.add(out, pl.tensor.read(y, [0, 0]))
        """)
    first, second = after.functions_[1:]
    assert [p.name for p in first.params] == ["z"]
    assert [(p.name, type(p.type).__name__) for p in second.params] == [
        ("M", "ScalarType"),
        ("x", "TensorType"),
    ]


def test_matrix_and_vector_work_in_turn() -> None:
    """Each stretch of work for one core is a kernel; crossing values are results, views stay."""
    after = outlined("""
        with pl.incore():
            a = pl.matmul(x, pl.view(z, [16, 32], [n, 0]), b_trans=True)
            b = pl.exp(a)
            c = pl.matmul(b, x)
            out = pl.assemble(out, c, [0, 0])
        return out
        """)
    assert short(after).split("def main(")[1].splitlines()[1:] == [
        "    _t0 = pl.tensor.view(z, [16, 32], [n, 0])",
        "    a = self.main_incore_0(_t0, x)",
        "    b = self.main_incore_1(a)",
        "    out_1 = self.main_incore_2(b, out, x)",
        "    return out_1",
    ]
    kernels = after.functions_[1:]
    cores = [{core_of(n) for n in ir_calls(kernel)} - {None} for kernel in kernels]
    assert cores == [{CoreType.CUBE}, {CoreType.VECTOR}, {CoreType.CUBE}]


def ir_calls(function: ir.Function) -> list[ir.Call]:
    """Return the calls in a function."""
    return [node for node in walk(function) if isinstance(node, ir.Call)]


def test_a_function_that_others_call_stays_opaque() -> None:
    """Only what nobody calls is the program's orchestration."""
    text = HEADER.replace("def main(", "def part(") + "        with pl.incore():\n"
    text += "            y = pl.exp(x)\n        return y\n"
    text += HEADER.partition("class P:\n")[2] + "        return self.part(n, f, x, z, out)\n"
    after = OutlineIncoreScopes()(ConvertToSSA()(pl.parse_program(text)))
    assert [(f.name, f.func_type.name) for f in after.functions_] == [
        ("main", "Opaque"),
        ("part", "Opaque"),
        ("part_incore_0", "InCore"),
    ]


def test_names_do_not_collide() -> None:
    """A function that already has the name keeps it."""
    text = HEADER.replace("def main(", "def main_incore_0(") + "        return x\n"
    text += HEADER.partition("class P:\n")[2] + "        with pl.incore():\n"
    text += "            y = pl.exp(x)\n        return y\n"
    with pytest.warns(PyptoWarning, match="main_incore_0 returns its input x"):
        before = pl.parse_program(text)
    after = OutlineIncoreScopes()(ConvertToSSA()(before))
    assert [f.name for f in after.functions_] == ["main", "main_incore_0", "main_incore_1"]


@pytest.mark.parametrize(
    "body",
    [
        "return pl.add(x, x)",
        "for i in pl.range(n):\n    pl.assemble(out, x, [0, 0])\nreturn out",
    ],
)
def test_programs_without_scopes_stay(body: str) -> None:
    """With nothing to outline, the same program object is returned."""
    before = parsed(body)
    assert OutlineIncoreScopes()(before) is before


def test_a_scope_in_a_kernel_stays() -> None:
    """A function that also computes with tiles outside the scope is a kernel as a whole."""
    before = parsed("""
        t = pl.load(x, [0, 0], [16, 32])
        with pl.incore():
            t = pl.mul(t, 2.0)
        out = pl.store(t, [0, 0], [16, 32], out)
        return out
        """)
    assert role(before.functions_[0]) is Role.KERNEL
    assert OutlineIncoreScopes()(before) is before


def test_block_ops_in_a_scope() -> None:
    """A scope with loads and stores is a kernel; the function around it runs on the host."""
    before = parsed("""
        with pl.incore():
            t = pl.load(x, [0, 0], [16, 32])
            out = pl.store(pl.mul(t, 2.0), [0, 0], [16, 32], out)
        return out
        """)
    assert role(before.functions_[0]) is Role.HOST
    after = OutlineIncoreScopes()(before)
    assert [role(f) for f in after.functions_] == [Role.HOST, Role.KERNEL]
    assert after.functions_[1].param_directions[0] is ParamDirection.Out


def test_a_scalar_that_only_the_kernel_knows() -> None:
    """A kernel returns only tensors; the message names the scalar and says what to do."""
    body = """
        k = n
        with pl.incore():
            y = x
            for i in pl.range(n):
                y = pl.mul(y, 2.0)
                k = k * 2
        out = pl.assemble(out, pl.view(y, [8, 32], [k, 0]), [0, 0])
        return out
        """
    with pytest.raises(PassError, match=r"'k' is used after the scope but is not a tensor"):
        outlined(body)


def test_a_tensor_has_one_name_in_a_kernel() -> None:
    """A view from outside is recreated in a kernel that gets its tensor as well."""
    after = outlined("""
        v = pl.view(out, [8, 32], [8, 0])
        w = pl.view(v, [4, 32], [n, 0])
        with pl.incore():
            out = pl.assemble(out, x, [0, 0])
            out = pl.assemble(out, pl.add(w, 1.0), [12, 0])
        return out
        """)
    assert short(after).split("def main(")[0] == dedent("""\
        def main_incore_0(self, n: S[pl.INT64], out: pl.InOut[T[[16, 32], pl.FP32]], \
x: T[[16, 32], pl.FP32]) -> T[[16, 32], pl.FP32]:
            v = pl.tensor.view(out, [8, 32], [8, 0])
            w = pl.tensor.view(v, [4, 32], [n, 0])
            out_1 = pl.tensor.assemble(out, x, [0, 0])
            _t0 = pl.tensor.add_scalar(w, 1.0)
            out_2 = pl.tensor.assemble(out_1, _t0, [12, 0])
            return out_2
        """)


def test_a_tensor_that_may_be_another_one() -> None:
    """A variable that is either of two tensors is rejected where one of them is written."""
    with pytest.raises(PassError, match="'y' is 'out' or another tensor, and 'out' is written"):
        outlined("""
            if n > 1:
                y = pl.yield_(out)
            else:
                y = pl.yield_(x)
            with pl.incore():
                out = pl.assemble(out, pl.add(y, 1.0), [0, 0])
            return out
            """)


def test_meaning_stays() -> None:
    """The program computes the same before and after."""
    body = """
        y = pl.create_tensor([16, 32], pl.FP32)
        with pl.incore():
            y = pl.mul(x, f)
        for i in pl.range(n):
            with pl.incore():
                y = pl.add(y, x)
                out = pl.assemble(out, y, [0, 0])
        return y
        """
    rng = np.random.default_rng(1)
    x, z = rng.random((16, 32), np.float32), rng.random((20, 32), np.float32)
    found: list[list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]] = []
    for program in (parsed(body), outlined(body)):
        out = np.zeros((16, 32), np.float32)
        y = Evaluator(program).call("main", [3, 0.5, x, z, out])
        found.append([y, out])
    np.testing.assert_array_equal(found[0], found[1])
