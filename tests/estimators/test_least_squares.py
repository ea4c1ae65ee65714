"""Bounds, losses, deficient ranks, failures, starts and limits of least-squares."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares

from fmident.errors import Code, ProblemError, SimulationError
from fmident.estimation import EstimationResult, build_options
from fmident.evaluation import python_problem
from fmident.problem.model import Parameter, Problem
from fmident_estimators.least_squares.estimator import LeastSquares, starting_points
from fmident_estimators.losses import Loss

from ..models import decay
from ..refused import refused

Run = Callable[..., EstimationResult]
Make = Callable[..., Problem]


def free(
    a: float = 1.0,
    k: float = 0.5,
    *,
    lower_a: float = -np.inf,
    upper_a: float = np.inf,
    lower_k: float = -np.inf,
    upper_k: float = np.inf,
) -> list[Parameter]:
    return [
        Parameter("a", a, lower_a, upper_a, variable="a"),
        Parameter("k", k, lower_k, upper_k, variable="k"),
    ]


def test_noise_free_data_give_the_truth(make_problem: Make, run: Run) -> None:
    problem = make_problem(decay, {"a": 2.0, "k": 1.3}, free())
    result = run(problem, decay, LeastSquares())
    assert result.converged()
    assert result.values == pytest.approx({"a": 2.0, "k": 1.3}, rel=1e-7)


def test_a_file_that_asks_for_ceres_is_answered_by_scipy(make_problem: Make, run: Run) -> None:
    problem = make_problem(decay, {"a": 2.0, "k": 1.3}, free(), noise=0.05)
    usual = run(problem, decay, LeastSquares())
    options = {"solver": "ceres", "initial_trust_region": 1e-2}
    result = run(problem, decay, LeastSquares(), options)
    assert result.values == usual.values
    assert len(result.notes) == len(usual.notes) + 1


def test_the_minimum_on_a_bound_is_the_constrained_one(make_problem: Make, run: Run) -> None:
    problem = make_problem(decay, {"a": 2.0, "k": 1.3}, free(), noise=0.02)
    bounded = python_problem(
        {"y": problem.experiments[0].measurements[0].values},
        problem.experiments[0].times,
        free(lower_k=0.1, upper_k=1.0),
        sigma=0.05,
    )
    result = run(bounded, decay, LeastSquares())
    assert result.converged()
    table = result.parameters
    assert table.loc["k", "value"] == 1.0
    assert bool(table.loc["k", "at_bound"])
    assert not bool(table.loc["a", "at_bound"])
    times = problem.experiments[0].times
    shape = np.exp(-times)
    y = problem.experiments[0].measurements[0].values
    assert table.loc["a", "value"] == pytest.approx(float(shape @ y / (shape @ shape)), rel=1e-6)
    assert table.loc["a", "standard_error"] == pytest.approx(
        0.05 / np.sqrt(shape @ shape), rel=1e-4
    )
    assert any("'k' lies on a bound" in note for note in result.notes)


def test_a_start_on_a_bound_can_leave_it(make_problem: Make, run: Run) -> None:
    problem = make_problem(
        decay,
        {"a": 2.0, "k": 1.3},
        free(0.5, 0.1, lower_a=0.5, upper_a=9.0, lower_k=0.1, upper_k=5.0),
    )
    result = run(problem, decay, LeastSquares())
    assert result.values == pytest.approx({"a": 2.0, "k": 1.3}, rel=1e-6)


@pytest.mark.parametrize("loss", ["huber", "soft_l1", "cauchy"])
def test_outliers_do_not_pull_a_robust_fit(loss: str, make_problem: Make, run: Run) -> None:
    problem = make_problem(decay, {"a": 2.0, "k": 1.3}, free(), noise=0.02, sigma=0.02)
    values = problem.experiments[0].measurements[0].values
    values[::7] += 3.0
    plain = run(problem, decay, LeastSquares())
    robust = run(problem, decay, LeastSquares(), {"loss": loss})
    assert abs(plain.values["a"] - 2.0) > 0.2
    assert robust.values["a"] == pytest.approx(2.0, abs=0.06)
    assert robust.values["k"] == pytest.approx(1.3, abs=0.06)
    assert any("intervals are those of this loss" in note for note in robust.notes)
    # Sigma is given: least squares counts on it, and its narrow intervals lie beside the truth.
    a, k = (e for e in robust.estimates)
    assert a.interval_95[0] < 2.0 < a.interval_95[1]
    assert k.interval_95[0] < 1.3 < k.interval_95[1]
    assert a.standard_error < 2.0 * plain.estimates[0].standard_error


def _scores_are_the_derivatives_of_the_cost(loss: Any, scale: float, residuals: Any) -> None:
    h = 1e-6
    robust = Loss(loss, scale)

    def scores(values: Any) -> Any:
        found = robust.scores(values)
        assert found is not None
        return found

    found = scores(residuals)
    away = np.abs(np.abs(residuals) - scale) > 1e-3  # Huber's score has a corner there
    for r, value, slope in zip(
        residuals[away], found.values[away], found.slopes[away], strict=True
    ):
        up, down = (robust.cost(np.array([r + d])) for d in (h, -h))
        assert value == pytest.approx((up - down) / (2.0 * h), abs=1e-6)
        up, down = (scores(np.array([r + d])).values[0] for d in (h, -h))
        assert slope == pytest.approx((up - down) / (2.0 * h), abs=1e-6)


@pytest.mark.parametrize("loss", ["linear", "huber", "soft_l1", "cauchy"])
def test_losses_are_those_of_scipy(loss: Any) -> None:
    residuals = np.array([-30.0, -2.0, -0.3, 0.0, 1e-9, 0.5, 1.7, 12.0])
    scale = 1.4
    # SciPy's cost at the start of a problem whose residuals are these.
    found = least_squares(lambda x: residuals + 0.0 * x, [0.0], loss=loss, f_scale=scale)
    ours = Loss(loss, scale).cost(residuals)
    assert ours == pytest.approx(found.cost, rel=1e-12)
    transformed, slope = Loss(loss, scale).residuals(residuals)
    if loss == "linear":
        assert Loss(loss, scale).scores(residuals) is None
    else:
        _scores_are_the_derivatives_of_the_cost(loss, scale, residuals)
    assert 0.5 * transformed @ transformed == pytest.approx(ours, rel=1e-12)
    h = 1e-6
    up, _ = Loss(loss, scale).residuals(residuals + h)
    down, _ = Loss(loss, scale).residuals(residuals - h)
    np.testing.assert_allclose(slope, (up - down) / (2 * h), rtol=1e-5)


@pytest.mark.parametrize("name", ["huber", "soft_l1", "cauchy"])
def test_rows_of_priors_count_with_their_squares(name: Any) -> None:
    data, deviations = np.array([-30.0, -2.0, 0.0, 0.5, 12.0]), np.array([4.0, -7.0])
    residuals, loss = np.append(data, deviations), Loss(name, 1.4, priors=2)
    whole = Loss(name, 1.4).cost(data) + 0.5 * deviations @ deviations
    found = least_squares(lambda x: residuals + 0.0 * x, [0.0], loss=loss.scipy, f_scale=1.4)
    assert loss.cost(residuals) == pytest.approx(whole, rel=1e-14)
    assert found.cost == pytest.approx(whole, rel=1e-14)
    transformed, slope = loss.residuals(residuals)
    assert 0.5 * transformed @ transformed == pytest.approx(whole, rel=1e-14)
    np.testing.assert_array_equal(slope[5:], 1.0)
    scores, plain = loss.scores(residuals), Loss(name, 1.4).scores(data)
    assert scores is not None
    assert plain is not None
    np.testing.assert_array_equal(scores.values, plain.values)
    with np.errstate(all="raise"):
        values = loss.scipy(np.array([0.0, 0.3, 2.0, 9.0, 49.0]))
    s, step = np.array([0.3, 2.0, 9.0]), 1e-5  # rho and its two derivatives
    ends = [loss.scipy(np.concatenate([[0.0], s + h, [9.0, 49.0]])) for h in (step, -step)]
    for order in (0, 1):
        slopes = (ends[0][order, 1:3] - ends[1][order, 1:3]) / (2.0 * step)
        np.testing.assert_allclose(values[order + 1, 1:3], slopes, rtol=1e-6)


def test_two_parameters_that_act_as_one_are_named(make_problem: Make, run: Run) -> None:
    def model(times, inputs, a, b, k):
        return {"y": (a + 2.0 * b) * np.exp(-k * times)}

    parameters = [*free(), Parameter("b", 0.3, variable="b")]
    problem = make_problem(model, {"a": 1.0, "b": 0.5, "k": 1.3}, parameters, noise=0.05)
    result = run(problem, model, LeastSquares())
    assert result.converged()
    assert result.identifiability is not None
    assert result.identifiability.rank == 2
    assert "a and b cannot be told apart; only a + 2*b is determined" in (
        result.identifiability.verdict
    )
    assert result.values["a"] + 2.0 * result.values["b"] == pytest.approx(2.0, abs=0.05)
    table = result.parameters
    assert np.isnan(table.loc["a", "interval_95_high"])
    low, high = table.loc["k", "interval_95_low"], table.loc["k", "interval_95_high"]
    assert low < 1.3 < high
    assert high - low < 0.3


def test_steps_into_failing_regions_are_survived(make_problem: Make, run: Run) -> None:
    def fragile(times, inputs, a, k):
        if k > 1.301 or a > 2.001:
            raise SimulationError("solver gave up", time=0.1)
        return decay(times, inputs, a, k)

    # The minimum lies just inside, so that steps go beyond the edge.
    problem = make_problem(decay, {"a": 2.0, "k": 1.3}, free(a=1.2, k=0.7))
    result = run(problem, fragile, LeastSquares())
    assert result.converged()
    assert result.values == pytest.approx({"a": 2.0, "k": 1.3}, rel=1e-6)
    assert any("failed" in note and "solver gave up" in note for note in result.notes)


def test_a_minimum_behind_the_edge_is_not_called_converged(make_problem: Make, run: Run) -> None:
    def fragile(times, inputs, a, k):
        if k > 1.0:
            raise SimulationError("solver gave up")
        return decay(times, inputs, a, k)

    problem = make_problem(decay, {"a": 2.0, "k": 1.3}, free(), noise=0.01)
    result = run(problem, fragile, LeastSquares())
    assert (result.status, result.ended_by) == ("limit", "stuck")
    assert "where the simulation fails (solver gave up" in result.message
    assert result.values["k"] == pytest.approx(1.0, abs=0.05)


def test_several_starts_leave_a_poor_local_minimum(make_problem: Make, run: Run) -> None:
    def sine(times, inputs, w):
        return {"y": np.sin(w * times)}

    parameters = [Parameter("w", 2.0, 0.5, 20.0, variable="w", scale=5.0)]
    problem = make_problem(sine, {"w": 9.0}, parameters, noise=0.05)
    one = run(problem, sine, LeastSquares())
    assert abs(one.values["w"] - 9.0) > 1.0
    many = run(problem, sine, LeastSquares(), {"starts": 12, "seed": 1})
    assert many.values["w"] == pytest.approx(9.0, abs=0.05)
    assert "of 12 starts reached the best minimum" in many.message
    local = many.settings["local_results"]
    assert len(local) == 12
    assert min(r["cost"] for r in local) == pytest.approx(many.cost_final)
    costs = [i.cost for i in many.history]
    assert costs == sorted(costs, reverse=True)


def test_several_starts_need_bounds(make_problem: Make, run: Run) -> None:
    problem = make_problem(decay, {"a": 2.0, "k": 1.3}, free(lower_a=0.0))
    with refused(Code.MISSING_BOUNDS, ProblemError, match=r"'a' \[0.0, inf\], 'k' \[-inf, inf\]"):
        run(problem, decay, LeastSquares(), {"starts": 3})


def test_the_history_tells_the_start(make_problem: Make, run: Run) -> None:
    problem = make_problem(
        decay, {"a": 2.0, "k": 1.3}, free(lower_a=0.0, upper_a=5.0, lower_k=0.0, upper_k=5.0)
    )
    history = run(problem, decay, LeastSquares(), {"starts": 3}).history
    numbers = [i.details["start"] for i in history]
    assert numbers[:3] == [1.0, 2.0, 3.0], "the starts are one batch"
    assert numbers[3:] != sorted(numbers[3:]), "the searches run side by side"
    for start in (1.0, 2.0, 3.0):
        costs = [i.details["local_cost"] for i in history if i.details["start"] == start]
        assert costs == sorted(costs, reverse=True)
    assert {i.details["start"] for i in history} == {1.0, 2.0, 3.0}
    assert {i.details["starts"] for i in history} == {3.0}
    assert not any("start" in i.details for i in run(problem, decay, LeastSquares()).history)


def test_starts_that_cannot_be_simulated_are_counted(make_problem: Make, run: Run) -> None:
    def fragile(times, inputs, a, k):
        if k > 2.5:
            raise SimulationError("no")
        return decay(times, inputs, a, k)

    parameters = free(lower_a=0.0, upper_a=5.0, lower_k=0.0, upper_k=5.0)
    problem = make_problem(decay, {"a": 2.0, "k": 1.3}, parameters)
    result = run(problem, fragile, LeastSquares(), {"starts": 9})
    assert "4 could not be simulated" in result.message
    assert result.values["k"] == pytest.approx(1.3, rel=1e-6)


def test_a_start_among_failing_simulations_does_not_end_the_others(
    make_problem: Make, run: Run
) -> None:
    def fragile(times, inputs, a, k):
        if abs(k - 4.5) < 0.6 and k not in islands:
            raise SimulationError("no")
        return decay(times, inputs, a, k)

    parameters = free(lower_a=0.0, upper_a=5.0, lower_k=0.0, upper_k=5.0)
    problem = make_problem(decay, {"a": 2.0, "k": 1.3}, parameters)
    options = build_options(LeastSquares, {"starts": 6})
    points = starting_points(problem, options)
    islands = [k for k in points[:, 1] if abs(k - 4.5) < 0.6]
    assert len(islands) == 1, "one start lies where everything else fails"
    result = run(problem, fragile, LeastSquares(), {"starts": 6})
    assert "1 given up" in result.message
    assert result.values == pytest.approx({"a": 2.0, "k": 1.3}, rel=1e-6)


def test_the_limit_of_iterations_is_kept_and_named(make_problem: Make, run: Run) -> None:
    problem = make_problem(decay, {"a": 2.0, "k": 1.3}, free(a=0.1, k=0.01))
    result = run(problem, decay, LeastSquares(), {"max_iterations": 2})
    assert result.status == "limit"
    assert "limit of 2 iterations" in result.message
    assert len(result.history) == 3
    assert result.cost_final < result.cost_initial


def test_no_jacobian_is_wasted(make_problem: Make, run: Run) -> None:
    problem = make_problem(decay, {"a": 2.0, "k": 1.3}, free(a=1.6, k=1.0), noise=0.05)
    result = run(problem, decay, LeastSquares())
    # One per accepted point, the last one serving the intervals too.
    assert result.jacobians == len(result.history)
    assert result.jacobians <= 6


def test_history_counts_iterations_and_cost_never_rises(make_problem: Make, run: Run) -> None:
    problem = make_problem(decay, {"a": 2.0, "k": 1.3}, free(), noise=0.05)
    result = run(problem, decay, LeastSquares())
    assert [i.number for i in result.history] == list(range(len(result.history)))
    costs = [i.cost for i in result.history]
    assert costs[0] == pytest.approx(result.cost_initial)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == pytest.approx(result.cost_final)
    np.testing.assert_array_equal(
        result.history[-1].parameters, [result.values["a"], result.values["k"]]
    )


def test_logarithmic_scaling_searches_over_decades(make_problem: Make, run: Run) -> None:
    parameters = [
        Parameter("a", 1.0, variable="a"),
        Parameter("k", 0.05, 1e-6, 1e4, variable="k", scaling="log"),
    ]
    problem = make_problem(decay, {"a": 2.0, "k": 1.3}, parameters)
    result = run(problem, decay, LeastSquares())
    assert result.values == pytest.approx({"a": 2.0, "k": 1.3}, rel=1e-6)


def test_gain_offset_and_delay_are_estimated_with_the_model(make_problem: Make, run: Run) -> None:
    def sine(times, inputs, w):
        return {"y": np.sin(w * times)}

    times = np.linspace(0.0, 6.0, 601)
    problem = make_problem(
        sine, {"w": 2.0}, [Parameter("w", 1.8, variable="w")], times=times, sigma=0.01
    )
    experiment = problem.experiments[0]
    late = np.where(times > 0.05, np.sin(2.0 * (times - 0.05)), 0.0)
    noise = 0.01 * np.random.default_rng(3).normal(size=times.size)
    measured = dataclasses.replace(
        experiment.measurements[0],
        values=1.7 * late + 0.3 + noise,
        gain="gain",
        offset="offset",
        delay="delay",
    )
    problem = dataclasses.replace(
        problem,
        experiments=(dataclasses.replace(experiment, measurements=(measured,)),),
        parameters=(
            *problem.parameters,
            Parameter("gain", 1.0),
            Parameter("offset", 0.0),
            Parameter("delay", 0.02, 0.0, 0.2, scale=0.02),
        ),
    )
    result = run(problem, sine, LeastSquares())
    assert result.converged()
    table = result.parameters
    for name, value in {"w": 2.0, "gain": 1.7, "offset": 0.3, "delay": 0.05}.items():
        assert table.loc[name, "value"] == pytest.approx(
            value, abs=4.0 * table.loc[name, "standard_error"]
        )


def test_a_start_where_nothing_acts_is_left(make_problem: Make, run: Run) -> None:
    def even(times: np.ndarray, inputs: object, a: float, b: float) -> dict[str, np.ndarray]:
        return {"y": a**2 * times + b**2}

    parameters = [Parameter(n, 0.0, -5.0, 5.0, variable=n) for n in ("a", "b")]
    problem = make_problem(even, {"a": 2.0, "b": 1.0}, parameters, noise=0.01)
    result = run(problem, even, LeastSquares())
    assert result.status == "converged"
    assert np.abs([*result.values.values()]) == pytest.approx([2.0, 1.0], rel=0.01)


@pytest.mark.parametrize("sigma", [None, 0.1])
def test_as_many_samples_as_parameters_tell_the_noise_only_where_it_is_given(
    sigma: float | None, run: Run
) -> None:
    measured = {"y": np.array([3.0, 2.0])}
    problem = python_problem(measured, np.array([0.0, 1.0]), free(), sigma=sigma)
    result = run(problem, decay, LeastSquares())
    said = "no-intervals" in {f.code for f in result.findings}
    assert said == (sigma is None)
    assert np.isfinite(result.estimates[0].interval_95).all() == (sigma is not None)
