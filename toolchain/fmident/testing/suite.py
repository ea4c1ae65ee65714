"""Which checks an estimator has to pass, and on which problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from fmident.errors import ProblemError
from fmident.estimation import Estimator, OnlineEstimator
from fmident.testing.checks import answers, conduct, declaration, repeatability
from fmident.testing.problems import ConformanceProblem, conformance_problems
from fmident.testing.subject import ConformanceError, Subject

_MODULES: tuple[ModuleType, ...] = (declaration, answers, conduct, repeatability)

_ONLINE_ONLY = {answers.check_sample_by_sample_is_the_whole_record}
"""For estimators that go through the data sample by sample; others have nothing to compare.
These are the only checks that do not concern all."""


@dataclass(frozen=True, eq=False)
class Check:
    """One check of one estimator; call it to run it.

    Parameters
    ----------
    name
        Of the check, such as ``"several_experiments"``.
    subject
        The estimator, its options and the problem.
    function
        Raises :class:`ConformanceError`, or whatever the estimator raises.
    """

    name: str
    subject: Subject
    function: Callable[[Subject], None]

    def __call__(self) -> None:
        """Run it.

        Raises
        ------
        ConformanceError
            The estimator does not do what every estimator must; with the reason.
        """
        try:
            self.function(self.subject)
        except ProblemError as error:
            raise ConformanceError(
                f"it refuses the problem '{self.subject.bench.name}': {error.message}; say in "
                "'requires' what it needs of a problem, or hand over one of your own"
            ) from error

    def __str__(self) -> str:
        """Return estimator, options, problem and check, as the name of a test."""
        subject = self.subject
        options = "".join(f"-{value}" for value in subject.options.values())
        return f"{subject.kind.name}{options}-{subject.bench.name}-{self.name}"


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
        Problems to check it on. ``None``: the first of the catalogue that provides what the
        class requires.

    Returns
    -------
    list of Check
        At least one per problem and table.

    Raises
    ------
    ConformanceError
        No problem of the catalogue provides what the class requires.

    Examples
    --------
    With pytest::

        @pytest.mark.parametrize("check", estimator_checks(MyEstimator), ids=str)
        def test_conformance(check):
            check()
    """
    chosen = [_suited(kind)] if problems is None else problems
    tables = [dict(t) for t in (kind.trials if trials is None else trials)] or [{}]
    return [
        Check(name.removeprefix("check_"), Subject(kind, bench, table), function)
        for bench in chosen
        for table in tables
        for module in _MODULES
        for name, function in vars(module).items()
        if name.startswith("check_")
        and (function not in _ONLINE_ONLY or issubclass(kind, OnlineEstimator))
    ]


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
        Name of a check to the reason why the estimator does not pass it.

    Raises
    ------
    ConformanceError
        Checks that are not passed, each with the reason; or known failures that are passed.
    """
    excused = dict(known_failures or {})
    checks = estimator_checks(kind, trials=trials, problems=problems)
    unknown = set(excused) - {check.name for check in checks}
    wrong = [f"{name}: there is no such check" for name in sorted(unknown)]
    failed: set[str] = set()
    for check in checks:
        # An estimator under test may raise anything; the others are to be checked all the same.
        try:
            check()
        except Exception as error:
            failed.add(check.name)
            if check.name not in excused:
                kind_of = "" if isinstance(error, ConformanceError) else f"{type(error).__name__}: "
                wrong.append(f"{check}: {kind_of}{error}")
    passed = set(excused) - failed - unknown
    wrong += [f"{name}: excused, but passed" for name in sorted(passed)]
    if wrong:
        raise ConformanceError("\n".join([f"{len(wrong)} of {len(checks)} checks:", *wrong]))


def _suited(kind: type[Estimator[Any]]) -> ConformanceProblem:
    for bench in conformance_problems():
        if kind.requires <= bench.provides:
            return bench
    raise ConformanceError(
        f"no problem of the catalogue provides what '{kind.name}' requires: "
        f"{', '.join(sorted(kind.requires))}; hand over one of your own"
    )
