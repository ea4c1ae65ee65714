"""The conformance suite, run over every registered estimator.

What is checked is :mod:`fmident.testing`, which authors of plugins run on their own. An estimator
of an installed plugin is picked up by itself, on the problems of the kind that it requires.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from fmident.estimation import Estimator
from fmident.plugins import load_plugins
from fmident.testing import (
    Check,
    ConformanceProblem,
    Subject,
    conformance_problems,
    estimator_checks,
)

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "least-squares": [
        {},
        {"loss": "huber"},
        {"starts": 3},
    ],
    "special-genetic": [
        {"survivors": 5, "children": 5},
        {"survivors": 8, "children": 8},
        {"survivors": 8, "children": 8, "start_from_initial": False},
    ],
    "particle-swarm": [{"generations": 200}, {}],
    "posterior": [
        {"effective": 100, "r_hat": 1.1, "max_draws": 5000},
        {"effective": 400, "r_hat": 1.05},
    ],
    "binary-genetic": [{"generations": 40}, {"generations": 40, "elites": 0, "gray": True}],
    "cma-es": [{}, {"restarts": 1}],
    "algebraic": [{}, {"final": "last", "rows": 3}],
    "kalman-bucy": [{}, {"forgetting": 0.999}],
    "extended-kalman": [{}, {"every": 2}],
    "linear-regression": [{}, {"weighting": "residual"}],
}
"""Options under which an estimator is to be checked; else those of its class.

Each change is checked with the first, which end a search that cannot succeed after few simulations.
"""

ELSEWHERE = {"least-squares": ("lag", "load"), "extended-kalman": ("decay", "load")}
"""Further problems, for estimators that say that they can do with other models, too."""

_CURVED = (
    "the filter linearises once per sample, and in logarithms even a linear model is curved: from "
    "half of the true values it comes within 2 %, but its standard errors are smaller"
)

KNOWN: dict[tuple[str, str, str], str] = {
    ("extended-kalman", "lag", "log_scaling"): _CURVED,
    ("extended-kalman", "load", "log_scaling"): _CURVED,
}
"""What an estimator cannot do, by estimator, problem and check; it has to fail, or it goes."""

CLAIMS_NOTHING = {"binary-genetic"}
"""Built-in estimators that only ever run out of generations."""


def registered() -> Iterator[tuple[type[Estimator[Any]], list[Mapping[str, Any]]]]:
    for name, registration in load_plugins().estimators.registrations.items():
        yield registration.item, VARIANTS.get(name, list(registration.item.trials))


def every_check() -> list[Any]:
    found = []
    for kind, tables in registered():
        quick = tables[:1]
        others = [b for b in conformance_problems() if b.name in ELSEWHERE.get(kind.name, ())]
        further = estimator_checks(kind, trials=tables[:1], problems=others) if others else []
        for check in [*estimator_checks(kind, trials=tables), *further]:
            reason = KNOWN.get((kind.name, check.subject.bench.name, check.name))
            marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
            if check.subject.options not in quick:
                marks.append(pytest.mark.nightly)
            elif check in further or kind.name != "least-squares":
                marks.append(pytest.mark.slow)
            found.append(pytest.param(check, id=str(check), marks=marks))
    return found


@pytest.mark.parametrize("check", every_check())
def test_conformance(check: Check) -> None:
    check()


def test_every_registered_estimator_is_checked() -> None:
    checked = {item.values[0].subject.kind.name for item in every_check()}
    assert checked == set(load_plugins().estimators.names())
    assert {"least-squares", "algebraic", "extended-kalman", "linear-regression"} <= checked


def test_each_problem_of_the_catalogue_is_used() -> None:
    used = {item.values[0].subject.bench.name for item in every_check()}
    assert used == {bench.name for bench in conformance_problems()}


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(
            check.subject,
            id=str(check).removesuffix(f"-{check.name}"),
            marks=[] if check.subject.options in tables[:1] else pytest.mark.nightly,
        )
        for kind, tables in registered()
        if kind.__module__.startswith("fmident_estimators.") and kind.name not in CLAIMS_NOTHING
        for check in estimator_checks(kind, trials=tables)
        if check.name == "the_truth_lies_in_the_intervals"
    ],
)
def test_built_in_estimators_come_to_an_end_of_their_own(subject: Subject) -> None:
    """The suite takes a limit for an answer, since a stranger may need more than its defaults."""
    assert subject.run(subject.bench.problem()).status == "converged"


@pytest.mark.parametrize(
    "bench", [b for b in conformance_problems() if b.name != "decay"], ids=lambda b: b.name
)
def test_the_filter_comes_near_in_logarithms_too(bench: ConformanceProblem) -> None:
    """As the reason of its known failures says."""
    kind = load_plugins().estimators.get("extended-kalman")
    result = Subject(kind, bench).run(bench.problem(scaling="log"))
    assert result.values == pytest.approx(dict(bench.truth), rel=0.02)
