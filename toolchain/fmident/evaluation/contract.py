"""What an estimator asks for numbers."""

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
    ``problem.free``. A failed simulation is a value, NaN residuals or infinite cost, and is
    kept in :attr:`last_failure`; it is never an exception. Not thread-safe.

    Residuals are those of the data, in the order of :func:`~fmident.problem.residual_layout` for
    the cost ``time-domain``, and behind them one for each prior that counts
    (:class:`~fmident.problem.Priors`), so that the cost has its minimum where the posterior density
    has its maximum. Jacobians have the rows of these, too.
    """

    @property
    def problem(self) -> Problem:
        """What is evaluated."""

    @property
    def space(self) -> SearchSpace:
        """Scales and logarithms between the physical parameters and those of a search."""

    @property
    def last_failure(self) -> SimulationFailure | None:
        """The last failed run, or ``None``."""

    @property
    def tolerance(self) -> float | None:
        """Relative tolerance of the simulations; ``None`` where it is not known."""

    @property
    def differentiable(self) -> frozenset[str]:
        """FMU variables with respect to which simulations can be differentiated.

        Empty where the FMU offers no sensitivities, or the problem wants differences.
        """

    @property
    def differenced(self) -> tuple[int, ...]:
        """Indices of the free parameters whose derivatives take finite differences.

        Where there are none, a Jacobian costs hardly more than the residuals at its point.
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

        Like :meth:`residuals_many`, but nothing is remembered.
        """

    def simulate_outputs(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        points: F64,
        sensitivities: Sequence[str] = (),
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
        sensitivities
            Some of :attr:`differentiable`, s of them: behind the variables come the derivatives of
            all of them with respect to the first, then to the second, and so on.

        Returns
        -------
        numpy.ndarray
            Shape (k, instants, v * (1 + s)); NaN where a simulation failed, which
            :attr:`last_failure` is. Derivatives alone are NaN where there are none.

        Raises
        ------
        fmident.errors.FmuError
            The FMU does not have a variable or an input of that name.
        """

    def jacobian(self, p: F64) -> F64:
        """Return the derivative of the residuals with respect to the physical parameters.

        From exact sensitivities of the FMU where it offers them, in the simulation of the
        residuals. Else finite differences in the search space, inside the bounds; the first call
        measures noise and curvature to choose the steps (see :attr:`step_sizes`). The Jacobian at
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

    def jacobian_is_exact(self, p: F64) -> bool:
        """Return whether the Jacobian at `p`, if that was the last one, took no differences.

        Parameters
        ----------
        p
            Shape (n,).
        """

    def gradient(self, p: F64) -> F64:
        """Return the gradient of the cost with respect to the physical parameters.

        The cost is ``1/2 sum r^2``, so that its gradient is ``J^T r``; one Jacobian.

        Parameters
        ----------
        p
            Shape (n,).

        Returns
        -------
        numpy.ndarray
            Shape (n,).

        Raises
        ------
        JacobianError
            The simulation fails at `p`, or all around it.
        """

    def noise(self, p: F64) -> float:
        """Return about what the simulation adds to each whitened residual at `p`.

        Root mean square: what was measured for finite differences; with exact derivatives the error
        of the integration where that was measured, else what the tolerance of the simulations
        allows; rounding at least. Costs of points differ by no less than this lets them.

        Parameters
        ----------
        p
            Shape (n,).
        """

    def column_errors(self, p: F64) -> F64 | None:
        """Return the expected length of the error of each column of the Jacobian at `p`.

        Returns
        -------
        numpy.ndarray or None
            Shape (n,), physical units; ``None`` before the first Jacobian.
        """

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

    def side_by_side(
        self, searches: Sequence[Callable[[Evaluator], T]], *, most: int | None = None
    ) -> list[T | JacobianError]:
        """Run several searches at once, so that their simulations fill all workers.

        Each search gets an evaluator of its own, a branch of this one: it knows the points,
        the Jacobian and the step sizes that this one knows now, and learns nothing from the
        other searches, so that what a search returns depends neither on them nor on the
        executor. What all searches ask for next is simulated as one batch, equal simulations
        once. What they simulate is counted here, and :attr:`best` is the best of all. The
        searches do not run at the same time as each other, only their simulations do: they take
        turns, in their order, from batch to batch, each in a thread of its own. So they may
        share data, and the order in which they report to the monitor depends on nothing else.

        A search may call :meth:`side_by_side` of its evaluator in turn. It is to use no other
        evaluator than its own.

        Parameters
        ----------
        searches
            k functions of an evaluator; a monitor may be called from them.
        most
            How many run at the same time; up to 32 by default, fewer where the problem is so
            large that they would need too much memory. What they return does not depend on it.

        Returns
        -------
        list
            What they return, in their order, k items; the error in place of a search that
            ended with a :class:`JacobianError`.

        Raises
        ------
        BaseException
            Any other exception of a search, of the monitor (``StopEstimation``) or of the
            executor, and ``KeyboardInterrupt``; the other searches are ended then.
        """
