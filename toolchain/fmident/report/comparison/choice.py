"""Which of the results to take: criteria, weights, tests of nested problems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.report.comparison.nested import containment, searched
from fmident.report.comparison.samples import Samples, modelled_noise, why_not
from fmident.statistics.choice import (
    Criteria,
    Fit,
    LikelihoodRatio,
    akaike_weights,
    criteria,
    inflation_of,
    likelihood_ratio,
)

if TYPE_CHECKING:
    import pandas as pd

    from fmident.estimation.result import EstimationResult

_SLACK = 1e-6
"""By which part the larger problem may leave more than the smaller one: the end of a search."""


@dataclass(frozen=True)
class Candidate:
    """What is known of one result.

    Parameters
    ----------
    criteria
        With the samples taken for independent.
    effective
        With as many as are independent; the same as `criteria` where the residuals are white.
    weight, effective_weight
        Of Akaike, by AICc of either; NaN where there is none.
    fit
        ``None`` without criteria.
    """

    criteria: Criteria
    effective: Criteria
    weight: float = math.nan
    effective_weight: float = math.nan
    fit: Fit | None = None


@dataclass(frozen=True)
class NestedTest:
    """A problem against one that contains it.

    Parameters
    ----------
    smaller, larger
        Names of the results.
    extra, boundary, doubts
        As of :class:`fmident.report.comparison.nested.Containment`.
    ratio, effective
        The test with samples taken for independent, and with as many as are independent.
    """

    smaller: str
    larger: str
    extra: tuple[str, ...]
    boundary: tuple[str, ...]
    doubts: tuple[str, ...]
    ratio: LikelihoodRatio
    effective: LikelihoodRatio


@dataclass(frozen=True)
class Choice:
    """What criteria and tests say of all results.

    Parameters
    ----------
    candidates
        In the order of the results.
    tests
        Of each pair that is nested.
    untested
        Why others were not tested: names of two results, reason.
    inflation
        Samples that hold as much as one independent sample, by the residuals of `reference`; 1 for
        white residuals.
    reference
        Name of the result that fits best.
    modelled
        Names of the results with a model of the noise, where others have none.
    caution
        What keeps criteria from being compared as they are; empty where nothing does.
    """

    candidates: tuple[Candidate, ...]
    tests: tuple[NestedTest, ...] = ()
    untested: tuple[tuple[str, str, str], ...] = field(default=())
    inflation: float = 1.0
    reference: str = ""
    modelled: tuple[str, ...] = ()
    caution: str = ""

    @property
    def coloured(self) -> bool:
        """Whether the residuals of the reference are not white."""
        return self.inflation > 1.0


def choose(
    names: Sequence[str],
    results: Sequence[EstimationResult],
    tables: Sequence[pd.DataFrame | None],
    files: Sequence[Path | None],
) -> Choice:
    """Return criteria and tests of results.

    Parameters
    ----------
    names, results
        Of the same length, as are the others.
    tables
        ``fit.csv`` of each.
    files
        Problem file of each as it was run.
    """
    reasons, samples = _reasons(results, tables)
    fits = [
        None if s is None or reason else s.fit(r)
        for r, s, reason in zip(results, samples, reasons, strict=True)
    ]
    white = [
        Criteria(missing=reason) if fit is None else criteria(fit)
        for fit, reason in zip(fits, reasons, strict=True)
    ]
    known = [k for k, c in enumerate(white) if not c.missing]
    if not known:
        return Choice(tuple(Candidate(c, c) for c in white))
    best = min(known, key=lambda k: _deviance(fits[k]))
    of_best = samples[best]
    inflation = 1.0 if of_best is None else inflation_of(of_best.series(results[best]))
    modelled = [names[k] for k in known if modelled_noise(results[k]) is not None]
    caution = ""
    if inflation > 1.0 and modelled and names[best] not in modelled:
        # What is right for the others would count their colour twice.
        inflation = 1.0
        caution = (
            f"the residuals of {names[best]} are not white, which its likelihood takes them for:"
            " estimate it with a model of the noise, as the others"
        )
    effective = [
        c if fit is None or c.missing else criteria(fit, inflation)
        for c, fit in zip(white, fits, strict=True)
    ]
    weights = akaike_weights([c.aicc for c in white])
    others = akaike_weights([c.aicc for c in effective])
    candidates = map(Candidate, white, effective, weights, others, fits)
    tests: list[NestedTest] = []
    untested: list[tuple[str, str, str]] = []
    for i, j in permutations(known, 2):
        if _pair_is_asked(results, i, j):
            found = _test(names, results, samples, files, (i, j), inflation)
            if isinstance(found, str):
                untested.append((names[i], names[j], found))
            else:
                tests.append(found)
    return Choice(
        tuple(candidates), tuple(tests), tuple(untested), inflation, names[best],
        tuple(modelled) if len(modelled) < len(known) else (), caution,
    )  # fmt: skip


def _deviance(fit: Fit | None) -> float:
    return math.inf if fit is None else fit.deviance


def _reasons(
    results: Sequence[EstimationResult], tables: Sequence[pd.DataFrame | None]
) -> tuple[list[str], list[Samples | None]]:
    """Return why a result has no criteria beside the others, and the samples of each."""
    reasons: list[str] = []
    samples: list[Samples | None] = []
    first: Samples | None = None
    for number, (result, table) in enumerate(zip(results, tables, strict=True)):
        own = None if table is None else Samples.of(table)
        reason = why_not(result, table)
        if number == 0:
            first = own
        elif not reason and first is not None and own is not None:
            different = first.difference(own)
            if different:
                reason = f"its samples are not those of the first result: {different}"
        reasons.append(reason)
        samples.append(own)
    return reasons, samples


def _pair_is_asked(results: Sequence[EstimationResult], i: int, j: int) -> bool:
    """Return whether j may contain i: each pair is asked for once, the one with less first."""
    less, more = len(searched(results[i])), len(searched(results[j]))
    return less < more


def _orders(result: EstimationResult) -> dict[str, int] | None:
    """Return the order of the noise of each output; ``None`` without a model of the noise."""
    noise = modelled_noise(result)
    return None if noise is None else {o.name: o.order for o in noise.outputs}


def _test(
    names: Sequence[str],
    results: Sequence[EstimationResult],
    samples: Sequence[Samples | None],
    files: Sequence[Path | None],
    pair: tuple[int, int],
    inflation: float,
) -> NestedTest | str:
    i, j = pair
    found = containment(results[i], results[j], (files[i], files[j]))
    if isinstance(found, str):
        return found
    less, more = samples[i], samples[j]
    assert less is not None
    assert more is not None
    if _orders(results[i]) != _orders(results[j]):
        return "they do not assume the same noise (model of the noise, or its order)"
    larger, own = more.fit(results[j]), less.fit(results[i])
    same = own.sigma_known == larger.sigma_known
    if not larger.noise and not (same and more.same_noise(less, known=own.sigma_known)):
        return "they do not assume the same noise (sigma or weight)"
    smaller = less.fit(results[i], more.sigma)
    worse = smaller.squares < larger.squares * (1.0 - _SLACK)
    if larger.noise:
        smaller = own
        worse = smaller.deviance < larger.deviance - _SLACK * larger.count
    if worse:
        return "the larger one fits worse: it has not reached its minimum"
    return NestedTest(
        names[i],
        names[j],
        found.extra,
        found.boundary,
        found.doubts,
        likelihood_ratio(smaller, larger, boundary=len(found.boundary)),
        likelihood_ratio(smaller, larger, boundary=len(found.boundary), inflation=inflation),
    )
