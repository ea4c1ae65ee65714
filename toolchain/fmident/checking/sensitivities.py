"""Predictions from the sensitivities: rank, standard errors, contributions of outputs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.checking.report import SensitivityCheck
from fmident.checking.subject import Subject
from fmident.errors import Diagnostic, Severity
from fmident.estimation.diagnostics.combinations import tested_combinations
from fmident.estimation.diagnostics.dependent import base_parameters, dependent_uncertainty
from fmident.estimation.diagnostics.uncertainty import (
    IntegrationEffect,
    VerifiedStatistics,
    uncertainty,
)
from fmident.estimation.result import integration_advice, step_advice
from fmident.evaluation import Evaluator, JacobianError
from fmident.problem.priors import Priors
from fmident.problem.residuals import residual_layout
from fmident.report.verdict import STRONG_CORRELATION
from fmident.statistics import analyse_rank
from fmident.statistics.combinations import PointSensitivity, product_verdict
from fmident.statistics.fixing import ranked_for_fixing
from fmident.statistics.identifiability import rank_sentence
from fmident.words import listed, percent, plain, quoted

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_COLLINEAR = 15.0
"""Brun, Reichert and Kuensch (2001) call 10 to 15 critical."""

_POOR = 0.25
_SILENT = 1e-9
_FEW_PAIRS = 3
_PART_OF_IT = 0.2
"""Component of the weakest direction from which on a parameter is part of it."""


@dataclass(frozen=True)
class Sensitivities:
    """Jacobian at the initial point and derived statistics.

    `jacobian` has the verified derivatives of the whitened residuals with respect to
    physical parameters, shape (m, n), and `residuals` shape (m,). `sizes` are the parameter
    scales and `column_errors` the norms of the errors of the Jacobian's columns, shape
    (n,).
    """

    jacobian: F64
    residuals: F64
    statistics: VerifiedStatistics
    sizes: F64
    column_errors: F64

    @property
    def errors(self) -> F64:
        """Predicted standard errors, shape (n,); infinite if the data determine nothing."""
        standard_errors = self.statistics.standard_errors
        lost = np.isinf(self.statistics.intervals).all(axis=1)
        return np.where(lost, np.inf, standard_errors)

    @property
    def constrained(self) -> bool:
        """Whether constraints restrict the directions in which the parameters can move."""
        active = self.statistics.active
        return active is not None and bool(active.holding.any())

    @property
    def kept(self) -> list[int]:
        """Parameters that are not determined by others through constraints."""
        if not self.constrained:
            return list(range(self.sizes.size))
        return [int(j) for j in self.statistics.linearisation.kept]


def sensitivities(subject: Subject, evaluator: Evaluator) -> Sensitivities:
    """Compute the sensitivities at the initial point.

    Raises `JacobianError` if a column cannot be computed.
    """
    return _sensitivities_at(subject, evaluator, subject.problem.initial, compare_interfaces=True)


def _sensitivities_at(
    subject: Subject, evaluator: Evaluator, p: F64, *, compare_interfaces: bool
) -> Sensitivities:
    problem = subject.problem
    inside = np.zeros(p.size, dtype=np.bool_)
    statistics = uncertainty(
        problem, evaluator, p, inside, counts_noise=False, compare_interfaces=compare_interfaces
    )
    sizes = np.array([abs(x) or q.scale for q, x in zip(problem.free, p, strict=True)])
    errors = evaluator.column_errors(p)
    return Sensitivities(
        statistics.linearisation.data_jacobian,
        evaluator.data_residuals(p),
        statistics,
        sizes,
        np.zeros(p.size) if errors is None else errors,
    )


def predicted_errors(problem: Problem, known: Sensitivities | None) -> dict[str, float]:
    """Return the predicted standard errors of the dependent parameters by name.

    They are infinite if the data determine nothing, and missing without sensitivities.
    """
    if known is None:
        return {}
    uncertainties = dependent_uncertainty(problem, problem.initial, known.statistics)
    return {
        name: float("inf") if np.isinf(interval).all() else error
        for name, (error, interval) in uncertainties.items()
    }


def prior_parts(problem: Problem, known: Sensitivities) -> dict[str, tuple[str, float]]:
    """Return each prior in words by parameter, and its fraction of the predicted variance.

    The fraction is NaN if there is no variance.
    """
    prior_knowledge = known.statistics.prior
    if prior_knowledge is None:
        return {}
    shares = {q.name: float(s) for q, s in zip(problem.free, prior_knowledge.shares, strict=True)}
    terms = Priors.of(problem).terms
    return {name: (str(prior), shares.get(name, math.nan)) for name, prior in terms}


def sensitivity_check(
    subject: Subject,
    evaluator: Evaluator,
    found: Sensitivities,
    elsewhere: list[PointSensitivity],
) -> SensitivityCheck:
    """Return singular values, rank and verdict.

    `found` is for the initial point, and `elsewhere` for other points within the bounds.
    """
    statistics = found.statistics
    problem, p = subject.problem, subject.problem.initial
    inside = np.zeros(p.size, dtype=np.bool_)
    identifiability = statistics.identifiability
    if not found.constrained:
        identifiability = tested_combinations(problem, evaluator, p, inside, identifiability, ())
    smallest = (
        float(identifiability.singular_values[-1]) if identifiability.singular_values.size else 0.0
    )
    independent = found.kept
    names = tuple(problem.free[j].name for j in independent)
    here = _at(subject.problem.initial, found)
    products = None  # sensitivities at several points speak where simulations do not
    known = [c.text for c in statistics.identifiability.determined]
    if not found.constrained and [c.text for c in identifiability.determined] == known:
        products = product_verdict(names, [here, *elsewhere], identifiability)
    return SensitivityCheck(
        names=names,
        singular_values=identifiability.singular_values,
        scaled_singular_values=np.asarray(
            np.linalg.svd((found.jacobian * found.sizes)[:, independent], compute_uv=False),
            dtype=np.float64,
        ),
        rank=identifiability.rank,
        collinearity=1.0 / smallest if smallest > 0.0 else math.inf,
        correlation=statistics.correlation[np.ix_(independent, independent)],
        verdict=identifiability.verdict if products is None else products[1],
        determined=tuple(c.text for c in identifiability.determined)
        if products is None
        else products[0],
        sigma_known=subject.problem.sigma_known,
        ranks_elsewhere=tuple(e.rank for e in elsewhere),
        fixing=ranked_for_fixing(names, found.jacobian[:, independent], found.sizes[independent]),
        base_parameters=base_parameters(
            problem, p, replace(statistics, identifiability=identifiability)
        ),
    )


def identifiability_findings(
    subject: Subject, found: Sensitivities, check: SensitivityCheck, *, inert_allowed: bool
) -> list[Diagnostic]:
    """Return findings on what the data determine poorly or not at all."""
    identifiability = found.statistics.identifiability
    count = len(found.kept)
    severity: Severity = "note" if inert_allowed else "warning"
    findings = []
    if identifiability.undecided:
        findings.append(
            subject.finding("warning", "rank-undecided", _without_rank(check, undecided=True))
        )
    elif identifiability.rank < count:
        where, special = "", False
        if check.ranks_elsewhere:
            full = sum(r == count for r in check.ranks_elsewhere)
            tried = len(check.ranks_elsewhere)
            # Errors of derivatives make a rank full here and there.
            special = full == tried
            points = f"{tried} other point{'' if tried == 1 else 's'} in the bounds"
            where = (
                f" Nor can all of them be told apart at {points}."
                if not full
                else f" At {full} of {points} all can be told apart."
            )
        findings.append(
            subject.finding(
                severity,
                "not-identifiable",
                _without_rank(check) + where,
                "the estimator works with the combinations that are determined"
                if inert_allowed
                else "start elsewhere: the initial values are a special point"
                if special
                else "fix one parameter of each combination, or measure or excite something that"
                " tells them apart",
                "parameters",
            )
        )
    elif check.collinearity > _COLLINEAR and not inert_allowed:
        findings.append(_collinear(subject, found, check))
    findings += _poor(subject, found, check, inert_allowed=inert_allowed)
    return findings


def tolerance_findings(subject: Subject, found: Sensitivities) -> list[Diagnostic]:
    """Return findings on the effect of the simulation tolerance on estimate and derivatives."""
    statistics = found.statistics
    findings = []
    names = [q.name for q in subject.problem.free]

    def does(effect: IntegrationEffect) -> str:
        if not effect.matters.any():
            return (
                f"changes outputs by {effect.share:.2g} times the size of the residuals at the"
                " initial values"
            )
        shifted = ", ".join(
            f"{name} by {shift:.2g} standard errors"
            for name, shift, relevant in zip(names, effect.shifts, effect.matters, strict=True)
            if relevant
        )
        return f"will move the estimate: {shifted}"

    effect, step = statistics.integration, statistics.step
    if step is not None and step.needed is not None:
        findings.append(
            subject.finding(
                "warning",
                "communication-step",
                f"the FMU's answer depends on the communication step: half of it {does(step)}",
                step_advice(int(step.needed)),
                "evaluation",
                "substeps",
            )
        )
    if effect is not None and (bool(effect.matters.any()) or effect.share):
        findings.append(
            subject.finding(
                "warning",
                "integration-error",
                (
                    f"the error of the integration at the tolerance {effect.tolerance:g}"
                    f" {does(effect)}"
                    if effect.needed is not None
                    else "the error of the FMU's own solver, which ignores"
                    f" evaluation.tolerance, {does(effect)}"
                ),
                integration_advice(effect.needed, statistics.solver.interpolation),
                "evaluation",
                "tolerance",
            )
        )
    if statistics.solver.reason:
        findings.append(
            subject.finding(
                "note",
                "solver-error-unknown",
                "the FMU ignores evaluation.tolerance, and how far the error of its own solver"
                f" moves the estimate is not known: {statistics.solver.reason}",
                "export it with Model Exchange as well, or compare with a finer solver or a"
                " tighter tolerance",
                "evaluation",
                "tolerance",
            )
        )
    if statistics.tightened is not None:
        open_question = (
            "the sensitivities are not"
            if statistics.exact
            else "no step of the finite differences is"
        )
        findings.append(
            subject.finding(
                "note",
                "derivatives-tightened",
                f"{open_question} exact enough at this tolerance: the derivatives were simulated"
                f" with {statistics.tightened:g}",
                "set evaluation.tolerance to that if the search does not get on",
                "evaluation",
                "tolerance",
            )
        )
    withheld = statistics.identifiability.withheld
    if withheld:
        ignores_tolerance = statistics.ignores_tolerance
        findings.append(
            subject.finding(
                "warning",
                "derivatives-inexact",
                f"the derivatives are too inexact to predict the error of {', '.join(withheld)}",
                "give the FMU a finer solver: it ignores evaluation.tolerance"
                if ignores_tolerance
                else "tighten evaluation.tolerance",
                "evaluation",
                "tolerance",
            )
        )
    return findings


def _collinear(subject: Subject, found: Sensitivities, check: SensitivityCheck) -> Diagnostic:
    """Return the finding that parameters can nearly compensate for each other."""
    pairs = strong_pairs(check)
    if pairs:
        shown = ", ".join(f"{a} and {b} ({value:+.3f})" for a, b, value in pairs[:_FEW_PAIRS])
        what = f"the data hardly tell apart {shown}"
    else:
        weakest = analyse_rank(found.jacobian[:, found.kept]).right[:, -1]
        order = np.argsort(-np.abs(weakest))
        names = [check.names[int(j)] for j in order if abs(weakest[j]) > _PART_OF_IT]
        what = f"{listed(names)} can nearly make up for each other"
    return subject.finding(
        "note",
        "nearly-collinear",
        f"{what}: collinearity index {check.collinearity:.3g}",
        "their combination is better known than each of them; look at the predicted errors",
        "parameters",
    )


def strong_pairs(check: SensitivityCheck) -> list[tuple[str, str, float]]:
    """Return the pairs with a strong predicted correlation, worst first."""
    c = check.correlation
    pairs = [
        (check.names[i], check.names[j], float(c[i, j]))
        for i in range(len(check.names))
        for j in range(i + 1, len(check.names))
        if abs(c[i, j]) >= STRONG_CORRELATION
    ]
    return sorted(pairs, key=lambda pair: -abs(pair[2]))


def _poor(
    subject: Subject, found: Sensitivities, check: SensitivityCheck, *, inert_allowed: bool
) -> list[Diagnostic]:
    """Return the parameters whose predicted error is a large fraction of their value."""
    poor = []
    for q, error in zip(subject.problem.free, found.errors, strict=True):
        if not math.isfinite(error):
            continue
        room = q.upper - q.lower
        wide = math.isfinite(room) and error > _POOR * room
        if q.initial != 0.0 and error > _POOR * abs(q.initial):
            poor.append((q.name, f"{q.name} only to {percent(error / abs(q.initial))}"))
        elif q.initial == 0.0 and wide:
            unit = f" {q.unit}" if q.unit not in (None, "", "1") else ""
            poor.append((q.name, f"{q.name} only to +-{plain(error, 2)}{unit}"))
    if not poor:
        return []
    words = ", ".join(text for _, text in poor)
    if not check.sigma_known:
        return [
            subject.finding(
                "note",
                "poorly-determined",
                f"{words}, if the noise is as large as the misfit at the initial values",
                "give sigma for a prediction that does not depend on the initial values",
                "parameters",
                poor[0][0],
            )
        ]
    return [
        subject.finding(
            "note" if inert_allowed else "warning",
            "poorly-determined",
            f"the data will tell {words}",
            "measure longer or with less noise, excite it more ('fmident design'), or fix it",
            "parameters",
            poor[0][0],
        )
    ]


def output_shares(subject: Subject, found: Sensitivities) -> dict[tuple[int, str], float]:
    """Return the fraction of the information on the parameters that each output provides.

    For each column of the Jacobian this is the fraction of its squared norm; it is averaged
    over the columns.
    """
    layout = residual_layout(subject.problem)
    squares = found.jacobian**2
    total = squares.sum(axis=0)
    used = total > 0.0
    shares = {}
    for i, e in enumerate(subject.problem.experiments):
        for k, m in enumerate(e.measurements):
            part = squares[layout.rows_of(i, k)].sum(axis=0)
            share = float(np.mean(part[used] / total[used])) if used.any() else 0.0
            shares[i, m.name] = share
    return shares


def unmoved_findings(subject: Subject, found: Sensitivities) -> list[Diagnostic]:
    """Return the outputs that no parameter affects."""
    layout = residual_layout(subject.problem)
    scaled = np.abs(found.jacobian) * found.sizes
    noise = float(np.max(found.column_errors * found.sizes)) / math.sqrt(found.residuals.size)
    still: dict[str, list[int]] = {}
    for i, e in enumerate(subject.problem.experiments):
        for k, m in enumerate(e.measurements):
            rows = scaled[layout.rows_of(i, k)]
            largest = float(np.sqrt(np.mean(rows**2, axis=0)).max(initial=0.0)) if rows.size else 0
            if largest <= max(noise, _SILENT * float(scaled.max(initial=0.0))):
                still.setdefault(m.name, []).append(i)
    findings = []
    everywhere = len(subject.problem.experiments)
    for name, places in still.items():
        which = (
            ""
            if everywhere == 1
            else " in any experiment"
            if len(places) == everywhere
            else f" in {quoted([subject.problem.experiments[i].name for i in places])}"
        )
        findings.append(
            subject.finding(
                "warning" if len(places) == everywhere else "note",
                "output-unmoved",
                f"no free parameter moves the output '{name}'{which}: it adds nothing but its"
                " misfit",
                "leave it out, or free a parameter that acts on it",
                "experiments",
                places[0],
                "outputs",
                name,
            )
        )
    return findings


def sensitivities_elsewhere(
    subject: Subject, evaluator: Evaluator, points: F64
) -> list[PointSensitivity]:
    """Return the sensitivities at those of the points, shape (k, n), where they exist."""
    results = []
    for p in points:
        try:
            known = _sensitivities_at(subject, evaluator, p, compare_interfaces=False)
        except JacobianError:
            continue
        results.append(_at(p, known))
    return results


def _at(p: F64, known: Sensitivities) -> PointSensitivity:
    rank, jacobian = known.statistics.identifiability.rank, known.statistics.linearisation.jacobian
    return PointSensitivity(p, jacobian, known.column_errors, rank)


def _without_rank(check: SensitivityCheck, *, undecided: bool = False) -> str:
    """Return the verdict without its first sentence, which states the rank."""
    first = rank_sentence(check.rank, len(check.names), undecided=undecided)
    text = check.verdict.removeprefix(f"{first} ")
    return text[:1].lower() + text[1:] if text.startswith("The ") else text
