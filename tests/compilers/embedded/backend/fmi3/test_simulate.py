"""FMUs of FMI 3.0 in fmident and in FMPy: the numbers of those of FMI 2.0."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fmpy import simulate_fmu
from fmpy.validation import validate_fmu

from fmident import estimate, load_problem
from fmident.compilers.base import BuildRequest, Compiler
from fmident.compilers.embedded.compiler import EmbeddedCompiler
from fmident.errors import Code, CompilationError
from fmident.fmu import SimulationSetup, open_fmu
from fmident.fmu.model_description.description import InterfaceChoice, ModelDescription
from fmident.fmu.sensitivities import differentiable
from fmident.validation import validate_fmu as validate_own

from .....kept import library_fmu
from .....refused import refused
from .conftest import EVENTS, Builder3


def moving(description: ModelDescription) -> tuple[str, ...]:
    return tuple(
        v.name
        for v in description.variables
        if v.name != "time"
        and v.variability != "tunable"
        and v.value_reference not in description.indicator_references
    )


def driven(description: ModelDescription, times: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    names = tuple(v.name for v in description.inputs)
    phases = np.arange(len(names)) + 1.0
    return names, 3.0 + np.sin(3.0 * np.outer(times, phases)) + np.cos(np.outer(times, phases))


@pytest.mark.parametrize("interpolation", ["hold", "linear", "mean"])
@pytest.mark.parametrize("name", ["oscillator", "rows", "chain", "relaxation", "algebraic"])
def test_simulations_are_equal_to_the_last_bit(
    fmus3: Builder3, name: str, interpolation: str
) -> None:
    times = np.linspace(0.0, 3.0, 61)
    found = {}
    for version in ("2.0", "3.0"):
        with open_fmu(fmus3.path(name, version)) as fmu, fmu.simulator() as simulator:  # type: ignore[arg-type]
            description = simulator.description
            names, inputs = driven(description, times)
            setup = SimulationSetup(
                times,
                names,
                inputs,
                moving(description),
                interpolation=interpolation,  # type: ignore[arg-type]
            )
            values = {v.name: 1.25 * float(v.start or 0.0) for v in description.settable_parameters}
            table = simulator.simulate(setup, values)
            found[version] = dict(zip(setup.output_names, table.T, strict=True))
    assert found["2.0"].keys() == found["3.0"].keys()
    for signal, expected in found["2.0"].items():
        np.testing.assert_array_equal(found["3.0"][signal], expected, signal)


@pytest.mark.parametrize("name", ["Ball", "Thermostat", "Controller", "Times", "Stick", "Start"])
def test_events_are_the_same(embedded_compiler: Compiler, name: str) -> None:
    times = np.linspace(0.0, 2.0, 101)
    found = []
    for version in ("2.0", "3.0"):
        path = library_fmu(embedded_compiler, f"Events.{name}", (EVENTS,), fmi=version)
        assert validate_fmu(str(path)) == []
        with open_fmu(path) as fmu, fmu.simulator() as simulator:
            names, inputs = driven(simulator.description, times)
            setup = SimulationSetup(times, names, inputs, moving(simulator.description))
            found.append((setup.output_names, simulator.simulate(setup, {})))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[1][1], found[0][1])


@pytest.mark.parametrize("name", ["oscillator", "rows", "algebraic"])
def test_fmpy_simulates_them_alike(fmus3: Builder3, name: str) -> None:
    two, three = (
        simulate_fmu(str(fmus3.path(name, version)), stop_time=1.0, output_interval=0.01)  # type: ignore[arg-type]
        for version in ("2.0", "3.0")
    )
    for field in three.dtype.names:
        columns = three[field].reshape(len(three), -1).T
        for k, column in enumerate(columns, start=1):
            scalar = field if field in two.dtype.names else f"{field}[{k}]"
            np.testing.assert_array_equal(column, two[scalar])


@pytest.mark.slow  # each check runs whole simulations in processes of their own
@pytest.mark.parametrize("name", ["rows", "oscillator"])
def test_fmident_validates_them(fmus3: Builder3, name: str) -> None:
    checks = validate_own(fmus3.path(name))
    assert len(checks) > 4
    assert [(c.name, c.detail) for c in checks if not c.passed] == []


def test_sensitivities_are_the_same(fmus3: Builder3) -> None:
    times = np.linspace(0.0, 2.0, 41)
    known = ("a[1]", "a[3]", "x[2]")
    outputs = ("y[2]", "x[1]", "x[3]", "der(x[2])", "y[1]")
    found = []
    for version in ("2.0", "3.0"):
        path = fmus3.path("rows", version)  # type: ignore[arg-type]
        assert differentiable(path) >= set(known)
        with open_fmu(path) as fmu, fmu.simulator() as simulator:
            names, inputs = driven(simulator.description, times)
            setup = SimulationSetup(times, names, inputs, outputs, sensitivities=known)
            found.append(simulator.simulate(setup, {"a[2]": 0.7, "x[2]": 1.5}))
    assert found[0].shape == (41, 5 * 4)
    np.testing.assert_array_equal(found[1], found[0])


PROBLEM = """
[model]
fmu = "{fmu}"
[parameters."a[1]"]
initial = 1.0
bounds = [0.1, 3.0]
[parameters."a[3]"]
initial = 1.0
bounds = [0.1, 3.0]
[[experiments]]
data = "data.csv"
[experiments.inputs]
"u[1]" = "u1"
"u[3]" = "u3"
[experiments.outputs]
"x[1]" = {{ column = "x1", sigma = 0.01 }}
"y[3]" = {{ column = "y3", sigma = 0.01 }}
[estimator]
name = "least-squares"
"""


@pytest.mark.nightly
@pytest.mark.slow  # two estimations
def test_estimates_are_the_same_with_names_of_elements(fmus3: Builder3, tmp_path: Path) -> None:
    times = np.linspace(0.0, 3.0, 61)
    inputs = np.stack([np.sin(times), np.cos(2.0 * times)], axis=1)
    with open_fmu(fmus3.path("rows")) as fmu, fmu.simulator() as simulator:
        setup = SimulationSetup(times, ("u[1]", "u[3]"), inputs, ("x[1]", "y[3]"))
        outputs = simulator.simulate(setup, {"a[1]": 0.7, "a[3]": 1.9})
    np.savetxt(
        tmp_path / "data.csv",
        np.column_stack([times, inputs, outputs]),
        delimiter=",",
        header="time,u1,u3,x1,y3",
        comments="",
        fmt="%.17g",
    )
    results = []
    for version in ("2.0", "3.0"):
        problem = tmp_path / f"{version}.toml"
        problem.write_text(PROBLEM.format(fmu=fmus3.path("rows", version)))  # type: ignore[arg-type]
        results.append(estimate(load_problem(problem)))
    values = [{e.name: (e.value, e.standard_error) for e in r.estimates} for r in results]
    assert values[0] == values[1]
    assert values[1]["a[1]"][0] == pytest.approx(0.7, rel=1e-6)
    assert values[1]["a[3]"][0] == pytest.approx(1.9, rel=1e-6)


@pytest.mark.parametrize("given", ["1.0", 2.5, True, "3", None])
def test_versions_that_there_are_not(given: object, tmp_path: Path) -> None:
    request = BuildRequest("A", (tmp_path,), tmp_path / "a.fmu", options={"fmi": given})
    with refused(Code.COMPILATION_FAILED, CompilationError, match="option 'fmi'") as caught:
        EmbeddedCompiler().build(request)
    assert caught.value.hint == 'give the version of FMI: "2.0" or "3.0"'


@pytest.mark.parametrize("interface", ["co-simulation", "model-exchange"])
def test_arrays_of_all_types(embedded_compiler: Compiler, interface: InterfaceChoice) -> None:
    source = Path(__file__).with_name("Arrays.mo")
    times = np.linspace(0.0, 1.0, 101)
    outputs = ("n[1]", "n[2]", "b[1]", "b[2]", "s[1]", "s[2]", "x[2]", "der(x[2])")
    inputs = np.stack([np.sin(3.0 * times) + 0.5, np.cos(times)], axis=1)
    setup = SimulationSetup(times, ("u[1]", "u[2]"), inputs, outputs)
    found = []
    for version in ("2.0", "3.0"):
        path = library_fmu(embedded_compiler, "Arrays", (source,), fmi=version)
        assert validate_fmu(str(path)) == []
        with open_fmu(path) as fmu, fmu.simulator(interface=interface) as simulator:
            found.append(simulator.simulate(setup, {"k[2,1]": 3.5}))
            shapes = simulator.description.shapes
    assert shapes == {
        **dict.fromkeys(("x", "der(x)", "u", "n", "b", "s", "eventIndicators"), (2,)),
        "k": (2, 2),
    }
    np.testing.assert_array_equal(found[1], found[0])
    n1, n2, b1, b2, s1, s2 = found[1][-1, :6]
    assert (n1, n2, b1, b2) == (1.0, 2.0, 1.0, 1.0)
    assert 0.0 < s1 < 1.0
    assert s2 == 2.0 * s1
