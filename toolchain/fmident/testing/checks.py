"""The conformance checks, which raise if their subject does not conform.

They are the functions whose names begin with ``check_``; the first lines of their
docstrings describe what is checked. First comes what the class says to the host; then the
estimates: on good data, on bad data, near bounds and beyond them; then the behaviour: reports,
stop requests, Ctrl-C, other costs, priors.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import itertools
import pickle
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy import optimize

from fmident.arrays import F64
from fmident.data import Exclusion
from fmident.errors import ProblemError
from fmident.estimation import (
    EstimationResult,
    Iteration,
    OnlineEstimator,
    StopEstimation,
    build_options,
)
from fmident.estimation.online import collect
from fmident.evaluation import Evaluator, Executor, Outcomes, PythonExecutor, SimulationTask
from fmident.evaluation.journal import Journal, RecordedExecutor
from fmident.evaluation.journal.keys import SimulationKeys
from fmident.evaluation.python_model import Model
from fmident.problem.cost import Cost, MeasuredSignal
from fmident.problem.expressions import Expression, read_constraint
from fmident.problem.model import Prior, Problem
from fmident.testing.subject import ConformanceError, Counted, Fragile, Subject, expect

_BY_DRAWS = 0.25
"""Standard deviations that the median of draws may be off."""

_SURE = 4.0
"""Standard errors within which the truth lies; 95 % intervals would fail too often."""


def check_name_and_summary(subject: Subject) -> None:
    """There is a line for ``fmident plugins``, and the requirements have descriptions.

    The name is checked before all others, see :func:`~fmident.testing.estimator_checks`.
    """
    kind = subject.kind
    expect(bool(kind.summary.strip()), "the summary is empty: one line for 'fmident plugins'")
    expect("\n" not in kind.summary, "the summary has more than one line")
    expect(
        bool(kind.requires) <= bool(kind.needs),
        "'requires' is for machines: say the same in words, in 'needs'",
    )


def check_options(subject: Subject) -> None:
    """Default values form valid, frozen options; unknown options are rejected."""
    problem = subject.bench.problem()
    missing = dataclasses.MISSING
    required = any(
        f.init and f.default is missing and f.default_factory is missing
        for f in dataclasses.fields(subject.kind.options_type)
    )
    defaults: list[dict[str, Any]] = [] if required else [{}]
    for raw in (*defaults, subject.table(problem)):
        options = build_options(subject.kind, raw)
        frozen = options.__dataclass_params__.frozen
        expect(frozen, "options_type is not frozen: @dataclass(frozen=True)")
    subject.kind().check_problem(problem, options)
    try:
        build_options(subject.kind, {"no_such_option": 1})
    except ProblemError:
        return
    expect(False, "an unknown option was taken")


def check_the_truth_lies_in_the_intervals(subject: Subject) -> None:
    """Noisy data: the estimates deviate from the truth no more than their errors suggest."""
    _check_truth(subject, subject.bench.problem())


def check_several_experiments(subject: Subject) -> None:
    """Two experiments with different inputs and lengths, and the same parameters."""
    _check_truth(subject, subject.bench.problem(experiments=2))


def check_local_parameters(subject: Subject) -> None:
    """One parameter has a separate value in each of two experiments."""
    local = next(iter(subject.bench.truth))
    _check_truth(subject, subject.bench.problem(noise=0.2, experiments=2, local=local))


def check_missing_samples(subject: Subject) -> None:
    """Leave out a few samples that were not measured."""
    times = subject.bench.times
    _check_truth(subject, subject.bench.problem(missing=(times.size // 3, times.size // 3 + 1)))


def check_excluded_samples(subject: Subject) -> None:
    """Exclude a few samples: their measured values have no effect, however wrong they are."""
    third = subject.bench.times.size // 3
    out = np.array([third, third + 1])
    problem = subject.bench.problem(missing=out)
    results = []
    for wrong in (0.0, 1e6 * subject.bench.sigma):
        exclusion = Exclusion("a condition", out, np.full(out.size, wrong))
        results.append(subject.run(_with_measurements(problem, exclusions=(exclusion,))))
    expect(
        results[0].values == results[1].values,
        "values that were measured at excluded samples change the estimate",
    )
    expect(
        all(f.excluded[0].count == 2 for r in results for f in r.fits),
        "the fits do not say which samples are excluded",
    )


def check_log_scaling(subject: Subject) -> None:
    """Parameters are searched as logarithms, but given and returned as they are."""
    _check_truth(subject, subject.bench.problem(scaling="log"))


def check_fixed_parameters(subject: Subject) -> None:
    """Fix one parameter: it keeps its value exactly; the only free one is estimated."""
    for name, true in subject.bench.truth.items():
        problem = subject.bench.problem(fixed=[name])
        result = _check_truth(subject, problem)
        expect(result.values[name] == true, f"the fixed parameter '{name}' was changed")


def check_parameters_that_follow_from_others(subject: Subject) -> None:
    """Make a parameter dependent on another: it has the resulting value and error."""
    problem = subject.bench.problem()
    first, second = list(subject.bench.truth)[:2]
    ratio = subject.bench.truth[second] / subject.bench.truth[first]
    changed = _with(problem, second, expression=Expression(f"{ratio!r}*'{first}'"))
    result = _check_truth(subject, changed)
    expected = ratio * result.values[first]
    expect(
        abs(result.values[second] - expected) <= 1e-12 * abs(expected),
        f"'{second}' follows from '{first}' and is {result.values[second]!r}, not {expected!r}",
    )


def check_constraints(subject: Subject) -> None:
    """Impose an equality that the truth satisfies, and an inequality that it violates."""
    bench = subject.bench
    first, second = list(bench.truth)[:2]
    one, two = bench.truth[first], bench.truth[second]
    equal = f"'{first}'/{one!r} + '{second}'/{two!r} = 2"
    least = f"'{first}' <= {0.9 * one!r}"
    for text in (equal, least):
        given = bench.problem()
        problem = dataclasses.replace(given, constraints=read_constraint("kept", text))
        result = _check_truth(subject, problem) if text == equal else subject.run(problem)
        _expect_sane(result)
        for check in result.constraints:
            expect(not check.violated, f"the constraint {text} is not kept: {result.values}")
            held = check.active or result.status != "converged"
            expect(held, f"the constraint {text} does not hold the estimate: {result.values}")


def check_a_start_at_the_solution(subject: Subject) -> None:
    """Start at the solution of noise-free data: nothing is left to do."""
    problem = subject.bench.problem(noise=0.0, initial=subject.bench.truth)
    result = subject.run(problem)
    _expect_sane(result)
    _expect_near(result, subject.bench.truth, subject.bench.precision)
    size = problem.experiments[0].times.size
    allowed = 0.01 * size if subject.bench.precision > 1e-6 else 1e-9
    if result.draws is not None:
        allowed += 0.5 * len(problem.free) * _BY_DRAWS**2
    expect(
        result.cost_final <= allowed,
        f"the search left the solution: its cost is {result.cost_final:g} without noise",
    )


def check_bounds_hold_in_every_simulation(subject: Subject) -> None:
    """No simulation has a parameter outside its bounds, even if the truth is there."""
    bench = subject.bench
    problem = bench.problem(upper=_shares(bench.truth, 0.9, 0.85))
    model = Counted(bench.model)
    result = subject.run(problem, model)
    _expect_sane(result)
    for q in problem.free:
        visited = np.array([values[str(q.variable)] for values in model.values])
        expect(
            bool(np.all((visited >= q.lower) & (visited <= q.upper))),
            f"'{q.name}' was simulated from {visited.min():g} to {visited.max():g}, outside of "
            f"its bounds [{q.lower:g}, {q.upper:g}]",
        )
        expect(q.lower <= result.values[q.name] <= q.upper, f"'{q.name}' is not in its bounds")


def check_missing_bounds(subject: Subject) -> None:
    """Without bounds the problem is solved, or rejected with a reason; nothing breaks."""
    problem = subject.bench.problem(bounded=False)
    try:
        options = build_options(subject.kind, subject.table(problem))
        subject.kind().check_problem(problem, options)
        result = subject.run(problem)
    except ProblemError as error:
        expect(bool(error.message), "the refusal has no message")
        return
    _expect_sane(result)
    if result.status == "converged":
        _expect_truth(result, problem, subject)


def check_failing_simulations_are_survived(subject: Subject) -> None:
    """Let simulations fail not far from the start and from the solution."""
    bench = subject.bench
    problem = bench.problem(noise=0.2, initial=_shares(bench.truth, 0.8))
    limits = _shares(bench.truth, 1.1, 1.15)
    result = subject.run(problem, Fragile(bench.model, limits))
    _expect_sane(result)
    _expect_gain(result)
    if result.status == "converged":
        _expect_truth(result, problem, subject)


def check_a_solution_that_cannot_be_simulated(subject: Subject) -> None:
    """Expect no claim of success where the simulation fails at the truth."""
    bench = subject.bench
    limits = _shares(bench.truth, 0.95, 0.9)
    result = subject.run(bench.problem(), Fragile(bench.model, limits))
    _expect_sane(result)
    expect(
        np.isfinite(result.cost_final) or result.status == "failed",
        f"the simulation fails at the parameters found, but the status is '{result.status}': "
        "return a point with a finite cost, or the status 'failed'",
    )


def check_the_estimate_can_be_kept(subject: Subject) -> None:
    """Expect only types that the result files can represent."""
    estimator, answers = subject.watched()
    problem = subject.bench.problem()
    subject.run(problem, estimator=estimator)
    (answer,) = answers
    expect(bool(answer.message.strip()), "the message is empty")
    wrong = _not_plain(answer.details, "details")
    expect(wrong is None, f"the result's files cannot hold {wrong}")
    for series in answer.series:
        shape = (series.times.size, len(problem.free))
        expect(series.values.shape == shape, f"the values of a series do not have shape {shape}")
        expect(
            bool(np.isfinite(series.values[series.good]).all()),
            "a series has instants that are flagged as good without a value",
        )


def check_sample_by_sample_is_the_whole_record(subject: Subject) -> None:
    """Expect the same estimate from one sample at a time as from the whole record."""
    problem = subject.bench.problem()
    estimator = subject.kind()
    assert isinstance(estimator, OnlineEstimator)
    options = build_options(estimator, subject.table(problem))
    with subject.evaluator(problem) as evaluator:
        (experiment,) = problem.experiments
        whole = estimator.track(problem, experiment, evaluator, options)
        tracker = estimator.start(problem, experiment, evaluator, options)
        single = collect(problem, experiment, tracker)
    expect(bool(np.array_equal(whole.flags, single.flags)), "the flags differ")
    expect(
        bool(np.allclose(whole.values, single.values, rtol=1e-6, atol=0.0, equal_nan=True)),
        "the values differ",
    )


def check_how_much_it_will_simulate(subject: Subject) -> None:
    """Request the expected effort before the run: it is a positive integer or ``None``."""
    problem = subject.bench.problem()
    options = build_options(subject.kind, subject.table(problem))
    expected = subject.kind().expected_simulations(options, problem)
    expect(
        expected is None or (isinstance(expected, int) and expected > 0),
        f"expected_simulations returned {expected!r}: return an int above zero, or None",
    )


def _with_measurements(problem: Problem, **changes: Any) -> Problem:
    experiments = tuple(
        dataclasses.replace(
            e, measurements=tuple(dataclasses.replace(m, **changes) for m in e.measurements)
        )
        for e in problem.experiments
    )
    return dataclasses.replace(problem, experiments=experiments)


def _with(problem: Problem, name: str, **changes: Any) -> Problem:
    parameters = (
        dataclasses.replace(q, **changes) if q.name == name else q for q in problem.parameters
    )
    return dataclasses.replace(problem, parameters=tuple(parameters))


def _check_truth(subject: Subject, problem: Problem) -> EstimationResult:
    result = subject.run(problem)
    _expect_sane(result)
    _expect_gain(result)
    if result.status != "limit":
        expect(result.status == "converged", f"it ended as '{result.status}': {result.message}")
        _expect_truth(result, problem, subject)
    return result


def _expect_gain(result: EstimationResult) -> None:
    """Require a lower cost, unless the run was ended by a limit."""
    least = result.cost_initial
    gained = result.cost_final < least or (result.status == "limit" and result.cost_final == least)
    expect(gained, f"the cost went from {least:g} to {result.cost_final:g}")


def _expect_sane(result: EstimationResult) -> None:
    expect(bool(result.message.strip()), "the message is empty")
    values = np.array(list(result.values.values()))
    expect(bool(np.isfinite(values).all()), f"the values are {values}")


def _expect_truth(result: EstimationResult, problem: Problem, subject: Subject) -> None:
    """Compare with the standard errors of the result, or those of an online estimator."""
    own = _own_errors(result, problem)
    for estimate in result.estimates:
        if estimate.fixed:
            continue
        name, true = estimate.name, subject.bench.solution(problem)[estimate.name]
        error = max(estimate.standard_error, own.get(name, 0.0))
        allowed = _SURE * error + subject.bench.precision * abs(true)
        expect(
            abs(result.values[name] - true) <= allowed,
            f"'{name}' is {result.values[name]:g} +- {error:.2g}, but its true value is {true:g}",
        )
        expect(error <= 0.2 * abs(true), f"'{name}' is hardly known: +- {error:.2g}")


def _own_errors(result: EstimationResult, problem: Problem) -> dict[str, float]:
    """Return the smallest standard error of the series' last estimates, by parameter."""
    errors: dict[str, float] = {}
    for series in result.series:
        last = series.last
        if last is None:
            continue
        for q, error in zip(problem.free, last.standard_errors.tolist(), strict=True):
            if q.acts_on(series.experiment) and np.isfinite(error):
                errors[q.name] = min(error, errors.get(q.name, np.inf))
    return errors


def _expect_near(result: EstimationResult, truth: Mapping[str, float], relative: float) -> None:
    drawn = {} if result.draws is None else result.draws.parameters
    for name, true in truth.items():
        estimate = result.values[name]
        scatter = _BY_DRAWS * drawn[name].sd if name in drawn else 0.0
        expect(
            abs(estimate - true) <= relative * abs(true) + scatter,
            f"'{name}' is {estimate:g}, but its true value is {true:g}",
        )


def _shares(truth: Mapping[str, float], *shares: float) -> dict[str, float]:
    each = zip(truth, itertools.cycle(shares), strict=False)
    return {name: share * truth[name] for name, share in each}


def _not_plain(value: Any, place: str) -> str | None:
    """Return what a result file cannot represent, and where it is."""
    if value is None or isinstance(value, (str, bool, Real, np.bool_)):
        return None
    parts: list[tuple[str, Any]]
    if isinstance(value, Mapping):
        odd = next((key for key in value if not isinstance(key, str)), None)
        if odd is not None:
            return f"the key {odd!r} of {place}, which is not a text"
        parts = [(f"{place}[{key!r}]", item) for key, item in value.items()]
    elif isinstance(value, Sequence):
        parts = [(f"{place}[{k}]", item) for k, item in enumerate(value)]
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return None
    else:
        return f"{place}, which is not a number, text, list or mapping but {type(value).__name__}"
    return next((wrong for at, item in parts if (wrong := _not_plain(item, at))), None)


def check_the_same_run_gives_the_same_bits(subject: Subject) -> None:
    """Run again, also with an instance that has solved another problem, and with another seed.

    Results are identical for the same seed. Global random generators are neither used nor
    changed.
    """
    problem = subject.bench.problem()
    seeded = "seed" in {f.name for f in dataclasses.fields(subject.kind.options_type)}
    seed = {"seed": 7} if seeded else {}
    states = _global_states()
    first = subject.run(problem, options=seed)
    expect(
        states == _global_states(),
        "the run moved a global generator of random numbers: take them from "
        "numpy.random.default_rng(options.seed)",
    )
    used = subject.kind()
    subject.run(subject.bench.problem(fixed=[next(iter(subject.bench.truth))]), estimator=used)
    try:
        np.random.seed(1)  # noqa: NPY002
        random.seed(1)
        second = subject.run(problem, options=seed)
        third = subject.run(problem, options=seed, estimator=used)
    finally:
        _restore(states)
    _expect_equal(first, second, "a run with other global generators")
    _expect_equal(first, third, "an instance that was used before")
    if seeded and len(first.generations) > 1:
        other = subject.run(problem, options={"seed": 8})
        expect(
            not np.array_equal(first.generations[1].points, other.generations[1].points),
            "another seed made the same run: make the generator of options.seed",
        )


def check_it_does_not_matter_who_simulates(subject: Subject) -> None:
    """Expect the same bits when simulations end in another order and come as copies."""
    problem = subject.bench.problem(experiments=2)
    shuffled = ShuffledExecutor(problem, subject.bench.model)
    _expect_equal(subject.run(problem), subject.run(problem, executor=shuffled), "the other run")


def check_nothing_that_was_handed_over_is_changed(subject: Subject) -> None:
    """Expect the problem and the table of options as they were."""
    problem = subject.bench.problem(experiments=2)
    table = subject.table(problem)
    before, options = dataclasses.asdict(problem), copy.deepcopy(table)
    subject.run(problem, options=table)
    changed = _difference(before, dataclasses.asdict(problem), "problem")
    expect(changed is None, f"the run changed {changed}")
    expect(table == options, "the run changed the table of options")


def _difference(one: Any, two: Any, place: str) -> str | None:
    """Return the first place where two trees of mappings, sequences and arrays differ in a bit."""
    parts: list[tuple[str, Any, Any]] = []
    if isinstance(one, Mapping):
        if list(one) != list(two):
            return place
        parts = [(f"{place}[{k!r}]", one[k], two[k]) for k in one]
    elif isinstance(one, (list, tuple)):
        if len(one) != len(two):
            return place
        parts = [(f"{place}[{k}]", a, b) for k, (a, b) in enumerate(zip(one, two, strict=True))]
    elif isinstance(one, np.ndarray):
        same = one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()
        return None if same else place
    else:
        return None if one == two else place
    return next((d for at, a, b in parts if (d := _difference(a, b, at)) is not None), None)


def _expect_equal(first: EstimationResult, second: EstimationResult, what: str) -> None:
    expect(first.status == second.status, f"{what} ended as '{second.status}'")
    expect(
        first.values == second.values,
        f"{what} found {second.values}, not {first.values}: keep nothing in the instance or the "
        "class, and take random numbers from options.seed",
    )
    expect(
        first.simulations == second.simulations,
        f"{what} took {second.simulations} simulations, not {first.simulations}",
    )
    expect(
        [i.cost for i in first.history] == [i.cost for i in second.history],
        f"{what} went another way",
    )
    expect(first.notes == second.notes, f"{what} made other notes")
    for one, two in zip(first.generations, second.generations, strict=True):
        same = np.array_equal(one.points, two.points) and np.array_equal(one.costs, two.costs)
        expect(same, f"{what} had other generations")
    for a, b in zip(first.series, second.series, strict=True):
        same = np.array_equal(a.values, b.values, equal_nan=True)
        expect(same, f"{what} had other estimates over time")


def _global_states() -> bytes:
    return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002


def _restore(states: bytes) -> None:
    own, numpys = pickle.loads(states)
    random.setstate(own)
    np.random.set_state(numpys)  # noqa: NPY002


class ShuffledExecutor(PythonExecutor):
    """Runs tasks in a different order and returns copies, as worker processes do.

    Tasks and outcomes are pickled, and the outcomes come in the order of completion, which is
    not that of the batch.
    """

    simultaneous = 4

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Run all tasks."""
        order = [int(k) for k in np.random.default_rng(len(tasks)).permutation(len(tasks))]
        for index in order:
            task: SimulationTask = pickle.loads(pickle.dumps(tasks[index]))
            for _, outcome in super().run([task]):
                yield index, pickle.loads(pickle.dumps(outcome))


_ROUNDING = 1e-9


@dataclass(frozen=True)
class _Watcher:
    """Observer that calls a function at each iteration."""

    iteration: Callable[[Iteration], None]


def _ended_at(number: int, what: type[BaseException]) -> _Watcher:
    def iteration(state: Iteration) -> None:
        if state.number == number:
            raise what("enough")

    return _Watcher(iteration)


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
        result = subject.run(problem, observers=[_ended_at(number, StopEstimation)])
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
        result = subject.run(problem, observers=[_ended_at(number, KeyboardInterrupt)])
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
    with subject.evaluator(problem) as evaluator, subject.evaluator(plain) as usual:
        least, usual_cost = (evaluator.cost(_minimum(e)) for e in (evaluator, usual))
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
            plain = _with_measurements(plain, sigma=None)
        with subject.evaluator(plain) as usual:
            best = _minimum(usual)
            jacobian, residuals = usual.jacobian(best), usual.residuals(best)
        variance = 1.0 if sigma_known else float(np.mean(residuals**2))
        information = jacobian.T @ jacobian / variance
        error = float(np.sqrt(np.linalg.inv(information)[0, 0]))
        prior = Prior("normal", best[0] - 4.0 * error, error)
        problem = _with(plain, plain.free[0].name, prior=prior)
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
        with subject.evaluator(problem) as evaluator:
            least = evaluator.cost(_minimum(evaluator))
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


def check_nothing_is_printed(subject: Subject) -> None:
    """Nothing is printed to standard output, which belongs to the host."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        subject.run(subject.bench.problem())
    text = printed.getvalue()
    expect(not text, f"it printed {text[:60]!r}: tell users with monitor.note, or log it")


def _minimum(evaluator: Evaluator) -> F64:
    """Return the free parameters of minimum cost, without using derivatives."""
    problem = evaluator.problem
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
    model, calls = Counted(subject.bench.model), [0]
    executor: Executor = PythonExecutor(problem, model)
    if remembering:
        executor = RecordedExecutor(executor, SimulationKeys(problem))
    watcher = _Watcher(lambda _: calls.append(model.calls))
    subject.run(problem, executor=executor, observers=[watcher])
    expect(len(calls) > 1, "no iteration was reported: call monitor.iteration")
    last = calls[-1]
    return sorted({min(2, last), (2 + last) // 2, last})


def _journalled(subject: Subject, problem: Problem, model: Model, folder: Path) -> EstimationResult:
    with contextlib.closing(Journal(folder)) as journal:
        executor = RecordedExecutor(
            PythonExecutor(problem, model), SimulationKeys(problem), journal
        )
        return subject.run(problem, executor=executor)


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
