"""Which interface is taken where an FMU has both, and which tolerance is fixed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fmident.fmu import ModelDescription, SimulationSetup, open_fmu, read_description
from fmident.fmu.model_description.description import InterfaceChoice
from fmident.fmu.model_description.description_xml import parse_description
from fmident.fmu.model_description.variables import array_name, element_name, structured_name
from fmident.validation import plan_fmu
from fmident.validation.bench import Bench
from fmident.validation.checks.model_exchange import check_model_exchange

from .exchange import build_both, build_twin
from .test_model_exchange import BALL

OPENMODELICA = "OpenModelica Compiler v1.26.9-cmake"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("both")


@pytest.fixture(scope="module")
def ball(folder: Path) -> Path:
    """A ball whose Co-Simulation sees bounces at communication points, as OpenModelica's do."""
    return build_both(BALL, "late_ball.c", folder, tool=OPENMODELICA)


def height(fmu: Path, interface: InterfaceChoice = "auto") -> float:
    """Return the height at 0.8 s, after one bounce, simulated in steps of 10 ms."""
    setup = SimulationSetup(np.linspace(0.0, 0.8, 81), (), None, ("h",))
    with open_fmu(fmu) as opened, opened.simulator(interface=interface) as simulator:
        return float(simulator.simulate(setup)[-1, 0])


def exact() -> float:
    flight = np.sqrt(2.0 / 9.81)
    rest = 0.8 - flight
    return float(0.8 * 9.81 * flight * rest - 0.5 * 9.81 * rest**2)


def test_events_of_openmodelica_are_seen_by_our_integrator(ball: Path) -> None:
    description = read_description(ball)
    assert description.capabilities.kind == "model-exchange"
    assert description.sees_events_late
    assert height(ball) == pytest.approx(exact(), abs=1e-6)
    assert abs(height(ball, "co-simulation") - exact()) > 1e-3


def test_other_tools_are_simulated_as_before(folder: Path) -> None:
    """Event indicators alone say nothing of how a Co-Simulation handles events."""
    other = build_both(BALL, "late_ball.c", folder, tool="Other Tool 1.0")
    description = read_description(other)
    assert description.indicator_count == 1
    assert description.capabilities.kind == "co-simulation"
    assert height(other) == height(other, "co-simulation")


def test_without_events_openmodelica_is_simulated_as_co_simulation(folder: Path) -> None:
    description = read_description(build_twin(folder, tool=OPENMODELICA))
    assert description.indicator_count == 0
    assert description.capabilities.kind == "co-simulation"


def test_the_check_reports_what_the_other_interface_does(ball: Path) -> None:
    with Bench(plan_fmu(ball)) as bench:
        check = check_model_exchange(bench)
    assert check.passed, check.detail
    assert "simulated as Model Exchange" in check.detail
    assert "its Co-Simulation, which sees events at communication points only, is off by" in (
        check.detail
    )


def description_of(tool: str, experiment: str, version: str = "2.0") -> ModelDescription:
    """Return the description of an FMU with one state and both interfaces."""
    if version == "2.0":
        text = (
            f'<fmiModelDescription fmiVersion="2.0" modelName="M" guid="g" generationTool="{tool}"'
            ' numberOfEventIndicators="0"><ModelExchange modelIdentifier="M"/>'
            f'<CoSimulation modelIdentifier="M"/>{experiment}<ModelVariables>'
            '<ScalarVariable name="x" valueReference="0"><Real/></ScalarVariable>'
            '<ScalarVariable name="der(x)" valueReference="1"><Real derivative="1"/>'
            "</ScalarVariable></ModelVariables><ModelStructure><Derivatives>"
            '<Unknown index="2"/></Derivatives></ModelStructure></fmiModelDescription>'
        )
    else:
        text = (
            f'<fmiModelDescription fmiVersion="3.0" modelName="M" instantiationToken="g"'
            f' generationTool="{tool}"><ModelExchange modelIdentifier="M"/>'
            f'<CoSimulation modelIdentifier="M"/>{experiment}<ModelVariables>'
            '<Float64 name="x" valueReference="0"/>'
            '<Float64 name="der(x)" valueReference="1" derivative="0"/></ModelVariables>'
            '<ModelStructure><ContinuousStateDerivative valueReference="1"/>'
            '<EventIndicator valueReference="0"/></ModelStructure></fmiModelDescription>'
        )
    return parse_description(text.encode(), file="x.fmu")


def test_the_tolerance_that_is_fixed_in_an_fmu() -> None:
    given = '<DefaultExperiment tolerance="1e-9"/>'
    assert description_of(OPENMODELICA, given).fixed_tolerance == 1e-9
    assert description_of(OPENMODELICA, "").fixed_tolerance == 1e-6
    assert description_of("Other", given).fixed_tolerance is None
    chosen = description_of(OPENMODELICA, given).with_interface("model-exchange")
    assert chosen.fixed_tolerance is None


def test_the_choice_with_fmi_3() -> None:
    assert description_of(OPENMODELICA, "", "3.0").capabilities.kind == "model-exchange"
    assert description_of("Other", "", "3.0").capabilities.kind == "co-simulation"


@pytest.mark.parametrize(
    ("name", "legal"),
    [
        ("der(der(x))", "der(x,2)"),
        ("der(der(der(a.b[1])))", "der(a.b[1],3)"),
        ("der(x)", "der(x)"),
        ("der(x,2)", "der(x,2)"),
        ("border(x)", "border(x)"),
    ],
)
def test_names_of_higher_derivatives(name: str, legal: str) -> None:
    assert structured_name(name) == legal


@pytest.mark.parametrize(
    ("array", "index", "element"),
    [
        ("x", [2], "x[2]"),
        ("a[3].M", [1, 4], "a[3].M[1,4]"),
        ("der(x)", [2], "der(x[2])"),
        ("der(a[3].v)", [1], "der(a[3].v[1])"),
        ("border(x)", [2], "border(x)[2]"),
    ],
)
def test_names_of_elements_and_of_their_array(array: str, index: list[int], element: str) -> None:
    assert element_name(array, index) == element
    assert array_name(element) == array


@pytest.mark.parametrize("name", ["x", "der(x)", "a[1].b", "der(a[1].b)"])
def test_a_scalar_is_no_element(name: str) -> None:
    assert array_name(name) == name
