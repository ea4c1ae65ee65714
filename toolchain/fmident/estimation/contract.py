"""The contract of estimator plugins.

An estimator has access to a :class:`~fmident.problem.Problem` and an
:class:`~fmident.evaluation.Evaluator`, never to an FMU. It reports progress to
a :class:`Monitor` and returns an :class:`Estimate`; the host adds uncertainty, report
and files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64

if TYPE_CHECKING:
    from fmident.evaluation import Evaluator
    from fmident.problem.model import Problem
    from fmident.statistics.identifiability import DeterminedCombination
    from fmident.statistics.residuals import ResidualScores


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
    """State of a run after one iteration, counted from 0, the initial point.

    `parameters` are the best so far, shape (n,), with their `cost`; effort and wall time are
    counted from the start of the run. `details` are further columns of ``history.csv``. The name of
    the `stage` is empty in a problem without stages.
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
    """Interface through which an estimator reports."""

    def iteration(self, parameters: F64, cost: float, **details: float) -> None:
        """Report the end of an iteration.

        Raises
        ------
        StopEstimation
            If a plugin requests the end; do not catch it.
        """

    def generation(self, points: F64, costs: F64) -> None:
        """Report the vectors that a population method evaluated since the last call.

        They are written to ``population.csv`` and plotted in the report. `points` are physical,
        shape (k, n); the `costs`, shape (k,), are infinite where the simulation failed.
        """

    def search_ended(self, parameters: F64, cost: float) -> None:
        """Report the end of one of several searches, at physical parameters, for displays.

        The costs of all searches are comparable.
        """

    def note(self, message: str) -> None:
        """Add a message for the user to the result's notes."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws from the posterior distribution of the free parameters.

    `values` are physical, shape (chains, draws, n), of independent chains of equal length;
    `densities`, shape (chains, draws), are logarithms of the posterior density, up to a constant.
    `bulk` and `tail` are the effective numbers of draws of each parameter, shape (n,), and `r_hat`
    is the rank-normalised split R-hat, 1 if chains agree; `count` is the number of draws before
    thinning.
    """

    values: F64
    densities: F64
    bulk: F64
    tail: F64
    r_hat: F64
    count: int

    @property
    def flat(self) -> F64:
        """Draws of all chains, shape (k, n)."""
        return self.values.reshape(-1, self.values.shape[2])


class Flag(IntEnum):
    """State of an online estimation at an instant."""

    GOOD = 0
    """There is an estimate."""
    FILLING = 1
    """Too few samples so far."""
    SINGULAR = 2
    """The samples do not determine the parameters, as at rest."""
    MISSING = 3
    """A sample is missing."""
    SKIPPED = 4
    """The estimator leaves this sample out, as its options say."""


@dataclass(frozen=True, eq=False)
class OnlineEstimate:
    """The present estimate of an online estimator.

    `time` is that of the last sample, s; `values` and `standard_errors` of the free parameters have
    the shape (n,), errors are NaN when unknown.
    """

    time: float
    values: F64
    standard_errors: F64


@dataclass(frozen=True, eq=False)
class TimeSeriesEstimate:
    """The estimates of one experiment over time.

    `names` and `units` are those of the n free parameters. `times` of the samples are in s, shape
    (k,); `values` and `standard_errors`, shape (k, n), are NaN without estimate or standard error.
    `flags` has a :class:`Flag` for each sample.
    """

    experiment: str
    names: tuple[str, ...]
    units: tuple[str | None, ...]
    times: F64
    values: F64
    standard_errors: F64
    flags: npt.NDArray[np.uint8]

    @property
    def good(self) -> npt.NDArray[np.bool_]:
        """Whether there is an estimate, shape (k,)."""
        mask: npt.NDArray[np.bool_] = self.flags == Flag.GOOD
        return mask

    @property
    def last(self) -> OnlineEstimate | None:
        """Last estimate, or ``None``."""
        where = np.flatnonzero(self.good)
        if where.size == 0:
            return None
        k = int(where[-1])
        return OnlineEstimate(float(self.times[k]), self.values[k], self.standard_errors[k])


@dataclass(frozen=True)
class Estimate:
    """The result of an estimator.

    Parameters
    ----------
    parameters
        Estimated free parameters, shape (n,), physical units.
    status
        How the search ended.
    message
        The same in words.
    details
        Further results for the result's settings; only numbers, text, lists and mappings.
    residual_weights
        Factors that the estimator applied to the whitened residuals, shape (m,), so that
        the uncertainty is that of the solved problem; zero for residuals that it left out.
        ``None``: all are 1.
    series
        Estimates over time, of online estimators.
    residual_scores
        Of the whitened residuals of the data at `parameters` if a robust loss was minimised, so
        that the uncertainty is that of such an estimate; not together with `residual_weights`.
    ended_by
        What ended a search with the status ``"limit"``; ``None`` means ``"limit"``.
    draws
        From the posterior distribution: standard errors, covariance and intervals are then
        those of the draws, and `parameters` their medians.
    base
        Combinations of parameters that it has solved for, including single parameters, if
        it knows that only these affect the outputs, and no bound keeps one of them from its
        optimum, or the estimate is `constrained`. It may choose their members freely, on a bound
        or not.
    constrained
        A constraint of the estimator itself keeps it from the minimum. Intervals are those
        without the constraint, around the estimate.
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
    base: tuple[DeterminedCombination, ...] = ()
    constrained: bool = False


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
        A frozen dataclass whose fields, types and defaults define the keys of the
        ``[estimator]`` table; the host validates and builds it.
    accepts_inert_parameters
        Whether it handles free parameters without influence on the outputs. Most estimators
        cannot, and the host rejects such a problem.
    any_cost
        Whether it minimises the residuals or costs of the evaluator, whatever the cost
        function. An estimator that solves its own equations does not, and is rejected with
        costs other than ``time-domain``.
    takes_priors
        Whether it uses priors of the parameters. They are rows of the residuals and parts
        of the cost of the evaluator, so that ``None``, the default, means the same as
        `any_cost`; if it does not use them, a problem with priors is rejected.
    keeps_constraints
        Whether it satisfies the constraints of the problem
        (:meth:`~fmident.problem.Constraints.of`), equalities and inequalities. For other
        estimators, bounds and dependent parameters replace linear constraints if possible,
        and problems with further constraints are rejected.
    descends
        Whether it descends to the nearest local minimum of the cost, so that another such
        search from its result makes no progress.
    needs
        What a problem must have for this estimator, in words; empty for any problem.
    requires
        The same as identifiers, as far as these exist; empty for any problem. The
        conformance suite (:mod:`fmident.testing`) selects its problems by it.
    trials
        Option tables for the conformance suite, for an estimator whose defaults take long
        or are unsuitable for a problem with two parameters.
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

        The host has simulated the initial point successfully before. Do not catch
        ``KeyboardInterrupt``, :class:`StopEstimation` and
        :class:`~fmident.evaluation.JacobianError`: the host ends the run with the best point so
        far.

        Parameters
        ----------
        problem
            Free parameters, bounds, experiments.
        evaluator
            Residuals, Jacobians, costs. A failed simulation is NaN (residuals) or infinite
            (cost), never an exception.
        options
            An instance of `options_type`.
        monitor
            Call its ``iteration`` at the initial point and after each iteration.

        Returns
        -------
        Estimate
            Within the bounds.
        """

    def minimise(
        self, problem: Problem, evaluator: Evaluator, options: Options, monitor: Monitor
    ) -> Estimate:
        """Minimise the cost only, for an estimator whose :meth:`estimate` does more.

        Called while parameters and a noise model are estimated alternately; :meth:`estimate`
        follows once both agree. The default is :meth:`estimate` itself, which has the same
        parameters.
        """
        return self.estimate(problem, evaluator, options, monitor)

    def check_problem(self, problem: Problem, options: Options) -> None:
        """Reject a problem that this estimator cannot solve; the default accepts all.

        Called when the file is read, and before the first of several stages, so that a mistake
        is reported before hours of simulation. It must not simulate.

        Parameters
        ----------
        problem
            As it would be estimated; the initial values of a later stage may still change.
        options
            An instance of `options_type`.

        Raises
        ------
        fmident.errors.ProblemError
            What is missing. Without a location it receives that of the estimator's table.
        """

    def expected_simulations(self, options: Options, problem: Problem) -> int | None:
        """Return the expected number of FMU runs, for the user's planning.

        Parameters
        ----------
        options
            An instance of `options_type`.
        problem
            As it would be estimated; one point costs one run per experiment.

        Returns
        -------
        int or None
            A rough number, the least that a search takes; ``None``, the default, if unknown.
        """
        return None

    def most_simulations(self, options: Options, problem: Problem) -> int | None:
        """Return the number of FMU runs of a slow search; ``None``, the default, if unknown.

        Parameters and unit are those of :meth:`expected_simulations`.
        """
        return None


@dataclass(frozen=True)
class Generation:
    """Simulated vectors of one generation, in their order.

    `points` are free parameters in physical units, shape (k, n); `costs` are infinite where
    the simulation failed; the stage's name is empty in a problem without stages.
    """

    points: F64
    costs: F64
    stage: str = ""

    @classmethod
    def of(cls, points: F64, costs: F64, stage: str = "") -> Generation:
        """Return a generation with read-only copies; ``ValueError`` if the shapes do not fit."""
        vectors = np.array(points, dtype=np.float64, ndmin=2)
        values = np.array(costs, dtype=np.float64, ndmin=1)
        if vectors.ndim != 2 or values.shape != (vectors.shape[0],):
            raise ValueError(f"points of shape {vectors.shape} and costs of shape {values.shape}")
        vectors.flags.writeable = values.flags.writeable = False
        return cls(vectors, values, stage)
