"""What users get wrong, and what they are told.

Each row changes one thing in a study that works, runs the command as a user would and
looks for exit code 2, the parts of the message that say what and where, and no traceback.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from fmident.cli import main
from fmident.fmu.archive import platform_folder

from ..fmu.build import Fixture, build, compiler, real
from ..fmu.conftest import TROUBLE
from ..study import Study

Capture = pytest.CaptureFixture[str]
Change = Callable[[Study], None]


def rezip(fmu: Path, change: Callable[[str, bytes], Iterator[tuple[str, bytes]]]) -> None:
    """Write the FMU anew, each member as `change` yields it."""
    with zipfile.ZipFile(fmu) as file:
        members = [(name, file.read(name)) for name in file.namelist()]
    with zipfile.ZipFile(fmu, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            for new_name, new_content in change(name, content):
                file.writestr(new_name, new_content)


def swap(old: str, new: str) -> Change:
    """Replace text of the problem file."""
    return lambda study: study.change(old, new)


def data(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Change:
    """Change the data file as a table."""
    return lambda study: change(pd.read_csv(study.data)).to_csv(study.data, index=False)


def data_text(change: Callable[[list[str]], list[str]]) -> Change:
    """Change the data file as lines."""

    def apply(study: Study) -> None:
        study.data.write_text("\n".join(change(study.data.read_text().splitlines())) + "\n")

    return apply


def fmu_text(text: str) -> Change:
    def apply(study: Study) -> None:
        study.fmu.write_text(text)

    return apply


def escaping_path(study: Study) -> None:
    with zipfile.ZipFile(study.fmu, "a") as file:
        file.writestr("resources/../../escaped.txt", "gotcha")


def entities(study: Study) -> None:
    def change(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
        if name == "modelDescription.xml":
            head, _, body = content.partition(b"?>")
            dtd = b'?>\n<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
            content = head + dtd + body
        yield name, content

    rezip(study.fmu, change)


def unexpected_experiments(study: Study) -> None:
    text = study.problem.read_text()
    begin, end = text.index("[[experiments]]"), text.index("[estimator]")
    study.problem.write_text(f"experiments = [1]\n{text[:begin]}{text[end:]}")


def add(study: Study, name: str) -> None:
    with zipfile.ZipFile(study.fmu, "a") as file:
        file.writestr(name, "x")


def description_text(old: str, new: str) -> Change:
    """Replace the first such text of the model description."""

    def change(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
        if name == "modelDescription.xml":
            assert old.encode() in content
            content = content.replace(old.encode(), new.encode(), 1)
        yield name, content

    return lambda study: rezip(study.fmu, change)


def other_platform(study: Study) -> None:
    def change(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
        yield name.replace(f"binaries/{platform_folder()}/", "binaries/vax64/"), content

    rezip(study.fmu, change)


def library_that_is_none(study: Study) -> None:
    def change(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
        yield name, (b"nonsense" if name.startswith("binaries/") else content)

    rezip(study.fmu, change)


FEEDTHROUGH = "\n".join(
    [
        real("u", 0, "input", start=0),
        real("k", 1, "parameter", start=2),
        real("x", 2, "local", start=0, initial="exact"),
        real("y", 3, "output"),
        real("unused", 9, "parameter", start=1),
    ]
)


def fixture(source: str, variables: str, problem: str) -> Change:
    """Take an FMU compiled from C, and another problem file."""

    def apply(study: Study) -> None:
        if compiler() is None:
            pytest.skip("no C compiler")
        built = build(Fixture(source, variables), study.folder)
        built.replace(study.fmu)
        study.problem.write_text(problem)

    return apply


CRASHING = """\
[model]
fmu = "oscillator.fmu"
[model.start_values]
kind = {kind}
[parameters.a]
initial = 2.0
[[experiments]]
data = "data.csv"
[experiments.outputs]
x = {{ column = "position", sigma = 1.0 }}
[evaluation]
timeout = 5.0
[estimator]
name = "least-squares"
"""
_CRASH, _HANG, _EXIT, _ABORT = 5, 9, 10, 13

IGNORING = """\
[model]
fmu = "oscillator.fmu"
[parameters.k]
initial = 2.0
[parameters.unused]
initial = 1.5
[[experiments]]
data = "data.csv"
[experiments.inputs]
u = "force"
[experiments.outputs]
y = { column = "position", sigma = 1.0 }
[estimator]
name = "least-squares"
"""


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    change: Change
    fragments: tuple[str, ...]


TABLE = [
    # --- the problem file
    Case("wrong key", swap("initial = 2.5", "inital = 2.5"),
         ("inital", "'initial'", "problem.toml")),
    Case("wrong table", swap("[parameters.m]", "[parameter.m]"), ("parameter", "'parameters'")),
    Case("not TOML", swap("[model]", "[model"), ("problem.toml", "TOML")),
    Case("missing problem", lambda s: s.problem.unlink(), ("problem.toml",)),
    Case("missing data", lambda s: s.data.unlink(), ("data.csv",)),
    Case("missing FMU", lambda s: s.fmu.unlink(), ("oscillator.fmu",)),
    Case("no initial value of a parameter without start", swap("initial = 2.5", "initial = 'x'"),
         ("initial", "m")),
    Case("unknown parameter", swap("[parameters.m]", "[parameters.mass]"), ("'mass'", "'m'")),
    Case("unknown output", swap("x = {", "kineticEnrgy = {"),
         ("'kineticEnrgy'", "'kineticEnergy'")),
    Case("unknown input", swap('F = "force"', 'Force = "force"'), ("'Force'", "'F'")),
    Case("unknown column", swap('"position"', '"positon"'), ("'positon'", "'position'")),
    Case("initial outside its bounds", swap("[0.5, 10.0]", "[3.0, 10.0]"),
         ("'m'", "2.5", "3")),
    Case("bounds upside down", swap("[0.5, 10.0]", "[10.0, 0.5]"), ("'m'", "10", "0.5")),
    Case("unknown estimator", swap('"least-squares"', '"least-square"'),
         ("'least-square'", "'least-squares'")),
    Case("unknown option", swap('name = "least-squares"', 'name = "least-squares"\nsolvr = 1'),
         ("'solvr'", "'solver'")),
    Case("option that has left",
         swap('name = "least-squares"', 'name = "least-squares"\ntruncate = "auto"'),
         ("problem.toml:", "'truncate'", "a prior")),
    Case("option of the wrong kind",
         swap('name = "least-squares"', 'name = "least-squares"\nmethod = "dogbx"'),
         ("dogbx", "'dogbox'")),
    Case("class that does not exist",
         swap('fmu = "oscillator.fmu"', 'class = "Mechanisms.FMUs.MassSpringDampr"'),
         ("MassSpringDampr", "Mechanisms.FMUs.MassSpringDamper'")),
    Case("experiments that are not tables", unexpected_experiments,
         ("problem.toml:1", "must be a list of tables")),
    Case("integer of 400 digits", swap("initial = 2.5", f"initial = {'9' * 400}"),
         ("problem.toml:5", "64 bits", "1e30")),
    Case("integer of 5000 digits", swap("initial = 2.5", f"initial = {'9' * 5000}"),
         ("problem.toml:5", "digits")),
    Case("integer of 5000 hexadecimal digits", swap("initial = 2.5", f"initial = 0x{'f' * 5000}"),
         ("problem.toml", "64 bits")),
    Case("deep nesting", swap("initial = 2.5", f"initial = {'[' * 3000 + ']' * 3000}"),
         ("problem.toml", "nested")),
    Case("text of 5000 letters", swap("initial = 2.5", f"initial = '{'x' * 5000}'"),
         ("problem.toml:5", "(5002 characters)")),
    Case("key of 5000 letters", swap("initial = 2.5", f"{'x' * 5000} = 1"),
         ("problem.toml:5", "(5000 characters)")),
    Case("letters that steer a terminal", swap("initial = 2.5", 'initial = "\\u001b[2J"'),
         ("problem.toml:5", "\\x1b")),
    # --- the data
    Case("empty CSV", lambda s: s.data.write_text(""), ("data.csv", "empty")),
    Case("header only", data_text(lambda x: x[:1]), ("data.csv", "row")),
    Case("column all NaN", data(lambda t: t.assign(position=float("nan"))),
         ("position", "data.csv")),
    Case("gap in an input", data(lambda t: t.assign(force=t.force.where(t.index != 5))),
         ("force", "data.csv")),
    Case("text among the numbers", data_text(lambda x: [*x[:9], "0.16,broken,0", *x[10:]]),
         ("broken", "data.csv")),
    Case("time goes back", data_text(lambda x: [*x[:9], x[7], *x[9:]]), ("data.csv", "10")),
    Case("time twice", data_text(lambda x: [*x[:9], x[8], *x[9:]]), ("data.csv", "10")),
    Case("not text", lambda s: s.data.write_bytes(bytes(range(256)) * 9), ("data.csv",)),
    Case("cell of 131073 letters",
         data_text(lambda x: [*x[:9], f'0.16,"{"a" * 131073}",0', *x[10:]]),
         ("data.csv:10", "(131073 characters)")),
    # --- the FMU
    Case("not a zip", fmu_text("hello"), ("oscillator.fmu", "zip")),
    Case("zip with escaping paths", escaping_path, ("../../escaped.txt", "outside")),
    Case("XML with entities", entities, ("modelDescription.xml", "document type definition")),
    Case("folders 1000 deep", lambda s: add(s, "resources/" + "d/" * 1000 + "x"), ("deep",)),
    Case("name of 300 letters", lambda s: add(s, "resources/" + "n" * 300), ("255 bytes",)),
    Case("value reference of 5000 digits", description_text('valueReference="0"',
         f'valueReference="{"9" * 5000}"'), ("modelDescription.xml", "not a whole number")),
    Case("value reference in other digits", description_text('valueReference="0"',
         'valueReference="\u0663"'), ("modelDescription.xml", "not a whole number")),
    Case("no binary for this platform", other_platform, ("'vax64'", platform_folder())),
    Case("library that is none", library_that_is_none, ("oscillator.fmu",)),
    Case("parameter that the FMU ignores", fixture("feedthrough.c", FEEDTHROUGH, IGNORING),
         ("'unused'", "no output changes")),
    Case("native code crashes", fixture("trouble.c", TROUBLE, CRASHING.format(kind=_CRASH)),
         ("SIGSEGV", "trouble")),
    Case("native code aborts", fixture("trouble.c", TROUBLE, CRASHING.format(kind=_ABORT)),
         ("SIGABRT", "trouble")),
    Case("native code ends the process", fixture("trouble.c", TROUBLE, CRASHING.format(kind=_EXIT)),
         ("exit code 3", "trouble")),
]  # fmt: skip


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name)
def test_message(case: Case, study: Study, capsys: Capture) -> None:
    case.change(study)
    before = sorted(p.name for p in study.folder.iterdir())
    code = main(["estimate", "problem.toml", "-o", "out"])
    shown = capsys.readouterr()
    assert code == 2, shown.err
    assert "error: " in shown.err
    assert "Traceback" not in shown.err
    for fragment in case.fragments:
        assert fragment in shown.err
    assert max(map(len, shown.err.splitlines())) < 1000
    assert sorted(p.name for p in study.folder.iterdir()) == before
    assert not list(study.folder.parent.glob("escaped*"))


@pytest.mark.slow
def test_native_code_that_hangs(study: Study, capsys: Capture) -> None:
    fixture("trouble.c", TROUBLE, CRASHING.format(kind=_HANG))(study)
    assert main(["estimate", "problem.toml", "-o", "out"]) == 2
    assert "did not answer within 5 s" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["validate", "simulate"])
@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (fmu_text("hello"), "zip"),
        (escaping_path, "outside"),
        (entities, "document type definition"),
        (other_platform, "'vax64'"),
        (lambda s: s.fmu.unlink(), "no such FMU"),
    ],
    ids=["not a zip", "escaping", "entities", "platform", "missing"],
)
def test_other_commands_refuse_the_same_fmus(
    command: str, change: Change, fragment: str, study: Study, capsys: Capture
) -> None:
    change(study)
    assert main([command, "oscillator.fmu"]) == 2
    shown = capsys.readouterr()
    assert fragment in shown.out + shown.err
    assert "Traceback" not in shown.err


def test_an_option_that_has_left_may_come_from_the_command(study: Study, capsys: Capture) -> None:
    assert main(["estimate", "problem.toml", "--set", "estimator.truncate=1e-3"]) == 2
    error = capsys.readouterr().err
    assert "--set estimator.truncate" in error
    assert "a prior" in error


def test_crash_in_simulate_and_validate(study: Study, capsys: Capture) -> None:
    fixture("trouble.c", TROUBLE, "")(study)
    assert main(["simulate", "oscillator.fmu", "--set", f"kind={_CRASH}"]) == 2
    assert "SIGSEGV" in capsys.readouterr().err


def test_through_the_interpreter(study: Study) -> None:
    study.change("initial = 2.5", "inital = 2.5")
    done = subprocess.run(
        [sys.executable, "-m", "fmident", "estimate", "problem.toml"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "inital" in done.stderr
    assert "Traceback" not in done.stderr
