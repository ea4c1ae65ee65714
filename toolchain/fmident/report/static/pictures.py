"""The plots of a result as SVG or PDF, by Matplotlib."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident.errors import Code, EstimationError
from fmident.report.charts.search.iterations import path_chart, starts_chart
from fmident.report.charts.signals.bands import band_chart
from fmident.report.charts.signals.diagnostics import diagnostics_chart
from fmident.report.charts.signals.inputs import inputs_chart
from fmident.report.charts.signals.series import series_chart
from fmident.report.charts.uncertainty.draws import pairs_chart, trace_chart
from fmident.report.charts.uncertainty.forest import forest_chart
from fmident.report.charts.uncertainty.identifiability import identifiability_chart
from fmident.report.charts.uncertainty.profiles import profile_chart
from fmident.report.charts.uncertainty.sensitivities import sensitivity_chart
from fmident.report.sections.content import Figure
from fmident.report.sections.signals.diagnostics import MOST_INPUTS, inputs_at
from fmident.report.sections.signals.inputs import inputs_of
from fmident.report.stored.samples import with_signals

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.prediction import OutputBand
    from fmident.profiles import ProfileResult
    from fmident.report.charts.chart import Chart
    from fmident.report.sections.content import Section

FORMATS = ("svg", "pdf")
FOLDER = "figures"
_WHAT_NAMES_KEEP = re.compile(r"[^A-Za-z0-9_.-]+")


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
    return _written(folder, form, _pictures(whole), _figures(sections))


def write_profile_pictures(result: ProfileResult, folder: Path, form: str = "svg") -> list[Path]:
    """Write one file for each profile into the folder ``figures`` of a result folder.

    Parameters
    ----------
    result
        As read from ``profiles.json``.
    folder, form
        As of :func:`write_pictures`.

    Raises
    ------
    fmident.errors.EstimationError
        The files cannot be written.
    ValueError
        `form` is none of these.
    """
    return _written(folder, form, _profiles(result), ())


def write_band_pictures(bands: Sequence[OutputBand], level: str, folder: Path) -> list[Path]:
    """Write one SVG file for each output with its bands into the folder ``figures``.

    Parameters
    ----------
    bands
        The outputs.
    level
        Probability of the bands as text.
    folder
        The result folder.

    Raises
    ------
    fmident.errors.EstimationError
        The files cannot be written.
    """
    return _written(folder, "svg", _bands(bands, level), ())


def _written(
    folder: Path,
    form: str,
    pictures: Iterator[tuple[str, bytes]],
    figures: Iterable[tuple[str, bytes]],
) -> list[Path]:
    from fmident.report.plots import style

    if form not in FORMATS:
        raise ValueError(f"the format '{form}' is none of {', '.join(FORMATS)}")
    place = folder / FOLDER
    written: list[Path] = []

    def write(name: str, content: bytes) -> None:
        file = place / name
        file.write_bytes(content)
        written.append(file)

    try:
        place.mkdir(exist_ok=True)
        with style.written_as(form):
            for name, content in pictures:
                write(f"{name}.{form}", content)
        for name, content in figures:
            write(f"{name}.svg", content)
    except OSError as error:
        raise EstimationError(
            f"the pictures cannot be written to '{place}': {error.strerror or error}",
            hint="make room there, or copy the result folder to a place that may be written to",
            code=Code.UNUSABLE_FILE,
        ) from error
    return written


def _pictures(result: EstimationResult) -> Iterator[tuple[str, bytes]]:
    """Yield the name of each file and what is in it."""
    from fmident.report.plots import fits, population
    from fmident.report.static.drawing import drawn

    for number, fit in enumerate(result.fits, 1):
        # Two names may differ in what a file's name cannot hold.
        yield _name(f"fit-{number}-{fit.experiment}-{fit.name}"), fits.fit_plot(fit)
    held_out = () if result.validation is None else result.validation.fits
    for number, fit in enumerate(held_out, 1):
        yield _name(f"validation-{number}-{fit.experiment}-{fit.name}"), fits.fit_plot(fit)
    found: dict[str, bytes | None] = {
        "residuals": fits.residual_histogram(result.fits),
        "cost": fits.cost_history(result.history),
    }
    if result.generations:
        for stage, generations, searched in population.by_stage(result):
            ending = f"-{stage}" if stage else ""
            found[_name(f"generations{ending}")] = population.generations_plot(generations)
            found[_name(f"population{ending}")] = population.pairs_plot(generations, searched)
    for name, content in found.items():
        if content is not None:
            yield name, content
    for name, chart in _charts(result):
        if chart is not None:
            yield _name(name), drawn(chart, name)


def _charts(result: EstimationResult) -> Iterator[tuple[str, Chart | None]]:
    """Yield what is drawn as it is on the page."""
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


def _profiles(result: ProfileResult) -> Iterator[tuple[str, bytes]]:
    from fmident.report.static.drawing import drawn

    for number, profile in enumerate(result.profiles, 1):
        name = _name(f"profile-{number}-{profile.name}")
        yield name, drawn(profile_chart(profile, result), name)


def _bands(bands: Sequence[OutputBand], level: str) -> Iterator[tuple[str, bytes]]:
    from fmident.report.static.drawing import drawn

    for number, band in enumerate(bands, 1):
        name = _name(f"bands-{number}-{band.experiment}-{band.name}")
        yield name, drawn(band_chart(band, level), name)


def _figures(sections: Sequence[Section]) -> Iterator[tuple[str, bytes]]:
    for section in sections:
        figures = [block for block in section.blocks if isinstance(block, Figure)]
        for number, figure in enumerate(figures, 1):
            yield _name(f"section-{section.title}-{number}"), figure.svg


def _name(text: str) -> str:
    return _WHAT_NAMES_KEEP.sub("-", text).strip("-.")
