"""Models of higher index whose states are bound to each other, against minimal coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from fmpy import extract, read_model_description
from fmpy.fmi2 import FMU2Model
from fmpy.validation import validate_fmu
from scipy.integrate import solve_ivp
from scipy.special import ellipk

from fmident.arrays import F64
from fmident.compilers.base import BuildRequest, Compiler
from fmident.compilers.embedded.frontend import load_model
from fmident.errors import CompilationError, FmuError, SimulationError
from fmident.fmu.sensitivities import differentiable

from ....kept import library_fmu
from ..simulation import table_of

SOURCE = Path(__file__).with_name("Constraints.mo")
Compiled = Callable[[str], Path]


@pytest.fixture(scope="session")
def compiled(embedded_compiler: Compiler) -> Compiled:
    return lambda name: library_fmu(embedded_compiler, f"Constraints.{name}", (SOURCE,))


def run(
    path: Path, times: F64, outputs: Sequence[str], *, tolerance: float = 1e-8, **values: float
) -> list[F64]:
    return list(table_of(path, times, outputs, values, tolerance=tolerance).T)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-9])
def test_the_cartesian_pendulum_conserves_energy(compiled: Compiled, tolerance: float) -> None:
    """From the horizontal the period is 4 K(1/2) sqrt(L/g)."""
    period = 4 * ellipk(0.5) * np.sqrt(1 / 9.81)
    times = np.linspace(0.0, 2 * period, 161)
    x, y, energy, force = run(
        compiled("Pendulum"), times, ["x", "y", "energy", "F"], tolerance=tolerance
    )
    assert np.max(np.abs(energy)) < 20 * tolerance * 2 * 9.81
    assert np.max(np.abs(x**2 + y**2 - 1)) < 1e-14 * 4
    assert x[[80, 160]] == pytest.approx([1.0, 1.0], abs=100 * tolerance)
    assert x[[40, 120]] == pytest.approx([-1.0, -1.0], abs=100 * tolerance)
    # Weight and centripetal force: F = 3 m g sin(angle below the horizontal).
    assert force == pytest.approx(-3 * 2 * 9.81 * y, abs=1000 * tolerance)


def test_every_position_is_passed(compiled: Compiled) -> None:
    """Neither coordinate could be left out of the states all the way round."""
    times = np.linspace(0.0, 3.0, 61)
    x, y = run(compiled("Turning"), times, ["x", "y"], tolerance=1e-9)

    def angle(_: float, state: F64) -> list[float]:
        return [state[1], -9.81 * np.sin(state[0])]

    found = solve_ivp(
        angle, (0, 3), [0.0, 7.0], t_eval=times, rtol=1e-11, atol=1e-11, method="DOP853"
    )
    assert found.y[0][-1] > 2 * np.pi
    assert x == pytest.approx(np.sin(found.y[0]), abs=1e-6)
    assert y == pytest.approx(-np.cos(found.y[0]), abs=1e-6)


def test_a_constraint_that_depends_on_time(compiled: Compiled) -> None:
    """With y = x^2 + h(t): (1 + 4 x^2) x'' = -2 x (2 x'^2 + h'' + g)."""
    times = np.linspace(0.0, 3.0, 61)
    x, y = run(compiled("Guided"), times, ["x", "y"], tolerance=1e-9)

    def bead(t: float, state: F64) -> list[float]:
        x, v = state
        return [v, -2 * x * (2 * v**2 - 0.9 * np.sin(3 * t) + 9.81) / (1 + 4 * x**2)]

    found = solve_ivp(
        bead, (0, 3), [0.2, 0.5], t_eval=times, rtol=1e-11, atol=1e-11, method="DOP853"
    )
    assert x == pytest.approx(found.y[0], abs=1e-6)
    assert y == pytest.approx(found.y[0] ** 2 + 0.1 * np.sin(3 * times), abs=1e-6)


def test_a_slider_crank_with_the_rod_as_a_constraint(compiled: Compiled) -> None:
    """Energy J w^2/2 + m v^2/2 gives w(phi) in closed form."""
    times = np.linspace(0.0, 1.0, 41)
    phi, w, s = run(compiled("SliderCrank"), times, ["phi", "w", "s"], tolerance=1e-9)
    root = np.sqrt(0.09 - (0.1 * np.sin(phi)) ** 2)
    assert s == pytest.approx(0.1 * np.cos(phi) + root, rel=1e-12)
    ratio = -0.1 * np.sin(phi) - 0.01 * np.sin(phi) * np.cos(phi) / root
    inertia = 0.01 + 0.5 * ratio**2
    assert w == pytest.approx(20 * np.sqrt(inertia[0] / inertia), rel=1e-7)
    assert phi[-1] > 5 * np.pi


def test_start_values_follow_a_parameter(compiled: Compiled) -> None:
    x, y = run(compiled("Pendulum"), np.array([0.0, 0.1]), ["x", "y"], L=2.0)
    assert (x[0], y[0]) == (2.0, 0.0)


def test_start_values_that_contradict_are_refused(compiled: Compiled) -> None:
    with pytest.raises(CompilationError, match="cannot be compiled") as refused:
        load_model("Constraints.Contradicting", [SOURCE])
    assert [d.rule for d in refused.value.diagnostics] == ["initial-equation"]
    assert "'x^2 + y^2 = L^2'" in refused.value.diagnostics[0].message
    with pytest.raises(SimulationError, match=r"start values contradict 'x\^2 \+ y\^2 = L\^2'"):
        run(compiled("AllGiven"), np.array([0.0, 0.1]), ["x"], x=0.3)
    with pytest.raises(FmuError, match=r"'x' .* cannot be set"):  # y follows from it
        run(compiled("Turning"), np.array([0.0, 0.1]), ["x"], x=0.3)


def test_an_input_is_not_differentiated() -> None:
    with pytest.raises(CompilationError) as refused:
        load_model("Constraints.Driven", [SOURCE])
    assert [d.rule for d in refused.value.diagnostics] == ["higher-index"]


def test_reinit_is_refused() -> None:
    with pytest.raises(CompilationError) as refused:
        load_model("Constraints.Reset", [SOURCE])
    assert [d.rule for d in refused.value.diagnostics] == ["unsupported-reinit"]


def test_model_exchange_is_not_offered(embedded_compiler: Compiler, tmp_path: Path) -> None:
    request = BuildRequest("Constraints.Pendulum", (SOURCE,), tmp_path / "p.fmu")
    (note,) = (
        d for d in embedded_compiler.build(request).diagnostics if d.rule == "no-model-exchange"
    )
    assert note.severity == "note"
    assert "for Co-Simulation only" in note.message
    assert "'x^2 + y^2 = L^2'" in note.message
    description = read_model_description(request.output)
    assert description.modelExchange is None
    assert description.coSimulation is not None
    model = FMU2Model(
        guid=description.guid,
        unzipDirectory=extract(request.output),
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="test",
    )
    with pytest.raises(Exception, match="Failed to instantiate"):
        model.instantiate()


def test_sensitivities_and_cvode_are_not_offered(
    compiled: Compiled, embedded_compiler: Compiler, tmp_path: Path
) -> None:
    assert not differentiable(compiled("Pendulum"))
    assert validate_fmu(compiled("Pendulum")) == []
    request = BuildRequest(
        "Constraints.Pendulum", (SOURCE,), tmp_path / "p.fmu", options={"integrator": "cvode"}
    )
    with pytest.raises(CompilationError, match="bound to each other"):
        embedded_compiler.build(request)
