"""Intervals of a stage count the uncertainty of what it holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fmident.data import Decimation, Experiment, Measurement
from fmident.errors import SimulationError
from fmident.estimation import run_stages
from fmident.estimation.stages.propagation import stages_with_intervals
from fmident.evaluation import PythonExecutor, SimulationTask
from fmident.problem import (
    EstimatorSettings,
    Parameter,
    Problem,
    Stage,
    stage_of,
)
from fmident.report.verdict import verdict
from fmident_costs import SmoothedSpectrum

from .linear_stages import (
    ESTIMATORS,
    FIRST,
    J1,
    J2,
    J21,
    SECOND,
    SIGMA,
    TRUTH,
    G,
    codes,
    experiment,
    inverse,
    line,
    same_data,
    solve,
    two_stages,
    whole,
)


def test_different_data_known_noise() -> None:
    found = solve(two_stages(whole()))
    v1, v2 = SIGMA**2 * inverse(J1), SIGMA**2 * inverse(J2)
    joint = np.block([[v1, v1 @ G.T], [G @ v1, v2 + G @ v1 @ G.T]])
    np.testing.assert_allclose(found.covariance, joint, rtol=1e-5)
    errors = np.sqrt(np.diag(joint))
    np.testing.assert_allclose(found.parameters["standard_error"], errors, rtol=1e-5)
    half = found.parameters["interval_95_high"] - found.parameters["value"]
    np.testing.assert_allclose(half, stats.norm.ppf(0.975) * errors, rtol=1e-5)
    np.testing.assert_allclose(found.correlation, joint / np.outer(errors, errors), rtol=1e-5)
    carried = found.stages[1].uncertainty
    assert carried is not None
    assert carried.counted == ("a", "b")
    assert carried.taken_for_known == carried.shared_experiments == ()
    alone = [carried.conditional_errors[n] for n in ("c", "d")]
    np.testing.assert_allclose(alone, np.sqrt(np.diag(v2)), rtol=1e-5)
    assert found.stages[0].uncertainty is None
    assert "stage-held-changed" in codes(found)
    (note,) = (f.text for f in found.findings if f.code == "stage-held-counted")
    assert "'rest' held 'a' and 'b'" in note
    assert "the intervals of 'c' and 'd' count their uncertainty" in note


def test_estimated_noise_counts_with_the_freedom_of_each_stage() -> None:
    found = solve(two_stages(whole(sigma=None)))
    # The noise of the second is what is left if the held values are free, too: no error of theirs.
    (y2,) = whole().experiments[1].measurements
    every = np.column_stack([J21, J2])
    left = y2.values - every @ np.linalg.lstsq(every, y2.values, rcond=None)[0]
    first = 2.0 * found.stages[0].cost_final / (21 - 2) * inverse(J1)
    alone = float(left @ left) / (33 - 4) * inverse(J2)
    inherited = G @ first @ G.T
    np.testing.assert_allclose(found.covariance[2:, 2:], alone + inherited, rtol=1e-5)
    own, other = np.diag(alone), np.diag(inherited)
    freedom = (own + other) ** 2 / (own**2 / 29 + other**2 / 19)
    half = found.parameters["interval_95_high"] - found.parameters["value"]
    expected = stats.t.ppf(0.975, freedom) * np.sqrt(own + other)
    np.testing.assert_allclose(half[2:], expected, rtol=1e-5)


def test_the_same_data_twice_count_as_what_they_are() -> None:
    found = solve(same_data())
    answer1 = -inverse(J21) @ J21.T
    answer2 = -inverse(J2) @ J2.T @ (np.eye(33) + J21 @ answer1)
    joint = np.vstack([answer1, answer2]) * SIGMA
    np.testing.assert_allclose(found.covariance, joint @ joint.T, rtol=1e-4, atol=1e-8)
    carried = found.stages[1].uncertainty
    assert carried is not None
    assert carried.shared_experiments == ("second",)
    # The first stage held c and d at wrong values, which no interval counts: that is told.
    assert {"stage-held-counted", "stage-held-changed"} <= codes(found)


def test_windows_of_one_file_have_samples_in_common() -> None:
    problem = whole()
    late = experiment("second", "y2", SECOND, source="data.csv")
    (y,) = late.measurements
    early = Experiment("early", SECOND[:12], {}, (dataclasses.replace(y, values=y.values[:12]),),
                       source="data.csv")  # fmt: skip
    problem = dataclasses.replace(problem, experiments=(early, late))
    stages = (
        stage_of(problem, "first", free=["a", "b"], experiments=["early"]),
        stage_of(problem, "rest", free=["c", "d"], experiments=["second"]),
    )
    found = solve(dataclasses.replace(problem, stages=stages))
    head = J21[:12]
    answer1 = np.hstack([-inverse(head) @ head.T, np.zeros((2, 21))])
    answer2 = -inverse(J2) @ J2.T @ (np.eye(33) + J21 @ answer1)
    joint = np.vstack([answer1, answer2]) * SIGMA
    np.testing.assert_allclose(found.covariance, joint @ joint.T, rtol=1e-4, atol=1e-8)


def test_data_in_another_form_are_taken_for_independent_and_that_is_told() -> None:
    problem = whole()
    long = np.linspace(0.0, 2.0, 201)
    plain = experiment("plain", "y2", long, source="data.csv")
    (y,) = plain.measurements
    thin = Experiment("thin", long, {}, (dataclasses.replace(y, decimation=Decimation(2)),),
                      source="data.csv")  # fmt: skip
    problem = dataclasses.replace(problem, experiments=(plain, thin))
    stages = (
        stage_of(problem, "first", free=["a", "b"], experiments=["plain"]),
        stage_of(problem, "rest", free=["c", "d"], experiments=["thin"]),
    )
    found = solve(dataclasses.replace(problem, stages=stages))
    carried = found.stages[1].uncertainty
    assert carried is not None
    assert carried.taken_for_independent == ("thin",)
    assert carried.shared_experiments == ()


def test_it_takes_one_simulation_per_parameter_and_experiment_and_all_are_counted() -> None:
    executors: list[Any] = []
    found = solve(two_stages(whole()), executors=executors)
    carried = found.stages[1].uncertainty
    assert carried is not None
    assert carried.simulations == 3  # two parameters, and the solution
    assert found.simulations == executors[0].count
    assert found.simulations == sum(s.simulations for s in found.stages) + 4


def test_it_can_be_switched_off() -> None:
    executors: list[Any] = []
    on, off = solve(two_stages(whole())), solve(two_stages(whole(), propagate=False),
                                                executors=executors)  # fmt: skip
    assert off.simulations == on.simulations - 3 == executors[0].count
    np.testing.assert_allclose(
        off.parameters["standard_error"].iloc[2:], SIGMA * np.sqrt(np.diag(inverse(J2))), rtol=1e-5
    )
    assert np.isnan(off.covariance[:2, 2:]).all()
    assert np.isfinite(off.covariance[:2, :2]).all()
    assert "stage-held-known" in codes(off)
    assert "stage-held-counted" not in codes(off)
    # The first stage still has the last word on a and b.
    assert stages_with_intervals(two_stages(whole(), propagate=False)) == [True, True]


def test_log_scaled_parameters_are_propagated_in_their_units() -> None:
    bounds = {"scaling": "log", "lower": 1e-3, "upper": 1e3}
    found = solve(two_stages(whole(a=bounds, d=bounds)))
    plain = solve(two_stages(whole()))
    np.testing.assert_allclose(found.covariance, plain.covariance, rtol=1e-4)


def test_parameters_of_the_measurement_and_of_one_experiment_are_propagated() -> None:
    # c is an offset of the measurement, a acts in "second" only as a local parameter.
    problem = whole(c={"variable": None}, a={"experiments": ("one", "second")})
    one, second = problem.experiments
    (y,) = second.measurements
    second = dataclasses.replace(second, measurements=(dataclasses.replace(y, offset="c"),))
    (y,) = one.measurements
    one = dataclasses.replace(one, measurements=(dataclasses.replace(y, offset="c"),))
    problem = dataclasses.replace(problem, experiments=(one, second))
    stages = (
        stage_of(problem, "offset", free=["c", "b"], experiments=["one"]),
        stage_of(problem, "rest", free=["a", "d"], experiments=["second"]),
    )
    found = solve(dataclasses.replace(problem, stages=stages))
    held = -np.column_stack([np.ones(33), SECOND**2])
    own = -np.column_stack([SECOND, np.cos(3.0 * SECOND)])
    g = -inverse(own) @ own.T @ held
    expected = SIGMA**2 * (inverse(own) + g @ inverse(J1) @ g.T)
    np.testing.assert_allclose(found.covariance[np.ix_([0, 3], [0, 3])], expected, rtol=1e-5)


def test_a_parameter_searched_again_counts_as_the_later_stage_found_it() -> None:
    problem = whole()
    stages = (
        stage_of(problem, "line", free=["a", "b"], experiments=["one"]),
        stage_of(problem, "again", free=["b", "c"], experiments=["second"]),
        stage_of(problem, "last", free=["d"], experiments=["second"]),
    )
    problem = dataclasses.replace(problem, stages=stages)
    assert stages_with_intervals(problem) == [True, True, True]
    found = solve(problem)
    a = np.hstack([(-inverse(J1) @ J1.T)[:1], np.zeros((1, 33))])
    ja, jbc, jd = J21[:, :1], np.column_stack([J21[:, 1], J2[:, 0]]), J2[:, 1:]
    noise = np.hstack([np.zeros((33, 21)), np.eye(33)])
    bc = -inverse(jbc) @ jbc.T @ (noise + ja @ a)
    d = -inverse(jd) @ jd.T @ (noise + ja @ a + jbc @ bc)
    joint = np.vstack([a, bc, d]) * SIGMA
    np.testing.assert_allclose(found.covariance, joint @ joint.T, rtol=1e-4, atol=1e-8)
    by_name = {s.name: s.uncertainty for s in found.stages}
    assert by_name["again"].counted == ("a",)
    assert by_name["last"].counted == ("a", "b", "c")


def test_stages_whose_values_are_only_starts_cost_nothing() -> None:
    problem = whole()
    stages = (*two_stages(problem).stages, stage_of(problem, "all"))
    problem = dataclasses.replace(problem, stages=stages)
    assert stages_with_intervals(problem) == [False, False, True]
    found = solve(problem)
    assert all(s.uncertainty is None for s in found.stages)
    assert not any(code.startswith("stage-held") for code in codes(found))


def test_a_search_without_uncertainty_is_named() -> None:
    problem = whole(a={"lower": -5.0, "upper": 5.0}, b={"lower": -5.0, "upper": 5.0})
    problem = two_stages(problem)
    search = dataclasses.replace(
        problem.stages[0].problem,
        cost=SmoothedSpectrum(smoothing=2),
        estimator=EstimatorSettings("cma-es", {"seed": 1, "generations": 30}),
    )
    stages = (Stage("line", search), problem.stages[1])
    found = solve(dataclasses.replace(problem, stages=stages))
    carried = found.stages[1].uncertainty
    assert carried is not None
    assert carried.counted == ()
    assert carried.taken_for_known == ("a", "b")
    assert carried.simulations == 0
    assert "stage-held-known" in codes(found)
    np.testing.assert_allclose(
        found.parameters["standard_error"].iloc[2:],
        SIGMA * np.sqrt(np.diag(inverse(J2))),
        rtol=1e-5,
    )


def test_a_parameter_on_its_bound_counts_as_known_and_is_named() -> None:
    found = solve(two_stages(whole(b={"lower": -0.5, "upper": 0.0})))
    carried = found.stages[1].uncertainty
    assert carried is not None
    assert carried.counted == ("a",)
    assert carried.taken_for_known == ("b",)
    assert "stage-held-known" in codes(found)


def test_a_bound_in_reach_ends_the_interval_that_counts_held_values() -> None:
    free = solve(two_stages(whole()))
    value, error = free.estimates[3].value, free.estimates[3].standard_error
    upper = value - 0.2 * error
    bound = {"lower": -9.0, "upper": upper, "initial": 0.5}
    found = solve(two_stages(whole(d=bound))).estimates
    assert found[3].interval_95[1] == found[3].value == upper
    # The ellipse of the covariance around least squares, as large as to the estimate and t more.
    beyond = np.array([f.value - e.value for f, e in zip(free.estimates, found, strict=True)])[2:]
    assert free.covariance is not None
    square = beyond @ np.linalg.solve(free.covariance[2:, 2:], beyond)
    reach = np.sqrt(stats.norm.ppf(0.975) ** 2 + square) * error
    assert found[3].interval_95[0] == pytest.approx(value - reach, rel=1e-5)


def product(
    times: np.ndarray, inputs: Any, a: float, b: float, c: float = 0.0, d: float = 0.0
) -> Any:
    """Return y1, which shows a b only, and y2, which depends on a b, or with d on a alone."""
    return {"y1": a * b * times, "y2": c * np.cos(times) + a * b * np.sin(times) + d * a * times}


def product_problem(d: float) -> Problem:
    truth = {"a": 2.0, "b": 1.5, "c": 0.7, "d": d}
    experiments = []
    for name, output, times in (("one", "y1", FIRST), ("second", "y2", SECOND)):
        noise = SIGMA * np.random.default_rng(1).normal(size=times.size)
        values = product(times, {}, **truth)[output] + noise
        y = Measurement(output, output, output, values, sigma=np.array(SIGMA))
        experiments.append(Experiment(name, times, {}, (y,)))
    quantities = tuple(Parameter(n, v, variable=n, fixed=n == "d") for n, v in truth.items())
    problem = Problem(
        Path("m.fmu"), quantities, tuple(experiments), EstimatorSettings("least-squares")
    )
    stages = (
        stage_of(problem, "line", free=["a", "b"], experiments=["one"]),
        stage_of(problem, "rest", free=["c"], experiments=["second"]),
    )
    return dataclasses.replace(problem, stages=stages)


def test_a_later_stage_that_needs_only_what_is_determined_has_an_interval() -> None:
    found = solve(product_problem(d=0.0), product)
    estimates = {e.name: e for e in found.estimates}
    assert estimates["a"].base == estimates["b"].base == ("a_base",)
    (base,) = found.base_parameters
    error = SIGMA / np.linalg.norm(FIRST)
    assert (base.value, base.standard_error) == (
        pytest.approx(3.0, abs=4.0 * error), pytest.approx(error, rel=1e-4)
    )  # fmt: skip
    judged = verdict(found)
    assert judged.grade == "doubtful"
    assert "a and b act only in a*b" in judged.headline
    slope, own = FIRST, np.cos(SECOND)
    g = own @ np.sin(SECOND) / (own @ own)
    expected = SIGMA * np.sqrt(1.0 / (own @ own) + g**2 / (slope @ slope))
    assert estimates["c"].standard_error == pytest.approx(expected, rel=1e-4)


def test_a_later_stage_that_needs_what_nothing_determines_has_no_finite_interval() -> None:
    found = solve(product_problem(d=0.5), product)
    estimates = {e.name: e for e in found.estimates}
    assert estimates["c"].interval_95 == (-np.inf, np.inf)
    assert np.isnan(estimates["c"].standard_error)
    assert "stage-held-undetermined" in codes(found)


def test_a_stage_with_a_model_of_its_own_is_propagated() -> None:
    problem = whole()
    own = dataclasses.replace(
        problem, parameters=problem.parameters[:2], experiments=problem.experiments[:1]
    )
    stages = (Stage("line", own, separate=True), two_stages(problem).stages[1])
    found = solve(dataclasses.replace(problem, stages=stages))
    np.testing.assert_allclose(found.covariance, solve(two_stages(problem)).covariance, rtol=1e-5)


def test_a_simulation_that_fails_there_costs_no_result() -> None:
    ended: list[bool] = []

    def fragile(times: np.ndarray, inputs: Any, a: float, b: float, **rest: float) -> Any:
        if ended and a != ended[0]:
            raise SimulationError("the model breaks")
        return line(times, inputs, a, b, **rest)

    class Watch:
        def iteration(self, state: Any) -> None:
            if state.stage == "rest" and not ended:
                ended.append(state.parameters[0])

    found = run_stages(
        two_stages(whole()),
        lambda asked: PythonExecutor(asked, fragile),
        lambda name: ESTIMATORS.get(name)(),
        [Watch()],
    )
    assert found.status == "converged"
    assert np.isfinite(found.parameters["standard_error"]).all()
    (note,) = (f.text for f in found.findings if f.code == "stage-held-known")
    assert "the model breaks" in note


def test_ctrl_c_there_ends_the_run_with_all_values() -> None:
    class Interrupted(PythonExecutor):
        def run(self, tasks: Sequence[SimulationTask]) -> Any:
            if began and any(t.values["a"] != began[0] for t in tasks):
                raise KeyboardInterrupt
            return super().run(tasks)

    began: list[float] = []

    class Watch:
        def iteration(self, state: Any) -> None:
            if state.stage == "rest" and not began:
                began.append(state.parameters[0])

    found = run_stages(
        two_stages(whole()),
        lambda asked: Interrupted(asked, line),
        lambda name: ESTIMATORS.get(name)(),
        [Watch()],
    )
    assert found.status == "interrupted"
    assert found.values["c"] == pytest.approx(TRUTH["c"], abs=0.5)
    assert "stage-held-known" in codes(found)
