"""``--annotations github``: workflow commands at the line of the source or of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fmident.cli import main
from fmident.errors import Diagnostic, Location
from fmident.report.annotations import github_annotation

Capture = pytest.CaptureFixture[str]
BuildFlawed = Callable[..., Path]

COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")

LIBRARY = """\
package Lib
  model Good
    output Real x(unit="m") = time*v; parameter Real v(unit="m/s") = 1;
  equation
    assert(v > 0, "v");
    annotation (experiment(StopTime=1));
  end Good;
  model Broken
    output Real x;
  equation
    x = missing;
    annotation (experiment(StopTime=1));
  end Broken;
end Lib;
"""
CATALOG = """\
[libraries.Lib]
sources = ["../Lib.mo"]
compilers = ["embedded"]

[[fmus]]
class = "Lib.Good"
outputs = { x = "m" }
"""


def annotations(shown: str) -> list[tuple[str, dict[str, str], str]]:
    """Return severity, properties and message of all workflow commands, unescaped."""
    found = []
    for line in shown.splitlines():
        if match := COMMAND.fullmatch(line):
            pairs = (pair.split("=", 1) for pair in match[2].split(","))
            properties = {key: plain(value) for key, value in pairs}
            found.append((match[1], properties, plain(match[3])))
    return found


def plain(text: str) -> str:
    """Undo the escapes as the runner does: the percent sign last."""
    for code, letter in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, letter)
    return text


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with a library and a catalogue."""
    (tmp_path / "fmus").mkdir()
    (tmp_path / "Lib.mo").write_text(LIBRARY)
    (tmp_path / "fmus" / "catalog.toml").write_text(CATALOG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    return tmp_path


def test_what_a_line_consists_of(tmp_path: Path) -> None:
    place = Location(str(tmp_path / "a,b" / "c:d.mo"), 3, 7)
    finding = Diagnostic("warning", "100 % of\r\nit", place, "look: there", "a-rule")
    assert github_annotation(finding, tmp_path) == (
        "::warning file=a%2Cb/c%3Ad.mo,line=3,col=7,title=fmident%3A a-rule"
        "::100 %25 of%0D%0Ait%0Ahint: look: there"
    )


@pytest.mark.parametrize(
    ("location", "properties"),
    [
        (None, "title=fmident"),
        (Location("x.mo"), "file=x.mo,title=fmident"),
        (Location("sub/../x.mo", 1), "file=x.mo,line=1,title=fmident"),
        (Location("/elsewhere/x.mo", 1), "file=/elsewhere/x.mo,line=1,title=fmident"),
    ],
)
def test_places(location: Location | None, properties: str, project: Path) -> None:
    assert github_annotation(Diagnostic("note", "m", location)) == f"::notice {properties}::m"


def test_files_are_relative_to_the_workspace(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.parent))
    finding = Diagnostic("error", "m", Location("Lib.mo", 1))
    assert f"file={project.name}/Lib.mo," in github_annotation(finding)


def test_a_file_that_cannot_be_used(project: Path, capsys: Capture) -> None:
    (project / "bad.fmu").write_text("not a zip")
    assert main(["validate", "bad.fmu", "--annotations", "github"]) == 2
    ((severity, properties, message),) = annotations(capsys.readouterr().out)
    assert severity == "error"
    assert properties == {"file": "bad.fmu", "title": "fmident: unusable"}
    assert message.startswith("bad.fmu: this is not an FMU")


def test_a_missing_fmu_is_an_error_of_its_entry(
    project: Path, flawed: BuildFlawed, capsys: Capture, embedded_compiler: object
) -> None:
    catalog = project / "fmus" / "catalog.toml"
    catalog.write_text(f'{CATALOG}\n[[fmus]]\nclass = "Lib.Broken"\n')
    (project / "fmus" / "Lib.Good.fmu").write_bytes(flawed().read_bytes())
    main(["validate", "--all", "--resets", "20", "--annotations", "github"])
    found = annotations(capsys.readouterr().out)
    assert found[0][1] == {"file": "fmus/catalog.toml", "line": "9", "title": "fmident: validate"}
    assert "Lib.Broken.fmu" in found[0][2]
    # The FMU has an input and a parameter that the entry does not have.
    interface = next(f for f in found if f[1]["title"] == "fmident: interface")
    assert interface[0] == "error"
    assert (interface[1]["file"], interface[1]["line"]) == ("fmus/catalog.toml", "5")


def test_a_failed_check_is_at_the_class(
    project: Path, flawed: BuildFlawed, capsys: Capture
) -> None:
    fmu = flawed("REFUSES")
    (project / "fmus" / "Lib.Good.fmu").write_bytes(fmu.read_bytes())
    command = ["validate", "fmus/Lib.Good.fmu", "--resets", "20", "--annotations", "github"]
    assert main(command) == 1
    found = {p["title"]: p for _, p, _ in annotations(capsys.readouterr().out)}
    assert found["fmident: simulation"]["file"] == "Lib.mo"
    assert found["fmident: simulation"]["line"] == "2"


def test_a_catalogue_with_a_mistake(project: Path, capsys: Capture) -> None:
    (project / "fmus" / "catalog.toml").write_text(CATALOG.replace("outputs", "output"))
    for command in ("build", "validate"):
        assert main([command, "--all", "--annotations", "github"]) == 2
        ((severity, properties, message),) = annotations(capsys.readouterr().out)
        assert severity == "error"
        assert (properties["file"], properties["line"]) == ("fmus/catalog.toml", "7")
        assert "'outputs'" in message


def test_what_a_compiler_finds(project: Path, capsys: Capture, embedded_compiler: object) -> None:
    assert main(["build", "Lib.mo", "--class", "Lib.Broken", "--annotations", "github"]) == 2
    shown = capsys.readouterr()
    errors = [f for f in annotations(shown.out) if f[0] == "error"]
    assert [(p["file"], p["line"]) for _, p, _ in errors] == [("Lib.mo", "11")]
    assert "missing" in errors[0][2]
    assert "Lib.mo:11" in shown.err


def test_an_entry_that_cannot_be_built(
    project: Path, capsys: Capture, embedded_compiler: object
) -> None:
    catalog = project / "fmus" / "catalog.toml"
    catalog.write_text(f'{CATALOG}\n[[fmus]]\nclass = "Lib.Broken"\n')
    assert main(["build", "--all", "-o", "out", "--annotations", "github"]) == 1
    found = [f for f in annotations(capsys.readouterr().out) if f[0] == "error"]
    assert [(p["file"], p["line"]) for _, p, _ in found] == [("Lib.mo", "11")]
    catalog.write_text(CATALOG.replace('x = "m"', 'x = "m", y = "m"'))
    assert main(["build", "--all", "-o", "other", "--annotations", "github"]) == 1
    ((_, properties, message),) = annotations(capsys.readouterr().out)
    assert (properties["file"], properties["line"]) == ("fmus/catalog.toml", "5")
    assert "output 'y' is missing" in message


def test_nothing_without_the_option(project: Path, capsys: Capture) -> None:
    (project / "bad.fmu").write_text("not a zip")
    assert main(["validate", "bad.fmu"]) == 2
    assert "::" not in capsys.readouterr().out
