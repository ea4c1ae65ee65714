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
    """The least cost at one value of the profiled parameter.

    Parameters
    ----------
    value
        Of the profiled parameter, in its unit.
    parameters
        All free parameters there, shape (n,).
    cost
        ``1/2 sum r^2``.
    tau
        Signed root of twice the rise of the cost over the residual variance.
    slope
        Derivative of tau with respect to the parameter, per its unit; NaN where it is unknown.
    converged
        Whether the other parameters are at their best values; if not, the cost is an upper limit.
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
        The end; infinite where the interval is open, NaN where it is not known. Where the estimate
        lies on its bound, that bound.
    reached
        The last value to which the walk came.
    tau
        Greatest magnitude of tau on the way.
    reason
        In words, why there is no end; empty where there is one.
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
    """What a profile says about the linearised interval.

    Parameters
    ----------
    kind
        For programs.
    text
        The same in words.
    """

    kind: VerdictKind
    text: str


@dataclass(frozen=True)
class ParameterProfile:
    """The profile of one parameter.

    Parameters
    ----------
    name, unit
        Of the parameter.
    log
        Whether it has log scaling.
    value
        The estimate.
    bounds
        Lower and upper.
    standard_error
        Linearised; NaN where there is none.
    linearised
        The linearised interval of the same level; infinite where the parameter is not
        identifiable, NaN on a bound.
    points
        Rising in the value; the estimate is among them with tau 0.
    lower, upper
        The ends.
    verdict
        Comparison of both intervals.
    factor
        That tau at the ends, and the linearised interval, are multiplied with: 1 for independent
        noise and exactly known values of all that is held.
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
        """Both ends; infinite where open."""
        return self.lower.value, self.upper.value


@dataclass(frozen=True)
class RegionEnd:
    """Where the joint region of two parameters ends in one direction.

    Parameters
    ----------
    angle
        Of the direction, rad: in units of the linearised region, in which that is a circle.
    values
        Of both parameters at the end; where there is none, at the last point.
    distance
        From the estimate, in distances of the linearised end.
    outcome
        How the walk ended.
    reason
        In words, why there is no end; empty where there is one.
    """

    angle: float
    values: tuple[float, float]
    distance: float
    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True)
class JointRegion:
    """The region in which two parameters lie together.

    Parameters
    ----------
    names, units
        Of the parameters.
    log
        Which of them have log scaling.
    estimate
        Of both.
    critical_tau
        On its edge: larger than for one parameter, so that the region reaches beyond the intervals.
        For white noise, and all that is held exactly known.
    ends
        By rising angle.
    linearised
        The edge of the linearised region, shape (k, 2), in the parameters' units; empty where the
        linearised one has no edge.
    verdict
        What the region says about the linearised one.
    factors
        Smallest and largest one that `critical_tau` has been multiplied with, by direction, since
        noise is not white or what is held not exactly known.
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
        Whether all walks ended by themselves.
    level
        Probability of the intervals.
    critical_tau
        Magnitude of tau at their ends.
    threshold
        Rise of the cost at their ends.
    sigma_known
        Whether the noise was given.
    variance, freedom
        Of the residuals; the variance is 1 when the noise was given.
    cost
        At the estimate.
    parameters
        The estimate, all free parameters by name.
    profiles
        One per parameter asked for.
    simulations, jacobians
        For the profiles, those at the estimate included.
    seconds
        Wall time.
    notes
        What the user should know.
    settings
        Options as used, and who ran the simulations.
    regions
        One for each pair of parameters asked for.
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
        """Draw profiles with Matplotlib.

        Parameters
        ----------
        name
            Of a parameter; all by default.
        kind
            ``"tau"``, or ``"rise"``: twice the rise of the cost over the variance.
        ax
            Axes to draw on, one for each profile; a new figure by default.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Shape (n,).

        Raises
        ------
        fmident.errors.EstimationError
            There is no profile of this name, or another number of axes.
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
        """All points of all profiles; columns of the free parameters come last."""
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
