"""Profiles as text for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fmident.report.numbers import duration, plain, with_error
from fmident.report.terminal import narrow_table, unit_text

if TYPE_CHECKING:
    from fmident.profiles import JointRegion, ParameterProfile, ProfileResult

_MOST_REASONS = 3
_HALF_WIDTHS = 2.0
"""A half width of an interval in standard errors, about; ends are rounded as these."""


def table_text(result: ProfileResult, width: int) -> str:
    """Return the table of the intervals, at most so many columns wide."""
    rows = [
        [
            p.name,
            with_error(p.value, _error(p))[0],
            interval_text(p.interval, _error(p)),
            interval_text(p.linearised, _error(p)),
            unit_text(p.unit),
            p.verdict.text,
        ]
        for p in result.profiles
    ]
    header = [
        "parameter", "value", f"{percent_text(result.level)} by profile", "linearised", "unit", "",
    ]  # fmt: skip
    return narrow_table(header, rows, ["<", ">", ">", ">", "<", "<"], width, ["linearised", "unit"])


def headline(result: ProfileResult) -> str:
    """Return what all profiles together say."""
    count = len(result.profiles)
    kinds = [p.verdict.kind for p in result.profiles]
    if result.status == "interrupted":
        ended = sum(k != "unfinished" for k in kinds)
        found = sum(e.outcome == "reached" for p in result.profiles for e in (p.lower, p.upper))
        return (
            f"Interrupted: {ended} of {count} profiles are complete, {found} of {2 * count} ends "
            "are found."
        )
    lost = [p.name for p in result.profiles if p.verdict.kind == "not-identifiable"]
    half = [p.name for p in result.profiles if p.verdict.kind == "open"]
    failed = [p.name for p in result.profiles if p.verdict.kind == "fails"]
    cut = [p.name for p in result.profiles if p.verdict.kind == "one-sided"]
    bent = [p.name for p in result.profiles if p.verdict.kind in ("asymmetric", "differs")]
    parts = []
    if lost:
        parts.append(f"not identifiable: {', '.join(lost)}")
    if half:
        parts.append(f"open on one side: {', '.join(half)}")
    if failed:
        parts.append(f"without an end: {', '.join(failed)}")
    if cut:
        parts.append(f"on a bound: {', '.join(cut)}")
    if bent:
        parts.append(f"other than linearised: {', '.join(bent)}")
    if not parts:
        all_of = "Both" if count == 2 else f"All {count}"
        what = "The profile agrees" if count == 1 else f"{all_of} profiles agree"
        return f"{what} with the linearised intervals."
    return f"Of {count} profile{'' if count == 1 else 's'}, " + "; ".join(parts) + "."


def grade_of(result: ProfileResult) -> str:
    """Return what the profiles are worth: ``"good"``, ``"doubtful"`` or ``"bad"``."""
    kinds = {p.verdict.kind for p in result.profiles}
    return "bad" if "not-identifiable" in kinds else "good" if kinds <= {"agrees"} else "doubtful"


def reasons(result: ProfileResult) -> list[str]:
    """Return why ends are missing, a sentence each; of an interrupted walk that is known."""
    found = []
    for p in result.profiles:
        for end, side in ((p.lower, "below"), (p.upper, "above")):
            if end.reason and end.outcome != "unfinished":
                found.append(f"{p.name} {side}: {end.reason}")
    return found


def region_text(region: JointRegion) -> str:
    """Return what a joint region says, in one sentence."""
    return f"Region of {' and '.join(region.names)}: {region.verdict.text}."


def region_reasons(region: JointRegion) -> list[str]:
    """Return why a region has no edge in some directions, each reason once."""
    texts = [e.reason for e in region.ends if e.reason]
    return list(dict.fromkeys(texts))[:_MOST_REASONS]


def effort(result: ProfileResult) -> str:
    """Return what it took, and what the threshold is."""
    points = sum(len(p.points) for p in result.profiles)
    return (
        f"{points} points, {result.simulations} simulations, {result.jacobians} Jacobians, "
        f"{duration(result.seconds)}; {threshold_text(result)}"
    )


def threshold_text(result: ProfileResult) -> str:
    """Return the threshold in words."""
    if result.sigma_known:
        source = "chi-squared with 1 degree of freedom, the noise is given"
    else:
        source = f"F with 1 and {result.freedom} degrees of freedom, the noise is estimated"
    more = ""
    if any(p.factor != 1.0 for p in result.profiles):
        more = "; by more where noise that is not white, or what was held, counts"
    return f"at the ends the cost has risen by {result.threshold:.4g} ({source}{more})"


def percent_text(level: float) -> str:
    """Return a confidence level, such as ``"95 %"``."""
    return f"{100.0 * level:.6g} %"


def interval_text(ends: tuple[float, float], error: float) -> str:
    """Return an interval that may be open, its ends rounded as fits a standard error."""
    low, high = ends
    if math.isinf(low) and math.isinf(high):
        return "unbounded"
    if math.isnan(low) and math.isnan(high):
        return "n/a"
    texts = [with_error(end, error)[0] for end in ends]
    if math.isinf(low):
        return f"below {texts[1]}" if not math.isnan(high) else "n/a"
    if math.isinf(high):
        return f"above {texts[0]}" if not math.isnan(low) else "n/a"
    return (
        "[" + ", ".join("?" if math.isnan(e) else t for e, t in zip(ends, texts, strict=True)) + "]"
    )


def _error(profile: ParameterProfile) -> float:
    """Return about the standard error: from the profile, where it has an end."""
    known = [abs(e - profile.value) for e in profile.interval if math.isfinite(e)]
    if known:
        return min(known) / _HALF_WIDTHS or profile.standard_error
    return profile.standard_error


def value_text(profile: ParameterProfile) -> str:
    """Return the estimate, rounded as its interval."""
    return with_error(profile.value, _error(profile))[0]


def texts_of(profile: ParameterProfile) -> dict[str, str]:
    """Return value, both intervals, unit, bounds and verdict of a profile as text."""
    error = _error(profile)
    low, high = profile.bounds
    bounded = math.isfinite(low) or math.isfinite(high)
    return {
        "name": profile.name,
        "value": value_text(profile),
        "interval": interval_text(profile.interval, error),
        "linearised": interval_text(profile.linearised, error),
        "unit": unit_text(profile.unit),
        "bounds": f"{plain(low)} … {plain(high)}" if bounded else "",
        "verdict": profile.verdict.text,
        "kind": profile.verdict.kind,
    }
