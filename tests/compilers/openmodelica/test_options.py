"""Options, sources and what they load."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmident.compilers.openmodelica.compiler import OpenModelicaCompiler
from fmident.compilers.openmodelica.options import OpenModelicaOptions, parse_options
from fmident.compilers.openmodelica.sources import (
    find_top_level,
    missing_source,
    plan_loading,
)
from fmident.compilers.scanner import top_level_classes, used_libraries
from fmident.compilers.sources import entry_file
from fmident.errors import Code, CompilationError

from ...refused import refused


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FMIDENT_OPENMODELICA_SESSION", raising=False)
    assert parse_options({}) == OpenModelicaOptions()
    assert OpenModelicaOptions().omc_flags == ("--fmiFlags=s:cvode",)


def test_session_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FMIDENT_OPENMODELICA_SESSION", "docker")
    assert parse_options({}).session == "docker"
    assert parse_options({"session": "script"}).session == "script"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no 'docker' on the path" in (OpenModelicaCompiler().unavailable() or "")
    assert "openmodelica/openmodelica" in OpenModelicaCompiler().version()
    docker = tmp_path / "docker"
    docker.write_text("#!/bin/sh\n")
    docker.chmod(0o755)
    assert OpenModelicaCompiler().unavailable() is None
    docker.write_text("#!/bin/sh\necho 'Cannot connect to the daemon' >&2\nexit 1\n")
    assert "does not answer: Cannot connect" in (OpenModelicaCompiler().unavailable() or "")


def test_unknown_option_names_the_nearest() -> None:
    with refused(Code.UNKNOWN_KEY, CompilationError, match="'sesion'") as caught:
        parse_options({"sesion": "local"})
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("nearest option: 'session'")


@pytest.mark.parametrize(
    "wrong",
    [
        {"session": "ssh"},
        {"session": None},
        {"fmi_version": 2.0},
        {"fmu_type": "cosimulation"},
        {"platforms": "static"},
        {"platforms": []},
        {"platforms": [1]},
        {"fmi_flags": None},
        {"timeout": 0},
        {"timeout": "long"},
        {"timeout": True},
        {"timeout": float("nan")},
        {"stop_time": -1.0},
        {"interval": 0.0},
        {"ramp_inputs": "yes"},
        {"ramp_inputs": 1},
        {"libraries": ["Modelica"]},
        {"libraries": {'M"); system("x': "1"}},
        {"libraries": {"Modelica": 4.0}},
        {"model_options": 3},
        {"image": ["a"]},
        {"fmi_version": "3.0", "ramp_inputs": True},
    ],
)
def test_wrong_values(wrong: dict[str, object]) -> None:
    with pytest.raises(CompilationError) as caught:
        parse_options(wrong)
    assert caught.value.hint


def test_lists_of_toml_become_tuples() -> None:
    assert parse_options({"platforms": ["static", "x86_64-linux-gnu"]}).platforms == (
        "static",
        "x86_64-linux-gnu",
    )


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Two libraries side by side, one of which uses the other and the standard library."""
    for name, extra in (
        ("Base", 'annotation(version="1");'),
        ("Machines", 'annotation(uses(Modelica(version="4.0.0"), Base(version="1")));'),
    ):
        folder = tmp_path / name
        (folder / "Sub").mkdir(parents=True)
        text = f"within ;\npackage {name}\n  {extra}\nend {name};\n"
        (folder / "package.mo").write_text(text)
        (folder / "Sub" / "package.mo").write_text(f"within {name};\npackage Sub\nend Sub;\n")
        (folder / "Sub" / "M.mo").write_text(f"within {name}.Sub;\nmodel M\nend M;\n")
    return tmp_path


def test_library_in_a_folder(library: Path) -> None:
    plan = plan_loading("Machines.Sub.M", [library])
    assert plan.missing == {"Modelica": "4.0.0"}
    assert plan.files == (library / "Base/package.mo", library / "Machines/package.mo")


def test_the_folder_itself(library: Path) -> None:
    plan = plan_loading("Machines.Sub.M", [library / "Machines"])
    assert plan.files == (library / "Machines/package.mo",)
    assert plan.missing == {"Base": "1", "Modelica": "4.0.0"}


def test_file_inside_a_library_is_loaded_by_its_package(library: Path) -> None:
    file = library / "Machines/Sub/M.mo"
    assert entry_file(file) == library / "Machines/package.mo"
    assert plan_loading("Machines.Sub.M", [file]).files == (library / "Machines/package.mo",)


def test_single_file_with_a_helper_file(tmp_path: Path) -> None:
    (tmp_path / "Helper.mo").write_text("package Helper\nend Helper;\n")
    (tmp_path / "Mine.mo").write_text("model Mine\n  extends Helper.P;\nend Mine;\n")
    plan = plan_loading("Mine", [tmp_path / "Mine.mo", tmp_path / "Helper.mo"])
    assert set(plan.files) == {tmp_path / "Mine.mo", tmp_path / "Helper.mo"}
    assert plan.missing == {}


def test_folder_named_with_a_version(tmp_path: Path) -> None:
    folder = tmp_path / "Modelica 4.0.0"
    folder.mkdir()
    (folder / "package.mo").write_text("package Modelica\nend Modelica;\n")
    assert find_top_level("Modelica", [tmp_path]) == folder / "package.mo"
    assert find_top_level("Modelica", [folder]) == folder / "package.mo"


def test_class_of_an_installed_library() -> None:
    plan = plan_loading("Modelica.Blocks.Examples.PID_Controller", [])
    assert plan.missing == {"Modelica": ""}
    assert plan.files == ()


def test_top_level_classes() -> None:
    text = """
    within ;
    // model Comment
    type Angle = Real(unit="rad");
    partial encapsulated model A "model B"
      model Inner end Inner;
    end A;
    operator record C  end C;
    """
    assert top_level_classes(text) == ("Angle", "A", "C")


def test_uses_with_other_annotations() -> None:
    text = """package P
      // uses(Commented(version="9"))
      annotation(version="1", uses(Modelica(version="4.0.0"), Other(version = "2 beta")),
        Documentation(info="<html>(</html>"));
    end P;"""
    assert used_libraries(text) == {"Modelica": "4.0.0", "Other": "2 beta"}


def test_sources_that_cannot_be_read(tmp_path: Path) -> None:
    with refused(Code.UNKNOWN_NAME, CompilationError):
        plan_loading("A", [tmp_path / "nothing"])
    latin = tmp_path / "A.mo"
    latin.write_bytes("model A // Größe".encode("latin-1"))
    with pytest.raises(CompilationError) as caught:
        plan_loading("A", [latin])
    assert caught.value.diagnostics[0].rule == "encoding"


def test_names_in_the_sources_are_offered(library: Path) -> None:
    assert "'Machines'" in missing_source("Machine.Sub.M", [library])
    assert "'Machines'" in missing_source("Machine.Sub.M", [library / "Machines"])
