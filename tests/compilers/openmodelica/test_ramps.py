"""Wrappers: their text, compiled by the embedded compiler; their description; their effect.

The embedded compiler interpolates inputs linearly. So the same class, plain with linear
inputs and wrapped with ramps, must give the same trajectories: that proves the wrapper's
text, the renaming and the annotation that the engine reads, without OpenModelica.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
import pytest

from fmident.compilers.openmodelica.result import check_fmu, deliver, read_root
from fmident.compilers.openmodelica.wrapper import (
    EXPORT,
    RAMP,
    Experiment,
    RampPlan,
    Signal,
    default_experiment,
    export_text,
    fixed_names,
    hide_wrapper,
    lost_interface,
    plan_ramps,
    ramp_text,
    without_false_claims,
)
from fmident.errors import CompilationError
from fmident.fmu import SimulationSetup, open_fmu, read_description

from ...kept import library_fmu

pytestmark = pytest.mark.slow  # builds or starts processes throughout

MECHANISMS = Path(__file__).parents[3] / "modelica" / "Mechanisms"
SLIDE = "Mechanisms.FMUs.SlideWithLuGreFriction"
TRIPOD = "Mechanisms.FMUs.Tripod"
EMBEDDED = pytest.importorskip("fmident.compilers.embedded")


def describe(variables: Sequence[str], structure: str = "") -> Element:
    return ElementTree.fromstring(
        '<fmiModelDescription modelName="M"><CoSimulation/>'
        '<DefaultExperiment startTime="0" stopTime="5" tolerance="1e-9" stepSize="0.001"/>'
        f"<ModelVariables>{''.join(variables)}</ModelVariables>"
        f"<ModelStructure>{structure}</ModelStructure></fmiModelDescription>"
    )


def scalar(name: str, causality: str = "local", kind: str = "Real", **attributes: str) -> str:
    text = " ".join(f'{k}="{v}"' for k, v in attributes.items())
    return (
        f'<ScalarVariable name="{name}" causality="{causality}"><{kind} {text}/></ScalarVariable>'
    )


STATE = scalar("der(x)", derivative="1")


def test_plan_of_a_recorded_description(recorded) -> None:
    root = ElementTree.parse(recorded.RECORDED / "Good.modelDescription.xml").getroot()
    assert plan_ramps(root) == RampPlan(
        (Signal("F", "Real", "0.0"),), (), (Signal("v", "Real"), Signal("x", "Real"))
    )
    assert default_experiment(root) == Experiment(0.0, 1.0, 1e-8, 0.001)


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ([scalar("u", "input")], "there are no states"),
        ([STATE, scalar("y", "output")], "there is no Real input"),
        ([STATE, scalar("n", "input", "Integer")], "there is no Real input"),
        ([STATE, scalar("u", "input"), scalar("s", "output", "String")], "'s' is of type String"),
    ],
)
def test_where_there_are_no_ramps(variables: list[str], reason: str) -> None:
    plan = plan_ramps(describe(variables))
    assert isinstance(plan, str)
    assert reason in plan


def test_text_of_a_wrapper() -> None:
    plan = RampPlan(
        (Signal("q[1]", "Real", "0.5"), Signal("q[2]", "Real")),
        (Signal("on", "Boolean", "true"),),
        (Signal("tau[1]", "Real"), Signal("mode", "Integer")),
    )
    assert ramp_text("A.B", plan, Experiment(0.0, 2.0, 1e-9, 0.1), 'Say "B"') == "\n".join(
        [
            'model fmident_ramp "Say \\"B\\""',
            "  A.B fmident_component;",
            "  input Real fmident_value[2](start={0.5, 0.0});",
            "  input Real fmident_slope[2](each start=0.0);",
            "  input Real fmident_time(start=0.0);",
            "  output Real fmident_outputReal[1];",
            "  output Integer fmident_outputInteger[1];",
            "  input Boolean fmident_heldBoolean[1](start={true});",
            "equation",
            "  fmident_component.q[1] = fmident_value[1] + fmident_slope[1]*(time - fmident_time);",
            "  fmident_component.q[2] = fmident_value[2] + fmident_slope[2]*(time - fmident_time);",
            "  fmident_outputReal[1] = fmident_component.tau[1];",
            "  fmident_outputInteger[1] = fmident_component.mode;",
            "  fmident_component.on = fmident_heldBoolean[1];",
            "  annotation(experiment(StartTime=0.0, StopTime=2.0, Tolerance=1e-09, Interval=0.1));",
            "end fmident_ramp;",
            "",
        ]
    )
    names = fixed_names(plan)
    assert names["fmident_value[2]"] == "q[2]"
    assert names["fmident_slope[2]"] == "fmident.slope.q[2]"
    assert names["fmident_time"] == "fmident.referenceTime"
    assert names["fmident_heldBoolean[1]"] == "on"
    assert names["fmident_outputInteger[1]"] == "mode"


def test_text_with_a_modification() -> None:
    text = export_text("A.B", "redeclare model F = G", Experiment(), "")
    assert "  extends A.B(redeclare model F = G);\n" in text
    assert "  extends A.B;\n" in export_text("A.B", " ", Experiment(), "")


def test_names_inside_and_outside() -> None:
    """A state that is an output, its derivative, a parameter, an input seen inside."""
    plan = RampPlan((Signal("u", "Real", "0"),), (), (Signal("x", "Real"),))
    plain = describe(
        [
            scalar("_D_outputAlias_x", start="0"),
            scalar("der(_D_outputAlias_x)", derivative="1"),
            scalar("u", "input", start="0", unit="N"),
            scalar("x", "output", unit="m", nominal="1e-5"),
            scalar("m", "parameter", start="1"),
            scalar("part.J", "parameter", start="1"),
        ]
    )
    wrapped = describe(
        [
            scalar("fmident_component.x", start="0"),
            scalar("der(fmident_component.x)", derivative="1"),
            scalar("fmident_component.u"),
            scalar("fmident_component.m", "parameter", start="1"),
            scalar("fmident_component.part.J", "parameter", start="1"),
            scalar("fmident_value[1]", "input", start="0"),
            scalar("fmident_slope[1]", "input", start="0"),
            scalar("fmident_time", "input", start="0"),
            scalar("fmident_outputReal[1]", "output"),
        ]
    )
    root = hide_wrapper(wrapped, plain, plan)
    names = [v.get("name") for v in root.iter("ScalarVariable")]
    assert names == [
        "_D_outputAlias_x",
        "der(_D_outputAlias_x)",
        "fmident.component.u",
        "m",
        "part.J",
        "u",
        "fmident.slope.u",
        "fmident.referenceTime",
        "x",
    ]
    by_name = {v.get("name"): v for v in root.iter("ScalarVariable")}
    assert by_name["x"][0].attrib == {"unit": "m", "nominal": "1e-5"}
    assert by_name["u"][0].attrib == {"start": "0", "unit": "N"}
    assert wrapped[2][0].get("name") == "fmident_component.x"  # the argument is left alone
    order = [child.tag for child in root]
    assert order.index("VendorAnnotations") == order.index("ModelVariables") - 1


def test_an_interface_that_changes_is_refused() -> None:
    plan = RampPlan((Signal("u", "Real"),), (), ())
    plain = describe([scalar("u", "input"), scalar("m", "parameter"), scalar("k", "parameter")])
    wrapped = describe(
        [scalar("fmident_value[1]", "input"), scalar("fmident_component.m", "calculatedParameter")]
    )
    with pytest.raises(CompilationError) as caught:
        hide_wrapper(wrapped, plain, plan)
    assert "parameter 'm' has become calculatedParameter" in caught.value.message
    assert "parameter 'k' is missing" in caught.value.message
    assert lost_interface(plain, plain) == []


def wrap(name: str, folder: Path) -> tuple[Path, Path]:
    """Build a class plain and with ramps; return both FMUs."""
    plain = library_fmu(EMBEDDED.EmbeddedCompiler(), name, (MECHANISMS,))
    plan = plan_ramps(read_root(plain))
    assert isinstance(plan, RampPlan)
    source = folder / f"{RAMP}.mo"
    source.write_text(ramp_text(name, plan, default_experiment(read_root(plain)), ""))
    inner = library_fmu(EMBEDDED.EmbeddedCompiler(), RAMP, (source, MECHANISMS))
    ramped = folder / "ramped.fmu"
    deliver(inner, ramped, hide_wrapper(read_root(inner), read_root(plain), plan), b"{}")
    return plain, ramped


@pytest.mark.slow
def test_ramps_do_what_linear_interpolation_does(tmp_path: Path) -> None:
    plain, ramped = wrap(SLIDE, tmp_path)
    times = np.linspace(0.0, 1.0, 201)  # 5 ms: held inputs are far off
    u = 1.7 * np.sin(5 * times) + 0.15 * np.sin(23 * times)
    outputs = ("x", "v", "a", "frictionForce")
    with open_fmu(plain) as fmu, fmu.simulator() as simulator:
        results = {
            way: simulator.simulate(
                SimulationSetup(times, ("u",), u[:, None], outputs, {}, 1e-9, way)
            )
            for way in ("linear", "hold")
        }
    setup = SimulationSetup(times, ("u",), u[:, None], outputs, {}, 1e-9)
    with open_fmu(ramped) as fmu, fmu.simulator() as simulator:
        ramps = simulator.simulate(setup)
    with open_fmu(ramped) as fmu, fmu.simulator() as simulator:
        held = simulator.simulate(
            SimulationSetup(times, ("u",), u[:, None], outputs, {}, 1e-9, "hold")
        )
    span = np.ptp(results["linear"], axis=0)
    assert np.max(np.abs(ramps - results["linear"]) / span) < 2e-5
    assert np.max(np.abs(held - results["hold"]) / span) < 2e-5
    assert np.max(np.abs(results["hold"] - results["linear"]) / span) > 1e-2


@pytest.mark.slow
def test_the_wrapped_fmu_is_valid_and_offers_the_same(tmp_path: Path) -> None:
    from fmpy.validation import validate_fmu

    plain, ramped = wrap(SLIDE, tmp_path)
    assert validate_fmu(str(ramped)) == []
    before, after = read_description(plain), read_description(ramped)
    assert after.name == before.name == SLIDE
    assert {v.name for v in before.settable_parameters} <= {
        v.name for v in after.settable_parameters
    }
    assert [v.name for v in after.outputs] == [v.name for v in before.outputs]
    assert [v.name for v in after.inputs] == [v.name for v in before.inputs]
    assert after.input_ramps is not None
    assert after.input_ramps.names == {"fmident.slope.u", "fmident.referenceTime"}
    assert after.variable("u").unit == before.variable("u").unit == "N"
    assert check_fmu(ramped, solver="", integrates=False) == []


@pytest.mark.slow
def test_parameters_inside_stay_settable(tmp_path: Path) -> None:
    plain, ramped = wrap(SLIDE, tmp_path)
    times = np.linspace(0.0, 0.2, 41)
    u = np.full((41, 1), 1.0)
    setup = SimulationSetup(times, ("u",), u, ("x", "frictionForce"), {"sigma0": 3e4}, 1e-9, "hold")
    results = []
    for file in (plain, ramped):
        with open_fmu(file) as fmu, fmu.simulator() as simulator:
            results.append(simulator.simulate(setup))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-6, atol=1e-12)


@pytest.mark.slow
def test_a_wrapper_for_arrays_of_inputs_compiles(tmp_path: Path) -> None:
    plain, ramped = wrap(TRIPOD, tmp_path)
    before, after = read_description(plain), read_description(ramped)
    assert [v.name for v in after.inputs if not v.name.startswith("fmident.")] == [
        v.name for v in before.inputs
    ]


@pytest.mark.slow
def test_the_wrapper_for_the_tolerance_compiles(tmp_path: Path) -> None:
    source = tmp_path / f"{EXPORT}.mo"
    source.write_text(export_text(SLIDE, "", Experiment(0.0, 3.0, 1e-11, 0.01), "Slide"))
    fmu = library_fmu(EMBEDDED.EmbeddedCompiler(), EXPORT, (source, MECHANISMS))
    description = read_description(fmu)
    assert description.default_tolerance == 1e-11
    plain = read_description(library_fmu(EMBEDDED.EmbeddedCompiler(), SLIDE, (MECHANISMS,)))
    assert {v.name for v in description.settable_parameters} == {
        v.name for v in plain.settable_parameters
    }


def test_a_description_claims_no_more_than_is_true() -> None:
    names = ["der(x)", "der(der(x))", "der(der(y))", "der(y,2)", "x"]
    wrapped = describe([scalar(name) for name in names])
    wrapped.insert(0, Element("ModelExchange", {"canBeInstantiatedOnlyOncePerProcess": "false"}))
    root = without_false_claims(wrapped)
    for kind in ("ModelExchange", "CoSimulation"):
        (part,) = root.iter(kind)
        assert part.get("canBeInstantiatedOnlyOncePerProcess") == "true"
    assert [v.get("name") for v in root.iter("ScalarVariable")] == [
        "der(x)",
        "der(x,2)",
        "der(der(y))",  # never two of one name
        "der(y,2)",
        "x",
    ]
    assert wrapped.find("CoSimulation").attrib == {}  # type: ignore[union-attr]  # a copy
