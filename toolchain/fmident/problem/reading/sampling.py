"""Data tables of an experiment on a common time grid, and their preprocessing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.data import Layout, Reader, Table, merge, read_table, time_axis, time_column
from fmident.data.csv import SEPARATORS
from fmident.data.outliers import Hampel
from fmident.data.prepare import Automatic, Edges, LowPass, Preparation, prepare
from fmident.data.stamps import DateOrder
from fmident.data.time import tolerance_of
from fmident.errors import DataError, Diagnostic, ProblemError
from fmident.toml_file import Section

LAYOUT_KEYS = ("separator", "decimal", "encoding", "skip_rows", "units_row", "dates")
"""Keys of an experiment, and of an output with a file of its own."""


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


def read_sampled(section: Section, path: Path, reader: Reader | None, time: str | None) -> Sampled:
    """Read a data file and apply ``window`` and ``every`` of the experiment.

    `reader` has the data formats of plugins, and `time` is the time column if the user
    named it.
    """
    table = read_table(path, section.as_dict(), reader=reader, layout=read_layout(section))
    column = time_column(table, time)
    times = time_axis(table, column)
    table, notes = prepared(section, table, times)  # before the cut, whose ends it would see
    rows = np.arange(times.size, dtype=np.int64)
    window = section.pair("window")
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
    every = section.raw("every", 1)
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise section.wrong("every", every, "a whole number of at least 1")
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
            error.location = section.source.where((*section.keys, *keys))
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
        self._layouts: dict[Path, Layout] = {}
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

    def file(self, output: Section, path: Path | None) -> Sampled:
        """Return the table of an output, merged into the grid.

        `output` is its table of the problem file; `path` ``None`` means the experiment's file.
        """
        layout = read_layout(output)
        if path is None:
            if layout.given:
                raise output.error(
                    f"'{layout.given[0]}' is said of an output without a file of its own",
                    layout.given[0],
                    hint=f"write '{layout.given[0]}' in [[experiments]], beside 'data'",
                )
            return self._files[None]
        if path in self._files and layout != self._layouts[path] and layout.given:
            raise output.error(
                f"another output reads '{path}' in another way",
                layout.given[0],
                hint="give all outputs from this file the same keys",
            )
        if path not in self._files:
            self._layouts[path] = layout
            with data_named_at(output):
                table = read_table(self._base / path, reader=self._reader, layout=layout)
            column = time_column(table)
            times = time_axis(table, column) + self._shift(output, table, column)
            main = self._files[None].times
            slack = min(tolerance_of(main), tolerance_of(times))
            rows = np.flatnonzero((times >= main[0] - slack) & (times <= main[-1] + slack))
            if rows.size == 0:
                raise output.error(
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


def prepared(experiment: Section, table: Table, times: F64) -> tuple[Table, tuple[Diagnostic, ...]]:
    """Return an experiment's table after preprocessing, and warnings.

    `table` is the data as read, with the time axis `times`, s, shape (n,). Raises
    `ProblemError`, with the line, for wrong keys or a step that the data do not allow.
    """
    if not experiment.has("prepare"):
        return table, ()
    section = experiment.table("prepare")
    try:
        return prepare(table, times, read_preparation(section))
    except DataError as error:
        raise section.at_key(error) from error


def read_preparation(section: Section) -> Preparation:
    """Read the table ``[experiments.prepare]``.

    Its keys are ``columns`` with either ``cutoff`` (a number or ``"auto"``, and ``order``)
    or ``passband`` and ``stopband`` (and ``ripple``, ``attenuation``); ``padding``;
    ``derivatives``; ``hampel`` (columns, or a table with ``columns``, ``window`` or
    ``samples``, ``threshold``, ``replace``); ``exclude``. Raises `ProblemError` for
    unknown, missing or conflicting keys and `DataError` for values out of range.
    """
    columns = section.words("columns") or ()
    derivatives = section.table("derivatives", {})
    pairs = {new: derivatives.text(new) for new, _ in derivatives.items()}
    padding = _whole(section, "padding", None)
    by_edges = section.has("passband") or section.has("stopband")
    by_cutoff = section.has("cutoff")
    if by_edges and by_cutoff:
        raise section.error(
            f"{section.title} has both 'cutoff' and the edges of pass and stop band",
            "cutoff",
            hint="give one of them",
        )
    design: LowPass | Edges | Automatic | None = None
    if by_edges:
        design = Edges(
            section.number("passband"),
            section.number("stopband"),
            section.number("ripple", Edges.ripple),
            section.number("attenuation", Edges.attenuation),
        )
    elif by_cutoff:
        order = _whole(section, "order", LowPass.order)
        automatic = section.raw("cutoff") == "auto"
        design = (
            Automatic(order or LowPass.order, padding)
            if automatic
            else LowPass(section.number("cutoff"), order or LowPass.order, padding)
        )
    if bool(columns) != (design is not None):
        raise section.error(
            f"{section.title} has a filter but no 'columns' to apply it to"
            if design is not None
            else f"{section.title} has 'columns' to filter but no filter",
            hint="give 'columns' and 'cutoff' (Hz), or 'columns', 'passband' and 'stopband'",
        )
    hampel = _hampel(section)
    excludes = section.has("exclude")  # which samples is found out when all signals are known
    if not columns and not pairs and hampel is None and not excludes:
        raise section.error(
            f"{section.title} does nothing",
            hint="give 'columns' and 'cutoff', 'derivatives', 'hampel' or 'exclude'",
        )
    section.finish()
    return Preparation(columns, design, pairs, padding, hampel)


def _hampel(section: Section) -> Hampel | None:
    """Read ``hampel``: column names, or a table with them."""
    if not section.has("hampel"):
        return None
    given = section.raw("hampel")
    if not isinstance(given, dict):
        names = section.words("hampel")
        return Hampel(names or ())
    inner = section.table("hampel")
    inner.raw("columns")
    if inner.has("window") and inner.has("samples"):
        raise inner.error(
            f"{inner.title} has both 'window' (s) and 'samples'", "samples", hint="give one of them"
        )
    samples = _whole(inner, "samples", Hampel.samples)
    replace = inner.flag("replace", Hampel.replace)
    hampel = Hampel(
        inner.words("columns") or (),
        inner.number("window", None),
        Hampel.samples if samples is None else samples,
        inner.number("threshold", Hampel.threshold),
        replace,
    )
    inner.finish()
    return hampel


def _whole(section: Section, key: str, default: int | None) -> int | None:
    if not section.has(key):
        return default
    value = section.raw(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise section.wrong(key, value, "a whole number")
    return int(value)


def read_layout(section: Section) -> Layout:
    """Return the layout given by the table of an experiment or output.

    Raises `ProblemError`, with the line, for an invalid value.
    """
    separator = section.choice("separator", SEPARATORS, None)
    decimal = section.choice("decimal", (".", ","), None)
    if separator == "," and decimal == ",":
        raise section.error(
            "'separator' and 'decimal' are both a comma",
            "decimal",
            hint="only cells in quotation marks could hold such a number; save the file with"
            " semicolons",
        )
    return Layout(
        separator,
        decimal,
        section.text("encoding", None),
        _count_of_lines(section, "skip_rows"),
        _count_of_lines(section, "units_row"),
        section.choice("dates", get_args(DateOrder), None),
    )


def _count_of_lines(section: Section, key: str) -> int | None:
    value = section.raw(key, None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise section.wrong(key, value, "a whole number of lines")
    return int(value)
