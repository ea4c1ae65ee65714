"""The note on the bias by noise in the regressor: where it is large, and only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.signal import cont2discrete, lfilter

from fmident.cli.follow import _closing
from fmident.estimation import build_options, run_estimation
from fmident.estimation.online import collect
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter, Problem
from fmident_estimators.kalman_bucy.estimator import KalmanBucyEstimator

pytestmark = pytest.mark.slow  # many builds or whole runs

TIMES = np.arange(3001) * 1e-3
MASS, DAMPING, STIFFNESS = 3.0, 6.0, 400.0
FORCE = np.sin(3.0 * np.sqrt(STIFFNESS / MASS) * TIMES)
OPTIONS: dict[str, Any] = {"known": {"b0": "1/m"}, "map": {"k": "m*a0", "d": "m*a1"}}
MARK = "The noise of y in the regressor biases k by about +"


def oscillator(times, inputs, k, d, m):
    # Exact for straight lines between samples, from rest; lsim takes a step of Python for each.
    numerator, denominator, _ = cont2discrete(([1.0], [m, d, k]), times[1] - times[0], "foh")
    return {"x": lfilter(numerator.ravel(), denominator, FORCE)}


def problem(decibel: float, *, seed: int = 0, known: bool = True) -> Problem:
    x = oscillator(TIMES, {}, STIFFNESS, DAMPING, MASS)["x"]
    sigma = float(np.sqrt(np.mean(x**2))) * 10.0 ** (-decibel / 20.0)
    return python_problem(
        {"x": x + sigma * np.random.default_rng(seed).normal(size=x.size)},
        TIMES,
        [
            Parameter("k", 300.0, 1.0, 1e4, variable="k"),
            Parameter("d", 1.0, 0.0, 100.0, variable="d"),
            Parameter("m", MASS, variable="m", fixed=True),
        ],
        sigma=sigma if known else None,
        inputs={"F": FORCE},
    )


@pytest.mark.parametrize(
    ("decibel", "options", "noted"),
    [(25.0, {}, True), (25.0, {"cutoff": 10.0}, False), (80.0, {}, False)],
)
def test_the_note_appears_where_the_bias_is_large(decibel, options, noted) -> None:
    made, estimator = problem(decibel), KalmanBucyEstimator()
    chosen = {**OPTIONS, **options}
    with Evaluator(made, PythonExecutor(made, oscillator)) as evaluator:
        result = run_estimation(made, evaluator, estimator, chosen)
        built = build_options(estimator, chosen)
        tracker = estimator.start(made, made.experiments[0], evaluator, built)
        stream = collect(made, made.experiments[0], tracker)
    assert any(MARK in n for n in result.notes) == noted
    assert (tracker.note is not None and MARK in tracker.note) == noted
    assert (MARK in _closing(stream.last, "good", tracker)) == noted


@pytest.mark.nightly
def test_the_standard_errors_cover_the_truth_in_spite_of_the_bias() -> None:
    estimator = KalmanBucyEstimator()
    options = build_options(estimator, OPTIONS)
    covered, without = 0, 0
    for seed in range(20):
        made = problem(25.0, seed=seed)
        with Evaluator(made, PythonExecutor(made, oscillator)) as evaluator:
            last = estimator.track(made, made.experiments[0], evaluator, options).last
        assert last is not None
        covered += abs(last.values[0] - STIFFNESS) < 1.96 * last.standard_errors[0]
        scatter = 3.0 * 0.8  # m times that of a0, from 60 draws
        without += abs(last.values[0] - STIFFNESS) < 1.96 * scatter
    assert covered == 20
    assert without == 0


def test_without_sigma_nothing_is_claimed() -> None:
    made = problem(25.0, known=False)
    with Evaluator(made, PythonExecutor(made, oscillator)) as evaluator:
        result = run_estimation(made, evaluator, KalmanBucyEstimator(), OPTIONS)
    assert not any("regressor" in n for n in result.notes)
