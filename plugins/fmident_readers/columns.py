"""Common parts of the readers: library errors, and tables made of signals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fmident.arrays import F64
from fmident.data.time import TIME_NAMES
from fmident.errors import Code, DataError, FmidentError, Location, advice_on

_SHOWN = 5


@contextmanager
def library(name: str, path: Path) -> Iterator[None]:
    """Turn errors in a library, or its absence, into a `DataError` that names the file."""
    try:
        yield
    except FmidentError:
        raise
    except ModuleNotFoundError as error:
        missing = error.name or name
        raise DataError(
            f"'{path.suffix}' files are read with {missing}, which is not installed",
            location=Location(str(path)),
            hint='pip install "fmident[readers]"',
            code=Code.NOT_INSTALLED,
        ) from error
    # Damaged files end in exceptions of any kind, inside libraries of others.
    except Exception as error:
        if advice_on(error):
            raise
        raise DataError(
            f"the file cannot be read: {type(error).__name__}: {error}",
            location=Location(str(path)),
            hint="is it damaged, or of another format than its name says?",
            code=Code.UNUSABLE_FILE,
        ) from error


def titled(name: str, unit: object) -> str:
    """Return the title of a column: its name, with the unit in brackets if there is one."""
    text = str(unit).strip() if unit is not None else ""
    return f"{name} [{text}]" if text else name


@dataclass(frozen=True, eq=False)
class Signal:
    """A signal with its own increasing time axis, s; the title is name and unit."""

    title: str
    times: F64
    values: F64

    @classmethod
    def of(cls, title: str, times: Any, values: Any) -> Signal:
        """Return a signal of numbers of any type."""
        return cls(title, np.asarray(times, dtype=np.float64), values.astype(np.float64))


def is_numeric(values: Any) -> bool:
    """Return whether an array holds numbers."""
    return values.dtype.kind in "iufb" and values.size > 0


def on_one_axis(path: Path, signals: list[Signal]) -> pd.DataFrame:
    """Return signals as one table, without interpolation.

    There is one row for each instant of any signal, with gaps where a signal has none.
    """
    if not signals:
        raise nothing(path)
    titles, place = [s.title for s in signals], Location(str(path))
    for title in titles:
        if titles.count(title) > 1:
            raise DataError(f"two signals are called '{title}'", location=place)
    columns = {s.title: pd.Series(s.values, index=s.times) for s in signals}
    for title, column in columns.items():
        if not column.index.is_unique:
            raise DataError(f"'{title}' has two samples at one instant", location=place)
    frame = pd.concat(columns, axis=1).sort_index()
    return frame.rename_axis("time [s]").reset_index()


def of_equal_length(path: Path, arrays: Mapping[str, F64]) -> pd.DataFrame:
    """Return arrays as a table: those that have as many rows as the time.

    `arrays` maps titles to values, shape (n,) or (n, m), with one table column per array
    column. Raises `DataError` if lengths differ and none of the arrays is called time.
    """
    if not arrays:
        raise nothing(path)
    clock = [a for title, a in arrays.items() if _is_time(title)]
    lengths = {len(a) for a in (clock or arrays.values())}
    if len(lengths) > 1:
        some = ", ".join(f"'{t}' {len(a)}" for t, a in list(arrays.items())[:_SHOWN])
        raise DataError(
            f"the signals differ in length ({some}), and "
            + ("several are called time" if clock else "none is called time"),
            location=Location(str(path)),
            hint="write one 'time' and the signals that belong to it into a file",
        )
    rows = lengths.pop()
    columns: dict[str, F64] = {}
    for title, values in arrays.items():
        if len(values) != rows:
            continue
        if values.ndim == 1:
            columns[title] = values
            continue
        name, space, unit = title.partition(" [")
        for k in range(values.shape[1]):
            columns[f"{name}[{k + 1}]{space}{unit}"] = values[:, k]
    return pd.DataFrame(columns)


def _is_time(title: str) -> bool:
    name = title.partition(" [")[0]
    return name.casefold().rsplit(".", 1)[-1] in TIME_NAMES


def nothing(path: Path) -> DataError:
    """Return the error for a file without signals."""
    return DataError(
        "the file holds no signals of numbers",
        location=Location(str(path)),
        hint="texts, tables of structures and objects of MATLAB are not read",
    )
