"""What a plugin learns about a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fmident.problem.model import Problem


@dataclass(frozen=True)
class Run:
    """One run of an estimator, as the hooks see it.

    Parameters
    ----------
    problem
        What is estimated.
    estimator
        Name of the estimator.
    memory
        Where a plugin keeps its own data between the hooks of this run, under a key of
        its own.
    """

    problem: Problem
    estimator: str
    memory: dict[str, object] = field(default_factory=dict)
