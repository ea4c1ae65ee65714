"""Read ``[[experiments]]`` of a problem file: data, inputs, outputs and measurement model."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fmident.arrays import F64
from fmident.data import Exclusion, Experiment, Measurement, Reader, Table
from fmident.data.experiment import NoiseChoice
from fmident.data.outliers import Outliers
from fmident.errors import Code, Diagnostic, Location, ProblemError, did_you_mean, unknown_name
from fmident.fmu import ModelDescription, Variable
from fmident.fmu.setup import Interpolation
from fmident.problem.reading.exclusions import excluded, note_on_exclusions
from fmident.problem.reading.quantities import (
    in_own_unit,
    note_as_is,
    same_dimension,
    start_values,
    to_unit,
    variable_of,
)
from fmident.problem.reading.sampling import Grid, Sampled, read_sampled
from fmident.problem.reading.tables import ExperimentTable, NoiseTable, OutputTable
from fmident.problem.validate import check_compared
from fmident.toml_file import Section, quoted
from fmident.units import compatible, convert, unit_or_none


@dataclass(frozen=True)
class ReadExperiments:
    """The experiments of a problem file.

    `everything` has all of them in the order of the file, `fitted` and `validation` those
    that are and are not fitted.
    """

    everything: tuple[Experiment, ...]
    fitted: tuple[Experiment, ...]
    validation: tuple[Experiment, ...]


def read_experiments(
    tables: Sequence[ExperimentTable],
    description: ModelDescription,
    base: Path,
    reader: Reader | None,
    *,
    interpolation: Interpolation = "auto",
    given: Collection[str] = (),
) -> ReadExperiments:
    """Read the data of all experiments.

    Names and units are checked against `description`; paths are relative to `base`.
    `reader` has the data formats of plugins, `interpolation` applies to inputs unless an
    experiment or input sets it, and `given` are variables with a start value for all
    experiments. Raises `ProblemError` or `DataError` with the location.
    """
    experiments: list[Experiment] = []
    fitted: list[Experiment] = []
    for position, table in enumerate(tables):
        section = table.section
        experiment = read_experiment(
            table, position, description, base, reader, interpolation, given
        )
        if any(e.name == experiment.name for e in experiments):
            raise section.error(
                f"two experiments are called '{experiment.name}'",
                "name",
                hint="give each a 'name' of its own",
            )
        experiments.append(experiment)
        if table.role == "validation":
            continue
        fitted.append(experiment)
        if _sigma_known(experiment) != _sigma_known(fitted[0]):
            raise section.error(
                f"sigma is given in one of the experiments '{fitted[0].name}' and"
                f" '{experiment.name}', but not in the other",
                "outputs",
                hint="give the standard deviation of every output, or of none",
            )
    if not fitted:
        raise tables[0].section.error(
            "all experiments are for validation: none is left to fit",
            "role",
            hint="leave out 'role' of those that are to be fitted",
        )
    validation = tuple(e for e in experiments if all(e is not f for f in fitted))
    return ReadExperiments(tuple(experiments), balanced(fitted), validation)


def _sigma_known(experiment: Experiment) -> bool:
    return all(m.sigma is not None for m in experiment.measurements)


def read_experiment(
    table: ExperimentTable,
    position: int,
    description: ModelDescription,
    base: Path,
    reader: Reader | None,
    interpolation: Interpolation,
    given: Collection[str],
    data: Table | None = None,
) -> Experiment:
    """Read the data of one experiment, the one at `position` in the file, counted from 0.

    The other arguments are those of :func:`read_experiments`. `data` is the data file if it has
    been read already.
    """
    section, path = table.section, base / table.data
    name = (path.stem or f"experiment {position + 1}") if table.name is None else table.name
    if not name.strip():
        raise section.error("'name' is empty", "name", hint="leave it out, or give a name")
    if not table.outputs:
        raise section.error(f"experiment '{name}' has no outputs", "outputs")
    main = read_sampled(table, path, reader, data)
    starts = start_values(section.inner("start_values"), description)
    grid = Grid(main, base, reader)
    drafts = [_output(key, entry, description, grid) for key, entry in table.outputs.items()]
    for key, hint in (
        ("sigma", "give the standard deviation of every output, or of none"),
        ("noise", 'give every output one: noise = { model = "white" } is noise of its own size'),
    ):
        without = [n for n, entry in table.outputs.items() if getattr(entry, key) is None]
        if without and len(without) < len(drafts):
            raise section.inner("outputs").error(
                f"{key} is given for some outputs, but not for {', '.join(map(repr, without))}",
                without[0],
                hint=hint,
            )
    times = grid.times
    courses = _interpolation(table, description)
    default = {n: courses.get(n, interpolation) for n in table.inputs}
    inputs, units, as_is, filled = _inputs(table, description, main, times, default)
    as_is += [d.note for d in drafts if d.note is not None]
    _refuse_missing_inputs(section, description, {*inputs, *starts, *given})
    on_grid = tuple(d.on(grid) for d in drafts)
    measurements = excluded(table, on_grid, inputs, units, grid)
    assumed = _assumed_units(table, description, main, drafts)
    left_out = note_on_exclusions(section, name, measurements)
    missing = _note_on_missing(section, name, [d.missing for d in drafts if d.missing], filled)
    notes = (
        *(*main.notes, *grid.notes, *_notes_on_units(section, main, assumed)),
        *(*as_is, *missing, *left_out),
    )
    return Experiment(
        name,
        times,
        inputs,
        measurements,
        starts,
        str(main.table.path),
        notes,
        main.time_column,
        main.table.units.get(main.time_column),
        assumed,
        courses,
    )


@dataclass(frozen=True)
class _Draft:
    """An output at the instants of its own file, before all files are merged.

    `outliers` are those that the `filter` has found, NaN elsewhere, and `missing` says how
    many samples are missing, and where; empty where none is.
    """

    measurement: Measurement
    variable: Variable
    file: Path | None
    note: Diagnostic | None
    outliers: F64
    filter: Outliers | None
    missing: str

    def on(self, grid: Grid) -> Measurement:
        m, sigma, file = self.measurement, self.measurement.sigma, self.file
        if sigma is not None and sigma.ndim:
            sigma = grid.on_grid(file, sigma)
            sigma = np.where(np.isfinite(sigma), sigma, 1.0)
        outliers = grid.on_grid(file, self.outliers)
        samples = np.flatnonzero(np.isfinite(outliers))
        exclusions: tuple[Exclusion, ...] = ()
        if self.filter is not None and samples.size:
            reason, replaced = self.filter.reason, self.filter.replaced
            exclusions = (Exclusion(reason, samples, outliers[samples], replaced),)
        return replace(m, values=grid.on_grid(file, m.values), sigma=sigma, exclusions=exclusions)


def _output(key: str, table: OutputTable, description: ModelDescription, grid: Grid) -> _Draft:
    """Read one entry of ``[experiments.outputs]``; a new data file is merged into `grid`.

    Raises `ProblemError` or `DataError` with the location.
    """
    section, column = table.section, table.column
    place = section.where()
    named = key if table.variable is None else table.variable
    variable = variable_of(section, description, named, "variable")
    check_compared(variable, description, place)
    sampled = grid.file(table)
    _refuse_no_column(section, column, sampled)
    unit = table.unit or sampled.table.units.get(column)
    variable = in_own_unit(table, variable, unit)
    wanted = variable.unit
    has_gain = section.has("gain")  # a gain says how the two units go together
    if has_gain and not same_dimension(unit, wanted):
        wanted = unit  # the gain turns the FMU's unit into the column's
    what = f"column '{column}'"
    values = to_unit(sampled.values(column), unit, wanted, what, place)
    outliers = to_unit(sampled.outliers(column), unit, wanted, what, place)
    line = f'{quoted(key)} = {{ column = "{column}", ... }}'
    if not np.isfinite(values).any():
        left_out = bool(np.isfinite(outliers).any())
        raise section.error(
            f"column '{column}' of '{sampled.table.path}' has no values"
            + (" but outliers" if left_out else "")
            + (" in this window" if sampled.rows.size < sampled.table.rows else ""),
            hint="raise 'threshold' of the Hampel filter, or make its window longer"
            if left_out
            else "leave the output out, or choose the column that was measured",
        )
    sampled.refuse_infinite(column, values)
    _refuse_together(table)
    if table.decimate and (table.data is not None or not np.isfinite(values).all()):
        raise section.error(
            "an output with gaps, or from a file of its own, cannot be decimated",
            "decimate",
            hint="write replace = true in 'hampel'" if grid.main.table.outliers else None,
        )
    measurement = Measurement(
        name=key,
        variable=variable.name,
        column=column,
        values=values,
        sigma=_sigma(table, sampled, unit, wanted or unit, values),
        weight=table.weight,
        weight_given=section.has("weight"),
        gain=table.gain,
        offset=table.offset,
        delay=table.delay,
        decimation=table.decimate,
        unit=wanted,
        unit_given=unit is not None,
        noise=_noise(table.noise),
    )
    return _Draft(
        measurement,
        variable,
        None if table.data is None else Path(table.data),
        None if has_gain else note_as_is(what, unit, variable, place, line),
        outliers,
        sampled.table.outliers.get(column),
        sampled.missing(f"samples of '{key}'", column, values, outliers),
    )


def _refuse_no_column(section: Section, column: str, sampled: Sampled) -> None:
    if column not in sampled.table.names:
        raise section.error(
            f"'{sampled.table.path}' has no column '{column}'",
            **unknown_name(column, sampled.table.names, "column"),
        )


def _refuse_together(table: OutputTable) -> None:
    for key, why, hint in (
        ("noise", "a noise model includes its size", "leave out one of them"),
        (
            "weight",
            "a weight would change the standard errors, but says nothing about the noise",
            "leave the weight out, or make sigma larger where the model is not trusted",
        ),
    ):
        if table.sigma is not None and table.section.has(key):
            raise table.section.error(f"'sigma' and '{key}' together: {why}", key, hint=hint)


def _noise(table: NoiseTable | None) -> NoiseChoice | None:
    if table is None:
        return None
    return NoiseChoice(table.model, None if table.order == "auto" else table.order, table.criterion)


def _sigma(
    table: OutputTable, sampled: Sampled, unit: str | None, wanted: str | None, measured: F64
) -> F64 | None:
    """Return the standard deviation in the wanted unit; ``None`` if it is not given."""
    given, section, place = table.sigma, table.section, table.section.where()
    if given is None:
        return None
    if isinstance(given, str):
        if given not in sampled.table.names:
            raise section.error(
                f"'sigma' names the column '{given}', which '{sampled.table.path}' does not have",
                "sigma",
                **unknown_name(given, sampled.table.names, "column"),
            )
        values = np.where(np.isfinite(measured), sampled.values(given), 1.0)
        unit = sampled.table.units.get(given) or unit
    else:
        values = np.asarray(given, dtype=np.float64)
    # A standard deviation is a difference: an offset between units does not count.
    zero = to_unit(np.zeros(()), unit, wanted, "'sigma'", place)
    values = np.asarray(to_unit(values, unit, wanted, "'sigma'", place) - zero)
    wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0.0)))
    if wrong.size:
        what = "'sigma' must be positive"
        if values.ndim:
            row, value = int(sampled.rows[wrong[0]]), float(values[wrong[0]])
            place = sampled.table.where(row)
            what += f" and finite, but column '{given}' of '{sampled.table.path}' is "
            what += "missing" if np.isnan(value) else f"{value:g}"
            what += f" in line {place.line}" if place.line else sampled.table.in_row(row)
            what += f", and in {wrong.size - 1} more" if wrong.size > 1 else ""
        raise section.error(
            what,
            "sigma",
            hint="it is the standard deviation of the measurement noise; leave it out when unknown",
        )
    return values


def _interpolation(
    table: ExperimentTable, description: ModelDescription
) -> dict[str, Interpolation]:
    interpolations: dict[str, Interpolation] = {}
    for name, entry in table.inputs.items():
        asked = entry.interpolation or table.interpolation
        place = table.section if entry.interpolation is None else entry.section
        if asked is None:
            continue
        variable = description.by_name.get(name)
        if variable is not None and not variable.is_continuous:
            if entry.interpolation not in (None, "auto", "hold"):
                raise place.error(
                    f"the input '{name}' is discrete: it keeps its value between samples",
                    "interpolation",
                    hint="leave it out",
                    code=Code.NOT_SUPPORTED,
                )
            continue
        if asked == "linear" and description.holds_input(name, "auto"):
            raise place.error(
                f"the FMU cannot interpolate the input '{name}' linearly",
                "interpolation",
                hint='use interpolation = "auto", "hold" or "mean"',
                code=Code.NOT_SUPPORTED,
            )
        interpolations[name] = asked
    return interpolations


def _note_on_missing(
    section: Section, name: str, samples: Sequence[str], filled: Sequence[str]
) -> list[Diagnostic]:
    """Return notes on outputs with missing samples and on inputs interpolated there."""
    gaps = "; ".join([*samples, *(f"{text} and interpolated" for text in filled)])
    if not gaps:
        return []
    count = " and do not count" if samples and not filled else ""
    return [
        Diagnostic(
            "note",
            f"experiment '{name}': {gaps}{count}",
            location=section.where("data"),
            rule="missing-samples",
        )
    ]


def _assumed_units(
    table: ExperimentTable, description: ModelDescription, main: Sampled, drafts: Sequence[_Draft]
) -> dict[str, str]:
    units = main.table.units
    named = [
        (e.column, e.unit is not None, description.by_name[n].unit) for n, e in table.inputs.items()
    ]
    named += [
        (e.column, e.unit is not None or e.section.has("gain"), draft.variable.unit)
        for draft, e in zip(drafts, table.outputs.values(), strict=True)
        if draft.file is None
    ]
    assumed = {main.time_column: "s"} if units.get(main.time_column) is None else {}
    for column, explicit, unit in named:
        if not explicit and units.get(column) is None and unit not in (None, "", "1"):
            assumed.setdefault(column, str(unit))
    return assumed


def _notes_on_units(
    section: Section, main: Sampled, assumed: Mapping[str, str]
) -> list[Diagnostic]:
    """Return notes on columns without a unit in a file where others have one."""
    signals = {c: unit for c, unit in assumed.items() if c != main.time_column}
    named = [
        Diagnostic(
            "warning",
            f"the column '{column}' of '{main.table.path}' is named as if it were in {named_unit}, "
            f"but no unit is in its header: {unit} is assumed, the unit of the FMU",
            location=section.where(),
            hint=f"write the unit behind the name in the header: '{column} [{named_unit}]', or "
            f"'{column} [{unit}]' if it is right",
            rule="unit-suspicious",
        )
        for column, unit in signals.items()
        if (named_unit := _unit_in_name(column, unit)) is not None
    ]
    assumptions = [f"'{c}' as {unit}" for c, unit in signals.items()]
    if not assumptions or not any(main.table.units.values()):
        return named
    return [
        *named,
        Diagnostic(
            "note",
            f"columns of '{main.table.path}' without a unit are taken in the FMU's: "
            + ", ".join(assumptions),
            location=section.where(),
            hint="write the unit behind the name in the header, such as 'force [N]'",
            rule="column-without-unit",
        ),
    ]


def _unit_in_name(column: str, assumed: str) -> str | None:
    """Return the unit at the end of a column name such as ``force_kN`` if it is not `assumed`."""
    words = [word for word in re.split(r"[^A-Za-z0-9%°µ^*]+", column) if word]
    if len(words) < 2:
        return None
    named, known = unit_or_none(words[-1]), unit_or_none(assumed)
    if named is None or known is None or not compatible(named, known):
        return None
    ends = convert(np.array([0.0, 1.0]), named, known)
    return None if np.allclose(ends, [0.0, 1.0], rtol=1e-9) else words[-1]


def _inputs(
    table: ExperimentTable,
    description: ModelDescription,
    main: Sampled,
    times: F64,
    interpolation: Mapping[str, Interpolation],
) -> tuple[dict[str, F64], dict[str, str | None], list[Diagnostic], list[str]]:
    """Return the inputs and their units by name, notes, and the filled gaps in words.

    The notes are about inputs that stay in a unit that is not SI.
    """
    inputs: dict[str, F64] = {}
    units: dict[str, str | None] = {}
    notes: list[Diagnostic | None] = []
    filled: list[str] = []
    for name, entry in table.inputs.items():
        section, column = entry.section, entry.column
        variable = variable_of(section, description, name)
        if variable.causality != "input":
            raise section.error(
                f"'{name}' is not an input of the FMU (its causality is '{variable.causality}')",
                hint=did_you_mean(name, [v.name for v in description.inputs], kind="input"),
                code=Code.NOT_AN_INPUT,
            )
        _refuse_no_column(section, column, main)
        unit, place = entry.unit or main.table.units.get(column), section.where()
        variable = in_own_unit(entry, variable, unit)
        what = f"column '{column}'"
        values = to_unit(main.values(column), unit, variable.unit, what, place)
        line = f'{quoted(name)} = {{ column = "{column}", ... }}'
        notes.append(note_as_is(what, unit, variable, place, line))
        held = description.holds_input(name, interpolation[name])
        inputs[name] = _without_gaps(values, column, main, times, table.fill_inputs, held)
        filled.append(main.missing(f"values of the input '{name}'", column, values))
        units[name] = unit if variable.unit is None else variable.unit
    return inputs, units, [n for n in notes if n is not None], [text for text in filled if text]


def _without_gaps(
    values: F64, column: str, main: Sampled, times: F64, fill: str | None, held: bool
) -> F64:
    main.refuse_infinite(column, values)
    good = np.isfinite(values)
    if not good.any():
        raise ProblemError(
            f"input column '{column}' has no values", location=Location(str(main.table.path))
        )
    if not good.all() and fill is None:
        row = int(main.rows[np.flatnonzero(~good)[0]])
        raise ProblemError(
            f"input column '{column}' has a gap{main.table.in_row(row)}",
            location=main.table.where(row),
            hint='inputs need a value at every instant; fill_inputs = "linear" in [[experiments]]'
            " interpolates"
            + (
                "; replace = true in 'hampel' puts medians" if column in main.table.outliers else ""
            ),
        )
    if good.all() and times.size == main.times.size:
        return np.ascontiguousarray(values)
    filled = np.interp(main.times, main.times[good], values[good])
    if times.size == main.times.size:
        return filled
    if held:
        return filled[np.searchsorted(main.times, times, side="right") - 1]
    return np.interp(times, main.times, filled)


def _refuse_missing_inputs(
    section: Section, description: ModelDescription, given: Collection[str]
) -> None:
    missing = [v.name for v in description.inputs if v.name not in given and v.start is None]
    if missing:
        raise section.error(
            f"no column for the FMU's input {', '.join(map(repr, missing[:5]))}",
            "inputs",
            hint="add it to [experiments.inputs]: FMU variable = column; or to start_values",
        )


def balanced(experiments: Sequence[Experiment]) -> tuple[Experiment, ...]:
    """Weight outputs of unknown noise relative to the spread of their measured values.

    Otherwise the unit of an output would determine its weight. The spread is the standard
    deviation within experiments, pooled over all of them because the noise belongs to the
    sensor. The weight is divided by it where sigma is ``None``; it is unchanged for a
    single output, a constant one, and one whose weight was set by the user.
    """
    samples: dict[str, list[np.ndarray[tuple[int], np.dtype[np.float64]]]] = {}
    for e in experiments:
        for m in e.measurements:
            if m.sigma is None:
                known = m.values[np.isfinite(m.values)]
                samples.setdefault(m.variable, []).append(known - np.mean(known))
    if len(samples) < 2:
        return tuple(experiments)
    spreads = {name: float(np.std(np.concatenate(parts))) for name, parts in samples.items()}
    return tuple(
        replace(
            e,
            measurements=tuple(
                replace(m, weight=m.weight / spreads[m.variable])
                if m.sigma is None and not m.weight_given and spreads[m.variable] > 0.0
                else m
                for m in e.measurements
            ),
        )
        for e in experiments
    )


def held_out(document: Mapping[str, Any], names: Sequence[str], file: str) -> dict[str, object]:
    """Return the overrides that exclude the named experiments from the fit.

    Raises `ProblemError` if there is no experiment of such a name; `file` is for messages.
    """
    tables = document.get("experiments")
    known = [_name(t) for t in tables] if isinstance(tables, list) else []
    overrides: dict[str, object] = {}
    for name in names:
        if name not in known:
            raise ProblemError(
                f"--hold-out: '{file}' has no experiment '{name}'",
                **unknown_name(name, [k for k in known if k], "experiment"),
            )
        overrides[f"experiments.{known.index(name)}.role"] = "validation"
    return overrides


def _name(table: object) -> str:
    if not isinstance(table, Mapping):
        return ""
    return str(table.get("name", Path(str(table.get("data", ""))).stem))
