"""Directional derivatives against closed forms."""

from __future__ import annotations

import pytest
from fmpy.fmi1 import FMICallException

from .conftest import Builder, Fmu


def derivative(fmu: Fmu, unknown: list[str], **seed: float) -> list[float]:
    return list(
        fmu.slave.getDirectionalDerivative(
            [fmu.references[n] for n in unknown],
            [fmu.references[n] for n in seed],
            list(seed.values()),
        )
    )


def test_outputs_along_inputs_parameters_and_states(fmus: Builder) -> None:
    m, k, d = 2.0, 50.0, 1.5
    with fmus.open("oscillator") as fmu:
        fmu.initialize(f=3.0)
        fmu.step(0.0, 0.1)
        s, v, a = fmu.get("s", "v", "acceleration")
        outputs = ["acceleration", "der(s)", "der(v)", "s"]
        assert derivative(fmu, outputs, f=2.0) == pytest.approx([2 / m, 0, 2 / m, 0])
        assert derivative(fmu, outputs, m=1.0) == pytest.approx([-a / m, 0, -a / m, 0])
        assert derivative(fmu, outputs, k=1.0) == pytest.approx([-s / m, 0, -s / m, 0])
        assert derivative(fmu, outputs, v=1.0) == pytest.approx([-d / m, 1, -d / m, 0])
        assert derivative(fmu, outputs, s=1.0, d=1.0) == pytest.approx(
            [-(k + v) / m, 0, -(k + v) / m, 1]
        )


def test_model_without_states(fmus: Builder) -> None:
    with fmus.open("algebraic") as fmu:
        fmu.initialize(**{"u[1]": 2.0, "u[2]": 4.0})
        assert derivative(fmu, ["y"], **{"u[2]": 1.0}) == [0.25]
        assert derivative(fmu, ["y"], a=1.0) == [2.0]


def test_in_initialization_mode_states_follow_parameters(fmus: Builder) -> None:
    with fmus.open("pendulum") as fmu:
        fmu.set(tau=2.0)
        fmu.slave.enterInitializationMode()
        unknowns = ["phi", "w", "der(phi)", "power"]
        assert derivative(fmu, unknowns, w0=1.0) == [0.0, 1.0, 1.0, 2.0]
        assert derivative(fmu, unknowns, tau=1.0) == [0.01, 0.0, 0.0, 1.0]
        # through the calculated parameter a = g/l
        (slope,) = derivative(fmu, ["der(w)"], l=1.0)
        assert slope == pytest.approx(9.81 / 0.25 * 0.0199986666933, rel=1e-9)


@pytest.mark.parametrize(
    ("unknown", "known", "message"),
    [
        ("energy", "f", "'energy' cannot be an unknown here"),
        ("acceleration", "omega", "'omega' cannot be a known here"),
    ],
)
def test_what_is_not_offered(fmus: Builder, unknown: str, known: str, message: str) -> None:
    with fmus.open("oscillator") as fmu:
        fmu.initialize()
        with pytest.raises(FMICallException):
            derivative(fmu, [unknown], **{known: 1.0})
        assert message in fmu.error()
