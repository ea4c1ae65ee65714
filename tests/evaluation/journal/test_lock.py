"""One run at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fmident.errors import Code, EstimationError
from fmident.evaluation.journal import RunLock

from ...refused import refused

HOLD = """\
import sys, time
from pathlib import Path
from fmident.evaluation.journal.workspace import RunLock
lock = RunLock(Path(sys.argv[1]), Path("out"))
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_run_is_told_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / ".out.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True
    ) as first:
        try:
            assert first.stdout is not None
            assert first.stdout.readline() == "held\n"
            with refused(
                Code.FOLDER_IN_USE, EstimationError, match=f"process {first.pid} on .*, since 20"
            ) as e:
                RunLock(path, tmp_path / "out")
            assert "out" in e.value.message
            assert e.value.hint is not None
        finally:
            first.kill()
            first.wait()
    assert path.exists()
    RunLock(path, tmp_path / "out").release()  # what a killed run leaves behind hinders nobody
    assert not path.exists()


def test_the_same_process_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / ".out.lock"
    lock = RunLock(path, tmp_path / "out")
    with refused(Code.FOLDER_IN_USE, EstimationError, match=str(os.getpid())):
        RunLock(path, tmp_path / "out")
    # Being asked has not given the lock away: other processes are still refused.
    take = HOLD.replace("time.sleep(60)", "")
    other = subprocess.run([sys.executable, "-c", take, path], capture_output=True, text=True)
    assert other.returncode != 0
    assert f"process {os.getpid()}" in other.stderr
    lock.release()
    RunLock(path, tmp_path / "out").release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are no copies here")
def test_children_do_not_hold_the_lock(tmp_path: Path) -> None:
    path = tmp_path / ".out.lock"
    script = HOLD.replace(
        'print("held", flush=True)\ntime.sleep(60)\n',
        "import os, signal\n"
        "if os.fork() == 0:\n    time.sleep(20)\n    os._exit(0)\n"
        'print("held", flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n',
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path], stdout=subprocess.DEVNULL, check=False
    )
    assert done.returncode == -9
    RunLock(path, tmp_path / "out").release()
