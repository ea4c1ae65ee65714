"""Profiles: their result folder, its JSON file, table, pictures and page, and their text."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from fmident.arrays import F64
from fmident.profiles.result import (
    JointRegion,
    ParameterProfile,
    ProfileEnd,
    ProfileResult,
    ProfileVerdict,
)
from fmident.report.codec import Codec, Form, Json, Layout
from fmident.report.contents import Contents
from fmident.report.figures.profiles import profile_chart, profiles_chart, region_chart
from fmident.report.result_json import OPEN, noted, opened
from fmident.report.sections import Block, Cell, Entry, Part, Plot, Summary, Table, Text
from fmident.words import duration, interval, percent_text, plain, unit_text, with_error

TAU_PICTURE, COST_PICTURE = "tau.png", "cost.png"


_MOST_REASONS = 3
_DIFFERENT = {
    "not-identifiable": "not identifiable", "open": "open on one side", "fails": "without an end",
    "one-sided": "on a bound", "asymmetric": "other than linearised",
    "differs": "other than linearised",
}  # fmt: skip
"""What a headline says of a kind of verdict, the gravest first."""

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
    edge: F64 = CODEC.load(F64, value, place).reshape(-1, 2)
    return edge


_VERDICT = Form(
    lambda verdict: verdict.kind, lambda value, place: CODEC.load(ProfileVerdict, value, place)
)

CODEC: Codec = Codec(
    {
        ProfileResult: noted(
            Layout(
                keys={
                    "variance": "residual_variance",
                    "freedom": "degrees_of_freedom",
                    "values": "estimate",
                    "seconds": "wall_time_s",
                },
                by_name={"profiles": "name"},
            )
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


def _summary(result: ProfileResult) -> Summary:
    kinds = {p.verdict.kind for p in result.profiles}
    grade = "bad" if "not-identifiable" in kinds else "good" if kinds <= {"agrees"} else "doubtful"
    # Why ends are missing, except for interrupted walks.
    reasons = [
        f"{p.name} {side}: {end.reason}"
        for p in result.profiles
        for end, side in ((p.lower, "below"), (p.upper, "above"))
        if end.reason and end.outcome != "unfinished"
    ]
    return Summary(_headline(result), grade, reasons, result.notes, effort=_effort(result))


def _headline(result: ProfileResult) -> str:
    count = len(result.profiles)
    kinds = [p.verdict.kind for p in result.profiles]
    if result.status == "interrupted":
        ended = sum(k != "unfinished" for k in kinds)
        reached = sum(e.outcome == "reached" for p in result.profiles for e in (p.lower, p.upper))
        return (
            f"Interrupted: {ended} of {count} profiles are complete, {reached} of {2 * count} ends "
            "are found."
        )
    names: dict[str, list[str]] = {}
    for kind, words in _DIFFERENT.items():
        if own := [p.name for p in result.profiles if p.verdict.kind == kind]:
            names[words] = names.get(words, []) + own
    parts = [f"{words}: {', '.join(own)}" for words, own in names.items()]
    if not parts:
        all_of = "Both" if count == 2 else f"All {count}"
        what = "The profile agrees" if count == 1 else f"{all_of} profiles agree"
        return f"{what} with the linearised intervals."
    return f"Of {count} profile{'' if count == 1 else 's'}, " + "; ".join(parts) + "."


def _effort(result: ProfileResult) -> str:
    points = sum(len(p.points) for p in result.profiles)
    return (
        f"{points} points, {result.simulations} simulations, {result.jacobians} Jacobians, "
        f"{duration(result.seconds)}; {_threshold(result)}"
    )


def _threshold(result: ProfileResult) -> str:
    if result.sigma_known:
        source = "chi-squared with 1 degree of freedom, the noise is given"
    else:
        source = f"F with 1 and {result.freedom} degrees of freedom, the noise is estimated"
    more = ""
    if any(p.factor != 1.0 for p in result.profiles):
        more = "; by more where noise that is not white, or what was held, counts"
    return f"at the ends the cost has risen by {result.threshold:.4g} ({source}{more})"


def _error(profile: ParameterProfile) -> float:
    known = [abs(e - profile.value) for e in profile.interval if math.isfinite(e)]
    if known:
        return min(known) / _HALF_WIDTHS or profile.standard_error
    return profile.standard_error


def _intervals(result: ProfileResult) -> list[Block]:
    level = percent_text(result.level)
    rows = []
    for p in result.profiles:
        error, agrees = _error(p), p.verdict.kind == "agrees"
        rows.append(
            [
                Cell(p.name, "code"),
                Cell(with_error(p.value, error)[0], "value"),
                Cell(interval(p.interval, error), "value"),
                interval(p.linearised, error),
                unit_text(p.unit),
                f"{plain(p.bounds[0])} … {plain(p.bounds[1])}" if _bounded(p) else "",
                Cell(p.verdict.text, "quiet" if agrees else "tag"),
            ]
        )
    header = ["parameter", "value", f"{level} by profile", "linearised", "unit", "bounds", ""]
    about = f"At each value of a parameter all others were fitted again; {_threshold(result)}."
    return [
        Table(header, rows, "<>>><><", ["linearised", "unit"], ["bounds"]),
        *(Text(f"Region of {' and '.join(r.names)}: {r.verdict.text}.") for r in result.regions),
        Text(about, about=True),
    ]


def _bounded(profile: ParameterProfile) -> bool:
    return any(map(math.isfinite, profile.bounds))


def _profiles(result: ProfileResult) -> list[Block]:
    about = (
        "The first plot shows tau, the signed square root of twice the rise of the cost over the"
        " residual variance: a straight line where the linearised interval holds, a curve where it"
        " does not, flat where the data do not determine the parameter. The second plot shows the"
        " square of tau. All points are in profiles.csv."
    )
    return [
        *(
            Plot(partial(profile_chart, p, result), p.name, p.verdict.text, f"profile-{k}-{p.name}")
            for k, p in enumerate(result.profiles, 1)
        ),
        Text(about, about=True),
    ]


def _regions(result: ProfileResult) -> list[Block]:
    about = (
        "The region contains both parameters together with a probability of"
        f" {percent_text(result.level)}. It reaches beyond the interval of each, which holds for"
        " that parameter alone. All other parameters are fitted again at each point. In a long and"
        " narrow region, a combination of both is known far better than each."
    )
    blocks: list[Block] = []
    for number, region in enumerate(result.regions, 1):
        reasons = list(dict.fromkeys(e.reason for e in region.ends if e.reason))[:_MOST_REASONS]
        blocks.append(
            Plot(
                partial(region_chart, region),
                " and ".join(region.names),
                region.verdict.text,
                f"region-{number}-{'-'.join(region.names)}",
                f"Without an edge: {'; '.join(reasons)}" if reasons else "",
            )
        )
    return [*blocks, Text(about, about=True)] if blocks else []


PROFILES: Contents[ProfileResult] = Contents(
    "Profile likelihood", "profile", "profiles.json", "profiles.html", CODEC,
    lambda content, folder: CODEC.load(ProfileResult, content), _summary,
    [
        Part("Intervals", _intervals, brief=True),
        Part("Profiles", _profiles, rest="profiles.csv has them"),
        Part("Joint regions", _regions),
    ],
    lambda result: [percent_text(result.level), f"{result.simulations} simulations"],
    lambda result: [
        Entry("Status", [result.status]),
        Entry("Cost at the estimate", [f"{result.cost:.6g}"]),
    ],
    lambda result: {"profiles.csv": (result.points, "%.12g")},
    lambda result: [
        (TAU_PICTURE, profiles_chart(result, "tau")),
        (COST_PICTURE, profiles_chart(result, "rise")),
    ],
)  # fmt: skip
"""In the file a ``null`` end is open if its outcome is ``"bound"`` or ``"reach"``, else unknown."""
