"""Read ``[constraints]``."""

from __future__ import annotations

from dataclasses import replace

from fmident.errors import Diagnostic, ProblemError
from fmident.problem.model import Problem
from fmident.problem.reading.parameters import in_expression
from fmident.problem.relations.constraint import Constraint, read_constraint
from fmident.problem.relations.feasibility import check_constraints
from fmident.toml_file import Section


def with_constraints(root: Section, problem: Problem) -> Problem:
    """Return the problem with the constraints of its file, and notes on them.

    Parameters
    ----------
    root
        The file.
    problem
        With all parameters.

    Raises
    ------
    ProblemError
        One cannot be read, names what does not exist, compares different dimensions, or they
        contradict each other.
    """
    table = root.table("constraints", {})
    found: list[Constraint] = []
    for name, _ in table.items():
        text = table.text(name)
        try:
            found += read_constraint(name, text)
        except ProblemError as error:
            raise in_expression(table, name, error) from error
    if not found:
        return problem
    asked = replace(problem, constraints=tuple(found))
    try:
        kept, notes = check_constraints(asked)
    except ProblemError as error:
        raise in_expression(table, str(error.key), error) from error
    located = tuple(note if note.location else _at(note, table, str(key)) for key, note in notes)
    return replace(problem, constraints=kept, notes=(*problem.notes, *located))


def _at(note: Diagnostic, table: Section, key: str) -> Diagnostic:
    return replace(note, location=table.source.where((*table.keys, key)))
