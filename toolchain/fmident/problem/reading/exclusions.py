"""Read ``exclude`` of an experiment and of its outputs, and leave out the samples it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from fmident.arrays import F64
from fmident.data import Exclusion, Measurement
from fmident.errors import Diagnostic, ProblemError
from fmident.problem.reading.parameters import in_expression
from fmident.problem.reading.sampling import Grid
from fmident.problem.relations.condition import Bools, Signals, judged
from fmident.toml_file import Section

TIME = "time"
"""What conditions call the instants."""


def conditions(section: Section) -> tuple[str, ...]:
    """Return the conditions of the key ``exclude``: one text, or a list of them.

    Parameters
    ----------
    section
        Table that may have the key.

    Raises
    ------
    fmident.errors.ProblemError
        It is something else, or there is nothing in it.
    """
    given = section.raw("exclude", None)
    if given is None:
        return ()
    found = [given] if isinstance(given, str) else given
    if not isinstance(found, list) or not all(isinstance(c, str) for c in found):
        raise section.wrong("exclude", given, "a condition such as 'abs(v) < 0.01', or a list")
    if not found or not all(c.strip() for c in found):
        raise section.error(
            f"{section.title}: 'exclude' is empty",
            "exclude",
            hint="write a condition such as 'abs(v) < 0.01', or leave the key out",
        )
    return tuple(found)


def excluded(
    section: Section,
    measurements: Sequence[Measurement],
    inputs: Mapping[str, F64],
    input_units: Mapping[str, str | None],
    grid: Grid,
) -> tuple[Measurement, ...]:
    """Return the outputs without the samples at which a condition holds.

    Parameters
    ----------
    section
        The experiment's table.
    measurements
        Its outputs on the grid.
    inputs, input_units
        Its inputs at the instants of the grid, shape (n,), and their units.
    grid
        All of its files.

    Raises
    ------
    fmident.errors.ProblemError
        A condition that cannot be read, names what does not exist, is unknown at all samples of
        an output or leaves none of them; with its line and column.
    """
    signals = _signals(measurements, inputs, input_units, grid)
    shared = section.table("prepare") if section.has("prepare") else None
    of_all = [] if shared is None else _evaluated(shared, signals)
    outputs = section.table("outputs")
    found = []
    for measurement in measurements:
        entry = outputs.raw(measurement.name)
        own = outputs.table(measurement.name) if isinstance(entry, Mapping) else None
        of_one = [] if own is None else _evaluated(own, signals)
        if shared is not None:
            _refuse_unknown(shared, measurement, of_all)
        if own is not None:
            _refuse_unknown(own, measurement, of_one)
        left = _without(measurement, [*of_all, *of_one])
        if not np.isfinite(left.values).any():
            place = own if own is not None and of_one else shared
            key = ("exclude",) if place is not None and place.has("exclude") else ()
            raise (section if place is None else place).error(
                f"no sample of output '{measurement.name}' is left after the exclusion"
                f"{'' if len(left.exclusions) == 1 else 's'} "
                + ", ".join(f"'{e.reason}'" for e in left.exclusions),
                *key,
                hint="conditions are in the units of the problem; narrow the condition, or leave"
                " the output out",
            )
        if left.decimation is not None and not np.isfinite(left.values).all():
            raise outputs.error(
                f"output '{measurement.name}' cannot be decimated: samples of it are excluded",
                measurement.name,
                hint="leave out 'decimate', or the exclusion",
            )
        found.append(left)
    return tuple(found)


def note_on_exclusions(
    section: Section, name: str, measurements: Sequence[Measurement]
) -> list[Diagnostic]:
    """Return one note that says how many samples of which output are excluded, and why."""
    said = [words for m in measurements for words in exclusion_words(m)]
    if not said:
        return []
    key = ("prepare",) if section.has("prepare") else ("outputs",)
    return [
        Diagnostic(
            "note",
            f"experiment '{name}': " + "; ".join(said),
            location=section.source.where((*section.keys, *key)),
            rule="excluded-samples",
        )
    ]


def exclusion_words(measurement: Measurement) -> list[str]:
    """Return what is excluded or replaced of an output, one text for each reason."""
    before = np.count_nonzero(np.isfinite(measurement.values))
    before += sum(e.samples.size for e in measurement.exclusions if not e.replaced)
    return [
        f"{e.samples.size} of {before} samples of '{measurement.name}'"
        f" {'replaced by the median' if e.replaced else 'excluded'} ({e.reason})"
        for e in measurement.exclusions
    ]


def _signals(
    measurements: Sequence[Measurement],
    inputs: Mapping[str, F64],
    input_units: Mapping[str, str | None],
    grid: Grid,
) -> Signals:
    """Return outputs, inputs, the time, and the other columns of the experiment's file."""
    main = grid.main
    outputs = {m.name: m for m in measurements}
    names = dict.fromkeys([*outputs, *inputs, TIME, *main.table.names])

    def values(name: str) -> tuple[F64, str | None]:
        if name in outputs:
            return outputs[name].values, outputs[name].unit
        if name in inputs:
            return inputs[name], input_units[name]
        if name in (TIME, main.time_column):
            return grid.times, "s"
        return grid.on_grid(None, main.values(name)), main.table.units[name]

    return Signals(list(names), values, grid.times.size)


_Judged: TypeAlias = tuple[str, Bools, Bools]
"""A condition, where it is known to be true, and where to be true or false."""


def _evaluated(section: Section, signals: Signals) -> list[_Judged]:
    found = []
    for text in conditions(section):
        try:
            true, false = judged(text, signals)
            found.append((text, true, true | false))
        except ProblemError as error:
            raise in_expression(section, "exclude", error) from error
    return found


def _refuse_unknown(section: Section, measurement: Measurement, found: Sequence[_Judged]) -> None:
    """Refuse conditions that say nothing of any sample, which would all count."""
    there = np.isfinite(measurement.values)
    for text, _, known in found:
        if there.any() and not (known & there).any():
            raise section.error(
                f"of no sample of output '{measurement.name}' it is known whether '{text}' is true:"
                " what it compares was not measured at these instants",
                "exclude",
                hint="compare inputs, 'time' or signals with samples at these instants, or write"
                " 'exclude' at the outputs for which it can be known",
            )


def _without(measurement: Measurement, found: Sequence[_Judged]) -> Measurement:
    """Return an output without samples; the first condition that holds is the reason."""
    values, exclusions = measurement.values, list(measurement.exclusions)
    for text, holds, _ in found:
        samples = np.flatnonzero(holds & np.isfinite(values))
        exclusions.append(Exclusion(text, samples, values[samples]))
        values = np.where(holds, np.nan, values)
    return replace(measurement, values=values, exclusions=tuple(exclusions))
