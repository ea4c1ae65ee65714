"""The estimator on a pendulum whose solution is known."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.errors import Code, EstimationError, ProblemError, SimulationError
from fmident.estimation import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor
from fmident.problem.model import Parameter
from fmident_estimators.linear_regression.estimator import LinearRegression

from ...refused import refused
from .conftest import GRAVITY, LENGTH, TRUTH, free, make_bench, pendulum

BASE = {
    "inertia + 0.25*mass": TRUTH["inertia"] + LENGTH**2 * TRUTH["mass"],
    "moment + 0.5*mass": TRUTH["moment"] + LENGTH * TRUTH["mass"],
    "friction": TRUTH["friction"],
}
ALL = ("inertia", "moment", "mass", "friction")


def base_values(result) -> dict[str, float]:
    """Return base parameters with several members first, then those that are parameters."""
    alone = [e for e in result.estimates if np.isfinite(e.standard_error)]
    return {e.expression or e.name: e.value for e in (*result.base_parameters, *alone)}


def test_parameters_that_are_identifiable_are_exact_without_noise() -> None:
    bench = make_bench([*free("inertia", "moment", "friction"), fixed("mass", TRUTH["mass"])])
    result = bench.run()
    assert result.converged()
    for name in ("inertia", "moment", "friction"):
        assert result.values[name] == pytest.approx(TRUTH[name], rel=1e-12)
    assert result.settings["superposition_error"] < 1e-12


def fixed(name: str, value: float) -> Parameter:
    return Parameter(name, value, variable=name, fixed=True)


@pytest.mark.parametrize("named", [[], ["kinetic", "potential"]])
def test_base_parameters_with_and_without_energies(named: list[str]) -> None:
    result = make_bench(free(*ALL)).run(energies=named)
    assert base_values(result) == pytest.approx(BASE, rel=1e-10)
    assert result.settings["dependent_parameters"] == {"mass": 0.0}
    assert [e.name for e in result.base_parameters] == ["inertia_base", "moment_base"]
    assert result.base_parameters[0].factors == (
        (1, pytest.approx({"inertia": 1.0, "mass": 0.25}, rel=1e-10)),
    )
    bases = {e.name: e.base for e in result.estimates}
    assert bases["mass"] == ("inertia_base", "moment_base")
    assert bases["friction"] == ()


def test_the_host_agrees_on_what_is_determined(energies: list[str]) -> None:
    result = make_bench(free(*ALL), noise=0.01).run(energies=energies)
    assert result.identifiability is not None
    assert result.identifiability.rank == 3
    assert {c.text for c in result.identifiability.determined} == {
        "inertia + 0.25*mass",
        "moment + 0.5*mass",
    }
    errors = result.parameters["standard_error"]
    assert np.isnan(errors[["inertia", "moment", "mass"]]).all()
    known = make_bench([*free("inertia", "moment", "friction"), fixed("mass", 1.0)], noise=0.01)
    alone = known.run().parameters["standard_error"]
    # With the mass known, each is its base parameter but for a constant.
    for name in ("inertia", "moment"):
        assert errors[f"{name}_base"] == pytest.approx(alone[name], rel=1e-6)
    assert errors["friction"] == pytest.approx(alone["friction"], rel=1e-6)


def test_preferred_parameters_are_independent(energies: list[str]) -> None:
    result = make_bench(free(*ALL)).run(energies=energies, prefer=["mass"])
    assert list(base_values(result)) == ["mass + 2*moment", "inertia - 0.5*moment", "friction"]
    assert result.settings["dependent_parameters"] == {"moment": 0.0}


def test_the_order_of_the_problem_is_the_preference(energies: list[str]) -> None:
    result = make_bench(free("mass", "moment", "inertia", "friction")).run(energies=energies)
    assert next(iter(base_values(result))) == "mass + 4*inertia"


@pytest.mark.parametrize(
    ("dependent", "mass"), [("initial", 0.7), ("zero", 0.0), ("minimum-norm", None)]
)
def test_dependent_parameters_are_chosen_and_the_base_stays(
    energies: list[str], dependent: str, mass: float | None
) -> None:
    """Equation 10."""
    bench = make_bench(free(*ALL, mass=0.7))
    result = bench.run(energies=energies, dependent=dependent)
    assert base_values(result) == pytest.approx(BASE, rel=1e-10)
    found = result.values
    assert found["inertia"] + LENGTH**2 * found["mass"] == pytest.approx(0.575, rel=1e-10)
    assert found["moment"] + LENGTH * found["mass"] == pytest.approx(1.05, rel=1e-10)
    if mass is not None:
        assert found["mass"] == mass
    else:
        # Orthogonal to the direction in which nothing changes: that is the least norm.
        free_direction = np.array([-(LENGTH**2), -LENGTH, 1.0])
        point = np.array([found[n] for n in ("inertia", "moment", "mass")])
        assert abs(point @ free_direction) < 1e-12
    assert result.cost_final < 1e-15


def test_parameters_without_influence_are_named_and_left(energies: list[str]) -> None:
    """'useless' shifts the energy by a constant, which no force feels."""
    result = make_bench(free(*ALL, "useless", useless=4.0)).run(energies=energies)
    assert result.identifiability.silent == ("useless",)
    assert result.values["useless"] == 4.0
    assert base_values(result) == pytest.approx(BASE, rel=1e-10)


@pytest.mark.parametrize(("lower", "left"), [(-10.0, 0.0), (1.5, 1.5)])
def test_least_norm_leaves_nothing_to_parameters_without_influence(
    energies: list[str], lower: float, left: float
) -> None:
    useless = Parameter("useless", 4.0, lower, 10.0, variable="useless")
    bench = make_bench((*free(*ALL), useless))
    result = bench.run(energies=energies, dependent="minimum-norm")
    assert result.identifiability.silent == ("useless",)
    assert result.values["useless"] == left
    assert base_values(result) == pytest.approx(BASE, rel=1e-10)


def test_motion_that_hides_a_base_parameter(energies: list[str]) -> None:
    """The mechanism has it, the data do not: without gravity torque only inertia shows."""

    def horizontal(times, inputs, inertia, moment, mass):
        found = pendulum(times, inputs, inertia, moment, mass, 0.0)
        return {**found, "tau": (inertia + LENGTH**2 * mass) * inputs["qdd"]}

    truth = {n: TRUTH[n] for n in ("inertia", "moment", "mass")}
    result = make_bench(free(*truth), model=horizontal, truth=truth).run(energies=energies)
    assert base_values(result) == pytest.approx({"inertia + 0.25*mass": 0.575})
    assert result.identifiability.silent == ("moment",)


def test_a_nonlinear_parameter_is_named() -> None:
    def geared(times, inputs, inertia, moment, efficiency):
        return {"tau": pendulum(times, inputs, inertia, moment, 0.0, 0.0)["tau"] / efficiency}

    truth = {"inertia": 0.2, "moment": 0.3, "efficiency": 0.9}
    parameters = free("inertia", "moment", initial=0.1)
    parameters.append(Parameter("efficiency", 0.8, 0.5, 1.0, variable="efficiency"))
    with refused(Code.INVALID_PROBLEM, ProblemError, match="not linear in 'efficiency'") as caught:
        make_bench(parameters, model=geared, truth=truth).run()
    assert "fixed = true" in str(caught.value.hint)


def test_a_product_of_parameters_is_named() -> None:
    def product(times, inputs, mass, arm, friction):
        return {"tau": mass * arm * np.sin(inputs["q"]) + friction * np.sign(inputs["qd"])}

    truth = {"mass": 2.0, "arm": 0.5, "friction": 0.3}
    with refused(Code.INVALID_PROBLEM, ProblemError, match="the product of 'mass' and 'arm'"):
        make_bench(free(*truth, initial=1.0), model=product, truth=truth).run()


def test_states_that_cannot_be_reached_at_once_are_reached_in_small_steps() -> None:
    """Equation 5: a model that iterates from the state before fails where that is far away."""

    def iterating(times, inputs, **values):
        if np.abs(np.diff(inputs["q"])).max() > 0.5:
            raise SimulationError("the position problem did not converge")
        return pendulum(times, inputs, **values)

    named = ["kinetic", "potential"]
    result = make_bench(free(*ALL), model=iterating).run(energies=named, random_states=50)
    assert base_values(result) == pytest.approx(BASE, rel=1e-9)


def test_energy_that_is_not_linear_is_refused() -> None:
    def odd(times, inputs, inertia, moment):
        found = pendulum(times, inputs, inertia, moment, 0.0, 0.0)
        return {**found, "kinetic": found["kinetic"] * (1.0 + inertia)}

    truth = {"inertia": 0.2, "moment": 0.3}
    with refused(
        Code.INVALID_PROBLEM, ProblemError, match="energy kinetic is not linear in 'inertia'"
    ):
        make_bench(free(*truth), model=odd, truth=truth).run(energies=["kinetic"])


def test_a_simulation_that_fails_is_told() -> None:
    def fragile(times, inputs, inertia, moment):
        if inertia not in (0.0, 0.2):  # its initial and its true value
            raise SimulationError("solver gave up")
        return pendulum(times, inputs, inertia, moment, 0.0, 0.0)

    truth = {"inertia": 0.2, "moment": 0.3}
    with refused(Code.ESTIMATION_FAILED, EstimationError, match="solver gave up"):
        make_bench(free(*truth), model=fragile, truth=truth).run()


def test_bounds_hold_and_cost_as_little_as_possible(energies: list[str]) -> None:
    """The best inertia is 0.575 - 0.25 mass; mass may go no higher than 0.1, inertia than 0.4."""
    parameters = [
        Parameter("inertia", 0.1, 0.0, 0.4, variable="inertia"),
        Parameter("mass", 0.1, 0.0, 0.1, variable="mass"),
        *free("moment", "friction"),
    ]
    bench = make_bench(parameters)
    result = bench.run(energies=energies)
    assert result.values["inertia"] == pytest.approx(0.4)
    assert result.values["mass"] == pytest.approx(0.1, rel=1e-6)
    # The best of 1000 other points inside is no better.
    rng = np.random.default_rng(0)
    inputs, measured = bench.problem.experiments[0].inputs, bench.problem.experiments[0]
    tau = measured.measurements[0].values
    best = min(
        np.sum((tau - pendulum(None, inputs, i, m, k, f)["tau"]) ** 2)
        for i, k, m, f in zip(
            rng.uniform(0.3, 0.4, 1000),
            rng.uniform(0.0, 0.1, 1000),
            rng.normal(result.values["moment"], 0.02, 1000),
            rng.normal(result.values["friction"], 0.02, 1000),
            strict=True,
        )
    )
    assert 2.0 * result.cost_final * 0.01**2 <= best * (1.0 + 1e-9)
    assert any("on a bound" in note for note in result.notes)


def test_bounds_that_another_dependent_value_can_meet_cost_nothing(energies: list[str]) -> None:
    parameters = free("inertia", "moment", "friction")
    parameters.append(Parameter("mass", 3.0, 0.0, 10.0, variable="mass"))
    parameters[0] = Parameter("inertia", 0.0, 0.0, np.inf, variable="inertia")
    result = make_bench(parameters).run(energies=energies)
    # With mass = 3 the inertia would be -0.175.
    assert result.values["inertia"] >= 0.0
    assert base_values(result)["inertia + 0.25*mass"] == pytest.approx(0.575, rel=1e-9)
    assert result.cost_final < 1e-6


def test_physical_consistency_on_request() -> None:
    parameters = [
        Parameter("inertia", 0.1, variable="inertia", unit="kg.m2"),
        *free("moment", "friction"),
    ]
    truth = {**TRUTH, "inertia": -0.05, "mass": 0.0}
    parameters.append(fixed("mass", 0.0))
    bench = make_bench(parameters, truth=truth)
    assert bench.run().values["inertia"] == pytest.approx(-0.05)
    assert bench.run(physical=True).values["inertia"] == 0.0


def test_held_out_experiments_do_not_count() -> None:
    names = ("inertia", "moment", "friction")
    parameters = [*free(*names), fixed("mass", TRUTH["mass"])]
    alone = make_bench(parameters, noise=0.05, sigma=None)
    both = make_bench(parameters, noise=0.05, sigma=None, more={"later": 1.7})
    first, second = alone.run(), both.run(validation=["later"])
    for name in names:
        row, same = first.parameters.loc[name], second.parameters.loc[name]
        assert same["value"] == pytest.approx(row["value"], rel=1e-10)
        assert same["standard_error"] == pytest.approx(row["standard_error"], rel=1e-6)
    errors = second.settings["validation_relative_error"]["later"]["tau"]
    (_, later) = second.fits
    assert errors == pytest.approx(later.relative_error, rel=1e-9)
    assert list(second.settings["training_relative_error"]) == ["data"]


@pytest.mark.parametrize("names", [["nothing"], ["data"]])
def test_wrong_validation_is_refused(names: list[str]) -> None:
    with pytest.raises(ProblemError, match="validation"):
        make_bench(free(*ALL)).run(validation=names)


def test_wrong_preference_is_refused() -> None:
    with refused(Code.UNKNOWN_NAME, ProblemError, match="prefer"):
        make_bench(free(*ALL)).run(prefer=["mas"])


def test_noisy_outputs_weigh_less() -> None:
    """Weights from the residual variance give the variance of known weights."""

    def two(times, inputs, inertia, moment, offset=0.0):
        tau = pendulum(times, inputs, inertia, moment, 0.0, 0.0)["tau"]
        return {"good": tau, "bad": tau + 0.0 * offset}

    truth = {"inertia": 0.2, "moment": 0.3}
    rng = np.random.default_rng(1)
    plain, weighted = [], []
    for seed in range(30):
        bench = make_bench(
            free(*truth), model=two, truth=truth, sigma=None, measured=("good", "bad"), seed=seed
        )
        (experiment,) = bench.problem.experiments
        noise = {"good": 0.01, "bad": 1.0}
        for m in experiment.measurements:
            m.values[:] += noise[m.name] * rng.normal(size=m.values.size)
        plain.append(bench.run().values["inertia"])
        result = bench.run(weighting="residual")
        weighted.append(result.values["inertia"])
    assert np.std(weighted) < 0.05 * np.std(plain)
    # One output alone, 401 samples of noise 0.01, gives about this; its error is reported.
    error = result.parameters.loc["inertia", "standard_error"]
    assert error == pytest.approx(np.std(weighted), rel=0.5)


def test_too_few_samples_are_refused() -> None:
    bench = make_bench(free("inertia", "moment"), truth={**TRUTH, "mass": 0.0})
    bench.problem.experiments[0].measurements[0].values[2:] = np.nan
    model = lambda t, i, inertia, moment: pendulum(t, i, inertia, moment, 0.0, 0.0)  # noqa: E731
    with refused(Code.INVALID_PROBLEM, ProblemError, match="too few"):
        type(bench)(model, bench.problem).run()


def test_gravity_is_what_the_pendulum_feels() -> None:
    """A guard on the model of these tests: torque is the derivative of the energies."""
    inputs = {"q": np.array([0.3]), "qd": np.array([0.0]), "qdd": np.array([0.0])}
    high = pendulum(None, {**inputs, "q": inputs["q"] + 1e-6}, 0.2, 0.3, 1.5, 0.0)["potential"]
    low = pendulum(None, {**inputs, "q": inputs["q"] - 1e-6}, 0.2, 0.3, 1.5, 0.0)["potential"]
    tau = pendulum(None, inputs, 0.2, 0.3, 1.5, 0.0)["tau"]
    assert (high - low) / 2e-6 == pytest.approx(tau, rel=1e-6)
    assert tau == pytest.approx(GRAVITY * 1.05 * np.sin(0.3))


def test_the_regressor_comes_from_sensitivities() -> None:
    def slope(name: str):
        alone = dict.fromkeys(("inertia", "moment", "mass", "friction"), 0.0)

        def of(times, inputs, **_values):
            return pendulum(times, inputs, **{**alone, name: 1.0})

        return of

    bench = make_bench(free(*ALL), noise=0.01)
    results = []
    for slopes in ({name: slope(name) for name in ALL}, {}):
        executor = PythonExecutor(bench.problem, pendulum, slopes)
        with Evaluator(bench.problem, executor) as evaluator:
            results.append(run_estimation(bench.problem, evaluator, LinearRegression(), {}))
    exact, differenced = results
    # One for the regressor in place of one more for each parameter.
    assert exact.simulations == differenced.simulations - len(ALL)
    for name in ALL:
        assert exact.values[name] == pytest.approx(differenced.values[name], rel=1e-9)
    assert exact.identifiability is not None
    assert exact.identifiability.rank == 3
