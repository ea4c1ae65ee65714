"""Which parameters act, and predictions from the sensitivities: rank, standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fmident.arrays import F64
from fmident.checking.result import Influence, SensitivityCheck
from fmident.checking.subject import SimulatedSubject
from fmident.estimation.checks import InertParameter, inert_finding, inert_parameters, points_inside
from fmident.estimation.diagnostics import sizes_of
from fmident.estimation.diagnostics.combinations import tested_combinations
from fmident.estimation.diagnostics.parameters import base_parameters, dependent_uncertainty
from fmident.estimation.diagnostics.uncertainty import VerifiedStatistics, uncertainty
from fmident.evaluation import JacobianError
from fmident.evaluation.derivatives.verification import tightened_note
from fmident.findings import Finding
from fmident.problem.cost import TimeDomain
from fmident.problem.priors import Priors
from fmident.problem.residuals import residual_layout
from fmident.report.verdict import STRONG_CORRELATION
from fmident.statistics.identifiability import (
    PointSensitivity,
    product_verdict,
    rank_sentence,
    ranked_for_fixing,
)
from fmident.statistics.rank import analyse_rank
from fmident.words import counted, listed, percent, plain, quoted

_ELSEWHERE = 3
"""Number of other points at which sensitivities are computed."""

_COLLINEAR = 15.0
"""Brun, Reichert and Kuensch (2001) call 10 to 15 critical."""

_POOR = 0.25
_SILENT = 1e-9
_FEW_PAIRS = 3
_PART_OF_IT = 0.2
"""Component of the weakest direction above which a parameter is part of it."""


@dataclass(frozen=True)
class Sensitivities:
    """Jacobian at the initial point and derived statistics.

    `residuals` are those of the data, whitened, shape (m,). `sizes` are the parameter
    scales and `column_errors` the norms of the errors of the Jacobian's columns, shape
    (n,).
    """

    residuals: F64
    statistics: VerifiedStatistics
    sizes: F64
    column_errors: F64

    @property
    def jacobian(self) -> F64:
        """Verified derivatives of the residuals by the physical parameters, shape (m, n)."""
        return self.statistics.local.data_jacobian

    @property
    def errors(self) -> F64:
        """Predicted standard errors, shape (n,); infinite if the data determine nothing."""
        model = self.statistics.local
        return np.where(model.is_open, np.inf, model.standard_errors)

    @property
    def constrained(self) -> bool:
        """Whether constraints restrict the directions in which the parameters can move."""
        active = self.statistics.active
        return active is not None and bool(active.holding.any())

    @property
    def independent(self) -> list[int]:
        """Parameters that are not determined by others through constraints."""
        if not self.constrained:
            return list(range(self.sizes.size))
        return [int(j) for j in self.statistics.local.moving]

    def at(self, p: F64) -> PointSensitivity:
        """Return the sensitivities at `p`, for a comparison with other points."""
        rank = self.statistics.identifiability.rank
        return PointSensitivity(p, self.statistics.local.rows, self.column_errors, rank)


def initial_sensitivities(subject: SimulatedSubject) -> Sensitivities | JacobianError:
    """Return the sensitivities at the initial point, or why there are none."""
    try:
        with subject.watch.running():
            return _sensitivities_at(subject, subject.problem.initial, compare_interfaces=True)
    except JacobianError as error:
        return error


def _sensitivities_at(
    subject: SimulatedSubject, p: F64, *, compare_interfaces: bool
) -> Sensitivities:
    problem, evaluator = subject.problem, subject.evaluator
    statistics = uncertainty(
        problem,
        evaluator,
        p,
        counts_noise=False,
        compare_interfaces=compare_interfaces,
        bounded=False,
    )
    sizes = sizes_of(problem, p)
    errors = evaluator.column_errors(p)
    return Sensitivities(
        evaluator.data_residuals(p),
        statistics,
        sizes,
        np.zeros(p.size) if errors is None else errors,
    )


def derivative_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield the error where a column of the Jacobian cannot be computed."""
    error = subject.once(initial_sensitivities)
    if isinstance(error, JacobianError):
        yield Finding(error.code, "error", error.message, error.location, error.hint or "")


def inert(subject: SimulatedSubject) -> tuple[InertParameter, ...]:
    """Return the parameters without effect on the cost, as the estimation would."""
    if isinstance(subject.asked.cost, TimeDomain):
        with subject.watch.running():
            return inert_parameters(subject.problem, subject.evaluator)
    return inert_parameters(subject.asked, subject.evaluator.for_problem(subject.asked))


def fixed_without_influence(subject: SimulatedSubject) -> tuple[str, ...]:
    """Vary each fixed parameter as if it were free; return those without influence."""
    problem = subject.problem
    fixed = [q for q in problem.parameters if q.fixed and q.variable is not None]
    if subject.quick or not fixed:
        return ()
    released = {q.name: replace(q, fixed=False, scaling="linear") for q in fixed}
    swapped = tuple(released.get(q.name, replace(q, fixed=True)) for q in problem.parameters)
    freed = replace(problem, parameters=swapped)
    evaluator = subject.evaluator.for_problem(freed)
    if not bool(np.isfinite(evaluator.residuals(freed.initial)).all()):
        return ()
    return tuple(q.name for q in inert_parameters(freed, evaluator))


def influences(subject: SimulatedSubject) -> dict[str, Influence]:
    """Return the influence of the parameters that have none at the initial point."""
    influence: dict[str, Influence] = {
        q.name: "none" if q.active_at is None else "elsewhere" for q in subject.once(inert)
    }
    return influence | dict.fromkeys(subject.once(fixed_without_influence), "fixed, none")


def influence_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield the free parameters without influence around the initial point."""
    descends = subject.estimator is None or subject.estimator.descends
    diagnostic = inert_finding(subject.asked, subject.once(inert), descends=descends)
    if diagnostic is not None:
        if subject.inert_allowed:
            hint = "the estimator leaves what the data do not determine at its initial value"
            diagnostic = replace(diagnostic, severity="note", hint=hint)
        yield Finding.of(diagnostic)


def fixed_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield the fixed parameters without influence."""
    still = subject.once(fixed_without_influence)
    if still:
        one = len(still) == 1
        yield subject.note(
            "fixed-without-influence",
            ("parameters", still[0]),
            f"the fixed parameter{'' if one else 's'} {quoted(still)} {'has' if one else 'have'} no"
            " influence on the measured outputs",
            "right if it acts on nothing that was measured; else the FMU ignores the value",
        )


def dependent_errors(subject: SimulatedSubject, known: Sensitivities) -> dict[str, float]:
    """Return the predicted standard errors of the dependent parameters by name.

    They are infinite if the data determine nothing.
    """
    problem = subject.problem
    uncertainties = dependent_uncertainty(problem, problem.initial, known.statistics.local)
    return {
        name: math.inf if np.isinf(interval).all() else error
        for name, (error, interval) in uncertainties.items()
    }


def prior_parts(subject: SimulatedSubject, known: Sensitivities) -> dict[str, tuple[str, float]]:
    """Return each prior in words by parameter, and its fraction of the predicted variance.

    The fraction is NaN if there is no variance.
    """
    knowledge = known.statistics.prior
    if knowledge is None:
        return {}
    terms = Priors.of(subject.problem).terms
    return {name: (str(prior), knowledge.shares.get(name, math.nan)) for name, prior in terms}


def output_shares(subject: SimulatedSubject, known: Sensitivities) -> dict[tuple[int, int], float]:
    """Return the fraction of the information on the parameters that each output provides.

    For each column of the Jacobian this is the fraction of its squared norm; it is averaged
    over the columns.
    """
    layout, squares = residual_layout(subject.problem), known.jacobian**2
    used = squares.sum(axis=0) > 0.0
    total = squares[:, used].sum(axis=0)
    return {
        (i, k): float(np.mean(squares[layout.rows_of(i, k)][:, used].sum(axis=0) / total))
        if used.any()
        else 0.0
        for i, k, _, _ in subject.outputs()
    }


def sensitivity_check(subject: SimulatedSubject) -> SensitivityCheck | None:
    """Return singular values, rank and verdict, also from other points within the bounds."""
    known = subject.once(initial_sensitivities)
    if isinstance(known, JacobianError):
        return None
    problem, p, statistics = subject.problem, subject.problem.initial, known.statistics
    elsewhere = _elsewhere(subject, known)
    identifiability = statistics.identifiability
    if not known.constrained:
        inside = np.zeros(p.size, dtype=np.bool_)
        identifiability = tested_combinations(
            problem, subject.evaluator, p, inside, identifiability, ()
        )
    values = identifiability.singular_values
    independent = known.independent
    names = tuple(problem.free[j].name for j in independent)
    determined = tuple(c.text for c in identifiability.determined)
    verdict = identifiability.verdict
    before = tuple(c.text for c in statistics.identifiability.determined)
    if not known.constrained and determined == before:
        # Sensitivities at several points speak where simulations do not.
        products = product_verdict(names, [known.at(p), *elsewhere], identifiability)
        determined, verdict = products or (determined, verdict)
    scaled = np.linalg.svd((known.jacobian * known.sizes)[:, independent], compute_uv=False)
    return SensitivityCheck(
        names=names,
        singular_values=values,
        scaled_singular_values=np.asarray(scaled, dtype=np.float64),
        rank=identifiability.rank,
        collinearity=1.0 / float(values[-1]) if values.size and values[-1] > 0.0 else math.inf,
        correlation=statistics.local.correlation[np.ix_(independent, independent)],
        verdict=verdict,
        determined=determined,
        sigma_known=problem.sigma_known,
        ranks_elsewhere=tuple(e.rank for e in elsewhere),
        fixing=ranked_for_fixing(names, known.jacobian[:, independent], known.sizes[independent]),
        base_parameters=base_parameters(
            problem, p, replace(statistics, identifiability=identifiability)
        ),
    )


def _elsewhere(subject: SimulatedSubject, known: Sensitivities) -> list[PointSensitivity]:
    """Return the sensitivities at other points within the bounds, where they exist."""
    count = subject.affordable(_ELSEWHERE, 7 + 3 * len(subject.problem.free))
    if subject.quick:  # one other point tells products from sums
        count = min(count, int(known.statistics.identifiability.rank < known.sizes.size))
    results: list[PointSensitivity] = []
    # Other points break constraints, and say nothing of what does nothing here.
    if count and not known.constrained and not subject.once(inert):
        for p in points_inside(subject.evaluator, count, seed=1):
            try:
                other = _sensitivities_at(subject, p, compare_interfaces=False)
            except JacobianError:
                continue
            results.append(other.at(p))
    return results


def identifiability_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield what the data determine poorly or not at all."""
    known, check = subject.once(initial_sensitivities), subject.once(sensitivity_check)
    if isinstance(known, JacobianError) or check is None or subject.once(inert):
        return
    identifiability, count = known.statistics.identifiability, len(known.independent)
    tolerant = subject.inert_allowed
    if identifiability.undecided:
        yield subject.finding("warning", "rank-undecided", (), _without_rank(check, undecided=True))
    elif identifiability.rank < count:
        ranks = check.ranks_elsewhere
        full, points = sum(r == count for r in ranks), counted(len(ranks), "other point")
        # Errors of derivatives make a rank full here and there.
        special = bool(ranks) and full == len(ranks)
        where = (
            ""
            if not ranks
            else f" At {full} of {points} in the bounds all can be told apart."
            if full
            else f" Nor can all of them be told apart at {points} in the bounds."
        )
        yield subject.finding(
            "note" if tolerant else "warning",
            "not-identifiable",
            ("parameters",),
            _without_rank(check) + where,
            "the estimator works with the combinations that are determined"
            if tolerant
            else "start elsewhere: the initial values are a special point"
            if special
            else "fix one parameter of each combination, or measure or excite something that"
            " tells them apart",
        )
    elif check.collinearity > _COLLINEAR and not tolerant:
        yield subject.note(
            "nearly-collinear",
            ("parameters",),
            f"{_collinear(known, check)}: collinearity index {check.collinearity:.3g}",
            "their combination is better known than each of them; look at the predicted errors",
        )
    yield from _poor(subject, known)


def _collinear(known: Sensitivities, check: SensitivityCheck) -> str:
    """Return which parameters can nearly compensate for each other."""
    c, names = check.correlation, check.names
    pairs = [
        (abs(c[i, j]), f"{names[i]} and {names[j]} ({c[i, j]:+.3f})")
        for i in range(len(names))
        for j in range(i + 1, len(names))
        if abs(c[i, j]) >= STRONG_CORRELATION
    ]
    if pairs:
        worst = sorted(pairs, key=lambda pair: -pair[0])[:_FEW_PAIRS]
        return f"the data hardly tell apart {', '.join(text for _, text in worst)}"
    weakest = analyse_rank(known.jacobian[:, known.independent]).right[:, -1]
    order = np.argsort(-np.abs(weakest))
    weak = [names[int(j)] for j in order if abs(weakest[j]) > _PART_OF_IT]
    return f"{listed(weak)} can nearly make up for each other"


def _poor(subject: SimulatedSubject, known: Sensitivities) -> Iterator[Finding]:
    poor = {}
    for q, error in zip(subject.problem.free, known.errors, strict=True):
        room = q.upper - q.lower
        if not math.isfinite(error):
            continue
        if q.initial != 0.0 and error > _POOR * abs(q.initial):
            poor[q.name] = f"{q.name} only to {percent(error / abs(q.initial))}"
        elif q.initial == 0.0 and math.isfinite(room) and error > _POOR * room:
            unit = f" {q.unit}" if q.unit not in (None, "", "1") else ""
            poor[q.name] = f"{q.name} only to +-{plain(error, 2)}{unit}"
    if not poor:
        return
    words, keys = ", ".join(poor.values()), ("parameters", next(iter(poor)))
    if not subject.problem.sigma_known:
        yield subject.note(
            "poorly-determined",
            keys,
            f"{words}, if the noise is as large as the misfit at the initial values",
            "give sigma for a prediction that does not depend on the initial values",
        )
        return
    yield subject.finding(
        "note" if subject.inert_allowed else "warning",
        "poorly-determined",
        keys,
        f"the data will tell {words}",
        "measure longer or with less noise, excite it more ('fmident design'), or fix it",
    )


def unmoved_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield the outputs that no parameter affects."""
    known = subject.once(initial_sensitivities)
    if isinstance(known, JacobianError):
        return
    layout, experiments = residual_layout(subject.problem), subject.problem.experiments
    scaled = np.abs(known.jacobian) * known.sizes
    noise = float(np.max(known.column_errors * known.sizes)) / math.sqrt(known.residuals.size)
    silent = max(noise, _SILENT * float(scaled.max(initial=0.0)))
    still: dict[str, list[int]] = {}
    for i, k, _, m in subject.outputs():
        rows = scaled[layout.rows_of(i, k)]
        if not rows.size or float(np.sqrt(np.mean(rows**2, axis=0)).max(initial=0.0)) <= silent:
            still.setdefault(m.name, []).append(i)
    for name, places in still.items():
        everywhere = len(places) == len(experiments)
        which = (
            ""
            if len(experiments) == 1
            else " in any experiment"
            if everywhere
            else f" in {quoted([experiments[i].name for i in places])}"
        )
        yield subject.finding(
            "warning" if everywhere else "note",
            "output-unmoved",
            ("experiments", places[0], "outputs", name),
            f"no free parameter moves the output '{name}'{which}: it adds nothing but its misfit",
            "leave it out, or free a parameter that acts on it",
        )


def tolerance_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield the effects of the simulation tolerance on estimate and derivatives."""
    known = subject.once(initial_sensitivities)
    if isinstance(known, JacobianError):
        return
    check, tolerance = known.statistics.derivatives, ("evaluation", "tolerance")
    if check.substeps is not None:
        yield subject.warning(
            "communication-step",
            ("evaluation", "substeps"),
            "the FMU's answer depends on the communication step: half of it"
            f" {_consequence(check.step_shifts, check.step_share)}",
            check.step_advice,
        )
    if check.shifts or check.share:
        yield subject.warning(
            "integration-error",
            tolerance,
            (
                f"the error of the integration at the tolerance {check.tolerance:g}"
                if check.needed is not None
                else "the error of the FMU's own solver, which ignores evaluation.tolerance,"
            )
            + f" {_consequence(check.shifts, check.share)}",
            check.advice,
        )
    if check.unknown:
        yield subject.note(
            "solver-error-unknown",
            tolerance,
            "the FMU ignores evaluation.tolerance, and how far the error of its own solver"
            f" moves the estimate is not known: {check.unknown}",
            "export it with Model Exchange as well, or compare with a finer solver or a"
            " tighter tolerance",
        )
    if check.tightened is not None:
        text = tightened_note(check.tightened, check.tolerance, exact=known.statistics.exact).text
        yield subject.note(
            "derivatives-tightened",
            tolerance,
            text[:1].lower() + text[1:],
            "set evaluation.tolerance to that if the search makes no progress",
        )
    withheld = known.statistics.identifiability.withheld
    if withheld:
        yield subject.warning(
            "derivatives-inexact",
            tolerance,
            f"the derivatives are too inexact to predict the error of {', '.join(withheld)}",
            "give the FMU a finer solver: it ignores evaluation.tolerance"
            if check.ignores_tolerance
            else "tighten evaluation.tolerance",
        )


def _consequence(shifts: Mapping[str, float], share: float) -> str:
    if not shifts:
        return (
            f"changes outputs by {share:.2g} times the size of the residuals at the initial values"
        )
    shifted = ", ".join(f"{name} by {shift:.2g} standard errors" for name, shift in shifts.items())
    return f"will move the estimate: {shifted}"


def _without_rank(check: SensitivityCheck, *, undecided: bool = False) -> str:
    """Return the verdict without its first sentence, which states the rank."""
    first = rank_sentence(check.rank, len(check.names), undecided=undecided)
    text = check.verdict.removeprefix(f"{first} ")
    return text[:1].lower() + text[1:] if text.startswith("The ") else text
