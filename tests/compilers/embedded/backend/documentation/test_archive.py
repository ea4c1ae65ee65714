"""The members in an FMU: the same bytes for the same sources, and a date only where one is set."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from fmpy import read_model_description
from fmpy.validation import validate_fmu

from fmident.compilers.base import BuildRequest
from fmident.compilers.embedded.backend.description.generation_date import (
    VARIABLE,
    generation_date,
)
from fmident.compilers.embedded.compiler import EmbeddedCompiler
from fmident.compilers.staleness import is_stale
from fmident.errors import CompilationError

XML = "terminalsAndIcons/terminalsAndIcons.xml"

LAG = """
package T "a package"
  connector In = input Real "a number"
    annotation(Icon(graphics={Polygon(points={{-100,100},{100,0},{-100,-100}}, lineColor={0,0,127},
      fillColor={0,0,127}, fillPattern=FillPattern.Solid)}));
  model Lag "first order"
    parameter Real T(unit="s", min=0) = 2 "time constant";
    In u annotation(Placement(transformation(extent={{-140,-20},{-100,20}})));
    output Real y(start=0, fixed=true) "answer";
  equation
    T*der(y) = u - y;
    annotation(
      Icon(graphics={Rectangle(extent={{-100,-100},{100,100}}), Text(extent={{-90,-30},{90,30}},
        textString="%name")}),
      Documentation(info="<html><p>A lag &amp; <script>alert(1)</script>more.</p></html>"));
  end Lag;
  model Two
    In u[2];
    Real x(start=0, fixed=true);
  equation
    der(x) = u[1] - u[2];
    annotation(Icon(graphics={Line(points={{0,0},{9,9}})}));
  end Two;
  model Plain
    Real x(start=1, fixed=true);
  equation
    der(x) = -x;
  end Plain;
end T;
"""


def build(folder: Path, name: str = "T.Lag", file: str = "m.fmu", **options: object) -> Path:
    source = folder / "T.mo"
    source.write_text(LAG)
    EmbeddedCompiler().build(BuildRequest(name, (source,), folder / file, options=options))
    return folder / file


def members(fmu: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(fmu) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.slow
@pytest.mark.usefixtures("tools")
def test_dates_are_of_the_environment_and_change_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    first, second = build(tmp_path), build(tmp_path, file="again.fmu")
    assert first.read_bytes() == second.read_bytes()
    monkeypatch.setenv(VARIABLE, "1700000000")
    dated, again = build(tmp_path, file="dated.fmu"), build(tmp_path, file="dated_again.fmu")
    assert dated.read_bytes() == again.read_bytes()
    plain, with_date = members(first), members(dated)
    date = b' generationDateAndTime="2023-11-14T22:13:20Z"'
    assert date in with_date["modelDescription.xml"]
    with_date["modelDescription.xml"] = with_date["modelDescription.xml"].replace(date, b"")
    assert with_date == plain  # the GUID, the library, the documentation
    assert validate_fmu(str(dated)) == []
    assert read_model_description(dated).generationDateAndTime == "2023-11-14T22:13:20Z"
    request = BuildRequest("T.Lag", (tmp_path / "T.mo",), dated)
    assert not is_stale(first, request, EmbeddedCompiler())
    assert not is_stale(dated, request, EmbeddedCompiler())


@pytest.mark.usefixtures("tools")
def test_an_fmu_has_documentation_icon_and_terminals(tmp_path: Path) -> None:
    found = members(build(tmp_path))
    assert validate_fmu(str(tmp_path / "m.fmu")) == []
    page = found["documentation/index.html"].decode()
    assert "A lag &amp; more." in page
    assert "alert" not in page
    assert "<td>time constant</td>" in page
    assert found["model.png"] == found["terminalsAndIcons/icon.png"]
    assert b'variableName="u"' in found[XML]
    assert found["terminalsAndIcons/connector1.png"].startswith(b"\x89PNG")


@pytest.mark.usefixtures("tools")
def test_fmi_3_has_no_model_png_and_arrays_in_terminals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "1700000000")
    found = members(build(tmp_path, "T.Two", fmi="3.0"))
    assert validate_fmu(str(tmp_path / "m.fmu")) == []
    assert b'generationDateAndTime="2023-11-14T22:13:20Z"' in found["modelDescription.xml"]
    assert "model.png" not in found
    assert "terminalsAndIcons/icon.png" in found
    assert b'<TerminalMemberVariable variableName="u" ' in found[XML]


@pytest.mark.usefixtures("tools")
def test_a_class_without_annotations_has_a_page_and_nothing_else(tmp_path: Path) -> None:
    found = members(build(tmp_path, "T.Plain"))
    assert "documentation/index.html" in found
    assert [n for n in found if n.endswith(".png") or n.startswith("terminals")] == []
    assert validate_fmu(str(tmp_path / "m.fmu")) == []


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("", None),
        ("0", "1970-01-01T00:00:00Z"),
        (" 1000000000\n", "2001-09-09T01:46:40Z"),
        ("253402300799", "9999-12-31T23:59:59Z"),
    ],
)
def test_the_date_is_in_utc(text: str, date: str | None) -> None:
    assert generation_date({VARIABLE: text}) == date
    assert generation_date({}) is None


@pytest.mark.parametrize(
    "text", ["yesterday", "-1", "1.5", "1e9", "253402300800", "١٢", "9" * 5000]
)
def test_what_is_not_a_number_of_seconds_is_refused(text: str) -> None:
    with pytest.raises(CompilationError, match=VARIABLE) as caught:
        generation_date({VARIABLE: text})
    assert caught.value.hint is not None
    assert "unset" in caught.value.hint
    assert len(str(caught.value)) < 300
