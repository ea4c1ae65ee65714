"""What the estimator will use of the data: columns as they are, and as fmident takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fmident import FmidentError
from fmident.data import Experiment, Measurement, Reader, Table, time_axis
from fmident.fmu import read_description
from fmident.problem import experiment_from_file, measured_output
from fmident.units import compatible, convert, unit_or_none
from fmident.words import plain
from fmident_app.curves import F64, Line

COURSES = {
    "hold": "held between samples",
    "linear": "linear between samples",
    "mean": "held at means between samples",
}


@dataclass(frozen=True, eq=False)
class Preview:
    """A signal: its lines, and what is to be said of them."""

    lines: tuple[Line, ...] = ()
    words: str = ""


@dataclass(frozen=True, eq=False)
class Previews:
    """The signals of an experiment, by kind and name; the `error` says why one is not used."""

    signals: Mapping[tuple[str, str], Preview]
    error: str = ""


def signal_settings(table: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the inputs and outputs of an experiment as tables, by kind and name."""
    return {
        (kind, name): dict(given) if isinstance(given, Mapping) else {"column": given}
        for kind in ("inputs", "outputs")
        for name, given in table.get(kind, {}).items()
    }


@dataclass(frozen=True, eq=False)
class Question:
    """An experiment of a problem file, to be previewed in another thread.

    `data` is its file as read, with the time column `time`; `fmu` is ``None`` if there is none.
    """

    path: Path
    text: str
    number: int
    settings: Mapping[tuple[str, str], Mapping[str, Any]]
    data: Table
    time: str
    fmu: Path | None
    reader: Reader

    def answer(self) -> Previews:
        """Return the previews."""
        times = time_axis(self.data, self.time)
        units = self._units()
        raw = {
            key: self._raw(settings, times, units.get(key))
            for key, settings in self.settings.items()
        }
        if self.fmu is None or not any(kind == "outputs" for kind, _ in self.settings):
            return Previews({key: Preview(lines) for key, lines in raw.items()})
        try:
            experiment, values = experiment_from_file(
                self.path,
                self.number,
                fmu=self.fmu,
                text=self.text,
                reader=self.reader,
                table=self.data,
            )
            used = {
                **{("inputs", n): _input(experiment, n) for n in experiment.inputs},
                **{("outputs", m.name): _output(
                       experiment, m, values, "data" in self.settings["outputs", m.name])
                   for m in experiment.measurements},
            }  # fmt: skip
        except FmidentError as error:
            return Previews({key: Preview(lines) for key, lines in raw.items()}, str(error))
        return Previews(
            {
                key: Preview((*lines, *used[key].lines), used[key].words)
                for key, lines in raw.items()
                if key in used
            }
        )

    def _units(self) -> dict[tuple[str, str], str | None]:
        """Return the units of the FMU's variables."""
        if self.fmu is None:
            return {}
        known = read_description(self.fmu).by_name
        return {
            key: known[variable].unit
            for key, settings in self.settings.items()
            if (variable := settings.get("variable", key[1])) in known
        }

    def _raw(self, settings: Mapping[str, Any], times: F64, unit: str | None) -> tuple[Line, ...]:
        """Return the column as it was measured, in the unit of the FMU's variable."""
        column = str(settings.get("column"))
        if "data" in settings or column not in self.data.columns:
            return ()  # of another file, or a derivative
        values = self.data.columns[column]
        own = unit_or_none(settings.get("unit") or self.data.units.get(column))
        wanted = unit_or_none(unit)
        if own is not None and wanted is not None and compatible(own, wanted):
            values = convert(values, own, wanted)
        return (Line("as measured", times, values, measured=True),)


def _input(experiment: Experiment, name: str) -> Preview:
    values, course = experiment.inputs[name], experiment.interpolation[name]
    if course == "mean":
        values = np.append(0.5 * (values[:-1] + values[1:]), values[-1])
    line = Line("used", experiment.times, values, held=course != "linear")
    return Preview((line,), COURSES[course])


def _output(
    experiment: Experiment, m: Measurement, values: Mapping[str, float], other_file: bool
) -> Preview:
    # Where most instants have no sample, those that have are joined.
    drawn = m.rows if other_file or m.decimation else slice(None)
    words = [f"{m.rows.size} samples count"]
    lines = [Line("used", experiment.times[drawn], m.compared[drawn])]
    for excluded in m.exclusions:
        name = f"{'replaced' if excluded.replaced else 'excluded'}: {excluded.reason}"
        lines.append(Line(name, experiment.times[excluded.samples], excluded.values, points=True))
        words.append(f"{excluded.samples.size} {name}")
    given = {"gain": (m.gain, 1.0), "offset": (m.offset, 0.0), "delay": (m.delay, 0.0)}
    for key, (value, neutral) in given.items():
        if isinstance(value, str):
            words.append(f"{key} is the parameter {value}, here {plain(values[value])}")
        elif value != neutral:
            words.append(f"{key} {plain(value)}")
    if any(value != neutral for value, neutral in given.values()):
        name = "as output of the model"
        lines.append(Line(name, *measured_output(m, experiment.times, values)))
    return Preview(tuple(lines), "; ".join(words))
