"""Checks of the behaviour: reports, stop requests, Ctrl-C, other costs, priors."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy import optimize

from fmident.arrays import F64
from fmident.errors import ProblemError
from fmident.estimation import (
    EstimationResult,
    Iteration,
    StopEstimation,
)
from fmident.evaluation import Evaluator, Executor, PythonExecutor
from fmident.evaluation.journal import Journal, RecordedExecutor
from fmident.evaluation.journal.keys import SimulationKeys
from fmident.evaluation.python_model import Model
from fmident.problem.cost import Cost, MeasuredSignal
from fmident.problem.model import Prior, Problem
from fmident.testing.subject import ConformanceError, Counted, Subject, expect

_ROUNDING = 1e-9


class _At:
    """Observer that raises an exception at an iteration."""

    def __init__(self, number: int, what: type[BaseException]) -> None:
        self._number, self._what = number, what

    def iteration(self, state: Iteration) -> None:
        """Handle an iteration."""
        if state.number == self._number:
            raise self._what("enough")


class _Calls:
    """Records the number of simulations at the first and at the last iteration."""

    def __init__(self, model: Counted) -> None:
        self._model = model
        self.at: list[int] = []

    def iteration(self, state: Iteration) -> None:
        """Handle an iteration."""
        self.at.append(self._model.calls)


def check_iterations_are_reported_from_the_start(subject: Subject) -> None:
    """Expect a history from the initial point on, with a best cost that never increases."""
    problem = subject.bench.problem()
    result = subject.run(problem)
    history = result.history
    expect(
        len(history) >= 2,
        f"{len(history)} iterations were reported: call monitor.iteration at the initial point "
        "and after each iteration",
    )
    expect([i.number for i in history] == list(range(len(history))), "numbers are not in order")
    expect(
        bool(np.allclose(history[0].parameters, problem.initial, rtol=_ROUNDING, atol=0.0)),
        f"the first iteration is {history[0].parameters}, not the initial point "
        f"{problem.initial}: call monitor.iteration there first",
    )
    costs = [i.cost for i in history]
    rose = next((k for k in range(1, len(costs)) if not costs[k] <= costs[k - 1]), None)
    expect(
        rose is None,
        f"iteration {rose} has the cost {costs[rose or 0]:g} after {costs[(rose or 1) - 1]:g}: "
        "report the best point so far",
    )
    counts = [i.simulations for i in history]
    expect(counts == sorted(counts), "the number of simulations fell")
    for state in history:
        inside = (state.parameters >= problem.lower) & (state.parameters <= problem.upper)
        expect(bool(np.all(inside)), f"iteration {state.number} lies outside of the bounds")


def check_a_request_to_stop_is_honoured(subject: Subject) -> None:
    """``StopEstimation`` propagates, and the result is what was reported last."""
    problem = subject.bench.problem()
    for number in (0, 1):
        result = subject.run(problem, observers=[_At(number, StopEstimation)])
        expect(
            result.status == "stopped",
            f"it ended as '{result.status}' when iteration {number} was to be the last: let "
            "StopEstimation of monitor.iteration pass, and catch no 'Exception' around it",
        )
        expect(len(result.history) == number + 1, "it went on after it was stopped")
        _expect_last_reported(result, problem)


def check_ctrl_c_between_iterations(subject: Subject) -> None:
    """``KeyboardInterrupt`` propagates, and the result is what was reported last."""
    problem = subject.bench.problem()
    for number in (0, 1):
        result = subject.run(problem, observers=[_At(number, KeyboardInterrupt)])
        _expect_interrupted(result)
        _expect_last_reported(result, problem)


def check_ctrl_c_in_a_simulation(subject: Subject) -> None:
    """Interrupt a simulation: the result is the best point so far."""
    problem = subject.bench.problem()
    for number in _moments(subject, problem):
        model = Counted(subject.bench.model, interrupt_at=number)
        result = subject.run(problem, model)
        expect(model.calls >= number, "a run with the same data simulated less")
        _expect_interrupted(result)
        least = result.cost_initial * (1.0 + _ROUNDING)
        expect(result.cost_final <= least, "a better point was known: the initial one")
        if _reports_the_cost(result):
            best = result.history[-1].cost * (1.0 + _ROUNDING)
            expect(result.cost_final <= best, "a better point was reported")


def check_resume_after_an_interruption(subject: Subject) -> None:
    """Resume from the journal of an interrupted run: the result is identical bit for bit."""
    problem = subject.bench.problem()
    whole = Counted(subject.bench.model)
    expected = subject.run(problem, executor=PythonExecutor(problem, whole))
    moment = _moments(subject, problem, remembering=True)[-1]
    with tempfile.TemporaryDirectory() as folder:
        broken = Counted(subject.bench.model, interrupt_at=moment)
        first = _journalled(subject, problem, broken, Path(folder))
        rest = Counted(subject.bench.model)
        second = _journalled(subject, problem, rest, Path(folder))
    _expect_interrupted(first)
    expect(second.status == expected.status, f"it ended as '{second.status}' when resumed")
    expect(
        second.values == expected.values,
        "it found something else when resumed: the same answers of the evaluator must lead to "
        "the same questions",
    )
    expect(
        [i.cost for i in second.history] == [i.cost for i in expected.history],
        "it went another way when resumed",
    )
    expect(rest.calls < whole.calls, "it simulated everything again when resumed")


def check_other_costs_are_minimised_or_refused(subject: Subject) -> None:
    """Use a cost of a plugin: it is minimised, or rejected by name."""
    plain = subject.bench.problem(outliers=range(3, min(50, subject.bench.times.size), 12))
    problem = dataclasses.replace(plain, cost=_Gentle())
    if not subject.kind.any_cost:
        try:
            subject.run(problem)
        except ProblemError as error:
            expect(subject.kind.name in error.message, "the refusal does not name the estimator")
            return
        raise ConformanceError("the cost was taken, though 'any_cost' is false")
    result = subject.run(problem)
    expect(result.cost == _Gentle.name, f"the result names the cost '{result.cost}'")
    gained = result.cost_final < result.cost_initial or result.status == "limit"
    expect(gained, f"the cost went from {result.cost_initial:g} to {result.cost_final:g}")
    if result.status != "converged" or not _reports_the_cost(result):
        return
    # Outliers pull the solution of the usual cost away from that of this one.
    with Evaluator(problem, PythonExecutor(problem, subject.bench.model)) as evaluator:
        least = evaluator.cost(_argument(evaluator, problem))
        with Evaluator(plain, PythonExecutor(plain, subject.bench.model)) as usual:
            usual_cost = evaluator.cost(_argument(usual, plain))
    expect(
        result.cost_final - least < 0.1 * (usual_cost - least),
        f"{result.cost_final:.6g} was reached of a cost whose minimum is {least:.6g}; that of "
        f"the usual cost has {usual_cost:.6g}: minimise what the evaluator gives, or set any_cost "
        "to False",
    )


def check_priors_count_or_are_refused(subject: Subject) -> None:
    """Give a parameter a prior off its true value: it affects the estimate, or is rejected."""
    for sigma_known in (True, False):
        plain = subject.bench.problem()
        if not sigma_known:
            plain = _without_sigma(plain)
        q = plain.free[0]
        with Evaluator(plain, PythonExecutor(plain, subject.bench.model)) as usual:
            best = _argument(usual, plain)
            jacobian, residuals = usual.jacobian(best), usual.residuals(best)
        variance = 1.0 if sigma_known else float(np.mean(residuals**2))
        information = jacobian.T @ jacobian / variance
        error = float(np.sqrt(np.linalg.inv(information)[0, 0]))
        prior = Prior("normal", best[0] - 4.0 * error, error)
        parameters = tuple(
            dataclasses.replace(p, prior=prior) if p is q else p for p in plain.parameters
        )
        problem = dataclasses.replace(plain, parameters=parameters)
        takes = subject.kind.takes_priors
        try:
            result = subject.run(problem)
        except ProblemError as error:
            expect("prior" in error.message, "the refusal does not name the prior")
            continue
        expect(
            subject.kind.any_cost if takes is None else takes,
            "the prior was taken, though 'takes_priors' is false",
        )
        if not _reports_the_cost(result):
            continue
        with Evaluator(problem, PythonExecutor(problem, subject.bench.model)) as evaluator:
            least = evaluator.cost(_argument(evaluator, problem))
            cost_without_prior = evaluator.cost(best)
            cost_reached = evaluator.cost(np.array([result.values[p.name] for p in problem.free]))
        high = cost_without_prior - least
        # One that has not converged may be anywhere but at the minimum without the prior.
        ended = result.status != "converged" and abs(cost_reached - cost_without_prior) > 0.1 * high
        expect(
            ended or cost_reached - least < 0.1 * high,
            f"{cost_reached:.6g} was reached of a cost whose minimum is {least:.6g}; that without"
            f" the prior has {cost_without_prior:.6g}: minimise what the evaluator gives, or set"
            " takes_priors to False",
        )


def _without_sigma(problem: Problem) -> Problem:
    """Return the problem without the standard deviations of its measurements."""
    experiments = tuple(
        dataclasses.replace(
            e, measurements=tuple(dataclasses.replace(m, sigma=None) for m in e.measurements)
        )
        for e in problem.experiments
    )
    return dataclasses.replace(problem, experiments=experiments)


def check_nothing_is_printed(subject: Subject) -> None:
    """Nothing is printed to standard output, which belongs to the host."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        subject.run(subject.bench.problem())
    text = printed.getvalue()
    expect(not text, f"it printed {text[:60]!r}: tell users with monitor.note, or log it")


def _argument(evaluator: Evaluator, problem: Problem) -> F64:
    """Return the free parameters of minimum cost, without using derivatives."""
    bounds = list(zip(problem.lower, problem.upper, strict=True))
    minimum = optimize.minimize(
        evaluator.cost, problem.initial, method="Nelder-Mead", bounds=bounds
    )
    return np.asarray(minimum.x, dtype=np.float64)


def _reports_the_cost(result: EstimationResult) -> bool:
    """Return whether the reported cost is that of the problem, not a robust loss."""
    history = result.history
    return bool(history) and bool(
        np.isclose(history[0].cost, result.cost_initial, rtol=_ROUNDING, atol=0.0)
    )


@dataclass(frozen=True)
class _Gentle(Cost):
    """``1/2 sum |e|^1.5``: smooth, with less weight on outliers than squares."""

    name: ClassVar[str] = "conformance"
    summary: ClassVar[str] = "sum of |e|^1.5"
    by_sample: ClassVar[bool] = True

    def residuals(self, signals: Sequence[MeasuredSignal], predicted: Sequence[F64]) -> F64:
        """Return residuals r with ``r^2 = |e|^1.5``."""
        parts = [s.differences(y) for s, y in zip(signals, predicted, strict=True)]
        e: F64 = np.concatenate(parts)
        return np.sign(e) * np.abs(e) ** 0.75


def _moments(subject: Subject, problem: Problem, *, remembering: bool = False) -> list[int]:
    """Return at most three simulation numbers at which a run can be interrupted.

    With `remembering`, equal simulations are counted once. The first belongs to the initial
    point and the last ones to the uncertainty, which are run by the host; those in between
    are the estimator's and the host's preliminary ones.
    """
    model = Counted(subject.bench.model)
    calls = _Calls(model)
    executor: Executor = PythonExecutor(problem, model)
    if remembering:
        executor = RecordedExecutor(executor, SimulationKeys(problem))
    subject.run(problem, executor=executor, observers=[calls])
    expect(bool(calls.at), "no iteration was reported: call monitor.iteration")
    last = calls.at[-1]
    return sorted({min(2, last), (2 + last) // 2, last})


def _journalled(subject: Subject, problem: Problem, model: Model, folder: Path) -> EstimationResult:
    journal = Journal(folder)
    try:
        executor: Executor = RecordedExecutor(
            PythonExecutor(problem, model), SimulationKeys(problem), journal
        )
        return subject.run(problem, executor=executor)
    finally:
        journal.close()


def _expect_interrupted(result: EstimationResult) -> None:
    expect(
        result.status == "interrupted",
        f"it ended as '{result.status}' when interrupted: let KeyboardInterrupt pass, and catch "
        "no 'BaseException'",
    )
    expect("interrupted" in result.message, "the message does not say so")
    expect(bool(np.isfinite(result.cost_final)), "the best point so far has no cost")


def _expect_last_reported(result: EstimationResult, problem: Problem) -> None:
    estimate = np.array([result.values[q.name] for q in problem.free])
    expect(
        bool(np.array_equal(estimate, result.history[-1].parameters)),
        "the result is not the point that was reported last",
    )
