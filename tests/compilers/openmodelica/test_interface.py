"""What stayed settable, from the descriptions of two real FMUs."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from fmident.compilers.openmodelica.result import (
    calculated_from,
    frozen_note,
    frozen_parameters,
    integration_notes,
)
from fmident.fmu import ModelDescription
from fmident.fmu.model_description.description import Capabilities
from fmident.fmu.model_description.description_xml import parse_description


@pytest.fixture(params=["Good", "Wrapper"])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def load(recorded, name: str):
    xml = (recorded.RECORDED / f"{name}.modelDescription.xml").read_bytes()
    return parse_description(xml, file=name), calculated_from(ElementTree.fromstring(xml))


def test_dependencies(recorded) -> None:
    assert load(recorded, "Good")[1] == {"frozen": (), "k2": ("k",), "omega0": ("k", "m")}
    assert load(recorded, "Wrapper")[1] == {"first.J": ("Jtop",)}


def test_reasons(recorded) -> None:
    description, sources = load(recorded, "Good")
    frozen = frozen_parameters(description, sources)
    assert frozen == {
        "frozen": "evaluated when the FMU was built (final, Evaluate=true, or structural)",
        "k2": "calculated from 'k' by its declaration",
        "omega0": "calculated from 'k', 'm' by its declaration",
    }
    assert frozen_parameters(description)["k2"] == "calculated from other parameters"
    description, sources = load(recorded, "Wrapper")
    assert frozen_parameters(description, sources) == {
        "first.J": "calculated from 'Jtop' by a modifier of the component"
    }


def test_note_is_on_the_top_level_only(recorded) -> None:
    assert frozen_note(*load(recorded, "Wrapper")) is None
    note = frozen_note(*load(recorded, "Good"))
    assert note is not None
    assert "'omega0': calculated from 'k', 'm'" in note.message


@pytest.mark.parametrize(
    ("indicators", "rule", "text"),
    [(0, "fixed-tolerance", "tolerance 1e-07"), (2, "late-events", "2 event indicator(s)")],
)
def test_what_is_fixed_with_the_export(indicators: int, rule: str, text: str) -> None:
    parts = tuple(Capabilities(kind) for kind in ("co-simulation", "model-exchange"))
    tool = "OpenModelica Compiler v1.26.9-cmake"
    description = ModelDescription(
        "M", "g", "2.0", "M", (), tool, default_tolerance=1e-7, interfaces=parts,
        capabilities=parts[0], state_count=1, indicator_count=indicators,
    ).with_interface("auto")  # fmt: skip
    (note,) = integration_notes(description)
    assert (note.severity, note.rule) == ("note", rule)
    assert text in note.message
