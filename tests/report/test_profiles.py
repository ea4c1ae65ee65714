"""Profiles as text, JSON and pictures, of made ones."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from fmident.findings import finding
from fmident.profiles import ParameterProfile, ProfileEnd, ProfilePoint, ProfileResult, tau_curve
from fmident.profiles.joint_walks import judge
from fmident.report.figures.files import write_chart
from fmident.report.figures.profiles import Kind, profile_chart, profiles_chart
from fmident.report.profiles import PROFILES
from fmident.words import interval

pytestmark = pytest.mark.slow  # many builds or whole runs

CRITICAL = 1.959963984540054


def reached(value: float) -> ProfileEnd:
    return ProfileEnd("reached", value, value, CRITICAL)


def bound(value: float, tau: float, side: int) -> ProfileEnd:
    return ProfileEnd("bound", side * math.inf, value, tau, f"up to the bound {value} it is flat")


def profile(
    lower: ProfileEnd,
    upper: ProfileEnd,
    linearised: tuple[float, float] = (1.0, 3.0),
    name: str = "stiffness",
    *,
    log: bool = False,
) -> ParameterProfile:
    values = [lower.reached, 0.5 * (lower.reached + 2.0), 2.0, 0.5 * (upper.reached + 2.0),
              upper.reached]  # fmt: skip
    taus = [-lower.tau, -0.5 * lower.tau, 0.0, 0.5 * upper.tau, upper.tau]
    points = tuple(
        ProfilePoint(v, np.array([v, 1.0]), 10.0 + 0.5 * t**2, t, math.nan)
        for v, t in zip(values, taus, strict=True)
    )
    error = (linearised[1] - linearised[0]) / (2.0 * CRITICAL)
    return ParameterProfile(
        name=name, unit="N/m", log=log, value=2.0, bounds=(0.0, math.inf),
        standard_error=error if math.isfinite(error) else math.nan, linearised=linearised,
        points=points, lower=lower, upper=upper,
        verdict=judge(2.0, lower, upper, linearised, CRITICAL),
    )  # fmt: skip


def result(*profiles: ParameterProfile, **changes: object) -> ProfileResult:
    content: dict[str, object] = {
        "status": "complete", "level": 0.95, "critical_tau": CRITICAL,
        "threshold": 0.5 * CRITICAL**2, "sigma_known": True, "variance": 1.0, "freedom": 50,
        "cost": 10.0, "values": {"stiffness": 2.0, "damping": 1.0}, "profiles": profiles,
        "simulations": 77, "jacobians": 5, "seconds": 1.5,
    }  # fmt: skip
    return ProfileResult(**(content | changes))  # type: ignore[arg-type]


UNFINISHED = ProfileEnd("unfinished", math.nan, 2.5, 1.0, "interrupted at 2.5")
FAILED = ProfileEnd("failure", math.nan, 2.5, 1.0, "beyond 2.5 the solver fails")
NONE = (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("lower", "upper", "linearised", "kind", "words"),
    [
        (reached(1.0), reached(3.0), (1.0, 3.0), "agrees", "agrees"),
        (reached(1.05), reached(3.05), (1.0, 3.0), "agrees", "agrees"),
        (reached(1.2), reached(3.6), (1.0, 3.0), "asymmetric", "2 times as far up as down"),
        (reached(0.4), reached(2.8), (1.0, 3.0), "asymmetric", "2 times as far down as up"),
        (reached(0.5), reached(3.5), (1.0, 3.0), "differs", "1.5 times as wide"),
        (reached(0.5), reached(3.5), NONE, "differs", "by its profile only"),
        (bound(0.0, 1.0, -1), reached(3.0), (1.0, 3.0), "open", "open below: the bound comes"),
        (reached(1.0), bound(9.0, 0.01, 1), (1.0, 3.0), "open", "open above: flat up to the bound"),
        (bound(0.0, 1.0, -1), bound(9.0, 1.0, 1), NONE, "not-identifiable", "open on both sides"),
        (bound(0.0, 0.01, -1), bound(9.0, 0.01, 1), NONE, "not-identifiable", "flat"),
        (reached(1.0), FAILED, (1.0, 3.0), "fails", "no end above: simulations fail"),
        (reached(1.0), UNFINISHED, (1.0, 3.0), "unfinished", "interrupted"),
    ],
)
def test_verdicts(
    lower: ProfileEnd,
    upper: ProfileEnd,
    linearised: tuple[float, float],
    kind: str,
    words: str,
) -> None:
    for log in (False, True):
        made = profile(lower, upper, linearised, log=log)
        assert made.verdict.kind == kind
        assert words in made.verdict.text
        whole = result(made)
        chart = profile_chart(made, whole)
        json.dumps(chart.json(), allow_nan=False)
        assert len(chart.panels) == 2
        text = json.dumps(PROFILES.content(whole, "1"), allow_nan=False)
        assert json.loads(text)["profiles"]["stiffness"]["verdict"] == kind


@pytest.mark.parametrize("style", ["tau", "rise"])
def test_an_open_profile_has_a_picture(style: Kind, tmp_path: Path) -> None:
    whole = result(profile(bound(0.0, 1.0, -1), UNFINISHED, log=True))
    write_chart(profiles_chart(whole, style), tmp_path / "profile.png")
    assert (tmp_path / "profile.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((1.234, 3.456), "[1.23, 3.46]"),
        ((-math.inf, math.inf), "unbounded"),
        ((-math.inf, 3.456), "below 3.46"),
        ((1.234, math.inf), "above 1.23"),
        ((math.nan, 3.456), "[?, 3.46]"),
        ((math.nan, math.nan), "n/a"),
        ((math.nan, math.inf), "n/a"),
    ],
)
def test_intervals_that_may_be_open(ends: tuple[float, float], text: str) -> None:
    assert interval(ends, 0.12) == text


@pytest.mark.parametrize("width", [60, 80, 110])
def test_text_keeps_within_the_terminal(width: int) -> None:
    whole = result(
        profile(reached(1.0), reached(3.0)),
        profile(bound(0.0, 1.0, -1), reached(3.0), name="damping"),
        findings=(
            finding(
                "other",
                "A note that is long enough to be wrapped at the width of any terminal there is.",
            ),
        ),
    )
    text = PROFILES.text(whole, width)
    assert max(map(len, text.splitlines())) <= width
    assert "Of 2 profiles, open on one side: damping." in text
    assert "damping below: up to the bound" in text
    assert "77 simulations" in text
    assert "chi-squared" in text
    unknown = PROFILES.text(result(*whole.profiles, sigma_known=False), width)
    assert "F with 1 and 50" in " ".join(unknown.split())


def test_an_interrupted_run_is_told_in_few_lines() -> None:
    whole = result(
        profile(reached(1.0), reached(3.0)),
        profile(bound(0.0, 1.0, -1), UNFINISHED, name="damping"),
        profile(reached(1.0), UNFINISHED, name="mass"),
        status="interrupted",
    )
    text = PROFILES.text(whole, 80)
    assert "Interrupted: 1 of 3 profiles are complete, 3 of 6 ends are found." in text
    assert "damping below: up to the bound" in text
    assert "interrupted at" not in text


def test_points_and_intervals_as_tables() -> None:
    whole = result(profile(reached(1.0), reached(3.5)))
    row = whole.intervals.loc["stiffness"]
    assert (row["low"], row["high"], row["verdict"]) == (1.0, 3.5, "asymmetric")
    points = whole.points
    assert list(points["tau"]) == sorted(points["tau"])
    assert {"stiffness", "damping"} <= set(points.columns)
    (stiffness,) = (p for p in whole.profiles if p.name == "stiffness")
    found = tau_curve(stiffness.points, np.array([1.0, 2.0, 4.0]))
    np.testing.assert_allclose(found, [-CRITICAL, 0.0, np.nan])
