"""Tones and steps in residuals are told apart from noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from fmident.estimation import run_estimation
from fmident.estimation.diagnostics.disturbances import step_of, tone_in
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem.model import Parameter

TIMES = 0.001 * np.arange(2000)


def coloured(correlation: float, seed: int, size: int = 2000) -> np.ndarray:
    white = np.random.default_rng(seed).standard_normal(size)
    return signal.lfilter([1.0], [1.0, -correlation], white)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 0.98, -0.7])
def test_noise_of_any_colour_has_no_tone(correlation: float) -> None:
    found = [tone_in(coloured(correlation, seed), TIMES) for seed in range(300)]
    assert sum(tone is not None for tone in found) == 0


def test_noise_with_a_resonance_has_no_tone() -> None:
    """A damped mode that noise excites is broad: 2 % damping at 60 Hz."""
    pole = np.exp((-0.02 + 1.0j) * 2.0 * np.pi * 60.0 * 0.001)
    for seed in range(50):
        white = np.random.default_rng(seed).standard_normal(20_000)
        values = signal.lfilter([1.0], np.poly([pole, pole.conj()]).real, white)
        assert tone_in(values, 0.001 * np.arange(20_000)) is None


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_hum_is_found_with_its_frequency(correlation: float) -> None:
    noise = coloured(correlation, 1)
    noise /= noise.std()
    tone = tone_in(noise + np.sin(2.0 * np.pi * 50.2 * TIMES + 0.4), TIMES)
    assert tone is not None
    assert tone.frequency == pytest.approx(50.2, abs=0.5)
    assert 0.2 < tone.share < 0.45


def test_what_cannot_be_looked_at_is_left_alone() -> None:
    hum = np.sin(2.0 * np.pi * 50.0 * TIMES)
    assert tone_in(hum[:50], TIMES[:50]) is None
    assert tone_in(hum, TIMES + 2e-4 * np.random.default_rng(0).random(2000)) is None
    assert tone_in(np.zeros(2000), TIMES) is None
    slow = np.sin(2.0 * np.pi * 1.0 * TIMES)  # two periods: what a model lacks looks like that
    assert tone_in(slow + 0.1 * coloured(0.0, 2), TIMES) is None


def test_steps_of_a_sensor() -> None:
    clean = np.sin(TIMES)
    assert step_of(0.25 * np.round(clean / 0.25) + 0.1) == pytest.approx(0.25)
    assert step_of(clean) == 0.0
    assert step_of(np.zeros(2000)) == 0.0
    assert step_of(np.round(clean[:50], 1)) == 0.0
    # Written with six digits, and hardly a sample equal to another.
    assert step_of(np.round(coloured(0.0, 3), 6)) == 0.0


@pytest.mark.parametrize(
    ("disturbed", "words"),
    [
        (lambda y, noise: y + 0.02 * np.sin(2.0 * np.pi * 50.0 * TIMES) + noise, "a tone of 50 Hz"),
        (lambda y, noise: 0.05 * np.round((y + 0.1 * noise) / 0.05), "come in steps of 0.05"),
        (lambda y, noise: y + noise, ""),
    ],
)
def test_an_estimation_says_so(disturbed, words: str) -> None:
    noise = 0.01 * np.random.default_rng(5).standard_normal(TIMES.size)
    measured = disturbed(2.0 * np.exp(-1.5 * TIMES), noise)
    parameters = [Parameter("a", 1.0, variable="a"), Parameter("k", 1.0, variable="k")]
    problem = python_problem({"y": measured}, TIMES, parameters)

    def decay(times, inputs, a, k):
        return {"y": a * np.exp(-k * times)}

    with Evaluator(problem, PythonExecutor(problem, decay)) as evaluator:
        estimator = load_plugins().estimators.get("least-squares")()
        result = run_estimation(problem, evaluator, estimator, {})
    said = [n for n in result.notes if "a tone of" in n or "come in steps of" in n]
    assert len(said) == bool(words)
    assert not words or words in said[0]
