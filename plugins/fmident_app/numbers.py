"""Numbers as the page shows them."""

from __future__ import annotations


def plain(value: float, digits: int = 6) -> str:
    """Return a value with so many significant digits."""
    return f"{value:.{digits}g}"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage."""
    return f"{100.0 * fraction:.3g} %"


def duration(seconds: float) -> str:
    """Return a time in s or min."""
    return f"{seconds:.2g} s" if seconds < 100.0 else f"{seconds / 60.0:.1f} min"
