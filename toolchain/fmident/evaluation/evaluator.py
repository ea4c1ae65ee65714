"""Residuals, Jacobians and costs of a problem, counted and remembered."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from fmident._types import F64
from fmident.evaluation.activity import Activities
from fmident.evaluation.differences import JacobianError, difference_jacobian
from fmident.evaluation.directions import (
    DirectionalDerivatives,
    directional_derivatives,
    longest_steps,
)
from fmident.evaluation.executor import Executor
from fmident.evaluation.memory import Best, Recent, cost_of, root_mean_square
from fmident.evaluation.noise import POINTS
from fmident.evaluation.setups import output_variables
from fmident.evaluation.steps import StepSizes, choose_steps, fixed_steps, parameter_size
from fmident.evaluation.tasks import Simulated, SimulationFailure, SimulationTask
from fmident.problem.model import Problem
from fmident.problem.residuals import parameter_values_for, whitened_residuals
from fmident.problem.search_space import SearchSpace

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment

_REMEMBERED = 4

_STALE = 2.0
"""Steps are chosen anew when a parameter has moved by this many times its size, or shrunk to
this part of it."""

_EPS = float(np.finfo(np.float64).eps)


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
    activities
        Its listener is told how far simulations are that belong to no iteration.
    """

    def __init__(self, problem: Problem, executor: Executor) -> None:
        self.problem = problem
        self.space = SearchSpace.of(problem)
        self.simulations = 0
        self.jacobians = 0
        self.failures = 0
        self.last_failure: SimulationFailure | None = None
        self.activities = Activities(len(problem.experiments))
        self._executor = executor
        self._outputs: Recent[Simulated] = Recent(_REMEMBERED * len(problem.experiments))
        self._residuals: Recent[F64] = Recent(_REMEMBERED)
        self._jacobians: Recent[F64] = Recent(1)
        self._best: Best | None = None
        self._known_errors: tuple[bytes, F64] | None = None
        self._steps: StepSizes | None = None
        self._chosen_at: F64 = self.space.from_physical(problem.initial)
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
        return None if self._best is None else (self._best.parameters.copy(), self._best.cost)

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
        known = [self._known_residuals(p) for p in points]
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
        return cost_of(self.residuals(p))

    def costs(self, points: F64) -> F64:
        """Return the cost at several points, (k, n) -> (k,), as one batch."""
        return np.array([cost_of(r) for r in self.residuals_many(points)])

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

    def simulate_outputs(
        self, experiment: Experiment, variables: Sequence[str], points: F64
    ) -> F64:
        """Return any variables of the FMU in an experiment that need not be the problem's.

        For what the data do not tell, such as energies at random states. Nothing is
        remembered.

        Parameters
        ----------
        experiment
            Times, inputs and start values; its measurements are not looked at. Parameters
            that belong to certain experiments act on those of the same name only.
        variables
            FMU variables, v of them.
        points
            Shape (k, n).

        Returns
        -------
        numpy.ndarray
            Shape (k, instants, v); NaN where a simulation failed, which
            :attr:`last_failure` tells of.

        Raises
        ------
        fmident.errors.FmuError
            The FMU does not have a variable or an input of that name.
        """
        points = self._checked(points)
        found = np.full((len(points), experiment.times.size, len(variables)), np.nan)
        usable = [k for k, p in enumerate(points) if self._is_finite(p)]
        values = [parameter_values_for(self.problem, experiment, points[k]) for k in usable]
        outcomes = self._executor.run_other(experiment, variables, values)
        self.simulations += len(outcomes)
        for k, outcome in zip(usable, outcomes, strict=True):
            if isinstance(outcome, SimulationFailure):
                self.failures += 1
                self.last_failure = outcome
            else:
                found[k] = outcome
        return found

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

    def jacobian_is_given(self, p: F64) -> bool:
        """Return whether the Jacobian at `p` was handed over, not computed here."""
        return self._known_errors is not None and self._known_errors[0] == p.tobytes()

    def remember_jacobian(self, p: F64, jacobian: F64, column_errors: F64) -> None:
        """Take over a Jacobian that the estimator knows, so that none is computed at `p`.

        Parameters
        ----------
        p
            Shape (n,).
        jacobian
            Of the whitened residuals with respect to the physical parameters, shape (m, n).
        column_errors
            Expected length of the error of each column, shape (n,).
        """
        key = self._checked(p)[0].tobytes()
        self._jacobians.put(key, jacobian)
        self._known_errors = (key, column_errors)

    def measure_steps(self, p: F64) -> StepSizes:
        """Return the steps of the finite differences at `p`.

        The first call chooses them; later ones do so again when a parameter has grown or
        shrunk so much that noise and curvature measured before mean little.

        Parameters
        ----------
        p
            Shape (n,), where the simulation works.
        """
        point = self._checked(p)[0]
        z = self.space.from_physical(point)
        if self._steps is None or self._stale(z):
            self._chosen_at = z
            base = self.residuals(point)
            points = POINTS - 1 + 2 * z.size
            with self.activities.during("measuring the noise of the simulation", points):
                self._steps = self._choose_steps(base, z)
        return self._steps

    def _stale(self, z: F64) -> bool:
        """Return whether the point is far from where the steps were chosen."""
        size = self._parameter_size(self._chosen_at)
        shrunk = self._parameter_size(z) < size / _STALE
        far = np.abs(z - self._chosen_at) > _STALE * size
        return bool((shrunk | far).any())

    def column_errors(self, p: F64) -> F64 | None:
        """Return the expected length of the error of each column of the Jacobian at `p`.

        Returns
        -------
        numpy.ndarray or None
            Shape (n,), physical units; ``None`` before the first Jacobian.
        """
        if self._known_errors is not None and self.jacobian_is_given(p):
            return self._known_errors[1]
        if self._steps is None:
            return None
        rows = self.residuals(p).size
        errors: F64 = np.sqrt(rows) * self._steps.errors / np.abs(self.space.derivative(p))
        return errors

    def directional_derivatives(self, p: F64, directions: F64) -> DirectionalDerivatives:
        """Return accurate derivatives of the residuals along directions, and their errors.

        By central differences, each with a step of its own, so that directions whose effects
        nearly cancel are known far better than from columns. Counts as one Jacobian.

        Parameters
        ----------
        p
            Shape (n,).
        directions
            In physical parameters, shape (n, k).

        Raises
        ------
        JacobianError
            The simulation fails at `p`, or all around it.
        """
        point = self._checked(p)[0]
        expected = np.linalg.norm(self.jacobian(point) @ directions, axis=0)
        base, steps = self.residuals(point), self.measure_steps(point)
        z = self.space.from_physical(point)
        ways = directions / self.space.derivative(point)[:, np.newaxis]
        magnitude = self._output_magnitude(base)
        noise = steps.noise if np.isfinite(steps.noise) else _EPS * magnitude
        visible = magnitude * np.sqrt(base.size) / np.maximum(expected, _EPS)
        with self.activities.during("computing the intervals", 4 * directions.shape[1]):
            found = directional_derivatives(
                self._residuals_in_space,
                base,
                z,
                ways,
                longest_steps(ways, self._parameter_size(z), visible),
                self.space.lower,
                self.space.upper,
                noise,
            )
        self.jacobians += 1
        return found

    def choose_steps_again(self) -> None:
        """Forget the steps, so that the next Jacobian measures noise and curvature anew."""
        self._steps = None

    def _choose_steps(self, base: F64, z: F64) -> StepSizes:
        settings = self.problem.evaluation
        size = self._parameter_size(z)
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

    def _parameter_size(self, z: F64) -> F64:
        return parameter_size(self.space, self.space.from_physical(self.problem.initial), z)

    def _residuals_in_space(self, points: F64) -> F64:
        """Evaluate points of the search space that are not candidates for the best."""
        physical = self.space.to_physical(points)
        physical = np.clip(physical, self.problem.lower, self.problem.upper)
        return self._run(physical, remember=False)

    def _run(self, points: F64, *, remember: bool) -> F64:
        """Return residuals of shape (k, m), NaN rows where a simulation failed."""
        count = len(self.problem.experiments)
        rows = np.full((len(points), self._residual_count()), np.nan)
        usable = [k for k, p in enumerate(points) if self._is_finite(p)]
        tasks = [task for k in usable for task in self._tasks(points[k])]
        outputs = self._simulate(tasks, remember=remember)
        for i, k in enumerate(usable):
            rows[k] = self._whiten(points[k], outputs[i * count : (i + 1) * count])
        return rows

    def _is_finite(self, p: F64) -> bool:
        """Return whether the point can be simulated at all; remember why not."""
        if bool(np.isfinite(p).all()):
            return True
        values = {q.name: float(v) for q, v in zip(self.problem.free, p, strict=True)}
        self.failures += 1
        self.last_failure = SimulationFailure("a parameter is not finite", None, values)
        return False

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
        size = max(root_mean_square(measured), root_mean_square(simulated))
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
            if known is None and self._best is not None:
                known = self._best.outputs.get(key)
            if known is not None:
                found[key] = known
            else:
                pending.setdefault(key, task)
        if pending:
            outcomes = self.activities.run(self._executor, list(pending.values()))
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
        cost = cost_of(residuals)
        if np.isfinite(cost) and (self._best is None or cost < self._best.cost):
            # The outputs are kept, so that a run that is interrupted can end at once.
            outputs: dict[object, Simulated] = {}
            for task in self._tasks(p):
                known = self._outputs.get(task.key)
                if known is not None:
                    outputs[task.key] = known
            self._best = Best(p.copy(), cost, residuals, outputs)

    def _known_residuals(self, p: F64) -> F64 | None:
        if self._best is not None and np.array_equal(p, self._best.parameters):
            return self._best.residuals
        return self._residuals.get(p.tobytes())

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
