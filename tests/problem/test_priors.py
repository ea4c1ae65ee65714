"""What is known of parameters before the data: distributions, how they are read, their rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fmident import Problem
from fmident.errors import Code, FmidentError, ProblemError
from fmident.evaluation import python_problem
from fmident.evaluation.journal.keys import identity_of
from fmident.fmu import ModelDescription
from fmident.problem import Expression, Parameter, Prior, Priors, validate_problem
from fmident.problem.reading.parameters import read_prior
from fmident.problem.reading.tables import PriorTable
from fmident.toml_file import Section, Source, loads

from ..refused import refused
from .conftest import DATA, Case

PROBLEM_WITH_UNIFORM = """[parameters.m]
prior = { distribution = "uniform", min = 1.0, max = 4.0 }"""
M = "[parameters.m]\ninitial = 2.5\nbounds = [0.5, 10.0]"


def test_mean_and_sd_of_a_lognormal_prior_are_those_of_the_quantity_itself() -> None:
    prior = Prior("lognormal", 2.0, 0.6)
    scale = np.exp(np.log(prior.center))
    same = stats.lognorm(prior.log_sd, scale=scale)
    assert same.mean() == pytest.approx(2.0, rel=1e-12)
    assert same.std() == pytest.approx(0.6, rel=1e-12)
    assert prior.deviation(same.ppf(0.975)) == pytest.approx(1.959964, rel=1e-6)
    assert prior.deviation(same.ppf(stats.norm.cdf(-1.0))) == pytest.approx(-1.0)


@pytest.mark.parametrize("prior", [Prior("normal", 2.0, 0.3), Prior("lognormal", 2.0, 0.3)])
def test_the_slope_is_the_derivative_of_the_deviation(prior: Prior) -> None:
    step = 1e-6
    change = prior.deviation(1.7 + step) - prior.deviation(1.7 - step)
    assert prior.slope(1.7) == pytest.approx(change / (2.0 * step), rel=1e-8)


def problem(sigma: float | None = None, **more: object) -> Problem:
    parameters = [
        Parameter("a", 1.0, variable="a", prior=Prior("normal", 1.4, 0.2)),
        Parameter("b", 2.0, 0.1, 9.0, variable="b", prior=Prior("lognormal", 2.0, 0.5)),
        Parameter("c", 0.5, variable="c"),
        Parameter("sum", 0.0, expression=Expression("a + 2*b*c"), prior=Prior("normal", 3.0, 0.1)),
    ]
    times = np.linspace(0.0, 1.0, 12)
    return python_problem({"y": np.sin(times)}, times, parameters, sigma=sigma, **more)


POINT = np.array([1.2, 2.5, 0.3])


def model(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return residuals of the data and their Jacobian, nonlinear in the parameters."""
    t = np.linspace(0.0, 1.0, 12)
    a, b, c = p
    residuals = np.sin(t) - a * np.exp(-b * t) - c * c
    jacobian = np.column_stack([-np.exp(-b * t), a * t * np.exp(-b * t), np.full(12, -2.0 * c)])
    return residuals, jacobian


def log_posterior(priors: Priors, p: np.ndarray) -> float:
    """Return it by the book, with the variance of unknown noise concentrated out."""
    r, _ = model(p)
    a, b, c = p
    normal = stats.norm.logpdf(a, 1.4, 0.2) + stats.norm.logpdf(a + 2 * b * c, 3.0, 0.1)
    spread = np.sqrt(np.log(1.0 + (0.5 / 2.0) ** 2))
    normal += stats.norm.logpdf(np.log(b), np.log(2.0) - spread**2 / 2.0, spread)
    if priors.sigma_known:
        return float(normal - 0.5 * r @ r)
    return float(normal - 0.5 * (12 - 3) * np.log(r @ r))


@pytest.mark.parametrize("sigma", [0.1, None])
def test_the_cost_is_a_monotone_function_of_the_posterior_density(sigma: float | None) -> None:
    priors = Priors.of(problem(sigma))
    points = POINT + 0.05 * np.random.default_rng(0).normal(size=(30, 3))
    costs = np.array([priors.cost(p, model(p)[0]) for p in points])
    density = np.array([log_posterior(priors, p) for p in points])
    expected = costs if sigma is not None else 4.5 * np.log(costs)
    np.testing.assert_allclose(np.diff(expected), -np.diff(density), rtol=1e-9)


@pytest.mark.parametrize("sigma", [0.1, None])
@pytest.mark.parametrize("point", [POINT, np.array([1.4, 1.94, 0.4123]), np.array([9.0, 2.0, 4.0])])
def test_the_rows_of_the_jacobian_are_exact(sigma: float | None, point: np.ndarray) -> None:
    priors = Priors.of(problem(sigma))
    r, jacobian = model(point)
    found = priors.with_slopes(point, r, jacobian, np.eye(3))
    assert found.shape == (15, 3)
    for j in range(3):
        step = np.zeros(3)
        step[j] = 1e-6
        up, down = (priors.with_rows(q, model(q)[0]) for q in (point + step, point - step))
        np.testing.assert_allclose(found[:, j], (up - down) / 2e-6, rtol=2e-6, atol=1e-7)


def test_a_search_may_begin_very_far_from_a_prior() -> None:
    priors = Priors.of(problem())
    costs = [
        priors.cost(p, model(p)[0]) for p in (POINT + np.array([x, 0.0, 0.0]) for x in (5, 50, 500))
    ]
    assert np.isfinite(costs).all()
    assert np.all(np.diff(costs) > 0.0)


def test_a_prior_of_a_parameter_that_is_held_has_no_say() -> None:
    parameters = [
        Parameter("a", 1.0, variable="a", prior=Prior("normal", 1.4, 0.2), fixed=True),
        Parameter("b", 1.0, variable="b"),
        Parameter("twice", 0.0, expression=Expression("2*a"), prior=Prior("normal", 3.0, 0.1)),
    ]
    times = np.linspace(0.0, 1.0, 12)
    found = python_problem({"y": times}, times, parameters)
    assert Priors.of(found).count == 0


# ---------------------------------------------------------------------- in the problem file


def with_prior(text: str, rest: str = "") -> str:
    return f"{M}{rest}\nprior = {text}"


def test_a_prior_has_the_unit_of_its_parameter(case: Case) -> None:
    text = '{ distribution = "normal", mean = 2400, sd = 100 }'
    found = case.load(M, f'[parameters.m]\nunit = "g"\nbounds = [500, 9000]\nprior = {text}')
    m = found.parameters[0]
    assert m.prior == Prior("normal", pytest.approx(2.4), pytest.approx(0.1))
    assert m.initial == pytest.approx(2.4)  # the search starts at the prior


def test_a_uniform_prior_is_bounds(case: Case) -> None:
    found = case.load(
        M, '[parameters.m]\nprior = { distribution = "uniform", min = 1.0, max = 3.0 }'
    )
    m = found.parameters[0]
    assert (m.lower, m.upper, m.initial) == (1.0, 3.0, 2.0)
    assert Priors.of(found).count == 0


def test_a_lognormal_quantity_is_positive(case: Case) -> None:
    found = case.load(
        "[parameters.k]\ninitial = 300.0",
        '[parameters.k]\nprior = { distribution = "lognormal", mean = 300.0, sd = 30.0 }',
    )
    assert found.parameters[1].lower == 0.0


@pytest.mark.parametrize(
    ("distribution", "keys", "code", "said"),
    [
        ("cauchy", "mean = 1, sd = 1", Code.NOT_A_CHOICE, "must be"),
        ("normal", "mean = 2.0", Code.MISSING_KEY, "needs the key 'sd'"),
        ("normal", "mean = 2.0, sd = 0.0", Code.INVALID_PROBLEM, "needs an sd above 0"),
        ("normal", "mean = 2.0, sd = 0.1, max = 3", Code.UNKNOWN_KEY, "takes no 'max'"),
        ("uniform", "mean = 2.0, sd = 0.1", Code.UNKNOWN_KEY, "takes no 'mean'"),
        ("uniform", "min = 2.0, max = 1.0", Code.INVALID_PROBLEM, "'min' must be below 'max'"),
        ("uniform", "min = 1.0, max = 3.0", Code.INVALID_PROBLEM, "go beyond its prior"),
        ("lognormal", "mean = -2.0, sd = 1.0", Code.INVALID_PROBLEM, "its mean must be positive"),
        ("normal", "mean = 20.0, sd = 1.0", Code.INVALID_PROBLEM, "outside of the bounds"),
    ],
)
def test_a_prior_that_makes_no_sense_is_refused(
    error: Callable[..., FmidentError], distribution: str, keys: str, code: Code, said: str
) -> None:
    caught = error(M, with_prior(f'{{ distribution = "{distribution}", {keys} }}'))
    assert caught.code == code
    assert said in caught.message


def test_a_prior_is_a_table(error: Callable[..., FmidentError]) -> None:
    caught = error(M, with_prior('"normal"'))
    assert caught.code == Code.WRONG_TYPE
    assert "'prior'" in caught.message


def test_a_fixed_parameter_has_no_prior(error: Callable[..., FmidentError]) -> None:
    text = with_prior('{ distribution = "normal", mean = 2.0, sd = 0.1 }', "\nfixed = true")
    caught = error(M, text)
    assert caught.code == Code.INVALID_PROBLEM
    assert caught.location is not None
    assert caught.location.line == 8


def test_a_temperature_in_degrees_is_not_lognormal() -> None:
    text = '{ distribution = "lognormal", mean = 20.0, sd = 1.0 }'
    source = Source(Path("problem.toml"), f"prior = {text}")
    section = Section(source, (), loads(source.text)["prior"])
    with refused(Code.INVALID_PROBLEM, FmidentError, match="is not zero in SI"):
        read_prior(section.read(PriorTable), "T", lambda value, what: value + 273.15)


def test_a_dependent_parameter_may_have_a_prior(case: Case) -> None:
    text = (
        '[parameters.ratio]\nexpression = "k/m"\n'
        'prior = { distribution = "normal", mean = 120.0, sd = 5.0 }\n\n[parameters.k]'
    )
    found = case.load("[parameters.k]", text)
    priors = Priors.of(found)
    assert priors.names == ("ratio",)
    np.testing.assert_allclose(priors.deviations(np.array([2.5, 300.0])), 0.0, atol=1e-12)
    np.testing.assert_allclose(priors.slopes(np.array([2.5, 300.0])), [[-9.6, 0.08]])


def test_a_dependent_parameter_cannot_be_uniform(error: Callable[..., FmidentError]) -> None:
    text = (
        '[parameters.ratio]\nexpression = "k/m"\n'
        'prior = { distribution = "uniform", min = 1.0, max = 5.0 }\n\n[parameters.k]'
    )
    caught = error("[parameters.k]", text)
    assert caught.code == Code.INVALID_PROBLEM
    assert caught.location is not None
    assert caught.location.line == 10


def test_from_python_and_back(case: Case) -> None:
    import pandas as pd

    header, *lines = DATA.splitlines()
    values = np.array([[float(cell) for cell in line.split(",")] for line in lines])
    frame = pd.DataFrame(values, columns=header.split(","))
    known = {"distribution": "lognormal", "mean": 2.0, "sd": 0.2}
    found = Problem.from_frames(
        case.folder / "model.fmu",
        {"push": frame},
        parameters={"m": {"prior": known}, "k": {"initial": 300.0}},
        inputs={"F": "force", "tau[1]": "torque"},
        outputs={"x": {"column": "position", "sigma": 0.01}},
    )
    assert found.parameters[0].prior == Prior("lognormal", 2.0, 0.2)
    text = found.to_toml(case.folder / "again" / "problem.toml", data=True)
    assert "lognormal" in text
    from fmident.problem import problem_from_file

    again = problem_from_file(case.folder / "again" / "problem.toml")
    assert identity_of(again)["parameters"] == identity_of(found)["parameters"]
    with pytest.raises(FmidentError, match=r"parameters\.m\.prior\.sd"):
        Problem.from_frames(
            case.folder / "model.fmu",
            {"push": frame},
            parameters={"m": {"prior": {**known, "sd": -1.0}}, "k": {"initial": 300.0}},
            outputs={"x": {"column": "position", "sigma": 0.01}},
        )


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        (Prior("normal", 1.0, -0.1), "an sd above 0"),
        (Prior("lognormal", -1.0, 0.1), "its mean must be positive"),
        (Prior("uniform", lower=0.5, upper=2.0), "go beyond its prior"),
    ],
)
def test_a_problem_made_of_its_parts_is_checked_too(
    model: ModelDescription, case: Case, prior: Prior, said: str
) -> None:
    found = case.load()
    m = dataclasses.replace(found.parameters[0], prior=prior)
    made = dataclasses.replace(found, parameters=(m, *found.parameters[1:]))
    with refused(Code.INVALID_PROBLEM, ProblemError, match=said):
        validate_problem(made, model)


def test_the_bounds_of_a_stage_keep_to_the_prior(error: Callable[..., FmidentError]) -> None:
    stage = (
        '[[stages]]\nname = "one"\n[stages.parameters.m]\nbounds = [0.2, 3.0]\n\n[[experiments]]'
    )
    text = f"{PROBLEM_WITH_UNIFORM}\n\n[parameters.k]\ninitial = 300.0\n\n{stage}"
    old = f"{M}\n\n[parameters.k]\ninitial = 300.0\n\n[[experiments]]"
    caught = error(old, text)
    assert caught.code == Code.INVALID_PROBLEM
    assert caught.location is not None
    assert caught.location.line == 13
