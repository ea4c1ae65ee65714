"""Event indicators that are signs, as OpenModelica's are, and modes that do not follow them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from fmident.arrays import F64
from fmident.errors import Code, SimulationError
from fmident.fmu import SimulationSetup

from .exchange import Exchange, Opened, Signal, states

BEARING = Exchange(
    "bearing.c",
    (
        *states("phi", "i", "w"),
        Signal("u", 6, "input", 0.0),
        Signal("k", 9, "parameter", 0.05),
    ),
    indicators=4,
)
SIGNS = Exchange(
    "signs.c",
    (
        *states("x"),
        Signal("level", 2, "parameter", 1.0),
        Signal("events", 3),
        Signal("kind", 0, "parameter", 0, "Integer"),
    ),
    indicators=2,
)
EXACT, HYSTERESIS, PAIR, FOLLOWS, BEHIND, FAR_BEHIND, ALTERNATES, STEPS_BEHIND, SMOOTH = range(9)
SLOPE = 50.0  # of the motor's voltage, V/s


def motor_speed(times: F64, k: float) -> F64:
    """Return the speed of the motor of bearing.c with u = SLOPE*t, rad/s."""
    r, inductance, j, d, torque = 1.0, 2.6e-3, 1e-3, 2.1e-4, 0.01

    def current(t: F64 | float) -> F64:
        decay = 1.0 - np.exp(-np.asarray(t) * r / inductance)
        return np.asarray(SLOPE / r * (t - inductance / r * decay))

    low, high = 0.0, float(times[-1])
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if k * current(middle) > torque else (middle, high)
    # d/dt (i, w, t, 1), from the instant at which it breaks away.
    system = np.array(
        [
            [-r / inductance, -k / inductance, SLOPE / inductance, 0.0],
            [k / j, -d / j, 0.0, -torque / j],
            [0.0, 0.0, 0.0, 1.0],
            [0.0, 0.0, 0.0, 0.0],
        ]
    )
    start = np.array([float(current(low)), 0.0, low, 1.0])
    return np.array([(expm(system * (t - low)) @ start)[1] if t > low else 0.0 for t in times])


def test_the_motor_breaks_away_at_every_parameter_and_tolerance(opened: Opened) -> None:
    times, ks = np.linspace(0.0, 0.05, 11), np.linspace(0.05, 0.09, 41)
    wanted = np.array([motor_speed(times, k) for k in ks])
    with opened(BEARING).simulator(reuse="trusted") as simulator:
        for tolerance in 10.0 ** -np.arange(6.0, 12.0):
            setup = SimulationSetup(
                times, ("u",), SLOPE * times[:, None], ("w",), tolerance=tolerance
            )
            found = np.array([simulator.simulate(setup, {"k": k})[:, 0] for k in ks])
            error = np.max(np.abs(found - wanted))
            assert error < max(100.0 * tolerance, 1e-9), tolerance
        assert simulator.doubt == ""


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9])
@pytest.mark.parametrize(
    ("kind", "rate", "begins"),
    [
        (EXACT, 0.5, 1.0),
        (HYSTERESIS, 0.5, 1.0 + 1e-6),
        (PAIR, 0.25, 1.0 + 2.0 / 3.0 * 1e-6),
        (FOLLOWS, 0.25, 1.0),
        (BEHIND, 0.5, 1.0),
    ],
    ids=["exact", "hysteresis", "two at once", "another right after it", "behind the indicator"],
)
def test_indicators_that_are_signs(
    opened: Opened, kind: int, rate: float, begins: float, tolerance: float
) -> None:
    times = np.linspace(0.0, 2.0, 41)
    setup = SimulationSetup(times, output_names=("x",), tolerance=tolerance)
    with opened(SIGNS).simulator() as simulator:
        found = simulator.simulate(setup, {"kind": kind})[:, 0]
    wanted = np.where(times < begins, times, begins + rate * (times - begins))
    np.testing.assert_allclose(found, wanted, atol=max(2.0 * tolerance, 1e-8))


def test_an_event_that_is_late_is_told(opened: Opened) -> None:
    setup = SimulationSetup(np.linspace(0.0, 2.0, 41), output_names=("x",), tolerance=1e-6)
    with opened(SIGNS).simulator() as simulator:
        simulator.simulate(setup, {"kind": BEHIND})
        assert simulator.doubt == ""
        found = simulator.simulate(setup, {"kind": FAR_BEHIND})
        # It needs 1e-3, and is asked at distances that grow tenfold.
        assert 1.5 + 0.5e-3 < found[-1, 0] < 1.5 + 5e-3
        assert "contradict the FMU's mode: the event at t = 1 s" in simulator.doubt
        assert [r.message for r in simulator.log] == [simulator.doubt]


@pytest.mark.parametrize(
    ("samples", "found_at"), [(141, 5.0), (35, 1.7)], ids=["ten steps late", "at the end only"]
)
def test_an_event_that_is_many_steps_late_is_told(
    opened: Opened, samples: int, found_at: float
) -> None:
    # Its effect needs 0.6 more than 1.0: 12 steps of 0.05.
    times = 0.05 * np.arange(samples)
    setup = SimulationSetup(times, output_names=("x",), tolerance=1e-6)
    with opened(SIGNS).simulator() as simulator:
        found = simulator.simulate(setup, {"kind": STEPS_BEHIND})[:, 0]
        assert "the event at t = 1 s has its effect only" in simulator.doubt
    wanted = np.where(times < 1.0 + found_at, times, 1.0 + 0.5 * (times + found_at - 1.0))
    np.testing.assert_allclose(found, np.minimum(times, wanted), atol=1e-5)


def test_an_event_that_is_behind_its_indicator_is_not_differentiated(opened: Opened) -> None:
    setup = SimulationSetup(
        np.linspace(0.0, 2.0, 41), output_names=("x",), sensitivities=("level",)
    )
    with opened(SIGNS).simulator() as simulator:
        with pytest.raises(SimulationError, match="only when it is repeated") as caught:
            simulator.simulate(setup, {"kind": SMOOTH})
        assert caught.value.code == Code.NOT_DIFFERENTIABLE
        assert caught.value.time == pytest.approx(1.0)


def test_indicators_that_change_with_each_event_are_refused(opened: Opened) -> None:
    setup = SimulationSetup(np.linspace(0.0, 2.0, 41), output_names=("x",))
    with opened(SIGNS).simulator() as simulator:
        with pytest.raises(SimulationError, match="side of indicator 1") as caught:
            simulator.simulate(setup, {"kind": ALTERNATES})
        assert caught.value.time == pytest.approx(1.0)
        assert np.isfinite(simulator.simulate(setup)).all()


def test_signs_are_not_differentiated(opened: Opened) -> None:
    setup = SimulationSetup(
        np.linspace(0.0, 2.0, 41), output_names=("x",), sensitivities=("level",)
    )
    with opened(SIGNS).simulator() as simulator:
        for kind in (EXACT, HYSTERESIS):
            with pytest.raises(SimulationError, match="indicator 0 jumps") as caught:
                simulator.simulate(setup, {"kind": kind})
            assert caught.value.code == Code.NOT_DIFFERENTIABLE
