"""The estimator ``algebraic``: exact formulas over a sliding window."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.data.experiment import Experiment
from fmident.errors import ProblemError, unknown_name
from fmident.estimation.contract import Flag, OnlineEstimate, TimeSeriesEstimate
from fmident.evaluation import Evaluator
from fmident.options import INSIDE_UNIT, POSITIVE
from fmident.problem.model import Problem
from fmident_estimators.algebraic import kernels
from fmident_estimators.algebraic.kernels import Quadrature, degree_of, row_weights
from fmident_estimators.compiled import FILLING
from fmident_estimators.linear_equation import (
    EquationEstimator,
    EquationOptions,
    EquationTracker,
    LinearEquation,
    ParameterMap,
    Setup,
    read_setup,
    sampling_interval,
    usable_series,
)

_TOLERANCE = 1e-10


@dataclass(frozen=True)
class AlgebraicOptions(EquationOptions):
    """The equation, the window, and how the estimates of all windows become one.

    Parameters
    ----------
    window
        Length of the sliding window, s; by default a tenth of the experiment.
    mu
        Power of 1/s in the first row; 0 for order + 1. Larger values smooth more.
    rows
        Rows mu, mu + 1, ...; 0 for as many as there are unknowns. With more, each window is
        solved by least squares.
    quadrature
        See :func:`~fmident_estimators.algebraic.kernels.row_weights`.
    singular
        A window counts as singular when the scaled matrix's triangular factor has a diagonal
        element smaller than this times the largest.
    precision
        Free parameter to the largest predicted standard error, relative to the estimate, with
        which a window still counts; others are flagged as singular, and the estimate before
        holds. Needs the output's sigma. By default only exactly singular windows are left out.
    final
        The estimate that is returned: ``"weighted"``, the mean of all windows, each weighted by
        its inverse predicted variance; or ``"last"``, for parameters that change.
    """

    window: Annotated[float | None, POSITIVE] = None
    mu: int = 0
    rows: int = 0
    quadrature: Quadrature = "product-4"
    singular: Annotated[float, INSIDE_UNIT] = 1e-10
    precision: dict[str, Annotated[float, POSITIVE]] = field(default_factory=dict)
    final: Literal["weighted", "last"] = "weighted"


class AlgebraicTracker(EquationTracker):
    """Estimates parameters sample by sample.

    `limits` are the largest relative standard errors, shape (n,), infinite for no limit.
    """

    def __init__(
        self,
        window: AlgebraicWindow,
        parameters: ParameterMap,
        columns: tuple[int, int],
        limits: F64,
    ) -> None:
        super().__init__(AlgebraicStream(window), parameters, columns, window.design.step)
        self._limits = limits

    def errors(self, values: F64) -> F64 | None:
        """Return the standard errors; ``None`` for an estimate that is not precise enough."""
        errors = self._map.standard_errors(self._stream.coefficients, self._stream.covariance)
        return errors if _is_usable(values, errors, self._limits) else None


class Algebraic(EquationEstimator[AlgebraicOptions]):
    """Algebraic estimation of a linear differential equation without initial conditions."""

    name: ClassVar[str] = "algebraic"
    summary: ClassVar[str] = (
        "coefficients of a linear differential equation from iterated integrals, online"
    )
    options_type: ClassVar[type[AlgebraicOptions]] = AlgebraicOptions

    def start(
        self,
        problem: Problem,
        experiment: Experiment,
        evaluator: Evaluator,
        options: AlgebraicOptions,
    ) -> AlgebraicTracker:
        """Begin an estimation.

        Raises `FmidentError` if the options do not fit the problem or the samples are not
        equidistant.
        """
        setup = read_setup(problem, options, self.name)
        window = make_window(problem, experiment, setup, options)
        limits = precision_limits(problem, experiment, setup, options)
        return AlgebraicTracker(window, setup.parameters, setup.columns(experiment), limits)

    def track(
        self,
        problem: Problem,
        experiment: Experiment,
        evaluator: Evaluator,
        options: AlgebraicOptions,
    ) -> TimeSeriesEstimate:
        """Estimate from all windows of an experiment in one pass."""
        setup = read_setup(problem, options, self.name)
        window = make_window(problem, experiment, setup, options)
        limits = precision_limits(problem, experiment, setup, options)
        thetas, covariances, flags = window.batch(*setup.signals(experiment))
        values = setup.parameters(thetas)
        errors = setup.parameters.standard_errors(thetas, covariances)
        usable = _is_usable(values, errors, limits)
        return usable_series(problem, experiment, values, errors, flags, usable)

    def final(self, series: TimeSeriesEstimate, options: AlgebraicOptions) -> OnlineEstimate | None:
        """Return the last estimate, or the mean of all weighted by inverse variance."""
        last = series.last
        if options.final == "last" or last is None:
            return last
        values, errors = series.values[series.good], series.standard_errors[series.good]
        usable = np.isfinite(errors) & (errors > 0.0)
        if not usable.all(axis=1).any():
            return OnlineEstimate(last.time, np.median(values, axis=0), last.standard_errors)
        weights = np.where(usable, 1.0 / np.where(usable, errors, 1.0) ** 2, 0.0)
        mean = np.sum(weights * values, axis=0) / np.sum(weights, axis=0)
        # Windows overlap: only those that do not share samples count as independent. A window has
        # as many samples as there are before the first full one.
        overlap = max(1, int(np.argmax(series.flags != Flag.FILLING)))
        share = np.sum(weights, axis=0) / np.max(weights, axis=0)
        independent = np.maximum(1.0, np.minimum(share, share / overlap))
        spread = 1.0 / np.sqrt(np.max(weights, axis=0) * independent)
        return OnlineEstimate(last.time, mean, spread)


def make_window(
    problem: Problem, experiment: Experiment, setup: Setup, options: AlgebraicOptions
) -> AlgebraicWindow:
    """Return the weights for an experiment.

    Raises `ProblemError` if the window does not fit the samples, or `mu` and `rows` the
    equation.
    """
    step = sampling_interval(experiment)
    degree = degree_of(options.quadrature)
    span = float(experiment.times[-1] - experiment.times[0])
    wanted = 0.1 * span if options.window is None else options.window
    intervals = max(1, round(wanted / (degree * step))) * degree
    location = problem.where()
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
            setup.noise(experiment),
            options.singular,
        )
    except ValueError as error:
        raise ProblemError(f"[estimator]: 'algebraic': {error}", location=location) from error


def precision_limits(
    problem: Problem, experiment: Experiment, setup: Setup, options: AlgebraicOptions
) -> F64:
    """Return the largest relative standard errors of the free parameters, shape (n,).

    Raises `ProblemError` for a name that is not a free parameter, or unknown noise.
    """
    location = problem.where()
    names = [q.name for q in problem.free]
    limits = np.full(len(names), np.inf)
    for name, limit in options.precision.items():
        if name not in names:
            raise ProblemError(
                f"[estimator]: precision gives '{name}', which is not a free parameter",
                location=location,
                **unknown_name(name, names, "parameter"),
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


@dataclass(frozen=True)
class WindowDesign:
    """A window and the rows taken from it.

    Parameters
    ----------
    intervals
        Sampling intervals, a multiple of the quadrature's degree.
    step
        Sampling interval, s.
    mu
        Power of 1/s in the first row; ``order + 1`` at least, 0 for just that.
    rows
        Number of rows, mu, mu + 1, ...; 0 for as many as there are unknowns.
    quadrature
        See :func:`~fmident_estimators.algebraic.kernels.row_weights`.
    """

    intervals: int
    step: float
    mu: int = 0
    rows: int = 0
    quadrature: Quadrature = "product-4"


class AlgebraicWindow:
    """The weights of one equation and window, and estimates from whole records.

    `sigma` is the standard deviation of the noise on y, ``None`` if unknown; `tolerance`
    that of :func:`~fmident_estimators.algebraic.kernels.solve_window`.
    """

    def __init__(
        self,
        equation: LinearEquation,
        design: WindowDesign,
        sigma: float | None = None,
        tolerance: float = _TOLERANCE,
    ) -> None:
        n, count = equation.order, len(equation.unknown)
        mu, rows = design.mu or n + 1, design.rows or count
        if mu <= n:
            raise ValueError(f"mu is {mu}, but must be larger than the order {n}")
        if rows < count:
            raise ValueError(f"there are {rows} rows for {count} unknown coefficients")
        self.equation = equation
        self.design = design
        self.samples = design.intervals + 1
        terms = [
            row_weights(n, mu + i, design.intervals, design.step, design.quadrature)
            for i in range(rows)
        ]
        # Rows of equal answer to noise on y^(n), the term whose coefficient is 1.
        terms = [t / np.linalg.norm(t[n]) for t in terms]
        self.weights_y = np.array(
            [[equation.y.known @ t, *t[list(equation.y.unknown)]] for t in terms]
        )
        self.weights_u = np.array(
            [[equation.u.known @ t, *t[list(equation.u.unknown)]] for t in terms]
        )
        self.gram = np.ascontiguousarray(np.einsum("ipl,kql->ipkq", self.weights_y, self.weights_y))
        self.variance = np.nan if sigma is None else float(sigma) ** 2
        self.tolerance = tolerance

    def arrays(self) -> Any:
        """Return the arrays of the compiled functions, with scratch memory of their own."""
        rows, unknowns = self.weights_y.shape[0], len(self.equation.unknown)
        return kernels.Window(
            weights_y=self.weights_y,
            weights_u=self.weights_u,
            places_a=self.equation.y.places,
            places_b=self.equation.u.places,
            gram=self.gram,
            variance=self.variance,
            tolerance=self.tolerance,
            work=np.zeros((rows + 1, unknowns + 1 + rows)),
        )

    def batch(self, y: F64, u: F64) -> tuple[F64, F64, npt.NDArray[np.int64]]:
        """Estimate from every window of a record; NaN in `y` and `u` marks missing samples.

        Returns coefficients, shape (n, r), and covariances, shape (n, r, r), at the last sample
        of each window, NaN without estimate or if the noise is unknown; and the flags ``OK``,
        ``FILLING``, ``SINGULAR`` or ``MISSING``, shape (n,).
        """
        r = len(self.equation.unknown)
        thetas = np.full((y.size, r), np.nan)
        covariances = np.full((y.size, r, r), np.nan)
        flags = np.full(y.size, FILLING, dtype=np.int64)
        kernels.solve_all(
            np.ascontiguousarray(y, dtype=np.float64), np.ascontiguousarray(u, dtype=np.float64),
            self.arrays(), thetas, covariances, flags,
        )  # fmt: skip
        return thetas, covariances, flags


class AlgebraicStream:
    """Estimates sample by sample, at constant cost and without allocating arrays.

    `coefficients`, shape (r,), and `covariance`, shape (r, r), are those of the last good
    window; :meth:`update` overwrites them. Streams may share a window.
    """

    def __init__(self, window: AlgebraicWindow) -> None:
        self.window = window
        r = len(window.equation.unknown)
        self.coefficients = np.full(r, np.nan)
        self.covariance = np.full((r, r), np.nan)
        self._counter = np.zeros(2, dtype=np.int64)
        self._fixed = (
            np.zeros(2 * window.samples), np.zeros(2 * window.samples), window.arrays(),
            self.coefficients, self.covariance,
        )  # fmt: skip

    def update(self, y: float, u: float = 0.0) -> int:
        """Process one sample; return ``OK`` if the results are those of the window it ends."""
        return kernels.push_and_solve(self._counter, y, u, *self._fixed)

    def restart(self) -> None:
        """Forget all samples, for instance after a gap in the data."""
        self._counter[:] = 0
