"""The check of executors: all that are registered pass it, and each mistake is found."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.errors import SimulationError
from fmident.evaluation import (
    Executor,
    ExecutorKind,
    ExecutorReport,
    Outcomes,
    PythonExecutor,
    Simulated,
    SimulationFailure,
    SimulationTask,
    python_problem,
)
from fmident.plugins import Registry, load_plugins
from fmident.plugins.registry import Origin
from fmident.problem.model import Parameter, Problem
from fmident.testing import ConformanceError, check_executor
from fmident.testing.checks import ShuffledExecutor

from ..evaluation.executors import faults
from ..evaluation.executors.conftest import faulty, fmu

__all__ = ["faulty", "fmu"]

EXAMPLE = Path(__file__).parents[2] / "plugins" / "example"

REGISTERED = load_plugins().executors.names()


def kind_of(name: str) -> ExecutorKind:
    if name != "pool":
        return load_plugins().executors.get(name)
    registry: Registry[ExecutorKind] = Registry("executor", Origin("pool"))
    importlib.import_module("fmident_pool").fmident_register_executors(registry)
    return registry.get(name)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n != "inline")) for n in (*REGISTERED, "pool")],
)
def test_every_executor_does_what_it_must(
    faulty: faults.BuildFaults, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    kind = kind_of(name)

    def make(problem: Problem) -> Executor:
        settings = replace(problem.evaluation, executor=name)
        return kind.open(replace(problem, evaluation=settings), lambda _: None)

    sensitive = faults.make_problem(faulty(faults.SENSITIVE))
    with make(sensitive) as executor:
        assert executor.differentiable >= {"a", "b"} or name == "pool"
    check_executor(make, sensitive, {"kind": faults.ERROR})


def decay(times: F64, inputs: Mapping[str, F64], k: float) -> dict[str, F64]:
    if k < 0.0:
        raise SimulationError("the spring broke", time=0.1)
    return {"x": np.exp(-k * times), "y": np.cos(k * times)}


@pytest.fixture
def problem() -> Problem:
    times = np.linspace(0.0, 1.0, 11)
    measured = {"x": 0.0 * times, "y": 0.0 * times}
    one = python_problem(measured, times, [Parameter("k", 1.3, variable="k")], sigma=0.1)
    (experiment,) = one.experiments
    shorter = python_problem({"x": times[:5]}, times[:5], one.parameters).experiments[0]
    return replace(one, experiments=(experiment, replace(shorter, name="shorter")))


def check(make: Callable[[Problem], Executor], problem: Problem) -> None:
    check_executor(make, problem, {"k": -1.0}, reference=lambda given: PythonExecutor(given, decay))


@pytest.mark.parametrize("kind", [PythonExecutor, ShuffledExecutor])
def test_sound_executors_pass(kind: type[PythonExecutor], problem: Problem) -> None:
    check(lambda given: kind(given, decay), problem)


class Base(PythonExecutor):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem, decay)


def altered(outcomes: Outcomes, change: Callable[[Simulated], Simulated]) -> Outcomes:
    return ((index, change(outcome)) for index, outcome in outcomes)


class Order(Base):
    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        last = len(tasks) - 1
        return ((last - index, outcome) for index, outcome in super().run(tasks))


class Rounded(Base):
    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        return altered(
            super().run(tasks),
            lambda y: y if isinstance(y, SimulationFailure) else y * (1.0 + 2.0**-52),
        )


class Worn(Base):
    """The first batch is right, the next ones are not."""

    used = False

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        added, self.used = float(self.used), self.used or bool(tasks)
        return altered(
            super().run(tasks), lambda y: y if isinstance(y, SimulationFailure) else y + added
        )


class Short(Base):
    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        return (pair for pair in super().run(tasks) if pair[0])


class Single(Base):
    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        return altered(
            super().run(tasks),
            lambda y: y if isinstance(y, SimulationFailure) else y.astype(np.float32),  # type: ignore[return-value]
        )


class Listed(Base):
    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        return [outcome for _, outcome in super().run(tasks)]  # type: ignore[return-value]


class Twice(Base):
    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        pairs = list(super().run(tasks))
        return iter([*pairs, *pairs[:1]])


class Raises(Base):
    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        for index, outcome in super().run(tasks):
            if isinstance(outcome, SimulationFailure):
                raise SimulationError(outcome.message)
            yield index, outcome


class Anonymous(Base):
    """Failures do not say of which parameters they are."""

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        return altered(
            super().run(tasks),
            lambda y: replace(y, parameters={}) if isinstance(y, SimulationFailure) else y,
        )


class Swallows(Base):
    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        for pair in super().run(tasks):
            with contextlib.suppress(KeyboardInterrupt):
                yield pair


class Broken(Base):
    """After an interruption nothing comes any more."""

    broken = False

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        try:
            yield from () if self.broken else super().run(tasks)
        except KeyboardInterrupt:
            self.broken = True
            raise


class OtherWrong(Base):
    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        return super().run([self._changed(task) for task in tasks])

    def _changed(self, task: SimulationTask) -> SimulationTask:
        if task.other is None:
            return task
        return replace(task, other=replace(task.other, variables=task.other.variables[::-1]))


class Idle(Base):
    simultaneous = 0


class Unnamed(Base):
    def report(self) -> ExecutorReport:
        return ExecutorReport("")


WRONG = {
    Order: "differs from the reference|has shape",
    Rounded: "differs from the reference by up to 2.22e-16",
    Worn: "outcome 0 in a batch in another order differs",
    Short: "as many outcomes as tasks",
    Single: "float32",
    Listed: "not an iterator",
    Twice: r"with the indices \[0, 1, .* 0\]",
    Raises: "'run' raised SimulationError",
    Anonymous: "is the failure",
    Swallows: "Ctrl-C .* is lost",
    Broken: "as many outcomes as tasks",
    OtherWrong: "of another experiment",
    Idle: "'simultaneous' is 0",
    Unnamed: "no name",
}


@pytest.mark.parametrize("kind", WRONG, ids=lambda kind: kind.__name__)
def test_each_mistake_is_found(kind: type[Base], problem: Problem) -> None:
    with pytest.raises(ConformanceError, match=WRONG[kind]):
        check(kind, problem)


def sensitive(problem: Problem, slope: float = 1.0) -> PythonExecutor:
    def by_k(times: F64, inputs: Mapping[str, F64], k: float) -> dict[str, F64]:
        return dict.fromkeys(("x", "y"), slope * times)

    return PythonExecutor(problem, decay, {"k": by_k})


def check_sensitive(make: Callable[[Problem], Executor], problem: Problem) -> None:
    check_executor(make, problem, {"k": -1.0}, reference=sensitive)


def test_sensitivities_are_checked_where_both_have_them(problem: Problem) -> None:
    check_sensitive(sensitive, problem)
    check_sensitive(lambda given: PythonExecutor(given, decay), problem)
    with pytest.raises(ConformanceError, match="with sensitivities differs"):
        check_sensitive(lambda given: sensitive(given, 1.1), problem)


def test_an_executor_that_promises_sensitivities_must_return_them(problem: Problem) -> None:
    class Own(PythonExecutor):
        def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
            return super().run([task.plain for task in tasks])

    with pytest.raises(ConformanceError, match="with sensitivities has shape"):
        check_sensitive(lambda given: Own(given, decay, {"k": decay}), problem)


def test_what_can_be_differentiated_is_a_set_of_names(problem: Problem) -> None:
    class Own(Base):
        differentiable = ["k"]  # type: ignore[assignment]  # noqa: RUF012

    with pytest.raises(ConformanceError, match="'differentiable' is"):
        check(Own, problem)


def test_run_other_may_be_missing(problem: Problem) -> None:
    class Own(Base):
        other_experiments = False

    check(Own, problem)


def test_values_that_do_not_fail_prove_nothing(problem: Problem) -> None:
    with pytest.raises(ConformanceError, match="does not fail"):
        check_executor(Base, problem, {"k": 1.0}, reference=Base)
