"""Files are written below their folder, all or none, whatever the names of functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src import output_folder
from pypto._src.build_output import kernel_config
from pypto._src.emit.host.device.generate import OrchestrationResult
from pypto._src.errors import OutputError, PyptoError
from pypto._src.ir.enums import CoreType
from pypto._src.output_folder import OutputFolder
from pypto._src.passes.pass_manager import PassManager
from pypto.backend import BackendType
from tests.attack.markers import packed, tokens_of

KERNEL = """
@pl.function(type=pl.FunctionType.InCore)
def add(x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    out = pl.store(pl.add(pl.load(x, [0, 0], [16, 64]), 1.0), [0, 0], [16, 64], out)
"""
OUTSIDE = ["../../x", "../x", "..", ".", "/tmp/x", "a/../../x", "a//..//../x", "\0", "a\0b", "a\nb",
           "..\\x", "C:\\x", "C:x", "a.", "a ", "x:y", "a|b", "a*"]  # fmt: skip


def kernel(name: str) -> ir.Program:
    """Return a program of one kernel, built by constructors."""
    read: Any = pl.parse(KERNEL)
    function = ir.Function(
        name,
        list(zip(read.params, read.param_directions, strict=True)),
        read.return_types,
        read.body,
        read.span,
        read.func_type,
    )
    return ir.Program([function], "P")


def inside(folder: Path) -> list[str]:
    """Return the files and folders below a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def all_below(folder: Path) -> dict[str, bytes]:
    return {name: path.read_bytes() for name in inside(folder) if (path := folder / name).is_file()}


@pytest.mark.parametrize("backend", [BackendType.CCE, BackendType.PTO])
@pytest.mark.parametrize("name", OUTSIDE)
def test_functions_that_name_other_places(name: str, backend: BackendType, tmp_path: Path) -> None:
    """A hand-built function with such a name is rejected before any write; so are bytes."""
    folder = tmp_path / "a" / "b"
    with pytest.raises(PyptoError, match="is not an identifier"):
        ir.compile(kernel(name), folder, backend_type=backend, skip_ptoas=True)
    assert inside(tmp_path) == []
    tokens = [name if token == "add" else token for token in tokens_of(kernel("add"))]
    with pytest.raises(PyptoError):
        ir.deserialize(packed(tokens))


@pytest.mark.parametrize("name", [*OUTSIDE, "", "/", "a/" * 3000 + "x"])
def test_the_writer_refuses_them_too(name: str, tmp_path: Path) -> None:
    """Whoever gives the names, no file leaves the folder, and the others are not written either."""
    folder = tmp_path / "a" / "b"
    with pytest.raises(OutputError) as caught:
        OutputFolder(folder).write({"good.txt": "x", name: "y"})
    assert caught.value.slug == "output"
    assert all_below(tmp_path) == {}


def test_links_out_of_the_folder(tmp_path: Path) -> None:
    """A link to a folder elsewhere is not followed; one in place of a file is replaced."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept", encoding="utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "kernels").symlink_to(outside, target_is_directory=True)
    with pytest.raises(OutputError, match="through a link"):
        OutputFolder(folder).write({"kernels/x.cpp": "x"})
    with pytest.raises(OutputError, match="through a link"):
        OutputFolder(folder).write({"kernels/aiv/x.cpp": "x"})
    assert inside(outside) == ["kept"]
    (folder / "file").symlink_to(outside / "kept")
    OutputFolder(folder).write({"file": "new"})
    assert all_below(outside) == {"kept": b"kept"}
    assert (folder / "file").read_text(encoding="utf-8") == "new"


def test_a_folder_that_is_a_link_itself(tmp_path: Path) -> None:
    """The user's output folder itself may be a link."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real", target_is_directory=True)
    OutputFolder(tmp_path / "link").write({"a/b.txt": "x"})
    assert all_below(tmp_path / "real") == {"a/b.txt": b"x"}


@pytest.mark.parametrize("length", [300, 5000])
def test_long_names(length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name too long for the disk is our error; a program's name is shortened."""
    with pytest.raises(OutputError, match=r"cannot write 'kernels/aiv/aaa.*: File name too long"):
        ir.compile(kernel("a" * length), tmp_path, backend_type=BackendType.CCE, dump_passes=False)
    assert all_below(tmp_path) == {}
    monkeypatch.chdir(tmp_path)
    program = ir.Program(kernel("add").functions_, "P" * length)
    assert Path(ir.compile(program, backend_type=BackendType.CCE)).is_dir()


def test_all_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If one file cannot be written, none changes, and no temporary file is left."""
    folder = OutputFolder(tmp_path)
    folder.write({"a.txt": "old", "sub/b.txt": "old"})
    before = all_below(tmp_path)
    (tmp_path / "c.txt").mkdir()
    with pytest.raises(OutputError, match=r"cannot write .*there is a folder of this name"):
        folder.write({"a.txt": "new", "sub/b.txt": "new", "c.txt": "new"})
    with pytest.raises(OutputError):
        folder.write({"a.txt": "new", "a.txt/x": "new"})
    with pytest.raises(OutputError, match="surrogates not allowed"):
        folder.write({"a.txt": "new", "b.txt": "\ud800"})

    def full(*_args: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(OutputError, match="No space left on device"):
            folder.write({"a.txt": "new"})
    assert all_below(tmp_path) == before


def test_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None is left when the user interrupts, either."""
    write = Path.write_bytes

    def interrupted(path: Path, data: bytes) -> int:
        write(path, data[:1])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        OutputFolder(tmp_path).write({"a.txt": "new"})
    assert inside(tmp_path) == []


def test_a_folder_of_its_own_goes_when_nothing_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compile that fails leaves behind no empty folder that it created."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError):
        ir.compile(kernel("a" * 300), backend_type=BackendType.CCE, dump_passes=False)
    assert all_below(tmp_path) == {}


def test_names_that_differ_in_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that differ only in case are rejected if the file system ignores it, else written."""
    files = {"k/Add.cpp": "1", "k/add.cpp": "2", "Add.cpp": "3", "k/\ufb01.cpp": "4"}
    monkeypatch.setattr(output_folder, "_ignores_case", Mock(return_value=False))
    OutputFolder(tmp_path / "a").write(files)
    assert len(all_below(tmp_path / "a")) == 4
    monkeypatch.setattr(output_folder, "_ignores_case", Mock(return_value=True))
    with pytest.raises(OutputError, match=r"Add.cpp and add.cpp are one file"):
        OutputFolder(tmp_path / "b").write(files)
    with pytest.raises(OutputError, match=r"are one file"):
        OutputFolder(tmp_path / "b").write({"fi.cpp": "1", "\ufb01.cpp": "2"})
    assert all_below(tmp_path / "b") == {}


@pytest.mark.parametrize("name", ["aux.cpp", "NUL", "kernels/com1.pto", "Con"])
def test_devices_of_windows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file name that is a device on Windows is rejected there."""
    monkeypatch.setattr(output_folder.sys, "platform", "win32")
    with pytest.raises(OutputError, match="is the name of a device"):
        OutputFolder(tmp_path).path_of(name)
    assert OutputFolder(tmp_path).path_of(f"x{Path(name).name}").parent == tmp_path


def test_dumps_of_passes(tmp_path: Path) -> None:
    """A pass whose name is a path does not dump elsewhere."""
    manager = PassManager.get_strategy()
    manager.pass_names[0] = "x/../../../../outside"
    folder = tmp_path / "a" / "dumps"
    with pytest.raises(OutputError):
        manager.run_passes(kernel("add"), dump_ir=True, output_dir=folder)
    assert inside(tmp_path) == ["a", "a/dumps", "a/dumps/00_frontend.py"]


def test_paths_in_the_configuration_are_quoted() -> None:
    """kernel_config.py is Python: each path in it is a string, whatever it contains."""
    name = '"); __import__("os").abort(); ("'
    host = OrchestrationResult("", {name: 0}, {name: CoreType.VECTOR})
    values: dict[str, Any] = {"__file__": str(Path("d", "kernel_config.py"))}
    exec(kernel_config(name, host), values)
    assert values["ORCHESTRATION"]["source"] == str(Path("d", name))
    assert values["KERNELS"][0]["source"] == str(Path("d", f"kernels/aiv/{name}.cpp"))
