"""Profiles as immutable data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.views import view

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

    Parameters
    ----------
    value
        Value of the profiled parameter, in its unit.
    parameters
        All free parameters there, shape (n,).
    cost
        ``1/2 sum r^2``.
    tau
        Signed root of twice the cost increase over the residual variance.
    slope
        Derivative of tau with respect to the parameter, per its unit; NaN if unknown.
    converged
        Whether the other parameters are optimal; otherwise the cost is an upper bound.
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

    Parameters
    ----------
    outcome
        How the walk ended.
    value
        The end; infinite if the interval is open, NaN if unknown. If the estimate lies on a
        bound, that bound.
    reached
        The last value reached by the walk.
    tau
        Maximum magnitude of tau on the way.
    reason
        Why there is no end; empty if there is one.
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
    name, unit
        Name and unit of the parameter.
    log
        Whether it has log scaling.
    value
        The estimate.
    bounds
        Lower and upper.
    standard_error
        Linearised; NaN if there is none.
    linearised
        The linearised interval of the same level; infinite if the parameter is not
        identifiable, NaN on a bound.
    points
        Sorted by value; includes the estimate with tau 0.
    lower, upper
        The ends.
    verdict
        Comparison of both intervals.
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

    Parameters
    ----------
    angle
        Angle of the direction, rad, after mapping the linearised region to a circle.
    values
        Values of both parameters at the end, or at the last point if there is no end.
    distance
        Distance from the estimate relative to that of the linearised end.
    outcome
        How the walk ended.
    reason
        Why there is no end; empty if there is one.
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
    names, units
        Names and units of the parameters.
    log
        Which of them have log scaling.
    estimate
        Estimates of both.
    critical_tau
        Tau on the edge: larger than for one parameter, so that the region extends beyond
        the intervals. For white noise and exactly known values of all held parameters.
    ends
        By increasing angle.
    linearised
        Edge of the linearised region, shape (k, 2), in the parameters' units; empty if
        unbounded.
    verdict
        Comparison with the linearised region.
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
class ProfileResult:
    """Profiles of several parameters.

    Parameters
    ----------
    status
        Whether all walks were completed.
    level
        Probability of the intervals.
    critical_tau
        Magnitude of tau at their ends.
    threshold
        Cost increase at their ends.
    sigma_known
        Whether the noise was given.
    variance, freedom
        Variance and degrees of freedom of the residuals; the variance is 1 if the noise was
        given.
    cost
        Cost at the estimate.
    parameters
        The estimate, all free parameters by name.
    profiles
        One per requested parameter.
    simulations, jacobians
        Numbers for the profiles, including those at the estimate.
    seconds
        Wall time.
    settings
        Options used, and the executor.
    regions
        One per requested pair of parameters.
    """

    status: Status
    level: float
    critical_tau: float
    threshold: float
    sigma_known: bool
    variance: float
    freedom: int
    cost: float
    parameters: Mapping[str, float]
    profiles: tuple[ParameterProfile, ...]
    simulations: int
    jacobians: int
    seconds: float
    notes: tuple[str, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    regions: tuple[JointRegion, ...] = ()

    def __repr__(self) -> str:
        ends = ["{} [{:.6g}, {:.6g}]".format(p.name, *p.interval) for p in self.profiles]
        return f"<ProfileResult {self.status}: {', '.join(ends)}>"

    def _repr_html_(self) -> str:
        html: str = view("PROFILES").view(self)
        return html

    def plot_profile(
        self, name: str | None = None, *, kind: Literal["tau", "rise"] = "tau", ax: Any = None
    ) -> npt.NDArray[np.object_]:
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
        drawn: npt.NDArray[np.object_] = view("plot_profile")(self, name, kind, ax)
        return drawn

    @property
    def intervals(self) -> pd.DataFrame:
        """One row per parameter: the estimate, both intervals, the verdict."""
        import pandas as pd  # here, since it is slow to import and seldom needed

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
        return pd.DataFrame(rows, index=pd.Index([p.name for p in self.profiles], name="name"))

    @property
    def points(self) -> pd.DataFrame:
        """All points of all profiles; the free parameters are the last columns."""
        import pandas as pd  # here, since it is slow to import and seldom needed

        rows = [
            {
                "profile": p.name,
                "value": q.value,
                "cost": q.cost,
                "rise": q.cost - self.cost,
                "tau": q.tau,
                "converged": q.converged,
                **dict(zip(self.parameters, q.parameters.tolist(), strict=True)),
            }
            for p in self.profiles
            for q in p.points
        ]
        columns = ["profile", "value", "cost", "rise", "tau", "converged", *self.parameters]
        return pd.DataFrame(rows, columns=columns)
