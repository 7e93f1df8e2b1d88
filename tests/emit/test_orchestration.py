"""C++ of host functions: the whole text, scalars and loops, and the errors with their messages."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import pypto.language as pl
from pypto._src.emit.host.device.generate import OrchestrationResult, generate_orchestration
from pypto._src.emit.host.tensor_aliases import Results
from pypto._src.errors import EmitError
from pypto._src.ir.enums import CoreType, FunctionType
from pypto._src.ir.roles import outermost
from pypto._src.ir.stmts import Function, Program
from pypto._src.passes.pass_manager import PassManager
from tests.natively import compiler

KERNELS = """
    @pl.function(type=pl.FunctionType.InCore)
    def scale(
        self, x: pl.Tensor[[16, 64], pl.FP32], f: pl.Scalar[pl.FP32],
        out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ) -> pl.Tensor[[16, 64], pl.FP32]:
        out = pl.store(pl.mul(pl.load(x, [0, 0], [16, 64]), f), [0, 0], [16, 64], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def both(
        self, x: pl.Tensor[[16, 64], pl.FP32], n: pl.Scalar[pl.INT64],
        low: pl.Out[pl.Tensor[[16, 64], pl.FP32]], high: pl.InOut[pl.Tensor[[16, 64], pl.FP32]],
    ) -> tuple[pl.Tensor[[16, 64], pl.FP32], pl.Tensor[[16, 64], pl.FP32]]:
        tile = pl.load(x, [0, 0], [16, 64])
        high = pl.store(pl.add(tile, pl.load(high, [0, 0], [16, 64])), [0, 0], [16, 64], high)
        low = pl.store(tile, [0, 0], [16, 64], low)
        return low, high
"""
X = "x: pl.Tensor[[64, 64], pl.FP32]"
BLOCK = "pl.Tensor[[16, 64], pl.FP32]"


def program(signature: str, body: str, returns: str = "") -> Program:
    """Return the kernels with a host function ``main``."""
    arrow = f" -> {returns}" if returns else ""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    text = (
        f"@pl.program\nclass P:\n{KERNELS}\n    @pl.function(type=pl.FunctionType.Orchestration)\n"
        f"    def main(self, {signature}){arrow}:\n{lines}"
    )
    return pl.parse_program(text)


def host(source: Program) -> Function:
    [found] = [f for f in source.functions_ if f.func_type is FunctionType.Orchestration]
    return found


def emitted(signature: str, body: str, returns: str = "") -> OrchestrationResult:
    lowered = PassManager.get_strategy().run_passes(program(signature, body, returns))
    return generate_orchestration(lowered, host(lowered))


def entry(result: OrchestrationResult) -> list[str]:
    """Return the entry's lines without comments and indentation, from after the unpacking."""
    lines = result.code.split("(void)arg_count;\n\n")[-1].split("\n}\n\n}")[0].splitlines()
    return [line.strip() for line in lines if line.strip() and "//" not in line]


ALL = f"{X}, f: pl.Scalar[pl.FP32], n: pl.Scalar[pl.INT64], flag: pl.Scalar[pl.BOOL]"
ALL_BODY = """\
rows = pl.view(x, [16, 64], [n * 16, 0])
scratch = pl.create_tensor([16, 64], pl.FP32)
out = pl.create_tensor([16, 64], pl.FP32)
first = pl.read(x, [n, 3])
self.scale(rows, f * first, scratch)
count = n
for i in pl.range(0, n // 2):
    count = count + i
    low, high = self.both(scratch, count % 3, out, scratch)
if flag:
    self.scale(scratch, 2.0, out)
else:
    self.scale(rows, f, out)
return out
"""


def test_whole_text(golden: Callable[[str, str], None]) -> None:
    """Scalars, views, tensors created and returned here, loops, branches and tasks as one file."""
    result = emitted(ALL, ALL_BODY, BLOCK)
    golden("emit/orchestration.cpp", result.code)
    assert result.func_name_to_id == {"scale": 0, "both": 1}
    assert set(result.func_name_to_core_type.values()) == {CoreType.VECTOR}


NUMBERS = """\
k = pl.min(m * 2, pl.max(abs(n - 3), m // n))
self.scale(x, pl.cast(k, pl.FP32) + abs(pl.min(g, 1.0) - g), out)
"""


def numbers_emitted() -> OrchestrationResult:
    params = f"x: {BLOCK}, m: pl.INT32, n: pl.INT32, g: pl.FP32, out: pl.Out[{BLOCK}]"
    return emitted(params, NUMBERS)


def test_operands_stand_once() -> None:
    """Minimum, maximum and absolute value are calls, each operand written once."""
    text = numbers_emitted().code
    quotient = "static_cast<int32_t>(floor_div(m, n))"
    larger = f"int_max<int32_t>(int_abs<int32_t>(n - 3), {quotient})"
    assert f"int32_t k = int_min<int32_t>(m * 2, {larger});" in text
    smaller = "static_cast<float>(float_min(g, 1.0f))"
    assert f"float_to_u64(static_cast<float>(k) + float_abs<float>({smaller} - g))" in text


# A stub of the runtime's header: what the text uses, with the required types.
_API = """
#include <initializer_list>
enum class DataType { FLOAT16, FLOAT32, BFLOAT16, INT8, INT16, INT32, INT64, UINT8, UINT64 };
struct PTO2Runtime;
struct PTO2OrchestrationConfig { int expected_arg_count; };
struct Tensor {
    Tensor view(std::initializer_list<uint64_t>, std::initializer_list<uint64_t>) const;
};
struct PTOParam {};
Tensor make_tensor_external(void*, const uint64_t*, int, DataType);
Tensor make_tensor(const uint64_t*, int, DataType);
PTOParam make_input_param(const Tensor&);
PTOParam make_output_param(Tensor&);
PTOParam make_inout_param(Tensor&);
PTOParam make_scalar_param(uint64_t);
enum { PTO2_WORKER_CUBE, PTO2_WORKER_VECTOR };
void pto2_rt_submit_task(PTO2Runtime*, int, int, PTOParam*, int);
#define PTO2_SCOPE(rt) if ((void)(rt), true)
"""


SIZES = """
M = pl.dynamic("M")
N = pl.dynamic("N")


@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def twice(
        self, x: pl.Tensor[[M, 64], pl.FP32], out: pl.Out[pl.Tensor[[M, 64], pl.FP32]]
    ) -> pl.Tensor[[M, 64], pl.FP32]:
        for i in pl.range(M):
            out[i : i + 1] = x[i : i + 1] * 2.0
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def four_times(
        self, x: pl.Tensor[[M, 64], pl.FP32], out: pl.Out[pl.Tensor[[M, 64], pl.FP32]]
    ) -> pl.Tensor[[M, 64], pl.FP32]:
        made = pl.create_tensor([M, 64], pl.FP32)
        made = self.twice(x, made)
        return self.twice(made, out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[N, 64], pl.FP32],
        table: pl.Tensor[[n + 1, N, 2], pl.INT64],
        out: pl.Out[pl.Tensor[[48, 64], pl.FP32]],
    ) -> tuple[pl.Tensor[[48, 64], pl.FP32], pl.Tensor[[N, 64], pl.FP32]]:
        all_rows = pl.create_tensor([N, 64], pl.FP32)
        all_rows = self.four_times(x, all_rows)
        rows = pl.read(table, [1, n, 1])
        out = self.four_times(all_rows[0:48], out)
        self.twice(x[0:rows], all_rows[0:rows])
        return out, all_rows
"""


def sizes_emitted() -> OrchestrationResult:
    lowered = PassManager.get_strategy().run_passes(pl.parse_program(SIZES))
    [main] = outermost(lowered)
    return generate_orchestration(lowered, main)


def test_sizes_known_at_the_call(golden: Callable[[str, str], None]) -> None:
    """Sizes are arguments after the parameters: of the entry, its functions and each task."""
    golden("emit/orchestration_sizes.cpp", sizes_emitted().code)


def test_size_that_no_tensor_tells() -> None:
    """A kernel's size parameter is taken from a dimension that is exactly this size."""
    text = SIZES.replace("x: pl.Tensor[[M, 64]", "x: pl.Tensor[[M * 2, 64]", 1).replace(
        "out: pl.Out[pl.Tensor[[M, 64]", "out: pl.Out[pl.Tensor[[M * 2, 64]", 1
    )
    text = text.partition("    @pl.function(type=pl.FunctionType.Orchestration)")[0]
    text = text.replace(" -> pl.Tensor[[M, 64], pl.FP32]", "").replace("        return out\n", "")
    block = "pl.Tensor[[32, 64], pl.FP32]"
    text += (
        "    @pl.function(type=pl.FunctionType.Orchestration)\n"
        f"    def main(self, x: {block}, out: pl.Out[{block}]):\n"
        "        self.twice(x, out)\n"
    )
    lowered = PassManager.get_strategy().run_passes(pl.parse_program(text))
    with pytest.raises(EmitError) as caught:
        generate_orchestration(lowered, host(lowered))
    assert str(caught.value) == "no tensor determines the size 'M' of kernel 'twice'"
    assert caught.value.hint == "add a parameter m: pl.INT64 and use it in the shapes"


@pytest.mark.parametrize(
    ("emit", "allowed"),
    [
        pytest.param(lambda: emitted(ALL, ALL_BODY, BLOCK), [], id="all"),
        pytest.param(numbers_emitted, [], id="numbers"),
        # No kernel takes the table, which the host reads through its pointer.
        pytest.param(sizes_emitted, ["-Wno-unused-but-set-variable"], id="sizes"),
    ],
)
def test_text_compiles(
    emit: Callable[[], OrchestrationResult], allowed: list[str], tmp_path: Path
) -> None:
    """The text is C++ that compiles against an interface shaped like the runtime's."""
    toolchain = compiler()
    (tmp_path / "pto_orchestration_api.h").write_text(_API)
    source = tmp_path / "main.cpp"
    source.write_text(emit().code)
    flags = ["-std=c++20", "-Wall", "-Werror", "-Wno-dangling-else", "-fsyntax-only", *allowed]
    done = subprocess.run(
        [*toolchain.command, *flags, f"-I{tmp_path}", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_scalars_are_unpacked_and_passed() -> None:
    """Scalar parameters are arguments of the entry, and expressions of them those of a task."""
    signature = f"x: {BLOCK}, f: pl.Scalar[pl.FP32], k: pl.Scalar[pl.INT32], out: pl.Out[{BLOCK}]"
    lines = entry(emitted(signature, "if k > 3:\n    self.scale(x, f + 1.0, out)"))
    assert lines[3:12] == [
        "union { uint64_t word; float value; } f_bits;",
        "f_bits.word = args[ARG_F];",
        "float f = f_bits.value;",
        "int32_t k = static_cast<int32_t>(args[ARG_K]);",
        "void* arg_out_ptr = reinterpret_cast<void*>(args[ARG_PTR_OUT]);",
        "uint64_t out_shapes[2] = {16, 64};",
        "Tensor ext_out = make_tensor_external(arg_out_ptr, out_shapes, 2, DataType::FLOAT32);",
        "if (k > 3) {",
        "PTO2_SCOPE(rt) {",
    ]
    assert "make_scalar_param(float_to_u64(f + 1.0f))," in lines


def test_result_of_a_kernel_is_its_argument() -> None:
    """A kernel's returned value is the tensor that it was passed, whatever its name."""
    signature = f"x: {BLOCK}, out: pl.Out[{BLOCK}]"
    body = "y = self.scale(x, 2.0, out)\nz = self.scale(y, 3.0, out)\nreturn z"
    lines = entry(emitted(signature, body, BLOCK))
    assert [line for line in lines if line.startswith("make_") and "Tensor" not in line] == [
        "make_input_param(ext_x),",
        "make_scalar_param(float_to_u64(2.0f)),",
        "make_output_param(ext_out),",
        "make_input_param(ext_out),",
        "make_scalar_param(float_to_u64(3.0f)),",
        "make_output_param(ext_out),",
    ]


def test_results_of_a_call_without_names() -> None:
    """Items of the tuple that a call returns are its arguments, returned or passed on."""
    signature = f"x: {BLOCK}, low: pl.Out[{BLOCK}], high: pl.InOut[{BLOCK}]"
    body = "r = self.both(x, 1, low, high)\nself.scale(r[1], 2.0, r[0])\nreturn r[1], r[0]"
    pair = f"tuple[{BLOCK}, {BLOCK}]"
    lines = entry(emitted(signature, body, pair))
    assert [line for line in lines if line.startswith("make_") and "Tensor" not in line] == [
        "make_input_param(ext_x),",
        "make_scalar_param(static_cast<uint64_t>(1)),",
        "make_output_param(ext_low),",
        "make_inout_param(ext_high),",
        "make_input_param(ext_high),",
        "make_scalar_param(float_to_u64(2.0f)),",
        "make_output_param(ext_low),",
    ]


def test_returned_items_are_parameters() -> None:
    """The caller of a function that returns items of a tuple gets the tensors that it passed."""
    pair = f"tuple[{BLOCK}, {BLOCK}]"
    turned = (
        "    @pl.function(type=pl.FunctionType.Orchestration)\n"
        f"    def turned(self, x: {BLOCK}, low: pl.Out[{BLOCK}], high: pl.InOut[{BLOCK}])"
        f" -> {pair}:\n"
        "        r = self.both(x, 1, low, high)\n        return r[1], r[0]\n"
    )
    lowered = PassManager.get_strategy().run_passes(
        pl.parse_program(f"@pl.program\nclass P:\n{KERNELS}\n{turned}")
    )
    function = lowered.get_function("turned")
    assert function is not None
    assert Results(lowered).of(function) == (2, 1)


def test_result_params() -> None:
    """Results of a kernel are found through stores, in the order of the return."""
    lowered = PassManager.get_strategy().run_passes(program(ALL, ALL_BODY, BLOCK))
    both, scale = lowered.get_function("both"), lowered.get_function("scale")
    assert both is not None
    assert scale is not None
    assert Results(None).of(both) == (2, 3)
    assert Results(None).of(scale) == (2,)


REFUSED = [
    (
        f"{X}, out: pl.Out[{BLOCK}]",
        "self.scale(pl.view(x, [16, 64], [0, 0]), 2.0, out)\n"
        "f = pl.read(out, [0, 0])\nself.scale(out, f, out)",
        "the host reads an element that a kernel writes; it is not there yet when the "
        "orchestration runs",
        2,
    ),
    (
        f"x: {BLOCK}, low: pl.Out[{BLOCK}], high: pl.InOut[{BLOCK}]",
        "r = self.both(x, 1, low, high)\nf = pl.read(r[0], [0, 0])\nself.scale(x, f, high)",
        "the host reads an element that a kernel writes; it is not there yet when the "
        "orchestration runs",
        2,
    ),
    (
        f"x: {BLOCK}, a: pl.InOut[{BLOCK}], n: pl.Scalar[pl.INT64]",
        "t = a\nif n > 0:\n    b = pl.create_tensor([16, 64], pl.FP32)\n    t = b\n"
        "self.scale(x, 2.0, t)\nself.scale(x, 2.0, a)",
        "'t' may be one of several tensors, and one of them is created inside that loop or branch",
        2,
    ),
    (
        f"x: {BLOCK}, f: pl.Scalar[pl.FP16], out: pl.Out[{BLOCK}]",
        "self.scale(x, 2.0, out)",
        "the host cannot compute with FP16 scalars",
        0,
    ),
    (
        f"x: pl.Tensor[[16, 64], pl.UINT16], y: {BLOCK}, out: pl.Out[{BLOCK}]",
        "self.scale(y, 2.0, out)",
        "the runtime has no tensors of UINT16, 'x' is one",
        0,
    ),
]


@pytest.mark.parametrize(("signature", "body", "message", "line"), REFUSED)
def test_refusals(signature: str, body: str, message: str, line: int) -> None:
    """What the runtime's interface cannot express is rejected at the user's line."""
    lowered = PassManager.get_strategy().run_passes(program(signature, body))
    function = host(lowered)
    with pytest.raises(EmitError) as caught:
        generate_orchestration(lowered, function)
    assert str(caught.value) == message
    assert caught.value.location.begin_line - function.span.begin_line == line


# A runtime that prints each task's tensors, and allocates one when it is first written.
_RUNNING = """
#include <initializer_list>
enum class DataType { FLOAT32 };
struct PTO2Runtime {};
struct PTO2OrchestrationConfig { int expected_arg_count; };
struct Tensor { const char* memory; const char* view(int) const; };
struct PTOParam { const Tensor* read; Tensor* written; };
static const char* names[] = {"new 0", "new 1", "new 2"};
static int made = 0;
inline Tensor make_tensor_external(void* at, const uint64_t*, int, DataType)
{ return {static_cast<const char*>(at)}; }
inline Tensor make_tensor(const uint64_t*, int, DataType) { return {nullptr}; }
inline PTOParam make_input_param(const Tensor& tensor) { return {&tensor, nullptr}; }
inline PTOParam make_output_param(Tensor& tensor) { return {nullptr, &tensor}; }
inline PTOParam make_scalar_param(uint64_t) { return {nullptr, nullptr}; }
enum { PTO2_WORKER_CUBE, PTO2_WORKER_VECTOR };
inline void pto2_rt_submit_task(PTO2Runtime*, int, int, PTOParam* params, int count)
{
    for (int i = 0; i < count; i++) {
        if (params[i].written && !params[i].written->memory)
            params[i].written->memory = names[made++];
        if (params[i].read) printf("%s -> ", params[i].read->memory ? params[i].read->memory : "?");
        if (params[i].written) printf("%s\\n", params[i].written->memory);
    }
}
#define PTO2_SCOPE(rt) if ((void)(rt), true)
"""

_MAIN = """
int main()
{
    PTO2Runtime runtime;
    char x[] = "x", out[] = "out";
    uint64_t args[] = {(uint64_t)x, (uint64_t)out, %d};
    aicpu_orchestration_entry(&runtime, args, 3);
}
"""
PING_PONG = """\
a = pl.create_tensor([16, 64], pl.FP32)
b = pl.create_tensor([16, 64], pl.FP32)
a = self.scale(x, 2.0, a)
for i in pl.range(n):
    b = self.scale(a, 2.0, b)
    a, b = b, a
out = self.scale(a, 2.0, out)
"""
IN_A_BRANCH = """\
a = pl.create_tensor([16, 64], pl.FP32)
t = x
if n > 1:
    a = self.scale(x, 2.0, a)
    t = a
out = self.scale(t, 2.0, out)
"""
THREE_IN_TURN = """\
a = pl.create_tensor([16, 64], pl.FP32)
b = pl.create_tensor([16, 64], pl.FP32)
c = pl.create_tensor([16, 64], pl.FP32)
a = self.scale(x, 2.0, a)
for i in pl.range(n):
    for j in pl.range(2):
        b = self.scale(a, 2.0, b)
        a, b, c = b, c, a
out = self.scale(a, 2.0, out)
"""


@pytest.mark.parametrize(
    ("body", "count", "tasks"),
    [
        pytest.param(PING_PONG, 3, ["x -> new 0", "new 0 -> new 1", "new 1 -> new 0",
                                    "new 0 -> new 1", "new 1 -> out"], id="ping-pong"),
        pytest.param(PING_PONG, 0, ["x -> new 0", "new 0 -> out"], id="no iteration"),
        pytest.param(IN_A_BRANCH, 2, ["x -> new 0", "new 0 -> out"], id="branch"),
        pytest.param(IN_A_BRANCH, 0, ["x -> out"], id="no branch"),
        pytest.param(THREE_IN_TURN, 2, ["x -> new 0", "new 0 -> new 1", "new 1 -> new 2",
                                        "new 2 -> new 0", "new 0 -> new 1", "new 1 -> out"],
                     id="three"),
    ],
)  # fmt: skip
def test_tensors_that_change_places(
    body: str, count: int, tasks: list[str], tmp_path: Path
) -> None:
    """If a variable stands for different tensors, tasks get the current ones."""
    signature = f"x: {BLOCK}, out: pl.Out[{BLOCK}], n: pl.Scalar[pl.INT64]"
    (tmp_path / "pto_orchestration_api.h").write_text(_RUNNING)
    source, binary = tmp_path / "main.cpp", tmp_path / "main"
    source.write_text(emitted(signature, body).code + _MAIN % count)
    command = [
        *compiler().command,
        "-std=c++20",
        "-w",
        f"-I{tmp_path}",
        str(source),
        "-o",
        str(binary),
    ]
    subprocess.run(command, check=True)
    done = subprocess.run([str(binary)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == tasks


COPIES = ["out[0:16] = x", "pl.assemble(out, x, [0, 0])"]
"""Ways to copy a tensor into another one."""


@pytest.mark.parametrize("copy", COPIES)
def test_copies_on_the_host_are_refused(copy: str) -> None:
    """The runtime has no copy task; the error names what was written and what to write."""
    signature = f"x: {BLOCK}, out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
    lowered = PassManager.get_strategy().run_passes(program(signature, copy))
    with pytest.raises(EmitError) as caught:
        generate_orchestration(lowered, host(lowered))
    assert str(caught.value) == (
        "out[...] = x copies a tensor on the host, and the device's runtime has no task that copies"
    )
    assert caught.value.hint == "let a kernel copy it: write with pl.incore(): above it"


@pytest.mark.parametrize("copy", COPIES)
def test_copies_in_a_scope_are_tasks(copy: str) -> None:
    """As the error suggests, a kernel copies: its task has the tensors as arguments."""
    signature = f"x: {BLOCK}, out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]]"
    found = emitted(signature, f"with pl.incore():\n    {copy}")
    assert list(found.func_name_to_id) == ["main_incore_0"]
    assert "pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t0, 2);" in found.code


def test_kernel_is_no_orchestration() -> None:
    """For a kernel, the emitter says how an orchestration is marked."""
    source = program(f"x: {BLOCK}, out: pl.Out[{BLOCK}]", "self.scale(x, 2.0, out)")
    kernel = source.get_function("scale")
    assert kernel is not None
    with pytest.raises(EmitError) as caught:
        generate_orchestration(source, kernel)
    assert str(caught.value) == "function 'scale' is a kernel, not an orchestration"
    assert caught.value.hint == "mark it with @pl.function(type=pl.FunctionType.Orchestration)"


def test_two_levels() -> None:
    """An orchestration called by another is a function in the same text, written once."""
    block = "pl.Tensor[[16, 64], pl.FP32]"
    source = pl.parse_program(
        f"@pl.program\nclass P:\n{KERNELS}\n"
        "    @pl.function(type=pl.FunctionType.Orchestration)\n"
        f"    def twice(self, x: {block}, f: pl.FP32, out: pl.Out[{block}]) -> {block}:\n"
        "        made = pl.create_tensor([16, 64], pl.FP32)\n"
        "        made = self.scale(x, f, made)\n"
        "        out = self.scale(made, f + 1.0, out)\n"
        "        return out\n"
        "    @pl.function(type=pl.FunctionType.Orchestration)\n"
        f"    def main(self, x: {block}, out: pl.Out[{block}]) -> {block}:\n"
        "        first = pl.create_tensor([16, 64], pl.FP32)\n"
        "        first = self.twice(x, 2.0, first)\n"
        "        out = self.twice(first, 3.0, out)\n"
        "        return out\n"
    )
    lowered = PassManager.get_strategy().run_passes(source)
    [main] = outermost(lowered)
    assert main.name == "main"
    result = generate_orchestration(lowered, main)
    assert result.func_name_to_id == {"scale": 0}
    nested, _, rest = result.code.partition('extern "C" {')
    lines = [line.strip() for line in nested.partition("static void ")[2].splitlines()]
    assert [line for line in lines if line and "//" not in line and "<" not in line] == [
        "host_twice(PTO2Runtime* rt, Tensor& x, float f, Tensor& out)",
        "{",
        "uint64_t made_0_shapes[2] = {16, 64};",
        "Tensor made_0 = make_tensor(made_0_shapes, 2, DataType::FLOAT32);",
        "PTOParam params_t0[] = {",
        "make_input_param(x),",
        "make_scalar_param(float_to_u64(f)),",
        "make_output_param(made_0),",
        "};",
        "pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t0, 3);",
        "PTOParam params_t1[] = {",
        "make_input_param(made_0),",
        "make_scalar_param(float_to_u64(f + 1.0f)),",
        "make_output_param(out),",
        "};",
        "pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t1, 3);",
        "}",
    ]
    calls = [line.strip() for line in rest.splitlines() if "host_twice" in line]
    assert calls == [
        "host_twice(rt, ext_x, 2.0f, first_0);",
        "host_twice(rt, first_0, 3.0f, ext_out);",
    ]
