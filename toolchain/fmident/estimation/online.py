"""Online estimation: estimates after each sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.contract import (
    Estimate,
    Estimator,
    Flag,
    Monitor,
    OnlineEstimate,
    TimeSeriesEstimate,
)

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment
    from fmident.evaluation import Evaluator
    from fmident.problem.model import Problem


class Tracker(ABC):
    """A running online estimation; created by :meth:`OnlineEstimator.start`."""

    flag: Flag = Flag.FILLING
    """What the last sample led to."""

    @property
    def note(self) -> str | None:
        """Note for readers of the last estimate; ``None`` without any."""
        return None

    @abstractmethod
    def update(self, time: float, inputs: F64, outputs: F64) -> OnlineEstimate | None:
        """Process one sample; ``None`` while there is no estimate, for the reason in `flag`.

        `time`, s, is larger than that of the previous sample. `inputs` and `outputs` are in the
        order of the experiment's ``inputs`` and ``measurements``, in their units; NaN marks a
        missing value.
        """


Options = TypeVar("Options")
Series = TypeVar("Series", "OnlineEstimate", "TimeSeriesEstimate")


class OnlineEstimator(Estimator[Options], Generic[Options]):
    """An estimator that processes the data once, sample by sample.

    A plugin implements :meth:`start`; it may implement :meth:`track` if whole records can
    be processed faster.
    """

    @abstractmethod
    def start(
        self, problem: Problem, experiment: Experiment, evaluator: Evaluator, options: Options
    ) -> Tracker:
        """Begin an estimation.

        The experiment defines the columns of a sample, their units and noise; its times give the
        sampling interval, its samples are not used. `options` are an instance of ``options_type``;
        problem and evaluator are as for :meth:`Estimator.estimate`.
        """

    def track(
        self, problem: Problem, experiment: Experiment, evaluator: Evaluator, options: Options
    ) -> TimeSeriesEstimate:
        """Estimate over a whole experiment."""
        tracker = self.start(problem, experiment, evaluator, options)
        return collect(problem, experiment, tracker)

    def final(self, series: TimeSeriesEstimate, options: Options) -> OnlineEstimate | None:
        """Return the estimate of one experiment: the last one, unless overridden."""
        return series.last

    def estimate(
        self, problem: Problem, evaluator: Evaluator, options: Options, monitor: Monitor
    ) -> Estimate:
        """Process all experiments and combine their estimates.

        Several experiments are weighted by their standard errors, or equally if these are
        unknown; a parameter that belongs to some of them follows from those alone.
        """
        monitor.iteration(problem.initial, evaluator.cost(problem.initial))
        tracked = [self.track(problem, e, evaluator, options) for e in problem.experiments]
        estimates = [
            _of_its_own(f, s.experiment, problem)
            for s in tracked
            if (f := self.final(s, options)) is not None
        ]
        series = tuple(_of_its_own(s, s.experiment, problem) for s in tracked)
        lacking = [
            q.name
            for j, q in enumerate(problem.free)
            if not any(np.isfinite(f.values[j]) for f in estimates)
        ]
        if lacking:
            of = f" of {', '.join(lacking)}" if estimates else ""
            return Estimate(
                problem.initial,
                "failed",
                f"there is no estimate{of}: {_why_not(problem, series)}",
                series=series,
            )
        values = np.clip(joined(estimates), problem.lower, problem.upper)
        _note_own_errors(problem, estimates, monitor)
        monitor.iteration(values, evaluator.cost(values))
        good = sum(int(np.count_nonzero(s.good)) for s in series)
        total = sum(s.times.size for s in series)
        for s in series:
            singular = int(np.count_nonzero(s.flags == Flag.SINGULAR))
            if singular:
                monitor.note(
                    f"At {singular} of {s.times.size} instants of '{s.experiment}' the samples do "
                    "not determine the parameters (singular windows)."
                )
        return Estimate(
            values, "converged", f"estimates at {good} of {total} instants", series=series
        )


def collect(problem: Problem, experiment: Experiment, tracker: Tracker) -> TimeSeriesEstimate:
    """Pass an experiment to a tracker and keep its estimates."""
    count, n = experiment.times.size, len(problem.free)
    values, errors = np.full((count, n), np.nan), np.full((count, n), np.nan)
    flags = np.empty(count, dtype=np.uint8)
    for k, (time, inputs, outputs) in enumerate(samples(experiment)):
        estimate = tracker.update(time, inputs, outputs)
        flags[k] = tracker.flag
        if estimate is not None:
            values[k], errors[k] = estimate.values, estimate.standard_errors
    return time_series(problem, experiment, values, errors, flags)


def time_series(
    problem: Problem,
    experiment: Experiment,
    values: F64,
    standard_errors: F64,
    flags: npt.NDArray[np.integer],
) -> TimeSeriesEstimate:
    """Return the series of an experiment with the names of the problem."""
    return TimeSeriesEstimate(
        experiment.name,
        tuple(q.name for q in problem.free),
        tuple(q.unit for q in problem.free),
        experiment.times,
        values,
        standard_errors,
        flags.astype(np.uint8),
    )


def samples(experiment: Experiment) -> Iterable[tuple[float, F64, F64]]:
    """Yield time, inputs and outputs of each sample for :meth:`Tracker.update`."""
    count = experiment.times.size
    inputs = np.column_stack([np.empty((count, 0)), *experiment.inputs.values()])
    outputs = np.column_stack([np.empty((count, 0)), *(m.values for m in experiment.measurements)])
    for k in range(count):
        yield float(experiment.times[k]), inputs[k], outputs[k]


def joined(estimates: list[OnlineEstimate]) -> F64:
    """Return the mean of estimates weighted by inverse variance, without NaN, shape (n,)."""
    values = np.array([e.values for e in estimates])
    errors = np.array([e.standard_errors for e in estimates])
    there = np.isfinite(values)
    usable = np.isfinite(errors) & (errors > 0.0)
    by_errors = (usable | ~there).all(axis=0)
    weights = np.where(by_errors, 1.0 / np.where(usable, errors, 1.0) ** 2, 1.0) * there
    mean: F64 = np.sum(weights * np.where(there, values, 0.0), axis=0) / np.sum(weights, axis=0)
    return mean


def _of_its_own(estimates: Series, experiment: str, problem: Problem) -> Series:
    """Return estimates without the parameters of other experiments, for which there are no data."""
    acts = np.array([q.acts_on(experiment) for q in problem.free])
    return replace(
        estimates,
        values=np.where(acts, estimates.values, np.nan),
        standard_errors=np.where(acts, estimates.standard_errors, np.nan),
    )


def _note_own_errors(problem: Problem, estimates: list[OnlineEstimate], monitor: Monitor) -> None:
    """Note that the intervals of the result are not those of the online estimator."""
    errors = np.array([e.standard_errors for e in estimates])
    absent = np.isnan([e.values for e in estimates])
    if not (np.isfinite(errors) | absent).all():
        return
    # What an experiment does not say about a parameter has no weight.
    errors = np.where(absent, np.inf, np.maximum(errors, np.finfo(np.float64).tiny))
    own = 1.0 / np.sqrt(np.sum(1.0 / errors**2, axis=0))
    named = ", ".join(f"{q.name} {e:.2g}" for q, e in zip(problem.free, own, strict=True))
    monitor.note(
        "The intervals are those that least squares would have at these values; the standard "
        f"errors that the online estimator itself gives are {named}."
    )


def _why_not(problem: Problem, series: tuple[TimeSeriesEstimate, ...]) -> str:
    flags = np.concatenate([s.flags for s in series])
    worst = np.bincount(flags, minlength=len(Flag))
    if worst[Flag.SINGULAR]:
        return "the data do not determine the parameters anywhere (too little excitation)"
    if worst[Flag.MISSING]:
        out = any(m.exclusions for e in problem.experiments for m in e.measurements)
        return "no stretch without missing samples is long enough" + (
            "; excluded samples are missing, and replace = true of the Hampel filter keeps them"
            if out
            else ""
        )
    return "the experiments are shorter than the window"
