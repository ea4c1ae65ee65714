"""The documentation in an FMU, its date, and the same bytes for the same sources."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fmpy import read_model_description
from fmpy.validation import validate_fmu

from fmident.compilers.base import BuildRequest
from fmident.compilers.embedded.backend.documentation import page
from fmident.compilers.embedded.backend.fmu import (
    DATE_VARIABLE,
    generation_date,
)
from fmident.compilers.embedded.compiler import EmbeddedCompiler
from fmident.compilers.platforms import is_stale
from fmident.errors import CompilationError

from .conftest import oscillator

LAG = """
package T "a package"
  model Lag "first order"
    parameter Real T(unit="s", min=0) = 2 "time constant";
    input Real u;
    output Real y(start=0, fixed=true) "answer";
  equation
    T*der(y) = u - y;
  end Lag;
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
    monkeypatch.delenv(DATE_VARIABLE, raising=False)
    first, second = build(tmp_path), build(tmp_path, file="again.fmu")
    assert first.read_bytes() == second.read_bytes()
    monkeypatch.setenv(DATE_VARIABLE, "1700000000")
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
@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_an_fmu_has_a_page_on_its_variables(tmp_path: Path, fmi: str) -> None:
    found = members(build(tmp_path, fmi=fmi))
    assert validate_fmu(str(tmp_path / "m.fmu")) == []
    page = found["documentation/index.html"].decode()
    assert "<p>first order</p>" in page
    assert "<td>time constant</td>" in page
    assert [name for name in found if name.endswith((".png", ".svg"))] == []


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
    assert generation_date({DATE_VARIABLE: text}) == date
    assert generation_date({}) is None


@pytest.mark.parametrize(
    "text", ["yesterday", "-1", "1.5", "1e9", "253402300800", "١٢", "9" * 5000]
)
def test_what_is_not_a_number_of_seconds_is_refused(text: str) -> None:
    with pytest.raises(CompilationError, match=DATE_VARIABLE) as caught:
        generation_date({DATE_VARIABLE: text})
    assert caught.value.hint is not None
    assert "unset" in caught.value.hint
    assert len(str(caught.value)) < 300


def test_a_page_has_the_variables_with_units_and_limits() -> None:
    text = page(oscillator())
    root = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    rows = [
        [td.findtext("code") or td.text or "" for td in tr.iter("td")] for tr in root.iter("tr")
    ]
    assert ["m", "2", "kg", "0 or more", ""] in rows
    assert ["f", "N", "", ""] in rows
    assert ["acceleration", "m/s2", "", ""] in rows
    assert ["s", "m", "", "Position"] in rows  # a state
    assert 'Mass & <spring> with "damper"' in [p.text for p in root.iter("p")]
    assert "https://" not in text
    policy = [m.get("content", "") for m in root.iter("meta") if m.get("http-equiv")]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_characters_that_xml_cannot_hold_are_left_out() -> None:
    text = page(replace(oscillator(), description="a\x00b\x1bc"))
    root = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    assert "abc" in [p.text for p in root.iter("p")]
