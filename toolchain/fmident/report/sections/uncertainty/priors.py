"""What was known before the data, and what data and priors contributed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.report.numbers import percent, plain, probability
from fmident.report.sections.content import Section, Table, Text
from fmident.report.terminal import PRIOR_HEADER, prior_rows

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, PriorKnowledge


def prior_facts(found: PriorKnowledge) -> list[str]:
    """Return what is to be said of all priors together, a sentence each."""
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
        shown = ", ".join(f"{n} {percent(float(f'{s:.2g}'))}" for n, s in others.items())
        facts.append(f"Priors of others also tell what these are, by shares of: {shown}.")
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
