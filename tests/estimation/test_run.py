"""Every way in which a run can end."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fmident.errors import Code, Diagnostic, EstimationError, ProblemError, SimulationError
from fmident.estimation import (
    Estimate,
    RunMonitor,
    StopEstimation,
)
from fmident.estimation.diagnostics.jumps import Jumps
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.evaluation.activity import BATCH, DERIVATIVES
from fmident.problem.model import Parameter, Problem, with_notes

from ..refused import refused
from .conftest import GOOD, answer


def test_a_good_run_has_everything(run: Any, problem: Problem) -> None:
    result = run(answer)
    assert (result.status, result.message, result.estimator) == (
        "converged",
        "found it",
        "scripted",
    )
    assert result.values == {"a": 2.0, "k": 1.3}
    assert result.cost_final < result.cost_initial
    assert [i.number for i in result.history] == [0, 1]
    assert result.history[1].details == {"extra": 1.0}
    assert result.history[1].simulations >= 2
    assert result.identifiability.verdict == "Both parameters are identifiable."
    table = result.parameters
    assert list(table["unit"]) == ["m", "1/s"]
    assert np.all(table["interval_95_low"] < GOOD)
    assert np.all(table["interval_95_high"] > GOOD)
    assert result.seconds > 0.0
    assert "difference_steps" in result.settings
    (fit,) = result.fits
    assert fit.rms == pytest.approx(0.05, rel=0.2)
    assert fit.rms < fit.rms_initial
    assert fit.relative_error == pytest.approx(
        np.linalg.norm(fit.measured - fit.fitted) / np.linalg.norm(fit.measured)
    )
    assert np.all(fit.sigma == 0.05)


def test_standard_errors_are_those_of_the_analytic_jacobian(run: Any, problem: Problem) -> None:
    result = run(answer)
    t = problem.experiments[0].times
    j = np.column_stack([np.exp(-1.3 * t), -2.0 * t * np.exp(-1.3 * t)]) / 0.05
    expected = np.linalg.inv(j.T @ j)
    np.testing.assert_allclose(result.covariance, expected, rtol=1e-5)


def test_fixed_parameters_are_listed_and_not_searched(
    run: Any, problem: Problem, model: Any
) -> None:
    fixed = dataclasses.replace(problem.parameters[0], fixed=True, initial=2.0)
    reduced = dataclasses.replace(problem, parameters=(fixed, problem.parameters[1]))
    result = run(lambda p, e, m: Estimate(np.array([1.3]), "converged", "ok"), problem=reduced)
    table = result.parameters
    assert bool(table.loc["a", "fixed"])
    assert table.loc["a", "value"] == 2.0
    assert np.isnan(table.loc["a", "standard_error"])
    assert result.covariance.shape == (1, 1)


def test_nothing_to_estimate_is_said(run: Any, problem: Problem) -> None:
    fixed = tuple(dataclasses.replace(p, fixed=True) for p in problem.parameters)
    with refused(Code.ESTIMATION_FAILED, EstimationError, match="no free parameter"):
        run(answer, problem=dataclasses.replace(problem, parameters=fixed))


@pytest.mark.parametrize("after", [1, 2])
def test_ctrl_c_keeps_the_best_so_far(run: Any, after: int) -> None:
    def interrupted(problem, evaluator, monitor):
        monitor.iteration(problem.initial, evaluator.cost(problem.initial))
        if after == 2:
            evaluator.cost(GOOD)
            monitor.iteration(GOOD, evaluator.cost(GOOD))
        raise KeyboardInterrupt

    result = run(interrupted)
    assert result.status == "interrupted"
    assert "best parameters so far" in result.message
    expected = {"a": 2.0, "k": 1.3} if after == 2 else {"a": 1.0, "k": 0.5}
    assert result.values == expected
    assert len(result.fits) == 1
    assert not result.converged()
    # The Jacobian is not known there, and computing it now would keep the user waiting.
    assert result.identifiability is None
    assert np.isnan(result.parameters["standard_error"]).all()
    assert any("no intervals" in note for note in result.notes)


def test_ctrl_c_without_any_iteration_takes_the_best_simulated_point(run: Any) -> None:
    def interrupted(problem, evaluator, monitor):
        evaluator.residuals_many(np.array([[0.1, 0.1], GOOD, [5.0, 3.0]]))
        raise KeyboardInterrupt

    result = run(interrupted)
    assert result.values == {"a": 2.0, "k": 1.3}
    assert "after 0 iterations" in result.message


def test_ctrl_c_in_a_simulation(run: Any, model: Any) -> None:
    calls = []

    def slow(times, inputs, a, k):
        calls.append(a)
        if a == 3.0:
            raise KeyboardInterrupt
        return model(times, inputs, a, k)

    def search(problem, evaluator, monitor):
        monitor.iteration(GOOD, evaluator.cost(GOOD))
        evaluator.jacobian(GOOD)
        evaluator.cost(np.array([3.0, 1.0]))
        raise AssertionError("not reached")

    result = run(search, model=slow)
    assert result.status == "interrupted"
    assert calls[-1] == 3.0, "nothing is simulated after the interrupt"
    assert result.values["a"] == 2.0
    # The Jacobian at the best point is known, so there are intervals after all.
    assert np.isfinite(result.parameters["standard_error"]).all()
    assert "intervals-unverified" in {f.code for f in result.findings}


@pytest.mark.parametrize("step", ["combinations.tested_combinations", "jumps.jumps_around"])
def test_ctrl_c_before_the_intervals_were_looked_at(
    run: Any, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"fmident.estimation.diagnostics.{step}", interrupted)
    result = run(answer)
    assert result.status == "interrupted"
    assert np.isnan(result.parameters["standard_error"]).all()
    assert result.identifiability is None
    assert any("no intervals" in note for note in result.notes)
    assert len(result.fits) == 1


@pytest.mark.parametrize("far", [30.0, 3000.0])
def test_an_end_on_a_plateau_is_not_convergence(run: Any, far: float) -> None:
    """Nothing reacts there: an estimator whose costs came together may call that converged."""
    times = np.linspace(0.0, 4.0, 81)

    def peak(times, inputs, a, k):
        return {"y": k * np.exp(-0.5 * ((times - a) / 0.3) ** 2)}

    parameters = [
        Parameter("a", 3.0, 0.0, 1e4, variable="a"),
        Parameter("k", 1.0, 0.1, 9.0, variable="k"),
    ]
    problem = python_problem({"y": peak(times, {}, 2.0, 1.3)["y"]}, times, parameters, sigma=0.01)
    ends = {p: Estimate(np.array([p, 1.0]), "converged", "done") for p in (far, 2.0)}
    lost = run(lambda p, e, m: ends[far], model=peak, problem=problem)
    assert (lost.status, lost.ended_by) == ("limit", "plateau")
    assert "plateau" in lost.message
    found = run(lambda p, e, m: ends[2.0], model=peak, problem=problem)
    assert (found.status, found.ended_by) == ("converged", None)


def test_a_limit_is_the_estimators_own_unless_it_says_otherwise(run: Any) -> None:
    for said, ended_by in ((None, "limit"), ("limit", "limit"), ("stuck", "stuck")):
        end = Estimate(GOOD, "limit", "", ended_by=said)  # type: ignore[arg-type]
        assert run(lambda p, e, m, end=end: end).ended_by == ended_by
    assert run(lambda p, e, m: Estimate(GOOD, "converged", "", ended_by="stuck")).ended_by is None


def test_a_lower_cost_beyond_a_jump_ended_it(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Jumps((), (np.array([2.1, 1.3]), 0.5))
    monkeypatch.setattr("fmident.estimation.diagnostics.jumps.jumps_around", lambda *_: seen)
    result = run(answer)
    assert (result.status, result.ended_by) == ("limit", "jump")
    own = run(lambda p, e, m: Estimate(GOOD, "limit", "all iterations"))
    assert own.ended_by == "limit"


def test_a_plugin_can_stop_the_run(run: Any) -> None:
    class Stopper:
        def iteration(self, state):
            if state.number == 1:
                raise StopEstimation("good enough")

    result = run(answer, observers=[Stopper()])
    assert result.status == "stopped"
    assert "good enough" in result.message
    assert result.values == {"a": 2.0, "k": 1.3}
    assert result.identifiability is not None


def test_observers_are_told_in_order_with_immutable_points(run: Any) -> None:
    seen: list[tuple[str, int]] = []

    class Observer:
        def __init__(self, name: str) -> None:
            self.name = name

        def iteration(self, state):
            seen.append((self.name, state.number))
            with pytest.raises(ValueError, match="read-only"):
                state.parameters[0] = 7.0

    run(answer, observers=[Observer("x"), Observer("y")])
    assert seen == [("x", 0), ("y", 0), ("x", 1), ("y", 1)]


def test_a_failing_initial_simulation_ends_with_the_words_of_the_fmu(run: Any) -> None:
    def broken(times, inputs, a, k):
        raise SimulationError("division by zero in m.inv", time=0.25, log=["[error] mass is 0"])

    with pytest.raises(EstimationError) as caught:
        run(answer, model=broken)
    text = str(caught.value)
    assert "division by zero in m.inv at 0.25 s" in text
    assert "with a=1, k=0.5" in text
    assert "FMU: [error] mass is 0" in text


def test_a_parameter_the_fmu_ignores_is_refused_by_name(run: Any, problem: Problem) -> None:
    def deaf(times, inputs, a, k):
        return {"y": a * np.exp(-1.3 * times)}

    with refused(
        "parameter-without-influence", ProblemError, match=r"changes with 'k'.*depends on it"
    ):
        run(answer, model=deaf)


@pytest.mark.parametrize("inputs", [{}, {"F": np.zeros(61)}])
def test_a_parameter_without_influence_for_want_of_an_input(
    run: Any, problem: Problem, inputs: dict[str, np.ndarray]
) -> None:
    def rigid(times, inputs, a, k):
        return {"y": np.zeros_like(times)}

    experiment = dataclasses.replace(problem.experiments[0], inputs=inputs)
    note = Diagnostic(
        "note",
        "experiment 'data' has no column for the input 'F'; it keeps its start value 0.0",
        rule="input-without-data",
    )
    still = with_notes(
        dataclasses.replace(problem, experiments=(experiment,)), () if inputs else (note,)
    )
    with pytest.raises(ProblemError) as caught:
        run(answer, model=rigid, problem=still)
    text = str(caught.value)
    assert "no output changes with 'a', 'k': no input ever changes" in text
    assert "'F' is constant" in text if inputs else "no column for the input 'F'" in text
    assert "nothing that is measured" not in text


def test_observers_hear_of_what_comes_before_the_first_iteration(
    problem: Problem, model: Any
) -> None:
    class Watcher:
        def __init__(self) -> None:
            self.heard: list[tuple[str, int, int]] = []

        def iteration(self, state: object) -> None:
            self.heard.append(("iteration", 0, 0))

        def activity(self, text: str, done: int, expected: int) -> None:
            self.heard.append((text, done, expected))

    watcher = Watcher()
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        RunMonitor(evaluator, [watcher])
        evaluator.jacobian(problem.initial)
    name = "measuring the noise of the simulation"
    noise = [heard for heard in watcher.heard if heard[0] == name]
    assert noise[0] == (name, 0, 10)
    assert [done for _, done, _ in noise] == list(range(len(noise)))
    assert noise[-1][1] >= 10
    # What the estimator's iterations simulate is heard, too: here a column for each parameter.
    columns = [heard for heard in watcher.heard if heard[0] == DERIVATIVES]
    assert columns == [(DERIVATIVES, k, 2) for k in range(3)]
    assert watcher.heard[0] == (BATCH, 0, 1)


def test_a_parameter_that_acts_beyond_a_threshold_is_not_refused(run: Any) -> None:
    def threshold(times, inputs, a, k):
        return {"y": a * np.exp(-max(k, 0.6) * times)}

    assert run(answer, model=threshold).status == "converged"


def test_a_parameter_whose_change_fails_is_not_refused(run: Any) -> None:
    def fragile(times, inputs, a, k):
        if k == 0.5 or k > 1.2:
            return {"y": a * np.exp(-k * times)}
        raise SimulationError("no")

    assert run(answer, model=fragile).values["k"] == 1.3


def test_a_jacobian_that_cannot_be_computed_ends_with_the_best_point(run: Any, model: Any) -> None:
    def fragile(times, inputs, a, k):
        if abs(k - 1.3) < 0.2 and k != 1.3:
            raise SimulationError("singular")
        return model(times, inputs, a, k)

    def search(problem, evaluator, monitor):
        monitor.iteration(GOOD, evaluator.cost(GOOD))
        evaluator.jacobian(GOOD)
        raise AssertionError("not reached")

    result = run(search, model=fragile)
    assert result.status == "failed"
    assert "'k' cannot be computed" in result.message
    assert result.values == {"a": 2.0, "k": 1.3}
    assert result.identifiability is None


def test_wrong_options_are_refused_before_anything_runs(run: Any) -> None:
    def never(times, inputs, a, k):
        raise AssertionError

    with refused(Code.UNKNOWN_KEY, ProblemError, match="'x'"):
        run(answer, model=never, options={"x": 1})
