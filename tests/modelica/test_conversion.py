"""Models of the libraries before version 1.0, converted by the library's own scripts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conversion import converted, names_of, read_rules
from machines import LIBRARY

from fmident.compilers.base import BuildRequest
from fmident.compilers.embedded import EmbeddedCompiler
from fmident.compilers.embedded.standard_library import stand_in
from fmident.compilers.sources import read_tree

SCRIPTS = LIBRARY / "Resources" / "Scripts"
OLD = Path(__file__).parent / "library" / "BeforeOne" / "package.mo"
OLDEST = """\
model Oldest "Names of Mechanisms 0.2.0 and MechanismsMSL 0.2.0"
  Mechanisms.DriveTrains.SlideWithLuGreFriction slide(Fc=2, sigma2=0.5, u=0) "Slide";
  MechanismsMSL.DriveTrains.SlideWithLuGreFriction other(u=0, Fs=3) "Slide";
  Mechanisms.Units.Force load = Mechanisms.Friction.Functions.smoothCoulomb(slide.v, 2, 1e-3);
end Oldest;
"""


@pytest.fixture(scope="module")
def modern() -> tuple[str, list[str]]:
    return converted(OLD.read_text(), read_rules(SCRIPTS / "ConvertFromMechanisms_0.4.0.mos"))


def unknown(text: str) -> set[str]:
    """Names of the libraries in a text that are none of their classes."""
    known = {*read_tree(LIBRARY).classes, *stand_in().classes}
    names = {name.full for name in names_of(text, ["Mechanisms", "MechanismsMSL", "Modelica"])}
    return names - known


def test_converted_models_name_classes_of_the_library(modern: tuple[str, list[str]]) -> None:
    text, _ = modern
    assert "MechanismsMSL" not in {
        n.full.partition(".")[0] for n in names_of(text, ["MechanismsMSL"])
    }
    assert "Mechanisms.FMUs." in text
    assert unknown(text) == {"Modelica.Units.SI.FirstMoment"}  # a message says so


def test_what_is_left_to_the_user_is_said(modern: tuple[str, list[str]]) -> None:
    _, messages = modern
    assert [m.partition(":")[0] for m in messages] == ["Mechanisms.Units.FirstMoment"]


def test_modifiers_without_a_counterpart_leave(modern: tuple[str, list[str]]) -> None:
    text, _ = modern
    assert "barDistance" not in text
    assert text.count("platformMass=1.2") == 3


def test_the_oldest_names_lead_to_those_of_today() -> None:
    text = OLDEST
    for version in ("0.2.0", "0.4.0"):
        text, messages = converted(
            text, read_rules(SCRIPTS / f"ConvertFromMechanisms_{version}.mos")
        )
        assert messages == []
    slide = "Mechanisms.FMUs.SlideWithLuGreFriction"
    assert f"{slide} slide(coulombForce=2, viscousFriction=0.5, u=0)" in text
    assert f"{slide} other(u=0, staticForce=3)" in text
    assert unknown(text) == set()


@pytest.mark.parametrize(
    "name", ["Oscillator", "Drives", "Loop", "Robots", "Linkage", "Brake", "Bearing"]
)
def test_converted_models_build(modern: tuple[str, list[str]], tmp_path: Path, name: str) -> None:
    place = tmp_path / "BeforeOne.mo"
    place.write_text(modern[0])
    fmu = tmp_path / "model.fmu"
    EmbeddedCompiler().build(BuildRequest(f"BeforeOne.{name}", (place, LIBRARY), fmu))
    assert fmu.is_file()


def test_each_rule_names_a_class_of_the_library() -> None:
    """Or one of the standard library, where the library has its own no longer."""
    rules = read_rules(SCRIPTS / "ConvertFromMechanisms_0.4.0.mos")
    assert unknown("\n".join(f"x = {name};" for name in rules.classes.classes.values())) == set()
    classes = re.compile(r"Mechanisms(?:\.\w+)+")
    named = {name for text in rules.messages.values() for name in classes.findall(text)}
    assert named - set(read_tree(LIBRARY).classes) == set()


def test_scripts_are_those_of_the_annotation() -> None:
    text = (LIBRARY / "package.mo").read_text()
    assert re.search(r'version=\{"0\.1\.0", ?"0\.2\.0"\}, to="0\.4\.0",', text)
    named = re.findall(r"modelica://Mechanisms/Resources/Scripts/(\w+[\d.]+\.mos)", text)
    assert sorted(named) == sorted(file.name for file in SCRIPTS.iterdir())
