"""The conformance suite finds what is wrong with estimators, and nothing with a right one."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.optimize import least_squares

from fmident.errors import EstimationError, ProblemError
from fmident.estimation import Estimate, Estimator, StopEstimation
from fmident.testing import (
    ConformanceError,
    check_estimator,
    conformance_problems,
    estimator_checks,
)


@dataclass(frozen=True)
class Options:
    gain: float = 1.0


class GaussNewton(Estimator[Options]):
    """A right one, and the base of the wrong ones, which change one thing each."""

    name: ClassVar[str] = "gauss-newton"
    summary: ClassVar[str] = "damped steps on the Jacobian"
    options_type: ClassVar[type[Any]] = Options

    def estimate(self, problem, evaluator, options, monitor):
        best, cost = problem.initial, evaluator.cost(problem.initial)
        self.report(monitor, best, cost)
        for _ in range(40):
            step = np.linalg.lstsq(evaluator.jacobian(best), -evaluator.residuals(best))[0]
            for share in 0.5 ** np.arange(12):
                point = self.inside(best + share * step, problem)
                found = evaluator.cost(point)
                if found < cost:
                    break
            else:
                return self.answer(best, "converged", "no step is better", problem)
            gained, best, cost = cost - found, point, found
            self.report(monitor, best, cost)
            if gained < 1e-9 * cost:
                return self.answer(best, "converged", "the cost falls no more", problem)
        return self.answer(best, "limit", "40 steps", problem)

    def report(self, monitor, point, cost):
        monitor.iteration(point, cost)

    def inside(self, point, problem):
        return np.clip(point, problem.lower, problem.upper)

    def answer(self, point, status, message, problem):
        return Estimate(point, status, message)


class LeavesBounds(GaussNewton):
    def inside(self, point, problem):
        return point

    def answer(self, point, status, message, problem):
        return Estimate(super().inside(point, problem), status, message)


class SwallowsStop(GaussNewton):
    def report(self, monitor, point, cost):
        with contextlib.suppress(StopEstimation):
            monitor.iteration(point, cost)


class SwallowsCtrlC(GaussNewton):
    def estimate(self, problem, evaluator, options, monitor):
        try:
            return super().estimate(problem, evaluator, options, monitor)
        except KeyboardInterrupt:
            return Estimate(problem.initial, "limit", "something happened")


class SaysNothing(GaussNewton):
    def report(self, monitor, point, cost):
        pass


class HasNoMessage(GaussNewton):
    def answer(self, point, status, message, problem):
        return Estimate(point, status, "")


class StopsEarly(GaussNewton):
    def answer(self, point, status, message, problem):
        return Estimate(problem.initial + 0.7 * (point - problem.initial), "converged", "close")


class GivesUpAtMissingBounds(GaussNewton):
    def inside(self, point, problem):
        assert np.isfinite(problem.upper).all()
        return super().inside(point, problem)


class MovesTheGlobalGenerator(GaussNewton):
    def report(self, monitor, point, cost):
        random.random()
        super().report(monitor, point, cost)


class UsesTheGlobalGenerator(GaussNewton):
    def report(self, monitor, point, cost):
        super().report(monitor, point, cost * (1.0 + 1e-12 * np.random.default_rng().random()))


class Remembers(GaussNewton):
    before = 0.0

    def inside(self, point, problem):
        self.before += 1e-9
        return super().inside(point + self.before, problem)


class ChangesTheData(GaussNewton):
    def answer(self, point, status, message, problem):
        problem.experiments[0].measurements[0].values[0] += 1.0
        return Estimate(point, status, message)


class KeepsTheModel(GaussNewton):
    def answer(self, point, status, message, problem):
        return Estimate(point, status, message, {"model": self})


class SolvesEquationsOfItsOwn(GaussNewton):
    """But does not say so: whatever the cost, it minimises squares."""

    def estimate(self, problem, evaluator, options, monitor):
        cost = evaluator.cost(problem.initial)
        monitor.iteration(problem.initial, cost)
        (experiment,) = problem.experiments
        (signal,) = experiment.measurements

        def misfit(p):
            return evaluator.simulate(p)[0][:, 0] - signal.values

        p = least_squares(misfit, problem.initial, bounds=(problem.lower, problem.upper)).x
        monitor.iteration(p, evaluator.cost(p))
        return Estimate(p, "converged", "solved")


class DependsOnTheOrder(GaussNewton):
    """It looks at how often it was simulated when the answers came."""

    def report(self, monitor, point, cost):
        super().report(monitor, point, cost)

    def estimate(self, problem, evaluator, options, monitor):
        original = evaluator._executor.run
        order = []

        def run(tasks, done=None):
            def told(index, outcome):
                order.append(index)
                if done is not None:
                    done(index, outcome)

            return original(tasks, told)

        evaluator._executor.run = run
        evaluator.costs(problem.initial + np.linspace(0.0, 0.1, 8)[:, None])
        found = super().estimate(problem, evaluator, options, monitor)
        shift = 1e-7 * order.index(0)
        return dataclasses.replace(found, parameters=found.parameters + shift)


class HasOptionsThatCanChange(GaussNewton):
    @dataclass
    class Loose:
        gain: float = 1.0

    options_type: ClassVar[type[Any]] = Loose


class SaysNotWhatItIs(GaussNewton):
    summary: ClassVar[str] = ""


class PromisesHalfASimulation(GaussNewton):
    def expected_simulations(self, options, problem):
        return 0.5


WRONG = {
    LeavesBounds: "bounds_hold_in_every_simulation",
    SwallowsStop: "a_request_to_stop_is_honoured",
    SwallowsCtrlC: "ctrl_c_in_a_simulation",
    SaysNothing: "iterations_are_reported_from_the_start",
    HasNoMessage: "the_estimate_can_be_kept",
    StopsEarly: "the_truth_lies_in_the_intervals",
    GivesUpAtMissingBounds: "missing_bounds",
    MovesTheGlobalGenerator: "random_numbers_come_from_the_seed",
    UsesTheGlobalGenerator: "the_same_run_gives_the_same_bits",
    Remembers: "the_same_run_gives_the_same_bits",
    ChangesTheData: "nothing_that_was_handed_over_is_changed",
    KeepsTheModel: "the_estimate_can_be_kept",
    SolvesEquationsOfItsOwn: "other_costs_are_minimised_or_refused",
    DependsOnTheOrder: "it_does_not_matter_who_simulates",
    HasOptionsThatCanChange: "options",
    SaysNotWhatItIs: "name_and_summary",
    PromisesHalfASimulation: "how_much_it_will_simulate",
}


@pytest.mark.parametrize("bench", conformance_problems(), ids=lambda bench: bench.name)
def test_a_right_estimator_passes_on_all_problems(bench) -> None:
    check_estimator(GaussNewton, problems=[bench])


@pytest.mark.parametrize(("kind", "name"), WRONG.items(), ids=lambda x: getattr(x, "__name__", ""))
def test_a_wrong_estimator_is_caught(kind: type[Estimator[Any]], name: str) -> None:
    (check,) = [c for c in estimator_checks(kind) if c.name == name]
    # What the host itself finds wrong with an estimator is told as it is told to users.
    with pytest.raises((ConformanceError, EstimationError)):
        check()


class Choosy(GaussNewton):
    needs = "two experiments"

    def check_problem(self, problem, options):
        if len(problem.experiments) < 2:
            raise ProblemError("there is one experiment only")


def test_who_refuses_the_problem_is_told_what_to_do() -> None:
    (check,) = [c for c in estimator_checks(Choosy) if c.name == "options"]
    with pytest.raises(ConformanceError, match="one experiment only; say in 'requires'"):
        check()


def test_all_failures_are_told_at_once() -> None:
    with pytest.raises(ConformanceError) as told:
        check_estimator(SaysNothing)
    assert "iterations_are_reported_from_the_start" in str(told.value)
    assert "a_request_to_stop_is_honoured" in str(told.value)


def test_a_known_failure_is_excused_until_it_passes() -> None:
    check_estimator(SaysNotWhatItIs, known_failures={"name_and_summary": "not yet"})
    with pytest.raises(ConformanceError, match="excused, but passed"):
        check_estimator(GaussNewton, known_failures={"name_and_summary": "not yet"})
    with pytest.raises(ConformanceError, match="no such check"):
        check_estimator(GaussNewton, known_failures={"name_and_sumary": "not yet"})


def test_a_requirement_that_nothing_provides_is_told() -> None:
    class Demanding(GaussNewton):
        requires = frozenset({"linear-outputs", "linear-equation"})

    with pytest.raises(ConformanceError, match="hand over one of your own"):
        estimator_checks(Demanding)


def test_a_problem_of_your_own() -> None:
    class Demanding(GaussNewton):
        needs = "a miracle"
        requires = frozenset({"linear-outputs", "linear-equation"})

    bench = dataclasses.replace(conformance_problems()[0], name="miracle")
    checks = estimator_checks(Demanding, problems=[bench], trials=[{"gain": 2.0}])
    assert str(checks[0]) == "gauss-newton-2.0-miracle-name_and_summary"
    for check in checks:
        check()
