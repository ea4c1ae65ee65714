"""Motions that minimise what the parameters will not be known by.

The information matrix of the planned measurement, ``F = J^T J`` with the whitened sensitivities
``J`` at the initial parameters, foretells the covariance ``F^-1``. Either its determinant is
made as large as it goes (D-optimal: the smallest volume of the confidence ellipsoid), or the
condition number of the columns of ``J``, scaled to unit length, as small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import optimize

from fmident._types import F64
from fmident.data.experiment import Experiment
from fmident.design.fourier import Axis, FourierMotion, largest_inside
from fmident.errors import EstimationError, ProblemError
from fmident.evaluation import Evaluator
from fmident.statistics.identifiability import analyse_rank, describe, determined_combinations

Criterion = Literal["determinant", "condition"]

_FAILED = 1e6
_STEP = 1e-3
_FINE = 4
"""How many times finer the limits are looked at than the sensitivities."""


@dataclass(frozen=True)
class DesignSettings:
    """What is designed.

    Parameters
    ----------
    period
        Of the motion, s.
    harmonics
        Of the Fourier series.
    rate
        Samples per second of the measurement and of the result.
    criterion
        What is optimised.
    starts
        Local searches from random motions; the best is taken.
    iterations
        At most, per search.
    seed
        Of the random motions.

    Raises
    ------
    fmident.errors.ProblemError
        A number out of its range.
    """

    period: float
    harmonics: int = 5
    rate: float = 1000.0
    criterion: Criterion = "determinant"
    starts: int = 4
    iterations: int = 40
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("period", "harmonics", "rate", "starts", "iterations"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise ProblemError(f"'{name}' of a design must be positive, not {value:g}")
        if self.harmonics / self.period >= 0.1 * self.rate:
            raise ProblemError(
                f"the highest harmonic, {self.harmonics / self.period:g} Hz, is too fast for"
                f" {self.rate:g} samples per second",
                hint="fewer harmonics, a longer period, or a higher rate",
            )

    @property
    def coarse(self) -> F64:
        """Instants of one period at which sensitivities are compared, s."""
        count = max(60, 16 * self.harmonics)
        return np.arange(count, dtype=np.float64) * (self.period / count)

    @property
    def fine(self) -> F64:
        """Instants of one period at which limits are looked at, s."""
        count = _FINE * self.coarse.size
        return np.arange(count, dtype=np.float64) * (self.period / count)

    @property
    def times(self) -> F64:
        """Instants of the result, one period and its end, s."""
        return np.arange(round(self.period * self.rate) + 1, dtype=np.float64) / self.rate


@dataclass(frozen=True)
class Design:
    """A motion and what it promises.

    Parameters
    ----------
    times
        One period, s, shape (n,).
    inputs
        Input variable to values, shape (n,).
    motions
        One per axis.
    standard_errors
        Predicted, of the free parameters, for one period; shape (parameters,).
    condition
        Condition number of the sensitivities, columns scaled to unit length.
    first
        The same two for the best of the random motions from which the search started.
    peaks
        Highest absolute position, speed, acceleration per axis, shape (axes, 3).
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
    """Return the best motion that was found.

    Parameters
    ----------
    evaluator
        Of a problem with the free parameters at their expected values; its experiments are
        not looked at.
    axes
        What moves.
    sigmas
        Output variables that will be measured, with the standard deviation of their noise.
    settings
        Period, harmonics, criterion.
    start_values
        Of the FMU, for this experiment only.

    Raises
    ------
    fmident.errors.ProblemError
        No motion of this kind tells the parameters apart; with the combinations that it does.
    fmident.errors.EstimationError
        The FMU fails at all random motions.
    """
    task = _Task(evaluator, tuple(axes), dict(sigmas), settings, dict(start_values or {}))
    generator = np.random.default_rng(settings.seed)
    starts = [task.random(generator) for _ in range(8 * settings.starts)]
    values = np.array([task.objective(x) for x in starts])
    if not bool(np.any(values < _FAILED)):
        task.explain(starts)
    order = np.argsort(values)[: settings.starts]
    best = starts[int(order[0])]
    first = task.promise(best)
    found, lowest = best, float(values[order[0]])
    for k in order:
        if values[k] >= _FAILED:
            continue
        solution = optimize.minimize(
            task.objective,
            starts[int(k)],
            method="L-BFGS-B",
            options={"maxiter": settings.iterations, "eps": 1e-5, "ftol": 1e-6},
        )
        if solution.fun < lowest:
            found, lowest = np.asarray(solution.x), float(solution.fun)
    return task.design(found, first)


class _Task:
    """The search space: start, amplitude and Fourier coefficients of each axis."""

    def __init__(
        self,
        evaluator: Evaluator,
        axes: tuple[Axis, ...],
        sigmas: dict[str, float],
        settings: DesignSettings,
        start_values: dict[str, float | int | bool | str],
    ) -> None:
        self.evaluator = evaluator
        self.axes = axes
        self.outputs = tuple(sigmas)
        self.sigmas = np.array(list(sigmas.values()))
        self.settings = settings
        self.start_values = start_values
        problem = evaluator.problem
        self.scale: F64 = np.array([q.scale for q in problem.free])
        step = _STEP * np.maximum(np.abs(problem.initial), self.scale)
        self.high = np.clip(problem.initial + step, problem.lower, problem.upper)
        self.low = np.clip(problem.initial - step, problem.lower, problem.upper)

    @property
    def width(self) -> int:
        """Unknowns per axis."""
        return 2 + 2 * self.settings.harmonics

    def random(self, generator: np.random.Generator) -> F64:
        """Return a random point of the search space; nearly as large as the limits allow."""
        rows = generator.normal(size=(len(self.axes), self.width))
        rows[:, 1] = 3.0
        return rows.ravel()

    def motions(self, x: F64) -> tuple[FourierMotion, ...]:
        """Return the motions of a point, inside the limits."""
        found = []
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
            found.append(
                FourierMotion(
                    self.settings.period, start, axis.turns, factor * sine, factor * cosine
                )
            )
        return tuple(found)

    def inputs(self, motions: Sequence[FourierMotion], times: F64) -> dict[str, F64]:
        """Return the FMU's inputs."""
        return {
            name: motion(times, order)
            for axis, motion in zip(self.axes, motions, strict=True)
            for order, name in enumerate(axis.inputs)
            if name is not None
        }

    def sensitivities(self, motions: Sequence[FourierMotion], times: F64) -> F64:
        """Return the whitened sensitivities, columns in scaled parameters, (m, parameters)."""
        initial = self.evaluator.problem.initial
        count = initial.size
        points = np.tile(initial, (2 * count, 1))
        points[np.arange(count), np.arange(count)] = self.high
        points[count + np.arange(count), np.arange(count)] = self.low
        experiment = Experiment(
            "design", times, self.inputs(motions, times), (), self.start_values, "design"
        )
        found = self.evaluator.simulate_outputs(experiment, self.outputs, points) / self.sigmas
        change = (found[:count] - found[count:]).reshape(count, -1)
        columns: F64 = (change * (self.scale / (self.high - self.low))[:, np.newaxis]).T
        return columns

    def objective(self, x: F64) -> float:
        """Return what is minimised; large where the motion is useless."""
        columns = self.sensitivities(self.motions(x), self.settings.coarse)
        if not bool(np.isfinite(columns).all()):
            return _FAILED
        lengths = np.linalg.norm(columns, axis=0)
        if not bool(np.all(lengths > 0.0)):
            return _FAILED
        singular = np.linalg.svd(columns / lengths, compute_uv=False)
        if singular[-1] <= 1e-9 * singular[0]:
            return _FAILED
        if self.settings.criterion == "condition":
            return float(np.log(singular[0] / singular[-1]))
        # Of F per parameter, so that the value does not grow with their number.
        volume = float(np.sum(np.log(singular)) + np.sum(np.log(lengths)))
        return -2.0 * volume / int(lengths.size)

    def promise(self, x: F64) -> tuple[F64, float]:
        """Return predicted standard errors for one period, and the condition number."""
        columns = self.sensitivities(self.motions(x), self.settings.times[:-1])
        lengths = np.linalg.norm(columns, axis=0)
        triangle = np.asarray(np.linalg.qr(columns / lengths, mode="r"))
        inverse = np.linalg.inv(triangle) / lengths[:, np.newaxis]
        errors: F64 = np.linalg.norm(inverse, axis=1) * self.scale
        return errors, float(np.linalg.cond(triangle))

    def design(self, x: F64, first: tuple[F64, float]) -> Design:
        """Return the result for a point."""
        motions = self.motions(x)
        times = self.settings.times
        errors, condition = self.promise(x)
        peaks = np.array([[np.abs(m(times, k)).max() for k in range(3)] for m in motions])
        return Design(times, self.inputs(motions, times), motions, errors, condition, first, peaks)

    def explain(self, points: Sequence[F64]) -> None:
        """Say why no motion is of use.

        Raises
        ------
        fmident.errors.ProblemError, fmident.errors.EstimationError
            Always.
        """
        names = [q.name for q in self.evaluator.problem.free]
        for x in points:
            columns = self.sensitivities(self.motions(x), self.settings.coarse)
            if bool(np.isfinite(columns).all()):
                errors = 1e-8 * np.linalg.norm(columns, axis=0)
                analysis = analyse_rank(columns / self.scale, errors / self.scale)
                verdict = describe(analysis, names, determined_combinations(analysis, names))
                raise ProblemError(
                    f"no motion of these axes tells all parameters apart. {verdict}",
                    hint="hold parameters with 'fixed = true' until all are identifiable",
                )
        raise EstimationError(
            f"the FMU cannot follow any of the random motions: {self.evaluator.last_failure}",
            hint="narrow 'position_limits' to what the mechanism can reach",
        )


def _sigmoid(x: float) -> float:
    return float(1.0 / (1.0 + np.exp(-x)))
