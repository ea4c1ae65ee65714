"""``report.html``: the result on one page that needs nothing beside it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.report.contract import Reporter
from fmident.report.numbers import duration, interval, percent, plain, with_error
from fmident.report.terminal import remark, unit_text
from fmident.report.verdict import STRONG_CORRELATION, correlated_pairs, verdict

if TYPE_CHECKING:
    from fmident.estimation.result import (
        EstimationResult,
        OutputFit,
        ParameterEstimate,
        StageResult,
    )
    from fmident.problem.model import Problem
    from fmident.statistics import Identifiability

FILE_NAME = "report.html"

_MOST_PLOTS, _MOST_EXCERPTS = 60, 12
_STRIPS, _FEWEST_STRIPS, _ALL_STRIPS = 900, 200, 9000
"""Resolution of one plot, and of all together, so that the file stays below 2 MB."""


class HtmlReporter(Reporter):
    """Writes ``report.html``."""

    summary = "report.html: verdict, parameters, plots of measured against simulated"

    def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
        """Write ``report.html`` into `folder`."""
        from fmident._version import __version__

        title = result.fmu_name or problem.fmu.name
        source = str(problem.source) if problem.source is not None else ""
        page = render(result, title=title, source=source, version=__version__)
        (folder / FILE_NAME).write_text(page, encoding="utf-8")


@dataclass(frozen=True)
class _Row:
    name: str
    description: str
    value: str
    error: str
    interval: str
    unit: str
    initial: str
    bounds: str
    remark: str


@dataclass(frozen=True)
class _Cell:
    text: str
    color: str
    strong: bool


@dataclass(frozen=True)
class _Setting:
    """A text, or a table when there are rows."""

    heading: str
    text: str
    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class _Plot:
    experiment: str
    name: str
    image: str
    rms_initial: str
    rms: str
    relative_error: str


def render(result: EstimationResult, *, title: str, version: str, source: str = "") -> str:
    """Return the page.

    Parameters
    ----------
    result
        What the run found.
    title
        What was estimated.
    version
        Of fmident.
    source
        The problem file, if there is one.
    """
    # Both imports are slow and nobody else needs them.
    import jinja2

    from fmident.report import plots

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fmident.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    drawn = result.fits[:_MOST_PLOTS]
    strips = int(np.clip(_ALL_STRIPS // max(len(drawn), 1), _FEWEST_STRIPS, _STRIPS))
    excerpt = len(drawn) <= _MOST_EXCERPTS
    free = [e for e in result.estimates if not e.fixed]
    return environment.get_template("report.html").render(
        title=title,
        source=source,
        version=version,
        result=result,
        verdict=verdict(result),
        rows=[_row(e, result.identifiability) for e in result.estimates],
        correlation=_correlation(result, [e.name for e in free]),
        strong=f"{STRONG_CORRELATION:.2f}" if correlated_pairs(result) else "",
        plots=[_plot(fit, plots.fit_plot(fit, strips, excerpt=excerpt)) for fit in drawn],
        left_out=len(result.fits) - len(drawn),
        series=_series(result),
        populations=_populations(result),
        histogram=_optional_image(plots.residual_histogram(result.fits)),
        history=_optional_image(plots.cost_history(result.history)),
        duration=duration(result.seconds),
        cost_initial=plain(result.cost_initial),
        cost_final=plain(result.cost_final),
        cost_meaning=_cost_meaning(result),
        stages=[
            [
                s.name,
                s.estimator,
                s.cost,
                f"{plain(s.cost_initial)} → {plain(s.cost_final)}",
                s.status,
                str(s.simulations),
                duration(s.seconds),
                ", ".join(f"{n} = {plain(v)}" for n, v in s.parameters.items()),
                _held(s),
            ]
            for s in result.stages
        ],
        settings=_settings(result.settings),
        fmu_file=str(result.fmu_path) if result.fmu_path is not None else "",
    )


def _held(stage: StageResult) -> str:
    """Return what of the values that a stage held its intervals count."""
    found = stage.uncertainty
    if found is None:
        return ""
    counted = f"{', '.join(found.counted)} (uncertainty counted)"
    known = f"{', '.join(found.taken_for_known)} (taken for exactly known)"
    parts = [(found.counted, counted), (found.taken_for_known, known)]
    return "; ".join(text for names, text in parts if names)


def _series(result: EstimationResult) -> list[tuple[str, str]]:
    """Return experiment and plot of each series of estimates."""
    if not result.series:
        return []
    from fmident.report.series_plot import series_plot

    final = np.array([e.value for e in result.estimates if not e.fixed])
    return [(s.experiment, _image(series_plot(s, final))) for s in result.series[:_MOST_PLOTS]]


@dataclass(frozen=True)
class _Population:
    stage: str
    history: str
    pairs: str
    left_out: int


def _populations(result: EstimationResult) -> list[_Population]:
    """Return the plots of population methods; stages have costs of their own, so own plots."""
    if not result.generations:
        return []
    from fmident.report import population_plot

    found = []
    for stage, generations, searched in population_plot.by_stage(result):
        history = _optional_image(population_plot.generations_plot(generations))
        pairs = _optional_image(population_plot.pairs_plot(generations, searched))
        left_out = max(0, len(searched) - population_plot.MOST_PARAMETERS)
        if history or pairs:
            found.append(_Population(stage, history, pairs, left_out))
    return found


def _row(e: ParameterEstimate, judged: Identifiability | None) -> _Row:
    value, error = with_error(e.value, e.standard_error)
    return _Row(
        name=e.name,
        description=e.description,
        value=plain(e.value) if e.fixed else value,
        error="" if e.fixed else error,
        interval="" if e.fixed else interval(e.interval_95, e.standard_error),
        unit=unit_text(e.unit),
        initial=plain(e.initial),
        bounds=_bounds(e),
        remark=remark(e, judged),
    )


def _settings(settings: Mapping[str, object]) -> list[_Setting]:
    """Return what the run was set to: mappings of mappings and lists of mappings as tables."""
    groups: list[_Setting] = []
    for key, value in settings.items():
        heading = key.replace("_", " ").capitalize()
        if key == "options" and "stages" in settings:
            continue  # those of the last stage, told with the others
        if isinstance(value, Mapping) and value:
            if key == "stages":  # each has options of its own: one table would be very wide
                groups += [_stage_options(str(k), v) for k, v in value.items()]
            elif all(isinstance(item, Mapping) for item in value.values()):
                groups.append(_table(heading, {str(k): v for k, v in value.items()}))
            else:
                rows = [[str(k), _text(v)] for k, v in value.items()]
                groups.append(_Setting(heading, "", [], rows))
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
            groups.append(_table(heading, {str(k): v for k, v in enumerate(value, 1)}))
        elif not isinstance(value, Mapping):
            groups.append(_Setting(heading, _text(value), [], []))
    return groups


def _stage_options(name: str, options: object) -> _Setting:
    """Return what one stage was set to."""
    heading = f"Options of stage '{name}'"
    if not isinstance(options, Mapping) or not options:
        return _Setting(heading, "none", [], [])
    return _Setting(heading, "", [], [[str(k), _text(v)] for k, v in options.items()])


def _cost_meaning(result: EstimationResult) -> str:
    """Return what was minimised."""
    chosen = {k: v for k, v in result.cost_options.items() if v is not None}
    if result.cost == "time-domain" and chosen.get("normalisation", "none") == "none":
        return "half the sum of the squared whitened residuals"
    return f"{result.cost}: {_text(chosen)}" if chosen else result.cost


def _table(heading: str, content: Mapping[str, Any]) -> _Setting:
    columns = list(dict.fromkeys(str(key) for item in content.values() for key in item))
    rows = [[name, *(_text(item.get(c, "")) for c in columns)] for name, item in content.items()]
    return _Setting(heading, "", ["", *map(_words, columns)], rows)


def _words(key: object) -> str:
    return str(key).replace("_", " ")


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(k)} {_text(v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return plain(value)
    return "default" if value is None else str(value)


def _bounds(e: ParameterEstimate) -> str:
    if e.fixed or (np.isinf(e.lower) and np.isinf(e.upper)):
        return ""
    low = "-∞" if np.isinf(e.lower) else plain(e.lower)
    high = "∞" if np.isinf(e.upper) else plain(e.upper)
    return f"{low} … {high}"


def _correlation(
    result: EstimationResult, names: Sequence[str]
) -> list[tuple[str, list[_Cell | None]]]:
    """Return the lower triangle of the correlation matrix; empty when there is nothing in it."""
    matrix = np.asarray(result.correlation, dtype=np.float64)
    if len(names) < 2 or matrix.shape != (len(names), len(names)):
        return []
    if not np.any(np.isfinite(matrix)):
        return []
    rows: list[tuple[str, list[_Cell | None]]] = []
    for i, name in enumerate(names):
        cells: list[_Cell | None] = [
            _cell(float(matrix[i, j]), i == j) if j <= i else None for j in range(len(names))
        ]
        rows.append((name, cells))
    return rows


def _cell(value: float, diagonal: bool) -> _Cell:
    if not np.isfinite(value):
        return _Cell("n/a", "#f1f3f6", False)
    if diagonal:
        return _Cell("1", "#f1f3f6", False)
    depth = 0.55 * min(abs(value), 1.0) ** 1.5
    red, green, blue = (11, 92, 173) if value > 0 else (200, 80, 30)
    color = f"rgba({red},{green},{blue},{depth:.2f})"
    return _Cell(f"{value:+.2f}", color, abs(value) >= STRONG_CORRELATION)


def _plot(fit: OutputFit, svg: bytes) -> _Plot:
    unit = f" {unit_text(fit.unit)}".rstrip()
    return _Plot(
        experiment=fit.experiment,
        name=fit.name,
        image=_image(svg),
        rms_initial=plain(fit.rms_initial, 4) + unit,
        rms=plain(fit.rms, 4) + unit,
        relative_error=percent(fit.relative_error),
    )


def _image(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")


def _optional_image(svg: bytes | None) -> str:
    return "" if svg is None else _image(svg)
