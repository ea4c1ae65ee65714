"""Model Exchange of FMI 2.0 and 3.0 against solutions in closed form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.errors import Code, FmuError, SimulationError
from fmident.fmu import Fmu, SimulationSetup, check_survives, open_fmu, read_description
from fmident.fmu.model_exchange.plan import ExchangePlan
from fmident.fmu.model_exchange.sundials import Sundials

from ..refused import refused
from .exchange import Exchange, Opened, Signal, build_exchange, build_twin, states

BALL = Exchange(
    "ball.c",
    (
        *states("h", "v"),
        Signal("g", 4, "parameter", 9.81),
        Signal("e", 5, "parameter", 0.8),
        Signal("v_min", 6, "parameter", 0.1),
        Signal("resting", 7),
        Signal("bounces", 8, "output"),
        Signal("last", 9, "output"),
    ),
    indicators=1,
    defines=("REST",),
)
STIFF = Exchange(
    "stiff.c",
    (
        *states("x0", "x1", "x2"),
        Signal("k", 6, "parameter", 1e4),
        Signal("jacobians", 7),
        Signal("evaluations", 8),
    ),
)
DRIVEN = Exchange(
    "driven.c",
    (
        *states("x", "s"),
        Signal("u", 4, "input", 0.0),
        Signal("k", 5, "parameter", 2.0),
        Signal("y", 6, "output"),
        Signal("n", 7, "output"),
        Signal("period", 8, "parameter", 0.25),
        Signal("z", 10, "output"),
        Signal("events", 11),
        Signal("d", 12, "input", 0.0, variability="discrete"),
        Signal("step", 0, "input", 0, "Integer"),
        Signal("on", 0, "input", 0, "Boolean"),
    ),
)
FAULTY = Exchange(
    "faulty.c",
    (
        *states("x"),
        Signal("rate", 2, "parameter", 1.0),
        Signal("events", 4),
        Signal("kind", 0, "parameter", 0, "Integer"),
    ),
    indicators=1,
)
SWITCH = Exchange(
    "switch.c",
    (
        *states("x"),
        Signal("delay", 2, "parameter", 1e-3),
        Signal("started", 3),
        Signal("rang", 4),
        Signal("passed", 6),
    ),
    indicators=2,
)
(
    SOUND, BAD_DISCARD, BAD_ERROR, BAD_FATAL, BAD_NAN, UNSETTLED, TERMINATE, CHATTER, STEPS,
    BLOW_UP, START_UNSETTLED, NARROW_DISCARD, FAST,
) = range(13)  # fmt: skip


def simulate(fmu: Fmu, setup: SimulationSetup, **values: float) -> F64:
    with fmu.simulator() as simulator:
        return simulator.simulate(setup, values)


def ball(t: F64, e: float = 0.8, g: float = 9.81, h: float = 1.0) -> tuple[F64, F64, list[float]]:
    """Height, speed and contact times of the ball that never rests."""
    contacts = [float(np.sqrt(2.0 * h / g))]
    speed = e * g * contacts[0]
    height, velocity = h - 0.5 * g * t**2, -g * t
    while contacts[-1] < t[-1]:
        tau = t - contacts[-1]
        later = tau >= 0.0
        height = np.where(later, speed * tau - 0.5 * g * tau**2, height)
        velocity = np.where(later, speed - g * tau, velocity)
        contacts.append(contacts[-1] + 2.0 * speed / g)
        speed *= e
    return height, velocity, contacts


def test_a_state_event_is_found_exactly(opened: Opened) -> None:
    t = np.linspace(0.0, 3.0, 301)
    setup = SimulationSetup(
        t, output_names=("h", "v", "bounces", "last", "der(h)"), tolerance=1e-10
    )
    found = simulate(opened(BALL), setup, v_min=1e-9)
    h, v, contacts = ball(t)
    np.testing.assert_allclose(found[:, 0], h, atol=1e-8)
    np.testing.assert_allclose(found[:, 1], v, atol=1e-8)
    np.testing.assert_array_equal(found[:, 1], found[:, 4])
    times = np.unique(found[:, 3])[1:]
    assert times.size == np.searchsorted(contacts, 3.0)
    np.testing.assert_allclose(times, contacts[: times.size], rtol=0.0, atol=1e-9)


def test_the_ball_comes_to_rest_and_each_run_is_the_same(opened: Opened) -> None:
    setup = SimulationSetup(np.linspace(0.0, 6.0, 61), output_names=("h", "v", "resting"))
    with opened(BALL).simulator() as simulator:
        first = simulator.simulate(setup)
        other = simulator.simulate(setup, {"e": 0.5, "g": 1.6})
        again = simulator.simulate(setup)
        assert simulator.statistics.instantiations == 1
    np.testing.assert_array_equal(first, again)
    assert np.max(np.abs(first - other)) > 0.1
    np.testing.assert_array_equal(first[-1], [0.0, 0.0, 1.0])


def test_bounces_without_end_are_refused(opened: Opened) -> None:
    setup = SimulationSetup(np.linspace(0.0, 6.0, 61), output_names=("h",), tolerance=1e-9)
    with opened(replace(BALL, defines=())).simulator() as simulator:
        with pytest.raises(SimulationError, match=r"events follow one another without end") as info:
            simulator.simulate(setup)
        assert "hysteresis" in str(info.value)
        # They accumulate where the geometric series ends.
        end = np.sqrt(2.0 / 9.81) * (1.0 + 2.0 * 0.8 / (1.0 - 0.8))
        assert info.value.time == pytest.approx(end, abs=1e-3)
        short = SimulationSetup(np.linspace(0.0, 1.0, 11), output_names=("h",))
        assert np.isfinite(simulator.simulate(short)).all()


@pytest.mark.parametrize("directional", ["true", "false"])
def test_a_stiff_system_with_nominal_values(opened: Opened, directional: str) -> None:
    fixture = replace(STIFF, flags={"providesDirectionalDerivative": directional})
    t = np.linspace(0.0, 3.0, 31)
    setup = SimulationSetup(
        t, output_names=("x0", "x1", "x2", "jacobians", "evaluations"), tolerance=1e-7
    )
    found = simulate(opened(fixture), setup)
    np.testing.assert_allclose(found[:, 0], np.cos(t), atol=1e-5)
    np.testing.assert_allclose(found[:, 1], np.sin(t), atol=1e-5)
    # Its nominal value is 1e-9: without it, the state would lie below the tolerance.
    np.testing.assert_allclose(found[:, 2], 1e-9 * np.exp(-t), rtol=1e-4)
    assert (found[-1, 3] > 0) == (directional == "true")
    assert found[-1, 4] < 5_000  # an explicit method would need 3e4 steps at least


@pytest.mark.parametrize("directional", ["true", "false"])
def test_states_in_an_array(fmu_folder: Path, directional: str) -> None:
    from .build import compile_library
    from .exchange import pack_fmu

    xml = (
        '<fmiModelDescription fmiVersion="3.0" modelName="stiff"'
        ' instantiationToken="{fmident-test}">'
        f'<ModelExchange modelIdentifier="stiff" providesDirectionalDerivatives="{directional}"/>'
        '<ModelVariables><Float64 name="x" valueReference="0" causality="output">'
        '<Dimension start="3"/></Float64>'
        '<Float64 name="der(x)" valueReference="3" derivative="0"><Dimension start="3"/></Float64>'
        '<Float64 name="jacobians" valueReference="7"/></ModelVariables>'
        '<ModelStructure><ContinuousStateDerivative valueReference="3"/></ModelStructure>'
        "</fmiModelDescription>"
    )
    library = fmu_folder / "stiff-array.so"
    compile_library("stiff.c", ("FMI=3", "ARRAY"), library)
    path = fmu_folder / f"stiff-array-{directional}.fmu"
    pack_fmu(path, xml, library, "3.0", "stiff")
    t = np.linspace(0.0, 3.0, 31)
    setup = SimulationSetup(
        t, output_names=("x[1]", "x[2]", "x[3]", "der(x[2])", "jacobians"), tolerance=1e-7
    )
    with open_fmu(path) as fmu:
        found = simulate(fmu, setup)
    wanted = np.column_stack([np.cos(t), np.sin(t)])
    np.testing.assert_allclose(found[:, :2], wanted, atol=1e-5)
    np.testing.assert_array_equal(found[:, 3], found[:, 0])
    assert (found[-1, 4] > 0) == (directional == "true")


def test_tolerance_governs_the_accuracy(opened: Opened) -> None:
    t = np.linspace(0.0, 3.0, 4)
    fmu, errors = opened(FAULTY), []
    with fmu.simulator() as simulator:
        for tolerance in (1e-4, 1e-7, 1e-10):
            setup = SimulationSetup(t, output_names=("x",), tolerance=tolerance)
            errors.append(np.max(np.abs(simulator.simulate(setup)[:, 0] - np.exp(-t))))
    assert errors[0] > 10.0 * errors[1] > 100.0 * errors[2]
    assert errors[2] < 1e-8


def test_inputs_on_straight_lines_and_feedthrough(opened: Opened) -> None:
    t = np.array([0.0, 0.1, 0.25, 0.7, 1.0])
    u = np.array([1.0, 3.0, -2.0, 0.5, 4.0])
    setup = SimulationSetup(t, ("u",), u[:, None], ("x", "y"), tolerance=1e-10)
    found = simulate(opened(DRIVEN), setup)
    area = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(t) * (u[1:] + u[:-1]))])
    np.testing.assert_allclose(found[:, 0], area, atol=1e-8)
    np.testing.assert_allclose(found[:, 1], 2.0 * u + found[:, 0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("interpolation", ["hold", "mean"])
def test_inputs_that_are_held(opened: Opened, interpolation: str) -> None:
    t = np.linspace(0.0, 1.0, 11)
    u = np.sin(5.0 * t)
    during = u[:-1] if interpolation == "hold" else 0.5 * (u[1:] + u[:-1])
    setup = SimulationSetup(t, ("u",), u[:, None], ("x", "y"), interpolation=interpolation)  # type: ignore[arg-type]
    found = simulate(opened(DRIVEN), setup)
    area = np.concatenate([[0.0], np.cumsum(np.diff(t) * during)])
    np.testing.assert_allclose(found[:, 0], area, atol=1e-6)
    np.testing.assert_allclose(found[:, 1], 2.0 * u + found[:, 0], atol=1e-12)


def test_discrete_inputs_jump_in_events(opened: Opened) -> None:
    t = np.linspace(0.0, 1.0, 11)
    on, step, d = t > 0.35, np.round(10.0 * t), np.where(t > 0.65, 0.25, 0.0)
    setup = SimulationSetup(
        t,
        ("on", "step", "d", "u"),
        np.column_stack([on, step, d, t]),
        ("z", "x"),
        tolerance=1e-8,
    )
    found = simulate(opened(DRIVEN), setup)
    np.testing.assert_array_equal(found[:, 0], np.where(on, step + d, -1.0))
    np.testing.assert_allclose(found[:, 1], 0.5 * t**2, atol=1e-6)


def test_time_events_within_and_at_instants(opened: Opened) -> None:
    t = np.linspace(0.0, 2.0, 9)  # every instant is an event
    fine = np.linspace(0.0, 2.0, 101)
    fmu = opened(DRIVEN)
    for times in (t, fine):
        setup = SimulationSetup(times, output_names=("n", "s", "events"), tolerance=1e-9)
        found = simulate(fmu, setup)
        n = np.floor(times / 0.25 + 1e-9)
        np.testing.assert_array_equal(found[:, 0], n)
        s = 0.25 * 0.5 * n * (n - 1.0) + n * (times - 0.25 * n)
        np.testing.assert_allclose(found[:, 1], s, atol=1e-8)
        assert found[-1, 2] == 8


def test_a_state_event_starts_a_timer_within_the_integrators_step(opened: Opened) -> None:
    setup = SimulationSetup(np.array([0.0, 1.0]), output_names=("started", "rang", "passed", "x"))
    started, rang, passed, x = simulate(opened(SWITCH), setup)[-1]
    assert started == pytest.approx(0.5, abs=1e-9)
    assert rang == started + 1e-3
    assert passed == pytest.approx(0.6, abs=1e-9)
    assert x == pytest.approx(1.0, abs=1e-9)


def test_time_may_start_anywhere(opened: Opened) -> None:
    t = 1000.0 + np.linspace(0.0, 1.0, 11)
    setup = SimulationSetup(t, ("u",), np.ones((11, 1)), ("x", "n"))
    found = simulate(opened(DRIVEN), setup)
    np.testing.assert_allclose(found[:, 0], t - 1000.0, atol=1e-6)
    np.testing.assert_array_equal(found[:, 1], np.floor((t - 1000.0) / 0.25 + 1e-9))


FAILURES = {
    BAD_DISCARD: r"(GetDerivatives|GetContinuousStateDerivatives) returned Discard at t = 1\.0",
    BAD_NAN: r"derivatives of the states are NaN or infinite at t = 1\.0",
    UNSETTLED: r"an event never settles at t = 1\.0.*1000 updates",
    TERMINATE: r"the FMU requested termination at t = 1\.0",
    CHATTER: r"events follow one another without end at t = 1\.",
    START_UNSETTLED: r"an event never settles at t = 0\.0",
    BLOW_UP: r"the integrator CVODE failed at t = (0\.99|1\.0).*(singularity|converge)",
}


@pytest.mark.parametrize("kind", FAILURES)
def test_what_fails_is_told_and_the_next_run_is_sound(opened: Opened, kind: int) -> None:
    setup = SimulationSetup(np.linspace(0.0, 2.0, 21), output_names=("x",))
    with opened(FAULTY).simulator() as simulator:
        good = simulator.simulate(setup)
        with pytest.raises(SimulationError, match=FAILURES[kind]) as info:
            simulator.simulate(setup, {"kind": kind})
        assert info.value.time == pytest.approx(0.0 if kind == START_UNSETTLED else 1.0, abs=0.11)
        np.testing.assert_array_equal(simulator.simulate(setup), good)


def test_an_end_that_the_fmu_wants_at_the_last_instant_is_no_failure(opened: Opened) -> None:
    setup = SimulationSetup(np.linspace(0.0, 1.0, 11), output_names=("x",))
    with opened(FAULTY).simulator() as simulator:
        found = simulator.simulate(setup, {"kind": TERMINATE})
        np.testing.assert_allclose(found[:, 0], np.exp(-setup.times), atol=1e-4)
        again = simulator.simulate(setup)
        np.testing.assert_allclose(again[:, 0], found[:, 0], atol=1e-4)


@pytest.mark.parametrize(
    ("function", "answer"),
    [("SUNDenseMatrix", None), ("CVodeCreate", None), ("CVodeSetLinearSolver", -4)],
)
def test_an_integrator_without_memory_is_told(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, function: str, answer: int | None
) -> None:
    setup = SimulationSetup(np.linspace(0.0, 0.5, 6), output_names=("x",))
    real = Sundials.call
    with opened(FAULTY).simulator() as simulator:
        good = simulator.simulate(setup)
        with monkeypatch.context() as patch:
            patch.setattr(
                Sundials,
                "call",
                lambda self, name, *rest: answer if name == function else real(self, name, *rest),
            )
            with pytest.raises(
                SimulationError, match=f"for 1 states?: {function} returned"
            ) as info:
                simulator.simulate(setup)
        assert info.value.hint is not None
        np.testing.assert_array_equal(simulator.simulate(setup), good)


def test_a_jacobian_that_fails_is_told_and_costs_the_instance(opened: Opened) -> None:
    flags = {"providesDirectionalDerivative": "true"}
    fmu = opened(replace(STIFF, flags=flags, defines=("BAD_JACOBIAN",)))
    setup = SimulationSetup(np.linspace(0.0, 20.0, 3), output_names=("x0",))
    with fmu.simulator() as simulator:
        words = r"GetDirectionalDerivative returned Error at t = .*no derivative"
        for _ in range(2):
            with pytest.raises(SimulationError, match=words):
                simulator.simulate(setup)
        assert simulator.statistics.instantiations == 2


def test_a_discarded_derivative_makes_the_step_smaller_only(opened: Opened) -> None:
    setup = SimulationSetup(np.linspace(0.0, 1.0, 3), output_names=("x",))
    with opened(FAULTY).simulator() as simulator:
        found = simulator.simulate(setup, {"kind": NARROW_DISCARD})
    np.testing.assert_allclose(found[:, 0], np.exp(-setup.times), atol=1e-5)


def test_step_events_are_handled(opened: Opened) -> None:
    setup = SimulationSetup(np.linspace(0.0, 1.0, 3), output_names=("x", "events"))
    found = simulate(opened(FAULTY), setup, kind=STEPS)
    np.testing.assert_allclose(found[:, 0], np.exp(-setup.times), atol=1e-4)
    assert found[-1, 1] > 10


def test_step_events_are_not_asked_for_in_vain(opened: Opened, version: int) -> None:
    fixture = replace(FAULTY, flags={"completedIntegratorStepNotNeeded": "true"})
    setup = SimulationSetup(np.linspace(0.0, 1.0, 3), output_names=("events",))
    assert simulate(opened(fixture), setup, kind=STEPS)[-1, 0] == 0


def test_time_limit_strikes_within_a_communication_step(opened: Opened) -> None:
    setup = SimulationSetup(np.array([0.0, 100.0]), output_names=("x",), tolerance=1e-6)
    with opened(FAULTY).simulator() as simulator:
        with pytest.raises(SimulationError) as info:
            simulator.simulate(setup, {"kind": FAST}, time_limit=0.05)
        assert info.value.code == Code.TIMED_OUT
        assert info.value.time is not None
        assert 0.0 < info.value.time < 100.0


def test_the_interface_is_chosen(opened: Opened) -> None:
    fmu = opened(BALL)
    with fmu.simulator(interface="model-exchange") as simulator:
        assert simulator.description.capabilities.kind == "model-exchange"
    with refused(Code.NOT_SUPPORTED, FmuError, match="'co-simulation'.*'model-ex"):
        fmu.simulator(interface="co-simulation")
    with refused(Code.NOT_A_CHOICE, FmuError, match="'me'"):
        fmu.simulator(interface="me")  # type: ignore[arg-type]


def test_both_interfaces_of_one_fmu(tmp_path: Path) -> None:
    t = np.linspace(0.0, 1.0, 11)
    setup = SimulationSetup(t, ("u",), np.ones((11, 1)), ("y",), tolerance=1e-9)
    with open_fmu(build_twin(tmp_path)) as fmu:
        assert [c.kind for c in fmu.description.interfaces] == ["co-simulation", "model-exchange"]
        with fmu.simulator() as coarse, fmu.simulator(interface="model-exchange") as exact:
            assert coarse.description.capabilities.kind == "co-simulation"
            np.testing.assert_allclose(coarse.simulate(setup)[:, 0], 1.0 - 0.8 ** (10.0 * t))
            exactly = exact.simulate(setup)[:, 0]
    np.testing.assert_allclose(exactly, 1.0 - np.exp(-2.0 * t), atol=1e-7)


@pytest.mark.slow
def test_the_guard_runs_it_in_a_child(fmu_folder: Path, version: int) -> None:
    path = build_exchange(FAULTY, version, fmu_folder)
    setup = SimulationSetup(np.linspace(0.0, 2.0, 21), output_names=("x",))
    assert check_survives(path, setup).time_reached == 2.0
    with pytest.raises(SimulationError, match="returned Error"):
        check_survives(path, setup, {"kind": BAD_ERROR})


def test_the_description_tells_states(fmu_folder: Path, version: int) -> None:
    description = read_description(build_exchange(STIFF, version, fmu_folder))
    assert description.state_references == (0, 1, 2)
    assert description.derivative_references == (3, 4, 5)
    assert description.can_interpolate_inputs
    assert [c.kind for c in description.interfaces] == ["model-exchange"]


@pytest.mark.parametrize("name", ["ball", "stiff", "driven"])
def test_fmpy_comes_to_the_same(fmu_folder: Path, version: int, name: str) -> None:
    import fmpy

    fixture = {"ball": BALL, "stiff": STIFF, "driven": DRIVEN}[name]
    outputs = [s.name for s in fixture.signals if s.causality == "output" and s.name != "last"]
    t = np.linspace(0.0, 2.0, 41)
    path = build_exchange(fixture, version, fmu_folder)
    theirs = fmpy.simulate_fmu(
        str(path), stop_time=2.0, output_interval=0.05, fmi_type="ModelExchange",
        relative_tolerance=1e-8, output=outputs, record_events=False, validate=False,
    )  # fmt: skip
    setup = SimulationSetup(t, output_names=tuple(outputs), tolerance=1e-8)
    with open_fmu(path) as fmu:
        ours = simulate(fmu, setup)
    for column, output in enumerate(outputs):
        there = np.interp(t, theirs["time"], theirs[output])
        np.testing.assert_allclose(ours[:, column], there, rtol=1e-4, atol=1e-5, err_msg=output)


def test_sundials_of_the_system_does_as_well(
    fmu_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fmident.fmu.model_exchange import sundials

    if not sundials._of_system()[0]:
        pytest.skip("no SUNDIALS on the system")
    monkeypatch.setattr(sundials, "_of_fmpy", lambda: ([], "FMPy"))
    sundials._libraries.cache_clear()
    try:
        assert sundials.make_sundials().origin == "the system"
        t = np.linspace(0.0, 1.0, 11)
        with open_fmu(build_exchange(FAULTY, 2, fmu_folder)) as fmu:
            found = simulate(fmu, SimulationSetup(t, output_names=("x",)))
        np.testing.assert_allclose(found[:, 0], np.exp(-t), atol=1e-5)
        monkeypatch.setattr(sundials, "_of_system", lambda: ([], "the system"))
        sundials._libraries.cache_clear()
        with refused(Code.NOT_INSTALLED, FmuError):
            sundials.make_sundials()
    finally:
        sundials._libraries.cache_clear()


def test_a_run_that_fails_frees_the_integrator(opened: Opened) -> None:
    setup = SimulationSetup(np.linspace(0.0, 2.0, 21), output_names=("x",))
    with opened(FAULTY).simulator() as simulator:
        for _ in range(3):
            with pytest.raises(SimulationError):
                simulator.simulate(setup, {"kind": BAD_NAN})
        plan = simulator._plans.prepare(setup, {}).plan
        assert isinstance(plan, ExchangePlan)
        simulator.simulate(setup)
        assert plan._integrator is None
