"""Estimates of replicates, and what they say together."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares

from fmident.errors import Code, EstimationError, ProblemError, SimulationError
from fmident.estimation.diagnostics.uncertainty import uncertainty
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.cost import TimeDomain
from fmident.problem.model import Prior, Problem
from fmident.resampling import BootstrapOptions, BootstrapResult, run_bootstrap
from fmident.resampling.schemes import Parametric, Residual, panels_of

from ..models import decay, parameter
from ..refused import refused
from .rig import (
    DECAY_SLOPES,
    LINE_SLOPES,
    TIMES,
    autoregressive,
    bootstrapped,
    line,
    straight,
    with_experiments,
)

RNG = np.random.default_rng(12)
LINE = 1.0 + 2.0 * TIMES + 0.3 * RNG.standard_normal(TIMES.size)
DECAY = 1.5 * np.exp(-3.0 * TIMES) + 0.05 * RNG.standard_normal(TIMES.size)
DESIGN = np.column_stack([np.ones(TIMES.size), TIMES])
"""Of the straight line."""


def ols(measured: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return estimate, residuals and covariance of the straight line."""
    estimate = np.linalg.lstsq(DESIGN, measured, rcond=None)[0]
    left = measured - DESIGN @ estimate
    variance = left @ left / (measured.size - 2)
    return estimate, left, variance * np.linalg.inv(DESIGN.T @ DESIGN)


def decaying(measured: np.ndarray = DECAY, *bounds: float) -> Problem:
    free = [parameter("a", 1.5), parameter("k", 3.0, *bounds)]
    return python_problem({"y": measured}, TIMES, free, sigma=None)


def test_the_covariance_of_a_linear_model_is_that_of_least_squares() -> None:
    """Residuals of a line have mean zero; scaled by m/(m - n) they have the variance s^2."""
    found = bootstrapped(straight(LINE), line, LINE_SLOPES, replicates=40, method="residual")
    estimate, _, covariance = ols(LINE)
    np.testing.assert_allclose([p.value for p in found.estimates], estimate, rtol=1e-8)
    # Also with few replicates, since the linearised estimates are control variates.
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-9)
    np.testing.assert_allclose([p.bias for p in found.estimates], 0.0, atol=1e-12)


def test_without_scaling_it_is_m_minus_n_over_m_of_it() -> None:
    problem = straight(LINE)
    _, left, covariance = ols(LINE)
    answers = np.linalg.pinv(DESIGN)
    found = Residual(panels_of(problem), left).covariance(answers)
    np.testing.assert_allclose(found, covariance * (TIMES.size - 2) / TIMES.size, rtol=1e-9)


@pytest.mark.parametrize("slopes", [LINE_SLOPES, None], ids=["exact", "differences"])
def test_each_replicate_is_fitted_by_least_squares(slopes: Any) -> None:
    problem = straight(LINE)
    found = bootstrapped(problem, line, slopes, replicates=25, method="parametric", seed=4)
    estimate, left, _ = ols(LINE)
    sizes = np.full(TIMES.size, np.sqrt(left @ left / (TIMES.size - 2)))
    scheme = Parametric(panels_of(problem), left, sizes)
    seeds = np.random.SeedSequence(4).spawn(25)
    for number, row in zip(found.numbers, found.replicates, strict=True):
        noise = scheme.draw(np.random.default_rng(seeds[number]))
        np.testing.assert_allclose(row, ols(DESIGN @ estimate + noise)[0], rtol=1e-6)


def test_replicates_of_a_nonlinear_model_are_minima_not_linearised() -> None:
    """Against SciPy's own search for each replicate, in standard errors."""
    noisy = 1.5 * np.exp(-3.0 * TIMES) + 0.4 * np.random.default_rng(2).standard_normal(TIMES.size)
    problem = decaying(noisy)
    found = bootstrapped(problem, decay, DECAY_SLOPES, replicates=60, method="parametric", seed=1)
    p = np.array([q.value for q in found.estimates])
    errors = np.array([q.linearised_error for q in found.estimates])
    left = noisy - decay(TIMES, {}, *p)["y"]
    jacobian = np.column_stack([f(TIMES, {}, *p)["y"] for f in DECAY_SLOPES.values()])
    size = np.sqrt(left @ left / (TIMES.size - 2))
    seeds = np.random.SeedSequence(1).spawn(60)
    linear, off = [], []
    for number, row in zip(found.numbers, found.replicates, strict=True):
        noise = size * np.random.default_rng(seeds[number]).standard_normal(TIMES.size)
        data = decay(TIMES, {}, *p)["y"] + noise
        best = least_squares(
            lambda q, data=data: data - decay(TIMES, {}, *q)["y"], p, xtol=1e-14, ftol=1e-14
        ).x
        off.append(np.abs(row - best) / errors)
        linear.append(np.abs(p + np.linalg.pinv(jacobian) @ noise - best) / errors)
    assert np.max(off) < 5e-3
    assert np.max(linear) > 0.2  # what a linearised answer would be off


def test_the_method_follows_from_the_residuals() -> None:
    white = bootstrapped(straight(LINE), line, LINE_SLOPES, replicates=20)
    assert (white.method, white.reason) == ("residual", "the residuals are white")
    assert white.block_lengths == {}
    noise = autoregressive(np.random.default_rng(3), 400, 0.8)
    times = np.linspace(0.0, 1.0, 400)
    problem = straight(1.0 + 2.0 * times + noise, times=times)
    found = bootstrapped(problem, line, LINE_SLOPES, replicates=20)
    assert found.method == "parametric"
    assert "are correlated (0." in found.reason
    ratios = [p.standard_error / p.linearised_error for p in found.estimates]
    np.testing.assert_allclose(ratios, 3.0, rtol=0.25)  # by theory, with an endless record
    blocks = bootstrapped(problem, line, LINE_SLOPES, replicates=20, method="block")
    assert min(blocks.block_lengths.values()) > 5
    assert min(p.standard_error / p.linearised_error for p in blocks.estimates) > 1.5
    forced = bootstrapped(problem, line, LINE_SLOPES, replicates=20, method="residual")
    assert "replicates-noise" in {f.code for f in forced.findings}


def test_noise_of_the_fitted_model_has_the_covariance_that_estimate_counts() -> None:
    """A linear model: standard errors of the bootstrap are those that count this noise."""
    noise = autoregressive(np.random.default_rng(4), 500, 0.7)
    times = np.linspace(0.0, 1.0, 500)
    problem = straight(1.0 + 2.0 * times + noise, times=times)
    found = bootstrapped(problem, line, LINE_SLOPES, replicates=20)
    with Evaluator(problem, PythonExecutor(problem, line, LINE_SLOPES)) as evaluator:
        p = np.array([q.value for q in found.estimates])
        counted = uncertainty(problem, evaluator, p)
    assert counted.local.coloured is not None
    errors = [q.standard_error for q in found.estimates]
    np.testing.assert_allclose(errors, counted.local.standard_errors, rtol=1e-4)


def test_residuals_that_change_their_size_are_drawn_wild() -> None:
    times = np.linspace(0.0, 1.0, 400)
    sizes = np.where(times > 0.7, 2.0, 0.2)
    data = 1.0 + 2.0 * times + sizes * np.random.default_rng(1).standard_normal(times.size)
    found = bootstrapped(straight(data, times=times), line, LINE_SLOPES, replicates=20)
    assert (found.method, found.reason) == ("wild", "the noise changes its size along the record")


@pytest.mark.nightly
@pytest.mark.slow
def test_intervals_hold_the_truth() -> None:
    """Of 80 draws, 95 % intervals of a linear model; 2.4 % is one standard deviation.

    Percentiles: ends of BCa intervals may lie beyond all of so few replicates, and are NaN then.
    """
    hits = 0
    generator = np.random.default_rng(20)
    for seed in range(80):
        data = 1.0 + 2.0 * TIMES + 0.3 * generator.standard_normal(TIMES.size)
        found = bootstrapped(straight(data), line, LINE_SLOPES, replicates=100, seed=seed)
        low, high = found.estimates[1].percentile
        hits += low <= 2.0 <= high
    assert hits / 80 > 0.95 - 3.0 * 0.024


def test_noise_whose_size_varies() -> None:
    """The wild bootstrap has the covariance HC2 of a linear model (MacKinnon and White 1985)."""
    sizes = 0.05 + TIMES**2
    data = 1.0 + 2.0 * TIMES + sizes * np.random.default_rng(1).standard_normal(TIMES.size)
    found = bootstrapped(straight(data), line, LINE_SLOPES, replicates=30, method="wild")
    _, left, _ = ols(data)
    answers = np.linalg.pinv(DESIGN)
    hat = np.diag(DESIGN @ answers)
    meat = answers @ np.diag(left**2 / (1.0 - hat)) @ answers.T
    np.testing.assert_allclose(found.covariance, meat, rtol=1e-9)
    assert found.weights == "rademacher"


def test_priors_are_measurements_of_the_estimate() -> None:
    """Known noise: the covariance is the inverse of the information of data and prior."""
    free = [parameter("a"), parameter("b", prior=Prior("normal", 3.0, 0.2))]
    problem = python_problem({"y": LINE}, TIMES, free, sigma=0.3)
    found = bootstrapped(problem, line, LINE_SLOPES, replicates=30, method="parametric")
    information = DESIGN.T @ DESIGN / 0.3**2 + np.diag([0.0, 1.0 / 0.2**2])
    np.testing.assert_allclose(found.covariance, np.linalg.inv(information), rtol=1e-6)
    np.testing.assert_allclose([p.bias for p in found.estimates], 0.0, atol=1e-9)
    assert "replicates-prior" in {f.code for f in found.findings}


def test_replicates_stay_inside_the_bounds_and_reach_them() -> None:
    """On the bound the other parameter is the best for that value: a linear problem."""
    high = 3.05
    problem = decaying(DECAY, 0.0, high)
    found = bootstrapped(problem, decay, DECAY_SLOPES, replicates=200, method="parametric")
    k = found.replicates[:, 1]
    assert k.max() == high
    on = np.flatnonzero(k == high)
    assert 10 < on.size < 190
    p = np.array([q.value for q in found.estimates])
    left = DECAY - decay(TIMES, {}, *p)["y"]
    size = float(found.bands[0].noise[0])
    assert size == pytest.approx(np.std(left), rel=0.05)
    shape = np.exp(-high * TIMES)
    seeds = np.random.SeedSequence(0).spawn(200)
    for number in on[:20]:
        noise = size * np.random.default_rng(seeds[number]).standard_normal(TIMES.size)
        best = shape @ (decay(TIMES, {}, *p)["y"] + noise) / (shape @ shape)
        assert found.replicates[number, 0] == pytest.approx(best, rel=1e-6)


def test_a_parameter_that_the_data_do_not_determine_has_no_interval() -> None:
    def product(times: Any, inputs: Any, a: float, b: float, c: float) -> dict[str, Any]:
        return {"y": a * b * times + c}

    free = [parameter("a", 1.4), parameter("b", 1.4), parameter("c", 1.0)]
    problem = python_problem({"y": LINE}, TIMES, free, sigma=None)
    found = bootstrapped(problem, product, replicates=20)
    a, b, c = found.estimates
    assert a.bca == b.bca == (-np.inf, np.inf)
    assert np.isnan(a.standard_error)
    assert np.isfinite(c.standard_error)
    assert any("do not determine a, b" in note for note in found.notes)


def test_failed_replicates_are_counted_and_said() -> None:
    def fragile(times: Any, inputs: Any, a: float, b: float) -> dict[str, Any]:
        if b > 2.3:
            raise SimulationError("it breaks")
        return line(times, inputs, a, b)

    def slope(name: str) -> Any:
        def derivative(times: Any, inputs: Any, a: float, b: float) -> dict[str, Any]:
            fragile(times, inputs, a, b)
            return LINE_SLOPES[name](times, inputs, a, b)

        return derivative

    slopes = {name: slope(name) for name in LINE_SLOPES}
    found = bootstrapped(straight(LINE), fragile, slopes, replicates=100, method="parametric")
    assert found.failed
    assert len(found.numbers) + len(found.failed) == 100
    assert not {f.number for f in found.failed} & {*found.numbers.tolist()}
    said = f"{len(found.failed)} of 100 replicates could not be fitted"
    assert any(said in note and "are a selection" in note for note in found.notes)


def test_several_experiments_and_gaps() -> None:
    generator = np.random.default_rng(7)
    signals = [1.0 + 2.0 * TIMES + autoregressive(generator, TIMES.size, 0.7) for _ in range(3)]
    signals[1][20:25] = np.nan
    problem = with_experiments(straight(LINE), signals)
    found = bootstrapped(problem, line, LINE_SLOPES, replicates=50, method="block", block_length=8)
    assert set(found.block_lengths.values()) == {8}
    assert len(found.block_lengths) == 3
    assert [b.experiment for b in found.bands] == ["run1", "run2", "run3"]
    assert found.bands[1].times.size == TIMES.size - 5


def test_the_same_seed_gives_the_same_whatever_else_runs() -> None:
    first = bootstrapped(straight(LINE), line, LINE_SLOPES, replicates=20, seed=5)
    again = bootstrapped(straight(LINE), line, LINE_SLOPES, replicates=30, seed=5)
    other = bootstrapped(straight(LINE), line, LINE_SLOPES, replicates=20, seed=6)
    np.testing.assert_array_equal(first.replicates, again.replicates[:20])
    assert not np.array_equal(first.replicates, other.replicates)


def test_bands_of_a_straight_line_are_those_of_the_text_book() -> None:
    found = bootstrapped(straight(LINE), line, LINE_SLOPES, replicates=1000, method="parametric")
    estimate, left, covariance = ols(LINE)
    band = found.bands[0]
    np.testing.assert_allclose(band.predicted, DESIGN @ estimate, rtol=1e-7)
    deviations = np.sqrt(np.einsum("ij,jk,ik->i", DESIGN, covariance, DESIGN))
    half = 0.5 * (band.mean_high - band.mean_low)
    np.testing.assert_allclose(half, 1.96 * deviations, rtol=0.12)
    s = np.sqrt(left @ left / (TIMES.size - 2))
    np.testing.assert_allclose(band.noise, s, rtol=1e-7)
    width = 0.5 * (band.new_high - band.new_low)
    np.testing.assert_allclose(width, 2.0017 * np.hypot(deviations, s), rtol=0.01)
    assert band.samples == TIMES.size
    assert band.inside > 50


def interrupted_after(limit: int) -> BootstrapResult:
    problem = straight(LINE)

    class Pressed(PythonExecutor):
        count = 0

        def run(self, tasks: Any) -> Any:
            self.count += len(tasks)
            if self.count > limit:
                raise KeyboardInterrupt
            return super().run(tasks)

    return bootstrapped(problem, line, executor=Pressed(problem, line, LINE_SLOPES), replicates=200)


def test_what_is_fitted_is_kept_after_ctrl_c() -> None:
    found = interrupted_after(80)
    assert found.status == "interrupted"
    assert 20 <= len(found.numbers) < 200
    with pytest.raises(KeyboardInterrupt):
        interrupted_after(10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicates": 5}, "5 replicates are too few"),
        ({"level": 1.0}, "between 0 and 1"),
        ({"method": "jackknife"}, "there is no method 'jackknife'"),
        ({"weights": "heavy"}, "there are no weights 'heavy'"),
        ({"block_length": 0}, "at least 1 sample"),
        ({"seed": -1}, "a seed is not negative"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with refused(Code.INVALID_PROBLEM, ProblemError, match=message):
        bootstrapped(straight(LINE), line, **options)


def test_what_cannot_be_bootstrapped_is_refused() -> None:
    problem = straight(LINE)
    with refused(Code.INVALID_PROBLEM, ProblemError, match="the residuals vanish"):
        bootstrapped(straight(1.0 + TIMES), line, LINE_SLOPES)
    with refused(Code.INVALID_PROBLEM, ProblemError, match="no residuals are left"):
        bootstrapped(straight(LINE[:2], times=TIMES[:2]), line, LINE_SLOPES)
    mean = dataclasses.replace(problem, cost=TimeDomain(normalisation="mean-square"))
    with refused(Code.INVALID_PROBLEM, ProblemError, match="cannot be resampled"):
        bootstrapped(mean, line)

    def broken(times: Any, inputs: Any, a: float, b: float) -> dict[str, Any]:
        raise SimulationError("it breaks")

    with (
        refused(
            Code.ESTIMATION_FAILED, EstimationError, match="the simulation fails at the estimate"
        ),
        Evaluator(problem, PythonExecutor(problem, broken)) as evaluator,
    ):
        run_bootstrap(problem, evaluator, problem.initial, BootstrapOptions())


def test_a_result_is_readable() -> None:
    found = bootstrapped(straight(LINE), line, LINE_SLOPES, replicates=20)
    assert list(found.intervals.index) == ["a", "b"]
    assert found.table.shape == (20, 4)
    assert "20 replicates" in str(found)
    assert repr(found).startswith("<BootstrapResult complete: 20 replicates by 'residual'")
