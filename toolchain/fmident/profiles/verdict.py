"""Verdicts on linearised intervals from their profiles."""

from __future__ import annotations

import math

from fmident.profiles.result import ProfileEnd, ProfileVerdict

_AGREES = 0.1
"""Ends closer together than this part of the half width agree."""

_FLAT = 0.05
"""Greatest tau, in critical ones, of a profile that counts as flat: the cost rises by less than
0.3 % of what it takes."""


def judge(
    value: float,
    lower: ProfileEnd,
    upper: ProfileEnd,
    linearised: tuple[float, float],
    critical_tau: float,
    what: str = "linearised interval",
) -> ProfileVerdict:
    """Return the verdict on the linearised interval of one parameter.

    `lower` and `upper` are the ends from the profile, `linearised` is the interval of the
    same level, called `what`, and `critical_tau` is tau at the ends.
    """
    ends = (lower, upper)
    if any(e.outcome == "unfinished" for e in ends):
        return ProfileVerdict("unfinished", "interrupted")
    if all(e.is_open for e in ends):
        if max(e.tau for e in ends) < _FLAT * critical_tau:
            return ProfileVerdict(
                "not-identifiable", "not identifiable: flat, other parameters make up for it"
            )
        return ProfileVerdict("not-identifiable", "not identifiable: open on both sides")
    for end, side in ((lower, "below"), (upper, "above")):
        if end.is_open:
            flat = end.tau < _FLAT * critical_tau
            return ProfileVerdict("open", f"open {side}: " + _why_open(end, flat))
    if any(e.outcome == "bound" for e in ends) and any(e.outcome == "reached" for e in ends):
        return ProfileVerdict("one-sided", "one-sided: the estimate lies on its bound")
    for end, side in ((lower, "below"), (upper, "above")):
        if end.outcome != "reached":
            return ProfileVerdict("fails", f"no end {side}: {_short(end)}")
    return _compare(value, lower.value, upper.value, linearised, what)


def _why_open(end: ProfileEnd, flat: bool) -> str:
    if end.outcome == "bound":
        return "flat up to the bound" if flat else "the bound comes first"
    return "flat" if flat else "the cost does not rise enough"


def _short(end: ProfileEnd) -> str:
    if end.outcome == "failure":
        return "simulations fail first"
    return "the walk was given up"


def _compare(
    value: float, low: float, high: float, linearised: tuple[float, float], what: str
) -> ProfileVerdict:
    left, right = value - low, high - value
    half = 0.5 * (linearised[1] - linearised[0])
    if not math.isfinite(half) or half <= 0.0:
        return ProfileVerdict(
            "differs", "has ends by its profile only: bounds or curvature limit it"
        )
    if max(abs(left - half), abs(right - half)) <= _AGREES * half:
        return ProfileVerdict("agrees", "agrees")
    if max(left, right) > (1.0 + _AGREES) * min(left, right):
        longer, shorter, side = (right, left, "up") if right > left else (left, right, "down")
        other = "down" if side == "up" else "up"
        return ProfileVerdict(
            "asymmetric",
            f"not symmetric: {_times(longer / shorter)} as far {side} as {other}",
        )
    ratio = (left + right) / (2.0 * half)
    return ProfileVerdict("differs", f"{_times(ratio)} as wide as the {what}")


def _times(ratio: float) -> str:
    return f"{ratio:.3g} times" if ratio < 100.0 else f"{ratio:.0f} times"
