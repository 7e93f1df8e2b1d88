"""``ir.compile``: which files it writes, their contents, and running the assembler."""

from __future__ import annotations

import logging
import re
import runpy
import stat
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

import pypto.language as pl
from pypto import backend, codegen, ir
from pypto._src import build_output
from pypto._src.build_output import wrap_assembled
from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.errors import AssemblerError, EmitError
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Var
from pypto._src.ir.roles import kernels, outermost
from pypto._src.ir.stmts import Function, Program, ReturnStmt
from pypto._src.ir.types import scalar_type
from pypto._src.passes.pass_base import PassContext
from pypto._src.passes.pass_manager import PassManager
from pypto._src.passes.verification import VerificationLevel
from pypto.backend import BackendType
from pypto.ir import OptimizationStrategy, pto_codegen

TEXT = """
@pl.program
class Twice:
    @pl.function(type=pl.FunctionType.InCore)
    def add(
        self, x: pl.Tensor[[16, 64], pl.FP32], f: pl.Scalar[pl.FP32],
        out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ):
        out = pl.store(pl.add(pl.load(x, [0, 0], [16, 64]), f), [0, 0], [16, 64], out)

    @pl.function(type=pl.FunctionType.InCore)
    def product(
        self, a: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ):
        mat = pl.load(a, [0, 0], [64, 64], target_memory=pl.MemorySpace.Mat)
        left = pl.move(mat, target_memory=pl.MemorySpace.Left)
        right = pl.move(mat, target_memory=pl.MemorySpace.Right)
        out = pl.store(pl.matmul(left, right), [0, 0], [64, 64], out)
"""
HOST = """
    @pl.function(type=pl.FunctionType.Orchestration)
    def {name}(
        self, a: pl.Tensor[[64, 64], pl.FP32], x: pl.Tensor[[16, 64], pl.FP32],
        b: pl.Out[pl.Tensor[[64, 64], pl.FP32]], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ):
        self.product(a, b)
        self.add(x, 1.0, y)
"""


@pytest.fixture(autouse=True)
def no_selection(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin without a backend and without an assembler."""
    monkeypatch.setenv("PTOAS_ROOT", str(Path(__file__).parent))
    monkeypatch.delenv("PTOAS", raising=False)
    backend.reset_for_testing()
    yield
    backend.reset_for_testing()


def twice(*hosts: str) -> Program:
    return pl.parse_program(TEXT + "".join(HOST.format(name=name) for name in hosts))


def files(folder: str) -> set[str]:
    found = {p.relative_to(folder).as_posix() for p in Path(folder).rglob("*") if p.is_file()}
    return {name for name in found if not name.startswith("passes_dump/")}


def test_cce_files(tmp_path: Path) -> None:
    """C++ of each kernel by core, the orchestration, and the configuration that lists them."""
    folder = ir.compile(twice("main"), tmp_path / "out", backend_type=BackendType.CCE)
    assert folder == str(tmp_path / "out")
    assert files(folder) == {
        "kernels/aiv/add.cpp",
        "kernels/aic/product.cpp",
        "orchestration/main.cpp",
        "kernel_config.py",
    }
    lowered = PassManager.get_strategy().run_passes(twice("main"))
    for kernel in kernels(lowered):
        [path] = Path(folder).glob(f"kernels/*/{kernel.name}.cpp")
        assert path.read_text() == kernel_file(kernel)


def test_a_host_function_need_not_be_marked(tmp_path: Path) -> None:
    """An unmarked function that launches kernels is written as the orchestration."""
    text = str(twice("main")).replace("type=pl.FunctionType.Orchestration", "")
    folder = ir.compile(pl.parse_program(text), tmp_path, backend_type=BackendType.CCE)
    assert {"orchestration/main.cpp", "kernel_config.py"} < files(folder)


def test_kernel_config(tmp_path: Path) -> None:
    """The configuration lists kernels by the number that the orchestration uses."""
    folder = ir.compile(twice("main"), tmp_path, backend_type=BackendType.CCE)
    config = runpy.run_path(str(tmp_path / "kernel_config.py"))
    assert config["KERNELS"] == [
        {"func_id": 0, "source": f"{folder}/kernels/aic/product.cpp", "core_type": "aic"},
        {"func_id": 1, "source": f"{folder}/kernels/aiv/add.cpp", "core_type": "aiv"},
    ]
    assert config["ORCHESTRATION"] == {
        "source": f"{folder}/orchestration/main.cpp",
        "function_name": "aicpu_orchestration_entry",
    }
    assert config["RUNTIME_CONFIG"]["block_dim"] == 24


def test_pto_files_without_assembler(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without an assembler the PTO stays, and a warning says how to specify one."""
    with caplog.at_level(logging.WARNING, "pypto"):
        folder = ir.compile(twice("main"), tmp_path)
    assert files(folder) == {
        "kernels/aiv/add.pto",
        "kernels/aic/product.pto",
        "orchestration/main.cpp",
    }
    [record] = caplog.records
    assert record.getMessage() == (
        f"no PTO assembler was found: the .pto files in {tmp_path / 'kernels'} are not assembled; "
        "set PTOAS to the path of ptoas, or pass skip_ptoas=True"
    )


def test_skip_ptoas_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Told to skip the assembler, the compiler does not search for it."""
    ir.compile(twice(), tmp_path, skip_ptoas=True)
    assert not caplog.records
    assert files(str(tmp_path)) == {"kernels/aiv/add.pto", "kernels/aic/product.pto"}


@pytest.mark.parametrize(
    ("strategy", "options", "flags"),
    [
        (OptimizationStrategy.Default, "--pto-level=level3", True),
        (OptimizationStrategy.PTOAS, "--pto-level=level2 --enable-insert-sync", False),
    ],
)
def test_pto_by_strategy(
    strategy: OptimizationStrategy, options: str, flags: bool, tmp_path: Path
) -> None:
    """The default strategy's flags are in the PTO; with PTOAS the assembler inserts them."""
    ir.compile(twice(), tmp_path, strategy, skip_ptoas=True)
    text = (tmp_path / "kernels/aiv/add.pto").read_text()
    assert text.startswith(f"// ptoas {options}\n")
    assert ("pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]" in text) is flags


def assembler(folder: Path, body: str) -> Path:
    """Return a program that runs ``body`` with ``source``, ``output`` and ``options``."""
    path = folder / "ptoas"
    path.write_text(
        f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n"
        "source, output, options = sys.argv[1], sys.argv[3], sys.argv[4:]\n" + body
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a first line")
def test_assembled_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The assembler gets the text's own options, and its C++ gets an entry point."""
    body = (
        "name = Path(source).stem\n"
        "Path(output).write_text(f'// {options}\\n__global__ AICORE void {name}"
        "(__gm__ float* v1, float v2, __gm__ float* v3) {{\\n}}\\n')\n"
    )
    monkeypatch.setenv("PTOAS", str(assembler(tmp_path, body)))
    folder = ir.compile(twice("main"), tmp_path / "out", OptimizationStrategy.PTOAS)
    assert files(folder) == {
        "kernels/aiv/add.pto",
        "kernels/aiv/add.cpp",
        "kernels/aic/product.pto",
        "kernels/aic/product.cpp",
        "ptoas/add.pto",
        "ptoas/add.cpp",
        "ptoas/product.pto",
        "ptoas/product.cpp",
        "orchestration/main.cpp",
        "kernel_config.py",
    }
    assert Path(folder, "kernels/aiv/add.cpp").read_text() == (
        "#include <cstdint>\n"
        "\n"
        "// ['--pto-level=level2', '--enable-insert-sync']\n"
        "static __aicore__ void add(__gm__ float* v1, float v2, __gm__ float* v3) {\n"
        "}\n"
        "\n"
        'extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)\n'
        "{\n"
        "    union { int64_t word; float value; } arg1_bits;\n"
        "    arg1_bits.word = args[1];\n"
        "    float arg1 = arg1_bits.value;\n"
        "    add(reinterpret_cast<__gm__ float*>(args[0]), arg1, "
        "reinterpret_cast<__gm__ float*>(args[2]));\n"
        "}\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a first line")
def test_assembler_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the assembler fails, its error lines are in the exception, its other output is not."""
    body = "print('DEBUG x\\nloc(3): error: no such op', file=sys.stderr)\nsys.exit(1)\n"
    monkeypatch.setenv("PTOAS", str(assembler(tmp_path, body)))
    with pytest.raises(RuntimeError) as caught:
        ir.compile(twice(), tmp_path / "out")
    source = tmp_path / "out" / "ptoas" / "add.pto"
    assert str(caught.value) == f"ptoas refuses {source}\nloc(3): error: no such op"


def refusing(folder: Path, *messages: str, code: int = 1) -> str:
    """Return the path of a program that prints ``messages`` and fails.

    In them ``{source}`` stands for the path of the text, ``{tadd}`` for the line of its tadd.
    """
    body = (
        "lines = Path(source).read_text().split('\\n')\n"
        "tadd = next((i + 1 for i, line in enumerate(lines) if 'pto.tadd' in line), 0)\n"
        f"for message in {list(messages)}:\n"
        "    print(message.format(source=source, tadd=tadd), file=sys.stderr)\n"
        f"sys.exit({code})\n"
    )
    return str(assembler(folder, body))


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a first line")
def test_refusals_are_at_the_kernels_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A location in the text is mapped to the statement that the line was written for."""
    path = refusing(
        tmp_path,
        'loc("{source}":{tadd}:5): error: first fault',
        "{source}:1:1: error: of no statement",
        'loc("kernel.py":7:12): error: second fault',
        "Error: Failed to parse MLIR.",
    )
    monkeypatch.setenv("PTOAS", path)
    with pytest.raises(AssemblerError) as caught:
        ir.compile(twice(), tmp_path / "out", OptimizationStrategy.PTOAS)
    error = caught.value
    line = 1 + next(i for i, text in enumerate(TEXT.split("\n")) if "pl.add(" in text)
    assert (error.span.filename, error.span.begin_line) == ("<string>", line)
    assert error.label == "first fault"
    assert [(each.span.begin_line, each.text) for each in error.related] == [(7, "second fault")]
    assert error.hint == f"pypto verify {tmp_path / 'out' / 'ptoas' / 'add.pto'}"
    assert error.message.split("\n")[-1] == "Error: Failed to parse MLIR."


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a first line")
def test_an_assembler_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash without a message is reported at the kernel."""
    monkeypatch.setenv("PTOAS", refusing(tmp_path, code=139))
    with pytest.raises(AssemblerError, match="it ends with code 139 and says nothing") as caught:
        ir.compile(twice(), tmp_path / "out")
    assert caught.value.slug == "assembler"
    line: int = caught.value.span.begin_line
    assert TEXT.split("\n")[line - 1].lstrip().startswith(("def", "@pl"))


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a first line")
def test_an_assembler_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that takes too long is terminated."""
    monkeypatch.setattr(build_output, "ASSEMBLER_TIMEOUT_S", 0.5)
    monkeypatch.setenv("PTOAS", str(assembler(tmp_path, "import time\ntime.sleep(60)\n")))
    with pytest.raises(RuntimeError, match=r"ptoas takes more than 0 s on .*add\.pto"):
        ir.compile(twice(), tmp_path / "out")


def test_an_assembler_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not executable is named, with what to do."""
    path = tmp_path / "ptoas"
    path.write_bytes(b"\x7fELF no program")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PTOAS", str(path))
    with pytest.raises(AssemblerError, match="ptoas cannot be started: ") as caught:
        ir.compile(twice(), tmp_path / "out")
    assert caught.value.hint == "set PTOAS to the path of ptoas, or pass skip_ptoas=True"


def test_wrapped_scalars() -> None:
    """Integers and floats reach the assembler's function with their values."""
    x = Var("x", TensorType([8, 8], DataType.FP16))
    n, f = (Var(v, scalar_type(d)) for v, d in (("n", DataType.INT32), ("f", DataType.FP16)))
    function = Function("k", [n, x, f], [], ReturnStmt([]))
    lines = wrap_assembled(function, "__global__ AICORE void k() {}\n").splitlines()
    assert lines[-6:-1] == [
        "    int32_t arg0 = static_cast<int32_t>(args[0]);",
        "    union { int64_t word; half value; } arg2_bits;",
        "    arg2_bits.word = args[2];",
        "    half arg2 = arg2_bits.value;",
        "    k(arg0, reinterpret_cast<__gm__ half*>(args[1]), arg2);",
    ]


def test_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder, its name is the program's and the time; it has the passes' dumps."""
    monkeypatch.chdir(tmp_path)
    folder = ir.compile(twice(), backend_type=BackendType.CCE)
    assert re.fullmatch(r"build_output.Twice_\d{8}_\d{6}", folder)
    dumps = sorted(p.name for p in Path(folder, "passes_dump").iterdir())
    assert dumps[0] == "00_frontend.py"
    assert dumps[-1] == "11_after_AllocateMemoryAddr.py"


def test_folders_of_one_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiles with one name in the same second get separate folders: none overwrites another."""

    class Clock:
        @staticmethod
        def now() -> datetime:
            return datetime(2026, 1, 2, 3, 4, 5)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(build_output, "datetime", Clock)
    folders = [ir.compile(twice(), skip_ptoas=True) for _ in range(3)]
    first = str(Path("build_output", "Twice_20260102_030405"))
    assert folders == [first, f"{first}_2", f"{first}_3"]
    assert all(Path(folder, "passes_dump", "00_frontend.py").is_file() for folder in folders)


def test_no_dumps(tmp_path: Path) -> None:
    """Dumps can be left out."""
    ir.compile(twice(), tmp_path, dump_passes=False, skip_ptoas=True)
    assert not (tmp_path / "passes_dump").exists()


def test_several_orchestrations_are_refused(tmp_path: Path) -> None:
    """A program with two orchestrations is rejected, with their names."""
    with pytest.raises(EmitError) as caught:
        ir.compile(twice("first", "second"), tmp_path, backend_type=BackendType.CCE)
    assert str(caught.value) == (
        "the program has 2 orchestration functions (first, second), one is allowed"
    )


def test_level_inside_a_context_is_refused(tmp_path: Path) -> None:
    """A verification level in addition to a context's own would be contradictory."""
    with PassContext([]), pytest.raises(RuntimeError) as caught:
        ir.compile(twice(), tmp_path, verification_level=VerificationLevel.NONE)
    assert str(caught.value) == (
        "verification_level is given inside a PassContext: set it there, "
        "PassContext(instruments, verification_level)"
    )


def test_compile_selects_the_backend(tmp_path: Path) -> None:
    """The first compilation selects the backend; one for another backend does not change it."""
    ir.compile(twice(), tmp_path / "a", backend_type=BackendType.CCE)
    assert backend.get_backend_type() is BackendType.CCE
    ir.compile(twice(), tmp_path / "b", backend_type=BackendType.PTO, skip_ptoas=True)
    assert backend.get_backend_type() is BackendType.CCE
    with pytest.raises(ValueError, match="the backend is CCE already and cannot become PTO"):
        backend.set_backend_type(BackendType.PTO)


def test_backend_selection() -> None:
    """Nothing is selected at first; selecting the same backend twice is fine."""
    assert not backend.is_backend_configured()
    with pytest.raises(ValueError, match="no backend is chosen"):
        backend.get_backend_type()
    backend.set_backend_type(BackendType.PTO)
    backend.set_backend_type(BackendType.PTO)
    assert backend.get_backend_type() is BackendType.PTO


def test_chip() -> None:
    """The 910B as the backends describe it: cores, memories, paths between memories."""
    chip = backend.Backend910B_PTO.instance()
    assert chip is backend.Backend910B_PTO.instance()
    assert chip.get_type_name() == "910B_PTO"
    assert repr(chip.soc) == "SoC(dies=1, clusters=72, cores=72)"
    assert chip.get_mem_size(pl.MemorySpace.Acc) == 128 * 1024
    assert chip.get_mem_size(pl.MemorySpace.DDR) == 0
    path = chip.find_mem_path(pl.MemorySpace.DDR, pl.MemorySpace.Left)
    assert [space.name for space in path] == ["DDR", "Mat", "Left"]
    assert chip.find_mem_path(pl.MemorySpace.Vec, pl.MemorySpace.Vec) == [pl.MemorySpace.Vec]
    with pytest.raises(ValueError, match="there is no path from Left to Vec memory"):
        chip.find_mem_path(pl.MemorySpace.Left, pl.MemorySpace.Vec)


def test_backend_file(tmp_path: Path) -> None:
    """A backend written to a file is read back; another file is rejected."""
    path = tmp_path / "chip.json"
    backend.Backend910B_CCE.instance().export_to_file(path)
    assert backend.Backend.import_from_file(path) is backend.Backend910B_CCE.instance()
    path.write_text("[]")
    with pytest.raises(ValueError, match="names the backend None"):
        backend.Backend.import_from_file(path)


def test_soc_parts() -> None:
    """Counts add up through clusters and dies; descriptions are compared by identity."""
    memory = backend.Mem(pl.MemorySpace.Vec, 1024, 32)
    core = backend.Core(ir.CoreType.VECTOR, [memory])
    die = backend.Die(backend.Cluster({core: 2}), 3)
    assert repr(memory) == "Mem(type=Vec, size=1024, alignment=32)"
    assert repr(core) == "Core(type=1, mems=1)"
    assert repr(die) == "Die(clusters=3, cores=6)"
    assert repr(backend.SoC(die, 4)) == "SoC(dies=4, clusters=12, cores=24)"
    assert memory != backend.Mem(pl.MemorySpace.Vec, 1024, 32)


def test_type_converter() -> None:
    """Pipes, events, shapes and strides have the tile library's spelling."""
    converter = codegen.TypeConverter()
    assert converter.ConvertPipeType(ir.PipeType.MTE2) == "PIPE_MTE2"
    assert converter.ConvertEventId(3) == "EVENT_ID3"
    assert converter.GenerateShapeType([128, 64]) == "Shape<1, 1, 1, 128, 64>"
    assert converter.GenerateStrideType([128, 64]) == "Stride<1, 1, 1, 64, 1>"
    calls: list[Callable[[], str]] = [
        lambda: converter.ConvertEventId(8),
        lambda: converter.GenerateShapeType([]),
        lambda: converter.GenerateStrideType([1] * 6),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"event 8|0 dimensions|6 dimensions"):
            call()


def test_cce_codegen() -> None:
    """The C++ emitter under the documents' name returns the files by path."""
    lowered = PassManager.get_strategy().run_passes(twice())
    found = codegen.CCECodegen().generate(lowered)
    assert sorted(found) == ["kernels/aic/product.cpp", "kernels/aiv/add.cpp"]
    assert found["kernels/aiv/add.cpp"] == kernel_file(kernels(lowered)[0])


def test_parsed_programs_go_through_the_passes(tmp_path: Path) -> None:
    """The emitters under the documents' names accept parsed programs and lowered ones."""
    lowered = PassManager.get_strategy().run_passes(twice("main"))
    function = outermost(lowered)[0]
    wanted = codegen.CCECodegen().generate(lowered)
    assert codegen.CCECodegen().generate(twice("main")) == wanted
    made = codegen.generate_orchestration(twice("main"), function)
    assert made == codegen.generate_orchestration(lowered, function)
    assert wanted[f"orchestration/{function.name}.cpp"] == made.code
    files = pto_codegen.generate(twice("main"), tmp_path, skip_ptoas=True)
    assert files == pto_codegen.generate(lowered, tmp_path / "again", skip_ptoas=True)
    assert {name: (tmp_path / name).read_text() for name in files} == files
    assert any(name.endswith(".pto") for name in files)


def test_native_module_names() -> None:
    """The names of document 001 lead to the same objects."""
    from pypto.pypto_core import backend as core_backend
    from pypto.pypto_core import codegen as core_codegen

    assert core_codegen.PTOCodegen is codegen.PTOCodegen
    assert core_backend.BackendType is BackendType
