"""Results with nested names and arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fmident.estimation.result import EstimationResult, ParameterEstimate

MakeResult = Callable[..., EstimationResult]


def estimate(
    variable: str | None, value: float, error: float = np.nan, **changes: object
) -> ParameterEstimate:
    """Return an estimate of a variable; keywords replace fields."""
    fields: dict[str, object] = {
        "name": variable or "delay",
        "unit": "kg",
        "description": "Mass",
        "initial": 1.0,
        "value": value,
        "standard_error": error,
        "interval_95": (value - 2 * error, value + 2 * error),
        "lower": 0.0,
        "upper": np.inf,
        "at_bound": False,
        "fixed": False,
        "variable": variable,
        **changes,
    }
    return ParameterEstimate(**fields)  # type: ignore[arg-type]


@pytest.fixture
def make_result() -> MakeResult:
    """Return a factory of results with the given estimates."""

    def make(*estimates: ParameterEstimate, model: str = "Plants.Plant") -> EstimationResult:
        return EstimationResult(
            status="converged",
            message="done",
            estimator="least-squares",
            estimates=estimates,
            covariance=np.eye(1),
            correlation=np.eye(1),
            identifiability=None,
            cost_initial=2.0,
            cost_final=1.0,
            simulations=3,
            jacobians=1,
            seconds=0.1,
            history=(),
            fits=(),
            fmu_name=model,
        )

    return make
