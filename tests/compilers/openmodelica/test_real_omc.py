"""The traps of OpenModelica's FMUs, on a real omc; skipped where there is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fmident.compilers.base import BuildRequest
from fmident.compilers.openmodelica.compiler import OpenModelicaCompiler
from fmident.errors import CompilationError
from fmident.fmu import SimulationSetup, open_fmu, read_description

pytestmark = [pytest.mark.omc, pytest.mark.slow]
MECHANISMS = Path(__file__).parents[3] / "modelica" / "Mechanisms"
SLIDE = "Mechanisms.FMUs.SlideWithLuGreFriction"


def build(name: str, source: Path, folder: Path, tolerance: float | None = None, **options) -> Path:
    request = BuildRequest(name, (source,), folder / f"{name}.fmu", tolerance, options)
    return OpenModelicaCompiler().build(request).fmu


def test_good_model_is_exported_as_recorded(tmp_path: Path, recorded) -> None:
    fmu = build("Good", recorded.MODELS / "Good.mo", tmp_path, ramp_inputs=False)
    description = read_description(fmu)
    assert [v.name for v in description.settable_parameters] == ["c", "k", "m"]
    assert list(tmp_path.iterdir()) == [fmu]


@pytest.mark.parametrize("name", ["SyntaxError", "Unbalanced", "MissingClass", "UnknownVariable"])
def test_bad_models_are_refused_with_a_place(name: str, tmp_path: Path, recorded) -> None:
    with pytest.raises(CompilationError) as caught:
        build(name, recorded.MODELS / f"{name}.mo", tmp_path)
    assert caught.value.diagnostics[0].severity == "error"
    if name != "Unbalanced":
        assert caught.value.diagnostics[0].location is not None


def analytic(times: np.ndarray, m: float, k: float, c: float, force: float) -> np.ndarray:
    omega = np.sqrt(k / m - (c / (2 * m)) ** 2)
    decay = np.exp(-c / (2 * m) * times)
    swing = np.cos(omega * times) + c / (2 * m * omega) * np.sin(omega * times)
    return force / k * (1 - decay * swing)


def test_cosimulation_is_no_euler_and_takes_the_tolerance(tmp_path: Path, recorded) -> None:
    """10 ms steps: Euler would be off by 10 %; the error falls with the tolerance."""
    times = np.linspace(0.0, 1.0, 101)
    errors = []
    for tolerance in (1e-5, 1e-11):
        fmu = build("Good", recorded.MODELS / "Good.mo", tmp_path, tolerance)
        setup = SimulationSetup(times, ("F",), np.full((101, 1), 4.0), ("x",), {}, None, "hold")
        with open_fmu(fmu) as opened, opened.simulator() as simulator:
            x = simulator.simulate(setup)[:, 0]
        expected = analytic(times, 3.0, 400.0, 0.05, 4.0)
        errors.append(np.max(np.abs(x - expected)) / np.ptp(expected))
    assert errors[0] < 1e-2
    assert errors[1] < 1e-7
    assert errors[1] < 0.1 * errors[0]


def test_ramps_are_linear_inputs(tmp_path: Path, recorded) -> None:
    """A mass on a spring under a triangular force, against a fine simulation."""
    fmu = build("Good", recorded.MODELS / "Good.mo", tmp_path, 1e-10)
    assert read_description(fmu).input_ramps is not None
    results = []
    for every in (50, 1):
        times = np.linspace(0.0, 1.0, 1001)[::every]
        force = np.interp(times, np.linspace(0.0, 1.0, 21), np.arange(21) % 2)
        setup = SimulationSetup(times, ("F",), force[:, None], ("x", "v"))
        with open_fmu(fmu) as opened, opened.simulator() as simulator:
            results.append(simulator.simulate(setup)[:: 50 // every])
    coarse, fine = results
    assert np.max(np.abs(coarse - fine) / np.ptp(fine, axis=0)) < 1e-5


def test_parameters_of_the_wrapped_class_act(tmp_path: Path) -> None:
    fmu = build(SLIDE, MECHANISMS, tmp_path)
    names = [
        "m",
        "sigma0",
        "sigma1",
        "viscousFriction",
        "coulombForce",
        "staticForce",
        "stribeckSpeed",
    ]
    settable = {v.name for v in read_description(fmu).settable_parameters}
    assert settable >= {*names}
    times = np.linspace(0.0, 1.0, 1001)
    force = 1.7 * np.sin(5 * times) + 0.5 * np.sin(1.7 * times)
    setup = SimulationSetup(times, ("u",), force[:, None], ("x", "frictionForce"), {}, None, "hold")
    with open_fmu(fmu) as opened, opened.simulator() as simulator:
        before = simulator.simulate(setup)
        for name in names:
            start = opened.description.variable(name).start
            assert isinstance(start, float)
            after = simulator.simulate(setup, {name: 1.1 * start})
            assert np.max(np.abs(after - before) / np.ptp(before, axis=0)) > 1e-6, name


def test_unknown_library_is_told(tmp_path: Path) -> None:
    source = tmp_path / "Uses.mo"
    source.write_text(
        'model Uses Real x = 1; annotation(uses(NoSuchLibrary(version="1.0"))); end Uses;\n'
    )
    with pytest.raises(CompilationError) as caught:
        build("Uses", source, tmp_path)
    assert caught.value.diagnostics[0].rule == "missing-library"
