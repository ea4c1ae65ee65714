"""Every executor gives the same numbers to the last bit, also after failures and other work.

What holds for all executors is in `tests/testing/test_executor_checks.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmident.data.experiment import Experiment
from fmident.errors import Code, FmuError
from fmident.evaluation import (
    Evaluator,
    Executor,
    InProcessExecutor,
    Outcomes,
    ProcessExecutor,
    Simulated,
    SimulationFailure,
    SimulationTask,
)
from fmident.evaluation.executors import auto
from fmident.evaluation.executors.auto import AutoExecutor
from fmident.problem.residuals import summary_of

from ...fmu.build import Fixture, build
from ...refused import refused
from .faults import (
    DISCARD,
    ERROR,
    SENSITIVE,
    TIMES,
    BuildFaults,
    failure,
    make_problem,
    same,
    task,
)

TASKS = [task(0.1 * k, k % 2) for k in range(24)]


@pytest.fixture(scope="module")
def reference(fmu: Path) -> list[Simulated]:
    with InProcessExecutor(make_problem(fmu)) as executor:
        return executor.run_all(TASKS)


def test_inline_gives_what_the_model_says(reference: list[Simulated]) -> None:
    x = 0.0
    expected = [x]
    for h in np.diff(TIMES):
        x += h * (0.2 - x)
        expected.append(x)
    outputs = reference[2]
    assert not isinstance(outputs, SimulationFailure)
    np.testing.assert_allclose(outputs[:, 0], expected, rtol=1e-14)
    np.testing.assert_allclose(outputs[:, 1], np.array(expected) + 0.5, rtol=1e-14)


@pytest.mark.slow
def test_processes_agree_after_failures_and_renewals(fmu: Path, reference: list[Simulated]) -> None:
    problem = make_problem(fmu, renew_after=7)
    bad = [task(3.0, 0, kind=float(kind)) for kind in (DISCARD, ERROR, DISCARD)]
    mixed: list[SimulationTask] = []
    for k, one in enumerate(TASKS):
        mixed += [one, *bad[k % 3 : k % 3 + 1]]
    with ProcessExecutor(problem) as executor:
        found = executor.run_all(mixed)
        report = executor.report()
    assert same(found[::2], reference)
    assert all(isinstance(outcome, SimulationFailure) for outcome in found[1::2])
    assert report.renewals >= 5
    assert report.crashes == 0


def other(executor: Executor, problem_times: np.ndarray) -> list[Simulated]:
    experiment = Experiment("other", problem_times, {}, (), start_values={"b": 2.0})
    values = [{"a": 0.3 * k} for k in range(5)]
    return executor.run_other(experiment, ["y", "x", "at"], values)


@pytest.mark.slow
def test_other_experiments_agree(fmu: Path, reference: list[Simulated]) -> None:
    problem = make_problem(fmu)
    times = np.linspace(0.0, 30.0, 3001)
    with InProcessExecutor(problem) as inline:
        expected = other(inline, times)
    with ProcessExecutor(problem) as executor:
        assert same(other(executor, times), expected)
        # Larger than what the memory was made for, then the problem's own again, then many.
        assert same(executor.run_all(TASKS), reference)
        for k in range(12):
            more = np.linspace(0.0, 1.0 + k, 11)
            other(executor, more)
        assert same(other(executor, times), expected)
        assert same(executor.run_all(TASKS), reference)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [InProcessExecutor, ProcessExecutor])
def test_what_the_fmu_does_not_have_is_an_error_and_the_executor_lives_on(
    fmu: Path, reference: list[Simulated], kind: type[InProcessExecutor] | type[ProcessExecutor]
) -> None:
    with kind(make_problem(fmu)) as executor:
        experiment = Experiment("other", TIMES, {}, ())
        with refused(Code.UNKNOWN_NAME, FmuError, match="yy"):
            executor.run_other(experiment, ["yy"], [{"a": 1.0}, {"a": 2.0}, {"a": 3.0}])
        with refused(Code.UNKNOWN_NAME, FmuError, match="aa"):
            executor.run_other(experiment, ["y"], [{"a": 1.0}, {"aa": 2.0}, {"a": 3.0}])
        assert same(executor.run_all(TASKS), reference)


@pytest.mark.slow
def test_values_that_are_no_floats_reach_the_worker(fmu: Path) -> None:
    problem = make_problem(fmu)
    tasks = [SimulationTask(0, {"a": 2, "b": True}), SimulationTask(0, {"a": np.float64(0.7)})]
    with InProcessExecutor(problem) as inline, ProcessExecutor(problem) as executor:
        ours, theirs = (
            [str(o) if isinstance(o, SimulationFailure) else o.tobytes() for o in found]
            for found in (_told(inline, tasks[1:]), _told(executor, tasks[1:]))
        )
        assert ours == theirs
        messages = []
        for each in (inline, executor):
            with pytest.raises(FmuError) as caught:
                each.run_all(tasks[:1])
            messages.append(caught.value.message)
        assert messages[0] == messages[1]


def _told(executor: Executor, tasks: list[SimulationTask]) -> list[Simulated]:
    return executor.run_all(tasks)


@pytest.mark.slow
def test_failures_agree_in_words(fmu: Path) -> None:
    problem = make_problem(fmu)
    tasks = [task(1.5, 0, kind=float(kind)) for kind in (DISCARD, ERROR)]
    with InProcessExecutor(problem) as inline, ProcessExecutor(problem) as executor:
        for ours, theirs in zip(inline.run_all(tasks), executor.run_all(tasks), strict=True):
            assert failure(ours) == failure(theirs)


def test_auto_goes_over_to_processes_and_agrees(
    fmu: Path, reference: list[Simulated], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto, "PATIENCE", 0.0)
    monkeypatch.setattr(auto, "WORTH", 0.0)
    with AutoExecutor(make_problem(fmu)) as executor:
        first = executor.run_all(TASKS[:1])
        assert not executor.isolated
        rest = executor.run_all(TASKS[1:])
        assert executor.isolated
        assert executor.report().name == "auto: inline, then processes"
    assert same(first + rest, reference)


def test_auto_keeps_quick_simulations_of_other_experiments_in_this_process(
    fmu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recursive estimator asks for thousands of them, each over one sample."""
    problem = make_problem(fmu)
    short = Experiment("short", TIMES[:2], {}, ())
    values = [{"a": 1.0}, {"a": 2.0}]

    def other(executor: Executor) -> list[Simulated]:
        return executor.run_other(short, ["y"], values)

    handed_out: list[int] = []
    real = ProcessExecutor.run

    def noted(self: ProcessExecutor, tasks: Sequence[SimulationTask]) -> Outcomes:
        if tasks[0].other is not None:
            handed_out.append(len(tasks))
        return real(self, tasks)

    monkeypatch.setattr(ProcessExecutor, "run", noted)
    with InProcessExecutor(problem) as inline, AutoExecutor(problem) as executor:
        expected = other(inline)
        executor.run_all(TASKS[:1])
        monkeypatch.setattr(auto, "PATIENCE", 0.0)
        with monkeypatch.context() as patch:
            patch.setattr(auto, "WORTH", 0.0)
            executor.run_all(TASKS)
        assert executor.isolated
        monkeypatch.setattr(auto, "WORTH", 60.0)  # however busy the machine is
        assert same(other(executor), expected)
        assert handed_out == []
        monkeypatch.setattr(auto, "WORTH", 0.0)
        assert same(other(executor), expected)
        assert handed_out == [2]


def test_auto_stays_where_it_is_for_quick_simulations(fmu: Path) -> None:
    with AutoExecutor(make_problem(fmu)) as executor:
        for _ in range(5):
            executor.run_all(TASKS)
        assert executor.report().name == "auto: inline"
        assert executor.simultaneous == 1


@pytest.mark.slow
def test_an_fmu_of_late_outputs_is_simulated_alike_whatever_runs_first(tmp_path: Path) -> None:
    """How inputs are set is found out by trial; the trial must not depend on the first run."""
    from ...fmu.conftest import FEEDTHROUGH

    fixture = Fixture("feedthrough.c", FEEDTHROUGH, {}, ("LATE",))
    path = build(fixture, tmp_path)
    from dataclasses import replace

    from fmident.data.experiment import Measurement
    from fmident.problem.model import Parameter

    times = np.linspace(0.0, 1.0, 11)
    measured = Measurement(name="y", variable="y", column="y", values=0 * times, sigma=None)
    problem = replace(
        make_problem(path),
        parameters=(Parameter("k", 2.0, variable="k"),),
        experiments=(Experiment("e", times, {"u": np.sin(times)}, (measured,)),),
    )
    # With k = 0 the input does not act at once, which would mislead a trial there.
    tasks = [SimulationTask(0, {"k": k}) for k in (0.0, 2.0, 1.0)]
    with InProcessExecutor(problem) as one, InProcessExecutor(problem) as two:
        forward, backward = one.run_all(tasks), two.run_all(tasks[::-1])
    assert same(forward, backward[::-1])
    with ProcessExecutor(problem) as executor:
        assert same(executor.run_all(tasks), forward)
    assert not isinstance(forward[1], SimulationFailure)
    np.testing.assert_allclose(forward[1][1:, 0], _late_but_right(times), rtol=1e-12)


def _late_but_right(times: np.ndarray) -> np.ndarray:
    u = np.sin(times)
    x = np.cumsum(np.diff(times) * u[1:])
    return 2.0 * u[1:] + x


@pytest.mark.slow
def test_small_batches_do_not_make_workers_start_in_vain(
    fmu: Path, reference: list[Simulated]
) -> None:
    with ProcessExecutor(make_problem(fmu, workers=2)) as executor:
        seen: set[int] = set()
        for k in range(100):
            two = [2 * (k % 12), 2 * (k % 12) + 1]
            assert same(executor.run_all([TASKS[i] for i in two]), [reference[i] for i in two])
            seen |= set(executor.pids)
        assert len(seen) == 2


@pytest.fixture(scope="module")
def sensitive(faulty: BuildFaults) -> Path:
    return faulty(SENSITIVE)


def test_an_fmu_differentiates_in_the_simulation_of_the_residuals(sensitive: Path) -> None:
    problem = make_problem(sensitive)
    with Evaluator(problem, InProcessExecutor(problem)) as evaluator:
        residuals = evaluator.residuals(problem.initial)
        jacobian = evaluator.jacobian(problem.initial)
        assert evaluator.simulations == len(problem.experiments)
        assert summary_of(evaluator.derivative_origins) == "exact sensitivities of the FMU"
    central = replace(problem.evaluation, difference="central")
    other = replace(problem, evaluation=central)
    with Evaluator(other, InProcessExecutor(other)) as evaluator:
        assert evaluator.residuals(problem.initial).tobytes() == residuals.tobytes()
        np.testing.assert_allclose(jacobian, evaluator.jacobian(problem.initial), rtol=1e-9)


def test_an_fmu_that_cannot_be_differentiated_somewhere_falls_back(sensitive: Path) -> None:
    problem = make_problem(sensitive, start={"bent": 1.0})
    with Evaluator(problem, InProcessExecutor(problem)) as evaluator:
        jacobian = evaluator.jacobian(problem.initial)
        assert evaluator.failures == 0
        (note,) = evaluator.notes
        assert "a contact is only touched" in note
        assert {o.kind for o in evaluator.derivative_origins.values()} == {"differences"}
    plain = make_problem(sensitive)
    with Evaluator(plain, InProcessExecutor(plain)) as evaluator:
        np.testing.assert_allclose(jacobian, evaluator.jacobian(problem.initial), rtol=1e-6)


@pytest.mark.slow
def test_jacobians_of_processes_are_those_of_one_process_to_the_bit(sensitive: Path) -> None:
    problem = make_problem(sensitive)
    found = []
    for kind in (InProcessExecutor, ProcessExecutor):
        with Evaluator(problem, kind(problem)) as evaluator:
            found.append(evaluator.jacobian(problem.initial).tobytes())
            assert evaluator.simulations == len(problem.experiments)
    assert found[0] == found[1]
