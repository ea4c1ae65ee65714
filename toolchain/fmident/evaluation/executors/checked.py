"""An executor of a plugin, with what its code raises and returns checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.errors import PluginError
from fmident.evaluation.executors.base import Done, Executor, ExecutorReport, HandingOn, run_other
from fmident.evaluation.tasks import Simulated, SimulationFailure, SimulationTask
from fmident.plugin_code import PLUGIN_BUG, code_of_plugin, defined_at

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment
    from fmident.problem.model import Problem


class CheckedExecutor(HandingOn):
    """Hands batches on to the executor of a plugin; what goes wrong is reported as the plugin's.

    Outcomes that the plugin has not reported by `done` are reported when it returns.

    Parameters
    ----------
    inner
        What the plugin made.
    problem
        Its experiments say which outputs are expected.
    what
        What it is in messages, such as ``"the executor 'site'"``.

    Raises
    ------
    fmident.errors.PluginError
        What the plugin made is not an executor.
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

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks.

        Raises
        ------
        fmident.errors.PluginError
            The plugin's code failed, or what it returned are not the outcomes of the tasks.
        """
        caller = _Caller(done, len(tasks))
        with code_of_plugin(
            f"'run' of {self._what}", self._module, self.whole.run, caller.has_raised
        ):
            found = self.whole.run(tasks, caller)
        shapes = [(self._shapes[t.experiment], len(t.sensitivities)) for t in tasks]
        outcomes = self._outcomes("run", found, shapes)
        caller.report_the_rest(outcomes)
        return outcomes

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
        sensitivities: Sequence[str] = (),
    ) -> list[Simulated]:
        """Simulate an experiment that need not be one of the problem's."""
        with code_of_plugin(f"'run_other' of {self._what}", self._module, self.whole.run_other):
            found = run_other(self.whole, experiment, variables, values, sensitivities)
        shape = (experiment.times.size, len(variables)), len(sensitivities)
        return self._outcomes("run_other", found, [shape] * len(values))

    def report(self) -> ExecutorReport:
        """Return what the plugin's executor has done so far."""
        with code_of_plugin(f"'report' of {self._what}", self._module, self.whole.report):
            found = self.whole.report()
        if not isinstance(found, ExecutorReport):
            raise self._error("report", f"returned {found!r}, not an ExecutorReport")
        return found

    def close(self) -> None:
        """Free what the plugin's executor holds."""
        with code_of_plugin(f"'close' of {self._what}", self._module, self.whole.close):
            self.whole.close()

    def _outcomes(
        self, method: str, found: object, shapes: Sequence[tuple[tuple[int, int], int]]
    ) -> list[Simulated]:
        """Return outcomes of these shapes without sensitivities, and as many sensitivities.

        Those of an executor that ignores sensitivities are the outputs alone.
        """
        if not isinstance(found, list | tuple):
            raise self._error(method, f"returned {type(found).__name__}, not a list of outcomes")
        if len(found) != len(shapes):
            raise self._error(method, f"returned {len(found)} outcomes for {len(shapes)} tasks")
        for outcome, (plain, sensitivities) in zip(found, shapes, strict=True):
            shape = plain[0], plain[1] * (1 + sensitivities)
            if isinstance(outcome, SimulationFailure):
                continue
            if not isinstance(outcome, np.ndarray):
                raise self._error(
                    method,
                    f"returned {type(outcome).__name__} as an outcome, not an array or a "
                    "SimulationFailure",
                )
            if outcome.shape not in (plain, shape) or outcome.dtype != np.float64:
                raise self._error(
                    method,
                    f"returned outputs of shape {outcome.shape} and type {outcome.dtype}, not "
                    f"{shape} and float64",
                )
        return list(found)

    def _error(self, method: str, message: str) -> PluginError:
        return PluginError(
            f"'{method}' of {self._what} ({self._module}) {message}",
            location=defined_at(getattr(self.whole, method)) or defined_at(type(self.whole)),
            hint=PLUGIN_BUG,
        )


class _Caller:
    """Called with outcomes; knows which were reported, and what the host itself raised."""

    def __init__(self, done: Done | None, count: int) -> None:
        self._done = done
        self._waiting = set(range(count))
        self._raised: list[BaseException] = []

    def __call__(self, index: int, outcome: Simulated) -> None:
        if index not in self._waiting:
            return
        self._waiting.remove(index)
        if self._done is None:
            return
        try:
            self._done(index, outcome)
        except BaseException as error:
            self._raised.append(error)
            raise

    def has_raised(self, error: BaseException) -> bool:
        """Return whether an exception is the host's, which passed through the plugin."""
        return any(error is own for own in self._raised)

    def report_the_rest(self, outcomes: Sequence[Simulated]) -> None:
        """Report what the plugin has not reported."""
        for index in sorted(self._waiting):
            self(index, outcomes[index])


def open_checked(make: Callable[[], Executor], function: object, problem: Problem) -> Executor:
    """Return the executor that a plugin makes for a problem, checked.

    Parameters
    ----------
    make
        Calls `function`.
    function
        The `make` of the plugin's description.
    problem
        For which it is made; it names the executor.

    Raises
    ------
    fmident.errors.PluginError
        The function cannot be called, fails, or returns something else.
    """
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
