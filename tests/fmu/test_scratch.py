"""Temporary folders of processes that are killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fmident.fmu.processes import child
from fmident.fmu.processes.child import PREFIX, ScratchFolder

MAKE = """\
import time
from fmident.fmu.processes.child import ScratchFolder
folder = ScratchFolder()
(folder.path / "content").write_text("x")
print(folder.path, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(child, "_swept", set())
    return tmp_path


def test_a_folder_goes_when_it_is_closed_or_forgotten() -> None:
    with ScratchFolder() as folder:
        assert sys.platform == "win32" or folder.path.stat().st_mode & 0o077 == 0
    assert not folder.path.exists()
    other = ScratchFolder()
    path = other.path
    del other
    assert not path.exists()


@pytest.mark.parametrize("kept", [False, True])
def test_what_nobody_holds_goes_unless_it_is_kept(
    kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ScratchFolder("purpose")
    assert folder.path.name.startswith(f"{PREFIX}purpose-")
    folder.keep()  # what a killed process leaves is the same without the mark
    if not kept:
        (folder.path / ".kept").unlink()
    os.utime(folder.path, (0.0, 0.0))
    monkeypatch.setattr(child, "_swept", set())
    with ScratchFolder():
        assert folder.path.exists() is kept
    folder.close()  # does nothing any more
    assert folder.path.exists() is kept


def test_ctrl_c_in_the_middle_of_the_removal_leaves_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ScratchFolder()
    for name in "abc":
        (folder.path / name).write_text("x")
    unlink, pressed = os.unlink, []

    def press(*arguments: object, **named: object) -> None:
        unlink(*arguments, **named)  # type: ignore[arg-type]
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "unlink", press)
    with pytest.raises(KeyboardInterrupt):
        folder.close()
    assert list(place.iterdir()) == []


def test_the_folder_of_a_killed_process_goes_with_the_next_but_no_others(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made() -> tuple[subprocess.Popen[str], Path]:
        process = subprocess.Popen(
            [sys.executable, "-c", MAKE],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(place)},
        )
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    (killed, left), (alive, held) = made(), made()
    killed.kill()
    killed.communicate()
    strange = place / "something else"
    strange.mkdir()
    linked = place / f"{PREFIX}link"
    linked.symlink_to(strange)
    try:
        with ScratchFolder():
            assert left.exists()  # it is young: perhaps somebody is about to lock it
        monkeypatch.setattr(child, "_YOUNG", -10.0)
        monkeypatch.setattr(child, "_swept", set())
        with ScratchFolder() as folder:
            assert folder.path.exists()
            assert not left.exists()
            assert (held / "content").exists()
            assert strange.exists()
            assert linked.is_symlink()
    finally:
        alive.kill()
        alive.communicate()
