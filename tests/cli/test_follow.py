"""``fmident follow``: a file, a pipe, a file that grows, Ctrl-C, wrong input."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from fmident.cli import main
from fmident.data.follow import RowReader, lines_of
from fmident.errors import DataError

ROOT = Path(__file__).parents[2]
TIMES = np.arange(401) * 2e-3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, build_fmu: Callable[[str], Path]) -> Path:
    """A problem whose own data file does not exist, and data in other units."""
    place = tmp_path_factory.mktemp("follow")
    shutil.copy(build_fmu("Mechanisms.FMUs.MassSpringDamper"), place / "msd.fmu")
    (place / "problem.toml").write_text(
        """
[model]
fmu = "msd.fmu"
[parameters.k]
initial = 300.0
[parameters.d]
initial = 1.0
[parameters.m]
initial = 3.0
fixed = true
[[experiments]]
data = "not-there-yet.csv"
[experiments.inputs]
F = "force"
[experiments.outputs]
x = { column = "position", sigma = 1e-5 }
[estimator]
name = "algebraic"
window = 0.2
known = { b0 = "1/m" }
map = { k = "m*a0", d = "m*a1" }
"""
    )
    omega0, omega = np.sqrt(400.0 / 3.0), 25.0
    # Without damping, from rest (closed form).
    x = 30.0 / 3.0 * (omega * np.sin(omega0 * TIMES) - omega0 * np.sin(omega * TIMES))
    x = x / (omega0 * (omega**2 - omega0**2))
    rows = [
        f"{1e3 * t:.6f},{1e3 * y:.12g},{30.0 * np.sin(omega * t):.12g}"
        for t, y in zip(TIMES, x, strict=True)
    ]
    (place / "data.csv").write_text(
        "# a comment\ntime [ms],position [mm],force [N]\n" + "\n".join(rows) + "\n"
    )
    return place


def last_values(text: str) -> tuple[list[str], list[float]]:
    lines = text.strip().splitlines()
    return lines[0].split(","), [float(cell) for cell in lines[-1].split(",")]


def test_a_file_in_other_units(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["follow", str(folder / "problem.toml"), str(folder / "data.csv")])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    header, values = last_values(printed.out)
    assert header == ["time", "k", "k standard error", "d", "d standard error"]
    assert values[0] == pytest.approx(0.8)
    assert values[1] == pytest.approx(400.0, rel=1e-6)
    assert values[3] == pytest.approx(0.0, abs=1e-3)
    assert len(printed.out.strip().splitlines()) == 1 + 401 - 100
    assert "last estimate at t = 0.8 s" in printed.err


def test_a_pipe(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO((folder / "data.csv").read_text()))
    arguments = ["estimate", str(folder / "problem.toml"), "--follow", "-", "--print-every", "100"]
    assert main(arguments) == 0  # as earlier versions had it
    printed = capsys.readouterr()
    assert last_values(printed.out)[1][1] == pytest.approx(400.0, rel=1e-6)
    assert printed.err.startswith("note: ")


@pytest.mark.parametrize("above", ["sep=,\n", "Logger 7\n"])
def test_a_file_that_does_not_begin_with_its_header(
    above: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.csv"
    data.write_text(above + (folder / "data.csv").read_text())
    assert main(["follow", str(folder / "problem.toml"), str(data)]) == 2
    message = capsys.readouterr().err
    assert "cannot be followed: encoding utf-8, separator comma" in message
    assert "begin with the header" in message


def test_a_growing_file_and_ctrl_c(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "data.csv").read_text().splitlines(keepends=True)
    growing = tmp_path / "growing.csv"
    growing.write_text("".join(lines[:200]))
    process = subprocess.Popen(
        [sys.executable, "-m", "fmident", "follow", str(folder / "problem.toml"),
         str(growing), "--patience", "600"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        line = ""
        while not line.startswith("0.39"):  # the last of the rows that are there
            line = process.stdout.readline()
            assert line, "the process ended"
        with growing.open("a") as file:
            file.write("".join(lines[200:250]))
        line = ""
        while not line.startswith("0.49"):
            line = process.stdout.readline()
            assert line, "the process ended"
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=300)
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    assert process.returncode == 130
    assert "last estimate at t = 0.49" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv"], "no data file 'nothing.csv'"),
        (["DATA", "--set", "estimator.windo=1"], "has no option 'windo'"),
        (
            ["DATA", "--print-every", "0"],
            "--print-every: must be a whole number, 1 or more",
        ),
    ],
)
def test_wrong_input(
    folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(folder / "data.csv") if a == "DATA" else a for a in arguments]
    assert main(["follow", str(folder / "problem.toml"), *given]) == 2
    assert message in capsys.readouterr().err


def test_an_estimator_that_cannot_follow(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "problem.toml").read_text()
    other = folder / "least-squares.toml"
    other.write_text(text[: text.index("[estimator]")] + '[estimator]\nname = "least-squares"\n')
    assert main(["follow", str(other), str(folder / "data.csv")]) == 2
    told = capsys.readouterr().err
    assert "cannot follow data" in told
    assert "algebraic" in told


class Growing(io.StringIO):
    """A file of which each read returns one more piece, or nothing yet."""

    def __init__(self, pieces: list[str]) -> None:
        super().__init__()
        self._pieces: Iterator[str] = iter(pieces)

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        return next(self._pieces, "")


def test_lines_that_arrive_in_pieces() -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    pieces = ["a,b\n", "", "# note\n", "1", "", ",2\n", "\n", "3,4"]
    found = list(lines_of(Growing(pieces), 1.0, clock=lambda: now[0], sleep=sleep))
    assert found == [(1, "a,b\n"), (3, "1,2\n"), (5, "3,4")]
    assert 0.9 < now[0] < 1.5


def test_rows() -> None:
    places = np.array([1, 0])
    reader = RowReader("data", ";", 2, places, np.array([1e-3, 2.0]), np.array([0.0, 1.0]), 0)
    time_, inputs, outputs = reader.read("3,5;1000\n", 2)
    assert (time_, inputs.size) == (1.0, 0)
    assert outputs == pytest.approx([8.0])
    assert np.isnan(reader.read(";1000", 3)[2][0])
    for line, message in (("1", "has 1 cells"), ("x;1", "'x' is not a number"), ("1;", "time")):
        with pytest.raises(DataError, match=message):
            reader.read(line, 4)


def test_waiting_ends_with_patience() -> None:
    assert list(lines_of(io.StringIO("a\n"), 0.05)) == [(1, "a\n")]


def test_stages_cannot_follow(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    staged = folder / "staged.toml"
    staged.write_text((folder / "problem.toml").read_text() + '\n[[stages]]\nname = "a"\n')
    assert main(["follow", str(staged), str(folder / "data.csv")]) == 2
    assert "a problem with stages cannot follow data" in capsys.readouterr().err
