from __future__ import annotations

import webbrowser
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from fmident.cli.main import main
from fmident.errors import Code, EstimationError
from fmident.estimation.comparisons import Validation
from fmident.estimation.contract import Generation, TimeSeriesEstimate
from fmident.estimation.result import EstimationResult
from fmident.report.estimate import CsvReporter, JsonReporter
from fmident.report.pages import make_pictures, stored_folder
from fmident.report.result_json import read_result
from fmident.report.sections import Figure, Section, Text
from fmident.report.tables import with_signals

from ..refused import refused
from .conftest import with_everything

pytestmark = [pytest.mark.slow, pytest.mark.draws]

MakeResult = Callable[..., EstimationResult]


@pytest.fixture
def stored(make_result: MakeResult, tmp_path: Path) -> EstimationResult:
    """Write a result folder with every kind of table; return the result."""
    rng = np.random.default_rng(5)
    result = make_result()
    times = np.linspace(0.0, 1.0, 30)
    values = rng.standard_normal((30, 3))
    values[0] = np.nan
    names = tuple(e.name for e in result.estimates if e.searched)
    flags = np.array([1] + 29 * [0], dtype=np.uint8)
    series = TimeSeriesEstimate(
        "cycle", names, ("kg", "N.s/m", "N"), times, values, np.abs(values), flags
    )
    generations = [
        Generation.of(rng.standard_normal((9, 3)), np.append(np.inf, rng.random(8) / (k + 1)))
        for k in range(3)
    ]
    held_out = Validation((replace(result.fits[1], experiment="later"),), None)
    result = replace(result, series=(series,), generations=tuple(generations), validation=held_out)
    result = with_everything(result)
    problem: Any = SimpleNamespace(source=None, fmu=Path("delta.fmu"))
    for reporter in (JsonReporter(), CsvReporter()):
        reporter.write(result, problem, tmp_path)
    return result


def test_tables_bring_back_what_was_written(stored: EstimationResult, tmp_path: Path) -> None:
    back = with_signals(read_result(tmp_path).result, tmp_path)
    for a, b in zip(back.fits, stored.fits, strict=True):
        assert (a.experiment, a.name) == (b.experiment, b.name)
        for field in ("times", "measured", "initial", "fitted", "sigma"):
            np.testing.assert_allclose(getattr(a, field), getattr(b, field), rtol=1e-8)
    for a, b in zip(back.history, stored.history, strict=True):
        assert (a.number, a.simulations, a.stage) == (b.number, b.simulations, b.stage)
        assert a.cost == pytest.approx(b.cost)
        np.testing.assert_allclose(a.parameters, b.parameters)
    for a, b in zip(back.generations, stored.generations, strict=True):
        np.testing.assert_allclose(a.points, b.points)
        np.testing.assert_allclose(a.costs, b.costs)
    np.testing.assert_allclose(back.series[0].values, stored.series[0].values, rtol=1e-8)
    np.testing.assert_array_equal(back.series[0].flags, stored.series[0].flags)


PICTURES = (
    "intervals", "fit-1-cycle-tau-1", "fit-2-cycle-tau-2", "validation-1-later-tau-2",
    "series-1-cycle", "generations", "population", "inputs-1-cycle", "inputs-2-later",
    "residuals", "cost", "residuals-1-cycle-tau-1", "residuals-2-cycle-tau-2",
    "residuals-3-later-tau-2", "sensitivities-1-cycle-tau-1", "sensitivities-2-cycle-tau-2",
    "identifiability", "parameters",
)  # fmt: skip


def test_every_plot_is_a_picture_with_the_words_of_the_page(
    stored: EstimationResult, tmp_path: Path
) -> None:
    files = make_pictures(stored_folder(tmp_path), "svg")
    assert [f.name for f in files] == [f"{name}.svg" for name in PICTURES]

    def words(name: str) -> list[str]:
        tree = ElementTree.parse(tmp_path / "figures" / f"{name}.svg")
        return ["".join(e.itertext()).strip() for e in tree.iter() if e.tag.endswith("text")]

    assert {"mass", "friction", "offset", "change / σ", "time (s)"} <= {
        *words("sensitivities-1-cycle-tau-1")
    }
    assert {"u (V)", "valve (V)"} <= {*words("inputs-1-cycle")}
    assert {"Not determined", "Singular value 0.02", "share"} <= {*words("identifiability")}
    assert {"Histogram", "Quantiles", "Autocorrelation", "With the input u"} <= {
        *words("residuals-1-cycle-tau-1")
    }


def test_figures_of_plugins_are_written_as_they_are(
    stored: EstimationResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fmident.report.figures.drawing.file_of", lambda *_: b"%PDF-")
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
    section = Section("Bearing: wear", [Text("words"), Figure(svg), Figure(svg)])
    *drawn, first, second = make_pictures(stored_folder(tmp_path), "pdf", [section])
    assert [f.name for f in drawn] == [f"{name}.pdf" for name in PICTURES]
    assert all(f.read_bytes().startswith(b"%PDF-") for f in drawn)
    assert (first.name, second.name) == ("section-Bearing-wear-1.svg", "section-Bearing-wear-2.svg")
    assert first.read_bytes() == svg


def test_the_command_names_them(
    stored: EstimationResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("fmident.cli.results.make_pictures", lambda *_: [Path("cost.svg")])
    assert main(["report", str(tmp_path / "result.json"), "--static"]) == 0
    assert "picture: cost.svg" in capsys.readouterr().out


@pytest.mark.parametrize("file", ["fit.csv", "history.csv"])
def test_missing_and_broken_tables_are_named(
    stored: EstimationResult, tmp_path: Path, file: str
) -> None:
    (tmp_path / file).write_text("no,table\n1,2\n")
    with refused(Code.UNUSABLE_FILE, EstimationError, match=file):
        make_pictures(stored_folder(tmp_path), "svg")
    (tmp_path / file).unlink()
    with refused(Code.UNKNOWN_NAME, EstimationError, match=file):
        make_pictures(stored_folder(tmp_path), "svg")


def test_open_shows_the_page_in_the_browser(
    stored: EstimationResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: not shown.append(url))
    assert main(["report", str(tmp_path), "--open"]) == 0
    assert "<h2>Parameters</h2>" in (tmp_path / "report.html").read_text("utf-8")
    assert shown == [(tmp_path / "report.html").resolve().as_uri()]
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    assert main(["report", str(tmp_path), "--open"]) == 2
    assert "no browser on this machine" in capsys.readouterr().err
