"""Executors of plugins, whose faults are reported as the plugin's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.errors import PluginError
from fmident.evaluation.executors.base import DelegatingExecutor, Executor, ExecutorReport
from fmident.evaluation.tasks import Outcomes, Simulated, SimulationFailure, SimulationTask
from fmident.plugin_code import PLUGIN_BUG, code_of_plugin, defined_at

if TYPE_CHECKING:
    from fmident.problem.model import Problem


class CheckedExecutor(DelegatingExecutor):
    """Delegates batches to a plugin's executor and reports faults as the plugin's.

    A list of all outcomes in order, the former result of `run`, is still accepted. `what`
    describes the executor in messages.
    """

    def __init__(self, inner: Executor, problem: Problem, what: str) -> None:
        super().__init__(inner)
        self._what = what
        self._module = type(inner).__module__
        self._shapes = [(e.times.size, len(e.output_variables)) for e in problem.experiments]
        count = inner.simultaneous
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise self._error("simultaneous", f"is {count!r}, not a positive whole number")
        names = inner.differentiable
        if not isinstance(names, frozenset) or not all(isinstance(n, str) for n in names):
            raise self._error("differentiable", f"is {names!r}, not a frozenset of names")

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Run simulations with the plugin's executor, and check what it yields."""
        what, waiting = f"'run' of {self._what}", set(range(len(tasks)))
        with code_of_plugin(what, self._module, self.whole.run):
            outcomes = self._iterator(self.whole.run(tasks), len(tasks))
        while True:
            with code_of_plugin(what, self._module, self.whole.run):
                item = next(outcomes, None)
            if item is None:
                break
            index, outcome = self._pair(item)
            if index not in waiting:
                raise self._error("run", f"yielded an outcome for {index!r}, which was not asked")
            waiting.remove(index)
            self._check(outcome, tasks[index])
            yield index, outcome
        if waiting:
            count = len(tasks) - len(waiting)
            raise self._error("run", f"yielded {count} outcomes for {len(tasks)} tasks")

    def report(self) -> ExecutorReport:
        """Return the report of the plugin's executor."""
        with code_of_plugin(f"'report' of {self._what}", self._module, self.whole.report):
            report = self.whole.report()
        if not isinstance(report, ExecutorReport):
            raise self._error("report", f"returned {report!r}, not an ExecutorReport")
        return report

    def close(self) -> None:
        """Free the resources of the plugin's executor."""
        with code_of_plugin(f"'close' of {self._what}", self._module, self.whole.close):
            self.whole.close()

    def _iterator(self, returned: object, count: int) -> Iterator[object]:
        if isinstance(returned, list | tuple):
            if len(returned) != count:
                raise self._error("run", f"returned {len(returned)} outcomes for {count} tasks")
            return iter(enumerate(returned))
        if not isinstance(returned, Iterator):
            raise self._error("run", f"returned {type(returned).__name__}, not an iterator")
        return returned

    def _pair(self, item: object) -> tuple[int, Simulated]:
        if not isinstance(item, tuple) or len(item) != 2 or not isinstance(item[0], int):
            raise self._error("run", f"yielded {type(item).__name__}, not an index and an outcome")
        return item

    def _check(self, outcome: object, task: SimulationTask) -> None:
        """Check the shape of an outcome, possibly without sensitivities."""
        if isinstance(outcome, SimulationFailure):
            return
        if not isinstance(outcome, np.ndarray):
            kind = type(outcome).__name__
            raise self._error(
                "run", f"yielded {kind} as an outcome, not an array or a SimulationFailure"
            )
        if task.other is None:
            plain = self._shapes[task.experiment]
        else:
            plain = task.other.experiment.times.size, len(task.other.variables)
        shape = plain[0], plain[1] * (1 + len(task.sensitivities))
        if outcome.shape not in (plain, shape) or outcome.dtype != np.float64:
            raise self._error(
                "run",
                f"yielded outputs of shape {outcome.shape} and type {outcome.dtype}, not "
                f"{shape} and float64",
            )

    def _error(self, method: str, message: str) -> PluginError:
        return PluginError(
            f"'{method}' of {self._what} ({self._module}) {message}",
            location=defined_at(getattr(self.whole, method)) or defined_at(type(self.whole)),
            hint=PLUGIN_BUG,
        )


def open_checked(make: Callable[[], Executor], function: object, problem: Problem) -> Executor:
    """Return the checked executor that a plugin's `function` makes for a problem."""
    what = f"the executor '{problem.evaluation.executor}'"
    module = module_of(function)
    with code_of_plugin(f"making {what}", module, function):
        inner = make()
    if not isinstance(inner, Executor):
        raise PluginError(
            f"making {what} ({module}) returned {type(inner).__name__}, not an Executor",
            location=defined_at(function),
            hint=PLUGIN_BUG,
        )
    return CheckedExecutor(inner, problem, what)


def module_of(function: object) -> str:
    """Return the module in which a function or class is defined."""
    return str(getattr(function, "__module__", None) or type(function).__module__)
