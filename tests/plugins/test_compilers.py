"""Compilers of plugins: what they raise or return is reported as theirs, with file and line."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from fmident.api import builds
from fmident.cli import main
from fmident.compilers.platforms import read_record
from fmident.errors import PluginError
from fmident.plugins import Host, load_plugins

MakePlugin = Callable[[str, str], EntryPoint]

SOURCE = """
from zipfile import ZipFile
from fmident.compilers.base import BuildRequest, BuildResult, Compiler
from fmident.plugins import hookimpl

class Mine(Compiler):
    name = "mine"
    {init}
    def unavailable(self): {unavailable}
    def version(self): {version}
    def build(self, request):
        {build}
        return BuildResult(request.output, "mine 1", (), 0.5)

def write(path, name="modelDescription.xml"):
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w") as archive:
        archive.writestr(name, "<fmiModelDescription/>")

@hookimpl
def fmident_register_compilers(registry):
    registry.add("mine", Mine)
"""

WRITE = "write(request.output)"


def load(make_plugin: MakePlugin, name: str = "site", **parts: str) -> Host:
    usual = {"init": "", "unavailable": "return None", "version": "return 'mine 1'"}
    source = SOURCE.format(**(usual | {"build": WRITE} | parts))
    host = load_plugins(found=[make_plugin(name, source)])
    assert host.diagnostics == ()
    return host


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the source of a class; its folder is the working directory."""
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "W.mo"
    source.write_text("model W\nend W;\n")
    return source


def build(host: Host, source: Path, *, force: bool = False) -> builds.Built:
    return builds.build(host, "W", sources=[source], compiler="mine", force=force)


@pytest.mark.parametrize(
    ("part", "code", "said", "line"),
    [
        ("build", "raise KeyError('x')", r"'build' of .* failed with KeyError: 'x'", "raise KeyE"),
        ("build", "raise SystemExit(3)", "'build' of .* failed with SystemExit: 3", "raise Sys"),
        ("build", "open('/no/where')", "'build' of .* failed with FileNotFoundError", "open("),
        ("build", WRITE + "; return None", "'build' of .* returned None, not a BuildRes", "def bu"),
        ("build", "pass", "did not write 'fmus/W.fmu'", "def build"),
        ("build", WRITE[:-1] + ", 'x')", "wrote 'W.fmu', which is not an FMU", "def build"),
        (
            "build",
            WRITE + "; return BuildResult(request.output, 'mine', ['odd'], 1.0)",
            r"returned diagnostics=\['odd'\]",
            "def build",
        ),
        ("unavailable", "return 1 / 0", "'unavailable' of .* failed with ZeroDiv", "def unav"),
        ("unavailable", "return False", "'unavailable' of .* returned False, not a t", "def unav"),
        ("version", "pass", "'version' of .* returned None, not a text", "def version"),
    ],
)
def test_a_bug_is_reported_with_plugin_file_and_line(
    make_plugin: MakePlugin, model: Path, part: str, code: str, said: str, line: str
) -> None:
    host = load(make_plugin, **{part: code})
    with pytest.raises(PluginError, match=said) as caught:
        build(host, model)
    message, place = caught.value.message, caught.value.location
    assert "of the compiler 'mine' of plugin 'site' (fmident_test_site)" in message
    assert "bug in the plugin" in (caught.value.hint or "")
    assert place is not None
    assert line in Path(place.file).read_text().splitlines()[(place.line or 0) - 1]
    assert not Path("fmus/W.fmu").exists() or "None" in message or "odd" in message


def test_a_file_of_an_earlier_build_is_not_taken_for_the_new_one(
    make_plugin: MakePlugin, model: Path
) -> None:
    first = load(make_plugin)
    assert build(first, model).result is not None
    lazy = load(make_plugin, "lazy", build="pass", version="return 'mine 2'")
    with pytest.raises(PluginError, match="the file that is there is an older one"):
        build(lazy, model)


def test_the_host_adds_the_record_that_tells_stale_fmus(
    make_plugin: MakePlugin, model: Path
) -> None:
    host = load(make_plugin)
    assert build(host, model).result is not None
    record = read_record(Path("fmus/W.fmu"))
    assert record is not None
    assert (record["class"], record["compiler"]) == ("W", "mine 1")
    assert build(host, model).result is None
    assert [p.name for p in (model.parent / "fmus").iterdir()] == ["W.fmu"]
    model.write_text("model W\n  Real x;\nend W;\n")
    assert build(host, model).result is not None


BROKEN = {"unavailable": "raise OSError('no licence')"}


def test_auto_passes_over_a_broken_compiler(
    make_plugin: MakePlugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = load(make_plugin, **BROKEN)
    assert builds.available_compilers(host, "auto")[0].name == "embedded"
    monkeypatch.setattr(builds, "PREFERRED", "mine")
    assert "mine" not in {c.name for c in builds.available_compilers(host, "auto")}


def test_doctor_lists_a_broken_compiler_among_the_others(
    make_plugin: MakePlugin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = load(make_plugin, **BROKEN)
    monkeypatch.setattr("fmident.cli.start.load_plugins", lambda **_: host)
    assert main(["doctor"]) == 0
    shown = capsys.readouterr()
    assert re.search(r"^embedded +fmident embedded", shown.out, re.MULTILINE)
    assert re.search(r"^mine +broken", shown.out, re.MULTILINE)
    assert "failed with OSError: no licence" in shown.out
    assert shown.err == ""
