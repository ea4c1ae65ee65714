"""Every estimator that comes with fmident goes on as if nothing had happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fmident.errors import EstimationError
from fmident.estimation.result import EstimationResult
from fmident.estimation.run import run_estimation
from fmident.evaluation import Evaluator, SimulationFailure
from fmident.plugins import load_plugins
from fmident.problem.model import Problem

from .conftest import Counting, Recorded

OPTIONS: dict[str, dict[str, Any]] = {
    "least-squares": {"starts": 3},
    "differential-evolution": {"generations": 12},
    "particle-swarm": {"generations": 12},
    "cma-es": {"generations": 15},
    "special-genetic": {"generations": 8, "initial_population": 30},
    "binary-genetic": {"generations": 12, "population": 16},
}


def estimate(
    problem: Problem, name: str, folder: Path, thrifty: int, *, differentiable: bool = False
) -> tuple[Any, Recorded]:
    run = Recorded(problem, folder, thrifty=thrifty, differentiable=differentiable)
    estimator = load_plugins().estimators.get(name)()
    try:
        with Evaluator(problem, run.executor) as evaluator:
            return run_estimation(problem, evaluator, estimator, OPTIONS[name]), run
    finally:
        run.close()


def plain(result: EstimationResult) -> dict[str, Any]:
    """Return everything of a result but times and where simulations came from."""
    history = [
        (s.number, s.parameters.tobytes(), s.cost, s.simulations, s.jacobians,
         {k: v for k, v in s.details.items() if k != "restored"})
        for s in result.history
    ]  # fmt: skip
    return {
        "history": history,
        "values": [(e.name, e.value, e.standard_error) for e in result.estimates],
        "covariance": result.covariance.tobytes(),
        "ended": (result.status, result.message, result.cost_final, result.notes),
        "counts": (result.simulations, result.jacobians),
        "fits": [f.fitted.tobytes() for f in result.fits],
        "generations": repr(result.generations),
    }


@pytest.mark.each_time(  # of sensitivities those of the one estimator that asks for them
    "sensitivities-least-squares-costs",
    "sensitivities-least-squares-outputs",
    *(f"differences-{name}-{kept}" for name in OPTIONS for kept in ("costs", "outputs")),
)
@pytest.mark.parametrize("thrifty", [0, 1 << 40], ids=["costs", "outputs"])
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("sensitive", [False, True], ids=["differences", "sensitivities"])
def test_goes_on_to_the_same_result(
    problem: Problem,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    thrifty: int,
    sensitive: bool,
) -> None:
    whole, run = estimate(problem, name, tmp_path / "whole", thrifty, differentiable=sensitive)
    assert any(task.sensitivities for task in run.inner.ran) == sensitive
    total = len(run.inner.ran)
    done: list[object] = []
    real = Counting._run_one

    def killed(self: Counting, *arguments: Any) -> Any:
        if len(done) == 2 * total // 3:
            raise ArithmeticError("stands for whatever ends a process")
        outcome = real(self, *arguments)
        # A failure that is not final is to be run again.
        final = not isinstance(outcome, SimulationFailure) or outcome.final
        task = arguments[2]
        ran = tuple(task.values.values()), task.tolerance, task.sensitivities
        done.append(ran if final else ())
        return outcome

    monkeypatch.setattr(Counting, "_run_one", killed)
    with pytest.raises(EstimationError, match="stands for whatever"):
        estimate(problem, name, tmp_path / "part", thrifty, differentiable=sensitive)
    monkeypatch.undo()
    again, run = estimate(problem, name, tmp_path / "part", thrifty, differentiable=sensitive)
    assert plain(again) == plain(whole)
    ran = {(tuple(t.values.values()), t.tolerance, t.sensitivities) for t in run.inner.ran}
    repeated = ran & set(done)
    # With costs only, the points that an estimator looks at more closely run again.
    assert len(repeated) <= (8 if thrifty == 0 else 0)
    assert run.executor.served.restored > 0
