"""A problem file to start from: which column is which variable, and where to search.

Columns are assigned to inputs and outputs by names, descriptions and units: the assignment with
the largest sum of scores (a linear sum assignment).
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from fmident.fmu import ModelDescription, Variable
from fmident.toml_file import encoded, quoted
from fmident.units import compatible, unit_or_none

_LEAST = 0.5
"""Score below which a column is not proposed."""

_SAME_DIMENSION = 0.3
_SHORTEST = 3
"""Letters of a word that may stand for a longer one, as in ``pos``."""

_DECADE = 10.0
"""Searched around a value without limits: a tenth of it to ten times."""


@dataclass(frozen=True)
class Match:
    """A column proposed for a variable.

    It is `certain` if the names are the same but for case and separators, or if no other
    variable and no other column have this dimension.
    """

    variable: str
    column: str
    certain: bool


@dataclass(frozen=True)
class DataFile:
    """A data file of a proposal.

    `path` is as written in the problem file; `keys` are those of ``[[experiments]]`` that say how
    it is read; `columns` are names with units, ``None`` where unknown, without the time.
    """

    path: str
    columns: Mapping[str, str | None]
    keys: Mapping[str, object]


def matched_columns(
    variables: Sequence[Variable], columns: Mapping[str, str | None]
) -> dict[str, Match]:
    """Return the proposals, by variable; `columns` are names with units as in the header."""
    if not variables or not columns:
        return {}
    scores = np.array([[_likeness(v, c, columns[c]) for c in columns] for v in variables])
    ours = [_dimension(v.unit) for v in variables]
    theirs = [_dimension(unit) for unit in columns.values()]
    frequency = Counter(ours), Counter(theirs)
    certain = scores >= 1.0
    for i, dimension in enumerate(ours):
        for j, other in enumerate(theirs):
            if dimension is not None and dimension == other:
                scores[i, j] += _SAME_DIMENSION
                certain[i, j] |= all(counts[dimension] == 1 for counts in frequency)
    scores += certain
    names = list(columns)
    rows, chosen = linear_sum_assignment(scores, maximize=True)
    return {
        variables[i].name: Match(variables[i].name, names[j], bool(certain[i, j]))
        for i, j in zip(rows.tolist(), chosen.tolist(), strict=True)
        if scores[i, j] >= _LEAST
    }


def _dimension(unit: str | None) -> str | None:
    """Return a unit in base units, angles included; ``None`` if unknown or a plain number."""
    known = unit_or_none(unit)
    return None if known is None or known.si == "1" else known.si


def _likeness(variable: Variable, column: str, unit: str | None) -> float:
    """Return how alike a variable and a column are: 0 to 1; 1 for the same name."""
    one, other = unit_or_none(variable.unit), unit_or_none(unit)
    if one is not None and other is not None and not compatible(one, other):
        return 0.0
    ours, theirs = _words(variable.name), _words(column)
    if "".join(ours) == "".join(theirs):
        return 1.0
    letters = difflib.SequenceMatcher(None, "".join(ours), "".join(theirs)).ratio()
    described = _shared(theirs, _words(variable.description)) / max(len(theirs), 1)
    named = _shared(theirs, ours) / max(min(len(ours), len(theirs)), 1)
    return max(0.8 * named, 0.7 * letters, 0.6 * described)


def _words(name: str) -> list[str]:
    return [w.lower() for w in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_]+", name)]


def _shared(words: Sequence[str], others: Sequence[str]) -> int:
    """Return how many words are among others, or abbreviate one of them, or the reverse."""
    return sum(
        any(
            w == o or (min(len(w), len(o)) >= _SHORTEST and (o.startswith(w) or w.startswith(o)))
            for o in others
        )
        for w in words
    )


def search_range(variable: Variable) -> tuple[float, float] | None:
    """Return bounds to search a parameter in: its limits, or a decade to both sides.

    ``None`` for a parameter that is zero and has no limits.
    """
    start = float(variable.start) if isinstance(variable.start, int | float) else 0.0
    around = sorted((start / _DECADE, start * _DECADE))
    limits = (variable.minimum, variable.maximum)
    low, high = (
        other if limit is None or not math.isfinite(limit) else limit
        for limit, other in zip(limits, around, strict=True)
    )
    if variable.minimum is not None and math.isfinite(variable.minimum) and start > 0.0:
        low = max(low, around[0])
    return (low, high) if low < high else None


def searchable(description: ModelDescription) -> list[Variable]:
    """Return the parameters that an estimation could search."""
    return [
        v
        for v in description.settable_parameters
        if v.type == "Real" and v.causality == "parameter"
    ]


def proposed_problem(
    description: ModelDescription,
    fmu: str,
    files: Sequence[DataFile],
    parameters: Sequence[str] = (),
) -> str:
    """Return a problem file; what is uncertain in it is a comment.

    Parameters
    ----------
    description
        Of the FMU.
    fmu
        Path as written in the file.
    files
        An experiment each.
    parameters
        The searched ones; the others that could be searched are comments.

    Returns
    -------
    str
        TOML.
    """
    lines = ["[model]", f"fmu = {encoded(fmu)}"]
    for variable in searchable(description):
        meaning = ", ".join(filter(None, [variable.description, variable.unit]))
        table = [f"[parameters.{quoted(variable.name)}]" + (f"  # {meaning}" if meaning else "")]
        table.append(f"initial = {encoded(variable.start if variable.start is not None else 0.0)}")
        if bounds := search_range(variable):
            table.append(f"bounds = {encoded(bounds)}")
        lines += ["", *(table if variable.name in parameters else [f"# {t}" for t in table])]
    for file in files:
        lines += ["", "[[experiments]]", f"data = {encoded(file.path)}"]
        lines += [f"{key} = {encoded(value)}" for key, value in file.keys.items()]
        lines += ["", *signal_tables(description, file.columns)]
    return "\n".join([*lines, "", "[estimator]", 'name = "least-squares"', ""])


def signal_tables(
    description: ModelDescription | None, columns: Mapping[str, str | None]
) -> list[str]:
    """Return lines of the tables of inputs and outputs; uncertain ones are comments.

    Without a description all columns are offered for both.
    """
    signals = {"inputs": (), "outputs": ()} if description is None else {
        "inputs": description.inputs, "outputs": description.outputs
    }  # fmt: skip
    matches = matched_columns([v for some in signals.values() for v in some], columns)
    lines = []
    for table, variables in signals.items():
        lines += ["", f"[experiments.{table}]".ljust(24) + "# FMU variable = column"]
        if description is None:
            lines += [f"# {quoted(c)} = {encoded(c)}" for c in columns]
        for variable in variables:
            match = matches.get(variable.name)
            mark = "" if match is not None and match.certain else "# "
            column = "" if match is None else match.column
            lines.append(f"{mark}{quoted(variable.name)} = {encoded(column)}")
    return lines[1:]
