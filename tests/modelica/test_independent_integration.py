"""The FMUs agree with right sides written by hand and integrated by SciPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import cos, exp, sin, tanh

import numpy as np
import pytest
from machines import Workshop
from scipy.integrate import solve_ivp
from scipy.linalg import expm

State = list[float]


def integrated(
    rate: Callable[[float, State], State], start: State, times: np.ndarray, scale: State
) -> np.ndarray:
    """States at `times`, one row per state."""
    solution = solve_ivp(
        rate,
        (times[0], times[-1]),
        start,
        method="LSODA",
        t_eval=times,
        rtol=1e-12,
        atol=1e-13 * np.array(scale),
        max_step=1e-3,
    )
    assert solution.success, solution.message
    return np.asarray(solution.y)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


@pytest.mark.parametrize(
    "values",
    [
        {"m": 3.0, "d": 0.05, "k": 400.0},
        {"m": 3.0, "d": 60.0, "k": 400.0, "x_start": 0.2, "v_start": -1.0},
        {"m": 0.01, "d": 3.0, "k": 5.0, "x_start": -0.1},
    ],
)
def test_mass_spring_damper_exactly(workshop: Workshop, values: dict[str, float]) -> None:
    """Linear system with an input of straight lines: one matrix exponential per step."""
    times = np.linspace(0.0, 5.0, 1251)
    force = 300.0 * np.sin(7.0 * times) + 50.0 * np.cos(23.0 * times)
    m, d, k = values["m"], values["d"], values["k"]
    step = times[1] - times[0]
    matrix = np.zeros((4, 4))  # states x, v, F, F' of one step
    matrix[0, 1], matrix[2, 3] = 1.0, 1.0
    matrix[1, :3] = [-k / m, -d / m, 1.0 / m]
    transition = expm(matrix * step)
    state = np.array([values.get("x_start", 0.0), values.get("v_start", 0.0)])
    rows = [state]
    for now, then in pairwise(force):
        state = (transition @ np.array([*state, now, (then - now) / step]))[:2]
        rows.append(state)
    expected = np.array(rows)
    signals = workshop.machine("FMUs.MassSpringDamper").simulate(
        times, {"F": force}, ("x", "v", "a"), values, 1e-10
    )
    assert relative(signals["x"], expected[:, 0]) < 1e-6
    assert relative(signals["v"], expected[:, 1]) < 1e-6
    acceleration = (force - d * expected[:, 1] - k * expected[:, 0]) / m
    assert relative(signals["a"], acceleration) < 1e-6
    normal = workshop.machine("FMUs.MassSpringDamperNormalForm").simulate(
        times,
        {"u": force / m},
        ("x", "v", "a"),
        {
            "omega0": np.sqrt(k / m),
            "zeta": d / (2.0 * np.sqrt(k * m)),
            "x_start": values.get("x_start", 0.0),
            "v_start": values.get("v_start", 0.0),
        },
        1e-10,
    )
    assert relative(normal["x"], expected[:, 0]) < 1e-6
    assert relative(normal["a"], acceleration) < 1e-6


@pytest.mark.parametrize(
    ("example", "force"),
    [
        ("SlidePresliding", lambda t: 1.1 * sin(5.0 * t)),
        (
            "SlideBreakAway",
            lambda t: 1.7 * sin(5.0 * t) + 0.5 * sin(1.7 * t) + 0.15 * sin(23.0 * t),
        ),
    ],
)
def test_slide_with_lugre_friction(
    workshop: Workshop, example: str, force: Callable[[float], float]
) -> None:
    """By hand with the exact magnitude |v|, which the machine rounds off below 1e-9 m/s."""
    sigma0, sigma1, sigma2, coulomb, static, stribeck = 1e5, 316.0, 0.4, 1.0, 1.5, 0.001

    def friction(v: float, z: float) -> tuple[float, float]:
        level = coulomb + (static - coulomb) * exp(-min((v / stribeck) ** 2, 700.0))
        slip = v - sigma0 * abs(v) / level * z
        return sigma0 * z + sigma1 * slip + sigma2 * v, slip

    def rate(t: float, state: State) -> State:
        _, v, z = state
        f, slip = friction(v, z)
        return [v, force(t) - f, slip]

    times = np.linspace(0.0, 2.0, 401)
    x, v, z = integrated(rate, [0.0, 0.0, 0.0], times, [1e-3, 1e-2, 1e-3])
    f = np.array([friction(a, b)[0] for a, b in zip(v, z, strict=True)])
    names = ("x", "v", "bristleDeflection", "frictionForce")
    signals = workshop.machine(f"Examples.{example}").simulate(
        times, outputs=[f"slide.{n}" for n in names], tolerance=1e-11
    )
    found = {
        n: relative(signals[f"slide.{n}"], e) for n, e in zip(names, (x, v, z, f), strict=True)
    }
    assert max(found.values()) < 1e-6, found


def test_positioning_axis_closed_loop(workshop: Workshop) -> None:
    mass, viscous, coulomb, offset = 95.1089, 203.5034, 20.3935, -3.1648
    gain, kp, kv, limit, width = 35.15065188248547, 160.18, 243.45, 10.0, 1e-3

    def accelerated(t: float, q: float, v: float) -> tuple[float, float]:
        wanted = 0.12 * (1.0 - cos(2.0 * t)) + 0.01 * (1.0 - cos(11.0 * t))
        volts = max(-limit, min(limit, kv * (kp * (wanted - q) - v)))
        return (gain * volts - viscous * v - coulomb * tanh(v / width) - offset) / mass, volts

    def rate(t: float, state: State) -> State:
        q, v = state
        return [v, accelerated(t, q, v)[0]]

    times = np.linspace(0.0, 5.0, 1001)
    q, v = integrated(rate, [0.0, 0.0], times, [1.0, 1.0])
    pairs = np.array([accelerated(*row) for row in zip(times, q, v, strict=True)])
    expected = {"q": q, "qd": v, "qdd": pairs[:, 0], "voltage": pairs[:, 1]}
    signals = workshop.machine("Examples.PositioningAxisMove").simulate(
        times, outputs=[f"axis.{n}" for n in expected], tolerance=1e-11
    )
    found = {n: relative(signals[f"axis.{n}"], e) for n, e in expected.items()}
    assert max(found.values()) < 1e-6, found


def test_positioning_axis_never_passes_the_voltage_limit(workshop: Workshop) -> None:
    times = np.linspace(0.0, 3.0, 301)
    step = np.where(times < 0.5, 0.0, 0.2)
    signals = workshop.machine("FMUs.PositioningAxisClosedLoop").simulate(
        times, {"q_ref": step}, ("voltage", "q"), {}
    )
    assert np.max(np.abs(signals["voltage"])) <= 10.0
    assert np.max(np.abs(signals["voltage"])) > 9.999
    assert signals["q"][-1] == pytest.approx(0.2, abs=1e-3)
