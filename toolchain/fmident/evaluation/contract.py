"""Contract of the evaluator, which estimators use for all numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from fmident.arrays import F64
    from fmident.data.experiment import Experiment
    from fmident.evaluation.derivatives.differences import DirectionalDerivatives, JacobianError
    from fmident.evaluation.derivatives.steps import StepSizes
    from fmident.evaluation.tasks import SimulationFailure
    from fmident.problem.model import Problem
    from fmident.problem.search_space import SearchSpace

T = TypeVar("T")


class Evaluator(Protocol):
    """Residuals, costs and derivatives of a problem.

    Points are free parameters in physical units, shape (n,), in the order of
    ``problem.free``. A failed simulation gives NaN residuals or infinite cost, and is
    stored in :attr:`last_failure`; it never raises. Not thread-safe.

    Residuals are those of the data, in the order of
    :func:`~fmident.problem.residual_layout` for the cost ``time-domain``, followed by one
    for each informative prior (:class:`~fmident.problem.Priors`), so that the minimum of
    the cost is the maximum of the posterior density. Jacobians have the same rows.
    """

    @property
    def problem(self) -> Problem:
        """The evaluated problem."""

    @property
    def space(self) -> SearchSpace:
        """Scaling, partly logarithmic, between physical parameters and the search space."""

    @property
    def last_failure(self) -> SimulationFailure | None:
        """The last failed simulation, or ``None``."""

    @property
    def tolerance(self) -> float | None:
        """Relative tolerance of the simulations; ``None`` if unknown."""

    @property
    def differentiable(self) -> frozenset[str]:
        """FMU variables with respect to which simulations can be differentiated.

        Empty if the FMU has no sensitivities, or the problem requests finite differences.
        """

    @property
    def differenced(self) -> tuple[int, ...]:
        """Indices of the free parameters whose derivatives need finite differences.

        Without any, a Jacobian costs hardly more than the residuals at its point.
        """

    @property
    def step_sizes(self) -> StepSizes | None:
        """Steps of the finite differences; ``None`` before the first Jacobian."""

    def residuals(self, p: F64) -> F64:
        """Return the whitened residuals at `p`, shape (m,); all NaN if a simulation failed."""

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

    def cost(self, p: F64) -> float:
        """Return ``1/2 sum r^2`` at `p`; infinite if a simulation failed."""

    def costs(self, points: F64) -> F64:
        """Return the cost at several points, (k, n) -> (k,), as one batch."""

    def probe(self, points: F64) -> F64:
        """Return the residuals at points that are not candidates for the best point.

        Like :meth:`residuals_many`, but nothing is cached.
        """

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

    def jacobian(self, p: F64) -> F64:
        """Return the derivative of the residuals with respect to the physical parameters.

        Exact sensitivities of the FMU are used if available, from the simulation of the
        residuals. Otherwise finite differences in the search space, inside the bounds, are
        used; the first call measures noise and curvature to choose the steps (see
        :attr:`step_sizes`). The Jacobian at the last point is cached.

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
            The simulation fails at `p`, or everywhere around it.
        """

    def jacobian_is_exact(self, p: F64) -> bool:
        """Return whether the Jacobian at `p`, if it was the last one, is without differences."""

    def gradient(self, p: F64) -> F64:
        """Return the gradient of the cost with respect to the physical parameters, shape (n,).

        As the cost is ``1/2 sum r^2``, the gradient is ``J^T r``; it needs one Jacobian. Raises
        `JacobianError` if the simulation fails at `p`, or everywhere around it.
        """

    def noise(self, p: F64) -> float:
        """Return the approximate error of the simulation in each whitened residual at `p`.

        Root mean square: the value measured for finite differences; with exact derivatives the
        integration error if measured, or else the one allowed by the tolerance of the
        simulations; at least rounding. Cost differences below the corresponding level are not
        significant.
        """

    def column_errors(self, p: F64) -> F64 | None:
        """Return the expected norm of the error of each column of the Jacobian at `p`.

        Shape (n,), physical units; ``None`` before the first Jacobian.
        """

    def directional_derivatives(self, p: F64, directions: F64) -> DirectionalDerivatives:
        """Return accurate derivatives of the residuals along directions, and their errors.

        Central differences with a separate step for each direction: directions whose effects
        nearly cancel are far more accurate than from columns. Counts as one Jacobian.

        Parameters
        ----------
        p
            Shape (n,).
        directions
            In physical parameters, shape (n, k).

        Raises
        ------
        JacobianError
            The simulation fails at `p`, or everywhere around it.
        """

    def remember_jacobian(self, p: F64, jacobian: F64, column_errors: F64) -> None:
        """Store a Jacobian known to the estimator, so that none is computed at `p`.

        Parameters
        ----------
        p
            Shape (n,).
        jacobian
            Derivative of the whitened residuals with respect to the physical parameters, shape
            (m, n).
        column_errors
            Expected norm of the error of each column, shape (n,).
        """

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
