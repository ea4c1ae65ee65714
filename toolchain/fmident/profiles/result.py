"""Profiles as immutable data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fmident.arrays import F64
from fmident.findings import Finding, Noted
from fmident.views import Panels, frame, plot

if TYPE_CHECKING:
    import pandas as pd


Outcome = Literal["reached", "bound", "reach", "failure", "limit", "unfinished"]
"""How a walk ended: the cost has risen enough; it met a bound; it came as far as it goes; no
simulation works further on; it took too many points; the run was interrupted."""

VerdictKind = Literal[
    "agrees",
    "asymmetric",
    "differs",
    "one-sided",
    "open",
    "not-identifiable",
    "unfinished",
    "fails",
]

Status = Literal["complete", "interrupted"]


@dataclass(frozen=True)
class ProfilePoint:
    """Minimum cost at one value of the profiled parameter.

    `parameters` are all free ones there, shape (n,). `tau` is the signed root of twice the cost
    increase over the residual variance, and `slope` its derivative with respect to the parameter,
    NaN if unknown. Where it is not `converged`, the cost is an upper bound.
    """

    value: float
    parameters: F64
    cost: float
    tau: float
    slope: float
    converged: bool = True


@dataclass(frozen=True)
class ProfileEnd:
    """One end of an interval.

    `value` is infinite if the interval is open, NaN if unknown, and the bound where the estimate
    lies on one. The walk came as far as `reached`, and `tau` is its maximum magnitude on the way;
    `reason` says why there is no end.
    """

    outcome: Outcome
    value: float
    reached: float
    tau: float
    reason: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the data do not limit the parameter on this side."""
        return self.outcome in ("bound", "reach") and not math.isfinite(self.value)


@dataclass(frozen=True)
class ProfileVerdict:
    """Comparison of a profile with the linearised interval, as a code and in words."""

    kind: VerdictKind
    text: str


@dataclass(frozen=True)
class ParameterProfile:
    """The profile of one parameter.

    Parameters
    ----------
    log
        Whether the parameter has log scaling.
    standard_error, linearised
        Linearised, and the interval of the same level that follows; NaN on a bound, infinite if the
        parameter is not identifiable.
    points
        Sorted by value; includes the estimate with tau 0.
    factor
        Factor on tau at the ends and on the linearised interval: 1 for independent noise
        and exactly known values of all held parameters.
    """

    name: str
    unit: str | None
    log: bool
    value: float
    bounds: tuple[float, float]
    standard_error: float
    linearised: tuple[float, float]
    points: tuple[ProfilePoint, ...]
    lower: ProfileEnd
    upper: ProfileEnd
    verdict: ProfileVerdict
    factor: float = 1.0

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends; infinite if open."""
        return self.lower.value, self.upper.value


@dataclass(frozen=True)
class RegionEnd:
    """End of the joint region of two parameters in one direction.

    `angle` is that of the direction, rad, after mapping the linearised region to a circle; `values`
    are both parameters at the end, or at the last point where `reason` says why there is no end;
    `distance` is relative to that of the linearised end.
    """

    angle: float
    values: tuple[float, float]
    distance: float
    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True)
class JointRegion:
    """Joint confidence region of two parameters.

    Parameters
    ----------
    critical_tau
        Tau on the edge: larger than for one parameter, so that the region extends beyond
        the intervals. For white noise and exactly known values of all held parameters.
    ends
        By increasing angle.
    linearised
        Edge of the linearised region, shape (k, 2), in the parameters' units; empty if
        unbounded.
    factors
        Minimum and maximum factor on `critical_tau` over all directions, which accounts for
        non-white noise and the uncertainty of held values.
    """

    names: tuple[str, str]
    units: tuple[str | None, str | None]
    log: tuple[bool, bool]
    estimate: tuple[float, float]
    critical_tau: float
    ends: tuple[RegionEnd, ...]
    linearised: F64
    verdict: ProfileVerdict
    factors: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True, repr=False)
class ProfileResult(Noted):
    """Profiles of several parameters.

    Parameters
    ----------
    level
        Probability of the intervals.
    critical_tau, threshold
        Magnitude of tau, and cost increase, at their ends.
    sigma_known
        Whether the noise was given.
    variance, freedom
        Variance and degrees of freedom of the residuals; the variance is 1 if the noise was
        given.
    cost, values
        Those of the estimate.
    simulations, jacobians, seconds
        Computational effort, including that at the estimate.
    settings
        Options used, and the executor.
    """

    contents: ClassVar[str] = "PROFILES"
    status: Status
    level: float
    critical_tau: float
    threshold: float
    sigma_known: bool
    variance: float
    freedom: int
    cost: float
    values: Mapping[str, float]
    profiles: tuple[ParameterProfile, ...]
    simulations: int
    jacobians: int
    seconds: float
    findings: tuple[Finding, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    regions: tuple[JointRegion, ...] = ()

    def __repr__(self) -> str:
        ends = ["{} [{:.6g}, {:.6g}]".format(p.name, *p.interval) for p in self.profiles]
        return f"<ProfileResult {self.status}: {', '.join(ends)}>"

    def plot_profile(
        self, name: str | None = None, *, kind: Literal["tau", "rise"] = "tau", ax: Any = None
    ) -> Panels:
        """Plot profiles with Matplotlib.

        Parameters
        ----------
        name
            Name of a parameter; all by default.
        kind
            ``"tau"``, or ``"rise"``: twice the cost increase over the variance.
        ax
            Axes to draw on, one for each profile; a new figure by default.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Shape (n,).

        Raises
        ------
        fmident.errors.EstimationError
            There is no profile of this name, or the number of axes differs.
        """
        return plot("plot_profile", self, name, kind, ax)

    @property
    def parameters(self) -> pd.DataFrame:
        """One row per profiled parameter: the estimate, both intervals, the verdict."""
        rows = [
            {
                "value": p.value,
                "low": p.interval[0],
                "high": p.interval[1],
                "linearised_low": p.linearised[0],
                "linearised_high": p.linearised[1],
                "unit": p.unit,
                "verdict": p.verdict.kind,
            }
            for p in self.profiles
        ]
        return frame(rows, index=[p.name for p in self.profiles])

    @property
    def intervals(self) -> pd.DataFrame:
        """The same as `parameters`."""
        return self.parameters

    @property
    def points(self) -> pd.DataFrame:
        """All points of all profiles; the free parameters are the last columns."""
        rows = [
            {
                "profile": p.name,
                "value": q.value,
                "cost": q.cost,
                "rise": q.cost - self.cost,
                "tau": q.tau,
                "converged": q.converged,
                **dict(zip(self.values, q.parameters.tolist(), strict=True)),
            }
            for p in self.profiles
            for q in p.points
        ]
        columns = ["profile", "value", "cost", "rise", "tau", "converged", *self.values]
        return frame(rows, columns)
