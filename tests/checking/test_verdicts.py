"""What the sensitivities promise, and which parameters do anything at all."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.checking import CheckReport, check_page, check_problem, quick_findings, refuse
from fmident.checking.subject import Stopwatch
from fmident.data import Experiment
from fmident.errors import ProblemError, SimulationError
from fmident.estimation import Estimator, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.findings import Finding
from fmident.problem import TimeDomain
from fmident.problem.model import EvaluationSettings, Parameter, Problem
from fmident_costs import SquaresAndMaxima
from fmident_estimators.least_squares.estimator import LeastSquares
from fmident_estimators.least_squares.options import LeastSquaresOptions

from ..refused import refused
from .rig import FORCE, TIMES, TRUE, figures, only, oscillator, parameters, rules

Check = Callable[..., CheckReport]


def noise(scale: float = 1e-3) -> np.ndarray:
    return scale * np.random.default_rng(1).normal(size=TIMES.size)


def free_oscillation(times: Any, inputs: Any, m: float, c: float, k: float) -> dict[str, Any]:
    """Return the motion from a known deflection: k/m and c/m are all that shows."""
    rate = c / (2.0 * m)
    omega = np.emath.sqrt(k / m - rate**2)
    deflection = np.exp(-rate * times) * (
        np.cos(omega * times) + rate / omega * np.sin(omega * times)
    )
    return {"x": deflection.real}


def test_a_sound_problem_has_no_findings(check: Check, problem: Problem) -> None:
    report = check(problem)
    assert report.findings == ()
    assert report.headline == "Can be estimated."
    assert report.can_be_estimated
    assert [p.influence for p in report.parameters] == ["yes"] * 3
    assert report.outputs[0].share == pytest.approx(1.0)


def test_predicted_errors_are_those_that_the_estimation_finds(
    check: Check, problem: Problem
) -> None:
    start = dataclasses.replace(problem, parameters=tuple(parameters(**TRUE)))
    predicted = {p.name: p.predicted_error for p in check(start).parameters}
    with Evaluator(problem, PythonExecutor(problem, oscillator)) as evaluator:
        result = run_estimation(problem, evaluator, LeastSquares())
    found = {e.name: e.standard_error for e in result.estimates}
    assert predicted == pytest.approx(found, rel=0.05)


def test_products_of_parameters_are_named(check: Check) -> None:
    measured = free_oscillation(TIMES, {}, **TRUE)["x"] + noise()
    problem = python_problem({"x": measured}, TIMES, parameters(m=1.1, c=0.9, k=8.0), sigma=1e-3)
    for quick in (False, True):
        report = check(problem, free_oscillation, quick=quick)
        assert report.sensitivities is not None
        assert report.sensitivities.determined == ("m/k", "c/k")
        assert report.headline == (
            "Can be estimated, but m, c and k cannot be told apart; only m/k and c/k are"
            " determined."
        )
        assert report.can_be_estimated
        bases = {p.name: p.base for p in report.parameters if not p.formula}
        assert bases == {"m": ("m_base",), "c": ("c_base",), "k": ("m_base", "c_base")}
        shown = {p.name: p for p in report.parameters}
        assert np.isnan([shown[name].predicted_error for name in bases]).all()
        assert {n: p.formula for n, p in shown.items() if p.formula} == {
            "m_base": "m/k",
            "c_base": "c/k",
        }
        assert 0.0 < shown["m_base"].relative_error < 0.01
    assert check(problem, free_oscillation).sensitivities.ranks_elsewhere == (2, 2, 2)


def test_powers_are_whole_numbers(check: Check) -> None:
    def power(times: Any, inputs: Any, a: float, b: float, c: float) -> dict[str, Any]:
        return {"y": a * b**2 * np.sin(c * times)}

    measured = power(TIMES, {}, 1.0, 2.0, 3.0)["y"] + noise()
    problem = python_problem({"y": measured}, TIMES, parameters(a=1.3, b=1.7, c=3.01), sigma=1e-3)
    report = check(problem, power)
    assert report.sensitivities.determined == ("a*b^2",)
    assert "c is identifiable" in report.sensitivities.verdict


def test_sums_of_parameters_are_named(check: Check) -> None:
    def line(times: Any, inputs: Any, a: float, b: float, d: float) -> dict[str, Any]:
        return {"y": (a + 2.0 * b) * np.sin(times) + d * times}

    measured = line(TIMES, {}, 1.0, 2.0, 0.3)["y"] + noise()
    problem = python_problem({"y": measured}, TIMES, parameters(a=1.1, b=1.9, d=0.4), sigma=1e-3)
    report = check(problem, line)
    assert report.sensitivities.determined == ("a + 2*b",)
    assert report.findings[0].code == "not-identifiable"
    assert report.sensitivities.ranks_elsewhere == (2, 2, 2)


def test_a_special_initial_point_is_told_from_a_property_of_the_model(check: Check) -> None:
    def twins(times: Any, inputs: Any, a: float, b: float) -> dict[str, Any]:
        return {"y": (a + b) * np.sin(times) + (a - b) ** 2 * np.cos(times)}

    measured = twins(TIMES, {}, 1.0, 2.0)["y"] + noise()
    problem = python_problem({"y": measured}, TIMES, parameters(a=1.5, b=1.5), sigma=1e-3)
    report = check(problem, twins)
    assert report.sensitivities.ranks_elsewhere == (2, 2, 2)
    assert only(report, "not-identifiable").hint.startswith("start elsewhere")


def test_a_parameter_without_influence_makes_it_impossible(check: Check, problem: Problem) -> None:
    deaf = dataclasses.replace(
        problem, parameters=(*problem.parameters, Parameter("z", 1.0, 0.0, 2.0, variable="z"))
    )
    report = check(deaf)
    assert not report.can_be_estimated
    assert report.findings[0].code == "parameter-without-influence"
    assert {p.name: p.influence for p in report.parameters}["z"] == "none"
    evaluator = Evaluator(deaf, PythonExecutor(deaf, oscillator))
    with evaluator, pytest.raises(ProblemError) as caught:
        run_estimation(deaf, evaluator, LeastSquares())
    assert caught.value.message == report.of("error")[0].text


def test_a_parameter_that_the_cost_does_not_see_makes_it_impossible(
    check: Check, problem: Problem
) -> None:
    blind = dataclasses.replace(
        problem,
        parameters=(*problem.parameters, Parameter("z", 1.0, 0.5, 2.0, variable="z")),
        cost=SquaresAndMaxima(squares={"x": 1.0}, maxima=0.0),
    )
    second = dataclasses.replace(problem.experiments[0].measurements[0], name="y", variable="y")
    (e,) = problem.experiments
    blind = dataclasses.replace(
        blind, experiments=(dataclasses.replace(e, measurements=(*e.measurements, second)),)
    )

    def both(times: object, inputs: object, z: float, **rest: float) -> dict[str, np.ndarray]:
        x = oscillator(times, inputs, **rest)["x"]
        return {"x": x, "y": z * x}

    report = check(blind, both)
    assert [d.code for d in report.of("error")] == ["parameter-without-influence"]
    evaluator = Evaluator(blind, PythonExecutor(blind, both))
    with evaluator, pytest.raises(ProblemError, match="squares-and-maxima") as caught:
        run_estimation(blind, evaluator, LeastSquares())
    assert caught.value.code == "parameter-without-influence"
    assert check(dataclasses.replace(blind, cost=TimeDomain()), both).can_be_estimated


def test_predictions_for_another_cost_say_what_they_hold_for(
    check: Check, problem: Problem
) -> None:
    plain = check(problem)
    other = check(dataclasses.replace(problem, cost=SquaresAndMaxima()))
    assert (plain.intervals, other.intervals) == (True, False)
    assert "'squares-and-maxima'" in check_page(other)
    errors = [[p.predicted_error for p in r.parameters] for r in (plain, other)]
    assert errors[0] == errors[1]
    assert other.to_dict()["cost"] == "squares-and-maxima"


def test_a_parameter_that_acts_elsewhere_is_told_from_a_deaf_one(
    check: Check, problem: Problem
) -> None:
    def stop(times: Any, inputs: Any, m: float, c: float, k: float, gap: float) -> Any:
        x = oscillator(times, inputs, m, c, k)["x"]
        return {"x": np.clip(x, -gap, gap)}

    gap = Parameter("gap", 9.0, 0.01, 10.0, variable="gap")
    with_gap = dataclasses.replace(problem, parameters=(*problem.parameters, gap))
    report = check(with_gap, stop)
    assert {p.name: p.influence for p in report.parameters}["gap"] == "elsewhere"
    assert report.can_be_estimated  # the others may lead to where it acts
    found = only(report, "parameter-without-influence")
    assert found.severity == "warning"
    assert len(figures(found.hint)) == 4  # a point where it acts
    alone = [dataclasses.replace(q, fixed=True) for q in problem.parameters]
    report = check(dataclasses.replace(problem, parameters=(*alone, gap)), stop)
    assert not report.can_be_estimated


@pytest.mark.parametrize("least", [1e-4, 0.0])
def test_parameters_that_act_only_decades_below_the_start_act_elsewhere(
    check: Check, least: float
) -> None:
    """Alone neither does: the other one has all over before the first sample."""

    def over(times: Any, inputs: Any, a: float, b: float, c: float = 0.0) -> Any:
        return {"y": np.exp(-(a + b) * times) + c}

    times = np.linspace(0.0, 10.0, 51)
    rates = [Parameter(n, 1e4, least, 1e5, variable=n) for n in ("a", "b")]
    free = [*rates, Parameter("c", 0.0, 0.0, 1.0, variable="c")]
    problem = python_problem({"y": over(times, {}, 0.3, 0.2)["y"]}, times, free)
    with np.errstate(all="raise", under="ignore"):
        report = check(problem, over)
    assert [p.influence for p in report.parameters] == ["elsewhere", "elsewhere", "yes"]
    assert "nothing that is measured" not in only(report, "parameter-without-influence").text


def test_estimators_that_leave_inert_parameters_alone_get_a_note(
    check: Check, problem: Problem
) -> None:
    class Tolerant(LeastSquares):
        accepts_inert_parameters: ClassVar[bool] = True

    deaf = dataclasses.replace(
        problem, parameters=(*problem.parameters, Parameter("z", 1.0, 0.0, 2.0, variable="z"))
    )
    report = check(deaf, estimator=Tolerant(), options=LeastSquaresOptions())
    assert report.can_be_estimated
    assert [d.severity for d in report.findings if d.code == "parameter-without-influence"] == [
        "note"
    ]


def test_fixed_parameters_that_the_model_ignores_are_told(check: Check, problem: Problem) -> None:
    fixed = (
        dataclasses.replace(problem.parameters[0], fixed=True),
        *problem.parameters[1:],
        Parameter("z", 1.0, variable="z", fixed=True),
    )
    report = check(dataclasses.replace(problem, parameters=fixed))
    kinds = {p.name: p.influence for p in report.parameters}
    assert kinds == {"m": "fixed", "c": "yes", "k": "yes", "z": "fixed, none"}
    assert "'z'" in only(report, "fixed-without-influence").text


def test_a_poorly_determined_parameter_is_in_the_verdict(check: Check) -> None:
    measured = oscillator(TIMES, {"F": FORCE}, **TRUE)["x"]
    loud = python_problem(
        {"x": measured}, TIMES, parameters(**TRUE), sigma=0.4, inputs={"F": FORCE}
    )
    report = check(loud)
    c = next(p for p in report.parameters if p.name == "c")
    assert f"c only to {100 * c.relative_error:.3g} %" in only(report, "poorly-determined").text
    # Without sigma the misfit at the start says little: only a note.
    unknown = python_problem(
        {"x": measured}, TIMES, parameters(m=2.0, c=0.2, k=4.0), inputs={"F": FORCE}
    )
    assert not check(unknown).of("warning")


def test_hardly_distinct_parameters_are_told(check: Check) -> None:
    def nearly(times: Any, inputs: Any, a: float, b: float) -> dict[str, Any]:
        return {"y": a * times + b * times * (1.0 + 0.02 * np.sin(times))}

    measured = nearly(TIMES, {}, 1.0, 1.0)["y"] + noise(1e-4)
    problem = python_problem({"y": measured}, TIMES, parameters(a=1.1, b=0.9), sigma=1e-4)
    report = check(problem, nearly)
    assert report.sensitivities.collinearity > 50.0
    assert "a and b (-1.000)" in only(report, "nearly-collinear").text


def test_an_output_that_no_parameter_moves(check: Check, problem: Problem) -> None:
    def two(times: Any, inputs: Any, **values: float) -> dict[str, Any]:
        return {**oscillator(times, inputs, **values), "clock": np.sin(times)}

    m = dataclasses.replace(
        problem.experiments[0].measurements[0],
        name="clock",
        variable="clock",
        values=np.sin(TIMES) + noise(),
    )
    e = dataclasses.replace(
        problem.experiments[0], measurements=(*problem.experiments[0].measurements, m)
    )
    report = check(dataclasses.replace(problem, experiments=(e,)), two)
    assert "'clock'" in only(report, "output-unmoved").text
    assert [o.share for o in report.outputs] == pytest.approx([1.0, 0.0], abs=1e-9)


def test_more_parameters_than_samples(check: Check) -> None:
    times = np.array([0.0, 1.0])
    f = np.array([0.0, 1.0])
    measured = oscillator(times, {"F": f}, **TRUE)["x"]
    problem = python_problem({"x": measured}, times, parameters(**TRUE), sigma=0.1, inputs={"F": f})
    report = check(problem)
    assert figures(only(report, "too-few-samples").text) == [2.0, 3.0]
    with Evaluator(problem, PythonExecutor(problem, oscillator)) as evaluator:
        found = quick_findings(problem, evaluator)
        with refused("too-few-samples", ProblemError):
            refuse(found)


def test_a_failing_initial_simulation(check: Check, problem: Problem) -> None:
    def fragile(times: Any, inputs: Any, m: float, c: float, k: float) -> Any:
        if m > 1.0:
            raise SimulationError("the mass is too large", time=0.5)
        return oscillator(times, inputs, m, c, k)

    report = check(problem, fragile)
    found = only(report, "initial-simulation-fails")
    assert "the mass is too large" in found.text
    assert report.bounds is not None
    works = report.bounds.points - report.bounds.failed
    assert figures(found.hint) == [works, report.bounds.points]

    def broken(times: Any, inputs: Any, **values: float) -> Any:
        raise SimulationError("nothing works")

    report = check(problem, broken)
    assert report.bounds.failed == report.bounds.points
    assert figures(only(report, "initial-simulation-fails").hint) == []


def test_failures_inside_the_bounds_are_counted(check: Check, problem: Problem) -> None:
    def fragile(times: Any, inputs: Any, m: float, c: float, k: float) -> Any:
        if m > 2.0:
            raise SimulationError(f"mass {m} is too large", time=0.5)
        return oscillator(times, inputs, m, c, k)

    report = check(problem, fragile)
    assert report.bounds is not None
    assert 0 < report.bounds.failed < report.bounds.points
    message = only(report, "fails-in-bounds").text
    assert figures(message)[:2] == [report.bounds.failed, report.bounds.points]
    assert check(problem).bounds == dataclasses.replace(report.bounds, failed=0, reasons=())


def test_noise_of_the_simulation_beyond_the_data(check: Check, problem: Problem) -> None:
    def jittery(times: Any, inputs: Any, m: float, c: float, k: float) -> Any:
        x = oscillator(times, inputs, m, c, k)["x"]
        seed = abs(hash((m, c, k))) % 2**32
        return {"x": x + 1e-3 * np.random.default_rng(seed).normal(size=x.size)}

    rough = dataclasses.replace(problem, evaluation=EvaluationSettings(tolerance=1e-3, check=False))
    report = check(rough, jittery)
    assert figures(only(report, "simulation-noise").hint) == [1e-3, 1e-4]
    assert "simulation-noise" not in rules(check(problem))


def test_effort_of_the_estimator(check: Check, problem: Problem) -> None:
    report = check(problem, estimator=LeastSquares(), options=LeastSquaresOptions(starts=4))
    assert report.effort is not None
    verification = 3 + 1  # another step of each parameter, another tolerance
    assert report.effort.simulations == 7 + 2 * 3 + 4 * 5 * 4 + verification
    assert report.effort.seconds == pytest.approx(
        report.effort.simulations * report.effort.seconds_per_simulation
    )
    assert report.effort.seconds_per_jacobian == pytest.approx(
        3 * report.effort.seconds_per_simulation
    )
    most = 7 + 5 * 3 + 4 * (20 * 4 + 40 * 3) + 5 * verification
    assert report.effort.most == most
    assert f"should need 97 to {most} simulations" in " ".join(check_page(report).split())
    assert Estimator.expected_simulations(LeastSquares(), LeastSquaresOptions(), problem) is None


@pytest.mark.parametrize("scale", [1.05, 3.0])
def test_the_effort_holds_what_is_taken(check: Check, problem: Problem, scale: float) -> None:
    far = tuple(dataclasses.replace(q, initial=scale * q.initial) for q in problem.parameters)
    problem = dataclasses.replace(problem, parameters=far)
    effort = check(problem, estimator=LeastSquares(), options=LeastSquaresOptions()).effort
    with Evaluator(problem, PythonExecutor(problem, oscillator)) as evaluator:
        taken = run_estimation(problem, evaluator, LeastSquares()).simulations
    assert effort is not None
    assert effort.simulations is not None
    assert effort.most is not None
    assert 0.5 * effort.simulations <= taken <= effort.most


def test_moving_events_leave_the_effort_open(check: Check) -> None:
    def switched(times: Any, inputs: Any, at: float, slope: float) -> dict[str, Any]:
        return {"y": slope * times + np.where(times > at, 1.0, 0.0)}

    problem = python_problem(
        {"y": switched(TIMES, {}, 1.31, 0.5)["y"]}, TIMES, parameters(at=1.2, slope=0.4), sigma=1e-3
    )
    report = check(problem, switched, estimator=LeastSquares(), options=LeastSquaresOptions())
    assert report.effort is not None
    assert report.effort.events
    assert report.effort.most is None


def test_findings_of_plugins_are_shown(check: Check, problem: Problem) -> None:
    objection = Finding("opinion", "error", "the plugin objects", hint="do this")
    report = check(problem, earlier=[objection])
    assert report.of("error") == (objection,)
    assert objection.text in report.headline


def test_the_report_is_plain_json(check: Check) -> None:
    measured = free_oscillation(TIMES, {}, **TRUE)["x"] + noise()
    problem = python_problem({"x": measured}, TIMES, parameters(m=1.1, c=0.9, k=8.0), sigma=1e-3)
    text = json.dumps(check(problem, free_oscillation).to_dict(), allow_nan=False)
    stored = json.loads(text)
    assert stored["parameters"][0]["predicted_error"] is None
    assert stored["findings"][0]["rule"] == "not-identifiable"
    assert stored["can_be_estimated"] is True


def test_the_quick_part_costs_no_simulation(problem: Problem) -> None:
    with Evaluator(problem, PythonExecutor(problem, oscillator)) as evaluator:
        evaluator.residuals(problem.initial)
        before = evaluator.simulations
        assert quick_findings(problem, evaluator) == ()
        assert evaluator.simulations == before


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_text_is_wider_than_the_terminal(check: Check, width: int) -> None:
    measured = free_oscillation(TIMES, {}, **TRUE)["x"] + noise()
    problem = python_problem({"x": measured}, TIMES, parameters(m=1.1, c=0.9, k=8.0), sigma=1e-3)
    page = check_page(check(problem, free_oscillation), width)
    assert page.startswith("Can be estimated, but")
    if width >= 80:
        assert max(map(len, page.splitlines())) <= width


def test_the_report_cannot_be_changed(check: Check, problem: Problem) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        check(problem).quick = True  # type: ignore[misc]
    with PythonExecutor(problem, oscillator) as executor:
        assert check_problem(Evaluator(problem, executor), simulate=False).simulations == 0


@pytest.mark.parametrize(
    ("seconds", "bandwidth"), [(0.1, True), (1.0, True), (6.0, True), (30.0, False)]
)
def test_the_finer_grid_keeps_to_its_time(
    seconds: float,
    bandwidth: bool,
    check: Check,
    problem: Problem,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A grid that is n times finer counts n times: of two experiments, 20 s in all."""
    taken: list[float] = []
    plain = Evaluator.simulate_outputs

    def counted(self: Evaluator, e: Experiment, names: Any, points: Any) -> Any:
        taken.append(seconds * (e.times.size - 1) / (TIMES.size - 1))
        return plain(self, e, names, points)

    monkeypatch.setattr(Evaluator, "simulate_outputs", counted)
    monkeypatch.setattr(Stopwatch, "seconds_each", property(lambda _: seconds))

    def bent(times: Any, inputs: Any, **values: float) -> dict[str, Any]:
        x = oscillator(times, inputs, **values)["x"]
        return {"x": x + 2.0 * x**2}

    first = problem.experiments[0]
    both = dataclasses.replace(problem, experiments=(first, dataclasses.replace(first, name="2")))
    report = check(both, bent)
    assert sum(taken) <= 20.0
    for found in report.experiments:
        assert np.isfinite(found.bandwidth) == bandwidth


def test_what_only_the_first_simulation_takes_leaves_nothing_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An FMU is loaded, and code for it compiled, in the first one."""
    clock = [0.0]
    monkeypatch.setattr("fmident.checking.subject.time.perf_counter", lambda: clock[0])
    taken = iter([100.0, 0.01])
    times = np.linspace(0.0, 1.0, 11)

    def model(times: F64, inputs: object, k: float) -> dict[str, F64]:
        clock[0] += next(taken)
        return {"y": np.exp(-k * times)}

    problem = python_problem({"y": np.exp(-times)}, times, [Parameter("k", 1.5, variable="k")])
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        watch = Stopwatch(evaluator)
        with watch.running():
            evaluator.residuals(problem.initial)
        assert watch.seconds_each == 100.0
        assert watch.affordable(3, 100.0) == 3
        assert watch.seconds_each == pytest.approx(0.01)
        assert watch.affordable(3, 900.0) == 2  # not a third time
