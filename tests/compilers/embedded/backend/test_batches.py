"""Simulations side by side give the bits of each alone, whatever the others do."""

from __future__ import annotations

import json
import platform
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fmident.errors import SimulationError
from fmident.fmu import SimulationSetup, open_fmu
from fmident.fmu.batches import offers_batches
from fmident.fmu.model_description.extensions import BATCHES
from fmident.fmu.simulator import Simulator

from .conftest import MODELS, Builder

Array = np.ndarray
Values = dict[str, float]


def wide_registers() -> bool:
    """Whether this machine has what batches need."""
    needed = {"avx512f", "avx512dq", "avx512vl", "avx512bw", "avx512cd", "fma", "bmi2"}
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return platform.machine() == "x86_64" and needed <= set(flags.split())


def together(simulator: Simulator, setup: SimulationSetup, sets: list[Values]) -> dict[int, Array]:
    found: dict[int, Array] = {}
    simulator.simulate_batch(setup, sets, found.__setitem__)
    return found


def alone(simulator: Simulator, setup: SimulationSetup, values: Values) -> Array | None:
    try:
        return simulator.simulate(setup, values)
    except SimulationError:
        return None


def setup_of(simulator: Simulator, stop: float, rows: int, **more: object) -> SimulationSetup:
    """Drive all inputs, and record all that varies."""
    variables = simulator.description.variables
    times = np.linspace(0.0, stop, rows)
    inputs = tuple(v.name for v in variables if v.causality == "input")
    phases = np.arange(len(inputs)) + 1.0
    signals = (
        0.6
        + 0.3 * np.sin(7.0 / stop * np.outer(times, phases))
        + 0.1 * np.cos(31.0 / stop * np.outer(times, phases))
    )
    outputs = tuple(dict.fromkeys(v.name for v in variables if v.variability == "continuous"))
    return SimulationSetup(times, inputs, signals, outputs, **more)  # type: ignore[arg-type]


def sets_of(simulator: Simulator, count: int, spread: float) -> list[Values]:
    """Draw all parameters and start values."""
    random = np.random.default_rng(5)
    settable = [v for v in simulator.description.variables if v.causality == "parameter"]
    return [
        {v.name: float(v.start or 0.0) * (1.0 + spread * random.uniform(-1, 1)) for v in settable}
        for _ in range(count)
    ]


ALONE = {"draining", "rod"}
"""What always fails, and what is too large."""


def check(simulator: Simulator, setup: SimulationSetup, sets: list[Values]) -> dict[int, Array]:
    """Return what was simulated side by side, after a look at its bits."""
    found = together(simulator, setup, sets)
    for k, outputs in found.items():
        expected = alone(simulator, setup, sets[k])
        assert expected is not None
        assert outputs.tobytes() == expected.tobytes()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MODELS))
def test_each_has_the_bits_that_it_has_alone(fmus: Builder, name: str) -> None:
    with open_fmu(fmus.path(name)) as fmu, fmu.simulator(reuse="trusted") as simulator:
        found = check(simulator, setup_of(simulator, 1.0, 101), sets_of(simulator, 11, 0.3))
    if wide_registers() and name != "tank":
        assert len(found) == (0 if name in ALONE else 11)


@pytest.mark.slow
@pytest.mark.parametrize("interpolation", ["linear", "hold"])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-9])
def test_tolerance_and_interpolation_are_those_of_the_setup(
    fmus: Builder, interpolation: str, tolerance: float
) -> None:
    with open_fmu(fmus.path("motor")) as fmu, fmu.simulator(reuse="trusted") as simulator:
        setup = setup_of(
            simulator, 0.2, 41, tolerance=tolerance, interpolation=interpolation,
            start_values={"w": 0.25},
        )  # fmt: skip
        sets = [{"i": 0.1 * k} for k in range(9)]
        found = check(simulator, setup, sets)
    assert len(found) == (9 if wide_registers() else 0)


@pytest.mark.slow
def test_failures_are_left_to_a_run_alone_and_change_nothing_for_others(fmus: Builder) -> None:
    with open_fmu(fmus.path("pendulum")) as fmu, fmu.simulator(reuse="trusted") as simulator:
        setup = setup_of(simulator, 2.0, 101)
        speeds = [1.0, 40.0, 2.0, 15.0, 0.5, 1.5, 2.5, 80.0, 0.7, 0.9, 60.0, 1.1]
        sets = [{"w0": speed} for speed in speeds]
        failing = [k for k, values in enumerate(sets) if alone(simulator, setup, values) is None]
        found = check(simulator, setup, sets)
        runs = simulator.statistics.runs
        assert together(simulator, setup, sets).keys() == found.keys()
        assert simulator.statistics.runs == runs + len(found)
    assert failing
    if wide_registers():
        assert sorted(found) == [k for k in range(len(sets)) if k not in failing]


@pytest.mark.slow
def test_what_a_simulation_alone_refuses_is_left_to_it(fmus: Builder) -> None:
    with open_fmu(fmus.path("oscillator")) as fmu, fmu.simulator() as simulator:
        setup = setup_of(simulator, 1.0, 11)
        sets: list[dict[str, object]] = [{"k": 40.0}, {"k": True}, {"k": float("nan")}, {"k": 60.0}]
        found = together(simulator, setup, sets)  # type: ignore[arg-type]
        assert set(found) <= {0, 3}
        assert not together(simulator, setup_of(simulator, 1.0, 11, interpolation="mean"), [{}])
        with_sensitivities = setup_of(simulator, 1.0, 11, sensitivities=("k",))
        assert not together(simulator, with_sensitivities, [{}, {}])


@pytest.mark.slow
def test_a_batch_that_takes_too_long_is_given_up(fmus: Builder) -> None:
    with open_fmu(fmus.path("oscillator")) as fmu, fmu.simulator() as simulator:
        found: dict[int, Array] = {}
        setup = setup_of(simulator, 1.0, 11)
        simulator.simulate_batch(setup, [{}, {}], found.__setitem__, time_limit=0.0)
        assert not found


@pytest.mark.slow
def test_an_fmu_says_what_it_offers(fmus: Builder) -> None:
    with zipfile.ZipFile(fmus.path("oscillator")) as archive:
        described = json.loads(archive.read(BATCHES.member))
    assert described == {
        "version": 1,
        "start": "fmidentStartBatch",
        "advance": "fmidentAdvanceBatch",
        "end": "fmidentEndBatch",
    }
    assert offers_batches(fmus.path("oscillator"))
    assert not offers_batches(fmus.path("oscillator", "cvode"))
    assert not offers_batches(fmus.path("rod"))  # too large
    assert not offers_batches(Path(__file__))
