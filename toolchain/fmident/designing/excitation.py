"""Motions that minimise the parameter uncertainty.

The information matrix of the planned measurement, ``F = J^T J`` with the whitened
sensitivities ``J`` at the initial parameters, predicts the covariance ``F^-1``. Either
its determinant is maximised (D-optimal: the smallest volume of the confidence
ellipsoid), or the condition number of the columns of ``J``, scaled to unit length, is
minimised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from scipy import optimize

from fmident.arrays import F64
from fmident.designing.fourier import Axis, FourierMotion, largest_inside
from fmident.designing.information import (
    USELESS,
    Criterion,
    Information,
    criterion_value,
    refuse_not_positive,
)
from fmident.errors import EstimationError, ProblemError
from fmident.evaluation import Evaluator

_FINE = 4
"""How many times finer the limits are looked at than the sensitivities."""


@dataclass(frozen=True)
class DesignSettings:
    """Settings of a design.

    The motion has a `period`, s, and a number of `harmonics`; `rate` is that of the samples
    of the measurement and of the result, 1/s. The best of `starts` local searches from
    random motions is used, each with at most `iterations`. Raises `ProblemError` for a
    number out of range.
    """

    period: float
    harmonics: int = 5
    rate: float = 1000.0
    criterion: Criterion = "determinant"
    starts: int = 4
    iterations: int = 40
    seed: int = 0

    def __post_init__(self) -> None:
        positive = ("period", "harmonics", "rate", "starts", "iterations")
        refuse_not_positive({name: getattr(self, name) for name in positive})
        if self.harmonics / self.period >= 0.1 * self.rate:
            raise ProblemError(
                f"the highest harmonic, {self.harmonics / self.period:g} Hz, is too fast for"
                f" {self.rate:g} samples per second",
                hint="fewer harmonics, a longer period, or a higher rate",
            )

    @property
    def coarse(self) -> F64:
        """Instants of one period at which sensitivities are evaluated, s."""
        count = max(60, 16 * self.harmonics)
        return np.arange(count, dtype=np.float64) * (self.period / count)

    @property
    def fine(self) -> F64:
        """Instants of one period at which limits are checked, s."""
        count = _FINE * self.coarse.size
        return np.arange(count, dtype=np.float64) * (self.period / count)

    @property
    def times(self) -> F64:
        """Instants of the result, one period including its end, s."""
        return np.arange(round(self.period * self.rate) + 1, dtype=np.float64) / self.rate


@dataclass(frozen=True)
class Design:
    """A motion and the accuracy expected from it.

    `times` is one period, s, and `inputs` has the values by variable, shape (n,); there is
    one of `motions` per axis. `standard_errors` are predicted for the free parameters and
    one period, shape (parameters,), and `condition` is that of the sensitivities with
    columns scaled to unit length; `first` has both for the best random start motion.
    `peaks` are the maximum absolute position, velocity and acceleration per axis, shape
    (axes, 3).
    """

    times: F64
    inputs: Mapping[str, F64]
    motions: tuple[FourierMotion, ...]
    standard_errors: F64
    condition: float
    first: tuple[F64, float]
    peaks: F64


def design_excitation(
    evaluator: Evaluator,
    axes: Sequence[Axis],
    sigmas: Mapping[str, float],
    settings: DesignSettings,
    start_values: Mapping[str, float | int | bool | str] | None = None,
) -> Design:
    """Return the best motion found.

    The evaluator's problem has the free parameters at their expected values; its
    experiments are ignored. `sigmas` are the standard deviations of the noise of the output
    variables to be measured. Raises `ProblemError`, with the combinations that are
    determined, if no such motion distinguishes the parameters, and `EstimationError` if the
    FMU fails for all random motions.
    """
    task = _Task(Information(evaluator, sigmas, start_values), tuple(axes), settings)
    generator = np.random.default_rng(settings.seed)
    starts = [task.random(generator) for _ in range(8 * settings.starts)]
    during = evaluator.activities.during
    before = evaluator.simulations
    values = np.array([task.objective(starts[0])])
    each = evaluator.simulations - before
    with during("random motions", simulations=each * (len(starts) - 1)):
        values = np.append(values, [task.objective(x) for x in starts[1:]])
    if not bool(np.any(values < USELESS)):
        task.explain(starts)
    order = np.argsort(values)[: settings.starts]
    best = starts[int(order[0])]
    first = task.promise(best)
    optimum, lowest = best, float(values[order[0]])
    for number, k in enumerate(order, 1):
        if values[k] >= USELESS:
            continue
        most = settings.iterations * (best.size + 1) * each
        with during(f"search {number} of {order.size}", simulations=most):
            solution = optimize.minimize(
                task.objective,
                starts[int(k)],
                method="L-BFGS-B",
                options={"maxiter": settings.iterations, "eps": 1e-5, "ftol": 1e-6},
            )
        if solution.fun < lowest:
            optimum, lowest = np.asarray(solution.x), float(solution.fun)
    return task.design(optimum, first)


class _Task:
    """The search space: start, amplitude and Fourier coefficients of each axis."""

    def __init__(
        self, information: Information, axes: tuple[Axis, ...], settings: DesignSettings
    ) -> None:
        self.information = information
        self.axes = axes
        self.settings = settings

    @property
    def width(self) -> int:
        """Number of unknowns per axis."""
        return 2 + 2 * self.settings.harmonics

    def random(self, generator: np.random.Generator) -> F64:
        """Return a random point of the search space, nearly as large as the limits allow."""
        rows = generator.normal(size=(len(self.axes), self.width))
        rows[:, 1] = 3.0
        return rows.ravel()

    def motions(self, x: F64) -> tuple[FourierMotion, ...]:
        """Return the motions of a point, scaled to the limits."""
        series = []
        harmonic = np.arange(1, self.settings.harmonics + 1)
        for axis, row in zip(self.axes, x.reshape(len(self.axes), self.width), strict=True):
            low, high = axis.position_limits
            start = float(row[0])
            if np.isfinite(low) and np.isfinite(high):
                start = low + (high - low) * _sigmoid(start)
            elif np.isfinite(low) or np.isfinite(high):
                start = low + abs(start) if np.isfinite(low) else high - abs(start)
            # Coefficients of the speed: none of the harmonics dominates by itself.
            sine, cosine = (part / harmonic for part in np.split(row[2:], 2))
            shape = FourierMotion(self.settings.period, start, axis.turns, sine, cosine)
            factor = largest_inside(axis, shape, self.settings.fine) * _sigmoid(float(row[1]))
            series.append(
                FourierMotion(
                    self.settings.period, start, axis.turns, factor * sine, factor * cosine
                )
            )
        return tuple(series)

    def inputs(self, motions: Sequence[FourierMotion], times: F64) -> dict[str, F64]:
        """Return the FMU's inputs."""
        return {
            name: motion(times, order)
            for axis, motion in zip(self.axes, motions, strict=True)
            for order, name in enumerate(axis.inputs)
            if name is not None
        }

    def sensitivities(self, motions: Sequence[FourierMotion], times: F64) -> F64:
        """Return the whitened sensitivities to scaled parameters, shape (m, parameters)."""
        return self.information.sensitivities(times, self.inputs(motions, times))

    def objective(self, x: F64) -> float:
        """Return the objective; large if the motion is useless."""
        columns = self.sensitivities(self.motions(x), self.settings.coarse)
        return criterion_value(columns, self.settings.criterion)

    def promise(self, x: F64) -> tuple[F64, float]:
        """Return predicted standard errors for one period, and the condition number."""
        columns = self.sensitivities(self.motions(x), self.settings.times[:-1])
        return self.information.standard_errors(columns)

    def design(self, x: F64, first: tuple[F64, float]) -> Design:
        """Return the design of a point."""
        motions = self.motions(x)
        times = self.settings.times
        errors, condition = self.promise(x)
        peaks = np.array([[np.abs(m(times, k)).max() for k in range(3)] for m in motions])
        return Design(times, self.inputs(motions, times), motions, errors, condition, first, peaks)

    def explain(self, points: Sequence[F64]) -> NoReturn:
        """Raise an error that explains why no motion is useful."""
        for x in points:
            columns = self.sensitivities(self.motions(x), self.settings.coarse)
            if bool(np.isfinite(columns).all()):
                self.information.refuse(columns, "motion of these axes")
        failure = self.information.evaluator.last_failure
        raise EstimationError(
            f"the FMU cannot follow any of the random motions: {failure}",
            hint="narrow 'position_limits' to what the mechanism can reach",
        )


def _sigmoid(x: float) -> float:
    return float(1.0 / (1.0 + np.exp(-x)))
