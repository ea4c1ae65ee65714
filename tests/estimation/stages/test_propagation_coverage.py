"""Coverage of the intervals of two stages over many draws of the noise.

A friction curve gives the sliding friction, then a mass that slides to rest gives mass and initial
speed: the two steps of a LuGre identification in closed form.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fmident.data import Experiment, Measurement
from fmident.estimation import EstimationResult, run_stages
from fmident.evaluation import PythonExecutor
from fmident.plugins import load_plugins
from fmident.problem import (
    EstimatorSettings,
    EvaluationSettings,
    Parameter,
    Problem,
    Stage,
    stage_of,
)

TRUTH = {"Fc": 1.0, "s2": 0.8, "m": 1.5, "v0": 1.2}
SPEEDS, TIMES = np.linspace(0.1, 1.5, 12), np.linspace(0.0, 0.9, 15)
NOISE = {"force": 0.05, "speed": 0.004}
ESTIMATORS = load_plugins().estimators
# An exact formula: no noise of the simulation to measure.
EXACT = EvaluationSettings(check=False, relative_step=1e-6)


def model(
    times: np.ndarray, inputs: Any, Fc: float, s2: float, m: float = 1.0, v0: float = 1.0
) -> dict[str, np.ndarray]:
    """Return the friction force at the speed that stands for the time, and the sliding speed."""
    rest = Fc / s2
    return {"force": Fc + s2 * times, "speed": (v0 + rest) * np.exp(-s2 * times / m) - rest}


def drawn(rng: np.random.Generator, sigma: bool) -> Problem:
    """Return the problem with a draw of the noise, its deviation given or not."""
    experiments = []
    for name, output, times in (("curve", "force", SPEEDS), ("slide", "speed", TIMES)):
        values = model(times, {}, **TRUTH)[output] + NOISE[output] * rng.normal(size=times.size)
        given = np.array(NOISE[output]) if sigma else None
        y = Measurement(output, output, output, values, sigma=given)
        experiments.append(Experiment(name, times, {}, (y,)))
    parameters = (
        *(Parameter(n, TRUTH[n], 0.01, 10.0, variable=n) for n in ("Fc", "s2")),
        *(
            Parameter(n, TRUTH[n], 0.01, 10.0, variable=n, experiments=("slide",), scaling="log")
            for n in ("m", "v0")
        ),
    )
    return Problem(
        Path("m.fmu"), parameters, tuple(experiments), EstimatorSettings("least-squares"), EXACT
    )


def solved(problem: Problem, *stages: Stage) -> EstimationResult:
    staged = dataclasses.replace(problem, stages=stages)
    return run_stages(
        staged, lambda asked: PythonExecutor(asked, model), lambda name: ESTIMATORS.get(name)()
    )


def coverage(found: list[EstimationResult], freedom: float) -> tuple[dict[str, float], ...]:
    """Return the shares of intervals that hold the truth, as given, and without propagation."""
    whole, alone = dict.fromkeys(TRUTH, 0.0), dict.fromkeys(("m", "v0"), 0.0)
    t = stats.norm.ppf(0.975) if np.isinf(freedom) else stats.t.ppf(0.975, freedom)
    for result in found:
        carried = result.stages[-1].uncertainty
        assert carried is not None
        for e in result.estimates:
            low, high = e.interval_95
            whole[e.name] += (low <= TRUTH[e.name] <= high) / len(found)
            if e.name in alone:
                error = carried.conditional_errors[e.name]
                alone[e.name] += (abs(e.value - TRUTH[e.name]) <= t * error) / len(found)
    return whole, alone


def with_noise_of_unknown_size(draws: int) -> tuple[dict[str, float], ...]:
    """Return the shares of :func:`coverage` for stages with data of their own."""
    rng = np.random.default_rng(2026)
    found = []
    for _ in range(draws):
        problem = drawn(rng, sigma=False)
        found.append(
            solved(
                problem,
                stage_of(problem, "static", free=["Fc", "s2"], experiments=["curve"]),
                stage_of(problem, "dynamic", free=["m", "v0"], experiments=["slide"]),
            )
        )
    return coverage(found, TIMES.size - 2)


def with_common_data(draws: int) -> tuple[dict[str, float], ...]:
    """Return the shares of :func:`coverage` for a second stage that uses data of the first."""
    rng = np.random.default_rng(2027)
    found = []
    for _ in range(draws):
        problem = drawn(rng, sigma=True)
        found.append(
            solved(
                problem,
                stage_of(problem, "all"),
                stage_of(problem, "dynamic", free=["m", "v0"], experiments=["slide"]),
            )
        )
    return coverage(found, np.inf)


@pytest.mark.nightly
@pytest.mark.parametrize("study", [with_noise_of_unknown_size, with_common_data])
def test_two_steps_cover_95_percent(study: Callable[[int], tuple[dict[str, float], ...]]) -> None:
    """250 draws know a share of 95 % to 1.4 %; three of these are allowed.

    A coverage of 87 % or less is seen in 19 of 20 cases. ``ci/coverage`` takes 1000 draws, which
    show one of 91 %.
    """
    whole, alone = study(250)
    band = 3.0 * np.sqrt(0.95 * 0.05 / 250)
    assert all(share == pytest.approx(0.95, abs=band) for share in whole.values()), whole
    assert alone["m"] < 0.85
