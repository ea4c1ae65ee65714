"""Files that are replaced only by whole ones."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fmident.errors import Code, FmidentError
from fmident.files import save, whole_file
from fmident.operating_system import lock_path

from .refused import refused

WRITE_AND_WAIT = """
import sys
from pathlib import Path
from fmident.files import whole_file

with whole_file(Path(sys.argv[1])) as stream:
    stream.write(b"half")
    print("begun", flush=True)
    sys.stdin.read()
"""


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_what_cannot_be_saved_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, elsewhere = tmp_path / "asked", tmp_path / "elsewhere"
    elsewhere.mkdir()
    asked.write_text("a file where a folder is needed")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(elsewhere))
    with refused(Code.UNUSABLE_FILE, FmidentError) as caught:
        save(asked / "table.csv", "new")
    (found,) = elsewhere.glob("*/table.csv")
    assert found.read_text() == "new"
    assert str(found) in caught.value.message


def test_a_device_is_written_to_and_stays_one() -> None:
    save(Path(os.devnull), "text")
    assert not Path(os.devnull).is_file()


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.fmu"
    path.write_bytes(b"old")

    def fail() -> None:
        with whole_file(path) as stream:
            stream.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.fmu"]


def test_the_mode_is_that_of_any_other_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    with whole_file(tmp_path / "folder" / "a.fmu") as stream:
        stream.write(b"new")
    written = tmp_path / "folder" / "a.fmu"
    assert written.read_bytes() == b"new"
    assert written.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_a_killed_process_left_is_removed_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "a.fmu"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE_AND_WAIT, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline().rstrip() == b"begun"
    for name in (".a.fmu.notes", ".a.fmu.original"):
        (tmp_path / name).write_text("mine")
    writers[0].kill()
    writers[0].communicate()
    assert len(names(tmp_path)) == 4
    with whole_file(path) as stream:
        stream.write(b"new")
    assert len(names(tmp_path)) == 4  # the file, one that is being written, two of the user's
    writers[1].communicate()
    assert writers[1].returncode == 0
    assert path.read_bytes() == b"half"
    assert names(tmp_path) == [".a.fmu.notes", ".a.fmu.original", "a.fmu"]


@pytest.mark.skipif(sys.platform == "win32", reason="nobody can remove an open file there")
def test_a_file_that_another_process_takes_for_one_that_was_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its making and its lock it is removed once: then there is another."""
    removed: list[Path] = []

    def taken_once(path: Path) -> int:
        if not removed:
            removed.append(path)
            path.unlink()
        return lock_path(path)

    monkeypatch.setattr("fmident.files.lock_path", taken_once)
    with whole_file(tmp_path / "a.fmu") as stream:
        stream.write(b"new")
    assert removed
    assert (tmp_path / "a.fmu").read_bytes() == b"new"
    assert names(tmp_path) == ["a.fmu"]
