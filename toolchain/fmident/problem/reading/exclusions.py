"""Read ``exclude`` of an experiment and of its outputs, and leave out the samples it means.

Conditions on measured signals, such as ``"abs(v) < 0.01 and time > 2"``.

They compare expressions of :mod:`~fmident.problem.expressions` and join what is compared with
``and``, ``or`` and ``not``. Nothing is evaluated by Python.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.data import Exclusion, Measurement
from fmident.errors import Code, Diagnostic, ProblemError, UnitError, did_you_mean, shown
from fmident.problem.expressions import (
    CONSTANTS,
    FUNCTIONS,
    Binary,
    Call,
    ExpressionError,
    Name,
    Negative,
    Node,
    Number,
    Token,
    TreeReader,
    known_name,
    nodes,
    tokens,
    unit_or_none,
)
from fmident.problem.reading.parameters import in_expression
from fmident.problem.reading.sampling import Grid
from fmident.toml_file import Section
from fmident.units import compatible, convert, parse_unit

Bools: TypeAlias = npt.NDArray[np.bool_]

_WORDS = ("and", "or", "not")
_SYMBOLS = {"&": "and", "|": "or", "!": "not", "~": "not"}
_MAY_HOLD = (
    "a condition holds names of signals, numbers, + - * / ^ ( ), comparisons such as '<', 'and',"
    f" 'or', 'not', and {', '.join(FUNCTIONS)}"
)
_COMPARE: dict[str, Callable[[F64, F64], Bools]] = {
    "<": operator.lt,
    "<=": operator.le,
    "≤": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "≥": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
}
_ARITHMETIC: dict[str, Callable[[F64, F64], F64]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
}
_RENAMED = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}


@dataclass(frozen=True)
class Comparison:
    """Expressions and the operators between them: ``low < x <= high`` has three expressions."""

    sides: tuple[Node, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True)
class Joined:
    """Conditions combined by ``and`` or ``or``."""

    word: str
    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Negated:
    """Negation of a condition."""

    inner: Tree


Tree: TypeAlias = Comparison | Joined | Negated


@dataclass(frozen=True)
class Signals:
    """The signals that a condition may use.

    `values` returns the samples of a name, shape (size,), NaN if missing, and their unit.
    """

    names: Sequence[str]
    values: Callable[[str], tuple[F64, str | None]]
    size: int


def where_true(text: str, signals: Signals) -> Bools:
    """Return the samples at which a condition is true, shape (n,).

    Where a signal is missing that decides, it is not known whether the condition is true; it is
    taken for false.

    Parameters
    ----------
    text
        The condition.
    signals
        That it may name.

    Raises
    ------
    fmident.problem.expressions.ExpressionError
        It cannot be read, names what does not exist, or has a unit that fits nothing; with the
        position.
    """
    return judged(text, signals)[0]


def judged(text: str, signals: Signals) -> tuple[Bools, Bools]:
    """Return where a condition is known to be true, and where it is known to be false.

    Parameters and errors are those of :func:`where_true`.
    """
    return _Evaluation(text, signals).of(read_condition(text))


def read_condition(text: str) -> Tree:
    """Return the tree of a condition.

    Raises
    ------
    fmident.problem.expressions.ExpressionError
        It cannot be read; with the position.
    """
    try:
        token_list = tokens(text, _WORDS)
    except ExpressionError as error:
        word = _SYMBOLS.get(text[error.position : error.position + 1])
        error.hint = _MAY_HOLD if word is None else f"write '{word}'"
        raise
    reader = _ConditionReader(text, token_list)
    tree = reader.either(0)
    reader.finished()
    return tree


class _ConditionReader(TreeReader):
    """Recursive-descent parser of a condition."""

    def either(self, depth: int) -> Tree:
        return self._joined("or", self._both, depth)

    def _both(self, depth: int) -> Tree:
        return self._joined("and", self._negated, depth)

    def _joined(self, word: str, part: Callable[[int], Tree], depth: int) -> Tree:
        parts = [part(depth)]
        while self.take(word, kind="name"):
            parts.append(part(depth))
        return parts[0] if len(parts) == 1 else Joined(word, tuple(parts))

    def _negated(self, depth: int) -> Tree:
        self.refuse_depth(depth)
        if self.take("not", kind="name"):
            return Negated(self._negated(depth + 1))
        if _is_condition(self.rest):
            self.take("(")
            inner = self.either(depth + 1)
            self.closed()
            return inner
        return self._comparison(depth)

    def _comparison(self, depth: int) -> Tree:
        sides, operators = [self.sum(depth)], []
        while (here := self.here) is not None and here.text in _COMPARE:
            self.take(here.text)
            operators.append(here.text)
            sides.append(self.sum(depth))
        if not operators:
            here = self.here
            if here is not None and here.text not in (*_WORDS, ")"):
                self.end()
            raise self.error(
                "this is a value, which is neither true nor false",
                hint="compare it, as in 'abs(v) < 0.01'",
            )
        if len(operators) > 1 and not _runs_one_way(operators):
            raise self.error(
                "its comparisons do not run one way",
                hint="join two comparisons with 'and', or write 'low < expression < high'",
            )
        return Comparison(tuple(sides), tuple(operators))

    def atom(self, depth: int) -> Node:
        here = self.here
        if here is not None and here.kind == "name" and here.text in _WORDS:
            raise self.error(f"unexpected '{here.text}'", hint="a comparison is missing there")
        return super().atom(depth)

    def finished(self) -> None:
        """Raise if tokens are left over."""
        here = self.here
        if here is not None and here.text in (*_COMPARE, *_ARITHMETIC):
            raise self.error(
                f"unexpected '{here.text}'",
                hint="what is compared is true or false: join it with 'and' or 'or'",
            )
        self.end()


def _is_condition(rest: Sequence[Token]) -> bool:
    """Return whether the tokens begin with a condition in parentheses rather than a value."""
    depth = 0
    for position, token in enumerate(rest):
        if token.text == "(" and token.kind == "operator":
            depth += 1
        elif token.text == ")" and token.kind == "operator":
            depth -= 1
        elif token.text in _COMPARE or (token.kind == "name" and token.text in _WORDS):
            return depth > 0
        if not depth:
            return False
        if position and depth < 0:
            return False
    return False


def _runs_one_way(operators: Sequence[str]) -> bool:
    ways = {"<": "up", "<=": "up", "≤": "up", ">": "down", ">=": "down", "≥": "down"}
    return (
        len(operators) == 2
        and len({ways.get(o, o) for o in operators}) == 1
        and (operators[0] in ways)
    )


class _Evaluation:
    """Evaluator of a condition in three-valued logic: true, false or unknown."""

    def __init__(self, text: str, signals: Signals) -> None:
        self._text, self._signals = text, signals

    def of(self, tree: Tree) -> tuple[Bools, Bools]:
        match tree:
            case Negated(inner):
                true, false = self.of(inner)
                return false, true
            case Joined(word, parts):
                truths = [self.of(part) for part in parts]
                every, some = (0, 1) if word == "and" else (1, 0)
                sides = (
                    np.logical_and.reduce([f[every] for f in truths]),
                    np.logical_or.reduce([f[some] for f in truths]),
                )
                return sides if word == "and" else (sides[1], sides[0])
            case Comparison(sides, operators):
                return self._compared(sides, operators)

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
            holds = _COMPARE[sign](left, right)
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
            if not _same(first, unit):
                raise ExpressionError(
                    f"'{shown(self._text)}': '{other.name}' is in '{first}', and '{name.name}' in"
                    f" '{unit}'",
                    self._text,
                    name.position,
                    hint="multiply one of them by a factor that makes both comparable",
                    code=Code.UNITS_DIFFER,
                )
        return known[0][0] if known and None not in names_by_unit else None

    def _known(self, node: Name) -> str | None:
        """Return the signal of a name; ``None`` for a constant."""
        name = known_name(node.name, self._signals.names)
        if name is None and node.name not in CONSTANTS:
            raise ExpressionError(
                f"'{shown(self._text)}': there is no signal '{node.name}'",
                self._text,
                node.position,
                hint=did_you_mean(node.name, self._signals.names, kind="signal"),
                code=Code.UNKNOWN_NAME,
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
            case Negative(inner):
                return -self._value(inner, unit)
            case Call(function, inner):
                assert function in FUNCTIONS
                apply = getattr(np, _RENAMED.get(function, function))
                values: F64 = apply(self._value(inner, unit if function == "abs" else None))
                return values
            case Binary(sign, left, right):
                inside = unit if sign in "+-" else None
                return _ARITHMETIC[sign](self._value(left, inside), self._value(right, inside))

    def _converted(self, number: Number, unit: str | None) -> float:
        """Return a number in the unit of the expression it is compared with or added to."""
        assert number.unit is not None
        try:
            own = parse_unit(number.unit)
        except UnitError as error:
            raise ExpressionError(
                f"'{shown(self._text)}': {error.message}",
                self._text,
                number.position,
                hint=error.hint,
                code=error.code,
            ) from error
        if unit == number.unit:
            return number.value
        target = unit_or_none(unit)
        if target is None:
            raise self._error(
                f"the unit of what '{number.value:g} {number.unit}' is compared with is not known",
                number,
                hint="leave out the unit, and write the number in the units of the signals",
            )
        if not compatible(own, target) or own.offset or target.offset:
            raise ExpressionError(
                f"'{shown(self._text)}': '{number.value:g} {number.unit}' is compared with a signal"
                f" in '{unit}'",
                self._text,
                number.position,
                hint=f"write the number in '{unit}'",
                code=Code.UNITS_DIFFER,
            )
        return float(convert(np.array(number.value), own, target))

    def _error(self, what: str, node: Node, hint: str | None = None) -> ExpressionError:
        return ExpressionError(f"'{shown(self._text)}': {what}", self._text, node.position, hint)


def _terms(node: Node) -> Iterator[Node]:
    """Yield the terms added in an expression, which must have the same unit."""
    match node:
        case Negative(inner) | Call("abs", inner):
            yield from _terms(inner)
        case Binary("+" | "-", left, right):
            yield from _terms(left)
            yield from _terms(right)
        case _:
            yield node


def _same(a: str, b: str) -> bool:
    """Return whether two texts denote the same unit."""
    one, other = unit_or_none(a), unit_or_none(b)
    if one is None or other is None:
        return a == b
    return compatible(one, other) and (one.factor, one.offset) == (other.factor, other.offset)


TIME = "time"
"""What conditions call the instants."""


def conditions(section: Section) -> tuple[str, ...]:
    """Return the conditions of the key ``exclude``, which is a string or a list of strings.

    Raises `ProblemError` if it is something else or empty.
    """
    given = section.raw("exclude", None)
    if given is None:
        return ()
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(c, str) for c in texts):
        raise section.wrong("exclude", given, "a condition such as 'abs(v) < 0.01', or a list")
    if not texts or not all(c.strip() for c in texts):
        raise section.error(
            f"{section.title}: 'exclude' is empty",
            "exclude",
            hint="write a condition such as 'abs(v) < 0.01', or leave the key out",
        )
    return tuple(texts)


def excluded(
    section: Section,
    measurements: Sequence[Measurement],
    inputs: Mapping[str, F64],
    input_units: Mapping[str, str | None],
    grid: Grid,
) -> tuple[Measurement, ...]:
    """Return the outputs without the samples at which a condition holds.

    `section` is the table of the experiment; `inputs` are at the instants of the grid of
    all its files, shape (n,). Raises `ProblemError`, with line and column, if a condition
    cannot be parsed, names an unknown signal, is undetermined at all samples of an output
    or leaves none of them.
    """
    signals = _signals(measurements, inputs, input_units, grid)
    shared = section.table("prepare") if section.has("prepare") else None
    of_all = [] if shared is None else _evaluated(shared, signals)
    outputs = section.table("outputs")
    remaining = []
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
            location=section.source.where((*section.keys, *key)),
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
    """Return outputs, inputs, time and the other columns of the experiment's file."""
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
    evaluated = []
    for text in conditions(section):
        try:
            true, false = judged(text, signals)
            evaluated.append((text, true, true | false))
        except ProblemError as error:
            raise in_expression(section, "exclude", error) from error
    return evaluated


def _refuse_unknown(section: Section, measurement: Measurement, found: Sequence[_Judged]) -> None:
    """Reject conditions that are undetermined at every sample, so that none is excluded."""
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
    """Return an output without the samples; the first condition that holds is the reason."""
    values, exclusions = measurement.values, list(measurement.exclusions)
    for text, holds, _ in found:
        samples = np.flatnonzero(holds & np.isfinite(values))
        exclusions.append(Exclusion(text, samples, values[samples]))
        values = np.where(holds, np.nan, values)
    return replace(measurement, values=values, exclusions=tuple(exclusions))
