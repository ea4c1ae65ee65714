"""The result of an estimation as immutable data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from fmident.arrays import F64
from fmident.errors import EstimationError, unknown_name
from fmident.estimation.comparisons import (
    CountedNoise,
    DrawnPosterior,
    InputSignal,
    OutputFit,
    OutputSensitivity,
    PriorKnowledge,
    ResidualCheck,
    Validation,
)
from fmident.estimation.contract import Ending, Generation, Iteration, Status, TimeSeriesEstimate
from fmident.findings import Finding, Noted, in_order
from fmident.problem.cost import TimeDomain
from fmident.problem.residuals import DerivativeOrigin, summary_of
from fmident.statistics.identifiability import DeterminedCombination, Identifiability
from fmident.views import Panels, plot, view

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from fmident.problem.model import Parameter

CURVED = 0.5
"""Relative curvature at the end of an interval up to which the model counts as linear (Bates and
Watts, J. Royal Statistical Society B 42, 1980)."""


class Drawable:
    """Plots of an :class:`~fmident.estimation.result.EstimationResult`."""

    def plot_fit(
        self, output: str | None = None, *, experiment: str | None = None, ax: Any = None
    ) -> Panels:
        """Plot measured, initial and fitted signals over time with Matplotlib.

        `output` and `experiment` are names; by default all that were fitted are plotted, and
        validation experiments only by name. `ax` are the axes to draw on, one for each output of
        each experiment; a new figure by default. Returns the axes, shape (n,), in the order of
        `fits`. Raises `EstimationError` for unknown names, no samples, or a wrong number of axes.
        """
        return plot("plot_fit", self, output, experiment, ax)

    def plot_residuals(
        self, output: str | None = None, *, experiment: str | None = None, ax: Any = None
    ) -> Panels:
        """Plot measured minus fitted over time, with 1.96 standard deviations of the noise.

        Parameters, value and errors are those of :meth:`plot_fit`. The lines of the noise are
        drawn where it is constant.
        """
        return plot("plot_residuals", self, output, experiment, ax)

    def plot_intervals(self, *, ax: Axes | None = None) -> Axes:
        """Plot the 95 % intervals of the parameters as deviations from the estimates in percent.

        A dashed line over the whole width is a parameter that the data do not determine.
        Without an interval, or if the estimate is 0, so that there is no percentage, only a
        point is drawn. `ax` are the axes to draw on; a new figure by default.
        """
        drawn: Axes = view("plot_intervals")(self, ax)
        return drawn

    def plot_convergence(self, *, ax: Axes | None = None) -> Axes:
        """Plot the cost over the iterations, a line for each start; of the last stage.

        `ax` are the axes to draw on; a new figure by default. Raises `EstimationError` if no
        iteration has a finite cost.
        """
        drawn: Axes = view("plot_convergence")(self, ax)
        return drawn

    def plot_draws(self, name: str | None = None, *, ax: Any = None) -> Panels:
        """Plot the draws of some chains from the posterior, a panel for each parameter.

        `name` is that of a parameter; all free ones by default. `ax` are the axes to draw on, one
        for each parameter; a new figure by default. Returns the axes, shape (n,). Raises
        `EstimationError` for no draws, an unknown name, or a wrong number of axes.
        """
        return plot("plot_draws", self, name, ax)

    def plot_corner(self, *, ax: Any = None) -> Panels:
        """Plot each pair of parameters over the draws from the posterior, and their histograms.

        `ax` are n x n axes to draw on, for n parameters (10 at most); a new figure by default.
        Returns the axes row by row, shape (n * n,); those above the diagonal are empty. Raises
        `EstimationError` for no draws, or a wrong number of axes.
        """
        return plot("plot_draws_corner", self, ax)


class Factor(NamedTuple):
    """A sum of parameters with coefficients, to a power."""

    power: int
    members: Mapping[str, float]


@dataclass(frozen=True)
class ParameterEstimate:
    """One parameter of the result.

    Parameters
    ----------
    name, unit, description
        As in the problem.
    initial, value
        Start and end of the search.
    standard_error
        ``nan`` when not identifiable or not computed.
    interval_95
        Lower and upper end of the 95 % interval, within the bounds; these, or infinity, when
        not identifiable, NaN when not computed.
    lower, upper
        Bounds.
    at_bound
        The value lies on a bound.
    held
        Bounds or constraints hold it against the data: it has no standard error, and those of the
        others hold for this value.
    fixed
        It was not estimated.
    variable
        The FMU variable it sets; ``None`` for a parameter of the measurement model only.
    experiments
        Those it affects; ``None`` means all.
    stage
        The last one that estimated it, and gave its uncertainty; empty without stages.
    expression
        Of a dependent parameter, whose standard error and interval follow by the chain
        rule, or of a base parameter; otherwise empty.
    base
        The base parameters of which it is a member: the data determine these, not the
        parameter itself, which therefore has neither standard error nor interval.
    factors
        Of a base parameter: the powers of its factors, and the coefficients of the members
        of each; otherwise empty. A sum is one factor with power 1.
    curvature
        Relative curvature of the model at the end of the linear interval
        (:mod:`~fmident.estimation.diagnostics.curvature`); ``None`` where it was not measured, as
        where the standard error is small.
    interval_kind
        ``"profile"`` where the interval is that of the profile likelihood since the model is
        curved; otherwise empty.
    """

    name: str
    unit: str | None
    description: str
    initial: float
    value: float
    standard_error: float
    interval_95: tuple[float, float]
    lower: float
    upper: float
    at_bound: bool
    fixed: bool
    variable: str | None = None
    experiments: tuple[str, ...] | None = None
    stage: str = ""
    expression: str = ""
    base: tuple[str, ...] = ()
    factors: tuple[Factor, ...] = ()
    held: bool = False
    curvature: float | None = None
    interval_kind: Literal["", "profile"] = ""

    @classmethod
    def of(cls, q: Parameter, value: float) -> ParameterEstimate:
        """Return a parameter without uncertainty."""
        return cls(
            q.name, q.unit, q.description, q.initial, value, np.nan, (np.nan, np.nan), q.lower,
            q.upper, at_bound=False, fixed=q.fixed, variable=q.variable, experiments=q.experiments,
            expression="" if q.expression is None else q.expression.text,
        )  # fmt: skip

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the members of a base parameter."""
        return tuple(dict.fromkeys(n for _, coefficients in self.factors for n in coefficients))

    @property
    def follows(self) -> str:
        """Expression of a dependent parameter, ``"= 3 kg - m1"``, or a constraint."""
        return self.expression if "=" in self.expression else f"= {self.expression}"

    @property
    def is_open(self) -> bool:
        """Whether the data leave it open: it has no standard error, and a range between bounds."""
        known = np.isfinite(self.standard_error) or np.isnan(self.interval_95[0])
        return not (self.held or known)

    @property
    def poorly_determined(self) -> bool:
        """Whether its standard error is larger than its value."""
        return self.standard_error > max(abs(self.value), abs(self.initial)) > 0.0

    @property
    def curved(self) -> bool:
        """Whether the model is too curved for a linear interval."""
        return self.curvature is not None and self.curvature > CURVED

    @property
    def searched(self) -> bool:
        """Whether an estimator estimated it: it is neither fixed nor dependent."""
        return not self.fixed and not self.expression


@dataclass(frozen=True)
class BaseParameter(ParameterEstimate):
    """A combination of parameters that the data determine, whatever the values of its members."""


_MOST_STEPS = 50
_KEPT = 1e-12
"""Relative change of a base parameter that is rounding."""

EXCHANGE_TOLERANCE = 1e-9
"""Advised for Model Exchange in place of a Co-Simulation that is too coarse."""


def combination_of(e: ParameterEstimate, names: Sequence[str]) -> DeterminedCombination:
    """Return a base parameter as a combination of the parameters with these names."""
    sums = np.array([[members.get(n, 0.0) for n in names] for _, members in e.factors])
    return DeterminedCombination(e.expression, sums, tuple(power for power, _ in e.factors))


def parameter_columns(estimates: Sequence[ParameterEstimate]) -> Mapping[str, list[Any]]:
    """Return the columns of the table of parameters: names and properties.

    Base parameters are rows like the others; their members have their names in ``base``.
    """
    return {
        "name": [e.name for e in estimates],
        "value": [e.value for e in estimates],
        "standard_error": [e.standard_error for e in estimates],
        "interval_95_low": [e.interval_95[0] for e in estimates],
        "interval_95_high": [e.interval_95[1] for e in estimates],
        "interval_kind": [e.interval_kind for e in estimates],
        "unit": [e.unit for e in estimates],
        "initial": [e.initial for e in estimates],
        "lower": [e.lower for e in estimates],
        "upper": [e.upper for e in estimates],
        "at_bound": [e.at_bound for e in estimates],
        "fixed": [e.fixed for e in estimates],
        "expression": [e.expression for e in estimates],
        "kind": ["base parameter" if e.factors else "parameter" for e in estimates],
        "base": [" ".join(e.base) for e in estimates],
    }


@dataclass(frozen=True)
class DerivativeCheck:
    """Verification of the derivatives behind the intervals, and effects of the integration.

    Parameters
    ----------
    tolerance, tightened
        Of the simulations, and of those for the derivatives if the other was not enough.
    shifts, step_shifts
        Parameters that the integration error, or half the communication step, moves by a
        noticeable fraction of their standard error, with that fraction.
    needed, substeps
        Tolerance and number of substeps that would avoid it, or ``None``.
    interpolation
        Of the inputs, with which Model Exchange reproduces an FMU that ignores the
        tolerance.
    unknown
        Why the error of such an FMU's solver is unknown; otherwise empty.
    share, step_share
        Root mean square of the integration error, and of the change by half the
        communication step, relative to that of the residuals; 0 if it need not be reported.
    """

    tolerance: float | None = None
    tightened: float | None = None
    ignores_tolerance: bool = False
    shifts: Mapping[str, float] = field(default_factory=dict)
    needed: float | None = None
    interpolation: str | None = None
    unknown: str = ""
    step_shifts: Mapping[str, float] = field(default_factory=dict)
    substeps: int | None = None
    share: float = 0.0
    step_share: float = 0.0

    @property
    def advice(self) -> str:
        """Advice against the shifts."""
        if self.needed is not None:
            return f"set evaluation.tolerance to {self.needed:g}"
        inputs = ""
        if self.interpolation is not None:
            inputs = f', evaluation.interpolation to "{self.interpolation}"'
        return (
            f'set evaluation.interface to "model-exchange"{inputs} and evaluation.tolerance to'
            f" {EXCHANGE_TOLERANCE:g}, or export the FMU with a finer solver or a tighter tolerance"
        )

    @property
    def step_advice(self) -> str:
        """Advice against the shifts by the step."""
        return f"set evaluation.substeps to {self.substeps}"


@dataclass(frozen=True)
class ConstraintCheck:
    """A constraint between parameters at the estimate.

    An equality, or an inequality without which the cost would be lower, is `active`. The
    slack is the difference of its sides in SI units, positive for a satisfied inequality.
    `parameters` are the free ones in it, directly or through dependent ones.
    """

    name: str
    text: str
    equality: bool
    active: bool
    violated: bool
    slack: float
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class StageUncertainty:
    """Effect of the values that a stage held on its intervals.

    Parameters
    ----------
    counted
        Parameters whose own uncertainty is part of the intervals.
    taken_for_known
        Estimates of an earlier stage that are treated as exact.
    shared_experiments, taken_for_independent
        Experiments whose samples an earlier stage has also used, with the resulting
        correlation included, or in another form, such as filtered differently.
    conditional_errors
        Standard errors of the parameters if all held values were exact.
    """

    counted: tuple[str, ...] = ()
    taken_for_known: tuple[str, ...] = ()
    shared_experiments: tuple[str, ...] = ()
    taken_for_independent: tuple[str, ...] = ()
    conditional_errors: Mapping[str, float] = field(default_factory=dict)
    simulations: int = 0


@dataclass(frozen=True)
class StageResult:
    """Result of one stage of a run, with its costs at start and end, and its effort.

    `parameters` are the estimates of its free parameters, `experiments` those it used.
    `identifiability` is ``None`` if it was not requested. `uncertainty` is the effect of
    held values on its intervals, ``None`` if none was estimated by an earlier stage, or
    without intervals.
    """

    name: str
    estimator: str
    cost: str
    cost_options: Mapping[str, object]
    cost_initial: float
    cost_final: float
    status: Status
    message: str
    parameters: Mapping[str, float]
    experiments: tuple[str, ...]
    simulations: int
    jacobians: int
    seconds: float
    identifiability: Identifiability | None = None
    uncertainty: StageUncertainty | None = None


@dataclass(frozen=True, repr=False)
class EstimationResult(Noted, Drawable):
    """Everything a run found.

    Parameters
    ----------
    status, message
        How it ended.
    estimator
        Name.
    estimates
        All parameters, fixed and dependent ones included.
    covariance, correlation
        Of the searched parameters, shape (n, n), physical units; NaN where not identifiable. After
        stages that hold what others have found, those of all of them together.
    identifiability
        ``None`` when the run ended before it could be computed.
    cost_initial, cost_final
        ``1/2 sum r^2`` of the residuals that the cost makes of the data.
    simulations, jacobians
        Counted over the run.
    seconds
        Wall time.
    history
        One row per iteration.
    fits
        One per output and experiment.
    findings
        What the user should know, the gravest first.
    fmu_name, fmu_guid, fmu_tool, fmu_path
        The FMU used.
    settings
        Options as used, steps of the finite differences, what the estimator added.
    series
        Estimates over time, of online estimators: one per experiment.
    residuals
        Whether the model explains the data; ``None`` when the run ended before it was known.
    cost, cost_options
        Name and options of what was minimised.
    stages
        How each stage ended; empty without stages. Cost, identifiability and residuals are
        those of the last one.
    derivatives
        How they were verified; ``None`` without intervals.
    generations
        Vectors that a population method evaluated, and their costs.
    assumed_units
        Columns of data files that have no unit in their header, with what was assumed: one
        sentence per experiment.
    ended_by
        What ended it, with the status ``"limit"``; else ``None``.
    derivative_origins
        Where those of the last Jacobian come from, by free parameter; empty without one.
    constraints
        At the estimate; of the last stage, where there are stages.
    validation
        On experiments that were not fitted; ``None`` without any.
    inputs
        Of all experiments.
    sensitivities
        Which samples determine which parameter, one per output and experiment; empty without
        standard errors.
    priors
        What they contributed, and whether they fit the data; ``None`` without any that counts.
    noise
        What standard errors and intervals count of the noise where it is not white noise of one
        size; of the last stage, where there are stages. ``None``: they are those for white noise.
    draws
        From the posterior distribution; ``None`` of estimators that do not draw. Standard errors,
        covariance and intervals are then theirs.
    whitened
        The fits with innovations in place of residuals, where the noise was modelled; not stored.
    base_parameters
        Combinations of parameters that the data determine where they do not determine each of
        these, whatever their values are: sums, products, products of sums.
    """

    contents: ClassVar[str] = "ESTIMATE"
    status: Status
    message: str
    estimator: str
    estimates: tuple[ParameterEstimate, ...]
    covariance: F64
    correlation: F64
    identifiability: Identifiability | None
    cost_initial: float
    cost_final: float
    simulations: int
    jacobians: int
    seconds: float
    history: tuple[Iteration, ...]
    fits: tuple[OutputFit, ...]
    findings: tuple[Finding, ...] = ()
    fmu_name: str = ""
    fmu_guid: str = ""
    fmu_tool: str = ""
    fmu_path: Path | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    series: tuple[TimeSeriesEstimate, ...] = ()
    residuals: ResidualCheck | None = None
    cost: str = TimeDomain.name
    cost_options: Mapping[str, object] = field(default_factory=dict)
    generations: tuple[Generation, ...] = ()
    stages: tuple[StageResult, ...] = ()
    derivatives: DerivativeCheck | None = None
    assumed_units: tuple[str, ...] = ()
    ended_by: Ending | None = None
    derivative_origins: Mapping[str, DerivativeOrigin] = field(default_factory=dict)
    constraints: tuple[ConstraintCheck, ...] = ()
    validation: Validation | None = None
    inputs: tuple[InputSignal, ...] = ()
    sensitivities: tuple[OutputSensitivity, ...] = ()
    priors: PriorKnowledge | None = None
    noise: CountedNoise | None = None
    draws: DrawnPosterior | None = None
    whitened: tuple[OutputFit, ...] = ()
    base_parameters: tuple[BaseParameter, ...] = ()

    @property
    def rows(self) -> tuple[ParameterEstimate, ...]:
        """Return all parameters and the base parameters, as in tables."""
        return (*self.estimates, *self.base_parameters)

    def with_findings(self, more: Iterable[Finding]) -> EstimationResult:
        """Return the result with further findings."""
        return replace(self, findings=in_order([*self.findings, *more]))

    @property
    def derivatives_by(self) -> str:
        """Origin of the derivatives, in words; empty if unknown."""
        return summary_of(self.derivative_origins)

    def __repr__(self) -> str:
        values = [f"{n} = {v:.6g}" for n, v in list(self.values.items())[:_MOST_LISTED]]
        more = ["..."] if len(self.values) > _MOST_LISTED else []
        return f"<EstimationResult {self.status}: {', '.join([*values, *more])}>"

    def __str__(self) -> str:
        """Return status, parameters with their uncertainty, identifiability and notes."""
        columns = ["value", "standard_error", "interval_95_low", "interval_95_high", "unit"]
        table = self.parameters[columns].to_string(
            index_names=False, na_rep="n/a", float_format=lambda x: f"{x:.6g}"
        )
        verdict = "" if self.identifiability is None else self.identifiability.verdict
        blocks = [
            f"{self.estimator}: {self.status} ({self.message}); cost {self.cost_initial:.6g} -> "
            f"{self.cost_final:.6g}",
            table,
            "\n".join([*([verdict] if verdict else []), *(f"note: {n}" for n in self.notes)]),
        ]
        return "\n\n".join(block for block in blocks if block)

    @property
    def parameters(self) -> pd.DataFrame:
        """One row per parameter and base parameter, indexed by name; estimates come first."""
        import pandas as pd  # here, since it is slow to import and seldom needed

        columns = dict(parameter_columns(self.rows))
        names = pd.Index(columns.pop("name"), name="name")
        return pd.DataFrame(columns, index=names)

    def covariance_of(self, names: Sequence[str]) -> F64 | None:
        """Return the joint covariance of parameters, (n, n); ``None`` unless all were searched.

        NaN where the data do not determine one, and 0 for one that is held on a bound.
        """
        searched = [e for e in self.estimates if e.searched]
        place = {e.name: k for k, e in enumerate(searched)}
        if self.covariance.shape != (len(searched),) * 2 or not place.keys() >= {*names}:
            return None
        order = [place[name] for name in names]
        covariance = np.array(self.covariance[np.ix_(order, order)], dtype=np.float64)
        held = np.array([searched[k].held for k in order], dtype=np.bool_)
        covariance[held] = covariance[:, held] = 0.0
        return covariance

    @property
    def values(self) -> dict[str, float]:
        """Values by parameter name."""
        return {e.name: e.value for e in self.estimates}

    def with_members(self, chosen: Mapping[str, float]) -> EstimationResult:
        """Return the result with other values of members of base parameters, by name.

        The outputs do not change: base parameters keep their values, and their leading members
        change with the chosen ones (eq. 10 of L. Pyrhonen and others, Linear-regression-based
        identification of closed-loop multibody systems, 2024); if a leading member is chosen, all
        others change as little as possible relative to their size. Raises `EstimationError` if a
        name is not that of a member, or the base parameters cannot be kept.
        """
        known = {e.name: e.value for e in self.estimates if e.base}
        for name in chosen:
            if name not in known:
                raise EstimationError(
                    f"'{name}' is not a member of a base parameter, whose value may be chosen",
                    **unknown_name(name, known, "member"),
                )
        names = list(known)
        base = [combination_of(b, names) for b in self.base_parameters]
        leading = {b.members[0] for b in self.base_parameters}
        free = {*names} - {*chosen}
        movable = free & leading if free >= leading else free
        indices = [j for j, n in enumerate(names) if n in movable]
        values = np.array([chosen.get(n, value) for n, value in known.items()])
        wanted = np.array([b.value for b in self.base_parameters])
        sizes = np.array([abs(known[names[j]]) or 1.0 for j in indices])
        for _ in range(_MOST_STEPS):
            left = wanted - [b.value(values) for b in base]
            slopes = np.array([b.gradient(values) for b in base])
            if bool((np.abs(left) <= _KEPT * (np.abs(slopes) @ np.abs(values))).all()):
                break
            steps = np.linalg.lstsq(slopes[:, indices] * sizes, left, rcond=None)[0]
            values[indices] += sizes * steps
        else:
            raise EstimationError(
                f"no values of the other members keep the base parameters with"
                f" {', '.join(f'{n} = {v:g}' for n, v in chosen.items())}",
                hint="choose fewer members, or values nearer to those that were found",
            )
        new = dict(zip(names, values.tolist(), strict=True))
        estimates = tuple(replace(e, value=new.get(e.name, e.value)) for e in self.estimates)
        return replace(self, estimates=estimates)

    def converged(self) -> bool:
        """Whether the estimator met one of its own convergence criteria."""
        return self.status == "converged" and bool(np.isfinite(self.cost_final))


_MOST_LISTED = 6
