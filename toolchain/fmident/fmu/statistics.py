"""What a simulator has done so far."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Statistics:
    """What a simulator has done so far.

    Parameters
    ----------
    runs, failures
        Runs begun, and those of them that failed.
    steps
        Communication steps.
    instantiations
        1 as long as nothing made a new instance necessary.
    warnings
        Steps in which the FMU returned Warning.
    """

    runs: int = 0
    failures: int = 0
    steps: int = 0
    instantiations: int = 0
    warnings: int = 0
