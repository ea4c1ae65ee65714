"""Profiles: their result folder, its JSON file, table, pictures and page, and their text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.arrays import F64
from fmident.profiles.result import (
    JointRegion,
    ParameterProfile,
    ProfileEnd,
    ProfileResult,
    ProfileVerdict,
)
from fmident.report.codec import LAYOUTS, Form, Json, Layout, load, read_file, written_by
from fmident.report.contents import Contents, Said
from fmident.report.figures.files import NamedChart, write_chart
from fmident.report.figures.profiles import profile_chart, profiles_chart, region_chart
from fmident.report.result_json import OPEN, opened
from fmident.report.sections.estimate import Entry
from fmident.report.sections.html import fragment
from fmident.report.terminal import narrow_table, unit_text, wrap
from fmident.words import duration, interval_text, percent_text, plain, with_error

if TYPE_CHECKING:
    import pandas as pd


POINTS, TAU_PICTURE, COST_PICTURE = "profiles.csv", "tau.png", "cost.png"


_MOST_REASONS = 3
_HALF_WIDTHS = 2.0
"""A half width of an interval in standard errors, about; ends are rounded as these."""


def _profile(content: Json) -> Json:
    """Return it with its ends complete, and with what ``null`` stands for.

    JSON has one null for both: on a bound there is no linearised interval, elsewhere it is open.
    """
    bounds = opened(content["bounds"], is_open=True)
    ends = {}
    for key, value, end in zip(("lower", "upper"), content["interval"], OPEN, strict=True):
        is_open = value is None and content[key]["outcome"] in ("bound", "reach")
        ends[key] = {**content[key], "value": end if is_open else value}
    linearised = opened(content["linearised"], is_open=content["value"] not in bounds)
    return {**_verdict(content), **ends, "linearised": linearised}


def _verdict(content: Json) -> Json:
    return {**content, "verdict": {"kind": content["verdict"], "text": content["verdict_text"]}}


def _edge(value: Any, place: str) -> F64:
    edge: F64 = load(F64, value, place).reshape(-1, 2)
    return edge


_VERDICT = Form(
    lambda verdict: verdict.kind, lambda value, place: load(ProfileVerdict, value, place)
)

LAYOUTS.update(
    {
        ProfileResult: Layout(
            keys={
                "variance": "residual_variance",
                "freedom": "degrees_of_freedom",
                "parameters": "estimate",
                "seconds": "wall_time_s",
            },
            by_name={"profiles": "name"},
        ),
        ParameterProfile: Layout(
            null={"bounds": OPEN},
            forms={"verdict": _VERDICT},
            computed={"interval": lambda p: p.interval, "verdict_text": lambda p: p.verdict.text},
            prepare=_profile,
        ),
        ProfileEnd: Layout(keys={"tau": "largest_tau"}, unwritten=("value",)),
        JointRegion: Layout(
            keys={"names": "parameters"},
            forms={"verdict": _VERDICT, "linearised": Form(np.asarray, _edge)},
            computed={"verdict_text": lambda r: r.verdict.text},
            prepare=_verdict,
        ),
    }
)


def read_profiles(file: Path) -> ProfileResult:
    """Read a ``profiles.json``.

    Raises
    ------
    fmident.errors.EstimationError
        It cannot be read, or was not written by fmident.
    """
    what = "a file of profiles"
    return read_file(file, lambda c: load(ProfileResult, c), what, written_by("profile"))


class ProfileContents(Contents[ProfileResult]):
    """Contents of the result folder of profiles.

    In the JSON file a ``null`` end of an interval is open if its outcome is ``"bound"`` or
    ``"reach"``, else unknown.
    """

    marker, page = "profiles.json", "profiles.html"
    kicker, command = "Profile likelihood", "profile"

    def said(self, result: ProfileResult) -> Said:
        """Return a summary in words."""
        return Said(headline(result), grade_of(result), reasons(result), effort(result))

    def blocks(self, result: ProfileResult, width: int) -> Sequence[str]:
        """Return the intervals, and a sentence per region."""
        regions = "\n".join(wrap(region_text(r), width) for r in result.regions)
        return [table_text(result, width), regions]

    def tables(self, result: ProfileResult) -> Mapping[str, tuple[pd.DataFrame, str]]:
        """Return the points."""
        return {POINTS: (result.points, "%.12g")}

    def draw(self, result: ProfileResult, folder: Path) -> None:
        """Write tau and the cost increase of all parameters."""
        write_chart(profiles_chart(result, "tau"), folder / TAU_PICTURE)
        write_chart(profiles_chart(result, "rise"), folder / COST_PICTURE)

    def charts(self, result: ProfileResult) -> Iterator[NamedChart]:
        """Yield each profile, and each region."""
        for number, profile in enumerate(result.profiles, 1):
            yield f"profile-{number}-{profile.name}", profile_chart(profile, result)
        for number, region in enumerate(result.regions, 1):
            yield f"region-{number}-{'-'.join(region.names)}", region_chart(region)

    def sections(self, result: ProfileResult) -> Sequence[str]:
        """Return intervals, profiles and regions."""
        return [intervals_section(result), profiles_section(result), regions_section(result)]

    def shown(self, result: ProfileResult) -> Sequence[str]:
        """Return the intervals."""
        return [intervals_section(result)]

    def facts(self, result: ProfileResult) -> Sequence[str]:
        """Return level and effort."""
        return [percent_text(result.level), f"{result.simulations} simulations"]

    def entries(self, result: ProfileResult) -> Sequence[Entry]:
        """Return information on the run."""
        return [
            Entry.of("Status", result.status),
            Entry.of("Cost at the estimate", f"{result.cost:.6g}"),
            Entry.of("Effort", effort(result)),
        ]

    def read(self, folder: Path) -> ProfileResult:
        """Return the profiles stored in a folder."""
        return read_profiles(folder / self.marker)


PROFILES = ProfileContents()


def table_text(result: ProfileResult, width: int) -> str:
    """Return the table of the intervals, at most `width` columns wide."""
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
    """Return the joint conclusion from all profiles."""
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
    """Return the grade of the profiles: ``"good"``, ``"doubtful"`` or ``"bad"``."""
    kinds = {p.verdict.kind for p in result.profiles}
    return "bad" if "not-identifiable" in kinds else "good" if kinds <= {"agrees"} else "doubtful"


def reasons(result: ProfileResult) -> list[str]:
    """Return why ends are missing, a sentence each, except for interrupted walks."""
    found = []
    for p in result.profiles:
        for end, side in ((p.lower, "below"), (p.upper, "above")):
            if end.reason and end.outcome != "unfinished":
                found.append(f"{p.name} {side}: {end.reason}")
    return found


def region_text(region: JointRegion) -> str:
    """Describe a joint region in one sentence."""
    return f"Region of {' and '.join(region.names)}: {region.verdict.text}."


def region_reasons(region: JointRegion) -> list[str]:
    """Return why a region is unbounded in some directions, without duplicates."""
    texts = [e.reason for e in region.ends if e.reason]
    return list(dict.fromkeys(texts))[:_MOST_REASONS]


def effort(result: ProfileResult) -> str:
    """Return the computational effort and the threshold."""
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


def _error(profile: ParameterProfile) -> float:
    """Return the approximate standard error, from the profile if it has an end."""
    known = [abs(e - profile.value) for e in profile.interval if math.isfinite(e)]
    if known:
        return min(known) / _HALF_WIDTHS or profile.standard_error
    return profile.standard_error


def value_text(profile: ParameterProfile) -> str:
    """Return the estimate, rounded like its interval."""
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


def intervals_section(result: ProfileResult) -> str:
    """Return the table of the intervals."""
    return fragment(
        "intervals",
        level=percent_text(result.level),
        threshold=threshold_text(result),
        rows=[texts_of(p) for p in result.profiles],
    )


def profiles_section(result: ProfileResult) -> str:
    """Return one chart per profile."""
    pictures = [(texts_of(p), profile_chart(p, result).html()) for p in result.profiles]
    return fragment("profiles", level=percent_text(result.level), pictures=pictures)


def regions_section(result: ProfileResult) -> str:
    """Return one chart per pair of parameters; empty without any."""
    if not result.regions:
        return ""
    pictures = [
        {
            "names": " and ".join(r.names),
            "verdict": r.verdict.text,
            "reasons": region_reasons(r),
            "chart": region_chart(r).html(),
        }
        for r in result.regions
    ]
    return fragment("regions", level=percent_text(result.level), pictures=pictures)
