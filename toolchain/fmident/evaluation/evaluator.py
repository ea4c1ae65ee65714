"""Residuals, Jacobians and costs of a problem."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.context_managers import Closes
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
from fmident.problem.chain_rule import Origin
from fmident.problem.model import Problem
from fmident.problem.search_space import SearchSpace

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment

T = TypeVar("T")

_BRANCHES_BYTES = 500_000_000
"""What the searches of :meth:`Evaluator.side_by_side` may remember together."""


class Evaluator(Closes):
    """Residuals, costs and derivatives of a problem, from an executor's simulations.

    :class:`fmident.evaluation.contract.Evaluator` describes the members available to
    estimators; the others are for statistics and checks. The `executor` is closed with the
    evaluator.
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
        """Number of FMU simulations so far, one per experiment and point."""
        return self._runs.counts.simulations

    @property
    def jacobians(self) -> int:
        """Number of Jacobians so far."""
        return self._runs.counts.jacobians

    @property
    def failures(self) -> int:
        """Number of failed simulations so far."""
        return self._runs.counts.failures

    @property
    def served(self) -> Served:
        """Numbers of simulations that were run, restored from a journal, or cached."""
        recorder = recorder_of(whole_of(self._executor))
        return Served(self.simulations) if recorder is None else recorder.served

    @property
    def last_failure(self) -> SimulationFailure | None:
        """The last failed simulation, or ``None``."""
        return self._runs.counts.last_failure

    @property
    def activities(self) -> Activities:
        """Reports the progress of simulations that are not part of an iteration."""
        return self._runs.activities

    @property
    def best(self) -> tuple[F64, float] | None:
        """Parameters and cost of the best point so far; ``None`` if all failed."""
        best = self._runs.best
        return None if best is None else (best.parameters.copy(), best.cost)

    @property
    def step_sizes(self) -> StepSizes | None:
        """Steps of the finite differences; ``None`` before the first Jacobian."""
        return self._derivatives.steps

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user about the last Jacobian: samples crossed by an event."""
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
        """Return the FMU's outputs at `p`, shape (instants, outputs), or a failure per experiment.

        Columns are :func:`~fmident.evaluation.output_variables`; cached arrays are read-only.
        """
        return self._runs.outputs(self._checked(p)[0])

    def simulate_outputs(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        points: F64,
        sensitivities: Sequence[str] = (),
    ) -> F64:
        """Simulate any FMU variables in any experiment, which may be foreign to the problem."""
        return self._runs.other_outputs(experiment, variables, self._checked(points), sensitivities)

    @property
    def differentiable(self) -> frozenset[str]:
        """FMU variables with respect to which simulations can be differentiated."""
        enabled = self.problem.evaluation.takes_sensitivities
        return self._executor.differentiable if enabled else frozenset()

    @property
    def differenced(self) -> tuple[int, ...]:
        """Indices of the free parameters whose derivatives need finite differences."""
        return self._derivatives.differenced

    def side_by_side(
        self, searches: Sequence[Callable[[Evaluator], T]], *, most: int | None = None
    ) -> list[T | JacobianError]:
        """Run several searches concurrently, so that their simulations fill all workers."""
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
        """Return whether :meth:`jacobian` at `p` would need no simulation."""
        return self._derivatives.knows(self._checked(p)[0])

    def jacobian(self, p: F64) -> F64:
        """Return the derivative of the residuals with respect to the physical parameters."""
        jacobian = self.data_jacobian(p)
        return self._along_priors(p, jacobian, np.eye(jacobian.shape[1]))

    def data_jacobian(self, p: F64) -> F64:
        """Return the rows of the Jacobian that belong to :meth:`data_residuals`, (m, n)."""
        return self._derivatives.jacobian(self._checked(p)[0])

    def jacobian_is_exact(self, p: F64) -> bool:
        """Return whether the Jacobian at `p`, if known, needed no differences."""
        return self._derivatives.is_exact(self._checked(p)[0])

    def exact_jacobian(self, p: F64, tolerance: float) -> F64 | None:
        """Return the exact Jacobian of the data at another tolerance, shape (m, n), or ``None``."""
        return self._derivatives.exact_at(self._checked(p)[0], tolerance)

    def noise(self, p: F64) -> float:
        """Return the approximate error of the simulation in each whitened residual at `p`."""
        return self._derivatives.noise(self._checked(p)[0])

    def influence(self, p: F64) -> tuple[npt.NDArray[np.bool_] | None, float]:
        """Return which parameters change residuals at `p`, and the threshold of no change."""
        return self._derivatives.influence(self._checked(p)[0])

    @property
    def derivative_origins(self) -> dict[str, Origin]:
        """Origin of the last derivatives, by parameter; empty before a Jacobian."""
        return self._derivatives.origins()

    def gradient(self, p: F64) -> F64:
        """Return the gradient of the cost with respect to the physical parameters."""
        gradient: F64 = self.jacobian(p).T @ self.residuals(p)
        return gradient

    def jacobian_is_given(self, p: F64) -> bool:
        """Return whether the Jacobian at `p` was supplied by a caller."""
        return self._derivatives.is_given(self._checked(p)[0])

    def remember_jacobian(self, p: F64, jacobian: F64, column_errors: F64) -> None:
        """Store a Jacobian known to the estimator, so that none is computed at `p`."""
        data = jacobian[: jacobian.shape[0] - self._runs.priors.count]
        self._derivatives.remember(self._checked(p)[0], data, column_errors)

    def measure_steps(self, p: F64) -> StepSizes:
        """Return the steps of the finite differences at `p`, where the simulation must work.

        They are chosen again if a parameter has changed so much that they no longer apply.
        """
        return self._derivatives.measure_steps(self._checked(p)[0])

    def column_errors(self, p: F64) -> F64 | None:
        """Return the expected error norm of each column of the Jacobian at `p`."""
        return self._derivatives.column_errors(self._checked(p)[0])

    def directional_derivatives(self, p: F64, directions: F64) -> DirectionalDerivatives:
        """Return accurate derivatives of the residuals along directions, and their errors."""
        derivatives = self._derivatives.along(self._checked(p)[0], directions)
        values = self._along_priors(p, derivatives.values, directions)
        return dataclasses.replace(derivatives, values=values)

    def climb(
        self,
        p: F64,
        directions: F64,
        noise: float | None = None,
        tolerance: float | None = None,
    ) -> Climb:
        """Start derivatives of the data's residuals along directions, with measured errors.

        Central differences with several steps (see
        :mod:`fmident.evaluation.derivatives.ladder`), along physical `directions`, shape (n,
        k). Counts as one Jacobian. `noise` per residual and `tolerance` override the measured
        one and the problem's.
        """
        return self._derivatives.climb(self._checked(p)[0], directions, noise, tolerance)

    def other_columns(self, p: F64) -> F64 | None:
        """Return the Jacobian of the data with far longer steps for comparison, or ``None``."""
        return self._derivatives.other_columns(self._checked(p)[0])

    @property
    def tolerance(self) -> float | None:
        """Relative tolerance of the simulations; ``None`` if unknown."""
        return self._runs.tolerance

    def output_magnitude(self, p: F64) -> float:
        """Return the root mean square of the outputs at `p`, weighted like residuals."""
        return self._runs.output_magnitude(self.data_residuals(p))

    def integration_error(self, p: F64) -> F64 | None:
        """Return the residuals at `p` minus those at a hundredth of the tolerance, shape (m,).

        Residuals of the data: zero if the FMU ignores the tolerance, ``None`` if unknown.
        """
        return self._derivatives.integration_error(self._checked(p)[0])

    def step_error(self, p: F64) -> F64 | None:
        """Return the data's residuals minus those with half the communication step, or ``None``."""
        return self._derivatives.step_error(self._checked(p)[0])

    def integration_order(self, p: F64) -> float:
        """Return the order of that error in the tolerance; NaN if unknown."""
        return self._derivatives.integration_order(self._checked(p)[0])

    def _with_priors(self, points: F64, residuals: F64) -> F64:
        """Return residuals with those of the priors appended, (k, m) -> (k, m + q)."""
        priors = self._runs.priors
        if not priors.count:
            return residuals
        rows = [priors.with_rows(p, r) for p, r in zip(points, residuals, strict=True)]
        return np.array(rows).reshape(len(points), residuals.shape[1] + priors.count)

    def _along_priors(self, p: F64, changes: F64, directions: F64) -> F64:
        """Return derivatives along directions with those of the priors' residuals appended."""
        if not self._runs.priors.count:
            return changes
        point = self._checked(p)[0]
        return self._runs.priors.with_slopes(point, self.data_residuals(p), changes, directions)

    def for_problem(self, problem: Problem) -> Evaluator:
        """Return an evaluator of a problem that differs in cost and initial values only.

        It shares the executor and the counts. Close only one of the two.
        """
        other = Evaluator(problem, self._executor)
        other._runs.counts = self._runs.counts
        other._runs.activities = self._runs.activities
        return other

    def _most(self) -> int:
        """Return how many searches may run concurrently, limited by their memory."""
        return int(np.clip(_BRANCHES_BYTES // max(self._runs.branch_bytes(), 1), 2, MOST))

    def _branch(self, earlier: Earlier, executor: Executor) -> Evaluator:
        branch = Evaluator(self.problem, executor)
        at_once = executor.at_once() if isinstance(executor, Share) else executor
        branch._runs = self._runs.branch(earlier, executor, at_once)
        branch._derivatives = self._derivatives.branch(branch._runs)
        return branch

    def _learn_from(self, branch: Evaluator) -> None:
        """Adopt the Jacobian if it is at the best point so far, and steps if there are none."""
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
    """Executor of concurrent searches that reports the progress of their joint batches."""

    def __init__(self, whole: Executor, activities: Activities, searches: int) -> None:
        super().__init__(whole)
        self._activities = activities
        self._text = f"{searches} searches side by side"

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run a joint batch."""
        with self._activities.during(self._text, simulations=len(tasks)):
            return self._activities.run(self.whole, tasks, done)
