"""Torque and energies of the slider-crank are linear in every standard inertial parameter."""

from __future__ import annotations

import numpy as np
import pytest
from machines import Machine, Workshop
from motions import Fourier

STANDARD = tuple(
    f"{kind}{body}" for body in (1, 2, 3) for kind in ("inertia", "momentX", "momentY", "mass")
)
OUTPUTS = ("tau", "kineticEnergy", "potentialEnergy")
TIMES = np.linspace(0.0, 4.0, 201)
MOTION = Fourier(1.57, 0.4, (4.0, 0.5, 1.5), (0.0, 0.3, 0.2))
WITHOUT_FRICTION = {"coulombForce": 0.0, "viscousFriction": 0.0, "gravity[1]": 2.0}


def response(machine: Machine, standard: np.ndarray) -> np.ndarray:
    values = {**WITHOUT_FRICTION, **dict(zip(STANDARD, standard, strict=True))}
    inputs = {name: MOTION(TIMES, order) for order, name in enumerate(("q", "qd", "qdd"))}
    signals = machine.simulate(TIMES, inputs, OUTPUTS, values)
    return np.stack([signals[name] for name in OUTPUTS])


@pytest.fixture(scope="module")
def crank(workshop: Workshop) -> Machine:
    return workshop.machine("FMUs.SliderCrankInverse")


def test_superposition(crank: Machine) -> None:
    columns = np.stack([response(crank, unit) for unit in np.eye(len(STANDARD))])
    random = np.random.default_rng(1)
    for _ in range(5):
        standard = random.uniform(0.0, 2.0, len(STANDARD))
        expected = np.tensordot(standard, columns, axes=1)
        found = response(crank, standard)
        assert np.max(np.abs(found - expected)) < 1e-12 * np.max(np.abs(found))


def test_zero_parameters_give_zero(crank: Machine) -> None:
    assert np.max(np.abs(response(crank, np.zeros(len(STANDARD))))) == 0.0


@pytest.mark.parametrize("name", ["mass1", "inertia3", "momentX3", "momentY3"])
def test_parameter_has_no_influence_on_the_torque(crank: Machine, name: str) -> None:
    unit = np.array([float(n == name) for n in STANDARD])
    assert np.max(np.abs(response(crank, unit)[0])) == 0.0


def test_base_parameters_determine_the_torque(crank: Machine) -> None:
    """Moving mass between bodies so that the six base parameters stay leaves the torque."""
    values = dict(zip(STANDARD, np.random.default_rng(2).uniform(0.1, 1.0, 12), strict=True))
    moved = dict(values)
    l1, l2 = 0.08, 0.25
    d2, d3 = 0.3, -0.07
    moved["mass2"] += d2
    moved["mass3"] += d3
    moved["inertia1"] -= l1**2 * (d2 + d3)
    moved["momentX1"] -= l1 * (d2 + d3)
    moved["inertia2"] -= l2**2 * d3
    moved["momentX2"] -= l2 * d3
    before = response(crank, np.array([values[n] for n in STANDARD]))[0]
    after = response(crank, np.array([moved[n] for n in STANDARD]))[0]
    assert np.max(np.abs(after - before)) < 1e-12 * np.max(np.abs(before))
