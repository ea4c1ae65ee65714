"""The conformance suite finds what is wrong with estimators, and nothing with a right one."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.optimize import least_squares

from fmident.errors import EstimationError, ProblemError
from fmident.estimation import Estimate, Estimator, StopEstimation
from fmident.testing import (
    ConformanceError,
    ConformanceProblem,
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


class ForgetsThePriors(GaussNewton):
    """It takes the residuals of the data alone."""

    def estimate(self, problem, evaluator, options, monitor):
        monitor.iteration(problem.initial, evaluator.cost(problem.initial))
        count = problem.experiments[0].times.size

        def misfit(p):
            return evaluator.residuals(p)[:count]

        p = least_squares(misfit, problem.initial, bounds=(problem.lower, problem.upper)).x
        monitor.iteration(p, evaluator.cost(p))
        return Estimate(p, "converged", "solved")


class DependsOnTheOrder(GaussNewton):
    """It looks at how often it was simulated when the answers came."""

    def report(self, monitor, point, cost):
        super().report(monitor, point, cost)

    def estimate(self, problem, evaluator, options, monitor):
        original = evaluator.executor.run
        order = []

        def run(tasks):
            for index, outcome in original(tasks):
                order.append(index)
                yield index, outcome

        evaluator.executor.run = run
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


class Prints(GaussNewton):
    def answer(self, point, status, message, problem):
        print("found something")  # noqa: T201 - what is wrong with it
        return super().answer(point, status, message, problem)


class HasOddKeys(GaussNewton):
    def answer(self, point, status, message, problem):
        return Estimate(point, status, message, {"pairs": {(1, 2): 3.0}})


class IgnoresTheSeed(GaussNewton):
    @dataclass(frozen=True)
    class Seeded:
        seed: int = 0

    options_type: ClassVar[type[Any]] = Seeded

    def estimate(self, problem, evaluator, options, monitor):
        for spread in (0.01, 0.02):
            points = problem.initial + spread * np.arange(4)[:, None]
            monitor.generation(points, evaluator.costs(points))
        return super().estimate(problem, evaluator, options, monitor)


class NeverEnds(GaussNewton):
    """Whatever happens: not even an exception ends it."""

    def estimate(self, problem, evaluator, options, monitor):
        monitor.iteration(problem.initial, evaluator.cost(problem.initial))
        while True:
            with contextlib.suppress(Exception):
                evaluator.costs(np.tile(problem.initial, (1000, 1)))


class ReportsForEver(GaussNewton):
    def estimate(self, problem, evaluator, options, monitor):
        while True:
            monitor.iteration(problem.initial, 1.0)


WRONG = {
    LeavesBounds: "bounds_hold_in_every_simulation",
    SwallowsStop: "a_request_to_stop_is_honoured",
    SwallowsCtrlC: "ctrl_c_in_a_simulation",
    SaysNothing: "iterations_are_reported_from_the_start",
    HasNoMessage: "the_estimate_can_be_kept",
    StopsEarly: "the_truth_lies_in_the_intervals",
    GivesUpAtMissingBounds: "missing_bounds",
    MovesTheGlobalGenerator: "the_same_run_gives_the_same_bits",
    UsesTheGlobalGenerator: "the_same_run_gives_the_same_bits",
    Remembers: "the_same_run_gives_the_same_bits",
    ChangesTheData: "nothing_that_was_handed_over_is_changed",
    KeepsTheModel: "the_estimate_can_be_kept",
    SolvesEquationsOfItsOwn: "other_costs_are_minimised_or_refused",
    ForgetsThePriors: "priors_count_or_are_refused",
    DependsOnTheOrder: "it_does_not_matter_who_simulates",
    HasOptionsThatCanChange: "options",
    SaysNotWhatItIs: "name_and_summary",
    PromisesHalfASimulation: "how_much_it_will_simulate",
    Prints: "nothing_is_printed",
    HasOddKeys: "the_estimate_can_be_kept",
    IgnoresTheSeed: "the_same_run_gives_the_same_bits",
    NeverEnds: "the_truth_lies_in_the_intervals",
    ReportsForEver: "the_truth_lies_in_the_intervals",
}


@pytest.mark.parametrize("bench", conformance_problems(), ids=lambda bench: bench.name)
def test_a_right_estimator_passes_on_all_problems(bench) -> None:
    check_estimator(GaussNewton, problems=[bench])


@pytest.mark.parametrize(("kind", "name"), WRONG.items(), ids=lambda x: getattr(x, "__name__", ""))
def test_a_wrong_estimator_is_caught(
    kind: type[Estimator[Any]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fmident.testing.subject.MOST", 5000)
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


def test_failures_for_one_reason_are_told_once_and_with_their_place() -> None:
    class Crashes(GaussNewton):
        def estimate(self, problem, evaluator, options, monitor):
            raise SystemExit(3)

    with pytest.raises(ConformanceError) as told:
        check_estimator(Crashes)
    text = str(told.value)
    assert re.search(r"gauss-newton-decay-the_truth_lies_in_the_intervals and \d+ more: ", text)
    assert text.count("SystemExit: 3") == 1
    assert re.search(r"test_suite\.py:\d+: the estimator 'gauss-newton'", text)


def test_what_no_check_can_do_without_is_told_before_any() -> None:
    class Shapeless(Estimator[Any]):
        options_type = dict
        requires = "linear-outputs"

    with pytest.raises(ConformanceError) as told:
        estimator_checks(Shapeless, trials={"gain": 1.0})
    text = str(told.value)
    assert "Shapeless cannot be checked: its name is None" in text
    assert "its options_type is <class 'dict'>" in text
    assert "its 'requires' is 'linear-outputs'" in text
    assert "it lacks the method estimate" in text
    assert "its 'trials' are {'gain': 1.0}: write a list of tables" in text
    with pytest.raises(ConformanceError, match="is not a subclass of"):
        estimator_checks(dict)


def test_an_estimator_that_asks_for_arguments_is_refused() -> None:
    class Demanding(GaussNewton):
        def __init__(self, size):
            self.size = size

    with pytest.raises(ConformanceError, match=r"without arguments, but .*'size'"):
        estimator_checks(Demanding)


def test_an_option_called_name_is_refused() -> None:
    class Named(GaussNewton):
        options_type: ClassVar[type[Any]] = dataclasses.make_dataclass(
            "Named", [("name", str, "x")], frozen=True
        )

    with pytest.raises(ConformanceError, match="no option can be called 'name'"):
        estimator_checks(Named)


def test_options_without_a_default_are_given_in_trials() -> None:
    class Demanding(GaussNewton):
        options_type: ClassVar[type[Any]] = dataclasses.make_dataclass(
            "Needed", [("gain", float)], frozen=True
        )

    with pytest.raises(ConformanceError, match="needs the option 'gain'; 'trials' holds"):
        estimator_checks(Demanding)
    check_estimator(Demanding, trials=[{"gain": 1.0}])


def offset_decay(times, inputs, a, k, c):
    return {"y": a * np.exp(-k * times) + c}


OFFSET = ConformanceProblem(
    "offset-decay",
    "an exponential with an offset",
    offset_decay,
    truth={"a": 2.0, "k": 1.3, "c": 0.7},
    initial={"a": 1.5, "k": 1.0, "c": 0.5},
    lower={"a": 0.1, "k": 0.1, "c": 0.1},
    upper={"a": 5.0, "k": 3.0, "c": 2.0},
    times=np.linspace(0.0, 5.0, 101),
    inputs=lambda times, number: {},
    sigma=0.01,
)


def test_a_problem_with_more_parameters() -> None:
    check_estimator(GaussNewton, problems=[OFFSET])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"truth": {"a": 2.0}}, "at least 2 parameters and 20 samples, not 1 and 101"),
        ({"times": np.linspace(0.0, 1.0, 5)}, "not 3 and 5"),
        ({"lower": {"a": 0.1, "k": 0.1}}, "'lower' lacks 'c'"),
        ({"initial": {"a": 1.9, "k": 1.0, "c": 0.5}}, "'a' has the truth 2, initial 1.9"),
        ({"lower": {"a": -1.0, "k": 0.1, "c": 0.1}}, "lower -1, upper 5; the checks need"),
    ],
)
def test_a_problem_that_no_check_could_be_made_of_is_refused(changes, words) -> None:
    with pytest.raises(ValueError, match=words):
        dataclasses.replace(OFFSET, **changes)


def test_a_known_failure_is_excused_until_it_passes() -> None:
    check_estimator(SaysNotWhatItIs, known_failures={"name_and_summary": "not yet"})
    excused = {"name_and_summary": "not yet", "name_and_sumary": "not yet"}
    with pytest.raises(ConformanceError) as caught:
        check_estimator(GaussNewton, known_failures=excused)
    assert "name_and_summary: excused, but passed" in str(caught.value)
    assert "name_and_sumary: there is no such check" in str(caught.value)


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
