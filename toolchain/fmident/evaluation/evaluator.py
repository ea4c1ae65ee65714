"""Residuals, Jacobians and costs of a problem."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from fmident._closing import Closes
from fmident.arrays import F64
from fmident.evaluation.activity import Activities
from fmident.evaluation.derivatives.differences import DirectionalDerivatives, JacobianError
from fmident.evaluation.derivatives.exact import Exact
from fmident.evaluation.derivatives.jacobians import Derivatives
from fmident.evaluation.derivatives.ladder import Climb
from fmident.evaluation.derivatives.steps import StepSizes
from fmident.evaluation.executors.base import Done, Executor
from fmident.evaluation.journal.executor import Served
from fmident.evaluation.memory import Earlier
from fmident.evaluation.runs import Runs, recorder_of
from fmident.evaluation.side_by_side import MOST, Share, run_side_by_side, whole_of
from fmident.evaluation.tasks import Simulated, SimulationFailure, SimulationTask
from fmident.problem.derivative_origins import Origin
from fmident.problem.model import Problem
from fmident.problem.search_space import SearchSpace

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment

T = TypeVar("T")

_BRANCHES_BYTES = 500_000_000
"""What the searches of :meth:`Evaluator.side_by_side` may remember together."""


class Evaluator(Closes):
    """Residuals, costs and derivatives of a problem, from an executor's simulations.

    Estimators know it by :class:`fmident.evaluation.contract.Evaluator`, which describes the
    members that are theirs; the others serve the statistics and the checks.

    Points are free parameters in physical units, shape (n,), in the order of
    ``problem.free``. A failed simulation is a value, NaN residuals or infinite cost, and is
    kept in :attr:`last_failure`; it is never an exception. Not thread-safe.

    Parameters
    ----------
    problem
        What to evaluate.
    executor
        Who runs the simulations; closed with the evaluator.
    """

    def __init__(self, problem: Problem, executor: Executor) -> None:
        self.problem = problem
        self.space = SearchSpace.of(problem)
        self._executor = executor
        self._runs = Runs(problem, executor)
        exact = Exact(self._runs, executor.differentiable)
        self._derivatives = Derivatives(self._runs, self.space, exact)

    def close(self) -> None:
        """Free the executor."""
        self._executor.close()

    @property
    def simulations(self) -> int:
        """Runs of the FMU so far, one per experiment and point."""
        return self._runs.counts.simulations

    @property
    def jacobians(self) -> int:
        """Jacobians so far."""
        return self._runs.counts.jacobians

    @property
    def failures(self) -> int:
        """Failed runs so far."""
        return self._runs.counts.failures

    @property
    def served(self) -> Served:
        """How many of the simulations were run, restored from a journal, or known already."""
        recorder = recorder_of(whole_of(self._executor))
        return Served(self.simulations) if recorder is None else recorder.served

    @property
    def last_failure(self) -> SimulationFailure | None:
        """The last failed run, or ``None``."""
        return self._runs.counts.last_failure

    @property
    def activities(self) -> Activities:
        """Its listener receives how far simulations are that belong to no iteration."""
        return self._runs.activities

    @property
    def best(self) -> tuple[F64, float] | None:
        """Parameters and cost of the best point asked for so far, if any did not fail."""
        best = self._runs.best
        return None if best is None else (best.parameters.copy(), best.cost)

    @property
    def step_sizes(self) -> StepSizes | None:
        """Steps of the finite differences; ``None`` before the first Jacobian."""
        return self._derivatives.steps

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the last Jacobian: samples that an event jumps across."""
        return self._derivatives.notes

    def residuals(self, p: F64) -> F64:
        """Return the whitened residuals at `p`, shape (m,); all NaN if a simulation failed."""
        row: F64 = self.residuals_many(np.atleast_2d(p))[0]
        return row

    def residuals_many(self, points: F64) -> F64:
        """Return the whitened residuals at several points as one batch."""
        checked = self._checked(points)
        return self._with_priors(checked, self._runs.residuals(checked))

    def data_residuals(self, p: F64) -> F64:
        """Return the whitened residuals of the data at `p`, without those of priors, (m,)."""
        row: F64 = self._runs.residuals(self._checked(p))[0]
        return row

    def cost(self, p: F64) -> float:
        """Return ``1/2 sum r^2`` at `p`; infinite if a simulation failed."""
        return self._runs.cost(self._checked(p)[0], self.data_residuals(p))

    def costs(self, points: F64) -> F64:
        """Return the cost at several points, (k, n) -> (k,), as one batch."""
        return self._runs.costs(self._checked(points))

    def simulate(self, p: F64) -> tuple[Simulated, ...]:
        """Return the FMU's outputs at `p`, one item per experiment.

        Returns
        -------
        tuple
            Outputs of shape (instants, outputs), in the order of
            :func:`~fmident.evaluation.output_variables`, or a :class:`SimulationFailure`.
            Arrays that are remembered cannot be written to: copy them.
        """
        return self._runs.outputs(self._checked(p)[0])

    def simulate_outputs(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        points: F64,
        sensitivities: Sequence[str] = (),
    ) -> F64:
        """Return any variables of the FMU in an experiment that need not be the problem's."""
        return self._runs.other_outputs(experiment, variables, self._checked(points), sensitivities)

    @property
    def differentiable(self) -> frozenset[str]:
        """FMU variables with respect to which simulations can be differentiated."""
        taken = self.problem.evaluation.takes_sensitivities
        return self._executor.differentiable if taken else frozenset()

    @property
    def differenced(self) -> tuple[int, ...]:
        """Indices of the free parameters whose derivatives take finite differences."""
        return self._derivatives.differenced

    def side_by_side(
        self, searches: Sequence[Callable[[Evaluator], T]], *, most: int | None = None
    ) -> list[T | JacobianError]:
        """Run several searches at once, so that their simulations fill all workers."""
        # Of one moment, whenever a search begins.
        origin = self._branch(self._runs.earlier(), self._executor)
        earlier = origin._runs.earlier()

        def begun(search: Callable[[Evaluator], T]) -> Callable[[Executor], T | JacobianError]:
            def run(executor: Executor) -> T | JacobianError:
                branch = origin._branch(earlier, executor)
                try:
                    return search(branch)
                except JacobianError as error:
                    return error
                finally:
                    self._learn_from(branch)

            return run

        announced = _Announced(self._executor, self.activities, len(searches))
        return run_side_by_side(
            [begun(search) for search in searches], announced, most or self._most()
        )

    def probe(self, points: F64) -> F64:
        """Return the residuals at points that are not candidates for the best point."""
        checked = self._checked(points)
        return self._with_priors(checked, self._runs.probe(checked))

    def knows_jacobian(self, p: F64) -> bool:
        """Return whether :meth:`jacobian` at `p` would cost nothing."""
        return self._derivatives.knows(self._checked(p)[0])

    def jacobian(self, p: F64) -> F64:
        """Return the derivative of the residuals with respect to the physical parameters."""
        jacobian = self.data_jacobian(p)
        return self._along_priors(p, jacobian, np.eye(jacobian.shape[1]))

    def data_jacobian(self, p: F64) -> F64:
        """Return the rows of the Jacobian that belong to :meth:`data_residuals`, (m, n)."""
        return self._derivatives.jacobian(self._checked(p)[0])

    def jacobian_is_exact(self, p: F64) -> bool:
        """Return whether the Jacobian at `p`, where it is known, needed no differences."""
        return self._derivatives.is_exact(self._checked(p)[0])

    def exact_jacobian(self, p: F64, tolerance: float) -> F64 | None:
        """Return the Jacobian of the data at `p` at another tolerance, from sensitivities, (m, n).

        One simulation of each experiment, remembered for the last points; ``None`` where it takes
        differences.
        """
        return self._derivatives.exact_at(self._checked(p)[0], tolerance)

    def noise(self, p: F64) -> float:
        """Return about what the simulation adds to each whitened residual at `p`."""
        return self._derivatives.noise(self._checked(p)[0])

    def influence(self, p: F64) -> tuple[npt.NDArray[np.bool_] | None, float]:
        """Return which parameters change residuals at `p`, and what counts as no change.

        Returns
        -------
        flags
            Shape (n,); ``None`` where it was not looked at.
        nothing
            Root mean square per residual.
        """
        return self._derivatives.influence(self._checked(p)[0])

    @property
    def derivative_origins(self) -> dict[str, Origin]:
        """Where the last derivatives come from, by parameter; empty before a Jacobian."""
        return self._derivatives.origins()

    def gradient(self, p: F64) -> F64:
        """Return the gradient of the cost with respect to the physical parameters."""
        found: F64 = self.jacobian(p).T @ self.residuals(p)
        return found

    def jacobian_is_given(self, p: F64) -> bool:
        """Return whether the Jacobian at `p` was handed over, not computed here."""
        return self._derivatives.is_given(self._checked(p)[0])

    def remember_jacobian(self, p: F64, jacobian: F64, column_errors: F64) -> None:
        """Take over a Jacobian that the estimator knows, so that none is computed at `p`."""
        data = jacobian[: jacobian.shape[0] - self._runs.priors.count]
        self._derivatives.remember(self._checked(p)[0], data, column_errors)

    def measure_steps(self, p: F64) -> StepSizes:
        """Return the steps of the finite differences at `p`.

        The first call chooses them; later ones do so again when a parameter has grown or
        shrunk so much that noise and curvature measured before mean little.

        Parameters
        ----------
        p
            Shape (n,), where the simulation works.
        """
        return self._derivatives.measure_steps(self._checked(p)[0])

    def column_errors(self, p: F64) -> F64 | None:
        """Return the expected length of the error of each column of the Jacobian at `p`."""
        return self._derivatives.column_errors(self._checked(p)[0])

    def directional_derivatives(self, p: F64, directions: F64) -> DirectionalDerivatives:
        """Return accurate derivatives of the residuals along directions, and their errors."""
        found = self._derivatives.along(self._checked(p)[0], directions)
        values = self._along_priors(p, found.values, directions)
        return dataclasses.replace(found, values=values)

    def climb(
        self,
        p: F64,
        directions: F64,
        noise: float | None = None,
        tolerance: float | None = None,
    ) -> Climb:
        """Begin with derivatives along directions whose errors are measured, not predicted.

        Those of the residuals of the data. By central differences with several steps each (see
        :mod:`fmident.evaluation.derivatives.ladder`).
        Counts as one Jacobian.

        Parameters
        ----------
        p
            Shape (n,).
        directions
            In physical parameters, shape (n, k).
        noise
            Root mean square per residual, if more is known of it than what was measured.
        tolerance
            Of the integrator, in place of that of the problem.

        Raises
        ------
        JacobianError
            The simulation fails at `p`, or all around it.
        """
        return self._derivatives.climb(self._checked(p)[0], directions, noise, tolerance)

    def other_columns(self, p: F64) -> F64 | None:
        """Return the Jacobian of the data by far longer steps, to compare; ``None`` without one.

        Returns
        -------
        numpy.ndarray or None
            Shape (m, n); NaN in columns that cannot be compared.
        """
        return self._derivatives.other_columns(self._checked(p)[0])

    @property
    def tolerance(self) -> float | None:
        """Relative tolerance of the simulations; ``None`` where it is not known."""
        return self._runs.tolerance

    def output_magnitude(self, p: F64) -> float:
        """Return the root mean square of the outputs at `p`, weighted as residuals are."""
        return self._runs.output_magnitude(self.data_residuals(p))

    def integration_error(self, p: F64) -> F64 | None:
        """Return the residuals at `p` minus those at a hundredth of the tolerance, shape (m,).

        Those of the data. One more simulation of each experiment, remembered for the last point.

        Returns
        -------
        numpy.ndarray or None
            Zero where the FMU ignores the tolerance; ``None`` where none is known, or the
            simulation fails.
        """
        return self._derivatives.integration_error(self._checked(p)[0])

    def step_error(self, p: F64) -> F64 | None:
        """Return the residuals at `p` minus those with half the communication step, shape (m,).

        Those of the data; ``None`` where the FMU has no such step, or the simulation fails. One
        more simulation of each experiment, remembered for the last point.
        """
        return self._derivatives.step_error(self._checked(p)[0])

    def integration_order(self, p: F64) -> float:
        """Return the power of the tolerance with which that error falls; NaN where unknown.

        One more simulation of each experiment.
        """
        return self._derivatives.integration_order(self._checked(p)[0])

    def _with_priors(self, points: F64, residuals: F64) -> F64:
        """Return rows of residuals with those of the priors behind them, (k, m) -> (k, m + q)."""
        priors = self._runs.priors
        if not priors.count:
            return residuals
        rows = [priors.with_rows(p, r) for p, r in zip(points, residuals, strict=True)]
        return np.array(rows).reshape(len(points), residuals.shape[1] + priors.count)

    def _along_priors(self, p: F64, changes: F64, directions: F64) -> F64:
        """Return derivatives along directions with those of the priors' residuals behind them."""
        if not self._runs.priors.count:
            return changes
        point = self._checked(p)[0]
        return self._runs.priors.with_slopes(point, self.data_residuals(p), changes, directions)

    def for_problem(self, problem: Problem) -> Evaluator:
        """Return an evaluator of a problem that differs in cost and initial values alone.

        It shares the executor and the counts. Only one of both is to be closed.
        """
        other = Evaluator(problem, self._executor)
        other._runs.counts = self._runs.counts
        other._runs.activities = self._runs.activities
        return other

    def _most(self) -> int:
        """Return how many searches may run at once for the memory that they need."""
        return int(np.clip(_BRANCHES_BYTES // max(self._runs.branch_bytes(), 1), 2, MOST))

    def _branch(self, earlier: Earlier, executor: Executor) -> Evaluator:
        branch = Evaluator(self.problem, executor)
        at_once = executor.at_once() if isinstance(executor, Share) else executor
        branch._runs = self._runs.branch(earlier, executor, at_once)
        branch._derivatives = self._derivatives.branch(branch._runs)
        return branch

    def _learn_from(self, branch: Evaluator) -> None:
        """Take over the Jacobian at the best point so far, and steps if there are none."""
        own, other, best = self._derivatives, branch._derivatives, self._runs.best
        known = best is not None and other.knows(best.parameters)
        if known and best is not None and own.knows(best.parameters):
            return
        if known or (own.steps is None and other.steps is not None):
            own.take_over(other)

    def _checked(self, points: F64) -> F64:
        array = np.atleast_2d(np.asarray(points, dtype=np.float64))
        count = len(self.problem.free)
        if array.ndim != 2 or array.shape[1] != count:
            raise ValueError(f"points have shape {array.shape}, but there are {count} parameters")
        return array


class _Announced(Share):
    """The executor behind searches, whose joint batches the listener to activities hears of."""

    def __init__(self, whole: Executor, activities: Activities, searches: int) -> None:
        super().__init__(whole)
        self._activities = activities
        self._text = f"{searches} searches side by side"

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run a joint batch."""
        with self._activities.during(self._text, simulations=len(tasks)):
            return self._activities.run(self.whole, tasks, done)
