"""Information on the parameters from a planned measurement.

The information matrix ``F = J^T J``, with the whitened sensitivities ``J`` at the
initial parameters, predicts the covariance ``F^-1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NoReturn

import numpy as np

from fmident.arrays import F64
from fmident.data.experiment import Experiment
from fmident.errors import ProblemError
from fmident.evaluation import Evaluator
from fmident.evaluation.derivatives.exact import differentiated_outputs
from fmident.statistics.identifiability import analyse_rank, describe, determined_combinations

Criterion = Literal["determinant", "condition"]

USELESS = 1e6
"""The criterion where the parameters cannot be told apart, or the FMU fails."""

_STEP = 1e-3


class Information:
    """Sensitivities of planned measurements, and derived statistics.

    The evaluator's problem has the free parameters at their expected values; `sigmas` are
    the standard deviations of the noise of the output variables to be measured.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        sigmas: Mapping[str, float],
        start_values: Mapping[str, float | int | bool | str] | None = None,
    ) -> None:
        self.evaluator = evaluator
        self.outputs = tuple(sigmas)
        self.sigmas = np.array(list(sigmas.values()))
        self.start_values = dict(start_values or {})
        problem = evaluator.problem
        self.scale: F64 = np.array([q.scale for q in problem.free])
        step = _STEP * np.maximum(np.abs(problem.initial), self.scale)
        self.high = np.clip(problem.initial + step, problem.lower, problem.upper)
        self.low = np.clip(problem.initial - step, problem.lower, problem.upper)

    def experiment(self, times: F64, inputs: Mapping[str, F64]) -> Experiment:
        """Return the planned measurement."""
        return Experiment("design", times, inputs, (), self.start_values, "design")

    def sensitivities(self, times: F64, inputs: Mapping[str, F64]) -> F64:
        """Return the whitened sensitivities to scaled parameters, shape (m, parameters)."""
        initial = self.evaluator.problem.initial
        count = initial.size
        experiment = self.experiment(times, inputs)
        exact = differentiated_outputs(self.evaluator, experiment, self.outputs, initial)
        if exact is not None:
            slopes = exact[1] / self.sigmas[:, np.newaxis]
            exactly: F64 = slopes.reshape(-1, count) * self.scale
            return exactly
        points = np.tile(initial, (2 * count, 1))
        points[np.arange(count), np.arange(count)] = self.high
        points[count + np.arange(count), np.arange(count)] = self.low
        outputs = self.evaluator.simulate_outputs(experiment, self.outputs, points) / self.sigmas
        change = (outputs[:count] - outputs[count:]).reshape(count, -1)
        columns: F64 = (change * (self.scale / (self.high - self.low))[:, np.newaxis]).T
        return columns

    def standard_errors(self, columns: F64) -> tuple[F64, float]:
        """Return predicted standard errors, and the condition number of the unit columns."""
        lengths = np.linalg.norm(columns, axis=0)
        triangle = np.asarray(np.linalg.qr(columns / lengths, mode="r"))
        inverse = np.linalg.inv(triangle) / lengths[:, np.newaxis]
        errors: F64 = np.linalg.norm(inverse, axis=1) * self.scale
        return errors, float(np.linalg.cond(triangle))

    def refuse(self, columns: F64, motion: str) -> NoReturn:
        """Raise `ProblemError` naming the parameters that no motion distinguishes.

        `columns` are finite sensitivities of a motion that was tried, and `motion` describes
        it, such as ``"sine of this input"``.
        """
        raise ProblemError(
            f"no {motion} tells all parameters apart. {self._verdict(columns)}",
            hint="hold parameters with 'fixed = true' until all are identifiable",
        )

    def _verdict(self, columns: F64) -> str:
        names = [q.name for q in self.evaluator.problem.free]
        errors = 1e-8 * np.linalg.norm(columns, axis=0)
        analysis = analyse_rank(columns / self.scale, errors / self.scale)
        return describe(analysis, names, determined_combinations(analysis, names))


def refuse_not_positive(settings: Mapping[str, float]) -> None:
    """Raise `ProblemError` for the first named number that is not positive and finite."""
    for name, value in settings.items():
        if not (np.isfinite(value) and value > 0.0):
            raise ProblemError(f"'{name}' of a design must be positive, not {value:g}")


def criterion_value(columns: F64, criterion: Criterion) -> float:
    """Return the objective; :data:`USELESS` if the parameters are indistinguishable."""
    if not bool(np.isfinite(columns).all()):
        return USELESS
    lengths = np.linalg.norm(columns, axis=0)
    if not bool(np.all(lengths > 0.0)):
        return USELESS
    singular = np.linalg.svd(columns / lengths, compute_uv=False)
    if singular[-1] <= 1e-9 * singular[0]:
        return USELESS
    if criterion == "condition":
        return float(np.log(singular[0] / singular[-1]))
    # Of F per parameter, so that the value does not grow with their number.
    volume = float(np.sum(np.log(singular)) + np.sum(np.log(lengths)))
    return -2.0 * volume / int(lengths.size)
