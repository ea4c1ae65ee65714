"""Opening FMUs: what is wrong with a file is said before anything of it is used."""

from __future__ import annotations

import struct
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fmident.errors import Code, FmuError
from fmident.fmu import ArchiveLimits, SimulationSetup, open_fmu, read_description
from fmident.fmu.archive import library_suffix, platform_folder

from ..refused import refused
from .build import Fixture, build, description, real
from .conftest import FEEDTHROUGH, Builder

HERE = platform_folder()
GOOD = description(Fixture("x.c", real("k", 0, "parameter", start=1)), "model")


def pack(
    path: Path, xml: str | bytes | None = GOOD, members: dict[str, bytes] | None = None
) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        if xml is not None:
            file.writestr("modelDescription.xml", xml)
        for name, content in (members or {}).items():
            file.writestr(name, content)
    return path


def library(content: bytes = b"") -> dict[str, bytes]:
    return {f"binaries/{HERE}/model{library_suffix()}": content}


def link(path: Path) -> Path:
    entry = zipfile.ZipInfo("resources/link")
    entry.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("modelDescription.xml", GOOD)
        file.writestr(entry, "/etc/passwd")
    return path


def encrypted(path: Path) -> Path:
    pack(path)
    raw = bytearray(path.read_bytes())
    central = raw.index(b"PK\x01\x02")
    raw[central + 8] |= 1
    path.write_bytes(bytes(raw))
    return path


def members_twice(path: Path, second: bytes) -> Path:
    """As CMake packs a folder that is named twice."""
    pack(path, members={**library(), "extra/a.xml": b"one"})
    with zipfile.ZipFile(path, "a") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file.writestr("extra/a.xml", second)
    return path


def other_method(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as file:
        file.writestr("modelDescription.xml", GOOD)
    return path


def not_text(path: Path) -> Path:
    """A member's name that is not valid UTF-8."""
    pack(path, members={"resources/ää": b""})
    path.write_bytes(path.read_bytes().replace("ää".encode(), b"\xbe\xbe\xbe\xbe"))
    return path


def damaged(path: Path) -> Path:
    pack(path, members=library(b"x" * 10))
    raw = bytearray(path.read_bytes())
    name_length, extra_length = struct.unpack_from("<HH", raw, 26)
    at = 30 + name_length + extra_length
    raw[at : at + 8] = b"\xff" * 8
    path.write_bytes(bytes(raw))
    return path


def plain(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


LAUGHS = (
    '<?xml version="1.0"?>\n<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>\n'
    '<fmiModelDescription fmiVersion="2.0">&b;</fmiModelDescription>'
)


def test_an_fmu_that_is_missing_is_answered_with_those_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    with refused(Code.UNKNOWN_NAME, FmuError, match="check the path, or build it"):
        open_fmu("Slide.fmu")
    (tmp_path / "fmus").mkdir()
    (tmp_path / "fmus" / "Axes.Slide.fmu").write_bytes(b"")
    with refused(Code.UNKNOWN_NAME, FmuError, match=r"nearest FMU: '\.\./fmus/Axes\.Slide\.fmu'"):
        open_fmu("Slide.fmu")
    with refused(Code.UNKNOWN_NAME, FmuError, match=r"there are: '\.\./fmus/Axes\.Slide\.fmu'"):
        open_fmu("Zzz.fmu")
    catalog = tmp_path / "fmus" / "catalog.toml"
    catalog.write_text('[[fmus]]\nclass = "Axes.Rotary"\nfile = "rotary.fmu"\n')
    with refused(
        Code.UNKNOWN_NAME, FmuError, match=r"'rotary.fmu' of the catalogue \(fmident build Axes\.Ro"
    ):
        open_fmu("rotari.fmu")
    for wrong in ("[[fmus]\n", "fmus = 1\n", "[[fmus]]\nclass = 1\n"):
        catalog.write_text(wrong)
        with refused(Code.UNKNOWN_NAME, FmuError, match=r"nearest FMU: .*Slide\.fmu'"):
            open_fmu("Slide.fmu")


def test_a_description_is_read_again_when_the_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pack(tmp_path / "model.fmu")
    later = time.time() + 60.0
    assert read_description(path) == read_description(path)
    monkeypatch.setattr(time, "time", lambda: later)  # it is no longer new
    first = read_description(path)
    assert read_description(path) is first
    other = GOOD.replace('modelName="', 'modelName="other_')
    pack(path, other)
    assert read_description(path).name != first.name
    path.unlink()
    with pytest.raises(FmuError, match="no such FMU"):
        read_description(path)


BAD = {
    "missing": (lambda p: p, "no such FMU"),
    "folder": (lambda p: (p.mkdir(), p)[1], "folder"),
    "empty file": (lambda p: plain(p, b""), "not a zip file"),
    "not a zip": (lambda p: plain(p, b"<html>not found</html>"), "not a zip file"),
    "cut off": (lambda p: plain(pack(p), pack(p).read_bytes()[:-30]), "not a zip file"),
    "damaged member": (damaged, "is damaged"),
    "encrypted": (encrypted, "is encrypted"),
    "bzip2": (other_method, "does not allow"),
    "name not UTF-8": (not_text, "cannot be read"),
    "symbolic link": (link, "symbolic link"),
    "parent folder": (lambda p: pack(p, members={"../evil.txt": b""}), "outside the target"),
    "inner parent": (lambda p: pack(p, members={"resources/../../x": b""}), "outside the target"),
    "absolute": (lambda p: pack(p, members={"/tmp/evil": b""}), "outside the target"),
    "back slashes": (lambda p: pack(p, members={"..\\..\\evil": b""}), "outside the target"),
    "drive": (lambda p: pack(p, members={"C:/evil": b""}), "outside the target"),
    "no description": (lambda p: pack(p, None, {"x/modelDescription.xml": b""}), "at its top"),
    "entities": (lambda p: pack(p, LAUGHS), "document type definition"),
    "external entity": (
        lambda p: pack(p, '<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>'),
        "document type definition",
    ),
    "broken XML": (lambda p: pack(p, GOOD.replace("</ModelVariables>", "")), "not well-formed"),
    "other XML": (lambda p: pack(p, "<html/>"), "root element is <html>"),
    "FMI 1": (lambda p: pack(p, GOOD.replace('fmiVersion="2.0"', 'fmiVersion="1.0"')), "'1.0'"),
    "no interface": (
        lambda p: pack(p, GOOD.replace("<CoSimulation", "<Another")),
        "neither for Co-Simulation nor for Model Exchange",
    ),
    "Scheduled Execution": (
        lambda p: pack(
            p, GOOD.replace("CoSimulation", "ScheduledExecution").replace('="2.0"', '="3.0"')
        ),
        "Scheduled Execution only",
    ),
    "identifier leads out": (
        lambda p: pack(p, GOOD.replace('modelIdentifier="model"', 'modelIdentifier="../m"')),
        "not the name of a file",
    ),
    "bad number": (lambda p: pack(p, GOOD.replace('start="1"', 'start="one"')), "'one'"),
    "name twice": (
        lambda p: pack(p, GOOD.replace("</ModelV", real("k", 1) + "</ModelV")),
        "two variables",
    ),
    "two contents": (lambda p: members_twice(p, b"two"), "twice, with different contents"),
    "other platform": (
        lambda p: pack(p, members={"binaries/amiga/model.so": b""}),
        "'amiga'",
    ),
    "sources only": (lambda p: pack(p, members={"sources/a.c": b""}), "none at all"),
    "library's name": (
        lambda p: pack(p, members={f"binaries/{HERE}/other.so": b""}),
        "lack 'model",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_with_the_reason(case: str, tmp_path: Path) -> None:
    make, words = BAD[case]
    path = make(tmp_path / "model.fmu")
    with pytest.raises(FmuError) as caught:
        open_fmu(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert not (tmp_path.parent / "evil.txt").exists()


@pytest.mark.parametrize("name", ["..", ".", "", " ", "a/b", "a\\b", "C:m", "a" * 300])
def test_a_library_has_a_plain_name(tmp_path: Path, name: str) -> None:
    path = pack(tmp_path / "m.fmu", GOOD.replace('Identifier="model"', f'Identifier="{name}"'))
    with pytest.raises(FmuError, match="is not the name of a file") as caught:
        open_fmu(path)
    assert len(caught.value.message) < 300


@pytest.mark.parametrize("name", ["pump-2", "2nd pump", "Größe", "a.b", "-"])
def test_a_library_need_not_be_named_like_an_identifier(fmu_folder: Path, name: str) -> None:
    """C identifiers matter to sources; exporters write what they like, and the file is there."""
    path = build(Fixture("feedthrough.c", FEEDTHROUGH), fmu_folder, name)
    setup = SimulationSetup(np.linspace(0.0, 1.0, 5), output_names=("q",))
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        assert simulator.simulate(setup).shape == (5, 1)


def test_broken_xml_names_its_line(tmp_path: Path) -> None:
    path = pack(tmp_path / "m.fmu", GOOD.replace("</ModelVariables>", ""))
    with pytest.raises(FmuError) as caught:
        read_description(path)
    assert caught.value.location is not None
    assert caught.value.location.line == GOOD.count("\n")


@pytest.mark.parametrize(
    "limits", [ArchiveLimits(total_bytes=1000), ArchiveLimits(members=1)], ids=["bytes", "members"]
)
def test_a_zip_bomb_is_refused_before_unpacking(limits: ArchiveLimits, tmp_path: Path) -> None:
    path = pack(tmp_path / "bomb.fmu", members=library(b"\0" * 10_000_000))
    with refused(Code.UNUSABLE_FMU, FmuError, match="more than"):
        open_fmu(path, limits=limits)


def test_a_library_that_cannot_be_loaded_gives_the_loaders_words(tmp_path: Path) -> None:
    path = pack(tmp_path / "m.fmu", members=library(b"not a library"))
    with (
        open_fmu(path) as fmu,
        refused(Code.UNUSABLE_FMU, FmuError, match=r"cannot be loaded: .*model"),
    ):
        fmu.simulator()


def test_a_missing_function_is_named(types: Builder) -> None:
    with (
        open_fmu(types("WITHOUT_SET_STRING")) as fmu,
        refused(Code.UNUSABLE_FMU, FmuError, match="lacks the function fmi2SetString"),
    ):
        fmu.simulator()


def test_the_same_member_twice_does_no_harm(tmp_path: Path) -> None:
    with open_fmu(members_twice(tmp_path / "twice.fmu", b"one")) as fmu:
        assert fmu.description.name == "model"


def test_a_wrong_guid_gives_the_fmus_words(feedthrough: Builder) -> None:
    with (
        open_fmu(feedthrough(guid="{other}")) as fmu,
        pytest.raises(FmuError, match=r"refuses .*wrong GUID \{other\}, expected") as caught,
    ):
        fmu.simulator()
    assert "GUID" in (caught.value.hint or "")


def test_a_silent_refusal_is_tried_again_with_logging(feedthrough: Builder) -> None:
    with (
        open_fmu(feedthrough("REFUSE")) as fmu,
        refused(Code.UNUSABLE_FMU, FmuError, match="no licence for 3 seats"),
    ):
        fmu.simulator()


def test_nothing_is_left_behind(feedthrough: Builder) -> None:
    fmu = open_fmu(feedthrough())
    folder = fmu.library_path.parents[2]
    assert (folder / "resources" / "note.txt").is_file()
    fmu.close()
    fmu.close()
    assert not folder.exists()
    with pytest.raises(FmuError, match="closed"):
        fmu.simulator()


def test_only_one_instance_where_the_fmu_asks_for_it(feedthrough: Builder) -> None:
    path = feedthrough(flags={"canBeInstantiatedOnlyOncePerProcess": "true"})
    with open_fmu(path) as fmu:
        first = fmu.simulator()
        with refused(Code.NOT_SUPPORTED, FmuError):
            fmu.simulator()
        first.close()
        fmu.simulator().close()


def test_build_is_repeatable(feedthrough: Builder, fmu_folder: Path) -> None:
    assert feedthrough() == feedthrough()
    assert build(Fixture("types.c", ""), fmu_folder).exists()
