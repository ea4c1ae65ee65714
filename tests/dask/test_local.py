"""The Dask executor with workers of this machine, and what needs no cluster at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from fmident.errors import Code, EstimationError
from fmident.evaluation import make_executor
from fmident_dask import DASK, DaskExecutor
from fmident_dask.connection import check_versions

from ..evaluation.executors.faults import lives
from ..outcomes import run_heard
from ..refused import refused
from .study import assert_same, inline, make_problem, slow_tasks, some_tasks

distributed = pytest.importorskip("distributed")


# ---------------------------------------------------------------- workers of this machine


def family() -> list[psutil.Process]:
    return [p for p in psutil.Process().children(recursive=True) if lives(p.pid)]


@pytest.mark.slow
def test_only_loopback_and_nothing_is_left(
    trouble: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = {p.pid for p in family()}
    tasks = some_tasks(30)
    problem = make_problem(trouble, workers=2)
    with DaskExecutor(problem) as executor:
        assert executor.simultaneous == 2
        assert_same(executor.run_all(tasks), inline(problem, tasks))
        ours = [p for p in family() if p.pid not in before]
        listening = [
            c.laddr.ip
            for p in (psutil.Process(), *ours)
            for c in p.net_connections("inet")
            if c.status == psutil.CONN_LISTEN
        ]
        # The scheduler and each worker, and no dashboard.
        assert listening == ["127.0.0.1"] * 3
    assert {p.pid for p in family()} <= before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_local_worker_that_is_lost_is_replaced(trouble: Path) -> None:
    tasks = slow_tasks(30, 0.1)  # longer than a chunk
    problem = make_problem(trouble, workers=1)
    with DaskExecutor(problem) as executor:
        local = executor._local
        assert local is not None
        (victim,) = local.processes

        def kill(index: int, _: object) -> None:
            if index == 3:
                os.kill(victim, signal.SIGKILL)

        found = run_heard(executor, tasks, kill)
        assert local.processes != (victim,)
    assert_same(found, inline(problem, [replace(t, values={"a": t.values["a"]}) for t in tasks]))


@pytest.mark.slow
def test_local_workers_that_cannot_live_are_given_up(
    trouble: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = make_problem(trouble, workers=1)
    with DaskExecutor(problem) as executor:
        local = executor._local
        assert local is not None
        # From now on workers cannot import what they need.
        monkeypatch.setenv("PYTHONHOME", "/nowhere")
        os.kill(local.processes[0], signal.SIGKILL)
        with refused(Code.EXECUTOR_LOST, EstimationError) as caught:
            executor.run_all(slow_tasks(4, 0.1))
    assert "exit status 1: " in str(caught.value)  # and its last words


SCRIPT = """
import os, sys
from pathlib import Path
from fmident_dask import DaskExecutor
from tests.dask.study import make_problem, some_tasks
executor = DaskExecutor(make_problem(Path(sys.argv[1]), workers=1))
executor.run_all(some_tasks(3))
print(*executor._local.processes, executor._local._folder, flush=True)
input()
"""


@pytest.mark.slow
def test_a_script_without_a_guard_and_killed(trouble: Path, tmp_path: Path) -> None:
    """The workers do not run the script again, and end when it is killed."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, str(script), str(trouble)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    try:
        assert process.stdout is not None
        pid, folder = process.stdout.readline().split()
        worker = psutil.Process(int(pid))
        members = [worker, *worker.children(recursive=True)]
        assert len(members) > 1
    finally:
        process.kill()
        process.communicate()
    _, alive = psutil.wait_procs(members, timeout=60.0)
    assert alive == []
    deadline = time.monotonic() + 60.0
    while Path(folder).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(folder).exists()


# ------------------------------------------------------------------------ refusals


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "127.0.0.1:1"])
def test_a_scheduler_that_cannot_be_reached(
    trouble: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fmident_dask.connection.CONNECT_SECONDS", 0.5, raising=True)
    with pytest.raises(
        EstimationError, match=r"no Dask scheduler answers at .* within 0\.5 s"
    ) as caught:
        DaskExecutor(make_problem(trouble, scheduler=address))
    assert address in str(caught.value)
    assert "dask scheduler" in (caught.value.hint or "")


@pytest.mark.parametrize("address", ["nonsense", "http://10.0.0.1:8786", "tcp://head", "a b:1"])
def test_what_is_no_address_is_told_at_once(trouble: Path, address: str) -> None:
    with pytest.raises(EstimationError, match=f"'{address}' is not an address") as caught:
        DaskExecutor(make_problem(trouble, scheduler=address))
    assert "tcp://10.0.0.1:8786" in (caught.value.hint or "")


@pytest.mark.parametrize("address", ["tls://[::1]:1", "head-node.cluster:1"])
def test_addresses_of_other_forms_are_tried(
    trouble: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def client(address: str, **_: object) -> None:
        raise OSError(f"tried {address}")

    monkeypatch.setattr("distributed.Client", client)
    with refused(Code.ESTIMATION_FAILED, EstimationError, match="within 5 s: tried"):
        DaskExecutor(make_problem(trouble, scheduler=address))


def test_without_distributed(trouble: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "fmident_dask.executor", raising=False)
    with refused(Code.NOT_INSTALLED, EstimationError, match="'distributed'") as caught:
        make_executor(make_problem(trouble), {"dask": DASK})
    assert "pip install 'fmident[dask]'" in (caught.value.hint or "")
    assert caught.value.exit_code == 2


@pytest.mark.slow
def test_nothing_imports_distributed_unless_asked_for() -> None:
    code = (
        "import sys, fmident.cli, fmident.evaluation, fmident_dask;"
        "sys.exit('distributed' in sys.modules or 'dask' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def versions(python: str, fmident: str | None) -> dict[str, object]:
    return {"packages": {"python": python, "fmident": fmident}}


def test_versions_are_compared() -> None:
    here = versions("3.11.7.final.0", "0.1.0")
    check_versions({"client": here, "workers": {"w": versions("3.11.2.final.0", "0.1.0")}})
    for there, words in (
        (versions("3.12.1.final.0", "0.1.0"), "worker w has Python 3.12, this process Python 3.11"),
        (versions("3.11.7.final.0", "0.2.0"), "worker w has fmident 0.2.0, this process fmident"),
        (versions("3.11.7.final.0", None), "worker w has no fmident"),
    ):
        with pytest.raises(EstimationError, match=words) as caught:
            check_versions({"client": here, "workers": {"w": there}})
        assert caught.value.hint
