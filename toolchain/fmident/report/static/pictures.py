"""The plots of a result as SVG or PDF, by Matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident.report.charts.search import population
from fmident.report.charts.search.iterations import path_chart, starts_chart
from fmident.report.charts.signals.diagnostics import diagnostics_chart
from fmident.report.charts.signals.inputs import inputs_chart
from fmident.report.charts.signals.series import series_chart
from fmident.report.charts.uncertainty.draws import pairs_chart, trace_chart
from fmident.report.charts.uncertainty.forest import forest_chart
from fmident.report.charts.uncertainty.identifiability import identifiability_chart
from fmident.report.charts.uncertainty.sensitivities import sensitivity_chart
from fmident.report.sections.content import Figure
from fmident.report.sections.signals import MOST_INPUTS, inputs_at, inputs_of
from fmident.report.static.files import write_files
from fmident.report.stored.samples import with_signals

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.report.charts.chart import Chart
    from fmident.report.sections.content import Section


def write_pictures(
    result: EstimationResult, folder: Path, form: str = "svg", sections: Sequence[Section] = ()
) -> list[Path]:
    """Write one file for each plot into the folder ``figures`` of a result folder.

    Parameters
    ----------
    result
        As read from ``result.json``.
    folder
        That holds it, with its tables.
    form
        ``"svg"`` or ``"pdf"``.
    sections
        Of plugins, whose figures are written as the SVG files that they are.

    Returns
    -------
    list of Path
        The files; those of the same names are replaced.

    Raises
    ------
    fmident.errors.EstimationError
        A table is missing or broken, or the files cannot be written.
    ValueError
        `form` is none of these.
    """
    whole = with_signals(result, folder)
    return write_files(folder, form, _pictures(whole), _figures(sections))


def _pictures(result: EstimationResult) -> Iterator[tuple[str, bytes]]:
    """Yield the name of each file and what is in it."""
    from fmident.report.plots import fits
    from fmident.report.static.drawing import drawn

    for number, fit in enumerate(result.fits, 1):
        # Two names may differ in what a file's name cannot hold.
        yield f"fit-{number}-{fit.experiment}-{fit.name}", fits.fit_plot(fit)
    held_out = () if result.validation is None else result.validation.fits
    for number, fit in enumerate(held_out, 1):
        yield f"validation-{number}-{fit.experiment}-{fit.name}", fits.fit_plot(fit)
    found: dict[str, bytes | None] = {
        "residuals": fits.residual_histogram(result.fits),
        "cost": fits.cost_history(result.history),
    }
    for name, content in found.items():
        if content is not None:
            yield name, content
    for name, chart in _charts(result):
        if chart is not None:
            yield name, drawn(chart, name)


def _charts(result: EstimationResult) -> Iterator[tuple[str, Chart | None]]:
    """Yield what is drawn as it is on the page."""
    yield from _populations(result)
    final = np.array([e.value for e in result.estimates if e.searched])
    for number, series in enumerate(result.series, 1):
        yield f"series-{number}-{series.experiment}", series_chart(series, final)
    yield "intervals", forest_chart(result)
    for number, (experiment, inputs) in enumerate(inputs_of(result).items(), 1):
        yield f"inputs-{number}-{experiment}", inputs_chart(inputs)
    held_out = () if result.validation is None else result.validation.fits
    for number, fit in enumerate((*result.fits, *held_out), 1):
        name = f"residuals-{number}-{fit.experiment}-{fit.name}"
        yield name, diagnostics_chart(fit, inputs_at(fit, result), MOST_INPUTS)
    for number, one in enumerate(result.sensitivities, 1):
        stage = f"{one.stage}-" if one.stage else ""
        name = f"sensitivities-{number}-{stage}{one.experiment}-{one.name}"
        yield name, sensitivity_chart(one)
    yield "identifiability", identifiability_chart(result.identifiability)
    yield "draws", trace_chart(result)
    yield "draws-pairs", pairs_chart(result)
    yield "parameters", path_chart(result)
    yield "starts", starts_chart(result)


def _populations(result: EstimationResult) -> Iterator[tuple[str, Chart | None]]:
    if result.generations:
        for stage, generations, searched in population.by_stage(result):
            ending = f"-{stage}" if stage else ""
            yield f"generations{ending}", population.generations_chart(generations)
            pairs = population.pairs_chart(generations, searched)
            yield f"population{ending}", None if pairs is None else pairs[0]


def _figures(sections: Sequence[Section]) -> Iterator[tuple[str, bytes]]:
    for section in sections:
        figures = [block for block in section.blocks if isinstance(block, Figure)]
        for number, figure in enumerate(figures, 1):
            yield f"section-{section.title}-{number}", figure.svg
