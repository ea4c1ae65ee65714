"""Noise that is estimated with the parameters."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy import linalg, optimize, signal, stats

from fmident.data.experiment import NoiseChoice
from fmident.errors import Code, ProblemError
from fmident.estimation import EstimationResult, run_estimation
from fmident.estimation.diagnostics.noise import Alternation, Prewhitened
from fmident.estimation.diagnostics.notes import noise_notes
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import Parameter, Problem, TimeDomain
from fmident.problem.residuals import measured_signals
from fmident.profiles import run_profiles
from fmident.profiles.joint_walks import check_profile
from fmident.report.estimate import ESTIMATE
from fmident.report.verdict import verdict
from fmident.resampling.bootstrap import BootstrapOptions, check_bootstrap, run_bootstrap
from fmident.resampling.result import percentile_interval
from fmident.statistics.noise.processes import NoisyOutput, fit_noise
from fmident.statistics.noise.series import series_of

from ..refused import refused

TIMES = np.arange(300) * 0.01
TRUTH = {"a": 1.0, "k": 0.7, "b": 0.05}
MISSING = np.r_[40:52, 130, 131, 200:206]


def model(times: np.ndarray, inputs: object, a: float, k: float, b: float) -> dict[str, Any]:
    return {"y": a * np.exp(-k * times) + b * np.sign(np.sin(9.0 * times))}


def made(seed: int, choice: NoiseChoice | None, *, correlation: float = 0.98) -> Problem:
    innovations = np.random.default_rng(seed).standard_normal(TIMES.size)
    innovations[0] /= np.sqrt(1.0 - correlation**2)
    noise = 0.003 * signal.lfilter([1.0], [1.0, -correlation], innovations)
    measured = model(TIMES, {}, **TRUTH)["y"] + noise
    measured[MISSING] = np.nan
    parameters = [Parameter(n, 1.3 * v, variable=n) for n, v in TRUTH.items()]
    return with_noise(python_problem({"y": measured}, TIMES, parameters), choice)


def with_noise(problem: Problem, choice: NoiseChoice | None) -> Problem:
    return dataclasses.replace(
        problem,
        experiments=tuple(
            dataclasses.replace(
                e, measurements=tuple(dataclasses.replace(m, noise=choice) for m in e.measurements)
            )
            for e in problem.experiments
        ),
    )


def run(
    problem: Problem, name: str = "least-squares", options: dict[str, Any] | None = None
) -> EstimationResult:
    estimator = load_plugins().estimators.get(name)()
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        return run_estimation(problem, evaluator, estimator, options)


@pytest.mark.parametrize("name", ["least-squares", "scipy-minimize"])
def test_the_estimate_is_that_of_dense_generalised_least_squares(name: str) -> None:
    found = run(made(3, NoiseChoice(order=1)), name)
    assert found.status == "converged"
    assert found.noise is not None
    assert found.noise.modelled
    (output,) = found.noise.outputs
    assert output.order == 1
    kept = np.setdiff1d(np.arange(TIMES.size), MISSING)
    phi = output.coefficients[0]
    apart = np.abs(kept[:, np.newaxis] - kept)
    covariance = output.deviation**2 / (1.0 - phi**2) * phi**apart
    factor = linalg.cholesky(covariance, lower=True)
    problem = made(3, None)
    (measured,) = measured_signals(problem)

    def innovations(p: np.ndarray) -> np.ndarray:
        left = (measured.measured - model(TIMES, {}, *p)["y"])[kept]
        return linalg.solve_triangular(factor, left * measured.scale[kept], lower=True)

    exact = optimize.least_squares(innovations, list(TRUTH.values()), x_scale=[1, 1, 0.05])
    errors = np.sqrt(np.diag(np.linalg.inv(exact.jac.T @ exact.jac)))
    values = np.array([found.values[n] for n in TRUTH])
    assert (np.abs(values - exact.x) < 0.02 * errors).all()
    assert found.cost_final == pytest.approx(exact.cost, rel=1e-3)
    # The variance of the innovations is that of the restricted likelihood.
    assert 2.0 * exact.cost == pytest.approx(kept.size - 3, rel=1e-3)
    for estimate, error in zip(found.estimates, errors, strict=True):
        # Larger by what the estimated noise model leaves open, less than half here.
        assert 0.999 * error <= estimate.standard_error < 1.5 * error


@pytest.mark.slow
def test_draws_are_those_of_generalised_least_squares() -> None:
    """They are made once, after the rounds in which the noise model settles."""
    problem = noisy_line(2, NoiseChoice(order=1))
    options = {"effective": 2000, "seed": 1}
    posterior = load_plugins().estimators.get("posterior")()
    with Evaluator(problem, PythonExecutor(problem, straight)) as evaluator:
        result = run_estimation(problem, evaluator, posterior, options)
    assert result.status == "converged"
    assert result.draws is not None
    assert result.noise is not None
    assert result.noise.modelled
    assert [f.code for f in result.findings].count("noise-model") == 2
    (output,) = result.noise.outputs
    (measured,) = measured_signals(problem)
    phi, apart = output.coefficients[0], np.abs(np.subtract.outer(*2 * [np.arange(TIMES.size)]))
    size = output.deviation / measured.scale[0]
    precision = np.linalg.inv(size**2 / (1.0 - phi**2) * phi**apart)
    columns = np.column_stack([np.ones(TIMES.size), TIMES, np.sign(np.sin(9.0 * TIMES))])
    covariance = np.linalg.inv(columns.T @ precision @ columns)
    best = covariance @ columns.T @ precision @ measured.measured
    errors = np.sqrt(np.diag(covariance))
    drawn = result.draws.values.reshape(-1, 3)
    assert (np.abs(drawn.mean(axis=0) - best) < 0.1 * errors).all()
    np.testing.assert_allclose(drawn.std(axis=0), errors, rtol=0.06)
    starts = [i for i in result.history if "draws" in i.details]
    counts = [i.details["draws"] for i in starts]
    assert counts == sorted(counts)


def test_the_derivatives_are_filtered_as_the_residuals_are() -> None:
    problem = made(3, None)
    signals = measured_signals(problem)
    rows = signals[0].rows
    output = NoisyOutput("y", (series_of(np.arange(rows.size), TIMES[rows]),))
    rng = np.random.default_rng(1)
    noise = fit_noise([output], rng.standard_normal(rows.size), np.ones((rows.size, 1)), 2)
    cost, predicted = Prewhitened(noise), [rng.standard_normal(TIMES.size)]
    way = rng.standard_normal((TIMES.size, 2))
    base = cost.residuals(signals, predicted)
    for j in range(2):
        moved = cost.residuals(signals, [predicted[0] + way[:, j]])
        slopes = cost.derivatives(signals, predicted, [way])
        np.testing.assert_allclose(slopes[:, j], moved - base, atol=1e-9)
    plain = TimeDomain().residuals(signals, predicted)
    np.testing.assert_allclose(noise.colour(base), plain, atol=1e-9)


@pytest.mark.nightly
def test_it_is_far_better_than_ordinary_least_squares_where_noise_is_slow() -> None:
    """A parameter that switches, at a correlation of 0.98; 24 records."""
    off: dict[str, list[float]] = {"plain": [], "modelled": []}
    errors: dict[str, list[float]] = {"plain": [], "modelled": []}
    for seed in range(100, 124):
        for kind, choice in (("plain", None), ("modelled", NoiseChoice())):
            b = run(made(seed, choice)).estimates[2]
            off[kind].append(b.value - TRUTH["b"])
            errors[kind].append(b.standard_error)
    rms = {kind: np.sqrt(np.mean(np.square(values))) for kind, values in off.items()}
    assert rms["plain"] > 2.0 * rms["modelled"]
    assert np.median(errors["plain"]) > 2.0 * np.median(errors["modelled"])
    # 24 squared errors in units of their standard errors: chi-squared, within 99.9 %.
    squares = np.sum(np.square(np.array(off["modelled"]) / errors["modelled"]))
    assert 8.0 < squares < 52.0


def test_a_tone_is_weighted_out() -> None:
    """The estimate is that of least squares with cosine and sine of the tone as unknowns."""
    rng = np.random.default_rng(2)
    clean = model(TIMES, {}, **TRUTH)["y"]
    tone = 0.05 * np.cos(2.0 * np.pi * 7.3 * TIMES + 1.0)
    parameters = [Parameter(n, 1.3 * v, variable=n) for n, v in TRUTH.items()]
    measured = clean + tone + 0.003 * rng.standard_normal(TIMES.size)
    problem = with_noise(python_problem({"y": measured}, TIMES, parameters), NoiseChoice(order=0))
    found = run(problem)
    assert found.noise is not None
    (wave,) = found.noise.waves
    assert wave.size == pytest.approx(7.3, abs=0.01)
    assert "a tone of 7.3 Hz in 'y' (0.05)" in str(verdict(found).of("noise-counted"))
    waves = [f(2.0 * np.pi * wave.size * TIMES) for f in (np.cos, np.sin)]

    def left(p: np.ndarray) -> np.ndarray:
        return measured - model(TIMES, {}, *p[:3])["y"] - np.array(p[3:]) @ waves

    exact = optimize.least_squares(left, [*TRUTH.values(), 0.0, 0.0])
    errors = 0.003 * np.sqrt(np.diag(np.linalg.inv(exact.jac.T @ exact.jac)))[:3]
    values = np.array([found.values[n] for n in TRUTH])
    assert (np.abs(values - exact.x[:3]) < 0.05 * errors).all()
    shown = [e.standard_error for e in found.estimates]
    np.testing.assert_allclose(shown, errors, rtol=0.15)


def test_what_is_left_is_looked_at_and_said() -> None:
    found = run(made(3, NoiseChoice()))
    assert found.noise is not None
    assert found.noise.outputs[0].p_innovations > 1e-3
    assert not found.noise.white_errors
    assert found.residuals is not None
    assert found.residuals.autocorrelation < 0.5
    (fit,) = found.whitened
    known = fit.measured[np.isfinite(fit.measured)]
    assert known.size == TIMES.size - MISSING.size
    assert np.std(known) == pytest.approx(1.0, abs=0.02)
    assert "noise-model" in {f.code for f in found.findings}
    assert "an autoregression of order" in str(verdict(found).of("noise-counted"))
    assert "if white" not in ESTIMATE.text(found)


def test_white_noise_of_own_size_weights_outputs_by_their_noise() -> None:
    """Two sensors of one quantity, one 20 times worse: the mean weighted by the variances."""
    rng = np.random.default_rng(8)
    good, bad = 1.0 + 0.01 * rng.standard_normal(40), 1.0 + 0.2 * rng.standard_normal(60)
    times = np.arange(60) * 0.1
    data = {"y": np.r_[good, np.full(20, np.nan)], "z": bad}

    def level(times: np.ndarray, inputs: object, a: float) -> dict[str, np.ndarray]:
        return {"y": a + 0.0 * times, "z": a + 0.0 * times}

    problem = with_noise(
        python_problem(data, times, [Parameter("a", 0.5, variable="a")]), NoiseChoice("white")
    )
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, PythonExecutor(problem, level)) as evaluator:
        found = run_estimation(problem, evaluator, estimator)
    variances = np.array([np.var(good, ddof=1), np.var(bad, ddof=1)]) / [40, 60]
    weights = 1.0 / variances
    mean = weights @ [good.mean(), bad.mean()] / weights.sum()
    (a,) = found.estimates
    assert a.value == pytest.approx(mean, abs=0.02 * weights.sum() ** -0.5)
    assert a.standard_error == pytest.approx(weights.sum() ** -0.5, rel=0.05)


def test_an_estimator_that_does_not_search_again_is_refused() -> None:
    problem = made(3, NoiseChoice())
    bounded = tuple(dataclasses.replace(q, lower=0.01, upper=5.0) for q in problem.parameters)
    with refused(Code.NOT_SUPPORTED, ProblemError, match="does not search again from where"):
        run(dataclasses.replace(problem, parameters=bounded), "cma-es", {"generations": 1})


def heavy_line(seed: int, correlation: float = 0.7) -> Problem:
    """Return a line with innovations of which one in ten is ten times as large as the others."""
    generator = np.random.default_rng(seed)
    innovations = generator.standard_normal(TIMES.size)
    innovations[generator.random(TIMES.size) < 0.1] *= 10.0
    innovations[0] /= np.sqrt(1.0 - correlation**2)
    noise = 0.01 * signal.lfilter([1.0], [1.0, -correlation], innovations)
    measured = straight(TIMES, {}, **TRUTH)["y"] + noise
    parameters = [Parameter(n, 1.3 * v, variable=n) for n, v in TRUTH.items()]
    return with_noise(python_problem({"y": measured}, TIMES, parameters), NoiseChoice(order=1))


def of_straight(problem: Problem, name: str, loss: str) -> EstimationResult:
    estimator = load_plugins().estimators.get(name)()
    with Evaluator(problem, PythonExecutor(problem, straight)) as evaluator:
        return run_estimation(problem, evaluator, estimator, {"loss": loss})


@pytest.mark.parametrize("name", ["least-squares", "scipy-minimize"])
def test_a_robust_loss_is_that_of_the_innovations(name: str) -> None:
    """Against an M-estimate of whitened rows, and its sandwich."""
    problem = heavy_line(1)
    found = of_straight(problem, name, "soft_l1")
    assert found.status == "converged"
    assert found.noise is not None
    (output,) = found.noise.outputs
    phi, deviation = output.coefficients[0], output.deviation
    (measured,) = measured_signals(problem)
    columns = np.column_stack([np.ones_like(TIMES), TIMES, np.sign(np.sin(9.0 * TIMES))])

    def whitened(rows: np.ndarray) -> np.ndarray:
        first = np.sqrt(1.0 - phi**2) * rows[:1]
        return np.concatenate([first, rows[1:] - phi * rows[:-1]]) / deviation

    right = whitened(measured.scale * measured.measured)
    rows = whitened(measured.scale[:, np.newaxis] * columns)
    exact = optimize.least_squares(
        lambda p: rows @ p - right, [1.0, 0.7, 0.05], loss="soft_l1", xtol=1e-14, ftol=1e-14
    )
    root = np.sqrt(1.0 + (rows @ exact.x - right) ** 2)
    values, slopes = (rows @ exact.x - right) / root, root**-3.0
    count, n = rows.shape
    factor = 1.0 + n / count * np.var(slopes) / np.mean(slopes) ** 2
    variance = factor**2 * values @ values / (count - n) / np.mean(slopes) ** 2
    errors = np.sqrt(variance * np.diag(np.linalg.inv(rows.T @ rows)))
    assert (np.abs(np.array(list(found.values.values())) - exact.x) < 0.02 * errors).all()
    for estimate, error in zip(found.estimates, errors, strict=True):
        assert 0.999 * error <= estimate.standard_error < 1.1 * error
    plain = of_straight(problem, name, "linear")
    assert found.estimates[2].standard_error < 0.6 * plain.estimates[2].standard_error


def shares_of_truth(loss: str) -> np.ndarray:
    """Return how often the intervals hold the truth in 400 records of :func:`heavy_line`."""
    inside = np.zeros(3)
    for seed in range(400):
        found = of_straight(heavy_line(seed), "least-squares", loss)
        ends = np.array([e.interval_95 for e in found.estimates])
        truth = np.array(list(TRUTH.values()))
        inside += (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    return inside / 400


@pytest.mark.nightly
def test_robust_intervals_of_innovations_hold_the_truth() -> None:
    """A share of 95 % has a standard deviation of 1.1 %, three of which are allowed."""
    assert (shares_of_truth("huber") >= 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / 400)).all()


def straight(times: np.ndarray, inputs: object, a: float, k: float, b: float) -> dict[str, Any]:
    """Return a model that is linear in its parameters."""
    return {"y": a + k * times + b * np.sign(np.sin(9.0 * times))}


def noisy_line(seed: int, choice: NoiseChoice | None, correlation: float = 0.7) -> Problem:
    innovations = np.random.default_rng(seed).standard_normal(TIMES.size)
    innovations[0] /= np.sqrt(1.0 - correlation**2)
    noise = 0.01 * signal.lfilter([1.0], [1.0, -correlation], innovations)
    measured = straight(TIMES, {}, **TRUTH)["y"] + noise
    parameters = [Parameter(n, 1.3 * v, variable=n) for n, v in TRUTH.items()]
    return with_noise(python_problem({"y": measured}, TIMES, parameters), choice)


def test_profiles_are_those_of_the_innovations() -> None:
    """In a linear model the profile of the whitened cost ends where the linearised interval does.

    The noise model is that of the estimate, so that both have the same effective degrees of
    freedom; the plain residuals give an interval of another size.
    """
    problem = noisy_line(2, NoiseChoice(order=1))
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, PythonExecutor(problem, straight)) as evaluator:
        result = run_estimation(problem, evaluator, estimator)
        assert result.noise is not None
        assert result.noise.model_orders == {"y": 1}
        found = run_profiles(
            problem,
            evaluator,
            np.array([e.value for e in result.estimates]),
            orders=result.noise.model_orders,
        )
    for profile, e in zip(found.profiles, result.estimates, strict=True):
        width = e.interval_95[1] - e.interval_95[0]
        assert profile.lower.value == pytest.approx(e.interval_95[0], abs=0.005 * width)
        assert profile.upper.value == pytest.approx(e.interval_95[1], abs=0.005 * width)
        assert profile.factor >= 1.0
    assert any("model of the noise held" in n for n in found.notes)


def test_replicates_have_noise_of_the_model_and_are_fitted_with_their_own() -> None:
    """The covariance is that of generalised least squares; bands are those of the outputs."""
    problem = noisy_line(2, NoiseChoice(order=1))
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, PythonExecutor(problem, straight)) as evaluator:
        result = run_estimation(problem, evaluator, estimator)
        found = run_bootstrap(
            problem,
            evaluator,
            np.array([e.value for e in result.estimates]),
            BootstrapOptions(replicates=60),
            orders={"y": 1},
        )
    assert (found.method, found.status) == ("parametric", "complete")
    assert any("a noise model of its own" in n for n in found.notes)
    assert result.noise is not None
    (output,) = result.noise.outputs
    phi, apart = output.coefficients[0], np.abs(np.subtract.outer(*2 * [np.arange(TIMES.size)]))
    (measured,) = measured_signals(problem)
    size = output.deviation / measured.scale[0]
    covariance = size**2 / (1.0 - phi**2) * phi**apart
    columns = np.column_stack([np.ones(TIMES.size), TIMES, np.sign(np.sin(9.0 * TIMES))])
    exact = np.linalg.inv(columns.T @ np.linalg.solve(covariance, columns))
    for parameter, error in zip(found.estimates, np.sqrt(np.diag(exact)), strict=True):
        assert parameter.standard_error == pytest.approx(error, rel=0.05)
    (band,) = found.bands
    predicted = columns[:, :] @ [e.value for e in result.estimates]
    np.testing.assert_allclose(band.predicted, predicted, atol=1e-6)
    # New samples have the noise of the process, not of its innovations.
    assert band.noise[0] == pytest.approx(size / np.sqrt(1.0 - phi**2), rel=0.02)
    assert np.all(band.mean_low < predicted)
    assert np.all(predicted < band.mean_high)


def test_profiles_and_replicates_refuse_another_cost_with_it() -> None:
    other = dataclasses.replace(made(3, NoiseChoice()), cost=TimeDomain("mean-square"))
    for check in (
        lambda problem: check_profile(problem, 0.95, 0.1),
        lambda problem: check_bootstrap(problem, BootstrapOptions()),
    ):
        check(made(3, NoiseChoice()))
        with refused(Code.NOT_SUPPORTED, ProblemError, match="it is the noise of samples"):
            check(other)


def test_another_cost_is_refused() -> None:
    problem = dataclasses.replace(made(3, NoiseChoice()), cost=TimeDomain("mean-square"))
    with refused(Code.NOT_SUPPORTED, ProblemError, match="it is the noise of samples"):
        run(problem)


def test_ends_of_replicates_count_how_well_an_autoregression_is_known() -> None:
    """Farther out than percentiles, as Student's t is; the freedom is that of the estimate."""
    problem = noisy_line(5, None, correlation=0.9)
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, PythonExecutor(problem, straight)) as evaluator:
        result = run_estimation(problem, evaluator, estimator)
        start = np.array([e.value for e in result.estimates])
        found = run_bootstrap(problem, evaluator, start, BootstrapOptions(replicates=200))
    assert result.noise is not None
    assert found.method == "parametric"
    for j, parameter in enumerate(found.estimates):
        freedom = result.noise.degrees_of_freedom[parameter.name]
        factor = stats.t.ppf(0.975, freedom) / stats.norm.ppf(0.975)
        plain = percentile_interval(found.replicates[:, j], 0.95)
        expected = [parameter.value + factor * (end - parameter.value) for end in plain]
        assert parameter.percentile == pytest.approx(expected, rel=1e-3)
        assert factor > 1.005
    assert any("Student's t" in n for n in found.notes)


def test_rounds_without_an_end_say_what_to_do() -> None:
    found = SimpleNamespace(rounds=12, settled=False)
    (note,) = noise_notes(cast(Alternation, found), asked=True, drawn=False)
    assert note.code == "noise-model"
    assert "12 rounds" in note.text
    assert "Leave out 'noise'" in note.hint
