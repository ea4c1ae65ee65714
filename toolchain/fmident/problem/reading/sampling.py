"""Data tables of an experiment on a common time grid, and their preprocessing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.data import CsvOptions, Reader, Table, merge, read_table, time_axis, time_column
from fmident.data.prepare import Automatic, Edges, LowPass, Preparation, prepare
from fmident.data.time import tolerance_of
from fmident.errors import Code, DataError, Diagnostic, ProblemError
from fmident.problem.reading.tables import ExperimentTable, OutputTable, PrepareTable
from fmident.toml_file import Section


@dataclass(frozen=True)
class Sampled:
    """A table with its time axis, cut to the window.

    `table` is the whole file, `times` are the instants of the rows in use, s, and `rows`
    their indices, shape (n,). `notes` are from the preprocessing.
    """

    table: Table
    times: F64
    rows: npt.NDArray[np.int64]
    notes: tuple[Diagnostic, ...] = ()
    time_column: str = ""

    def values(self, column: str) -> F64:
        """Return a column at the rows in use, shape (n,)."""
        return self.table.column(column)[self.rows]

    def refuse_infinite(self, column: str, values: F64) -> None:
        """Raise `ProblemError` at the first infinite value of a column in the rows in use."""
        infinite = np.flatnonzero(np.isinf(values))
        if infinite.size:
            row = int(self.rows[infinite[0]])
            more = f", as are {infinite.size - 1} more values" if infinite.size > 1 else ""
            raise ProblemError(
                f"column '{column}' is infinite{self.table.in_row(row)}{more}",
                location=self.table.where(row),
                hint="empty cells and NaN are missing samples; 'window' leaves a part out",
            )

    def missing(self, what: str, column: str, values: F64, outliers: F64 | None = None) -> str:
        """Describe how many values of a column are missing, and where; empty if none.

        `what` names the kind of values, and `values` are those at the rows in use, shape (n,).
        `outliers`, shape (n,), has the values removed by a filter, which do not count as
        missing, and NaN elsewhere.
        """
        absent = np.isnan(values)
        if outliers is not None:
            absent &= np.isnan(outliers)
        if not absent.any():
            return ""
        row = int(self.rows[np.argmax(absent)])
        line = self.table.where(row).line
        first = f" in row {row + 1}" if line is None else f" in line {line}"
        return (
            f"{np.count_nonzero(absent)} of {absent.size} {what} are missing (column '{column}' of"
            f" '{self.table.path}', first{first})"
        )

    def outliers(self, column: str) -> F64:
        """Return the outliers removed by a filter in the rows in use, NaN elsewhere, shape (n,)."""
        values = np.full(self.table.rows, np.nan)
        if column in self.table.outliers:
            outliers = self.table.outliers[column]
            values[outliers.rows] = outliers.values
        return values[self.rows]


def read_sampled(
    experiment: ExperimentTable, path: Path, reader: Reader | None, table: Table | None = None
) -> Sampled:
    """Read the data file of an experiment and apply ``prepare``, ``window`` and ``every``.

    `reader` has the data formats of plugins. `table` is the file if it has been read already.
    """
    section, window, every = experiment.section, experiment.window, experiment.every
    with data_named_at(section, "data"):
        if table is None:
            table = read_table(path, dict(section.content), reader=reader, layout=experiment)
        column = time_column(table, experiment.time)
        times = time_axis(table, column)
        table, notes = prepared(experiment, table, times)  # before the cut, whose ends it would see
    rows = np.arange(times.size, dtype=np.int64)
    if window is not None:
        if not window[0] < window[1]:
            raise section.error("'window' must be [start, stop] with start < stop", "window")
        slack = tolerance_of(times)  # 0.1 + 0.2 lies in a window that ends at 0.3
        rows = rows[(times >= window[0] - slack) & (times <= window[1] + slack)]
        if rows.size < 2:
            raise section.error(
                f"the window [{window[0]:g}, {window[1]:g}] s holds {rows.size} rows;"
                f" the data run from {times[0]:g} to {times[-1]:g} s",
                "window",
            )
    rows = rows[::every]
    if rows.size < 2:
        raise section.error(f"with every = {every}, fewer than two rows are left", "every")
    return Sampled(table, times[rows], rows, (*table.notes, *notes), column)


@contextmanager
def data_named_at(section: Section, *keys: str) -> Iterator[None]:
    """Let an error about a whole data file point to the key that names it."""
    try:
        yield
    except DataError as error:
        if error.location is None:
            error.location = section.where(*keys)
        raise


class Grid:
    """The time grid of an experiment: the instants of its data file and those of its outputs.

    `base` is the folder to which paths are relative, and `reader` has the data formats of
    plugins.
    """

    def __init__(self, main: Sampled, base: Path, reader: Reader | None) -> None:
        self.times = main.times
        self._base = base
        self._reader = reader
        self._files: dict[Path | None, Sampled] = {None: main}
        self._layouts: dict[Path, CsvOptions] = {}
        # Each file's instants as they are in `times`, to the bit.
        self._stamps: dict[Path | None, F64] = {None: main.times}

    @property
    def main(self) -> Sampled:
        """The experiment's data file."""
        return self._files[None]

    @property
    def notes(self) -> tuple[Diagnostic, ...]:
        """Notes from reading the other files."""
        return tuple(n for path, s in self._files.items() if path is not None for n in s.notes)

    def file(self, output: OutputTable) -> Sampled:
        """Return the table of an output, merged into the grid."""
        layout, section = output.alone, output.section
        if output.data is None:
            if layout.given:
                raise section.error(
                    f"'{layout.given[0]}' does not apply to an output without a file of its own",
                    layout.given[0],
                    hint=f"write '{layout.given[0]}' in [[experiments]], beside 'data'",
                )
            return self._files[None]
        path = Path(output.data)
        if path in self._files and layout != self._layouts[path] and layout.given:
            raise section.error(
                f"another output reads '{path}' in another way",
                layout.given[0],
                hint="give all outputs from this file the same keys",
            )
        if path not in self._files:
            self._layouts[path] = layout
            with data_named_at(section):
                table = read_table(self._base / path, reader=self._reader, layout=layout)
            column = time_column(table)
            times = time_axis(table, column) + self._shift(section, table, column)
            main = self._files[None].times
            slack = min(tolerance_of(main), tolerance_of(times))
            rows = np.flatnonzero((times >= main[0] - slack) & (times <= main[-1] + slack))
            if rows.size == 0:
                raise section.error(
                    f"the times of '{path}' ({times[0]:g} to {times[-1]:g} s) do not overlap with"
                    f" those of the inputs ({main[0]:g} to {main[-1]:g} s)"
                )
            self._files[path] = Sampled(table, times[rows], rows.astype(np.int64), table.notes)
            self.times, _, places = merge(self.times, times[rows])
            self._stamps[path] = self.times[places]
        return self._files[path]

    def _shift(self, output: Section, table: Table, column: str) -> float:
        """Return the offset that aligns the times of another file with those of the main file."""
        main = self._files[None]
        first, second = main.table.origins.get(main.time_column), table.origins.get(column)
        if first is None and second is None:
            return 0.0
        if first is None or second is None or first.kind != second.kind:
            stamped = table.path if first is None else main.table.path
            raise output.error(
                f"'{stamped}' has time stamps that '{main.table.path}' and '{table.path}' do not"
                " share: which instants are the same cannot be known",
                hint="write the times of both files alike",
            )
        if first.zoned != second.zoned:
            raise output.error(
                f"only one of '{main.table.path}' and '{table.path}' has a time zone",
                hint="write the time zone in both files, or in none",
            )
        return (second.nanoseconds - first.nanoseconds) / 1e9

    def on_grid(self, path: Path | None, values: F64) -> F64:
        """Return values of a file's rows at the instants of the grid; NaN elsewhere."""
        full = np.full(self.times.size, np.nan)
        full[np.searchsorted(self.times, self._stamps[path])] = values
        return full


def prepared(
    experiment: ExperimentTable, table: Table, times: F64
) -> tuple[Table, tuple[Diagnostic, ...]]:
    """Return an experiment's table after preprocessing, and warnings.

    `table` is the data as read, with the time axis `times`, s, shape (n,). Raises
    `ProblemError`, with the line, for keys or a step that the data do not allow.
    """
    if experiment.prepare is None:
        return table, ()
    try:
        return prepare(table, times, preparation(experiment.prepare))
    except DataError as error:
        raise experiment.prepare.section.at_key(error) from error


def preparation(table: PrepareTable) -> Preparation:
    """Return the preprocessing that ``[experiments.prepare]`` asks for.

    Raises `ProblemError` for missing or conflicting keys and `DataError` for values out of
    range.
    """
    section = table.section
    by_edges = section.has("passband") or section.has("stopband")
    for one, other, both in (
        ("cutoff", "stopband", table.cutoff is not None and by_edges),
        ("samples", "window", {"samples", "window"} <= section.inner("hampel").content.keys()),
    ):
        if both:
            inner = section if one == "cutoff" else section.inner("hampel")
            message = f"{inner.title} has both '{one}' and '{other}'"
            raise inner.error(message, one, hint="give one of them")
    design: LowPass | Edges | Automatic | None = None
    if by_edges:
        if table.passband is None or table.stopband is None:
            key = "passband" if table.passband is None else "stopband"
            raise section.error(f"{section.title} needs the key '{key}'", code=Code.MISSING_KEY)
        design = Edges(table.passband, table.stopband, table.ripple, table.attenuation)
    elif table.cutoff == "auto":
        design = Automatic(table.order, table.padding)
    elif table.cutoff is not None:
        design = LowPass(table.cutoff, table.order, table.padding)
    if bool(table.columns) != (design is not None):
        raise section.error(
            f"{section.title} has a filter but no 'columns' to apply it to"
            if design is not None
            else f"{section.title} has 'columns' to filter but no filter",
            hint="give 'columns' and 'cutoff' (Hz), or 'columns', 'passband' and 'stopband'",
        )
    if not (table.columns or table.derivatives or table.hampel or section.has("exclude")):
        raise section.error(
            f"{section.title} does nothing",
            hint="give 'columns' and 'cutoff', 'derivatives', 'hampel' or 'exclude'",
        )
    return Preparation(table.columns, design, table.derivatives, table.padding, table.hampel)
