"""The result folder of profiles: JSON, CSV, pictures and a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.report.contents import Contents, Said
from fmident.report.figures.files import NamedChart, write_chart
from fmident.report.figures.profiles import profile_chart, profiles_chart, region_chart
from fmident.report.profile_text import (
    effort,
    grade_of,
    headline,
    percent_text,
    reasons,
    region_text,
    table_text,
)
from fmident.report.sections.run_facts import Entry
from fmident.report.sections.uncertainty import (
    intervals_section,
    profiles_section,
    regions_section,
)
from fmident.report.stored.profiles import read_profiles
from fmident.report.terminal import wrap

if TYPE_CHECKING:
    import pandas as pd

    from fmident.profiles import JointRegion, ParameterProfile, ProfileEnd, ProfileResult

POINTS, TAU_PICTURE, COST_PICTURE = "profiles.csv", "tau.png", "cost.png"


class ProfileContents(Contents["ProfileResult"]):
    """Profiles.

    In the JSON file a ``null`` end of an interval is open where its outcome is ``"bound"`` or
    ``"reach"``, else not known.
    """

    marker, page = "profiles.json", "profiles.html"
    kicker, command = "Profile likelihood", "profile"

    def said(self, result: ProfileResult) -> Said:
        """Return the profiles in words."""
        return Said(headline(result), grade_of(result), reasons(result), effort(result))

    def blocks(self, result: ProfileResult, width: int) -> Sequence[str]:
        """Return the intervals, and a sentence for each region."""
        regions = "\n".join(wrap(region_text(r), width) for r in result.regions)
        return [table_text(result, width), regions]

    def json(self, result: ProfileResult) -> Mapping[str, Any]:
        """Return what ``profiles.json`` holds."""
        return {
            "status": result.status,
            "level": result.level,
            "critical_tau": result.critical_tau,
            "threshold": result.threshold,
            "sigma_known": result.sigma_known,
            "residual_variance": result.variance,
            "degrees_of_freedom": result.freedom,
            "cost": result.cost,
            "estimate": result.parameters,
            "profiles": {p.name: _profile(p) for p in result.profiles},
            "regions": [_region(r) for r in result.regions],
            "simulations": result.simulations,
            "jacobians": result.jacobians,
            "wall_time_s": result.seconds,
            "notes": list(result.notes),
            "settings": result.settings,
        }

    def tables(self, result: ProfileResult) -> Mapping[str, tuple[pd.DataFrame, str]]:
        """Return the points."""
        return {POINTS: (result.points, "%.12g")}

    def draw(self, result: ProfileResult, folder: Path) -> None:
        """Write tau and the rise of the cost of all parameters."""
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
        """Return how the run went."""
        return [
            Entry.of("Status", result.status),
            Entry.of("Cost at the estimate", f"{result.cost:.6g}"),
            Entry.of("Effort", effort(result)),
        ]

    def read(self, folder: Path) -> ProfileResult:
        """Return the profiles that a folder holds."""
        return read_profiles(folder / self.marker)


PROFILES = ProfileContents()


def _profile(profile: ParameterProfile) -> dict[str, Any]:
    return {
        "value": profile.value,
        "unit": profile.unit,
        "log": profile.log,
        "bounds": list(profile.bounds),
        "standard_error": profile.standard_error,
        "interval": list(profile.interval),
        "linearised": list(profile.linearised),
        "verdict": profile.verdict.kind,
        "verdict_text": profile.verdict.text,
        "factor": profile.factor,
        "lower": _end(profile.lower),
        "upper": _end(profile.upper),
        "points": [
            {
                "value": q.value,
                "cost": q.cost,
                "tau": q.tau,
                "slope": q.slope,
                "converged": q.converged,
                "parameters": q.parameters,
            }
            for q in profile.points
        ],
    }


def _region(region: JointRegion) -> dict[str, Any]:
    return {
        "parameters": list(region.names),
        "units": list(region.units),
        "log": list(region.log),
        "estimate": list(region.estimate),
        "critical_tau": region.critical_tau,
        "factors": list(region.factors),
        "verdict": region.verdict.kind,
        "verdict_text": region.verdict.text,
        "linearised": region.linearised.tolist(),
        "ends": [
            {
                "angle": e.angle,
                "values": list(e.values),
                "distance": e.distance,
                "outcome": e.outcome,
                "reason": e.reason,
            }
            for e in region.ends
        ],
    }


def _end(end: ProfileEnd) -> dict[str, Any]:
    return {
        "outcome": end.outcome,
        "reached": end.reached,
        "largest_tau": end.tau,
        "reason": end.reason,
    }
