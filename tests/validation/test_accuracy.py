"""Limits that follow from a tolerance and from what it leaves in each signal."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.fmu import ModelDescription, SimulationSetup, Variable
from fmident.fmu.setup import between, resampled
from fmident.validation.checks.accuracy import limits, magnitudes

TIMES = np.linspace(0.0, 1.0, 201)
DESCRIPTION = ModelDescription(
    "M",
    "g",
    "2.0",
    "M",
    (
        Variable("force", 0, unit="N"),
        Variable("difference", 1, unit="N"),
        Variable("angle", 2, unit="rad"),
        Variable("still", 3, unit="m"),
    ),
)
NAMES = ("force", "difference", "angle", "still")


def signals(error: float) -> np.ndarray:
    """Return the signals as an integration with an error in the force computes them."""
    force = 1e3 * np.sin(6.0 * TIMES) + error * 1e3 * np.cos(40.0 * TIMES)
    other = 1e3 * np.sin(6.0 * TIMES)
    return np.column_stack([force, force - other, np.cos(TIMES), 0.0 * TIMES])


def test_a_difference_is_allowed_the_errors_of_its_terms() -> None:
    """Its own range says nothing: it is zero but for the errors of the integration."""
    tolerance = 1e-8
    precise = signals(1e-11)
    derived = limits(precise, signals(2.0 * tolerance), tolerance, NAMES, DESCRIPTION)
    _, gap, allowed = derived.worst(signals(-4.0 * tolerance), precise)
    assert gap <= allowed
    name, gap, allowed = derived.worst(signals(1e-5), precise)
    assert NAMES[name] in ("force", "difference")
    assert gap > allowed


@pytest.mark.parametrize(("column", "error"), [(2, 1e-5), (3, 1e-9)])
def test_a_signal_without_such_errors_is_not(column: int, error: float) -> None:
    precise = signals(1e-11)
    derived = limits(precise, signals(1e-8), 1e-8, NAMES, DESCRIPTION)
    found = precise.copy()
    found[100, column] += error
    worst, gap, allowed = derived.worst(found, precise)
    assert worst == column
    assert gap > allowed


def test_noise_of_a_difference_is_that_of_its_terms() -> None:
    known = magnitudes(signals(1e-8), NAMES, DESCRIPTION)
    force, difference, angle, still = known.noise(1e-8)
    assert difference == force == pytest.approx(1e-4, rel=1e-3)
    assert difference > known.span[1]
    assert angle == pytest.approx(1e-7, rel=1e-3)
    assert still == pytest.approx(1e-12)


def test_equal_results_are_within_any_limit() -> None:
    precise = signals(1e-11)
    derived = limits(precise, precise, 1e-8, NAMES, DESCRIPTION)
    assert derived.worst(precise, precise)[1] == 0.0
    rounded = precise * (1.0 + 1e-15) + 1e-14
    assert derived.worst(rounded, precise)[1] <= derived.worst(rounded, precise)[2]


@pytest.mark.parametrize("interpolation", ["auto", "hold"])
def test_steps_within_a_communication_step_see_the_same_inputs(interpolation: str) -> None:
    setup = SimulationSetup(
        np.array([0.0, 1.0, 3.0]),
        ("u",),
        np.array([[1.0], [2.0], [0.0]]),
        ("y",),
        interpolation=interpolation,  # type: ignore[arg-type]  # one of the four
    )
    finer = resampled(setup, between(setup.times, 2))
    np.testing.assert_allclose(finer.times, [0.0, 0.5, 1.0, 2.0, 3.0])
    assert finer.inputs is not None
    expected = [1.0, 1.0, 2.0, 2.0, 0.0] if interpolation == "hold" else [1.0, 1.5, 2.0, 1.0, 0.0]
    np.testing.assert_allclose(finer.inputs[:, 0], expected)
