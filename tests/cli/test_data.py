"""``fmident data``: what a file holds, and a table to start from."""

from __future__ import annotations

import io
import json
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from fmident.cli import main

from ..fmu.build import Fixture, description, real

Capture = pytest.CaptureFixture[str]

CONTENT = "Logger 7\ntime;F;position;who\ns;N;mm;\n" + "".join(
    f"{k};{k % 3},5;{k * k};a\n" for k in range(20)
)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("my data.csv")
    path.write_text(CONTENT, encoding="utf-8")
    return path


def suggested(printed: str) -> dict[str, object]:
    """Return the one experiment of the table that is printed last."""
    (experiment,) = tomllib.loads(printed[printed.index("[[experiments]]") :])["experiments"]
    found: dict[str, object] = experiment
    return found


def test_a_file(file: Path, capsys: Capture) -> None:
    assert main(["data", str(file), "--json", "out/data.json"]) == 0
    printed = capsys.readouterr().out
    assert "20 rows, 4 columns" in printed
    assert "sampled at 1 Hz" in printed
    words = " ".join(printed.split())
    assert "separator semicolon, decimal comma, header in line 2, units in line 3" in words
    assert "'a' in column 'who' is not a number" in words
    assert suggested(printed) == {"data": "my data.csv", "inputs": {}, "outputs": {}}
    assert '# F = "F"' in printed
    assert json.loads(Path("out/data.json").read_text())["columns"][1]["largest"] == 361.0


def test_variables_of_an_fmu_are_looked_for(file: Path, capsys: Capture) -> None:
    variables = [
        real("F", 1, "input", start=0.0),
        real("arm.position", 2, "output"),
        real("q[1]", 3, "output"),
    ]
    fmu = Path("model.fmu")
    with zipfile.ZipFile(fmu, "w") as archive:
        text = description(Fixture("", "\n".join(variables)), "model")
        archive.writestr("modelDescription.xml", text)
    assert main(["data", str(file), "--fmu", str(fmu)]) == 0
    printed = capsys.readouterr().out
    assert suggested(printed)["inputs"] == {"F": "F"}
    assert '# "arm.position" = "position"' in printed
    assert '# "q[1]" = ""' in printed


def test_what_is_said_of_the_file_is_in_the_table(file: Path, capsys: Capture) -> None:
    said = ["--set", "skip_rows=1", "--set", "separator=;", "--set", "decimal=,"]
    assert main(["data", str(file), *said, "--time", "position"]) == 2
    assert "has the unit 'mm', which is not a time" in capsys.readouterr().err
    file.write_text(CONTENT.replace("mm", "h"), encoding="utf-8")
    assert main(["data", str(file), *said, "--time", "position"]) == 0
    found = suggested(capsys.readouterr().out)
    assert [found[k] for k in ("skip_rows", "separator", "decimal", "time")] == [
        1, ";", ",", "position",
    ]  # fmt: skip


def test_keys_that_are_refused(file: Path, capsys: Capture) -> None:
    assert main(["data", str(file), "--set", "seperator=;"]) == 2
    assert "nearest key: 'separator'" in capsys.readouterr().err
    assert main(["data", str(file), "--set", "decimal=x"]) == 2
    assert "'decimal' must be '.' or ','" in capsys.readouterr().err


def test_a_terminal_without_block_characters(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main(["data", str(file)]) == 0
    sys.stdout.flush()
    assert "11111" in written.getvalue().decode("ascii")
