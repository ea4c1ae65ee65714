"""What a result says of noise that is not white, from the run to the stored folder."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import signal, stats

from fmident.data.experiment import NoiseChoice
from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import Parameter
from fmident.report.estimate import ESTIMATE
from fmident.report.export import exported_values, header
from fmident.report.result_json import FILE_NAME, as_json, read_result
from fmident.report.verdict import verdict

from ..models import decay

TIMES = np.arange(400) * 0.01
TRUTH = (1.0, 0.7)


def run(noise: np.ndarray, sigma: float | None = None) -> EstimationResult:
    measured = decay(TIMES, {}, *TRUTH)["y"] + noise
    given = {} if sigma is None else {"sigma": sigma}
    parameters = [Parameter("a", 1.2, variable="a"), Parameter("k", 0.4, variable="k")]
    problem = python_problem({"y": measured}, TIMES, parameters, **given)
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, PythonExecutor(problem, decay)) as evaluator:
        return run_estimation(problem, evaluator, estimator)


def coloured(seed: int = 1) -> np.ndarray:
    innovations = np.random.default_rng(seed).standard_normal(TIMES.size)
    return 0.003 * signal.lfilter([1.0], [1.0, -0.95], innovations)


@pytest.fixture(scope="module")
def found() -> EstimationResult:
    return run(coloured())


def test_standard_errors_count_the_colour_of_the_noise(found: EstimationResult) -> None:
    noise = found.noise
    assert noise is not None
    assert noise.coloured
    assert not noise.contradicted
    (output,) = noise.outputs
    assert (output.name, output.samples) == ("y", 400)
    assert output.order >= 1
    assert output.p_white < 1e-3 < output.p_innovations
    a, k = TRUTH
    columns = np.column_stack([np.exp(-k * TIMES), -a * TIMES * np.exp(-k * TIMES)])
    inverse = np.linalg.pinv(columns)
    exact = 0.003**2 / (1.0 - 0.95**2) * 0.95 ** np.abs(np.subtract.outer(TIMES, TIMES) / 0.01)
    errors = np.sqrt(np.diag(inverse @ exact @ inverse.T))
    for estimate, error in zip(found.estimates, errors, strict=True):
        freedom = noise.degrees_of_freedom[estimate.name]
        # As far as the record tells it: the variance has few degrees of freedom.
        ratio = freedom * (estimate.standard_error / error) ** 2
        assert stats.chi2.ppf(1e-3, freedom) < ratio < stats.chi2.ppf(0.999, freedom)
        half = 0.5 * np.diff(estimate.interval_95)[0]
        quantile = stats.t.ppf(0.975, freedom)
        assert half == pytest.approx(quantile * estimate.standard_error, rel=1e-6)
        factor = noise.factors[estimate.name]
        white = noise.white_errors[estimate.name]
        assert estimate.standard_error == pytest.approx(factor * white)
        assert factor > 2.0


def test_white_noise_has_no_such_part(found: EstimationResult) -> None:
    white = run(0.01 * np.random.default_rng(3).standard_normal(TIMES.size))
    assert white.noise is None
    assert as_json(white, "0")["noise"] is None
    assert "if white" not in ESTIMATE.text(white)
    assert "if white" not in ESTIMATE.view(white)


def test_residuals_far_below_the_given_noise_are_none(found: EstimationResult) -> None:
    assert run(coloured(), sigma=1.0).noise is None
    assert run(coloured(), sigma=0.01).noise is not None


def test_every_report_says_which_is_shown_and_by_what_factor(found: EstimationResult) -> None:
    assert found.noise is not None
    factors = sorted(found.noise.factors.values())
    span = f"{factors[0]:.2g} to {factors[1]:.2g} times those for white noise"
    assert span in str(verdict(found).of("noise-counted"))
    assert verdict(found).findings[0].code == "residuals-correlated"
    text = ESTIMATE.text(found)
    assert "if white" in text
    page = ESTIMATE.view(found)
    assert span in page
    assert "if white" in page
    assert any(span in line for line in header(exported_values(found)))
    assert "residuals-coloured" in {f.code for f in found.findings}


def test_a_stored_result_is_read_again(found: EstimationResult, tmp_path: Path) -> None:
    content = as_json(found, "0")
    (tmp_path / FILE_NAME).write_text(json.dumps(content), encoding="utf-8")
    read = read_result(tmp_path).result.noise
    assert read is not None
    assert read == found.noise
    del content["noise"]  # as versions before wrote it
    (tmp_path / FILE_NAME).write_text(json.dumps(content), encoding="utf-8")
    assert read_result(tmp_path).result.noise is None


@pytest.mark.parametrize("kind", ["tone", "steps"])
def test_tones_and_steps_are_said_everywhere(kind: str, tmp_path: Path) -> None:
    white = 0.003 * np.random.default_rng(3).standard_normal(TIMES.size)
    clean = decay(TIMES, {}, *TRUTH)["y"]
    noise = white + 0.02 * np.sin(2.0 * np.pi * 12.5 * TIMES + 0.5)
    words = "A tone of 12.5 Hz in 'y' (0.02) makes "
    if kind == "steps":
        noise = 0.05 * np.round((clean + white) / 0.05) - clean
        words = "The sensor's steps of 0.05 in 'y' make "
    found = run(noise)
    assert found.noise is not None
    (wave,) = found.noise.waves
    assert wave.kind == kind
    assert wave.size == pytest.approx(12.5 if kind == "tone" else 0.05, rel=1e-3)
    if kind == "tone":
        assert wave.amplitude == pytest.approx(0.02, abs=1e-3)
    assert wave.parameter in ("a", "k")
    assert 0.05 < wave.share < 1.0
    reason = verdict(found).of("noise-counted")
    assert reason is not None
    assert f"{wave.share:.0%} of the variance of {wave.parameter}" in reason.text
    assert words in " ".join(ESTIMATE.text(found).split())
    content = as_json(found, "0")
    (tmp_path / FILE_NAME).write_text(json.dumps(content), encoding="utf-8")
    read = read_result(tmp_path).result.noise
    assert read is not None
    assert read.waves == found.noise.waves
    assert read.summary == found.noise.summary


def estimated(measured: dict[str, np.ndarray], choice: NoiseChoice | None) -> EstimationResult:
    """Return the estimate from two outputs that say the same of the parameters."""
    parameters = [Parameter("a", 1.2, variable="a"), Parameter("k", 0.4, variable="k")]
    problem = python_problem(measured, TIMES, parameters)
    (experiment,) = problem.experiments
    outputs = tuple(dataclasses.replace(m, noise=choice) for m in experiment.measurements)
    experiment = dataclasses.replace(experiment, measurements=outputs)
    problem = dataclasses.replace(problem, experiments=(experiment,))

    def both(times: np.ndarray, inputs: object, a: float, k: float) -> dict[str, np.ndarray]:
        return {"y": a * np.exp(-k * times), "z": a * np.exp(-k * times)}

    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, PythonExecutor(problem, both)) as evaluator:
        return run_estimation(problem, evaluator, estimator)


@pytest.mark.parametrize("choice", [None, NoiseChoice("ar", 0)])
def test_hum_in_common_of_two_outputs_is_one_wave(
    choice: NoiseChoice | None, tmp_path: Path
) -> None:
    white = 0.003 * np.random.default_rng(3).standard_normal((2, TIMES.size))
    angle = 2.0 * np.pi * 12.5 * TIMES + 0.5
    hum = np.array([0.02 * np.sin(angle), 0.03 * np.sin(angle + 0.8)])
    right = decay(TIMES, {}, *TRUTH)["y"]
    measured = {"y": right + hum[0] + white[0], "z": right + hum[1] + white[1]}
    measured["z"][:20] = np.nan  # begins later: its phase counts from there
    result = estimated(measured, choice)
    counted = result.noise
    assert counted is not None
    (wave,) = counted.waves
    assert (wave.output, wave.others) == ("z", ("y",))
    assert wave.amplitude == pytest.approx(0.03, abs=1e-3)
    assert "tone of 12.5 Hz in 'z' (0.03) and 'y'" in counted.summary
    (tmp_path / FILE_NAME).write_text(json.dumps(as_json(result, "0")), encoding="utf-8")
    read = read_result(tmp_path).result.noise
    assert read is not None
    assert read.summary == counted.summary
    assert [w.others for w in read.waves] == [("y",)]
    if choice is not None:
        return
    assert read.waves == counted.waves
    # The dense covariance of least squares under white noise and the hum with any phase.
    slopes = np.column_stack([right / TRUTH[0], -TIMES * right])
    answers = np.linalg.pinv(np.vstack([slopes, slopes[20:]]))
    later = np.array([0.02 * np.cos(angle), 0.03 * np.cos(angle + 0.8)])
    moved = [answers @ np.r_[w[0], w[1, 20:]] for w in (hum, later)]
    tone = 0.5 * np.sum(np.square(moved), axis=0)
    exact = np.sqrt(0.003**2 * np.sum(answers**2, axis=1) + tone)
    shown = [e.standard_error for e in result.estimates]
    np.testing.assert_allclose(shown, exact, rtol=0.1)
    assert wave.share == pytest.approx(float(np.max(tone / exact**2)), abs=0.1)


def test_a_wrong_model_is_no_noise() -> None:
    """What the model lacks follows the input: it moves generalised least squares away."""
    square = 0.05 * np.sign(np.sin(2.0 * np.pi * 1.5 * TIMES))
    rng = np.random.default_rng(2)
    wrong = run(square * np.exp(-0.3 * TIMES) + 1e-4 * rng.standard_normal(TIMES.size))
    assert wrong.noise is not None
    assert wrong.noise.coloured
    assert min(wrong.noise.factors.values()) > 1.0


@pytest.mark.parametrize("scale", [0.2, 5.0])
def test_intervals_that_count_the_noise_do_not_count_on_the_given_sigma(scale: float) -> None:
    noise = coloured()
    given = run(noise, scale * float(np.std(noise)))
    free = run(noise)
    for one, other in zip(given.estimates, free.estimates, strict=True):
        assert one.standard_error == pytest.approx(other.standard_error, rel=0.02)
    (note,) = (f.text for f in given.findings if f.code.startswith("sigma-too"))
    assert "take the size of the residuals" in note


def test_errors_below_those_for_white_noise_are_doubted(found: EstimationResult) -> None:
    """Slow sums of scores see little of a parameter that few samples tell of."""
    assert found.noise is not None
    low = dataclasses.replace(found.noise, contradicted=True, factors={"a": 2.1, "k": 0.26})
    assert "Few samples show k, " in low.summary
    high = dataclasses.replace(low, factors={"a": 2.1, "k": 1.1})
    assert "Few samples" not in high.summary
    # Noise of alternating sign does make such errors smaller.
    assert "Few samples" not in dataclasses.replace(low, contradicted=False).summary


def test_equal_errors_are_said_to_be_equal(found: EstimationResult) -> None:
    assert found.noise is not None
    equal = dataclasses.replace(found.noise, factors={"a": 1.001, "k": 0.999})
    assert "they are the same as those for white noise" in equal.summary


@pytest.mark.parametrize("choice", [None, NoiseChoice("white"), NoiseChoice("ar")])
def test_noise_in_common_of_two_outputs_is_said_everywhere(
    choice: NoiseChoice | None, tmp_path: Path
) -> None:
    generator = np.random.default_rng(12)
    common = generator.standard_normal(TIMES.size)
    own = generator.standard_normal((2, TIMES.size))
    noise = 0.01 * (np.sqrt(0.9) * common + np.sqrt(0.1) * own)
    right = TRUTH[0] * np.exp(-TRUTH[1] * TIMES)
    measured = {"y": right + noise[0], "z": right + noise[1]}
    measured["z"][100:110] = np.nan
    result = estimated(measured, choice)
    counted = result.noise
    assert counted is not None
    (pair,) = counted.shared
    assert {pair.first, pair.second} == {"y", "z"}
    assert pair.correlation == pytest.approx(0.9, abs=0.04)
    assert "in common (0." in counted.summary
    assert "noise-shared" in {f.code for f in result.findings}
    # Two sensors of the same noise tell of the parameters what one of them tells.
    columns = np.column_stack([right / TRUTH[0], -TIMES * right])
    alone = 0.01 * np.sqrt(np.diag(np.linalg.inv(columns.T @ columns)))
    shown = [e.standard_error for e in result.estimates]
    np.testing.assert_allclose(shown, alone * np.sqrt(0.95), rtol=0.1)
    (tmp_path / FILE_NAME).write_text(json.dumps(as_json(result, "0")), encoding="utf-8")
    read = read_result(tmp_path).result.noise
    assert read is not None
    assert read.shared == counted.shared
