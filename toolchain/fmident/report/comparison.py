"""Results side by side: parameters with intervals, fit, validation, information criteria, effort.

The criteria are those of Gaussian noise (H. Akaike, IEEE Trans. Automatic Control 19, 1974;
G. Schwarz, Annals of Statistics 6, 1978), constants included:
``-2 ln L = sum(ln(2 pi sigma^2) + (r / sigma)^2)``.
Where sigma is not given, the one that maximises the likelihood takes its place, and counts as one
parameter more; the outputs keep their sizes relative to each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.report.numbers import duration, interval, percent, plain, with_error
from fmident.report.result_json import plain_json
from fmident.report.stored import read_result
from fmident.report.terminal import narrow_table, unit_text, wrap

if TYPE_CHECKING:
    import pandas as pd

    from fmident.estimation.result import EstimationResult, OutputFit, ParameterEstimate

_FOREST = 25
_SAME = 1e-8
"""Relative difference of measured values in ``fit.csv`` from rounding."""


@dataclass(frozen=True)
class Criteria:
    """Information criteria of a result.

    Parameters
    ----------
    aic, bic
        Of Akaike and of Schwarz; NaN where there are none.
    missing
        Why there are none; empty where there are.
    """

    aic: float
    bic: float
    missing: str = ""


@dataclass(frozen=True)
class Compared:
    """One of the results.

    Parameters
    ----------
    name
        As short as tells it from the others.
    result
        As stored.
    criteria
        Of this result.
    """

    name: str
    result: EstimationResult
    criteria: Criteria


def compare_results(paths: Sequence[Path]) -> tuple[Compared, ...]:
    """Read results that are to be compared.

    Parameters
    ----------
    paths
        Result folders, or their ``result.json``.

    Raises
    ------
    fmident.errors.EstimationError
        One of them is not a result.
    """
    folders = [p if p.is_dir() else p.parent for p in paths]
    results = [read_result(p).result for p in paths]
    tables = [_fit_table(f) for f in folders]
    first = tables[0]
    criteria = []
    for result, table in zip(results, tables, strict=True):
        why = _why_not(result, table)
        if not why and first is not None and table is not None and not _same_data(first, table):
            why = "its samples are not those of the first result"
        if why or table is None:
            criteria.append(Criteria(math.nan, math.nan, why))
        else:
            criteria.append(_criteria(result, table))
    names = _names(paths)
    return tuple(Compared(n, r, c) for n, r, c in zip(names, results, criteria, strict=True))


def comparison_text(compared: Sequence[Compared], width: int) -> str:
    """Return tables for the terminal.

    Parameters
    ----------
    compared
        The results.
    width
        Of the terminal, columns.
    """
    header = ["parameter", "result", "value", "+-", "95 % interval", "unit", "intervals"]
    rows = [row for name in _parameters(compared) for row in _parameter_rows(compared, name)]
    blocks = [
        narrow_table(header, rows, ["<", "<", ">", ">", ">", "<", "<"], width, ["+-", "unit"]),
        _figures(compared, width),
    ]
    blocks += [
        wrap(f"{c.name}: no AIC and BIC, since {c.criteria.missing}", width)
        for c in compared
        if c.criteria.missing
    ]
    return "\n\n".join(blocks)


def comparison_json(compared: Sequence[Compared]) -> dict[str, Any]:
    """Return the comparison for programs."""
    content = {
        "results": [
            {
                "name": c.name,
                "status": c.result.status,
                "estimator": c.result.estimator,
                "cost": c.result.cost_final,
                "parameters": {
                    e.name: {
                        "value": e.value,
                        "unit": e.unit,
                        "standard_error": e.standard_error,
                        "interval_95": list(e.interval_95),
                        "fixed": e.fixed,
                    }
                    for e in c.result.estimates
                },
                "fit": [_fit_json(f) for f in c.result.fits],
                "validation": None
                if c.result.validation is None
                else [_fit_json(f) for f in c.result.validation.fits],
                "aic": c.criteria.aic,
                "bic": c.criteria.bic,
                "no_criteria_since": c.criteria.missing,
                "simulations": c.result.simulations,
                "jacobians": c.result.jacobians,
                "wall_time_s": c.result.seconds,
            }
            for c in compared
        ]
    }
    found: dict[str, Any] = plain_json(content)
    return found


def _fit_json(fit: OutputFit) -> dict[str, Any]:
    return {
        "experiment": fit.experiment,
        "output": fit.name,
        "rms": fit.rms,
        "unit": fit.unit,
        "relative_error": fit.relative_error,
        "nrmse": fit.nrmse,
        "vaf": fit.vaf,
    }


def _parameters(compared: Sequence[Compared]) -> list[str]:
    return list(dict.fromkeys(e.name for c in compared for e in c.result.estimates))


def _parameter_rows(compared: Sequence[Compared], name: str) -> list[list[str]]:
    """Return a row for each result that has the parameter."""
    found = [(c, e) for c in compared for e in c.result.estimates if e.name == name]
    same_unit = len({e.unit for _, e in found}) == 1
    pictures = _forest([e for _, e in found]) if same_unit else [""] * len(found)
    rows = []
    for k, ((c, e), picture) in enumerate(zip(found, pictures, strict=True)):
        value, error = with_error(e.value, e.standard_error)
        if e.fixed:
            cells = [plain(e.value), "fixed", ""]
        else:
            cells = [value, error, interval(e.interval_95, e.standard_error)]
        rows.append(["" if k else name, c.name, *cells, unit_text(e.unit), picture])
    return rows


def _forest(estimates: Sequence[ParameterEstimate]) -> list[str]:
    """Return each value and its interval on a common axis."""
    ends = [[x for x in (e.value, *e.interval_95) if math.isfinite(x)] for e in estimates]
    points = [x for own in ends for x in own]
    if not points:
        return [""] * len(estimates)
    low, span = min(points), max(points) - min(points)
    if span <= 0.0:
        return ["o".center(_FOREST).rstrip()] * len(estimates)

    def place(x: float) -> int:
        return round((x - low) / span * (_FOREST - 1))

    pictures = []
    for e, own in zip(estimates, ends, strict=True):
        cells = [" "] * _FOREST
        if own:
            begin, end = place(min(own)), place(max(own))
            cells[begin : end + 1] = "-" * (end - begin + 1)
            for bound, at in zip(e.interval_95, (begin, end), strict=True):
                if math.isfinite(bound):
                    cells[at] = "|"
        if math.isfinite(e.value):
            cells[place(e.value)] = "o"
        pictures.append("".join(cells).rstrip())
    return pictures


def _figures(compared: Sequence[Compared], width: int) -> str:
    rows = [
        [
            c.name,
            c.result.status,
            plain(c.result.cost_final, 5),
            percent(max((f.relative_error for f in c.result.fits), default=math.nan)),
            _overall(c.result.fits),
            "" if c.result.validation is None else _overall(c.result.validation.fits),
            plain(c.criteria.aic, 7),
            plain(c.criteria.bic, 7),
            str(c.result.simulations),
            duration(c.result.seconds),
        ]
        for c in compared
    ]
    header = ["result", "status", "cost", "relative error", "NRMSE", "validation NRMSE", "AIC",
              "BIC", "simulations", "time"]  # fmt: skip
    spare = ["relative error", "cost", "status"]
    return narrow_table(header, rows, ["<", "<", *[">"] * 8], width, spare)  # type: ignore[list-item]


def _overall(fits: Sequence[OutputFit]) -> str:
    """Return the root mean square of the NRMSE of all outputs."""
    known = [f.nrmse for f in fits if math.isfinite(f.nrmse)]
    return plain(math.sqrt(sum(x * x for x in known) / len(known)), 4) if known else "n/a"


def _fit_table(folder: Path) -> pd.DataFrame | None:
    """Return ``fit.csv``, ``None`` where there is none that can be read."""
    import pandas as pd  # here, since it is slow to import and seldom needed

    file = folder / "fit.csv"
    try:
        table = pd.read_csv(file)
    except (OSError, ValueError):
        return None
    wanted = {"experiment", "output", "time", "measured", "fitted", "sigma"}
    return table if wanted <= set(table.columns) else None


def _why_not(result: EstimationResult, table: pd.DataFrame | None) -> str:
    """Return why a result has no criteria; empty where it has."""
    options = result.settings.get("options", {})
    loss = options.get("loss", "linear") if isinstance(options, dict) else "linear"
    if result.cost != "time-domain" or result.cost_options.get("normalisation", "none") != "none":
        return f"the cost '{result.cost}' is not a likelihood"
    if loss != "linear":
        return f"the loss '{loss}' is not the likelihood of Gaussian noise"
    if result.residuals is None:
        return "the run ended before its residuals were judged"
    if table is None:
        return "there is no fit.csv beside its result.json"
    known = np.isfinite(table["measured"].to_numpy(dtype=np.float64))
    values = table.loc[known, ["fitted", "sigma"]].to_numpy(dtype=np.float64)
    if not values.size or not np.isfinite(values).all() or not (values[:, 1] > 0.0).all():
        return "its fit.csv lacks fitted values or sigma"
    return ""


def _same_data(first: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Return whether the measured samples are the same ones."""
    keys = ["experiment", "output", "time"]
    a, b = (t[t["measured"].notna()].sort_values(keys) for t in (first, other))
    if len(a) != len(b) or any((a[k].to_numpy() != b[k].to_numpy()).any() for k in keys):
        return False
    x, y = (t["measured"].to_numpy(dtype=np.float64) for t in (a, b))
    return bool((np.abs(x - y) <= _SAME * np.maximum(np.abs(x), np.abs(y))).all())


def _criteria(result: EstimationResult, table: pd.DataFrame) -> Criteria:
    known = table[table["measured"].notna()]
    sigma = known["sigma"].to_numpy(dtype=np.float64)
    difference = known["measured"].to_numpy() - known["fitted"].to_numpy()
    count = len(known)
    squares = float(np.sum((difference / sigma) ** 2))
    constant = float(np.sum(np.log(2.0 * np.pi * sigma**2)))
    parameters = sum(e.searched for e in result.estimates)
    assert result.residuals is not None
    if math.isnan(result.residuals.noise_ratio):  # sigma was not given
        parameters += 1
        if squares <= 0.0:
            return Criteria(math.nan, math.nan, "its residuals are zero")
        constant += count * math.log(squares / count)
        squares = float(count)
    twice = constant + squares
    return Criteria(twice + 2.0 * parameters, twice + parameters * math.log(count))


def _names(paths: Sequence[Path]) -> list[str]:
    """Return a name for each result: the end of its path that tells it from the others."""
    parts = [(p if p.is_dir() else p.parent).resolve().parts for p in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(p[-depth:]) for p in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{p[-1]} ({k + 1})" for k, p in enumerate(parts)]
