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

from fmident.errors import EstimationError
from fmident.report.numbers import duration, interval, percent, plain, with_error
from fmident.report.result_json import plain_json
from fmident.report.sections.content import Section, Table
from fmident.report.sections.html import embedded
from fmident.report.stored import read_result
from fmident.report.tables.reporter import fit_table
from fmident.report.terminal import narrow_table, unit_text, wrap

if TYPE_CHECKING:
    import pandas as pd

    from fmident.estimation.result import EstimationResult, OutputFit, ParameterEstimate

_FOREST = 25
_TEXT = 92
"""Columns of the text of a comparison in Python."""

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


@dataclass(frozen=True, repr=False)
class Comparison:
    """Results side by side.

    Parameters
    ----------
    results
        In the order in which they were given.
    """

    results: tuple[Compared, ...]

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(c.name for c in self.results)}>"

    def __str__(self) -> str:
        """Return the tables of ``fmident compare``."""
        return comparison_text(self.results, _TEXT)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        fit, values = self.figures.reset_index(), self.parameters.reset_index()
        return embedded(
            "Comparison",
            [
                Section(title, [Table([str(c) for c in table], _cells(table))]).html()
                for title, table in (("Results", fit), ("Parameters", values))
            ],
        )

    @property
    def figures(self) -> pd.DataFrame:
        """One row per result: status, cost, NRMSE, AIC, BIC, effort; NaN where there is none."""
        import pandas as pd  # here, since it is slow to import and seldom needed

        rows = [
            {
                "status": c.result.status,
                "cost": c.result.cost_final,
                "nrmse": _mean_square(c.result.fits),
                "validation_nrmse": math.nan
                if c.result.validation is None
                else _mean_square(c.result.validation.fits),
                "aic": c.criteria.aic,
                "bic": c.criteria.bic,
                "simulations": c.result.simulations,
                "seconds": c.result.seconds,
            }
            for c in self.results
        ]
        return pd.DataFrame(rows, index=pd.Index([c.name for c in self.results], name="result"))

    @property
    def parameters(self) -> pd.DataFrame:
        """One row per parameter and result, with standard error and 95 % interval."""
        import pandas as pd  # here, since it is slow to import and seldom needed

        rows = [
            {
                "parameter": name,
                "result": c.name,
                "value": e.value,
                "standard_error": e.standard_error,
                "interval_95_low": e.interval_95[0],
                "interval_95_high": e.interval_95[1],
                "unit": e.unit,
            }
            for name in _parameters(self.results)
            for c in self.results
            for e in c.result.estimates
            if e.name == name
        ]
        return pd.DataFrame(rows).set_index(["parameter", "result"])

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain types for JSON; what is not finite becomes ``null``."""
        return comparison_json(self.results)


def _cells(table: pd.DataFrame) -> list[list[str]]:
    """Return the rows of a table as texts."""
    return [
        [plain(v) if isinstance(v, float) else "" if v is None else str(v) for v in row]
        for row in table.itertuples(index=False)
    ]


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
    return _compared(_names(paths), [_read(p) for p in paths])


def compare_any(
    results: Sequence[EstimationResult | Path], names: Sequence[str] | None = None
) -> Comparison:
    """Compare results in memory, in folders, or both.

    Parameters
    ----------
    results
        Results, result folders or their ``result.json``.
    names
        Of the results; by default the ends of their paths, or ``"result 1"`` and so on.

    Raises
    ------
    fmident.errors.EstimationError
        Fewer than two, another number of names, or one that is not a result.
    """
    paths = [r for r in results if isinstance(r, Path)]
    short = dict(zip(paths, _names(paths), strict=True)) if paths else {}
    found = [short[r] if isinstance(r, Path) else f"result {k}" for k, r in enumerate(results, 1)]
    chosen = found if names is None else list(names)
    if len(results) < 2 or len(chosen) != len(results) or len(set(chosen)) < len(chosen):
        raise EstimationError(
            f"{len(results)} results with the names {', '.join(map(repr, chosen))} cannot be"
            " compared",
            hint="give two or more, each with a name of its own",
        )
    pairs = [_read(r) if isinstance(r, Path) else (r, _samples(r)) for r in results]
    return Comparison(_compared(chosen, pairs))


def _read(path: Path) -> tuple[EstimationResult, pd.DataFrame | None]:
    return read_result(path).result, _fit_table(path if path.is_dir() else path.parent)


def _samples(result: EstimationResult) -> pd.DataFrame | None:
    return fit_table(result.fits) if any(f.times.size for f in result.fits) else None


def _compared(
    names: Sequence[str], pairs: Sequence[tuple[EstimationResult, pd.DataFrame | None]]
) -> tuple[Compared, ...]:
    first = pairs[0][1]
    criteria = []
    for result, table in pairs:
        why = _why_not(result, table)
        if not why and first is not None and table is not None and not _same_data(first, table):
            why = "its samples are not those of the first result"
        if why or table is None:
            criteria.append(Criteria(math.nan, math.nan, why))
        else:
            criteria.append(_criteria(result, table))
    together = zip(names, pairs, criteria, strict=True)
    return tuple(Compared(name, result, found) for name, (result, _), found in together)


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
            cells = [plain(e.value), "", "fixed"]  # the column of errors is left out first
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
    return plain(_mean_square(fits), 4)


def _mean_square(fits: Sequence[OutputFit]) -> float:
    """Return the root mean square of the NRMSE of all outputs; NaN where none has one."""
    known = [f.nrmse for f in fits if math.isfinite(f.nrmse)]
    return math.sqrt(sum(x * x for x in known) / len(known)) if known else math.nan


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
    if result.priors is not None:
        return "with priors its estimate is not the maximum of the likelihood"
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
    texts = keys[:2]
    if len(a) != len(b) or any((a[k].to_numpy() != b[k].to_numpy()).any() for k in texts):
        return False
    for name in ("time", "measured"):  # those of a file are rounded, those in memory are not
        x, y = (t[name].to_numpy(dtype=np.float64) for t in (a, b))
        if not bool((np.abs(x - y) <= _SAME * np.maximum(np.abs(x), np.abs(y))).all()):
            return False
    return True


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
