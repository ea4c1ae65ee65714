"""``fmident data``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fmident.api.proposals import read_data
from fmident.cli.arguments import assignments, plugins_of, write_json
from fmident.cli.console import out, width
from fmident.cli.usage import UsageError
from fmident.data import Table, time_column
from fmident.data.description import ColumnDescription, DataDescription, TimeDescription
from fmident.errors import ProblemError
from fmident.fmu import ModelDescription, read_description
from fmident.problem.proposal import signal_tables
from fmident.report.terminal import narrow_table
from fmident.toml_file import encoded
from fmident.toml_file.overrides import read_value
from fmident.words import counted, duration, listed, plain, wrap

_MOST_PAUSES = 3


def run(arguments: argparse.Namespace) -> int:
    """Print the contents of the file."""
    host = plugins_of(arguments)
    spec = {key: read_value(value) for key, value in assignments(arguments.set, "--set").items()}
    try:
        table, description = read_data(
            arguments.file,
            spec if arguments.time is None else spec | {"time": arguments.time},
            host=host,
        )
    except ProblemError as error:
        raise UsageError(error.message, hint=error.hint, code=error.code) from None
    column = description.time.column
    fmu = None if arguments.fmu is None else read_description(arguments.fmu)
    out(_page(description))
    out()
    keys = dict(spec)
    if column != time_column(table):
        keys["time"] = column
    out(_suggestion(arguments.file, keys, table, column, fmu))
    write_json(arguments.json, description.to_dict())
    return 0


def _page(found: DataDescription) -> str:
    lines = [f"{found.file}: {found.rows} rows, {len(found.columns) + 1} columns"]
    if found.form is not None:
        lines.append(wrap(f"read with {found.form}", width()))
    lines += [wrap(text, width()) for text in _time_text(found.time)]
    header = ["column", "unit", "samples", "gaps", "smallest", "largest", "mean", "course"]
    rows = [_row(c) for c in found.columns]
    align: Sequence[str] = ["<", "<", ">", ">", ">", ">", ">", "<"]
    lines += ["", narrow_table(header, rows, align, width(), ["mean"])]
    lost = [
        f"'{c.name}': {count} {'is' if count == 1 else 'are'} {what}, first in {first}"
        for c in found.columns
        for what, count, first in (
            ("missing", c.missing, c.first_missing),
            ("infinite", c.infinite, c.first_infinite),
        )
        if count
    ]
    if lost:
        lines += ["", *(wrap(text, width()) for text in lost)]
    return "\n".join(lines)


def _row(column: ColumnDescription) -> list[str]:
    if column.problem is not None:
        return [column.name, column.unit or "", "", "", "", "", "", column.problem]
    numbers = [plain(x) for x in (column.smallest, column.largest, column.mean)]
    course = "constant" if column.smallest == column.largest else _shown(column.spark)
    counts = [str(column.samples), str(column.missing or "")]
    return [column.name, column.unit or "", *counts, *numbers, course]


def _shown(spark: str) -> str:
    """Return a sparkline, in digits if the output does not support block characters."""
    try:
        spark.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return "".join("." if c == " " else str(ord(c) - ord("▁") + 1) for c in spark)
    return spark


def _time_text(time: TimeDescription) -> list[str]:
    since = "" if time.since is None else f" since {time.since}"
    texts = [
        f"time '{time.column}': {plain(time.start)} to {plain(time.stop)} s{since}, "
        f"{duration(time.stop - time.start)}"
    ]
    rate = f"{plain(1.0 / time.step, 4)} Hz, a sample every {duration(time.step)}"
    if time.even:
        texts.append(f"sampled at {rate}")
    else:
        texts.append(
            f"sampled unevenly: mostly at {rate}; steps of {duration(time.shortest)} to"
            f" {duration(time.longest)}"
        )
    if time.pauses:
        pauses = [f"{duration(d)} after t = {plain(t)} s" for t, d in time.pauses]
        texts.append(f"{counted(len(pauses), 'pause')}: {listed(pauses, _MOST_PAUSES)}")
    return texts


def _suggestion(
    path: Path,
    keys: dict[str, object],
    table: Table,
    time: str,
    description: ModelDescription | None,
) -> str:
    """Return a draft of the problem file's table; uncertain parts are comments."""
    lines = ["[[experiments]]", f"data = {encoded(path.as_posix())}"]
    lines += [f"{key} = {encoded(value)}" for key, value in keys.items()]
    columns = {n: table.units.get(n) for n in table.names if n != time and n not in table.errors}
    return "\n".join([*lines, "", *signal_tables(description, columns)])
