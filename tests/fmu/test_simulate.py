"""Simulation: sampling convention, types, life cycle, number of calls."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.errors import Code, FmuError, SimulationError
from fmident.fmu import SimulationSetup, interpolates_inputs, open_fmu

from ..refused import refused
from .build import Fixture, build, real
from .conftest import FEEDTHROUGH, Builder
from .updates import update_of

RNG = np.random.default_rng(4)
TIMES = np.concatenate([[0.5], 0.5 + np.cumsum(RNG.uniform(0.01, 0.3, 60))])
U = RNG.standard_normal((61, 1))
K = 3.0


def held(u: F64) -> F64:
    """x' = u with u held at the start of each interval."""
    return np.concatenate([[0.0], np.cumsum(u[:-1] * np.diff(TIMES))])


def straight(u: F64) -> F64:
    """x' = u with u linear between the instants."""
    return np.concatenate([[0.0], np.cumsum(0.5 * (u[1:] + u[:-1]) * np.diff(TIMES))])


def run(path: Path, **options: object) -> F64:
    setup = SimulationSetup(TIMES, ("u",), U, ("y", "z", "q"), **options)  # type: ignore[arg-type]
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        return simulator.simulate(setup, {"k": K})


def test_outputs_belong_to_the_inputs_of_the_same_instant(feedthrough: Builder) -> None:
    y, z, q = run(feedthrough()).T
    np.testing.assert_array_equal(z, K * U[:, 0])
    np.testing.assert_allclose(q, held(U[:, 0]), rtol=0, atol=1e-13)
    np.testing.assert_array_equal(y, z + q)


def test_an_fmu_that_computes_outputs_in_its_step_is_recognised(feedthrough: Builder) -> None:
    setup = SimulationSetup(TIMES, ("u",), U, ("z",))
    with open_fmu(feedthrough("LATE")) as fmu, fmu.simulator() as simulator:
        (z,) = simulator.simulate(setup, {"k": K}).T
        assert update_of(simulator, setup) == "before_step"
        assert "fmi2DoStep only" in simulator.log[0].message
        np.testing.assert_array_equal(z, K * U[:, 0])
        simulator.simulate(setup)
        assert simulator.log == ()
    with open_fmu(feedthrough("LATE")) as fmu, fmu.simulator(input_update="after_step") as naive:
        (z,) = naive.simulate(setup, {"k": K}).T
    np.testing.assert_array_equal(z[2:], K * U[1:-1, 0])  # one sample late: what is avoided


def test_no_shift_where_a_late_fmu_has_no_feedthrough(feedthrough: Builder) -> None:
    setup = SimulationSetup(TIMES, ("u",), U, ("q",))
    with open_fmu(feedthrough("LATE")) as fmu, fmu.simulator() as simulator:
        (q,) = simulator.simulate(setup).T
        assert update_of(simulator, setup) == "after_step"
    np.testing.assert_allclose(q, held(U[:, 0]), rtol=0, atol=1e-13)


def test_declared_independence_saves_the_trial(feedthrough: Builder) -> None:
    path = feedthrough(structure='<Outputs><Unknown index="4" dependencies="3"/></Outputs>')
    setup = SimulationSetup(TIMES, ("u",), U, ("y",))
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        assert fmu.description.output_dependencies == {"y": {"x"}}
        simulator.simulate(setup)
        assert update_of(simulator, setup) == "after_step"


@pytest.mark.parametrize("late", [True, False], ids=["late", "at once"])
def test_linear_interpolation(feedthrough: Builder, late: bool) -> None:
    path = feedthrough(*(["LATE"] if late else []), "INTERPOLATE", interpolates=True)
    _, z, q = run(path).T
    np.testing.assert_allclose(z, K * U[:, 0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(q, straight(U[:, 0]), rtol=0, atol=1e-13)
    _, z, q = run(path, interpolation="hold").T
    np.testing.assert_allclose(z, K * U[:, 0], rtol=0, atol=1e-13)
    if not late:
        np.testing.assert_allclose(q, held(U[:, 0]), rtol=0, atol=1e-13)


def test_interpolation_announced_but_not_done(feedthrough: Builder) -> None:
    """OpenModelica's FMUs are like this: the result is that of held inputs."""
    _, z, q = run(feedthrough(interpolates=True)).T
    np.testing.assert_array_equal(z, K * U[:, 0])
    np.testing.assert_allclose(q, held(U[:, 0]), rtol=0, atol=1e-13)
    _, z, q = run(feedthrough(interpolates=True), interpolation="mean").T
    np.testing.assert_array_equal(z, K * U[:, 0])
    np.testing.assert_allclose(q, straight(U[:, 0]), rtol=0, atol=1e-13)
    _, z, _ = run(feedthrough("LATE", interpolates=True)).T
    np.testing.assert_array_equal(z, K * U[:, 0])


def test_discrete_inputs_of_a_late_fmu_are_not_early(fmu_folder: Path) -> None:
    more = real("u2", 6, "input", start=0, variability="discrete")
    fixture = Fixture("feedthrough.c", f"{FEEDTHROUGH}\n{more}", {}, ("LATE",))
    jumps = np.where(TIMES[3] < TIMES, 5.0, 1.0)
    setup = SimulationSetup(TIMES, ("u", "u2"), np.column_stack([U, jumps]), ("z", "q"))
    with open_fmu(build(fixture, fmu_folder)) as fmu, fmu.simulator() as simulator:
        z, q = simulator.simulate(setup, {"k": K}).T
        assert update_of(simulator, setup) == "before_step"
    np.testing.assert_array_equal(z, K * U[:, 0])
    ahead = np.concatenate([[0.0], np.cumsum(np.diff(TIMES) * U[1:, 0])])
    np.testing.assert_allclose(q, ahead + held(jumps), rtol=0, atol=1e-13)


def test_means_are_refused_where_outputs_are_computed_in_the_step(feedthrough: Builder) -> None:
    with refused(Code.NOT_SUPPORTED, FmuError, match="in the step only"):
        run(feedthrough("LATE"), interpolation="mean")


@pytest.mark.parametrize("late", [True, False], ids=["late", "at once"])
def test_substeps_hold_what_is_held(feedthrough: Builder, late: bool) -> None:
    path = feedthrough(*(["LATE"] if late else []))
    _, z, q = run(path, substeps=4).T
    np.testing.assert_array_equal(z, K * U[:, 0])
    # Where outputs are computed in the step, its last quarter has the next input already.
    early = 0.25 * (straight(U[:, 0]) - held(U[:, 0])) * 2.0 if late else 0.0
    np.testing.assert_allclose(q, held(U[:, 0]) + early, rtol=0, atol=1e-13)


@pytest.mark.parametrize("interpolation", ["linear", "mean"])
def test_substeps_follow_lines(feedthrough: Builder, interpolation: str) -> None:
    path = feedthrough("INTERPOLATE", interpolates=True)
    _, z, q = run(path, interpolation=interpolation, substeps=3).T
    np.testing.assert_allclose(z, K * U[:, 0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(q, straight(U[:, 0]), rtol=0, atol=1e-13)


def test_outputs_before_a_failure_are_those_of_the_instants(trouble: Path) -> None:
    setup = SimulationSetup(TIMES, output_names=("x",), substeps=3)
    with open_fmu(trouble) as fmu, fmu.simulator() as simulator:
        whole = simulator.simulate(setup, {"at": 100.0})
        assert len(whole) == TIMES.size
        for at in (0.5 * (TIMES[3] + TIMES[4]), TIMES[-2]):
            with pytest.raises(SimulationError) as caught:
                simulator.simulate(setup, {"at": float(at), "kind": 2})
            assert caught.value.outputs is not None
            assert 0 < len(caught.value.outputs) <= TIMES.size
            np.testing.assert_array_equal(caught.value.outputs, whole[: len(caught.value.outputs)])


def test_substeps_must_be_some() -> None:
    with refused(Code.UNUSABLE_FMU, FmuError, match="at least 1"):
        SimulationSetup(TIMES, substeps=0)


@pytest.mark.parametrize("interpolation", ["auto", "mean"])
def test_a_discrete_input_is_held(fmu_folder: Path, interpolation: str) -> None:
    variables = FEEDTHROUGH.replace('causality="input"', 'causality="input" variability="discrete"')
    flags = {"canInterpolateInputs": "true"}
    fixture = Fixture("feedthrough.c", variables, flags, ("INTERPOLATE",))
    _, z, q = run(build(fixture, fmu_folder), interpolation=interpolation).T
    np.testing.assert_array_equal(z, K * U[:, 0])
    np.testing.assert_allclose(q, held(U[:, 0]), rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("defines", "announced", "found"),
    [(["INTERPOLATE"], True, True), ([], True, False), ([], False, False)],
)
def test_whether_interpolation_is_done(
    feedthrough: Builder, defines: list[str], announced: bool, found: bool
) -> None:
    setup = SimulationSetup(TIMES, ("u",), U, ("q",))
    with open_fmu(feedthrough(*defines, interpolates=announced)) as fmu:
        assert interpolates_inputs(fmu.simulator(), setup) is found


def test_linear_is_refused_where_it_is_not_offered(feedthrough: Builder) -> None:
    with refused(Code.NOT_SUPPORTED, FmuError):
        run(feedthrough(), interpolation="linear")


def test_setup_experiment_gets_stop_time_and_tolerance(feedthrough: Builder) -> None:
    with open_fmu(feedthrough()) as fmu, fmu.simulator() as simulator:
        for given, expected in ((None, 1e-6), (1e-9, 1e-9)):
            setup = SimulationSetup(TIMES, (), None, ("stopTime", "tolerance"), tolerance=given)
            row = simulator.simulate(setup)[0]
            assert row.tolist() == [TIMES[-1], expected]


def test_all_types_as_parameters_inputs_and_outputs(types: Builder) -> None:
    times = np.arange(5.0)
    inputs = np.array([[0, 1, 0.5], [1, 2, 1.5], [0, 3, -1], [1, 1, 0], [1, 2, 7]], float)
    setup = SimulationSetup(times, ("bin", "iin", "uin"), inputs, ("iout", "out", "bout", "uin"))
    with open_fmu(types()) as fmu, fmu.simulator() as simulator:
        for values, gain, count, length in (
            ({}, 1.5, 2, 3),
            ({"gain": 2, "count": 4.0, "text": "hello"}, 2.0, 4, 5),
            ({"on": False}, 0.0, 2, 3),
        ):
            y = simulator.simulate(setup, values)
            np.testing.assert_array_equal(y[:, 0], 10 * inputs[:, 1])
            np.testing.assert_array_equal(y[:, 1], gain * count + length + inputs[:, 2])
            np.testing.assert_array_equal(y[:, 2], 1 - inputs[:, 0])
            np.testing.assert_array_equal(y[:, 3], inputs[:, 2])


@pytest.mark.parametrize("interpolates", [False, True])
def test_each_step_makes_no_more_calls_than_it_needs(types: Builder, interpolates: bool) -> None:
    flags = {"canInterpolateInputs": "true"} if interpolates else {}
    times = np.linspace(0.0, 1.0, 101)
    calls = ("calls.set", "calls.get", "calls.step", "calls.derivative")
    setup = SimulationSetup(times, ("uin",), np.sin(times)[:, None], calls)
    with open_fmu(types(**flags)) as fmu, fmu.simulator() as simulator:
        last = simulator.simulate(setup)[-1]
    assert last.tolist() == [100, 101, 100, 100 if interpolates else 0]


@pytest.mark.parametrize(
    ("values", "code", "words"),
    [
        ({"gian": 1.0}, Code.UNKNOWN_NAME, "'gain'"),
        ({"sum": 1.0}, Code.NOT_SETTABLE, "calculated from"),
        ({"pi": 3.0}, Code.NOT_SETTABLE, "constant"),
        ({"out": 3.0}, Code.NOT_SETTABLE, "calculated by"),
        ({"gain": float("nan")}, Code.WRONG_TYPE, "finite"),
        ({"gain": "2"}, Code.WRONG_TYPE, "a number"),
        ({"count": 2.5}, Code.WRONG_TYPE, "whole"),
        ({"on": 2}, Code.WRONG_TYPE, "True or False"),
        ({"text": 7}, Code.WRONG_TYPE, "a text"),
    ],
)
def test_values_that_do_not_fit(
    types: Builder, values: dict[str, object], code: Code, words: str
) -> None:
    setup = SimulationSetup(np.arange(3.0), output_names=("out",))
    with open_fmu(types()) as fmu, fmu.simulator() as simulator:
        with refused(code, FmuError, match=words):
            simulator.simulate(setup, values)  # type: ignore[arg-type]
        assert simulator.simulate(setup)[0, 0] == 6.0  # and the next run is sound


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"times": [0, 1, 1]}, "must increase"),
        ({"times": [0, np.nan, 2]}, "not finite"),
        ({"times": []}, "at least one"),
        ({"inputs": np.zeros((2, 1))}, "inputs have shape"),
        ({"inputs": np.array([[0.0], [np.inf], [0.0]])}, "'uin' is inf at 1.0 s"),
        ({"input_names": ("out",)}, "not an input"),
        ({"input_names": ("uni",)}, "nearest variable: 'uin'"),
        ({"input_names": ("bin",), "inputs": np.full((3, 1), 0.5)}, "give 0 or 1"),
        ({"input_names": ("iin",), "inputs": np.full((3, 1), 1e10)}, "to 2147483647"),
        ({"input_names": ("iin",), "inputs": np.full((3, 1), 2.0**31)}, "to 2147483647"),
        ({"output_names": ("text",)}, "cannot be recorded"),
        ({"output_names": ("out", "out")}, "named twice"),
        ({"interpolation": "cubic"}, "'cubic' is not known"),
        ({"tolerance": 0.0}, "tolerance"),
    ],
)
def test_setups_that_do_not_fit(types: Builder, arguments: dict[str, object], words: str) -> None:
    given = {
        "times": [0, 1, 2],
        "input_names": ("uin",),
        "inputs": np.zeros((3, 1)),
        "output_names": ("out",),
        **arguments,
    }
    with (
        open_fmu(types()) as fmu,
        fmu.simulator() as simulator,
        pytest.raises(FmuError, match=words),
    ):
        simulator.simulate(SimulationSetup(**given))  # type: ignore[arg-type]


def test_the_smallest_integer(types: Builder) -> None:
    setup = SimulationSetup(
        [0.0, 1.0],
        ("iin",),
        np.full((2, 1), -(2.0**31)),
        ("iin",),  # type: ignore[arg-type]
    )
    with open_fmu(types()) as fmu, fmu.simulator() as simulator:
        assert simulator.simulate(setup).tolist() == [[-(2.0**31)]] * 2


def test_one_instant_only(feedthrough: Builder) -> None:
    setup = SimulationSetup([0.0], ("u",), [[2.0]], ("z",))  # type: ignore[arg-type]
    with open_fmu(feedthrough()) as fmu, fmu.simulator() as simulator:
        assert simulator.simulate(setup).tolist() == [[4.0]]


def test_the_setup_cannot_be_changed(feedthrough: Builder) -> None:
    mine = U.copy()
    setup = SimulationSetup(TIMES, ("u",), mine, ("z",))
    mine[:] = 0.0
    assert setup.inputs is not None
    np.testing.assert_array_equal(setup.inputs, U)
    with pytest.raises(ValueError, match="read-only"):
        setup.inputs[0, 0] = 1.0


def test_simulators_in_threads_do_not_disturb_each_other(feedthrough: Builder) -> None:
    times = np.linspace(0.0, 1.0, 20_001)
    setup = SimulationSetup(times, ("u",), np.sin(times)[:, None], ("y", "z", "q"))
    with open_fmu(feedthrough()) as fmu:
        with fmu.simulator() as single:
            alone = {k: single.simulate(setup, {"k": k}) for k in (1.0, 2.0)}
        wrong: list[float] = []

        def work(k: float) -> None:
            with fmu.simulator() as simulator:
                for _ in range(5):
                    if not np.array_equal(simulator.simulate(setup, {"k": k}), alone[k]):
                        wrong.append(k)

        threads = [threading.Thread(target=work, args=(k,)) for k in (1.0, 2.0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_a_simulator_shared_by_threads_serves_one_after_the_other(feedthrough: Builder) -> None:
    times = np.linspace(0.0, 1.0, 20_001)
    setup = SimulationSetup(times, ("u",), np.sin(times)[:, None], ("z",))
    right: list[bool] = []
    with open_fmu(feedthrough()) as fmu, fmu.simulator() as simulator:

        def work(k: float) -> None:
            for _ in range(5):
                z = simulator.simulate(setup, {"k": k})[:, 0]
                right.append(np.array_equal(z, k * np.sin(times)))

        threads = [threading.Thread(target=work, args=(k,)) for k in (1.0, 2.0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert right == [True] * 10
        simulator.close()
        with pytest.raises(FmuError, match="closed"):
            simulator.simulate(setup)


def test_many_resets_leak_nothing(feedthrough: Builder) -> None:
    setup = SimulationSetup(np.linspace(0, 1, 11), ("u",), np.ones((11, 1)), ("z",))
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0  # noqa: PTH112, PTH208
    with open_fmu(feedthrough()) as fmu, fmu.simulator() as simulator:
        for k in range(300):
            simulator.simulate(setup, {"k": 1.0 + k})
        before = memory()
        for k in range(2000):
            simulator.simulate(setup, {"k": 1.0 + k})
        assert memory() - before < 1_000_000
    if files:
        assert len(os.listdir("/proc/self/fd")) <= files + 1  # noqa: PTH208


def memory() -> int:
    """Resident bytes; 0 where the platform does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
