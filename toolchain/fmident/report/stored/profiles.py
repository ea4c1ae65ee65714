"""Profiles, from their ``profiles.json``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast, get_args

import numpy as np

from fmident._json import JsonTable
from fmident.profiles.result import (
    JointRegion,
    Outcome,
    ParameterProfile,
    ProfileEnd,
    ProfilePoint,
    ProfileResult,
    ProfileVerdict,
    RegionEnd,
    Status,
    VerdictKind,
)
from fmident.report.stored.json_file import read_json, word, written_by

_OPEN = (-math.inf, math.inf)


def read_profiles(file: Path) -> ProfileResult:
    """Read a ``profiles.json``.

    Parameters
    ----------
    file
        The file.

    Raises
    ------
    fmident.errors.EstimationError
        It cannot be read, or was not written by fmident.
    """
    return read_json(file, _result, "a file of profiles", written_by("profile"))


def _result(content: JsonTable) -> ProfileResult:
    profiles = content.table("profiles")
    return ProfileResult(
        status=cast(Status, word(content, "status", get_args(Status))),
        level=content.number("level"),
        critical_tau=content.number("critical_tau"),
        threshold=content.number("threshold"),
        sigma_known=content.flag("sigma_known"),
        variance=content.number("residual_variance"),
        freedom=content.count("degrees_of_freedom"),
        cost=content.number("cost"),
        parameters=content.named_numbers("estimate"),
        profiles=tuple(_profile(n, profiles.table(n)) for n in profiles.keys()),  # noqa: SIM118
        simulations=content.count("simulations"),
        jacobians=content.count("jacobians"),
        seconds=content.number("wall_time_s"),
        notes=content.texts("notes"),
        settings=content.table("settings").values(),
        regions=tuple(content.each("regions", _region, [])),
    )


def _profile(name: str, stored: JsonTable) -> ParameterProfile:
    value, bounds = stored.number("value"), stored.pair("bounds", _OPEN)
    # JSON has one null for both: on a bound there is no interval, elsewhere it is open.
    nothing = (math.nan, math.nan) if value in bounds else _OPEN
    return ParameterProfile(
        name=name,
        unit=stored.maybe_text("unit"),
        log=stored.flag("log"),
        value=value,
        bounds=bounds,
        standard_error=stored.number("standard_error"),
        linearised=stored.pair("linearised", nothing),
        points=tuple(stored.each("points", _point)),
        lower=_end(stored, "lower", 0),
        upper=_end(stored, "upper", 1),
        verdict=ProfileVerdict(
            cast(VerdictKind, word(stored, "verdict", get_args(VerdictKind))),
            stored.text("verdict_text"),
        ),
        factor=float(stored.raw("factor", 1.0)),
    )


def _region(stored: JsonTable) -> JointRegion:
    names, units, flags = stored.texts("parameters"), stored.listed("units"), stored.listed("log")
    estimate = stored.numbers("estimate")
    low, high = stored.listed("factors", [1.0, 1.0])
    return JointRegion(
        (names[0], names[1]),
        (_unit(units[0]), _unit(units[1])),
        (bool(flags[0]), bool(flags[1])),
        (estimate[0], estimate[1]),
        stored.number("critical_tau"),
        tuple(stored.each("ends", _region_end)),
        np.array(stored.listed("linearised"), dtype=np.float64).reshape(-1, 2),
        ProfileVerdict(
            cast(VerdictKind, word(stored, "verdict", get_args(VerdictKind))),
            stored.text("verdict_text"),
        ),
        (float(low), float(high)),
    )


def _unit(item: object) -> str | None:
    return None if item is None else str(item)


def _region_end(stored: JsonTable) -> RegionEnd:
    values = stored.numbers("values")
    return RegionEnd(
        stored.number("angle"),
        (values[0], values[1]),
        stored.number("distance"),
        cast(Outcome, word(stored, "outcome", get_args(Outcome))),
        stored.text("reason"),
    )


def _end(stored: JsonTable, key: str, side: int) -> ProfileEnd:
    end = stored.table(key)
    outcome = cast(Outcome, word(end, "outcome", get_args(Outcome)))
    missing = _OPEN if outcome in ("bound", "reach") else (math.nan, math.nan)
    return ProfileEnd(
        outcome,
        stored.pair("interval", missing)[side],
        end.number("reached"),
        end.number("largest_tau"),
        end.text("reason"),
    )


def _point(stored: JsonTable) -> ProfilePoint:
    return ProfilePoint(
        stored.number("value"),
        np.array(stored.numbers("parameters")),
        stored.number("cost"),
        stored.number("tau"),
        stored.number("slope"),
        stored.flag("converged"),
    )
