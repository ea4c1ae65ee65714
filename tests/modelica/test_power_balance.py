"""Input power = rate of energy + dissipated power, without knowing the equations."""

from __future__ import annotations

import numpy as np
import pytest
from machines import Workshop
from motions import Fourier, at_centres, rate_at_centres, stencil_times, window_means

pytestmark = pytest.mark.slow  # builds or starts processes throughout

POWERS = ("kineticEnergy", "potentialEnergy", "inputPower", "dissipatedPower")

ARM_MOTIONS = (
    Fourier(
        1.57, 0.6, (-0.12, -0.01, -0.02, 0.06, 0.12, -0.04), (0.02, -0.12, 0.14, 0.14, 0.08, 0.13)
    ),
    Fourier(
        1.57,
        0.6,
        (-0.08, -0.1, 0.03, -0.06, 0.03, -0.12),
        (-0.12, 0.03, -0.06, -0.06, -0.14, -0.09),
    ),
    Fourier(
        1.57, 0.6, (0.09, 0.07, 0.07, -0.15, -0.01, 0.05), (-0.02, 0.01, 0.04, -0.06, 0.06, 0.04)
    ),
)
CRANK_MOTION = Fourier(1.57, 0.4, (4.0, 0.5, 1.5, 0.0, 0.0, 0.6), (0.0, 0.3, 0.2, 0.0, 0.4, 0.0))
AXIS_MOTION = Fourier(
    2.0, 0.1, (0.05, 0.0, 0.01, 0.0, 0.0, 0.004), (-0.1, 0.02, 0.0, 0.0, 0.006, 0.0)
)


@pytest.mark.parametrize(
    ("class_name", "motions", "parameters"),
    [
        ("FMUs.DeltaInverse", ARM_MOTIONS, {}),
        ("FMUs.DeltaInverse", ARM_MOTIONS, {"gearEfficiency": 0.6, "lowerArmMass": 0.9}),
        ("FMUs.SliderCrankInverse", (CRANK_MOTION,), {}),
        (
            "FMUs.SliderCrankInverse",
            (CRANK_MOTION,),
            {
                "momentY1": 0.003,
                "momentY2": -0.01,
                "momentX3": 0.02,
                "momentY3": 0.01,
                "gravity[1]": 3.0,
            },
        ),
        ("FMUs.PositioningAxisInverse", (AXIS_MOTION,), {}),
    ],
)
def test_inverse_machine(
    workshop: Workshop,
    class_name: str,
    motions: tuple[Fourier, ...],
    parameters: dict[str, float],
) -> None:
    machine = workshop.machine(class_name)
    step = 1e-3
    times = stencil_times(np.linspace(0.01, 4.01, 401), step)
    several = len(motions) > 1
    inputs = {
        f"{name}[{i}]" if several else name: motion(times, order)
        for i, motion in enumerate(motions, start=1)
        for order, name in enumerate(("q", "qd", "qdd"))
    }
    signals = machine.simulate(times, inputs, POWERS, parameters)
    energy = signals["kineticEnergy"] + signals["potentialEnergy"]
    power = at_centres(signals["inputPower"])
    error = power - rate_at_centres(energy, step) - at_centres(signals["dissipatedPower"])
    assert np.ptp(at_centres(signals["dissipatedPower"])) > 0.01 * np.ptp(power)
    assert np.max(np.abs(error)) < 1e-6 * np.max(np.abs(power))


@pytest.mark.each_time(
    "Examples.PositioningAxisMove-axis-3.2-0.0001",
    "Examples.RotaryDriveReversing-lugreDrive-2.0-0.0001",
    "Examples.SlideBreakAway-slide-3.0-0.0001",
    "Examples.SlidePresliding-slide-3.0-0.0001",
    "Examples.OscillatorStep-normal-3.0-0.0001",
)
@pytest.mark.parametrize(
    ("class_name", "part", "stop", "step"),
    [
        ("Examples.PositioningAxisMove", "axis", 3.2, 1e-4),
        ("Examples.RotaryDriveReversing", "smoothDrive", 2.0, 1e-4),
        ("Examples.RotaryDriveReversing", "lugreDrive", 2.0, 1e-4),
        ("Examples.SlideBreakAway", "slide", 3.0, 1e-4),
        ("Examples.SlidePresliding", "slide", 3.0, 1e-4),
        ("Examples.SliderCrankRoundTrip", "forward", 3.0, 2e-5),
        ("Examples.SliderCrankRoundTrip", "inverse", 3.0, 2e-5),
        ("Examples.OscillatorStep", "physical", 3.0, 1e-4),
        ("Examples.OscillatorStep", "normal", 3.0, 1e-4),
        ("Examples.DeltaFourier", "robot", 4.0, 1e-4),
        pytest.param("Examples.DeltaFeedForward", "robot", 4.0, 1e-4, marks=pytest.mark.nightly),
        ("Examples.TripodRoundTrip", "robot", 2.0, 1e-4),
        ("Examples.TripodRoundTrip", "inverse", 2.0, 1e-4),
    ],
)
def test_machine_in_motion(
    workshop: Workshop, class_name: str, part: str, stop: float, step: float
) -> None:
    """Means over windows of 20 ms: the law of LuGre has corners, where rates are not defined.

    The step must resolve the change of sign of the friction, for the quadrature's sake.
    """
    machine = workshop.machine(class_name)
    per_window = round(0.02 / step)
    windows = round(stop / (per_window * step))
    times = np.arange(windows * per_window + 1) * step
    names = [f"{part}.{name}" for name in POWERS]
    kinetic, potential, power, loss = machine.simulate(
        times, outputs=names, tolerance=1e-11
    ).values()
    energy = (kinetic + potential)[::per_window]
    rate = np.diff(energy) / (per_window * step)
    error = window_means(power - loss, per_window) - rate
    assert np.max(np.abs(rate)) > 0.01 * np.max(np.abs(power))
    assert np.max(np.abs(error)) < 1e-6 * np.max(np.abs(power))
