"""One of several results that are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.report.comparison.choice import Candidate


@dataclass(frozen=True)
class Compared:
    """One of the results.

    Parameters
    ----------
    name
        As short as tells it from the others.
    result
        As stored.
    found
        Criteria and weights.
    """

    name: str
    result: EstimationResult
    found: Candidate
