"""The compiled loops: their library, and what Python and C know of each other."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest

from fmident.errors import Code, FmuError
from fmident.fmu.native_code import compile_loops, log
from fmident.fmu.native_code import loops as module
from fmident.fmu.native_code.loops import (
    CoSimulationRun,
    ModelExchangeRun,
    SensitivityRun,
    loops,
)


@pytest.mark.parametrize(
    ("structure", "name"),
    [
        (CoSimulationRun, "co_simulation"),
        (ModelExchangeRun, "model_exchange"),
        (SensitivityRun, "sensitivities"),
    ],
)
def test_structures_are_as_large_as_in_c(structure: type[ctypes.Structure], name: str) -> None:
    size_of = ctypes.CFUNCTYPE(ctypes.c_int64)(loops().address(f"size_of_{name}"))
    assert ctypes.sizeof(structure) == size_of()


def test_other_sources_have_another_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = compile_loops.library_name("x86_64-linux")
    sources = shutil.copytree(compile_loops.SOURCES, tmp_path / "c")
    monkeypatch.setattr(compile_loops, "SOURCES", sources)
    assert compile_loops.library_name("x86_64-linux") == before
    with (sources / "run.c").open("a") as file:
        file.write("/* more */\n")
    assert compile_loops.library_name("x86_64-linux") != before


def load_anew(monkeypatch: pytest.MonkeyPatch, command: list[str]) -> FmuError:
    monkeypatch.setattr(module, "library_name", lambda _: "loops-nowhere.so")
    monkeypatch.setattr(module, "compiler", lambda: command)
    with pytest.raises(FmuError) as raised:
        module.loops.__wrapped__()
    return raised.value


def test_what_to_do_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    error = load_anew(monkeypatch, [])
    assert error.code == Code.NOT_INSTALLED
    assert "pip install ziglang" in str(error)


@pytest.mark.parametrize("command", ["is-not-there", sys.executable])
def test_what_to_do_when_the_compiler_fails(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    error = load_anew(monkeypatch, [command])
    assert error.code == Code.NOT_INSTALLED
    assert "CC" in str(error)
    assert command in str(error)


@pytest.mark.slow
def test_where_nothing_can_be_written_it_is_compiled_for_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FMIDENT_CACHE", "")
    monkeypatch.setattr(module, "library_name", lambda _: "loops-nowhere.so")
    monkeypatch.setattr("os.access", lambda *_: False)
    assert module.loops.__wrapped__().rings() == 256


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("ziglang"), reason="ziglang is not installed")
@pytest.mark.each_time("aarch64-darwin")  # zig compiles a C library first for the other
@pytest.mark.parametrize("target", ["x86_64-windows", "aarch64-darwin"])
def test_a_wheel_has_them_for_other_systems(target: str, tmp_path: Path) -> None:
    library = tmp_path / compile_loops.library_name(target)
    command = [*compile_loops.ZIG, "-target", compile_loops.TARGETS[target]]
    compile_loops.compile_loops(command, library)
    kinds = {"x86_64-windows": b"MZ", "aarch64-darwin": b"\xcf\xfa\xed\xfe"}
    assert library.read_bytes().startswith(kinds[target])


def test_so_many_buffers_can_be_open_and_no_more() -> None:
    buffers: list[log.LogBuffer] = []

    def open_all() -> None:
        while len(buffers) < 1000:
            buffers.append(log.LogBuffer())

    with pytest.raises(FmuError, match="256 simulators are open"):
        open_all()
    addresses = {b.logger_address for b in buffers} | {b.plain_logger_address for b in buffers}
    assert len(addresses) == 2 * len(buffers)
    buffers.clear()
    assert log.LogBuffer().logger_address in addresses


@pytest.mark.slow
def test_compiling_is_told_and_leaves_a_few_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for age in range(5):
        old = tmp_path / f"loops-here-{age}.so"
        old.touch()
        os.utime(old, (1000.0 - age, 1000.0 - age))
    (tmp_path / "loops-there-0.so").touch()
    module._compile(tmp_path / "loops-here-new.so")
    assert capsys.readouterr().err.count("\n") == 1
    names = {path.name for path in tmp_path.iterdir()}
    here = {"loops-here-0.so", "loops-here-1.so", "loops-here-new.so"}
    assert names == {*here, "loops-there-0.so"}
