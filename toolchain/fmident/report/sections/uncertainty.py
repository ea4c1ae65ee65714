"""Sections on uncertainty: sensitivities, correlation, identifiability, draws, priors, profiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fmident.report.figures.draws import MOST_PARAMETERS, pairs_chart, trace_chart
from fmident.report.figures.uncertainty import identifiability_chart, sensitivity_chart
from fmident.report.sections.html import Section, Table, Text, fragment
from fmident.report.terminal import (
    DRAW_HEADER,
    PRIOR_HEADER,
    TRUNCATION_HEADER,
    draw_rows,
    prior_rows,
    truncation_rows,
)
from fmident.report.verdict import STRONG_CORRELATION, correlated_pairs
from fmident.statistics.fixing import collinearity_text
from fmident.words import percent, plain, probability

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, PriorKnowledge
    from fmident.statistics.fixing import FixingStep


MOST_OUTPUTS = 24
_LEAST_SHARE = 0.001


_MOST_SHIFTS = 4
_LEAST_SHIFT = 1e-3


_MOST_STARTS = 12
"""Parameters up to which the bias of each by each start is shown."""


@dataclass(frozen=True)
class _ShareCell:
    text: str
    color: str


def sensitivities_section(result: EstimationResult, most: int | None = None) -> str:
    """Return the information of each output on each parameter, and sensitivities over time.

    It is a sentence if there are none, and empty if the run ended before any fit. `most`
    limits the samples of a line.
    """
    every = result.sensitivities
    if not every:
        return "" if not result.fits else fragment("no-sensitivities", reason=_reason(result))
    columns = [_title(s.name, s.experiment, s.stage) for s in every]
    names = list(dict.fromkeys(name for s in every for name in s.parameters))
    rows = [
        (name, [_share_cell(_share(s.parameters, s.shares.tolist(), name)) for s in every])
        for name in names
    ]
    charts = [(s, sensitivity_chart(s)) for s in every[:MOST_OUTPUTS]]
    plots = [
        (s.name, ", ".join(filter(None, (s.experiment, s.stage))), chart.html(most))
        for s, chart in charts
        if chart is not None
    ]
    return fragment(
        "sensitivities",
        columns=columns,
        rows=rows,
        plots=plots,
        left_out=max(0, len(every) - MOST_OUTPUTS),
    )


def _reason(result: EstimationResult) -> str:
    if result.identifiability is None:
        return "the run computed no derivatives of the samples at its end"
    return "the result does not hold them"


def _title(name: str, experiment: str, stage: str) -> tuple[str, str]:
    return name, ", ".join(filter(None, (experiment, stage)))


def _share(parameters: tuple[str, ...], shares: list[float], name: str) -> float | None:
    return shares[parameters.index(name)] if name in parameters else None


def share_text(share: float) -> str:
    """Return a fraction as a percentage with one decimal."""
    if 0.0 < share < _LEAST_SHARE:
        return f"< {100.0 * _LEAST_SHARE:g} %"
    return f"{100.0 * share:.1f} %"


def _share_cell(share: float | None) -> _ShareCell | None:
    if share is None:
        return None
    return _ShareCell(share_text(share), f"rgba(11,92,173,{0.55 * min(share, 1.0):.2f})")


def draws_section(result: EstimationResult) -> str:
    """Return the table of draws, their traces and parameter pairs; empty without any."""
    if result.draws is None:
        return ""
    trace, pairs = trace_chart(result), pairs_chart(result)
    return fragment(
        "draws",
        header=DRAW_HEADER,
        rows=draw_rows(result),
        count=result.draws.count,
        trace=trace.html() if trace else "",
        pairs=pairs.html() if pairs else "",
        left_out=max(0, len(result.draws.parameters) - MOST_PARAMETERS),
    )


def _fixing(number: int, step: FixingStep) -> dict[str, str]:
    """Return one step of the ranking as text."""
    shifts = sorted(step.shifts.items(), key=lambda one: -abs(one[1]))
    texts = [f"{name} {10.0 * x:+.2g} %" for name, x in shifts if abs(x) >= _LEAST_SHIFT]
    more = len(texts) - _MOST_SHIFTS
    return {
        "number": str(number),
        "name": step.name,
        "before": collinearity_text(step.before),
        "after": collinearity_text(step.after),
        "shifts": ", ".join(texts[:_MOST_SHIFTS]) + (f" and {more} others" if more > 0 else ""),
    }


def identifiability_section(result: EstimationResult) -> str:
    """Return singular values and weakest directions; empty with fewer than two parameters."""
    identifiability = result.identifiability
    chart = identifiability_chart(identifiability)
    if identifiability is None or chart is None:
        return ""
    return fragment(
        "identifiability",
        chart=chart.html(),
        verdict=identifiability.verdict,
        directions=bool(identifiability.weakest),
        stage=result.stages[-1].name if result.stages else "",
        fixing=[_fixing(number, step) for number, step in enumerate(identifiability.fixing, 1)],
    )


def prior_facts(found: PriorKnowledge) -> list[str]:
    """Return statements on all priors together, a sentence each."""
    facts = []
    if found.compared:
        p = probability(found.p_value)
        agrees = "contradict" if found.conflict else "do not contradict"
        facts.append(
            f"Priors and data {agrees} each other: squared distance {plain(found.distance, 3)},"
            f" {found.compared} degree{'s' * (found.compared > 1)} of freedom,"
            f" p {'' if p.startswith('<') else '= '}{p}."
        )
    own = {c.name for c in found.checks}
    others = {n: s for n, s in found.shares.items() if n not in own and s > 0.01}
    if others:
        shares_text = ", ".join(f"{n} {percent(float(f'{s:.2g}'))}" for n, s in others.items())
        facts.append(f"Priors of others also tell what these are, by shares of: {shares_text}.")
    return facts


def priors_section(result: EstimationResult) -> str:
    """Return the table of priors; empty without any."""
    if result.priors is None:
        return ""
    about = (
        "What was known before the data, what the data alone say (to first order at the estimate),"
        " and the share of the priors in the variance of the estimate. Apart: from the prior to"
        " what data and other priors say, in standard deviations of the difference; p: how"
        " probable a larger one is."
    )
    table = Table(PRIOR_HEADER, prior_rows(result))
    facts = [Text(fact) for fact in prior_facts(result.priors)]
    return Section("Priors", [Text(about), table, *facts]).html()


def truncation_section(result: EstimationResult) -> str:
    """Return resolution and bias; empty if nothing was held."""
    truncation = result.truncation
    if truncation is None:
        return ""
    about = (
        "From data: how much of the value the data determine; the rest is where the parameter"
        " started. +- of start: error of the value if each start is wrong by one scale, which no"
        " interval counts. +- of noise: standard error if the start is right along what was held."
    )
    parts: list[Text | Table] = [Text(truncation.sentence), Text(about)]
    parts.append(Table(TRUNCATION_HEADER, truncation_rows(result)))
    held = [name for name in truncation.held if name not in truncation.untouched]
    if 0 < len(held) <= _MOST_STARTS:
        parts.append(Text("Change of each value if the start of one of them changes by 1:"))
        rows = [[name, *(plain(truncation.bias[name][of], 3) for of in held)] for name in held]
        parts.append(Table(["value", *(f"start of {name}" for name in held)], rows))
    return Section("What was held at the start", parts).html()


@dataclass(frozen=True)
class _CorrelationCell:
    text: str
    color: str
    strong: bool


def correlation_section(result: EstimationResult) -> str:
    """Return the lower triangle of the correlation matrix; empty if it has no entries."""
    names = [e.name for e in result.estimates if e.searched]
    matrix = np.asarray(result.correlation, dtype=np.float64)
    if len(names) < 2 or matrix.shape != (len(names), len(names)):
        return ""
    if not np.any(np.isfinite(matrix)):
        return ""
    rows: list[tuple[str, list[_CorrelationCell | None]]] = []
    for i, name in enumerate(names):
        cells: list[_CorrelationCell | None] = [
            _correlation_cell(float(matrix[i, j]), i == j) if j <= i else None
            for j in range(len(names))
        ]
        rows.append((name, cells))
    strong = f"{STRONG_CORRELATION:.2f}" if correlated_pairs(result) else ""
    return fragment("correlation", matrix=rows, strong=strong)


def _correlation_cell(value: float, diagonal: bool) -> _CorrelationCell:
    if not np.isfinite(value):
        return _CorrelationCell("n/a", "var(--faint)", False)
    if diagonal:
        return _CorrelationCell("1", "var(--faint)", False)
    depth = 0.55 * min(abs(value), 1.0) ** 1.5
    red, green, blue = (11, 92, 173) if value > 0 else (200, 80, 30)
    color = f"rgba({red},{green},{blue},{depth:.2f})"
    return _CorrelationCell(f"{value:+.2f}", color, abs(value) >= STRONG_CORRELATION)
