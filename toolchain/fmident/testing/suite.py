"""The checks that an estimator has to pass, and the problems for them."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from fmident.errors import FmidentError, ProblemError
from fmident.estimation import Estimator, OnlineEstimator, Requirement, build_options
from fmident.testing import checks
from fmident.testing.problems import ConformanceProblem, conformance_problems
from fmident.testing.subject import ConformanceError, EndlessSearch, Subject

_ONLINE_ONLY = {checks.check_sample_by_sample_is_the_whole_record}
"""Checks of estimators that go through the data sample by sample."""


@dataclass(frozen=True, eq=False)
class Check:
    """One check of one estimator; call it to run it.

    `name` is, for example, ``"several_experiments"``; `function` raises
    :class:`ConformanceError`, or any exception of the estimator.
    """

    name: str
    subject: Subject
    function: Callable[[Subject], None]

    def __call__(self) -> None:
        """Run it; raises `ConformanceError` with the reason if the estimator does not conform."""
        __tracebackhide__ = True
        try:
            self.function(self.subject)
        except EndlessSearch as end:
            raise ConformanceError(
                f"{end} on a problem with {len(self.subject.bench.truth)} parameters: does the "
                "search end when nothing gets better, and when simulations fail? Options that "
                "end it sooner belong into 'trials'"
            ) from end
        except ProblemError as error:
            raise ConformanceError(
                f"it refuses the problem '{self.subject.bench.name}': {error.message}; say in "
                "'requires' what it needs of a problem, or hand over one of your own"
            ) from error

    def __str__(self) -> str:
        return f"{self.subject}-{self.name}"


def estimator_checks(
    kind: type[Estimator[Any]],
    *,
    trials: Iterable[Mapping[str, Any]] | None = None,
    problems: Sequence[ConformanceProblem] | None = None,
) -> list[Check]:
    """Return the checks that an estimator has to pass, for a parametrised test.

    Parameters
    ----------
    kind
        The estimator's class.
    trials
        Tables of options, each of which is checked; those of the class if ``None``.
    problems
        Problems to check it on. ``None``: the first of the catalogue that satisfies the
        requirements of the class.

    Returns
    -------
    list of Check
        At least one per problem and table.

    Raises
    ------
    ConformanceError
        The class or a table cannot be checked, or no problem of the catalogue satisfies the
        requirements of the class.

    Examples
    --------
    With pytest::

        @pytest.mark.parametrize("check", estimator_checks(MyEstimator), ids=str)
        def test_conformance(check):
            check()
    """
    tables = trials if trials is None or isinstance(trials, Mapping) else list(trials)
    _expect_usable(kind, getattr(kind, "trials", None) if trials is None else tables)
    chosen = [_suited(kind)] if problems is None else problems
    subjects = [
        Subject(kind, bench, dict(table))
        for bench in chosen
        for table in (kind.trials if tables is None else tables) or [{}]
    ]
    for subject in subjects:
        _expect_options(subject)
    return [
        Check(name.removeprefix("check_"), subject, function)
        for subject in subjects
        for name, function in vars(checks).items()
        if name.startswith("check_") and _concerns(kind, function)
    ]


def _concerns(kind: type[Estimator[Any]], check: Callable[[Subject], None]) -> bool:
    if check in _ONLINE_ONLY:
        return issubclass(kind, OnlineEstimator)
    if check is checks.check_constraints:
        return kind.keeps_constraints
    # The coefficients of an equation are free or known: none follows from another.
    follows = check is checks.check_parameters_that_follow_from_others
    return not (follows and "linear-equation" in kind.requires)


def check_estimator(
    kind: type[Estimator[Any]],
    *,
    trials: Iterable[Mapping[str, Any]] | None = None,
    problems: Sequence[ConformanceProblem] | None = None,
    known_failures: Mapping[str, str] | None = None,
) -> None:
    """Run all checks of an estimator.

    Parameters
    ----------
    kind, trials, problems
        As for :func:`estimator_checks`.
    known_failures
        Name of a check to the reason why the estimator fails it.

    Raises
    ------
    ConformanceError
        Failed checks, each with the reason; or known failures that passed.
    """
    excused = dict(known_failures or {})
    every = estimator_checks(kind, trials=trials, problems=problems)
    unknown = set(excused) - {check.name for check in every}
    wrong = [f"{name}: there is no such check" for name in sorted(unknown)]
    failed: set[str] = set()
    reasons: dict[tuple[Subject, str], list[str]] = {}
    for check in every:
        # An estimator under test may raise anything, and the others still have to be checked.
        try:
            check()
        except (Exception, SystemExit) as error:
            failed.add(check.name)
            if check.name not in excused:
                reasons.setdefault((check.subject, _reason(error)), []).append(check.name)
    wrong += [f"{subject}-{_shown(names)}: {why}" for (subject, why), names in reasons.items()]
    passed = set(excused) - failed - unknown
    wrong += [f"{name}: excused, but passed" for name in sorted(passed)]
    if wrong:
        count = sum(map(len, reasons.values()))
        lines = [f"{kind.name}: {count} of {len(every)} checks failed", *wrong]
        raise ConformanceError("\n".join(lines))


def _expect_options(subject: Subject) -> None:
    table = subject.table(subject.bench.problem())
    try:
        build_options(subject.kind, table)
    except ProblemError as error:
        raise ConformanceError(
            f"{subject}: the options {table} are refused: {error.message}; 'trials' "
            "holds the tables of options for the checks"
        ) from error


def _reason(error: BaseException) -> str:
    """Return the cause of a failure, with its location unless the message has it."""
    if isinstance(error, ConformanceError):
        return str(error)
    where = ""
    if not isinstance(error, FmidentError):
        frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
        where = f" ({frame.f_code.co_filename}:{line})"
    return f"{type(error).__name__}: {error}{where}"


def _shown(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _suited(kind: type[Estimator[Any]]) -> ConformanceProblem:
    for bench in conformance_problems():
        if kind.requires <= bench.provides:
            return bench
    raise ConformanceError(
        f"no problem of the catalogue provides what '{kind.name}' requires: "
        f"{', '.join(sorted(kind.requires))}; hand over one of your own"
    )


def _expect_usable(kind: type[Estimator[Any]], tables: Any) -> None:
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
