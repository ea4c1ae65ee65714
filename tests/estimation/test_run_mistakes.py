"""Mistakes of an estimator are found, with the name of its plugin."""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fmident.errors import Code, EstimationError, ResourceError
from fmident.estimation import (
    Estimate,
    EstimationResult,
)
from fmident.plugin_code import PLUGIN_BUG
from fmident.statistics.identifiability import DeterminedCombination
from fmident.statistics.residuals import ResidualScores

from ..refused import refused
from .conftest import GOOD


def test_a_bug_in_an_estimator_names_the_plugin_and_keeps_the_cause(run: Any) -> None:
    def buggy(problem, evaluator, monitor):
        return {}["missing"]

    with refused(
        Code.PLUGIN_FAILED, EstimationError, match="'scripted'.*KeyError.*missing"
    ) as caught:
        run(buggy)
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.location is not None
    assert re.search(r"test_run\.py:\d+|conftest\.py:\d+", str(caught.value.location))


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 22.9 MiB"),
        OSError(errno.EMFILE, "Too many open files"),
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        PermissionError(errno.EACCES, "Permission denied", "scratch"),
        OSError(errno.EROFS, "Read-only file system"),
        RuntimeError("can't start new thread"),
        ImportError("_core.so: failed to map segment from shared object"),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_what_the_machine_lacks_is_no_bug_of_the_plugin(
    run: Any, error: Exception, wrapped: bool
) -> None:
    def starved(problem, evaluator, monitor):
        if wrapped:
            raise ValueError("it did not work") from error
        raise error

    with refused(Code.LACKS_RESOURCES, ResourceError) as caught:
        run(starved)
    assert caught.value.hint is not None
    assert PLUGIN_BUG not in caught.value.hint


def test_an_estimator_cannot_end_the_program(run: Any) -> None:
    def leaves(problem, evaluator, monitor):
        sys.exit(3)

    with refused(Code.PLUGIN_FAILED, EstimationError, match="'scripted'.*SystemExit: 3"):
        run(leaves)


def test_an_iteration_of_a_wrong_shape_is_the_plugins_mistake(run: Any) -> None:
    def search(problem, evaluator, monitor):
        monitor.iteration(np.zeros(5), 1.0)
        raise KeyboardInterrupt

    with refused(Code.PLUGIN_FAILED, EstimationError, match=r"'scripted'.*\(5,\)"):
        run(search)


def test_keys_of_details_become_texts(run: Any) -> None:
    found = run(lambda p, e, m: Estimate(GOOD, "converged", "x", {1: "one", (2, 3): "pair"}))
    assert found.settings["1"] == "one"
    assert found.settings["(2, 3)"] == "pair"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, "returned NoneType"),
        (Estimate(np.ones(3), "converged", ""), "2 finite numbers"),
        (Estimate(np.array([1.0, np.nan]), "converged", ""), "2 finite numbers"),
        (Estimate(np.array([1.0, 9.0]), "converged", ""), r"k = 9.0, outside of its bounds"),
    ],
)
def test_an_unusable_answer_is_refused(run: Any, found: Any, words: str) -> None:
    with refused(Code.PLUGIN_FAILED, EstimationError, match=words):
        run(lambda p, e, m: found)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Estimate(np.array([2.0, 1.3]), "konvergiert", "x"), "status 'konvergiert'"),  # type: ignore[arg-type]
        (Estimate(np.array([2.0, 1.3]), "limit", "x", ended_by="Ende"), "ended by 'Ende'"),  # type: ignore[arg-type]
        (Estimate(np.array([2.0, 1.3]), "converged", None), "not a text"),  # type: ignore[arg-type]
        (Estimate(["a", "b"], "converged", "x"), "not numbers"),  # type: ignore[arg-type]
        (Estimate(np.array([[2.0, 1.3]]), "converged", "x"), r"shape \(1, 2\)"),
        (Estimate(np.array([2.0, np.nan]), "converged", "x"), "2 finite numbers"),
        (
            Estimate(np.array([2.0, 1.3]), "converged", "x", residual_weights=np.ones(3)),
            r"residual weights of shape \(3,\)",
        ),
        (
            Estimate(
                np.array([1.0, 2.0]),
                "converged",
                "",
                base=(DeterminedCombination("m", np.ones((1, 3))),),
            ),
            "not one of 2",
        ),
        (Estimate(np.array([2.0, 1.3]), "converged", "x", [1]), "details of type list"),  # type: ignore[arg-type]
    ],
)
def test_an_unusable_estimate_names_the_plugin(run: Any, found: Estimate, words: str) -> None:
    with refused(Code.PLUGIN_FAILED, EstimationError, match=words) as caught:
        run(lambda p, e, m: found)
    assert "'scripted'" in str(caught.value)
    assert "report it to its authors" in str(caught.value)


def test_scores_of_a_wrong_shape_are_the_plugins_mistake(
    run: Callable[..., EstimationResult],
) -> None:
    scores = ResidualScores(np.ones(3), np.ones(3))
    with refused(Code.PLUGIN_FAILED, EstimationError, match=r"\(3,\)"):
        run(lambda *_: Estimate(GOOD, "converged", "x", residual_scores=scores))
