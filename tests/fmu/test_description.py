"""What the description says of variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmident.errors import Code, FmuError
from fmident.fmu import ModelDescription
from fmident.fmu.model_description.description_xml import parse_description

from ..refused import refused
from .build import Fixture, description, real, scalar

RECORDED = Path(__file__).parents[3] / "shared" / "openmodelica"


@pytest.fixture(scope="module")
def model() -> ModelDescription:
    variables = [
        real("mass", 1, "parameter", start=2.5, extra=' unit="kg" min="0" nominal="3"'),
        real("mass2", 2, "calculatedParameter"),
        real("g", 3, "local", start=9.81, variability="constant"),
        real("u", 4, "input", start=0),
        real("x", 5, "local", start=1, initial="exact"),
        real("guess", 6, "local", start=1, initial="approx"),
        real("y", 7, "output", extra=' declaredType="Length"'),
        real("final", 8, "local", variability="fixed"),
        real("t", 9, "independent"),
        scalar("Integer", "n", 1, "parameter", start=3),
        scalar("Boolean", "on", 1, "parameter", start="true"),
        scalar("String", "file", 1, "parameter", start="a.csv"),
        scalar("Enumeration", "mode", 2, "parameter", start=2),
    ]
    types = (
        '<TypeDefinitions><SimpleType name="Length"><Real unit="m" nominal="1e-6"/>'
        "</SimpleType></TypeDefinitions>"
    )
    fixture = Fixture(
        "m.c",
        "".join(variables),
        {"canInterpolateInputs": "true", "canGetAndSetFMUstate": "1"},
        extra=types,
        structure='<Outputs><Unknown index="7" dependencies="4 5"/></Outputs>',
        categories=("logStatusError",),
    )
    return parse_description(
        description(fixture, "m").encode(), file="m.xml", platforms=["linux64"]
    )


def test_attributes(model: ModelDescription) -> None:
    mass = model.variable("mass")
    assert (mass.start, mass.unit, mass.minimum, mass.maximum, mass.nominal) == (
        2.5,
        "kg",
        0,
        None,
        3,
    )
    y = model.variable("y")
    assert (y.unit, y.nominal, y.declared_type) == ("m", 1e-6, "Length")
    assert [v.start for v in model.parameters] == [2.5, None, 3, True, "a.csv", 2]
    assert [v.name for v in model.inputs] == ["u"]
    assert [v.name for v in model.outputs] == ["y"]
    assert model.can_interpolate_inputs
    assert model.can_get_and_set_state
    assert not model.only_once_per_process
    assert (model.default_start, model.default_stop) == (0.0, 2.0)
    assert (model.default_tolerance, model.default_step) == (1e-6, 0.1)
    assert model.output_dependencies == {"y": {"u", "x"}}
    assert model.platforms == ("linux64",)
    assert model.by_reference["r", 1] == "mass"
    assert model.by_reference["i", 2] == "mode"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("mass", None),
        ("n", None),
        ("on", None),
        ("file", None),
        ("mode", None),
        ("x", None),
        ("guess", None),
        ("mass2", "calculated from other parameters"),
        ("g", "constant"),
        ("u", "an input"),
        ("y", "calculated by the model"),
        ("final", "frozen when the FMU was built"),
        ("t", "the independent variable (time)"),
    ],
)
def test_why_a_variable_cannot_be_set(
    model: ModelDescription, name: str, reason: str | None
) -> None:
    assert model.variable(name).why_not_settable == reason
    assert model.variable(name).settable is (reason is None)


def test_an_unknown_name_is_answered_with_the_nearest(model: ModelDescription) -> None:
    with refused(Code.UNKNOWN_NAME, FmuError, match="'mas'") as caught:
        model.variable("mas")
    assert "'mass'" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Fc", "'Fc' is a symbol of 'coulombForce' (Coulomb friction force, Fc)"),
        ("Izz", "'Izz' is a symbol of 'inertia' (Moment of inertia about the axis (Izz))"),
        ("force", "nearest variable: 'coulombForce'"),  # a word of a text is not a symbol
        ("c_G", "nearest variable: 'c_g'"),
        ("toolStart", "nearest variable: 'toolPosition_start[1]', 'toolMass'"),
        ("toolStart[3]", "nearest variable: 'toolPosition_start[3]', 'toolMass'"),
        ("k", "'k' is a symbol of 'spring[1]' (Stiffness, k), 'c_g' (Gear stiffness, k)"),
        ("n", "known: 'c_g', 'coulombForce', 'inertia', 'p', 'q',"),  # too common for a symbol
        ("", "known: "),
        ("(", "known: "),
    ],
)
def test_an_unknown_name_may_be_a_symbol(name: str, hint: str) -> None:
    texts = {
        "coulombForce": "Coulomb friction force, Fc",
        "slide.friction.Fc": "Coulomb friction force, Fc",
        "inertia": "Moment of inertia about the axis (Izz)",
        "toolMass": "Mass of the tool, without its force",
        "spring[1]": "Stiffness, k",
        "spring[2]": "Stiffness, k",
        "c_g": "Gear stiffness, k",
        **{f"toolPosition_start[{k}]": "Where the tool starts" for k in (1, 2, 3)},
        **dict.fromkeys("pqrs", "One of many, n"),
    }
    variables = "".join(
        real(name, k, "parameter", start=0, description=text)
        for k, (name, text) in enumerate(texts.items(), 1)
    )
    fixture = Fixture("m.c", variables, {})
    model = parse_description(
        description(fixture, "m").encode(), file="m.xml", platforms=["linux64"]
    )
    with pytest.raises(FmuError) as refused:
        model.variable(name)
    assert (refused.value.hint or "").startswith(hint)
    parameters = model.nearest_to(name, model.settable_parameters, kind="parameter of the FMU")
    assert parameters == (refused.value.hint or "").replace("variable", "parameter of the FMU")


TWO = """<fmiModelDescription fmiVersion="2.0" modelName="M" guid="(1)">
<CoSimulation modelIdentifier="M"/><ModelVariables>
<ScalarVariable name="x" valueReference="1"><Real start="1"/></ScalarVariable>
<ScalarVariable name="y" valueReference="2" causality="output"><Real/></ScalarVariable>
</ModelVariables>
<ModelStructure><Outputs><Unknown index="2" dependencies="1 2"/></Outputs></ModelStructure>
</fmiModelDescription>"""


@pytest.mark.parametrize(
    ("old", "new", "dependencies"),
    [
        ("1 2", "1  2", {"y": {"x", "y"}}),
        ("1 2", "0 1", {}),  # there is no variable 0: nothing is known of the output
        ("1 2", "1 3", {}),
        ('"2.0"', '"2.0.1"', {"y": {"x", "y"}}),
        ("<Real/>", '<Real declaredType="Length"/>', {"y": {"x", "y"}}),
        ('"1">', '"1" causality="parameter">', {"y": {"x", "y"}}),
    ],
)
def test_what_fmpy_does_not_read(old: str, new: str, dependencies: dict[str, set[str]]) -> None:
    """The reader in FMPy 0.3.32 fails at these, or takes variable 0 for the last one."""
    assert old in TWO
    model = parse_description(TWO.replace(old, new).encode(), file="m.xml")
    assert [v.name for v in model.variables] == ["x", "y"]
    assert model.output_dependencies == dependencies


@pytest.mark.skipif(not RECORDED.is_dir(), reason="recorded OpenModelica descriptions are not here")
def test_a_description_of_openmodelica() -> None:
    xml = (RECORDED / "Wrapper.modelDescription.xml").read_bytes()
    model = parse_description(xml, file="Wrapper.xml")
    assert model.variable("first.J").why_not_settable == "calculated from other parameters"
    assert model.variable("Jtop").settable
    assert model.variable("second.J").settable
