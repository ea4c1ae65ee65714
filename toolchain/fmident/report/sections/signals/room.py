"""How many samples of a line a page has room for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fmident.report.charts.chart import LONGEST_BAND
from fmident.report.charts.columns import regular_grid
from fmident.report.charts.signals.fits import MOST_DOTS
from fmident.report.sections.signals import fits, inputs, series, validation
from fmident.report.sections.uncertainty import sensitivities

if TYPE_CHECKING:
    from fmident.arrays import F64
    from fmident.estimation.result import EstimationResult

_ROOM = 560_000
"""Numbers of all lines of a page, 3.0 MB; the library takes 0.5 MB, other plots up to 1 MB."""

_PLACE = 2
"""Numbers that the place of a sample takes: it has twice as many digits as a value."""

_FIT, _BAND, _EXCLUDED = 3, 2, 10
"""Initial, fitted and residual; a band's ends; a mark with the words below the pointer."""


class Lines(NamedTuple):
    """Lines over the same places.

    Parameters
    ----------
    samples
        Of each.
    numbers
        That each sample takes, without its place.
    regular
        Whether samples have equal distances: their places take no room where all are drawn.
    """

    samples: int
    numbers: int
    regular: bool = False

    @property
    def whole(self) -> int:
        """Numbers of all samples."""
        return self.samples * (self.numbers + (0 if self.regular else _PLACE))


def lines_over(times: F64, numbers: int) -> Lines:
    """Return what lines over some times take."""
    return Lines(times.size, numbers, regular_grid(times) is not None)


def band_over(times: F64, numbers: int = _BAND) -> Lines:
    """Return what bands over some times take."""
    return Lines(min(times.size, LONGEST_BAND), numbers)


def most_samples(lines: Iterable[Lines], room: int = _ROOM) -> int:
    """Return how many samples of a line are drawn at most, so that all lines have room.

    Short lines are drawn whole; what they leave is shared by the long ones.

    Parameters
    ----------
    lines
        Of the page.
    room
        Numbers of all lines together.
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
    """Return how many samples of a line the page of an estimation has room for."""
    return most_samples(_lines(result))


def _lines(result: EstimationResult) -> Iterable[Lines]:
    held_out = () if result.validation is None else result.validation.fits
    for fit in (*result.fits[: fits.MOST_PLOTS], *held_out[: validation.MOST_PLOTS]):
        yield lines_over(fit.times, _FIT)
        if np.ptp(fit.sigma) > 0.0:
            yield band_over(fit.times)
        yield Lines(min(sum(e.times.size for e in fit.excluded), MOST_DOTS), _EXCLUDED)
    for signals in [*inputs.inputs_of(result).values()][: inputs.MOST_EXPERIMENTS]:
        for signal in signals[: inputs.MOST_INPUTS]:
            # Steps have two places for each sample.
            steps = Lines(2 * signal.times.size, 1)
            yield steps if signal.held else lines_over(signal.times, 1)
    for one in result.series[: series.MOST]:
        yield lines_over(one.times, len(one.names))
        yield from [band_over(one.times)] * len(one.names)
    for seen in result.sensitivities[: sensitivities.MOST_OUTPUTS]:
        yield lines_over(seen.times, len(seen.parameters))
