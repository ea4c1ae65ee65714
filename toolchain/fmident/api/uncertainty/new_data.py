"""The problem of a result folder, with new data as further experiments for validation."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.data.experiment import Experiment
from fmident.errors import Code, EstimationError, ProblemError, did_you_mean

if TYPE_CHECKING:
    from fmident.api.wiring import Report
    from fmident.plugins import Host
    from fmident.problem.model import Problem

PROBLEM = "problem.toml"
"""Of a result folder: the problem as it was run."""

_LEFT_OUT = ("name", "data", "window", "role")
"""Keys of an experiment that new data do not take over."""


def problem_with(
    place: Path,
    files: Sequence[Path],
    like: str | None,
    overrides: Mapping[str, object] | None,
    host: Host,
    report: Report,
) -> Problem:
    """Return the problem of a result folder, with an experiment for validation for each file.

    Parameters
    ----------
    place
        The result folder.
    files
        Data with the columns of an experiment of the problem; outputs that have no column were not
        measured.
    like
        Name of that experiment; the first one by default.
    overrides, host, report
        As of :func:`fmident.load_problem`.

    Raises
    ------
    fmident.errors.FmidentError
        There is no problem or no such experiment; a file cannot be read or lacks an input.
    """
    from fmident.api.problems import load_problem
    from fmident.problem import read_problem_file
    from fmident.toml_file import encoded, parse_toml

    path = place / PROBLEM
    if not path.is_file():
        raise EstimationError(
            f"'{place}' has no {PROBLEM}, which says what was estimated",
            hint="predict from a folder that 'fmident estimate' wrote for a problem file",
            code=Code.UNKNOWN_NAME,
        )
    before = text = read_problem_file(path)
    if not files:
        if like is not None:
            raise ProblemError(
                "--like says which experiment new data are like: give them with --data"
            )
        return load_problem(path, host=host, overrides=overrides, report=report)
    tables = [dict(t) for t in parse_toml(text, path)["experiments"]]
    names = [str(t.get("name", Path(str(t.get("data", ""))).stem)) for t in tables]
    if like is not None and like not in names:
        raise ProblemError(
            f"there is no experiment '{like}'",
            hint=did_you_mean(like, names, kind="experiment"),
            code=Code.UNKNOWN_NAME,
        )
    model = tables[0 if like is None else names.index(like)]
    missing: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for number, file in enumerate(files):
            name = _unused(file.stem, names)
            names.append(name)
            table, missing[name] = _table(model, file, name, Path(scratch) / f"{number}.csv", host)
            lines = "\n".join(f"{encoded(k)} = {encoded(v)}" for k, v in table.items())
            text = f"{text.rstrip()}\n\n[[experiments]]\n{lines}\n"
        found = load_problem(path, host=host, overrides=overrides, report=report, text=text)
    if not any(missing.values()):
        return found
    # The text names files that are gone.
    return dataclasses.replace(
        found,
        text=before,
        validation=tuple(_not_measured(e, missing.get(e.name, set())) for e in found.validation),
    )


def _unused(name: str, names: Sequence[str]) -> str:
    while name in names:
        name += "'"
    return name


def _table(
    model: Mapping[str, Any], file: Path, name: str, scratch: Path, host: Host
) -> tuple[dict[str, Any], set[str]]:
    """Return the experiment of a data file as a problem file would have it.

    Returns
    -------
    table
        Its keys. Where outputs were not measured, its data are in `scratch`, with zeros for these.
    missing
        Columns of outputs that were not measured.
    """
    from fmident.data import csv_of, read_table
    from fmident.problem.reading.layouts import LAYOUT_KEYS, read_layout
    from fmident.toml_file import Section, Source

    wanted = _output_columns(model)
    table = {k: v for k, v in model.items() if k not in _LEFT_OUT}
    table = {"name": name, "data": str(file.resolve()), "role": "validation", **table}
    section = Section(Source(file, ""), (), model)
    data = read_table(file, dict(model), reader=host.read_data, layout=read_layout(section))
    measured = {n for n, v in data.columns.items() if bool(np.isfinite(v).any())}
    missing = {c for c in wanted if c not in measured and c not in data.errors}
    if not missing:
        return table, missing
    columns = {n: v for n, v in data.columns.items() if n not in missing}
    columns |= {c: np.zeros(data.rows) for c in sorted(missing)}
    units = {**data.units, **{c: None for c in missing if c not in data.units}}
    scratch.write_bytes(csv_of(dataclasses.replace(data, columns=columns, units=units)))
    table = {k: v for k, v in table.items() if k not in LAYOUT_KEYS}
    return {**table, "data": str(scratch)}, missing


def _output_columns(model: Mapping[str, Any]) -> set[str]:
    """Return the columns of the outputs of an experiment.

    Raises
    ------
    fmident.errors.ProblemError
        An output has a data file of its own.
    """
    found, outputs = set(), model.get("outputs", {})
    for output, given in outputs.items() if isinstance(outputs, Mapping) else ():
        if isinstance(given, Mapping) and "data" in given:
            raise ProblemError(
                f"the output '{output}' has a data file of its own, so that one new file does not"
                " say what it was",
                hint='write the new experiment into the problem file, with role = "validation"',
                code=Code.NOT_SUPPORTED,
            )
        found.add(str(given["column"]) if isinstance(given, Mapping) else str(given))
    return found


def _not_measured(experiment: Experiment, columns: set[str]) -> Experiment:
    """Return the experiment without samples of outputs that were not measured."""
    measurements = tuple(
        dataclasses.replace(m, values=np.full(m.values.shape, np.nan), exclusions=())
        if m.column in columns
        else m
        for m in experiment.measurements
    )
    return dataclasses.replace(experiment, measurements=measurements)
