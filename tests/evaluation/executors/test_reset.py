"""An FMU that cannot be reset is found by trial, once, and instantiated anew instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fmident.evaluation import Executor, InProcessExecutor, ProcessExecutor
from fmident.evaluation.executors.processes.worker import Sent, Worker
from fmident.fmu import open_fmu
from fmident.fmu.life_cycle.probe import LONGEST, try_reset
from fmident.fmu.setup import SimulationSetup

from . import faults
from .faults import TIMES, BuildFaults, make_problem, same, task, write_study

SETUP = SimulationSetup(TIMES, output_names=("x", "y"))
KINDS = [InProcessExecutor, ProcessExecutor]


def test_a_clean_reset_passes_without_a_word(fmu: Path) -> None:
    with open_fmu(fmu) as opened, opened.simulator() as simulator:
        verdict = try_reset(simulator, [(SETUP, {})])
        assert not verdict.reinstantiate
        assert verdict.note == ""
        assert simulator.statistics.instantiations == 1
        assert simulator.statistics.runs == 2


def test_a_reset_that_keeps_state_is_found(faulty: BuildFaults) -> None:
    with open_fmu(faulty("KEEPS_STATE")) as opened, opened.simulator() as simulator:
        verdict = try_reset(simulator, [(SETUP, {})])
        assert verdict.reinstantiate
        assert "fmi2Reset does not bring the FMU back" in verdict.note
        assert "'x' differs by 0.001" in verdict.note
        first, second = simulator.simulate(SETUP), simulator.simulate(SETUP)
        assert first.tobytes() == second.tobytes()
        assert first[0, 0] == 0.0


@pytest.mark.parametrize("defines", [("ENDS",), ("ENDS", "KEEPS_STATE")])
def test_the_reset_is_tried_though_the_fmu_ends_each_run_itself(
    faulty: BuildFaults, defines: tuple[str, ...]
) -> None:
    """After such a run there is a new instance, after others a reset."""
    with open_fmu(faulty(*defines)) as opened, opened.simulator() as simulator:
        verdict = try_reset(simulator, [(SETUP, {})])
        assert verdict.reinstantiate == ("KEEPS_STATE" in defines)
        assert bool(verdict.note) == verdict.reinstantiate
        assert simulator.statistics.failures == 0


def test_an_fmu_that_never_repeats_itself_is_told_of(faulty: BuildFaults) -> None:
    with open_fmu(faulty("NEVER_THE_SAME")) as opened, opened.simulator() as simulator:
        verdict = try_reset(simulator, [(SETUP, {})])
        assert not verdict.reinstantiate
        assert "does not repeat itself" in verdict.note


@pytest.mark.slow
def test_where_a_new_instance_is_not_clean_each_simulation_has_a_process(
    faulty: BuildFaults,
) -> None:
    with ProcessExecutor(make_problem(faulty("NEVER_THE_SAME"), workers=1)) as executor:
        found = executor.run_all([task(1.0)] * 3)
        assert same(found[1:], found[:1] * 2)
        assert found[0][0, 0] == 0.0  # type: ignore[index]
        assert executor.report().renewals >= 3
    with InProcessExecutor(make_problem(faulty("NEVER_THE_SAME"))) as inline:
        inline.run_all([task(1.0)])
        assert inline.needs_processes
        assert any('executor = "processes"' in note for note in inline.report().notes)


def test_a_failing_first_run_is_not_the_business_of_the_trial(fmu: Path) -> None:
    with open_fmu(fmu) as opened, opened.simulator() as simulator:
        assert try_reset(simulator, [(SETUP, {"kind": float(faults.ERROR)})]).note == ""


def test_the_trial_of_a_long_run_is_short(fmu: Path) -> None:
    import numpy as np

    setup = SimulationSetup(np.linspace(0.0, 10.0, 5001), output_names=("x",))
    with open_fmu(fmu) as opened, opened.simulator() as simulator:
        try_reset(simulator, [(setup, {})])
        assert simulator.statistics.steps == 2 * (LONGEST - 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_results_do_not_depend_on_what_ran_before(
    faulty: BuildFaults, fmu: Path, kind: type[Executor]
) -> None:
    tasks = [task(0.1 * k, k % 2) for k in range(12)]
    with InProcessExecutor(make_problem(fmu)) as executor:
        expected = executor.run_all(tasks)
    with kind(make_problem(faulty("KEEPS_STATE"), renew_after=5)) as executor:  # type: ignore[call-arg]
        assert same(executor.run_all(tasks), expected)
        assert same(executor.run_all(tasks[::-1]), expected[::-1])
        notes = executor.report().notes
    assert len(notes) == 1
    assert "instantiated anew for each simulation" in notes[0]


def test_a_crash_in_the_trial_harms_nobody_else(fmu: Path) -> None:
    problem = make_problem(fmu, start={"kind": float(faults.CRASH), "threshold": 0.9})
    with ProcessExecutor(problem) as executor:
        found = executor.run_all([task(0.5), task(0.6), task(1.5)])
    assert all(hasattr(o, "shape") for o in found[:2])
    assert not hasattr(found[2], "shape")


@pytest.mark.slow
@pytest.mark.usefixtures("empty_plots")
@pytest.mark.parametrize("executor", ["inline", "processes", "auto"])
def test_the_result_tells_of_it(faulty: BuildFaults, tmp_path: Path, executor: str) -> None:
    from fmident.cli import main

    problem = write_study(tmp_path, faulty("KEEPS_STATE"), evaluation=f'executor = "{executor}"')
    assert main(["estimate", str(problem), "-o", str(tmp_path / "out"), "-q"]) == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert any("fmi2Reset does not bring the FMU back" in note for note in result["notes"])
    assert abs(result["parameters"]["a"]["value"] - faults.TRUE["a"]) < 2e-3


def test_setups_go_to_workers_that_wait_for_them(
    fmu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy worker reads nothing. A long setup would fill its pipe, and the parent, which then
    # waits, could neither take what the FMU prints nor see that it hangs.
    waiting: dict[str, int] = {}
    send = Worker.send

    def watched(worker: Worker, sent: Sent, *arguments: object) -> None:
        waiting[sent.command] = max(waiting.get(sent.command, 0), len(worker.outstanding))
        send(worker, sent, *arguments)

    monkeypatch.setattr(Worker, "send", watched)
    with ProcessExecutor(make_problem(fmu)) as executor:
        assert len(executor.run_all([task(0.5), task(0.6, 1), task(0.7)])) == 3
    assert "run" in waiting
    assert waiting["try_reset"] == 0
    assert waiting.get("learn", 0) == 0
