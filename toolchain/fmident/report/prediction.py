"""A prediction: its result folder, JSON file, table, pictures and page, and its text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident.prediction import OutputBand, Prediction
from fmident.report.codec import Codec, Json, Layout
from fmident.report.contents import Contents
from fmident.report.figures.files import FIGURES, NamedChart, file_name
from fmident.report.figures.fits import band_chart
from fmident.report.result_json import noted
from fmident.report.sections import Block, Cell, Part, Plot, Summary, Table, Text
from fmident.report.tables import column, groups_of, read_table
from fmident.words import duration, percent, percent_text, plain, unit_text

if TYPE_CHECKING:
    import pandas as pd

    from fmident.arrays import F64


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


NAMED_BAND = Layout(keys={"name": "output"})


def read_bands(folder: Path, named: Sequence[NamedBand], command: str) -> tuple[OutputBand, ...]:
    """Return the bands in ``bands.csv`` of a folder.

    `named` are the expected outputs in order, and `command` is the one that wrote the
    folder. Raises `EstimationError` if the table is missing, incomplete or for other
    outputs.
    """
    if not named:
        return ()

    def convert(table: pd.DataFrame) -> tuple[OutputBand, ...]:
        groups = groups_of(table, "experiment", "output")
        if missing := [n for n in named if (n.experiment, n.name) not in groups]:
            first = missing[0]
            raise ValueError(f"it has no row of '{first.name}' of '{first.experiment}'")
        return tuple(_band(groups[n.experiment, n.name], n) for n in named)

    return read_table(folder / BANDS, convert, command)


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


def _load(content: Json, folder: Path) -> Prediction:
    named = CODEC.load(tuple[NamedBand, ...], content["outputs"], "outputs")
    pairs = list(zip(named, read_bands(folder, named, "predict"), strict=True))
    return dataclasses.replace(
        CODEC.load(Prediction, content),
        new=tuple(band for known, band in pairs if not known.fitted),
        fitted=tuple(band for known, band in pairs if known.fitted),
    )


def _output(band: OutputBand, *, fitted: bool) -> Json:
    return {
        "experiment": band.experiment,
        "output": band.name,
        "unit": band.unit,
        "fitted": fitted,
        "samples": band.samples,
        "inside": band.inside,
    }


CODEC = Codec(
    {
        NamedBand: NAMED_BAND,
        Prediction: noted(
            Layout(
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
        ),
    }
)


def _summary(result: Prediction) -> Summary:
    """Return the summary.

    It is doubtful if the fraction of new samples inside falls short of the level by more
    than a third of the nominal fraction outside, and bad below half the level.
    """
    share = result.inside / result.samples if result.samples else 1.0
    few = share < result.level - (1.0 - result.level)
    grade = "doubtful" if few or result.notes else "good"
    drawn = f", {result.draws} of them simulated" if result.draws else ""
    reasons = [
        f"{_SOURCES[result.source]}{drawn}.",
        "Noise of new samples: as in the residuals of the experiments that were fitted.",
    ]
    if few:
        reasons.append(
            "Fewer new samples than that lie inside: the model lacks something that the new"
            " experiments show, or their noise is larger."
        )
    if share < 0.5 * result.level:
        grade = "bad"
    effort = f"{result.simulations} simulations, {duration(result.seconds)}"
    return Summary(_headline(result), grade, reasons, result.notes, effort=effort)


def _headline(result: Prediction) -> str:
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


def _outputs(result: Prediction) -> list[Block]:
    level = percent_text(result.level)
    rows = [
        [
            f"{band.experiment}{after}",
            Cell(band.name, "code"),
            _half_width(band.mean_low, band.mean_high),
            _half_width(band.new_low, band.new_high),
            unit_text(band.unit),
            Cell(share_text(band), "value"),
        ]
        for bands, after in ((result.new, ""), (result.fitted, " (fitted)"))
        for band in bands
    ]
    about = (
        f"Half widths of the {level} bands, the median over time; the share of measured samples"
        " inside the band of new ones."
    )
    header = ["experiment", "output", "mean +-", "new +-", "unit", "inside"]
    return [Table(header, rows, "<<>><>", ["unit"]), Text(about, about=True)]


def _half_width(low: F64, high: F64) -> str:
    half = 0.5 * (high - low)
    half = half[np.isfinite(half)]
    return plain(float(np.median(half)), 3) if half.size else "n/a"


def share_text(band: OutputBand) -> str:
    """Return the fraction of samples inside the band of new ones; empty without samples."""
    return percent(band.inside / band.samples) if band.samples else ""


def band_blocks(bands: Sequence[OutputBand], level: float) -> list[Block]:
    """Return one plot per output; empty without any."""
    about = (
        "The inner band is for the mean and comes from the uncertainty of the parameters; the outer"
        " band is for new samples and includes the noise. All ends are in bands.csv."
    )
    plots = [
        Plot(
            partial(band_chart, band, percent_text(level)),
            band.name,
            band.experiment
            + (f": {share_text(band)} of {band.samples} samples inside" if band.samples else ""),
            f"bands-{number}-{band.experiment}-{band.name}",
        )
        for number, band in enumerate(bands, 1)
    ]
    return [*plots, Text(about, about=True)] if plots else []


def band_pictures(bands: Sequence[OutputBand], level: float) -> list[NamedChart]:
    """Return one figure per output, for the folder ``figures``."""
    plots = (block for block in band_blocks(bands, level) if isinstance(block, Plot))
    return [(f"{FIGURES}/{file_name(plot.file)}.svg", plot.chart) for plot in plots]


def _bands(result: Prediction) -> Sequence[OutputBand]:
    return [*result.new, *result.fitted]


PREDICTION: Contents[Prediction] = Contents(
    "Prediction", "predict", "prediction.json", "prediction.html", CODEC, _load, _summary,
    [
        Part("Outputs", _outputs, brief=True),
        Part("Bands", lambda r: band_blocks(_bands(r), r.level), rest="bands.csv has them"),
    ],
    lambda result: [f"{percent_text(result.level)} bands", result.source],
    lambda result: (),
    lambda result: {BANDS: (result.table, "%.9g")},
    lambda result: band_pictures(_bands(result), result.level),
)  # fmt: skip
