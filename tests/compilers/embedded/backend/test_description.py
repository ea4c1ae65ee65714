"""The model description and the archive."""

from __future__ import annotations

import dataclasses
import zipfile
from pathlib import Path

import pytest
from fmpy import read_model_description
from fmpy.validation import validate_fmu

from fmident.compilers.embedded.backend.codegen import c_string
from fmident.compilers.embedded.backend.description import model_identifier
from fmident.compilers.embedded.backend.fmu import build_fmu
from fmident.compilers.embedded.backend.layout import make_layout
from fmident.errors import Code, CompilationError
from fmident.fmu import read_description
from fmident.fmu.model_description.description import FrozenParameter

from ....refused import refused
from .conftest import MODELS, Builder, make_model, oscillator, variable

pytestmark = pytest.mark.slow  # many builds or whole runs


@pytest.mark.parametrize("name", MODELS)
def test_fmpy_finds_nothing_wrong(fmus: Builder, name: str) -> None:
    assert validate_fmu(str(fmus.path(name))) == []


def test_attributes_of_every_kind(fmus: Builder) -> None:
    description = read_model_description(str(fmus.path("oscillator")))
    found = {
        v.name: (v.causality, v.variability, v.initial, v.start) for v in description.modelVariables
    }
    assert found == {
        "s": ("output", "continuous", "exact", "0.1"),
        "v": ("local", "continuous", "exact", "0.0"),
        "der(s)": ("local", "continuous", "calculated", None),
        "der(v)": ("local", "continuous", "calculated", None),
        "f": ("input", "continuous", "exact", "0.0"),
        "acceleration": ("output", "continuous", "calculated", None),
        "m": ("parameter", "tunable", "exact", "2.0"),
        "k": ("parameter", "tunable", "exact", "50.0"),
        "d": ("parameter", "tunable", "exact", "1.5"),
        "omega": ("calculatedParameter", "tunable", "calculated", None),
        "two": ("local", "constant", "exact", "2.0"),
        "energy": ("local", "continuous", "calculated", None),
    }
    derivatives = {
        v.name: v.derivative.name for v in description.modelVariables if v.derivative is not None
    }
    assert derivatives == {"der(s)": "s", "der(v)": "v"}
    assert description.description == 'Mass & <spring> with "damper"'
    by_name = {v.name: v for v in description.modelVariables}
    assert by_name["m"].min == "0.0"
    assert by_name["m"].unit == "kg"
    assert by_name["s"].description == "Position"


def test_frozen_parameters_reach_the_host(tmp_path: Path) -> None:
    frozen = FrozenParameter('it is "odd" & <fixed>', "leave it")
    model = dataclasses.replace(oscillator(), frozen={"n": frozen, "m": frozen})
    build_fmu(model, tmp_path / "m.fmu", generation_tool="test")
    assert validate_fmu(str(tmp_path / "m.fmu")) == []
    description = read_description(tmp_path / "m.fmu")
    assert description.frozen == {"n": frozen, "m": frozen}
    assert description.why_not_settable("n") == ('it is "odd" & <fixed>', "leave it")
    assert description.why_not_settable("m") is None
    assert description.why_not_settable("nothing") is None


def test_capabilities_and_default_experiment(fmus: Builder) -> None:
    description = read_model_description(str(fmus.path("oscillator")))
    slave = description.coSimulation
    assert description.fmiVersion == "2.0"
    assert slave.canInterpolateInputs
    assert slave.canHandleVariableCommunicationStepSize
    assert slave.canGetAndSetFMUstate
    assert slave.canSerializeFMUstate
    assert slave.providesDirectionalDerivative
    assert slave.canNotUseMemoryManagementFunctions
    assert not slave.canBeInstantiatedOnlyOncePerProcess
    assert not slave.needsExecutionTool
    assert description.variableNamingConvention == "structured"
    experiment = description.defaultExperiment
    assert (experiment.startTime, experiment.stopTime) == ("0.0", "10.0")
    assert (experiment.tolerance, experiment.stepSize) == ("1e-06", "0.01")


def test_structure_names_what_depends_on_what(fmus: Builder) -> None:
    description = read_model_description(str(fmus.path("pendulum")))

    def rows(unknowns: list[object]) -> dict[str, set[str]]:
        return {
            u.variable.name: {d.name for d in u.dependencies}  # type: ignore[attr-defined]
            for u in unknowns
        }

    assert rows(description.outputs) == {"phi": {"phi"}, "power": {"w", "tau"}}
    assert rows(description.derivatives) == {
        "der(phi)": {"w"},
        "der(w)": {"phi", "w", "tau"},
    }
    assert rows(description.initialUnknowns) == {
        "phi": {"tau"},
        "w": {"w0"},
        "der(phi)": {"w0"},
        "der(w)": {"tau", "w0", "l"},
        "power": {"tau", "w0"},
        "a": {"l"},
    }


def test_states_whose_start_is_calculated_have_no_start_value(fmus: Builder) -> None:
    description = read_model_description(str(fmus.path("pendulum")))
    by_name = {v.name: v for v in description.modelVariables}
    assert (by_name["w"].initial, by_name["w"].start) == ("calculated", None)


def test_units_carry_their_base_unit(fmus: Builder) -> None:
    description = read_model_description(str(fmus.path("oscillator")))
    units = {u.name: u.baseUnit for u in description.unitDefinitions}
    newton = units["N"]
    assert (newton.kg, newton.m, newton.s, newton.factor) == (1, 1, -2, 1.0)
    damping = units["N.s/m"]
    assert (damping.kg, damping.m, damping.s) == (1, 0, -1)


@pytest.mark.usefixtures("tools")
def test_display_units_and_units_that_cannot_be_read(tmp_path: Path) -> None:
    model = make_model(
        "Test.Units",
        inputs=[
            variable("phi", "input", 0.0, unit="rad", display_unit="deg"),
            variable("temperature", "input", 0.0, unit="K", display_unit="degC"),
            variable("odd", "input", 0.0, unit="furlong", display_unit="m"),
            variable("force", "input", 0.0, unit="N", display_unit="m"),
        ],
        outputs=[variable("y", "output")],
        y=lambda t, x, u, p, c: [u[0]],
    )
    fmu = tmp_path / "units.fmu"
    build_fmu(model, fmu, generation_tool="test")
    assert validate_fmu(str(fmu)) == []
    description = read_model_description(str(fmu))
    units = {u.name: u for u in description.unitDefinitions}
    (degree,) = units["rad"].displayUnits
    assert degree.name == "deg"
    assert degree.factor == pytest.approx(57.29577951308232)
    (celsius,) = units["K"].displayUnits
    assert [celsius.factor, celsius.offset] == pytest.approx([1.0, -273.15])
    assert units["furlong"].baseUnit is None
    shown = {v.name: v.displayUnit for v in description.modelVariables}
    assert shown["phi"] == "deg"
    assert shown["odd"] is None
    assert shown["force"] is None


@pytest.mark.usefixtures("tools")
def test_names_with_markup_characters_stay_what_they_are(tmp_path: Path) -> None:
    model = make_model(
        "Test.Quoted",
        inputs=[variable("'a<b>&\"c\"'", "input", 0.0, unit="m")],
        outputs=[variable("y", "output")],
        y=lambda t, x, u, p, c: [u[0]],
    )
    fmu = tmp_path / "quoted.fmu"
    build_fmu(model, fmu, generation_tool="test")
    description = read_model_description(str(fmu))
    assert {v.name for v in description.modelVariables} == {"'a<b>&\"c\"'", "y"}


@pytest.mark.usefixtures("tools")
def test_same_model_same_bytes(tmp_path: Path) -> None:
    paths = [tmp_path / "one" / "a.fmu", tmp_path / "two" / "b.fmu"]
    for path in paths:
        build_fmu(oscillator(), path, generation_tool="test", resources={"x.json": b"{}"})
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with zipfile.ZipFile(paths[0]) as archive:
        for name in archive.namelist():
            assert b"fmident-scratch-" not in archive.read(name), name  # the temporary folder


@pytest.mark.usefixtures("tools")
def test_the_guid_follows_the_content(tmp_path: Path) -> None:
    guids = set()
    for number, tolerance in enumerate((1e-6, 1e-8)):
        path = tmp_path / f"{number}.fmu"
        build_fmu(oscillator(), path, generation_tool="test", tolerance=tolerance)
        description = read_model_description(str(path))
        assert description.defaultExperiment.tolerance == repr(tolerance)
        guids.add(description.guid)
    assert len(guids) == 2


def test_parameter_without_a_value_is_refused() -> None:
    model = make_model(
        "Test.Valueless",
        parameters=[variable("k", "parameter")],
        outputs=[variable("y", "output")],
        y=lambda t, x, u, p, c: [p[0]],
    )
    with refused(Code.COMPILATION_FAILED, CompilationError, match="'k'"):
        make_layout(model)


def test_one_name_for_two_variables_is_refused() -> None:
    model = make_model(
        "Test.Twice",
        inputs=[variable("y", "input")],
        outputs=[variable("y", "output")],
        y=lambda t, x, u, p, c: [u[0]],
    )
    with refused(Code.COMPILATION_FAILED, CompilationError, match=r"'Test\.Twice'.*'y'"):
        make_layout(model)


@pytest.mark.parametrize(
    ("name", "identifier"),
    [("A.B.C", "A_B_C"), ("A.'x y'", "A__x_y_"), ("'1'", "m__1_")],
)
def test_identifier_of_the_binary(name: str, identifier: str) -> None:
    assert model_identifier(name) == identifier


def test_c_strings_hold_any_text() -> None:
    assert c_string('a"b\\c?\nµ') == r'"a\042b\134c\077\012\302\265"'


def test_an_fmu_carries_the_licences_of_what_is_in_it(fmus: Builder, tmp_path: Path) -> None:
    folder = "documentation/licenses/"

    def licences(fmu: Path) -> dict[str, str]:
        with zipfile.ZipFile(fmu) as archive:
            names = (n for n in archive.namelist() if n.startswith(folder))
            return {n.removeprefix(folder): archive.read(n).decode() for n in names}

    alone = licences(fmus.path("oscillator"))
    assert set(alone) == {"license.txt", "fmident-LICENSE.txt"}
    assert "Apache-2.0" in alone["license.txt"]
    assert "SUNDIALS" not in alone["license.txt"]
    with_cvode = tmp_path / "cvode.fmu"
    build_fmu(oscillator(), with_cvode, generation_tool="test", integrator="cvode")
    found = licences(with_cvode)
    names = {"SUNDIALS-LICENSE.txt", "SUNDIALS-NOTICE.txt"}
    assert set(found) == {*alone, *names}
    assert all(f"- {name}" in found["license.txt"] for name in names)
