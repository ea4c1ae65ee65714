"""What an estimator plugin is.

An estimator sees a :class:`~fmident.problem.Problem` and an
:class:`~fmident.evaluation.contract.Evaluator`, never an FMU. It says how far it is through a
:class:`Monitor` and returns an :class:`Estimate`; the host adds uncertainty, report and
files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar

from fmident.arrays import F64

if TYPE_CHECKING:
    from fmident.estimation.online.series import TimeSeriesEstimate
    from fmident.evaluation.contract import Evaluator
    from fmident.problem.model import Problem
    from fmident.statistics import DeterminedCombination, ResidualScores

Status = Literal["converged", "limit", "stopped", "interrupted", "failed"]

Ending = Literal["limit", "plateau", "jump", "stuck"]
"""What ended a run with the status ``"limit"``:

``"limit"``
    a limit of the estimator, such as its iterations: with a higher one it goes on;
``"plateau"``
    no parameter, or one that acted before, has a visible influence where it ended;
``"jump"``
    the cost is lower on the other side of a jump nearby;
``"stuck"``
    it found no further step, and not for want of iterations.
"""

Requirement = Literal["linear-equation", "settable-states", "linear-outputs"]
"""What an estimator may require of a problem, beyond what every problem is:

``"linear-equation"``
    the model is a linear differential equation from one input to one output;
``"settable-states"``
    parameters of the FMU set its states at the start of a simulation;
``"linear-outputs"``
    the outputs are linear in the free parameters.
"""


class StopEstimation(Exception):  # noqa: N818 - a request, not an error
    """Raised by a ``fmident_iteration`` hook to end the run with the best point so far."""


@dataclass(frozen=True)
class Iteration:
    """State of a run after one iteration.

    Parameters
    ----------
    number
        Counted from 0, the initial point.
    parameters
        Best free parameters so far, shape (n,).
    cost
        Cost at `parameters`.
    simulations, jacobians
        Counted from the start of the run.
    seconds
        Wall time since the start of the run.
    details
        What else the estimator wants in ``history.csv``, by column name.
    stage
        Name of the stage; empty in a problem without stages.
    """

    number: int
    parameters: F64
    cost: float
    simulations: int
    jacobians: int
    seconds: float
    details: Mapping[str, float] = field(default_factory=dict)
    stage: str = ""


class Monitor(Protocol):
    """Through which an estimator reports."""

    def iteration(self, parameters: F64, cost: float, **details: float) -> None:
        """Report the end of an iteration.

        Raises
        ------
        StopEstimation
            When a plugin asks for the end; let it pass through.
        """

    def generation(self, points: F64, costs: F64) -> None:
        """Report the vectors that a population method evaluated since the last call.

        They end up in ``population.csv`` and in the plots of the report.

        Parameters
        ----------
        points
            Free parameters in physical units, shape (k, n).
        costs
            Shape (k,), infinite where the simulation failed.
        """

    def search_ended(self, parameters: F64, cost: float) -> None:
        """Report where one of several searches has ended, for those who watch the run.

        Parameters
        ----------
        parameters
            Shape (n,), physical units.
        cost
            There, as of the other searches.
        """

    def note(self, message: str) -> None:
        """Report something the user should know; it ends up in the result's notes."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws from the posterior distribution of the free parameters.

    Parameters
    ----------
    values
        Physical units, shape (chains, draws, n); independent chains of equal length.
    densities
        Logarithm of the posterior density of each, up to a constant, shape (chains, draws).
    bulk, tail
        Effective number of draws of each parameter, of those that were judged, shape (n,).
    r_hat
        Rank-normalised split R-hat of each parameter, shape (n,); 1 where chains agree.
    count
        Draws that were judged; `values` may be every so many of them.
    """

    values: F64
    densities: F64
    bulk: F64
    tail: F64
    r_hat: F64
    count: int

    @property
    def flat(self) -> F64:
        """All draws below each other, shape (k, n)."""
        return self.values.reshape(-1, self.values.shape[2])


@dataclass(frozen=True, eq=False)
class HeldDirections:
    """What an estimate held where it started, since the data do not determine it.

    Parameters
    ----------
    moved
        Directions along which the estimate is that of least squares, in the search space,
        orthonormal columns, shape (n, r); zero for parameters on a bound. Across them it is at the
        problem's initial values.
    rule
        ``"noise"``: those that the data determine to better than `limit` units of the search
        space; ``"relative"``: those with a singular value above `limit` times the largest.
    limit
        Of the rule.
    least_cost
        Of the search that held nothing.
    """

    moved: F64
    rule: Literal["noise", "relative"]
    limit: float
    least_cost: float


@dataclass(frozen=True)
class Estimate:
    """What an estimator returns.

    Parameters
    ----------
    parameters
        Free parameters found, shape (n,), physical units.
    status
        How it ended.
    message
        The same in words.
    details
        What else the estimator found, for the result's settings; numbers, text, lists and
        mappings only.
    residual_weights
        Factor that the estimator put on each whitened residual, shape (m,), so that the
        uncertainty is that of what it solved; zero for residuals it held out. ``None``: all
        count as they are.
    series
        Estimates over time, of online estimators.
    residual_scores
        Of the whitened residuals at `parameters`, where a robust loss was minimised, so that
        the uncertainty is that of such an estimate; not together with `residual_weights`.
    ended_by
        With the status ``"limit"``, what ended it; ``None`` counts as ``"limit"``.
    draws
        From the posterior distribution: standard errors, covariance and intervals are then those of
        the draws, and `parameters` their medians.
    held_directions
        What it held at the start; ``None``: nothing.
    base
        The combinations of parameters that it has solved for, single parameters included, where it
        knows that only these act on the outputs, and no bound keeps one of them from its best
        value. What their members are is its choice then, on a bound or not.
    """

    parameters: F64
    status: Status
    message: str
    details: Mapping[str, object] = field(default_factory=dict)
    residual_weights: F64 | None = None
    series: tuple[TimeSeriesEstimate, ...] = ()
    residual_scores: ResidualScores | None = None
    ended_by: Ending | None = None
    draws: Draws | None = None
    held_directions: HeldDirections | None = None
    base: tuple[DeterminedCombination, ...] = ()


Options = TypeVar("Options")


class Estimator(ABC, Generic[Options]):
    """Base class of all estimators.

    Class attributes
    ----------------
    name
        Name in the problem file's ``[estimator]`` table.
    summary
        One line for ``fmident plugins``.
    options_type
        A frozen dataclass whose fields, types and defaults define the keys that the
        ``[estimator]`` table may have; the host validates and builds it.
    accepts_inert_parameters
        Whether free parameters without influence on the outputs are left to the estimator.
        Most cannot do anything with them, so that the host refuses such a problem.
    any_cost
        Whether it minimises the residuals or costs that the evaluator gives, whatever the
        problem's cost makes of the data. One that solves equations of its own does not, and is
        refused together with another cost than ``time-domain``.
    takes_priors
        Whether priors of the parameters count in what it finds. They are rows of the residuals and
        parts of the cost that the evaluator gives, so that ``None``, the default, means the same as
        `any_cost`; a problem with priors is refused otherwise.
    keeps_constraints
        Whether it keeps the constraints of the problem (:meth:`~fmident.problem.Constraints.of`),
        equalities and inequalities. For one that does not, bounds and dependent parameters take the
        place of linear ones where they can, and other problems with constraints are refused.
    descends
        Whether it goes down the cost to the nearest minimum: a further search of that kind from
        where it ended leads no further.
    needs
        What a problem must have for this estimator, in words; empty when any will do.
    requires
        The same for machines, as far as there is a word for it; empty when any problem will
        do. The conformance suite (:mod:`fmident.testing`) chooses its problems by it.
    trials
        Tables of options under which the conformance suite runs the estimator, for one whose
        defaults take long or find little on a problem with two parameters.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    accepts_inert_parameters: ClassVar[bool] = False
    options_type: ClassVar[type[Any]]
    any_cost: ClassVar[bool] = True
    takes_priors: ClassVar[bool | None] = None
    keeps_constraints: ClassVar[bool] = False
    descends: ClassVar[bool] = False
    needs: ClassVar[str] = ""
    requires: ClassVar[frozenset[Requirement]] = frozenset()
    trials: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)

    @abstractmethod
    def estimate(
        self, problem: Problem, evaluator: Evaluator, options: Options, monitor: Monitor
    ) -> Estimate:
        """Search for the parameters.

        The host has simulated the initial point before, so that it is known to work.
        ``KeyboardInterrupt``, :class:`StopEstimation` and
        :class:`~fmident.evaluation.JacobianError` are to pass through: the host ends the run
        with the best point so far.

        Parameters
        ----------
        problem
            What is known: free parameters, bounds, experiments.
        evaluator
            Residuals, Jacobians, costs. A failed simulation is NaN (residuals) or
            infinite (cost), never an exception.
        options
            An instance of `options_type`.
        monitor
            Call its ``iteration`` at the initial point and after each iteration.

        Returns
        -------
        Estimate
            Inside the bounds.
        """

    def minimise(
        self, problem: Problem, evaluator: Evaluator, options: Options, monitor: Monitor
    ) -> Estimate:
        """Return the least cost alone, for one whose :meth:`estimate` goes on from there.

        Asked while parameters and a model of the noise are estimated in turn; :meth:`estimate`
        follows once both agree. The default is :meth:`estimate` itself.

        Parameters
        ----------
        problem, evaluator, options, monitor
            As of :meth:`estimate`.
        """
        return self.estimate(problem, evaluator, options, monitor)

    def check_problem(self, problem: Problem, options: Options) -> None:
        """Refuse a problem that this estimator cannot solve; the default takes all.

        Asked when the file is read, and before the first of several stages, so that a
        mistake need not wait for hours of simulation. Nothing is simulated here.

        Parameters
        ----------
        problem
            As it would be estimated; the initial values of a later stage may still change.
        options
            An instance of `options_type`.

        Raises
        ------
        fmident.errors.ProblemError
            What is missing. Without a location it gets that of the estimator's table.
        """

    def holds_directions(self, options: Options) -> bool:
        """Return whether it may hold directions at the start (:class:`HeldDirections`).

        Stages refuse that: they do not hand on what was held.

        Parameters
        ----------
        options
            An instance of `options_type`.
        """
        return False

    def takes_inert(self, options: Options) -> bool:
        """Return whether free parameters without influence on the outputs are left to it."""
        return self.accepts_inert_parameters or self.holds_directions(options)

    def expected_simulations(self, options: Options, problem: Problem) -> int | None:
        """Return how many runs of the FMU to expect, for the user's planning.

        Parameters
        ----------
        options
            An instance of `options_type`.
        problem
            As it would be estimated; one point costs one run per experiment.

        Returns
        -------
        int or None
            A rough figure, the least that a search takes; ``None``, the default, when it is not
            known.
        """
        return None

    def most_simulations(self, options: Options, problem: Problem) -> int | None:
        """Return how many runs of the FMU a search that goes slowly takes.

        Parameters and unit are those of :meth:`expected_simulations`.

        Returns
        -------
        int or None
            ``None``, the default, when it is not known.
        """
        return None
