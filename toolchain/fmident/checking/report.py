"""Results of a check as immutable data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Literal

import numpy as np

from fmident.arrays import F64
from fmident.checking.global_sensitivity.result import GlobalSensitivity
from fmident.errors import Diagnostic, Severity
from fmident.estimation.result import BaseParameter
from fmident.findings import gravity
from fmident.statistics.fixing import FixingStep
from fmident.views import view
from fmident.words import counted, percent

Influence = Literal[
    "yes", "elsewhere", "none", "fixed", "fixed, none", "dependent", "base", "unknown"
]

_ONLY = 0.1
"""Relative error from which on a parameter is determined badly."""


@dataclass(frozen=True)
class ParameterCheck:
    """Check of one parameter.

    Parameters
    ----------
    name, unit
        Name and unit of the parameter.
    initial
        In `unit`.
    influence
        ``"yes"``: outputs depend on it; ``"elsewhere"``: not at the initial point, but
        somewhere in the bounds; ``"none"``; ``"fixed"`` and ``"fixed, none"`` for fixed
        ones; ``"dependent"`` for dependent parameters, ``"base"`` for combinations that the
        data determine instead of their members.
    predicted_error
        Predicted standard error, in `unit`; infinite if the data do not determine it, NaN
        if unknown.
    step
        Finite-difference step, in `unit`; NaN if unknown.
    step_reason
        How the step was chosen.
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
    """Sampling of one experiment, and the dynamics of the model in it.

    `duration` is the length of the record and `step` the median time between samples, s; a
    `regular` record has steps equal within one per cent. Below the `bandwidth` lies 99 % of
    the power of the simulated outputs, Hz. `fastest` and `slowest` are time constants of
    the model at the initial point, s; NaN if none was identified.
    """

    name: str
    samples: int
    duration: float
    step: float
    regular: bool
    bandwidth: float = math.nan
    fastest: float = math.nan
    slowest: float = math.nan


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


@dataclass(frozen=True, repr=False)
class CheckReport:
    """Everything :func:`fmident.check` found.

    Parameters
    ----------
    problem, fmu, estimator
        What was checked.
    findings
        The gravest first.
    parameters, outputs, experiments
        One item each.
    sensitivities, effort, bounds
        ``None`` where it did not come to that.
    priors
        By the name of the parameter, what is known of it before the data, and the share of all
        priors in the predicted variance.
    cost, intervals
        Name of the cost, and whether it gives standard errors. If not, everything is still
        predicted for squares of the differences in the time domain.
    simulation_noise
        Root mean square per whitened residual; NaN where unknown.
    derivatives
        Where they come from, in words; empty where there are none.
    simulations
        Runs of the FMU that the check took.
    seconds
        Wall time of the check, s.
    quick
        Whether only the initial point was looked at.
    global_sensitivity
        Which parameters matter anywhere in the bounds, where that was asked for.
    stage
        Name of the stage that this is about; empty for a whole problem.
    stages
        Of a problem in stages: a report of each, at the initial values. `findings` are then
        those of all stages.
    """

    problem: str
    fmu: str
    estimator: str
    findings: tuple[Diagnostic, ...]
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
        """Return the HTML for notebooks."""
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
            return _ended(f"Cannot be estimated: {_first_sentence(errors[0].message)}{more}")
        if warnings:
            more = f" (and {counted(len(warnings) - 1, 'more warning')})" * (len(warnings) > 1)
            return _ended(f"Can be estimated, but {_first_sentence(warnings[0].message)}{more}")
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

    def of(self, severity: Severity) -> tuple[Diagnostic, ...]:
        """Return the findings of one severity."""
        return tuple(d for d in self.findings if d.severity == severity)

    def to_dict(self) -> dict[str, object]:
        """Return everything as JSON types; non-finite numbers become ``null``."""
        plain: dict[str, object] = {
            "verdict": self.headline,
            "can_be_estimated": self.can_be_estimated,
            "promise": self.promise,
        }
        for item in fields(self):
            plain[item.name] = _plain(getattr(self, item.name))
        return plain


def in_stages(names: Sequence[str], reports: Sequence[CheckReport]) -> CheckReport:
    """Return the report of a problem in stages from those of its stages, in order."""
    findings = [
        replace(d, message=f"stage '{name}': {d.message}")
        for name, report in zip(names, reports, strict=True)
        for d in report.findings
    ]
    first = reports[0]
    return CheckReport(
        problem=first.problem,
        fmu=first.fmu,
        estimator=", ".join(dict.fromkeys(r.estimator for r in reports)),
        findings=sorted_findings(findings),
        simulations=sum(r.simulations for r in reports),
        seconds=sum(r.seconds for r in reports),
        quick=first.quick,
        stages=tuple(replace(r, stage=name) for name, r in zip(names, reports, strict=True)),
    )


def sorted_findings(findings: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the findings without repetitions, the gravest first."""
    unique = list(dict.fromkeys(findings))
    return tuple(sorted(unique, key=lambda d: gravity(d.rule, d.severity)))


def _plain(item: object) -> object:
    if isinstance(item, Diagnostic):
        place = item.location
        return {
            "severity": item.severity,
            "rule": item.rule,
            "message": item.message,
            "file": None if place is None else place.file,
            "line": None if place is None else place.line,
            "hint": item.hint,
        }
    if is_dataclass(item):
        return {f.name: _plain(getattr(item, f.name)) for f in fields(item)}
    if isinstance(item, np.ndarray):
        return _plain(item.tolist())
    if isinstance(item, (list, tuple)):
        return [_plain(x) for x in item]
    if isinstance(item, Mapping):
        return {str(k): _plain(v) for k, v in item.items()}
    if isinstance(item, float):
        return float(item) if math.isfinite(item) else None
    return item


def _first_sentence(text: str) -> str:
    return text.splitlines()[0].split(". ")[0].rstrip(".")


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith("?") else f"{sentence}."
