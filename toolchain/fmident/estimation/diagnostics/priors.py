"""Contributions of data and priors to an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.estimation.compared import PriorCheck, PriorKnowledge
from fmident.findings import Finding, finding
from fmident.problem.priors import Priors
from fmident.statistics import ParameterStatistics

if TYPE_CHECKING:
    from fmident.arrays import F64
    from fmident.problem.model import Problem

_LEAST = 1e-16


def prior_knowledge(
    problem: Problem, p: F64, statistics: ParameterStatistics | None
) -> PriorKnowledge | None:
    """Return the contributions of data and priors; ``None`` if unknown or no prior counts."""
    terms = Priors.of(problem).terms
    contributions = None if statistics is None else statistics.prior
    if not terms or contributions is None:
        return None
    place = {q.name: j for j, q in enumerate(problem.free)}
    units = {q.name: q.unit for q in problem.parameters}
    alone, checks = contributions.alone(), []
    for k, (name, prior) in enumerate(terms):
        j = place.get(name)
        value, error, share = (np.nan, np.nan, np.nan)
        if j is not None:
            value, error = contributions.data_values[j], contributions.data_errors[j]
            share = contributions.shares[j]
        checks.append(
            PriorCheck(
                name,
                units[name],
                str(prior),
                float(share),
                float(value),
                float(error),
                float(contributions.deviations[k]),
                float(contributions.p_values[k]),
                j is not None and bool(alone[j]),
            )
        )
    return PriorKnowledge(
        tuple(checks),
        {q.name: float(s) for q, s in zip(problem.free, contributions.shares, strict=True)},
        contributions.distance,
        contributions.compared,
        contributions.p_value,
        tuple(q.name for q, flag in zip(problem.free, contributions.open, strict=True) if flag),
    )


def after_stages(found: Sequence[PriorKnowledge | None]) -> PriorKnowledge | None:
    """Return the priors' contribution in a run with stages, by last stage of a parameter."""
    known = [k for k in found if k is not None]
    if len(known) < 2:
        return known[0] if known else None
    checks = {c.name: c for k in known for c in k.checks}
    shares = {name: share for k in known for name, share in k.shares.items()}
    open_ones = {n: n in k.left_open for k in known for n in k.shares}
    return PriorKnowledge(
        tuple(checks.values()), shares, left_open=tuple(n for n, o in open_ones.items() if o)
    )


def prior_notes(problem: Problem, found: PriorKnowledge | None) -> list[Finding]:
    """Return notes on priors that contradict the data."""
    if found is None or not found.conflict:
        return []
    listed = "; ".join(conflict_of(c) for c in found.conflict)
    p = ""
    if found.compared:
        p = f" (p = {found.p_value:.2g})" if found.p_value > _LEAST else f" (p < {_LEAST:g})"
    text = (
        f"Prior and data contradict each other{p}: {listed}. The estimate lies between the two, and"
        " its intervals hold for neither."
    )
    if not problem.sigma_known:
        text += (
            " The noise is not given: what the model cannot explain because of the prior counts as"
            " noise, and another minimum may be nearer to the data. Give sigma for each output, or"
            " begin elsewhere."
        )
    hint = "Correct the prior, or look for what the model or the data lack."
    return [finding("prior-conflict", text, hint)]


def conflict_of(check: PriorCheck) -> str:
    """Return in words how far a prior is from the data."""
    unit = "" if check.unit in (None, "1") else f" {check.unit}"
    text = f"'{check.name}' has the prior {check.prior}{unit}"
    if np.isfinite(check.data_value):
        text += f", but {check.data_value:.4g} +- {check.data_error:.2g}{unit} by the data alone"
    return f"{text}, {abs(check.deviation):.2g} standard deviations apart"
