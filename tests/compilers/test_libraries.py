"""Libraries of a user's own file, found as OpenModelica finds them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from fmident.cli import main
from fmident.compilers.libraries import find_library, modelica_path, own_source
from fmident.errors import CompilationError
from fmident.fmu import SimulationSetup, open_fmu

Capture = pytest.CaptureFixture[str]

CONSTANTS = """\
within ;
package Constants
  constant Real two = {two};
  annotation (version="{version}");
end Constants;
"""
PARTS = """\
within ;
package Parts
  annotation (version="1.0", uses(Constants(version="1.2")));
end Parts;
"""
DOUBLER = """\
within Parts;
model Doubler
  input Real u;
  output Real y;
equation
  y = Constants.two*u;
end Doubler;
"""
THEIR = """\
package Their
  model Model
    parameter Real k = 10;
    Parts.Doubler doubler(u = k*time);
    output Real y = doubler.y;
    annotation (experiment(StopTime=1));
  end Model;
  annotation (uses(Parts(version="1.0")));
end Their;
"""


def package(folder: Path, text: str, *others: tuple[str, str]) -> Path:
    folder.mkdir(parents=True)
    (folder / "package.mo").write_text(text)
    for name, content in others:
        (folder / f"{name}.mo").write_text(content)
    return folder


@pytest.fixture
def their(tmp_path: Path) -> Path:
    """Return Their.mo; Parts beside it, Constants in versions on another path."""
    work, path = tmp_path / "work", tmp_path / "path"
    package(work / "Parts", PARTS, ("Doubler", DOUBLER))
    package(path / "Constants 1.2", CONSTANTS.format(two=2, version="1.2"))
    package(path / "Constants 1.10", CONSTANTS.format(two=2.1, version="1.10"))
    (work / "Their.mo").write_text(THEIR)
    return work / "Their.mo"


def environment(their: Path) -> dict[str, str]:
    return {"MODELICAPATH": f"/nowhere{os.pathsep}{their.parents[1] / 'path'}"}


def test_siblings_path_and_versions(their: Path) -> None:
    own = own_source(their, environment(their))
    path = their.parents[1] / "path"
    assert own.sources == (their, their.parent.resolve() / "Parts", path / "Constants 1.2")
    assert own.classes == ("Their",)
    assert own.notes == ()


def test_file_inside_a_package_stands_for_the_package(their: Path) -> None:
    doubler = their.parent / "Parts" / "Doubler.mo"
    own = own_source(doubler, environment(their))
    assert own.sources[0].resolve() == doubler.parent.resolve()
    assert own.classes == ("Parts",)
    assert own_source(doubler.parent, environment(their)).classes == ("Parts",)


def test_version_that_is_not_there(their: Path) -> None:
    parts = their.parent / "Parts" / "package.mo"
    parts.write_text(PARTS.replace('"1.2"', '"3.0"'))
    own = own_source(their, environment(their))
    assert own.sources[-1].name == "Constants 1.10"
    (note,) = own.notes
    assert "Constants 3.0 is asked for" in note.message


def test_library_that_is_not_there(their: Path) -> None:
    (note,) = own_source(their, {}).notes
    assert "Constants 1.2 is used" in note.message
    assert "MODELICAPATH" in (note.hint or "")


def test_of_a_library_its_annotation_counts(their: Path) -> None:
    """All names of the standard library take seconds to read."""
    path = their.parents[1] / "path"
    package(path / "Other", "package Other end Other;")
    (their.parent / "Parts" / "Doubler.mo").write_text(DOUBLER.replace("Constants.", "Other."))
    names = {p.name for p in own_source(their, environment(their)).sources}
    assert names == {"Their.mo", "Parts", "Constants 1.2"}
    parts = their.parent / "Parts" / "package.mo"
    parts.write_text('package Parts annotation(version="1.0"); end Parts;')
    names = {p.name for p in own_source(their, environment(their)).sources}
    assert names == {"Their.mo", "Parts", "Other"}


def test_what_the_path_contains_is_said(tmp_path: Path) -> None:
    package(tmp_path / "good" / "Lib 1.0", "package Lib end Lib;")
    (tmp_path / "good" / "Complex 4.1.0.mo").write_text("record Complex end Complex;")
    (tmp_path / "empty").mkdir()
    (tmp_path / "Modelica.zip").write_bytes(b"PK")
    package(tmp_path / "above" / "release" / "Lib", "package Lib end Lib;")
    parts = {
        "nowhere": "which is not there",
        "good": "which holds Complex, Lib",
        "good/Lib 1.0": f"which is a library itself: name '{tmp_path / 'good'}'",
        "good/Complex 4.1.0.mo": f"which is a library itself: name '{tmp_path / 'good'}'",
        "Modelica.zip": "which is a file, not a folder",
        "empty": "which holds no library",
        "above": f"which holds no library: name '{tmp_path / 'above' / 'release'}' below it",
    }
    path = os.pathsep.join(str(tmp_path / part) for part in parts)
    expected = ", ".join(f"'{tmp_path / part}', {said}" for part, said in parts.items())
    assert modelica_path({"MODELICAPATH": path}) == f"MODELICAPATH names {expected}"
    assert modelica_path({}) == "MODELICAPATH is not set"


def test_order_of_candidates(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    package(first / "Lib 2.0", "package Lib end Lib;")
    package(second / "Lib", "package Lib end Lib;")
    (second / "Other 1.0.mo").write_text("package Other end Other;")
    folders = (first, second)
    assert find_library("Lib", "2.0", folders) == first / "Lib 2.0"
    assert find_library("Lib", "", folders) == second / "Lib"
    assert find_library("Lib", "1.0", folders) == second / "Lib"
    assert find_library("Other", "1.0", folders) == second / "Other 1.0.mo"
    assert find_library("Li", "", folders) is None


def test_what_is_no_modelica(tmp_path: Path) -> None:
    (tmp_path / "Empty.mo").write_text("// nothing\n")
    for path, fragment in (
        (tmp_path / "Empty.mo", "no Modelica class"),
        (tmp_path / "Emty.mo", "Empty.mo"),
        (tmp_path, "package.mo"),
    ):
        with pytest.raises(CompilationError) as caught:
            own_source(path, {})
        assert fragment in str(caught.value)


def test_embedded_compiler_builds_their_model(
    their: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, embedded_compiler: object
) -> None:
    monkeypatch.chdir(their.parents[1])
    monkeypatch.setenv("MODELICAPATH", environment(their)["MODELICAPATH"])
    command = ["build", "work/Their.mo", "-o", "their.fmu"]
    assert main([*command, "--class", "Their.Model"]) == 0
    with open_fmu("their.fmu") as fmu, fmu.simulator() as simulator:
        setup = SimulationSetup(np.array([0.0, 1.0]), output_names=("y",))
        assert simulator.simulate(setup)[-1, 0] == pytest.approx(20.0)
    capsys.readouterr()
    assert main([*command, "--class", "Their.Model"]) == 0
    assert "up to date" in capsys.readouterr().out
    assert main([*command, "--class", "Their.Modl"]) == 2
    assert "Their.Model" in capsys.readouterr().err


def test_embedded_compiler_builds_their_package(
    their: Path, monkeypatch: pytest.MonkeyPatch, embedded_compiler: object
) -> None:
    """A package in a folder, whose library uses another one in turn."""
    folder = their.parents[1] / "packages" / "Their 0.3"
    head, body = THEIR.split("  model Model", 1)
    model, rest = body.split("  end Model;\n", 1)
    package(folder, head + rest, ("Model", f"within Their;\nmodel Model{model}end Model;\n"))
    their.unlink()
    path = os.pathsep.join([environment(their)["MODELICAPATH"], str(their.parent)])
    monkeypatch.setenv("MODELICAPATH", path)
    monkeypatch.chdir(folder.parent)
    assert main(["build", "Their 0.3", "--class", "Their.Model"]) == 0
    with open_fmu("fmus/Their.Model.fmu") as fmu, fmu.simulator() as simulator:
        setup = SimulationSetup(np.array([0.0, 1.0]), output_names=("y",))
        assert simulator.simulate(setup)[-1, 0] == pytest.approx(20.0)


def test_library_of_fmident_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedded_compiler: object
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MODELICAPATH", raising=False)
    text = "model M\n  extends Mechanisms.FMUs.MassSpringDamper(k=7);\nend M;\n"
    Path("M.mo").write_text(text)
    assert main(["build", "M.mo"]) == 0
    with open_fmu("fmus/M.fmu") as fmu:
        assert fmu.description.variable("k").start == 7.0


def test_single_model_needs_no_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, embedded_compiler: object
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Ramp.mo").write_text("model Ramp\n  output Real y;\nequation\n  y = time;\nend Ramp;\n")
    assert main(["build", "Ramp.mo"]) == 0
    assert Path("fmus/Ramp.fmu").exists()
    Path("Fall.mo").write_text(
        "within Mechanisms.Oscillators;\nmodel Fall\n  extends SprungMass;\nend Fall;\n"
    )
    assert main(["build", "Fall.mo"]) == 0
    assert Path("fmus/Mechanisms.Oscillators.Fall.fmu").exists()
    Path("Two.mo").write_text(Path("Ramp.mo").read_text() + "model Two\nend Two;\n")
    assert main(["build", "Two.mo"]) == 2
    told = capsys.readouterr().err
    assert "--class Ramp" in told
    assert "2 models: Ramp and Two" in told
    Path("Lib.mo").write_text(
        "package Lib\n  partial model Base\n  end Base;\n  record R\n  end R;\n"
        "  package Inner\n    block Only\n    end Only;\n  end Inner;\nend Lib;\n"
    )
    assert main(["build", "Lib.mo"]) == 2
    assert "--class Lib.Inner.Only" in capsys.readouterr().err
