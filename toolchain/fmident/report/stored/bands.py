"""``bands.csv``: outputs with their bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fmident._json import JsonTable
from fmident.prediction import OutputBand
from fmident.report.stored.tables import column, whole_table

if TYPE_CHECKING:
    import pandas as pd

FILE_NAME = "bands.csv"
_COLUMNS = ("measured", "predicted", "mean_low", "mean_high", "new_low", "new_high", "noise")


@dataclass(frozen=True)
class NamedBand:
    """What the JSON file of a folder says of an output with bands.

    Parameters
    ----------
    experiment, name
        Of the output.
    samples
        That there is a band of.
    fitted
        Whether its experiment was fitted.
    """

    experiment: str
    name: str
    samples: int
    fitted: bool = True

    @classmethod
    def of(cls, stored: JsonTable) -> NamedBand:
        """Return what is stored."""
        return cls(
            stored.text("experiment"),
            stored.text("output"),
            stored.count("samples"),
            stored.flag("fitted", True),
        )


def read_bands(folder: Path, named: Sequence[NamedBand], command: str) -> tuple[OutputBand, ...]:
    """Return the bands of a folder.

    Parameters
    ----------
    folder
        With ``bands.csv``.
    named
        The outputs that are to be there, in their order.
    command
        That wrote the folder.

    Raises
    ------
    fmident.errors.EstimationError
        The table is missing, is not whole or is not that of these outputs.
    """
    if not named:
        return ()

    def convert(table: pd.DataFrame) -> tuple[OutputBand, ...]:
        groups = dict(iter(table.groupby(["experiment", "output"], sort=False)))
        if missing := [n for n in named if (n.experiment, n.name) not in groups]:
            first = missing[0]
            raise ValueError(f"it has no row of '{first.name}' of '{first.experiment}'")
        return tuple(_band(groups[n.experiment, n.name], n) for n in named)

    return whole_table(folder / FILE_NAME, convert, command)


def _band(rows: pd.DataFrame, named: NamedBand) -> OutputBand:
    units = set(rows["unit"])
    if len(units) != 1:
        raise ValueError(f"the rows of '{named.name}' have several units")
    found = OutputBand(
        named.experiment,
        named.name,
        units.pop() or None,
        column(rows, "time"),
        **{name: column(rows, name) for name in _COLUMNS},
    )
    if found.samples != named.samples:
        raise ValueError(
            f"it has {found.samples} samples of '{named.name}', not {named.samples} as the result"
        )
    return found
