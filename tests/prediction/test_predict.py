"""Bands of predictions, against the closed forms of linear regression."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fmident.data.experiment import Experiment, Measurement
from fmident.errors import Code, EstimationError, SimulationError
from fmident.estimation import run_estimation
from fmident.evaluation import Evaluator, Executor, PythonExecutor, python_problem
from fmident.prediction import Prediction, Uncertainty, chosen_draws, covariance_of, predict
from fmident.problem.model import Parameter, Problem
from fmident_estimators.least_squares.estimator import LeastSquares

from ..refused import refused

F64 = np.ndarray
TIMES = np.linspace(0.0, 1.0, 40)
LATER = np.linspace(1.0, 3.0, 25)
T_38 = 2.0243941639119702
"""Student's t of 95 %, 38 degrees of freedom."""


def line(times: F64, inputs: Any, a: float, b: float) -> dict[str, F64]:
    return {"y": a + b * times}


SLOPES = {
    "a": lambda times, inputs, a, b: {"y": np.ones_like(times)},
    "b": lambda times, inputs, a, b: {"y": times},
}
MEASURED = 1.0 + 2.0 * TIMES + 0.3 * np.random.default_rng(3).standard_normal(TIMES.size)


def parameter(name: str, **more: Any) -> Parameter:
    return Parameter(name, 1.0, **{"variable": name} | more)


def straight(measured: F64 = MEASURED, sigma: float | None = None) -> Problem:
    return python_problem({"y": measured}, TIMES, [parameter("a"), parameter("b")], sigma=sigma)


def later(values: F64 | None = None, **more: Any) -> Experiment:
    known = np.full(LATER.size, np.nan) if values is None else values
    return Experiment("later", LATER, {}, (Measurement("y", "y", "y", known, **more),))


def executors(model: Any = line, slopes: Any = SLOPES) -> Callable[[Problem], Executor]:
    return lambda problem: PythonExecutor(problem, model, slopes)


def predicted(
    problem: Problem, new: Experiment, uncertainty: Uncertainty | None = None, **more: Any
) -> tuple[Prediction, F64]:
    """Return the prediction of an estimate, and the estimate."""
    with Evaluator(problem, PythonExecutor(problem, line, SLOPES)) as evaluator:
        result = run_estimation(problem, evaluator, LeastSquares())
    p = np.array([result.values[q.name] for q in problem.free])
    if uncertainty is None:
        covariance, freedom = covariance_of(problem, result)
        uncertainty = Uncertainty("linearised", covariance, freedom, np.empty((0, p.size)))
    return predict(problem, [new], p, uncertainty, executors(), **more), p


def text_book(sigma: float | None = None) -> tuple[F64, F64, float]:
    """Return estimate, standard deviations of the mean later, and of the noise."""
    design = np.column_stack([np.ones(TIMES.size), TIMES])
    estimate = np.linalg.lstsq(design, MEASURED, rcond=None)[0]
    left = MEASURED - design @ estimate
    s = float(np.sqrt(left @ left / (TIMES.size - 2)))
    far = np.column_stack([np.ones(LATER.size), LATER])
    covariance = (s if sigma is None else sigma) ** 2 * np.linalg.inv(design.T @ design)
    return estimate, np.sqrt(np.einsum("ij,jk,ik->i", far, covariance, far)), s


def test_bands_of_new_samples_are_those_of_linear_regression() -> None:
    """Exact: Student's t with m - n degrees of freedom (Seber and Lee 2003, section 5.3)."""
    found, _ = predicted(straight(), later())
    estimate, deviations, s = text_book()
    (band,) = found.new
    np.testing.assert_allclose(band.predicted, estimate[0] + estimate[1] * LATER, rtol=1e-7)
    np.testing.assert_allclose(band.mean_high - band.predicted, T_38 * deviations, rtol=1e-6)
    half = T_38 * np.sqrt(deviations**2 + s**2)
    np.testing.assert_allclose(band.new_high - band.predicted, half, rtol=1e-6)
    np.testing.assert_allclose(band.predicted - band.new_low, half, rtol=1e-6)
    np.testing.assert_allclose(band.noise, s, rtol=1e-7)
    # Nothing was measured later.
    assert (found.samples, band.samples) == (0, 0)
    assert found.fitted[0].samples == TIMES.size


def test_samples_inside_are_counted() -> None:
    found, p = predicted(straight(), later(np.full(LATER.size, 4.0)))
    (band,) = found.new
    inside = (band.new_low <= 4.0) & (band.new_high >= 4.0)
    assert 0 < inside.sum() < LATER.size
    assert (found.samples, found.inside) == (LATER.size, inside.sum())
    measured = line(LATER, {}, *p)["y"]
    measured[[3, 7]] = np.nan
    found, _ = predicted(straight(), later(measured), fitted=False)
    assert (found.samples, found.inside) == (LATER.size - 2, LATER.size - 2)
    assert found.fitted == ()


def test_a_given_sigma_and_the_measurement_model_count() -> None:
    """The noise is that of the residuals, in the ratio that the given sigmas have."""
    problem = straight(sigma=0.3)
    new = later(sigma=np.array(0.6), gain=10.0, offset=5.0)
    found, p = predicted(problem, new)
    _, deviations, s = text_book(0.3)
    (band,) = found.new
    np.testing.assert_allclose(band.predicted, 10.0 * line(LATER, {}, *p)["y"] + 5.0, rtol=1e-9)
    np.testing.assert_allclose(
        band.mean_high - band.predicted, 10.0 * 1.959963984540054 * deviations, rtol=1e-6
    )
    np.testing.assert_allclose(band.noise, s / 0.3 * 0.6, rtol=1e-6)
    # Without a sigma of its own, the noise is what the fitted output has shown, and so without any.
    for fitted, given in ((0.3, None), (None, 0.6), (None, None)):
        more = {} if given is None else {"sigma": np.array(given)}
        found, _ = predicted(straight(sigma=fitted), later(**more))
        np.testing.assert_allclose(found.new[0].noise, s, rtol=1e-6)


@pytest.mark.parametrize("source", ["bootstrap", "posterior"])
def test_draws_take_the_place_of_the_covariance(source: Any) -> None:
    estimate, deviations, s = text_book()
    design = np.column_stack([np.ones(TIMES.size), TIMES])
    root = np.linalg.cholesky(s**2 * np.linalg.inv(design.T @ design))
    draws = estimate + np.random.default_rng(1).standard_normal((4000, 2)) @ root.T
    chosen = chosen_draws(draws)
    assert chosen.shape == (500, 2)
    uncertainty = Uncertainty(source, np.zeros((2, 2)), np.inf, chosen)
    found, _ = predicted(straight(), later(), uncertainty)
    (band,) = found.new
    half = 0.5 * (band.mean_high - band.mean_low)
    np.testing.assert_allclose(half, 1.96 * deviations, rtol=0.1)
    new = 0.5 * (band.new_high - band.new_low)
    np.testing.assert_allclose(new, T_38 * np.hypot(deviations, s), rtol=0.05)
    assert (found.source, found.draws, found.failures) == (source, 500, 0)


@pytest.mark.nightly
def test_new_samples_are_inside_as_often_as_the_band_says() -> None:
    """Over 200 draws of data and new data: 95 % of 5000 samples, known to about 0.6 %."""
    generator, inside = np.random.default_rng(9), 0
    uncertain = Uncertainty("linearised", np.zeros((2, 2)), 38.0, np.empty((0, 2)))
    design = np.column_stack([np.ones(TIMES.size), TIMES])
    inverse = np.linalg.inv(design.T @ design)
    for _ in range(200):
        data = 1.0 + 2.0 * TIMES + 0.3 * generator.standard_normal(TIMES.size)
        p = np.linalg.lstsq(design, data, rcond=None)[0]
        left = data - design @ p
        covariance = left @ left / 38.0 * inverse
        here = dataclasses.replace(uncertain, covariance=covariance)
        new = later(1.0 + 2.0 * LATER + 0.3 * generator.standard_normal(LATER.size))
        inside += predict(straight(data), [new], p, here, executors(), fitted=False).inside
    assert inside / (200 * LATER.size) == pytest.approx(0.95, abs=0.02)


def test_noise_that_is_correlated_has_its_own_size() -> None:
    """The fit of an offset takes much of AR(1) noise of 0.9 out of a short record."""
    generator, phi, count = np.random.default_rng(2), 0.9, 400
    noise = np.empty(count)
    noise[0] = generator.standard_normal()
    for k in range(1, count):
        noise[k] = phi * noise[k - 1] + np.sqrt(1.0 - phi**2) * generator.standard_normal()
    times = np.linspace(0.0, 1.0, count)
    problem = python_problem({"y": 1.0 + noise}, times, [parameter("a"), parameter("b")],
                             sigma=None)  # fmt: skip
    found, _ = predicted(problem, later())
    assert found.new[0].noise[0] == pytest.approx(1.0, rel=0.3)
    factor = found.new[0].new_high - found.new[0].predicted
    assert factor[0] > 1.97 * found.new[0].noise[0]


def test_a_parameter_without_standard_error_leaves_no_band() -> None:
    covariance = np.array([[0.01, np.nan], [np.nan, np.nan]])
    uncertainty = Uncertainty("linearised", covariance, np.inf, np.empty((0, 2)))
    found, _ = predicted(straight(), later(), uncertainty)
    assert np.isnan(found.new[0].mean_low).all()
    assert found.new[0].samples == 0
    assert any("no standard error of b:" in note for note in found.notes)
    # At time zero the slope moves nothing.
    assert np.isfinite(found.fitted[0].mean_low[0])


def test_an_output_that_was_never_fitted_has_a_band_of_its_mean_only() -> None:
    other = Measurement("z", "y", "z", np.full(LATER.size, np.nan))
    found, _ = predicted(straight(), Experiment("later", LATER, {}, (other,)))
    (band,) = found.new
    assert np.isfinite(band.mean_low).all()
    assert np.isnan(band.new_low).all()
    assert any("Nothing is known of the noise of z" in note for note in found.notes)


def test_draws_that_fail_are_counted_and_said() -> None:
    def fragile(times: F64, inputs: Any, a: float, b: float) -> dict[str, F64]:
        if b > 3.0:
            raise SimulationError("it breaks")
        return line(times, inputs, a, b)

    draws = np.column_stack([np.ones(100), np.linspace(1.0, 3.2, 100)])
    uncertainty = Uncertainty("bootstrap", np.zeros((2, 2)), np.inf, draws)
    p = np.array([1.0, 2.0])
    found = predict(straight(), [later()], p, uncertainty, executors(fragile, None), fitted=False)
    assert found.failures == int((draws[:, 1] > 3.0).sum())
    assert "simulations-failed" in {f.code for f in found.findings}
    few = dataclasses.replace(uncertainty, draws=draws[85:])
    with pytest.raises(EstimationError, match="of 15 draws of the parameters can be simulated"):
        predict(straight(), [later()], p, few, executors(fragile, None), fitted=False)
    with pytest.raises(EstimationError, match="the simulation fails at the estimate"):
        predict(straight(), [later()], np.array([1.0, 4.0]), uncertainty,
                executors(fragile, None))  # fmt: skip


def test_a_result_without_standard_errors_is_refused() -> None:
    problem = straight()
    with Evaluator(problem, PythonExecutor(problem, line, SLOPES)) as evaluator:
        result = run_estimation(problem, evaluator, LeastSquares(), intervals=False)
    with refused(Code.ESTIMATION_FAILED, EstimationError, match="the result has no"):
        covariance_of(problem, result)


def test_a_prediction_is_readable() -> None:
    found, _ = predicted(straight(), later(line(LATER, {}, 1.0, 2.0)["y"]))
    assert "new samples inside the 95 % band" in str(found)
    assert "new samples inside" in repr(found)
    assert len(found.table) == LATER.size + TIMES.size
