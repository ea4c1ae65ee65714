"""The check of executors: all that are registered pass it, and each mistake is found."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.errors import SimulationError
from fmident.evaluation import (
    Done,
    Executor,
    ExecutorKind,
    ExecutorReport,
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
from fmident.testing.checks.answers import ShuffledExecutor

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


class Order(Base):
    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        return super().run(tasks, done)[::-1]


class Rounded(Base):
    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        found = super().run(tasks, done)
        return [f if isinstance(f, SimulationFailure) else f * (1.0 + 2.0**-52) for f in found]


class Worn(Base):
    """The first batch is right, the next ones are not."""

    used = False

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        found = super().run(tasks, done)
        if self.used and not isinstance(found[0], SimulationFailure):
            found[0] = found[0] + 1.0
        self.used = self.used or bool(tasks)
        return found


class Short(Base):
    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        return super().run(tasks, done)[1:]


class Single(Base):
    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        found = super().run(tasks, done)
        return [f if isinstance(f, SimulationFailure) else f.astype(np.float32) for f in found]  # type: ignore[misc]


class Silent(Base):
    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        return super().run(tasks)


class Twice(Base):
    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        found = super().run(tasks, done)
        if done is not None:
            done(0, found[0])
        return found


class ReportsOthers(Base):
    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        count = len(tasks)
        return super().run(tasks, done and (lambda k, outcome: done(count - 1 - k, outcome)))


class Raises(Base):
    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        found = super().run(tasks, done)
        for outcome in found:
            if isinstance(outcome, SimulationFailure):
                raise SimulationError(outcome.message)
        return found


class Anonymous(Base):
    """Failures do not say of which parameters they are."""

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        found = super().run(tasks, done)
        return [replace(f, parameters={}) if isinstance(f, SimulationFailure) else f for f in found]


class Swallows(Base):
    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        def kept(index: int, outcome: Simulated) -> None:
            try:
                if done is not None:
                    done(index, outcome)
            except KeyboardInterrupt:
                pass

        return super().run(tasks, kept)


class OtherWrong(Base):
    def run_other(self, experiment, variables, values):  # type: ignore[no-untyped-def]
        return super().run_other(experiment, variables[::-1], values)


class Idle(Base):
    simultaneous = 0


class Unnamed(Base):
    def report(self) -> ExecutorReport:
        return ExecutorReport("")


WRONG = {
    Order: "differs from the reference|has shape",
    Rounded: "differs from the reference by up to 2.22e-16",
    Worn: "outcome 0 in a batch in another order differs",
    Short: "as many outcomes",
    Single: "float32",
    Silent: r"with the indices \[\]",
    Twice: r"with the indices \[0, 1, .* 0\]",
    ReportsOthers: "that 'done' was called with",
    Raises: "'run' raised SimulationError",
    Anonymous: "is the failure",
    Swallows: "Ctrl-C .* is lost",
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
        def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
            return super().run([task.plain for task in tasks], done)

    with pytest.raises(ConformanceError, match="with sensitivities has shape"):
        check_sensitive(lambda given: Own(given, decay, {"k": decay}), problem)


def test_what_can_be_differentiated_is_a_set_of_names(problem: Problem) -> None:
    class Own(Base):
        differentiable = ["k"]  # type: ignore[assignment]  # noqa: RUF012

    with pytest.raises(ConformanceError, match="'differentiable' is"):
        check(Own, problem)


def test_run_other_may_be_missing(problem: Problem) -> None:
    class Own(Base):
        run_other = Executor.run_other

    check(Own, problem)


def test_values_that_do_not_fail_prove_nothing(problem: Problem) -> None:
    with pytest.raises(ConformanceError, match="does not fail"):
        check_executor(Base, problem, {"k": 1.0}, reference=Base)
