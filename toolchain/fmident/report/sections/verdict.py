"""What the result is worth, first of all."""

from __future__ import annotations

from collections.abc import Sequence

from fmident.report.sections.html import fragment


def verdict_section(grade: str, headline: str, reasons: Sequence[str], notes: Sequence[str]) -> str:
    """Return headline, reasons and notes.

    Parameters
    ----------
    grade
        ``"good"``, ``"doubtful"`` or ``"bad"``.
    headline, reasons, notes
        The words.
    """
    return fragment("verdict", grade=grade, headline=headline, reasons=reasons, notes=notes)
