"""The estimator ``algebraic``: exact formulas over a sliding window."""

from __future__ import annotations

import functools
from math import inf, isfinite
from typing import Any, ClassVar

import numpy as np

from fmident.arrays import F64
from fmident.data.experiment import Experiment
from fmident.errors import Code, Location, ProblemError, did_you_mean
from fmident.estimation.contract import Requirement
from fmident.estimation.online.estimator import OnlineEstimator, Tracker, time_series
from fmident.estimation.online.series import Flag, OnlineEstimate, TimeSeriesEstimate
from fmident.evaluation.contract import Evaluator
from fmident.problem.model import Problem
from fmident_estimators.algebraic.options import AlgebraicOptions
from fmident_estimators.algebraic.weights import degree_of
from fmident_estimators.algebraic.window import AlgebraicStream, AlgebraicWindow, WindowDesign
from fmident_estimators.compiled import when_used
from fmident_estimators.linear_equation import Setup, read_setup
from fmident_estimators.linear_equation.sampling import is_gap, noise_of, sampling_interval

kernels = when_used("fmident_estimators.algebraic.kernels")


@functools.cache
def _flags() -> dict[int, Flag]:
    return {
        kernels.OK: Flag.GOOD,
        kernels.FILLING: Flag.FILLING,
        kernels.SINGULAR: Flag.SINGULAR,
        kernels.MISSING: Flag.MISSING,
    }


class AlgebraicTracker(Tracker):
    """One sample in, parameters out.

    Parameters
    ----------
    window
        The weights.
    setup
        From coefficients to parameters.
    columns
        Places of u (-1 without) and y in a sample.
    limits
        Largest relative standard errors, shape (n,); infinite where any will do.
    """

    def __init__(
        self, window: AlgebraicWindow, setup: Setup, columns: tuple[int, int], limits: F64
    ) -> None:
        self._stream = AlgebraicStream(window)
        self._step = window.design.step
        self._map = setup.parameters
        self._u, self._y = columns
        self._before: float | None = None
        # Python's own numbers: for two or three parameters they are faster than arrays.
        self._limits = limits.tolist()

    def update(self, time: float, inputs: F64, outputs: F64) -> OnlineEstimate | None:
        """Take one sample; after a gap in the times the window fills anew."""
        if self._before is not None and is_gap(self._before, time, self._step):
            self._stream.restart()
        self._before = time
        u = inputs[self._u] if self._u >= 0 else 0.0
        self.flag = _flags()[self._stream.update(outputs[self._y], u)]
        if self.flag is not Flag.GOOD:
            return None
        theta = self._stream.coefficients
        errors = self._map.standard_errors(theta, self._stream.covariance)
        values = self._map(theta)
        each = zip(values.tolist(), errors.tolist(), self._limits, strict=True)
        if not all(isfinite(v) and (top == inf or e <= top * abs(v)) for v, e, top in each):
            self.flag = Flag.SINGULAR
            return None
        return OnlineEstimate(time, values, errors)


class Algebraic(OnlineEstimator[AlgebraicOptions]):
    """Algebraic estimation of a linear differential equation, free of initial conditions."""

    name: ClassVar[str] = "algebraic"
    summary: ClassVar[str] = (
        "coefficients of a linear differential equation from iterated integrals, online"
    )
    any_cost: ClassVar[bool] = False
    needs: ClassVar[str] = (
        "a model that is a linear differential equation from an input to one output"
    )
    requires: ClassVar[frozenset[Requirement]] = frozenset({"linear-equation"})
    options_type: ClassVar[type[AlgebraicOptions]] = AlgebraicOptions

    def start(
        self,
        problem: Problem,
        experiment: Experiment,
        evaluator: Evaluator,
        options: AlgebraicOptions,
    ) -> AlgebraicTracker:
        """Begin an estimation.

        Raises
        ------
        fmident.errors.FmidentError
            The options do not fit the problem; the samples are not equidistant.
        """
        setup = read_setup(problem, options, self.name)
        window = make_window(problem, experiment, setup, options)
        limits = precision_limits(problem, experiment, setup, options)
        return AlgebraicTracker(window, setup, setup.columns(experiment), limits)

    def track(
        self,
        problem: Problem,
        experiment: Experiment,
        evaluator: Evaluator,
        options: AlgebraicOptions,
    ) -> TimeSeriesEstimate:
        """Estimate from all windows of an experiment at once."""
        setup = read_setup(problem, options, self.name)
        window = make_window(problem, experiment, setup, options)
        place, _ = setup.columns(experiment)
        y = setup.measurement(experiment).values
        u = list(experiment.inputs.values())[place] if place >= 0 else np.zeros_like(y)
        thetas, covariances, found = window.batch(y, u)
        values = setup.parameters(thetas)
        errors = setup.parameters.standard_errors(thetas, covariances)
        flags = np.array([_flags()[int(f)] for f in found], dtype=np.uint8)
        limits = precision_limits(problem, experiment, setup, options)
        flags[(flags == Flag.GOOD) & ~_is_usable(values, errors, limits)] = Flag.SINGULAR
        values[flags != Flag.GOOD] = np.nan
        errors[flags != Flag.GOOD] = np.nan
        return time_series(problem, experiment, values, errors, flags)

    def final(self, series: TimeSeriesEstimate, options: AlgebraicOptions) -> OnlineEstimate | None:
        """Return the last estimate, or the mean of all, weighted by their variance."""
        last = series.last
        if options.final == "last" or last is None:
            return last
        values, errors = series.values[series.good], series.standard_errors[series.good]
        usable = np.isfinite(errors) & (errors > 0.0)
        if not usable.all(axis=1).any():
            return OnlineEstimate(last.time, np.median(values, axis=0), last.standard_errors)
        weights = np.where(usable, 1.0 / np.where(usable, errors, 1.0) ** 2, 0.0)
        mean = np.sum(weights * values, axis=0) / np.sum(weights, axis=0)
        # Windows overlap: only those that do not share samples count as independent.
        share = np.sum(weights, axis=0) / np.max(weights, axis=0)
        independent = np.maximum(1.0, np.minimum(share, share / self._overlap(series)))
        spread = 1.0 / np.sqrt(np.max(weights, axis=0) * independent)
        return OnlineEstimate(last.time, mean, spread)

    @staticmethod
    def _overlap(series: TimeSeriesEstimate) -> float:
        """Return the samples of a window: those before the first that was full."""
        first = int(np.argmax(series.flags != Flag.FILLING))
        return float(max(1, first))


def make_window(
    problem: Problem, experiment: Experiment, setup: Setup, options: AlgebraicOptions
) -> AlgebraicWindow:
    """Return the weights for an experiment.

    Raises
    ------
    fmident.errors.ProblemError
        The window does not fit the samples, or mu and rows do not fit the equation.
    """
    step = sampling_interval(experiment)
    degree = degree_of(options.quadrature)
    span = float(experiment.times[-1] - experiment.times[0])
    wanted = 0.1 * span if options.window is None else options.window
    intervals = max(1, round(wanted / (degree * step))) * degree
    location = Location(str(problem.source)) if problem.source is not None else None
    if options.window is not None and wanted < 0.5 * degree * step:
        raise ProblemError(
            f"[estimator]: the window of {wanted:g} s is shorter than {degree} sampling "
            f"intervals of {step:g} s",
            location=location,
            hint="give a longer window",
        )
    try:
        return AlgebraicWindow(
            setup.equation,
            WindowDesign(intervals, step, options.mu, options.rows, options.quadrature),
            noise_of(setup.measurement(experiment)),
            options.singular,
        )
    except ValueError as error:
        raise ProblemError(f"[estimator]: 'algebraic': {error}", location=location) from error


def precision_limits(
    problem: Problem, experiment: Experiment, setup: Setup, options: AlgebraicOptions
) -> F64:
    """Return the largest relative standard errors of the free parameters, shape (n,).

    Raises
    ------
    fmident.errors.ProblemError
        A name is not a free parameter, or the noise is unknown.
    """
    location = Location(str(problem.source)) if problem.source is not None else None
    names = [q.name for q in problem.free]
    limits = np.full(len(names), np.inf)
    for name, limit in options.precision.items():
        if name not in names:
            raise ProblemError(
                f"[estimator]: precision gives '{name}', which is not a free parameter",
                location=location,
                hint=did_you_mean(name, names, kind="parameter"),
                code=Code.UNKNOWN_NAME,
            )
        limits[names.index(name)] = float(limit)
    measurement = setup.measurement(experiment)
    if options.precision and measurement.sigma is None:
        raise ProblemError(
            f"[estimator]: precision needs the noise of '{measurement.name}'",
            location=location,
            hint="give its sigma in [experiments.outputs]",
        )
    return limits


def _is_usable(values: F64, errors: F64, limits: F64) -> Any:
    """Return whether estimates are finite and precise enough, shape () or (k,)."""
    with np.errstate(invalid="ignore"):
        precise = np.isinf(limits) | (errors <= limits * np.abs(values))
    return (np.isfinite(values) & precise).all(axis=-1)
