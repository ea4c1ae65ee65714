"""The cascade controller: its law, its limit, and that its integrator does not wind up."""

from __future__ import annotations

import numpy as np
import pytest
from machines import Workshop

GAINS = {"gearFactor": 100.0, "positionGain": 30.0, "speedGain": 0.056, "integralTime": 0.03}


def test_law_within_the_limit(workshop: Workshop) -> None:
    """Constant small errors: the integral grows linearly, the torque is the sum of its parts."""
    machine = workshop.machine("DriveTrains.CascadeController")
    times = np.linspace(0.0, 0.5, 51)
    given = {"s_ref": 1e-4, "v_ref": 2e-3, "a_ref": 1.5, "phi": 0.02, "w": 0.1}
    inputs = {name: np.full(51, value) for name, value in given.items()}
    parameters = {**GAINS, "feedForwardMass": 2.8, "feedForwardForce": 14.0}
    signals = machine.simulate(times, inputs, ("tau", "integral"), parameters, 1e-10)
    error = 100.0 * 2e-3 + 30.0 * (100.0 * 1e-4 - 0.02) - 0.1
    torque = 0.056 * (error + error * times / 0.03) + (2.8 * 1.5 + 14.0) / 100.0
    np.testing.assert_allclose(signals["integral"], error * times, rtol=0, atol=1e-6 * abs(error))
    np.testing.assert_allclose(signals["tau"], torque, rtol=0, atol=1e-6)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_limited_torque_stops_the_integrator(workshop: Workshop, sign: float) -> None:
    """In saturation the integral settles where it alone would ask for the limit."""
    machine = workshop.machine("DriveTrains.CascadeController")
    times = np.linspace(0.0, 2.0, 201)
    inputs = {"s_ref": np.full(201, 0.1 * sign)}
    signals = machine.simulate(
        times, inputs, ("tau", "integral"), {**GAINS, "torqueLimit": 2.0}, 1e-10
    )
    assert np.max(np.abs(signals["tau"])) <= 2.0
    assert signals["tau"][-1] == pytest.approx(2.0 * sign, rel=1e-6)
    assert signals["integral"][-1] == pytest.approx(sign * 0.03 * 2.0 / 0.056, rel=1e-6)
