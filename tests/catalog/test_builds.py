"""``fmident build --all``."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmident.cli import main
from fmident.fmu import read_description

pytestmark = pytest.mark.slow  # many builds or whole runs

Capture = pytest.CaptureFixture[str]

LIBRARY = """\
package Lib
  model Spring
    parameter Real k(unit="N/m") = 3 "Stiffness";
    input Real s(unit="m") "Extension";
    output Real f(unit="N") "Force";
  equation
    f = k*s;
    annotation (experiment(StopTime=1));
  end Spring;
  model Broken
    output Real x;
  equation
    x = y;
    annotation (experiment(StopTime=1));
  end Broken;
end Lib;
"""
CATALOG = """\
[libraries.Lib]
sources = ["../modelica/Lib.mo"]
compilers = ["embedded", "nobody"]

[[fmus]]
class = "Lib.Spring"
inputs = { s = "m" }
outputs = { f = "N" }
identifiable = { k = "N/m" }
smoke.inputs = { s = { sines = [[0.1, 1.0, 0.0]] } }
"""
BROKEN = '\n[[fmus]]\nclass = "Lib.Broken"\n'
ELSEWHERE = '\n[[fmus]]\nclass = "Lib.Broken"\ncompilers = ["nobody"]\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedded_compiler: object) -> Path:
    """Return a working directory with a library and a catalogue."""
    for name in ("modelica", "fmus"):
        (tmp_path / name).mkdir()
    (tmp_path / "modelica" / "Lib.mo").write_text(LIBRARY)
    (tmp_path / "fmus" / "catalog.toml").write_text(CATALOG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(shown: str) -> dict[str, str]:
    """Return class and last column of the table."""
    table = shown.partition("\n\n")[0].splitlines()[2:]
    return {line.split()[0]: line.split("  ")[-1].strip() for line in table}


def test_builds_once_and_checks_the_interface(project: Path, capsys: Capture) -> None:
    assert main(["build", "--all"]) == 0
    assert rows(capsys.readouterr().out) == {"Lib.Spring": "built"}
    assert (project / "fmus" / "Lib.Spring.fmu").exists()
    assert main(["build", "--all"]) == 0
    assert rows(capsys.readouterr().out) == {"Lib.Spring": "up to date"}
    assert main(["validate", "--all", "--resets", "20"]) == 0


def test_an_interface_that_differs_fails(project: Path, capsys: Capture) -> None:
    catalog = project / "fmus" / "catalog.toml"
    catalog.write_text(CATALOG.replace('k = "N/m"', 'k = "N/m", d = "1"'))
    assert main(["build", "--all", "-o", "elsewhere"]) == 1
    shown = capsys.readouterr().out
    assert rows(shown) == {"Lib.Spring": "failed"}
    assert "there is no parameter 'd'" in shown
    kept = [f.name for f in (project / "elsewhere").iterdir()]
    assert kept == ["Lib.Spring.fmu.rejected"]
    assert main(["build", "--all", "-o", "elsewhere"]) == 1
    assert rows(capsys.readouterr().out) == {"Lib.Spring": "failed"}


def test_a_catalogue_that_asks_for_more_fails_what_was_up_to_date(
    project: Path, capsys: Capture
) -> None:
    assert main(["build", "--all"]) == 0
    catalog = project / "fmus" / "catalog.toml"
    catalog.write_text(CATALOG.replace('outputs = { f = "N" }', 'outputs = { f = "kN" }'))
    capsys.readouterr()
    for _ in range(2):
        assert main(["build", "--all"]) == 1
        shown = capsys.readouterr().out
        assert rows(shown) == {"Lib.Spring": "failed"}
        assert "output 'f' has the unit 'N', not 'kN'" in shown
    assert [f.name for f in (project / "fmus").glob("*.fmu*")] == ["Lib.Spring.fmu"]
    catalog.write_text(CATALOG)
    assert main(["build", "--all"]) == 0
    assert rows(capsys.readouterr().out) == {"Lib.Spring": "up to date"}


def test_a_class_that_is_refused_costs_its_own_row(project: Path, capsys: Capture) -> None:
    catalog = project / "fmus" / "catalog.toml"
    catalog.write_text(CATALOG + BROKEN)
    assert main(["build", "--all"]) == 1
    shown = capsys.readouterr().out
    assert rows(shown) == {"Lib.Spring": "built", "Lib.Broken": "refused"}
    assert "Lib.mo:13" in shown


def test_the_bundled_library_is_found(project: Path, capsys: Capture) -> None:
    library = LIBRARY.replace(
        "model Spring\n", "model Spring\n    extends Mechanisms.Icons.MassSpringDamper;\n"
    )
    assert library != LIBRARY
    (project / "modelica" / "Lib.mo").write_text(library)
    assert main(["build", "--all"]) == 0
    assert rows(capsys.readouterr().out) == {"Lib.Spring": "built"}


def test_what_no_compiler_here_can_build_is_left_out(project: Path, capsys: Capture) -> None:
    catalog = project / "fmus" / "catalog.toml"
    catalog.write_text(CATALOG + ELSEWHERE)
    assert main(["build", "--all"]) == 0
    shown = capsys.readouterr().out
    assert rows(shown) == {"Lib.Spring": "built", "Lib.Broken": "left out"}
    assert main(["build", "--all", "--compiler", "embedded"]) == 0
    assert "the catalogue has it built by nobody" in capsys.readouterr().out


def test_a_machine_that_can_build_nothing_is_not_taken_for_success(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    catalog = project / "fmus" / "catalog.toml"
    catalog.write_text(CATALOG.replace('"embedded", "nobody"', '"nobody"'))
    assert main(["build", "--all", "--annotations", "github"]) == 1
    shown = capsys.readouterr().out
    assert "::warning file=fmus/catalog.toml,line=5,title=fmident%3A build::Lib.Spring" in shown
    assert "0 of 1 FMUs are there" in shown


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["--all", "Lib.Spring"], "--all"),
        (["--all", "--option", "a=b"], "catalogue"),
        (["--all", "--fmi", "3.0"], "catalogue"),
        (["Lib.Spring", "--fmi", "3.0", "--option", "fmi=2.0"], "--fmi"),
        (["Lib.Spring", "--fmi", "1.0"], 'give the version of FMI: "2.0" or "3.0"'),
        (["Lib.Spring", "--platforms", ""], "list of names with commas"),
        (["Lib.Spring", "--platforms", "win64,,linux64"], "list of names with commas"),
        (["--all", "--platforms", "win46"], "'win64'"),
        (["--all", "--compiler", "embeded"], "'embedded'"),
        (["--all", "--catalog", "none.toml"], "none.toml"),
        (["Lib.Spring", "--catalog", "fmus/catalog.toml"], "--catalog"),
        (["Lib.Spring", "--class", "Lib.Spring"], "--class"),
        ([], "--all"),
    ],
)
def test_mistakes(project: Path, arguments: list[str], fragment: str, capsys: Capture) -> None:
    assert project
    assert main(["build", *arguments]) == 2
    assert fragment in capsys.readouterr().err


def test_a_version_of_fmi_from_the_command_line_and_from_the_catalogue(
    project: Path, embedded_compiler: object, capsys: Capture
) -> None:
    assert main(["build", "Lib.Spring", "--fmi", "3.0", "-o", "spring.fmu"]) == 0
    assert read_description("spring.fmu").fmi_version == "3.0"
    catalog = project / "fmus" / "catalog.toml"
    text = catalog.read_text()
    first = 'class = "Lib.Spring"\n'
    catalog.write_text(text.replace(first, first + 'compiler.embedded.options.fmi = "3.0"\n', 1))
    main(["build", "--all", "--compiler", "embedded"])
    assert read_description(project / "fmus" / "Lib.Spring.fmu").fmi_version == "3.0"


@pytest.mark.slow
def test_our_catalogue_builds_and_validates(
    tmp_path: Path, embedded_compiler: object, capsys: Capture
) -> None:
    catalog = str(Path(__file__).parents[2] / "fmus" / "catalog.toml")
    folder = str(tmp_path)
    built = main(["build", "--all", "--catalog", catalog, "-o", folder, "--compiler", "embedded"])
    assert built == 0, capsys.readouterr().out
    junit = tmp_path / "junit.xml"
    command = ["validate", "--all", "--catalog", catalog, "--folder", folder, "--junit", str(junit)]
    capsys.readouterr()
    assert main(command) == 0, capsys.readouterr().out
    count = len(list(tmp_path.glob("*.fmu")))
    assert f"{count} of {count} FMUs passed" in capsys.readouterr().out
    assert count == 29
