"""The positioning axis under its sampled controller, against solutions of another kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from fmident.arrays import F64
from fmident.compilers.base import Compiler
from fmident.fmu import SimulationSetup, open_fmu

from ..kept import library_fmu

ROOT = Path(__file__).parents[2]
NAME = "PositioningAxisSampledController"
SOURCES = (
    ROOT / "examples" / "positioning-axis" / f"{NAME}.mo",
    ROOT / "modelica" / "Mechanisms",
)
GTAU, KP, KV = 35.15065188248547, 160.18, 243.45
OUTPUTS = ("q", "qd", "force")


@pytest.fixture
def fmu(embedded_compiler: Compiler) -> Path:
    return library_fmu(embedded_compiler, NAME, SOURCES)


def simulate(
    fmu: Path, times: F64, reference: F64, values: dict[str, float], *, derivatives: bool = False
) -> F64:
    """Return the outputs; behind them their derivatives with respect to each value."""
    setup = SimulationSetup(
        times,
        input_names=("q_ref",),
        inputs=reference[:, np.newaxis],
        output_names=OUTPUTS,
        tolerance=1e-10,
        sensitivities=tuple(values) if derivatives else (),
    )
    with open_fmu(fmu) as opened, opened.simulator() as simulator:
        return simulator.simulate(setup, values)


def without_coulomb_friction(
    times: F64,
    target: float,
    *,
    m: complex,
    viscousFriction: complex,  # as in the model
    offset: complex,
    positionGain: complex,
    samplePeriod: complex,
    qd_start: complex,
) -> np.ndarray[Any, Any]:
    """The plant by the exponential of its matrix, the controller in positions two samples apart."""
    period = samplePeriod
    matrix = np.array([[0, 1, 0], [0, -viscousFriction / m, 1], [0, 0, 0]], complex)
    state = np.array([0, qd_start, 0], complex)
    before, twice_before = -period * qd_start, -2 * period * qd_start
    now, force, tick, rows = 0j, 0j, 0, []
    for time in times:
        while tick * period.real <= time:
            state = expm(matrix * (tick * period - now)) @ state
            now, q = tick * period, state[0]
            speed = (q - twice_before) / (2 * period)
            force = GTAU * KV * (positionGain * (target - q) - speed)
            before, twice_before = q, before
            state[2] = (force - offset) / m
            tick += 1
        state = expm(matrix * (time - now)) @ state
        now = time
        rows.append([state[0], state[1], force])
    return np.array(rows)


def test_linear_loop_and_its_derivatives_in_closed_form(fmu: Path) -> None:
    """Derivatives by complex steps; the instants of the samples move with their period."""
    values = {
        "m": 80.0,
        "viscousFriction": 230.0,
        "offset": -3.0,
        "positionGain": 150.0,
        "samplePeriod": 0.97e-3,
        "qd_start": 2e-3,
    }
    times, target = np.arange(121) * 1.013e-3, 2e-4
    # coulombForce is fixed, but set as the values are.
    given = {**values, "coulombForce": 0.0}
    found = simulate(fmu, times, np.full(121, target), given, derivatives=True)
    blocks = [found[:, k : k + 3] for k in range(0, found.shape[1], 3)]

    def expect(**moved: complex) -> np.ndarray[Any, Any]:
        known = {name: complex(value) for name, value in values.items()}
        return without_coulomb_friction(times, target, **{**known, **moved})

    def same(block: F64, expected: F64, what: str) -> None:
        scale = np.abs(expected).max(axis=0)
        assert (np.abs(block - expected).max(axis=0) < 1e-7 * scale).all(), what

    assert np.abs(blocks[0][:, 2]).max() < 10 * GTAU  # within the limit
    same(blocks[0], np.real(expect()), "outputs")
    for block, (name, value) in zip(blocks[1:], values.items(), strict=False):
        same(block, np.imag(expect(**{name: value + 1e-30j})) / 1e-30, name)


def test_friction_and_the_limit_of_the_voltage(fmu: Path) -> None:
    """Between two samples by a Runge-Kutta method of order 8."""
    mass, viscous, coulomb, offset, width = 95.1089, 203.5034, 20.3935, -3.1648, 1e-3
    start = {"q_start": 1e-3, "qd_start": 6e-3}
    times = np.arange(301) * 1e-3
    reference = 1e-3 + 6e-3 * times + 2e-3 * (times > 0.15)

    q, v, rows = start["q_start"], start["qd_start"], []
    held = [q - 1e-3 * v, q - 2e-3 * v]
    for wanted in reference:
        volts = float(np.clip(KV * (KP * (wanted - q) - (q - held[1]) / 2e-3), -10.0, 10.0))
        held = [q, held[0]]
        force = GTAU * volts
        rows.append([q, v, force])
        solution = solve_ivp(
            lambda _, x, force=force: [
                x[1],
                (force - viscous * x[1] - coulomb * np.tanh(x[1] / width) - offset) / mass,
            ],
            (0.0, 1e-3),
            [q, v],
            "DOP853",
            rtol=1e-11,
            atol=1e-15,
        )
        assert solution.success
        q, v = solution.y[:, -1]
    expected = np.array(rows)
    assert np.abs(expected[:, 2]).max() == pytest.approx(10 * GTAU, rel=1e-12)
    found = simulate(fmu, times, reference, start)
    assert (np.abs(found - expected).max(axis=0) < 1e-7 * np.ptp(expected, axis=0)).all()
