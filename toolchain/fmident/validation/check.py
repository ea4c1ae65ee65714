"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Check:
    """One check and how it ended.

    Parameters
    ----------
    name
        What was checked.
    passed
        Whether it is as it should be; true of a check that was skipped.
    detail
        What was found.
    figure
        The number that decides, such as a deviation over range; ``None`` if there is none.
    seconds
        Wall time.
    skipped
        It could not be done; `detail` says why.
    warning
        It is not as it should be, but fmident can deal with it; then it has passed.
    further
        More that was found, of which `detail` gives the number only.
    """

    name: str
    passed: bool
    detail: str
    figure: float | None = None
    seconds: float = 0.0
    skipped: bool = False
    warning: bool = False
    further: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """``ok``, ``warning``, ``FAILED`` or ``skipped``."""
        if self.skipped:
            return "skipped"
        if not self.passed:
            return "FAILED"
        return "warning" if self.warning else "ok"


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

    @property
    def seconds(self) -> float:
        """Wall time of all checks."""
        return sum(c.seconds for c in self.checks)

    @property
    def deviation(self) -> float | None:
        """Largest deviation from a reference over range; ``None`` without a reference."""
        figures = [c.figure for c in self.checks if c.name.startswith("reference ")]
        return max((f for f in figures if f is not None), default=None)
