"""The positioning axis under a sampled controller: two delays in the loop."""

from __future__ import annotations

from itertools import pairwise
from math import tanh

import numpy as np
from machines import Workshop
from motions import window_means
from scipy.integrate import solve_ivp

CLASS = "FMUs.PositioningAxisDelayedLoop"
TIMES = np.linspace(0.0, 1.0, 2001)
KNOTS, TARGETS = [0.0, 0.2, 0.5, 0.7, 1.0], [0.0, 0.04, 0.04, -0.01, 0.03]
REFERENCE = np.interp(TIMES, KNOTS, TARGETS)


def test_agrees_with_a_right_side_written_by_hand(workshop: Workshop) -> None:
    mass, viscous, coulomb, offset, late, hold = 95.1089, 203.5034, 20.3935, -3.1648, 8e-4, 6e-4
    gain, kp, kv = 35.15065188248547, 160.18, 243.45

    def rate(t: float, x: list[float]) -> list[float]:
        q, v, a, b = x  # a, b: first-order lags of half the delays
        volts = kv * (kp * (np.interp(t, KNOTS, TARGETS) - q) - (2.0 * a - v))
        volts = 0.5 * (
            np.hypot(volts + 10.0, 1e-3) - np.hypot(volts - 10.0, 1e-3)
        )  # the limit's rounded corners
        acting = 2.0 * b - gain * volts
        force = acting - viscous * v - coulomb * tanh(v / 1e-3) - offset
        return [v, force / mass, 2.0 * (v - a) / late, 2.0 * (gain * volts - b) / hold]

    pieces, state = [], [0.0, 0.0, 0.0, 0.0]
    for begin, end in pairwise(KNOTS):
        at = TIMES[np.searchsorted(TIMES, begin - 1e-9) : np.searchsorted(TIMES, end + 1e-9)]
        solution = solve_ivp(
            rate, (begin, end), state, "LSODA", np.clip(at, begin, end), rtol=1e-10, atol=1e-13
        )
        assert solution.success
        pieces.append(solution.y[:, :-1])
        state = solution.y[:, -1]
    q, v = np.hstack([*pieces, np.array(state)[:, None]])[:2]
    found = workshop.machine(CLASS).simulate(
        TIMES,
        {"q_ref": REFERENCE},
        ("q", "qd"),
        {"speedDelay": late, "driveDelay": hold},
        tolerance=1e-10,
    )
    assert np.max(np.abs(found["q"] - q)) < 1e-6 * np.ptp(q)
    assert np.max(np.abs(found["qd"] - v)) < 1e-6 * np.ptp(v)


def test_tends_to_the_continuous_loop_as_the_delays_vanish(workshop: Workshop) -> None:
    plain = workshop.machine("FMUs.PositioningAxisClosedLoop").simulate(
        TIMES, {"q_ref": REFERENCE}, ("q",), tolerance=1e-11
    )["q"]

    def distance(delay: float) -> float:
        delayed = workshop.machine(CLASS).simulate(
            TIMES,
            {"q_ref": REFERENCE},
            ("q",),
            {"speedDelay": delay, "driveDelay": delay},
            tolerance=1e-11,
        )["q"]
        return float(np.max(np.abs(delayed - plain)))

    far, near = distance(1e-4), distance(1e-5)
    assert near < 0.12 * far  # of first order in the delay
    assert near < 1e-3 * np.ptp(plain)


def test_power_balance(workshop: Workshop) -> None:
    """Means over windows of 20 ms."""
    names = ("kineticEnergy", "potentialEnergy", "inputPower", "dissipatedPower")
    step, per_window = 2.5e-5, 800
    times = np.arange(20 * per_window * 2 + 1) * step
    reference = 0.01 * (1.0 - np.cos(15.0 * times))
    kinetic, potential, power, loss = (
        workshop.machine(CLASS)
        # A wide smooth sign, so that the quadrature resolves the reversals.
        .simulate(times, {"q_ref": reference}, names, {"speedWidth": 0.02}, tolerance=1e-11)
        .values()
    )
    change = np.diff((kinetic + potential)[::per_window]) / (per_window * step)
    error = window_means(power - loss, per_window) - change
    assert np.max(np.abs(error)) < 1e-6 * np.max(np.abs(power))
