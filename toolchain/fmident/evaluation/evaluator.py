"""Residuals, Jacobians and costs of a problem, counted and remembered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from types import TracebackType
from typing import Generic, TypeVar

import numpy as np

from fmident._types import F64
from fmident.evaluation.differences import JacobianError, difference_jacobian
from fmident.evaluation.executor import Executor
from fmident.evaluation.setups import output_variables
from fmident.evaluation.steps import StepSizes, choose_steps, fixed_steps
from fmident.evaluation.tasks import Simulated, SimulationFailure, SimulationTask
from fmident.problem.model import Problem
from fmident.problem.residuals import parameter_values_for, whitened_residuals
from fmident.problem.search_space import SearchSpace

_REMEMBERED = 4

T = TypeVar("T")


class _Recent(Generic[T]):
    """The last few items by key."""

    def __init__(self, capacity: int) -> None:
        self._items: OrderedDict[object, T] = OrderedDict()
        self._capacity = capacity

    def get(self, key: object) -> T | None:
        if key in self._items:
            self._items.move_to_end(key)
        return self._items.get(key)

    def put(self, key: object, item: T) -> None:
        self._items[key] = item
        self._items.move_to_end(key)
        while len(self._items) > self._capacity:
            self._items.popitem(last=False)


class Evaluator:
    """What an estimator asks for numbers.

    Points are free parameters in physical units, shape (n,), in the order of
    ``problem.free``. A failed simulation is a value, NaN residuals or infinite cost, and is
    kept in :attr:`last_failure`; it is never an exception. Not thread-safe.

    Parameters
    ----------
    problem
        What to evaluate.
    executor
        Who runs the simulations; closed with the evaluator.

    Attributes
    ----------
    simulations
        Runs of the FMU so far, one per experiment and point.
    jacobians
        Jacobians so far.
    failures
        Failed runs so far.
    last_failure
        The last failed run, or ``None``.
    """

    def __init__(self, problem: Problem, executor: Executor) -> None:
        self.problem = problem
        self.space = SearchSpace.of(problem)
        self.simulations = 0
        self.jacobians = 0
        self.failures = 0
        self.last_failure: SimulationFailure | None = None
        self._executor = executor
        self._outputs: _Recent[Simulated] = _Recent(_REMEMBERED * len(problem.experiments))
        self._residuals: _Recent[F64] = _Recent(_REMEMBERED)
        self._jacobians: _Recent[F64] = _Recent(1)
        self._best: tuple[F64, float] | None = None
        self._steps: StepSizes | None = None
        self._size: int | None = None

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the executor."""
        self._executor.close()

    @property
    def best(self) -> tuple[F64, float] | None:
        """Parameters and cost of the best point asked for so far, if any did not fail."""
        return None if self._best is None else (self._best[0].copy(), self._best[1])

    @property
    def step_sizes(self) -> StepSizes | None:
        """Steps of the finite differences; ``None`` before the first Jacobian."""
        return self._steps

    def residuals(self, p: F64) -> F64:
        """Return the whitened residuals at `p`, shape (m,); all NaN if a simulation failed."""
        row: F64 = self.residuals_many(np.atleast_2d(p))[0]
        return row

    def residuals_many(self, points: F64) -> F64:
        """Return the whitened residuals at several points as one batch.

        Parameters
        ----------
        points
            Shape (k, n).

        Returns
        -------
        numpy.ndarray
            Shape (k, m); rows of NaN where a simulation failed.
        """
        points = self._checked(points)
        known = [self._residuals.get(p.tobytes()) for p in points]
        new = [i for i, r in enumerate(known) if r is None]
        if new:
            fresh = self._run(points[new], remember=True)
            for i, r in zip(new, fresh, strict=True):
                self._residuals.put(points[i].tobytes(), r)
                known[i] = r
                self._keep_best(points[i], r)
        return np.array(known)

    def cost(self, p: F64) -> float:
        """Return ``1/2 sum r^2`` at `p`; infinite if a simulation failed."""
        return _cost(self.residuals(p))

    def costs(self, points: F64) -> F64:
        """Return the cost at several points, (k, n) -> (k,), as one batch."""
        return np.array([_cost(r) for r in self.residuals_many(points)])

    def simulate(self, p: F64) -> tuple[Simulated, ...]:
        """Return the FMU's outputs at `p`, one item per experiment.

        Returns
        -------
        tuple
            Outputs of shape (instants, outputs), in the order of
            :func:`~fmident.evaluation.output_variables`, or a :class:`SimulationFailure`.
        """
        point = self._checked(p)[0]
        return tuple(self._simulate(self._tasks(point), remember=True))

    def probe(self, points: F64) -> F64:
        """Return the residuals at points that are no candidates for the best point.

        Like :meth:`residuals_many`, but nothing is remembered.
        """
        return self._run(self._checked(points), remember=False)

    def knows_jacobian(self, p: F64) -> bool:
        """Return whether :meth:`jacobian` at `p` would cost nothing."""
        return self._jacobians.get(self._checked(p)[0].tobytes()) is not None

    def jacobian(self, p: F64) -> F64:
        """Return the derivative of the residuals with respect to the physical parameters.

        Finite differences in the search space, inside the bounds; the first call measures
        noise and curvature to choose the steps (see :attr:`step_sizes`). The Jacobian at
        the last point is remembered.

        Parameters
        ----------
        p
            Shape (n,).

        Returns
        -------
        numpy.ndarray
            Shape (m, n).

        Raises
        ------
        JacobianError
            The simulation fails at `p`, or all around it.
        """
        point = self._checked(p)[0]
        known = self._jacobians.get(point.tobytes())
        if known is not None:
            return known.copy()
        base = self.residuals(point)
        if not bool(np.isfinite(base).all()):
            raise JacobianError(
                f"there is no Jacobian where the simulation fails: {self._reason()}",
                hint="start elsewhere, or narrow the bounds",
            )
        steps = self.measure_steps(point)
        scaled = difference_jacobian(
            self._residuals_in_space,
            base,
            self.space.from_physical(point),
            steps.steps,
            self.space.lower,
            self.space.upper,
            [q.name for q in self.problem.free],
            self.problem.evaluation.difference,
            self._reason,
        )
        self.jacobians += 1
        jacobian: F64 = scaled / self.space.derivative(point)
        self._jacobians.put(point.tobytes(), jacobian)
        return jacobian.copy()

    def measure_steps(self, p: F64) -> StepSizes:
        """Return the steps of the finite differences; the first call chooses them at `p`.

        Parameters
        ----------
        p
            Shape (n,), where the simulation works.
        """
        if self._steps is None:
            point = self._checked(p)[0]
            self._steps = self._choose_steps(self.residuals(point), self.space.from_physical(point))
        return self._steps

    def column_errors(self, p: F64) -> F64 | None:
        """Return the expected length of the error of each column of the Jacobian at `p`.

        Returns
        -------
        numpy.ndarray or None
            Shape (n,), physical units; ``None`` before the first Jacobian.
        """
        if self._steps is None:
            return None
        rows = self.residuals(p).size
        errors: F64 = np.sqrt(rows) * self._steps.errors / np.abs(self.space.derivative(p))
        return errors

    def choose_steps_again(self) -> None:
        """Forget the steps, so that the next Jacobian measures noise and curvature anew."""
        self._steps = None

    def _choose_steps(self, base: F64, z: F64) -> StepSizes:
        settings = self.problem.evaluation
        size = np.where(self.space.log | (z == 0.0), 1.0, np.abs(z))
        size = np.minimum(size, self.space.upper - self.space.lower)
        magnitude = self._output_magnitude(base)
        if settings.relative_step is not None:
            return fixed_steps(settings.relative_step, size, magnitude, settings.difference)
        return choose_steps(
            self._residuals_in_space,
            base,
            z,
            size,
            self.space.lower,
            self.space.upper,
            magnitude,
            settings.difference,
        )

    def _residuals_in_space(self, points: F64) -> F64:
        """Evaluate points of the search space that are not candidates for the best."""
        physical = self.space.to_physical(points)
        physical = np.clip(physical, self.problem.lower, self.problem.upper)
        return self._run(physical, remember=False)

    def _run(self, points: F64, *, remember: bool) -> F64:
        """Return residuals of shape (k, m), NaN rows where a simulation failed."""
        count = len(self.problem.experiments)
        tasks = [task for p in points for task in self._tasks(p)]
        outputs = self._simulate(tasks, remember=remember)
        rows = []
        for k, p in enumerate(points):
            mine = outputs[k * count : (k + 1) * count]
            rows.append(self._whiten(p, mine))
        return np.array(rows)

    def _whiten(self, p: F64, outputs: Sequence[Simulated]) -> F64:
        arrays = [o for o in outputs if not isinstance(o, SimulationFailure)]
        if len(arrays) < len(outputs):
            return np.full(self._residual_count(), np.nan)
        return whitened_residuals(self.problem, arrays, p)

    def _residual_count(self) -> int:
        if self._size is None:
            self._size = self._zero_output_residuals().size
        return self._size

    def _zero_output_residuals(self) -> F64:
        """Return the residuals as if all outputs were zero: the whitened measurements."""
        zeros = [
            np.zeros((e.times.size, len(output_variables(e)))) for e in self.problem.experiments
        ]
        return whitened_residuals(self.problem, zeros, self.problem.initial)

    def _output_magnitude(self, base: F64) -> float:
        """Return the root mean square of the whitened outputs."""
        measured = self._zero_output_residuals()
        simulated = measured - base
        size = max(_rms(measured), _rms(simulated))
        return size if size > 0.0 else 1.0

    def _tasks(self, p: F64) -> list[SimulationTask]:
        return [
            SimulationTask(i, parameter_values_for(self.problem, experiment, p))
            for i, experiment in enumerate(self.problem.experiments)
        ]

    def _simulate(self, tasks: Sequence[SimulationTask], *, remember: bool) -> list[Simulated]:
        """Run tasks, equal ones once, known ones not at all."""
        keys = [task.key for task in tasks]
        found: dict[object, Simulated] = {}
        pending: dict[object, SimulationTask] = {}
        for key, task in zip(keys, tasks, strict=True):
            known = self._outputs.get(key)
            if known is not None:
                found[key] = known
            else:
                pending.setdefault(key, task)
        if pending:
            outcomes = self._executor.run(list(pending.values()))
            self.simulations += len(pending)
            for new, outcome in zip(pending, outcomes, strict=True):
                found[new] = outcome
                if isinstance(outcome, SimulationFailure):
                    self.failures += 1
                    self.last_failure = outcome
                if remember:
                    self._outputs.put(new, outcome)
        return [found[key] for key in keys]

    def _keep_best(self, p: F64, residuals: F64) -> None:
        cost = _cost(residuals)
        if np.isfinite(cost) and (self._best is None or cost < self._best[1]):
            self._best = (p.copy(), cost)

    def _checked(self, points: F64) -> F64:
        array = np.atleast_2d(np.asarray(points, dtype=np.float64))
        count = len(self.problem.free)
        if array.ndim != 2 or array.shape[1] != count:
            raise ValueError(f"points have shape {array.shape}, but there are {count} parameters")
        return array

    def _reason(self) -> str:
        return (
            str(self.last_failure) if self.last_failure is not None else "residuals are not finite"
        )


def _cost(residuals: F64) -> float:
    value = 0.5 * float(residuals @ residuals)
    return value if np.isfinite(value) else float("inf")


def _rms(values: F64) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
