"""``fmident export`` and ``fmident estimate --export``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fmpy.ssp.ssd import read_ssv

from fmident.cli import main

from ...study import Study

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def done(study: Study, capsys: Capture) -> dict[str, float]:
    """Run the estimation with all exports; return parameter to value."""
    forms = [a for form in ("modifier", "record", "ssv") for a in ("--export", form)]
    assert main(["estimate", "problem.toml", "-q", "-o", "out", *forms]) == 0
    capsys.readouterr()
    stored = json.loads(Path("out/result.json").read_text())
    return {n: p["value"] for n, p in stored["parameters"].items() if p["variable"] == n}


def test_estimate_writes_exports(done: dict[str, float]) -> None:
    parameters = read_ssv("out/parameters.ssv").parameters
    assert {p.name: float(p.value) for p in parameters} == done
    (file,) = Path("out").glob("*Identified.mo")
    for text in (file.read_text(), Path("out/modifier.txt").read_text()):
        for name, value in done.items():
            assert name in text
            assert repr(value) in text


def test_export_of_a_stored_result(done: dict[str, float], capsys: Capture) -> None:
    assert main(["export", "out"]) == 0
    shown = capsys.readouterr().out
    assert shown == Path("out/modifier.txt").read_text()

    assert main(["export", "out", "--modelica", "record", "-o", "R.mo", "--name", "R"]) == 0
    assert Path("R.mo").read_text().startswith("record R ")
    assert main(["export", "out/result.json", "--ssv", "p.ssv"]) == 0
    assert capsys.readouterr().out == ""
    assert {p.name: float(p.value) for p in read_ssv("p.ssv").parameters} == done


def test_mistakes(done: dict[str, float], capsys: Capture) -> None:
    assert done
    assert main(["export", "out", "--ssv", "p.ssv", "-o", "x.mo"]) == 2
    assert "--modelica" in capsys.readouterr().err
    assert main(["export", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err
