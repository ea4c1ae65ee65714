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
from fmident.evaluation.derivatives import verification
from fmident.evaluation.derivatives.differences import JacobianError, StepSizes
from fmident.evaluation.derivatives.exact import Exact
from fmident.evaluation.derivatives.jacobians import Derivatives
from fmident.evaluation.derivatives.verification import (
    DirectionalDerivatives,
    Judge,
    VerifiedJacobian,
)
from fmident.evaluation.executors.base import Executor
from fmident.evaluation.journal.executor import Served
from fmident.evaluation.memory import Earlier
from fmident.evaluation.runs import Runs, recorder_of
from fmident.evaluation.side_by_side import MOST, Share, run_side_by_side, whole_of
from fmident.evaluation.tasks import Outcomes, Simulated, SimulationFailure, SimulationTask
from fmident.problem.dependent import parameter_derivatives_for
from fmident.problem.model import Problem, SearchSpace
from fmident.problem.residuals import DerivativeOrigin, moved_variables

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment

T = TypeVar("T")

_BRANCHES_BYTES = 500_000_000
"""Memory of all searches of :meth:`Evaluator.side_by_side` together."""


class Evaluator(Closes):
    """Residuals, costs and derivatives of a problem.

    Points are free parameters in physical units, shape (n,), in the order of
    ``problem.free``. A failed simulation gives NaN residuals or infinite cost, and is
    stored in :attr:`last_failure`; it never raises. Not thread-safe.

    Residuals are those of the data, in the order of
    :func:`~fmident.problem.residual_layout` for the cost ``time-domain``, followed by one
    for each informative prior (:class:`~fmident.problem.Priors`), so that the minimum of
    the cost is the maximum of the posterior density. Jacobians have the same rows.

    Estimators need the first half of the members only. The `executor` is closed with the evaluator.
    """

    def __init__(self, problem: Problem, executor: Executor) -> None:
        self.problem = problem
        self.space = SearchSpace.of(problem)
        self.executor = executor
        self._runs = Runs(problem, executor)
        exact = Exact(self._runs, executor.differentiable)
        self._derivatives = Derivatives(self._runs, self.space, exact)

    def close(self) -> None:
        """Free the executor."""
        self.executor.close()

    @property
    def last_failure(self) -> SimulationFailure | None:
        """The last failed simulation, or ``None``."""
        return self._runs.counts.last_failure

    @property
    def tolerance(self) -> float | None:
        """Relative tolerance of the simulations; ``None`` if unknown."""
        return self._runs.tolerance

    @property
    def differentiable(self) -> frozenset[str]:
        """FMU variables with respect to which simulations can be differentiated.

        Empty if the FMU has no sensitivities, or the problem requests finite differences.
        """
        enabled = self.problem.evaluation.takes_sensitivities
        return self.executor.differentiable if enabled else frozenset()

    @property
    def differenced(self) -> tuple[int, ...]:
        """Indices of the free parameters whose derivatives need finite differences.

        Without any, a Jacobian costs hardly more than the residuals at its point.
        """
        return self._derivatives.exact.others

    @property
    def step_sizes(self) -> StepSizes | None:
        """Steps of the finite differences; ``None`` before the first Jacobian."""
        return self._derivatives.steps

    def residuals(self, p: F64) -> F64:
        """Return the whitened residuals at `p`, shape (m,); all NaN if a simulation failed."""
        points = self._checked(p)
        row: F64 = self._with_priors(points, self._runs.residuals(points))[0]
        return row

    def residuals_many(self, points: F64) -> F64:
        """Return the whitened residuals at several points as one batch, (k, n) -> (k, m).

        Rows are NaN where a simulation failed.
        """
        checked = self._checked(points)
        return self._with_priors(checked, self._runs.residuals(checked))

    def cost(self, p: F64) -> float:
        """Return ``1/2 sum r^2`` at `p`; infinite if a simulation failed."""
        points = self._checked(p)
        return self._runs.priors.cost(points[0], self._runs.residuals(points)[0])

    def costs(self, points: F64) -> F64:
        """Return the cost at several points, (k, n) -> (k,), as one batch."""
        return self._runs.costs(self._checked(points))

    def probe(self, points: F64) -> F64:
        """Return the residuals at points that are not candidates for the best point.

        Like :meth:`residuals_many`, but nothing is cached.
        """
        checked = self._checked(points)
        return self._with_priors(checked, self._runs.probe(checked))

    def simulate_outputs(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        points: F64,
        sensitivities: Sequence[str] = (),
    ) -> F64:
        """Simulate any FMU variables in any experiment, which may be foreign to the problem.

        For quantities beyond the data, such as energies at random states. Nothing is cached.

        Parameters
        ----------
        experiment
            Times, inputs and start values; its measurements are ignored. Parameters restricted
            to certain experiments apply only to those of the same name.
        variables
            v FMU variables.
        points
            Shape (k, n).
        sensitivities
            s names from :attr:`differentiable`: the variables are followed by the derivatives
            of all of them with respect to the first name, then to the second, and so on.

        Returns
        -------
        numpy.ndarray
            Shape (k, instants, v * (1 + s)); NaN where a simulation failed (see
            :attr:`last_failure`). Only derivatives are NaN where these do not exist.

        Raises
        ------
        fmident.errors.FmuError
            The FMU does not have a variable or an input of that name.
        """
        return self._runs.other_outputs(experiment, variables, self._checked(points), sensitivities)

    def jacobian(self, p: F64) -> F64:
        """Return the derivative of the residuals with respect to the physical parameters.

        Exact sensitivities of the FMU are used if available, from the simulation of the
        residuals. Otherwise finite differences in the search space, inside the bounds, are
        used; the first call measures noise and curvature to choose the steps (see
        :attr:`step_sizes`). The Jacobian at the last point, shape (m, n), is cached.

        Raises `JacobianError` if the simulation fails at `p`, or everywhere around it.
        """
        jacobian = self._derivatives.jacobian(self._checked(p)[0])
        return self._along_priors(p, jacobian, np.eye(jacobian.shape[1]))

    def jacobian_is_exact(self, p: F64) -> bool:
        """Return whether the Jacobian at `p`, if it was the last one, is without differences."""
        return self._derivatives.is_exact(self._checked(p)[0])

    def gradient(self, p: F64) -> F64:
        """Return the gradient of the cost with respect to the physical parameters, shape (n,).

        As the cost is ``1/2 sum r^2``, the gradient is ``J^T r``; it needs one Jacobian. Raises
        `JacobianError` if the simulation fails at `p`, or everywhere around it.
        """
        gradient: F64 = self.jacobian(p).T @ self.residuals(p)
        return gradient

    def noise(self, p: F64) -> float:
        """Return the approximate error of the simulation in each whitened residual at `p`.

        Root mean square: the value measured for finite differences; with exact derivatives the
        integration error if measured, or else the one allowed by the tolerance of the
        simulations; at least rounding. Cost differences below the corresponding level are not
        significant.
        """
        return self._derivatives.noise(self._checked(p)[0])

    def column_errors(self, p: F64) -> F64 | None:
        """Return the expected norm of the error of each column of the Jacobian at `p`.

        Shape (n,), physical units; ``None`` before the first Jacobian.
        """
        return self._derivatives.column_errors(self._checked(p)[0])

    def directional_derivatives(self, p: F64, directions: F64) -> DirectionalDerivatives:
        """Return accurate derivatives of the residuals along directions, and their errors.

        The directions, shape (n, k), are in physical parameters. Central differences with a
        separate step for each: those whose effects nearly cancel are far more accurate than from
        columns. Counts as one Jacobian. Raises `JacobianError` like :meth:`jacobian`.
        """
        point = self._checked(p)[0]
        derivatives = verification.directional_derivatives(self._derivatives, point, directions)
        values = self._along_priors(p, derivatives.values, directions)
        return dataclasses.replace(derivatives, values=values)

    def remember_jacobian(self, p: F64, jacobian: F64, column_errors: F64) -> None:
        """Store a Jacobian known to the estimator, so that none is computed at `p`.

        `column_errors` are the expected norms of the error of each column, shape (n,).
        """
        data = jacobian[: jacobian.shape[0] - self._runs.priors.count]
        self._derivatives.remember(self._checked(p)[0], data, column_errors)

    def side_by_side(
        self, searches: Sequence[Callable[[Evaluator], T]], *, most: int | None = None
    ) -> list[T | JacobianError]:
        """Run several searches concurrently, so that their simulations fill all workers.

        Each search gets its own evaluator, a branch of this one: it starts with the points, the
        Jacobian and the step sizes known here, and learns nothing from other searches, so that
        its result depends neither on them nor on the executor. The next requests of all
        searches are simulated as one batch, without duplicates, and counted here; :attr:`best`
        is the best of all.

        Only simulations run in parallel: the searches, each in its own thread, take turns from
        batch to batch in a fixed order. They may therefore share data, and the order of their
        reports to the monitor is reproducible. A search may call :meth:`side_by_side` of its
        own evaluator and must not use any other.

        Parameters
        ----------
        searches
            k functions of an evaluator; they may call a monitor.
        most
            Maximum number of concurrent searches; by default up to 32, fewer for a problem that
            would need too much memory. The results do not depend on it.

        Returns
        -------
        list
            k results in order; for a search that raised :class:`JacobianError`, the error.

        Raises
        ------
        BaseException
            Any other exception of a search, of the monitor (``StopEstimation``) or of the
            executor, and ``KeyboardInterrupt``; the other searches are then ended.
        """
        # Of one moment, whenever a search begins.
        origin = self._branch(self._runs.earlier(), self.executor)
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

        announced = _Announced(self.executor, self.activities, len(searches))
        return run_side_by_side(
            [begun(search) for search in searches], announced, most or self._most()
        )

    # ------------------------------------------------- for statistics, checks and reports

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
        recorder = recorder_of(whole_of(self.executor))
        return Served(self.simulations) if recorder is None else recorder.served

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
    def notes(self) -> tuple[str, ...]:
        """Notes for the user about the last Jacobian: samples crossed by an event."""
        return self._derivatives.notes

    def data_residuals(self, p: F64) -> F64:
        """Return the whitened residuals of the data at `p`, without those of priors, (m,)."""
        row: F64 = self._runs.residuals(self._checked(p))[0]
        return row

    def simulate(self, p: F64) -> tuple[Simulated, ...]:
        """Return the FMU's outputs at `p`, shape (instants, outputs), or a failure per experiment.

        Columns are :func:`~fmident.evaluation.output_variables`; cached arrays are read-only.
        """
        return self._runs.outputs(self._checked(p)[0])

    def knows_jacobian(self, p: F64) -> bool:
        """Return whether :meth:`jacobian` at `p` would need no simulation."""
        return self._derivatives.knows(self._checked(p)[0])

    def data_jacobian(self, p: F64) -> F64:
        """Return the rows of the Jacobian that belong to :meth:`data_residuals`, (m, n)."""
        return self._derivatives.jacobian(self._checked(p)[0])

    def influence(self, p: F64) -> tuple[npt.NDArray[np.bool_] | None, float]:
        """Return which parameters change residuals at `p`, and the threshold of no change."""
        return self._derivatives.influence(self._checked(p)[0])

    @property
    def derivative_origins(self) -> dict[str, DerivativeOrigin]:
        """Origin of the last derivatives, by parameter; empty before a Jacobian."""
        return self._derivatives.origins()

    def jacobian_is_given(self, p: F64) -> bool:
        """Return whether the Jacobian at `p` was supplied by a caller."""
        return self._derivatives.is_given(self._checked(p)[0])

    def measure_steps(self, p: F64) -> StepSizes:
        """Return the steps of the finite differences at `p`, where the simulation must work.

        They are chosen again if a parameter has changed so much that they no longer apply.
        """
        return self._derivatives.measure_steps(self._checked(p)[0])

    def verified_jacobian(
        self, p: F64, judge: Judge, directions: F64 | None = None, weights: F64 | None = None
    ) -> VerifiedJacobian:
        """Return the Jacobian of the data, as exact as `judge` needs it, and its errors.

        See :func:`~fmident.evaluation.derivatives.verification.verified_jacobian`.
        """
        point = self._checked(p)[0]
        return verification.verified_jacobian(self._derivatives, point, judge, directions, weights)

    def output_magnitude(self, p: F64) -> float:
        """Return the root mean square of the outputs at `p`, weighted like residuals."""
        return self._runs.output_magnitude(self.data_residuals(p))

    def integration_error(self, p: F64) -> F64 | None:
        """Return the residuals at `p` minus those at a hundredth of the tolerance, shape (m,).

        Residuals of the data: zero if the FMU ignores the tolerance, ``None`` if unknown.
        """
        return self._derivatives.integration.error(self._checked(p)[0], self.data_residuals(p))

    def step_error(self, p: F64) -> F64 | None:
        """Return the data's residuals minus those with half the communication step, or ``None``."""
        return self._derivatives.integration.of_step(self._checked(p)[0], self.data_residuals(p))

    def integration_order(self, p: F64) -> float:
        """Return the order of that error in the tolerance; NaN if unknown."""
        return self._derivatives.integration.order(self._checked(p)[0], self.data_residuals(p))

    def for_problem(self, problem: Problem) -> Evaluator:
        """Return an evaluator of a problem with the same experiments.

        It shares the executor and the counts. Close only one of the two.
        """
        other = Evaluator(problem, self.executor)
        other._runs.counts = self._runs.counts
        other._runs.activities = self._runs.activities
        return other

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

    def _most(self) -> int:
        """Return how many searches may run concurrently, limited by their memory."""
        return int(np.clip(_BRANCHES_BYTES // max(self._runs.branch_bytes(), 1), 2, MOST))

    def _branch(self, earlier: Earlier, executor: Executor) -> Evaluator:
        branch = Evaluator(self.problem, executor)
        branch._runs = self._runs.branch(earlier, executor)
        branch._derivatives = self._derivatives.branch(branch._runs)
        return branch

    def _learn_from(self, branch: Evaluator) -> None:
        """Adopt the Jacobian if it is at the best point so far, and steps if there are none."""
        own, other, best = self._derivatives, branch._derivatives, self._runs.best
        known = best is not None and other.knows(best.parameters)
        if known and best is not None and own.knows(best.parameters):
            return
        if known or (own.steps is None and other.steps is not None):
            self._derivatives = other.branch(self._runs)

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

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        outcomes = self.whole.run(tasks)
        if any(task.other is not None for task in tasks):
            yield from outcomes
        else:
            with self._activities.during(self._text, simulations=len(tasks)):
                yield from self._activities.count(outcomes, len(tasks))


def differentiated_outputs(
    evaluator: Evaluator,
    experiment: Experiment,
    variables: Sequence[str],
    p: F64,
    starts: Sequence[str] = (),
) -> tuple[F64, F64] | None:
    """Return variables and their derivatives from one simulation with exact sensitivities.

    Values have shape (instants, v), derivatives with respect to `p`, shape (n,), and then
    `starts`, s further FMU variables, shape (instants, v, n + s). ``None`` without
    sensitivities.
    """
    problem = evaluator.problem
    free_variables = moved_variables(problem, experiment)
    names = tuple(dict.fromkeys([*(v for known in free_variables for v in known), *starts]))
    if not names or not evaluator.differentiable.issuperset(names):
        return None
    outputs = evaluator.simulate_outputs(experiment, variables, p[np.newaxis, :], names)[0]
    if not bool(np.isfinite(outputs).all()):
        return None
    blocks = outputs.reshape(experiment.times.size, 1 + len(names), len(variables))
    slopes = np.zeros((*blocks[:, 0].shape, p.size + len(starts)))
    for name, row in parameter_derivatives_for(problem, experiment, p).items():
        if row.any():
            slopes[..., : p.size] += blocks[:, 1 + names.index(name), :, np.newaxis] * row
    for k, name in enumerate(starts):
        slopes[..., p.size + k] = blocks[:, 1 + names.index(name)]
    return blocks[:, 0], slopes
