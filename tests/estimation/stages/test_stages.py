"""Problems solved in stages."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmident.data import Experiment, Measurement
from fmident.errors import Code, ProblemError
from fmident.estimation import (
    EstimationResult,
    Estimator,
    Iteration,
    StopEstimation,
    run_stages,
)
from fmident.evaluation import PythonExecutor, SimulationTask
from fmident.plugins import load_plugins
from fmident.problem import EstimatorSettings, Parameter, Problem, Stage, TimeDomain, stage_of
from fmident_costs import FrequencyDomain, SmoothedSpectrum

from ...refused import refused
from .linear_stages import Counting

TRUTH = {"a": 2.0, "k": 1.3, "w": 6.0}
SLOW, FAST = np.linspace(0.0, 4.0, 41), np.linspace(0.0, 2.0, 201)


def model(times, inputs, a: float, k: float, w: float = 0.0) -> dict[str, np.ndarray]:
    return {"y": a * np.exp(-k * times), "z": a * np.exp(-k * times) * np.cos(w * times)}


def experiment(name: str, output: str, times: np.ndarray) -> Experiment:
    noise = 0.01 * np.random.default_rng(len(name)).normal(size=times.size)
    values = model(times, {}, **TRUTH)[output] + noise
    y = Measurement(output, output, output, values, sigma=np.array(0.01))
    return Experiment(name, times, {}, (y,))


def problem(**changes: Any) -> Problem:
    whole = Problem(
        Path("m.fmu"),
        (
            Parameter("a", 1.0, 0.1, 10.0, variable="a"),
            Parameter("k", 0.5, 0.05, 5.0, variable="k"),
            Parameter("w", 3.0, 0.1, 20.0, variable="w", experiments=("fast",)),
        ),
        (experiment("slow", "y", SLOW), experiment("fast", "z", FAST)),
        EstimatorSettings("least-squares"),
    )
    return dataclasses.replace(whole, **changes)


def two_steps() -> Problem:
    whole = problem()
    settings = EstimatorSettings("cma-es", {"seed": 1, "generations": 30})
    return dataclasses.replace(
        whole,
        stages=(
            stage_of(whole, "static", experiments=["slow"]),
            stage_of(
                whole,
                "search",
                free=["w"],
                experiments=["fast"],
                cost=SmoothedSpectrum(smoothing=2),
                estimator=settings,
            ),
            stage_of(whole, "dynamic", free=["w"], experiments=["fast"]),
        ),
    )


def solve(
    whole: Problem,
    observers: Sequence[Any] = (),
    executor_of: Callable[[Problem], Any] | None = None,
) -> EstimationResult:
    estimators = load_plugins().estimators
    return run_stages(
        whole,
        executor_of or (lambda asked: PythonExecutor(asked, model)),
        lambda name: estimators.get(name)(),
        observers,
    )


def test_each_stage_starts_where_the_last_one_ended_and_holds_the_rest() -> None:
    found = solve(two_steps())
    assert found.values == pytest.approx(TRUTH, rel=0.01)
    assert [s.name for s in found.stages] == ["static", "search", "dynamic"]
    static, search, dynamic = found.stages
    assert set(static.parameters) == {"a", "k"}
    assert set(search.parameters) == set(dynamic.parameters) == {"w"}
    assert found.values["a"] == static.parameters["a"]
    assert (static.cost, search.cost, dynamic.cost) == (
        "time-domain", "smoothed-spectrum", "time-domain",
    )  # fmt: skip
    assert (search.estimator, dynamic.estimator) == ("cma-es", "least-squares")
    assert found.estimator == "least-squares, cma-es"
    assert found.cost == "time-domain"
    assert found.cost_final == dynamic.cost_final < dynamic.cost_initial
    assert found.status == "converged"
    assert found.message.startswith("stage 3 of 3, 'dynamic': ")


def test_counts_add_up_and_one_executor_serves_all_stages() -> None:
    made: list[Counting] = []

    def executor_of(asked: Problem) -> Counting:
        made.append(Counting(asked, model))
        return made[-1]

    found = solve(two_steps(), executor_of=executor_of)
    (executor,) = made
    assert found.simulations == executor.count
    # Both experiments are simulated once more at the first and at the last values.
    assert found.simulations == sum(s.simulations for s in found.stages) + 4
    assert found.jacobians == sum(s.jacobians for s in found.stages)


def test_history_and_observers_see_all_parameters_and_the_stage() -> None:
    seen: list[Iteration] = []

    class Watch:
        def iteration(self, state: Iteration) -> None:
            seen.append(state)

    found = solve(two_steps(), [Watch()])
    assert [s.number for s in found.history] == list(range(len(found.history)))
    assert [s.stage for s in seen] == [s.stage for s in found.history]
    assert list(dict.fromkeys(s.stage for s in seen)) == ["static", "search", "dynamic"]
    for shown, kept in zip(seen, found.history, strict=True):
        np.testing.assert_array_equal(shown.parameters, kept.parameters)
        assert shown.simulations == kept.simulations
    np.testing.assert_array_equal(found.history[0].parameters, [1.0, 0.5, 3.0])
    np.testing.assert_allclose(found.history[-1].parameters, list(found.values.values()))
    simulations = [s.simulations for s in found.history]
    assert simulations == sorted(simulations)
    assert all(g.points.shape[1] == 3 for g in found.generations)


def test_uncertainty_is_that_of_the_last_stage_that_searched_a_parameter() -> None:
    found = solve(two_steps())
    by_name = {e.name: e for e in found.estimates}
    assert [e.stage for e in found.estimates] == ["static", "static", "dynamic"]
    for name, e in by_name.items():
        low, high = e.interval_95
        assert low < TRUTH[name] < high
        assert found.covariance[list(by_name).index(name)].any()
    assert np.isfinite(found.correlation[0, 1])
    assert 0.0 < abs(found.correlation[0, 2]) < 1.0
    # The search is not the last word on w: nobody asks for its standard error.
    codes = [f.code for f in found.findings]
    assert codes.count("stage-held-counted") == 1
    assert "no-intervals" not in codes


def test_a_last_stage_over_everything_gives_intervals_of_everything() -> None:
    whole = problem()
    stages = (*two_steps().stages, stage_of(whole, "all"))
    found = solve(dataclasses.replace(whole, stages=stages))
    assert {e.stage for e in found.estimates} == {"all"}
    assert np.isfinite(found.correlation).all()
    assert not any(f.code.startswith("stage-held") for f in found.findings)


def test_fits_cover_all_experiments_from_the_first_to_the_last_values() -> None:
    found = solve(two_steps())
    assert [f.experiment for f in found.fits] == ["slow", "fast"]
    for fit in found.fits:
        assert fit.rms < 0.02 < 0.1 < fit.rms_initial
        np.testing.assert_allclose(fit.initial[0], 1.0)


def test_stop_in_a_stage_ends_the_run_with_the_best_so_far() -> None:
    class Stop:
        def iteration(self, state: Iteration) -> None:
            if state.stage == "search":
                raise StopEstimation("enough")

    found = solve(two_steps(), [Stop()])
    assert found.status == "stopped"
    assert "'search'" in found.message
    assert [s.status for s in found.stages] == ["converged", "stopped"]
    assert found.values["a"] == pytest.approx(2.0, rel=0.01)
    assert found.values["w"] == 3.0


def test_interrupt_in_a_stage_ends_the_run_with_the_best_so_far() -> None:
    class Interrupt:
        def iteration(self, state: Iteration) -> None:
            if state.stage == "dynamic":
                raise KeyboardInterrupt

    found = solve(two_steps(), [Interrupt()])
    assert found.status == "interrupted"
    assert found.stages[-1].status == "interrupted"
    assert found.values["w"] == pytest.approx(6.0, rel=0.05)
    assert found.fits


def test_interrupt_while_the_fits_are_simulated_loses_nothing() -> None:
    whole = two_steps()

    class Interrupted(PythonExecutor):
        def run(self, tasks: Sequence[SimulationTask]) -> Any:
            everything = {t.experiment for t in tasks} == {0, 1}
            if everything and began:
                raise KeyboardInterrupt
            began.append(everything)
            return super().run(tasks)

    began: list[bool] = []

    found = solve(whole, executor_of=lambda asked: Interrupted(asked, model))
    assert found.status == "converged"
    assert found.values == pytest.approx(TRUTH, rel=0.01)
    assert [f.experiment for f in found.fits] == ["fast"]


def test_a_stage_that_cannot_start_leaves_what_was_found() -> None:
    whole = two_steps()
    late = dataclasses.replace(whole.stages[2].problem, cost=FrequencyDomain((1e6, 2e6)))
    stages = (*whole.stages[:2], Stage("late", late))
    found = solve(dataclasses.replace(whole, stages=stages))
    assert found.status == "failed"
    assert "stage 'late' cannot start: the cost" in found.message
    assert found.values["w"] == pytest.approx(6.0, rel=0.05)
    with refused(Code.INVALID_PROBLEM, ProblemError, match="no line"):
        solve(dataclasses.replace(whole, stages=stages[::-1]))


def test_wrong_options_of_the_last_stage_are_told_before_the_first() -> None:
    whole = two_steps()
    settings = EstimatorSettings("least-squares", {"x": 1})
    late = Stage("late", dataclasses.replace(whole.stages[2].problem, estimator=settings))
    seen: list[Iteration] = []

    class Watch:
        def iteration(self, state: Iteration) -> None:
            seen.append(state)

    with refused(Code.UNKNOWN_KEY, ProblemError, match="'x'"):
        solve(dataclasses.replace(whole, stages=(*whole.stages[:2], late)), [Watch()])
    assert seen == []


def test_a_stage_without_intervals_says_nothing_of_them() -> None:
    whole = two_steps()
    bounded = dataclasses.replace(
        whole,
        parameters=tuple(
            dataclasses.replace(q, initial=0.5, upper=0.6) if q.name == "k" else q
            for q in whole.parameters
        ),
    )
    first = stage_of(bounded, "first")
    wide = stage_of(whole, "last")
    found = solve(dataclasses.replace(bounded, stages=(first, wide)))
    (note,) = (f.text for f in found.findings if f.code == "interval-at-bound")
    assert note == "Stage 'first': 'k' lies on a bound"


def test_missing_bounds_of_the_last_stage_are_told_before_the_first() -> None:
    whole = two_steps()
    last = whole.stages[2].problem
    unbounded = tuple(
        dataclasses.replace(q, upper=np.inf) if q.name == "w" else q for q in last.parameters
    )
    late = dataclasses.replace(
        last, parameters=unbounded, estimator=EstimatorSettings("special-genetic", {})
    )
    executor = Counting(whole, model)
    with refused(Code.MISSING_BOUNDS, ProblemError, match=r"'w' \["):
        solve(
            dataclasses.replace(whole, stages=(*whole.stages[:2], Stage("late", late))),
            executor_of=lambda asked: executor,
        )
    assert executor.count == 0


def test_own_initial_value_and_bounds_of_a_stage() -> None:
    whole = problem()
    first = stage_of(whole, "first", free=["a"], experiments=["slow"])
    narrow = stage_of(whole, "narrow", free=["k", "w"])
    (a, k, w) = narrow.problem.parameters
    bounded = dataclasses.replace(
        narrow.problem, parameters=(a, dataclasses.replace(k, lower=1.0, upper=2.0, initial=1.0), w)
    )
    stages = (first, Stage("narrow", bounded, {"w": 5.5}))
    found = solve(dataclasses.replace(whole, stages=stages))
    start = next(s for s in found.history if s.stage == "narrow")
    assert start.parameters[1:].tolist() == [1.0, 5.5]
    assert "stage-start" in {f.code for f in found.findings}


def test_a_stage_with_a_model_of_its_own() -> None:
    whole = problem()
    own = dataclasses.replace(
        problem(),
        parameters=tuple(q for q in problem().parameters if q.name != "w"),
        experiments=problem().experiments[:1],
    )
    stages = (Stage("curve", own, separate=True), stage_of(whole, "dynamic", free=["w"]))
    asked: list[Problem] = []

    def executor_of(wanted: Problem) -> PythonExecutor:
        asked.append(wanted)
        return PythonExecutor(wanted, model)

    found = solve(dataclasses.replace(whole, stages=stages), executor_of=executor_of)
    assert len(asked) == 2
    assert found.values == pytest.approx(TRUTH, rel=0.01)
    assert [f.experiment for f in found.fits] == ["slow", "fast", "slow (stage curve)"]


def test_a_parameter_that_no_stage_searches_is_told() -> None:
    whole = problem()
    stages = (stage_of(whole, "only", free=["a", "k"]),)
    found = solve(dataclasses.replace(whole, stages=stages))
    assert {e.name: e.fixed for e in found.estimates} == {"a": False, "k": False, "w": True}
    assert "stage-unused" in {f.code for f in found.findings}


@pytest.mark.parametrize(
    ("settings", "code", "key", "name"),
    [
        ({"free": ["q"]}, Code.UNKNOWN_NAME, "free", "'q'"),
        ({"free": ["w"], "experiments": ["slow"]}, Code.INVALID_PROBLEM, "free", "'w'"),
        ({"free": []}, Code.INVALID_PROBLEM, "free", ""),
        ({"experiments": ["slwo"]}, Code.UNKNOWN_NAME, "experiments", "'slwo'"),
        ({"experiments": []}, Code.INVALID_PROBLEM, "experiments", ""),
    ],
)
def test_stages_that_make_no_sense_are_refused(
    settings: dict[str, Any], code: Code, key: str, name: str
) -> None:
    with refused(code, ProblemError, match=f"stage 's'.*{name}") as caught:
        stage_of(problem(), "s", **settings)
    assert caught.value.key == key


def test_patterns_name_several_parameters_and_brackets_are_plain() -> None:
    names = ["m[1]", "m[2]", "mm", "k"]
    whole = problem(parameters=tuple(Parameter(n, 1.0, variable=n) for n in names))

    def free(*patterns: str) -> list[str]:
        return [q.name for q in stage_of(whole, "s", free=patterns).problem.free]

    assert free("m[*]") == ["m[1]", "m[2]"]
    assert free("m[1]") == ["m[1]"]
    assert free("m*") == ["m[1]", "m[2]", "mm"]
    assert free("?") == ["k"]
    fixed = dataclasses.replace(whole.parameters[0], fixed=True)
    whole = problem(parameters=(fixed, *whole.parameters[1:]))
    assert free("m[*]") == ["m[2]"]
    with refused(Code.INVALID_PROBLEM, ProblemError, match=r"'m\[1\]', which is fixed"):
        free("m[1]")


def test_the_default_is_everything() -> None:
    stage = stage_of(problem(), "s")
    assert [q.name for q in stage.problem.free] == ["a", "k", "w"]
    assert stage.problem.cost == TimeDomain()
    assert isinstance(load_plugins().estimators.get("cma-es")(), Estimator)
