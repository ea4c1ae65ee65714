"""Whether the class says what the host needs to know."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from fmident.errors import ProblemError
from fmident.estimation import Estimator, Requirement, build_options
from fmident.testing.subject import ConformanceError, Subject, expect


def check_name_and_summary(subject: Subject) -> None:
    """There is a line for ``fmident plugins``, and the requirements have descriptions.

    The name is checked before all others, see :func:`expect_usable`.
    """
    kind = subject.kind
    expect(bool(kind.summary.strip()), "the summary is empty: one line for 'fmident plugins'")
    expect("\n" not in kind.summary, "the summary has more than one line")
    expect(
        bool(kind.requires) <= bool(kind.needs),
        "'requires' is for machines: say the same in words, in 'needs'",
    )


def check_options(subject: Subject) -> None:
    """Default values form valid, frozen options; unknown options are rejected."""
    problem = subject.bench.problem()
    defaults: list[dict[str, Any]] = [] if _has_required_fields(subject.kind.options_type) else [{}]
    for raw in (*defaults, subject.table(problem)):
        options = build_options(subject.kind, raw)
        frozen = options.__dataclass_params__.frozen
        expect(frozen, "options_type is not frozen: @dataclass(frozen=True)")
    subject.kind().check_problem(problem, options)
    try:
        build_options(subject.kind, {"no_such_option": 1})
    except ProblemError:
        return
    expect(False, "an unknown option was taken")


def expect_usable(kind: type[Estimator[Any]], tables: Any) -> None:
    """Raise `ConformanceError` with everything that prevents the checks, and its remedy.

    `kind` is supposedly an estimator class, and `tables` are tables of options for the
    checks.
    """
    if not (isinstance(kind, type) and issubclass(kind, Estimator)):
        raise ConformanceError(f"{kind!r} is not a subclass of fmident.estimation.Estimator")
    wrong = [*_wrong_class(kind), *_wrong_tables(tables)]
    if wrong:
        raise ConformanceError(f"{kind.__name__} cannot be checked: " + "; ".join(wrong))


def _wrong_class(kind: type[Estimator[Any]]) -> Iterator[str]:
    name = getattr(kind, "name", None)
    if not isinstance(name, str) or not name or any(c.isspace() for c in name):
        yield f"its name is {name!r}: write one word, such as name = 'my-search'"
    options = getattr(kind, "options_type", None)
    if not (isinstance(options, type) and dataclasses.is_dataclass(options)):
        yield f"its options_type is {options!r}: write a frozen dataclass, also without any field"
    elif "name" in {f.name for f in dataclasses.fields(options)}:
        yield "no option can be called 'name': that key of [estimator] chooses the estimator"
    words = get_args(Requirement)
    if not isinstance(kind.requires, (frozenset, set)) or not kind.requires <= {*words}:
        yield f"its 'requires' is {kind.requires!r}: write a frozenset of " + ", ".join(words)
    lacking = sorted(getattr(kind, "__abstractmethods__", ()))
    if lacking:
        yield f"it lacks the method {', '.join(lacking)}"
        return
    try:
        kind()
    except TypeError as error:
        yield f"the host makes an instance without arguments, but {error}"


def _wrong_tables(tables: Any) -> Iterator[str]:
    sequence = isinstance(tables, (list, tuple))
    if not sequence or not all(isinstance(table, Mapping) for table in tables):
        yield f"its 'trials' are {tables!r}: write a list of tables, such as [{{'samples': 60}}]"


def _has_required_fields(options_type: type[Any]) -> bool:
    missing = dataclasses.MISSING
    return any(
        f.init and f.default is missing and f.default_factory is missing
        for f in dataclasses.fields(options_type)
    )
