"""Read the outputs of an experiment: columns and measurement model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from fmident.arrays import F64
from fmident.data import Decimation, Exclusion, Measurement, NumberOrParameter
from fmident.data.experiment import LARGEST_ORDER, Criterion, NoiseChoice
from fmident.data.outliers import Outliers
from fmident.errors import Code, DataError, Diagnostic, Location, ProblemError, did_you_mean
from fmident.fmu import ModelDescription, Variable
from fmident.problem.reading.quantities import (
    in_own_unit,
    note_as_is,
    same_dimension,
    to_unit,
    variable_of,
)
from fmident.problem.reading.sampling import Grid, Sampled
from fmident.problem.validate import why_not_compared
from fmident.toml_file import Section, quoted


@dataclass(frozen=True)
class OutputDraft:
    """An output as read, before all files are merged."""

    name: str
    variable: Variable
    column: str
    file: Path | None
    values: F64
    unit: str | None
    unit_given: bool
    note: Diagnostic | None
    sigma: F64 | None
    weight: float
    weight_given: bool
    gain: NumberOrParameter
    offset: NumberOrParameter
    delay: NumberOrParameter
    decimation: Decimation | None
    outliers: F64
    filter: Outliers | None
    noise: NoiseChoice | None = None
    missing: str = ""
    """How many samples are missing, and where; empty where none is."""


def refuse_partial_sigma(outputs: Section, drafts: Sequence[OutputDraft]) -> None:
    """Raise if only some of the outputs have a sigma."""
    without = [d.name for d in drafts if d.sigma is None]
    if without and len(without) < len(drafts):
        raise outputs.error(
            f"sigma is given for some outputs, but not for {', '.join(map(repr, without))}",
            without[0],
            hint="give the standard deviation of every output, or of none",
        )


def refuse_partial_noise(outputs: Section, drafts: Sequence[OutputDraft]) -> None:
    """Raise if only some of the outputs have a noise model."""
    without = [d.name for d in drafts if d.noise is None]
    if without and len(without) < len(drafts):
        raise outputs.error(
            f"a model of the noise is asked for some outputs, but not for"
            f" {', '.join(map(repr, without))}",
            without[0],
            hint='give every output one: noise = { model = "white" } is noise of its own size',
        )


def measurements_of(drafts: Sequence[OutputDraft], grid: Grid) -> tuple[Measurement, ...]:
    """Return the outputs of an experiment on the complete grid of all its files."""
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
                weight_given=d.weight_given,
                gain=d.gain,
                offset=d.offset,
                delay=d.delay,
                decimation=d.decimation,
                unit=d.unit,
                unit_given=d.unit_given,
                exclusions=_exclusions(d, grid),
                noise=d.noise,
            )
        )
    return tuple(measurements)


def _exclusions(draft: OutputDraft, grid: Grid) -> tuple[Exclusion, ...]:
    """Return the samples that a filter identified as outliers."""
    outliers = grid.on_grid(draft.file, draft.outliers)
    samples = np.flatnonzero(np.isfinite(outliers))
    if draft.filter is None or not samples.size:
        return ()
    reason, replaced = draft.filter.reason, draft.filter.replaced
    return (Exclusion(reason, samples, outliers[samples], replaced),)


def read_output(
    outputs: Section, key: str, value: Any, description: ModelDescription, grid: Grid
) -> OutputDraft:
    """Read one entry of ``[experiments.outputs]``.

    `value` is a column name or a table with `column`; a new data file is merged into
    `grid`. Raises `ProblemError` or `DataError` with the location.
    """
    if isinstance(value, str):
        value = {"column": value}
    if not isinstance(value, Mapping):
        raise outputs.wrong(key, value, "a column's name or a table with 'column'")
    section = Section(outputs.source, (*outputs.keys, key), value)
    variable = variable_of(section, description, section.text("variable", key), key)
    reason = why_not_compared(variable)
    if reason is not None:
        names = [v.name for v in description.outputs]
        raise section.error(
            reason,
            hint=did_you_mean(variable.name, names, kind="output"),
            code=Code.NOT_AN_OUTPUT,
        )
    column = section.text("column")
    name = section.text("data", None)
    path = None if name is None else Path(name)
    sampled = grid.file(section, path)
    place = outputs.source.where((*outputs.keys, key))
    if column not in sampled.table.names:
        raise ProblemError(
            f"'{sampled.table.path}' has no column '{column}'",
            location=place,
            hint=did_you_mean(column, sampled.table.names, kind="column"),
            code=Code.UNKNOWN_NAME,
        )
    unit = section.text("unit", sampled.table.units.get(column))
    variable = in_own_unit(section, variable, unit)
    gain = _number_or_parameter(section, "gain", 1.0)
    wanted = variable.unit
    if section.has("gain") and not same_dimension(unit, wanted):
        wanted = unit  # the gain turns the FMU's unit into the column's
    what = f"column '{column}'"
    values = to_unit(sampled.values(column), unit, wanted, what, place)
    outliers = to_unit(sampled.outliers(column), unit, wanted, what, place)
    note = None
    if not section.has("gain"):  # a gain says how the two units go together
        line = f'{quoted(key)} = {{ column = "{column}", ... }}'
        note = note_as_is(what, unit, variable, place, line)
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
    draft = OutputDraft(
        name=key,
        variable=variable,
        column=column,
        file=path,
        values=values,
        unit=wanted,
        unit_given=unit is not None,
        note=note,
        sigma=_sigma(section, sampled, unit, wanted or unit, values, place),
        weight=_positive(section, "weight", 1.0),
        weight_given=section.has("weight"),
        gain=gain,
        offset=_number_or_parameter(section, "offset", 0.0),
        delay=_number_or_parameter(section, "delay", 0.0),
        decimation=_decimation(section, values, grid, path),
        outliers=outliers,
        filter=sampled.table.outliers.get(column),
        noise=_noise(section),
        missing=sampled.missing(f"samples of '{key}'", column, values, outliers),
    )
    section.has("exclude")  # read when all signals are known
    if draft.sigma is not None and draft.noise is not None:
        raise section.error(
            "'sigma' and 'noise' together: a model of the noise tells its size, too",
            "noise",
            hint="leave out one of both",
        )
    if draft.sigma is not None and section.has("weight"):
        raise section.error(
            "'sigma' and 'weight' together: a weight would change the standard errors, but says"
            " nothing about the noise",
            "weight",
            hint="leave the weight out, or make sigma larger where the model is not trusted",
        )
    section.finish()
    return draft


def _noise(section: Section) -> NoiseChoice | None:
    given = section.raw("noise", None)
    if given is None:
        return None
    table = {"model": given} if isinstance(given, str) else given
    if not isinstance(table, Mapping):
        raise section.wrong("noise", given, "a table with 'model', or its name")
    inner = Section(section.source, (*section.keys, "noise"), table)
    model, criterion = inner.text("model"), inner.text("criterion", "aicc")
    order = inner.raw("order", "auto")
    if model not in ("ar", "white"):
        raise inner.wrong("model", model, '"ar" or "white"')
    if criterion not in ("aicc", "bic"):
        raise inner.wrong("criterion", criterion, '"aicc" or "bic"')
    if model == "white" and inner.has("order"):
        raise inner.error("white noise has no order", "order", hint="leave it out")
    whole = isinstance(order, int) and not isinstance(order, bool) and 1 <= order <= LARGEST_ORDER
    if order != "auto" and not whole:
        raise inner.wrong("order", order, f'"auto" or a whole number from 1 to {LARGEST_ORDER}')
    inner.finish()
    return NoiseChoice(
        cast(Literal["ar", "white"], model),
        None if order == "auto" else cast(int, order),
        cast(Criterion, criterion),
    )


def _sigma(
    section: Section,
    sampled: Sampled,
    unit: str | None,
    wanted: str | None,
    measured: F64,
    place: Location,
) -> F64 | None:
    """Return the standard deviation in the wanted unit; ``None`` if it is not given."""
    given = section.raw("sigma", None)
    if given is None:
        return None
    if isinstance(given, str):
        if given not in sampled.table.names:
            raise section.error(
                f"'sigma' names the column '{given}', which '{sampled.table.path}' does not have",
                "sigma",
                hint=did_you_mean(given, sampled.table.names, kind="column"),
                code=Code.UNKNOWN_NAME,
            )
        values = np.where(np.isfinite(measured), sampled.values(given), 1.0)
        unit = sampled.table.units.get(given) or unit
    else:
        values = np.asarray(section.number("sigma"), dtype=np.float64)
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


def _decimation(section: Section, values: F64, grid: Grid, path: Path | None) -> Decimation | None:
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
        raise section.at_key(error, "decimate") from error
    inner.finish()
    if not np.isfinite(values).all() or path is not None:
        raise section.error(
            "an output with gaps, or from a file of its own, cannot be decimated",
            "decimate",
            hint="write replace = true in 'hampel'" if grid.main.table.outliers else None,
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
    if not np.isfinite(number):
        raise section.error(f"{section.title}: '{key}' must be finite, not {number:g}", key)
    return number
