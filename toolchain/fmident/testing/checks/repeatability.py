"""Whether the same run gives the same bits, whoever runs it and whatever ran before."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.estimation import EstimationResult
from fmident.evaluation import PythonExecutor, SimulationTask
from fmident.evaluation.executors.base import Done
from fmident.evaluation.tasks import Simulated
from fmident.testing.subject import Subject, expect

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment


def check_the_same_run_gives_the_same_bits(subject: Subject) -> None:
    """Run twice, and with an instance that has solved something else: the bits are equal."""
    problem = subject.bench.problem()
    first = subject.run(problem)
    _expect_equal(first, subject.run(problem), "a second run")
    used = subject.kind()
    subject.run(subject.bench.problem(fixed=[next(iter(subject.bench.truth))]), estimator=used)
    _expect_equal(first, subject.run(problem, estimator=used), "an instance that was used before")


def check_it_does_not_matter_who_simulates(subject: Subject) -> None:
    """Let simulations end in another order and come as copies: no bit changes."""
    problem = subject.bench.problem(experiments=2)
    elsewhere = ShuffledExecutor(problem, subject.bench.model)
    _expect_equal(subject.run(problem), subject.run(problem, executor=elsewhere), "the other run")


def check_random_numbers_come_from_the_seed(subject: Subject) -> None:
    """Look at the global generators: neither used nor moved; another seed is another run."""
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
    """Compare the problem and the table of options: they are as they were."""
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
    """Return where two trees of dataclasses, mappings, sequences and arrays differ first."""
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
    """Runs tasks in an order of its own, and hands on copies, as worker processes do.

    Tasks and outcomes go through pickle, and the outcomes are reported in the order in which they
    were finished, which is not that of the batch.
    """

    simultaneous = 4

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks."""
        order = [int(k) for k in np.random.default_rng(len(tasks)).permutation(len(tasks))]
        found: dict[int, Simulated] = {}
        for index in order:
            task: SimulationTask = pickle.loads(pickle.dumps(tasks[index]))
            (outcome,) = super().run([task])
            found[index] = pickle.loads(pickle.dumps(outcome))
            if done is not None:
                done(index, found[index])
        return [found[index] for index in range(len(tasks))]

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
        sensitivities: Sequence[str] = (),
    ) -> list[Simulated]:
        """Evaluate an experiment that need not be one of the problem's, last things first."""
        sent = pickle.loads(pickle.dumps((experiment, tuple(variables), list(values))))
        found = super().run_other(sent[0], sent[1], sent[2][::-1], tuple(sensitivities))
        received: list[Simulated] = pickle.loads(pickle.dumps(found[::-1]))
        return received
