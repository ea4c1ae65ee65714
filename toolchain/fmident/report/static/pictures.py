"""The plots of a result as SVG or PDF, by Matplotlib."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident.errors import Code, EstimationError
from fmident.report.stored.samples import with_signals

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult

FORMATS = ("svg", "pdf")
FOLDER = "figures"
_WHAT_NAMES_KEEP = re.compile(r"[^A-Za-z0-9_.-]+")


def write_pictures(result: EstimationResult, folder: Path, form: str = "svg") -> list[Path]:
    """Write one file for each plot into the folder ``figures`` of a result folder.

    Parameters
    ----------
    result
        As read from ``result.json``.
    folder
        That holds it, with its tables.
    form
        ``"svg"`` or ``"pdf"``.

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
    from fmident.report.plots import style

    if form not in FORMATS:
        raise ValueError(f"the format '{form}' is none of {', '.join(FORMATS)}")
    whole = with_signals(result, folder)
    place = folder / FOLDER
    written: list[Path] = []
    try:
        place.mkdir(exist_ok=True)
        with style.written_as(form):
            for name, content in _pictures(whole):
                file = place / f"{name}.{form}"
                file.write_bytes(content)
                written.append(file)
    except OSError as error:
        raise EstimationError(
            f"the pictures cannot be written to '{place}': {error.strerror or error}",
            hint="make room there, or copy the result folder to a place that may be written to",
            code=Code.UNUSABLE_FILE,
        ) from error
    return written


def _pictures(result: EstimationResult) -> Iterator[tuple[str, bytes]]:
    """Yield the name of each file and what is in it."""
    from fmident.report.plots import fits, population, series

    for number, fit in enumerate(result.fits, 1):
        # Two names may differ in what a file's name cannot hold.
        yield _name(f"fit-{number}-{fit.experiment}-{fit.name}"), fits.fit_plot(fit)
    held_out = () if result.validation is None else result.validation.fits
    for number, fit in enumerate(held_out, 1):
        yield _name(f"validation-{number}-{fit.experiment}-{fit.name}"), fits.fit_plot(fit)
    found = {
        "residuals": fits.residual_histogram(result.fits),
        "cost": fits.cost_history(result.history),
    }
    final = np.array([e.value for e in result.estimates if e.searched])
    for number, one in enumerate(result.series, 1):
        found[_name(f"series-{number}-{one.experiment}")] = series.series_plot(one, final)
    if result.generations:
        for stage, generations, searched in population.by_stage(result):
            ending = f"-{stage}" if stage else ""
            found[_name(f"generations{ending}")] = population.generations_plot(generations)
            found[_name(f"population{ending}")] = population.pairs_plot(generations, searched)
    for name, content in found.items():
        if content is not None:
            yield name, content


def _name(text: str) -> str:
    return _WHAT_NAMES_KEEP.sub("-", text).strip("-.")
