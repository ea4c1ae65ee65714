"""Ctrl-C in every phase of ``fmident estimate``, and workers that outlive nobody."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fmident.evaluation import InProcessExecutor, ProcessExecutor, SimulationFailure

from ...outcomes import run_heard
from . import faults
from .faults import lives, make_problem, same, task, write_study

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("interrupted.py")


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    code: int
    text: str
    result: dict[str, object] | None


def descendants(mark: str) -> list[int]:
    """Return the processes whose environment mentions a folder of this test."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            try:
                if mark.encode() in (place / "environ").read_bytes() and lives(int(place.name)):
                    found.append(int(place.name))
            except OSError:
                continue
    return found


def start(folder: Path, command: list[str]) -> subprocess.Popen[str]:
    scratch = folder / "scratch"
    scratch.mkdir()
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env={**os.environ, "TMPDIR": str(scratch)},
        start_new_session=True,
    )


def all_gone(folder: Path, pids: Sequence[int] = ()) -> bool:
    """Wait until no process of a test lives; the kernel may end them after their parent."""
    deadline = time.monotonic() + 60.0
    # One that is ending has no environment any more, but a number.
    while descendants(str(folder / "scratch")) or any(lives(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def finish(folder: Path, run: subprocess.Popen[str]) -> Ended:
    text, _ = run.communicate(timeout=300)
    assert all_gone(folder), text
    assert "Traceback" not in text, text
    file = folder / "out" / "result.json"
    result = json.loads(file.read_text()) if file.exists() else None
    return Ended(run.returncode, text, result)


PHASES = ["start of workers", "loading", "noise", "iterations", "intervals", "end of workers"]


@pytest.mark.each_time("iterations", "end of workers")
@pytest.mark.parametrize("phase", [*PHASES, "writing"])
def test_ctrl_c_with_workers(fmu: Path, tmp_path: Path, phase: str) -> None:
    problem = write_study(tmp_path, fmu, pace=0.01, evaluation='executor = "processes"')
    command = [sys.executable, str(SCRIPT), phase, "estimate", str(problem), "-o", "out"]
    ended = finish(tmp_path, start(tmp_path, command))
    _check(ended, tmp_path)
    if phase == "iterations":
        assert ended.result is not None
        assert ended.result["status"] == "interrupted"


@pytest.mark.nightly
@pytest.mark.parametrize("phase", ["trial", "noise", "iterations", "intervals", "writing"])
def test_ctrl_c_inline(fmu: Path, tmp_path: Path, phase: str) -> None:
    problem = write_study(tmp_path, fmu, pace=0.01, evaluation='executor = "inline"')
    command = [sys.executable, str(SCRIPT), phase, "estimate", str(problem), "-o", "out"]
    _check(finish(tmp_path, start(tmp_path, command)), tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_ctrl_c_in_several_searches(fmu: Path, tmp_path: Path, executor: str) -> None:
    problem = write_study(tmp_path, fmu, pace=0.01, evaluation=f'executor = "{executor}"')
    starts = 'name = "least-squares"\nstarts = 8'
    problem.write_text(problem.read_text().replace('name = "least-squares"', starts))
    command = [sys.executable, str(SCRIPT), "searches", "estimate", str(problem), "-o", "out"]
    ended = finish(tmp_path, start(tmp_path, command))
    _check(ended, tmp_path)
    assert ended.result is not None
    assert ended.result["status"] == "interrupted"
    with (tmp_path / "out" / "history.csv").open(newline="") as stream:
        assert {float(row["start"]) for row in csv.DictReader(stream)} == set(range(1, 9))


@pytest.mark.nightly
@pytest.mark.parametrize("moment", [0.05, 0.6, 1.2, 2.0, 3.0])
def test_ctrl_c_at_any_moment(fmu: Path, tmp_path: Path, moment: float) -> None:
    problem = write_study(tmp_path, fmu, pace=0.01)
    program = "import sys; from fmident.cli import main; sys.exit(main())"
    run = start(
        tmp_path, [sys.executable, "-c", program, "estimate", str(problem), "-o", "out", "-q"]
    )
    time.sleep(moment)
    os.killpg(run.pid, signal.SIGINT)
    text, _ = run.communicate(timeout=300)
    if "Traceback" in text and "fmident/cli/main.py" not in text:
        pytest.skip("struck while Python itself was starting")
    assert run.returncode in (0, 130, -signal.SIGINT), text
    assert all_gone(tmp_path), text


def _check(ended: Ended, folder: Path) -> None:
    assert ended.code == 130, ended.text
    assert "interrupted" in ended.text
    # A result is there as a whole, or not at all.
    assert ended.result is not None or not (folder / "out").exists()
    assert list((folder / "scratch").iterdir()) == []


def test_an_interrupted_batch_leaves_the_executor_usable(fmu: Path) -> None:
    tasks = [task(0.1 * k) for k in range(6)]
    with InProcessExecutor(make_problem(fmu)) as inline:
        expected = inline.run_all(tasks)

    class Stop(BaseException):
        pass

    def stop(_index: int, _outcome: object) -> None:
        raise Stop

    with ProcessExecutor(make_problem(fmu)) as executor:
        executor.run_all(tasks)
        for _ in range(3):
            with pytest.raises(Stop):
                run_heard(executor, [*tasks, task(1.0, pace=0.05)], stop)
        assert same(executor.run_all(tasks), expected)
        assert not any(isinstance(o, SimulationFailure) for o in executor.run_all(tasks))


HOLDER = """
import os, sys
sys.path.insert(0, {root!r})
from tests.evaluation.executors.faults import *
from pathlib import Path
from fmident.evaluation import ProcessExecutor
executor = ProcessExecutor(make_problem(Path({fmu!r})))
executor.run_all([task(1.0, pace=0.01)] * 4)
print(*executor.pids, flush=True)
executor.run_all([task(1.0, kind={kind}.0), task(2.0, kind={kind}.0)])
"""


@pytest.mark.parametrize("kind", [faults.HANG, faults.FLOOD, faults.FINE])
def test_workers_die_with_a_parent_that_is_killed(fmu: Path, tmp_path: Path, kind: int) -> None:
    root = str(Path(__file__).parents[3])
    parent = start(
        tmp_path, [sys.executable, "-c", HOLDER.format(root=root, fmu=str(fmu), kind=kind)]
    )
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert pids
    if kind != faults.FINE:
        assert all(lives(pid) for pid in pids)
        time.sleep(0.5)
        parent.kill()
    parent.communicate(timeout=300)
    assert all_gone(tmp_path, pids)
