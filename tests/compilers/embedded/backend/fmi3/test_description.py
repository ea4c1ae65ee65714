"""The model description of FMI 3.0: arrays, structure, and what keeps variables scalar."""

from __future__ import annotations

import dataclasses
import platform
import zipfile
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fmpy.validation import validate_fmu

from fmident.compilers.embedded.backend.description import write_description
from fmident.compilers.embedded.backend.fmu import build_fmu
from fmident.compilers.embedded.backend.layout import declarations, make_layout
from fmident.compilers.embedded.model import OdeModel, ScalarVariable
from fmident.errors import Code, CompilationError
from fmident.fmu import read_description
from fmident.fmu.model_description.description import FrozenParameter

from .....refused import refused
from ..conftest import make_model, oscillator, variable
from .conftest import ALL, Builder3, chain, rows


def written(model: OdeModel) -> ElementTree.Element:
    text = write_description(
        model, make_layout(model), "3.0", guid="{0}", generation_tool="test", tolerance=1e-6
    )
    return ElementTree.fromstring(text)


def variables(root: ElementTree.Element) -> dict[str, ElementTree.Element]:
    return {v.get("name", ""): v for v in root.iterfind("ModelVariables/*")}


def shape(element: ElementTree.Element) -> tuple[int, ...]:
    return tuple(int(d.get("start", "")) for d in element.iterfind("Dimension"))


def structure(root: ElementTree.Element, kind: str) -> Mapping[str, set[str]]:
    names = {v.get("valueReference", ""): name for name, v in variables(root).items()}
    return {
        names[u.get("valueReference", "")]: {names[r] for r in u.get("dependencies", "").split()}
        for u in root.iterfind(f"ModelStructure/{kind}")
    }


@pytest.mark.each_time("algebraic", "draining", "chain", "rows", "timed")
@pytest.mark.slow  # builds all models
@pytest.mark.parametrize("name", ALL)
def test_fmpy_finds_nothing_wrong(fmus3: Builder3, name: str) -> None:
    assert validate_fmu(str(fmus3.path(name))) == []


def test_arrays_are_one_variable() -> None:
    found = variables(written(rows()))
    assert {name: shape(v) for name, v in found.items()} == {
        "x": (3,),
        "der(x)": (3,),
        "u": (3,),
        "y": (3,),
        "a": (3,),
        "time": (),
    }
    assert found["x"].get("start") == "1.0 2.0 3.0"
    assert found["der(x)"].get("derivative") == found["x"].get("valueReference")
    assert found["time"].get("causality") == "independent"


def test_what_differs_stays_scalar() -> None:
    found = variables(written(chain()))
    # the start of q[2] follows from the input: it is no array, and so its derivative is none
    assert {"body.q[1]", "body.q[2]", "body.q[3]", "der(body.q[2])"} <= found.keys()
    assert found["der(body.q[2])"].get("derivative") == found["body.q[2]"].get("valueReference")
    assert {"odd[1]", "odd[2]", "y[2]", "y[3]"} <= found.keys()  # units differ; no y[1]
    shapes = {name: shape(v) for name, v in found.items() if shape(v)}
    assert shapes == {
        "body.v": (3,),
        "der(body.v)": (3,),
        "f": (2,),
        "a": (3,),
        "k": (3,),
        "G": (2, 3),
        "w": (2,),
        "e": (2,),
    }
    assert found["G"].get("start") == "11.0 12.0 13.0 21.0 22.0 23.0"
    assert found["k"].get("min") == "0.0"


@pytest.mark.parametrize(
    "names",
    [
        ["p[2]", "p[1]"],  # not in order
        ["p[1]", "p[3]"],  # one is missing
        ["p[1]", "q", "p[2]"],  # another one between them
        ["p[0]", "p[1]"],  # does not begin with 1
        ["p[1,1]", "p[1,2]", "p[2,1]"],  # a corner is missing
        ["p[1]", "p[1,1]"],  # two shapes
        ["p[1].x", "p[2].x"],  # an array of components
    ],
)
def test_what_only_looks_like_an_array(names: list[str]) -> None:
    model = make_model("Test", parameters=[variable(n, "parameter", 1.0) for n in names])
    declared = declarations(make_layout(model).variables)
    assert [d.name for d in declared] == names
    assert all(not d.shape for d in declared)


@pytest.mark.parametrize(
    "changed",
    [
        {"unit": "m"},
        {"display_unit": "mm"},
        {"quantity": "Length"},
        {"minimum": 0.0},
        {"maximum": 9.0},
        {"nominal": 2.0},
        {"description": "another"},
    ],
)
def test_all_elements_have_the_attributes_of_the_array(changed: dict[str, object]) -> None:
    one: ScalarVariable = variable("p[1]", "parameter", 1.0)
    two = dataclasses.replace(one, name="p[2]")
    other = dataclasses.replace(two, **changed)  # type: ignore[arg-type]
    for second, count in ((two, 1), (other, 2)):
        model = make_model("Test", parameters=[one, second])
        assert len(declarations(make_layout(model).variables)) == count


def test_structure_names_arrays_and_time() -> None:
    root = written(chain())
    positions = {"body.q[1]", "body.q[2]", "body.q[3]"}
    assert structure(root, "Output") == {
        "a": {*positions, "body.v", "f", "k", "odd[1]", "d", "h"},
        "y[2]": {*positions, "G"},
        "y[3]": {"body.v", "f", "G", "time"},
    }
    assert structure(root, "ContinuousStateDerivative") == {
        **{f"der(body.q[{k}])": {"body.v"} for k in (1, 2, 3)},
        "der(body.v)": {*positions, "body.v", "f", "k", "odd[1]", "d", "h"},
    }
    initial = structure(root, "InitialUnknown")
    assert initial["body.q[2]"] == {"odd[2]", "f"}
    assert initial["w"] == {"k"}
    assert initial["y[3]"] == {"body.v", "f", "G", "time"}
    assert initial.keys() >= {"a", "y[2]", "y[3]", "der(body.v)", "der(body.q[1])"}


def test_capabilities() -> None:
    root = written(rows())
    assert root.get("fmiVersion") == "3.0"
    both = {
        "modelIdentifier": "Test_Rows",
        "canGetAndSetFMUState": "true",
        "canSerializeFMUState": "true",
        "providesDirectionalDerivatives": "true",
        "providesAdjointDerivatives": "true",
    }
    steps = {
        "canHandleVariableCommunicationStepSize": "true",
        "providesIntermediateUpdate": "true",
    }
    assert interface(root, "ModelExchange") == both
    assert interface(root, "CoSimulation") == both | steps
    other = written(ALL["growing"]())
    assert interface(other, "ModelExchange")["needsCompletedIntegratorStep"] == "true"
    assert "providesIntermediateUpdate" not in interface(other, "CoSimulation")  # without inputs


def interface(root: ElementTree.Element, name: str) -> dict[str, str]:
    found = root.find(name)
    assert found is not None
    return dict(found.attrib)


def test_a_variable_called_time_is_refused() -> None:
    model = make_model("Test", parameters=[variable("time", "parameter", 1.0)])
    with refused(Code.COMPILATION_FAILED, CompilationError, match="is called 'time'"):
        written(model)


@pytest.mark.usefixtures("tools")
def test_frozen_parameters_reach_the_host(tmp_path: Path) -> None:
    frozen = FrozenParameter('it is "odd" & <fixed>', "leave it")
    model = dataclasses.replace(oscillator(), frozen={"n": frozen, "m": frozen})
    build_fmu(model, tmp_path / "m.fmu", generation_tool="test", version="3.0")
    assert validate_fmu(str(tmp_path / "m.fmu")) == []
    assert read_description(tmp_path / "m.fmu").frozen == {"n": frozen, "m": frozen}


def test_the_binary_is_where_fmi_3_wants_it(fmus3: Builder3) -> None:
    with zipfile.ZipFile(fmus3.path("rows")) as archive:
        (binary,) = [n for n in archive.namelist() if n.startswith("binaries/")]
    folder, name = binary.split("/")[1:]
    assert name.startswith("Test_Rows.")
    if platform.system() == "Linux":
        assert folder == f"{platform.machine()}-linux"


def test_the_host_names_elements_as_modelica_does(fmus3: Builder3) -> None:
    description = read_description(fmus3.path("rows"))
    names = [v.name for v in description.variables]
    assert names[:6] == ["x[1]", "x[2]", "x[3]", "der(x[1])", "der(x[2])", "der(x[3])"]
    assert description.variable("a[2]").start == 1.0
