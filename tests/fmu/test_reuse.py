"""A run gives what a new instance gives, whatever the FMU's reset forgets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fmident.fmu import SimulationSetup, open_fmu
from fmident.fmu.life_cycle.probe import try_reset

from .build import Fixture, build, real
from .exchange import Exchange, Signal, build_exchange
from .slave3 import Slave3, build_slave3
from .updates import update_of

FORGETS = ["STATES", "INPUTS", "PARAMETERS", "FEEDTHROUGH"]
T = np.linspace(0.0, 1.0, 11)
VARIABLES = "\n".join(
    [
        real("u", 0, "input", start=0.5),
        real("k", 1, "parameter", start=2),
        real("x", 2, "output"),
        real("y", 3, "output"),
    ]
)
VARIABLES_3 = """
<Float64 name="u" valueReference="1" causality="input" start="0.5"/>
<Float64 name="k" valueReference="2" causality="parameter" start="2"/>
<Float64 name="x" valueReference="3" causality="output"/>
<Float64 name="y" valueReference="4" causality="output"/>
"""
SIGNALS = (
    Signal("x", 0, "output"),
    Signal("der(x)", 1, derivative="x"),
    Signal("u", 2, "input", 0.5),
    Signal("k", 3, "parameter", 2.0),
    Signal("y", 4, "output"),
)
KINDS = ["cs2", "cs3", "me2", "me3"]


def forgetful(folder: Path, kind: str, forgets: str, *defines: str, **flags: str) -> Path:
    defines = (f"FORGETS={forgets}", *defines)
    if kind == "cs2":
        return build(Fixture("forgetful.c", VARIABLES, flags, defines), folder)
    if kind == "cs3":
        return build_slave3(Slave3("forgetful3.c", VARIABLES_3, flags, defines=defines), folder)
    version = int(kind[-1])
    return build_exchange(Exchange("forgetful_me.c", SIGNALS, 0, defines, flags), version, folder)


def setup(level: float = 3.0) -> SimulationSetup:
    u = level + np.sin(5.0 * T)
    return SimulationSetup(T, ("u",), u[:, None], ("x", "y"), interpolation="hold")


Reference = Callable[[str, SimulationSetup, dict[str, float]], np.ndarray]


@pytest.fixture
def reference(fmu_folder: Path) -> Reference:
    def first_run(kind: str, given: SimulationSetup, values: dict[str, float]) -> np.ndarray:
        path = forgetful(fmu_folder, kind, "NOTHING")
        with open_fmu(path) as fmu, fmu.simulator(input_update="after_step") as simulator:
            return simulator.simulate(given, values)

    return first_run


CASES = [(k, f) for k in KINDS for f in FORGETS if (k[:2], f) != ("me", "FEEDTHROUGH")]


@pytest.mark.parametrize(("kind", "forgets"), CASES)
def test_every_run_is_that_of_a_new_instance(fmu_folder: Path, kind: str, forgets: str) -> None:
    path = forgetful(fmu_folder, kind, forgets)
    given = [(setup(), {"k": 3.0}), (setup(-1.0), {"k": 3.0}), (setup(7.0), {"k": 0.5})]
    expected = []
    for one, values in given:
        with open_fmu(path) as fmu, fmu.simulator() as simulator:
            expected.append(simulator.simulate(one, values))
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        for place in (0, 1, 2, 0, 2, 1, 1):
            one, values = given[place]
            np.testing.assert_array_equal(simulator.simulate(one, values), expected[place])
        assert simulator.statistics.runs == 7
        assert simulator.statistics.steps == 70


@pytest.mark.parametrize(("kind", "forgets"), CASES)
def test_the_trial_of_the_reset_finds_it(fmu_folder: Path, kind: str, forgets: str) -> None:
    trials = [(setup(), {"k": 3.0}), (setup(5.0), {"k": 3.0})]
    with open_fmu(forgetful(fmu_folder, kind, forgets)) as fmu, fmu.simulator() as simulator:
        verdict = try_reset(simulator, trials)
        assert verdict.reinstantiate
        assert f"fmi{kind[-1]}Reset does not bring the FMU back" in verdict.note
    with open_fmu(forgetful(fmu_folder, kind, "NOTHING")) as fmu, fmu.simulator() as simulator:
        assert not try_reset(simulator, trials).note
        simulator.simulate(trials[0][0], {"k": 1.0})
        assert simulator.would_reset


@pytest.mark.parametrize("kind", ["cs2", "cs3"])
def test_the_trial_of_the_inputs_leaves_no_trace(
    fmu_folder: Path, kind: str, reference: Reference
) -> None:
    """The very first run, too, when the reset brings nothing back."""
    for forgets in ("STATES", "INPUTS", "PARAMETERS"):
        with open_fmu(forgetful(fmu_folder, kind, forgets)) as fmu, fmu.simulator() as simulator:
            given = setup()
            found = simulator.simulate(given, {"k": 3.0})
            assert update_of(simulator, given) == "after_step"
            np.testing.assert_array_equal(found, reference(kind, given, {"k": 3.0}))


@pytest.mark.parametrize(
    ("define", "update"), [("STATES", "after_step"), ("FEEDTHROUGH", "before_step")]
)
def test_once_per_process_means_once(
    fmu_folder: Path, define: str, update: str, reference: Reference
) -> None:
    """Its state belongs to the process: an instance for a trial would spoil that of the run."""
    once = {"canBeInstantiatedOnlyOncePerProcess": "true"}
    path = forgetful(fmu_folder, "cs2", define, "GLOBAL", **once)
    given = setup()
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        found = simulator.simulate(given, {"k": 3.0})
        assert update_of(simulator, given) == update
        assert simulator.statistics.instantiations == 1
    assert found[0, 0] == 0.0
    if update == "after_step":
        np.testing.assert_array_equal(found, reference("cs2", given, {"k": 3.0}))


def test_a_new_instance_that_is_not_clean_either_needs_a_new_process(fmu_folder: Path) -> None:
    path = forgetful(fmu_folder, "cs2", "STATES", "GLOBAL")
    with open_fmu(path) as fmu, fmu.simulator(input_update="after_step") as simulator:
        verdict = try_reset(simulator, [(setup(), {"k": 3.0})])
    assert verdict.new_process
    assert "not even when it is instantiated anew" in verdict.note


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_with_the_values_of_the_run_before_does_not_count_for_others(
    fmu_folder: Path, kind: str, reference: Reference
) -> None:
    given = setup()
    path = forgetful(fmu_folder, kind, "PARAMETERS")
    with open_fmu(path) as fmu, fmu.simulator(input_update="after_step") as simulator:
        for k in (3.0, 3.0, 3.0, 0.5, 3.0):
            found = simulator.simulate(given, {"k": k})
            np.testing.assert_array_equal(found, reference(kind, given, {"k": k}))


def test_a_trial_that_could_compare_nothing_leaves_the_check_to_the_runs(
    fmu_folder: Path, reference: Reference
) -> None:
    given = setup()
    with (
        open_fmu(forgetful(fmu_folder, "cs2", "PARAMETERS")) as fmu,
        fmu.simulator(input_update="after_step") as simulator,
    ):
        assert not try_reset(simulator, [(given, {"k": 1e308})]).note
        for k in (3.0, 0.5):
            found = simulator.simulate(given, {"k": k})
            np.testing.assert_array_equal(found, reference("cs2", given, {"k": k}))
