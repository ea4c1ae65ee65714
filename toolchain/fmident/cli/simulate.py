"""``fmident simulate``."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from fmident.arrays import F64
from fmident.cli.arguments import assignments, refuse_other_pictures, scalar
from fmident.cli.console import out, say, tell
from fmident.cli.usage import UsageError
from fmident.data import Table, csv_of, read_table, time_axis, time_column
from fmident.errors import Location, SimulationError, unknown_name
from fmident.files import save
from fmident.fmu import ModelDescription, SimulationSetup, read_description, resized
from fmident.fmu.processes.guard import simulate_apart
from fmident.fmu.setup import Interpolation
from fmident.plugins import load_plugins
from fmident.problem.reading.quantities import stays_as_is, to_unit
from fmident.report.figures.chart import Axis, Chart, Line, Panel
from fmident.report.figures.style import FITTED, with_unit
from fmident.report.terminal import table
from fmident.words import counted, plain

_STEPS = 500
_TOLERANCE, _TIGHTER = 1e-6, 0.01
"""Where the FMU states none; of it, to see what it leaves."""
_INEXACT = 1e-3
"""Error of the integration, relative to the range of an output, above which it is reported."""
_MOST_PANELS = 8


def run(arguments: argparse.Namespace) -> int:
    """Simulate and write or summarise the trajectories."""
    if arguments.plot is not None:
        refuse_other_pictures(arguments.plot)
    values = {k: scalar(v) for k, v in assignments(arguments.set, "--set").items()}
    description = resized(read_description(arguments.fmu), values)
    setup = _setup(arguments, description, values)
    instants = setup.times.size
    outcome = simulate_apart(arguments.fmu, setup, interface=arguments.interface)
    if outcome.failure is not None and outcome.failure.ended is not None:
        setup = _until_its_end(setup, outcome.failure)
        outcome = simulate_apart(arguments.fmu, setup, interface=arguments.interface)
    for record in outcome.log:
        tell(f"log: {record}")
    if outcome.remark:
        tell(f"warning: {outcome.remark}; the results are complete")
    result = outcome.outputs
    if outcome.failure is not None:
        if not len(result):
            raise outcome.failure
        tell(
            f"{len(result)} of {instants} instants were computed before the simulation failed,"
            f" up to t = {float(setup.times[len(result) - 1])!r} s"
        )
    elif arguments.tolerance is None:
        _compare_tolerances(arguments, setup, result, description)
    trajectories = pd.DataFrame(result, columns=list(setup.output_names))
    trajectories = trajectories.drop(columns="time", errors="ignore")  # FMI 3.0's own variable
    trajectories.insert(0, "time", setup.times[: len(result)])
    units = {v.name: v.unit for v in description.variables}
    if arguments.output is not None:
        content = _written(trajectories, setup, values, units)
        save(arguments.output, lambda stream: stream.write(content))
        inputs, outputs = setup.input_names, setup.output_names
        given = f" {counted(len(inputs), 'input')}," if inputs else ""
        say(
            f"{arguments.output}: {counted(len(trajectories), 'row')},{given}"
            f" {counted(len(outputs), 'output')}"
        )
    if arguments.plot is not None:
        _plot(trajectories, units, arguments.plot)
        say(f"{arguments.plot}")
    if arguments.output is None and arguments.plot is None:
        _summarise(trajectories, description)
    if outcome.failure is not None:
        raise outcome.failure
    return 0


def _setup(
    arguments: argparse.Namespace,
    description: ModelDescription,
    values: Mapping[str, float | int | bool | str],
) -> SimulationSetup:
    named = assignments(arguments.inputs, "--inputs")
    data = _read(arguments) if arguments.data is not None else None
    times = _regular_times(arguments, description) if data is None else data.times
    inputs = _inputs(named, data, times, description)
    shared = [w for w in arguments.interpolation if "=" not in w]
    single = assignments([w for w in arguments.interpolation if "=" in w], "--interpolation")
    return SimulationSetup(
        times=times,
        input_names=tuple(inputs),
        inputs=np.column_stack(list(inputs.values())) if inputs else None,
        output_names=tuple(arguments.outputs) or _all_outputs(description),
        start_values=values,
        tolerance=arguments.tolerance,
        substeps=arguments.substeps,
        interpolation=cast("Interpolation", shared[-1] if shared else "auto"),
        input_interpolation=cast("dict[str, Interpolation]", single),
    )


def _compare_tolerances(
    arguments: argparse.Namespace, setup: SimulationSetup, found: F64, description: ModelDescription
) -> None:
    """If the tolerance is a default, warn about outputs that a tighter one changes."""
    own = description.default_tolerance
    tight = (own or _TOLERANCE) * _TIGHTER
    other = simulate_apart(
        arguments.fmu, replace(setup, tolerance=tight), interface=arguments.interface
    )
    if other.failure is not None or not found.size:
        return
    span = np.ptp(other.outputs, axis=0)
    shares = np.abs(found - other.outputs) / np.where(span > 0.0, span, np.inf)
    row, column = (int(k) for k in np.unravel_index(np.argmax(shares), shares.shape))
    share = float(shares[row, column])
    if share > _INEXACT:
        at = f"the FMU's own tolerance {own:g}" if own else "the default tolerance"
        tell(
            f"warning: with {at} '{setup.output_names[column]}' is off by up to"
            f" {100.0 * share:.2g} % of its range (t = {setup.times[row]:.6g} s), seen at"
            f" {tight:g}: give --tolerance, such as {tight:g}"
        )


def _written(
    trajectories: pd.DataFrame,
    setup: SimulationSetup,
    start_values: Mapping[str, float | int | bool | str],
    units: Mapping[str, str | None],
) -> bytes:
    """Return a file that can be read as data or as a reference."""
    columns = {"time": trajectories["time"].to_numpy(dtype=np.float64)}
    if setup.inputs is not None:
        rows = setup.inputs[: len(trajectories)]
        columns |= dict(zip(setup.input_names, rows.T, strict=True))
    for name in trajectories.columns[1:]:
        columns[str(name)] = trajectories[name].to_numpy(dtype=np.float64)
    table = Table(
        Path("simulated"), columns, {n: units.get(n) for n in columns} | {"time": "s"}, None
    )
    numbers = {n: x for n, x in start_values.items() if not isinstance(x, str) and " " not in n}
    remark = " ".join(f"{name}={float(value)!r}" for name, value in numbers.items())
    head = f"# parameters: {remark}\n" if remark else ""
    courses = {setup.interpolation_of(name) for name in setup.input_names}
    if len(courses) > 1:
        tell(
            "note: the file says of no input how it runs between the instants, since they differ:"
            " as a reference it can only be followed with one --interpolation for all"
        )
    elif courses - {"auto"}:
        head += f"# interpolation: {courses.pop()}\n"
    return head.encode() + csv_of(table)


def _all_outputs(description: ModelDescription) -> tuple[str, ...]:
    """Return the outputs, or else the local variables, and report what is omitted."""
    texts = [v.name for v in description.outputs if v.type == "String"]
    if texts:
        tell(f"texts are not recorded: {', '.join(texts)}")
    names = tuple(v.name for v in description.recorded)
    if not description.outputs:
        tell(
            f"the FMU has no outputs: its {len(names)} local variables are recorded instead"
            if names
            else "the FMU has neither outputs nor local variables that change: there is nothing"
            " to record"
        )
    return names


def _until_its_end(setup: SimulationSetup, error: SimulationError) -> SimulationSetup:
    """Return the setup up to the instant at which the FMU itself ends the simulation."""
    times, inputs = setup.times, setup.inputs
    count = 0
    if error.ended is not None:
        count = int((times <= error.ended + 1e-12 * abs(error.ended)).sum())
    if count < 2 or count == times.size or inputs is None:
        raise error
    tell(
        f"the FMU itself ends the simulation at t = {error.ended!r} s: {count} of"
        f" {times.size} instants are simulated"
    )
    return replace(setup, times=times[:count], inputs=inputs[:count])


@dataclass(frozen=True)
class _Data:
    """A data file, cut to the requested times.

    `table` has all rows and `keep` is the mask of the selected ones, shape (n,); `times`
    are in s, shape (k,).
    """

    table: Table
    times: F64
    keep: npt.NDArray[np.bool_]

    def values(self, column: str, unit: str | None) -> F64:
        """Return a column in the FMU's unit, shape (k,); report if it has no unit."""
        table = self.table
        what, place = f"column '{column}'", Location(str(table.path))
        selected = table.column(column)[self.keep]
        given = table.units.get(column)
        if stays_as_is(given, unit):
            tell(
                f"note: {what} is in {given}, but the FMU's input has no unit: its values are"
                " taken as they are"
            )
        return to_unit(selected, table.units.get(column), unit, what, place)


def _read(arguments: argparse.Namespace) -> _Data:
    if arguments.step is not None:
        raise UsageError("--data gives the times", hint="leave out --step")
    host = load_plugins(without=arguments.no_plugin)
    table = read_table(arguments.data, reader=host.read_data)
    tell(table.notes)
    times = time_axis(table, time_column(table, arguments.time))
    low = -math.inf if arguments.start_time is None else arguments.start_time
    high = math.inf if arguments.stop_time is None else arguments.stop_time
    keep = (times >= low) & (times <= high)
    if not keep.any():
        raise UsageError(f"'{arguments.data}' has no row between these times")
    return _Data(table, times[keep], keep)


def _regular_times(arguments: argparse.Namespace, description: ModelDescription) -> F64:
    start: float = description.default_start or 0.0
    if arguments.start_time is not None:
        start = arguments.start_time
    stop = description.default_stop if arguments.stop_time is None else arguments.stop_time
    if stop is None:
        raise UsageError("the FMU names no stop time", hint="give --stop-time")
    if not stop > start:
        raise UsageError(f"the stop time {stop:g} s must lie after the start time {start:g} s")
    step = arguments.step or description.default_step or (stop - start) / _STEPS
    count = math.floor((stop - start) / step * (1.0 + 1e-9))
    times = start + step * np.arange(count + 1)
    if count == 0 or stop - times[-1] > 1e-6 * step:
        times = np.append(times, stop)  # a last step that is shorter
    else:
        times[-1] = stop
    return np.asarray(times, dtype=np.float64)


def _inputs(
    named: dict[str, str],
    data: _Data | None,
    times: F64,
    description: ModelDescription,
) -> dict[str, F64]:
    """Return the values of the given inputs; the others keep their start values."""
    known = [v.name for v in description.inputs]
    for name in named:
        if name not in known:
            raise UsageError(
                f"the FMU of '{description.name}' has no input '{name}'",
                **unknown_name(name, known, "input"),
            )
    columns = [] if data is None else data.table.names
    inputs: dict[str, F64] = {}
    for variable in description.inputs:
        name = variable.name
        column = named.get(name, name)
        constant = scalar(column)
        if data is not None and column in columns:
            inputs[name] = data.values(column, variable.unit)
        elif name in named and isinstance(constant, (int, float)):
            inputs[name] = np.full(times.size, float(constant))
        elif name in named and data is not None:
            raise UsageError(
                f"'{data.table.path}' has no column '{column}' for the input '{name}'",
                **unknown_name(column, columns, "column"),
            )
        elif name in named:
            raise UsageError(
                f"the input '{name}' asks for the column '{column}', but there is no --data"
            )
    return inputs


def _summarise(trajectories: pd.DataFrame, description: ModelDescription) -> None:
    rows = []
    for name in trajectories.columns[1:]:
        values = trajectories[name]
        unit = description.variable(str(name)).unit or ""
        statistics = [values.iloc[0], values.iloc[-1], values.min(), values.max()]
        rows.append([str(name), *(plain(float(v)) for v in statistics), unit])
    header = ["output", "first", "last", "smallest", "largest", "unit"]
    out(table(header, rows, ["<", ">", ">", ">", ">", "<"]))


def _plot(trajectories: pd.DataFrame, units: dict[str, str | None], path: Path) -> None:
    from fmident.report.figures.drawing import picture  # loads Matplotlib

    names = [str(c) for c in trajectories.columns[1:]]
    if not names:
        raise UsageError("there is no output to draw", hint="name some with --outputs")
    if len(names) > _MOST_PANELS:
        tell(f"only the first {_MOST_PANELS} of {len(names)} outputs are drawn")
        names = names[:_MOST_PANELS]
    times = trajectories["time"].to_numpy()
    panels = []
    for name in names:
        values = trajectories[name].to_numpy(dtype=np.float64)
        time = Axis.of_time("", times)
        across = time if name == names[-1] else replace(time, label="")
        down = Axis.over(with_unit(name, units.get(name)), values)
        panels.append(Panel(across, down, [Line(times, values, FITTED)], 150))
    drawn = picture(Chart(panels, "Simulated outputs over time"), path.suffix[1:])
    save(path, lambda stream: stream.write(drawn))
