"""The result in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fmident.report.numbers import percent, plain

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult

Grade = Literal["good", "doubtful", "bad"]

STRONG_CORRELATION = 0.98
"""From here on two parameters can hardly be told apart by the data."""

_HEADLINES = {
    "converged": "The estimation converged",
    "limit": "The estimation stopped at a limit before it converged",
    "stopped": "The estimation was stopped on request before it converged",
    "interrupted": "The estimation was interrupted; these are the best parameters so far",
    "failed": "The estimation failed",
}


@dataclass(frozen=True)
class Verdict:
    """A judgement with its reasons.

    Parameters
    ----------
    grade
        ``"good"``: nothing speaks against the parameters; ``"doubtful"``: read the
        reasons; ``"bad"``: do not use them.
    headline
        One sentence.
    reasons
        One sentence each.
    """

    grade: Grade
    headline: str
    reasons: tuple[str, ...]


def verdict(result: EstimationResult) -> Verdict:
    """Judge a result.

    It is good when the estimator converged, every free parameter is identifiable, none
    lies on a bound and no two are nearly the same to the data.
    """
    reasons: list[str] = []
    doubts = 0
    free = [e for e in result.estimates if not e.fixed]

    if result.identifiability is not None:
        reasons.append(_sentence(result.identifiability.verdict))
        doubts += result.identifiability.rank < len(free)
    free_inside = [e for e in free if not e.at_bound]
    doubts += any(math.isinf(e.standard_error) for e in free_inside)
    unknown = [e.name for e in free_inside if math.isnan(e.standard_error)]
    if unknown:
        doubts += 1
        reasons.append(f"There is no uncertainty for {_names(unknown)}.")
    bound = [e.name for e in free if e.at_bound]
    if bound:
        doubts += 1
        verb = "lies" if len(bound) == 1 else "lie"
        reasons.append(
            f"{_names(bound)} {verb} on a bound: the data would take a value outside of it."
        )
    for first, second, value in correlated_pairs(result):
        doubts += 1
        reasons.append(
            f"{first} and {second} are correlated by {value:+.3f}: "
            "the data fix their combination better than each of them."
        )
    if math.isfinite(result.cost_initial) and math.isfinite(result.cost_final):
        reasons.append(
            f"The cost fell from {plain(result.cost_initial, 4)} to {plain(result.cost_final, 4)}."
        )
    worst = max(
        (f for f in result.fits if math.isfinite(f.relative_error)),
        key=lambda f: f.relative_error,
        default=None,
    )
    if worst is not None:
        reasons.append(
            f"Largest relative error of an output: {percent(worst.relative_error)} "
            f"({worst.name}, {worst.experiment})."
        )

    headline = _HEADLINES[result.status]
    grade: Grade = "good"
    if result.status == "failed" or not math.isfinite(result.cost_final):
        grade = "bad"
    elif result.status != "converged":
        grade = "doubtful"
    elif doubts:
        grade = "doubtful"
        headline += ", but not everything can be believed"
    else:
        headline += " and every parameter is determined by the data"
    return Verdict(grade, headline + ".", tuple(reasons))


def correlated_pairs(
    result: EstimationResult, threshold: float = STRONG_CORRELATION
) -> list[tuple[str, str, float]]:
    """Return the pairs of free parameters correlated by at least `threshold`, worst first."""
    names = [e.name for e in result.estimates if not e.fixed]
    matrix = np.asarray(result.correlation, dtype=np.float64)
    if matrix.shape != (len(names), len(names)):
        return []
    pairs = [
        (names[i], names[j], float(matrix[i, j]))
        for i in range(len(names))
        for j in range(i + 1, len(names))
        if abs(matrix[i, j]) >= threshold
    ]
    return sorted(pairs, key=lambda pair: -abs(pair[2]))


def _names(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _sentence(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."
