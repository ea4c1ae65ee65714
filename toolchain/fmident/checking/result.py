"""Results of a check as immutable data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from fmident.arrays import F64
from fmident.errors import ProblemError, Severity, unknown_name
from fmident.estimation.result import BaseParameter
from fmident.findings import Finding, in_order
from fmident.report.codec import Codec, Layout
from fmident.statistics.identifiability import FixingStep
from fmident.views import view
from fmident.words import counted, percent

Influence = Literal[
    "yes", "elsewhere", "none", "fixed", "fixed, none", "dependent", "base", "unknown"
]

Method = Literal["morris", "sobol"]

_DEFAULTS: dict[Method, int] = {"morris": 30, "sobol": 512}
"""Trajectories; base points, a power of two."""

FEWEST_SAMPLES = 8
"""Trajectories or base points below which there are no indices."""

_NEGLIGIBLE = 0.01
"""Part of the variance of each output below which a parameter has a negligible effect."""

_ONLY = 0.1
"""Relative error above which a parameter is determined badly."""

CODEC = Codec(
    {
        Finding: Layout(
            keys={"code": "rule", "text": "message"},
            omitted={"where": None},
            computed={
                "hint": lambda f: f.hint or None,
                "file": lambda f: None if f.where is None else f.where.file,
                "line": lambda f: None if f.where is None else f.where.line,
            },
        )
    }
)


@dataclass(frozen=True)
class ParameterCheck:
    """Check of one parameter.

    Parameters
    ----------
    influence
        ``"yes"``: outputs depend on it; ``"elsewhere"``: not at the initial point, but
        somewhere in the bounds; ``"none"``; ``"fixed"`` and ``"fixed, none"`` for fixed
        ones; ``"dependent"`` for dependent parameters, ``"base"`` for combinations that the
        data determine instead of their members.
    predicted_error
        Standard error, in `unit`; infinite if the data do not determine it, NaN if unknown.
    step, step_reason
        Finite-difference step, in `unit`, NaN if unknown, and how it was chosen.
    formula
        Formula of a base parameter.
    base
        The base parameters of which it is a member; it then has no error of its own.
    """

    name: str
    unit: str | None
    initial: float
    influence: Influence = "unknown"
    predicted_error: float = math.nan
    step: float = math.nan
    step_reason: str = ""
    formula: str = ""
    base: tuple[str, ...] = ()

    @property
    def relative_error(self) -> float:
        """Predicted standard error over the initial value; NaN for one that starts at zero."""
        return self.predicted_error / abs(self.initial) if self.initial else math.nan


@dataclass(frozen=True)
class OutputCheck:
    """Check of one measured output.

    `measured` and `residual` are the root mean squares of the measurement and of measured
    minus simulated at the initial point, NaN if it was not simulated. `share` is the
    fraction of the information on the parameters that it provides, averaged over them, NaN
    if unknown.
    """

    experiment: str
    name: str
    unit: str | None
    measured: float
    residual: float = math.nan
    share: float = math.nan


@dataclass(frozen=True)
class ExperimentCheck:
    """Sampling of one experiment.

    `duration` is the length of the record and `step` the median time between samples, s; a
    `regular` record has steps equal within one per cent. Below the `bandwidth` lies 99 % of
    the power of the outputs simulated at the initial point, Hz; NaN if unknown.
    """

    name: str
    samples: int
    duration: float
    step: float
    regular: bool
    bandwidth: float = math.nan


@dataclass(frozen=True)
class SensitivityCheck:
    """Identifiability from the sensitivities at the initial point.

    Parameters
    ----------
    names
        Names of the free parameters.
    singular_values
        Of the whitened Jacobian with columns of unit length, descending, shape (n,).
    scaled_singular_values
        Of the whitened Jacobian times the parameter scales, descending, shape (n,): the
        change of all residuals in units of sigma if a combination of parameters changes by
        its scale.
    rank
        Numerical rank.
    collinearity
        1 over the smallest singular value (Brun, Reichert and Kuensch 2001): above about 15
        a change of one parameter can be nearly compensated by the others.
    correlation
        Predicted, shape (n, n).
    verdict
        In words.
    determined
        Combinations that the data determine where single parameters are not determined.
    sigma_known
        Whether the predicted errors are based on given noise; otherwise on the residuals at
        the initial point, which include the misfit.
    ranks_elsewhere
        Ranks at other points within the bounds.
    fixing
        Parameters to fix, in order, if not all can be distinguished.
    base_parameters
        Combinations that the data determine for any values of their members.
    """

    names: tuple[str, ...]
    singular_values: F64
    scaled_singular_values: F64
    rank: int
    collinearity: float
    correlation: F64
    verdict: str
    determined: tuple[str, ...] = ()
    sigma_known: bool = True
    ranks_elsewhere: tuple[int, ...] = ()
    fixing: tuple[FixingStep, ...] = ()
    base_parameters: tuple[BaseParameter, ...] = ()


@dataclass(frozen=True)
class EffortCheck:
    """Expected effort of the estimation.

    `seconds_per_simulation` is for all experiments at one point, and `seconds_per_jacobian`
    for the problem's executor with its `workers`. `simulations` is the minimum expected
    number of FMU runs and `seconds` their wall time, ``None`` if the estimator does not
    provide it; `most` is the number for a slow search, if known. With `events`, the times
    of jumps or kinks of outputs may depend on the parameters, and the search takes many
    times as many simulations. `descends` marks a search whose length depends on its path.
    """

    seconds_per_simulation: float
    seconds_per_jacobian: float
    simulations: int | None
    seconds: float | None
    workers: int = 1
    most: int | None = None
    events: bool = False
    descends: bool = False


@dataclass(frozen=True)
class BoundsCheck:
    """Simulations at points within the bounds.

    `reasons` are the distinct causes of failures, most frequent first.
    """

    points: int
    failed: int
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class GlobalMethod:
    """Method of a global sensitivity analysis.

    Parameters
    ----------
    name
        ``"morris"``: elementary effects (Morris 1991; Campolongo, Cariboni and Saltelli
        2007), which rank the parameters with few simulations. ``"sobol"``: fractions of the
        variance (Sobol' 2001; Saltelli et al. 2010), which need many.
    samples
        Trajectories of n + 1 points, or base points, each needing n + 2; rounded up to a
        power of two for ``"sobol"``. ``None``: 30 and 512.
    seed
        Seed of the random numbers.

    Raises
    ------
    fmident.errors.ProblemError
        An unknown name; fewer samples than 8.
    """

    name: Method = "sobol"
    samples: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        if self.name not in _DEFAULTS:
            raise ProblemError(
                f"there is no method '{self.name}' of global sensitivity",
                **unknown_name(self.name, [*_DEFAULTS], "method"),
            )
        if self.samples is not None and self.samples < FEWEST_SAMPLES:
            raise ProblemError(
                f"{self.samples} samples are too few for a global sensitivity analysis",
                hint=f"at least {FEWEST_SAMPLES}; {_DEFAULTS[self.name]} is the default",
            )
        if self.seed < 0:
            raise ProblemError(f"the seed must not be negative, but is {self.seed}")

    @property
    def count(self) -> int:
        """Return the number of trajectories or base points."""
        count = _DEFAULTS[self.name] if self.samples is None else self.samples
        return count if self.name == "morris" else 1 << (count - 1).bit_length()

    def block(self, parameters: int) -> int:
        """Return the number of points of a trajectory, or of a base point."""
        return parameters + (1 if self.name == "morris" else 2)

    def points(self, parameters: int) -> int:
        """Return the number of simulated points for a number of parameters."""
        return self.count * self.block(parameters)


@dataclass(frozen=True, eq=False)
class OutputIndices:
    """Sensitivity indices of one output.

    Parameters
    ----------
    spread
        Root mean square over time of the standard deviation of the output over the bounds,
        in `unit`.
    indices
        Shape (n,) each. For ``"sobol"``: ``S1`` and ``ST``, the fraction of the output's
        variance, summed over time, caused by a parameter alone and including interactions
        (Lamboni, Monod and Makowski 2011), and the half widths ``S1_conf`` and ``ST_conf``
        of their 95 % intervals. For ``"morris"``: ``mu_star`` and ``sigma``, mean magnitude
        and standard deviation of the effect of a parameter over its whole range, as root
        mean squares over time in units of `spread`, and ``mu_star_conf``.
    times
        Instants, s, shape (k,).
    over_time
        ``ST`` times the ratio of instantaneous to mean variance, or ``mu_star``; shape (k,
        n).
    """

    experiment: str
    output: str
    unit: str | None
    spread: float
    indices: Mapping[str, F64]
    times: F64
    over_time: F64


@dataclass(frozen=True, eq=False)
class GlobalSensitivity:
    """Sensitivities of the outputs to parameters varied within their bounds.

    The n parameters went from `lower` to `upper`, shape (n,). Of the `points`, `failed` could not
    be simulated, and `used` trajectories or base points are without a failure. `outputs` are those
    that vary at all; none if too few simulations succeeded.
    """

    method: GlobalMethod
    names: tuple[str, ...]
    lower: F64
    upper: F64
    points: int
    failed: int
    used: int
    outputs: tuple[OutputIndices, ...] = ()

    @property
    def index(self) -> str:
        """Return the name of the ranking index."""
        return "ST" if self.method.name == "sobol" else "mu_star"

    @property
    def largest(self) -> F64:
        """Return the maximum of that index over the outputs, shape (n,)."""
        return self.largest_of(self.index)

    def largest_of(self, *indices: str) -> F64:
        """Return the maximum over the outputs of a sum of indices, shape (n,); NaN without any."""
        if not self.outputs:
            return np.full(len(self.names), np.nan)
        largest: F64 = np.max(
            [np.sum([o.indices[name] for name in indices], axis=0) for o in self.outputs], axis=0
        )
        return largest

    @property
    def negligible(self) -> tuple[str, ...]:
        """Return the parameters with negligible effect on all outputs within the bounds.

        Including the error of the index, they cause less than 1 % of the variance of each
        output.
        """
        bounds = self.largest_of(self.index, f"{self.index}_conf")
        # An effect of a tenth of the spread is one of a hundredth of the variance.
        limit = _NEGLIGIBLE if self.method.name == "sobol" else np.sqrt(_NEGLIGIBLE)
        return tuple(n for n, bound in zip(self.names, bounds, strict=True) if bound < limit)


@dataclass(frozen=True, repr=False)
class CheckReport:
    """Result of :func:`fmident.check`.

    Parameters
    ----------
    findings
        The gravest first; of a problem in stages those of all stages.
    sensitivities, effort, bounds
        ``None`` if an earlier error prevented them.
    priors
        By the name of the parameter, its prior in words, and the share of all
        priors in the predicted variance.
    cost, intervals
        Name of the cost, and whether it gives standard errors. If not, everything is still
        predicted for squares of the differences in the time domain.
    simulation_noise
        Root mean square per whitened residual; NaN where unknown.
    derivatives
        Their origin in words; empty without derivatives.
    simulations, seconds
        Runs of the FMU, and the wall time, that the check took.
    quick
        Whether only the initial point was simulated.
    global_sensitivity
        Which parameters matter anywhere within the bounds; ``None`` unless requested.
    stage, stages
        Name of the stage that this is about, or a report of each stage, at the initial values.
    """

    problem: str
    fmu: str
    estimator: str
    findings: tuple[Finding, ...]
    parameters: tuple[ParameterCheck, ...] = ()
    outputs: tuple[OutputCheck, ...] = ()
    experiments: tuple[ExperimentCheck, ...] = ()
    sensitivities: SensitivityCheck | None = None
    effort: EffortCheck | None = None
    bounds: BoundsCheck | None = None
    priors: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    cost: str = "time-domain"
    intervals: bool = True
    simulation_noise: float = math.nan
    derivatives: str = ""
    simulations: int = 0
    seconds: float = 0.0
    quick: bool = False
    global_sensitivity: GlobalSensitivity | None = None
    stage: str = ""
    stages: tuple[CheckReport, ...] = ()

    def __repr__(self) -> str:
        return f"<CheckReport {self.problem}: {self.headline}>"

    def _repr_html_(self) -> str:
        html: str = view("check_view")(self)
        return html

    @property
    def can_be_estimated(self) -> bool:
        """Whether no finding makes an estimation impossible."""
        return not self.of("error")

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        errors, warnings = self.of("error"), self.of("warning")
        if errors:
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            return _ended(f"Cannot be estimated: {_first_sentence(errors[0].text)}{more}")
        if warnings:
            more = f" (and {counted(len(warnings) - 1, 'more warning')})" * (len(warnings) > 1)
            return _ended(f"Can be estimated, but {_first_sentence(warnings[0].text)}{more}")
        return "Can be estimated."

    @property
    def promise(self) -> str:
        """The predicted errors in words, such as ``"m to 0.3 %, d only to 45 %"``."""
        words = []
        for p in self.parameters:
            if p.influence in ("fixed", "fixed, none") or math.isnan(p.predicted_error):
                continue
            relative = p.relative_error
            if math.isinf(p.predicted_error):
                words.append(f"{p.name} not at all")
            elif math.isnan(relative):
                words.append(f"{p.name} to +-{p.predicted_error:.2g} {p.unit or ''}".rstrip())
            else:
                only = "only " if relative > _ONLY else ""
                words.append(f"{p.name} {only}to {percent(float(f'{relative:.2g}'))}")
        return ", ".join(words)

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the findings of one severity."""
        return tuple(f for f in self.findings if f.severity == severity)

    def to_dict(self) -> dict[str, object]:
        """Return everything as JSON types; non-finite numbers become ``null``."""
        return {
            "verdict": self.headline,
            "can_be_estimated": self.can_be_estimated,
            "promise": self.promise,
            **CODEC.dump(self),
        }


def in_stages(names: Sequence[str], reports: Sequence[CheckReport]) -> CheckReport:
    """Return the report of a problem in stages from those of its stages, in order."""
    findings = [
        replace(f, text=f"stage '{name}': {f.text}")
        for name, report in zip(names, reports, strict=True)
        for f in report.findings
    ]
    first = reports[0]
    return CheckReport(
        problem=first.problem,
        fmu=first.fmu,
        estimator=", ".join(dict.fromkeys(r.estimator for r in reports)),
        findings=in_order(findings),
        simulations=sum(r.simulations for r in reports),
        seconds=sum(r.seconds for r in reports),
        quick=first.quick,
        stages=tuple(replace(r, stage=name) for name, r in zip(names, reports, strict=True)),
    )


def _first_sentence(text: str) -> str:
    return text.splitlines()[0].split(". ")[0].rstrip(".")


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith("?") else f"{sentence}."
