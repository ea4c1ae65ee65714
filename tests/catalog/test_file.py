"""Reading the catalogue."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from fmident.catalog import CatalogError, Interface, Signal, find_catalog, read_catalog
from fmident.catalog.file import expand_name
from fmident.errors import Code
from fmident.validation import read_recording

from ..refused import refused

ROOT = Path(__file__).parents[2]
OURS = ROOT / "fmus" / "catalog.toml"

GOOD = """\
[libraries.Lib]
sources = ["Lib.mo"]

[libraries.Lib.compiler.openmodelica]
tolerance = 1e-9
tube = 1e-3
options = { fmi_flags = "s:cvode" }

[[fmus]]
class = "Lib.Robot"
step_tube = 1e-5

[fmus.inputs]
"q[1:2]" = "rad"

[fmus.outputs]
tau = "N.m"

[fmus.identifiable]
mass = "kg"
ratio = "1"

[[fmus.references]]
file = "run.csv"
tube = 1e-7
tubes = { tau = 1e-6 }
inputs = { "q[1]" = { offset = 1.0, sines = [[2.0, 0.5, 0.0]] }, "q[2]" = 3 }
refine = 10

[[fmus]]
class = "Lib.Axis"
compilers = ["embedded"]
file = "axis.fmu"

[fmus.smoke]
stop = 2.0
samples = 11
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Lib.mo").write_text("package Lib end Lib;")
    (tmp_path / "run.csv").write_text("time,tau\n0,1\n1,2\n")
    (tmp_path / "catalog.toml").write_text(GOOD)
    return tmp_path


def test_everything_is_read(folder: Path) -> None:
    catalog = read_catalog(folder / "catalog.toml")
    robot, axis = catalog.entries
    assert robot.class_name == "Lib.Robot"
    assert robot.file == "Lib.Robot.fmu"
    assert robot.sources == (folder / "Lib.mo",)
    assert robot.compilers == ("embedded", "openmodelica")
    assert robot.settings_of("embedded").tolerance is None
    assert robot.settings_of("openmodelica").tolerance == 1e-9
    assert robot.settings_of("openmodelica").options == {"fmi_flags": "s:cvode"}
    assert robot.interface is not None
    assert robot.interface.inputs == {"q[1]": "rad", "q[2]": "rad"}
    assert robot.interface.identifiable == {"mass": "kg", "ratio": "1"}
    assert robot.step_tube == 1e-5
    (reference,) = robot.references
    assert (reference.tube, reference.tubes, reference.refine) == (1e-7, {"tau": 1e-6}, 10)
    assert reference.inputs == {"q[1]": Signal(1.0, ((2.0, 0.5, 0.0),)), "q[2]": Signal(3.0)}
    assert axis.file == "axis.fmu"
    assert axis.compilers == ("embedded",)
    assert (axis.smoke.stop, axis.smoke.samples) == (2.0, 11)
    assert catalog.entry_of_fmu("Lib.Robot", Path("any.fmu")) is robot
    assert catalog.entry_of_fmu("other", Path("x/axis.fmu")) is axis
    assert catalog.entry_of_fmu("other", Path("other.fmu")) is None


@pytest.mark.parametrize(
    ("old", "new", "line", "fragments"),
    [
        ("step_tube = 1e-5", "steptube = 1e-5", 11, ("'steptube'", "'step_tube'")),
        ("[fmus.outputs]", "[fmus.output]", 16, ("'output'", "'outputs'")),
        ("refine = 10", "refin = 10", 28, ("'refin'", "'refine'")),
        ("tube = 1e-7", "tube_time = -1", 25, ("tube_time must be", "zero or positive")),
        ("tau = 1e-6", "tau = nan", 26, ("tubes.tau must be", "positive")),
        ('"q[2]" = 3', '"q[2]" = inf', 27, ("q[2]", "finite")),
        ('"q[2]" = 3', '"q[2]" = "x"', 27, ("q[2]", "number")),
        ("[[2.0, 0.5, 0.0]]", "[[2.0, nan, 0.0]]", 27, ("sines", "finite")),
        ("stop = 2.0", "stop = inf", 36, ("stop", "finite")),
        ("refine = 10", "refine = 0", 28, ("refine", "from 1")),
        ('tau = "N.m"', 'tau = "Nmm"', 17, ("'tau'", "Nmm")),
        ('mass = "kg"', "mass = 3", 20, ("'mass'", "a text")),
        ('"run.csv"', '"rum.csv"', 24, ("rum.csv", "'run.csv'")),
        ("tube = 1e-7", "tube = -1", 25, ("tube must be", "positive")),
        ("[2.0, 0.5, 0.0]", "[2.0, 0.5]", 27, ("'sines'", "phase")),
        ('class = "Lib.Axis"', 'class = "Lib.Robot"', 31, ("already, in line 9",)),
        ('class = "Lib.Axis"', 'class = "Lob.Axis"', 31, ("Lob", "'Lib'")),
        ('class = "Lib.Axis"', 'class = "Lib Axis"', 31, ("not the full name",)),
        ('class = "Lib.Robot"\n', "", 9, ("needs the key 'class'",)),
        (
            'class = "Lib.Axis"\n',
            "",
            31,
            ("'compilers'", "this entry has none", "add the key 'class'"),
        ),
        ('file = "axis.fmu"', 'file = "Lib.Robot.fmu"', 33, ("is the file of two entries",)),
        ('["embedded"]', '["embeded"]', 32, ("'embeded'", "'embedded'")),
        ('["Lib.mo"]', '["Lob.mo"]', 2, ("Lob.mo",)),
        ("compiler.openmodelica]", "compiler.omc]", 4, ("'omc'",)),
        ("samples = 11", "samples = 1", 37, ("samples", "from 2")),
        ("stop = 2.0", "stop = ", 36, ("not TOML",)),
    ],
)
def test_mistakes_are_answered_with_their_line(
    folder: Path, old: str, new: str, line: int, fragments: tuple[str, ...]
) -> None:
    assert GOOD.count(old) == 1
    file = folder / "catalog.toml"
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(CatalogError) as caught:
        read_catalog(file)
    assert caught.value.location is not None
    assert caught.value.location.line == line
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_files_that_are_no_catalogue(tmp_path: Path) -> None:
    with refused(Code.UNKNOWN_NAME, CatalogError):
        read_catalog(tmp_path / "none.toml")
    with refused(Code.UNKNOWN_NAME, CatalogError):
        find_catalog(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with refused(Code.UNUSABLE_FILE, CatalogError):
        read_catalog(tmp_path / "bytes.toml")
    (tmp_path / "empty.toml").write_text("[libraries]\n")
    with refused(Code.MISSING_KEY, CatalogError, match="fmus"):
        read_catalog(tmp_path / "empty.toml")


def test_fmus_of_other_tools_have_no_class(tmp_path: Path) -> None:
    (tmp_path / "catalog.toml").write_text(
        '[[fmus]]\nfile = "there/pump.fmu"\nexchange_tube = 0.2\n'
        '[[fmus]]\nfile = "fan.fmu"\noutputs = { n = "rad/s" }\n'
    )
    catalog = read_catalog(tmp_path / "catalog.toml")
    pump, fan = catalog.entries
    assert catalog.built == ()
    assert (pump.exchange_tube, pump.interface, pump.foreign) == (0.2, None, True)
    assert fan.interface == Interface({}, {"n": "rad/s"}, {})
    assert catalog.entry_of_fmu("A pump, tried", tmp_path / "there" / "pump.fmu") is pump
    assert catalog.entry_of_fmu("", tmp_path / "other" / "pump.fmu") is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("m", ["m"]),
        ("q[2]", ["q[2]"]),
        ("q[1:3]", ["q[1]", "q[2]", "q[3]"]),
        ("a[1:2].b[2:3]", ["a[1].b[2]", "a[1].b[3]", "a[2].b[2]", "a[2].b[3]"]),
        ("A[1,1:2]", ["A[1,1]", "A[1,2]"]),
    ],
)
def test_ranges_in_names(text: str, names: list[str]) -> None:
    assert expand_name(text) == names


def test_signal_is_offset_and_sines() -> None:
    times = np.array([0.0, 0.25, 0.5])
    signal = Signal(1.0, ((2.0, 1.0, 0.0), (0.5, 2.0, np.pi / 2)))
    np.testing.assert_allclose(signal.values(times), [1.5, 2.5, 1.5], atol=1e-15)


def test_our_catalogue_is_found_from_inside() -> None:
    assert find_catalog(ROOT / "modelica" / "Mechanisms") == OURS


def test_our_catalogue_holds_every_machine() -> None:
    """Every class with signals that can run, but for examples."""
    wanted = set()
    for file in (ROOT / "modelica" / "Mechanisms").rglob("*.mo"):
        text = file.read_text()
        parts = file.relative_to(ROOT / "modelica").with_suffix("").parts
        if re.search(r"\bexperiment\s*\(", text) and parts[1] in ("FMUs", "Sources", "DriveTrains"):
            wanted.add(".".join(parts))
    assert {e.class_name for e in read_catalog(OURS).entries} == wanted


def test_our_references_are_all_used_and_fit() -> None:
    """Each file of fmus/reference belongs to an entry, and names signals of its interface."""
    used = set()
    for entry in read_catalog(OURS).entries:
        for reference in entry.references:
            used.add(reference.file.name)
            recording = read_recording(reference.file)
            known = {*entry.interface.inputs, *entry.interface.outputs, *reference.without}
            inner = {n for n in recording.signals if "." in n}
            assert set(recording.signals) - inner <= known
            assert recording.times.size > 100
    assert used == {f.name for f in (ROOT / "fmus" / "reference").glob("*.csv")}
