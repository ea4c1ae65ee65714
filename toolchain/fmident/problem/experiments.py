"""Read ``[[experiments]]`` of a problem file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fmident._types import F64
from fmident.data import (
    Decimation,
    Experiment,
    Measurement,
    NumberOrParameter,
    Reader,
    Table,
    merge,
    read_table,
    time_axis,
    time_column,
)
from fmident.data.time import tolerance_of
from fmident.errors import DataError, FmuError, Location, ProblemError, did_you_mean
from fmident.fmu import ModelDescription, Variable
from fmident.problem.balance import balanced
from fmident.problem.check_experiment import why_not_compared
from fmident.problem.quantities import same_dimension, to_unit
from fmident.toml_file import Section, Source


@dataclass(frozen=True)
class _Sampled:
    """A table with its time axis, cut to the window."""

    table: Table
    times: F64
    rows: npt.NDArray[np.int64]

    def values(self, column: str) -> F64:
        return self.table.column(column)[self.rows]


def read_experiments(
    source: Source,
    tables: Sequence[Any],
    description: ModelDescription,
    base: Path,
    reader: Reader | None,
) -> tuple[Experiment, ...]:
    """Read all experiments.

    Parameters
    ----------
    source
        The problem file.
    tables
        The array of tables.
    description
        Of the FMU; names and units are checked against it.
    base
        Folder to which paths are relative.
    reader
        A plugin's data formats.

    Raises
    ------
    ProblemError, fmident.errors.DataError
        Anything that is wrong, with its place.
    """
    experiments: list[Experiment] = []
    for position, table in enumerate(tables):
        section = Section(source, ("experiments", position), table)
        experiment = _experiment(section, position, description, base, reader)
        if any(e.name == experiment.name for e in experiments):
            raise section.error(
                f"two experiments are called '{experiment.name}'",
                "name",
                hint="give each a 'name' of its own",
            )
        experiments.append(experiment)
    return balanced(experiments)


def start_values(section: Section, description: ModelDescription) -> dict[str, float | str]:
    """Read a table ``start_values``: FMU variable = value."""
    found: dict[str, float | str] = {}
    for name, value in section.items():
        variable = _variable(section, description, name, name)
        if not variable.settable and variable.causality != "input":
            raise section.error(
                f"'{name}' cannot be set in the FMU: it is {variable.why_not_settable}",
                name,
                hint=_settable_hint(name, description),
            )
        if not isinstance(value, bool | int | float | str):
            raise section.wrong(name, value, "a number, a truth value or a string")
        found[name] = float(value) if variable.type == "Real" and _is_real(value) else value
    return found


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _experiment(
    section: Section,
    position: int,
    description: ModelDescription,
    base: Path,
    reader: Reader | None,
) -> Experiment:
    path = base / section.text("data")
    name = section.text("name", path.stem or f"experiment {position + 1}")
    main = _sampled(section, path, reader, section.text("time", None))
    starts = (
        start_values(section.table("start_values"), description)
        if section.has("start_values")
        else {}
    )
    outputs = section.table("outputs")
    grid = _Grid(main, section, base, reader)
    drafts = [_draft(outputs, key, value, description, grid) for key, value in outputs.items()]
    if not drafts:
        raise section.error(f"experiment '{name}' has no outputs", "outputs")
    _refuse_partial_sigma(outputs, drafts)
    times = grid.times
    inputs = _inputs(section, description, main, times)
    measurements = _measurements(drafts, grid)
    section.finish()
    return Experiment(name, times, inputs, measurements, starts, str(path))


def _sampled(section: Section, path: Path, reader: Reader | None, time: str | None) -> _Sampled:
    table = read_table(path, section.as_dict(), reader=reader)
    times = time_axis(table, time_column(table, time))
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
    return _Sampled(table, times[rows], rows)


class _Grid:
    """The instants of an experiment: those of its data file and of other files of outputs."""

    def __init__(self, main: _Sampled, section: Section, base: Path, reader: Reader | None) -> None:
        self.times = main.times
        self._section = section
        self._base = base
        self._reader = reader
        self._files: dict[Path | None, _Sampled] = {None: main}

    def file(self, outputs: Section, key: str, path: Path | None) -> _Sampled:
        """Return the table of an output, merged into the grid."""
        if path not in self._files:
            assert path is not None
            table = read_table(self._base / path, reader=self._reader)
            times = time_axis(table, time_column(table))
            main = self._files[None].times
            slack = min(tolerance_of(main), tolerance_of(times))
            rows = np.flatnonzero((times >= main[0] - slack) & (times <= main[-1] + slack))
            if rows.size == 0:
                raise outputs.error(
                    f"the times of '{path}' ({times[0]:g} to {times[-1]:g} s) do not overlap with"
                    f" those of the inputs ({main[0]:g} to {main[-1]:g} s)",
                    key,
                )
            self._files[path] = _Sampled(table, times[rows], rows.astype(np.int64))
            self.times, _, _ = merge(self.times, times[rows])
        return self._files[path]

    def on_grid(self, path: Path | None, values: F64) -> F64:
        """Return values of a file's rows at the instants of the grid; NaN in between."""
        own = self._files[path].times
        if own.size == self.times.size:
            return values
        _, _, rows = merge(self.times, own)
        full = np.full(self.times.size, np.nan)
        full[rows] = values
        return full


@dataclass(frozen=True)
class _Draft:
    """An output before all files are merged."""

    name: str
    variable: Variable
    column: str
    file: Path | None
    values: F64
    unit: str | None
    sigma: F64 | None
    weight: float
    gain: NumberOrParameter
    offset: NumberOrParameter
    delay: NumberOrParameter
    decimation: Decimation | None


def _draft(
    outputs: Section, key: str, value: Any, description: ModelDescription, grid: _Grid
) -> _Draft:
    if isinstance(value, str):
        value = {"column": value}
    if not isinstance(value, Mapping):
        raise outputs.wrong(key, value, "a column's name or a table with 'column'")
    section = Section(outputs.source, (*outputs.keys, key), value)
    variable = _variable(section, description, section.text("variable", key), key)
    reason = why_not_compared(variable)
    if reason is not None:
        names = [v.name for v in description.outputs]
        raise section.error(reason, hint=did_you_mean(variable.name, names, kind="output"))
    column = section.text("column")
    name = section.text("data", None)
    path = None if name is None else Path(name)
    sampled = grid.file(outputs, key, path)
    place = outputs.source.where((*outputs.keys, key))
    if column not in sampled.table.names:
        raise ProblemError(
            f"'{sampled.table.path}' has no column '{column}'",
            location=place,
            hint=did_you_mean(column, sampled.table.names, kind="column"),
        )
    unit = section.text("unit", sampled.table.units.get(column))
    gain = _number_or_parameter(section, "gain", 1.0)
    wanted = variable.unit
    if section.has("gain") and not same_dimension(unit, wanted):
        wanted = unit  # the gain turns the FMU's unit into the column's
    values = to_unit(sampled.values(column), unit, wanted, f"column '{column}'", place)
    if not np.isfinite(values).any():
        raise section.error(
            f"column '{column}' of '{sampled.table.path}' has no values"
            + (" in this window" if sampled.rows.size < len(sampled.table.frame) else ""),
            hint="leave the output out, or choose the column that was measured",
        )
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise ProblemError(
            f"column '{column}' is infinite",
            location=sampled.table.where(int(sampled.rows[infinite[0]])),
        )
    draft = _Draft(
        name=key,
        variable=variable,
        column=column,
        file=path,
        values=values,
        unit=wanted,
        sigma=_sigma(section, sampled, unit, wanted, values, place),
        weight=_positive(section, "weight", 1.0),
        gain=gain,
        offset=_number_or_parameter(section, "offset", 0.0),
        delay=_number_or_parameter(section, "delay", 0.0),
        decimation=_decimation(section, values, grid, path),
    )
    section.finish()
    return draft


def _sigma(
    section: Section,
    sampled: _Sampled,
    unit: str | None,
    wanted: str | None,
    measured: F64,
    place: Location,
) -> F64 | None:
    """Return the standard deviation in the wanted unit, or ``None`` when it is not given."""
    given = section.raw("sigma", None)
    if given is None:
        return None
    if isinstance(given, str):
        if given not in sampled.table.names:
            raise section.error(
                f"'sigma' names the column '{given}', which '{sampled.table.path}' does not have",
                "sigma",
                hint=did_you_mean(given, sampled.table.names, kind="column"),
            )
        values = np.where(np.isfinite(measured), sampled.values(given), 1.0)
        unit = sampled.table.units.get(given) or unit
    else:
        values = np.asarray(section.number("sigma"), dtype=np.float64)
    # A standard deviation is a difference: an offset between units does not count.
    zero = to_unit(np.zeros(()), unit, wanted, "'sigma'", place)
    values = np.asarray(to_unit(values, unit, wanted, "'sigma'", place) - zero)
    if not (np.isfinite(values) & (values > 0.0)).all():
        raise section.error(
            "'sigma' must be positive",
            "sigma",
            hint="it is the standard deviation of the measurement noise; leave it out when unknown",
        )
    return values


def _refuse_partial_sigma(outputs: Section, drafts: Sequence[_Draft]) -> None:
    without = [d.name for d in drafts if d.sigma is None]
    if without and len(without) < len(drafts):
        raise outputs.error(
            f"sigma is given for some outputs, but not for {', '.join(map(repr, without))}",
            without[0],
            hint="give the standard deviation of every output, or of none",
        )


def _measurements(drafts: Sequence[_Draft], grid: _Grid) -> tuple[Measurement, ...]:
    measurements = []
    for d in drafts:
        sigma = d.sigma
        if sigma is not None and sigma.ndim:
            sigma = grid.on_grid(d.file, sigma)
            sigma = np.where(np.isfinite(sigma), sigma, 1.0)
        measurements.append(
            Measurement(
                name=d.name,
                variable=d.variable.name,
                column=d.column,
                values=grid.on_grid(d.file, d.values),
                sigma=sigma,
                weight=d.weight,
                gain=d.gain,
                offset=d.offset,
                delay=d.delay,
                decimation=d.decimation,
                unit=d.unit,
            )
        )
    return tuple(measurements)


def _inputs(
    section: Section, description: ModelDescription, main: _Sampled, times: F64
) -> dict[str, F64]:
    fill = section.choice("fill_inputs", ("linear",), None)
    table = section.table("inputs", {})
    inputs: dict[str, F64] = {}
    for name, column in table.items():
        unit = None
        if isinstance(column, Mapping):
            inner = Section(table.source, (*table.keys, name), column)
            column, unit = inner.text("column"), inner.text("unit", None)
            inner.finish()
        if not isinstance(column, str):
            raise table.wrong(name, column, "a column's name")
        variable = _variable(table, description, name, name)
        if variable.causality != "input":
            raise table.error(
                f"'{name}' is not an input of the FMU (its causality is '{variable.causality}')",
                name,
                hint=did_you_mean(name, [v.name for v in description.inputs], kind="input"),
            )
        if column not in main.table.names:
            raise table.error(
                f"'{main.table.path}' has no column '{column}'",
                name,
                hint=did_you_mean(column, main.table.names, kind="column"),
            )
        place = table.source.where((*table.keys, name))
        unit = unit or main.table.units.get(column)
        values = to_unit(main.values(column), unit, variable.unit, f"column '{column}'", place)
        inputs[name] = _without_gaps(values, column, main, times, fill)
    _refuse_missing_inputs(section, description, inputs)
    return inputs


def _without_gaps(values: F64, column: str, main: _Sampled, times: F64, fill: str | None) -> F64:
    good = np.isfinite(values)
    if not good.any():
        raise ProblemError(
            f"input column '{column}' has no values", location=Location(str(main.table.path))
        )
    if not good.all() and fill is None:
        row = int(np.flatnonzero(~good)[0])
        raise ProblemError(
            f"input column '{column}' has a gap",
            location=main.table.where(int(main.rows[row])),
            hint='inputs need a value at every instant; fill_inputs = "linear" in [[experiments]]'
            " interpolates",
        )
    if good.all() and times.size == main.times.size:
        return np.ascontiguousarray(values)
    return np.interp(times, main.times[good], values[good])


def _refuse_missing_inputs(
    section: Section, description: ModelDescription, inputs: Mapping[str, F64]
) -> None:
    missing = [v.name for v in description.inputs if v.name not in inputs and v.start is None]
    if missing:
        raise section.error(
            f"no column for the FMU's input {', '.join(map(repr, missing[:5]))}",
            "inputs",
            hint="add it to [experiments.inputs]: FMU variable = column",
        )


def _decimation(section: Section, values: F64, grid: _Grid, path: Path | None) -> Decimation | None:
    given = section.raw("decimate", None)
    if given is None:
        return None
    table = {"factor": given} if isinstance(given, int) and not isinstance(given, bool) else given
    if not isinstance(table, Mapping):
        raise section.wrong("decimate", given, "a whole number or a table with 'factor'")
    inner = Section(section.source, (*section.keys, "decimate"), table)
    default = Decimation(2)
    factor, order = inner.raw("factor"), inner.raw("order", default.order)
    for key, value in (("factor", factor), ("order", order)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise inner.wrong(key, value, "a whole number of at least 1")
    ripple, cutoff = inner.number("ripple", default.ripple), inner.number("cutoff", default.cutoff)
    try:
        decimation = Decimation(factor, order, ripple, cutoff)
    except DataError as error:
        raise section.error(error.message, "decimate", hint=error.hint) from error
    inner.finish()
    if not np.isfinite(values).all() or path is not None:
        raise section.error(
            "an output with gaps, or from a file of its own, cannot be decimated", "decimate"
        )
    steps = np.diff(grid.times)
    if np.ptp(steps) > 0.01 * steps.mean():
        raise section.error(
            "only equidistant samples can be decimated", "decimate", hint="resample the data first"
        )
    if values.size < decimation.shortest:
        raise section.error(
            f"{values.size} samples are too few; a filter of order {decimation.order} takes"
            f" {decimation.shortest}",
            "decimate",
            hint="lower the order, or leave out the decimation",
        )
    return decimation


def _positive(section: Section, key: str, default: float) -> float:
    value: float = section.number(key, default)
    if not (np.isfinite(value) and value > 0.0):
        raise section.error(f"{section.title}: '{key}' must be positive, not {value:g}", key)
    return value


def _number_or_parameter(section: Section, key: str, default: float) -> NumberOrParameter:
    value = section.raw(key, default)
    if isinstance(value, str):
        return value
    number: float = section.number(key, default)
    return number


def _variable(section: Section, description: ModelDescription, name: str, key: str) -> Variable:
    try:
        return description.variable(name)
    except FmuError as error:
        raise section.error(error.message, key, hint=error.hint) from error


def _settable_hint(name: str, description: ModelDescription) -> str:
    names = [v.name for v in description.settable_parameters]
    return did_you_mean(name, names, kind="parameter that can be set")
