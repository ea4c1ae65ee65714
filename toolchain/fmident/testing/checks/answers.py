"""Checks of the estimates: on good data, on bad data, near bounds and beyond them."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import pickle
import random
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fmident.data import Exclusion
from fmident.errors import ProblemError
from fmident.estimation import EstimationResult, OnlineEstimator, build_options
from fmident.estimation.online.estimator import collect
from fmident.evaluation import Evaluator, PythonExecutor, SimulationTask
from fmident.evaluation.executors.base import Done
from fmident.evaluation.tasks import Simulated
from fmident.problem.expressions import Expression, read_constraint
from fmident.problem.model import Problem
from fmident.testing.subject import Counted, Fragile, Subject, expect

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment

_BY_DRAWS = 0.25
"""Standard deviations that the median of draws may be off."""

_SURE = 4.0
"""Standard errors within which the truth lies; 95 % intervals would fail too often."""


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
    results = [
        subject.run(_excluding(subject.bench.problem(missing=out), out, wrong))
        for wrong in (0.0, 1e6 * subject.bench.sigma)
    ]
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
    upper = {name: share * bench.truth[name] for name, share in _shares(bench.truth, 0.9, 0.85)}
    problem = bench.problem(upper=upper)
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
    start = {name: 0.8 * value for name, value in bench.truth.items()}
    problem = bench.problem(noise=0.2, initial=start)
    limits = {name: share * bench.truth[name] for name, share in _shares(bench.truth, 1.1, 1.15)}
    result = subject.run(problem, Fragile(bench.model, limits))
    _expect_sane(result)
    _expect_gain(result)
    if result.status == "converged":
        _expect_truth(result, problem, subject)


def check_a_solution_that_cannot_be_simulated(subject: Subject) -> None:
    """Expect no claim of success where the simulation fails at the truth."""
    bench = subject.bench
    limits = {name: share * bench.truth[name] for name, share in _shares(bench.truth, 0.95, 0.9)}
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
    with Evaluator(problem, PythonExecutor(problem, subject.bench.model)) as evaluator:
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


def _excluding(problem: Problem, samples: npt.NDArray[np.intp], wrong: float) -> Problem:
    """Return a problem that records the measured values of excluded samples."""
    exclusion = Exclusion("a condition", samples, np.full(samples.size, wrong))
    experiments = tuple(
        dataclasses.replace(
            e,
            measurements=tuple(
                dataclasses.replace(m, exclusions=(exclusion,)) for m in e.measurements
            ),
        )
        for e in problem.experiments
    )
    return dataclasses.replace(problem, experiments=experiments)


def _with(problem: Problem, name: str, **changes: Any) -> Problem:
    """Return the problem with changes to one parameter."""
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


def _shares(truth: Mapping[str, float], *shares: float) -> list[tuple[str, float]]:
    """Return the shares by parameter, repeated cyclically."""
    return list(zip(truth, itertools.cycle(shares), strict=False))


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
    """Run twice, and with an instance that has solved another problem: results are identical."""
    problem = subject.bench.problem()
    first = subject.run(problem)
    _expect_equal(first, subject.run(problem), "a second run")
    used = subject.kind()
    subject.run(subject.bench.problem(fixed=[next(iter(subject.bench.truth))]), estimator=used)
    _expect_equal(first, subject.run(problem, estimator=used), "an instance that was used before")


def check_it_does_not_matter_who_simulates(subject: Subject) -> None:
    """Expect the same bits when simulations end in another order and come as copies."""
    problem = subject.bench.problem(experiments=2)
    shuffled = ShuffledExecutor(problem, subject.bench.model)
    _expect_equal(subject.run(problem), subject.run(problem, executor=shuffled), "the other run")


def check_random_numbers_come_from_the_seed(subject: Subject) -> None:
    """Global random generators are neither used nor changed; another seed gives another run."""
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
    try:
        np.random.seed(1)  # noqa: NPY002
        random.seed(1)
        second = subject.run(problem, options=seed)
    finally:
        _restore(states)
    _expect_equal(first, second, "a run with other global generators")
    if seeded and len(first.generations) > 1:
        other = subject.run(problem, options={"seed": 8})
        expect(
            not np.array_equal(first.generations[1].points, other.generations[1].points),
            "another seed made the same run: make the generator of options.seed",
        )


def check_nothing_that_was_handed_over_is_changed(subject: Subject) -> None:
    """Expect the problem and the table of options as they were."""
    problem = subject.bench.problem(experiments=2)
    table = subject.table(problem)
    before, options = copy.deepcopy(problem), copy.deepcopy(table)
    subject.run(problem, options=table)
    changed = _difference(before, problem, "problem")
    expect(changed is None, f"the run changed {changed}")
    expect(table == options, "the run changed the table of options")


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


def _difference(one: Any, two: Any, place: str) -> str | None:
    """Return the first difference of two trees of dataclasses, mappings, sequences, arrays."""
    parts: list[tuple[str, Any, Any]] = []
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        names = [f.name for f in dataclasses.fields(one)]
        parts = [(f"{place}.{n}", getattr(one, n), getattr(two, n)) for n in names]
    elif isinstance(one, Mapping):
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


def _global_states() -> bytes:
    return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002


def _restore(states: bytes) -> None:
    own, numpys = pickle.loads(states)
    random.setstate(own)
    np.random.set_state(numpys)  # noqa: NPY002


class ShuffledExecutor(PythonExecutor):
    """Runs tasks in a different order and returns copies, as worker processes do.

    Tasks and outcomes are pickled, and the outcomes are reported in the order of
    completion, which is not that of the batch.
    """

    simultaneous = 4

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks."""
        order = [int(k) for k in np.random.default_rng(len(tasks)).permutation(len(tasks))]
        outcomes: dict[int, Simulated] = {}
        for index in order:
            task: SimulationTask = pickle.loads(pickle.dumps(tasks[index]))
            (outcome,) = super().run([task])
            outcomes[index] = pickle.loads(pickle.dumps(outcome))
            if done is not None:
                done(index, outcomes[index])
        return [outcomes[index] for index in range(len(tasks))]

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
        sensitivities: Sequence[str] = (),
    ) -> list[Simulated]:
        """Evaluate an experiment, possibly not one of the problem's, in reverse order."""
        sent = pickle.loads(pickle.dumps((experiment, tuple(variables), list(values))))
        outcomes = super().run_other(sent[0], sent[1], sent[2][::-1], tuple(sensitivities))
        received: list[Simulated] = pickle.loads(pickle.dumps(outcomes[::-1]))
        return received
