"""Read ``[[experiments]]`` of a problem file."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from fmident.arrays import F64
from fmident.data import Experiment, Reader
from fmident.errors import Code, Diagnostic, Location, ProblemError, UnitError, did_you_mean
from fmident.fmu import ModelDescription
from fmident.fmu.setup import Interpolation
from fmident.problem.reading.exclusions import excluded, note_on_exclusions
from fmident.problem.reading.outputs import (
    OutputDraft,
    measurements_of,
    read_output,
    refuse_partial_noise,
    refuse_partial_sigma,
)
from fmident.problem.reading.quantities import (
    in_own_unit,
    note_as_is,
    start_values,
    to_unit,
    variable_of,
)
from fmident.problem.reading.sampling import Grid, Sampled, data_named_at, read_sampled
from fmident.toml_file import Section, Source, quoted
from fmident.units import compatible, convert, parse_unit

ROLES = ("estimation", "validation")
"""Values of ``role``, the default first."""


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
    source: Source,
    tables: Sequence[Any],
    description: ModelDescription,
    base: Path,
    reader: Reader | None,
    *,
    interpolation: Interpolation = "auto",
    given: Collection[str] = (),
) -> ReadExperiments:
    """Read all experiments from the array `tables`.

    Names and units are checked against `description`; paths are relative to `base`.
    `reader` has the data formats of plugins, `interpolation` applies to inputs unless an
    experiment or input sets it, and `given` are variables with a start value for all
    experiments. Raises `ProblemError` or `DataError` with the location.
    """
    experiments: list[Experiment] = []
    fitted: list[Experiment] = []
    for position, table in enumerate(tables):
        section = Section(source, ("experiments", position), table)
        role = section.choice("role", ROLES, ROLES[0])
        experiment = _experiment(section, position, description, base, reader, interpolation, given)
        if any(e.name == experiment.name for e in experiments):
            raise section.error(
                f"two experiments are called '{experiment.name}'",
                "name",
                hint="give each a 'name' of its own",
            )
        experiments.append(experiment)
        if role == "validation":
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
        raise source.error(
            "all experiments are for validation: none is left to fit",
            location=source.where(("experiments", 0, "role")),
            hint="leave out 'role' of those that are to be fitted",
        )
    validation = tuple(e for e in experiments if all(e is not f for f in fitted))
    return ReadExperiments(tuple(experiments), balanced(fitted), validation)


def _sigma_known(experiment: Experiment) -> bool:
    return all(m.sigma is not None for m in experiment.measurements)


def _experiment(
    section: Section,
    position: int,
    description: ModelDescription,
    base: Path,
    reader: Reader | None,
    interpolation: Interpolation,
    given: Collection[str],
) -> Experiment:
    path = base / section.text("data")
    name = section.text("name", path.stem or f"experiment {position + 1}")
    if not name.strip():
        raise section.error("'name' is empty", "name", hint="leave it out, or give a name")
    with data_named_at(section, "data"):
        main = read_sampled(section, path, reader, section.text("time", None))
    starts = (
        start_values(section.table("start_values"), description)
        if section.has("start_values")
        else {}
    )
    outputs = section.table("outputs")
    grid = Grid(main, base, reader)
    drafts = [read_output(outputs, key, value, description, grid) for key, value in outputs.items()]
    if not drafts:
        raise section.error(f"experiment '{name}' has no outputs", "outputs")
    refuse_partial_sigma(outputs, drafts)
    refuse_partial_noise(outputs, drafts)
    times = grid.times
    courses = _interpolation(section, description)
    default = {n: courses.get(n, interpolation) for n, _ in section.table("inputs", {}).items()}
    inputs, units, as_is, filled = _inputs(section, description, main, times, default)
    as_is += [d.note for d in drafts if d.note is not None]
    _refuse_missing_inputs(section, description, {*inputs, *starts, *given})
    measurements = excluded(section, measurements_of(drafts, grid), inputs, units, grid)
    section.finish()
    assumed = _assumed_units(section, description, main, drafts)
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


def _interpolation(section: Section, description: ModelDescription) -> dict[str, Interpolation]:
    """Return the interpolation of the inputs for which they or their experiment set it."""
    choices = get_args(Interpolation)
    shared = section.choice("interpolation", choices, None)
    interpolations: dict[str, Interpolation] = {}
    table = section.table("inputs", {})
    for name, entry in table.items():
        asked, place = shared, section
        if isinstance(entry, Mapping) and "interpolation" in entry:
            place = Section(table.source, (*table.keys, name), entry)
            asked = place.choice("interpolation", choices)
        if asked is None:
            continue
        variable = description.by_name.get(name)
        if variable is not None and not variable.is_continuous:
            if place is not section and asked not in ("auto", "hold"):
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
            location=section.source.where((*section.keys, "data")),
            rule="missing-samples",
        )
    ]


def _assumed_units(
    section: Section, description: ModelDescription, main: Sampled, drafts: Sequence[OutputDraft]
) -> dict[str, str]:
    """Return the columns in use that have no unit, with the assumed unit."""
    units = main.table.units
    named = [(e, description.by_name[n]) for n, e in section.table("inputs", {}).items()]
    entries = section.table("outputs").items()
    for draft, (_, entry) in zip(drafts, entries, strict=True):
        if draft.file is None:
            named.append((entry, draft.variable))
    assumed = {main.time_column: "s"} if units.get(main.time_column) is None else {}
    for entry, variable in named:
        column = entry if isinstance(entry, str) else entry["column"]
        explicit = not isinstance(entry, str) and ("unit" in entry or "gain" in entry)
        if not explicit and units.get(column) is None and variable.unit not in (None, "", "1"):
            assumed.setdefault(column, str(variable.unit))
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
            location=section.source.where(section.keys),
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
            location=section.source.where(section.keys),
            hint="write the unit behind the name in the header, such as 'force [N]'",
            rule="column-without-unit",
        ),
    ]


def _unit_in_name(column: str, assumed: str) -> str | None:
    """Return the unit at the end of a column name such as ``force_kN`` if it is not `assumed`."""
    words = [word for word in re.split(r"[^A-Za-z0-9%°µ^*]+", column) if word]
    if len(words) < 2:
        return None
    try:
        named, known = parse_unit(words[-1]), parse_unit(assumed)
    except UnitError:
        return None
    if not compatible(named, known):
        return None
    ends = convert(np.array([0.0, 1.0]), named, known)
    return None if np.allclose(ends, [0.0, 1.0], rtol=1e-9) else words[-1]


def _inputs(
    section: Section,
    description: ModelDescription,
    main: Sampled,
    times: F64,
    interpolation: Mapping[str, Interpolation],
) -> tuple[dict[str, F64], dict[str, str | None], list[Diagnostic], list[str]]:
    """Return the inputs and their units by name, notes, and the filled gaps in words.

    The notes are about inputs that stay in a unit that is not SI.
    """
    fill = section.choice("fill_inputs", ("linear",), None)
    table = section.table("inputs", {})
    inputs: dict[str, F64] = {}
    units: dict[str, str | None] = {}
    notes: list[Diagnostic | None] = []
    filled: list[str] = []
    for name, column in table.items():
        unit, inner = None, None
        if isinstance(column, Mapping):
            inner = Section(table.source, (*table.keys, name), column)
            column, unit = inner.text("column"), inner.text("unit", None)
        if not isinstance(column, str):
            raise table.wrong(name, column, "a column's name")
        variable = variable_of(table, description, name, name)
        if variable.causality != "input":
            raise table.error(
                f"'{name}' is not an input of the FMU (its causality is '{variable.causality}')",
                name,
                hint=did_you_mean(name, [v.name for v in description.inputs], kind="input"),
                code=Code.NOT_AN_INPUT,
            )
        if column not in main.table.names:
            raise table.error(
                f"'{main.table.path}' has no column '{column}'",
                name,
                hint=did_you_mean(column, main.table.names, kind="column"),
                code=Code.UNKNOWN_NAME,
            )
        place = table.source.where((*table.keys, name))
        unit = unit or main.table.units.get(column)
        if inner is not None:
            variable = in_own_unit(inner, variable, unit)
            inner.raw("interpolation", None)  # read before
            inner.finish()
        what = f"column '{column}'"
        values = to_unit(main.values(column), unit, variable.unit, what, place)
        line = f'{quoted(name)} = {{ column = "{column}", ... }}'
        notes.append(note_as_is(what, unit, variable, place, line))
        held = description.holds_input(name, interpolation[name])
        inputs[name] = _without_gaps(values, column, main, times, fill, held)
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
                hint=did_you_mean(name, [k for k in known if k], kind="experiment"),
                code=Code.UNKNOWN_NAME,
            )
        overrides[f"experiments.{known.index(name)}.role"] = ROLES[1]
    return overrides


def _name(table: object) -> str:
    """Return the name of an experiment's table; empty if it is not one."""
    if not isinstance(table, Mapping):
        return ""
    return str(table.get("name", Path(str(table.get("data", ""))).stem))
