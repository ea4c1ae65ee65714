"""Conformance check for authors of executors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from fmident.data.experiment import Experiment
from fmident.errors import Code, EstimationError
from fmident.evaluation import (
    Executor,
    ExecutorReport,
    InProcessExecutor,
    Simulated,
    SimulationFailure,
    SimulationTask,
    output_variables,
)
from fmident.problem import Problem, parameter_values_for
from fmident.testing.subject import ConformanceError, expect

MakeExecutor: TypeAlias = Callable[[Problem], Executor]

_COUNT = 6
"""Tasks of each experiment."""


def check_executor(
    make: MakeExecutor,
    problem: Problem,
    failing: Mapping[str, float],
    *,
    reference: MakeExecutor = InProcessExecutor,
) -> None:
    """Check that an executor conforms; raises `ConformanceError` with the reason otherwise.

    It yields one outcome for each task, equal to that of the reference bit for bit, whatever
    ran before; a failing simulation is an outcome; Ctrl-C propagates; ``run_other`` works or is
    rejected; ``report`` and ``close`` work. If
    both it and the reference are ``differentiable``, sensitivities are checked likewise.

    Parameters
    ----------
    make
        Returns the executor of a problem, such as ``MyExecutor``.
    problem
        With a small FMU, and two experiments or more if possible. Some 20 simulations of
        each experiment are run.
    failing
        FMU variable values with which the simulation fails.
    reference
        Returns the executor whose outcomes are correct.
    """
    with reference(problem) as right:
        tasks = _tasks(problem)
        broken = SimulationTask(0, {**tasks[0].values, **failing})
        expected, (failure,) = right.run_all(tasks), right.run_all([broken])
        for outcome in expected:
            if isinstance(outcome, SimulationFailure):
                raise ConformanceError(
                    f"a simulation of the problem fails in the reference: {outcome}"
                )
        if not isinstance(failure, SimulationFailure):
            raise ConformanceError(f"the simulation with {dict(failing)} does not fail")
        executor = make(problem)
        try:
            _check_declared(executor)
            _check_outcomes(executor, tasks, expected)
            _check_failures(executor, tasks, expected, broken, failure)
            _check_run_other(executor, right, problem)
            _check_sensitivities(executor, right, problem)
            _check_interruption(executor, tasks, expected)
            _check_declared(executor)
        finally:
            executor.close()
        executor.close()  # must do nothing


def _tasks(problem: Problem) -> list[SimulationTask]:
    """Return tasks alternating between the experiments, with different parameter values."""
    tasks = []
    for k in range(_COUNT):
        point = np.clip(problem.initial * (1.0 + 0.003 * k), problem.lower, problem.upper)
        for index, experiment in enumerate(problem.experiments):
            values = parameter_values_for(problem, experiment, point)
            tasks.append(SimulationTask(index, values))
    return tasks


def _check_declared(executor: Executor) -> None:
    count, report = executor.simultaneous, executor.report()
    expect(isinstance(executor, Executor), "it is not an Executor")
    expect(
        type(count) is int and count >= 1,
        f"'simultaneous' is {count!r}, not a positive whole number",
    )
    expect(isinstance(executor.isolated, bool), f"'isolated' is {executor.isolated!r}")
    names = executor.differentiable
    expect(
        isinstance(names, frozenset) and all(isinstance(name, str) for name in names),
        f"'differentiable' is {names!r}, not a frozenset of names",
    )
    expect(isinstance(report, ExecutorReport), f"'report' returns {report!r}")
    expect(bool(report.name), "its report has no name")


def _check_outcomes(
    executor: Executor, tasks: list[SimulationTask], expected: list[Simulated]
) -> None:
    expect(list(executor.run([])) == [], "an empty batch has no outcomes, and yet some came back")
    before = copy.deepcopy(tasks)
    _expect_same(_outcomes(executor, tasks), expected, "in the first batch")
    expect(tasks == before, "it has changed the tasks of a batch")
    _expect_same(_outcomes(executor, tasks[::-1]), expected[::-1], "in a batch in another order")
    _expect_same(_outcomes(executor, tasks[-1:]), expected[-1:], "in a batch of one task")
    twice = [*tasks[:2], *tasks[:2]]
    _expect_same(
        _outcomes(executor, twice), [*expected[:2], *expected[:2]], "in one with equal tasks"
    )


def _outcomes(executor: Executor, tasks: Sequence[SimulationTask]) -> list[Simulated]:
    returned = executor.run(tasks)
    expect(isinstance(returned, Iterator), f"'run' returns {type(returned)}, not an iterator")
    pairs = list(returned)
    indices = [index for index, _ in pairs]
    expect(
        sorted(indices) == list(range(len(tasks))),
        f"'run' yields as many outcomes as tasks, one for each, but with the indices {indices}",
    )
    by_index = dict(pairs)
    return [by_index[index] for index in range(len(tasks))]


def _check_failures(
    executor: Executor,
    tasks: list[SimulationTask],
    expected: list[Simulated],
    broken: SimulationTask,
    failure: SimulationFailure,
) -> None:
    """Check that a failure is an outcome in place, and does not affect others."""
    mixed, right = [*tasks[:1], broken, *tasks[1:]], [*expected[:1], failure, *expected[1:]]
    try:
        outcomes = _outcomes(executor, mixed)
    except ConformanceError:
        raise
    except Exception as error:
        raise ConformanceError(
            f"a simulation that fails is an outcome, but 'run' raised {error!r}"
        ) from error
    _expect_same(outcomes, right, "in a batch with one that fails")
    _expect_same(_outcomes(executor, tasks), expected, "in the batch after one that fails")


def _check_run_other(executor: Executor, right: Executor, problem: Problem) -> None:
    other, variables, values = _other(problem)
    try:
        outcomes = executor.run_other(other, variables, values)
    except EstimationError as error:
        if error.code == Code.NOT_SUPPORTED:
            return
        raise
    _expect_same(outcomes, right.run_other(other, variables, values), "of another experiment")


def _other(problem: Problem) -> tuple[Experiment, tuple[str, ...], list[Mapping[str, float]]]:
    own = problem.experiments[0]
    count = max(own.times.size // 2, 2)
    inputs = {name: values[:count] for name, values in own.inputs.items()}
    other = Experiment("other", own.times[:count], inputs, (), start_values=own.start_values)
    values = [task.values for task in _tasks(problem) if task.experiment == 0]
    return other, output_variables(own)[::-1], values


def _check_sensitivities(executor: Executor, right: Executor, problem: Problem) -> None:
    """Check that outcomes with sensitivities have the same outputs bit for bit."""
    tasks = _tasks(problem)
    names = sorted(executor.differentiable & right.differentiable & tasks[0].values.keys())
    if not names:
        return
    asked = [replace(t, sensitivities=tuple(names)) for t in tasks if names[0] in t.values]
    plain = [t.plain for t in asked]
    expected = right.run_all(asked)
    _expect_same(_outcomes(executor, asked), expected, "with sensitivities")
    one = [replace(t, sensitivities=tuple(names[:1])) for t in asked]
    mixed = [t for three in zip(plain, asked, one, strict=True) for t in three]
    outcomes = _outcomes(executor, mixed)
    _expect_same(outcomes, right.run_all(mixed), "in a batch with and without sensitivities")
    for short, wide in zip(outcomes[::3], outcomes[1::3], strict=True):
        if isinstance(short, SimulationFailure) or isinstance(wide, SimulationFailure):
            continue
        outputs = np.ascontiguousarray(wide[:, : short.shape[1]])
        _expect_same([outputs], [short], "of the outputs, which sensitivities must not change")
    other, variables, values = _other(problem)
    _expect_same(
        executor.run_other(other, variables, values, tuple(names)),
        right.run_other(other, variables, values, tuple(names)),
        "of another experiment with sensitivities",
    )


def _check_interruption(
    executor: Executor, tasks: list[SimulationTask], expected: list[Simulated]
) -> None:
    outcomes = executor.run(tasks)
    next(outcomes)
    if isinstance(outcomes, Generator):
        try:
            outcomes.throw(KeyboardInterrupt())
        except KeyboardInterrupt:
            pass
        else:
            raise ConformanceError("Ctrl-C in the middle of a batch is lost: 'run' went on")
    _expect_same(
        _outcomes(executor, tasks), expected, "in the batch after one that was interrupted"
    )


def _expect_same(found: Sequence[Simulated], expected: Sequence[Simulated], where: str) -> None:
    """Compare outcomes bit for bit, and failures by their code, parameters and experiment."""
    expect(
        isinstance(found, list | tuple) and len(found) == len(expected),
        f"{len(expected)} tasks have as many outcomes, but {len(found)} came back {where}",
    )
    for index, (one, right) in enumerate(zip(found, expected, strict=True)):
        what = f"outcome {index} {where}"
        if isinstance(right, SimulationFailure):
            if not isinstance(one, SimulationFailure):
                raise ConformanceError(f"{what} is {type(one).__name__}, not a failure")
            facts = [(f.code, dict(f.parameters), f.experiment) for f in (one, right)]
            expect(facts[0] == facts[1], f"{what} is the failure {facts[0]}, not {facts[1]}")
            continue
        if not isinstance(one, np.ndarray):
            raise ConformanceError(f"{what} is {one!r}, not an array")
        expect(
            (one.shape, one.dtype) == (right.shape, right.dtype),
            f"{what} has shape {one.shape} and type {one.dtype}, not {right.shape} {right.dtype}",
        )
        expect(
            one.tobytes() == right.tobytes(),
            f"{what} differs from the reference by up to {_farthest(one, right):.3g}: "
            "are the outcomes in the order of the tasks, and equal to the last bit?",
        )


def _farthest(one: np.ndarray, right: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        return float(np.max(np.abs(one - right), initial=0.0))
