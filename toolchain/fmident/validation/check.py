"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

Outcome = Literal["ok", "finding", "failed", "skipped"]
"""``failed``: results are wrong, or the FMU is not what the catalogue says. ``finding``: against
the standard, or less exact than one would wish, with its figure. ``skipped``: it could not be done.
"""


@dataclass(frozen=True)
class Check:
    """One check and how it ended.

    Parameters
    ----------
    name
        What was checked.
    outcome
        How it ended.
    detail
        What was found, or why it could not be done.
    figure
        The number that decides, such as a deviation over range; ``None`` if there is none.
    seconds
        Wall time.
    further
        More that was found, of which `detail` gives the number only.
    """

    name: str
    outcome: Outcome
    detail: str
    figure: float | None = None
    seconds: float = 0.0
    further: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it has not failed."""
        return self.outcome != "failed"


@dataclass(frozen=True)
class FmuReport:
    """All checks of one FMU.

    Parameters
    ----------
    path
        The file.
    checks
        In the order in which they ran.
    unusable
        Why the file cannot be used here at all; then `checks` is what came before.
    """

    path: Path
    checks: tuple[Check, ...]
    unusable: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the file can be used and no check failed."""
        return self.unusable is None and all(c.passed for c in self.checks)

    def strict(self) -> FmuReport:
        """Return the report with findings as failures."""
        checks = (
            replace(c, outcome="failed") if c.outcome == "finding" else c for c in self.checks
        )
        return replace(self, checks=tuple(checks))

    @property
    def findings(self) -> int:
        """How many checks have a finding."""
        return sum(c.outcome == "finding" for c in self.checks)

    @property
    def seconds(self) -> float:
        """Wall time of all checks."""
        return sum(c.seconds for c in self.checks)

    @property
    def deviation(self) -> float | None:
        """Largest deviation from a reference over range; ``None`` without a reference."""
        figures = [c.figure for c in self.checks if c.name.startswith("reference ")]
        return max((f for f in figures if f is not None), default=None)
