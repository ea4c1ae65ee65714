"""Finding tools, and what is said when they are missing or fail."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fmident.compilers.embedded.backend import compiling
from fmident.compilers.embedded.backend.codegen import generate
from fmident.compilers.embedded.backend.compiling import (
    all_sources,
    compile_binary,
    compiler_for,
    find_compiler,
    missing_tools,
)
from fmident.compilers.embedded.backend.fmu import build_fmu
from fmident.compilers.embedded.backend.layout import make_layout
from fmident.compilers.platforms import this_platform
from fmident.errors import CompilationError

from ..conftest import algebraic, oscillator

needs_tools = pytest.mark.skipif(missing_tools() is not None, reason=str(missing_tools()))


def executable(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_no_compiler_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "find_zig", lambda: None)
    message = missing_tools({"PATH": str(tmp_path)})
    assert message is not None
    assert "no C compiler" in message
    assert 'pip install "fmident[cross]"' in message


def test_cc_chooses_the_compiler(tmp_path: Path) -> None:
    path = str(executable(tmp_path / "bin", "mycc").parent)
    assert find_compiler({"PATH": path, "CC": "mycc -m64"}) == ("mycc", "-m64")
    assert find_compiler({"PATH": path, "CC": "absent"}) is None
    message = missing_tools({"PATH": path, "CC": "absent"})
    assert message is not None
    assert "the C compiler 'absent' named by CC is not on the path" in message


def test_compilers_are_tried_in_order(tmp_path: Path) -> None:
    folder = executable(tmp_path / "bin", "clang").parent
    assert find_compiler({"PATH": str(folder)}) == ("clang",)
    executable(folder, "cc")
    assert find_compiler({"PATH": str(folder)}) == ("cc",)


def test_building_without_tools_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    output = tmp_path / "a.fmu"
    with pytest.raises(CompilationError, match="'no-such-compiler' named by CC"):
        build_fmu(oscillator(), output, generation_tool="test")
    assert not output.exists()


@needs_tools
def test_failure_of_the_c_compiler_shows_its_message_and_keeps_the_source(
    tmp_path: Path,
) -> None:
    model = algebraic()
    code = generate(model, make_layout(model), guid="{0}", tolerance=1e-6)
    code["model_data.c"] += "this is no C\n"
    with pytest.raises(CompilationError, match=r"model_data\.c:\d+") as caught:
        compile_binary(compiler_for(this_platform(), tmp_path), tmp_path, all_sources("2.0", code))
    assert str(tmp_path) in (caught.value.hint or "")
    assert (tmp_path / "model_data.c").read_text().endswith("this is no C\n")


@needs_tools
@pytest.mark.skipif(shutil.which("false") is None, reason="needs a command that fails")
def test_failed_build_leaves_an_existing_fmu_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "a.fmu"
    output.write_bytes(b"the good one")
    monkeypatch.setenv("CC", "false")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(CompilationError, match="the C compiler failed"):
        build_fmu(algebraic(), output, generation_tool="test")
    assert output.read_bytes() == b"the good one"
    assert sorted(p.name.split("-")[0] for p in tmp_path.iterdir()) == ["a.fmu", "fmident"]
