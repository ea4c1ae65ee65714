"""Read rows of a CSV file or a pipe as they arrive, in the units of an experiment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TextIO

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.data.csv import GAPS
from fmident.errors import Code, DataError, Location

_PAUSE = 0.02


@dataclass(frozen=True, eq=False)
class RowReader:
    """Converts a line of text to time, inputs and outputs.

    A line has `width` cells. `places` are the cell indices of the time, the inputs and the
    outputs, shape (1 + inputs + outputs,), and `factors` and `offsets` convert to the
    experiment's units, same shape. If `decimal` is ``None``, a comma is also accepted as
    the decimal sign unless it separates cells.
    """

    name: str
    separator: str
    width: int
    places: npt.NDArray[np.intp]
    factors: F64
    offsets: F64
    inputs: int
    decimal: str | None = None

    @property
    def _comma(self) -> bool:
        return self.separator != "," if self.decimal is None else self.decimal == ","

    def read(self, line: str, number: int) -> tuple[float, F64, F64]:
        """Return time, inputs and outputs; NaN for gaps.

        Raises `DataError` for too few cells, a cell that is not a number, or a missing time.
        """
        cells = line.rstrip("\r\n").split(self.separator)
        where = Location(self.name, number)
        if len(cells) < self.width:
            raise DataError(
                f"the row has {len(cells)} cells, the header has {self.width}", location=where
            )
        values = np.array([_number(cells[k], where, self._comma) for k in self.places])
        values = values * self.factors + self.offsets
        if not np.isfinite(values[0]):
            raise DataError("the time is missing", location=where)
        split = 1 + self.inputs
        return float(values[0]), values[1:split], values[split:]


def lines_of(
    stream: TextIO,
    patience: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[tuple[int, str]]:
    """Yield line numbers and complete lines, without comments and empty lines.

    The stream is a file that may still be written to, or a pipe, which ends when its writer
    does. At the end of a file more data are awaited for `patience` seconds. Raises
    `DataError` if the data are not text.
    """
    number, rest = 0, ""
    last = clock()
    while True:
        try:
            piece = stream.readline()
        except UnicodeDecodeError as error:
            raise DataError(
                f"byte 0x{error.object[error.start]:02x} behind line {number} is not UTF-8",
                hint="follow CSV in UTF-8",
                code=Code.UNUSABLE_FILE,
            ) from None
        if not piece:
            if clock() - last >= patience:
                break
            sleep(_PAUSE)
            continue
        last = clock()
        rest += piece
        if not rest.endswith("\n"):
            continue  # the writer is in the middle of a line
        number += 1
        line, rest = rest, ""
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line
    if rest.strip() and not rest.lstrip().startswith("#"):
        yield number + 1, rest


def _number(cell: str, where: Location, comma: bool) -> float:
    text = cell.strip().strip('"')
    if text.lower() in GAPS:
        return float("nan")
    if comma:
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        raise DataError(f"'{cell.strip()}' is not a number", location=where) from None
