"""Figures as files in the folder ``figures`` of a result folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fmident.errors import Code, EstimationError
from fmident.report.figures import search
from fmident.report.figures.chart import Chart
from fmident.report.figures.draws import pairs_chart, trace_chart
from fmident.report.figures.fits import band_chart, fit_chart, inputs_chart, series_chart
from fmident.report.figures.residuals import diagnostics_chart, histogram_chart
from fmident.report.figures.style import time_link
from fmident.report.figures.uncertainty import (
    forest_chart,
    identifiability_chart,
    sensitivity_chart,
)
from fmident.report.sections.html import Figure
from fmident.report.sections.signals import MOST_INPUTS, inputs_at, inputs_of
from fmident.report.tables import with_signals

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.prediction import OutputBand
    from fmident.report.sections.html import Section

FORMATS = ("svg", "pdf")
_FOLDER = "figures"
_FOREIGN = re.compile(r"[^A-Za-z0-9_.-]+")
"""What a file's name cannot hold on every system."""

NamedChart: TypeAlias = tuple[str, Chart | None]
"""Name of the file, without its ending, and what it shows; without a chart there is no file."""


def write_files(
    folder: Path,
    form: str,
    charts: Iterable[NamedChart],
    figures: Iterable[tuple[str, bytes]] = (),
) -> list[Path]:
    """Write one file for each chart into the folder ``figures`` of a result folder.

    Parameters
    ----------
    folder
        The result folder.
    form
        ``"svg"`` or ``"pdf"``.
    charts
        With the names of their files, in which foreign letters are replaced.
    figures
        Names and contents of those that are SVG whatever the format is.

    Returns
    -------
    list of Path
        The files; those of the same names are replaced.

    Raises
    ------
    fmident.errors.EstimationError
        The files cannot be written.
    ValueError
        `form` is none of these.
    """
    from fmident.report.figures.drawing import picture  # loads Matplotlib

    if form not in FORMATS:
        raise ValueError(f"the format '{form}' is none of {', '.join(FORMATS)}")
    place = folder / _FOLDER
    written: list[Path] = []

    def write(name: str, ending: str, content: bytes) -> None:
        file = place / f"{_FOREIGN.sub('-', name).strip('-.')}.{ending}"
        file.write_bytes(content)
        written.append(file)

    try:
        place.mkdir(exist_ok=True)
        for name, chart in charts:
            if chart is not None:
                write(name, form, picture(chart, form))
        for name, content in figures:
            write(name, "svg", content)
    except OSError as error:
        raise EstimationError(
            f"the pictures cannot be written to '{place}': {error.strerror or error}",
            hint="make room there, or copy the result folder to a place that may be written to",
            code=Code.UNUSABLE_FILE,
        ) from error
    return written


def write_chart(chart: Chart, path: Path) -> None:
    """Write a chart as SVG, PDF or PNG, by the suffix of the file's name."""
    from fmident.report.figures.drawing import picture  # loads Matplotlib

    path.write_bytes(picture(chart, path.suffix[1:]))


def write_pictures(
    result: EstimationResult, folder: Path, form: str = "svg", sections: Sequence[Section] = ()
) -> list[Path]:
    """Write one file for each figure of an estimation, as :func:`write_files` does.

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

    Raises
    ------
    fmident.errors.EstimationError
        A table is missing or broken, or the files cannot be written.
    """
    return write_files(folder, form, _charts(with_signals(result, folder)), _figures(sections))


def band_charts(bands: Sequence[OutputBand], level: str) -> Iterator[NamedChart]:
    """Yield each output with its bands, of a probability as text."""
    for number, band in enumerate(bands, 1):
        # Two names may differ in what a file's name cannot hold.
        yield f"bands-{number}-{band.experiment}-{band.name}", band_chart(band, level)


def _charts(result: EstimationResult) -> Iterator[NamedChart]:
    held_out = () if result.validation is None else result.validation.fits
    for word, fits in (("fit", result.fits), ("validation", held_out)):
        for number, fit in enumerate(fits, 1):
            name = f"{word}-{number}-{fit.experiment}-{fit.name}"
            yield name, fit_chart(fit, link=time_link(fit.experiment))
    yield "residuals", histogram_chart(result.fits)
    yield "cost", search.cost_chart(result.history)
    for stage, generations, searched in search.by_stage(result) if result.generations else ():
        ending = f"-{stage}" if stage else ""
        yield f"generations{ending}", search.generations_chart(generations)
        pairs = search.population_chart(generations, searched)
        yield f"population{ending}", None if pairs is None else pairs[0]
    final = np.array([e.value for e in result.estimates if e.searched])
    for number, series in enumerate(result.series, 1):
        yield f"series-{number}-{series.experiment}", series_chart(series, final)
    yield "intervals", forest_chart(result)
    for number, (experiment, inputs) in enumerate(inputs_of(result).items(), 1):
        yield f"inputs-{number}-{experiment}", inputs_chart(inputs)
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
    yield "parameters", search.path_chart(result)
    yield "starts", search.starts_chart(result)


def _figures(sections: Sequence[Section]) -> Iterator[tuple[str, bytes]]:
    for section in sections:
        figures = [block for block in section.blocks if isinstance(block, Figure)]
        for number, figure in enumerate(figures, 1):
            yield f"section-{section.title}-{number}", figure.svg
