"""The estimator ``kalman-bucy``: recursive least squares on filtered derivatives.

**Which sine shows the stiffness best** follows from the variance of the estimate over the input's
frequency. With the damping neglected and one unknown, ``theta2 = omega0^2``, the regression's row
is x itself, and the driven motion from rest is (eq. 8, with Z = omega1/omega0)

    x(t) = A1 (Z sin(omega0 t) - sin(Z omega0 t)) / (omega0^2 (Z^2 - 1)).

Without forgetting eq. 11 gives ``Var = (sigma_rho/A1)^2 K`` with (eq. 13; in eq. 12 the printed
factor omega0 of the second sine is one too many)

    K(Z) = omega0^4 (Z^2 - 1)^2 / sum_i (Z sin(omega0 t_i) - sin(Z omega0 t_i))^2.

At Z = 1 both are zero; the limit is ``4 omega0^4 / sum_i (sin(omega0 t_i) - omega0 t_i
cos(omega0 t_i))^2``, the response in resonance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from fmident.arrays import F64
from fmident.data.experiment import Experiment
from fmident.errors import ProblemError
from fmident.estimation.contract import Estimate, Monitor, TimeSeriesEstimate
from fmident.estimation.online import collect
from fmident.evaluation import Evaluator
from fmident.options import NOT_NEGATIVE, POSITIVE, Range
from fmident.problem.model import Problem
from fmident_estimators.kalman_bucy.recursion import KalmanBucy, differentiator, finite_differences
from fmident_estimators.linear_equation import (
    EquationEstimator,
    EquationOptions,
    EquationTracker,
    ParameterMap,
    Setup,
    read_setup,
    sampling_interval,
    usable_series,
)

_CUTOFF = 0.05
"""Default corner frequency, relative to the sampling rate."""

_NOTED_BIAS = 0.5
"""Smallest bias that a note mentions, in standard errors."""

_SETTLE = 8.0
"""Default settling time, in time constants of the filter."""

_NEAR = 1e-8


@dataclass(frozen=True)
class KalmanBucyOptions(EquationOptions):
    """The equation, the filter and the recursion.

    Parameters
    ----------
    cutoff
        Corner frequency of the filtered differentiator, Hz; by default a twentieth of the
        sampling rate. It should be above the model's own frequencies, but no higher than
        needed: the noise that passes it biases the estimate.
    filter_order
        Number of its poles; 0 for order + 1, or for 1 when only derivatives are filtered.
    filtered
        Signals that pass the low-pass filter. ``"all"``: output, input and derivatives, so
        that the equation holds between them. ``"derivatives"``: as in the paper, see
        :func:`~fmident_estimators.kalman_bucy.recursion.finite_differences`; they lag behind output
        and input, an error that the standard errors do not include.
    settle
        Time that only fills the filter, s; by default eight of its time constants. 0 is
        correct for data that begin at rest.
    start
        Rows of the least squares that starts the recursion (eq. 4).
    forgetting
        lambda in ]0, 1]: weight of a sample relative to the next one.
    noise
        Standard deviation of the regression's error, in units of ``y^(order)``, for
        independent errors. By default the output's sigma is used, coloured by the filter,
        or the size of the residuals without sigma.
    """

    cutoff: Annotated[float | None, POSITIVE] = None
    filter_order: Annotated[int, NOT_NEGATIVE] = 0
    filtered: Literal["all", "derivatives"] = "all"
    settle: Annotated[float | None, NOT_NEGATIVE] = None
    start: int = 20
    forgetting: Annotated[float, Range(above=0.0, most=1.0)] = 1.0
    noise: Annotated[float | None, POSITIVE] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.filtered == "all" and 0 < self.filter_order <= self.order:
            raise ValueError(f"filter_order must be larger than the order {self.order}")


@dataclass(frozen=True, eq=False)
class ParameterBias:
    """Effect of the noise of y in the regressor on the parameters, shape (n,) or (k, n).

    `shift` is the predicted bias, NaN when the noise is unknown; `scatter` are the standard
    errors without it (eq. 11).
    """

    shift: F64
    scatter: F64

    def whole_errors(self) -> F64:
        """Return the root of the sum of variance and squared bias, of the shape of `scatter`."""
        whole: F64 = np.hypot(self.scatter, np.where(np.isfinite(self.shift), self.shift, 0.0))
        return whole

    def note(self, names: Sequence[str]) -> str | None:
        """Return a note on one estimate, or ``None`` when the bias is small or unknown."""
        large = np.flatnonzero(np.abs(self.shift) > _NOTED_BIAS * self.scatter).tolist()
        if not large:
            return None
        named = ", ".join(
            f"{names[i]} by about {self.shift[i]:+.2g} "
            f"({abs(self.shift[i]) / self.scatter[i]:.2g} times its scatter)"
            for i in large
        )
        return (
            f"The noise of y in the regressor biases {named}; the standard errors count it in. "
            "Lower `cutoff`, if it stays above the model's own frequencies."
        )


class KalmanBucyTracker(EquationTracker):
    """Estimates parameters sample by sample; after a gap in the times the filter settles again."""

    missing_is_a_gap: ClassVar[bool] = True

    def __init__(
        self,
        recursion: KalmanBucy,
        parameters: ParameterMap,
        columns: tuple[int, int],
        step: float,
        names: Sequence[str],
    ) -> None:
        super().__init__(recursion, parameters, columns, step)
        self._recursion, self._names = recursion, names
        self._bias: ParameterBias | None = None

    @property
    def note(self) -> str | None:
        """Note on the last estimate's bias; ``None`` when it is small or unknown."""
        return None if self._bias is None else self._bias.note(self._names)

    def errors(self, values: F64) -> F64 | None:
        """Return the standard errors with the bias; ``None`` for an estimate without a value."""
        if not np.isfinite(values).all():
            return None
        theta = self._recursion.coefficients
        scatter = self._map.standard_errors(theta, self._recursion.covariance)
        self._bias = ParameterBias(values - self._map(theta - self._recursion.bias()), scatter)
        return self._bias.whole_errors()


class KalmanBucyEstimator(EquationEstimator[KalmanBucyOptions]):
    """Recursive least squares with forgetting, for linear differential equations."""

    name: ClassVar[str] = "kalman-bucy"
    summary: ClassVar[str] = (
        "recursive least squares with forgetting on filtered derivatives, online"
    )
    options_type: ClassVar[type[KalmanBucyOptions]] = KalmanBucyOptions

    def __init__(self) -> None:
        self._notes: list[str] = []

    def estimate(
        self,
        problem: Problem,
        evaluator: Evaluator,
        options: KalmanBucyOptions,
        monitor: Monitor,
    ) -> Estimate:
        """Process all experiments, and report where noise biases the estimate."""
        self._notes.clear()
        result = super().estimate(problem, evaluator, options, monitor)
        if options.filtered == "derivatives":
            self._notes.append(
                "The derivatives are filtered and lag behind input and output, which are not:"
                " no standard error counts the error that this makes in the equation."
            )
        for note in self._notes:
            monitor.note(note)
        return result

    def _keep(self, experiment: Experiment, note: str | None) -> None:
        if note is not None:
            self._notes.append(f"'{experiment.name}': {note}")

    def start(
        self,
        problem: Problem,
        experiment: Experiment,
        evaluator: Evaluator,
        options: KalmanBucyOptions,
    ) -> KalmanBucyTracker:
        """Begin an estimation.

        Raises `FmidentError` if the options do not fit the problem or the samples are not
        equidistant.
        """
        setup = read_setup(problem, options, self.name)
        step = sampling_interval(experiment)
        recursion = make_recursion(problem, experiment, setup, options)
        names = [q.name for q in problem.free]
        columns = setup.columns(experiment)
        return KalmanBucyTracker(recursion, setup.parameters, columns, step, names)

    def track(
        self,
        problem: Problem,
        experiment: Experiment,
        evaluator: Evaluator,
        options: KalmanBucyOptions,
    ) -> TimeSeriesEstimate:
        """Process a whole experiment, with the fast batch form when no sample is missing."""
        setup = read_setup(problem, options, self.name)
        y, u = setup.signals(experiment)
        if not np.isfinite(y).all():
            tracker = self.start(problem, experiment, evaluator, options)
            series = collect(problem, experiment, tracker)
            self._keep(experiment, tracker.note)
            return series
        recursion = make_recursion(problem, experiment, setup, options)
        thetas, covariances, biases, flags = recursion.batch(y, u)
        values = setup.parameters(thetas)
        bias = ParameterBias(
            values - setup.parameters(thetas - biases),
            setup.parameters.standard_errors(thetas, covariances),
        )
        usable = np.asarray(np.isfinite(values).all(axis=1))
        series = usable_series(problem, experiment, values, bias.whole_errors(), flags, usable)
        good = np.flatnonzero(series.good)
        if good.size:
            last = ParameterBias(bias.shift[good[-1]], bias.scatter[good[-1]])
            self._keep(experiment, last.note([q.name for q in problem.free]))
        return series


def make_recursion(
    problem: Problem, experiment: Experiment, setup: Setup, options: KalmanBucyOptions
) -> KalmanBucy:
    """Return the recursion for an experiment's sampling interval and noise.

    Raises `ProblemError` if the cutoff is too high for the sampling, or `start` too small.
    """
    location = problem.where()
    step = sampling_interval(experiment)
    cutoff = _CUTOFF / step if options.cutoff is None else options.cutoff
    if cutoff >= 0.5 / step:
        raise ProblemError(
            f"[estimator]: the cutoff of {cutoff:g} Hz is not below half of the sampling rate, "
            f"{0.5 / step:g} Hz",
            location=location,
            hint=f"give a cutoff such as {_CUTOFF / step:g}",
        )
    settle = _SETTLE / (2.0 * np.pi * cutoff) if options.settle is None else options.settle
    order = setup.equation.order
    try:
        return KalmanBucy(
            setup.equation,
            differentiator(options.filter_order or order + 1, cutoff, step)
            if options.filtered == "all"
            else finite_differences(order, options.filter_order or 1, cutoff, step),
            forgetting=options.forgetting,
            start=options.start,
            settle=round(settle / step),
            noise=options.noise,
            sigma=setup.noise(experiment) if options.noise is None else None,
        )
    except ValueError as error:
        raise ProblemError(f"[estimator]: 'kalman-bucy': {error}", location=location) from error


def unit_response(ratio: float, omega0: float, times: F64) -> F64:
    """Return x/A1 of the undamped oscillator from rest, shape (n,), s2.

    `ratio` is Z, the input's frequency relative to the natural angular frequency `omega0`,
    rad/s; `times` are in s.
    """
    phase = omega0 * times
    motion: F64
    if abs(ratio - 1.0) < _NEAR:
        # The limit; the formula below loses its digits there.
        motion = (np.sin(phase) - phase * np.cos(phase)) / (2.0 * omega0**2)
    else:
        motion = ratio * np.sin(phase) - np.sin(ratio * phase)
        motion /= omega0**2 * (ratio**2 - 1.0)
    return motion


def variance_factor(ratio: float, omega0: float, times: F64, forgetting: float = 1.0) -> float:
    """Return K of eqs. 12 and 13: the variance of theta2 times ``(A1/sigma_rho)^2``.

    `times` are the instants of the rows, s, and `forgetting` is lambda in ]0, 1]; see
    :func:`unit_response` for the others.
    """
    square = unit_response(ratio, omega0, times) ** 2
    weights = forgetting ** np.arange(times.size - 1, -1, -1, dtype=np.float64)
    return float(np.sum(weights**2 * square) / np.sum(weights * square) ** 2)


def best_ratio(
    omega0: float, times: F64, lowest: float = 0.05, highest: float = 2.0, points: int = 2000
) -> float:
    """Return the Z on a grid between two limits that has the smallest variance."""
    ratios = np.linspace(lowest, highest, points)
    factors = [variance_factor(float(z), omega0, times) for z in ratios]
    return float(ratios[int(np.argmin(factors))])
