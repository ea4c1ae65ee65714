"""Read ``exclude`` of an experiment and of its outputs, and leave out the samples it means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.data import Exclusion, Measurement
from fmident.errors import Code, Diagnostic, ProblemError, UnitError, did_you_mean, shown
from fmident.problem.expressions import (
    COMPARISONS,
    CONSTANTS,
    Comparison,
    ExpressionError,
    Name,
    Node,
    Number,
    Operation,
    applied,
    known_name,
    nodes,
    read_condition,
)
from fmident.problem.reading.parameters import in_expression
from fmident.problem.reading.sampling import Grid
from fmident.problem.reading.tables import ExperimentTable, OutputTable, PrepareTable, several
from fmident.toml_file import Section
from fmident.units import compatible, convert, parse_unit, same_unit, unit_or_none

Bools: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Signals:
    """The signals that a condition may use.

    `values` returns the samples of a name, shape (size,), NaN if missing, and their unit.
    """

    names: Sequence[str]
    values: Callable[[str], tuple[F64, str | None]]
    size: int


def judged(text: str, signals: Signals) -> tuple[Bools, Bools]:
    """Return where a condition is known to be true, and where it is known to be false.

    It is neither where a signal is missing that decides. Raises `ExpressionError`, with the
    position, if it cannot be read, names what does not exist, or has a unit that fits nothing.
    """
    return _Evaluation(text, signals).of(read_condition(text))


class _Evaluation:
    """Evaluator of a condition in three-valued logic: true, false or unknown."""

    def __init__(self, text: str, signals: Signals) -> None:
        self._text, self._signals = text, signals

    def of(self, tree: Node) -> tuple[Bools, Bools]:
        match tree:
            case Operation("not", (inner,)):
                true, false = self.of(inner)
                return false, true
            case Operation("and" | "or" as word, (left, right)):
                one, other = self.of(left), self.of(right)
                if word == "and":
                    return one[0] & other[0], one[1] | other[1]
                return one[0] | other[0], one[1] & other[1]
            case Comparison(operators, sides):
                return self._compared(sides, operators)
        raise AssertionError("a value is neither true nor false")

    def _compared(self, sides: Sequence[Node], operators: Sequence[str]) -> tuple[Bools, Bools]:
        if not any(isinstance(n, Name) and self._known(n) for s in sides for n in nodes(s)):
            raise self._error(
                "this compares nothing but numbers",
                sides[0],
                hint="compare a signal: "
                + ", ".join(f"'{n}'" for n in list(self._signals.names)[:12]),
            )
        unit = self._shared_unit(sides)
        with np.errstate(all="ignore"):
            values = [self._value(side, unit) for side in sides]
        true, false = np.ones(self._signals.size, np.bool_), np.zeros(self._signals.size, np.bool_)
        for left, right, sign in zip(values[:-1], values[1:], operators, strict=True):
            known = ~(np.isnan(left) | np.isnan(right))
            holds = COMPARISONS[sign](left, right)
            true &= known & holds
            false |= known & ~holds
        return true, false

    def _shared_unit(self, sides: Sequence[Node]) -> str | None:
        """Return the common unit of the compared expressions; ``None`` if it is unknown."""
        names_by_unit: dict[str | None, Name] = {}
        for name in (n for side in sides for n in _terms(side)):
            signal = self._known(name) if isinstance(name, Name) else None
            if signal is not None and isinstance(name, Name):
                names_by_unit.setdefault(self._signals.values(signal)[1], name)
            elif not isinstance(name, Number | Name):
                return None  # a product, or the like
        known = [(unit, name) for unit, name in names_by_unit.items() if unit is not None]
        for unit, name in known[1:]:
            first, other = known[0]
            if not same_unit(first, unit):
                raise self._error(
                    f"'{other.name}' is in '{first}', and '{name.name}' in '{unit}'",
                    name,
                    "multiply one of them by a factor that makes both comparable",
                    Code.UNITS_DIFFER,
                )
        return known[0][0] if known and None not in names_by_unit else None

    def _known(self, node: Name) -> str | None:
        """Return the signal of a name; ``None`` for a constant."""
        name = known_name(node.name, self._signals.names)
        if name is None and node.name not in CONSTANTS:
            raise self._error(
                f"there is no signal '{node.name}'",
                node,
                did_you_mean(node.name, self._signals.names, kind="signal"),
                Code.UNKNOWN_NAME,
            )
        return name

    def _value(self, node: Node, unit: str | None) -> F64:
        """Return the values of an expression, with numbers converted to `unit`."""
        match node:
            case Number():
                return np.array(node.value if node.unit is None else self._converted(node, unit))
            case Name():
                name = self._known(node)
                if name is None:
                    return np.array(CONSTANTS[node.name])
                return self._signals.values(name)[0]
            case Operation(operator, operands):
                inside = unit if operator in ("+", "-", "abs") else None
                values: F64 = applied(operator, [self._value(o, inside) for o in operands])
                return values
        raise AssertionError("a condition has no value")

    def _converted(self, number: Number, unit: str | None) -> float:
        assert number.unit is not None
        try:
            own = parse_unit(number.unit)
        except UnitError as error:
            raise self._error(error.message, number, error.hint, error.code) from error
        if unit == number.unit:
            return number.value
        target = unit_or_none(unit)
        if target is None:
            raise self._error(
                f"'{number.value:g} {number.unit}' is compared with a quantity of unknown unit",
                number,
                hint="leave out the unit, and write the number in the units of the signals",
            )
        if not compatible(own, target) or own.offset or target.offset:
            raise self._error(
                f"'{number.value:g} {number.unit}' is compared with a signal in '{unit}'",
                number,
                f"write the number in '{unit}'",
                Code.UNITS_DIFFER,
            )
        return float(convert(np.array(number.value), own, target))

    def _error(
        self, what: str, node: Node, hint: str | None, code: str | None = None
    ) -> ExpressionError:
        message = f"'{shown(self._text)}': {what}"
        return ExpressionError(message, self._text, node.position, hint, code)


def _terms(node: Node) -> Iterator[Node]:
    """Yield the terms added in an expression, which must have the same unit."""
    match node:
        case Operation("+" | "-" | "abs", operands):
            for operand in operands:
                yield from _terms(operand)
        case _:
            yield node


TIME = "time"
"""Name of the instants in conditions."""


def conditions(table: PrepareTable | OutputTable) -> tuple[str, ...]:
    """Return the conditions of the key ``exclude``; raise `ProblemError` if one is empty."""
    texts = several(table.exclude)
    if table.section.has("exclude") and not (texts and all(c.strip() for c in texts)):
        raise table.section.error(
            f"{table.section.title}: 'exclude' is empty",
            "exclude",
            hint="write a condition such as 'abs(v) < 0.01', or leave the key out",
        )
    return texts


def excluded(
    table: ExperimentTable,
    measurements: Sequence[Measurement],
    inputs: Mapping[str, F64],
    input_units: Mapping[str, str | None],
    grid: Grid,
) -> tuple[Measurement, ...]:
    """Return the outputs without the samples at which a condition holds.

    `inputs` are at the instants of the grid of all files of the experiment, shape (n,).
    Raises `ProblemError`, with line and column, if a condition cannot be parsed, names an
    unknown signal, is undetermined at all samples of an output or leaves none of them.
    """
    signals = _signals(measurements, inputs, input_units, grid)
    shared = [] if table.prepare is None else _evaluated(table.prepare, signals)
    remaining = []
    for measurement in measurements:
        output = table.outputs[measurement.name]
        own = _evaluated(output, signals)
        for place, judged_there in ((table.prepare, shared), (output, own)):
            if place is not None:
                _refuse_unknown(place.section, measurement, judged_there)
        left = _without(measurement, [*shared, *own])
        if not np.isfinite(left.values).any():
            place = output if own or table.prepare is None else table.prepare
            raise place.section.error(
                f"no sample of output '{measurement.name}' is left after the exclusion"
                f"{'' if len(left.exclusions) == 1 else 's'} "
                + ", ".join(f"'{e.reason}'" for e in left.exclusions),
                *(["exclude"] if place.exclude else []),
                hint="conditions are in the units of the problem; narrow the condition, or leave"
                " the output out",
            )
        if left.decimation is not None and not np.isfinite(left.values).all():
            raise output.section.error(
                f"output '{measurement.name}' cannot be decimated: samples of it are excluded",
                hint="leave out 'decimate', or the exclusion",
            )
        remaining.append(left)
    return tuple(remaining)


def note_on_exclusions(
    section: Section, name: str, measurements: Sequence[Measurement]
) -> list[Diagnostic]:
    """Return a note with the number of excluded samples per output and the reasons, if any."""
    reasons = [words for m in measurements for words in exclusion_words(m)]
    if not reasons:
        return []
    key = ("prepare",) if section.has("prepare") else ("outputs",)
    return [
        Diagnostic(
            "note",
            f"experiment '{name}': " + "; ".join(reasons),
            location=section.where(*key),
            rule="excluded-samples",
        )
    ]


def exclusion_words(measurement: Measurement) -> list[str]:
    """Describe the excluded or replaced samples of an output, a sentence part per reason."""
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


def _evaluated(table: PrepareTable | OutputTable, signals: Signals) -> list[_Judged]:
    evaluated = []
    for text in conditions(table):
        try:
            true, false = judged(text, signals)
            evaluated.append((text, true, true | false))
        except ProblemError as error:
            raise in_expression(table.section, "exclude", error) from error
    return evaluated


def _refuse_unknown(section: Section, measurement: Measurement, found: Sequence[_Judged]) -> None:
    """Reject conditions that are undetermined at every sample, so that none is excluded."""
    there = np.isfinite(measurement.values)
    for text, _, known in found:
        if there.any() and not (known & there).any():
            raise section.error(
                f"whether '{text}' is true is not known at any sample of output"
                f" '{measurement.name}': the signals it compares have no values at these instants",
                "exclude",
                hint="compare inputs, 'time' or signals with samples at these instants, or write"
                " 'exclude' only at outputs for which it is known",
            )


def _without(measurement: Measurement, found: Sequence[_Judged]) -> Measurement:
    """Return an output without the samples; the first condition that holds is the reason."""
    values, exclusions = measurement.values, list(measurement.exclusions)
    for text, holds, _ in found:
        samples = np.flatnonzero(holds & np.isfinite(values))
        exclusions.append(Exclusion(text, samples, values[samples]))
        values = np.where(holds, np.nan, values)
    return replace(measurement, values=values, exclusions=tuple(exclusions))
