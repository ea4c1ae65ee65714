"""The result folder of profiles: JSON, CSV, pictures and a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident._version import __version__
from fmident.report.profile_text import effort, grade_of, headline, percent_text, reasons
from fmident.report.result_json import plain_json
from fmident.report.sections.html import document
from fmident.report.sections.run_facts import Entry, run_section
from fmident.report.sections.uncertainty.profiles import (
    intervals_section,
    profiles_section,
    regions_section,
)
from fmident.report.sections.verdict import verdict_section

if TYPE_CHECKING:
    from fmident.problem.model import Problem
    from fmident.profiles import JointRegion, ParameterProfile, ProfileEnd, ProfileResult

FILE_NAME = "profiles.json"
PAGE, POINTS, TAU_PICTURE, COST_PICTURE = "profiles.html", "profiles.csv", "tau.png", "cost.png"


def write_profiles(result: ProfileResult, problem: Problem, folder: Path) -> None:
    """Write the files of a result.

    Parameters
    ----------
    result
        The profiles.
    problem
        Of which they are.
    folder
        Where.

    Raises
    ------
    OSError
        The disk is full.
    """
    from fmident.report.plots.profiles import draw_profiles

    model = problem.fmu.stem
    text = json.dumps(profiles_json(result, __version__, model), indent=2, allow_nan=False)
    (folder / FILE_NAME).write_text(text + "\n", encoding="utf-8")
    result.points.to_csv(folder / POINTS, index=False, float_format="%.12g")
    draw_profiles(result, folder / TAU_PICTURE, "tau")
    draw_profiles(result, folder / COST_PICTURE, "rise")
    source = "" if problem.source is None else str(problem.source)
    page = render_profiles(result, model, __version__, source)
    (folder / PAGE).write_text(page, encoding="utf-8")


def profiles_json(result: ProfileResult, version: str, model: str = "") -> dict[str, Any]:
    """Return the content of ``profiles.json``: JSON's own types, no NaN and no infinity.

    A ``null`` end of an interval is open where its outcome is ``"bound"`` or ``"reach"``, else not
    known.

    Parameters
    ----------
    result
        The profiles.
    version
        Of fmident.
    model
        What was estimated.
    """
    content = {
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
        "fmident": version,
        "model": model,
    }
    found: dict[str, Any] = plain_json(content)
    return found


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


def render_profiles(result: ProfileResult, title: str, version: str, source: str = "") -> str:
    """Return the page, which needs nothing beside it.

    Parameters
    ----------
    result
        The profiles.
    title
        What was estimated.
    version
        Of fmident, by which they were made.
    source
        The problem file, if there is one.
    """
    words = headline(result)
    facts = [percent_text(result.level), f"{result.simulations} simulations"]
    if source:
        facts.insert(0, source)
    return document(
        kicker="Profile likelihood",
        title=title,
        headline=words,
        subtitle=" · ".join(facts),
        sections=[
            verdict_section(grade_of(result), words, reasons(result), result.notes),
            intervals_section(result),
            profiles_section(result),
            regions_section(result),
            run_section(
                [
                    Entry.of("Status", result.status),
                    Entry.of("Cost at the estimate", f"{result.cost:.6g}"),
                    Entry.of("Effort", effort(result)),
                    Entry.of("fmident", version),
                ]
            ),
        ],
    )
