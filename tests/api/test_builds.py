"""From a class's name to its FMU: sources, libraries, the place of the FMU."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import zipfile
from pathlib import Path

import pytest

from fmident.api import builds
from fmident.compilers.base import BuildRequest, BuildResult, Compiler
from fmident.compilers.platforms import RECORD_PATH, encode_record, make_record
from fmident.errors import Code, CompilationError, Diagnostic, Location
from fmident.plugins import Host

from ..refused import refused


class Recorder(Compiler):
    """Writes an empty FMU and keeps the request."""

    name = "recorder"
    requests: list[BuildRequest]

    def unavailable(self) -> str | None:
        return None

    def version(self) -> str:
        return "recorder 1"

    def build(self, request: BuildRequest) -> BuildResult:
        type(self).requests.append(request)
        request.output.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(request.output, "w") as archive:
            archive.writestr("modelDescription.xml", "<fmiModelDescription/>")
            archive.writestr(RECORD_PATH, encode_record(make_record(request, self)))
        return BuildResult(request.output, self.version(), (), 0.0)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Host:
    """Return a host with the recorder only; a folder of its own is the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Recorder, "requests", [], raising=False)
    found = Host()
    found.compilers.add("recorder", Recorder)
    return found


def package(folder: Path, name: str, code: str) -> Path:
    place = folder / name
    place.mkdir(parents=True)
    (place / "package.mo").write_text(f"package {name}\nend {name};\n")
    (place / "M.mo").write_text(f"within {name};\nmodel M\n{code}end M;\n")
    return place


UNITS = "  parameter Real m = Mechanisms.Functions.smoothPositive(1, 1e-3);\n"


def names(request: BuildRequest) -> list[str]:
    return [source.name for source in request.sources]


def test_own_library_finds_the_shipped_one(host: Host, tmp_path: Path) -> None:
    own = package(tmp_path / "there", "Mine", UNITS)
    builds.build(host, "Mine.M", sources=[own])
    builds.resolve_class(host, "Mine.M", {"sources": ["there/Mine"], "fmu_folder": "b"}, tmp_path)
    package(tmp_path / "modelica", "Own", UNITS)
    package(tmp_path / "modelica", "Unrelated", "")
    builds.resolve_class(host, "Own.M", {}, tmp_path)
    assert [names(r) for r in Recorder.requests] == [
        ["Mine", "Mechanisms"], ["Mine", "Mechanisms"], ["Own", "Mechanisms"],
    ]  # fmt: skip


def test_shipped_library_is_left_out_where_it_is_only_talked_of(host: Host, tmp_path: Path) -> None:
    code = '  parameter Real m = 1 "as Mechanisms has it"; // Mechanisms.Functions\n'
    package(tmp_path / "modelica", "Own", code)
    builds.resolve_class(host, "Own.M", {}, tmp_path)
    assert names(Recorder.requests[0]) == ["Own"]


def test_library_beside_needs_no_uses_annotation(host: Host, tmp_path: Path) -> None:
    package(tmp_path / "modelica", "Own", "  Parts.M m;\n")
    package(tmp_path / "modelica", "Parts", "  More.M m;\n")
    package(tmp_path / "modelica", "More", "")
    package(tmp_path / "modelica", "Unrelated", "")
    builds.resolve_class(host, "Own.M", {}, tmp_path)
    assert sorted(names(Recorder.requests[0])) == ["More", "Own", "Parts"]


def test_folder_for_the_fmu(host: Host, tmp_path: Path) -> None:
    package(tmp_path / "modelica", "Own", "")
    usual = builds.resolve_class(host, "Own.M", {}, tmp_path)
    assert usual.fmu == tmp_path / "fmus" / "Own.M.fmu"
    other = builds.resolve_class(host, "Own.M", {"fmu_folder": "a/b"}, tmp_path)
    assert other.fmu == tmp_path / "a" / "b" / "Own.M.fmu"
    assert other.fmu.is_file()


def test_the_place_does_not_depend_on_whether_the_folder_is_there(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = package(tmp_path / "there", "Mine", "")
    alone, below = tmp_path / "alone", tmp_path / "project" / "a" / "b"
    for folder in (alone, below):
        folder.mkdir(parents=True)
        monkeypatch.chdir(folder)
        for _ in range(2):  # now and when 'fmus' is there
            assert builds.build(host, "Mine.M", sources=[own]).fmu == Path("fmus/Mine.M.fmu")
    shutil.rmtree(below / "fmus")
    package(below.parent / "modelica", "Own", "")
    expected = below.parent / "fmus"
    assert builds.build(host, "Own.M").fmu == expected / "Own.M.fmu"
    assert builds.build(host, "Mine.M", sources=[own]).fmu == expected / "Mine.M.fmu"
    beside = builds.resolve_class(host, "Mine.M", {"sources": [str(own)]}, below)
    assert beside.fmu == expected / "Mine.M.fmu"
    catalog = below / "fmus" / "catalog.toml"
    catalog.parent.mkdir()
    catalog.write_text("")
    assert builds.build(host, "Mine.M", sources=[own]).fmu == Path("fmus/Mine.M.fmu")
    monkeypatch.chdir(catalog.parent)
    assert builds.build(host, "Mine.M", sources=[own]).fmu == Path("Mine.M.fmu")


def test_a_folder_modelica_without_packages_is_no_obstacle(host: Host, tmp_path: Path) -> None:
    (tmp_path / "modelica").mkdir()
    built = builds.build(host, "Mechanisms.FMUs.MassSpringDamper")
    assert built.fmu.parent == Path("fmus")
    assert names(Recorder.requests[0]) == ["Mechanisms"]


def test_an_unknown_class_names_those_of_the_catalogue_and_of_the_fmus(
    host: Host, tmp_path: Path
) -> None:
    (tmp_path / "fmus").mkdir()
    (tmp_path / "fmus" / "Pumps.Centrifugal.fmu").write_bytes(b"")
    with refused(Code.UNKNOWN_NAME, CompilationError, match=r"nearest class: 'Pumps\.Centri"):
        builds.build(host, "Pump.Centrifugal")
    with refused(Code.UNKNOWN_NAME, CompilationError, match=r"nearest class: 'Pumps\.Centri"):
        builds.build(host, "Centrifugal")
    (tmp_path / "fmus" / "catalog.toml").write_text('[[fmus]]\nclass = "Robots.Delta"\n')
    with refused(Code.UNKNOWN_NAME, CompilationError, match=r"nearest class: 'Robots\.Delta'"):
        builds.build(host, "Delta")


def test_no_place_for_the_fmu(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path / "modelica", "Own", "")
    (tmp_path / "file").write_text("")
    with refused(Code.UNUSABLE_FILE, CompilationError, match=r"/file'.*\n  hint: .* -o"):
        builds.build(host, "Own.M", output=tmp_path / "file" / "x.fmu")
    with refused(Code.UNUSABLE_FILE, CompilationError):
        builds.build(host, "Own.M", output=tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with refused(Code.UNUSABLE_FILE, CompilationError, match="fmu_folder = .FOLDER"):
        builds.resolve_class(host, "Own.M", {}, tmp_path)
    assert Recorder.requests == []


def test_failure_to_write_names_the_fmu(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(self: Recorder, request: BuildRequest) -> BuildResult:
        raise OSError(errno.EROFS, "Read-only file system", str(tmp_path / ".Own.M.fmu.x5d"))

    package(tmp_path / "modelica", "Own", "")
    monkeypatch.setattr(Recorder, "build", build)
    with refused(
        Code.UNUSABLE_FILE, CompilationError, match=r"/Own\.M\.fmu' .*Read-only .*\n.* -o"
    ):
        builds.build(host, "Own.M", output=tmp_path / "Own.M.fmu")


class Absent(Recorder):
    """A compiler that is advised and cannot run."""

    def unavailable(self) -> str | None:
        return "there is no 'other' here.\nGet it."


def test_advice_that_cannot_be_followed_here(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(self: Recorder, request: BuildRequest) -> BuildResult:
        finding = Diagnostic("error", "too hard", hint="take another: --compiler absent")
        raise CompilationError("no", diagnostics=[finding])

    package(tmp_path / "modelica", "Own", "")
    host.compilers.add("absent", Absent)
    monkeypatch.setattr(Recorder, "build", build)
    with pytest.raises(CompilationError) as caught:
        builds.build(host, "Own.M", compiler="recorder")
    assert caught.value.hint is not None
    assert "absent cannot run here yet (there is no 'other' here)" in caught.value.hint


def test_hint_names_the_way_that_is_open(host: Host, tmp_path: Path) -> None:
    with refused(Code.UNKNOWN_NAME, CompilationError, match=r'sources = \["FOLDER"\]'):
        builds.resolve_class(host, "Nowhere.M", {}, tmp_path)
    with refused(Code.UNKNOWN_NAME, CompilationError, match="--source"):
        builds.build(host, "Nowhere.M")


@pytest.mark.parametrize("name", ["auto", "recorder"])
def test_the_compiler_that_is_advised_builds_what_another_refuses(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    class Refuser(Recorder):
        name = "embedded"

        def version(self) -> str:
            return "refuser 1"

        def build(self, request: BuildRequest) -> BuildResult:
            place = Location("M.mo", 3)
            finding = Diagnostic("error", "too hard", place, "take --compiler recorder")
            raise CompilationError("no", diagnostics=[finding])

    package(tmp_path / "modelica", "Own", "")
    host.compilers.add("embedded", Refuser)
    built = builds.build(host, "Own.M", compiler=name)
    assert built.result is not None
    assert built.result.compiler == "recorder 1"
    if name == "auto":
        note = built.result.diagnostics[0]
        assert (note.rule, note.location) == ("other-compiler", Location("M.mo", 3))
    again = builds.build(host, "Own.M", compiler=name)
    assert again.result is None
    assert len(Recorder.requests) == 1


@pytest.mark.parametrize(("patience", "expected"), [(0.0, ["step"]), (3600.0, [])])
def test_a_step_is_told_once_it_takes_long(
    host: Host,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    patience: float,
    expected: list[str],
) -> None:
    told = threading.Event()
    lines: list[str] = []

    def tell(text: str) -> None:
        lines.append(text)
        told.set()

    def build(self: Recorder, request: BuildRequest) -> BuildResult:
        request.progress("step")
        if expected:
            assert told.wait(60.0)
        raise CompilationError("enough")

    package(tmp_path / "modelica", "Own", "")
    monkeypatch.setattr(builds, "_PATIENCE", patience)
    monkeypatch.setattr(Recorder, "build", build)
    with pytest.raises(CompilationError, match="enough"):
        builds.build(host, "Own.M", progress=tell)
    assert lines == expected
