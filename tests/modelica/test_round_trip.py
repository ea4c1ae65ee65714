"""The inverse model, fed with the motion of the forward model, returns its input."""

from __future__ import annotations

import numpy as np
import pytest
from machines import Workshop


def test_slider_crank(workshop: Workshop) -> None:
    times = np.linspace(0.0, 4.0, 2001)
    tau = 0.25 * np.sin(5.65 * times + 0.4) + 0.1 * np.sin(2.2 * times + 0.3)
    motion = ("q", "qd", "qdd")
    parameters = {"momentY2": -0.01, "gravity[1]": 2.0, "mass3": 0.3}
    forward = workshop.machine("FMUs.SliderCrankForward").simulate(
        times, {"tau": tau}, motion, parameters
    )
    assert np.ptp(forward["q"]) > 1.0
    inverse = workshop.machine("FMUs.SliderCrankInverse").simulate(
        times, forward, ("tau",), parameters
    )
    assert np.max(np.abs(inverse["tau"] - tau)) < 1e-6 * np.max(np.abs(tau))


def test_positioning_axis(workshop: Workshop) -> None:
    times = np.linspace(0.0, 3.0, 3001)
    reference = 0.12 * (1.0 - np.cos(2.0 * times)) + 0.01 * (1.0 - np.cos(11.0 * times))
    parameters = {"m": 80.0, "coulombForce": 30.0}
    forward = workshop.machine("FMUs.PositioningAxisClosedLoop").simulate(
        times, {"q_ref": reference}, ("q", "qd", "qdd", "force"), parameters
    )
    force = forward.pop("force")
    inverse = workshop.machine("FMUs.PositioningAxisInverse").simulate(
        times, forward, ("force",), parameters
    )
    assert np.max(np.abs(inverse["force"] - force)) < 1e-6 * np.max(np.abs(force))


@pytest.mark.slow
def test_delta(workshop: Workshop) -> None:
    times = np.linspace(0.0, 2.0, 501)
    tau = {f"tau[{k}]": -0.15 + 0.2 * np.sin(7.0 * times + k) for k in (1, 2, 3)}
    motion = [f"{name}[{k}]" for name in ("q", "qd", "qdd") for k in (1, 2, 3)]
    parameters = {"gearEfficiency": 0.7, "lowerArmMass": 0.3}
    forward = workshop.machine("FMUs.DeltaForward").simulate(times, tau, motion, parameters)
    assert np.ptp(forward["q[1]"]) > 0.3
    inverse = workshop.machine("FMUs.DeltaInverse").simulate(times, forward, list(tau), parameters)
    for name, given in tau.items():
        assert np.max(np.abs(inverse[name] - given)) < 1e-6 * np.max(np.abs(given))


@pytest.mark.slow
def test_examples_hold_both_models_together(workshop: Workshop) -> None:
    for name, stop, scale in (
        ("SliderCrankRoundTrip", 4.0, 0.35),
        ("PositioningAxisMove", 5.0, 150.0),
        ("OscillatorStep", 10.0, 1e-3),
        ("DeltaFeedForward", 4.0, 1.0),
        ("TripodRoundTrip", 2.0, 0.2),
    ):
        times = np.linspace(0.0, stop, 1001)
        machine = workshop.machine(f"Examples.{name}")
        outputs = sorted(n for n in machine.names if n.startswith("difference"))
        for difference in machine.simulate(times, outputs=outputs, tolerance=1e-10).values():
            assert np.max(np.abs(difference)) < 1e-6 * scale, name
