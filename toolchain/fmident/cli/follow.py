"""``fmident follow``: estimates as samples arrive."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from fmident.api.problems import load_problem, overridden
from fmident.cli.arguments import overrides_of, plugins_of
from fmident.cli.console import out, tell
from fmident.data import read_table, time_column
from fmident.data.csv import read_csv_text
from fmident.data.follow import RowReader, lines_of
from fmident.data.table import split_header
from fmident.errors import Code, DataError, EstimationError, Location, ProblemError
from fmident.estimation.checks import estimator_options
from fmident.estimation.contract import OnlineEstimate
from fmident.estimation.online import OnlineEstimator, Tracker
from fmident.evaluation import Evaluator, InProcessExecutor
from fmident.fmu import open_fmu, read_description
from fmident.fmu.processes.child import ScratchFolder
from fmident.plugins import Host
from fmident.problem import read_problem_file
from fmident.problem.model import Problem
from fmident.problem.reading.file import read_toml
from fmident.problem.reading.quantities import to_unit, with_own_units
from fmident.problem.reading.tables import ProblemTables
from fmident.toml_file import parse_toml

FIRST_ROWS = 20
"""Rows that are read before the first is used: they tell columns, units, sampling interval."""

_INTERRUPTED = 130
_NOT_LIVE = ("window", "every", "prepare", "fill_inputs")


def run(arguments: argparse.Namespace) -> int:
    """Print one CSV line per estimate until the data end or Ctrl-C.

    Return 0, 1 if no sample led to an estimate, or 130 after Ctrl-C.
    """
    host, overrides = plugins_of(arguments), overrides_of(arguments)
    piped = arguments.data == "-"
    name = "standard input" if piped else arguments.data
    content = read_problem_file(arguments.problem)
    text = overridden(content, overrides, str(arguments.problem), host)
    _refuse_not_live(text, arguments.problem)
    last: OnlineEstimate | None = None
    flag = "no data"
    tracker: Tracker | None = None
    try:
        with ExitStack() as stack:
            stream = _open(arguments.data, stack)
            lines = lines_of(stream, 0.0 if piped else arguments.patience)
            first = list(itertools.islice(lines, 1 + FIRST_ROWS))
            head = _head(first, name, stack)
            overrides["experiments.0.data"] = str(head)
            problem = load_problem(arguments.problem, host=host, overrides=overrides, report=tell)
            estimator = _online_estimator(problem, host)
            reader = _row_reader(problem, head, name)
            options = estimator_options(problem, estimator)
            fmu = stack.enter_context(open_fmu(problem.fmu))
            evaluator = stack.enter_context(Evaluator(problem, InProcessExecutor(problem, fmu)))
            tracker = estimator.start(problem, problem.experiments[0], evaluator, options)
            out(_header(problem))
            rows = itertools.chain(first[1:], lines)
            for count, (number, line) in enumerate(rows):
                estimate = tracker.update(*reader.read(line, number))
                flag = tracker.flag.name.lower()
                if estimate is not None:
                    last = estimate
                    if count % arguments.print_every == 0:
                        out(_line(estimate), now=True)
    except KeyboardInterrupt:
        tell(_closing(last, flag, tracker))
        return _INTERRUPTED
    tell(_closing(last, flag, tracker))
    return 0 if last is not None else 1


def _online_estimator(problem: Problem, host: Host) -> OnlineEstimator[Any]:
    """Return the problem's estimator; raises `EstimationError` for another kind, or for stages."""
    if problem.stages:
        raise EstimationError(
            "a problem with stages cannot follow data",
            hint="follow a problem file without [[stages]]",
        )
    estimator = host.estimators.get(problem.estimator.name)()
    if isinstance(estimator, OnlineEstimator):
        return estimator
    able = [
        name
        for name, registration in host.estimators.registrations.items()
        if issubclass(registration.item, OnlineEstimator)
    ]
    raise EstimationError(
        f"the estimator '{estimator.name}' cannot follow data",
        hint=f"those that can: {', '.join(able)}",
    )


def _open(path: str, stack: ExitStack) -> TextIO:
    if path == "-":
        return sys.stdin
    if not Path(path).is_file():
        raise DataError(
            f"there is no data file '{path}'",
            hint="check the path, or use - for a pipe",
            code=Code.UNKNOWN_NAME,
        )
    return stack.enter_context(Path(path).open(encoding="utf-8-sig", newline=""))


def _head(first: list[tuple[int, str]], name: str, stack: ExitStack) -> Path:
    """Write header and first rows to a file from which the problem is loaded."""
    if len(first) < 3:
        raise DataError(
            f"{name} ends after {len(first)} lines: a header and two rows are needed",
            hint="--patience waits longer for a file that grows",
        )
    folder = stack.enter_context(ScratchFolder("follow")).path
    head = folder / "first-rows.csv"
    head.write_text("".join(line.rstrip("\r\n") + "\n" for _, line in first), encoding="utf-8")
    return head


def _refuse_not_live(text: str, path: Path) -> None:
    experiments = parse_toml(text, path).get("experiments")
    first = experiments[0] if isinstance(experiments, list) and experiments else None
    if not isinstance(first, dict) or "data" not in first:
        raise ProblemError(
            "DATA replaces the data of the first experiment, but there is none",
            location=Location(str(path)),
            hint="add an [[experiments]] table with data, inputs and outputs",
        )
    table: Mapping[str, Any] = first
    if table.get("role") == "validation":
        raise ProblemError(
            "the first experiment, whose data DATA replaces, is for validation",
            location=Location(str(path)),
            hint="put an experiment that is fitted first",
        )
    for key in _NOT_LIVE:
        if key in table:
            raise ProblemError(
                f"'{key}' of the first experiment needs all samples at once",
                location=Location(str(path)),
                hint="remove it to follow data",
            )


def _row_reader(problem: Problem, head: Path, name: str) -> RowReader:
    tables = read_toml(problem.source or name, problem.file.text).read(ProblemTables)
    table, experiment = tables.experiments[0], problem.experiments[0]
    text = read_csv_text(head, table)
    names = [split_header(cell)[0] for cell in text.header]
    read = read_table(head, layout=table)
    if read.form is None or not read.form.is_plain or text.form.header_line != 1:
        form = "" if read.form is None else f": {read.form.text()}"
        raise DataError(
            f"{name} cannot be followed{form}",
            hint="data that are followed begin with the header, hold numbers below it, and have"
            " comma, semicolon or tab between the cells",
        )
    description = with_own_units(tables, read_description(problem.fmu))
    columns: list[tuple[str, str | None, str | None]] = [(time_column(read, table.time), None, "s")]
    for variable in experiment.inputs:
        entry = table.inputs[variable]
        wanted = entry.variable_unit or description.variable(variable).unit
        columns.append((entry.column, entry.unit, wanted))
    for m in experiment.measurements:
        if table.outputs[m.name].data is not None:
            raise ProblemError(f"output '{m.name}' comes from a file of its own")
        columns.append((m.column, table.outputs[m.name].unit, m.unit))
    factors, offsets = [], []
    for column, unit, wanted in columns:
        given = unit or read.units.get(column)
        ends = to_unit(np.array([0.0, 1.0]), given, wanted, f"column '{column}'", Location(name))
        offsets.append(float(ends[0]))
        factors.append(float(ends[1] - ends[0]))
    return RowReader(
        name,
        text.form.separator,
        len(text.header),
        np.array([names.index(column) for column, _, _ in columns], dtype=np.intp),
        np.array(factors),
        np.array(offsets),
        len(experiment.inputs),
        read.form.decimal,
    )


def _header(problem: Problem) -> str:
    cells: Iterator[str] = itertools.chain.from_iterable(
        (q.name, f"{q.name} standard error") for q in problem.free
    )
    return ",".join(["time", *cells])


def _line(estimate: OnlineEstimate) -> str:
    pairs = zip(estimate.values, estimate.standard_errors, strict=True)
    cells = (f"{value:.9g},{'' if np.isnan(error) else f'{error:.3g}'}" for value, error in pairs)
    return ",".join([f"{estimate.time:.9g}", *cells])


def _closing(last: OnlineEstimate | None, flag: str, tracker: Tracker | None) -> str:
    if last is None:
        return f"no estimate (the last sample: {flag})"
    text = f"last estimate at t = {last.time:g} s"
    note = None if tracker is None else tracker.note
    return text if note is None else f"{text}\n{note}"
