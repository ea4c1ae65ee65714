"""Inputs of one simulation that run differently between the instants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fmident.compilers.base import Compiler
from fmident.errors import Code, FmuError
from fmident.fmu import SimulationSetup, open_fmu

from ..kept import library_fmu
from ..refused import refused

SOURCE = """
model Integrators
  parameter Real k = 2;
  input Real a;
  input Real b;
  input Real c;
  output Real xa(start=0, fixed=true);
  output Real xb(start=0, fixed=true);
  output Real xc(start=0, fixed=true);
  output Real y = a + 10*b + 100*c;
equation
  der(xa) = k*a;
  der(xb) = k*b;
  der(xc) = k*c;
end Integrators;
"""
T = np.array([0.0, 0.1, 0.25, 0.3, 0.7, 1.0])
U = np.array([1.0, -2.0, 0.5, 0.5, 3.0, -1.0])
STEPS = np.diff(T)
HELD = 2.0 * np.r_[0.0, np.cumsum(U[:-1] * STEPS)]
AREA = 2.0 * np.r_[0.0, np.cumsum(0.5 * (U[1:] + U[:-1]) * STEPS)]


@pytest.fixture(scope="module", params=["2.0", "3.0"])
def integrators(
    request: pytest.FixtureRequest,
    embedded_compiler: Compiler,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    source = tmp_path_factory.mktemp("integrators") / "Integrators.mo"
    source.write_text(SOURCE, encoding="utf-8")
    return library_fmu(embedded_compiler, "Integrators", (source,), fmi=request.param)


def mixed(**more: object) -> SimulationSetup:
    return SimulationSetup(
        T,
        ("a", "b", "c"),
        np.column_stack([U, U, U]),
        ("xa", "xb", "xc", "y"),
        tolerance=1e-10,
        input_interpolation={"b": "hold", "c": "mean"},
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("interface", ["co-simulation", "model-exchange"])
def test_each_input_runs_as_it_is_asked(integrators: Path, interface: str) -> None:
    with open_fmu(integrators) as fmu, fmu.simulator(interface=interface) as simulator:  # type: ignore[arg-type]
        for _ in range(2):
            xa, xb, xc, y = simulator.simulate(mixed()).T
            for found, expected in ((xa, AREA), (xb, HELD), (xc, AREA)):
                np.testing.assert_allclose(found, expected, atol=1e-7)
            np.testing.assert_allclose(y, 111.0 * U, atol=1e-12)


@pytest.mark.parametrize("interface", ["co-simulation", "model-exchange"])
def test_sensitivities_see_the_same_inputs(integrators: Path, interface: str) -> None:
    with open_fmu(integrators) as fmu, fmu.simulator(interface=interface) as simulator:  # type: ignore[arg-type]
        found = simulator.simulate(mixed(sensitivities=("k",)))[:, 4:7]
    np.testing.assert_allclose(2.0 * found, np.column_stack([AREA, HELD, AREA]), atol=1e-6)


def test_names_and_words_are_checked() -> None:
    with refused(Code.UNKNOWN_NAME, FmuError, match="'e', which is not among the inputs"):
        SimulationSetup(T, ("a",), U[:, None], input_interpolation={"e": "hold"})
    with refused(Code.UNUSABLE_FMU, FmuError, match="'held' is not known"):
        SimulationSetup(T, ("a",), U[:, None], input_interpolation={"a": "held"})  # type: ignore[dict-item]
