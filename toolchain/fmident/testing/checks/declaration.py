"""Whether the class says what the host needs to know."""

from __future__ import annotations

import dataclasses
from typing import get_args

from fmident.errors import ProblemError
from fmident.estimation import Requirement, build_options
from fmident.testing.subject import Subject, expect


def check_name_and_summary(subject: Subject) -> None:
    """There is a name, a line for ``fmident plugins``, and words for what is required."""
    kind = subject.kind
    expect(bool(kind.name.strip()), "the name is empty")
    expect(bool(kind.summary.strip()), "the summary is empty")
    expect("\n" not in kind.summary, "the summary has more than one line")
    expect(
        bool(kind.requires) <= bool(kind.needs),
        "'requires' is for machines: say the same in words, in 'needs'",
    )
    unknown = kind.requires - {*get_args(Requirement)}
    expect(not unknown, f"'requires' has words that do not exist: {', '.join(sorted(unknown))}")


def check_options(subject: Subject) -> None:
    """Defaults make valid options, frozen; what is not an option is refused."""
    problem = subject.bench.problem()
    for raw in ({}, subject.table(problem)):
        options = build_options(subject.kind, raw)
        expect(dataclasses.is_dataclass(options), "options_type is no dataclass")
        frozen = options.__dataclass_params__.frozen
        expect(frozen, "options_type is not frozen: @dataclass(frozen=True)")
    subject.kind().check_problem(problem, options)
    try:
        build_options(subject.kind, {"no_such_option": 1})
    except ProblemError:
        return
    expect(False, "an unknown option was taken")
