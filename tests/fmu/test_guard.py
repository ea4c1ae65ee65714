"""A crash of native code becomes an error, and costs a child process only."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmident.errors import Code, FmuError, SimulationError
from fmident.fmu import SimulationSetup, check_survives
from fmident.fmu.processes import child, guard
from fmident.fmu.processes.child import Child

from ..refused import refused
from .conftest import Builder
from .test_failures import (
    ABORT,
    CLOSE,
    CRASH,
    ERROR,
    EXIT,
    HANG,
    SCRIBBLE,
    SETUP,
    SHOUT,
    SLOW,
    WARN,
)

pytestmark = pytest.mark.slow  # many builds or whole runs


@pytest.fixture(params=[True, False], ids=["copied", "new"], autouse=True)
def copied(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Try FMUs in a copy of this process first, as a process with one thread does, or never."""
    # A worker of pytest-xdist has a second thread, which waits for what the first tells.
    monkeypatch.setattr(threading, "active_count", lambda: 1 if request.param else 2)
    return bool(request.param)


def test_a_sound_fmu_passes(trouble: Path) -> None:
    survival = check_survives(trouble, SETUP)
    assert survival.complete
    assert survival.time_reached == 2.0
    assert survival.wall_time < 20.0


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (CRASH, "crashed with SIGSEGV (segmentation fault"),
        (ABORT, "crashed with SIGABRT"),
        (EXIT, "ended the whole process with exit code 3"),
    ],
)
def test_a_crash_is_named_with_its_time(trouble: Path, kind: int, words: str) -> None:
    with pytest.raises(SimulationError) as caught:
        check_survives(trouble, SETUP, {"kind": kind})
    assert words in caught.value.message
    assert caught.value.code == Code.PROCESS_CRASHED
    assert "in a communication step at t = 1.0 s" in caught.value.message
    assert caught.value.time == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("define", "words"),
    [
        ("CRASH_ON_LOAD", "crashed with SIGABRT.*while it was being loaded"),
        ("CRASH_ON_FREE", "crashed with SIGABRT.*while it was being freed"),
        ("EXIT_ON_FREE", "exit code 0.*while it was being freed"),
    ],
)
def test_a_crash_outside_the_steps(types: Builder, define: str, words: str) -> None:
    setup = SimulationSetup(np.arange(3.0), output_names=("out",))
    with refused(Code.PROCESS_CRASHED, SimulationError, match=words) as caught:
        check_survives(types(define), setup)
    assert caught.value.time is None


def test_a_copy_is_tried_where_there_is_one_thread(
    trouble: Path, copied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = []
    started = guard.Child

    def child(*arguments: Any, **settings: Any) -> Child:
        made = started(*arguments, **settings)
        kinds.append(made.copied)
        return made

    monkeypatch.setattr(guard, "Child", child)
    assert check_survives(trouble, SETUP).complete
    assert kinds == [copied and sys.platform == "linux"]
    with pytest.raises(SimulationError, match="crashed with SIGSEGV"):
        check_survives(trouble, SETUP, {"kind": CRASH})
    # What kills a copy is tried in a process of its own, which decides.
    assert kinds[1:] == ([True, False] if kinds[0] else [False])


def test_messages_survive_the_crash(trouble: Path) -> None:
    """Two warnings, then a crash: the messages are in the error."""
    setup = SimulationSetup(np.linspace(0.0, 2.0, 21), output_names=("x",))
    with pytest.raises(SimulationError) as caught:
        check_survives(trouble, setup, {"kind": 15})
    assert "crashed with SIGSEGV" in caught.value.message
    assert "about to crash" in caught.value.message
    assert "printed before" in caught.value.message


@pytest.mark.slow
def test_a_hanging_fmu_is_ended(trouble: Path) -> None:
    with refused(Code.TIMED_OUT, SimulationError, match=r"4 s, in a .* t = 1\.0 s"):
        check_survives(trouble, SETUP, {"kind": HANG}, timeout=4.0)


def test_endless_output_fills_nothing(trouble: Path) -> None:
    with refused(Code.TIMED_OUT, SimulationError) as caught:
        check_survives(trouble, SETUP, {"kind": SHOUT}, timeout=2.0)
    assert 0 < sum(map(len, caught.value.log)) < 3 * child.PRINTED


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for Python")
def test_loading_is_no_part_of_the_time_limit(
    trouble: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a new machine the loops are compiled first, which can take longer than a simulation."""
    late = tmp_path / "python"
    late.write_text(f'#!/bin/sh\nsleep 1.2\nexec {sys.executable} "$@"\n')
    late.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(late))
    assert check_survives(trouble, SETUP, timeout=1.0).complete


def test_a_slow_fmu_passes_after_its_budget(trouble: Path) -> None:
    setup = SimulationSetup(np.linspace(0.0, 100.0, 10_001), output_names=("x",))
    survival = check_survives(trouble, setup, {"kind": SLOW}, budget=0.3)
    assert not survival.complete
    assert 0.0 < survival.time_reached < 10.0


def test_ordinary_failures_come_through(trouble: Path, tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="singular matrix at 1") as caught:
        check_survives(trouble, SETUP, {"kind": ERROR})
    assert caught.value.time == pytest.approx(1.0)
    with refused(Code.UNKNOWN_NAME, FmuError, match="'kind'") as unknown:
        check_survives(trouble, SETUP, {"kid": 1})
    assert unknown.value.hint
    with refused(Code.UNKNOWN_NAME, FmuError):
        check_survives(tmp_path / "none.fmu", SETUP)
    check_survives(trouble, SETUP, {"kind": WARN})


@pytest.mark.parametrize("kind", [CRASH, EXIT, ERROR, WARN])
def test_nothing_is_left_behind(
    trouble: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: int
) -> None:
    """However the child ends: crash, exit, an error of the FMU, or well."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if kind == WARN:
        check_survives(trouble, SETUP, {"kind": kind})
    else:
        with pytest.raises(SimulationError):
            check_survives(trouble, SETUP, {"kind": kind})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="the fixture uses POSIX calls")
@pytest.mark.parametrize(
    ("kind", "words"),
    [(CLOSE, "closed files that it had not opened"), (SCRIBBLE, "wrote to a pipe")],
)
def test_files_of_the_process_are_not_those_of_the_fmu(
    trouble: Path, copied: bool, kind: int, words: str
) -> None:
    if copied:
        pytest.skip("a copy of the process that runs the tests has the files of these")
    with refused(Code.PROCESS_CRASHED, SimulationError, match=words) as caught:
        check_survives(trouble, SETUP, {"kind": kind})
    assert "this is an error in the FMU" in (caught.value.hint or "")


def test_a_child_that_does_not_read_is_killed(
    tmp_path: Path, copied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "START_LIMIT", 0.5)
    with Child(print, tmp_path, Sleeping(), copied=copied) as busy:
        busy.tell(bytes(1 << 22))
    assert busy.end.cause == "timeout"


class Sleeping:
    """A minute passes before it is made again in the child."""

    def __reduce__(self) -> tuple[object, ...]:
        return time.sleep, (60.0,)


class Unreadable:
    """Cannot be made again in the child: int("x") fails there."""

    def __reduce__(self) -> tuple[object, ...]:
        return int, ("x",)


def test_a_bug_of_fmident_in_the_child_is_not_blamed_on_the_fmu(trouble: Path) -> None:
    with pytest.raises(SimulationError, match=r"child\.py:\d+: ValueError: inv") as caught:
        check_survives(trouble, SETUP, {"kind": Unreadable()})  # type: ignore[dict-item]
    assert "defect of fmident, not of the FMU" in (caught.value.hint or "")
    assert caught.value.code == Code.SIMULATION_FAILED


BEGIN = "Traceback (most recent call last):\n"
OWN = f'  File "{guard.__file__}", line 7, in run\n    x\n'


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        (f"{BEGIN}{OWN}KeyError: 'x'\n", "guard.py:7: KeyError: 'x'"),
        (f'{BEGIN}{OWN}  File "/usr/x.py", line 3, in y\nOSError', "guard.py:7: OSError"),
        (f"{BEGIN}{OWN}MemoryError\n", None),
        (f'{BEGIN}  File "/fmu/resources/slave.py", line 3, in step\nKeyError: 1\n', None),
        ("TypeError: not a traceback\n", None),
    ],
)
def test_whose_traceback_it_is(printed: str, found: str | None) -> None:
    told = guard.traceback_of(printed)
    assert (told is None) if found is None else str(told).endswith(found)
