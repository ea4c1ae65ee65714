"""Sensitivities of planned measurements, from the model's own."""

from __future__ import annotations

import numpy as np

from fmident.designing.excitation import Information
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem import Parameter


def pendulum(times, inputs, inertia, moment):
    return {"tau": inertia * inputs["u"] + moment * np.sin(inputs["u"])}


SLOPES = {
    "inertia": lambda times, inputs, inertia, moment: {"tau": inputs["u"]},
    "moment": lambda times, inputs, inertia, moment: {"tau": np.sin(inputs["u"])},
}


def test_a_motion_takes_one_simulation() -> None:
    times = np.linspace(0.0, 1.0, 11)
    parameters = [Parameter(n, 0.5, 0.0, 2.0, variable=n, scale=0.5) for n in SLOPES]
    still = {"u": 0.0 * times}
    problem = python_problem({"tau": 0.0 * times}, times, parameters, inputs=still, sigma=0.1)
    found = []
    for slopes in (SLOPES, {}):
        with Evaluator(problem, PythonExecutor(problem, pendulum, slopes)) as evaluator:
            information = Information(evaluator, {"tau": 0.05})
            columns = information.sensitivities(times, {"u": np.sin(3.0 * times)})
            found.append((columns, evaluator.simulations))
    (exact, one), (differenced, four) = found
    assert (one, four) == (1, 4)
    np.testing.assert_allclose(exact, differenced, rtol=1e-9, atol=1e-12)
