"""Sections on signals: fits, residuals and their diagnostics, inputs, validation, series, bands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fmident.report.figures.browser import regular_grid
from fmident.report.figures.chart import LONGEST_BAND
from fmident.report.figures.fits import MOST_DOTS, band_chart, fit_chart, inputs_chart, series_chart
from fmident.report.figures.residuals import diagnostics_chart, histogram_chart
from fmident.report.figures.search import cost_chart
from fmident.report.figures.style import time_link
from fmident.report.sections import uncertainty
from fmident.report.sections.html import fragment
from fmident.report.terminal import VALIDATION_HEADER, residual_facts, unit_text, validation_rows
from fmident.words import percent, percent_text, plain

if TYPE_CHECKING:
    from markupsafe import Markup

    from fmident.arrays import F64
    from fmident.estimation.result import EstimationResult, InputSignal, OutputFit
    from fmident.prediction import OutputBand


MOST_FITS, MOST_VALIDATION_FITS, MOST_SERIES = 60, 24, 60
"""Plots of fitted outputs, of those of validation, and of estimates over time."""

_MOST_OUTPUTS, MOST_INPUTS = 24, 6
"""Outputs whose residuals are diagnosed, and inputs that each is compared with."""

MOST_EXPERIMENTS, MOST_INPUTS_DRAWN = 24, 16
"""Experiments whose inputs are drawn, and inputs of each."""


_ROOM = 560_000
"""Numbers of all lines of a page, 3.0 MB; the library takes 0.5 MB, other plots up to 1 MB."""

_PLACE = 2
"""Numbers that the place of a sample takes: it has twice as many digits as a value."""

_FIT, _BAND, _EXCLUDED = 3, 2, 10
"""Initial, fitted and residual; a band's ends; a mark with the words below the pointer."""


@dataclass(frozen=True)
class _Plot:
    experiment: str
    name: str
    chart: Markup
    rms_initial: str
    rms: str
    relative_error: str
    excluded: str


def fits_section(result: EstimationResult, most: int | None = None) -> str:
    """Return one plot per measured output; `most` limits the samples of a line."""
    drawn = result.fits[:MOST_FITS]
    return fragment(
        "fits",
        plots=[_plot(fit, most) for fit in drawn],
        left_out=len(result.fits) - len(drawn),
        assumed_units=result.assumed_units,
    )


def _plot(fit: OutputFit, most: int | None) -> _Plot:
    unit = f" {unit_text(fit.unit)}".rstrip()
    return _Plot(
        experiment=fit.experiment,
        name=fit.name,
        # The time axes of one experiment move together, whatever the output.
        chart=fit_chart(fit, link=time_link(fit.experiment)).html(most),
        rms_initial=plain(fit.rms_initial, 4) + unit,
        rms=plain(fit.rms, 4) + unit,
        relative_error=percent(fit.relative_error),
        excluded=", ".join(str(e) for e in fit.excluded),
    )


def residuals_section(result: EstimationResult) -> str:
    """Return both plots; empty if there is neither."""
    histogram, history = histogram_chart(result.fits), cost_chart(result.history)
    if histogram is None and history is None:
        return ""
    return fragment(
        "residuals",
        histogram=histogram and histogram.html(),
        history=history and history.html(),
    )


def diagnostics_section(result: EstimationResult) -> str:
    """Return the residuals of each output compared with the inputs; empty without any."""
    outputs = []
    held_out = () if result.validation is None else result.validation.fits
    fits = [
        *((fit, "") for fit in result.fits),
        *((fit, ", whitened by the model of the noise") for fit in result.whitened),
        *((fit, ", not fitted") for fit in held_out),
    ]
    for fit, remark in fits[:_MOST_OUTPUTS]:
        chart = diagnostics_chart(fit, inputs_at(fit, result), MOST_INPUTS)
        if chart is not None:
            outputs.append((fit.name, fit.experiment + remark, chart.html()))
    if not outputs:
        return ""
    left_out = max(0, len(fits) - _MOST_OUTPUTS)
    return fragment("diagnostics", outputs=outputs, left_out=left_out, inputs=MOST_INPUTS)


def inputs_at(fit: OutputFit, result: EstimationResult) -> dict[str, F64]:
    """Return the inputs of the experiment at the times of the output."""
    return {
        signal.name: np.interp(fit.times, signal.times, signal.values)
        for signal in result.inputs
        if signal.experiment == fit.experiment and signal.times.size and fit.times.size
    }


def bands_section(bands: Sequence[OutputBand], level: float) -> str:
    """Return one chart per output; empty without any."""
    if not bands:
        return ""
    pictures = []
    # The prediction; dots and two bands in both panels.
    most = most_samples(
        one for b in bands for one in (lines_over(b.times, 1), band_over(b.times, 22))
    )
    for band in bands:
        share = ""
        if band.samples:
            share = f"{percent(band.inside / band.samples)} of {band.samples} samples inside"
        words = {"name": band.name, "experiment": band.experiment, "inside": share}
        pictures.append((words, band_chart(band, percent_text(level)).html(most)))
    return fragment("bands", pictures=pictures)


def series_section(result: EstimationResult, most: int | None = None) -> str:
    """Return one plot per experiment; empty without series; `most` limits a line's samples."""
    if not result.series:
        return ""
    final = np.array([e.value for e in result.estimates if e.searched])
    plots = [(s.experiment, series_chart(s, final).html(most)) for s in result.series[:MOST_SERIES]]
    return fragment("series", series=plots)


def inputs_section(result: EstimationResult, most: int | None = None) -> str:
    """Return one plot per experiment; empty without inputs; `most` limits a line's samples."""
    experiments = inputs_of(result)
    drawn = list(experiments.items())[:MOST_EXPERIMENTS]
    plots = [
        (
            name + ("" if signals[0].fitted else ", not fitted"),
            inputs_chart(signals[:MOST_INPUTS_DRAWN]).html(most),
            max(0, len(signals) - MOST_INPUTS_DRAWN),
        )
        for name, signals in drawn
    ]
    left_out = len(experiments) - len(drawn)
    return fragment("inputs", plots=plots, left_out=left_out) if plots else ""


def inputs_of(result: EstimationResult) -> dict[str, list[InputSignal]]:
    """Return the inputs of each experiment that has any."""
    signals: dict[str, list[InputSignal]] = {}
    for signal in result.inputs:
        if signal.times.size > 1:
            signals.setdefault(signal.experiment, []).append(signal)
    return signals


def validation_section(result: EstimationResult, most: int | None = None) -> str:
    """Return a table of all outputs, and a plot of each that was not fitted; empty if none.

    `most` limits the samples of a line.
    """
    if result.validation is None:
        return ""
    drawn = result.validation.fits[:MOST_VALIDATION_FITS]
    return fragment(
        "validation",
        header=VALIDATION_HEADER,
        rows=validation_rows(result),
        facts=residual_facts(result),
        failures=result.validation.failures,
        plots=[
            (
                f.experiment,
                f.name,
                ", ".join(str(e) for e in f.excluded),
                fit_chart(f, link=time_link(f.experiment)).html(most),
            )
            for f in drawn
        ],
        left_out=len(result.validation.fits) - len(drawn),
    )


class Lines(NamedTuple):
    """Lines over the same abscissae.

    Each has `samples` with a number of values, `numbers`, excluding the abscissa. The
    abscissae of `regular` samples take no space if all are drawn.
    """

    samples: int
    numbers: int
    regular: bool = False

    @property
    def whole(self) -> int:
        """Numbers of all samples."""
        return self.samples * (self.numbers + (0 if self.regular else _PLACE))


def lines_over(times: F64, numbers: int) -> Lines:
    """Return the size of lines over some times."""
    return Lines(times.size, numbers, regular_grid(times) is not None)


def band_over(times: F64, numbers: int = _BAND) -> Lines:
    """Return the size of bands over some times."""
    return Lines(min(times.size, LONGEST_BAND), numbers)


def most_samples(lines: Iterable[Lines], room: int = _ROOM) -> int:
    """Return the maximum number of samples of a line such that all lines fit into `room`.

    Short lines are drawn completely; the long ones share the remaining space.
    """
    whole = sorted(lines)
    left, width = room - sum(one.whole for one in whole), 0
    longest = whole[-1].samples if whole else 0
    while left < 0 or (width and left // width < longest):
        last = whole.pop()
        left += last.whole
        width += last.numbers + _PLACE
        longest = whole[-1].samples if whole else 0
    return left // width if width else longest


def samples_of_page(result: EstimationResult) -> int:
    """Return how many samples of a line fit into the page of an estimation."""
    return most_samples(_lines(result))


def _lines(result: EstimationResult) -> Iterable[Lines]:
    held_out = () if result.validation is None else result.validation.fits
    for fit in (
        *result.fits[:MOST_FITS],
        *held_out[:MOST_VALIDATION_FITS],
    ):
        yield lines_over(fit.times, _FIT)
        if np.ptp(fit.sigma) > 0.0:
            yield band_over(fit.times)
        yield Lines(min(sum(e.times.size for e in fit.excluded), MOST_DOTS), _EXCLUDED)
    for inputs in [*inputs_of(result).values()][:MOST_EXPERIMENTS]:
        for signal in inputs[:MOST_INPUTS_DRAWN]:
            # Steps have two places for each sample.
            steps = Lines(2 * signal.times.size, 1)
            yield steps if signal.held else lines_over(signal.times, 1)
    for one in result.series[:MOST_SERIES]:
        yield lines_over(one.times, len(one.names))
        yield from [band_over(one.times)] * len(one.names)
    for seen in result.sensitivities[: uncertainty.MOST_OUTPUTS]:
        yield lines_over(seen.times, len(seen.parameters))
