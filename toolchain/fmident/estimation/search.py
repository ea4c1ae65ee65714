"""One search with an estimator, whose answer is checked and whose errors end it in order."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, EstimationError, FmidentError
from fmident.estimation.checks import check_influence
from fmident.estimation.contract import Ending, Estimate, Estimator, Status, StopEstimation
from fmident.estimation.diagnostics import beginning_at
from fmident.estimation.monitor import RunMonitor
from fmident.evaluation import Evaluator, JacobianError
from fmident.plugin_code import PLUGIN_BUG, plugin_failed
from fmident.statistics.identifiability import DeterminedCombination
from fmident.words import counted

if TYPE_CHECKING:
    from fmident.problem.model import Problem


_CUT_SHORT = ("interrupted", "stopped")


@dataclass(frozen=True, eq=False)
class Search:
    """A search with an estimator, which ends with an estimate or a `FmidentError`.

    `again` marks a search after another one, `minimise` a search that minimises the cost alone.
    """

    estimator: Estimator[Any]
    options: Any
    monitor: RunMonitor
    minimise: bool = False
    again: bool = False

    def __call__(self, problem: Problem, evaluator: Evaluator) -> Estimate:
        """Search from the initial values of a problem."""
        estimator = self.estimator
        try:
            if not (self.again or estimator.accepts_inert_parameters):
                check_influence(problem, evaluator, descends=estimator.descends)
            method = estimator.minimise if self.minimise else estimator.estimate
            answer: object = method(problem, evaluator, self.options, self.monitor)
            return _checked(problem, evaluator, estimator, answer)
        except KeyboardInterrupt:
            return self._cut_short(
                problem, evaluator, "interrupted", f"interrupted after {self._iterations}"
            )
        except StopEstimation as request:
            reason = f" ({request})" if str(request) else ""
            message = f"stopped on request after {self._iterations}{reason}"
            return self._cut_short(problem, evaluator, "stopped", message)
        except JacobianError as error:
            hint = f" (hint: {error.hint})" if error.hint else ""
            return self._cut_short(problem, evaluator, "failed", error.message, hint)
        except FmidentError:
            raise
        # A plugin that calls sys.exit must not end the host without a word.
        except (Exception, SystemExit) as error:
            where = type(estimator).__module__
            raise plugin_failed(
                f"the estimator '{estimator.name}'", where, error, kind=EstimationError
            ) from error

    def below(
        self, problem: Problem, evaluator: Evaluator, start: F64, cost: float
    ) -> Estimate | None:
        """Search from another point, shape (n,); return an estimate of a lower cost than `cost`.

        One that was interrupted or stopped is returned in any case, ``None`` otherwise.
        """
        estimate = self(beginning_at(problem, start), evaluator)
        if estimate.status in _CUT_SHORT or evaluator.cost(estimate.parameters) < cost:
            return estimate
        return None

    def _cut_short(
        self, problem: Problem, evaluator: Evaluator, status: Status, message: str, hint: str = ""
    ) -> Estimate:
        """Return the best point so far: the last reported one, since costs may differ."""
        best = evaluator.best
        if self.monitor.history:
            p = np.clip(self.monitor.history[-1].parameters, problem.lower, problem.upper)
        else:
            p = problem.initial if best is None else best[0]
        return Estimate(p, status, f"{message}; the best parameters so far{hint}")

    @property
    def _iterations(self) -> str:
        return counted(max(len(self.monitor.history) - 1, 0), "iteration")


def _checked(
    problem: Problem, evaluator: Evaluator, estimator: Estimator[Any], answer: object
) -> Estimate:
    """Return the answer of an estimator within the bounds; raises for a mistake in it."""
    for mistake in _mistakes(problem, evaluator, answer):
        raise EstimationError(
            f"the estimator '{estimator.name}' {mistake}", hint=PLUGIN_BUG, code=Code.PLUGIN_FAILED
        )
    assert isinstance(answer, Estimate)
    p = np.clip(np.asarray(answer.parameters, dtype=np.float64), problem.lower, problem.upper)
    # Files of a result have keys that are texts; a long run is not lost over another one.
    details = {str(key): value for key, value in answer.details.items()}
    return dataclasses.replace(answer, parameters=p, details=details)


def _mistakes(problem: Problem, evaluator: Evaluator, estimate: object) -> Iterator[str]:
    """Yield what is wrong with the result of an estimator; only the first is of use."""
    if not isinstance(estimate, Estimate):
        yield f"returned {type(estimate).__name__}, not an Estimate"
        return
    for what, value, known in (
        ("returned the status", estimate.status, get_args(Status)),
        ("was ended by", estimate.ended_by, (None, *get_args(Ending))),
    ):
        if value not in known:
            texts = ", ".join(repr(k) for k in known if k is not None)
            yield f"{what} {value!r}, but only {texts} exist"
    if not isinstance(estimate.message, str):
        yield f"returned a message of type {type(estimate.message).__name__}, not a text"
    if not isinstance(estimate.details, Mapping):
        yield f"returned details of type {type(estimate.details).__name__}, not a mapping"
    try:
        p = np.asarray(estimate.parameters, dtype=np.float64)
    except (TypeError, ValueError):
        yield f"returned parameters that are not numbers: {estimate.parameters!r}"
        return
    if p.shape != problem.initial.shape or not bool(np.isfinite(p).all()):
        yield (
            f"returned parameters {p} of shape {p.shape}, but "
            f"{problem.initial.size} finite numbers are expected"
        )
    yield from _mistakes_in_arrays(problem, evaluator, estimate, p)
    slack = 1e-9 * np.maximum(np.abs(p), np.finfo(np.float64).tiny)
    for j in np.flatnonzero((p < problem.lower - slack) | (p > problem.upper + slack)):
        yield (
            f"returned {problem.free[j].name} = {p[j]}, "
            f"outside of its bounds [{problem.lower[j]}, {problem.upper[j]}]"
        )


def _mistakes_in_arrays(
    problem: Problem, evaluator: Evaluator, estimate: Estimate, p: F64
) -> Iterator[str]:
    """Yield what is wrong with weights, scores, draws and combinations of an estimate."""
    weights, scores = estimate.residual_weights, estimate.residual_scores
    if weights is not None or scores is not None:
        count = evaluator.residuals(np.clip(p, problem.lower, problem.upper)).size
        if weights is not None and (
            np.shape(weights) != (count,) or not bool(np.isfinite(weights).all())
        ):
            yield (
                f"returned residual weights of shape {np.shape(weights)}, but {count} finite"
                " numbers are expected"
            )
        count = evaluator.data_residuals(np.clip(p, problem.lower, problem.upper)).size
        if scores is not None and not scores.values.shape == scores.slopes.shape == (count,):
            yield (
                f"returned residual scores of shapes {scores.values.shape} and"
                f" {scores.slopes.shape}, but {count} numbers are expected"
            )
    if (draws := estimate.draws) is not None:
        values, chains = draws.values, draws.densities.shape
        if values.ndim != 3 or values.shape[2] != p.size or chains != values.shape[:2]:
            yield (
                f"returned draws of shape {values.shape} with densities of shape {chains},"
                f" not (chains, draws, {p.size}) and (chains, draws)"
            )
        inside = (draws.flat >= problem.lower) & (draws.flat <= problem.upper)
        if not values.size or not bool(inside.all()):
            yield "returned no draws, or draws outside of the bounds"
    for c in estimate.base:
        if not isinstance(c, DeterminedCombination) or c.sums.shape != (len(c.powers), p.size):
            yield f"returned a combination of parameters that is not one of {p.size}: {c!r}"
