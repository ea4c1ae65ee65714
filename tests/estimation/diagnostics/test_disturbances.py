"""Tones and steps in residuals are told apart from noise."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.estimation import run_estimation
from fmident.estimation.diagnostics.noise import step_of
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem.model import Parameter

TIMES = 0.001 * np.arange(2000)


def test_steps_of_a_sensor() -> None:
    clean = np.sin(TIMES)
    assert step_of(0.25 * np.round(clean / 0.25) + 0.1) == pytest.approx(0.25)
    assert step_of(clean) == 0.0
    assert step_of(np.zeros(2000)) == 0.0
    assert step_of(np.round(clean[:50], 1)) == 0.0
    # Computed from one level in two ways.
    levels = 0.25 * np.round(clean / 0.25)
    assert step_of(np.where(TIMES < 1.0, levels, (levels + 0.1) - 0.1)) == pytest.approx(0.25)
    # Hardly a sample equal to another.
    fine = np.round(1e4 * np.random.default_rng(3).standard_normal(2000))
    assert step_of(fine) == 1.0


@pytest.mark.parametrize(
    ("disturbed", "words", "kinds"),
    [
        (
            lambda y, noise: y + 0.02 * np.sin(2.0 * np.pi * 50.0 * TIMES) + noise,
            "a tone of 50 Hz (0.02)",
            ["tone"],
        ),
        (
            lambda y, noise: 0.05 * np.round((y + noise) / 0.05),
            "come in steps of 0.05",
            ["steps"],
        ),
        (lambda y, noise: y + noise, "", []),
    ],
)
def test_an_estimation_says_so(disturbed, words: str, kinds: list[str]) -> None:
    noise = 0.01 * np.random.default_rng(5).standard_normal(TIMES.size)
    measured = disturbed(2.0 * np.exp(-1.5 * TIMES), noise)
    parameters = [Parameter("a", 1.0, variable="a"), Parameter("k", 1.0, variable="k")]
    problem = python_problem({"y": measured}, TIMES, parameters)

    def decay(times, inputs, a, k):
        return {"y": a * np.exp(-k * times)}

    with Evaluator(problem, PythonExecutor(problem, decay)) as evaluator:
        estimator = load_plugins().estimators.get("least-squares")()
        result = run_estimation(problem, evaluator, estimator, {})
    counted = [] if result.noise is None else [w.kind for w in result.noise.waves]
    assert counted == kinds
    said = [f.text for f in result.findings if f.code == "residuals-waves"]
    assert len(said) == bool(words)
    assert not words or words in said[0]
