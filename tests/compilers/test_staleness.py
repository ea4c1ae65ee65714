"""Whether an FMU must be built anew."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from fmident.compilers import platforms as known
from fmident.compilers.base import BuildRequest, BuildResult, Compiler
from fmident.compilers.platforms import (
    RECORD_PATH,
    encode_record,
    is_stale,
    make_record,
    read_record,
    source_files,
    this_platform,
)


class Recorder(Compiler):
    """Writes an empty FMU with its record."""

    def __init__(self, version: str = "recorder 1") -> None:
        self._version = version

    def unavailable(self) -> str | None:
        return None

    def version(self) -> str:
        return self._version

    def build(self, request: BuildRequest) -> BuildResult:
        with zipfile.ZipFile(request.output, "w") as archive:
            archive.writestr("modelDescription.xml", "<fmiModelDescription/>")
            archive.writestr(RECORD_PATH, encode_record(make_record(request, self)))
        return BuildResult(request.output, self.version(), (), 0.0)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "Lib"
    (folder / "Sub").mkdir(parents=True)
    (folder / "package.mo").write_text("package Lib end Lib;")
    (folder / "package.order").write_text("Sub\n")
    (folder / "Sub" / "M.mo").write_text("model M end M;")
    (folder / "notes.txt").write_text("not a source")
    return folder


def request(library: Path, **changes: object) -> BuildRequest:
    values: dict[str, object] = {"tolerance": None, "options": {}, "class_name": "Lib.Sub.M"}
    values |= changes
    return BuildRequest(sources=(library,), output=library.parent / "M.fmu", **values)  # type: ignore[arg-type]


def test_fresh_fmu_is_not_stale(library: Path) -> None:
    wanted = request(library)
    Recorder().build(wanted)
    assert not is_stale(wanted.output, wanted, Recorder())
    record = read_record(wanted.output)
    assert record is not None
    assert record["class"] == "Lib.Sub.M"


def test_missing_or_foreign_file_is_stale(library: Path) -> None:
    wanted = request(library)
    assert is_stale(wanted.output, wanted, Recorder())
    wanted.output.write_text("no zip")
    assert is_stale(wanted.output, wanted, Recorder())
    with zipfile.ZipFile(wanted.output, "w") as archive:
        archive.writestr("modelDescription.xml", "<fmiModelDescription/>")
    assert is_stale(wanted.output, wanted, Recorder())


@pytest.mark.parametrize("file", ["package.mo", "package.order", "Sub/M.mo"])
def test_changed_source_makes_it_stale(library: Path, file: str) -> None:
    wanted = request(library)
    Recorder().build(wanted)
    (library / file).write_text("changed")
    assert is_stale(wanted.output, wanted, Recorder())


def test_more_platforms_are_as_good_and_fewer_are_not(library: Path) -> None:
    """Else `estimate` would replace an FMU for several platforms by one for this machine."""
    several = request(library, platforms=(this_platform().name, "some-other"))
    Recorder().build(several)
    for platforms in ((), (this_platform().name,), ("some-other",), several.platforms):
        assert not is_stale(several.output, request(library, platforms=platforms), Recorder())
    assert is_stale(several.output, request(library, platforms=("a-third",)), Recorder())
    (library / "package.mo").write_text("changed")
    assert is_stale(several.output, request(library), Recorder())


@pytest.mark.parametrize("here", ["aarch64-darwin", "aarch64-linux", "x86_64-linux"])
def test_the_platform_of_the_machine_is_recorded_as_it_is_asked_for(
    here: str, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In FMI 2.0 both processors of macOS have one name, which says nothing of the binary."""
    monkeypatch.setattr(known, "platform_folder", lambda _: here)
    own = this_platform().name
    Recorder().build(request(library))
    for p in known.PLATFORMS:
        wanted = request(library, platforms=(p.name,))
        assert is_stale(wanted.output, wanted, Recorder()) == (p.name != own)


def test_a_machine_without_a_known_platform_has_fmus_too(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "platform_folder", lambda _: "riscv64-linux")
    wanted = request(library)
    Recorder().build(wanted)
    assert (read_record(wanted.output) or {})["platforms"] == ["riscv64-linux"]
    assert not is_stale(wanted.output, wanted, Recorder())


def test_new_and_removed_sources_make_it_stale(library: Path) -> None:
    wanted = request(library)
    Recorder().build(wanted)
    (library / "N.mo").write_text("model N end N;")
    assert is_stale(wanted.output, wanted, Recorder())
    (library / "N.mo").unlink()
    assert not is_stale(wanted.output, wanted, Recorder())
    (library / "Sub" / "M.mo").unlink()
    assert is_stale(wanted.output, wanted, Recorder())


def test_other_files_and_places_do_not_matter(library: Path, tmp_path: Path) -> None:
    wanted = request(library)
    Recorder().build(wanted)
    (library / "notes.txt").write_text("changed")
    moved = tmp_path / "elsewhere" / "Lib"
    moved.parent.mkdir()
    library.rename(moved)
    there = BuildRequest("Lib.Sub.M", (moved,), wanted.output)
    assert not is_stale(wanted.output, there, Recorder())


@pytest.mark.parametrize(
    "changes", [{"class_name": "Lib.Other"}, {"tolerance": 1e-8}, {"options": {"level": 3}}]
)
def test_other_request_makes_it_stale(library: Path, changes: dict[str, object]) -> None:
    wanted = request(library)
    Recorder().build(wanted)
    assert is_stale(wanted.output, request(library, **changes), Recorder())


def test_other_compiler_makes_it_stale(library: Path) -> None:
    wanted = request(library)
    Recorder().build(wanted)
    assert is_stale(wanted.output, wanted, Recorder("recorder 2"))


def test_source_files_of_folders_and_files(library: Path) -> None:
    single = library.parent / "Single.mo"
    single.write_text("model Single end Single;")
    names = [name for name, _ in source_files([library, single, library.parent / "absent"])]
    assert names == ["Lib/Sub/M.mo", "Lib/package.mo", "Lib/package.order", "Single.mo"]
