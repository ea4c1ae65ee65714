"""Modelica text: names, arrays, digits; and that a Modelica compiler takes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmident.compilers.base import Compiler
from fmident.errors import Code, EstimationError
from fmident.estimation.result import BaseParameter, EstimationResult, Factor
from fmident.fmu import ModelDescription, SimulationSetup, open_fmu, read_description
from fmident.report.export import exported_values, modifier, record

from ...kept import library_fmu
from ...refused import refused
from .conftest import estimate

MakeResult = Callable[..., EstimationResult]

PLANTS = """\
package Plants
  model Arm "Arm"
    parameter Real mass(unit="kg") = 1 "Mass";
    parameter Real c[3](each unit="N/kg") = {1, 2, 3} "Coefficients";
    output Real f(unit="N") "Force";
  equation
    f = (c[1] + 2*c[2] + 3*c[3])*mass;
  end Arm;
  model Plant "Plant"
    parameter Real k(unit="N/m") = 4 "Stiffness";
    parameter Real A[2, 2] = {{1, 2}, {3, 4}} "Matrix";
    Arm arm "Arm";
    Arm arms[2] "Two more arms";
    constant Real d(unit="m") = 1 "Distance";
    output Real y(unit="N") "Sum";
  equation
    y = k*d + arm.f + arms[1].f + arms[2].f*A[1, 2] + A[2, 1]*arm.f;
  end Plant;
end Plants;
"""

K, MASS, SECOND = 4.1 + 1e-15, 0.080123456789012345, 1.0 / 3.0
VALUES = {
    "k": K,
    "arm.mass": MASS,
    "arm.c[2]": SECOND,
    "arms[1].mass": 1e-7,
    "A[2,1]": -2.5e20,
}


@pytest.fixture(scope="module")
def plants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Modelica file with components, arrays and arrays of components."""
    file = tmp_path_factory.mktemp("plants") / "Plants.mo"
    file.write_text(PLANTS)
    return file


@pytest.fixture(scope="module")
def plant(plants: Path, embedded_compiler: Compiler) -> ModelDescription:
    """Return the description of the plant's FMU."""
    return read_description(library_fmu(embedded_compiler, "Plants.Plant", (plants,)))


@pytest.fixture
def result(make_result: MakeResult) -> EstimationResult:
    """Return a result with all kinds of names."""
    return make_result(
        estimate("k", K, 0.2, unit="N/m", description='Stiffness, "k"\nof the spring'),
        estimate("arm.mass", MASS, 0.0018),
        estimate("arm.c[2]", SECOND, 0.1, unit="N/kg"),
        estimate("arms[1].mass", 1e-7, fixed=True),
        estimate("A[2,1]", -2.5e20, 1e19, unit=None),
        estimate(None, 0.004, 1e-4, unit="s"),
    )


def defaults(description: ModelDescription) -> dict[str, object]:
    return {v.name: v.start for v in description.parameters}


def build(
    source: str, class_name: str, sources: tuple[Path, ...], folder: Path, compiler: Compiler
) -> Path:
    file = folder / f"{class_name}.mo"
    file.write_text(source)
    return library_fmu(compiler, class_name, (file, *sources))


def without_declaration(text: str) -> str:
    """Return the arguments of the modifier."""
    return re.sub(r"\)\s*;\s*$", "", text.split("(\n", 1)[1])


def test_modifier_reads_well(result: EstimationResult, plant: ModelDescription) -> None:
    text = modifier(exported_values(result, plant), instance="robot")
    lines = text.splitlines()
    assert lines[1] == "// Left out: 'delay' belongs to the measurement, not to the model"
    assert lines[2] == "Plants.Plant robot("
    assert lines[3].startswith(f"  k = {K!r}, // N/m, standard error 0.2, 95 % interval 3.7 to 4.5")
    assert lines[4] == "  arm("
    assert lines[5].startswith(f"    mass = {MASS!r}, // kg, standard error 0.0018,")
    assert lines[6].startswith(f"    c = {{1.0, {SECOND!r}, 3.0}} // N/kg; [2] standard error 0.1")
    assert lines[7] == "  ),"
    assert lines[9] == "    mass = {1e-07, 1.0} // kg; [1] fixed, not identified"
    assert lines[11].startswith("  A = {{1.0, 2.0}, {-2.5e+20, 4.0}} // [2,1] standard error 1e+19")
    assert lines[12] == ");"


def test_embedded_compiler_takes_the_modifier(
    result: EstimationResult,
    plant: ModelDescription,
    plants: Path,
    tmp_path: Path,
    embedded_compiler: Compiler,
) -> None:
    """A model that extends with the modifier has the identified values as its own."""
    arguments = without_declaration(modifier(exported_values(result, plant)))
    source = f"model Identified\n  extends Plants.Plant(\n{arguments});\nend Identified;\n"
    fmu = build(source, "Identified", (plants,), tmp_path, embedded_compiler)
    found = defaults(read_description(fmu))
    assert found == {**defaults(plant), **VALUES}


def test_embedded_compiler_takes_the_record(
    result: EstimationResult,
    plant: ModelDescription,
    plants: Path,
    tmp_path: Path,
    embedded_compiler: Compiler,
) -> None:
    """A plant with the record's values computes what one with these values set computes."""
    text = record(exported_values(result, plant), name="Values")
    use = re.search(r"<pre>(.*?)</pre>", text, re.DOTALL)
    assert use is not None
    source = f"model WithRecord\n  {use[1]}\n  output Real y = plant.y;\nend WithRecord;\n"
    (tmp_path / "Values.mo").write_text(text)
    sources = (tmp_path / "Values.mo", plants)
    fmu = build(source, "WithRecord", sources, tmp_path, embedded_compiler)
    times = np.linspace(0.0, 1.0, 3)
    setup = SimulationSetup(times, output_names=("y",))
    with open_fmu(fmu) as opened, opened.simulator() as simulator:
        found = simulator.simulate(setup)
    start = SimulationSetup(times, output_names=("y",), start_values=VALUES)
    with (
        open_fmu(library_fmu(embedded_compiler, "Plants.Plant", (plants,))) as opened,
        opened.simulator() as simulator,
    ):
        expected = simulator.simulate(start)
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_record_says_unit_description_and_uncertainty(
    result: EstimationResult, plant: ModelDescription
) -> None:
    text = record(exported_values(result, plant))
    assert text.startswith('record PlantIdentified "Identified parameters of Plants.Plant"\n')
    assert f'parameter Real k(unit="N/m") = {K!r} "Stiffness, \\"k\\" of the spring; N/m,' in text
    values = f"{{1.0, {SECOND!r}, 3.0}}"
    assert f'c[3](each unit="N/kg") = {values} "Coefficients; N/kg; [2] standard error' in text
    assert "annotation (__fmident(standardError=0.2, interval95={" in text
    assert text.rstrip().endswith("end PlantIdentified;")


def test_elements_of_arrays_need_the_fmu(result: EstimationResult) -> None:
    with refused(
        Code.ESTIMATION_FAILED, EstimationError, match=r"'arm\.c\[2\]' is an element"
    ) as caught:
        modifier(exported_values(result))
    assert "--fmu" in (caught.value.hint or "")


def test_values_of_the_problem_fill_arrays(
    make_result: MakeResult, plant: ModelDescription
) -> None:
    result = make_result(estimate("arm.c[2]", 5.0))
    text = modifier(exported_values(result, plant, {"arm.c[1]": 7.0}))
    assert "c = {7.0, 5.0, 3.0}" in text


def test_base_parameters_stand_beside_their_members(make_result: MakeResult) -> None:
    members = {"m1": 1.0, "m2": 0.25}
    base = BaseParameter(
        "m1_base", "kg", "", 1.0, 1.5, 0.1, (1.3, 1.7), 0.0, np.inf, at_bound=False, fixed=False,
        expression="m1 + 0.25*m2", factors=(Factor(1, members),),
    )  # fmt: skip
    result = replace(
        make_result(estimate("m1", 1.0, base=("m1_base",)), estimate("m2", 2.0, base=("m1_base",))),
        base_parameters=(base,),
    )
    line = "Base parameter m1_base = m1 + 0.25*m2 = 1.5 kg, standard error 0.1"
    for text in (modifier(exported_values(result)), record(exported_values(result))):
        assert line in text
        assert text.count("kg, in m1_base") == 2
    moved = exported_values(result.with_members({"m2": 4.0}))
    assert [v.value for v in moved.values] == pytest.approx([0.5, 4.0])


@pytest.mark.parametrize(
    ("estimates", "fragment"),
    [
        ((estimate(None, 1.0),), "no value of a model parameter"),
        ((estimate("m", np.nan),), "the estimation failed"),
        ((estimate("m", 1.0, experiments=("first",)),), "some experiments only: first"),
    ],
    ids=["measurement only", "failed", "one experiment"],
)
def test_results_that_no_model_can_take(
    make_result: MakeResult, estimates: tuple[object, ...], fragment: str
) -> None:
    with refused(Code.ESTIMATION_FAILED, EstimationError, match=fragment):
        exported_values(make_result(*estimates))


def test_names_that_modelica_does_not_know(make_result: MakeResult) -> None:
    with refused(Code.ESTIMATION_FAILED, EstimationError, match="not a name that Modelica knows"):
        modifier(exported_values(make_result(estimate("mass of arm", 1.0))))
    with refused(Code.ESTIMATION_FAILED, EstimationError, match="not a Modelica class"):
        modifier(exported_values(make_result(estimate("m", 1.0), model="my model")))
    values = exported_values(make_result(estimate("m", 1.0), model="my model"))
    assert "Lib.M m1(" in modifier(values, class_name="Lib.M", instance="m1")
