"""A prediction: its result folder, JSON file, table, pictures and page, and its text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident.prediction import OutputBand, Prediction
from fmident.report.codec import LAYOUTS, Json, Layout, load, read_file, written_by
from fmident.report.contents import Contents, Said
from fmident.report.figures.files import NamedChart, band_charts, write_files
from fmident.report.sections.estimate import Entry
from fmident.report.sections.html import fragment
from fmident.report.sections.signals import bands_section
from fmident.report.tables import column, whole_table
from fmident.report.terminal import narrow_table, unit_text
from fmident.words import duration, percent, percent_text, plain

if TYPE_CHECKING:
    import pandas as pd


FILE_NAME = "prediction.json"
_COMMAND = "predict"


_SOURCES = {
    "linearised": "Uncertainty of the parameters: linearised, by the covariance of the result",
    "bootstrap": "Uncertainty of the parameters: replicates of a bootstrap",
    "posterior": "Uncertainty of the parameters: draws from the posterior distribution",
}


BANDS = "bands.csv"
_COLUMNS = ("measured", "predicted", "mean_low", "mean_high", "new_low", "new_high", "noise")


@dataclass(frozen=True)
class NamedBand:
    """Metadata of an output with bands, from the JSON file of a folder.

    `samples` is the number of samples of its bands, and `fitted` whether its experiment was
    fitted.
    """

    experiment: str
    name: str
    samples: int
    fitted: bool = True


LAYOUTS[NamedBand] = Layout(keys={"name": "output"})


def read_bands(folder: Path, named: Sequence[NamedBand], command: str) -> tuple[OutputBand, ...]:
    """Return the bands in ``bands.csv`` of a folder.

    `named` are the expected outputs in order, and `command` is the one that wrote the
    folder. Raises `EstimationError` if the table is missing, incomplete or for other
    outputs.
    """
    if not named:
        return ()

    def convert(table: pd.DataFrame) -> tuple[OutputBand, ...]:
        groups = dict(iter(table.groupby(["experiment", "output"], sort=False)))
        if missing := [n for n in named if (n.experiment, n.name) not in groups]:
            first = missing[0]
            raise ValueError(f"it has no row of '{first.name}' of '{first.experiment}'")
        return tuple(_band(groups[n.experiment, n.name], n) for n in named)

    return whole_table(folder / BANDS, convert, command)


def _band(rows: pd.DataFrame, named: NamedBand) -> OutputBand:
    units = set(rows["unit"])
    if len(units) != 1:
        raise ValueError(f"the rows of '{named.name}' have several units")
    band = OutputBand(
        named.experiment,
        named.name,
        units.pop() or None,
        column(rows, "time"),
        **{name: column(rows, name) for name in _COLUMNS},
    )
    if band.samples != named.samples:
        raise ValueError(
            f"it has {band.samples} samples of '{named.name}', not {named.samples} as the result"
        )
    return band


def read_prediction(folder: Path) -> Prediction:
    """Return the prediction stored in a folder with its table.

    Raises `EstimationError` if a file is missing, broken or was not written by fmident.
    """

    def convert(content: Json) -> Prediction:
        named = load(tuple[NamedBand, ...], content["outputs"], "outputs")
        pairs = list(zip(named, read_bands(folder, named, _COMMAND), strict=True))
        return dataclasses.replace(
            load(Prediction, content),
            new=tuple(band for known, band in pairs if not known.fitted),
            fitted=tuple(band for known, band in pairs if known.fitted),
        )

    return read_file(folder / FILE_NAME, convert, "a prediction of fmident", written_by(_COMMAND))


def _output(band: OutputBand, *, fitted: bool) -> Json:
    return {
        "experiment": band.experiment,
        "output": band.name,
        "unit": band.unit,
        "fitted": fitted,
        "samples": band.samples,
        "inside": band.inside,
    }


LAYOUTS[Prediction] = Layout(
    keys={"failures": "failed_draws", "seconds": "wall_time_s"},
    omitted={"new": (), "fitted": ()},
    computed={
        "new_samples": lambda p: p.samples,
        "new_samples_inside": lambda p: p.inside,
        "outputs": lambda p: [
            *(_output(b, fitted=False) for b in p.new),
            *(_output(b, fitted=True) for b in p.fitted),
        ],
    },
)


class PredictionContents(Contents["Prediction"]):
    """Contents of the result folder of a prediction."""

    marker, page = FILE_NAME, "prediction.html"
    kicker, command = "Prediction", "predict"

    def said(self, result: Prediction) -> Said:
        """Return a summary in words."""
        return Said(headline(result), grade_of(result), reasons(result), effort(result))

    def blocks(self, result: Prediction, width: int) -> Sequence[str]:
        """Return the outputs."""
        return [table_text(result, width)]

    def tables(self, result: Prediction) -> Mapping[str, tuple[pd.DataFrame, str]]:
        """Return the bands."""
        return {BANDS: (result.table, "%.9g")}

    def draw(self, result: Prediction, folder: Path) -> None:
        """Write each output with its bands."""
        write_files(folder, "svg", self.charts(result))

    def charts(self, result: Prediction) -> Iterator[NamedChart]:
        """Yield each output with its bands."""
        return band_charts([*result.new, *result.fitted], percent_text(result.level))

    def sections(self, result: Prediction) -> Sequence[str]:
        """Return the outputs and their bands."""
        return [*self.shown(result), bands_section([*result.new, *result.fitted], result.level)]

    def shown(self, result: Prediction) -> Sequence[str]:
        """Return the outputs."""
        rows = rows_of(result.new, "") + rows_of(result.fitted, " (fitted)")
        return [fragment("prediction", level=percent_text(result.level), rows=rows)]

    def facts(self, result: Prediction) -> Sequence[str]:
        """Return level and source."""
        return [f"{percent_text(result.level)} bands", result.source]

    def entries(self, result: Prediction) -> Sequence[Entry]:
        """Return information on the run."""
        return [Entry.of("Effort", effort(result))]

    def read(self, folder: Path) -> Prediction:
        """Return the prediction stored in a folder."""
        return read_prediction(folder)


PREDICTION = PredictionContents()


def table_text(result: Prediction, width: int) -> str:
    """Return the table of the outputs, at most `width` columns wide."""
    header = ["experiment", "output", "mean +-", "new +-", "unit", "inside"]
    rows = [_row(b, "") for b in result.new] + [_row(b, " (fitted)") for b in result.fitted]
    return narrow_table(header, rows, ["<", "<", ">", ">", "<", ">"], width, ["unit"])


def headline(result: Prediction) -> str:
    """Return how many new samples lie inside the band."""
    level = percent_text(result.level)
    if result.samples:
        share = percent(result.inside / result.samples)
        return f"{share} of {result.samples} new samples inside the {level} band."
    if result.new:
        return f"No sample of the new experiments was measured; {level} bands are predicted."
    samples = sum(b.samples for b in result.fitted)
    inside = sum(b.inside for b in result.fitted)
    if not samples:
        return f"{level} bands of the fitted outputs."
    return f"{percent(inside / samples)} of {samples} fitted samples inside the {level} band."


def grade_of(result: Prediction) -> str:
    """Return the reliability of the bands: ``"good"``, ``"doubtful"`` or ``"bad"``.

    It is doubtful if the fraction of new samples inside falls short of the level by more
    than a third of the nominal fraction outside, and bad below half the level.
    """
    if result.samples:
        share = result.inside / result.samples
        if share < 0.5 * result.level:
            return "bad"
        if share < result.level - (1.0 - result.level):
            return "doubtful"
    return "doubtful" if result.notes else "good"


def reasons(result: Prediction) -> list[str]:
    """Return the origin of the uncertainty, a sentence each."""
    drawn = f", {result.draws} of them simulated" if result.draws else ""
    found = [f"{_SOURCES[result.source]}{drawn}."]
    found.append("Noise of new samples: as in the residuals of the experiments that were fitted.")
    if result.samples and result.inside / result.samples < result.level - (1.0 - result.level):
        found.append(
            "Fewer new samples than that lie inside: the model lacks something that the new"
            " experiments show, or their noise is larger."
        )
    return found


def effort(result: Prediction) -> str:
    """Return the computational effort."""
    return f"{result.simulations} simulations, {duration(result.seconds)}"


def half_widths(band: OutputBand) -> tuple[str, str]:
    """Return the median half widths of the bands of the mean and of new samples, as text."""
    texts = []
    for low, high in ((band.mean_low, band.mean_high), (band.new_low, band.new_high)):
        known = 0.5 * (high - low)
        known = known[np.isfinite(known)]
        texts.append(plain(float(np.median(known)), 3) if known.size else "n/a")
    return texts[0], texts[1]


def share_text(band: OutputBand) -> str:
    """Return the fraction of samples inside the band of new ones; empty without samples."""
    return percent(band.inside / band.samples) if band.samples else ""


def _row(band: OutputBand, after: str) -> list[str]:
    mean, new = half_widths(band)
    unit = unit_text(band.unit)
    return [f"{band.experiment}{after}", band.name, mean, new, unit, share_text(band)]


def rows_of(bands: Sequence[OutputBand], after: str) -> list[dict[str, str]]:
    """Return the rows of the page's table."""
    keys = ("experiment", "output", "mean", "new", "unit", "inside")
    return [dict(zip(keys, _row(b, after), strict=True)) for b in bands]
