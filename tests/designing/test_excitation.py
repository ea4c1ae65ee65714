"""Designed motions, on a pendulum whose best motion can be judged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from fmident.designing import Axis, DesignSettings, design_excitation
from fmident.errors import Code, EstimationError, ProblemError, SimulationError
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.options import OptionError
from fmident.problem.model import Parameter

from ..refused import refused

pytestmark = pytest.mark.slow  # many builds or whole runs

LIMITS = Axis("q", "qd", "qdd", 0.0, (-1.2, 0.9), 3.0, 8.0)
SIGMAS = {"tau": 0.05}
SETTINGS = DesignSettings(4.0, harmonics=3, rate=100.0, starts=2, iterations=15)


def pendulum(times, inputs, inertia, moment, friction=0.0, twin=0.0):
    tau = (inertia + twin) * inputs["qdd"] + 9.81 * moment * np.sin(inputs["q"])
    return {"tau": tau + friction * np.tanh(inputs["qd"] / 0.01)}


def evaluator_of(*names: str, model=pendulum) -> Evaluator:
    times = np.linspace(0.0, 1.0, 5)
    parameters = [Parameter(n, 0.5, 0.0, 2.0, variable=n, scale=0.5) for n in names]
    still = dict.fromkeys(("q", "qd", "qdd"), 0.0 * times)
    problem = python_problem({"tau": 0.0 * times}, times, parameters, inputs=still, sigma=0.05)
    return Evaluator(problem, PythonExecutor(problem, model))


@pytest.fixture
def evaluator() -> Iterator[Evaluator]:
    with evaluator_of("inertia", "moment", "friction") as found:
        yield found


@pytest.mark.parametrize("criterion", ["determinant", "condition"])
def test_limits_hold_and_the_criterion_is_better_than_random(
    evaluator: Evaluator, criterion: str
) -> None:
    settings = DesignSettings(4.0, 3, 100.0, criterion, starts=2, iterations=15)  # type: ignore[arg-type]
    design = design_excitation(evaluator, [LIMITS], SIGMAS, settings)
    assert design.times.size == 401
    assert np.all((design.inputs["q"] > -1.21) & (design.inputs["q"] < 0.91))
    assert np.abs(design.inputs["qd"]).max() < 3.03
    assert np.abs(design.inputs["qdd"]).max() < 8.08
    first_errors, first_condition = design.first
    if criterion == "condition":
        assert design.condition <= first_condition
    else:
        assert np.prod(design.standard_errors) < np.prod(first_errors)


def test_inputs_belong_together(evaluator: Evaluator) -> None:
    design = design_excitation(evaluator, [LIMITS], SIGMAS, SETTINGS)
    speed = np.gradient(design.inputs["q"], design.times)
    assert np.max(np.abs(speed - design.inputs["qd"])[1:-1]) < 0.02


def test_the_promise_is_kept(evaluator: Evaluator) -> None:
    """Estimates from noisy data of the designed motion scatter as predicted."""
    design = design_excitation(evaluator, [LIMITS], SIGMAS, SETTINGS)
    inputs = {n: v[:-1] for n, v in design.inputs.items()}
    columns = np.column_stack([pendulum(None, inputs, *row)["tau"] for row in np.eye(3)])
    truth = np.array([0.5, 0.5, 0.5])
    rng = np.random.default_rng(0)
    found = [
        np.linalg.lstsq(columns, columns @ truth + 0.05 * rng.normal(size=400), rcond=None)[0]
        for _ in range(400)
    ]
    assert np.std(found, axis=0) == pytest.approx(design.standard_errors, rel=0.15)


def test_the_same_seed_gives_the_same_motion(evaluator: Evaluator) -> None:
    first, second = (design_excitation(evaluator, [LIMITS], SIGMAS, SETTINGS) for _ in range(2))
    np.testing.assert_array_equal(first.inputs["q"], second.inputs["q"])


def test_parameters_that_no_motion_tells_apart_are_named() -> None:
    with (
        evaluator_of("inertia", "moment", "twin") as found,
        refused(Code.INVALID_PROBLEM, ProblemError, match=r"inertia \+ twin"),
    ):
        design_excitation(found, [LIMITS], SIGMAS, SETTINGS)


def test_a_model_that_cannot_follow_is_told() -> None:
    def stiff(times, inputs, inertia, moment):
        raise SimulationError("out of reach")

    with (
        evaluator_of("inertia", "moment", model=stiff) as found,
        refused(Code.ESTIMATION_FAILED, EstimationError, match="out of reach"),
    ):
        design_excitation(found, [LIMITS], SIGMAS, SETTINGS)


@pytest.mark.parametrize(
    "make",
    [
        lambda: DesignSettings(0.0),
        lambda: DesignSettings(1.0, harmonics=0),
        lambda: DesignSettings(1.0, harmonics=20, rate=100.0),
    ],
)
def test_settings_out_of_range(make) -> None:
    with pytest.raises((ProblemError, OptionError)):
        make()
